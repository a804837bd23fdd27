"""Tracing: recorded equations, captured values, values that stay computable, and leaks."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._core.array import Array
from tanx._core.naming import DebugInfo
from tanx._core.stage import stage, stage_closed
from tanx._core.trace import context
from tanx._core.types import ShapedArray
from tanx.errors import JaxprTypeError, TracerBoolConversionError, UnexpectedTracerError
from tests.core.fakes import Fake, add, f32, mul, shout, sin, trace

X, SCALAR = f32(3), f32()
C = Array(np.arange(3, dtype=np.float32))


# --- What is recorded -----------------------------------------------------------------------------


def test_arguments_and_results():
    jaxpr, constants = stage(lambda x, y: [add.bind(x, y), x], [X, X])
    assert str(jaxpr) == "{ lambda ; a:f32[3] b:f32[3]. let c:f32[3] = add a b in (c, a) }"
    assert constants == []
    assert jaxpr.in_avals == [X, X] and jaxpr.out_avals == [X, X]


def test_scalars_become_literals():
    closed = trace(lambda x: [mul.bind(x, 2.0), add.bind(x, np.float32(1)), 3, np.int8(4), True], X)
    assert str(closed) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = mul a 2.0:f32[]
    c:f32[3] = add a 1.0:f32[]
  in (b, c, 3:i32[], 4:i8[], True:bool[]) }"""
    weak, strong = (eqn.invars[1] for eqn in closed.eqns)
    assert weak.aval == ShapedArray((), np.float32, weak_type=True)
    assert strong.aval == ShapedArray((), np.float32)
    assert weak.val.dtype == np.float32


def test_numpy_arrays_without_dimensions_become_literals():
    """Interpreters of jaxprs bind the values of literals, which stay literals."""
    number = np.array(1.5, np.float32)

    def f(x):
        result = mul.bind(x, number)
        number[...] = 7.0  # too late to be seen
        return [result, np.array(4, np.int8)]
    closed = trace(f, X)
    assert str(closed) == "{ lambda ; a:f32[3]. let b:f32[3] = mul a 1.5:f32[] in (b, 4:i8[]) }"
    again = trace(lambda x: mul.bind(x, closed.eqns[0].invars[1].val), X)
    assert str(again) == "{ lambda ; a:f32[3]. let b:f32[3] = mul a 1.5:f32[] in (b,) }"


def test_arrays_become_constants_once():
    closed = trace(lambda x: [add.bind(x, C), mul.bind(x, C), C], X)
    assert str(closed) == """\
{ lambda a:f32[3]; b:f32[3]. let
    c:f32[3] = add b a
    d:f32[3] = mul b a
  in (c, d, a) }"""
    assert closed.consts == [C]


def test_numpy_arrays_are_copied_and_canonical():
    data = np.arange(3.0)
    closed = trace(lambda x: add.bind(x, data), X)
    data[:] = 7
    (constant,) = closed.consts
    assert constant.aval == X
    np.testing.assert_array_equal(constant, [0, 1, 2])


def test_a_constant_that_no_equation_took_is_not_kept():
    class Refuses(Fake):
        def infer(self, *types):
            raise TypeError("no")

    def fun(x):
        with pytest.raises(TypeError, match="no"):
            Refuses("refuses").bind(x, C)
        return sin.bind(x)

    assert trace(fun, X).consts == []


def test_source_lines_point_to_user_code():
    def fun(x):
        return lax.sin(x)

    (eqn,) = tanx.make_jaxpr(fun)(1.0).eqns
    assert eqn.source_info.file == __file__
    assert eqn.source_info.text == "return lax.sin(x)"
    assert eqn.source_info.function == "fun"


def test_effects_are_recorded():
    closed = trace(lambda x: (shout.bind(x), x)[1], X)
    assert closed.effects == shout.own_effects


def test_jaxprs_are_checked():
    class Fickle(Fake):
        calls = 0

        def infer(self, x):
            self.calls += 1
            return f32(self.calls)

    with pytest.raises(JaxprTypeError, match="not those that the primitive infers"):
        trace(Fickle("fickle").bind, X)


# --- Closures -------------------------------------------------------------------------------------


def test_values_of_surrounding_functions_are_constants():
    seen = {}

    def outer(x):
        y = sin.bind(x)
        seen["jaxpr"], seen["constants"] = stage(lambda z: [add.bind(z, y), mul.bind(z, x)], [X])
        assert [id(c) for c in seen["constants"]] == [id(y), id(x)]
        return y

    trace(outer, X)
    assert str(seen["jaxpr"]) == """\
{ lambda a:f32[3] b:f32[3]; c:f32[3]. let
    d:f32[3] = add c a
    e:f32[3] = mul c b
  in (d, e) }"""


