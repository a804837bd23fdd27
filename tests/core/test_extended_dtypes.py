"""Dtypes that libraries define: stored as numbers, with tangents, sums and zeros of their own."""

import dataclasses
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx.core import ShapedArray
from tanx.dtypes import ExtendedDType, extended
from tanx.experimental import EArray, primal_tangent_dtype

INT8 = primal_tangent_dtype(jnp.int8, jnp.bfloat16)
FLOAT = primal_tangent_dtype(jnp.float32, jnp.bfloat16, name="coarse")


class _Largest(extended):
    """The abstract class of :class:`Largest`."""


class _LargestRules:
    @staticmethod
    def physical_element_aval(dtype):
        return ShapedArray((), np.float32)

    @staticmethod
    def convert_to(other, dtype):
        return other == np.float32

    @staticmethod
    def convert_from(dtype, other):
        return other == np.float32

    @staticmethod
    def tangent_dtype(dtype):
        return dtype

    @staticmethod
    def zero(dtype):
        return lax.convert_element_type(np.float32(-np.inf), dtype)

    @staticmethod
    def add(dtype, x, y):
        x, y = (lax.convert_element_type(z, np.float32) for z in (x, y))
        return lax.convert_element_type(lax.max(x, y), dtype)

    @staticmethod
    def full(shape, value, dtype):
        return lax.convert_element_type(lax.full(shape, value, np.float32), dtype)


@dataclasses.dataclass(frozen=True)
class Largest(ExtendedDType):
    """Numbers whose cotangents are joined by their maximum, as scales of fp8 are."""

    _rules: type = _LargestRules
    type: type = _Largest
    name: str = "largest"


def to(dtype):
    return lambda x: lax.convert_element_type(x, dtype)


def four_times(fun, *args):
    """Results of four calls of the compiled function, which must be equal, and the eager one."""
    compiled = tanx.jit(fun)
    found = [tanx.tree.map(_numbers, compiled(*args)) for _ in range(4)]
    for other in (*found[1:], tanx.tree.map(_numbers, fun(*args))):
        tanx.tree.map(np.testing.assert_array_equal, found[0], other)
    return found[0]


def _numbers(x):
    return np.asarray(to(x.dtype.stored)(x) if isinstance(x, EArray) else x)


def test_what_it_is():
    again = primal_tangent_dtype("int8", "bfloat16")
    assert repr(INT8) == INT8.name == "PrimalTangentDType{i8/bf16}" and FLOAT.name == "coarse"
    assert again == INT8 != FLOAT and hash(again) == hash(INT8)
    assert jnp.issubdtype(INT8, tanx.dtypes.extended)
    assert not jnp.issubdtype(INT8, tanx.dtypes.prng_key) and not jnp.issubdtype(INT8, np.integer)
    assert INT8.itemsize == 1 and FLOAT.itemsize == 4
    for wrong in (INT8, "S3", object):
        with pytest.raises(TypeError, match="both dtypes must be those of numbers"):
            primal_tangent_dtype(wrong, "float32")
    assert primal_tangent_dtype("float64", float).name == "PrimalTangentDType{f64/f32}"


def test_arrays():
    x = to(INT8)(jnp.array([[1, -2], [3, 4]], np.int8))
    assert isinstance(x, EArray) and isinstance(x, tanx.Array) and x.dtype == INT8
    assert not isinstance(tanx.random.key(0), EArray) and not isinstance(jnp.ones(2), EArray)
    assert x.shape == (2, 2) and x.nbytes == 4 and x.itemsize == 1 and len(x) == 2
    assert repr(x[0]) == str(x[0]) == f"EArray([ 1, -2], dtype={INT8.name})"
    assert repr(x[:0]) == f"EArray([], shape=(0, 2), dtype={INT8.name})"
    assert tanx.tree.leaves({"x": x})[0] is x
    again = pickle.loads(pickle.dumps(x))
    assert again.dtype == INT8 and bool(jnp.all(again == x))
    assert str(tanx.eval_shape(lambda x: x.T, x)) == (
        f"ShapeDtypeStruct(shape=(2, 2), dtype={INT8.name})")
    assert x.copy().dtype == tanx.device_put(x).dtype == INT8


def test_earray_makes_arrays_from_what_is_stored():
    x = EArray(ShapedArray((3,), INT8), jnp.arange(3, dtype=np.int8))
    assert isinstance(x, EArray) and list(to("int8")(x)) == [0, 1, 2]
    with pytest.raises(TypeError, match=r"data must be what arrays of the type have in memory.*\n"
                       r".*\[2\], stored as int8\[2\]\n.*int8\[3\]"):
        EArray(ShapedArray((2,), INT8), jnp.arange(3, dtype=np.int8))
    with pytest.raises(TypeError, match="aval must be a type of an extended dtype"):
        EArray(ShapedArray((2,), np.float32), jnp.ones(2))


