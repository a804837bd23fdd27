"""Code cells of pages of documentation: MyST and plain Markdown, notebooks, reStructuredText."""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Cell:
    """Source text that is run as a unit, its line, and its kind of block."""

    source: str
    line: int
    kind: str  # "cell", "doctest" or "block"
    tags: tuple[str, ...] = ()

    @property
    def may_raise(self) -> bool:
        return "raises-exception" in self.tags


_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|:{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)"
                    r"^(?P=indent)(?P=ticks)[ ]*$", re.DOTALL | re.MULTILINE)
_PROMPT = re.compile(r"^(?P<indent> *)>>> ")


def markdown(text: str) -> list[Cell]:
    """Cells of a page of Markdown: code cells, doctests and blocks of Python."""
    cells = []
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        info = match["info"].strip()
        body = textwrap.dedent(match["body"])
        if info.startswith("{code-cell}"):
            tags, body = _header(body)
            cells.append(Cell(body, line, "cell", tags))
        elif re.match(r"^ *>>> ", body, re.MULTILINE):
            cells += [replace(c, line=c.line + line) for c in doctests(body)]
        elif info in ("python", "py", "{code-block} python"):
            cells.append(Cell(_header(body)[1], line, "block"))
    return cells


def _header(body: str) -> tuple[tuple[str, ...], str]:
    """The tags of a cell, and its source without the options at its beginning."""
    lines = body.split("\n")
    head: list[str] = []
    if lines[0].strip() == "---":
        end = lines.index("---", 1)
        head, lines = lines[1:end], lines[end + 1:]
    while lines and re.match(r"^:[\w-]+:", lines[0]):
        head.append(lines.pop(0))
    tags = re.findall(r"[\w-]+", " ".join(h for h in head if "tags" in h or h.startswith("- ")))
    return tuple(t for t in tags if t != "tags"), "\n".join(lines)


def doctests(text: str) -> list[Cell]:
    """Examples after prompts, one cell for each."""
    cells: list[Cell] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        start, found = at, _PROMPT.match(lines[at])
        at += 1
        if not found:
            continue
        cut = len(found["indent"])
        source = [lines[start][cut + 4:]]
        while at < len(lines) and lines[at][cut:cut + 3] == "...":
            source.append(lines[at][cut + 4:])
            at += 1
        raises = at < len(lines) and lines[at].strip().startswith("Traceback")
        cells.append(Cell("\n".join(source), start + 1, "doctest",
                          ("raises-exception",) if raises else ()))
    return cells


def notebook(text: str) -> list[Cell]:
    """Code cells of a notebook; the line is the number of the cell."""
    return [Cell("".join(cell["source"]), n, "cell", tuple(cell["metadata"].get("tags", ())))
            for n, cell in enumerate(json.loads(text)["cells"]) if cell["cell_type"] == "code"]


def cells(page: Path) -> list[Cell]:
    """All cells of a page, in order."""
    text = page.read_text(encoding="utf-8")
    read = {".md": markdown, ".rst": doctests, ".ipynb": notebook}[page.suffix]
    return [cell for cell in read(text) if cell.source.strip()]


def pages(folder: Path) -> list[Path]:
    """Pages with cells. Of a page that exists as Markdown and as a notebook, the former is used."""
    found = sorted(p for p in folder.rglob("*") if p.suffix in (".md", ".rst", ".ipynb"))
    both = {p.with_suffix("") for p in found if p.suffix == ".md"}
    return [p for p in found
            if not (p.suffix == ".ipynb" and p.with_suffix("") in both) and cells(p)]
