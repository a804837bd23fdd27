"""Eager execution: one primitive on concrete values, by its ``eval`` rule.

Nothing is compiled and nothing is cached. Every eager operation takes this path, so tenths of
microseconds count. NumPy's floating-point warnings are silenced by running in a separate context,
which costs a tenth of ``np.errstate`` and does not touch the user's settings.
"""

from __future__ import annotations

import contextvars
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import dtypes
from .._base.config import debug_infs, debug_key_reuse, debug_nans, jit_disabled, no_execution
from .._base.flags import strict
from .._core import explicit
from .._core.array import Array
from .._core.explicit import Explicit
from .._core.high import is_high_use
from .._core.jaxpr import ClosedJaxpr, one_equation
from .._core.primitive import Kind
from .._core.source import user_source
from .._core.trace import Tracer, leaked
from .._core.transfers import watch_transfer
from .._core.types import high_classes, typeof
from ..errors import OutOfMemoryError, explain
from .availability import is_native
from .compiled_ufuncs import element_ufunc
from .memory import make_room, out_of_memory
from .result_places import Committed, placed, result_places
from .tier0 import interpreted, program_of

__all__ = ["compiled", "evaluate", "quietly", "ufunc_of"]


class _Quiet(threading.local):
    """Runs functions where NumPy does not warn; one per thread, because a context runs once at a
    time."""

    def __init__(self):
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        self.run: Callable[..., Any] = context.run


_quiet = _Quiet()


def quietly(function, *args):
    """Call a function where NumPy does not warn; it may run other primitives, quietly, too."""
    run = _quiet.run
    _quiet.run = _directly  # a context cannot be entered twice
    try:
        return run(function, *args)
    finally:
        _quiet.run = run


def _directly(function, *args, **params):
    return function(*args, **params)


# Looking up a member of an enumeration costs as much as a small addition.
_CALL, _ELEMENTWISE = Kind.CALL, Kind.ELEMENTWISE
LARGE = 1 << 16
"""Elements from which an operation is worth several threads."""


def evaluate(primitive, args, params):
    """Run ``primitive`` on arrays, NumPy arrays and Python scalars; an ``Array`` or a list."""
    placing = Committed.seen
    if placing and Explicit.seen:
        divided = _divided(primitive, args, params)
        if divided is not None:
            return divided
    try:
        if primitive.kind is _CALL:
            result: Any = _call(primitive, args, params)
            return _beside(primitive, args, params, result) if placing else result
        if len(args) == 2 and type(args[0]) is Array and type(args[1]) is Array:
            # Most operations are of this form: spare them the lists, and the empty keywords, which
            # take 0.1 us each time that they are handed on.
            x, y = args
            out_type = (primitive.infer(x.aval, y.aval, **params) if params
                        else primitive.infer(x.aval, y.aval))
            if primitive.kind is not _ELEMENTWISE:
                make_room(primitive, out_type)
            a = x._data if x._data is not None else x._value
            b = y._data if y._data is not None else y._value
            out = _spread(primitive, out_type, (a, b), params) if (
                a.size >= LARGE or b.size >= LARGE) else None
            if out is None:
                out = (_quiet.run(primitive.eval, a, b, **params) if params
                       else _quiet.run(primitive.eval, a, b))
        elif len(args) == 1 and type(args[0]) is Array:
            (x,) = args
            out_type = primitive.infer(x.aval, **params) if params else primitive.infer(x.aval)
            if primitive.kind is not _ELEMENTWISE:
                make_room(primitive, out_type)
            a = x._data if x._data is not None else x._value
            out = _spread(primitive, out_type, (a,), params) if a.size >= LARGE else None
            if out is None:
                out = (_quiet.run(primitive.eval, a, **params) if params
                       else _quiet.run(primitive.eval, a))
        else:
            types, values, with_data = [], [], True
            for x in args:
                if type(x) is Array:
                    types.append(x.aval)
                    values.append(x._data if x._data is not None else x._value)
                else:
                    with_data &= _take_in(x, types, values)
            out_type = primitive.infer(*types, **params)
            if primitive.kind is not _ELEMENTWISE:
                make_room(primitive, out_type)
            large = max([value.size for value in values], default=0) >= LARGE
            out = _spread(primitive, out_type, values, params) if large else None
            if out is None:
                out = _quiet.run(primitive.eval, *values, **params)
            if not with_data:
                return _without_data(primitive, out_type, out)
        if primitive.multiple_results:
            result = [Array(np.asarray(y), aval=t) for y, t in zip(out, out_type, strict=True)]
        else:
            result = Array(out if type(out) is np.ndarray else np.asarray(out), False, out_type)
        if strict.value:
            _look_at(primitive, args, params, result)
        return _beside(primitive, args, params, result) if placing else result
    except MemoryError as error:
        return _once_more(primitive, args, params, error)


