"""Tools for jaxprs and derivatives with JAX's names and signatures, for libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from .._core.axes import axis_sizes
from .._core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, jaxpr_as_fun
from .._core.linear import Linear, instantiate
from .._core.rewrite import constvars_to_invars, dce
from .._core.source import user_source
from .._core.stage import stage
from .._core.trace import Trace, Tracer, context, running
from .._core.types import AbstractValue, ShapedArray, is_arraylike
from .._core.wrapped import WrappedFun
from .._ops.derive import sum_cotangents, zeros_of
from .._transforms import jvp as forward
from .._transforms.linearize import partial_eval_jaxpr
from .._transforms.transpose import backward
from .._transforms.vmap import Axis, BatchTrace, batch_jaxpr, to_axis
from ..errors import ConcretizationTypeError, explain
from .rules import primitive_transposes

__all__ = [
    "abstract_eval_fun", "add_jaxvals", "add_tangents", "backward_pass", "batch_jaxpr_axes",
    "close_jaxpr", "concrete_or_error", "convert_constvars_jaxpr", "dce_jaxpr", "dce_jaxpr_consts",
    "find_top_trace", "gensym", "get_opaque_trace_state", "get_primitive_transpose",
    "instantiate_zeros", "is_undefined_primal", "jvp", "jvp_jaxpr", "mapped_aval",
    "move_binders_to_back", "new_jaxpr_eqn", "nonempty_axis_env_DO_NOT_USE",
    "partial_eval_jaxpr_nounits", "primal_dtype_to_tangent_dtype", "prune_closed_jaxpr_outputs",
    "set_current_trace", "take_current_trace", "trace_to_jaxpr_dynamic",
    "unmapped_aval", "unsafe_am_i_under_a_jit_DO_NOT_USE", "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE", "valid_jaxtype", "zeros_like_aval"]


def _callable(fun) -> Callable:
    return fun.call_wrapped if isinstance(fun, WrappedFun) else fun


# -- tangents and cotangents -----------------------------------------------------------------------


def instantiate_zeros(tangent):
    """A symbolic zero as an array of zeros; other values unchanged.

    >>> ad = tanx.interpreters.ad
    >>> ad.instantiate_zeros(ad.Zero(tanx.core.ShapedArray((2,), np.float32)))
    Array([0., 0.], dtype=float32)
    """
    return instantiate(tangent)


def zeros_like_aval(aval):
    """Zeros of a type.

    >>> tanx.interpreters.ad.zeros_like_aval(tanx.core.ShapedArray((2,), np.float32))
    Array([0., 0.], dtype=float32)
    """
    return zeros_of(aval)


def add_tangents(x, y):
    """The sum of two tangents, either of which may be a symbolic zero.

    >>> tanx.interpreters.ad.add_tangents(jnp.ones(2), jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """
    return sum_cotangents(x, y)


def add_jaxvals(x, y):
    """The sum of two tangents.

    >>> tanx.interpreters.ad.add_jaxvals(jnp.ones(2), jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """
    return sum_cotangents(x, y)


def is_undefined_primal(x) -> bool:
    """Whether an operand of a transposed equation is to be differentiated.

    >>> ad = tanx.interpreters.ad
    >>> ad.is_undefined_primal(ad.UndefinedPrimal(tanx.typeof(1.0))), ad.is_undefined_primal(1.0)
    (True, False)
    """
    return type(x) is Linear


def get_primitive_transpose(p) -> Callable:
    """The transpose rule of a primitive.

    >>> p = tanx.extend.core.primitives.neg_p
    >>> tanx.interpreters.ad.get_primitive_transpose(p)(jnp.ones(2), None)
    [Array([-1., -1.], dtype=float32)]
    """
    if p not in primitive_transposes:
        raise NotImplementedError(explain(
            f"{p}", f"Transpose rule (for reverse-mode differentiation) for '{p}' not implemented"))
    return primitive_transposes[p]


def backward_pass(jaxpr, transform_stack, consts: Sequence[Any], primals_in: Sequence[Any],
                  cts_in: Sequence[Any], return_logs: bool = False) -> list:
    """Cotangents of the undefined operands of a linear jaxpr, given those of its results.

    >>> ad, x = tanx.interpreters.ad, jnp.ones(2)
    >>> linear = tanx.make_jaxpr(lambda x: 3 * x)(x)
    >>> ad.backward_pass(linear.jaxpr, True, [], [ad.UndefinedPrimal(x.aval)], [x])
    [Array([3., 3.], dtype=float32)]
    """
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    return backward(jaxpr, consts, primals_in, cts_in)


def jvp(fun, primals, tangents, has_aux: bool = False, instantiate: bool | Sequence[bool] = True,
        transform_stack: bool = True):
    """Run a function of flat arguments on pairs of values and tangents; lists of both.

    >>> tanx.interpreters.ad.jvp(lambda x: [x * x], [3.0], [1.0])
    ([Array(9., dtype=float32, weak_type=True)], [Array(6., dtype=float32, weak_type=True)])
    """
    if has_aux:
        raise NotImplementedError(explain(
            "tanx.interpreters.ad.jvp", "takes no function with auxiliary results.",
            hint="tanx.jvp(f, primals, tangents, has_aux=True) does."))
    outs, out_tangents = forward.jvp(_callable(fun), list(primals), list(tangents))
    wanted = [instantiate] * len(outs) if isinstance(instantiate, bool) else list(instantiate)
    return outs, [instantiate_zeros(t) if w else t for t, w in zip(out_tangents, wanted)]


def jvp_jaxpr(jaxpr: ClosedJaxpr, nonzeros: Sequence[bool],
              instantiate: bool | Sequence[bool]) -> tuple[ClosedJaxpr, list[bool]]:
    """The forward-mode derivative of a closed jaxpr, and which results have a tangent.

    >>> square = tanx.make_jaxpr(lambda x: x * x)(1.0)
    >>> tanx.interpreters.ad.jvp_jaxpr(square, [True], False)[1]
    [True]
    """
    return forward.jvp_jaxpr(jaxpr, nonzeros, instantiate)


# -- jaxprs ----------------------------------------------------------------------------------------


def trace_to_jaxpr_dynamic(fun, in_avals: Sequence[AbstractValue],
                           keep_inputs: Sequence[bool] | None = None, lower: bool = False,
                           auto_dce: bool = False) -> tuple[Jaxpr, list[AbstractValue], list]:
    """Stage a function of flat arguments: a jaxpr, the types of its results, its constants.

    >>> pe = tanx.interpreters.partial_eval
    >>> jaxpr, types, consts = pe.trace_to_jaxpr_dynamic(lambda x: [x + 1], [tanx.typeof(1.0)])
    >>> jaxpr
    { lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b,) }
    >>> types
    [ShapedArray(float32[], weak_type=True)]
    """
    jaxpr, consts = stage(lambda *xs: list(_callable(fun)(*xs)), list(in_avals))
    return jaxpr, jaxpr.out_avals, consts


def abstract_eval_fun(fun: Callable, *avals, debug_info=None, **params) -> list[AbstractValue]:
    """The types of the results of a function of flat arguments.

    >>> x = jnp.ones(3)
    >>> tanx.interpreters.partial_eval.abstract_eval_fun(lambda x: [x > 0], tanx.typeof(x))
    [ShapedArray(bool[3])]
    """
    return trace_to_jaxpr_dynamic(lambda *xs: fun(*xs, **params), avals)[1]


def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """A jaxpr without constants as a closed one.

    >>> jaxpr = tanx.make_jaxpr(lambda x: x + 1)(1.0).jaxpr
    >>> tanx.interpreters.partial_eval.close_jaxpr(jaxpr).consts
    []
    """
    return ClosedJaxpr(jaxpr, ())


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """The same jaxpr with its constants as the first arguments.

    >>> closed = tanx.make_jaxpr(lambda x: x + np.arange(3.0))(1.0)
    >>> len(tanx.interpreters.partial_eval.convert_constvars_jaxpr(closed.jaxpr).invars)
    2
    """
    return constvars_to_invars(jaxpr)


def dce_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool],
              instantiate: bool | Sequence[bool] = False,
              live_inputs: bool = True) -> tuple[Jaxpr, list[bool]]:
    """The jaxpr without equations that the used results do not need, and which arguments remain.

    ``instantiate`` keeps unused arguments, all or some.

    >>> jaxpr = tanx.make_jaxpr(lambda x, y: (x + 1, jnp.sin(y)))(1.0, 2.0).jaxpr
    >>> tanx.interpreters.partial_eval.dce_jaxpr(jaxpr, [True, False])
    ({ lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b,) }, [True, False])
    """
    smaller, used = dce(jaxpr, list(used_outputs))
    kept = [instantiate] * len(used) if isinstance(instantiate, bool) else list(instantiate)
    used = [u or k for u, k in zip(used, kept)]
    invars = [v for v, u in zip(smaller.invars, used) if u]
    return smaller.replace(invars=invars), used


def dce_jaxpr_consts(jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate=False):
    """As :func:`dce_jaxpr`; also which constants remain.

    >>> closed = tanx.make_jaxpr(lambda x: (x + np.arange(3.0), x))(1.0)
    >>> tanx.interpreters.partial_eval.dce_jaxpr_consts(closed.jaxpr, [False, True])[1:]
    ([False], [True])
    """
    consts = len(jaxpr.constvars)
    kept = [instantiate] * len(jaxpr.invars) if isinstance(instantiate, bool) else [*instantiate]
    smaller, used = dce_jaxpr(constvars_to_invars(jaxpr), used_outputs, [False] * consts + kept)
    left = sum(used[:consts])
    return (smaller.replace(constvars=smaller.invars[:left], invars=smaller.invars[left:]),
            used[:consts], used[consts:])


def prune_closed_jaxpr_outputs(jaxpr: ClosedJaxpr, used_outputs: Sequence[bool]) -> ClosedJaxpr:
    """The closed jaxpr with the used results only.

    >>> closed = tanx.make_jaxpr(lambda x: (x + 1, x - 1))(1.0)
    >>> len(tanx.interpreters.partial_eval.prune_closed_jaxpr_outputs(closed, [1, 0]).out_avals)
    1
    """
    inner = jaxpr.jaxpr
    outvars = [v for v, used in zip(inner.outvars, used_outputs) if used]
    return ClosedJaxpr(inner.replace(outvars=outvars), jaxpr.consts)


def move_binders_to_back(closed_jaxpr: ClosedJaxpr, to_move: Sequence[bool]) -> ClosedJaxpr:
    """The closed jaxpr with some of its arguments moved to the end.

    >>> closed = tanx.make_jaxpr(lambda x, y: x - y)(1, 2.0)
    >>> tanx.interpreters.partial_eval.move_binders_to_back(closed, [True, False]).in_avals
    [ShapedArray(float32[], weak_type=True), ShapedArray(int32[], weak_type=True)]
    """
    invars = closed_jaxpr.jaxpr.invars
    order = ([v for v, moved in zip(invars, to_move) if not moved]
             + [v for v, moved in zip(invars, to_move) if moved])
    return ClosedJaxpr(closed_jaxpr.jaxpr.replace(invars=order), closed_jaxpr.consts)


def partial_eval_jaxpr_nounits(jaxpr: ClosedJaxpr, unknowns: Sequence[bool],
                               instantiate: bool | Sequence[bool]):
    """Split a closed jaxpr into a known part and an unknown part.

    The known part returns the known results, then residuals; the unknown part takes the residuals,
    then the unknown arguments. Also returns which results are unknown, and the types of residuals.

    >>> closed = tanx.make_jaxpr(lambda x, y: (jnp.sin(x), jnp.sin(x) * y))(1.0, 2.0)
    >>> pe = tanx.interpreters.partial_eval
    >>> known, unknown, which, residuals = pe.partial_eval_jaxpr_nounits(
    ...     closed, [False, True], False)
    >>> which, len(known.out_avals), len(unknown.in_avals)
    ([False, True], 2, 2)
    """
    wanted = ([instantiate] * len(jaxpr.out_avals) if isinstance(instantiate, bool)
              else list(instantiate))
    known, unknown, which, forwarded = partial_eval_jaxpr(jaxpr, unknowns, wanted)
    inner = known.jaxpr
    results = len(which) - sum(which)
    computed = iter(inner.outvars[results:])
    residuals = [next(computed) if i is None else inner.invars[i] for i in forwarded]
    known = ClosedJaxpr(inner.replace(outvars=[*inner.outvars[:results], *residuals]), known.consts)
    return known, unknown, which, [v.aval for v in residuals]


def batch_jaxpr_axes(closed_jaxpr: ClosedJaxpr, axis_data, in_axes: Sequence[int | None],
                     out_axes_dest: Sequence[int | None]):
    """The batched version of a closed jaxpr, and where its results have the batch.

    >>> axis = tanx.interpreters.batching.AxisData(None, 3)
    >>> closed = tanx.make_jaxpr(jnp.sin)(1.0)
    >>> batched, axes = tanx.interpreters.batching.batch_jaxpr_axes(closed, axis, [0], [0])
    >>> batched.in_avals, axes
    ([ShapedArray(float32[3], weak_type=True)], [0])
    """
    axis = Axis(axis_data.name, axis_data.size)
    batched, found = batch_jaxpr(closed_jaxpr, axis, tuple(in_axes),
                                 [d is not None for d in out_axes_dest])
    if list(found) == list(out_axes_dest):
        return batched, list(found)

    def moved(*args):
        return [to_axis(x, f, axis.size, d)
                for x, f, d in zip(jaxpr_as_fun(batched)(*args), found, out_axes_dest)]

    return ClosedJaxpr(*stage(moved, batched.in_avals)), list(out_axes_dest)


def new_jaxpr_eqn(invars, outvars, primitive, params, effects, source_info=None,
                  ctx=None) -> JaxprEqn:
    """An equation from its parts.

    >>> eqn = tanx.make_jaxpr(lambda x: x + 1)(1.0).eqns[0]
    >>> tanx.extend.core.new_jaxpr_eqn(eqn.invars, eqn.outvars, eqn.primitive, eqn.params,
    ...                                eqn.effects).primitive
    add
    """
    return JaxprEqn(list(invars), list(outvars), primitive, dict(params), frozenset(effects),
                    source_info or user_source())


def gensym() -> Callable[[AbstractValue], Var]:
    """A function that makes a new variable of a type.

    >>> tanx.extend.core.gensym()(tanx.typeof(1.0)).aval
    ShapedArray(float32[], weak_type=True)
    """
    return Var


# -- types and values ------------------------------------------------------------------------------


def mapped_aval(size: int, axis: int | None, aval):
    """A type without one of its axes.

    >>> tanx.extend.core.mapped_aval(3, 0, tanx.typeof(jnp.ones((3, 2))))
    ShapedArray(float32[2])
    """
    return aval if axis is None else aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1:])


def unmapped_aval(size: int, axis: int | None, aval, explicit_mesh_axis=None):
    """A type with one more axis.

    >>> tanx.extend.core.unmapped_aval(3, 1, tanx.typeof(jnp.ones(2)))
    ShapedArray(float32[2,3])
    """
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def valid_jaxtype(x) -> bool:
    """Whether a value is an array or a number.

    >>> tanx.extend.core.valid_jaxtype(1.0), tanx.extend.core.valid_jaxtype("a")
    (True, False)
    """
    return is_arraylike(x)


def primal_dtype_to_tangent_dtype(primal_dtype):
    """The dtype of tangents of arrays of a dtype.

    >>> tanx.extend.core.primal_dtype_to_tangent_dtype(np.dtype("int32")) == tanx.float0
    True
    """
    return ShapedArray((), dtypes.canonicalize_dtype(primal_dtype)).to_tangent().dtype


def concrete_or_error(force: Any, val: Any, context: str = ""):
    """The value ``force(val)``, or the error that it is not known while tracing.

    >>> tanx.extend.core.concrete_or_error(int, 3.0)
    3
    """
    if isinstance(val, Tracer):
        known = val.concrete()
        if known is None:
            raise ConcretizationTypeError(val, context)
        val = known
    return val if force is None else force(val)


# -- the running trace -----------------------------------------------------------------------------


class set_current_trace(running):
    """Make a trace the running one for a block; ``checking_leaks`` finds leaks."""

    __slots__ = ("check_leaks",)

    def __init__(self, trace, check_leaks: bool = False):
        super().__init__(trace)
        self.check_leaks = check_leaks

    @property
    def prev(self):
        """The trace that was running before the block."""
        return self.outer


class take_current_trace:
    """The running trace, for a block in which none of its tracers should be made.

    >>> with tanx.extend.core.take_current_trace() as trace:
    ...     type(trace).__name__
    'EvalTrace'
    """

    __slots__ = ("prev",)

    def __enter__(self):
        self.prev = context.trace
        return self.prev

    def __exit__(self, *_) -> None:
        pass


def find_top_trace(_=None):
    """The running trace.

    >>> type(tanx.extend.core.find_top_trace(())).__name__
    'EvalTrace'
    """
    return context.trace


class OpaqueTraceState:
    """A snapshot of the tracing state: equal to another if no trace began or ended between them."""

    __slots__ = ("_trace",)

    def __init__(self, trace):
        self._trace = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace is other._trace

    def __hash__(self) -> int:
        return id(self._trace)


def get_opaque_trace_state(convention: str | None = None) -> OpaqueTraceState:
    """A snapshot of the tracing state, for comparison.

    >>> tanx.extend.core.get_opaque_trace_state() == tanx.extend.core.get_opaque_trace_state()
    True
    """
    return OpaqueTraceState(context.trace)


def _traces():
    trace: Trace | None = context.trace
    while trace is not None:
        yield trace
        trace = trace.below


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether a function is being staged.

    >>> tanx.extend.core.unsafe_am_i_under_a_jit_DO_NOT_USE()
    False
    """
    return context.trace.staging


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether a function is being batched.

    >>> tanx.vmap(lambda x: tanx.extend.core.unsafe_am_i_under_a_vmap_DO_NOT_USE() + x)(
    ...     jnp.zeros(1, int))
    Array([1], dtype=int32)
    """
    return any(isinstance(trace, BatchTrace) for trace in _traces())


def unsafe_get_axis_names_DO_NOT_USE() -> list:
    """The names of the axes being mapped.

    >>> tanx.extend.core.unsafe_get_axis_names_DO_NOT_USE()
    []
    """
    return [name for name in axis_sizes() if name is not None]


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether an axis with a name is being mapped.

    >>> tanx.extend.core.nonempty_axis_env_DO_NOT_USE()
    False
    """
    return bool(unsafe_get_axis_names_DO_NOT_USE())
