"""Compares the results of two systems: the time of a wrong result does not count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["difference", "sample", "type_name"]

TOLERANCE = {"float64": 1e-8, "float32": 2e-3, "bfloat16": 6e-2, "complex64": 2e-3,
             "complex128": 1e-8}
"""Of the typical element; integers and booleans are equal or wrong."""

SAMPLE = 10_000
"""Elements of each result that are compared."""


def sample(array: np.ndarray) -> np.ndarray:
    """Elements distributed over an array, in a dtype that any NumPy can read from a file."""
    flat = np.asarray(array).reshape(-1)
    flat = flat[::max(1, flat.size // SAMPLE)]
    return flat.astype(np.float32) if flat.dtype.name == "bfloat16" else flat


def type_name(array: np.ndarray) -> str:
    """Element type and shape, as in ``float32[2, 3]``."""
    return f"{array.dtype}{list(array.shape)}"


def difference(mine: Sequence[np.ndarray], theirs: Sequence[np.ndarray],
               types: Sequence[str], chaotic: float = 0.0) -> str | None:
    """What is wrong, in words; ``types`` are those of my results, before samples were taken.

    A share of ``chaotic`` elements may be anything.

    >>> difference([np.array([1.0, 2.0])], [np.array([1.0, 2.5])], ["float64[2]"])
    'result 0: 2 against 2.5, typically 1.9'
    """
    if len(mine) != len(theirs):
        return f"{len(mine)} results against {len(theirs)}"
    for i, (a, b, kind) in enumerate(zip(mine, theirs, types)):
        if a.shape != b.shape:
            return f"result {i}: {a.shape} elements against {b.shape}"
        tolerance = TOLERANCE.get(kind.split("[")[0], 0)
        a, b = (_parts(x).astype(np.float64) for x in (a, b))
        finite = np.isfinite(b)
        if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            return f"result {i}: infinities or NaN differ"
        a, b = a[finite], b[finite]
        typical = np.sqrt(np.mean(b ** 2)) if b.size else 0.0
        excess = np.abs(a - b) - tolerance * (np.abs(b) + typical)
        if (excess <= 0).sum() < (1 - chaotic) * excess.size:
            at = int(np.argmax(np.nan_to_num(excess, nan=np.inf)))
            return f"result {i}: {a[at]:.6g} against {b[at]:.6g}, typically {typical:.2g}"
    return None


def _parts(x: np.ndarray) -> np.ndarray:
    """Real numbers; both parts of complex ones."""
    return np.stack([x.real, x.imag]) if np.iscomplexobj(x) else x
