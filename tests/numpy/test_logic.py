"""Comparisons, tests of numbers and choices: against NumPy, with types as in JAX."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp

VALUES = np.array([-np.inf, -2.0, -0.0, 0.0, 1.0, np.inf, np.nan], np.float32)
INTEGERS = np.array([-2, 0, 1, 3], np.int32)
COMPLEX = np.array([1 + 2j, 1 - 2j, 2 + 0j, complex(np.nan, 1), complex(0, np.inf)], np.complex64)


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater",
                                  "greater_equal", "logical_and", "logical_or", "logical_xor"])
@pytest.mark.parametrize("values", [VALUES, INTEGERS, INTEGERS > 0, COMPLEX[:3]],
                         ids=lambda v: str(v.dtype))
def test_comparisons_agree_with_numpy(name, values):
    x, y = values[:, None], values[None]
    got = getattr(jnp, name)(jnp.array(x), jnp.array(y))
    np.testing.assert_array_equal(got, getattr(np, name)(x, y))
    assert got.dtype == bool and not got.weak_type


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "isposinf", "isneginf",
                                  "logical_not"])
@pytest.mark.parametrize("values", [VALUES, INTEGERS, INTEGERS > 0, COMPLEX],
                         ids=lambda v: str(v.dtype))
def test_tests_of_numbers_agree_with_numpy(name, values):
    if values is COMPLEX and name in ("isposinf", "isneginf"):
        with pytest.raises(ValueError):
            getattr(jnp, name)(jnp.array(values))
        return
    got = getattr(jnp, name)(jnp.array(values))
    want = np.zeros(values.shape, bool) if values.dtype == bool and "inf" in name and (
        name != "isinf") else getattr(np, name)(values)
    np.testing.assert_array_equal(got, want)
    assert got.dtype == bool


@pytest.mark.parametrize("options", [{}, {"equal_nan": True}, {"rtol": 0.5}, {"atol": 3.0}])
def test_isclose_agrees_with_numpy(options):
    x, y = VALUES[:, None], VALUES[None] * np.float32(1.00001)
    np.testing.assert_array_equal(jnp.isclose(jnp.array(x), jnp.array(y), **options),
                                  np.isclose(x, y, **options))
    assert bool(jnp.allclose(jnp.array(x), jnp.array(y), **options)) == np.allclose(
        x, y, **options)


def test_isclose_broadcasts_its_tolerances():
    assert jnp.isclose(1.0, 1.1, rtol=jnp.array([0.01, 0.2])).tolist() == [False, True]


@pytest.mark.parametrize("a, b, equal, equivalent", [
    ([1, 2], [1, 2], True, True), ([1, 2], [1.0, 2.0], True, True), ([1, 2], [1, 3], False, False),
    ([[1, 2], [1, 2]], [1, 2], False, True), (1, 1, True, True), ([1, 2], [1, 2, 3], False, False),
    ([], [], True, True)])
def test_equality_of_whole_arrays(a, b, equal, equivalent):
    assert bool(jnp.array_equal(a, b)) is equal
    assert bool(jnp.array_equiv(a, b)) is equivalent


def test_array_equal_may_take_nan_for_equal():
    assert not jnp.array_equal(jnp.array(VALUES), VALUES)
    assert jnp.array_equal(jnp.array(VALUES), VALUES, equal_nan=True)


def test_questions_about_objects():
    assert [jnp.isscalar(x) for x in (1, 1.5, "a", jnp.array(1), np.float32(1), [1], jnp.ones(1),
                                      None)] == [True] * 5 + [False] * 3
    assert [jnp.iscomplexobj(x) for x in (1j, [1j], jnp.array([1j]), 1.0, "a")] == (
        [True] * 3 + [False] * 2)
    assert jnp.iscomplex(jnp.array([1j, 1.0, 2 + 0j])).tolist() == [True, False, False]
    assert jnp.isrealobj(1.0) and not jnp.isrealobj(1j)


# -- choices ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes", [((3,), (3,), (3,)), ((3,), (), ()), ((), (3,), (1,)),
                                    ((2, 1), (3,), ()), ((3,), (2, 3), (2, 1)), ((0,), (), (1,))])
def test_where_broadcasts(shapes):
    rng = np.random.default_rng(1)
    condition, x, y = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    condition = condition > 0
    got = jnp.where(jnp.array(condition), jnp.array(x), jnp.array(y))
    np.testing.assert_array_equal(got, np.where(condition, x, y))


def test_where_alone_gives_positions():
    x = np.array([[0, 1], [2, 0]])
    for got, want in zip(jnp.where(jnp.array(x)), np.where(x), strict=True):
        np.testing.assert_array_equal(got, want)
    (padded,) = tanx.jit(lambda x: jnp.where(x > 1, size=3, fill_value=9))(jnp.arange(4))
    assert padded.tolist() == [2, 3, 9]


FACTS = {
    "jnp.where(True, 1, 2)": "Array(1, dtype=int32, weak_type=True)",
    "jnp.where(True, 1, 2.)": "Array(1., dtype=float32, weak_type=True)",
    "jnp.where(True, jnp.int8(1), 2)": "Array(1, dtype=int8)",
    "jnp.where(jnp.arange(3), 1, 2)": "Array([2, 1, 1], dtype=int32, weak_type=True)",
    "jnp.isnan(1)": "Array(False, dtype=bool, weak_type=True)",
    "jnp.isinf(1.)": "Array(False, dtype=bool)",
    "jnp.isposinf(1.)": "Array(False, dtype=bool)",
    "jnp.isfinite(True)": "Array(True, dtype=bool)",
    "jnp.less(1, 2)": "Array(True, dtype=bool, weak_type=True)",
    "jnp.less(1j, 2j)": "Array(True, dtype=bool, weak_type=True)",
    "jnp.logical_not(1)": "Array(False, dtype=bool, weak_type=True)",
    "jnp.isclose(1, 2)": "Array(False, dtype=bool)",
    "jnp.select([True], [1])": "Array(1, dtype=int32, weak_type=True)",
    "jnp.select([jnp.array([True, False])], [jnp.array([1, 2])], 5.)":
        "Array([1., 5.], dtype=float32, weak_type=True)",
    "jnp.piecewise(1., [True], [2])": "Array(2., dtype=float32)",
    "jnp.piecewise(jnp.arange(4), [jnp.arange(4) < 2], [lambda x, a: x * a], 2.5)":
        "Array([0, 2, 0, 0], dtype=int32)",
}


@pytest.mark.parametrize("expression", FACTS)
def test_types_match_jax(expression):
    assert repr(eval(expression)) == FACTS[expression]


def test_select_agrees_with_numpy():
    x = np.arange(6)
    conditions, choices = [x < 2, x < 4], [x, 10 * x]
    np.testing.assert_array_equal(
        jnp.select([jnp.array(c) for c in conditions], [jnp.array(c) for c in choices], -1),
        np.select(conditions, choices, -1))


@pytest.mark.parametrize("functions", [[1, 2], [1, 2, 3], [lambda x: -x, lambda x: 2 * x],
                                       [lambda x: -x, 5, lambda x: 2 * x]])
def test_piecewise_agrees_with_numpy(functions):
    x = np.linspace(-2, 2, 7, dtype=np.float32)
    conditions = [x < 1, x < -1]
    got = jnp.piecewise(jnp.array(x), [jnp.array(c) for c in conditions], functions)
    np.testing.assert_allclose(got, np.piecewise(x, conditions, functions))


def test_piecewise_sees_elements():
    got = jnp.piecewise(jnp.arange(4.0), [jnp.arange(4) < 2], [lambda x: jnp.sum(x), 9])
    assert got.tolist() == [0.0, 1.0, 9.0, 9.0]
    rows = jnp.piecewise(jnp.ones((2, 2)), jnp.array([[[True, False]] * 2]), [lambda x: -x, 6])
    assert rows.tolist() == [[-1.0, 6.0]] * 2


def test_gradients_of_choices_come_from_the_side_taken():
    x = jnp.arange(4.0)
    assert tanx.grad(lambda x: jnp.where(x > 1, x * x, 3 * x).sum())(x).tolist() == [3, 3, 4, 6]
    root = tanx.grad(lambda x: jnp.piecewise(x, [x > 0], [jnp.sqrt, 0.0]).sum())(x)
    np.testing.assert_allclose(root, [0, 0.5, 0.5 / 2**0.5, 0.5 / 3**0.5], rtol=1e-6)
    chosen = tanx.grad(lambda x: jnp.select([x > 2, x > 0], [x * x, 5 * x], x).sum())(x)
    assert chosen.tolist() == [1, 5, 5, 6]


@pytest.mark.parametrize("f", [
    lambda x: jnp.where(x > 1, x, -x), lambda x: jnp.where(x.sum() > 3, x, 0.0),
    lambda x: jnp.select([x > 2, x > 0], [x * x, 5 * x], x),
    lambda x: jnp.piecewise(x, [x > 0], [jnp.sqrt, 0.0]), lambda x: jnp.isclose(x, 1.0),
    lambda x: jnp.array_equal(x, jnp.array([0.0, 1.0, 2.0]))])
def test_mapped_and_compiled_functions_agree_with_a_loop(f):
    x = jnp.array(np.arange(6.0).reshape(2, 3))
    want = np.stack([f(row) for row in x])
    np.testing.assert_allclose(tanx.vmap(f)(x), want)
    np.testing.assert_allclose(tanx.jit(f)(x[0]), want[0])


def test_where_is_a_call_in_jaxprs():
    assert str(tanx.make_jaxpr(lambda x: jnp.where(x > 1, x, 0))(jnp.zeros(3))) == """\
{ lambda ; a:f32[3]. let
    b:bool[3] = gt a 1.0:f32[]
    c:f32[3] = jit[
      name=_where
      jaxpr={ lambda ; b:bool[3] a:f32[3] d:i32[]. let
          e:f32[] = convert_element_type[new_dtype=float32 weak_type=False] d
          f:f32[3] = broadcast_in_dim e
          c:f32[3] = select_n b f a
        in (c,) }
    ] b a 0:i32[]
  in (c,) }"""


ERRORS = [
    (lambda: jnp.where(True, 1), TypeError, """\
