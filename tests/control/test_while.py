"""``while_loop`` and ``bounded_while_loop``: calls, lanes, derivatives in both modes, errors."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._control import tape
from tanx._core.rewrite import dce
from tests.control.ways import each_way, error

X = jnp.arange(4.0)


def waves(x, n):
    """Take the sine of x n times, and multiply by x each time."""
    return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, jnp.sin(c[1]) * x), (0, x))[1]


def bounded_waves(x, n):
    return lax.bounded_while_loop(lambda c: c[0] < n,
                                  lambda c: (c[0] + 1, jnp.sin(c[1]) * x), (0, x), max_steps=12)[1]


def plain_waves(x, n):
    y = x
    for _ in range(n):
        y = jnp.sin(y) * x
    return y


# --- Calls ----------------------------------------------------------------------------------------


@each_way
def test_pytrees_closures_and_carries_that_never_change(run):
    def f(x, y):
        def body(state):
            return {"i": state["i"] + 1, "sum": state["sum"] + x, "same": state["same"]}
        return lax.while_loop(lambda s: s["sum"].sum() < s["same"], body,
                              {"i": 0, "sum": jnp.zeros(4), "same": y})

    out = run(f)(X, 20.0)
    assert (int(out["i"]), float(out["same"])) == (4, 20.0)
    np.testing.assert_array_equal(out["sum"], 4 * X)


@each_way
def test_weak_carries_are_promoted_to_the_types_of_the_body(run):
    out = run(lambda y: lax.while_loop(lambda x: x < 3, lambda x: x + y, 0))(jnp.float32(1.5))
    assert out.dtype == np.float32 and out == 3.0
    assert lax.while_loop(lambda x: x < 3, lambda x: x + 1, 0).weak_type
    assert not lax.while_loop(lambda x: x < 3, lambda x: x + jnp.int32(1), 0).weak_type


@each_way
def test_a_loop_may_not_run_at_all(run):
    assert run(lambda x: lax.while_loop(lambda x: False, lambda x: x + 1, x))(2) == 2
    assert run(tanx.grad(waves))(1.3, 0) == 1.0


def test_without_jit_python_runs_the_loop():
    seen = []

    def body(i):
        seen.append(int(i))
        return i + 1

    with tanx.disable_jit():
        assert lax.while_loop(lambda i: i < 3, body, 0) == 3
    assert seen == [0, 1, 2]


def test_functions_are_staged_once():
    traced = []

    def body(x):
        traced.append(1)
        return x + 1

    for _ in range(3):
        lax.while_loop(lambda x: x < 3, body, 0)
    assert len(traced) == 1


@each_way
def test_loops_in_loops(run):
    def f(n):
        def inner(c):
            i, total = c
            add = lambda d: (d[0] + 1, d[1] + d[0])
            return i + 1, lax.while_loop(lambda d: d[0] < i, add, (0, total))[1]
        return lax.while_loop(lambda c: c[0] < n, inner, (0, 0))[1]

    assert run(f)(6) == sum(j for i in range(6) for j in range(i))


@each_way
def test_random_keys_as_carries(run):
    def walk(key, x, n):
        def step(c):
            key, now = tanx.random.split(c[1])
            return c[0] + 1, key, c[2] * (1 + 0.1 * tanx.random.normal(now))
        return lax.while_loop(lambda c: c[0] < n, step, (0, key, x))[2]

    def plain(key, x, n):
        for _ in range(n):
            key, now = tanx.random.split(key)
            x = x * (1 + 0.1 * tanx.random.normal(now))
        return x

    keys = tanx.random.split(tanx.random.key(0), 3)
    expected = [plain(keys[i], 1.0, i) for i in range(3)]
    np.testing.assert_allclose(run(walk)(keys[2], 1.0, 2), expected[2], rtol=1e-6)
    np.testing.assert_allclose(run(tanx.grad(walk, 1))(keys[2], 3.0, 2), expected[2], rtol=1e-6)
    np.testing.assert_allclose(run(tanx.vmap(walk, (0, None, 0)))(keys, 1.0, jnp.arange(3)),
                               expected, rtol=1e-6)
    chosen = run(tanx.vmap(lambda p, k: lax.cond(p, lambda: k, lambda: tanx.random.fold_in(k, 1))))
    assert (chosen(jnp.array([True, False, True]), keys) == keys).tolist() == [True, False, True]


# --- Batches --------------------------------------------------------------------------------------


@each_way
def test_each_lane_stops_by_itself(run):
    seen = []

    def halve(c):
        tanx.debug.callback(lambda lane: seen.append(int(lane)), c[2])
        return c[0] + 1, c[1] / 2, c[2]

    f = lambda x, lane: lax.while_loop(lambda c: c[1] > 1, halve, (0, x, lane))[:2]
    steps, x = run(tanx.vmap(f))(jnp.array([8.0, 0.5, 2.0]), jnp.arange(3))
    tanx.effects_barrier()
    np.testing.assert_array_equal(steps, [3, 0, 1])
    np.testing.assert_array_equal(x, [1, 0.5, 1])
    assert sorted(seen) == [0, 0, 0, 2]  # a lane that has finished does no more work


@each_way
def test_the_carry_of_a_finished_lane_is_not_touched(run):
    """More steps would make the first lane nan, and nan would remain."""
    f = lambda x: lax.while_loop(lambda x: x > 1, lambda x: jnp.log(x - 1), x)
    np.testing.assert_allclose(run(tanx.vmap(f))(jnp.array([0.5, 30.0, 2.0])),
                               [0.5, np.log(np.log(29.0) - 1), 0.0], rtol=1e-5)


@each_way
def test_one_loop_for_all_lanes_where_they_agree(run):
    f = lambda n, x: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * x, c[2] + 1),
                                    (0, 1.0, 0.0))
    count, power, other = run(tanx.vmap(f, (None, 0)))(3, X)
    np.testing.assert_array_equal(power, X**3)
    np.testing.assert_array_equal(count, [3] * 4)
    jaxpr = tanx.make_jaxpr(tanx.vmap(f, (None, 0)))(3, X)
    assert "scan" not in str(jaxpr) and "while" in str(jaxpr)


@each_way
def test_maps_in_maps(run):
    f = lambda x, y: lax.while_loop(lambda c: c[0] < y, lambda c: (c[0] + x, c[1] + 1), (x, 0))[1]
    steps = run(tanx.vmap(tanx.vmap(f, (None, 0)), (0, None)))(jnp.array([1, 2]), jnp.arange(5))
    np.testing.assert_array_equal(steps, [[0, 0, 1, 2, 3], [0, 0, 0, 1, 1]])


@each_way
def test_lanes_that_communicate_take_steps_together(run):
    def f(x):
        return lax.while_loop(lambda c: c < 3, lambda c: c + lax.pmax(x, "lanes"), x)

    np.testing.assert_array_equal(run(tanx.vmap(f, axis_name="lanes"))(jnp.array([0.0, 1.0, 2.5])),
                                  [5.0, 3.5, 5.0])


def test_batched_constants_of_the_condition():
    f = lambda limit: lax.while_loop(lambda x: x < limit, lambda x: x * 2, 1)
    np.testing.assert_array_equal(tanx.vmap(f)(jnp.array([1, 5, 100])), [1, 8, 128])


# --- Derivatives ----------------------------------------------------------------------------------


@each_way
@pytest.mark.parametrize("f", [waves, bounded_waves])
def test_reverse_mode_agrees_with_a_python_loop(run, f):
    for n in (0, 1, 2, 7):
        expected = tanx.value_and_grad(plain_waves)(1.3, n)
        np.testing.assert_allclose(run(tanx.value_and_grad(f))(1.3, n), expected, rtol=1e-5)


@each_way
def test_lanes_in_reverse(run):
    x, n = jnp.array([1.3, 0.5, 0.2]), jnp.array([0, 3, 5])
    expected = [tanx.grad(plain_waves)(a, int(m)) for a, m in zip(x, n)]
    total = lambda x: tanx.vmap(waves)(x, n).sum()
    np.testing.assert_allclose(run(tanx.vmap(tanx.grad(waves)))(x, n), expected, rtol=1e-5)
    np.testing.assert_allclose(run(tanx.grad(total))(x), expected, rtol=1e-5)


def test_derivatives_of_derivatives():
    f, plain = (lambda x: waves(x, 4)), (lambda x: plain_waves(x, 4))
    for _ in range(2):
        f, plain = tanx.grad(f), tanx.grad(plain)
        np.testing.assert_allclose(f(1.3), plain(1.3), rtol=1e-4)
    np.testing.assert_allclose(tanx.hessian(lambda x: waves(x, 3).sum())(X),
                               tanx.hessian(lambda x: plain_waves(x, 3).sum())(X),
                               rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 9, 16, 17, 27, 28, 70])
def test_every_number_of_steps_fits_into_few_slots(steps, monkeypatch):
    """With three slots and three levels, up to 27 steps need no more levels."""
    monkeypatch.setattr(tape, "FEWEST", 3)
    monkeypatch.setattr(tape, "MOST", 3)
    f = lambda x: lax.while_loop(lambda c: c[0] < steps,
                                 lambda c: (c[0] + 1, jnp.sin(c[1]) * x), (0, x))[1]
    np.testing.assert_allclose(tanx.grad(f)(1.3), tanx.grad(plain_waves)(1.3, steps), rtol=1e-5)


@pytest.fixture
def noted():
    """The sine, with a list of the arguments of its calls."""
    seen = []

    @tanx.custom_jvp
    def sine(x):
        return tanx.pure_callback(lambda x: (seen.append(x.item()), np.sin(x))[1],
                                  tanx.ShapeDtypeStruct(x.shape, x.dtype), x)

    sine.defjvps(lambda dx, out, x: dx * jnp.cos(x))
    sine.seen = seen
    return sine


@pytest.mark.parametrize("tapes", [tape.TAPES, (1, 1), ()], ids=["one", "two", "none"])
@pytest.mark.parametrize("steps", [0, 3, 64, 140])
def test_linearize_runs_a_loop_once(noted, steps, tapes, monkeypatch):
    """Residuals are stored on tapes of at least 64 steps each; later steps run again."""
    monkeypatch.setattr(tape, "TAPES", tapes)

    def loop(x):
        return lax.while_loop(lambda c: c[0] < steps, lambda c: (c[0] + 1, noted(c[1]) * 1.1),
                              (0, x))[1]

    def plain(x):
        for _ in range(steps):
            x = jnp.sin(x) * 1.1
        return x

    expected, slope = tanx.jvp(plain, (0.7,), (1.0,))
    y, f_lin = tanx.linearize(loop, 0.7)
    taped = min(steps, 64 * len(tapes)) if len(tapes) < 3 else steps
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    assert len(noted.seen) == steps
    np.testing.assert_allclose(f_lin(1.0), slope, rtol=1e-4)
    assert len(noted.seen) == 2 * steps - taped
    noted.seen.clear()
    _, f_vjp = tanx.vjp(loop, 0.7)
    assert len(noted.seen) == steps
    np.testing.assert_allclose(f_vjp(1.0)[0], slope, rtol=1e-4)
    assert len(noted.seen) == steps or taped < steps


def test_derivatives_along_a_tape(noted):
    """The linear function has a transpose, a batch, and a derivative with respect to the point."""
    loop = lambda x: lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1, noted(c[1]) * x),
                                    (0, x))[1]
    slope = lambda x: tanx.linearize(loop, x)[1](1.0)
    exact = lambda x: tanx.grad(plain_waves)(x, 9)
    f_lin = tanx.linearize(loop, 1.3)[1]
    assert len(noted.seen) == 9
    np.testing.assert_allclose(tanx.vmap(f_lin)(X), X * exact(1.3), rtol=1e-5)
    np.testing.assert_allclose(tanx.jit(f_lin)(2.0), 2 * exact(1.3), rtol=1e-5)
    np.testing.assert_allclose(tanx.linear_transpose(f_lin, 1.0)(3.0)[0], 3 * exact(1.3), rtol=1e-5)
    assert len(noted.seen) == 9
    np.testing.assert_allclose(tanx.jvp(slope, (1.3,), (1.0,))[1], tanx.grad(exact)(1.3), rtol=1e-4)
    assert len(noted.seen) == 18
    np.testing.assert_allclose(tanx.grad(slope)(1.3), tanx.grad(exact)(1.3), rtol=1e-4)
    assert len(noted.seen) == 27
    lanes = tanx.vmap(lambda v: tanx.jvp(slope, (1.3,), (v,))[1])(X)
    np.testing.assert_allclose(lanes, X * tanx.grad(exact)(1.3), rtol=1e-4)


def test_conditions_are_evaluated_once_per_step(monkeypatch):
    monkeypatch.setattr(tape, "TAPES", (1, 1))  # the smallest room for steps on each tape
    asked = []

    def condition(c):
        tanx.debug.callback(lambda n: asked.append(int(n)), c[0])
        return c[0] < 100

    tanx.grad(lambda x: lax.while_loop(
        condition, lambda c: (c[0] + 1, jnp.sin(c[1])), (0, x))[1])(0.5)
    tanx.effects_barrier()
    assert asked == list(range(101))


def test_room_for_states_has_a_limit():
    """The number of slots is limited by a fixed amount of memory, for any number of steps."""
    def f(x):
        return lax.while_loop(lambda c: c[1] < 1000000, lambda c: (jnp.sin(c[0]), c[1] + 1),
                              (x, 0))[0].sum()

    for size, slots in ((4, 65536), (1 << 10, 1024), (1 << 20, 64)):
        text = str(tanx.make_jaxpr(tanx.grad(f))(jnp.zeros(size)))
        assert f"f32[{slots + 1},{size}]" in text


def test_unneeded_residuals_are_not_saved():
    def f(x):
        return lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1, c[1] * 2, c[2] + c[1]),
                              (0, x, x))[2].sum()

    np.testing.assert_array_equal(tanx.grad(f)(X), [512.0] * 4)
    assert "scratch" not in str(tanx.make_jaxpr(tanx.grad(f))(X))


@each_way
def test_cotangents_of_constants_are_summed_over_steps(run):
    w = jnp.array([[0.5, -0.2], [0.1, 0.3]])

    def f(w, loop):
        return loop(lambda v: jnp.tanh(w @ v), jnp.ones(2)).sum()

    ours = lambda step, v: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, step(c[1])),
                                          (0, v))[1]

    def plain(step, v):
        for _ in range(5):
            v = step(v)
        return v

    np.testing.assert_allclose(run(tanx.grad(lambda w: f(w, ours)))(w),
                               tanx.grad(lambda w: f(w, plain))(w), rtol=1e-5)


@each_way
def test_rules_of_users_hold_inside(run):
    @tanx.custom_jvp
    def tripled(x):
        return x

    tripled.defjvp(lambda primals, tangents: (tripled(*primals), 3 * tangents[0]))

    @tanx.custom_vjp
    def fivefold(x):
        return x

    fivefold.defvjp(lambda x: (x, None), lambda _, ct: (5 * ct,))

    def f(x, n):
        step = lambda c: (c[0] + 1, tanx.checkpoint(jnp.sin)(fivefold(tripled(c[1]))))
        return lax.while_loop(lambda c: c[0] < n, step, (0, x))[1]

    np.testing.assert_allclose(run(tanx.grad(f))(0.0, 2), 15.0**2)
    np.testing.assert_allclose(run(tanx.vmap(tanx.grad(f)))(jnp.zeros(3), jnp.arange(3)),
                               [1, 15, 225])


def test_debug_print_in_a_differentiated_loop_prints_once(capsys):
    def body(c):
        tanx.debug.print("step {}", c[0])
        return c[0] + 1, jnp.sin(c[1])

    tanx.grad(lambda x: lax.while_loop(lambda c: c[0] < 3, body, (0, x))[1])(1.0)
    tanx.effects_barrier()
    assert capsys.readouterr().out.split("\n")[:-1] == ["step 0", "step 1", "step 2"]


def test_a_linear_loop_can_be_transposed():
    f = lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1]
    assert tanx.linear_transpose(f, 1.0)(1.0)[0] == 8.0


def test_a_loop_inside_checkpoint():
    f = tanx.checkpoint(lambda x: waves(x, 4))
    np.testing.assert_allclose(tanx.grad(f)(1.3), tanx.grad(plain_waves)(1.3, 4), rtol=1e-5)


def test_dead_carries_are_dropped():
    def f(x, y):
        return lax.while_loop(lambda c: c[0] < 3,
                              lambda c: (c[0] + 1, jnp.sin(c[1]), jnp.exp(c[2]) + c[1]),
                              (0, x, y))[1]

    jaxpr, used = dce(tanx.make_jaxpr(f)(1.0, 2.0).jaxpr, [True])
    assert used == [True, False]
    assert "exp" not in str(jaxpr)


def test_a_limit_holds():
    f = lambda n: lax.bounded_while_loop(lambda x: x < 100, lambda x: 2 * x, 1, max_steps=n)
    assert [int(f(n)) for n in (0, 1, 3, 7, 50)] == [1, 2, 8, 128, 128]
    got = tanx.vmap(bounded_waves)(jnp.array([1.3, 0.5]), jnp.array([3, 9]))
    np.testing.assert_allclose(got, [plain_waves(1.3, 3), plain_waves(0.5, 9)], rtol=1e-5)


# --- Errors ---------------------------------------------------------------------------------------


def test_conditions_that_are_no_boolean():
    assert error(TypeError, lambda: lax.while_loop(lambda x: x < 3, lambda x: x, X)) == """\
