"""``checkpoint``: recompute intermediate values in the backward pass instead of storing them.

A policy tells which values may be stored all the same; it is asked for each equation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from .. import tree_util
from .._core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    Literal,
    Var,
    cached_by_jaxpr,
    eval_jaxpr,
    jaxpr_as_fun,
)
from .._core.linear import Linear, Zero
from .._core.primitive import Kind, Primitive
from .._core.rewrite import dce
from .._core.stage import DebugInfo, stage, stage_closed
from .._core.trace import running
from .._core.types import typeof
from .._ops.derive import instantiate, linear
from .._transforms.linearize import partial_eval
from .._transforms.transpose import backward
from .call import Call

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "name_p", "remat", "remat_p"]


def _transposed_body(closed: ClosedJaxpr, linear_args: tuple[bool, ...],
                     nonzero: tuple[bool, ...]) -> tuple[ClosedJaxpr, list[bool]]:
    """A body that recomputes what is known, then runs what is linear backwards."""
    in_avals, ct_avals = closed.in_avals, [a.to_tangent() for a in closed.out_avals]
    known_avals = [a for a, is_linear in zip(in_avals, linear_args) if not is_linear]
    nonzero_out: list[bool] = []

    def fun(*args):
        known, given = iter(args[:len(known_avals)]), iter(args[len(known_avals):])
        values = [None if is_linear else next(known) for is_linear in linear_args]
        unknown = [a if is_linear else None for a, is_linear in zip(in_avals, linear_args)]
        _, which, jaxpr, residuals = partial_eval(jaxpr_as_fun(closed), unknown, values)
        cts = [next(given) if nz else Zero(a) for a, nz in zip(ct_avals, nonzero)]
        answers = backward(jaxpr, residuals, [Linear(v.aval) for v in jaxpr.invars],
                           [ct for ct, u in zip(cts, which) if u])
        nonzero_out[:] = [type(ct) is not Zero for ct in answers]
        return [instantiate(ct) for ct in answers if type(ct) is not Zero]

    jaxpr, consts = stage(fun, known_avals + [a for a, nz in zip(ct_avals, nonzero) if nz])
    return ClosedJaxpr(jaxpr, consts), nonzero_out


def _split_by_policy(closed: ClosedJaxpr, unknown: tuple[bool, ...], policy: Callable | None,
                     ) -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool], list[bool]]:
    """Known part, part to be recomputed, which outputs are unknown, which arguments it needs.

    The known part gives the known outputs, then the values that ``policy`` lets be stored. The
    other part takes those, then the arguments it needs, and recomputes the rest itself.
    """
    jaxpr = closed.jaxpr
    unknown_vars = {v for v, u in zip(jaxpr.invars, unknown) if u}
    storable: list[Var] = []
    for eqn in jaxpr.eqns:
        if any(type(a) is not Literal and a in unknown_vars for a in eqn.invars):
            unknown_vars.update(eqn.outvars)
        elif policy is not None and policy(eqn.primitive, *(a.aval for a in eqn.invars),
                                           **eqn.params):
            storable.extend(eqn.outvars)
    which = [type(v) is not Literal and v in unknown_vars for v in jaxpr.outvars]
    unknown_outs = [v for v, u in zip(jaxpr.outvars, which) if u]
    stored = set(storable)
    kept = [e for e in jaxpr.eqns if not (e.outvars and all(v in stored for v in e.outvars))]
    later, needed = dce(Jaxpr(jaxpr.constvars, [*storable, *jaxpr.invars], unknown_outs, kept,
                              debug_info=jaxpr.debug_info), [True] * len(unknown_outs))
    later = later.replace(invars=[v for v, n in zip(later.invars, needed) if n])
    stored_needed = [v for v, n in zip(storable, needed) if n]
    known_ins = [v for v, u in zip(jaxpr.invars, unknown) if not u]
    known_outs = [v for v, u in zip(jaxpr.outvars, which) if not u] + stored_needed
    now, _ = dce(Jaxpr(jaxpr.constvars, known_ins, known_outs,
                       [e for e in jaxpr.eqns if not any(v in unknown_vars for v in e.outvars)],
                       debug_info=jaxpr.debug_info), [True] * len(known_outs))
    return (ClosedJaxpr(now, closed.consts), ClosedJaxpr(later, closed.consts), which,
            needed[len(storable):])


class Remat(Call):
    """A call whose intermediate values are recomputed when its derivative needs them."""

    name = "remat2"

    def partial_eval(self, trace, args, params):
        """Compute the known outputs now; record a call that starts over from the arguments."""
        unknown = tuple(trace.unknown(x) for x in args)
        now, later, which, needed = _cached_split(params["jaxpr"], unknown, params["policy"])
        with running(trace.below):
            known = eval_jaxpr(now.jaxpr, now.consts,
                               *(x for x, u in zip(args, unknown) if not u))
        count = len(which) - sum(which)
        operands = known[count:] + [x for x, n in zip(args, needed) if n]
        recorded = iter(trace.record(self, operands,
                                     dict(params, jaxpr=later, differentiated=True)))
        known_outs = iter(known[:count])
        return [next(recorded) if u else next(known_outs) for u in which]

    def transpose(self, cts, *args, jaxpr, **params):
        linear_args = tuple(type(x) is Linear for x in args)
        nonzero = tuple(type(ct) is not Zero for ct in cts)
        body, nonzero_out = _cached_transpose(jaxpr, linear_args, nonzero)
        outs = iter(self.bind(*(x for x in args if type(x) is not Linear),
                              *(ct for ct in cts if type(ct) is not Zero), jaxpr=body, **params))
        found = iter(nonzero_out)
        return [None if not is_linear else next(outs) if next(found)
                else Zero(x.aval.to_tangent()) for x, is_linear in zip(args, linear_args)]


_cached_split = cached_by_jaxpr(_split_by_policy)
_cached_transpose = cached_by_jaxpr(_transposed_body)
remat_p = Remat()


class Name(Primitive):
    """The identity, with a name that policies of ``checkpoint`` go by."""

    name = "name"
    kind = Kind.ELEMENTWISE

    def infer(self, x, *, name):
        return x

    def eval(self, x, *, name):
        return x

    jvp = linear

    def transpose(self, ct, x, *, name):
        return [ct]

    def batch(self, args, dims, *, name):
        return name_p.bind(*args, name=name), dims[0]

    def lower(self, at, x, *, name):
        return x[at]


name_p = Name()


def checkpoint_name(x, name: str):
    """Name a value, or every leaf of a pytree, for policies such as ``save_only_these_names``.

    >>> checkpoint_name(jnp.ones(2), "activations")
    Array([1., 1.], dtype=float32)
    """
    return tree_util.tree_map(lambda leaf: name_p.bind(leaf, name=name), x)


def checkpoint(fun: Callable | None = None, *, prevent_cse: bool = True, policy=None,
               static_argnums=(), concrete=None):
    """Make a function recompute its intermediate values when differentiated in reverse.

    Memory for the backward pass then grows with the arguments and results of ``fun``, not with
    everything inside; the price is one more forward computation. ``policy``, from
    ``tanx.checkpoint_policies``, names values to be stored all the same; ``static_argnums`` are
    arguments to be treated as Python constants; ``prevent_cse`` keeps the compiler from merging
    the recomputation with the first computation.

    >>> f = checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    >>> tanx.grad(f)(1.0)
    Array(0.36004, dtype=float32, weak_type=True)
    """
    if fun is None:
        return functools.partial(checkpoint, prevent_cse=prevent_cse, policy=policy,
                                 static_argnums=static_argnums)
    if isinstance(static_argnums, int):
        static_argnums = (static_argnums,)

    @functools.wraps(fun)
    def checkpointed(*args, **kwargs):
        fixed = {i % len(args): args[i] for i in static_argnums} if args else {}
        dynamic = [x for i, x in enumerate(args) if i not in fixed]
        leaves, in_tree = tree_util.tree_flatten((dynamic, kwargs))
        out_tree = None

        def flat(*flat_args):
            nonlocal out_tree
            given, keywords = tree_util.tree_unflatten(in_tree, flat_args)
            rest = iter(given)
            whole = [fixed[i] if i in fixed else next(rest) for i in range(len(args))]
            outs, out_tree = tree_util.tree_flatten(fun(*whole, **keywords))
            return outs

        debug = DebugInfo("checkpoint", getattr(fun, "__name__", "function"))
        closed, captured = stage_closed(flat, [typeof(x) for x in leaves], debug)
        outs = remat_p.bind(*captured, *leaves, jaxpr=closed, prevent_cse=prevent_cse,
                            differentiated=False, policy=policy)
        return tree_util.tree_unflatten(out_tree, outs)
    return checkpointed


remat = checkpoint


class checkpoint_policies:
    """Policies for :func:`checkpoint`: which values may be stored for the backward pass."""

    @staticmethod
    def everything_saveable(*_, **__) -> bool:
        """Store everything, as without ``checkpoint``."""
        return True

    @staticmethod
    def nothing_saveable(*_, **__) -> bool:
        """Recompute everything."""
        return False

    @staticmethod
    def dots_saveable(primitive, *_, **__) -> bool:
        """Store results of contractions and convolutions, recompute the cheap rest."""
        return primitive.name in ("dot_general", "conv_general_dilated")

    checkpoint_dots = dots_saveable

    @staticmethod
    def dots_with_no_batch_dims_saveable(primitive, *_, **params) -> bool:
        """Store results of contractions without batch dimensions."""
        if primitive.name != "dot_general":
            return False
        _, (lhs_batch, rhs_batch) = params["dimension_numbers"]
        return not lhs_batch and not rhs_batch

    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable

    @staticmethod
    def save_only_these_names(*names: str) -> Callable:
        """Store the values given one of these names by ``checkpoint_name``."""
        return _named_policy(lambda name: name in names)

    @staticmethod
    def save_any_names_but_these(*names: str) -> Callable:
        """Store the values named by ``checkpoint_name``, save those with one of these names."""
        return _named_policy(lambda name: name not in names)

    @staticmethod
    def save_anything_except_these_names(*names: str) -> Callable:
        """Store everything but the values with one of these names."""
        def policy(primitive, *_, **params) -> bool:
            return primitive.name != "name" or params["name"] not in names
        return policy

    @staticmethod
    def save_from_both_policies(first: Callable, second: Callable) -> Callable:
        """Store what either of two policies stores."""
        def policy(primitive, *types, **params) -> bool:
            return bool(first(primitive, *types, **params) or second(primitive, *types, **params))
        return policy


def _named_policy(wanted: Callable[[str], bool]) -> Callable:
    def policy(primitive, *_, **params) -> bool:
        return primitive.name == "name" and wanted(params["name"])
    return policy


