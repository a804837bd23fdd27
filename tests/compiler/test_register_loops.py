"""Loops and branches of a few numbers become expressions and nests with the same results."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.pipeline import build
from tanx._loops.expr import Fold, While
from tanx._loops.nest import SEQUENTIAL, Call, Nest
from tanx._loops.show import show
from tanx._loops.traverse import expressions, statements_in, walk
from tests.compiler.agreement import check_function

pytestmark = pytest.mark.filterwarnings("ignore:Some donated buffers")


def normal(*shape):
    return np.random.default_rng(len(shape) + sum(shape)).normal(size=shape).astype(np.float32)


def steps_to_escape(re, im):
    def step(state):
        x, y, n = state
        return x * x - y * y + re, 2.0 * x * y + im, n + 1
    return lax.while_loop(lambda s: (s[0] * s[0] + s[1] * s[1] < 4.0) & (s[2] < 30), step,
                          (0.0, 0.0, 0))[2]


def lorenz(start):
    def step(state, _):
        x, y, z = state
        return state + 0.01 * jnp.array([10 * (y - x), x * (28 - z) - y, x * y - 2.5 * z]), state
    return lax.scan(step, start, None, length=20)


def lorenz_end(start):
    return lorenz(start)[0]


def average(xs):
    return lax.scan(lambda mean, x: (0.9 * mean + 0.1 * x, mean), xs[0], xs)


def backwards(xs):
    return lax.scan(lambda total, x: (total + x, total * x), 1.0, xs, reverse=True)


def fibonacci(a, b):
    return lax.scan(lambda c, _: ((c[1], c[0] + c[1]), c[0]), (a, b), None, length=10)


def recurrent(h, xs, w):
    return lax.scan(lambda h, x: (jnp.tanh(w @ h + x), h.sum()), h, xs)


def rare(x):
    return lax.cond(x > 0.5, lambda x: lax.while_loop(
        lambda a: a < 100.0, lambda a: jnp.exp(a * 0.1) + a, x), lambda x: x, x)


def rare_pair(x):
    def dear(x):
        return lax.while_loop(lambda s: s[0] < 50.0, lambda s: (s[0] + x, s[1] * 1.01), (x, x))
    return lax.cond(x > 0.5, dear, lambda x: (x, -x), x)


def rare_triple(x):
    """Results computed from two results of a loop of known length."""
    def dear(x):
        a, b = lax.fori_loop(0, 50, lambda i, s: (jnp.sin(s[0]) + x, s[1] * 0.9 + s[0]), (x, x))
        return a + 1.0, (b * 2.0 + a) * a, b * 2.0
    return lax.cond(x > 0.5, dear, lambda x: (x, -x, x), x)


def in_each_step(x):
    """A branch in a loop that does not depend on the step."""
    return lax.scan(lambda c, k: (c * 0.5 + sum(rare_triple(x)) + k, None), x, jnp.arange(3.0))[0]


def nested(n):
    def outer(state):
        k, total = state
        inner = lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] // 2, s[1] + 1), (k, 0))[1]
        return k - 2, total + inner
    return lax.while_loop(lambda s: s[0] > 0, outer, (n, 0))[1]


def of_scans(x):
    """A loop in a loop, both of known lengths, and a choice."""
    def outer(c, k):
        inner, _ = lax.scan(lambda a, _: (a * 0.5 + x, None), c, None, length=5)
        return lax.cond(k % 2 == 0, lambda a: a, lambda a: -a, inner), None
    return lax.scan(outer, x, jnp.arange(4))[0]


def turning(points):
    """Two coordinates that a matrix rotates."""
    turn = jnp.array([[0.8, -0.6], [0.6, 0.8]])
    return lax.scan(lambda p, _: (turn @ p, None), points, None, length=12)[0]


def spots(xs, where):
    """A small array that is updated at indices from data."""
    return lax.scan(lambda c, k: (lax.dynamic_update_slice(c, c[k][None] + 1.0, (3 - k,)), None),
                    xs, where)[0]


def marked(x, where):
    """A small array whose elements are replaced and added to, in a ``while`` loop."""
    def step(state):
        k, x = state
        x = x.at[where[k]].set(x.sum()).at[k].add(1.0, mode="drop")
        return k + 1, x * 0.5
    return lax.while_loop(lambda s: (s[0] < 5) & (s[1][0] < 9.0), step, (0, x))[1]


def of_products(x, w):
    """Products of small matrices around a loop."""
    return lax.while_loop(lambda c: c[0] < 9.0, lambda c: w @ c + 1.0, w @ x) @ w


def counted(x):
    """Two counters, one of which decreases."""
    def step(c, _):
        up, down, total = c
        return (up + 1, down - 2, total + x[up] * down), up
    return lax.scan(step, (0, 9, 0.0), None, length=4)


def switched(k, x):
    return lax.switch(k, [jnp.sin, lambda x: x + 1, lambda x: x * x], x)


def of_two_ranks(vector, number, xs):
    """The vector depends on the number; the number does not depend on the vector's index."""
    return lax.scan(lambda c, x: ((c[0] + c[1] * x, c[1] * 2.0), None), (vector, number), xs)[0]


