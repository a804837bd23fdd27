"""Callbacks in loops and branches: the calls are the same as in plain Python."""

import bdb
import io

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import debug, lax
from tanx.errors import JaxRuntimeError
from tanx.experimental import io_callback
from tests.control.ways import each_way


class Notes(list):
    """Records the numbers it is called with."""

    def __call__(self, *values):
        self.append(tuple(float(v) for v in values))

    def taken(self):
        tanx.effects_barrier()
        found, self[:] = list(self), []
        return found


def answers(stdout) -> list[str]:
    """The first line of each answer of the debugger, without the source lines that follow."""
    return [text.splitlines()[0] for text in stdout.getvalue().split("(tanx) ")[1:-1]]


WAYS = {
    "debug": lambda notes, *xs: debug.callback(notes, *xs),
    "ordered": lambda notes, *xs: debug.callback(notes, *xs, ordered=True),
    "io": lambda notes, *xs: io_callback(notes, None, *xs),
    "ordered-io": lambda notes, *xs: io_callback(notes, None, *xs, ordered=True),
}
each_kind = pytest.mark.parametrize("note", WAYS.values(), ids=WAYS)
shows = pytest.mark.parametrize("note", [WAYS["debug"], WAYS["ordered"]],
                                ids=["debug", "ordered"])


# Functions of a callback and a number, each with the same function in Python.


def scanned(note, x):
    def step(c, k):
        note(c, k)
        return c * 2 + k, c
    return lax.scan(step, x, jnp.arange(3.0))[0]


def scanned_in_python(note, x):
    for k in range(3):
        note(x, k)
        x = x * 2 + k
    return x


def repeated(note, x):
    def ask(c):
        note(c, 0)
        return c < 20

    def step(c):
        note(c, 1)
        return c * 2 + 1
    return lax.while_loop(ask, step, x)


def repeated_in_python(note, x):
    while note(x, 0) or x < 20:
        note(x, 1)
        x = x * 2 + 1
    return x


def branched(note, x):
    def small(x):
        note(x, 0)
        return x + 1

    def large(x):
        note(x, 1)
        return lax.fori_loop(0, 2, lambda i, c: (note(c, i), c - i)[1], x)
    return lax.cond(x < 5, small, large, x)


def branched_in_python(note, x):
    if x < 5:
        note(x, 0)
        return x + 1
    note(x, 1)
    for i in range(2):
        note(x, i)
        x = x - i
    return x


def nested(note, x):
    return lax.scan(lambda c, _: (branched(note, repeated(note, c) / 8), None), x, None,
                    length=3)[0]


def nested_in_python(note, x):
    for _ in range(3):
        x = branched_in_python(note, repeated_in_python(note, x) / 8)
    return x


FUNCTIONS = {"scan": (scanned, scanned_in_python), "while": (repeated, repeated_in_python),
             "cond": (branched, branched_in_python), "nested": (nested, nested_in_python)}
each_function = pytest.mark.parametrize("fun, plain", FUNCTIONS.values(), ids=FUNCTIONS)


@each_way
@each_kind
@each_function
def test_callbacks_run_in_the_order_of_python(run, note, fun, plain):
    notes = Notes()
    compiled = run(lambda x: fun(lambda *xs: note(notes, *xs), x))
    for x in (1.0, 3.5, 30.0):
        expected = plain(notes, x)
        calls = notes.taken()
        assert float(compiled(x)) == expected
        assert notes.taken() == calls


@each_way
@shows
@each_function
def test_lanes_make_their_own_calls(run, note, fun, plain):
    """The order of lanes is not specified; a branch that a lane does not take has no effect."""
    notes, xs = Notes(), [1.0, 7.0, 30.0]
    expected = [plain(notes, x) for x in xs]
    calls = notes.taken()
    out = run(tanx.vmap(lambda x: fun(lambda *xs: note(notes, *xs), x)))(jnp.array(xs))
    np.testing.assert_array_equal(out, expected)
    assert sorted(notes.taken()) == sorted(calls)


