"""Sums of products by tiles: which nests can be computed so, and how their loops are cut.

A tile is a block of the result that stays in registers while a kernel processes all terms of its
sums: a few rows, and a few vectors of columns. The kernels (``kernels/gemm/micro.py``) take
addresses and distances at run time, so a few of them serve all shapes. What is computed from sums
in the same loops is done row by row on a strip of tiles while that is in the first-level cache. So
is an operand that is computed, if no other task needs the same part of it: a task has memory for a
few rows or columns. Rows whose terms map to the same cache sets are copied there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, reduce
from itertools import product
from math import ceil, prod
from operator import add

import numpy as np

from ..._base.records import record
from ..._loops.expr import (
    LOADS,
    Const,
    Expr,
    Fold,
    Index,
    Load,
    Op,
    Pick,
    State,
    const,
    fresh_index,
    linear_form,
    op,
)
from ..._loops.instructions import kind_of, width
from ..._loops.loop_kinds import PARALLEL, TILED
from ..._loops.nest import SHARED, Buffer, Nest, Statement, Store
from ..._loops.tiles import Form, Operand, Room, Tile, Tiling
from ..._loops.traverse import children, folds, loads, rewrite, substitute, walk
from ..machine import Machine
from ..matrix_registers import INSTRUCTIONS, SIZE
from ..tuning import TileTuning
from .analysis import Terms, in_range, offset, sure_folds

__all__ = ["best_tile", "copied_by_tasks", "factors", "final_stores", "has_tiles",
           "in_matrix_registers", "is_tiled", "lanes_of", "marked", "panel_columns", "panel_place",
           "place_of", "streams", "sum_of_products", "tiling", "times", "unmarked"]

PRODUCTS = ("mul", "dot4", "dot4u", "dot2")
"""Instructions that multiply in sums of products."""


# -- tiles -----------------------------------------------------------------------------------------


def has_tiles(dtype: np.dtype) -> bool:
    """Whether kernels compute in a dtype: numbers with the same form in memory and in registers."""
    return kind_of(dtype) == "f" and dtype.itemsize >= 4 or (
        kind_of(dtype) in "iu" and width(dtype) == 8 * dtype.itemsize)


def lanes_of(dtype: np.dtype, machine: Machine) -> int:
    """How many numbers of a dtype a vector has."""
    return machine.vector_bits // (8 * dtype.itemsize)


def _fits(tile: Tile, machine: Machine, times: str) -> bool:
    """Whether the sums of a tile and its factors stay in registers."""
    if machine.multiplies_two_rows(times):  # a vector for two rows, three for columns
        return tile.rows * tile.vectors + tile.rows / 2 + 3 < machine.vector_registers
    left = 1
    if tile.form == "m" and not machine.fuses:  # LLVM then loads the numbers of all rows first
        left = tile.rows
    if machine.multiplies_by_lane:
        left = tile.rows if tile.form == "k" else ceil(tile.rows / tile.lanes)
    return tile.rows * tile.vectors + left + tile.vectors < machine.vector_registers


def in_matrix_registers(tile: Tile, times: str, machine: Machine) -> bool:
    """Whether the sums of a tile are in matrix registers (``kernels/gemm/amx.py``)."""
    return machine.has_matrix_registers and times in INSTRUCTIONS and (
        tile.form == "k" and tile.rows % SIZE == 0)


def _cycles(tile: Tile, machine: Machine, times: str = "mul") -> float:
    """Cycles that one term takes: two products at a time, two loads, four until a sum is ready.

    Loads are not completely hidden behind products, least of all those of many rows that are apart:
    for each row they come all at once, for as many terms as a vector has. Matrix registers take 16
    cycles for 16 words of terms, and 8 to be loaded.
    """
    if in_matrix_registers(tile, times, machine):
        rows = tile.rows // SIZE
        return rows * tile.vectors + (rows + tile.vectors) / 2
    if machine.multiplies_two_rows(times):  # and a vector is loaded for two rows
        return max((tile.rows * tile.vectors / 2 + tile.vectors + tile.rows / 2) / 2, 4)
    left = tile.rows / tile.lanes if machine.multiplies_by_lane else tile.rows
    loads = (left + tile.vectors) / 2
    apart = max(0, tile.rows - 4) if machine.multiplies_by_lane and tile.form == "k" else 0
    return max(tile.rows * tile.vectors / 2, loads, 4) + loads / 4 + apart * 1.2 / tile.lanes


@cache
def _tiles(form: Form, lanes: int, machine: Machine, times: str) -> list[Tile]:
    step = lanes if form == "m" and machine.multiplies_by_lane else 1
    step = max(step, 2) if machine.multiplies_two_rows(times) else step
    most = machine.tuning.tiles
    every = [Tile(form, rows, vectors, lanes) for rows, vectors in product(
        range(step, most.rows + 1, step), range(1, most.vectors + 1))]
    large = [Tile(form, rows * SIZE, vectors, lanes) for rows in (1, 2) for vectors in (1, 2)]
    large = [tile for tile in large if in_matrix_registers(tile, times, machine)]
    if times == "dot4" and not machine.multiplies_signed_bytes:
        return large  # no other instruction of such a processor handles signs
    return large + [tile for tile in every if _fits(tile, machine, times)]


@lru_cache(maxsize=1024)
def best_tile(form: Form, rows: int, columns: int, terms: int, dtype: np.dtype, machine: Machine,
              row_panel: int = 0, column_panel: int = 0, times: str = "mul",
              most_rows: int | None = None, batch: int = 0) -> Tile | None:
    """The tile that finishes a product soonest; as large as panels, if those are given.

    A tile has no more rows than there are, and more columns only if there is a panel for them.
    Outside of matrix registers it has at most ``most_rows``, if given. If each task copies the
    columns of one tile, from ``batch`` right operands, the slowest core has a whole number of
    these: 32 x 512 by 512 x 512 takes 50 us in 16 tasks on two cores, 61 in 11 tasks of 48 columns
    (Emerald Rapids; Cascade Lake: 90 and 107).
    """
    def time(tile: Tile) -> float:
        along = ceil(columns / tile.columns)
        if batch:
            along = ceil(batch * along / machine.cores)
        tiles = ceil(rows / tile.rows) * along
        cycles, row = _cycles(tile, machine, times), tile.columns * dtype.itemsize
        if row * terms > machine.caches[0] // 2:
            cycles = max(cycles, row / machine.tuning.tiles.from_second)
        return tiles * (cycles * terms + machine.tuning.tiles.call)

    found = [tile for tile in _tiles(form, lanes_of(dtype, machine), machine, times)
             if tile.rows == (row_panel or tile.rows) and tile.rows <= rows
             and (most_rows is None or tile.rows <= most_rows
                  or in_matrix_registers(tile, times, machine))
             and tile.columns == (column_panel or tile.columns)
             and (tile.columns <= columns or column_panel)]
    return min(found, key=time, default=None)


def panel_columns(tile_form: Form, rows: int, columns: int, terms: int, dtype: np.dtype,
                  machine: Machine, times: str = "mul") -> int:
    """The best number of columns for panels of the right operand."""
    lanes = lanes_of(dtype, machine)
    whole = ceil(columns / lanes) * lanes
    tile = best_tile(tile_form, rows, whole, terms, dtype, machine, times=times)
    return 0 if tile is None else tile.columns


# -- recognition -----------------------------------------------------------------------------------


def sum_of_products(stores: Iterable[Store]) -> Pick | None:
    """The one sum that values depend on, if it is a sum of products."""
    found = [*folds(*(s.value for s in stores))]
    if len(found) != 1:
        return None
    (fold,) = found
    if fold.combine != "add" or not isinstance(fold.init[0], Const) or fold.init[0].value != 0:
        return None
    (body,) = fold.body
    return Pick(fold, 0) if isinstance(body, Op) and body.name in PRODUCTS else None


def is_chosen(total: Pick, stores: Iterable[Store]) -> bool:
    """Whether a sum is in an arm of a select. It may read out of range where the arm is not
    taken."""
    return total.fold not in sure_folds(*(s.value for s in stores))


def factors(total: Pick) -> tuple[Expr, Expr]:
    """The factors of a sum of products."""
    left, right = _product(total).args
    return left, right


def times(total: Pick) -> str:
    """The instruction that multiplies in a sum of products."""
    return _product(total).name


def _product(total: Pick) -> Op:
    (product,) = total.fold.body
    assert isinstance(product, Op)
    return product


def place_of(factor: Expr) -> tuple[Terms, int] | None:
    """The position of a factor in its buffer, as terms and a constant; None if it is computed.

    Positions count numbers of the factor's size: narrow numbers that are adjacent in memory may be
    the bits of one word (``contraction.py``).
    """
    parts = _parts_of_word(factor)
    return None if parts is None else _place_of_word(parts)


def _place_of_word(parts: Sequence[Load]) -> tuple[Terms, int] | None:
    """The position of the word that adjacent numbers are; None if they are not one in memory."""
    terms, first = offset(parts[0].buffer, parts[0].index)
    for n, part in enumerate(parts):
        if part.buffer is not parts[0].buffer or offset(part.buffer, part.index) != (
                terms, first + n):
            return None
    count = len(parts)
    if first % count or any(distance % count for distance in terms.values()):
        return None
    return {atom: distance // count for atom, distance in terms.items()}, first // count


def _parts_of_word(factor: Expr) -> list[Load] | None:
    """The narrow numbers whose bits a word consists of, the lowest first; or the one number that
    a factor is."""
    if isinstance(factor, Load):
        return [factor]
    bits = [factor]
    while isinstance(bits[0], Op) and bits[0].name == "or":
        bits[:1] = bits[0].args
    found = []
    for expr in bits:
        match expr:
            case Op(name="shift_left", args=(Op(name="convert", args=(Op(name="bitcast", args=(
                    Load() as load,)),)), Const(value=shift))):
                found.append(load)
                if shift != 8 * load.dtype.itemsize * (len(found) - 1):
                    return None
            case _:
                return None
    return found if found[0].dtype.itemsize * len(found) == factor.dtype.itemsize else None


def final_stores(body: Sequence[Statement]) -> tuple[Store, ...]:
    """The stores of a nest without those that later ones overwrite; none if there is anything else.

    What later ones read of them is inlined, if it depends on sums alone: other elements may be
    overwritten in between.
    """
    stores = [s for s in body if isinstance(s, Store) and not s.combine and s.guard is None]
    if len(stores) < len(body):
        return ()
    targets = [Load(s.buffer, s.index) for s in stores]
    known: dict[Expr, Expr] = {}
    final: list[Store] = []
    for n, (store, target) in enumerate(zip(stores, targets)):
        if known:
            store = replace(store, value=rewrite(store.value, known.get))
        known.pop(target, None)
        if _reads_nothing_beside_folds(store.value):
            known[target] = store.value
        elif target in targets[n + 1:]:
            return ()
        if target not in targets[n + 1:]:
            final.append(store)
    return tuple(final)


def _reads_nothing_beside_folds(value: Expr) -> bool:
    return not value.holds & LOADS or not any(isinstance(node, Load) for node in walk(
        value, into=lambda node: () if isinstance(node, Fold) else children(node)))


def marked(statement: Statement, machine: Machine) -> Statement:
    """The statement; if tiles compute it, its loops are marked so."""
    if not isinstance(statement, Nest) or tiling(statement, machine) is None:
        return statement
    return replace(statement, kinds=(TILED,) * len(statement.kinds))


def unmarked(statement: Statement) -> Statement:
    """The statement without the mark of tiles."""
    return replace(statement, kinds=tuple(
        PARALLEL if kind == TILED else kind for kind in statement.kinds)) if is_tiled(
        statement) and isinstance(statement, Nest) else statement


def is_tiled(statement: Statement) -> bool:
    """Whether a statement is computed by tiles."""
    return isinstance(statement, Nest) and TILED in statement.kinds


def tiling(statement: Statement, machine: Machine,
           known: frozenset[Index] = frozenset()) -> Tiling | None:
    """How tiles compute a statement, in loops whose indices are ``known``; None if they do not.

    They do if the last two loops are over rows and columns, one operand does not depend on the
    former nor the other one on the latter, and elements that a kernel loads at once are adjacent.
    """
    if not isinstance(statement, Nest) or len(statement.indices) < 2 or any(
            kind not in (PARALLEL, TILED) for kind in statement.kinds) or not all(
            i.extent for i in statement.indices):
        return None
    return _tiling(statement, machine, known)


@lru_cache(maxsize=1 << 13)  # each of several passes asks about all statements of a program
def _tiling(statement: Nest, machine: Machine, known: frozenset[Index]) -> Tiling | None:
    stores = final_stores(statement.body)
    total = sum_of_products(stores)
    if total is None or not has_tiles(total.dtype) or not total.fold.indices:
        return None
    (*outer, row, column), (*runs, term) = statement.indices, total.fold.indices
    terms = prod(i.extent for i in total.fold.indices)
    if row.extent * column.extent * terms < machine.tuning.tiles.worth:
        return None
    left, right = factors(total)
    if column in left.free:
        left, right = right, left
    state, chosen = total.fold.states[0], is_chosen(total, stores)
    stores = tuple([replace(store, value=rewrite(
        store.value, lambda e: state if e is total else None)) for store in stores])
    loops = _Loops(tuple(outer), row, column, term, tuple(runs), known, chosen)
    return _planned(loops, left, right, state, stores, machine, times(total))


@record
class _Loops:
    """The loops of a product: over matrices, rows, columns, and terms, which may be in runs."""

    outer: tuple[Index, ...]
    row: Index
    column: Index
    term: Index
    runs: tuple[Index, ...] = ()
    known: frozenset[Index] = frozenset()  # of loops around the statement
    chosen: bool = False  # the product is in an arm of a select

    def operand(self, factor: Expr, along: Index, across: Index) -> Operand | None:
        """Where the elements of a factor are; None if not at constant distances."""
        parts = _parts_of_word(factor)
        found = None if parts is None else _place_of_word(parts)
        if parts is None or found is None:
            return self.computed(factor, along, across)
        places, first = found
        outer: dict[Index, int] = {}
        within: dict[Expr, int] = {}
        for atom, distance in places.items():
            if isinstance(atom, Index) and (atom in self.outer or atom in self.known):
                outer[atom] = distance
            elif atom.free == {along}:
                within[atom] = distance
            elif atom is not across and atom not in self.runs:
                return None
        along_it, panel = _distance(within, along) or (0, 0)
        if self.chosen and not panel and not all(map(in_range, parts)):
            return None
        anywhere = None
        if within and not along_it:
            anywhere = reduce(add, [atom * distance for atom, distance in within.items()])
        return Operand(parts[0].buffer, first, outer, along_it, places.get(across, 0), panel,
                       tuple(places.get(i, 0) for i in self.runs), anywhere)

    def computed(self, factor: Expr, along: Index, across: Index) -> Operand | None:
        """Where the elements of a factor would be if they were stored, in the order of the elements
        that it is computed from; None if these are not at constant distances, or depend on other
        loops, too."""
        places = [load.place[0] for load in loads(factor)]
        if self.runs or not factor.free <= {along, across, *self.outer, *self.known} or not all(
                isinstance(atom, Index) for terms in places for atom in terms) or (
                self.chosen and not all(map(in_range, loads(factor)))):
            return None
        buffer = Buffer("computed", (along.extent, across.extent), factor.dtype, "temp")
        by_terms = any(terms.get(across) == 1 for terms in places)
        distances = (across.extent, 1) if by_terms else (1, along.extent)
        return Operand(buffer, 0, {}, *distances, is_computed=True)


def _in_conflict(operand: Operand, terms: int, tuning: TileTuning) -> bool:
    """Whether rows are adjacent, and the terms of each map to the same cache sets."""
    return operand.along == 1 and terms >= tuning.stretch and not (
        operand.panel or operand.across * operand.buffer.dtype.itemsize % tuning.conflict)


def _most_rows(left: Operand, row: Index, itemsize: int, machine: Machine) -> int | None:
    """How many rows of a left operand the first-level cache holds at once, or None if all.

    Each of its ways has one place for all elements that are multiples of its size apart. Rows at
    such distances need a way each, and the right operand needs one: a transposed 4 x 4
    convolution of 4 x 14 x 14 x 128 takes 1.22 ms with 7 rows, 1.57 with 14; an i8 matrix of 2048 x
    2048 times 8 columns 1.39 and 1.94 (Cascade Lake, two cores, 8 ways). Kernels that load several
    terms of a row at once seldom return to its line: 512 x 4096 times 32 columns is 5 % slower with
    3 rows (Neoverse N1, 4 ways).
    """
    if machine.multiplies_by_lane:
        return None
    apart = left.along
    if left.place is not None:
        first, second = (substitute(left.place, {row: Const(k, row.dtype)}) for k in (0, 1))
        if not isinstance(first, Const) or not isinstance(second, Const):
            return None
        apart = second.value - first.value
    size, ways = machine.caches[0] // machine.ways, machine.ways
    conflict = apart and apart * itemsize % size == 0
    return ways - 1 if conflict and row.extent > ways else None


def _in_room(name: str, operand: Operand, factor: Expr, along: Index, across: Index, count: int,
             terms: int) -> Operand:
    """An operand whose elements are computed or copied, those of so many rows and terms at a
    time."""
    by_terms, count = operand.across == 1, min(count, along.extent)
    first, start = fresh_index(along.extent - count + 1), fresh_index(across.extent - terms + 1)
    place, term = fresh_index(count), fresh_index(terms)
    loops = (place, term) if by_terms else (term, place)
    buffer = Buffer(name, [i.extent for i in loops], factor.dtype, "temp", SHARED)
    value = substitute(factor, {along: first + place, across: start + term})
    nest = Nest(loops, (PARALLEL,) * 2, (Store(buffer, loops, value),))
    return Operand(buffer, 0, {}, *((terms, 1) if by_terms else (1, count)),
                   room=Room(buffer, (nest,), first, start))


def _distance(places: Mapping[Expr, int], along: Index) -> tuple[int, int] | None:
    """The distance of adjacent elements, or of panels and their size; None if it is not
    constant."""
    size = next((atom.args[1].value for atom in places
                 if isinstance(atom, Op) and atom.name == "floor_div"
                 and isinstance(atom.args[1], Const)), 0)
    if size and along.extent >= size:
        panel, place = panel_place(along, size)
        inside = linear_form(place)[0]
        places = {atom: places.get(atom, 0) - inside.get(atom, 0) for atom in {*places, *inside}}
        return (places.get(panel, 0), size) if all(
            atom is panel or not distance for atom, distance in places.items()) else None
    return (places.get(along, 0), 0) if not places.keys() - {along} else None


def panel_place(index: Index, size: int) -> tuple[Expr, Expr]:
    """Where an index is in panels of a size: which panel, and the position in it.

    The last panel ends with the last index, so it may overlap the one before. If there are fewer
    indices than a panel has positions, there is one panel, with unused positions.
    """
    if index.extent <= size:
        return const(0), index
    panel = index // size
    return panel, index - op("min", panel * size, index.extent - size)


def _planned(loops: _Loops, left: Expr, right: Expr, total: State, stores: Sequence[Store],
             machine: Machine, times: str) -> Tiling | None:
    """How a product whose parts are known is computed; None if other code is better."""
    a = loops.operand(left, loops.row, loops.term)
    b = loops.operand(right, loops.column, loops.term)
    if a is None or b is None or not (b.panel or b.along == 1):
        return None
    b = b if b.panel else _one_panel(b, loops)
    form: Form = "k" if a.across == 1 and not a.panel else "m"
    if form == "m" and not a.panel and a.along != 1:
        return None
    in_runs = bool(loops.runs) or a.place is not None
    rows, columns = loops.row.extent, loops.column.extent
    terms = prod(i.extent for i in (*loops.runs, loops.term))
    tuning = machine.tuning.tiles
    batch = prod(i.extent for i in loops.outer) if all(b.outer.get(i) for i in loops.outer) else 0
    copied = not in_runs and not b.panel and not b.is_computed and copied_by_tasks(
        batch, rows, columns, terms, b.along, b.across, total.dtype.itemsize, machine)
    tile = best_tile(form, rows, columns, terms, total.dtype, machine, a.panel, b.panel, times,
                     None if form == "m" else
                     _most_rows(a, loops.row, total.dtype.itemsize, machine),
                     batch if copied else 0)
    if tile is None:
        return None
    depth = (_depth_of_runs(loops, form, terms, (a, b), tuning) if in_runs else
             _depth_in_registers(terms, tuning) if in_matrix_registers(tile, times, machine) else
             _depth(rows, terms, (a, b), tile, total.dtype.itemsize, machine))
    if copied:
        depth = _depth_of_copies(terms, tuning)
    if b.is_computed:
        depth = _depth_in_room(terms, tuning) if depth < terms else 0
    if not depth or depth > loops.term.extent * tuning.many_runs:
        return None
    direct = columns >= tile.columns and depth == terms
    result = _result(loops, total, stores) if direct else None
    block = tuning.block_bytes // (depth * total.dtype.itemsize)
    block = block if result else min(block, max(tuning.strip, tuning.strips // rows))
    block = tile.columns if copied else _pieces(columns, block, tile.columns)
    chunk = rows if copied else (
        max(tuning.chunk, tuning.task // (block * terms)) if depth == terms else tuning.chunk)
    once = depth == terms and block >= columns
    if a.is_computed and not once:
        return None
    in_room = a.is_computed or once and not in_runs and _in_conflict(a, terms, tuning)
    chunk = _pieces(rows, min(chunk, tuning.room_bytes // (terms * total.dtype.itemsize))
                    if in_room else chunk, tile.rows)
    if not (in_room or copied or b.is_computed):
        block, chunk = _shared_out(block, chunk, loops, terms, tile, machine)
    if in_room:
        a = _in_room("left", a, left, loops.row, loops.term, chunk, depth)
    if b.is_computed or copied:
        b = _in_room("right", b, right, loops.column, loops.term, block, depth)
    whole = Tiling(loops.outer, loops.row, loops.column, loops.term, a, b, total, tuple(stores),
                   tile, result, block, chunk, depth=depth, times=times, runs=loops.runs)
    group = max(tuning.task // (block * chunk * terms), ceil(whole.units / tuning.tasks), 1)
    return replace(whole, group=group)


def _result(loops: _Loops, total: State, stores: Sequence[Store]) -> Operand | None:
    """The matrix in which sums are stored unchanged, row by row; None if there is none."""
    if len(stores) > 1 or stores[0].value is not total:
        return None
    found = loops.operand(Load(stores[0].buffer, stores[0].index), loops.row, loops.column)
    fits = found is not None and found.across == 1 and found.along and not found.panel
    return found if fits else None


def _depth(rows: int, terms: int, operands: tuple[Operand, Operand], tile: Tile, itemsize: int,
           machine: Machine) -> int:
    """How many terms are added at a time.

    Few, if the right operand is not in cache and rows are few. Otherwise so many that the columns
    of a tile, and the rows that use them, fit in the second-level cache.

    Float32 matrices of 2048 take 0.97 of the time as a whole, of 3000 and 4096 0.91 and 0.67 in
    parts, float64 of 2048 and 3000 0.93 and 0.78 (Cascade Lake, two cores, 1 MB). Processors that
    multiply by a lane were not measured. Operands that are computed on the way are not divided so.
    """
    tuning, (left, right) = machine.tuning.tiles, operands
    if streams(rows, terms, right.along, right.across, itemsize, tuning) and not right.panel:
        return tuning.streamed if rows > tuning.very_few else tuning.least
    deep = tuning.deep
    if not (machine.multiplies_by_lane or left.is_computed or right.is_computed):
        term = (tile.columns + min(rows, tuning.chunk)) * itemsize
        deep = min(deep, max(1, machine.caches[1] // 2 // term))
    return terms if terms <= 2 * deep else ceil(terms / round(terms / deep))


def _depth_in_registers(terms: int, tuning: TileTuning) -> int:
    """How many words of terms matrix registers add at a time: a multiple of what they hold."""
    passes = max(1, round(terms / tuning.matrix_words))
    return ceil(ceil(terms / passes) / SIZE) * SIZE


def copied_by_tasks(batch: int, rows: int, columns: int, terms: int, along: int, across: int,
                    itemsize: int, machine: Machine) -> bool:
    """Whether tasks copy the columns that they use next: then one task uses them, for few rows, and
    the copies need not go to memory and back.

    ``batch`` is how many right operands there are; 0 if some are used several times.
    """
    tuning = machine.tuning.tiles
    return not machine.multiplies_by_lane and along == 1 and (
        tuning.few < rows <= tuning.rows_of_one_task
        and batch * columns >= tuning.columns_of_tasks
        and batch * across * terms * itemsize > tuning.copied
        and _depth_of_copies(terms, tuning) > 0)


def _depth_of_copies(terms: int, tuning: TileTuning) -> int:
    """How many terms of a right operand are copied at a time, the same each time; 0 if few."""
    if terms <= tuning.copies:
        return terms
    return next((n for n in range(tuning.copies, tuning.copies // 8, -1) if terms % n == 0), 0)


def _depth_in_room(terms: int, tuning: TileTuning) -> int:
    """How many terms of a right operand are computed at a time, the same each time; 0 if few."""
    return next((n for n in range(tuning.room_terms, tuning.streamed - 1, -1) if terms % n == 0), 0)


def _depth_of_runs(loops: _Loops, form: Form, terms: int, operands: Sequence[Operand],
                   tuning: TileTuning) -> int:
    """How many terms in runs are added at a time: all, or those of a step of the first loop.

    The latter if there are many, and if rows go through all of the operands side by side.
    """
    if not loops.runs:
        return terms
    size = sum(prod(x.buffer.shape) * x.buffer.dtype.itemsize for x in operands)
    many = terms > 2 * tuning.deep or form == "m" and size > 2 * tuning.block_bytes
    return terms // loops.runs[0].extent if many else terms


def streams(rows: int, terms: int, along: int, across: int, itemsize: int, tuning: TileTuning,
            ) -> bool:
    """Whether columns are read in place, row by row, because a copy does not pay."""
    return along == 1 and rows <= tuning.few and terms > tuning.streamed and (
        across * terms * itemsize > tuning.near)


def _one_panel(right: Operand, loops: _Loops) -> Operand:
    """An operand with fewer columns than a tile: a panel, if that is all its memory."""
    size, terms = right.across, loops.term.extent
    if loops.column.extent < size and right.buffer.shape[-2:] == (terms, size) and not any(
            distance % (terms * size) for distance in (right.first, *right.outer.values())):
        return replace(right, panel=size)
    return right


def _shared_out(block: int, chunk: int, loops: _Loops, terms: int, tile: Tile,
                machine: Machine) -> tuple[int, int]:
    """Smaller blocks and chunks, if there would be too few tasks for all cores.

    The larger of the two is halved: together they are what a task reads. No sum is cut.
    """
    rows, columns = loops.row.extent, loops.column.extent
    outer, tuning = prod(i.extent for i in loops.outer), machine.tuning.tiles
    if outer * rows * columns * terms < tuning.all_shared:
        return block, chunk

    def wanted() -> int:
        again = block * chunk > tuning.reused * (block + chunk)
        return tuning.tasks_of_core * machine.cores * (2 if again else 1)

    while (outer * ceil(rows / chunk) * ceil(columns / block) < wanted()
           and block * chunk * terms >= 2 * tuning.shared):
        before = block, chunk
        if block > max(chunk, tile.columns):
            block = _pieces(columns, block // 2, tile.columns)
        elif chunk > tile.rows:
            chunk = _pieces(rows, chunk // 2, tile.rows)
        if (block, chunk) == before:  # such as 169 rows in pieces of 64, by tiles of 32
            break
    return block, chunk


def _pieces(extent: int, size: int, unit: int) -> int:
    """The size, a multiple of a unit, of roughly equal pieces of at most about a size."""
    count = max(1, round(extent / max(size, unit)))
    return ceil(ceil(extent / count) / unit) * unit