tanx.lax.while_loop: cond_fun must return one boolean.
  it gave: bool[4]
  Hint: combine many with .any() or .all(); compare numbers, as in x != 0."""
    assert error(TypeError, lambda: lax.while_loop(lambda x: (x, x), lambda x: x, 1)) == """\
tanx.lax.while_loop: cond_fun must return one boolean.
  it gave: PyTreeDef((*, *))"""


def test_carries_that_change():
    assert error(TypeError, lambda: lax.while_loop(
        lambda c: True, lambda c: {"n": c["n"] + 1.5, "x": c["x"]},
        {"n": jnp.int32(0), "x": X})) == """\
tanx.lax.while_loop: the body must return a carry of the types that it takes.
  c['n']: takes int32[], gives float32[] of a Python number
  Hint: start with c['n'] as float32, or let the body return its new value .astype('int32')."""
    assert error(TypeError, lambda: lax.while_loop(
        lambda x: True, lambda x: (x, x), X)).startswith(
        "tanx.lax.while_loop: the body must return a carry of the structure that it takes.")


def test_negative_max_steps_raise():
    assert error(ValueError, lambda: lax.bounded_while_loop(
        lambda x: True, lambda x: x, 1, max_steps=-1)) == """\
tanx.lax.bounded_while_loop: max_steps must be an integer that is known while tracing, and not \
negative.
  max_steps: -1
  Hint: tanx.lax.while_loop needs no limit."""


def test_while_loop_rejects_non_functions():
    assert error(TypeError, lambda: lax.while_loop(1, lambda x: x, 0)).startswith(
        "tanx.lax.while_loop: cond_fun and body_fun must be functions.\n  cond_fun: 1\n")


# --- Values that no step changes ------------------------------------------------------------------


def counted_to(x, n):
    return lax.fori_loop(0, n, lambda i, c: c + x, x)


def scaled_and_tested(x, n):
    return lax.while_loop(lambda c: c[0] < c[1],
                          lambda c: (c[0] + 1, c[1], c[2] * c[3], c[3]), (0, n, x, x + 1))


@pytest.mark.parametrize("f, carried, given", [
    (counted_to, ["i32[]", "i32[]", "f32[4]"], ["f32[4]"]),
    (scaled_and_tested, ["i32[]", "i32[]", "f32[4]"], ["f32[4]"]),
    (lambda x, n: tanx.jvp(lambda x: counted_to(x, n), (x,), (x,)),
     ["i32[]", "i32[]", "f32[4]", "f32[4]"], ["f32[4]", "f32[4]"]),
    (lambda x, n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1]), (0, x)),
     ["i32[]"], ["f32[4]"]),
])
def test_only_values_that_the_condition_reads_are_carried_unchanged(f, carried, given):
    """As in JAX; compiled code takes these from outside of the loop, too."""
    eqn = tanx.make_jaxpr(f)(X, 3).eqns[-1]
    types = [a.str_short(short_dtypes=True) for a in eqn.params["body_jaxpr"].in_avals]
    count = eqn.params["body_nconsts"]
    assert (types[count:], types[:count]) == (carried, given)


def test_reverse_mode_stores_no_copies_of_values_that_never_change():
    def f(x, weights):
        return lax.while_loop(
            lambda c: (c[0] < 5) & (jnp.abs(c[2]).sum() < 1e9),
            lambda c: (c[0] + 1, jnp.tanh(c[2] @ c[1]), c[2]), (0, x, weights))[1].sum()

    def plain(x, weights):
        for _ in range(5):
            x = jnp.tanh(weights @ x)
        return x.sum()

    weights = jnp.outer(X, X) / 20
    pull = tanx.vjp(f, X, weights)[1]
    assert not any(leaf.shape[1:] == weights.shape for leaf in tanx.tree_util.tree_leaves(pull))
    run = tanx.jit(tanx.grad(f, (0, 1)))
    for found in (pull(1.0), *(run(X, weights) for _ in range(4))):
        for y, expected in zip(found, tanx.grad(plain, (0, 1))(X, weights)):
            np.testing.assert_allclose(y, expected, rtol=1e-5)