def _look_at(primitive, args, params, result) -> None:
    """Raise the errors that options ask for."""
    _check_execution(primitive.name)
    results = result if primitive.multiple_results else [result]
    _check_finite(primitive, results)
    if debug_key_reuse.value and not _unwatched.value:
        _watch_keys(primitive, args, params, results)


def _beside(primitive, args, params, result):
    """The result where the operands lie."""
    if primitive.kind is _CALL:
        places = result_places(args, primitive.called(params))
    else:
        for x in args:
            if type(x) is Array and x._device is not None:
                break
        else:
            return result
        places = result_places(args)
    if places is None:
        return result
    return (placed(result, places, args) if primitive.multiple_results else
            placed([result], places, args)[0])


def _divided(primitive, args, params):
    """Run a primitive on arrays that are divided over a mesh; None if there is none."""
    types = [typeof(x) for x in args]
    if not explicit.concerns(primitive, types, params):
        return None
    results = evaluate(primitive, [_undivided(x) for x in args],
                       explicit.undivided_params(primitive, params))
    single = not primitive.multiple_results
    out = results.aval if single else [y.aval for y in results]
    out = explicit.divided_results(primitive, types, params, out)
    made = [y._shared(t) for y, t in zip([results] if single else results,
                                         [out] if single else out, strict=True)]
    return _beside(primitive, args, params, made[0] if single else made)


def _undivided(x):
    return x._shared(explicit.bare(x.aval)) if (
        type(x) is Array and explicit.is_divided(x.aval)) else x


def _without_data(primitive, out_type, out):
    """Results of operands of float0: those of this dtype stay with NumPy, as derivatives are."""
    if not primitive.multiple_results:
        out, out_type = [out], [out_type]
    results = [y if aval.dtype == dtypes.float0 else Array(np.asarray(y), aval=aval)
               for y, aval in zip(out, out_type, strict=True)]
    return results if primitive.multiple_results else results[0]


class _Again(threading.local):
    """Whether this thread runs an operation for the second time."""

    value = False


_again = _Again()


def _once_more(primitive, args, params, error: MemoryError):
    """Run an operation again for which memory was missing, when all garbage is gone."""
    if isinstance(error, OutOfMemoryError) or primitive.kind is _CALL:
        raise error
    if _again.value:
        types = primitive.infer(*map(typeof, args), **params)
        raise out_of_memory(f"tanx.lax.{primitive.name}", [
            (aval, None) for aval in (types if primitive.multiple_results else [types])]) from None
    from .host import give_back  # late: it takes the allocator
    _again.value = True
    try:
        gc.collect()
        give_back()
        return evaluate(primitive, args, params)
    finally:
        _again.value = False


def _spread(primitive, out_type, values, params) -> np.ndarray | None:
    """Large elementwise work in all threads; None if NumPy does it better alone."""
    if primitive.kind is not _ELEMENTWISE:
        return None
    make_room(primitive, out_type)
    if any(p is not None for p in params.values()) or not is_native():
        return None
    ufunc = ufunc_of(primitive, values[0].dtype, len(values))
    if ufunc is None:
        return None
    from .ufuncs import spread  # late: small programs need no threads
    return spread(ufunc, out_type.shape, out_type.dtype, *values)


def ufunc_of(primitive, dtype: np.dtype, operands: int) -> np.ufunc | None:
    """The ufunc that computes a primitive on a dtype of NumPy's, where it is one alone."""
    if not getattr(primitive, "own_loop", False) or dtype.kind != "f":
        return getattr(primitive, "ufunc_alone", None)
    return element_ufunc(primitive.name, dtype, operands) if dtype.itemsize > 2 else None


