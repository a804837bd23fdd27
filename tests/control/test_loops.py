"""``map``, ``fori_loop``, ``associative_scan`` and ``checkpointed_scan``."""

import functools

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._control.scan import scan_p
from tests.control.bodies import arguments, random_body, weighed
from tests.control.ways import each_way, error

X = np.arange(3, dtype=np.float32)


def names(fun, *args):
    return [eqn.primitive.name for eqn in tanx.make_jaxpr(fun)(*args).eqns]


# --- map ------------------------------------------------------------------------------------------


@each_way
@pytest.mark.parametrize("batch_size", [None, 0, 1, 2, 3, 5, 8])
def test_map_is_vmap(run, batch_size):
    xs = {"a": np.arange(5, dtype=np.float32), "b": np.ones((5, 2), np.float32)}

    def fun(x):
        return jnp.sin(x["a"]) * x["b"], 1

    got = run(lambda xs: lax.map(fun, xs, batch_size=batch_size))(xs)
    want = tanx.vmap(fun)(xs)
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    gradient = tanx.grad(lambda xs: lax.map(fun, xs, batch_size=batch_size)[0].sum())(xs)
    np.testing.assert_allclose(gradient["a"], 2 * np.cos(xs["a"]), rtol=1e-6)


def test_map_over_nothing():
    assert lax.map(lambda x: x * 2, X[:0]).shape == (0,)
    assert lax.map(lambda x: x * 2, X[:0], batch_size=2).shape == (0,)
    assert error(ValueError, lax.map, lambda x: x, ()) == """\
tanx.lax.map: the number of steps is unknown.
  xs: no arrays
  Hint: give length, or arrays in xs."""


def test_map_runs_batches_in_the_body():
    assert names(lambda xs: lax.map(jnp.sin, xs, batch_size=2), np.ones(4, np.float32)) == [
        "reshape", "scan", "reshape"]
    assert names(lambda xs: lax.map(jnp.sin, xs, batch_size=9), X) == ["sin"]


# --- fori_loop ------------------------------------------------------------------------------------


@each_way
@pytest.mark.parametrize("bounds", [(0, 5), (2, 6), (4, 1), (np.int8(-2), 2), (0, np.uint8(3))])
def test_loops_over_numbers(run, bounds):
    def body(i, value):
        return {"sum": value["sum"] + i, "powers": value["powers"] * 2.0}

    init = {"sum": 0, "powers": jnp.ones(2)}
    want = init
    for i in range(int(bounds[0]), int(bounds[1])):
        want = body(i, want)
    got = run(lambda v: lax.fori_loop(*bounds, body, v))(init)
    traced = run(lambda lower, upper, v: lax.fori_loop(lower, upper, body, v))(
        jnp.int32(bounds[0]), jnp.int32(bounds[1]), init)
    for value in (got, traced):
        assert value["sum"] == want["sum"]
        np.testing.assert_array_equal(value["powers"], want["powers"])


def test_known_bounds_make_scans_and_others_whiles():
    def loop(lower, upper):
        return lax.fori_loop(lower, upper, lambda i, x: x * i, 1.0)

    assert names(lambda: loop(0, np.int32(3))) == ["scan"]
    assert names(lambda n: loop(0, n), 3) == ["while"]


def test_the_type_of_the_counter():
    assert lax.fori_loop(0, 3, lambda i, _: i, 0).weak_type
    counter = tanx.jit(lambda n: lax.fori_loop(0, n, lambda i, _: i, jnp.int16(0)))(jnp.int16(4))
    assert counter == 3 and counter.dtype == jnp.int16
    mixed = tanx.jit(lambda n: lax.fori_loop(np.int8(0), n, lambda i, _: i, jnp.int8(0)))(4)
    assert mixed.dtype == jnp.int8


@pytest.mark.parametrize("lower, upper, known, traced", [
    (0, np.int32(2), ("int32", True), ("int32", True)),
    (0, np.int8(2), ("int32", True), ("int8", False)),
    (np.int32(0), 2, ("int32", True), ("int32", False)),
    (np.int8(0), np.int8(2), ("int32", True), ("int8", False)),
    (np.uint32(0), np.uint32(2), ("uint32", False), ("uint32", False)),
], ids=str)
def test_the_counter_is_as_weak_as_the_lower_bound(lower, upper, known, traced):
    def counter(lower, upper):
        seen = []
        lax.fori_loop(lower, upper, lambda i, x: seen.append(tanx.typeof(i)) or x, 0.0)
        return seen[0].dtype.name, seen[0].weak_type

    assert counter(*map(jnp.asarray, (lower, upper))) == known
    seen = []
    tanx.jit(lambda *bounds: seen.append(counter(*bounds)))(lower, upper)
    assert seen == [traced]


@each_way
def test_loops_over_numbers_are_differentiated(run):
    def power(x):
        return lax.fori_loop(0, 5, lambda _, y: y * x, 1.0)

    assert run(tanx.grad(power))(2.0) == 80.0
    assert run(tanx.grad(tanx.grad(power)))(2.0) == 160.0
    np.testing.assert_allclose(run(tanx.vmap(tanx.grad(power)))(X), 5 * X ** 4)


