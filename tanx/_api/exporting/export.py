"""``export``: compiled functions as programs that can be stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._base import config
from ..._base.symbolic import is_symbolic, variables_of
from ..._base.traceback import boundary
from ..._core.instantiate import variables_in
from ..._core.jaxpr import ClosedJaxpr, eval_jaxpr
from ..._core.refs import AbstractRef
from ..._core.types import ShapeDtypeStruct
from ..._export.program import program_bytes
from ..._runtime.device import default_device
from ..._transforms.discharge import without_refs
from ...errors import UnexpectedDimVar, explain
from ..autodiff import vjp
from ..jit import jit
from ..wrapped import Wrapped
from .checks import DisabledSafetyCheck
from .exported import Exported

__all__ = ["default_export_platform", "export", "maximum_supported_calling_convention_version",
           "minimum_supported_calling_convention_version"]

minimum_supported_calling_convention_version = 9
maximum_supported_calling_convention_version = 10


def default_export_platform() -> str:
    """The platform that functions are exported for if none is named.

    >>> default_export_platform()
    'cpu'
    """
    return default_device().platform


def export(fun_jit: Callable, *, platforms: Sequence[str] | None = None,
           disabled_checks: Sequence[DisabledSafetyCheck] = (),
           _override_lowering_rules=None) -> Callable[..., Exported]:
    """Export a function wrapped by :func:`tanx.jit` as a standalone program, which can be stored.

    The result is a function of arguments, or of :class:`tanx.ShapeDtypeStruct` in their place,
    which returns an :class:`Exported`, the program for arguments of these types. Sizes may be
    symbolic, see :func:`symbolic_shape`. ``platforms`` are the platforms that the program is for;
    programs are stored in a form that does not depend on them.

    >>> exported = export(tanx.jit(lambda x: jnp.sin(x)))(tanx.ShapeDtypeStruct((3,), np.float32))
    >>> exported.in_avals, exported.out_avals
    ((ShapedArray(float32[3]),), (ShapedArray(float32[3]),))
    >>> stored = exported.serialize()
    >>> tanx.export.deserialize(stored).call(np.zeros(3, np.float32))
    Array([0., 0., 0.], dtype=float32)
    """
    if (getattr(fun_jit, "__module__", None) or "").startswith("tanx."):
        fun_jit = jit(fun_jit)  # functions of the library compile themselves
    if not isinstance(fun_jit, Wrapped):
        raise ValueError(explain(
            "tanx.export.export", "needs a function that jit has wrapped.",
            f"function: {fun_jit!r:.100}", hint="export(tanx.jit(f))(...)."))
    if _override_lowering_rules is not None:
        raise NotImplementedError(explain(
            "tanx.export.export", "programs are stored before they are lowered, so there are no "
            "lowering rules to override."))
    if isinstance(platforms, str):
        raise TypeError(explain(
            "tanx.export.export", "platforms must be a sequence of names.",
            f"platforms: {platforms!r}", hint=f"platforms=({platforms!r},)."))
    chosen = tuple(platforms) if platforms is not None else (default_export_platform(),)
    for check in disabled_checks:
        if not isinstance(check, DisabledSafetyCheck):
            raise TypeError(explain(
                "tanx.export.export", "disabled_checks must be instances of DisabledSafetyCheck.",
                f"disabled_checks: {disabled_checks!r:.100}"))

    @boundary
    def do_export(*args, **kwargs) -> Exported:
        traced = fun_jit.trace(*args, **kwargs)
        program = traced._program
        if program.captured:
            raise TypeError(explain(
                "tanx.export.export",
                f"{program.name} closes over values of a function that is being traced.",
                f"traced values: {', '.join(str(x.aval) for x in program.captured)}",
                hint="pass them as arguments."))
        if any(isinstance(aval, AbstractRef) for aval in program.closed.in_avals):
            raise NotImplementedError(explain(
                "tanx.export.export", f"{program.name} takes references.",
                hint="export a function of their contents, which returns the new ones."))
        return _exported(program.name, without_refs(program.closed), traced.in_tree,
                         traced.out_tree, program.keep_unused, chosen, tuple(disabled_checks))

    return do_export


def _exported(name: str, closed: ClosedJaxpr, in_tree, out_tree, keep_unused: bool,
              platforms: tuple[str, ...], disabled: tuple[DisabledSafetyCheck, ...]) -> Exported:
    jaxpr = closed.jaxpr
    used = {v for eqn in jaxpr.eqns for v in eqn.invars}.union(jaxpr.outvars)
    kept = tuple(i for i, v in enumerate(jaxpr.invars) if keep_unused or v in used)
    effects = sorted(closed.effects, key=str)
    in_avals, out_avals = tuple(closed.in_avals), tuple(closed.out_avals)
    exported = Exported(
        fun_name=name, in_tree=in_tree, in_avals=in_avals, out_tree=out_tree, out_avals=out_avals,
        _in_named_shardings=(None,) * len(in_avals), _out_named_shardings=(None,) * len(out_avals),
        in_shardings_hlo=(None,) * len(in_avals), out_shardings_hlo=(None,) * len(out_avals),
        nr_devices=1, platforms=platforms,
        ordered_effects=tuple(e for e in effects if e.ordered),
        unordered_effects=tuple(e for e in effects if not e.ordered),
        disabled_safety_checks=disabled,
        mlir_module_serialized=program_bytes("tanx.export.export", name, closed),
        calling_convention_version=_version(), module_kept_var_idx=kept,
        uses_global_constants=len(platforms) > 1 or any(
            is_symbolic(d) for aval in in_avals for d in aval.shape),
        _get_vjp=lambda exported: _derivative(exported, closed))
    _check_variables(exported, closed)
    exported._sizes  # noqa: B018 - now, so that sizes that cannot be solved for are an error here
    return exported


def _check_variables(exported: Exported, closed: ClosedJaxpr) -> None:
    """Raise if a program depends on a variable that is in no shape of an argument."""
    told = {name for aval in exported.in_avals for d in aval.shape for name in variables_of(d)}
    missing = variables_in(closed.jaxpr) - told
    if missing:
        raise UnexpectedDimVar(explain(
            "tanx.export.export", f"{exported.fun_name} depends on symbolic sizes that are in no "
            "argument's shape.", f"variables: {', '.join(sorted(missing))}",
            f"arguments: {', '.join(map(str, exported.in_avals))}",
            hint="pass an array without elements, ShapeDtypeStruct((0, k), dtype), and take k "
                 "from its shape."))


def _version() -> int:
    """The calling convention of the configuration."""
    version = config.config.values["jax_export_calling_convention_version"]
    low = minimum_supported_calling_convention_version
    high = maximum_supported_calling_convention_version
    if not low <= version <= high:
        raise ValueError(explain(
            "tanx.export.export", "there is no such calling convention.", f"version: {version}",
            f"there are: {low} to {high}"))
    return version


def _derivative(exported: Exported, closed: ClosedJaxpr) -> Exported:
    """The derivative of an exported function, with the users' rules in its jaxpr."""
    count = len(exported.in_avals)

    def derivative(*leaves: Any) -> tuple:
        _, pull = vjp(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), *leaves[:count])
        return tuple(pull(list(leaves[count:])))

    derivative.__name__ = f"{exported.fun_name}_vjp"
    types = [*exported.in_avals, *(a.to_tangent() for a in exported.out_avals)]
    traced = jit(derivative).trace(*[
        ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in types])
    return _exported(derivative.__name__, traced._program.closed, traced.in_tree, traced.out_tree,
                     True, exported.platforms, tuple(exported.disabled_safety_checks))

