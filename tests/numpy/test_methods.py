"""Operators, methods and properties of arrays and of tracers."""

import copy
import operator
import pickle

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.numpy import _methods

X = np.array([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32)
N = np.array([[5, -2, 3], [1, 4, -7]], np.int32)

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
          operator.mod, operator.lt, operator.le, operator.gt, operator.ge, operator.eq,
          operator.ne]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
UNARY = [operator.neg, operator.pos, operator.abs]


# -- operators -------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize("x", [X, N], ids=["floats", "integers"])
def test_operators_agree_with_numpy(op, x):
    y = np.flip(x) + (x == 0)
    other = x.dtype.type(2)
    for got, want in ((op(jnp.array(x), jnp.array(y)), op(x, y)),
                      (op(jnp.array(x), y), op(x, y)), (op(x, jnp.array(y)), op(x, y)),
                      (op(jnp.array(x), 2), op(x, other)), (op(2, jnp.array(x)), op(other, x)),
                      (op(other, jnp.array(x)), op(other, x))):
        assert isinstance(got, tanx.Array)
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("op", BITS, ids=lambda op: op.__name__)
def test_operators_on_bits_agree_with_numpy(op):
    np.testing.assert_array_equal(op(jnp.array(abs(N)), 2), op(abs(N), np.int32(2)))
    np.testing.assert_array_equal(op(2, jnp.array(abs(N))), op(np.int32(2), abs(N)))


def test_other_operators():
    x = jnp.array(X)
    for op in UNARY:
        np.testing.assert_array_equal(op(x), op(X))
    np.testing.assert_array_equal(~jnp.array(N), ~N)
    np.testing.assert_allclose(x**2, X**2)
    np.testing.assert_allclose(2**x, 2**X, rtol=1e-6)
    np.testing.assert_allclose(pow(x, 3), X**3, rtol=1e-6)
    np.testing.assert_allclose(x @ x.T, X @ X.T, rtol=1e-6)
    np.testing.assert_allclose(X @ x.T, X @ X.T, rtol=1e-6)
    for got, want in zip(divmod(x, 2), divmod(X, np.float32(2))):
        np.testing.assert_allclose(got, want)
    for got, want in zip(divmod(7, jnp.array(N)), divmod(np.int32(7), N)):
        np.testing.assert_allclose(got, want)


def test_numpy_functions_take_arrays_and_give_numpys():
    x = jnp.array(X)
    assert type(np.sin(x)) is np.ndarray
    assert type(np.add(X, x)) is np.ndarray
    assert type(np.stack([x, x])) is np.ndarray
    assert np.array_equal(np.asarray(x), X)


def test_operators_defer_to_foreign_classes():
    class Stranger:
        __array_priority__ = 1000

        def __radd__(self, other):
            return "added"

        def __eq__(self, other):
            return "compared"

    class Convertible:
        def __jax_array__(self):
            return jnp.ones(3)

    class Pair(tuple):
        def __rmul__(self, other):
            return "multiplied"

    x = jnp.zeros(3)
    assert x * Pair() == "multiplied"
    assert x + Stranger() == "added"
    assert (x == Stranger()) == "compared"
    assert (x + Convertible()).tolist() == [1, 1, 1]
    assert (Convertible() - x).tolist() == [1, 1, 1]
    assert (x == None, x != None, x == "a", x != "a") == (False, True, False, True)  # noqa: E711


@pytest.mark.parametrize("call", [lambda x: x + None, lambda x: x < None, lambda x: x + "a",
                                  lambda x: x < "a", lambda x: x + object(), lambda x: "a" + x,
                                  lambda x: pow(x, 2, 3)])
def test_strangers_without_operators_are_type_errors(call):
    with pytest.raises(TypeError):
        call(jnp.zeros(3))


@pytest.mark.parametrize("x, y, text", [
    ("jnp.int8(1)", "1", "Array(2, dtype=int8)"),
    ("jnp.int8(1)", "1.5", "Array(2.5, dtype=float32, weak_type=True)"),
    ("jnp.float16(1)", "1.5", "Array(2.5, dtype=float16)"),
    ("jnp.float32(1)", "np.float16(1)", "Array(2., dtype=float32)"),
    ("jnp.array(1)", "1", "Array(2, dtype=int32, weak_type=True)"),
    ("jnp.array(True)", "1", "Array(2, dtype=int32, weak_type=True)"),
    ("jnp.float32(1)", "1j", "Array(1.+1.j, dtype=complex64)"),
    ("jnp.array([1])", "np.int8(1)", "Array([2], dtype=int32)"),
])
def test_types_of_sums(x, y, text):
    assert repr(eval(f"{x} + {y}")) == text


