"""Native calls of jitted functions: arguments, calls left to Python, references."""

import contextlib
import gc
import sys
import threading
import time
import tracemalloc
import weakref
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import tree_util
from tanx._runtime import dispatch, objects
from tanx._runtime.objects import obstacle

pytestmark = pytest.mark.skipif(obstacle() is not None, reason=f"no native calls: {obstacle()}")

X = jnp.arange(3.0)
Point = namedtuple("Point", "x y")


@tree_util.register_dataclass
@dataclass
class State:
    weight: object
    scale: float = tree_util.static(default=2.0) if hasattr(tree_util, "static") else 2.0


@tree_util.register_pytree_node_class
class Box:
    def __init__(self, *items, label="box"):
        self.items, self.label = items, label

    def tree_flatten(self):
        return self.items, self.label

    @classmethod
    def tree_unflatten(cls, label, items):
        return cls(*items, label=label)


@contextlib.contextmanager
def native_only(fun):
    """Fail if a call of ``fun`` in this block runs in Python."""
    def no(*_):
        raise AssertionError("not native")

    fun._staged = no
    try:
        yield
    finally:
        del fun._staged


def learned(fun, *args, **kwargs):
    """``fun`` compiled, with native code for arguments like these."""
    fun = fun if hasattr(fun, "_native_calls") else tanx.jit(fun)
    for _ in range(2):
        fun(*args, **kwargs)
    return fun


def same(x, y):
    """Check that trees of arrays are equal, including types."""
    xs, x_tree = tree_util.tree_flatten(x)
    ys, y_tree = tree_util.tree_flatten(y)
    assert x_tree == y_tree
    for a, b in zip(xs, ys, strict=True):
        assert type(a) is tanx.Array and a.aval == tanx.typeof(b), (a, b)
        np.testing.assert_array_equal(a, b)


# --- Arguments and results ------------------------------------------------------------------------

LEAVES = [
    X, jnp.float32(2), jnp.arange(6).reshape(2, 3), jnp.array([True, False]),
    jnp.ones((2, 0), "bfloat16"), jnp.array([1 + 2j]), jnp.asarray(1.5), jnp.array(3, "uint8"),
    jnp.ones(3, ml_dtypes.float8_e4m3fn),
    np.arange(3, dtype=np.float32), np.zeros((), np.int32), np.ones((2, 2), np.bool_),
    1.5, -3, True, False, 2.5 - 1j, float("inf"), 2 ** 31 - 1, -2 ** 31,
    np.float32(1.5), np.int8(-3), np.bool_(True), np.complex64(1j), np.float16(0.5), np.uint32(7),
    np.float64(0.1), np.complex128(0.1 - 0.3j), np.int64(-5), np.uint64(2 ** 33 + 1),
    np.linspace(0, 1, 5), np.arange(4), np.ones((3, 2), "f4").T, np.arange(6, dtype="i4")[::2],
    np.array([0.1j])]


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda x: f"{type(x).__name__} {x}".replace("\n", ""))
def test_each_kind_of_leaf(leaf):
    def results(x):
        return jnp.logical_not(x), jnp.stack([x, x])

    fun = learned(results, leaf)
    with native_only(fun):
        same(fun(leaf), results(leaf))


@pytest.mark.parametrize("leaf", [1.5, 3, 2 ** 62, 1j, np.float64(0.1), np.arange(3)])
def test_wide_leaves(leaf):
    with tanx.enable_x64(True):
        fun = learned(lambda x: x * 3, leaf)
        with native_only(fun):
            same(fun(leaf), jnp.asarray(leaf) * 3)


@pytest.mark.parametrize("tree", [
    (X,), [X, 1.0], {"b": X, "a": 2.0}, None, (), [], {}, (None, [X, {"a": (X, None)}]),
    Point(X, 1.0), {"p": Point(X, [2.0]), "q": ()}, OrderedDict(b=X, a=X + 1),
    defaultdict(list, c=[X]), State(X), [State((X, 1.0))], Box(X, Box(2.0), label=(1, 2)),
    {1: X, 0: 2.0}, {("a", 1): X}], ids=lambda tree: type(tree).__name__)
