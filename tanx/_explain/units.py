"""Numbers in readable units."""

from __future__ import annotations

import os

from .facts import Line

__all__ = ["amount", "place", "seconds", "share", "size"]


def _scaled(value: float, step: int, units: tuple[str, ...]) -> str:
    """Three digits and a unit."""
    number = 0
    while abs(value) >= 999.5 and number < len(units) - 1:
        value, number = value / step, number + 1
    digits = 0 if value >= 99.5 or value == int(value) else 1 if value >= 9.95 else 2
    return f"{value:.{digits}f} {units[number]}".rstrip()


def seconds(value: float) -> str:
    """A time.

    >>> seconds(0.00123), seconds(12.0), seconds(4.5e-7)
    ('1.23 ms', '12 s', '450 ns')
    """
    return f"{value:.3g} s" if value >= 0.9995 else _scaled(round(value * 1e9), 1000, (
        "ns", "µs", "ms"))


def size(nbytes: float) -> str:
    """A number of bytes, in powers of a thousand.

    >>> size(512), size(4_200_000)
    ('512 B', '4.20 MB')
    """
    return _scaled(nbytes, 1000, ("B", "kB", "MB", "GB", "TB"))


def amount(value: float) -> str:
    """A count, or a rate.

    >>> amount(7), amount(143e9)
    ('7', '143 G')
    """
    return _scaled(value, 1000, ("", "k", "M", "G", "T", "P"))


def share(part: float, whole: float) -> str:
    """A part in percent.

    >>> share(1, 8), share(0, 0)
    ('12.5 %', '0.0 %')
    """
    return f"{100 * part / whole if whole else 0:.1f} %"


def place(line: Line) -> str:
    """A source line by the name of its file.

    >>> place(Line("models/model.py", 12, "y = x @ w", "apply"))
    'model.py:12'
    """
    return f"{os.path.basename(line.file)}:{line.number}"
