"""The parts of ``tanx.scipy.special`` that are primitives: one instruction is faster than several.

They have no names in ``tanx.lax``, as JAX has none for them.
"""

from __future__ import annotations

from .._core.linear import never
from .arith import div, mul, sub
from .derive import partials
from .operands import like
from .special import Special

__all__ = ["logit_p", "ndtr_p"]


class Ndtr(Special):
    """The normal distribution function, ``erfc(-x/√2) / 2``."""

    name = scipy_name = "ndtr"
    own_loop = True
    jvp = never("tanx.scipy.special.ndtr has a rule, with the density of the normal distribution")


class Logit(Special):
    """The logarithm of the odds ``x / (1 - x)``, exact to rounding also close to ½."""

    name = scipy_name = "logit"
    own_loop = True
    jvp = partials(lambda t, out, x: div(t, mul(x, sub(like(x, 1), x))))


ndtr_p, logit_p = Ndtr(), Logit()
