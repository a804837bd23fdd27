"""tanx.scipy.spatial.transform: rotations of space, and interpolation between them.

A rotation is a unit quaternion ``(x, y, z, w)``, scalar last, and a batch of rotations is an array
of these along the last dimension. Every function works on quaternions of any leading shape.
Formulas that divide by an angle use a short series in the square of the angle near zero, so that
derivatives at the identity are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

from ... import dtypes, random
from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import boundary, shown
from ..._base.tuples import NamedTuple
from ..._base.window import publish
from ...errors import explain
from ...numpy._promotion import typeof

__all__ = ["Rotation", "Slerp"]

_ROTATION = "tanx.scipy.spatial.transform.Rotation"
_SLERP = "tanx.scipy.spatial.transform.Slerp"

_SMALL = 1e-6
"""Square of an angle below which three terms of a series are exact to float64."""


def _floats(function: str, name: str, x, *sizes: int):
    """``x`` as an array of floats whose last dimensions have the given sizes."""
    x = jnp.asarray(x)
    if x.shape[-len(sizes):] != sizes or x.dtype.kind == "c":
        raise ValueError(explain(
            f"{_ROTATION}.{function}",
            f"{name} must have {' x '.join(map(str, sizes))} real numbers for each rotation.",
            f"{name}: {typeof(x)}"))
    return x.astype(dtypes.to_inexact_dtype(x.dtype))


def _broadcast(function: str, quat, other) -> None:
    """Check that rotations and their operands broadcast together."""
    try:
        jnp.broadcast_shapes(quat.shape[:-1], other.shape[:-1])
    except ValueError:
        raise ValueError(explain(
            f"{_ROTATION}.{function}", "leading dimensions must broadcast together.",
            f"rotations: {typeof(quat)}", f"and:       {typeof(other)}")) from None


# -- quaternions -----------------------------------------------------------------------------------


def _parts(quat):
    return tuple(quat[..., i] for i in range(4))


def _length(x):
    """The Euclidean norm along the last dimension; its derivative at zero is zero."""
    square = (x * x).sum(-1)
    zero = square == 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, square)))


@library_jit
def _normalized(quat):
    return quat / jnp.sqrt((quat * quat).sum(-1, keepdims=True))


@library_jit
def _product(p, q):
    """The rotation ``q`` followed by ``p``."""
    px, py, pz, pw = _parts(p)
    qx, qy, qz, qw = _parts(q)
    return _normalized(jnp.stack([
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
        pw * qw - px * qx - py * qy - pz * qz], -1))


def _inverse(quat):
    return jnp.concatenate([-quat[..., :3], quat[..., 3:]], -1)


@library_jit
def _apply(quat, vectors, inverse):
    """Rotate vectors: ``v + 2 w (u x v) + 2 u x (u x v)``, where ``u`` is the vector part."""
    shape = jnp.broadcast_shapes((*quat.shape[:-1], 3), vectors.shape)
    axis, turn, vectors, inverse = (jnp.broadcast_to(x, shape) for x in (
        quat[..., :3], quat[..., 3:], vectors, jnp.asarray(inverse)[..., None]))
    axis = jnp.where(inverse, -axis, axis)
    twice = 2 * jnp.cross(axis, vectors)
    return vectors + turn * twice + jnp.cross(axis, twice)


@library_jit
def _magnitude(quat):
    return 2 * jnp.arctan2(_length(quat[..., :3]), abs(quat[..., 3]))


@library_jit
def _canonical(quat):
    """Of the two quaternions of a rotation, the one whose last nonzero part is positive."""
    x, y, z, w = _parts(quat)
    last = jnp.where(w != 0, w, jnp.where(x != 0, x, jnp.where(y != 0, y, z)))
    return jnp.where((last < 0)[..., None], -quat, quat)


@library_jit
def _mean(quat, weights):
    """The eigenvector of the largest eigenvalue of the mean of all products ``q q^T``."""
    outer = (weights[:, None] * quat).T @ quat
    return jnp.linalg.eigh(outer)[1][:, -1]


# -- other forms -----------------------------------------------------------------------------------


@library_jit
def _matrix_of(quat):
    x, y, z, w = _parts(quat)
    rows = [[x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w]]
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


@library_jit
def _of_matrix(m):
    """By Shepperd's method: the largest part comes first, and the others are divided by it."""
    def at(i, j):
        return m[..., i, j]
    trace = at(0, 0) + at(1, 1) + at(2, 2)
    candidates = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts = [at(j, i) + at(i, j)] * 3 + [at(k, j) - at(j, k)]
        parts[i], parts[k] = 1 - trace + 2 * at(i, i), at(k, i) + at(i, k)
        candidates.append(jnp.stack(parts, -1))
    candidates.append(jnp.stack([at(2, 1) - at(1, 2), at(0, 2) - at(2, 0), at(1, 0) - at(0, 1),
                                 1 + trace], -1))
    largest = jnp.stack([at(0, 0), at(1, 1), at(2, 2), trace], -1).argmax(-1)
    quat = candidates[3]
    for i in range(3):
        quat = jnp.where((largest == i)[..., None], candidates[i], quat)
    return _normalized(quat)


