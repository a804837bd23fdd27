"""Checks of derivatives: correct functions, errors that they find, and messages."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.test_util import check_grads, check_jvp, check_vjp

RIGHT = {
    "scalar": (jnp.sin, (1.0,)),
    "arrays": (lambda x, y: jnp.tanh(x @ y),
               (np.full((2, 3), 0.1, np.float32), jnp.full((3, 2), 0.1))),
    "pytrees": (lambda d: {"out": (d["a"] ** 2 * d["b"][0], d["b"])},
                ({"a": jnp.arange(3.0), "b": [jnp.float32(2.0)]},)),
    "integers": (lambda x, i: (x * i, i), (jnp.ones(3), jnp.arange(3))),
    "complex": (lambda z: z * jnp.conj(z) * 1j, (jnp.complex64(0.3 + 0.2j),)),
    "empty": (jnp.sin, (jnp.ones((0, 3)),)),
    "loop": (lambda x: tanx.lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + x, x), (0.5,)),
    "compiled": (tanx.jit(lambda x: jnp.exp(jnp.sin(x))), (jnp.arange(3.0),)),
    "bfloat16": (jnp.sin, (jnp.bfloat16(1.0),)),
    "float16": (jnp.sin, (jnp.float16(1.0),)),
    "nothing": (lambda: 1.0, ()),
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("modes", ["fwd", "rev", ("fwd", "rev")], ids=str)
def test_right_derivatives_pass(name, modes):
    order = 1 if "float" in name else 2
    check_grads(*RIGHT[name], order=order, modes=modes)


def test_tolerances_are_tight_with_64_bits():
    with tanx.enable_x64(True):
        check_grads(jnp.sin, (jnp.linspace(0.0, 1.0, 5),), order=3)
        with pytest.raises(AssertionError, match="1e-05"):
            check_grads(wrong_slope(1 + 1e-4), (1.0,), order=1)


def wrong_slope(factor):
    """A square whose derivative is wrong by a factor."""
    square = tanx.custom_jvp(lambda x: x * x)
    square.defjvp(lambda x, t: (x[0] * x[0], 2 * factor * x[0] * t[0]))
    return square


def wrong_value(x):
    """A square that returns another value when it is differentiated."""
    square = tanx.custom_jvp(lambda x: x * x)
    square.defjvp(lambda x, t: (x[0] + 0.5, 2 * x[0] * t[0]))
    return square(x)


def wrong_second(x):
    """A cube with a correct first derivative and a wrong second one."""
    slope = tanx.custom_jvp(lambda x: 3 * x * x)
    slope.defjvp(lambda x, t: (3 * x[0] * x[0], 7 * x[0] * t[0]))
    cube = tanx.custom_jvp(lambda x: x ** 3)
    cube.defjvp(lambda x, t: (x[0] ** 3, slope(x[0]) * t[0]))
    return cube(x)


@pytest.mark.parametrize("call, words", [
    (lambda: check_grads(wrong_slope(2), (jnp.ones(3),), 1), "fwd: forward mode gives"),
    (lambda: check_grads(wrong_slope(2), (jnp.ones(3),), 1, "rev"),
     "rev: reverse mode gives"),
    (lambda: check_grads(wrong_value, (1.0,), 1, ["fwd"]), "another result than the function"),
    (lambda: check_grads(wrong_value, (1.0,), 1, ["rev"]), "another result than the function"),
    (lambda: check_grads(wrong_second, (1.0,), 2, ["fwd"]), "fwd of fwd"),
    (lambda: check_grads(wrong_second, (1.0,), 2, ["rev"]), "rev of rev"),
    (lambda: check_jvp(jnp.sin, lambda x, t: tanx.jvp(jnp.cos, x, t), (1.0,), err_msg="mine"),
     "mine: forward"),
    (lambda: check_jvp(lambda x: x, lambda x, t: (x[0], t[0].astype("float16")), (jnp.ones(2),)),
     "another dtype"),
    (lambda: check_vjp(jnp.sin, lambda x: tanx.vjp(jnp.cos, x), (1.0,)), "another result"),
    (lambda: check_grads(lambda x: jnp.sqrt(x), (0.0,), 1), "inf"),
])
def test_wrong_derivatives_are_found(call, words):
    with pytest.raises(AssertionError, match=words):
        call()


def test_messages_say_where_and_how_much():
    two = tanx.custom_jvp(lambda x: {"a": x, "b": x * x})
    two.defjvp(lambda x, t: ({"a": x[0], "b": x[0] * x[0]}, {"a": t[0], "b": t[0]}))
    with pytest.raises(AssertionError) as caught:
        check_grads(two, (jnp.array([0.5, 0.5, 3.0]),), 1)
    assert "['b'][2]" in str(caught.value)
    assert "0.006 + 0.006 * |expected|" in str(caught.value)
    assert "1 of 3 elements" in str(caught.value)


@pytest.mark.parametrize("options", [
    {"atol": 10.0}, {"rtol": 10.0}, {"atol": {np.float32: 10.0}}, {"rtol": {"float32": 10.0}}])
def test_given_tolerances_are_used(options):
    check_grads(wrong_slope(1.5), (jnp.ones(3),), 1, **options)


@pytest.mark.parametrize("call, error, words", [
    (lambda: check_grads(jnp.sin, 1.0, 1), TypeError, "iterable"),
    (lambda: check_grads({}, (1.0,), 1), TypeError, "needs a function"),
    (lambda: check_grads(jnp.sin, (1.0,), 1, "forward"), ValueError, "'fwd' and 'rev'"),
])
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call()
