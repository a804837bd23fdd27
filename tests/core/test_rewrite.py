"""Rewriting jaxprs."""

import gc
import weakref

import numpy as np

from tanx._core.array import Array
from tanx._core.jaxpr import ClosedJaxpr, Literal
from tanx._core.rewrite import (
    constvars_to_invars,
    dce,
    dce_closed,
    fresh,
    inline_calls,
    prune_constants,
    substitute,
)
from tests.core.fakes import (
    Fake,
    FakeCall,
    add,
    call,
    chain,
    cos,
    f32,
    jit_p,
    mul,
    shout,
    sin,
    trace,
)

X = f32(3)
C, D = (Array(np.full(3, value, np.float32)) for value in (1, 2))


# --- Substitution ---------------------------------------------------------------------------------


def test_substitute_reads_another_variable():
    jaxpr = trace(lambda x, y: mul.bind(sin.bind(x), add.bind(x, y)), X, X).jaxpr
    x, y = jaxpr.invars
    assert str(substitute(jaxpr, {x: y})) == """\
{ lambda ; a:f32[3] b:f32[3]. let
    c:f32[3] = sin b
    d:f32[3] = add b b
    e:f32[3] = mul c d
  in (e,) }"""
    assert jaxpr.eqns[0].invars == [x]


def test_substitute_reaches_outputs_and_takes_literals():
    jaxpr = trace(lambda x, y: [x, add.bind(x, y)], X, X).jaxpr
    two = Literal(np.float32(2))
    assert str(substitute(jaxpr, {jaxpr.invars[0]: two})) == (
        "{ lambda ; a:f32[3] b:f32[3]. let c:f32[3] = add 2.0:f32[] b in (2.0:f32[], c) }")


def test_substitute_shares_equations_that_stay():
    jaxpr = trace(lambda x, y: [sin.bind(x), cos.bind(y)], X, X).jaxpr
    new = substitute(jaxpr, {jaxpr.invars[1]: jaxpr.invars[0]})
    assert new.eqns[0] is jaxpr.eqns[0] and new.eqns[1] is not jaxpr.eqns[1]


def test_fresh_has_other_variables_and_the_same_text():
    closed = trace(lambda x, y: [add.bind(sin.bind(x), C), x], X, X)
    copy = fresh(closed.jaxpr)
    assert str(copy) == str(closed.jaxpr)

    def variables(jaxpr):
        return {*jaxpr.constvars, *jaxpr.invars, *jaxpr.outvars,
                *(v for e in jaxpr.eqns for v in [*e.invars, *e.outvars])}
    assert not variables(copy) & variables(closed.jaxpr)


# --- Constants ------------------------------------------------------------------------------------


def test_constants_become_arguments():
    jaxpr = trace(lambda x: mul.bind(add.bind(x, C), D), X).jaxpr
    as_arguments = constvars_to_invars(jaxpr)
    assert str(as_arguments) == """\
{ lambda ; a:f32[3] b:f32[3] c:f32[3]. let
    d:f32[3] = add c a
    e:f32[3] = mul d b
  in (e,) }"""


def test_unused_constants_are_forgotten():
    closed = trace(lambda x: [add.bind(x, C), add.bind(x, D)], X)
    smaller, _ = dce(closed.jaxpr, [False, True])
    pruned = prune_constants(ClosedJaxpr(smaller, closed.consts))
    assert str(pruned) == "{ lambda a:f32[3]; b:f32[3]. let c:f32[3] = add b a in (c,) }"
    assert pruned.consts == [D]
    assert prune_constants(pruned) is pruned


# --- Dead code ------------------------------------------------------------------------------------


def test_dce_keeps_equations_of_used_outputs():
    jaxpr = trace(lambda x, y, z: [sin.bind(x), cos.bind(cos.bind(y)), z], X, X, X).jaxpr
    smaller, used = dce(jaxpr, [True, False, False])
    assert str(smaller) == (
        "{ lambda ; a:f32[3] b:f32[3] c:f32[3]. let d:f32[3] = sin a in (d,) }")
    assert used == [True, False, False]
    assert dce(jaxpr, [False, False, True])[1] == [False, False, True]


def test_dce_without_dead_code_changes_nothing():
    jaxpr = trace(lambda x: sin.bind(cos.bind(x)), X).jaxpr
    assert dce(jaxpr, [True]) == (jaxpr, [True])


def test_dce_keeps_effects_and_their_operands():
    jaxpr = trace(lambda x, y: (shout.bind(sin.bind(x)), cos.bind(y))[1], X, X).jaxpr
    smaller, used = dce(jaxpr, [False])
    assert str(smaller) == (
        "{ lambda ; a:f32[3] b:f32[3]. let c:f32[3] = sin a; shout c in () }")
    assert used == [True, False]
    assert smaller.effects == jaxpr.effects != frozenset()


def test_dce_drops_effects_with_their_equations_only():
    quiet = trace(lambda x: [sin.bind(x), cos.bind(x)], X).jaxpr
    assert dce(quiet, [True, False])[0].effects == frozenset()


def test_dce_keeps_an_equation_of_which_one_result_is_used():
    two = Fake("two", n=2)
    jaxpr = trace(lambda x: two.bind(x), X).jaxpr
    smaller, _ = dce(jaxpr, [False, True])
    assert str(smaller) == "{ lambda ; a:f32[3]. let _:f32[3] b:f32[3] = two a in (b,) }"


