"""``cond`` and ``switch``: calls, laziness, derivatives, errors."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tests.control.ways import each_way, error

X = jnp.arange(4.0)


def forever(x):
    return lax.while_loop(lambda x: x == x, lambda x: x, x)


# --- Calls ----------------------------------------------------------------------------------------


@each_way
def test_forms_of_the_call(run):
    up, down = lambda x: x + 1, lambda x: x - 1
    for p in (True, False, np.bool_(True), jnp.bool_(False), 1, 0, 0.5, jnp.int32(0)):
        assert run(lambda p: lax.cond(p, up, down, 3.0))(p) == (4.0 if p else 2.0)
    assert run(lambda p: lax.cond(p, up, down, operand=3.0))(True) == 4
    assert run(lambda p: lax.cond(p, lambda _: 1, lambda _: 2, None))(True) == 1
    assert run(lambda p: lax.cond(p, true_fun=lambda: 1, false_fun=lambda: 2))(False) == 2
    assert run(lambda p: lax.cond(p, 3.0, up, 30.0, down))(False) == 29


@each_way
def test_switch_moves_its_index_into_range(run):
    f = run(lambda i: lax.switch(i, [lambda: 0, lambda: 10, lambda: 20]))
    assert [int(f(i)) for i in (-5, 0, 1, 2, 3, 99)] == [0, 0, 10, 20, 20, 20]
    assert f(np.uint8(1)) == 10
    assert run(lambda i: lax.switch(i, [lambda x: x + 1], 4.0))(7) == 5


@each_way
def test_pytrees_and_closures(run):
    def f(p, tree):
        y = tree["a"] * 2
        return lax.cond(p, lambda t: {"sum": t["a"] + y, "all": (t, None)},
                        lambda t: {"sum": y, "all": (tree, None)}, tree)

    tree = {"a": X, "b": (1, 2.0)}
    out = run(f)(True, tree)
    np.testing.assert_array_equal(out["sum"], 3 * X)
    assert out["all"][1] is None and out["all"][0]["b"][1] == 2.0
    np.testing.assert_array_equal(run(f)(False, tree)["sum"], 2 * X)


def test_a_known_predicate_takes_its_branch_while_staging():
    @tanx.jit
    def f(x):
        return lax.cond(jnp.arange(3).sum() > 2, lambda x: x + 1, forever, x)

    assert f(1.0) == 2.0
    jaxpr = tanx.make_jaxpr(lambda x: lax.cond(True, lambda x: x + 1, lambda x: x * 2.0, x))(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["add"]


@pytest.mark.parametrize("taken", [False, True])
def test_the_first_branch_decides_weak_types(taken):
    """As in JAX; the first branch of ``cond`` is ``false_fun``."""
    weak, strong, x = lambda x: x * 1, lambda x: x.astype(np.int32), jnp.where(True, 1, -1)
    choices = [(lambda p, x: lax.cond(p, strong, weak, x), True),
               (lambda p, x: lax.cond(p, weak, strong, x), False),
               (lambda p, x: lax.switch(p.astype(int), [weak, strong, strong], x), True),
               (lambda p, x: lax.switch(p.astype(int), [strong, weak], x), False)]
    for choose, is_weak in choices:
        jitted, pred = tanx.jit(choose), jnp.array(taken)
        for found in (choose(pred, x), *(jitted(pred, x) for _ in range(4))):
            assert found == 1 and found.dtype == np.int32 and found.weak_type is is_weak


def test_results_are_weak_where_they_are_in_all_branches():
    strong = jnp.float32(2)
    assert lax.cond(True, lambda: 1.0, lambda: 2.0).weak_type
    assert not lax.cond(True, lambda: 1.0, lambda: strong).weak_type
    assert not tanx.jit(lambda p: lax.cond(p, lambda: 1.0, lambda: strong))(True).weak_type


def test_without_jit_python_runs_one_branch():
    seen = []
    with tanx.disable_jit():
        lax.cond(True, lambda: seen.append("then") or 1, lambda: seen.append("else") or 2)
    assert seen == ["then"]


def test_functions_are_staged_once():
    traced = []

    def branch(x):
        traced.append(1)
        return x + 1

    for _ in range(3):
        lax.cond(True, branch, jnp.sin, 1.0)
    assert len(traced) == 1


def test_platform_dependent():
    assert lax.platform_dependent(-2.0, cpu=jnp.abs, default=jnp.sign) == 2.0
    assert lax.platform_dependent(-2.0, tpu=jnp.abs, default=jnp.sign) == -1.0
    assert error(NotImplementedError, lambda: lax.platform_dependent(1.0, cuda=jnp.sin)) == """\
