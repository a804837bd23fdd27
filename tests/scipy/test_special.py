"""Special functions against SciPy: values, edges, dtypes, derivatives, batches, compiled calls."""

import math

import numpy as np
import pytest
import scipy.special

import tanx
import tanx.numpy as jnp
from tanx.scipy import special
from tests.scipy.lives import check

INF, NAN = np.inf, np.nan

# Functions and the intervals of their operands; "n" before an interval means integers.
DOMAINS = {
    "gamma": [(0.01, 30)], "gamma/left": [(-20, 0)], "gammaln": [(0.01, 1e3)],
    "gammaln/left": [(-20, 0)], "gammasgn": [(-20, 5)], "loggamma": [(0.01, 50)],
    "digamma": [(0.01, 1e3)], "digamma/left": [(-20, 0)], "factorial": [(-0.9, 30)],
    "poch": [(0.1, 20), (-3, 9)], "poch/left": [(-20, 0), (-3, 9)], "zeta": [(1.5, 9), (0.1, 9)],
    "gammainc": [(0.1, 20), (0, 30)], "gammaincc": [(0.1, 20), (0, 30)],
    "beta": [(0.1, 9), (0.1, 9)], "beta/large": [(1, 60), (1, 60)],
    "betaln": [(0.1, 9), (0.1, 9)], "betaln/large": [(0.1, 1e4), (10, 1e4)],
    "betainc": [(0.1, 9), (0.1, 9), (0, 1)], "comb": ["n", (0, 30), "n", (0, 30)],
    "comb/real": [(10, 20), (0, 9)],
    "erf": [(-5, 5)], "erfc": [(-5, 9)], "erfinv": [(-1, 1)], "erfcinv": [(0, 2)],
    "erfcx": [(-5, 50)], "dawsn": [(-20, 20)], "ndtr": [(-12, 8)], "ndtri": [(0, 1)],
    "ndtri/tail": [(1e-30, 1e-20)], "log_ndtr": [(-1e3, 10)], "owens_t": [(-6, 6), (-5, 5)],
    "entr": [(0, 5)], "rel_entr": [(0, 3), (0, 3)], "kl_div": [(0, 3), (0, 3)],
    "xlogy": [(-3, 3), (0, 9)], "xlog1py": [(-3, 3), (-1, 9)],
    "boxcox": [(0, 9), (-2, 3)], "boxcox1p": [(-1, 9), (-2, 3)],
    "expit": [(-40, 40)], "logit": [(0, 1)], "i0": [(-30, 30)], "i0e": [(-1e3, 1e3)],
    "i1": [(-30, 30)], "i1e": [(-1e3, 1e3)], "exp1": [(0, 60)], "expi": [(-60, 60)],
    "expn": ["n", (0, 30), (0, 60)], "spence": [(0, 9)], "hyp1f1": [(0.1, 9), (0.1, 9), (-50, 50)],
    "hyp2f1": [(0.1, 4), (0.1, 4), (0.1, 4), (-3, 0.95)], "sici": [(-60, 60)],
    "fresnel": [(-20, 20)]}
NAMES = sorted({name.partition("/")[0] for name in DOMAINS})


def operands_of(key, dtype, n=24):
    """Numbers in the domain."""
    rng = np.random.default_rng(0)
    operands, whole = [], False
    for interval in DOMAINS[key]:
        if interval == "n":
            whole = True
            continue
        x = rng.uniform(*interval, n)
        operands.append((np.round(x) if whole else x).astype(dtype))
        whole = False
    return operands


def both(name):
    """tanx's function and SciPy's."""
    return getattr(special, name.partition("/")[0]), getattr(scipy.special, name.partition("/")[0])


def results(value):
    return value if isinstance(value, tuple) else (value,)


def x64(dtype):
    return tanx.enable_x64(np.dtype(dtype) == np.float64)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("key", DOMAINS)
