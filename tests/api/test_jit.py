"""``jit``: its cache, static arguments, and all the ways to call it."""

import copy
import functools
import gc
import inspect
import pickle
import threading
import weakref

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.errors import TracerBoolConversionError

X = jnp.arange(3.0)


def error(call, kind=ValueError) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def counting(fun, runs, **options):
    """``fun`` compiled; ``runs`` gets an entry each time its body runs."""
    @functools.wraps(fun)
    def counted(*args, **kwargs):
        runs.append(args)
        return fun(*args, **kwargs)
    return tanx.jit(counted, **options)


# --- What is remembered ---------------------------------------------------------------------------


def test_the_body_runs_once_for_each_kind_of_arguments():
    runs = []
    fun = counting(lambda x: x * 2, runs)
    for x in (1.0, 2.0, 3.5):
        assert fun(x) == 2 * x
    assert len(runs) == 1
    fun(jnp.float32(1))  # not weak
    fun(np.float32(1))  # the same kind
    assert len(runs) == 2
    for x, kinds in ((1, 3), (True, 4), (X, 5), (np.ones(3, "float32"), 5), (np.ones(3), 5),
                     (jnp.arange(4.0), 6), ((1.0, 2.0), None)):
        if kinds is not None:
            fun(x)
            assert len(runs) == kinds
    assert fun._cache_size() == 6


def test_structure_is_part_of_the_kind():
    runs = []
    fun = counting(lambda t: t, runs)
    for tree in ({"a": 1.0}, {"a": 2.0}, {"b": 1.0}, [1.0], (1.0,), None, {"a": None}):
        assert fun(tree) == tree
    assert len(runs) == 6


def test_configuration_is_part_of_the_kind():
    runs = []
    fun = counting(lambda x: x * 1.5, runs)
    assert fun(1).dtype == jnp.float32
    with tanx.enable_x64(True):
        assert fun(1).dtype == jnp.float64
    fun(1)
    assert len(runs) == 2


def test_clear_cache():
    runs = []
    fun = counting(lambda x: x, runs)
    fun(1.0)
    fun.clear_cache()
    assert fun._cache_size() == 0
    fun(1.0)
    assert len(runs) == 2
    tanx.clear_caches()
    assert fun._cache_size() == 0


def test_wrappers_of_one_function_share():
    runs = []

    def fun(x):
        runs.append(1)
        return x

    for _ in range(3):
        tanx.jit(fun)(1.0)
    assert len(runs) == 1 and tanx.jit(fun)._cache_size() == 1
    tanx.jit(fun, static_argnums=0)(1.0)
    assert len(runs) == 2


def test_functools_wraps_does_not_copy_the_jit_cache():
    def double(x):
        return 2 * x

    assert tanx.jit(double)(1.0) == 2.0

    @functools.wraps(double)  # copies attributes
    def triple(x):
        return 3 * x

    assert tanx.jit(triple)(1.0) == 3.0 and tanx.jit(double)(1.0) == 2.0
    assert pickle.loads(pickle.dumps(double.__dict__)) is not None
    assert copy.deepcopy(triple.__dict__) is not None


def test_jit_cache_is_freed_with_the_function():
    def make():
        big = jnp.ones(1000)

        def fun(x):
            return x * big.sum()

        tanx.jit(fun)(1.0)
        return weakref.ref(big)

    gone = make()
    gc.collect()
    assert gone() is None


def test_nested_calls_reuse_cached_traces():
    runs = []
    inner = counting(lambda x: x * 2, runs)
    outer = tanx.jit(lambda x: inner(x) + inner(x + 1))
    assert outer(1.0) == 6.0 and tanx.jit(outer)(2.0) == 10.0
    inner(1.0)
    tanx.grad(inner)(1.0)
    tanx.vmap(inner)(jnp.ones(3))
    assert len(runs) == 2  # weak, and not weak


def test_traced_values_that_a_function_closes_over_are_never_stale():
    def outer(x):
        @tanx.jit
        def inner(y):
            return x * y
        return inner(2.0)

    assert [outer(3.0), tanx.jit(outer)(4.0), tanx.grad(outer)(5.0)] == [6.0, 8.0, 2.0]


# --- Static arguments -----------------------------------------------------------------------------


def test_static_arguments_are_python_values():
    runs = []
    fun = counting(lambda x, n: x * n if n > 2 else x, runs, static_argnums=1)
    assert fun(2.0, 3) == 6.0 and fun(2.0, 1) == 2.0 and fun(3.0, 3) == 9.0
    assert [args[1] for args in runs] == [3, 1]


def test_equal_values_of_different_types_differ():
    runs = []
    fun = counting(lambda x, n: x, runs, static_argnums=1)
    for n in (1, True, 1.0, 1, True, np.int64(1)):
        fun(2.0, n)
    assert [type(args[1]) for args in runs] == [int, bool, float, np.int64]


