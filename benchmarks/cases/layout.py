"""Elements that only move: transposes, joins and padding."""

from .case import family, noise

transposes = family("transposes", memory=True)
joins = family("concatenate and pad", memory=True)


@transposes("transpose, {n} x {m} {dtype}", n=[64, 4096], m=[64, 4096], dtype="float32")
@transposes("transpose, {n} x {m} {dtype}", n=4096, m=4096, dtype=["bfloat16", "float64"])
@transposes("transpose, {n} x {m} {dtype}", n=1_000_000, m=16, dtype="float32")
def transpose(jax, jnp, n, m, dtype):
    # NumPy would only make a view; the other systems make a copy.
    return (lambda x: x.T) if jax else (lambda x: x.T.copy()), (noise(n, m, dtype=dtype),)


@transposes("permute {order} of {shape}", order=["102", "021", "210"],
            shape=(256, 256, 256))
@transposes("permute {order} of {shape}", order="0213", shape=(16, 512, 16, 64))
@transposes("permute {order} of {shape}", order="0312", shape=(32, 128, 128, 32))
def permute(jax, jnp, order, shape):
    def run(x):
        y = jnp.transpose(x, tuple(map(int, order)))
        return y if jax else y.copy()
    return run, (noise(*shape),)


@transposes("x + x.T, {n} x {n}", n=4096)
def symmetric(jax, jnp, n):
    return lambda x: x + x.T, (noise(n, n),)


@transposes("flip of rows and columns, {n} x {n}", n=4096)
def flip(jax, jnp, n):
    return (lambda x: x[::-1, ::-1]) if jax else (lambda x: x[::-1, ::-1].copy()), (noise(n, n),)


@joins("concatenate along axis {axis}, 4 of {n} x {m}", axis=[0, 1], n=2048, m=2048)
@joins("concatenate along axis {axis}, 4 of {n} x {m}", axis=1, n=1_000_000, m=4)
def concatenate(jax, jnp, axis, n, m):
    return (lambda *xs: jnp.concatenate(xs, axis=axis),
            tuple(noise(n, m, seed=i) for i in range(4)))


@joins("concatenate {count} of {n} floats", count=100, n=100)
def many(jax, jnp, count, n):
    return lambda *xs: jnp.concatenate(xs), tuple(noise(n, seed=i) for i in range(count))


@joins("stack along axis {axis}, 4 of {n}", axis=[0, 1], n=4_000_000)
def stack(jax, jnp, axis, n):
    return lambda *xs: jnp.stack(xs, axis=axis), tuple(noise(n, seed=i) for i in range(4))


@joins("pad by 1 on each side, {n} x {n}", n=[256, 4096])
def pad(jax, jnp, n):
    return lambda x: jnp.pad(x, 1), (noise(n, n),)


@joins("pad images by reflection, {n} x {h} x {h}", n=256, h=256)
def reflect(jax, jnp, n, h):
    return lambda x: jnp.pad(x, ((0, 0), (2, 2), (2, 2)), mode="reflect"), (noise(n, h, h),)


@joins("roll by 100, {n} x {n} along axis {axis}", n=4096, axis=[0, 1])
def roll(jax, jnp, n, axis):
    return lambda x: jnp.roll(x, 100, axis=axis), (noise(n, n),)


@joins("tile 4 times, {n}", n=4_000_000)
def tile(jax, jnp, n):
    return lambda x: jnp.tile(x, 4), (noise(n),)


@joins("repeat each 4 times, {n}", n=4_000_000)
def repeat(jax, jnp, n):
    return lambda x: jnp.repeat(x, 4), (noise(n),)


@joins("every second element, {n}", n=16_000_000)
def stride(jax, jnp, n):
    return (lambda x: x[::2]) if jax else (lambda x: x[::2].copy()), (noise(n),)
