"""Windows: reductions of the elements under a window that moves over an array.

The geometry of windows is described by :class:`Window`, with JAX's parameter names. Padding, and
places between dilated elements, do not take part in reductions.
"""

from __future__ import annotations

import builtins
import operator

import numpy as np

from .._core.explicit import like_operand
from .._core.jaxpr import ClosedJaxpr
from .._core.linear import expansion, linear, never
from .._core.primitive import Kind, Primitive
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..errors import explain
from ..tree_util import tree_flatten, tree_unflatten
from . import scalars
from .base import batch_size, broadcast_in_dim, materialize
from .compare import ge_p, le_p, select
from .conv_shapes import padtype_to_pads
from .extremes import Extreme, maximum, minimum
from .operands import ANY, NUMBER, accumulator, identity, letter, like
from .pooling import select_and_gather_add
from .reduce import halves, named_combiner, staged_combiner
from .slicing import pad
from .window_geometry import Window, dilated, slide, traced_views

__all__ = ["reduce_window", "reduce_window_max_p", "reduce_window_min_p", "reduce_window_p",
           "reduce_window_shape_tuple", "reduce_window_sum_p"]


class WindowReduction(Primitive):
    """The reduction of each window by a known function.

    A subclass defines ``name``, ``accepts``, ``combine`` (one of the loops' reducers), ``ufunc``
    (its NumPy name) and its derivative. Narrow floats are summed in float32.
    """

    kind = Kind.REDUCTION
    accepts = ANY
    combine: str
    ufunc: np.ufunc | Extreme
    wide = False

    def state(self, dtype: np.dtype) -> np.dtype:
        """The dtype in which elements are combined."""
        return accumulator(dtype) if self.wide else dtype

    divided = like_operand

    def infer(self, x, **params):
        if letter(x.dtype) not in self.accepts:
            raise TypeError(explain(
                "tanx.lax.reduce_window", f"does not sum {x.dtype} operands.", f"operand: {x}"))
        window = Window(**params)
        window.check("reduce_window", x)
        return ShapedArray(window.shape(x.shape), x.dtype, x.weak_type)

    def eval(self, x, **params):
        window, dtype = Window(**params), self.state(x.dtype)
        shape = window.shape(x.shape)
        if 0 in shape:
            return np.empty(shape, x.dtype)
        out = window.spread(x.astype(dtype), np.asarray(identity(self.combine, dtype), dtype))
        for axis, (size, stride, step, count) in enumerate(zip(
                window.window_dimensions, window.window_strides, window.window_dilation, shape)):
            def take(x, start, count, stride, axis=axis):
                part = builtins.slice(start, start + dilated(count, stride), stride)
                return x[(builtins.slice(None),) * axis + (part,)]
            out = slide(out, size, stride, step, count, take, self.ufunc)
        return out.astype(x.dtype)

    def batch(self, args, dims, **params):
        (x,), (d,) = args, dims
        return self.bind(x, **Window(**params).batched(d)._asdict()), d

    def lower(self, at, x, **params):
        window, dtype = Window(**params), self.state(x.dtype)
        ignored = build.const(np.asarray(identity(self.combine, dtype), dtype), dtype)

        def element(k):
            index, inside = window.read(x, at, k)
            return build.select(inside, build.convert(x[index], dtype), ignored)
        total = build.reduce(self.combine, window.window_dimensions, element, ignored)
        return build.convert(total, x.dtype)


class ReduceWindowSum(WindowReduction):
    """The sum of each window."""

    name = "reduce_window_sum"
    accepts = NUMBER
    combine = "add"
    ufunc = np.add
    wide = True
    jvp = linear

    def transpose(self, ct, x, **params):
        """Each element gets a window sum of cotangents, which are strides apart."""
        window, config = Window(**params), []
        for n, m, size, stride, (low, _), base, step in zip(x.shape, typeof(ct).shape, *window):
            before = dilated(size, step) - 1 - low
            needed = dilated(n, base) - 1 + dilated(size, step)
            config.append((before, needed - dilated(m, stride) - before, stride - 1))
        ones, zeros = (1,) * x.ndim, ((0, 0),) * x.ndim
        return [self.bind(pad(ct, like(ct, 0), config), **window._replace(
            window_strides=window.base_dilation, padding=zeros, base_dilation=ones)._asdict())]


