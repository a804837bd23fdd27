"""Eigenvalues and eigenvectors of small matrices of any kind, many at a time; see ``factors.py``.

Orthogonal matrices (Francis' QR steps with two shifts) make a matrix upper triangular, except for
blocks of two by two on its diagonal; each lane works on its own window. Such matrices have a border
of zeros, so that steps at the edges are like others: rows and columns are counted from 1.
"""

from __future__ import annotations

import numpy as np

from .factors import fill, identity, inverse_of, less, more, put, reflect, reflection
from .spectra import nothing_beside_one, scaled

__all__ = ["eig"]

_STEPS = 30
"""How many steps an eigenvalue may take."""
_PATIENCE = 10
"""Steps without progress after which other shifts are used."""


def eig(m, a, vectors: bool):
    """Real and imaginary parts of eigenvalues; optionally of the right eigenvectors, too.

    Vectors have length 1, and their largest element is positive.
    """
    n, _ = a.shape
    scale = scaled(m, a)
    order = _isolate(m, a)
    sizes = _balance(m, a)
    factors = _hessenberg(m, a)
    z = _between(m, a, factors, order, sizes) if vectors else None
    h = m.matrix(n + 3, n + 2)
    fill(m, h, m.number(0))
    m.each(0, n, lambda i: m.each(0, n, lambda j: put(h, i + 1, j + 1, m.select(
        m.integer(i) > m.integer(j + 1), m.number(0), a[i, j]))))
    _triangularize(m, h, z)
    unfinished = _window(m, h)[1] > m.integer(0)
    _split_pairs(m, h, z)
    re, im = _values(m, h)
    (total,) = m.fold(1, n + 1, [m.number(0)], lambda k, total: [total + re[k, 0] + im[k, 0]])
    failed = unfinished | m.is_nan(total)

    def where_found(x):
        return m.select(failed, m.number(np.nan), x)
    values = m.matrix(n), m.matrix(n)
    for out, part in zip(values, (re, im)):
        m.each(0, n, lambda k, out=out, part=part: put(
            out, k, 0, where_found(part[k + 1, 0] * scale)))
    if not vectors:
        return [*values]
    columns = m.matrix(n, n), m.matrix(n, n)

    def vector(k):
        x = _solution(m, h, k, re[k, 0], im[k, 0])
        _store_vector(m, z, x, k, [column.T for column in columns], where_found)
    m.each(1, n + 1, vector)
    return [*values, *columns]


# -- similar matrices ------------------------------------------------------------------------------


def _isolate(m, a):
    """Move rows that are zero except for their diagonal to the end, with their columns.

    Their eigenvalues are then on the diagonal; for triangular matrices, all of them. Returns the
    order of the rows.
    """
    n, _ = a.shape
    order, ends = m.integers(n), m.integers(1)
    m.each(0, n, lambda i: put(order, i, 0, m.integer(i)))
    ends[0, 0] = m.integer(n - 1)

    def search():
        end = ends[0, 0]

        def row(i, place):
            here = m.integer(i)

            def add(j, total):
                ignored = m.same(here, m.integer(j)) | (m.integer(j) > end)
                return [m.select(ignored, total, total + m.abs(a[i, j]))]
            (total,) = m.fold(0, n, [m.number(0)], add)
            return [m.select((total <= 0) & ~(here > end), here, place)]
        (place,) = m.fold(0, n, [m.integer(n)], row)
        found = place < m.integer(n)
        place = m.select(found, place, end)

        def move():
            for x, columns in ((a, n), (a.T, n), (order, 1)):
                def swap(j, x=x):
                    first, last = x[place, j], x[end, j]
                    x[place, j], x[end, j] = last, first
                m.each(0, columns, swap)
        m.when(found, move)
        ends[0, 0] = m.select(found, end - m.integer(1), end)
        return found
    m.until_none(search, n)
    return order