def test_stage_closed_passes_them_as_leading_arguments():
    def outer(x):
        y = sin.bind(x)
        closed, captured = stage_closed(lambda z: [add.bind(mul.bind(z, C), y)], [X])
        assert captured == [y]
        assert [id(c) for c in closed.consts] == [id(C)]
        assert str(closed) == """\
{ lambda a:f32[3]; b:f32[3] c:f32[3]. let
    d:f32[3] = mul c a
    e:f32[3] = add d b
  in (e,) }"""
        return y

    trace(outer, X)


def test_literals_of_surrounding_functions_stay_literals():
    def outer(x):
        half = context.trace.literal(np.float32(0.5), SCALAR)
        inner, constants = stage(lambda z: [mul.bind(z, half)], [X])
        assert constants == []
        assert str(inner) == (
            "{ lambda ; a:f32[3]. let b:f32[3] = mul a 0.5:f32[] in (b,) }")
        return x

    trace(outer, X)


# --- Values that depend on no argument ------------------------------------------------------------


def test_values_independent_of_arguments_are_concrete():
    def fun(x):
        n = lax.reduce_sum(lax.iota(np.int32, 4), (0,))
        assert int(n) == 6 and float(n) == 6.0 and bool(n) and n.item() == 6
        assert "abcdefgh"[n] == "g"
        assert list(range(n)) == list(range(6))
        np.testing.assert_array_equal(np.asarray(lax.iota(np.int32, 3)), [0, 1, 2])
        return lax.mul(x, 2.0) if n > 5 else x

    closed = tanx.make_jaxpr(fun)(1.0)
    assert closed.eqns[-1].primitive.name == "mul"
    assert tanx.jit(fun)(1.0) == 2.0


@pytest.mark.parametrize("fun", [
    lambda x: x if jnp.all(jnp.arange(3) >= 0) else -x,
    lambda x: sum(x for _ in range(jnp.int32(3))) / 3,
    lambda x: x.reshape(jnp.array(x.shape).prod()).reshape(2, 3),
], ids=["if", "range", "reshape"])
def test_static_facts_stay_static(fun):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(tanx.jit(fun)(x), x)


def test_constants_and_literals_are_computable():
    def fun(x):
        assert lax.add(C, 1.0).tolist() == [1, 2, 3]
        assert bool(lax.lt(np.float32(1), np.float32(2)))
        return x

    tanx.make_jaxpr(fun)(1.0)


def test_equations_behind_a_value_run_once():
    runs = []

    class Counted(Fake):
        def eval(self, x):
            runs.append(1)
            return x

    counted = Counted("counted")

    def fun(x):
        y = counted.bind(C)
        z = counted.bind(y)
        assert not runs
        assert y.tolist() == [0, 1, 2] and len(runs) == 1
        assert z.tolist() == y.tolist() == [0, 1, 2] and len(runs) == 2
        return x

    trace(fun, X)


def test_static_values_of_surrounding_functions_are_computable():
    def fun(x):
        n = lax.reduce_sum(lax.iota(np.int32, 3), (0,))

        @tanx.jit
        def inner(y):
            return lax.broadcast(y, (lax.mul(n, np.int32(2)),))
        return inner(x)

    assert tanx.jit(fun)(1.0).shape == (6,)


def test_values_of_arguments_are_not_concrete():
    def fun(x):
        return x if lax.gt(lax.mul(x, 2.0), 0.0) else x

    with pytest.raises(TracerBoolConversionError, match="depends on argument x of fun"):
        tanx.jit(fun)(1.0)


def test_effects_do_not_happen_while_tracing():
    loud = Fake("loud", effects=shout.own_effects)

    def fun(x):
        with pytest.raises(TracerBoolConversionError):
            bool(loud.bind(np.float32(1)))
        return x

    trace(fun, X)


# --- Leaks ----------------------------------------------------------------------------------------

leaks = []


def leaky(x):
    y = lax.sin(x)
    leaks.append(y)
    return y


@pytest.mark.parametrize("use", [
    lambda y: lax.add(y, 1.0),
    lambda y: tanx.jit(lambda z: lax.add(z, y))(1.0),
    lambda y: tanx.make_jaxpr(lambda: y)(),
    lambda y: tanx.vmap(lambda z: lax.add(z, y))(C),
    lambda y: tanx.grad(lambda z: lax.mul(z, y))(1.0),
], ids=["eager", "jit", "result", "vmap", "grad"])
def test_a_leaked_value_says_where_it_came_from(use):
    leaks.clear()
    tanx.make_jaxpr(leaky)(1.0)
    line = leaky.__code__.co_firstlineno + 1
    with pytest.raises(UnexpectedTracerError) as caught:
        use(leaks[0])
    assert str(caught.value).splitlines() == [
        "tanx: a traced value escaped from the function that was being transformed.",
        "  value:  ~float32[]",
        "  origin: depends on argument x of leaky, traced for make_jaxpr; "
        f"made at {__file__}:{line} (leaky): y = lax.sin(x)",
        "  Hint: return the value from the function instead of storing it in a global, an "
        "attribute or a list; tanx.checking_leaks() finds the place."]


