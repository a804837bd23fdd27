"""A library's primitives on pytrees of values, also of high types: :class:`HiPrim`.

An instance is one use: it has the types of its operands and results, and static parameters. A jaxpr
shows it as one equation. Eager code and compiled code run its implementation, ``expand``; each
transformation has its own method, which may be omitted if the transformation is not used.

All of them are parameters of one primitive, :data:`call_hi_primitive_p`, whose rules call their
methods. :mod:`tanx._extend.high_rules` makes some methods from others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._base.traceback import boundary
from .._base.tuples import NamedTuple
from .._control.accumulators import GradAccum, NullAccum, RefAccum, ValAccum, log
from .._control.custom_vjp import CustomLinear
from .._core.jaxpr import ClosedJaxpr
from .._core.linear import Linear, Zero, expansion, never
from .._core.primitive import Kind, Primitive
from .._core.source import user_source
from .._core.stage import stage_closed
from .._core.trace import context
from .._core.types import typeof
from .._ops.base import as_array
from .._transforms.linearize import PartialTrace
from .._transforms.vmap import Axis, batch
from ..errors import explain
from ..tree_util import broadcast_prefix, tree_flatten, tree_leaves, tree_map, tree_unflatten

__all__ = ["AxisData", "HiPrim", "call_hi_primitive_p"]


class AxisData(NamedTuple):
    """The mapped axis, for batching rules."""

    name: Any
    size: int
    spmd_name: Any = None
    explicit_mesh_axis: Any = None


class HiPrim:
    """A primitive with static parameters, types of operands and of results, and rules.

    ``__init__`` of a subclass sets ``in_avals``, a tuple with a pytree of types for each argument,
    ``out_aval``, a pytree of types, and ``params``, a dict of parameters with hashes, which become
    attributes; then it calls ``super().__init__()``. The instance is called with the arguments.

    >>> from tanx.experimental import hijax
    >>> class Sine(hijax.HiPrim):
    ...     def __init__(self, x):
    ...         self.in_avals, self.out_aval, self.params = (x,), x, {}
    ...         super().__init__()
    ...     def expand(self, x):
    ...         return jnp.sin(x)
    ...     def jvp(self, primals, tangents):
    ...         return self(*primals), jnp.cos(*primals) * tangents[0]
    >>> sine = lambda x: Sine(tanx.typeof(x))(x)
    >>> tanx.make_jaxpr(sine)(1.0)
    { lambda ; a:f32[]. let b:f32[] = Sine a in (b,) }
    >>> tanx.jvp(sine, (0.0,), (2.0,))[1]
    Array(2., dtype=float32, weak_type=True)
    """

    in_avals: tuple
    out_aval: Any
    params: dict[str, Any]

    effects: frozenset = frozenset()
    skip_linearization_on_zero_tangents = False

    def __init__(self) -> None:
        for name in ("in_avals", "out_aval", "params"):
            if not hasattr(self, name):
                raise AttributeError(f"subclass __init__ should set `self.{name}`")
        self.in_avals_flat, self.in_tree = tree_flatten(tuple(self.in_avals))
        self.out_avals_flat, self.out_tree = tree_flatten(self.out_aval)
        vars(self).update(self.params)

    @boundary
    def __call__(self, *args):
        leaves, tree = tree_flatten(args)
        if tree != self.in_tree:
            raise TypeError(explain(
                type(self).__name__, "takes arguments of the structure of its in_avals.",
                f"in_avals:  {self.in_tree}", f"arguments: {tree}"))
        outs = call_hi_primitive_p.bind(*map(_operand, leaves), _prim=self)
        return tree_unflatten(self.out_tree, outs)

    # -- rules -------------------------------------------------------------------------------------

    def check(self, *arg_tys) -> None:
        """Raise if arguments have wrong types; by default any are accepted."""

    def expand(self, *args):
        """The result, by operations on arrays."""
        raise NotImplementedError(f"subclass {type(self)} must implement `expand`")

    def jvp(self, primals, tangents):
        """The result and its tangent. Tangents may be :class:`~tanx._core.linear.Zero`."""
        raise NotImplementedError(f"for jvp support, subclass {type(self)} must implement `jvp`")

    def lin(self, nzs_in, *primals):
        """The result, and residuals for ``linearized``; ``nzs_in`` marks nonzero tangents."""
        raise NotImplementedError(
            f"for linearize support, subclass {type(self)} must implement `lin` and `linearized`, "
            "or derive them from its `jvp` rule: `lin, linearized = linearize_from_jvp`")

    def linearized(self, residuals, *tangents):
        """The tangent of the result."""
        raise NotImplementedError(
            f"for linearize support, subclass {type(self)} must implement `linearized`")

    def vjp_fwd(self, nzs_in, /, *args):
        """The result, and residuals for the backward pass."""
        raise NotImplementedError(
            f"for grad support, subclass {type(self)} must implement `vjp_fwd`, or derive it: "
            "`vjp_fwd, vjp_bwd_retval = vjp_from_jvp` (or `= vjp_from_lin`)")

    def vjp_bwd(self, res, outgrad, /, *arg_accums):
        """Add the cotangents of the arguments to accumulators; None, or a dict of logs."""
        with_logs: Any = self.vjp_bwd_retval_logs
        if with_logs is True:  # vjp_bwd_retval gives a pair
            grads, logs = self.vjp_bwd_retval(res, outgrad)
        else:
            grads, logs = with_logs(res, outgrad)
        tree_map(_accumulate, arg_accums, tuple(grads), is_leaf=_is_accumulator)
        return logs

    def vjp_bwd_retval(self, res, outgrad, /):
        """The cotangents of the arguments, a tuple; None means zero."""
        raise NotImplementedError(
            f"for grad support, subclass {type(self)} must implement `vjp_bwd` or "
            "`vjp_bwd_retval`")

    def vjp_bwd_retval_logs(self, res, outgrad, /):
        """As :meth:`vjp_bwd_retval`, with a dict of values to log, or None."""
        return self.vjp_bwd_retval(res, outgrad), None

    def transpose(self, out_ct, *maybe_accums):
        """Add the cotangents of the linear arguments to accumulators.

        Instead of an accumulator, an argument that is not linear has its value.
        """
        raise NotImplementedError(
            f"for transpose support, subclass {type(self)} must implement `transpose`")

    def batch(self, axis_data, args, dims):
        """The result on arguments with batch axes at ``dims``, and where its own batch axis is."""
        raise NotImplementedError(f"for vmap support, subclass {type(self)} must implement `batch`")

    def staging(self, trace, source_info, *args):
        """Add the equation to the function that is traced."""
        return tree_unflatten(self.out_tree, trace.record(
            call_hi_primitive_p, tree_leaves(args), {"_prim": self}))

    def physicalize(self, ctx, *args):
        """The result on stored values: the same as :meth:`expand`."""
        return self.expand(*args)

    def dce(self, used_outs, live_ins):
        """The remaining operation if not all results are used: tanx keeps all of it."""
        raise NotImplementedError(_not_called(self, "dce"))

    def remat(self, trace, *args):
        """How ``checkpoint`` recomputes: by the rules for derivatives, in tanx."""
        raise NotImplementedError(_not_called(self, "remat"))

    def pp_params(self) -> dict[str, Any]:
        """The parameters that jaxprs show."""
        return self.params

    # -- as a parameter ----------------------------------------------------------------------------

    def _key(self) -> tuple:
        return (type(self), tuple(self.in_avals_flat), self.in_tree, tuple(self.out_avals_flat),
                self.out_tree, tuple(sorted(self.params.items(), key=lambda item: item[0])))

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return self is other or type(self) is type(other) and self._key() == other._key()

    def __repr__(self) -> str:
        shown = " ".join(f"{name}={value}" for name, value in self.pp_params().items())
        return f"{type(self).__name__}{f'[{shown}]' if shown else ''}"


def _operand(x):
    """An argument as a tracer, an array, a reference or a value of a high type."""
    aval = typeof(x)
    return x if aval.is_high or hasattr(aval, "inner_aval") else as_array(x)


def _not_called(prim: HiPrim, rule: str) -> str:
    return explain(f"{type(prim).__name__}.{rule}", "tanx does not call such rules of primitives.")


def _is_accumulator(x) -> bool:
    return isinstance(x, GradAccum)


def _accumulator(aval, ref) -> GradAccum:
    """What a rule adds the cotangents of a value to: the reference, if there is one."""
    return ValAccum(aval) if ref is None else RefAccum(aval, ref)


def _accumulate(accum, grad) -> None:
    if _is_accumulator(accum) and grad is not None:
        accum.accum(grad)


def defines(prim: HiPrim, rule: str) -> bool:
    """Whether a class defines a rule."""
    return getattr(type(prim), rule) is not getattr(HiPrim, rule)


# -- the primitive ---------------------------------------------------------------------------------


def _arguments(prim: HiPrim, leaves: Sequence) -> tuple:
    return tree_unflatten(prim.in_tree, leaves)


def _results(prim: HiPrim, out, rule: str) -> list:
    """The leaves of a rule's results."""
    leaves, tree = tree_flatten(out)
    if tree != prim.out_tree:
        raise TypeError(explain(
            f"{type(prim).__name__}.{rule}", "returned another structure than out_aval.",
            f"out_aval: {prim.out_tree}", f"given:    {tree}"))
    return leaves


