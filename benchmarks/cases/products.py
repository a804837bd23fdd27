"""Products of matrices: square, batches, tiny ones, vectors, and operations fused with them."""

from .case import family, form, integers, noise

square = family("matrix products", flops=lambda n, dtype="": 2 * n ** 3)
batched = family("batched and tiny products", flops=lambda b, n, k, m: 2 * b * n * k * m)
vector = family("matrix times vector", memory=True)
layer = family("bias and activation", flops=lambda n, k, m, dtype="": 2 * n * k * m)
before = family("before a product", flops=lambda n, k, m: 2 * n * k * m)


@square("x @ y, {n} x {n} {dtype}", n=[64, 128, 256, 512, 1024, 2048], dtype="float32")
@square("x @ y, {n} x {n} {dtype}", n=[64, 256, 512, 1024], dtype="bfloat16")
@square("x @ y, {n} x {n} {dtype}", n=[256, 1024], dtype="float64")
@square("x @ y, {n} x {n} {dtype}", n=256, dtype="int32")
def matmul(jax, jnp, n, dtype):
    return lambda x, y: x @ y, (noise(n, n, dtype=dtype), noise(n, n, dtype=dtype, seed=1))


@form("torch", matmul)
def _(torch, n, dtype):
    return lambda x, y: x @ y, (noise(n, n, dtype=dtype), noise(n, n, dtype=dtype, seed=1))


@square("i8 @ i8 to i32, {n} x {n}", n=[256, 1024], numpy=False, flops=None)
def matmul_of_bytes(jax, jnp, n):
    args = [(integers(256, n, n, seed=seed) - 128).astype("int8") for seed in (0, 1)]
    return lambda x, y: jnp.matmul(x, y, preferred_element_type=jnp.int32), tuple(args)


@square("x.T @ y, {n} x {n} f32", n=512)
def left_transposed(jax, jnp, n):
    return lambda x, y: x.T @ y, (noise(n, n), noise(n, n, seed=1))


@square("x @ y.T, {n} x {n} f32", n=512)
def right_transposed(jax, jnp, n):
    return lambda x, y: x @ y.T, (noise(n, n), noise(n, n, seed=1))


@square("(x @ y) @ z - x, {n} x {n} f32", n=512, flops=lambda n: 4 * n ** 3)
def chain(jax, jnp, n):
    return lambda x, y, z: x @ y @ z - x, (noise(n, n), noise(n, n, seed=1), noise(n, n, seed=2))


@batched("batch of {b}, {n} x {k} by {k} x {m}", b=10_000, n=3, k=3, m=3)
@batched("batch of {b}, {n} x {k} by {k} x {m}", b=10_000, n=4, k=4, m=4)
@batched("batch of {b}, {n} x {k} by {k} x {m}", b=1000, n=16, k=16, m=16)
@batched("batch of {b}, {n} x {k} by {k} x {m}", b=1000, n=4, k=256, m=2)
@batched("batch of {b}, {n} x {k} by {k} x {m}", b=256, n=32, k=32, m=32)
@batched("batch of {b}, {n} x {k} by {k} x {m}", b=64, n=128, k=128, m=128)
@batched("batch of {b}, {n} x {k} by {k} x {m}", b=8, n=512, k=64, m=512)
@batched("batch of {b}, {n} x {k} by {k} x {m}", b=1, n=2, k=2, m=2)
@batched("batch of {b}, {n} x {k} by {k} x {m}", b=1, n=8, k=8, m=8)
@batched("batch of {b}, {n} x {k} by {k} x {m}", b=1, n=16384, k=64, m=64)
def batch(jax, jnp, b, n, k, m):
    return lambda x, y: x @ y, (noise(b, n, k), noise(b, k, m, seed=1))


@batched("quadratic forms of {n} points", n=10_000, flops=None)
def quadratic(jax, jnp, n):
    return lambda x, a: jnp.einsum("ni,ij,nj->n", x, a, x), (noise(n, 8), noise(8, 8))