MOVES = {
    "index": lambda x: x[1], "gather": lambda x: x[jnp.array([1, 0, 1])],
    "take": lambda x: jnp.take(x, jnp.array([1, 5]), axis=0), "slice": lambda x: x[:, ::-2],
    "reshape": lambda x: x.reshape(-1), "transpose": lambda x: x.T,
    "roll": lambda x: jnp.roll(x, 1),
    "stack": lambda x: jnp.stack([x, x[::-1]]), "concatenate": lambda x: jnp.concatenate([x, x]),
    "broadcast": lambda x: jnp.broadcast_to(x, (2, *x.shape)), "tile": lambda x: jnp.tile(x, 2),
    "set": lambda x: x.at[0].set(x[1]), "where": lambda x: jnp.where(x == x[0], x, x[::-1]),
    "update": lambda x: lax.dynamic_update_slice(x, x[:1], (1, 0)), "empty": lambda x: x[:0],
    "zeros": jnp.zeros_like, "full": lambda x: jnp.full((2,), 3, x.dtype),
    "vmap": lambda x: tanx.vmap(lambda row: row[::-1])(x),
    "scan": lambda x: lax.scan(lambda c, row: (row, c), x[0], x),
    "cond": lambda x: lax.cond(jnp.all(x == x), lambda x: x[0], lambda x: x[1], x),
    "while": lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1][::-1]), (0, x)),
    "checkpoint": tanx.checkpoint(lambda x: x[0]),
    "sort by": lambda x: lax.sort((-lax.broadcasted_iota(np.int32, x.shape, 0), x), num_keys=1,
                                  dimension=0)[1],
}


@pytest.mark.parametrize("dtype", [INT8, FLOAT, Largest()], ids=str)
@pytest.mark.parametrize("move", MOVES)
def test_elements_move_as_numbers_do(move, dtype):
    x = jnp.array([[1, -2, 3], [4, 5, -6]], dtype.stored)
    found = four_times(MOVES[move], to(dtype)(x))
    plain = MOVES[move](x)
    tanx.tree.map(np.testing.assert_array_equal, found, tanx.tree.map(np.asarray, plain))


def test_jaxpr():
    text = str(tanx.make_jaxpr(lambda x: to("int8")(to(INT8)(x)[0]))(jnp.ones(2, np.int8)))
    assert "to_edtype[" in text and "from_edtype[dtype=int8]" in text
    assert "b:PrimalTangentDType{i8/bf16}[2] = to_edtype[" in text
    same = tanx.make_jaxpr(lambda x: to(INT8)(to(INT8)(x)))(jnp.ones(2, np.int8))
    assert len(same.eqns) == 1


def test_gradients_have_the_dtype_of_tangents():
    def loss(x):
        return to(np.float32)(to(FLOAT)(x * 2)).sum()

    assert list(four_times(tanx.grad(loss), jnp.ones(3))) == [2.0, 2.0, 2.0]
    ct = jnp.array([1.5, 2.5, 3.5], jnp.bfloat16)
    (found,) = four_times(lambda x: tanx.vjp(to(FLOAT), x)[1](ct), jnp.ones(3))
    assert found.dtype == np.float32 and list(found) == [1.5, 2.5, 3.5]
    x = to(INT8)(jnp.array([1, 2, 3], np.int8))
    y, tangent = tanx.jvp(lambda x: x[::-1], (x,), (ct,))
    assert y.dtype == INT8 and tangent.dtype == jnp.bfloat16 and list(tangent) == [3.5, 2.5, 1.5]
    pair = four_times(lambda x: tanx.vjp(lambda x: (x, x[::-1]), x)[1]((ct, ct)), x)
    assert list(pair[0]) == [5.0, 5.0, 5.0]
    assert tanx.jvp(to("int8"), (x,), (ct,))[1].dtype == tanx.float0


def test_weights_of_eight_bits_train():
    @tanx.custom_vjp
    def multiply(w, x):
        return to("int8")(w).astype(np.float32) * x

    multiply.defvjp(lambda w, x: (multiply(w, x), (w, x)), lambda saved, ct: (
        (ct * saved[1]).astype(jnp.bfloat16), ct * to("int8")(saved[0]).astype(np.float32)))

    w = to(INT8)(jnp.array([1, 2, 3], np.int8))
    x = jnp.array([0.5, 1.0, 2.0])

    def loss(w, x):
        branch = lax.cond(x[0] > 0, lambda: multiply(w, x).sum(), lambda: 0.0)
        return branch + lax.scan(lambda c, _: (c + multiply(w, x).sum(), None), 0.0, None, 2)[0]

    dw, dx = four_times(lambda w, x: tanx.grad(loss, (0, 1), allow_int=True)(w, x), w, x)
    assert dw.dtype == jnp.bfloat16 and list(dw) == [1.5, 3.0, 6.0] and list(dx) == [3, 6, 9]


