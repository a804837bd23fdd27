"""Promise 11: arrays have no hash, and the error says what to use instead."""

import functools

import pytest

import tanx
import tanx.numpy as jnp
from tests.gotchas import pages


def test_the_page():
    pages.run("11_hashing")


@pytest.mark.parametrize("use", [hash, lambda x: {x: 1}, lambda x: {x},
                                 functools.lru_cache(lambda x: x)])
def test_every_way_to_hash_gives_the_same_error(use):
    for array in (jnp.ones(3), jnp.float32(1.0), tanx.random.key(0)):
        with pytest.raises(TypeError, match="pass arrays to jit as ordinary arguments"):
            use(array)


def test_a_static_array_is_refused_on_every_call():
    f = tanx.jit(lambda n, x: n * x, static_argnums=0)
    for _ in range(4):
        with pytest.raises(ValueError, match="static argument n of <lambda> must be hashable"):
            f(jnp.ones(3), jnp.ones(3))
    assert [float(f(2, 3.0)) for _ in range(4)] == [6.0] * 4


def test_hashes_of_extracted_values_agree():
    x = jnp.arange(3.0)
    assert hash(x.tobytes()) == hash(jnp.arange(3.0).tobytes())
    assert hash(jnp.int32(7).item()) == hash(7)
