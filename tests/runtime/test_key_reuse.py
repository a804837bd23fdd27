"""``debug_key_reuse``: which uses of random keys are refused, and the messages."""

import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax, random


def chain(key, draw, steps=3):
    """A loop that splits its key in each step, or uses it again."""
    def step(state, _):
        key, total = state
        following, used = random.split(key) if draw == "split" else (key, key)
        return (following, total + random.normal(used)), total
    return lax.scan(step, (key, 0.0), None, length=steps)


FINE = {
    "once": lambda k: random.normal(k),
    "halves": lambda k: [random.normal(part) for part in random.split(k)],
    "rows": lambda k: tanx.vmap(random.normal)(random.split(k, 3)),
    "rows one by one": lambda k: (lambda ks: [random.normal(ks[i]) for i in range(3)])(
        random.split(k, 3)),
    "folded": lambda k: [random.normal(random.fold_in(k, i)) for i in range(2)] + [
        random.normal(k)],
    "clones": lambda k: [random.normal(random.clone(k)), random.normal(k),
                         random.uniform(random.clone(k))],
    "data": lambda k: [random.key_data(k), random.normal(k), random.key_data(k)],
    "raw": lambda k: [random.normal(random.PRNGKey(0)) for _ in range(2)],
    "same seed": lambda k: [random.normal(random.key(0)) for _ in range(2)],
    "moved": lambda k: random.normal(k[None].reshape(1, 1)[0, 0]),
    "jit": lambda k: tanx.jit(lambda k: [random.normal(s) for s in random.split(k)])(k),
    "jit identity": lambda k: [tanx.jit(lambda k: k)(k) for _ in range(2)],
    "jit split": lambda k: [random.normal(s) for s in tanx.jit(random.split)(k)],
    "scan": lambda k: chain(k, "split"),
    "scan of one step": lambda k: chain(k, "same", 1),
    "scan over keys": lambda k: lax.scan(
        lambda c, key: (c + random.normal(key), c), 0.0, random.split(k, 4)),
    "branches": lambda k: lax.cond(True, random.normal, random.uniform, k),
    "grad": lambda k: tanx.grad(lambda x: x * random.normal(k))(1.0),
    "vmap": lambda k: tanx.vmap(lambda x: x * random.normal(k))(jnp.arange(3.0)),
    "checkpoint": lambda k: tanx.checkpoint(lambda x: x * random.normal(k))(1.0),
    "gamma": lambda k: random.gamma(k, 2.0),
}

WRONG = {
    "twice": lambda k: [random.normal(k), random.uniform(k)],
    "split, then used": lambda k: [random.split(k), random.normal(k)],
    "used, then split": lambda k: [random.normal(k), random.split(k)],
    "split twice": lambda k: [random.split(k), random.split(k)],
    "another name": lambda k: (lambda other: [random.normal(k), random.normal(other)])(k),
    "part again": lambda k: (lambda ks: [random.normal(ks[0]), random.normal(ks[0])])(
        random.split(k)),
    "rows, then one": lambda k: (lambda ks: [tanx.vmap(random.normal)(ks), random.normal(ks[1])])(
        random.split(k)),
    "one, then rows": lambda k: (lambda ks: [random.normal(ks[1]), tanx.vmap(random.normal)(ks)])(
        random.split(k)),
    "a copy in the batch": lambda k: tanx.vmap(random.normal)(jnp.stack([k, k])),
    "moved": lambda k: [random.normal(k), random.normal(k.reshape(1)[0])],
    "within jit": lambda k: tanx.jit(lambda k: random.normal(k) + random.normal(k))(k),
    "two calls": lambda k: (lambda f: [f(k), f(k)])(tanx.jit(random.normal)),
    "closed over": lambda k: [tanx.jit(lambda: random.normal(k))(), random.normal(k)],
    "given back": lambda k: random.normal(tanx.jit(lambda k: (random.normal(k), k))(k)[1]),
    "scan": lambda k: chain(k, "same"),
    "scan, closed over": lambda k: lax.scan(
        lambda c, _: (c + random.normal(k), c), 0.0, None, length=3),
    "fori_loop": lambda k: lax.fori_loop(0, 3, lambda i, c: c + random.normal(k), 0.0),
    "while_loop": lambda k: lax.while_loop(
        lambda s: s[1] < 3, lambda s: (s[0], s[1] + 1 + random.uniform(s[0])), (k, 0.0)),
    "keys of a scan": lambda k: (lambda ks: [lax.scan(
        lambda c, key: (c + random.normal(key), c), 0.0, ks), random.normal(ks[3])])(
        random.split(k, 4)),
    "one of the branches": lambda k: [
        tanx.jit(lambda p: lax.cond(p, random.normal, lambda key: 0.0, k))(False),
        random.normal(k)],
    "grad": lambda k: [tanx.grad(lambda x: x * random.normal(k))(1.0), random.normal(k)],
    "gamma": lambda k: [random.gamma(k, 2.0), random.normal(k)],
}


@pytest.mark.parametrize("case", FINE)
def test_fine(case):
    with tanx.debug_key_reuse(True):
        FINE[case](random.key(1))


@pytest.mark.parametrize("case", WRONG)
def test_wrong(case):
    key = random.key(1)
    with tanx.debug_key_reuse(True), pytest.raises(tanx.errors.KeyReuseError):
        WRONG[case](key)
    with tanx.debug_key_reuse(False):
        WRONG[case](key)


def test_key_reuse_errors_name_both_lines():
    def twice(key):
        first = random.normal(key)  # the first line
        return first + random.uniform(key)  # the second line
    start = twice.__code__.co_firstlineno
    with tanx.debug_key_reuse(True):
        random.normal(random.key(3))  # traced here first, so that its line is not that of the error
        for way, name in ((twice, "random.uniform"), (tanx.jit(twice), "lax.random_bits")):
            with pytest.raises(tanx.errors.KeyReuseError) as caught:
                way(random.key(2))
            assert str(caught.value) == f"""\
tanx.{name}: a random key is used again, and would give the same numbers.
  used at: {__file__}:{start + 2} (twice)
  before:  {__file__}:{start + 1} (twice)
  Hint: split it first: key, subkey = tanx.random.split(key)."""
