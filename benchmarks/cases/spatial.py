"""Neighbours, interpolation, rotations, differential equations and recurrent networks."""

from importlib import import_module

import numpy as np

from .case import family, noise, uniform

neighbours = family("neighbours")
between = family("interpolation", numpy=False)
rotations = family("rotations", numpy=False)
equations = family("differential equations", numpy=False)
recurrent = family("recurrent networks", numpy=False)


def _module(jax, name):
    """A module of tanx or JAX, which load such modules late."""
    return import_module(f"{jax.__name__}.{name}")


# -- neighbours: JAX has no trees, and compares all pairs; NumPy stands for SciPy's cKDTree --------


def _all_pairs(jax, jnp, finish):
    """Apply ``finish`` to the squared distances from points to all others, in blocks of points."""
    def run(points):
        def one(x):
            return finish(((points - x) ** 2).sum(-1))
        return jax.lax.map(one, points, batch_size=64)
    return run


@neighbours("{k} nearest of each of {n} points in space", n=[2000, 20_000], k=8)
def nearest(jax, jnp, n, k):
    if jax is None:
        def run(points):
            return import_module("scipy.spatial").cKDTree(points).query(points, k)[0]
    elif jax.__name__ == "tanx":
        def run(points):
            return _module(jax, "scipy.spatial").KDTree(points).query(points, k)[0]
    else:
        run = _all_pairs(jax, jnp, lambda square: jnp.sqrt(-jax.lax.top_k(-square, k)[0]))
    return run, (noise(n, 3),)


@neighbours("numbers of neighbours of each of {n} points", n=20_000)
def counts(jax, jnp, n):
    if jax is None:
        def run(points):
            tree = import_module("scipy.spatial").cKDTree(points)
            return tree.query_ball_point(points, 0.1, return_length=True)
    elif jax.__name__ == "tanx":
        def run(points):
            tree = _module(jax, "scipy.spatial").KDTree(points)
            return tree.query_ball_point(points, 0.1, return_length=True)
    else:
        run = _all_pairs(jax, jnp, lambda square: (square <= np.float32(0.1) ** 2).sum())
    return run, (noise(n, 3),)


# -- interpolation ---------------------------------------------------------------------------------


def _places(n, size):
    return [np.abs(np.tanh(noise(n, seed=s))) * np.float32(size - 1) for s in (1, 2)]


@between("map_coordinates of order {order}, {n} places", order=[0, 1], n=1_000_000)
def map_coordinates(jax, jnp, order, n):
    sample = _module(jax, "scipy.ndimage").map_coordinates
    return (lambda image, *c: sample(image, list(c), order, mode="nearest"),
            (noise(256, 256), *_places(n, 256)))


@between("gradient of map_coordinates, {n} places", n=100_000)
def map_coordinates_backwards(jax, jnp, n):
    sample = _module(jax, "scipy.ndimage").map_coordinates
    return (jax.grad(lambda image, *c: (sample(image, list(c), 1) ** 2).sum(), (0, 1, 2)),
            (noise(256, 256), *_places(n, 256)))


@between("RegularGridInterpolator, {method}, {n} places", method=["linear", "nearest"],
         n=[1000, 100_000])
def grid(jax, jnp, method, n):
    interpolator = _module(jax, "scipy.interpolate").RegularGridInterpolator
    points = tuple(np.cumsum(uniform(size, seed=size)) for size in (20, 30, 40))

    def run(values, x):
        return interpolator(points, values, method)(x)
    x = np.stack([p[0] + np.abs(np.tanh(noise(n, seed=i))) * (p[-1] - p[0])
                  for i, p in enumerate(points)], -1).astype(np.float32)
    return run, (noise(20, 30, 40), x)


# -- rotations -------------------------------------------------------------------------------------


@rotations("rotate {n} vectors by rotation vectors", n=[1000, 1_000_000])
def rotate(jax, jnp, n):
    rotation = _module(jax, "scipy.spatial.transform").Rotation
    return lambda v, x: rotation.from_rotvec(v).apply(x), (noise(n, 3), noise(n, 3, seed=1))