def test_mistakes_in_bounds():
    def body(i, x):
        return x

    assert error(TypeError, lax.fori_loop, 0.0, [3], body, 1) == """\
tanx.lax.fori_loop: the bounds must both be integers, or both be floats.
  lower: ~float32[]
  upper: [3]"""
    assert error(TypeError, lax.fori_loop, np.int8(0), np.int32(3), body, 1) == """\
tanx.lax.fori_loop: the bounds must be of one type.
  lower: int8[]
  upper: int32[]
  Hint: convert one with .astype('int8')."""
    assert error(OverflowError, lax.fori_loop, 0, 2 ** 40, body, 1) == """\
tanx.lax.fori_loop: the bounds must not exceed 2147483647.
  lower: 0
  upper: 1099511627776
  Hint: tanx.enable_x64 enables 64-bit integers."""
    assert error(ValueError, tanx.jit(lambda n: lax.fori_loop(0, n, body, 1, unroll=2)), 3) == """\
tanx.lax.fori_loop: unroll needs bounds that are known while tracing.
  unroll: 2
  lower:  ~int32[]
  upper:  ~int32[]"""
    assert error(TypeError, lax.fori_loop, 0, 3, None, 1) == """\
tanx.lax.fori_loop: needs a function.
  given: None"""


def test_a_loop_with_traced_bounds_is_staged_once():
    calls = []

    def body(i, x):
        calls.append(i)
        return x * i

    for n in (3, 4, 5):
        lax.fori_loop(jnp.int32(1), jnp.int32(n), body, jnp.float32(1))
    assert len(calls) == 1


def test_without_jit_the_loop_is_pythons():
    seen = []
    with tanx.disable_jit():
        total = lax.fori_loop(0, jnp.int32(3), lambda i, x: (seen.append(int(i)), x + i)[1], 10)
    assert seen == [0, 1, 2] and total == 13


def test_mistakes_in_the_value():
    traced = tanx.jit(lambda n: lax.fori_loop(0, n, lambda i, state: {"k": X}, {"k": 1.0}))
    assert error(TypeError, traced, 3) == """\
tanx.lax.fori_loop: the body must return a carry of the types that it takes.
  state['k']: takes float32[] of a Python number, gives float32[3]
  Hint: start with an array of the shape that the body returns, or reshape its result."""
    assert error(TypeError, lax.fori_loop, 0, 3, lambda i, state: [state], 1) == """\
tanx.lax.fori_loop: the body must return a carry of the structure that it takes.
  state: takes an array, gives list of length 1
  Hint: return the carry with the same containers, keys and lengths each time."""
    assert error(TypeError, lax.fori_loop, 0, 3, lambda i, state: {"k": X}, {"k": 1}) == """\
tanx.lax.fori_loop: the body must return a carry of the types that it takes.
  state['k']: takes int32[] of a Python number, gives float32[3]
  Hint: start with an array of the shape that the body returns, or reshape its result."""


# --- associative_scan -----------------------------------------------------------------------------


def matrices(n):
    return np.random.default_rng(n).integers(-2, 3, (n, 2, 2)).astype(np.float32)


@each_way
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7, 12])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_products_of_matrices(run, n, reverse):
    ms = matrices(n)
    got = run(lambda ms: lax.associative_scan(jnp.matmul, ms, reverse=reverse))(ms)
    want, product = [None] * n, np.eye(2, dtype=np.float32)
    for i in reversed(range(n)) if reverse else range(n):
        want[i] = product = product @ ms[i]
    np.testing.assert_allclose(got, np.reshape(want, (n, 2, 2)))


def test_trees_axes_and_types():
    x, y = np.ones((2, 5), np.int32), np.arange(10.0, dtype=np.float32).reshape(2, 5)
    got = lax.associative_scan(
        lambda a, b: {"x": a["x"] + b["x"], "y": jnp.maximum(a["y"], b["y"])},
        {"x": x, "y": y}, axis=-1)
    np.testing.assert_array_equal(got["x"], np.cumsum(x, 1))
    np.testing.assert_array_equal(got["y"], y)
    flags = np.array([False, True, False])
    np.testing.assert_array_equal(lax.associative_scan(jnp.logical_or, flags), [False, True, True])
    assert lax.associative_scan(lambda a, b: (), ()) == ()


def test_running_combinations_are_differentiated():
    gradient = tanx.grad(lambda x: lax.associative_scan(jnp.multiply, x)[-1])(X + 1)
    np.testing.assert_allclose(gradient, [6, 3, 2])
    rows = tanx.vmap(lambda x: lax.associative_scan(jnp.add, x))(np.ones((2, 3), np.float32))
    np.testing.assert_array_equal(rows, [[1, 2, 3]] * 2)


