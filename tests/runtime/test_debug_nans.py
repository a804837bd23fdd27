"""``debug_nans`` and ``debug_infs``: the operation that made the value, and its line."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax


def deep(x):
    return jnp.exp(jnp.log(x))  # the line


def line() -> str:
    return f"at:     {__file__}:{deep.__code__.co_firstlineno + 1} (deep): return jnp.exp(" \
           "jnp.log(x))  # the line"


def error(fun, *args, flag=tanx.debug_nans) -> str:
    with flag(True), pytest.raises(FloatingPointError) as caught:
        fun(*args)
    return str(caught.value)


@pytest.mark.parametrize("fun", [
    deep, tanx.jit(deep), tanx.jit(lambda x: tanx.jit(deep)(x) + 1), tanx.vmap(deep),
    tanx.jit(tanx.vmap(deep)), tanx.checkpoint(deep),
    tanx.jit(lambda x: lax.scan(lambda c, _: (deep(c) - 1, c), x, None, length=5)),
    tanx.jit(lambda x: lax.cond(x.sum() < 0, deep, jnp.sin, x)),
    tanx.jit(lambda x: lax.while_loop(lambda c: (c > -9).all(), lambda c: deep(c) - 1, x)),
    lambda x: lax.scan(lambda c, _: (deep(c) - 1, c), x, None, length=5),
], ids=["eager", "jit", "nested", "vmap", "jit-vmap", "checkpoint", "scan", "cond", "while",
        "eager-scan"])
def test_nan_errors_name_the_line(fun):
    text = error(fun, jnp.array([-1.0, -2.0]))
    # Compiled code names the operation; Python names the function that was called.
    called, rest = text.split(": ", 1)
    assert called in ("tanx.lax.log", "tanx.numpy.log")
    assert rest.startswith("made a value that is nan.\n  result: float32[")
    assert line() in text
    assert text.endswith("Hint: tanx.debug_nans(False) lets it pass.")


def test_infinities():
    text = error(tanx.jit(lambda x: 1 / x), jnp.zeros(3), flag=tanx.debug_infs)
    assert text.startswith("tanx.lax.div: made a value that is inf.\n"
                           "  result: float32[3], 3 of 3 elements\n")


def test_masked_nans_do_not_raise_in_compiled_code():
    masked = lambda x: jnp.where(x > 0, jnp.log(x), 0.0)
    with tanx.debug_nans(True):
        np.testing.assert_array_equal(tanx.jit(masked)(jnp.array([1.0, -1.0])), [0.0, 0.0])
        with pytest.raises(FloatingPointError):
            masked(jnp.array([1.0, -1.0]))


def test_derivatives():
    with tanx.debug_nans(True):
        assert tanx.jit(tanx.grad(jnp.sin))(0.0) == 1.0
        with pytest.raises(FloatingPointError, match="tanx.lax"):
            tanx.jit(tanx.grad(lambda x: jnp.sqrt(x) * 0))(0.0)


def test_donated_arguments_are_there_for_the_second_run():
    fun = tanx.jit(lambda x: jnp.log(x), donate_argnums=0)
    assert "tanx.lax.log" in error(fun, jnp.array([-1.0]))


def test_other_checks_do_not_keep_functions_from_being_compiled():
    calls = []

    def note(x):
        calls.append(1)
        return x
    fun = tanx.jit(lambda x: tanx.pure_callback(note, x, x) + 1)
    with tanx.numpy_rank_promotion("raise"):
        fun(1.0)
    with tanx.debug_nans(True):
        fun(1.0)
    assert len(calls) == 2
