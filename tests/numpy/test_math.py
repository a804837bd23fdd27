"""Elementwise functions: values against NumPy, types against those of JAX."""

import operator

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp

RNG = np.random.default_rng(0)
SPREAD = np.array([-7.5, -3.0, -1.0, -0.5, -0.0, 0.0, 0.25, 1.0, 2.0, 6.5])
INSIDE = np.linspace(-0.99, 0.99, 10)
POSITIVE = np.linspace(0.1, 9.0, 10)
ABOVE_ONE = np.linspace(1.0, 9.0, 10)

# name: (values of the argument, NumPy's function if its name differs)
INEXACT = {
    "sqrt": POSITIVE, "cbrt": SPREAD, "reciprocal": POSITIVE, "exp": SPREAD, "exp2": SPREAD,
    "expm1": SPREAD, "log": POSITIVE, "log1p": POSITIVE, "log2": POSITIVE, "log10": POSITIVE,
    "sin": SPREAD, "cos": SPREAD, "tan": SPREAD, "arcsin": INSIDE, "arccos": INSIDE,
    "arctan": SPREAD, "sinh": SPREAD, "cosh": SPREAD, "tanh": SPREAD, "arcsinh": SPREAD,
    "arccosh": ABOVE_ONE, "arctanh": INSIDE, "deg2rad": SPREAD, "rad2deg": SPREAD,
    "sinc": SPREAD, "fabs": SPREAD, "rint": SPREAD,
}
KEEPING = {
    "negative": SPREAD, "positive": SPREAD, "absolute": SPREAD, "sign": SPREAD, "square": SPREAD,
    "floor": SPREAD, "ceil": SPREAD, "trunc": SPREAD, "real": SPREAD, "imag": SPREAD,
    "conjugate": SPREAD, "round": SPREAD, "nan_to_num": SPREAD,
}
ALIASES = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "around": "round", "asin": "arcsin",
    "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh",
    "bitwise_invert": "invert", "bitwise_left_shift": "left_shift", "bitwise_not": "invert",
    "bitwise_right_shift": "right_shift", "conj": "conjugate", "degrees": "rad2deg",
    "mod": "remainder", "pow": "power", "radians": "deg2rad", "true_divide": "divide",
}
NOT_COMPLEX = {"cbrt", "deg2rad", "rad2deg", "fabs", "floor", "ceil", "trunc"}
TOLERANCE = {"float16": 2e-3, "float32": 3e-6, "complex64": 1e-5}


def close(got, want):
    got = np.asarray(got)
    np.testing.assert_allclose(got.astype(np.result_type(got.dtype, np.float64)), want,
                               rtol=TOLERANCE.get(str(got.dtype), 0),
                               atol=TOLERANCE.get(str(got.dtype), 0))


def reference(name, x):
    """NumPy's result, in double precision if it is not an integer."""
    whole = np.int8 if x.dtype == bool else x.dtype
    wide = x.astype(np.result_type(x, np.float64) if name in INEXACT else whole)
    with np.errstate(all="ignore"):
        if name == "sign" and x.dtype.kind == "c":
            return wide / np.abs(wide)
        return 1 / wide if name == "reciprocal" else getattr(np, name)(wide)


def result_dtype(name, dtype):
    """JAX's dtype: some functions of integers return floats, some of complex numbers real parts."""
    if dtype == "complex64":
        return "float32" if name in ("absolute", "real", "imag") else dtype
    if dtype in ("int32", "uint8", "bool") and name in INEXACT:
        return "float32"
    return "int32" if (name, dtype) == ("square", "bool") else dtype


@pytest.mark.parametrize("name, dtype", [
    (name, dtype) for name in (*INEXACT, *KEEPING)
    for dtype in ("float16", "float32", "int32", "uint8", "bool", "complex64")
    if not (dtype == "complex64" and name in NOT_COMPLEX)
    and not (dtype == "bool" and name in ("negative", "sign"))])
def test_functions_of_one_operand_agree_with_numpy(name, dtype):
    values = (INEXACT | KEEPING)[name]
    x = (np.abs(values) if dtype == "uint8" else values).astype(dtype)
    x = x + x.dtype.type(0.5j) if dtype == "complex64" else x
    got, want = getattr(jnp, name)(jnp.array(x)), reference(name, x)
    if np.isfinite(want).all():
        close(got, want)
    assert (got.dtype, got.weak_type, got.shape) == (result_dtype(name, dtype), False, x.shape)