# -- what Python asks of a container ---------------------------------------------------------------


def test_iteration_and_membership():
    x = jnp.array(X)
    assert [row.tolist() for row in x] == X.tolist()
    assert all(isinstance(row, tanx.Array) for row in x)
    assert 4.0 in x and 7.0 not in x
    first, *rest = x
    assert len(rest) == 1 and first.shape == (3,)
    assert list(jnp.zeros((0, 2))) == []
    with pytest.raises(TypeError, match="zero dimensions cannot be iterated over"):
        iter(jnp.array(1))


@pytest.mark.parametrize("count", [1, 99, 100, 101, 200, 250])
def test_iteration_over_many_rows(count):
    x = np.arange(2.0 * count, dtype=np.float32).reshape(count, 2)
    np.testing.assert_array_equal(np.stack([*jnp.array(x)]), x)
    np.testing.assert_array_equal(tanx.jit(lambda x: jnp.stack([*x]))(x), x)
    assert [int(n) for n in jnp.arange(count)] == list(range(count))


def test_rows_are_made_when_they_are_reached(monkeypatch):
    made = []
    unstack = _methods.lax.unstack
    monkeypatch.setattr(_methods.lax, "unstack", lambda x: made.append(len(x)) or unstack(x))
    x = jnp.arange(10_000)
    assert np.iterable(x) and made == []  # SciPy asks this of all arguments
    assert next(iter(x)) == 0 and sum(made) <= 100


def test_rounding_as_python_does():
    x = jnp.array([1.26, -2.5])
    assert (round(x).tolist(), round(x).dtype) == ([1, -2], "int32")
    np.testing.assert_allclose(round(x, 1), [1.3, -2.5])


def test_copies_are_arrays_of_their_own():
    x = jnp.array(X)
    for other in (copy.copy(x), copy.deepcopy(x), x.copy(), x.clone(),
                  pickle.loads(pickle.dumps(x))):
        assert other is not x and (other == x).all()


ERRORS = [
    (lambda x: operator.setitem(x, 0, 1.0), TypeError, """\
tanx.Array: arrays are immutable: elements cannot be assigned.
  array: float32[3]
  Hint: x = x.at[i].set(v) gives an updated array; under jit it is done in place."""),
    (lambda x: hash(x), TypeError, """\
hash: arrays have no hash: equality of arrays is an array.
  array: float32[3]
  Hint: hash x.tobytes() or x.item() for its value, id(x) for the object; pass arrays to jit as \
ordinary arguments, not as static ones."""),
    (lambda x: x + [1, 2, 3], TypeError, """\
tanx.numpy.add: operators do not take a list.
  operand: [1, 2, 3]
  Hint: wrap it in tanx.numpy.array(...); lists are not converted implicitly."""),
    (lambda x: (1, 2, 3) * x, TypeError, """\
tanx.numpy.multiply: operators do not take a tuple.
  operand: (1, 2, 3)
  Hint: wrap it in tanx.numpy.array(...); lists are not converted implicitly."""),
    (lambda x: x in x, ValueError, """\
tanx.Array.__contains__: an array contains numbers, not arrays.
  array:      float32[3]
  looked for: (3,)
  Hint: use (x == y).all(axis=...).any() to look for rows."""),
    (lambda x: x.flat, NotImplementedError, """\
tanx.Array.flat: arrays are immutable, and have no iterator to assign through.
  Hint: use x.flatten()."""),
    (lambda x: x.view(type=np.ndarray), NotImplementedError,
     "tanx.Array.view: type is not supported: there is one type of arrays."),
    (lambda x: x[0].view("float16"), ValueError, """\
tanx.Array.view: without an axis, elements must keep their width.
  array: float32[]
  dtype: float16"""),
    (lambda x: x.astype("int8").view("int32"), ValueError, """\
tanx.Array.view: the last axis must hold a whole number of the wider elements.
  array: int8[3]
  dtype: int32"""),
    (lambda x: x.__array_namespace__(api_version="1999"), ValueError, """\
tanx.Array.__array_namespace__: only one version of the standard is supported.
  asked for: '1999'
  available: '2025.12'"""),
]