def test_trees(tree):
    def double(tree):
        return tree_util.tree_map(lambda x: x * 2, tree)

    fun = learned(double, tree)
    assert len(fun._native) == 1
    with native_only(fun):
        same(fun(tree), double(tree))
        tree = tree_util.tree_map(lambda x: x + 1, tree)
        if not isinstance(tree, Point | State):  # arrays instead of numbers are another signature
            return
    same(fun(tree), double(tree))


def test_many_leaves():
    tree = {f"k{i}": [jnp.full(i % 7, i, "float32"), (float(i), None)] for i in range(300)}
    fun = learned(lambda t: tree_util.tree_map(lambda x: x + 1, t), tree)
    with native_only(fun):
        same(fun(tree), tree_util.tree_map(lambda x: x + 1, tree))


def test_arguments_and_constants_as_results():
    constant = jnp.arange(4)
    fun = learned(lambda x, y: (constant, x, [x, constant], y * 2, 7, None), X, 2.0)
    with native_only(fun):
        a, b, (c, d), e, f, g = fun(X, 2.0)
    assert b is X and c is X and a is not d and g is None
    same((a, d, e, f), (constant, constant, jnp.asarray(4.0), jnp.asarray(7)))


def test_results_are_never_memory_of_the_caller():
    data = np.arange(3, dtype=np.float32)
    fun = learned(lambda x: [x, x * 1], data)
    for y in fun(data):
        data[0] += 10
        assert y[0] == 0
        data[0] = 0
    for _ in range(3):
        same(tanx.jit(lambda x: x)(1.5), jnp.asarray(1.5))


def test_numbers_that_are_results():
    fun = learned(lambda t: [t, t[0]], (2.5, np.float32(3), np.arange(4), True))
    tree = (2.5, np.float32(3), np.arange(4), True)
    with native_only(fun):
        same(fun(tree), [tree_util.tree_map(jnp.asarray, tree), jnp.asarray(2.5)])


def test_large_temporaries_and_results():
    x = jnp.ones((100, 400), "float32")
    fun = learned(lambda x: (jnp.cumsum(x @ x.T, 0), x.sum()), x)
    with native_only(fun):
        for _ in range(3):
            y, z = fun(x)
            assert y[-1, -1] == 100 * 400 and z == 100 * 400


def test_views_become_contiguous():
    for x in (jnp.ones((3, 4)), jnp.arange(12.0).reshape(3, 4).T, jnp.arange(6.0)[::2]):
        fun = learned(lambda x: x + 1, x)
        with native_only(fun):
            same(fun(x), x + 1)


# --- Ways to call ---------------------------------------------------------------------------------


def test_keywords():
    fun = learned(lambda x, *, y, z: x - y * z, 1.0, y=2.0, z=X)
    with native_only(fun):
        same(fun(1.0, y=2.0, z=X), 1.0 - 2.0 * X)
        same(fun(1.0, **{"".join(["", "y"]): 2.0, "z": X}), 1.0 - 2.0 * X)
    learned(fun, z=X, y=2.0, x=1.0)
    with native_only(fun):
        same(fun(z=X, y=2.0, x=1.0), 1.0 - 2.0 * X)
        same(fun(1.0, y=2.0, z=X), 1.0 - 2.0 * X)
    assert len(fun._native) == 2
    with pytest.raises(TypeError):
        fun(1.0, y=2.0)


def test_methods():
    class Model:
        scale = 3.0

        @tanx.jit
        def plain(this, x):
            return x

        @tanx.jit(static_argnums=0)
        def apply(self, x):
            return self.scale * x

    model = Model()
    for _ in range(2):
        model.apply(X)
    with native_only(Model.apply):
        for call in (model.apply, Model.apply.__get__(model), lambda x: Model.apply(model, x)):
            same(call(X), 3.0 * X)
    assert Model.apply.__get__(None, Model) is Model.apply


