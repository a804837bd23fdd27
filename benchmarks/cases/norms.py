"""Softmax and normalisations: every element depends on a reduction."""

from .case import family, form, noise

case = family("softmax and norms")  # bound by arithmetic: exp, or a division for each element


@case("softmax along axis {axis}, {n} x {m} {dtype}", axis=1, n=[64, 16384], m=1024,
      dtype="float32")
@case("softmax along axis {axis}, {n} x {m} {dtype}", axis=0, n=16384, m=1024, dtype="float32")
@case("softmax along axis {axis}, {n} x {m} {dtype}", axis=1, n=1_000_000, m=16, dtype="float32")
@case("softmax along axis {axis}, {n} x {m} {dtype}", axis=1, n=128, m=100_000, dtype="float32")
@case("softmax along axis {axis}, {n} x {m} {dtype}", axis=1, n=16384, m=1024, dtype="bfloat16")
def softmax(jax, jnp, axis, n, m, dtype):
    def run(x):
        e = jnp.exp(x - x.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)
    return run, (noise(n, m, dtype=dtype),)


@form("torch", softmax)
def _(torch, axis, n, m, dtype):
    return lambda x: torch.softmax(x, axis), (noise(n, m, dtype=dtype),)


@case("log_softmax, {n} x {m}", n=16384, m=1024)
def log_softmax(jax, jnp, n, m):
    def run(x):
        shifted = x - x.max(axis=1, keepdims=True)
        return shifted - jnp.log(jnp.exp(shifted).sum(axis=1, keepdims=True))
    return run, (noise(n, m),)


@form("torch", log_softmax)
def _(torch, n, m):
    return lambda x: torch.log_softmax(x, 1), (noise(n, m),)


@case("logsumexp along axis {axis}, {n} x {m}", axis=[0, 1], n=16384, m=1024)
def logsumexp(jax, jnp, axis, n, m):
    def run(x):
        largest = x.max(axis=axis, keepdims=True)
        return jnp.log(jnp.exp(x - largest).sum(axis=axis)) + largest.squeeze(axis)
    return run, (noise(n, m),)


@case("layer norm, {n} x {m} {dtype}", n=[64, 16384], m=1024, dtype="float32")
@case("layer norm, {n} x {m} {dtype}", n=16384, m=1024, dtype="bfloat16")
def layer_norm(jax, jnp, n, m, dtype):
    def run(x, scale, shift):
        mean = x.mean(axis=1, keepdims=True)
        variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
        return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift
    return run, (noise(n, m, dtype=dtype), noise(m, dtype=dtype), noise(m, dtype=dtype))


@form("torch", layer_norm)
def _(torch, n, m, dtype):
    def run(x, scale, shift):
        return torch.nn.functional.layer_norm(x, (x.shape[1],), scale, shift)
    return run, (noise(n, m, dtype=dtype), noise(m, dtype=dtype), noise(m, dtype=dtype))


@case("rms norm, {n} x {m}", n=[64, 16384], m=1024)
def rms_norm(jax, jnp, n, m):
    def run(x, scale):
        return x / jnp.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6) * scale
    return run, (noise(n, m), noise(m))


@case("batch norm, {n} x {m}", n=16384, m=1024)
def batch_norm(jax, jnp, n, m):
    def run(x, scale, shift):
        mean, variance = x.mean(axis=0), x.var(axis=0)
        return (x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift
    return run, (noise(n, m), noise(m), noise(m))


@case("batch norm of images, {n} x {c} x {h} x {h}", n=32, c=64, h=56)
def image_norm(jax, jnp, n, c, h):
    def run(x, scale, shift):
        mean = x.mean(axis=(0, 2, 3), keepdims=True)
        variance = x.var(axis=(0, 2, 3), keepdims=True)
        return (x - mean) / jnp.sqrt(variance + 1e-5) * scale[:, None, None] + shift[:, None, None]
    return run, (noise(n, c, h, h), noise(c), noise(c))


@case("cross entropy and its gradient, {n} x {m}", n=4096, m=1024, numpy=False)
def cross_entropy(jax, jnp, n, m):
    def loss(x, target):
        shifted = x - x.max(axis=1, keepdims=True)
        logits = shifted - jnp.log(jnp.exp(shifted).sum(axis=1, keepdims=True))
        return -(logits * target).mean()
    return jax.value_and_grad(loss), (noise(n, m), noise(n, m, seed=1))


@case("gradient of layer norm, {n} x {m}", n=4096, m=1024, numpy=False)
def layer_norm_gradient(jax, jnp, n, m):
    def loss(x, scale, shift, weight):
        mean = x.mean(axis=1, keepdims=True)
        variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
        return (((x - mean) / jnp.sqrt(variance + 1e-5) * scale + shift) * weight).sum()
    return jax.grad(loss, (0, 1, 2)), (noise(n, m), noise(m), noise(m), noise(n, m, seed=1))