class CallHiPrimitive(Primitive):
    """Applies the :class:`HiPrim` in its parameter ``_prim``."""

    name = "call_hi_primitive"
    kind = Kind.CALL
    multiple_results = True
    lower = never("compiled code contains its implementation instead")

    def __init__(self) -> None:
        self._staged: dict[Any, ClosedJaxpr] = {}  # not in the table of tanx's primitives

    def infer(self, *types, _prim: HiPrim):
        _prim.check(*_arguments(_prim, types))
        return list(_prim.out_avals_flat)

    def effects(self, *types, _prim: HiPrim):
        return frozenset(_prim.effects)

    def eval(self, *args, _prim: HiPrim):
        out = _prim.expand(*_arguments(_prim, args))
        return [_operand(x) for x in _results(_prim, out, "expand")]

    expand = eval

    def body(self, types, params):
        key = (params["_prim"], tuple(types))
        if key not in self._staged:
            closed, captured = stage_closed(lambda *xs: self.eval(*xs, **params), tuple(types))
            if captured:
                raise NotImplementedError(explain(
                    repr(params["_prim"]), "its expand uses traced values from outside.",
                    *(f"value: {typeof(x)}" for x in captured),
                    hint="pass them as arguments."))
            wanted = params["_prim"].out_avals_flat
            if not all(a.matches(b) for a, b in zip(wanted, closed.out_avals)):
                raise TypeError(explain(
                    repr(params["_prim"]), "its expand returns other types than out_aval.",
                    f"out_aval: {', '.join(map(str, wanted))}",
                    f"expand:   {', '.join(map(str, closed.out_avals))}"))
            self._staged[key] = closed
        return self._staged[key]

    def stage(self, trace, args, params):
        prim = params["_prim"]
        if not defines(prim, "staging") or isinstance(trace, PartialTrace):
            return trace.record(self, args, params)
        return tree_leaves(prim.staging(trace, user_source(), *_arguments(prim, args)))

    def jvp(self, primals, tangents, *, _prim: HiPrim):
        """By ``vjp_fwd`` if a backward pass may follow, otherwise by ``jvp``."""
        may_be_pulled = context.trace.staging or isinstance(context.trace, PartialTrace)
        if may_be_pulled and defines(_prim, "vjp_fwd"):
            return _with_pullback(_prim, primals, tangents)
        if may_be_pulled and not defines(_prim, "jvp") and not defines(_prim, "lin"):
            HiPrim.vjp_fwd(_prim, ())  # raises an error that names the missing rule
        if defines(_prim, "jvp") or not defines(_prim, "lin"):
            answer = _prim.jvp(_arguments(_prim, primals), _arguments(_prim, tangents))
        else:
            nonzero = _arguments(_prim, [type(t) is not Zero for t in tangents])
            out, residuals, *_ = _prim.lin(nonzero, *_arguments(_prim, primals))
            answer = out, _prim.linearized(residuals, *_arguments(_prim, tangents))
        out, out_tangents = answer
        return _results(_prim, out, "jvp"), _results(_prim, out_tangents, "jvp")

    def transpose(self, cts, *args, _prim: HiPrim):
        return self.transpose_into([None] * len(args), cts, *args, _prim=_prim)

    def transpose_into(self, refs, cts, *args, _prim: HiPrim):
        sums = [_accumulator(x.aval.to_ct_aval(), ref) if type(x) is Linear else x
                for x, ref in zip(args, refs)]
        _prim.transpose(tree_unflatten(_prim.out_tree, cts), *_arguments(_prim, sums))
        return [accum.freeze() if type(accum) is ValAccum else None for accum in sums]

    def batch_axis(self, axis: Axis, args, dims, *, _prim: HiPrim):
        out, out_dims = _prim.batch(AxisData(*axis), _arguments(_prim, args),
                                    _arguments(_prim, dims))
        outs = _results(_prim, out, "batch")
        return outs, broadcast_prefix(out_dims, out, is_leaf=lambda x: x is None)

    batch = never("it is batched by batch_axis, which gets the mapped axis")

    def is_high(self, *types, **params) -> bool:
        return True

    def show_equation(self, eqn, binders, show):
        operands = "".join(f" {show(x)}" for x in eqn.invars)
        equals = [" = "] if binders else []
        return [*binders, *equals, f"{eqn.params['_prim']!r}{operands}"]


