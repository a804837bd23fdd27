"""Batching: run a function on arrays with an extra axis that the function does not see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import errors
from .._base.tuples import NamedTuple
from .._core.axes import named_axis
from .._core.cells import holds, too_high
from .._core.explicit import batched_type, dividing
from .._core.high import MappingSpec
from .._core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from .._core.leaks import check_leaks
from .._core.opaque import Opaque
from .._core.refs import Reference
from .._core.stage import stage
from .._core.trace import Trace, Tracer, context, data_of, running
from .._core.types import ShapedArray, high_classes, typeof
from .._ops.base import materialize

__all__ = ["Axis", "BatchTrace", "BatchTracer", "ManualTracer", "batch", "batch_jaxpr", "lanes_of",
           "mapped_types"]

mapped_types: set[type] = set()
"""Classes that libraries map by their own functions, which ``vmap`` does not call."""


class Axis(NamedTuple):
    """The axis being mapped: its name (None for most) and its size.

    Tracers belong to an axis, not to one run over it: a user's rule defined inside of a mapped
    function runs later, and may close over values of that function.
    """

    name: Any
    size: int
    divided: tuple | None = None  # the mesh and its axes that divide the lanes


class BatchTracer(Tracer):
    """A value with a batch axis at ``dim``, which the function does not see."""

    __module__ = "tanx.interpreters.batching"  # its public place, even if not imported
    __slots__ = ("value", "dim")
    _trace: BatchTrace

    def __init__(self, trace: BatchTrace, value, dim: int):
        self._trace = trace
        self.value = value
        self.dim = dim
        self._aval: ShapedArray | None = None

    @property
    def aval(self):
        if self._aval is None:
            whole = typeof(self.value)
            if whole.is_high:
                self._aval = whole.dec_rank(self._trace.axis.size, self.dim)
                return self._aval
            if whole.placement is not None:
                self._aval = whole.dec_rank(self._trace.axis.size, self.dim)
                return self._aval
            shape = whole.shape[:self.dim] + whole.shape[self.dim + 1:]
            self._aval = ShapedArray(shape, whole.dtype, whole.weak_type)
        return self._aval

    @property
    def val(self):
        """The value with its batch axis, by JAX's name: programs print it for debugging."""
        return self.value

    @property
    def batch_dim(self) -> int:
        """The batch axis, by JAX's name."""
        return self.dim

    def data(self):
        return data_of(self.value)

    def describe_origin(self) -> str:
        value = self.value
        return value.describe_origin() if isinstance(value, Tracer) else "batched by vmap"

    def __repr__(self) -> str:
        return f"VmapTracer(aval={self.aval}, batched={typeof(self.value)})"


class HighBatchTracer(Opaque, BatchTracer):
    """A batch of values of a high type; ``dim`` is a :class:`~tanx._core.high.MappingSpec`."""

    __slots__ = ()


class MappedRef(Reference, Tracer):
    """A reference to a value with a batch axis at ``dim``, which the function does not see."""

    __slots__ = ("value", "dim", "aval")
    _trace: BatchTrace

    def __init__(self, trace: BatchTrace, ref: Reference, dim: int):
        self._trace, self.value, self.dim = trace, ref, dim
        shape = ref.aval.shape
        self.aval = ref.aval.update(shape=shape[:dim] + shape[dim + 1:])

    def load(self):
        with running(self._trace.underneath):
            return BatchTracer(self._trace, self.value[...], self.dim)

    def store(self, value) -> None:
        if not holds(self._trace, value):
            raise too_high(self, value)
        value, dim = self._trace.split(value)
        with running(self._trace.underneath):
            self.value[...] = materialize(value, dim, self._trace.axis.size, self.dim)


class ManualTracer(Tracer):
    """An array in the body of a ``shard_map``; see :mod:`tanx._transforms.manual`.

    It belongs to a map of size 1, and has no batch axis.
    """

    __slots__ = ("value", "varying")
    _trace: Any  # a ManualTrace
    dim = None

    def __init__(self, trace: BatchTrace, value, varying: frozenset):
        self._trace, self.value, self.varying = trace, value, varying

    @property
    def aval(self):
        return typeof(self.value)

    def concrete(self):
        value = self.value
        return value.concrete() if isinstance(value, Tracer) else value

    def data(self):
        return data_of(self.value)

    def full_lower(self):
        return self.value

    def describe_origin(self) -> str:
        value = self.value
        return value.describe_origin() if isinstance(value, Tracer) else ""

    def __repr__(self) -> str:
        return self._trace.shown(self)


_BATCHES = frozenset((BatchTracer, HighBatchTracer, ManualTracer, MappedRef))


