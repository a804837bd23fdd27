"""Small things that programs written for JAX rely on: results, dtypes, and classes of errors."""

import types

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax

KEY = tanx.random.key(0)
PLANE, SPACE = jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0, 5.0])
TABLE = np.arange(3.0)
MASKED = np.ma.array([1, 2], mask=[True, False])
STORY = jnp.ones((1, 4, 2, 8), jnp.bfloat16)
_, PULL = tanx.vjp(lambda x: (x, 2 * x), 1.0)


def ratio(x, y):
    return x / y


def primitive(types_of, several=False):
    """A primitive whose abstract evaluation is ``types_of``."""
    found = tanx.extend.core.Primitive("of_types")
    found.multiple_results = several
    found.def_abstract_eval(types_of)
    return tanx.jit(lambda x: found.bind(x))


def attended(**options):
    return tanx.nn.dot_product_attention(STORY, STORY, STORY, **options)


def resized(method, **options):
    return tanx.image.resize(jnp.arange(4.0), (6,), method, **options)


def counted(shape, n=5):
    return tanx.random.multinomial(KEY, n, jnp.array([0.2, 0.8]), shape=shape)


def summed(x):
    with tanx.allow_f16_reductions(False):
        return lax.reduce_sum(x, [0])


def ragged(shape, contracted, batched, rows, groups):
    """A ragged product of ones; three groups."""
    numbers = lax.RaggedDotDimensionNumbers((contracted, batched), rows, groups)
    return lax.ragged_dot_general(jnp.ones((2, 6, 3)), jnp.ones(shape), jnp.array([2, 2, 2]),
                                  numbers)


def added(*args):
    with tanx.numpy_rank_promotion("raise"):
        return jnp.vectorize(jnp.add, signature="(),()->()")(*args)


def called(result, promised):
    return tanx.pure_callback(lambda x: result, promised, 1.0)


class Wrapper:
    """An array to JAX and to NumPy."""

    def __jax_array__(self):
        return jnp.array(2.0)

    def __array__(self, dtype=None, copy=None):
        return np.array(2.0)


CLOSED = tanx.make_jaxpr(lambda x: (x + TABLE, x))(1.0)
ONE = tanx.ShapeDtypeStruct((), np.float32)

