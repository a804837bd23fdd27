"""The results of the duel as tables: for a terminal, and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable

from benchmarks.machine import best_seconds

__all__ = ["LARGE", "families", "geometric_mean", "markdown", "ratio", "share", "terminal", "time"]

NAMES = {"jax": "JAX", "numpy": "NumPy", "torch": "torch", "numba": "Numba", "tanx": "tanx"}

LARGE = 1 << 25
"""Bytes above which a case is bound by memory rather than by a cache."""


def geometric_mean(values: Iterable[float]) -> float:
    """The mean of ratios.

    >>> geometric_mean([1.0, 4.0])
    2.0
    """
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def ratio(record: dict, rival: str = "jax") -> float | None:
    """The rival's time over tanx's; None if one of the two has no time."""
    seconds = record["seconds"]
    return seconds[rival] / seconds["tanx"] if {rival, "tanx"} <= set(seconds) else None


def share(result: dict, record: dict) -> str:
    """The speed of tanx relative to plain loops: ``83 % mem`` or ``90 % fma``."""
    seconds, machine = record["seconds"].get("tanx"), result["machine"]
    if seconds and record["memory"] and record.get("read", 0) + record.get("written", 0) >= LARGE:
        best = best_seconds(machine, record["read"], record["written"])
        return f"{100 * best / seconds:.0f} % mem"
    if seconds and record["flops"] and record["flops"] > 1e6:
        return f"{100 * record['flops'] / seconds / machine['peak']:.0f} % fma"
    return ""


def time(seconds: float | None) -> str:
    """Microseconds to three digits.

    >>> time(1.234e-3), time(5.6e-7)
    ('1,234', '0.56')
    """
    if seconds is None:
        return ""
    microseconds = seconds * 1e6
    digits = max(0, 2 - math.floor(math.log10(microseconds)))
    return f"{microseconds:,.{min(digits, 2)}f}"


def families(result: dict) -> dict[str, dict[str, dict]]:
    """The cases by family, in their order."""
    grouped: dict[str, dict[str, dict]] = {}
    for name, record in result["cases"].items():
        grouped.setdefault(record["family"], {})[name] = record
    return grouped


def problems(result: dict) -> list[str]:
    """Cases that fail on tanx, or whose results differ from those of another system."""
    found = []
    for name, record in result["cases"].items():
        found += [f"{name}: {NAMES[system]} fails: {message}"
                  for system, message in record["errors"].items()]
        found += [f"{name}: differs from {NAMES[system]}: {what}"
                  for system, what in record.get("disagrees", {}).items()]
    return found


def _rows(result: dict) -> Iterable[tuple[str, list[list[str]], str]]:
    """Family, its rows (case, times, ratios, share, remark) and its geometric mean."""
    systems = list(result["systems"])
    rivals = [system for system in systems if system != "tanx"]
    for family, cases in families(result).items():
        rows = []
        for name, record in cases.items():
            ratios = [ratio(record, rival) for rival in rivals]
            slower = "jax" in rivals and (ratio(record) or 1) < 1
            rows.append([name, *[time(record["seconds"].get(system)) for system in systems],
                         *[f"{value:.2f}" if value else "" for value in ratios],
                         share(result, record), "slower" if slower else ""])
        mean = geometric_mean(filter(None, map(ratio, cases.values())))
        yield family, rows, "" if math.isnan(mean) else f"{mean:.2f}"


def _titles(result: dict) -> list[str]:
    systems = [NAMES[system] for system in result["systems"]]
    return ["case", *[f"{name} µs" for name in systems], *[f"{name}/tanx" for name in systems[1:]],
            "share", ""]


def summary(result: dict) -> list[str]:
    """The most important figures, one per line."""
    machine = result["machine"]
    lines = [f"machine: {machine['processor']}, {machine['cores']} cores"]
    if "peak" in machine:
        lines[0] += "; in GB/s: " + ", ".join(
            f"{kind} {machine[kind] / 1e9:.1f}" for kind in ("copy", "read", "write"))
        lines[0] += f"; f32 multiply-adds: {machine['peak'] / 1e9:.0f} GFLOP/s"
    lines += [f"{NAMES[system]} {version}" for system, version in result["systems"].items()]
    for what, times in result.get("imports", {}).items():
        lines.append(f"{what}: " + ", ".join(
            f"{NAMES[system]} {seconds:.2f} s" for system, seconds in times.items()))
    for mine, theirs in (("cold", "cold"), ("warm", "cold"), ("warm", "warm")):
        mean = geometric_mean(first_ratios(result, mine, theirs))
        if not math.isnan(mean):
            lines.append(f"first call, {mine}: {mean:.1f} times sooner than JAX {theirs} "
                         "(geometric mean)")
    ratios = [value for value in map(ratio, result["cases"].values()) if value]
    if ratios:
        lines.append(f"{len(ratios)} cases, geometric mean of JAX/tanx {geometric_mean(ratios):.2f}"
                     f"; slower than JAX: {sum(value < 1 for value in ratios)}")
    return lines


def first_ratios(result: dict, mine: str, theirs: str) -> list[float]:
    """JAX's time over tanx's for the first call of each case."""
    return [times[f"jax {theirs}"] / times[f"tanx {mine}"]
            for times in (record.get("first", {}) for record in result["cases"].values())
            if {f"jax {theirs}", f"tanx {mine}"} <= set(times)]


def terminal(result: dict) -> str:
    """The tables as text."""
    titles = _titles(result)
    width = max(len(name) for name in result["cases"]) + 2
    line = lambda row: f"{row[0]:<{width}}" + "".join(f"{cell:>12}" for cell in row[1:])
    lines = [line(titles)]
    for family, rows, mean in _rows(result):
        lines += ["", f"{family}" + (f": {mean} times as fast as JAX" if mean else "")]
        lines += [line(row).rstrip() for row in rows]
    if found := problems(result):
        lines += ["", "PROBLEMS", *found]
    return "\n".join([*lines, "", *summary(result)])


def markdown(result: dict) -> str:
    """The tables as Markdown."""
    titles = _titles(result)[:-1]
    lines = [*[f"- {line}" for line in summary(result)], ""]
    lines += ["| " + " | ".join(titles) + " |", "|---" + "|---:" * (len(titles) - 1) + "|"]
    for family, rows, mean in _rows(result):
        at = 1 + len(result["systems"])
        cells = ["" for _ in titles]
        cells[0] = f"**{family}**"
        if mean:
            cells[at] = f"**{mean}**"
        lines.append("| " + " | ".join(cells) + " |")
        lines += ["| " + " | ".join(row[:-1]) + " |" for row in rows]
    if any("first" in record for record in result["cases"].values()):
        lines += ["", *_first_table(result)]
    return "\n".join(lines) + "\n"


def _first_table(result: dict) -> list[str]:
    """Milliseconds of first calls."""
    columns = ["tanx cold", "jax cold", "tanx warm", "jax warm"]
    lines = ["| first call, ms | tanx cold | JAX cold | tanx warm | JAX warm |",
             "|---|---:|---:|---:|---:|"]
    for family, cases in families(result).items():
        means = []
        for column in columns:
            times = [record["first"][column] for record in cases.values()
                     if column in record.get("first", {})]
            means.append(f"{1e3 * geometric_mean(times):.1f}" if times else "")
        lines.append(f"| {family} | " + " | ".join(means) + " |")
    return lines
