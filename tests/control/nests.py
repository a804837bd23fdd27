"""Nests of loops and branches, each written once, to be run by tanx.lax or by plain Python.

A program takes control flow functions and an array of three numbers, and returns a number. ``LAX``
has the functions of tanx; ``PLAIN`` has the same names as Python loops, which need concrete numbers
and ignore rules, calls and checkpoints.
"""

from types import SimpleNamespace

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx.tree_util import tree_leaves, tree_map

SIZE = 3
PROGRAMS = {}
ONLY_REVERSE = {"rules_for_reverse_mode_in_loops"}


def program(fun):
    PROGRAMS[fun.__name__] = fun
    return fun


# -- constructs ------------------------------------------------------------------------------------


def _plain_scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    count = length if xs is None else len(tree_leaves(xs)[0])
    if not count:
        row = tree_map(lambda leaf: jnp.zeros(leaf.shape[1:], leaf.dtype), xs)
        return init, tree_map(lambda y: jnp.zeros((0, *jnp.shape(y))), f(init, row)[1])
    ys = [None] * count
    for i in reversed(range(count)) if reverse else range(count):
        init, ys[i] = f(init, tree_map(lambda leaf, i=i: leaf[i], xs))
    return init, tree_map(lambda *rows: jnp.stack(rows), *ys)


def _plain_while(cond, body, init, max_steps=1000):
    steps = 0
    while steps < max_steps and cond(init):
        init, steps = body(init), steps + 1
    return init


def _plain_for(lower, upper, body, init, unroll=None):
    for i in range(int(lower), int(upper)):
        init = body(i, init)
    return init


def _plain_switch(index, branches, *operands):
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)


def _plain_map(f, xs, batch_size=None):
    return _plain_scan(lambda _, x: (None, f(x)), None, xs)[1]


def _plain_running(f, elems, reverse=False, axis=0):
    """The prefix sums by an associative function ``f``."""
    count = len(tree_leaves(elems)[0])
    rows = [tree_map(lambda leaf, i=i: leaf[i:i + 1], elems) for i in range(count)]
    rows = rows[::-1] if reverse else rows
    for i in range(1, count):
        rows[i] = f(rows[i - 1], rows[i])
    rows = rows[::-1] if reverse else rows
    return tree_map(lambda *parts: jnp.concatenate(parts), *rows)


def _with_jvp(f):
    """A function with a custom rule for forward mode that equals its derivative."""
    wrapped = tanx.custom_jvp(f)
    wrapped.defjvp(lambda primals, tangents: tanx.jvp(f, primals, tangents))
    return wrapped


def _with_vjp(f):
    """A function with a custom rule for reverse mode that equals its derivative."""
    wrapped = tanx.custom_vjp(f)
    wrapped.defvjp(lambda *args: tanx.vjp(f, *args), lambda pull, ct: pull(ct))
    return wrapped


def _same(f, **options):
    return f


LAX = SimpleNamespace(
    scan=lax.scan, while_loop=lax.while_loop, bounded_while_loop=lax.bounded_while_loop,
    fori_loop=lax.fori_loop, cond=lax.cond, switch=lax.switch, map=lax.map,
    associative_scan=lax.associative_scan, checkpointed_scan=lax.checkpointed_scan, jit=tanx.jit,
    checkpoint=tanx.checkpoint, with_jvp=_with_jvp, with_vjp=_with_vjp)
PLAIN = SimpleNamespace(
    scan=_plain_scan, while_loop=_plain_while, bounded_while_loop=_plain_while,
    fori_loop=_plain_for, cond=lambda p, t, f, *xs: t(*xs) if p else f(*xs), switch=_plain_switch,
    map=_plain_map, associative_scan=_plain_running, checkpointed_scan=_plain_scan, jit=_same,
    checkpoint=_same, with_jvp=_same, with_vjp=_same)


# -- loops in loops --------------------------------------------------------------------------------


