"""Cumulative reductions: each element combined with all before it (or after it)."""

from __future__ import annotations

import operator

import numpy as np

from .._core.explicit import whole
from .._core.linear import expansion, linear, never
from .._core.primitive import Kind, Primitive
from .._core.types import typeof
from .._loops import build, instructions
from ..errors import explain
from .arith import add, mul, sub
from .compare import eq, ge, ne, select
from .complex_parts import real
from .create import full_like
from .extremes import Extreme, maximum, minimum
from .layout import rev
from .magnitude import max, min
from .operands import INEXACT, NUMBER, accumulator, letter, like, refused
from .slicing import concatenate, pad, slice_in_dim
from .transcendental import exp, log1p

__all__ = ["cumlogsumexp", "cumlogsumexp_p", "cummax", "cummax_p", "cummin", "cummin_p", "cumprod",
           "cumprod_p", "cumsum", "cumsum_p"]


class Cumulative(Primitive):
    """Base class; a subclass defines ``name``, ``ufunc``, ``combine`` and ``jvp``."""

    kind = Kind.STATEMENT
    accepts = NUMBER
    ufunc: np.ufunc | Extreme
    transpose = never("it is not linear")

    def state(self, dtype: np.dtype) -> np.dtype:
        """The dtype in which the running value is kept; that of the operand unless overridden."""
        return dtype

    def combine(self, a, b):
        """Combine the running value with the next element, as expressions of loops."""
        raise NotImplementedError(f"{type(self).__name__}.combine")

    def neutral(self, dtype: np.dtype):
        """The initial running value, which does not change the first element, or None."""
        return None

    def accumulate(self, x: np.ndarray, axis: int) -> np.ndarray:
        """All running values, on NumPy arrays."""
        return self.ufunc.accumulate(x, axis=axis, dtype=self.state(x.dtype))

    def infer(self, x, *, axis, reverse):
        if letter(x.dtype) not in self.accepts:
            raise refused(self.name, x, self.accepts)
        if not 0 <= axis < x.ndim:
            raise ValueError(explain(
                f"tanx.lax.{self.name}", "axis must be a dimension of the operand.",
                f"operand: {x}", f"axis:    {axis}",
                hint="tanx.numpy's functions take negative axes."))
        return x

    def divided(self, x, *, axis, reverse):
        whole(self, [x], [axis], "the dimension that is accumulated must not be divided.")
        return x.entries

    def eval(self, x, *, axis, reverse):
        flip = (slice(None),) * axis + (slice(None, None, -1),)
        out = self.accumulate(x[flip] if reverse else x, axis)
        out = out[flip] if reverse else out
        return out if out.dtype == x.dtype else out.astype(x.dtype)

    def batch(self, args, dims, *, axis, reverse):
        (x,), (d,) = args, dims
        return self.bind(x, axis=axis + (axis >= d), reverse=reverse), d

    def lower(self, into, x, *, axis, reverse):
        """One running value for each line along the axis; its loop runs in order.

        With an initial value, steps need not test whether they are the first.
        """
        (out,) = into
        lines = x.shape[:axis] + x.shape[axis + 1:]
        running = build.temp("running", lines, self.state(x.dtype))

        def step(k):
            line, i = k[:axis] + k[axis + 1:], k[axis]
            at = (*k[:axis], x.shape[axis] - 1 - i if reverse else i, *k[axis + 1:])
            first = build.convert(x[at], running.dtype)
            value = self.combine(running[line], first)
            if start is None:
                value = build.select(build.eq(i, 0), first, value)
            return [build.store(running, line, value),
                    build.store(out, at, build.convert(running[line], out.dtype))]

        start = self.neutral(running.dtype)
        begin = [] if start is None else [build.nest(lines, lambda k: [
            build.store(running, k, build.const(start, running.dtype))])]
        in_order = tuple(d == axis for d in range(x.ndim))
        return [*begin, build.nest(x.shape, step, sequential=in_order)]


