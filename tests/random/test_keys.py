"""Keys are arrays: all functions that move elements take them."""

import pickle

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax, random

WORDS = np.arange(6, dtype=np.uint32).reshape(2, 3)
LONG = tanx.extend.random.define_prng_impl(
    key_shape=(2, 3), seed=lambda seed: WORDS + seed.astype(jnp.uint32),
    split=lambda key, shape: key + 7 * jnp.arange(1, np.prod(shape) + 1, dtype=jnp.uint32).reshape(
        *shape, 1, 1), fold_in=lambda key, data: key ^ data, name="long", tag="long",
    random_bits=lambda key, width, shape: jnp.broadcast_to(
        key.sum(), shape).astype(f"uint{width}"))
IMPLS = ("threefry2x32", "rbg", "unsafe_rbg", LONG)  # keys of two words, of four, and of six


def words(keys):
    return np.asarray(random.key_data(keys))


@pytest.fixture(params=IMPLS)
def keys(request):
    return random.split(random.key(1, impl=request.param), 4)


MOVES = {
    "index": lambda x: x[1],
    "negative index": lambda x: x[-1],
    "slice": lambda x: x[1:3],
    "mask": lambda x: x[np.array([True, False, True, True])],
    "gather": lambda x: x[jnp.array([2, 0, 2])],
    "stack": lambda x: jnp.stack([x[0], x[1]]),
    "concatenate": lambda x: jnp.concatenate([x, x[:1]]),
    "reshape": lambda x: x.reshape(2, 2, *x.shape[1:]),
    "flip": lambda x: jnp.flip(x, 0),
    "roll": lambda x: jnp.roll(x, 1, axis=0),
    "repeat": lambda x: jnp.repeat(x, 2, axis=0),
    "expand": lambda x: x[None],
    "set": lambda x: x.at[1].set(x[0]),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_moving_keys_moves_their_words(keys, move):
    """Keys move as the words do, which have one more dimension at the end."""
    expected = np.asarray(move(jnp.asarray(words(keys))))
    np.testing.assert_array_equal(words(move(keys)), expected)
    np.testing.assert_array_equal(words(tanx.jit(move)(keys)), expected)


def test_choosing_between_keys(keys):
    mask = np.array([True, False, True, False])
    chosen = tanx.jit(lambda x: jnp.where(mask, x, x[0]))(keys)
    rest = (1,) * (words(keys).ndim - 1)
    expected = np.where(mask.reshape(4, *rest), words(keys), words(keys)[0])
    np.testing.assert_array_equal(words(chosen), expected)


def test_keys_compare_by_their_words(keys):
    def both(keys):
        return keys == keys[1], keys != keys[1]

    run, batched = tanx.jit(both), tanx.vmap(lambda k: k == keys[1])
    for same, differ in (both(keys), *(run(keys) for _ in range(4))):
        assert same.tolist() == [False, True, False, False] and same.dtype == bool
        assert differ.tolist() == [True, False, True, True] and differ.dtype == bool
    assert batched(keys).tolist() == [False, True, False, False]
    assert (keys[:, None] == keys[None]).tolist() == np.eye(4, dtype=bool).tolist()
    assert bool(tanx.lax.eq(keys[0], keys[0])) and not bool(tanx.lax.ne(keys[0], keys[0]))
    with pytest.raises(TypeError, match="same dtype"):
        tanx.lax.eq(keys, random.split(random.key(0, impl="philox4x32"), 4))


@pytest.mark.parametrize("first, second", [
    # As floats, the first words of both are NaN, and then zeros of different sign.
    ([0, 0x7ff80000, 0, 0], [0, 0x7ff80000, 0, 0]), ([0, 0, 0, 0], [0, 0x80000000, 0, 0])])
def test_all_bits_of_keys_count(first, second):
    a, b = (random.wrap_key_data(jnp.array(w, jnp.uint32), impl="rbg") for w in (first, second))
    same = tanx.jit(lambda a, b: a == b)
    for got in (a == b, *(same(a, b) for _ in range(4))):
        assert bool(got) == (first == second)


@pytest.mark.parametrize("impl", IMPLS[:3])
def test_keys_are_leaves_and_survive_pickling(impl):
    keys = random.split(random.key(1, impl=impl), 4)
    assert tanx.tree.leaves({"a": keys})[0] is keys
    copy = pickle.loads(pickle.dumps(keys))
    assert copy.dtype == keys.dtype
    np.testing.assert_array_equal(words(copy), words(keys))


def test_keys_are_no_numbers():
    key = random.key(0)
    for use in (np.asarray, bool, int, float, lambda k: k.item(), lambda k: k.tolist(),
                lambda k: k < k, lambda k: k.astype(int), lambda k: tanx.lax.add(k, k)):
        with pytest.raises(TypeError):
            use(key)


def test_text_and_type():
    key = random.key(7)
    assert repr(key) == str(key) == "Array((), dtype=key<fry>) overlaying:\n[0 7]"
    assert key.dtype == random.key_dtype("threefry2x32")
    assert tanx.dtypes.issubdtype(key.dtype, tanx.dtypes.prng_key)
    assert (key.itemsize, key.nbytes, key.size) == (8, 8, 1)


def test_keys_closed_over_and_made_inside():
    key = random.key(3)
    outside = tanx.jit(lambda x: x * random.normal(key, (2,)))(2.0)
    inside = tanx.jit(lambda x: x * random.normal(random.key(3), (2,)))(2.0)
    np.testing.assert_array_equal(outside, inside)


def test_derivatives_pass_keys_by():
    key = random.key(3)
    f = lambda x, k: x * random.normal(k)
    assert float(tanx.grad(f)(2.0, key)) == float(random.normal(key))
    assert tanx.grad(f, argnums=1, allow_int=True)(2.0, key).dtype == tanx.dtypes.float0
    with pytest.raises(TypeError, match="real or complex"):
        tanx.grad(f, argnums=1)(2.0, key)


def test_jaxprs_match_jax():
    key = random.key(0)
    assert str(tanx.make_jaxpr(lambda k: random.bits(random.split(k)[0], (3,)))(key)) == """\
{ lambda ; a:key<fry>[]. let
    b:key<fry>[2] = random_split[shape=(2,)] a
    c:key<fry>[1] = slice[limit_indices=(1,) start_indices=(0,) strides=None] b
    d:key<fry>[] = squeeze[dimensions=(0,)] c
    e:u32[3] = random_bits[bit_width=32 shape=(3,)] d
  in (e,) }"""
    assert str(tanx.make_jaxpr(lambda s: random.fold_in(random.PRNGKey(s), 3))(0)) == """\
{ lambda ; a:i32[]. let
    b:key<fry>[] = random_seed[impl=fry] a
    c:u32[2] = random_unwrap b
    d:key<fry>[] = random_wrap[impl=fry] c
    e:key<fry>[] = random_fold_in d 3:u32[]
    f:u32[2] = random_unwrap e
  in (f,) }"""


@pytest.mark.parametrize("call, error, words", [
    (lambda: random.key(1.5), TypeError, "a seed is an integer"),
    (lambda: random.key(jnp.arange(2)), TypeError, "takes a single seed"),
    (lambda: random.key(0, impl="foo"), ValueError, "no such generator"),
    (lambda: random.key(0, impl="rbg", dtype=random.key_dtype("rbg")), ValueError, "not both"),
    (lambda: random.uniform(3), TypeError, "needs a key"),
    (lambda: random.uniform([0, 0]), TypeError, "needs a key"),
    (lambda: random.uniform(jnp.zeros(3, jnp.uint32)), TypeError, "last dimension of size 2"),
    (lambda: random.uniform(jnp.zeros(2, jnp.int32)), TypeError, "words of uint32"),
    (lambda: random.uniform(random.split(random.key(0))), ValueError, "takes a single key"),
    (lambda: random.fold_in(random.key(0), -1), OverflowError, "fit into uint32"),
    (lambda: random.fold_in(random.key(0), jnp.arange(2)), TypeError, "single number"),
    (lambda: random.bits(random.key(0), (2,), jnp.int32), ValueError, "unsigned integers"),
    (lambda: random.uniform(random.key(0), (2,), int), ValueError, "floating-point numbers"),
    (lambda: random.randint(random.key(0), (2,), 0, 3, float), TypeError, "gives integers"),
    (lambda: random.bernoulli(random.key(0), 1), TypeError, "floating point"),
    (lambda: random.bernoulli(random.key(0), jnp.ones(3), (2,)), ValueError, "must broadcast"),
])
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call()


NUMBERS_WANTED = {
    "add": lambda k: k + 1, "subtract": lambda k: 1 - k, "less": lambda k: k < k,
    "equal": lambda k: k == 1, "negative": lambda k: -k, "absolute": abs, "invert": lambda k: ~k,
    "matmul": lambda k: k @ k, "sum": lambda k: k.sum(), "max": jnp.max, "mean": jnp.mean,
    "argmax": jnp.argmax, "all": jnp.all, "cumsum": jnp.cumsum, "sort": jnp.sort, "sin": jnp.sin,
    "logical_not": jnp.logical_not, "count_nonzero": jnp.count_nonzero, "isreal": jnp.isreal,
    "unique": jnp.unique, "where": lambda k: jnp.where(k, 1, 2), "dot": lambda k: jnp.dot(k, k),
    "astype": lambda k: k.astype("float32"), "add ": lambda k: jnp.add(k, 1.0),
}


@pytest.mark.parametrize("function", NUMBERS_WANTED)
def test_keys_are_not_numbers(function):
    call = NUMBERS_WANTED[function]
    for run in (call, tanx.jit(call)):
        with pytest.raises(TypeError) as caught:
            run(random.split(random.key(0), 3))
        lines = str(caught.value).split("\n")
        assert lines[0] == f"tanx.numpy.{function.strip()}: keys are not numbers."
        assert "key<fry>" in lines[1]
        assert lines[-1].startswith("  Hint: split and fold_in of tanx.random make new keys;")


def test_raw_keys_can_be_refused():
    with tanx.legacy_prng_key("error"), pytest.raises(ValueError, match="raw key"):
        random.uniform(random.PRNGKey(0))


def test_large_results_of_eager_code_are_compiled_and_the_same():
    key, n = random.key(5), 1 << 13
    np.testing.assert_array_equal(random.uniform(key, (n,))[:100],
                                  random.uniform(key, (100,)))


def test_bits_look_random():
    bits = np.asarray(random.bits(random.key(11), (1 << 14,)))
    ones = np.unpackbits(bits.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 5 * 0.5 / np.sqrt(32 * bits.size)
    assert len(np.unique(bits)) > bits.size - 100


def test_keys_in_loops_and_branches(keys):
    first = keys[0]

    def run(keys, n, flag):
        carried = lax.fori_loop(0, n, lambda i, k: keys[i % 4], first)
        chosen = lax.cond(flag, lambda a, b: a, lambda a, b: b, keys[1], keys[2])
        found = lax.while_loop(lambda s: (s[1][s[0]] != first) & (s[0] > 0),
                               lambda s: (s[0] - 1, s[1]), (3, keys))[0]
        turned = tanx.vmap(lambda k, other: jnp.where(flag, k, other))(keys, keys[::-1])
        stored = keys.at[n].set(first)
        return carried, chosen, found, turned, lax.dynamic_slice(stored, (n,), (2,))

    compiled = tanx.jit(run)
    for _ in range(4):
        for flag in (True, False):
            carried, chosen, found, turned, stored = compiled(keys, 2, flag)
            assert bool(carried == keys[1]) and bool(chosen == keys[1 if flag else 2])
            assert int(found) == 0 and chosen.dtype == keys.dtype and chosen.shape == ()
            np.testing.assert_array_equal(words(turned), words(keys)[::1 if flag else -1])
            np.testing.assert_array_equal(words(stored), words(keys)[[0, 3]])


def test_keys_are_sorted_with_their_numbers(keys):
    order = jnp.array([2, 0, 3, 1])
    compiled = tanx.jit(lambda n, k: lax.sort((n, k), num_keys=1))
    for _ in range(4):
        numbers, moved = compiled(order, keys)
        assert numbers.tolist() == [0, 1, 2, 3]
        np.testing.assert_array_equal(words(moved), words(keys)[[1, 3, 0, 2]])


def test_donated_keys(keys):
    turn = tanx.jit(lambda k: k[::-1], donate_argnums=0)
    for _ in range(5):
        mine = keys.copy()
        out = turn(mine)
        np.testing.assert_array_equal(words(out), words(keys)[::-1])
