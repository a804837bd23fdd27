"""Conversion between transforms of real numbers and those of half as many complex ones.

The even and odd elements of ``n`` real numbers are the parts of ``n / 2`` complex ones, which is
how they are in memory. The transform of the real numbers follows from that of the complex ones by
adding and subtracting opposite frequencies.
"""

from __future__ import annotations

import numpy as np

from ...._loops.fourier import roots, spectrum_size
from ...emit.complex import Pair
from ...emit.values import I64, Value, shift_right
from .butterflies import times
from .radix_passes import (
    PAIRS,
    PLANES,
    Function,
    Memory,
    Passes,
    Side,
    lanes_for,
    parts_of,
    vectors,
)

__all__ = ["folded", "joined", "mirrored", "parted", "starts_real", "unfolded", "wraps"]

_SIDES = ("from", "from.im", "to", "to.im")


def unfolded(passes: Passes, half: int, count: int, form: str, scale: float) -> str:
    """A function that computes the spectrum of real numbers from that of half as many.

    It computes ``count`` frequencies from a given one on; the spectrum that it reads repeats its
    first number at the end.
    """
    def combined(x: Pair, opposite: Pair, turn: Pair) -> Pair:
        turned = times(x - opposite, turn.re, turn.im)
        return (turned.turned_back() + (x + opposite)).times(0.5 * scale)
    return _opposites(passes, f"unfolded {scale}", half, count, Side(form, 0), Side(PAIRS, 0),
                      combined)


def folded(passes: Passes, half: int, count: int, form: str) -> str:
    """A function that computes the spectrum of half as many numbers from that of real ones.

    It computes ``count`` frequencies from a given one on.
    """
    def combined(x: Pair, opposite: Pair, turn: Pair) -> Pair:
        return times(x - opposite, turn.re, -turn.im).turned() + (x + opposite)
    return _opposites(passes, "folded", half, count, Side(PAIRS, 0), Side(form, 0), combined)


def _opposites(passes: Passes, name: str, half: int, count: int, source: Side, target: Side,
               combined) -> str:
    """A function that combines numbers with the conjugates of opposite ones and twiddle factors."""
    lanes = lanes_for(count, passes.lanes)

    def one(f: Function, k: Value) -> None:
        k = k + f.number("first")
        (x,) = Memory(f.writer, passes.element, lanes, source, "%from", "%from.im", k).read(1)
        opposite = Memory(f.writer, passes.element, lanes, source, "%from", "%from.im",
                          half - lanes + 1 - k).read_back()
        Memory(f.writer, passes.element, lanes, target, "%to", "%to.im", k).write(
            [combined(x, opposite.conjugate(), _turns(passes, f, 2 * half, half + 1, k, lanes))])
    return passes.function(f"{name} {half} {count} {source.form} {target.form}",
                           (*_SIDES, "i64 %first"), lambda f: vectors(
                               f.writer, count, lanes, lambda k: one(f, k)))