@program
def scan_in_while_in_cond(flow, x):
    def step(c):
        n, y = c
        return n + 1, flow.scan(lambda s, r: (jnp.sin(s) + r * x[1], s), y, x)[0]

    loop = lambda y: flow.while_loop(lambda c: (c[0] < 4) & (c[1] < 1.5), step, (0, y))[1]
    return flow.cond(x[0] > x[1], loop, lambda y: y * x[2], x[0] * 0.3)


@program
def cond_in_while(flow, x):
    def step(c):
        n, y = c
        return n + 1, flow.cond(y.sum() > 0, lambda y: y * 0.5 - 0.3, lambda y: jnp.sin(y) + x, y)

    n, y = flow.while_loop(lambda c: (c[0] < 6) & (jnp.abs(c[1]).max() > 0.1), step, (0, x))
    return (y * jnp.arange(1.0, 4.0)).sum() * n


@program
def traced_bounds_in_scan(flow, x):
    def step(c, n):
        c = flow.fori_loop(0, n, lambda i, c: jnp.sin(c) * x + i * 0.1, c)
        return c, c[0] * n
    y, rows = flow.scan(step, x, jnp.array([2, 0, 3]))
    return y.sum() + (rows * x).sum()


@program
def triangle_of_loops(flow, x):
    """The inner loop starts at the index of the outer one."""
    def outer(i, c):
        return flow.fori_loop(i, 4, lambda j, c: c + jnp.sin(c * j) * x[i % 3], c)
    return flow.fori_loop(0, 4, outer, x[0])


@program
def switch_in_scan(flow, x):
    branches = [lambda c, r: c * r, lambda c, r: jnp.cos(c) + r, lambda c, r: c - r * r]
    step = lambda c, ri: (flow.switch(ri[1], branches, c, ri[0]), c)
    y, rows = flow.scan(step, x[0], (x, jnp.array([2, -1, 9])))
    return y + (rows ** 2).sum()


@program
def switch_on_a_count_in_while(flow, x):
    branches = [jnp.sin, lambda y: y * x, lambda y: y + x[::-1], lambda y: y / (1 + y * y)]
    step = lambda c: (c[0] + 1, flow.switch(c[0] % 4, branches, c[1]))
    return flow.while_loop(lambda c: c[0] < 6, step, (0, x))[1].sum()


@program
def running_products_in_scan(flow, x):
    def step(c, r):
        c = flow.associative_scan(lambda a, b: a * b + b * 0.1 * a, jnp.cos(c) + r)
        return c, c.sum()
    y, sums = flow.scan(step, x, x)
    return (y * sums).sum()


@program
def pairs_run_backwards_in_while(flow, x):
    """Affine maps compose: an associative operation on pairs."""
    def compose(a, b):
        return a[0] * b[0], a[1] * b[0] + b[1]

    def step(c):
        slopes, shifts = flow.associative_scan(compose, (jnp.tanh(c[1]), x), reverse=True)
        return c[0] + 1, slopes + jnp.sin(shifts)
    return flow.while_loop(lambda c: c[0] < 3, step, (0, x))[1].sum()


@program
def map_with_batches_in_scan(flow, x):
    rows = lambda c: flow.map(lambda r: jnp.sin(r * c).sum(), jnp.outer(x, x) + c, batch_size=2)
    y, sums = flow.scan(lambda c, r: (jnp.tanh(rows(c).sum()) * r, rows(c * r)), x[1], x)
    return y + (sums * x).sum()


@program
def map_of_loops(flow, x):
    loop = lambda a: flow.while_loop(lambda c: (c[1] < 2) & (c[0] < 9),
                                     lambda c: (c[0] + 1, c[1] * 1.5 + a * a), (0, a))[1]
    return (flow.map(loop, x) * x).sum()


@program
def map_with_batches_of_loops(flow, x):
    loop = lambda a: flow.while_loop(lambda c: (c[1] < 2) & (c[0] < 9),
                                     lambda c: (c[0] + 1, c[1] * 1.5 + a * a), (0, a))[1]
    return (flow.map(loop, jnp.concatenate([x, x * 0.5]), batch_size=4) ** 2).sum()