def _balance(m, a):
    """Balance rows and columns by powers of two, which are returned."""
    n, _ = a.shape
    sizes, factor, column = m.matrix(n), m.matrix(1), m.matrix(1)
    m.each(0, n, lambda i: put(sizes, i, 0, m.number(1)))
    one, changed = m.number(1), m.matrix(1)

    def line(i):
        def add(j, along, down):
            itself = m.same(m.integer(i), m.integer(j))
            return [m.select(itself, along, along + m.abs(a[i, j])),
                    m.select(itself, down, down + m.abs(a[j, i]))]
        along, down = m.fold(0, n, [m.number(0)] * 2, add)
        factor[0, 0], column[0, 0] = one, down
        works = (along > 0) & (down > 0)

        def fit():
            f, c = factor[0, 0], column[0, 0]
            up, back = works & (c < 0.5 * along), works & (c > 2 * along)
            by = m.select(up, m.number(2), m.select(back, m.number(0.5), one))
            factor[0, 0], column[0, 0] = f * by, c * by * by
            return up | back
        m.until_none(fit, 2 * int(np.finfo(m.dtype).maxexp))
        f = factor[0, 0]
        useful = works & (down * f + along / f < 0.95 * (along + down))

        def apply():
            by = m.select(useful, f, one)
            inverse = 1 / by
            changed[0, 0] = m.select(useful, one, changed[0, 0])
            sizes[i, 0] = sizes[i, 0] * by
            m.each(0, n, lambda j: put(a, i, j, a[i, j] * inverse))
            m.each(0, n, lambda j: put(a, j, i, a[j, i] * by))
        m.when(useful, apply)

    def sweep():
        changed[0, 0] = m.number(0)
        m.each(0, n, line)
        return changed[0, 0] > 0
    m.until_none(sweep, _STEPS)
    return sizes


def _hessenberg(m, a):
    """Make a matrix upper Hessenberg by reflections: returns their factors; their vectors are
    below."""
    n, _ = a.shape
    factors = m.matrix(n)

    def step(k):
        end, factor = reflection(m, a, k, k + 1)
        a[k + 1, k] = end
        factors[k, 0] = factor
        reflect(m, a, k, k + 1, factor, a, k + 1, n)
        reflect(m, a, k, k + 1, factor, a.T, 0, n)
    m.each(0, n - 2, step)
    return factors


def _between(m, a, factors, order, sizes):
    """The matrix that leads back from the balanced and reduced matrix; bordered."""
    n, _ = a.shape
    q = identity(m, n, n)
    m.each(0, n - 2, lambda k: reflect(m, a, k, k + 1, factors[k, 0], q, k + 1, n), backwards=True)
    z = m.matrix(n + 1, n + 2)
    fill(m, z, m.number(0))

    def row(i):
        place, size = order[i, 0] + m.integer(1), sizes[i, 0]
        m.each(0, n, lambda j: put(z, place, j + 1, q[i, j] * size))
    m.each(0, n, row)
    return z


# -- steps of QR -----------------------------------------------------------------------------------


def _triangularize(m, h, z) -> None:
    """Rotate until no block of more than two rows is left, with the columns of ``z``."""
    n = h.shape[1] - 2
    before, stuck, turns = m.integers(1), m.integers(1), m.matrix(n + 1, 3)
    before[0, 0] = stuck[0, 0] = m.integer(0)

    def step():
        low, high = _window(m, h)
        active = high > m.integer(0)
        again = m.same(high, before[0, 0]) & (stuck[0, 0] < m.integer(_PATIENCE))
        stuck[0, 0] = m.select(again, stuck[0, 0] + m.integer(1), m.integer(0))
        before[0, 0] = high

        def turn():
            first = m.least(m.select(active, low, m.integer(n)))
            last = m.greatest(high)
            start = _start(m, h, low, high, m.same(stuck[0, 0], m.integer(_PATIENCE)))
            _chase(m, h, start, low, high, (first, last), z is not None, turns)
            if z is not None:
                _turn_vectors(m, z, first, last, turns)
        m.when(active, turn)
        return active
    if n > 2:
        m.until_none(step, _STEPS * n)


def _window(m, h):
    """The first and last row of the last block of more than two; zeros if there is no such block.

    Small elements beside the diagonal are set to zero.
    """
    n = h.shape[1] - 2
    precision, nothing, none = m.number(float(np.finfo(m.dtype).eps)), nothing_beside_one(m), 0

    def step(i, start, low, high):
        here, beside = m.integer(i), h[i, i - 1]
        sizes = m.abs(h[i, i]) + m.abs(h[i - 1, i - 1])
        joined = m.abs(beside) > m.fma(precision, sizes, nothing)
        h[i, i - 1] = m.select(joined, beside, m.number(0))
        start = m.select(joined, start, here)
        long = here > start + m.integer(1)
        return [start, m.select(long, start, low), m.select(long, here, high)]
    _, low, high = m.fold(2, n + 1, [m.integer(1), m.integer(none), m.integer(none)], step)
    return low, high


