"""Implicit derivatives of solutions: linear systems, and roots of functions.

The derivative of a solution does not depend on how it was found: it follows from the equation. So
solvers can be any functions, including loops with data-dependent length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes, tree_util
from .._base.tuples import NamedTuple
from .._core.jaxpr import ClosedJaxpr, Var, cached_by_jaxpr, eval_jaxpr, jaxpr_as_fun
from .._core.linear import Linear, Zero, instantiate, never, zero_series
from .._core.naming import name_of
from .._core.primitive import Kind, Primitive, parameter
from .._core.types import ShapedArray, typeof
from .._ops.arith import neg, sub
from .._ops.base import materialize, to_front
from .._ops.derive import zeros_of
from .._transforms.jvp import jvp
from .._transforms.linearize import linearize
from .._transforms.taylor import taylor
from .._transforms.transpose import backward
from .._transforms.vmap import batch_jaxpr
from ..errors import explain
from .carry import Body, stage_body
from .custom import flat_leaves
from .custom_jvp import custom_jvp
from .sequences import split

__all__ = ["custom_linear_solve", "custom_root", "linear_solve_p"]

_SOLVE, _ROOT = "tanx.lax.custom_linear_solve", "tanx.lax.custom_root"


@parameter
class LinearSolve(NamedTuple):
    """One item for each function of a linear system: A x, A' x, and solutions of both."""

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    @property
    def transposed(self) -> LinearSolve:
        return LinearSolve(self.vecmat, self.matvec, self.transpose_solve, self.solve)


_batched = cached_by_jaxpr(batch_jaxpr)


