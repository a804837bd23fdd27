"""``checkpoint``: recompute intermediate values in the backward pass instead of storing them.

A policy says which values may be stored anyway; it is called for each equation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import tree_util
from .._base.flags import trace_key
from .._base.traceback import boundary
from .._base.tuples import NamedTuple
from .._core.axes import axis_sizes
from .._core.jaxpr import (
    Atom,
    ClosedJaxpr,
    DropVar,
    JaxprEqn,
    Var,
    cached_by_jaxpr,
    eval_jaxpr,
    jaxpr_as_fun,
)
from .._core.linear import Linear, Zero, instantiate, linear
from .._core.naming import debug_info, name_of, wraps
from .._core.primitive import Kind, Primitive
from .._core.reads import absorb, reading
from .._core.rewrite import dce, inline_calls, prune_constants, substitute
from .._core.spaces import MemorySpace
from .._core.stage import Staged, memory_of, stage, stage_closed
from .._core.trace import running
from .._core.types import ShapedArray, typeof
from .._ops.annotations import ArrayCopySemantics, device_put_p
from .._ops.base import as_array
from .._transforms.linearize import partial_eval, partial_eval_jaxpr
from .._transforms.transpose import backward
from ..errors import explain
from .call import Call, jit_p
from .custom import flat_leaves
from .remat_loops import expose_loops

__all__ = ["Offloadable", "checkpoint", "checkpoint_name", "checkpoint_name_fwd", "name_p", "remat",
           "remat_p"]


class Offloadable(NamedTuple):
    """An answer of a policy: store the value in another memory.

    On the CPU the two are the same, and nothing moves.
    """

    src: str
    dst: str

    @property
    def space(self) -> MemorySpace:
        """The memory space of the stored value."""
        return MemorySpace.Host if self.dst == MemorySpace.Host.kind else MemorySpace.Device


def _transposed_body(closed: ClosedJaxpr, linear_args: tuple[bool, ...],
                     nonzero: tuple[bool, ...]) -> tuple[ClosedJaxpr, list[bool]]:
    """A body that recomputes the known part, then runs the linear part backwards."""
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

    The known part returns the known outputs, then the values that ``policy`` allows to be stored.
    The other part takes those, then the arguments it needs, and recomputes the rest itself.
    """
    wanted: list[Var] = []
    again: dict[Var, Atom] = {}
    moved: dict[Var, Var] = {}
    if any(effect.observable for effect in closed.effects):
        policy = _or_effects(policy)
    if policy is not None:
        closed = inline_calls(closed, _body_of_jit)  # a policy applies inside of functions
        closed, wanted, again = expose_loops(closed, unknown, policy)  # and into loops
        allowed, moved = _stored_values(closed, policy, set(again.values()))
        wanted = list(dict.fromkeys([*wanted, *allowed]))
    jaxpr = closed.jaxpr
    outs = [*jaxpr.outvars, *(moved.get(v, v) for v in wanted)]
    both = jaxpr.replace(outvars=outs, eqns=_with_transfers(jaxpr.eqns, moved))
    known, _, which, _ = partial_eval_jaxpr(ClosedJaxpr(both, closed.consts), unknown)
    which, found = which[:len(jaxpr.outvars)], which[len(jaxpr.outvars):]
    storable = [v for v, u in zip(wanted, found) if not u]
    stored = set(storable)
    jaxpr = substitute(jaxpr, {v: w for v, w in again.items() if v not in stored})
    outs = [v for v, u in zip(jaxpr.outvars, which) if u]
    later, needed = dce(
        jaxpr.replace(invars=[*(moved.get(v, v) for v in storable), *jaxpr.invars], outvars=outs,
                      eqns=[new for e in jaxpr.eqns for new in _without(e, stored, moved)]),
        [True] * len(outs))
    later = later.replace(invars=[v for v, n in zip(later.invars, needed) if n])
    used = [True] * which.count(False) + needed[:len(storable)]
    now, _ = dce(known.jaxpr, used + [False] * (len(known.jaxpr.outvars) - len(used)))
    return (prune_constants(ClosedJaxpr(now, known.consts)),
            prune_constants(ClosedJaxpr(later, closed.consts)), which, needed[len(storable):])


def _or_effects(policy: Callable | None) -> Callable:
    """A policy that also stores results of effects, which must not happen again."""
    def stored(primitive, *types, **params):
        return policy is not None and policy(primitive, *types, **params) or any(
            effect.observable for effect in primitive.effects(*types, **params))
    return stored


def _stored_values(closed: ClosedJaxpr, policy: Callable, repeated: set[Atom],
                   ) -> tuple[list[Var], dict[Var, Var]]:
    """The values that a policy allows to be stored, and copies of those that it offloads."""
    wanted: list[Var] = []
    moved: dict[Var, Var] = {}
    for e in closed.eqns:
        if not repeated.isdisjoint(e.outvars):
            continue
        answer = policy(e.primitive, *(a.aval for a in e.invars), **e.params)
        if answer:
            wanted += e.outvars
        if type(answer) is Offloadable:
            moved.update((v, Var(v.aval.update(memory_space=answer.space))) for v in e.outvars
                         if type(v) is Var and type(v.aval) is ShapedArray)
    return wanted, moved


def _transfer(source: Var, target: Var, eqn: JaxprEqn) -> JaxprEqn:
    """An equation that copies a value of ``eqn`` to the memory space of ``target``."""
    return JaxprEqn([source], [target], device_put_p, {
        "devices": (target.aval.memory_space,), "srcs": (None,),
        "copy_semantics": (ArrayCopySemantics.ALWAYS_COPY,)}, source_info=eqn.source_info)


