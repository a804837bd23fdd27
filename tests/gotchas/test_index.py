"""The index of docs/gotchas lists every page, and every page has a test file with its name."""

import re
from pathlib import Path

from tests.gotchas.pages import FOLDER

PAGES = {path.stem for path in FOLDER.glob("[0-9]*.md")}


def test_the_index_links_to_every_page_and_to_nothing_else():
    linked = re.findall(r"\]\((\d\w+)\.md\)", (FOLDER / "README.md").read_text(encoding="utf-8"))
    assert set(linked) == PAGES


def test_every_page_has_its_tests():
    tested = {path.stem.removeprefix("test_")
              for path in Path(__file__).parent.glob("test_[0-9]*.py")}
    assert tested == PAGES