class WindowExtremum(WindowReduction):
    """Base of the greatest and the least element of each window."""

    transpose = never("an extremum is not linear")
    select: Primitive

    def jvp(self, primals, tangents, **params):
        """The tangent is that of the first extreme element."""
        (x,), (dx,) = primals, tangents
        return self.bind(x, **params), select_and_gather_add(
            dx, x, self.select, Window(**params))


class ReduceWindowMax(WindowExtremum):
    """The greatest element of each window."""

    name = "reduce_window_max"
    combine = "max"
    ufunc = maximum
    select = ge_p


class ReduceWindowMin(WindowExtremum):
    """The least element of each window."""

    name = "reduce_window_min"
    combine = "min"
    ufunc = minimum
    select = le_p


class ReduceWindow(Primitive):
    """Combines the elements of each window and initial values by the user's function.

    The function is associative. Several operands are combined together.
    """

    name = "reduce_window"
    kind = Kind.REDUCTION
    multiple_results = True
    transpose = never("a reducer is not linear in general")

    def infer(self, *types, jaxpr, consts, **params):
        operands, inits = halves(types)
        facts = [f"operand {i}: {x}, initial value: {init}"
                 for i, (x, init) in enumerate(zip(operands, inits))]
        if any(x.shape != operands[0].shape for x in operands) or any(v.shape for v in inits):
            raise TypeError(explain(
                "tanx.lax.reduce_window",
                "operands must have equal shapes, initial values be scalars.", *facts))
        if any(x.dtype != init.dtype for x, init in zip(operands, inits)):
            raise TypeError(explain(
                "tanx.lax.reduce_window", "initial values must have their operands' dtypes.",
                *facts))
        window = Window(**params)
        window.check("reduce_window", operands[0])
        shape = window.shape(operands[0].shape)
        return [ShapedArray(shape, x.dtype, x.weak_type and init.weak_type)
                for x, init in zip(operands, inits)]

    def eval(self, *arrays, jaxpr, consts, **params):
        closed, window = ClosedJaxpr(jaxpr, consts), Window(**params)
        operands, inits = halves(arrays)
        shape = window.shape(operands[0].shape)
        state = [np.broadcast_to(init, shape) for init in inits]
        spread = [window.spread(x, init) for x, init in zip(operands, inits)]
        inside = window.spread(np.ones(operands[0].shape, bool), False)
        for there, *elements in zip(*(window.views(x, shape) for x in (inside, *spread))):
            combined = scalars.evaluate(closed, *state, *elements)
            state = [np.where(there, new, old) for new, old in zip(combined, state)]
        return [np.array(x) for x in state]

    @expansion
    def jvp(self, *args, jaxpr, consts, **params):
        operands, inits = halves(args)
        return _reduce_by_places(ClosedJaxpr(jaxpr, consts), operands, inits, Window(**params))

    def batch(self, args, dims, *, jaxpr, consts, **params):
        count, size = len(args) // 2, batch_size(args, dims)
        window = Window(**params).batched(0)
        operands = [materialize(x, d, size) for x, d in zip(args[:count], dims)]
        inits = args[count:]
        if all(d is None for d in dims[count:]):
            outs = self.bind(*operands, *inits, jaxpr=jaxpr, consts=consts, **window._asdict())
        else:
            inits = [materialize(x, d, size) for x, d in zip(inits, dims[count:])]
            outs = _reduce_by_places(ClosedJaxpr(jaxpr, consts), operands, inits, window)
        return outs, [0] * count

    def lower(self, at, *args, jaxpr, consts, **params):
        closed, window = ClosedJaxpr(jaxpr, consts), Window(**params)
        operands, inits = halves(args)

        def step(k, state):
            index, inside = window.read(operands[0], at, k)
            elements = [build.select(inside, x[index], old) for x, old in zip(operands, state)]
            return [build.select(inside, new, old) for new, old in zip(
                scalars.lower(closed, *state, *elements), state)]
        return build.fold(window.window_dimensions, [v[()] for v in inits], step)


def _reduce_by_places(closed: ClosedJaxpr, operands, inits, window: Window) -> list:
    """A user's reduction in primitives, one place of all windows after another.

    Initial values have leading dimensions of the result.
    """
    source = typeof(operands[0]).shape
    shape = window.shape(source)
    state = [broadcast_in_dim(v, shape, range(typeof(v).ndim)) for v in inits]
    if 0 in source or 0 in shape:
        return state
    inside = window.views(window.spread(np.ones(source, bool), False), shape)
    for there, *elements in zip(inside, *(traced_views(x, window) for x in operands)):
        combined = scalars.apply(closed, *state, *elements)
        state = combined if there.all() else [
            select(there, new, old) for new, old in zip(combined, state)]
    return state


