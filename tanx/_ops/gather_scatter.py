"""Gather reads windows of an array at computed places; scatter updates such windows.

All of NumPy's indexing is built on them. Each is the transpose of the other, so both are here;
:mod:`.gather_geometry` computes the places of windows.
"""

from __future__ import annotations

from functools import cache, lru_cache
from math import prod

import numpy as np

from .. import dtypes
from .._base.axes import canonical_axes
from .._base.tuples import NamedTuple
from .._core.array import Array
from .._core.explicit import sharding_error
from .._core.jaxpr import ClosedJaxpr, Jaxpr
from .._core.linear import Zero, is_linear, linear_in, never
from .._core.primitive import Kind, Primitive, parameter
from .._core.stage import stage
from .._core.trace import Tracer
from .._core.types import ShapedArray, canonical_shape, typeof
from .._loops import build, instructions
from ..errors import explain
from . import scalars
from .arith import add, add_p, div, mul, mul_p, neg, sub_p
from .base import batch_size, broadcast_in_dim, materialize, reshape, to_front
from .bits import bitwise_or
from .compare import eq, lt, ne, select, select_n
from .convert import cast
from .create import full, full_like, iota
from .derive import sum_cotangents, zeros_of
from .extremes import Extreme, maximum, minimum
from .gather_geometry import (
    GatherDimensionNumbers,
    GatherScatterMode,
    Geometry,
    Mismatch,
    as_int64,
    clipped,
    divided_windows,
    geometry,
    inside,
    positions,
    take_windows,
    window_index,
)
from .layout import expand_dims, same_dtype
from .magnitude import max_p, min_p, rem
from .operands import letter, like
from .slicing import concatenate

__all__ = ["ScatterDimensionNumbers", "gather", "gather_p", "index_take", "scatter", "scatter_add",
           "scatter_add_p", "scatter_apply", "scatter_max", "scatter_max_p", "scatter_min",
           "scatter_min_p", "scatter_mul", "scatter_mul_p", "scatter_p", "scatter_sub",
           "scatter_sub_p"]


