"""Behaviours that libraries built on JAX rely on, each with a library that does.

``tests/core/test_as_libraries_ask.py`` has attributes and messages.
"""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp

CALLS = 4  # compiled code runs from the third call on


@tanx.tree_util.register_pytree_node_class
class Configured:
    """A node whose auxiliary data is a dictionary, which cannot be hashed."""

    def __init__(self, value, options):
        self.value, self.options = value, options

    def tree_flatten(self):
        return (self.value,), self.options

    @classmethod
    def tree_unflatten(cls, options, children):
        return cls(*children, options)


def test_structures_are_hashed_without_auxiliary_data():
    """equinox: filter_jit(filter_value_and_grad(f))."""
    one, same, other = (tanx.tree.structure(Configured(1.0, {"k": k})) for k in (1, 1, 2))
    assert hash(one) == hash(same) == hash(other) and one == same != other


def test_arguments_that_are_not_mapped_may_be_no_arrays():
    """flashbax and mctx."""
    cast = tanx.vmap(lambda dtype, x: x.astype(dtype), in_axes=(None, 0))
    assert cast(jnp.int32, jnp.arange(3.0)).dtype == jnp.int32


def test_residuals_stay_numbers_of_python():
    """equinox's loops with checkpoints, diffrax's adjoints."""
    seen = []

    @tanx.custom_vjp
    def same(x):
        return x

    def backward(residuals, g):
        seen.append(residuals)
        return (g if residuals[0] else -g,)

    same.defvjp(lambda x: (x, (True, 3)), backward)
    compiled = tanx.jit(tanx.grad(same))
    assert tanx.grad(same)(1.0) == 1.0 and all(compiled(1.0) == 1.0 for _ in range(CALLS))
    assert all(type(flag) is bool and type(number) is int for flag, number in seen)


def test_shapes_of_descriptions():
    """equinox: eval_shape of what already is a description; zeros like one."""
    one = tanx.ShapeDtypeStruct((2, 3), jnp.float32)
    assert tanx.eval_shape(lambda: one) == one
    zeros = jnp.zeros_like(one)
    assert zeros.shape == (2, 3) and zeros.dtype == jnp.float32 and not zeros.any()


def test_types_describe_their_tangents_and_memory():
    """flax's nnx and quax."""
    real, whole = (tanx.typeof(jnp.ones(2, dtype)) for dtype in (jnp.float32, jnp.int32))
    assert real.to_tangent_aval().dtype == jnp.float32 and not real.is_high
    assert whole.to_tangent_aval().dtype == tanx.dtypes.float0
    assert hasattr(real, "memory_space")


def test_qr_as_lapack_stores_it():
    """lineax."""
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    packed, scales = jnp.linalg.qr(x, mode="raw")
    expected = np.linalg.qr(x, mode="raw")
    np.testing.assert_allclose(packed, expected[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(scales, expected[1], rtol=1e-4, atol=1e-5)


def test_errors_of_callbacks_are_kept():
    """equinox's error_if, chex's chexify."""
    def fail(x):
        raise KeyError("what the callback raised")

    failing = tanx.jit(lambda x: tanx.pure_callback(
        fail, tanx.ShapeDtypeStruct((), jnp.float32), x))
    for _ in range(CALLS):
        with pytest.raises(tanx.errors.JaxRuntimeError, match="what the callback raised"):
            failing(1.0).block_until_ready()


def test_the_older_stream_of_random_numbers():
    """distrax and optax have numbers of it in their tests."""
    with tanx.threefry_partitionable(False):
        older = [tanx.jit(lambda k: tanx.random.bits(k, (4,)))(tanx.random.key(0))
                 for _ in range(CALLS)]
    newer = tanx.random.bits(tanx.random.key(0), (4,))
    expected = [4146024105, 967050713, 2718843009, 1272950319]  # threefry of 0 to 3, in two halves
    assert all(bits.tolist() == older[0].tolist() for bits in older)
    assert older[0].tolist() == expected != newer.tolist()


@pytest.mark.parametrize("draw", [
    lambda key: tanx.random.normal(key, (7,)), lambda key: tanx.random.gamma(key, 2.5, (7,)),
    lambda key: tanx.random.gumbel(key, (7,)), lambda key: tanx.random.beta(key, 2.0, 3.0, (7,)),
    lambda key: tanx.random.truncated_normal(key, -1.0, 1.0, (7,)),
], ids=["normal", "gamma", "gumbel", "beta", "truncated"])
def test_random_numbers_have_equal_bits_with_and_without_jit(draw):
    """numpyro: models are traced and run eagerly by turns."""
    key, compiled = tanx.random.key(3), tanx.jit(draw)
    for _ in range(CALLS):
        assert compiled(key).tobytes() == draw(key).tobytes()


def test_dtypes_of_keys_are_not_numpys():
    """chex: chexify of functions of keys."""
    dtype = tanx.random.key(0).dtype
    assert tanx.dtypes.issubdtype(dtype, tanx.dtypes.prng_key) and not isinstance(dtype, np.dtype)
    assert str(dtype) == "key<fry>"


def test_constants_of_closures_do_not_depend_on_what_is_known():
    """optimistix's L-BFGS: an operator made before a loop has the structure of those inside."""
    found = []

    @tanx.jit
    def function(x):
        for scalar in (jnp.array(2.0), jnp.zeros(()), x):
            found.append(tanx.make_jaxpr(lambda y, c=scalar: y * c)(x))
        return x * found[0].consts[0]

    for _ in range(CALLS):
        assert function(3.0) == 6.0
    assert [len(closed.consts) for closed in found] == [1, 1, 1]
    assert str(found[0]) == "{ lambda a:f32[]; b:f32[]. let c:f32[] = mul b a in (c,) }"


def test_values_that_depend_on_no_argument_stay_usable_in_closures():
    def function(x):
        size = jnp.array(3)
        return tanx.eval_shape(lambda y: jnp.zeros(size) + y, x).shape[0] * x

    assert [tanx.jit(function)(2.0) for _ in range(CALLS)] == [6.0] * CALLS
