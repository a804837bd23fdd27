"""Thresholds of the compiler: one class for each pass, all of them fields of :class:`Tuning`.

A :class:`~tanx._compiler.machine.Machine` carries them down the pipeline. Tests and experiments
vary them with ``dataclasses.replace``; :meth:`Tuning.varied` does that for several passes at once.
Each comment says what a number limits. A figure says what was measured and on which processor; a
number without one was chosen while its pass was written, and no sweep of it is on record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["ColumnTuning", "ContractTuning", "DistributeTuning", "FlattenTuning", "FlowTuning",
           "FuseTuning", "MemoryTuning", "MomentsTuning", "RegisterTuning", "SearchTuning",
           "SimplifyTuning", "SplitTuning", "TileTuning", "Tuning", "USUAL"]


@dataclass(frozen=True)
class SimplifyTuning:
    """``simplify.py``."""

    # Elements up to which a constant array is computed while compiling.
    folded: int = 1024


@dataclass(frozen=True)
class DistributeTuning:
    """``distribute.py``: products of all steps of a scan as one product."""

    # Bytes that the rows of one product may take.
    room_bytes: int = 1 << 27
    # Multiplications in the product of one step up to which it stays in the loop.
    small: int = 1 << 10


@dataclass(frozen=True)
class RegisterTuning:
    """``register_loops.py``: loops whose values stay in registers."""

    # How many times the work of a loop's equations may be repeated.
    repeats: int = 4
    # Work, counted in operations, that may be repeated any number of times.
    little: float = 1 << 12
    # Elements of the larger operand up to which a matrix product runs in lanes, not in tiles.
    product: int = 256
    # Elements of the arrays that a loop without carries computes for all of its steps at once.
    room: int = 1 << 22
    # Equations of a loop from which it is looked at before it is tried.
    long: int = 64
    # Bytes of one row, and of all rows, above which they are read one after the other.
    row_bytes: int = 1 << 11
    rows_bytes: int = 1 << 19


@dataclass(frozen=True)
class FlowTuning:
    """``lower_flow.py``: loops and branches that run programs."""

    # Seconds that a task takes at least; to wake a thread takes 5 to 10 us.
    grain: float = 3e-5
    # Tasks of a loop at most.
    tasks: int = 64
    # Bytes that the arenas of the tasks of a loop may take together.
    arenas: int = 1 << 26
    # Bytes of an array from which a branch changes it in place.
    in_place: int = 1024


@dataclass(frozen=True)
class FlattenTuning:
    """``flatten.py``: loops with small bodies as nests."""

    # Seconds of one step up to which a body is small.
    small: float = 1e-6
    # Statements of a body at most; more of them are slow to compile.
    statements: int = 16
    # Bytes up to which independent steps have temporaries of their own.
    temporaries: int = 1 << 16
    # Bytes up to which a carry is copied at the end of each step.
    copied: int = 256


@dataclass(frozen=True)
class FuseTuning:
    """``fuse.py``: what is stored, and what is computed where it is read."""

    # Rows from which sharing only the loops over rows leaves enough to run in parallel.
    rows: int = 64
    # Elements up to which nothing has to run in parallel.
    small: int = 1 << 14
    # Elements of a row that do not fill a vector: several rows are taken as one if possible.
    brief: int = 4
    # Bytes of a row that stays in the cache between its uses.
    row_bytes: int = 1 << 17
    # Nodes of the expressions in one nest; with more, code is slow to compile and to run.
    nodes: int = 400
    # Groups back that a statement joins because of an input that they share.
    near: int = 16
    # Places in which an array that is not stored is computed, at most.
    contexts: int = 16
    # Effort of storing an element, of loading one, and of running one more nest.
    store: float = 2.0
    load: float = 1.0
    nest: float = 50.0
    # How much larger an array is than the part of it that is stored before it is overwritten.
    part: int = 4
    # How many times more elements overlapping panels may compute and still count as no more.
    overlap: float = 1.125
    # Uses of each element of both operands that make a sum of products a contraction.
    reuse: int = 4


@dataclass(frozen=True)
class MomentsTuning:
    """``moments.py``: variances in one pass over memory."""

    # Bytes of all elements above which no near cache holds them.
    far: int = 1 << 25
    # Bytes of the elements of one sum above which the nearest cache does not hold them.
    near: int = 1 << 16
    # Elements of a group at most.
    size: int = 128
    # Groups side by side along a line of elements.
    lanes: int = 16


@dataclass(frozen=True)
class SearchTuning:
    """``searches.py``: argmax and argmin in two steps, by blocks."""

    # Elements of a block of neighbours at most, and at least.
    most: int = 256
    least: int = 64
    # Blocks that make two steps worthwhile.
    many: int = 16
    # Elements that a block of a column may have, best first.
    rows: tuple[int, ...] = (4, 3, 5, 2)
    # Bytes between the elements of a column, at least.
    far: int = 256


@dataclass(frozen=True)
class MemoryTuning:
    """``memory.py``: what shares memory."""

    # Bytes from which a temporary may use the memory of an output; smaller ones stay together.
    guest: int = 1 << 16
    # Statements that one may be moved behind, so that it can overwrite what they read.
    put_off: int = 8
    # Bytes of the temporaries that a task has memory of its own for, which stays in the second
    # cache, and of a temporary that is worth it.
    own: int = 1 << 18
    worth_own: int = 1 << 16


@dataclass(frozen=True)
class SplitTuning:
    """``split.py``: loops cut where a condition on their index changes."""

    # Nests that one nest becomes at most.
    pieces: int = 32
    # Elements, over all runs of a nest, that make cutting it worthwhile.
    worth: int = 256
    # Bytes of a row up to which its parts are written together.
    row_bytes: int = 256
    # Bytes of a part of a row up to which a nest of its own, row after row, does not pay.
    short: int = 1 << 11
    # How many times the indices of one nest are divided.
    divisions: int = 3
    # How often the body of a loop is taken to run; most run more often.
    steps: int = 16


@dataclass(frozen=True)
class TileTuning:
    """``schedule/tiles.py``: sums of products by tiles."""

    # Bytes of the right operand that are read again and again while in the second cache.
    block_bytes: int = 1 << 18
    # Bytes of a left operand that a task computes on the way, and terms of a right one.
    room_bytes: int = 1 << 16
    room_terms: int = 32
    # Bytes between terms that bring them into conflict, and terms from which that matters.
    conflict: int = 2048
    stretch: int = 64
    # Columns of a strip, and elements of all strips of few rows, that stay in the first cache.
    strip: int = 512
    strips: int = 4096
    # Rows that make it worth bringing a block of the right operand into the second cache.
    chunk: int = 64
    # Products that are worth a task of their own, and tasks at most.
    task: int = 1 << 18
    tasks: int = 256
    # Tasks for each core that there should be, and products that are worth one of these.
    tasks_of_core: int = 2
    shared: int = 1 << 19
    # Products above which tiles are quicker than plain loops.
    worth: int = 256
    # Bytes of a right operand that stay in the nearest cache, wherever they lie.
    near: int = 1 << 15
    # Rows up to which columns are not read often enough to be worth a copy, and terms that are
    # then added at a time; very few rows, and the terms for those.
    few: int = 16
    streamed: int = 16
    very_few: int = 2
    least: int = 4
    # Terms that are added at a time where there are many: for the cache, and for small errors.
    deep: int = 2048
    # Runs of terms at most.
    many_runs: int = 4096
    # Cycles around a tile beside its terms.
    call: int = 30
    # Bytes of columns that come from the second cache in a cycle, if they do not stay in the first
    # one (AVX-512: tiles of 4 x 64 run at 0.7 of the speed of those of 6 x 64 then, and at 0.95 if
    # they do).
    from_second: int = 22
    # Rows up to which tasks copy columns, columns and bytes of a right operand that make it worth
    # that, and terms that are copied at a time.
    rows_of_one_task: int = 256
    columns_of_tasks: int = 512
    copied: int = 1 << 17
    copies: int = 512
    # Words of terms that are added at a time in matrix registers: 32 rows of them take 32 KB.
    matrix_words: int = 256


@dataclass(frozen=True)
class ContractTuning:
    """``contraction.py``: products of matrices, and which operands are copied."""

    # Bytes of a right operand that stay in the nearest cache, wherever they lie.
    near: int = 1 << 15
    # Bytes of a matrix above which tiles beat plain loops in its product with a vector.
    far: int = 1 << 18
    # Columns that make it worth copying rows, which are read as often; and how many if rows are in
    # conflict over places in the cache.
    many: int = 192
    many_in_conflict: int = 48
    # Bytes between rows that bring them into conflict, and terms from which that matters.
    conflict: int = 4096
    stretch: int = 512
    # Terms of all columns that are copied at a time, if that goes evenly; and rows of memory that
    # elements are computed from without getting in each other's way.
    at_a_time: tuple[int, ...] = (16, 12, 20, 10, 8, 4)
    rows_at_hand: int = 20
    # How many times fewer columns than rows there may be, so that the rows need no copy.
    fewer: int = 8
    # Rows up to which a right operand may be computed on the way, rather than before.
    few_rows: int = 16
    # Products of bytes or of bfloat16 that make it worth putting several in a word; rows that make
    # it worth putting two of bfloat16 in a word, for all of the right factor.
    many_narrow: int = 1 << 15
    rows_of_pairs: int = 32
    # Words of a line of the cache.
    line_of_words: int = 16
    # Products of complex numbers that are not worth copies of their parts.
    small: int = 4096
    # Columns and terms at most that are written out, and rows that make it worthwhile.
    tiny: int = 4
    tiny_rows: int = 64
    # Terms that are summed at a time, where there are no more elements to compute than these.
    part: int = 1024
    small_result: int = 1 << 14


@dataclass(frozen=True)
class ColumnTuning:
    """``schedule/columns.py`` and ``emit/cpu/columns.py``: reductions of columns."""

    # Rows, those of several blocks, that make blocks worthwhile.
    many: int = 16
    # Bytes from row to row that make blocks worthwhile.
    far: int = 256
    # Bytes that stay near the processor.
    near: int = 5 << 15
    # Rows up to which a few columns, all of whose sums are in registers, are exact enough so.
    long_columns: int = 4096
    # Part of the registers that holds results; elements pass through the others.
    share: float = 0.625
    # Lines of memory in a block.
    rows: int = 4
    # Vectors of sums that are enough to do while additions wait: two at a time, four cycles each.
    at_once: int = 8
    # Bytes for the results of a reduction that stay in the nearest cache.
    room: int = 1 << 16
    # Length of the code after the reductions above which it is written once, in a loop.
    long: int = 96


@dataclass(frozen=True)
class TaskTuning:
    """``schedule/tasks.py``: work that is split over threads."""

    # Seconds of work for each thread; to wake one takes 5 to 10 us.
    grain: float = 3e-5
    # Tasks in such a stretch of work, where there are few: else some threads have one too many.
    fine: int = 4
    # Tasks of a statement at most.
    most: int = 256
    # Tasks, and tasks that are rows, that keep threads busy; with fewer, others are looked for.
    enough: int = 32
    enough_rows: int = 8
    # Seconds that a routine of LAPACK takes at least, and for each element of a row's product.
    routine: float = 5e-7
    routine_element: float = 5e-9
    # Tasks with elements of their own at most, and how often each of those is met at least.
    most_copies: int = 16
    many_each: int = 4
    # Rows of a scan at most, their length at least, and how many run in lanes.
    scan_rows: int = 2048
    scan_length: int = 4096
    scan_lanes: int = 16
    # Elements that no near cache holds.
    large: int = 1 << 20
    # Neighbours in memory that stay in one task: whole vectors and lines of the cache.
    line: int = 64
    # The same for arrays of several dimensions, long enough for the processor to read ahead, and
    # for those whose rows follow each other in order.
    piece: int = 512
    long_piece: int = 2048


@dataclass(frozen=True)
class LaneTuning:
    """``schedule/lanes.py``: which loop runs in vectors, and how many vectors at a time."""

    # Price of collecting one element, of reversing a vector, and of transposing a tile for each of
    # its vectors, where loading a vector costs 1.
    gather: float = 1.5
    reverse: float = 1.5
    transpose: float = 2.5
    # Lengths of code up to which eight vectors (of narrow numbers), four, and two are computed.
    brief: int = 24
    short: int = 48
    long: int = 160
    # Steps of a chain of instructions from which more vectors hide its latency.
    deep: int = 8
    # Length of an instruction that counts as a function.
    special: int = 4
    # Length of code up to which it is written for several vectors because of such a chain.
    written_out: int = 192
    # Instructions in a fold of narrow numbers that is more than a sum.
    rounded: int = 4
    # Instructions up to which most of the time goes into moving elements.
    move: int = 12
    # Instructions up to which the iterations of a tile are written out.
    tile: int = 480


@dataclass(frozen=True)
class ScanTuning:
    """``schedule/scans.py``: running sums."""

    # Vectors of a block.
    vectors: int = 4


@dataclass(frozen=True)
class FoldTuning:
    """``schedule/folds.py`` and ``emit/fold_steps.py``: loops that carry values."""

    # Steps, and instructions in all, up to which a loop is written out.
    unrolled: int = 8
    short: int = 96
    # Steps in which numbers are added up before the total is added to the others.
    stretch: int = 256


@dataclass(frozen=True)
class TransposeTuning:
    """``emit/cpu/transposes.py``: tiles that are transposed in registers."""

    # Iterations in lanes of one block where some loads read along them.
    long: int = 1024
    # Bytes of an array from which blocks of it are copied first, and such arrays at most.
    far: int = 1 << 24
    rooms: int = 2
    # Bytes of the fastest cache.
    cache: int = 1 << 16
    # Bytes that are read at a stretch, and those of a block, whose rows are the stretches that are
    # written; vectors of them at a time. All three are measured.
    read: int = 1024
    room: int = 1 << 16
    vectors: int = 4


@dataclass(frozen=True)
class AccessTuning:
    """``schedule/prefetch.py`` and ``emit/cpu/elements.py``: loads and stores."""

    # Elements of a buffer from which lanes are gathered at once: smaller ones are often carries of
    # loops that were just written, and a gather waits until they are in the cache. With 8 elements,
    # the nearest neighbours of a KDTree took 1.5 times as long (Cascade Lake).
    least_gathered: int = 256
    # Bytes of a stretch that processors read ahead by themselves, and of what is asked for
    # otherwise.
    foreseen: int = 1 << 14
    ahead: int = 1 << 11
    # Bytes that stay near the processor, and of a buffer that no near cache holds.
    near: int = 1 << 17
    far: int = 1 << 22
    # Bytes of memory that stores to places which data tell reach, from which they are prefetched,
    # and how many steps ahead.
    scattered: int = 1 << 19
    steps: int = 16


@dataclass(frozen=True)
class ChoiceTuning:
    """``emit/choices.py``: selects whose arms are long."""

    # Instructions of an arm from which it is asked whether any lane needs it.
    dear: int = 64


@dataclass(frozen=True)
class PollTuning:
    """``schedule/polls.py``: loops that check after each step whether the program should stop."""

    # Steps, each of which waits for the one before, from which a loop is polled.
    long: int = 1 << 14
    # Instructions, a tenth of a second, within which a loop surely ends that is not polled. The
    # loop over the entries of a sparse row takes 0.6 to 0.7 of the time without (Cascade Lake).
    soon: int = 1 << 28


@dataclass(frozen=True)
class Tuning:
    """The thresholds of all passes.

    >>> Tuning().varied({"fuse.store": 1000.0, "split.worth": 1}).fuse.store
    1000.0
    """

    simplify: SimplifyTuning = field(default_factory=SimplifyTuning)
    distribute: DistributeTuning = field(default_factory=DistributeTuning)
    registers: RegisterTuning = field(default_factory=RegisterTuning)
    flow: FlowTuning = field(default_factory=FlowTuning)
    flatten: FlattenTuning = field(default_factory=FlattenTuning)
    fuse: FuseTuning = field(default_factory=FuseTuning)
    moments: MomentsTuning = field(default_factory=MomentsTuning)
    searches: SearchTuning = field(default_factory=SearchTuning)
    memory: MemoryTuning = field(default_factory=MemoryTuning)
    split: SplitTuning = field(default_factory=SplitTuning)
    contract: ContractTuning = field(default_factory=ContractTuning)
    tiles: TileTuning = field(default_factory=TileTuning)
    columns: ColumnTuning = field(default_factory=ColumnTuning)
    tasks: TaskTuning = field(default_factory=TaskTuning)
    lanes: LaneTuning = field(default_factory=LaneTuning)
    scans: ScanTuning = field(default_factory=ScanTuning)
    folds: FoldTuning = field(default_factory=FoldTuning)
    transposes: TransposeTuning = field(default_factory=TransposeTuning)
    access: AccessTuning = field(default_factory=AccessTuning)
    choices: ChoiceTuning = field(default_factory=ChoiceTuning)
    polls: PollTuning = field(default_factory=PollTuning)

    def varied(self, values: Mapping[str, Any]) -> Tuning:
        """Other thresholds, named by pass and field; a name that does not exist is an error."""
        by_pass: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            owner, _, own = name.partition(".")
            by_pass.setdefault(owner, {})[own] = value
        return replace(self, **{owner: replace(getattr(self, owner), **own)
                                for owner, own in by_pass.items()})


USUAL = Tuning()
"""The thresholds that were chosen."""
