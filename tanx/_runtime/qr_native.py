"""LAPACK's routines of QR factorisations for one large matrix, as native code.

As in ``factor_native.py``, each takes the arguments of the routine of its name. Reflections of a
block of columns are applied at once: their product is ``I - V T V'``, where the vectors are the
columns of V, below ones on its diagonal, and T is the triangle ``D (I + U D)^-1`` of the factors D
and of what is above the diagonal of ``V' V``, U.
"""

from __future__ import annotations

from .factor_native import LETTER_U, TRTI2, move, narrowed
from .native import C, address_of, call, int32, put, put32, stack, word
from .product_native import (
    COLUMNS,
    DEPTH,
    FLAGS,
    HEIGHT,
    KIND,
    LEFT,
    ONE,
    OVERWRITE,
    PANELS,
    PRODUCT,
    REFLECT,
    RESULT_STEP,
    ROW_STEP,
    ROWS,
    SIZE,
    SUBTRACT,
    TERM_STEP,
    TERMS,
    TRIANGLE,
    WIDTH,
    less,
    multiply,
    pack,
    spread,
    strip,
)

__all__ = ["dgeqrf", "dorgqr", "reflect_task", "sgeqrf", "sorgqr"]

GEQR2, SCAL = 104, 112
"""Offsets of LAPACK's routines in a kind, after those of ``factor_native.py``."""
BLOCK = 32
"""Reflections that are applied at once."""
CHUNK = 24
"""Columns that a task applies reflections to, at most."""
FEW, FEW_ELEMENTS = 16, 8192
"""Columns for which LAPACK computes reflections, and the elements up to which it does; as with
LU."""

# Products with V', with T and with V, and the columns they are for, as an array of words.
TURNED, INNER, OUTER, X, X_STEP, X_COUNT, X_EACH = (
    0, PRODUCT, 2 * PRODUCT, 3 * PRODUCT, 3 * PRODUCT + 8, 3 * PRODUCT + 16, 3 * PRODUCT + 24)
SHARED = 3 * PRODUCT + 32


def sgeqrf(m: int, n: int, a: int, step: int, factors: int, work: int, room: int,
           info: int) -> None:
    """Of floats."""
    _factor(address_of.floats, int32(m), int32(n), a, int32(step), factors)
    put32(info, 0, 0)


def dgeqrf(m: int, n: int, a: int, step: int, factors: int, work: int, room: int,
           info: int) -> None:
    """Of doubles."""
    _factor(address_of.doubles, int32(m), int32(n), a, int32(step), factors)
    put32(info, 0, 0)


def _factor(kind: int, m: int, n: int, a: int, step: int, factors: int) -> None:
    """Reflections block by block; each block's are applied to all columns that follow."""
    size = word(kind, SIZE)
    count = n
    if m < n:
        count = m
    C.tanx_hold(1)
    j = 0
    while j < count:
        width = count - j
        if width > BLOCK:
            width = BLOCK
        corner = a + (j + j * step) * size
        _factor_block(kind, m - j, width, corner, step, factors + j * size)
        _reflect(kind, m - j, width, corner, step, factors + j * size, n - j - width,
                 corner + width * step * size, 1)
        j += width
    C.tanx_hold(-1)


def _factor_block(kind: int, m: int, n: int, a: int, step: int, factors: int) -> None:
    """Reflections of the first half of a block, which the other half depends on."""
    size = word(kind, SIZE)
    if n <= narrowed(FEW, m, FEW_ELEMENTS):
        _factor_few(kind, m, n, a, step, factors)
        return
    half = n // 2
    beside = a + half * step * size
    _factor_block(kind, m, half, a, step, factors)
    _reflect(kind, m, half, a, step, factors, n - half, beside, 1)
    _factor_block(kind, m - half, n - half, beside + half * size, step, factors + half * size)


def _factor_few(kind: int, m: int, n: int, a: int, step: int, factors: int) -> None:
    given = stack(32 + 8 * FEW)
    put32(given, 0, m)
    put32(given, 8, n)
    put32(given, 16, step)
    call(word(kind, GEQR2), given, given + 8, a, given + 16, factors, given + 32, given + 24)


