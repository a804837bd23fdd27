"""``custom_gradient``: a function that returns its derivative together with its result."""

from __future__ import annotations

import functools
from collections.abc import Callable

from .. import dtypes, tree_util
from .._base.traceback import boundary
from .._core.jaxpr import eval_jaxpr
from .._core.linear import instantiate
from .._core.naming import name_of, wraps
from .._core.stage import stage
from .._core.types import typeof
from ..errors import explain
from .accumulators import GradAccum, NullAccum, RefAccum, ValAccum
from .custom_vjp import custom_vjp

__all__ = ["custom_gradient"]


def custom_gradient(fun: Callable | None = None, *, with_logs: bool = False, remat: bool = False,
                    with_accums=None):
    """Give a function a derivative by letting it return ``(result, vjp)``.

    ``vjp`` takes the cotangent of the result and returns that of the argument, or a tuple of them
    for several arguments.

    Args:
      with_logs: ``vjp`` returns a pair: cotangents, and a dict of values to log, as for
        :meth:`custom_vjp.defvjp_with_logs`.
      remat: The function returns ``(result, again)``, where ``again(*args)`` returns the result and
        ``vjp``. Both run in the forward pass, and again where ``checkpoint`` recomputes it.
      with_accums: ``vjp(cotangent, *accumulators)`` adds cotangents to accumulators, one for each
        leaf of the arguments, and returns None or a dict of values to log. ``with_accums`` is the
        kind of accumulators, ``ValAccum`` or ``RefAccum``, or a tree of these that is a prefix of
        the arguments.

    >>> @custom_gradient
    ... def square(x):
    ...     return x ** 2, lambda ct: 2 * x * ct
    >>> tanx.grad(square)(3.0)
    Array(6., dtype=float32, weak_type=True)

    >>> @custom_gradient(with_logs=True)
    ... def logged(x):
    ...     return x ** 2, lambda ct: (2 * x * ct, {"ct": ct})
    >>> tanx.vjp(logged, 3.0)[1].with_logs(1.0)[1]
    {'ct': 1.0}
    """
    if with_accums is not None and (remat or with_logs):
        raise NotImplementedError(explain(
            "tanx.custom_gradient", "with_accums excludes the other options: vjp returns logs.",
            f"remat:     {remat}", f"with_logs: {with_logs}"))
    if fun is None:
        return functools.partial(custom_gradient, with_logs=with_logs, remat=remat,
                                 with_accums=with_accums)

    @boundary
    @wraps(fun)
    def wrapped(*args, **kwargs):
        kinds = None if with_accums is None else _kinds(with_accums, args)

        def both(*xs):
            result, rule = _pair(fun, fun(*xs, **kwargs))
            return _pair(rule, rule(*xs)) if remat else (result, rule)

        custom = custom_vjp(lambda *xs: both(*xs)[0])

        def fwd(*xs):
            result, rule = both(*xs)
            leaves, tree = tree_util.tree_flatten(result)
            log_tree = None

            def flat(*cts):
                nonlocal log_tree
                answer, logs = _answer(rule, tree_util.tree_unflatten(tree, cts), xs, kinds,
                                       with_logs)
                logged, log_tree = tree_util.tree_flatten(logs)
                return [*answer, *logged]

            jaxpr, residuals = stage(flat, [typeof(y).to_tangent() for y in leaves])
            return result, _Residuals((jaxpr, log_tree), residuals)

        def bwd(res, ct):
            (jaxpr, log_tree), structure = res.known, tree_util.tree_structure(args)
            outs = eval_jaxpr(jaxpr, res.values, *tree_util.tree_leaves(ct))
            count = len(outs) - log_tree.num_leaves
            return (tree_util.tree_unflatten(structure, outs[:count]),
                    tree_util.tree_unflatten(log_tree, outs[count:]))

        custom.defvjp_with_logs(fwd, bwd)
        return functools.update_wrapper(custom, fun)(*args)
    return wrapped


def _pair(fun: Callable, answer):
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise TypeError(explain(
            "tanx.custom_gradient", f"{name_of(fun)} must return a pair: its result, and "
            "the function from its cotangent to that of the arguments.",
            f"it gave: {answer!r:.100}"))
    return answer


def _answer(rule: Callable, ct, xs: tuple, kinds, with_logs: bool) -> tuple[list, dict]:
    """The cotangents that a rule returns, one for each leaf of ``xs``, and its logs."""
    if kinds is not None:
        accums = [_accum(kind, x) for kind, x in zip(kinds, tree_util.tree_leaves(xs))]
        logs = rule(ct, *tree_util.tree_unflatten(tree_util.tree_structure(xs), accums))
        return [instantiate(accum.freeze()) for accum in accums], logs or {}
    answer, logs = rule(ct), None
    if with_logs:
        answer, logs = _pair(rule, answer)
    return tree_util.tree_leaves(answer), logs or {}


def _accum(kind: type, x) -> GradAccum:
    aval = typeof(x).to_tangent()
    return NullAccum(aval) if aval.dtype == dtypes.float0 else kind(aval)


def _kinds(with_accums, args: tuple) -> list[type]:
    """The kind of accumulator for each leaf of the arguments."""
    for kind in tree_util.tree_leaves(with_accums):
        if kind not in (ValAccum, RefAccum):
            raise TypeError(explain(
                "tanx.custom_gradient", "with_accums must consist of ValAccum and RefAccum.",
                f"given: {kind!r:.100}"))
    return tree_util.tree_leaves(tree_util.tree_map(
        lambda kind, part: tree_util.tree_map(lambda _: kind, part), with_accums, args))


class _Residuals:
    """The residuals that a rule closes over, as a pytree."""

    def __init__(self, known, values):
        self.known, self.values = known, values


tree_util.register_pytree_node(
    _Residuals, lambda r: (r.values, r.known),
    lambda known, values: _Residuals(known, list(values)))
