"""Symbolic sizes: their arithmetic, and programs that are exported with them."""

import itertools
import random

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import export, lax
from tanx._base.symbolic import Scope, bounds, evaluate, largest, least, parse_dim, slice_indices
from tanx.errors import InconclusiveDimensionOperation, UnexpectedDimVar

A, B = export.symbolic_shape("a, b")
NAMES = {"a": A, "b": B, "largest": largest, "least": least, "bounds": bounds}

# --- Arithmetic -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text, shown", [
    ("a + b", "b + a"), ("2*a + b", "b + 2*a"), ("a - b", "- b + a"), ("a*b + a*a", "a*b + a^2"),
    ("a - 2*b + 3", "- 2*b + a + 3"), ("-a", "- a"), ("a*3 + 0", "3*a"), ("3 - a", "- a + 3"),
    ("a*a*b", "a^2*b"), ("(a + 1)*(a - 1)", "a^2 - 1"), ("a - a", "0"), ("a**2", "a^2"),
    ("a // 2", "floordiv(a, 2)"), ("a % 2", "mod(a, 2)"), ("(a + b) // 2", "floordiv(b + a, 2)"),
    ("4*a // 2", "2*a"), ("(2*a + 4) // 2", "a + 2"), ("(a*b) // a", "b"), ("(a*b) % a", "0"),
    ("(4*a + 3) % 2", "1"), ("a // b", "floordiv(a, b)"), ("3 // a", "floordiv(3, a)"),
    ("-(-a // 2)", "- floordiv(- a, 2)"), ("divmod(a, 2)", "(floordiv(a, 2), mod(a, 2))"),
    ("(a*b + b) // (a + 1)", "b"), ("largest(a, b)", "max(a, b)"), ("largest(a, 1)", "a"),
    ("least(a, 3)", "min(a, 3)"), ("max(a, 1)", "a"), ("np.int64(2)*a", "2*a"),
])
def test_sizes_print_as_in_jax(text, shown):
    assert str(eval(text, {**NAMES, "np": np})) == shown


@pytest.mark.parametrize("text, answer", [
    ("a == b", False), ("a == a + 0", True), ("a*2 == a + a", True), ("a != b", True),
    ("a == 3", False), ("a in (1, 2)", False), ("a >= 1", True), ("a > 0", True), ("a < 0", False),
    ("a + 1 > a", True), ("a + b >= 2", True), ("2*a >= a", True), ("a*b >= 1", True),
    ("a*a >= a", True), ("a // 2 >= 0", True), ("a % 2 < 2", True), ("a % b < b", True),
    ("a - 1 >= 0", True), ("bool(a)", True), ("2*(a // 2) <= a", True),
    ("2*(a // 2) + 1 >= a", True), ("least(a, 3) <= a", True), ("largest(a, b) >= b", True),
    ("a > 1", None), ("a >= b", None), ("min(a, b)", None), ("int(a)", None), ("bool(a - 1)", None),
])
def test_comparisons(text, answer):
    if answer is None:
        with pytest.raises(InconclusiveDimensionOperation, match="tanx.export"):
            eval(text, NAMES)
    else:
        assert eval(text, NAMES) is answer


def random_size(rng, depth=3):
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["a", "b", str(rng.randint(1, 5))])
    kind = rng.choice(["+", "-", "*", "//", "%", "largest", "least"])
    first, second = random_size(rng, depth - 1), random_size(rng, depth - 1)
    if kind in ("//", "%"):
        second = rng.choice(["a", "b", "2", "3", "(a + b)"])
    return f"{kind}({first}, {second})" if kind.isalpha() else f"({first} {kind} {second})"


def test_sizes_agree_with_numbers():
    """Values, bounds, text and comparisons of random expressions."""
    rng, scope = random.Random(0), A.scope
    numbers = list(itertools.product((1, 2, 3, 7), repeat=2))
    for _ in range(150):
        text = random_size(rng)
        size = eval(text, NAMES)
        low, high = bounds(size)
        assert parse_dim(str(size), scope) == size
        for a, b in numbers:
            value = eval(text, {"a": a, "b": b, "largest": max, "least": min})
            assert evaluate(size, {"a": a, "b": b}) == value, text
            assert low <= value <= high, text


