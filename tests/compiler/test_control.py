"""Loops and branches as compiled code: they agree with ``eval``, without needless copies."""

import re

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from benchmarks.cases import state
from tanx import lax
from tanx._compiler.pipeline import build
from tanx._core.flow import ForLoop
from tanx._core.primitive import Kind, Primitive
from tanx._loops.nest import Branch, Loop, Nest
from tanx._loops.show import show_plan
from tanx._loops.traverse import statements_in
from tanx._transforms.discharge import without_refs
from tests.compiler.agreement import check_function, run_native
from tests.compiler.programs import settings

X = np.random.default_rng(0).normal(size=(6, 40)).astype(np.float32)


def module(f, *args, donated=()):
    return build(tanx.make_jaxpr(f)(*args), donated)


def found(program, kind):
    return [s for s in statements_in(program.statements) if isinstance(s, kind)]


def rnn(w, h, xs):
    def step(h, x):
        h = jnp.tanh(h @ w + x)
        return h, h[:3].sum()
    return lax.scan(step, h, xs)


def newton(x, goal):
    return lax.while_loop(lambda s: jnp.abs(s[0] * s[0] - goal).max() > 1e-4,
                          lambda s: (0.5 * (s[0] + goal / s[0]), s[1] + 1), (x, 0))


def rows(x):
    """Some rows are sorted, some are not: a branch in a loop of independent steps."""
    def row(_, r):
        return None, lax.cond(r[0] > 0, jnp.sort, lambda r: r * 2, r)
    return lax.scan(row, None, x)[1]


def swapped(a, b):
    return lax.scan(lambda c, _: ((c[1], c[0] + c[1]), c[0]), (a, b), None, 9)


def backwards(x):
    def step(total, r):
        return total + r.sum(), total * r
    return lax.scan(step, 1.0, x, reverse=True)


def nested(x):
    def outer(total, r):
        inner = lax.scan(lambda c, v: (c * 0.9 + v, c), total, r)
        return inner[0], inner[1].sum()
    return lax.scan(outer, 0.0, x)


def forgetful(w, v, s, x):
    """Each step gives the same carries; inside, results have the names of other ones outside."""
    def step(carry, _):
        return (jnp.tanh(w), jnp.tanh(w.sum())), carry[1] + jnp.zeros(40)
    return lax.scan(step, (v, s), x)


@pytest.mark.parametrize(("f", "args"), [
    (rnn, (X[:, :6].T @ X[:, :6], X[0, :6], X[:, 6:12])),
    (rnn, (np.zeros((200, 200), np.float32), np.ones(200, np.float32),
           np.ones((5, 200), np.float32))),
    (newton, (np.abs(X[0]) + 1, np.abs(X[1]) + 1)),
    (rows, (X,)),
    (swapped, (np.int32(0), np.int32(1))),
    (swapped, (X[0], X[1])),
    (backwards, (X,)),
    (nested, (X,)),
    (backwards, (X[:0],)),
    (forgetful, (X[0], X[1], X[0, 0], X)),
])
def test_compiled_code_agrees_with_eval(f, args):
    closed = tanx.make_jaxpr(f)(*args)
    expected = [np.asarray(y) for y in evaluated(closed, args)]
    given = tanx.tree.leaves(tanx.jit(f)(*args))
    for y, z in zip(given, expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=2e-5, atol=1e-5)


def evaluated(closed, args):
    """The results by the ``eval`` rules of the equations."""
    values = dict(zip(closed.jaxpr.constvars, closed.consts))
    values.update(zip(closed.jaxpr.invars, args))
    for eqn in closed.jaxpr.eqns:
        operands = [np.asarray(values[a] if a in values else a.val) for a in eqn.invars]
        out = eqn.primitive.eval(*operands, **eqn.params)
        outs = out if eqn.primitive.multiple_results else [out]
        values.update((v, np.asarray(y, v.aval.dtype)) for v, y in zip(eqn.outvars, outs))
    return [values[a] if a in values else a.val for a in closed.jaxpr.outvars]


def test_an_updated_carry_is_never_copied():
    def update(buffer, steps):
        def body(buffer, i):
            buffer = buffer.at[i % 100].set(buffer[(i + 3) % 100] + 1)
            return lax.dynamic_update_slice(buffer, buffer[:2] * 2, (i % 50,)), buffer[i % 7]
        return lax.scan(body, buffer, steps)
    args = np.zeros(100_000, np.float32), np.arange(1000, dtype=np.int32)
    program = module(update, *args, donated=(True, False)).program
    large = [s for s in found(program, Nest) for i in s.indices if i.extent == 100_000]
    assert not large
    assert module(update, *args, donated=(True, False)).plan.size < 10_000


