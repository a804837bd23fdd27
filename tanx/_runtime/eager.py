"""Eager execution: one primitive on concrete values, by its ``eval`` rule.

Nothing is compiled and nothing is cached. NumPy's floating-point warnings are silenced by running
in a context of our own, which costs a tenth of ``np.errstate`` and leaves the user's settings be.
"""

from __future__ import annotations

import contextvars
import threading

import numpy as np

from .. import _config
from .._core.array import Array
from .._core.primitive import Kind
from .._core.trace import Tracer, leaked
from .._core.types import typeof

__all__ = ["evaluate"]


class _Quiet(threading.local):
    """A context in which NumPy does not warn; one a thread, since a context runs once at a time."""

    def __init__(self):
        self.context = contextvars.copy_context()
        self.context.run(np.seterr, all="ignore")


_quiet = _Quiet()
_CALL = Kind.CALL  # looking a member up in its enumeration costs as much as a small addition


def evaluate(primitive, args, params):
    """Run ``primitive`` on arrays, NumPy arrays and Python scalars; an ``Array`` or a list."""
    if primitive.kind is _CALL:
        return primitive.eval(*args, **params)
    types = []
    values = []
    for x in args:
        if type(x) is Array:
            types.append(x.aval)
            buffer = x._buffer
            values.append(x._value if buffer is None else buffer)
        elif isinstance(x, Tracer):
            raise leaked(x)
        else:
            aval = typeof(x)
            types.append(aval)
            values.append(np.asarray(x, aval.dtype))
    out_type = primitive.infer(*types, **params)
    out = _quiet.context.run(primitive.eval, *values, **params)
    if primitive.multiple_results:
        results = [Array(np.asarray(y), t.weak_type, t) for y, t in zip(out, out_type, strict=True)]
        if _config.strict.value:
            _check_finite(primitive, results)
        return results
    result = Array(out if type(out) is np.ndarray else np.asarray(out), out_type.weak_type,
                   out_type)
    if _config.strict.value:
        _check_finite(primitive, [result])
    return result


def _check_finite(primitive, results) -> None:
    """Under ``debug_nans`` and ``debug_infs``: stop at the operation that made the value."""
    for result in results:
        data = result._value
        if not np.issubdtype(data.dtype, np.inexact):
            continue
        if _config.debug_nans.value and np.isnan(data).any():
            raise FloatingPointError(f"invalid value (nan) encountered in {primitive.name}: "
                                     f"{result.aval}")
        if _config.debug_infs.value and np.isinf(data).any():
            raise FloatingPointError(f"invalid value (inf) encountered in {primitive.name}: "
                                     f"{result.aval}")
