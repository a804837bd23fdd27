"""How tanx treats values of libraries' classes as arrays."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import dtypes
from .._base.symbolic import largest, least
from .._core.array import Array
from .._core.trace import EvalTrace, running
from .._core.types import type_rules, value_rules

__all__ = ["ParamDict", "Token", "TraceTag", "apply_primitive", "array_types",
           "canonicalize_dtype_handlers", "eval_context", "max_dim", "min_dim",
           "pytype_aval_mappings"]

ParamDict = dict[str, Any]

pytype_aval_mappings = type_rules
canonicalize_dtype_handlers = value_rules

array_types = {np.ndarray, *(np.dtype(name).type for name in dtypes.NAMES)}
"""NumPy's classes whose instances are arrays."""


class Token:
    """Represents effects that were started; ready when they have happened."""

    __slots__ = ("_buf",)

    def __init__(self, buf: Array):
        self._buf = buf

    def block_until_ready(self) -> None:
        """Wait for the effects."""
        self._buf.block_until_ready()


class TraceTag:
    """Identifies the tracers of one transformation: each is equal only to itself."""

    __slots__ = ()


def apply_primitive(prim, *args, **params):
    """Apply a primitive to values immediately.

    >>> tanx.interpreters.xla.apply_primitive(lax.neg_p, jnp.ones(2))
    Array([-1., -1.], dtype=float32)
    """
    return prim.impl(*args, **params)


@contextmanager
def eval_context():
    """A block in which operations run immediately, even inside a traced function.

    >>> with tanx.core.eval_context():
    ...     jnp.ones(2) + 1
    Array([2., 2.], dtype=float32)
    """
    with running(EvalTrace(None)):
        yield


def min_dim(d1, d2):
    """The smaller of two sizes.

    >>> tanx.core.min_dim(2, 3)
    2
    """
    return least(d1, d2)


def max_dim(d1, d2):
    """The larger of two sizes.

    >>> tanx.core.max_dim(2, 3)
    3
    """
    return largest(d1, d2)