def test_all_ways_of_calling():
    fun = learned(lambda x, y: x + y, X, 1.0)
    with native_only(fun):
        same(fun(*[X, 1.0]), X + 1)
        same(fun(*(X, 1.0), **{}), X + 1)
        same(list(map(fun, [X], [1.0]))[0], X + 1)
        same(type(fun).__call__.__get__(fun) and fun.__get__(X)(1.0), X + 1)


def test_static_arguments():
    class Equal:
        def __init__(self, value):
            self.value = value

        def __hash__(self):
            return 1

        def __eq__(self, other):
            if "broken" in (self.value, other.value):
                raise RuntimeError("no answer")
            same(fun(1.0, "inner"), jnp.asarray(2.0))  # a call inside a call
            return self.value == other.value

    fun = tanx.jit(lambda x, n: x * getattr(n, "value", 2), static_argnums=1)
    learned(fun, 1.0, "inner")
    learned(fun, 2.0, Equal(3))
    with native_only(fun):
        for _ in range(3):
            same(fun(2.0, Equal(3)), jnp.asarray(6.0))
    same(fun(2.0, Equal(4)), jnp.asarray(8.0))
    with pytest.raises(RuntimeError, match="no answer"):
        fun(2.0, Equal("broken"))


def test_static_values_of_other_types_differ():
    fun = tanx.jit(lambda x, n: x + type(n).__name__.count("o"), static_argnames="n")
    for n in (1, True, 1.0, np.int64(1)) * 3:
        assert fun(0.0, n=n) == type(n).__name__.count("o")
    assert len(fun._native) == 4


# --- Donation -------------------------------------------------------------------------------------


def test_donated_arguments():
    def step(state, x):
        return {"w": state["w"] - x, "same": state["same"], "n": state["n"] + 1}, x + state["w"]

    fun = tanx.jit(step, donate_argnums=0)
    state = {"w": X + 0, "same": X + 1, "n": jnp.int32(0)}
    for _ in range(2):
        state, _ = fun(state, X)
    with native_only(fun):
        for i in range(3, 6):
            before, where = state, state["w"]._data.ctypes.data
            state, y = fun(state, X)
            assert all(x.is_deleted() for x in before.values())
            same((state["n"], state["same"]), (jnp.int32(i), X + 1))
            same((state["w"], y), (X - i * X, X + (X - (i - 1) * X)))
            assert where in (state["w"]._data.ctypes.data, y._data.ctypes.data)
    assert not X.is_deleted()


def test_shared_donated_data_is_not_overwritten():
    fun = tanx.jit(lambda x, y: x + y, donate_argnums=0)
    for _ in range(3):
        fun(X + 1, X)
    x = X + 1
    view = np.asarray(x)
    same(fun(x, X), X + 1 + X)
    np.testing.assert_array_equal(view, np.arange(3) + 1)
    x = X + 1
    same(fun(x, x), 2 * (X + 1))
    x = X + 1
    other = x.reshape(3, 1)
    same(fun(x, X), X + 1 + X)
    np.testing.assert_array_equal(other[:, 0], np.arange(3) + 1)
    both = tanx.jit(lambda x, y: (x + y, x - y), donate_argnums=(0, 1))
    for _ in range(3):
        both(X + 1, X + 2)
    with pytest.raises(RuntimeError, match="donated twice"):
        x = X + 1
        both(x, x)
    gone = X + 1
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted or donated"):
        both(gone, X + 1)


def test_references_to_donated_data():
    fun = tanx.jit(lambda x, n: [x * 2, n], donate_argnums=(0, 1), donate_argnames=())
    x, n = X + 1, jnp.arange(4)
    for _ in range(50):
        (x, n) = fun(x, n)
    assert [sys.getrefcount(y._data) for y in (x, n)] == [2, 2]


# --- What is left to Python -----------------------------------------------------------------------


