"""``pure_callback`` and ``io_callback``: values, effects and errors, eagerly and compiled."""

import gc
import threading
import traceback
import weakref

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._base import config
from tanx._core.effects import IOEffect, OrderedIOEffect
from tanx.errors import JaxRuntimeError
from tanx.experimental import io_callback
from tests.control.ways import each_way, eagerly, error

X = jnp.arange(3.0)


# --- Values ---------------------------------------------------------------------------------------


@each_way
def test_values(run):
    def fun(x, n):
        return tanx.pure_callback(lambda x, *, n: {"sum": np.float32(x.sum()), "more": (x * 2, n)},
                                  {"sum": tanx.ShapeDtypeStruct((), "float32"),
                                   "more": (x, jnp.int32(0))},
                                  x, n=n)
    out = run(fun)(X, 3)
    assert float(out["sum"]) == 3.0
    np.testing.assert_array_equal(out["more"][0], [0, 2, 4])
    assert int(out["more"][1]) == 3


@each_way
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "bfloat16", "float16", "complex64"])
@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3)])
def test_types(run, dtype, shape):
    x = jnp.ones(shape, dtype)
    out = run(lambda x: tanx.pure_callback(lambda a: a, x, x))(x)
    assert out.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(out), np.asarray(x))


@each_way
def test_operands_are_arrays_of_their_own(run):
    kept = []

    def keep(x):
        kept.append(x)
        return x + 1
    fun = run(lambda x: tanx.pure_callback(keep, x, x * 2) * 0)
    for n in range(3):
        fun(X + n)
    assert all(isinstance(x, tanx.Array) for x in kept)
    assert [float(x[0]) for x in kept] == [0.0, 2.0, 4.0]


@each_way
def test_keys_are_keys(run, capsys):
    key = tanx.random.key(3)
    draw = lambda k: np.float32(tanx.random.uniform(k))
    fun = lambda k: tanx.pure_callback(draw, jnp.float32(0), k, vmap_method="sequential")
    assert float(run(fun)(key)) == float(tanx.random.uniform(key))
    keys = tanx.random.split(key, 3)
    np.testing.assert_array_equal(run(tanx.vmap(fun))(keys), [draw(k) for k in keys])
    seen = []
    run(lambda k: tanx.debug.callback(seen.append, k))(key)
    assert seen[0].dtype == key.dtype
    run(lambda k: tanx.debug.print("{}", k))(key)
    out = capsys.readouterr().out  # eager code prints the key itself
    assert out in ("[0 3]\n", "Array((), dtype=key<fry>) overlaying:\n[0 3]\n")


@each_way
def test_callbacks_may_use_tanx(run):
    def inner(x):
        return tanx.jit(jnp.sin)(x) + tanx.grad(lambda y: y ** 2)(1.0)
    np.testing.assert_allclose(run(lambda x: tanx.pure_callback(inner, x, x))(X),
                               np.sin(np.arange(3.0)) + 2, rtol=1e-6)


def test_a_callback_may_call_the_function_it_belongs_to():
    @tanx.jit
    def factorial(n):
        return n * tanx.pure_callback(lambda m: factorial(m - 1) if m > 1 else m, n, n)
    assert int(factorial(5)) == 120


def test_jaxprs_hold_parameters_and_effects():
    def fun(x):
        io_callback(print, None, x, ordered=True)
        io_callback(print, None, x)
        return tanx.pure_callback(np.sin, x, x)
    closed = tanx.make_jaxpr(fun)(X)
    assert [e.primitive.name for e in closed.eqns] == ["io_callback", "io_callback",
                                                       "pure_callback"]
    assert closed.effects == {IOEffect(), OrderedIOEffect()}
    assert sorted(closed.eqns[2].params) == ["callback", "result_avals", "sharding", "vmap_method"]
    assert "_FlatCallback(callback_func=<ufunc 'sin'>, in_tree=PyTreeDef(((*,), {})))" in str(
        closed)


# --- Promises -------------------------------------------------------------------------------------


@each_way
def test_results_are_checked(run):
    def of(result, promised=X):
        return lambda: run(lambda x: tanx.pure_callback(lambda _: result, promised, x))(X)
    assert error(JaxRuntimeError, of(np.zeros(4, "f4"))) == """\
tanx.pure_callback: the callback returned a type other than the declared one.
  promised: float32[3]
  returned: float32[4]
  Hint: result_shape_dtypes declares what the callback returns; np.asarray(y, dtype) converts to \
a dtype."""
    assert "returned: int32[3]" in error(JaxRuntimeError, of(np.arange(3)))
    assert error(JaxRuntimeError, of([1.0, 2.0, 3.0])) == """\
tanx.pure_callback: the callback returned a structure other than the declared one.
  promised: PyTreeDef(*)
  returned: PyTreeDef([*, *, *])"""
    assert of(1.5, np.float32(0))() == 1.5
    np.testing.assert_array_equal(of(np.arange(3.0))(), [0, 1, 2])  # doubles become floats


