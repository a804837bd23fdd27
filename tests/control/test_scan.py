"""``scan``: against plain loops under every transformation; residuals; jaxprs and errors."""

import copy
import functools
import gc
import re
import weakref

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler import pipeline
from tanx._control.scan import map_lanes, scan_p
from tanx._control.unroll import unrolled
from tanx._core.jaxpr import jaxprs_in_params
from tanx._core.rewrite import dce
from tanx._loops.nest import SEQUENTIAL, Nest
from tanx._loops.traverse import statements_in
from tests.control.bodies import (
    arguments,
    looped,
    random_body,
    random_nest,
    scanned,
    weighed,
)

X = np.arange(3, dtype=np.float32)


def close(got, want):
    got, want = tanx.tree.leaves(got), tanx.tree.leaves(want)
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def scans(fun, *args):
    return [eqn for eqn in tanx.make_jaxpr(fun)(*args).eqns if eqn.primitive is scan_p]


def error(kind, call, *args, **kwargs) -> str:
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    return caught.value.args[0]


# --- Random bodies against Python's loops ---------------------------------------------------------

grad = tanx.grad
TRANSFORMED = {
    "eager": lambda f: f,
    "jit": tanx.jit,
    "vmap": tanx.vmap,
    "jit of vmap": lambda f: tanx.jit(tanx.vmap(f)),
    "vmap of some": lambda f: tanx.vmap(f, in_axes=(None, None, 0, None)),
    "vmap of others": lambda f: tanx.vmap(f, in_axes=(0, None, None, 2)),
    "grad": lambda f: grad(weighed(f), argnums=(0, 1, 2, 3)),
    "jit of grad": lambda f: tanx.jit(grad(weighed(f), argnums=(0, 1, 2, 3))),
    "grad of jit": lambda f: grad(weighed(tanx.jit(f)), argnums=(1, 3)),
    "grad of checkpoint": lambda f: grad(weighed(tanx.checkpoint(f)), argnums=(0, 2)),
    "grad of checkpoint that stores some": lambda f: grad(weighed(tanx.checkpoint(
        f, policy=lambda primitive, *_, **__: primitive.name in ("tanh", "mul"))), argnums=(0, 1)),
    "jvp": lambda f: lambda *args: tanx.jvp(f, args, args),
    "jvp of some": lambda f: lambda w, v, s, xs: tanx.jvp(lambda v: f(w, v, s, xs), (v,), (w,)),
    "vmap of grad": lambda f: tanx.vmap(grad(weighed(f), argnums=(0, 3))),
    "grad of vmap": lambda f: grad(lambda *args: weighed(tanx.vmap(f))(*args)),
    "forward over reverse": lambda f: lambda *args: tanx.jvp(grad(weighed(f)), args, args),
    "reverse over reverse": lambda f: grad(lambda *args: grad(weighed(f))(*args).sum()),
    "jit of reverse over forward": lambda f: tanx.jit(
        grad(lambda *args: tanx.jvp(weighed(f), args, args)[1], argnums=(0, 1, 2, 3))),
    "linearize": lambda f: lambda *args: tanx.linearize(f, *args)[1](*args),
}
FORWARD = {"jvp", "jvp of some", "forward over reverse", "jit of reverse over forward",
           "linearize"}
BATCHED = {"vmap", "jit of vmap", "vmap of grad", "grad of vmap"}
LANES = 2


@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.parametrize("seed", range(4))
def test_scans_are_loops(name, seed):
    with tanx.enable_x64(True):
        rng = np.random.default_rng([seed, len(name)])
        steps = int(rng.integers(1, 5))
        how = steps, bool(rng.integers(2)), int(rng.integers(1, 3))
        body = random_body(rng, forward=name in FORWARD)
        args = arguments(rng, steps, (LANES,) if name in BATCHED else ())
        if name == "vmap of some":
            args[2] = jnp.stack([args[2], args[2] + 1])
        elif name == "vmap of others":
            args[0] = jnp.stack([args[0], args[0] + 1])
            args[3] = jnp.stack([args[3], args[3] - 1], axis=2)
        transformed = TRANSFORMED[name]
        close(transformed(scanned(body, *how))(*args), transformed(looped(body, *how))(*args))


@pytest.mark.parametrize("name", ["jit", "vmap", "jit of grad", "vmap of grad", "jvp",
                                  "reverse over reverse", "grad of checkpoint that stores some"])