def _start(m, h, low, high, others):
    """The nonzero part of the first column of the product of the shifted windows.

    The shifts are the eigenvalues of the last block of two, or twice the one that is nearest to the
    last element; or some others.
    """
    one = m.integer(1)
    exists = high > m.integer(0)
    low, high = m.select(exists, low, one), m.select(exists, high, m.integer(3))
    above, before = high - one, high - m.integer(2)
    x, y = h[high, high], h[above, above]
    product = h[high, above] * h[above, high]
    size = m.abs(h[high, above]) + m.abs(h[above, before])
    half = (y - x) * 0.5
    square = m.fma(half, half, product)
    root = m.sqrt(m.select(square > 0, square, m.number(0)))
    centre = x + m.select(square > 0, half - m.copysign(root, half), half)
    apart = m.select(square > 0, m.number(0), -square)
    centre = m.select(others, m.fma(m.number(0.75), size, x), centre)
    apart = m.select(others, 0.4375 * size * size, apart)
    following, third = low + one, low + m.integer(2)
    rest = h[low, low] - centre
    return (m.fma(rest, rest, apart) / h[following, low] + h[low, following],
            rest + (h[following, following] - centre), h[third, following])


def _chase(m, h, start, low, high, ends, vectors: bool, turns) -> None:
    """One step of QR by reflections of three rows and columns each, which are returned."""
    n, (first, last) = h.shape[1] - 2, ends
    zero = m.number(0)

    def step(k):
        here = m.integer(k)
        inside = ~(here < low) & (here < high)
        begins = m.same(here, low)
        moves = inside & ~begins
        p, q, r = (m.select(begins, x, h[k + i, k - 1]) for i, x in enumerate(start))
        r = m.select(here + m.integer(1) < high, r, zero)
        most = m.abs(p) + m.abs(q) + m.abs(r)
        inverse = inverse_of(m, most)
        p, q, r = p * inverse, q * inverse, r * inverse
        size = m.copysign(m.sqrt(m.fma(p, p, m.fma(q, q, r * r))), p)
        turning = inside & (most > 0)
        head = p + size
        inverse = 1 / head
        factor, second, third = (m.select(turning, x, zero) for x in (
            head / size, q * inverse, r * inverse))
        h[k, k - 1] = m.select(moves, -size * most, h[k, k - 1])
        h[k + 1, k - 1] = m.select(moves, zero, h[k + 1, k - 1])
        h[k + 2, k - 1] = m.select(moves, zero, h[k + 2, k - 1])
        by = second, third, factor
        m.strips(k, n + 1 if vectors else last + 1, lambda strip: _reflect_three(
            m, h, k, strip, by))
        m.strips(1 if vectors else first, k + 4, lambda strip: _reflect_three(
            m, h.T, k, strip, by))
        for i, x in enumerate(by):
            turns[k, i] = x
    m.each(first, last, step)


def _reflect_three(m, h, k, strip, by) -> None:
    """Reflect three rows in some columns."""
    second, third, factor = by
    rows = [[h[k + i, j] for j in strip] for i in range(3)]
    totals = more(m, more(m, rows[0], second, rows[1]), third, rows[2])
    totals = [total * factor for total in totals]
    moved = ([x - total for x, total in zip(rows[0], totals)],
             less(m, rows[1], second, totals), less(m, rows[2], third, totals))
    for i, row in enumerate(moved):
        for j, x in zip(strip, row):
            h[k + i, j] = x


def _turn_vectors(m, z, first, last, turns) -> None:
    """Reflect columns, three at a time, from the first ones to the last."""
    def rows(strip):
        count = len(strip)

        def step(k, *states):
            x, y, w = states[:count], states[count:], [z[i, k + 2] for i in strip]
            second, third, factor = (turns[k, i] for i in range(3))
            totals = [total * factor for total in more(m, more(m, x, second, y), third, w)]
            for i, value, total in zip(strip, x, totals):
                z[i, k] = value - total
            return [*less(m, y, second, totals), *less(m, w, third, totals)]
        states = m.fold(first, last, [z[i, first + n] for n in (0, 1) for i in strip], step)
        for i, x, y in zip(strip, states[:count], states[count:]):
            z[i, last], z[i, last + 1] = x, y
    m.strips(1, z.shape[0], rows)


