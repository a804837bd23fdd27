"""Derivatives, solvers, transformations and their compositions."""

import functools

import numpy as np


def _data(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def higher_derivatives(jax, jnp):
    f = lambda x: x ** 3 + 2 * x ** 2 - 3 * x + 1
    d1 = jax.grad(f)
    d2 = jax.grad(d1)
    d3 = jax.grad(d2)
    d4 = jax.grad(d3)
    return [d(1.0) for d in (f, d1, d2, d3, d4)]


def derivative_of_tanh_chain(jax, jnp):
    f = jnp.tanh
    results = []
    for _ in range(4):
        results.append(f(0.7))
        f = jax.grad(f)
    return results


def hessian_of_rosenbrock(jax, jnp):
    f = lambda x: jnp.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0)
    x = jnp.array([1.3, 0.7, 0.8, 1.9])
    return f(x), jax.grad(f)(x), jax.hessian(f)(x), jax.jit(jax.hessian(f))(x)


def hessian_vector_product(jax, jnp):
    f = lambda x: jnp.sum(jnp.sin(x) * x ** 2)
    x, v = jnp.array(_data(0, 4)), jnp.array(_data(1, 4))
    forward_over_reverse = jax.jvp(jax.grad(f), (x,), (v,))[1]
    reverse_over_reverse = jax.grad(lambda x: jnp.vdot(jax.grad(f)(x), v))(x)
    return forward_over_reverse, reverse_over_reverse


def jacobians_both_ways(jax, jnp):
    f = lambda x: jnp.stack([x[0] * x[1], jnp.sin(x[2]), x.sum() ** 2])
    x = jnp.array([1.0, 2.0, 3.0])
    return jax.jacfwd(f)(x), jax.jacrev(f)(x), jax.jit(jax.jacfwd(f))(x)


def jacobian_of_pytree(jax, jnp):
    f = lambda p: {"u": p["w"] @ p["x"], "v": jnp.sum(p["x"])}
    params = {"w": jnp.array(_data(0, 2, 3)), "x": jnp.array(_data(1, 3))}
    return jax.jacfwd(f)(params), jax.jacrev(f)(params)


def newtons_method_for_roots(jax, jnp):
    f = lambda x: x ** 3 - 2 * x - 5
    x = 2.0
    for _ in range(6):
        x = x - f(x) / jax.grad(f)(x)
    return x, f(x)


def newton_under_jit(jax, jnp):
    @jax.jit
    def solve(a):
        x = a
        for _ in range(8):
            x = 0.5 * (x + a / x)
        return x

    many = jax.vmap(solve)(jnp.arange(1, 5.0))
    return solve(2.0), solve(jnp.float32(9)), jax.grad(solve)(4.0), many


def gauss_newton(jax, jnp):
    t = jnp.linspace(0, 1, 8)
    y = 2.5 * jnp.exp(-1.3 * t)
    residual = lambda p: p[0] * jnp.exp(p[1] * t) - y
    p = jnp.array([2.0, -1.0])
    for _ in range(3):
        r, J = residual(p), jax.jacfwd(residual)(p)
        a = J.T @ J
        g = J.T @ r
        det = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
        inverse = jnp.array([[a[1, 1], -a[0, 1]], [-a[1, 0], a[0, 0]]]) / det
        p = p - inverse @ g
    return p


def custom_jvp_log1pexp(jax, jnp):
    @jax.custom_jvp
    def log1pexp(x):
        return jnp.log(1. + jnp.exp(x))

    @log1pexp.defjvp
    def log1pexp_jvp(primals, tangents):
        x, = primals
        t, = tangents
        return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * t

    grad = jax.grad(log1pexp)
    return (log1pexp(3.), grad(3.), grad(100.), jax.vmap(jax.jit(grad))(jnp.arange(4.)),
            jax.grad(grad)(1.0))


def custom_jvp_with_nondiff_arguments(jax, jnp):
    @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
    def app(f, x):
        return f(x)

    @app.defjvp
    def app_jvp(f, primals, tangents):
        return f(primals[0]), 2.0 * tangents[0]

    return app(lambda x: x ** 3, jnp.float32(3)), jax.grad(app, 1)(lambda x: x ** 3, 3.0)


