"""``custom_vjp``: functions with a reverse-mode derivative written by the user."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

import numpy as np

from .. import dtypes, tree_util
from .._base.config import disable_bwd_checks
from .._base.traceback import boundary
from .._core.cells import Cell
from .._core.jaxpr import ClosedJaxpr, eval_jaxpr
from .._core.linear import Linear, Zero, expansion, instantiate, never
from .._core.naming import leaf_names, name_of
from .._core.primitive import Kind, Primitive
from .._core.refs import check_distinct, check_not_returned, is_ref
from .._core.stage import stage
from .._core.trace import Tracer, context, running
from .._core.types import NUMBERS, ShapedArray, is_arraylike, typeof
from .._ops.base import materialize, move_axis, reduce_sum
from .._transforms.discharge import DischargeTrace, content_type, discharge
from .._transforms.vmap import Axis, batch
from ..errors import UnexpectedTracerError, explain
from .accumulators import NullAccum, ValAccum, log
from .custom import (
    Arguments,
    CustomCall,
    Refs,
    SymbolicZero,
    Written,
    batched_flat,
    batched_run,
    call_on_contents,
    contents_of,
    flat_leaves,
    process_custom_vjp_call,
    run,
    run_on_cells,
    settled,
)
from .custom_remat import fwd_or_function
from .late import content_from, late_from

__all__ = ["CustomVJPPrimal", "closure_convert", "custom_vjp", "custom_vjp_call_p",
           "custom_vjp_primal_tree_values", "zero_from_primal"]


@dataclasses.dataclass(frozen=True, slots=True)
class CustomVJPPrimal:
    """An argument as a ``fwd`` rule with ``symbolic_zeros=True`` sees it; a leaf of pytrees."""

    value: Any
    perturbed: bool | tuple[bool, ...]


def custom_vjp_primal_tree_values(tree):
    """Strip :class:`CustomVJPPrimal` from a pytree, leaving the values."""
    def is_primal(x):
        return isinstance(x, CustomVJPPrimal)

    return tree_util.tree_map(lambda leaf: leaf.value if is_primal(leaf) else leaf, tree,
                              is_leaf=is_primal)


def zero_from_primal(val, symbolic_zeros: bool = False):
    """The zero cotangent of a value, or of each leaf of a pytree.

    Zeros are arrays, or instances of :class:`SymbolicZero`.

    >>> zero_from_primal({"w": jnp.ones(2)})
    {'w': Array([0., 0.], dtype=float32)}
    """
    def zero(leaf):
        found = SymbolicZero.from_primal_value(leaf)
        return found if symbolic_zeros else instantiate(Zero(found.aval))

    return tree_util.tree_map(zero, val)


class CustomVJPCall(CustomCall):
    """Runs ``call_jaxpr``; in reverse mode ``fwd`` runs instead.

    ``fwd(perturbed, *args)`` returns the list of results, the list of residuals, and the function
    from residuals and cotangents of the results to the list of cotangents of the arguments.
    ``bwd``, the user's rule, is only shown.
    """

    name = "custom_vjp_call"
    name_first = True
    custom_call = staticmethod(process_custom_vjp_call)
    subfuns = ("call_jaxpr", "fwd", "bwd")

    def jvp(self, primals, tangents, *, fwd, bwd, num_consts, symbolic_zeros, optimize_remat, name,
            call_jaxpr, **params):
        own, tangents = primals[num_consts:], tangents[num_consts:]
        rule = functools.partial(fwd, tuple(type(t) is not Zero for t in tangents))
        if optimize_remat:
            outs, residuals, pull = fwd_or_function(rule, call_jaxpr, primals, own)
        else:
            outs, residuals, pull = rule(*own)
        self.check_results(outs, "fwd rule", call_jaxpr, name=name, **params)
        out_avals = [typeof(y).to_tangent() for y in outs]
        out_tangents = custom_lin_p.bind(
            *residuals, *map(instantiate, tangents), num_res=len(residuals), bwd=pull,
            out_avals=tuple(out_avals), symbolic_zeros=symbolic_zeros, name=name)
        return outs, [Zero(a) if a.dtype == dtypes.float0 else t
                      for a, t in zip(out_avals, out_tangents)]

    @expansion
    def taylor(self, *args, call_jaxpr, **params):
        """The rules are for reverse mode only: series go through the function itself."""
        return list(run(call_jaxpr, args))

    def batch_axis(self, axis, args, dims, *, call_jaxpr, fwd, num_consts, **params):
        mapped = [True] if any(d is not None for d in dims) else []
        outs = self.bind(
            *args, call_jaxpr=batched_flat(call_jaxpr, axis, dims, mapped),
            fwd=_batched_fwd(fwd, axis, dims[num_consts:], mapped), num_consts=num_consts, **params)
        return outs, [0 if mapped[0] else None] * len(outs)

    def keeps_refs(self, types, params):
        """Whether ``fwd`` keeps references, found by tracing it."""
        found = False

        def probe(*args):
            nonlocal found
            _, residuals, _ = params["fwd"]((True,) * len(args), *args)
            found = any(map(is_ref, residuals))
            return []

        start = params["num_consts"]
        closed = ClosedJaxpr(*stage(probe, types[start:]))
        return tuple(start + i for i in discharge(closed).written) if found else None

    def on_contents(self, refs, params):
        return {**params, "call_jaxpr": call_on_contents(params["call_jaxpr"], refs),
                "fwd": _fwd_on_contents(params["fwd"], refs[params["num_consts"]:],
                                        params["name"])}

    def show_params(self, params):
        consts = {"num_consts": params["num_consts"]} if params["num_consts"] else {}
        return {"name": params["name"], "bwd": name_of(params["bwd"]),
                "call_jaxpr": params["call_jaxpr"], "fwd": name_of(params["fwd"]), **consts,
                "symbolic_zeros": params["symbolic_zeros"]}


def _fwd_on_contents(fwd, refs: Refs, name: str):
    """The ``fwd`` of a call on the contents of references, followed by late values.

    The results of ``bwd`` are followed by cotangents of late values: the contents after ``bwd``.
    """
    late = [i for i, ref in enumerate(refs) if ref is not None and ref.late]

    def written(i: int) -> Written:
        ref = refs[i]
        assert ref is not None  # it is late
        return ref

    def on_contents(perturbed, *values):
        (outs, residuals, pull), args = run_on_cells(
            functools.partial(fwd, perturbed[:len(refs)]), refs, values)
        number = {id(args[i]): n for n, i in enumerate(late)}
        places = [number.get(id(x), -1) if is_ref(x) else None for x in residuals]
        if -1 in places:
            raise NotImplementedError(explain(
                f"tanx.custom_vjp: the fwd rule of {name}",
                "keeps a reference for bwd that is made in the body of a loop, a branch or "
                "checkpoint, or is used where lanes of vmap take different branches.",
                hint="make the reference outside, or return what bwd would write as a "
                     "cotangent."))
        inner = [x for x in residuals if not is_ref(x)]

        def pulled(*given):
            kept, cts = iter(given[:len(inner)]), given[len(inner):]
            ends = cts[len(cts) - len(late):]
            trace = DischargeTrace(context.trace)
            cells = [Cell(trace, content_from(_settled_zero(ct), written(i).aval.inner_aval),
                          written(i).aval) for i, ct in zip(late, ends)]
            with running(trace):
                answers = pull(*(next(kept) if n is None else cells[n] for n in places),
                               *cts[:len(outs)])
            return [*answers, *(late_from(cell.content) for cell in cells)]
        return [*outs, *contents_of(args, refs), *values[len(refs):]], inner, pulled
    return functools.update_wrapper(on_contents, fwd)


def _settled_zero(ct):
    """A cotangent as an array."""
    return instantiate(Zero(ct.aval)) if type(ct) is SymbolicZero else instantiate(ct)


def _batched_fwd(fwd, axis: Axis, dims, mapped: list[bool]):
    """The ``fwd`` of a call over a batch."""
    def batched_fwd(perturbed, *args):
        count, pull = 0, None

        def flat(*xs):
            nonlocal count, pull
            outs, residuals, pull = fwd(perturbed, *xs)
            count = len(outs)
            return [*outs, *residuals]

        values, found = batch(flat, axis, args, dims)
        outs = settled(values[:count], found[:count], axis, mapped, fwd)
        ct_dims = [0 if mapped[0] else None] * count
        return outs, values[count:], _batched_bwd(pull, axis, [*found[count:], *ct_dims], dims)
    return functools.update_wrapper(batched_fwd, fwd)


def _batched_bwd(bwd, axis: Axis, dims, targets):
    """A function from residuals and cotangents, at ``dims``, to cotangents at ``targets``."""
    def batched_bwd(*args):
        cts, found = batched_run(bwd, axis, args, dims)
        return [_gather_cotangent(ct, d, target, axis)
                for ct, d, target in zip(cts, found, targets)]
    return batched_bwd


def _gather_cotangent(ct, dim: int | None, target: int | None, axis: Axis):
    """A batched cotangent for an argument: along its batch axis, or summed if it has none."""
    if type(ct) in (Zero, SymbolicZero):
        return ct
    if target is not None:
        return materialize(ct, dim, axis.size, target)
    if dim is None:  # the same from every lane
        ct, dim = materialize(ct, None, axis.size), 0
    return reduce_sum(move_axis(ct, dim, 0), (0,))


class CustomLinear(Primitive):
    """The derivative of a ``custom_vjp`` function: known only by its transpose, ``bwd``."""

    name = "custom_lin"
    kind = Kind.CALL
    is_users = True
    multiple_results = True

    def infer(self, *types, out_avals, **params):
        return list(out_avals)

    def lower(self, into, *args, name, **params):
        raise TypeError(explain(
            "tanx.jvp",
            f"{name} is a custom_vjp function: forward-mode autodiff (jvp) has no rule for it.",
            hint="use tanx.grad or tanx.vjp, or define the function with tanx.custom_jvp."))

    def eval(self, *args, **params):
        return self.lower(None, *args, **params)

    jvp = never("its second derivative is that of bwd")

    def transpose(self, cts, *args, num_res, bwd, symbolic_zeros, **params):
        if symbolic_zeros:
            given = [SymbolicZero(ct.aval) if type(ct) is Zero else ct for ct in cts]
        else:
            given = [instantiate(ct) for ct in cts]
        answers = bwd(*args[:num_res], *given)
        return [None] * num_res + [
            None if type(x) is not Linear
            else Zero(x.aval) if type(ct) in (Zero, SymbolicZero) else ct
            for x, ct in zip(args[num_res:], answers, strict=True)]

    def batch_axis(self, axis, args, dims, *, num_res, bwd, out_avals, **params):
        ct_dims = [0] * len(out_avals)
        outs = self.bind(
            *args, num_res=num_res, bwd=_batched_bwd(bwd, axis, [*dims[:num_res], *ct_dims],
                                                     dims[num_res:]),
            out_avals=tuple(a.inc_rank(axis.size, 0) for a in out_avals), **params)
        return outs, ct_dims

    batch = never("it is batched by batch_axis, which gets the mapped axis")


custom_vjp_call_p = CustomVJPCall()
custom_lin_p = CustomLinear()


class custom_vjp:
    """Give a function a custom reverse-mode derivative.

    :meth:`defvjp` sets two rules: ``fwd(*args)`` returns the result and residuals, ``bwd(residuals,
    cotangent)`` returns a tuple with a cotangent for each argument (None for zero). Arguments in
    ``nondiff_argnums`` go to ``fwd`` in their place and to ``bwd`` first.

    >>> @custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1, 1),))
    >>> tanx.grad(lambda x: 5 * clip_gradient(x))(3.0)
    Array(1., dtype=float32, weak_type=True)
    """

    def __init__(self, fun: Callable, nondiff_argnums=(), nondiff_argnames=()):
        functools.update_wrapper(self, fun)
        self.fun = fun
        self._arguments = Arguments(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable | None = None
        self.bwd: Callable | None = None
        self.symbolic_zeros = self.optimize_remat = self.with_accums = False

    def defvjp(self, fwd: Callable, bwd: Callable, symbolic_zeros: bool = False,
               optimize_remat: bool = False, generic_batching: bool = False) -> None:
        """Set the two rules.

        With ``symbolic_zeros``, ``fwd`` gets :class:`CustomVJPPrimal` arguments and ``bwd`` may
        take and return ``SymbolicZero``. With ``optimize_remat`` the function itself runs if
        residuals are not needed, as in the forward pass under ``checkpoint``. ``generic_batching``
        has no effect: each lane has its own cotangents of shared results.
        """
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros
        self.optimize_remat, self.with_accums = optimize_remat, False

    def defvjp_with_logs(self, fwd: Callable, bwd: Callable, symbolic_zeros: bool = False,
                         optimize_remat: bool = False, generic_batching: bool = False) -> None:
        """As :meth:`defvjp`, but ``bwd`` returns the cotangents and a dict of values to log.

        ``pull.with_logs(ct)`` of a function from :func:`tanx.vjp` returns the cotangents and all
        logged values; otherwise logs are dropped. A key is logged once in a backward pass.

        >>> @tanx.custom_vjp
        ... def f(x):
        ...     return 2 * x
        >>> f.defvjp_with_logs(lambda x: (f(x), None), lambda _, ct: ((2 * ct,), {"ct": ct}))
        >>> tanx.vjp(f, 1.0)[1].with_logs(3.0)[1]
        {'ct': 3.0}
        """
        self.defvjp(fwd, _logged(bwd), symbolic_zeros, optimize_remat, generic_batching)

    def defvjp_with_accums(self, fwd: Callable, bwd: Callable, symbolic_zeros: bool = False,
                           optimize_remat: bool = False, generic_batching: bool = False) -> None:
        """As :meth:`defvjp`, but ``bwd(residuals, cotangent, *accums)`` adds to accumulators.

        There is one for each leaf of the arguments, in the arguments' structure; its method
        ``accum`` adds a cotangent. ``bwd`` returns None, or a dict of values to log.

        >>> @tanx.custom_vjp
        ... def f(x):
        ...     return 2 * x
        >>> f.defvjp_with_accums(lambda x: (f(x), None), lambda _, ct, x: x.accum(2 * ct))
        >>> tanx.grad(f)(1.0)
        Array(2., dtype=float32, weak_type=True)
        """
        self.defvjp(fwd, bwd, symbolic_zeros, optimize_remat, generic_batching)
        self.with_accums = True

    def defremat(self, fwd: Callable, rem: Callable, bwd: Callable,
                 generic_batching: bool = False) -> None:
        """Set rules with a separate step for recomputation.

        ``fwd(*args)`` returns the result and values to store; ``rem(stored, *args)`` returns the
        result again and the residuals for ``bwd``. Both run in the forward pass. Under
        ``checkpoint`` both run again in the backward pass; ``fwd`` stores only values that the
        policy allows.

        >>> @tanx.custom_vjp
        ... def f(x):
        ...     return jnp.sin(x)
        >>> f.defremat(lambda x: (jnp.sin(x), None), lambda _, x: (jnp.sin(x), jnp.cos(x)),
        ...            lambda slope, ct: (slope * ct,))
        >>> tanx.grad(f)(0.0)
        Array(1., dtype=float32, weak_type=True)
        """
        def both(*args):
            _, stored = fwd(*args)
            return rem(stored, *args)
        self.defvjp(functools.update_wrapper(both, fwd), bwd, generic_batching=generic_batching)

    def defremat_with_logs(self, fwd: Callable, rem: Callable, bwd: Callable,
                           generic_batching: bool = False) -> None:
        """As :meth:`defremat`, but ``bwd`` returns the cotangents and a dict of values to log."""
        self.defremat(fwd, rem, _logged(bwd), generic_batching)

    def __getattr__(self, name: str):
        # Methods such as ``f.def_vmap(rule)`` set the rule of the wrapped function.
        if not name.startswith("def"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.fun, name)

    def __get__(self, instance, owner=None):
        return self if instance is None else MethodType(self, instance)

    @boundary
    def __call__(self, *args, **kwargs):
        name = name_of(self.fun)
        if self.fwd is None or self.bwd is None:
            raise AttributeError(explain(
                "tanx.custom_vjp", f"{name} has no derivative rules yet.",
                hint=f"set them with {name}.defvjp(fwd, bwd)."))
        dynamic, fixed, count = self._arguments.take(args, kwargs)
        for i, x in fixed.items():
            if isinstance(x, Tracer):
                raise UnexpectedTracerError(explain(
                    f"tanx.custom_vjp of {name}",
                    f"argument {i}, listed in nondiff_argnums, is a traced array.",
                    f"argument: {typeof(x)}",
                    hint="take it out of nondiff_argnums; bwd may return None for its cotangent."))
        leaves, in_tree = flat_leaves(f"tanx.custom_vjp: arguments of {name}", dynamic,
                                      "list it in nondiff_argnums, or close over it.",
                                      keep_numbers=True)
        if any(map(is_ref, leaves)):
            check_distinct(f"tanx.custom_vjp of {name}", leaves,
                           leaf_names(self.fun, args, kwargs, fixed))
        rules = _FlatRules(self, in_tree, fixed, count, [typeof(x) for x in leaves])
        outs = custom_vjp_call_p.bind(
            *leaves, call_jaxpr=rules.call, bwd=self.bwd, num_consts=0, name=name,
            fwd=functools.update_wrapper(functools.partial(rules.fwd), self.fwd),
            symbolic_zeros=self.symbolic_zeros, optimize_remat=self.optimize_remat)
        return tree_util.tree_unflatten(rules.out_tree, outs)


def _logged(bwd: Callable) -> Callable:
    """A rule that returns cotangents, from one that returns a pair of cotangents and logs."""
    @functools.wraps(bwd)
    def rule(*args):
        answer = bwd(*args)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise TypeError(explain(
                f"tanx.custom_vjp: the bwd rule {name_of(bwd)}",
                "must return a pair: the cotangents, and a dict of logs or None.",
                f"it gave: {answer!r:.100}"))
        log(answer[1])
        return answer[0]
    return rule


class _FlatRules:
    """The user's function and rules on flat arguments, with checks of their results."""

    def __init__(self, custom: custom_vjp, in_tree, fixed: dict[int, Any], count: int, in_avals):
        self.custom, self.in_tree, self.fixed = custom, in_tree, fixed
        self.count, self.in_avals = count, in_avals
        self.out_tree: Any = None  # until one of them has run

    def whole(self, flat_args) -> list:
        rest = iter(tree_util.tree_unflatten(self.in_tree, flat_args))
        return [self.fixed[i] if i in self.fixed else next(rest) for i in range(self.count)]

    def call(self, *args):
        outs, self.out_tree = tree_util.tree_flatten(self.custom.fun(*self.whole(args)))
        check_not_returned(f"tanx.custom_vjp: {name_of(self.custom.fun)}", outs)
        return outs

    def fwd(self, perturbed, *args):
        given: Sequence = args
        if self.custom.symbolic_zeros:
            given = [CustomVJPPrimal(x, p) for x, p in zip(args, perturbed)]
        rule: Any = self.custom.fwd
        answer = rule(*self.whole(given))
        what = f"tanx.custom_vjp: the fwd rule {name_of(rule)}"
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise TypeError(explain(what, "must return a pair: the result and the residuals.",
                                    f"it gave: {answer!r:.100}"))
        outs, out_tree = tree_util.tree_flatten(answer[0])
        if self.out_tree is not None and out_tree != self.out_tree:
            raise TypeError(explain(what, "must return a result of the function's structure.",
                                    f"function: {self.out_tree}", f"rule:     {out_tree}"))
        self.out_tree = out_tree
        residuals, residual_tree = tree_util.tree_flatten(answer[1])
        check_not_returned(what, outs)
        check_not_returned(f"{what}, among its residuals,", residuals, args)
        # Python numbers are not converted: bwd may branch on them, or loop over them.
        numbers = {i: x for i, x in enumerate(residuals) if type(x) in NUMBERS}
        return outs, [x for i, x in enumerate(residuals) if i not in numbers], functools.partial(
            self.bwd, perturbed, residual_tree, numbers)

    def bwd(self, perturbed, residual_tree, numbers, *args):
        count = residual_tree.num_leaves
        given = iter(args)
        residuals = tree_util.tree_unflatten(residual_tree, [
            numbers[i] if i in numbers else next(given) for i in range(count)])
        ct = tree_util.tree_unflatten(self.out_tree, list(given))
        rule: Any = self.custom.bwd
        if self.custom.with_accums:
            answer = self._accumulated(perturbed, residuals, ct)
        else:
            answer = rule(*self.fixed.values(), residuals, ct)
        what = (f"tanx.custom_vjp: the bwd rule {name_of(rule)} of "
                f"{name_of(self.custom.fun)}")
        arguments = tree_util.treedef_children(self.in_tree)
        if not isinstance(answer, tuple | list) or len(answer) != len(arguments):
            raise TypeError(explain(
                what, f"must return a tuple of {len(arguments)} cotangents, one for each argument.",
                f"arguments: {self.in_tree}",
                f"it gave:   {tree_util.tree_structure(answer)}"))
        flat: list = []
        avals = iter(self.in_avals)
        for i, (tree, part) in enumerate(zip(arguments, answer)):
            expected = [content_type(next(avals)).to_tangent() for _ in range(tree.num_leaves)]
            flat += self._cotangents(what, i, tree, part, expected)
        return flat

    def _accumulated(self, perturbed, residuals, ct):
        """The cotangents that a rule adds to accumulators."""
        sums = [ValAccum(aval.to_tangent()) if p else NullAccum(aval.to_tangent())
                for aval, p in zip(self.in_avals, perturbed)]
        accums = tree_util.tree_unflatten(self.in_tree, sums)
        log(self.custom.bwd(*self.fixed.values(), residuals, ct, *accums))
        return tree_util.tree_unflatten(self.in_tree, [accum.freeze() for accum in sums])

    def _cotangents(self, what: str, position: int, tree, part, expected: list) -> list:
        if part is None:
            return [Zero(a) for a in expected]
        try:  # a cotangent in place of a node is for all its leaves
            leaves = tree_util.broadcast_prefix(part, tree_util.tree_unflatten(tree, expected),
                                                is_leaf=lambda x: x is None)
        except ValueError as error:
            raise TypeError(explain(
                what, f"returned a cotangent of the wrong structure for argument {position}.",
                f"argument:  {tree}", f"cotangent: {tree_util.tree_structure(part)}")) from error
        checked = []
        for aval, ct in zip(expected, leaves):
            if ct is None or aval.dtype == dtypes.float0:
                ct = Zero(aval)
            elif type(ct) not in (Zero, SymbolicZero) and not is_arraylike(ct):
                raise TypeError(explain(
                    what, f"returned a cotangent of the wrong structure for argument {position}.",
                    f"expected:  {aval}", f"cotangent: {ct!r:.100}"))
            elif not (disable_bwd_checks.value or _fits(aval, ct)):
                raise ValueError(explain(
                    what, f"returned a cotangent of the wrong type for argument {position}.",
                    f"expected:  {aval}", f"cotangent: {typeof(ct)}"))
            checked.append(ct)
        return checked


