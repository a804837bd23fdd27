"""The result of ``tanx.explain``: an explanation, as text and as a page."""

from __future__ import annotations

import functools
import html
import os
from collections.abc import Callable
from pathlib import Path

from .._base.traceback import boundary
from .._core.naming import name_of
from .facts import Facts
from .gather import gather, jitted
from .page import as_page
from .text import as_text

__all__ = ["Explanation", "explain"]


class Explanation:
    """The compiled form of one call of a function.

    Printed, it is one screen of text. :meth:`save` writes all of it as a page, a single HTML file
    that needs no network; notebooks show that page.
    """

    def __init__(self, facts: Facts):
        self._facts = facts

    @functools.cached_property
    def text(self) -> str:
        """One screen: at most 40 lines of 80 columns."""
        return as_text(self._facts)

    @functools.cached_property
    def html(self) -> str:
        """The page: a separate document."""
        return as_page(self._facts)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, and return its path."""
        path = Path(path)
        path.write_text(self.html, encoding="utf-8")
        return path

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Explanation of {self._facts.function}>"

    def _repr_html_(self) -> str:
        """The page in a frame, so that its style does not affect a notebook's."""
        return (f'<iframe title="tanx.explain" style="width:100%;height:80vh;border:0" '
                f'srcdoc="{html.escape(self.html)}"></iframe>')


def explain(fun: Callable) -> Callable[..., Explanation]:
    """A function of the arguments of ``fun`` that explains a call; see ``tanx.explain``."""
    function, before = jitted(fun)

    @boundary
    def explained(*args, **kwargs) -> Explanation:
        return Explanation(gather(function, (*before, *args), kwargs).facts)

    explained.__name__ = explained.__qualname__ = f"explain({name_of(fun)})"
    return explained