class Prunable(FakeCall):
    """A call whose body may be pruned."""

    def dce(self, used_outs, eqn):
        body, used_ins = dce_closed(eqn.params["jaxpr"], used_outs)
        if body is eqn.params["jaxpr"]:
            return used_ins, eqn
        return used_ins, eqn.replace(
            invars=[x for x, used in zip(eqn.invars, used_ins) if used],
            outvars=[v for v, used in zip(eqn.outvars, used_outs) if used],
            params={**eqn.params, "jaxpr": body}, effects=body.effects)


prunable = Prunable("jit")


def test_dce_descends_into_calls():
    body = trace(lambda a, b: [sin.bind(a), cos.bind(add.bind(b, C))], X, X)
    outer = trace(lambda x, y: prunable.bind(sin.bind(x), cos.bind(y), jaxpr=body, name="f"), X, X)
    smaller, used = dce(outer.jaxpr, [True, False])
    assert str(smaller) == """\
{ lambda ; a:f32[3] b:f32[3]. let
    c:f32[3] = sin a
    d:f32[3] = jit[
      name=f
      jaxpr={ lambda ; c:f32[3]. let d:f32[3] = sin c in (d,) }
    ] c
  in (d,) }"""
    assert used == [True, False]


def test_dce_descends_into_nested_calls():
    inner = trace(lambda a: [sin.bind(a), cos.bind(a)], X)
    middle = trace(lambda a: prunable.bind(a, jaxpr=inner, name="inner"), X)
    outer = trace(lambda a: prunable.bind(a, jaxpr=middle, name="middle"), X)
    smaller, _ = dce(outer.jaxpr, [False, True])
    body = smaller.eqns[0].params["jaxpr"].eqns[0].params["jaxpr"]
    assert str(body) == "{ lambda ; a:f32[3]. let b:f32[3] = cos a in (b,) }"


def test_dce_leaves_calls_alone_that_are_alive():
    body = trace(lambda a: sin.bind(a), X)
    jaxpr = trace(lambda x: prunable.bind(x, jaxpr=body, name="f"), X).jaxpr
    assert dce(jaxpr, [True])[0] is jaxpr


def test_calls_of_one_body_share_it_afterwards():
    body = trace(lambda a: [sin.bind(a), cos.bind(a)], X)

    def fun(x):
        y = prunable.bind(x, jaxpr=body, name="f")[0]
        return prunable.bind(y, jaxpr=body, name="f")[0]
    smaller, _ = dce(trace(fun, X).jaxpr, [True])
    first, second = smaller.eqns
    assert first.params["jaxpr"] is second.params["jaxpr"]
    assert len(first.params["jaxpr"].eqns) == 1


def test_dce_forgets_constants_of_bodies():
    body = trace(lambda a: [sin.bind(a), add.bind(a, C)], X)
    assert dce_closed(body, [True, False])[0].consts == []
    assert dce_closed(body, [False, True])[0].consts == [C]


def test_dce_cache_entries_are_freed_with_their_jaxpr():
    body = trace(lambda a: [sin.bind(a), cos.bind(a)], X)
    dce_closed(body, [True, True])
    dce_closed(body, [True, False])
    watch = weakref.ref(body)
    del body
    gc.collect()
    assert watch() is None


def test_dce_is_one_sweep():
    jaxpr = trace(chain(3000), X).jaxpr
    assert dce(jaxpr, [False])[0].eqns == []


# --- Inlining -------------------------------------------------------------------------------------


def body_of(eqn):
    return eqn.params["jaxpr"] if eqn.primitive is jit_p else None


def test_inline_calls_in_calls():
    inner = trace(lambda a, b: add.bind(sin.bind(a), b), X, X)
    middle = trace(lambda a: call(inner, cos.bind(a), a), X)
    closed = trace(lambda x: mul.bind(call(middle, x)[0], call(middle, sin.bind(x))[0]), X)
    assert str(inline_calls(closed, body_of)) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = cos a
    c:f32[3] = sin b
    d:f32[3] = add c a
    e:f32[3] = sin a
    f:f32[3] = cos e
    g:f32[3] = sin f
    h:f32[3] = add g e
    i:f32[3] = mul d h
  in (i,) }"""


def test_inlined_bodies_may_return_arguments_and_literals():
    body = trace(lambda a, b: [b, a, np.float32(2)], X, X)
    closed = trace(lambda x, y: call(body, x, y), X, X)
    assert str(inline_calls(closed, body_of)) == (
        "{ lambda ; a:f32[3] b:f32[3]. let  in (b, a, 2.0:f32[]) }")


def test_constants_of_inlined_bodies():
    body = trace(lambda a: add.bind(mul.bind(a, C), D), X)
    closed = trace(lambda x: call(body, call(body, add.bind(x, C))[0]), X)
    inlined = inline_calls(closed, body_of)
    assert str(inlined) == """\
{ lambda a:f32[3] b:f32[3]; c:f32[3]. let
    d:f32[3] = add c a
    e:f32[3] = mul d a
    f:f32[3] = add e b
    g:f32[3] = mul f a
    h:f32[3] = add g b
  in (h,) }"""
    assert inlined.consts == [C, D]


def test_inlining_keeps_calls_that_the_callback_declines():
    body = trace(lambda a: sin.bind(a), X)
    closed = trace(lambda x: call(body, x), X)
    assert str(inline_calls(closed, lambda eqn: None)) == str(closed)


def test_inlining_keeps_effects_and_sources():
    body = trace(lambda a: (shout.bind(a), sin.bind(a))[1], X)
    closed = trace(lambda x: call(body, x), X)
    inlined = inline_calls(closed, body_of)
    assert inlined.effects == closed.effects != frozenset()
    assert [e.source_info for e in inlined.eqns] == [e.source_info for e in body.eqns]
