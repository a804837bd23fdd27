"""Promise 23: what would be silently wrong is an error that names the user's line."""

import inspect

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax, random
from tanx.dtypes import TypePromotionError
from tanx.errors import KeyReuseError, OutOfBoundsError
from tests.gotchas import pages

X = jnp.arange(3.0)
OUT, IN = jnp.array([0, 3]), jnp.array([-3, 2])


def test_the_page():
    pages.run("23_nothing_silent")


# -- bounds ----------------------------------------------------------------------------------------

INDEXED = {
    "rows": lambda x, i: x[i],
    "one": lambda x, i: x[i[1]],
    "two axes": lambda x, i: jnp.ones((3, 5)).at[i, i + 1].get() * x[0],
    "a window": lambda x, i: jnp.arange(4.0)[tanx.ds(i[1], 2)] * x[0],
    "set": lambda x, i: x.at[i].set(1.0),
    "add": lambda x, i: x.at[i].add(1.0),
    "a promise": lambda x, i: x.at[i].get(mode="promise_in_bounds"),
    "take": lambda x, i: jnp.take(x, i),
    "take_along_axis": lambda x, i: jnp.take_along_axis(x[None], i[None], 1),
    "scan": lambda x, i: lax.scan(lambda c, k: (c + x[k], c), 0.0, i),
    "while_loop": lambda x, i: lax.while_loop(
        lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] + x[i[c[0]]]), (0, 0.0)),
    "vmap": lambda x, i: tanx.vmap(lambda k: x[k])(i),
    "vmap of cond": lambda x, i: tanx.vmap(lambda k: lax.cond(k > 1, lambda: x[k], lambda: 0.0))(i),
    "grad": lambda x, i: tanx.grad(lambda x: x[i].sum())(x),
    "checkpoint": lambda x, i: tanx.grad(tanx.checkpoint(lambda x: (x[i] ** 2).sum()))(x),
}


@pytest.mark.parametrize("name", INDEXED)
def test_indices_out_of_bounds(name):
    f = INDEXED[name]
    staged, line = tanx.jit(f), f"at:    {__file__}:{_line(name)} "
    expected = [f(X, IN), f(X, OUT)]
    with tanx.debug_bounds(True):
        for run in (f, staged):
            for _ in range(4 if run is staged else 1):
                with pytest.raises(OutOfBoundsError, match="out of bounds for axis") as caught:
                    run(X, OUT)
                assert isinstance(caught.value, IndexError)
                assert run is f or line in str(caught.value)
                tanx.tree.map(np.testing.assert_array_equal, run(X, IN), expected[0])
    for _ in range(4):  # without debug_bounds there is no error
        tanx.tree.map(np.testing.assert_array_equal, staged(X, OUT), expected[1])


def _line(name: str) -> int:
    """The line of an entry's index: the last line of its function."""
    lines, first = inspect.getsourcelines(INDEXED[name])
    return first + len(lines) - 1


def test_explicit_out_of_bounds_modes_do_not_raise():
    with tanx.debug_bounds(True):
        assert X.at[OUT].get(mode="clip").tolist() == [0.0, 2.0]
        assert X.at[OUT].set(5.0, mode="drop").tolist() == [5.0, 1.0, 2.0]
        assert jnp.take(X, OUT, mode="wrap").tolist() == [0.0, 0.0]
        assert X[1:9].tolist() == [1.0, 2.0]
        assert X[X > 1].tolist() == [2.0]
        assert X[jnp.zeros(0, int)].shape == (0,)
        assert lax.dynamic_slice(X, (7,), (2,)).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("use", [
    lambda: X[3], lambda: X[-4], lambda: X.at[3].set(1), lambda: X[tanx.ds(2, 2)],
    lambda: tanx.jit(lambda x: x[3])(X), lambda: tanx.jit(lambda x: x.at[3].add(1))(X)])
def test_known_indices_are_found_while_tracing(use):
    with tanx.debug_bounds(True):
        for _ in range(4):
            with pytest.raises(OutOfBoundsError, match="out of bounds for axis 0"):
                use()


