"""Minima, roots and least squares: SciPy's solutions, derivatives, batches, statuses, errors."""

import numpy as np
import pytest
import scipy.optimize as reference

import tanx
import tanx.numpy as jnp
from tanx.scipy.optimize import OptimizeResults, least_squares, minimize, root, root_scalar
from tests.numpy.agreement import agree, fact

LIMITED = "l-bfgs-experimental-do-not-rely-on-this"


@pytest.fixture(autouse=True)
def x64():
    with tanx.enable_x64(True):
        yield


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def matyas(x):
    return 0.26 * (x[0] ** 2 + x[1] ** 2) - 0.48 * x[0] * x[1]


def quartic(x):
    return ((x - 1) ** 4).sum() + (x ** 2).sum()


# -- minima ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method, function, x0", [
    ("BFGS", rosenbrock, [0.0, 0.0]), ("BFGS", rosenbrock, [-1.2, 1.0]),
    ("BFGS", himmelblau, [1.0, 1.0]), ("BFGS", matyas, [3.0, -4.0]),
    ("BFGS", quartic, [0.0, 5.0, -2.0]), (LIMITED, rosenbrock, [2.0, -1.0, 3.0, 0.5]),
    (LIMITED, matyas, [3.0, -4.0]), (LIMITED, quartic, [0.0, 5.0, -2.0]),
], ids=lambda v: getattr(v, "__name__", None))
def test_minima(method, function, x0):
    options = {"ftol": 0.0} if method == LIMITED else {}
    found = minimize(function, np.array(x0), method=method, options=options)
    want = reference.minimize(lambda x: float(function(jnp.asarray(x))), x0, method="BFGS",
                              jac=lambda x: np.asarray(tanx.grad(function)(jnp.asarray(x))))
    assert found.success and found.status == 0
    agree(found.x, want.x, 1e-4, 1e-4)
    agree(found.fun, function(found.x), 1e-12, 1e-12)
    agree(found.jac, tanx.grad(function)(found.x), 1e-10, 1e-10)
    assert np.abs(found.jac).max() < 1e-5
    assert found.nfev < 2 * want.nfev + 10 and found.nfev == found.njev


def test_compiled_and_batched():
    """The same steps eagerly, compiled and in each lane."""
    def solved(x0, a):
        return minimize(lambda x, a: rosenbrock(x) + a * (x ** 2).sum(), x0, (a,), method="BFGS")
    x0, a = np.zeros(2), 0.5
    eager, compiled = solved(x0, a), tanx.jit(solved)
    for _ in range(4):
        got = compiled(x0, a)
        assert isinstance(got, OptimizeResults)
        agree(list(got), list(eager), 1e-8, 1e-8)
        assert [fact(x) for x in got] == [fact(x) for x in eager]
    many = np.array([0.0, 0.5, 2.0])
    mapped = tanx.vmap(solved, (None, 0))(x0, many)
    for i, a in enumerate(many):
        agree([x[i] for x in mapped], list(solved(x0, a)), 1e-8, 1e-8)
    step = 1e-5  # loops have derivatives in both modes
    want = (solved(x0, a + step).x - solved(x0, a - step).x) / (2 * step)
    agree(tanx.jacrev(lambda a: solved(x0, a).x)(a), want, 1e-3, 1e-4)


def test_single_precision():
    for function, x0 in ((rosenbrock, [0.0, 0.0]), (himmelblau, [1.0, 1.0]), (quartic, [0.0, 5.0])):
        found = minimize(function, np.float32(x0), method="BFGS", tol=1e-3)
        assert found.success and found.x.dtype == found.hess_inv.dtype == np.float32
        assert np.abs(found.jac).max() < 1e-3