def test_values_are_scipys(key, dtype):
    here, there = both(key)
    operands = operands_of(key, dtype)
    want = results(there(*(x.astype(np.float64) for x in operands)))
    single = dtype == "float32"
    with x64(dtype):
        # The tests of derivatives run float64 without jit.
        for run in ((here,) if single else ()) + (tanx.jit(here),) * 4:
            for got, exact in zip(results(run(*operands)), want, strict=True):
                assert got.dtype == dtype and got.shape == (24,) and not got.weak_type
                np.testing.assert_allclose(got, exact, rtol=2e-6 if single else 1e-11,
                                           atol=1e-6 if single else 1e-14)


# Correct results, or JAX's, where SciPy has none or another one.
EDGE_EXCEPTIONS = {
    "gammaln": [(-INF, INF)], "spence": [(INF, -INF)], "digamma": [(-0.0, -INF)],
    "poch": [(INF, 0.5, NAN)], "hyp1f1": [(0.0, 0.0, 1.0, 1.0), (-2.0, -2.0, 1.0, np.e)]}
# As many as in the table of values, so that the compiled code is reused.
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, INF, -INF, NAN, 1e-30, 1e30] * 2
ONE_OPERAND = [name for name in NAMES if name in DOMAINS and len(DOMAINS[name]) == 1]


@pytest.mark.parametrize("name", ONE_OPERAND)
def test_edges_are_scipys(name):
    here, there = both(name)
    x = np.array(EDGES, np.float32)
    with np.errstate(all="ignore"):
        want = [np.array(w, np.float32) for w in results(there(x))]
    for given, value in EDGE_EXCEPTIONS.get(name, []):
        want[0][(x == given) & (np.signbit(x) == np.signbit(given))] = value
    for _ in range(4):
        for got, exact in zip(results(here(x)), want, strict=True):
            np.testing.assert_allclose(got, exact, rtol=3e-6)


POINTS = [
    ("xlogy", (0.0, 0.0), 0.0), ("xlogy", (0.0, NAN), NAN), ("xlog1py", (0.0, NAN), NAN),
    ("xlog1py", (0.0, -1.0), 0.0),
    ("rel_entr", (0.0, 0.0), 0.0), ("rel_entr", (1.0, 0.0), INF), ("rel_entr", (-1.0, 1.0), INF),
    ("kl_div", (0.0, 2.0), 2.0), ("kl_div", (-1.0, -INF), INF), ("kl_div", (-INF, -INF), INF),
    ("kl_div", (1.0, 0.0), INF), ("kl_div", (0.0, INF), INF), ("kl_div", (NAN, -1.0), NAN),
    ("beta", (-0.5, 2.0), -4.0), ("betaln", (1e-30, 1e30), 69.077553),
    ("betaln", (2.0, INF), -INF), ("comb", (3.0, 4.0), 0.0), ("comb", (-1.0, 1.0), 0.0),
    ("poch", (-2.0, 3.0), 0.0), ("poch", (-2.0, 2.0), 2.0), ("poch", (-2.5, 0.5), INF),
    ("poch", (1e30, 0.5), 1e15), ("zeta", (1.0, 2.0), INF), ("expn", (0, 0.0), INF),
    ("expn", (3, 0.0), 0.5), ("expn", (2, -1.0), NAN), ("expn", (2, INF), 0.0),
    ("owens_t", (0.0, INF), 0.25), ("owens_t", (INF, 1.0), 0.0), ("owens_t", (30.0, 1.0), 0.0),
    ("boxcox", (2.0, 0.0), 0.6931472), ("boxcox1p", (1.0, 0.0), 0.6931472),
    ("hyp1f1", (1.0, 0.0, 1.0), INF), ("hyp1f1", (0.0, 0.0, 1.0), 1.0),
    ("hyp1f1", (1.0, 2.0, -5000.0), 2e-4), ("hyp2f1", (1.0, 2.0, 4.0, 1.0), 3.0),
    ("hyp2f1", (1.0, 2.0, 3.0, 2.0), INF), ("hyp2f1", (-2.0, 2.0, 3.0, 5.0), 6.8333333),
    ("hyp2f1", (1.0, 2.0, 3.0, -1000.0), 0.0019861825), ("hyp2f1", (1.0, 2.0, -3.0, 0.5), INF),
    ("gammainc", (1.0, 0.0), 0.0), ("gammaincc", (1.0, INF), 0.0),
    ("betainc", (1.0, 1.0, 1.0), 1.0)]