BINARY = {
    "add": (SPREAD, SPREAD[::-1]), "subtract": (SPREAD, SPREAD[::-1]),
    "multiply": (SPREAD, SPREAD[::-1]), "divide": (SPREAD, POSITIVE),
    "floor_divide": (SPREAD, POSITIVE * np.resize([1, -1], 10)),
    "remainder": (SPREAD, POSITIVE * np.resize([1, -1], 10)),
    "fmod": (SPREAD, POSITIVE * np.resize([1, -1], 10)), "float_power": (POSITIVE, SPREAD),
    "logaddexp": (SPREAD, SPREAD[::-1]), "logaddexp2": (SPREAD, SPREAD[::-1]),
    "arctan2": (SPREAD, SPREAD[::-1]), "hypot": (SPREAD, SPREAD[::-1]),
    "copysign": (SPREAD, SPREAD[::-1]), "heaviside": (SPREAD, POSITIVE),
    "maximum": (SPREAD, SPREAD[::-1]), "minimum": (SPREAD, SPREAD[::-1]),
    "fmax": (SPREAD, SPREAD[::-1]), "fmin": (SPREAD, SPREAD[::-1]),
}
TO_FLOAT = {"divide", "float_power", "logaddexp", "logaddexp2", "arctan2", "hypot", "copysign",
            "heaviside"}


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_operands_agree_with_numpy(name, dtype):
    x, y = (v.astype(dtype) for v in BINARY[name])
    if dtype == "int32" and name in ("floor_divide", "remainder", "fmod", "divide"):
        y = np.where(y == 0, 3, y)
    wide = [v.astype(np.float64) if name in TO_FLOAT else v for v in (x, y)]
    with np.errstate(all="ignore"):
        want = getattr(np, name)(*wide)
    got = getattr(jnp, name)(jnp.array(x), jnp.array(y))
    close(got, want)
    assert got.dtype == ("float32" if name in TO_FLOAT else dtype)
    assert getattr(jnp, name)(jnp.array(x)[:, None], jnp.array(y)[None]).shape == (10, 10)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift",
                                  "right_shift"])
@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_bits_agree_with_numpy(name, dtype):
    x, y = np.array([0, 1, 5, 100], dtype), np.array([3, 1, 2, 4], dtype)
    np.testing.assert_array_equal(getattr(jnp, name)(jnp.array(x), jnp.array(y)),
                                  getattr(np, name)(x, y))


def test_other_names_are_the_same_functions():
    for name, original in ALIASES.items():
        assert getattr(jnp, name).__name__ == name
        assert getattr(jnp, name).__doc__.splitlines()[0] == (
            getattr(jnp, original).__doc__.splitlines()[0]) or name == "around"


@pytest.mark.parametrize("function", [operator.floordiv, operator.mod, divmod])
def test_division_follows_pythons_rule(function):
    for dtype in (np.int32, np.float32):
        x = np.array([-7, -6, 7, 6, 0], dtype)
        for divisor in (3, -3):
            got, want = function(jnp.array(x), divisor), function(x, dtype(divisor))
            for a, b in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, want))):
                np.testing.assert_array_equal(a, b)


def test_division_by_zero_does_not_raise():
    assert int(jnp.remainder(5, 0)) == 0
    assert np.isnan(float(jnp.remainder(5.0, 0.0)))
    assert float(jnp.floor_divide(5.0, 0.0)) == np.inf


def test_integer_powers():
    x, n = np.arange(-4, 5), np.arange(0, 9)
    np.testing.assert_array_equal(jnp.power(jnp.array(x), jnp.array(n)), x**n)
    np.testing.assert_array_equal(jnp.array(x) ** 3, x**3)
    np.testing.assert_allclose(jnp.array([1.0, 2.0]) ** -2, [1.0, 0.25])
    assert (jnp.array([2.0, 3.0]) ** jnp.array([2, 3])).tolist() == [4.0, 27.0]


def test_a_power_of_two_ranks_keeps_whole_exponents():
    out = tanx.grad(lambda x: jnp.sum(x ** jnp.zeros((2, 1), int)))(jnp.zeros(3))
    np.testing.assert_array_equal(out, np.zeros(3))


@pytest.mark.parametrize("x, y", [(3e30, 4e30), (3e-30, 4e-30), (0.0, 0.0), (np.inf, np.nan),
                                  (-3.0, 4.0)])