@pytest.mark.parametrize("options", [
    dict(static_argnums=1), dict(static_argnums=(1,)), dict(static_argnums=-1),
    dict(static_argnums=np.int64(1)), dict(static_argnames="n"), dict(static_argnames=("n",)),
    dict(static_argnums=1, static_argnames="n")])
def test_by_position_or_by_name(options):
    fun = tanx.jit(lambda x, n=2: x * n if n > 1 else x, **options)
    assert fun(2.0, 3) == 6.0 and fun(2.0) == 4.0
    assert fun(2.0, n=1) == 2.0


def test_static_arguments_of_variadic_functions():
    assert tanx.jit(lambda *args: args[0] * len(args[1]), static_argnums=1)(2.0, "abc") == 6.0
    assert tanx.jit(lambda **kw: kw["x"] * len(kw["s"]), static_argnames="s")(x=2.0, s="ab") == 4.0
    assert tanx.jit(lambda x, *, f: f(x), static_argnames="f")(2.0, f=lambda x: x + 1) == 3.0


def test_static_objects():
    class Layer:
        def __init__(self, scale):
            self.scale = scale

        @functools.partial(tanx.jit, static_argnums=0)
        def apply(self, x):
            return x * self.scale

        @tanx.jit
        def plain(self, x):
            return x

    layer = Layer(3.0)
    assert layer.apply(2.0) == Layer.apply(layer, 2.0) == 6.0
    assert Layer(4.0).apply(2.0) == 8.0
    assert layer.apply.__name__ == "apply" and layer.apply._cache_size() == 2
    assert error(lambda: layer.plain(1.0), TypeError).startswith(
        "tanx.jit: argument self of plain is not an array.\n")


# --- Ways to call ---------------------------------------------------------------------------------


def test_decorators():
    @tanx.jit
    def plain(x):
        return x + 1

    @tanx.jit()
    def empty(x):
        return x + 2

    @tanx.jit(static_argnums=(0,))
    def factory(n, x):
        return x + n

    @functools.partial(tanx.jit, static_argnames=("n",))
    def partial(x, n):
        return x + n

    assert [plain(1.0), empty(1.0), factory(3, 1.0), partial(1.0, n=4)] == [2.0, 3.0, 4.0, 5.0]


def test_pytrees_keywords_and_defaults():
    fun = tanx.jit(lambda t, *rest, scale=2.0, **more: {
        "a": t["a"] * scale, "rest": rest, "more": more["z"]})
    assert fun({"a": 3.0}, 1, 2, z=5) == {"a": 6.0, "rest": (1, 2), "more": 5}
    assert fun({"a": 3.0}, scale=1.0, z=None) == {"a": 3.0, "rest": (), "more": None}


def test_results():
    assert tanx.jit(lambda x: [x, None, (x, 3), {}])(1.0) == [1.0, None, (1.0, 3), {}]
    for y in tanx.jit(lambda x: (x, 3, 1.5, True))(1.0):
        assert isinstance(y, tanx.Array)
    assert tanx.jit(lambda x: x)(X) is not None


def test_callables_of_all_kinds():
    class Adder:
        def __call__(self, x):
            return x + 1

    assert tanx.jit(Adder())(1.0) == 2.0
    assert tanx.jit(functools.partial(lambda x, y: x - y, 3.0))(1.0) == 2.0
    assert tanx.jit(jnp.sin)(0.0) == 0.0
    assert tanx.jit(X.__mul__)(2.0).tolist() == [0, 2, 4]
    assert tanx.jit(tanx.jit(tanx.vmap(tanx.grad(jnp.sin))))(jnp.zeros(2)).tolist() == [1, 1]


def test_options_that_change_no_result():
    for options in (dict(donate_argnums=0), dict(donate_argnames="x"), dict(keep_unused=True),
                    dict(inline=True), dict(device=None, backend=None), dict(compiler_options={})):
        assert tanx.jit(lambda x, y: x * 2, **options)(jnp.float32(1), 2.0) == 2.0


def test_disable_jit():
    fun = tanx.jit(lambda x: x if x > 0 else float(-x))
    with pytest.raises(TracerBoolConversionError):
        fun(-1.0)
    with tanx.disable_jit():
        assert fun(-1.0) == 1.0
        assert tanx.jit(lambda x: [x])(2.0) == [2.0]
    with pytest.raises(TracerBoolConversionError):
        fun(-1.0)


def test_eval_shape():
    fun = tanx.jit(lambda x, n: {"y": x.sum() * n}, static_argnums=1)
    assert fun.eval_shape(X, 3) == {"y": tanx.ShapeDtypeStruct((), jnp.float32)}


def test_name_and_signature():
    def square(x, power=2):
        """To a power."""
        return x ** power

    fun = tanx.jit(square)
    assert (fun.__name__, fun.__doc__, fun.__wrapped__) == ("square", "To a power.", square)
    assert inspect.signature(fun, follow_wrapped=False) == inspect.signature(square)
    assert "PjitFunction" in str(type(fun))  # chex detects compiled functions by this name
    assert "fun" in inspect.signature(type(fun)).parameters
    assert inspect.signature(fun) == inspect.signature(square)
    assert repr(fun) == f"<PjitFunction of {square!r}>"