class Gather(Primitive):
    """Reads windows of the operand at places given by indices."""

    name = "gather"
    kind = Kind.GATHER

    def infer(self, x, indices, *, dimension_numbers, slice_sizes, unique_indices,
              indices_are_sorted, mode, fill_value):
        if letter(indices.dtype) not in "iu":
            raise ValueError(explain("tanx.lax.gather", "indices must be integers.",
                                     f"operand: {x}", f"indices: {indices}"))
        try:
            geo = geometry(x.shape, indices.shape, dimension_numbers, slice_sizes)
        except Mismatch as broken:
            raise TypeError(explain(
                "tanx.lax.gather", str(broken), f"operand:           {x}",
                f"indices:           {indices}", f"slice_sizes:       {slice_sizes}",
                f"dimension_numbers: {dimension_numbers}")) from None
        return ShapedArray(geo.shape, x.dtype, x.weak_type)

    def divided(self, x, indices, *, dimension_numbers, slice_sizes, **params):
        geo = geometry(x.shape, indices.shape, dimension_numbers, slice_sizes)
        entries = divided_windows(x, indices, geo, slice_sizes)
        if entries is None:
            raise sharding_error(
                self, "it is ambiguous how the result is divided.", [x, indices],
                hint="x.at[...].get(out_sharding=tanx.P(...)) decides it.")
        return entries

    def eval(self, x, indices, *, dimension_numbers, slice_sizes, unique_indices,
             indices_are_sorted, mode, fill_value):
        geo = geometry(x.shape, indices.shape, dimension_numbers, slice_sizes)
        indices = as_int64(indices)
        fill = fill_of(mode, fill_value, x.dtype)
        valid = None if fill is None else inside(indices, geo)
        if fill is None or valid is not None:
            indices = clipped(indices, geo)
        out = np.asarray(take_windows(x, indices, geo, slice_sizes))
        if valid is not None:
            if np.may_share_memory(out, x) or not out.flags.writeable:
                out = out.copy()
            out[~valid] = fill
        return out if not geo.batch_dims or not geo.offset_dims else out.transpose(geo.to_result)

    def jvp(self, primals, tangents, **params):
        out = self.bind(*primals, **params)
        (dx, _), (_, indices) = tangents, primals
        if type(dx) is Zero:
            return out, Zero.tangent_of(out)
        if params["mode"] is GatherScatterMode.FILL_OR_DROP:
            params["fill_value"] = 0
        return out, self.bind(dx, indices, **params)

    def transpose(self, ct, x, indices, *, dimension_numbers, slice_sizes, unique_indices,
                  indices_are_sorted, mode, fill_value):
        zeros = zeros_of(x.aval.strip_weak_type())
        return [scatter_add(zeros, indices, ct, ScatterDimensionNumbers(*dimension_numbers),
                            indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
                            mode=mode), None]

    def transpose_into(self, refs, ct, x, indices, *, dimension_numbers, slice_sizes,
                       unique_indices, indices_are_sorted, mode, fill_value):
        # Indexers of references treat indices outside in one way only, scatters as ``mode`` says.
        refs[0].set(scatter_add(
            refs[0].get(), indices, ct, ScatterDimensionNumbers(*dimension_numbers),
            indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode))
        return [None, None]

    def batch(self, args, dims, *, dimension_numbers, slice_sizes, **params):
        (x, indices), (xd, indices_dim) = args, dims
        x, indices = to_front(x, xd), to_front(indices, indices_dim)
        offset, collapsed, start_map, batching, index_batching = dimension_numbers
        if xd is not None:
            collapsed, start_map, batching = shift(collapsed), shift(start_map), shift(batching)
        if indices_dim is not None:
            index_batching = shift(index_batching)
        if xd is None:
            # Indices of different lanes may coincide.
            params.update(unique_indices=False, indices_are_sorted=False)
            offset = shift(offset)
        elif indices_dim is None:
            offset = (0, *shift(offset))
            slice_sizes = (typeof(x).shape[0], *slice_sizes)
        else:
            offset, batching, index_batching = shift(offset), (0, *batching), (0, *index_batching)
            slice_sizes = (min(1, batch_size(args, dims)), *slice_sizes)
        numbers = GatherDimensionNumbers(offset, collapsed, start_map, batching, index_batching)
        return self.bind(x, indices, dimension_numbers=numbers, slice_sizes=slice_sizes,
                         **params), 0

    def lower(self, at, x, indices, *, dimension_numbers, slice_sizes, unique_indices,
              indices_are_sorted, mode, fill_value):
        geo = geometry(x.shape, indices.shape, dimension_numbers, slice_sizes)
        fill = fill_of(mode, fill_value, x.dtype)
        index, valid = window_index(at, x, indices, geo, slice_sizes, clip=fill is None)
        if valid is None:
            return x[index]
        return build.select(valid, x[index], build.const(fill, x.dtype))


