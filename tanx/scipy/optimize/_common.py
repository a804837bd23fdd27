"""Helpers of this room: errors and operands."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ... import numpy as jnp
from ...errors import explain
from ...numpy._promotion import typeof

__all__ = ["check_args", "check_options", "error", "precision", "real_vector"]


def error(function: str, rule: str, *facts: str, kind: type[Exception] = ValueError,
          hint: str | None = None) -> Exception:
    """The exception for a mistake in a call of ``tanx.scipy.optimize``."""
    return kind(explain(f"tanx.scipy.optimize.{function}", rule, *facts, hint=hint))


def check_args(function: str, args) -> None:
    """Check that ``args``, further arguments of a user's function, is a tuple."""
    if not isinstance(args, tuple):
        raise error(function, "args must be a tuple.", f"args: {args!r:.100}", kind=TypeError,
                    hint="write args=(value,).")


def check_options(function: str, options, known: dict) -> dict:
    """The options of a method, completed by defaults."""
    options = {} if options is None else dict(options)
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise error(function, "there is no such option for this method.",
                    f"options: {', '.join(map(repr, unknown))}",
                    f"known: {', '.join(map(repr, known))}", kind=TypeError)
    return {**known, **options}


def real_vector(function: str, x):
    """A starting point: real floats in one dimension."""
    x = jnp.asarray(x)
    if x.ndim != 1 or not dtypes.issubdtype(x.dtype, np.floating):
        raise error(function, "x0 must be a vector of real floats.", f"x0: {typeof(x)}",
                    kind=TypeError, hint="tanx.flatten_util.ravel_pytree makes vectors.")
    return x


def precision(x) -> float:
    """The distance from 1 to the next number of a dtype."""
    return float(dtypes.finfo(x.dtype).eps)
