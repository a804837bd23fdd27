"""Attributes of both arrays and tracers: operators, methods and properties of ``Array``.

Their code is in ``tanx.numpy``, which is far above; it is installed through the hook
``install_at_first_use``, which ``tanx/__init__`` calls. Importing tanx does not load that code: the
first use of an operator or method does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._base.traceback import boundary
from .types import ShapedArray, aval_method, aval_property

__all__ = ["SPECIAL", "Operators", "install", "install_at_first_use", "offer_hash"]

# Methods that Python looks up on the class: they must exist before their code is loaded.
SPECIAL = """
__abs__ __add__ __and__ __array_namespace__ __contains__ __copy__ __deepcopy__ __divmod__ __dlpack__
__eq__ __floordiv__ __ge__ __getitem__ __gt__ __hash__ __invert__ __iter__ __le__ __lshift__ __lt__
__matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __radd__ __rand__ __rdivmod__
__reduce__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ __round__ __rpow__
__rrshift__ __rshift__ __rsub__ __rtruediv__ __rxor__ __setitem__ __sub__ __truediv__ __xor__
""".split()


# Methods and properties that types describe, see :class:`~tanx._core.types.aval_method`.
OF_TYPES = """
T all any argmax argmin argpartition argsort astype at byteswap choose clip compress conj
conjugate copy cumprod cumsum diagonal dot flat flatten imag item mT max mean min nonzero prod ptp
ravel real repeat reshape round searchsorted sort squeeze std sum swapaxes take to_device trace
transpose var view
""".split()


class Operators:
    """Base of ``Array`` and ``Tracer``: attributes of their type, and those of the hook."""

    __slots__ = ()
    aval: Any

    # The type outlives the data, so these work for deleted arrays as well.
    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: len(self.aval.shape))
    size = property(lambda self: self.aval.size)
    nbytes = property(lambda self: self.aval.nbytes)
    itemsize = property(lambda self: self.aval.dtype.itemsize)
    weak_type = property(lambda self: self.aval.weak_type)


def install_at_first_use(load: Callable[[], Mapping[str, Any]]) -> None:
    """Hook: ``load`` returns the operators, methods and properties when the first is used."""
    global _load
    _load = load
    for name in SPECIAL:
        setattr(Operators, name, _stand_in(name))
    setattr(Operators, "__getattr__", _missing)  # noqa: B010 - mypy knows no such attribute


def install() -> bool:
    """Load the methods of arrays; False if they are loaded already."""
    if "__getattr__" not in vars(Operators):
        return False
    methods = _load()
    for name, method in methods.items():
        setattr(Operators, name, method)
    for name in OF_TYPES:
        method = methods.get(name) or _own(name)
        get = getattr(method, "fget", None)  # of a property
        setattr(ShapedArray, name, aval_method(method) if get is None else aval_property(get))
    if "__getattr__" in vars(Operators):
        delattr(Operators, "__getattr__")
    return True


def offer_hash(offered: bool) -> None:
    """Whether arrays have a ``__hash__``, which raises an error with advice, or none, as JAX's.

    Libraries that ask ``isinstance(x, Hashable)`` see whether there is one.
    """
    install()
    setattr(Operators, "__hash__", _load()["__hash__"] if offered else None)  # noqa: B010


_load: Callable[[], Mapping[str, Any]]


def _own(name: str):
    """A method that arrays and tracers define separately."""
    return lambda value, *args, **kwargs: getattr(value, name)(*args, **kwargs)


def _missing(self, name: str):
    install()
    return getattr(self, name)


def _stand_in(name: str):
    def special(self, *args):
        install()
        return getattr(self, name)(*args)
    return boundary(special)