@each_way
@shows
@each_function
def test_derivatives_make_the_calls_of_the_forward_pass(run, note, fun, plain):
    notes = Notes()
    noted = lambda x: fun(lambda *xs: note(notes, *xs), x)
    plain(notes, 3.0)
    calls = notes.taken()
    silent = tanx.grad(lambda x: fun(lambda *xs: None, x))(3.0)
    np.testing.assert_allclose(run(tanx.grad(noted))(3.0), silent, rtol=1e-6)
    assert notes.taken() == calls
    run(lambda x: tanx.jvp(noted, (x,), (x,)))(3.0)
    assert notes.taken() == calls


@each_way
def test_values_of_callbacks_in_loops(run):
    count = []

    def step(c, k):
        y = tanx.pure_callback(lambda c, k: (count.append(1), np.float32(c * 2 + k))[1], c, c, k)
        return y, y
    carry, ys = run(lambda x: lax.scan(step, x, jnp.arange(4.0)))(jnp.float32(1))
    assert float(carry) == 27.0 and len(count) == 4
    np.testing.assert_array_equal(ys, [2, 5, 12, 27])
    stop_at = lambda c: tanx.pure_callback(lambda c: np.bool_(c < 100), jnp.bool_(0), c)
    assert float(run(lambda x: lax.while_loop(stop_at, lambda c: c * 3, x))(1.0)) == 243.0


def test_exceptions_end_while_loops():
    def fail(c):
        raise LookupError(float(c))
    step = lambda c: tanx.pure_callback(fail, c, c)
    loop = tanx.jit(lambda x: lax.while_loop(lambda c: c < 3, step, x))
    for _ in range(3):
        with pytest.raises(JaxRuntimeError, match="LookupError: 1.0"):
            loop(1.0)
    branch = tanx.jit(lambda x: lax.cond(x > 0, step, lambda x: x, x))
    assert branch(-1.0) == -1.0
    with pytest.raises(JaxRuntimeError, match="LookupError: 2.0"):
        branch(2.0)
    lanes = tanx.jit(tanx.vmap(lambda x: lax.while_loop(
        lambda c: c < 3, lambda c: tanx.pure_callback(fail, c, c, vmap_method="sequential"), x)))
    with pytest.raises(JaxRuntimeError, match="LookupError"):
        lanes(jnp.arange(4.0))


def test_a_loop_of_prints(capsys):
    @tanx.jit
    def fun(x):
        debug.print("before {}", x)
        y = lax.fori_loop(0, 3, lambda i, c: (debug.print("{} {}", i, c), c + i)[1], x)
        debug.print("after {}", y)
        return y
    assert float(fun(1.0)) == 4.0
    tanx.effects_barrier()
    assert capsys.readouterr().out.splitlines() == [
        "before 1.0", "0 1.0", "1 1.0", "2 2.0", "after 4.0"]


def test_breakpoints_in_loops():
    stdin, stdout = io.StringIO("p c\nc\np c\nq\n"), io.StringIO()

    def step(c, _):
        debug.breakpoint(stdin=stdin, stdout=stdout, num_frames=1)
        return c + 1, None
    with pytest.raises(bdb.BdbQuit):
        tanx.jit(lambda x: lax.scan(step, x, None, length=5))(1.0)
    assert answers(stdout)[::2] == ["Array(1., dtype=float32)", "Array(2., dtype=float32)"]


def looped_and_branched(x, files):
    """A breakpoint in a branch in a ``while`` loop."""
    def stop(y):
        debug.breakpoint(**files, num_frames=1)
        return y - 1

    step = lambda c: (c[0] + 1, lax.cond(c[1] > 0, stop, lambda y: y + 0.25, c[1]))
    return lax.while_loop(lambda c: c[0] < 4, step, (0, x))[1]


@pytest.mark.parametrize("transform, x, stops", [
    (lambda f: f, 1.5, [1.5, 0.5]),
    (tanx.jit, 1.5, [1.5, 0.5]),
    (tanx.grad, 1.5, [1.5, 0.5]),
    (lambda f: tanx.jit(tanx.grad(f)), 1.5, [1.5, 0.5]),
    (lambda f: tanx.grad(tanx.jit(f)), 1.5, [1.5, 0.5]),
    (lambda f: lambda x: tanx.jvp(tanx.jit(f), (x,), (x,)), 1.5, [1.5, 0.5]),
    (tanx.vmap, [1.5, -3, 0.5], [1.5, 0.5, 0.5]),
    (lambda f: tanx.jit(tanx.vmap(f)), [1.5, -3, 0.5], [1.5, 0.5, 0.5]),
    (lambda f: tanx.vmap(tanx.grad(f)), [1.5, -3, 0.5], [1.5, 0.5, 0.5]),
], ids=["eager", "jit", "grad", "jit grad", "grad jit", "jvp jit", "vmap", "jit vmap", "vmap grad"])
def test_breakpoints_under_transformations(transform, x, stops):
    """They stop where Python would stop; lanes may stop in any order."""
    files = dict(stdin=io.StringIO("p y\nc\n" * 9), stdout=io.StringIO())
    transform(lambda x: looped_and_branched(x, files))(jnp.asarray(x))
    tanx.effects_barrier()
    seen = [line.partition("Array(")[2].partition(",")[0] for line in answers(files["stdout"])
            if line.startswith("Array(")]
    assert sorted(map(float, seen)) == sorted(stops)


