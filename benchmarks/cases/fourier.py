"""Fourier transforms: short and long lines, real numbers, columns, and functions that use them."""

from .case import family, noise

case = family("Fourier transforms")


def waves(*shape, seed=0, dtype="float32"):
    """Complex numbers."""
    parts = (noise(*shape, seed=seed + k, dtype=dtype) for k in (0, 1))
    return next(parts) + 1j * next(parts)


@case("fft of lines, {n} x {m}", n=1000, m=[64, 1000, 1024])
@case("fft of lines, {n} x {m}", n=100_000, m=8)
@case("fft of lines, {n} x {m}", n=100, m=[1009, 4096])
def lines(jax, jnp, n, m):
    return jnp.fft.fft, (waves(n, m),)


@case("fft of lines, {n} x {m} {dtype}", n=1000, m=1024, dtype="float64")
def double(jax, jnp, n, m, dtype):
    return jnp.fft.fft, (waves(n, m, dtype=dtype),)


@case("fft, {n}", n=[1024, 4096, 65536, 1 << 20, 10007])
def line(jax, jnp, n):
    return jnp.fft.fft, (waves(n),)


@case("ifft of lines, {n} x {m}", n=1000, m=1024)
def inverse(jax, jnp, n, m):
    return jnp.fft.ifft, (waves(n, m),)


@case("rfft of lines, {n} x {m}", n=1000, m=[1023, 1024])
@case("rfft of lines, {n} x {m}", n=1, m=1 << 20)
def real(jax, jnp, n, m):
    return jnp.fft.rfft, (noise(n, m),)


@case("irfft of lines, {n} x {m}", n=1000, m=513)
def real_inverse(jax, jnp, n, m):
    return jnp.fft.irfft, (waves(n, m),)


@case("fft along axis 0, {n} x {m}", n=1024, m=1000)
def columns(jax, jnp, n, m):
    return lambda x: jnp.fft.fft(x, axis=0), (waves(n, m),)


@case("fft2, {n} x {n}", n=[512, 1024])
def square(jax, jnp, n):
    return jnp.fft.fft2, (waves(n, n),)


@case("rfft2 of images, {n} x {m} x {m}", n=64, m=128)
def images(jax, jnp, n, m):
    return jnp.fft.rfft2, (noise(n, m, m),)


@case("fftn, {n} x {n} x {n}", n=64)
def cube(jax, jnp, n):
    return jnp.fft.fftn, (waves(n, n, n),)


@case("convolution of lines by fft, {n} x {m}", n=1000, m=1000)
def convolution(jax, jnp, n, m):
    def run(x, kernel):
        spectrum = jnp.fft.rfft(x, 2 * m) * jnp.fft.rfft(kernel, 2 * m)
        return jnp.fft.irfft(spectrum, 2 * m)[:, :m]
    return run, (noise(n, m), noise(m, seed=1))


@case("gradient through rfft, {n} x {m}", n=1000, m=1024, numpy=False)
def gradient(jax, jnp, n, m):
    def loss(x):
        spectrum = jnp.fft.rfft(x)
        return jnp.sum(jnp.log(1 + spectrum.real ** 2 + spectrum.imag ** 2))
    return jax.grad(loss), (noise(n, m),)
