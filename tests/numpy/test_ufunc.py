"""Universal functions: reductions, accumulation and updates against NumPy's."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp

BINARY = ["add", "multiply", "subtract", "maximum", "minimum", "logical_and", "logical_or",
          "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "logaddexp", "logaddexp2"]
FLOATS = np.array([[0.5, 2.0, 1.0, 0.0], [1.5, 3.0, 0.25, 1.0]], np.float32)
INTEGERS = np.array([[1, 2, 7, 0], [5, 3, 6, 4]], np.int32)
# Python functions without a primitive: one is associative, the other is not.
PRODUCT = (jnp.frompyfunc(lambda x, y: x * y, 2, 1, identity=1), np.multiply)
DIFFERENCE = (jnp.frompyfunc(lambda x, y: x - y, 2, 1), np.subtract)
PAIRS = [(getattr(jnp, name), getattr(np, name)) for name in BINARY] + [PRODUCT, DIFFERENCE]


def operand(ours):
    return INTEGERS if ours.__name__.startswith("bitwise") else FLOATS


each_pair = pytest.mark.parametrize("ours, numpys", PAIRS, ids=[*BINARY, "product", "difference"])


def agree(got, want):
    np.testing.assert_allclose(got, want, rtol=2e-6)


@each_pair
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": -1, "keepdims": True},
                                     {"axis": 1, "initial": 3}])
def test_reduce(ours, numpys, options):
    x = operand(ours)
    agree(ours.reduce(jnp.array(x), **options), numpys.reduce(x, **options))


@each_pair
def test_reduce_over_several_axes(ours, numpys):
    x = operand(ours)
    if numpys is np.subtract:  # NumPy raises an error; tanx reduces all elements in order
        agree(ours.reduce(jnp.array(x), axis=None), np.subtract.reduce(x.ravel()))
        return
    agree(ours.reduce(jnp.array(x), axis=None), numpys.reduce(x, axis=None))
    agree(ours.reduce(jnp.array(x), axis=(0, 1)), numpys.reduce(x, axis=(0, 1)))


@each_pair
def test_reduce_where(ours, numpys):
    x = operand(ours)
    mask = x > 0.5
    agree(ours.reduce(jnp.array(x), axis=1, where=jnp.array(mask), initial=1),
          numpys.reduce(x, axis=1, where=mask, initial=1))


@each_pair
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_accumulate(ours, numpys, axis):
    x = operand(ours)
    agree(ours.accumulate(jnp.array(x), axis), numpys.accumulate(x, axis))


@each_pair
def test_outer(ours, numpys):
    x = operand(ours)
    agree(ours.outer(jnp.array(x[0]), jnp.array(x)), numpys.outer(x[0], x))


@each_pair
@pytest.mark.parametrize("axis, indices", [(1, [0, 2]), (1, [0, 3, 1, 2]), (0, [1, 0])])
def test_reduceat(ours, numpys, axis, indices):
    x = operand(ours)
    agree(ours.reduceat(jnp.array(x), jnp.array(indices), axis),
          numpys.reduceat(x, indices, axis))


@each_pair
@pytest.mark.parametrize("indices", [np.array([0, 0, 1]), (np.array([1, 1]), np.array([2, 2])),
                                     (0, slice(1, 3)), np.array([[0], [1]])],
                         ids=["rows", "elements", "slice", "grid"])
def test_at_updates_as_often_as_an_index_occurs(ours, numpys, indices):
    x = (operand(ours) > 0.5) if "logical" in ours.__name__ else operand(ours)
    want = x.copy()
    numpys.at(want, indices, want.dtype.type(2))
    mine = tanx.tree_util.tree_map(
        lambda i: jnp.array(i) if isinstance(i, np.ndarray) else i, indices,
        is_leaf=lambda i: isinstance(i, slice))
    agree(ours.at(jnp.array(x), mine, 2, inplace=False), want)


def test_at_of_one_operand():
    x = np.array([1.0, 2.0, 3.0], np.float32)
    want = x.copy()
    np.negative.at(want, [0, 0, 1])
    agree(jnp.negative.at(jnp.array(x), jnp.array([0, 0, 1]), inplace=False), want)


def test_the_functions_themselves():
    for name in (*BINARY, "negative"):
        ours, numpys = getattr(jnp, name), getattr(np, name)
        assert isinstance(ours, jnp.ufunc)
        assert (ours.nin, ours.nout, ours.nargs) == (numpys.nin, 1, numpys.nin)
        assert repr(ours) == f"<jnp.ufunc '{name}'>"
        assert ours.__name__ == name and ours.__doc__
    identities = {name: getattr(jnp, name).identity for name in BINARY}
    assert identities == {
        "add": 0, "multiply": 1, "subtract": None, "maximum": None, "minimum": None,
        "logical_and": True, "logical_or": False, "logical_xor": False, "bitwise_and": -1,
        "bitwise_or": 0, "bitwise_xor": 0, "logaddexp": -np.inf, "logaddexp2": -np.inf}


def test_tracebacks_show_only_the_users_lines():
    for call in (lambda: jnp.add(jnp.zeros(3), jnp.zeros(4)), lambda: jnp.add.reduce([1])):
        with pytest.raises(TypeError) as raised:
            call()
        assert [entry.path.name for entry in raised.traceback] == ["test_ufunc.py"] * 2


def test_functions_of_python_are_mapped_over_elements():
    both = jnp.frompyfunc(lambda x, y: (x + y, jnp.maximum(x, y)), nin=2, nout=2)
    x, y = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    total, greater = both(jnp.array(x), jnp.array(y))
    agree(total, x + y)
    agree(greater, np.maximum(x, y))
    assert both(1, 2)[0].weak_type
    seen = []
    jnp.frompyfunc(lambda x: seen.append(x.shape) or x, 1, 1)(jnp.zeros((2, 3)))
    assert seen == [()]
    assert jnp.frompyfunc(lambda x, y: x + y, 2, 1)(
        jnp.zeros((2, 1, 4)), jnp.zeros((3, 1))).shape == (2, 3, 4)


FACTS = {
    "jnp.add.reduce(jnp.array([True, True]))": "Array(2, dtype=int32)",
    "jnp.add.reduce(jnp.array([100, 100], 'int8'))": "Array(200, dtype=int32)",
    "jnp.add.reduce(jnp.array([1, 2]), dtype=float)": "Array(3., dtype=float32)",
    "jnp.add.reduce(jnp.zeros((0, 2)))": "Array([0., 0.], dtype=float32)",
    "jnp.add.accumulate(jnp.array([True, True]))": "Array([1, 2], dtype=int32)",
    "jnp.add.accumulate(jnp.array([1, 2], 'int8'))": "Array([1, 3], dtype=int8)",
    "jnp.add.accumulate(jnp.ones((1, 2)), axis=None)": "Array([1., 2.], dtype=float32)",
    "jnp.logical_and.reduce(jnp.arange(3))": "Array(False, dtype=bool)",
    "jnp.logaddexp.reduce(jnp.array([0, 0]))": "Array(0.6931472, dtype=float32)",
    "jnp.maximum.reduce(jnp.array([1, 2]))": "Array(2, dtype=int32)",
    "jnp.add.outer(2, 3)": "Array(5, dtype=int32, weak_type=True)",
    "jnp.frompyfunc(lambda x: x, 1, 1)(3)": "Array(3, dtype=int32, weak_type=True)",
}


@pytest.mark.parametrize("expression", FACTS)
def test_types_match_jax(expression):
    assert repr(eval(expression)) == FACTS[expression]


@pytest.mark.parametrize("f", [
    jnp.add.reduce, jnp.subtract.reduce, jnp.logaddexp.reduce, jnp.maximum.accumulate,
    DIFFERENCE[0].accumulate, lambda x: jnp.add.outer(x, x),
    lambda x: jnp.multiply.at(x, jnp.array([0, 0]), 2.0, inplace=False),
    lambda x: jnp.add.reduceat(x, jnp.array([0, 2]))])
def test_methods_compose_with_transformations(f):
    x = jnp.array(FLOATS)
    want = np.stack([f(row) for row in x])
    agree(tanx.vmap(f)(x), want)
    agree(tanx.jit(f)(x[0]), want[0])
    total, h = (lambda x: jnp.sum(f(x))), 1e-2
    slopes = [(total(x[0].at[i].add(h)) - total(x[0].at[i].add(-h))) / (2 * h) for i in range(4)]
    np.testing.assert_allclose(tanx.grad(total)(x[0]), slopes, rtol=1e-2, atol=1e-3)


def test_a_reduction_is_a_call_in_jaxprs():
    assert str(tanx.make_jaxpr(jnp.maximum.reduce)(jnp.zeros((2, 3)))) == """\
{ lambda ; a:f32[2,3]. let
    b:f32[3] = jit[
      name=reduce
      jaxpr={ lambda ; a:f32[2,3]. let
          b:f32[3] = reduce_max[axes=(0,) out_sharding=None] a
        in (b,) }
    ] a
  in (b,) }"""


ERRORS = [
    (lambda: jnp.add(1, 2, out=3), NotImplementedError, """\
