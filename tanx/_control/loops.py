"""Loops over arrays and over numbers: ``scan``, ``map``, ``fori_loop``, ``checkpointed_scan``."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, tree_util
from .._base.config import jit_disabled
from .._core.explicit import Explicit
from .._core.jaxpr import ClosedJaxpr, Var, cached_by_jaxpr
from .._core.naming import name_of
from .._core.refs import check_distinct
from .._core.trace import Tracer
from .._core.types import NUMBERS, ShapedArray, is_arraylike, typeof
from .._ops.arith import add
from .._ops.base import as_array, materialize, reshape
from .._ops.compare import lt
from .._ops.convert import convert
from .._ops.layout import collapse, stack
from .._ops.slicing import concatenate, index_in_dim, slice
from .._transforms.vmap import Axis, batch
from ..errors import explain
from .carry import Body, check_carry, check_structure, settled, stage_body, unshared
from .custom import flat_leaves
from .remat import checkpoint
from .scan import bind_forwarding
from .while_loop import bind_hoisted

__all__ = ["checkpointed_scan", "fori_loop", "map", "scan"]


def scan(f: Callable, init, xs=None, length: int | None = None, reverse: bool = False,
         unroll: int | bool = 1, _split_transpose: bool = False):
    """Run ``f`` over the leading axis of ``xs``, carrying a value from step to step.

    ``f(carry, x)`` returns a pair: the next carry, and a value to stack. The result is the last
    carry and the stack, as if written::

        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, stack(ys)

    ``init``, ``xs`` and the results of ``f`` are pytrees of arrays. The carry keeps its structure,
    shapes and dtypes. Without ``xs``, ``length`` is the number of steps; ``f`` then gets None.

    Args:
      f: The body. It is traced once, however long the loop.
      init: The first carry.
      xs: Arrays with a common size of their first axes.
      length: The number of steps; needed only if ``xs`` has no arrays.
      reverse: Start with the last slice; stacked values keep the order of ``xs``.
      unroll: How many steps to compile in a row; True for all. At most 16, of a small body.

    >>> scan(lambda total, x: (total + x, total), 0.0, jnp.arange(4.0))
    (Array(6., dtype=float32), Array([0., 0., 1., 3.], dtype=float32, weak_type=True))
    >>> scan(lambda n, _: (2 * n, None), 1, length=10)[0]
    Array(1024, dtype=int32, weak_type=True)
    """
    return run_scan("tanx.lax.scan", f, init, xs, length, reverse, unroll, pair_of)


def map(f: Callable, xs, *, batch_size: int | None = None):
    """Apply ``f`` to each slice of ``xs`` along the leading axes, and stack the results.

    It computes the same as :func:`tanx.vmap`, but in a loop: ``f`` runs on one slice after another,
    so that memory for its intermediate values is needed only once. With ``batch_size``, it runs on
    that many slices at once, vectorised.

    >>> map(lambda x: x ** 2, jnp.arange(4))
    Array([0, 1, 4, 9], dtype=int32)
    >>> map(lambda x: x ** 2, jnp.arange(5), batch_size=2)
    Array([ 0,  1,  4,  9, 16], dtype=int32)
    """
    function = "tanx.lax.map"
    if not batch_size:
        return run_scan(function, f, (), xs, None, False, 1, _mapped)[1]
    slices, tree = flat_leaves(f"{function}: xs", xs)
    size = operator.index(batch_size)
    steps = steps_of(function, xs, slices, None)
    count, rest = divmod(steps, size)
    if not count:
        return _vmapped(f, (), xs)[1]
    whole = [reshape(_rows(x, 0, count * size), (count, size, *x.shape[1:])) for x in slices]
    last = [_rows(x, count * size, steps) for x in slices] if rest else []
    _, ys = run_scan(function, f, (), tree_util.tree_unflatten(tree, whole), None, False, 1,
                     _vmapped)
    if not rest:
        return tree_util.tree_map(lambda y: collapse(y, 0, 2), ys)
    _, end = _vmapped(f, (), tree_util.tree_unflatten(tree, last))
    return tree_util.tree_map(lambda y, z: concatenate([collapse(y, 0, 2), z], 0), ys, end)


def _rows(x, start: int, stop: int):
    """The slices from ``start`` up to ``stop``."""
    if stop - start == x.shape[0]:
        return x
    return slice(x, (start, *[0] * (x.ndim - 1)), (stop, *x.shape[1:]))


def _mapped(f: Callable, _, x) -> tuple[Any, Any]:
    return (), f(x)


def _vmapped(f: Callable, _, x) -> tuple[Any, Any]:
    """Run ``f`` over the leading axis of ``x``, vectorised."""
    leaves, in_tree = tree_util.tree_flatten(x)
    size = leaves[0].shape[0]
    out_tree: Any = None

    def flat(*args):
        nonlocal out_tree
        outs, out_tree = flat_leaves(f"tanx.lax.map: result of {name_of(f)}",
                                     f(tree_util.tree_unflatten(in_tree, args)))
        return outs

    outs, dims = batch(flat, Axis(None, size), leaves, [0] * len(leaves))
    return (), tree_util.tree_unflatten(
        out_tree, [materialize(y, d, size) for y, d in zip(outs, dims)])


def fori_loop(lower, upper, body_fun: Callable, init_val, *, unroll: int | bool | None = None):
    """Replace ``init_val`` by ``body_fun(i, value)`` for each ``i`` from ``lower`` up to ``upper``.

    The value, a pytree, keeps its structure and types. If both bounds are Python or NumPy integers
    this is a :func:`scan`, else a :func:`while_loop`; both can be differentiated.
    Both bounds may be floats: known ones are truncated to integers, else the index is a float.
    ``unroll`` is the number of steps to compile in a row, and needs integer bounds.

    >>> fori_loop(1, 6, lambda i, product: product * i, 1)
    Array(120, dtype=int32, weak_type=True)
    """
    function = "tanx.lax.fori_loop"
    if not callable(body_fun):
        raise TypeError(explain(function, "needs a function.", f"given: {body_fun!r:.100}"))
    lower, upper = _bounds(function, lower, upper)
    if jit_disabled.value and not any(isinstance(x, Tracer) for x in (lower, upper)):
        lower, upper = as_array(lower).item(), as_array(upper).item()
    if type(lower) in NUMBERS and type(upper) in NUMBERS:
        (_, result), _ = run_scan(
            function, body_fun, (lower, init_val), None, max(upper - lower, 0), False,
            1 if unroll is None else unroll, _counted, several=True)
        return result
    if unroll not in (None, False, 1):
        raise ValueError(explain(
            function, "unroll needs bounds that are known while tracing.", f"unroll: {unroll}",
            f"lower:  {typeof(lower)}", f"upper:  {typeof(upper)}"))

    start, body = _staged(function, body_fun, (lower, init_val), None, _counted, several=True)
    start = [start[0], upper, *start[1:]]
    test = stage_body(function, body_fun, tuple(typeof(leaf) for leaf in start), _below)
    count, _, *outs = bind_hoisted(test, body._replace(closed=_with_bound(
        body.closed, len(body.captured), typeof(upper))), start)
    (_, result), _ = tree_util.tree_unflatten(body.out_tree, [count, *outs])
    return result


def _below(body_fun: Callable, i, upper, *_):
    """The condition; it takes the body, so that it is cached only as long as the body lives."""
    return lt(i, upper)


@cached_by_jaxpr
def _with_bound(body: ClosedJaxpr, captured: int, aval: ShapedArray) -> ClosedJaxpr:
    """A body that carries the upper bound after the index, as in JAX."""
    jaxpr, bound = body.jaxpr, Var(aval)
    at = captured + 1
    return ClosedJaxpr(jaxpr.replace(
        invars=[*jaxpr.invars[:at], bound, *jaxpr.invars[at:]],
        outvars=[jaxpr.outvars[0], bound, *jaxpr.outvars[1:]]), body.consts)


def _counted(body_fun: Callable, carry, _) -> tuple[Any, Any]:
    i, value = carry
    return (_next(i), body_fun(i, value)), None


def _next(i):
    aval = typeof(i)
    return add(i, convert(1, aval.dtype, aval.weak_type))


def _bounds(function: str, lower, upper) -> tuple[Any, Any]:
    """Both bounds as Python integers if they are, else as arrays of one dtype.

    The index has the type of the lower one.
    """
    bounds = {"lower": lower, "upper": upper}
    if not any(all(_is_scalar(x, kind) for x in bounds.values())
               for kind in (np.integer, np.floating)):
        raise TypeError(explain(
            function, "the bounds must both be integers, or both be floats.",
            *(f"{name}: {str(typeof(x)) if is_arraylike(x) else repr(x):.100}"
              for name, x in bounds.items())))
    types = [typeof(x) for x in bounds.values()]
    if len({t.dtype for t in types if not t.weak_type}) > 1:
        raise TypeError(explain(
            function, "the bounds must be of one type.", f"lower: {types[0]}",
            f"upper: {types[1]}", hint=f"convert one with .astype({types[0].dtype.name!r})."))
    known = not any(isinstance(x, Tracer) for x in (lower, upper))
    if known and dtypes.issubdtype(types[0].dtype, np.floating):
        lower, upper = int(lower), int(upper)
    if all(isinstance(x, (int, np.integer)) for x in (lower, upper)):
        largest = np.iinfo(dtypes.canonicalize_dtype(np.int64)).max
        if max(abs(int(lower)), abs(int(upper))) > largest:
            raise OverflowError(explain(
                function, f"the bounds must not exceed {largest}.", f"lower: {lower}",
                f"upper: {upper}", hint="tanx.enable_x64 enables 64-bit integers."))
        return int(lower), int(upper)
    dtype, weak = dtypes.result_type(*types, return_weak_type_flag=True)
    if known and np.can_cast(dtype, dtypes.default_int()):
        dtype, weak = dtypes.default_int(), True  # known bounds have the type of Python numbers
    counts_weakly = weak or types[0].weak_type and types[0].dtype == dtype
    return convert(lower, dtype, counts_weakly), convert(upper, dtype, weak)


def _is_scalar(x, kind: type) -> bool:
    aval = typeof(x) if is_arraylike(x) else None
    return aval is not None and not aval.shape and dtypes.issubdtype(aval.dtype, kind)


def checkpointed_scan(f: Callable, init, xs=None, length: int | None = None,
                      reverse: bool = False, unroll: int | bool = 1, *,
                      segment: int | None = None):
    """As :func:`scan`, with memory for gradients that grows with the square root of its length.

    The loop is cut into segments. For the backward pass only the carry at the start of each segment
    is stored, and segments are recomputed one by one. This costs one more forward computation; the
    memory is that of ``n / segment`` carries and of the intermediate values of one segment.
    ``segment`` is the number of steps in each; by default about the square root of all.

    >>> f = lambda x: checkpointed_scan(lambda c, _: (jnp.sin(c), None), x, length=100)[0]
    >>> tanx.grad(f)(1.0)
    Array(0.00369862, dtype=float32, weak_type=True)
    """
    function = "tanx.lax.checkpointed_scan"
    slices, tree = flat_leaves(f"{function}: xs", xs)
    steps = steps_of(function, xs, slices, length)
    size = _segment(steps) if segment is None else operator.index(segment)
    if size < 1:
        raise ValueError(explain(function, "a segment has at least one step.",
                                 f"segment: {segment}"))
    count, rest = divmod(steps, size)
    whole = [reshape(_rows(x, 0, count * size), (count, size, *x.shape[1:])) for x in slices]
    last = [_rows(x, count * size, steps) for x in slices]

    def stretch(carry, part, steps=size):
        return run_scan(function, f, carry, part, steps, reverse, unroll, pair_of)

    def segments(carry):
        carry, ys = run_scan(function, checkpoint(stretch, prevent_cse=False), carry,
                             tree_util.tree_unflatten(tree, whole), count, reverse, 1, pair_of)
        return carry, tree_util.tree_map(lambda y: collapse(y, 0, 2), ys)

    def end(carry):
        return checkpoint(functools.partial(stretch, steps=rest), prevent_cse=False)(
            carry, tree_util.tree_unflatten(tree, last))

    if not rest:
        return segments(init)
    if reverse:
        carry, late = end(init)
        carry, early = segments(carry)
    else:
        carry, early = segments(init)
        carry, late = end(carry)
    return carry, tree_util.tree_map(lambda a, b: concatenate([a, b], 0), early, late)


def _segment(steps: int) -> int:
    """A length of segments near the square root, if possible one that divides the number of steps.

    Then the xs are read without a copy.
    """
    root = max(1, math.isqrt(steps))
    whole = [n for n in range(max(1, root // 2), 2 * root + 1) if steps % n == 0]
    return min(whole, key=lambda n: abs(n - root), default=root)


# -- common parts ----------------------------------------------------------------------------------


def pair_of(f: Callable, carry, x) -> tuple[Any, Any]:
    """Run the body of a scan, and check that it returns a pair."""
    result = f(carry, x)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(explain(
            "tanx.lax.scan", "the body must return a pair: the next carry, and a value to stack.",
            f"{name_of(f)} gave: {_summary(result)}",
            hint="return carry, None to stack nothing."))
    return result[0], result[1]


def _summary(result) -> str:
    leaves = tree_util.tree_map(lambda x: _Typed(typeof(x)) if hasattr(x, "aval") else x, result)
    return f"{leaves!r:.200}"


class _Typed:
    """Shows an array by its type."""

    def __init__(self, aval):
        self.aval = aval

    def __repr__(self) -> str:
        return str(self.aval)


def run_scan(function: str, f: Callable, init, xs, length, reverse, unroll, run: Callable,
             several: bool = False) -> tuple[Any, Any]:
    """A scan of ``run(f, carry, x)``; messages name ``function`` and the parameters of ``f``.

    With ``several``, the carry is a tuple of the arguments of ``f``.
    """
    if not callable(f):
        raise TypeError(explain(function, "needs a function.", f"given: {f!r:.100}"))
    slices, xs_tree = flat_leaves(f"{function}: xs", xs)
    steps = steps_of(function, xs, slices, length)
    if jit_disabled.value and steps:
        whole = tree_util.tree_unflatten(xs_tree, slices)
        return _in_python(f, init, whole, steps, reverse, run)
    x = tree_util.tree_unflatten(xs_tree, [_row(typeof(s), steps) for s in slices])
    start, body = _staged(function, f, init, x, run, several)
    outs = bind_forwarding(body.captured, start, slices, body.closed, length=steps,
                           reverse=bool(reverse), unroll=_unrolled(function, unroll, steps))
    return tree_util.tree_unflatten(body.out_tree, outs)


def _staged(function: str, f: Callable, init, x, run: Callable, several: bool,
            ) -> tuple[list[Any], Body]:
    """The leaves of the initial carry, and the body staged for them; both checked."""
    start, tree = flat_leaves(f"{function}: init", init, keep_numbers=True)
    check_distinct(function, start)

    def named(avals) -> tuple:
        carry = tree_util.tree_unflatten(tree, avals)
        return carry if several else (carry,)

    def trace(avals: list[ShapedArray]) -> tuple[Body, list]:
        body = stage_body(function, f, (tree_util.tree_unflatten(tree, avals), x), run)
        end = tree_util.treedef_children(body.out_tree)[0]
        check_structure(function, f, named(avals), tree, end)
        return body, body.out_avals[:len(avals)]

    start, body = settled(start, trace)
    avals = [typeof(leaf) for leaf in start]
    check_carry(function, f, named(avals), avals, body.out_avals[:len(avals)])
    return start, body


def _in_python(f: Callable, init, xs, length: int, reverse: bool, run: Callable) -> tuple[Any, Any]:
    """The loop as Python runs it, for ``disable_jit``."""
    carry, ys = unshared(init), []
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = run(f, carry, tree_util.tree_map(
            lambda x, i=i: index_in_dim(x, i, keepdims=False), xs))
        ys.append(y)
    stacked = tree_util.tree_map(_stacked, *(ys[::-1] if reverse else ys))
    return carry, stacked


def _stacked(*parts):
    """The stacked results of the steps; Python numbers take the type of the other results."""
    arrays = [as_array(x) for x in parts]
    dtype, weak = dtypes.result_type(*arrays, return_weak_type_flag=True)
    return stack([convert(x, dtype, weak) if x.weak_type else x for x in arrays])


def _row(aval, steps: int):
    """The type of the slice of a value of ``xs`` that a step takes."""
    if aval.is_high:
        return aval.dec_rank(steps, aval.leading_axis_spec())
    if Explicit.seen and aval.entries[0] is not None:
        raise ValueError(explain(
            "tanx.lax.scan", "the leading axis of xs must not be divided over a mesh.",
            f"xs: {aval}", hint="tanx.reshard makes it whole."))
    return aval.dec_rank(steps, 0)


def steps_of(function: str, xs, slices, length) -> int:
    """The number of steps, on which the leaves of ``xs`` must agree."""
    paths = [path for path, _ in tree_util.tree_flatten_with_path(xs)[0]]
    sizes = [(path, leaf.shape[:1]) for path, leaf in zip(paths, slices, strict=True)
             if not typeof(leaf).is_high]
    facts = [f"xs{tree_util.keystr(path)}: {typeof(leaf)}" for path, leaf in zip(paths, slices)]
    if any(not size for _, size in sizes):
        raise np.exceptions.AxisError(explain(
            function, "each array of xs needs a leading axis.", *facts))
    found = {size[0] for _, size in sizes}
    if length is not None:
        try:
            # Lengths that were computed by a division are often floats.
            whole = isinstance(length, float | np.floating) and length.is_integer()
            found.add(int(length) if whole else operator.index(length))
        except TypeError:
            raise TypeError(explain(
                function, "length must be an integer that is known while tracing.",
                f"length: {length!r:.100}")) from None
        facts.append(f"length: {length}")
        if length < 0:
            raise ValueError(explain(function, "length must not be negative.", *facts))
    if not found:
        raise ValueError(explain(
            function, "the number of steps is unknown.", *facts or ["xs: no arrays"],
            hint="give length, or arrays in xs."))
    if len(found) > 1:
        raise ValueError(explain(
            function, "the leading axes of xs, and length if given, must agree.", *facts))
    return found.pop()


def _unrolled(function: str, unroll, steps: int) -> int:
    if isinstance(unroll, bool):
        return max(steps, 1) if unroll else 1
    try:
        count = operator.index(unroll)
    except TypeError:
        count = -1
    if count < 0:
        raise ValueError(explain(
            function, "unroll must be a bool or an integer that is not negative.",
            f"unroll: {unroll!r}"))
    return count
