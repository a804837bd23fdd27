"""Corner cases of NumPy's functions: JAX's results, eagerly and in every compiled call."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax, nn, random

nan, inf = np.nan, np.inf
F, I = np.float32, np.int32  # noqa: E741
KEYS = random.split(random.key(0), 3)


def c64(*numbers):
    return np.array(numbers, np.complex64)


# name: a function, its operands, and the result of JAX 0.12
CASES = {
    # NaN and infinities
    "cumlogsumexp": (lax.cumlogsumexp, [F([1, nan, 2])], F([1, nan, nan])),
    "cumlogsumexp -inf": (lax.cumlogsumexp, [F([-inf, -inf, 2, inf, 1])],
                          F([-inf, -inf, 2, inf, inf])),
    "polyval": (jnp.polyval, [F([1, 2, 3]), F([inf, -inf, 2])], F([inf, inf, 11])),
    "polyval 0": (jnp.polyval, [F([0, -2, 3]), F(inf)], F(nan)),
    "polynomial": (lambda x: lax.polynomial(x, [3.0, 2.0, 1.0]), [F([inf, 2])], F([inf, 11])),
    "cond": (jnp.linalg.cond, [F([[1, nan], [0, 1]])], F(nan)),
    "cond singular": (jnp.linalg.cond, [F([[1, 0], [0, 0]])], F(inf)),
    "eigvals": (jnp.linalg.eigvals, [F([[1, nan], [0, 1]])], c64(complex(nan, nan)).repeat(2)),
    "eigvals inf": (jnp.linalg.eigvals, [F([[1, inf], [0, 1]])], c64(complex(nan, nan)).repeat(2)),
    "cholesky": (jnp.linalg.cholesky, [c64(-1).reshape(1, 1)], c64(complex(nan, nan))[None]),
    "searchsorted": (jnp.searchsorted, [F([1, 2, nan, nan]), F([0, 1.5, 3, nan])], I([0, 1, 2, 2])),
    "searchsorted complex": (
        lambda a, v: jnp.searchsorted(a, v, side="right"),
        [c64(1 + 1j, complex(1, nan), complex(nan, 1), complex(nan, nan))] * 2, I([1, 2, 3, 4])),
    "setxor1d fill": (lambda a, b: jnp.setxor1d(a, b, size=6), [F([nan, 1]), F([nan, 2])],
                      F([1, 2, nan, nan, nan, nan])),
    # shapes
    "trapezoid": (lambda y, dx: jnp.trapezoid(y, dx=dx), [F([0, 1, 2, 3]), F([1, 2, 3])], F(11)),
    "trapezoid axis": (lambda y, dx: jnp.trapezoid(y, dx=dx, axis=0),
                       [np.arange(12, dtype=F).reshape(3, 4), F([1, 2, 3, 4])], F([8, 20, 36, 56])),
    "trapezoid complex": (lambda y: jnp.trapezoid(y, dx=1j), [F([0, 1, 2, 3])], c64(4.5j)[0]),
    "cov": (lambda x: jnp.cov(x, rowvar=False), [np.ones((1, 3), F)], np.full((3, 3), nan, F)),
    "corrcoef": (lambda x: jnp.corrcoef(x, rowvar=False), [np.ones((1, 3), F)],
                 np.full((3, 3), nan, F)),
    "cov weights": (
        lambda x, w: jnp.cov(x, fweights=w), [np.arange(6, dtype=F).reshape(2, 3),
                                              np.array([1, 2, 1], np.uint8)],
        np.full((2, 2), 2 / 3, F)),
    "setxor1d": (lambda a, b: jnp.setxor1d(a, b, assume_unique=True, size=8),
                 [I([3, 2, 3, 1, 1]), I([2, 4, 5, 5])], I([4] * 8)),
    "roll": (lambda x, s: jnp.roll(x, s, axis=(0, 1)), [I([[0, 1, 2], [3, 4, 5]]), I([1, 2])],
             I([[4, 5, 3], [1, 2, 0]])),
    "roll narrow": (lambda s: jnp.roll(jnp.arange(300), s)[:2], [np.uint8(200)], I([100, 101])),
    "accumulate nothing": (lambda x: jnp.bitwise_xor.accumulate(x, axis=1), [np.zeros((4, 0), I)],
                           np.zeros((4, 0), I)),
    "subtract nothing": (lambda x: jnp.subtract.accumulate(x, axis=1), [np.zeros((2, 0), F)],
                         np.zeros((2, 0), F)),
    "reduceat nothing": (jnp.add.reduceat, [np.arange(4, dtype=I), np.zeros(0, I)], np.zeros(0, I)),
    "reduceat axis": (lambda x, i: jnp.subtract.reduceat(x, i, axis=1),
                      [np.ones((2, 3), F), np.zeros(0, I)], np.zeros((2, 0), F)),
    "expand_dims": (lambda x: jnp.expand_dims(x, range(-1, 1)), [np.zeros((2, 3), F)],
                    np.zeros((1, 2, 3, 1), F)),
    "expand_dims array": (lambda x: jnp.expand_dims(x, np.array([0, -1])), [np.zeros((2, 3), F)],
                          np.zeros((1, 2, 3, 1), F)),
    "sum of a set": (lambda x: jnp.sum(x, {0, 1}), [np.ones((2, 3), F)], F(6)),
    # bools
    "maximum": (jnp.maximum.accumulate, [np.array([False, True, False])],
                np.array([False, True, True])),
    "minimum": (jnp.minimum.accumulate, [np.array([True, False, True])],
                np.array([True, False, False])),
    "reduceat": (jnp.add.reduceat, [np.array([True, True, False]), I([0, 2])],
                 np.array([True, False])),
    "outer": (jnp.outer, [np.array([True, False]), np.array([True, True])],
              np.array([[True, True], [False, False]])),
    # integers that wrap around, and other dtypes
    "convert": (lambda: lax.convert_element_type(2**32 + 5, "int32"), [], I(5)),
    "convert -": (lambda: lax.convert_element_type(-2**63, "int32"), [], I(0)),
    "convert to u8": (lambda: lax.convert_element_type(2**63 + 7, "uint8"), [], np.uint8(7)),
    "full": (lambda: jnp.full(2, 2**32 + 1, "int32"), [], I([1, 1])),
    "full_like": (lambda x: jnp.full_like(x, 2**32 + 1), [I([0, 0])], I([1, 1])),
    "lax.full": (lambda: lax.full((2,), 2**63, "int32"), [], I([0, 0])),
    "fftfreq": (lambda: jnp.fft.fftfreq(4, dtype="complex64"), [], c64(0, 0.25, -0.5, -0.25)),
    "fftfreq i32": (lambda: jnp.fft.fftfreq(4, dtype="int32"), [], I([0, 0, 0, 0])),
    "rfftfreq i32": (lambda: jnp.fft.rfftfreq(4, dtype="int32"), [], F([0, 0.25, 0.5])),
    # masks without elements
    "mask": (lambda x: x[np.zeros(0, bool)], [np.ones((2, 3), F)], np.zeros((0, 3), F)),
    "mask of two axes": (lambda x: x[np.zeros((2, 0), bool)], [np.ones((2, 3), F)],
                         np.zeros(0, F)),
    "mask set": (lambda x: x.at[np.zeros(0, bool)].set(2), [np.ones((2, 3), F)],
                 np.ones((2, 3), F)),
    "mask apply": (lambda x: x.at[np.zeros((0, 3), bool)].apply(jnp.sin), [np.ones((2, 3), F)],
                   np.ones((2, 3), F)),
}


@pytest.mark.parametrize("name", CASES)
def test_corner(name):
    function, operands, want = CASES[name]
    results = [function(*map(jnp.asarray, operands))]
    compiled = tanx.jit(function)
    results += [compiled(*operands) for _ in range(4)]
    for got in results:
        assert got.dtype == want.dtype and got.shape == want.shape and not got.weak_type
        np.testing.assert_allclose(got, want, rtol=1e-6)
        if want.dtype.kind == "c":
            np.testing.assert_array_equal(np.isnan(got.imag), np.isnan(want.imag))


def test_unique_takes_complex_numbers_with_nan_for_one():
    x = c64(complex(nan, 1), 1 + 1j, complex(nan, 2), complex(1, nan), 1)
    values, first, inverse, counts = jnp.unique(x, True, True, True)
    np.testing.assert_array_equal(values, c64(1, 1 + 1j, nan))
    assert first.tolist() == [4, 1, 0]
    assert inverse.tolist() == [2, 1, 2, 2, 0] and counts.tolist() == [1, 1, 3]
    assert jnp.unique(x, equal_nan=False).shape == (5,)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_interp_has_no_slope_between_points_that_are_too_close(dtype):
    with tanx.enable_x64(True):
        eps = float(jnp.finfo(dtype).eps)
        for width, slope in ((4 * eps**2, 1 / (4 * eps**2)), (eps**2 / 4, 0.0)):
            xp = jnp.array([0.0, width, 1.0], dtype)
            fp = jnp.array([0.0, 1.0, 2.0], dtype)
            at = jnp.asarray(width / 2, dtype)
            assert tanx.grad(jnp.interp)(at, xp, fp) == jnp.asarray(slope, dtype)
            assert (tanx.grad(jnp.interp, 1)(at, xp, fp)[0] == 0) == (slope == 0)


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_keys_outside_have_all_bits_set(impl):
    keys = random.split(random.key(0, impl=impl), 3)
    read = tanx.jit(lambda keys, i: keys.at[i].get(mode="fill"))
    for _ in range(4):
        for found in (read(keys, jnp.array([0, 9])), keys.at[jnp.array([0, 9])].get(mode="fill"),
                      jnp.take(keys, jnp.array([0, 9]))):
            words = random.key_data(found)
            assert (words[0] == random.key_data(keys)[0]).all() and (words[1] == 2**32 - 1).all()


def test_keys_are_close_if_they_are_equal():
    assert jnp.isclose(KEYS, KEYS[0]).tolist() == [True, False, False]
    assert jnp.allclose(KEYS, KEYS) and not jnp.allclose(KEYS, KEYS[0])
    assert (jnp.full((2,), KEYS[0]) == KEYS[0]).all()


EXTREME = [complex(a, b) for a in (0.0, 1.0, 88.0, 89.0, 100.0, -89.0, 120.0)
           for b in (0.0, 1.0, 1.5707, 1.570796326, -3.0)]


@pytest.mark.parametrize("name", ["exp", "expm1", "sinh", "cosh", "sin", "cos"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_parts_of_complex_functions_overflow_where_they_are_too_large(name, dtype):
    """Against extended precision, or for complex128 against products with e^|x| in two factors."""
    scale = 1 if dtype == "complex64" else 8.0
    x = np.array(EXTREME)
    x = (x.real * scale + 1j * x.imag).astype(dtype)
    x = x if name not in ("sin", "cos") else x.imag + 1j * x.real
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x.astype(np.clongdouble)).astype(dtype)
    with tanx.enable_x64(True):
        function = tanx.jit(getattr(jnp, name))
        for got in (getattr(jnp, name)(x), *(function(x) for _ in range(4))):
            assert got.dtype == dtype
            for part in ("real", "imag"):
                np.testing.assert_allclose(getattr(np.asarray(got), part), getattr(want, part),
                                           rtol=3e-6 if scale == 1 else 1e-14, atol=1e-6)


def test_categories_broadcast_to_the_shape():
    logits, key = jnp.zeros((1, 3)), random.key(0)
    assert random.categorical(key, logits, shape=(4,)).tolist() == [1, 1, 2, 1]
    assert random.categorical(key, jnp.zeros((3, 1)), axis=0, shape=(2, 4)).tolist() == [
        [0, 0, 2, 1], [1, 2, 0, 0]]
    for shape in ((4,), (2, 4)):
        with pytest.raises(ValueError, match="shape must end"):
            random.categorical(key, jnp.zeros((2, 3)), shape=shape)
    with pytest.raises(ValueError, match="shape must end"):
        random.categorical(key, logits, shape=(4,), replace=False)


@pytest.mark.parametrize("axes, want", [((0, 0), 1.655203), (((), 0), 1.170405),
                                        (((), ()), 0.955632)])
def test_fans_of_vectors(axes, want):
    init = nn.initializers.variance_scaling(1.0, "fan_avg", "truncated_normal", *axes)
    np.testing.assert_allclose(init(random.key(0), (3,))[0], want, rtol=1e-5)


class Wrapper:
    """An object with ``__jax_array__``."""

    def __init__(self, array):
        self.array = array

    def __jax_array__(self):
        return self.array


class Described:
    """An object with a shape and a dtype, without elements."""

    shape, dtype = (2, 3), np.dtype(np.float32)


def test_objects_with_jax_array_are_accepted():
    x = jnp.array([3.0, 1.0])
    for function in (jnp.sin, jnp.sort, jnp.sum, jnp.argmax, jnp.unique, jnp.fft.fft, jnp.diag,
                     jnp.linalg.norm, jnp.cumsum, jnp.zeros_like, jnp.asarray, jnp.expand_dims):
        extra = (0,) if function is jnp.expand_dims else ()
        want = function(x, *extra)
        for _ in range(4):
            np.testing.assert_array_equal(function(Wrapper(x), *extra), want)
    for function in (jnp.add, jnp.concatenate, jnp.stack, jnp.dot, jnp.array_equal, jnp.power):
        both = [(Wrapper(x), x)] if function in (jnp.concatenate, jnp.stack) else (Wrapper(x), x)
        plain = [(x, x)] if function in (jnp.concatenate, jnp.stack) else (x, x)
        np.testing.assert_array_equal(function(*both), function(*plain))
    np.testing.assert_array_equal(tanx.jit(lambda y: jnp.add(Wrapper(y), 1))(x), x + 1)
    assert jnp.shape(Wrapper(x)) == (2,) and jnp.result_type(Wrapper(x), 1) == np.float32
    for call in (tanx.jit(jnp.sin), tanx.grad(jnp.sum), tanx.vmap(jnp.sin)):
        with pytest.raises(ValueError, match="is not an array"):
            call(Wrapper(x))


@pytest.mark.parametrize("x", [Described(), tanx.ShapeDtypeStruct((2, 3), np.float32)],
                         ids=["duck", "struct"])
def test_descriptions_of_arrays(x):
    for function in (jnp.zeros_like, jnp.ones_like, jnp.empty_like,
                     lambda x: jnp.full_like(x, 2), lambda x: lax.full_like(x, 2.0)):
        made = function(x)
        assert made.shape == (2, 3) and made.dtype == np.float32
    assert jnp.zeros_like(x, int, (4,)).shape == (4,)
    assert tanx.tree.map(jnp.zeros_like, {"a": x})["a"].shape == (2, 3)
    assert jnp.shape(x) == (2, 3) and jnp.ndim(x) == 2 and jnp.size(x) == 6
    assert jnp.result_type(x, np.int32) == np.float32
    assert tanx.eval_shape(jnp.sum, x).shape == ()
    assert tanx.make_jaxpr(jnp.sin)(x).in_avals[0].shape == (2, 3)
    assert tanx.jit(jnp.sin).lower(x).out_info.shape == (2, 3)
    assert jnp.tril_indices_from(x)[0].shape == (3,)
    with pytest.raises(TypeError):
        jnp.sin(x)


@pytest.mark.parametrize("call", [
    jnp.array, jnp.asarray, jnp.sin, lambda x: jnp.zeros(2) + x, tanx.device_put,
    tanx.jit(lambda x: x), tanx.grad(lambda x: x.sum()), tanx.vmap(lambda x: x),
    lambda x: lax.add(x, x), lambda x: jnp.zeros(2).at[:].set(x)])
def test_masked_arrays_are_refused(call):
    x = np.ma.masked_array(F([1, 2]), [True, False])
    for _ in range(4):
        with pytest.raises(ValueError, match="mask"):
            call(x)
        call(x.filled(0)) if call is not tanx.grad else None


def test_masked_arrays_are_refused_by_compiled_code_that_is_known():
    function = tanx.jit(lambda x: x + 1)
    for _ in range(4):
        function(F([1, 2]))
    with pytest.raises(ValueError, match="mask"):
        function(np.ma.masked_array(F([1, 2]), [True, False]))


@pytest.mark.parametrize("call", [
    lambda: jnp.multiply(2**100, 3.0), lambda: jnp.arange(2.0) + 2**31, lambda: 2**40 - jnp.ones(2),
    lambda: jnp.hypot(3.0, 2**40), lambda: lax.convert_element_type(2**64, "int32")])
def test_integers_that_do_not_fit(call):
    with pytest.raises(OverflowError):
        call()


def test_integers_that_fit_with_64_bits():
    with tanx.enable_x64(True):
        assert jnp.multiply(2**40, 3.0) == 3 * 2.0**40


def test_memory_that_is_not_aligned():
    memory = np.frombuffer(bytearray(range(17)), np.uint8)[1:].view(np.int32)
    with pytest.raises(ValueError, match="aligned"):
        jnp.from_dlpack(memory, copy=False)
    for copy in (None, True):
        np.testing.assert_array_equal(jnp.from_dlpack(memory, copy=copy), memory)
    np.testing.assert_array_equal(jnp.from_dlpack(memory.copy(), copy=False), memory)


def test_vectorize_and_none():
    x = jnp.zeros((2, 3))
    assert jnp.vectorize(lambda x, y: x, signature="(n),()->(n)")(x, None).shape == (2, 3)
    assert jnp.vectorize(lambda x, y=None: x)(x, y=None).shape == (2, 3)
    with pytest.raises(ValueError, match="None has no dimensions"):
        jnp.vectorize(lambda x, y: x, signature="(n),(k)->(n)")(x, None)
    with pytest.raises(ValueError, match="a result must have"):
        jnp.vectorize(lambda x: None, signature="(n)->(n)")(x)


def test_lapack_prints_nothing(capfd):
    for x in (np.full((3, 3), nan, F), np.full((5, 2, 2), complex(nan, 0), np.complex64)):
        function = tanx.jit(jnp.linalg.eig)
        for values, vectors in (jnp.linalg.eig(x), *(function(x) for _ in range(4))):
            assert np.isnan(values.imag).all() and np.isnan(vectors.real).all()
    assert capfd.readouterr() == ("", "")
