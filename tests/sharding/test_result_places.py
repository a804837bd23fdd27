"""Results are on the devices of their operands: ``sharding`` and ``committed``."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx.sharding import AxisType, NamedSharding, SingleDeviceSharding
from tanx.sharding import PartitionSpec as P

MESH = tanx.make_mesh((1, 1), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
OTHER = tanx.make_mesh((1,), ("k",), axis_types=(AxisType.Auto,))
WHOLE, DEVICE = NamedSharding(MESH, P()), SingleDeviceSharding(tanx.devices()[0])


def put(*spec, shape=(4, 2), mesh=MESH):
    data = jnp.arange(float(np.prod(shape))).reshape(shape)
    return tanx.device_put(data, NamedSharding(mesh, P(*spec)))


x, row, turned = put("x", "y"), put("x", shape=(4,)), put("y", "x")
free = jnp.arange(8.0).reshape(4, 2)
fixed = tanx.device_put(free, tanx.devices()[0])

# A function, its operands, the sharding of its result; None means DEVICE and not committed.
OPERATIONS = {
    "alike": (lambda a, b: a + b, (x, x), x.sharding),
    "the first one decides": (lambda a, b: a + b, (turned, x), turned.sharding),
    "not put first": (lambda a, b: a + b, (free, x), WHOLE),
    "not put second": (lambda a, b: a + b, (x, free), x.sharding),
    "number": (lambda a, b: a * b, (x, 2.0), x.sharding),
    "NumPy first": (lambda b, a: lax.mul(b, a), (np.ones((4, 2), np.float32), x), WHOLE),
    "another mesh": (lambda a, b: a + b, (x, put("k", mesh=OTHER)), WHOLE),
    "on a device": (lambda a, b: a + b, (free, fixed), DEVICE),
    "on a device first": (lambda a, b: a + b, (fixed, x), DEVICE),
    "nowhere": (lambda a, b: a + b, (free, free), None),
    "fewer dimensions": (lambda a: a.sum(0), (x,), WHOLE),
    "more dimensions": (lambda a: a[None], (x,), WHOLE),
    "transposed": (lambda a: a.T, (x,), x.sharding),
    "reshaped": (lambda a: a.reshape(2, 4), (x,), x.sharding),
    "slice": (lambda a: a[1:3], (x,), x.sharding),
    "product": (lambda a: a.T @ a, (x,), x.sharding),
    "one dimension": (lambda a: jnp.sin(a), (row,), row.sharding),
    "library": (lambda a: jnp.where(a > 1, a, 0), (row,), row.sharding),
    "key": (lambda k: tanx.random.normal(k, (2,)), (tanx.device_put(tanx.random.key(0), WHOLE),),
            WHOLE),
}
FUNCTIONS = {
    "loop": (lambda a: lax.fori_loop(0, 3, lambda i, b: b + 1, a), (row,), row.sharding),
    "gradient": (tanx.grad(lambda a: (a ** 2).sum()), (x,), x.sharding),
    "number first": (lambda b, a: a * b, (2.0, x), WHOLE),
    "not read": (lambda a, b: b * 2, (turned, x), x.sharding),
    "closed over": (lambda a: a + x, (free,), None),
    "constraint": (lambda a: lax.with_sharding_constraint(a * 2, x.sharding), (free,), WHOLE),
    "constant": (lambda a: jnp.zeros(3), (x,), None),
}


def check(out, want):
    assert out.sharding == (DEVICE if want is None else want)
    assert out.committed == (want is not None)


@pytest.mark.parametrize("case", OPERATIONS | FUNCTIONS)
def test_results_of_compiled_functions(case):
    fun, operands, want = (OPERATIONS | FUNCTIONS)[case]
    compiled, expected = tanx.jit(fun), fun(*operands)
    for _ in range(5):
        out = compiled(*operands)
        check(out, want)
        assert out.dtype == expected.dtype and out.weak_type == expected.weak_type
        np.testing.assert_allclose(out, expected, rtol=1e-6)


@pytest.mark.parametrize("case", OPERATIONS)
def test_results_of_eager_operations(case):
    fun, operands, want = OPERATIONS[case]
    for _ in range(3):  # library functions are compiled when called again
        check(fun(*operands), want)


def test_one_signature_at_several_places():
    double = tanx.jit(lambda a: (a * 2, a.sum(), a))
    for _ in range(4):
        for a in (x, free, turned, fixed):
            out, total, same = double(a)
            assert out.sharding == a.sharding and out.committed == a.committed
            assert total.sharding == (DEVICE if a is free or a is fixed else WHOLE)
            assert same is a
            np.testing.assert_array_equal(out, np.asarray(a) * 2)


def test_equal_shardings_are_one_kind_of_argument():
    double = tanx.jit(lambda a: a * 2)
    for _ in range(4):
        a = tanx.device_put(free, NamedSharding(MESH, P("x", "y")))
        assert double(a).sharding == a.sharding
    assert double._cache_size() == 1 and len(double._native) == 1


def test_donated_arguments():
    double = tanx.jit(lambda a: a * 2, donate_argnums=0)
    for _ in range(5):
        a = tanx.device_put(free + 1, x.sharding)
        out = double(a)
        assert out.sharding == x.sharding and a.is_deleted()
        np.testing.assert_array_equal(out, (np.asarray(free) + 1) * 2)


def test_shardings_of_jit():
    for _ in range(4):
        check(tanx.jit(lambda a: a * 2, in_shardings=x.sharding)(free), WHOLE)
    out = tanx.jit(lambda a: (a, a * 2), out_shardings=(x.sharding, None))
    for _ in range(4):
        first, second = out(free)
        check(first, x.sharding)
        check(second, WHOLE)


def test_compiled_ahead_of_time():
    def both(a, b):
        return a + b, a.sum()

    stated = tanx.ShapeDtypeStruct((4, 2), np.float32, sharding=x.sharding)
    plain = tanx.ShapeDtypeStruct((4, 2), np.float32)
    for fun, given, ins, outs in (
            (tanx.jit(both), (x, free), (x.sharding, WHOLE), (x.sharding, WHOLE)),
            (tanx.jit(both), (stated, plain), (x.sharding, WHOLE), (x.sharding, WHOLE)),
            (tanx.jit(both), (free, free), (DEVICE, DEVICE), (DEVICE, DEVICE)),
            (tanx.jit(both, in_shardings=(x.sharding, None)), (free, free), (x.sharding, WHOLE),
             (WHOLE, WHOLE)),
            (tanx.jit(both, out_shardings=(x.sharding, None)), (free, plain), (DEVICE, DEVICE),
             (x.sharding, WHOLE))):
        compiled = fun.lower(*given).compile()
        assert compiled.input_shardings == (ins, {})
        assert compiled.output_shardings == outs
        results = compiled(free, free)
        assert tuple(y.sharding for y in results) == outs
        np.testing.assert_array_equal(results[0], np.asarray(free) * 2)


@pytest.mark.parametrize("make", [jnp.zeros_like, jnp.ones_like, jnp.empty_like,
                                  lambda a: jnp.full_like(a, 3), lambda a: lax.full_like(a, 3)])
def test_arrays_made_like_others(make):
    check(make(x), x.sharding)
    check(make(fixed), DEVICE)
    check(make(free), None)
    if make is jnp.zeros_like:
        check(make(x, device=tanx.devices()[0]), DEVICE)


def test_explicit_axes_stay_in_types():
    mesh = tanx.make_mesh((1,), ("e",), axis_types=(AxisType.Explicit,))
    a = tanx.device_put(free, NamedSharding(mesh, P("e", None)))
    for total in (a.sum(1), tanx.jit(lambda a: a.sum(1))(a)):
        assert total.sharding.mesh == mesh and total.sharding.spec == P("e")
        assert str(tanx.typeof(total)) == "float32[4@e]"
    assert a.sum().sharding == NamedSharding(mesh, P())
