"""Gradients that are added to references: the same numbers as values, and only at their places."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._control.accumulators import RefAccum
from tanx.experimental.hijax import HiPrim

TIMES = 5  # native calls begin with the third
SIZE = 10
WANTED = tanx.ad.GradValue()


def x10():
    return jnp.sin(jnp.arange(float(SIZE)))


@tanx.jit
def take(x, i):
    return x[i]


def looped(x, i):
    return lax.scan(lambda c, k: (c * x[k] + x[k + i], c), 1.0, jnp.arange(3))


def counted(x, i):
    """A loop whose counter does not depend on x."""
    def step(carry, _):
        k, total = carry
        return (k + 1, total + x[k + i] * x[1]), None
    return lax.scan(step, (0, 0.0), None, 3)[0][1]


def chosen(x, i):
    return lax.cond(i > 3, lambda x: x[1] * x[2], lambda x: 2 * x[i], x)


PROGRAMS = [
    (take, ["+1] += "]),
    (lambda x, i: x[i] + x[i + 1], ["+1] += "] * 2),
    (lambda x, i: take(x, i) * take(x, 2 * i), ["+1] += "]),  # two calls of one function
    (lambda x, i: tanx.jit(lambda y: take(y, i) * 3)(x), ["+1] += "]),
    (lambda x, i: tanx.jit(lambda y, z: y[i] * z[1:3])(x, x), ["[1:3] += ", "+1] += "]),
    (lambda x, i: lax.dynamic_slice(x, (i,), (4,)), ["+4] += "]),
    (lambda x, i: lax.dynamic_slice(x.reshape(2, 5), (i, 2), (1, 3)), ["[...] += "]),
    (lambda x, i: i * x[2:5], ["[2:5] += "]),
    (lambda x, i: i * x[1:8:2], ["[1:5] += "]),
    (lambda x, i: i * x[:3:2], [":2] += "]),
    (lambda x, i: x[jnp.array([1, 1, 2]) + i], ["[...] <- "]),
    (lambda x, i: x.at[jnp.array([4, -7]) * i].get(mode="fill", fill_value=0), ["[...] <- "]),
    (lambda x, i: jnp.take(x, jnp.array([4, -7]) * i, mode="clip"), ["[...] <- "]),
    (lambda x, i: jnp.sin(x)[i] + x[5], ["[5:6] += ", "[...] += "]),
    (lambda x, i: jnp.cos(x) * i + jnp.sin(x), ["[...] += "] * 2),
    (lambda x, i: x, ["[...] += "]),
    (lambda x, i: 1.0 * i, []),
    (looped, ["+1] += "] * 2),
    (counted, ["+1] += ", "[1:2] += "]),
    (chosen, ["+1] += ", "[1:2] += ", "[2:3] += "]),
    (lambda x, i: tanx.checkpoint(lambda x: jnp.sin(x[i]))(x), ["[...] += "]),
    (lambda x, i: tanx.vmap(lambda k: x[k] * x[i])(jnp.arange(3)), ["+1] += ", "[...] <- "]),
    (lambda x, i: lax.fori_loop(0, 3, lambda k, c: c + x[k] * x[i], 0.0), None),
]
NAMES = [f"{n} {f.__name__}" for n, (f, _) in enumerate(PROGRAMS)]


def pulled_into(f, ref, x, i):
    """Add the gradient of a program, for the cotangent that is its result, to a reference."""
    y, pull = tanx.vjp(lambda x: f(x, i), x)
    pull.with_refs(ref)(y)


def plain(f, x, i):
    y, pull = tanx.vjp(lambda x: f(x, i), x)
    return pull(y)[0]


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("f, _", PROGRAMS, ids=NAMES)
def test_the_numbers_are_those_of_values(f, _):
    x, start, compiled = x10(), jnp.arange(float(SIZE)), tanx.jit(pulled_into, static_argnums=0)
    # Indices beyond the ends, too: slices are moved inside.
    for i in (3, 9, 15, -3, -10, -11, -15, -25):
        expected = plain(f, x, i)
        eager, inside = tanx.new_ref(start), tanx.new_ref(start)
        pulled_into(f, eager, x, i)
        close(eager[...], start + expected)
        pulled_into(f, eager, x, i)
        close(eager[...], start + 2 * expected)
        for n in range(TIMES):
            compiled(f, inside, x, i)
            close(inside[...], start + (n + 1) * expected)


def in_cell(f, x, i):
    """The gradient, from a reference that is created in the function."""
    ref = tanx.new_ref(jnp.zeros_like(x))
    pulled_into(f, ref, x, i)
    return tanx.freeze(ref)


@pytest.mark.parametrize("f, _", PROGRAMS, ids=NAMES)
def test_under_other_transformations(f, _):
    x, lanes, places = x10(), jnp.stack([x10(), 2 * x10(), -x10()]), jnp.array([2, 15, -12])
    mapped = [tanx.vmap(lambda x, i, g=g: g(f, x, i)) for g in (in_cell, plain)]
    close(mapped[0](lanes, places), mapped[1](lanes, places))
    compiled = tanx.jit(mapped[0])
    for _ in range(TIMES):
        close(compiled(lanes, places), mapped[1](lanes, places))
    same_place = [tanx.vmap(lambda x, g=g: g(f, x, 3))(lanes) for g in (in_cell, plain)]
    close(*same_place)
    forward = [tanx.jvp(lambda x, g=g: g(f, x, 2), (x,), (jnp.cos(x),)) for g in (in_cell, plain)]
    for got, expected in zip(*forward):
        close(got, expected)


@pytest.mark.parametrize("f, writes", PROGRAMS, ids=NAMES)
def test_only_places_are_written(f, writes):
    ref, x = tanx.new_ref(jnp.zeros(SIZE)), x10()
    y = tanx.eval_shape(f, x, 3)

    def backward(ct, i):
        tanx.vjp(f, x, i)[1].with_refs(ref, tanx.ad.DontWant())(ct)

    text = str(tanx.make_jaxpr(backward)(tanx.tree.map(jnp.ones_like, y), 3))
    lines = [line for line in text.split("\n") if "+=" in line or "[...] <- " in line]
    if writes is not None:
        assert len(lines) == len(writes), text
        for write in set(writes):
            assert sum(write in line for line in lines) == writes.count(write), text


def test_the_jaxpr_adds_one_element():
    ref, x = tanx.new_ref(jnp.zeros(SIZE)), x10()

    def backward():
        tanx.vjp(take, x, 3)[1].with_refs(ref, WANTED)(1.0)

    text = str(tanx.make_jaxpr(backward)())
    assert text[text.rindex("jit["):] == """jit[
      name=take
      jaxpr={ lambda ; c:i32[] b:Ref{f32[10]} i:f32[]. let
          j:f32[1] = broadcast_in_dim i
          b[c:c+1] += j
        in () }
    ] c b 1.0:f32[]
  in () }"""


@pytest.mark.parametrize("f", [lambda x, y: x[1] * y[2:4], tanx.jit(lambda x, y: x[1] * y[2:4])],
                         ids=["inline", "jit"])
def test_one_reference_for_several_arguments(f):
    x, ct, ref = x10(), jnp.ones(2), tanx.new_ref(jnp.zeros(SIZE))
    _, pull = tanx.vjp(f, x, x)
    assert pull.with_refs(ref, ref)(ct) == (tanx.ad.GradRef(),) * 2
    close(ref[...], sum(pull(ct)))


def test_references_and_values_side_by_side():
    x, w, ref = x10(), jnp.ones(3), tanx.new_ref(jnp.zeros(SIZE))

    @tanx.jit
    def f(x, w, z):
        return x[1:4] @ w * z

    @tanx.jit
    def step(ref, x, w):
        return tanx.vjp(f, x, w, 2.0)[1].with_refs(ref, WANTED, tanx.ad.DontWant())(1.0)

    expected = tanx.vjp(f, x, w, 2.0)[1](1.0)
    for n in range(TIMES):
        marks = step(ref, x, w)
        assert marks[0] == tanx.ad.GradRef() and marks[2] == tanx.ad.DidntWant()
        close(marks[1], expected[1])
        close(ref[...], (n + 1) * expected[0])


def tripled(ref, is_kept):
    """The identity, whose cotangent is tripled; it is added to a reference, too."""
    f = tanx.custom_vjp(lambda ref, x: x)

    def bwd(kept, ct):
        (kept if is_kept else ref).addupdate(ct)
        return None, 3 * ct

    f.defvjp(lambda ref, x: (x, ref if is_kept else None), bwd)
    return lambda x: f(ref if is_kept else 0.0, x)


AROUND = [lambda f: f, tanx.jit, lambda f: lambda x: lax.cond(x[0] < 2, f, lambda x: x, x),
          lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 1)[0]]


@pytest.mark.parametrize("is_kept", [False, True], ids=["closed over", "kept"])
@pytest.mark.parametrize("around", AROUND, ids=["inline", "jit", "cond", "scan"])
def test_a_rule_that_writes_to_the_same_reference(is_kept, around):
    x, ref = x10(), tanx.new_ref(jnp.zeros(SIZE))
    f = tripled(ref, is_kept)

    def both(x):
        return tanx.vjp(around(lambda x: f(x) * 2 + x), x)[1].with_refs(ref)(jnp.ones(SIZE))

    for run in (both, tanx.jit(both)):
        ref[...] = jnp.zeros(SIZE)
        for n in range(TIMES):
            run(x)
            close(ref[...], np.full(SIZE, (n + 1) * (2 + 6 + 1)))


def test_rules_of_high_primitives_get_the_reference():
    seen = []

    class First(HiPrim):
        def __init__(self, aval):
            self.in_avals, self.out_aval, self.params = (aval,), aval.update(shape=()), {}
            super().__init__()

        def expand(self, x):
            return x[0]

        def vjp_fwd(self, nonzero, x):
            return self(x), None

        def vjp_bwd(self, _, ct, total):
            seen.append(type(total))
            if type(total) is RefAccum:
                total.ref.addupdate(ct, 0)
            else:
                total.accum(jnp.zeros(SIZE).at[0].set(ct))

    x, ref = x10(), tanx.new_ref(jnp.ones(SIZE))
    pull = tanx.vjp(lambda x: First(tanx.typeof(x))(x) * 3, x)[1]
    pull.with_refs(ref)(1.0)
    close(ref[...], 1 + pull(1.0)[0])
    assert seen[0] is RefAccum and RefAccum not in seen[1:]


ADDED = [np.s_[1:], np.s_[:9], np.s_[::2], np.s_[1:9:3], np.s_[2:4], np.s_[1::4], np.s_[3],
         np.s_[:]]


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64", "bfloat16", "bool"])
@pytest.mark.parametrize("where", ADDED, ids=str)
def test_large_parts_leave_the_rest_alone(where, dtype):
    start = jnp.array([-0.0, 1, -2, 3, -0.0, 5, -0.0, 7, 8, -0.0], dtype)
    term = jnp.ones(start[where].shape, dtype)
    ref = tanx.new_ref(start)
    add = tanx.jit(lambda ref, term: ref.addupdate(term, where))
    expected = np.array(start)
    for _ in range(TIMES):
        add(ref, term)
        expected[where] = expected[where] | True if dtype == "bool" else expected[where] + 1
        got = np.asarray(ref[...])
        np.testing.assert_array_equal(got, expected)
        if dtype != "bool":
            np.testing.assert_array_equal(np.signbit(got.real.astype(float)),
                                          np.signbit(expected.real.astype(float)))