def shift(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions renumbered for a new leading one."""
    return tuple([d + 1 for d in dims])


def fill_of(mode: GatherScatterMode, fill_value, dtype: np.dtype) -> np.ndarray | None:
    """The value read outside of the operand, or None if windows are moved inside."""
    if mode is GatherScatterMode.ONE_HOT:
        return np.zeros((), dtype)
    return cast(np.asarray(fill_value), dtype) if mode is GatherScatterMode.FILL_OR_DROP else None


gather_p = Gather()


def gather(operand, start_indices, dimension_numbers, slice_sizes, *, unique_indices=False,
           indices_are_sorted=False, mode=None, fill_value=None):
    """Read windows of shape ``slice_sizes`` from ``operand`` at ``start_indices``.

    The last dimension of ``start_indices`` holds the components of an index; see
    :class:`GatherDimensionNumbers` for how dimensions correspond. ``mode`` says what happens
    outside of the operand, see :class:`GatherScatterMode`; None promises that windows are inside.
    ``fill_value`` is by default NaN, the least signed or the greatest unsigned integer, or True.
    ``unique_indices`` and ``indices_are_sorted`` are promises that may make derivatives faster.

    >>> numbers = lax.GatherDimensionNumbers(
    ...     offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> lax.gather(jnp.array([[0, 1], [2, 3], [4, 5]]), jnp.array([[2], [0]]), numbers, (1, 2))
    Array([[4, 5],
           [0, 1]], dtype=int32)
    """
    mode = (GatherScatterMode.PROMISE_IN_BOUNDS if mode is None
            else GatherScatterMode.from_any(mode))
    if mode is not GatherScatterMode.FILL_OR_DROP:
        fill_value = None
    elif fill_value is None:
        fill_value = default_fill(typeof(operand).dtype)
    elif isinstance(fill_value, Array | np.ndarray):
        fill_value = fill_value.item()
    return gather_p.bind(
        operand, start_indices, dimension_numbers=canonical_numbers(dimension_numbers),
        slice_sizes=canonical_shape(slice_sizes, "tanx.lax.gather"),
        unique_indices=bool(unique_indices), indices_are_sorted=bool(indices_are_sorted),
        mode=mode, fill_value=fill_value)


def default_fill(dtype: np.dtype):
    """The fill value for missing elements: NaN, an extreme integer, True, or a key of ones."""
    kind = letter(dtype)
    if kind in "fc":
        return float("nan")
    if kind == "b":
        return True
    if kind == "k":
        return _key_of_ones(dtypes.stored(dtype))
    if kind == "e":
        return default_fill(dtypes.stored(dtype))
    return instructions.value_range(dtype)[kind == "u"]


@lru_cache(maxsize=16)
def _key_of_ones(stored: np.dtype):
    """The words of a key with every bit set, as the number that they are stored as."""
    return np.frombuffer(b"\xff" * stored.itemsize, stored)[0].item()


def canonical_numbers(numbers):
    """Dimension numbers as tuples of Python integers, so that they can be hashed and printed."""
    try:
        return _canonical_numbers(type(numbers), numbers)  # type: ignore[arg-type]
    except TypeError:  # lists are not hashable
        return _canonical_numbers.__wrapped__(type(numbers), numbers)


@lru_cache(maxsize=4096)
def _canonical_numbers(kind, numbers):
    return kind(*(tuple(map(int, dims)) for dims in numbers))


def index_take(src, idxs, axes):
    """Read ``src`` along ``axes`` at index arrays ``idxs`` of one dimension, wrapping around.

    The result has one slice for each position of the index arrays.

    >>> lax.index_take(jnp.array([[0, 1], [2, 3], [4, 5]]), (jnp.array([0, -1]),), (0,))
    Array([[0, 1],
           [4, 5]], dtype=int32)
    """
    shape = typeof(src).shape
    axes = canonical_axes("tanx.lax.index_take", axes, typeof(src))

    def wrapped(i, n: int):
        left = rem(i, like(i, n))
        return select_n(lt(left, like(i, 0)), left, add(left, like(i, n)))
    columns = [expand_dims(wrapped(i, shape[d]), (1,)) for i, d in zip(idxs, axes, strict=True)]
    numbers = GatherDimensionNumbers(
        tuple(range(1, 1 + len(shape) - len(axes))), tuple(sorted(axes)), axes)
    sizes = [1 if d in axes else n for d, n in enumerate(shape)]
    return gather(src, concatenate(columns, 1), numbers, sizes)


@parameter
class ScatterDimensionNumbers(NamedTuple):
    """Which dimensions of operand, indices and updates correspond.

    ``update_window_dims`` are the dimensions of the updates that run inside a window; the others
    are those of the indices, in order. ``inserted_window_dims`` are dimensions of the operand along
    which a window has size 1 and that the updates lack. ``scatter_dims_to_operand_dims[k]`` is the
    dimension of the operand that the k-th component of an index refers to.
    ``operand_batching_dims`` of the operand correspond to ``scatter_indices_batching_dims`` of the
    indices.
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


@lru_cache(maxsize=4096)
def window_of(operand: tuple[int, ...], indices: tuple[int, ...], updates: tuple[int, ...],
            numbers: ScatterDimensionNumbers) -> tuple[Geometry, tuple[int, ...]]:
    """The geometry of a scatter and the shape of a window in the operand."""
    absent = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    kept = iter(numbers.update_window_dims)
    sizes = []
    for d, n in enumerate(operand):
        dim = None if d in absent else next(kept, -1)
        sizes.append(min(1, n) if dim is None else
                     updates[dim] if 0 <= dim < len(updates) else -1)
    geo = geometry(operand, indices, GatherDimensionNumbers(*numbers), tuple(sizes))
    if geo.shape != updates:
        raise Mismatch("updates must have the dimensions of the indices and of a window.")
    return geo, tuple(sizes)


class Scatter(Primitive):
    """Replaces windows of the operand, or applies a function to their elements."""

    name = "scatter"
    kind = Kind.STATEMENT
    update_operand = 2
    combine: str | None = None  # the reducer by which a store updates

    @property
    def function(self) -> str:
        """The public name, for messages."""
        return f"tanx.lax.{self.name.replace('-', '_')}"

    def infer(self, x, indices, updates, *, dimension_numbers, update_jaxpr, **params):
        if letter(indices.dtype) not in "iu":
            raise ValueError(explain(self.function, "indices must be integers.",
                                     f"operand: {x}", f"indices: {indices}"))
        same_dtype(self.function, (x, updates))
        try:
            window_of(x.shape, indices.shape, updates.shape, dimension_numbers)
        except Mismatch as broken:
            raise TypeError(explain(
                self.function, str(broken), f"operand:           {x}",
                f"indices:           {indices}", f"updates:           {updates}",
                f"dimension_numbers: {dimension_numbers}")) from None
        return x

    def divided(self, x, indices, updates, *, dimension_numbers, **params):
        geo, sizes = window_of(x.shape, indices.shape, updates.shape, dimension_numbers)
        entries = divided_windows(x, indices, geo, sizes)
        if entries is None or any(given not in (None, e)
                                  for given, e in zip(updates.entries, entries)):
            raise sharding_error(
                self, "it is ambiguous how the result is divided.", [x, indices, updates],
                hint="x.at[...].set(y, out_sharding=tanx.P(...)) decides it.")
        return x.entries

    def eval(self, x, indices, updates, *, dimension_numbers, unique_indices, mode, update_jaxpr,
             **params):
        geo, sizes = window_of(x.shape, indices.shape, updates.shape, dimension_numbers)
        if indices.ndim == 1 and (update_jaxpr is None or self.combine):
            return self._one_window(x, indices.tolist(), updates, geo, sizes, mode)
        indices, only = as_int64(indices), None
        if mode is GatherScatterMode.CLIP:
            indices = clipped(indices, geo)
        else:
            only = inside(indices, geo)
        updates = updates.transpose(geo.batch_dims + geo.offset_dims)
        updates = updates if only is None else updates[only]
        out = np.array(x, order="C")
        if not out.size or not updates.size:
            return out
        row = prod(x.shape[geo.lead:])
        rows: np.ndarray = np.zeros((), np.int64)
        for d, place in enumerate(positions(indices, geo, x.shape, sizes, only)):
            rows = rows * x.shape[d] + place if d else place
        shape = updates.shape[:updates.ndim - (x.ndim - geo.lead)]
        rows = (rows if rows.shape == shape else np.broadcast_to(rows, shape)).reshape(-1)
        self.write(out.reshape(-1, row), rows, updates.reshape(-1, row), update_jaxpr,
                   unique_indices)
        return out

    def _one_window(self, x, start: list[int], updates, geo: Geometry, sizes, mode) -> np.ndarray:
        """The result for a single index, the most common case."""
        out = x.copy()
        window = []
        for n, size, k in zip(x.shape, sizes, geo.starts):
            i = 0 if k is None else start[k]
            if mode is GatherScatterMode.CLIP:
                i = min(max(i, 0), n - size)
            elif not 0 <= i <= n - size:
                return out
            window.append(slice(i, i + size))
        self.put(out, tuple(window), updates.reshape(sizes))
        return out

    def put(self, out, window, updates) -> None:
        """Put updates into a window of ``out``."""
        out[window] = updates

    def write(self, out, rows, updates, update_jaxpr, unique: bool) -> None:
        """Put rows of updates into rows of ``out``."""
        if update_jaxpr is None:
            out[rows] = updates
            return
        hit, times = np.unique(rows, return_counts=True)
        for k in range(int(np.max(times, initial=0))):
            now = hit[times > k]
            (out[now],) = scalars.evaluate(ClosedJaxpr(update_jaxpr), out[now], out[now])

    def jvp(self, primals, tangents, **params):
        if params["update_jaxpr"] is not None:
            raise NotImplementedError(explain(
                "tanx.lax.scatter_apply", "has no jvp rule: the function may be applied to an "
                "element several times.",
                hint="gather the elements, apply the function, and scatter the results."))
        return linear_in(0, 2)(self, primals, tangents, **params)

    def transpose(self, ct, x, indices, updates, **params):
        to_x = to_updates = None
        if is_linear(x):
            zeros = zeros_of(typeof(updates).strip_weak_type())
            to_x = self.bind(ct, indices, zeros, **params)
        if is_linear(updates):
            to_updates = gather_like(ct, indices, updates.shape, params, fill_value=0)
            if not params["unique_indices"]:
                stayed = self._stayed(ct, indices, updates.shape, params)
                to_updates = select(stayed, to_updates, full_like(to_updates, 0))
        return [to_x, None, to_updates]

    def _stayed(self, ct, indices, shape, params):
        """Which elements of the updates are not overwritten by later ones."""
        batch = [p for p in range(len(shape))
                 if p not in params["dimension_numbers"].update_window_dims]
        sizes = [shape[p] for p in batch]
        number = add(iota(np.uint32, prod(sizes)), np.uint32(1))
        number = broadcast_in_dim(reshape(number, sizes), shape, batch)
        last = self.bind(full(typeof(ct).shape, 0, np.uint32), indices, number, **params)
        return eq(number, gather_like(last, indices, shape, params, fill_value=0))

    def batch(self, args, dims, *, dimension_numbers, **params):
        (x, indices, updates), (xd, indices_dim, updates_dim) = args, dims
        size = batch_size(args, dims)
        x = materialize(x, xd, size)
        updates = materialize(updates, updates_dim, size)
        window, inserted, start_map, batching, index_batching = dimension_numbers
        window, inserted, start_map, batching = map(shift, (window, inserted, start_map, batching))
        if indices_dim is None:
            window = (0, *window)
        else:
            indices = to_front(indices, indices_dim)
            batching, index_batching = (0, *batching), (0, *shift(index_batching))
        numbers = ScatterDimensionNumbers(window, inserted, start_map, batching, index_batching)
        return self.bind(x, indices, updates, dimension_numbers=numbers, **params), 0

    def lower(self, into, x, indices, updates, *, dimension_numbers, unique_indices, mode,
              update_jaxpr, **params):
        (out,) = into
        clip = mode is GatherScatterMode.CLIP
        geo, sizes = window_of(x.shape, indices.shape, updates.shape, dimension_numbers)

        def update(k):
            index, valid = window_index(k, x, indices, geo, sizes, clip)
            value = self.stored(updates[k], out[index], update_jaxpr)
            return [build.store(out, index, value, self.combine, valid)]
        in_order = self.combine is None and not unique_indices
        alone = {geo.batch_dims[b] for b in dimension_numbers.scatter_indices_batching_dims}
        return [build.copy(out, x), build.nest(updates.shape, update, tuple(
            in_order and p in geo.batch_dims and p not in alone for p in range(updates.ndim)))]

    def stored(self, update, element, update_jaxpr):
        """The value stored in place of an element, or combined with it."""
        if update_jaxpr is None:
            return update
        return scalars.lower(ClosedJaxpr(update_jaxpr), element, update)[0]


def gather_like(x, indices, shape: tuple[int, ...], params, fill_value=None):
    """Read from ``x`` where a scatter with these parameters writes updates of the given shape."""
    numbers = params["dimension_numbers"]
    _, sizes = window_of(typeof(x).shape, typeof(indices).shape, shape, numbers)
    return gather(x, indices, GatherDimensionNumbers(*numbers), sizes, mode=params["mode"],
                  fill_value=fill_value)


class _Combining(Scatter):
    """A scatter that combines updates with elements."""

    ufunc: np.ufunc | Extreme
    scalar: Primitive

    def put(self, out, window, updates) -> None:
        out[window] = self.ufunc(out[window], updates)

    def write(self, out, rows, updates, update_jaxpr, unique: bool) -> None:
        if unique:
            out[rows] = self.ufunc(out[rows], updates)
            return
        width = out.shape[1]
        if width != 1:
            rows = (rows[:, None] * width + np.arange(width)).reshape(-1)
        # Flat: only that is fast in NumPy.
        self.ufunc.at(out.reshape(-1), rows, updates.reshape(-1))

    def stored(self, update, element, update_jaxpr):
        return update

    def bind_like(self, x, indices, updates, params):
        """Apply this primitive with the parameters of another scatter."""
        params = {**params, "update_jaxpr": _combiner(self.scalar, typeof(x).dtype)}
        return self.bind(x, indices, updates, **params)


class _Additive(_Combining):
    """Adds updates, or their negatives."""

    combine = "add"
    jvp = linear_in(0, 2)

    def transpose(self, ct, x, indices, updates, **params):
        to_updates = None
        if is_linear(updates):
            to_updates = gather_like(ct, indices, updates.shape, params, fill_value=0)
        return [ct if is_linear(x) else None, None, to_updates]


class ScatterAdd(_Additive):
    """Adds updates to windows of the operand."""

    name = "scatter-add"
    ufunc, scalar = np.add, add_p


class ScatterSub(_Additive):
    """Subtracts updates from windows of the operand."""

    name = "scatter-sub"
    ufunc, scalar = np.subtract, sub_p

    def stored(self, update, element, update_jaxpr):
        return -update

    def transpose(self, ct, x, indices, updates, **params):
        to_x, _, to_updates = super().transpose(ct, x, indices, updates, **params)
        return [to_x, None, None if to_updates is None else neg(to_updates)]


class ScatterMul(_Combining):
    """Multiplies windows of the operand by updates."""

    name = "scatter-mul"
    combine, ufunc, scalar = "mul", np.multiply, mul_p

    def jvp(self, primals, tangents, **params):
        (x, indices, updates), (dx, _, du) = primals, tangents
        out = self.bind(x, indices, updates, **params)
        total = Zero.tangent_of(out)
        if type(dx) is not Zero:
            total = self.bind(dx, indices, updates, **params)
        if type(du) is not Zero:
            if not params["unique_indices"]:
                raise NotImplementedError(explain(
                    "tanx.lax.scatter_mul", "has a derivative with respect to its updates only "
                    "if no two of them overlap.", f"updates: {typeof(updates)}",
                    hint="pass unique_indices=True if none do."))
            spread = scatter_add_p.bind_like(zeros_of(typeof(x).strip_weak_type()), indices, du,
                                             params)
            total = sum_cotangents(total, mul(x, spread))
        return out, total

    def transpose(self, ct, x, indices, updates, **params):
        if is_linear(updates):
            raise NotImplementedError(explain(
                "tanx.lax.scatter_mul", "is not linear in its updates."))
        return [self.bind(ct, indices, updates, **params), None, None]


class _Extremum(_Combining):
    """Keeps the extremum of element and updates."""

    def jvp(self, primals, tangents, **params):
        """The element and all updates that attain the extremum share the tangent equally.

        An element without updates attains it alone, and keeps its tangent.
        """
        (x, indices, updates), (dx, _, du) = primals, tangents
        out = self.bind(x, indices, updates, **params)
        shape = typeof(updates).shape
        zeros, no_update = zeros_of(typeof(x).strip_weak_type()), full_like(updates, 0)
        hit = eq(updates, gather_like(out, indices, shape, params))
        hits = scatter_add_p.bind_like(
            zeros, indices, select(hit, full_like(updates, 1), no_update), params)
        kept = bitwise_or(eq(x, out), ne(x, x))  # a NaN element is the extremum
        one = full_like(hits, 1)
        share = div(one, select(kept, add(hits, one), hits))
        total = zeros if type(dx) is Zero else mul(dx, select(kept, share, zeros))
        if type(du) is Zero:
            return out, total
        weight = select(hit, gather_like(share, indices, shape, params, fill_value=0), no_update)
        return out, scatter_add_p.bind_like(total, indices, mul(du, weight), params)

    transpose = never("the extremum is not linear")


class ScatterMin(_Extremum):
    """Lowers elements of the operand to the updates that are less."""

    name = "scatter-min"
    combine, ufunc, scalar = "min", minimum, min_p


class ScatterMax(_Extremum):
    """Raises elements of the operand to the updates that are greater."""

    name = "scatter-max"
    combine, ufunc, scalar = "max", maximum, max_p


scatter_p = Scatter()
scatter_add_p, scatter_sub_p, scatter_mul_p = ScatterAdd(), ScatterSub(), ScatterMul()
scatter_min_p, scatter_max_p = ScatterMin(), ScatterMax()


@cache
def _combiner(primitive: Primitive, dtype: np.dtype) -> Jaxpr:
    """The scalar function that combines an element with an update, as jaxprs show it."""
    scalar = ShapedArray((), dtype)
    jaxpr, _ = stage(lambda x, y: [primitive.bind(x, y)], [scalar, scalar])
    return jaxpr


def _scalar_function(func, dtype: np.dtype) -> Jaxpr:
    """A function of scalars as a jaxpr of first-order equations, without constants.

    It takes the element and an update, which it ignores.
    """
    scalar = ShapedArray((), dtype)
    traced, consts = stage(lambda x, _: [func(x)], [scalar, scalar])
    if any(isinstance(c, Tracer) or typeof(c).shape for c in consts):
        raise NotImplementedError(explain(
            "tanx.lax.scatter_apply", "the function must not use arrays from outside.",
            *(f"constant: {typeof(c)}" for c in consts),
            hint="gather the elements, apply the function, and scatter the results."))
    jaxpr = scalars.first_order(ClosedJaxpr(traced, consts)).jaxpr
    (result,) = jaxpr.out_avals
    if result.strip_weak_type() != scalar:
        raise TypeError(explain(
            "tanx.lax.scatter_apply", "the function must return a scalar of the operand's dtype.",
            f"element: {scalar}", f"result:  {result}"))
    return jaxpr


def _scatter(primitive: Scatter, update_jaxpr: Jaxpr | None, operand, scatter_indices, updates,
             dimension_numbers, indices_are_sorted, unique_indices, mode):
    return primitive.bind(
        operand, scatter_indices, updates, dimension_numbers=canonical_numbers(dimension_numbers),
        indices_are_sorted=bool(indices_are_sorted), unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode), update_jaxpr=update_jaxpr, update_consts=())


def scatter(operand, scatter_indices, updates, dimension_numbers, *, indices_are_sorted=False,
            unique_indices=False, mode=None):
    """``operand`` with windows at ``scatter_indices`` replaced by ``updates``.

    The last dimension of ``scatter_indices`` holds the components of an index; see
    :class:`ScatterDimensionNumbers` for how dimensions correspond. If updates overlap, the last one
    stays. ``mode`` says what happens outside of the operand, see :class:`GatherScatterMode`; None
    drops such updates. ``unique_indices`` promises that no two updates overlap and
    ``indices_are_sorted`` that the indices are sorted; both may be faster.

    >>> numbers = lax.ScatterDimensionNumbers(
    ...     update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    >>> lax.scatter(jnp.zeros(4), jnp.array([[1], [3]]), jnp.array([5., 6.]), numbers)
    Array([0., 5., 0., 6.], dtype=float32)
    """
    return _scatter(scatter_p, None, operand, scatter_indices, updates, dimension_numbers,
                    indices_are_sorted, unique_indices, mode)


def scatter_apply(operand, scatter_indices, func, dimension_numbers, *, update_shape=(),
                  indices_are_sorted=False, unique_indices=False, mode=None):
    """``operand`` with ``func``, a function of scalars, applied to the elements of windows.

    ``update_shape`` is the shape that updates would have in :func:`scatter`. An element that
    several windows cover gets ``func`` applied once for each.

    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_apply(jnp.arange(4.), jnp.array([[1], [3]]), jnp.negative, numbers,
    ...                   update_shape=(2,))
    Array([ 0., -1.,  2., -3.], dtype=float32)
    """
    dtype = typeof(operand).dtype
    updates = full(canonical_shape(update_shape, "tanx.lax.scatter_apply"), 0, dtype)
    return _scatter(scatter_p, _scalar_function(func, dtype), operand, scatter_indices, updates,
                    dimension_numbers, indices_are_sorted, unique_indices, mode)


def _combined(primitive: _Combining, operand, *args):
    return _scatter(primitive, _combiner(primitive.scalar, typeof(operand).dtype), operand, *args)


def scatter_add(operand, scatter_indices, updates, dimension_numbers, *,
                indices_are_sorted=False, unique_indices=False, mode=None):
    """``operand`` with ``updates`` added to windows at ``scatter_indices``.

    Parameters are those of :func:`scatter`; updates at equal indices are all applied.

    >>> lax.scatter_add(jnp.array([2., 3.]), jnp.array([[0], [0]]), jnp.array([1., 4.]),
    ...                 lax.ScatterDimensionNumbers((), (0,), (0,)))
    Array([7., 3.], dtype=float32)
    """
    return _combined(scatter_add_p, operand, scatter_indices, updates, dimension_numbers,
                     indices_are_sorted, unique_indices, mode)


def scatter_sub(operand, scatter_indices, updates, dimension_numbers, *,
                indices_are_sorted=False, unique_indices=False, mode=None):
    """``operand`` with ``updates`` subtracted from windows at ``scatter_indices``.

    Parameters are those of :func:`scatter`; updates at equal indices are all applied.

    >>> lax.scatter_sub(jnp.array([2., 3.]), jnp.array([[0], [0]]), jnp.array([1., 4.]),
    ...                 lax.ScatterDimensionNumbers((), (0,), (0,)))
    Array([-3.,  3.], dtype=float32)
    """
    return _combined(scatter_sub_p, operand, scatter_indices, updates, dimension_numbers,
                     indices_are_sorted, unique_indices, mode)


def scatter_mul(operand, scatter_indices, updates, dimension_numbers, *,
                indices_are_sorted=False, unique_indices=False, mode=None):
    """``operand`` with windows at ``scatter_indices`` multiplied by ``updates``.

    Parameters are those of :func:`scatter`; updates at equal indices are all applied.

    >>> lax.scatter_mul(jnp.array([2., 3.]), jnp.array([[0], [0]]), jnp.array([1., 4.]),
    ...                 lax.ScatterDimensionNumbers((), (0,), (0,)))
    Array([8., 3.], dtype=float32)
    """
    return _combined(scatter_mul_p, operand, scatter_indices, updates, dimension_numbers,
                     indices_are_sorted, unique_indices, mode)


def scatter_min(operand, scatter_indices, updates, dimension_numbers, *,
                indices_are_sorted=False, unique_indices=False, mode=None):
    """The lesser of ``operand`` and ``updates`` in windows at ``scatter_indices``.

    Parameters are those of :func:`scatter`; updates at equal indices are all applied.

    >>> lax.scatter_min(jnp.array([2., 3.]), jnp.array([[0], [0]]), jnp.array([1., 4.]),
    ...                 lax.ScatterDimensionNumbers((), (0,), (0,)))
    Array([1., 3.], dtype=float32)
    """
    return _combined(scatter_min_p, operand, scatter_indices, updates, dimension_numbers,
                     indices_are_sorted, unique_indices, mode)


def scatter_max(operand, scatter_indices, updates, dimension_numbers, *,
                indices_are_sorted=False, unique_indices=False, mode=None):
    """The greater of ``operand`` and ``updates`` in windows at ``scatter_indices``.

    Parameters are those of :func:`scatter`; updates at equal indices are all applied.

    >>> lax.scatter_max(jnp.array([2., 3.]), jnp.array([[0], [0]]), jnp.array([1., 4.]),
    ...                 lax.ScatterDimensionNumbers((), (0,), (0,)))
    Array([4., 3.], dtype=float32)
    """
    return _combined(scatter_max_p, operand, scatter_indices, updates, dimension_numbers,
                     indices_are_sorted, unique_indices, mode)
