"""Powers ``x**y`` of arrays; see ``arith`` for a fixed integer exponent."""

from __future__ import annotations

import numpy as np

from .._core.linear import zero_series
from .._core.types import ShapedArray, typeof
from .arith import div, mul, sub, total
from .compare import eq, select
from .convert import convert
from .create import full_like
from .derive import partials
from .families import Elementwise, by_own_loop, grow
from .magnitude import replace_zero
from .operands import INEXACT, INT, letter, like
from .series import convolved, scaled, velocity
from .transcendental import log

__all__ = ["pow", "pow_p"]


class Pow(Elementwise):
    """The first operand raised to the second, which may hold integers."""

    name = "pow"
    accepts = INEXACT
    own_loop = True

    def infer(self, x, y):
        integer = letter(y.dtype) in INT
        out = super().infer(x, ShapedArray(y.shape, x.dtype, y.weak_type) if integer else y)
        return x if out == x else out

    def eval(self, x, y):
        y = y if x.dtype == y.dtype else y.astype(x.dtype)
        out = by_own_loop("pow", x, y)
        if out is not None:
            return out
        if y.ndim == 0 and x.dtype.kind == "f" and y == 0.5:
            # NumPy takes the square root, which differs at -0.0 and at -inf.
            x = np.where(x == -np.inf, np.inf, x) + x.dtype.type(0)
        return np.power(x, y)

    jvp = partials(lambda t, out, x, y: mul(t, _slope_by_base(out, x, y)),
                   lambda t, out, x, y: _strong(mul(t, _slope_by_exponent(out, x))))

    def taylor(self, primals, series):
        """If ``y`` depends on ``t``, from ``w' = w (y log(x))'``.

        Otherwise None: the series then follows from ``jvp``, which also holds at ``x = 0``.
        """
        (x, y), (xs, ys) = primals, series
        if ys is zero_series:
            return None
        count = len(ys)
        logs = [log(x)]
        for k in range(1, count + 1) if xs is not zero_series else ():
            known = [scaled(j / k, mul(logs[j], xs[k - j - 1])) for j in range(1, k)]
            logs.append(div(sub(xs[k - 1], total(known)) if known else xs[k - 1], x))
        ys = [y, *ys]
        exponents = [total([mul(ys[i], logs[k - i]) for i in range(k + 1) if k - i < len(logs)])
                     for k in range(1, count + 1)]
        moves, ws = velocity(exponents), [pow(x, y)]
        for k in range(count):
            ws.append(scaled(1 / (k + 1), convolved(ws, moves, k)))
        return ws[0], ws[1:]


def _strong(x):
    """``x`` without its weak type: derivatives of powers are never weakly typed, as in JAX."""
    return convert(x, typeof(x).dtype)


def _slope_by_base(out, x, y):
    if letter(typeof(y).dtype) in INEXACT:
        x, y = _strong(x), _strong(y)
        return mul(y, pow(x, sub(y, full_like(y, 1))))
    # The power 0 is 1 everywhere, so its slope is 0, where the formula would give 0 * inf.
    y = convert(y, typeof(x).dtype)
    zero_power = grow(eq(y, like(y, 0)), out) if typeof(y).shape else eq(y, like(y, 0))
    none = full_like(out, 0, out.dtype)
    slope = mul(replace_zero(y), pow(x, sub(y, full_like(y, 1))))
    return select(zero_power, none, slope)


def _slope_by_exponent(out, x):
    return mul(log(replace_zero(x)), out)


pow_p = Pow()


def pow(x, y):
    """``x`` raised to ``y``; the exponent has the dtype of ``x`` or an integer one.

    >>> lax.pow(jnp.array([2.0, 3.0]), 2.0)
    Array([4., 9.], dtype=float32)
    """
    return pow_p.bind(x, y)
