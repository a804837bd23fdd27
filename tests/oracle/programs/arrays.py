"""Array programming: indexing, scatter, sorting, hand-written scans, dtypes."""

import numpy as np


def _data(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def convolution_by_dynamic_slice(jax, jnp):
    x, w = jnp.array(_data(0, 8)), jnp.array(_data(1, 3))

    def convolve(x, w):
        windows = [jax.lax.dynamic_slice(x, (i,), (3,)) for i in range(6)]
        return jnp.stack([jnp.dot(v, w) for v in windows])

    batch = jnp.stack([x, x * 2])
    return convolve(x, w), jax.vmap(convolve, (0, None))(batch, w), jax.grad(
        lambda w: convolve(x, w).sum())(w)


def manual_vectorization_of_convolution(jax, jnp):
    x, w = jnp.arange(5.), jnp.array([2., 3., 4.])

    def convolve(x, w):
        return jnp.array([jnp.dot(x[i - 1:i + 2], w) for i in range(1, len(x) - 1)])

    xs = jnp.stack([x, x])
    return convolve(x, w), jax.vmap(convolve)(xs, jnp.stack([w, w])), jax.jit(
        jax.vmap(convolve, in_axes=(1, None), out_axes=1))(xs.T, w)


def windows_by_gather(jax, jnp):
    x = jnp.arange(10.0)
    index = jnp.arange(8)[:, None] + jnp.arange(3)[None]
    return x[index], jax.jit(lambda x: x[index].mean(1))(x), jax.grad(
        lambda x: (x[index] ** 2).sum())(x)


def scatter_histogram(jax, jnp):
    data = jnp.array([0, 2, 2, 1, 5, 2, 9, -1])
    weights = jnp.linspace(0, 1, 8)
    counts = jnp.zeros(6, jnp.int32).at[data].add(1)
    weighted = jax.jit(lambda d, w: jnp.zeros(6).at[d].add(w))(data, weights)
    dropped = jnp.zeros(6).at[data].add(weights, mode="drop")
    clipped = jnp.zeros(6).at[data].max(weights, mode="clip")
    return counts, weighted, dropped, clipped


def out_of_bounds_indexing(jax, jnp):
    x = jnp.arange(5.0)
    filled = x.at[jnp.array([7])].get(mode="fill", fill_value=jnp.nan)
    return (x[10], x[jnp.array([0, 7, -1, -9])], x.at[jnp.array([1, 8])].set(9.0), filled,
            jnp.take(x, jnp.array([2, 9])))


def in_place_style_updates(jax, jnp):
    x = jnp.zeros((3, 4))
    x = x.at[1, :].set(1.0)
    x = x.at[::2, 3:].add(7.0)
    x = x.at[:, 0].multiply(3).at[0, 1].min(-2).at[2].power(2)
    return x, x.at[jnp.array([0, 0, 1])].add(1), x.at[jnp.array([0, 0, 1])].set(5)


def triangular_tricks(jax, jnp):
    x = jnp.arange(16.0).reshape(4, 4)
    rows, columns = jnp.triu_indices(4, 1)
    packed = x[rows, columns]
    rebuilt = jnp.zeros((4, 4)).at[rows, columns].set(packed)
    return packed, rebuilt + rebuilt.T, jnp.tril(x) + jnp.triu(x, 1) == x


def cumulative_products_by_hand(jax, jnp):
    x = jnp.array([1.0, -2.0, 3.0, 0.5])
    totals = []
    total = 1.0
    for v in x:
        total = total * v
        totals.append(total)
    return jnp.stack(totals), jnp.cumprod(x), jnp.cumsum(x[::-1])[::-1], jax.grad(
        lambda x: jnp.cumprod(x).sum())(x)


def selection_by_argsort(jax, jnp):
    scores = jnp.array([0.3, 0.9, -1.0, 0.9, 0.1])
    names = jnp.arange(5)
    order = jnp.argsort(-scores)
    values, places = jax.lax.top_k(scores, 3)
    keys, ordered = jax.lax.sort_key_val(scores, names)
    return order, names[order[:2]], values, places, keys, ordered, jnp.argsort(order)


def ranks_and_unique_counts(jax, jnp):
    x = jnp.array([3, 1, 2, 3, 1, 3])
    ordered = jnp.sort(x)
    first = jnp.concatenate([jnp.array([True]), ordered[1:] != ordered[:-1]])
    return ordered, first, first.sum(), jnp.cumsum(first) - 1


def sieve_of_eratosthenes(jax, jnp):
    n = 30
    is_prime = jnp.ones(n, bool).at[:2].set(False)
    for i in range(2, int(n ** 0.5) + 1):
        if is_prime[i]:
            is_prime = is_prime.at[i * i::i].set(False)
    return is_prime.sum(), jnp.where(is_prime, jnp.arange(n), -1)


def game_of_life(jax, jnp):
    board = jnp.zeros((6, 6), jnp.uint8).at[jnp.array([1, 2, 3, 3, 3]),
                                            jnp.array([2, 3, 1, 2, 3])].set(1)

    @jax.jit
    def step(b):
        n = sum(jnp.roll(b, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - b
        return ((n == 3) | ((b == 1) & (n == 2))).astype(b.dtype)

    for _ in range(4):
        board = step(board)
    return board


def heat_equation_stencil(jax, jnp):
    u = jnp.zeros(16).at[8].set(1.0)
    step = jax.jit(lambda u: u + 0.2 * (jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)))
    interior = jax.jit(lambda u: u.at[1:-1].add(0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])))
    a = b = u
    for _ in range(10):
        a, b = step(a), interior(b)
    return a, b


