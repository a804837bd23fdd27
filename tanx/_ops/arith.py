"""Arithmetic primitives: add, sub, mul, neg …"""

from __future__ import annotations

import numpy as np

from .._core.linear import is_linear
from .derive import linear, partials
from .families import NUMBER, Elementwise, unbroadcast

__all__ = ["add", "add_p", "mul", "mul_p", "neg", "neg_p"]


class Add(Elementwise):
    """The sum of two operands."""

    name = "add"
    accepts = NUMBER
    eval = staticmethod(np.add)
    jvp = partials(lambda t, out, x, y: grow(t, out), lambda t, out, x, y: grow(t, out))

    def transpose(self, ct, x, y):
        return [unbroadcast(ct, x) if is_linear(x) else None,
                unbroadcast(ct, y) if is_linear(y) else None]


class Mul(Elementwise):
    """The product of two operands."""

    name = "mul"
    accepts = NUMBER
    eval = staticmethod(np.multiply)
    jvp = partials(lambda t, out, x, y: mul(t, y), lambda t, out, x, y: mul(x, t))

    def transpose(self, ct, x, y):
        return [unbroadcast(mul(ct, y), x) if is_linear(x) else None,
                unbroadcast(mul(x, ct), y) if is_linear(y) else None]


class Neg(Elementwise):
    """The negative."""

    name = "neg"
    accepts = NUMBER
    eval = staticmethod(np.negative)
    jvp = linear

    def transpose(self, ct, x):
        return [neg(ct)]


add_p, mul_p, neg_p = Add(), Mul(), Neg()


def grow(tangent, out):
    """A tangent broadcast to the shape of the result it belongs to."""
    from .layout import broadcast_in_dim
    shape = out.shape
    if tangent.shape == shape:
        return tangent
    return broadcast_in_dim(tangent, shape, range(len(shape)) if tangent.shape else ())


def add(x, y):
    """The sum ``x + y`` of operands of one dtype and shape."""
    return add_p.bind(x, y)


def mul(x, y):
    """The product ``x * y`` of operands of one dtype and shape."""
    return mul_p.bind(x, y)


def neg(x):
    """The negative ``-x``."""
    return neg_p.bind(x)
