"""Rules of a :class:`~tanx._extend.high.HiPrim` that follow from others, and tools for batches.

In the body of a class::

    lin, linearized = linearize_from_jvp
    vjp_fwd, vjp_bwd_retval = vjp_from_lin
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._base.tuples import NamedTuple
from .._core.jaxpr import Jaxpr, eval_jaxpr
from .._core.linear import Linear, Zero
from .._core.stage import stage
from .._core.types import typeof
from .._ops.base import materialize
from .._transforms.linearize import partial_eval
from .._transforms.transpose import backward
from .._transforms.vmap import Axis, batch
from ..tree_util import (
    broadcast_prefix,
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
)

__all__ = ["bdims_at_front", "jvp_from_lin", "linearize_from_jvp", "unmap_avals", "vjp_from_jvp",
           "vjp_from_lin", "vmap_rule"]


class _Residuals:
    """Residuals, and facts that are known while tracing."""

    def __init__(self, values: Any, known: Any):
        self.values, self.known = values, known


register_pytree_node(_Residuals, lambda r: ((r.values,), r.known),
                     lambda known, children: _Residuals(children[0], known))


class _Recorded(NamedTuple):
    """A rule for tangents that was recorded, for some of them."""

    jaxpr: Jaxpr
    unknown: tuple[bool, ...]  # which tangents of results it computes; the others are zero


def _tangent_types(prim) -> list:
    return [aval.to_tangent() for aval in prim.in_avals_flat]


def _filled(prim, nonzero: Sequence[bool], given: Sequence) -> tuple:
    """The tangents of the arguments, including zeros."""
    left = iter(given)
    return tree_unflatten(prim.in_tree, [
        next(left) if nz else Zero(a) for a, nz in zip(_tangent_types(prim), nonzero)])


def _lin_from_jvp(self, nzs_in, *primals):
    nonzero = tree_leaves(nzs_in)
    found = None

    def rule(*given):
        nonlocal found
        found, tangents = self.jvp(primals, _filled(self, nonzero, given))
        return tree_leaves(tangents)

    wanted = [a for a, nz in zip(_tangent_types(self), nonzero) if nz]
    outs, unknown, jaxpr, residuals = partial_eval(rule, wanted, [None] * len(wanted))
    moving = tuple(u or type(t) is not Zero for t, u in zip(outs, unknown))
    known = [t for t, u in zip(outs, unknown) if not u and type(t) is not Zero]
    if known:
        raise NotImplementedError(
            f"the jvp rule of {type(self).__name__} returns tangents that are not linear.")
    return found, _Residuals(residuals, _Recorded(jaxpr, moving)), tree_unflatten(
        self.out_tree, moving)


def _linearized_from_jvp(self, residuals, *tangents):
    given = [t for t in tree_leaves(tangents) if type(t) is not Zero]
    outs = iter(eval_jaxpr(residuals.known.jaxpr, residuals.values, *given))
    return tree_unflatten(self.out_tree, [
        next(outs) if moving else Zero(aval.to_tangent())
        for aval, moving in zip(self.out_avals_flat, residuals.known.unknown)])


def _not_one_rule(pair: Any) -> TypeError:
    """The error for a pair of rules where one rule is expected."""
    names = ", ".join(pair._fields)
    return TypeError(f"a pair of rules is not one rule: write `{names} = ...` in the class.")


class LinearizeFromJVP(NamedTuple):
    """Rules for ``linearize`` that record the rule ``jvp``."""

    lin: Callable
    linearized: Callable

    def __call__(self, *args, **kwargs):
        raise _not_one_rule(self)


linearize_from_jvp = LinearizeFromJVP(_lin_from_jvp, _linearized_from_jvp)


def _transposed(self, nonzero: Sequence[bool], linearized: Callable, outgrad) -> tuple:
    """The cotangents of the arguments, by the transpose of a function of nonzero tangents."""
    wanted = [a for a, nz in zip(_tangent_types(self), nonzero) if nz]
    which: list[int] = []

    def flat(*given):
        outs = tree_leaves(linearized(*_filled(self, nonzero, given)))
        which[:] = [i for i, t in enumerate(outs) if type(t) is not Zero]
        return [outs[i] for i in which]

    jaxpr, consts = stage(flat, wanted)
    cts = tree_leaves(outgrad)
    found = iter(backward(jaxpr, consts, [Linear(a) for a in wanted], [cts[i] for i in which]))
    return tree_unflatten(self.in_tree, [next(found) if nz else None for nz in nonzero])


def _vjp_fwd_from_lin(self, nzs_in, /, *args):
    out, res, *more = self.lin(nzs_in, *args)
    return out, _Residuals(res, tuple(tree_leaves(nzs_in))), *more


def _transpose_linearized(self, res, outgrad, /):
    return _transposed(self, res.known, lambda *tangents: self.linearized(res.values, *tangents),
                       outgrad)


class VJPFromLin(NamedTuple):
    """Rules for reverse mode that transpose the rule ``linearized``."""

    vjp_fwd: Callable
    vjp_bwd_retval: Callable

    def __call__(self, *args, **kwargs):
        raise _not_one_rule(self)


vjp_from_lin = VJPFromLin(_vjp_fwd_from_lin, _transpose_linearized)


def _vjp_fwd_from_jvp(self, nzs_in, /, *args):
    return self(*args), _Residuals(args, tuple(tree_leaves(nzs_in)))


def _transpose_jvp(self, res, outgrad, /):
    return _transposed(self, res.known, lambda *tangents: self.jvp(res.values, tangents)[1],
                       outgrad)


class VJPFromJVP(NamedTuple):
    """Rules for reverse mode that transpose the rule ``jvp``, run in the backward pass."""

    vjp_fwd: Callable
    vjp_bwd_retval: Callable

    def __call__(self, *args, **kwargs):
        raise _not_one_rule(self)


vjp_from_jvp = VJPFromJVP(_vjp_fwd_from_jvp, _transpose_jvp)


def jvp_from_lin(self, primals, tangents):
    """The rule ``jvp`` by the rules ``lin`` and ``linearized``: ``jvp = jvp_from_lin``."""
    nonzero = tree_map(lambda t: type(t) is not Zero, tangents)
    out, residuals, *_ = self.lin(nonzero, *primals)
    return out, self.linearized(residuals, *tangents)


# -- batches ---------------------------------------------------------------------------------------


def bdims_at_front(axis_data, args: Sequence, dims: Sequence) -> tuple:
    """Arguments with their batch axes first, repeated along it if they had none."""
    return tuple(materialize(x, d, axis_data.size) for x, d in zip(args, dims, strict=True))


def unmap_avals(axis_data, avals: Sequence, dims: Sequence) -> tuple:
    """Types with a batch axis at ``dims``."""
    return tuple(aval if d is None else aval.inc_rank(axis_data.size, d)
                 for aval, d in zip(avals, dims, strict=True))


def vmap_rule(axis_data, f: Callable, in_axes, out_axes, *, sum_match: bool = False) -> Callable:
    """A function mapped over the axis of a batch, for use in a rule ``batch``.

    Symbolic zeros among arguments and results stay symbolic, with types with or without the axis.
    """
    axis = Axis(axis_data.name, axis_data.size)

    def batched(*args):
        leaves, in_tree = tree_flatten(args)
        dims = broadcast_prefix(tuple(in_axes), args, is_leaf=lambda x: x is None)
        zeros = {i: Zero(x.aval if d is None else x.aval.dec_rank(axis.size, d))
                 for i, (x, d) in enumerate(zip(leaves, dims)) if type(x) is Zero}
        values = [x for i, x in enumerate(leaves) if i not in zeros]
        found: Any = None

        def flat(*xs):
            nonlocal found
            left = iter(xs)
            found = f(*tree_unflatten(in_tree, [
                zeros[i] if i in zeros else next(left) for i in range(len(leaves))]))
            return [x for x in tree_leaves(found) if type(x) is not Zero]

        outs, out_dims = batch(flat, axis, values, [
            d for i, d in enumerate(dims) if i not in zeros])
        places = broadcast_prefix(out_axes, found, is_leaf=lambda x: x is None)
        pairs = iter(zip(outs, out_dims))
        return tree_unflatten(tree_flatten(found)[1], [
            _unmapped(axis, x.aval, place) if type(x) is Zero
            else _placed(axis, *next(pairs), place, sum_match)
            for x, place in zip(tree_leaves(found), places)])
    return batched


def _unmapped(axis: Axis, aval, place) -> Zero:
    return Zero(aval if place is None else aval.inc_rank(axis.size, place))


def _placed(axis: Axis, x, dim, place, sum_match: bool):
    """A result with its batch axis at the requested place; summed over it if there is none."""
    from .._transforms.vmap import to_axis
    if place is None and dim is not None and sum_match:
        from .._ops.base import reduce_sum
        return reduce_sum(x, (dim,))
    return x if typeof(x).is_high else to_axis(x, dim, axis.size, place)