@batched("one matrix on {n} points of 3", n=1_000_000, flops=None)
def rotate(jax, jnp, n):
    return lambda x, a: x @ a, (noise(n, 3), noise(3, 3))


@vector("matrix times vector, {n} x {n} {dtype}", n=[64, 512, 4096], dtype="float32")
@vector("matrix times vector, {n} x {n} {dtype}", n=4096, dtype=["bfloat16", "float64"])
def right(jax, jnp, n, dtype):
    return lambda x, v: x @ v, (noise(n, n, dtype=dtype), noise(n, dtype=dtype))


@vector("vector times matrix, {n} x {n} {dtype}", n=4096, dtype="float32")
def left(jax, jnp, n, dtype):
    return lambda x, v: v @ x, (noise(n, n, dtype=dtype), noise(n, dtype=dtype))


@vector("outer product, {n} x {n}", n=4096)
def outer(jax, jnp, n):
    return lambda x, y: jnp.outer(x, y), (noise(n), noise(n, seed=1))


@vector("dot, {n}", n=[100, 1_000_000])
def dot(jax, jnp, n):
    return lambda x, y: jnp.dot(x, y), (noise(n), noise(n, seed=1))


@layer("relu(x @ w + b), {n} x {k} by {k} x {m} {dtype}", n=[32, 512], k=512, m=512,
       dtype="float32")
@layer("relu(x @ w + b), {n} x {k} by {k} x {m} {dtype}", n=512, k=512, m=512, dtype="bfloat16")
def relu(jax, jnp, n, k, m, dtype):
    return (lambda x, w, b: jnp.maximum(x @ w + b, 0),
            (noise(n, k, dtype=dtype), noise(k, m, dtype=dtype, seed=1), noise(m, dtype=dtype)))


@form("torch", relu)
def _(torch, n, k, m, dtype):
    return (lambda x, w, b: torch.relu(x @ w + b),
            (noise(n, k, dtype=dtype), noise(k, m, dtype=dtype, seed=1), noise(m, dtype=dtype)))


@layer("{name}(x @ w + b), {n} x {k} by {k} x {m}", name=["tanh", "exp"], n=2048, k=128, m=512,
       flops=lambda name, n, k, m: 2 * n * k * m)
def activation(jax, jnp, name, n, k, m):
    return (lambda x, w, b: getattr(jnp, name)(x @ w * 0.01 + b),
            (noise(n, k), noise(k, m, seed=1), noise(m)))


@layer("gelu(x @ w + b) + x, {n} x {k} by {k} x {k}", n=1024, k=256,
       flops=lambda n, k: 2 * n * k * k)
def residual(jax, jnp, n, k):
    def run(x, w, b):
        y = x @ w + b
        return 0.5 * y * (1 + jnp.tanh(0.7978845608 * (y + 0.044715 * y ** 3))) + x
    return run, (noise(n, k), noise(k, k, seed=1), noise(k))


@before("relu(x) @ w, {n} x {k} by {k} x {m}", n=2048, k=128, m=[64, 512])
def relu_before(jax, jnp, n, k, m):
    return lambda x, w: jnp.maximum(x, 0) @ w, (noise(n, k), noise(k, m, seed=1))


@before("(x * s).T @ y, {n} x {k} by {k} x {m}", n=1024, k=256, m=32)
def scaled_before(jax, jnp, n, k, m):
    return lambda x, s, y: (x * s).T @ y, (noise(k, n), noise(n), noise(k, m, seed=1))


@before("x @ (i8 * scale), {n} x {k} by {k} x {m}", n=[8, 64], k=2048, m=2048)
def bytes_right(jax, jnp, n, k, m):
    weights = (integers(256, k, m) - 128).astype("int8")
    return lambda x, w, s: x @ (w.astype("float32") * s), (noise(n, k), weights, noise(m))


@before("(i8 * scale) @ x, {n} x {k} by {k} x {m}", n=2048, k=2048, m=8)
def bytes_left(jax, jnp, n, k, m):
    weights = (integers(256, n, k) - 128).astype("int8")
    return lambda w, s, x: (w.astype("float32") * s) @ x, (weights, noise(n, 1), noise(k, m))
