"""``make_jaxpr`` and other functions that trace: options, known values, names of parts."""

import inspect

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax

X = jnp.arange(3.0)


def error(call, kind=TypeError) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


# --- make_jaxpr -----------------------------------------------------------------------------------


def test_arguments_and_results_are_flat():
    closed = tanx.make_jaxpr(lambda t, *, k: {"b": t["x"] + k, "a": (t["y"],)})(
        {"y": 1, "x": 2.0}, k=3.0)
    assert str(closed) == (
        "{ lambda ; a:f32[] b:i32[] c:f32[]. let d:f32[] = add a c in (b, d) }")
    assert closed.consts == []


def test_types_may_stand_for_arrays():
    struct = tanx.ShapeDtypeStruct((2, 3), jnp.float32)
    assert str(tanx.make_jaxpr(lambda x: x * 2)(struct)) == (
        "{ lambda ; a:f32[2,3]. let b:f32[2,3] = mul a 2.0:f32[] in (b,) }")


def test_constants():
    closed = tanx.make_jaxpr(lambda x: x * X + 2.0)(X)
    assert [c is X for c in closed.consts] == [True]
    assert closed.jaxpr.constvars[0].aval == X.aval


@pytest.mark.parametrize("static", [1, (1,), -1, np.int64(1)])
def test_static_arguments(static):
    fun = lambda x, n: x * n if n > 1 else x
    closed = tanx.make_jaxpr(fun, static_argnums=static)(1.0, 3)
    assert str(closed) == "{ lambda ; a:f32[]. let b:f32[] = mul a 3.0:f32[] in (b,) }"


def test_named_axes():
    closed = tanx.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 4)])(1.0)
    assert str(closed.eqns[0]) == "a:f32[] = psum[axes=('i',) axis_index_groups=None] b"
    with pytest.raises(NameError):
        lax.psum(1.0, "i")


def test_shapes_of_results():
    closed, shapes = tanx.make_jaxpr(lambda x: (x, {"a": x.sum()}), return_shape=True)(X)
    assert shapes == (tanx.ShapeDtypeStruct((3,), jnp.float32),
                      {"a": tanx.ShapeDtypeStruct((), jnp.float32)})
    assert len(closed.out_avals) == 2


def test_nothing_is_computed():
    assert tanx.make_jaxpr(lambda: lax.iota(np.int32, 10 ** 12))().out_avals[0].size == 10 ** 12


def test_inside_other_functions():
    seen = []
    tanx.jit(lambda x: seen.append(tanx.make_jaxpr(lambda y: y * x)(2.0)) or x)(1.0)
    assert len(seen[0].consts) == 1


def test_library_functions_are_calls():
    assert [e.params.get("name") for e in tanx.make_jaxpr(lambda x: jnp.clip(x, 0, 1))(X).eqns] == [
        "clip"]


def test_weak_types_are_in_the_types():
    closed = tanx.make_jaxpr(lambda x, y: (x, y))(1.0, jnp.float32(1))
    assert [a.weak_type for a in closed.in_avals] == [True, False]
    assert [a.weak_type for a in closed.out_avals] == [True, False]


@pytest.mark.parametrize("call, kind, text", [
    (lambda: tanx.make_jaxpr(3), TypeError,
     "tanx.make_jaxpr: needs a function to transform.\n"
     "  given: 3"),
    (lambda: tanx.make_jaxpr(lambda x, mode: x)(1.0, "fast"), TypeError,
     "tanx.make_jaxpr: argument mode of <lambda> is not an array.\n"
     "  value: 'fast' of type str\n"
     "  Hint: mark it with static_argnums."),
    (lambda: tanx.make_jaxpr(lambda x: "a")(1.0), TypeError,
     "tanx.make_jaxpr: <lambda> must return arrays or numbers.\n"
     "  result: 'a' of type str"),
    (lambda: tanx.make_jaxpr(lambda x: x, static_argnums=1)(1.0), ValueError,
     "tanx.make_jaxpr: static_argnums names an argument that was not passed by position.\n"
     "  static_argnums: (1,)\n"
     "  arguments:      1 passed to <lambda>"),
])
def test_mistakes(call, kind, text):
    assert error(call, kind) == text


def test_name_and_signature():
    def fun(x, y=1):
        return x

    assert tanx.make_jaxpr(fun).__name__ == "make_jaxpr(fun)"
    assert inspect.signature(tanx.make_jaxpr(fun)) == inspect.signature(fun)


# --- Known values ---------------------------------------------------------------------------------


def test_compile_time_eval_computes_constants_eagerly():
    def fun(x):
        with tanx.ensure_compile_time_eval():
            total = jnp.arange(3).sum() + X.astype(int)[2]
            assert type(total) is tanx.Array and total == 5
        return x + total

    assert tanx.jit(fun)(1.0) == 6.0
    assert len(tanx.make_jaxpr(fun)(1.0).eqns) <= 2


