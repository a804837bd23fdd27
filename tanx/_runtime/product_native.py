"""Matrix products of any size as native code (see ``native.py``), for factorisations.

Matrices are stored by columns, as in LAPACK. A *kind* is an array of words about a dtype: the bytes
of an element, the sign and one as bits, the kernel that adds a tile of products to the stored sums
(``micro.py``, form ``k``) with its rows and columns, and the addresses of functions. The kernel's
rows are contiguous in memory, hence columns here: a tile is ``ROWS`` columns of ``COLUMNS``
elements each.

The left factor is copied to panels of ``COLUMNS`` rows, all terms of one before those of the next,
and the right one column by column; both in blocks that stay in a cache. Tiles at the edges are
computed elsewhere, and the part that belongs to the result is copied.
"""

from __future__ import annotations

from .native import C, call, fetch, flip16, int32, put, put32, stack, word

__all__ = ["clear", "copy_lines", "copy_row4", "copy_row8", "less", "multiply", "pack",
           "pack_panels", "product_task", "spread", "strip"]

SIZE, SIGN, ONE, KERNEL, ROWS, COLUMNS, PACK, TASK, SWAP, REFLECT = (
    0, 8, 16, 24, 32, 40, 48, 56, 64, 72)
"""Offsets in a kind; those of library functions follow, see ``factor_native.py``."""

SUBTRACT, OVERWRITE, TRIANGLE = 1, 2, 4
"""Options of a product, which is added by default; of a triangle only the upper part is read."""

TERMS = 256
"""Terms that are added at a time."""
BLOCK_BYTES = 2048
"""Bytes of a column of a block of the left factor; all of a block fill half of a cache."""
CHUNK = 24
"""Columns of the result that a task computes, at most."""
SMALL = 120
"""Offset in a kind of how many multiplications are not worth a second thread."""
GROUP = 4
"""Panels that a task copies, if rows are contiguous."""
LINE = 64
"""Bytes of a cache line."""
COPY = 16
"""Multiplications that take as long as copying one element."""

# A product, as an array of words, and its size.
KIND, LEFT, ROW_STEP, TERM_STEP, RIGHT, RIGHT_TERM_STEP, RIGHT_STEP, RESULT, RESULT_STEP = (
    0, 8, 16, 24, 32, 40, 48, 56, 64)
HEIGHT, WIDTH, DEPTH, FLAGS, PANELS, FIRST, EACH, GROUPED = 72, 80, 88, 96, 104, 112, 120, 128
PRODUCT = 136