def test_promises_are_checked():
    assert error(ValueError, lambda: tanx.pure_callback(np.sin, np.zeros(3), X)) == """\
tanx.pure_callback: result_shape_dtypes names a type of 64 bits, which are not enabled.
  found: float64
  Hint: tanx.enable_x64(True), or a type of 32 bits: float32."""
    assert error(TypeError, lambda: tanx.pure_callback(np.sin, (3,), X)) == """\
tanx.pure_callback: result_shape_dtypes must be a pytree of objects with a shape and a dtype.
  found: 3
  Hint: tanx.ShapeDtypeStruct(shape, dtype) is one."""
    assert "at [0][1]: 's' of type str" in error(
        TypeError, lambda: tanx.pure_callback(np.sin, X, X, "s"))
    assert "vmap_method: 'all'" in error(
        ValueError, lambda: tanx.pure_callback(np.sin, X, X, vmap_method="all"))


# --- Exceptions -----------------------------------------------------------------------------------


class Mine(Exception):
    pass


@each_way
def test_exceptions_of_callbacks(run):
    later = []

    def fail(x):
        raise Mine("here")

    def fun(x):
        y = tanx.pure_callback(fail, x, x)
        return io_callback(lambda y: later.append(y) or y, y, y + 1)

    transformed = run(fun)
    for _ in range(4):
        with pytest.raises(JaxRuntimeError, match="Mine: here") as caught:
            transformed(X)
        assert not later
        cause = caught.value.__cause__
        assert type(cause) is Mine and cause.args == ("here",)
        assert traceback.extract_tb(cause.__traceback__)[-1].name == "fail"
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    if run is tanx.jit:  # no frame of tanx in between
        assert names == ["test_exceptions_of_callbacks"]


def test_a_function_works_after_its_callback_has_failed():
    def check(x):
        if x > 1:
            raise Mine(float(x))
        return x
    fun = tanx.jit(lambda x: tanx.pure_callback(check, x, x) + 1)
    for n in range(3):
        assert fun(0.5) == 1.5
        with pytest.raises(JaxRuntimeError, match=f"Mine: {2.0 + n}"):
            fun(2.0 + n)


def test_an_exit_passes():
    def leave(x):
        raise SystemExit(3)
    with pytest.raises(SystemExit):
        tanx.jit(lambda x: tanx.pure_callback(leave, x, x))(X)


# --- Effects --------------------------------------------------------------------------------------


@each_way
def test_effects_happen_once_and_in_order(run):
    seen = []
    note = lambda tag: lambda x: seen.append((tag, float(x)))

    def fun(x):
        io_callback(note("a"), None, x.sum(), ordered=True)
        y = x + 1
        io_callback(note("b"), None, y.sum(), ordered=True)
        z = y @ y
        io_callback(note("c"), None, z, ordered=True)
        io_callback(note("a"), None, x.sum(), ordered=True)
        return y

    for n in range(3):
        run(fun)(X + n)
    tanx.effects_barrier()
    assert seen == [(tag, value) for n in range(3) for tag, value in (
        ("a", 3.0 + 3 * n), ("b", 6.0 + 3 * n), ("c", sum((k + n + 1.0) ** 2 for k in range(3))),
        ("a", 3.0 + 3 * n))]


def test_effects_of_several_functions_keep_their_order():
    seen = []
    large = jnp.ones((1500, 1500))
    work = tanx.jit(lambda x: jnp.tanh(x @ x / 1500))  # runs in the background
    note = tanx.jit(lambda x, n: io_callback(lambda n, x: seen.append(int(n)), None, n, x[0, 0]))
    y = large
    for n in range(4):
        y = work(y)
        note(y, n)
        seen.append(-n)
    assert seen == [0, 0, 1, -1, 2, -2, 3, -3]


def test_unused_pure_callbacks_are_dropped_but_io_callbacks_run():
    seen = []

    def fun(x):
        tanx.pure_callback(lambda y: seen.append("pure") or y, x, x)
        io_callback(lambda y: seen.append("io") or y, x, x)
        return x
    tanx.jit(fun)(X)
    assert seen == ["io"]


def test_donated_arguments_are_read_before_they_are_overwritten():
    seen = []

    def fun(x):
        y = x * 2
        io_callback(lambda x: seen.append(np.asarray(x)), None, x)
        return y
    np.testing.assert_array_equal(tanx.jit(fun, donate_argnums=0)(jnp.arange(1000.0)),
                                  2 * np.arange(1000.0))
    np.testing.assert_array_equal(seen[0], np.arange(1000.0))


