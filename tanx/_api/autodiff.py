"""Public derivatives: ``grad``, ``jvp``, ``vjp``, ``linearize``, Jacobians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from .._base.traceback import boundary
from .._core.array import Array
from .._core.cells import Cell
from .._core.jaxpr import eval_jaxpr
from .._core.linear import Zero, instantiate
from .._core.naming import leaf_names, name_of, wraps
from .._core.refs import check_distinct, is_ref
from .._core.stage import stage
from .._core.trace import context
from .._core.types import ShapedArray, described, is_arraylike, typeof
from .._ops.base import as_array
from .._ops.convert import convert
from .._ops.exchange import differentiated
from .._transforms import jvp as forward
from .._transforms.discharge import contents, store
from .._transforms.linearize import linearize as linearize_flat
from ..errors import explain
from ..tree_util import Partial, tree_flatten, tree_unflatten
from .arguments import (
    as_tuple,
    check_callable,
    check_leaves,
    is_single,
    not_an_array,
    result_leaves,
)
from .pullback import VJP, Pullback, Transposed, pulled
from .saved import parted, spread

__all__ = ["fwd_and_bwd", "grad", "jvp", "linear_transpose", "linearize", "value_and_grad", "vjp"]


def grad(fun: Callable, argnums=0, has_aux: bool = False, holomorphic: bool = False,
         allow_int: bool = False, reduce_axes=()) -> Callable:
    """The gradient of a function with a scalar result.

    ``argnums`` are the positions to differentiate: an int, or several, which gives a tuple. With
    ``has_aux`` the function returns ``(result, aux)``, and ``aux`` is returned with the gradient;
    ``holomorphic`` allows complex results; ``allow_int`` allows integer arguments, whose
    gradients have the empty dtype ``float0``.

    >>> grad(lambda x: x ** 3)(2.0)
    Array(12., dtype=float32, weak_type=True)
    """
    with_gradient = _with_gradient(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @boundary
    @wraps(fun)
    def gradient(*args, **kwargs):
        answer, found = with_gradient(*args, **kwargs)
        return (found, answer[1]) if has_aux else found
    return gradient


def value_and_grad(fun: Callable, argnums=0, has_aux: bool = False, holomorphic: bool = False,
                   allow_int: bool = False, reduce_axes=()) -> Callable:
    """A function's result together with its gradient; arguments as those of :func:`grad`.

    >>> value_and_grad(lambda x: x ** 3)(2.0)
    (Array(8., dtype=float32, weak_type=True), Array(12., dtype=float32, weak_type=True))
    """
    with_gradient = _with_gradient(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)
    return boundary(wraps(fun)(with_gradient))


def _with_gradient(fun, argnums, has_aux: bool, holomorphic: bool, allow_int: bool, reduce_axes):
    """The function that computes a value, possibly with ``aux``, and its gradient."""
    check_callable("tanx.grad", fun)
    if reduce_axes:
        raise NotImplementedError("tanx.grad: reduce_axes is not supported.")
    single = is_single(argnums)
    positions = as_tuple("tanx.grad", "argnums", argnums, int)

    def with_gradient(*args, **kwargs):
        chosen = chosen_arguments("tanx.grad", fun, positions, args)
        dynamic = args[chosen[0]] if single else tuple(args[i] for i in chosen)
        leaves, in_tree = tree_flatten(dynamic)
        _check_inputs(fun, args, chosen, leaves, holomorphic, allow_int)
        leaves = [as_array(x) for x in leaves]
        active = [not allow_int or _inexact(x) for x in leaves]
        aux: dict = {}

        def flat(*xs):
            part = tree_unflatten(in_tree, xs)
            whole = list(args)
            for i, x in zip(chosen, (part,) if single else part):
                whole[i] = x
            return _scalar_result(fun, fun(*whole, **kwargs), has_aux, holomorphic, aux)

        outs, nonzero, jaxpr, residuals = linearize_flat(differentiated(flat), leaves, active)
        value = outs[0]
        found = pulled(jaxpr, residuals, nonzero, [_one_like(value)] + [None] * (len(outs) - 1))
        given = iter(found)
        grads = tree_unflatten(in_tree, [
            instantiate(next(given)) if is_active else np.zeros(typeof(x).shape, dtypes.float0)
            for x, is_active in zip(leaves, active)])
        return ((value, _restore_aux(aux, outs[1:])) if has_aux else value), grads
    return with_gradient


def chosen_arguments(function: str, fun, positions, args) -> list[int]:
    """The positions to differentiate, counted from the front."""
    count = len(args)
    for i in positions:
        if not -count <= i < count:
            raise TypeError(explain(
                function, "argnums names an argument that was not passed by position.",
                f"argnums:   {positions if len(positions) > 1 else positions[0]}",
                f"arguments: {count} passed to {name_of(fun)}"))
    return [i % count for i in positions]


def _inexact(x) -> bool:
    """Whether a value has a derivative: its type says so, if it is a high one."""
    aval = typeof(x)
    return aval.is_high or dtypes.issubdtype(aval.dtype, np.inexact) or (
        dtypes.is_extended(aval.dtype) and aval.dtype.tangent != dtypes.float0)


def _check_inputs(fun, args, chosen, leaves, holomorphic: bool, allow_int: bool) -> None:
    def name(i: int) -> str:
        return [name for k in chosen
                for name in leaf_names(fun, args, {}, set(range(len(args))) - {k})][i]

    for i, leaf in enumerate(leaves):
        if not is_arraylike(leaf):
            raise not_an_array("tanx.grad", fun, name(i), leaf,
                               "differentiate with respect to arrays only; choose with argnums.")
        if is_ref(leaf):
            raise TypeError(explain(
                "tanx.grad", "references are not differentiated: their gradients go to other "
                "references.", f"{name(i)}: {typeof(leaf)}",
                hint="use tanx.vjp and with_refs; other arguments may be references."))
        if typeof(leaf).is_high:
            continue
        dtype = typeof(leaf).dtype
        if holomorphic and not dtypes.issubdtype(dtype, np.complexfloating):
            raise TypeError(explain(
                "tanx.grad", "with holomorphic=True all inputs must be complex.",
                f"{name(i)}: {typeof(leaf)}"))
        if not allow_int and not dtypes.issubdtype(dtype, np.inexact):
            raise TypeError(explain(
                "tanx.grad", "inputs must be real or complex numbers.",
                f"{name(i)}: {typeof(leaf)}",
                hint="use x.astype(float), choose others with argnums, or allow_int=True for "
                     "gradients of dtype float0."))


def _scalar_result(fun, result, has_aux: bool, holomorphic: bool, aux: dict) -> list:
    """The result as a list of one scalar followed by the arrays in ``aux``."""
    extra: list = []
    if has_aux:
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(explain(
                "tanx.grad", f"with has_aux=True, {name_of(fun)} must return a pair.",
                f"returned: {_types(result)}"))
        result, rest = result
        aux["leaves"], aux["aux_tree"] = tree_flatten(rest)
        extra = [x for x in aux["leaves"] if is_arraylike(x)]
    if not is_arraylike(result):
        raise TypeError(explain(
            "tanx.grad", f"{name_of(fun)} must return one scalar.", f"returned: {_types(result)}",
            hint="return the scalar alone, or use has_aux=True for further results."))
    aval = typeof(result)
    if aval.is_high or aval.shape:
        raise TypeError(explain(
            "tanx.grad", f"{name_of(fun)} must return a scalar.", f"returned: {aval}",
            hint="reduce it with .sum(), or use tanx.jacobian."))
    wanted = np.complexfloating if holomorphic else np.floating
    if not dtypes.issubdtype(aval.dtype, wanted):
        kind = "complex" if holomorphic else "real"
        raise TypeError(explain(
            "tanx.grad", f"{name_of(fun)} must return a {kind} number.", f"returned: {aval}",
            hint="use holomorphic=True if the function is, else tanx.vjp."
            if aval.dtype.kind == "c" else "use tanx.vjp for other results."))
    return [result, *extra]


def _types(tree) -> str:
    """A result in messages: types in place of arrays."""
    leaves, structure = tree_flatten(tree)
    return f"{tree_unflatten(structure, [_Shown(x) for x in leaves])!r:.200}"


class _Shown:
    """Prints an array as its type, and other values unchanged."""

    def __init__(self, value):
        self.text = str(typeof(value)) if is_arraylike(value) else repr(value)

    def __repr__(self) -> str:
        return self.text


def _restore_aux(aux: dict, values: list) -> Any:
    given = iter(values)
    return tree_unflatten(aux["aux_tree"], [next(given) if is_arraylike(x) else x
                                            for x in aux["leaves"]])


def _one_like(value):
    aval = typeof(value)
    return context.trace.literal(np.ones((), aval.dtype),
                                 ShapedArray((), aval.dtype, aval.weak_type))


def jvp(fun: Callable, primals, tangents, has_aux: bool = False):
    """A function's result at ``primals`` and its derivative there along ``tangents``.

    Both are tuples or lists with an entry for each argument.

    >>> jvp(jnp.sin, (0.0,), (2.0,))
    (Array(0., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    check_callable("tanx.jvp", fun)
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise TypeError(explain(
            "tanx.jvp", "primals and tangents must be tuples or lists, one entry per argument.",
            f"primals:  {type(primals).__name__}", f"tangents: {type(tangents).__name__}",
            hint="for one argument write (x,)."))
    leaves, in_tree = tree_flatten(tuple(primals))
    given, tangent_tree = tree_flatten(tuple(tangents))
    if in_tree != tangent_tree:
        raise TypeError(explain(
            "tanx.jvp", "primals and tangents must have the same structure.",
            f"primals:  {in_tree}", f"tangents: {tangent_tree}"))
    check_leaves("tanx.jvp", fun, tuple(primals), {}, leaves)
    leaves = [x if is_ref(x) else as_array(x) for x in leaves]
    flat_tangents = [_checked_tangent("tanx.jvp", x, t) for x, t in zip(leaves, given)]
    flat, found = _flat(fun, in_tree, has_aux, "tanx.jvp")
    outs, out_tangents = forward.jvp(flat, leaves, flat_tangents)
    count = found["count"]
    result = tree_unflatten(found["tree"], outs[:count])
    tangent = tree_unflatten(found["tree"], [_plain(t) for t in out_tangents[:count]])
    if has_aux:
        return result, tangent, _restore_aux(found, outs[count:])
    return result, tangent


def _plain(tangent):
    if type(tangent) is Zero and not tangent.aval.is_high and tangent.aval.dtype == dtypes.float0:
        return np.zeros(tangent.aval.shape, dtypes.float0)
    return instantiate(tangent)


def _checked_tangent(function: str, primal, tangent):
    if is_ref(primal) and is_ref(tangent):
        if typeof(primal).to_tangent_aval() != typeof(tangent):
            raise ValueError(explain(
                function, "a tangent must have the type of its primal.",
                f"primal:  {typeof(primal)}", f"tangent: {typeof(tangent)}"))
        return tangent
    if is_ref(primal):
        raise ValueError(explain(function, "the tangent of a reference is a reference.",
                                 f"primal:  {typeof(primal)}", f"tangent: {tangent!r:.100}"))
    aval = typeof(primal).to_tangent()
    if typeof(primal).is_high or aval.is_high:
        return _checked_high_tangent(function, primal, aval, tangent)
    if not is_arraylike(tangent):
        raise TypeError(explain(function, "a tangent must be an array or a number.",
                                f"tangent: {tangent!r:.100} of type {type(tangent).__name__}"))
    found = typeof(tangent)
    if aval.dtype != found.dtype:
        raise TypeError(explain(
            function, "a tangent must have the dtype of its primal (float0 for integers).",
            f"primal:  {typeof(primal)}", f"tangent: {found}, expected {aval}"))
    if aval.shape != found.shape:
        raise ValueError(explain(
            function, "a tangent must have the shape of its primal.",
            f"primal:  {typeof(primal)}", f"tangent: {found}"))
    if aval.dtype == dtypes.float0:
        return Zero(aval)
    tangent = as_array(tangent)
    # Numbers take the weak type of their primal; traced values have it in their equations.
    return convert(tangent, aval.dtype, aval.weak_type) if type(tangent) is Array else tangent


def _checked_high_tangent(function: str, primal, aval, tangent):
    """The tangent of a value of a high type, whose type determines the type of the tangent."""
    if not is_arraylike(tangent) or not aval.matches(typeof(tangent)):
        found = typeof(tangent) if is_arraylike(tangent) else f"{tangent!r:.100}"
        raise ValueError(explain(
            function, "a tangent must have the tangent type of its primal's type.",
            f"primal:  {typeof(primal)}", f"tangent: {found}, expected {aval}"))
    return as_array(tangent)


def _flat(fun: Callable, in_tree, has_aux: bool, function: str) -> tuple[Callable, dict]:
    """``fun`` on flat arguments: results, then the arrays in ``aux``; and data to restore them."""
    found: dict = {}

    def flat(*xs):
        result = fun(*tree_unflatten(in_tree, xs))
        extra: list = []
        if has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(explain(
                    function, f"with has_aux=True, {name_of(fun)} must return a pair.",
                    f"returned: {_types(result)}"))
            result, rest = result
            found["leaves"], found["aux_tree"] = tree_flatten(rest)
            extra = [x for x in found["leaves"] if is_arraylike(x)]
        outs, found["tree"] = result_leaves(function, fun, result)
        found["count"] = len(outs)
        return [*outs, *extra]
    return flat, found


def vjp(fun: Callable, *primals, has_aux: bool = False, reduce_axes=(), saveable_args=True,
        in_nzs=None):
    """A function's result at ``primals``, and the function from its cotangent to theirs.

    ``saveable_args``, booleans in tuples of the arguments' structure, says which arguments the
    pullback may keep. Those that it needs and may not keep must be restored before it is called, as
    by ``pull.args_res[0] = value``.

    >>> y, pull = vjp(jnp.sin, 0.0)
    >>> pull(1.0)
    (Array(1., dtype=float32, weak_type=True),)
    """
    check_callable("tanx.vjp", fun)
    if reduce_axes or in_nzs is not None:
        raise NotImplementedError("tanx.vjp: reduce_axes and in_nzs are not supported.")
    leaves, in_tree = tree_flatten(primals)
    saveable = spread("tanx.vjp", saveable_args, in_tree)
    check_leaves("tanx.vjp", fun, primals, {}, leaves)
    flat, found = _flat(fun, in_tree, has_aux, "tanx.vjp")
    refs = [x if is_ref(x) else None for x in leaves]
    check_distinct("tanx.vjp", leaves)
    leaves = [x if is_ref(x) else as_array(x) for x in leaves]
    active = [_inexact(x) for x in leaves]
    if any(map(is_ref, refs)):
        flat = _on_contents(flat, refs)
    flat = differentiated(flat)
    outs, nonzero, jaxpr, residuals = linearize_flat(flat, contents(leaves), active)
    count = found["count"]
    ends = len(outs) - len(refs) + refs.count(None)
    store([x for x in refs if x is not None], outs[ends:])
    outs = outs[:ends]
    rule = Pullback(jaxpr, nonzero, [typeof(x) for x in leaves], active, in_tree, found["tree"],
                     [typeof(y) for y in outs[:count]], name_of(fun))
    result = tree_unflatten(found["tree"], outs[:count])
    rule.saved, args_res, others = parted(residuals, leaves, in_tree, saveable)
    pull = VJP(rule, args_res, others)
    if has_aux:
        return result, pull, _restore_aux(found, outs[count:])
    return result, pull


def _on_contents(flat: Callable, refs: list) -> Callable:
    """A flat function of contents, which returns the new contents after its results."""
    def on_contents(*xs):
        given = [x if ref is None else Cell(context.trace, x, ref.aval, outer=ref)
                 for x, ref in zip(xs, refs)]
        outs = flat(*given)
        return [*outs, *(cell.content for cell in given if isinstance(cell, Cell))]
    return on_contents


def linearize(fun: Callable, *primals, has_aux: bool = False, in_nzs=None):
    """A function's result at ``primals``, and its derivative there as a linear function.

    Everything that depends on the primals alone is computed once, here.

    >>> y, derivative = linearize(jnp.sin, 0.0)
    >>> derivative(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    check_callable("tanx.linearize", fun)
    if in_nzs is not None:
        raise NotImplementedError("tanx.linearize: in_nzs is not supported.")
    leaves, in_tree = tree_flatten(primals)
    check_leaves("tanx.linearize", fun, primals, {}, leaves)
    if any(map(is_ref, leaves)):
        raise NotImplementedError(explain(
            "tanx.linearize", "does not take references as arguments.",
            hint="close over them, or use tanx.jvp, which takes references for their tangents."))
    leaves = [as_array(x) for x in leaves]
    flat, found = _flat(fun, in_tree, has_aux, "tanx.linearize")
    active = [_inexact(x) for x in leaves]
    outs, nonzero, jaxpr, residuals = linearize_flat(flat, leaves, active)
    count = found["count"]
    rule = _Pushforward(jaxpr, nonzero[:count], [typeof(x) for x in leaves], active, in_tree,
                        found["tree"], [typeof(y) for y in outs[:count]])
    result = tree_unflatten(found["tree"], outs[:count])
    if has_aux:
        aux = _restore_aux(found, outs[count:])
        return result, Partial(rule, residuals), aux
    return result, Partial(rule, residuals)


class _Pushforward:
    """The linear function of one ``linearize``, without its residuals."""

    def __init__(self, jaxpr, nonzero, in_avals, active, in_tree, out_tree, out_avals):
        self.jaxpr, self.nonzero, self.in_avals, self.active = jaxpr, nonzero, in_avals, active
        self.in_tree, self.out_tree, self.out_avals = in_tree, out_tree, out_avals

    @boundary
    def __call__(self, residuals, *tangents):
        leaves, tree = tree_flatten(tangents)
        if tree != self.in_tree:
            raise TypeError(explain(
                "tanx.linearize", "tangents must have the structure of the primals.",
                f"primals:  {self.in_tree}", f"tangents: {tree}"))
        for aval, t in zip(self.in_avals, leaves):
            expected, found = aval.to_tangent(), typeof(t)
            if not expected.matches(found):
                raise ValueError(explain(
                    "tanx.linearize", "a tangent must have the type of its primal.",
                    f"primal:  {aval}", f"tangent: {found}, expected {expected}"))
        given = [as_array(t) for t, is_active in zip(leaves, self.active) if is_active]
        outs = iter(eval_jaxpr(self.jaxpr, residuals, *given))
        return tree_unflatten(self.out_tree, [
            next(outs) if nz else _plain(Zero(aval.to_tangent()))
            for aval, nz in zip(self.out_avals, self.nonzero)])


def linear_transpose(fun: Callable, *primals, reduce_axes=()) -> Callable:
    """The transpose of a function that is linear in its arguments.

    ``primals`` have the types of the arguments (arrays, ``ShapeDtypeStruct``, or any object with a
    shape and a dtype); their values are ignored.

    >>> linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)
    (Array(6., dtype=float32, weak_type=True),)
    """
    check_callable("tanx.linear_transpose", fun)
    if reduce_axes:
        raise NotImplementedError("tanx.linear_transpose: reduce_axes is not supported.")
    leaves, in_tree = tree_flatten(primals)
    in_avals = [described(x) for x in leaves]
    flat, found = _flat(fun, in_tree, False, "tanx.linear_transpose")
    jaxpr, consts = stage(flat, in_avals)
    kinds = [{dtypes.issubdtype(aval.dtype, kind) for aval in (*in_avals, *jaxpr.out_avals)}
             for kind in (np.inexact, np.integer)]
    if {True} not in kinds:
        raise TypeError(explain(
            "tanx.linear_transpose", "arguments and results must be floats or complex numbers, or "
            "all be integers.", f"arguments: {', '.join(map(str, in_avals))}",
            f"results:   {', '.join(map(str, jaxpr.out_avals))}"))
    rule = Transposed(jaxpr, [True] * len(jaxpr.outvars), in_avals, [True] * len(in_avals),
                      in_tree, found["tree"], jaxpr.out_avals, name_of(fun))
    return Partial(rule, consts)


def fwd_and_bwd(fun: Callable, argnums, has_aux: bool = False, jitted: bool = True):
    """The two halves of reverse mode as two functions.

    ``fwd(*args)`` returns the result and residuals; ``bwd(residuals, cotangent)`` returns
    cotangents of the arguments in ``argnums``.

    >>> fwd, bwd = fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
    >>> z, residuals = fwd(2.0, 3.0)
    >>> [float(g) for g in bwd(residuals, 1.0)]
    [3.0, 2.0]
    """
    check_callable("tanx.fwd_and_bwd", fun)
    single = is_single(argnums)
    positions = as_tuple("tanx.fwd_and_bwd", "argnums", argnums, int)

    @boundary
    def fwd(*args, **kwargs):
        chosen = chosen_arguments("tanx.fwd_and_bwd", fun, positions, args)

        def partially(*dynamic):
            whole = list(args)
            for i, x in zip(chosen, dynamic):
                whole[i] = x
            return fun(*whole, **kwargs)

        return vjp(partially, *(args[i] for i in chosen), has_aux=has_aux)

    @boundary
    def bwd(residuals, cotangent):
        found = residuals(cotangent)
        return found[0] if single else found

    return fwd, bwd
