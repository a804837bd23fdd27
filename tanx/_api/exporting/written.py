"""Writes exported functions as bytes; :mod:`.serialization` reads them."""

from __future__ import annotations

from typing import Any

from ..._base.traceback import boundary
from ..._core.serial import write_value
from ..._export.container import pack
from ..._export.trees import tree_records
from ...errors import explain

__all__ = ["MOST_DERIVATIVES", "serialize"]

MOST_DERIVATIVES = 32
"""The highest order of derivatives in a file."""


@boundary
def serialize(exported: Any, vjp_order: int = 0) -> bytearray:
    """An exported function as bytes, with derivatives up to an order."""
    if not 0 <= vjp_order <= MOST_DERIVATIVES:
        raise ValueError(explain(
            "tanx.export.Exported.serialize",
            f"vjp_order must be between 0 and {MOST_DERIVATIVES}.", f"vjp_order: {vjp_order}"))
    name = "tanx.export.Exported.serialize"
    facts = {
        "fun_name": exported.fun_name, "in_tree": tree_records(name, exported.in_tree),
        "in_avals": exported.in_avals, "out_tree": tree_records(name, exported.out_tree),
        "out_avals": exported.out_avals, "nr_devices": exported.nr_devices,
        "platforms": exported.platforms,
        "ordered_effects": tuple(map(repr, exported.ordered_effects)),
        "unordered_effects": tuple(map(repr, exported.unordered_effects)),
        "disabled_safety_checks": tuple(map(str, exported.disabled_safety_checks)),
        "calling_convention_version": exported.calling_convention_version,
        "module_kept_var_idx": exported.module_kept_var_idx,
        "uses_global_constants": exported.uses_global_constants}
    sections = {"facts": write_value(facts).encode(), "module": exported.mlir_module_serialized}
    if vjp_order:
        sections["vjp"] = bytes(serialize(exported.vjp(), vjp_order - 1))
    return bytearray(pack(sections))
