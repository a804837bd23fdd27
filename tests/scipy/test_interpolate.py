"""Interpolation on grids and lookup tables: SciPy's numbers, derivatives, batches, errors."""

import numpy as np
import pytest
from scipy import interpolate as reference
from scipy.sparse.linalg import spsolve

import tanx
import tanx.numpy as jnp
from tanx.scipy.interpolate import RegularGridInterpolator, lookup
from tests.numpy.agreement import adjoint, agree, batched
from tests.scipy.lives import check

RNG = np.random.default_rng(0)
METHODS = ["linear", "slinear", "nearest", "cubic"]


def grid(*sizes, rest=()):
    """The points of a grid, values at these, and points inside and outside."""
    points = [np.cumsum(RNG.uniform(0.2, 1, n)) for n in sizes]
    places = np.stack([RNG.uniform(p[0] - 0.2, p[-1] + 0.2, 30) for p in points], -1)
    return points, RNG.normal(size=sizes + rest), places


def theirs(points, values, method, fill):
    exact = {"solver": spsolve} if method == "cubic" and len(points) > 1 else {}
    return reference.RegularGridInterpolator(points, values, method, False, fill, **exact)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sizes, rest, fill", [
    ((6,), (), np.nan), ((5, 7), (), None), ((5, 7), (), 2.0), ((5, 4), (2,), np.nan),
    ((4, 4, 5), (), None)])
def test_values(sizes, rest, method, fill):
    points, values, places = grid(*sizes, rest=rest)
    want = theirs(points, values, method, fill)(places)
    with tanx.enable_x64(True):
        check(lambda v, x: RegularGridInterpolator(points, v, method, fill_value=fill)(x),
              (values, places), want, 1e-9, 1e-9)


def test_points_of_the_grid_have_their_values():
    points, values, _ = grid(5, 6)
    places = np.stack(np.meshgrid(*points, indexing="ij"), -1)
    for method in METHODS:
        got = RegularGridInterpolator(points, values, method)(places)
        agree(got, values, 1e-5, 1e-5)


@pytest.mark.parametrize("xi, shape", [
    (np.ones(2), (1,)), (np.ones(6), (3,)), (np.ones((3, 2)), (3,)), (np.ones((3, 4, 2)), (3, 4)),
    (np.ones((0, 2)), (0,)), ((np.ones(3), np.ones((2, 1))), (2, 3)), ((1.0, 1.0), ()),
    ([[1.0, 1.0]], (1,)), (np.ones((3, 2), int), (3,))])
def test_shapes_of_places(xi, shape):
    got = RegularGridInterpolator([np.arange(3.0), np.arange(4.0)], np.ones((3, 4)))(xi)
    assert got.shape == shape and got.dtype == np.float32 and not got.weak_type
    assert (np.asarray(got) == 1).all()


@pytest.mark.parametrize("dtype, out", [
    ("int32", "float32"), ("float16", "float32"), ("float32", "float32"),
    ("complex64", "complex64")])
@pytest.mark.parametrize("method", ["linear", "cubic"])
def test_dtypes(dtype, out, method):
    values = RNG.integers(-4, 4, (5,)).astype(dtype)
    made = RegularGridInterpolator([np.arange(5, dtype=np.float32)], values, method)
    got = made(np.float32([[0.5], [9]]))
    assert got.dtype == out
    want = theirs([np.arange(5.0)], values.astype("c8" if dtype == "complex64" else "f4"), method,
                  np.nan)
    agree(got, want([0.5, 9]), 1e-5, 1e-5)


def test_method_of_a_call():
    points, values, places = grid(5, 6)
    made = RegularGridInterpolator(points, values)
    for method in METHODS:
        agree(made(places, method), theirs(points, values, method, np.nan)(places), 1e-4, 1e-4)


def test_decreasing_points():
    points, values, places = grid(5, 6)
    flipped = RegularGridInterpolator([points[0][::-1], points[1]], values[::-1])
    agree(flipped(places), RegularGridInterpolator(points, values)(places))


def test_not_a_number():
    made = RegularGridInterpolator([np.arange(3.0)], np.arange(3.0), fill_value=7.0)
    for method in ("linear", "nearest"):
        got = np.asarray(made(jnp.array([[jnp.nan], [5.0]]), method))
        assert np.isnan(got[0]) and got[1] == 7


def test_a_single_point():
    made = RegularGridInterpolator([np.array([1.0]), np.arange(3.0)], np.arange(3.0)[None])
    agree(made(jnp.array([[1.0, 0.5], [2.0, 0.5]])), [0.5, np.nan])


def test_bounds_error():
    made = RegularGridInterpolator([np.arange(3.0)], np.arange(3.0), bounds_error=True)
    agree(made(jnp.array([1.5])), [1.5])
    with pytest.raises(ValueError, match="within the grid"):
        made(jnp.array([2.5]))
    with pytest.raises(NotImplementedError, match="bounds_error"):
        tanx.jit(made)(jnp.array([1.5]))


@pytest.mark.parametrize("method", METHODS)
def test_interpolators_are_pytrees(method):
    points, values, places = grid(5, 6)
    made = RegularGridInterpolator(points, values, method)
    want = theirs(points, values, method, np.nan)(places)
    compiled = tanx.jit(lambda f, x: f(x))
    for _ in range(4):
        agree(compiled(made, places), want, 1e-4, 1e-4)
    twice = tanx.tree.map(lambda x: jnp.stack([x, x]), made)
    agree(tanx.vmap(lambda f: f(places))(twice), np.stack([want, want]), 1e-4, 1e-4)