def test_a_branch_changes_a_large_carry_in_place():
    def update(buffer, steps):
        def body(buffer, i):
            return lax.cond(i % 3 == 0, lambda b: b.at[i].set(1.0), lambda b: b, buffer), None
        return lax.scan(body, buffer, steps)[0]
    args = np.zeros(10_000, np.float32), np.arange(100, dtype=np.int32)
    planned = module(update, *args, donated=(True, False))
    (loop,) = found(planned.program, Loop)
    (branch,) = found(loop.body.program, Branch)
    assert branch.carried == 1
    for body in branch.bodies:
        assert not [s for s in body.program.statements if isinstance(s, Nest) and s.indices]
    result = tanx.jit(update)(*args)
    np.testing.assert_array_equal(result[:100], np.arange(100) % 3 == 0)


def test_loop_invariant_values_are_computed_once():
    def f(w, v, xs):
        return lax.scan(lambda c, x: (c + (w @ w.T) @ x, None), v, xs)[0]
    w = np.ones((64, 64), np.float32)
    program = module(f, w, w[0], w).program
    (loop,) = found(program, Loop) or found(program, Nest)[-1:]
    assert found(program, Nest)[0].indices  # the product stands before the loop
    inside = loop.body.program.statements if isinstance(loop, Loop) else loop.body
    assert "x0" not in {b.name for s in inside for b in getattr(s, "inputs", ())}


def test_a_carry_that_stays_the_same_is_a_constant():
    def f(x, w):
        return lax.scan(lambda s, _: ((s[0] @ s[1], s[1]), None), (x, w), None, 5)
    x = np.ones((300, 300), np.float32)
    (loop,) = found(module(f, x, x).program, Loop)
    assert loop.carried == 1


def test_steps_that_are_apart_run_in_tasks():
    def f(x):
        return lax.scan(lambda _, r: (None, lax.while_loop(
            lambda y: y.sum() < 100, lambda y: y * 1.5 + jnp.sort(y), r)), None, x)[1]
    x = np.abs(np.random.default_rng(0).normal(size=(64, 300))).astype(np.float32)
    (loop,) = found(module(f, x).program, Loop)
    assert loop.tasks > 1
    expected = []
    for row in x:
        while row.sum() < 100:
            row = row * 1.5 + np.sort(row)
        expected.append(row)
    np.testing.assert_allclose(tanx.jit(f)(x), expected, rtol=1e-5)


def test_products_of_rows_and_sums_of_products_leave_the_loop():
    def loss(w, u, h, xs):
        def step(h, x):
            h = jnp.tanh(x @ u + h @ w)
            return h, None
        return (lax.scan(step, h, xs)[0] ** 2).sum()
    rng = np.random.default_rng(0)
    w, u = (rng.normal(size=(64, 64)).astype(np.float32) / 8 for _ in range(2))
    h, xs = rng.normal(size=(8, 64)).astype(np.float32), rng.normal(size=(10, 8, 64)).astype("f")
    gradient = tanx.grad(loss, (0, 1))
    forward, backward = found(module(gradient, w, u, h, xs).program, Loop)
    assert forward.carried == backward.carried == 1
    for got, expected in zip(tanx.jit(gradient)(w, u, h, xs), gradient_by_hand(w, u, h, xs)):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


def gradient_by_hand(w, u, h, xs):
    states = [h]
    for x in xs:
        states.append(np.tanh(x @ u + states[-1] @ w))
    d, dw, du = 2 * states[-1], 0, 0
    for x, before, after in zip(xs[::-1], states[-2::-1], states[:0:-1]):
        d = d * (1 - after ** 2)
        dw, du, d = dw + before.T @ d, du + x.T @ d, d @ w.T
    return dw, du


def test_rows_without_elements():
    def f(p):
        return lax.scan(lambda c, r: (jnp.sin(c) * r, c), p[0], p)[1].sum()
    assert tanx.jit(tanx.grad(f))(np.zeros((13, 0), np.float32)).shape == (13, 0)


def test_small_folds_next_to_long_loops():
    """The gradient of a loop has long loops, and a sum of nine elements."""
    def f(x):
        start = jnp.var(x, axis=(0, 1), keepdims=True)
        y = lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, jnp.cos(s[1])), (0, start))[1]
        y = jnp.repeat(y, 2, 0)
        return jnp.clip(jnp.stack([y, y], 1), -1, 2).astype("float64").sum()
    x = np.arange(9, dtype=np.float32).reshape(3, 3) / 4
    with tanx.enable_x64(True):
        steps = lambda y: jnp.cos(jnp.cos(jnp.cos(jnp.cos(jnp.cos(y)))))
        expected = tanx.grad(lambda x: 4 * steps(jnp.var(x)))(x)
        np.testing.assert_allclose(tanx.jit(tanx.grad(f))(x), expected, rtol=1e-4, atol=1e-6)


