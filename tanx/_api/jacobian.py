"""Jacobians and Hessians: derivatives along every direction at once, by ``vmap``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import dtypes
from .._base.traceback import boundary
from .._core.explicit import Explicit
from .._core.naming import name_of, wraps
from .._core.types import is_arraylike, typeof
from .._ops.annotations import reshard_to
from .._ops.base import reshape
from .._ops.compare import eq
from .._ops.convert import convert
from .._ops.create import broadcasted_iota
from .._ops.derive import zeros_of
from .._ops.slicing import index_in_dim, split
from .._transforms.vmap import Axis, batch, to_axis
from ..errors import explain
from ..tree_util import tree_flatten, tree_map, tree_structure, tree_transpose, tree_unflatten
from .arguments import as_tuple, check_callable, is_single
from .autodiff import chosen_arguments, jvp, vjp
from .batching import vmap

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]


def jacfwd(fun: Callable, argnums=0, has_aux: bool = False, holomorphic: bool = False) -> Callable:
    """The Jacobian by forward mode, column by column: best for more outputs than inputs.

    For each output leaf of shape ``s`` and input leaf of shape ``t``, an array of shape ``s + t``.
    Arguments as those of :func:`tanx.grad`.

    >>> jacfwd(lambda x: x ** 2)(jnp.array([1.0, 3.0]))
    Array([[2., 0.],
           [0., 6.]], dtype=float32)
    """
    check_callable("tanx.jacfwd", fun)
    single, positions = is_single(argnums), as_tuple("tanx.jacfwd", "argnums", argnums, int)

    @boundary
    @wraps(fun)
    def jacobian_at(*args, **kwargs):
        partially, dynamic = _in_argnums("tanx.jacfwd", fun, positions, args, kwargs)
        _check("tanx.jacfwd", fun, dynamic, holomorphic, inputs=True)
        y, columns, aux = _push_basis(partially, dynamic, has_aux)
        if holomorphic:
            _check("tanx.jacfwd", fun, y, holomorphic, inputs=False)
        example = dynamic[0] if single else dynamic
        jacobian = tree_map(lambda column, y: _unravel(example, _valued(column, y), -1), columns, y)
        return (jacobian, *aux) if has_aux else jacobian
    return jacobian_at


def _push_basis(fun: Callable, primals: tuple, has_aux: bool):
    """The result at ``primals``, its tangents along all directions in a last axis, and the aux."""
    basis, in_tree = tree_flatten(_basis(primals))
    size = sum(typeof(x).size for x in tree_flatten(primals)[0])
    found: dict = {}

    def push(*leaves):
        y, tangent, *aux = jvp(fun, primals, tree_unflatten(in_tree, leaves), has_aux=has_aux)
        columns, found["tree"] = tree_flatten(tangent)
        found["rest"], found["rest_tree"] = tree_flatten((y, aux))
        return [*columns, *filter(is_arraylike, found["rest"])]

    outs, dims = batch(push, Axis(None, size), basis, [0] * len(basis))
    count = found["tree"].num_leaves
    columns = [to_axis(x, d, size, -1) for x, d in zip(outs[:count], dims)]
    # The other results are the same for each direction.
    rest = iter([x if d is None else index_in_dim(x, 0, d, keepdims=False)
                 for x, d in zip(outs[count:], dims[count:])])
    y, aux = tree_unflatten(found["rest_tree"], [
        next(rest) if is_arraylike(x) else x for x in found["rest"]])
    return y, tree_unflatten(found["tree"], columns), aux


def _for_types_of(y, pull: Callable) -> Callable:
    """A pullback on cotangents that state no sharding."""
    return pull if not Explicit.seen else lambda ct: pull(
        tree_map(lambda c, leaf: reshard_to(c, typeof(leaf)), ct, y))


def jacrev(fun: Callable, argnums=0, has_aux: bool = False, holomorphic: bool = False,
           allow_int: bool = False) -> Callable:
    """The Jacobian by reverse mode, row by row: best for more inputs than outputs.

    For each output leaf of shape ``s`` and input leaf of shape ``t``, an array of shape ``s + t``.
    Arguments as those of :func:`tanx.grad`.

    >>> jacrev(lambda x: x ** 2)(jnp.array([1.0, 3.0]))
    Array([[2., 0.],
           [0., 6.]], dtype=float32)
    """
    check_callable("tanx.jacrev", fun)
    single, positions = is_single(argnums), as_tuple("tanx.jacrev", "argnums", argnums, int)

    @boundary
    @wraps(fun)
    def jacobian_at(*args, **kwargs):
        partially, dynamic = _in_argnums("tanx.jacrev", fun, positions, args, kwargs)
        if not allow_int:
            _check("tanx.jacrev", fun, dynamic, holomorphic, inputs=True)
        if has_aux:
            y, pull, aux = vjp(partially, *dynamic, has_aux=True)
        else:
            y, pull = vjp(partially, *dynamic)
        _check("tanx.jacrev", fun, y, holomorphic, inputs=False)
        rows = vmap(_for_types_of(y, pull))(_basis((y,))[0])
        rows = tree_map(_valued, rows, dynamic)
        rows = rows[0] if single else rows
        example = dynamic[0] if single else dynamic
        jacobian = tree_transpose(tree_structure(example), tree_structure(y),
                                  tree_map(lambda row: _unravel(y, row, 0), rows))
        return (jacobian, aux) if has_aux else jacobian
    return jacobian_at


def jacobian(fun: Callable, argnums=0, has_aux: bool = False, holomorphic: bool = False,
             allow_int: bool = False) -> Callable:
    """The Jacobian by reverse mode; another name for :func:`jacrev`.

    >>> tanx.jacobian(lambda x: x ** 2)(jnp.array([1.0, 3.0]))
    Array([[2., 0.],
           [0., 6.]], dtype=float32)
    """
    return jacrev(fun, argnums, has_aux, holomorphic, allow_int)


def hessian(fun: Callable, argnums=0, has_aux: bool = False, holomorphic: bool = False) -> Callable:
    """The matrix of second derivatives: forward mode over reverse mode.

    >>> hessian(lambda x: (x ** 3).sum())(jnp.array([1.0, 2.0]))
    Array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    return jacfwd(jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic), argnums,
                  has_aux=has_aux, holomorphic=holomorphic)


