"""Reverse mode: linear jaxprs run backwards, and JAX's conventions for complex numbers."""

import types

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._core.array import Array
from tanx._core.linear import Linear, Zero
from tanx._core.stage import stage
from tanx._core.types import ShapedArray
from tanx._transforms.transpose import backward, transpose_jaxpr

F32, F32_3 = ShapedArray((), np.float32), ShapedArray((3,), np.float32)
ONE, TWO, THREE = (Array(np.asarray(n, np.float32)) for n in (1, 2, 3))


def back(fun, args, *cts):
    """The cotangents of the arguments of a function; linear arguments are given as types."""
    avals = [x if isinstance(x, ShapedArray) else x.aval for x in args]
    jaxpr, consts = stage(fun, avals)
    return backward(jaxpr, consts, [Linear(x) if isinstance(x, ShapedArray) else x for x in args],
                    list(cts))


def test_cotangents_of_several_uses_are_summed():
    (ct,) = back(lambda x: [lax.add(lax.mul(x, 2.0), lax.mul(x, 3.0)), x], [F32], ONE, TWO)
    assert float(ct) == 7.0


def test_unused_arguments_have_symbolic_zeros():
    ct, none = back(lambda x, y: [lax.neg(x)], [F32, F32_3], ONE)
    assert float(ct) == -1.0
    assert type(none) is Zero and none.aval == F32_3


def test_zero_cotangents_are_not_propagated():
    (ct,) = back(lambda x: [lax.neg(x), lax.mul(x, 5.0)], [F32], ONE, Zero(F32))
    assert float(ct) == -1.0
    (ct,) = back(lambda x: [lax.neg(x)], [F32], Zero(F32))
    assert type(ct) is Zero


def test_operations_of_known_arguments_are_not_transposed():
    ct, none = back(lambda x, y: [lax.mul(x, lax.exp(y))], [F32, Array(np.float32(0).reshape(()))],
                    TWO)
    assert float(ct) == 2.0 and none is None


def test_literals_and_constants_as_results():
    (ct,) = back(lambda x: [x, 2.0, THREE], [F32], TWO, ONE, ONE)
    assert float(ct) == 2.0


def test_arguments_as_results():
    (ct,) = back(lambda x: [x, x], [F32], TWO, THREE)
    assert float(ct) == 5.0


def test_transposing_a_nonlinear_function_raises():
    with pytest.raises(NotImplementedError) as caught:
        back(lambda x: [lax.sin(x)], [F32], ONE)
    assert str(caught.value) == "tanx.lax.sin: has no transpose rule: it is not linear."


# --- Jaxprs ---------------------------------------------------------------------------------------


def test_transpose_of_a_jaxpr():
    closed = tanx.make_jaxpr(lambda x, y: (lax.mul(x, y), lax.neg(x), y))(2.0, 3.0)
    transposed, nonzero = transpose_jaxpr(closed, [True, False], [True, True, False])
    assert nonzero == [True]
    assert str(transposed) == """\
{ lambda ; a:f32[] b:f32[] c:f32[]. let
    d:f32[] = neg c
    e:f32[] = mul b a
    f:f32[] = add_any d e
  in (f,) }"""


def test_zeros_of_a_transposed_jaxpr():
    closed = tanx.make_jaxpr(lambda x, y: lax.neg(x))(2.0, 3.0)
    transposed, nonzero = transpose_jaxpr(closed, [True, True], [True])
    assert nonzero == [True, False] and len(transposed.out_avals) == 1
    transposed, nonzero = transpose_jaxpr(closed, [True, True], [False])
    assert nonzero == [False, False] and transposed.out_avals == []


def test_a_gradient_is_the_forward_pass_then_the_backward_pass():
    assert str(tanx.make_jaxpr(tanx.grad(lambda x: jnp.sin(jnp.exp(x)) * x))(2.0)) == """\
{ lambda ; a:f32[]. let
    b:f32[] = exp a
    c:f32[] = sin b
    d:f32[] = cos b
    _:f32[] = mul c a
    e:f32[] = mul c 1.0:f32[]
    f:f32[] = mul 1.0:f32[] a
    g:f32[] = mul f d
    h:f32[] = mul g b
    i:f32[] = add_any e h
  in (i,) }"""


# --- Linear functions of the user -----------------------------------------------------------------


def test_linear_transpose():
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    apply = lambda x: {"y": matrix @ x, "total": x.sum()}
    transpose = tanx.linear_transpose(apply, jnp.ones(3))
    (ct,) = transpose({"y": jnp.array([1.0, 2.0]), "total": jnp.float32(10)})
    np.testing.assert_array_equal(ct, matrix.T @ [1, 2] + 10)
    struct = tanx.ShapeDtypeStruct((3,), jnp.float32)
    (ct,) = tanx.linear_transpose(apply, struct)({"y": jnp.zeros(2), "total": jnp.float32(1)})
    np.testing.assert_array_equal(ct, [1, 1, 1])
    assert [float(ct) for ct in tanx.linear_transpose(lambda x, y: (x + y, x), 1.0, 2.0)(
        (2.0, 3.0))] == [5.0, 2.0]


