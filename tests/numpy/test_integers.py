"""Divisors, multiples and bits against NumPy; Bessel's function and its window."""

import numpy as np
import pytest
import scipy.special

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int32", "int64"])
@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_divisors_and_multiples(name, dtype):
    with tanx.enable_x64(True):
        info = np.iinfo(dtype)
        low, high = (max(info.min + 1, -300), min(info.max, 300)) if name == "gcd" else (
            -10 if info.min else 0, 12)
        a, b = RNG.integers(low, high, (2, 4, 50)).astype(dtype)
        a[0, :2], b[0, :3] = 0, (0, 5, 0)
        want = getattr(np, name)(a, b)
        for way in (getattr(jnp, name), tanx.jit(getattr(jnp, name))):
            got = way(a, b)
            assert got.dtype == dtype
            agree(got, want)
            agree(way(a[:, :1], b[0]), getattr(np, name)(a[:, :1], b[0]))
        batched(getattr(jnp, name), a[0], b[0])


def test_types_of_divisors():
    assert fact(jnp.gcd(12, 18)) == "~int32[]" and int(jnp.gcd(12, 18)) == 6
    assert fact(jnp.lcm(jnp.int8(4), 6)) == "int8[]"
    agree(jnp.gcd(np.array([-128], np.int8), np.array([0], np.int8)), [-128])
    agree(jnp.lcm(np.array([100], np.int8), np.array([7], np.int8)), [-68])


@pytest.mark.parametrize("bitorder", ["big", "little"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("shape", [(3, 17), (8, 8), (1, 0), (9, 1)])
def test_bits(shape, axis, bitorder):
    for dtype in (bool, "uint8", "int32"):
        bits = RNG.integers(0, 2, shape).astype(dtype)
        function = lambda a: jnp.packbits(a, axis, bitorder)
        agree(function(bits), np.packbits(bits, axis, bitorder))
        agree(tanx.jit(function)(bits), np.packbits(bits, axis, bitorder))
    data = RNG.integers(0, 256, shape).astype(np.uint8)
    for count in (None, 5, -3, 300, 0) if data.size else (None,):
        want = np.unpackbits(data, axis, count, bitorder)
        for way in (jnp.unpackbits, tanx.jit(jnp.unpackbits, static_argnums=(1, 2, 3))):
            agree(way(data, axis, count, bitorder), want)


@pytest.mark.parametrize("bitorder", ["big", "little"])
@pytest.mark.parametrize("shape, axis", [((8000,), None), ((1234,), 0), ((100, 64), 1),
                                         ((100, 64), 0), ((37, 129), 1), ((3, 5, 256), None)])
def test_bits_of_long_arrays(shape, axis, bitorder):
    pack = tanx.jit(lambda a: jnp.packbits(a, axis, bitorder))
    for dtype in (bool, "uint8", "int8", "int16"):
        bits = (RNG.integers(-3, 3, shape) * RNG.integers(0, 2, shape)).astype(dtype)
        for _ in range(4):
            agree(pack(bits), np.packbits(bits != 0, axis, bitorder))


def test_bits_of_bools_that_are_other_bytes():
    bits = np.arange(256, dtype=np.uint8).repeat(8).view(bool)
    pack = tanx.jit(jnp.packbits)
    for _ in range(4):
        agree(pack(bits), np.packbits(bits))


def test_bits_under_vmap():
    data = RNG.integers(0, 256, (4, 3)).astype(np.uint8)
    batched(lambda a: jnp.unpackbits(a, 0), data)
    batched(lambda a: jnp.packbits(a, 0), data)
    agree(jnp.packbits(jnp.unpackbits(data)), data.ravel())
    agree(jnp.packbits(True), [128])
    agree(jnp.unpackbits(jnp.uint8(5)), [0, 0, 0, 0, 0, 1, 0, 1])


def test_bessel_function():
    x = np.linspace(-20, 20, 101)
    agree(jnp.i0(x.astype(np.float32)), np.i0(x), 1e-5)
    agree(jnp.i0(np.arange(4)), np.i0(np.arange(4.0)), 1e-5)
    with tanx.enable_x64(True):
        adjoint(jnp.i0, x)
        adjoint(tanx.vmap(tanx.grad(jnp.i0)), x)
        agree(tanx.vmap(tanx.grad(jnp.i0))(x), scipy.special.i1(x), 1e-12)
    assert tanx.grad(jnp.i0)(0.0) == 0 and tanx.grad(tanx.grad(jnp.i0))(0.0) == 0.5
    assert fact(jnp.i0(2)) == "~float32[]" and fact(jnp.i0(jnp.float16(2))) == "float16[]"


@pytest.mark.parametrize("points", [0, 1, 2, 5, 12])
def test_windows(points):
    for beta in (0.0, 2.5, 14):
        agree(jnp.kaiser(points, beta), np.kaiser(points, beta), 1e-5)
    adjoint(lambda beta: jnp.kaiser(points, beta), np.array(3.0))


MISTAKES = [
    (ValueError, lambda: jnp.gcd(1.5, 2), """\
tanx.numpy.gcd: takes integers.
  x1: ~float32[]
  x2: ~float32[]"""),
    (TypeError, lambda: jnp.packbits(jnp.ones(3)), """\
tanx.numpy.packbits: takes integers and booleans.
  a: float32[3]"""),
    (TypeError, lambda: jnp.unpackbits(jnp.array([3])), """\
tanx.numpy.unpackbits: takes uint8.
  a: int32[1]"""),
    (ValueError, lambda: jnp.packbits(jnp.ones(3, bool), bitorder="odd"), """\
tanx.numpy.packbits: bitorder is 'big' or 'little'.
  bitorder: 'odd'"""),
    (ValueError, lambda: jnp.i0(1j), """\
tanx.numpy.i0: takes real numbers.
  x: ~complex64[]"""),
]


@pytest.mark.parametrize("error, call, text", MISTAKES)
def test_mistakes(error, call, text):
    message(error, call, text)