class CustomLinearSolve(Primitive):
    """Solves ``matvec(x) = b`` by a function; operands are closed-over values, then b.

    ``const_lengths`` says how many values each function closes over. The first results are x, with
    the same number of leaves as b; the others are further results of the solver.
    """

    name = "custom_linear_solve"
    kind = Kind.CALL
    multiple_results = True

    def infer(self, *types, const_lengths: LinearSolve, jaxprs: LinearSolve):
        return jaxprs.solve.out_avals

    def effects(self, *types, const_lengths: LinearSolve, jaxprs: LinearSolve):
        return jaxprs.solve.effects

    def called(self, params):
        jaxprs, lengths = params["jaxprs"], params["const_lengths"]
        unused = [[a for f, n in part if f is not None for a in f.in_avals[:n]] for part in (
            zip(jaxprs[:2], lengths[:2]), zip(jaxprs[3:], lengths[3:]))]
        return _taking_all(jaxprs.solve, lengths.solve, *map(tuple, unused))

    def eval(self, *args, const_lengths: LinearSolve, jaxprs: LinearSolve):
        consts, b = _parts(args, const_lengths)
        return eval_jaxpr(jaxprs.solve.jaxpr, jaxprs.solve.consts, *consts.solve, *b)

    def jvp(self, primals, tangents, *, const_lengths: LinearSolve, jaxprs: LinearSolve):
        """``A dx = db - dA x``: the same system with another right side."""
        consts, b = _parts(primals, const_lengths)
        dots, db = _parts(tangents, const_lengths)
        out = self.bind(*primals, const_lengths=const_lengths, jaxprs=jaxprs)
        x = out[:len(b)]
        _, moved = jvp(jaxpr_as_fun(jaxprs.matvec), [*consts.matvec, *x],
                       [*dots.matvec, *(Zero.tangent_of(v) for v in x)])
        right = [instantiate(d) if type(m) is Zero else
                 neg(m) if type(d) is Zero else sub(d, m) for d, m in zip(db, moved)]
        rest = [Zero.tangent_of(y) for y in out[len(b):]]
        if all(type(d) is Zero for d in (*db, *moved)):
            return out, [*map(Zero.tangent_of, x), *rest]
        fixed = [v for part in consts for v in part]
        dx = self.bind(*fixed, *right, const_lengths=const_lengths, jaxprs=jaxprs)[:len(b)]
        return out, [*dx, *rest]

    def taylor(self, primals, series, *, const_lengths: LinearSolve, jaxprs: LinearSolve):
        """``A(t) x(t) = b(t)``: each coefficient of ``x`` solves a system with ``A(0)``."""
        consts, b = _parts(primals, const_lengths)
        moves, right = _parts(series, const_lengths)
        order = next(len(ts) for ts in series if ts is not zero_series)
        out = self.bind(*primals, const_lengths=const_lengths, jaxprs=jaxprs)
        fixed = [v for part in consts for v in part]
        x = out[:len(b)]
        found: list[list] = [[] for _ in x]
        product = jaxpr_as_fun(jaxprs.matvec)
        for k in range(order):
            # The product with the coefficients known so far; the next one is 0.
            _, given = taylor(product, [*consts.matvec, *x], [
                *(ts if ts is zero_series else ts[:k + 1] for ts in moves.matvec),
                *([*ts, zeros_of(typeof(v).to_tangent())] for v, ts in zip(x, found))], k + 1)
            rest = [neg(ts[k]) if own is zero_series else sub(own[k], ts[k])
                    for own, ts in zip(right, given)]
            terms = self.bind(*fixed, *rest, const_lengths=const_lengths, jaxprs=jaxprs)
            for ts, term in zip(found, terms):
                ts.append(term)
        return out, [*found, *[zero_series] * (len(out) - len(b))]

    def transpose(self, cts, *args, const_lengths: LinearSolve, jaxprs: LinearSolve):
        if jaxprs.transpose_solve is None:
            raise TypeError(explain(
                _SOLVE, "reverse mode solves the transposed system, and needs a function for it.",
                hint="give transpose_solve, or symmetric=True if the system is its own "
                     "transpose."))
        consts, b = _parts(args, const_lengths)
        right = [instantiate(ct) for ct in cts[:len(b)]]
        swapped = [v for part in consts.transposed for v in part]
        found = self.bind(*swapped, *right, const_lengths=const_lengths.transposed,
                          jaxprs=jaxprs.transposed)
        return [*[None] * (len(args) - len(b)),
                *(ct if type(x) is Linear else None for ct, x in zip(found, b))]

    def batch_axis(self, axis, args, dims, *, const_lengths: LinearSolve, jaxprs: LinearSolve):
        """Every function over the batch, with x and b in it."""
        args = [x if d is None else to_front(x, d) for x, d in zip(args, dims)]
        consts, b = _parts(args, const_lengths)
        const_dims, b_dims = _parts([None if d is None else 0 for d in dims], const_lengths)
        b = [materialize(x, d, axis.size) for x, d in zip(b, b_dims)]
        batched = LinearSolve(*(
            f and _batched(f, axis, (*d, *[0] * len(b)), True)[0]
            for f, d in zip(jaxprs, const_dims)))
        outs = self.bind(*(v for part in consts for v in part), *b, const_lengths=const_lengths,
                         jaxprs=batched)
        return outs, [0] * len(outs)

    batch = never("a solver is batched by batch_axis, which gets the mapped axis")
    lower = never("the compiler puts the solver in its place")


linear_solve_p = CustomLinearSolve()


def _parts(items: Sequence[Any], lengths: LinearSolve) -> tuple[LinearSolve, list]:
    """Items, one for each operand, by function; and those of b."""
    *consts, b = split(items, *lengths)
    return LinearSolve(*consts), b


@cached_by_jaxpr
def _taking_all(solve: ClosedJaxpr, count: int, before: tuple[ShapedArray, ...],
                after: tuple[ShapedArray, ...]) -> ClosedJaxpr:
    """The solver as a function of all operands, including those of other functions."""
    jaxpr = solve.jaxpr
    return ClosedJaxpr(jaxpr.replace(invars=[
        *map(Var, before), *jaxpr.invars[:count], *map(Var, after), *jaxpr.invars[count:]]),
        solve.consts)