def mandelbrot(jax, jnp):
    re, im = jnp.meshgrid(jnp.linspace(-2, 0.5, 12), jnp.linspace(-1, 1, 8))
    c = re + 1j * im
    z = jnp.zeros_like(c)
    count = jnp.zeros(c.shape, jnp.int32)
    for _ in range(10):
        z = jnp.where(jnp.abs(z) < 2, z * z + c, z)
        count = count + (jnp.abs(z) < 2)
    return count, count.dtype


def image_filters(jax, jnp):
    image = jnp.array(_data(0, 6, 7))
    padded = jnp.pad(image, 1, mode="edge")
    blurred = sum(padded[i:i + 6, j:j + 7] for i in range(3) for j in range(3)) / 9
    gradient = jnp.hypot(jnp.diff(image, axis=0)[:, :-1], jnp.diff(image, axis=1)[:-1])
    return blurred, gradient, jnp.pad(image, ((0, 1), (2, 0)), mode="reflect"), image[::2, ::-3]


def max_pooling_by_reshape(jax, jnp):
    x = jnp.arange(32.0).reshape(1, 4, 4, 2)
    pooled = x.reshape(1, 2, 2, 2, 2, 2).max(axis=(2, 4))
    return pooled, jax.grad(lambda x: x.reshape(1, 2, 2, 2, 2, 2).max(axis=(2, 4)).sum())(x)


def mixed_dtype_promotion(jax, jnp):
    values = [jnp.int8(1), jnp.uint8(2), jnp.int32(3), jnp.float16(4), jnp.bfloat16(5),
              jnp.float32(6), jnp.bool_(True), 7, 8.0, 9j]
    return [[a + b for b in values] for a in values if not isinstance(a, complex)]


def weak_types_across_jit(jax, jnp):
    f = jax.jit(lambda x: x * 2)
    g = jax.jit(lambda x, y: x + y)
    x = jnp.arange(3, dtype=jnp.int8)
    return (f(1), f(1.0), f(x), g(x, 1), g(x, 1.0), g(1, 2), g(1, 2.5), f(jnp.asarray(3)),
            g(x, jnp.asarray(3)), jnp.where(True, 1, 2.0), jax.grad(lambda v: v * 2)(3.0),
            jax.vmap(lambda v: v + 1)(x), jnp.sin(1), jnp.sum(jnp.asarray(2.0)), -jnp.asarray(1),
            jnp.stack([1, 2]), jnp.maximum(1, 2), jnp.asarray(1) + np.float32(1), f(True))


def integer_arithmetic(jax, jnp):
    a = jnp.array([7, -7, 7, -7, 0], jnp.int32)
    b = jnp.array([3, 3, -3, -3, 0], jnp.int32)
    big = jnp.array([2 ** 31 - 1, -2 ** 31], jnp.int32)
    return (a // b, a % b, jnp.fmod(a, b), jax.lax.div(a, b), jax.lax.rem(a, b), divmod(a, b),
            a / b, big + 1, big - 1, big * 2, -big, abs(big), a ** 2, a << 2, a >> 1,
            jnp.uint8(250) + 10)


