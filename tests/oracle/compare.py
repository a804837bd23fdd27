"""Compares two outcomes."""

from __future__ import annotations

import numpy as np

from tests.oracle.differences import without_quirks
from tests.oracle.system import Failure, Leaf, Outcome

__all__ = ["difference"]

# Half a digit less than the precision of the dtype: sums have another order, and exp and similar
# functions have other polynomials.
RELATIVE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "complex64": 4e-5,
            "float64": 1e-12, "complex128": 1e-12}
ABSOLUTE = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 2e-6, "complex64": 4e-6}


def difference(theirs: Outcome | Failure, ours: Outcome | Failure) -> str | None:
    """The first difference as a line of text, or None."""
    if isinstance(theirs, Failure):
        if isinstance(ours, Failure):
            if theirs.classes[0] in ours.classes:
                return None
            return f"raises {ours.classes[0]} for {theirs.classes[0]}: {_line(ours.text)}"
        return f"gives {_shown(ours)} for {theirs.classes[0]}: {_line(theirs.text)}"
    if isinstance(ours, Failure):
        return f"raises {ours.classes[0]} for {_shown(theirs)}: {_line(ours.text)}"
    if theirs.structure != ours.structure:
        return f"gives the structure {ours.structure} for {theirs.structure}"
    for theirs_leaf, ours_leaf in zip(theirs.leaves, ours.leaves):
        found = _leaf_difference(theirs_leaf, ours_leaf)
        if found is not None:
            return found
    if theirs.warned != ours.warned:
        return f"warns {ours.warned} for {theirs.warned}"
    return None


def _line(text: str) -> str:
    return text.strip().split("\n")[0][:150]


def _shown(outcome: Outcome) -> str:
    return ", ".join(leaf.kind for leaf in outcome.leaves) or outcome.structure


def _leaf_difference(theirs: Leaf, ours: Leaf) -> str | None:
    if theirs.kind != ours.kind:
        return f"gives {ours.kind} for {theirs.kind}"
    if not _same_text(theirs.text, ours.text):
        return f"gives\n{ours.text}\nfor\n{theirs.text}"
    if theirs.data is None or theirs.data.size == 0 or _close(theirs.data, ours.data):
        return None
    wrong = ~_each_close(theirs.data, ours.data)
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (f"gives {ours.data[at]!r} for {theirs.data[at]!r} at {at} of {theirs.kind} "
            f"({wrong.sum()} of {wrong.size} elements)")


def _same_text(theirs: str, ours: str) -> bool:
    if theirs == ours:
        return True
    plain = without_quirks(theirs)  # shorter, so lines may break elsewhere
    return plain != theirs and "".join(plain.split()) == "".join(ours.split())


def _close(theirs: np.ndarray, ours: np.ndarray) -> bool:
    return bool(_each_close(theirs, ours).all())


def _each_close(theirs: np.ndarray, ours: np.ndarray) -> np.ndarray:
    name = theirs.dtype.name
    if theirs.dtype.kind == "c":  # + 0 removes signs of zeros, which are unreliable in JAX
        return (_each_close(theirs.real + 0, ours.real + 0)
                & _each_close(theirs.imag + 0, ours.imag + 0))
    if name not in RELATIVE:
        return np.asarray(theirs == ours) if theirs.dtype.names is None else np.array(True)
    a, b = theirs.astype(np.float64), ours.astype(np.float64)
    # The tolerance follows the largest elements, because sums cancel in small ones.
    finite = np.abs(a[np.isfinite(a)])
    scale = min(finite.max(initial=0.0), 1e3)
    atol = ABSOLUTE.get(name, 0.0) * max(scale, 1e-3)
    with np.errstate(invalid="ignore"):
        near = np.isclose(a, b, rtol=RELATIVE[name], atol=atol, equal_nan=True)
    return near & ((np.signbit(a) == np.signbit(b)) | (a != 0) | (b != 0) | np.isnan(a))
