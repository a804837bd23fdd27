"""Comparisons, and choices between operands."""

from __future__ import annotations

from functools import partial, reduce

import numpy as np

from .._core.explicit import same_entries
from .._core.linear import is_linear, linear_in, never
from .._core.primitive import Kind, Primitive
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..dtypes import KeyType
from ..errors import explain
from .base import batch_size, broadcast_in_dim, materialize
from .bits import bitwise_and
from .derive import partials, zeros_of
from .extremes import maximum, minimum
from .families import Elementwise, grow
from .generators import as_words
from .operands import ANY, INT, letter, like

__all__ = ["clamp", "clamp_p", "eq", "eq_p", "eq_to_p", "ge", "ge_p", "gt", "gt_p", "le", "le_p",
           "le_to_p", "lt", "lt_p", "lt_to_p", "ne", "ne_p", "select", "select_n", "select_n_p"]


_BOOL = np.dtype(bool)
_ORDERED = ANY - frozenset("c")


# -- comparisons -----------------------------------------------------------------------------------


class Comparison(Elementwise):
    """Compares two operands; returns booleans."""

    accepts = _ORDERED
    result = staticmethod(lambda dtype: _BOOL)
    jvp = never("comparisons return booleans")


class KeyEq(Comparison):
    """Whether keys are equal: all of their words."""

    name = "key_eq"
    accepts = frozenset("k")

    def eval(self, x, y):
        words = zip(as_words(np.asarray(x)), as_words(np.asarray(y)))
        return reduce(np.logical_and, [np.equal(*pair) for pair in words])

    def lower(self, at, x, y):
        words = zip(*map(as_words, self.elements(at, x, y)))
        return reduce(partial(build.op, "and"), [build.eq(*pair) for pair in words])


class KeyNe(KeyEq):
    """Whether keys differ."""

    name = "key_ne"

    def eval(self, x, y):
        return np.logical_not(super().eval(x, y))

    def lower(self, at, x, y):
        return build.op("not", super().lower(at, x, y))


class Equality(Comparison):
    """Compares operands of any dtype, including keys and other extended types.

    Keys of one or two words are stored as integers, and compared as such. Longer ones are stored as
    complex numbers, whose comparison ignores some bits: they have a separate primitive.
    """

    accepts = ANY | frozenset("ke")
    of_keys: KeyEq

    def bind(self, x, y):
        if type(dtype := getattr(x, "dtype", None)) is KeyType and dtype.stored.kind != "u":
            return self.of_keys.bind(x, y)
        return super().bind(x, y)


class Eq(Equality):
    """Whether operands are equal; NaN equals nothing."""

    name = "eq"
    eval = staticmethod(np.equal)
    of_keys = KeyEq()


class Ne(Equality):
    """Whether operands differ; NaN differs from everything."""

    name = "ne"
    eval = staticmethod(np.not_equal)
    of_keys = KeyNe()


class Lt(Comparison):
    """Whether the first operand is less than the second."""

    name = "lt"
    eval = staticmethod(np.less)


class Le(Comparison):
    """Whether the first operand is less than the second, or equal."""

    name = "le"
    eval = staticmethod(np.less_equal)


class Gt(Comparison):
    """Whether the first operand is greater than the second."""

    name = "gt"
    eval = staticmethod(np.greater)


class Ge(Comparison):
    """Whether the first operand is greater than the second, or equal."""

    name = "ge"
    eval = staticmethod(np.greater_equal)


class TotalOrder(Comparison):
    """Compares by the total order of floats: -NaN < -inf < … < -0 < 0 < … < inf < NaN."""

    plain: str  # the comparison for operands that are not floating point
    ufunc: np.ufunc

    def eval(self, x, y):
        return self.ufunc(*map(total_order_key, (x, y)))

    def lower(self, at, x, y):
        floating = letter(x.dtype) == "f"
        return build.op(self.name if floating else self.plain, *self.elements(at, x, y))


def total_order_key(x: np.ndarray) -> np.ndarray:
    """Integers in the total order of floats; other dtypes unchanged."""
    if letter(x.dtype) != "f":
        return x
    bits = x.view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


class EqTo(TotalOrder):
    """Whether operands are equal in the total order."""

    name, plain = "eq_to", "eq"
    ufunc = np.equal


class LtTo(TotalOrder):
    """Whether the first operand comes before the second in the total order."""

    name, plain = "lt_to", "lt"
    ufunc = np.less


