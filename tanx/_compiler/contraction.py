"""Bring matrix products into the form that code generation computes by tiles.

``dot_general`` of any layout is a sum of products in some loops. A loop whose index occurs in one
factor only is over rows or columns of the result; one whose index occurs in both is over a batch.
This pass gives such nests one loop over rows, one over columns, and one over terms, merging loops
that access memory at equal distances; all other loops go outside. Operands that kernels cannot read
in place, or not quickly, are copied: the left one row by row, the right one into panels, in which
the columns of one tile are adjacent. Conversions and other elementwise operations on a factor are
part of its copy; if each element is needed only once, tasks compute it (``schedule/tiles.py``).

A convolution of a padded operand is such a product, too. Its rows are at arbitrary addresses, and
its terms come in runs: the elements of a row of the window that are adjacent in memory. Only the
convolution's kernel is copied for that.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise
from math import prod

import numpy as np
from ml_dtypes import bfloat16

from .._base.records import record
from .._loops.expr import Const, Expr, Fold, Index, Load, Op, Pick, State, Variable, const, op
from .._loops.instructions import kind_of
from .._loops.nest import PARALLEL, Buffer, Nest, Program, Statement, Store
from .._loops.tiles import Form
from .._loops.traverse import loads, map_expressions, rewrite, substitute
from .machine import Machine
from .matrix_registers import INSTRUCTIONS, SIZE
from .nest_tools import mentioned
from .schedule.analysis import Terms, in_range, offset
from .schedule.tiles import (
    best_tile,
    copied_by_tasks,
    factors,
    final_stores,
    has_tiles,
    is_chosen,
    lanes_of,
    marked,
    panel_columns,
    panel_place,
    place_of,
    streams,
    sum_of_products,
    tiling,
    times,
)
from .split import divided
from .tuning import ContractTuning

__all__ = ["contract"]


def contract(program: Program, machine: Machine) -> Program:
    """Bring sums of products into the form of tiles, with copies of operands where needed."""
    names = _Names(program)
    statements = [new for statement in program.statements
                  for new in _contracted(statement, names, machine)]
    statements = [marked(statement, machine) for statement in statements]
    temps = [b for b in program.temps if b not in names.unread]
    return replace(program, statements=tuple(statements), temps=(*temps, *names.made))


class _Names:
    """Names for new buffers of a program, and which buffers are no longer needed.

    The ``own`` temporaries of a statement are those that no other statement mentions.
    """

    def __init__(self, program: Program):
        self.taken = set(program.buffers)
        users = Counter(b for s in program.statements for b in mentioned(s))
        self.own = {b for b in program.temps if users[b] == 1}
        self.unread: set[Buffer] = set()
        self.made: list[Buffer] = []
        self.number = 0  # smaller numbers are used, some by buffers that were dropped

    def buffer(self, shape: Sequence[int], dtype: np.dtype) -> Buffer:
        while f"p{self.number}" in self.taken:
            self.number += 1
        self.made.append(Buffer(f"p{self.number}", shape, dtype, "temp"))
        self.number += 1
        return self.made[-1]


def _contracted(statement: Statement, names: _Names, machine: Machine) -> Sequence[Statement]:
    """The statements that replace one; the statement itself if tiles do not compute it."""
    product = _product(statement, names.own, machine)
    if product is None:
        return [statement]
    made = len(names.made)
    steps = (_in_runs if product.runs else
             _in_real_numbers if kind_of(product.total.dtype) == "c" else
             _in_words if _words(product, machine) else
             _in_parts if _parts(product, machine.tuning.contract) > 1 else _by_tiles)
    found = steps(product, names, machine)
    if found is None:
        del names.made[made:]
        return [statement]
    names.unread |= names.own.intersection(mentioned(statement)).difference(
        *map(mentioned, found))
    return found


def _by_tiles(product: _Product, names: _Names, machine: Machine) -> list[Statement] | None:
    if _is_tiny(product, machine.tuning.contract):
        return [_written_out(product)]
    if _are_sums(product, machine):
        return None
    size = product.terms * product.column.extent * product.total.dtype.itemsize
    made = len(names.made)
    for computed in _computed(product, machine.tuning.contract):
        layout = _Layout(product, names, machine, computed)
        if product.row.extent == 1 and not (
                layout.streams() and size >= machine.tuning.contract.far):
            return None
        copies, nest = layout.statements()
        if tiling(nest, machine) is not None:
            return [*copies, nest]
        del names.made[made:]
    return None


def _computed(product: _Product, tuning: ContractTuning) -> Iterator[Expr | None]:
    """Which factors to try to compute on the way, ending with none: then all others are copied."""
    if product.row.extent <= tuning.few_rows and not isinstance(product.right, Load):
        yield product.right
    if product.column.extent < tuning.many and place_of(product.left) is None:
        yield product.left
    yield None


def _in_runs(product: _Product, names: _Names, machine: Machine) -> list[Statement] | None:
    """A product whose terms come in runs, if kernels can read them so; otherwise with copies."""
    made = len(names.made)
    found = _by_tiles(product, names, machine)
    if found is None:
        del names.made[made:]
        return _by_tiles(product.joined, names, machine)
    return found


def _is_tiny(product: _Product, tuning: ContractTuning) -> bool:
    """Whether the right operand is so small, and rows so many, that it stays in registers."""
    (store, *others), rows = product.stores, product.row.extent
    small = max(product.column.extent, product.terms) <= tuning.tiny
    return small and rows >= tuning.tiny_rows and (
        not others and not product.outer and store.combine is None and store.guard is None)


def _are_sums(product: _Product, machine: Machine) -> bool:
    """Whether matrices are so small that panels of their columns, which are mostly padding, take
    longer than the sums one by one.

    1000 products of 4 x 256 by 256 x 2 take 0.16 to 0.25 ms instead of 1.7 to 2.7, of 64 x 64 by
    64 x 4 1.2 instead of 2.8; 10 of 256 x 64 by 64 x 4 would take up to 0.12 instead of 0.041
    (Cascade Lake, two cores).
    """
    tuning, lanes = machine.tuning.contract, lanes_of(product.total.dtype, machine)
    return not machine.multiplies_by_lane and bool(product.outer) and (
        product.outer_of(product.left) == product.outer_of(product.right) == product.outer
        and 2 * product.column.extent <= lanes and product.row.extent <= tuning.rows_of_sums
        and product.terms >= tuning.terms_of_sums)


def _written_out(product: _Product) -> Nest:
    """A product with one store per column, in one loop over rows."""
    (store,) = product.stores
    return _parallel([product.row], [
        map_expressions(store, partial(substitute, values={product.column: const(n)}))
        for n in range(product.column.extent)])


# -- intermediate forms ----------------------------------------------------------------------------


def _in_real_numbers(product: _Product, names: _Names, machine: Machine) -> list[Statement] | None:
    """Express a complex matrix product by a real one with twice the columns and terms.

    A row of the left factor alternates real and imaginary parts. A row of the right factor
    alternates the parts of its numbers, and the next row those of their products with i.
    """
    row, column, term = product.row, product.column, product.term
    dtype = product.total.dtype
    real = np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
    if column.extent * row.extent * term.extent < machine.tuning.contract.small:
        return None
    outer_left, outer_right = product.outer_of(product.left), product.outer_of(product.right)
    left = names.buffer([*_extents(outer_left), row.extent, term.extent, 2], real)
    right = names.buffer([*_extents(outer_right), term.extent, 2, column.extent, 2], real)
    result = names.buffer([*_extents(product.outer), row.extent, column.extent, 2], real)
    a, b, c = ([op("real", x), op("imag", x)] for x in (
        product.left, product.right, _times_i(product.right)))
    copies: list[Statement] = [
        _parallel([*outer_left, row, term], [
            Store(left, (*outer_left, row, term, const(n)), part) for n, part in enumerate(a)]),
        _parallel([*outer_right, term, column], [
            Store(right, (*outer_right, term, const(m), column, const(n)), part)
            for m, parts in enumerate((b, c)) for n, part in enumerate(parts)])]
    both, twice = Index("term", 2 * term.extent), Index("column", 2 * column.extent)
    nest = _sums(product, result, (row, twice), (row, twice // 2, twice % 2), both,
                 left[[*outer_left, row, both // 2, both % 2]],
                 right[[*outer_right, both // 2, both % 2, twice // 2, twice % 2]])
    found = _contracted(nest, names, machine)
    if found[-1] is nest:
        return None
    index = (*product.outer, row, column)
    parts = [result[[*index, n]] for n in (0, 1)]
    return [*copies, *found, product.rest(op("complex", *parts))]


def _times_i(x: Expr) -> Expr:
    return op("complex", op("neg", op("imag", x)), op("real", x))


@record
class _Words:
    """How several terms of a factor are packed in a word, and the instruction that multiplies
    it."""

    times: str
    narrow: np.dtype  # of a term

    @property
    def terms(self) -> int:
        """Terms in a word."""
        return 4 // self.narrow.itemsize

    def term(self, factor: Expr) -> Expr:
        """The narrow number that a factor is converted from."""
        assert isinstance(factor, Op)
        return factor.args[0]

    def bits(self, factor: Expr, n: int) -> Expr:
        """The bits of a term at its position in a word."""
        bits = op("bitcast", self.term(factor), dtype=np.dtype(f"u{self.narrow.itemsize}"))
        bits = op("convert", bits, dtype=np.dtype(np.int32))
        return op("shift_left", bits, const(8 * self.narrow.itemsize * n, np.int32))

    def packed(self, factor: Expr, term: Index, word: Expr) -> Expr:
        """The terms of a factor in a word, padded with zeros."""
        parts = []
        for n in range(self.terms):
            at = word * self.terms + n
            bits = self.bits(substitute(factor, {term: op("min", at, term.extent - 1)}), n)
            parts.append(op("select", at < term.extent, bits, const(0, np.int32)))
        return reduce(lambda a, b: op("or", a, b), parts)


def _words(product: _Product, machine: Machine) -> _Words | None:
    """How the factors of a product are packed in words; None if that does not pay."""
    rows, columns = product.row.extent, product.column.extent
    few = rows * columns * product.term.extent < machine.tuning.contract.many_narrow
    if few or min(rows, columns) == 1 or not all(
            isinstance(x, Op) and x.name == "convert" for x in (product.left, product.right)):
        return None
    narrow = {x.args[0].dtype for x in (product.left, product.right) if isinstance(x, Op)}
    wide, byte, pair = product.total.dtype, np.dtype(np.int8), np.dtype(bfloat16)
    if narrow == {byte} and wide == np.int32 and machine.multiplies_bytes:
        signed = machine.multiplies_signed_bytes or (
            machine.has_matrix_registers and rows >= SIZE)
        return _Words("dot4" if signed else "dot4u", byte)
    if narrow == {pair} and wide == np.float32 and machine.multiplies_pairs and (
            rows >= machine.tuning.contract.rows_of_pairs):
        return _Words("dot2", pair)
    return None


def _in_words(product: _Product, names: _Names, machine: Machine) -> list[Statement] | None:
    """Express a product of narrow numbers by one of words, each of which holds several terms."""
    words = _words(product, machine)
    assert words is not None
    terms, count = product.term.extent, -(-product.term.extent // words.terms)
    if words.times in INSTRUCTIONS and machine.has_matrix_registers:
        count = -(-count // SIZE) * SIZE
    word = Index("term", count)
    excess, copies = None, list[Statement]()
    left = words.packed(product.left, product.term, word)
    if words.times == "dot4u":
        excess, copies = _column_sums(product, 128, names)
    if words.times == "dot4u" or terms < count * words.terms or not _is_in_rows(
            left, product.row, word, machine):
        left, more = _copied_terms(product, words, word, names, machine) or (
            _copied_words(product, words, word, names, machine))
        copies += more
    fold = product.total.fold
    body = op(words.times, left, words.packed(product.right, product.term, word))
    total = Pick(Fold((word,), fold.init, fold.states, (body,), "add"), 0)
    nest = product.rest(total if excess is None else total - excess)
    found = _contracted(nest, names, machine)
    return None if found[-1] is nest else [*copies, *found]


def _copied_terms(product: _Product, words: _Words, word: Index, names: _Names, machine: Machine,
                  ) -> tuple[Expr, list[Statement]] | None:
    """The words of a copy of the windows that are the left factor, row by row, and the nests that
    copy their terms.

    None if a row is not several runs of terms that are adjacent in memory, or bytes change their
    signs.
    """
    if words.times == "dot4u":
        return None
    term, rows = product.term, (*product.outer_of(product.left), product.row)
    narrow, size = words.term(product.left), word.extent * words.terms
    copy = names.buffer([*_extents(rows), size + machine.line // words.narrow.itemsize],
                        words.narrow)
    # Only the loop over terms is divided. The places of a row are computed once for all its terms,
    # and the rows stay in one loop, so that bands of them can be cut.
    inner = divided(_parallel([term], [Store(copy, (*rows, term), narrow)]), machine.tuning.split)
    stores = final_stores(inner.body)
    if len(inner.indices) == 1 or any(
            load.place[0].get(inner.indices[-1]) != 1 for s in stores for load in loads(s.value)):
        names.made.remove(copy)
        return None
    copies: list[Statement] = [_parallel((*rows, *inner.indices), stores)]
    if term.extent < size:
        rest = Index("rest", size - term.extent)
        copies.append(_parallel((*rows, rest), [
            Store(copy, (*rows, rest + term.extent), Const(0, words.narrow))]))
    every = Index("term", size)
    wide = op("convert", copy[(*rows, every)], dtype=product.total.dtype)
    return words.packed(wide, every, word), copies


def _copied_words(product: _Product, words: _Words, word: Index, names: _Names, machine: Machine,
                  ) -> tuple[Expr, list[Statement]]:
    """The words of a copy of the left factor, row by row, and the nests that make them."""
    terms, rows = product.term.extent, (*product.outer_of(product.left), product.row)
    # Padding rows by a cache line avoids conflicts between cache sets.
    copy = names.buffer([*_extents(rows), word.extent + machine.line // 4], np.dtype(np.int32))
    copies: list[Statement] = []
    # Words that are full, those with some terms, and those without ask nothing of their numbers.
    for first, end in pairwise((0, terms // words.terms, -(-terms // words.terms), word.extent)):
        if first < end:
            one = Index("term", end - first)
            value = words.packed(product.left, product.term, one + first)
            if words.times == "dot4u":  # bytes without signs are 128 greater
                value = op("xor", value, const(-0x7F7F7F80, np.int32))
            copies.append(_parallel((*rows, one), [Store(copy, (*rows, one + first), value)]))
    return copy[(*rows, word)], copies


def _is_in_rows(left: Expr, row: Index, word: Index, machine: Machine) -> bool:
    """Whether the words of a left factor lie in memory as they are, row by row, so that matrix
    registers can load them.

    Rows that map to few cache sets are better copied, with padding: on two cores a product of 1024
    x 1024 bfloat16 takes 2.1 ms then, 3.7 in place; 256 x 256 on 16 cores 75 us, 42 in place
    (Emerald Rapids).
    """
    place = place_of(left)
    return machine.has_matrix_registers and place is not None and place[0].get(word) == 1 and (
        place[0].get(row, 0) * 4 % machine.tuning.tiles.conflict != 0) and all(
        isinstance(atom, Index) for atom in place[0])


def _column_sums(product: _Product, factor: int, names: _Names) -> tuple[Expr, list[Statement]]:
    """A multiple of the column sums of the right factor, and the nest that computes them."""
    loops, fold = (*product.outer_of(product.right), product.column), product.total.fold
    sums = names.buffer(_extents(loops), product.total.dtype)
    body = op("mul", product.right, const(factor, product.total.dtype))
    total = Pick(Fold((product.term,), fold.init, fold.states, (body,), "add"), 0)
    return sums[loops], [_parallel(loops, [Store(sums, loops, total)])]


def _parts(product: _Product, tuning: ContractTuning) -> int:
    """Into how many parts long sums of few elements are cut, so that threads can share them."""
    elements = prod(_extents((*product.outer, product.row, product.column)))
    return product.term.extent // tuning.part if elements <= tuning.small_result else 1


def _in_parts(product: _Product, names: _Names, machine: Machine) -> list[Statement] | None:
    """A product whose terms are summed in parts, and the parts afterwards."""
    count, loops = _parts(product, machine.tuning.contract), (product.row, product.column)
    size, left_over = divmod(product.term.extent, count)
    places = [(Index("part", count), size, 0)]
    if left_over:
        places.append((Index("part", 1), left_over, count * size))
    sums = names.buffer([count + (left_over > 0), *_extents((*product.outer, *loops))],
                        product.total.dtype)
    found: list[Statement] = []
    for number, (part, terms, start) in enumerate(places):
        term = Index("term", terms)
        moved: dict[Variable, Expr] = {product.term: part * terms + term + start}
        outer = replace(product, outer=(part, *product.outer))
        nest = _sums(outer, sums, loops, loops, term, substitute(product.left, moved),
                     substitute(product.right, moved), first=number * count)
        steps = _contracted(nest, names, machine)
        if steps[-1] is nest:
            return None
        found += steps
    part = Index("part", sums.shape[0])
    state = product.total.fold.states[0]
    element = sums[[part, *product.outer, *loops]]
    fold = Fold((part,), product.total.fold.init, (state,), (element,), "add")
    return [*found, product.rest(Pick(fold, 0))]


def _sums(product: _Product, buffer: Buffer, loops: Sequence[Index], index: Sequence[Expr],
          term: Index, left: Expr, right: Expr, first: int = 0) -> Nest:
    """The nest that stores the plain sums of products."""
    state = State("sum", buffer.dtype)
    body = op(times(product.total), left, right)
    fold = Fold((term,), (Const(0, buffer.dtype),), (state,), (body,), "add")
    place = [i + first if n == 0 and first else i for n, i in enumerate(product.outer)]
    return _parallel((*product.outer, *loops), [
        Store(buffer, (*place, *index), Pick(fold, 0))])


def _parallel(loops: Sequence[Index], stores: Sequence[Store]) -> Nest:
    return Nest(tuple(loops), (PARALLEL,) * len(loops), tuple(stores))


def _extents(loops: Iterable[Index]) -> list[int]:
    return [i.extent for i in loops]


# -- loops -----------------------------------------------------------------------------------------


@record
class _Product:
    """A sum of products in one loop over rows, one over columns, and one over terms."""

    outer: tuple[Index, ...]
    row: Index
    column: Index
    term: Index
    left: Expr
    right: Expr
    total: Pick
    stores: tuple[Store, ...]
    runs: tuple[Index, ...] = ()  # loops over runs of terms

    @property
    def terms(self) -> int:
        return prod(_extents((*self.runs, self.term)))

    @property
    def joined(self) -> _Product:
        """The same product with all its terms in one loop."""
        moved: dict[Variable, Expr] = {}
        term = _joined("term", (*self.runs, self.term), moved)
        left, right = substitute(self.left, moved), substitute(self.right, moved)
        fold = self.total.fold
        body = op(times(self.total), left, right)
        one = Pick(Fold((term,), fold.init, fold.states, (body,), fold.combine), 0)
        stores = tuple([replace(store, value=rewrite(
            store.value, lambda e: one if e is self.total else None)) for store in self.stores])
        return replace(self, term=term, left=left, right=right, total=one, stores=stores, runs=())

    def outer_of(self, factor: Expr) -> tuple[Index, ...]:
        """The outer loops that a factor depends on."""
        return tuple(i for i in self.outer if i in factor.free)

    def rest(self, total: Expr) -> Nest:
        """The statements after the sums, given buffers that hold these."""
        stores = [replace(store, value=rewrite(
            store.value, lambda e: total if e is self.total else None)) for store in self.stores]
        return _parallel((*self.outer, self.row, self.column), stores)


def _product(statement: Statement, temps: set[Buffer], machine: Machine) -> _Product | None:
    """The product that a statement computes, or None; a product without rows gets one."""
    if not isinstance(statement, Nest) or any(kind != PARALLEL for kind in statement.kinds):
        return None
    stores = _read_stores(final_stores(statement.body), temps)
    total = sum_of_products(stores)
    if total is None or not all(i.extent for i in (*statement.indices, *total.fold.indices)):
        return None
    if is_chosen(total, stores) and not all(map(in_range, loads(total.fold))):
        return None
    left, right = factors(total)
    loops = [i for i in statement.indices if i.extent > 1]
    places = [offset(store.buffer, store.index)[0] for store in stores]
    places += [offset(load.buffer, load.index)[0] for store in stores
               for load in _loads_beside(store.value, total)]
    near = places[len(stores) - 1]
    inner = min((i for i in loops if near.get(i, 0) > 0), key=lambda i: near[i], default=None)
    if inner is None or not (inner in left.free) ^ (inner in right.free):
        return None
    if inner in left.free:
        left, right = right, left
    columns = _run([i for i in loops if i in right.free and i not in left.free], inner,
                   [*places, *_places_of_rows(total, right)])
    own = [i for i in loops if i in left.free and i not in right.free]
    rows = max((_run(own, i, [*places, *_places_of_rows(total, left)]) for i in own),
               key=lambda run: prod(_extents(run)), default=[Index("row", 1)])
    outer = tuple(i for i in loops if i not in rows and i not in columns)
    in_runs = len(_runs(total, right)) > 1
    if _has_rows(total, right) and (
            in_runs or _distance(right, inner) > 1 and _are_few(rows, columns, total, machine)):
        if not own:
            return None  # a row by a vector is a plain sum
        left, right, rows, columns = right, left, columns, rows
    return _merged(outer, rows, columns, total, left, right, stores,
                   {i: const(0) for i in statement.indices if i.extent == 1})


def _are_few(rows: Sequence[Index], columns: Sequence[Index], total: Pick, machine: Machine,
             ) -> bool:
    """Whether rows are so few that they should be the columns: no panels are made of those then,
    but the result is stored across its rows.

    A panel has a number for each term, a column of the result one for each row. With 64 rows, 512
    columns, and 64 terms, whole columns take 165 us, rows 72; with 1024 columns and 784 terms 936
    and 1290 (Cascade Lake, one core).
    """
    tuning, terms = machine.tuning.contract, prod(_extents(total.fold.indices))
    least = prod(_extents(rows)) * tuning.fewer
    return least <= prod(_extents(columns)) and (
        machine.multiplies_by_lane or terms >= max(least, tuning.long))


def _read_stores(stores: Sequence[Store], temps: set[Buffer]) -> tuple[Store, ...]:
    """Drop stores of sums to temporaries that only other stores of the body read."""
    read = {load.buffer for load in loads(*(store.value for store in stores))}
    return tuple(s for s in stores if s.buffer not in temps or s.buffer in read)


def _distance(factor: Expr, index: Index) -> int:
    """Distance in memory between elements along an index; 0 if it is not known."""
    place = place_of(factor)
    return place[0].get(index, 0) if place else 0


def _has_rows(total: Pick, factor: Expr) -> bool:
    """Whether the terms, or the terms of a run, are adjacent in memory."""
    *_, last = _runs(total, factor)
    return bool(last) and _distance(factor, last[-1]) == 1


def _places_of_rows(total: Pick, factor: Load | Expr) -> list[Terms]:
    """Which loads must be merged for rows or columns to be one loop, if terms come in runs."""
    if isinstance(factor, Load) and len(_runs(total, factor)) > 1 and not _has_rows(total, factor):
        return [offset(factor.buffer, factor.index)[0]]
    return []


def _loads_beside(value: Expr, total: Pick) -> Iterator[Load]:
    """The loads of a value, except for its sum."""
    return loads(rewrite(value, lambda e: total.fold.states[0] if e is total else None))


def _run(loops: Sequence[Index], inner: Index, places: Sequence[Terms]) -> list[Index]:
    """Loops, outermost first, that access memory like one loop; ``inner`` is the last of them."""
    run = [inner]
    extent = inner.extent
    while True:
        def joins(i: Index) -> bool:
            return i not in run and all(
                terms.get(i, 0) == terms.get(inner, 0) * extent  # noqa: B023
                and not any(not isinstance(atom, Index) and {i, inner} & atom.free
                            for atom in terms) for terms in places)
        found = next(filter(joins, loops), None)
        if found is None:
            return run
        run.insert(0, found)
        extent *= found.extent


def _merged(outer: tuple[Index, ...], rows: Sequence[Index], columns: Sequence[Index], total: Pick,
            left: Expr, right: Expr, stores: Iterable[Store], moved: Mapping[Variable, Expr],
            ) -> _Product:
    """The product with one loop each for rows, columns and terms."""
    fold = total.fold
    moved = dict(moved)
    moved.update({i: const(0) for i in fold.indices if i.extent == 1})
    row, column = (_joined(name, run, moved) for name, run in (("row", rows), ("column", columns)))
    *runs, term = (_joined("term", run, moved) for run in _runs(total, left))
    left, right = substitute(left, moved), substitute(right, moved)
    body = op(times(total), left, right)
    one = Pick(Fold((*runs, term), fold.init, fold.states, (body,), fold.combine), 0)
    changed = tuple([replace(
        store, index=tuple([substitute(i, moved) for i in store.index]),
        value=rewrite(substitute(rewrite(store.value, lambda e: fold.states[0] if e is total
                                         else None), moved),
                      lambda e: one if e is fold.states[0] else None)) for store in stores])
    return _Product(outer, row, column, term, left, right, one, changed, tuple(runs))


def _runs(total: Pick, factor: Expr) -> list[list[Index]]:
    """The loops over terms, grouped if they access a factor's memory like one loop.

    They are in the order of the factor's memory. All form one group if distances are not constant,
    or if there are no kernels for the dtype.
    """
    loops = [i for i in total.fold.indices if i.extent > 1]
    places = offset(factor.buffer, factor.index)[0] if isinstance(factor, Load) else {}
    if not loops or not has_tiles(total.dtype) or not all(places.get(i) for i in loops) or any(
            not isinstance(atom, Index) and not atom.free.isdisjoint(loops) for atom in places):
        return [list(total.fold.indices)]
    loops.sort(key=lambda i: -places[i])
    found = [loops[:1]]
    for i in loops[1:]:
        if places[found[-1][-1]] == places[i] * i.extent:
            found[-1].append(i)
        else:
            found.append([i])
    return found


def _joined(name: str, run: Sequence[Index], moved: dict[Variable, Expr]) -> Index:
    """Merge several loops into one; ``moved`` gets the new values of their variables."""
    run = [i for i in run if i.extent > 1] or run[:1]
    if len(run) == 1:
        return run[0]
    whole = Index(name, prod(i.extent for i in run))
    size = 1
    for i in reversed(run):
        part = whole // size if size > 1 else whole
        moved[i] = part % i.extent if i is not run[0] else part
        size *= i.extent
    return whole


# -- operands --------------------------------------------------------------------------------------


class _Layout:
    """Decides the memory layout of a product's operands, except for one that is ``computed``."""

    def __init__(self, product: _Product, names: _Names, machine: Machine, computed: Expr | None):
        self.product, self.names, self.machine = product, names, machine
        self.computed = computed
        self.dtype = product.total.dtype
        self.copies: list[Nest] = []

    def statements(self) -> tuple[list[Nest], Nest]:
        """The copies that are needed, and the nest that computes the product from them."""
        product = self.product
        form, left = self.left()
        body = op(times(product.total), left, self.right(form))
        fold = product.total.fold
        total = Pick(Fold(fold.indices, fold.init, fold.states, (body,), fold.combine), 0)
        return self.copies, product.rest(total)

    def distances(self, factor: Expr, along: Index) -> tuple[int, int] | None:
        """Distances in memory between rows or columns, and between terms; None if not constant."""
        place = place_of(factor)
        if place is None or not all(isinstance(atom, Index) for atom in place[0]):
            return None
        return place[0].get(along, 0), place[0].get(self.product.term, 0)

    def is_row_by_row(self, factor: Expr) -> bool:
        """Whether the terms, or the terms of a run, are adjacent, wherever the rows are."""
        place = place_of(factor)
        return place is not None and place[0].get(self.product.term) == 1 and all(
            isinstance(atom, Index) or atom.free == {self.product.row} for atom in place[0])

    def streams(self) -> bool:
        """Whether the right factor is read in place, because there are few rows."""
        product = self.product
        distances = self.distances(product.right, product.column)
        return distances is not None and streams(
            product.row.extent, product.terms, *distances, self.dtype.itemsize,
            self.machine.tuning.tiles)

    def left(self) -> tuple[Form, Expr]:
        """The left factor, with neighbouring terms (form k) or rows (form m)."""
        product, factor = self.product, self.product.left
        rows, columns = product.row.extent, product.column.extent
        lanes = lanes_of(self.dtype, self.machine)
        distances = self.distances(factor, product.row)
        near: Form | None = None if distances is None else (
            "k" if distances[1] == 1 else "m" if distances[0] == 1 and rows >= lanes else None)
        if near is not None and (columns < self.many(distances) or rows < 2 * lanes
                                 or product.runs):
            return near, factor
        if self.is_row_by_row(factor) and (product.runs or columns < self.many((0, 1))):
            return "k", factor
        if factor is self.computed:
            return "k" if any(_distance(load, product.term) == 1 for load in loads(factor)) else (
                "m"), factor
        tile = best_tile("m", rows, columns, product.terms, self.dtype, self.machine,
                         times=times(product.total))
        if tile is not None:
            return "m", self.panels(factor, product.row, tile.rows)
        outer = product.outer_of(factor)
        loops = (*outer, product.row, *product.runs, product.term)
        copy = self.names.buffer([i.extent for i in loops], factor.dtype)
        self.store(copy, loops, loops, factor)
        return "k", copy[loops]

    def many(self, distances: tuple[int, int] | None) -> int:
        """Columns from which a left factor with such distances is worth a copy."""
        if distances and distances[1] == 1 and not self.machine.multiplies_by_lane:
            # Single elements are read as quickly from rows as from panels, in conflict or not:
            # without copies 256 x 256 runs at 0.87 of the peak instead of 0.76 (AVX-512).
            return sys.maxsize
        far = max(distances or (0,)) * self.dtype.itemsize
        tuning = self.machine.tuning.contract
        conflicts = far and far % tuning.conflict == 0 and (
            self.product.term.extent >= tuning.stretch)
        return tuning.many_in_conflict if conflicts else tuning.many

    def right(self, form: Form) -> Expr:
        """The right factor, with neighbouring columns."""
        product, factor = self.product, self.product.right
        rows, columns, terms = product.row.extent, product.column.extent, product.terms
        distances = self.distances(factor, product.column)
        if distances is not None and distances[0] == 1 and (
                columns >= lanes_of(self.dtype, self.machine)) and (
                self.streams()
                or distances[1] * terms * self.dtype.itemsize <= self.machine.tuning.contract.near
                or form == "m" and product.runs or not product.runs and copied_by_tasks(
                    self.batch(factor), rows, columns, terms, *distances, self.dtype.itemsize,
                    self.machine)):
            return factor
        if factor is self.computed:
            return factor
        size = panel_columns(form, rows, columns, terms, self.dtype, self.machine,
                             times(product.total))
        return self.panels(factor, product.column, size) if size else factor

    def batch(self, factor: Expr) -> int:
        """How many matrices a factor consists of; 0 if some are used several times."""
        outer = self.product.outer
        return prod(_extents(outer)) if all(i in factor.free for i in outer) else 0

    def panels(self, factor: Expr, along: Index, size: int) -> Expr:
        """A factor in panels of ``size`` adjacent rows or columns, term after term."""
        outer, runs, term = self.product.outer_of(factor), self.product.runs, self.product.term
        count, places = -(-along.extent // size), min(size, along.extent)
        copy = self.names.buffer([*_extents(outer), count, *_extents((*runs, term)), size],
                                 factor.dtype)
        panel: Expr = Index("panel", count) if count > 1 else const(0)
        place = Index("place", places)
        start = op("min", panel * size, along.extent - places)
        loops = [*([panel] if isinstance(panel, Index) else []), *runs, term]
        at: Expr = term
        moved: dict[Variable, Expr] = {along: start + place}
        across = sum(_distance(load, along) == 1 and term in load.free for load in loads(factor))
        sizes = self.machine.tuning.contract.at_a_time
        size_of_few = next((n for n in sizes if term.extent % n == 0
                            and n * across <= self.machine.tuning.contract.rows_read), 0)
        if across and size_of_few:
            # Cache lines need to be loaded only once, both those that are read and those written.
            stretch, few = Index("stretch", term.extent // size_of_few), Index("few", size_of_few)
            loops = [stretch, *loops[:-1], few]
            at = moved[term] = stretch * size_of_few + few
        self.store(copy, [*outer, *loops, place], [*outer, panel, *runs, at, place],
                   substitute(factor, moved))
        if places < size:
            # Uninitialized padding could be subnormal, and multiplying that is slow.
            loops, rest = [*outer, *runs, term], Index("rest", size - places)
            self.store(copy, [*loops, rest], [*outer, panel, *runs, term, rest + places],
                       Const(0, factor.dtype))
        number, position = panel_place(along, size)
        return copy[[*outer, number, *runs, term, position]]

    def store(self, buffer: Buffer, loops: Sequence, index: Sequence, value: Expr) -> None:
        self.copies.append(_parallel(loops, [Store(buffer, tuple(index), value)]))