def test_hypot_neither_overflows_nor_underflows(x, y):
    np.testing.assert_allclose(jnp.hypot(x, y), np.hypot(x, y), rtol=1e-6)


@pytest.mark.parametrize("x, y", [(np.inf, np.inf), (-np.inf, -np.inf), (np.inf, 0.0),
                                  (0.0, -np.inf), (1e4, 1e4), (np.nan, 0.0)])
def test_logaddexp_at_the_edges(x, y):
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(jnp.logaddexp(x, y), np.logaddexp(x, y), rtol=1e-6)
        np.testing.assert_allclose(jnp.logaddexp2(x, y), np.logaddexp2(x, y), rtol=1e-6)


@pytest.mark.parametrize("x, y, share", [(1.0, 1.0, 0.5), (0.0, -np.inf, 1.0),
                                         (0.0, np.log(3.0), 0.25)])
def test_the_gradient_of_logaddexp_is_a_share(x, y, share):
    assert tanx.grad(jnp.logaddexp)(x, y) == pytest.approx(share)
    assert tanx.grad(jnp.logaddexp, 1)(x, y) == pytest.approx(1 - share)


def test_complex_logaddexp():
    x, y = np.array([1 + 2j, -3j]), np.array([0.5 - 1j, 2.0])
    np.testing.assert_allclose(jnp.logaddexp(jnp.array(x), jnp.array(y)),
                               np.log(np.exp(x) + np.exp(y)), rtol=1e-5)


def test_sinc_and_its_derivatives_at_zero_and_at_integers():
    derivative = jnp.sinc
    for want in (1.0, 0.0, -np.pi**2 / 3, 0.0, np.pi**4 / 5):
        assert float(derivative(0.0)) == pytest.approx(want, rel=1e-5)
        derivative = tanx.grad(derivative)
    assert jnp.sinc(jnp.arange(1.0, 5.0)).tolist() == [0.0] * 4
    assert float(tanx.grad(jnp.sinc)(1.0)) == pytest.approx(-1.0)
    assert float(jnp.sinc(jnp.inf)) == 0.0
    np.testing.assert_allclose(jnp.sinc(jnp.array([0.1j, 1 + 2j])), np.sinc([0.1j, 1 + 2j]), 1e-5)


def test_clip():
    x = np.arange(-3, 4)
    for bounds in ((-1, 2), (None, 1), (0, None), (None, None), (2, -1)):
        want = x if bounds == (None, None) else np.clip(x, *bounds)
        np.testing.assert_array_equal(jnp.clip(jnp.array(x), *bounds), want)
    np.testing.assert_array_equal(jnp.clip(jnp.array(x), min=1), np.clip(x, 1, None))
    assert jnp.clip(jnp.array(x), 0.5, 2).dtype == "float32"


def test_nan_to_num():
    x = jnp.array([np.nan, np.inf, -np.inf, 1.0])
    assert jnp.nan_to_num(x, nan=5, posinf=6, neginf=7).tolist() == [5, 6, 7, 1]
    assert jnp.nan_to_num(x).tolist() == np.nan_to_num(np.asarray(x)).tolist()
    assert jnp.nan_to_num(jnp.array([np.nan + 1j])).tolist() == [1j]


@pytest.mark.parametrize("options", [{}, {"period": 6.0}, {"discont": 4.0}, {"axis": 0}])
def test_unwrap(options):
    x = np.cumsum(RNG.normal(size=(5, 7)) * 3, axis=-1)
    np.testing.assert_allclose(jnp.unwrap(jnp.array(x), **options), np.unwrap(x, **options),
                               rtol=1e-4, atol=1e-5)


def test_angle():
    z = np.array([1, 1j, -1, -1 - 1j])
    np.testing.assert_allclose(jnp.angle(jnp.array(z)), np.angle(z), rtol=1e-6)
    np.testing.assert_allclose(jnp.angle(jnp.array(z), deg=True), np.angle(z, deg=True), rtol=1e-6)
    np.testing.assert_allclose(jnp.angle(jnp.array([-1, 1])), [np.pi, 0], rtol=1e-6)


def test_bitwise_count():
    x = np.array([-8, -1, 0, 7, 2**31 - 1], np.int32)
    got = jnp.bitwise_count(jnp.array(x))
    np.testing.assert_array_equal(got, np.bitwise_count(x))
    assert got.dtype == "uint8"