@library_jit
def _rotvec_of(quat):
    quat = jnp.where(quat[..., 3:] < 0, -quat, quat)
    vector, w = quat[..., :3], quat[..., 3]
    square = (vector * vector).sum(-1)
    small = square < _SMALL
    length = jnp.sqrt(jnp.where(small, 1, square))
    tangent = jnp.where(small, square / (w * w), 0)
    scale = jnp.where(small, 2 / w * (1 - tangent * (1 / 3 - tangent / 5)),
                      2 * jnp.arctan2(length, w) / length)
    return scale[..., None] * vector


@library_jit
def _of_rotvec(rotvec):
    square = (rotvec * rotvec).sum(-1)
    small = square < _SMALL
    angle = jnp.sqrt(jnp.where(small, 1, square))
    scale = jnp.where(small, 1 / 2 - square * (1 / 48 - square / 3840), jnp.sin(angle / 2) / angle)
    w = jnp.where(small, 1 - square * (1 / 8 - square / 384), jnp.cos(angle / 2))
    return jnp.concatenate([scale[..., None] * rotvec, w[..., None]], -1)


@library_jit
def _mrp_of(quat):
    quat = jnp.where(quat[..., 3:] < 0, -quat, quat)
    return quat[..., :3] / (1 + quat[..., 3:])


@library_jit
def _of_mrp(mrp):
    square = (mrp * mrp).sum(-1, keepdims=True)
    return jnp.concatenate([2 * mrp, 1 - square], -1) / (1 + square)


# -- Euler angles ----------------------------------------------------------------------------------


def _sequence(function: str, seq: str) -> tuple[list[int], bool]:
    """The axes of a sequence as numbers, and whether they rotate with the body."""
    intrinsic = seq.isupper()
    axes = ["xyz".find(letter) for letter in seq.lower()]
    if not 1 <= len(seq) <= 3 or -1 in axes or not (intrinsic or seq.islower()):
        raise ValueError(explain(
            f"{_ROTATION}.{function}",
            "seq has one to three axes: x, y, z for fixed ones, X, Y, Z for those of the body.",
            f"seq: {seq!r}"))
    if any(a == b for a, b in zip(axes, axes[1:])):
        raise ValueError(explain(f"{_ROTATION}.{function}",
                                 "axes next to each other must be different.", f"seq: {seq!r}"))
    return axes, intrinsic


@library_jit(static_argnums=(1, 2))
def _of_euler(angles, axes: tuple[int, ...], intrinsic: bool):
    """The product of rotations about axes; the last dimension of ``angles`` has one for each."""
    quat = None
    for i, axis in enumerate(axes):
        half = angles[..., i] / 2
        parts = [jnp.zeros_like(half)] * 3 + [jnp.cos(half)]
        parts[axis] = jnp.sin(half)
        turn = jnp.stack(parts, -1)
        quat = turn if quat is None else _product(quat, turn) if intrinsic else _product(turn, quat)
    return quat


@library_jit(static_argnums=(1, 2))
def _euler_of(quat, axes: tuple[int, int, int], intrinsic: bool):
    """Bernardes and Viollet (2022): half the sum and half the difference of the outer angles.

    If the axes of the outer angles coincide, only one of these is known, and the last angle is set
    to zero.
    """
    i, j, k = axes[::-1] if intrinsic else axes
    proper = i == k
    if proper:
        k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) // 2
    w, first, second, third = quat[..., 3], quat[..., i], quat[..., j], sign * quat[..., k]
    if proper:
        a, b, c, d = w, first, second, third
    else:
        a, b, c, d = w - second, first + third, second + w, third - first
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    # In float32 the computed angle between coinciding axes is about 1e-7 off 0 or pi.
    near = 1e-7 if quat.dtype.itemsize >= 8 else 1e-6
    closed, opened = abs(middle) <= near, abs(middle - pi) <= near
    early, late = half_sum - half_difference, half_sum + half_difference
    if not proper:
        late, middle = sign * late, middle - pi / 2
    if intrinsic:
        early, late = late, early
    alone = jnp.where(closed, 2 * half_sum, (2 if intrinsic else -2) * half_difference)
    if not proper and intrinsic:
        alone = sign * alone
    early = jnp.where(closed | opened, alone, early)
    late = jnp.where(closed | opened, 0, late)
    angles = jnp.stack([early, middle, late], -1)
    return angles - 2 * pi * jnp.round(angles / (2 * pi))