class LeTo(TotalOrder):
    """Whether the first operand comes before the second in the total order, or equals it."""

    name, plain = "le_to", "le"
    ufunc = np.less_equal


# -- choices ---------------------------------------------------------------------------------------


class SelectN(Primitive):
    """Takes each element from one of several operands, chosen by the first operand."""

    name = "select_n"
    kind = Kind.ELEMENTWISE

    def infer(self, which, *cases):
        first = cases[0]
        weak = first.weak_type
        for case in cases[1:]:
            if case.shape != first.shape or case.dtype != first.dtype:
                raise self._refused("cases must have the same shape and dtype", which, cases)
            weak = weak and case.weak_type
        if which.shape and which.shape != first.shape:
            raise self._refused("which must be a scalar or shaped like the cases", which, cases)
        if which.dtype == _BOOL:
            if len(cases) > 2:
                raise self._refused("a boolean chooses between at most two cases", which, cases)
        elif letter(which.dtype) not in INT:
            raise self._refused("which must hold booleans or integers", which, cases)
        return first if first.weak_type == weak else ShapedArray(first.shape, first.dtype, weak)

    def divided(self, which, *cases):
        rule = "cases, and which unless it is a scalar, must have the same sharding."
        return same_entries(self, [*cases, *([which] if which.ndim else [])], rule)

    def _refused(self, rule, which, cases) -> TypeError:
        return TypeError(explain(
            "tanx.lax.select_n", f"{rule}.", f"which:  {which}",
            *(f"case {i}: {case}" for i, case in enumerate(cases)),
            hint="tanx.numpy.where broadcasts and promotes."))

    def taken(self, which: np.ndarray, cases: int) -> int:
        """The position of the operand that is the result, given the scalar ``which``."""
        return 1 + min(max(int(which), 0), cases - 1)

    def eval(self, which, *cases):
        if which.dtype == _BOOL:
            return np.where(which, cases[-1], cases[0])
        out = cases[0]
        for position, case in enumerate(cases[1:], 1):
            out = np.where(which >= position, case, out)
        return out

    def jvp(self, primals, tangents):
        return linear_in(*range(1, len(primals)))(self, primals, tangents)

    def transpose(self, ct, which, *cases):
        zeros = zeros_of(typeof(ct))
        if typeof(which).dtype == _BOOL:
            chosen = [ct, zeros], [zeros, ct]
            return [None, *(select_n(which, *chosen[i][:len(cases)]) if is_linear(case) else None
                            for i, case in enumerate(cases))]
        which = clamp(like(which, 0), which, like(which, len(cases) - 1))
        return [None, *(select(eq(which, like(which, i)), ct, zeros) if is_linear(case) else None
                        for i, case in enumerate(cases))]

    def batch(self, args, dims):
        (which, *cases), (which_dim, *case_dims) = args, dims
        position = next((d for d in case_dims if d is not None), 0)
        size = batch_size(args, dims)
        cases = [materialize(x, d, size, position) for x, d in zip(cases, case_dims)]
        which = _beside(which, which_dim, typeof(cases[0]).shape, size, position)
        return select_n(which, *cases), position

    def lower(self, at, which, *cases):
        choice, out = which[at], cases[0][at]
        for position, case in enumerate(cases[1:], 1):
            taken = choice if which.dtype == _BOOL else choice >= position
            out = build.select(taken, case[at], out)
        return out


def _beside(x, dim: int | None, shape, size: int, position: int):
    """A scalar or full-sized operand, extended to go with batched ones of ``shape``."""
    rank = typeof(x).ndim - (dim is not None)
    if rank == 0:
        return x if dim is None else broadcast_in_dim(x, shape, (position,))
    return materialize(x, dim, size, position)


