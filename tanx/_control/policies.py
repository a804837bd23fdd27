"""Policies for ``checkpoint``: which values may be stored for the backward pass.

A policy is called for each equation, ``policy(primitive, *types, **params)``. It answers with a
bool, or with :data:`Saveable`, :data:`Recompute` or an :class:`Offloadable`.
"""

from __future__ import annotations

from collections.abc import Callable

from .remat import Offloadable

__all__ = ["checkpoint_dots", "checkpoint_dots_with_no_batch_dims", "dots_saveable",
           "dots_with_no_batch_dims_saveable", "everything_saveable", "nothing_saveable",
           "offload_dot_with_no_batch_dims", "save_and_offload_only_these_names",
           "save_any_names_but_these", "save_anything_except_these_names",
           "save_from_both_policies", "save_only_these_names"]


class _Answer:
    """The possible answers of a policy."""

    def __init__(self, name: str, stores: bool):
        self.name, self.stores = name, stores

    def __bool__(self) -> bool:
        return self.stores

    def __repr__(self) -> str:
        return self.name


Saveable, Recompute = _Answer("Saveable", True), _Answer("Recompute", False)


def everything_saveable(*_, **__) -> bool:
    """Store everything, as without ``checkpoint``."""
    return True


def nothing_saveable(*_, **__) -> bool:
    """Recompute everything."""
    return False


def dots_saveable(prim, *_, **__) -> bool:
    """Store results of contractions and convolutions, recompute the cheap rest."""
    return prim.name in ("dot_general", "conv_general_dilated")


def dots_with_no_batch_dims_saveable(prim, *_, **params) -> bool:
    """Store results of contractions without batch dimensions."""
    if prim.name != "dot_general":
        return False
    _, (lhs_batch, rhs_batch) = params["dimension_numbers"]
    return not lhs_batch and not rhs_batch


checkpoint_dots = dots_saveable
checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Callable:
    """Store results of contractions without batch dimensions in another memory."""
    def policy(prim, *types, **params):
        stores = dots_with_no_batch_dims_saveable(prim, *types, **params)
        return Offloadable(offload_src, offload_dst) if stores else Recompute
    return policy


def save_only_these_names(*names_which_can_be_saved: str) -> Callable:
    """Store the values given one of these names by ``checkpoint_name``."""
    def policy(prim, *_, **params) -> bool:
        return prim.name == "name" and params["name"] in names_which_can_be_saved
    return policy


def save_any_names_but_these(*names_not_to_save: str) -> Callable:
    """Store the values named by ``checkpoint_name``, except those with one of these names."""
    def policy(prim, *_, **params) -> bool:
        return prim.name == "name" and params["name"] not in names_not_to_save
    return policy


def save_anything_except_these_names(*names_not_to_save: str) -> Callable:
    """Store everything but the values with one of these names."""
    return lambda prim, *_, **params: (
        prim.name != "name" or params["name"] not in names_not_to_save)


def save_from_both_policies(policy_1: Callable, policy_2: Callable) -> Callable:
    """Store what either of two policies stores."""
    def policy(prim, *types, **params):
        return policy_1(prim, *types, **params) or policy_2(prim, *types, **params)
    return policy


def save_and_offload_only_these_names(*, names_which_can_be_saved, names_which_can_be_offloaded,
                                      offload_src: str, offload_dst: str) -> Callable:
    """Store values with some names, and values with other names in another memory."""
    offloaded = Offloadable(offload_src, offload_dst)

    def policy(prim, *_, **params):
        name = params["name"] if prim.name == "name" else None
        return (Saveable if name in names_which_can_be_saved
                else offloaded if name in names_which_can_be_offloaded else Recompute)
    return policy