call_hi_primitive_p = CallHiPrimitive()


# -- reverse mode ----------------------------------------------------------------------------------


def _with_pullback(prim: HiPrim, primals: Sequence, tangents: Sequence) -> tuple[list, list]:
    """Results by ``vjp_fwd``, and tangents whose transpose is ``vjp_bwd``."""
    nonzero = [type(t) is not Zero for t in tangents]
    out, res, *more = prim.vjp_fwd(_arguments(prim, nonzero), *_arguments(prim, primals))
    if len(more) > 1:
        raise NotImplementedError(explain(
            f"{type(prim).__name__}.vjp_fwd", "residuals with a separate structure are not "
            "supported.", hint="return the result, residuals and nzs_out."))
    outs = _results(prim, out, "vjp_fwd")
    residuals, tree = tree_flatten(res)
    moving = broadcast_prefix(more[0], out) if more else [True] * len(outs)
    forward = _forward(prim, nonzero)
    known = [*(primals if forward else ()), *residuals]

    def pull(*given, refs):
        own, targets = given[len(known) - len(residuals):len(known)], iter(refs)
        sums = [_accumulator(aval.to_ct_aval(), next(targets)) if nz
                else NullAccum(aval.to_ct_aval()) for aval, nz in zip(prim.in_avals_flat, nonzero)]
        log(prim.vjp_bwd(tree_unflatten(tree, own),
                         tree_unflatten(prim.out_tree, given[len(known):]),
                         *_arguments(prim, sums)))
        return [accum.freeze() if type(accum) is ValAccum else None
                for accum, nz in zip(sums, nonzero) if nz]

    out_avals = [typeof(y).to_tangent() for y in outs]
    found = hi_lin_p.bind(
        *known, *(t for t, nz in zip(tangents, nonzero) if nz), num_res=len(known), bwd=pull,
        forward=forward, out_avals=tuple(out_avals), name=type(prim).__name__)
    return outs, [t if m else Zero(a) for t, a, m in zip(found, out_avals, moving)]


