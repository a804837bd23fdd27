"""The values that a pullback saves: unchanged arguments, in their structure, and others.

Arguments that the backward pass reads unchanged can be omitted from the saved state and restored
before it runs, so that saved backward passes do not each hold a copy of the weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import explain
from ..tree_util import (
    PyTreeDef,
    register_static,
    tree_flatten,
    tree_structure,
    treedef_is_leaf,
)
from .markers import Mark

__all__ = ["NotNeeded", "NotSaveable", "Saved", "merged", "parted", "spread"]


@register_static
class NotNeeded(Mark):
    """A placeholder for an argument that the backward pass does not read."""


@register_static
class NotSaveable(Mark):
    """A placeholder for an argument that the backward pass reads and that is not saved."""


class Saved(tuple):
    """For each residual the number of the argument that it is, or None."""


def parted(residuals: Sequence[Any], leaves: Sequence[Any], in_tree: PyTreeDef,
           saveable: Sequence[bool]) -> tuple[Saved, list, list]:
    """The source of each residual, the arguments among them in tuples, and the other residuals."""
    numbers = {id(x): i for i, x in enumerate(leaves)}
    places = Saved(numbers.get(id(x)) for x in residuals)
    read = {*places}
    found: list[Any] = [NotNeeded() if i not in read else x if keep else NotSaveable()
                        for i, (x, keep) in enumerate(zip(leaves, saveable, strict=True))]
    values = iter(found)
    return (places, [_mirrored(child, values) for child in in_tree.children()],
            [x for x, place in zip(residuals, places) if place is None])


def _mirrored(tree: PyTreeDef, leaves: Iterator[Any]) -> Any:
    """Leaves in tuples that have the structure of a tree."""
    if _is_leaf(tree):
        return next(leaves)
    return tuple(_mirrored(child, leaves) for child in tree.children())


def _is_leaf(tree: PyTreeDef) -> bool:
    """Whether a tree is a leaf; ``treedef_is_leaf`` is also true for empty containers."""
    return treedef_is_leaf(tree) and tree.num_leaves == 1


def merged(places: Saved, args_res: Sequence[Any], others: Sequence[Any], in_tree: PyTreeDef,
           names: Sequence[str]) -> list:
    """The residuals, in order; an error if an argument was not restored."""
    leaves = tree_flatten(list(args_res), is_leaf=lambda x: isinstance(x, Mark))[0]
    if len(leaves) != in_tree.num_leaves:
        raise ValueError(explain(
            "tanx.vjp", "args_res must have a value for each leaf of the arguments.",
            f"arguments: {in_tree}", f"args_res:  {len(leaves)} leaves"))
    missing = [names[i] for i in sorted({p for p in places if p is not None})
               if isinstance(leaves[i], Mark)]
    if missing:
        raise ValueError(explain(
            "tanx.vjp", "the pullback was called before arguments that it needs were restored.",
            f"arguments: {', '.join(missing)}",
            hint="saveable_args omitted them: pull.args_res[0] = value restores one."))
    rest = iter(others)
    return [next(rest) if place is None else leaves[place] for place in places]


def spread(function: str, wanted: Any, tree: PyTreeDef) -> list[bool]:
    """One boolean for each leaf, from containers of the structure of the tree."""
    if isinstance(wanted, bool):
        return [wanted] * tree.num_leaves
    parts = tree_flatten(wanted, is_leaf=lambda x: x is not wanted)[0]
    children = tree.children()
    if _is_leaf(tree_structure(wanted)) or len(parts) != len(children):
        raise ValueError(explain(
            function, "saveable_args must be booleans in containers like those of the arguments.",
            f"found:     {wanted!r:.100}", f"arguments: {tree}"))
    return [keep for one, child in zip(parts, children) for keep in spread(function, one, child)]