@pytest.mark.parametrize("method", ["linear", "cubic"])
def test_derivatives_by_points_values_and_places(method):
    points, values, _ = grid(5, 6)
    places = np.stack([RNG.uniform(p[0], p[-1], 9) for p in points], -1)
    adjoint(lambda p, q, v, x: RegularGridInterpolator([p, q], v, method)(x), *points, values,
            places)


@pytest.mark.parametrize("error, call", [
    (ValueError, lambda p, v: RegularGridInterpolator([p], v, "magic")),
    (ValueError, lambda p, v: RegularGridInterpolator([p], v)(p[:2, None], "magic")),
    (ValueError, lambda p, v: RegularGridInterpolator([p], v[:2])),
    (ValueError, lambda p, v: RegularGridInterpolator([p, p], v)),
    (ValueError, lambda p, v: RegularGridInterpolator([p[None]], v[None])),
    (ValueError, lambda p, v: RegularGridInterpolator([p * 0], v)),
    (ValueError, lambda p, v: RegularGridInterpolator([p], v, fill_value=1j)),
    (ValueError, lambda p, v: RegularGridInterpolator([p], v, "cubic")),
    (ValueError, lambda p, v: RegularGridInterpolator([p], v)(p[None, :2]))])
def test_errors_of_interpolators(error, call):
    with pytest.raises(error, match=r"^tanx\.scipy\.interpolate\.RegularGridInterpolator: "):
        call(jnp.arange(3.0), jnp.arange(3.0))


# -- lookup ----------------------------------------------------------------------------------------


def test_lookup_is_linear_interpolation():
    table = RNG.normal(size=(6, 7, 2))
    x, y = RNG.uniform(0.0, 2.5, 30), RNG.uniform(-3, 0, 30)
    want = theirs([np.arange(6) * 0.5, np.arange(7) * 0.5 - 3], table, "linear", np.nan)
    check(lambda t, x, y: lookup(t, x, y, start=(0.0, -3.0), step=0.5),
          (np.float32(table), np.float32(x), np.float32(y)), want(np.stack([x, y], -1)), 1e-4, 1e-5)


@pytest.mark.parametrize("degree, method", [(1, "linear"), (1, "cubic"), (2, "cubic")])
def test_lookup_is_exact_for_polynomials(degree, method):
    f = np.polynomial.Polynomial(RNG.normal(size=degree + 1))
    x = np.linspace(0, 6, 50)
    with tanx.enable_x64(True):
        agree(lookup(f(np.arange(7.0)), x, method=method), f(x), 1e-12, 1e-12)


def test_cubic_lookup_has_continuous_slopes():
    table = jnp.asarray(RNG.normal(size=8), jnp.float32)
    slope = tanx.vmap(tanx.grad(lambda x: lookup(table, x, method="cubic", mode="wrap")))
    places = np.arange(8, dtype=np.float32)
    agree(slope(places - 1e-4), slope(places + 1e-4), 1e-2, 1e-2)


@pytest.mark.parametrize("mode, want", [
    ("nearest", [0, 0, 1, 2, 3, 3]), ("constant", [-1, 0, 1, 2, 3, -1]),
    ("wrap", [3, 0, 1, 2, 3, 0]), ("mirror", [1, 0, 1, 2, 3, 2]), ("reflect", [0, 0, 1, 2, 3, 3])])
@pytest.mark.parametrize("method", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.uint8])
def test_modes_of_lookup(mode, want, method, dtype):
    table = jnp.arange(4.0)
    places = np.array([-1, 0, 1, 2, 3, 4])[dtype is np.uint8:].astype(dtype)
    check(lambda t, x: lookup(t, x, method=method, mode=mode, fill_value=-1.0), (table, places),
          want[dtype is np.uint8:])


def test_entries_of_any_shape_and_dtype():
    table = np.arange(24).reshape(4, 3, 2)
    got = lookup(table, np.array([[0, 3], [9, 1]]))
    assert got.dtype == np.int32
    agree(got, table[[[0, 3], [3, 1]]])
    assert lookup(table, 1.5, 0).shape == (2,)


@pytest.mark.parametrize("method", ["linear", "cubic"])
@pytest.mark.parametrize("mode", ["nearest", "wrap"])
def test_derivatives_of_lookup(method, mode):
    adjoint(lambda t, x, y, start, step: lookup(t, x, y, start=start, step=step, method=method,
                                                mode=mode),
            RNG.normal(size=(5, 6)), RNG.uniform(0, 3, 9), RNG.uniform(0, 3, 9), np.full(2, 0.1),
            np.array(0.7))


def test_batches_of_lookup():
    table, x = RNG.normal(size=(5,)).astype("f"), RNG.uniform(0, 4, 7).astype("f")
    batched(lambda t, x: lookup(t, x, method="cubic"), table, x)


def test_lookup_reads_entries_where_they_are():
    """Only three of a million entries are read: no operation has a million results."""
    jaxpr = tanx.make_jaxpr(lambda t, x: lookup(t, x, method="cubic"))(
        jnp.zeros(10**6), jnp.zeros(3))
    (call,) = jaxpr.eqns
    made = [v.aval.size for eqn in call.params["jaxpr"].eqns for v in eqn.outvars]
    assert len(made) > 20 and max(made) <= 6


@pytest.mark.parametrize("call", [
    lambda t, x: lookup(t), lambda t, x: lookup(t, x, x, x), lambda t, x: lookup(t, x * 1j),
    lambda t, x: lookup(t, x, method="magic"), lambda t, x: lookup(t, x, mode="magic"),
    lambda t, x: lookup(t[:2], x, method="cubic"), lambda t, x: lookup(t[:0], x)])
def test_errors_of_lookup(call):
    with pytest.raises(ValueError, match=r"^tanx\.scipy\.interpolate\.lookup: "):
        call(jnp.ones((4, 4)), jnp.ones(3))
