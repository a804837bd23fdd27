"""The vocabulary of derivative rules: symbolic zeros, linear operands, rules that cannot exist.

:class:`Zero` represents a tangent or cotangent that is zero for structural reasons; rules skip it.
:data:`zero_series` is its counterpart in Taylor mode. :class:`Linear` represents an operand of a
transposed equation: only its type is known.

A primitive that is linear in its operands has ``jvp = linear`` (in all of them together, as ``neg``
or ``concatenate``) or ``jvp = linear_in(0)`` (in some; the rest are indices or masks).
"""

from __future__ import annotations

from typing import Any

from ..errors import explain
from ..tree_util import register_pytree_node
from .types import AbstractValue, typeof

__all__ = ["Expansion", "Linear", "Never", "Series", "Zero", "ZeroSeries", "expansion",
           "instantiate", "is_linear", "is_zero", "linear", "linear_in", "never", "zero_series"]


class Zero:
    """A tangent or cotangent that is zero; it has only a type."""

    __slots__ = ("aval",)

    def __init__(self, aval: AbstractValue):
        self.aval: Any = aval  # usually a ShapedArray, whose attributes code uses

    @classmethod
    def tangent_of(cls, primal) -> Zero:
        """The zero tangent of a value."""
        return cls(typeof(primal).to_tangent())

    def instantiate(self):
        """The zeros as an array. It needs primitives, so :mod:`tanx._ops.derive` sets it."""
        raise RuntimeError("tanx is not initialised: import tanx")

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


class ZeroSeries:
    """The Taylor series of an operand that does not change."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "zero_series"


zero_series = ZeroSeries()

Series = Any
"""A list of coefficients, or :data:`zero_series`."""


class Linear:
    """An operand in which a transposed equation is linear; it has only a type."""

    __slots__ = ("aval",)

    def __init__(self, aval: AbstractValue):
        self.aval = aval

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: len(self.aval.shape))

    def __array__(self, dtype=None, copy=None):
        raise TypeError(explain(
            "tanx.linear_transpose", "the function must be linear in its arguments together.",
            f"used as a known factor: {self.aval}",
            hint="tanx.vjp differentiates nonlinear functions."))

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"  # the name that rules of users know


# Without leaves, so that a rule may pass one through a transformation.
register_pytree_node(Linear, lambda x: ((), x.aval), lambda aval, _: Linear(aval))


def is_zero(x) -> bool:
    """Whether a tangent or cotangent is zero for structural reasons."""
    return type(x) is Zero


def is_linear(x) -> bool:
    """Whether an operand of a transposed equation is to be differentiated."""
    return type(x) is Linear


def instantiate(x):
    """A symbolic zero as an array of zeros; other values unchanged."""
    return x.instantiate() if type(x) is Zero else x


def linear(self, primals, tangents, **params):
    """A ``jvp`` rule for primitives linear in all operands together: apply to the tangents too."""
    out = self.bind(*primals, **params)
    return out, self.bind(*map(instantiate, tangents), **params)


def linear_in(*positions: int):
    """A ``jvp`` rule for primitives linear in some operands; the others are indices or masks."""

    def jvp(self, primals, tangents, **params):
        out = self.bind(*primals, **params)
        if all(type(tangents[i]) is Zero for i in positions):
            return out, Zero.tangent_of(out)
        mixed = [instantiate(tangents[i]) if i in positions else primal
                 for i, primal in enumerate(primals)]
        return out, self.bind(*mixed, **params)
    return jvp


class Never:
    """A rule that cannot exist, and the reason."""

    __slots__ = ("reason", "primitive", "rule")

    def __init__(self, reason: str):
        self.reason = reason
        self.primitive = self.rule = "?"

    def __set_name__(self, owner, rule):
        self.rule = rule

    def __get__(self, instance, owner):
        # A base class may define it, so the error names the primitive that was used.
        asked = Never(self.reason)
        asked.primitive, asked.rule = getattr(owner, "name", owner.__name__), self.rule
        return asked

    def __call__(self, *args, **params):
        raise NotImplementedError(explain(
            f"tanx.lax.{self.primitive}", f"has no {self.rule} rule: {self.reason}."))


def never(reason: str) -> Never:
    """State that a rule cannot exist: ``transpose = never("tanh is not linear")``."""
    return Never(reason)


class Expansion:
    """A ``jvp`` rule that is the derivative of an expression in other primitives."""

    __slots__ = ("function",)

    def __init__(self, function):
        self.function = function


def expansion(function) -> Expansion:
    """Define a derivative by other primitives: forward mode differentiates the body.

    ::

        @expansion
        def jvp(self, x, *, axes): ...  # what the primitive computes, written with others
    """
    return Expansion(function)
