"""Base classes of elementwise primitives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.linear import Linear, never
from .._core.primitive import Kind, Primitive
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..errors import explain
from .base import broadcast_in_dim, reduce_sum, reshape, to_front
from .operands import ANY, FLOAT32, INEXACT, NUMPY_FLOATS, letter, refused

__all__ = ["Accurate", "Elementwise", "grow", "keeping_dtype", "unbroadcast"]


class Elementwise(Primitive):
    """Computes each element of the result from the operands' elements at the same index.

    A subclass defines ``name``, ``accepts`` (a dtype group), ``eval``, and its derivative.
    ``result`` maps the operands' dtype to that of the result if they differ; ``instruction`` is the
    name of the loop instruction if it differs from the primitive's. Operands broadcast along
    dimensions of size 1, and scalars broadcast to any shape.
    """

    kind = Kind.ELEMENTWISE
    accepts: frozenset[str] = ANY
    result: Callable[[np.dtype], np.dtype] | None = None
    instruction: str | None = None
    own_loop = False  # whether eager code uses tanx's own compiled loop
    transpose: Any = never("it is not linear")

    def infer(self, x, y=None, **params):
        dtype = x.dtype
        if letter(dtype) not in self.accepts:
            raise self.refused(x)
        if y is not None and y is not x:
            if y.dtype != dtype:
                raise self.mixed(x, y)
            if y.shape != x.shape or y.weak_type != x.weak_type:
                x = self.joined(x, y)
        return x if self.result is None else ShapedArray(x.shape, self.result(dtype), x.weak_type)

    @property
    def ufunc_alone(self) -> np.ufunc | None:
        """The NumPy function that equals ``eval`` for NumPy dtypes without parameters, or None."""
        rule: Any = self.eval
        return rule if isinstance(rule, np.ufunc) else getattr(rule, "ufunc", None)

    def prepared(self, *types: ShapedArray, **params):
        own_loop = getattr(self, "own_loop", False)
        return None if own_loop or types[0].dtype not in NUMPY_FLOATS or any(
            p is not None for p in params.values()) else self.ufunc_alone

    def joined(self, x: ShapedArray, y: ShapedArray) -> ShapedArray:
        """The common type of operands of one dtype: equal ranks, sizes equal or 1, or rank 0."""
        weak = x.weak_type and y.weak_type
        if x.shape == y.shape or not y.shape:
            shape = x.shape
        elif not x.shape:
            shape = y.shape
        elif len(x.shape) == len(y.shape) and all(
                n == m or n == 1 or m == 1 for n, m in zip(x.shape, y.shape)):
            shape = tuple([m if n == 1 else n for n, m in zip(x.shape, y.shape)])
        else:
            raise TypeError(explain(
                f"tanx.lax.{self.function}", "operands must have equal shapes, or be scalars.",
                f"operand 0: {x}", f"operand 1: {y}",
                hint="tanx.numpy's functions broadcast as NumPy does."))
        for t in (x, y):
            if t.shape == shape and t.weak_type == weak:
                return t
        return ShapedArray(shape, x.dtype, weak)

    def refused(self, x: ShapedArray) -> TypeError:
        """The error for operands of a dtype that is not accepted."""
        return refused(self.function, x, self.accepts)

    def mixed(self, x: ShapedArray, y: ShapedArray) -> TypeError:
        """The error for operands of different dtypes."""
        return TypeError(explain(
            f"tanx.lax.{self.function}", "operands must have the same dtype.",
            f"operand 0: {x}", f"operand 1: {y}",
            hint="tanx.numpy's functions promote; or use x.astype(...)."))

    @property
    def function(self) -> str:
        """The name of the function of ``tanx.lax``, for messages."""
        return self.name

    def batch(self, args, dims, **params):
        types = [typeof(x) for x in args]
        if len({(t.shape, d) for t, d in zip(types, dims)}) == 1:
            return self.bind(*args, **params), dims[0]
        rank = max(t.ndim - (d is not None) for t, d in zip(types, dims))
        aligned = []
        for x, d in zip(args, dims):
            x = to_front(x, d)
            shape = typeof(x).shape
            if d is None and shape:
                x = broadcast_in_dim(x, (1, *shape), range(1, len(shape) + 1))
            elif d is not None and len(shape) <= rank and rank:
                x = broadcast_in_dim(x, shape + (1,) * (rank + 1 - len(shape)), range(len(shape)))
            aligned.append(x)
        return self.bind(*aligned, **params), 0

    def elements(self, at, *operands) -> list:
        """The elements of the operands for the element of the result at an index."""
        return [x[[0 if n == 1 else i for n, i in zip(x.shape, at)]] for x in operands]

    def lower(self, at, *operands, **params):
        return build.op(self.instruction or self.name, *self.elements(at, *operands))


class OwnLoops:
    """Elementary functions that tanx computes itself, so that the bits are those of compiled code.

    ``find(instruction, dtype, operands)`` returns the ufunc, or None if there is no native code: a
    hook, which ``tanx/__init__`` sets.
    """

    find: Callable[[str, np.dtype, int], np.ufunc | None] = staticmethod(lambda *_: None)


def by_own_loop(name: str, *operands: np.ndarray) -> np.ndarray | None:
    """The result of a function of real numbers by tanx's own loop; None if there is none."""
    dtype = operands[0].dtype
    if letter(dtype) != "f":
        return None
    if dtype.itemsize >= 4:
        loop = OwnLoops.find(name, dtype, len(operands))
        return None if loop is None else loop(*operands)
    loop = OwnLoops.find(name, FLOAT32, len(operands))
    return None if loop is None else np.asarray(
        loop(*(x.astype(FLOAT32) for x in operands))).astype(dtype)


