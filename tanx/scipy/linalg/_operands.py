"""Helpers of this room: matrices as operands, errors, small products."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ... import numpy as jnp
from ...errors import explain
from ...numpy._promotion import inexact, typeof

__all__ = ["adjoint", "alike", "along_diagonal", "as_complex", "error", "identity_like", "matrices",
           "product"]


def error(function: str, rule: str, *facts: str, kind: type[Exception] = ValueError,
          hint: str | None = None) -> Exception:
    """The exception for a mistake in a call of ``tanx.scipy.linalg``."""
    return kind(explain(f"tanx.scipy.linalg.{function}", rule, *facts, hint=hint))


def alike(function: str, *xs):
    """Operands as floats or complex numbers of one dtype."""
    xs = tuple(inexact(f"scipy.linalg.{function}", x) for x in xs)
    dtype = jnp.result_type(*xs)
    return tuple(x.astype(dtype) for x in xs)


def matrices(function: str, x, square: bool = False, name: str = "a",
             too_few: type[Exception] = ValueError):
    """An operand as floats or complex numbers of 32 or 64 bits, with at least two dimensions.

    ``too_few`` is the exception to raise if it has fewer.
    """
    x = inexact(f"scipy.linalg.{function}", x)
    if np.dtype(x.dtype).char not in "fdFD":
        raise error(function, "works on floats and complex numbers of 32 or 64 bits.",
                    f"{name}: {typeof(x)}", kind=TypeError,
                    hint="convert it first: x.astype('float32').")
    if x.ndim < 2:
        raise error(function, "needs at least two dimensions.", f"{name}: {typeof(x)}",
                    kind=too_few)
    if square and x.shape[-1] != x.shape[-2]:
        raise error(function, "matrices must be square.", f"{name}: {typeof(x)}")
    return x


def adjoint(x):
    """The conjugate transpose of matrices."""
    return jnp.matrix_transpose(x.conj() if x.dtype.kind == "c" else x)


def product(x, y):
    """The product of matrices in full precision."""
    return jnp.matmul(x, y, precision="highest")


def identity_like(x):
    """The identity matrix of the size and dtype of ``x``."""
    return jnp.eye(x.shape[-1], dtype=x.dtype)


def along_diagonal(x):
    """The diagonals of matrices."""
    return jnp.diagonal(x, axis1=-2, axis2=-1)


def as_complex(x):
    """``x`` in the complex dtype of its precision."""
    return x.astype(dtypes.to_complex_dtype(x.dtype))