class BatchTrace(Trace):
    """Applies the ``batch`` rule of every primitive with one of its tracers as an operand."""

    __slots__ = ("axis",)
    below: Trace

    def __init__(self, below: Trace, axis: Axis):
        super().__init__(below)
        self.axis = axis

    def process(self, primitive, args, params):
        values: list[Any] = []
        dims: list[int | None] = []
        batched = False
        axis = self.axis
        for x in args:
            if type(x) in _BATCHES and x._trace.axis is axis:
                values.append(x.value)
                dims.append(x.dim)
                batched = batched or x.dim is not None
            else:
                values.append(x)
                dims.append(None)
        context.trace = self.below
        try:
            if not batched and not primitive.depends_on(axis, params):
                return self.below.process(primitive, values, params)
            if axis.divided is not None:
                with dividing(axis.divided):
                    out, dim = _by_rule(primitive, axis, values, dims, params)
            else:
                out, dim = _by_rule(primitive, axis, values, dims, params)
        finally:
            context.trace = self
        if primitive.multiple_results:
            return [self.wrap(y, d) for y, d in zip(out, dim, strict=True)]
        return self.wrap(out, dim)

    @property
    def maps(self) -> bool:
        # An axis of one lane is only a name, as in shard_map over one device.
        return self.axis.size != 1

    def wrap(self, value, dim: int | None):
        """A tracer, or the bare value if it has no batch axis."""
        if dim is None:
            return value
        if high_classes and typeof(value).is_high:
            return HighBatchTracer(self, value, dim)
        return BatchTracer(self, value, dim)

    def owns(self, tracer) -> bool:
        trace = tracer._trace  # of this run over the axis, or of an earlier one
        return isinstance(trace, BatchTrace) and trace.axis is self.axis

    def split(self, x) -> tuple[Any, int | None]:
        """Value and batch axis of any value."""
        return (x.value, x.dim) if type(x) in _BATCHES and self.owns(x) else (x, None)


def _by_rule(primitive, axis: Axis, values, dims, params) -> tuple[Any, Any]:
    if primitive.batch_axis is not None:
        return primitive.batch_axis(axis, values, dims, **params)
    return primitive.batch(values, dims, **params)


def batch(fun: Callable, axis: Axis, args: Sequence[Any], dims: Sequence[int | None],
          ) -> tuple[list, list[int | None]]:
    """Run a function of flat arguments that returns a list over a batch; outputs and their axes."""
    outer = context.trace
    trace = BatchTrace(outer, axis)
    tracers = [MappedRef(trace, x, d) if d is not None and isinstance(x, Reference)
               else trace.wrap(x, d) for x, d in zip(args, dims, strict=True)]
    context.trace = trace
    try:
        with named_axis(axis.name, axis.size):
            outs = fun(*tracers)
        pairs = [trace.split(x) for x in outs]
    finally:
        context.trace = outer
    del tracers, outs
    check_leaks(trace)
    return [x for x, _ in pairs], [d for _, d in pairs]


def lanes_of(trace: Trace | None) -> int:
    """The number of lanes of an operation that a trace passes down."""
    count = 1
    while trace is not None:
        if isinstance(trace, BatchTrace):
            count *= trace.axis.size
        trace = trace.below
    return count


def to_axis(x, dim: int | None, size: int, destination: int | None, where: str = "tanx.vmap"):
    """An output with its batch axis at the requested place."""
    if destination is None:
        if dim is not None:
            raise ValueError(errors.explain(
                where, "out_axes is None for an output that depends on the mapped axis.",
                f"output: {typeof(x)}, mapped at axis {dim}",
                hint="give an integer in out_axes."))
        return x
    rank = typeof(x).ndim + (dim is None)
    return materialize(x, dim, size, destination + rank if destination < 0 else destination)


def batch_jaxpr(closed: ClosedJaxpr, axis: Axis, dims: Sequence[int | None],
                instantiate: bool | Sequence[bool] = False) -> tuple[ClosedJaxpr, list[int | None]]:
    """The batched version of a closed jaxpr, as a closed jaxpr.

    Arguments have their batch axis at ``dims``; outputs have it at 0 or not at all (None in the
    second result), unless ``instantiate`` requests it. High types define how they are mapped.
    """
    axis = Axis(*axis)  # another one: the result may be used for any axis that equals this one
    count = len(closed.jaxpr.outvars)
    wanted = [instantiate] * count if isinstance(instantiate, bool) else list(instantiate)
    out_dims: list[int | None] = []

    def fun(*args):
        outs, found = batch(jaxpr_as_fun(closed), axis, args, dims)
        out_dims[:] = [d if isinstance(d, MappingSpec) else 0 if d is not None or w else None
                       for d, w in zip(found, wanted)]
        with dividing(axis.divided):
            return [x if d is None or isinstance(d, MappingSpec) else materialize(x, f, axis.size)
                    for x, f, d in zip(outs, found, out_dims)]

    in_avals = [a if d is None else a.inc_rank(axis.size, d) if a.is_high
                else batched_type(a, axis.size, d, axis.divided)
                for a, d in zip(closed.in_avals, dims)]
    jaxpr, consts = stage(fun, in_avals, closed.jaxpr.debug_info)
    return ClosedJaxpr(jaxpr, consts), out_dims
