"""Cosine transforms: SciPy's numbers, inverses, dtypes, derivatives, batches, errors."""

import ml_dtypes
import numpy as np
import pytest
from scipy import fft as reference

import tanx
import tanx.numpy as jnp
from tanx.scipy import fft
from tests.numpy.agreement import adjoint, agree, batched
from tests.scipy.lives import check

RNG = np.random.default_rng(0)
TYPES = (1, 2, 3, 4)
NORMS = (None, "backward", "ortho", "forward")


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", ["dct", "idct"])
def test_values(name, type, norm):
    for n in (1, 2, 3, 4, 7, 16, 33):
        if n == 1 and type == 1:
            continue
        x = RNG.normal(size=(2, n))
        want = getattr(reference, name)(x, type, norm=norm)
        with tanx.enable_x64(True):
            agree(getattr(fft, name)(x, type, norm=norm), want, 1e-12, 1e-12)


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", ["dct", "idct", "dctn", "idctn"])
def test_each_life(name, type):
    x = RNG.normal(size=(3, 8)).astype(np.float32)
    check(lambda x: getattr(fft, name)(x, type), (x,), getattr(reference, name)(x, type), 1e-5,
          1e-5)


@pytest.mark.parametrize("n", [1, 3, 8, 11])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lengths_and_axes(axis, n):
    x = RNG.normal(size=(5, 8)).astype(np.float32)
    for name in ("dct", "idct"):
        agree(getattr(fft, name)(x, n=n, axis=axis),
              getattr(reference, name)(x, n=n, axis=axis), 1e-5, 1e-5)


@pytest.mark.parametrize("options", [
    {}, dict(s=(2, 7)), dict(s=3), dict(axes=(0,)), dict(axes=0), dict(axes=(2, 0), s=(6, 2)),
    dict(axes=(-1, 1), norm="ortho")], ids=str)
@pytest.mark.parametrize("name", ["dctn", "idctn"])
def test_several_axes(name, options):
    x = RNG.normal(size=(3, 4, 5)).astype(np.float32)
    agree(getattr(fft, name)(x, **options), getattr(reference, name)(x, **options), 1e-5, 1e-5)


@pytest.mark.parametrize("type", TYPES)
def test_inverses(type):
    x = RNG.normal(size=(3, 9)).astype(np.float32)
    for norm in NORMS:
        agree(fft.idct(fft.dct(x, type, norm=norm), type, norm=norm), x, 1e-5, 1e-5)
        agree(fft.dctn(fft.idctn(x, type, norm=norm), type, norm=norm), x, 1e-5, 1e-5)


@pytest.mark.parametrize("dtype, result", [
    (bool, "float32"), (np.int8, "float32"), (np.uint32, "float32"), (np.float16, "float32"),
    (ml_dtypes.bfloat16, "float32"), (np.float32, "float32"), (np.complex64, "complex64")])
def test_dtypes(dtype, result):
    x = np.array([1, 0, 1, 1, 0]).astype(dtype)
    got = fft.dct(x)
    assert got.dtype == result
    agree(got, reference.dct(x.astype(result)), 1e-5, 1e-5)
    if dtype is np.complex64:
        agree(fft.idct(x * 1j + x), reference.idct(x * 1j + x), 1e-5, 1e-5)


@pytest.mark.parametrize("type", TYPES)
def test_derivatives_and_batches(type):
    x = RNG.normal(size=(2, 5))
    adjoint(lambda x: fft.dct(x, type, norm="ortho"), x)
    adjoint(lambda x: fft.idctn(x, type), x)
    batched(lambda x: fft.dct(x, type, axis=0), x.astype(np.float32), atol=1e-5)


@pytest.mark.parametrize("error, call", [
    (NotImplementedError, lambda x: fft.dct(x, 5)),
    (ValueError, lambda x: fft.dct(x, norm="half")),
    (ValueError, lambda x: fft.dct(x, axis=1)),
    (ValueError, lambda x: fft.dct(x, n=0)),
    (ValueError, lambda x: fft.dct(x[:1], 1)),
    (ValueError, lambda x: fft.dct(x[:0])),
    (ValueError, lambda x: fft.dctn(x, axes=(0, 0))),
    (ValueError, lambda x: fft.dctn(x, s=(2, 2), axes=(0,))),
    (ValueError, lambda x: fft.dct(x.sum())),
    (TypeError, lambda x: fft.dct([1.0, 2.0])),
])
def test_errors(error, call):
    with pytest.raises(error, match=r"^tanx\.scipy\.fft\.dctn?: "):
        call(jnp.ones(4))