def halved(x):
    return lax.while_loop(lambda s: s[1] & (s[0] > 1e-3), lambda s: (s[0] / 2, s[0] > 1e-2),
                          (x, True))


def powers(z):
    return lax.scan(lambda c, _: (c * z, c), z, None, length=5)


def swinging(start):
    """The sum of the angles of a pendulum, by a Runge-Kutta method."""
    def flow(y):
        return jnp.array([y[1], -jnp.sin(y[0]) * start[2]])

    def step(y, _):
        a = flow(y)
        b = flow(y + 0.05 * a)
        return y + 0.1 * b, y[0]
    return lax.scan(step, start[:2], None, length=9)[1].sum()


CASES = {
    "carries of two ranks": (tanx.vmap(of_two_ranks),
                             (normal(2, 3), normal(2), normal(2, 4, 3))),
    "escape": (steps_to_escape, (np.float32(0.3), np.float32(0.5))),
    "escape in lanes": (tanx.vmap(tanx.vmap(steps_to_escape)), (normal(5, 21), normal(5, 21) / 2)),
    "lorenz": (lorenz, (np.ones(3, np.float32),)),
    "lorenz in lanes": (tanx.vmap(lorenz), (normal(21, 3),)),
    "lorenz in columns": (tanx.vmap(lorenz, 1), (normal(3, 21),)),
    "end of lorenz": (lorenz_end, (np.ones(3, np.float32),)),
    "ends of lorenz": (tanx.vmap(lorenz_end), (normal(21, 3),)),
    "average": (average, (normal(30),)),
    "averages of rows": (tanx.vmap(average), (normal(19, 30),)),
    "averages of columns": (tanx.vmap(average, 1, (0, 1)), (normal(30, 19),)),
    "averages of vectors": (average, (normal(30, 19),)),
    "averages of matrices": (average, (normal(6, 5, 19),)),
    "average of one": (average, (normal(1),)),
    "backwards": (backwards, (normal(9),)),
    "backwards in lanes": (tanx.vmap(backwards), (normal(18, 9),)),
    "fibonacci": (fibonacci, (np.int32(1), np.int32(1))),
    "recurrent": (recurrent, (normal(4), normal(9, 4), normal(4, 4))),
    "recurrent in lanes": (tanx.vmap(recurrent, (0, 0, None)),
                           (normal(20, 4), normal(20, 9, 4), normal(4, 4))),
    "rare": (rare, (np.float32(0.7),)),
    "rare in lanes": (tanx.vmap(rare), (normal(50),)),
    "rare in two axes": (tanx.vmap(tanx.vmap(rare)), (normal(5, 11),)),
    "rare pair": (rare_pair, (np.float32(0.7),)),
    "rare pairs in lanes": (tanx.vmap(rare_pair), (abs(normal(50)),)),
    "rare triple": (rare_triple, (np.float32(0.7),)),
    "rare triples in lanes": (tanx.vmap(rare_triple), (normal(50),)),
    "in each step": (in_each_step, (np.float32(0.7),)),
    "in each step, in lanes": (tanx.vmap(in_each_step), (normal(50),)),
    "nested": (nested, (np.int32(9),)),
    "nested in lanes": (tanx.vmap(nested), (np.arange(21, dtype=np.int32),)),
    "of scans": (of_scans, (np.float32(0.3),)),
    "of scans in lanes": (tanx.vmap(of_scans), (normal(21),)),
    "turning": (turning, (normal(2),)),
    "turning in lanes": (tanx.vmap(turning), (normal(21, 2),)),
    "spots": (spots, (normal(4), np.array([0, 3, 1, 1, 2]))),
    "marked": (marked, (normal(4), np.array([0, 3, 1, 7, 2]))),
    "marked in lanes": (tanx.vmap(marked, (0, None)), (normal(21, 4), np.array([0, 3, 1, 7, 2]))),
    "of products": (of_products, (abs(normal(3)), abs(normal(3, 3)))),
    "of products in lanes": (tanx.vmap(of_products, (0, None)),
                             (abs(normal(21, 3)), abs(normal(3, 3)))),
    "counted": (counted, (normal(4),)),
    "gradient of a path": (tanx.grad(swinging), (normal(3),)),
    "gradients of paths": (tanx.vmap(tanx.grad(swinging)), (normal(21, 3),)),
    "derivatives of a path": (tanx.hessian(swinging), (normal(3),)),
    "switched": (switched, (np.int32(1), np.float32(2))),
    "switched in lanes": (tanx.vmap(switched), (np.arange(21, dtype=np.int32) % 3, normal(21))),
    "halved": (halved, (np.float32(3),)),
    "halved in lanes": (tanx.vmap(halved), (abs(normal(21)),)),
    "powers": (powers, (np.complex64(0.5 + 0.5j),)),
    "powers in lanes": (tanx.vmap(powers), ((normal(21) + 0.5j).astype(np.complex64),)),
}


