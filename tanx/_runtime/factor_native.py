"""Routines of LAPACK for one large matrix, as native code (see ``native.py``).

Each does what the routine of its name does and takes the same arguments, all of them addresses.
They halve matrices recursively, so that nearly all the work is in matrix products
(``product_native.py``), done by all threads. Small blocks are left to LAPACK's own routines; small
triangular systems are solved by substitution in vectors. Not all options of a routine are
supported: ``factor.py`` says which.
"""

from __future__ import annotations

from .native import C, address_of, call, int32, put, put32, stack, word
from .product_native import (
    COPY,
    SIZE,
    SUBTRACT,
    SWAP,
    TRIANGLE,
    copy_lines,
    copy_row4,
    copy_row8,
    less,
    multiply,
    spread,
)

__all__ = ["dgetrf", "dpotrf", "dtrsm", "move", "narrowed", "sgetrf", "solve_sides", "spotrf",
           "strsm", "swap_rows"]

GETRF, POTF2, TRTI2 = 80, 88, 96
"""Offsets of LAPACK's routines in a kind."""
SOLVE, TURN, SIDES, LANES, SOLVE_SIDES = 128, 136, 144, 152, 160
"""Offsets in a kind of the kernels of triangular systems (``kernels/triangle.py``), how many
right-hand sides and which squares they take, and of the task for these right-hand sides."""
LEAF = 32
"""Rows or columns of blocks that are not halved."""
MOST_SIDES = 64
"""The most right-hand sides that a kernel takes."""
PANEL, PANEL_ELEMENTS = 32, 40000
"""Columns that an LU factorisation leaves to LAPACK, and the elements up to which it does: with
more, LAPACK's own threads would take part, and then spin for half a second."""
LEFT, LOWER, UNIT = 1, 2, 4
"""Kinds of triangular systems: the side of the triangle, and which triangle it is."""
LETTER_L, LETTER_N, LETTER_U = 76, 78, 85  # as numbers, for there are no strings in native code


