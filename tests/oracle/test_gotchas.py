"""JAX has the traps: its half of each page of docs/gotchas, run on JAX."""

import pytest

from tests.gotchas import pages

TRAPS = [path.stem for path in sorted(pages.FOLDER.glob("[0-9]*.md"))
         if any(pages.blocks(path.stem, rival=True))]


@pytest.mark.oracle
@pytest.mark.parametrize("page", TRAPS)
def test_jax_behaves_as_the_page_says(page):
    pytest.importorskip("jax")
    pages.run(page, rival=True)
