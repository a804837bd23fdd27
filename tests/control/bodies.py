"""Random bodies of scans, and the same scans as Python loops."""

import numpy as np

import tanx
import tanx.numpy as jnp
from tanx import lax

LANES, SIZE = 2, 3


def random_body(rng: np.random.Generator, forward: bool = False):
    """A body of a scan ``(w, carry, x) -> (carry, y)``, where carry is ``(vector, scalar, count)``.

    It consists of smooth functions, so that all derivatives exist. Some carries stay the same, some
    are swapped, some are not used, and some results are constants. Some functions have custom
    rules; with ``forward``, none have a rule for reverse mode only.
    """
    unary = [jnp.sin, jnp.cos, jnp.tanh, lambda v: v * 0.5, lambda v: v / (1 + v * v),
             tanx.jit(jnp.sin), tanx.checkpoint(jnp.tanh),
             _with_jvp if forward else _with_vjp]
    binary = [jnp.add, jnp.multiply, jnp.subtract, lambda a, b: jnp.where(b > 0, a, a * b)]
    steps = [(int(rng.integers(6)), int(rng.integers(len(unary))), int(rng.integers(6)),
              int(rng.integers(len(binary)))) for _ in range(int(rng.integers(2, 6)))]
    picks = rng.integers(0, 100, 3).tolist()
    odd = int(rng.integers(6))

    def body(w, carry, x):
        vector, scalar, count = carry
        values = [vector, jnp.full(SIZE, 1.0) * scalar, w, x, vector * count, jnp.exp(-w * w)]
        for a, f, b, g in steps:
            values.append(binary[g](unary[f](values[a % len(values)]), values[b % len(values)]))
        new, total, y = (values[i % len(values)] for i in picks)
        if odd == 0:
            new = vector
        elif odd == 1:
            total = w
        elif odd == 2:
            y = x
        elif odd == 3:
            new = jnp.ones(SIZE, vector.dtype)
        return (jnp.tanh(new), jnp.tanh(total.sum()), count + 1), (y, count)
    return body


def random_nest(rng: np.random.Generator, forward: bool = False):
    """A body as above that contains loops and branches."""
    inner, outer = random_body(rng, forward), random_body(rng, forward)
    reverse, count = bool(rng.integers(2)), int(rng.integers(1, 4))

    def rows(w, v, s, x, y):
        (v, s, _), (ys, _) = lax.scan(lambda c, row: inner(w, c, row), (v, s, 0),
                                      jnp.stack([v, x * s, w][:count]), reverse=reverse)
        return v, s, y + ys.sum(0)

    def numbers(w, v, s, x, y):
        def step(i, state):
            (v, s, _), (more, _) = inner(w, (state[0], state[1], 0), x * i)
            return v, s, state[2] + more
        return lax.fori_loop(0, count, step, (v, s, y))

    def branch(w, v, s, x, y):
        return lax.cond(s > 0, lambda v: inner(w, (v, s, 0), x)[0][0], lambda v: v * 0.5, v), s, y

    def others(w, v, s, x, y):
        return (lax.map(lambda e: jnp.sin(e) * s, v), s,
                lax.associative_scan(jnp.add, y, reverse=reverse))

    inside = [rows, numbers, branch, others][int(rng.integers(4))]

    def body(w, carry, x):
        (v, s, n), (y, _) = outer(w, carry, x)
        v, s, y = inside(w, v, s, x, y * 1.0)
        return (jnp.tanh(v), jnp.tanh(s), n), (y, n)
    return body


@tanx.custom_jvp
def _with_jvp(v):
    return jnp.sin(v)


_with_jvp.defjvps(lambda dv, out, v: dv * jnp.cos(v))


@tanx.custom_vjp
def _with_vjp(v):
    return jnp.sin(v)


_with_vjp.defvjp(lambda v: (jnp.sin(v), v), lambda v, ct: (ct * jnp.cos(v),))


def scanned(body, steps: int, reverse: bool, unroll: int):
    """A function of ``(w, vector, scalar, xs)`` that returns the floats of a scan's result."""
    def fun(w, vector, scalar, xs):
        carry, ys = lax.scan(lambda c, x: body(w, c, x), (vector, scalar, 0), xs, steps, reverse,
                             unroll)
        return [carry[0], carry[1], ys[0]]
    return fun


def looped(body, steps: int, reverse: bool, unroll: int):
    """The same function as a Python loop."""
    def fun(w, vector, scalar, xs):
        carry, ys = (vector, scalar, 0), [None] * steps
        for i in reversed(range(steps)) if reverse else range(steps):
            carry, (ys[i], _) = body(w, carry, xs[i])
        return [carry[0], carry[1], jnp.stack(ys)]
    return fun


def arguments(rng: np.random.Generator, steps: int, lead: tuple[int, ...] = ()):
    shapes = (SIZE,), (SIZE,), (), (steps, SIZE)
    return [jnp.asarray(rng.normal(size=lead + shape)) for shape in shapes]


def weighed(fun):
    """A number that depends on all results of ``fun``."""
    return lambda *args: sum((jnp.cos(y + k) * y).sum() for k, y in enumerate(fun(*args)))
