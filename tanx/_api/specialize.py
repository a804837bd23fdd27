"""``specialize``: a function of the remaining arguments, for known values of the others."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .._base.flags import trace_key
from .._base.traceback import boundary
from .._base.tuples import NamedTuple
from .._core.axes import axis_sizes
from .._core.jaxpr import Jaxpr, eval_jaxpr
from .._core.reads import absorb, reading
from .._core.stage import Memory
from .._core.trace import Trace, context, running
from .._core.types import typeof
from .._ops.base import as_array
from .._transforms.linearize import partial_eval
from ..tree_util import tree_flatten, tree_unflatten
from .arguments import check_callable, check_leaves, result_leaves

__all__ = ["specialize"]


class _Rest(NamedTuple):
    """The rest of a function after its known part has run."""

    jaxpr: Jaxpr
    residuals: list  # values that the known part computed for it
    outs: list  # the results that are known
    unknown: list[bool]  # which results are not
    out_tree: Any


def specialize(fun: Callable, /, *known, **known_by_name) -> Callable:
    """A function of the other arguments of ``fun``; the part that depends on known ones runs once.

    Known arguments are the first ones, or are given by name; they may be any objects, and Python
    may branch on them. The function is traced for each kind of the other arguments; that trace runs
    everything that does not depend on them. Later calls, also under ``jit``, ``grad`` and ``vmap``,
    compute only the rest.

    >>> def solve(a, b):
    ...     q, r = jnp.linalg.qr(a)  # needs a alone
    ...     return tanx.scipy.linalg.solve_triangular(r, q.T @ b)
    >>> solve_with_a = specialize(solve, jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    >>> solve_with_a(jnp.array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    >>> solve_with_a(jnp.array([4.0, 4.0]))  # no factorization takes place
    Array([2., 1.], dtype=float32)
    """
    check_callable("tanx.specialize", fun)
    home = context.trace  # the trace of the known arguments
    memory = Memory()

    @boundary
    @functools.wraps(fun)
    def rest(*args, **kwargs):
        leaves, in_tree = tree_flatten((args, kwargs))
        check_leaves("tanx.specialize", rest, args, kwargs, leaves,
                     "give it to tanx.specialize as a known argument.")
        avals = tuple(map(typeof, leaves))
        key = in_tree, avals, trace_key(), tuple(axis_sizes().items())
        staged = memory.find(key)
        if staged is None:
            with reading(fun, (known, known_by_name)) as reads:
                staged = _split(fun, known, known_by_name, in_tree, avals, home)
            guards = reads.guards(staged.jaxpr)
            absorb(guards)
            memory.keep(key, staged, guards)
        found = iter(eval_jaxpr(staged.jaxpr, staged.residuals, *map(as_array, leaves)))
        outs = [next(found) if unknown else out
                for out, unknown in zip(staged.outs, staged.unknown)]
        return tree_unflatten(staged.out_tree, outs)

    signature = _signature(fun, known, known_by_name)
    if signature is not None:
        rest.__signature__ = signature  # type: ignore[attr-defined]
    return rest


def _split(fun: Callable, known: tuple, known_by_name: dict, in_tree: Any, avals: tuple,
           home: Trace) -> _Rest:
    """Run the part that depends only on known arguments, and record the rest."""
    out_tree: Any = None

    def flat(*leaves):
        nonlocal out_tree
        args, kwargs = tree_unflatten(in_tree, leaves)
        outs, out_tree = result_leaves("tanx.specialize", fun,
                                       fun(*known, *args, **known_by_name, **kwargs))
        return outs

    with running(home):
        outs, unknown, jaxpr, residuals = partial_eval(flat, avals, [None] * len(avals))
    return _Rest(jaxpr, residuals, outs, unknown, out_tree)


def _signature(fun: Callable, known: tuple, known_by_name: dict) -> inspect.Signature | None:
    """The signature without the known arguments, if the function has a signature."""
    try:
        parameters = inspect.signature(functools.partial(fun, *known)).parameters.values()
    except (TypeError, ValueError):
        return None
    return inspect.Signature([p for p in parameters if p.name not in known_by_name])