def _call(primitive, args, params):
    """Run a call: its body as a whole, where it has one.

    Where values are watched, results are; if one is not what it should be, the body runs once more,
    operation by operation, and the one that made it raises.
    """
    if strict.value:
        _check_execution(params.get("name", primitive.name))
    if strict.value and debug_key_reuse.value and not _unwatched.value and (
            primitive.unit or primitive.called(params) is not None):
        return _call_with_keys(primitive, args, params)
    if high_classes and primitive.on_parts is not None and is_high_use(args, params):
        return primitive.on_parts(args, params)
    body = primitive.called(params)
    if body is None and primitive.unit:
        body = one_equation(primitive, [typeof(x) for x in args], params)
    watched = strict.value and (debug_nans.value or debug_infs.value)
    if body is None or (jit_disabled.value if primitive.unit else watched):
        return primitive.eval(*args, **params)
    donated = () if watched else params.get("donated_invars", ())
    program = compiled(body, donated) if primitive.unit else program_of(body)
    if not (primitive.unit or program.runnable):  # loops inside are compiled, each by itself
        return primitive.eval(*args, **params)
    operands: list = []
    for x in args:
        if type(x) is Array:
            operands.append(x)
        else:
            _take_in(x, [], operands)
    results = quietly(program.run, operands)
    if watched and next(_not_finite(results), None):
        primitive.eval(*args, **params)
        _check_finite(primitive, results)
    return results


def _watch_keys(primitive, args, params, results) -> None:
    from .key_reuse import watch  # late: hardly ever needed
    watch(primitive, args, params, results)


def _call_with_keys(primitive, args, params):
    """Run a call whose keys are watched as a whole, not again by its operations."""
    _unwatched.value = True
    try:
        results = _call(primitive, args, params)
    finally:
        _unwatched.value = False
    _watch_keys(primitive, args, params, results)
    return results


class _Unwatched(threading.local):
    """Whether this thread is inside of a call whose keys are watched from outside."""

    value = False


_unwatched = _Unwatched()


def compiled(closed: ClosedJaxpr, donated: tuple[bool, ...] = ()):
    """The executable of a jaxpr; the compiler is loaded when the first one is needed.

    Without native code it is a program of tier 0.
    """
    if not is_native():
        return interpreted(closed, donated) if any(donated) else interpreted(closed)
    if dtypes.KeyType.any_is_long:
        from .long_keys import has_long_keys, run_on_words  # late: few programs have such keys
        if has_long_keys(closed):
            return run_on_words(closed, donated) if any(donated) else run_on_words(closed)
    from .executable import executable_of
    return executable_of(closed, donated) if any(donated) else executable_of(closed)


def _take_in(x, types: list, values: list) -> bool:
    """Add an operand from outside, a NumPy array or a number; false if it is one of float0."""
    if isinstance(x, Tracer):
        raise leaked(x)
    aval = typeof(x)
    if strict.value:
        watch_transfer(aval)
    types.append(aval)
    values.append(np.asarray(x, aval.dtype))
    return aval.dtype != dtypes.float0


def _check_execution(name: str) -> None:
    """Under ``no_execution`` nothing may run."""
    if no_execution.value:
        raise RuntimeError(explain(
            "tanx.no_execution", "an operation is executed, which no_execution forbids.",
            f"operation: {name}", f"at:        {user_source()}",
            hint="tanx.eval_shape and tanx.make_jaxpr execute nothing."))


def _check_finite(primitive, results) -> None:
    """Under ``debug_nans`` and ``debug_infs``: stop at the operation that made the value."""
    for result, what, count in _not_finite(results):
        source = user_source()
        raise FloatingPointError(explain(
            f"tanx.lax.{primitive.name}", f"made a value that is {what}.",
            f"result: {result.aval}, {count} of {result.size} elements",
            f"at:     {source}" + (f": {source.text}" if source.text else ""),
            hint=f"tanx.debug_{what}s(False) lets it pass."))


def _not_finite(results) -> Iterator[tuple[Array, str, int]]:
    """The results with values that the flags forbid, what these are, and how many."""
    for result in results:
        data = result._value
        if not dtypes.issubdtype(data.dtype, np.inexact):
            continue
        for flag, test, what in ((debug_nans, np.isnan, "nan"), (debug_infs, np.isinf, "inf")):
            if flag.value and (count := int(test(data).sum())):
                yield result, what, count
