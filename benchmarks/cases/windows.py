"""Windows that move over arrays: pooling with its gradients, moving sums and maxima."""

import numpy as np

from .case import family, noise

case = family("windows", numpy=False)

LAYOUTS = ["NHWC", "NCHW"]


def spread(layout, size, around=1):
    """Values for the height and width of a layout, and another value for its other dimensions."""
    return tuple(size if letter in "HW" else around for letter in layout)


def images(layout, n, size, channels):
    return noise(*({"N": n, "H": size, "W": size, "C": channels}[letter] for letter in layout))


def pooling(jax, layout, kind, window, stride, padding):
    """The maxima of windows, or their sums."""
    combine, start = {"max": (jax.lax.max, -np.inf), "sum": (jax.lax.add, 0.0)}[kind]
    return lambda x: jax.lax.reduce_window(
        x, np.float32(start), combine, spread(layout, window), spread(layout, stride), padding)


@case("{kind} pool 2 x 2, {layout} {n} x {size}² x {c}",
      kind=["max", "sum"], layout=LAYOUTS, n=16, size=56, c=64)
def tiles(jax, jnp, kind, layout, n, size, c):
    return pooling(jax, layout, kind, 2, 2, "VALID"), (images(layout, n, size, c),)


@case("{kind} pool 3 x 3 stride 2, {layout} {n} x {size}² x {c}",
      kind=["max", "sum"], layout=LAYOUTS, n=16, size=56, c=64)
def overlapping(jax, jnp, kind, layout, n, size, c):
    return pooling(jax, layout, kind, 3, 2, "SAME"), (images(layout, n, size, c),)


@case("gradient of {kind} pool 2 x 2, {layout} {n} x {size}² x {c}",
      kind=["max", "sum"], layout=LAYOUTS, n=16, size=56, c=64)
def tiles_gradient(jax, jnp, kind, layout, n, size, c):
    pool = pooling(jax, layout, kind, 2, 2, "VALID")
    return jax.grad(lambda x: (pool(x) ** 2).sum()), (images(layout, n, size, c),)


@case("gradient of {kind} pool 3 x 3 stride 2, {layout} {n} x {size}² x {c}",
      kind=["max", "sum"], layout=LAYOUTS, n=16, size=56, c=64)
def overlapping_gradient(jax, jnp, kind, layout, n, size, c):
    pool = pooling(jax, layout, kind, 3, 2, "SAME")
    return jax.grad(lambda x: (pool(x) ** 2).sum()), (images(layout, n, size, c),)


@case("moving {kind} of {window}, {n} x {m}", kind=["max", "sum"], window=[5, 100], n=64, m=16384)
def moving(jax, jnp, kind, window, n, m):
    combine, start = {"max": (jax.lax.max, -np.inf), "sum": (jax.lax.add, 0.0)}[kind]
    return lambda x: jax.lax.reduce_window(
        x, np.float32(start), combine, (1, window), (1, 1), "SAME"), (noise(n, m),)


@case("mean of 7 x 7 neighbours, {n} x {n}", n=1024)
def box(jax, jnp, n):
    return lambda x: jax.lax.reduce_window(x, np.float32(0), jax.lax.add, (7, 7), (1, 1),
                                           "SAME") / 49, (noise(n, n),)


@case("products of windows of {window}, {n}", window=4, n=1_000_000)
def products(jax, jnp, window, n):
    return lambda x: jax.lax.reduce_window(x, np.float32(1), jax.lax.mul, (window,), (1,),
                                           "VALID"), (noise(n),)