RESULTS = {
    "cross of two components": (lambda: jnp.cross(PLANE, PLANE[::-1]), -3.0),
    "cross of two and three": (lambda: jnp.cross(PLANE, SPACE), [10.0, -5.0, -2.0]),
    "cross of three and two": (lambda: jnp.cross(SPACE, PLANE), [-10.0, 5.0, 2.0]),
    "cross along an axis": (lambda: jnp.cross(jnp.eye(2), jnp.eye(2)[::-1], axis=0), [1.0, -1.0]),
    "transpose of integers": (lambda: tanx.linear_transpose(lambda x: 2 * x, 1)(4)[0], 8),
    "transpose through jit": (
        lambda: tanx.jit(lambda x: tanx.linear_transpose(lambda y: x * y, x))(3.0)(2.0)[0], 6.0),
    "transpose of a description": (lambda: tanx.linear_transpose(
        lambda x: 2 * x, types.SimpleNamespace(shape=(2,), dtype=np.dtype("float32")))(PLANE)[0],
        [2.0, 4.0]),
    "permutation of a negative axis": (
        lambda: jnp.sort(tanx.random.permutation(KEY, 3, axis=-1)), [0, 1, 2]),
    "multinomial": (lambda: counted((4, 3), jnp.array([5, 6, 7])).sum(-1)[0], [5.0, 6.0, 7.0]),
    "attention's residual": (lambda: attended(return_residual=True)[1].dtype == jnp.bfloat16, True),
    "PyTorch's cubics": (lambda: jnp.abs(resized("bicubic-pytorch") - resized("cubic")).max(), 0.0),
    "steep cubics": (lambda: resized("cubic-pytorch", antialias=False)[0] < 0, True),
    "sizes as an array": (lambda: tanx.image.resize(
        jnp.ones((2, 3)), jnp.array([4, 5]), "nearest").shape, [4, 5]),
    "f16 sums of single elements": (lambda: summed(jnp.ones((1, 2), jnp.bfloat16)), [1.0, 1.0]),
    "ranks of scalars": (lambda: added(jnp.ones((2, 2)), 1.0)[0], [2.0, 2.0]),
    "references at a barrier": (lambda: lax.optimization_barrier((2.0, tanx.new_ref(3.0)))[1][...],
                                3.0),
    "references alone": (lambda: lax.optimization_barrier([tanx.new_ref(3.0)])[0][...], 3.0),
    "a list for a tuple": (lambda: called([1.0, (2.0,)], (ONE, [ONE]))[1][0], 2.0),
    "names of jaxprs": (lambda: tanx.make_jaxpr(ratio).__name__ == "make_jaxpr(ratio)", True),
    "a closed jaxpr is evaluated": (
        lambda: tanx.core.eval_jaxpr(CLOSED, CLOSED.consts, 2.0)[0], [2.0, 3.0, 4.0]),
    "parts of a closed jaxpr": (lambda: tanx.extend.core.jaxpr_as_fun(
        CLOSED.replace(outvars=CLOSED.outvars[1:]))(2.0), [2.0]),
    "wrappers of scalars": (lambda: jnp.isscalar(Wrapper()), True),
    "wrappers on the host": (lambda: tanx.device_get({"a": Wrapper()})["a"], 2.0),
    "array API": (lambda: len(jnp.__array_namespace_info__().dtypes(kind=("bool", "integral"))), 7),
    "equal ufuncs": (lambda: jnp.frompyfunc(ratio, 2, 1) == jnp.frompyfunc(ratio, 2, 1), True),
    "ufuncs as keys": (lambda: len({jnp.frompyfunc(ratio, 2, 1), jnp.frompyfunc(ratio, 2, 1),
                                    jnp.frompyfunc(ratio, 2, 1, identity=1)}), 2),
    "greatest seed": (lambda: tanx.random.key_data(tanx.random.key(2**63 - 1)), [0, 2**32 - 1]),
}