def test_mistakes_in_combinations():
    assert error(TypeError, lax.associative_scan, 3, X) == """\
tanx.lax.associative_scan: needs a function.
  given: 3"""
    assert error(ValueError, lax.associative_scan, jnp.add, {"a": X, "b": X[:2]}) == """\
tanx.lax.associative_scan: all arrays must have the same size along axis 0.
  elems['a']: float32[3]
  elems['b']: float32[2]"""
    assert error(TypeError, lax.associative_scan, lambda a, b: (a, b), X) == """\
tanx.lax.associative_scan: fn must return a pytree of the structure that it takes.
  takes: PyTreeDef(*)
  gives: PyTreeDef((*, *))"""
    assert error(TypeError, lax.associative_scan, lambda a, b: (a + b).sum(), X) == """\
tanx.lax.associative_scan: fn must return arrays of the shapes and dtypes that it takes.
  takes float32[1], gives float32[]
  Hint: it is called with many elements at once, along the axis of the scan."""


# --- checkpointed_scan ----------------------------------------------------------------------------


def final(scan, body, reverse, **options):
    def fun(w, vector, scalar, xs):
        carry, ys = scan(lambda c, x: body(w, c, x), (vector, scalar, 0), xs, reverse=reverse,
                         **options)
        return [carry[0], carry[1], ys[0]]
    return fun


@pytest.mark.parametrize("steps, options", [
    (0, {}), (1, {}), (4, {}), (7, {}), (7, {"segment": 3}), (5, {"segment": 9})])
@pytest.mark.parametrize("reverse", [False, True])
def test_checkpointed_scans_are_scans(steps, options, reverse):
    with tanx.enable_x64(True):
        rng = np.random.default_rng(steps)
        body, args = random_body(rng), arguments(rng, steps)
        plain = final(lax.scan, body, reverse)
        cut = final(lax.checkpointed_scan, body, reverse, **options)
        everything = functools.partial(tanx.value_and_grad, argnums=(0, 1, 2, 3))
        for a, b in zip(tanx.tree.leaves((cut(*args), everything(weighed(cut))(*args))),
                        tanx.tree.leaves((plain(*args), everything(weighed(plain))(*args)))):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_only_the_carries_between_segments_are_stored():
    def fun(x):
        return lax.checkpointed_scan(lambda c, _: (jnp.sin(jnp.cos(c)), None), x, length=64)[0]

    first = next(e for e in tanx.make_jaxpr(tanx.grad(fun))(1.0).eqns if e.primitive is scan_p)
    assert [str(v.aval) for v in first.outvars] == ["~float32[]", "~float32[8]"]


def test_segments_have_steps():
    assert error(ValueError, lax.checkpointed_scan, lambda c, x: (c, x), 0.0, X, segment=0) == """\
tanx.lax.checkpointed_scan: a segment has at least one step.
  segment: 0"""


@pytest.mark.parametrize("step", [
    lambda i, c: c.at[i].set(3.0), lambda i, c: c.at[i % 4].add(1.0 + i),
    lambda i, c: c.at[i % 4].set(0.5 * c[(i + 1) % 4] + i), lambda i, c: c + i])
def test_loops_inside_of_a_map_count_their_steps(step):
    """A counter that is set before a loop was treated as a constant in it."""
    def loop(x):
        return lax.fori_loop(0, 4, step, x)

    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    expected = x
    for i in range(4):
        expected = np.asarray(step(i, jnp.asarray(expected)))
    mapped = tanx.jit(lambda xs: lax.map(loop, xs))
    for _ in range(4):
        np.testing.assert_array_equal(mapped(np.stack([x, x]))[1], expected)
    np.testing.assert_array_equal(lax.map(loop, np.stack([x, x, x]))[2], expected)


# --- Numbers that the surrounding function makes --------------------------------------------------


@pytest.mark.parametrize("run", [
    lambda x, k: lax.scan(lambda c, _: (c * k, None), x, length=3)[0],
    lambda x, k: lax.fori_loop(0, 3, lambda i, c: c * k, x),
    lambda x, k: lax.while_loop(lambda c: c.sum() < 1000, lambda c: c * k, x),
    lambda x, k: lax.cond(x[0] > 0, lambda y: y + k, lambda y: y * k, x),
    lambda x, k: tanx.jit(lambda y: y * k)(x),
    lambda x, k: tanx.checkpoint(lambda y: y * k)(x),
], ids=["scan", "fori_loop", "while_loop", "cond", "jit", "checkpoint"])
def test_numbers_from_outside_are_operands(run):
    """As in JAX: a literal of the surrounding jaxpr is an operand, not a literal of the body."""
    x = jnp.arange(1.0, 4.0)

    def f(x):
        return run(x, jnp.float32(2.0))

    eqn = tanx.make_jaxpr(f)(x).eqns[-1]
    assert [a.val for a in eqn.invars if hasattr(a, "val")].count(2.0) == 1
    expected, slope = run(x, 2.0), tanx.grad(lambda x: run(x, 2.0).sum())(x)
    compiled, gradient = tanx.jit(f), tanx.jit(tanx.grad(lambda x: f(x).sum()))
    for _ in range(4):
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-6)
        np.testing.assert_allclose(gradient(x), slope, rtol=1e-6)