tanx.lax.platform_dependent: there is no function for this platform.
  platform: cpu
  given:    cuda
  Hint: give a default."""


# --- Batches --------------------------------------------------------------------------------------


@each_way
def test_a_branch_that_no_lane_takes_may_run_forever(run):
    f = lambda x: lax.cond(x < 10, lambda x: x * 2, forever, x)
    np.testing.assert_array_equal(run(tanx.vmap(f))(X), 2 * X)
    np.testing.assert_array_equal(run(tanx.vmap(tanx.vmap(f)))(X.reshape(2, 2)),
                                  2 * X.reshape(2, 2))
    np.testing.assert_array_equal(run(tanx.vmap(tanx.grad(f)))(X), [2, 2, 2, 2])
    total = lambda x: tanx.vmap(f)(x).sum()
    np.testing.assert_array_equal(run(tanx.grad(total))(X), [2, 2, 2, 2])


@each_way
def test_batched_switch_is_lazy(run):
    f = lambda i, x: lax.switch(i, [jnp.sin, forever, lambda x: x * x], x)
    indices = jnp.array([0, 2, -3, 9])
    np.testing.assert_allclose(run(tanx.vmap(f))(indices, X),
                               [np.sin(0), 1, np.sin(2.0), 9], rtol=1e-6)
    np.testing.assert_allclose(run(tanx.vmap(f, (0, None)))(indices, 2.0),
                               [np.sin(2.0), 4, np.sin(2.0), 4], rtol=1e-6)


@each_way
def test_a_branch_not_taken_does_not_affect_derivatives(run):
    """Selecting would return nan: zero times the infinite slope of the root at zero."""
    f = lambda x: lax.cond(x > 0, jnp.sqrt, lambda x: 0.0 * x, x)
    g = lambda x: tanx.vmap(f)(x).sum()
    np.testing.assert_allclose(run(tanx.grad(g))(jnp.array([0.0, 4.0, -1.0])), [0, 0.25, 0])


def test_a_branch_not_taken_makes_no_nan():
    f = lambda x: lax.cond(x > 0, jnp.log, lambda x: x, x)
    with tanx.debug_nans(True):
        np.testing.assert_allclose(tanx.vmap(f)(jnp.array([1.0, -1.0])), [0, -1])


@each_way
def test_effects_happen_in_lanes_that_take_the_branch(run):
    seen = []

    def noisy(x):
        tanx.debug.callback(lambda x: seen.append(float(x)), x)
        return x * 2

    f = lambda x: lax.cond(x > 1, noisy, lambda x: x, x)
    np.testing.assert_array_equal(run(tanx.vmap(f))(X), [0, 1, 4, 6])
    tanx.effects_barrier()
    assert sorted(seen) == [2.0, 3.0]


def test_cheap_safe_branches_become_select():
    f = tanx.vmap(lambda p, x: lax.cond(p, lambda x: x + 1, lambda x: -x, x))
    jaxpr = tanx.make_jaxpr(f)(X > 1, X)
    assert "scan" not in str(jaxpr) and "select_n" in str(jaxpr)
    np.testing.assert_array_equal(f(X > 1, X), [0, -1, 3, 4])
    lazy = tanx.vmap(lambda p, x: lax.cond(p, jnp.sqrt, lambda x: -x, x))
    assert "select_n" not in str(tanx.make_jaxpr(lazy)(X > 1, X))


@each_way
def test_lanes_that_communicate_take_both_branches(run):
    f = lambda x: lax.cond(x > 1, lambda x: x + lax.psum(x, "lanes"), lambda x: -x, x)
    np.testing.assert_array_equal(run(tanx.vmap(f, axis_name="lanes"))(X), [0, -1, 8, 9])


def test_operands_of_other_axes():
    f = tanx.vmap(lambda p, x, y: lax.cond(p, lambda: x @ y, lambda: y[0] * x[1]),
                  in_axes=(0, 1, None), out_axes=0)
    x, y = jnp.arange(6.0).reshape(2, 3), jnp.array([1.0, 2.0])
    np.testing.assert_array_equal(f(jnp.array([True, False, True]), x, y), [6, 4, 12])


# --- Derivatives ----------------------------------------------------------------------------------


@tanx.custom_jvp
def tripled(x):
    return x


tripled.defjvp(lambda primals, tangents: (tripled(*primals), 3 * tangents[0]))


@tanx.custom_vjp
def fivefold(x):
    return x


fivefold.defvjp(lambda x: (x, None), lambda _, ct: (5 * ct,))


@each_way
def test_rules_of_users_hold_inside(run):
    f = lambda i, x: lax.switch(i, [tripled, fivefold, tanx.checkpoint(jnp.sin)], x)
    for i, expected in enumerate((3.0, 5.0, np.cos(2.0))):
        np.testing.assert_allclose(run(tanx.grad(f, 1))(i, 2.0), expected, rtol=1e-6)
    over = run(tanx.vmap(tanx.grad(f, 1), (0, None)))(jnp.arange(3), 2.0)
    np.testing.assert_allclose(over, [3, 5, np.cos(2.0)], rtol=1e-6)


@each_way
def test_residuals_of_branches_share_their_places(run):
    def f(p, x, y):
        return lax.cond(p, lambda: jnp.sin(x) * jnp.exp(y).sum(), lambda: (x * x) * x)

    y = jnp.array([0.1, 0.2])
    for p in (True, False):
        got = run(tanx.grad(f, (1, 2)))(p, 0.7, y)
        want = ((np.cos(0.7) * np.exp(y).sum(), np.sin(0.7) * np.exp(y)) if p
                else (3 * 0.7**2, [0, 0]))
        for a, b in zip(got, want):
            np.testing.assert_allclose(a, b, rtol=1e-5)


def test_a_branch_without_tangent_gives_zeros():
    f = lambda p, x: lax.cond(p, lambda x: 2 * x, lambda x: 1.0, x)
    assert tanx.jvp(lambda x: tanx.jit(f)(False, x), (3.0,), (1.0,))[1] == 0
    assert tanx.grad(tanx.jit(f), 1)(True, 3.0) == 2


def test_dead_results_and_their_operands_are_dropped():
    def f(p, x, y):
        return lax.cond(p, lambda: (jnp.sin(x), jnp.exp(y)), lambda: (x, y))[0]

    from tanx._core.rewrite import dce
    jaxpr, used = dce(tanx.make_jaxpr(f)(True, 1.0, 2.0).jaxpr, [True])
    assert used == [True, True, False]
    assert "exp" not in str(jaxpr)


# --- Errors ---------------------------------------------------------------------------------------


def test_predicates_that_are_no_scalars():
    assert error(TypeError, lambda: lax.cond(X > 1, jnp.sin, jnp.cos, 1.0)) == """\
