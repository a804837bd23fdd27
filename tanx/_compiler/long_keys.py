"""Programs of keys that are too long to be numbers: with arrays of words in the place of keys.

A key of more than four words has no dtype that compiled code computes with. An array of such keys
becomes one of uint32 with the words as its last dimension, which lie in memory in the same way.
What moves keys then moves words: it is the batching rule of a primitive, over that dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.jaxpr import (
    Atom,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    cached_by_jaxpr,
    subjaxprs,
)
from .._core.stage import stage
from .._core.types import ShapedArray, typeof
from .._ops.base import broadcast_in_dim, move_axis, reshape
from .._ops.compare import eq, ne
from .._ops.reduce import reduce_and, reduce_or
from .._ops.slicing import index_in_dim
from ..dtypes import KeyType

__all__ = ["has_long_keys", "is_long", "on_words", "words_type"]

_WORD = np.dtype(np.uint32)


def is_long(aval: Any) -> bool:
    """Whether a type is that of keys that are stored as bytes."""
    return type(aval) is ShapedArray and isinstance(aval.dtype, KeyType) and (
        aval.dtype.stored.kind == "V")


def words_type(aval: Any) -> Any:
    """The type of the words of long keys; any other type as it is."""
    return ShapedArray((*aval.shape, _count(aval)), _WORD) if is_long(aval) else aval


def _count(aval: Any) -> int:
    return aval.dtype.itemsize // _WORD.itemsize


@cached_by_jaxpr
def has_long_keys(closed: ClosedJaxpr) -> bool:
    """Whether any value of a program is of long keys."""
    return _has_long_keys(closed.jaxpr)


def _has_long_keys(jaxpr: Jaxpr) -> bool:
    atoms = (*jaxpr.constvars, *jaxpr.invars, *(v for e in jaxpr.eqns for v in e.outvars))
    return any(is_long(a.aval) for a in atoms) or any(map(_has_long_keys, subjaxprs(jaxpr)))


@cached_by_jaxpr
def on_words(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program with words in the place of long keys, among its arguments and results too."""
    jaxpr, consts = stage(lambda *args: _run(closed.jaxpr, closed.consts, args),
                          [words_type(aval) for aval in closed.in_avals])
    return ClosedJaxpr(jaxpr, consts)


def _run(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list:
    """The results of a program, its keys taken apart."""
    values: dict[Var, Any] = dict(zip(jaxpr.invars, args, strict=True))
    values.update((v, _words(c, v.aval)) for v, c in zip(jaxpr.constvars, consts, strict=True))

    def read(atom: Atom) -> Any:
        return _words(atom.val, atom.aval) if isinstance(atom, Literal) else values[atom]

    for eqn in jaxpr.eqns:
        values.update(zip(eqn.outvars, _apply(eqn, [*map(read, eqn.invars)]), strict=True))
    return [*map(read, jaxpr.outvars)]


def _words(value: Any, aval: Any) -> Any:
    """A constant, as words if it is one of long keys."""
    if not is_long(aval) or typeof(value).dtype == _WORD:
        return value
    data = np.asarray(getattr(value, "_value", value), order="C")
    return data.reshape(*aval.shape, 1).view(_WORD)


def _apply(eqn: JaxprEqn, args: list) -> list:
    primitive, types = eqn.primitive, [a.aval for a in eqn.invars]
    outs = [v.aval for v in eqn.outvars]
    rule = _RULES.get(primitive.name)
    if rule is not None and any(map(is_long, (*types, *outs))):
        return [rule(outs[0], *args)]
    body = primitive.body(types, eqn.params)
    if body is not None:
        return _run(body.jaxpr, body.consts, args)
    params = {name: _in_params(value) for name, value in eqn.params.items()}
    dims = [aval.ndim if is_long(aval) else None for aval in types]
    if primitive.flow(eqn.params) is not None or all(d is None for d in dims):
        results = primitive.bind(*args, **params)
        return list(results) if primitive.multiple_results else [results]
    results, at = primitive.batch(args, dims, **params)
    if not primitive.multiple_results:
        return [_last(results, at, outs[0])]
    return [_last(y, d, aval) for y, d, aval in zip(results, at, outs, strict=True)]


def _in_params(value: Any) -> Any:
    """A parameter, with words in the place of keys in the programs that it holds."""
    if isinstance(value, ClosedJaxpr):
        return on_words(value) if has_long_keys(value) else value
    return type(value)(map(_in_params, value)) if type(value) in (tuple, list) else value


def _last(x: Any, dim: int | None, aval: Any) -> Any:
    """A batched result with the words as its last dimension; of other results, one of all alike."""
    if dim is None:
        return x
    if is_long(aval):
        return x if dim == aval.ndim else move_axis(x, dim, aval.ndim)
    return index_in_dim(x, 0, dim, keepdims=False)


def _compared(compare, joint):
    def rule(aval, x, y):
        words = aval.ndim
        x, y = (a if typeof(a).ndim > words else broadcast_in_dim(
            a, (*(1,) * (words + 1 - typeof(a).ndim), *typeof(a).shape),
            range(words + 1 - typeof(a).ndim, words + 1)) for a in (x, y))
        return joint(compare(x, y), (words,))
    return rule


_RULES = {
    "random_wrap": lambda aval, x: reshape(x, (*aval.shape, _count(aval))),
    "random_unwrap": lambda aval, x: reshape(x, aval.shape),
    "random_clone": lambda aval, x: x,
    "key_eq": _compared(eq, reduce_and),
    "key_ne": _compared(ne, reduce_or),
}