# -- linear systems --------------------------------------------------------------------------------


def custom_linear_solve(matvec: Callable, b, solve: Callable,
                        transpose_solve: Callable | None = None, symmetric: bool = False,
                        has_aux: bool = False):
    """Solve ``matvec(x) = b`` by a given function, with derivatives of the exact solution.

    ``matvec`` is a linear function from the structure of ``b`` to the same; it may close over
    arrays, and derivatives with respect to these are correct. ``solve(matvec, b)`` returns x.
    Reverse mode needs ``transpose_solve(vecmat, b)`` for the transposed system, unless the system
    is ``symmetric``. With ``has_aux`` the solvers return pairs of the solution and auxiliary data,
    which is returned unchanged.

    >>> a = jnp.array([2.0, 4.0])
    >>> f = lambda b: custom_linear_solve(lambda x: a * x, b, lambda _, b: b / a, symmetric=True)
    >>> f(jnp.ones(2))
    Array([0.5 , 0.25], dtype=float32)
    >>> tanx.grad(lambda b: f(b).sum())(jnp.ones(2))
    Array([0.5 , 0.25], dtype=float32)
    """
    leaves, tree = flat_leaves(f"{_SOLVE}: b", b)
    avals = tree_util.tree_unflatten(tree, [typeof(x) for x in leaves])
    product = stage_body(_SOLVE, matvec, (avals,))
    _check(_SOLVE, f"matvec, {name_of(matvec)}, must return", "b", avals, product, False)
    found = stage_body(_SOLVE, lambda b: solve(matvec, b), (avals,))
    _check(_SOLVE, f"solve, {name_of(solve)}, must return", "b", avals, found, has_aux)
    if symmetric:
        bodies = LinearSolve(product, product, found, found)
    elif transpose_solve is None:
        bodies = LinearSolve(product, None, found, None)
    else:
        def vecmat(x):
            return tree_util.tree_unflatten(tree, _run_transposed(
                product, flat_leaves(f"{_SOLVE}: argument of vecmat", x)[0]))

        other = stage_body(_SOLVE, lambda b: transpose_solve(vecmat, b), (avals,))
        _check(_SOLVE, f"transpose_solve, {name_of(transpose_solve)}, must return", "b", avals,
               other, has_aux)
        bodies = LinearSolve(product, stage_body(_SOLVE, vecmat, (avals,)), found, other)
    outs = linear_solve_p.bind(
        *(x for body in bodies if body is not None for x in body.captured), *leaves,
        const_lengths=LinearSolve(*(0 if body is None else len(body.captured) for body in bodies)),
        jaxprs=LinearSolve(*(body and body.closed for body in bodies)))
    return tree_util.tree_unflatten(found.out_tree, outs)


def _run_transposed(product: Body, cts: Sequence[Any]) -> list:
    """The transpose of a linear function on cotangents."""
    jaxpr, count = product.closed.jaxpr, len(product.captured)
    operands = [*product.captured, *(Linear(v.aval) for v in jaxpr.invars[count:])]
    return [instantiate(ct) for ct in backward(jaxpr, [], operands, cts)[count:]]


def _check(function: str, what: str, like: str, avals, body: Body, has_aux: bool) -> None:
    """Check that a function returns its argument's structure, or with ``has_aux`` a pair."""
    tree = tree_util.tree_structure(avals)
    given = body.out_tree
    if has_aux:
        children = given.children()
        if len(children) != 2:
            raise TypeError(explain(function, f"with has_aux, {what} a pair.", f"it gave: {given}"))
        given = children[0]
    if given != tree:
        raise TypeError(explain(function, f"{what} the structure of {like}.",
                                f"{like}: {tree}", f"it gave: {given}"))
    types = tree_util.tree_leaves(avals)
    wrong = [(a, b) for a, b in zip(types, body.out_avals)
             if a.shape != b.shape or a.dtype != b.dtype]
    if wrong:
        raise ValueError(explain(
            function, f"{what} the types of {like}.", *(
                line for a, b in wrong for line in (f"{like}: {a}", f"it gave: {b}"))))


