"""``jax._src.literals``: equinox, quax and jaxtyping ask whether a value is of a class from here.

Constants are arrays in tanx, so that no value is of these classes unless a program makes one.
"""

from typing import Any

__all__ = ["TypedComplex", "TypedFloat", "TypedInt", "TypedNdArray"]


class TypedNdArray:
    """A NumPy array with a weak type; nothing is of this class."""


class _Typed:
    """A Python number with a dtype beside it."""

    dtype: Any

    def __new__(cls, value, dtype):
        number = super().__new__(cls, value)  # type: ignore[call-arg]  # of int and the like
        number.dtype = dtype
        return number

    def __getnewargs__(self):
        return self.__class__.__mro__[2](self), self.dtype


class TypedInt(_Typed, int):
    """A Python integer with a dtype."""


class TypedFloat(_Typed, float):
    """A Python float with a dtype."""


class TypedComplex(_Typed, complex):
    """A Python complex number with a dtype."""