@pytest.mark.parametrize("name", sorted({name for name, _, _ in POINTS}))
def test_special_points(name):
    here = getattr(special, name)
    points = [(args, want) for other, args, want in POINTS if other == name]
    args = np.float32([args for args, _ in points]).T
    for run in [tanx.jit(here)] * 4:
        np.testing.assert_allclose(run(*args), np.float32([want for _, want in points]), rtol=2e-6)


def test_gamma_of_doubles():
    # Values by mpmath: results near overflow, subnormal ones, and arguments near poles.
    x, want = np.array([
        (1e-300, 1e300), (-1e-300, -1e300), (1e-310, INF), (-1e-310, -INF), (-0.0, -INF),
        (171.6, 1.5858969096672565e308), (171.7, INF), (1e300, INF), (-1e300, NAN),
        (-170.5, -3.3127395215386073e-308), (-175.5, 2.107473e-319), (-200.5, -0.0),
        (2.9999999999999996, 1.9999999999999992), (-2.9999999999999996, -375299968947541.5),
        (0.5, 1.772453850905516), (-0.5, -3.544907701811032)]).T
    whole = np.arange(1.0, 172)
    factorials = np.array([float(math.factorial(int(n) - 1)) for n in whole])
    with tanx.enable_x64(True):
        for run in [tanx.jit(special.gamma)] * 4:
            np.testing.assert_allclose(run(x), want, rtol=1e-15, atol=1e-323)
            np.testing.assert_array_equal(run(whole), factorials)


def test_betaln_next_to_its_zeros():
    # Values by mpmath. In the first rows logarithms of 1.8 and more nearly cancel.
    a, b, want = np.array([
        (0.14020747890525723, 614805.7393827462, 0.030026250849592582),
        (126.2022971541672, 0.2594435507579392, -0.0055471413726461861),
        (0.25, 150.0, 0.035989047525779585), (0.125, 2.0**40, -1.4463175452458805),
        (9.5, 1e6, -119.55805725474221), (5e-324, 20.0, 744.44007192138127)]).T
    with tanx.enable_x64(True):
        for run in [tanx.jit(special.betaln)] * 4:
            np.testing.assert_allclose(run(a, b), want, rtol=3e-15, atol=1.2e-16)


# -- derivatives -----------------------------------------------------------------------------------

# Operands without a derivative.
FIXED = {"polygamma": {0}, "expn": {0}, "betainc": {0, 1}, "comb": {0, 1}, "gammasgn": {0}}


