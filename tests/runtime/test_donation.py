"""Donated arguments: reused if nothing else refers to them, deleted afterwards."""

import warnings

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._runtime import background, executable

RNG = np.random.default_rng(0)


@pytest.fixture(params=["at once", "in the background"], autouse=True)
def both_ways(request, monkeypatch):
    monkeypatch.setattr(executable, "LONG", 0.0 if request.param == "in the background" else 1e9)
    monkeypatch.setattr(executable, "SHORT", 0.0)
    yield
    background.barrier()


@pytest.fixture(params=["jit", "compiled"])
def prepare(request):
    """Makes a function that donates arguments: jitted, or compiled ahead of time."""
    def make(fun, *args, **options):
        jitted = tanx.jit(fun, **options)
        return jitted.lower(*args).compile() if request.param == "compiled" else jitted
    return make


def address(x) -> int:
    return np.asarray(x).ctypes.data


def own(*shape) -> tanx.Array:
    """An array that shares its memory with no other."""
    return jnp.asarray(RNG.normal(size=shape), "float32")


def test_results_take_the_memory(prepare):
    x = own(1000)
    where, expected = address(x), np.asarray(x) + 1
    step = prepare(lambda x: x + 1, x, donate_argnums=0)
    y = step(x)
    assert x.is_deleted()
    np.testing.assert_array_equal(y, expected)
    assert address(y) == where


def test_a_loop_stays_in_place():
    step = tanx.jit(lambda x, y: x * 2 + y, donate_argnums=0)
    x = own(1000)
    expected = np.array(x)
    where = address(x)
    for _ in range(10):
        x = step(x, 1.0)
        expected = expected * 2 + 1
    np.testing.assert_allclose(x, expected, rtol=1e-6)
    assert address(x) == where


def test_updates_are_written_in_place():
    update = tanx.jit(lambda x, i, v: x.at[i].set(v), donate_argnums=0)
    x = own(1000)
    where, expected = address(x), np.array(x)
    for i in range(5):
        x = update(x, i, 7.0)
        expected[i] = 7
    np.testing.assert_array_equal(x, expected)
    assert address(x) == where
    assert tanx.jit(lambda x, i, v: x.at[i].set(v), donate_argnums=0).lower(
        x, 1, 2.0).compile().memory_analysis().alias_size_in_bytes == 4000


def test_trees_and_names():
    params = {"w": own(3, 4), "b": own(4)}
    expected = {k: np.asarray(v) - 1 for k, v in params.items()}
    step = tanx.jit(lambda lr, *, params: tanx.tree.map(lambda x: x - lr, params),
                    donate_argnames="params")
    new = step(1.0, params=params)
    assert params["w"].is_deleted() and params["b"].is_deleted()
    for name in expected:
        np.testing.assert_array_equal(new[name], expected[name])
    assert not new["w"].is_deleted()


def test_use_after_donation():
    x = own(5)
    step = tanx.jit(lambda x: x + 1, donate_argnums=0)
    step(x)
    for use in (lambda: x + 1, lambda: step(x), lambda: np.asarray(x), lambda: x.is_ready(),
                lambda: tanx.grad(lambda x: x.sum())(x), x.block_until_ready):
        with pytest.raises(RuntimeError, match=r"(?s)deleted or donated.*float32\[5\]"):
            use()
    assert repr(x) == "Array(deleted, float32[5])" and x.shape == (5,)


def test_a_result_that_is_the_argument(prepare):
    x = own(10)
    expected, where = np.array(x), address(x)
    y, z = prepare(lambda x: (x, x + 1), x, donate_argnums=0)(x)
    assert x.is_deleted() and y is not x
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(z, expected + 1)
    assert address(y) == where


@pytest.mark.parametrize("see", [np.asarray, lambda x: memoryview(np.asarray(x)),
                                 np.from_dlpack, lambda x: x[None], lambda x: x.reshape(2, 5)])
def test_donation_copies_memory_with_other_views(see, prepare):
    x = own(10)
    expected = np.array(x)
    view = see(x)
    y = prepare(lambda x: x + 1, x, donate_argnums=0)(x)
    np.testing.assert_array_equal(y, expected + 1)
    np.testing.assert_array_equal(np.asarray(view).ravel(), expected)