MISTAKES = {
    "cross": (ValueError, lambda: jnp.cross(jnp.ones(4), SPACE)),
    "asarray of a masked one": (ValueError, lambda: jnp.asarray(MASKED)),
    "jit of a masked one": (ValueError, lambda: tanx.jit(jnp.sin)(MASKED)),
    "static method": (TypeError, lambda: tanx.jit(staticmethod(ratio))),
    "name of what has none": (ValueError, lambda: tanx.jit(
        lambda x, /, y: x, static_argnames="x")),
    "name of several": (ValueError, lambda: tanx.jit(lambda *xs, y: y, donate_argnames="xs")),
    "kind of dtypes": (KeyError, lambda: jnp.__array_namespace_info__().dtypes(kind="some")),
    "two tolerances": (ValueError, lambda: jnp.linalg.matrix_rank(jnp.eye(2), 0.1, tol=0.1)),
    "groups that are summed over": (TypeError, lambda: ragged(
        (3, 3, 2), ([2], [0]), ([0], [2]), [1], [0])),
    "groups that are a batch": (TypeError, lambda: ragged(
        (2, 3, 3), ([2], [1]), ([0], [0]), [1], [0])),
    "groups of a ragged batch": (TypeError, lambda: ragged(
        (2, 3, 3), ([2], [1]), ([0], [0]), [0], [2])),
    "two names of a tolerance": (ValueError, lambda: jnp.linalg.pinv(jnp.eye(2), 0.1, rcond=0.1)),
    "positions of top_k": (ValueError, lambda: tanx.eval_shape(
        lambda x: lax.top_k(x, 2), tanx.ShapeDtypeStruct((2**31 + 1,), jnp.bfloat16))),
    "seed": (OverflowError, lambda: tanx.random.key(2**63)),
    "small seed": (OverflowError, lambda: tanx.random.PRNGKey(-2**63 - 1)),
    "shape of choice": (TypeError, lambda: tanx.random.choice(KEY, 5, 2)),
    "axis of permutation": (ValueError, lambda: tanx.random.permutation(KEY, 5, axis=1)),
    "trials": (ValueError, lambda: counted((2,), jnp.array([5, 6, 7]))),
    "fractional size": (TypeError, lambda: tanx.image.resize(jnp.eye(2), (3.5, 2), "linear")),
    "dtypes of starts": (TypeError, lambda: lax.dynamic_slice(
        jnp.eye(2), (np.int32(0), np.int16(0)), (1, 1))),
    "dtypes of starts, updates": (TypeError, lambda: lax.dynamic_update_slice(
        jnp.eye(2), jnp.eye(1), (jnp.int32(0), jnp.uint8(0)))),
    "f16 sums": (ValueError, lambda: summed(jnp.ones(3, jnp.bfloat16))),
    "ranks": (ValueError, lambda: added(jnp.ones((2, 2)), jnp.ones(2))),
    "axes of another type": (TypeError, lambda: tanx.vmap(jnp.sin, out_axes=(PLANE,))(PLANE)),
    "two cotangents": (TypeError, lambda: PULL(1.0, 1.0)),
    "no cotangent": (TypeError, PULL),
    "structure of a cotangent": (ValueError, lambda: PULL([1.0, 1.0])),
    "transpose to integers": (TypeError, lambda: tanx.linear_transpose(
        lambda x: x.astype(int), PLANE)),
    "transpose of booleans": (TypeError, lambda: tanx.linear_transpose(lambda x: x, True)),
    "list of types": (ValueError, lambda: primitive(lambda x: [x])(1.0)),
    "no list of types": (ValueError, lambda: primitive(lambda x: x, True)(1.0)),
    "callback's shape": (tanx.errors.JaxRuntimeError, lambda: called(np.ones(2), ONE)),
    "callback's leaves": (tanx.errors.JaxRuntimeError, lambda: called((1.0, 2.0), ONE)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    fun, expected = RESULTS[name]
    np.testing.assert_allclose(np.asarray(fun(), np.float64), expected, rtol=1e-6)


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    error, fun = MISTAKES[name]
    with pytest.raises(error):
        fun()


def test_callbacks_with_undeclared_result_types_raise():
    wrong = tanx.jit(lambda x: called(np.ones(2, np.float32), ONE) + x)
    for _ in range(4):
        with pytest.raises(tanx.errors.JaxRuntimeError, match="a type other than the declared one"):
            wrong(1.0).block_until_ready()


def test_rules_of_users_are_called_once_and_with_tuples():
    asked, seen = [], []
    twice = tanx.extend.core.Primitive("twice")
    twice.def_impl(lambda x: 2 * x)
    twice.def_abstract_eval(lambda x: asked.append(x) or x)

    def tangent(primals, tangents):
        seen.append((primals, tangents))
        return twice.bind(primals[0]), twice.bind(tangents[0])

    def batched(args, dims):
        seen.append((args, dims))
        return twice.bind(*args), dims[0]

    tanx.interpreters.ad.primitive_jvps[twice] = tangent
    tanx.interpreters.batching.primitive_batchers[twice] = batched
    assert tanx.interpreters.ad.primitive_jvps[twice] is tangent
    assert tanx.interpreters.batching.primitive_batchers[twice] is batched
    tanx.make_jaxpr(twice.bind)(1.0)
    assert len(asked) == 1  # the checker of jaxprs, which tests turn on, does not call it again
    assert tanx.jvp(twice.bind, (3.0,), (1.0,)) == (6.0, 2.0)
    assert tanx.vmap(twice.bind)(jnp.arange(2.0)).tolist() == [0.0, 2.0]
    assert all(type(part) is tuple for pair in seen for part in pair) and len(seen) == 2


@pytest.mark.parametrize("way, name", [
    (lambda f: tanx.jvp(f, (1.0,), (1.0,)), "interpreters.ad.JVPTracer"),
    (lambda f: tanx.vmap(f)(jnp.ones(2)), "interpreters.batching.BatchTracer")])
def test_classes_of_tracers_are_known_by_their_names(way, name):
    seen = []
    way(lambda x: seen.append(str(type(x))) or x)
    assert name in seen[0]