def test_tracers_of_a_failed_trace_are_invalid():
    def fails(x):
        leaks.append(lax.sin(x))
        raise KeyError("oops")

    leaks.clear()
    with pytest.raises(KeyError, match="oops"):
        tanx.make_jaxpr(fails)(1.0)
    with pytest.raises(UnexpectedTracerError):
        lax.add(leaks[0], 1.0)
    assert lax.add(1.0, 2.0) == 3.0


def test_a_leaked_value_that_depends_on_no_argument_is_still_known():
    leaks.clear()
    trace(lambda x: (leaks.append(lax.iota(np.int32, 3)), x)[1], X)
    assert leaks[0].tolist() == [0, 1, 2]


def test_names_of_arguments_in_messages():
    debug = DebugInfo("jit", "f", None, ("x", "y.a"))
    kept = []
    stage(lambda x, y: [kept.append(add.bind(x, y)), sin.bind(kept[0])][1:], [X, X], debug)
    origin = kept[0].describe_origin()
    assert origin.startswith("depends on arguments x, y.a of f, traced for jit; made at ")
    stage(lambda x, y: [kept.append(y), x][1:], [X, X])
    assert kept[1].describe_origin() == "depends on argument #1 of <function>, traced for jit"


# --- Functions inside of functions ----------------------------------------------------------------


def test_a_hundred_nested_functions():
    fun = lambda x: x + 1
    for _ in range(100):
        fun = tanx.jit(lambda x, inner=fun: inner(x) * 1.0)
    limit = sys.getrecursionlimit()
    for _ in range(4):
        assert fun(1.0) == 2.0
    assert tanx.grad(fun)(1.0) == 1.0 and tanx.vmap(fun)(jnp.ones(2)).tolist() == [2.0, 2.0]
    assert tanx.jit(tanx.grad(fun))(1.0) == 1.0
    assert sys.getrecursionlimit() == limit


ENDLESS = """
import sys
import threading
import tanx
import tanx.numpy as jnp

@tanx.jit
def same(x):
    return same(x + 1)

@tanx.jit
def grows(x):
    return grows(jnp.concatenate([x, x[:1]]))

def loops(x):
    return tanx.lax.scan(lambda c, _: (loops(c), None), x, None, length=2)[0]

def maps(x):
    return maps(tanx.tree.map(lambda y: y, x))

def below(frames, call):  # frames that go through C
    return call() if not frames else sorted([0], key=lambda _: below(frames - 1, call))

def run(frames):
    for call in (lambda: same(1.0), lambda: grows(jnp.ones(1)), lambda: loops(1.0),
                 lambda: maps({"a": [1.0]})):
        try:
            below(frames, call)
        except RecursionError as error:
            print(str(error).split(".")[0].split(",")[0], sys.getrecursionlimit() == limit)

limit = sys.getrecursionlimit()
for frames in (0, 150):
    run(frames)
    thread = threading.Thread(target=run, args=(frames,))
    thread.start()
    thread.join()
print(tanx.jit(lambda x: x + 1)(1.0))
"""


def test_functions_that_call_themselves_without_end():
    """In a separate process, because the stack of a test runner may already be deep."""
    done = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True)
    *lines, last = done.stdout.splitlines()
    assert len(lines) == 16 and last == "2.0", done.stderr[-2000:]
    assert all(line.endswith(" True") for line in lines)
    assert all(line.startswith("tanx") for line in lines[:3])  # the stack has room for it


def test_infinite_recursion_raises():
    @tanx.jit
    def fun(x, n=0):
        return fun(x, n + 1)

    with pytest.raises(RecursionError, match="fun calls itself with arguments of the same types"):
        fun(1.0, 1)
    half = tanx.jit(lambda x, n: x if not n else half(x, n // 2) + 1, static_argnums=1)
    for _ in range(4):
        assert half(1.0, 8) == 5.0


@pytest.mark.parametrize("kilobytes", [1024, 8192])
def test_deep_functions_and_trees_in_a_thread(kilobytes):
    """Threads may have smaller stacks than the process."""
    def run():
        fun = lambda x: x + 1
        for _ in range(100):
            fun = tanx.jit(lambda x, inner=fun: inner(x) * 1.0)
        done.extend(float(fun(1.0)) for _ in range(4))
        tree = 1.0
        for _ in range(2000):
            tree = [tree]
        double = tanx.jit(lambda tree: tanx.tree.map(lambda x: 2 * x, tree))
        done.extend(float(tanx.tree.leaves(double(tree))[0]) for _ in range(4))

    done: list[float] = []
    before = threading.stack_size(kilobytes << 10)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert done == [2.0] * 8
