"""The rows of the table: a call is a line of Python on named operands, run in one of the modes."""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

__all__ = ["ALL", "Call", "each", "lines"]

# All modes except the eager run.
ALL = "jit jaxpr vmap vmap_last jvp vjp"


class Call(NamedTuple):
    """``text`` is an expression in ``jax``, ``jnp``, ``lax``, ``np`` and names of operands."""

    text: str
    mode: str = "eager"

    @property
    def group(self) -> str:
        """The function under test: the first public name in the text."""
        found = re.search(r"\b(jnp|lax|jax|tree_util|dtypes)(\.[a-z]\w*)+", self.text)
        return found[0] if found else "Array"


def each(pattern: str, modes: str = "eager", **choices) -> list[Call]:
    """The calls for all values of the names in ``pattern``: lists, or words in a text."""
    options = [c.split() if isinstance(c, str) else c for c in choices.values()]
    texts = [pattern.format(**dict(zip(choices, chosen))) for chosen in itertools.product(*options)]
    return [Call(text, mode) for text in texts for mode in modes.split()]


def lines(text: str, modes: str = "eager") -> list[Call]:
    """One call per line; other modes than ``modes`` follow after ``##``."""
    calls = []
    for line in filter(None, map(str.strip, text.splitlines())):
        call, _, own = line.partition("##")
        calls += [Call(call.strip(), mode) for mode in (own or modes).split()]
    return calls