def _reflect(kind: int, m: int, n: int, vectors: int, step: int, factors: int, columns: int,
             to: int, turned: int) -> None:
    """Apply ``n`` reflections of ``m`` rows to columns as far apart; the last first, if ``turned``.

    The vectors lie below the diagonal of their columns.
    """
    if columns <= 0:
        return
    size = word(kind, SIZE)
    v = C.tanx_alloc((m + columns) * n * size)
    _copy_vectors(kind, m, n, vectors, step, v)
    _apply(kind, m, n, v, factors, columns, to, step, turned)
    C.tanx_free(v)


def _copy_vectors(kind: int, m: int, n: int, vectors: int, step: int, v: int) -> None:
    """Write the vectors with ones on the diagonal and zeros above."""
    size = word(kind, SIZE)
    j = 0
    while j < n:
        column = v + j * m * size
        C.memset(column, 0, j * size)
        C.memcpy(column + j * size, vectors + (j + j * step) * size, (m - j) * size)
        move(kind, column + j * size, kind + ONE)
        j += 1


def _apply(kind: int, m: int, n: int, v: int, factors: int, columns: int, to: int, step: int,
           turned: int) -> None:
    """Subtract ``V T V' x`` from columns ``x``, in tasks of some columns each.

    Columns that do not fill a tile come last. Memory for ``V' x`` follows the vectors.
    """
    size = word(kind, SIZE)
    triangle = stack(8 * BLOCK * BLOCK)
    _triangle(kind, m, n, v, factors, triangle)
    rows = 1
    if turned:
        rows = n
    tiled = columns // word(kind, ROWS) * word(kind, ROWS)
    if tiled:
        job = stack(SHARED)
        _pack_left(kind, job + TURNED, n, m, v, m, 1, 0)
        _pack_left(kind, job + INNER, n, n, triangle, rows, n + 1 - rows, SUBTRACT)
        _pack_left(kind, job + OUTER, m, n, v, 1, m, 0)
        put(job, X, to)
        put(job, X_STEP, step * size)
        put(job, X_COUNT, tiled)
        each = CHUNK // word(kind, ROWS) * word(kind, ROWS)
        put(job, X_EACH, each)
        spread(kind, word(kind, REFLECT), job, (tiled + each - 1) // each, 2 * m * n * tiled)
        C.tanx_free(word(job + TURNED, PANELS))
        C.tanx_free(word(job + INNER, PANELS))
        C.tanx_free(word(job + OUTER, PANELS))
    if tiled < columns:
        to += tiled * step * size
        columns -= tiled
        inner = v + m * n * size
        C.memset(inner, 0, n * columns * size)
        multiply(kind, n, columns, m, v, m, 1, to, 1, step, inner, n, 0)
        multiply(kind, n, columns, n, triangle, rows, n + 1 - rows, inner, 1, n, inner, n,
                 OVERWRITE)
        multiply(kind, m, columns, n, v, 1, m, inner, 1, n, to, step, SUBTRACT)


def _pack_left(kind: int, job: int, height: int, depth: int, left: int, row_step: int,
               term_step: int, flags: int) -> None:
    """Copy the left factor of a product to panels, in blocks of terms."""
    size = word(kind, SIZE)
    room = height + word(kind, COLUMNS)
    panels = C.tanx_alloc(room * depth * size)
    put(job, KIND, kind)
    put(job, ROW_STEP, row_step * size)
    put(job, TERM_STEP, term_step * size)
    put(job, HEIGHT, height)
    put(job, FLAGS, flags)
    t = 0
    while t < depth:
        put(job, DEPTH, less(depth - t, TERMS))
        put(job, LEFT, left + t * term_step * size)
        put(job, PANELS, panels + t * room * size)
        pack(job)
        t += TERMS
    put(job, PANELS, panels)
    put(job, WIDTH, depth)


def reflect_task(shared: int, number: int) -> None:
    """Apply reflections to some columns, which stay in a cache meanwhile."""
    kind = word(shared + TURNED, KIND)
    size = word(kind, SIZE)
    start = number * word(shared, X_EACH)
    count = less(word(shared, X_COUNT) - start, word(shared, X_EACH))
    x = word(shared, X) + start * word(shared, X_STEP)
    bytes_ = word(shared + TURNED, HEIGHT) * size
    inner = stack(8 * BLOCK * CHUNK)
    turned = stack(8 * BLOCK * CHUNK)
    C.memset(inner, 0, bytes_ * count)
    C.memset(turned, 0, bytes_ * count)
    _add_product(shared + TURNED, x, word(shared, X_STEP), inner, bytes_, count)
    _add_product(shared + INNER, inner, bytes_, turned, bytes_, count)
    _add_product(shared + OUTER, turned, bytes_, x, word(shared, X_STEP), count)


def _add_product(shared: int, right: int, right_step: int, out: int, out_step: int,
                 count: int) -> None:
    """Add the product of a factor in panels and of columns to other columns."""
    kind = word(shared, KIND)
    size = word(kind, SIZE)
    height = word(shared, HEIGHT)
    room = height + word(kind, COLUMNS)
    scratch = stack(8 * 64 * 64)
    job = stack(PRODUCT)
    put(job, KIND, kind)
    put(job, HEIGHT, height)
    put(job, FLAGS, 0)
    put(job, RESULT_STEP, out_step)
    t = 0
    while t < word(shared, WIDTH):
        depth = less(word(shared, WIDTH) - t, TERMS)
        put(job, DEPTH, depth)
        panel = word(shared, PANELS) + t * room * size
        i = 0
        while i < height:
            strip(job, panel, right + t * size, right_step, out + i * size, i, 0, count, scratch)
            panel += word(kind, COLUMNS) * depth * size
            i += word(kind, COLUMNS)
        t += TERMS


def _triangle(kind: int, m: int, n: int, v: int, factors: int, t: int) -> None:
    """Write the triangle T of reflections."""
    size = word(kind, SIZE)
    C.memset(t, 0, n * n * size)
    multiply(kind, n, n, m, v, m, 1, v, 1, m, t, n, TRIANGLE)
    j = 0
    while j < n:
        column = t + j * n * size
        _scale(kind, j, factors + j * size, column, 1)
        C.memset(column + j * size, 0, (n - j) * size)
        move(kind, column + j * size, kind + ONE)
        j += 1
    given = stack(32)
    put(given, 0, LETTER_U)
    put32(given, 8, n)
    call(word(kind, TRTI2), given, given, given + 8, t, given + 8, given + 16, 1, 1)
    i = 0
    while i < n:
        _scale(kind, n, factors + i * size, t + i * size, n)
        i += 1


def _scale(kind: int, n: int, factor: int, x: int, step: int) -> None:
    """Multiply numbers at a stride by a factor."""
    given = stack(16)
    put32(given, 0, n)
    put32(given, 8, step)
    call(word(kind, SCAL), given, factor, x, given + 8)


# -- the product of reflections --------------------------------------------------------------------


def sorgqr(m: int, n: int, k: int, a: int, step: int, factors: int, work: int, room: int,
           info: int) -> None:
    """Of floats."""
    _product(address_of.floats, int32(m), int32(n), int32(k), a, int32(step), factors)
    put32(info, 0, 0)


def dorgqr(m: int, n: int, k: int, a: int, step: int, factors: int, work: int, room: int,
           info: int) -> None:
    """Of doubles."""
    _product(address_of.doubles, int32(m), int32(n), int32(k), a, int32(step), factors)
    put32(info, 0, 0)


def _product(kind: int, m: int, n: int, k: int, a: int, step: int, factors: int) -> None:
    """Apply the last block of reflections to columns of the identity, then that before it..."""
    size = word(kind, SIZE)
    _identity(kind, m, n, a, step, k)
    C.tanx_hold(1)
    j = (k - 1) // BLOCK * BLOCK
    while j >= 0:
        width = k - j
        if width > BLOCK:
            width = BLOCK
        corner = a + (j + j * step) * size
        v = C.tanx_alloc((m - j + n - j) * width * size)
        _copy_vectors(kind, m - j, width, corner, step, v)
        _identity(kind, m, j + width, a, step, j)
        _apply(kind, m - j, width, v, factors + j * size, n - j, corner, step, 0)
        C.tanx_free(v)
        j -= BLOCK
    C.tanx_hold(-1)


def _identity(kind: int, m: int, n: int, a: int, step: int, first: int) -> None:
    """Set columns from ``first`` to ``n`` to those of the identity."""
    size = word(kind, SIZE)
    j = first
    while j < n:
        column = a + j * step * size
        C.memset(column, 0, m * size)
        move(kind, column + j * size, kind + ONE)
        j += 1