@pytest.mark.parametrize("known, other", [
    (X, jnp.arange(4.0)), (X, X.reshape(3, 1)), (X, jnp.arange(3)), (X, jnp.float32(1)),
    (X, np.arange(3)), (X, np.arange(3.0)), (X, 1.0), (X, [X]), (jnp.asarray(1.0), jnp.float32(1)),
    (jnp.float32(1), jnp.asarray(1.0)), (1.0, 1), (1, True), (1.0, np.float64(1)), (1, 1.5),
    (1.0, np.float32(1)), ([X], (X,)), ([X], [X, X]), ({"a": X}, {"b": X}), ({"a": X}, {}),
    ({"a": X}, OrderedDict(a=X)), ({"a": X}, {"a": X, "b": X}), (Point(X, X), (X, X)),
    ((X, X), Point(X, X)), (None, X), (X, None), (Box(X), Box(X, label="other")),
    (Box(X), Box(X, X)), (State(X), State(X, 3.0)), (OrderedDict(a=X, b=X), OrderedDict(b=X, a=X)),
    (jnp.ones((2, 3)), jnp.ones((3, 2)).T), (np.ones((2, 3), "f4"), np.ones((3, 2), "f4").T),
    (np.ones(3, "f4"), np.ones(6, "f4")[::2]),
])
def test_other_signatures_are_not_mistaken(known, other):
    def double(tree):
        return tree_util.tree_map(lambda x: x * 2, tree)

    fun = learned(double, known)
    same(fun(other), tree_util.tree_map(lambda x: jnp.asarray(x) * 2, other))
    same(fun(known), tree_util.tree_map(lambda x: jnp.asarray(x) * 2, known))


def test_native_dispatch_raises_the_errors_of_python():
    fun = learned(lambda x: x + 1, 1)
    with pytest.raises(OverflowError):
        fun(2 ** 31)
    with pytest.raises(OverflowError):
        fun(2 ** 70)
    gone = X + 1
    learned(fun, gone)
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted or donated"):
        fun(gone)
    with pytest.raises(TypeError, match="is not an array"):
        fun("text")

    class Stubborn(Box):
        def tree_flatten(self):
            raise ValueError("stays whole") if self.label else ValueError

    tree_util.register_pytree_node(Stubborn, Stubborn.tree_flatten, Stubborn.tree_unflatten)
    with pytest.raises(ValueError, match="stays whole"):
        fun(Stubborn())


def test_errors_of_the_users_functions_show_their_lines_alone():
    @tree_util.register_dataclass
    @dataclass
    class Checked:
        x: object

        def __post_init__(self):
            if broken:
                raise ValueError("not today")

    broken = False
    fun = learned(lambda t: Checked(t.x + 1), Checked(X))
    argument, broken = Checked(X), True
    with pytest.raises(ValueError, match="not today") as caught:
        fun(argument)
    files = {str(entry.path).rpartition("/")[2] for entry in caught.traceback}
    assert files <= {"test_dispatch.py", "<string>"}


def test_situation():
    fun = learned(lambda x: x * 1.5, 2)
    same(fun(2), jnp.asarray(3.0))
    with tanx.enable_x64(True):
        assert fun(2).dtype == np.float64
    with tanx.disable_jit():
        fun._fun = lambda x: "eager"
        assert fun(2) == "eager"
    assert fun(2) == 3.0
    jaxpr = tanx.make_jaxpr(lambda x: x + fun(2))(1.0)
    assert "jit" in str(jaxpr)
    assert tanx.grad(lambda x: x * fun(2))(1.0) == 3.0
    same(tanx.vmap(lambda x: x * fun(2))(X), X * 3.0)
    with native_only(fun):
        assert fun(2) == 3.0


def test_flags_of_the_process():
    fun = learned(lambda x: x / x, 0.0)
    with native_only(fun):
        assert jnp.isnan(fun(0.0))
    try:
        tanx.config.update("jax_debug_nans", True)
        with pytest.raises(FloatingPointError):
            fun(0.0)
    finally:
        tanx.config.update("jax_debug_nans", False)
    assert jnp.isnan(fun(0.0))
    assert jnp.isnan(fun(0.0))