def floating_point_edges(jax, jnp):
    x = jnp.array([0.0, -0.0, jnp.inf, -jnp.inf, jnp.nan, 1.0])
    functions = [jnp.sign, jnp.sqrt, jnp.sort, jnp.argmax, jnp.argmin, jnp.nanmax, jnp.isfinite,
                 jnp.exp, jnp.log, jnp.round, jnp.floor, jnp.max]
    return ([f(x) for f in functions], 1 / x, x // 1, x % 1, x == x, jnp.maximum(x, 0),
            jnp.minimum(x, 0), x ** 0, x.astype(jnp.int32), jnp.clip(x, 0, 1))


def bit_manipulation(jax, jnp):
    x = jnp.arange(8, dtype=jnp.uint32) * jnp.uint32(2654435761)
    mixed = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    return (mixed, jax.lax.population_count(mixed), jax.lax.clz(mixed), ~mixed, mixed | 1,
            mixed & 0xFF, jax.lax.bitcast_convert_type(jnp.float32(1.5), jnp.uint32))


def broadcasting_rules(jax, jnp):
    a, b = jnp.arange(3.0), jnp.arange(4.0)
    return (a[:, None] + b, a[:, None, None] * b * jnp.ones((2, 1)), jnp.ones((1, 3)) - a,
            jnp.broadcast_arrays(a[:, None], b[None]), jnp.outer(a, b),
            jnp.expand_dims(a, (0, 2)) + b)


def einsum_zoo(jax, jnp):
    a, b, c = jnp.array(_data(0, 3, 4)), jnp.array(_data(1, 4, 5)), jnp.array(_data(2, 3, 3))
    d = jnp.ones(2)
    terms = {"ij,jk->ik": (a, b), "ij->j": (a,), "ii": (c,), "ii->i": (c,), "ij,kj->ik": (a, a),
             "ij,ij->": (a, a), "i...->...": (a,), "ij,jk,kl->il": (c, a, b), "ij,k->ijk": (a, d)}
    return {subscripts: jnp.einsum(subscripts, *operands) for subscripts, operands in terms.items()}


def matrix_polynomial(jax, jnp):
    a = jnp.array(_data(0, 3, 3)) * 0.3
    term, total = jnp.eye(3), jnp.eye(3)
    for k in range(1, 10):
        term = term @ a / k
        total = total + term
    return total, jax.grad(lambda s: jnp.trace(s * a @ a))(1.5)


def string_of_layouts(jax, jnp):
    x = jnp.arange(24).reshape(2, 3, 4)
    return (x.T, x.transpose(1, 0, 2), x.swapaxes(0, 2), jnp.moveaxis(x, 0, -1), x.ravel()[::5],
            x.reshape(4, -1), jnp.flip(x, 1), jnp.rot90(x[0]), jnp.tile(x[0, 0], 2),
            jnp.repeat(x[0, 0], 2), jnp.squeeze(x[:1]), jnp.split(x, 2, axis=2),
            jnp.concatenate([x, x], -1).shape, jnp.stack([x, x], 1).shape)


def normalisation_of_rows(jax, jnp):
    x = jnp.array([[3.0, 4.0], [0.0, 0.0]])
    norm = jnp.sqrt((x ** 2).sum(1, keepdims=True))
    return (x / norm, x / jnp.maximum(norm, 1e-12), jnp.nan_to_num(x / norm),
            jnp.where(norm > 0, x / norm, 0))


def running_statistics(jax, jnp):
    xs = _data(0, 20)
    count, mean, m2 = 0, 0.0, 0.0
    for x in jnp.array(xs):
        count += 1
        delta = x - mean
        mean = mean + delta / count
        m2 = m2 + delta * (x - mean)
    return mean, m2 / count, jnp.array(xs).mean(), jnp.array(xs).var()


def numpy_interoperation(jax, jnp):
    x = np.linspace(0, 1, 4)
    y = jnp.asarray(x)
    return (x * y, np.asarray(y), np.sum(y), jnp.sin(x), float(y[1]), int(y[3]), y.tolist(),
            np.float32(2) + y, jnp.array(np.arange(3, dtype=np.int64)).dtype, np.array(y) is y,
            jnp.float32(1) + np.ones(2))


def vmapped_collectives(jax, jnp):
    x = jnp.arange(6.0).reshape(3, 2)

    def f(row):
        i = jax.lax.axis_index("i")
        total = jax.lax.psum(row, "i")
        gathered = jax.lax.all_gather(row, "i")
        shifted = jax.lax.ppermute(row, "i", [(0, 1), (1, 2), (2, 0)])
        return i, row / total, gathered.sum(), shifted, jax.lax.pmax(row, "i"), jax.lax.psum(1, "i")

    return jax.vmap(f, axis_name="i")(x), jax.jit(jax.vmap(f, axis_name="i"))(x)
