"""The facts as a page: one self-contained HTML file.

The content of the page is written here, so that it can be read without JavaScript; ``page.js``
highlights related items, sorts, and sets colours. Every text from outside is escaped.
"""

from __future__ import annotations

import json
import linecache
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

from .facts import Equation, Facts, Kernel, Memory, Section
from .units import amount, place, seconds, share, size

__all__ = ["as_page"]

_AROUND = 2
"""Source lines shown before and after a line that made equations."""
_HOLDERS = 20
"""The number of arrays at the peak that are listed."""
_WIDTH, _HEIGHT = 1000, 300
"""The map of memory, in its own units."""


def as_page(facts: Facts) -> str:
    """The page, as one document."""
    by_time = sorted(range(len(facts.kernels)), key=lambda n: -facts.kernels[n].seconds)
    return Template(_file("page.html")).substitute(
        title=escape(f"{facts.function} – tanx.explain"), function=escape(facts.function),
        defined=escape(facts.defined), style=_file("page.css"), script=_file("page.js"),
        summary=_summary(facts), kernels=_kernels(facts, by_time), lines=_lines(facts),
        compiled=_jaxpr(facts, facts.compiled, "e"), traced=_jaxpr(facts, facts.traced, "t"),
        memory=_memory(facts), traces=_traces(facts), about=_about(facts), data=_data(facts))


@cache
def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").rstrip()


def _data(facts: Facts) -> str:
    """Data for JavaScript; no text in it can end the element that contains it."""
    def number(n: int | None) -> int:
        return -1 if n is None else n
    data = {
        "equations": [[number(e.line), e.kernels] for e in facts.equations],
        "traced": [number(e.line) for section in facts.traced for e in section.equations],
        "prepares": [number(k.prepares) for k in facts.kernels],
        "seconds": [round(k.seconds, 9) for k in facts.kernels],
        "arrays": [[m.first, m.last] for m in facts.memory],
        "peak": facts.peak}
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _summary(facts: Facts) -> str:
    operations = sum(k.flops + k.functions for k in facts.kernels)
    least = sum(min(k.seconds, k.least_seconds) for k in facts.kernels)
    peak = facts.curve[facts.peak] if facts.curve else 0
    tiles = [
        ("one call", seconds(facts.seconds), f"{len(facts.kernels)} kernels"),
        ("of the machine's limit", share(least, facts.seconds), "over all kernels"),
        ("arithmetic", f"{amount(operations)}op",
         f"{amount(operations / facts.seconds)}op/s" if facts.seconds else ""),
        ("temporaries at most", size(peak), f"at kernel {facts.peak + 1}" if peak else ""),
        ("arguments", size(facts.argument_bytes), f"{len(facts.arguments)} arrays"),
        ("results", size(facts.result_bytes), f"{len(facts.results)} arrays" + (
            f", {facts.donated} in place of arguments" if facts.donated else "")),
        ("traced", f"{len(facts.traces)} ×", f"this time in {seconds(facts.trace_seconds)}"),
        ("compiled in", seconds(facts.compile_seconds), "")]
    return "<dl class=\"tiles\">\n" + "\n".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)} <small>{escape(more)}</small></dd></div>"
        for name, value, more in tiles) + "\n</dl>"


# -- kernels ---------------------------------------------------------------------------------------


def _kernels(facts: Facts, order: Sequence[int]) -> str:
    longest = max((k.seconds for k in facts.kernels), default=0.0)
    rows = "\n".join(_kernel(facts, n, facts.kernels[n], longest) for n in order)
    return ('<table data-group="kernels"><thead><tr><th class="n">#</th>'
            '<th class="what">kernel</th><th class="n">time</th>'
            '<th class="roof">against the limit</th>'
            '<th class="n">reached</th><th class="extra">bound by</th>'
            '<th class="n extra">bytes</th><th class="n extra">op</th>'
            f'</tr></thead>\n<tbody>\n{rows}\n</tbody></table>')


def _kernel(facts: Facts, number: int, kernel: Kernel, longest: float) -> str:
    width = 100 * kernel.seconds / longest if longest else 0
    return (
        f'<tr id="k{number}" data-kind="k" data-id="{number}"><td class="n">{number + 1}</td>'
        f'<td class="what"><details><summary>{escape(kernel.name)}</summary>'
        f'{_details(facts, kernel)}</details></td>'
        f'<td class="n">{seconds(kernel.seconds)}</td>'
        f'<td class="roof"><i style="width:{width:.1f}%;--r:{100 * kernel.share_of_limit:.0f}%">'
        f'</i></td><td class="n">{100 * kernel.share_of_limit:.0f} %</td>'
        f'<td class="extra">{kernel.bound}</td><td class="n extra">{size(kernel.bytes)}</td>'
        f'<td class="n extra">{amount(kernel.flops + kernel.functions)}</td></tr>')


