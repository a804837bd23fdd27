"""Methods of a tracer of a high type: see :mod:`tanx._core.high`."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

from .operators import SPECIAL
from .types import aval_method, aval_property

__all__ = ["Opaque"]


class Opaque:
    """A mixin of tracers of high types, whose attributes come from the type.

    ``x.name`` is an :class:`aval_property` or :class:`aval_method` of the type by that name, or an
    attribute of the type. ``x + y`` is ``type._add(x, y)``.
    """

    __slots__ = ()

    def __getattribute__(self, name: str):
        if name in _OWN:
            return object.__getattribute__(self, name)
        aval = object.__getattribute__(self, "aval")
        try:
            found = getattr(aval, name)
        except AttributeError:
            if name.startswith("__"):
                return object.__getattribute__(self, name)
            raise AttributeError(f"{type(self).__name__} has no attribute {name}") from None
        if type(found) is aval_property:
            return found.fget(self)
        if type(found) is aval_method:
            return MethodType(found.fun, self)
        return found

    __hash__ = object.__hash__

    def __eq__(self, other: object):
        return self.aval._eq(self, other) if hasattr(self.aval, "_eq") else self is other

    def __ne__(self, other: object):
        return self.aval._ne(self, other) if hasattr(self.aval, "_ne") else self is not other

    def __bool__(self) -> bool:
        return self.aval._bool(self)

    aval: Any


def _by_type(name: str) -> Callable:
    """An operator that the type defines."""
    def operator(self, *args):
        return getattr(self.aval, name)(self, *args)
    return operator


_OPERATORS = {*SPECIAL, *"__len__ __int__ __float__ __complex__ __index__ __trunc__ __floor__ "
              "__ceil__".split()} - {
    "__eq__", "__ne__", "__hash__", "__copy__", "__deepcopy__", "__reduce__",
    "__array_namespace__", "__dlpack__"}
for _name in _OPERATORS:
    setattr(Opaque, _name, _by_type("_" + _name.strip("_")))

# Attributes of tracers that tanx itself uses.
_OWN = frozenset("""
aval atom concrete data describe_origin dim full_lower get_const get_referent parent primal tangent
to_concrete_value type_state val value _trace _aval
__class__ __dict__ __doc__ __module__ __reduce_ex__
__reduce__ __init__ __new__ __hash__ __eq__ __ne__ __bool__ __repr__ __str__ __format__ __dir__
__sizeof__ __slots__ __weakref__ __subclasshook__ __init_subclass__ __setattr__ __delattr__
__getattribute__
""".split())