@pytest.mark.parametrize("key", DOMAINS)
def test_derivatives_match_finite_differences(key):
    here, _ = both(key)
    fixed = FIXED.get(key, set())
    with tanx.enable_x64(True):
        # Differences are useless near a pole; the first twelve operands are away from poles.
        number = 12 if key.endswith("/left") else 24
        operands = [jnp.asarray(x) for x in operands_of(key, np.float64, number)]
        moving = [i for i in range(len(operands)) if i not in fixed]
        if not moving:
            return
        step = 1e-6

        def f(*moved):
            given = dict(zip(moving, moved))
            return results(here(*(given.get(i, x) for i, x in enumerate(operands))))

        primals = [operands[i] for i in moving]
        directions = [jnp.full_like(x, 0.5 + k) * jnp.minimum(jnp.abs(x), 1)
                      for k, x in enumerate(primals)]
        out, tangents = tanx.jvp(f, primals, directions)
        ahead = f(*(x + step * d for x, d in zip(primals, directions)))
        behind = f(*(x - step * d for x, d in zip(primals, directions)))
        _, pull = tanx.vjp(f, *primals)
        cotangents = pull(tuple(jnp.ones_like(y) for y in out))
        for a, b, t, y in zip(ahead, behind, tangents, out):
            scale = np.maximum(1, np.abs(np.asarray(y))) * 1e-4
            want = (np.asarray(a) - np.asarray(b)) / (2 * step)
            good = np.isfinite(want)
            assert (np.abs(np.asarray(t) - want) <= scale + 1e-5 * np.abs(want))[good].all(), (
                t, want)
        pulled = sum((c * d for c, d in zip(cotangents, directions)), start=0.0)
        np.testing.assert_allclose(pulled, sum(tangents), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name, args, want", [
    ("xlogy", (0.0, 0.0), (-INF, 0.0)), ("entr", (0.0,), (INF,)), ("sici", (0.0,), (1.0,)),
    ("i1", (0.0,), (0.5,)), ("log_ndtr", (-1e4,), (1e4,)), ("log_ndtr", (20.0,), (0.0,)),
    ("spence", (1.0,), (-1.0,)), ("boxcox", (2.0, 0.0), (0.5, 0.2402265)),
    ("dawsn", (1e3,), (-5.0000075e-07,)), ("expn", (2, 0.5), (-0.5597736,)),
    ("erfcx", (1e3,), (-5.641887e-07,)), ("logit", (0.25,), (5.3333335,)),
    ("ndtri", (0.5,), (2.5066283,)), ("entr", (INF,), (-INF,)),
    ("rel_entr", (INF, 0.5), (INF, -INF)), ("rel_entr", (-1.0, 0.5), (0.0, 0.0)),
    ("rel_entr", (NAN, 0.5), (NAN, NAN)), ("rel_entr", (0.0, 0.5), (0.0, 0.0)),
    ("kl_div", (INF, 0.5), (INF, -INF)), ("kl_div", (-1.0, 0.5), (0.0, 0.0)),
    ("kl_div", (0.0, 0.5), (0.0, 1.0)), ("kl_div", (2.0, 0.5), (1.3862944, -3.0))])
def test_derivatives_at_points(name, args, want):
    def f(*args):
        return results(getattr(special, name)(*args))[0]
    places = tuple(i for i, x in enumerate(args) if isinstance(x, float))
    for run in [tanx.jit(tanx.grad(f, places))] * 4:
        np.testing.assert_allclose(run(*args), want, rtol=1e-4)


def test_second_derivatives():
    with tanx.enable_x64(True):
        for name in ("gamma", "betaln", "log_ndtr", "dawsn", "erfcx", "expi", "spence", "i0"):
            here = getattr(special, name)
            f = (lambda x, g=here: g(x, 2.5)) if name == "betaln" else here
            slope = tanx.grad(f)
            want = (slope(1.3 + 1e-5) - slope(1.3 - 1e-5)) / 2e-5
            np.testing.assert_allclose(tanx.grad(slope)(1.3), want, rtol=1e-7, err_msg=name)


# -- types, shapes, transformations ----------------------------------------------------------------

ONLY_WIDE = {"ndtr", "ndtri", "log_ndtr", "spence"}


@pytest.mark.parametrize("name", NAMES)
def test_narrow_floats_and_integers(name):
    """Values of bfloat16; only types of the results of float16 and integers."""
    here, _ = both(name)
    operands = operands_of(name, np.float32)
    narrow, short, whole = ([x.astype(dtype) for x in map(jnp.asarray, operands)]
                            for dtype in ("bfloat16", "float16", "int32"))
    if name in ONLY_WIDE:
        for given in (narrow, short, whole):
            with pytest.raises(TypeError, match="takes float32 or float64"):
                here(*given)
        return
    own = {"owens_t": "float32"}
    wide = results(here(*(x.astype("float32") for x in narrow)))
    for got, want in zip(results(here(*narrow)), wide, strict=True):
        assert got.dtype == own.get(name, "bfloat16")
        want = want.astype(got.dtype).astype("float32")  # it may overflow
        np.testing.assert_allclose(got.astype("float32"), want, rtol=0.03, atol=0.02)
    for given, dtype in ((short, own.get(name, "float16")), (whole, "float32")):
        out = results(tanx.eval_shape(here, *given))
        assert all(y.dtype == dtype and y.shape == (24,) for y in out)


