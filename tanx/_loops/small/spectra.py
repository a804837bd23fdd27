"""Eigenvalues and singular values of small matrices, many at a time; see ``factors.py``.

All lanes take the same steps, each for as long as it needs: further steps do not change a finished
lane. Vectors are unique up to their sign; ``NOT_SMALL`` determines it.
"""

from __future__ import annotations

import numpy as np

from .calls import NOT_SMALL
from .factors import (
    fill,
    identity,
    largest,
    less,
    more,
    put,
    reflect,
    reflection,
    triangularize,
)

__all__ = ["eigh", "nothing_beside_one", "scaled", "svd"]

_SWEEPS = 50
"""How often a step may be repeated."""


# -- what both share -------------------------------------------------------------------------------


def scaled(m, a):
    """Divide matrices by a power of two, which is returned, so that their largest element is about
    1."""
    rows, columns = a.shape
    size = m.larger(_power_of_two(m, largest(m, a)), m.number(float(np.finfo(m.dtype).tiny)))
    inverse = 1 / size
    m.each(0, rows, lambda i: m.each(0, columns, lambda j: put(a, i, j, a[i, j] * inverse)))
    return size


def _power_of_two(m, x):
    """A number rounded to its first bit, so that a number added to it fills the other bits."""
    known = np.finfo(m.dtype)
    half = 2.0 ** (known.maxexp // 2)
    large = x > half
    x = m.select(large, x / half, x)
    shifted = x * (2.0 ** known.nmant + 1)
    rounded = shifted - (shifted - x)
    return m.select(large, rounded * half, rounded)


def nothing_beside_one(m):
    """The largest number that is negligible next to 1: squares of larger ones are precise
    enough."""
    known = np.finfo(m.dtype)
    return m.number(float(known.tiny) ** 0.5 / float(known.eps))


def _ranks(m, values):
    """The ranks of values in ascending order; a column of integers. Equal ones stay in order."""
    n, _ = values.shape
    ranks = m.integers(n)

    def rank(j):
        value = values[j, 0]

        def count(before):
            def step(i, place):
                other = values[i, 0]
                goes = ~(value < other) if before else other < value
                return [place + m.select(goes, m.integer(1), m.integer(0))]
            return step
        (place,) = m.fold(0, j, [m.integer(0)], count(True))
        (place,) = m.fold(j + 1, n, [place], count(False))
        ranks[j, 0] = place
    m.each(0, n, rank)
    return ranks


def _sign(m, vectors, j):
    """1 or -1: the factor that gives column ``j`` its canonical sign."""
    rows, _ = vectors.shape
    (most,) = m.fold(0, rows, [m.number(0)], lambda i, most: [
        m.larger(most, m.abs(vectors[i, j]))])
    bound = most * NOT_SMALL

    def step(i, found):
        x = vectors[i, j]
        return [m.select(m.abs(x) > bound, x, found)]
    (first,) = m.fold(0, rows, [m.number(1)], step, backwards=True)
    return m.copysign(m.number(1), first)


def _rotate_columns(m, a, i, j, cosine, sine) -> None:
    """Rotate two columns."""
    back = -sine

    def rows(strip):
        for k in strip:
            x, y = a[k, i], a[k, j]
            a[k, i] = m.fma(cosine, x, back * y)
            a[k, j] = m.fma(sine, x, cosine * y)
    m.strips(0, a.shape[0], rows)


# -- symmetric matrices ----------------------------------------------------------------------------


def eigh(m, a, lower: bool):
    """Eigenvectors and ascending eigenvalues: tridiagonal by reflections, then diagonal by QL."""
    n, _ = a.shape
    known = a if lower else a.T
    m.each(0, n, lambda i: m.each(0, i, lambda j: put(known, j, i, known[i, j])))
    scale = scaled(m, a)
    d, e, z = _tridiagonalize(m, a)
    _diagonalize(m, d, e, z)
    (total,) = m.fold(0, n, [m.number(0)], lambda i, total: [total + d[i, 0]])
    failed = m.is_nan(total)
    ranks, values, vectors = _ranks(m, d), m.matrix(n), m.matrix(n, n)

    def column(j):
        place, sign = ranks[j, 0], _sign(m, z, j)
        place = m.select(failed, m.integer(j), place)
        values[place, 0] = m.select(failed, m.number(np.nan), d[j, 0] * scale)
        m.each(0, n, lambda i: put(vectors, i, place, m.select(
            failed, m.number(np.nan), z[i, j] * sign)))
    m.each(0, n, column)
    return [vectors, values]


def _tridiagonalize(m, a):
    """The diagonal and off-diagonal of a similar matrix, and the orthogonal matrix between them."""
    n, _ = a.shape
    d, e, factors, p = m.matrix(n), m.matrix(n), m.matrix(n), m.matrix(n)

    def step(k):
        end, factor = reflection(m, a, k, k + 1)
        e[k, 0] = end
        factors[k, 0] = factor
        a[k + 1, k] = m.number(1)

        def rows(strip):
            sums = m.fold(k + 1, n, [m.number(0)] * len(strip), lambda j, *sums: more(
                m, sums, a[j, k], [a[i, j] for i in strip]))
            for i, total in zip(strip, sums):
                p[i, 0] = total * factor
        m.strips(k + 1, n, rows)
        (inner,) = m.fold(k + 1, n, [m.number(0)], lambda i, total: more(
            m, [total], p[i, 0], [a[i, k]]))
        half = inner * factor * 0.5
        m.each(k + 1, n, lambda i: put(p, i, 0, m.fma(-half, a[i, k], p[i, 0])))

        def update(i):
            x, y = a[i, k], p[i, 0]

            def columns(strip):
                moved = less(m, [a[i, j] for j in strip], x, [p[j, 0] for j in strip])
                for j, value in zip(strip, less(m, moved, y, [a[j, k] for j in strip])):
                    a[i, j] = value
            m.strips(k + 1, n, columns)
        m.each(k + 1, n, update)
    m.each(0, n - 2, step)
    m.each(0, n, lambda i: put(d, i, 0, a[i, i]))
    if n > 1:
        e[n - 2, 0] = a[n - 1, n - 2]
    e[n - 1, 0] = m.number(0)
    z = identity(m, n, n)
    m.each(0, n - 2, lambda k: reflect(m, a, k, k + 1, factors[k, 0], z, k + 1, n), backwards=True)
    return d, e, z


def _diagonalize(m, d, e, z) -> None:
    """Diagonalize a tridiagonal matrix, and apply the rotations to the columns of ``z``.

    Implicit QL with Wilkinson's shifts, in each lane on the first block that does not decouple.
    """
    n, _ = d.shape
    cosines, sines = m.matrix(n), m.matrix(n)

    def sweep():
        low, high = _first_block(m, d, e, nothing_beside_one(m))
        unfinished = low < high

        def turn():
            ends = m.least(low), m.greatest(high)
            _chase(m, d, e, low, high, ends, cosines, sines)
            _turn_vectors(m, z, *ends, cosines, sines)
        m.when(unfinished, turn)
        return unfinished
    m.until_none(sweep, _SWEEPS * n)


def _first_block(m, d, e, nothing):
    """The first and last row of the first block of several rows with nonzero off-diagonal elements.

    If there is no such block, they are the last row and the first.
    """
    n, _ = d.shape
    precision, none = m.number(float(np.finfo(m.dtype).eps) / 2), m.integer(n - 1)

    def step(i, low, high):
        here, following = m.integer(i), m.integer(i + 1)
        sizes = m.abs(d[i, 0]) + m.abs(d[i + 1, 0])
        joined = m.abs(e[i, 0]) > m.fma(precision, sizes, nothing)
        begins = joined & m.same(low, none)
        goes_on = joined & (begins | m.same(high, here))
        return [m.select(begins, here, low), m.select(goes_on, following, high)]
    return m.fold(0, n - 1, [none, m.integer(0)], step)


def _chase(m, d, e, low, high, ends, cosines, sines) -> None:
    """One step of QL on the blocks from ``low`` to ``high``; its rotations."""
    one, zero, nothing = m.number(1), m.number(0), nothing_beside_one(m)
    exists = low < high
    first = m.select(exists, low, m.integer(0))
    start, beside = d[first, 0], m.select(exists, e[first, 0], one)
    slope = (d[first + m.integer(1), 0] - start) / (beside + beside)
    root = m.sqrt(m.fma(slope, slope, one))
    shift = start - beside / (slope + m.copysign(root, slope))

    def step(i, g, s, c, p):
        here = m.integer(i)
        inside = ~(here < low) & (here < high)
        begins = m.same(here + m.integer(1), high)
        g, s = m.select(begins, d[i + 1, 0] - shift, g), m.select(begins, one, s)
        c, p = m.select(begins, one, c), m.select(begins, zero, p)
        f, b = s * e[i, 0], c * e[i, 0]
        size = m.sqrt(m.fma(f, f, g * g))
        inverse, none = 1 / size, ~(size > nothing)
        s = m.select(none, zero, f * inverse)
        c = m.select(none, one, g * inverse)
        rest = d[i + 1, 0] - p
        r = m.fma(d[i, 0] - rest, s, (c + c) * b)
        p = s * r
        g = m.fma(c, r, -b)
        e[i + 1, 0] = m.select(inside, m.select(begins, zero, size), e[i + 1, 0])
        d[i + 1, 0] = m.select(inside, rest + p, d[i + 1, 0])
        ends = exists & m.same(here, low)
        d[i, 0] = m.select(ends, d[i, 0] - p, d[i, 0])
        e[i, 0] = m.select(ends, g, e[i, 0])
        cosines[i, 0] = m.select(inside, c, one)
        sines[i, 0] = m.select(inside, s, zero)
        return g, s, c, p
    m.fold(*ends, [zero, one, one, zero], step, backwards=True)


def _turn_vectors(m, z, first, last, cosines, sines) -> None:
    """Rotate adjacent columns, from the last ones to the first."""
    n, _ = z.shape

    def rows(strip):
        def step(i, *right):
            c, s, left = cosines[i, 0], sines[i, 0], [z[k, i] for k in strip]
            for k, x, y in zip(strip, left, right):
                z[k, i + 1] = m.fma(s, x, c * y)
            back = -s
            return [m.fma(c, x, back * y) for x, y in zip(left, right)]
        end = m.fold(first, last, [z[k, last] for k in strip], step, backwards=True)
        for k, x in zip(strip, end):
            z[k, first] = x
    m.strips(0, n, rows)


# -- singular values -------------------------------------------------------------------------------


def svd(m, a, compute_uv: bool, settles_left: bool = True):
    """Descending singular values, and optionally the left and right vectors.

    By one-sided Jacobi rotations of ``R.T``, where ``a = Q @ R``, starting from the eigenvectors of
    ``R @ R.T``, after which few rotations are left: ``R.T @ w = y`` has orthogonal columns, the
    right vectors times the singular values; their directions, even where the values are zero, are
    those of the orthogonal factor of ``y``. The left vectors are ``Q @ w``. The canonical sign is
    that of left vectors, or of right ones.
    """
    if a.shape[0] < a.shape[1]:
        values, *vectors = svd(m, _copied(m, a.T), compute_uv, not settles_left)
        return [values, *(_copied(m, x.T) for x in reversed(vectors))]
    if not compute_uv:
        return [_values_alone(m, a)]
    rows, n = a.shape
    scale = scaled(m, a)
    factors = triangularize(m, a)
    x, turned = _nearly_orthogonal(m, a)
    _orthogonalize(m, x, turned)
    lengths, values = m.matrix(n), m.matrix(n)

    def length(j):
        (total,) = m.fold(0, n, [m.number(0)], lambda i, total: more(
            m, [total], x[i, j], [x[i, j]]))
        lengths[j, 0] = -m.sqrt(total)
    m.each(0, n, length)
    ranks = _ranks(m, lengths)
    m.each(0, n, lambda j: put(values, ranks[j, 0], 0, -lengths[j, 0] * scale))
    y, u = m.matrix(n, n), m.matrix(rows, n)
    fill(m, u, m.number(0))

    def column(j):
        place = ranks[j, 0]

        def move(i):
            y[i, place] = x[i, j]
            u[i, place] = turned[i, j]
        m.each(0, n, move)
    m.each(0, n, column)
    m.each(0, n, lambda k: reflect(m, a, k, k, factors[k, 0], u, 0, n), backwards=True)
    return [values, u, _right_vectors(m, y, u, settles_left)]


def _values_alone(m, a):
    """Singular values: reflections from both sides, then steps of QR (Golub, Kahan)."""
    n = a.shape[1]
    scale = scaled(m, a)
    d, e = _bidiagonalize(m, a)
    nothing = m.larger(largest(m, d), largest(m, e)) * float(np.finfo(m.dtype).eps / 8)

    def sweep():
        low, high = _first_block(m, d, e, nothing)
        unfinished = low < high
        m.when(unfinished, lambda: _chase_both(m, d, e, low, high, nothing))
        return unfinished
    m.until_none(sweep, _SWEEPS * n)
    (total,) = m.fold(0, n, [m.number(0)], lambda i, total: [total + d[i, 0]])
    factor = m.select(m.is_nan(total), m.number(np.nan), -scale)
    m.each(0, n, lambda i: put(d, i, 0, -m.abs(d[i, 0])))
    ranks, values = _ranks(m, d), m.matrix(n)
    m.each(0, n, lambda i: put(values, i, 0, m.number(np.nan)))
    m.each(0, n, lambda i: put(values, ranks[i, 0], 0, d[i, 0] * factor))
    return values


def _bidiagonalize(m, a):
    """The diagonal and superdiagonal of a matrix with the same singular values."""
    rows, n = a.shape
    d, e = m.matrix(n), m.matrix(n)

    def from_left(k):
        d[k, 0], factor = reflection(m, a, k, k)
        reflect(m, a, k, k, factor, a, k + 1, n)

    def step(k):
        from_left(k)
        e[k, 0], factor = reflection(m, a.T, k, k + 1)
        reflect(m, a.T, k, k + 1, factor, a.T, k + 1, rows)
    m.each(0, n - 2, step)
    if n > 1:
        from_left(n - 2)
        e[n - 2, 0] = a[n - 2, n - 1]
    from_left(n - 1)
    e[n - 1, 0] = m.number(0)
    return d, e


def _chase_both(m, d, e, low, high, nothing) -> None:
    """One step of QR on the blocks from ``low`` to ``high``: rotations from right and left."""
    one = m.integer(1)
    start = _rotation(m, *_shifted(m, d, e, low, high, nothing))[:2]

    def step(k, c, s):
        here = m.integer(k)
        inside, goes_on = ~(here < low) & (here < high), here + one < high
        c, s = (m.select(m.same(here, low), x, y) for x, y in zip(start, (c, s)))
        x, beside = m.fma(c, d[k, 0], s * e[k, 0]), m.fma(c, e[k, 0], -s * d[k, 0])
        y, below = c * d[k + 1, 0], s * d[k + 1, 0]
        c, s, x = _rotation(m, x, below)
        beside, y = m.fma(c, beside, s * y), m.fma(c, y, -s * beside)
        following = e[k + 1, 0]
        d[k, 0], d[k + 1, 0] = (m.select(inside, new, d[i, 0]) for new, i in ((x, k), (y, k + 1)))
        e[k + 1, 0] = m.select(inside & goes_on, c * following, following)
        c, s, size = _rotation(m, beside, s * following)
        e[k, 0] = m.select(inside, m.select(goes_on, size, beside), e[k, 0])
        return c, s
    m.fold(m.least(low), m.greatest(high), [m.number(1), m.number(0)], step)


def _shifted(m, d, e, low, high, nothing):
    """The direction of the first row of ``b.T @ b`` minus a shift, for blocks.

    The shift is Wilkinson's, or zero if a block is singular: then one step isolates that value.
    """
    def look(i, found):
        here, inside = d[i, 0], ~(m.integer(i) < low) & ~(m.integer(i) > high)
        none = inside & (m.abs(here) <= nothing)
        d[i, 0] = m.select(none, m.number(0), here)
        return [m.select(none, m.number(1), found)]
    (singular,) = m.fold(0, d.shape[0], [m.number(0)], look)
    one, exists = m.integer(1), low < high
    low, high = m.select(exists, low, m.integer(0)), m.select(exists, high, one)
    above = high - one
    before = m.select(low < above, e[m.select(low < above, above - one, low), 0], m.number(0))
    x, beside, y = d[above, 0], e[above, 0], d[high, 0]
    corner, last = x * beside, m.fma(y, y, beside * beside)
    half = (m.fma(x, x, before * before) - last) * 0.5
    down = half + m.copysign(m.sqrt(m.fma(half, half, corner * corner)), half)
    shift = last - m.select(m.abs(down) > 0, corner * corner / down, m.number(0))
    first = d[low, 0]
    return first - m.select(singular > 0, m.number(0), shift / first), e[low, 0]


def _rotation(m, x, y):
    """The cosine and sine that rotate ``y`` to zero, and the new ``x``."""
    size = m.sqrt(m.fma(x, x, y * y))
    none = ~(size > nothing_beside_one(m))
    return (m.select(none, m.number(1), x / size), m.select(none, m.number(0), y / size),
            m.select(none, x, size))


def _nearly_orthogonal(m, r):
    """Columns of ``R.T @ w``, and ``w``: approximate eigenvectors of ``R @ R.T``.

    Squaring loses the small singular values, but few rotations are left to do. The columns of both
    matrices are contiguous in memory.
    """
    _, n = r.shape
    squares = m.matrix(n, n)

    def row(i):
        def columns(strip):
            sums = m.fold(i, n, [m.number(0)] * len(strip), lambda k, *sums: more(
                m, sums, r[i, k], [r[j, k] for j in strip]))
            for j, total in zip(strip, sums):
                squares[i, j] = squares[j, i] = total
        m.strips(0, i + 1, columns)
    m.each(0, n, row)
    d, e, w = _tridiagonalize(m, squares)
    _diagonalize(m, d, e, w)
    x = m.matrix(n, n).T

    def turned_row(i):
        def columns(strip):
            sums = m.fold(0, i + 1, [m.number(0)] * len(strip), lambda k, *sums: more(
                m, sums, r[k, i], [w[k, j] for j in strip]))
            for j, total in zip(strip, sums):
                x[i, j] = total
        m.strips(0, n, columns)
    m.each(0, n, turned_row)
    return x, _copied(m, w.T).T


def _copied(m, a):
    """A copy of a matrix."""
    rows, columns = a.shape
    copy = m.matrix(rows, columns)
    m.each(0, rows, lambda i: m.each(0, columns, lambda j: put(copy, i, j, a[i, j])))
    return copy


def _orthogonalize(m, x, turned) -> None:
    """Rotate pairs of columns until all are orthogonal, with the columns of ``turned``."""
    n, _ = x.shape
    worst = m.matrix(1)
    known = np.finfo(m.dtype)
    bound, nothing = float(known.eps) * max(n, 4) ** 0.5, m.number(float(known.tiny / known.eps))

    def pair(i, j):
        def products(k, xx, yy, xy):
            x1, y1 = x[k, i], x[k, j]
            return [m.fma(x1, x1, xx), m.fma(y1, y1, yy), m.fma(x1, y1, xy)]
        xx, yy, xy = m.fold(0, n, [m.number(0)] * 3, products)
        oblique = m.abs(xy) > m.fma(bound * m.sqrt(xx), m.sqrt(yy), nothing)

        def turn():
            slope = (yy - xx) / (xy + xy)
            root = m.sqrt(m.fma(slope, slope, m.number(1)))
            tangent = m.copysign(1 / (m.abs(slope) + root), slope)
            c = 1 / m.sqrt(m.fma(tangent, tangent, m.number(1)))
            s = m.select(oblique, c * tangent, m.number(0))
            c = m.select(oblique, c, m.number(1))
            worst[0, 0] = m.select(oblique, m.number(1), worst[0, 0])
            _rotate_columns(m, x, i, j, c, s)
            _rotate_columns(m, turned, i, j, c, s)
        m.when(oblique, turn)

    def sweep():
        worst[0, 0] = m.number(0)
        m.each(0, n, lambda i: m.each(i + 1, n, lambda j: pair(i, j)))
        return worst[0, 0] > 0
    m.until_none(sweep, _SWEEPS)


def _right_vectors(m, y, u, settles_left: bool):
    """The directions of orthogonal columns, as rows; all signs are settled."""
    rows, n = u.shape
    ends, factors = m.matrix(n), triangularize(m, y)
    m.each(0, n, lambda k: put(ends, k, 0, y[k, k]))
    v, vt = identity(m, n, n), m.matrix(n, n)
    m.each(0, n, lambda k: reflect(m, y, k, k, factors[k, 0], v, k, n), backwards=True)

    def column(j):
        sign = _sign(m, u if settles_left else v, j)
        other = sign * m.copysign(m.number(1), ends[j, 0])
        left, right = (sign, other) if settles_left else (other, sign)
        m.each(0, rows, lambda i: put(u, i, j, u[i, j] * left))
        m.each(0, n, lambda i: put(vt, j, i, v[i, j] * right))
    m.each(0, n, column)
    return vt
