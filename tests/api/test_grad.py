"""``grad`` and ``value_and_grad``: arguments, auxiliary results, errors."""

import inspect

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp

X = jnp.arange(3.0)


def error(call, kind=TypeError) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def product(x, y=3.0, z=5.0):
    return x * y * z


# --- Arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize("argnums, expected", [
    (0, 15.0), (1, 10.0), (-1, 6.0), (True, 10.0), (np.int64(1), 10.0), ((0,), (15.0,)),
    ((0, 2), (15.0, 6.0)), ([2, 0], (6.0, 15.0)), ((-1, 1), (6.0, 10.0)), (range(2), (15.0, 10.0)),
    ((), ())])
def test_argnums(argnums, expected):
    gradient = tanx.grad(product, argnums)(2.0, 3.0, 5.0)
    assert gradient == expected and type(gradient) is type(expected) or gradient == expected
    assert tanx.value_and_grad(product, argnums)(2.0, 3.0, 5.0)[0] == 30.0


def test_keywords_are_constants():
    assert tanx.grad(product)(2.0) == 15.0
    assert tanx.grad(product)(2.0, z=1.0) == 3.0
    assert tanx.grad(product)(2.0, z=jnp.float32(7)) == 21.0
    assert tanx.grad(lambda x, *, mode: x * 2 if mode == "twice" else x)(1.0, mode="twice") == 2.0


def test_arguments_that_are_not_differentiated_may_be_anything():
    assert tanx.grad(lambda x, fun, name: fun(x))(3.0, lambda x: x * x, "square") == 6.0


def test_pytrees():
    gradient = tanx.grad(lambda tree: (tree["a"] * tree["b"][0]).sum())({"a": X, "b": [2.0, 3.0]})
    np.testing.assert_array_equal(gradient["a"], [2, 2, 2])
    assert gradient["b"] == [3.0, 0.0]
    assert tanx.grad(lambda x, t: x * t[0], 1)(2.0, (3.0, None)) == (2.0, None)


