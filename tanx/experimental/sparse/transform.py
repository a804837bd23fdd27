"""tanx.experimental.sparse.transform: apply functions of dense arrays to sparse ones.

The function is traced on the types that the arrays would have if they were dense. Then its
equations are run; those with sparse operands have rules here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ... import lax
from ... import numpy as jnp
from ..._api.staging import make_jaxpr
from ..._base.traceback import boundary, shown
from ..._base.window import publish
from ..._core.flow import Choice, ForLoop, WhileLoop
from ..._core.jaxpr import ClosedJaxpr, Literal
from ..._core.trace import Tracer
from ..._core.types import ShapeDtypeStruct
from ...errors import explain
from ...tree_util import tree_flatten, tree_unflatten
from ._base import JAXSparse
from ._bcoo import BCOO, bcoo_todense
from ._bcoo_layout import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_dynamic_slice,
    bcoo_gather,
    bcoo_reduce_sum,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
    bcoo_transpose,
    bcoo_update_layout,
)
from ._bcoo_product import (
    bcoo_conv_general_dilated,
    bcoo_dot_general,
    bcoo_multiply_dense,
    bcoo_multiply_sparse,
)
from .bcsr import BCSR

__all__ = ["SparseTracer", "sparsify"]


class SparseTracer(Tracer):
    """The type of traced sparse values; :func:`sparsify` does not make any."""

    __slots__ = ("spvalue",)

    def __init__(self, trace, *, spvalue):
        super().__init__(trace)
        self.spvalue = spvalue

    @property
    def spenv(self):
        """The buffers of all sparse values of a trace; here each value has its own."""
        return self.spvalue


def sparsify(f: Callable, use_tracer: bool = False) -> Callable:
    """Let a function of dense arrays take sparse ones.

    Operations that are linear, or map 0 to 0 element by element, return sparse arrays. Operations
    whose result would be dense for sparse operands raise NotImplementedError.

    Args:
      f: A function of pytrees of dense arrays.
      use_tracer: Has no effect; there is only one implementation.

    >>> from tanx.experimental.sparse import BCOO, sparsify
    >>> x = BCOO.fromdense(jnp.eye(2))
    >>> sparsify(lambda x, v: jnp.sin(2 * x) @ v)(x, jnp.array([1.0, 2.0])).round(3)
    Array([0.909, 1.819], dtype=float32)
    """
    @boundary
    @functools.wraps(f)
    def sparsified(*args, **kwargs):
        leaves, tree = tree_flatten((args, kwargs), is_leaf=_is_sparse)
        leaves = [x.to_bcoo() if isinstance(x, BCSR) else x for x in leaves]
        moving = [x for x in leaves if _is_value(x)]
        trees: list = []

        def flat(*values):
            given = iter(values)
            args, kwargs = tree_unflatten(tree, [
                next(given) if _is_value(x) else x for x in leaves])
            outs, out_tree = tree_flatten(f(*args, **kwargs))
            trees.append(out_tree)
            return outs
        closed = make_jaxpr(flat)(*(
            ShapeDtypeStruct(x.shape, x.dtype) if _is_sparse(x) else x for x in moving))
        return tree_unflatten(trees[0], _run(closed, moving))
    return sparsified


def _is_sparse(x) -> bool:
    return isinstance(x, JAXSparse)


def _is_value(x) -> bool:
    return _is_sparse(x) or hasattr(x, "dtype") or isinstance(x, int | float | complex)


def _run(closed: ClosedJaxpr, args) -> list:
    """Run the equations of a jaxpr on arrays, some of which are sparse."""
    jaxpr = closed.jaxpr
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, closed.consts))
    values |= dict(zip(jaxpr.invars, args))

    def read(atom):
        return jnp.asarray(atom.val) if type(atom) is Literal else values[atom]
    for eqn in jaxpr.eqns:
        operands = [read(x) for x in eqn.invars]
        if any(map(_is_sparse, operands)):
            outs = _apply(eqn, operands)
        else:
            found = eqn.primitive.bind(*operands, **eqn.params)
            outs = found if eqn.primitive.multiple_results else [found]
        values.update(zip(eqn.outvars, outs))
    return [read(v) for v in jaxpr.outvars]


def _apply(eqn, operands) -> list:
    name, params = eqn.primitive.name, eqn.params
    if name in _ZERO_TO_ZERO:
        (x,) = operands
        rounds = name == "convert_element_type" and not jnp.issubdtype(
            params["new_dtype"], jnp.inexact)
        if not x.unique_indices and (rounds or name not in _LINEAR):
            x = _unique(x)
        return [x.replaced(eqn.primitive.bind(x.data, **params))]
    if name in _RULES:
        return [_RULES[name](*operands, **params)]
    flow = eqn.primitive.flow(params)
    if flow is not None:
        return _FLOWS[type(flow)](flow, operands)
    body = eqn.primitive.called(params)
    if body is not None:
        return _run(body, operands)
    raise NotImplementedError(explain(
        f"tanx.experimental.sparse.sparsify: {name}",
        "there is no rule for sparse operands, or the result would be dense.",
        hint="tanx.experimental.sparse.todense(x) makes operands dense."))


# Functions of one operand that map 0 to 0; the linear ones need no sum of entries at equal indices.
_LINEAR = frozenset("neg real imag convert_element_type copy conj".split())
_ZERO_TO_ZERO = _LINEAR | frozenset("""abs asin asinh atan atanh cbrt ceil erf erf_inv expm1 floor
integer_pow log1p round sign sin sinh sqrt square tan tanh name stop_gradient""".split())


def _unique(x: BCOO) -> BCOO:
    """Add entries with equal indices: functions that are not linear need the sum."""
    return x.sum_duplicates(x.nse, remove_zeros=False)


def _add(x, y, **params):
    if not (_is_sparse(x) and _is_sparse(y)):
        x, y = (bcoo_todense(v) if _is_sparse(v) else v for v in (x, y))
        return jnp.add(x, y)
    if x.n_batch != y.n_batch or x.n_dense != y.n_dense:
        n_batch, n_dense = min(x.n_batch, y.n_batch), min(x.n_dense, y.n_dense)
        x, y = (bcoo_update_layout(v, n_batch=n_batch, n_dense=n_dense) for v in (x, y))
    lead = x.shape[:x.n_batch]
    dtype = jnp.promote_types(x.dtype, y.dtype)

    def joined(a, b, place: int):
        return jnp.concatenate([jnp.broadcast_to(v, lead + v.shape[place:]) for v in (a, b)], place)
    return BCOO((joined(x.data.astype(dtype), y.data.astype(dtype), x.n_batch),
                 joined(x.indices, y.indices, x.n_batch)), shape=x.shape)


def _sub(x, y, **params):
    return _add(x, y.replaced(-y.data) if _is_sparse(y) else -y)


def _mul(x, y, **params):
    if _is_sparse(x) and _is_sparse(y):
        return bcoo_multiply_sparse(x, y)
    return bcoo_multiply_dense(x, y) if _is_sparse(x) else bcoo_multiply_dense(y, x)


def _div(x, y, **params):
    if _is_sparse(y):
        raise NotImplementedError(explain(
            "tanx.experimental.sparse.sparsify: div", "a sparse divisor would divide by zeros."))
    return bcoo_multiply_dense(x, 1 / y)


def _reduce_sum(x, *, axes, **params):
    out = bcoo_reduce_sum(x, axes=axes)
    return bcoo_todense(out) if not out.shape else out


def _dot(x, y, *, dimension_numbers, preferred_element_type=None, **params):
    return bcoo_dot_general(x, y, dimension_numbers=dimension_numbers,
                            preferred_element_type=preferred_element_type)


def _dynamic_slice(x, *starts, slice_sizes, **params):
    return bcoo_dynamic_slice(x, starts, slice_sizes)


def _gather(x, starts, *, dimension_numbers, slice_sizes, **params):
    return bcoo_gather(x, starts, dimension_numbers, slice_sizes)


def _slice(x, *, start_indices, limit_indices, strides=None, **params):
    return bcoo_slice(x, start_indices=start_indices, limit_indices=limit_indices, strides=strides)


def _conv(x, w, **params):
    numbers = params.pop("dimension_numbers")
    if tuple(map(tuple, numbers)) != ((0, 1, 2),) * 3:
        raise NotImplementedError(explain(
            "tanx.experimental.sparse.sparsify: conv_general_dilated",
            "sparse convolutions take sequences (N, C, width)."))
    return bcoo_conv_general_dilated(x, w, **params)


_RULES: dict[str, Callable] = {
    "add": _add, "add_any": _add, "sub": _sub, "mul": _mul, "div": _div,
    "reduce_sum": _reduce_sum, "dot_general": _dot, "dynamic_slice": _dynamic_slice,
    "gather": _gather, "slice": _slice, "conv_general_dilated": _conv,
    "transpose": lambda x, *, permutation: bcoo_transpose(x, permutation=permutation),
    "reshape": lambda x, *, new_sizes, **_: bcoo_reshape(x, new_sizes=new_sizes),
    "squeeze": lambda x, *, dimensions: bcoo_squeeze(x, dimensions=dimensions),
    "rev": lambda x, *, dimensions: bcoo_rev(x, dimensions),
    "broadcast_in_dim": lambda x, *, shape, broadcast_dimensions, **_: bcoo_broadcast_in_dim(
        x, shape=shape, broadcast_dimensions=broadcast_dimensions),
    "concatenate": lambda *xs, dimension: bcoo_concatenate(
        [x if _is_sparse(x) else BCOO.fromdense(x) for x in xs], dimension=dimension),
}


# -- loops and branches ----------------------------------------------------------------------------


def _scan(flow: ForLoop, operands) -> list:
    consts, carry, rows = flow.split(operands)
    if any(map(_is_sparse, rows)):
        raise NotImplementedError(explain(
            "tanx.experimental.sparse.sparsify: scan",
            "scanning along a sparse array is not supported."))

    def step(carry, rows):
        outs = _run(flow.body, [*consts, *carry, *rows])
        return outs[:len(carry)], outs[len(carry):]
    last, ys = lax.scan(step, carry, rows, flow.length, flow.reverse)
    return [*last, *ys]


def _while(flow: WhileLoop, operands) -> list:
    asked, consts, carry = flow.split(operands)
    return lax.while_loop(lambda c: _run(flow.condition, [*asked, *c])[0],
                          lambda c: _run(flow.body, [*consts, *c]), carry)


def _cond(flow: Choice, operands) -> list:
    index, *rest = operands
    return lax.switch(index, [lambda *xs, b=branch: _run(b, xs) for branch in flow.branches], *rest)


_FLOWS: dict[type, Callable] = {ForLoop: _scan, WhileLoop: _while, Choice: _cond}

publish(__name__, shown)
