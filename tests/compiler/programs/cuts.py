"""Makes a failing program smaller."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from tests.compiler.programs.source import Source, without_dead_lines


def smaller(source: Source, fails: Callable[[Source], object] = Source.fails) -> Source:
    """The smallest program that still fails, within a time limit."""
    first, until = str(fails(source)).partition(":")[0], time.monotonic() + _PATIENCE
    while True:
        for candidate in _candidates(source):
            if time.monotonic() > until:
                return source
            if str(fails(candidate)).partition(":")[0] == first:
                source = candidate
                break
        else:
            return source


_PATIENCE = 120.0
"""Seconds after which a failing program is small enough: some take a minute for each comparison."""


def _candidates(source: Source):
    """Smaller programs; the largest cuts come first."""
    if source.transform:
        yield without_dead_lines(replace(source, transform=""))
    for name in dict.fromkeys((*source.returned, *(line.value.name for line in source.lines))):
        if source.returned != (name,):
            least = without_dead_lines(replace(source, returned=(name,)))
            if len(least.lines) < len(source.lines) or len(source.returned) > 1:
                yield least
    for line in source.lines:
        # The value becomes an argument, and what only it needed goes.
        rest = tuple(other for other in source.lines if other is not line)
        given = (*source.arguments, replace(line.value, exact=True))
        cut = without_dead_lines(replace(source, lines=rest, arguments=given))
        if len(cut.lines) < len(source.lines) and cut.lines:
            yield cut
        for read in line.reads:
            other = next((v for v in (*source.arguments, *(o.value for o in source.lines))
                          if v.name == read), None)
            if other is not None and other.shape == line.value.shape and (
                    other.data.dtype == line.value.data.dtype):
                skipped = replace(line, text=read, reads=(read,))
                if line.text != read:
                    yield without_dead_lines(replace(source, lines=tuple(
                        skipped if o is line else o for o in source.lines)))
