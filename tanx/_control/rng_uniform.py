"""Random numbers without a key: different at each call, not reproducible."""

from __future__ import annotations

from functools import cache

import numpy as np

from .._core.array import Array
from .._core.effects import IOEffect
from .._core.linear import never
from .._core.types import ShapedArray, typeof
from .._ops.base import batch_size, materialize
from .._ops.operands import letter
from ..errors import explain
from .callback import Callback, HostCall

__all__ = ["rng_uniform", "rng_uniform_p"]


class RngUniform(Callback):
    """Uniform numbers from ``a`` up to ``b``; both may have leading dimensions of the result."""

    name = "rng_uniform"
    multiple_results = False
    jvp = never("random numbers do not depend smoothly on anything")

    def infer(self, a, b, *, shape):
        if a.dtype != b.dtype or letter(a.dtype) not in "biuf":
            raise ValueError(explain(
                "tanx.lax.rng_uniform", "the limits are real numbers of one dtype.",
                f"a: {a}", f"b: {b}"))
        return ShapedArray(shape, a.dtype, a.weak_type and b.weak_type)

    def effects(self, *types, **params):
        return frozenset((IOEffect(),))

    def eval(self, a, b, *, shape):
        aval = self.infer(typeof(a), typeof(b), shape=shape)
        return Array(_draw(np.asarray(a), np.asarray(b), shape), aval.weak_type, aval)

    def host_call(self, params):
        shape = params["shape"]
        return HostCall("tanx.lax.rng_uniform", lambda a, b: [
            _draw(np.asarray(a), np.asarray(b), shape)], [ShapedArray(shape, params["dtype"])])

    def lower(self, into, a, b, *, shape):
        return super().lower(into, a, b, shape=shape, dtype=a.dtype)

    def batch(self, args, dims, *, shape):
        size = batch_size(args, dims)
        a, b = (materialize(x, d, size) for x, d in zip(args, dims))
        return self.bind(a, b, shape=(size, *shape)), 0


@cache
def _generator() -> np.random.Generator:
    return np.random.default_rng()  # on first use: slow to load


def _draw(a: np.ndarray, b: np.ndarray, shape) -> np.ndarray:
    a, b = (x.reshape(x.shape + (1,) * (len(shape) - x.ndim)) for x in (a, b))
    if letter(a.dtype) in "biu":
        drawn = _generator().integers(a.astype(np.int64), b.astype(np.int64), shape)
        return np.asarray(drawn).astype(a.dtype)
    return np.asarray(a + (b - a) * _generator().random(shape).astype(a.dtype), a.dtype)


rng_uniform_p = RngUniform()


def rng_uniform(a, b, shape):
    """Uniform random numbers of ``shape`` from ``a`` up to ``b``, different at each call.

    There is no key, so the same numbers cannot be drawn again; see :func:`tanx.random.uniform`.

    >>> x = lax.rng_uniform(2.0, 3.0, (100,))
    >>> bool((x >= 2).all() and (x <= 3).all())
    True
    """
    if typeof(a).shape or typeof(b).shape:
        raise ValueError(explain(
            "tanx.lax.rng_uniform", "the limits are scalars.", f"a: {typeof(a)}",
            f"b: {typeof(b)}"))
    return rng_uniform_p.bind(a, b, shape=tuple(shape))
