"""Windows: weights of the elements of a segment."""

from __future__ import annotations

from math import pi

import numpy as np

from ... import numpy as jnp
from ...errors import explain
from ...numpy._promotion import typeof

__all__ = ["window_of"]

# Coefficients of cosines of 0, 1, 2 … periods.
_COSINES = {
    "boxcar": (1.0,), "hann": (0.5, -0.5), "hamming": (0.54, -0.46),
    "blackman": (0.42, -0.5, 0.08),
}


def window_of(function: str, window, size: int, dtype):
    """``window`` as a vector: an array unchanged, a name or a tuple by SciPy's rules."""
    if isinstance(window, str | tuple):
        return _named(window, size).astype(dtype)
    window = jnp.asarray(window)
    if window.ndim != 1:
        raise ValueError(explain(f"tanx.scipy.signal.{function}", "a window is a vector.",
                                 f"window: {typeof(window)}"))
    return window.astype(dtype)


def _named(window: str | tuple, size: int) -> np.ndarray:
    """One period of a window; rare windows come from SciPy, which is slow to import."""
    if isinstance(window, str) and window in _COSINES:
        angle = 2 * pi * np.arange(size) / max(size, 1)
        return np.sum([c * np.cos(k * angle) for k, c in enumerate(_COSINES[window])], axis=0)
    from scipy.signal import get_window
    return get_window(window, size)