class CumSum(Cumulative):
    """Running sums, kept in twice the precision: errors do not grow with the length."""

    name = "cumsum"
    ufunc = np.add
    jvp = linear

    def state(self, dtype):
        return _WIDER.get(dtype) or accumulator(dtype)

    def neutral(self, dtype):
        kind = letter(dtype)
        return complex(-0.0, -0.0) if kind == "c" else -0.0 if kind == "f" else 0

    def combine(self, a, b):
        return a + b

    def transpose(self, ct, x, *, axis, reverse):
        return [cumsum(ct, axis, not reverse)]


_WIDER = {np.dtype(np.float32): np.dtype(np.float64),
          np.dtype(np.complex64): np.dtype(np.complex128)}


class CumProd(Cumulative):
    """Running products."""

    name = "cumprod"
    ufunc = np.multiply

    def state(self, dtype):
        return accumulator(dtype)

    def neutral(self, dtype):
        return None if letter(dtype) == "c" else 1

    def combine(self, a, b):
        return a * b

    @expansion
    def jvp(self, x, *, axis, reverse):
        return _scan_one(mul, x, axis, reverse)


class CumMax(Cumulative):
    """Running maxima."""

    name = "cummax"
    ufunc = maximum

    def neutral(self, dtype):
        return None if letter(dtype) == "c" else instructions.identity("max", dtype)

    def combine(self, a, b):
        return build.op("max", a, b)

    @expansion
    def jvp(self, x, *, axis, reverse):
        return _scan_one(max, x, axis, reverse)


class CumMin(Cumulative):
    """Running minima."""

    name = "cummin"
    ufunc = minimum

    def neutral(self, dtype):
        return None if letter(dtype) == "c" else instructions.identity("min", dtype)

    def combine(self, a, b):
        return build.op("min", a, b)

    @expansion
    def jvp(self, x, *, axis, reverse):
        return _scan_one(min, x, axis, reverse)


class CumLogSumExp(Cumulative):
    """Running logarithms of sums of exponentials."""

    name = "cumlogsumexp"
    accepts = INEXACT

    def state(self, dtype):
        return accumulator(dtype)

    def accumulate(self, x, axis):
        x = x.astype(self.state(x.dtype))
        if letter(x.dtype) == "f":
            return np.logaddexp.accumulate(x, axis=axis)
        # NumPy has no complex logaddexp: double the span that each element covers.
        x, span = np.moveaxis(x, axis, 0), 1
        while span < len(x):
            x[span:] = _log_add_exp(x[:-span].copy(), x[span:])
            span *= 2
        return np.moveaxis(x, 0, axis)

    def neutral(self, dtype):
        return None if letter(dtype) == "c" else -np.inf

    def combine(self, a, b):
        parts = [build.op("real", v) if letter(v.dtype) == "c" else v for v in (a, b)]
        # One comparison decides both, so with a NaN, both the NaN and the number are used.
        first = parts[0] > parts[1]
        low, high = build.select(first, b, a), build.select(first, a, b)
        gap = low - high
        total = high + build.op("log1p", build.op("exp", gap))
        return build.select(build.ne(gap, gap), a + b, total)  # NaN, or equal infinities

    def jvp(self, primals, tangents, *, axis, reverse):
        """Scan pairs of a value and its tangent together, scaling each tangent."""
        def combine(left, right):
            (a, da), (b, db) = left, right
            out = log_add_exp(a, b)
            return out, add(mul(da, _share(a, out)), mul(db, _share(b, out)))

        return scan_associatively(combine, (*primals, *tangents), axis, reverse)