tanx.numpy.where: needs arrays or numbers, but argument 2 is a NoneType.
  argument 2: None
  Hint: the argument is missing or None."""),
    (lambda: jnp.where(jnp.ones(3), jnp.ones(4), 1), ValueError, """\
tanx.numpy.where: Incompatible shapes for broadcasting.
  condition: bool[3]
  x:         float32[4]
  y:         float32[]
  Hint: sizes must be equal or 1, counted from the last dimension."""),
    (lambda: jnp.where(True, 1, 2, size=3), ValueError, """\
tanx.numpy.where: size and fill_value are allowed only without x and y.
  Hint: leave them out, or leave out x and y."""),
    (lambda: jnp.select([True, False], [1]), ValueError, """\
tanx.numpy.select: there must be one choice for each condition.
  conditions: 2
  choices:    1"""),
    (lambda: jnp.select([], []), ValueError,
     "tanx.numpy.select: there must be at least one condition."),
    (lambda: jnp.piecewise(jnp.ones(2), [True], [1, 2, 3]), ValueError, """\
tanx.numpy.piecewise: there must be as many functions as conditions, or one more.
  conditions: 1
  functions:  3"""),
    (lambda: jnp.isposinf(1j), ValueError, """\
tanx.numpy.isposinf: complex infinity has no sign.
  operand: ~complex64[]
  Hint: ask about real(x) or imag(x)."""),
    (lambda: jnp.array_equal([1], "a"), TypeError, """\
tanx.numpy.array_equal: arrays hold booleans or numbers.
  argument 0: array('a', dtype='<U1')"""),
]


@pytest.mark.parametrize("call, error, text", ERRORS)
def test_messages(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    assert str(raised.value) == text