tanx.numpy.add: out and where are not supported in calls.
  Hint: arrays are immutable; write jnp.where(mask, f(x, y), otherwise)."""),
    (lambda: jnp.negative.reduce(jnp.ones(2)), ValueError, """\
tanx.numpy.negative.reduce: is for functions of two operands with one result.
  operands: 1
  results:  1"""),
    (lambda: jnp.add.reduce([1, 2]), TypeError, """\
tanx.numpy.add.reduce: needs arrays or numbers, but argument 0 is a list.
  argument 0: [1, 2]
  Hint: wrap it in tanx.numpy.array(...); lists are not converted implicitly."""),
    (lambda: jnp.maximum.reduce(jnp.zeros((0, 2))), ValueError, """\
tanx.numpy.maximum.reduce: there are no elements, so initial must be given.
  array: float32[0,2]
  Hint: give initial=... the value for no elements."""),
    (lambda: jnp.subtract.reduce(jnp.ones(2), where=jnp.array([True, False])), ValueError, """\
tanx.numpy.subtract.reduce: where may leave no elements, so initial must be given.
  array: float32[2]
  Hint: give initial=... the value for no elements."""),
    (lambda: jnp.subtract.accumulate(jnp.ones(2), axis=None), ValueError, """\
tanx.numpy.subtract.accumulate: takes one axis.
  axis: None"""),
    (lambda: jnp.add.at(jnp.ones(2), jnp.array([0]), 1), NotImplementedError, """\
tanx.numpy.add.at: arrays are immutable and cannot be updated in place.
  Hint: x = jnp.add.at(x, indices, b, inplace=False)."""),
    (lambda: jnp.add.reduceat(jnp.ones(2), jnp.array([0.5])), ValueError, """\
tanx.numpy.add.reduceat: indices must be integers along one axis.
  indices: float32[1]"""),
]


@pytest.mark.parametrize("call, error, text", ERRORS)
def test_messages(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    assert str(raised.value) == text
