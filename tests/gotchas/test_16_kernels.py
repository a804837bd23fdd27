"""Promise 16: C source text, or a function's address, becomes an operation."""

import ctypes
import shutil

import pytest

import tanx as jax
import tanx.numpy as jnp
from tanx import lax
from tests.gotchas import pages

needs_compiler = pytest.mark.skipif(
    not (shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")),
    reason="needs a C compiler")


@needs_compiler
def test_the_page():
    pages.run("16_kernels")


@pytest.fixture(scope="module")
def cube():
    return jax.extend.c_function(
        "void cube(long n, const float *x, float *y)"
        " { for (long i = 0; i < n; i++) y[i] = x[i]*x[i]*x[i]; }",
        jvp=lambda x, t: 3 * x**2 * t)


@needs_compiler
@pytest.mark.parametrize("transform, argument, expected", [
    (lambda f: f, jnp.arange(4.0), [0.0, 1.0, 8.0, 27.0]),
    (lambda f: f, jnp.float32(2.0), 8.0),
    (lambda f: f, jnp.zeros((0, 3)), []),
    (lambda f: jax.grad(lambda v: f(v).sum()), jnp.arange(4.0), [0.0, 3.0, 12.0, 27.0]),
    (lambda f: jax.vmap(jax.grad(jax.grad(f))), jnp.arange(3.0), [0.0, 6.0, 12.0]),
    (lambda f: jax.vmap(f, in_axes=1, out_axes=1), jnp.ones((2, 3)), [[1.0] * 3] * 2),
    (lambda f: lambda x: lax.scan(lambda c, _: (f(c) / 2, None), x, None, length=2)[0],
     jnp.full(2, 2.0), [32.0, 32.0]),
], ids=["array", "number", "empty", "grad", "vmap of grad", "vmap", "scan"])
def test_c_functions_work_with_all_transforms(cube, transform, argument, expected):
    compiled = jax.jit(transform(cube))
    for _ in range(4):
        out = compiled(argument)
        assert (out.dtype, out.shape, out.weak_type) == (jnp.float32, argument.shape, False)
        assert out.tolist() == expected


def test_a_function_by_its_address():
    made = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: 2 * x)

    class Numba:  # the attributes of a Numba cfunc
        address = ctypes.cast(made, ctypes.c_void_p).value

    double = jax.extend.c_function(Numba(), in_types=["float64"], out_types="float64")
    with jax.enable_x64(True):
        compiled = jax.jit(double)
        for _ in range(4):
            assert compiled(jnp.arange(3.0)).tolist() == [0.0, 2.0, 4.0]


@needs_compiler
def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError):
        jax.extend.c_function("this is no C")
    plain = jax.extend.c_function(
        "void plain(long n, const float *x, float *y)"
        " { for (long i = 0; i < n; i++) y[i] = x[i]; }")
    with pytest.raises(ValueError, match="the function has no derivative"):
        jax.grad(plain)(1.0)
