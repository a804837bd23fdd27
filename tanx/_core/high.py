"""High types: types that a library defines, whose values consist of arrays.

A :class:`HiType` defines the types of the parts of its values (``lo_ty``), and how a value is split
into parts and rebuilt. A Python class carries the values; :func:`register_hitype` gives the type of
each. While a function is traced, a value of a high type is *one* variable, and only primitives that
name the type can access its parts (:mod:`tanx._extend.high`). Compiled code has arrays in their
place: see :mod:`tanx._transforms.low`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from .jaxpr import ClosedJaxpr, Jaxpr, jaxprs_in_params
from .types import AbstractValue, high_classes, type_rules, typeof

__all__ = ["HiPspec", "HiType", "MappingSpec", "is_high", "is_high_use", "lower_all", "raise_all",
           "register_hitype"]


class MappingSpec:
    """How ``vmap`` maps values of a high type: an entry of ``in_axes`` and ``out_axes``.

    Libraries define their own classes, whose instances are compared with ``==``.
    """


class HiPspec:
    """How ``shard_map`` divides values of a high type: an entry of ``in_specs``, ``out_specs``."""

    def to_lo(self) -> tuple:
        """The partition specs of the parts of a value."""
        raise NotImplementedError(_wanted(self, "to_lo"))

    def to_tangent_spec(self) -> HiPspec:
        """How tangents are divided."""
        raise NotImplementedError(_wanted(self, "to_tangent_spec"))

    def to_ct_spec(self) -> HiPspec:
        """How cotangents are divided."""
        raise NotImplementedError(_wanted(self, "to_ct_spec"))


class HiType(AbstractValue):
    """A type whose values consist of values of other types.

    Subclasses are hashable and define ``lo_ty``, ``lower_val`` and ``raise_val``. For derivatives
    they define ``to_tangent_aval`` (and, where tangents are of a high type, ``vspace_zero`` and
    ``vspace_add``); for ``vmap``, ``inc_rank`` and ``dec_rank``; for ``scan``,
    ``leading_axis_spec``.
    """

    __slots__ = ()

    is_high = True
    weak_type = False

    def lo_ty(self) -> list[AbstractValue]:
        """The types of the parts of a value."""
        raise NotImplementedError(_wanted(self, "lo_ty"))

    def lower_val(self, hi_val, /) -> list:
        """The parts of a value, as many as ``lo_ty`` has."""
        raise NotImplementedError(_wanted(self, "lower_val"))

    def raise_val(self, *lo_vals):
        """The value with given parts."""
        raise NotImplementedError(_wanted(self, "raise_val"))

    def to_tangent(self) -> AbstractValue:
        return self.to_tangent_aval()

    def to_tangent_aval(self) -> AbstractValue:
        """The type of tangents: any, an array's or a high one."""
        raise NotImplementedError(_wanted(self, "to_tangent_aval"))

    def to_ct_aval(self) -> AbstractValue:
        """The type of cotangents: that of tangents."""
        return self.to_tangent_aval()

    to_cotangent_aval = at_least_vspace = to_ct_aval

    def vspace_zero(self):
        """The zero of this type, if it is a type of tangents."""
        raise NotImplementedError(_wanted(self, "vspace_zero"))

    def vspace_add(self, x, y):
        """The sum of two values of this type, if it is a type of tangents."""
        raise NotImplementedError(_wanted(self, "vspace_add"))

    def inc_rank(self, size: int | None, spec) -> HiType:
        """The type of a batch of values of this type, mapped by ``spec``."""
        raise NotImplementedError(_wanted(self, "inc_rank"))

    def dec_rank(self, size: int | None, spec) -> HiType:
        """The type of one value of a batch of this type, mapped by ``spec``."""
        raise NotImplementedError(_wanted(self, "dec_rank"))

    def leading_axis_spec(self) -> MappingSpec:
        """How ``scan`` iterates over a value."""
        raise NotImplementedError(_wanted(self, "leading_axis_spec"))

    def nospec(self, mesh, check_vma: bool, all_names: tuple) -> HiPspec:
        """The spec that states only the axes of a mesh along which a value varies."""
        raise NotImplementedError(_wanted(self, "nospec"))

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """The type as text, as in jaxprs."""
        return repr(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _wanted(value, method: str) -> str:
    return f"subclass {type(value)} must implement `{method}`"


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], AbstractValue]) -> None:
    """Declare that instances of a class are values of a high type, which a function returns.

    >>> from tanx.experimental import hijax
    >>> class Pair:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> class PairType(hijax.HiType):
    ...     def __repr__(self):
    ...         return "Pair"
    >>> hijax.register_hitype(Pair, lambda pair: PairType())
    >>> tanx.typeof(Pair(1, 2))
    Pair
    """
    type_rules[val_cls] = high_classes[val_cls] = typeof_fn


# -- values ----------------------------------------------------------------------------------------


def lower_all(avals: Iterable[AbstractValue], values: Iterable[Any]) -> list:
    """Values, with those of high types split into parts."""
    return [lo for aval, x in zip(avals, values, strict=True)
            for lo in (aval.lower_val(x) if aval.is_high else (x,))]


def raise_all(avals: Iterable[AbstractValue], values: Iterable[Any]) -> list:
    """The inverse of :func:`lower_all`."""
    given = iter(values)
    return [aval.raise_val(*(next(given) for _ in aval.lo_ty())) if aval.is_high else next(given)
            for aval in avals]


_high_jaxprs: weakref.WeakKeyDictionary[Jaxpr, bool] = weakref.WeakKeyDictionary()


def is_high(jaxpr: Jaxpr | ClosedJaxpr) -> bool:
    """Whether values of high types are in a jaxpr."""
    if not high_classes:
        return False
    jaxpr = jaxpr.jaxpr  # of a closed one: the cached facts outlive it
    known = _high_jaxprs.get(jaxpr)
    if known is None:
        known = _high_jaxprs[jaxpr] = any(
            v.aval.is_high for v in (*jaxpr.constvars, *jaxpr.invars, *jaxpr.outvars)) or any(
            any(v.aval.is_high for v in eqn.outvars)
            or any(map(is_high, jaxprs_in_params(eqn.params))) for eqn in jaxpr.eqns)
    return known


def is_high_use(args: Iterable, params: dict[str, Any]) -> bool:
    """Whether values of high types are among the operands, or in the functions, of a use."""
    return bool(high_classes) and (any(typeof(x).is_high for x in args)
                                   or any(map(is_high, jaxprs_in_params(params))))
