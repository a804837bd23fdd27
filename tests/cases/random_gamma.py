"""Rows for samples of the gamma distribution."""

import numpy as np

from tanx._ops import generators, random_gamma, rng

from .case import Case, pos
from .rng import words

CASES = [
    *(Case("random_gamma", lambda k, a, g=g, log=log: random_gamma.random_gamma(
        rng.random_wrap(k, g), a, log), words(*lead, g.key_shape[0]), pos(*lead, 3, dtype=t),
        grad=(), rtol=1e-4, name=f"{g.name},{'log' if log else 'plain'}")
      for g, log, lead, t in (
          (generators.threefry, False, (), np.float64),
          (generators.threefry, True, (2,), np.float32),
          (generators.rbg, False, (2,), np.float32))),
]
