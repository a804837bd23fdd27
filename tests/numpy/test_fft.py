"""Fourier transforms against NumPy: values, options, derivatives, batches, messages."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tests.numpy.agreement import agree, batched, message


def values(*shape, dtype=np.complex64):
    rng = np.random.default_rng(shape)
    x = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return (x if np.dtype(dtype).kind == "c" else x.real).astype(dtype)


X, R = values(3, 8), values(3, 8, dtype=np.float32)
CUBE, BOX = values(2, 3, 4), values(2, 3, 4, dtype=np.float32)

# Name, operand, options: NumPy takes the same ones.
CASES = [
    *((name, x, options) for name, x in (("fft", X), ("ifft", X), ("rfft", R), ("irfft", X),
                                         ("hfft", X), ("ihfft", R), ("fft", R))
      for options in ({}, {"n": 5}, {"n": 11}, {"axis": 0}, {"n": 4, "axis": 0}, {"norm": "ortho"},
                      {"norm": "forward"}, {"norm": "backward", "n": 7})),
    *((name, x, options) for name, x in (("fft2", CUBE), ("ifft2", CUBE), ("rfft2", BOX),
                                         ("irfft2", CUBE))
      for options in ({}, {"s": (2, 5)}, {"axes": (0, 1)}, {"axes": (2, 0), "norm": "ortho"})),
    *((name, x, options) for name, x in (("fftn", CUBE), ("ifftn", CUBE), ("rfftn", BOX),
                                         ("irfftn", CUBE))
      for options in ({}, {"axes": (0,)}, {"axes": (1, 0)}, {"s": (3, 3), "axes": (0, 2)},
                      {"norm": "forward"})),
    ("fftn", values(2, 3, 2, 2), {}), ("rfftn", values(2, 2, 3, 2, dtype=np.float32), {}),
    ("fft", np.arange(4), {}), ("rfft", np.arange(5), {}), ("fft", np.array([True, False]), {}),
    ("fftshift", X, {}), ("fftshift", X, {"axes": 1}), ("ifftshift", CUBE, {"axes": (0, 2)}),
]


@pytest.mark.parametrize("name, x, options", CASES, ids=lambda v: str(
    list(v.shape) if isinstance(v, np.ndarray) else v))
def test_values(name, x, options):
    function = lambda x: getattr(jnp.fft, name)(x, **options)
    want = getattr(np.fft, name)(x, **options)
    agree(function(x), want, 1e-5, 1e-5)
    agree(tanx.jit(function)(x), want, 1e-5, 1e-5)
    if x.dtype.kind in "fc":
        batched(function, x)


@pytest.mark.parametrize("n", [0, 1, 4, 7])
def test_frequencies(n):
    if n:
        agree(jnp.fft.fftfreq(n), np.fft.fftfreq(n))
        agree(jnp.fft.fftfreq(n, d=0.1), np.fft.fftfreq(n, d=0.1))
        agree(jnp.fft.rfftfreq(n, d=0.5), np.fft.rfftfreq(n, d=0.5))
    assert jnp.fft.fftfreq(n).shape == (n,)
    assert jnp.fft.fftfreq(n, dtype="float16").dtype == "float16"


@pytest.mark.parametrize("dtype, result", [
    ("bfloat16", "complex64"), ("float16", "complex64"), ("int8", "complex64"),
    ("float64", "complex128"), ("complex128", "complex128"), ("complex64", "complex64")])
def test_dtypes(dtype, result):
    with tanx.enable_x64(True):
        assert jnp.fft.fft(jnp.ones(4, dtype)).dtype == result
        assert tanx.jit(jnp.fft.ifft2)(jnp.ones((2, 4), dtype)).dtype == result


def test_weak_types_end():
    assert not jnp.fft.fft(jnp.asarray([1.0]) * 1).weak_type
    assert not jnp.fft.irfft(jnp.full(3, 2.0)).weak_type


@pytest.mark.parametrize("name, x", [("fft", X), ("ifft2", X), ("rfft", R), ("irfft", X),
                                     ("rfft2", R), ("irfft2", X), ("hfft", X), ("ihfft", R)])
@pytest.mark.parametrize("n", [None, 5, 8])
def test_derivatives_are_adjoint(name, x, n):
    function = getattr(jnp.fft, name)
    options = {} if n is None else {"s": (4, n)} if name.endswith("2") else {"n": n}
    with tanx.enable_x64(True):
        x = jnp.asarray(x, "complex128" if x.dtype.kind == "c" else "float64")
        call = lambda x: function(x, **options)
        y, dy = tanx.jvp(call, (x,), (x,))
        agree(dy, y, 1e-12, 1e-12)
        _, back = tanx.vjp(call, x)
        ct = jnp.asarray(values(*y.shape), y.dtype) if y.dtype.kind == "c" else jnp.cos(y)
        (g,) = back(ct)
        # A product of two real linear maps; cotangents are not conjugated.
        agree(jnp.sum((g * x).real), jnp.sum((ct * y).real), 1e-10, 1e-10)


def test_inside_of_loops():
    def step(x, _):
        y = jnp.fft.ifft(jnp.fft.fft(x) * 0.5)
        return y, jnp.abs(y[0])
    last, sizes = tanx.jit(lambda x: lax.scan(step, x, None, length=3))(X)
    agree(last, X / 8, 1e-5, 1e-6)
    agree(sizes[0], np.abs(X[0]) / 2, 1e-5, 1e-6)


def test_gradient_of_a_loss():
    def loss(x):
        return jnp.sum(jnp.abs(jnp.fft.rfft(x)) ** 2)
    g = tanx.jit(tanx.grad(loss))(R)
    spectrum = np.fft.fft(R)  # Parseval's theorem, with frequencies that rfft stores once
    kept = np.zeros(8)
    kept[:5] = 1
    agree(g, 2 * np.fft.ifft(spectrum * kept * 8).real, 1e-4, 1e-4)


def test_messages():
    message(ValueError, lambda: jnp.fft.fft(X, norm="x"), """\
