"""Lowerings: functions of arrays that replace a primitive in compiled code.

JAX's lowerings build MLIR. tanx has no MLIR: a lowering made by :func:`lower_fun` is staged and
compiled with the program around it; one that builds MLIR operations raises an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._control.callback import io_callback, pure_callback
from .._core.types import ShapeDtypeStruct
from ..errors import explain
from .primitive import Primitive

__all__ = ["emit_python_callback", "lower_fun", "register_lowering"]


def lower_fun(fun: Callable, multiple_results: bool = True) -> Callable:
    """A lowering that runs a function of arrays.

    ``fun`` takes the operands and the parameters of the primitive. It returns a sequence, or one
    array if ``multiple_results`` is False.

    >>> p = tanx.extend.core.Primitive("square")
    >>> _ = p.def_abstract_eval(lambda x: x)
    >>> tanx.interpreters.mlir.register_lowering(
    ...     p, tanx.interpreters.mlir.lower_fun(lambda x: x * x, multiple_results=False))
    >>> tanx.jit(p.bind)(3.0)
    Array(9., dtype=float32, weak_type=True)
    """
    def lowering(ctx, *args, **params):
        out = fun(*args, **params)
        return list(out) if multiple_results else [out]

    return lowering


def register_lowering(prim, rule: Callable, platform: str | None = None, inline: bool = True,
                      cacheable: bool = True) -> None:
    """Register the lowering of a primitive, for all platforms or for one.

    ``rule(ctx, *operands, **params)`` is run on traced operands when a program is compiled; it is
    made by :func:`lower_fun`, or calls its result. :func:`lower_fun` has an example.
    """
    if type(prim) is not Primitive:
        raise NotImplementedError(explain(
            "tanx.interpreters.mlir.register_lowering",
            "only primitives made by tanx.extend.core.Primitive take another lowering.",
            f"primitive: {prim}"))
    prim.lowerings[platform] = rule


def emit_python_callback(ctx, callback: Callable, token, operands: Sequence[Any],
                         operand_avals: Sequence[Any], result_avals: Sequence[Any], *,
                         has_side_effect: bool, returns_token: bool = True,
                         partitioned: bool = False, sharding=None):
    """Call a Python function within a lowering; the results, the token, and None.

    ``callback`` takes NumPy's arrays and returns a sequence of results of the types in
    ``result_avals``.

    >>> p = tanx.extend.core.Primitive("halved")
    >>> _ = p.def_abstract_eval(lambda x: x)
    >>> def lowering(ctx, x):
    ...     results, _, _ = tanx.interpreters.mlir.emit_python_callback(
    ...         ctx, lambda x: (x / 2,), None, [x], ctx.avals_in, ctx.avals_out,
    ...         has_side_effect=False)
    ...     return results
    >>> tanx.interpreters.mlir.register_lowering(p, lowering)
    >>> tanx.jit(p.bind)(3.0)
    Array(1.5, dtype=float32, weak_type=True)
    """
    types = [ShapeDtypeStruct(aval.shape, aval.dtype) for aval in result_avals]
    call = io_callback if has_side_effect else pure_callback
    results = call(lambda *xs: tuple(callback(*xs)), tuple(types), *operands)
    return list(results), token, None
