"""``jax._src.literals``: equinox, quax and jaxtyping ask whether a value is of a class from here.
"""

__all__ = ["TypedNdArray"]


class TypedNdArray:
    """A NumPy array with a weak type. Constants are arrays in tanx, so that nothing is of this
    class."""