def test_many_signatures():
    fun = tanx.jit(lambda x, n: x * n, static_argnums=1)
    for n in range(300):
        for _ in range(2):
            assert fun(2.0, n) == 2 * n
    assert len(fun._native) <= 256
    with native_only(fun):
        assert fun(2.0, 299) == 598.0 and fun(2.0, 200) == 400.0
    assert fun(2.0, 0) == 0.0


def test_clearing():
    fun = learned(lambda x: x + 1, X)
    assert len(fun._native) == 1
    for clear in (fun.clear_cache, tanx.clear_caches):
        clear()
        assert fun._native == ()
        learned(fun, X)
        assert len(fun._native) == 1


# --- What is held ---------------------------------------------------------------------------------


def test_references():
    key, box = object(), Box(X, 1.0, label="long label")
    tree = {"a": [X, 2.0, None], "b": (box, Point(X, np.float32(3)))}
    constant = jnp.ones(3)
    fun = tanx.jit(lambda t, k: ({"x": t["a"][0], "y": [constant, Box(t["b"][1].x)]},
                                 X + t["a"][1] + t["b"][0].items[0], None), static_argnums=1)
    learned(fun, tree, key)
    wrong = {**tree, "b": (Box(X, 1.0, label="other"), Point(X, np.float32(3)))}
    broken = {**tree, "a": [X, 2.0, 3]}
    fun(wrong, key), fun(broken, key)

    def counts():
        watched = (X, X._data, X.aval, X.dtype, None, key, box, box.label, tree, constant,
                   tree["a"], True, False, float, fun, fun._native, fun._native[0], Point, Box,
                   constant._data)
        gc.collect()
        return [sys.getrefcount(x) for x in watched]

    def work(times):
        for _ in range(times):
            fun(tree, key)
            fun(wrong, key)
            fun(broken, key)
            fun(tree, key)

    work(10)
    before = counts()
    work(2000)
    after = counts()
    assert all(abs(a - b) < 20 for a, b in zip(before, after)), list(zip(before, after))


def test_memory_stays_where_it_was():
    fun = learned(lambda t: [x * 2 for x in t], [X, 1.0, X])
    bad = [X, 1.0, "text"]

    def work(times):
        for i in range(times):
            fun([X, float(i), X])
            with contextlib.suppress(TypeError):
                if i % 10 == 0:
                    fun(bad)

    work(100)
    gc.collect()
    tracemalloc.start()
    work(100)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    work(3000)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 20_000


def test_functions_are_freed_when_unreferenced():
    def make():
        big = jnp.ones(1000)
        fun = learned(lambda x: x * big.sum(), 1.0)
        fun.myself = fun
        assert fun._native
        return weakref.ref(fun), weakref.ref(big)

    references = make()
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_flattening_may_call_the_function():
    class Calling(Box):
        def tree_flatten(self):
            assert fun(1.0) == 2.0
            return self.items, None

    tree_util.register_pytree_node(Calling, Calling.tree_flatten, lambda _, c: Calling(*c))
    fun = tanx.jit(lambda t: tree_util.tree_leaves(t)[0] + 1)
    for _ in range(4):
        assert fun(Calling(2.0)) == 3.0


def test_arguments_may_change_while_they_are_read():
    class Shrinking(Box):
        def tree_flatten(self):
            victims.clear()
            gc.collect()
            return (), None

    tree_util.register_pytree_node(Shrinking, Shrinking.tree_flatten, lambda *_: Shrinking())
    fun = tanx.jit(lambda t: t[0] + t[2] if len(t) == 3 else 0.0)
    for _ in range(4):
        victims = [jnp.ones(50) * 2, Shrinking(), jnp.ones(50)]
        victims[1].tree_flatten = None
        with contextlib.suppress(ValueError, IndexError, RuntimeError):
            fun(victims)


