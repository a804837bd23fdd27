"""``cond`` and ``switch``: one of several functions runs, chosen by a value.

All branches take the same operands and return results of the same types. Each transformation keeps
the signatures of all branches equal: an input or output of one is an input or output of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, tree_util
from .._base.config import jit_disabled
from .._base.tuples import NamedTuple
from .._core.effects import NamedAxisEffect
from .._core.explicit import alike
from .._core.flow import Choice
from .._core.high import is_high
from .._core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    Var,
    cached_by_jaxpr,
    eval_jaxpr,
    jaxpr_as_fun,
    one_equation,
)
from .._core.linear import Linear, Zero, never
from .._core.primitive import Kind
from .._core.refs import check_distinct
from .._core.rewrite import dce
from .._core.stage import captured_by, stage
from .._core.trace import Tracer, running
from .._core.types import ShapedArray, is_arraylike, typeof
from .._ops.base import broadcast_in_dim, materialize
from .._ops.compare import clamp, ne, select_n
from .._ops.convert import convert
from .._ops.create import scratch
from .._ops.operands import like
from .._transforms.linearize import partial_eval_jaxpr
from ..errors import explain
from .call import (
    NO_TARGETS,
    Targets,
    as_unit,
    backward_body,
    batched_body,
    forward_body,
    has_tapes,
    known_now,
)
from .carry import Body, described, stage_body, unshared
from .custom import flat_leaves
from .scan import map_lanes
from .sequences import typed
from .stateful import RunsFunctions

__all__ = ["cond", "cond_p", "platform_dependent", "switch"]

_INT32 = np.dtype(np.int32)
Branches = tuple[ClosedJaxpr, ...]


def _alike(transform: Callable, branches: Branches, *key) -> tuple[Branches, list]:
    """Every branch transformed, each with all results that any branch has; and which they are."""
    found = [transform(branch, *key)[1] for branch in branches]
    wanted = tuple(any(f is not None and f is not False for f in each) for each in zip(*found))
    done = [transform(branch, *key, wanted) for branch in branches]
    return tuple(body for body, _ in done), done[0][1]


class Cond(RunsFunctions):
    """Runs one of the branches, whose number is the first operand, on the other operands."""

    name = "cond"
    kind = Kind.CALL
    multiple_results = True

    def infer(self, index, *operands, branches: Branches):
        if index.shape or index.dtype != _INT32:
            raise TypeError(explain("tanx.lax.cond", "the index must be an int32[].",
                                    f"index: {index}"))
        for number, branch in enumerate(branches):
            wrong = [i for i, (a, b) in enumerate(zip(branch.in_avals, operands, strict=True))
                     if not a.matches(b)]
            if wrong:
                raise TypeError(explain(
                    "tanx.lax.cond", "operands must have the types that branches take.",
                    f"operand {wrong[0]}: {operands[wrong[0]]}",
                    f"branch {number}:  {branch.in_avals[wrong[0]]}"))
        return _joined(branches)

    def effects(self, *types, branches: Branches):
        return frozenset().union(*(branch.effects for branch in branches))

    def flow(self, params):
        return Choice(params["branches"])

    def with_flow(self, params, flow):
        return dict(params, branches=flow.branches)

    def writes_tapes(self, params):
        return any(map(has_tapes, params["branches"]))

    def named_axes(self, params):
        return tuple(e.name for branch in params["branches"] for e in branch.effects
                     if isinstance(e, NamedAxisEffect))

    def bind(self, index, *operands, branches: Branches):
        # Values that a user's rule in a transformed branch closes over are operands of all
        # branches.
        found = [captured_by(branch) for branch in branches]
        if any(captured for _, captured in found):
            branches = tuple(_with_more(branch, found, i) for i, (branch, _) in enumerate(found))
        return super().bind(index, *(x for _, captured in found for x in captured), *operands,
                            branches=branches)

    def eval(self, index, *operands, branches: Branches):
        return _run(branches, int(index), typed(operands, branches[0].in_avals))

    def jvp(self, primals, tangents, *, branches: Branches):
        nonzero = tuple(type(t) is not Zero for t in tangents[1:])
        bodies, nonzero_out = _alike(forward_body, branches, nonzero)
        given = [t for t in tangents[1:] if type(t) is not Zero]
        outs = self.bind(*primals, *given, branches=bodies)
        out_tangents = iter(outs[len(nonzero_out):])
        return outs[:len(nonzero_out)], [
            next(out_tangents) if nz else Zero(a.to_tangent())
            for a, nz in zip(_joined(branches), nonzero_out)]

    def partial_eval(self, trace, args, params):
        """Run the known part of the chosen branch now, and record another choice for the rest."""
        unknown = tuple(trace.unknown(x) for x in args[1:])
        if trace.unknown(args[0]):
            return trace.record(self, args, params)
        chosen = _concrete(args[0])
        if chosen is not None and self.writes_tapes(params) and known_now(trace, args):
            units = tuple(as_unit(branch, "branch") for branch in params["branches"])
            return _run(units, int(chosen), args[1:])
        first, *rest = params["branches"]
        split = _split(first, tuple(rest), unknown)
        index, known_args = args[0], [x for x, u in zip(args[1:], unknown) if not u]
        known: list = []
        if split.known[0].jaxpr.outvars or any(branch.effects for branch in split.known):
            with running(trace.below):
                known = self.bind(index, *known_args, branches=split.known)
        count = len(split.which) - sum(split.which)
        operands = [index, *(known_args[i] for i in split.passed), *known[count:],
                    *(x for x, u in zip(args[1:], unknown) if u)]
        recorded = iter(trace.record(self, operands, dict(branches=split.unknown)))
        known_outs = iter(known[:count])
        return [next(recorded) if u else next(known_outs) for u in split.which]

    def transpose(self, cts, *args, branches: Branches):
        return _backward(NO_TARGETS, cts, args, branches)

    def transpose_into(self, refs, cts, *args, branches: Branches):
        return _backward(Targets.of(refs[1:]), cts, args, branches)

    def batch_axis(self, axis, args, dims, *, branches: Branches):
        """One choice for the batch if all lanes choose the same, otherwise one per lane."""
        if dims[0] is None:
            bodies, out_dims = _alike(batched_body, branches, axis, tuple(dims[1:]))
            return self.bind(*args, branches=bodies), out_dims
        if NamedAxisEffect(axis.name) in self.effects(branches=branches) or _harmless(branches):
            outs = _selected(axis, args, dims, branches)
            return outs, [0] * len(outs)
        return map_lanes(_lane(branches[0], branches[1:]), axis.size, args, dims)

    batch = never("branches are batched by batch_axis, which gets the mapped axis")
    lower = never("the compiler makes branches of it")

    def dce(self, used_outs, eqn):
        """Drop equations that the used results need in no branch, and operands used only there."""
        first, *rest = eqn.params["branches"]
        smaller = _without_dead_code(first, tuple(rest), tuple(used_outs))
        if smaller is None:
            return [True] * len(eqn.invars), eqn
        branches, used_ins = smaller
        used_ins = [True, *used_ins]
        return used_ins, eqn.replace(
            invars=[x for x, used in zip(eqn.invars, used_ins) if used],
            outvars=[v for v, used in zip(eqn.outvars, used_outs) if used],
            params=dict(branches=branches), effects=self.effects(branches=branches))


cond_p = Cond()


def _backward(targets: Targets, cts, args, branches: Branches) -> list | None:
    index, *operands = args
    linear = tuple(type(x) is Linear for x in operands)
    nonzero = tuple(type(ct) is not Zero for ct in cts)
    bodies, nonzero_out = _alike(backward_body, branches, linear, nonzero, *targets.key)
    known = [x for x in operands if type(x) is not Linear]
    if targets.are_kept(known, *bodies):
        return None
    outs = cond_p.bind(index, *known, *targets.refs, *(ct for ct in cts if type(ct) is not Zero),
                       branches=bodies)
    return [None, *targets.answers(operands, outs, nonzero_out)]


def _with_more(branch: ClosedJaxpr, found: Sequence[tuple[ClosedJaxpr, list]],
               position: int) -> ClosedJaxpr:
    """A branch with arguments for the values that each branch captures."""
    own = len(found[position][1])
    given = branch.jaxpr.invars
    invars = [v for i, (_, captured) in enumerate(found)
              for v in (given[:own] if i == position else [Var(typeof(x)) for x in captured])]
    return ClosedJaxpr(branch.jaxpr.replace(invars=[*invars, *given[own:]]), branch.consts)


def _concrete(index):
    """An index that is known, and the same for all lanes; otherwise None."""
    return index.concrete() if isinstance(index, Tracer) else index


def _joined(branches: Branches) -> list[ShapedArray]:
    """The types of results: those of the first branch, which decides weakness as in JAX.

    For ``cond`` that is ``false_fun``. Under strict promotion, programs depend on it, such as a
    check that either raises from a callback, whose results are never weak, or returns its operand.
    """
    return list(branches[0].out_avals)


def _run(branches: Branches, index: int, operands: Sequence) -> list:
    """Run one branch; the results have the types that hold for all of them."""
    chosen = branches[min(max(index, 0), len(branches) - 1)]
    outs = eval_jaxpr(chosen.jaxpr, chosen.consts, *operands)
    return [y if typeof(y).weak_type == a.weak_type else convert(y, a.dtype, a.weak_type)
            for y, a in zip(outs, _joined(branches))]


@cached_by_jaxpr
def _lane(first: ClosedJaxpr, rest: Branches) -> ClosedJaxpr:
    """A function that consists of one choice."""
    types = [ShapedArray((), _INT32), *first.in_avals]
    return one_equation(cond_p, types, dict(branches=(first, *rest)))


# Operations that cost almost nothing and are harmless, with their derivatives, if not taken.
_HARMLESS = frozenset((
    "abs", "add", "and", "broadcast_in_dim", "convert_element_type", "copy", "eq", "floor", "ge",
    "gt", "le", "lt", "max", "min", "ne", "neg", "not", "or", "reshape", "round", "select_n",
    "sign", "squeeze", "stop_gradient", "sub", "xor"))
_FEW = 16
"""Limits for computing all branches: equations of all together, and elements of each result."""


def _harmless(branches: Branches) -> bool:
    """Whether computing every branch and selecting costs no more than taking one."""
    return (not any(map(is_high, branches))
            and all(eqn.primitive.name in _HARMLESS for branch in branches for eqn in branch.eqns)
            and sum(len(branch.eqns) for branch in branches) <= _FEW
            and all(a.size <= _FEW for branch in branches for e in branch.eqns
                    for a in (v.aval for v in e.outvars)))


def _selected(axis, args: Sequence, dims: Sequence, branches: Branches) -> list:
    """Compute every branch for all lanes, then select the results that each lane has chosen."""
    index = materialize(args[0], dims[0], axis.size)
    bodies, _ = zip(*(batched_body(branch, axis, tuple(dims[1:]), (True,) * len(branch.out_avals))
                      for branch in branches))
    outs = [jaxpr_as_fun(body)(*args[1:]) for body in bodies]
    return [select_n(broadcast_in_dim(index, typeof(cases[0]).shape, (0,)), *cases)
            for cases in zip(*outs)]


class _Split(NamedTuple):
    """Branches split into a known and an unknown part, and the residuals between them."""

    known: Branches  # from known arguments to known results, then residuals
    unknown: Branches  # from passed values, residuals and unknown arguments to the other results
    which: list[bool]  # results that are unknown
    passed: list[int]  # known arguments that the unknown parts need


@cached_by_jaxpr
def _split(first: ClosedJaxpr, rest: Branches, unknown: tuple[bool, ...]) -> _Split:
    """Split every branch; residuals of one type share a place among the results."""
    branches = (first, *rest)
    which = [any(each) for each in
             zip(*(partial_eval_jaxpr(branch, unknown)[2] for branch in branches))]
    parts = [partial_eval_jaxpr(branch, unknown, which) for branch in branches]
    count = len(which) - sum(which)
    residuals = [known.out_avals[count:] for known, _, _, _ in parts]
    places, slots = _places(residuals)
    passed = sorted({i for *_, forwarded in parts for i in forwarded if i is not None})
    known_avals = [a for a, u in zip(first.in_avals, unknown) if not u]
    return _Split(
        tuple(_known_branch(known, count, where, slots)
              for (known, *_), where in zip(parts, places)),
        tuple(_unknown_branch(later, forwarded, where, slots, passed, known_avals)
              for (_, later, _, forwarded), where in zip(parts, places)),
        which, passed)


def _places(residuals: Sequence[Sequence[ShapedArray]]) -> tuple[list[list[int]], list]:
    """Where residuals of each branch go in a list common to all, and the types in that list."""
    slots: list[ShapedArray] = []
    places = []
    for avals in residuals:
        free = list(range(len(slots)))
        where = []
        for aval in (a.strip_weak_type() for a in avals):
            place = next((i for i in free if slots[i] == aval), None)
            if place is None:
                place = len(slots)
                slots.append(aval)
            else:
                free.remove(place)
            where.append(place)
        places.append(where)
    return places, slots


def _known_branch(known: ClosedJaxpr, count: int, where: list[int], slots: list) -> ClosedJaxpr:
    """The known part of a branch, with its residuals in their places and fillers in others."""
    def fun(*args):
        outs = jaxpr_as_fun(known)(*args)
        at = dict(zip(where, outs[count:]))
        return outs[:count] + [at[i] if i in at else scratch(a.shape, a.dtype)
                               for i, a in enumerate(slots)]
    return ClosedJaxpr(*stage(fun, known.in_avals, known.jaxpr.debug_info))


def _unknown_branch(later: ClosedJaxpr, forwarded: list, where: list[int], slots: list,
                    passed: list[int], known_avals: list) -> ClosedJaxpr:
    """The unknown part of a branch as a function of shared operands, residuals and unknowns."""
    jaxpr = later.jaxpr
    own = dict(zip([f for f in forwarded if f is not None],
                   [v for v, f in zip(jaxpr.invars, forwarded) if f is not None]))
    computed = dict(zip(where, [v for v, f in zip(jaxpr.invars, forwarded) if f is None]))
    invars = [own[i] if i in own else Var(known_avals[i]) for i in passed]
    invars += [computed[i] if i in computed else Var(a) for i, a in enumerate(slots)]
    return ClosedJaxpr(jaxpr.replace(invars=invars + jaxpr.invars[len(forwarded):]), later.consts)


@cached_by_jaxpr
def _without_dead_code(first: ClosedJaxpr, rest: Branches, used_outs: tuple[bool, ...],
                       ) -> tuple[Branches, list[bool]] | None:
    """Smaller branches and which operands they take; None if nothing can be dropped."""
    branches = (first, *rest)
    found = [dce(branch.jaxpr, used_outs) for branch in branches]
    used = [any(each) for each in zip(*(used_ins for _, used_ins in found))]
    if all(used) and all(new is old.jaxpr for (new, _), old in zip(found, branches)):
        return None

    def taking_used(jaxpr: Jaxpr) -> Jaxpr:
        return jaxpr.replace(invars=[v for v, u in zip(jaxpr.invars, used) if u])
    return tuple(ClosedJaxpr(taking_used(new), old.consts)
                 for (new, _), old in zip(found, branches)), used


# -- public functions ------------------------------------------------------------------------------

_MISSING = object()


def cond(pred, true_fun, false_fun, *operands, operand=_MISSING):
    """Run ``true_fun(*operands)`` if ``pred`` holds, else ``false_fun(*operands)``.

    Both return pytrees of the same structure and types. Only one of them runs, under ``vmap`` too,
    where each element of the batch takes its own branch. ``pred`` is a scalar; nonzero numbers are
    true.

    >>> lax.cond(3 > 2, lambda x: x + 1, lambda x: x - 1, 10.0)
    Array(11., dtype=float32, weak_type=True)
    """
    if (len(operands) == 2 and not callable(true_fun) and callable(false_fun)
            and callable(operands[1])):  # cond(pred, true_operand, true_fun, false_operand, …)
        on_true, on_false = false_fun, operands[1]
        return cond(pred, lambda both: on_true(both[0]), lambda both: on_false(both[1]),
                    (true_fun, operands[0]))
    if operand is not _MISSING:
        if operands:
            raise TypeError(explain("tanx.lax.cond", "takes operands by position or operand=, "
                                    "not both."))
        operands = (operand,)
    if not (callable(true_fun) and callable(false_fun)):
        raise TypeError(explain(
            "tanx.lax.cond", "true_fun and false_fun must be functions.",
            f"true_fun:  {true_fun!r:.100}", f"false_fun: {false_fun!r:.100}",
            hint="write lax.cond(pred, lambda x: ..., lambda x: ..., x)."))
    index = convert(_truth(pred), _INT32)
    return _choose("tanx.lax.cond", index, {"true_fun": true_fun, "false_fun": false_fun},
                   operands, reverse=True)


def _truth(pred):
    """A predicate as a scalar of type bool."""
    if not is_arraylike(pred) or typeof(pred).shape:
        found = typeof(pred) if is_arraylike(pred) else f"{pred!r:.100}"
        raise TypeError(explain(
            "tanx.lax.cond", "the predicate must be a scalar.", f"pred: {found}",
            hint="use pred.any() or pred.all() for one choice, tanx.numpy.where(pred, x, y) or "
                 "tanx.vmap of cond for one choice per element."))
    if not dtypes.issubdtype(typeof(pred).dtype, np.number) and typeof(pred).dtype != bool:
        raise TypeError(explain(
            "tanx.lax.cond", "the predicate must be a boolean or a number.",
            f"pred: {typeof(pred)}"))
    if typeof(pred).dtype == bool:
        return pred
    return ne(convert(pred, typeof(pred).dtype, typeof(pred).weak_type), like(pred, 0))


def switch(index, branches, *operands, operand=_MISSING):
    """Run the function ``branches[index]`` on the operands.

    ``index``, an integer, is clamped into range first. All functions return pytrees of the same
    structure and types; only one of them runs, under ``vmap`` too.

    >>> lax.switch(2, [jnp.sin, jnp.cos, jnp.abs], -5.0)
    Array(5., dtype=float32, weak_type=True)
    """
    branches = list(branches)
    if operand is not _MISSING:
        if operands:
            raise TypeError(explain("tanx.lax.switch", "takes operands by position or operand=, "
                                    "not both."))
        operands = (operand,)
    if not branches:
        raise ValueError(explain("tanx.lax.switch", "needs at least one branch."))
    if not all(map(callable, branches)):
        raise TypeError(explain("tanx.lax.switch", "branches must be functions.",
                                f"branches: {branches!r:.200}"))
    kind = typeof(index) if is_arraylike(index) else None
    if kind is None or kind.shape or not dtypes.issubdtype(kind.dtype, np.integer):
        raise TypeError(explain(
            "tanx.lax.switch", "the index must be an integer scalar.",
            f"index: {f'{index!r:.100}' if kind is None else kind}",
            hint="convert it with .astype(int), or tanx.vmap the switch over many indices."))
    if len(branches) == 1:
        return branches[0](*operands)
    index = clamp(like(np.int32(0), 0), convert(index, _INT32),
                  like(np.int32(0), len(branches) - 1))
    named = {f"branch {i}": branch for i, branch in enumerate(branches)}
    return _choose("tanx.lax.switch", index, named, operands)


def platform_dependent(*args, default: Callable | None = None, **per_platform: Callable):
    """Run the function written for the current platform, else ``default``.

    >>> lax.platform_dependent(-1.0, cpu=jnp.abs, default=jnp.sign)
    Array(1., dtype=float32, weak_type=True)
    """
    chosen = per_platform.get("cpu", default)
    if chosen is None:
        raise NotImplementedError(explain(
            "tanx.lax.platform_dependent", "there is no function for this platform.",
            "platform: cpu", f"given:    {', '.join(per_platform)}",
            hint="give a default."))
    return chosen(*args)


def _choose(function: str, index, funs: dict[str, Callable], operands: tuple,
            reverse: bool = False):
    """Stage the branches and check that they agree; with a known index, run only that branch.

    With ``reverse``, ``index`` counts from the last branch, as for true and false.
    """
    chosen = _concrete(index)
    if chosen is not None and jit_disabled.value:
        return [*funs.values()][::-1 if reverse else 1][int(chosen)](*unshared(operands))
    leaves, in_tree = flat_leaves(function, operands)
    check_distinct(function, leaves)
    types = tree_util.tree_unflatten(in_tree, [typeof(x) for x in leaves])
    bodies = [stage_body(function, fun, types) for fun in funs.values()]
    _check_alike(function, list(funs), bodies)
    captured: dict[int, Any] = {id(x): x for body in bodies for x in body.captured}
    branches = tuple(_taking(body, captured) for body in bodies)[::-1 if reverse else 1]
    args = [*captured.values(), *leaves]
    check_distinct(function, args)
    if chosen is not None:
        outs = _run(branches, int(chosen), args)
    else:
        outs = _bind_forwarded(index, args, branches)
    return tree_util.tree_unflatten(bodies[0].out_tree, outs)


def _taking(body: Body, captured: dict[int, Any]) -> ClosedJaxpr:
    """A branch that takes the values that any branch closes over."""
    own = {id(x): i for i, x in enumerate(body.captured)}
    places = tuple(own.get(i, typeof(x)) for i, x in captured.items())
    return body.closed if places == tuple(range(len(own))) else _placed(body.closed, places)


@cached_by_jaxpr
def _placed(closed: ClosedJaxpr, places: tuple) -> ClosedJaxpr:
    """A branch whose first arguments are at ``places``; a type means an ignored argument."""
    invars = closed.jaxpr.invars
    leading = [invars[p] if isinstance(p, int) else Var(p) for p in places]
    count = sum(isinstance(p, int) for p in places)
    return ClosedJaxpr(closed.jaxpr.replace(invars=leading + invars[count:]))


def _bind_forwarded(index, args: list, branches: Branches) -> list:
    """Apply the primitive; results that are the same operand in every branch stay outside."""
    found = _forwarded(branches[0], branches[1:])
    if found is None:
        return cond_p.bind(index, *args, branches=branches)
    branches, places = found
    computed = iter(cond_p.bind(index, *args, branches=branches))
    return [next(computed) if place is None else args[place] for place in places]


@cached_by_jaxpr
def _forwarded(first: ClosedJaxpr, rest: Branches) -> tuple[Branches, list[int | None]] | None:
    """Branches without results that are the same operand in all, and which operands those are."""
    branches = (first, *rest)
    numbers = [{v: i for i, v in enumerate(branch.jaxpr.invars)} for branch in branches]
    places: list[int | None] = []
    for atoms in zip(*(branch.jaxpr.outvars for branch in branches)):
        found = {number.get(atom) for number, atom in zip(numbers, atoms)}
        places.append(found.pop() if len(found) == 1 else None)
    if all(place is None for place in places):
        return None
    return tuple(ClosedJaxpr(branch.jaxpr.replace(
        outvars=[v for v, place in zip(branch.jaxpr.outvars, places) if place is None]))
        for branch in branches), places


def _check_alike(function: str, labels: list[str], bodies: list[Body]) -> None:
    """Check that branches return pytrees of one structure whose leaves have the same types."""
    (first, wanted), *others = zip(labels, bodies)
    kind = function.rpartition(".")[2]
    for label, body in others:
        width = max(len(first), len(label)) + 1
        names = [f"{name + ':':{width}}" for name in (first, label)]
        if body.out_tree != wanted.out_tree:
            raise TypeError(explain(
                function, f"{kind} branch outputs must have the same pytree structure.",
                f"{names[0]} {wanted.out_tree}", f"{names[1]} {body.out_tree}"))
        numbered = tree_util.tree_unflatten(wanted.out_tree, range(wanted.out_tree.num_leaves))
        for path, i in tree_util.tree_leaves_with_path(numbered):
            a, b = wanted.out_avals[i], body.out_avals[i]
            if alike(a, b):
                continue
            where = f" at {tree_util.keystr(path)}" if path else ""
            raise TypeError(explain(
                function, f"{kind} branches must have equal output types{where}.",
                f"{names[0]} {described(a)}", f"{names[1]} {described(b)}",
                hint="let all branches return one type." if a.is_high or b.is_high
                else "tanx.reshard one of them." if a.matches(b)
                else f"convert one of them, as with .astype({a.dtype.name!r})."
                if a.shape == b.shape else "broadcast or reshape one of them."))
