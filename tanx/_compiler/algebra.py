"""Rewrites of single equations: the rules behind :func:`tanx._compiler.simplify.simplify`.

A rule takes the sweep, which knows scalars and the producers of operands, and an equation. It
returns an atom that already has the value, a simpler equation for the same variable, or None; it
may apply primitives on the way. The sweep rejects an atom of another shape, so that rules need not
handle broadcasting.

Floating-point results keep IEEE semantics, including signed zeros, infinities and NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np

from .. import dtypes
from .._core.jaxpr import Atom, JaxprEqn, Literal
from .._core.types import ShapedArray
from .._loops.instructions import value_range
from .._ops.arith import add_p, mul_p, neg_p, sub_p
from .._ops.base import broadcast_in_dim_p, reduce_sum_p, reshape_p
from .._ops.dynamic import dynamic_slice_p, dynamic_update_slice_p
from .._ops.operands import letter
from .._ops.slicing import slice_p

__all__ = ["RULES"]

Answer = Atom | JaxprEqn | None


class Known(Protocol):
    """What rules can ask about their operands."""

    def producer(self, atom: Atom, name: str | None = None) -> JaxprEqn | None: ...
    def scalar(self, atom: Atom) -> np.ndarray | None: ...
    def apply(self, source: JaxprEqn, primitive, *operands: Atom, **params) -> Atom: ...


RULES: dict[str, Callable[[Any, JaxprEqn], Answer]] = {}
"""The rule for equations of a primitive, by its name."""


def _rule(*names: str):
    def register(rule):
        for name in names:
            RULES[name] = rule
        return rule
    return register


# -- arithmetic ------------------------------------------------------------------------------------


_NEVER_MINUS_ZERO = frozenset(("exp", "exp2", "abs", "square", "logistic", "cosh", "iota"))
"""Primitives whose results are never -0.0."""


def _is(value: np.ndarray | None, number) -> bool:
    """Whether a known scalar equals a number; the sign of a zero counts."""
    if value is None:
        return False
    number = np.asarray(number, value.dtype)
    return bool(value == number) and (
        letter(value.dtype) != "f" or bool(np.signbit(value) == np.signbit(number)))


def _kind(atom: Atom) -> str:
    return letter(atom.aval.dtype)


@_rule("add", "add_any")
def _add(known: Known, eqn: JaxprEqn) -> Answer:
    for x, y in (eqn.invars, eqn.invars[::-1]):
        zero = known.scalar(y)
        if _kind(x) in "iu" and _is(zero, 0) or _kind(x) == "f" and (
                _is(zero, -0.0) or _is(zero, 0.0) and _never_minus_zero(known, x)):
            return x
        negative = known.producer(y, "neg")
        if negative is not None and _kind(x) in "iuf":
            return eqn.replace(primitive=sub_p, invars=[x, negative.invars[0]])
    if eqn.primitive is not add_p and _kind(eqn.invars[0]) in "iufc":
        return _added_in_place(known, eqn) or eqn.replace(primitive=add_p)
    return None


def _added_in_place(known: Known, eqn: JaxprEqn) -> JaxprEqn | None:
    """Add a mostly zero cotangent to another one by updating a few elements.

    Reading elements of an array creates such cotangents. In the backward pass of a loop that does
    so, a step then need not touch the whole array. (The sign of a zero may change, which is why
    this is for cotangents only.)
    """
    for total, part in (eqn.invars, eqn.invars[::-1]):
        update = known.producer(part)
        if update is None or not update.primitive.name.startswith(("dynamic_upd", "scatter-add")):
            continue
        zeros, *rest = update.invars
        if total.aval.shape != part.aval.shape or not _is(known.scalar(zeros), 0):
            continue
        if update.primitive is dynamic_update_slice_p:
            few, *starts = rest
            there = known.apply(eqn, dynamic_slice_p, total, *starts, slice_sizes=few.aval.shape)
            rest = [known.apply(eqn, add_p, there, few), *starts]
        return eqn.replace(primitive=update.primitive, invars=[total, *rest], params=update.params)
    return None


def _never_minus_zero(known: Known, x: Atom) -> bool:
    behind = known.producer(x)
    if behind is None:
        return False
    if behind.primitive.name == "convert_element_type":
        return _kind(behind.invars[0]) in "biu"
    return behind.primitive.name in _NEVER_MINUS_ZERO


@_rule("sub")
def _sub(known: Known, eqn: JaxprEqn) -> Answer:
    x, y = eqn.invars
    zero, negative = known.scalar(y), known.producer(y, "neg")
    if _kind(x) in "iuf" and _is(zero, 0):
        return x
    if negative is not None and _kind(x) in "iuf":
        return eqn.replace(primitive=add_p, invars=[x, negative.invars[0]])
    return None


@_rule("mul")
def _mul(known: Known, eqn: JaxprEqn) -> Answer:
    if eqn.params.get("out_dtype") is not None:
        return None
    for x, y in (eqn.invars, eqn.invars[::-1]):
        factor = known.scalar(y)
        if _kind(x) in "iuf" and _is(factor, 1):
            return x
        if _kind(x) in "if" and _is(factor, -1) and x.aval.shape == eqn.outvars[0].aval.shape:
            return eqn.replace(primitive=neg_p, invars=[x], params={})
    a, b = (known.producer(x, "neg") for x in eqn.invars)
    if a is not None and b is not None and _kind(eqn.invars[0]) in "iuf":
        return eqn.replace(invars=[a.invars[0], b.invars[0]])
    return None


@_rule("div")
def _div(known: Known, eqn: JaxprEqn) -> Answer:
    x, y = eqn.invars
    divisor = known.scalar(y)
    if divisor is None or _kind(x) not in "iuf" or x.aval.shape != eqn.outvars[0].aval.shape:
        return None
    if _is(divisor, 1):
        return x
    inverse = _exact_inverse(divisor) if _kind(x) == "f" else None
    if inverse is None:
        return None
    return eqn.replace(primitive=mul_p, invars=[x, Literal(inverse, ShapedArray(
        (), inverse.dtype, y.aval.weak_type))])


def _exact_inverse(divisor: np.ndarray) -> np.ndarray | None:
    """The inverse of a power of two, if both are normal numbers."""
    info = dtypes.finfo(divisor.dtype)
    size = float(np.abs(divisor))
    if not 0 < size < np.inf or np.frexp(size)[0] != 0.5:
        return None
    with np.errstate(all="ignore"):
        inverse = np.asarray(1 / float(divisor)).astype(divisor.dtype)
    normal = float(info.tiny) <= min(size, 1 / size) and np.isfinite(inverse)
    return inverse if normal else None


@_rule("neg", "not", "conj")
def _twice(known: Known, eqn: JaxprEqn) -> Answer:
    if eqn.primitive.name == "conj" and _kind(eqn.invars[0]) != "c":
        return None
    again = known.producer(eqn.invars[0], eqn.primitive.name)
    return None if again is None else again.invars[0]


@_rule("max", "min")
def _extreme(known: Known, eqn: JaxprEqn) -> Answer:
    if _kind(eqn.invars[0]) not in "iuf":
        return None
    greatest = eqn.primitive.name == "max"
    for x, y in (eqn.invars, eqn.invars[::-1]):
        limit, dtype = known.scalar(y), x.aval.dtype
        if limit is None:
            continue
        if _kind(x) == "f" and np.isinf(limit) and np.signbit(limit) == greatest:
            return x
        if _kind(x) in "iu" and int(limit) == value_range(dtype)[0 if greatest else 1]:
            return x
    return None


@_rule("and", "or")
def _logic(known: Known, eqn: JaxprEqn) -> Answer:
    conjunction = eqn.primitive.name == "and"
    for x, y in (eqn.invars, eqn.invars[::-1]):
        value = known.scalar(y)
        if x is y or value is not None and _kind(x) == "b" and bool(value) == conjunction:
            return x
        if value is not None and _kind(x) == "b":
            return y
    return None


@_rule("select_n")
def _select(known: Known, eqn: JaxprEqn) -> Answer:
    which, *cases = eqn.invars
    chosen = known.scalar(which)
    if chosen is not None and 0 <= int(chosen) < len(cases):
        return cases[int(chosen)]
    if _kind(which) == _kind(cases[0]) == "b" and len(cases) == 2:
        no, yes = map(known.scalar, cases)
        if no is not None and yes is not None and not no and yes:
            return which
    return cases[0] if all(case is cases[0] for case in cases) else None


@_rule("dot_general")
def _dot_general(known: Known, eqn: JaxprEqn) -> Answer:
    """Turn a product with a constant array into a sum, broadcast along the other dimensions.

    The constant is factored out of the sum, so it must be a power of two.
    """
    (contracted, batch), out = eqn.params["dimension_numbers"], eqn.outvars[0].aval
    for side in (0, 1):
        factor, other = known.scalar(eqn.invars[side]), eqn.invars[1 - side]
        if factor is None or letter(factor.dtype) != "f" or other.aval.dtype != out.dtype or (
                factor.dtype != out.dtype or _exact_inverse(factor) is None):
            continue
        total = known.apply(eqn, reduce_sum_p, other, axes=tuple(contracted[1 - side]),
                            out_sharding=None)
        scaled = known.apply(eqn, mul_p, total, Literal(factor, ShapedArray((), factor.dtype)))
        shift = len(out.shape) - total.aval.ndim
        kept = [d for d in range(other.aval.ndim) if d not in contracted[1 - side]]
        others = [d for d in kept if d not in batch[1 - side]]
        # Batch dimensions come first, then those of the left operand, then those of the right one.
        start = len(batch[0]) if side else len(batch[0]) + shift
        places = tuple(batch[1 - side].index(d) if d in batch[1 - side]
                       else start + others.index(d) for d in kept)
        return eqn.replace(primitive=broadcast_in_dim_p, invars=[scaled], params=dict(
            shape=out.shape, broadcast_dimensions=places, sharding=None))
    return None


# -- types -----------------------------------------------------------------------------------------


@_rule("copy", "stop_gradient", "name")
def _identity(known: Known, eqn: JaxprEqn) -> Answer:
    return eqn.invars[0]


@_rule("convert_element_type")
def _convert(known: Known, eqn: JaxprEqn) -> Answer:
    (x,), target = eqn.invars, eqn.params["new_dtype"]
    if x.aval.dtype == target:
        return x
    inner = known.producer(x, "convert_element_type")
    if inner is None:
        return None
    source = inner.invars[0].aval.dtype
    if not _holds(source, x.aval.dtype):
        return None
    # Integers wrap where floats saturate, so what passes through a float must fit in the end.
    if letter(source) in "iu" and letter(x.aval.dtype) in "fc" and letter(target) in "iu" and (
            not _holds(source, target)):
        return None
    return eqn.replace(invars=inner.invars)


def _holds(small: np.dtype, large: np.dtype) -> bool:
    """Whether one dtype represents all values of another exactly."""
    kinds = letter(small) + letter(large)
    if small == large or kinds[0] == "b" and kinds[1] in "iufc":
        return True
    if kinds[0] in "iu" and kinds[1] in "iu":
        (low, high), (least, greatest) = value_range(small), value_range(large)
        return least <= low and high <= greatest
    if kinds[0] in "iu" and kinds[1] in "fc":
        info = dtypes.finfo(large)
        bits = dtypes.itemsize_bits(small) - (kinds[0] == "i")
        return bits <= info.nmant + 1 and bits < info.maxexp
    if kinds[0] == "f" and kinds[1] in "fc" or kinds == "cc":
        a, b = dtypes.finfo(small), dtypes.finfo(large)
        special = np.isinf(np.asarray(np.inf).astype(small)) <= np.isinf(
            np.asarray(np.inf).astype(large))
        return bool(special and a.nmant <= b.nmant and a.maxexp <= b.maxexp
                    and a.minexp - a.nmant >= b.minexp - b.nmant)
    return False


# -- layouts ---------------------------------------------------------------------------------------


def _reshaped(eqn: JaxprEqn, x: Atom, shape: Sequence[int]) -> JaxprEqn:
    return eqn.replace(primitive=reshape_p, invars=[x], params=dict(
        new_sizes=tuple(shape), dimensions=None, sharding=None))


@_rule("reshape")
def _reshape(known: Known, eqn: JaxprEqn) -> Answer:
    (x,), params = eqn.invars, eqn.params
    if params["dimensions"] is not None:
        return None
    if x.aval.shape == params["new_sizes"]:
        return x
    inner = known.producer(x, "reshape")
    if inner is None or inner.params["dimensions"] is not None:
        return None
    return _reshaped(eqn, inner.invars[0], params["new_sizes"])


@_rule("squeeze")
def _squeeze(known: Known, eqn: JaxprEqn) -> Answer:
    return _reshaped(eqn, eqn.invars[0], eqn.outvars[0].aval.shape)


@_rule("transpose")
def _transpose(known: Known, eqn: JaxprEqn) -> Answer:
    (x,), order = eqn.invars, eqn.params["permutation"]
    if tuple(order) == tuple(range(len(order))):
        return x
    inner = known.producer(x, "transpose")
    if inner is None:
        return None
    before = inner.params["permutation"]
    return eqn.replace(invars=inner.invars, params=dict(permutation=tuple(before[d]
                                                                          for d in order)))


@_rule("broadcast_in_dim")
def _broadcast(known: Known, eqn: JaxprEqn) -> Answer:
    (x,), dims = eqn.invars, eqn.params["broadcast_dimensions"]
    if x.aval.shape == eqn.params["shape"] and tuple(dims) == tuple(range(len(dims))):
        return x
    placed = [d for d, n in zip(dims, x.aval.shape) if n != 1]
    if x.aval.shape and x.aval.size == prod(eqn.params["shape"]) and placed == sorted(placed):
        return _reshaped(eqn, x, eqn.params["shape"])
    inner = known.producer(x, "broadcast_in_dim")
    if inner is None:
        return None
    composed = tuple(dims[d] for d in inner.params["broadcast_dimensions"])
    return eqn.replace(invars=inner.invars, params=dict(eqn.params, broadcast_dimensions=composed))


@_rule("rev")
def _rev(known: Known, eqn: JaxprEqn) -> Answer:
    (x,), dims = eqn.invars, eqn.params["dimensions"]
    if all(x.aval.shape[d] == 1 for d in dims):
        return x
    inner = known.producer(x, "rev")
    if inner is None:
        return None
    left = tuple(sorted({*dims} ^ {*inner.params["dimensions"]}))
    return eqn.replace(invars=inner.invars, params=dict(dimensions=left))


@_rule("slice")
def _slice(known: Known, eqn: JaxprEqn) -> Answer:
    (x,), params = eqn.invars, eqn.params
    if x.aval.shape == eqn.outvars[0].aval.shape and not any(params["start_indices"]):
        return x
    inner = known.producer(x, "slice")
    if inner is None:
        return None
    (source,) = inner.invars
    steps, before = (p["strides"] or (1,) * x.aval.ndim for p in (params, inner.params))
    starts = tuple(min(s + i * step, size) for s, i, step, size in zip(
        inner.params["start_indices"], params["start_indices"], before, source.aval.shape))
    stops = tuple(min(s + (n - i) * step, size) for s, n, i, step, size in zip(
        starts, params["limit_indices"], params["start_indices"], before, source.aval.shape))
    strides = tuple(a * b for a, b in zip(steps, before))
    return eqn.replace(invars=[source], params=dict(
        start_indices=starts, limit_indices=stops,
        strides=None if all(s == 1 for s in strides) else strides))


@_rule("dynamic_slice")
def _dynamic_slice(known: Known, eqn: JaxprEqn) -> Answer:
    """Turn a dynamic slice whose start is known into a slice."""
    x, *starts = eqn.invars
    sizes = eqn.params["slice_sizes"]
    if sizes == x.aval.shape:
        return x
    places = [p for p in map(known.scalar, starts) if p is not None]
    if len(places) < len(starts):
        return None
    first = tuple(min(max(int(p), 0), n - size) for p, n, size in zip(places, x.aval.shape, sizes))
    return eqn.replace(primitive=slice_p, invars=[x], params=dict(
        start_indices=first, limit_indices=tuple(s + n for s, n in zip(first, sizes)),
        strides=None))


@_rule("pad")
def _pad(known: Known, eqn: JaxprEqn) -> Answer:
    return eqn.invars[0] if not any(map(any, eqn.params["padding_config"])) else None


@_rule("concatenate")
def _concatenate(known: Known, eqn: JaxprEqn) -> Answer:
    """Drop operands without elements."""
    axis = eqn.params["dimension"]
    whole = [x for x in eqn.invars if x.aval.shape[axis]]
    if len(whole) == 1:
        return whole[0]
    return eqn.replace(invars=whole) if 0 < len(whole) < len(eqn.invars) else None


@_rule("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or",
       "reduce_xor")
def _reduce(known: Known, eqn: JaxprEqn) -> Answer:
    """Drop dimensions of size 1, along which there is nothing to combine."""
    (x,), axes = eqn.invars, eqn.params["axes"]
    shape = x.aval.shape
    if all(shape[a] == 1 for a in axes):
        return _reshaped(eqn, x, eqn.outvars[0].aval.shape)
    if all(shape[a] != 1 for a in axes):
        return _sum_of_equals(known, eqn) if eqn.primitive is reduce_sum_p else None
    left = [d for d in range(len(shape)) if d not in axes or shape[d] != 1]
    whole = known.apply(eqn, reshape_p, x, new_sizes=tuple(shape[d] for d in left),
                        dimensions=None, sharding=None)
    return eqn.replace(invars=[whole], params=dict(
        eqn.params, axes=tuple(left.index(a) for a in axes if a in left)))


def _sum_of_equals(known: Known, eqn: JaxprEqn) -> JaxprEqn | None:
    """Turn the sum of equal elements, as of a constant, into one of them times their number.

    Narrow floats are added in float32, and such a sum may overflow their own multiplication. A sum
    of zeros is 0.0, whatever their signs.
    """
    (x,), axes, out = eqn.invars, eqn.params["axes"], eqn.outvars[0].aval
    repeated = known.producer(x, "broadcast_in_dim")
    if repeated is None or _kind(x) not in "iuf" or _kind(x) == "f" and out.dtype.itemsize < 4:
        return None
    source, places = repeated.invars[0], repeated.params["broadcast_dimensions"]
    kept = {d: n for d, n in zip(places, source.aval.shape) if d not in axes}
    if prod(kept.values()) != source.aval.size or not x.aval.size:
        return None
    source = known.apply(eqn, reshape_p, source, new_sizes=tuple(kept.values()), dimensions=None,
                         sharding=None)
    count = np.asarray(prod(x.aval.shape[a] for a in axes)).astype(out.dtype)
    total = known.apply(eqn, mul_p, source, Literal(count, ShapedArray((), out.dtype)))
    if _kind(x) == "f":
        zero = Literal(np.zeros((), out.dtype), ShapedArray((), out.dtype))
        total = known.apply(eqn, add_p, total, zero)
    left = [d for d in range(x.aval.ndim) if d not in axes]
    return eqn.replace(primitive=broadcast_in_dim_p, invars=[total], params=dict(
        shape=out.shape, broadcast_dimensions=tuple(map(left.index, kept)), sharding=None))