@pytest.mark.parametrize("method", ["BFGS", LIMITED])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_minima_of_complex_numbers(method, dtype):
    """JAX's BFGS does not find this minimum."""
    goal = np.array([1 + 2j, -0.5j], dtype)

    def away(x, goal):
        return (jnp.abs(x - goal) ** 2 + jnp.abs(x ** 2 - goal ** 2) ** 2).sum()

    def solved(x0, goal):
        return minimize(away, x0, (goal,), method=method, tol=1e-3)
    x0 = np.full(2, 0.5 - 0.1j, dtype) + goal / 2
    eager, compiled = solved(x0, goal), tanx.jit(solved)
    for found in (eager, *(compiled(x0, goal) for _ in range(4))):
        assert found.success and found.x.dtype == found.jac.dtype == dtype
        assert found.fun.dtype == goal.real.dtype and not found.x.weak_type
        agree(found.x, goal, 1e-3, 1e-3)
        agree(found.jac, np.conj(tanx.grad(away)(found.x, goal)), 1e-2, 1e-3)
    if method == "BFGS":
        assert eager.hess_inv.shape == (4, 4)


def test_statuses_and_options():
    x0 = np.array([-1.2, 1.0])
    few = minimize(rosenbrock, x0, method="bfgs", options={"maxiter": 3})
    assert not few.success and few.status == 1 and few.nit == 3
    assert minimize(rosenbrock, x0, method="BFGS", options={"gtol": 1.0}).nit < 30
    assert minimize(rosenbrock, x0, method="BFGS", tol=1.0).nit < 30
    assert minimize(rosenbrock, x0, method="BFGS", options={"norm": 2}).success
    unbounded = minimize(lambda x: x.sum(), x0, method="BFGS")
    assert not unbounded.success and unbounded.status in (1, 3, 5)
    assert not minimize(lambda x: x.sum() * jnp.nan, x0, method="BFGS").success
    there = minimize(matyas, np.zeros(2), method="BFGS")
    assert there.success and there.nit == 0 and there.nfev == 1
    agree(there.hess_inv, np.eye(2))
    for options, status in (({"maxiter": 3}, 1), ({"maxfun": 5}, 2), ({"maxgrad": 5}, 3),
                            ({"ftol": 0.5}, 4)):
        found = minimize(rosenbrock, x0, method=LIMITED, options=options)
        assert found.status == status and found.hess_inv is None
    assert minimize(rosenbrock, x0, method=LIMITED, options={"maxcor": 2, "maxls": 30}).nit > 3


# -- roots of one number ---------------------------------------------------------------------------

SCALAR = {"bisect": {"bracket": (0.0, 5.0)}, "brentq": {"bracket": (0.0, 5.0)},
          "newton": {"x0": 1.5}, "secant": {"x0": 1.0, "x1": 2.0}, "halley": {"x0": 1.5}}
FUNCTIONS = {
    "cube": (lambda x, a: x ** 3 - a, 7.0), "cosine": (lambda x, a: jnp.cos(x) - a * x, 0.5),
    "exponential": (lambda x, a: jnp.exp(x) - a * x - 2, 1.0)}


@pytest.mark.parametrize("method", SCALAR)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_roots_of_one_number(name, method):
    f, a = FUNCTIONS[name]

    @tanx.jit
    def solved(a):
        return root_scalar(f, (a,), method, **SCALAR[method])
    exact = reference.brentq(lambda x: float(f(x, a)), 0, 5, xtol=1e-14)
    for _ in range(4):
        found = solved(a)
        assert found.converged and found.function_calls >= found.iterations > 0
        agree(found.root, exact, 1e-9)
        assert not found.root.weak_type
    if name != "cube":  # derivatives and batches do not depend on the function
        return
    slope, by_a = tanx.grad(f, (0, 1))(exact, a)
    agree(tanx.grad(lambda a: solved(a).root)(a), -by_a / slope, 1e-8)
    many = a * np.array([0.9, 1.0, 1.1])
    agree(tanx.vmap(solved)(many).root, [solved(a).root for a in many], 1e-9)