@pytest.mark.parametrize("name", CASES)
def test_compiled_loops_match_eval(name):
    fun, args = CASES[name]
    module = check_function(fun, *args)
    assert not any(isinstance(s, Call) for s in statements_in(module.program.statements))


def program_of(fun, *args):
    return build(tanx.make_jaxpr(fun)(*args)).program


def test_lanes_of_a_while_loop_are_one_nest():
    x = normal(8, 16)
    assert show(program_of(tanx.vmap(tanx.vmap(lambda x: lax.while_loop(
        lambda y: y < 4.0, lambda y: y * 2 + x, x))), x)) == """\
program(x0: f32[8,16]) -> (y0: f32[8,16])
for i in 8, j in 16 parallel:
    y0[i, j] = while(s = x0[i, j]; s < 4.0:f32: s * 2.0:f32 + x0[i, j])"""


def test_rows_are_stored_by_a_sequential_nest():
    assert show(program_of(average, normal(30, 20))) == """\
program(x0: f32[30,20]) -> (y0: f32[20], y1: f32[30,20])
for i in 20 parallel:
    y0[i] = x0[0, i]
for i in 20 parallel, k in 30 sequential:
    y1[k, i] = y0[i]
    y0[i] = 0.9:f32 * y0[i] + 0.1:f32 * x0[k, i]"""


def test_counters_are_not_carried():
    program = program_of(lambda x: counted(x)[0], normal(4))
    (fold,) = {n for s in statements_in(program.statements) for e in expressions(s)
               for n in walk(e) if isinstance(n, Fold)}
    assert len(fold.states) == 1 and not isinstance(fold, While)


def test_unused_scan_outputs_are_not_stored():
    program = program_of(lambda x: lax.scan(lambda c, _: (c * 0.5, c), x, None, length=9)[0],
                         np.float32(1))
    assert not any(isinstance(s, Nest) and SEQUENTIAL in s.kinds for s in program.statements)


@pytest.mark.parametrize("fun, args", [
    (lambda x: lax.scan(lambda c, _: (c + jnp.roll(c, 1), None), x, None, length=9)[0],
     (normal(64),)),
    (lambda x: lax.scan(lambda c, _: (c / c.sum(), None), x, None, length=9)[0], (normal(64),)),
    (lambda x: lax.while_loop(lambda c: c.sum() < 9.0, lambda c: c + 1.0, x), (normal(64),)),
    (lambda x: lax.while_loop(lambda c: c[0] < 9.0, lambda c: jnp.sort(c) + 1.0, x), (normal(4),)),
], ids=["neighbours", "a sum", "a sum in a condition", "a sort"])
def test_loops_that_need_arrays_do_not_run_in_registers(fun, args):
    program = check_function(fun, *args).program
    assert not any(isinstance(n, While) or isinstance(n, Fold) and not n.combine
                   for s in statements_in(program.statements) for e in expressions(s)
                   for n in walk(e))


def test_loops_that_write_arrays_do_not_run_in_registers():
    """Computed separately, each element would run the whole loop."""
    def fun(x, n):
        def step(state):
            i, x, written = state
            return i + 1, jnp.sin(x), written.at[i].set(x, mode="promise_in_bounds")
        return lax.while_loop(lambda state: state[0] < n, step, (0, x, jnp.zeros(5000)))[2]
    program = build(tanx.make_jaxpr(fun)(0.5, 4000)).program
    assert any(isinstance(s, Call) for s in program.statements)
    check_function(fun, np.float32(0.5), np.int32(4000))


@pytest.mark.parametrize("fun, shape", [
    (tanx.grad(lambda x: lax.map(lambda r: tanx.grad(lambda p: lax.scan(
        lambda c, r: (jnp.sin(c) * r, c), p[0], p)[1].sum())(jnp.tanh(r[:, 3:])), x).sum()),
     (2, 1, 3)),
    (lambda x: lax.map(lambda r: lax.fori_loop(0, 3, lambda i, c: c * 2 + r, r), x), (2, 0)),
    (lambda x: lax.fori_loop(0, 3, lambda i, c: (c[0] * 2, c[1] + 1), (x, x.size)), (0,)),
    (lambda x: lax.while_loop(lambda c: c[1] < 8, lambda c: (c[0] * 2, c[1] + 1), (x, x.size)),
     (3, 0)),
], ids=["rows", "mapped", "beside a number", "a condition"])
def test_empty_carries(fun, shape):
    check_function(fun, np.ones(shape, np.float32))
