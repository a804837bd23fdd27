"""The generators of random bits."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.extend import random as generators


def test_threefry_words_match_jax():
    key = (jnp.uint32(1), jnp.uint32(2))
    words = generators.threefry_2x32(key, jnp.arange(5, dtype=jnp.uint32))
    assert words.tolist() == [2052595727, 3504730591, 2527474599, 1880214352, 1914734168]
    rows = generators.threefry_2x32(key, jnp.arange(6, dtype=jnp.uint32).reshape(2, 3))
    assert rows.tolist() == [[2052595727, 3504730591, 1038787879],
                             [1880214352, 1914734168, 1027009547]]
    with pytest.raises(TypeError, match="words of uint32"):
        generators.threefry_2x32(key, jnp.arange(5))


def test_known_answers_of_the_paper():
    """The test vectors of Random123."""
    from tanx._ops.generators import philox4x32, threefry2x32
    ones = np.uint32(0xFFFFFFFF)
    with np.errstate(over="ignore"):
        assert [int(x) for x in threefry2x32(*[np.zeros((), np.uint32)] * 4)] == [
            0x6B200159, 0x99BA4EFE]
        assert [int(x) for x in threefry2x32(*[np.asarray(ones)] * 4)] == [0x1CB996FC, 0xBB002BE7]
        assert [int(x) for x in philox4x32(*[np.zeros((), np.uint32)] * 6)] == [
            0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_seeds_of_generators():
    key = generators.seed_with_impl(generators.rbg_prng_impl, 3)
    assert tanx.random.key_impl(key) == "rbg"
    assert generators.random_seed(jnp.arange(2), generators.threefry_prng_impl).shape == (2,)


@pytest.mark.parametrize("algorithm, words", [
    ("default", [512747620, 1298009047, 1267190206, 761827841, 1383286907]),
    ("philox", [512747620, 1298009047, 1267190206, 761827841, 1383286907]),
    ("three_fry", [1576285164, 2249660814, 740599976, 2425682526, 2436392515])])
def test_states_match_xla(algorithm, words):
    state = jnp.array([1, 2, 3, 4], jnp.uint32)
    for run in (tanx.lax.rng_bit_generator, tanx.jit(tanx.lax.rng_bit_generator,
                                                     static_argnums=(1, 2, 3))):
        after, bits = run(state, (5,), jnp.uint32, algorithm)
        assert bits.tolist() == words
        assert after.tolist() == [1, 2, 6 if algorithm == "three_fry" else 5, 4]