@pytest.mark.parametrize("rules", ["jvp", "vjp"])
def test_linear_transpose_of_a_function_with_derivatives_of_its_own(rules):
    def apply(a, x):
        return jnp.sin(a) * x

    if rules == "jvp":
        apply = tanx.custom_jvp(apply)
        apply.defjvp(lambda *_: pytest.fail("derivatives play no part"))
    else:
        apply = tanx.custom_vjp(apply)
        apply.defvjp(*[lambda *_: pytest.fail("derivatives play no part")] * 2)
    (ct,) = tanx.linear_transpose(lambda x: apply(2.0, x), jnp.ones(3))(jnp.arange(3.0))
    np.testing.assert_allclose(ct, np.sin(2.0) * np.arange(3.0), rtol=1e-6)


def test_linear_transpose_of_a_solution():
    a = jnp.array([[2.0, 1.0], [0.0, 4.0]])
    (ct,) = tanx.linear_transpose(lambda b: jnp.linalg.solve(a, b), jnp.ones(2))(jnp.ones(2))
    np.testing.assert_allclose(ct, np.linalg.solve(np.asarray(a).T, np.ones(2)), rtol=1e-6)


def test_linear_transpose_of_described_arguments():
    described = types.SimpleNamespace(shape=(3,), dtype=np.dtype("float32"))
    transpose = tanx.jit(tanx.linear_transpose(lambda x: 2.0 * x, described))
    for _ in range(4):
        assert transpose(jnp.ones(3))[0].tolist() == [2.0] * 3


def test_linear_transpose_nests():
    double = tanx.linear_transpose(lambda x: 3.0 * x, 1.0)
    again = tanx.linear_transpose(lambda ct: double(ct)[0], 1.0)
    assert again(2.0)[0] == 6.0
    assert tanx.jit(lambda ct: double(ct)[0])(2.0) == 6.0
    np.testing.assert_array_equal(tanx.vmap(lambda ct: double(ct)[0])(jnp.arange(2.0)), [0, 3])
    assert tanx.grad(lambda s: tanx.linear_transpose(lambda x: s * x, 1.0)(2.0)[0])(5.0) == 2.0


@pytest.mark.parametrize("call, error, text", [
    (lambda: tanx.linear_transpose(jnp.sin, 1.0)(1.0), NotImplementedError,
     "tanx.lax.sin: has no transpose rule: it is not linear."),
    (lambda: tanx.linear_transpose(lambda x: x * 2, 1.0, reduce_axes=("i",)), NotImplementedError,
     "tanx.linear_transpose: reduce_axes is not supported."),
])
def test_mistakes(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


# --- Complex numbers: cotangents are not conjugated, as in JAX (numbers recorded there) -----------


Z, T = np.complex64(1 + 2j), np.complex64(0.5 - 1j)


def close(actual, expected):
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=1e-6)


def test_both_modes_of_a_function_that_is_not_holomorphic():
    fun = lambda z: z * z * jnp.conj(z) + jnp.real(z) * 1j
    close(tanx.jvp(fun, (Z,), (T,))[1], -0.5 - 10.5j)
    close(tanx.linearize(fun, Z)[1](T), -0.5 - 10.5j)
    close(tanx.vjp(fun, Z)[1](T)[0], 8.5 - 15j)


@pytest.mark.parametrize("fun, gradient", [
    (lambda z: jnp.abs(z) ** 2, 2 - 4j),
    (lambda z: jnp.real(z * z), 2 + 4j),
    (lambda z: jnp.imag(jnp.exp(z)), 2.4717267 + 1.1312044j)])
def test_gradients_of_real_functions(fun, gradient):
    close(tanx.grad(fun)(Z), gradient)
    close(tanx.vmap(tanx.grad(fun))(jnp.stack([Z, Z])), [gradient] * 2)


def test_holomorphic_functions():
    close(tanx.grad(lambda z: z ** 3, holomorphic=True)(Z), -9 + 12j)
    close(tanx.grad(jnp.sin, holomorphic=True)(Z), 2.032723 - 3.0518978j)
    z = jnp.array([1 + 1j, 2j])
    close(tanx.jacrev(lambda z: z ** 2, holomorphic=True)(z), np.diag([2 + 2j, 4j]))
    close(tanx.jacfwd(lambda z: z ** 2, holomorphic=True)(z), np.diag([2 + 2j, 4j]))
    close(tanx.hessian(lambda z: (z ** 3).sum(), holomorphic=True)(z), np.diag([6 + 6j, 12j]))


def test_between_real_and_complex():
    close(tanx.vjp(lambda x: x * (1 + 2j), jnp.float32(3))[1](T)[0], 2.5)
    close(tanx.vjp(jnp.real, Z)[1](jnp.float32(2))[0], 2)
    close(tanx.vjp(jnp.imag, Z)[1](jnp.float32(2))[0], -2j)
    close(tanx.vjp(jnp.conj, Z)[1](T)[0], 0.5 + 1j)
    close(tanx.vjp(lax.complex, jnp.float32(1), jnp.float32(2))[1](T), [0.5, 1])
    close(tanx.grad(lambda x: jnp.real((x * jnp.array([1 + 1j, 2j])).sum()))(jnp.ones(2)), [1, 0])