def test_second_derivatives_and_closures():
    def solved(a):
        return root_scalar(lambda x: x ** 3 - a, x0=1.0).root
    agree(tanx.grad(tanx.grad(solved))(8.0), -2 / 9 * 8.0 ** (-5 / 3), 1e-9)
    agree(tanx.jvp(solved, (8.0,), (1.0,))[1], 8.0 ** (-2 / 3) / 3, 1e-9)


def test_derivatives_may_be_given():
    def value(x):
        return x * x - 2

    def slope(x):
        return 2 * x
    for f, options in (
            (value, {"fprime": slope}), (value, {"fprime": slope, "fprime2": lambda x: 2.0}),
            (lambda x: (value(x), slope(x)), {"fprime": True}),
            (lambda x: (value(x), slope(x), 2.0), {"fprime": True, "fprime2": True})):
        found = root_scalar(f, x0=1.0, **options)
        assert found.converged
        agree(found.root, np.sqrt(2), 1e-12)


def test_root_scalar_reports_convergence():
    found = root_scalar(lambda x: x * x + 1, bracket=(0.0, 1.0))
    assert np.isnan(found.root) and not found.converged
    assert not root_scalar(lambda x: x * x + 1, x0=0.5).converged
    assert not root_scalar(lambda x: jnp.exp(x), x0=0.0, maxiter=3).converged
    assert not root_scalar(lambda x: x ** 2 - 2, bracket=(0, 4), options={"maxiter": 2}).converged
    for method in ("bisect", "brentq"):
        at_end = root_scalar(lambda x: x - 1, bracket=(1.0, 4.0), method=method)
        assert at_end.converged and at_end.root == 1
    assert root_scalar(lambda x: x ** 2 - 2, bracket=(0, 4), xtol=0.1).iterations < 6
    single = root_scalar(lambda x: x ** 2 - 2, bracket=(np.float32(0), np.float32(4)))
    assert single.root.dtype == np.float32 and single.converged


# -- roots of systems ------------------------------------------------------------------------------


def system(x, a):
    return jnp.array([x[0] ** 2 + x[1] ** 2 - a, jnp.exp(x[0]) - x[1] - 1])


def bending(x, a):
    """A chain of equations; the Jacobian has three diagonals."""
    beside = jnp.pad(x, 1)
    return (3 - 2 * x) * x - beside[:-2] - 2 * beside[2:] + a


@pytest.mark.parametrize("method, function, x0, a", [
    ("hybr", system, np.ones(2), 2.0), ("lm", system, np.ones(2), 2.0),
    ("hybr", bending, -np.ones(9), 1.0), ("lm", bending, -np.ones(9), 1.0),
    ("krylov", bending, -np.ones(9), 1.0)], ids=lambda v: getattr(v, "__name__", None))
def test_roots_of_systems(method, function, x0, a):
    want = reference.root(lambda x: np.asarray(function(jnp.asarray(x), a)), x0, tol=1e-13).x

    @tanx.jit
    def solved(a):
        return root(function, x0, (a,), method)
    for _ in range(4):
        found = solved(a)
        assert found.success and found.status == 1 and found.nfev > found.nit > 0
        agree(found.x, want, 1e-7, 1e-7)
        agree(found.fun, np.zeros_like(x0), 1e-6, 1e-6)
    by_x, by_a = tanx.jacfwd(function, (0, 1))(want, a)
    exact = -np.linalg.solve(by_x, by_a)
    agree(tanx.jacrev(lambda a: solved(a).x)(a), exact, 1e-5, 1e-6)
    if method == "krylov" or method == "lm" and function is bending:  # they are slow to compile
        return
    agree(tanx.jacfwd(lambda a: solved(a).x)(a), exact, 1e-5, 1e-6)
    many = a * np.array([0.9, 1.1])
    agree(tanx.vmap(solved)(many).x, [solved(a).x for a in many], 1e-8, 1e-8)


