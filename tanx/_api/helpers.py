"""Small tools for writers of transformations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import dtypes
from .._core.types import ShapedArray, is_arraylike, typeof
from ..errors import explain
from ..tree_util import tree_unflatten
from .batching import axes_of

__all__ = ["donation_vector", "flatten_axes", "is_supported_dtype", "rebase_donate_argnums",
           "safe_map", "shaped_abstractify"]


def shaped_abstractify(x) -> ShapedArray:
    """The type of an array or number.

    >>> shaped_abstractify(1.0)
    ShapedArray(float32[], weak_type=True)
    """
    if not is_arraylike(x):
        raise TypeError(explain("tanx.api_util.shaped_abstractify", "needs an array or a number.",
                                f"value: {x!r:.100} of type {type(x).__name__}"))
    return typeof(x)


def flatten_axes(name: str, treedef, axis_tree, *, kws: bool = False,
                 tupled_args: bool = False) -> list[int | None]:
    """One axis for each leaf of a structure, from a pytree of axes that is a prefix of it.

    ``name`` is the name of the pytree in messages; with ``kws``, keyword arguments, the second part
    of the structure, get axis 0.

    >>> flatten_axes("in_axes", tanx.tree.structure({"a": 1, "b": (2, 3)}), {"a": 0, "b": None})
    [0, None, None]
    """
    if kws:
        positional, keywords = treedef.children()
        axes = flatten_axes(name, positional, axis_tree, tupled_args=tupled_args)
        return axes + [0] * keywords.num_leaves
    tree = tree_unflatten(treedef, [0] * treedef.num_leaves)
    return axes_of("tanx.api_util.flatten_axes", name, axis_tree, tree)


def safe_map(f: Callable, *args: Iterable) -> list:
    """As ``list(map(f, *args))``, but the iterables must have one length.

    >>> safe_map(lambda x, y: x + y, [1, 2], [3, 4])
    [4, 6]
    """
    return [f(*xs) for xs in zip(*args, strict=True)]


def rebase_donate_argnums(donate_argnums: Iterable[int], static_argnums: Iterable[int],
                          ) -> tuple[int, ...]:
    """Positions of donated arguments among the arguments that are not static.

    >>> rebase_donate_argnums((0, 2), (1,))
    (0, 1)
    """
    static, donated = set(static_argnums), set(donate_argnums)
    if static & donated:
        raise ValueError(explain(
            "tanx.api_util.rebase_donate_argnums", "static_argnums and donate_argnums cannot "
            "intersect: a static argument has no data to donate.",
            f"in both: {', '.join(map(str, sorted(static & donated)))}"))
    return tuple(i - sum(s < i for s in static) for i in sorted(donated))


def donation_vector(donate_argnums: Iterable[int], donate_argnames: Iterable[str], in_tree,
                    kws: bool = True) -> tuple[bool, ...]:
    """For each leaf of the arguments whether it is donated.

    ``in_tree`` is the structure of the pair of positional and keyword arguments, or without
    ``kws`` that of the tuple of positional ones.

    >>> from tanx import tree
    >>> donation_vector((0,), ("m",), tree.structure(((1, 2), {"k": 3, "m": (4, 5)})))
    (True, False, False, True, True)
    """
    positional, keywords = in_tree.children() if kws else (in_tree, None)
    numbers, names = set(donate_argnums), set(donate_argnames)
    parts = [(i in numbers, tree) for i, tree in enumerate(positional.children())]
    if keywords is not None:
        _, keys = keywords.node_data()
        parts += [(key in names, tree) for key, tree in zip(keys, keywords.children(), strict=True)]
    return tuple(donated for donated, tree in parts for _ in range(tree.num_leaves))


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of a dtype can be exchanged by DLPack.

    >>> is_supported_dtype("float32"), is_supported_dtype("int4")
    (True, False)
    """
    try:
        np.zeros(0, dtypes.dtype(dtype)).__dlpack__()
    except BufferError:
        return False
    return True
