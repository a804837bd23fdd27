"""Functions that run at a given place, with results in given memory spaces."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import tree_util
from .._control.regions import compute_on_p, fused_call_p, region
from .._core.array import Array
from .._core.spaces import MemorySpace
from ..errors import explain
from .placement import device_put

__all__ = ["compute_on", "fused"]


def compute_on(f: Callable | None = None, *, compute_type: str, out_memory_spaces: Any,
               compiler_options: Mapping[str, Any] | None = None) -> Callable:
    """A function that runs on the host of the device, with results in given memory spaces.

    ``compute_type`` is ``"device_host"``, ``"device"``, ``"tpu_sparsecore"``, ``"gpu_stream:1"`` or
    another stream; the CPU is its own host, and has no other place. ``out_memory_spaces`` is a
    ``tanx.memory.Space``, or a pytree of them that is a prefix of the results. Without a function,
    returns a decorator.

    >>> from tanx.experimental.compute_on import compute_on
    >>> on_host = compute_on(lambda x: 2 * x, compute_type="device_host",
    ...                      out_memory_spaces=tanx.memory.Space.Device)
    >>> on_host(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    if f is None:
        return functools.partial(compute_on, compute_type=compute_type,
                                 out_memory_spaces=out_memory_spaces,
                                 compiler_options=compiler_options)
    name = "tanx.experimental.compute_on.compute_on"
    if not re.fullmatch(r"device|device_host|tpu_sparsecore|gpu_stream:\w+", str(compute_type)):
        raise ValueError(explain(
            name, "there is no such type of computation.", f"compute_type: {compute_type!r}",
            "known:        device_host, device, tpu_sparsecore, gpu_stream:<number>"))
    options = None if compiler_options is None else repr(dict(compiler_options))

    def spaces(out_tree) -> tuple[MemorySpace, ...]:
        return _spaces(name, out_memory_spaces, out_tree)
    return region(
        compute_on_p, f, lambda tree: dict(compute_type=compute_type, compiler_options_json=options,
                                           out_memory_spaces=spaces(tree)),
        lambda outs, tree: _placed(outs, spaces(tree)))


def fused(*, out_spaces: Sequence[MemorySpace]) -> Callable[[Callable], Callable]:
    """A decorator for functions that should be one kernel, with results in given memory spaces.

    ``out_spaces`` has one for each array of the results. tanx always compiles a function to as few
    kernels as it can.

    >>> from tanx.experimental.fused import fused
    >>> fused(out_spaces=(tanx.memory.Space.Device,))(lambda x: 2 * x)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    spaces = tuple(out_spaces)

    def checked(out_tree) -> dict[str, Any]:
        if len(spaces) != out_tree.num_leaves:
            raise ValueError(explain(
                "tanx.experimental.fused.fused", "needs one space for each array of the results.",
                f"spaces:  {len(spaces)}", f"results: {out_tree.num_leaves}"))
        return {"out_spaces": _spaces("tanx.experimental.fused.fused", list(spaces),
                                      tree_util.tree_structure(list(spaces)))}

    return lambda f: region(fused_call_p, f, checked, lambda outs, _: _placed(outs, spaces))


def _spaces(name: str, spaces: Any, out_tree) -> tuple[MemorySpace, ...]:
    """A space for each leaf of the results."""
    results = tree_util.tree_unflatten(out_tree, range(out_tree.num_leaves))
    found = tree_util.broadcast_prefix(spaces, results)
    for space in found:
        if not isinstance(space, MemorySpace):
            raise ValueError(explain(name, "a place of results must be a tanx.memory.Space.",
                                     f"got: {space!r:.100}"))
    return tuple(found)


def _placed(outs: list, spaces: Sequence[MemorySpace]) -> list:
    """Results in the requested spaces; traced ones are in no memory yet."""
    return [device_put(x, space) if type(x) is Array else x for x, space in zip(outs, spaces)]
