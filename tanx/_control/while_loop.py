"""``while_loop``: a body runs for as long as a condition holds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import tree_util
from .._config import jit_disabled
from .._core.effects import NamedAxisEffect
from .._core.jaxpr import (
    ClosedJaxpr,
    Var,
    cached_by_jaxpr,
    eval_jaxpr,
    jaxpr_as_fun,
    one_equation,
)
from .._core.linear import Zero, never
from .._core.primitive import Kind, Primitive
from .._core.stage import stage
from .._core.trace import Tracer
from .._core.types import ShapedArray, typeof
from .._ops.batching import materialize
from .._ops.compare import select
from .._ops.convert import convert
from .._ops.derive import instantiate
from .._ops.layout import broadcast_in_dim
from .._ops.reduce import reduce_or
from .._transforms.jvp import jvp_jaxpr
from .._transforms.vmap import Axis, batch_jaxpr
from ..errors import explain
from .carry import Body, check_carry, check_structure, settled, stage_body
from .custom import flat_leaves
from .scan import kept, map_lanes, paired, reordered, split

__all__ = ["while_loop", "while_p"]

_BOOL = np.dtype(bool)


class While(Primitive):
    """Runs its body on the carry for as long as its condition holds of it.

    Operands are what the condition closes over, what the body closes over, and the carry.
    """

    name = "while"
    kind = Kind.CALL
    multiple_results = True

    def infer(self, *types, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
        carry = types[cond_nconsts + body_nconsts:]
        tested = [*types[:cond_nconsts], *carry]
        for what, taken, given in (("condition takes", cond_jaxpr.in_avals, tested),
                                   ("body takes", body_jaxpr.in_avals, types[cond_nconsts:]),
                                   ("body gives", body_jaxpr.out_avals, carry)):
            if [(a.shape, a.dtype) for a in taken] != [(a.shape, a.dtype) for a in given]:
                raise TypeError(explain(
                    "tanx.lax.while_loop", "operands must be of the types in the loop.",
                    f"the {what}: {', '.join(map(str, taken))}",
                    f"operands: {', '.join(map(str, given))}"))
        return [a.update(weak_type=a.weak_type and b.weak_type)
                for a, b in zip(carry, body_jaxpr.out_avals)]

    def effects(self, *types, cond_jaxpr, body_jaxpr, **params):
        return cond_jaxpr.effects | body_jaxpr.effects

    def named_axes(self, params):
        return tuple(e.name for e in self.effects(**params) if isinstance(e, NamedAxisEffect))

    def eval(self, *args, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
        tested, consts, carry = _parts(args, cond_nconsts, body_nconsts)
        types = self.infer(*map(typeof, args), cond_jaxpr=cond_jaxpr, cond_nconsts=cond_nconsts,
                           body_jaxpr=body_jaxpr, body_nconsts=body_nconsts)
        while eval_jaxpr(cond_jaxpr.jaxpr, cond_jaxpr.consts, *tested, *carry)[0]:
            carry = eval_jaxpr(body_jaxpr.jaxpr, body_jaxpr.consts, *consts, *carry)
        return [x if typeof(x).weak_type == a.weak_type else convert(x, a.dtype, a.weak_type)
                for x, a in zip(carry, types)]

    def jvp(self, primals, tangents, *, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
        """One loop of primals, and of the tangents in the carry that are not zero all the time."""
        tested, consts, carry = _parts(primals, cond_nconsts, body_nconsts)
        _, *both = _parts(tangents, cond_nconsts, body_nconsts)
        const_tangents, carry_tangents = both
        given, moving = (tuple(type(t) is not Zero for t in ts) for ts in both)
        body, moving = _forward_loop(body_jaxpr, given, moving)
        moved = [instantiate(t) for t, m in zip(carry_tangents, moving) if m]
        outs = self.bind(
            *tested, *consts, *(t for t in const_tangents if type(t) is not Zero), *carry, *moved,
            cond_jaxpr=_ignoring(cond_jaxpr, tuple(typeof(t) for t in moved)),
            cond_nconsts=cond_nconsts, body_jaxpr=body, body_nconsts=body_nconsts + sum(given))
        out_tangents = iter(outs[len(carry):])
        return outs[:len(carry)], [next(out_tangents) if m else Zero.tangent_of(x)
                                   for x, m in zip(carry, moving)]

    def batch_axis(self, axis, args, dims, *, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
        """One loop over the batch where all lanes take the same steps, else one a lane."""
        batched = tuple(d is not None for d in dims)
        tested, given, moving = map(tuple, _parts(batched, cond_nconsts, body_nconsts))
        body, condition, moving, truth = _batched_loop(body_jaxpr, cond_jaxpr, Axis(*axis), tested,
                                                       given, moving)
        if not truth:
            operands = [materialize(x, d, axis.size) if wanted else x for x, d, wanted
                        in zip(args, dims, tested + given + moving)]
            outs = self.bind(*operands, cond_jaxpr=condition, cond_nconsts=cond_nconsts,
                             body_jaxpr=body, body_nconsts=body_nconsts)
            return outs, _fronts(moving)
        if NamedAxisEffect(axis.name) in cond_jaxpr.effects | body_jaxpr.effects:
            body, condition = _lockstep(body_jaxpr, cond_jaxpr, cond_nconsts, Axis(*axis))
            operands = [materialize(x, d, axis.size) for x, d in zip(args, dims)]
            tested, rest = operands[:cond_nconsts], operands[cond_nconsts:]
            outs = self.bind(*tested, *tested, *rest, cond_jaxpr=condition,
                             cond_nconsts=cond_nconsts, body_jaxpr=body,
                             body_nconsts=cond_nconsts + body_nconsts)
        else:
            outs = map_lanes(_lane(body_jaxpr, cond_jaxpr, cond_nconsts), axis.size, args, dims)
        return outs, [0] * len(outs)

    transpose = never("it is not linear")
    batch = never("loops are batched by batch_axis, which knows the mapped axis")
    lower = never("the compiler makes a loop of it")


while_p = While()


def _parts(args, cond_nconsts: int, body_nconsts: int) -> list[list]:
    """Operands of the condition alone, those of the body alone, and the carry."""
    return split(args, cond_nconsts, body_nconsts)


@cached_by_jaxpr
def _forward_loop(body: ClosedJaxpr, given: tuple[bool, ...], moving: tuple[bool, ...],
                  ) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """The forward-mode body of a loop, and which tangents its carry has.

    A tangent that the body makes out of others is in the carry from the start.
    """
    while True:
        forward, found = jvp_jaxpr(body, given + moving, moving)
        if tuple(found) == moving:
            order = paired(given + moving, len(given))
            return reordered(forward, order, range(len(forward.out_avals))), moving
        moving = tuple(found)


@cached_by_jaxpr
def _batched_loop(body: ClosedJaxpr, condition: ClosedJaxpr, axis, tested: tuple[bool, ...],
                  given: tuple[bool, ...], moving: tuple[bool, ...],
                  ) -> tuple[ClosedJaxpr, ClosedJaxpr, tuple[bool, ...], bool]:
    """Body and condition over a batch, which carries have the batch axis, and whether truth has.

    Axes come first; a carry that the body gives one has it from the start.
    """
    while True:
        batched, found = batch_jaxpr(body, axis, _fronts(given + moving), moving)
        out = tuple(d is not None for d in found)
        if out == moving:
            break
        moving = out
    test, (truth,) = batch_jaxpr(condition, axis, _fronts(tested + moving))
    return batched, test, moving, truth is not None


def _fronts(batched) -> list[int | None]:
    return [0 if b else None for b in batched]


@cached_by_jaxpr
def _lane(body: ClosedJaxpr, condition: ClosedJaxpr, cond_nconsts: int) -> ClosedJaxpr:
    """A function that is one loop and nothing else."""
    types = condition.in_avals[:cond_nconsts] + body.in_avals
    return one_equation(while_p, types, dict(
        cond_jaxpr=condition, cond_nconsts=cond_nconsts, body_jaxpr=body,
        body_nconsts=len(body.in_avals) - len(body.out_avals)))


@cached_by_jaxpr
def _lockstep(body: ClosedJaxpr, condition: ClosedJaxpr, cond_nconsts: int,
              axis) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """Body and condition of a loop of all lanes together; one that has finished stays as it is.

    For lanes that communicate, and so must take every step together. All have the batch axis.
    """
    nconsts = len(body.in_avals) - len(body.out_avals)
    test, _ = batch_jaxpr(condition, axis, [0] * len(condition.in_avals), True)
    step, _ = batch_jaxpr(body, axis, [0] * len(body.in_avals), True)

    def chosen(*args):
        tested, consts, carry = _parts(args, cond_nconsts, nconsts)
        (going,) = jaxpr_as_fun(test)(*tested, *carry)
        return [select(broadcast_in_dim(going, new.shape, (0,)), new, old)
                for old, new in zip(carry, jaxpr_as_fun(step)(*consts, *carry))]

    def any_left(*args):
        return [reduce_or(jaxpr_as_fun(test)(*args)[0], (0,))]

    types = test.in_avals[:cond_nconsts] + step.in_avals
    return (ClosedJaxpr(*stage(chosen, types)), ClosedJaxpr(*stage(any_left, test.in_avals)))


@cached_by_jaxpr
def _ignoring(condition: ClosedJaxpr, more: tuple[ShapedArray, ...]) -> ClosedJaxpr:
    """The condition of a loop whose carry has ``more`` at its end."""
    jaxpr = condition.jaxpr
    return ClosedJaxpr(jaxpr.replace(invars=[*jaxpr.invars, *map(Var, more)]), condition.consts)


# -- the public function ---------------------------------------------------------------------------


def while_loop(cond_fun: Callable, body_fun: Callable, init_val):
    """Replace ``init_val`` by ``body_fun`` of it for as long as ``cond_fun`` of it holds.

    The value, a pytree, keeps its structure and types. The loop can be differentiated, in reverse
    too: see :func:`bounded_while_loop` for loops whose number of steps has a known limit.

    >>> lax.while_loop(lambda x: x < 100, lambda x: 2 * x, 1)
    Array(128, dtype=int32, weak_type=True)
    """
    function = "tanx.lax.while_loop"
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError(explain(
            function, "cond_fun and body_fun must be functions.",
            f"cond_fun: {cond_fun!r:.100}", f"body_fun: {body_fun!r:.100}"))
    leaves, tree = flat_leaves(function, init_val)
    if jit_disabled.value and not any(isinstance(x, Tracer) for x in leaves):
        while cond_fun(init_val):
            init_val = body_fun(init_val)
        return init_val

    def staged(avals):
        body = stage_body(function, body_fun, (tree_util.tree_unflatten(tree, avals),))
        check_structure(function, body_fun, (init_val,), tree, body.out_tree)
        return body, body.out_avals

    leaves, body = settled(leaves, staged)
    types = [typeof(x) for x in leaves]
    check_carry(function, body_fun, (init_val,), types, body.out_avals)
    condition = stage_body(function, cond_fun, (tree_util.tree_unflatten(tree, types),))
    _check_condition(function, condition)
    outs = _bind_hoisted(condition, body, leaves)
    return tree_util.tree_unflatten(tree, outs)


def _check_condition(function: str, condition: Body) -> None:
    avals = condition.out_avals
    if not tree_util.treedef_is_leaf(condition.out_tree):
        raise TypeError(explain(function, "cond_fun must give one boolean.",
                                f"it gave: {condition.out_tree}"))
    if avals[0].shape or avals[0].dtype != _BOOL:
        raise TypeError(explain(
            function, "cond_fun must give one boolean.", f"it gave: {avals[0]}",
            hint="combine many with .any() or .all(); compare numbers, as in x != 0."))


def _bind_hoisted(condition: Body, body: Body, leaves: list) -> list:
    """Apply the primitive; what every step gives back as it is, is no part of the carry."""
    nconsts, tested = len(body.captured), len(condition.captured)
    jaxpr, test = body.closed.jaxpr, condition.closed.jaxpr
    own, tests = jaxpr.invars[nconsts:], test.invars[tested:]
    fixed = [v is w for v, w in zip(own, jaxpr.outvars)]
    read = {v for eqn in test.eqns for v in eqn.invars}.union(test.outvars)

    def part(items, wanted: bool) -> list:
        return [x for x, f in zip(items, fixed) if f is wanted]

    shown = [v in read for v in part(tests, True)]
    cond_jaxpr = test.replace(invars=[*test.invars[:tested], *kept(part(tests, True), shown),
                                      *part(tests, False)])
    body_jaxpr = jaxpr.replace(invars=[*jaxpr.invars[:nconsts], *part(own, True),
                                       *part(own, False)], outvars=part(jaxpr.outvars, False))
    known = part(leaves, True)
    outs = iter(while_p.bind(
        *condition.captured, *kept(known, shown), *body.captured, *known, *part(leaves, False),
        cond_jaxpr=ClosedJaxpr(cond_jaxpr), cond_nconsts=tested + sum(shown),
        body_jaxpr=ClosedJaxpr(body_jaxpr), body_nconsts=nconsts + len(known)))
    return [x if f else next(outs) for x, f in zip(leaves, fixed)]