# -- rounding and the parts of floats --------------------------------------------------------------


EDGES = np.array([0.0, -0.0, 1e-45, -1e-40, 1.2e-38, 1.5, -3.0, 3e38, np.inf, -np.inf, np.nan],
                 np.float32)


def test_frexp_and_ldexp_are_exact_everywhere():
    mantissa, exponent = jnp.frexp(jnp.array(EDGES))
    want = np.frexp(EDGES)
    np.testing.assert_array_equal(mantissa, want[0])
    np.testing.assert_array_equal(exponent[:-3], want[1][:-3])
    np.testing.assert_array_equal(jnp.ldexp(mantissa, exponent), EDGES)


@pytest.mark.parametrize("n", [-400, -276, -150, -149, -24, -1, 0, 1, 100, 276, 400, 2**31 - 1])
def test_ldexp_rounds_once(n):
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_array_equal(jnp.ldexp(jnp.array(EDGES), n), np.ldexp(EDGES, n))


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_frexp_of_narrow_floats(dtype):
    x = jnp.array([3.0, 0.1, -7.0], dtype)
    mantissa, exponent = jnp.frexp(x)
    assert (mantissa.dtype, exponent.dtype) == (dtype, "int32")
    assert (jnp.ldexp(mantissa, exponent) == x).all()


@pytest.mark.parametrize("name", ["signbit", "spacing"])
def test_tests_of_floats_agree_with_numpy(name):
    x = np.delete(EDGES[:-3], 1)  # the spacing at -0.0 is negative here, as in JAX
    np.testing.assert_array_equal(getattr(jnp, name)(jnp.array(x)), getattr(np, name)(x))


def test_nextafter_and_copysign():
    x, y = EDGES[:-1], EDGES[::-1][1:]
    np.testing.assert_array_equal(jnp.nextafter(jnp.array(x), jnp.array(y)), np.nextafter(x, y))
    np.testing.assert_array_equal(jnp.copysign(jnp.array(x), jnp.array(y)), np.copysign(x, y))


def test_modf():
    x = np.array([1.5, -2.25, 3.0, -0.5], np.float32)
    for got, want in zip(jnp.modf(jnp.array(x)), np.modf(x)):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_round_to_decimals(decimals, dtype):
    x = np.array([123.456, -0.5, 1.5, 2.5, 45.678])
    x = (x + 1j * x if dtype == "complex64" else x).astype(dtype)
    want = np.round(x.astype(np.complex128 if dtype == "complex64" else np.float64), decimals)
    got = jnp.round(jnp.array(x), decimals)
    np.testing.assert_allclose(np.asarray(got), want, rtol=2e-3 if dtype == "float16" else 1e-6)
    assert got.dtype == dtype


# -- types -----------------------------------------------------------------------------------------


