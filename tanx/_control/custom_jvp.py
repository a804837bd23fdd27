"""``custom_jvp``: functions with a forward-mode derivative written by the user."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any

from .. import dtypes, tree_util
from .._base.traceback import boundary
from .._core.linear import Zero, instantiate
from .._core.naming import name_of
from .._core.trace import Tracer
from .._core.types import typeof
from .._ops.convert import stop_gradient
from .._ops.derive import sum_cotangents
from ..errors import explain
from .custom import (
    Arguments,
    CustomCall,
    SymbolicZero,
    batched_flat,
    call_on_contents,
    contents_of,
    flat_leaves,
    process_custom_jvp_call,
    run_on_cells,
    same_type,
)

__all__ = ["custom_jvp", "custom_jvp_call_p"]


class CustomJVPCall(CustomCall):
    """Runs ``call_jaxpr``; differentiates by ``jvp``, a function of primals and tangents."""

    name = "custom_jvp_call"
    name_first = True
    custom_call = staticmethod(process_custom_jvp_call)
    subfuns = ("call_jaxpr", "jvp")

    def jvp(self, primals, tangents, *, jvp, num_consts, symbolic_zeros, **params):
        primals, tangents = primals[num_consts:], tangents[num_consts:]
        if symbolic_zeros:
            given = [SymbolicZero(t.aval) if type(t) is Zero else t for t in tangents]
        else:
            given = [instantiate(t) for t in tangents]
        outs = jvp(*primals, *given)
        half = len(outs) // 2
        self.check_results(outs[:half], "rule", **params)
        avals = [typeof(y).to_tangent() for y in outs[:half]]
        return outs[:half], [Zero(a) if type(t) is SymbolicZero or a.dtype == dtypes.float0 else t
                             for a, t in zip(avals, outs[half:])]

    def batch_axis(self, axis, args, dims, *, call_jaxpr, jvp, num_consts, **params):
        own = dims[num_consts:]
        mapped = [True] if any(d is not None for d in dims) else []
        outs = self.bind(*args, call_jaxpr=batched_flat(call_jaxpr, axis, dims, mapped),
                         jvp=batched_flat(jvp, axis, [*own, *own], mapped), num_consts=num_consts,
                         **params)
        return outs, [0 if mapped[0] else None] * len(outs)

    def on_contents(self, refs, params):
        own = refs[params["num_consts"]:]
        jvp = params["jvp"]

        def jvp_on_contents(*both):
            count = len(own)
            outs, args = run_on_cells(lambda *xs: jvp(*xs, *both[count:]), own, both[:count])
            half = len(outs) // 2
            ends = contents_of(args, own)
            # The rule does not describe writes to references: these have no tangent.
            moved = [instantiate(Zero.tangent_of(x.content)) if x.written else t
                     for x, t, ref in zip(args, both[count:], own) if ref is not None]
            return [*outs[:half], *ends, *outs[half:], *moved]

        return {**params, "call_jaxpr": call_on_contents(params["call_jaxpr"], refs),
                "jvp": functools.update_wrapper(jvp_on_contents, jvp)}

    def show_params(self, params):
        consts = {"num_consts": params["num_consts"]} if params["num_consts"] else {}
        return {"name": params["name"], "call_jaxpr": params["call_jaxpr"],
                "jvp": name_of(params["jvp"]), **consts,
                "symbolic_zeros": params["symbolic_zeros"]}


custom_jvp_call_p = CustomJVPCall()


class custom_jvp:
    """Give a function a custom forward-mode derivative.

    The rule set by :meth:`defjvp` takes the primals and the tangents, each as a tuple, and returns
    the result and its tangent; it must be linear in the tangents, so that reverse mode follows.
    ``nondiff_argnums`` and ``nondiff_argnames`` are arguments passed to the rule unchanged, before
    the two tuples.

    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return jnp.log1p(jnp.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * t
    >>> tanx.grad(log1pexp)(100.0)
    Array(1., dtype=float32, weak_type=True)
    """

    jvp: Any = None
    symbolic_zeros = False

    def __init__(self, fun: Callable, nondiff_argnums=(), nondiff_argnames=()):
        functools.update_wrapper(self, fun)
        self.fun = fun
        self._arguments = Arguments(fun, nondiff_argnums, nondiff_argnames)

    def defjvp(self, jvp: Callable, symbolic_zeros: bool = False) -> Callable:
        """Set the rule; usable as a decorator.

        With ``symbolic_zeros`` the rule gets a ``SymbolicZero`` for each tangent known to be zero.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable | None) -> None:
        """Set the rule by one function per argument: ``jvp(tangent, out, *primals)``, or None."""
        if self._arguments.positions:
            raise TypeError(explain(
                "tanx.custom_jvp.defjvps", "cannot be combined with nondiff_argnums.",
                hint="use defjvp."))

        def jvp(primals, tangents):
            zeros = Zero.tangent_of
            out = self(*primals)
            terms = [zeros(p) if rule is None else rule(t, out, *primals)
                     for rule, t, p in zip(jvps, tangents, primals, strict=True)]
            total = functools.reduce(
                lambda a, b: tree_util.tree_map(sum_cotangents, a, b) if type(a) is not Zero
                and type(b) is not Zero else a if type(b) is Zero else b, terms)
            if type(total) is Zero:
                total = tree_util.tree_map(lambda y: instantiate(zeros(y)), out)
            return out, total
        self.defjvp(jvp)

    def __getattr__(self, name: str):
        # Methods such as ``f.def_vmap(rule)`` set the rule of the wrapped function.
        if not name.startswith("def"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.fun, name)

    def __get__(self, instance, owner=None):
        return self if instance is None else MethodType(self, instance)

    @boundary
    def __call__(self, *args, **kwargs):
        name = name_of(self.fun)
        if self.jvp is None:
            raise AttributeError(explain(
                "tanx.custom_jvp", f"{name} has no derivative rule yet.",
                hint=f"set one with {name}.defjvp."))
        dynamic, fixed, count = self._arguments.take(args, kwargs)
        # Arguments that are not differentiated may still be mapped or staged.
        fixed = {i: tree_util.tree_map(_constant, x) for i, x in fixed.items()}
        leaves, in_tree = flat_leaves(f"tanx.custom_jvp: arguments of {name}", dynamic,
                                      "list it in nondiff_argnums, or close over it.",
                                      keep_numbers=True)
        found: dict = {}

        def flat(*flat_args):
            rest = iter(tree_util.tree_unflatten(in_tree, flat_args))
            whole = [fixed[i] if i in fixed else next(rest) for i in range(count)]
            outs, found["tree"] = tree_util.tree_flatten(self.fun(*whole))
            return outs

        rule = functools.partial(_flat_rule, self, in_tree, tuple(fixed.values()), found)
        functools.update_wrapper(rule, self.jvp)
        outs = custom_jvp_call_p.bind(*leaves, call_jaxpr=flat, jvp=rule, num_consts=0, name=name,
                                      symbolic_zeros=self.symbolic_zeros)
        return tree_util.tree_unflatten(found["tree"], outs)


