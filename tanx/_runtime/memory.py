"""The memory of the machine, and the error if it is not enough.

A system may promise memory that it does not have, and kill the process when that is used. So a
request larger than the memory of the machine, or than the limit of the process's control group, is
refused in advance, and so is a large request that does not fit into free memory.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from math import prod

from .._base.collector import growth
from .._base.limits import groups, text_of
from .._core.array import Array, live_arrays
from .._core.origins import lines_of
from .._core.primitive import Kind
from .._core.source import SourceInfo, user_source
from .._core.types import ShapedArray
from ..errors import OutOfMemoryError, explain

__all__ = ["HEAVY", "MOST_DIMENSIONS", "available_memory", "check_rank", "in_words", "make_room",
           "memory_of_machine", "out_of_memory", "room_for"]

HEAVY = 1 << 28
"""Bytes from which free memory is checked, which takes a tenth of a millisecond."""

MOST_DIMENSIONS = 64
"""NumPy's limit, because arrays hold NumPy arrays."""

_UNLIMITED = 1 << 60
_SHOWN = 5  # of the live arrays


# -- what the system says --------------------------------------------------------------------------


def _number(text: str) -> int:
    """The number in a file of a control group; "max", or an enormous number, means no limit."""
    return int(text) if text.strip().isdecimal() else _UNLIMITED


def _entry(text: str, name: str) -> int:
    """A number in a file of names and numbers; 0 if it is missing."""
    for line in text.splitlines():
        words = line.replace(":", " ").split()
        if words and words[0] == name:
            return int(words[1])
    return 0


_FILES = {True: ("memory.max", "memory.current", "inactive_file"),
          False: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")}
"""Files with the limit of a control group, its use, and the part of its use that is file cache: in
version 2 of control groups, and in version 1."""


@cache
def memory_of_machine(root: str = "/") -> int:
    """Bytes of memory that the machine has, or that this process's group may use; with swap."""
    memory = text_of(f"{root}proc/meminfo")
    swap = 1024 * _entry(memory, "SwapTotal")
    sizes = [1024 * _entry(memory, "MemTotal") + swap]
    if not _entry(memory, "MemTotal"):  # not Linux
        sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    sizes += [limit + swap for folder, second in groups("memory", root)
              if 0 < (limit := _number(text_of(f"{folder}/{_FILES[second][0]}"))) < _UNLIMITED]
    return min(sizes)


growth.memory = memory_of_machine


def available_memory(root: str = "/") -> int:
    """Bytes that are available now without swapping."""
    memory = text_of(f"{root}proc/meminfo")
    swap = 1024 * _entry(memory, "SwapFree")
    if not _entry(memory, "MemAvailable"):
        return memory_of_machine(root)
    sizes = [1024 * _entry(memory, "MemAvailable") + swap]
    for folder, second in groups("memory", root):
        limit, used, file = _FILES[second]
        most = _number(text_of(f"{folder}/{limit}"))
        if 0 < most < _UNLIMITED:
            cached = _entry(text_of(f"{folder}/memory.stat"), file)
            sizes.append(most - _number(text_of(f"{folder}/{used}")) + cached + swap)
    return max(0, min(sizes))


# -- refusing --------------------------------------------------------------------------------------


def room_for(nbytes: int, kept: Callable[[], int] = lambda: 0) -> bool:
    """Whether ``nbytes`` fit into memory; ``kept`` says how many are kept for new arrays."""
    if nbytes < HEAVY:
        return True
    if nbytes > memory_of_machine():
        return False
    if nbytes <= available_memory() + kept():
        return True
    gc.collect()  # cycles may hold arrays
    return nbytes <= available_memory() + kept()


def make_room(primitive, result) -> None:
    """Check that the result of an eager operation fits, and that it may exist.

    Layouts make views, which take no memory: these must only not be larger than all of it.
    """
    for aval in result if primitive.multiple_results else (result,):
        shape = aval.shape
        if prod(shape) * 8 < HEAVY and len(shape) <= MOST_DIMENSIONS:  # the fast path
            continue
        check_rank(f"tanx.lax.{primitive.name}", aval)
        view = primitive.kind is Kind.LAYOUT
        if aval.nbytes > memory_of_machine() or not view and not room_for(aval.nbytes):
            raise out_of_memory(f"tanx.lax.{primitive.name}", [(aval, None)])


def check_rank(function: str, aval: ShapedArray) -> None:
    """Check the number of dimensions."""
    if len(aval.shape) > MOST_DIMENSIONS:
        raise ValueError(explain(
            function, f"arrays have at most {MOST_DIMENSIONS} dimensions.",
            f"dimensions: {len(aval.shape)}", hint="join some of them by reshape."))


def out_of_memory(function: str, results: Sequence[tuple[ShapedArray, SourceInfo | None]],
                  temporaries: int = 0, source: SourceInfo | None = None) -> OutOfMemoryError:
    """The error if there is no memory for results, each with its line, and for temporaries."""
    results = sorted(results, key=lambda pair: -pair[0].nbytes)
    facts = [f"asked for: {in_words(temporaries + sum(aval.nbytes for aval, _ in results))}"]
    for aval, made in results[:_SHOWN]:
        facts.append(f"result:    {aval.str_short(True)}, {in_words(aval.nbytes)}" + (
            f", made at {_place(made)}" if made is not None else ""))
    if temporaries:
        facts.append(f"and:       {in_words(temporaries)} for values in between")
    facts += [f"at:        {_place(source or user_source())}",
              f"memory:    {in_words(memory_of_machine())}, of which "
              f"{in_words(available_memory())} are free"]
    facts += _live(live_arrays())
    return OutOfMemoryError(explain(function, "there is not enough memory.", *facts, hint=(
        "compute in pieces (tanx.vmap with chunk_size, tanx.lax.scan), in a smaller dtype, or "
        "give arrays away by donate_argnums; tanx.checkpoint keeps less for gradients.")))


def _live(arrays: Iterable[Array]) -> list[str]:
    """The live arrays, the largest ones each with the line that made it."""
    arrays = sorted(arrays, key=lambda x: -x.nbytes)
    if not arrays:
        return []
    total = in_words(sum(x.nbytes for x in arrays))
    return [f"alive:     arrays of {total}, {len(arrays)} in all, the largest:",
            *(f"           {x.aval.str_short(True)}, {in_words(x.nbytes)}{_maker(x)}"
              for x in arrays[:_SHOWN])]


def _maker(x: Array) -> str:
    """Where an array was made, if it records that: large ones do."""
    made = lines_of(getattr(x, "_origin", ()))
    return f", made at {_place(made[0])}" if made else ""


def _place(source: SourceInfo) -> str:
    return f"{source}" + (f": {source.text}" if source.text else "")


def in_words(nbytes: int) -> str:
    """A number of bytes, readable.

    >>> in_words(360_000_000_000)
    '335.3 GiB'
    """
    if nbytes < 1024:
        return f"{nbytes} bytes"
    power = min((int(nbytes).bit_length() - 1) // 10, 5)
    return f"{nbytes / 1024 ** power:.1f} {'KMGTP'[power - 1]}iB"
