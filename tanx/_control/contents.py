"""Calls of compiled functions on references: they read the contents and write them back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._core.refs import is_ref

__all__ = ["run_on_contents"]


def run_on_contents(run: Callable, operands: Sequence, written: tuple[int, ...]) -> list:
    """Run a function on the contents of references, and replace those at ``written``."""
    outs = run(*[x._content if is_ref(x) else x for x in operands])
    count = len(outs) - len(written)
    for i, content in zip(written, outs[count:]):
        operands[i]._content = content
    held = {id(x._content): x for x in operands if is_ref(x)}
    return [held[id(y)].load() if id(y) in held else y for y in outs[:count]]