def test_trees_matrices_and_hopeless_systems():
    x0 = {"a": jnp.ones((2, 2)), "b": jnp.array(0.0)}
    found = root(lambda x: {"a": x["a"] ** 2 - 2, "b": x["b"] - x["a"].sum()}, x0)
    agree(found.x["a"], np.full((2, 2), np.sqrt(2)), 1e-9)
    agree(found.x["b"], 4 * np.sqrt(2), 1e-9)
    given = root(system, np.ones(2), (2.0,), jac=lambda x, a: tanx.jacfwd(system)(x, a))
    agree(given.x, root(system, np.ones(2), (2.0,)).x, 1e-9)
    for method in ("hybr", "lm"):
        found = root(lambda x: x ** 2 + 1, np.array([0.7, 2.0]), method=method)
        assert not found.success and found.status in (0, 4)
    assert root(system, np.ones(2), (2.0,), options={"maxiter": 1}).status == 0


# -- least squares ---------------------------------------------------------------------------------

TIMES = np.linspace(0, 3, 20)
MEASURED = 2.5 * np.exp(-1.3 * TIMES) + 0.5 + 0.05 * np.sin(17 * TIMES)
MEASURED[3] += 2.0
START = np.array([1.0, -0.5, 0.2])


def decay(p, y):
    return p[0] * jnp.exp(p[1] * TIMES) + p[2] - y


@pytest.mark.parametrize("options", [
    {}, {"method": "lm"}, {"x_scale": "jac"}, {"bounds": ([0.0, -1.0, 0.0], [10.0, 0.0, 1.0])},
    {"bounds": (-np.inf, [2.0, np.inf, np.inf])}, {"loss": "soft_l1", "f_scale": 0.1},
    {"loss": "huber", "f_scale": 0.1}, {"loss": "cauchy", "f_scale": 0.1},
    {"loss": "arctan", "f_scale": 0.1}], ids=str)
def test_least_squares(options):
    exact = {"xtol": 1e-13, "ftol": 1e-13, "gtol": 1e-12}

    @tanx.jit
    def solved(y):
        return least_squares(decay, START, args=(y,), **options, **exact)
    want = reference.least_squares(
        lambda p: np.asarray(decay(p, MEASURED)), START, **options, **exact,
        jac=lambda p: np.asarray(tanx.jacfwd(decay)(p, MEASURED)))
    for _ in range(4):
        found = solved(MEASURED)
        assert found.success and found.nfev >= found.njev
        agree(found.x, want.x, 1e-4, 1e-5)
    agree([found.cost, found.fun, found.grad], [want.cost, want.fun, want.grad], 1e-4, 1e-3)
    agree(found.jac, tanx.jacfwd(decay)(found.x, MEASURED), 1e-10, 1e-10)
    agree(found.active_mask, want.active_mask)
    if "x_scale" in options or options.get("loss") in ("soft_l1", "cauchy", "arctan"):
        return  # derivatives and batches use the same code
    moved = np.zeros(20)
    moved[5] = 1e-4
    differences = (solved(MEASURED + moved).x - solved(MEASURED - moved).x) / 2e-4
    agree(tanx.jacrev(lambda y: solved(y).x)(MEASURED)[:, 5], differences, 2e-3, 1e-4)
    many = np.stack([MEASURED, MEASURED + 0.1])
    agree(tanx.vmap(solved)(many).x, [solved(y).x for y in many], 1e-5, 1e-5)


def test_bounds_have_derivatives():
    def solved(upper):
        return least_squares(lambda x: x - jnp.array([1.0, 5.0]), np.zeros(2),
                             bounds=(-np.inf, upper)).x
    upper = np.array([2.0, 3.0])
    agree(solved(upper), [1, 3], 1e-7)
    agree(tanx.jacrev(solved)(upper), [[0, 0], [0, 1]], 1e-7, 1e-7)