def _in_argnums(function: str, fun, positions, args, kwargs):
    """``fun`` as a function of the chosen arguments only, and those arguments."""
    chosen = chosen_arguments(function, fun, positions, args)

    @wraps(fun)
    def partially(*dynamic):
        whole = list(args)
        for i, x in zip(chosen, dynamic):
            whole[i] = x
        return fun(*whole, **kwargs)
    return partially, tuple(args[i] for i in chosen)


def _check(function: str, fun, tree, holomorphic: bool, *, inputs: bool) -> None:
    """Check that inputs or outputs are real, or complex if ``holomorphic``."""
    what = "inputs" if inputs else "outputs"
    for leaf in tree_flatten(tree)[0]:
        if not is_arraylike(leaf):
            raise TypeError(explain(function, f"{what} of {name_of(fun)} must be arrays.",
                                    f"found: {leaf!r:.100} of type {type(leaf).__name__}"))
        aval = typeof(leaf)
        is_complex = dtypes.issubdtype(aval.dtype, np.complexfloating)
        if holomorphic and not is_complex:
            raise TypeError(explain(
                function, f"with holomorphic=True all {what} of {name_of(fun)} must be complex.",
                f"found: {aval}"))
        if not holomorphic and not dtypes.issubdtype(aval.dtype, np.floating):
            if function == "tanx.jacrev" and inputs and is_complex:
                continue
            raise TypeError(explain(
                function, f"{what} of {name_of(fun)} must be real numbers.", f"found: {aval}",
                hint="use holomorphic=True, tanx.jvp or tanx.vjp." if is_complex
                else "use x.astype(float)."))


def _basis(tree):
    """The standard basis of a pytree's space, as a pytree with a leading axis."""
    leaves, structure = tree_flatten(tree)
    avals = [typeof(x) for x in leaves]
    total = sum(a.size for a in avals)
    diagonal = eq(broadcasted_iota(np.int32, (total, total), 0),
                  broadcasted_iota(np.int32, (total, total), 1))
    parts = split(diagonal, [a.size for a in avals], 1)
    return tree_unflatten(structure, [
        convert(reshape(part, (total, *a.shape)), a.dtype, a.weak_type)
        for part, a in zip(parts, avals)])


def _valued(derivative, value):
    """The derivative with the weak type of the value.

    The derivative of an integer, or by one, is zeros of its dtype, not of float0.
    """
    aval, of = typeof(derivative), typeof(value)
    if aval.dtype != dtypes.float0:
        return convert(derivative, aval.dtype, of.weak_type)
    return zeros_of(of.update(shape=aval.shape))


def _unravel(tree, x, axis: int):
    """Split ``x`` along ``axis`` into a pytree like ``tree``, with shapes in its place."""
    leaves, structure = tree_flatten(tree)
    avals = [typeof(leaf) for leaf in leaves]
    axis %= typeof(x).ndim
    parts = split(x, [a.size for a in avals], axis)
    shape = typeof(x).shape
    return tree_unflatten(structure, [
        reshape(part, (*shape[:axis], *aval.shape, *shape[axis + 1:]))
        for part, aval in zip(parts, avals)])
