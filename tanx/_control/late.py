"""References that ``bwd`` rules write to, when their functions are called inside of loops.

``custom_vjp`` lets ``fwd`` keep a reference for ``bwd``, which reads and writes it while the
backward pass runs. Called directly, the rules get the reference itself. Inside of a loop, a branch
or ``checkpoint`` there are values only, and the forward pass knows nothing of what the backward
pass will find. So a second value goes along with the content of such a reference: the *late* value.
It is zero, and what matters is its cotangent, which is the content in the backward pass: the
backward pass starts with what the reference holds then, each ``bwd`` takes the cotangent of the
late value for the content, and gives what it has written as the cotangent further back. Loops carry
the late value, so their backward passes carry the content, in the right order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .. import dtypes
from .._core.cells import Cell
from .._core.jaxpr import ClosedJaxpr, JaxprEqn, cached_by_jaxpr
from .._core.linear import Zero, instantiate, never
from .._core.primitive import Kind, Primitive
from .._core.refs import AbstractRef, is_ref
from .._core.trace import Tracer, context, running
from .._core.types import typeof
from .._ops.derive import zeros_of
from .._transforms.jvp import JVPTrace
from ..errors import explain

__all__ = ["late_of", "rules_keep_refs", "run_late"]


class LateRefs(Primitive):
    """One end of the way that late values go: tangents in, tangents out, known by ``back``.

    ``back`` takes the cotangents of the results and gives those of the operands.
    """

    name = "late_refs"
    kind = Kind.CALL
    is_users = True
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
        type(ty) is AbstractRef for ty in types) and eqn.primitive.keeps_refs(types, eqn.params)


def _bodies(params: dict[str, Any]) -> Iterator[ClosedJaxpr]:
    """The functions among parameters."""
    for value in params.values():
        for item in value if isinstance(value, tuple | list) else (value,):
            if isinstance(item, ClosedJaxpr):
                yield item


def late_of(args: Sequence) -> dict[int, Any]:
    """The late values of references among operands, by position."""
    return {i: x.late for i, x in enumerate(args) if isinstance(x, Cell) and x.late is not None}


def run_late(args: Sequence, params: dict[str, Any], carried: range,
             run: Callable[[Mapping[int, Any]], list]) -> list:
    """The results of ``run``, which takes late values by position and gives them behind its own.

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
    if isinstance(trace, JVPTrace):
        kept = [i for i in carried if _comes_from_below(trace, args[i])]
        if kept and any(map(rules_keep_refs, _bodies(params))):
            return _run_on_way(trace, args, kept, run)
    return run({})


def _comes_from_below(trace: JVPTrace, x) -> bool:
    """Whether a reference was made outside the differentiated function, and holds floats."""
    return is_ref(x) and not (isinstance(x, Tracer) and trace.owns(x)) and dtypes.issubdtype(
        x.aval.dtype, dtypes.np.inexact)


def _run_on_way(trace: JVPTrace, args: Sequence, kept: list[int], run) -> list:
    """Run between the two ends of the way: one reads references, the other writes to them."""
    refs = [args[i] for i in kept]
    types = [ref.aval.inner_aval for ref in refs]

    def write(cts):
        for ref, ct in zip(refs, cts):
            if type(ct) is not Zero:
                ref[...] = ct
        return [Zero(typeof(t)) for t in active]

    def read(cts):
        return [*cts, *(ref[...] for ref in refs)]

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