@pytest.mark.parametrize("seed", range(4))
def test_loops_in_loops_are_loops(name, seed):
    with tanx.enable_x64(True):
        rng = np.random.default_rng([seed, len(name), 1])
        how = int(rng.integers(1, 4)), bool(rng.integers(2)), 1
        fun = scanned(random_nest(rng, forward=name in FORWARD), *how)
        args = arguments(rng, how[0], (LANES,) if name in BATCHED else ())
        compiled = TRANSFORMED[name](fun)(*args)
        with tanx.disable_jit():
            close(compiled, TRANSFORMED[name](fun)(*args))


# --- Shapes of the loop ---------------------------------------------------------------------------


def test_no_steps():
    carry, ys = lax.scan(lambda c, x: (c * x, (c, x + 1)), 2.0, X[:0])
    assert carry == 2.0 and [y.shape for y in ys] == [(0,), (0,)]
    assert lax.scan(lambda c, _: (c + 1, c), 5, length=0)[0] == 5
    assert tanx.grad(lambda c: lax.scan(lambda c, _: (c * c, None), c, None, 0)[0])(3.0) == 1.0
    assert tanx.jit(lambda c: lax.scan(lambda c, _: (c * c, None), c, None, 0)[0])(3.0) == 3.0


def test_none_is_a_tree_without_leaves():
    carry, ys = lax.scan(lambda c, x: ((c[0] + x[0], None), None), (0.0, None), (X, None))
    assert carry == (3.0, None) and ys is None


def test_reverse_starts_at_the_end_and_keeps_places():
    carry, ys = lax.scan(lambda c, x: (x, c), -1.0, X, reverse=True)
    assert carry == 0.0
    np.testing.assert_array_equal(ys, [1, 2, -1])


@pytest.mark.parametrize("unroll", [0, 1, 2, 7, True, False])
def test_unrolling_changes_no_value(unroll):
    xs = np.arange(5, dtype=np.float32)
    carry, ys = tanx.jit(lambda xs: lax.scan(
        lambda c, x: (c + x, c * x), 0.0, xs, unroll=unroll, _split_transpose=True))(xs)
    assert carry == 10.0
    np.testing.assert_array_equal(ys, [0, 0, 2, 9, 24])


def test_integers_in_carries_have_no_derivative():
    def fun(x):
        (n, y), ns = lax.scan(lambda c, _: ((c[0] + 1, c[1] * x), c[0]), (0, 1.0), length=3)
        return y, (n, ns)

    value, (n, ns) = tanx.value_and_grad(fun, has_aux=True)(2.0)[0]
    assert (value, n) == (8.0, 3) and ns.tolist() == [0, 1, 2]
    _, (dy, (dn, dns)) = tanx.jvp(fun, (2.0,), (1.0,))
    assert dy == 12.0 and dn.dtype == dns.dtype == tanx.dtypes.float0 and dns.shape == (3,)


def test_the_body_is_traced_once():
    calls = []

    def body(c, x):
        calls.append(1)
        return c + x, c

    for _ in range(3):
        lax.scan(body, jnp.float32(0), X)
    assert len(calls) == 1


def test_the_body_of_a_partial_is_traced_once():
    """Its bound arguments are treated like closed-over values: changes are detected."""
    calls = []

    def body(scales, c, x, shift):
        calls.append(1)
        return c + scales[0] * x + shift, c

    scales = [2.0]
    bound = functools.partial(body, scales, shift=1.0)
    for turn in range(4):
        total, ys = lax.scan(bound, 0.0, X)
        assert total == 9.0 and ys.tolist() == [0.0, 1.0, 4.0] and len(calls) == 1, turn
    scales[0] = 3.0
    assert [lax.scan(bound, 0.0, X)[0] for _ in range(2)] == [12.0] * 2 and len(calls) == 2
    assert lax.scan(copy.copy(bound), 0.0, X)[0] == 12.0
    jitted = [tanx.jit(bound)(0.0, 1.0) for _ in range(4)]
    assert jitted == [(4.0, 0.0)] * 4 and len(calls) == 4


class Wrapper:
    """A callable object around a function, as nnx uses for its loops."""

    def __init__(self, fun, scale):
        functools.update_wrapper(self, fun)
        self.fun, self.scale = fun, scale

    def __call__(self, c, x):
        return self.fun(c, self.scale * x)