def test_rows_of_a_slice_are_read_where_they_are():
    def sorted_rows(x):
        return lax.map(lambda r: jnp.sort(r), x[2:-1].reshape(-1, 20))

    def recurrent(x):  # a nest, for a step is short
        w = jnp.ones((40, 40))
        return lax.scan(lambda h, r: (jnp.tanh(w @ h + r[0] * r[1]), h.sum()), x[0],
                        (x[1:], x[:-1]), reverse=True)

    (loop,) = found(module(sorted_rows, X).program, Loop)
    assert (loop.inputs[0].role, loop.skipped) == ("input", (80,))
    assert not any(b.shape == (5, 40) for b in module(recurrent, X).program.temps)
    for f in (sorted_rows, recurrent):
        for y, z in zip(tanx.tree.leaves(tanx.jit(f)(X)), evaluated(tanx.make_jaxpr(f)(X), (X,))):
            np.testing.assert_allclose(y, z, rtol=1e-5)


def test_scans_of_a_single_row():
    def loss(x):
        def step(c, r):
            return jnp.tanh(c @ jnp.outer(r, r) + r), c.sum()
        return jnp.sum(x + lax.scan(step, jnp.ones(8, x.dtype), x.reshape(-1, 8))[1])

    with settings({"fuse.nodes": 8, "split.worth": 1, "split.pieces": 4, "simplify.folded": 2}):
        check_function(tanx.grad(loss), X[0, :8])


def test_a_loop_under_another_name_is_compiled_as_a_loop():
    """The compiler knows no primitive of control flow by name: each one has a rule ``flow``."""
    class Times(Primitive):
        name = "times"
        kind = Kind.CALL
        multiple_results = True

        def infer(self, *types, does, count):
            return does.out_avals

        def flow(self, params):
            return ForLoop(params["does"], params["count"], 0, len(params["does"].in_avals), False)

        def with_flow(self, params, flow):
            return dict(params, does=flow.body)

    times = Times()
    body = tanx.make_jaxpr(lambda x: (jnp.sort(x[::-1] * 2),))(X[0])
    closed = tanx.make_jaxpr(lambda x: times.bind(x, does=body, count=3))(X[0])
    assert [loop.count for loop in found(build(closed).program, Loop)] == [3]
    (result,) = run_native(closed, [X[0]])
    np.testing.assert_array_equal(result, np.sort(X[0] * 8))


@pytest.mark.parametrize(("body", "first"), [
    (lambda c, x: ((c + jnp.array([0.5, 2.0]))[1], c + x), jnp.float32(1.5)),
    (lambda c, x: (lax.squeeze(lax.slice(c * jnp.arange(4.0), (2,), (3,)), (0,)), c), 1.5),
    (lambda c, x: ((c * 2 + x).reshape(3, 2).T.reshape(2, 3), c.sum()), X[:2, :3]),
    (lambda c, x: ((c.reshape(3, 2) + x).reshape(2, 3), c[0]), X[:2, :3]),
    (lambda c, x: ((c[::-1] + x).reshape(1, 40)[0], c.sum()), X[0]),
])
def test_carries_that_are_computed_in_another_shape(body, first):
    check_function(lambda c: lax.scan(body, c, jnp.linspace(0, 1, 40)), first)


def test_keys_that_are_taken_by_index():
    def draw(key, _):
        keys = tanx.random.split(key)
        return keys[0], tanx.random.bits(keys[1], (3,))

    key, expected = tanx.random.key(3), []
    _, given = tanx.jit(lambda key: lax.scan(draw, key, None, 40))(key)
    for _ in range(40):
        key, words = draw(key, None)
        expected.append(words)
    np.testing.assert_array_equal(given, np.stack(expected))


@pytest.mark.parametrize("width", [64, 512])
def test_state_in_references_is_compiled_to_the_program_of_carried_state(width):
    """The same statements, in place, without more copies; only the numbers of buffers differ."""
    def plan(train, args):
        closed = without_refs(tanx.make_jaxpr(train)(*args))
        text = show_plan(build(closed, ()).plan)
        lines = re.sub(r"\b[xytp]\d+\b", "b", text).splitlines()
        return sorted(line for line in lines if not line.lstrip().startswith(
            ("program(", "loop ", "b at ", "arena")))

    carried, referenced = (
        plan(*make(tanx, jnp, 20, width)) for make in (state.carried, state.referenced))
    assert carried == referenced
    assert sum("overwrites" in line for line in carried) == 7