@program
def backwards_in_forwards(flow, x):
    def step(c, r):
        inner, ys = flow.scan(lambda d, s: (d * s + r, jnp.sin(d)), c, x, reverse=True)
        return jnp.tanh(inner), ys * r
    y, rows = flow.scan(step, x[0], x, reverse=False)
    return y + (rows @ x).sum()


@program
def unrolled_in_unrolled(flow, x):
    inner = lambda c: flow.scan(lambda d, s: (jnp.sin(d) + s, None), c, x, unroll=2)[0]
    return flow.scan(lambda c, s: (inner(c) * s, None), x[1], x, unroll=3)[0]


@program
def three_deep(flow, x):
    def innermost(c):
        return flow.fori_loop(0, 2, lambda i, c: jnp.sin(c) + x[i] * 0.2, c)

    def middle(c):
        return flow.while_loop(lambda d: (d[0] < 3) & (d[1] < 1.2),
                               lambda d: (d[0] + 1, innermost(d[1]) * 1.1), (0, c))[1]
    return flow.scan(lambda c, r: (middle(c * r), c), x[0], x)[0]


@program
def memory_as_the_root_of_the_length(flow, x):
    step = lambda c, r: (flow.cond(c > r, jnp.sin, lambda c: c * 1.1 + r, c), c * r)
    y, rows = flow.checkpointed_scan(step, x[0], jnp.concatenate([x] * 3))
    return y + rows.sum()


@program
def a_limit_inside(flow, x):
    def step(c, r):
        loop = flow.bounded_while_loop(
            lambda d: d[1] < 1.0, lambda d: (d[0] + 1, d[1] + 0.3 * r * r), (0, c), max_steps=4)
        return jnp.sin(loop[1]), loop[0]
    y, steps = flow.scan(step, x[2], x)
    return y * (1 + steps.sum())


# -- carries ---------------------------------------------------------------------------------------


@program
def trees_as_carries(flow, x):
    def step(state):
        a, (b, n) = state["a"], state["rest"]
        return {"a": jnp.sin(b) * x[0], "rest": (a + b[::-1], n + 1), "flag": ~state["flag"],
                "none": None}

    state = {"a": x, "rest": (x * 2, 0), "flag": jnp.bool_(True), "none": None}
    out = flow.while_loop(lambda s: s["rest"][1] < 5, step, state)
    return (out["a"] * out["rest"][0]).sum() * jnp.where(out["flag"], 1.0, -1.0)


@program
def booleans_that_choose(flow, x):
    def step(c, r):
        flag, y = c
        y = flow.cond(flag, lambda y: y * r, lambda y: jnp.cos(y) - r, y)
        return (y > 0.2, y), flag
    (flag, y), flags = flow.scan(step, (x[0] > 0, x[0]), jnp.concatenate([x, x]))
    return y * (1 + flags.sum()) + jnp.where(flag, y, -y)


@program
def integers_that_count(flow, x):
    """A number of steps that depends on values, and indexes them."""
    def step(c):
        n, place, y = c
        return n + 1, (place * 2 + 1) % 3, y + jnp.sin(y * x[place])
    n, place, y = flow.while_loop(lambda c: (c[0] < 7) & (c[2] < 1.5), step, (0, 1, x[0]))
    return y * x[place] + n


@program
def carries_that_change_places(flow, x):
    step = lambda c: (c[0] + 1, c[2], c[1] * 0.9 + c[2] * x[0], c[1])
    _, a, b, d = flow.while_loop(lambda c: c[0] < 5, step, (0, x[0], x[1], x[2]))
    return jnp.sin(a) + b * d


@program
def a_carry_that_never_changes(flow, x):
    step = lambda c: (c[0] + 1, c[1] * c[2].sum(), c[2])
    _, y, same = flow.while_loop(lambda c: c[0] < 3, step, (0, x[0], jnp.cos(x)))
    return y + same[0]