def test_the_body_of_a_wrapper_is_traced_once():
    calls = []

    def body(c, x):
        calls.append(1)
        return c + x, c

    wrapper = Wrapper(body, 2.0)
    assert [lax.scan(wrapper, 0.0, X)[0] for _ in range(4)] == [6.0] * 4 and len(calls) == 1
    other = Wrapper(wrapper, 3.0)  # copies the attributes of the first one
    assert [lax.scan(other, 0.0, X)[0] for _ in range(2)] == [18.0] * 2 and len(calls) == 2
    wrapper.scale = 4.0
    assert lax.scan(wrapper, 0.0, X)[0] == 12.0 and lax.scan(other, 0.0, X)[0] == 36.0
    gone = weakref.ref(wrapper)
    del wrapper, other
    gc.collect()
    assert gone() is None


def test_without_jit_the_loop_is_pythons():
    seen = []

    def body(c, x):
        seen.append(float(x))
        return c + x, {"x": x}

    with tanx.disable_jit():
        carry, ys = lax.scan(body, 0.0, X, reverse=True)
    assert seen == [2, 1, 0] and carry == 3 and ys["x"].tolist() == [0, 1, 2]


def test_named_axes_reach_the_body():
    total = tanx.vmap(lambda x: lax.scan(lambda c, _: (c + lax.psum(x, "i"), None), x, None, 2)[0],
                      axis_name="i")(X)
    np.testing.assert_array_equal(total, X + 6)
    alone = tanx.vmap(lambda x: lax.scan(lambda c, _: (c + lax.axis_index("i"), None), 0, None, 2),
                      axis_name="i")(X)[0]
    np.testing.assert_array_equal(alone, [0, 2, 4])


# --- Types ----------------------------------------------------------------------------------------


def types(tree):
    return [(x.dtype.name, x.weak_type) for x in tanx.tree.leaves(tree)]


def test_weak_carries_are_promoted():
    assert types(lax.scan(lambda s, x: (s + x, s), 0.0, X)) == [("float32", False),
                                                                ("float32", True)]
    assert types(lax.scan(lambda s, x: (s + x, s), 0, X)) == [("float32", False)] * 2
    assert types(lax.scan(lambda s, _: (s * 1.5, s), 0, length=2)) == [("float32", False)] * 2
    assert types(lax.scan(lambda s, _: (jnp.int8(1), s), 0, length=2)) == [("int8", False)] * 2


def test_carry_promotion_runs_to_a_fixed_point():
    (a, b), _ = lax.scan(lambda s, _: ((s[1], s[0] + 1.5), None), (0, 0), length=3)
    assert (a, b) == (1.5, 3.0) and types((a, b)) == [("float32", False)] * 2


def test_sixty_four_bits():
    with tanx.enable_x64(True):
        assert types(lax.scan(lambda s, x: (s + x, s), 0, np.arange(3.0)))[0] == ("float64", False)
        assert types(lax.fori_loop(0, 3, lambda i, s: s + i, 0)) == [("int64", True)]


# --- What is stored, dropped and forwarded --------------------------------------------------------


def test_values_closed_over_become_operands():
    table = jnp.arange(3.0)

    def fun(a, xs):
        return lax.scan(lambda c, x: (c * a + table.sum(), None), a, xs)

    (eqn,) = scans(fun, 1.0, X)
    assert eqn.params["num_consts"] == 2 and eqn.params["jaxpr"].consts == []


def test_unchanged_carries_and_returned_slices_leave_the_scan():
    def fun(a, b, xs):
        return lax.scan(lambda c, x: ((c[0], c[1] * c[0]), (x, c[1])), (a, b), xs)

    (eqn,) = scans(fun, 2.0, 3.0, X)
    assert (eqn.params["num_consts"], eqn.params["num_carry"], len(eqn.outvars)) == (1, 1, 2)
    (a, b), (xs, ys) = fun(2.0, 3.0, X)
    assert (a, b) == (2.0, 24.0) and xs.tolist() == X.tolist() and ys.tolist() == [3, 6, 12]
    assert scans(lambda xs: lax.scan(lambda c, x: (c, x), 1.0, xs), X) == []


def test_loop_invariant_residuals_are_not_stacked():
    def fun(a, xs):
        return lax.scan(lambda c, x: (c * jnp.sin(a).sum() * x, None), 1.0, xs)[0]

    forward, backward = scans(tanx.grad(fun), X, X)
    stacked = forward.outvars[forward.params["num_carry"]:]
    assert [str(v.aval) for v in stacked] == ["float32[3]"]  # the carry of each step, nothing else
    assert backward.params["reverse"] is True


