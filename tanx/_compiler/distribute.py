"""Combine independent products in the steps of a scan into one product for all steps.

A product of a step's inputs with constants is computed for all steps before the loop, which then
reads its rows. A carry that each step only adds a product to becomes one product after the loop, in
which the steps are another dimension to sum over; gradients of weights have this form. ::

    scan: h, x -> tanh(x @ u + h @ w)     xu = xs @ u;  scan: h, xu -> tanh(xu + h @ w)
    scan: g, x, d -> g + x.T @ d          g + einsum("tbi,tbj->ij", xs, ds)

Large products are bound by arithmetic, small ones by memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from .._core.flow import ForLoop
from .._core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from .._core.primitive import Kind
from .._core.rewrite import dce, with_their_needs
from .._core.stage import stage
from .._core.types import ShapedArray
from .._ops.arith import add_p
from .._ops.base import materialize
from .._ops.dot import dot_general_p
from .tuning import DistributeTuning

__all__ = ["distribute"]


Emit = Callable[[JaxprEqn], None]


def distribute(eqn: JaxprEqn, emit: Emit, tuning: DistributeTuning,
               ) -> tuple[JaxprEqn, list[JaxprEqn]]:
    """A smaller scan, and the equations after it; ``emit`` takes the equations before it."""
    loop = _loop_of(eqn)
    if loop.length < 2 or not any(
            e.primitive is dot_general_p for e in loop.body.jaxpr.eqns):
        return eqn, []
    return _sums_after(_products_before(eqn, emit, tuning), tuning)


def _loop_of(eqn: JaxprEqn) -> ForLoop:
    loop = eqn.primitive.flow(eqn.params)
    assert isinstance(loop, ForLoop)
    return loop


# -- before ----------------------------------------------------------------------------------------


def _products_before(eqn: JaxprEqn, emit: Emit, tuning: DistributeTuning) -> JaxprEqn:
    loop = _loop_of(eqn)
    body, length, first = loop.body.jaxpr, loop.length, loop.constants
    rows = first + loop.carries
    wanted, needed = _products_of_rows(body, first, rows, length, tuning)
    if not wanted:
        return eqn
    sources = dict(zip(body.invars, eqn.invars))
    used = list(dict.fromkeys(a for e in needed for a in e.invars if a in sources))
    read = set(body.invars[rows:])
    results = [v for e in wanted for v in e.outvars]
    staged = _for_all_steps(needed, used, [a in read for a in used], results, length)
    names: dict[Any, Atom] = dict(zip(staged.invars, (sources[a] for a in used)))
    for e in staged.eqns:
        fresh = [Var(v.aval) for v in e.outvars]
        emit(e.replace(invars=[names.get(a, a) for a in e.invars], outvars=fresh))
        names.update(zip(e.outvars, fresh))
    gone = set(wanted)
    body = body.replace(invars=[*body.invars, *results],
                        eqns=[e for e in body.eqns if e not in gone])
    body, _ = dce(body, [True] * len(body.outvars))
    operands = [*eqn.invars, *(names[a] for a in staged.outvars)]
    return eqn.replace(invars=operands, params=eqn.primitive.with_flow(
        eqn.params, loop._replace(body=ClosedJaxpr(body))))


def _products_of_rows(body: Jaxpr, first: int, rows: int, length: int, tuning: DistributeTuning,
                      ) -> tuple[list[JaxprEqn], list[JaxprEqn]]:
    """The products of a step that depend only on constants and rows, and what they need."""
    constants, known = set(body.invars[:first]), {*body.invars[:first], *body.invars[rows:]}
    makers: dict[Atom, JaxprEqn] = {}
    wanted: list[JaxprEqn] = []
    for eqn in body.eqns:
        if eqn.effects or eqn.primitive.kind is Kind.CALL or not all(
                isinstance(a, Literal) or a in known for a in eqn.invars):
            continue
        known.update(eqn.outvars)
        makers.update((v, eqn) for v in eqn.outvars)
        if eqn.primitive is dot_general_p and any(a in constants for a in eqn.invars) and (
                _multiplications(eqn) > tuning.small
                and length * _nbytes(eqn.outvars[0]) <= tuning.room_bytes):
            wanted.append(eqn)
    needed = with_their_needs(wanted, makers)
    return wanted, [eqn for eqn in body.eqns if eqn in needed]


def _for_all_steps(eqns: Sequence[JaxprEqn], given: Sequence[Atom], by_row: Sequence[bool],
                   results: Sequence[Var], length: int) -> Jaxpr:
    """Equations of one step, for all steps at once; their results have a leading axis of steps."""
    def run(*args):
        values = {a: (x, 0 if r else None) for a, x, r in zip(given, args, by_row)}
        for eqn in eqns:
            pairs = [(a.again(), None) if isinstance(a, Literal)
                     else values[a] for a in eqn.invars]
            operands, dims = [x for x, _ in pairs], [d for _, d in pairs]
            if all(d is None for d in dims):
                out = eqn.primitive.bind(*operands, **eqn.params)
                dim: Any = [None] * len(eqn.outvars) if eqn.primitive.multiple_results else None
            else:
                out, dim = eqn.primitive.batch(operands, dims, **eqn.params)
            if not eqn.primitive.multiple_results:
                out, dim = [out], [dim]
            values.update((v, pair) for v, pair in zip(eqn.outvars, zip(out, dim)))
        return [materialize(*values[v], length, 0) for v in results]

    types = [_stacked(a.aval, length) if r else a.aval for a, r in zip(given, by_row)]
    jaxpr, constants = stage(run, types)
    assert not constants
    return jaxpr


def _multiplications(eqn: JaxprEqn) -> int:
    """How many multiplications a matrix product sums up."""
    (contracted, _), _ = eqn.params["dimension_numbers"]
    return eqn.outvars[0].aval.size * prod(eqn.invars[0].aval.shape[d] for d in contracted)


def _nbytes(atom: Atom) -> int:
    return atom.aval.size * atom.aval.dtype.itemsize


def _stacked(aval: ShapedArray, length: int) -> ShapedArray:
    return ShapedArray((length, *aval.shape), aval.dtype, aval.weak_type)


# -- after -----------------------------------------------------------------------------------------


def _sums_after(eqn: JaxprEqn, tuning: DistributeTuning) -> tuple[JaxprEqn, list[JaxprEqn]]:
    loop = _loop_of(eqn)
    body, length, first, carried = loop.body.jaxpr, loop.length, loop.constants, loop.carries
    makers = {v: e for e in body.eqns for v in e.outvars}
    uses = Counter(a for e in body.eqns for a in e.invars) + Counter(body.outvars)
    rows: dict[Atom, Atom] = dict(zip(body.invars[first + carried:], eqn.invars[first + carried:]))
    constants = set(body.invars[:first])
    sums: dict[int, JaxprEqn] = {}
    for k in range(carried):
        product = _only_added(body.outvars[k], body.invars[first + k], makers, uses)
        if product is not None and _is_worth_it(product, length, constants, tuning):
            sums[k] = product
    if not sums:
        return eqn, []
    factors = list(dict.fromkeys(a for p in sums.values() for a in p.invars if a not in rows))
    stacks = {a: Var(_stacked(a.aval, length)) for a in factors}
    after = []
    for k, product in sums.items():
        x, y = (stacks[a] if a in stacks else rows[a] for a in product.invars)
        total = Var(product.outvars[0].aval)
        after += [JaxprEqn([x, y], [total], dot_general_p, dict(
            product.params, dimension_numbers=_also_over_steps(product)), source_info=(
                product.source_info)),
            JaxprEqn([eqn.invars[first + k], total], [eqn.outvars[k]], add_p, {},
                     source_info=product.source_info)]
    kept = [k for k in range(carried) if k not in sums]
    outs = [*(body.outvars[k] for k in kept), *body.outvars[carried:], *factors]
    ins = [*body.invars[:first], *(body.invars[first + k] for k in kept),
           *body.invars[first + carried:]]
    body, _ = dce(body.replace(invars=ins, outvars=outs), [True] * len(outs))
    operands = [*eqn.invars[:first], *(eqn.invars[first + k] for k in kept),
                *eqn.invars[first + carried:]]
    return eqn.replace(
        invars=operands,
        outvars=[*(eqn.outvars[k] for k in kept), *eqn.outvars[carried:], *stacks.values()],
        params=eqn.primitive.with_flow(eqn.params, loop._replace(
            body=ClosedJaxpr(body), carries=len(kept)))), after


def _only_added(out: Atom, carry: Var, makers: dict, uses: Counter) -> JaxprEqn | None:
    """The product that each step adds to a carry, if the step does not use the carry otherwise."""
    total = makers.get(out)
    if total is None or total.primitive.name not in ("add", "add_any") or uses[carry] != 1 or (
            uses[out] != 1 or carry not in total.invars):
        return None
    (other,) = [a for a in total.invars if a is not carry] or [carry]
    product = makers.get(other)
    if product is None or product.primitive is not dot_general_p or uses[other] != 1 or (
            product.outvars[0].aval.dtype != carry.aval.dtype):
        return None
    return product


def _is_worth_it(product: JaxprEqn, length: int, constants: set, tuning: DistributeTuning) -> bool:
    """Whether storing the factors of all steps costs less than adding in each step."""
    size = sum(map(_nbytes, product.invars))
    return (size <= 4 * _nbytes(product.outvars[0]) and size * length <= tuning.room_bytes
            and _multiplications(product) > tuning.small
            and not any(isinstance(a, Literal) or a in constants for a in product.invars))


def _also_over_steps(product: JaxprEqn) -> tuple:
    contracted, batch = product.params["dimension_numbers"]
    return (tuple((0, *(d + 1 for d in dims)) for dims in contracted),
            tuple(tuple(d + 1 for d in dims) for dims in batch))