def _constant(x):
    return stop_gradient(x) if isinstance(x, Tracer) else x


def _flat_rule(custom: custom_jvp, in_tree, fixed, found: dict, *args):
    """The user's rule on flat primals and tangents; checks its results."""
    half = len(args) // 2
    primals = tree_util.tree_unflatten(in_tree, args[:half])
    tangents = tree_util.tree_unflatten(in_tree, args[half:])
    answer = custom.jvp(*fixed, primals, tangents)
    what = f"tanx.custom_jvp: the rule {name_of(custom.jvp)} of {name_of(custom.fun)}"
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise TypeError(explain(what, "must return a pair: the result and its tangent.",
                                f"it gave: {answer!r:.100}"))
    outs, out_tree = tree_util.tree_flatten(answer[0])
    out_tangents, tangent_tree = tree_util.tree_flatten(answer[1])
    if out_tree != tangent_tree:
        raise TypeError(explain(what, "must return a tangent of the structure of the result.",
                                f"result:  {out_tree}", f"tangent: {tangent_tree}"))
    if found.setdefault("tree", out_tree) != out_tree:
        raise TypeError(explain(what, "must return a result of the function's structure.",
                                f"function: {found['tree']}", f"rule:     {out_tree}"))
    for y, t in zip(outs, out_tangents):
        expected = typeof(y).to_tangent()
        if not same_type(expected, t):
            raise TypeError(explain(what, "returned a tangent of the wrong type.",
                                    f"result:   {typeof(y)}", f"expected: {expected}",
                                    f"tangent:  {typeof(t)}"))
    return [*outs, *out_tangents]
