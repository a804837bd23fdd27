"""Jacobians and Hessians, in both modes."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp

X = jnp.arange(3.0)
both = pytest.mark.parametrize("jacobian", [tanx.jacfwd, tanx.jacrev, tanx.jacobian])


def error(call, kind=TypeError) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


@both
def test_shapes(jacobian):
    matrix = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(jacobian(lambda x: matrix @ x)(X), matrix)
    assert jacobian(lambda x: x.sum())(X).shape == (3,)
    assert jacobian(lambda x: x * X)(2.0).shape == (3,)
    assert jacobian(lambda x: x * x)(2.0).shape == ()
    assert jacobian(lambda x: jnp.outer(x, X))(jnp.ones((2, 2))).shape == (4, 3, 2, 2)
    assert jacobian(lambda x: x)(jnp.ones((0,))).shape == (0, 0)


@both
def test_weak_types_and_dtypes(jacobian):
    assert jacobian(lambda x: x * x)(2.0).weak_type
    assert not jacobian(lambda x: x * x)(jnp.float32(2)).weak_type
    assert jacobian(lambda x: x * x)(jnp.bfloat16(2)).dtype == jnp.bfloat16


@both
def test_pytrees(jacobian):
    fun = lambda t: {"p": t["a"] * t["b"][0], "s": t["a"].sum()}
    found = jacobian(fun)({"a": X, "b": (2.0,)})
    np.testing.assert_array_equal(found["p"]["a"], 2 * np.eye(3))
    np.testing.assert_array_equal(found["p"]["b"][0], X)
    np.testing.assert_array_equal(found["s"]["a"], [1, 1, 1])
    assert found["s"]["b"][0] == 0.0


@both
def test_arguments(jacobian):
    fun = lambda x, y, *, scale=1.0: x * y * scale
    assert jacobian(fun, 1)(2.0, 3.0) == 2.0
    assert jacobian(fun, -1)(2.0, 3.0, scale=10.0) == 20.0
    assert jacobian(fun, (0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert jacobian(fun, [1])(2.0, 3.0) == (2.0,)


@both
def test_aux(jacobian):
    found, aux = jacobian(lambda x: (x * x, {"x": x, "name": "square"}), has_aux=True)(X)
    np.testing.assert_array_equal(found, np.diag(2 * np.arange(3)))
    np.testing.assert_array_equal(aux["x"], X)
    assert aux["name"] == "square"


@both
def test_constants(jacobian):
    np.testing.assert_array_equal(jacobian(lambda x: jnp.ones(2))(X), np.zeros((2, 3)))


@both
def test_inside_other_transformations(jacobian):
    square = lambda x: x * x
    np.testing.assert_array_equal(tanx.jit(jacobian(square))(X), np.diag(2 * np.arange(3)))
    assert tanx.vmap(jacobian(square))(jnp.stack([X, X])).shape == (2, 3, 3)
    assert tanx.grad(lambda x: jacobian(square)(x).sum())(X).tolist() == [2, 2, 2]


@both
def test_no_large_constants_when_staged(jacobian):
    closed = tanx.make_jaxpr(jacobian(lambda x: x * 2))(jnp.ones(1000))
    assert closed.consts == []


def test_hessian():
    cubes = lambda x: (x ** 3).sum()
    np.testing.assert_array_equal(tanx.hessian(cubes)(X), np.diag(6 * np.arange(3)))
    for outer in (tanx.jacfwd, tanx.jacrev):
        for inner in (tanx.jacfwd, tanx.jacrev):
            np.testing.assert_array_equal(outer(inner(cubes))(X), np.diag(6 * np.arange(3)))
    assert tanx.hessian(lambda x, y: x * x * y, (0, 1))(2.0, 3.0) == ((6.0, 4.0), (4.0, 0.0))
    found, aux = tanx.hessian(lambda x: (x ** 3, "cube"), has_aux=True)(2.0)
    assert (found, aux) == (12.0, "cube")
    assert tanx.hessian(lambda x, k: x * x * k)(1.0, k=2.0) == 4.0


def test_holomorphic():
    for jacobian in (tanx.jacfwd, tanx.jacrev):
        assert jacobian(lambda z: z * z, holomorphic=True)(1 + 2j) == 2 + 4j
    assert tanx.jacrev(lambda z: jnp.real(z) * 2)(jnp.complex64(1j)) == 2.0  # of a real function
    assert tanx.jacfwd(lambda x: x * 1j)(2.0) == 1j


def test_integers():
    assert tanx.jacfwd(lambda x: (x * 2, 3))(1.0) == (2.0, 0)  # the result is an integer
    found = tanx.jacrev(lambda n: n * 2.0, allow_int=True)(3)  # the argument is
    assert found == 0 and found.dtype == jnp.int32


@pytest.mark.parametrize("call, text", [
    (lambda: tanx.jacfwd(3),
     "tanx.jacfwd: needs a function to transform.\n"
     "  given: 3"),
    (lambda: tanx.jacfwd(lambda x: x)(1),
     "tanx.jacfwd: inputs of <lambda> must be real numbers.\n"
     "  found: ~int32[]\n"
     "  Hint: use x.astype(float)."),
    (lambda: tanx.jacfwd(lambda x: x)(1j),
     "tanx.jacfwd: inputs of <lambda> must be real numbers.\n"
     "  found: ~complex64[]\n"
     "  Hint: use holomorphic=True, tanx.jvp or tanx.vjp."),
    (lambda: tanx.jacfwd(lambda x: x)("a"),
     "tanx.jacfwd: inputs of <lambda> must be arrays.\n"
     "  found: 'a' of type str"),
    (lambda: tanx.jacfwd(lambda x: x.real, holomorphic=True)(jnp.complex64(1)),
     "tanx.jacfwd: with holomorphic=True all outputs of <lambda> must be complex.\n"
     "  found: float32[]"),
    (lambda: tanx.jacrev(lambda x: x)(1),
     "tanx.jacrev: inputs of <lambda> must be real numbers.\n"
     "  found: ~int32[]\n"
     "  Hint: use x.astype(float)."),
    (lambda: tanx.jacrev(lambda x: x * 1j)(1.0),
     "tanx.jacrev: outputs of <lambda> must be real numbers.\n"
     "  found: ~complex64[]\n"
     "  Hint: use holomorphic=True, tanx.jvp or tanx.vjp."),
    (lambda: tanx.jacrev(lambda x: x, argnums=1)(1.0),
     "tanx.jacrev: argnums names an argument that was not passed by position.\n"
     "  argnums:   1\n"
     "  arguments: 1 passed to <lambda>"),
])
def test_mistakes(call, text):
    assert error(call) == text
