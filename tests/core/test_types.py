"""Types and traced values print as in JAX."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.interpreters import ad

ONES = jnp.ones((2, 3))


@pytest.mark.parametrize("value, text", [
    (3, "~int32[]"), (2.5, "~float32[]"), (True, "bool[]"), (1j, "~complex64[]"),
    (jnp.arange(3), "int32[3]"), (np.zeros((2, 3)), "float32[2,3]"),
    (jnp.ones(2, "bfloat16"), "bfloat16[2]"), (jnp.array(1.0), "~float32[]"),
], ids=str)
def test_types_print_in_full(value, text):
    aval = tanx.typeof(value)
    assert str(aval) == f"{aval}" == text
    weak = ", weak_type=True" if text[0] == "~" else ""
    assert repr(aval) == f"ShapedArray({text.lstrip('~')}{weak})"
    assert aval.str_short() == text.lstrip("~")


def test_jaxprs_write_types_short():
    assert ONES.aval.str_short(short_dtypes=True) == "f32[2,3]"
    assert str(tanx.make_jaxpr(lambda x: x)(1.0)) == "{ lambda ; a:f32[]. let  in (a,) }"
    assert str(tanx.typeof(tanx.random.key(0))) == "key<fry>[]"
    assert str(tanx.typeof(np.zeros(3, tanx.float0))) == "float0[3]"


def seen(transform, *args):
    """The printed argument inside a function."""
    texts = []

    def keep(x):
        texts.append((str(x), repr(x), f"{x}"))
        return jnp.sum(x * 1.0)

    transform(keep)(*args)
    (first, *_), *_ = texts
    assert texts[0] == (first,) * 3
    return first


@pytest.mark.parametrize("transform, arg, text", [
    (tanx.jit, 3.0, "JitTracer(~float32[])"),
    (tanx.jit, ONES, "JitTracer(float32[2,3])"),
    (tanx.make_jaxpr, jnp.arange(3), "JitTracer(int32[3])"),
    (tanx.grad, jnp.ones(2), "GradTracer(primal=[1. 1.], typeof(tangent)=f32[2])"),
    (tanx.grad, 2.0, "GradTracer(primal=2.0, typeof(tangent)=f32[])"),
    (lambda f: tanx.jit(tanx.grad(f)), 1.0,
     "GradTracer(primal=JitTracer(~float32[]), typeof(tangent)=f32[])"),
    (lambda f: tanx.vmap(tanx.grad(f)), jnp.ones(3),
     "GradTracer(primal=VmapTracer(aval=float32[], batched=float32[3]), typeof(tangent)=f32[])"),
    (tanx.vmap, ONES, "VmapTracer(aval=float32[3], batched=float32[2,3])"),
    (lambda f: lambda x: tanx.jvp(f, (x,), (x,)), 1.0, "JVPTracer(primal=1.0, tangent=1.0)"),
    (lambda f: tanx.jit(lambda x: tanx.jvp(f, (x,), (x,))), 1.0,
     "JVPTracer(primal=JitTracer(~float32[]), tangent=JitTracer(~float32[]))"),
    (tanx.checkpoint, 1.0, "JitTracer(~float32[])"),
])
def test_traced_values_print_with_their_types(transform, arg, text):
    assert seen(transform, arg) == text


@pytest.mark.parametrize("transform, of_value, of_tangent", [
    (tanx.grad, "LinearizeTracer", "Traced<~float32[]:JaxprTrace>"),
    (lambda f: tanx.jit(tanx.grad(f)), "LinearizeTracer", "Traced<~float32[]:JaxprTrace>"),
    (lambda f: lambda x: tanx.jvp(f, (x,), (x,)), "JVPTracer", "1.0"),
    (tanx.jacfwd, "JVPTracer", "VmapTracer(aval=~float32[], batched=~float32[1])"),
])
def test_classes_and_tangents_of_differentiated_values(transform, of_value, of_tangent):
    seen = []
    twice = tanx.custom_jvp(lambda x: 2 * x)

    @twice.defjvp
    def rule(primals, tangents):
        seen.append(str(tangents[0]))
        return 2 * primals[0], 2 * tangents[0]

    def f(x):
        seen.append(type(x).__name__)
        return twice(x)

    for _ in range(4):
        transform(f)(1.0)
    assert seen[:2] == [of_value, of_tangent]


def test_a_linear_operand_prints_as_rules_know_it():
    assert repr(ad.UndefinedPrimal(tanx.typeof(ONES))) == "UndefinedPrimal(float32[2,3])"
