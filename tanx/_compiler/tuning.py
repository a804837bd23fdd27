"""Thresholds of the compiler: one class for each pass, all of them fields of :class:`Tuning`.

A :class:`~tanx._compiler.machine.Machine` carries them down the pipeline. Tests and experiments
vary them with :meth:`Thresholds.replace`; :meth:`Tuning.varied` does that for several passes at
once.

Each comment says what the number limits. Where it was measured, the comment gives the figure and
the processor; a number without one was chosen while its pass was written, and no sweep of it is on
record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

__all__ = ["BandTuning", "ColumnTuning", "ContractTuning", "DecomposeTuning", "DistributeTuning",
           "FlattenTuning", "FlowTuning", "FourierTuning", "FunctionTuning", "FuseTuning",
           "KernelTuning", "MatrixTuning", "MemoryTuning", "MomentsTuning", "RegisterTuning",
           "RowTuning", "SearchTuning", "SimplifyTuning", "SortTuning", "SplitTuning", "TileTuning",
           "Thresholds", "Tuning", "USUAL"]


class Thresholds:
    """The base of the classes below, whose attributes are the default values.

    A first call of a process makes 30 such classes: 0.9 ms, where named tuples took 4.6 and data
    classes 35 (Python 3.11, Cascade Lake).

    An object stores only the values that differ from the defaults, so that the hash of a machine, a
    key of several caches, takes 1 us instead of 42.

    >>> SearchTuning(), FuseTuning(store=8.0).replace(store=9.0).store
    (SearchTuning(), 9.0)
    """

    def __init__(self, **values: Any):
        for name, value in values.items():
            if not hasattr(type(self), name) or name.startswith("_"):
                raise TypeError(f"{type(self).__name__} has no threshold {name!r}.")
            if value != getattr(type(self), name):
                self.__dict__[name] = value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is not mutable: use replace({name}=...).")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *sorted(self.__dict__.items())))

    def __repr__(self) -> str:
        given = (f"{name}={value!r}" for name, value in sorted(self.__dict__.items()))
        return f"{type(self).__name__}({', '.join(given)})"

    def replace(self, **values: Any) -> Self:
        """These thresholds with other values for some of them."""
        return type(self)(**{**self.__dict__, **values})


class SimplifyTuning(Thresholds):
    """``simplify.py``."""

    # Elements up to which a constant array is computed while compiling.
    folded: int = 1024


class DecomposeTuning(Thresholds):
    """``decompose.py`` and ``decompose_conv.py``: primitives expressed by others."""

    # Largest exponent for which an integer power becomes multiplications.
    powers: int = 64
    # Convolutions keep space last in memory if windows have at least this many elements in a row.
    window: int = 8
    # Below this many features, images are made the last dimension instead.
    features: int = 4
    # Elements of windows up to which they may be copied all at once.
    copied: int = 1 << 25


class DistributeTuning(Thresholds):
    """``distribute.py``: products of all steps of a scan as one product."""

    # Bytes that the rows of one product may take.
    room_bytes: int = 1 << 27
    # Multiplications in the product of one step up to which it stays in the loop.
    small: int = 1 << 10


class RegisterTuning(Thresholds):
    """``register_loops.py`` and ``per_element.py``: loops whose values stay in registers."""

    # How many times the work of a loop's equations may be repeated.
    repeats: int = 4
    # Work, counted in operations, that may be repeated any number of times.
    little: float = 1 << 12
    # Elements of the larger operand up to which a matrix product runs in lanes, not in tiles.
    product: int = 256
    # Elements of the arrays that a loop without carries computes for all of its steps at once.
    room: int = 1 << 22
    # Equations of a loop from which its size is estimated before it is lowered.
    long: int = 64
    # Bytes of one row, and of all rows, above which rows are read one after the other.
    row_bytes: int = 1 << 11
    rows_bytes: int = 1 << 19
    # Elements at most of an array that is taken apart, so that each element is a scalar, and
    # elements from which an array is left to lanes.
    apart: int = 16
    lanes: int = 4
    # Scalars that a loop carries at most.
    states: int = 32
    # Scalar operations in a step at most, if arrays are taken apart; a third of them if lanes could
    # compute several at a time.
    scalars: int = 400
    # Nodes of the expressions in a loop at most.
    nodes: int = 3000


class FlowTuning(Thresholds):
    """``lower_flow.py``: loops and branches that run programs."""

    # Seconds of a task at least; waking a thread takes 5 to 10 us.
    grain: float = 3e-5
    # Tasks of a loop at most.
    tasks: int = 64
    # Bytes that the arenas of the tasks of a loop may take together.
    arenas: int = 1 << 26
    # Bytes of an array from which a branch changes it in place.
    in_place: int = 1024
    # Least estimate, in seconds, for a program with a loop whose end depends on data.
    open: float = 2e-5


class FlattenTuning(Thresholds):
    """``flatten.py``: loops with small bodies as nests."""

    # Seconds of one step up to which a body is small.
    small: float = 1e-6
    # Statements of a body at most; more of them are slow to compile.
    statements: int = 16
    # Bytes up to which independent steps have temporaries of their own.
    temporaries: int = 1 << 16
    # Bytes up to which a carry is copied at the end of each step.
    copied: int = 256


class FuseTuning(Thresholds):
    """``fuse.py``: what is stored, and what is computed where it is read."""

    # Rows from which fusing only the loops over rows leaves enough parallel work.
    rows: int = 64
    # Elements up to which no loop has to run in parallel.
    small: int = 1 << 14
    # Elements of a row that is too short for a vector: several rows become one if possible.
    brief: int = 4
    # Bytes of a row that stays in the cache between its uses.
    row_bytes: int = 1 << 17
    # Nodes of the expressions in one nest; with more, code is slow to compile and to run.
    nodes: int = 400
    # How many groups back a statement may join one because they share an input.
    near: int = 16
    # Places at most in which an array is recomputed instead of stored.
    contexts: int = 16
    # Effort of storing an element, of loading one, and of running one more nest.
    store: float = 2.0
    load: float = 1.0
    nest: float = 50.0
    # How many times larger an array must be than the part of it that is stored.
    part: int = 4
    # Factor by which overlapping panels may recompute elements without counting as more work.
    overlap: float = 1.125
    # Uses of each element of both operands that make a sum of products a contraction.
    reuse: int = 4
    # Vectors that an operand is usually computed in when a product computes it on the way.
    vectors: int = 2
    # Columns with which a product may store its result transposed, if it had more before.
    columns: int = 16


class MomentsTuning(Thresholds):
    """``moments.py``: variances in one pass over memory."""

    # Bytes of all elements above which no near cache holds them.
    far: int = 1 << 25
    # Bytes of the elements of one sum above which the nearest cache does not hold them.
    near: int = 1 << 16
    # Elements of a group at most.
    size: int = 128
    # Groups side by side along a line of elements.
    lanes: int = 16


class SearchTuning(Thresholds):
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


class MemoryTuning(Thresholds):
    """``memory.py``: what shares memory."""

    # Bytes from which a temporary may use the memory of an output; smaller ones stay together.
    guest: int = 1 << 16
    # Statements that another may be moved after, so that it can overwrite what they read.
    put_off: int = 8
    # Bytes of private memory of a task, which must stay in the second-level cache, and of a
    # temporary that is worth it.
    own: int = 1 << 18
    worth_own: int = 1 << 16


class SplitTuning(Thresholds):
    """``split.py``: loops cut where a condition on their index changes."""

    # Nests that one nest becomes at most.
    pieces: int = 32
    # Elements, over all runs of a nest, that make cutting it worthwhile.
    worth: int = 256
    # Bytes of a row up to which its parts are written together.
    row_bytes: int = 256
    # Bytes of a part of a row up to which a separate nest does not pay.
    short: int = 1 << 11
    # How many times the indices of one nest are divided.
    divisions: int = 3
    # Assumed number of runs of a loop body; most run more often.
    steps: int = 16


class TileTuning(Thresholds):
    """``schedule/tiles.py``: sums of products by tiles."""

    # Bytes of the right operand that stay in the second-level cache while they are reused.
    block_bytes: int = 1 << 18
    # Bytes of a left operand, and terms of a right one, that a task computes on the way.
    room_bytes: int = 1 << 16
    room_terms: int = 32
    # Bytes between terms that map to the same cache sets, and terms from which that matters.
    conflict: int = 2048
    stretch: int = 64
    # Columns of a strip, and elements of all strips of few rows, that stay in the first-level
    # cache.
    strip: int = 512
    strips: int = 4096
    # Rows that make it worth bringing a block of the right operand into the second-level cache.
    chunk: int = 64
    # Products that are worth a task of their own, and tasks at most.
    task: int = 1 << 18
    tasks: int = 256
    # Tasks wanted for each core, and twice as many if these use each element that they read more
    # often than so: with four, 512 x 512 by 512 x 512 takes 264 instead of 282 us, the gradient of
    # a 7 x 7 kernel 760 instead of 630, because each task reads all images (Emerald Rapids, 16 and
    # 4 cores).
    tasks_of_core: int = 2
    reused: int = 40
    # Products that are worth one of these, and products of all of them that are worth waking
    # threads: 64 x 256 by 256 x 64 takes 12 us longer in two tasks, 128 x 128 by 128 x 128 8 us
    # less in four (4 cores).
    shared: int = 1 << 19
    all_shared: int = 1 << 21
    # Products above which tiles are quicker than plain loops.
    worth: int = 256
    # Bytes of a right operand that stay in the first-level cache, whatever its layout.
    near: int = 1 << 15
    # Rows up to which columns are not reused enough to be worth a copy, and terms that are then
    # added at a time; the same for very few rows.
    few: int = 16
    streamed: int = 16
    very_few: int = 2
    least: int = 4
    # Terms that are added at a time where there are many: for the cache and for accuracy.
    deep: int = 2048
    # Runs of terms at most.
    many_runs: int = 4096
    # Rows of a tile at most, and vectors.
    rows: int = 16
    vectors: int = 12
    # Cycles around a tile beside its terms.
    call: int = 30
    # Bytes of columns that the second-level cache delivers in a cycle, if they do not stay in the
    # first level (AVX-512: tiles of 4 x 64 then run at 0.7 of the speed of 6 x 64, otherwise at
    # 0.95).
    from_second: int = 22
    # Rows up to which tasks copy columns, columns and bytes of a right operand that make it worth
    # that, and terms that are copied at a time.
    rows_of_one_task: int = 256
    columns_of_tasks: int = 512
    copied: int = 1 << 17
    copies: int = 512
    # Words of terms that are added at a time in matrix registers: 32 rows of them take 32 KB.
    matrix_words: int = 256


class ContractTuning(Thresholds):
    """``contraction.py``: products of matrices, and which operands are copied."""

    # Bytes of a right operand that stay in the first-level cache, whatever its layout.
    near: int = 1 << 15
    # Bytes of a matrix above which tiles beat plain loops in its product with a vector.
    far: int = 1 << 18
    # Columns from which copying rows pays, since each row is read that often; and from how many if
    # rows map to the same cache sets.
    many: int = 192
    many_in_conflict: int = 48
    # Bytes between rows that map to the same cache sets, and terms from which that matters.
    conflict: int = 4096
    stretch: int = 512
    # Terms of all columns that are copied at a time, the first of these that divides them; and rows
    # of memory that an element may be computed from without evicting each other.
    at_a_time: tuple[int, ...] = (16, 12, 20, 10, 8, 4)
    rows_read: int = 20
    # Rows up to which, and terms from which, each of several products with few columns is computed
    # as plain sums.
    rows_of_sums: int = 64
    terms_of_sums: int = 16
    # Ratio of columns to rows, and of terms to rows, from which rows may become columns; and terms
    # from which they do. The latter two where processors multiply no vector by a lane.
    fewer: int = 8
    long: int = 256
    # Rows up to which a right operand may be computed on the way, rather than before.
    few_rows: int = 16
    # Multiplications of bytes or bfloat16 from which several are packed in a word; rows from which
    # the right operand is packed as pairs of bfloat16.
    many_narrow: int = 1 << 15
    rows_of_pairs: int = 32
    # Complex multiplications up to which real and imaginary parts are not copied apart.
    small: int = 4096
    # Columns and terms at most that are written out, and rows that make it worthwhile.
    tiny: int = 4
    tiny_rows: int = 64
    # Terms that are summed at a time if the result has at most ``small_result`` elements.
    part: int = 1024
    small_result: int = 1 << 14


class BandTuning(Thresholds):
    """``schedule/bands.py``: a product and what is computed from its rows, in one task."""

    # Bytes of copied rows from which the product that reads them is in bands.
    copied: int = 1 << 18
    # Statements after a product that may join its band.
    ahead: int = 16
    # Rows of a band: at most, and at least, since fewer rows reuse the columns too little.
    rows: int = 96
    least: int = 32
    # Bytes of the largest array that a band writes, for its own rows.
    bytes: int = 1 << 18
    # Bands at least, so that all threads have work.
    tasks: int = 8


class RowTuning(Thresholds):
    """``schedule/rows.py`` and ``emit/cpu/rows.py``: sums along rows, several rows at a time."""

    # Rows at a time, or as many as a vector has lanes if that is more, so that the code after the
    # sums fills a vector (tanh of a 32 x 32 matrix times a vector, AVX-512: 190 ns with 16 rows,
    # 320 ns with 8).
    together: int = 8
    # Rows at a time if they are long: hardware prefetching follows fewer streams.
    long_together: int = 4
    # Elements of a row up to which a plain sum is accurate enough. Rows of narrow numbers may be
    # longer, because the shared operand is widened once for all rows.
    long: int = 1 << 10
    long_narrow: int = 1 << 14
    # Elements of a row up to which more than ``together`` rows are prefetched by the hardware
    # (1024 x 1024: 5 % slower with 16 rows).
    short: int = 512
    # Lanes of a vector from which the remainder of a row uses vectors of fewer lanes.
    long_vector: int = 8
    # Rows, and instructions on each sum, from which the code after the sums gets its own loop: the
    # gradient of logaddexp on 1,000 rows of 20 numbers takes 7.7 us instead of 14.5 us (AVX-512).
    many: int = 64
    much: int = 48
    # Vectors of each row that one iteration adds.
    vectors: int = 4


class ColumnTuning(Thresholds):
    """``schedule/columns.py`` and ``emit/cpu/columns.py``: reductions of columns."""

    # Rows, those of several blocks, that make blocks worthwhile.
    many: int = 16
    # Bytes from row to row that make blocks worthwhile.
    far: int = 256
    # Bytes that stay in the second-level cache.
    near: int = 5 << 15
    # Rows up to which plain sums of a few columns, all in registers, are accurate enough.
    long_columns: int = 4096
    # Fraction of the registers that holds results; the others hold elements.
    share: float = 0.625
    # Lines of memory in a block.
    rows: int = 4
    # Vectors of sums that hide the latency of additions: two start per cycle and take four.
    at_once: int = 8
    # Bytes of the results of a reduction that stay in the first-level cache.
    room: int = 1 << 16
    # Length of the code after the reductions above which it is written once, in a loop.
    long: int = 96


class TaskTuning(Thresholds):
    """``schedule/tasks.py``: work that is split over threads."""

    # Seconds of work for each thread; waking one takes 5 to 10 us.
    grain: float = 3e-5
    # The same for copies of operands, before a product that wakes the threads: one of 256 x 256
    # takes 50 us instead of 95 (Emerald Rapids, 16 cores).
    grain_of_copies: float = 1e-5
    # Tasks that one of these becomes where there are few, so that threads finish together.
    fine: int = 4
    # Tasks of a statement at most, and of a library call.
    most: int = 256
    most_calls: int = 64
    # Tasks, and tasks that are rows, that keep threads busy; with fewer, more loops are split.
    enough: int = 32
    enough_rows: int = 8
    # Seconds that a routine of LAPACK takes at least, and for each element of a row's product.
    routine: float = 5e-7
    routine_element: float = 5e-9
    # Tasks with private copies of the result at most, and updates of each element at least.
    most_copies: int = 16
    many_each: int = 4
    # Rows of a scan at most, their length at least, and how many run in lanes.
    scan_rows: int = 2048
    scan_length: int = 4096
    scan_lanes: int = 16
    # Elements that do not fit in the second-level cache.
    large: int = 1 << 20
    # Neighbours in memory that stay in one task: whole vectors and lines of the cache.
    line: int = 64
    # The same for arrays of several dimensions, long enough for hardware prefetching, and for those
    # whose rows are read in order.
    piece: int = 512
    long_piece: int = 2048
    # Statements before a loop over tasks that it may be joined with.
    back: int = 6


class LaneTuning(Thresholds):
    """``schedule/lanes.py``: which loop runs in vectors, and how many vectors at a time."""

    # Cost of gathering one element, of reversing a vector, and of transposing one vector of a tile,
    # where loading a vector costs 1.
    gather: float = 1.5
    reverse: float = 1.5
    transpose: float = 2.5
    # Instructions up to which eight vectors (of narrow numbers), four, and two are computed at a
    # time.
    brief: int = 24
    short: int = 48
    long: int = 160
    # Length of a dependency chain from which more vectors hide its latency.
    deep: int = 8
    # Vectors of a sum beside which lanes that do not fill one count as what they are.
    sum: int = 4
    # Instructions from which an operation counts as a function.
    special: int = 4
    # Instructions up to which code is written for several vectors because of such a chain.
    written_out: int = 192
    # Instructions in a fold of narrow numbers that is more than a sum.
    rounded: int = 4
    # Instructions up to which a loop is bound by memory.
    move: int = 12
    # Instructions up to which the iterations of a tile are written out.
    tile: int = 480
    # Iterations that are unrolled together if each takes few instructions, and how few.
    together: int = 8
    moves: int = 8
    # Bits of a vector from which the remainder of a sum uses vectors of fewer lanes, and the fewest
    # lanes of these.
    long_vectors: int = 256
    few_lanes: int = 4
    # Iterations from which a loop is divided by the remainders of its index (``residues.py``).
    residues: int = 16


class ScanTuning(Thresholds):
    """``schedule/scans.py``: running sums."""

    # Vectors of a block.
    vectors: int = 4
    # Rows that a scan across vectors computes in one iteration.
    rows: int = 4


class FoldTuning(Thresholds):
    """``schedule/folds.py``: loops that carry values."""

    # Steps, and instructions in all, up to which a loop is written out.
    unrolled: int = 8
    short: int = 96
    # Steps of a partial sum; long sums add partial sums, which keeps rounding errors small.
    stretch: int = 256


class TransposeTuning(Thresholds):
    """``emit/cpu/transposes.py``: tiles that are transposed in registers."""

    # Iterations in lanes of a block if some loads read along them.
    long: int = 1024
    # Bytes of an array from which blocks of it are copied first, and such arrays at most.
    far: int = 1 << 24
    rooms: int = 2
    # Bytes of the first-level cache.
    cache: int = 1 << 16
    # Contiguous bytes that are read, bytes of a block, whose rows are written contiguously, and
    # vectors written at a time. All three are measured.
    read: int = 1024
    room: int = 1 << 16
    vectors: int = 4
    # Instructions of all iterations of a block up to which they are written out.
    written_out: int = 128


class AccessTuning(Thresholds):
    """``schedule/prefetch.py`` and ``emit/cpu/element_access.py``: loads and stores."""

    # Elements of a buffer from which lanes are loaded by a gather instruction. Smaller buffers are
    # often carries of loops that were just written, and a gather cannot forward from the store
    # buffer. With 8 elements, the nearest neighbours of a KDTree took 1.5 times as long (Cascade
    # Lake).
    least_gathered: int = 256
    # Lanes from which the gather instruction is used: with it, the pivots of 1000 systems of 4
    # equations took 8 us longer (Cascade Lake).
    gathered_lanes: int = 8
    # Contiguous bytes that hardware prefetching covers, and bytes that are prefetched otherwise.
    foreseen: int = 1 << 14
    ahead: int = 1 << 11
    # Bytes that a fold prefetches ahead in a longer range, into the first-level cache: maxima of
    # 4096 rows of 4096 numbers take 5.6 instead of 6.1 ms (Cascade Lake), 0.97 instead of 1.00
    # (Emerald Rapids, both on two cores). With 1 and 2 KB they take 6.0 and 5.6 ms, and 1.01 and
    # 1.00; into the second level only, 2 to 16 KB ahead, 3 to 17 % longer on Emerald Rapids.
    in_order: int = 1 << 12
    # Bytes that stay in the second-level cache, and bytes of a buffer that does not.
    near: int = 1 << 17
    far: int = 1 << 22
    # Bytes of a buffer from which stores at indices read from data are prefetched, on x86-64 and on
    # ARM, and how many steps ahead. A million sums added to buffers of 4, 8, 16 and 64 MB take 4.6,
    # 5.0, 7.0 and 11.6 ms with it, 3.9, 4.7, 8.1 and 15.9 without (Cascade Lake).
    scattered: int = 3 << 22
    scattered_on_arm: int = 1 << 19
    steps: int = 16


class ChoiceTuning(Thresholds):
    """``emit/choices.py``: selects whose arms are long."""

    # Instructions of an arm from which it is skipped if no lane needs it.
    dear: int = 64
    # Instructions that are faster to execute than to jump over.
    quick: int = 16
    # Choices inside each other from which their code is not written into each arm that uses it: it
    # would double with each choice. They are evaluated first, even if no arm that is taken needs
    # them. With 4, the line search of BFGS for 2 variables takes 1.4 us instead of 1.2 (Cascade
    # Lake); chains of 20 choices and their second derivatives compile in the same time with both.
    nested: int = 6


class FunctionTuning(Thresholds):
    """``emit/operations.py``: elementary functions such as ``exp``."""

    # Instructions from which a function counts as long.
    long: int = 16
    # Times that a long function is written out in a module; after that it is called. Inlined code
    # runs faster but is compiled each time.
    written_out: int = 4


class MatrixTuning(Thresholds):
    """``schedule/small_matrices.py`` and ``kernels/small_matrices.py``."""

    # Rows or columns up to which algorithms are written out without loops.
    written_out: int = 4
    # Bytes of a block of matrices, where a block has twice as many lanes as a register.
    block: int = 1 << 17
    # Tasks of one call at most.
    tasks: int = 64
    # Sums that are in registers at a time; a power of two.
    strip: int = 4


class SortTuning(Thresholds):
    """``kernels/sort.py``."""

    # Elements of a line up to which it is sorted by insertion.
    short: int = 48
    # Bits of a digit of the radix sort, and bits in lines of at least ``long`` elements, which are
    # worth a larger table.
    digit: int = 8
    long: int = 1 << 13
    long_digit: int = 11
    # Number of least elements of a line up to which they are found in registers.
    few: int = 16
    # Seconds for each element of a sort, and of a search for the least elements.
    seconds: float = 1e-8
    least_seconds: float = 1e-9
    # How often a sort passes over its array, in the estimate of a program's time.
    passes: int = 20


class FourierTuning(Thresholds):
    """``kernels/fft``."""

    # Seconds of a task at least, and tasks of a call at most.
    grain: float = 3e-5
    tasks: int = 64
    # Seconds for each number and each factor of 2 in the length.
    seconds: float = 3e-10
    # How often a transform passes over its array, in the estimate of a program's time.
    passes: int = 5
    # Short lines, and frequencies of long lines, that are computed at a time.
    group: int = 64
    piece: int = 4096
    # Roots of unity up to which all of them are in a table.
    table: int = 4096
    # Length up to which the tables of Bluestein's algorithm are constants of the program; tables of
    # longer transforms are computed when it runs.
    held: int = 1 << 15


class KernelTuning(Thresholds):
    """``kernels/gemm/micro.py``, tiles of products, and ``kernels/triangle.py``."""

    # Bytes between what is loaded and what is prefetched.
    ahead: int = 256
    # Terms in one step of a loop where there are 16 registers: 12 products of a term take six
    # cycles, and so do all instructions of a loop over single terms, four of which start in a
    # cycle. Matrices of 128 to 1000 take 0.87 to 0.97 of the time (Cascade Lake limited to AVX2),
    # with two or eight terms about the same.
    terms: int = 4
    # Vectors of right-hand sides that triangular systems are solved for at a time: each of their
    # sums waits four cycles for the term before.
    sides: int = 4


class PollTuning(Thresholds):
    """``schedule/polls.py``: loops that check after each step whether the program should stop."""

    # Steps from which a loop in order is polled.
    long: int = 1 << 14
    # Instructions, about a tenth of a second, within which a loop must end to run without polling.
    # The loop over the entries of a sparse row takes 0.6 to 0.7 of the time then (Cascade Lake).
    soon: int = 1 << 28


class Tuning(Thresholds):
    """The thresholds of all passes.

    >>> Tuning().varied({"fuse.store": 1000.0, "split.worth": 1}).fuse.store
    1000.0
    """

    simplify: SimplifyTuning = SimplifyTuning()
    decompose: DecomposeTuning = DecomposeTuning()
    distribute: DistributeTuning = DistributeTuning()
    registers: RegisterTuning = RegisterTuning()
    flow: FlowTuning = FlowTuning()
    flatten: FlattenTuning = FlattenTuning()
    fuse: FuseTuning = FuseTuning()
    moments: MomentsTuning = MomentsTuning()
    searches: SearchTuning = SearchTuning()
    memory: MemoryTuning = MemoryTuning()
    split: SplitTuning = SplitTuning()
    contract: ContractTuning = ContractTuning()
    tiles: TileTuning = TileTuning()
    bands: BandTuning = BandTuning()
    rows: RowTuning = RowTuning()
    columns: ColumnTuning = ColumnTuning()
    tasks: TaskTuning = TaskTuning()
    lanes: LaneTuning = LaneTuning()
    scans: ScanTuning = ScanTuning()
    folds: FoldTuning = FoldTuning()
    transposes: TransposeTuning = TransposeTuning()
    access: AccessTuning = AccessTuning()
    choices: ChoiceTuning = ChoiceTuning()
    functions: FunctionTuning = FunctionTuning()
    matrices: MatrixTuning = MatrixTuning()
    sort: SortTuning = SortTuning()
    fourier: FourierTuning = FourierTuning()
    kernels: KernelTuning = KernelTuning()
    polls: PollTuning = PollTuning()

    def varied(self, values: Mapping[str, Any]) -> Tuning:
        """Other thresholds, named by pass and field; a name that does not exist is an error."""
        by_pass: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            owner, _, own = name.partition(".")
            by_pass.setdefault(owner, {})[own] = value
        return self.replace(**{owner: getattr(self, owner).replace(**own)
                               for owner, own in by_pass.items()})


USUAL = Tuning()
"""The default thresholds."""