def test_a_residual_is_stacked_once():
    def fun(a):
        return lax.fori_loop(0, 5, lambda _, s: s * a * s, 1.0)

    first = scans(tanx.grad(tanx.grad(fun)), 1.0)[0]
    names = first.params["jaxpr"].jaxpr.outvars
    assert len(names) == len(set(names))


def test_slices_are_residuals_without_a_copy():
    def fun(a, xs):
        return lax.scan(lambda c, x: (c * x, None), a, xs)[0]

    closed = tanx.make_jaxpr(tanx.grad(fun))(1.0, X)
    forward, backward = (e for e in closed.eqns if e.primitive is scan_p)
    assert len(forward.outvars) == 1 and closed.jaxpr.invars[1] in backward.invars


def test_linearize_runs_the_loop_once():
    _, derivative = tanx.linearize(lambda x: lax.scan(
        lambda c, _: (jnp.sin(c), None), x, length=4)[0], 1.0)
    (eqn,) = [e for e in tanx.make_jaxpr(derivative)(1.0).eqns if e.primitive is scan_p]
    assert {e.primitive.name for e in eqn.params["jaxpr"].eqns} == {"mul"}


def products(fun, w, xs) -> list[int]:
    """The number of matrix products in each scan of the gradient."""
    found = []

    def visit(jaxpr):
        for eqn in jaxpr.eqns:
            if eqn.primitive is scan_p:
                found.append(sum(e.primitive.name == "dot_general"
                                 for e in eqn.params["jaxpr"].eqns))
            else:
                for inner in jaxprs_in_params(eqn.params):
                    visit(inner)

    visit(tanx.make_jaxpr(tanx.grad(fun))(w, xs).jaxpr)
    return found


@pytest.mark.parametrize("policy, counts", [
    ("nothing_saveable", [1, 1, 2]),  # forward, forward again, backward
    ("dots_saveable", [1, 0, 2]),
    ("everything_saveable", [1, 0, 2]),
])
def test_policies_look_into_loops(policy, counts):
    w, xs = jnp.asarray(np.eye(3, dtype=np.float32)), jnp.ones((4, 3))

    def loss(w, xs):
        return lax.scan(lambda h, x: (jnp.sin(h @ w + x), None), jnp.ones(3), xs)[0].sum()

    checkpointed = tanx.checkpoint(loss, policy=getattr(tanx.checkpoint_policies, policy))
    assert products(checkpointed, w, xs) == counts
    np.testing.assert_allclose(tanx.grad(checkpointed)(w, xs), tanx.grad(loss)(w, xs), rtol=1e-6)


def test_dead_code_leaves_the_loop():
    def fun(a, b, xs):
        (p, _), ys = lax.scan(lambda c, x: ((c[0] * 2, jnp.sin(c[1] + x)), (c[1], x * 3)), (a, b),
                              xs)
        return p, ys[1]

    jaxpr = tanx.make_jaxpr(fun)(1.0, 2.0, X).jaxpr
    smaller, used = dce(jaxpr, [True, False])
    (eqn,) = smaller.eqns
    assert used == [True, False, False]
    assert (eqn.params["num_carry"], len(eqn.invars), len(eqn.outvars)) == (1, 1, 1)
    smaller, used = dce(jaxpr, [False, True])
    assert used == [False, False, True] and smaller.eqns[0].params["num_carry"] == 0
    assert dce(jaxpr, [True, True])[1] == [True, False, True]


def test_a_carry_written_but_not_read_stays_whole():
    def fun(a, xs):
        return lax.scan(lambda c, x: (x, None), a, xs)[0]

    jaxpr = tanx.make_jaxpr(fun)(np.float32(1), X).jaxpr
    assert dce(jaxpr, [True])[1] == [True, True]
    assert fun(np.float32(1), X) == 2


def test_linear_functions_of_part_of_the_carry_are_transposed():
    def fun(x):
        return lax.scan(lambda c, w: ((c[0] + 1, c[1] * w + x * c[0]), None), (0.0, x), X)[0][1]

    transposed = tanx.linear_transpose(fun, 1.0)(1.0)[0]
    assert transposed == tanx.jvp(fun, (0.0,), (1.0,))[1]


