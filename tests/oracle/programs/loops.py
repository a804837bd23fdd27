"""Loops and branches as users write them: recurrences, networks, solvers, simulations."""

import numpy as np


def _data(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def fibonacci(jax, jnp):
    def step(pair, _):
        return (pair[1], pair[0] + pair[1]), pair[0]

    return jax.lax.scan(step, (0, 1), None, length=20), jax.jit(
        lambda: jax.lax.scan(step, (jnp.int8(0), jnp.int8(1)), length=14, unroll=3))()


def recurrent_network(jax, jnp):
    w, u, xs = jnp.array(_data(0, 5, 5)) * 0.5, jnp.array(_data(1, 3, 5)), jnp.array(_data(2, 7, 3))

    def loss(w, u, xs, reverse=False):
        def step(h, x):
            h = jnp.tanh(h @ w + x @ u)
            return h, h.sum()
        last, sums = jax.lax.scan(step, jnp.zeros(5), xs, reverse=reverse)
        return (last ** 2).sum() + sums.mean()

    gradient = jax.grad(loss, argnums=(0, 1, 2))
    batch = jnp.stack([xs, xs * 2])
    return (loss(w, u, xs), gradient(w, u, xs), jax.jit(gradient)(w, u, xs),
            jax.vmap(gradient, (None, None, 0))(w, u, batch),
            jax.grad(lambda w: loss(w, u, xs, reverse=True))(w),
            jax.hessian(lambda h: loss(w, u, xs * h))(1.0),
            jax.jacfwd(loss)(w, u, xs), jax.jacrev(lambda x: loss(w, u, x))(xs))


def long_short_term_memory(jax, jnp):
    p = {k: jnp.array(_data(i, *s)) * 0.3 for i, (k, s) in enumerate(
        {"wx": (3, 16), "wh": (4, 16), "b": (16,)}.items())}

    def loss(p, xs):
        def cell(state, x):
            h, c = state["h"], state["c"]
            i, f, g, o = jnp.split(x @ p["wx"] + h @ p["wh"] + p["b"], 4, axis=-1)
            c = c / (1 + jnp.exp(-f)) + jnp.tanh(g) / (1 + jnp.exp(-i))
            h = jnp.tanh(c) / (1 + jnp.exp(-o))
            return {"h": h, "c": c}, h
        zeros = jnp.zeros((2, 4))
        final, hs = jax.lax.scan(cell, {"h": zeros, "c": zeros}, xs)
        return (hs ** 2).mean() + final["c"].sum()

    xs = jnp.array(_data(9, 6, 2, 3))
    value, gradient = jax.jit(jax.value_and_grad(loss))(p, xs)
    eager = jax.grad(loss)(p, xs)
    return value, gradient, eager, jax.jvp(lambda p: loss(p, xs), (p,), (gradient,))


def lorenz(jax, jnp):
    def orbit(start, sigma):
        def step(s, _):
            x, y, z = s
            d = jnp.stack([sigma * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z])
            s = s + 0.01 * d
            return s, s
        return jax.lax.scan(step, start, None, length=25)[1]

    start = jnp.array([1.0, 1.0, 1.0])
    return (orbit(start, 10.0), jax.jacfwd(lambda s: orbit(s, 10.0)[-1])(start),
            jax.grad(lambda sigma: orbit(start, sigma)[-1, 0])(10.0),
            jax.vmap(orbit, (0, None))(jnp.stack([start, start + 1e-3]), 10.0))


def nested_scans(jax, jnp):
    x = jnp.array(_data(3, 4, 5))

    def total(x, k):
        def row(carry, r):
            inner, ys = jax.lax.scan(lambda c, v: (jnp.sin(c + v * k), c * v), carry, r)
            return inner, ys.sum() * carry
        last, sums = jax.lax.scan(row, k, x)
        return last + sums.sum()

    return (total(x, 0.5), jax.grad(total)(x, 0.5), jax.grad(jax.grad(total, 1), 1)(x, 0.5),
            jax.vmap(jax.grad(total, 1), (None, 0))(x, jnp.array([0.1, 0.2])),
            jax.jit(jax.hessian(total, 1))(x, jnp.float32(0.3)))


def powers_by_fori_loop(jax, jnp):
    def power(x, n):
        return jax.lax.fori_loop(0, n, lambda i, y: y * x, 1.0)

    def table(x):
        def body(i, t):
            return t.at[i].set(t[i - 1] * x)
        return jax.lax.fori_loop(1, 6, body, jnp.zeros(6).at[0].set(1.0))

    return (power(1.5, 5), jax.grad(power)(1.5, 5), jax.vmap(lambda x: power(x, 4))(jnp.arange(3.)),
            jax.jit(power)(1.5, 5), table(2.0), jax.jacrev(table)(1.5), jax.jacfwd(table)(1.5))


def running_products_of_matrices(jax, jnp):
    ms = jnp.array(_data(4, 6, 2, 2))
    combine = jax.vmap(jnp.matmul)
    return (jax.lax.associative_scan(combine, ms), jax.lax.associative_scan(
        combine, ms, reverse=True), jax.grad(
            lambda ms: jax.lax.associative_scan(combine, ms)[-1].sum())(ms),
        jax.lax.associative_scan(jnp.maximum, ms, axis=-1),
        jax.lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (ms, ms)))


