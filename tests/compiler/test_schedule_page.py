"""The documentation shows the current schedules of its programs.

``python -m tests.compiler.test_schedule_page --write`` prints them into the page anew.
"""

import argparse
import contextlib
import io
import re
from pathlib import Path

import pytest

from tanx._compiler.machine import Machine, as_host

PAGE = Path(__file__).parents[2] / "docs" / "compilation.md"
MACHINE = Machine("x86_64-unknown-linux-gnu", "x86-64-v4", "+avx512f,+avx512vl,+fma", 512)
"""The machine of the schedules in the page, independent of the machine that runs tests."""
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SCHEDULE = re.compile(r"^```schedule\n# (.*?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def names_of(page: str) -> dict:
    """The names that the examples of a page define."""
    names: dict = {}
    for code in _PYTHON.findall(page):
        if "def " in code or "import" in code:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(code, names)
    return names


def printed(example: str, names: dict) -> str:
    """The schedule of an expression that returns a lowered program."""
    with as_host(MACHINE):
        return eval(example, names).as_text("schedule") + "\n"


def renewed(page: str) -> str:
    """The page with the current schedules of its examples."""
    names = names_of(page)
    return _SCHEDULE.sub(lambda found: (
        f"```schedule\n# {found[1]}\n{printed(found[1], names)}```"), page)


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text(encoding="utf-8")


def test_the_page_shows_the_schedules_of_its_examples(page):
    shown = [block for _, block in _SCHEDULE.findall(page)]
    assert shown == [block for _, block in _SCHEDULE.findall(renewed(page))]


@pytest.mark.parametrize("example, words", {
    "softmax": ["tasks", "max(k in 1000 vector(", "add(k in 1000 vector(", "for j in 1000 vector("],
    "transpose": ["tasks", "vector(16)", "transposed(16 x 16) in blocks("],
    "layer": ["tasks", "tiles(", "units(", "tanh", "then vector("],
    "running": ["sequential; scan along vectors("],
    "down": ["scan across vectors(", "vector("],
    "columns": ["columns("],
    "times_vector": ["rows("],
}.items())
def test_each_shows_vectors_tiles_and_tasks(page, example, words):
    shown = "\n".join(block for code, block in _SCHEDULE.findall(page) if f"({example})" in code)
    assert shown and all(word in shown for word in words), shown


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    text = renewed(PAGE.read_text(encoding="utf-8"))
    if parser.parse_args().write:
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text)
