"""tanx.experimental.random: random numbers from stateful generators.

Like ``numpy.random.default_rng``: each draw advances the generator. The state is a reference, so
this works inside of transformed functions; see :func:`tanx.new_ref`.
"""

from __future__ import annotations

import dataclasses
import operator
from typing import Any

import numpy as np

from .. import numpy as jnp
from .. import random
from .._base.window import publish
from .._core.cells import Ref
from .._core.trace import EvalTrace, context
from .._ops.refs import new_ref
from ..errors import explain
from ..tree_util import register_dataclass

__all__ = ["StatefulPRNG", "stateful_rng"]


@register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class StatefulPRNG:
    """A generator of random numbers that advances with each draw; see :func:`stateful_rng`.

    ``_base_key`` is a key, and ``_counter`` a reference to the number of draws so far: each draw
    uses the key derived from both. It is a pytree of these two.
    """

    _base_key: Any
    _counter: Any

    def __post_init__(self):
        if not (hasattr(self._base_key, "dtype") and isinstance(self._counter, Ref)):
            return  # a structure rebuilt from other values than arrays
        if not jnp.issubdtype(self._counter.dtype, np.integer) or (
                self._counter.shape != self._base_key.shape):
            raise ValueError(explain(
                "tanx.experimental.random.StatefulPRNG",
                "the counter is a reference to an integer for each key.",
                f"keys:    {self._base_key.shape}",
                f"counter: {self._counter.dtype.name}{list(self._counter.shape)}"))

    def key(self, shape=()):
        """A new key, or an array of keys of some shape; the generator advances by one.

        >>> generator = tanx.experimental.random.stateful_rng(0)
        >>> tanx.random.key_data(generator.key())
        Array([1797259609, 2579123966], dtype=uint32)
        """
        if self._base_key.ndim:
            raise ValueError(explain(
                "tanx.experimental.random.StatefulPRNG",
                "a generator that was split draws for each of its parts.",
                f"parts: {self._base_key.shape}", hint="use it under tanx.vmap."))
        key = random.fold_in(self._base_key, self._counter[...])
        self._counter.addupdate(jnp.ones((), self._counter.dtype))
        shape = _shape(shape)
        return random.split(key, shape) if shape else key

    def random(self, size=None, dtype=float):
        """Uniform numbers from 0 up to 1.

        >>> generator = tanx.experimental.random.stateful_rng(0)
        >>> generator.random(3).shape
        (3,)
        """
        return random.uniform(self.key(), _shape(size), dtype)

    def uniform(self, low=0, high=1, size=None, *, dtype=float):
        """Uniform numbers from ``low`` up to ``high``.

        >>> generator = tanx.experimental.random.stateful_rng(42)
        >>> generator.uniform(), generator.uniform()
        (Array(0.5302608, dtype=float32), Array(0.72766423, dtype=float32))
        """
        return random.uniform(self.key(), _sized(size, low, high), dtype, low, high)

    def normal(self, loc=0, scale=1, size=None, *, dtype=float):
        """Normal numbers of mean ``loc`` and standard deviation ``scale``.

        >>> generator = tanx.experimental.random.stateful_rng(0)
        >>> generator.normal(size=(2, 3)).shape
        (2, 3)
        """
        dtype = jnp.zeros((), dtype).dtype
        drawn = random.normal(self.key(), _sized(size, loc, scale), dtype)
        return jnp.asarray(loc, dtype) + jnp.asarray(scale, dtype) * drawn

    def integers(self, low, high=None, size=None, *, dtype=int):
        """Integers from ``low`` up to ``high``, which is left out; from 0 if ``high`` is None.

        >>> generator = tanx.experimental.random.stateful_rng(0)
        >>> bool((generator.integers(10, size=100) < 10).all())
        True
        """
        if high is None:
            low, high = 0, low
        return random.randint(self.key(), _sized(size, low, high), low, high, dtype)

    def split(self, num) -> StatefulPRNG:
        """A generator of independent parts, an array of them, to be mapped by :func:`tanx.vmap`.

        >>> generator = tanx.experimental.random.stateful_rng(123)
        >>> tanx.vmap(lambda part: part.uniform())(generator.split(3)).shape
        (3,)
        """
        shape = _shape(num)
        return StatefulPRNG(self.key(shape), new_ref(jnp.zeros(shape, self._counter.dtype)))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """A list of independent generators.

        >>> generator = tanx.experimental.random.stateful_rng(123)
        >>> len(generator.spawn(2))
        2
        """
        return [StatefulPRNG(key, new_ref(jnp.zeros((), self._counter.dtype)))
                for key in self.key((operator.index(n_children),))]


def stateful_rng(seed=None, *, impl=None) -> StatefulPRNG:
    """A stateful generator of random numbers.

    ``seed`` is an integer; by default it comes from the operating system, which only works outside
    of transformed functions. ``impl`` names the algorithm, as in :func:`tanx.random.key`.

    >>> generator = tanx.experimental.random.stateful_rng(42)
    >>> draw = tanx.jit(generator.uniform)
    >>> draw(), draw()
    (Array(0.5302608, dtype=float32), Array(0.72766423, dtype=float32))
    """
    if seed is None:
        if not isinstance(context.trace, EvalTrace):
            raise TypeError(explain(
                "tanx.experimental.random.stateful_rng",
                "inside of a transformed function a seed must be given."))
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    return StatefulPRNG(random.key(seed, impl=impl), new_ref(jnp.zeros((), int)))


def _shape(size) -> tuple[int, ...]:
    """The shape of a size: None, an integer or several of them."""
    if size is None:
        return ()
    return tuple(map(operator.index, size)) if np.iterable(size) else (operator.index(size),)


def _sized(size, *parameters) -> tuple[int, ...]:
    """The requested size, or the shape that parameters broadcast to."""
    return np.broadcast_shapes(*map(np.shape, parameters)) if size is None else _shape(size)


publish(__name__)