FACTS = {
    "jnp.abs(-1)": "Array(1, dtype=int32, weak_type=True)",
    "jnp.abs(1j)": "Array(1., dtype=float32, weak_type=True)",
    "jnp.add(jnp.int8(1), 1)": "Array(2, dtype=int8)",
    "jnp.add(jnp.int8(1), 1.0)": "Array(2., dtype=float32, weak_type=True)",
    "jnp.add(jnp.array([1, 2]), 1.5)": "Array([2.5, 3.5], dtype=float32, weak_type=True)",
    "jnp.add(jnp.uint8(1), jnp.int8(1))": "Array(2, dtype=int16)",
    "jnp.add(True, True)": "Array(True, dtype=bool)",
    "jnp.angle(-1)": "Array(3.1415927, dtype=float32)",
    "jnp.angle(-1+0j)": "Array(3.1415927, dtype=float32, weak_type=True)",
    # Only integers: the last digit of NumPy's other results differs between processors.
    "jnp.arctan2(0, 1)": "Array(0., dtype=float32, weak_type=True)",
    "jnp.clip(1, min=2)": "Array(2, dtype=int32, weak_type=True)",
    "jnp.copysign(1, -2)": "Array(-1., dtype=float32, weak_type=True)",
    "jnp.divide(True, True)": "Array(1., dtype=float32)",
    "jnp.divmod(5, 2)": ("(Array(2, dtype=int32, weak_type=True), "
                         "Array(1, dtype=int32, weak_type=True))"),
    "jnp.float_power(2, 3)": "Array(8., dtype=float32, weak_type=True)",
    "jnp.floor(True)": "Array(True, dtype=bool)",
    "jnp.floor_divide(True, True)": "Array(1, dtype=int32)",
    "jnp.fmin(1, jnp.nan)": "Array(1., dtype=float32, weak_type=True)",
    "jnp.frexp(1.5)": "(Array(0.75, dtype=float32), Array(1, dtype=int32))",
    "jnp.heaviside(0, 0.5)": "Array(0.5, dtype=float32, weak_type=True)",
    "jnp.imag(1)": "Array(0, dtype=int32, weak_type=True)",
    "jnp.isreal(1.)": "Array(True, dtype=bool, weak_type=True)",
    "jnp.ldexp(1.5, 2)": "Array(6., dtype=float32)",
    "jnp.left_shift(True, 1)": "Array(2, dtype=int32, weak_type=True)",
    "jnp.log10(1000.)": "Array(3., dtype=float32)",
    "jnp.log2(8)": "Array(3., dtype=float32, weak_type=True)",
    "jnp.logaddexp(200, 2)": "Array(200., dtype=float32, weak_type=True)",
    "jnp.maximum(1j, 2)": "Array(2.+0.j, dtype=complex64, weak_type=True)",
    "jnp.modf(1.5)": ("(Array(0.5, dtype=float32, weak_type=True), "
                      "Array(1., dtype=float32, weak_type=True))"),
    "jnp.multiply(True, False)": "Array(False, dtype=bool)",
    "jnp.nan_to_num(1.)": "Array(1., dtype=float32)",
    "jnp.nan_to_num(1)": "Array(1, dtype=int32, weak_type=True)",
    "jnp.power(2, 3)": "Array(8, dtype=int32, weak_type=True)",
    "jnp.power(2., jnp.array([1, 2]))": "Array([2., 4.], dtype=float32)",
    "jnp.power(2., jnp.array([True, False]))": "Array([2., 1.], dtype=float32, weak_type=True)",
    "jnp.power(jnp.int8(3), jnp.int32(2))": "Array(9, dtype=int8)",
    "jnp.power(jnp.float16(3), jnp.array([2]))": "Array([9.], dtype=float16)",
    "jnp.power(jnp.array([True]), 2)": "Array([1], dtype=int32)",
    "jnp.right_shift(jnp.uint8(255), 9)": "Array(0, dtype=uint8)",
    "jnp.right_shift(-1, 40)": "Array(-1, dtype=int32, weak_type=True)",
    "jnp.rint(1)": "Array(1., dtype=float32)",
    "jnp.rint(1.5+2.5j)": "Array(2.+2.j, dtype=complex64, weak_type=True)",
    "jnp.round(2.5)": "Array(2., dtype=float32, weak_type=True)",
    "jnp.round(1)": "Array(1, dtype=int32, weak_type=True)",
    "jnp.sign(1+1j)": "Array(0.70710677+0.70710677j, dtype=complex64, weak_type=True)",
    "jnp.signbit(True)": "Array(False, dtype=bool)",
    "jnp.sinc(0.)": "Array(1., dtype=float32, weak_type=True)",
    "jnp.spacing(1)": "Array(1.1920929e-07, dtype=float32)",
    "jnp.square(True)": "Array(1, dtype=int32)",
    "jnp.true_divide(1, 2)": "Array(0.5, dtype=float32, weak_type=True)",
    "jnp.unwrap(jnp.array([0, 3]))": "Array([0., 3.], dtype=float32)",
}


@pytest.mark.parametrize("expression", FACTS)
def test_types_match_jax(expression):
    assert repr(eval(expression)) == FACTS[expression]


@pytest.mark.parametrize("name, narrow, wide", [
    ("sin", "float32", "float64"), ("rint", "float64", "float64"), ("angle", "float64", "float64"),
    ("modf", "float32", "float64"), ("frexp", "float32", "float64"),
    ("sinc", "float32", "float64"), ("spacing", "float32", "float64"),
    ("unwrap", "float64", "float64"), ("trunc", None, None)])
def test_types_with_64_bits_enabled(name, narrow, wide):
    kept = dict.fromkeys(("float16", "bfloat16", "float32", "float64"))
    with tanx.enable_x64(True):
        for dtype, want in {"bool": narrow, "int8": narrow, "int32": narrow, "int64": wide,
                            **kept}.items():
            got = getattr(jnp, name)(jnp.ones(3, dtype))
            assert (got[0] if isinstance(got, tuple) else got).dtype == (want or dtype)


