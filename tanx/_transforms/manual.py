"""Values in ``shard_map``: which of them differ between the devices of a mesh.

The body of a ``shard_map`` runs inside of one map of size 1 for each manual axis. The innermost of
these maps is a :class:`ManualTrace`: its tracers hold an array and the axes along which it varies.
Most results vary along the axes of their operands; collectives have their own rule, and operations
that run functions are mapped once more, along one axis after the other, to see which results have
that axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._base.tuples import NamedTuple
from .._core.axes import named_axis
from .._core.jaxpr import ClosedJaxpr, cached_by_jaxpr
from .._core.leaks import check_leaks
from .._core.sharding import ManualAxisType
from .._core.stage import stage_closed
from .._core.trace import Trace, context, data_of, running
from .._core.types import ShapedArray, typeof
from .._ops.layout import squeeze
from .jvp import JVPTracer
from .vmap import Axis, BatchTrace, BatchTracer, ManualTracer, batch

__all__ = ["Place", "run_manual", "type_inside"]

NOWHERE: frozenset = frozenset()


class Place(NamedTuple):
    """The place of a body: its manual axes, and how the device is described where values print."""

    names: tuple
    text: str
    checks: bool  # whether to record along which axes values vary


class ManualTrace(BatchTrace):
    """Records along which manual axes the values of a body vary."""

    __slots__ = ("place",)

    def __init__(self, below: Trace, axis: Axis, place: Place):
        super().__init__(below, axis)
        self.place = place

    def process(self, primitive, args, params):
        out = super().process(primitive, args, params)
        axis, names = self.axis, self.place.names
        if not any(type(x) is ManualTracer and x._trace.axis is axis for x in args) and not any(
                primitive.depends_on(Axis(name, 1), params) for name in names):
            return out
        if not primitive.multiple_results:
            return self.hold(out, self.varying(primitive, args, params, 1)[0])
        return [self.hold(y, axes)
                for y, axes in zip(out, self.varying(primitive, args, params, len(out)))]

    def hold(self, x, axes: frozenset):
        """A value that varies along some axes; only arrays are traced."""
        if type(x) is BatchTracer and x._trace is self:
            with running(self.underneath):
                x = squeeze(x.value, (x.dim,))
        return ManualTracer(self, x, axes) if type(typeof(x)) is ShapedArray else x

    def varying(self, primitive, args, params, count: int) -> Sequence[frozenset]:
        """The axes along which each result of a primitive varies."""
        if not self.place.checks:
            return [NOWHERE] * count
        axes = tuple(x.varying if type(x) is ManualTracer and x._trace.axis is self.axis
                     else NOWHERE for x in args)
        found = primitive.varying(axes, params)
        if found is not None:
            return [found] * count
        avals = tuple(map(typeof, args))
        if any(type(aval) is not ShapedArray for aval in avals):
            return [NOWHERE.union(*axes)] * count
        return _by_functions(primitive, avals, axes, self.place.names, params)

    def shown(self, x: ManualTracer) -> str:
        """The text of a value: in eager code an array of its device."""
        data = None if self.staging else data_of(x.value)
        if data is None:
            return f"JitTracer({type_inside(x)})"
        if data.shape != x.aval.shape:  # with lanes of size 1, of maps further out
            data = data.reshape(x.aval.shape)
        return f"{self.place.text}:\n{data}\n"


def _by_functions(primitive, avals: tuple, axes: tuple, names: tuple,
                  params: dict[str, Any]) -> list[frozenset]:
    """As :func:`_by_mapping`; kept with the jaxpr that the primitive runs, if it runs one."""
    firsts = [value[0] if isinstance(value, tuple) and value else value
              for value in params.values()]
    closed = next((value for value in firsts if type(value) is ClosedJaxpr), None)
    key = primitive, avals, axes, names, tuple(params.items())
    try:
        hash(key)
    except TypeError:
        closed = None
    return _by_mapping(*key) if closed is None else _kept(closed, *key)


@cached_by_jaxpr
def _kept(closed: ClosedJaxpr, *key) -> list[frozenset]:
    return _by_mapping(*key)


def _by_mapping(primitive, avals: tuple, axes: tuple, names: tuple,
                params: tuple) -> list[frozenset]:
    """The axes along which the results of a primitive vary that runs functions."""
    found: list[set] = []
    for name in names:
        dims = [0 if name in own else None for own in axes]

        def body(*xs, name=name, dims=dims):
            def apply(*ys):
                outs = primitive.bind(*ys, **dict(params))
                return list(outs) if primitive.multiple_results else [outs]
            outs, varying = mapped(apply, names, xs, {name: dims})
            found.extend(set() for _ in outs[len(found):])
            for k in varying:
                found[k].add(name)
            return outs

        stage_closed(body, [aval if d is None else aval.inc_rank(1, 0)
                            for aval, d in zip(avals, dims)], None)
    return [*map(frozenset, found)]


def mapped(fun: Callable[..., list], names: Sequence, args: Sequence,
           dims: dict[Any, list[int | None]]) -> tuple[list, set[int]]:
    """The results of a function inside of maps of size 1 over some axes.

    ``dims`` has, for an axis, the dimension of each argument that it is. The second value has the
    positions of results that have one of the axes in ``dims``.
    """
    varying: set[int] = set()

    def within(names: Sequence, xs: Sequence) -> list:
        if not names:
            return fun(*xs)
        name, *rest = names
        outs, found = batch(lambda *ys: within(rest, ys), Axis(name, 1), xs,
                            dims.get(name, [None] * len(xs)))
        if name in dims:
            varying.update(k for k, d in enumerate(found) if d is not None)
        return [x if d is None else squeeze(x, (d,)) for x, d in zip(outs, found)]
    return within(names, args), varying


def run_manual(fun: Callable[..., list], place: Place, args: Sequence,
               axes: Sequence[frozenset]) -> tuple[list, list[frozenset]]:
    """The results of a body, and the axes along which they vary, given those of its arguments."""
    *outer, name = place.names
    varying: list[frozenset] = []

    def inside(*xs):
        below = context.trace
        trace = ManualTrace(below, Axis(name, 1), place)
        tracers = [trace.hold(x, own) for x, own in zip(xs, axes)]
        with running(trace), named_axis(name, 1):
            outs = fun(*tracers)
            del tracers
            for x in outs:
                mine = type(x) is ManualTracer and trace.owns(x)
                varying.append(x.varying if mine else NOWHERE)
            outs = [trace.split(x)[0] for x in outs]
        check_leaks(trace)
        return outs
    return mapped(inside, outer, args, {})[0], varying


def type_inside(x) -> Any:
    """The type of a value; in ``shard_map`` with the axes along which it varies."""
    aval = typeof(x)
    while isinstance(x, JVPTracer | BatchTracer):
        x = x.primal if isinstance(x, JVPTracer) else x.value
    axes = x.varying if type(x) is ManualTracer else NOWHERE
    return aval.update(manual_axis_type=ManualAxisType(varying=axes)) if axes else aval