# -- eigenvalues -----------------------------------------------------------------------------------


def _square(m, h, k):
    """Half the difference on the diagonal of the block of two at ``k``; and half the difference of
    its eigenvalues, squared."""
    half = (h[k, k] - h[k + 1, k + 1]) * 0.5
    return half, m.fma(half, half, h[k, k + 1] * h[k + 1, k])


def _split_pairs(m, h, z) -> None:
    """Rotate blocks of two until only those with complex eigenvalues are left."""
    n = h.shape[1] - 2

    def split(k):
        corner = h[k + 1, k]
        half, square = _square(m, h, k)
        real = (m.abs(corner) > 0) & ~(square < 0)

        def turn():
            x = half + m.copysign(m.sqrt(square), half)
            inverse = 1 / m.sqrt(m.fma(x, x, corner * corner))
            c = m.select(real, x * inverse, m.number(1))
            s = m.select(real, corner * inverse, m.number(0))

            def rotate(a, start, stop):
                def columns(j):
                    x, y = a[k, j], a[k + 1, j]
                    a[k, j], a[k + 1, j] = m.fma(c, x, s * y), m.fma(c, y, -s * x)
                m.each(start, stop, columns)
            rotate(h, k, n + 1)
            rotate(h.T, 1, k + 2)
            if z is not None:
                rotate(z.T, 1, n + 1)
            h[k + 1, k] = m.select(real, m.number(0), h[k + 1, k])
        m.when(real, turn)
    m.each(1, n, split)


def _values(m, h):
    """Real and imaginary parts of the eigenvalues, counted from 1."""
    n = h.shape[1] - 2
    re, im = m.matrix(n + 1), m.matrix(n + 1)
    m.each(1, n + 1, lambda k: put(re, k, 0, h[k, k]))
    m.each(1, n + 1, lambda k: put(im, k, 0, m.number(0)))

    def pair(k):
        is_pair = m.abs(h[k + 1, k]) > 0
        half, square = _square(m, h, k)
        centre, height = h[k + 1, k + 1] + half, m.sqrt(m.abs(square))
        re[k, 0], re[k + 1, 0] = (m.select(is_pair, centre, re[i, 0]) for i in (k, k + 1))
        im[k, 0] = m.select(is_pair, height, im[k, 0])
        im[k + 1, 0] = m.select(is_pair, -height, im[k + 1, 0])
    m.each(1, n, pair)
    return re, im


# -- eigenvectors ----------------------------------------------------------------------------------


def _solution(m, h, k, re, im):
    """The eigenvector of a matrix that is triangular except for blocks of two; both of its parts.

    It is solved row by row, from the end. The first row that a lane has to solve is ``begin``.
    """
    n = h.shape[1] - 2
    zero, one = m.number(0), m.number(1)
    x, rest = ((m.matrix(n + 2), m.matrix(n + 2)) for _ in range(2))
    for part in (*x, *rest):
        m.each(0, k + 2, lambda i, part=part: put(part, i, 0, zero))
    first, second = im > 0, im < 0
    height = m.abs(im)
    x[0][k + 1, 0] = m.select(first, h[k + 1, k], zero)
    x[0][k, 0] = m.select(first, re - h[k + 1, k + 1], m.select(second, h[k, k - 1], one))
    x[1][k, 0] = m.select(first, height, zero)
    x[0][k - 1, 0] = m.select(second, re - h[k, k], zero)
    x[1][k - 1, 0] = m.select(second, -height, zero)
    begin = m.integer(k) - m.select(second, m.integer(2), m.integer(1))
    precision = float(np.finfo(m.dtype).eps)
    least = m.larger(precision * (m.abs(re) + height), nothing_beside_one(m))

    def row(j):
        known = m.integer(j) > begin
        upper, lower = m.abs(h[j + 1, j]) > 0, m.abs(h[j, j - 1]) > 0
        here, above = ([part[i, 0] for part in rest] for i in (j, j - 1))
        a, d = (h[j - 1, j - 1] - re, -im), (h[j, j] - re, -im)
        b, c = h[j - 1, j], h[j, j - 1]
        single = _quotient(m, here, d, least)
        product = _times(m, a, d)
        sizes = m.abs(a[0]) + m.abs(d[0]) + height + m.abs(b) + m.abs(c)
        determinant = m.fma(-b, c, product[0]), product[1]
        pair = [_quotient(m, [m.fma(-by, y, p) for p, y in zip(_times(m, other, x1), x2)],
                          determinant, least * sizes)
                for other, x1, by, x2 in ((a, here, c, above), (d, above, b, here))]
        both = lower & ~known
        keeps = known | upper
        for part, alone, low, high in zip(x, single, *pair):
            part[j, 0] = m.select(keeps, part[j, 0], m.select(lower, low, alone))
            part[j - 1, 0] = m.select(both, high, part[j - 1, 0])
        _keep_small(m, (*x, *rest), j, k + 2)
        values = [part[j, 0] for part in x]

        def update(strip):
            by = [h[i, j] for i in strip]
            for part, value in zip(rest, values):
                for i, new in zip(strip, less(m, [part[i, 0] for i in strip], value, by)):
                    part[i, 0] = new
        m.strips(1, j, update)
    m.each(1, k + 2, row, backwards=True)
    return x


