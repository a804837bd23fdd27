"""Promise 17: print, callback, breakpoint and debug_nans inside of transformed functions."""

import io

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import debug, lax
from tests.gotchas import pages

X = jnp.array([1.0, 2.0])


def test_the_page():
    pages.run("17_looking_inside")


WAYS = {
    "jit": tanx.jit,
    "vmap": lambda f: tanx.jit(tanx.vmap(f)),
    "eager vmap": tanx.vmap,
    "grad": lambda f: tanx.jit(tanx.grad(lambda x: f(x).sum())),
    "vmap of grad": lambda f: tanx.jit(tanx.vmap(tanx.grad(f))),
    "scan": lambda f: tanx.jit(lambda x: lax.scan(lambda c, y: (c + f(y), f(y) * 0), 0.0, x)[1]),
    "grad of scan": lambda f: tanx.jit(tanx.grad(
        lambda x: lax.scan(lambda c, y: (c + f(y), None), 0.0, x)[0])),
    "while_loop": lambda f: tanx.jit(lambda x: lax.while_loop(
        lambda c: c[0] < 1, lambda c: (c[0] + 1, f(c[1])), (0, x))[1]),
    "cond": lambda f: tanx.jit(lambda x: lax.cond(x.sum() < 99, f, jnp.cos, x)),
    "checkpoint": lambda f: tanx.jit(lambda x: tanx.checkpoint(f)(x)),
}
ELEMENTWISE = ("vmap", "eager vmap", "vmap of grad", "scan", "grad of scan")


def numbers(name: str) -> list:
    """The values that a function gets in one call, by elements or as a whole."""
    if name == "scan":
        return [1.0, 1.0, 2.0, 2.0]  # two calls per step
    return [1.0, 2.0] if name in ELEMENTWISE else [[1.0, 2.0]]


@pytest.mark.parametrize("name", WAYS)
def test_callbacks_and_prints(name, capsys):
    seen = []

    def shows(x):
        debug.callback(lambda y: seen.append(y.tolist()), x)
        debug.print("{x}", x=x)
        return jnp.sin(x)

    run, silent = WAYS[name](shows), WAYS[name](jnp.sin)
    for _ in range(4):
        seen.clear()
        np.testing.assert_allclose(run(X), silent(X), rtol=1e-6)
        assert seen == numbers(name)
        printed = capsys.readouterr().out.split("\n")[:-1]
        assert printed == [str(np.asarray(x, np.float32)) for x in seen]


def wrong(x):
    return jnp.exp(jnp.log(x))  # the line


@pytest.mark.parametrize("name", WAYS)
def test_debug_nans_names_the_line(name):
    run = WAYS[name](wrong)
    line = f"at:     {__file__}:{wrong.__code__.co_firstlineno + 1} (wrong): "
    with tanx.debug_nans(True):
        for _ in range(4):
            with pytest.raises(FloatingPointError, match="made a value that is nan") as caught:
                run(-X)
            assert line in str(caught.value) and "log: made" in str(caught.value)
        assert run(X).shape == X.shape


PROMPT = "(tanx) "  # not written below, where breakpoints show the source


def session(fun, commands: str) -> list[str]:
    """The output of breakpoints in a function of two files."""
    stdin, stdout = io.StringIO(commands), io.StringIO()
    fun(stdin, stdout)
    return [text.strip() for text in stdout.getvalue().split(PROMPT)[1:]]


@pytest.mark.parametrize("name", ["jit", "vmap", "grad", "scan", "cond"])
def test_breakpoints_know_the_values(name):
    def run(stdin, stdout):
        def stops(x):
            double = 2 * x
            debug.breakpoint(stdin=stdin, stdout=stdout)
            return jnp.sin(double)
        WAYS[name](stops)(X)

    for _ in range(4):
        values, frames, *_ = session(run, "p double\nbt\n" + "c\n" * 4)
        first = "2." if name in ELEMENTWISE else "[2., 4.]"
        assert values == f"Array({first}, dtype=float32)"
        assert "debug.breakpoint(stdin=stdin, stdout=stdout)" in frames
