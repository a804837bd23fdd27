"""Foreign functions as lowerings of primitives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..._core.layouts import Layout
from ..._core.types import ShapeDtypeStruct
from ...errors import explain
from .calls import TYPED, UNTYPED, ffi_call

__all__ = ["build_ffi_lowering_function", "ffi_lowering"]

_KNOWN = ("has_side_effect", "operand_output_aliases", "api_version")


def ffi_lowering(call_target_name: str, *, operand_layouts: Sequence | None = None,
                 result_layouts: Sequence | None = None,
                 backend_config: Mapping[str, Any] | str | None = None,
                 skip_ffi_layout_processing: bool = False, **lowering_args: Any) -> Callable:
    """A lowering, for ``register_lowering``, that calls a registered function.

    Results have the types of the primitive's abstract evaluation. The parameters of the primitive
    become attributes, in addition to those in ``backend_config``. Layouts are from minor to major
    here. ``lowering_args`` may be ``has_side_effect``, ``operand_output_aliases`` and
    ``api_version``.

    >>> import ctypes
    >>> nothing = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda frame: None)
    >>> tanx.ffi.register_ffi_target("nothing at all", tanx.ffi.pycapsule(nothing))
    >>> p = tanx.extend.core.Primitive("nothing")
    >>> _ = p.def_abstract_eval(lambda x: tanx.core.ShapedArray(x.shape, x.dtype))
    >>> tanx.interpreters.mlir.register_lowering(p, tanx.ffi.ffi_lowering("nothing at all"))
    >>> tanx.jit(p.bind)(jnp.zeros(3)).shape
    (3,)
    """
    unknown = set(lowering_args) - set(_KNOWN)
    if unknown:
        raise NotImplementedError(explain(
            "tanx.ffi.ffi_lowering", "these arguments are for operations of MLIR, which tanx does "
            "not have.", f"found: {', '.join(sorted(unknown))}", f"known: {', '.join(_KNOWN)}"))

    def lowering(ctx, *operands, **params):
        config = {} if backend_config is None else backend_config
        if not isinstance(config, Mapping):
            raise NotImplementedError(explain(
                "tanx.ffi.ffi_lowering", "backend_config must be a dict of attributes.",
                f"backend_config: {backend_config!r:.80}"))
        untyped = lowering_args.get("api_version", TYPED) != TYPED
        call = ffi_call(
            call_target_name, [ShapeDtypeStruct(a.shape, a.dtype) for a in ctx.avals_out],
            has_side_effect=lowering_args.get("has_side_effect", False),
            input_layouts=_major_to_minor(operand_layouts),
            output_layouts=_major_to_minor(result_layouts),
            input_output_aliases=lowering_args.get("operand_output_aliases"),
            custom_call_api_version=UNTYPED if untyped else TYPED)
        return call(*operands, **({} if untyped else {**config, **params}))

    return lowering


def _major_to_minor(layouts: Sequence | None) -> list | None:
    return None if layouts is None else [
        None if order is None else order.major_to_minor if isinstance(order, Layout)
        else tuple(order)[::-1] for order in layouts]


def build_ffi_lowering_function(call_target_name: str, *, operand_layouts: Sequence | None = None,
                                result_layouts: Sequence | None = None,
                                backend_config: Mapping[str, Any] | str | None = None,
                                skip_ffi_layout_processing: bool = False,
                                **lowering_args: Any) -> Callable:
    """As :func:`tanx.ffi.ffi_lowering`: the call itself is the lowering.

    >>> callable(tanx.ffi.build_ffi_lowering_function("nothing"))
    True
    """
    return ffi_lowering(call_target_name, operand_layouts=operand_layouts,
                        result_layouts=result_layouts, backend_config=backend_config,
                        skip_ffi_layout_processing=skip_ffi_layout_processing, **lowering_args)