def _turns(passes: Passes, f: Function, n: int, count: int, k: Value, lanes: int) -> Pair:
    """``exp(-2 pi i k / n)`` for as many ``k`` as there are lanes, all of them below ``count``.

    If there are many, it is a product: from the upper and the lower bits of the first ``k``.
    """
    table = passes.module.machine.tuning.fourier.table
    low = count if count <= table else 1 << count.bit_length() // 2
    size = count if low == count else low + passes.lanes
    fine = passes.table(f"fine {n} {size}", lambda: parts_of(roots(np.arange(size), n), 0))

    def read(table: str, side: Side, lanes: int, at: Value) -> Pair:
        second = f"getelementptr ({passes.element}, ptr {table}, i64 {size})"
        return Memory(f.writer, passes.element, lanes, side, table, second, at).read(1)[0]
    if low == count:
        return read(fine, Side(PLANES, 0), lanes, k)
    coarse = passes.table(f"coarse {n} {low}", lambda: parts_of(
        roots(np.arange(-(-count // low)) * low, n), 1))
    by = read(coarse, Side(PAIRS, 0), 1, shift_right(k, low.bit_length() - 1))
    return times(read(fine, Side(PLANES, 0), lanes, k & (low - 1)), by.re.of(lanes),
                 by.im.of(lanes))


def _scalars(passes: Passes, f: Function, form: str, of: str, at: int) -> Memory:
    return Memory(f.writer, passes.element, 1, Side(form, 0), f"%{of}", f"%{of}.im",
                  Value(f.writer, str(at), I64))


def wraps(passes: Passes, half: int, form: str) -> str:
    """A function that repeats the first number of a spectrum at its end."""
    return passes.function(f"wraps {half} {form}", _SIDES, lambda f: _scalars(
        passes, f, form, "to", half).write(_scalars(passes, f, form, "from", 0).read(1)))


def starts_real(passes: Passes, half: int, form: str) -> str:
    """A function that computes the first number of a folded spectrum, as if frequency zero and the
    highest one were real."""
    def body(f: Function) -> None:
        (x,), (y,) = (_scalars(passes, f, PAIRS, "from", at).read(1) for at in (0, half))
        _scalars(passes, f, form, "to", 0).write([Pair(x.re + y.re, x.re - y.re)])
    return passes.function(f"starts real {half} {form}", _SIDES, body)


def parted(passes: Passes, length: int, scale: float) -> str:
    """A function that computes the spectra of two real lines from that of complex numbers whose
    parts they are. The spectrum that it reads repeats its first number at the end."""
    count = spectrum_size(length)
    lanes = lanes_for(count, passes.lanes)

    def one(f: Function, k: Value) -> None:
        def near(at: Value) -> Memory:
            return Memory(f.writer, passes.element, lanes, Side(PLANES, 0), "%from", "%from.im", at)
        (x,), opposite = near(k).read(1), near(length - lanes + 1 - k).read_back().conjugate()
        for name, y in (("to", x + opposite), ("to.im", (x - opposite).turned_back())):
            Memory(f.writer, passes.element, lanes, Side(PAIRS, 0), f"%{name}", "", k).write(
                [y.times(0.5 * scale)])
    return passes.function(f"parted {length} {scale}", _SIDES, lambda f: vectors(
        f.writer, count, lanes, lambda k: one(f, k)))


def joined(passes: Passes, length: int) -> str:
    """A function that computes the spectrum of complex numbers, in planes, from those of two real
    lines that are their parts; of an odd length."""
    count = length // 2
    lanes = lanes_for(count, passes.lanes)

    def one(f: Function, k: Value) -> None:
        (x,), (y,) = (Memory(f.writer, passes.element, lanes, Side(PAIRS, 0), f"%{name}", "",
                             k + 1).read(1) for name in ("from", "from.im"))
        for at, z in ((k + 1, x + y.turned()),
                      (length - lanes - k, _backwards(x.conjugate() + y.conjugate().turned()))):
            Memory(f.writer, passes.element, lanes, Side(PLANES, 0), "%to", "%to.im", at).write([z])

    def body(f: Function) -> None:
        x, y = (_scalars(passes, f, PAIRS, name, 0).read(1)[0] for name in ("from", "from.im"))
        _scalars(passes, f, PLANES, "to", 0).write([Pair(x.re, y.re)])
        vectors(f.writer, count, lanes, lambda k: one(f, k))
    return passes.function(f"joined {length}", _SIDES, body)


def _backwards(x: Pair) -> Pair:
    lanes = x.re.type.lanes
    return x if lanes == 1 else Pair(*(v.shuffled(range(lanes - 1, -1, -1)) for v in (x.re, x.im)))


def mirrored(passes: Passes, length: int) -> str:
    """A function that computes a whole spectrum, in planes, from the first half; an odd length."""
    count = length // 2
    lanes = lanes_for(count, passes.lanes)

    def one(f: Function, k: Value) -> None:
        (x,) = Memory(f.writer, passes.element, lanes, Side(PAIRS, 0), "%from", "", k + 1).read(1)
        Memory(f.writer, passes.element, lanes, Side(PLANES, 0), "%to", "%to.im", k + 1).write([x])
        back = _backwards(x.conjugate())
        Memory(f.writer, passes.element, lanes, Side(PLANES, 0), "%to", "%to.im",
               length - lanes - k).write([back])

    def body(f: Function) -> None:
        (x,) = _scalars(passes, f, PAIRS, "from", 0).read(1)
        _scalars(passes, f, PLANES, "to", 0).write([Pair(x.re, x.re - x.re)])
        vectors(f.writer, count, lanes, lambda k: one(f, k))
    return passes.function(f"mirrored {length}", _SIDES, body)
