"""Arithmetic: sums, differences, products, quotients, and powers by a fixed integer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import index
from typing import Any

import numpy as np

from .. import dtypes
from .._base.config import enable_x64
from .._core.linear import Zero, is_linear, linear, zero_series
from .._loops import build
from ..errors import explain
from .derive import partials
from .families import Elementwise, grow, keeping_dtype, unbroadcast
from .operands import NUMBER, like, widened

__all__ = ["add", "add_p", "div", "div_p", "integer_pow", "integer_pow_p", "mul",
           "mul_p", "neg", "neg_p", "reciprocal", "sub", "sub_p"]


class Add(Elementwise):
    """The sum of two operands."""

    name = "add"
    accepts = NUMBER
    eval = staticmethod(np.add)

    def jvp(self, primals, tangents):
        out = add(*primals)
        dx, dy = tangents
        if type(dx) is not Zero and type(dy) is not Zero:
            return out, add(dx, dy)
        return out, grow(dy if type(dx) is Zero else dx, out)

    def transpose(self, ct, x, y):
        return [unbroadcast(ct, x) if is_linear(x) else None,
                unbroadcast(ct, y) if is_linear(y) else None]


class Sub(Elementwise):
    """The difference of two operands."""

    name = "sub"
    accepts = NUMBER
    eval = staticmethod(np.subtract)

    def jvp(self, primals, tangents):
        out = sub(*primals)
        dx, dy = tangents
        if type(dx) is not Zero and type(dy) is not Zero:
            return out, sub(dx, dy)
        return out, grow(neg(dy) if type(dx) is Zero else dx, out)

    def transpose(self, ct, x, y):
        return [unbroadcast(ct, x) if is_linear(x) else None,
                unbroadcast(neg(ct), y) if is_linear(y) else None]


def total(terms: Sequence[Any]):
    """The sum of several terms."""
    return reduce(add, terms)


def bilinear(self, primals, series, **params):
    """The ``taylor`` rule of products: each coefficient of one factor times each of the other."""
    (x, y), (xs, ys) = primals, series
    out = self.bind(x, y, **params)
    if xs is zero_series:
        return out, [self.bind(x, t, **params) for t in ys]
    if ys is zero_series:
        return out, [self.bind(t, y, **params) for t in xs]
    xs, ys = [x, *xs], [y, *ys]
    return out, [total([self.bind(xs[i], ys[k - i], **params) for i in range(k + 1)])
                 for k in range(1, len(xs))]


class Mul(Elementwise):
    """The product of two operands, in ``out_dtype`` if given."""

    name = "mul"
    accepts = NUMBER
    ufunc_alone = np.multiply

    def infer(self, x, y, *, out_dtype=None):
        if out_dtype is None:
            return super().infer(x, y)
        wide = self._wide(x, y, out_dtype)
        return super().infer(x.update(dtype=wide), y.update(dtype=wide)).update(dtype=out_dtype)

    def eval(self, x, y, *, out_dtype=None):
        if out_dtype is None:
            return np.multiply(x, y)
        wide = self._wide(x, y, out_dtype)
        return np.asarray(np.multiply(x.astype(wide), y.astype(wide))).astype(out_dtype)

    @staticmethod
    def _wide(x, y, out_dtype):
        with enable_x64(True):  # operands may have 64 bits even where users cannot ask for them
            return dtypes.result_type(x.dtype, y.dtype, out_dtype)

    jvp = partials(lambda t, out, x, y, out_dtype=None: _times(t, y, out_dtype),
                   lambda t, out, x, y, out_dtype=None: _times(x, t, out_dtype))
    taylor = bilinear

    def transpose(self, ct, x, y, *, out_dtype=None):
        def product(a, b, operand):
            return unbroadcast(_times(a, b, out_dtype and operand.dtype), operand)
        return [product(ct, y, x) if is_linear(x) else None,
                product(x, ct, y) if is_linear(y) else None]

    def lower(self, at, x, y, *, out_dtype=None):
        if out_dtype is None:
            return super().lower(at, x, y)
        wide = self._wide(x, y, out_dtype)
        a, b = (build.convert(element, wide) for element in self.elements(at, x, y))
        return build.convert(a * b, out_dtype)


class Div(Elementwise):
    """The quotient of two operands; integers round towards zero."""

    name = "div"
    accepts = NUMBER
    ufunc_alone = np.true_divide  # for floats only: for integers it returns floats

    def eval(self, x, y):
        if x.dtype.kind in "fcV" and dtypes.issubdtype(x.dtype, np.inexact):
            return np.true_divide(x, y)
        return _divide_integers(x, y)

    jvp = partials(lambda t, out, x, y: div(t, y),
                   lambda t, out, x, y: mul(mul(neg(t), x), integer_pow(y, -2)))

    def taylor(self, primals, series):
        """From ``x = q y``: each coefficient of ``q`` follows from those before it."""
        (x, y), (xs, ys) = primals, series
        out = div(x, y)
        if ys is zero_series:
            return out, [div(t, y) for t in xs]
        found, inverse = [out], div(like(y, 1), y)
        for k in range(1, len(ys) + 1):
            known = total([mul(ys[j - 1], found[k - j]) for j in range(1, k + 1)])
            rest = neg(known) if xs is zero_series else sub(xs[k - 1], known)
            found.append(mul(rest, inverse))
        return out, found[1:]

    def transpose(self, ct, x, y):
        return [unbroadcast(div(ct, y), x), None]


def _divide_integers(x, y):
    """Division towards zero; by zero all bits are set, and overflow wraps, as in XLA."""
    dtype = x.dtype
    if dtypes.itemsize_bits(dtype) < 8:
        x, y = x.astype(np.int8), y.astype(np.int8)
    quotient = np.floor_divide(x, y)
    if x.dtype.kind == "i":  # rounded down so far
        quotient += ((x < 0) != (y < 0)) & (quotient * y != x)
    return np.where(y == 0, ~x.dtype.type(0), quotient).astype(dtype)


class Neg(Elementwise):
    """The negative."""

    name = "neg"
    accepts = NUMBER
    eval = keeping_dtype(np.negative)
    jvp = linear

    def transpose(self, ct, x):
        return [neg(ct)]


class IntegerPow(Elementwise):
    """The operand raised to a fixed integer power."""

    name = "integer_pow"
    accepts = NUMBER

    def infer(self, x, *, y):
        if y < 0 and dtypes.issubdtype(x.dtype, np.integer):
            raise TypeError(explain(
                "tanx.lax.integer_pow", "Integers cannot be raised to negative powers.",
                f"operand: {x}", f"power:   {y}", hint="convert the operand to floating point."))
        return super().infer(x)

    def eval(self, x, *, y):
        power, base, count = None, widened(x), -y if y < 0 else y
        while count:
            if count & 1:
                power = base if power is None else power * base
            count >>= 1
            if count:
                base = base * base
        if power is None:
            return np.ones_like(x)
        if y < 0:
            power = np.asarray(1, power.dtype) / power
        return np.asarray(power).astype(x.dtype, copy=False)

    def jvp(self, primals, tangents, *, y):
        (x,), (dx,) = primals, tangents
        out = integer_pow(x, y)
        if y == 0:
            return out, Zero.tangent_of(out)
        if y == 1:
            return out, dx
        lower = x if y == 2 else integer_pow(x, y - 1)
        return out, mul(dx, mul(like(x, y), lower))

    def lower(self, at, x, *, y):
        return build.op("integer_pow", x[at], y=y)


add_p, sub_p, mul_p, div_p, neg_p = Add(), Sub(), Mul(), Div(), Neg()
integer_pow_p = IntegerPow()


# -- functions of tanx.lax -------------------------------------------------------------------------


def add(x, y):
    """The sum ``x + y``.

    As for all functions of several operands here, these have one dtype and one shape, or are
    scalars.

    >>> lax.add(jnp.array([1, 2]), jnp.array([10, 20]))
    Array([11, 22], dtype=int32)
    """
    return add_p.bind(x, y)


def sub(x, y):
    """The difference ``x - y``.

    >>> lax.sub(jnp.array([10, 20]), jnp.array([1, 2]))
    Array([ 9, 18], dtype=int32)
    """
    return sub_p.bind(x, y)


def mul(x, y, *, out_dtype=None):
    """The product ``x * y``; with ``out_dtype``, computed and returned in that dtype.

    >>> lax.mul(jnp.int8(100), jnp.int8(100), out_dtype=jnp.int32)
    Array(10000, dtype=int32)
    """
    return _times(x, y, out_dtype if out_dtype is None else dtypes.requested_dtype(
        out_dtype, "tanx.lax.mul"))


def _times(x, y, out_dtype):
    return mul_p.bind(x, y) if out_dtype is None else mul_p.bind(x, y, out_dtype=out_dtype)


def div(x, y):
    """The quotient ``x / y``; integers round towards zero.

    >>> lax.div(-7, 2)
    Array(-3, dtype=int32, weak_type=True)
    """
    return div_p.bind(x, y)


def neg(x):
    """The negative ``-x``.

    >>> lax.neg(jnp.array([1, -2]))
    Array([-1,  2], dtype=int32)
    """
    return neg_p.bind(x)


def integer_pow(x, y):
    """``x`` raised to the Python integer ``y``, by repeated multiplication.

    >>> lax.integer_pow(2.0, -3)
    Array(0.125, dtype=float32, weak_type=True)
    """
    return integer_pow_p.bind(x, y=index(y))


def reciprocal(x):
    """The reciprocal ``1 / x``.

    >>> lax.reciprocal(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return integer_pow(x, -1)
