"""The errors that the checker of jaxprs finds, and their messages."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._core import check
from tanx._core.array import Array
from tanx._core.axes import named_axis
from tanx._core.check import check_jaxpr
from tanx._core.effects import NamedAxisEffect
from tanx._core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from tanx.errors import JaxprTypeError
from tests.core.fakes import (
    Fake,
    FakeCall,
    add,
    call,
    chain,
    cos,
    f32,
    mul,
    shout,
    sin,
    trace,
)

X = f32(3)
NAME = "tanx.extend.core.check_jaxpr"


def complaint(jaxpr) -> str:
    with pytest.raises(JaxprTypeError) as caught:
        check_jaxpr(jaxpr)
    first, *rest = str(caught.value).splitlines()
    assert first.startswith(f"{NAME}: ")
    return "\n".join([first.removeprefix(f"{NAME}: "), *rest])


def equation(primitive, invars, outvars, **params):
    return JaxprEqn(invars, outvars, primitive, params)


def test_staged_jaxprs_are_well_formed():
    c = Array(np.ones(3, np.float32))
    inner = trace(lambda a: add.bind(a, c), X)
    check_jaxpr(trace(lambda x: [mul.bind(call(inner, x)[0], np.float32(2)), x, np.int32(1)], X))
    check_jaxpr(trace(lambda x: (shout.bind(x), sin.bind(x))[1], X).jaxpr)
    check_jaxpr(trace(lambda: []))


def test_a_variable_used_before_it_is_bound():
    x, y, z = Var(X), Var(X), Var(X)
    jaxpr = Jaxpr([], [x], [z], [equation(sin, [y], [z]), equation(cos, [x], [y])])
    assert complaint(jaxpr) == f"""\
a variable is used before it is bound.
  equation: a:f32[3] = sin b
  operand 0: Var(id={id(y)}):float32[3]"""
    assert complaint(Jaxpr([], [x], [y], [])) == f"""\
a variable is used before it is bound.
  output 0: Var(id={id(y)}):float32[3]"""


def test_a_variable_bound_twice():
    x, y = Var(X), Var(X)
    twice = [equation(sin, [x], [y]), equation(cos, [x], [y])]
    assert complaint(Jaxpr([], [x], [y], twice)) == f"""\
a variable is bound twice.
  equation: a:f32[3] = cos b
  variable: Var(id={id(y)}):float32[3]"""
    assert complaint(Jaxpr([x], [x], [x], [])) == f"""\
a variable is bound twice.
  variable: Var(id={id(x)}):float32[3]"""


def test_a_result_of_another_type():
    x, y = Var(X), Var(f32(4))
    assert complaint(Jaxpr([], [x], [y], [equation(sin, [x], [y])])) == """\
the results are not those that the primitive infers.
  equation: a:f32[4] = sin b
  written:  float32[4]
  inferred: float32[3]"""


def test_another_number_of_results():
    two, x = Fake("two", n=2), Var(X)
    assert complaint(Jaxpr([], [x], [], [equation(two, [x], [Var(X)])])) == """\
the results are not those that the primitive infers.
  equation: a:f32[3] = two b
  written:  float32[3]
  inferred: float32[3], float32[3]"""
    assert complaint(Jaxpr([], [x], [], [equation(two, [x], [])])).endswith(
        "written:  none\n  inferred: float32[3], float32[3]")


def test_weak_types_may_differ():
    x, y = Var(X), Var(X.update(weak_type=True))
    check_jaxpr(Jaxpr([], [x], [y], [equation(sin, [x], [y])]))


class Picky(Fake):
    """Takes vectors only."""

    def infer(self, x):
        if x.ndim != 1:
            raise TypeError(f"tanx.lax.picky: wants a vector.\n  operand: {x}")
        return x


def test_a_primitive_that_rejects_its_operands():
    x = Var(f32(2, 3))
    assert complaint(Jaxpr([], [x], [], [equation(Picky("picky"), [x], [Var(X)])])) == """\
the primitive rejects its operands.
  equation: a:f32[3] = picky b
  says:     TypeError: tanx.lax.picky: wants a vector.
              operand: float32[2,3]"""


def test_literals_of_another_type():
    x = Var(X)
    wrong = Literal(np.float64(2), f32())
    assert complaint(Jaxpr([], [x], [], [equation(mul, [x, wrong], [Var(X)])])) == """\
a literal is not of its type.
  equation: a:f32[3] = mul b 2.0:f32[]
  operand 1: np.float64(2.0)
  type:      float32[]"""
    assert complaint(Jaxpr([], [], [wrong], [])).startswith(
        "a literal is not of its type.\n  output 0")
    check_jaxpr(Jaxpr([], [], [Literal(2.0), Literal(np.float32(2)), Literal(True)], []))


def test_constants_of_another_type():
    closed = trace(lambda x: add.bind(x, Array(np.ones(3, np.float32))), X)
    wrong = ClosedJaxpr(closed.jaxpr, [Array(np.ones(4, np.float32))])
    assert complaint(wrong) == """\
