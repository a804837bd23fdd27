"""Compiled Fourier transforms against NumPy's in double precision: lengths, kinds, layouts.

The bound: the error of all numbers together is below 4 times the spacing of floats at 1, relative
to all numbers of the result together (by their root mean square); below 8 times that where a length
has a large prime factor.
"""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.pipeline import build
from tanx._loops.fourier import radices, roots
from tanx._loops.interpret import run as interpret
from tanx._loops.show import show
from tanx._runtime.threads import get_num_threads, set_num_threads

from .agreement import check_function
from .compiled import run
from .programs import settings

KINDS = ["fft", "ifft", "rfft", "irfft"]
LENGTHS = [*range(1, 17), 18, 20, 22, 24, 26, 27, 30, 34, 35, 36, 39, 48, 49, 64, 81, 96, 97, 100,
           121, 128, 162, 169, 210, 243, 512, 1000, 1001, 1009, 1024, 4096]
REAL = [*range(1, 17), 17, 18, 21, 22, 31, 34, 64, 97, 100, 1001, 1024]


def operand(kind, *shape, double=False):
    rng = np.random.default_rng(shape)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    dtype = np.complex128 if double else np.complex64
    return x.astype(dtype) if kind != "rfft" else x.real.astype(dtype(0).real.dtype)


def compiled(kind, x, *lengths, ways=(run,)):
    """What programs for a transform give, as machine code and interpreted."""
    with tanx.enable_x64(True):
        closed = tanx.make_jaxpr(lambda x: lax.fft(x, kind, lengths))(x)
        module = build(closed)
        assert "fourier" in show(module.program)
        for way in ways:
            (out,) = way(module.program, x)
            assert out.dtype == closed.out_avals[0].dtype
            yield out.reshape(closed.out_avals[0].shape)


def close(got, want, bound=4):
    """Within the bound above."""
    assert got.shape == want.shape
    error = np.linalg.norm((got - want).ravel()) / max(np.linalg.norm(want.ravel()), 1e-30)
    assert error < bound * np.finfo(got.dtype).eps, error / np.finfo(got.dtype).eps


def wide(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def check(kind, n, *lead, **options):
    double = options.pop("double", False)
    size = n // 2 + 1 if kind == "irfft" else n
    x = operand(kind, *lead, size, double=double)
    for got in compiled(kind, x, n, **options):
        close(got, getattr(np.fft, kind)(wide(x), n), 4 if radices(n) else 8)


@pytest.mark.parametrize("kind, n", [
    *(("fft", n) for n in LENGTHS), *(("ifft", n) for n in LENGTHS[::7]),
    *((kind, n) for kind in ("rfft", "irfft") for n in REAL)])
def test_lengths(kind, n):
    check(kind, n, 3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 7, 12, 20, 97])
def test_double_precision_and_batches(kind, n):
    for lead in ((), (2, 35)):
        check(kind, n, *lead, double=True, ways=(run, interpret))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [18000, 45056, 1 << 20])
def test_long_lines(kind, n):
    check(kind, n, *([2] if n < 1 << 20 else []))


@pytest.mark.parametrize("kind, n", [("fft", 10007), ("irfft", 16386), ("rfft", 40009),
                                     ("irfft", 40009)])
@pytest.mark.parametrize("double", [False, True])
def test_long_lines_of_large_primes(kind, n, double):
    check(kind, n, double=double)


@pytest.mark.parametrize("kind, shape", [
    *(("fft", shape) for shape in ((8, 5), (20, 3), (97, 2), (4, 64), (1, 6), (6, 1), (2, 2, 2, 3),
                                   (1024, 9))),
    *((kind, shape) for kind in KINDS for shape in ((30, 33), (18, 5, 7)))])
def test_several_dimensions(kind, shape):
    given = (*shape[:-1], shape[-1] // 2 + 1) if kind == "irfft" else shape
    x = operand(kind, 2, *given)
    axes = tuple(range(1, 1 + len(shape)))
    want = getattr(np.fft, f"{kind}n")(wide(x), shape, axes)
    for got in compiled(kind, x, *shape, ways=(run, interpret)):
        close(got, want)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (2, 0), (1, 0)], ids=str)
def test_other_axes_need_no_transposes(axes):
    x = operand("fft", 6, 20, 5)
    closed = tanx.make_jaxpr(lambda x: jnp.fft.ifftn(x, axes=axes))(x)
    program = build(closed).program
    assert "parallel" not in show(program)
    for way in (run, interpret):
        close(way(program, x)[0], np.fft.ifftn(wide(x), axes=axes))


def test_columns_of_long_lines():
    x = operand("fft", 1 << 15, 3)
    for got in compiled("fft", x, *x.shape):
        close(got, np.fft.fft2(wide(x)))


def test_results_do_not_depend_on_threads():
    x = operand("fft", 512, 300)
    before, results = get_num_threads(), []
    try:
        for threads in (1, 2):
            set_num_threads(threads)
            results += compiled("fft", x, 300)
    finally:
        set_num_threads(before)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("kind, shape", [
    ("ifft", (291, 130)), ("fft", (97, 60)), ("rfft", (67, 90)), ("irfft", (67, 90)),
    ("fft", (5, 7)), ("rfft", (67, 45)), ("fft", (1, 46656))])
def test_tasks_do_not_overlap(kind, shape):
    """Lines that two tasks write would differ between runs: they are transformed in place."""
    with settings({"fourier.grain": 1e-9}):
        x = operand(kind, *shape, double=True)
        length = shape[-1] if kind != "irfft" else 2 * shape[-1] - 2
        (first,) = compiled(kind, x, length)
        close(first, getattr(np.fft, kind)(x, length))
        for got in compiled(kind, x, length, ways=(run,) * 20):
            np.testing.assert_array_equal(got, first)


def test_roots_are_accurate():
    for n in (7, 8, 1000):
        pi = np.longdouble("3.14159265358979323846264338327950288")
        exact = np.exp(-2j * pi * np.arange(n) / n)
        assert np.max(np.abs(roots(np.arange(n), n) - exact)) < 3e-16


def test_radices_multiply_to_the_length():
    for n in range(1, 1100):
        factors = radices(n)
        largest = max(p for p in range(1, n + 1) if n % p == 0 and all(
            p % q for q in range(2, int(p ** 0.5) + 1)))
        assert (factors is None) == (n > 16 and largest > 61)
        assert factors is None or np.prod(factors) == n


def test_transforms_in_loops_that_read_computed_numbers():
    def f(x):
        return jnp.sum(lax.map(lambda row: jnp.fft.irfft(row, 9), jnp.stack([x, 2 * x])))
    check_function(tanx.grad(f), np.ones(1, np.float32))
    check_function(tanx.grad(lambda x: jnp.sum(jnp.real(lax.map(
        lambda row: jnp.fft.fftn(row), jnp.stack([x, x])))) ** 2), np.ones((3, 2), np.float32))
