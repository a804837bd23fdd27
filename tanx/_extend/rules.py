"""Tables of rules: mappings from primitives, including our own, to their rules.

A rule is an attribute of a primitive, so a table is a view of one attribute: a rule that is written
to it is used by every transformation, and it contains the rules of our primitives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any, cast

from .._core.jaxpr import JaxprEqn, Literal
from .._core.linear import Expansion, Never, Zero, instantiate, is_linear
from .._core.primitive import Primitive as AnyPrimitive
from .._core.primitive import primitives
from .._core.trace import context
from .._core.types import typeof
from .._ops.derive import sum_cotangents
from .._transforms.jvp import jvp as run_jvp
from .._transforms.linearize import JaxprTracer, PartialTrace
from .primitive import Primitive

__all__ = ["RuleBook", "as_given", "defbilinear", "defjvp", "defjvp2", "deflinear", "deflinear2",
           "in_tuples", "primitive_jvps", "primitive_transposes"]


class RuleBook(MutableMapping):
    """The rules of one kind, by primitive. ``adapt`` and ``restore`` translate their signatures."""

    def __init__(self, attribute: str, adapt: Callable = lambda rule: rule,
                 restore: Callable = lambda primitive, rule: rule):
        self.attribute, self.adapt, self.restore = attribute, adapt, restore

    def __getitem__(self, primitive: AnyPrimitive):
        rule = getattr(primitive, self.attribute, None)
        given = isinstance(primitive, Primitive) and type(primitive) is Primitive
        if rule is None or type(rule) is Never or (
                given and self.attribute not in vars(primitive)):
            raise KeyError(primitive)
        return self.restore(primitive, rule)

    def __setitem__(self, primitive: AnyPrimitive, rule: Callable) -> None:
        setattr(primitive, self.attribute, self.adapt(rule))

    def __delitem__(self, primitive: AnyPrimitive) -> None:
        if self.attribute not in vars(primitive):
            raise KeyError(primitive)
        delattr(primitive, self.attribute)

    def __iter__(self) -> Iterator[AnyPrimitive]:
        return (p for p in primitives.values() if p in self)

    def __contains__(self, primitive: object) -> bool:
        try:
            self[cast(AnyPrimitive, primitive)]
        except KeyError:
            return False
        return True

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _called_rule(primitive: AnyPrimitive, rule) -> Callable:
    """A function for a ``jvp`` rule, which may be the derivative of an expression."""
    if type(rule) is not Expansion:
        return getattr(rule, "given", rule)

    def jvp(primals, tangents, **params):
        def flat(*xs):
            out = rule.function(primitive, *xs, **params)
            return list(out) if primitive.multiple_results else [out]

        outs, out_tangents = run_jvp(flat, primals, tangents)
        return (outs, out_tangents) if primitive.multiple_results else (outs[0], out_tangents[0])

    return jvp


def in_tuples(rule: Callable) -> Callable:
    """A rule that gets its two lists as tuples."""
    def of_lists(first, second, **params):
        return rule(tuple(first), tuple(second), **params)

    of_lists.given = rule  # type: ignore[attr-defined]
    return of_lists


def _replayed(rule: Callable) -> Callable:
    """A user's ``jvp`` rule; after it, users' primitives are asked for the types of its equations.

    JAX records the tangents of a rule first, and copies the equations that are needed into the
    linear program afterwards. It infers their types again then, which abstract evaluations that
    print show. The equations are not copied here: only users' functions are called.
    """
    def jvp(primals, tangents, **params):
        trace = context.trace
        if not isinstance(trace, PartialTrace):
            return rule(tuple(primals), tuple(tangents), **params)
        start = len(trace.eqns)
        out, out_tangents = rule(tuple(primals), tuple(tangents), **params)
        recorded = trace.eqns[start:]
        if any(type(eqn.primitive) is Primitive for eqn in recorded):
            for eqn in _behind(out_tangents, recorded):
                if type(eqn.primitive) is Primitive:
                    eqn.primitive.known_types([v.aval for v in eqn.invars], eqn.params)
        return out, out_tangents

    jvp.given = rule  # type: ignore[attr-defined]
    return jvp


def _behind(values, eqns: Sequence[JaxprEqn]) -> list[JaxprEqn]:
    """The equations that traced values depend on, and those with effects, in order."""
    needed = {x.atom for x in (values if isinstance(values, tuple | list) else [values])
              if isinstance(x, JaxprTracer)}
    found = []
    for eqn in reversed(eqns):
        if eqn.effects or not needed.isdisjoint(eqn.outvars):
            needed.update(v for v in eqn.invars if type(v) is not Literal)
            found.append(eqn)
    return found[::-1]


def as_given(primitive: AnyPrimitive, rule: Callable) -> Callable:
    """The rule with the signature that its author wrote."""
    return getattr(rule, "given", rule)


primitive_jvps = RuleBook("jvp", _replayed, _called_rule)
primitive_transposes = RuleBook("transpose")


# -- rules by their parts --------------------------------------------------------------------------


def _zero_like(primitive: AnyPrimitive, out) -> Any:
    """The zero tangent of a result."""
    return [*map(Zero.tangent_of, out)] if primitive.multiple_results else Zero.tangent_of(out)


def defjvp(primitive, *jvprules) -> None:
    """Set a derivative for each operand: ``rule(tangent, *primals, **params)``, or None for zero.

    >>> p = tanx.extend.core.Primitive("square")
    >>> _ = p.def_impl(lambda x: x * x), p.def_abstract_eval(lambda x: x)
    >>> tanx.interpreters.ad.defjvp(p, lambda t, x: 2 * x * t)
    >>> tanx.grad(p.bind)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    defjvp2(primitive, *(None if rule is None else _without_result(rule) for rule in jvprules))