@rotations("product of {n} rotations, as matrices", n=100_000)
def product(jax, jnp, n):
    rotation = _module(jax, "scipy.spatial.transform").Rotation

    def run(p, q):
        return (rotation.from_quat(p) * rotation.from_quat(q).inv()).as_matrix()
    return run, (noise(n, 4), noise(n, 4, seed=1))


@rotations("Euler angles of {n} matrices and back", n=100_000)
def euler(jax, jnp, n):
    rotation = _module(jax, "scipy.spatial.transform").Rotation

    def run(q):
        angles = rotation.from_quat(q).as_euler("zyx")
        return rotation.from_euler("zyx", angles).as_matrix()
    return run, (noise(n, 4),)


@rotations("Slerp at {n} times", n=100_000)
def slerp(jax, jnp, n):
    module = _module(jax, "scipy.spatial.transform")
    times = np.cumsum(uniform(100))

    def run(q, t):
        return module.Slerp.init(times, module.Rotation.from_quat(q))(t).as_quat()
    return run, (noise(100, 4), np.sort(np.abs(np.tanh(noise(n)))) * times[-1])


# -- differential equations ------------------------------------------------------------------------


def _pendulum(jnp):
    def slope(y, t, length):
        angle, speed = y[..., 0], y[..., 1]
        return jnp.stack([speed, -9.81 / length * jnp.sin(angle) - 0.1 * speed], -1)
    return slope


def _solve(jax, jnp, steps):
    odeint = _module(jax, "experimental.ode").odeint
    times = np.linspace(0, 5, steps).astype(np.float32)

    def run(y, length):
        return odeint(_pendulum(jnp), y, times, length, rtol=1e-5, atol=1e-5)
    return run


@equations("odeint, a pendulum at {n} times", n=100)
def pendulum(jax, jnp, n):
    return _solve(jax, jnp, n), (np.float32([1, 0]), np.float32(2))


@equations("odeint, {n} pendulums, each with its own steps", n=1000)
def pendulums(jax, jnp, n):
    return jax.vmap(_solve(jax, jnp, 20)), (noise(n, 2), uniform(n))


@equations("gradient of odeint, a pendulum at {n} times", n=20)
def adjoint(jax, jnp, n):
    run = _solve(jax, jnp, n)
    return (jax.grad(lambda y, length: (run(y, length) ** 2).sum(), (0, 1)),
            (np.float32([1, 0]), np.float32(2)))


# -- recurrent networks ----------------------------------------------------------------------------


def _lstm(jax, layers, width, both):
    rnn = _module(jax, "experimental.rnn")

    def run(x, h, c, weights, lengths):
        parts = rnn.unpack_lstm_weights(weights, width, width, layers, both)
        return rnn.lstm_ref(x, h, c, *parts, lengths, width, width, layers, 0.0, both)
    return run, rnn.get_num_params_in_lstm(width, width, layers, both)


def _sequences(batch, time, width, states, size):
    h = noise(states, batch, width, seed=1)
    lengths = np.minimum(np.arange(batch, dtype=np.int32) * 3 + time // 2, time)
    return (noise(batch, time, width), h, h * np.float32(0.5),
            noise(size, seed=2) / np.float32(width ** 0.5), lengths)


@recurrent("LSTM of width {width}, batch {batch} x {time}", width=[64, 256], batch=16, time=64)
def lstm(jax, jnp, width, batch, time):
    run, size = _lstm(jax, 1, width, False)
    return run, _sequences(batch, time, width, 1, size)


@recurrent("LSTM of {layers} layers in both directions, width {width}, batch {batch} x {time}",
           layers=2, width=64, batch=16, time=64)
def lstm_both(jax, jnp, layers, width, batch, time):
    run, size = _lstm(jax, layers, width, True)
    return run, _sequences(batch, time, width, 2 * layers, size)


@recurrent("gradient of an LSTM of width {width}, batch {batch} x {time}", width=64, batch=16,
           time=64)
def lstm_backwards(jax, jnp, width, batch, time):
    run, size = _lstm(jax, 1, width, False)

    def loss(x, h, c, weights, lengths):
        return sum((out ** 2).sum() for out in run(x, h, c, weights, lengths))
    return jax.grad(loss, (0, 1, 2, 3)), _sequences(batch, time, width, 1, size)
