"""``jit`` with shardings for its arguments and results."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from types import MethodType
from typing import Any

from .._base.traceback import boundary
from .._core.array import Array
from .._core.explicit import is_divided
from .._core.sharding import NamedSharding, Sharding, named
from .._core.spec import PartitionSpec
from .._core.types import ShapeDtypeStruct, typeof
from .._ops.annotations import laid_out
from ..errors import explain
from ..tree_util import broadcast_prefix, prefix_errors, tree_flatten, tree_unflatten
from .wrapped import Wrapped

__all__ = ["ShardedFunction", "targets_for"]


class ShardedFunction(Wrapped):
    """A jitted function with requested shardings of arguments and results."""

    def __init__(self, function: Any, in_shardings, out_shardings):
        functools.update_wrapper(self, function)
        self._function, self._in, self._out = function, in_shardings, out_shardings

    def __get__(self, instance, owner=None):
        return self if instance is None else MethodType(self, instance)

    @boundary
    def __call__(self, *args, **kwargs):
        given = [] if self._in is None else self._check(args, kwargs)
        result = self._function(*args, **kwargs)
        return self._place(result, given)

    def _check(self, args: tuple, kwargs: dict) -> list[Sharding | None]:
        """The shardings that are stated for the arguments."""
        if kwargs:
            raise ValueError(explain(
                "tanx.jit", "in_shardings are for positional arguments, not for keywords.",
                f"keywords: {', '.join(kwargs)}", hint="pass all arguments by position."))
        static = {i % len(args) for i in self._function._static if -len(args) <= i < len(args)}
        given = tuple(x for i, x in enumerate(args) if i not in static)
        shardings = tuple(self._in) if isinstance(self._in, list) else self._in
        if isinstance(shardings, tuple) and len(shardings) != len(given):
            raise ValueError(explain(
                "tanx.jit", "in_shardings must have one entry for each argument but static ones.",
                f"in_shardings: {len(shardings)}", f"arguments:    {len(given)}"))
        targets = targets_for("tanx.jit", "in_shardings", shardings, given)
        for x, target in zip(tree_flatten(given)[0], targets):
            if target is not None:
                target.check_compatible_aval(typeof(x).shape)
                target.shard_shape(typeof(x).shape)
        return targets

    def _place(self, result, given: Sequence[Sharding | None] = ()):
        """The result with ``out_shardings``; otherwise whole on the named mesh."""
        leaves, tree = tree_flatten(result)
        targets = targets_for("tanx.jit", "out_shardings", self._out, result)
        mesh = next((t.mesh for t in (*given, *targets) if isinstance(t, NamedSharding)), None)
        for k, (x, target) in enumerate(zip(leaves, targets, strict=True)):
            if target is None and mesh is not None and type(x) is Array and not (
                    x._device is not None or is_divided(x.aval)):
                leaves[k] = laid_out(x, NamedSharding(mesh, PartitionSpec()))
            elif target is not None:
                target.check_compatible_aval(typeof(x).shape)
                if type(x) is ShapeDtypeStruct:
                    leaves[k] = x.update(sharding=target)
                else:
                    leaves[k] = laid_out(x, target) if type(x) is Array else x
        return tree_unflatten(tree, leaves)

    def with_out_shardings(self, result):
        """The types of results for ``eval_shape``, with their shardings."""
        return self._place(result)

    @boundary
    def eval_shape(self, *args, **kwargs):
        return self.with_out_shardings(super().eval_shape(*args, **kwargs))

    @boundary
    def trace(self, *args, **kwargs):
        from .aot import Traced  # late: most functions are just called
        given = [] if self._in is None else self._check(args, kwargs)
        program = self._function.trace(*args, **kwargs)._program
        results = tree_unflatten(program.out_tree, [0] * program.out_tree.num_leaves)
        return Traced(replace(
            program, in_shardings=tuple(given),
            out_shardings=tuple(targets_for("tanx.jit", "out_shardings", self._out, results))))

    def clear_cache(self) -> None:
        """Drop everything staged for this function."""
        self._function.clear_cache()

    def _cache_size(self) -> int:
        return self._function._cache_size()

    def __repr__(self) -> str:
        return repr(self._function)


def targets_for(function: str, what: str, shardings: Any, tree) -> list[Sharding | None]:
    """A sharding or None for each leaf, from a pytree of them that is a prefix of ``tree``."""
    try:
        flat = broadcast_prefix(shardings, tree, is_leaf=_is_none)
    except ValueError as error:
        details = prefix_errors(shardings, tree, is_leaf=_is_none)
        why = str(details[0](what)) if details else str(error)
        raise ValueError(explain(
            function, f"{what} must be a prefix of the structure it describes.", why)) from None
    targets = [named(_without_layout(target, function, what), function) for target in flat]
    for target in targets:
        if target is not None and not isinstance(target, Sharding):
            raise TypeError(explain(
                function, f"{what} must hold shardings, PartitionSpecs, Formats and None only.",
                f"found: {target!r:.100}"))
    return targets


def _without_layout(target, function: str, what: str):
    """The sharding of a ``Format``; its layout must be the one that arrays have, or any."""
    if not (hasattr(target, "layout") and hasattr(target, "sharding")):
        return target
    order = getattr(target.layout, "major_to_minor", ())
    if tuple(order) != tuple(range(len(order))):
        raise NotImplementedError(explain(
            function, "arrays are kept in row-major order only.", f"{what}: {target.layout}"))
    return target.sharding


def _is_none(x) -> bool:
    return x is None
