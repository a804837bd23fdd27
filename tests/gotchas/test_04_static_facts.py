"""Promise 4: what depends on no argument stays computable under ``jit``."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.gotchas import pages

lax = tanx.lax


def test_the_page():
    pages.run("04_static_facts")


def with_range(x):
    for _ in range(jnp.int32(3)):
        x = x + 1
    return x


FACTS = {
    "reshape": (lambda x: x.reshape(jnp.array(x.shape).prod()), (6,)),
    "if": (lambda x: x if jnp.all(jnp.arange(3) >= 0) else None, (2, 3)),
    "range": (with_range, (2, 3)),
    "size": (lambda x: jnp.ones(jnp.array([2, 3]).max()), (3,)),
    "index": (lambda x: [x, x[0]][jnp.argmax(jnp.array([0, 1]))], (3,)),
    "axis": (lambda x: x.sum(axis=int(jnp.array(x.shape).argmin())), (3,)),
    "float": (lambda x: jnp.full(int(float(jnp.sqrt(16.0))), x[0, 0]), (4,)),
    "numpy": (lambda x: x[np.asarray(jnp.array([1, 0]))], (2, 3)),
    "slice": (lambda x: x[: jnp.array(1)], (1, 3)),
    "closed over": (lambda x: x.reshape(SIZES[0] * SIZES[1]), (6,)),
    "branch": (lambda x: lax.cond(x.sum() > 0, lambda: x.reshape(jnp.array(x.shape)[::-1].tolist()),
                                  lambda: x.T), (3, 2)),
    "nested": (lambda x: tanx.jit(lambda y: y.reshape(jnp.array(y.shape).prod()))(x), (6,))}
SIZES = jnp.array([2, 3])


@pytest.mark.parametrize("name", FACTS)
def test_facts(name):
    function, shape = FACTS[name]
    f, x = tanx.jit(function), jnp.zeros((2, 3))
    for y in [f(x) for _ in range(4)]:
        assert (y.shape, y.dtype) == (shape, jnp.float32)
    np.testing.assert_array_equal(f(x), function(x))


@pytest.mark.parametrize("name", ["reshape", "range", "if"])
def test_under_other_transformations(name):
    function, _ = FACTS[name]
    x = jnp.ones((4, 2, 3))
    total = lambda x: function(x).sum()
    assert tanx.vmap(function)(x).shape[0] == 4
    for f in (tanx.grad(total), tanx.jit(tanx.grad(total)), tanx.grad(tanx.checkpoint(total))):
        assert [f(x[0]).tolist() for _ in range(4)] == [np.ones((2, 3)).tolist()] * 4
    carry, _ = lax.scan(lambda c, y: (c + total(y), None), 0.0, x)
    assert carry.shape == ()


def test_values_of_arguments_are_not_static():
    for f in (lambda n: jnp.ones(n), lambda n: range(n), lambda n: [1, 2][n]):
        with pytest.raises(TypeError):
            tanx.jit(f)(1)