def _half(n: int) -> int:
    """The first part of a matrix: half of it, if that can be in whole leaves."""
    if n <= LEAF:
        return n // 2
    return (n // 2 + LEAF - 1) // LEAF * LEAF


def narrowed(columns: int, rows: int, limit: int) -> int:
    """How many columns of ``rows`` elements LAPACK gets."""
    while columns > 1 and columns * rows >= limit:
        columns = columns // 2
    return columns


# -- Cholesky --------------------------------------------------------------------------------------


def spotrf(triangle: int, n: int, a: int, step: int, info: int) -> None:
    """Of floats; only for the upper triangle. What is below it may be overwritten."""
    put32(info, 0, _held_cholesky(address_of.floats, int32(n), a, int32(step)))


def dpotrf(triangle: int, n: int, a: int, step: int, info: int) -> None:
    """Of doubles."""
    put32(info, 0, _held_cholesky(address_of.doubles, int32(n), a, int32(step)))


def _held_cholesky(kind: int, n: int, a: int, step: int) -> int:
    C.tanx_hold(1)
    failed = _cholesky(kind, n, a, step)
    C.tanx_hold(-1)
    return failed


def _cholesky(kind: int, n: int, a: int, step: int) -> int:
    """Factor a matrix by its upper triangle; the number of the column where it fails, or 0."""
    if n <= LEAF:
        return _small_cholesky(kind, n, a, step)
    half = _half(n)
    failed = _cholesky(kind, half, a, step)
    if failed:
        return failed
    beside = a + half * step * word(kind, SIZE)
    below = beside + half * word(kind, SIZE)
    _solve(kind, half, n - half, a, step, 1, beside, step, LEFT | LOWER)
    multiply(kind, n - half, n - half, half, beside, step, 1, beside, 1, step, below, step,
             SUBTRACT | TRIANGLE)
    failed = _cholesky(kind, n - half, below, step)
    if failed:
        return half + failed
    return 0


def _small_cholesky(kind: int, n: int, a: int, step: int) -> int:
    given = stack(32)
    put(given, 0, LETTER_U)
    put32(given, 8, n)
    put32(given, 16, step)
    call(word(kind, POTF2), given, given + 8, a, given + 16, given + 24, 1)
    return int32(given, 24)


# -- triangular systems ----------------------------------------------------------------------------


def strsm(side: int, triangle: int, turned: int, unit: int, m: int, n: int, factor: int, a: int,
          a_step: int, b: int, b_step: int) -> None:
    """Of floats; ``factor`` counts as 1."""
    _system(address_of.floats, side, triangle, turned, unit, int32(m), int32(n), a,
            int32(a_step), b, int32(b_step))


def dtrsm(side: int, triangle: int, turned: int, unit: int, m: int, n: int, factor: int, a: int,
          a_step: int, b: int, b_step: int) -> None:
    """Of doubles."""
    _system(address_of.doubles, side, triangle, turned, unit, int32(m), int32(n), a,
            int32(a_step), b, int32(b_step))


def _system(kind: int, side: int, triangle: int, turned: int, unit: int, m: int, n: int, a: int,
            a_step: int, b: int, b_step: int) -> None:
    """A transposed triangle is the other one, with rows and columns exchanged."""
    flags = 0
    if word(side) & 255 == LETTER_L:
        flags = LEFT
    if word(unit) & 255 == LETTER_U:
        flags = flags | UNIT
    lower = word(triangle) & 255 == LETTER_L
    C.tanx_hold(1)
    if word(turned) & 255 == LETTER_N:
        _solve(kind, m, n, a, 1, a_step, b, b_step, flags | lower * LOWER)
    else:
        _solve(kind, m, n, a, a_step, 1, b, b_step, flags | (1 - lower) * LOWER)
    C.tanx_hold(-1)


def _solve(kind: int, m: int, n: int, a: int, rows: int, columns: int, b: int, step: int,
           flags: int) -> None:
    """Solve ``a x = b`` or ``x a = b`` in place of ``b``, which is m x n.

    Elements of ``a`` are ``rows`` and ``columns`` apart. The independent half is solved first; its
    contribution is subtracted from the rest.
    """
    size = word(kind, SIZE)
    count = n
    if flags & LEFT:
        count = m
    if count <= LEAF:
        _solve_small(kind, m, n, a, rows, columns, b, step, flags)
        return
    half = _half(count)
    rest = count - half
    last = a + half * (rows + columns) * size
    if flags & LEFT:
        end = b + half * size
        if flags & LOWER:
            _solve(kind, half, n, a, rows, columns, b, step, flags)
            multiply(kind, rest, n, half, a + half * rows * size, rows, columns, b, 1, step, end,
                     step, SUBTRACT)
            _solve(kind, rest, n, last, rows, columns, end, step, flags)
        else:
            _solve(kind, rest, n, last, rows, columns, end, step, flags)
            multiply(kind, half, n, rest, a + half * columns * size, rows, columns, end, 1, step, b,
                     step, SUBTRACT)
            _solve(kind, half, n, a, rows, columns, b, step, flags)
    else:
        end = b + half * step * size
        if flags & LOWER:
            _solve(kind, m, rest, last, rows, columns, end, step, flags)
            multiply(kind, m, half, rest, end, 1, step, a + half * rows * size, rows, columns, b,
                     step, SUBTRACT)
            _solve(kind, m, half, a, rows, columns, b, step, flags)
        else:
            _solve(kind, m, half, a, rows, columns, b, step, flags)
            multiply(kind, m, rest, half, b, 1, step, a + half * columns * size, rows, columns, end,
                     step, SUBTRACT)
            _solve(kind, m, rest, last, rows, columns, end, step, flags)


# A small system, as an array of words, and its size. Elements of its triangle are ROW_STEP and
# COLUMN_STEP apart, from FIRST on: in the order in which solutions are found.
SYSTEM_KIND, FIRST, ROW_STEP, COLUMN_STEP, ORDER, COUNT, GIVEN, GIVEN_STEP, SYSTEM_FLAGS = (
    0, 8, 16, 24, 32, 40, 48, 56, 64)
SYSTEM = 72
BACKWARDS = 8
"""A flag: the last solution is found first."""


def _solve_small(kind: int, m: int, n: int, a: int, rows: int, columns: int, b: int, step: int,
                 flags: int) -> None:
    """Solve a system by substitution: ``x a = b`` as ``a.T x.T = b.T``."""
    order = n
    count = m
    row_step = columns
    column_step = rows
    backwards = flags & LOWER != 0
    if flags & LEFT:
        order = m
        count = n
        row_step = rows
        column_step = columns
        backwards = flags & LOWER == 0
    job = stack(SYSTEM)
    put(job, SYSTEM_KIND, kind)
    put(job, FIRST, a)
    if backwards:
        flags = flags | BACKWARDS
        put(job, FIRST, a + (order - 1) * (rows + columns) * word(kind, SIZE))
        row_step = -row_step
        column_step = -column_step
    put(job, ROW_STEP, row_step)
    put(job, COLUMN_STEP, column_step)
    put(job, ORDER, order)
    put(job, COUNT, count)
    put(job, GIVEN, b)
    put(job, GIVEN_STEP, step)
    put(job, SYSTEM_FLAGS, flags)
    sides = word(kind, SIDES)
    spread(kind, word(kind, SOLVE_SIDES), job, (count + sides - 1) // sides,
           order * order // 2 * count)


def solve_sides(job: int, number: int) -> None:
    """Solve a system for some right-hand sides; where these are not rows of memory, or fewer than
    the kernel takes, they are copied."""
    kind = word(job, SYSTEM_KIND)
    size = word(kind, SIZE)
    sides = word(kind, SIDES)
    order = word(job, ORDER)
    start = number * sides
    count = less(word(job, COUNT) - start, sides)
    step = word(job, GIVEN_STEP)
    copy = stack(8 * LEAF * MOST_SIDES)
    if word(job, SYSTEM_FLAGS) & LEFT:
        given = word(job, GIVEN) + start * step * size
        if count < sides:
            C.memset(copy, 0, order * sides * size)
        _turn(kind, copy, sides, given, step, order, count)
        _substitute(job, copy, sides)
        _turn(kind, given, step, copy, sides, count, order)
        return
    given = word(job, GIVEN) + start * size
    if count == sides:
        _substitute(job, given, step)
        return
    C.memset(copy, 0, order * sides * size)
    copy_lines(copy, sides * size, given, step * size, count * size, order)
    _substitute(job, copy, sides)
    copy_lines(given, step * size, copy, sides * size, count * size, order)


def _substitute(job: int, x: int, step: int) -> None:
    """Run the kernel on rows of right-hand sides."""
    kind = word(job, SYSTEM_KIND)
    order = word(job, ORDER)
    if word(job, SYSTEM_FLAGS) & BACKWARDS:
        x += (order - 1) * step * word(kind, SIZE)
        step = -step
    call(word(kind, SOLVE), x, step, word(job, FIRST), word(job, ROW_STEP), word(job, COLUMN_STEP),
         order, word(job, SYSTEM_FLAGS) & UNIT)


def _turn(kind: int, to: int, to_step: int, given: int, step: int, rows: int,
          columns: int) -> None:
    """Copy the transpose of a matrix; the result has ``rows`` rows."""
    size = word(kind, SIZE)
    lanes = word(kind, LANES)
    i = 0
    while i < rows:
        height = less(rows - i, lanes)
        j = 0
        while j < columns:
            place = to + (i * to_step + j) * size
            source = given + (j * step + i) * size
            if height == lanes and columns - j >= lanes:
                call(word(kind, TURN), place, to_step, source, step)
                j += lanes
            else:
                if size == 8:
                    copy_row8(place, to_step * 8, source, 8, height, 0)
                else:
                    copy_row4(place, to_step * 4, source, 4, height, 0)
                j += 1
        i += lanes


def move(kind: int, to: int, given: int) -> None:
    """Copy an element."""
    if word(kind, SIZE) == 8:
        put(to, 0, word(given))
    else:
        put32(to, 0, int32(given))


# -- LU --------------------------------------------------------------------------------------------

# The exchange of rows, as an array of words, and its size.
SWAP_KIND, SWAP_FIRST, SWAP_STEP, SWAP_PIVOTS, SWAP_COUNT, SWAP_COLUMNS = 0, 8, 16, 24, 32, 40
SWAPS = 48
SWAP_EACH = 16
"""Columns of a task that exchanges rows."""


def sgetrf(m: int, n: int, a: int, step: int, pivots: int, info: int) -> None:
    """Of floats."""
    put32(info, 0, _lu(address_of.floats, int32(m), int32(n), a, int32(step), pivots))


def dgetrf(m: int, n: int, a: int, step: int, pivots: int, info: int) -> None:
    """Of doubles."""
    put32(info, 0, _lu(address_of.doubles, int32(m), int32(n), a, int32(step), pivots))


def _lu(kind: int, m: int, n: int, a: int, step: int, pivots: int) -> int:
    """Factor a matrix: all columns left of the diagonal's end, and then the others."""
    C.tanx_hold(1)
    failed = _lu_columns(kind, m, less(m, n), a, step, pivots)
    if m < n:
        beside = a + m * step * word(kind, SIZE)
        _exchange(kind, n - m, beside, step, pivots, m)
        _solve(kind, m, n - m, a, 1, step, beside, step, LEFT | LOWER | UNIT)
    C.tanx_hold(-1)
    return failed


def _lu_columns(kind: int, m: int, n: int, a: int, step: int, pivots: int) -> int:
    """Factor a matrix of no more columns than rows; the first column without a pivot, or 0."""
    if n <= narrowed(PANEL, m, PANEL_ELEMENTS):
        return _small_lu(kind, m, n, a, step, pivots)
    half = _half(n)
    rest = n - half
    beside = a + half * step * word(kind, SIZE)
    below = half * word(kind, SIZE)
    failed = _lu_columns(kind, m, half, a, step, pivots)
    _exchange(kind, rest, beside, step, pivots, half)
    _solve(kind, half, rest, a, 1, step, beside, step, LEFT | LOWER | UNIT)
    multiply(kind, m - half, rest, half, a + below, 1, step, beside, 1, step, beside + below, step,
             SUBTRACT)
    later = _lu_columns(kind, m - half, rest, beside + below, step, pivots + 4 * half)
    _exchange(kind, half, a + below, step, pivots + 4 * half, rest)
    i = half
    while i < n:
        put32(pivots, 4 * i, int32(pivots, 4 * i) + half)
        i += 1
    if later and not failed:
        failed = half + later
    return failed


def _small_lu(kind: int, m: int, n: int, a: int, step: int, pivots: int) -> int:
    given = stack(32)
    put32(given, 0, m)
    put32(given, 8, n)
    put32(given, 16, step)
    call(word(kind, GETRF), given, given + 8, a, given + 16, pivots, given + 24)
    return int32(given, 24)


def _exchange(kind: int, n: int, a: int, step: int, pivots: int, count: int) -> None:
    """Exchange each of the first rows with its pivot's, in all columns."""
    job = stack(SWAPS)
    put(job, SWAP_KIND, kind)
    put(job, SWAP_FIRST, a)
    put(job, SWAP_STEP, step * word(kind, SIZE))
    put(job, SWAP_PIVOTS, pivots)
    put(job, SWAP_COUNT, count)
    put(job, SWAP_COLUMNS, n)
    spread(kind, word(kind, SWAP), job, (n + SWAP_EACH - 1) // SWAP_EACH, COPY * count * n)


def swap_rows(job: int, number: int) -> None:
    """The exchanges in some columns."""
    kind = word(job, SWAP_KIND)
    j = number * SWAP_EACH
    end = j + SWAP_EACH
    if end > word(job, SWAP_COLUMNS):
        end = word(job, SWAP_COLUMNS)
    while j < end:
        column = word(job, SWAP_FIRST) + j * word(job, SWAP_STEP)
        if word(kind, SIZE) == 8:
            _swap8(column, word(job, SWAP_PIVOTS), word(job, SWAP_COUNT))
        else:
            _swap4(column, word(job, SWAP_PIVOTS), word(job, SWAP_COUNT))
        j += 1


def _swap8(column: int, pivots: int, count: int) -> None:
    i = 0
    while i < count:
        other = column + 8 * (int32(pivots, 4 * i) - 1)
        kept = word(column, 8 * i)
        put(column, 8 * i, word(other))
        put(other, 0, kept)
        i += 1


def _swap4(column: int, pivots: int, count: int) -> None:
    i = 0
    while i < count:
        other = column + 4 * (int32(pivots, 4 * i) - 1)
        kept = int32(column, 4 * i)
        put32(column, 4 * i, int32(other))
        put32(other, 0, kept)
        i += 1