@pytest.mark.parametrize("call, error, text", ERRORS)
@pytest.mark.parametrize("traced", [False, True])
def test_messages(call, error, text, traced):
    run = tanx.make_jaxpr(call) if traced else call
    with pytest.raises(error) as raised:
        run(jnp.zeros(3))
    assert type(raised.value) is error
    assert str(raised.value) == text


def test_tracebacks_of_operators_show_only_the_users_lines():
    try:
        jnp.zeros(3) + jnp.zeros(4)
    except TypeError as error:
        assert error.__traceback__.tb_next is None


# -- methods ---------------------------------------------------------------------------------------


METHODS = [
    ("all", {}), ("any", {"axis": 0}), ("argmax", {}), ("argmin", {"axis": 1}),
    ("argsort", {"axis": 0}), ("astype", {"dtype": np.int32}), ("clip", {"min": 0}), ("conj", {}),
    ("conjugate", {}), ("cumprod", {"axis": 1}), ("cumsum", {}), ("diagonal", {}),
    ("dot", {"b": np.arange(3, dtype=np.float32)}), ("flatten", {"order": "F"}),
    ("max", {"axis": 1}), ("mean", {"axis": 0}), ("min", {}), ("prod", {"axis": 1}),
    ("ravel", {}), ("repeat", {"repeats": 2, "axis": 1}), ("round", {"decimals": 0}),
    ("squeeze", {}), ("std", {"axis": 1}), ("sum", {"axis": 0}),
    ("swapaxes", {"axis1": 0, "axis2": 1}), ("take", {"indices": np.array([2, 0]), "axis": 1}),
    ("trace", {}), ("transpose", {}), ("var", {"ddof": 1}), ("byteswap", {}), ("tolist", {}),
    ("tobytes", {}),
]


BY_POSITION = {"astype", "dot", "repeat", "swapaxes", "take"}  # other names in NumPy


