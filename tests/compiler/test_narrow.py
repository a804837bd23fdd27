"""Narrow floats in vectors: each instruction rounds, and equals NumPy to the last bit."""

import ml_dtypes
import numpy as np
import pytest

from tanx._loops.build import convert, op

from .compiled import run_rule

BFLOAT = np.dtype(ml_dtypes.bfloat16)
ALL = np.arange(1 << 16, dtype=np.uint16).view(BFLOAT)


def agree(out, expected):
    """Check that bits are equal, or both are NaN."""
    both = np.isnan(out.astype(np.float32)) & np.isnan(expected.astype(np.float32))
    np.testing.assert_array_equal(np.where(both, 0, out.view(np.uint16)),
                                  np.where(both, 0, expected.view(np.uint16)))


def near_halves() -> np.ndarray:
    """Numbers at, below and above the middle between neighbours, including subnormal ones."""
    middle = (np.arange(1 << 16, dtype=np.uint32) << 16) + 0x8000
    bits = np.concatenate([middle - 1, middle, middle + 1, middle - 0x8000, middle ^ 0xffff])
    return bits.astype(np.uint32).view(np.float32)


def test_rounding_to_bfloat16():
    x = near_halves()
    (out,) = run_rule(lambda at, x: convert(x[at], BFLOAT), [x], np.empty(x.shape, BFLOAT))
    with np.errstate(all="ignore"):
        agree(out, x.astype(BFLOAT))


@pytest.mark.parametrize("name, ufunc", [("add", np.add), ("sub", np.subtract),
                                         ("mul", np.multiply), ("div", np.divide)])
def test_each_element_with_another(name, ufunc):
    x, y = ALL, np.random.default_rng(0).permutation(ALL)
    (out,) = run_rule(lambda at, x, y: op(name, x[at], y[at]), [x, y], x)
    with np.errstate(all="ignore"):
        agree(out, ufunc(x.astype(np.float32), y.astype(np.float32)).astype(BFLOAT))


@pytest.mark.parametrize("exponent", [0, 1, 2, 62, 63, 64, 65, 100, 127, 128, 200, 253, 254, 255])
def test_division_of_many_by_one(exponent):
    """Division by an inverse must have the exact result, also for extreme divisors."""
    by = ALL[exponent << 7:][:128]
    by = np.concatenate([by, -by])
    x = ALL[np.random.default_rng(exponent).integers(0, 1 << 16, 1500)]
    (out,) = run_rule(lambda at, x, by: op("div", x[[at[1]]], by[[at[0]]]), [x, by],
                      np.empty((len(by), len(x)), BFLOAT))
    with np.errstate(all="ignore"):
        agree(out, (x.astype(np.float32) / by.astype(np.float32)[:, None]).astype(BFLOAT))


@pytest.mark.parametrize("n", [1, 3, 7, 31, 32, 33, 100])
def test_lengths_that_fill_no_vectors(n):
    x = ALL[np.random.default_rng(n).integers(0x3f00, 0x4100, (3, n))]
    (out,) = run_rule(lambda at, x: x[at] * x[at] + x[at], [x], x)
    f = x.astype(np.float32)
    agree(out, ((f * f).astype(BFLOAT).astype(np.float32) + f).astype(BFLOAT))


HALF = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


@pytest.mark.parametrize("name, ufunc", [
    ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide),
    ("max", np.maximum), ("min", np.minimum), ("sqrt", np.sqrt), ("neg", np.negative)])
def test_float16(name, ufunc):
    """Computed as in float32 and rounded, including subnormal numbers and infinities."""
    args = [HALF, np.random.default_rng(0).permutation(HALF)][:ufunc.nin]
    (out,) = run_rule(lambda at, *xs: op(name, *(x[at] for x in xs)), args, HALF)
    with np.errstate(all="ignore"):
        agree(out, ufunc(*(x.astype(np.float32) for x in args)).astype(np.float16))


def test_chains_of_float16_round_each_time():
    x, y = HALF[0x3000:0x5000], HALF[0x2000:0x4000]
    (out,) = run_rule(lambda at, x, y: (x[at] * y[at] + y[at]) * x[at] - y[at], [x, y], x)
    with np.errstate(all="ignore"):
        agree(out, (x * y + y) * x - y)