def test_sizes_of_slices():
    ends = [None, 0, 1, 3, -1, -2]
    for start, stop, step in itertools.product(ends, ends, (None, 1, 2, -1, -2)):
        try:
            found = slice_indices(slice(start, stop, step), A)
        except InconclusiveDimensionOperation:
            continue
        for n in (1, 2, 3, 6):
            expected = slice(start, stop, step).indices(n)
            assert [evaluate(d, {"a": n}) for d in found] == list(expected), (start, stop, step)


def test_symbolic_sizes_have_no_concrete_value():
    for use in (lambda: range(A), lambda: [1, 2][A], lambda: np.zeros(A)):
        with pytest.raises(TypeError):
            use()
    with pytest.raises(InconclusiveDimensionOperation):
        np.asarray(A)
    with pytest.raises(NotImplementedError, match="only in exported programs"):
        A * 1.5
    with pytest.raises(NotImplementedError, match="only in exported programs"):
        jnp.ones(3) * A
    with pytest.raises(TypeError):
        A + "text"
    assert len({A, A + 0, B, parse_dim("a", Scope())}) == 3


@pytest.mark.parametrize("constraint, text, shown", [
    ("a*b == c + d", "a*b, 2*a*b, a*b*b, a*b*e", "d + c, 2*d + 2*c, b*d + b*c, d*e + c*e"),
    ("a*b == c + d", "a*b + a, mod(a*b, 2)", "d + c + a, mod(d + c, 2)"),
    ("a*a == 4*c", "a*a, a*a*a, a", "4*c, 4*a*c, a"), ("a*b == 4", "a*b*c", "4*c"),
    ("c == a*b", "c, a*b, c*c", "a*b, a*b, a^2*b^2"), ("a*b == c*d", "a*b", "a*b"),
])
def test_products_that_equal_something_are_replaced(constraint, text, shown):
    sizes = export.symbolic_shape(text, scope=export.SymbolicScope([constraint]))
    assert ", ".join(map(str, sizes)) == shown


def test_constraints():
    a, b, c, d, e, f = export.symbolic_shape(
        "a, b, c, d, e, f", constraints=["a >= 4", "b <= 10", "c == 2*b", "mod(d, 2) == 0",
                                         "2*floordiv(e, 2) == e", "f >= a"])
    assert [export.symbolic_dim_bounds(x) for x in (a, b, c, 3)] == [
        (4, np.inf), (1, 10), (2, 20), (3, 3)]
    assert str(c) == "2*b" and d % 2 == 0 and d // 2 * 2 == d and e // 2 * 2 == e
    assert f >= a and f >= 4 and f + 1 > a and (f - a) >= 0
    for constraints, problem in (["a"], "needs ==, >= or <="), (["a > 3"], "needs =="), (
            "a >= 3", "sequence of strings"), (["1 >= 2"], "never holds"), ([3], "a string"):
        with pytest.raises(ValueError, match=problem):
            export.symbolic_shape("a", constraints=constraints)
    with pytest.raises(InconclusiveDimensionOperation, match="known: a >= 4, b <= 10"):
        bool(a >= b)


def test_scopes():
    scope = export.SymbolicScope(["a >= 3"])
    (a,) = export.symbolic_shape("a", scope=scope)
    assert a >= 3 and "a >= 3" in str(scope) and "test_symbolic.py" in str(scope)
    assert a == export.symbolic_shape("a", scope=scope)[0] != A
    with pytest.raises(ValueError, match="different scopes"):
        a + A
    with pytest.raises(ValueError, match="not both"):
        export.symbolic_shape("a", scope=scope, constraints=["a >= 2"])
    with pytest.raises(ValueError, match="different scopes"):
        export.export(tanx.jit(lambda x, y: x.sum() + y.sum()))(spec(a), spec(A))


# --- Shapes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, like, shown", [
    ("a, b", None, "(a, b)"), ("(a, b)", None, "(a, b)"), ("(a,)", None, "(a,)"),
    ("a", None, "(a,)"), ("2*a, a+b-1", None, "(2*a, b + a - 1)"), ("3, 4", None, "(3, 4)"),
    ("", None, "()"), ("()", None, "()"), ("max(a, 2), mod(a,b)", None, "(max(a, 2), mod(a, b))"),
    ("a^2, -a + 5", None, "(a^2, - a + 5)"), ("a, ...", (3, 4, 5), "(a, 4, 5)"),
    ("_, b", (3, 4), "(3, b)"), (None, (4, 4), "(4, 4)"), ("...", (), "()"),
])
def test_shapes(text, like, shown):
    assert str(export.symbolic_shape(text, like=like)) == shown


