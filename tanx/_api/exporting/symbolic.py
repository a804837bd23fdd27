"""Symbolic shapes: sizes of arguments that are known only when an exported function is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._base.symbolic import Scope, bounds, is_symbolic, parse_dim
from ..._base.traceback import boundary
from ..._core.source import user_source
from ..._core.types import ShapeDtypeStruct, described, is_arraylike, typeof
from ...errors import explain
from ...tree_util import broadcast_prefix, tree_flatten, tree_unflatten

__all__ = ["SymbolicScope", "is_symbolic_dim", "symbolic_args_specs", "symbolic_dim_bounds",
           "symbolic_shape"]


class SymbolicScope(Scope):
    """The constraints on variables of symbolic sizes; sizes of different scopes cannot be combined.

    >>> scope = SymbolicScope(["a >= 4"])
    >>> (a,) = symbolic_shape("a", scope=scope)
    >>> a >= 4
    True
    """

    def __init__(self, constraints_str: Sequence[str] = ()):
        super().__init__(constraints_str)
        self.made = user_source()


def symbolic_shape(shape_spec: str | None, *, constraints: Sequence[str] = (),
                   scope: Scope | None = None,
                   like: Sequence[int | None] | None = None) -> tuple[Any, ...]:
    """The shape that a text such as ``"a, 2*b + 1, 3"`` describes, with symbolic sizes.

    Names are variables, 1 or more. Sizes are sums and products of them and of numbers, with ``^``
    for powers, ``floordiv(a, 2)``, ``mod(a, 2)``, ``max(a, b)`` and ``min(a, b)``. ``_`` is the
    size of the shape ``like`` in this place, and ``...`` at the end means all its remaining sizes.
    ``constraints`` are texts with ``==``, ``>=`` or ``<=`` on the variables; a ``scope`` shares
    variables between shapes.

    >>> symbolic_shape("batch, ...", like=(8, 28, 28))
    (batch, 28, 28)
    >>> symbolic_shape("a, b, c", constraints=["a >= 4", "c == 2*b"])
    (a, b, 2*b)
    """
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise ValueError(explain("tanx.export.symbolic_shape",
                                 "takes a scope or constraints, not both.",
                                 hint="constraints belong to the scope: SymbolicScope([...])."))
    if shape_spec is None:
        shape_spec = "..."
    if not isinstance(shape_spec, str):
        raise ValueError(explain("tanx.export.symbolic_shape", "needs a string.",
                                 f"shape_spec: {shape_spec!r}"))
    text = shape_spec.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    parts = _split(text.removesuffix(",")) if text else []
    sizes: list[Any] = []
    for i, part in enumerate(parts):
        if part == "..." and i == len(parts) - 1:
            sizes += _known(shape_spec, like, slice(i, None))
            break
        if part == "_":
            sizes += _known(shape_spec, like, slice(i, i + 1))
            continue
        sizes.append(_size(shape_spec, part, scope))
        if type(sizes[i]) is int and like is not None and i < len(like) and (
                like[i] not in (None, sizes[i])):
            raise _wrong(shape_spec, f"size {i} differs from that of like.", f"like: {like}")
    return tuple(sizes)


def _split(text: str) -> list[str]:
    """The parts between commas that are outside of parentheses."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]


def _known(spec: str, like: Sequence[int | None] | None, where: slice) -> list[Any]:
    if like is None:
        raise _wrong(spec, "_ and ... stand for sizes of like, which was not given.")
    found = list(like[where])
    if None in found or (where.stop is not None and not found):
        raise _wrong(spec, "a requested size of like is not known.", f"like: {like}")
    return found


def _size(spec: str, part: str, scope: Scope) -> Any:
    try:
        return parse_dim(part, scope)
    except ValueError as error:
        raise _wrong(spec, f"syntax error: {error}.") from None


def _wrong(spec: str, rule: str, *facts: str) -> ValueError:
    return ValueError(explain("tanx.export.symbolic_shape", rule, f"shape_spec: {spec!r}", *facts))


@boundary
def symbolic_args_specs(args, shapes_specs, constraints: Sequence[str] = (),
                        scope: Scope | None = None):
    """Types for :func:`export` with symbolic shapes, from arguments and texts for their shapes.

    ``shapes_specs`` is a pytree like ``args`` or a prefix of it; None keeps shapes. All variables
    are in one scope.

    >>> symbolic_args_specs((np.ones((3, 4), np.float32), np.ones(3)), ("a, ...", "a"))
    (ShapeDtypeStruct(shape=(a, 4), dtype=float32), ShapeDtypeStruct(shape=(a,), dtype=float64))
    """
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise ValueError(explain("tanx.export.symbolic_args_specs",
                                 "takes a scope or constraints, not both."))
    leaves, tree = tree_flatten(args)
    specs = broadcast_prefix(shapes_specs, args, is_leaf=lambda x: x is None)
    return tree_unflatten(tree, [
        _spec(x, symbolic_shape(spec, scope=scope, like=np.shape(x)))
        for x, spec in zip(leaves, specs)])


def _spec(x, shape: tuple) -> ShapeDtypeStruct:
    aval = typeof(x) if is_arraylike(x) else described(x)
    dtype = x.dtype if isinstance(x, np.ndarray | np.generic) else aval.dtype
    return ShapeDtypeStruct(shape, dtype, weak_type=aval.weak_type)


def is_symbolic_dim(p) -> bool:
    """Whether a size is symbolic.

    >>> is_symbolic_dim(symbolic_shape("a")[0]), is_symbolic_dim(3)
    (True, False)
    """
    return is_symbolic(p)


def symbolic_dim_bounds(dimension) -> tuple[float, float]:
    """The known bounds of a size; infinite if there are none.

    >>> a, b = symbolic_shape("a, b", constraints=["b <= 10"])
    >>> symbolic_dim_bounds(a), symbolic_dim_bounds(2 * b), symbolic_dim_bounds(3)
    ((1, inf), (2, 20), (3, 3))
    """
    return bounds(dimension)