def multiply(kind: int, m: int, n: int, k: int, left: int, row_step: int, term_step: int,
             right: int, right_term_step: int, right_step: int, result: int, result_step: int,
             flags: int) -> None:
    """Add a product to ``result`` (m x n), or do what ``flags`` say; steps are in elements.

    If it is overwritten, the result may be one of the factors, if it has at most ``TERMS`` terms
    and, as the right factor, fits into one block.
    """
    if m <= 0 or n <= 0:
        return
    size = word(kind, SIZE)
    job = stack(PRODUCT)
    block = BLOCK_BYTES // size
    panels = C.tanx_alloc((block + word(kind, COLUMNS)) * TERMS * size)
    put(job, KIND, kind)
    put(job, ROW_STEP, row_step * size)
    put(job, TERM_STEP, term_step * size)
    put(job, RIGHT_TERM_STEP, right_term_step * size)
    put(job, RIGHT_STEP, right_step * size)
    put(job, RESULT_STEP, result_step * size)
    put(job, WIDTH, n)
    put(job, FLAGS, flags)
    put(job, PANELS, panels)
    each = _columns_of_a_task(word(kind, ROWS), n)
    put(job, EACH, each)
    t = 0
    while t < k:
        i = 0
        while i < m:
            height = less(m - i, block)
            put(job, DEPTH, less(k - t, TERMS))
            put(job, LEFT, left + (i * row_step + t * term_step) * size)
            put(job, RIGHT, right + t * right_term_step * size)
            put(job, RESULT, result + i * size)
            put(job, HEIGHT, height)
            put(job, FIRST, i)
            work = height * word(job, DEPTH) * n
            pack(job)
            spread(kind, word(kind, TASK), job, (n + each - 1) // each, work)
            i += block
        t += TERMS
    C.tanx_free(panels)


def pack(job: int) -> None:
    """Copy the left factor of a product to panels."""
    kind = word(job, KIND)
    height = word(job, HEIGHT)
    group = GROUP * word(kind, COLUMNS)
    if word(job, ROW_STEP) != word(kind, SIZE):
        group = word(kind, COLUMNS)
    put(job, GROUPED, group)
    spread(kind, word(kind, PACK), job, (height + group - 1) // group,
           COPY * height * word(job, DEPTH))


def less(x: int, y: int) -> int:
    """The lesser of two numbers."""
    if x < y:
        return x
    return y


def _columns_of_a_task(rows: int, n: int) -> int:
    """Whole tiles, fewer if there are few, so that threads have equal shares."""
    each = (CHUNK // rows) * rows
    while each > rows and n < 8 * each:
        each -= rows
    return each


def spread(kind: int, task: int, job: int, count: int, work: int) -> None:
    """Run tasks, in several threads if that pays."""
    if work > word(kind, SMALL):
        C.tanx_parallel(task, job, count)
        return
    i = 0
    while i < count:
        call(task, job, i)
        i += 1


def pack_panels(job: int, number: int) -> None:
    """Copy some panels of the left factor, with the other sign if the product is subtracted."""
    kind = word(job, KIND)
    columns = word(kind, COLUMNS)
    start = number * word(job, GROUPED)
    end = less(word(job, HEIGHT), start + word(job, GROUPED))
    sign = 0
    if word(job, FLAGS) & SUBTRACT:
        sign = word(kind, SIGN)
    if word(job, ROW_STEP) == word(kind, SIZE):
        whole = (end - start) // columns
        _copy_columns(job, start, whole, columns * word(kind, SIZE), sign)
        start += whole * columns
    while start < end:
        _copy_rows(job, start, less(end - start, columns), sign)
        start += columns


def _copy_columns(job: int, start: int, panels: int, size: int, sign: int) -> None:
    """Copy whole panels of neighbouring rows, all of them term by term."""
    kind = word(job, KIND)
    depth = word(job, DEPTH)
    apart = depth * size
    to = word(job, PANELS) + start * depth * word(kind, SIZE)
    given = word(job, LEFT) + start * word(kind, SIZE)
    end = panels * apart
    t = 0
    while t < depth:
        place = to + t * size
        source = given + t * word(job, TERM_STEP)
        last = place + end
        while place < last:
            i = 0
            while i < size:
                flip16(place + i, source + i, sign)
                i += 16
            place += apart
            source += size
        t += 1


def _copy_rows(job: int, start: int, rows: int, sign: int) -> None:
    """Copy a panel row by row."""
    kind = word(job, KIND)
    size = word(kind, SIZE)
    step = word(kind, COLUMNS) * size
    depth = word(job, DEPTH)
    to = word(job, PANELS) + start * depth * size
    given = word(job, LEFT) + start * word(job, ROW_STEP)
    if rows < word(kind, COLUMNS):
        C.memset(to, 0, step * depth)
    i = 0
    while i < rows:
        if size == 8:
            copy_row8(to + i * 8, step, given, word(job, TERM_STEP), depth, sign)
        else:
            copy_row4(to + i * 4, step, given, word(job, TERM_STEP), depth, sign)
        given += word(job, ROW_STEP)
        i += 1


def copy_row8(to: int, to_step: int, given: int, step: int, depth: int, sign: int) -> None:
    """Copy ``depth`` elements of 8 bytes, flipping bits; steps are in bytes."""
    t = 0
    while t < depth:
        put(to, 0, word(given) ^ sign)
        to += to_step
        given += step
        t += 1


def copy_row4(to: int, to_step: int, given: int, step: int, depth: int, sign: int) -> None:
    """Copy ``depth`` elements of 4 bytes."""
    t = 0
    while t < depth:
        put32(to, 0, int32(given) ^ sign)
        to += to_step
        given += step
        t += 1


def product_task(job: int, number: int) -> None:
    """Some columns of a block of the result."""
    kind = word(job, KIND)
    size = word(kind, SIZE)
    depth = word(job, DEPTH)
    start = number * word(job, EACH)
    count = less(word(job, WIDTH) - start, word(job, EACH))
    right = word(job, RIGHT) + start * word(job, RIGHT_STEP)
    right_step = word(job, RIGHT_STEP)
    if word(job, RIGHT_TERM_STEP) != size or word(job, FLAGS) & OVERWRITE or (
            count // word(kind, ROWS) * word(kind, ROWS) < count):
        right = _copy_right(job, stack(8 * TERMS * (CHUNK + 16)), right, count)
        right_step = depth * size
    out = word(job, RESULT) + start * word(job, RESULT_STEP)
    if word(job, FLAGS) & OVERWRITE:
        clear(out, word(job, RESULT_STEP), word(job, HEIGHT) * size, count)
    scratch = stack(8 * 64 * 64)
    panel = word(job, PANELS)
    i = 0
    while i < word(job, HEIGHT):
        strip(job, panel, right, right_step, out + i * size, i, start, count, scratch)
        panel += word(kind, COLUMNS) * depth * size
        i += word(kind, COLUMNS)


def _copy_right(job: int, right: int, given: int, count: int) -> int:
    """Copy columns of the right factor, one after the other."""
    size = word(word(job, KIND), SIZE)
    depth = word(job, DEPTH)
    to = right
    j = 0
    while j < count:
        if word(job, RIGHT_TERM_STEP) == size:
            C.memcpy(to, given, depth * size)
        elif size == 8:
            copy_row8(to, 8, given, word(job, RIGHT_TERM_STEP), depth, 0)
        else:
            copy_row4(to, 4, given, word(job, RIGHT_TERM_STEP), depth, 0)
        to += depth * size
        given += word(job, RIGHT_STEP)
        j += 1
    return right


def clear(address: int, step: int, size: int, count: int) -> None:
    """Fill columns with zeros: bytes from one to the next, and of each."""
    j = 0
    while j < count:
        C.memset(address, 0, size)
        address += step
        j += 1


def strip(job: int, panel: int, right: int, right_step: int, out: int, row: int, column: int,
           count: int, scratch: int) -> None:
    """All tiles of a panel, whose first row and column in the block are given."""
    kind = word(job, KIND)
    size = word(kind, SIZE)
    rows = word(kind, ROWS)
    columns = word(kind, COLUMNS)
    depth = word(job, DEPTH)
    height = less(word(job, HEIGHT) - row, columns)
    step = word(job, RESULT_STEP)
    whole = step // size
    apart = right_step // size
    j = 0
    if word(job, FLAGS) & TRIANGLE:
        while column + j + rows <= row + word(job, FIRST):
            j += rows
    while j < count:
        if height == columns and count - j >= rows:
            _fetch_tile(out + j * step + columns * size, step, columns * size, rows)
            call(word(kind, KERNEL), right + j * right_step, apart, panel, columns, depth,
                 out + j * step, whole)
        else:
            width = less(count - j, rows)
            copy_lines(scratch, columns * size, out + j * step, step, height * size, width)
            call(word(kind, KERNEL), right + j * right_step, apart, panel, columns, depth,
                 scratch, columns)
            copy_lines(out + j * step, step, scratch, columns * size, height * size, width)
        j += rows


def _fetch_tile(place: int, step: int, size: int, rows: int) -> None:
    """Prefetch the next tile of the result."""
    j = 0
    while j < rows:
        i = 0
        while i < size:
            fetch(place + i)
            i += LINE
        fetch(place + size - 1)
        place += step
        j += 1


def copy_lines(to: int, to_step: int, given: int, step: int, size: int, count: int) -> None:
    """Copy lines of ``size`` bytes; steps are in bytes."""
    j = 0
    while j < count:
        C.memcpy(to + j * to_step, given + j * step, size)
        j += 1