@pytest.mark.parametrize("text, like", [
    ("a b", None), ("a, ...", None), ("a, _", None), ("a, 2.5", None), ("a//2", None),
    ("a,,b", None), ("1a", None), ("a*(b", None), ("floordiv(a)", None), ("mod(a, 0)", None),
    ("3, b", (4, 4)), ("a, _", (3,)), (7, None), ("a, ..., b", (1, 2, 3)), ("(" * 99, None)])
def test_malformed_shapes_raise(text, like):
    with pytest.raises(ValueError, match="tanx.export.symbolic_shape"):
        export.symbolic_shape(text, like=like)


def test_specs_of_arguments():
    args = (np.ones((3, 4), np.float32), {"k": np.ones(3)})
    one, two = export.symbolic_args_specs(args, ("a, ...", None))
    assert str(one.shape) == "(a, 4)" and two["k"].shape == (3,) and one.dtype == np.float32
    one, two = export.symbolic_args_specs(args, ("a, ...", {"k": "a"}), constraints=["a >= 2"])
    assert one.shape[0] == two["k"].shape[0] >= 2
    assert export.is_symbolic_dim(one.shape[0]) and not export.is_symbolic_dim(4)
    one, two = export.symbolic_args_specs(args, "a, ...")
    assert str(two["k"].shape) == "(a,)"
    with pytest.raises(ValueError):
        export.symbolic_args_specs(args, ("a, ...", None, None))


# --- Programs -------------------------------------------------------------------------------------


def spec(*shape, dtype=np.float32):
    return tanx.ShapeDtypeStruct(shape, dtype)


def attention(q, k, v):
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / jnp.sqrt(q.shape[-1])
    return jnp.einsum("bhts,bshd->bthd", tanx.nn.softmax(scores), v)