@each_way
def test_prints_of_lanes_come_in_the_order_of_steps(run, capsys):
    """In loops that run all lanes in each step, lanes print in order within a step."""
    def fun(x):
        inner = lambda i, c: (debug.print("{} {}", i, c), c + 1)[1]
        step = lambda c, k: ((debug.print("step {}: {}", k, c),
                              lax.fori_loop(0, 2, inner, c) * 2)[1], None)
        return lax.scan(step, x, jnp.arange(2))[0]

    expected = []
    lanes = [1, 5]
    for k in range(2):
        expected += [f"step {k}: {c}" for c in lanes]
        for i in range(2):
            expected += [f"{i} {c + i}" for c in lanes]
        lanes = [(c + 2) * 2 for c in lanes]
    run(tanx.vmap(fun))(jnp.array([1, 5]))
    tanx.effects_barrier()
    assert capsys.readouterr().out.splitlines() == expected
    as_float = lambda x: tanx.vmap(fun)(x).sum()
    run(tanx.grad(as_float))(jnp.array([1.0, 5.0]))
    tanx.effects_barrier()
    lines = capsys.readouterr().out.splitlines()
    assert [line.replace(".0", "") for line in lines] == expected


def test_many_elements_are_a_loop():
    """The calls of a large batch are compiled to a loop, not unrolled."""
    notes = Notes()
    fun = tanx.vmap(lambda x: debug.callback(notes, x))
    closed = tanx.make_jaxpr(fun)(jnp.arange(1000.0))
    assert [e.primitive.name for e in closed.eqns] == ["scan"]
    tanx.jit(fun)(jnp.arange(1000.0))
    assert notes.taken() == [(float(k),) for k in range(1000)]


# -- calls for values that derivatives need --------------------------------------------------------


def measured(note, x):
    """The cosine, by a callback that records its calls."""
    def call(x):
        note(float(x))
        return np.cos(x)
    return io_callback(call, tanx.ShapeDtypeStruct((), x.dtype), lax.stop_gradient(x))


def by_while(step):
    return lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, step(c[1])), (0, x))[1]


@pytest.mark.parametrize("loop", [
    lambda step: lambda x: lax.scan(lambda c, _: (step(c), None), x, length=3)[0],
    lambda step: lambda x: lax.scan(tanx.checkpoint(lambda c, _: (step(c), None)), x, length=3)[0],
    lambda step: tanx.checkpoint(lambda x: lax.fori_loop(0, 3, lambda _, c: step(c), x)),
    lambda step: lambda x: lax.bounded_while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, step(c[1])), (0, x), max_steps=5)[1],
    by_while], ids=["scan", "checkpoint inside", "checkpoint around", "bounded", "while"])
@each_way
@pytest.mark.parametrize("derive", [
    tanx.grad, lambda f: lambda x: tanx.linearize(f, x)[1](1.0)], ids=["grad", "linearize"])
def test_results_of_callbacks_are_saved_for_derivatives(run, loop, derive):
    seen = []
    derivative = run(derive(loop(lambda x: jnp.sin(x) * measured(seen.append, x))))
    if loop is by_while and run is tanx.jit:
        with pytest.raises(NotImplementedError, match="not possible for a callback with effects"):
            derivative(0.7)
        return
    slope, x = 1.0, 0.7
    for _ in range(3):
        slope, x = slope * np.cos(x) * np.cos(x), np.sin(x) * np.cos(x)
    np.testing.assert_allclose(derivative(0.7), slope, rtol=1e-5)
    assert len(seen) == 3