def map_in_batches(jax, jnp):
    xs = {"a": jnp.arange(7.0), "b": jnp.array(_data(5, 7, 2))}

    def f(x):
        return {"sum": x["a"] + x["b"], "n": 1}

    return (jax.lax.map(f, xs), jax.lax.map(f, xs, batch_size=3), jax.jit(
        lambda xs: jax.lax.map(f, xs, batch_size=4))(xs), jax.grad(
            lambda xs: (jax.lax.map(f, xs, batch_size=2)["sum"] ** 2).sum())(xs))


def types_of_carries(jax, jnp):
    xs = jnp.arange(3, dtype=jnp.float16)
    return (jax.lax.scan(lambda s, x: (s + x, s), 0, xs), jax.lax.scan(
        lambda s, x: (s * 2, s + x), 1, xs), jax.lax.scan(
            lambda s, x: (1.0, s), jnp.float32(0), xs),
        jax.lax.scan(lambda s, x: (s, None), (xs, None), (xs, None)), jax.lax.scan(
            lambda s, x: (s + x, x > 1), 0.0, xs[:0]), jax.lax.fori_loop(0, 3, lambda i, s: i, 7))


def integers_and_tangents(jax, jnp):
    def f(x, n):
        def step(c, i):
            y, k = c
            return (y * x + k, k + i), (y, k)
        return jax.lax.scan(step, (x, n), jnp.arange(4))

    (carry, _), tangent = jax.jvp(lambda x: f(x, 1), (2.0,), (1.0,))
    value, pull = jax.vjp(lambda x: f(x, 1)[0][0], 2.0)
    return carry, tangent[0][0], tangent[1][0], value, pull(1.0), jax.vmap(f)(
        jnp.arange(3.0), jnp.arange(3))


def rules_inside_loops(jax, jnp):
    @jax.custom_jvp
    def safe_log(x):
        return jnp.log(x)

    safe_log.defjvps(lambda t, out, x: t / jnp.maximum(x, 0.1))

    @jax.custom_vjp
    def clip_gradient(x):
        return x

    clip_gradient.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.5, 0.5),))

    def loss(x):
        body = jax.checkpoint(lambda c, _: (clip_gradient(safe_log(c * c + 1)), jnp.sin(c)))
        last, ys = jax.lax.scan(body, x, None, length=5)
        return last + ys.sum()

    return loss(0.7), jax.grad(loss)(0.7), jax.jit(jax.grad(loss))(0.7), jax.vmap(jax.grad(loss))(
        jnp.array([0.1, 2.0]))


def branches_in_scans(jax, jnp):
    xs = jnp.array(_data(6, 8))

    def f(a, xs):
        def step(c, x):
            c = jax.lax.cond(x > 0, lambda c: c * a + x, lambda c: c - x * a, c)
            return c, jax.lax.switch(jnp.int32(x), [jnp.sin, jnp.cos, lambda v: v * a], c)
        last, ys = jax.lax.scan(step, 0.5, xs)
        return last + ys.sum()

    return (f(0.9, xs), jax.grad(f)(0.9, xs), jax.jit(jax.grad(f, 1))(0.9, xs),
            jax.vmap(jax.grad(f), (0, None))(jnp.array([0.5, 0.9]), xs),
            jax.vmap(f, (None, 0))(0.9, jnp.stack([xs, -xs])),
            jax.grad(jax.grad(f))(0.9, xs))


def policies_around_loops(jax, jnp):
    w, xs = jnp.array(_data(7, 4, 4)) * 0.5, jnp.array(_data(8, 5, 4))
    policies = jax.checkpoint_policies

    def loss(w, xs, policy):
        def run(w, xs):
            return jax.lax.scan(lambda h, x: (jnp.sin(h @ w + x), h.sum()), jnp.ones(4), xs)
        last, sums = jax.checkpoint(run, policy=policy)(w, xs)
        return (last * 2).sum() + (sums ** 2).sum()

    return [jax.grad(loss)(w, xs, policy) for policy in (
        None, policies.everything_saveable, policies.nothing_saveable,
        policies.dots_with_no_batch_dims_saveable)], jax.grad(
        lambda w: jax.grad(loss)(w, xs, policies.dots_saveable).sum())(w)


def linear_transposes_of_loops(jax, jnp):
    w = jnp.array(_data(10, 5))

    def f(x):
        def step(c, wi):
            n, y = c
            return (n + 1, y * wi + x * n), y
        (_, last), ys = jax.lax.scan(step, (0.0, x), w)
        return last, ys

    shape = jax.eval_shape(f, 1.0)
    ones = jax.tree_util.tree_map(lambda s: jnp.ones(s.shape, s.dtype), shape)
    _, derivative = jax.linearize(f, 2.0)
    return jax.linear_transpose(f, 1.0)(ones), derivative(3.0), jax.vmap(derivative)(
        jnp.arange(3.0))
