"""Tables in the documentation with results of the ecosystem's programs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "from_jax.md"


def merged(text: str, head: str, rows: dict[str, str], order: Iterable[str]) -> str:
    """A page's text with new rows in the table with this head; rows are identified by first cells.

    Other rows stay.
    """
    start = text.find(f"{head}\n")
    if start < 0:
        raise ValueError(f"the page has no table with the head {head}")
    found = re.match(r"(?:\|.*\n)+", text[start:])
    assert found is not None
    _, rule, *old = found[0].splitlines()
    known = {row.split("|")[1].strip(): row for row in old} | rows
    lines = [head, rule, *(known[name] for name in order if name in known)]
    return text[:start] + "\n".join(lines) + "\n" + text[start + found.end():]


def write(head: str, rows: dict[str, str], order: Iterable[str], page: Path = PAGE) -> None:
    """Write rows to a table of the page."""
    text = page.read_text(encoding="utf-8")
    page.write_text(merged(text, head, rows, order), encoding="utf-8")