def test_variadic_functions():
    assert tanx.grad(lambda *xs: xs[0] * xs[2], (0, 2))(2.0, 3.0, 4.0) == (4.0, 2.0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_gradients_have_the_type_of_their_argument(dtype):
    x = jnp.ones((2, 3), dtype)
    gradient = tanx.grad(lambda x: jnp.real(x * x).sum())(x)
    assert (gradient.dtype, gradient.shape, gradient.weak_type) == (dtype, (2, 3), False)
    assert tanx.grad(lambda x: x * x)(2.0).weak_type


def test_numpy_arrays_and_numbers():
    np.testing.assert_array_equal(tanx.grad(lambda x: (x ** 2).sum())(np.arange(3.0)), [0, 2, 4])
    assert isinstance(tanx.grad(lambda x: x)(1.0), tanx.Array)
    assert isinstance(tanx.grad(lambda x: x)(np.float32(1)), tanx.Array)


def test_constants_and_unused_arguments():
    assert tanx.grad(lambda x: 1.0)(2.0) == 0.0
    assert tanx.grad(lambda x, y: x, 1)(2.0, 3.0) == 0.0
    np.testing.assert_array_equal(tanx.grad(lambda x: jnp.float32(3))(X), [0, 0, 0])
    assert tanx.value_and_grad(lambda x: 1.0)(2.0) == (1.0, 0.0)


# --- Auxiliary results ----------------------------------------------------------------------------


def test_aux():
    fun = lambda x: (x * x, {"double": 2 * x, "name": "square", "rest": (None, 3, X)})
    gradient, aux = tanx.grad(fun, has_aux=True)(3.0)
    assert gradient == 6.0 and aux["double"] == 6.0 and aux["name"] == "square"
    assert aux["rest"][:2] == (None, 3) and aux["rest"][2] is X
    assert isinstance(aux["double"], tanx.Array)
    (value, aux), gradient = tanx.value_and_grad(fun, has_aux=True)(3.0)
    assert (value, gradient, aux["double"]) == (9.0, 6.0, 6.0)


def test_aux_is_not_differentiated_but_may_be():
    inner = lambda x: tanx.value_and_grad(lambda x: (x ** 2, x ** 3), has_aux=True)(x)
    assert tanx.grad(lambda x: inner(x)[0][1])(2.0) == 12.0
    assert tanx.grad(lambda x: inner(x)[1])(2.0) == 2.0
    assert tanx.jit(tanx.grad(lambda x: (x ** 2, 2 * x), has_aux=True))(3.0) == (6.0, 6.0)


# --- Complex numbers and integers -----------------------------------------------------------------


def test_holomorphic():
    assert tanx.grad(lambda z: z * z, holomorphic=True)(1 + 2j) == 2 + 4j
    assert tanx.grad(lambda z: jnp.abs(z) ** 2)(jnp.complex64(1 + 2j)) == pytest.approx(2 - 4j)


def test_integers():
    gradient = tanx.grad(lambda x, n: x * n, (0, 1), allow_int=True)(2.0, 3)
    assert gradient[0] == 3.0
    assert gradient[1].dtype == tanx.float0 and gradient[1].shape == ()
    tree = tanx.grad(lambda t: t["x"] * t["n"][1], allow_int=True)(
        {"x": 2.0, "n": jnp.arange(3), "b": True})
    assert tree["x"] == 1.0 and tree["n"].dtype == tree["b"].dtype == tanx.float0
    assert tree["n"].shape == (3,)


# --- Mistakes -------------------------------------------------------------------------------------


def f(x, y):
    return x


@pytest.mark.parametrize("call, text", [
    (lambda: tanx.grad(3),
     "tanx.grad: needs a function to transform.\n"
     "  given: 3"),
    (lambda: tanx.grad(f, "x"),
     "tanx.grad: argnums must be one int or several of them.\n"
     "  argnums: 'x'"),
    (lambda: tanx.grad(f, 1.0),
     "tanx.grad: argnums must be one int or several of them.\n"
     "  argnums: 1.0"),
    (lambda: tanx.grad(f, 2)(1.0, 2.0),
     "tanx.grad: argnums names an argument that was not passed by position.\n"
     "  argnums:   2\n"
     "  arguments: 2 passed to f"),
    (lambda: tanx.grad(f, (0, 1))(1.0, y=2.0),
     "tanx.grad: argnums names an argument that was not passed by position.\n"
     "  argnums:   (0, 1)\n"
     "  arguments: 1 passed to f"),
    (lambda: tanx.grad(f)(1, 2.0),
     "tanx.grad: inputs must be real or complex numbers.\n"
     "  x: ~int32[]\n"
     "  Hint: use x.astype(float), choose others with argnums, or allow_int=True for gradients of "
     "dtype float0."),
    (lambda: tanx.grad(f, 1)(1.0, {"rate": 1.0, "steps": 3}),
     "tanx.grad: inputs must be real or complex numbers.\n"
     "  y['steps']: ~int32[]\n"
     "  Hint: use x.astype(float), choose others with argnums, or allow_int=True for gradients of "
     "dtype float0."),
    (lambda: tanx.grad(f, 1)(1.0, {"mode": "fast"}),
     "tanx.grad: argument y['mode'] of f is not an array.\n"
     "  value: 'fast' of type str\n"
     "  Hint: differentiate with respect to arrays only; choose with argnums."),
    (lambda: tanx.grad(f, (1, 0))("a", [1.0, "b"]),
     "tanx.grad: argument y[1] of f is not an array.\n"
     "  value: 'b' of type str\n"
     "  Hint: differentiate with respect to arrays only; choose with argnums."),
    (lambda: tanx.grad(f, holomorphic=True)(1.0, 2.0),
     "tanx.grad: with holomorphic=True all inputs must be complex.\n"
     "  x: ~float32[]"),
    (lambda: tanx.grad(f)(X, 2.0),
     "tanx.grad: f must return a scalar.\n"
     "  returned: float32[3]\n"
     "  Hint: reduce it with .sum(), or use tanx.jacobian."),
    (lambda: tanx.grad(f)(1j, 2.0),
     "tanx.grad: f must return a real number.\n"
     "  returned: ~complex64[]\n"
     "  Hint: use holomorphic=True if the function is, else tanx.vjp."),
    (lambda: tanx.grad(lambda x: jnp.real(x), holomorphic=True)(1j),
     "tanx.grad: <lambda> must return a complex number.\n"
     "  returned: ~float32[]\n"
     "  Hint: use tanx.vjp for other results."),
    (lambda: tanx.grad(lambda x: 3)(1.0),
     "tanx.grad: <lambda> must return a real number.\n"
     "  returned: ~int32[]\n"
     "  Hint: use tanx.vjp for other results."),
    (lambda: tanx.grad(lambda x: (x, X))(1.0),
     "tanx.grad: <lambda> must return one scalar.\n"
     "  returned: (~float32[], float32[3])\n"
     "  Hint: return the scalar alone, or use has_aux=True for further results."),
    (lambda: tanx.grad(lambda x: None)(1.0),
     "tanx.grad: <lambda> must return one scalar.\n"
     "  returned: None\n"
     "  Hint: return the scalar alone, or use has_aux=True for further results."),
    (lambda: tanx.grad(lambda x: x, has_aux=True)(1.0),
     "tanx.grad: with has_aux=True, <lambda> must return a pair.\n"
     "  returned: ~float32[]"),
    (lambda: tanx.grad(lambda x: (x, 1, 2), has_aux=True)(1.0),
     "tanx.grad: with has_aux=True, <lambda> must return a pair.\n"
     "  returned: (~float32[], ~int32[], ~int32[])"),
])
def test_mistakes(call, text):
    assert error(call) == text


def test_grad_with_reduce_axes_raises():
    with pytest.raises(NotImplementedError):
        tanx.grad(f, reduce_axes=("i",))


def test_generators_are_refused():
    def steps(x):
        yield x

    assert error(lambda: tanx.grad(steps)) == (
        "tanx.grad: cannot transform a generator function.\n"
        "  function: steps\n"
        "  Hint: return a list of the values instead of yielding them.")


def test_name_and_signature():
    for wrap in (tanx.grad, tanx.value_and_grad):
        assert wrap(product).__name__ == "product"
        assert inspect.signature(wrap(product)) == inspect.signature(product)
