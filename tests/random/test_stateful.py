"""``experimental.random.stateful_rng``: generators that advance with each draw."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx.experimental.random import stateful_rng


def test_draws_in_jit_and_scan_match_eager_draws():
    plain, jitted, scanned = (stateful_rng(3) for _ in range(3))
    expected = [float(plain.uniform()) for _ in range(4)]
    draw = tanx.jit(lambda generator: generator.uniform())
    assert [float(draw(jitted)) for _ in range(4)] == expected
    _, found = lax.scan(lambda c, _: (c, scanned.uniform()), None, None, length=4)
    assert found.tolist() == expected


def test_parts_are_mapped():
    expected = [float(part.uniform()) for part in stateful_rng(3).spawn(2)]
    got = tanx.vmap(lambda generator, x: x * generator.uniform())(
        stateful_rng(3).split(2), jnp.ones(2))
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("transformed", [
    lambda f: tanx.jit(f)(1.0), lambda f: tanx.grad(f)(1.0),
    lambda f: tanx.vmap(f)(jnp.arange(2.0))], ids=["jit", "grad", "vmap"])
def test_a_seed_must_be_given_inside_of_functions(transformed):
    with pytest.raises(TypeError, match="inside of a transformed function a seed must be given"):
        transformed(lambda x: x + stateful_rng().uniform())
    assert stateful_rng().uniform(size=3).shape == (3,)
