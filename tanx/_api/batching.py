"""The public ``vmap``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.traceback import boundary
from .._core.explicit import divided_lanes, dividing
from .._core.high import MappingSpec
from .._core.linear import Zero
from .._core.naming import leaf_names, name_of, wraps
from .._core.refs import check_distinct, is_ref
from .._core.types import NUMBERS, is_arraylike, typeof
from .._ops.base import as_array
from .._transforms.vmap import Axis, mapped_types, to_axis
from ..errors import explain
from ..tree_util import (
    broadcast_prefix,
    keystr,
    prefix_errors,
    register_pytree_node,
    tree_flatten,
    tree_flatten_with_path,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from .arguments import check_callable, check_leaves, result_leaves
from .chunks import Chunks

__all__ = ["axes_of", "vmap"]


def vmap(fun: Callable, in_axes=0, out_axes: Any = 0, axis_name=None, axis_size: int | None = None,
         spmd_axis_name=None, sum_match: bool = False, *, chunk_size: int | None = None,
         memory_budget: int | None = None) -> Callable:
    """Map a function over an axis of its arguments, all at once.

    ``in_axes`` says which axis of each argument to map: an int, None (not mapped), or a tuple with
    one entry per argument, each of which may be a pytree that is a prefix of the argument.
    ``out_axes`` says where the mapped axis goes in the results. Keyword arguments are mapped along
    axis 0. ``axis_name`` lets collectives such as ``lax.psum`` name the axis; ``axis_size``
    is needed only if nothing is mapped.

    ``chunk_size`` is the number of lanes that run at once, one chunk after another, which bounds
    the memory for intermediate values; ``memory_budget`` is a bound in bytes, which determines the
    size of chunks.
    Both give the results of the whole batch, and compile. A gradient of the result stores values of
    all chunks, unless the function is wrapped in :func:`tanx.checkpoint`.

    >>> vmap(lambda x, y: x + y, in_axes=(0, None))(jnp.arange(3), 10)
    Array([10, 11, 12], dtype=int32)
    >>> vmap(lambda x: (x * jnp.ones((9, 9))).sum(), chunk_size=2)(jnp.arange(3))
    Array([  0.,  81., 162.], dtype=float32)
    """
    check_callable("tanx.vmap", fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, int | tuple | MappingSpec)):
        raise TypeError(explain(
            "tanx.vmap", "in_axes must be an int, None, or a tuple with one entry per argument.",
            f"in_axes: {in_axes!r}"))
    chunks = Chunks(chunk_size, memory_budget, axis_name)

    @boundary
    @wraps(fun)
    def mapped(*args, **kwargs):
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(explain(
                "tanx.vmap", "in_axes must have one entry for each positional argument.",
                f"in_axes:   {in_axes}", f"arguments: {len(args)} passed to {name_of(fun)}"))
        if mapped_types:
            _refuse_mapped_types(args, kwargs)
        leaves, in_tree = tree_flatten((args, kwargs))
        if any(type(x) is Zero for x in leaves):  # a library's rule maps its tangents
            hidden = vmap(lambda *a, **k: fun(*_shown(a), **_shown(k)), in_axes, out_axes,
                          axis_name, axis_size, spmd_axis_name, sum_match)
            return hidden(*_hidden(args), **_hidden(kwargs))
        axes = axes_of("tanx.vmap", "in_axes", in_axes, args) + [0] * (
            len(leaves) - tree_structure(args).num_leaves)
        # Leaves that are not mapped may be any objects, such as dtypes and strings.
        check_leaves("tanx.vmap", fun, args, kwargs, [
            0 if axis is None else x for x, axis in zip(leaves, axes)])
        leaves = [x if axis is None and (type(x) in NUMBERS or not is_arraylike(x))
                  or is_ref(x) else as_array(x)
                  for x, axis in zip(leaves, axes)]
        check_distinct("tanx.vmap", leaves)
        size = _mapped_size(fun, args, kwargs, leaves, axes, axis_size)
        dims = [*map(_from_front, axes, leaves)]
        out_tree: Any = None
        zeros = False

        def flat(*xs):
            nonlocal out_tree, zeros
            given, keywords = tree_unflatten(in_tree, xs)
            found = fun(*given, **keywords)
            outs, out_tree = result_leaves("tanx.vmap", fun, found)
            zeros = any(type(x) is Zero for x in outs)
            if zeros:
                outs, out_tree = tree_flatten(_hidden(found))
            if any(map(is_ref, outs)):
                raise ValueError(explain("tanx.vmap", f"{name_of(fun)} returns a reference.",
                                         hint="return its content: ref[...]."))
            return outs

        divided = divided_lanes("tanx.vmap", leaves, dims)
        outs, out_dims = chunks.batch(flat, Axis(axis_name, size, divided), leaves, dims)
        result = tree_unflatten(out_tree, outs)
        places = axes_of("tanx.vmap", "out_axes", out_axes, result)
        _check_mapped(result, out_dims, places)
        with dividing(divided):
            result = tree_unflatten(out_tree, [
                _placed(x, d, size, place) for x, d, place in zip(outs, out_dims, places)])
        return _shown(result) if zeros else result
    return mapped


class _HiddenZero:
    """A tangent known to be zero, as a part of a pytree without leaves."""

    def __init__(self, zero: Zero):
        self.zero = zero


register_pytree_node(_HiddenZero, lambda x: ((), x.zero), lambda zero, _: _HiddenZero(zero))


def _hidden(tree):
    return tree_map(lambda x: _HiddenZero(x) if type(x) is Zero else x, tree)


def _shown(tree):
    return tree_map(lambda x: x.zero if type(x) is _HiddenZero else x, tree,
                    is_leaf=lambda x: type(x) is _HiddenZero)


def _from_front(axis, x):
    """An axis counted from the front."""
    return axis + typeof(x).ndim if isinstance(axis, int) and axis < 0 else axis


def _check_mapped(result, dims, places) -> None:
    """Check that ``out_axes`` has an axis for each output that depends on the mapped axis.

    Libraries match the words of the rule, and the path.
    """
    paths = tree_flatten_with_path(result)[0] if None in places else ()
    for (path, x), dim, place in zip(paths, dims, places):
        if place is None and isinstance(dim, int):
            raise ValueError(explain(
                "tanx.vmap", f"at vmap out_axes{keystr(path)}, got axis spec None but output was "
                f"batched on axis {dim}.", f"output: {typeof(x)}",
                hint="give an integer in out_axes for outputs that depend on the mapped axis."))


def _placed(x, dim, size: int, place):
    if isinstance(place, MappingSpec) or isinstance(dim, MappingSpec):
        if place != dim:
            raise ValueError(explain(
                "tanx.vmap", "out_axes must state how an output of a high type is mapped.",
                f"output:   {typeof(x)}, mapped by {dim}", f"out_axes: {place}"))
        return x
    if place is not None:
        rank = typeof(x).ndim + (dim is None)
        if not -rank <= place < rank:
            raise ValueError(explain(
                "tanx.vmap", f"out_axes names axis {place} of an output that has {rank}, "
                "including the mapped one.", f"output: {typeof(x)}"))
    return to_axis(x, dim, size, place)


def _refuse_mapped_types(args, kwargs) -> None:
    """Raise if an argument is of a class that defines its own functions for mapping."""
    parts = tree_flatten((args, kwargs), is_leaf=lambda x: type(x) in mapped_types)[0]
    found = next((type(x) for x in parts if type(x) in mapped_types), None)
    if found is not None:
        raise NotImplementedError(explain(
            "tanx.vmap", "a class with its own functions for mapping is not supported.",
            f"class: {found.__name__}",
            hint="map over the arrays that it holds, or register it as a pytree alone."))


def axes_of(function: str, what: str, axes, tree) -> list[int | None]:
    """One axis per leaf, from a pytree of axes that is a prefix of ``tree``."""
    if axes is None or type(axes) is int:
        return [axes] * tree_structure(tree).num_leaves
    is_none = _is_none
    for axis in tree_flatten(axes, is_leaf=is_none)[0]:
        if isinstance(axis, bool) or not (axis is None or isinstance(axis, int | MappingSpec)):
            raise TypeError(explain(
                function, f"{what} must hold integers and None only.", f"found: {axis!r:.100}"))
    try:
        return broadcast_prefix(axes, tree, is_leaf=is_none)
    except ValueError as error:
        details = prefix_errors(axes, tree, is_leaf=is_none)
        why = str(details[0](what)) if details else str(error)
        raise ValueError(explain(
            function, f"{what} must be a prefix of the structure it describes.", why)) from None


def _is_none(x) -> bool:
    return x is None


def _mapped_size(fun, args, kwargs, leaves, axes, axis_size: int | None) -> int:
    sizes: dict[int, list[int]] = {}
    for i, (x, axis) in enumerate(zip(leaves, axes)):
        if axis is None or isinstance(axis, MappingSpec):
            continue
        aval = typeof(x)
        if aval.is_high:
            raise ValueError(explain(
                "tanx.vmap", f"values of type {aval} have no axis {axis}.",
                f"argument {leaf_names(fun, args, kwargs)[i]}: {aval}",
                hint="give a MappingSpec of the type in in_axes, and axis_size."))
        if not -aval.ndim <= axis < aval.ndim:
            raise ValueError(explain(
                "tanx.vmap", f"asked to map axis {axis} of an array that has "
                f"{aval.ndim} dimensions.",
                f"argument {leaf_names(fun, args, kwargs)[i]}: {aval}",
                hint="use in_axes=None for arguments that are not mapped."))
        sizes.setdefault(aval.shape[axis], []).append(i)
    if axis_size is not None:
        sizes.setdefault(axis_size, [])
    if not sizes:
        raise ValueError(explain(
            "tanx.vmap", "nothing is mapped: in_axes is None for every argument."
            if all(axis is None for axis in axes)
            else "nothing is mapped that has a size: no entry of in_axes is an integer.",
            hint="give axis_size, or an integer in in_axes."))
    if len(sizes) > 1:
        names = leaf_names(fun, args, kwargs)
        facts = [f"axis {axes[i]} of {names[i]}: size {n}, of {typeof(leaves[i])}"
                 for n, where in sizes.items() for i in where[:4]]
        if axis_size is not None:
            facts.append(f"axis_size: {axis_size}")
        raise ValueError(explain(
            "tanx.vmap", "vmap got inconsistent sizes for array axes to be mapped.", *facts,
            hint="use in_axes=None for arguments that are not mapped."))
    return next(iter(sizes))

