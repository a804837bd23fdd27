"""``custom_linear_solve`` and ``custom_root``: derivatives of solutions, not of solvers.

The derivative of what solves an equation follows from the equation; how it was found does not
matter, and need not be differentiable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, tree_util
from .._core.effects import NamedAxisEffect
from .._core.jaxpr import ClosedJaxpr, Var, cached_by_jaxpr, eval_jaxpr, jaxpr_as_fun
from .._core.linear import Linear, Zero, never
from .._core.primitive import Kind, Primitive
from .._core.types import typeof
from .._ops.arith import neg, sub
from .._ops.batching import materialize
from .._ops.derive import instantiate
from .._transforms.jvp import jvp
from ..errors import explain
from .call import backward_body, batched_body, forward_body
from .carry import Body, described, stage_body
from .custom import flat_leaves
from .custom_jvp import custom_jvp
from .scan import split

__all__ = ["custom_linear_solve", "linear_solve_p", "custom_root"]


class Parts(NamedTuple):
    """Something for each of the functions of a linear solve."""

    matvec: Any
    solve: Any
    transpose_solve: Any


class LinearSolve(Primitive):
    """Runs ``solve``, which finds x such that ``matvec`` of x is b.

    ``jaxprs`` holds the functions, ``const_lengths`` how many of the operands are closed over by
    each; the last operands are b. Results are x, then what else ``solve`` gives.
    """

    name = "custom_linear_solve"
    kind = Kind.CALL
    multiple_results = True

    def infer(self, *types, jaxprs: Parts, const_lengths: Parts):
        return jaxprs.solve.out_avals

    def effects(self, *types, jaxprs: Parts, const_lengths: Parts):
        return jaxprs.solve.effects

    def named_axes(self, params):
        return tuple(e.name for e in params["jaxprs"].solve.effects
                     if isinstance(e, NamedAxisEffect))

    def called(self, params):
        return _as_call(params["jaxprs"].solve, params["jaxprs"].matvec, params["const_lengths"],
                        tuple(_other_avals(**params)))

    def eval(self, *args, jaxprs: Parts, const_lengths: Parts):
        _, consts, _, b = split(args, *const_lengths)
        return eval_jaxpr(jaxprs.solve.jaxpr, jaxprs.solve.consts, *consts, *b)

    def jvp(self, primals, tangents, *, jaxprs: Parts, const_lengths: Parts):
        """Solve once more: what the tangents of b, less those of matvec at x, belong to."""
        params = dict(jaxprs=jaxprs, const_lengths=const_lengths)
        outs = self.bind(*primals, **params)
        *consts, b = split(primals, *const_lengths)
        changes, _, _, wanted = split(tangents, *const_lengths)
        nonzero = tuple(type(t) is not Zero for t in changes)
        if any(nonzero):
            forward, found = forward_body(jaxprs.matvec, nonzero + (False,) * len(b))
            moved = jaxpr_as_fun(forward)(*consts[0], *outs[:len(b)],
                                          *(t for t in changes if type(t) is not Zero))
            given = iter(moved[len(b):])
            wanted = [_less(t, next(given)) if nz else t for t, nz in zip(wanted, found)]
        zeros = [Zero.tangent_of(y) for y in outs]
        if all(type(t) is Zero for t in wanted):
            return outs, zeros
        solved = self.bind(*(x for part in consts for x in part), *map(instantiate, wanted),
                           **params)
        return outs, [*solved[:len(b)], *zeros[len(b):]]

    def transpose(self, cts, *args, jaxprs: Parts, const_lengths: Parts):
        """Solve with the transposed functions; each is the transpose of the other."""
        if jaxprs.transpose_solve is None:
            raise TypeError(explain(
                "tanx.lax.custom_linear_solve", "reverse mode needs transpose_solve.",
                hint="give transpose_solve, or symmetric=True where matvec is its own transpose."))
        *consts, b = split(args, *const_lengths)
        linear = (False,) * len(consts[0]) + (True,) * len(b)
        vecmat, _ = backward_body(jaxprs.matvec, linear, (True,) * len(b), (True,) * len(b))
        swapped = Parts(vecmat, jaxprs.transpose_solve, _first_results(jaxprs.solve, len(b)))
        lengths = Parts(const_lengths.matvec, const_lengths.transpose_solve, const_lengths.solve)
        outs = self.bind(*consts[0], *consts[2], *consts[1],
                         *(instantiate(ct) for ct in cts[:len(b)]), jaxprs=swapped,
                         const_lengths=lengths)
        return [*[None] * sum(const_lengths),
                *(ct if type(x) is Linear else None for ct, x in zip(outs, b))]

    def batch_axis(self, axis, args, dims, *, jaxprs: Parts, const_lengths: Parts):
        *consts, b = split(args, *const_lengths)
        *const_dims, b_dims = split(dims, *const_lengths)
        bodies = Parts(*(None if body is None else batched_body(
            body, axis, (*own, *(0 for _ in b)), (True,) * len(body.out_avals))[0]
            for body, own in zip(jaxprs, const_dims)))
        outs = self.bind(*(x for part in consts for x in part),
                         *(materialize(x, d, axis.size) for x, d in zip(b, b_dims)),
                         jaxprs=bodies, const_lengths=const_lengths)
        return outs, [0] * len(outs)

    batch = never("functions are batched by batch_axis, which knows the mapped axis")
    lower = never("the compiler inlines the solver")


linear_solve_p = LinearSolve()


def _less(a, b):
    return neg(b) if type(a) is Zero else sub(a, b)


@cached_by_jaxpr
def _first_results(closed: ClosedJaxpr, count: int) -> ClosedJaxpr:
    """A function without what it gives behind its first results."""
    return ClosedJaxpr(closed.jaxpr.replace(outvars=closed.jaxpr.outvars[:count]), closed.consts)


def _other_avals(jaxprs: Parts, const_lengths: Parts) -> list:
    """The types of what ``transpose_solve`` closes over."""
    later = jaxprs.transpose_solve
    return [] if later is None else later.in_avals[:const_lengths.transpose_solve]


@cached_by_jaxpr
def _as_call(solve: ClosedJaxpr, matvec: ClosedJaxpr, lengths: Parts, other: tuple) -> ClosedJaxpr:
    """The solver as a function of all operands."""
    own, b = split(solve.jaxpr.invars, lengths.solve)
    unused = [Var(a) for a in matvec.in_avals[:lengths.matvec]]
    invars = [*unused, *own, *(Var(a) for a in other), *b]
    return ClosedJaxpr(solve.jaxpr.replace(invars=invars), solve.consts)


# -- public functions ------------------------------------------------------------------------------


def custom_linear_solve(matvec: Callable, b, solve: Callable,
                        transpose_solve: Callable | None = None, symmetric: bool = False,
                        has_aux: bool = False):
    """Find x such that ``matvec(x)`` is ``b`` by ``solve``, with the derivative of the solution.

    ``solve(matvec, b)`` gives x. ``matvec`` is linear; ``transpose_solve(vecmat, b)`` solves with
    its transpose, for reverse mode; with ``symmetric`` that is ``solve`` itself. With ``has_aux``
    the solver gives a pair: x, and anything else, which has no derivative.

    >>> lax.custom_linear_solve(lambda x: 2 * x, 6.0, lambda matvec, b: b / 2)
    Array(3., dtype=float32, weak_type=True)
    """
    function = "tanx.lax.custom_linear_solve"
    leaves, tree = flat_leaves(function, b)
    types = tree_util.tree_unflatten(tree, [typeof(x) for x in leaves])

    def staged(fun: Callable, what: str, aux: bool = False) -> Body:
        body = stage_body(function, fun, (types,))
        first = tree_util.treedef_children(body.out_tree)[0] if aux else body.out_tree
        _check_like(function, what, first, body.out_avals, tree, leaves)
        return body

    linear = staged(matvec, "matvec")
    count = len(linear.captured)
    parts = [linear, staged(lambda b: solve(matvec, b), "solve", has_aux)]
    if symmetric:
        parts.append(staged(lambda b: solve(matvec, b)[0] if has_aux else solve(matvec, b),
                            "solve"))
    elif transpose_solve is not None:
        flags = (False,) * count + (True,) * len(leaves), (True,) * len(leaves)
        vecmat, _ = backward_body(linear.closed, *flags, flags[1])

        def transposed(y):
            outs = jaxpr_as_fun(vecmat)(*linear.captured, *tree_util.tree_leaves(y))
            return tree_util.tree_unflatten(tree, outs)
        parts.append(staged(lambda b: transpose_solve(transposed, b), "transpose_solve"))
    closed = [part.closed for part in parts] + [None] * (3 - len(parts))
    lengths = [len(part.captured) for part in parts] + [0] * (3 - len(parts))
    outs = linear_solve_p.bind(
        *(x for part in parts for x in part.captured), *leaves, jaxprs=Parts(*closed),
        const_lengths=Parts(*lengths))
    return tree_util.tree_unflatten(parts[1].out_tree, outs)


def _check_like(function: str, what: str, out_tree, out_avals: Sequence, tree, leaves) -> None:
    """A function of the space of b must stay in it."""
    expected = [typeof(x) for x in leaves]
    if out_tree == tree and all(a.shape == e.shape and a.dtype == e.dtype
                                for a, e in zip(out_avals, expected)):
        return
    found = out_avals[:out_tree.num_leaves]
    raise (ValueError if out_tree == tree else TypeError)(explain(
        function, f"{what} must give an array, or a tree of arrays, like that which it takes.",
        f"takes: {', '.join(map(described, expected))} as {tree}",
        f"gives: {', '.join(map(described, found))} as {out_tree}"))


def custom_root(f: Callable, initial_guess, solve: Callable, tangent_solve: Callable,
                has_aux: bool = False):
    """Find x such that ``f(x)`` is zero by ``solve``, with the derivative of the solution.

    ``solve(f, initial_guess)`` gives x. ``tangent_solve(g, y)`` gives the z for which ``g(z)`` is
    y, where ``g`` is ``f`` linearized at x. Values that ``f`` closes over may be differentiated.
    With ``has_aux`` the solver gives a pair: x, and anything else, which has no derivative.

    >>> def square_root(y):
    ...     newton = lambda f, x: lax.fori_loop(0, 9, lambda _, x: x - f(x) / (2 * x), x)
    ...     return lax.custom_root(lambda x: x * x - y, 1.0, newton, lambda g, y: y / g(1.0))
    >>> tanx.grad(square_root)(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    function = "tanx.lax.custom_root"
    leaves, tree = flat_leaves(function, initial_guess)
    types = tree_util.tree_unflatten(tree, [typeof(x) for x in leaves])
    residual = stage_body(function, f, (types,))
    _check_like(function, "f", residual.out_tree, residual.out_avals, tree, leaves)
    solver = stage_body(function, lambda guess: solve(f, guess), (types,))
    first = tree_util.treedef_children(solver.out_tree)[0] if has_aux else solver.out_tree
    _check_like(function, "solve", first, solver.out_avals, tree, leaves)
    count = len(leaves)

    @custom_jvp
    def root(consts, others, guess):
        return jaxpr_as_fun(solver.closed)(*others, *guess)

    @root.defjvp
    def rule(primals, tangents):
        outs = root(*primals)
        (consts, _, _), (changes, _, _) = primals, tangents
        x = outs[:count]
        of_consts = jvp(lambda *consts: jaxpr_as_fun(residual.closed)(*consts, *x), consts,
                        list(map(_symbolic, consts, changes)))[1]

        def linearized(z):
            flat = jvp(lambda *x: jaxpr_as_fun(residual.closed)(*consts, *x), x,
                       tree_util.tree_leaves(z))[1]
            return tree_util.tree_unflatten(tree, list(map(instantiate, flat)))

        right = tree_util.tree_unflatten(tree, [neg(instantiate(t)) for t in of_consts])
        moved = custom_linear_solve(linearized, right, tangent_solve, tangent_solve)
        zeros = [instantiate(Zero.tangent_of(y)) for y in outs[count:]]
        return outs, [*tree_util.tree_leaves(moved), *zeros]

    outs = root(residual.captured, solver.captured, leaves)
    return tree_util.tree_unflatten(solver.out_tree, outs)


def _symbolic(primal, tangent):
    """A tangent, or a symbolic zero for what has none."""
    return tangent if dtypes.issubdtype(typeof(primal).dtype, np.inexact) else (
        Zero.tangent_of(primal))