# -- classes ---------------------------------------------------------------------------------------


class Rotation(NamedTuple):
    """Rotations of space, one or a batch: a pytree whose leaf is ``quat``.

    Made by the methods ``from_quat``, ``from_matrix``, ``from_euler``, ``from_rotvec`` and
    ``from_mrp``, read by those that begin with ``as_``. ``p * q`` rotates by ``q``, then by ``p``.
    Leading dimensions of batches are broadcast against each other.

    >>> quarter = tanx.scipy.spatial.transform.Rotation.from_euler("z", 90, degrees=True)
    >>> quarter.apply(jnp.array([1., 0., 0.])).round(6)
    Array([0., 1., 0.], dtype=float32)
    >>> (quarter * quarter).magnitude()
    Array(3.1415927, dtype=float32)
    """

    quat: Any

    @classmethod
    @boundary
    def concatenate(cls, rotations: Sequence[Rotation]):
        """One batch from several rotations or batches of rotations."""
        return cls(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    @classmethod
    @boundary
    def from_euler(cls, seq: str, angles, degrees: bool = False):
        """Rotations by angles about axes, one after the other.

        ``seq`` names up to three axes: lower case ones are fixed, upper case ones rotate with the
        body. The last dimension of ``angles`` has one for each axis; for a single axis, a number is
        one rotation.
        """
        axes, intrinsic = _sequence("from_euler", seq)
        angles = jnp.asarray(angles)
        angles = _floats("from_euler", "angles", angles if angles.ndim else angles[None], len(axes))
        angles = jnp.deg2rad(angles) if degrees else angles
        return cls(_of_euler(angles, tuple(axes), intrinsic))

    @classmethod
    @boundary
    def from_matrix(cls, matrix):
        """Rotations from orthogonal matrices of determinant 1, which is not checked."""
        return cls(_of_matrix(_floats("from_matrix", "matrix", matrix, 3, 3)))

    @classmethod
    @boundary
    def from_mrp(cls, mrp):
        """Rotations from modified Rodrigues parameters: the axis times the tangent of angle / 4."""
        return cls(_of_mrp(_floats("from_mrp", "mrp", mrp, 3)))

    @classmethod
    @boundary
    def from_quat(cls, quat):
        """Rotations from quaternions ``(x, y, z, w)`` of any length but zero."""
        return cls(_normalized(_floats("from_quat", "quat", quat, 4)))

    @classmethod
    @boundary
    def from_rotvec(cls, rotvec, degrees: bool = False):
        """Rotations from vectors along the axis; their length is the angle."""
        rotvec = _floats("from_rotvec", "rotvec", rotvec, 3)
        return cls(_of_rotvec(jnp.deg2rad(rotvec) if degrees else rotvec))

    @classmethod
    @boundary
    def identity(cls, num: int | None = None, dtype=float):
        """The identity rotation, or a batch of ``num`` of these."""
        one = jnp.array([0, 0, 0, 1], dtype)
        return cls(one if num is None else jnp.tile(one, (num, 1)))

    @classmethod
    @boundary
    def random(cls, random_key, num: int | None = None):
        """A uniformly random rotation, or ``num`` of them."""
        return cls(_normalized(random.normal(random_key, (4,) if num is None else (num, 4))))

    @boundary
    def __getitem__(self, indexer):
        """Rotations of a batch, by any index of an array."""
        if self.single:
            raise TypeError(explain(_ROTATION, "one rotation has no items.",
                                    f"quat: {typeof(self.quat)}"))
        return Rotation(self.quat[indexer])

    @boundary
    def __len__(self) -> int:
        """How many rotations a batch has."""
        if self.single:
            raise TypeError(explain(_ROTATION, "one rotation has no length.",
                                    f"quat: {typeof(self.quat)}"))
        return self.quat.shape[0]

    def __bool__(self) -> bool:
        """Always true, also for an empty batch."""
        return True

    @boundary
    def __mul__(self, other):
        """The rotation ``other`` followed by this one."""
        if not isinstance(other, Rotation):
            return NotImplemented
        _broadcast("__mul__", self.quat, other.quat)
        return Rotation(_product(self.quat, other.quat))

    @boundary
    def apply(self, vectors, inverse: bool = False):
        """Vectors rotated; with ``inverse``, rotated back.

        The leading dimensions of vectors and rotations are broadcast.
        """
        vectors = _floats("apply", "vectors", vectors, 3)
        _broadcast("apply", self.quat, vectors)
        return _apply(self.quat, vectors, inverse)

    @boundary
    def as_euler(self, seq: str, degrees: bool = False):
        """Angles about three axes, as in :meth:`from_euler`.

        The first and the last are in [-pi, pi]; the middle one is in [0, pi] if the outer axes have
        the same name, else in [-pi/2, pi/2]. If the outer axes coincide in space, the last angle is
        0.
        """
        axes, intrinsic = _sequence("as_euler", seq)
        if len(axes) != 3:
            raise ValueError(explain(f"{_ROTATION}.as_euler", "seq must have three axes.",
                                     f"seq: {seq!r}"))
        angles = _euler_of(self.quat, tuple(axes), intrinsic)
        return jnp.rad2deg(angles) if degrees else angles

    @boundary
    def as_matrix(self):
        """Orthogonal matrices, 3 x 3."""
        return _matrix_of(self.quat)

    @boundary
    def as_mrp(self):
        """Modified Rodrigues parameters: the axis times the tangent of a quarter of the angle."""
        return _mrp_of(self.quat)

    @boundary
    def as_quat(self, canonical: bool = False, scalar_first: bool = False):
        """Unit quaternions ``(x, y, z, w)``, or ``(w, x, y, z)`` with ``scalar_first``.

        Of the two quaternions of a rotation, the ``canonical`` one has a positive ``w``; if that
        is zero, the first of x, y, z that is not zero is positive.
        """
        quat = _canonical(self.quat) if canonical else self.quat
        return jnp.roll(quat, 1, axis=-1) if scalar_first else quat

    @boundary
    def as_rotvec(self, degrees: bool = False):
        """Vectors along the axis; their length is the angle, at most pi."""
        rotvec = _rotvec_of(self.quat)
        return jnp.rad2deg(rotvec) if degrees else rotvec

    @boundary
    def inv(self):
        """The inverse rotations."""
        return Rotation(_inverse(self.quat))

    @boundary
    def magnitude(self):
        """The angles, in [0, pi]."""
        return _magnitude(self.quat)

    @boundary
    def mean(self, weights=None):
        """The mean rotation of a batch, which minimises the sum of squared chords."""
        count = len(self)
        weights = jnp.ones(count, self.quat.dtype) if weights is None else jnp.asarray(weights)
        if weights.shape != (count,):
            raise ValueError(explain(
                f"{_ROTATION}.mean", "weights must have one number for each rotation.",
                f"quat:    {typeof(self.quat)}", f"weights: {typeof(weights)}"))
        return Rotation(_mean(self.quat, weights.astype(self.quat.dtype)))

    @property
    def single(self) -> bool:
        """Whether this is one rotation, not a batch."""
        return self.quat.ndim == 1


class Slerp(NamedTuple):
    """Interpolates between rotations at given times, at a constant rate from one to the next.

    Made by :meth:`init`; a call takes times and returns rotations. Before the first time and after
    the last one, the rate of the nearest interval continues.

    >>> rotations = Rotation.from_euler("z", jnp.array([[0.], [90.]]), degrees=True)
    >>> Slerp.init(jnp.array([0., 1.]), rotations)(0.5).as_rotvec(degrees=True).round(3)
    Array([ 0.,  0., 45.], dtype=float32)
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    @boundary
    def init(cls, times, rotations: Rotation):
        """From times in increasing order and a batch with a rotation for each of them."""
        if not isinstance(rotations, Rotation):
            raise TypeError(explain(f"{_SLERP}.init", "rotations must be a Rotation.",
                                    f"type: {type(rotations).__name__}"))
        times = jnp.asarray(times, rotations.quat.dtype)
        if rotations.single or len(rotations) < 2 or times.shape != (len(rotations),):
            raise ValueError(explain(
                f"{_SLERP}.init",
                "rotations must be a batch of two or more, and times has one time for each.",
                f"times:          {typeof(times)}", f"rotations.quat: {typeof(rotations.quat)}"))
        before, after = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(times, jnp.diff(times), before, (before.inv() * after).as_rotvec())

    @boundary
    def __call__(self, times):
        """The rotations at ``times``, a number or a vector."""
        times = jnp.asarray(times, self.times.dtype)
        if times.ndim > 1:
            raise ValueError(explain(_SLERP, "times must be a number or a vector.",
                                     f"times: {typeof(times)}"))
        last = self.timedelta.shape[0] - 1
        place = jnp.clip(jnp.searchsorted(self.times, times, side="right") - 1, 0, last)
        share = (times - self.times[place]) / self.timedelta[place]
        turned = Rotation.from_rotvec(share[..., None] * self.rotvecs[place])
        return Rotation(self.rotations.quat[place]) * turned


publish(__name__, shown)
