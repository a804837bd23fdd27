"""Names of JAX for code that uses XLA and MLIR. tanx has neither: using them raises an error."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence

from ..errors import explain
from .ir import without_mlir

__all__ = ["JaxIrContext", "PipelineStage", "clear_hlo_module_transformation",
           "deserialize_portable_artifact", "hlo_to_stablehlo", "ifrt_programs",
           "lower_with_sharding_in_types", "refine_polymorphic_shapes",
           "register_hlo_module_transformation", "serialize_portable_artifact",
           "upstream_dialects"]


class _Absent:
    """An object without attributes; reading one raises an error that says why."""

    def __init__(self, name: str, why: str):
        self._name, self._why = name, why

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(explain(f"{self._name}.{name}", self._why))

    def __repr__(self) -> str:
        return f"<{self._name}: {self._why}>"


upstream_dialects = _Absent("tanx.extend.lowering.upstream_dialects",
                            "tanx compiles jaxprs itself: there are no dialects of MLIR.")
ifrt_programs = _Absent("tanx.extend.ifrt_programs.ifrt_programs",
                        "tanx runs programs of its own compiler, not those of XLA.")


class JaxIrContext:
    """The context of MLIR modules; tanx has none.

    >>> tanx.extend.lowering.JaxIrContext()
    Traceback (most recent call last):
    NotImplementedError: tanx.extend.lowering.JaxIrContext: ...
    """

    def __init__(self, *args, **kwargs):
        raise without_mlir("tanx.extend.lowering.JaxIrContext")


def _member(name: str) -> Callable:
    def ask(self, *args, **kwargs):
        raise without_mlir(f"tanx.extend.lowering.JaxIrContext.{name}")
    return ask


for _name in ("append_dialect_registry", "attach_diagnostic_handler", "begin_transient_scope",
              "enable_multithreading", "enable_remarks", "end_transient_scope", "finalize_remarks",
              "get_dialect_descriptor", "get_num_threads", "is_dialect_loaded",
              "is_registered_operation", "load_all_available_dialects", "set_thread_pool",
              "transient_scope"):
    setattr(JaxIrContext, _name, _member(_name))
for _name in ("allow_unregistered_dialects", "current", "d", "dialects", "emit_error_diagnostics",
              "is_in_transient_scope", "remarks_enabled"):
    setattr(JaxIrContext, _name, property(_member(_name)))


class PipelineStage(enum.Enum):
    """Where in XLA's compiler a transformation would run."""

    PRE_SCHEDULER = 0
    POST_SCHEDULER = 1


def register_hlo_module_transformation(
        callback: Callable[[bytes], bytes | None], *, name: str,
        stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
        platforms: str | Sequence[str] | None = None) -> None:
    """Raises: programs are not compiled by XLA.

    >>> tanx.extend.xla.register_hlo_module_transformation(lambda module: None, name="mine")
    Traceback (most recent call last):
    NotImplementedError: tanx.extend.xla.register_hlo_module_transformation: ...
    """
    raise NotImplementedError(explain(
        "tanx.extend.xla.register_hlo_module_transformation",
        "programs are compiled by tanx, not by XLA: there are no HLO modules to change.",
        f"name: {name}", hint="tanx.make_jaxpr gives a program that can be rewritten and run."))


def clear_hlo_module_transformation(
        name: str, stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
        platforms: str | Sequence[str] | None = None) -> bool:
    """Remove a transformation; always False, because none can be registered.

    >>> tanx.extend.xla.clear_hlo_module_transformation("mine")
    False
    """
    return False


def _refused(name: str) -> Callable:
    def function(*args, **kwargs):
        raise without_mlir(f"tanx.extend.mlir.{name}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Refused: there are no modules of MLIR.

    >>> tanx.extend.mlir.{name}()
    Traceback (most recent call last):
    NotImplementedError: tanx.extend.mlir.{name}: ...
    """
    return function


deserialize_portable_artifact = _refused("deserialize_portable_artifact")
hlo_to_stablehlo = _refused("hlo_to_stablehlo")
lower_with_sharding_in_types = _refused("lower_with_sharding_in_types")
refine_polymorphic_shapes = _refused("refine_polymorphic_shapes")
serialize_portable_artifact = _refused("serialize_portable_artifact")