def normalised(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def loss(w, x):
    return (jnp.tanh(x @ w) ** 2).mean()


HEADS = (A, B, 2, 4)
PROGRAMS = {
    "elementwise": (lambda x, y: jnp.sin(x) * y + 1, [(A, 3), (3,)]),
    "one": (lambda x: x + np.ones(1, np.float32), [(A,)]),
    "matmul": (lambda x, y: x @ y, [(A, B), (B, 3)]),
    "means": (lambda x: (x.mean(0), x.mean(), x.sum(1), x.max(0), jnp.argmax(x, 1)), [(A, B)]),
    "reshape": (lambda x: (x.reshape(-1), x.reshape(-1, 4), x.reshape(x.shape[0], 2, 4),
                           x.reshape(4, -1, 2 * x.shape[0])), [(A, 8)]),
    "network": (lambda x, w, v: tanx.nn.relu(jnp.tanh(x @ w) @ v), [(A, 4), (4, 8), (8, 2)]),
    "norm": (normalised, [(A, B)]),
    "attention": (attention, [HEADS] * 3),
    "attention2": (tanx.nn.dot_product_attention, [HEADS] * 3),
    "gradient": (tanx.grad(loss), [(4, 3), (A, 4)]),
    "slices": (lambda x: (x[1:], x[:-1], x[::2], x[:3], x[0], x[-1], x[::-1], x[None, :, None]),
               [(A,)]),
    "bounds": (lambda x: (x[:x.shape[1]], x[x.shape[1]:], x[-x.shape[1]:, ::2]), [(A, B)]),
    "greatest": (lambda x, sized: lax.top_k(x, sized.shape[1]), [(2, 3 * B), (0, B)]),
    "shape": (lambda x: lax.shape_as_value(x.shape), [(A, 2, B)]),
    "joined": (lambda x: (jnp.concatenate([x, x, jnp.ones(3)]), jnp.stack([x, x])), [(A,)]),
    "sizes": (lambda x: (x.shape[0], x.size * 1.0, x.shape[0] + x, x.shape[0] / 2), [(A, 2)]),
    "conv": (lambda x: lax.conv(x, jnp.ones((1, 1, 3, 3)), (2, 2), "SAME"), [(1, 1, A, A)]),
    "pool": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
             [(A, 8, 8, 3)]),
    "sort": (lambda x: (jnp.sort(x), jnp.cumsum(x), x + jnp.arange(x.shape[0])), [(A,)]),
    "scan": (lambda x: lax.scan(lambda c, r: (c + r, c), jnp.zeros(2), x), [(A, 2)]),
    "control": (lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, lax.fori_loop(
        0, 3, lambda i, c: jnp.sin(c), x)), [(A, 2)]),
    "vmap": (tanx.vmap(lambda x, y: x @ y + x.sum()), [(A, 2), (A, 2)]),
    "moved": (lambda x: (x.T, jnp.tile(x, (2, 1)), jnp.pad(x, ((1, 1), (0, 0))),
                         jnp.roll(x, 1, axis=0)), [(A, B)]),
    "matrices": (lambda x: (jnp.tril(x), jnp.eye(x.shape[0]) + x), [(A, A)]),
    "lookup": (lambda x: (jnp.take(x, jnp.array([0, 0]), axis=0), x.at[0].set(1.0),
                          jnp.ones((10, 4))[x.astype(int)]), [(A, B)]),
    "halves": (lambda x: jnp.split(x, 2), [(2 * A,)]),
    "random": (lambda x: tanx.random.normal(tanx.random.key(0), x.shape), [(2 * A + 1,)]),
    "dropout": (lambda x: tanx.random.bernoulli(tanx.random.key(0), 0.5, x.shape) * x, [(A, 2)]),
    "again": (tanx.checkpoint(lambda x: tanx.jit(jnp.sin)(x) * x.shape[0]), [(A,)]),
}
SIZES = ({"a": 4, "b": 3}, {"a": 1, "b": 1})


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_for_all_sizes(name):
    fun, shapes = PROGRAMS[name]
    function = tanx.jit(fun)
    exported = export.export(function)(*[spec(*shape) for shape in shapes])
    found = export.deserialize(exported.serialize())
    assert found.uses_global_constants
    for number, sizes in enumerate(SIZES):
        rng = np.random.default_rng(number)
        args = [rng.uniform(0.1, 0.9, [evaluate(d, sizes) for d in shape]).astype(np.float32)
                for shape in shapes]
        expected = tanx.tree.leaves(function(*args))
        types = [[evaluate(d, sizes) for d in aval.shape] for aval in found.out_avals]
        assert types == [list(y.shape) for y in expected]
        for _ in range(4 if number == 0 else 1):
            for x, y in zip(tanx.tree.leaves(found.call(*args)), expected, strict=True):
                assert x.aval == y.aval
                np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_types_are_symbolic():
    exported = export.export(tanx.jit(lambda x, w: jnp.concatenate([x @ w, x[:1] @ w])))(
        spec(A, B), spec(B, 3))
    for found in (exported, export.deserialize(exported.serialize())):
        assert str(found.in_avals) == "(ShapedArray(float32[a,b]), ShapedArray(float32[b,3]))"
        assert str(found.out_avals) == "(ShapedArray(float32[a + 1,3]),)"
    assert str(tanx.eval_shape(lambda x: x.reshape(-1), spec(A, B)).shape) == "(a*b,)"
    text = str(tanx.make_jaxpr(lambda x: x.mean())(spec(A)))
    assert "dim_as_value[dim=a]" in text and "f32[a]" in text


def test_derivatives():
    exported = export.export(tanx.jit(lambda x, w: jnp.tanh(x @ w).mean(0)))(spec(A, B), spec(B, 3))
    found = export.deserialize(exported.serialize(vjp_order=1))
    assert [a.str_short() for a in found.vjp().in_avals] == [
        "float32[a,b]", "float32[b,3]", "float32[3]"]

    def total(x, w):
        return jnp.tanh(x @ w).mean(0).sum()
    gradient = tanx.jit(tanx.grad(lambda x, w: found.call(x, w).sum(), argnums=1))
    for a, b in ((2, 3), (5, 2)):
        x, w = np.full((a, b), 0.3, np.float32), np.full((b, 3), 0.2, np.float32)
        for _ in range(4):
            np.testing.assert_allclose(gradient(x, w), tanx.grad(total, argnums=1)(x, w), rtol=1e-5)


def test_calls_with_symbolic_sizes():
    """An exported function with symbolic sizes is called in another one."""
    inner = export.export(tanx.jit(lambda x: jnp.concatenate([x, x]) * x.shape[0]))(spec(2 * A))
    (n,) = export.symbolic_shape("n")
    outer = export.export(tanx.jit(lambda x: inner.call(jnp.concatenate([x, x])) + 1))(spec(n))
    assert str(outer.out_avals) == "(ShapedArray(float32[4*n]),)"
    found = export.deserialize(outer.serialize())
    for _ in range(4):
        np.testing.assert_array_equal(found.call(np.ones(3, np.float32)), np.full(12, 7.0))
    mapped = tanx.jit(tanx.vmap(inner.call))
    for _ in range(4):
        np.testing.assert_array_equal(mapped(np.ones((2, 4), np.float32)), np.full((2, 8), 4.0))


