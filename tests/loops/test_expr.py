"""Expressions: one object per structure, and simplification of index arithmetic."""

import operator
import pickle
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanx._loops.build import clamp_index, convert, flatten_index, select, unflatten_index
from tanx._loops.expr import Const, Index, Op, Pick, State, bounds, const, facts_of, interned, op
from tanx._loops.instructions import apply
from tanx._loops.nest import Buffer
from tanx._loops.show import show_expr
from tanx._loops.traverse import walk

A, B = Index("i", 8), Index("j", 5)
X = Buffer("x", (8,), np.int64)
EDGES = [0, 1, -1, 2**63 - 1, -2**63, 2**62, -3, 12345]

# -- identity --------------------------------------------------------------------------------------


def test_equal_structure_is_one_object():
    assert Index("i", 8) is A and Index("i", 9) is not A
    assert A * 2 + B is A * 2 + B
    assert X[[A]] is X[[A]] and X[[A]] is not X[[B]]
    assert op("exp", const(1, "float32")) is op("exp", const(1, "float32"))
    assert State("s", "f4") is State("s", "float32")


def test_constants_are_distinguished_by_their_bits():
    assert Const(0.0, "float32") is not Const(-0.0, "float32")
    assert Const(float("nan"), "float32") is Const(float("nan"), "float32")
    assert len({Const(1, d) for d in ("int64", "int32", "float32", "bool", "bfloat16")}) == 5


def test_constants_do_not_lose_their_fraction():
    with pytest.raises(TypeError, match=r"0.5 is not a constant of dtype i64"):
        A + 0.5
    with pytest.raises(TypeError, match="is not a constant of dtype f32"):
        const(1j, "float32")


def test_equality_is_identity_and_truth_values_raise():
    assert (A == B) is False
    with pytest.raises(TypeError, match="no truth value"):
        bool(A < B)


def test_expressions_are_immutable():
    with pytest.raises(AttributeError):
        A.extent = 9
    with pytest.raises(TypeError):
        pickle.dumps(A)


def test_threads_share_expressions():
    made = []

    def build():
        made.append([Index("shared", n) + 1 for n in range(200)])

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(row[n] is made[0][n] for row in made for n in range(200))


def test_freed_expressions_run_no_python_code():
    """Python drops a KeyboardInterrupt that is raised in the callback of a weak reference."""
    held = [Index("freed", n) + 1 for n in range(20)]
    known = len(interned._interned)
    called = []
    sys.setprofile(lambda frame, event, arg: event == "call" and called.append(frame))
    try:
        held.clear()
    finally:
        sys.setprofile(None)
    assert not called
    Index("another", 7)
    assert len(interned._interned) < known


def test_free_variables():
    assert (A * 2 + B).free == {A, B}
    assert X[[A]].free == {A}
    assert const(3).free == frozenset()


# -- layouts read as they are meant ----------------------------------------------------------------


