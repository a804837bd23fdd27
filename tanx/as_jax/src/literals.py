"""``jax._src.literals``: equinox, quax and jaxtyping ask whether a value is of a class from here.
"""

__all__ = ["TypedComplex", "TypedFloat", "TypedInt", "TypedNdArray"]


class TypedNdArray:
    """A NumPy array with a weak type. Constants are arrays in tanx, so that nothing is of this
    class."""


class TypedInt(int):
    """A Python integer with a dtype; nothing is of this class."""


class TypedFloat(float):
    """A Python float with a dtype; nothing is of this class."""


class TypedComplex(complex):
    """A Python complex number with a dtype; nothing is of this class."""
