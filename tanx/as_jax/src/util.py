"""``jax._src.util``: JAX's page on interpreters of jaxprs imports ``safe_map`` from here."""

__all__ = ["safe_map", "safe_zip"]


def safe_map(f, *lists) -> list:
    """The results of a function of the elements of lists, which must be of one length."""
    return [f(*items) for items in safe_zip(*lists)]


def safe_zip(*lists) -> list[tuple]:
    """Tuples of the elements of lists, which must be of one length."""
    if not lists:
        raise TypeError("needs at least one list.")
    return list(zip(*lists, strict=True))
