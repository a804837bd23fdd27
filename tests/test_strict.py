"""Strict modes: ranks and dtypes that are not promoted, under every transformation."""

import warnings

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax, nn, random

A, B = jnp.ones((2, 3)), jnp.ones(3)
F32, BF16, I8 = jnp.ones(3), jnp.ones(3, "bfloat16"), jnp.ones(3, "int8")
KEY = random.key(0)

RANKS = {
    "add": lambda: A + B, "power": lambda: A ** B,
    "maximum": lambda: jnp.maximum(A, B), "equal": lambda: A == B,
    "clip": lambda: jnp.clip(A, B, 2.0), "jit": lambda: tanx.jit(jnp.multiply)(A, B),
    "grad": lambda: tanx.grad(lambda a, b: (a * b).sum())(A, B),
    "vmap": lambda: tanx.vmap(lambda a: a * jnp.ones((2, 3)))(A),
    "scan": lambda: lax.scan(lambda c, _: (c + B, None), A, None, length=2),
    "cond": lambda: lax.cond(True, lambda a: a + B, lambda a: a, A),
}
EQUAL_RANKS = {
    "number": lambda: A + 1.0, "scalar": lambda: A + jnp.array(1.0), "row": lambda: A + B[None],
    "matmul": lambda: A @ B, "einsum": lambda: jnp.einsum("ij,j", A, B),
    "broadcast_to": lambda: jnp.broadcast_to(B, (2, 3)), "softmax": lambda: nn.softmax(A),
    "vmap": lambda: tanx.vmap(lambda a: a * B)(A), "var": lambda: A.var(0),
    "standardize": lambda: nn.standardize(A), "logsumexp": lambda: nn.logsumexp(A, axis=0),
    "one_hot": lambda: nn.one_hot(jnp.arange(3), 4), "cov": lambda: jnp.cov(A),
    "quantile": lambda: jnp.quantile(A, 0.5, axis=0), "median": lambda: jnp.median(A, 0),
    "nanquantile": lambda: jnp.nanquantile(A, jnp.array([0.2, 0.5]), axis=0),
    "outer": lambda: jnp.outer(B, B), "tril": lambda: jnp.tril(jnp.ones((2, 3, 3))),
    "solve": lambda: jnp.linalg.solve(jnp.eye(3), B), "polyval": lambda: jnp.polyval(B, A),
    "resize": lambda: tanx.image.resize(A, (3, 3), "linear"), "gelu": lambda: nn.gelu(A),
    "normal": lambda: random.normal(KEY, (2, 3)), "categorical": lambda: random.categorical(KEY, A),
    "multivariate": lambda: random.multivariate_normal(KEY, B, jnp.eye(3)),
    "attention": lambda: nn.dot_product_attention(*[jnp.ones((1, 2, 1, 3))] * 3),
    "searchsorted": lambda: jnp.searchsorted(B, A), "isin": lambda: jnp.isin(A, B),
}


@pytest.mark.parametrize("name", RANKS)
def test_ranks_are_not_promoted(name):
    with tanx.numpy_rank_promotion("raise"), pytest.raises(ValueError) as caught:
        RANKS[name]()
    assert "together: they have different numbers of dimensions." in str(caught.value)
    assert str(caught.value).endswith("numpy_rank_promotion='allow'.")
    with tanx.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="dimensions") as noted:
        RANKS[name]()
    assert noted[0].filename == __file__


@pytest.mark.parametrize("name", EQUAL_RANKS)
def test_functions_promote_no_ranks_themselves(name):
    with tanx.numpy_rank_promotion("raise"):
        EQUAL_RANKS[name]()
        tanx.jit(EQUAL_RANKS[name])()


DTYPES = {
    "int8 and float32": lambda: I8 + F32, "int8 and 1.0": lambda: I8 + 1.0,
    "float32 and bfloat16": lambda: F32 * BF16, "float32 and int32": lambda: F32 + jnp.arange(3),
    "bool and int8": lambda: (F32 > 0) + I8, "uint8 and int8": lambda: jnp.ones(3, "uint8") + I8,
    "float32 and 1j": lambda: F32 + 1j, "concatenate": lambda: jnp.concatenate([I8, F32]),
    "where": lambda: jnp.where(F32 > 0, I8, F32), "matmul": lambda: I8 @ F32,
    "jit": lambda: tanx.jit(jnp.multiply)(I8, F32),
    "vmap": lambda: tanx.vmap(jnp.multiply)(I8, F32),
    "grad": lambda: tanx.grad(lambda x: (x * BF16).sum())(F32),
    "scan": lambda: lax.scan(lambda c, x: (c, c + x), F32, jnp.ones((2, 3), "int8")),
    "result_type": lambda: jnp.result_type(I8, F32),
}
ONE_DTYPE = {
    "int8 and 1": lambda: I8 + 1, "float32 and 1": lambda: F32 + 1, "square": lambda: F32 ** 2,
    "float32 and weak": lambda: F32 + jnp.array(1.0), "where": lambda: jnp.where(F32 > 0, F32, 0),
    "mean": lambda: I8.mean(), "true division": lambda: I8 / I8, "sum": lambda: I8.sum(),
    "softmax": lambda: nn.softmax(BF16), "gelu": lambda: nn.gelu(BF16), "var": lambda: BF16.var(),
    "grad": lambda: tanx.grad(lambda x: (x * 2).sum())(BF16), "set": lambda: I8.at[0].set(1),
    "scan": lambda: lax.scan(lambda c, x: (c + x, c * 2), F32, jnp.ones((2, 3))),
    "fori_loop": lambda: lax.fori_loop(0, 3, lambda i, x: x * 2, F32),
    "linspace": lambda: jnp.linspace(0, 1, 3), "clip": lambda: jnp.clip(I8, 0, 5),
    "index": lambda: F32[jnp.array(1)], "take": lambda: jnp.take(F32, I8),
    "normal": lambda: random.normal(KEY, (3,)), "randint": lambda: random.randint(KEY, (3,), 0, 5),
    "quantile": lambda: jnp.quantile(F32, 0.5), "histogram": lambda: jnp.histogram(F32),
    "gcd": lambda: jnp.gcd(I8, I8), "kaiser": lambda: jnp.kaiser(4, 2.0),
    "resize": lambda: tanx.image.resize(I8, (2,), "linear"), "round": lambda: jnp.round(F32, 2),
    "attention": lambda: nn.dot_product_attention(*[jnp.ones((1, 2, 1, 3), "bfloat16")] * 3),
}


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_are_not_promoted(name):
    with tanx.numpy_dtype_promotion("strict"), pytest.raises(
            tanx.dtypes.TypePromotionError, match='while numpy_dtype_promotion is "strict"'):
        DTYPES[name]()
    DTYPES[name]()


@pytest.mark.parametrize("name", ONE_DTYPE)
def test_functions_promote_no_dtypes_themselves(name):
    with tanx.numpy_dtype_promotion("strict"):
        strict = ONE_DTYPE[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for got, want in zip(tanx.tree.leaves(strict), tanx.tree.leaves(ONE_DTYPE[name]())):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
