"""Polynomials: against NumPy over dtypes and options, with gradients and batches."""

import ml_dtypes
import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tests.numpy.agreement import adjoint, agree, batched, fact, message

RNG = np.random.default_rng(0)
P, Q = RNG.normal(size=(2, 5)).astype(np.float32)
SHORT = np.array([2.0, -1.0, 0.5], np.float32)
X = RNG.uniform(-1, 1, 7).astype(np.float32)
OPERANDS = [(P, Q), (P, SHORT), (SHORT, Q), (np.arange(4), np.array([3, 1])), (P * 1j, SHORT),
            (np.array([True, False, True]), SHORT),
            (P[:1], Q), (P, P[:1])]


@pytest.mark.parametrize("name", ["polyadd", "polysub", "polymul", "polydiv"])
@pytest.mark.parametrize("a, b", OPERANDS, ids=lambda v: f"{v.dtype}{v.shape}")
def test_arithmetic(name, a, b):
    wide = np.result_type(a, b, np.float32)
    want = getattr(np, name)(a.astype(wide), b.astype(wide))
    got = getattr(jnp, name)(a, b)
    if name == "polydiv":
        quotient, rest = got
        agree(quotient, want[0], 1e-5, 1e-5)
        assert rest.shape == a.shape
        agree(rest, np.polysub(a, np.polymul(want[0], b))[-len(a):], 1e-4, 1e-4)
    else:  # NumPy drops leading zeros of products
        agree(got[got.size - want.size:], want, 1e-5, 1e-5)
        assert not got[:got.size - want.size].any()


@pytest.mark.parametrize("name", ["polyadd", "polysub", "polymul"])
def test_arithmetic_under_transformations(name):
    adjoint(getattr(jnp, name), P, SHORT)
    batched(getattr(jnp, name), P, SHORT)


@pytest.mark.parametrize("p, x", [
    (P, X), (P, X.reshape(7, 1)), (P, 2.5), (np.arange(4), np.arange(-2, 3)), (P * 1j, X),
    (P, X.astype(np.float16)), (np.zeros(0, np.float32), X), (P[:1], X),
    (np.stack([P, Q], 1), X[:2])], ids=lambda v: f"{np.asarray(v).dtype}{np.shape(v)}")
def test_values(p, x):
    agree(jnp.polyval(p, x), np.polyval(p, x), 1e-5, 1e-5)


def test_values_under_transformations():
    adjoint(jnp.polyval, P, X)
    batched(jnp.polyval, P, X)
    agree(tanx.grad(jnp.polyval, 1)(P, 0.5), np.polyval(np.polyder(P), 0.5))
    agree(tanx.grad(tanx.grad(jnp.polyval, 1), 1)(P, 0.5), np.polyval(np.polyder(P, 2), 0.5), 1e-5)


@pytest.mark.parametrize("m", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("p", [P, np.arange(6), P * 1j, P[:1]], ids=lambda v: str(v.dtype))
def test_derivatives_and_integrals(p, m):
    agree(jnp.polyder(p, m), np.polyder(p, m), 1e-5, 1e-5)
    agree(jnp.polyint(p, m), np.polyint(p, m), 1e-5, 1e-5)
    agree(jnp.polyint(p, m, 2.5), np.polyint(p, m, 2.5) if m else p, 1e-5, 1e-5)
    if m:
        constants = np.arange(1.0, m + 1)
        agree(jnp.polyint(p, m, constants), np.polyint(p, m, constants), 1e-5, 1e-5)


def test_derivatives_and_integrals_under_transformations():
    for function in (jnp.polyder, jnp.polyint, lambda p: jnp.polyder(p, 2)):
        adjoint(function, P)
        batched(function, P)
    adjoint(lambda p, k: jnp.polyint(p, 2, k), P, np.array([1.0, 2.0]))


@pytest.mark.parametrize("zeros", [
    X[:4], np.array([1, -2, 3]), X[:3] + 1j, np.zeros(0, np.float32),
    np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)], ids=lambda v: f"{v.dtype}{v.shape}")
def test_polynomials_from_their_zeros(zeros):
    agree(jnp.poly(zeros), np.poly(zeros), 1e-5, 1e-5)


def test_zeros_under_transformations():
    adjoint(jnp.poly, X[:4])
    batched(jnp.poly, X[:4])


@pytest.mark.parametrize("p", [
    [1, -3, 2], [0, 0, 1, -3, 2, 0, 0], [2.0], [], [0.0, 0.0], [1, 0, 0, 0], [1, 0, 1],
    [3.0, 1j, 2, -1]], ids=str)
def test_roots(p):
    p = np.array(p)
    want = np.sort_complex(np.roots(p))
    agree(np.sort_complex(np.asarray(jnp.roots(p))), want, 1e-4, 1e-4)
    padded = np.sort_complex(np.asarray(tanx.jit(lambda p: jnp.roots(p, strip_zeros=False))(p)))
    assert padded.shape == (max(0, p.size - 1),)
    agree(padded[:want.size], want, 1e-4, 1e-4)
    assert np.isnan(padded[want.size:]).all()