@pytest.mark.parametrize("shapes, given, facts", [
    ([(A, B), (B, 3)], [(2, 4), (5, 3)], ("args[1]", "b = 4", "a = 2, b = 4")),
    ([(A, B), (B, 3)], [(2, 4), (4, 4)], ("args[1]", "float32[b,3]", "float32[4,4]")),
    ([(A, B)], [(4,)], ("number of dimensions", "float32[a,b]")),
    ([(A, B)], [(0, 4)], ("no a of 1 or more", "a = 0")),
    ([(2 * A + 1,)], [(4,)], ("no a of 1 or more", "2*a + 1 = 4")),
    ([(A, A)], [(2, 3)], ("a = 2",)),
])
def test_wrong_sizes(shapes, given, facts):
    exported = export.export(tanx.jit(lambda *xs: [x.sum() for x in xs]))(*[
        spec(*shape) for shape in shapes])
    found = export.deserialize(exported.serialize())
    with pytest.raises(ValueError, match="tanx.export.Exported.call") as caught:
        found.call(*[np.ones(shape, np.float32) for shape in given])
    assert all(fact in str(caught.value) for fact in facts), caught.value


@pytest.mark.parametrize("size, constraint", [(2, "c >= 3"), (5, "mod(c, 2) == 0"), (12, "c<=10")])
def test_broken_constraints_are_named(size, constraint):
    (c,) = export.symbolic_shape("c", constraints=["c >= 3", "mod(c, 2) == 0", "c<=10"])
    exported = export.export(tanx.jit(lambda x: x.reshape(-1, 2)))(spec(c))
    found = export.deserialize(exported.serialize())
    assert str(found.out_avals) == "(ShapedArray(float32[floordiv(c, 2),2]),)"
    assert found.call(np.ones(4, np.float32)).shape == (2, 2)
    with pytest.raises(ValueError, match="break the constraint") as caught:
        found.call(np.ones(size, np.float32))
    assert constraint in str(caught.value)


def test_constraints_on_remainders():
    n, = export.symbolic_shape("n", constraints=["n >= mod(n, 3)"])
    assert n - n % 3 >= 0
    exported = export.export(tanx.jit(lambda x: lax.slice_in_dim(x, 0, x.shape[0] % 3)))(spec(n))
    assert str(exported.out_avals) == "(ShapedArray(float32[mod(n, 3)]),)"
    for size in (5, 5, 5, 5, 3, 1):
        assert exported.call(np.ones(size, np.float32)).shape == (size % 3,)


@pytest.mark.parametrize("fun", [
    lambda k: lambda x: jnp.zeros(k), lambda k: lambda x: lax.top_k(x, 10 - k)[0],
    lambda k: lambda x: x * k, lambda k: lambda x: tanx.jit(lambda y: y + jnp.ones(k).sum())(x)])
def test_sizes_that_no_argument_determines_raise(fun):
    k, = export.symbolic_shape("k", constraints=["k <= 10"])
    with pytest.raises(UnexpectedDimVar, match="variables: k"):
        export.export(tanx.jit(fun(k)))(spec(10))


def test_operations_that_need_concrete_sizes_raise():
    with pytest.raises(TypeError, match="known while tracing"):
        export.export(tanx.jit(lambda x: x.reshape(jnp.array(x.shape[0]) + 2)))(spec(A))
    with pytest.raises(InconclusiveDimensionOperation, match="whether a > 3"):
        export.export(tanx.jit(lambda x: x if x.shape[0] > 3 else -x))(spec(A))
    with pytest.raises(TypeError, match="incompatible shapes for broadcasting"):
        export.export(tanx.jit(lambda x: x + np.ones(4, np.float32)))(spec(A))
    with pytest.raises(ValueError, match="do not determine the values"):
        export.export(tanx.jit(jnp.sin))(spec(A * B))
    with pytest.raises(TypeError, match="has symbolic sizes"):
        tanx.jit(jnp.sin).lower(spec(A)).compile()
    with pytest.raises(NotImplementedError, match="symbolic sizes"):
        export.export(tanx.jit(jnp.sin))(spec(A)).mlir_module()
    assert str(spec(A, 3).size) == "3*a"
    with pytest.raises(TypeError):
        export.export(tanx.jit(lambda x: [x[i] for i in range(x.shape[0])]))(spec(A))