def _log_add_exp(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    swap = a.real < b.real
    high, low = np.where(swap, b, a), np.where(swap, a, b)
    gap = low - high
    return np.where(np.isnan(gap), a + b, high + np.log1p(np.exp(gap)))


def log_add_exp(a, b):
    """The logarithm of the sum of two exponentials, in primitives."""
    x, y = (real(a), real(b)) if letter(typeof(a).dtype) == "c" else (a, b)
    first = ge(x, y)
    high, low = select(first, a, b), select(first, b, a)
    gap = sub(low, high)
    return select(ne(gap, gap), add(a, b), add(high, log1p(exp(gap))))


def _share(x, total):
    """The derivative of the logarithm of a sum by one of its terms; 1 if both are infinite."""
    finite = (select(eq(v, like(v, np.inf)), full_like(v, 0), v) for v in (x, total))
    return exp(sub(*finite))


def _scan_one(combine, x, axis: int, reverse: bool):
    """:func:`scan_associatively` of a single array."""
    (out,) = scan_associatively(lambda a, b: (combine(*a, *b),), (x,), axis, reverse)
    return out


def scan_associatively(combine, arrays, axis: int, reverse: bool = False) -> list:
    """All running values of an associative ``combine`` of tuples of arrays, in O(log n) steps.

    Neighbours are combined, the halved sequence is scanned, and the values between are filled in.
    """
    arrays = [rev(x, (axis,)) for x in arrays] if reverse else list(arrays)
    arrays = _scan(combine, arrays, axis)
    return [rev(x, (axis,)) for x in arrays] if reverse else arrays


def _scan(combine, arrays: list, axis: int) -> list:

    def every(xs, start, stop, step=1):
        return [slice_in_dim(x, start, stop, step, axis) for x in xs]

    size = typeof(arrays[0]).shape[axis]
    if size < 2:
        return arrays
    pairs = combine(every(arrays, 0, -1, 2), every(arrays, 1, None, 2))
    odd = _scan(combine, list(pairs), axis)
    even = combine(odd if size % 2 else every(odd, 0, -1), every(arrays, 2, None, 2))
    even = [concatenate([first, rest], axis) for first, rest in zip(every(arrays, 0, 1), even)]
    return [_interleave(a, b, axis) for a, b in zip(even, odd)]


def _interleave(even, odd, axis: int):
    """The elements of two arrays in turn; the first may have one more."""
    zero, rank = like(even, 0), typeof(even).ndim
    one_more = typeof(even).shape[axis] - typeof(odd).shape[axis]

    def spaced(x, before, after):
        return pad(x, zero, [(before, after, 1) if d == axis else (0, 0, 0) for d in range(rank)])

    return add(spaced(even, 0, 1 - one_more), spaced(odd, 1, one_more))


cumsum_p, cumprod_p, cummax_p, cummin_p = CumSum(), CumProd(), CumMax(), CumMin()
cumlogsumexp_p = CumLogSumExp()


def cumsum(operand, axis=0, reverse=False):
    """Running sums along ``axis``, from the end if ``reverse``.

    >>> lax.cumsum(jnp.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)
    """
    return cumsum_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


def cumprod(operand, axis=0, reverse=False):
    """Running products along ``axis``, from the end if ``reverse``.

    >>> lax.cumprod(jnp.array([1, 2, 3]), reverse=True)
    Array([6, 6, 3], dtype=int32)
    """
    return cumprod_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


def cummax(operand, axis=0, reverse=False):
    """Running maxima along ``axis``, from the end if ``reverse``; after a NaN all are NaN.

    >>> lax.cummax(jnp.array([1, 3, 2]))
    Array([1, 3, 3], dtype=int32)
    """
    return cummax_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


def cummin(operand, axis=0, reverse=False):
    """Running minima along ``axis``, from the end if ``reverse``; after a NaN all are NaN.

    >>> lax.cummin(jnp.array([2, 3, 1]))
    Array([2, 2, 1], dtype=int32)
    """
    return cummin_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))


def cumlogsumexp(operand, axis=0, reverse=False):
    """Running values of ``log(sum(exp(x)))`` along ``axis``, from the end if ``reverse``.

    >>> lax.cumlogsumexp(jnp.zeros(3))
    Array([0.       , 0.6931472, 1.0986123], dtype=float32)
    """
    return cumlogsumexp_p.bind(operand, axis=operator.index(axis), reverse=bool(reverse))
