"""Jaxprs become smaller and keep their results, including signs of zeros."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.decompose import decompose
from tanx._compiler.machine import host
from tanx._compiler.simplify import drop_dead, inline, simplify
from tanx._core.check import check_jaxpr
from tanx._ops.derive import add_any
from tests.compiler.agreement import evaluated
from tests.compiler.counting import assert_linear

X = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 3.25], np.float32)
N = np.array([0, -1, 7, -128, 127], np.int8)
M = np.arange(6, dtype=np.float32).reshape(2, 3)


def simplified(fun, *args):
    """The simplified jaxpr of a function, after comparing bits on the arguments."""
    closed = tanx.make_jaxpr(fun)(*args)
    simple = simplify(inline(closed))
    check_jaxpr(simple)
    for want, got in zip(evaluated(closed, args), evaluated(simple, args), strict=True):
        np.testing.assert_array_equal(want, got)
        if want.dtype.kind == "f":
            numbers = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(want)[numbers], np.signbit(got)[numbers])
    return simple


def body(fun, *args) -> str:
    """The names of the remaining equations."""
    return " ".join(eqn.primitive.name for eqn in simplified(fun, *args).eqns)


@pytest.mark.parametrize("fun", [
    lambda x: x * 1, lambda x: 1 * x, lambda x: x / 1, lambda x: x - 0.0, lambda x: x + (-0.0),
    lambda x: lax.neg(lax.neg(x)), lambda x: lax.max(x, np.float32(-np.inf)),
    lambda x: lax.min(np.float32(np.inf), x), lambda x: lax.stop_gradient(x), lambda x: x.copy(),
    lambda x: x.reshape(2, 4).reshape(8), lambda x: x.reshape(2, 4).T.T.reshape(8),
    lambda x: x.astype("float64").astype("float32"), lambda x: lax.rev(lax.rev(x, (0,)), (0,)),
    lambda x: x[:], lambda x: x * jnp.ones(8, "float32"), lambda x: jnp.where(True, x, 2 * x),
    lambda x: lax.select(x > 0, x, x), lambda x: lax.pad(x, np.float32(0), [(0, 0, 0)]),
    lambda x: jnp.concatenate([x, x[:0]]), lambda x: lax.dynamic_slice(x, (3,), (8,)),
    lambda x: tanx.jit(lambda y: tanx.jit(lambda z: z)(y))(x),
    lambda x: lax.reduce_max(x.reshape(8, 1), (1,)), lambda x: jnp.squeeze(x[None]),
])
def test_no_ops_are_removed(fun):
    with tanx.enable_x64(True):
        assert body(fun, X) == ""


@pytest.mark.parametrize("fun", [
    lambda x: x + 0, lambda x: x - 0, lambda x: x * 1,
    lambda x: ~~x,
    lambda x: lax.max(x, np.int8(-128)), lambda x: x.astype("int32").astype("int8"),
    lambda x: x.astype("float32").astype("int8"), lambda x: x & x, lambda x: lax.neg(lax.neg(x)),
])
def test_no_ops_on_integers_are_removed(fun):
    assert body(fun, N) == ""


@pytest.mark.parametrize(("fun", "left"), [
    (lambda x: x * 0, "mul"), (lambda x: x + 0.0, "add"), (lambda x: x - (-0.0), "sub"),
    (lambda x: x - x, "sub"), (lambda x: x / x, "div"), (lambda x: 0 - x, "sub"),
    (lambda x: lax.max(x, np.float32(0)), "max"), (lambda x: x / 3, "div"),
    (lambda x: x.astype("float16").astype("float32"),
     "convert_element_type convert_element_type"),
    (lambda x: x ** 0.5, "pow"), (lambda x: x == x, "eq"),
])
def test_apparent_no_ops_are_kept(fun, left):
    assert body(fun, X) == left


@pytest.mark.parametrize(("fun", "left"), [
    (lambda x: jnp.exp(x) + 0.0, "exp"), (lambda x: jnp.square(x) + 0.0, "square"),
    (lambda x: x / 4, "mul"), (lambda x: x / -0.5, "mul"), (lambda x: x / 1e-45, "div"),
    (lambda x: x * -1, "neg"), (lambda x: x + (-x[::-1]), "rev sub"),
    (lambda x: x - (-x), "add"), (lambda x: (-x) * (-x), "mul"),
    (lambda x: x.reshape(2, 4).reshape(4, 2), "reshape"), (lambda x: x[1:][::2], "slice"),
    (lambda x: x[2:][:3], "slice"), (lambda x: x[:5:2][3::2], "slice"),
    (lambda x: x[1:7:2][1:], "slice"),
    (lambda x: lax.broadcast_in_dim(lax.broadcast_in_dim(x, (8, 2), (0,)), (2, 3, 8), (2, 0)),
     "broadcast_in_dim"),
    (lambda x: lax.dynamic_slice(x, (7,), (3,)), "slice"),
    (lambda x: (x > 0).astype("int32").astype("float32"), "gt convert_element_type"),
    (lambda x: jnp.where(x > 0, True, False), "gt"),
    (lambda x: x.reshape(2, 4)[0].reshape(4, 1), "reshape slice reshape"),
])
def test_equations_are_replaced_by_shorter_ones(fun, left):
    assert body(fun, X) == left


def test_a_quotient_that_is_broadcast_keeps_its_shape():
    assert body(lambda x: x / jnp.full((3, 4), 4.0, x.dtype), M[:1, :1]) == "broadcast_in_dim div"


def test_saturation_does_not_become_wrap_around():
    x = np.array([-1, 300, 70000], np.int32)
    chain = lambda x: x.astype("float32").astype("uint8")
    assert body(chain, x).count("convert_element_type") == 2
    assert body(lambda x: x.astype("int16").astype("uint8"), np.array([-1, 300], np.int16)) == (
        "convert_element_type")


def test_transposes_are_composed():
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    simple = simplified(lambda x: jnp.transpose(jnp.transpose(x, (1, 2, 0)), (2, 0, 1)), x)
    assert simple.eqns == []
    simple = simplified(lambda x: jnp.transpose(jnp.transpose(x, (1, 2, 0)), (1, 2, 0)), x)
    assert [eqn.params["permutation"] for eqn in simple.eqns] == [(2, 0, 1)]


def test_equal_equations_are_merged():
    simple = simplified(lambda x: jnp.sin(x) * jnp.sin(x) + jnp.cos(x * x[::-1])
                        + jnp.cos(x[::-1] * x), X)
    assert str(simple) == """\
{ lambda ; a:f32[8]. let
    b:f32[8] = sin a
    c:f32[8] = mul b b
    d:f32[8] = rev[dimensions=(0,)] a
    e:f32[8] = mul a d
    f:f32[8] = cos e
    g:f32[8] = add c f
    h:f32[8] = add g f
  in (h,) }"""


def test_zeros_of_two_signs_are_not_merged():
    assert body(lambda x: (x * 0.0, x * -0.0), X) == "mul mul"
    fill = lambda x, v: x.at[jnp.array([9])].get(mode="fill", fill_value=v)
    assert body(lambda x: (fill(x, 0.0), fill(x, -0.0)), X).count("gather") == 2


def test_one_known_element_is_a_literal():
    simple = simplified(lambda x: x % (jnp.array([3]) + 4), np.arange(8))
    assert not simple.consts


def test_constants_are_folded():
    def fun(x):
        steps = jnp.arange(8, dtype="float32") * 2 + 1
        return x * steps, jnp.float32(3) * 4, jnp.sin(jnp.zeros(3)), jnp.sum(jnp.ones(5))
    simple = simplified(fun, X)
    assert [eqn.primitive.name for eqn in simple.eqns] == ["mul", "broadcast_in_dim"]
    assert [v.val.item() for v in (simple.jaxpr.outvars[1], simple.jaxpr.outvars[3])] == [12, 5]


def test_large_constants_are_not_computed():
    assert body(lambda x: x + jnp.arange(100_000.0)[-1:] * 0.3, X).startswith("iota")


def test_unused_constants_are_removed():
    table = np.arange(3000.0, dtype=np.float32)
    simple = simplified(lambda x: (x + jnp.asarray(table)[:8], jnp.asarray(table) + 1)[0] * 1, X)
    assert len(simple.consts) == 1
    assert not simplified(lambda x: (x, jnp.asarray(table) + 1)[0], X).consts


def test_arrays_of_equal_elements_become_scalars():
    simple = simplified(lambda x: x * jnp.full((2, 3), 2.0).reshape(3, 2).T + jnp.zeros((2, 3)), M)
    assert str(simple) == """\
{ lambda ; a:f32[2,3]. let
    b:f32[2,3] = mul a 2.0:f32[]
    c:f32[2,3] = add b 0.0:f32[]
  in (c,) }"""


def test_broadcasts_move_after_elementwise_equations():
    def fun(x, s):
        rows = jnp.broadcast_to(jnp.exp(x[:1]), (2, 3))
        return jnp.sin(rows) * 2 + rows, jnp.ones((2, 3), "float32") / (1 + s)
    simple = simplified(fun, M, np.float32(3))
    assert [(eqn.primitive.name, eqn.outvars[0].aval.size) for eqn in simple.eqns] == [
        ("slice", 3), ("exp", 3), ("sin", 3), ("mul", 3), ("add", 3), ("broadcast_in_dim", 6),
        ("add", 1), ("div", 1), ("broadcast_in_dim", 6)]


@pytest.mark.parametrize("fun, left", [
    (lambda x: jnp.broadcast_to(x[0], (3, 4)).sum(), "slice reshape mul add"),
    (lambda x: jnp.broadcast_to(x, (5, 8)).sum(0), "mul add"),
    (lambda x: jnp.broadcast_to(x[:, None], (8, 5)).sum(1), "mul add"),
    (lambda x: lax.reduce_sum(lax.broadcast_in_dim(N, (3, 5), (1,)), (0,)), ""),
    (lambda x: lax.reduce_sum(jnp.full((2, 3), 2.5, "float32"), (0, 1)), ""),
    (lambda x: jnp.broadcast_to(x, (5, 8)).sum(1), "reduce_sum"),
    (lambda x: jnp.broadcast_to(x, (0, 8)).sum(0), "reduce_sum"),
])
def test_equal_elements_are_counted(fun, left):
    assert [name for name in body(fun, X).split() if name != "broadcast_in_dim"] == left.split()


def test_reductions_leave_out_dimensions_of_size_1():
    x = M.reshape(2, 1, 3, 1)
    simple = simplified(lambda x: lax.reduce_sum(x, (1, 2, 3)), x)
    assert [eqn.primitive.name for eqn in simple.eqns] == ["reshape", "reduce_sum"]
    assert simple.eqns[1].params["axes"] == (1,)


def test_barriers_let_constants_through():
    simple = simplified(lambda x: lax.optimization_barrier((x, 2.0, jnp.ones(8)))[1] * x, X)
    assert [str(v.aval) for eqn in simple.eqns if eqn.primitive.name == "optimization_barrier"
            for v in eqn.outvars] == []


@pytest.mark.parametrize("left", [True, False])
def test_products_with_equal_elements_are_sums(left):
    ones = lambda: jnp.ones((3, 4), "float32")
    fun = (lambda m: m @ ones()) if left else (lambda m: ones().T @ m.T)
    assert "dot_general" not in body(fun, M)
    batch = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    twos = lambda: jnp.full((2, 4, 5), 2.0, "float32")
    contract = (lambda x: jnp.einsum("bik,bkj->bij", x, twos())) if left else (
        lambda x: jnp.einsum("bkj,bik->bji", twos(), x))
    assert "dot_general" not in body(contract, batch)
    assert "dot_general" in body(lambda m: m @ (ones() * np.float32(0.3)), M)


def test_calls_are_inlined():
    inner = tanx.custom_jvp(lambda x: jnp.sin(x))
    inner.defjvp(lambda p, t: (inner(*p), t[0]))
    assert body(lambda x: tanx.jit(lambda y: inner(y) * 2)(x), X) == "sin mul"


def test_recomputation_by_checkpoint_is_not_merged():
    def loss(x):
        return jnp.sum(tanx.checkpoint(lambda y: jnp.sin(jnp.exp(y)))(x))
    names = body(lambda x: tanx.value_and_grad(loss)(x), M)
    assert names.split().count("exp") == 2
    assert "optimization_barrier" in names


def test_equations_with_unused_results_are_removed():
    def fun(x):
        jnp.exp(x)
        return tanx.jit(lambda y: (jnp.sin(y), jnp.cos(y)))(x)[0]
    assert body(fun, X) == "sin"
    closed = tanx.make_jaxpr(lambda x: (jnp.exp(x), jnp.sin(x))[1])(X)
    assert [eqn.primitive.name for eqn in drop_dead(closed).eqns] == ["sin"]


def chain(count):
    def fun(x, y):
        for _ in range(count // 4):
            x = jnp.sin(x) * y
            y = (y + x) - 0.5
        return x
    return tanx.make_jaxpr(fun)(M, M)


def test_the_work_grows_with_the_number_of_equations():
    jaxprs = {n: chain(n) for n in (400, 800)}
    assert_linear(lambda n: lambda: simplify(inline(jaxprs[n])), 400)


# -- decompose -------------------------------------------------------------------------------------


def decomposed(fun, *args):
    closed = tanx.make_jaxpr(fun)(*args)
    simple = decompose(closed, host())
    check_jaxpr(simple)
    for want, got in zip(evaluated(closed, args), evaluated(simple, args), strict=True):
        np.testing.assert_allclose(want, got, rtol=1e-6)
    return [eqn.primitive.name for eqn in simple.eqns]


@pytest.mark.parametrize("y", [1, 2, 3, 4, 5, 7, 8, 12, -1, -2, -3])
def test_powers_become_products(y):
    x = np.array([0.5, -1.25, 3.0], np.float32)
    names = decomposed(lambda x: lax.integer_pow(x, y), x)
    assert set(names) <= {"mul", "div"} and len(names) <= 5


@pytest.mark.parametrize(("fun", "names"), [
    (lambda x: x ** 2.0, ["mul"]), (lambda x: x ** 3.0, ["mul", "mul"]),
    (lambda x: x ** -1.0, ["div"]), (lambda x: x ** 0.5, ["pow"]), (lambda x: x ** x, ["pow"])])
def test_small_powers_become_products(fun, names):
    assert decomposed(fun, np.array([0.5, 1.25, 3.0], np.float32)) == names


def test_splits_become_slices():
    assert decomposed(lambda x: lax.split(x, (3, 5)), X[:8]) == ["slice", "slice"]


@pytest.mark.parametrize("text", ["i,j->ij", "bi,bj->bij", "ik,kj->ij", "bi,bj->jbi", ",->"])
def test_products_without_a_sum_are_elementwise(text):
    sizes = dict(i=2, j=3, b=4, k=1)
    left, right = text.partition("->")[0].split(",")
    x, y = (np.random.default_rng(0).normal(size=[sizes[c] for c in s]).astype("float32")
            for s in (left, right))
    names = decomposed(lambda x, y: jnp.einsum(text, x, y), x, y)
    assert "dot_general" not in names


@pytest.mark.parametrize("read", [
    lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False), lambda x, i: x[i + jnp.arange(2)]])
def test_cotangents_of_elements_are_added_where_they_are(read):
    """Otherwise each step of a loop would add all elements, not only a few."""
    def fun(x, i, total):
        _, back = tanx.vjp(lambda x: jnp.sum(jnp.sin(read(x, i))), x)
        return add_any(total, back(1.0)[0])
    x = np.arange(1000, dtype=np.float32)
    eqns = simplified(fun, x, 7, x + 1).eqns
    assert not any(eqn.primitive.name in ("add", "add_any") and eqn.outvars[0].aval.size > 2
                   for eqn in eqns)
