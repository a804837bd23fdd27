"""Promise 5: a Python ``if`` on a traced value raises an error that says what to write."""

import pytest

import tanx as jax
import tanx.numpy as jnp
from tests.gotchas import pages


def test_the_page():
    pages.run("05_python_if")


def if_statement(speed):
    if speed > 0:
        return 1
    return -1


def if_expression(speed):
    return 1 if speed > 0 else -1


def while_statement(speed):
    while speed > 0:
        speed = speed - 1
    return speed


def assertion(speed):
    assert speed > 0
    return speed


def logic(speed):
    return speed > 0 and speed < 3


WORDS = {if_statement: "tanx.numpy.where(speed > 0, a, b)",
         if_expression: "tanx.lax.cond(speed > 0, f, g, ...)",
         while_statement: "tanx.lax.while_loop(lambda state: speed > 0, body, state)",
         assertion: "checkify.check", logic: "for and, or, not write &, |, ~"}


@pytest.mark.parametrize("function", WORDS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", [jax.jit, lambda f: jax.jit(jax.vmap(f)),
                                       lambda f: jax.jit(jax.grad(f))])
def test_the_error(function, transform):
    argument = jnp.ones(2) if "vmap" in transform.__code__.co_names else 2.0
    f = transform(function)
    for _ in range(4):
        with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
            f(argument)
    text = str(caught.value)
    assert WORDS[function] in text
    assert "speed > 0" in text.partition("Hint")[0]
    assert "argument speed of" in text
    assert 'static_argnames="speed")' in text
    frames = [str(entry.path) for entry in caught.traceback]
    assert not any("tanx" in path and "tests" not in path for path in frames)


def test_the_class():
    assert issubclass(jax.errors.TracerBoolConversionError, jax.errors.ConcretizationTypeError)
    assert issubclass(jax.errors.ConcretizationTypeError, TypeError)


def test_jit_is_a_decorator_factory():
    @jax.jit(static_argnums=(0,))
    def ones(n):
        return jnp.ones(n)

    assert [ones(3).shape for _ in range(4)] == [(3,)] * 4