def test_threads_have_their_own_errors():
    def check(x):
        if x % 2:
            raise Mine(int(x))
        return x
    fun = tanx.jit(lambda n: tanx.pure_callback(check, n, n))
    fun(0)
    problems = []

    def use(start):
        for n in range(start, start + 40):
            try:
                if int(fun(n)) != n or n % 2:
                    problems.append(n)
            except JaxRuntimeError as caught:
                if caught.__cause__.args != (n,):
                    problems.append(n)
    threads = [threading.Thread(target=use, args=(100 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads) and not problems


def test_callback_functions_are_freed_when_unreferenced():
    class Function:
        def __call__(self, x):
            return x

    def use():
        function = Function()
        tanx.jit(lambda x: tanx.pure_callback(function, x, x))(X)
        return weakref.ref(function)

    alive = use()
    gc.collect()
    assert alive() is None


def test_nothing_is_left_on_disk(tmp_path):
    """Code with callbacks may be stored, but never the function that it calls."""
    with config.enable_compilation_cache(True), config.compilation_cache_dir(str(tmp_path)):
        for n in range(2):
            tanx.clear_caches()
            fun = tanx.jit(lambda x, n=n: tanx.pure_callback(lambda y: y + n, x, x))
            np.testing.assert_array_equal(fun(X), np.arange(3.0) + n)


# --- Transformations ------------------------------------------------------------------------------


@pytest.mark.parametrize("method, shapes", [
    ("sequential", [((), ())] * 3), ("sequential_unrolled", [((), ())] * 3),
    ("expand_dims", [((3,), (1,))]), ("broadcast_all", [((3,), (3,))]),
    ("legacy_vectorized", [((3,), ())])])
@pytest.mark.parametrize("run", [eagerly, tanx.jit], ids=["eager", "jit"])
def test_vmap_methods(run, method, shapes):
    seen = []

    def add(x, y):
        seen.append((x.shape, y.shape))
        return x + y
    fun = lambda x, y: tanx.pure_callback(add, x, x, y, vmap_method=method)
    out = run(tanx.vmap(fun, (0, None)))(X, 10.0)
    np.testing.assert_array_equal(out, [10, 11, 12])
    assert seen == shapes
    nested = tanx.vmap(tanx.vmap(lambda x: fun(x, x), in_axes=1, out_axes=1))
    np.testing.assert_array_equal(run(nested)(jnp.ones((2, 4, 3))), 2 * np.ones((2, 4, 3)))


def test_vmap_of_effects():
    seen = []
    fun = lambda x, **how: io_callback(lambda y: seen.append(float(y)) or y, x, x, **how)
    np.testing.assert_array_equal(tanx.jit(tanx.vmap(fun))(X), [0, 1, 2])
    assert sorted(seen) == [0.0, 1.0, 2.0]
    assert error(ValueError, lambda: tanx.vmap(lambda x: fun(x, ordered=True))(X)) == """\
tanx.experimental.io_callback: an ordered callback cannot be mapped: a batch has no order.
  ordered: True
  Hint: ordered=False, or a loop: tanx.lax.map."""
    assert "vmap_method: None" in error(
        NotImplementedError, lambda: tanx.vmap(lambda x: tanx.pure_callback(np.sin, x, x))(X))


@pytest.mark.parametrize("derive", [
    tanx.grad, lambda f: tanx.jit(tanx.grad(f)), lambda f: tanx.grad(tanx.jit(f)),
    lambda f: lambda x: tanx.jvp(f, (x,), (x,))], ids=["grad", "jit-grad", "grad-jit", "jvp"])
def test_callbacks_have_no_derivative(derive):
    sine = lambda x: tanx.pure_callback(np.sin, x, x)
    assert error(ValueError, lambda: derive(sine)(1.0)) == """\
tanx.pure_callback: a callback has no derivative.
  operands: ~float32[]
  Hint: tanx.custom_jvp gives it one; where none is needed, write tanx.lax.stop_gradient(x)."""
    assert "a callback has no derivative" in error(
        ValueError, lambda: derive(lambda x: io_callback(np.sin, x, x))(1.0))
    stopped = lambda x: x * tanx.pure_callback(np.sin, x, tanx.lax.stop_gradient(x))
    np.testing.assert_allclose(tanx.grad(stopped)(1.0), np.sin(1.0), rtol=1e-6)


def test_custom_derivatives():
    @tanx.custom_jvp
    def sine(x):
        return tanx.pure_callback(np.sin, x, x, vmap_method="expand_dims")

    @sine.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return sine(x), dx * tanx.pure_callback(np.cos, x, x, vmap_method="expand_dims")

    for run in (eagerly, tanx.jit):
        np.testing.assert_allclose(run(tanx.grad(sine))(1.0), np.cos(1.0), rtol=1e-6)
        np.testing.assert_allclose(run(tanx.vmap(tanx.grad(sine)))(X), np.cos(X), rtol=1e-6)
        np.testing.assert_allclose(run(tanx.grad(tanx.checkpoint(sine)))(1.0), np.cos(1.0),
                                   rtol=1e-6)
