"""Functions and derivatives at points where they are not defined, or only by convention.

A line is ``function of x | point | value | first derivative | second derivative``. Derivatives are
those of forward mode, or ``forward ~ reverse`` if reverse mode differs: 0 times infinity is NaN,
and the modes multiply by different zeros. A second derivative that is omitted is NaN in some mode,
or trivial. The numbers are JAX's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

__all__ = ["POINTS", "Point", "check"]


class Point(NamedTuple):
    """A function, an argument, and the value and derivatives there."""

    text: str
    at: object
    value: object
    forward: object
    reverse: object
    second: object

    def derivatives(self, jax) -> Callable:
        """A function that returns the value and all derivatives of the row, by ``jax``."""
        names = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax}
        function = eval(f"lambda x: {self.text}", names)

        def every(x):
            x = jax.numpy.asarray(x)
            firsts = (jax.jacfwd(function)(x), jax.jacrev(function)(x)) if (
                self.forward is not None) else ()
            seconds = [outer(inner(function))(x) for outer, inner in (
                (jax.jacfwd, jax.jacfwd), (jax.jacfwd, jax.jacrev), (jax.jacrev, jax.jacrev))
                if self.second is not None]
            return function(x), firsts, seconds
        return every


def check(point: Point, result) -> None:
    """Compare the result of ``point.derivatives`` with the table; signs of zeros do not matter."""
    value, firsts, seconds = result
    said = f"{point.text} at {point.at}"
    _near(value, point.value, f"value of {said}")
    for got, want, mode in zip(firsts, (point.forward, point.reverse), ("forward", "reverse")):
        _near(got, want, f"derivative of {said}, {mode}")
    for got in seconds:
        _near(got, point.second, f"second derivative of {said}")


def _near(got, want, what: str) -> None:
    parts = got if isinstance(got, tuple | list) else [got]
    wanted = want if isinstance(want, tuple) else [want]
    for part, number in zip(parts, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(part), number, rtol=2e-5, atol=2e-6, err_msg=what)


def _points(table: str) -> list[Point]:
    return [_point(line) for line in filter(None, map(str.strip, table.splitlines()))]


def _point(line: str) -> Point:
    text, at, value, *derivatives = (part.strip() for part in line.split(" | "))
    first, second, *_ = [*derivatives, "", ""]
    forward, _, reverse = first.partition("~")
    numbers = [eval(word or "None", {"inf": np.inf, "nan": np.nan})
               for word in (at, value, forward, reverse or forward, second)]
    return Point(text, *numbers)


POINTS = {subject: _points(table) for subject, table in {
    "ties and kinks": """
    abs(x) | 0 | 0 | 1 | 0
    abs(x) | -0.0 | 0 | 1 | 0
    abs(x) | inf | inf | 1 | 0
    abs(x) | nan | nan | -1 | 0
    jnp.abs(x) | 0 | 0 | 1 | 0
    jnp.sign(x) | 0 | 0 | 0 | 0
    jnp.sign(x) | -0.0 | 0 | 0 | 0
    jnp.sign(x) | nan | nan | 0 | 0
    jnp.sign(x) | 2 | 1 | 0 | 0
    jnp.maximum(x, 0) | 0 | 0 | 0.5 | 0
    jnp.maximum(x, 0) | nan | nan | 0 | 0
    jnp.maximum(x, 0) | -0.0 | 0 | 0.5 | 0
    jnp.maximum(x, x) | 2 | 2 | 1 | 0
    jnp.minimum(x, 0) | 0 | 0 | 0.5 | 0
    jnp.minimum(x, 0) | nan | nan | 0 | 0
    jnp.fmax(x, 0) | 0 | 0 | 0 | 0
    jnp.fmax(x, 0) | nan | 0 | 0 | 0
    jnp.fmin(x, 0) | 0 | 0 | 0 | 0
    jnp.fmin(x, 0) | nan | 0 | 0 | 0
    lax.max(x, jnp.zeros_like(x)) | 0 | 0 | 0.5 | 0
    jnp.maximum(x[0], x[1]) | [2, 2] | 2 | [0.5, 0.5] | [[0, 0], [0, 0]]
    jnp.maximum(x[0], x[1]) | [inf, inf] | inf | [0.5, 0.5] | [[0, 0], [0, 0]]
    jnp.maximum(x[0], x[1]) | [nan, 1] | nan | [0, 0] | [[0, 0], [0, 0]]
    jnp.maximum(x[0], x[1]) | [1, nan] | nan | [0, 0] | [[0, 0], [0, 0]]
    jnp.maximum(x[0], x[1]) | [0.0, -0.0] | 0 | [0.5, 0.5] | [[0, 0], [0, 0]]
    jnp.minimum(x[0], x[1]) | [2, 2] | 2 | [0.5, 0.5] | [[0, 0], [0, 0]]
    jnp.minimum(x[0], x[1]) | [1, nan] | nan | [0, 0] | [[0, 0], [0, 0]]
    jnp.fmax(x[0], x[1]) | [2, 2] | 2 | [0, 1] | [[0, 0], [0, 0]]
    jnp.fmax(x[0], x[1]) | [nan, 1] | 1 | [0, 1] | [[0, 0], [0, 0]]
    jnp.fmax(x[0], x[1]) | [1, nan] | 1 | [1, 0] | [[0, 0], [0, 0]]
    jnp.fmin(x[0], x[1]) | [2, 2] | 2 | [0, 1] | [[0, 0], [0, 0]]
    jnp.fmin(x[0], x[1]) | [nan, 1] | 1 | [0, 1] | [[0, 0], [0, 0]]
    jnp.max(x) | [1, 3, 3] | 3 | [0, 0.5, 0.5] | [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    jnp.max(x) | [3, 3, 3] | 3 | [0.3333333, 0.3333333, 0.3333333]
    jnp.max(x) | [-inf, -inf] | -inf | [0.5, 0.5] | [[0, 0], [0, 0]]
    jnp.min(x) | [1, 1, 3] | 1 | [0.5, 0.5, 0] | [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    jnp.min(x) | [inf, inf] | inf | [0.5, 0.5] | [[0, 0], [0, 0]]
    jnp.max(x, initial=3) | [1, 3] | 3 | [0, 0.5] | [[0, 0], [0, 0]]
    jnp.max(x, initial=3) | [1, 2] | 3 | [0, 0] | [[0, 0], [0, 0]]
    jnp.max(x, initial=-9, where=jnp.array([1, 0, 1]) > 0) | [3, 3, 3] | 3 | [0.5, 0, 0.5]
    lax.reduce_max(x, (0,)) | [2, 2] | 2 | [0.5, 0.5] | [[0, 0], [0, 0]]
    jnp.nanmax(x) | [2, nan, 2] | 2 | [0.5, 0, 0.5] | [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    jnp.nanmax(x) | [nan, nan] | nan | [0, 0] | [[0, 0], [0, 0]]
    jnp.nanmin(x) | [2, nan, 2] | 2 | [0.5, 0, 0.5] | [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    jnp.ptp(x) | [1, 1, 3] | 2 | [-0.5, -0.5, 1] | [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    jnp.ptp(x) | [2, 2] | 0 | [0, 0] | [[0, 0], [0, 0]]
    jnp.clip(x, 0, 1) | 0 | 0 | 0.5 | 0
    jnp.clip(x, 0, 1) | 1 | 1 | 0.5 | 0
    jnp.clip(x, 0, 1) | 2 | 1 | 0 | 0
    jnp.clip(x, 0, 1) | nan | nan | 0 | 0
    jnp.clip(x, 0, 1) | 0.5 | 0.5 | 1 | 0
    jnp.clip(x, None, 1) | 1 | 1 | 0.5 | 0
    lax.clamp(0., x, 1.) | 0 | 0 | 0 | 0
    lax.clamp(0., x, 1.) | 1 | 1 | 0 | 0
    lax.clamp(0., x, 1.) | nan | nan | 0 | 0
    jnp.clip(x[0], x[1], x[2]) | [1, 1, 2] | 1 | [0.5, 0.5, 0] | [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    jnp.clip(x[0], x[1], x[2]) | [2, 1, 2] | 2 | [0.5, 0, 0.5] | [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    jnp.clip(x[0], x[1], x[2]) | [1, 1, 1] | 1 | [0.25, 0.25, 0.5]
    jnp.clip(x[0], x[1], x[2]) | [1, 3, 2] | 2 | [0, 0, 1] | [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    jnp.sum(jnp.abs(x)) | [0, 1] | 1 | [1, 1] | [[0, 0], [0, 0]]
    jnp.abs(lax.complex(x[0], x[1])) | [0, 0] | 0 | [0, 0] | [[1, 0], [0, 1]]
    jnp.abs(lax.complex(x[0], x[1])) | [3, 4] | 5 | [0.6, 0.8]
    jnp.abs(lax.complex(x[0], x[1])) | [inf, 1] | inf | [nan, nan]
    jnp.abs(jnp.sign(lax.complex(x[0], x[1]))) | [0, 0] | 0 | [0, 0] | [[0, 0], [0, 0]]
    x.at[0].max(1.0) | [1, 2] | [1, 2] | [[0.5, 0], [0, 1]] | [[[0, 0], [0, 0]], [[0, 0], [0, 0]]]
    x.at[0].min(1.0) | [1, 2] | [1, 2] | [[0.5, 0], [0, 1]] | [[[0, 0], [0, 0]], [[0, 0], [0, 0]]]
    x.at[0].multiply(0.0) | [1, 2] | [0, 2] | [[0, 0], [0, 1]]
    x.at[0].mul(x[1]) | [0, 0] | [0, 0] | [[0, 0], [0, 1]] | [[[0, 1], [1, 0]], [[0, 0], [0, 0]]]
    """,
    "activations": """
    jax.nn.relu(x) | 0 | 0 | 0 | 0
    jax.nn.relu(x) | -0.0 | 0 | 0 | 0
    jax.nn.relu(x) | nan | nan | 0 | 0
    jax.nn.relu6(x) | 0 | 0 | 0 | 0
    jax.nn.relu6(x) | 6 | 6 | 0 | 0
    jax.nn.leaky_relu(x) | 0 | 0 | 1 | 0
    jax.nn.elu(x) | 0 | 0 | 1 | 1
    jax.nn.elu(x) | 100 | 100 | 1 | 0
    jax.nn.elu(x) | -inf | -1 | 0 | 0
    jax.nn.selu(x) | 0 | 0 | 1.758099 | 1.758099
    jax.nn.celu(x) | 0 | 0 | 1 | 0.25
    jax.nn.hard_tanh(x) | 1 | 1 | 1 | 0
    jax.nn.hard_tanh(x) | -1 | -1 | 1 | 0
    jax.nn.hard_sigmoid(x) | 3 | 1 | 0 | 0
    jax.nn.hard_sigmoid(x) | -3 | 0 | 0 | 0
    jax.nn.softplus(x) | 0 | 0.6931472 | 0.5 | 0.25
    jax.nn.softplus(x) | inf | inf | 1 | 0
    jax.nn.softplus(x) | -inf | 0 | 0 | 0
    jax.nn.softplus(x) | 100 | 100 | 1 | 0
    jax.nn.sigmoid(x) | inf | 1 | 0 | 0
    jax.nn.sigmoid(x) | -inf | 0 | 0 | 0
    jax.nn.sigmoid(x) | 0 | 0.5 | 0.25 | 0
    jax.nn.log_sigmoid(x) | -inf | -inf | 1 | 0
    jax.nn.log_sigmoid(x) | inf | 0 | 0 | 0
    jax.nn.silu(x) | inf | inf | nan
    jax.nn.silu(x) | -inf | nan | nan
    jax.nn.gelu(x) | 0 | 0 | 0.5 | 0.7978846
    jax.nn.gelu(x) | inf | inf | nan
    jax.nn.squareplus(x) | 0 | 1 | 0.5 | 0.25
    jax.nn.soft_sign(x) | 0 | 0 | 1 | -2
    jax.nn.log1mexp(x) | 0 | -inf | inf | -inf
    jax.nn.log1mexp(x) | 0.69314718 | -0.6931472 | 1 | -2
    """,
    "choices": """
    jnp.where(x > 0, x, 0) | 0 | 0 | 0 | 0
    jnp.where(x > 0, jnp.sqrt(x), 0) | 0 | 0 | 0 ~ nan
    jnp.where(x > 0, jnp.sqrt(x), 0) | -1 | 0 | 0 ~ nan
    jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1)), 0) | 0 | 0 | 0 | 0
    jnp.where(x == 0, 0, jnp.sin(x) / x) | 0 | 0 | 0 ~ nan
    jnp.nan_to_num(x) | nan | 0 | 0 | 0
    jnp.nan_to_num(x) | 1 | 1 | 1 | 0
    jnp.copysign(x, -1) | 0 | 0 | -1 | 0
    jnp.copysign(x, -1) | 2 | -2 | -1 | 0
    jnp.copysign(x, -1) | -2 | -2 | 1 | 0
    jnp.copysign(x[0], x[1]) | [2, 0] | 2 | [1, 0] | [[0, 0], [0, 0]]
    jnp.copysign(x[0], x[1]) | [0, -1] | 0 | [-1, 0] | [[0, 0], [0, 0]]
    jnp.copysign(x[0], x[1]) | [2, -0.0] | -2 | [-1, 0] | [[0, 0], [0, 0]]
    jnp.heaviside(x, 0.5) | 0 | 0.5 | 0 | 0
    jnp.heaviside(x, 0.5) | 1 | 1 | 0 | 0
    """,
    "norms and roots": """
    jnp.linalg.norm(x) | [0, 0] | 0 | [nan, nan]
    jnp.linalg.norm(x) | [3, 4] | 5 | [0.6, 0.8] | [[0.128, -0.096], [-0.096, 0.072]]
    jnp.linalg.norm(x) | [inf, 1] | inf | [nan, nan] ~ [nan, 0]
    jnp.linalg.norm(x) | [nan, 1] | nan | [nan, nan]
    jnp.linalg.norm(x, 1) | [0, 0] | 0 | [1, 1] | [[0, 0], [0, 0]]
    jnp.linalg.norm(x, 1) | [0, 2] | 2 | [1, 1] | [[0, 0], [0, 0]]
    jnp.linalg.norm(x, jnp.inf) | [0, 0] | 0 | [0.25, 0.25] | [[0, 0], [0, 0]]
    jnp.linalg.norm(x, jnp.inf) | [2, -2] | 2 | [0.5, -0.5] | [[0, 0], [0, 0]]
    jnp.linalg.norm(x, jnp.inf) | [2, 2] | 2 | [0.5, 0.5] | [[0, 0], [0, 0]]
    jnp.linalg.norm(x, -jnp.inf) | [0, 0] | 0 | [0.5, 0.5] | [[0, 0], [0, 0]]
    jnp.linalg.norm(x, -jnp.inf) | [2, -2] | 2 | [0.5, -0.5] | [[0, 0], [0, 0]]
    jnp.linalg.norm(x, 0) | [0, 2] | 1 | [0, 0] | [[0, 0], [0, 0]]
    jnp.linalg.norm(x, 3) | [0, 0] | 0 | [nan, nan]
    jnp.linalg.norm(x, 3) | [0, 2] | 2 | [0, 1] | [[0, 0], [0, 0]]
    jnp.linalg.norm(x, axis=0, keepdims=True) | [0, 0] | [0] | [[nan, nan]]
    jnp.linalg.norm(x, 'nuc') | [[1, 0], [0, 2]] | 3 | [[1, 0], [0, 1]]
    jnp.linalg.norm(x, 2) | [[0, 0], [0, 0]] | 0 | [[0.25, 0], [0, 0.25]]
    jnp.linalg.norm(x, 2) | [[1, 0], [0, 2]] | 2 | [[0, 0], [0, 1]]
    jnp.linalg.vector_norm(x) | [0, 0] | 0 | [nan, nan]
    jnp.sqrt(jnp.sum(x * x)) | [0, 0] | 0 | [nan, nan]
    jnp.sqrt(x) | 0 | 0 | inf | -inf
    jnp.sqrt(x) | -0.0 | 0 | -inf | inf
    jnp.sqrt(x) | -1 | nan | nan
    jnp.sqrt(x) | inf | inf | 0 | 0
    lax.rsqrt(x) | 0 | inf | -inf | inf
    lax.rsqrt(x) | inf | 0 | 0 | 0
    lax.rsqrt(x) | -1 | nan | nan
    jnp.cbrt(x) | 0 | 0 | inf | -inf
    jnp.cbrt(x) | -8 | -2 | 0.08333334 | 0.006944445
    jnp.cbrt(x) | -0.0 | 0 | inf | inf
    jnp.hypot(x[0], x[1]) | [0, 0] | 0 | [nan, nan]
    jnp.hypot(x[0], x[1]) | [0, 3] | 3 | [0, 1] | [[0.3333333, 0], [0, 0]]
    jnp.hypot(x[0], x[1]) | [inf, nan] | inf | [nan, nan]
    jnp.hypot(x[0], x[1]) | [inf, 1] | inf | [nan, nan] ~ [nan, 0]
    jnp.hypot(x, 0) | 0 | 0 | nan
    """,
    "powers": """
    x ** 2 | 0 | 0 | 0 | 2
    x ** 2.0 | 0 | 0 | 0 | 2
    x ** 2.0 | -2 | 4 | -4 | 2
    x ** 3 | 0 | 0 | 0 | 0
    x ** 1 | 0 | 0 | 1 | 0
    x ** 1.0 | 0 | 0 | 1
    x ** 0 | 0 | 1 | 0 | 0
    x ** 0 | nan | 1 | 0 | 0
    x ** 0 | 2 | 1 | 0 | 0
    x ** 0.0 | 0 | 1 | nan
    x ** 0.0 | nan | 1 | nan
    x ** 0.0 | 2 | 1 | 0 | 0
    x ** 0.5 | 0 | 0 | inf | -inf
    x ** 0.5 | -1 | nan | nan
    x ** 1.5 | 0 | 0 | 0 | inf
    x ** -1 | 0 | inf | -inf | inf
    x ** -1.0 | 0 | inf | -inf | inf
    x ** -2 | 0 | inf | -inf | inf
    x ** jnp.array(2) | 0 | 0 | 0 | 2
    x ** jnp.array(2) | -3 | 9 | -6 | 2
    0 ** x | 0 | 1 | 0 | 0
    0 ** x | 1 | 0 | 0 | 0
    0 ** x | -1 | inf | nan
    0 ** x | 2 | 0 | 0 | 0
    0.0 ** x | 0 | 1 | 0 | 0
    0.0 ** x | 1 | 0 | 0 | 0
    0.0 ** x | -1 | inf | nan
    1 ** x | inf | 1 | 0 | 0
    1 ** x | 2 | 1 | 0 | 0
    1 ** x | nan | 1 | 0 | 0
    2 ** x | 0 | 1 | 0.6931472 | 0.480453
    2 ** x | -inf | 0 | 0 | 0
    2 ** x | inf | inf | inf | inf
    (-2.0) ** x | 2 | 4 | nan
    (-2.0) ** x | 0.5 | nan | nan
    (-2.0) ** x | 0 | 1 | nan
    jnp.power(x, 2) | 0 | 0 | 0 | 2
    jnp.power(x[0], x[1]) | [0, 0] | 1 | [nan, nan] ~ [nan, 0]
    jnp.power(x[0], x[1]) | [0, 1] | 0 | [1, 0]
    jnp.power(x[0], x[1]) | [0, 2] | 0 | [0, 0] | [[2, 0], [0, 0]]
    jnp.power(x[0], x[1]) | [0, -1] | inf | [nan, nan] ~ [-inf, nan]
    jnp.power(x[0], x[1]) | [0, 0.5] | 0 | [inf, nan] ~ [inf, 0]
    jnp.power(x[0], x[1]) | [-2, 2] | 4 | [nan, nan] ~ [-4, nan]
    jnp.power(x[0], x[1]) | [-2, 0.5] | nan | [nan, nan]
    jnp.power(x[0], x[1]) | [-2, 0] | 1 | [nan, nan] ~ [0, nan]
    jnp.power(x[0], x[1]) | [1, inf] | 1 | [inf, nan] ~ [inf, 0]
    jnp.power(x[0], x[1]) | [inf, 0] | 1 | [nan, inf] ~ [0, inf]
    jnp.power(x[0], x[1]) | [nan, 0] | 1 | [nan, nan]
    jnp.power(x[0], x[1]) | [-0.0, 3] | 0 | [0, 0] | [[0, 0], [0, 0]]
    lax.integer_pow(x, 2) | 0 | 0 | 0 | 2
    lax.integer_pow(x, 0) | 0 | 1 | 0 | 0
    lax.integer_pow(x, -1) | 0 | inf | -inf | inf
    """,
    "divisions": """
    jnp.reciprocal(x) | 0 | inf | -inf | inf
    jnp.reciprocal(x) | -0.0 | -inf | -inf | -inf
    jnp.reciprocal(x) | inf | 0 | 0 | 0
    1 / x | 0 | inf | -inf | inf
    1 / x | -0.0 | -inf | -inf | -inf
    0 / x | 0 | nan | nan
    x / 0 | 0 | nan | inf | 0
    x / 0 | 1 | inf | inf | 0
    x / 0 | -1 | -inf | inf | 0
    jnp.mod(x, 2) | 0 | 0 | 1 | 0
    jnp.mod(x, 2) | 2 | 0 | 1 | 0
    jnp.mod(x, 2) | -2 | 0 | 1 | 0
    jnp.mod(x, 2) | 3 | 1 | 1 | 0
    jnp.mod(x, 2) | -1 | 1 | 1 | 0
    jnp.mod(x, 2) | inf | nan | 1 | 0
    jnp.mod(x, 2) | -0.0 | 0 | 1 | 0
    jnp.mod(x[0], x[1]) | [2, 2] | 0 | [1, -1] | [[0, 0], [0, 0]]
    jnp.mod(x[0], x[1]) | [3, -2] | -1 | [1, 2] | [[0, 0], [0, 0]]
    jnp.mod(x[0], x[1]) | [-3, 2] | 1 | [1, 2] | [[0, 0], [0, 0]]
    jnp.mod(x[0], x[1]) | [1, 0] | nan | [nan, -inf] ~ [1, -inf] | [[0, 0], [0, 0]]
    jnp.mod(x[0], x[1]) | [1, inf] | 1 | [1, 0] | [[0, 0], [0, 0]]
    jnp.mod(x[0], x[1]) | [-1, inf] | inf | [1, 1] | [[0, 0], [0, 0]]
    jnp.mod(x[0], x[1]) | [5, 2] | 1 | [1, -2] | [[0, 0], [0, 0]]
    jnp.fmod(x[0], x[1]) | [2, 2] | 0 | [1, -1] | [[0, 0], [0, 0]]
    jnp.fmod(x[0], x[1]) | [3, -2] | 1 | [1, 1] | [[0, 0], [0, 0]]
    jnp.fmod(x[0], x[1]) | [-3, 2] | -1 | [1, 1] | [[0, 0], [0, 0]]
    jnp.fmod(x[0], x[1]) | [1, 0] | nan | [nan, -inf] ~ [1, -inf] | [[0, 0], [0, 0]]
    jnp.fmod(x[0], x[1]) | [-1, inf] | -1 | [1, 0] | [[0, 0], [0, 0]]
    lax.rem(x[0], x[1]) | [2, 2] | 0 | [1, -1] | [[0, 0], [0, 0]]
    lax.rem(x[0], x[1]) | [-5, 2] | -1 | [1, 2] | [[0, 0], [0, 0]]
    x[0] // x[1] | [2, 2] | 1 | [0, 0] | [[0, 0], [0, 0]]
    x[0] // x[1] | [5, 2] | 2 | [0, 0] | [[0, 0], [0, 0]]
    x[0] // x[1] | [-5, 2] | -3 | [0, 0] | [[0, 0], [0, 0]]
    x[0] // x[1] | [1, 0] | inf | [0, 0] | [[0, 0], [0, 0]]
    x[0] // x[1] | [inf, 1] | nan | [0, 0] | [[0, 0], [0, 0]]
    jnp.divmod(x[0], x[1]) | [5, 2] | (2, 1) | ([0, 0], [1, -2])
    jnp.divmod(x[0], x[1]) | [1, 0] | (inf, nan) | ([0, 0], [nan, -inf]) ~ ([0, nan], [1, -inf])
    jnp.modf(x) | 2 | (0, 2) | (1, 0) | (0, 0)
    jnp.modf(x) | 2.5 | (0.5, 2) | (1, 0) | (0, 0)
    jnp.modf(x) | -2.5 | (-0.5, -2) | (1, 0) | (0, 0)
    """,
    "exponentials and logarithms": """
    jnp.log(x) | 0 | -inf | inf | -inf
    jnp.log(x) | -0.0 | -inf | -inf | -inf
    jnp.log(x) | -1 | nan | -1 | -1
    jnp.log(x) | inf | inf | 0 | 0
    jnp.log1p(x) | -1 | -inf | inf | -inf
    jnp.log1p(x) | -2 | nan | -1 | -1
    jnp.log1p(x) | 0 | 0 | 1 | -1
    jnp.log1p(x) | inf | inf | 0 | 0
    jnp.log2(x) | 0 | -inf | inf | -inf
    jnp.log10(x) | 0 | -inf | inf | -inf
    jnp.expm1(x) | 0 | 0 | 1 | 1
    jnp.expm1(x) | -inf | -1 | 0 | 0
    jnp.expm1(x) | inf | inf | inf | inf
    jnp.exp(x) | -inf | 0 | 0 | 0
    jnp.exp(x) | inf | inf | inf | inf
    jnp.exp2(x) | -inf | 0 | 0 | 0
    jnp.exp2(x) | 3 | 8 | 5.545177 | 3.843624
    jnp.logaddexp(x[0], x[1]) | [-inf, -inf] | -inf | [nan, nan]
    jnp.logaddexp(x[0], x[1]) | [inf, inf] | inf | [1, 1] | [[0, 0], [0, 0]]
    jnp.logaddexp(x[0], x[1]) | [inf, -inf] | inf | [1, 0] | [[0, 0], [0, 0]]
    jnp.logaddexp(x[0], x[1]) | [-inf, 0] | 0 | [0, 1] | [[0, 0], [0, 0]]
    jnp.logaddexp(x[0], x[1]) | [0, 0] | 0.6931472 | [0.5, 0.5] | [[0.25, -0.25], [-0.25, 0.25]]
    jnp.logaddexp(x[0], x[1]) | [nan, 0] | nan | [nan, nan]
    jnp.logaddexp(x[0], x[1]) | [inf, 0] | inf | [1, 1] | [[0, 0], [0, 1]]
    jnp.logaddexp(x[0], x[1]) | [0, inf] | inf | [1, 1] | [[1, 0], [0, 0]]
    jnp.logaddexp2(x[0], x[1]) | [-inf, -inf] | -inf | [nan, nan]
    jnp.logaddexp2(x[0], x[1]) | [inf, inf] | inf | [1, 1] | [[0, 0], [0, 0]]
    jnp.logaddexp2(x[0], x[1]) | [0, 0] | 1 | [0.5, 0.5]
    jnp.logaddexp2(x[0], x[1]) | [-inf, 0] | 0 | [0, 1] | [[0, 0], [0, 0]]
    jax.nn.logsumexp(x) | [-inf, -inf] | -inf | [nan, nan]
    jax.nn.logsumexp(x) | [inf, 1] | inf | [nan, nan] ~ [nan, 0]
    jax.nn.logsumexp(x) | [-inf, 0] | 0 | [0, 1] | [[0, 0], [0, 0]]
    jax.nn.logsumexp(x) | [0, 0] | 0.6931472 | [0.5, 0.5] | [[0.25, -0.25], [-0.25, 0.25]]
    jax.nn.logsumexp(x) | [nan, 0] | nan | [nan, nan]
    jax.nn.logsumexp(x) | [inf, inf] | inf | [nan, nan]
    jax.nn.logmeanexp(x) | [-inf, -inf] | -inf | [nan, nan]
    jax.nn.logmeanexp(x) | [0, 0] | 0 | [0.5, 0.5] | [[0.25, -0.25], [-0.25, 0.25]]
    jax.nn.softmax(x) | [-inf, -inf] | [nan, nan] | [[nan, nan], [nan, nan]]
    jax.nn.softmax(x) | [-inf, 0] | [0, 1] | [[0, 0], [0, 0]]
    jax.nn.softmax(x) | [inf, 0] | [nan, nan] | [[nan, nan], [nan, nan]]
    jax.nn.softmax(x) | [0, 0] | [0.5, 0.5] | [[0.25, -0.25], [-0.25, 0.25]]
    jax.nn.log_softmax(x) | [-inf, -inf] | [nan, nan] | [[nan, nan], [nan, nan]]
    jax.nn.log_softmax(x) | [-inf, 0] | [-inf, 0] | [[1, -1], [0, 0]]
    jax.nn.log_softmax(x) | [0, 0] | [-0.6931472, -0.6931472] | [[0.5, -0.5], [-0.5, 0.5]]
    jax.nn.softmax(x, where=jnp.array([1, 0]) > 0) | [1, 2] | [1, 0] | [[0, 0], [0, 0]]
    jax.nn.softmax(x, where=jnp.array([1, 0]) > 0) | [1, inf] | [1, 0] | [[0, 0], [0, 0]]
    lax.cumlogsumexp(x) | [-inf, 0] | [-inf, 0] | [[1, 0], [0, 1]]
    lax.cumlogsumexp(x) | [0, 0] | [0, 0.6931472] | [[1, 0], [0.5, 0.5]]
    """,
    "angles and hyperbolas": """
    jnp.arctan2(x[0], x[1]) | [0, 0] | 0 | [nan, nan]
    jnp.arctan2(x[0], x[1]) | [0, -1] | 3.141593 | [-1, 0] | [[0, -1], [-1, 0]]
    jnp.arctan2(x[0], x[1]) | [-0.0, -1] | -3.141593 | [-1, 0] | [[0, -1], [-1, 0]]
    jnp.arctan2(x[0], x[1]) | [-0.0, 0.0] | 0 | [nan, nan]
    jnp.arctan2(x[0], x[1]) | [0.0, -0.0] | 3.141593 | [nan, nan]
    jnp.arctan2(x[0], x[1]) | [inf, inf] | 0.7853982 | [nan, nan]
    jnp.arctan2(x[0], x[1]) | [1, 0] | 1.570796 | [0, -1] | [[0, 1], [1, 0]]
    jnp.sinc(x) | 0 | 1 | 0 | -3.289868
    jnp.sinc(x) | 1 | 0 | -1 | 2
    jnp.sinc(x) | inf | 0 | 0 | 0
    jnp.arccos(x) | 1 | 0 | -inf | -inf
    jnp.arccos(x) | -1 | 3.141593 | -inf | inf
    jnp.arccos(x) | 2 | nan | nan
    jnp.arcsin(x) | 1 | 1.570796 | inf | inf
    jnp.arcsin(x) | -1 | -1.570796 | inf | -inf
    jnp.arctanh(x) | 1 | inf | inf | inf
    jnp.arctanh(x) | -1 | -inf | inf | -inf
    jnp.arctanh(x) | 2 | nan | -0.3333333 | 0.4444444
    jnp.arccosh(x) | 1 | 0 | inf | -inf
    jnp.arccosh(x) | 0.5 | nan | nan
    jnp.arcsinh(x) | 0 | 0 | 1 | 0
    jnp.arcsinh(x) | inf | inf | 0
    jnp.tan(x) | inf | nan | nan
    jnp.tan(x) | 0 | 0 | 1 | 0
    jnp.tanh(x) | inf | 1 | 0 | 0
    jnp.tanh(x) | -inf | -1 | 0 | 0
    jnp.tanh(x) | 0 | 0 | 1 | 0
    jnp.cosh(x) | 0 | 1 | 0 | 1
    jnp.cosh(x) | inf | inf | inf | inf
    jnp.sin(x) | inf | nan | nan
    jnp.arctan(x) | inf | 1.570796 | 0
    """,
    "special functions": """
    lax.lgamma(x) | 1 | 0 | -0.5772154 | 1.644934
    lax.lgamma(x) | 2 | 0 | 0.4227846 | 0.6449341
    lax.erf_inv(x) | 1 | inf | inf | inf
    lax.erf_inv(x) | -1 | -inf | inf | -inf
    lax.erf_inv(x) | 0 | 0 | 0.886227 | 0
    lax.erf_inv(x) | 1.5 | nan | nan
    lax.erf(x) | inf | 1 | 0 | 0
    lax.erf(x) | 0 | 0 | 1.128379 | 0
    lax.erfc(x) | inf | 0 | 0 | 0
    lax.erfc(x) | -inf | 2 | 0 | 0
    jax.scipy.special.logit(x) | 0.5 | 0 | 4 | 0
    jax.scipy.special.logit(x) | 0 | -inf | inf
    jax.scipy.special.ndtr(x) | 0 | 0.5 | 0.3989423 | 0
    jax.scipy.special.ndtr(x) | -inf | 0 | 0 | 0
    jax.scipy.special.ndtr(x) | inf | 1 | 0 | 0
    lax.bessel_i1e(x) | 0 | 0 | 0.5 | 0
    lax.bessel_i0e(x) | 0 | 1 | 0 | 0.5
    """,
    "products, sums and order": """
    jnp.prod(x) | [0, 2, 3] | 0 | [6, 0, 0] | [[0, 3, 2], [3, 0, 0], [2, 0, 0]]
    jnp.prod(x) | [0, 0, 3] | 0 | [0, 0, 0] | [[0, 3, 0], [3, 0, 0], [0, 0, 0]]
    jnp.prod(x) | [2, 3] | 6 | [3, 2] | [[0, 1], [1, 0]]
    jnp.prod(x) | [0] | 0 | [1] | [[0]]
    jnp.cumprod(x) | [0, 2, 3] | [0, 0, 0] | [[1, 0, 0], [2, 0, 0], [6, 0, 0]]
    jnp.cumprod(x) | [2, 0, 3] | [2, 0, 0] | [[1, 0, 0], [0, 2, 0], [0, 6, 0]]
    jnp.cumprod(x) | [0, 0, 3] | [0, 0, 0] | [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    jnp.nanprod(x) | [0, nan, 3] | 0 | [3, 0, 0] | [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    lax.cummax(x) | [1, 1, 2] | [1, 1, 2] | [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]
    lax.cummax(x) | [2, 1, 2] | [2, 2, 2] | [[1, 0, 0], [1, 0, 0], [0.5, 0, 0.5]]
    lax.cummin(x) | [1, 1, 2] | [1, 1, 1] | [[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]]
    jnp.sort(x) | [2, 1, 2] | [1, 2, 2] | [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    jnp.sort(x) | [nan, 1, 2] | [1, 2, nan] | [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    jnp.sort(x) | [0.0, -0.0] | [0, 0] | [[1, 0], [0, 1]] | [[[0, 0], [0, 0]], [[0, 0], [0, 0]]]
    jnp.sort(x, descending=True) | [2, 1, 2] | [2, 2, 1] | [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    jnp.median(x) | [1, 2] | 1.5 | [0.5, 0.5] | [[0, 0], [0, 0]]
    jnp.median(x) | [2, 2, 2] | 2 | [0, 1, 0] | [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    jnp.median(x) | [3, 1, 2] | 2 | [0, 0, 1] | [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    jnp.median(x) | [nan, 1] | nan | [0, 0] | [[0, 0], [0, 0]]
    jnp.quantile(x, 0.5) | [1, 2] | 1.5 | [0.5, 0.5] | [[0, 0], [0, 0]]
    jnp.quantile(x, 0.5) | [2, 2] | 2 | [0.5, 0.5] | [[0, 0], [0, 0]]
    jnp.nanmedian(x) | [1, nan, 2] | 1.5 | [0.5, 0, 0.5] | [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    lax.top_k(x, 2)[0] | [2, 2, 2] | [2, 2] | [[1, 0, 0], [0, 1, 0]]
    lax.top_k(x, 2)[0] | [1, 3, 3] | [3, 3] | [[0, 1, 0], [0, 0, 1]]
    jnp.var(x) | [2] | 0 | [0] | [[0]]
    jnp.var(x) | [2, 2] | 0 | [0, 0] | [[0.5, -0.5], [-0.5, 0.5]]
    jnp.var(x) | [1, 2] | 0.25 | [-0.5, 0.5] | [[0.5, -0.5], [-0.5, 0.5]]
    jnp.var(x, ddof=1) | [2] | nan | [0] ~ [nan]
    jnp.var(x, ddof=1) | [1, 2] | 0.5 | [-1, 1] | [[1, -1], [-1, 1]]
    jnp.std(x) | [2] | 0 | [nan]
    jnp.std(x) | [2, 2] | 0 | [nan, nan]
    jnp.std(x) | [1, 2] | 0.5 | [-0.5, 0.5] | [[0, 0], [0, 0]]
    jnp.nanstd(x) | [2, nan] | 0 | [nan, nan] ~ [nan, 0]
    jnp.nanvar(x) | [1, 2, nan] | 0.25 | [-0.5, 0.5, 0]
    jnp.nanmean(x) | [1, nan] | 1 | [1, 0] | [[0, 0], [0, 0]]
    jnp.nanmean(x) | [nan, nan] | nan | [nan, nan] ~ [0, 0] | [[0, 0], [0, 0]]
    jnp.nansum(x) | [1, nan] | 1 | [1, 0] | [[0, 0], [0, 0]]
    jnp.nansum(x) | [nan, nan] | 0 | [0, 0] | [[0, 0], [0, 0]]
    jnp.nancumsum(x) | [1, nan, 2] | [1, 1, 3] | [[1, 0, 0], [1, 0, 0], [1, 0, 1]]
    jnp.mean(x) | [inf, -inf] | nan | [0.5, 0.5] | [[0, 0], [0, 0]]
    jnp.mean(x) | [1, 2] | 1.5 | [0.5, 0.5] | [[0, 0], [0, 0]]
    """,
    "rounding": """
    jnp.floor(x) | 2 | 2 | 0 | 0
    jnp.floor(x) | 2.5 | 2 | 0 | 0
    jnp.floor(x) | -0.5 | -1 | 0 | 0
    jnp.floor(x) | inf | inf | 0 | 0
    jnp.ceil(x) | 2 | 2 | 0 | 0
    jnp.ceil(x) | -0.5 | 0 | 0 | 0
    jnp.trunc(x) | 2 | 2 | 0 | 0
    jnp.trunc(x) | -1.5 | -1 | 0 | 0
    jnp.round(x) | 0.5 | 0 | 0 | 0
    jnp.round(x) | 1.5 | 2 | 0 | 0
    jnp.round(x) | 2.5 | 2 | 0 | 0
    jnp.round(x) | -0.5 | 0 | 0 | 0
    jnp.round(x) | -2.5 | -2 | 0 | 0
    jnp.rint(x) | 0.5 | 0 | 0 | 0
    jnp.rint(x) | 2.5 | 2 | 0 | 0
    lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO) | 0.5 | 1 | 0 | 0
    lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO) | 2.5 | 3 | 0 | 0
    lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO) | -0.5 | -1 | 0 | 0
    """,
    "matrices and complex numbers": """
    jnp.linalg.det(x) | [[1, 2], [2, 4]] | 0 | [[4, -2], [-2, 1]]
    jnp.linalg.det(x) | [[1, 0], [0, 2]] | 2 | [[2, 0], [0, 1]]
    jnp.linalg.slogdet(x)[1] | [[1, 0], [0, 2]] | 0.6931472 | [[1, 0], [0, 0.5]]
    jnp.angle(lax.complex(x[0], x[1])) | [0, 0] | 0 | [nan, nan]
    jnp.angle(lax.complex(x[0], x[1])) | [-1, 0] | 3.141593 | [0, -1] | [[0, -1], [-1, 0]]
    jnp.angle(lax.complex(x[0], x[1])) | [-1, -0.0] | -3.141593 | [0, -1] | [[0, -1], [-1, 0]]
    jnp.real(jnp.sqrt(lax.complex(x[0], x[1]))) | [0, 0] | 0 | [nan, nan]
    jnp.real(jnp.sqrt(lax.complex(x[0], x[1]))) | [-1, 0] | 0 | [0, 0.5] | [[0, 0.25], [0.25, 0]]
    jnp.real(jnp.log(lax.complex(x[0], x[1]))) | [0, 0] | -inf | [inf, nan]
    jnp.real(lax.complex(x[0], x[1]) ** 2) | [0, 0] | 0 | [0, 0] | [[2, 0], [0, -2]]
    jnp.real(lax.complex(x[0], x[1]) * jnp.conj(lax.complex(x[0], x[1]))) | [0, 0] | 0 | [0, 0]
    """,
}.items()}