# -- transformations -------------------------------------------------------------------------------


SMOOTH = {
    "sqrt": 1.3, "cbrt": 1.3, "reciprocal": 1.3, "exp": 0.3, "exp2": 0.3, "expm1": 0.3, "log": 1.3,
    "log1p": 1.3, "log2": 1.3, "log10": 1.3, "sin": 0.3, "cos": 0.3, "tan": 0.3, "arcsin": 0.3,
    "arccos": 0.3, "arctan": 0.3, "sinh": 0.3, "cosh": 0.3, "tanh": 0.3, "arcsinh": 0.3,
    "arccosh": 1.3, "arctanh": 0.3, "deg2rad": 1.3, "rad2deg": 1.3, "sinc": 2.3, "square": 1.3,
    "absolute": -1.3, "negative": 1.3,
}
SMOOTH_PAIRS = {
    "add": (1.3, 0.4), "subtract": (1.3, 0.4), "multiply": (1.3, 0.4), "divide": (1.3, 0.4),
    "power": (1.3, 0.4), "float_power": (1.3, 0.4), "logaddexp": (1.3, 0.4), "hypot": (1.3, 0.4),
    "logaddexp2": (1.3, 0.4), "arctan2": (1.3, 0.4), "remainder": (1.3, 0.4), "fmod": (1.3, 0.4),
    "maximum": (1.3, 0.4), "minimum": (1.3, 0.4), "fmax": (1.3, 0.4), "fmin": (1.3, 0.4),
    "copysign": (1.3, -0.4), "clip": (1.3, 0.4),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_agree_with_finite_differences(name):
    f, x, h = getattr(jnp, name), SMOOTH[name], 1e-5
    with tanx.enable_x64(True):
        x = jnp.float64(x)
        numeric = (f(x + h) - f(x - h)) / (2 * h)
        np.testing.assert_allclose(tanx.grad(f)(x), numeric, rtol=1e-6)
        np.testing.assert_allclose(tanx.jvp(f, (x,), (jnp.ones_like(x),))[1], numeric, rtol=1e-6)


@pytest.mark.parametrize("name", SMOOTH_PAIRS)
def test_gradients_of_two_operands_agree_with_finite_differences(name):
    f, (a, b), h = getattr(jnp, name), SMOOTH_PAIRS[name], 1e-5
    with tanx.enable_x64(True):
        x, y = jnp.float64(a), jnp.float64(b)
        numeric = [(f(x + h, y) - f(x - h, y)) / (2 * h), (f(x, y + h) - f(x, y - h)) / (2 * h)]
        np.testing.assert_allclose(tanx.grad(f, (0, 1))(x, y), numeric, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["frexp", "modf"])
def test_gradients_of_parts(name):
    f = lambda x: getattr(jnp, name)(x)[0]
    assert float(tanx.grad(f)(3.25)) == (0.25 if name == "frexp" else 1.0)


@pytest.mark.parametrize("name", [*SMOOTH, "floor_divide", "remainder", "hypot", "logaddexp",
                                  "ldexp", "clip", "power", "heaviside", "unwrap"])
def test_mapped_functions_agree_with_a_loop(name):
    x = np.abs(RNG.normal(size=(3, 4))).astype(np.float32) + (name == "arccosh")
    x = x % 1 if name in ("arcsin", "arccos", "arctanh") else x
    f = getattr(jnp, name)
    if name not in SMOOTH and name != "unwrap":
        y = jnp.array([1, 2, 3, 1]) if name == "ldexp" else jnp.array([0.5, 1.5, 2.0, 3.0])
        f = lambda x, f=f, y=y: f(x, y)
    want = np.stack([f(jnp.array(row)) for row in x])
    np.testing.assert_allclose(tanx.vmap(f)(jnp.array(x)), want, rtol=1e-6)
    np.testing.assert_allclose(tanx.jit(f)(jnp.array(x)[0]), want[0], rtol=1e-6)


def test_numbers_are_literals_and_library_functions_are_calls():
    jaxpr = tanx.make_jaxpr(lambda x: jnp.clip(2 * x + 1.5, 0, 1))(jnp.zeros(3))
    assert str(jaxpr) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = mul 2.0:f32[] a
    c:f32[3] = add b 1.5:f32[]
    d:f32[3] = jit[
      name=clip
      jaxpr={ lambda ; c:f32[3] e:i32[] f:i32[]. let
          g:f32[] = convert_element_type[new_dtype=float32 weak_type=False] e
          h:f32[3] = max g c
          i:f32[] = convert_element_type[new_dtype=float32 weak_type=False] f
          d:f32[3] = min i h
        in (d,) }
    ] c 0:i32[] 1:i32[]
  in (d,) }"""


# -- errors ----------------------------------------------------------------------------------------


ERRORS = [
    (lambda: jnp.sin([1, 2]), TypeError, """\