def _with_transfers(eqns: Sequence[JaxprEqn], moved: dict[Var, Var]) -> list[JaxprEqn]:
    """Equations with copies of offloaded values after those that compute them."""
    return [new for e in eqns for new in (
        e, *(_transfer(v, moved[v], e) for v in e.outvars if v in moved))]


def _without(eqn: JaxprEqn, stored: set[Var], moved: dict[Var, Var]) -> list[JaxprEqn]:
    """An equation without the results that are stored already; offloaded ones are copied back."""
    if stored.isdisjoint(eqn.outvars):
        return [eqn]
    back = [_transfer(moved[v], v, eqn) for v in eqn.outvars if v in stored and v in moved]
    if all(v in stored for v in eqn.outvars):
        return back
    return [eqn.replace(outvars=[DropVar(v.aval) if v in stored else v for v in eqn.outvars]),
            *back]


def _body_of_jit(eqn: JaxprEqn) -> ClosedJaxpr | None:
    return eqn.params["jaxpr"] if eqn.primitive is jit_p else None


class Remat(Call):
    """A call whose intermediate values are recomputed when its derivative needs them."""

    name = "remat2"

    def written(self, params):
        """A plain call, without the policy, which only matters for derivatives."""
        return self.name, {key: value for key, value in params.items() if key != "policy"}

    def restored(self, params):
        return {"policy": None, **params}

    def partial_eval(self, trace, args, params):
        """Compute the known outputs now; record a call that starts again from the arguments."""
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
    """The identity, with a name for policies of ``checkpoint``."""

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
    return tree_util.tree_map(lambda leaf: name_p.bind(as_array(leaf), name=name), x)


checkpoint_name_fwd = checkpoint_name
"""The unnamed value: names have no meaning in the backward pass."""


def checkpoint(fun: Callable | None = None, *, prevent_cse: bool = True, policy=None,
               static_argnums=(), static_argnames=(), concrete=None):
    """Make a function recompute its intermediate values when differentiated in reverse.

    Memory for the backward pass then grows with the arguments and results of ``fun``, not with
    everything inside; the price is one more forward computation. ``policy``, from
    ``tanx.checkpoint_policies``, selects values to store anyway; ``static_argnums`` and
    ``static_argnames`` are arguments to treat as Python constants; ``prevent_cse`` keeps the
    compiler from merging the recomputation with the first computation.

    >>> f = checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    >>> tanx.grad(f)(1.0)
    Array(0.36004, dtype=float32, weak_type=True)
    """
    if fun is None:
        return functools.partial(checkpoint, prevent_cse=prevent_cse, policy=policy,
                                 static_argnums=static_argnums, static_argnames=static_argnames)
    if not callable(fun):
        raise TypeError(explain("tanx.checkpoint", "needs a function.", f"given: {fun!r:.100}"))
    positions = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)

    @boundary
    @wraps(fun)
    def checkpointed(*args, **kwargs):
        fixed = _static(fun, positions, args)
        keywords = {name: kwargs.pop(name) for name in names if name in kwargs}
        dynamic = tuple(x for i, x in enumerate(args) if i not in fixed)
        leaves, in_tree = flat_leaves(f"tanx.checkpoint of {name_of(fun)}", (dynamic, kwargs),
                                      "list it in static_argnums or static_argnames.")
        staged, captured = _staged(fun, args, kwargs, fixed, keywords, in_tree,
                                   tuple(typeof(x) for x in leaves))
        outs = remat_p.bind(*captured, *leaves, jaxpr=staged.closed, prevent_cse=prevent_cse,
                            differentiated=False, policy=policy)
        return tree_util.tree_unflatten(staged.out_tree, outs)
    return checkpointed


remat = checkpoint


def _static(fun: Callable, positions: tuple[int, ...], args: tuple) -> dict[int, Any]:
    count = len(args)
    if any(not -count <= i < count for i in positions):
        raise ValueError(explain(
            "tanx.checkpoint", "static_argnums names an argument that was not passed by position.",
            f"static_argnums: {positions}", f"arguments:      {count} passed to {name_of(fun)}"))
    return {i % count: args[i] for i in positions}


def _staged(fun: Callable, args: tuple, kwargs: dict, fixed: dict, keywords: dict, in_tree,
            avals: tuple) -> tuple[Staged, list]:
    """The function staged for one kind of arguments, and the traced values it closes over."""
    count = len(args)
    static = tuple((k, type(v), v) for k, v in (*fixed.items(), *keywords.items()))
    key = ("checkpoint", in_tree, avals, static, trace_key(), tuple(axis_sizes().items()))
    try:
        memory = memory_of(fun)
        known = memory.find(key)
        if known is not None:
            return known, []
    except TypeError:  # static values that are not hashable are not cached
        memory = None
    out_tree = None

    def flat(*flat_args):
        nonlocal out_tree
        given, rest = tree_util.tree_unflatten(in_tree, flat_args)
        dynamic = iter(given)
        whole = [fixed[i] if i in fixed else next(dynamic) for i in range(count)]
        result = fun(*whole, **rest, **keywords)
        outs, out_tree = flat_leaves(f"tanx.checkpoint: result of {name_of(fun)}", result)
        return outs

    with reading(fun, (*fixed.values(), *keywords.values())) as reads:
        closed, captured = stage_closed(flat, avals,
                                        debug_info("checkpoint", fun, args, kwargs, fixed),
                                        shares_literals=False)
    guards = reads.guards(closed.jaxpr)
    absorb(guards)
    staged = Staged(closed, out_tree)
    if memory is not None and not captured:
        memory.keep(key, staged, guards)
    return staged, captured
