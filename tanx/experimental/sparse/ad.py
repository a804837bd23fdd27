"""tanx.experimental.sparse.ad: derivatives with respect to the entries of sparse arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..._api import autodiff
from ..._api import jacobian as jacobians
from ..._base.traceback import boundary, shown
from ..._base.window import publish
from ...tree_util import tree_flatten, tree_map, tree_unflatten
from ._base import JAXSparse
from ._bcoo import BCOO

__all__ = ["grad", "jacfwd", "jacobian", "jacrev", "value_and_grad"]


def _is_sparse(x) -> bool:
    return isinstance(x, JAXSparse)


def _stored(tree):
    """Replace the sparse arrays in a pytree by their stored entries."""
    return tree_map(lambda x: x.data if _is_sparse(x) else x, tree, is_leaf=_is_sparse)


def _restored(tree, stored):
    """The sparse arrays of ``tree`` with the entries in ``stored``."""
    like, structure = tree_flatten(tree, is_leaf=_is_sparse)
    return tree_unflatten(structure, [
        x.replaced(data) if _is_sparse(x) else data
        for x, data in zip(like, structure.flatten_up_to(stored))])


def _of_stored(fun: Callable, argnums, args, kwargs):
    """The function of the entries of its sparse arguments, those arguments, and the positions."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    numbers = tuple(n % len(args) for n in numbers)

    def of_stored(*given):
        whole = list(args)
        for n, stored in zip(numbers, given):
            whole[n] = _restored(args[n], stored)
        return fun(*whole, **kwargs)
    return of_stored, [_stored(args[n]) for n in numbers], numbers


def value_and_grad(fun: Callable, argnums=0, has_aux=False, **kwargs) -> Callable:
    """As :func:`tanx.value_and_grad`; the gradient of a sparse argument has the same indices.

    >>> from tanx.experimental import sparse
    >>> value, slope = sparse.value_and_grad(lambda x: (x @ jnp.ones(2)).sum())(sparse.eye(2))
    >>> value, slope.data
    (Array(2., dtype=float32), Array([1., 1.], dtype=float32))
    """
    @boundary
    @functools.wraps(fun)
    def with_gradient(*args, **keywords):
        of_stored, given, numbers = _of_stored(fun, argnums, args, keywords)
        answer, slopes = autodiff.value_and_grad(
            of_stored, tuple(range(len(given))), has_aux=has_aux, **kwargs)(*given)
        found = tuple(_restored(args[n], slope) for n, slope in zip(numbers, slopes))
        return answer, found[0] if isinstance(argnums, int) else found
    return with_gradient


def grad(fun: Callable, argnums=0, has_aux=False, **kwargs) -> Callable:
    """As :func:`tanx.grad`; the gradient of a sparse argument has the same indices.

    >>> from tanx.experimental import sparse
    >>> sparse.grad(lambda x: (x @ jnp.array([1.0, 2.0])).sum())(sparse.eye(2)).data
    Array([1., 2.], dtype=float32)
    """
    both = value_and_grad(fun, argnums, has_aux, **kwargs)

    @boundary
    @functools.wraps(fun)
    def gradient(*args, **keywords):
        answer, slopes = both(*args, **keywords)
        return (slopes, answer[1]) if has_aux else slopes
    return gradient


def _jacobian(transform: Callable, fun: Callable, argnums, has_aux, kwargs) -> Callable:
    @boundary
    @functools.wraps(fun)
    def jacobian(*args, **keywords):
        of_stored, given, numbers = _of_stored(fun, argnums, args, keywords)
        found = transform(of_stored, tuple(range(len(given))), has_aux=has_aux, **kwargs)(*given)
        slopes, aux = found if has_aux else (found, None)

        def columns(n: int, tree):
            like, structure = tree_flatten(args[n], is_leaf=_is_sparse)
            return tree_unflatten(structure, [
                _of_results(x, data) if _is_sparse(x) else data
                for x, data in zip(like, structure.flatten_up_to(tree))])
        is_tuple = isinstance(slopes, tuple) and len(slopes) == len(numbers)
        if not is_tuple:
            raise NotImplementedError(
                "a function of sparse arrays must return one array to have a Jacobian.")
        each = tuple(columns(n, tree) for n, tree in zip(numbers, slopes))
        answer = each[0] if isinstance(argnums, int) else each
        return (answer, aux) if has_aux else answer
    return jacobian


def _of_results(x, data) -> BCOO:
    """The derivatives of all results with respect to the entries of ``x``; results are batches."""
    mat = x if isinstance(x, BCOO) else x.to_bcoo()
    lead = data.shape[:data.ndim - mat.data.ndim]
    indices = mat.indices.reshape((1,) * len(lead) + mat.indices.shape)
    return BCOO((data, indices), shape=lead + mat.shape, indices_sorted=mat.indices_sorted,
                unique_indices=mat.unique_indices)


def jacfwd(fun: Callable, argnums=0, has_aux=False, **kwargs) -> Callable:
    """As :func:`tanx.jacfwd`; Jacobians with respect to sparse arguments are sparse.

    >>> from tanx.experimental import sparse
    >>> sparse.jacfwd(lambda x: x @ jnp.ones(2))(sparse.eye(2))
    BCOO(float32[2, 2, 2], nse=2, n_batch=1)
    """
    return _jacobian(jacobians.jacfwd, fun, argnums, has_aux, kwargs)


def jacrev(fun: Callable, argnums=0, has_aux=False, **kwargs) -> Callable:
    """As :func:`tanx.jacrev`; Jacobians with respect to sparse arguments are sparse.

    >>> from tanx.experimental import sparse
    >>> sparse.jacrev(lambda x: x @ jnp.ones(2))(sparse.eye(2)).todense().sum()
    Array(2., dtype=float32)
    """
    return _jacobian(jacobians.jacrev, fun, argnums, has_aux, kwargs)


jacobian = jacrev

publish(__name__, shown)