def own_or(ufunc: np.ufunc) -> Callable:
    """An ``eval`` rule: by tanx's own loop, or else NumPy's."""

    def eval(self, *operands):
        out = by_own_loop(self.name, *operands)
        return ufunc(*operands) if out is None else out
    eval.ufunc = ufunc  # type: ignore[attr-defined]
    return eval


class Accurate(Elementwise):
    """A function of one operand that takes JAX's parameter ``accuracy``; ``ufunc`` computes it.

    There is one implementation, which meets every accuracy: tanx's own loop, if there is one.
    """

    own_loop = True

    accepts = INEXACT
    ufunc: Callable

    @property
    def ufunc_alone(self) -> np.ufunc | None:
        return self.ufunc if isinstance(self.ufunc, np.ufunc) else None

    def eval(self, x, *, accuracy=None):
        out = by_own_loop(self.name, x) if self.own_loop else None
        return self.ufunc(x) if out is None else out

    def show_params(self, params):
        return {name: value for name, value in params.items() if value is not None}


def keeping_dtype(ufunc):
    """An ``eval`` rule from a ufunc; NumPy widens its result for int4 and other narrow dtypes."""

    def eval(self, *operands):
        out, dtype = ufunc(*operands), operands[0].dtype
        return out if out.dtype == dtype else out.astype(dtype)
    # A wrapper of a ufunc has it as an attribute.
    eval.ufunc = getattr(ufunc, "ufunc", ufunc)  # type: ignore[attr-defined]
    return eval


def grow(tangent, out):
    """A tangent broadcast to the shape of the result it belongs to."""
    shape, given = typeof(out).shape, typeof(tangent).shape
    if given == shape:
        return tangent
    kept = [i for i, (n, m) in enumerate(zip(given, shape)) if n == m]
    return broadcast_in_dim(reshape(tangent, [given[i] for i in kept]), shape, kept)


def unbroadcast(ct, operand: Linear):
    """Sum a cotangent over the dimensions along which the operand was repeated."""
    shape, target = typeof(ct).shape, operand.shape
    if shape == target:
        return ct
    if not target:
        return reduce_sum(ct, range(len(shape)))
    axes = [i for i, (n, m) in enumerate(zip(shape, target)) if n != m]
    return reshape(reduce_sum(ct, axes), target)
