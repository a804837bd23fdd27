"""The facts on one screen of a terminal: at most 40 lines of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable

from .facts import Facts, Kernel
from .units import amount, place, seconds, share, size

__all__ = ["COLUMNS", "ROWS", "as_text"]

COLUMNS, ROWS = 80, 40
_KERNELS, _ARRAYS, _TRACES = 12, 5, 4
"""Rows of each table at most."""
_BAR, _WHAT = 10, COLUMNS - 38
"""Columns of a bar, and of the name of a kernel with its line."""


def as_text(facts: Facts) -> str:
    """The facts as text."""
    lines = [*_head(facts), "", *_kernels(facts), "", *_memory(facts), "", *_traces(facts)]
    return "\n".join(_cut(line, COLUMNS).rstrip() for line in lines)


def _head(facts: Facts) -> list[str]:
    limits = facts.limits
    own, *_, memory = (rate for _, rate in limits.bandwidths)
    donated = f" ({facts.donated} in place)" if facts.donated else ""
    return [
        f"{facts.function}  {facts.defined}",
        f"arguments  {_count(len(facts.arguments), 'array')}, {size(facts.argument_bytes)}",
        f"results    {_count(len(facts.results), 'array')}, {size(facts.result_bytes)}{donated}",
        f"time       {seconds(facts.seconds)} a call, in {_count(len(facts.kernels), 'kernel')}",
        f"before     traced in {seconds(facts.trace_seconds)}, "
        f"compiled in {seconds(facts.compile_seconds)}",
        f"machine    {_count(limits.threads, 'thread')}: {amount(limits.flops)}Flop/s, "
        f"{size(memory)}/s from memory, {size(own)}/s from cache"]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _kernels(facts: Facts) -> Iterable[str]:
    """The time by kernel; equal kernels of one line are counted together."""
    groups: dict[tuple[int | None, str], list[Kernel]] = {}
    for kernel in facts.kernels:
        name = "lay out operands" if kernel.prepares is not None else kernel.name
        groups.setdefault((kernel.line, name), []).append(kernel)
    ranked = sorted(groups.items(), key=lambda item: -sum(k.seconds for k in item[1]))
    yield "TIME BY KERNEL      of the machine's limit"
    for (line, name), kernels in ranked[:_KERNELS]:
        took = sum(k.seconds for k in kernels)
        reached = min(1.0, sum(k.least_seconds for k in kernels) / took) if took else 1.0
        bar = ("#" * round(_BAR * reached)).ljust(_BAR, ".")
        where = "" if line is None else place(facts.lines[line])
        times = f"{len(kernels)} x " if len(kernels) > 1 else ""
        yield (f"  {seconds(took):>8} {share(took, facts.seconds):>7}  {bar} {100 * reached:3.0f} %"
               f"  {_cut(times + name, _WHAT - 1 - len(where))} {where}")
    if len(ranked) > _KERNELS:
        rest = sum(k.seconds for _, kernels in ranked[_KERNELS:] for k in kernels)
        yield (f"  {seconds(rest):>8} {share(rest, facts.seconds):>7}"
               f"  {_count(sum(len(g) for _, g in ranked[_KERNELS:]), 'other kernel')}")


def _cut(text: str, width: int) -> str:
    """Text cut to ``width`` columns."""
    return text.ljust(width) if len(text) <= width else f"{text[:width - 1]}…"


def _memory(facts: Facts) -> Iterable[str]:
    if not facts.memory:
        yield "MEMORY  no temporary arrays"
        return
    held = [m for m in facts.memory if m.at_peak]
    yield (f"MEMORY  {size(facts.curve[facts.peak])} of temporaries at most, in "
           f"{_count(len(held), 'array')} at kernel {facts.peak + 1}")
    groups: dict[tuple[int | None, str], list[int]] = {}
    for m in held:
        groups.setdefault((m.line, m.type), []).append(m.nbytes)
    ranked = sorted(groups.items(), key=lambda item: -sum(item[1]))
    for (line, kind), sizes in ranked[:_ARRAYS]:
        times = f"{len(sizes)} x " if len(sizes) > 1 else ""
        where = "" if line is None else place(facts.lines[line])
        yield (f"  {size(sum(sizes)):>8} {share(sum(sizes), facts.curve[facts.peak]):>7}"
               f"  {times + kind:<40} {where}")


def _traces(facts: Facts) -> Iterable[str]:
    yield f"TRACED  {_count(len(facts.traces), 'time')}"
    for number, traced in list(enumerate(facts.traces, 1))[-_TRACES:]:
        yield f"  {number:>2}  {'; '.join(traced.reasons) if number > 1 else 'the first call'}"