def test_rules_add_cotangents():
    @tanx.custom_vjp
    def scaled(scale, x):
        return x

    scaled.defvjp(lambda scale, x: (x, scale), lambda scale, ct: (
        to(Largest())(jnp.max(ct)), ct))

    def loss(scale, x):
        scale = to(Largest())(scale)
        return (2 * scaled(scale, x) + 3 * scaled(scale, x * 5)).sum()

    found = four_times(tanx.grad(loss), jnp.float32(1.0), jnp.ones(3))
    assert found == 3.0  # the greater of 2 and 3, not their sum
    looped = tanx.grad(lambda scale, x: lax.scan(
        lambda c, row: (c + scaled(to(Largest())(scale), row * row).sum(), None), 0.0, x)[0])
    assert four_times(looped, jnp.float32(1.0), jnp.ones((4, 2))) == 4.0


def test_callbacks_get_numbers():
    seen = []
    x = to(INT8)(jnp.array([1, 2], np.int8))
    out = tanx.ShapeDtypeStruct((2,), np.int8)
    fun = tanx.jit(lambda x: tanx.pure_callback(lambda y: seen.append(y) or np.asarray(y), out, x))
    for _ in range(4):
        assert list(fun(x)) == [1, 2]
    assert seen[0].dtype == np.int8


def test_code_on_disk_is_found_again(tmp_path):
    program = """
import numpy as np, tanx, tanx.numpy as jnp
from tanx import lax
from tanx.experimental import primal_tangent_dtype
dtype = primal_tangent_dtype(jnp.{0}, jnp.float32)
fun = tanx.jit(lambda x: lax.convert_element_type(
    lax.convert_element_type(x, dtype)[::-1], dtype.stored))
hits = []
tanx.monitoring.register_event_listener(lambda name, **_: hits.append(name))
for _ in range(4):
    print(*fun(np.arange(3, dtype=jnp.{0})), end=";")
print(sum(name.endswith("cache_hits") for name in hits))
"""
    found = [subprocess.run(
        [sys.executable, "-c", program.format(kind)], capture_output=True, text=True, check=True,
        env={**os.environ, "TANX_CACHE_DIR": str(tmp_path), "TANX_ENABLE_COMPILATION_CACHE": "1"},
        ).stdout.split(";")
        for kind in ("int8", "int8", "int16")]
    assert found == [["2 1 0"] * 4 + [f"{hits}\n"] for hits in (0, 1, 0)]


def test_ahead_of_time():
    lowered = tanx.jit(lambda x: to("int8")(to(INT8)(x)[::-1])).lower(jnp.ones(2, np.int8))
    assert "tensor<2xi8>" in lowered.as_text()
    compiled = lowered.compile()
    for _ in range(4):
        assert list(compiled(jnp.array([1, 2], np.int8))) == [2, 1]
    with pytest.raises(NotImplementedError, match=r"a value of dtype PrimalTangentDType.*\n"
                       r"(.*\n)*  Hint: the function may convert to the dtype"):
        tanx.export.export(tanx.jit(to(INT8)))(jnp.ones(2, np.int8))


@pytest.mark.parametrize("wrong, error, message", [
    (lambda x: x + 1, TypeError, r"tanx.numpy.add: elements of .* are not numbers"),
    (lambda x: jnp.sin(x), TypeError, r"tanx.numpy.sin: elements of .* are not numbers"),
    (lambda x: x.sum(), TypeError, r"tanx.numpy.sum: elements of .* are not numbers"),
    (lambda x: -x, TypeError, r"tanx.numpy.negative: elements of .* are not numbers"),
    (lambda x: lax.mul(x, x), TypeError, r"tanx.lax.mul: elements of .* are not numbers"),
    (lambda x: x.astype(np.float32), ValueError, r"are stored as int8; they convert to and from"),
    (lambda x: to(FLOAT)(x), ValueError, "one extended type does not convert to another"),
    (lambda x: to(INT8)(jnp.ones(2)), ValueError, "are stored as int8"),
    (lambda x: to(INT8)(tanx.random.key(0)), ValueError, "one extended type does not convert"),
    (lambda x: tanx.grad(lambda x: 1.0)(x), TypeError, "inputs must be real or complex numbers"),
], ids=range(10))
def test_errors(wrong, error, message):
    x = to(INT8)(jnp.array([1, 2], np.int8))
    with pytest.raises(error, match=message):
        wrong(x)
    with pytest.raises(error, match=message):
        tanx.jit(wrong)(x)


def test_numpy_does_not_read_them():
    x = to(INT8)(jnp.array([1, 2], np.int8))
    for read in (np.asarray, lambda x: float(x[0]), lambda x: x.tolist()):
        with pytest.raises(TypeError, match="are not numbers"):
            read(x)


def test_rules_may_forbid_conversions():
    class Closed(_LargestRules):
        convert_to = convert_from = staticmethod(lambda *dtypes: False)

    with pytest.raises(ValueError, match="the rules of largest do not allow the conversion"):
        to(Largest(_rules=Closed))(jnp.ones(2))


def test_elements_that_are_arrays_are_refused():
    class Pairs(_LargestRules):
        physical_element_aval = staticmethod(lambda dtype: ShapedArray((2,), np.float32))

    with pytest.raises(NotImplementedError, match="elements of extended types are single numbers"):
        to(Largest(_rules=Pairs))(jnp.ones((3, 2)))
