"""The distributions ``jax`` and ``jaxlib``, for ``importlib.metadata``."""

from collections.abc import Iterator
from importlib.metadata import Distribution

__all__ = ["VERSION", "VERSION_INFO", "distributions"]

VERSION = "0.11.2"
"""The version of JAX whose interface libraries find: flax needs 0.11.1, and gymnax less than 0.12.
"""
VERSION_INFO = tuple(map(int, VERSION.split(".")))

NAMES = ("jax", "jaxlib")


class _AliasDistribution(Distribution):
    """A distribution that is there in name only."""

    def __init__(self, name: str):
        self._name = name

    def read_text(self, filename: str) -> str | None:
        """The text of a file of its metadata; there is one such file."""
        if filename != "METADATA":
            return None
        return (f"Metadata-Version: 2.1\nName: {self._name}\nVersion: {VERSION}\n"
                "Summary: tanx, under the name of JAX\n")

    def locate_file(self, path):
        """Where a file of the distribution is: it has none."""
        raise FileNotFoundError(f"{self._name} is tanx, which has no file {path}.")


def distributions(name: str | None) -> Iterator[Distribution]:
    """Those with a name; all of them if it is None."""
    return (_AliasDistribution(n) for n in NAMES if name is None or name.lower() == n)