# -- roots -----------------------------------------------------------------------------------------


def custom_root(f: Callable, initial_guess, solve: Callable, tangent_solve: Callable,
                has_aux: bool = False):
    """A root of ``f``, found by a given function, with the derivative of the exact root.

    ``solve(f, initial_guess)`` returns x with ``f(x) = 0``, or with ``has_aux`` a pair of that and
    auxiliary data. ``tangent_solve(g, y)`` returns x with ``g(x) = y``, where g is linear: it is f
    linearized at the root. For scalars, use ``lambda g, y: y / g(1.0)``. The root depends on the
    values that ``f`` closes over, and not on the guess.

    >>> def newton(f, x):
    ...     return lax.fori_loop(0, 10, lambda _, x: x - f(x) / tanx.grad(f)(x), x)
    >>> root = lambda a: custom_root(lambda x: x ** 2 - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> root(9.0), tanx.grad(root)(9.0)
    (Array(3., dtype=float32, weak_type=True), Array(0.16666667, dtype=float32, weak_type=True))
    """
    leaves, tree = flat_leaves(f"{_ROOT}: initial_guess", initial_guess)
    count = len(leaves)
    avals = tree_util.tree_unflatten(tree, [typeof(x) for x in leaves])
    body = stage_body(_ROOT, f, (avals,))
    _check(_ROOT, f"f, {name_of(f)}, must return", "initial_guess", avals, body, False)
    found = stage_body(_ROOT, lambda guess: solve(f, guess), (avals,))
    _check(_ROOT, f"solve, {name_of(solve)}, must return", "initial_guess", avals, found, has_aux)

    def linear_solve(x, y):
        return tangent_solve(_linearized(f, x), y)

    linear = stage_body(_ROOT, linear_solve, (avals, avals))
    _check(_ROOT, f"tangent_solve, {name_of(tangent_solve)}, must return", "initial_guess", avals,
           linear, False)

    @custom_jvp
    def root(captured, solving, tangent, guess):
        return jaxpr_as_fun(found.closed)(*solving, *guess)

    @root.defjvp
    def moved_root(primals, tangents):
        (captured, _, tangent, _), (dots, *_) = primals, tangents
        outs = root(*primals)
        x = outs[:count]
        dots = [Zero.tangent_of(v) if typeof(t).dtype == dtypes.float0 else t
                for v, t in zip(captured, dots)]
        _, moved = jvp(jaxpr_as_fun(body.closed), [*captured, *x],
                       [*dots, *map(Zero.tangent_of, x)])
        right = [neg(instantiate(t)) for t in moved]
        dx = jaxpr_as_fun(linear.closed)(*tangent, *x, *right)
        return outs, [*dx, *(instantiate(Zero.tangent_of(y)) for y in outs[count:])]

    return tree_util.tree_unflatten(found.out_tree, root(
        body.captured, found.captured, linear.captured, leaves))


def _linearized(fun: Callable, x) -> Callable:
    """The derivative of a function at a point."""
    leaves, tree = tree_util.tree_flatten(x)

    def flat(*leaves):
        return tree_util.tree_leaves(fun(tree_util.tree_unflatten(tree, leaves)))

    _, nonzero, jaxpr, residuals = linearize(flat, leaves)

    def at_place(v):
        given, _ = flat_leaves(f"{_ROOT}: argument of the linear function", v)
        found = iter(eval_jaxpr(jaxpr, residuals, *given))
        return tree_util.tree_unflatten(tree, [
            next(found) if nz else instantiate(Zero.tangent_of(y))
            for nz, y in zip(nonzero, leaves)])
    return at_place