RUN_EMPTY = {"gamma", "comb", "poch", "expn", "sici", "hyp1f1", "owens_t", "ndtr", "zeta", "i0"}


@pytest.mark.parametrize("name", NAMES)
def test_batches_and_shapes(name):
    here, _ = both(name)
    operands = [jnp.asarray(x) for x in operands_of(name, np.float32)]
    want = results(here(*operands))
    for shape in ((0, 2), ()):
        given = [jnp.zeros(shape, x.dtype) for x in operands]
        # Others would only be compiled again, so only their types are computed.
        out = here(*given) if name in RUN_EMPTY else tanx.eval_shape(here, *given)
        assert all(y.shape == shape for y in results(out))
    if len(operands) == 1:
        got = results(tanx.vmap(here)(*operands))
    else:  # only the first operand is mapped
        first, *others = operands
        got = results(tanx.vmap(here, (0, *[None] * len(others)))(first, *others))
        assert got[0].shape == (24, 24)
        got = [jnp.diagonal(y) for y in got]
    for y, exact in zip(got, want, strict=True):
        np.testing.assert_allclose(y, exact, rtol=2e-6)


@pytest.mark.parametrize("name", ["gamma", "ndtri", "expi", "hyp1f1", "sici", "betaln"])
def test_inside_of_loops(name):
    here, _ = both(name)
    operands = [jnp.asarray(x) for x in operands_of(name, np.float32)]
    want = results(here(*operands))

    def step(carry, x):
        return carry, results(here(*x))[0]
    _, scanned = tanx.lax.scan(step, 0, tuple(operands))
    np.testing.assert_allclose(scanned, want[0], rtol=2e-6)


REAL_ONLY = ["gammasgn", "poch", "beta", "betainc", "dawsn", "entr", "erfcinv", "exp1", "expi",
             "expn", "i0", "i1", "kl_div", "rel_entr", "sici", "hyp1f1"]


@pytest.mark.parametrize("name", REAL_ONLY)
def test_complex_numbers_are_refused(name):
    count = len(operands_of(name, np.float32))
    with pytest.raises(ValueError, match=f"tanx.scipy.special.{name}: takes real numbers"):
        getattr(special, name)(*[jnp.ones(2, complex)] * count)


@pytest.mark.parametrize("name", ["gamma", "xlogy", "digamma", "expi"])
def test_lists_are_refused(name):
    count = len(operands_of(name, np.float32))
    with pytest.raises(TypeError, match=f"tanx.scipy.special.{name}: needs arrays or numbers"):
        getattr(special, name)(*[[1.0, 2.0]] * count)


@pytest.mark.parametrize("call, error", [
    (lambda: special.polygamma(1.5, 2.0), ValueError), (lambda: special.bernoulli(-1), ValueError),
    (lambda: special.bernoulli(1.5), TypeError), (lambda: special.factorial(3, exact=True),
                                                  NotImplementedError),
    (lambda: special.log_ndtr(1.0, 31), ValueError),
    (lambda: special.log_ndtr(1.0, 2.0), TypeError),
    (lambda: special.bessel_jn(1.0, v=1.0), TypeError),
    (lambda: special.bessel_jn(1j, v=1), TypeError), (lambda: special.gammaln(1j), TypeError),
    (lambda: special.sph_harm_y(jnp.array([1]), jnp.array([0]), jnp.ones(1), jnp.ones(1), diff_n=1),
     NotImplementedError),
    (lambda: special.betaln(jnp.ones(2), jnp.ones(3)), TypeError),
    (lambda: special.lpmn(2, 2, jnp.ones((2, 2))), ValueError),
    (lambda: special.lpmn(-1, 2, jnp.ones(2)), ValueError),
    (lambda: special.lpmn_values(2, 2, jnp.ones(2, int), False), TypeError)])
def test_errors(call, error):
    with pytest.raises(error, match=r"tanx\.|integer"):
        call()


