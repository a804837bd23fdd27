"""Special functions, polynomials, divisors, bits, and images in other sizes."""

import importlib

import numpy as np

from .case import family, integers, noise

case = family("special functions", numpy=False)

ONE = {"lgamma": (0.1, 20.0), "digamma": (0.1, 20.0), "bessel_i0e": (-20.0, 20.0),
       "bessel_i1e": (-20.0, 20.0), "erf_inv": (-1.0, 1.0)}


def between(low: float, high: float, n: int, dtype: str = "float32", seed: int = 0):
    """Numbers from an interval."""
    return np.random.default_rng(seed).uniform(low, high, n).astype(dtype)


@case("{name}, {n} {dtype}", name=list(ONE), n=1_000_000, dtype="float32")
@case("{name}, {n} {dtype}", name=["lgamma", "digamma", "bessel_i0e"], n=1_000_000,
      dtype="float64", x64=True)
def of_one(jax, jnp, name, n, dtype):
    return getattr(jax.lax, name), (between(*ONE[name], n, dtype),)


# Functions of scipy.special, with the intervals of their operands.
SPECIAL = {"gamma": [(0.1, 30.0)], "ndtr": [(-9.0, 8.0)], "ndtri": [(0.0, 1.0)],
           "log_ndtr": [(-9.0, 9.0)], "erfcx": [(-5.0, 50.0)], "dawsn": [(-20.0, 20.0)],
           "exp1": [(0.0, 60.0)], "expi": [(-60.0, 60.0)], "sici": [(-60.0, 60.0)],
           "fresnel": [(-20.0, 20.0)], "spence": [(0.0, 9.0)], "i0": [(-30.0, 30.0)],
           "entr": [(0.0, 5.0)], "xlogy": [(-3.0, 3.0), (0.0, 9.0)],
           "kl_div": [(0.0, 3.0), (0.0, 3.0)], "betaln": [(0.1, 50.0), (0.1, 50.0)],
           "owens_t": [(-6.0, 6.0), (-5.0, 5.0)]}


@case("scipy.special.{name}, {n} {dtype}", name=list(SPECIAL), n=1_000_000, dtype="float32")
@case("scipy.special.{name}, {n} {dtype}", name=["gamma", "ndtri", "sici"], n=1_000_000,
      dtype="float64", x64=True)
def scipy_special(jax, jnp, name, n, dtype):
    function = getattr(importlib.import_module(jax.__name__ + ".scipy.special"), name)
    return function, tuple(between(*interval, n, dtype, k)
                           for k, interval in enumerate(SPECIAL[name]))


@case("scipy.special.{name}, {n}", name=["hyp1f1", "hyp2f1"], n=10_000)
def hypergeometric(jax, jnp, name, n):
    function = getattr(importlib.import_module(jax.__name__ + ".scipy.special"), name)
    count = {"hyp1f1": 2, "hyp2f1": 3}[name]
    return function, (*(between(0.5, 4, n, seed=k) for k in range(count)), between(-0.5, 0.9, n))


@case("{name}, {n} {dtype}", name=["igamma", "igammac", "igamma_grad_a"], n=100_000,
      dtype="float32")
@case("{name}, {n} {dtype}", name=["igamma", "igammac"], n=100_000, dtype="float64", x64=True)
def of_two(jax, jnp, name, n, dtype):
    a = between(0.1, 20, n, dtype)
    return getattr(jax.lax, name), (a, (a * between(0.1, 2, n, dtype, 1)).astype(dtype))


@case("betainc, {n} {dtype}", n=100_000, dtype="float32")
@case("betainc, {n} {dtype}", n=100_000, dtype="float64", x64=True)
def beta(jax, jnp, n, dtype):
    return jax.lax.betainc, (between(0.1, 10, n, dtype), between(0.1, 10, n, dtype, 1),
                             between(0.01, 0.99, n, dtype, 2))


@case("zeta, {n} {dtype}", n=100_000, dtype="float32")
def zeta(jax, jnp, n, dtype):
    return jax.lax.zeta, (between(1.5, 8, n, dtype), between(0.1, 10, n, dtype, 1))


@case("trigamma, {n} {dtype}", n=100_000, dtype="float32")
def trigamma(jax, jnp, n, dtype):
    return lambda x: jax.lax.polygamma(jnp.float32(1), x), (between(0.1, 20, n, dtype),)


@case("normal quantiles, {n}", n=1_000_000)
def quantiles(jax, jnp, n):
    root = np.float32(np.sqrt(2))
    return lambda p: root * jax.lax.erf_inv(2 * p - 1), (between(0.001, 0.999, n),)


@case("derivative of lgamma, {n}", n=1_000_000)
def slope(jax, jnp, n):
    return jax.grad(lambda x: jax.lax.lgamma(x).sum()), (between(0.1, 20, n),)


@case("polyval of degree {degree}, {n}", degree=[3, 20], n=1_000_000, numpy=True)
def values(jax, jnp, degree, n):
    return jnp.polyval, (noise(degree + 1), between(-1, 1, n, seed=1))


@case("roots of degree {degree}", degree=[4, 40])
def zeros(jax, jnp, degree):
    def run(p):
        z = jnp.roots(p, strip_zeros=False)
        return jnp.polyval(p, z).real.sum() * 0, jnp.abs(z).sum()
    return run, (noise(degree + 1),)


@case("polyfit of degree {degree}, {n} points", degree=3, n=1000)
def fit(jax, jnp, degree, n):
    return lambda x, y: jnp.polyfit(x, y, degree), (between(-1, 1, n), noise(n))


@case("gcd, {n}", n=1_000_000, numpy=True)
def divisors(jax, jnp, n):
    return jnp.gcd, (integers(1_000_000, n), integers(1_000_000, n, seed=1))


@case("unpackbits, {n} bytes", n=1_000_000, numpy=True)
def unpacked(jax, jnp, n):
    return jnp.unpackbits, (integers(256, n).astype(np.uint8),)


@case("packbits, {n} bits", n=8_000_000, numpy=True)
def packed(jax, jnp, n):
    return jnp.packbits, (integers(2, n).astype(bool),)


@case("image resized by {method}, {n} to {m}", method=["nearest", "linear", "cubic", "lanczos3"],
      n=256, m=512)
@case("image resized by {method}, {n} to {m}", method=["linear", "cubic", "area"], n=512, m=128)
def image(jax, jnp, method, n, m):
    return lambda x: jax.image.resize(x, (4, m, m, 3), method), (noise(4, n, n, 3),)


@case("gradient of image resized, {n} to {m}", n=[256, 512], m=300)
def image_gradient(jax, jnp, n, m):
    def loss(x):
        return (jax.image.resize(x, (4, m, m, 3), "cubic") ** 2).sum()
    return jax.grad(loss), (noise(4, n, n, 3),)