def _forward(prim: HiPrim, nonzero: Sequence[bool]) -> Callable | None:
    """The function from primals, residuals and nonzero tangents to tangents, if there is one."""
    if not (defines(prim, "jvp") or defines(prim, "lin")):
        return None

    def forward(*given):
        primals = given[:len(nonzero)]
        left = iter(given[len(given) - sum(nonzero):])
        tangents = [next(left) if nz else Zero.tangent_of(p) for p, nz in zip(primals, nonzero)]
        if defines(prim, "jvp"):
            out = prim.jvp(_arguments(prim, primals), _arguments(prim, tangents))[1]
        else:
            residuals = prim.lin(_arguments(prim, nonzero), *_arguments(prim, primals))[1]
            out = prim.linearized(residuals, *_arguments(prim, tangents))
        return [t.instantiate() if type(t) is Zero else t for t in _results(prim, out, "jvp")]
    return forward


class HiLinear(CustomLinear):
    """The derivative of a :class:`HiPrim` with rules for reverse mode.

    Its transpose is ``bwd``; if the primitive has a rule for forward mode, ``forward`` computes the
    tangents.
    """

    name = "call_hi_primitive_linear"

    def __init__(self) -> None:
        pass  # not in the table of tanx's primitives

    def eval(self, *args, forward, name, **params):
        if forward is None:
            raise NotImplementedError(f"for jvp support, subclass {name} must implement `jvp`")
        return forward(*args)

    expand = eval

    def body(self, types, params):
        return stage_closed(lambda *xs: self.eval(*xs, **params), tuple(types))[0]

    @expansion
    def jvp(self, *args, **params):
        return HiLinear.eval(self, *args, **params)

    def transpose(self, cts, *args, **params):
        return self.transpose_into([None] * len(args), cts, *args, **params)

    def transpose_into(self, refs, cts, *args, num_res, bwd, **params):
        answers = bwd(*args[:num_res], *cts, refs=refs[num_res:])
        return [None] * num_res + [ct if type(x) is Linear else None
                                   for x, ct in zip(args[num_res:], answers, strict=True)]

    def batch_axis(self, axis, args, dims, **params):
        return batch(lambda *xs: self.eval(*xs, **params), axis, args, dims)

    def show_params(self, params):
        return {"name": params["name"]}


hi_lin_p = HiLinear()