def test_out_of_bounds_reads_inside_the_library_do_not_raise():
    """Library functions with fixed sizes may index past the end, and handle the result."""
    f = tanx.jit(lambda x: jnp.unique(x, True, True, True, size=0, fill_value=1))
    with tanx.debug_bounds(True):
        for _ in range(4):
            assert f(jnp.array([3, 1, 2, 3]))[0].shape == (0,)
        with pytest.raises(OutOfBoundsError):
            jnp.vectorize(lambda i: X[i])(OUT)  # a user's function, called by the library


def test_narrow_indices_reach_beyond_their_range():
    table, at = jnp.arange(300), tanx.jit(lambda table, i: table[i])
    with tanx.debug_bounds(True):
        for dtype in ("uint8", "int8", "uint32"):
            for _ in range(4):
                assert at(table, jnp.asarray(100, dtype)) == 100
        with pytest.raises(OutOfBoundsError, match="index 4294967295 is out"):
            at(table, jnp.asarray(2**32 - 1, "uint32"))


# -- promotion -------------------------------------------------------------------------------------

LOSSLESS = [("int8", "float16"), ("int16", "float32"), ("bfloat16", "float16"), ("bool", "int8"),
            ("uint8", "int16"), ("float32", "complex64"), ("float16", "complex64")]
LOSSY = [("int32", "float32"), ("uint32", "int32"), ("int32", "float16"), ("int16", "bfloat16"),
         ("int32", "complex64")]


@pytest.mark.parametrize("left, right", LOSSLESS + LOSSY)
def test_promotion_that_loses_precision(left, right):
    x, y, f = jnp.ones(2, left), jnp.ones(2, right), tanx.jit(lambda x, y: x + y)
    expected = (x + y).dtype
    with tanx.numpy_dtype_promotion("lossless"):
        for run in (jnp.add, f, f, f, f):
            if (left, right) in LOSSLESS:
                assert run(x, y).dtype == expected
            else:
                with pytest.raises(TypePromotionError, match="does not have all numbers of"):
                    run(x, y)
        assert (x * 2).dtype == x.dtype or left == "bool"  # 2 takes the dtype of x
    assert f(x, y).dtype == expected


def test_lossless_promotion_with_64_bits():
    with tanx.enable_x64(True), tanx.numpy_dtype_promotion("lossless"):
        assert (jnp.ones(1, "uint32") + jnp.ones(1, "int32")).dtype == "int64"
        assert (jnp.ones(1, "int32") + jnp.ones(1, "float64")).dtype == "float64"
        with pytest.raises(TypePromotionError, match="f64 does not have all numbers of i64"):
            jnp.ones(1, "int64") + jnp.ones(1, "float64")


# -- what else is an error -------------------------------------------------------------------------


def test_keys_used_twice():
    draw = tanx.jit(lambda key: random.normal(key))
    with tanx.debug_key_reuse(True):
        for seed in range(4):
            key = random.key(seed)
            draw(key)
            with pytest.raises(KeyReuseError, match=f"used at: {__file__}"):
                draw(key)


def test_a_donated_or_deleted_array_says_so():
    step = tanx.jit(lambda x: x + 1, donate_argnums=0)
    for _ in range(4):
        x = jnp.ones(3)
        step(x)
        for use in (jnp.sin, step, np.asarray, lambda x: x[0]):
            with pytest.raises(RuntimeError, match="its data is gone"):
                use(x)


def test_leaked_tracers_say_where_they_came_from():
    kept = []

    def leaky(x):
        kept.append(x * 2)
        return x

    for run in (tanx.jit(leaky), tanx.vmap(leaky), tanx.grad(lambda x: leaky(x).sum())):
        run(jnp.ones(3))
        with pytest.raises(tanx.errors.UnexpectedTracerError, match="escaped from the function"):
            kept[-1] + 1
    tanx.jit(leaky)(1.0)
    with pytest.raises(tanx.errors.UnexpectedTracerError, match="argument x of leaky") as caught:
        kept[-1] + 1
    assert "kept.append(x * 2)" in str(caught.value)


def test_transfer_guard_refuses_implicit_transfers():
    f = tanx.jit(lambda x: x + 1)
    f(X)
    with tanx.transfer_guard("disallow"):
        for _ in range(4):
            with pytest.raises(tanx.errors.JaxRuntimeError, match=f"at: *{__file__}"):
                f(np.ones(3))
            assert f(X).tolist() == [1.0, 2.0, 3.0]