def _without_result(rule):
    return lambda tangent, out, *primals, **params: rule(tangent, *primals, **params)


def defjvp2(primitive, *jvprules) -> None:
    """As :func:`defjvp`, for rules that take the result as well: ``rule(tangent, out, *primals)``.

    >>> p = tanx.extend.core.Primitive("exponential")
    >>> _ = p.def_impl(jnp.exp), p.def_abstract_eval(lambda x: x)
    >>> tanx.interpreters.ad.defjvp2(p, lambda t, out, x: out * t)
    >>> tanx.grad(p.bind)(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    def jvp(primals, tangents, **params):
        out = primitive.bind(*primals, **params)
        total = _zero_like(primitive, out)
        for rule, tangent in zip(jvprules, tangents):
            if rule is not None and type(tangent) is not Zero:
                total = sum_cotangents(total, rule(tangent, out, *primals, **params))
        return out, total

    primitive_jvps[primitive] = jvp


def deflinear(primitive, transpose_rule) -> None:
    """Declare that a primitive is linear, with ``transpose_rule(ct, **params)`` for all operands.

    >>> p = tanx.extend.core.Primitive("thrice")
    >>> _ = p.def_impl(lambda x: 3 * x), p.def_abstract_eval(lambda x: x)
    >>> tanx.interpreters.ad.deflinear(p, lambda ct: [3 * ct])
    >>> tanx.grad(p.bind)(1.0)
    Array(3., dtype=float32, weak_type=True)
    """
    deflinear2(primitive, lambda ct, *args, **params: transpose_rule(ct, **params))


def deflinear2(primitive, transpose_rule) -> None:
    """As :func:`deflinear`, for a rule that takes the operands: ``transpose_rule(ct, *args)``.

    >>> p = tanx.extend.core.Primitive("half")
    >>> _ = p.def_impl(lambda x: x / 2), p.def_abstract_eval(lambda x: x)
    >>> tanx.interpreters.ad.deflinear2(p, lambda ct, x: [ct / 2])
    >>> tanx.grad(p.bind)(1.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    def jvp(primals, tangents, **params):
        out = primitive.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            return out, _zero_like(primitive, out)
        return out, primitive.bind(*map(instantiate, tangents), **params)

    def transpose(ct, *args, **params):
        zero = (all(type(c) is Zero for c in ct) if primitive.multiple_results
                else type(ct) is Zero)
        if zero:
            return [Zero(typeof(x).to_tangent()) for x in args]
        return transpose_rule(ct, *args, **params)

    primitive_jvps[primitive] = jvp
    primitive_transposes[primitive] = transpose


def defbilinear(prim, lhs_rule, rhs_rule) -> None:
    """Declare that a primitive is linear in each of two operands.

    ``lhs_rule(ct, x, y, **params)`` is the cotangent of the first, ``rhs_rule`` of the second.

    >>> p = tanx.extend.core.Primitive("times")
    >>> _ = p.def_impl(lambda x, y: x * y), p.def_abstract_eval(lambda x, y: x)
    >>> tanx.interpreters.ad.defbilinear(p, lambda ct, x, y: ct * y, lambda ct, x, y: ct * x)
    >>> tanx.grad(p.bind)(2.0, 3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    defjvp(prim, lambda t, x, y, **params: prim.bind(t, y, **params),
           lambda t, x, y, **params: prim.bind(x, t, **params))

    def transpose(ct, x, y, **params):
        if is_linear(x):
            return (Zero(x.aval.to_tangent()) if type(ct) is Zero
                    else lhs_rule(ct, x, y, **params)), None
        return None, (Zero(y.aval.to_tangent()) if type(ct) is Zero
                      else rhs_rule(ct, x, y, **params))

    primitive_transposes[prim] = transpose