@program
def rows_written_in_place(flow, x):
    def step(i, table):
        return table.at[i + 1].set(jnp.sin(table[i]) + x * table[i // 2])
    return flow.fori_loop(0, 4, step, jnp.zeros((5, SIZE)).at[0].set(x))[-1].sum()


@program
def elements_written_in_a_loop_in_a_loop(flow, x):
    def outer(i, table):
        return flow.fori_loop(0, i + 1, lambda j, t: t.at[i, j].add(jnp.sin(t[j, i]) * x[j]), table)
    return (flow.fori_loop(0, SIZE, outer, jnp.outer(x, x)) * x).sum()


@program
def no_steps_at_all(flow, x):
    y, rows = flow.scan(lambda c, r: (c * r, c), x[0], x[:0])
    z = flow.while_loop(lambda c: c[0] < 0, lambda c: (c[0] + 1, jnp.sin(c[1])), (0, y * x[1]))[1]
    return flow.fori_loop(2, 1, lambda i, c: c * i, z) + rows.sum()


@program
def results_that_depend_on_nothing(flow, x):
    def step(c, r):
        return (c[0] + 1, jnp.ones(()), jnp.sin(c[2]) * c[1]), (jnp.zeros(2), c[0])
    (n, one, y), (zeros, counts) = flow.scan(step, (0, x[0], x[1]), x)
    return y * one + zeros.sum() + counts.sum() * n


# -- functions with rules, calls and memory --------------------------------------------------------


@program
def rules_for_forward_mode_in_loops(flow, x):
    f = flow.with_jvp(lambda a, b: jnp.sin(a) * b)
    y = flow.scan(lambda c, r: (f(c, r), None), x[0], x)[0]
    return flow.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, f(c[1], x[2])), (0, y))[1]


@program
def rules_for_reverse_mode_in_loops(flow, x):
    f = flow.with_vjp(lambda a, b: flow.cond(a > b, jnp.sin, lambda a: a * b, a))
    y = flow.scan(lambda c, r: (f(c, r), None), x[0], x)[0]
    return flow.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, f(c[1], x[2])), (0, y))[1]


@program
def a_loop_in_a_rule_in_a_loop(flow, x):
    f = flow.with_jvp(lambda a, n: flow.fori_loop(0, n, lambda i, a: jnp.sin(a) + 0.1 * a, a))
    return flow.scan(lambda c, n: (f(c * x[0], n), None), x[1], jnp.array([1, 3, 2]))[0]


@program
def checkpoints_in_loops(flow, x):
    f = flow.checkpoint(lambda c, r: flow.scan(lambda d, s: (jnp.sin(d) * s, d), c * r, x))
    def step(c, r):
        c, ys = f(c, r)
        return c + 0.1, ys.sum()
    y, sums = flow.scan(step, x[0], x)
    return y + (sums * x).sum()


@program
def checkpoints_of_loops_in_branches(flow, x):
    loop = flow.checkpoint(lambda y: flow.while_loop(
        lambda c: (c[0] < 5) & (c[1] < 2), lambda c: (c[0] + 1, c[1] * 1.3 + x[1] ** 2), (0, y))[1])
    index = (x[0] > 0).astype(int) + (x[0] > 0.5)
    return flow.switch(index, [jnp.sin, loop, lambda y: loop(loop(y))], x[0])


@program
def calls_in_loops(flow, x):
    f = flow.jit(lambda c, r: flow.cond(c > r, lambda c: c * r, lambda c: jnp.cos(c) + r, c))
    y = flow.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, f(c[1], x[1])), (0, x[0]))[1]
    return flow.scan(lambda c, r: (f(c, r), None), y, x)[0]


@program
def calls_of_loops_in_calls(flow, x):
    inner = flow.jit(lambda c, w: flow.while_loop(
        lambda s: (s[0] < 5) & (s[1] < 1), lambda s: (s[0] + 1, s[1] + w * w + 0.05), (0, c))[1])
    outer = flow.jit(lambda c: inner(c * 2, x[1]) * inner(c - 1, x[2]))
    return outer(x[0]) + outer(x[1] * x[2])


