"""Fourier transforms as library calls: their meaning, and how long ones are built from short ones.

``out, spare = fourier(x, kind, length, outer, inner, scale)``: transforms along the middle of
``(outer, size, inner)``, the shape in which both arrays are viewed, times a number. ``kind`` is one
of ``fft``, ``ifft``, ``rfft`` and ``irfft``, none of which divides by the length. ``spare`` is
scratch memory.
"""

from __future__ import annotations

from functools import cache
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from .._base.tuples import NamedTuple

if TYPE_CHECKING:
    from .nest import Extern

__all__ = ["SHORT", "Way", "fourier", "radices", "roots", "spectrum_size", "way"]

SHORT, LONG = 16, 1 << 13
"""Lengths up to which a transform runs in registers, and above which it runs as columns."""
STACK, ROOMS = 1 << 19, 4
"""Bytes of scratch memory up to which it is on the stack, and tasks at most where it is not."""
_BLOCK, _ROW = 1 << 17, 128
"""Bytes of the columns that are transformed at a time, and the least bytes of their rows."""
_GAP = 16
"""Padding between planes, so that not all of them map to the same cache sets."""
# Factors of lengths that have their own passes, besides 2, 3 and 4.
_PRIMES = (61, 59, 53, 47, 43, 41, 37, 31, 29, 23, 19, 17, 13, 11, 7, 5)


def spectrum_size(length: int) -> int:
    """How many numbers the transform of ``n`` real ones has: the others are conjugate to these."""
    return length // 2 + 1


def roots(exponents: np.ndarray, length: int) -> np.ndarray:
    """``exp(-2 pi i k / length)`` for integers ``k``, accurate to the last bit or so.

    >>> roots(np.arange(4), 4).round(15) + 0
    array([ 1.+0.j,  0.-1.j, -1.+0.j,  0.+1.j])
    """
    eighths = np.asarray(exponents) % length * 8
    turn, rest = np.divmod(eighths + length, 2 * length)  # to the next quarter, then an eighth
    angle = (rest - length) * (np.pi / (4 * length))
    number = np.cos(angle) - 1j * np.sin(angle)
    return number * np.array([1, -1j, -1, 1j])[turn % 4]


@cache
def radices(n: int) -> tuple[int, ...] | None:
    """Factors of a length for the passes of a transform; None if one would be too large.

    >>> radices(1024), radices(1000), radices(67)
    ((8, 8, 4, 4), (8, 5, 5, 5), None)
    """
    if n <= SHORT:
        return (n,)
    found: list[int] = []
    for prime in _PRIMES:
        while n % prime == 0:
            found.append(prime)
            n //= prime
    threes = 0
    while n % 3 == 0:
        threes, n = threes + 1, n // 3
    twos = n.bit_length() - 1
    if n != 1 << twos:
        return None
    found += [9] * (threes // 2)
    if threes % 2:
        found.append(6 if twos % 3 == 1 else 12 if twos % 3 == 2 else 3)
        twos -= twos % 3
    # Eights, with two fours in place of an eight and a two.
    fours = {0: 0, 1: 2, 2: 1}[twos % 3]
    if twos == 1:
        found.append(2)
    elif twos:
        found = [8] * ((twos - 2 * fours) // 3) + [4] * fours + found
    # Passes that fill whole vectors come first.
    return tuple(sorted(found, key=lambda r: (r % 4 != 0, r < 4, -r)))


@cache
def convolution_length(n: int) -> int:
    """The shortest length with convenient factors for cyclic convolutions of ``n`` numbers."""
    size = 2 * n - 1
    best = 1 << (size - 1).bit_length()
    for odd in (3, 5, 7, 9, 15):
        power = max(4, 1 << (-(-size // odd) - 1).bit_length())
        if size <= odd * power < best:
            best = odd * power
    return best


@cache
def halves(n: int) -> tuple[int, int] | None:
    """Two factors of about the same size, multiples of 4 if possible; None for a large prime."""
    if radices(n) is None:
        return None
    near = [d for d in range(isqrt(n), 0, -1) if n % d == 0][:4]
    best = next((d for d in near if d % 4 == 0 and n // d % 4 == 0), near[0])
    return best, n // best


class Way(NamedTuple):
    """How transforms of a length are computed.

    ``core`` is the length of complex transforms, ``cyclic`` that of the convolutions which these
    use; ``columns`` are computed at a time. Scratch memory is four planes of ``plane`` elements.
    Besides the stack, ``spare`` elements of memory are needed, for each of some tasks unless
    ``halves`` says that transforms are those of a matrix.
    """

    core: int
    cyclic: int
    columns: int
    plane: int
    halves: tuple[int, int] | None
    spare: int


@cache
def way(kind: str, length: int, inner: int, bytes: int) -> Way:
    """How a call computes its transforms, of elements (parts of numbers) of ``bytes`` bytes."""
    core = length // 2 if kind in ("rfft", "irfft") and not length % 2 else length
    cyclic = core if radices(core) else convolution_length(core)
    whole = core < length or kind in ("fft", "ifft")
    if inner == 1 and core > LONG and core == cyclic and whole:
        first, second = halves(core)
        columns = min(_columns(n, bytes) for n in (first, second))
        room = 2 * core + (2 * core + 2 if core < length else 0)
        return Way(core, cyclic, columns, _plane(second * columns), (first, second), room)
    blocks = -(-inner // _columns(cyclic, bytes))
    columns = min(inner, -(-inner // (4 * blocks)) * 4)  # blocks of similar size
    plane = _plane((max(cyclic, length) + 1) * columns)
    return Way(core, cyclic, columns, plane, None, ROOMS * 4 * plane if (
        4 * plane * bytes > STACK) else 0)


def _plane(elements: int) -> int:
    """The elements from plane to plane: whole lines of the cache, with a gap."""
    return -(-elements // _GAP) * _GAP + _GAP


def _columns(n: int, bytes: int) -> int:
    """Columns that are done at a time."""
    return (2 if 2 * _ROW * n <= _BLOCK else 1) * _ROW // (2 * bytes)


def fourier(call: Extern, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """The meaning of a call, for the interpreter."""
    import scipy.fft
    params = dict(call.params)
    kind, n = params["kind"], params["length"]
    x = x.reshape(params["outer"], -1, params["inner"])
    result = getattr(scipy.fft, kind)(x, n, 1, norm="backward" if kind in ("fft", "rfft")
                                      else "forward")
    out = (result * params["scale"]).astype(call.outputs[0].dtype)
    return (out.reshape(call.outputs[0].shape),
            *(np.zeros(b.shape, b.dtype) for b in call.outputs[1:]))
