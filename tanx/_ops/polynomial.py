"""Polynomials with given coefficients."""

from __future__ import annotations

from functools import reduce

import numpy as np

from .._core.linear import Zero
from .._core.types import ShapedArray, typeof
from .._loops import build
from .arith import integer_pow, mul
from .convert import convert
from .derive import sum_cotangents
from .families import Elementwise, grow
from .layout import unstack
from .operands import NUMBER, like, widened

__all__ = ["polynomial", "polynomial_p"]


class Polynomial(Elementwise):
    """The sum of coefficients times powers of the first operand, from the power 0 on.

    ``unroll`` is JAX's: here a compiled polynomial is always straight-line code.
    """

    name = "polynomial"
    accepts = NUMBER

    def infer(self, x, *coefficients, unroll=None):
        whole = x
        for c in coefficients:
            whole = super().infer(whole, c)
        return ShapedArray(whole.shape, x.dtype, x.weak_type)

    def eval(self, x, *coefficients, unroll=None):
        wide = widened(x)
        shape = np.broadcast_shapes(x.shape, *(c.shape for c in coefficients))
        total = np.zeros(shape, wide.dtype)
        for k, c in enumerate(reversed(coefficients)):
            total = total * wide + c.astype(wide.dtype) if k else total + c.astype(wide.dtype)
        return np.asarray(total).astype(x.dtype, copy=False)

    def jvp(self, primals, tangents, *, unroll=None):
        (x, *coefficients), (dx, *moved) = primals, tangents
        out = self.bind(*primals, unroll=unroll)
        terms = [grow(c if k == 0 else mul(c, integer_pow(x, k)), out)
                 for k, c in enumerate(moved) if type(c) is not Zero]
        if type(dx) is not Zero:
            slopes = [mul(c, like(c, k)) for k, c in enumerate(coefficients) if k]
            terms.append(mul(grow(dx, out), self.bind(x, *slopes, unroll=unroll)))
        return out, reduce(sum_cotangents, terms) if terms else Zero.tangent_of(out)

    def lower(self, at, *operands, unroll=None):
        dtype = operands[0].dtype
        wide = np.dtype(np.float32) if dtype.itemsize < 4 and dtype.kind not in "iu" else dtype
        x, *coefficients = (build.convert(v, wide) for v in self.elements(at, *operands))
        total: build.Expr = build.const(0, wide)
        for k, c in enumerate(reversed(coefficients)):
            total = c if not k else build.op("muladd", total, x, c) if (
                wide.kind == "f") else total * x + c
        return build.convert(total, dtype)

    def show_params(self, params):
        return {name: value for name, value in params.items() if value is not None}


polynomial_p = Polynomial()


def polynomial(x, coeffs, *, unroll=None):
    """The polynomial with the coefficients ``coeffs``, the constant term first, at ``x``.

    The coefficients are a sequence of scalars or a vector, and take the dtype of ``x``. ``unroll``
    has no effect: polynomials are always unrolled.

    >>> lax.polynomial(2.0, [1.0, 0.0, 3.0])
    Array(13., dtype=float32, weak_type=True)
    """
    each = list(coeffs) if isinstance(coeffs, list | tuple) else unstack(coeffs)
    dtype = typeof(x).dtype
    return polynomial_p.bind(x, *(c if typeof(c).dtype == dtype else convert(c, dtype)
                                  for c in each), unroll=unroll)
