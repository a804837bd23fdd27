"""Chirps, with which any Fourier transform is a convolution, after Bluestein.

The chirp is ``exp(-pi i k^2 / n)``. Since ``2 k q = k^2 + q^2 - (k - q)^2``, a transform of length
``n`` is a product with the chirp, a convolution with its conjugate, and a product with the chirp
again; the convolution is a product of spectra, of any length that is long enough. The program
contains tables of short chirps; those of long ones are computed at their first use.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ...._loops.fourier import roots
from ...emit.values import F64, I64, Value, convert, shift_right
from .butterflies import times
from .radix_passes import PAIRS, PLANES, Function, Memory, Side, loop, parts_of

if TYPE_CHECKING:
    from .in_cache import Chain

__all__ = ["waves"]


def waves(chain: Chain, length: int) -> tuple[str, str]:
    """The addresses of the chirp, and of the spectrum of its conjugate, extended to both sides.

    The spectrum is divided by its length.
    """
    if length > chain.passes.module.machine.tuning.fourier.held:
        return _made(chain, length)
    cyclic = chain.way.cyclic
    return (chain.passes.table(f"wave {length}", lambda: parts_of(_wave(length), 0)),
            chain.passes.table(f"spectrum {length} {cyclic}", lambda: parts_of(
                _spectrum(length, cyclic), 0)))


@cache
def _wave(length: int) -> np.ndarray:
    return roots(np.arange(length, dtype=np.int64) ** 2 % (2 * length), 2 * length)


def _spectrum(length: int, cyclic: int) -> np.ndarray:
    kernel = np.zeros(cyclic, complex)
    kernel[:length] = _wave(length).conj()
    kernel[-length + 1:] = kernel[length - 1:0:-1]
    return np.fft.fft(kernel) / cyclic


def _made(chain: Chain, length: int) -> tuple[str, str]:
    """Memory for the tables, and code that fills it unless that is done.

    Several threads may fill it at a time, all with the same values.
    """
    passes, f, cyclic = chain.passes, chain.f, chain.way.cyclic
    wave, spectrum, ready = (f'@"{name} {length} {cyclic} {passes.element}"'
                             for name in ("wave", "spectrum", "ready"))
    for name, size in ((wave, 2 * length), (spectrum, 2 * cyclic)):
        f.module.helpers[name[1:]] = (f"{name} = internal global [{size} x {passes.element}] "
                                      "zeroinitializer, align 64")
    f.module.helpers[ready[1:]] = f"{ready} = internal global i64 0, align 8"
    word, missing = (f"%{f.writer.fresh(name)}" for name in ("word", "missing"))
    make, made = f.writer.fresh("make"), f.writer.fresh("made")
    f.lines.extend([f"{word} = load atomic i64, ptr {ready} acquire, align 8",
                    f"{missing} = icmp eq i64 {word}, 0",
                    f"br i1 {missing}, label %{make}, label %{made}"])
    f.writer.place.start(make)
    kernel = chain.other()
    chain.clear(kernel, 0)
    f.call(_filling(chain, length), (wave, *kernel.addresses))
    there = chain.transform(cyclic, kernel)
    f.call(_keeping(chain), (*there.addresses, spectrum))
    f.lines.extend([f"store atomic i64 1, ptr {ready} release, align 8", f"br label %{made}"])
    f.writer.place.start(made)
    return wave, spectrum


def _filling(chain: Chain, length: int) -> str:
    """A function that fills the table of a chirp, and the conjugate chirp on both sides in planes.

    A number of the chirp is the product of two in tables, from the lower and the upper bits of its
    exponent.
    """
    passes, columns, n = chain.passes, chain.way.columns, 2 * length
    low = 1 << (n.bit_length() // 2)
    fine, coarse = (passes.table(f"{name} {n}", lambda k=k: parts_of(roots(k, n), 1), F64)
                    for name, k in (("fine", np.arange(low)), (
                        "coarse", np.arange(-(-n // low)) * low)))

    def store(f: Function, side: Side, re: str, im: str, at: Value, x) -> None:
        Memory(f.writer, passes.element, 1, side, re, im, at).write([x])

    def one(f: Function, k: Value) -> None:
        exponent = f.writer.write(I64, f"urem {k * k!r}, {n}")
        (a,), (b,) = (Memory(f.writer, F64, 1, Side(PAIRS, 0), table, "", at).read(1)
                      for table, at in ((fine, exponent & (low - 1)),
                                        (coarse, shift_right(exponent, low.bit_length() - 1))))
        x = times(a, b.re, b.im)
        if passes.element is not F64:
            x.re, x.im = (convert(part, "fptrunc", passes.element) for part in (x.re, x.im))
        store(f, Side(PLANES, 0), "%to", f.offset("%to", passes.element, length), k, x)
        last = f.writer.write(I64, f"urem {chain.way.cyclic - k!r}, {chain.way.cyclic}")
        for row in (k, last):
            loop(f.writer, columns, lambda column, row=row: store(
                f, Side(PLANES, 0), "%kernel", "%kernel.im", row * columns + column,
                x.conjugate()))
    return passes.function(
        f"wave {length} {columns} {chain.way.cyclic}", ("to", "kernel", "kernel.im"),
        lambda f: loop(f.writer, length, lambda k: one(f, k)))


def _keeping(chain: Chain) -> str:
    """A function that stores one column of a spectrum, divided by its length."""
    passes, columns, cyclic = chain.passes, chain.way.columns, chain.way.cyclic

    def one(f: Function, k: Value) -> None:
        (x,) = Memory(f.writer, passes.element, 1, Side(PLANES, 0), "%from", "%from.im",
                      k * columns).read(1)
        Memory(f.writer, passes.element, 1, Side(PLANES, 0), "%to", f.offset(
            "%to", passes.element, cyclic), k).write([x.times(1 / cyclic)])
    return passes.function(f"keeping {cyclic} {columns}", ("from", "from.im", "to"),
                           lambda f: loop(f.writer, cyclic, lambda k: one(f, k)))
