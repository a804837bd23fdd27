"""Runs the pages of docs/gotchas: a block must print the text that follows it."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "gotchas"
_BLOCK = re.compile(r"^```(\w+)( jax)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: str, rival: bool = False) -> Iterator[tuple[str, str]]:
    """Each Python block of a page with its expected output; ``rival`` selects those for JAX.

    Lines have the same numbers as in the page, and messages can show them.
    """
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    linecache.cache[f"{page}.md"] = len(text), None, text.splitlines(True), f"{page}.md"
    found = [(block[1], block[3], text[:block.start(3)].count("\n"))
             for block in _BLOCK.finditer(text)
             if bool(block[2]) == rival and block[1] in ("python", "text")]
    for (kind, code, before), (following, output, _) in zip(found, [*found[1:], ("", "", 0)]):
        if kind == "python":
            yield "\n" * before + code, output if following == "text" else ""


def run(page: str, rival: bool = False) -> dict[str, object]:
    """Run a page's blocks in order, check their output, return their variables."""
    names: dict[str, object] = {"__name__": page}
    ran = 0
    for code, expected in blocks(page, rival):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"{page}.md", "exec", dont_inherit=True), names)
        assert printed.getvalue() == expected
        ran += 1
    assert ran, f"{page} has no code"
    return names
