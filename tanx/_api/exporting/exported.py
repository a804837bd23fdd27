"""``Exported``: a standalone function, staged for arguments of certain types.

It needs neither the original Python function nor its process. Calling it runs the stored program,
also inside of traced functions; its derivative is another exported function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..._base.traceback import boundary
from ..._control.call import jit_p
from ..._control.custom_vjp import custom_vjp
from ..._core.jaxpr import ClosedJaxpr
from ..._core.mesh import AbstractMesh, Mesh
from ..._core.sharding import NamedSharding
from ..._core.types import ShapedArray, is_arraylike, not_arraylike, typeof
from ..._export.container import Damaged
from ..._export.program import program_of
from ..._runtime.device import default_device
from ...errors import explain
from ...tree_util import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from ..jit import jit
from .checks import DisabledSafetyCheck
from .sizes import Sizes
from .written import serialize

__all__ = ["Exported"]


@dataclass(frozen=True, eq=False)
class Exported:
    """A function as a program; made by :func:`tanx.export.export`.

    ``in_avals`` and ``out_avals`` are the types of the leaves of arguments and results, in the
    order of ``in_tree``, the structure of ``(args, kwargs)``, and ``out_tree``.
    ``mlir_module_serialized`` is the program in the form that tanx stores; :meth:`mlir_module`
    returns it as StableHLO text. ``platforms`` are those it may be called on. The numbers of the
    arguments that the program reads are in ``module_kept_var_idx``.
    """

    fun_name: str
    in_tree: PyTreeDef
    in_avals: tuple[ShapedArray, ...]
    out_tree: PyTreeDef
    out_avals: tuple[ShapedArray, ...]
    _in_named_shardings: tuple[NamedSharding | None, ...]
    _out_named_shardings: tuple[NamedSharding | None, ...]
    in_shardings_hlo: tuple[Any, ...]
    out_shardings_hlo: tuple[Any, ...]
    nr_devices: int
    platforms: tuple[str, ...]
    ordered_effects: tuple[Any, ...]
    unordered_effects: tuple[Any, ...]
    disabled_safety_checks: Sequence[DisabledSafetyCheck]
    mlir_module_serialized: bytes = field(repr=False)
    calling_convention_version: int
    module_kept_var_idx: tuple[int, ...]
    uses_global_constants: bool
    _get_vjp: Callable[[Exported], Exported] | None = field(repr=False)

    # -- calls -------------------------------------------------------------------------------------

    @boundary
    def call(self, *args, **kwargs):
        """Run the program on arguments of the types that it was exported for.

        >>> exported = tanx.export.export(tanx.jit(lambda x: 2 * x))(np.ones(2, np.float32))
        >>> exported.call(np.array([1, 2], np.float32))
        Array([2., 4.], dtype=float32)
        """
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise self._wrong_structure((args, kwargs))
        platform = default_device().platform
        if platform not in self.platforms and not any(
                check.is_platform() for check in self.disabled_safety_checks):
            raise ValueError(explain(
                "tanx.export.Exported.call",
                f"{self.fun_name} was exported for other platforms than it is called on.",
                f"exported for: {', '.join(self.platforms)}", f"called on:    {platform}",
                hint="name all platforms: export(f, platforms=(\"cpu\", ...))."))
        self._check_types(leaves)
        return tree_unflatten(self.out_tree, self._flat_call(*leaves))

    def _check_types(self, leaves: list) -> None:
        for i, (x, aval) in enumerate(zip(leaves, self.in_avals)):
            if not is_arraylike(x):
                raise not_arraylike("tanx.export.Exported.call", x, i)
            given = typeof(x)
            if given.dtype != aval.dtype or len(given.shape) != len(aval.shape):
                what = "dtype" if given.dtype != aval.dtype else "number of dimensions"
                raise self._mismatch(f"was called with an argument of another {what}.", i, given)
        self._sizes.check(self, leaves)

    def _mismatch(self, rule: str, i: int, given: ShapedArray, *facts: str) -> ValueError:
        return ValueError(explain(
            "tanx.export.Exported.call", f"{self.fun_name} {rule}",
            f"argument:     {self._argument_name(i)}",
            f"exported for: {self.in_avals[i].strip_weak_type()}", f"called with:  {given}",
            *facts))

    def _argument_name(self, i: int) -> str:
        numbers = tree_unflatten(self.in_tree, range(len(self.in_avals)))
        path = keystr(next(path for path, leaf in tree_flatten_with_path(numbers)[0] if leaf == i))
        head, _, rest = path[1:].partition("]")
        return ("args" if head == "0" else "kwargs") + rest

    def _wrong_structure(self, given) -> ValueError:
        return ValueError(explain(
            "tanx.export.Exported.call",
            f"{self.fun_name} was called with another structure of arguments than it was exported "
            "for.", f"exported for: {self.in_tree}", f"called with:  {tree_flatten(given)[1]}",
            hint="static arguments are part of the exported function, and left out."))

    @functools.cached_property
    def _program(self) -> ClosedJaxpr:
        """The program, read at the first call."""
        try:
            closed, _ = program_of(self.mlir_module_serialized, self._sizes.scope)
        except Damaged as error:
            raise ValueError(explain("tanx.export.Exported", f"{error}.")) from error
        if tuple(closed.in_avals) != self.in_avals or tuple(closed.out_avals) != self.out_avals:
            raise ValueError(explain(
                "tanx.export.Exported", "the program has other types than it should.",
                f"program:  {closed.in_avals} to {closed.out_avals}",
                f"expected: {list(self.in_avals)} to {list(self.out_avals)}"))
        return closed

    @functools.cached_property
    def _sizes(self) -> Sizes:
        return Sizes(self.in_avals)

    @functools.cached_property
    def _flat_call(self) -> Callable:
        """The program as a function of leaves, compiled, with its derivative."""
        def run(*leaves):
            closed = self._sizes.specialised(self, leaves)
            return jit_p.bind(*leaves, jaxpr=closed, name=self.fun_name, inline=False,
                              keep_unused=False, donated_invars=())

        def backward(leaves, cts):
            return tuple(self.vjp().call(*leaves, *cts))

        run.__name__ = self.fun_name
        flat = custom_vjp(run)
        flat.defvjp(lambda *leaves: (run(*leaves), leaves), backward)
        return jit(flat)

    # -- derivatives -------------------------------------------------------------------------------

    def has_vjp(self) -> bool:
        """Whether the derivative is known; see :meth:`serialize`."""
        return self._get_vjp is not None

    @boundary
    def vjp(self) -> Exported:
        """The function from arguments and cotangents of results to cotangents of arguments."""
        if self._get_vjp is None:
            raise ValueError(explain(
                "tanx.export.Exported.vjp", f"{self.fun_name} was stored without its derivative.",
                hint="exported.serialize(vjp_order=1) stores it."))
        return self._vjp

    @functools.cached_property
    def _vjp(self) -> Exported:
        return self._get_vjp(self)

    # -- other forms -------------------------------------------------------------------------------

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The exported function as bytes, for :func:`tanx.export.deserialize`.

        Derivatives up to ``vjp_order`` are included: 1 makes the function differentiable once.

        >>> exported = tanx.export.export(tanx.jit(lambda x: x ** 2))(np.float32(1))
        >>> again = tanx.export.deserialize(exported.serialize(vjp_order=1))
        >>> tanx.grad(again.call)(3.0)
        Array(6., dtype=float32)
        """
        return serialize(self, vjp_order)

    @boundary
    def mlir_module(self, serialized: bool = True) -> str:
        """The program as StableHLO text; ``serialized`` has no effect."""
        if self._sizes.scope is not None:
            raise NotImplementedError(explain(
                "tanx.export.Exported.mlir_module", "programs with symbolic sizes have no "
                "StableHLO text.", f"types: {', '.join(map(str, self.in_avals))}",
                hint="export the function for known sizes."))
        from ..._export.stablehlo import module_text
        return module_text(self._program, name=f"jit_{self.fun_name}")

    def in_shardings_jax(self, mesh: Mesh | AbstractMesh | None = None) -> tuple:
        """The shardings of the arguments, on ``mesh`` if it is given; None for those without."""
        return _on_mesh(self._in_named_shardings, mesh)

    def out_shardings_jax(self, mesh: Mesh | AbstractMesh | None = None) -> tuple:
        """The shardings of the results, on ``mesh`` if it is given; None for those without."""
        return _on_mesh(self._out_named_shardings, mesh)

    def __str__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"


def _on_mesh(shardings: tuple, mesh: Mesh | AbstractMesh | None) -> tuple:
    return tuple(s if s is None or mesh is None else NamedSharding(mesh, s.spec)
                 for s in shardings)
