"""Products that store their results in the order in which these are read."""

from dataclasses import replace
from math import prod

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._compiler.machine import host
from tanx._compiler.pipeline import build
from tanx._loops.nest import TASKS, Nest
from tests.compiler.agreement import check_function


def numbers(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype)


def sizes_of_temps(module):
    return [prod(b.shape) for b in module.program.temps]


@pytest.mark.parametrize("equation, shapes, least", [
    ("qhd,khd->hqk", [(40, 3, 8), (32, 3, 8)], 3 * 40 * 32),
    ("ij,jk->ki", [(40, 12), (12, 24)], 40 * 24),
    ("abi,bij->jab", [(3, 20, 16), (20, 16, 24)], 3 * 20 * 24),
    ("btkgh,bskh->bkgts", [(2, 20, 3, 4, 8), (2, 32, 3, 8)], 2 * 20 * 3 * 4 * 32),
    ("aibj,cj->bcai", [(4, 20, 3, 8), (32, 8)], 4 * 20 * 3 * 32)])
def test_a_product_that_is_read_transposed_is_not_stored_twice(equation, shapes, least):
    """The elementwise function behind it is computed in its loops."""
    args = [numbers(*shape, seed=n) for n, shape in enumerate(shapes)]
    module = check_function(lambda x, y: jnp.tanh(jnp.einsum(equation, x, y)), *args)
    assert not [size for size in sizes_of_temps(module) if size == least]


@pytest.mark.parametrize("few, shape", [(6, (3, 50, 6, 40)), (24, (3, 50, 40, 24))])
def test_few_columns_stay_rows(few, shape):
    """Six columns would fill no vector."""
    def fun(x, y):
        z = jnp.einsum("btgh,bsh->bsgt", x, y)
        return jnp.sin(z).sum(3), jnp.cos(z).sum(1)
    module = check_function(fun, numbers(3, few, 40, 30), numbers(3, 50, 30))
    assert shape in [b.shape for b in module.program.temps]


@pytest.mark.parametrize("fun", [
    lambda x, y: jnp.sin((x @ y).T) + (x @ y).T.sum(),
    lambda x, y: jnp.sin((x @ y).T) @ (x @ y),
    lambda x, y: jnp.sin((x @ y).T.reshape(-1)),
    lambda x, y: (x @ y).T[::2],
    lambda x, y: jnp.sort((x @ y).T),
    lambda x, y: jnp.cumsum((x @ y).T, 1),
    lambda x, y: ((x @ y).T, x @ y),
    lambda x, y: jnp.linalg.cholesky((x @ y).T @ (x @ y) + jnp.eye(y.shape[1]))],
    ids=range(8))
def test_other_readers(fun):
    check_function(fun, numbers(40, 30), numbers(30, 20))


def test_transposed_products_in_a_loop():
    def fun(x, y):
        return tanx.lax.scan(lambda z, _: (jnp.tanh((z @ y).T), z.sum()), x, None, 5)
    check_function(fun, numbers(32, 32), numbers(32, 32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, jnp.bfloat16, np.complex64, np.int32])
def test_dtypes(dtype):
    with tanx.enable_x64():
        x, y = (numbers(4, 40, 24, seed=n).astype(dtype) for n in range(2))
        fun = lambda x, y: jnp.einsum("hqd,hkd->hqk", x, y) * 2
        compiled = tanx.jit(fun)
        with tanx.disable_jit():
            want = fun(x, y)
        for _ in range(4):
            got = compiled(x, y)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(np.asarray(got, np.complex128),
                                       np.asarray(want, np.complex128),
                                       rtol=1e-2 if dtype == jnp.bfloat16 else 1e-4, atol=1e-2)


def test_attention_of_nn_is_in_bands():
    """Its scores come from ``einsum``, with the keys as the left operand."""
    machine = replace(host(), caches=(1 << 15, 1 << 16, 1 << 20))
    x = tanx.ShapeDtypeStruct((1, 128, 4, 16), np.float32)
    module = build(tanx.make_jaxpr(tanx.nn.dot_product_attention)(x, x, x), machine=machine)
    (band,) = [s for s in module.program.statements if isinstance(s, Nest) and TASKS in s.kinds
               and len(s.body) > 1]
    assert len(band.body) == 3
    assert module.plan.size < 4 * 128 * 128 * 4