def test_many_threads():
    fun = tanx.jit(lambda x, n: (x * n).sum())
    gradient = tanx.jit(tanx.grad(lambda x: jnp.sin(x) * fun(x, 2.0)))
    problems = []

    def work(k):
        try:
            for i in range(20):
                x = jnp.arange(1.0 + (k + i) % 5)
                np.testing.assert_allclose(fun(x, k), k * np.arange(1.0 + (k + i) % 5).sum())
                np.testing.assert_allclose(
                    gradient(float(k)), 2 * (np.sin(k) + k * np.cos(k)), rtol=1e-4, atol=1e-4)
                np.testing.assert_allclose(tanx.vmap(fun, (0, None))(x, k), k * x)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


# --- Mistakes -------------------------------------------------------------------------------------


def f(x, n):
    return x


@pytest.mark.parametrize("call, kind, text", [
    (lambda: tanx.jit(3), TypeError,
     "tanx.jit: needs a function to transform.\n"
     "  given: 3"),
    (lambda: tanx.jit(f, static_argnums=2), ValueError,
     "tanx.jit: static_argnums names a position that the function does not have.\n"
     "  static_argnums: (2,)\n"
     "  function: f(x, n)"),
    (lambda: tanx.jit(f, static_argnames="m"), ValueError,
     "tanx.jit: static_argnames names a parameter that the function lacks by name.\n"
     "  static_argnames: ('m',)\n"
     "  function: f(x, n)"),
    (lambda: tanx.jit(f, donate_argnums=-3), ValueError,
     "tanx.jit: donate_argnums names a position that the function does not have.\n"
     "  donate_argnums: (-3,)\n"
     "  function: f(x, n)"),
    (lambda: tanx.jit(f, static_argnums="x"), TypeError,
     "tanx.jit: static_argnums must be one int or several of them.\n"
     "  static_argnums: 'x'"),
    (lambda: tanx.jit(f, static_argnames=1), TypeError,
     "tanx.jit: static_argnames must be one str or several of them.\n"
     "  static_argnames: 1"),
    (lambda: tanx.jit(f, static_argnums=0, donate_argnums=0), ValueError,
     "tanx.jit: a static argument has no data to donate.\n"
     "  static and donated: x"),
    (lambda: tanx.jit(f, static_argnums=1)(1.0, [2]), ValueError,
     "tanx.jit: static argument n of f must be hashable.\n"
     "  value: [2] of type list\n"
     "  Hint: pass a tuple instead of a list, or a frozen dataclass."),
    (lambda: tanx.jit(f, static_argnames="n")(1.0, n=jnp.ones(1)), ValueError,
     "tanx.jit: static argument n of f must be hashable.\n"
     "  value: Array([1.], dtype=float32) of type Array\n"
     "  Hint: pass arrays as ordinary arguments."),
    (lambda: tanx.jit(f, static_argnums=1)(1.0, np.ones(1)), ValueError,
     "tanx.jit: static argument n of f must be hashable.\n"
     "  value: array([1.]) of type ndarray\n"
     "  Hint: pass arrays as ordinary arguments."),
    (lambda: tanx.jit(f)(1.0, {"mode": "fast"}), TypeError,
     "tanx.jit: argument n['mode'] of f is not an array.\n"
     "  value: 'fast' of type str\n"
     "  Hint: mark it with static_argnums or static_argnames."),
    (lambda: tanx.jit(f, static_argnums=0)("slow", "fast"), TypeError,
     "tanx.jit: argument n of f is not an array.\n"
     "  value: 'fast' of type str\n"
     "  Hint: mark it with static_argnums or static_argnames."),
    (lambda: tanx.jit(lambda x: {"y": [x, "a"]})(1.0), TypeError,
     "tanx.jit: <lambda> must return arrays or numbers.\n"
     "  result['y'][1]: 'a' of type str"),
])
def test_mistakes(call, kind, text):
    assert error(call, kind) == text


def test_deleted_arguments():
    x = jnp.ones(3)
    x.delete()
    assert error(lambda: tanx.jit(lambda x: x)(x), RuntimeError) == (
        "tanx.Array: the array was deleted or donated, its data is gone.\n"
        "  array: float32[3]\n"
        "  Hint: keep a copy with x.copy() before donating or deleting it.")


def test_attributes_of_an_object_do_not_hide_jit_methods():
    class Model:
        def __init__(self):
            self._run = self.trace = self._lower = "an attribute"

        def __call__(self, x):
            return x + 1

    jitted = tanx.jit(Model())
    assert [float(jitted(n)) for n in range(4)] == [1, 2, 3, 4]
    assert callable(jitted.trace)
