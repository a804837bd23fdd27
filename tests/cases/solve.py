"""Rows for solutions of equations."""

from tanx import lax

from .case import Case, f, pos


def divided(a, b):
    """b divided by a, elementwise."""
    return lax.custom_linear_solve(lambda x: lax.mul(a, x), b, lambda _, b: lax.div(b, a),
                                   symmetric=True)


def solved(a, b):
    """The solution of a triangular system of two equations."""
    def forward(_, b):
        first = b[0] / a[0]
        return lax.stop_gradient(_stack(first, (b[1] - a[1] * first) / a[2]))

    def backward(_, b):
        second = b[1] / a[2]
        return _stack((b[0] - a[1] * second) / a[0], second)

    def product(x):
        return _stack(a[0] * x[0], a[1] * x[0] + a[2] * x[1])
    return lax.custom_linear_solve(product, b, forward, backward)


def _stack(x, y):
    return lax.concatenate([lax.reshape(x, (1,)), lax.reshape(y, (1,))], 0)


CASES = [
    Case("custom_linear_solve", divided, pos(3), f(3), lower=False),
    Case("custom_linear_solve", solved, pos(3), f(2), lower=False, name="triangular"),
]