def test_staged_values_that_depend_on_no_argument_are_known():
    def fun(x):
        n = lax.reduce_sum(lax.iota(np.int32, 4), (0,))  # staged
        with tanx.ensure_compile_time_eval():
            assert type(n + 1) is tanx.Array and n + 1 == 7
            assert tanx.jit(lambda m: m * 2)(n) == 12
        return x

    tanx.make_jaxpr(fun)(1.0)


def test_compile_time_eval_of_tracers_is_left_to_outer_transforms():
    def fun(x):
        with tanx.ensure_compile_time_eval():
            return x * x + 1

    assert fun(3.0) == tanx.jit(fun)(3.0) == 10.0
    assert tanx.grad(fun)(3.0) == 6.0 and tanx.jit(tanx.grad(fun))(3.0) == 6.0
    np.testing.assert_array_equal(tanx.vmap(fun)(X), X * X + 1)


# --- Names of parts -------------------------------------------------------------------------------


def scopes(fun, *args):
    return [e.source_info.scopes for e in tanx.make_jaxpr(fun)(*args).eqns]


def test_named_scope():
    def fun(x):
        with tanx.named_scope("outer"):
            y = lax.sin(x)
            with tanx.named_scope("inner"):
                y = lax.cos(y)
        return lax.exp(y)

    assert scopes(fun, 1.0) == [("outer",), ("outer", "inner"), ()]
    eqns = tanx.make_jaxpr(fun)(1.0).eqns  # haiku splits the text of their stacks
    assert [str(e.source_info.name_stack) for e in eqns] == ["outer", "outer/inner", ""]


def test_named_scope_as_a_decorator():
    assert scopes(tanx.named_scope("part")(lax.sin), 1.0) == [("part",)]


def test_named_call():
    @tanx.named_call
    def layer(x):
        return lax.sin(x)

    assert scopes(layer, 1.0) == [("layer",)]
    assert scopes(tanx.named_call(layer, name="other"), 1.0) == [("other", "layer")]
    assert layer(0.0) == 0.0 and layer.__name__ == "layer"
    text = tanx.make_jaxpr(layer)(1.0).pretty_print(name_stack=True)
    assert text == "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) } # [layer]"


def test_scopes_end_with_an_exception():
    with pytest.raises(KeyError), tanx.named_scope("part"):
        raise KeyError
    assert scopes(lax.sin, 1.0) == [()]


def test_scope_mistakes():
    assert error(lambda: tanx.named_scope(3)) == (
        "tanx.named_scope: the name must be a string, not 3.")
    assert error(lambda: tanx.named_call(3)) == (
        "tanx.named_call: needs a function to transform.\n"
        "  given: 3")


@pytest.mark.parametrize("fun", [
    lambda x: (jnp.add(x, NUMBERS), jnp.sum(NUMBERS), x * NUMBERS, NUMBERS),
    lambda x: tanx.jit(lambda y: y + NUMBERS)(x) * NUMBERS,
    lambda x: lax.cond(x[0] > 0, lambda x: x + NUMBERS, lambda x: x * NUMBERS, x),
    lambda x: lax.scan(lambda c, _: (c + NUMBERS, None), x, None, length=3)[0] + NUMBERS,
    lambda x: tanx.grad(lambda x: jnp.sum(x * NUMBERS) + lax.mul(x, NUMBERS).sum())(x),
    lambda x: tanx.vmap(lambda y: y * NUMBERS + jnp.array(NUMBERS))(x),
], ids=["operations", "jit", "cond", "scan", "grad", "vmap"])
def test_numpy_arrays_are_one_constant_each(fun):
    closed = tanx.make_jaxpr(fun)(jnp.arange(3.0))
    assert [np.asarray(c).tolist() for c in closed.consts] == [[1.0, 1.0, 1.0]]


NUMBERS = np.ones(3, np.float32)


def test_numpy_arrays_that_change_while_they_are_traced():
    """Each operation reads the numbers that are there when it is called."""
    numbers = np.ones(3, np.float32)

    def fun(x):
        first = x + numbers
        numbers[0] = -0.0
        return first, x + numbers, x * numbers

    closed = tanx.make_jaxpr(fun)(jnp.zeros(3))
    assert [np.signbit(c).tolist() for c in closed.consts] == [[False] * 3, [True, False, False]]
    numbers[:] = 1
    compiled = tanx.jit(lambda x: fun(x))
    for _ in range(4):
        first, second, third = compiled(jnp.zeros(3))
        assert first.tolist() == [1, 1, 1] and second.tolist() == [0, 1, 1]
