"""tanx.image: images, and arrays of any rank, resampled to other sizes.

A new pixel is a weighted mean of old ones near its place, dimension by dimension. If the scale is
known, only the pixels within reach of the kernel are read: the cost of a resized image is
proportional to its number of pixels.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from math import ceil, pi
from typing import Any

import numpy as np

from . import dtypes
from . import numpy as jnp
from ._api.jit import library_jit
from ._base.traceback import shown
from ._base.window import publish
from .errors import explain
from .lax import Precision
from .numpy._promotion import Tracer, canonical_shape, typeof

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """How new pixels are computed from old ones.

    ``CUBIC_PYTORCH`` is what PyTorch does: with antialias it is ``CUBIC``; without, its kernel is
    steeper and the pixels at the border are repeated beyond it.

    >>> tanx.image.ResizeMethod.from_string("bicubic")
    <ResizeMethod.CUBIC: 4>
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name: nearest, linear, cubic, lanczos3, lanczos5, area, or a synonym."""
        method = _NAMES.get(s)
        if method is None:
            raise ValueError(explain("tanx.image.ResizeMethod", "there is no such method.",
                                     f"name:  {s!r}", f"names: {', '.join(_NAMES)}"))
        return method


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3, "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA}


def _method(function: str, method) -> ResizeMethod:
    if isinstance(method, str):
        return ResizeMethod.from_string(method)
    if not isinstance(method, ResizeMethod):
        raise TypeError(explain(f"tanx.image.{function}", "method is a name or a ResizeMethod.",
                                f"method: {method!r}"))
    return method


# -- kernels: the weight of a pixel at a distance, on NumPy's arrays or on traced ones -------------


def _triangle(xp, x):
    return xp.maximum(0, 1 - x)


def _cubic(a: float) -> Callable:
    """The kernel of Keys (1981), with slope ``a`` at distance 1."""
    def kernel(xp, x):
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return xp.where(x >= 2, 0, xp.where(x >= 1, far, near))
    return kernel


def _lanczos(radius: int) -> Callable:
    def kernel(xp, x):
        # Both sines vanish at zero, close to which the kernel is 1.
        close = x <= 1e-3
        safe = xp.where(close, 1, x) * pi
        wave = radius * xp.sin(safe) * xp.sin(safe / radius) / (safe * safe)
        return xp.where(x > radius, 0, xp.where(close, 1, wave))
    return kernel


_KERNELS: dict[ResizeMethod, tuple[int, Callable]] = {
    ResizeMethod.LINEAR: (1, _triangle), ResizeMethod.CUBIC: (2, _cubic(-0.5)),
    ResizeMethod.LANCZOS3: (3, _lanczos(3)), ResizeMethod.LANCZOS5: (5, _lanczos(5))}
_STEEP = _cubic(-0.75)

_NOTHING = 1000 * float(np.finfo(np.float32).eps)
"""Up to this sum of weights, no pixel is near enough."""


def _weights(xp, places, middle, width, size: int, method: ResizeMethod, antialias: bool):
    """The weights of the pixels at ``places`` in new pixels around ``middle``.

    ``width`` is the width of a new pixel, in old ones. The pixels are along the last dimension.
    """
    if method is ResizeMethod.AREA:
        start = xp.maximum(middle - 0.5 * width, places - 0.5)
        weights = xp.maximum(0, xp.minimum(middle + 0.5 * width, places + 0.5) - start)
    else:
        spread = xp.maximum(width, 1) if antialias else 1
        weights = _KERNELS[method][1](xp, abs(middle - places) / spread)
    total = weights.sum(-1, keepdims=True)
    weights = weights / xp.where(total == 0, 1, total)
    inside = (middle >= -0.5) & (middle <= size - 0.5)
    return xp.where(inside & (abs(total) > _NOTHING), weights, 0)


def _centers(xp, count: int, width, shift) -> Any:
    """The centers of new pixels in the coordinates of the old ones, as a column."""
    places = xp.arange(count, dtype=getattr(width, "dtype", float)) + 0.5
    return (places * width - shift * width - 0.5)[:, None]


# -- one dimension ---------------------------------------------------------------------------------


def _banded(x, axis: int, count: int, scale: float, shift: float, method, antialias):
    """Resample a dimension by a known scale: sums over the few pixels that have a weight."""
    size, width = x.shape[axis], 1 / scale
    middle = _centers(np, count, width, shift)
    if method is ResizeMethod.AREA:
        reach = 0.5 * abs(width) + 0.5
    else:
        reach = _KERNELS[method][0] * (max(width, 1.0) if antialias else 1.0)
    taps = min(size, ceil(2 * reach) + 1)
    first = np.clip(np.ceil(middle - reach), 0, size - taps).astype(np.int32)
    places = first + np.arange(taps, dtype=np.int32)
    return _sums(x, axis, places, _weights(np, places, middle, width, size, method, antialias))


def _sums(x, axis: int, places, weights):
    """Along a dimension, sums of pixels times weights; both are given by rows."""
    beside = [1] * axis + list(weights.shape) + [1] * (x.ndim - axis - 1)
    weights = weights.astype(np.zeros((), x.dtype).real.dtype).reshape(beside)
    return (jnp.take(x, places, axis, mode="clip") * weights).sum(axis + 1)


def _replicated(x, axis: int, count: int, scale, shift):
    """Resample a dimension by cubics, with the pixels at its ends repeated beyond them."""
    xp = jnp if isinstance(scale, Tracer) or isinstance(shift, Tracer) else np
    middle = _centers(xp, count, 1 / scale, shift)
    places = xp.floor(middle) + np.arange(-1, 3, dtype=middle.dtype)[None]
    return _sums(x, axis, places.astype(np.int32), _STEEP(xp, abs(middle - places)))


def _dense(x, axis: int, count: int, scale, shift, method, antialias, precision):
    """Resample a dimension by a traced scale: the product with a matrix of all weights."""
    width = 1 / scale
    middle = _centers(jnp, count, width, shift)
    places = jnp.arange(x.shape[axis], dtype=middle.dtype)[None]
    weights = _weights(jnp, places, middle, width, x.shape[axis], method, antialias)
    out = jnp.tensordot(weights.astype(x.dtype), x, ((1,), (axis,)), precision=precision)
    return jnp.moveaxis(out, 0, axis)


def _along(x, axes: Sequence[int], shape, scales, shifts, method, antialias, precision):
    """Resample dimensions one by one: those that shrink first, and those that grow last.

    Integers become floats; narrow floats are rounded at the end.
    """
    dtype = dtypes.to_inexact_dtype(x.dtype)
    x = x.astype(np.float32 if dtype.itemsize < 4 else dtype)
    grows = [shape[d] > x.shape[d] for d in axes]
    order = [k for k, g in enumerate(grows) if not g] + [k for k, g in enumerate(grows) if g][::-1]
    known = not (isinstance(scales, Tracer) or isinstance(shifts, Tracer))
    if method is ResizeMethod.CUBIC_PYTORCH and antialias:
        method = ResizeMethod.CUBIC
    for k in order:
        axis, count = axes[k], shape[axes[k]]
        if method is ResizeMethod.CUBIC_PYTORCH:
            x = _replicated(x, axis, count, scales[k], shifts[k])
        elif known:
            x = _banded(x, axis, count, float(scales[k]), float(shifts[k]), method, antialias)
        else:
            x = _dense(x, axis, count, scales[k], shifts[k], method, antialias, precision)
    return x.astype(dtype)


def _nearest(x, shape):
    """The pixels that contain the centers of the new ones."""
    for axis, (size, count) in enumerate(zip(x.shape, shape)):
        if size != count:
            places = (2 * np.arange(count, dtype=np.int64) + 1) * size // (2 * count)
            x = jnp.take(x, places.astype(np.int32), axis, mode="clip")
    return x


# -- functions of the module -----------------------------------------------------------------------


def _checked(function: str, image, shape) -> tuple:
    image = jnp.asarray(image)
    shape = canonical_shape(shape, f"tanx.image.{function}")
    if len(shape) != image.ndim or any(n < 0 for n in shape):
        raise ValueError(explain(
            f"tanx.image.{function}", "shape must have a size for each dimension of the image.",
            f"image: {typeof(image)}", f"shape: {shape}"))
    if not image.size and any(n for n, m in zip(shape, image.shape) if not m):
        raise ValueError(explain(f"tanx.image.{function}", "the image has no pixels.",
                                 f"image: {typeof(image)}", f"shape: {shape}"))
    return image, shape


def resize(image, shape: Sequence[int], method: str | ResizeMethod, antialias: bool = True,
           precision=Precision.HIGHEST):
    """The image in another size, with the same corners.

    ``shape`` has the new size of each dimension, also of unchanged ones such as channels.
    ``method`` is ``"nearest"``, ``"linear"``, ``"cubic"``, ``"lanczos3"``, ``"lanczos5"``,
    ``"area"`` or a :class:`ResizeMethod`. When an image shrinks, ``antialias`` uses all of its
    pixels, not just those next to the new ones. ``precision`` is for traced scales, in
    :func:`scale_and_translate`. Integers become floats, except with ``"nearest"``.

    >>> tanx.image.resize(jnp.array([0., 2.]), (4,), "linear")
    Array([0. , 0.5, 1.5, 2. ], dtype=float32)
    """
    method = _method("resize", method)
    image, shape = _checked("resize", image, shape)
    return _resize(image, shape, method, antialias, precision)


@library_jit(static_argnums=(1, 2, 3, 4))
def _resize(image, shape, method, antialias, precision):
    if method is ResizeMethod.NEAREST:
        return _nearest(image, shape)
    axes = [d for d, (n, m) in enumerate(zip(image.shape, shape)) if n != m]
    scales = [shape[d] / image.shape[d] if shape[d] else 1.0 for d in axes]
    return _along(image, axes, shape, scales, [0.0] * len(axes), method, antialias, precision)


def scale_and_translate(image, shape: Sequence[int], spatial_dims: Sequence[int], scale,
                        translation, method: str | ResizeMethod, antialias: bool = True,
                        precision=Precision.HIGHEST):
    """The image scaled, moved, and cut or filled with zeros to a shape.

    Along ``spatial_dims[i]``, position ``y`` moves to ``y * scale[i] + translation[i]``; the first
    pixel reaches from 0 to 1. Both can be differentiated. The other parameters are those of
    :func:`resize`; the method ``"nearest"`` is not supported.

    >>> image = jnp.array([1., 2., 3.])
    >>> tanx.image.scale_and_translate(image, (4,), (0,), jnp.ones(1), jnp.ones(1), "linear")
    Array([0., 1., 2., 3.], dtype=float32)
    """
    method = _method("scale_and_translate", method)
    image, shape = _checked("scale_and_translate", image, shape)
    if method is ResizeMethod.NEAREST:
        raise ValueError(explain("tanx.image.scale_and_translate", "'nearest' is not supported.",
                                 hint="tanx.image.resize supports it; other methods work here."))
    scale, translation = jnp.asarray(scale), jnp.asarray(translation)
    axes = [d % image.ndim for d in spatial_dims]
    given = {scale.shape, translation.shape}
    if len(set(axes)) < len(axes) or given != {(len(axes),)}:
        raise ValueError(explain(
            "tanx.image.scale_and_translate",
            "spatial_dims must be distinct, with a scale and a translation for each.",
            f"spatial_dims: {tuple(spatial_dims)}", f"scale:        {typeof(scale)}",
            f"translation:  {typeof(translation)}"))
    return _along(image, axes, shape, scale, translation, method, antialias, precision)


publish(__name__, shown)