def test_lanes_are_mapped_one_by_one():
    closed = tanx.make_jaxpr(lambda x, y: (x * y, x + 1))(1.0, 2.0)
    (product, more), places = map_lanes(closed, 3, [X, np.float32(2)], [0, None])
    assert places == [0, 0]
    np.testing.assert_array_equal(product, 2 * X)
    np.testing.assert_array_equal(more, X + 1)
    (rows,), _ = map_lanes(tanx.make_jaxpr(lambda x, y: x.sum() * y)(X, X), 2,
                           [np.ones((3, 2), np.float32), np.ones((2, 3), np.float32)], [1, 0])
    assert rows.shape == (2, 3)


# --- Texts ----------------------------------------------------------------------------------------


def test_the_text_of_a_gradient():
    text = str(tanx.make_jaxpr(tanx.grad(
        lambda a, xs: lax.scan(lambda c, x: (c * jnp.sin(a) * x, None), 1.0, xs)[0]))(1.0, X))
    assert re.sub(r"\n +ft_(in|out)=.*", "", text) == """\
{ lambda ; a:f32[] b:f32[3]. let
    c:f32[] = sin a
    d:f32[] = cos a
    _:f32[] e:f32[3] = scan[
      jaxpr={ lambda ; f:f32[] g:f32[] h:f32[]. let
          i:f32[] = mul g f
          j:f32[] = convert_element_type[new_dtype=float32 weak_type=False] i
          k:f32[] = mul j h
        in (k, g) }
      length=3
      reverse=False
      unroll=1
    ] c 1.0:f32[] b
    l:f32[] _:f32[] = scan[
      jaxpr={ lambda ; m:f32[] n:f32[] o:f32[] p:f32[] q:f32[] r:f32[]. let
          s:f32[] = mul p r
          t:f32[] = convert_element_type[new_dtype=float32 weak_type=True] s
          u:f32[] = mul q t
          v:f32[] = mul t n
          w:f32[] = mul u m
          x:f32[] = add_any o w
        in (x, v) }
      length=3
      reverse=True
      unroll=1
    ] d c 0.0:f32[] 1.0:f32[] e b
  in (l,) }"""


# --- Errors ---------------------------------------------------------------------------------------


def test_a_carry_of_another_type():
    init = {"a": 0.0, "b": jnp.zeros(3), "n": np.int32(0)}
    assert error(TypeError, lax.scan, lambda s, x: (
        {"a": s["a"], "b": jnp.zeros(4), "n": s["n"] + x}, None), init, X) == """\
tanx.lax.scan: the body must return a carry of the types that it takes.
  s['b']: takes float32[3], gives float32[4]
  s['n']: takes int32[], gives float32[]
  Hint: start with an array of the shape that the body returns, or reshape its result."""
    assert error(TypeError, lax.scan, lambda count, x: (jnp.int32(1), None), 1.5, X) == """\
tanx.lax.scan: the body must return a carry of the types that it takes.
  count: takes float32[] of a Python number, gives int32[]
  Hint: start with count as int32, or let the body return its new value .astype('float32')."""


def test_a_carry_of_another_structure():
    assert error(TypeError, lax.scan, lambda s, x: ({"a": [s["a"]] * 2}, x), {"a": 0.0}, X) == """\
tanx.lax.scan: the body must return a carry of the structure that it takes.
  s['a']: takes an array, gives list of length 2
  Hint: return the carry with the same containers, keys and lengths each time."""
    assert error(TypeError, lax.scan, lambda s, x: ((s[0],), None), (1.0, 2.0), X) == """\
tanx.lax.scan: the body must return a carry of the structure that it takes.
  s: takes tuple of length 2, gives tuple of length 1
  Hint: return the carry with the same containers, keys and lengths each time."""


def test_a_body_that_does_not_return_a_pair_raises():
    assert error(TypeError, lax.scan, lambda s, x: (s, x, [s]), 0.0, X) == """\
tanx.lax.scan: the body must return a pair: the next carry, and a value to stack.
  <lambda> gave: (~float32[], float32[], [~float32[]])
  Hint: return carry, None to stack nothing."""