def test_zeros_without_leading_coefficients_come_first():
    got = jnp.roots(jnp.array([0.0, 2.0, -4.0, 0.0]), strip_zeros=False)
    agree(got, [2, 0, np.nan * 1j + np.nan])


def test_roots_move_with_coefficients():
    slope = tanx.grad(lambda c: jnp.roots(jnp.array([1.0, 0.0, c]), strip_zeros=False).real.max())
    agree(slope(-4.0), -0.25)


@pytest.mark.parametrize("options", [
    {}, {"full": True}, {"cov": True}, {"cov": "unscaled"}, {"w": np.arange(1.0, 13)},
    {"rcond": 1e-3}, {"w": np.arange(1.0, 13), "cov": True}], ids=str)
@pytest.mark.parametrize("columns", [None, 2])
def test_fits(options, columns):
    x = np.linspace(-1, 2, 12)
    y = np.random.default_rng(1).normal(size=(12, columns) if columns else 12)
    with tanx.enable_x64(True):
        got, want = jnp.polyfit(x, y, 3, **options), np.polyfit(x, y, 3, **options)
        agree(got, want, 1e-8, 1e-10)
        adjoint(lambda x, y: jnp.polyfit(x, y, 2), x, y)


def test_fits_of_integers_and_complex_numbers():
    agree(jnp.polyfit(jnp.arange(5), jnp.arange(5) ** 2, 2), [1, 0, 0], 1e-4, 1e-4)
    x = X * (1 + 1j)
    agree(jnp.polyfit(X, x, 1), [1 + 1j, 0], 1e-4, 1e-4)


def test_types_of_results():
    whole = jnp.array([1, 2, 3])
    assert fact(jnp.polyval(whole, 2)) == "int32[]"
    assert fact(jnp.polyadd(whole, whole)) == "int32[3]"
    assert fact(jnp.polymul(whole, whole)) == "float32[5]"
    assert fact(jnp.polyder(whole)) == "float32[2]"
    assert fact(jnp.polyint(jnp.ones(3, "bfloat16"))) == "bfloat16[4]"
    assert fact(jnp.roots(whole)) == "complex64[2]"
    assert fact(lax.polynomial(2.0, [1.0, 2.0])) == "~float32[]"


def test_jaxprs():
    jaxpr = tanx.make_jaxpr(lambda x: lax.polynomial(x, [1.0, 2.0]))(jnp.ones(2))
    assert str(jaxpr) == (
        "{ lambda ; a:f32[2]. let b:f32[2] = polynomial a 1.0:f32[] 2.0:f32[] in (b,) }")


def test_polynomials_of_narrow_floats_are_rounded_once():
    x = X.astype(ml_dtypes.bfloat16)
    c = [np.float32(v).astype(ml_dtypes.bfloat16) for v in P]
    want = np.polyval(np.array(c[::-1]).astype(np.float64), x.astype(np.float64))
    for way in (lax.polynomial, tanx.jit(lax.polynomial)):
        np.testing.assert_array_equal(way(x, c), want.astype(ml_dtypes.bfloat16))


MISTAKES = [
    (TypeError, lambda: jnp.polyadd(1, P), """\
tanx.numpy.polyadd: polynomials are vectors of coefficients.
  argument 0: float32[]
  Hint: a constant is a vector of one: x[None]."""),
    (ValueError, lambda: jnp.polyder(P, -1), """\
tanx.numpy.polyder: the order must not be negative.
  m: -1"""),
    (ValueError, lambda: jnp.polyint(P, 2, X[:3]), """\
tanx.numpy.polyint: k must be a number, or a vector of m numbers.
  k: float32[3]
  m: 2"""),
    (ValueError, lambda: jnp.roots(X[None]), """\
tanx.numpy.roots: needs a vector of coefficients.
  p: float32[1,7]"""),
    (ValueError, lambda: jnp.poly(jnp.ones((2, 3))), """\
tanx.numpy.poly: needs a vector or a square matrix.
  seq_of_zeros: float32[2,3]"""),
    (TypeError, lambda: jnp.polyfit(X, P, 1), """\
tanx.numpy.polyfit: y must have a value, or a row of them, for each x.
  x: float32[7]
  y: float32[5]"""),
    (TypeError, lambda: jnp.polyfit(P, P, 1, w=X), """\
tanx.numpy.polyfit: w must have a weight for each x.
  x: float32[5]
  y: float32[5]
  w: float32[7]"""),
    (ValueError, lambda: jnp.polyfit(P, P, 4, cov=True), """\
tanx.numpy.polyfit: a scaled covariance needs more points than coefficients.
  points: 5
  deg:    4
  Hint: ask for cov='unscaled'."""),
]


@pytest.mark.parametrize("error, call, text", MISTAKES)
def test_mistakes(error, call, text):
    message(error, call, text)


def test_roots_under_jit_say_what_to_do():
    with pytest.raises(tanx.errors.ConcretizationTypeError, match="strip_zeros=False"):
        tanx.jit(jnp.roots)(P)
