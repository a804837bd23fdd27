"""The public Taylor mode, and users' rules for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any

import numpy as np

from .. import dtypes
from .._core.linear import Zero, ZeroSeries, zero_series
from .._core.types import typeof
from .._ops.arith import add
from .._ops.base import as_array
from .._ops.convert import convert
from .._ops.derive import zeros_of
from .._ops.magnitude import round
from .._ops.operands import like
from .._ops.series import scaled
from .._ops.special import lgamma
from .._ops.transcendental import exp
from .._transforms.taylor import JetTrace, JetTracer, taylor
from .._transforms.zeros import is_known_zero
from ..errors import explain
from ..tree_util import tree_flatten, tree_unflatten
from .arguments import check_callable, check_leaves, result_leaves

__all__ = ["JetTrace", "JetTracer", "ZeroSeries", "ZeroTerm", "def_comp", "def_deriv", "deflinear",
           "defzero", "deriv_prop", "fact", "jet", "linear_prop", "zero_prop", "zero_series",
           "zero_term"]

_JET = "tanx.experimental.jet.jet"


def jet(fun: Callable, primals: Sequence[Any], series: Sequence[Any],
        factorial_scaled: bool = True, **_) -> tuple[Any, Any]:
    """High-order derivatives of a function along a curve, by Taylor series.

    With ``x(t)`` the curve through ``primals`` whose derivatives at 0 are ``series``, it returns
    ``fun(x(0))`` and the derivatives of ``fun(x(t))`` at 0, up to the same order. The work is
    proportional to the square of the order; nested ``jvp`` would double it with each order.

    Args:
      fun: A function of pytrees of arrays.
      primals: Its arguments, a tuple or a list.
      series: For each argument the derivatives of the curve, a sequence with one entry per order;
        for a pytree, a pytree that has such a sequence in place of each leaf.
      factorial_scaled: Whether series hold derivatives; else they hold the coefficients of Taylor
        polynomials, which are derivatives divided by factorials.

    Returns:
      The result, and the same structure with a list of derivatives in place of each leaf.

    >>> from tanx.experimental.jet import jet
    >>> y, (y1, y2, y3) = jet(jnp.exp, (0.0,), ((2.0, 0.0, 0.0),))
    >>> [float(d) for d in (y, y1, y2, y3)]
    [1.0, 2.0, 4.0, 8.0]
    """
    check_callable(_JET, fun)
    structures: list = []
    leaves: list = []
    terms: list[list] = []
    for primal, curve in zip(primals, series):
        own, structure = tree_flatten(primal)
        check_leaves(_JET, fun, (primal,), {}, own)
        structures.append(structure)
        leaves += map(as_array, own)
        terms += [list(ts) for ts in structure.flatten_up_to(curve)]
    orders = set(map(len, terms))
    if len(orders) != 1:
        raise ValueError(explain(
            _JET, "each argument needs a series, all of the same length.",
            f"lengths: {', '.join(str(len(ts)) for ts in terms) or 'none'}"))
    (order,) = orders
    factors = [1 / factorial(k) if factorial_scaled else 1.0 for k in range(1, order + 1)]
    trees: list = []

    def flat(*flat_args):
        rest = iter(flat_args)
        args = [tree_unflatten(s, [next(rest) for _ in range(s.num_leaves)]) for s in structures]
        outs, tree = result_leaves(_JET, fun, fun(*args))
        trees.append(tree)
        return outs
    given = [_terms(x, ts, factors) for x, ts in zip(leaves, terms)]
    outs, found = taylor(flat, leaves, given, order)
    back = [float(factorial(k)) if factorial_scaled else 1.0 for k in range(1, order + 1)]
    answers = [[_zeros(y)] * order if ts is zero_series
               else [scaled(f, t) for f, t in zip(back, ts)] for y, ts in zip(outs, found)]
    return tree_unflatten(trees[0], outs), tree_unflatten(trees[0], answers)


def _terms(x, terms: Sequence[Any], factors: Sequence[float]):
    """The coefficients of one argument, in its dtype; integers are constant."""
    aval = typeof(x)
    if not dtypes.issubdtype(aval.dtype, np.inexact):
        return zero_series
    answer = []
    for term, factor in zip(terms, factors):
        term = as_array(term)
        own = typeof(term)
        if own.shape != aval.shape or own.dtype != aval.dtype and not _fits(own, aval):
            raise TypeError(explain(
                _JET, "terms of a series must have the type of their argument.",
                f"argument: {aval}", f"term:     {own}"))
        if is_known_zero(term):
            answer.append(Zero(aval.to_tangent()))
        else:
            answer.append(scaled(factor, convert(term, aval.dtype, aval.weak_type)))
    return answer


def _fits(term, aval) -> bool:
    """Whether a term may be converted: Python's numbers, and integers."""
    exact = not dtypes.issubdtype(term.dtype, np.inexact)
    real = not dtypes.issubdtype(term.dtype, np.complexfloating)
    return exact or term.weak_type and (
        real or dtypes.issubdtype(aval.dtype, np.complexfloating))


def _zeros(y):
    aval = typeof(y)
    if dtypes.issubdtype(aval.dtype, np.inexact):
        return zeros_of(aval)
    return zeros_of(aval.update(dtype=dtypes.canonicalize_dtype(np.float64), weak_type=True))