tanx.lax.cond: the predicate must be a scalar.
  pred: bool[4]
  Hint: use pred.any() or pred.all() for one choice, tanx.numpy.where(pred, x, y) or tanx.vmap of \
cond for one choice per element."""
    assert "pred: 'yes'" in error(TypeError, lambda: lax.cond("yes", jnp.sin, jnp.cos, 1.0))


def test_indices_that_are_no_integers():
    assert error(TypeError, lambda: lax.switch(1.0, [jnp.sin, jnp.cos], 1.0)) == """\
tanx.lax.switch: the index must be an integer scalar.
  index: ~float32[]
  Hint: convert it with .astype(int), or tanx.vmap the switch over many indices."""
    assert error(ValueError, lambda: lax.switch(0, [])) == \
        "tanx.lax.switch: needs at least one branch."


def test_branches_that_differ():
    assert error(TypeError, lambda: lax.cond(True, lambda: (1, 2), lambda: [1, 2])) == """\
tanx.lax.cond: cond branch outputs must have the same pytree structure.
  true_fun:  PyTreeDef((*, *))
  false_fun: PyTreeDef([*, *])"""
    assert error(TypeError, lambda: tanx.jit(lambda p, x: lax.cond(
        p, lambda: {"a": x, "b": 1.0}, lambda: {"a": x, "b": jnp.int32(1)}))(True, X)) == """\
