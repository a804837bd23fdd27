"""``eval_shape``: types of results without computing them."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import ShapeDtypeStruct

F32 = jnp.float32


def error(call, kind=TypeError) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def test_arrays_and_structs():
    fun = lambda x, y: {"product": x @ y, "sum": (x.sum(), None)}
    expected = {"product": ShapeDtypeStruct((2, 4), F32), "sum": (ShapeDtypeStruct((), F32), None)}
    assert tanx.eval_shape(fun, jnp.ones((2, 3)), jnp.ones((3, 4))) == expected
    assert tanx.eval_shape(fun, ShapeDtypeStruct((2, 3), F32),
                           y=ShapeDtypeStruct((3, 4), F32)) == expected
    assert tanx.eval_shape(fun, np.ones((2, 3)), np.ones((3, 4))) == expected


def test_weak_types():
    assert tanx.eval_shape(lambda x, y: (x * 2, y), 1.0, jnp.int8(1)) == (
        ShapeDtypeStruct((), F32, weak_type=True), ShapeDtypeStruct((), jnp.int8))
    assert tanx.eval_shape(lambda x: x * 2, ShapeDtypeStruct((), jnp.int32, weak_type=True)) == (
        ShapeDtypeStruct((), jnp.int32, weak_type=True))


def test_nothing_is_computed():
    huge = ShapeDtypeStruct((10 ** 6, 10 ** 6), F32)
    assert tanx.eval_shape(lambda x: tanx.grad(lambda x: (x @ x).sum())(x), huge) == huge
    assert tanx.eval_shape(tanx.jit(lambda x: x.T), huge) == huge
    assert tanx.eval_shape(tanx.vmap(lambda x: x.sum()), huge) == ShapeDtypeStruct((10 ** 6,), F32)


def test_results_that_are_arguments_or_constants():
    assert tanx.eval_shape(lambda x: (x, 1, np.ones(2)), 1.0) == (
        ShapeDtypeStruct((), F32, weak_type=True), ShapeDtypeStruct((), jnp.int32, weak_type=True),
        ShapeDtypeStruct((2,), F32))


def test_inside_other_functions():
    found = []
    tanx.jit(lambda x: found.append(tanx.eval_shape(lambda y: y * x, x)) or x)(jnp.ones(3))
    assert found == [ShapeDtypeStruct((3,), F32)]


def test_structs():
    struct = ShapeDtypeStruct([2, 3], "bfloat16")
    assert (struct.shape, struct.dtype, struct.ndim, struct.size, len(struct)) == (
        (2, 3), jnp.bfloat16, 2, 6, 2)
    assert repr(struct) == "ShapeDtypeStruct(shape=(2, 3), dtype=bfloat16)"
    assert struct == ShapeDtypeStruct((2, 3), jnp.bfloat16)
    assert hash(struct) == hash(ShapeDtypeStruct((2, 3), jnp.bfloat16))
    assert struct != ShapeDtypeStruct((2, 3), jnp.float32)
    assert struct.update(shape=(5,)) == ShapeDtypeStruct((5,), jnp.bfloat16)
    assert error(lambda: len(ShapeDtypeStruct((), F32))) == "len() of unsized object"


@pytest.mark.parametrize("call, kind, text", [
    (lambda: tanx.eval_shape(3), TypeError,
     "tanx.eval_shape: needs a function to transform.\n"
     "  given: 3"),
    (lambda: tanx.eval_shape(lambda x: x, {"a": "b"}), TypeError,
     "tanx.eval_shape: argument x['a'] of <lambda> is not an array.\n"
     "  value: 'b' of type str\n"
     "  Hint: mark it with static_argnums."),
    (lambda: tanx.eval_shape(lambda x: ["a"], 1.0), TypeError,
     "tanx.eval_shape: <lambda> must return arrays or numbers.\n"
     "  result[0]: 'a' of type str"),
    (lambda: ShapeDtypeStruct((2,), None), ValueError,
     "tanx.ShapeDtypeStruct: dtype must be given.\n"
     "  shape: (2,)"),
])
def test_mistakes(call, kind, text):
    assert error(call, kind) == text


def test_eval_shape_reports_out_shardings():
    sharding = tanx.sharding.SingleDeviceSharding(tanx.devices()[0])
    fun = tanx.jit(lambda x: {"a": x * 2, "b": x.sum()}, out_shardings={"a": sharding, "b": None})
    for found in (fun.eval_shape(jnp.ones(3)), tanx.eval_shape(fun, jnp.ones(3))):
        assert found["a"] == tanx.ShapeDtypeStruct((3,), jnp.float32, sharding=sharding)
        assert found["b"].sharding is None