@program
def closures_over_closures(flow, x):
    def outer(c, r):
        def middle(d):
            return flow.cond(d > c, lambda: flow.fori_loop(
                0, 2, lambda i, e: jnp.sin(e) * r + c * i, d), lambda: d * r + c)
        return middle(c + r * 0.5), middle(r)
    y, rows = flow.scan(outer, x[0], x)
    return y + rows.sum()


@program
def functions_of_functions_in_loops(flow, x):
    """A derivative in the body of a loop, of a function that has a loop."""
    energy = lambda q: flow.scan(lambda e, w: (e + jnp.cos(q * w), None), 0.0 * q, x)[0]
    def step(c, _):
        q, p = c
        p = p - 0.1 * tanx.grad(energy)(q)
        return (q + 0.1 * p, p), q
    (q, p), path = flow.scan(step, (x[0], x[1]), None, length=3)
    return q * p + (path ** 2).sum()


@program
def newton_in_newton(flow, x):
    """A root by steps, each of which differentiates a loop."""
    curve = lambda y: flow.fori_loop(0, 2, lambda i, s: s + jnp.tanh(y * s), y * 2 + x[0] ** 2)
    def step(c):
        n, y = c
        return n + 1, y - curve(y) / (1.5 + tanx.grad(curve)(y) ** 2)
    return flow.while_loop(lambda c: c[0] < 3, step, (0, x[1]))[1]


# -- branches --------------------------------------------------------------------------------------


@program
def branches_in_branches(flow, x):
    inner = lambda y: flow.switch((y[1] > 0).astype(int) + (y[2] > 0), [
        lambda y: y * 2, jnp.sin, lambda y: y[::-1] * y], y)
    return flow.cond(x[0] > 0, inner, lambda y: flow.cond(y[2] > 0, jnp.cos, inner, y), x).sum()


@program
def a_loop_in_each_branch(flow, x):
    return flow.switch((x[0] > 0).astype(int) + (x[1] > 0), [
        lambda y: flow.scan(lambda c, r: (jnp.sin(c) * r, None), y[0], y)[0],
        lambda y: flow.fori_loop(0, 3, lambda i, c: c * y[i], y[1]),
        lambda y: flow.while_loop(lambda c: (c[1] < 2) & (c[0] < 8),
                                  lambda c: (c[0] + 1, c[1] * 1.5 + y[2] ** 2), (0, y[0]))[1]], x)


@program
def a_branch_decides_how_long(flow, x):
    n = flow.cond(x[0] > 0, lambda: 5, lambda: 2)
    return flow.fori_loop(0, n, lambda i, c: jnp.sin(c) + x[1] * i, x[2])


@program
def a_branch_that_divides_by_zero(flow, x):
    """A branch that is not taken does not affect derivatives."""
    safe = lambda a: flow.cond(a > 0.1, lambda a: jnp.sqrt(a) / a, lambda a: a * 0, a)
    return flow.map(safe, jnp.maximum(x, 0.0)).sum() + flow.scan(
        lambda c, r: (c + safe(jnp.maximum(r, 0.0)), None), 0.0, x)[0]


@program
def a_condition_with_a_loop(flow, x):
    def going(c):
        level = flow.fori_loop(0, 2, lambda i, s: s + jnp.abs(x[i]), 0.5)
        return (c[0] < 6) & (c[1] < level)
    return flow.while_loop(going, lambda c: (c[0] + 1, c[1] + 0.2 * jnp.cos(c[1] * x[2])),
                           (0, x[0]))[1]


@program
def a_condition_that_asks_a_branch(flow, x):
    def going(c):
        return flow.cond(c[1] > x[1], lambda: c[0] < 3, lambda: c[0] < 6)
    return flow.while_loop(going, lambda c: (c[0] + 1, jnp.sin(c[1]) + x[0]), (0, x[2]))[1]