@pytest.mark.parametrize("expr, text", [
    (A + 0, "i"), (A * 1, "i"), (A * 0, "0"), (2 + A + 3, "i + 5"), (A - 2, "i - 2"),
    (7 - A, "7 - i"), (7 - (7 - A), "i"), (A + B - A, "j"), (-A, "0 - i"),
    ((A * 5 + B) // 5, "i"), ((A * 5 + B) % 5, "j"), ((A * 10 + B) // 5, "i * 2"),
    ((A * 15 + B * 3 + 2) // 15, "i"), (A // 2 // 2, "i // 4"), (A % 4 % 2, "i % 2"),
    (A // 8, "0"), (A % 8, "i"), ((A + 8) % 8, "i"), (A // 2 * 2 + A % 2, "i"),
    (A < 8, "true"), (A > 7, "false"), (A < 5, "i < 5"), (A - 2 >= 0, "i >= 2"),
    (op("eq", A, A), "true"), (op("ne", A + 1, A), "true"), (op("max", A, 9 + B), "j + 9"),
    (op("min", A, -1), "-1"), (clamp_index(A, 8), "i"), (clamp_index(A, 4), "clamp(0, i, 3)"),
    ((A < 8) & (B < 3), "j < 3"), ((A < 3) | (B < 5), "true"), (~(A < 8), "false"),
    (select(A < 8, A, B), "i"), (select(A < 3, B, B), "j"),
    (convert(A, np.int64), "i"), (convert(const(3), np.int32), "3:i32"),
    (convert(convert(Buffer("y", (), np.int32)[()], np.int64), np.int32), "y[]"),
], ids=str)
def test_simplification(expr, text):
    assert show_expr(expr) == text


def test_values_are_not_reordered():
    x = Buffer("x", (8,), np.float32)[[A]]
    assert show_expr(x + 0.0) == "x[i] + 0.0:f32"
    assert show_expr((x + 1.0) - 1.0) == "x[i] + 1.0:f32 - 1.0:f32"


def test_int64_values_may_wrap_so_division_stays():
    x = X[[A]]
    assert show_expr(x * 4 // 4) == "x[i] * 4 // 4"
    assert show_expr(x + 1 > x) == "x[i] + 1 > x[i]"


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_flattening_an_unflattened_index_simplifies(shape, data):
    size = int(np.prod(shape))
    flat = Index("n", size)
    assert show_expr(flatten_index(unflatten_index(flat, shape), shape)) == (
        "n" if size > 1 else "0")


@given(st.permutations([2, 3, 4]), st.sampled_from([(24,), (6, 4), (2, 12), (4, 3, 2)]))
def test_unflatten_agrees_with_numpy(shape, other):
    at = tuple(Index(n, e) for n, e in zip("abc", shape))
    grids = dict(zip(at, np.indices(shape)))
    index = unflatten_index(flatten_index(at, shape), other)
    expected = np.unravel_index(np.arange(24).reshape(shape), other)
    for expr, values in zip(index, expected):
        np.testing.assert_array_equal(np.broadcast_to(value(expr, grids), shape), values)


# -- folding keeps the meaning ---------------------------------------------------------------------


def value(expr, grids):
    """The value of an expression on grids of its variables and loads."""
    values = dict(grids)
    for node in walk(expr, into=lambda n: () if n in grids else getattr(n, "args", ())):
        if isinstance(node, Const):
            values[node] = np.asarray(node.value)
        elif isinstance(node, Op):
            args = [values[a] for a in node.args]
            values[node] = np.where(*args) if node.name == "select" else (
                apply(node.name, args, node.dtype, dict(node.attrs)))
    return values[expr]


GRIDS = dict(zip((A, B, X[[A]]), np.meshgrid(np.arange(8), np.arange(5), EDGES, indexing="ij")))



class Tree(tuple):
    """An expression and its expected value; failures print the expression only."""

    def __repr__(self):
        return repr(self[0])


ATOMS = st.sampled_from([Tree((atom, grid)) for atom, grid in GRIDS.items()])
SMALL_ATOMS = st.sampled_from([Tree((atom, GRIDS[atom])) for atom in (A, B)])
NUMBERS = st.one_of(st.integers(-12, 12), st.sampled_from([2**62, 2**63 - 1, -2**63]))
DIVISORS = st.sampled_from([1, 2, 3, 4, 5, 8, 12, 20, 2**40])


def extended(children):
    """Pairs of an expression and its expected value, built from such pairs."""
    def ring(f, a, b):
        with np.errstate(over="ignore"):
            return Tree((f(a[0], b[0]), f(a[1], b[1])))

    def scaled(f, a, n):
        with np.errstate(over="ignore"):
            return Tree((f(a[0], n), f(a[1], np.int64(n))))

    def divided(f, a, n):
        return Tree((f(a[0], n), f(a[1], n)))

    def chosen(name, a, b):
        both = {"max": np.maximum, "min": np.minimum}[name](a[1], b[1])
        return Tree((op(name, a[0], b[0]), both))

    ops = st.sampled_from([operator.add, operator.sub, operator.mul])
    return st.one_of(
        st.builds(ring, ops, children, children),
        st.builds(scaled, ops, children, NUMBERS),
        st.builds(divided, st.sampled_from([operator.floordiv, operator.mod]), children, DIVISORS),
        st.builds(chosen, st.sampled_from(["max", "min"]), children, children))


TREES = st.recursive(st.one_of(ATOMS, SMALL_ATOMS), extended, max_leaves=8)
COMPARISONS = st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"])


@settings(max_examples=400, deadline=None)
@given(TREES)
def test_folded_index_arithmetic_keeps_its_value(tree):
    expr, expected = tree
    np.testing.assert_array_equal(np.broadcast_to(value(expr, GRIDS), expected.shape), expected)


@settings(max_examples=400, deadline=None)
@given(TREES)
def test_values_lie_within_bounds(tree):
    expr, expected = tree
    low, high = bounds(expr)
    assert low <= expected.min() and expected.max() <= high


@settings(max_examples=300, deadline=None)
@given(COMPARISONS, TREES, st.one_of(TREES, NUMBERS.map(lambda n: (const(n), np.int64(n)))))
def test_folded_comparisons_keep_their_value(name, a, b):
    expected = getattr(operator, name)(a[1], b[1])
    np.testing.assert_array_equal(
        np.broadcast_to(value(op(name, a[0], b[0]), GRIDS), expected.shape), expected)


CONDITIONS = st.recursive(
    st.builds(lambda name, a, b: Tree((op(name, a[0], b[0]), getattr(operator, name)(a[1], b[1]))),
              COMPARISONS, TREES, TREES),
    lambda inner: st.one_of(
        st.builds(lambda a, b: Tree((a[0] & b[0], a[1] & b[1])), inner, inner),
        st.builds(lambda a, b: Tree((a[0] | b[0], a[1] | b[1])), inner, inner),
        st.builds(lambda a: Tree((~a[0], ~a[1])), inner)), max_leaves=4)


@settings(max_examples=300, deadline=None)
@given(CONDITIONS, TREES, st.booleans())
def test_facts_hold_where_the_condition_does(condition, tree, holds):
    expr, values = tree
    where = np.broadcast_to(condition[1] if holds else ~condition[1], values.shape)
    low, high = bounds(expr, facts_of(condition[0], holds))
    if where.any():
        assert low <= values[where].min() and values[where].max() <= high


def test_facts_of_a_padded_index():
    facts = facts_of((A - 2 >= 0) & (A - 2 < 4))
    assert bounds(A - 2, facts) == (0, 3)
    assert bounds((A - 2) // 2, facts) == (0, 1)
    assert bounds(5 - A, facts) == (0, 3)


def test_pick_has_the_dtype_of_its_state():
    from tanx._loops.build import fold
    last, = fold(3, [const(0, "int8")], lambda k, s: [s[0] + 1])
    assert isinstance(last, Pick) and last.dtype == np.int8


def test_bounds_of_deep_and_shared_integers_take_no_time():
    x = Buffer("y", (), np.int32)[()]
    for _ in range(2000):
        x = op("max", x * x, x + 1)
    assert bounds(convert(x, np.int64)) == (-2**31, 2**31 - 1)
    assert bounds(convert(x, np.int64), {A: (0, 1)}) == (-2**31, 2**31 - 1)
    deep = A
    for _ in range(2000):
        deep = op("min", deep * B, B)
    assert bounds(deep) == (0, 4)
