"""Messages for mistakes of new users: the function that was called, the rule, values, a hint."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import debug, lax, random

X = jnp.arange(3.0)
KEY = random.key(0)


def of_a_traced_value(use):
    return lambda: tanx.jit(lambda x: use(x))(1.0)


@pytest.mark.parametrize(("mistake", "kind", "message"), [
    (lambda: random.randint(KEY, 0, 10, (3,)), TypeError, """\
tanx.random.randint: needs an array or a number, but was given a tuple.
  value: (3,)
  Hint: convert it with tanx.numpy.asarray(...)."""),
    (lambda: lax.sin([1.0, 2.0]), TypeError, """\
tanx.lax.sin: needs an array or a number, but was given a list.
  value: [1.0, 2.0]
  Hint: convert it with tanx.numpy.asarray(...)."""),
    (lambda: jnp.zeros((4 / 2, 3)), TypeError, """\
tanx.numpy.zeros: a shape is a sequence of integers known while tracing.
  shape: (2.0, 3)
  Hint: make sizes integers with int(...), or divide them with //."""),
    (lambda: tanx.jit(lambda x: x)({1.0, 2.0}), TypeError, """\
tanx.jit: argument x of <lambda> is not an array.
  value: {1.0, 2.0} of type set
  Hint: pass a tuple, a list or an array of its elements."""),
    (lambda: tanx.jit(lambda x: x)(np.array(["a", "b"])), TypeError, """\
tanx.jit: argument x of <lambda> is not an array.
  value: array(['a', 'b'], dtype='<U1') of type ndarray
  Hint: arrays hold booleans, numbers or keys, not elements of dtype <U1."""),
])
def test_messages(mistake, kind, message):
    with pytest.raises(kind) as caught:
        mistake()
    assert str(caught.value) == message


@pytest.mark.parametrize(("use", "asked"), [
    (int, "int(x)"), (float, "float(x)"), (complex, "complex(x)"),
    (lambda x: x.item(), "x.item()"), (lambda x: x.tolist(), "x.tolist()"),
    (lambda x: f"{x:.2f}", "format(x, '.2f')")])
def test_asking_a_traced_value_for_data(use, asked):
    with pytest.raises(tanx.errors.ConcretizationTypeError) as caught:
        of_a_traced_value(use)()
    assert str(caught.value).startswith(
        f"{asked}: a traced value has no data until the compiled function runs.\n")


def test_promotion_errors_name_the_function():
    with tanx.numpy_dtype_promotion("strict"), pytest.raises(ValueError, match="^tanx.numpy.add: "):
        X + jnp.arange(3)


def test_messages_of_keyerror_are_readable():
    with pytest.raises(KeyError) as caught:
        debug.print("{y}", x=X)
    assert str(caught.value).startswith("tanx.debug.print: the format has a field 'y'")


def test_missing_names_show_no_frames_of_tanx():
    with pytest.raises(AttributeError) as caught:
        tanx.nothing  # noqa: B018
    assert caught.traceback[-1].path.name == "test_mistakes.py"


@pytest.mark.parametrize("x", [np.array(["a", "b"]), np.array([None, 1.0]), np.array([b"a"]),
                               np.array(["2020-01-01"], "datetime64[D]"), np.zeros(2, "i4,f4"),
                               np.ones(2, ">f4"), np.ones(2, np.longdouble)],
                         ids=lambda x: str(x.dtype))
@pytest.mark.parametrize("use", [
    tanx.jit(lambda x: x), tanx.jit(lambda x: 1.0), tanx.jit(lambda x: x * 2),
    tanx.vmap(lambda x: x), tanx.grad(lambda x: 1.0), tanx.device_put, tanx.typeof,
    jnp.zeros_like, jnp.add, jnp.asarray, lax.sin, lambda x: X[:2] + x,
    lambda x: lax.full((2,), x[:1].reshape(())),
    lambda x: lax.scan(lambda c, y: (c, y), 0.0, x),
    lambda x: tanx.eval_shape(lambda y: y, x), lambda x: tanx.make_jaxpr(lambda y: y)(x)])
def test_elements_that_are_no_numbers(use, x):
    """A TypeError, each time: the first calls of a compiled function are not the only ones."""
    for _ in range(4):
        with pytest.raises(TypeError):
            use(*[x] * (1 + (use is jnp.add)))


def test_float0_is_valid():
    zeros = np.zeros(3, tanx.dtypes.float0)
    assert tanx.typeof(zeros).str_short() == "float0[3]"