tanx.numpy.fft.fft: norm must be "backward", "ortho" or "forward".
  norm: 'x'""")
    message(ValueError, lambda: jnp.fft.fft(X, n=0), """\
tanx.numpy.fft.fft: lengths must be positive.
  lengths: (0,)""")
    message(ValueError, lambda: jnp.fft.fftn(X, axes=(0, 0)), """\
tanx.numpy.fft.fftn: axes must be distinct.
  axes: (0, 0)""")
    message(ValueError, lambda: jnp.fft.fftn(X, s=(2, 2), axes=(0,)), """\
tanx.numpy.fft.fftn: there must be as many lengths as axes.
  s:    (2, 2)
  axes: (0,)""")
    message(ValueError, lambda: jnp.fft.rfft(X), """\
tanx.numpy.fft.rfft: takes real numbers.
  operand: complex64[3,8]
  Hint: fft takes complex ones.""")
    message(ValueError, lambda: jnp.fft.fft2(X, axes=(0,)), """\
tanx.numpy.fft.fft2: transforms along two axes.
  axes: (0,)
  Hint: fftn takes others.""")
    message(ValueError, lambda: lax.fft(X, "RFFTT", (8,)), """\
tanx.lax.fft: fft_type must be one of FFT, IFFT, RFFT, IRFFT.
  fft_type: 'RFFTT'""")
    message(ValueError, lambda: lax.fft(X, "IRFFT", (8,)), """\
tanx.lax.fft: the last dimensions of the operand of IRFFT must be (5,) for these lengths.
  operand:     complex64[3,8]
  fft_lengths: (8,)""")


def test_jaxpr():
    assert str(tanx.make_jaxpr(lambda x: lax.fft(x, "RFFT", (8,)))(R)) == """\
{ lambda ; a:f32[3,8]. let
    b:c64[3,5] = fft[fft_lengths=(8,) fft_type=2] a
  in (b,) }"""


def test_operands_may_be_donated():
    x = values(50, 96)
    for function, want in ((jnp.fft.fft, np.fft.fft(x)), (jnp.fft.fft2, np.fft.fft2(x))):
        given = jnp.array(x)
        agree(tanx.jit(function, donate_argnums=0)(given), want, 1e-4, 1e-4)
