"""The examples of the documentation print the text that it shows."""

import contextlib
import io
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def pairs(text: str):
    """Blocks of Python, each with the text that follows it as its expected output."""
    blocks = [match.groups() for match in _BLOCK.finditer(text)]
    for (kind, code), (following, output) in zip(blocks, [*blocks[1:], ("", "")]):
        if kind == "python":
            yield code, output if following == "text" else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_examples_print_the_documented_output(page):
    names: dict = {}
    text = page.read_text(encoding="utf-8")
    if "from tanx.extend import c_function" in text and shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    with np.printoptions():  # restores options that a page sets
        for code, expected in pairs(text):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, str(page), "exec"), names)
            assert printed.getvalue() == expected


def test_the_pages_are_there():
    assert len(PAGES) > 1 and all(page.exists() for page in PAGES)