def test_jacobians_losses_and_shapes():
    def given(p, y):
        e = np.exp(1) ** (p[1] * TIMES)
        return jnp.stack([e, p[0] * TIMES * e, jnp.ones(20)], 1)
    for jac in (given, "3-point", "cs", None):
        agree(least_squares(decay, START, jac, args=(MEASURED,)).x,
              least_squares(decay, START, args=(MEASURED,)).x, 1e-4, 1e-4)
    own = least_squares(decay, START, args=(MEASURED,), f_scale=0.1, loss=lambda z: (
        jnp.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2)).x
    agree(own, least_squares(decay, START, args=(MEASURED,), f_scale=0.1, loss="cauchy").x, 1e-9)
    agree(least_squares(lambda x: x[0] - 3.0, np.zeros(1)).x, [3.0], 1e-7)  # one number
    wide = least_squares(lambda x, k: x[:1] * x[1:] - k, np.ones(2), kwargs={"k": 4.0})
    agree(wide.x.prod(), 4.0, 1e-6)
    few = least_squares(decay, START, args=(MEASURED,), max_nfev=2)
    assert not few.success and few.status == 0 and few.nfev == 2
    single = least_squares(decay, START.astype(np.float32), args=(MEASURED.astype(np.float32),))
    assert single.success and single.x.dtype == np.float32


MISTAKES = [
    (lambda: minimize(rosenbrock, np.zeros(2), 2.0, method="BFGS"), TypeError, "tuple"),
    (lambda: minimize(rosenbrock, np.zeros((2, 2)), method="BFGS"), TypeError, "vector"),
    (lambda: minimize(rosenbrock, np.zeros(2, int), method="BFGS"), TypeError, "real floats"),
    (lambda: minimize(rosenbrock, np.zeros((2, 2), complex), method="BFGS"), TypeError, "vector"),
    (lambda: minimize(rosenbrock, np.zeros(2), method="Nelder-Mead"), ValueError, "no such method"),
    (lambda: minimize(rosenbrock, np.zeros(2)), TypeError, "method"),
    (lambda: minimize(lambda x: x, np.zeros(2), method="BFGS"), TypeError, "scalar|number"),
    (lambda: minimize(matyas, np.zeros(2), method="BFGS", options={"foo": 1}), TypeError, "foo"),
    (lambda: root_scalar(lambda x: x), ValueError, "bracket"),
    (lambda: root_scalar(lambda x: x, method="brentq", x0=1.0), ValueError, "bracket"),
    (lambda: root_scalar(lambda x: x, method="newton", bracket=(0, 1)), ValueError, "x0"),
    (lambda: root_scalar(lambda x: x, method="toms748", bracket=(0, 1)), ValueError, "no such"),
    (lambda: root_scalar(lambda x: x, x0=np.ones(2)), TypeError, "single"),
    (lambda: root(system, np.ones(2), (2.0,), "x"), ValueError, "no such method"),
    (lambda: root(lambda x: x[:1], np.ones(2)), ValueError, "as many numbers"),
    (lambda: root(lambda x: x, np.ones(2, int)), TypeError, "real floats"),
    (lambda: least_squares(decay, START, method="x"), ValueError, "no such method"),
    (lambda: least_squares(decay, START, method="lm", bounds=(0, 1)), ValueError, "no bounds"),
    (lambda: least_squares(decay, START, bounds=0), ValueError, "two"),
    (lambda: least_squares(decay, START, bounds=(np.zeros(2), 1.0)), ValueError, "like x0"),
    (lambda: least_squares(decay, START, loss="x"), ValueError, "no such loss"),
    (lambda: least_squares(decay, START, jac="x"), ValueError, "no such Jacobian"),
    (lambda: least_squares(lambda x: x[None], START), ValueError, "a vector"),
]


@pytest.mark.parametrize("call, kind, words", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