tanx.numpy.sin: needs arrays or numbers, but argument 0 is a list.
  argument 0: [1, 2]
  Hint: wrap it in tanx.numpy.array(...); lists are not converted implicitly."""),
    (lambda: jnp.add(1, None), TypeError, """\
tanx.numpy.add: needs arrays or numbers, but argument 1 is a NoneType.
  argument 1: None
  Hint: the argument is missing or None."""),
    (lambda: jnp.sin(np.array(["a"])), TypeError, """\
tanx.numpy.sin: arrays hold booleans or numbers.
  argument 0: array(['a'], dtype='<U1')"""),
    (lambda: jnp.zeros(3) + jnp.zeros(4), TypeError, """\
tanx.numpy.add: operands have incompatible shapes for broadcasting.
  operand 0: float32[3]
  operand 1: float32[4]
  Hint: sizes must be equal or 1, counted from the last dimension."""),
    (lambda: jnp.zeros((2, 3)) + jnp.zeros(4), ValueError, """\
tanx.numpy.add: operands have incompatible shapes for broadcasting.
  operand 0: float32[2,3]
  operand 1: float32[4]
  Hint: sizes must be equal or 1, counted from the last dimension."""),
    (lambda: jnp.floor_divide(1j, 2), TypeError, """\
tanx.numpy.floor_divide: does not take complex operands.
  operand 0: ~complex64[]
  operand 1: ~complex64[]
  Hint: convert to real numbers first: real(x), imag(x), abs(x)."""),
    (lambda: jnp.hypot(1j, 2), ValueError, """\
tanx.numpy.hypot: does not take complex operands.
  operand 0: ~complex64[]
  operand 1: ~complex64[]
  Hint: convert to real numbers first: real(x), imag(x), abs(x)."""),
    (lambda: jnp.clip(), ValueError, """\
tanx.numpy.clip: there is no array to clip.
  Hint: pass it as the first argument."""),
    (lambda: jnp.arange(3) ** -1, TypeError, """\
tanx.numpy.power: Integers cannot be raised to negative powers.
  operand: int32[3]
  power:   -1
  Hint: convert the operand to floating point."""),
    (lambda: jnp.round(jnp.arange(3), -1), NotImplementedError, """\
tanx.numpy.round: integers are not rounded to tens and hundreds.
  operand:  int32[3]
  decimals: -1
  Hint: convert to floating point first, or use x // 10 * 10."""),
    (lambda: jnp.round(1.5, out=3), NotImplementedError, """\
tanx.numpy.round: out is not supported: arrays are immutable.
  Hint: use the value that is returned."""),
    (lambda: jnp.ldexp(1.0, 2.0), ValueError, """\
tanx.numpy.ldexp: exponents must be integers.
  x1: float32[]
  x2: ~float32[]
  Hint: x1 * exp2(x2) takes any exponent."""),
    (lambda: jnp.unwrap(1.0), np.exceptions.AxisError, """\
tanx.numpy.unwrap: axis -1 is out of bounds for 0 dimensions.
  operand: ~float32[]"""),
]


@pytest.mark.parametrize("call, error, text", ERRORS)
def test_messages(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    assert str(raised.value) == text


def test_rank_promotion_can_be_refused():
    with tanx.numpy_rank_promotion("raise"), pytest.raises(ValueError) as raised:
        jnp.zeros((2, 3)) + jnp.zeros(3)
    assert str(raised.value) == """\
tanx.numpy.add: operands could not be broadcast together: they have different numbers of dimensions.
  operand 0: float32[2,3]
  operand 1: float32[3]
  Hint: add dimensions with x[None], or set numpy_rank_promotion='allow'."""
    with tanx.numpy_rank_promotion("raise"):
        assert (jnp.zeros((2, 3)) + 1).shape == (2, 3)
    with tanx.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="dimensions"):
        jnp.zeros((2, 3)) + jnp.zeros(3)
