"""Jacobians and Hessians: derivatives along every direction at once, by ``vmap``."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from .. import dtypes
from .._control.custom import name_of
from .._core.array import Array
from .._core.types import typeof
from .._ops.layout import reshape
from .._ops.slicing import split
from ..errors import explain
from ..tree_util import tree_flatten, tree_map, tree_structure, tree_transpose, tree_unflatten
from .arguments import as_tuple, check_callable
from .autodiff import _chosen, jvp, vjp
from .batching import vmap

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]


def jacfwd(fun: Callable, argnums=0, has_aux: bool = False, holomorphic: bool = False) -> Callable:
    """The Jacobian by forward mode, a column at a time: best where outputs outnumber inputs.

    For each output leaf of shape ``s`` and input leaf of shape ``t``, an array of shape ``s + t``.
    Arguments as those of :func:`tanx.grad`.

    >>> jacfwd(lambda x: x ** 2)(jnp.array([1.0, 3.0]))
    Array([[2., 0.],
           [0., 6.]], dtype=float32)
    """
    check_callable("tanx.jacfwd", fun)
    single, positions = isinstance(argnums, int), as_tuple("tanx.jacfwd", "argnums", argnums, int)

    @functools.wraps(fun)
    def jacobian_at(*args, **kwargs):
        partially, dynamic = _in_argnums(fun, positions, args, kwargs)
        _check("tanx.jacfwd", fun, dynamic, holomorphic, inputs=True)

        def push(*tangents):
            return jvp(partially, dynamic, tangents, has_aux=has_aux)

        basis = _basis(dynamic)
        if has_aux:
            y, columns, aux = vmap(push, out_axes=(None, -1, None))(*basis)
        else:
            y, columns = vmap(push, out_axes=(None, -1))(*basis)
        _check("tanx.jacfwd", fun, y, holomorphic, inputs=False)
        example = dynamic[0] if single else dynamic
        jacobian = tree_map(lambda column: _unravel(example, column, -1), columns)
        return (jacobian, aux) if has_aux else jacobian
    return jacobian_at


def jacrev(fun: Callable, argnums=0, has_aux: bool = False, holomorphic: bool = False,
           allow_int: bool = False) -> Callable:
    """The Jacobian by reverse mode, a row at a time: best where inputs outnumber outputs.

    For each output leaf of shape ``s`` and input leaf of shape ``t``, an array of shape ``s + t``.
    Arguments as those of :func:`tanx.grad`.

    >>> jacrev(lambda x: x ** 2)(jnp.array([1.0, 3.0]))
    Array([[2., 0.],
           [0., 6.]], dtype=float32)
    """
    check_callable("tanx.jacrev", fun)
    single, positions = isinstance(argnums, int), as_tuple("tanx.jacrev", "argnums", argnums, int)

    @functools.wraps(fun)
    def jacobian_at(*args, **kwargs):
        partially, dynamic = _in_argnums(fun, positions, args, kwargs)
        if not allow_int:
            _check("tanx.jacrev", fun, dynamic, holomorphic, inputs=True)
        if has_aux:
            y, pull, aux = vjp(partially, *dynamic, has_aux=True)
        else:
            y, pull = vjp(partially, *dynamic)
        _check("tanx.jacrev", fun, y, holomorphic, inputs=False)
        rows = vmap(pull)(_basis((y,))[0])
        rows = rows[0] if single else rows
        example = dynamic[0] if single else dynamic
        jacobian = tree_transpose(tree_structure(example), tree_structure(y),
                                  tree_map(lambda row: _unravel(y, row, 0), rows))
        return (jacobian, aux) if has_aux else jacobian
    return jacobian_at


def jacobian(fun: Callable, argnums=0, has_aux: bool = False, holomorphic: bool = False,
             allow_int: bool = False) -> Callable:
    """The Jacobian by reverse mode; another name for :func:`jacrev`."""
    return jacrev(fun, argnums, has_aux, holomorphic, allow_int)


def hessian(fun: Callable, argnums=0, has_aux: bool = False, holomorphic: bool = False) -> Callable:
    """The matrix of second derivatives: forward mode over reverse mode.

    >>> hessian(lambda x: (x ** 3).sum())(jnp.array([1.0, 2.0]))
    Array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    return jacfwd(jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic), argnums,
                  has_aux=has_aux, holomorphic=holomorphic)


def _in_argnums(fun, positions, args, kwargs):
    """``fun`` as a function of the chosen arguments only, and those arguments."""
    chosen = _chosen(fun, positions, args)

    @functools.wraps(fun)
    def partially(*dynamic):
        whole = list(args)
        for i, x in zip(chosen, dynamic):
            whole[i] = x
        return fun(*whole, **kwargs)
    return partially, tuple(args[i] for i in chosen)


def _check(function: str, fun, tree, holomorphic: bool, *, inputs: bool) -> None:
    """Real numbers, or complex ones where ``holomorphic``; in and out."""
    what = "inputs" if inputs else "outputs"
    for leaf in tree_flatten(tree)[0]:
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
    parts, start = [], 0
    for aval in avals:
        part = np.zeros((total, aval.size), aval.dtype)
        part[range(start, start + aval.size), range(aval.size)] = 1
        parts.append(Array(part.reshape(total, *aval.shape)))
        start += aval.size
    return tree_unflatten(structure, parts)


def _unravel(tree, x, axis: int):
    """Split ``x`` along ``axis`` into a pytree like ``tree``, shapes expanded in its place."""
    leaves, structure = tree_flatten(tree)
    avals = [typeof(leaf) for leaf in leaves]
    axis %= typeof(x).ndim
    parts = split(x, [a.size for a in avals], axis)
    shape = typeof(x).shape
    return tree_unflatten(structure, [
        reshape(part, (*shape[:axis], *aval.shape, *shape[axis + 1:]))
        for part, aval in zip(parts, avals)])