def test_lengths_that_disagree():
    def body(c, x):
        return c, None

    assert error(ValueError, lax.scan, body, 0.0, {"a": X, "b": X[:2]}) == """\
tanx.lax.scan: the leading axes of xs, and length if given, must agree.
  xs['a']: float32[3]
  xs['b']: float32[2]"""
    assert error(ValueError, lax.scan, body, 0.0, X, length=4) == """\
tanx.lax.scan: the leading axes of xs, and length if given, must agree.
  xs: float32[3]
  length: 4"""
    assert error(ValueError, lax.scan, body, 0.0) == """\
tanx.lax.scan: the number of steps is unknown.
  xs: no arrays
  Hint: give length, or arrays in xs."""
    assert error(ValueError, lax.scan, body, 0.0, 1.0) == """\
tanx.lax.scan: each array of xs needs a leading axis.
  xs: ~float32[]"""
    assert error(ValueError, lax.scan, body, 0.0, length=-1) == """\
tanx.lax.scan: length must not be negative.
  length: -1"""
    assert error(TypeError, lax.scan, body, 0.0, length=2.5) == """\
tanx.lax.scan: length must be an integer that is known while tracing.
  length: 2.5"""


def test_length_is_a_whole_number():
    """A float counts as an integer if it has no fraction."""
    for length in (3, 3.0, np.float32(3), np.int8(3), jnp.int32(3)):
        total, steps = lax.scan(lambda c, _: (c + 1, c), 0, length=length)
        assert (total, steps.tolist()) == (3, [0, 1, 2])
    assert lax.scan(lambda c, x: (c + x, None), 0.0, X, length=3.0)[0] == X.sum()


def test_other_mistakes():
    assert error(TypeError, lax.scan, 3, 0.0, X) == """\
tanx.lax.scan: needs a function.
  given: 3"""
    assert error(ValueError, lax.scan, lambda c, x: (c, x + 1), 0.0, X, unroll=-1) == """\
tanx.lax.scan: unroll must be a bool or an integer that is not negative.
  unroll: -1"""
    assert error(TypeError, lax.scan, lambda c, x: (c, x), {"k": "a"}, X) == """\
tanx.lax.scan: init: needs arrays or numbers.
  at ['k']: 'a' of type str"""
    assert error(TypeError, lax.scan, lambda c, x: (c, "a"), 0.0, X).startswith(
        "tanx.lax.scan: result of <lambda>: needs arrays or numbers.")


def test_a_body_that_leaks():
    kept = []
    lax.scan(lambda c, x: (kept.append(x), (c, x + 1))[1], 0.0, X)
    with pytest.raises(tanx.errors.UnexpectedTracerError, match="of <lambda>, traced for scan"):
        jnp.sin(kept[0])


# -- steps in a row --------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("length", "unroll"), [(0, 2), (1, 3), (5, 2), (6, 3), (7, 3), (5, True)])
def test_steps_in_a_row_are_steps(length, unroll, reverse):
    def fun(unroll):
        def run(c, xs):
            return lax.scan(lambda c, x: ((jnp.sin(c[0]) * x, c[1] + 1), (c[0], x[0])), (c, 0), xs,
                            reverse=reverse, unroll=unroll)
        return run

    def slope(unroll):
        return tanx.grad(lambda c, xs: sum(jnp.sum(y * 1.0) for y in tanx.tree.leaves(
            fun(unroll)(c, xs))), (0, 1))

    c, xs = jnp.arange(1.0, 4.0), jnp.linspace(-1, 1, 3 * length).reshape(length, 3)
    for make in (fun, slope):
        for wrap, rows in ((lambda f: f, xs), (tanx.jit, xs),
                           (lambda f: tanx.vmap(f, (None, 1)), jnp.stack([xs, -xs], 1))):
            want, got = (tanx.tree.leaves(wrap(make(n))(c, rows)) for n in (1, unroll))
            for y, z in zip(got, want, strict=True):
                assert (y.dtype, y.shape, y.weak_type) == (z.dtype, z.shape, z.weak_type)
                np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-6)


def test_steps_in_a_row_have_no_loop_around_if_they_are_all():
    step = lambda c, x: (jnp.sin(c) * x, c)
    whole = pipeline.build(tanx.make_jaxpr(
        lambda c, xs: lax.scan(step, c, xs, unroll=True))(1.0, jnp.ones(5))).program
    assert not [s for s in statements_in(whole.statements)
                if isinstance(s, Nest) and SEQUENTIAL in s.kinds]
    long = unrolled(tanx.make_jaxpr(lambda c, x: step(c, x))(1.0, 1.0), scan_p, 1000, 0, 1, False,
                    1000)
    (scan,) = [e for e in long.eqns if e.primitive is scan_p]
    assert scan.params["length"] == 1000 // 16
