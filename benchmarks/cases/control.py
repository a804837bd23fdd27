"""Loops over arrays: networks and simulations step by step, and their gradients."""

import numpy as np

from .case import family, integers, noise

loops = family("loops over arrays", numpy=False)


def _weights(*shape, seed):
    return noise(*shape, seed=seed) / np.float32(shape[0] ** 0.5)


# -- recurrent networks ----------------------------------------------------------------------------


@loops("RNN {width} wide, batch {batch}, {steps} steps", steps=200, width=[16, 128], batch=[1, 32])
def rnn(jax, jnp, steps, width, batch):
    def run(u, w, h, xs):
        def step(h, x):
            h = jnp.tanh(x @ u + h @ w)
            return h, h
        return jax.lax.scan(step, h, xs)
    return run, (_weights(width, width, seed=1), _weights(width, width, seed=2),
                 noise(batch, width, seed=3), noise(steps, batch, width))


@loops("gradient of an LSTM {width} wide, batch {batch}, {steps} steps", steps=100, width=[32, 128],
       batch=16)
def lstm(jax, jnp, steps, width, batch):
    def loss(w, state, xs):
        def step(state, x):
            h, c = state
            gates = jnp.concatenate([x, h], axis=1) @ w
            i, f, o, g = (gates[:, n * width:(n + 1) * width] for n in range(4))
            sigmoid = lambda y: 1 / (1 + jnp.exp(-y))
            c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
            h = sigmoid(o) * jnp.tanh(c)
            return (h, c), (h ** 2).sum()
        return jax.lax.scan(step, state, xs)[1].sum()
    state = (np.zeros((batch, width), np.float32),) * 2
    return jax.grad(loss), (_weights(2 * width, 4 * width, seed=1), state,
                            noise(steps, batch, width))


# -- simulations -----------------------------------------------------------------------------------


@loops("n-body, {bodies} bodies, {steps} steps", bodies=[16, 256], steps=100)
def n_body(jax, jnp, bodies, steps):
    def run(place, speed, mass):
        def step(_, state):
            place, speed = state
            apart = place[None] - place[:, None]
            near = ((apart ** 2).sum(-1) + 0.01) ** -1.5
            speed = speed + 0.001 * (apart * (near * mass)[..., None]).sum(1)
            return place + 0.001 * speed, speed
        return jax.lax.fori_loop(0, steps, step, (place, speed))
    return run, (noise(bodies, 3), noise(bodies, 3, seed=1), np.abs(noise(bodies, seed=2)))


@loops("gradient of n-body, {bodies} bodies, {steps} steps", bodies=[20], steps=50)
def n_body_gradient(jax, jnp, bodies, steps):
    def loss(speed, place):
        def step(state, _):
            place, speed = state
            apart = place[None] - place[:, None]
            square = (apart ** 2).sum(-1, keepdims=True) + 0.1
            speed = speed + 0.01 * (apart / square ** 1.5).sum(1)
            return (place + 0.01 * speed, speed), None
        (place, _), _ = jax.lax.scan(step, (place, speed), None, length=steps)
        return (place ** 2).sum()
    return jax.grad(loss), (noise(bodies, 3), noise(bodies, 3, seed=1))


@loops("game of life, {n} x {n}, {steps} steps", n=[64, 512], steps=100)
def life(jax, jnp, n, steps):
    def run(board):
        def step(_, board):
            rows = jnp.roll(board, 1, 0) + board + jnp.roll(board, -1, 0)
            around = jnp.roll(rows, 1, 1) + rows + jnp.roll(rows, -1, 1) - board
            return ((around == 3) | ((around == 2) & (board == 1))).astype(jnp.int32)
        return jax.lax.fori_loop(0, steps, step, board)
    return run, (integers(2, n, n),)


@loops("gradient of the heat equation, {n} points, {steps} steps", n=[100, 10_000], steps=500)
def heat(jax, jnp, n, steps):
    def loss(warm, aim):
        def step(warm, _):
            inner = warm[1:-1] + 0.2 * (warm[2:] - 2 * warm[1:-1] + warm[:-2])
            return jnp.concatenate([warm[:1], inner, warm[-1:]]), None
        warm, _ = jax.lax.scan(step, warm, None, length=steps)
        return ((warm - aim) ** 2).sum()
    return jax.grad(loss), (noise(n), noise(n, seed=1))


@loops("Hamiltonian Monte Carlo, {n} dimensions, {samples} samples of {leaps} leaps", n=[10, 100],
       samples=100, leaps=10)
def hamiltonian(jax, jnp, n, samples, leaps):
    def run(place, precision, pushes, levels):
        energy = lambda x: 0.5 * x @ precision @ x
        force = jax.grad(energy)

        def sample(place, drawn):
            push, level = drawn

            def leap(_, state):
                x, p = state
                p = p - 0.05 * force(x)
                x = x + 0.1 * p
                return x, p - 0.05 * force(x)
            x, p = jax.lax.fori_loop(0, leaps, leap, (place, push))
            rise = energy(x) + 0.5 * (p @ p) - energy(place) - 0.5 * (push @ push)
            place = jnp.where(jnp.log(level) < -rise, x, place)
            return place, place
        return jax.lax.scan(sample, place, (pushes, levels))
    near = noise(n, n, seed=5) / np.float32(n)
    return run, (noise(n), near @ near.T + np.eye(n, dtype=np.float32), noise(samples, n, seed=1),
                 np.abs(np.tanh(noise(samples, seed=2))))


@loops("ODE of {n} dimensions, steps as long as may be", n=[4, 1000])
def adaptive_ode(jax, jnp, n):
    def run(y, a):
        slope = lambda y: jnp.tanh(a * jnp.roll(y, 1)) - 0.1 * y

        def step(state):
            t, h, y = state
            k1 = slope(y)
            k2 = slope(y + 0.5 * h * k1)
            k3 = slope(y + 0.75 * h * k2)
            new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
            k4 = slope(new)
            error = jnp.abs(h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)).max()
            fine = error < 1e-5
            longer = jnp.clip(0.9 * (1e-5 / (error + 1e-12)) ** (1 / 3), 0.2, 2.0)
            return jnp.where(fine, t + h, t), h * longer, jnp.where(fine, new, y)
        return jax.lax.while_loop(lambda s: s[0] < 20.0, step, (0.0, 0.01, y))[2]
    return run, (noise(n), noise(n, seed=1))


@loops("replay buffer of {rows} rows, {steps} steps", rows=100_000, steps=100_000)
def replay(jax, jnp, rows, steps):
    def run(buffer, xs):
        def step(state, x):
            buffer, total = state
            i = (x * 7919) % rows
            buffer = buffer.at[i].set(buffer[(i + 1) % rows] * 0.5 + x.astype(jnp.float32))
            return (buffer, total + buffer[(i * 31) % rows].sum()), None
        return jax.lax.scan(step, (buffer, 0.0), xs)[0]
    return run, (noise(rows, 8), integers(rows, steps))
