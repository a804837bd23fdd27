"""Users' generators of random bits, written with array operations."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax, random
from tanx.extend.random import define_prng_impl


def seed(number):
    assert number.shape == ()
    return jnp.stack([number.astype(jnp.uint32), jnp.uint32(7)])


def split(key, shape):
    assert key.shape == (2,)
    numbers = jnp.arange(np.prod(shape, dtype=int), dtype=jnp.uint32)
    return (key * (2 + numbers[:, None])).reshape(*shape, 2)


def bits(key, bit_width, shape):
    numbers = jnp.arange(np.prod(shape, dtype=int), dtype=jnp.uint32)
    return ((key.sum() + numbers) * np.uint32(2654435761)).astype(f"uint{bit_width}").reshape(shape)


def fold_in(key, data):
    assert data.shape == () and data.dtype == jnp.uint32
    return key + data


MINE = define_prng_impl(key_shape=(2,), seed=seed, split=split, random_bits=bits, fold_in=fold_in,
                        name="mine", tag="mn")


def expected(key, shape, width=32):
    numbers = np.arange(np.prod(shape, dtype=int), dtype=np.uint32)
    total = np.uint32(np.sum(np.asarray(key, np.uint64)) % 2**32)
    return ((total + numbers) * np.uint32(2654435761)).astype(f"uint{width}").reshape(shape)


def words(keys):
    return np.asarray(random.key_data(keys)).tolist()


def test_keys():
    key = random.key(5, impl=MINE)
    assert str(key.dtype) == "key<mn>" and key.shape == () and words(key) == [5, 7]
    assert words(random.split(key)) == [[10, 14], [15, 21]]
    assert random.split(key, (2, 3)).shape == (2, 3)
    assert words(random.fold_in(key, 3)) == [8, 10]
    assert words(random.wrap_key_data(jnp.ones((3, 2), jnp.uint32), impl=MINE)) == [[1, 1]] * 3
    assert words(random.key(1, impl=random.key_impl(key))) == [1, 7]
    assert words(random.clone(key)) == [5, 7] and bool(key == key)
    assert random.PRNGKey(4, impl=MINE).tolist() == [4, 7]
    with pytest.raises(ValueError, match="no such generator"):
        random.key(0, impl="mine")


@pytest.mark.parametrize("shape, width", [((4,), 32), ((2, 3), 8), ((), 16), ((0,), 32)])
def test_bits(shape, width):
    key = random.key(5, impl=MINE)
    want = expected([5, 7], shape, width)
    compiled = tanx.jit(lambda key: random.bits(key, shape, f"uint{width}"))
    for got in (random.bits(key, shape, f"uint{width}"), *(compiled(key) for _ in range(4))):
        assert got.dtype == want.dtype and got.shape == shape and (np.asarray(got) == want).all()


def test_compiled_programs_inline_the_functions():
    def draw(number):
        key = random.key(number, impl=MINE)
        first, second = random.split(key)
        return random.normal(first, (3,)), random.uniform(random.fold_in(second, 2)), second

    compiled = tanx.jit(draw)
    want = draw(5)
    for _ in range(4):
        got = compiled(5)
        assert np.allclose(got[0], want[0], rtol=1e-6) and got[1] == want[1]
        assert words(got[2]) == words(want[2]) and got[2].dtype == want[2].dtype
    jaxpr = tanx.make_jaxpr(lambda key: random.bits(key))(random.key(5, impl=MINE))
    assert "b:u32[] = random_bits[bit_width=32 shape=()] a" in str(jaxpr)


def test_batches_and_loops():
    keys = random.split(random.key(5, impl=MINE), 3)
    each = [random.uniform(key, (2,)) for key in keys]
    batched = tanx.jit(tanx.vmap(lambda key: random.uniform(key, (2,))))
    for _ in range(4):
        assert np.array_equal(batched(keys), np.stack(each))
    assert tanx.vmap(random.split)(keys).shape == (3, 2)
    assert words(tanx.vmap(random.fold_in)(keys, jnp.arange(3))) == [
        words(random.fold_in(key, i)) for i, key in enumerate(keys)]
    assert words(tanx.vmap(lambda s: random.key(s, impl=MINE))(jnp.arange(2))) == [[0, 7], [1, 7]]

    def step(key, _):
        key, use = random.split(key)
        return key, random.bits(use)

    run = tanx.jit(lambda key: lax.scan(step, key, length=4))
    key, want = random.key(5, impl=MINE), []
    for _ in range(4):
        key, use = random.split(key)
        want.append(int(random.bits(use)))
    for _ in range(4):
        last, got = run(random.key(5, impl=MINE))
        assert got.tolist() == want and words(last) == words(key)


def of_shape(shape):
    """A generator whose keys have words of a shape; the words of key ``n`` are n, n + 1, ..."""
    numbers = np.arange(np.prod(shape), dtype=np.uint32).reshape(shape)
    return define_prng_impl(
        key_shape=shape, seed=lambda s: numbers + s.astype(jnp.uint32), random_bits=bits,
        split=lambda key, outer: key + jnp.arange(1, np.prod(outer) + 1, dtype=jnp.uint32).reshape(
            *outer, *(1,) * len(shape)), fold_in=fold_in, name="any", tag="any")


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 2), (5,), (2, 3, 4), (624,)])
def test_keys_of_any_shape(shape):
    generator, count = of_shape(shape), int(np.prod(shape))
    key = random.key(5, impl=generator)
    first = np.arange(5, 5 + count).reshape(shape)
    assert key.shape == () and key.nbytes == 4 * count and words(key) == first.tolist()
    keys = random.split(key, 3)
    data = first + np.arange(1, 4).reshape(3, *(1,) * len(shape))
    assert words(keys) == data.tolist() and str(keys).endswith(str(data))
    again = random.wrap_key_data(random.key_data(keys), impl=generator)
    assert again.dtype == keys.dtype and (again == keys).all()
    assert random.wrap_key_data(jnp.zeros((0, *shape), jnp.uint32), impl=generator).shape == (0,)

    def use(keys):
        _, drawn = lax.scan(lambda k, x: (random.fold_in(k, 1), random.bits(x)), keys[0], keys)
        turned = jnp.where(keys == keys[1], keys, keys[::-1])
        return random.key_data(turned), keys != keys[1], drawn, jnp.stack([keys, keys])

    run = tanx.jit(use)
    for got in (use(keys), *(run(keys) for _ in range(4))):
        assert got[0].tolist() == data[[2, 1, 0]].tolist()
        assert got[1].tolist() == [True, False, True] and got[1].dtype == bool
        assert got[2].tolist() == [int(expected(w, ())) for w in data]
        assert words(got[3]) == [data.tolist()] * 2
    assert np.array_equal(tanx.vmap(random.bits)(keys), use(keys)[2])
    lowered = tanx.jit(lambda keys: random.key_data(keys[::-1])).lower(keys)
    assert lowered.compile()(keys).tolist() == data[::-1].tolist()
    assert "stablehlo.reverse" in lowered.as_text() and lowered.cost_analysis()


def test_mistakes():
    with pytest.raises(TypeError, match="need a dimension"):
        define_prng_impl(key_shape=(), seed=seed, split=split, random_bits=bits, fold_in=fold_in)
    wrong = define_prng_impl(key_shape=(2,), seed=seed, split=split, fold_in=fold_in, name="wrong",
                             random_bits=lambda key, bit_width, shape: jnp.zeros(shape))
    with pytest.raises(TypeError, match="wrong type"):
        random.bits(random.key(0, impl=wrong))
    with pytest.raises(NotImplementedError, match="not single words"):
        random.gamma(random.key(0, impl=MINE), 2.0)
