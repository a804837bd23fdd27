"""Values of float0 are NumPy's everywhere: no transformation or operation wraps them."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax

THREE = np.zeros(3, tanx.float0)

MAKERS = {
    "vmap": lambda: tanx.vmap(lambda x: x)(THREE),
    "vmap of a constant": lambda: tanx.vmap(lambda x: THREE)(np.ones(3)),
    "vmap of grad": lambda: tanx.vmap(tanx.grad(lambda x: x * 2.0, allow_int=True))(jnp.arange(3)),
    "vmap of vjp": lambda: tanx.vmap(
        lambda x: tanx.vjp(lambda y: y * 2.0, x)[1](1.0))(jnp.arange(3)),
    "vmap of scan": lambda: tanx.vmap(lambda x: lax.scan(lambda c, y: (c, y), x, x))(
        np.zeros((2, 3), tanx.float0)),
    "cond": lambda: lax.cond(True, lambda x: x, lambda x: x, THREE),
    "cond of a constant": lambda: lax.cond(True, lambda x: THREE, lambda x: THREE, 1.0),
    "switch": lambda: lax.switch(1, [lambda x: THREE, lambda x: x], THREE),
    "scan": lambda: lax.scan(lambda c, x: (c, x), THREE, THREE),
    "fori_loop": lambda: lax.fori_loop(0, 3, lambda i, c: c, THREE),
    "map": lambda: lax.map(lambda x: x, THREE),
    "jvp": lambda: tanx.jvp(lambda x: x + 1, (jnp.arange(3),), (THREE,))[1],
    "checkpoint": lambda: tanx.checkpoint(lambda x: x)(THREE),
    "jit": lambda: [tanx.jit(lambda x: (x, THREE))(THREE) for _ in range(4)],
    "disable_jit": lambda: _without_jit(tanx.jit(lambda x: x), THREE),
    "array": lambda: jnp.array(THREE),
    "asarray": lambda: jnp.asarray(THREE),
    "zero-dimensional": lambda: jnp.asarray(THREE[0]),
    "zeros_like": lambda: jnp.zeros_like(THREE),
    "reshape": lambda: jnp.reshape(THREE, (1, 3)),
    "stack": lambda: jnp.stack([THREE, THREE]),
    "broadcast": lambda: lax.broadcast(THREE, (2,)),
    "device_put": lambda: tanx.device_put(THREE, tanx.devices()[0]),
    "stop_gradient": lambda: lax.stop_gradient(THREE),
    "optimization_barrier": lambda: lax.optimization_barrier(THREE),
}


def _without_jit(function, *args):
    with tanx.disable_jit():
        return function(*args)


@pytest.mark.parametrize("name", MAKERS)
def test_stays_with_numpy(name):
    leaves = tanx.tree.leaves(MAKERS[name]())
    assert leaves
    for leaf in leaves:
        assert isinstance(leaf, np.ndarray | np.generic) and leaf.dtype == tanx.float0


def test_float0_next_to_other_dtypes():
    """Results of other dtypes are tanx arrays."""
    count, same = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1]), (0, THREE))
    assert isinstance(count, tanx.Array) and count == 3
    assert type(same) is np.ndarray and same.shape == (3,)