def test_memory_of_the_caller_is_left_alone(prepare):
    mine = np.ones(10, np.float32)
    step = prepare(lambda x: x + 1, mine, donate_argnums=0)
    np.testing.assert_array_equal(step(mine), np.full(10, 2))
    np.testing.assert_array_equal(mine, np.ones(10))
    if isinstance(step, tanx.stages.Wrapped):
        assert step(1.0) == 2.0


def test_donated_views_are_copied():
    whole = own(20)
    part = whole[5:15]
    y = tanx.jit(lambda x: x + 1, donate_argnums=0)(part)
    np.testing.assert_array_equal(y, np.asarray(whole)[5:15] + 1)


def test_the_same_array_as_another_argument():
    x = own(10)
    expected = np.array(x)
    y, z = tanx.jit(lambda x, y: (x + 1, y * 3), donate_argnums=0)(x, x)
    np.testing.assert_array_equal(y, expected + 1)
    np.testing.assert_array_equal(z, expected * 3)


def test_the_same_array_twice(prepare):
    x = own(10)
    step = prepare(lambda x, y: (x + 1, y * 3), x, x, donate_argnums=(0, 1))
    with pytest.raises(RuntimeError) as error:
        step(x, x)
    assert str(error.value) == (
        "tanx.jit: the same array is donated twice in one call.\n"
        "  array: float32[10]\n"
        "  Hint: pass a copy as one of the two arguments: x.copy().")
    assert not x.is_deleted()
    step(x, x.copy())


@pytest.mark.parametrize("fun, deleted", [
    (lambda x: x.reshape(-1), True), (lambda x: x.astype("int32") + 1, True),
    (lambda x: jnp.zeros(12) + x.sum(), True), (lambda x: x.sum(), False),
    (lambda x: x.astype("float16"), False), (lambda x: x, True)])
def test_donated_arrays_of_the_size_of_a_result_are_reused(fun, deleted):
    x = own(3, 4)
    expected = np.asarray(fun(x.copy()))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = tanx.jit(lambda x: fun(x), donate_argnums=0)(x)
    assert x.is_deleted() == deleted
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    assert [(w.category, w.filename) for w in caught] == [(UserWarning, __file__)] * (not deleted)


def test_unusable_donated_arguments_warn():
    x, y = own(10), own(10)
    with pytest.warns(UserWarning) as caught:
        tanx.jit(lambda x, y: x.sum() + y, donate_argnums=(0, 1))(x, y)
    assert str(caught[0].message) == (
        "Some donated buffers were not usable: tanx.jit reuses donated arguments that are as large "
        "as a result.\n"
        "  arguments: float32[10]\n"
        "  Hint: do not donate them: they keep their data.")
    assert x.is_deleted() != y.is_deleted()


@pytest.mark.filterwarnings("error")
def test_unused_arguments_stay():
    x = own(10)
    tanx.jit(lambda x, y: y + 1, donate_argnums=0)(x, own(10))
    assert not x.is_deleted()


def test_nested_calls_do_not_donate():
    x = own(10)
    step = tanx.jit(lambda x: x + 1, donate_argnums=0)
    y = tanx.jit(lambda x: step(x) * 2 + x)(x)
    np.testing.assert_allclose(y, (np.asarray(x) + 1) * 2 + np.asarray(x), rtol=1e-6)
    assert not x.is_deleted()
    np.testing.assert_array_equal(tanx.grad(lambda x: step(x).sum())(x), np.ones(10))
    assert not x.is_deleted()
    assert "donated_invars=(True,)" in str(tanx.make_jaxpr(step)(x))


def test_a_failing_call_does_not_donate(monkeypatch):
    x = own(10)
    step = tanx.jit(lambda x: (x + 1, jnp.zeros(1000)), donate_argnums=0)
    step(own(10))
    monkeypatch.setattr(executable, "empty", lambda *_: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        step(x)
    assert not x.is_deleted()


def test_training_keeps_memory_where_it_is():
    from tanx._runtime import host
    step = tanx.jit(lambda w, x: w - 0.1 * tanx.grad(lambda w: ((x @ w) ** 2).sum())(w),
                    donate_argnums=0)
    w, x = own(50, 20), own(30, 50)
    for _ in range(3):
        w = step(w, x)
    w.block_until_ready()
    before = host.statistics()["bytes_in_use"]
    for _ in range(100):
        w = step(w, x)
    w.block_until_ready()
    assert host.statistics()["bytes_in_use"] == before
