"""Reads exported functions from bytes; :mod:`.written` writes them."""

from __future__ import annotations

from typing import Any

from ..._base.symbolic import Scope
from ..._base.traceback import boundary
from ..._core.effects import (
    DebugEffect,
    Effect,
    IOEffect,
    OrderedDebugEffect,
    OrderedIOEffect,
)
from ..._core.types import ShapedArray
from ..._export.container import Damaged, unpack
from ..._export.program import program_of, value_of
from ..._export.trees import tree_of
from ...errors import explain
from .checks import DisabledSafetyCheck
from .exported import Exported
from .written import MOST_DERIVATIVES

__all__ = ["deserialize"]

_EFFECTS = {repr(kind()): kind for kind in (
    IOEffect, OrderedIOEffect, DebugEffect, OrderedDebugEffect)}

_FACTS = {"fun_name": str, "in_tree": list, "in_avals": tuple, "out_tree": list,
          "out_avals": tuple, "nr_devices": int, "platforms": tuple, "ordered_effects": tuple,
          "unordered_effects": tuple, "disabled_safety_checks": tuple,
          "calling_convention_version": int, "module_kept_var_idx": tuple,
          "uses_global_constants": bool}
"""The facts in a file, and their types."""


@boundary
def deserialize(blob: bytes | bytearray) -> Exported:
    """The exported function from the bytes of :meth:`Exported.serialize`.

    The bytes are data, and nothing in them is executed; damaged bytes are an error.

    >>> deserialize(b"no program")
    Traceback (most recent call last):
        ...
    ValueError: tanx.export.deserialize: 10 bytes are too few for a program of tanx.
    """
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise TypeError(explain("tanx.export.deserialize", "needs bytes.",
                                f"given: {type(blob).__name__}"))
    try:
        return _read(bytes(blob), MOST_DERIVATIVES)
    except Damaged as error:
        raise ValueError(explain("tanx.export.deserialize", f"{error}.")) from error


def _read(data: bytes, derivatives: int, scope: Scope | None = None) -> Exported:
    sections = unpack(data)
    if list(sections) not in (["facts", "module"], ["facts", "module", "vjp"]):
        raise Damaged(f"an exported function has other sections than {', '.join(sections)}")
    closed, scope = program_of(sections["module"], scope)
    facts = value_of(sections["facts"], scope)
    _check(facts)
    in_avals, out_avals = facts["in_avals"], facts["out_avals"]
    exported = Exported(
        fun_name=facts["fun_name"], in_tree=tree_of(facts["in_tree"]), in_avals=in_avals,
        out_tree=tree_of(facts["out_tree"]), out_avals=out_avals,
        _in_named_shardings=(None,) * len(in_avals), _out_named_shardings=(None,) * len(out_avals),
        in_shardings_hlo=(None,) * len(in_avals), out_shardings_hlo=(None,) * len(out_avals),
        nr_devices=facts["nr_devices"], platforms=facts["platforms"],
        ordered_effects=_effects(facts["ordered_effects"]),
        unordered_effects=_effects(facts["unordered_effects"]),
        disabled_safety_checks=tuple(map(DisabledSafetyCheck, facts["disabled_safety_checks"])),
        mlir_module_serialized=sections["module"],
        calling_convention_version=facts["calling_convention_version"],
        module_kept_var_idx=facts["module_kept_var_idx"],
        uses_global_constants=facts["uses_global_constants"],
        _get_vjp=_stored_vjp(sections, derivatives, in_avals, out_avals, scope))
    if (exported.in_tree.num_leaves, exported.out_tree.num_leaves) != (
            len(in_avals), len(out_avals)):
        raise Damaged("a structure has another number of leaves than there are types")
    if (tuple(closed.in_avals), tuple(closed.out_avals)) != (in_avals, out_avals):
        raise Damaged("the program has other types than it should")
    exported.__dict__["_program"] = closed
    try:
        exported._sizes  # noqa: B018 - now, so that sizes that cannot be solved for are found here
    except ValueError as error:
        raise Damaged(str(error).partition(": ")[2].rstrip(".")) from error
    return exported


def _stored_vjp(sections: dict[str, bytes], derivatives: int, in_avals: tuple,
                out_avals: tuple, scope: Scope | None) -> Any:
    """The function that returns the stored derivative; None if the file has no derivative."""
    if "vjp" not in sections:
        return None
    if derivatives == 0:
        raise Damaged("too many derivatives")
    found = _read(sections["vjp"], derivatives - 1, scope)
    cotangents = tuple(a.to_tangent() for a in out_avals)
    results = tuple(a.to_tangent() for a in in_avals)
    if not (_same(found.in_avals, in_avals + cotangents) and _same(found.out_avals, results)):
        raise Damaged("the derivative is that of another function")
    return lambda exported: found


def _same(given: tuple, expected: tuple) -> bool:
    """Whether types are the same, weak or not."""
    return [(a.shape, a.dtype) for a in given] == [(a.shape, a.dtype) for a in expected]


def _check(facts: Any) -> None:
    if not isinstance(facts, dict) or list(facts) != list(_FACTS):
        raise Damaged("the facts are not those of an exported function")
    for name, kind in _FACTS.items():
        if type(facts[name]) is not kind:
            raise Damaged(f"{name} is a {type(facts[name]).__name__}")
    for name, kind in (("in_avals", ShapedArray), ("out_avals", ShapedArray), ("platforms", str),
                       ("disabled_safety_checks", str), ("ordered_effects", str),
                       ("unordered_effects", str), ("module_kept_var_idx", int)):
        if not all(type(item) is kind for item in facts[name]):
            raise Damaged(f"{name} has an item of another type")
    if not 9 <= facts["calling_convention_version"] <= 10:
        raise Damaged(f"there is no calling convention {facts['calling_convention_version']}")
    if facts["nr_devices"] != 1:
        raise Damaged(f"the program is for {facts['nr_devices']} devices")


def _effects(names: tuple[str, ...]) -> tuple[Effect, ...]:
    if not set(names) <= _EFFECTS.keys():
        raise Damaged(f"there are no effects {', '.join(names)}")
    return tuple(_EFFECTS[name]() for name in names)