def _details(facts: Facts, kernel: Kernel) -> str:
    """The details of a kernel: its lines, its equations, its loops."""
    words = [f"At least {seconds(kernel.least_seconds)} by {kernel.bound}: "
             f"{size(kernel.bytes_read)} read, {size(kernel.bytes_written)} written, "
             f"{amount(kernel.flops)} operations"
             + (f", {amount(kernel.functions)} functions such as exp" if kernel.functions else "")
             + (f"; in {kernel.tasks} tasks" if kernel.tasks > 1 else "") + "."]
    if kernel.prepares is not None:
        words.append(f'Lays out operands for <a href="#k{kernel.prepares}">kernel '
                     f'{kernel.prepares + 1}</a>.')
    equations = facts.equations
    lines = sorted({line for e in kernel.equations if (line := equations[e].line) is not None})
    if lines:
        links = ", ".join(f'<a href="#l{n}">{escape(place(facts.lines[n]))}</a>' for n in lines)
        words.append(f"{len(kernel.equations)} equations of {links}.")
    return f"<p>{' '.join(words)}</p><pre>{escape(kernel.text)}</pre>"


# -- source and jaxprs -----------------------------------------------------------------------------


def _lines(facts: Facts) -> str:
    """Each file: lines that made equations, with the time of the kernels they are in."""
    took = _time_of_lines(facts)
    made: dict[str, dict[int, int]] = {}
    for n, line in enumerate(facts.lines):
        made.setdefault(line.file, {})[line.number] = n
    parts = []
    for file, numbers in made.items():
        parts.append(f"<h4>{escape(file)}</h4>\n<ol class=\"code\" data-group=\"{escape(file)}\">")
        before = 0
        for number in sorted({m for n in numbers for m in range(n - _AROUND, n + _AROUND + 1)}):
            text = linecache.getline(file, number).rstrip("\n")
            if not text and number not in numbers:
                continue
            if before and number > before + 1:
                parts.append('<li class="dim"><span class="no">⋮</span><span></span></li>')
            parts.append(_line(number, text, numbers.get(number), took))
            before = number
        parts.append("</ol>")
    return "\n".join(parts) or '<p class="note">No line of a file is known.</p>'


def _line(number: int, text: str, known: int | None, took: Sequence[float]) -> str:
    if known is None:
        return (f'<li class="dim"><span class="no">{number}</span>'
                f'<span>{escape(text)}</span></li>')
    return (f'<li id="l{known}" data-kind="l" data-id="{known}"><span class="no">{number}</span>'
            f'<span>{escape(text)}</span><span class="by" title="time of the kernels that it has a '
            f'part in">{seconds(took[known]) if took[known] else ""}</span></li>')


def _time_of_lines(facts: Facts) -> list[float]:
    """For each line the time of all kernels that it has a part in."""
    kernels: list[set[int]] = [set() for _ in facts.lines]
    for equation in facts.equations:
        if equation.line is not None:
            kernels[equation.line].update(equation.kernels)
    return [sum(facts.kernels[k].seconds for k in found) for found in kernels]


def _jaxpr(facts: Facts, sections: Iterable[Section], kind: str) -> str:
    parts = []
    for section in sections:
        name = f"<h4>{escape(section.name)}</h4>\n" if section.name else ""
        rows = "\n".join(_equation(e, section.first + n, kind)
                         for n, e in enumerate(section.equations))
        parts.append(f'{name}<p class="head code">{escape(section.head)}</p>\n'
                     f'<ol class="code" data-group="{kind}{section.first}">\n{rows}\n</ol>\n'
                     f'<p class="head code">{escape(section.results)}</p>')
    return "\n".join(parts)


def _equation(equation: Equation, number: int, kind: str) -> str:
    links = " ".join(f'<a href="#k{k}">{k + 1}</a>'
                     for k in equation.kernels[:8])
    more = " …" if len(equation.kernels) > 8 else ""
    dim = ' class="dim"' if equation.is_layout else ""
    return (f'<li data-kind="{kind}" data-id="{number}"{dim}><span>{escape(equation.text)}</span>'
            f'<span class="by">{links}{more}</span></li>')


# -- memory ----------------------------------------------------------------------------------------


def _memory(facts: Facts) -> str:
    if not facts.memory:
        return '<p class="note">No array is stored between kernels.</p>'
    peak = facts.curve[facts.peak]
    held = [(n, m) for n, m in enumerate(facts.memory) if m.at_peak]
    rows = "\n".join(_holder(facts, n, m, peak) for n, m in held[:_HOLDERS])
    rest = sum(m.nbytes for _, m in held[_HOLDERS:])
    more = (f'<p class="note">and {len(held) - _HOLDERS} smaller ones, {size(rest)}.</p>'
            if rest else "")
    return (
        f'<p class="note">Temporary arrays, each at its place in memory and for as long as it is '
        f'needed: {len(facts.memory)} of them share {size(facts.arena)}. The peak is at '
        f'<a href="#k{facts.peak}">kernel {facts.peak + 1}</a>: {size(peak)}.'
        '<span class="key" style="background:var(--peak)"></span>in use at the peak'
        '<span class="key" style="background:var(--block)"></span>at other times</p>\n'
        '<div class="tools" role="group" aria-label="Axis of time">'
        '<button type="button" data-along="order" aria-pressed="true">kernel by kernel</button>\n'
        '<button type="button" data-along="time" aria-pressed="false">by measured time</button>'
        f'</div>\n{_map(facts)}\n<div class="axis"><span>first kernel</span>'
        '<span id="unit">last kernel</span></div>\n<h3>What holds the peak</h3>\n'
        '<div class="pane"><table><thead><tr><th class="n">bytes</th><th class="n">of peak</th>'
        '<th>type</th><th class="extra">array</th><th>made by</th><th>for line</th></tr></thead>\n'
        f'<tbody>\n{rows}\n</tbody></table></div>\n{more}')