def _keep_small(m, parts, j, stop) -> None:
    """Scale an unfinished vector down where its element ``j`` is too large."""
    size = m.larger(m.abs(parts[0][j, 0]), m.abs(parts[1][j, 0]))
    large = size > 1 / float(np.finfo(m.dtype).eps)

    def divide():
        by = m.select(large, 1 / size, m.number(1))
        for part in parts:
            m.each(0, stop, lambda i, part=part: put(part, i, 0, part[i, 0] * by))
    m.when(large, divide)


def _times(m, x, y):
    """The product of complex numbers."""
    return m.fma(-x[1], y[1], x[0] * y[0]), m.fma(x[0], y[1], x[1] * y[0])


def _quotient(m, x, y, least):
    """The quotient of complex numbers, with ``y`` bounded from below."""
    size = m.larger(m.abs(y[0]), m.abs(y[1]))
    enough = size > least
    scale = 1 / m.select(enough, size, least)
    y = m.select(enough, y[0] * scale, m.number(1)), m.select(enough, -y[1] * scale, m.number(0))
    by = scale / m.fma(y[0], y[0], y[1] * y[1])
    return [part * by for part in _times(m, x, y)]


def _store_vector(m, z, x, k, columns, where_found) -> None:
    """Transform a vector back, normalize it, and make its largest element positive; ``columns`` are
    rows."""
    n, place = z.shape[0] - 1, k - 1

    def rows(strip):
        sums = m.fold(1, k + 2, [m.number(0)] * (2 * len(strip)), lambda j, *sums: [
            *more(m, sums[:len(strip)], x[0][j, 0], [z[i + 1, j] for i in strip]),
            *more(m, sums[len(strip):], x[1][j, 0], [z[i + 1, j] for i in strip])])
        for part, column in enumerate(columns):
            for i, total in zip(strip, sums[part * len(strip):]):
                column[place, i] = total
    m.strips(0, n, rows)
    (most,) = m.fold(0, n, [m.number(0)], lambda i, most: [
        m.larger(m.larger(most, m.abs(columns[0][place, i])), m.abs(columns[1][place, i]))])
    inverse = inverse_of(m, most)

    def measure(i, total, largest, *found):
        x, y = (column[place, i] * inverse for column in columns)
        square = m.fma(x, x, y * y)
        takes = square > largest
        return [total + square, m.select(takes, square, largest), *(
            m.select(takes, new, old) for new, old in zip((x, -y, m.integer(i)), found))]
    total, square, *angle, largest = m.fold(0, n, [m.number(0), m.number(0), m.number(1),
                                                   m.number(0), m.integer(0)], measure)
    by = inverse / (m.sqrt(total) * m.sqrt(square))

    def store(i):
        re, im = (part * by for part in _times(m, [column[place, i] for column in columns], angle))
        columns[0][place, i] = where_found(re)
        columns[1][place, i] = where_found(m.select(
            m.same(m.integer(i), largest), m.number(0), im))
    m.each(0, n, store)
