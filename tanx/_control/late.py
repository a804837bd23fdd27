"""References that ``bwd`` rules write to, when their functions are called inside of loops.

``custom_vjp`` lets ``fwd`` keep a reference for ``bwd``, which reads and writes it while the
backward pass runs. Called directly, the rules get the reference itself. Inside of a loop, a branch
or ``checkpoint`` there are only values, and the forward pass does not know what the backward pass
will find. So a second value accompanies the content of such a reference: the *late* value. It is
zero; only its cotangent matters, which is the content in the backward pass. The backward pass
starts with the content of the reference at that time; each ``bwd`` treats the cotangent of the late
value as the content, and returns what it has written as the cotangent for earlier steps. Loops
carry the late value, so their backward passes carry the content, in the right order. Integers have
no cotangents: their late values are floats that hold pieces of them.

A reference that is created in the differentiated function, or passed to it, is a cell that holds
primals with tangents. The rules get a reference of the trace below, its *origin*, which has the
primals: later writes to the cell go there as well, so that the backward pass finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from .._core.cells import Cell
from .._core.jaxpr import ClosedJaxpr, JaxprEqn, cached_by_jaxpr
from .._core.linear import Zero, instantiate, never
from .._core.primitive import Kind, Primitive
from .._core.refs import AbstractRef, Reference, is_ref
from .._core.trace import Trace, Tracer, context, running
from .._core.types import ShapedArray, typeof
from .._ops.base import materialize
from .._ops.convert import bitcast_convert_type, convert
from .._ops.derive import zeros_of
from .._ops.refs import new_ref
from .._ops.slicing import concatenate
from .._transforms.discharge import late_type
from .._transforms.jvp import JVPTrace, PrimalRef
from .._transforms.linearize import PartialTrace
from .._transforms.vmap import BatchTrace, MappedRef
from ..errors import explain

__all__ = ["content_from", "late_from", "late_of", "rules_keep_refs", "run_late",
           "run_on_origins"]


class LateRefs(Primitive):
    """One end of the path of late values: tangents in, tangents out, defined by ``back``.

    ``back`` takes the cotangents of the results and returns those of the operands.
    """

    name = "late_refs"
    kind = Kind.CALL
    is_users = moves_contents = True
    multiple_results = True

    def infer(self, *types, out_avals, back):
        return list(out_avals)

    def eval(self, *args, **params):
        raise TypeError(explain(
            "tanx.jvp", "a custom_vjp function that takes a reference has no forward-mode "
            "derivative.", hint="use tanx.grad or tanx.vjp."))

    lower = eval
    jvp = batch = never("only backward passes see it")

    def transpose(self, cts, *args, back, out_avals):
        return back(cts)


late_refs_p = LateRefs()


@cached_by_jaxpr
def rules_keep_refs(closed: ClosedJaxpr) -> bool:
    """Whether a body passes references to functions whose ``fwd`` keeps them."""
    return any(_is_kept_by(eqn) or any(map(rules_keep_refs, _bodies(eqn.params)))
               for eqn in closed.eqns)


def _is_kept_by(eqn: JaxprEqn) -> bool:
    types = [atom.aval for atom in eqn.invars]
    return eqn.primitive.keeps_refs is not None and any(
        type(ty) is AbstractRef for ty in types) and (
        eqn.primitive.keeps_refs(types, eqn.params) is not None)


def _bodies(params: dict[str, Any]) -> Iterator[ClosedJaxpr]:
    """The functions among parameters."""
    for value in params.values():
        for item in value if isinstance(value, tuple | list) else (value,):
            if isinstance(item, ClosedJaxpr):
                yield item


def late_of(args: Sequence) -> dict[int, Any]:
    """The late values of references among operands, by position."""
    return {i: x.late for i, x in enumerate(args) if isinstance(x, Cell) and x.late is not None}


def run_late(primitive, args: Sequence, params: dict[str, Any], carried: range,
             run: Callable[[Mapping[int, Any]], list]) -> list:
    """The results of ``run``, which takes late values by position and returns them last.

    References at ``carried`` may have one.
    """
    late = late_of(args)
    if late:
        outs = run(late)
        count = len(outs) - len(late)
        for i, value in zip(late, outs[count:]):
            args[i].late = value
        return outs[:count]
    trace = context.trace
    if isinstance(trace, BatchTrace) and any(map(rules_keep_refs, _bodies(params))):
        return trace.process(primitive, [
            _origin(trace, x) if is_ref(x) and _is_own(trace, x) else x for x in args], params)
    if isinstance(trace, JVPTrace):
        kept = [i for i in carried if _may_be_kept(trace, args[i])]
        if kept and any(map(rules_keep_refs, _bodies(params))):
            return _run_on_way(trace, args, kept, run)
    return run({})


def _may_be_kept(trace: JVPTrace, x) -> bool:
    """Whether a reference holds numbers, and belongs to the trace below or has an origin there."""
    return is_ref(x) and (type(x) is Cell or not _is_own(trace, x)) and (
        dtypes.issubdtype(x.aval.dtype, np.number) or x.aval.dtype == bool)


def _is_own(trace: Trace, x) -> bool:
    return isinstance(x, Tracer) and trace.owns(x)


# -- origins ---------------------------------------------------------------------------------------


def run_on_origins(primitive, args: Sequence, params: dict[str, Any]) -> list | None:
    """Apply a primitive whose rule keeps references of the running trace to their origins.

    None if it keeps none, or if the trace turns functions into functions of contents.
    """
    trace = context.trace
    own = [i for i, x in enumerate(args) if is_ref(x) and _is_own(trace, x)]
    if primitive.keeps_refs is None or not isinstance(trace, JVPTrace | BatchTrace) or not all(
            type(args[i]) in (Cell, MappedRef) for i in own):
        return None
    written = primitive.keeps_refs([typeof(x) for x in args], params)
    if written is None:
        return None
    given = [_origin(trace, x) if i in own else x for i, x in enumerate(args)]
    if any(_is_own(trace, x) for x in given):
        outs = trace.process(primitive, given, params)
    else:
        with running(trace.underneath):
            outs = primitive.bind(*given, **params)
    for i in written:
        if type(args[i]) is Cell and i in own:  # by the rule, which has no derivative for it
            args[i].content, args[i].written = args[i].echo.load(), True
    return outs


def _origin(trace: JVPTrace | BatchTrace, ref) -> Reference:
    """The reference that ``bwd`` may keep in place of one of a trace.

    For a derivative it is one of the trace below; for a batch, one of the trace that maps it.
    """
    if type(ref) is not Cell:
        return ref
    if ref.echo is None:
        value, *dim = trace.split(ref.content)
        below = trace.underneath
        while isinstance(below, PartialTrace):  # it records equations that depend on tangents
            below = below.underneath
        with running(below):
            if isinstance(trace, BatchTrace):
                whole = new_ref(materialize(value, dim[0], trace.axis.size))
                ref.echo = MappedRef(trace, whole, 0)
            elif ref.outer is None:
                ref.echo = PrimalRef(trace, new_ref(value))
            else:
                ref.echo = PrimalRef(trace, ref.outer)
                ref.outer[...] = value
    return ref.echo.ref if isinstance(ref.echo, PrimalRef) else ref.echo


# -- late values -----------------------------------------------------------------------------------


def late_from(content):
    """The content of a reference in the form of its late value; see :func:`late_type`."""
    aval = typeof(content)
    late = late_type(aval)
    if late is aval:
        return content
    if late.shape == aval.shape:
        return convert(content, late.dtype)
    bits = bitcast_convert_type(content, np.dtype(f"uint{8 * aval.dtype.itemsize}"))
    return concatenate([
        convert((bits >> 16 * i & 0xffff).reshape(1, *aval.shape), late.dtype)
        for i in range(late.shape[0])], 0)


def content_from(late, aval: ShapedArray):
    """The inverse of :func:`late_from`: the content."""
    kind = late_type(aval)
    if kind is aval:
        return late
    if kind.shape == aval.shape:
        return convert(late, aval.dtype)
    unsigned = np.dtype(f"uint{8 * aval.dtype.itemsize}")
    bits = convert(late[0], unsigned)
    for i in range(1, kind.shape[0]):
        bits = bits | convert(late[i], unsigned) << 16 * i
    return bitcast_convert_type(bits, aval.dtype)


def _run_on_way(trace: JVPTrace, args: Sequence, kept: list[int], run) -> list:
    """Run between the two ends of the path: one end reads references, the other writes to them."""
    refs = [_origin(trace, x) if _is_own(trace, x := args[i]) else x for i in kept]
    types = [late_type(ref.aval.inner_aval) for ref in refs]

    def write(cts):
        for ref, ct in zip(refs, cts):
            if type(ct) is not Zero:
                ref[...] = content_from(ct, ref.aval.inner_aval)
        return [Zero(typeof(t)) for t in active]

    def read(cts):
        return [*cts, *(late_from(ref[...]) for ref in refs)]

    with running(trace.underneath):
        active = _active(trace, (x for x in args if not is_ref(x)))
        if not active:
            return run({})
        tangents = late_refs_p.bind(*active, out_avals=tuple(types), back=write)
        late = {i: trace.pair(zeros_of(ty), t) for i, ty, t in zip(kept, types, tangents)}
    outs = run(late)
    count = len(outs) - len(kept)
    with running(trace.underneath):
        found = _active(trace, outs[:count])
        ends = [instantiate(trace.split(x)[1]) for x in outs[count:]]
        new = iter(late_refs_p.bind(*found, *ends, back=read,
                                    out_avals=tuple(typeof(t) for t in found)))
        pairs = [trace.split(x) for x in outs[:count]]
        return [trace.pair(x, t if type(t) is Zero else next(new)) for x, t in pairs]


def _active(trace: JVPTrace, values) -> list:
    """The tangents of values that are not zero."""
    return [t for x in values if type(t := trace.split(x)[1]) is not Zero]