def test_many_threads():
    fun = tanx.jit(lambda x, n: {"y": x * n, "z": [x]}, static_argnums=1)
    problems = []
    stop = threading.Event()

    def work(k):
        try:
            for i in range(300):
                x = jnp.arange(1.0 + (k + i) % 5)
                with tanx.enable_x64(k % 4 == 0):
                    same(fun(x, k % 3)["y"], x * (k % 3))
        except BaseException as problem:
            problems.append(problem)

    def clear():
        while not stop.wait(0.01):
            fun.clear_cache()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    clearing = threading.Thread(target=clear)
    for thread in (*threads, clearing):
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    clearing.join()
    assert not problems


# --- Other interpreters ---------------------------------------------------------------------------


def test_where_native_code_is_not_possible(monkeypatch):
    class Plain:
        """Returns its argument."""

        def __call__(self, x):
            return x

    monkeypatch.setattr(objects, "obstacle", lambda: "another interpreter")
    monkeypatch.setattr(dispatch, "obstacle", lambda: "another interpreter")
    assert objects.callable_class(Plain) is Plain
    fun = tanx.jit(lambda x: x + 1)
    for _ in range(4):
        same(fun(X), X + 1)
    fun.clear_cache()
    assert not hasattr(fun, "_native")


def test_classes_that_take_native_calls():
    class Plain:
        """Returns its arguments."""

        def __call__(self, *args, **kwargs):
            return self, args, kwargs

    made = objects.callable_class(Plain)
    assert (made.__name__, made.__doc__, made.__mro__[1]) == ("Plain", Plain.__doc__, Plain)
    x = made()
    x.attribute = 3
    assert x(1, y=2) == (x, (1,), {"y": 2}) and weakref.ref(x)() is x

    class Wide(Plain):
        __slots__ = ("more",)

    assert objects.callable_class(Wide) is Wide  # its fields have other offsets


@pytest.mark.parametrize("fun", [
    lambda a: a.reshape(-1), lambda a: a[None], lambda a: a.ravel(), lambda a: a.reshape(3, 2),
    lambda a: (a, a.reshape(6), a[:, None]), lambda a: {"x": jnp.atleast_3d(a), "y": [a]},
    lambda a: a[None].squeeze(), lambda a: tanx.lax.collapse(a, 0, 2),
    lambda a: jnp.expand_dims(a, (0, 2)), lambda a: ((y := a * 2), y.reshape(-1), y[None], y),
], ids=range(10))
@pytest.mark.parametrize("donate", [(), 0])
def test_results_that_are_arguments_in_another_shape(fun, donate):
    """They share the memory of the argument, and have their own shape."""
    jitted = tanx.jit(fun, donate_argnums=donate)
    for n in range(5):
        x = np.arange(6.0, dtype=np.float32).reshape(2, 3) + n
        if n < 4:
            got = jitted(jnp.asarray(x))
        else:
            with native_only(jitted):
                got = jitted(jnp.asarray(x))
        want = fun(jnp.asarray(x))
        assert tree_util.tree_structure(got) == tree_util.tree_structure(want)
        for a, b in zip(tree_util.tree_leaves(got), tree_util.tree_leaves(want)):
            assert a.aval == b.aval and a._value.shape == b.shape
            np.testing.assert_array_equal(a, b)


def test_results_that_are_arguments_of_another_weak_type():
    strong = tanx.jit(lambda x: tanx.lax.convert_element_type(x, jnp.float32))
    for n in range(5):
        x = jnp.asarray(float(n))
        y = strong(x)
        assert x.weak_type and not y.weak_type and float(y) == n


def test_many_leaves_that_are_passed_on():
    """The time to prepare a native call grows with the number of leaves, not with its square."""
    leaves = {f"k{i:05}": x for i, x in enumerate(list(jnp.arange(20.0)) * 800)}
    same = tanx.jit(lambda d: {"all": d, "first": d["k00000"]})
    start = time.process_time()
    for _ in range(4):
        found = same(leaves)
        assert all(found["all"][k] is x for k, x in leaves.items())
        assert found["first"] is leaves["k00000"]
    assert time.process_time() - start < 20  # more than a minute if it is quadratic