reduce_window_p = ReduceWindow()
reduce_window_sum_p = ReduceWindowSum()
reduce_window_max_p, reduce_window_min_p = ReduceWindowMax(), ReduceWindowMin()


def reduce_window(operand, init_value, computation, window_dimensions, window_strides=None,
                  padding="VALID", base_dilation=None, window_dilation=None):
    """Combine the elements under each position of a window that moves over an array.

    ``operand`` is an array or a tree of arrays of one shape, ``init_value`` a tree of scalars of
    the same structure, and ``computation`` an associative function of two such trees of scalars.
    The window covers ``window_dimensions`` elements, ``window_dilation`` apart, and moves by
    ``window_strides``. ``padding`` is ``"VALID"``, ``"SAME"``, ``"SAME_LOWER"`` or pairs of places
    before and after; ``base_dilation`` is the distance of the operand's elements. Sums, maxima and
    minima, by ``lax.add``, ``lax.max`` and ``lax.min`` from their neutral elements, are the
    fastest, and have derivatives of any order.

    >>> lax.reduce_window(jnp.array([3, 1, 4, 1, 5]), 0, lax.add, (3,))
    Array([ 8,  6, 10], dtype=int32)
    >>> lax.reduce_window(jnp.array([3., 1., 4., 1.]), -jnp.inf, lax.max, (2,), (2,))
    Array([3., 4.], dtype=float32)
    """
    flat, tree = tree_flatten(operand)
    inits, init_tree = tree_flatten(init_value)
    if tree != init_tree:
        raise ValueError(explain(
            "tanx.lax.reduce_window", "init_value must have the tree structure of operand.",
            f"operand:    {tree}", f"init_value: {init_tree}"))
    if not flat:
        raise ValueError(explain("tanx.lax.reduce_window", "needs at least one operand."))
    window = _window_over(typeof(flat[0]), window_dimensions, window_strides, padding,
                          base_dilation, window_dilation)
    if len(flat) == 1:
        named = _NAMED.get(named_combiner(computation, typeof(flat[0]).dtype, inits[0]))
        if named is not None:
            return tree_unflatten(tree, [named.bind(flat[0], **window._asdict())])
    jaxpr = staged_combiner("tanx.lax.reduce_window", computation, tree,
                            [typeof(x).dtype for x in flat])
    outs = reduce_window_p.bind(*flat, *inits, jaxpr=jaxpr.jaxpr, consts=tuple(jaxpr.consts),
                                **window._asdict())
    return tree_unflatten(tree, outs)


_NAMED: dict[str | None, WindowReduction] = {
    "add": reduce_window_sum_p, "max": reduce_window_max_p, "min": reduce_window_min_p}


def _window_over(x: ShapedArray, dimensions, strides, padding, base_dilation,
                 window_dilation) -> Window:
    """The window of a call, with defaults."""
    def integers(values):
        return (1,) * len(x.shape) if values is None else tuple(map(operator.index, values))
    dimensions, strides = integers(dimensions), integers(strides)
    bases, steps = integers(base_dilation), integers(window_dilation)
    if isinstance(padding, str):
        Window(dimensions, strides, ((0, 0),) * x.ndim, bases, steps).check("reduce_window", x)
        padding = padtype_to_pads([*map(dilated, x.shape, bases)],
                                  [*map(dilated, dimensions, steps)], strides, padding)
    pairs = tuple((operator.index(low), operator.index(high)) for low, high in padding)
    return Window(dimensions, strides, pairs, bases, steps)


def reduce_window_shape_tuple(operand_shape, window_dimensions, window_strides, padding,
                              base_dilation=None, window_dilation=None):
    """The shape of the result of :func:`reduce_window`; ``padding`` holds pairs of integers.

    >>> lax.reduce_window_shape_tuple((4, 5), (2, 2), (1, 2), [(0, 1), (1, 0)])
    (4, 3)
    """
    x = ShapedArray(tuple(operand_shape), np.dtype(np.float32))
    window = _window_over(x, window_dimensions, window_strides, padding, base_dilation,
                          window_dilation)
    window.check("reduce_window_shape_tuple", x)
    return window.shape(x.shape)
