"""Dtypes with tangents of another dtype than their elements."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import explain
from ._requests import is_valid, requested_dtype
from ._types import ExtendedDType, as_dtype, extended, short_name

__all__ = ["PrimalTangentDType", "primal_tangent_dtype"]


class with_tangents(extended):
    """The abstract class of these dtypes."""


class PrimalTangentDType(ExtendedDType):
    """Elements of one dtype, tangents of another."""

    type = with_tangents

    def __init__(self, primal_dtype: np.dtype, tangent_dtype: np.dtype, name: str):
        self.primal_dtype, self.tangent_dtype, self.name = primal_dtype, tangent_dtype, name

    @property
    def _rules(self):
        return SimpleNamespace(
            physical_element_aval=lambda dtype: SimpleNamespace(shape=(), dtype=self.primal_dtype),
            tangent_dtype=lambda dtype: self.tangent_dtype, allow_conversion=True)

    def _key(self) -> tuple[Any, ...]:
        return PrimalTangentDType, self.primal_dtype, self.tangent_dtype, self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrimalTangentDType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def primal_tangent_dtype(primal_dtype, tangent_dtype, name: str | None = None) -> ExtendedDType:
    """A dtype whose elements are stored as ``primal_dtype``; their tangents are ``tangent_dtype``.

    Arrays of it are made from arrays of ``primal_dtype``, and read as such, by conversions. They
    can be indexed, reshaped, passed to functions and returned; arithmetic has to be done by
    functions with derivatives of their own (``custom_vjp``): so weights of 8 bits can be trained.

    >>> dtype = tanx.experimental.primal_tangent_dtype(jnp.int8, jnp.bfloat16)
    >>> dtype
    PrimalTangentDType{i8/bf16}
    >>> weights = jnp.array([1, -2], jnp.int8).astype(dtype)
    >>> tanx.vjp(lambda w: w[::-1], weights)[1](jnp.array([0.5, 2], jnp.bfloat16))
    (Array([2, 0.5], dtype=bfloat16),)
    """
    pair = []
    for dtype in (primal_dtype, tangent_dtype):
        # Programs may define the dtype before they enable 64 bits.
        found = requested_dtype(dtype) if dtype in (int, float, complex) else as_dtype(dtype)
        if not is_valid(found):
            raise TypeError(explain(
                "tanx.experimental.primal_tangent_dtype", "both dtypes must be those of numbers.",
                f"given: {found}"))
        pair.append(found)
    primal, tangent = pair
    if name is None:
        name = f"PrimalTangentDType{{{short_name(primal)}/{short_name(tangent)}}}"
    return PrimalTangentDType(primal, tangent, name)