@pytest.mark.parametrize("name, options", METHODS)
def test_methods_agree_with_numpy(name, options):
    mine = {k: jnp.array(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    got = getattr(jnp.array(X), name)(**mine)
    axis = {"axis": options["axis"]} if "axis" in options else {}
    want = getattr(X, name)(*(v for k, v in options.items() if k != "axis"), **axis) if (
        name in BY_POSITION) else getattr(X, name)(**options)
    if isinstance(want, list | bytes):
        assert got == want
    else:
        np.testing.assert_allclose(got, want, rtol=1e-6)
        assert isinstance(got, tanx.Array)


def test_methods_that_find_elements():
    x = jnp.array(X)
    for got, want in zip(x.nonzero(), X.nonzero(), strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(x.compress(jnp.array([True, False, True]), axis=1),
                                  X.compress([True, False, True], axis=1))
    assert jnp.arange(5).searchsorted(jnp.array([3, 9])).tolist() == [3, 5]
    assert jnp.array([1, 0]).choose([jnp.array([1, 2]), jnp.array([3, 4])]).tolist() == [3, 2]
    assert jnp.array([3, 1, 2]).argpartition(0)[0] == 1
    assert float(x.ptp()) == X.max() - X.min()


def test_sorting_gives_a_new_array():
    x = jnp.array(X)
    np.testing.assert_array_equal(x.sort(axis=1), np.sort(X, axis=1))
    np.testing.assert_array_equal(x, X)


def test_shapes_are_given_as_one_argument_or_as_several():
    x = jnp.arange(6)
    assert x.reshape(2, 3).shape == x.reshape((2, 3)).shape == x.reshape([2, -1]).shape == (2, 3)
    assert x[0].reshape(()).shape == x[0].reshape().shape == ()
    assert x.reshape(-1, 3, order="F").tolist() == np.arange(6).reshape(-1, 3, order="F").tolist()
    cube = x.reshape(1, 2, 3)
    assert cube.transpose(2, 0, 1).shape == cube.transpose((2, 0, 1)).shape == (3, 1, 2)
    assert cube.transpose().shape == cube.T.shape == cube.transpose(None).shape == (3, 2, 1)
    assert cube.mT.shape == (1, 3, 2)


@pytest.mark.parametrize("old", ["int8", "uint16", "float32", "complex64", "bool", "int32"])
@pytest.mark.parametrize("new", ["int8", "uint16", "float32", "complex64", "bool", "int32"])
def test_views_share_bytes(old, new):
    x = (np.arange(16).reshape(2, 8) % 2).astype(old)
    got = jnp.array(x).view(new)
    # NumPy keeps bytes other than 0 and 1 in booleans; here they are True.
    want = x.view("uint8") != 0 if new == "bool" else x.view(new)
    np.testing.assert_array_equal(got, want)
    assert got.dtype == new


def test_parts_of_complex_numbers():
    z = jnp.array([1 + 2j, 3 - 4j])
    assert (z.real.tolist(), z.imag.tolist(), z.conj().tolist()) == (
        [1, 3], [2, -4], [1 - 2j, 3 + 4j])
    assert jnp.array([1.0]).imag.tolist() == [0.0]
    assert z.byteswap().byteswap().tolist() == z.tolist()


# -- devices ---------------------------------------------------------------------------------------


def test_the_place_of_an_array():
    x = jnp.array(X)
    (device,) = x.devices()
    assert x.device == device == tanx.devices()[0]
    assert x.platform() == device.platform == "cpu"
    assert x.sharding.device_set == {device}
    assert x.committed is False and x.to_device(device).committed is True
    assert x.is_fully_addressable and x.is_fully_replicated
    assert [shard.data.shape for shard in x.addressable_shards] == [X.shape]
    assert x.global_shards[0].device == device
    assert (x.addressable_data(0) == x).all()
    assert x.on_device_size_in_bytes() == x.nbytes == X.nbytes
    assert x.unsafe_buffer_pointer() == x.__array__().ctypes.data
    assert x.__array_namespace__() is jnp


def test_traced_values_have_no_device_or_memory():
    def look(x):
        assert not hasattr(x, "device") and not hasattr(x, "sharding")
        for name in ("committed", "addressable_shards", "is_fully_replicated", "traceback"):
            with pytest.raises(tanx.errors.ConcretizationTypeError):
                getattr(x, name)
        for name in ("devices", "tobytes", "is_deleted", "delete", "__reduce__",
                     "on_device_size_in_bytes", "unsafe_buffer_pointer"):
            with pytest.raises(tanx.errors.ConcretizationTypeError):
                getattr(x, name)()
        return x
    tanx.jit(look)(jnp.zeros(3))


# -- transformations -------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [
    lambda x: x.T @ x, lambda x: (x + 1) * 2 - x / 3, lambda x: x.reshape(-1).sum(),
    lambda x: sum(row.sum() for row in x), lambda x: x.copy() + copy.deepcopy(x),
    lambda x: x.view("int32").view("float32"), lambda x: x.clip(0, 1).mean(axis=0),
    lambda x: x.astype("float16").astype("float32"), lambda x: round(x), lambda x: x.trace(),
    lambda x: abs(-x) % 2, lambda x: 2.0 ** x, lambda x: x.flatten("F")])
def test_methods_work_on_tracers(f):
    x = jnp.array(X)
    want = np.asarray(f(x))
    np.testing.assert_allclose(tanx.jit(f)(x), want, rtol=1e-6)
    np.testing.assert_allclose(tanx.vmap(f)(x[None])[0], want, rtol=1e-6)


def test_static_values_can_be_asked_about_while_tracing():
    def f(x):
        count = jnp.arange(3)
        assert 2 in count and 7 not in count
        assert [int(i) for i in count] == [0, 1, 2]
        return x * count.sum()
    assert tanx.jit(f)(2.0) == 6.0


def test_operators_are_equations():
    assert str(tanx.make_jaxpr(lambda x: -(2 * x) ** 2 < 3)(jnp.zeros(3))) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = mul 2.0:f32[] a
    c:f32[3] = integer_pow[y=2] b
    d:f32[3] = neg c
    e:bool[3] = lt d 3.0:f32[]
  in (e,) }"""