# -- functions of their own kind -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["wofz", "erfcx", "gamma", "loggamma", "expit", "logit"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_functions(name, dtype):
    rng = np.random.default_rng(1)
    z = (rng.uniform(-5, 5, 60) + 1j * rng.uniform(-5, 5, 60)).astype(dtype)
    single = dtype == "complex64"
    there = getattr(scipy.special, name)
    want = there(z.astype(complex)) if name not in ("expit", "logit") else (
        1 / (1 + np.exp(-z)) if name == "expit" else np.log(z) - np.log1p(-z))
    with tanx.enable_x64(not single):
        here = getattr(special, name)
        for run in (here, *[tanx.jit(here)] * 4):
            got = run(z)
            assert got.dtype == dtype
            np.testing.assert_allclose(got, want, rtol=1e-5 if single else 1e-11, atol=1e-6
                                       if single else 1e-12)


def test_derivatives_of_complex_functions():
    with tanx.enable_x64(True):
        for name in ("wofz", "gamma", "loggamma", "erfcx"):
            here, z = getattr(special, name), 0.7 - 1.2j
            want = (here(z + 1e-6) - here(z - 1e-6)) / 2e-6
            got = tanx.grad(here, holomorphic=True)(jnp.asarray(z))
            np.testing.assert_allclose(got, want, rtol=1e-8, err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("v", [0, 1, 5, pytest.param(60, marks=pytest.mark.slow)])
def test_bessel_functions(v, dtype):
    z = np.array([0, 1e-8, 0.3, -0.9, 1, 2.5, -7, 24.9, 25.1, 61, -80, 1e3], dtype)
    want = scipy.special.jv(np.arange(v + 1)[:, None], z.astype(float))
    with x64(dtype):
        compiled = tanx.jit(special.bessel_jn, static_argnames="v")
        for run in (special.bessel_jn, *[compiled] * 4):
            got = run(z, v=v)
            assert got.dtype == dtype and got.shape == (v + 1, 12)
            np.testing.assert_allclose(got, want, atol=1e-6 if dtype == "float32" else 1e-13)
        slope = tanx.jvp(lambda z: special.bessel_jn(z, v=v), (jnp.asarray(z),),
                         (jnp.ones_like(z),))[1]
        want = scipy.special.jvp(np.arange(v + 1)[:, None], z.astype(float))
        np.testing.assert_allclose(slope, want, atol=1e-6 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_spherical_harmonics(dtype):
    n, m = np.array([[n, m] for n in range(7) for m in range(-n, n + 1)]).T
    theta = np.linspace(0, np.pi, len(n)).astype(dtype)
    phi = np.linspace(0, 2 * np.pi, len(n)).astype(dtype)
    want = scipy.special.sph_harm_y(n, m, theta.astype(float), phi.astype(float))
    with x64(dtype):
        compiled = tanx.jit(special.sph_harm_y, static_argnames="n_max")
        for got in (special.sph_harm_y(n, m, theta, phi),
                    *(compiled(n, m, theta, phi, n_max=6) for _ in range(4))):
            assert got.dtype == ("complex64" if dtype == "float32" else "complex128")
            np.testing.assert_allclose(got, want, atol=1e-5 if dtype == "float32" else 1e-13)
    clipped = special.sph_harm_y(np.array([9]), np.array([2]), np.ones(1), np.ones(1), n_max=3)
    np.testing.assert_allclose(clipped, scipy.special.sph_harm_y(3, 2, 1.0, 1.0), rtol=1e-5)


@pytest.mark.parametrize("m, n", [(0, 0), (3, 3), (2, 5), (4, 1), (12, 12)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_associated_legendre_functions(m, n, dtype):
    z = np.array([-1, -0.999, -0.4, 0, 0.1, 0.5, 1], dtype)
    want, slopes = scipy.special.assoc_legendre_p_all(n, m, z.astype(float), diff_n=1)[:, :, :m + 1]
    sizes = scipy.special.sph_legendre_p_all(n, m, np.arccos(z.astype(float)))[0, :, :m + 1]
    tolerance = dict(rtol=1e-6 if dtype == "float32" else 1e-10,
                     atol=1e-6 if dtype == "float32" else 1e-12)
    with x64(dtype):
        check(lambda z: special.lpmn(m, n, z), [z],
              tuple(np.swapaxes(x, 0, 1).astype(dtype) for x in (want, slopes)), **tolerance)
        check(lambda z: special.lpmn_values(m, n, z, True), [z],
              np.swapaxes(sizes, 0, 1).astype(dtype), **tolerance)


def test_associated_legendre_functions_compose():
    z = jnp.array([0.3, -0.2])
    slopes = special.lpmn(3, 4, z)[1]
    for _ in range(4):
        by_grad = tanx.jit(tanx.jacfwd(lambda z: special.lpmn_values(3, 4, z, False)))(z)
        np.testing.assert_allclose(jnp.diagonal(by_grad, axis1=2, axis2=3), slopes, rtol=1e-5,
                                   atol=1e-5)
    batch = tanx.vmap(lambda z: special.lpmn_values(2, 2, z, True))(jnp.stack([z, z / 2]))
    np.testing.assert_allclose(batch[1], special.lpmn_values(2, 2, z / 2, True), rtol=1e-6)
    assert special.lpmn(2, 2, z[:0])[0].shape == (3, 3, 0)


def test_bernoulli_numbers():
    np.testing.assert_allclose(special.bernoulli(20), scipy.special.bernoulli(20), rtol=1e-6)
    assert special.bernoulli(0).shape == (1,) and special.bernoulli(1).tolist() == [1.0, -0.5]
    with tanx.enable_x64(True):
        late = special.bernoulli(262)
        np.testing.assert_allclose(late[258], 1.3352784187354634e306, rtol=1e-15)
        assert late[260:].tolist() == [-INF, 0.0, INF]


def test_derivatives_of_zeta():
    """With respect to q at its pole, where that with respect to x is infinite, and to both."""
    by_q = tanx.grad(special.zeta, 1)
    with tanx.enable_x64(True):
        for run in [tanx.jit(by_q)] * 4:
            assert run(2.0, 0.0) == -INF
        step = 1e-5
        want = (by_q(3.0 + step, 2.0) - by_q(3.0 - step, 2.0)) / (2 * step)
        for run in [tanx.jit(tanx.hessian(special.zeta, (0, 1)))] * 4:
            mixed = run(3.0, 2.0)
            np.testing.assert_allclose((mixed[0][1], mixed[1][0]), want, rtol=1e-8)


def test_zeta_of_riemann():
    x = np.array([-30.5, -2, -1, 0, 0.5, 1, 1.001, 2, 30, 100, INF, NAN])
    with tanx.enable_x64(True):
        for run in (special.zeta, *[tanx.jit(special.zeta)] * 4):
            np.testing.assert_allclose(run(x), scipy.special.zeta(x), rtol=1e-12)


def test_orders_of_polygamma():
    n, x = np.arange(5), np.linspace(0.3, 9, 5)
    with tanx.enable_x64(True):
        np.testing.assert_allclose(special.polygamma(n, x), scipy.special.polygamma(n, x),
                                   rtol=1e-12)
        np.testing.assert_allclose(special.multigammaln(x + 3, 4),
                                   scipy.special.multigammaln(x + 3, 4), rtol=1e-12)


def test_sums_of_powers():
    a = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32) * 300
    b = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    for axis in (None, 0, 1, (0, 1)):
        for keepdims in (False, True):
            want = scipy.special.logsumexp(a, axis, keepdims=keepdims)
            np.testing.assert_allclose(special.logsumexp(a, axis, keepdims=keepdims), want,
                                       rtol=1e-6)
        got = special.logsumexp(a, axis, b, return_sign=True)
        for x, y in zip(got, scipy.special.logsumexp(a, axis, b, return_sign=True)):
            np.testing.assert_allclose(x, y, rtol=1e-5)
        np.testing.assert_allclose(special.softmax(a, axis=axis), scipy.special.softmax(a, axis),
                                   rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(special.log_softmax(a, axis=axis),
                                   scipy.special.log_softmax(a, axis), rtol=1e-5)
    kept = special.logsumexp(a, where=b > 0)
    np.testing.assert_allclose(kept, scipy.special.logsumexp(a[b > 0]), rtol=1e-6)