def _fits(aval: ShapedArray, ct) -> bool:
    """Whether a cotangent has the right shape, and a dtype that converts to that of ``aval``."""
    if type(ct) in (Zero, SymbolicZero):
        return ct.aval.shape == aval.shape
    found = typeof(ct)
    is_complex = dtypes.issubdtype(found.dtype, np.complexfloating)
    return found.shape == aval.shape and found.dtype != dtypes.float0 and (
        not is_complex or dtypes.issubdtype(aval.dtype, np.complexfloating))


def closure_convert(fun: Callable, *example_args):
    """Turn the traced values that a function closes over into arguments.

    Returns the converted function and the list of those values; call it as ``converted(*args,
    *values)``. For use with ``custom_vjp``, whose functions may not close over traced values.

    >>> converted, values = closure_convert(lambda x: x * 2.0, 1.0)
    >>> float(converted(3.0, *values))
    6.0
    """
    leaves, in_tree = tree_util.tree_flatten(example_args)
    out_tree: Any = None

    def flat(*args):
        nonlocal out_tree
        outs, out_tree = tree_util.tree_flatten(fun(*tree_util.tree_unflatten(in_tree, args)))
        return outs

    jaxpr, consts = stage(flat, [typeof(x) for x in leaves])
    hoisted = [isinstance(x, Tracer) and dtypes.issubdtype(x.dtype, np.inexact)
               for x in consts]
    fixed = [x for x, h in zip(consts, hoisted) if not h]

    @boundary
    def converted(*args):
        count = sum(hoisted)
        given, values = args[:len(args) - count], iter(args[len(args) - count:])
        rest = iter(fixed)
        all_consts = [next(values) if h else next(rest) for h in hoisted]
        flat_args, tree = tree_util.tree_flatten(given)
        if tree != in_tree:
            raise TypeError(explain(
                "tanx.closure_convert", "the arguments differ in structure from the examples.",
                f"examples:  {in_tree}", f"arguments: {tree}"))
        return tree_util.tree_unflatten(out_tree, eval_jaxpr(jaxpr, all_consts, *flat_args))

    return converted, [x for x, h in zip(consts, hoisted) if h]
