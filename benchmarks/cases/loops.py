"""Loops and branches of a few numbers, alone and in many lanes."""

import numpy as np

from .case import family, integers, noise

loops = family("loops of numbers", numpy=False)


def _share(n, seed=0):
    """Numbers from 0 to 1."""
    return np.random.default_rng(seed).random(n, np.float32)


# -- lanes that go their own ways ------------------------------------------------------------------


@loops("Mandelbrot, {n} x {n}, at most {steps} steps", n=512, steps=100, chaotic=1e-3)
def mandelbrot(jax, jnp, n, steps):
    def escape(re, im):
        def step(state):
            x, y, k = state
            return x * x - y * y + re, 2 * x * y + im, k + 1
        return jax.lax.while_loop(lambda s: (s[0] ** 2 + s[1] ** 2 < 4.0) & (s[2] < steps), step,
                                  (0.0, 0.0, 0))[2]
    re, im = np.meshgrid(np.linspace(-2, 0.6, n), np.linspace(-1.3, 1.3, n))
    return jax.vmap(jax.vmap(escape)), (re.astype(np.float32), im.astype(np.float32))


@loops("a dear branch taken by 1 % of {n} lanes", n=100_000)
def rare(jax, jnp, n):
    def dear(x):
        return jax.lax.fori_loop(0, 100, lambda _, y: jnp.sin(y) + x * jnp.exp(-y * y), x)
    def pick(x):
        return jax.lax.cond(x > 0.99, dear, lambda x: 2 * x, x)
    return jax.vmap(pick), (_share(n),)


@loops("Collatz, numbers up to {n}", n=100_000)
def collatz(jax, jnp, n):
    def length(k):
        def step(state):
            k, steps = state
            return jnp.where(k % 2 == 0, k // 2, 3 * k + 1), steps + 1
        return jax.lax.while_loop(lambda s: s[0] > 1, step, (k, 0))[1]
    return jax.vmap(length), (integers(n, n) + np.int32(1),)


@loops("Kepler's equation by Newton, {n} orbits", n=100_000)
def kepler(jax, jnp, n):
    def solve(mean, bend):
        def step(state):
            angle, _ = state
            change = (angle - bend * jnp.sin(angle) - mean) / (1 - bend * jnp.cos(angle))
            return angle - change, change
        return jax.lax.while_loop(lambda s: jnp.abs(s[1]) > 1e-5, step, (mean, 1.0))[0]
    return jax.vmap(solve), (3 * _share(n), 0.9 * _share(n, seed=1))


# -- recurrences -----------------------------------------------------------------------------------


@loops("logistic map, {steps} steps", steps=10_000)
def logistic(jax, jnp, steps):
    def run(x):
        return jax.lax.scan(lambda x, _: (3.7 * x * (1 - x), None), x, None, length=steps)[0]
    return run, (np.float32(0.3),)


@loops("logistic map of {n} numbers, {steps} steps", n=[1000, 100_000], steps=200)
def logistic_maps(jax, jnp, n, steps):
    def run(x):
        return jax.lax.fori_loop(0, steps, lambda _, x: 3.7 * x * (1 - x), x)
    return run, (_share(n),)


@loops("moving average of {n} numbers", n=100_000)
def average(jax, jnp, n):
    def run(xs):
        def step(mean, x):
            mean = 0.9 * mean + 0.1 * x
            return mean, mean
        return jax.lax.scan(step, 0.0, xs)[1]
    return run, (noise(n),)


@loops("moving averages of {rows} rows of {n}", rows=64, n=10_000)
def averages(jax, jnp, rows, n):
    run, _ = average(jax, jnp, n)
    return jax.vmap(run), (noise(rows, n),)


@loops("Fibonacci numbers modulo 2**32, {steps} steps", steps=10_000)
def fibonacci(jax, jnp, steps):
    def run(a, b):
        return jax.lax.fori_loop(0, steps, lambda _, s: (s[1], s[0] + s[1]), (a, b))[0]
    return run, (np.uint32(0), np.uint32(1))


# -- small systems ---------------------------------------------------------------------------------


def _flow(jnp):
    def flow(state):
        x, y, z = state
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])
    return flow


@loops("Lorenz, Euler, path of {steps} steps", steps=10_000)
def lorenz(jax, jnp, steps):
    flow = _flow(jnp)

    def run(state):
        def step(state, _):
            state = state + 0.0001 * flow(state)
            return state, state
        return jax.lax.scan(step, state, None, length=steps)
    return run, (np.array([1, 1, 1], np.float32),)


@loops("Lorenz, Runge-Kutta, {steps} steps", steps=2000)
def lorenz_end(jax, jnp, steps):
    flow = _flow(jnp)

    def run(state):
        def step(_, state):
            a = flow(state)
            b = flow(state + 0.0005 * a)
            c = flow(state + 0.0005 * b)
            d = flow(state + 0.001 * c)
            return state + 0.001 / 6 * (a + 2 * b + 2 * c + d)
        return jax.lax.fori_loop(0, steps, step, state)
    return run, (np.array([1, 1, 1], np.float32),)


@loops("Lorenz, Runge-Kutta, {n} starts, {steps} steps", n=1000, steps=100)
def lorenz_ends(jax, jnp, n, steps):
    run, _ = lorenz_end(jax, jnp, steps)
    return jax.vmap(run), (noise(n, 3),)


@loops("pendulum until it is at rest, {n} of them", n=1000)
def pendulum(jax, jnp, n):
    def run(angle):
        def step(state):
            angle, speed, time = state
            speed = speed + 0.02 * (-jnp.sin(angle) - 0.5 * speed)
            return angle + 0.02 * speed, speed, time + 0.02
        return jax.lax.while_loop(lambda s: s[0] ** 2 + s[1] ** 2 > 1e-2, step,
                                  (angle, 0.0, 0.0))[2]
    return jax.vmap(run), (3 * _share(n),)


# -- samplers --------------------------------------------------------------------------------------


@loops("Hamiltonian sampler, logistic regression of {rows} x {features}, {draws} draws",
       rows=1000, features=[20, 50], draws=20)
def sampler(jax, jnp, rows, features, draws):
    """Twenty leapfrog steps per draw; momenta are arguments, so that systems take equal steps."""
    x, y = noise(rows, features), (_share(rows) < 0.5).astype(np.float32)
    momenta, chances = noise(draws, features), _share(draws, seed=1)

    def run(x, y, momenta, chances):
        def density(w):
            z = x @ w
            return jnp.sum(y * z - jnp.logaddexp(0.0, z)) - 0.5 * jnp.sum(w * w)

        def leapfrog(state, _):
            w, p = state
            p = p + 0.005 * jax.grad(density)(w)
            w = w + 0.01 * p
            return (w, p + 0.005 * jax.grad(density)(w)), None

        def draw(w, given):
            p, chance = given
            (new, q), _ = jax.lax.scan(leapfrog, (w, p), None, length=20)
            gain = density(new) - density(w) + 0.5 * (jnp.sum(p * p) - jnp.sum(q * q))
            w = jnp.where(jnp.log(chance) < gain, new, w)
            return w, w
        return jax.lax.scan(draw, jnp.zeros(features), (momenta, chances))[1]
    return run, (x, y, momenta, chances)
