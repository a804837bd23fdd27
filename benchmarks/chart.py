"""The duel as a picture: a row for each family, a dot for each case, on a logarithmic scale."""

from __future__ import annotations

import math
from html import escape

from benchmarks.report import families, geometric_mean, ratio

__all__ = ["bars", "svg"]

LEFT, WIDTH, ROW, TOP = 210, 620, 26, 56
"""Sizes: the column of names, the field of dots, the height of a row and of the title."""

SLOWER, FASTER, MEAN = "#c62828", "#1565c0", "#0b2545"


def _rows(result: dict) -> dict[str, dict[str, float]]:
    """JAX's time over tanx's by family and case."""
    grouped = {family: {name: value for name, record in cases.items() if (value := ratio(record))}
               for family, cases in families(result).items()}
    return {family: cases for family, cases in grouped.items() if cases}


def bars(result: dict, width: int = 50) -> str:
    """The geometric mean of each family for a terminal, and the cases that are slower than JAX's.

    A bar to the right of the line is faster than JAX; each doubling adds the same length.
    """
    rows = _rows(result)
    means = {family: geometric_mean(cases.values()) for family, cases in rows.items()}
    if not means:
        return ""
    lowest = min(0.0, *(math.log2(min(cases.values())) for cases in rows.values()))
    highest = max(1.0, *(math.log2(mean) for mean in means.values()))
    unit = width / (highest - lowest)
    zero = round(-lowest * unit)

    def bar(value: float) -> str:
        length = round(math.log2(value) * unit)
        if length < 0:
            return " " * (zero + length) + "▒" * -length + "│"
        return " " * zero + "│" + "█" * length

    lines = ["times as fast as JAX (geometric means)"]
    lines += [f"{family:<28} {bar(mean)} {mean:.2f}" for family, mean in means.items()]
    slow = sorted((value, name) for cases in rows.values() for name, value in cases.items()
                  if value < 1)
    if slow:
        lines += ["", "slower than JAX"]
        lines += [f"{name[:60]:<60} {bar(value)} {value:.2f}" for value, name in slow]
    return "\n".join(lines)


def svg(result: dict) -> str:
    """The picture; hovering over a dot shows its case."""
    rows = _rows(result)
    values = [value for cases in rows.values() for value in cases.values()] or [1.0]
    low = min(-1, math.floor(math.log2(min(values))))
    high = max(1, math.ceil(math.log2(max(values))))
    x = lambda value: LEFT + WIDTH * (math.log2(value) - low) / (high - low)
    height = TOP + ROW * len(rows) + 34
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 70} {height}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        f'<rect width="{LEFT + WIDTH + 70}" height="{height}" fill="white"/>',
        f'<text x="12" y="22" font-size="15" font-weight="bold">How many times as fast as JAX'
        f' ({len(values)} cases, geometric mean {geometric_mean(values):.2f})</text>',
        '<text x="12" y="40" fill="#555">A dot is a case, a diamond the geometric mean of a family;'
        ' red is slower.</text>']
    for power in range(low, high + 1):
        at, label = x(2.0 ** power), f"{2.0 ** power:g}"
        colour = "#444" if power == 0 else "#ddd"
        lines.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{height - 30}" '
                     f'stroke="{colour}"/>')
        lines.append(f'<text x="{at:.1f}" y="{height - 14}" text-anchor="middle" fill="#555">'
                     f'{label}</text>')
    for i, (family, cases) in enumerate(rows.items()):
        lines += _row(TOP + ROW * i + ROW / 2, family, cases, x)
    return "\n".join([*lines, "</svg>", ""])


def _row(y: float, family: str, cases: dict[str, float], x) -> list[str]:
    mean = geometric_mean(cases.values())
    lines = [f'<text x="12" y="{y + 4:.1f}">{escape(family)}</text>']
    for name, value in cases.items():
        lines.append(f'<circle cx="{x(value):.1f}" cy="{y:.1f}" r="4" fill-opacity="0.55" '
                     f'fill="{SLOWER if value < 1 else FASTER}">'
                     f'<title>{escape(name)}: {value:.2f}</title></circle>')
    at = x(mean)
    lines.append(f'<path d="M{at:.1f} {y - 8:.1f}l6 8l-6 8l-6 -8z" fill="{MEAN}"/>')
    lines.append(f'<text x="{LEFT + WIDTH + 14}" y="{y + 4:.1f}" font-weight="bold">{mean:.2f}'
                 '</text>')
    return lines