class Clamp(Primitive):
    """Clamps elements to the interval from the first operand to the third; NaN wins."""

    name = "clamp"
    kind = Kind.ELEMENTWISE

    def infer(self, low, x, high):
        for bound in (low, high):
            if bound.dtype != x.dtype:
                raise self._refused("operands must have the same dtype", low, x, high)
            if bound.shape and bound.shape != x.shape:
                raise self._refused("bounds must be scalars or have the shape of x", low, x, high)
        if letter(x.dtype) not in ANY:
            raise self._refused("operands must be numeric", low, x, high)
        weak = low.weak_type and x.weak_type and high.weak_type
        return x if weak == x.weak_type else ShapedArray(x.shape, x.dtype, weak)

    def divided(self, low, x, high):
        return x.entries

    def _refused(self, rule, low, x, high) -> TypeError:
        return TypeError(explain(
            "tanx.lax.clamp", f"{rule}.", f"min: {low}", f"x:   {x}", f"max: {high}",
            hint="tanx.numpy.clip broadcasts and promotes."))

    def eval(self, low, x, high):
        out = minimum(maximum(low, x), high)
        return out if out.dtype == x.dtype else out.astype(x.dtype)

    jvp = partials(
        lambda t, out, low, x, high: _where(bitwise_and(gt(low, x), lt(low, high)), t, out),
        lambda t, out, low, x, high: _where(bitwise_and(gt(x, low), lt(x, high)), t, out),
        lambda t, out, low, x, high: _where(lt(high, x), t, out))

    transpose = never("it is not linear")

    def batch(self, args, dims):
        (low, x, high), (low_dim, x_dim, high_dim) = args, dims
        position, size = x_dim or 0, batch_size(args, dims)
        x = materialize(x, x_dim, size, position)
        shape = typeof(x).shape
        return clamp(_beside(low, low_dim, shape, size, position), x,
                     _beside(high, high_dim, shape, size, position)), position

    def lower(self, at, low, x, high):
        return build.op("min", build.op("max", low[at], x[at]), high[at])


def _where(condition, tangent, out):
    """The tangent where the condition holds, else zeros."""
    return select(condition, grow(tangent, out), zeros_of(typeof(out).to_tangent()))


eq_p, ne_p, lt_p, le_p, gt_p, ge_p = Eq(), Ne(), Lt(), Le(), Gt(), Ge()
eq_to_p, lt_to_p, le_to_p = EqTo(), LtTo(), LeTo()
select_n_p, clamp_p = SelectN(), Clamp()


# -- functions of tanx.lax -------------------------------------------------------------------------


def eq(x, y):
    """Whether elements are equal, ``x == y``; false for NaN.

    >>> lax.eq(jnp.array([1, 2]), jnp.array([1, 3]))
    Array([ True, False], dtype=bool)
    """
    return eq_p.bind(x, y)


def ne(x, y):
    """Whether elements differ, ``x != y``; true for NaN.

    >>> lax.ne(jnp.array([1, 2]), jnp.array([1, 3]))
    Array([False,  True], dtype=bool)
    """
    return ne_p.bind(x, y)


def lt(x, y):
    """Whether ``x < y``.

    >>> lax.lt(jnp.array([1, 2]), jnp.array([2, 2]))
    Array([ True, False], dtype=bool)
    """
    return lt_p.bind(x, y)


def le(x, y):
    """Whether ``x <= y``.

    >>> lax.le(jnp.array([2, 3]), jnp.array([2, 2]))
    Array([ True, False], dtype=bool)
    """
    return le_p.bind(x, y)


def gt(x, y):
    """Whether ``x > y``.

    >>> lax.gt(jnp.array([1, 3]), jnp.array([2, 2]))
    Array([False,  True], dtype=bool)
    """
    return gt_p.bind(x, y)


def ge(x, y):
    """Whether ``x >= y``.

    >>> lax.ge(jnp.array([1, 2]), jnp.array([2, 2]))
    Array([False,  True], dtype=bool)
    """
    return ge_p.bind(x, y)


def select_n(which, *cases):
    """Take each element from the case with the number ``which``: False or 0 means the first one.

    ``which`` is a scalar or has the shape of the cases; integers out of range mean the nearest
    case. See :func:`tanx.numpy.where`, which broadcasts.

    >>> lax.select_n(jnp.array([2, 0]), jnp.zeros(2), jnp.ones(2), jnp.full(2, 5.0))
    Array([5., 0.], dtype=float32)
    """
    if not cases:
        raise ValueError(explain("tanx.lax.select_n", "needs at least one case.",
                                 f"which: {typeof(which)}"))
    return select_n_p.bind(which, *cases)


def select(pred, on_true, on_false):
    """Take elements from ``on_true`` where ``pred`` holds, else from ``on_false``.

    >>> lax.select(jnp.array([True, False]), jnp.ones(2), jnp.zeros(2))
    Array([1., 0.], dtype=float32)
    """
    return select_n_p.bind(pred, on_false, on_true)


def clamp(min, x, max):
    """``x`` clamped to the interval from ``min`` to ``max``, which may be scalars.

    >>> lax.clamp(0.0, jnp.array([-1.0, 0.5, 3.0]), 1.0)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return clamp_p.bind(min, x, max)
