"""Spectra, convolutions and cosine transforms of signals, and vector quantization."""

from .case import family, noise
from .fourier import waves

case = family("signals", numpy=False)


@case("stft of {n} by {m}", n=1_000_000, m=[256, 1000])
def spectra(jax, jnp, n, m):
    return lambda x: jax.scipy.signal.stft(x, nperseg=m)[2], (noise(n),)


@case("stft of {n} without trends", n=1_000_000)
def straight(jax, jnp, n):
    return lambda x: jax.scipy.signal.stft(x, nperseg=min(512, n), detrend="linear")[2], (noise(n),)


@case("istft of {m} x {n}", n=8000, m=129)
def signal(jax, jnp, n, m):
    return lambda x: jax.scipy.signal.istft(x)[1], (waves(m, n),)


@case("welch of {n} by {average}", n=1_000_000, average=["mean", "median"])
def power(jax, jnp, n, average):
    return lambda x: jax.scipy.signal.welch(x, nperseg=min(1024, n), average=average)[1], (
        noise(n),)


@case("csd of {n}", n=1_000_000)
def cross_power(jax, jnp, n):
    return lambda x, y: jax.scipy.signal.csd(x, y, nperseg=min(1024, n))[1], (
        noise(n), noise(n, seed=1))


@case("fftconvolve, {n} and {m}", n=1_000_000, m=1000)
@case("fftconvolve, {n} and {m}", n=100_000, m=100_000)
def by_transforms(jax, jnp, n, m):
    return jax.scipy.signal.fftconvolve, (noise(n), noise(m, seed=1))


@case("fftconvolve of images, {n} x {n} and {m} x {m}", n=512, m=64)
def images(jax, jnp, n, m):
    return jax.scipy.signal.fftconvolve, (noise(n, n), noise(m, m, seed=1))


@case("convolve, {n} and {m}", n=100_000, m=100)
@case("convolve, {n} and {m}", n=2000, m=2000)
def by_sums(jax, jnp, n, m):
    return jax.scipy.signal.convolve, (noise(n), noise(m, seed=1))


@case("convolve2d, {n} x {n} and {m} x {m}", n=512, m=9)
def matrices(jax, jnp, n, m):
    return lambda a, b: jax.scipy.signal.convolve2d(a, b, "same"), (
        noise(n, n), noise(m, m, seed=1))


@case("correlate, cubes of {n} and {m}", n=40, m=5)
def cubes(jax, jnp, n, m):
    return jax.scipy.signal.correlate, (noise(n, n, n), noise(m, m, m, seed=1))


@case("detrend, {n} x {m}", n=1000, m=1000)
def trends(jax, jnp, n, m):
    return jax.scipy.signal.detrend, (noise(n, m),)


@case("{name} of lines, {n} x {m}", name=["dct", "idct"], n=1000, m=[999, 1024])
def cosines(jax, jnp, name, n, m):
    return getattr(jax.scipy.fft, name), (noise(n, m),)


@case("dctn of images, {n} x {m} x {m}", n=64, m=128)
def cosines_of_images(jax, jnp, n, m):
    return lambda x: jax.scipy.fft.dctn(x, axes=(1, 2), norm="ortho"), (noise(n, m, m),)


@case("vq of {n} x {d} among {m}", n=100_000, d=3, m=8)
@case("vq of {n} x {d} among {m}", n=10_000, d=16, m=64)
def nearest(jax, jnp, n, d, m):
    return jax.scipy.cluster.vq.vq, (noise(n, d), noise(m, d, seed=1))