a constant has another type than its variable.
  variable: float32[3]
  constant: float32[4]"""


def test_constants_of_inner_jaxprs():
    body = trace(lambda x: add.bind(x, Array(np.ones(3, np.float32))), X)
    check_jaxpr(body)
    wrong = ClosedJaxpr(body.jaxpr, [Array(np.ones(4, np.float32))])
    x, y = Var(X), Var(X)
    eqn = equation(FakeCall("jit"), [x], [y], jaxpr=wrong, name="f")
    assert complaint(Jaxpr([], [x], [y], [eqn])).startswith("a constant has another type")


def test_a_jaxpr_changed_by_hand_is_checked_again():
    jaxpr = trace(lambda x: sin.bind(x), X).jaxpr
    check_jaxpr(jaxpr)
    jaxpr.eqns.clear()
    assert complaint(jaxpr).startswith("a variable is used before it is bound.")


def test_effects_that_disagree():
    jaxpr = trace(lambda x: (shout.bind(x), x)[1], X).jaxpr
    check_jaxpr(jaxpr)
    (eqn,) = jaxpr.eqns
    silenced = eqn.replace(effects=frozenset(), source_info=None)
    assert complaint(jaxpr.replace(eqns=[silenced])) == """\
the effects are not those of the primitive.
  equation: shout a
  written:  none
  found:    Shout"""
    assert complaint(jaxpr.replace(effects=frozenset())) == """\
the effects are not those of its equations.
  written:  none
  found:    Shout"""


def test_inner_jaxprs_are_checked():
    x, y, a, b = Var(X), Var(X), Var(X), Var(f32(4))
    wrong = ClosedJaxpr(Jaxpr([], [a], [b], [equation(sin, [a], [b])]))
    body = FakeCall("jit")
    outer = Jaxpr([], [x], [y], [equation(body, [x], [y], jaxpr=wrong, name="f")])
    assert "equation: a:f32[4] = sin b" in complaint(outer)
    branches = FakeCall("cond", "branches")
    outer = Jaxpr([], [x], [y], [equation(branches, [x], [y], branches=(wrong, wrong))])
    assert "equation: a:f32[4] = sin b" in complaint(outer)


def test_the_users_line_and_a_long_equation():
    body = trace(chain(2), X)
    closed = trace(lambda x: call(body, x), X)
    (eqn,) = closed.eqns
    wrong = eqn.replace(outvars=[Var(f32(4))])
    text = complaint(closed.jaxpr.replace(eqns=[wrong], outvars=[]))
    assert text == f"""\
the results are not those that the primitive infers.
  equation: b:f32[4] = jit[
              name=f
              jaxpr={{ lambda ; a:f32[3]. let c:f32[3] = sin a; b:f32[3] = sin c in (b,) }}
            ] a
  made at:  {eqn.source_info}
  written:  float32[4]
  inferred: float32[3]"""
    assert "fakes.py" in text


def test_each_jaxpr_is_checked_once(monkeypatch):
    counted = []
    body = trace(lambda a: sin.bind(a), X)
    for _ in range(30):
        body = trace(lambda a, b=body: call(b, call(b, a)[0]), X)
    monkeypatch.setattr(check, "_infer_again", lambda eqn: counted.append(eqn))
    monkeypatch.setattr(check, "_passed", set())
    check_jaxpr(body)
    assert len(counted) == 61


class Sum(Fake):
    """Needs the named axis ``i`` to be in scope."""

    def infer(self, x):
        from tanx._core.axes import axis_size_of
        axis_size_of("i", "tanx.lax.psum")
        return x


def test_axes_that_are_not_in_scope_are_not_asked_for():
    psum = Sum("psum", effects=frozenset({NamedAxisEffect("i")}))
    x, wrong = Var(X), Var(f32(4))
    eqn = JaxprEqn([x], [wrong], psum, {}, psum.own_effects)
    check_jaxpr(Jaxpr([], [x], [wrong], [eqn]))
    with named_axis("i", 2):
        assert "written:  float32[4]" in complaint(Jaxpr([], [x], [wrong], [eqn]))



def test_constants_of_64_bits_where_they_are_not_enabled():
    """A part of a function may use 64-bit types; NumPy's constants of it keep theirs."""
    weights = np.array([0.1, 0.2, 0.3])

    @tanx.jit
    def inner(x):
        with tanx.enable_x64(True):
            return (tanx.lax.mul(jnp.asarray(x, np.float64), weights) - 1e-9).astype(np.float32)

    outer = tanx.jit(tanx.grad(lambda x: inner(x).sum()))
    for _ in range(4):
        np.testing.assert_allclose(outer(jnp.ones(3)), weights, rtol=1e-7)