def custom_jvp_defjvps(jax, jnp):
    @jax.custom_jvp
    def f(x, y):
        return jnp.sin(x) * y

    f.defjvps(lambda xd, ans, x, y: jnp.cos(x) * xd * y, None)
    return jax.grad(f, (0, 1))(2.0, 3.0), jax.jvp(f, (2.0, 3.0), (1.0, 1.0))


def custom_vjp_clip_gradient(jax, jnp):
    @functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
    def clip_gradient(low, high, x):
        return x

    def forward(low, high, x):
        return x, None

    def backward(low, high, _, g):
        return (jnp.clip(g, low, high),)

    clip_gradient.defvjp(forward, backward)
    f = lambda x: jnp.sin(clip_gradient(-0.75, 0.75, x))
    t = jnp.linspace(0, 5, 7)
    return jax.vmap(jax.grad(jnp.sin))(t), jax.vmap(jax.grad(f))(t), jax.jit(jax.vmap(f))(t)


def custom_vjp_with_pytree(jax, jnp):
    @jax.custom_vjp
    def scale(p):
        return {"y": p["a"] * p["b"]}

    scale.defvjp(lambda p: (scale(p), p),
                 lambda p, g: ({"a": g["y"] * p["b"] * 10, "b": g["y"] * p["a"]},))
    return jax.grad(lambda p: scale(p)["y"])({"a": 2.0, "b": 3.0})


def straight_through_estimator(jax, jnp):
    quantize = lambda x: x + jax.lax.stop_gradient(jnp.round(x) - x)
    x = jnp.array([0.2, 0.7, -1.4])
    return quantize(x), jax.grad(lambda x: jnp.sum(quantize(x) ** 2))(x)


def implicit_fixed_point_gradient(jax, jnp):
    f = lambda a, x: jnp.cos(a * x)

    @jax.custom_vjp
    def fixed_point(a):
        x = jnp.float32(0.5)
        for _ in range(60):
            x = f(a, x)
        return x

    def forward(a):
        x = fixed_point(a)
        return x, (a, x)

    def backward(saved, g):
        a, x = saved
        dfdx = jax.grad(f, 1)(a, x)
        return (g * jax.grad(f, 0)(a, x) / (1 - dfdx),)

    fixed_point.defvjp(forward, backward)
    return jax.value_and_grad(fixed_point)(0.8)


def safe_where_gradient(jax, jnp):
    f = lambda x: jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1.0)), 0.0)
    unsafe = lambda x: jnp.where(x > 0, jnp.log(x), 0.0)
    return jax.vmap(jax.grad(f))(jnp.array([-1.0, 0.0, 2.0])), jax.grad(unsafe)(0.0)


def gradient_of_extrema_with_ties(jax, jnp):
    x = jnp.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    functions = [
        lambda x: x.max(), lambda x: x.min(1).sum(), lambda x: jnp.maximum(x, 2.0).sum(),
        lambda x: jnp.abs(x - 2).sum(), lambda x: jnp.sort(x, axis=1)[:, 0].sum(),
        lambda x: jnp.clip(x, 2, 3).sum()]
    return [jax.grad(f)(x) for f in functions]


def complex_derivatives(jax, jnp):
    f = lambda z: z ** 2 * jnp.exp(z)
    z = jnp.complex64(0.3 + 0.4j)
    real = lambda z: jnp.abs(f(z)) ** 2
    return (jax.grad(f, holomorphic=True)(z), jax.grad(real)(z), jax.jvp(f, (z,), (1j + z * 0,)),
            jax.jacfwd(lambda x: jnp.exp(1j * x))(0.5))


def linearize_and_transpose(jax, jnp):
    f = lambda x: jnp.sin(x) * jnp.sum(x)
    x = jnp.array(_data(0, 3))
    y, f_lin = jax.linearize(f, x)
    _, pullback = jax.vjp(f, x)
    basis = jnp.eye(3)
    J = jnp.stack([f_lin(row) for row in basis], 1)
    Jt = jnp.stack([pullback(row)[0] for row in basis])
    transpose = jax.linear_transpose(f_lin, x)(y)
    return y, J, Jt, transpose


def vjp_with_auxiliary(jax, jnp):
    f = lambda x: (jnp.sum(x ** 2), {"doubled": x * 2})
    value, pullback, aux = jax.vjp(f, jnp.arange(3.0), has_aux=True)
    return value, pullback(1.0), aux, jax.grad(f, has_aux=True)(jnp.arange(3.0))