tanx.lax.cond: cond branches must have equal output types at ['b'].
  true_fun:  float32[] of a Python number
  false_fun: int32[]
  Hint: convert one of them, as with .astype('float32')."""
    assert error(TypeError, lambda: lax.switch(0, [lambda: X, lambda: X, lambda: X[1:]])) == """\
tanx.lax.switch: switch branches must have equal output types.
  branch 0: float32[4]
  branch 2: float32[3]
  Hint: broadcast or reshape one of them."""


def test_cond_rejects_non_functions_and_non_arrays():
    assert error(TypeError, lambda: lax.cond(True, 1, jnp.sin, 2.0)).startswith(
        "tanx.lax.cond: true_fun and false_fun must be functions.\n  true_fun:  1\n")
    assert error(TypeError, lambda: lax.cond(True, jnp.sin, jnp.cos, "x")) == """\
tanx.lax.cond: needs arrays or numbers.
  at [0]: 'x' of type str"""
    assert error(TypeError, lambda: lax.cond(True, jnp.sin, jnp.cos, 1.0, operand=2.0)) == \
        "tanx.lax.cond: takes operands by position or operand=, not both."


def test_a_branch_that_leaks():
    kept = []

    def leaky(x):
        kept.append(x)
        return x

    tanx.jit(lambda p: lax.cond(p, leaky, jnp.sin, 1.0))(True)
    with pytest.raises(tanx.errors.UnexpectedTracerError, match="argument x of leaky"):
        kept[0] + 1


@pytest.mark.parametrize("name", ["exp", "sin", "division", "two results", "switch"])
def test_cheap_choices_of_many_lanes(name):
    """Lanes that choose between functions of numbers run in vectors, for all choices."""
    choose = {
        "exp": lambda x: lax.cond(x > 0, lambda x: jnp.exp(-x), lambda x: x, x),
        "sin": lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x),
        "division": lambda x: lax.cond(x > 0, lambda x: 1 / x, lambda x: x, x),
        "two results": lambda x: sum(lax.cond(
            x > 0, lambda x: (jnp.exp(x), x), lambda x: (x, -x), x)),
        "switch": lambda x: lax.switch(
            (x > 0).astype(int) + (x > 1), [jnp.sin, jnp.cos, lambda x: x * x], x)}[name]
    x = jnp.linspace(-3, 3, 100_000).at[7].set(0)
    expected = np.concatenate([tanx.vmap(choose)(part) for part in jnp.split(x, 100)])
    mapped = tanx.jit(tanx.vmap(choose))
    slope = tanx.jit(tanx.vmap(tanx.grad(choose)))
    for _ in range(4):
        found = mapped(x)
        np.testing.assert_allclose(found, expected, 1e-6, 1e-7)
        assert found.shape == x.shape and found.dtype == x.dtype and not found.weak_type
        assert np.isfinite(slope(x)).all()  # branches that are not taken contribute nothing


def test_an_array_that_is_given_twice_is_changed_in_place():
    """The form with an operand for each branch: a loop that stores some steps copies once."""
    def stored(x, room, start):
        def body(i, carry):
            x, room = carry
            x = x + 1.0
            return x, lax.cond(i >= start, room, lambda a: a.at[i].set(x), room, lambda a: a)
        return lax.fori_loop(0, 5000, body, (x, room))
    args = jnp.float32(0), jnp.full(5000, -1.0), jnp.int32(4000)
    f = tanx.jit(stored)
    assert f.lower(*args).as_text("loops").count("for i in 5000") == 1
    for _ in range(4):
        last, room = f(*args)
        assert last == 5000.0 and room.dtype == np.float32
        steps = np.arange(5000)
        np.testing.assert_array_equal(room, np.where(steps < 4000, -1, steps + 1))