# -- rules -----------------------------------------------------------------------------------------


class ZeroTerm:
    """A coefficient that is zero for structural reasons."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "zero_term"


zero_term = ZeroTerm()


def fact(n):
    """The factorial of a number.

    >>> tanx.experimental.jet.fact(4)
    Array(24., dtype=float32, weak_type=True)
    """
    if isinstance(n, int):
        return as_array(float(factorial(n)))
    n = as_array(n)
    aval = typeof(n)
    if not dtypes.issubdtype(aval.dtype, np.inexact):
        n = convert(n, dtypes.canonicalize_dtype(np.float64), True)
    return round(exp(lgamma(add(n, like(n, 1)))))


def linear_prop(prim, primals_in, series_in, **params):
    """The result and the series of a primitive that is linear in all operands together.

    >>> from tanx.experimental.jet import linear_prop
    >>> [float(t) for t in linear_prop(lax.neg_p, (1.0,), ([2.0, 3.0],))[1]]
    [-2.0, -3.0]
    """
    out = prim.bind(*primals_in, **params)
    order = next((len(ts) for ts in series_in if ts is not zero_series), 0)
    terms = [[_zeros(x)] * order if ts is zero_series else ts
             for x, ts in zip(primals_in, series_in)]
    found = [prim.bind(*column, **params) for column in zip(*terms)]
    return out, [list(ts) for ts in zip(*found)] if prim.multiple_results else found


def zero_prop(prim, primals_in, series_in, **params):
    """The result of a primitive whose derivative is zero everywhere, and a zero series.

    >>> from tanx.experimental.jet import zero_prop
    >>> zero_prop(lax.sign_p, (2.0,), ([1.0],))
    (Array(1., dtype=float32, weak_type=True), zero_series)
    """
    return prim.bind(*primals_in, **params), zero_series


def deriv_prop(prim, deriv: Callable, primals_in, series_in, **params):
    """The result and the series of a function of one operand, from its derivative.

    >>> from tanx.experimental.jet import deriv_prop
    >>> y, (y1, y2) = deriv_prop(lax.log_p, lambda x: 1 / x, (2.0,), ([1.0, 0.0],), accuracy=None)
    >>> float(y1), float(y2)
    (0.5, -0.125)
    """
    (x,), (xs,) = primals_in, series_in
    out = prim.bind(x, **params)
    moves = [scaled(k, as_array(t)) for k, t in enumerate(xs, 1)]
    order = len(xs) - 1
    (first,), (rest,) = taylor(lambda x, dx: [deriv(x) * dx], [as_array(x), moves[0]],
                               [list(map(as_array, xs[:-1])), moves[1:]], order)
    terms = [first, *([_zeros(first)] * order if rest is zero_series else rest)]
    return out, [scaled(1 / k, t) for k, t in enumerate(terms, 1)]


def deflinear(prim) -> None:
    """Give a primitive the Taylor rule of functions that are linear in all operands together.

    >>> from copy import copy
    >>> negative = copy(lax.neg_p)
    >>> tanx.experimental.jet.deflinear(negative)
    >>> [float(t) for t in tanx.experimental.jet.jet(negative.bind, (1.0,), ((1.0, 3.0),))[1]]
    [-1.0, -3.0]
    """
    prim.taylor = lambda primals, series, **params: linear_prop(prim, primals, series, **params)


def defzero(prim) -> None:
    """Give a primitive the Taylor rule of functions whose derivative is zero everywhere.

    >>> from copy import copy
    >>> below = copy(lax.floor_p)
    >>> tanx.experimental.jet.defzero(below)
    >>> [float(t) for t in tanx.experimental.jet.jet(below.bind, (1.5,), ((1.0, 3.0),))[1]]
    [0.0, 0.0]
    """
    prim.taylor = lambda primals, series, **params: zero_prop(prim, primals, series, **params)


def def_deriv(prim, deriv: Callable) -> None:
    """Give a primitive of one operand a Taylor rule, by its derivative.

    >>> from copy import copy
    >>> square = copy(lax.square_p)
    >>> tanx.experimental.jet.def_deriv(square, lambda x: 2 * x)
    >>> [float(t) for t in tanx.experimental.jet.jet(square.bind, (1.5,), ((1.0, 0.0),))[1]]
    [3.0, 2.0]
    """
    prim.taylor = lambda primals, series, **params: deriv_prop(prim, deriv, primals, series,
                                                               **params)


def def_comp(prim, comp: Callable, **kwargs) -> None:
    """Give a primitive a Taylor rule by an equivalent function of other primitives.

    >>> from copy import copy
    >>> square = copy(lax.square_p)
    >>> tanx.experimental.jet.def_comp(square, lambda x: x * x)
    >>> [float(t) for t in tanx.experimental.jet.jet(square.bind, (1.5,), ((1.0, 0.0),))[1]]
    [3.0, 2.0]
    """
    def rule(primals, series, **params):
        order = next(len(ts) for ts in series if ts is not zero_series)
        outs, found = taylor(lambda *xs: tree_flatten(comp(*xs, **kwargs))[0], primals, series,
                             order)
        return (outs, found) if prim.multiple_results else (outs[0], found[0])
    prim.taylor = rule
