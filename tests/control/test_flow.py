"""Random programs with branches and loops against plain Python, under all transformations."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp

from .flow import SIZE, by_lax, by_python, program

SEEDS = range(8)
COMPILED = range(4)


@pytest.fixture(autouse=True)
def wide_types():
    with tanx.enable_x64(True):
        yield


@pytest.fixture
def interpreted():
    """Run loops and branches by their ``eval`` rules, which is faster than compiling."""
    with tanx.disable_jit():
        yield


def total(run, statements):
    """A program as a function from an array to a number."""
    def fun(x):
        state = run(statements, [x[i] for i in range(SIZE)])
        return sum(w * s for w, s in zip((1.0, 0.7, 0.4), state))
    return fun


def points(seed, *lead):
    return jnp.asarray(np.random.default_rng(seed).uniform(-1, 1.2, (*lead, SIZE)))


def both(seed, depth=2):
    statements = program(seed, depth)
    return total(by_lax, statements), total(by_python, statements)


def close(actual, expected):
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_values_and_derivatives(seed, interpreted):
    ours, plain = both(seed)
    x, v = points(seed), points(seed + 100)
    close(ours(x), plain(x))
    close(tanx.grad(ours)(x), tanx.grad(plain)(x))
    close(tanx.jvp(ours, (x,), (v,))[1], tanx.jvp(plain, (x,), (v,))[1])
    value, pushed = tanx.linearize(ours, x)
    close(value, plain(x))
    close(pushed(v), tanx.jvp(plain, (x,), (v,))[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_second_derivatives(seed, interpreted):
    ours, plain = both(seed)
    x, v = points(seed), points(seed + 100)
    expected = tanx.jvp(tanx.grad(plain), (x,), (v,))[1]
    close(tanx.jvp(tanx.grad(ours), (x,), (v,))[1], expected)
    if seed < 4:
        close(tanx.grad(lambda x: tanx.grad(ours)(x) @ v)(x), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_batches(seed, interpreted):
    ours, plain = both(seed)
    xs, vs = points(seed, 4), points(seed + 100, 4)
    gradients = [tanx.grad(plain)(x) for x in xs]
    close(tanx.vmap(ours)(xs), [plain(x) for x in xs])
    close(tanx.vmap(tanx.grad(ours))(xs), gradients)
    close(tanx.grad(lambda xs: tanx.vmap(ours)(xs).sum())(xs), gradients)
    close(tanx.jvp(tanx.vmap(ours), (xs,), (vs,))[1],
          [tanx.jvp(plain, (x,), (v,))[1] for x, v in zip(xs, vs)])
    close(tanx.vmap(tanx.vmap(ours))(xs.reshape(2, 2, SIZE)).ravel(), [plain(x) for x in xs])


@pytest.mark.parametrize("seed", COMPILED)
def test_compiled(seed):
    ours, plain = both(seed, depth=1)
    xs, v = points(seed, 3), points(seed + 100)
    x = xs[0]
    close(tanx.jit(ours)(x), plain(x))
    close(tanx.jit(tanx.grad(ours))(x), tanx.grad(plain)(x))
    close(tanx.grad(tanx.jit(ours))(x), tanx.grad(plain)(x))
    close(tanx.jit(lambda x: tanx.jvp(ours, (x,), (v,))[1])(x),
          tanx.jvp(plain, (x,), (v,))[1])
    close(tanx.jit(tanx.vmap(tanx.grad(ours)))(xs), [tanx.grad(plain)(x) for x in xs])
    close(tanx.jit(tanx.grad(lambda xs: tanx.vmap(ours)(xs).sum()))(xs),
          [tanx.grad(plain)(x) for x in xs])


@pytest.mark.parametrize("seed", COMPILED)
def test_checkpointed(seed, interpreted):
    ours, plain = both(seed)
    x = points(seed)
    close(tanx.grad(tanx.checkpoint(ours))(x), tanx.grad(plain)(x))
    close(tanx.grad(tanx.checkpoint(
        ours, policy=tanx.checkpoint_policies.everything_saveable))(x), tanx.grad(plain)(x))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_deep(seed):
    """Programs three levels deep, which take long to compile."""
    ours, plain = both(seed, depth=3)
    xs, v = points(seed, 3), points(seed + 100)
    x, gradients = xs[0], [tanx.grad(plain)(x) for x in xs]
    close(tanx.jit(ours)(x), plain(x))
    close(tanx.grad(tanx.jit(ours))(x), gradients[0])
    close(tanx.vmap(tanx.grad(tanx.jit(ours)))(xs), gradients)
    close(tanx.jit(tanx.vmap(tanx.grad(ours)))(xs), gradients)
    close(tanx.jit(tanx.grad(lambda xs: tanx.vmap(ours)(xs).sum()))(xs), gradients)
    close(tanx.jit(lambda x: tanx.jvp(tanx.grad(ours), (x,), (v,))[1])(x),
          tanx.jvp(tanx.grad(plain), (x,), (v,))[1])
