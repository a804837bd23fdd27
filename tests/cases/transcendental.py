"""Rows for exponentials, logarithms, and the trigonometric and hyperbolic functions."""

import ml_dtypes
import numpy as np

from tanx._ops import transcendental as functions

from .case import Case, c, f, pos

BF16 = ml_dtypes.bfloat16

# The interval on which each function is smooth, and a box that keeps away from branch cuts.
DOMAINS = {
    "exp": (-2, 2), "exp2": (-2, 2), "expm1": (-2, 2), "log": (0.3, 3), "log2": (0.3, 3),
    "log1p": (-0.7, 2), "logistic": (-3, 3), "sin": (-4, 4), "cos": (-4, 4), "tan": (-1.3, 1.3),
    "asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "atan": (-3, 3), "sinh": (-2, 2), "cosh": (-2, 2),
    "tanh": (-2, 2), "asinh": (-3, 3), "acosh": (1.2, 4), "atanh": (-0.9, 0.9)}

CASES = [
    Case(name, getattr(functions, name), arg)
    for name, (low, high) in DOMAINS.items()
    for arg in (f(3, 4, low=low, high=high), f(low=low, high=high), f(0, low=low, high=high),
                f(5, low=low, high=high, dtype=np.float32),
                f(5, low=low, high=high, dtype=BF16), f(3, low=low, high=high, dtype=np.float16),
                c(3, low=0.2, high=0.8))
] + [
    Case("exp", lambda x: functions.exp(x, accuracy=functions.AccuracyMode.HIGHEST), f(3),
         name="accuracy"),
    Case("asinh", functions.asinh, f(3, low=1e200, high=1e300), name="huge", modes="fwd"),
    *(Case("atan2", functions.atan2, *pair) for pair in (
        (f(3, 4), pos(3, 4)), (f(), pos(3)), (pos(3), f()), (pos(3, 1), f(1, 4)),
        (f(3, dtype=BF16), pos(3, dtype=BF16)), (c(3, low=0.2, high=0.8), c(3, low=1, high=2)))),
]
