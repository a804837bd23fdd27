"""Rows for keys and random bits."""

import numpy as np

from tanx import lax
from tanx._ops import bit_generator, generators, rng

from .case import Case, i

GENERATORS = (generators.threefry, generators.rbg, generators.unsafe_rbg)


def words(*shape):
    """Words of keys."""
    return i(*shape, low=0, high=2**32 - 1, dtype=np.uint32)


def on_keys(generator, use):
    """A function of keys as a function of their words; keys in its results become words."""
    def fun(data, *rest):
        out = use(rng.random_wrap(data, generator), *rest)
        return rng.random_unwrap(out) if "key" in str(out.dtype) else out
    return fun


def rows(generator):
    n, name = generator.key_shape[0], generator.name
    return [
        *(Case("random_seed", lambda x: rng.random_unwrap(rng.random_seed(x, generator)),
               i(3, low=0, high=9, dtype=t), name=f"{name},{np.dtype(t)}")
          for t in (np.int32, np.uint8, np.int64)),
        Case("random_wrap", lambda x: rng.random_unwrap(rng.random_wrap(x, generator)),
             words(3, n), name=name),
        *(Case("random_split", on_keys(generator, lambda k, s=s: rng.random_split(k, s)),
               words(*lead, n), name=f"{name},{s}") for lead, s in (((), (3,)), ((2,), (2, 2)))),
        Case("random_fold_in", on_keys(generator, rng.random_fold_in), words(3, n), words(3),
             name=name),
        *(Case("random_bits", on_keys(generator, lambda k, w=w, s=s: rng.random_bits(k, w, s)),
               words(*lead, n), name=f"{name},{w},{s}")
          for w, lead, s in ((8, (), (5,)), (16, (), ()), (32, (2,), (3, 3)), (32, (), (0, 2)),
                             (64, (3,), (5,)))),
        Case("random_unwrap", on_keys(generator, rng.random_unwrap), words(3, n), name=name),
        *(Case(primitive if generator is not generators.threefry else plain, on_keys(
            generator, lambda k, compare=compare: compare(k, k[::-1])), words(3, n), name=name)
          for primitive, plain, compare in (("key_eq", "eq", lax.eq), ("key_ne", "ne", lax.ne))),
        Case("random_clone", on_keys(generator, rng.random_clone), words(3, n), name=name),
    ]


CASES = [
    *(row for generator in GENERATORS for row in rows(generator)),
    Case("threefry2x32", lambda *x: rng.threefry2x32_p.bind(*x), *(words(3),) * 4),
    Case("threefry2x32", lambda *x: rng.threefry2x32_p.bind(*x), words(), words(), words(3),
         words(3), name="one key"),
    *(Case("rng_bit_generator", lambda x, a=a, s=s, t=t: bit_generator.rng_bit_generator(
        x, s, t, a), words(*lead, 4), name=f"{a},{s},{np.dtype(t)}")
      for a in bit_generator.RandomAlgorithm
      for lead, s, t in (((), (5,), np.uint32), ((), (2, 3), np.uint8), ((2,), (3, 3), np.uint64),
                         ((), (), np.uint16))),
]
