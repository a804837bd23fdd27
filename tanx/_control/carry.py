"""Bodies of loops: staging them, and checking their carry.

A body is staged on flat arguments into a jaxpr without constants: values that the function closes
over, traced or not, come first among its arguments. The body must return the carry with the
structure and types that it takes; an initial Python number takes the type that the body computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, tree_util
from .._base.flags import trace_key
from .._base.treedef import mismatches
from .._base.tuples import NamedTuple
from .._core.axes import axis_sizes
from .._core.explicit import alike
from .._core.jaxpr import ClosedJaxpr
from .._core.naming import debug_info, leaf_names, name_of
from .._core.reads import absorb, reading
from .._core.rewrite import constvars_to_invars
from .._core.stage import keeps_traces, memory_of, memory_of_object, stage
from .._core.trace import Tracer
from .._core.types import ShapedArray, typeof
from .._ops.base import as_array
from .._ops.convert import convert
from ..errors import explain
from .custom import flat_leaves

__all__ = ["Body", "check_carry", "check_structure", "described", "settled", "stage_body",
           "unshared"]


class Body(NamedTuple):
    """A function of pytrees staged for arguments of some types."""

    closed: ClosedJaxpr  # takes captured values, then the leaves of the arguments
    captured: list[Any]
    out_tree: Any

    @property
    def out_avals(self) -> list[ShapedArray]:
        return self.closed.out_avals


def apply(fun: Callable, *args):
    """Run a body directly."""
    return fun(*args)


def stage_body(function: str, fun: Callable, args: tuple, run: Callable = apply) -> Body:
    """Stage ``run(fun, *args)``, where the leaves of ``args`` are types.

    ``run`` is a function of a module, not a closure: the result for ``fun`` is cached under it, for
    as long as ``fun`` lives, unless it closes over traced values. For callable objects and methods,
    it is cached only if every change of a value that they read would be noticed.
    """
    avals, in_tree = tree_util.tree_flatten(args)
    key = (function, run, in_tree, tuple(avals), trace_key(), tuple(axis_sizes().items()))
    is_object = not keeps_traces(fun)
    memory = memory_of_object(fun) if is_object else memory_of(fun)
    known = memory.find(key)
    if known is not None:
        return known
    out_tree = None

    def flat(*leaves):
        nonlocal out_tree
        result = run(fun, *tree_util.tree_unflatten(in_tree, leaves))
        outs, out_tree = flat_leaves(f"{function}: result of {name_of(fun)}", result)
        return outs

    with reading(fun) as reads:
        jaxpr, captured = stage(
            flat, avals, debug_info(function.rpartition(".")[2], fun, args, {}),
            shares_literals=False)
    guards = reads.guards(jaxpr)
    absorb(guards)
    body = Body(ClosedJaxpr(constvars_to_invars(jaxpr)), captured, out_tree)
    if not any(isinstance(x, Tracer) for x in captured):
        if not is_object:
            memory.keep(key, body, guards)
        elif memory.owner is not None and reads.covers(fun):
            memory.keep(key, body, guards.released(memory.owner))
    return body


def unshared(tree):
    """A copy of the carry for a loop that Python runs: the body must not modify the user's."""
    return tree_util.tree_map(lambda x: as_array(x) if isinstance(x, np.ndarray) else x, tree)


def settled(leaves: Sequence[Any], trace: Callable[[list[ShapedArray]], tuple[Any, Sequence]],
            ) -> tuple[list[Any], Any]:
    """The initial carry, and the result of ``trace`` on its types.

    ``trace`` returns, for the types of the carry, something staged and the types that the body
    returns. If a weak type is returned as another, the carry starts with the type that both promote
    to; that may change others, so this is repeated until nothing changes.
    """
    leaves = list(leaves)
    while True:
        avals = [typeof(x) for x in leaves]
        staged, outs = trace(avals)
        promoted = [_promoted(aval, out) for aval, out in zip(avals, outs, strict=True)]
        if all(dtype is None for dtype in promoted):
            return leaves, staged
        leaves = [x if dtype is None else convert(x, dtype) for x, dtype in zip(leaves, promoted)]


def _promoted(start: ShapedArray, end: ShapedArray):
    """The initial dtype to use instead of that of ``start``; None if that is right."""
    if not start.weak_type or end.is_high or start.shape != end.shape or start.dtype == end.dtype:
        return None
    dtype = dtypes.result_type(start, end)
    return None if dtype == start.dtype else dtype


def check_structure(function: str, fun: Callable, args: tuple, start, end) -> None:
    """Check that a body returns a carry of the structure that it takes: ``end`` and ``start``.

    ``args`` are the arguments of ``fun`` that make up the carry: one, or a tuple of several.
    """
    if start == end:
        return
    taken, given = (tree_util.tree_unflatten(tree, range(tree.num_leaves)) for tree in (start, end))
    found = mismatches(start._spec, given) or [
        m._replace(expected=m.found, found=m.expected) for m in mismatches(end._spec, taken)]
    roots = leaf_names(fun, (0,) * len(args), {})

    def name(path: tuple) -> str:
        root = roots[0] if len(args) == 1 else roots[path[0].idx]
        return root + tree_util.keystr(path if len(args) == 1 else path[1:])

    raise TypeError(explain(
        function, "the body must return a carry of the structure that it takes.",
        *(f"{name(m.path)}: takes {_plain(m.expected)}, gives {_plain(m.found)}"
          for m in found[:3]),
        hint="return the carry with the same containers, keys and lengths each time."))


def _plain(description: str) -> str:
    return "an array" if description.startswith("leaf of type") else description


def check_carry(function: str, fun: Callable, args: tuple, start: Sequence[ShapedArray],
                end: Sequence[ShapedArray]) -> None:
    """Check that a body returns a carry of the types that it takes, weak or not."""
    wrong = [(name, a, b) for name, a, b in zip(leaf_names(fun, args, {}), start, end, strict=True)
             if not alike(a, b)]
    if not wrong:
        return
    name, taken, given = wrong[0]
    if taken.is_high or given.is_high:
        hint = "start with a value of the type that the body returns."
    elif taken.shape != given.shape:
        hint = "start with an array of the shape that the body returns, or reshape its result."
    elif taken.dtype == given.dtype:
        hint = "tanx.reshard the initial carry, or the result of the body."
    else:
        hint = (f"start with {name} as {given.dtype.name}, or let the body return "
                f"its new value .astype({taken.dtype.name!r}).")
    raise TypeError(explain(
        function, "the body must return a carry of the types that it takes.",
        *(f"{name}: takes {described(a)}, gives {described(b)}" for name, a, b in wrong),
        hint=hint))


def described(aval: ShapedArray) -> str:
    """A type in words: weak types are those of Python numbers.

    >>> described(ShapedArray((), "int32", weak_type=True))
    'int32[] of a Python number'
    """
    return f"{aval.str_short()} of a Python number" if aval.weak_type else str(aval)