def _holder(facts: Facts, number: int, array: Memory, peak: int) -> str:
    line = "" if array.line is None else (
        f'<a href="#l{array.line}">{escape(place(facts.lines[array.line]))}</a> '
        f'<code class="extra">{escape(facts.lines[array.line].text[:80])}</code>')
    return (f'<tr><td class="n">{size(array.nbytes)}</td>'
            f'<td class="n">{share(array.nbytes, peak)}</td><td class="code">{escape(array.type)}'
            f'</td><td class="code extra">{escape(array.name)}</td>'
            f'<td><a href="#k{array.first}">kernel {array.first + 1}</a></td><td>{line}</td></tr>')


def _map(facts: Facts) -> str:
    """The arena from bottom to top, and above it results whose memory temporaries use."""
    bottoms, height = _bottoms(facts)
    kernels = max(1, len(facts.kernels))
    scale = _HEIGHT / max(1, height)
    frames = "".join(
        f'<line class="frame" x1="0" x2="{_WIDTH}" y1="{_HEIGHT - bottom * scale:.1f}" '
        f'y2="{_HEIGHT - bottom * scale:.1f}"/>' for bottom in bottoms.values() if bottom)
    middle = _WIDTH * (facts.peak + 0.5) / kernels
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="group" '
        f'aria-label="Temporary arrays over time" data-group="memory">{frames}\n'
        + "\n".join(_block(facts, n, m, bottoms[m.host], scale, _WIDTH / kernels)
                    for n, m in enumerate(facts.memory))
        + f'\n<line class="at" x1="{middle:.1f}" x2="{middle:.1f}" y1="0" y2="{_HEIGHT}"/></svg>')


def _bottoms(facts: Facts) -> tuple[dict[str, int], int]:
    """The starts of the arena and of shared results in the map, and its end."""
    tops: dict[str, int] = {"": facts.arena}
    for m in facts.memory:
        tops[m.host] = max(tops.get(m.host, 0), m.start + m.nbytes)
    bottoms, height = {}, 0
    for host, top in tops.items():
        bottoms[host], height = height, height + top
    return bottoms, height


def _block(facts: Facts, number: int, m: Memory, bottom: int, scale: float, step: float) -> str:
    where = "" if m.line is None else f", {place(facts.lines[m.line])}"
    host = f", in the memory of result {m.host}" if m.host else ""
    label = escape(f"{m.name} {m.type}: {size(m.nbytes)}, kernels {m.first + 1} to {m.last + 1}"
                   f"{where}{host}")
    high = max(0.5, m.nbytes * scale)
    return (f'<rect class="b{" peak" if m.at_peak else ""}" data-kind="b" data-id="{number}" '
            f'x="{m.first * step:.2f}" width="{max(1, (m.last + 1 - m.first) * step):.2f}" '
            f'y="{_HEIGHT - (bottom + m.start) * scale - high:.2f}" height="{high:.2f}" '
            f'role="img"><title>{label}</title></rect>')


# -- the rest --------------------------------------------------------------------------------------


def _traces(facts: Facts) -> str:
    return "<ol>\n" + "\n".join(_traced(facts)) + "\n</ol>"


def _traced(facts: Facts) -> Iterator[str]:
    for number, traced in enumerate(facts.traces):
        why = "; ".join(traced.reasons) if number else "The first call."
        this = " <strong>This page is about this one.</strong>" if traced.explained else ""
        yield (f"<li>{escape(why) or 'A signature that was forgotten meanwhile.'}{this}"
               f"<details><summary>what it was traced for</summary>"
               f"<pre>{escape(traced.signature)}</pre></details></li>")


def _about(facts: Facts) -> str:
    limits = facts.limits
    own, shared, memory = (rate for _, rate in limits.bandwidths)
    return (
        f"<p>The function was compiled with a clock between its kernels, which costs about 30 ns "
        f"each, and run {facts.runs + 1} times. The first run does not count; the time of a kernel "
        f"is the least of the others. Times of kernels add up to that of a call.</p>\n"
        f"<p>Limits were measured on this machine, with {limits.threads} threads: "
        f"{amount(limits.flops)}op/s in float32 and {amount(limits.double_flops)}op/s in float64 "
        f"(products and sums in registers), {size(memory)}/s from memory, {size(shared)}/s from "
        f"the last cache, {size(own)}/s from caches of cores (a plain copy). A kernel is compared "
        f"with the memory that its arrays fit into. A function such as exp counts as 15 "
        f"operations. Operations of library calls such as sorts are not counted.</p>\n"
        f"<p class=\"note\">tanx {escape(facts.version)}</p>")