def kernel_matrices_by_nested_vmap(jax, jnp):
    rbf = lambda x, y, ell: jnp.exp(-0.5 * jnp.sum((x - y) ** 2) / ell ** 2)
    gram = jax.vmap(jax.vmap(rbf, (None, 0, None)), (0, None, None))
    x, y = jnp.array(_data(0, 4, 2)), jnp.array(_data(1, 3, 2))
    d = jax.vmap(jax.vmap(jax.grad(rbf), (None, 0, None)), (0, None, None))
    return gram(x, y, 1.5), jax.jit(gram)(x, x, 1), d(x, y, 1.0)


def pairwise_distances(jax, jnp):
    x = jnp.array(_data(0, 5, 3))
    broadcast = jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))
    mapped = jax.vmap(lambda a: jax.vmap(lambda b: jnp.sqrt(jnp.sum((a - b) ** 2)))(x))(x)
    return broadcast, mapped, jnp.argsort(broadcast, axis=1)[:, 1]


def vmap_of_everything(jax, jnp):
    x = jnp.array(_data(0, 3, 4))
    out = jax.vmap(lambda row, k: {"s": row.sum() * k, "r": row[::-1], "c": 1.0},
                   in_axes=(1, None), out_axes={"s": 0, "r": 1, "c": None})(x, 2)
    return out, jax.vmap(jnp.convolve if False else jnp.dot, (0, 0))(x, x)


def power_iteration(jax, jnp):
    a = jnp.array(_data(0, 4, 4))
    a = a + a.T

    @jax.jit
    def step(v):
        w = a @ v
        return w / jnp.sqrt(jnp.sum(w ** 2))

    v = jnp.ones(4)
    for _ in range(50):
        v = step(v)
    return v @ a @ v


def conjugate_gradient(jax, jnp):
    a = jnp.array(_data(0, 4, 4))
    a = a @ a.T + 4 * jnp.eye(4)
    b = jnp.array(_data(1, 4))
    x = jnp.zeros(4)
    r = b - a @ x
    p = r
    for _ in range(4):
        alpha = (r @ r) / (p @ a @ p)
        x = x + alpha * p
        new = r - alpha * (a @ p)
        p = new + (new @ new) / (r @ r) * p
        r = new
    return x


def euler_integration(jax, jnp):
    @jax.jit
    def run(y, params):
        for _ in range(20):
            x, v = y
            y = jnp.stack([x + 0.05 * v, v - 0.05 * params["k"] * x - 0.05 * params["c"] * v])
        return y

    params = {"k": 2.0, "c": 0.3}
    y = jnp.array([1.0, 0.0])
    return run(y, params), jax.jacrev(run, 1)(y, params), jax.jacfwd(run)(y, params)


def runge_kutta_with_pendulum(jax, jnp):
    f = lambda y: jnp.array([y[1], -jnp.sin(y[0])])

    def step(y, h):
        k1 = f(y)
        k2 = f(y + h / 2 * k1)
        k3 = f(y + h / 2 * k2)
        k4 = f(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    y = jnp.array([1.0, 0.0])
    for _ in range(5):
        y = jax.jit(step)(y, 0.1)
    return y, jax.jacfwd(step)(y, 0.1), jax.vmap(step, (None, 0))(y, jnp.array([0.1, 0.2]))


def laplacian_by_forward_over_reverse(jax, jnp):
    f = lambda x: jnp.exp(-jnp.sum(x ** 2))
    x = jnp.array(_data(0, 3))
    second = lambda v: jax.jvp(lambda p: jax.jvp(f, (p,), (v,))[1], (x,), (v,))[1]
    return jax.vmap(second)(jnp.eye(3)), jnp.trace(jax.hessian(f)(x))


def gradient_through_sort_and_gather(jax, jnp):
    x = jnp.array(_data(0, 6))
    trimmed = lambda x: jnp.sort(x)[1:-1].mean()
    picked = lambda x: x[jnp.argsort(x)[2]] ** 2
    return jax.grad(trimmed)(x), jax.grad(picked)(x), jax.grad(lambda x: jnp.median(x))(x)


def differentiate_with_integers_around(jax, jnp):
    f = lambda x, n, flag: jnp.where(flag, x ** 2, x) * n
    return (jax.grad(f)(2.0, 3, True), jax.grad(f, allow_int=True, argnums=(0, 1))(2.0, 3, True),
            jax.jvp(lambda x: f(x, 2, False), (1.5,), (1.0,)))
