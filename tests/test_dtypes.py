"""Types: promotion as in JAX for every pair, and the names and objects that users may pass."""

import json
import timeit
import warnings
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

from tanx import dtypes
from tanx._base.config import enable_x64, explicit_x64_dtypes, numpy_dtype_promotion
from tanx.dtypes import (
    TypePromotionError,
    _kinds,
    _promotion,
    _scalars,
    float0,
    result_type,
    scalar_types,
)

# Recorded from JAX: for each setting, the type of each pair of operands. A star marks weak types,
# an exclamation mark pairs that do not promote.
TABLES = json.loads((Path(__file__).parent / "data" / "promotion.json").read_text())
OPERANDS = TABLES.pop("operands")
PYTHON = {"int*": int, "float*": float, "complex*": complex}
TYPES = [name for name in OPERANDS if name not in PYTHON]


class Generator(NamedTuple):
    """The attributes of a random generator that a type of keys needs."""

    tag: str
    key_shape: tuple[int, ...]


KEY = dtypes.KeyType(Generator("fry", (2,)))


class Value:
    """An object with a type, like an array."""

    __slots__ = ("dtype", "weak_type")

    def __init__(self, dtype, weak_type=False):
        self.dtype = np.dtype(dtype) if isinstance(dtype, str) else dtype
        self.weak_type = weak_type


class Stranger:
    """An array of another library."""

    def __init__(self, dtype):
        self.dtype = np.dtype(dtype)


def promoted(function, a, b):
    """An entry of the table, by our promotion."""
    try:
        if function == "promote_types":
            return dtypes.promote_types(PYTHON.get(a, a), PYTHON.get(b, b)).name
        operands = [PYTHON[x](1) if x in PYTHON else scalar_types[x].dtype for x in (a, b)]
        found, weak = result_type(*operands, return_weak_type_flag=True)
        return found.name + "*" * weak
    except TypePromotionError:
        return "!"


def text_of(error, fun, *args):
    with pytest.raises(error) as caught:
        fun(*args)
    return str(caught.value)


@pytest.mark.filterwarnings("ignore:.*64-bit types are not enabled")
@pytest.mark.parametrize("setting", TABLES)
def test_promotion_of_every_pair_matches_jax(setting):
    function, x64, mode = setting.split()
    with enable_x64(x64 == "x64=True"), numpy_dtype_promotion(mode):
        ours = [" ".join(promoted(function, a, b) for b in OPERANDS) for a in OPERANDS]
    assert ours == TABLES[setting]


@pytest.mark.parametrize("strict", [False, True])
def test_promotion_does_not_depend_on_order(strict):
    """Operands can be joined one after the other; None means no common type."""
    nodes = [*map(np.dtype, TYPES), *PYTHON.values()]

    def join(a, b):
        return None if a is None or b is None else _promotion._join(a, b, strict)

    for a in nodes:
        assert join(a, a) == a
        for b in nodes:
            assert join(a, b) == join(b, a)
            for c in nodes:
                assert join(join(a, b), c) == join(a, join(b, c))


@pytest.mark.parametrize("operands, expected", [
    ([1], "int32*"),
    ([True], "bool"),
    ([True, 1], "int32*"),
    ([2**40], "int32*"),
    ([int], "int32*"),
    ([bool], "bool"),
    ([None], "float32"),
    ([np.float64(3)], "float32"),
    ([np.ones(2), 1j], "complex64"),
    ([np.True_, 1], "int32*"),
    (["int8", "uint8", 1.5], "float32*"),
    (["int8", "uint8", 1], "int16"),
    ([float, "bfloat16"], "bfloat16"),
    ([scalar_types["float64"], 1], "float32"),
    ([Value("int32", weak_type=True), "int8"], "int8"),
    ([Value("int32", weak_type=True), "bool"], "int32*"),
    ([Value("float64", weak_type=True)], "float32*"),
    ([Stranger("bfloat16"), 1.0], "bfloat16"),
    ([Value("float64")], "float64"),
    ([Value("int64"), 1.0], "float32*"),
    ([Value("uint32"), Value("int32")], "int32"),
])
def test_result_type(operands, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, weak = result_type(*operands, return_weak_type_flag=True)
    assert found.name + "*" * weak == expected
    assert result_type(*operands) == found


def test_keys_and_float0_promote_with_themselves_only():
    assert result_type(KEY, KEY) == result_type(Value(KEY)) == KEY
    assert result_type(float0, float0) == float0
    for other, error in (KEY, TypeError), (float0, ValueError):
        with pytest.raises(error):
            result_type(other, "float32")
        with pytest.raises(error):
            dtypes.promote_types("float32", other)


@pytest.mark.parametrize("operand", [
    [1, 2], (1.0,), "text", "U3", ">f4", object, np.array(["a"]), np.ones(2, np.longdouble),
    np.ones(2, ">f4"), object()])
def test_operands_without_a_dtype_are_refused(operand):
    with pytest.raises(TypeError):
        result_type(operand, 1)


def test_errors_of_promotion():
    assert text_of(TypePromotionError, result_type, "float8_e4m3fn", "float32") == """\
tanx.numpy.result_type: these types do not promote implicitly.
  types: f8_e4m3fn, f32
  Hint: cast one of them, for example x.astype('float32')."""
    with numpy_dtype_promotion("strict"):
        assert text_of(TypePromotionError, result_type, "int32", 1.0, "int32") == """\
tanx.numpy.result_type: types must agree while numpy_dtype_promotion is "strict".
  types: i32, Python float
  Hint: cast with x.astype, or change that mode."""
    assert text_of(TypeError, result_type, KEY, "float32") == """\
tanx.numpy.result_type: keys are not numbers.
  types: key<fry>, f32
  Hint: split and fold_in of tanx.random make new keys; key_data returns the words of one."""
    assert text_of(ValueError, result_type, float0, "float32") == """\
tanx.numpy.result_type: only booleans and numbers promote to a common type.
  types: float0, f32"""
    assert text_of(ValueError, result_type) == (
        "tanx.numpy.result_type: there must be at least one array or type.")
    assert text_of(TypeError, result_type, [1, 2]) == """\
tanx.numpy.result_type: an operand is neither an array, a number nor a type.
  operand: [1, 2]
  Hint: tanx.numpy.asarray converts a list to an array."""


# --- 64-bit types ---------------------------------------------------------------------------------


@pytest.mark.parametrize("asked, given", [
    ("float64", "float32"), (np.int64, "int32"), (np.dtype("uint64"), "uint32"),
    (scalar_types["complex128"], "complex64"), ("d", "float32")])
def test_explicit_requests_for_64_bits(asked, given):
    wide = np.dtype(asked)
    with pytest.warns(UserWarning, match="64-bit types are not enabled") as caught:
        assert dtypes.requested_dtype(asked, "tanx.numpy.zeros") == given
    assert caught[0].filename == __file__
    with explicit_x64_dtypes("allow"):
        assert dtypes.requested_dtype(asked) == wide
    with explicit_x64_dtypes("error"), pytest.raises(ValueError):
        dtypes.requested_dtype(asked)
    with enable_x64(True):
        assert dtypes.requested_dtype(asked) == wide


def test_the_text_of_a_truncated_request():
    with explicit_x64_dtypes("error"):
        assert text_of(ValueError, dtypes.requested_dtype, "float64", "tanx.numpy.zeros") == """\
tanx.numpy.zeros: 64-bit types are not enabled.
  asked for: f64
  available: f32
  Hint: tanx.config.update("jax_enable_x64", True) enables 64-bit types."""


@pytest.mark.parametrize("asked, narrow, wide", [
    (int, "int32", "int64"), (float, "float32", "float64"), (complex, "complex64", "complex128"),
    (bool, "bool", "bool"), (None, "float32", "float64"), ("bfloat16", "bfloat16", "bfloat16")])
def test_requests_that_are_not_for_64_bits(asked, narrow, wide):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dtypes.requested_dtype(asked) == narrow
        with enable_x64(True):
            assert dtypes.requested_dtype(asked) == wide


@pytest.mark.parametrize("asked", ["U3", object, "M8[s]", np.longdouble, ">f4", [("a", "f4")]])
def test_types_that_arrays_cannot_have(asked):
    with pytest.raises(TypeError):
        dtypes.requested_dtype(asked)


def test_arrays_are_accepted_as_dtypes():
    class Unhashable(Value):
        __hash__ = None

    assert dtypes.requested_dtype(Unhashable("bfloat16")) == "bfloat16"
    assert dtypes.canonicalize_dtype(Unhashable("int64")) == "int32"
    assert dtypes.issubdtype(Unhashable("bfloat16"), np.floating)


def test_keys_may_be_requested():
    assert dtypes.requested_dtype(KEY) is KEY
    assert dtypes.requested_dtype(float0) == float0


def test_operands_of_64_bits_without_x64():
    wide = Value("int64")
    with pytest.warns(UserWarning, match="64-bit"):
        assert result_type(wide, "uint32") == "int32"
    with explicit_x64_dtypes("allow"):
        assert result_type(wide, "uint32") == "int64"
        assert result_type("uint32", "int32") == "int32"
        assert result_type("float64", 1j) == "complex128"


def test_canonical_types():
    for wide, narrow in [("int64", "int32"), ("uint64", "uint32"), ("float64", "float32"),
                         ("complex128", "complex64"), (int, "int32"), (None, "float32")]:
        assert dtypes.canonicalize_dtype(wide) == narrow
        with enable_x64(True):
            assert dtypes.canonicalize_dtype(wide) == np.dtype(wide)
    assert dtypes.canonicalize_dtype("U3") == "U3"
    assert dtypes.canonicalize_dtype(KEY, allow_extended_dtype=True) is KEY
    with pytest.raises(ValueError):
        dtypes.canonicalize_dtype(KEY)
    with pytest.raises(TypeError):
        dtypes.canonicalize_dtype("no such type")


def test_default_types():
    def defaults():
        return [f().name for f in (dtypes.default_int, dtypes.default_uint, dtypes.default_float,
                                   dtypes.default_complex)]

    assert defaults() == ["int32", "uint32", "float32", "complex64"]
    with enable_x64(True):
        assert defaults() == ["int64", "uint64", "float64", "complex128"]


# --- Names and kinds ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TYPES)
def test_scalar_types(name):
    scalar = scalar_types[name]
    dtype = np.dtype(name)
    assert np.dtype(scalar) == dtype and scalar.dtype is dtype
    assert scalar == dtype and dtype == scalar and scalar == dtype.type
    assert scalar != "float32" and scalar != np.dtype("O")
    assert {scalar: 1}[dtype.type] == 1
    assert isinstance(np.zeros((), dtype)[()], scalar)
    assert str(scalar) == f"<class 'tanx.numpy.{name}'>"
    assert dtypes.canonicalize_dtype(scalar) == dtypes.canonicalize_dtype(name)


def test_scalar_types_make_arrays(monkeypatch):
    monkeypatch.setattr(_scalars, "make_array", np.asarray)
    made = scalar_types["float32"]([1, 2])
    assert made.dtype == np.float32 and made.shape == (2,)
    with pytest.raises(TypeError):
        scalar_types["float32"]()


def test_other_names_of_scalar_types():
    assert scalar_types["bool_"] is scalar_types["bool"]
    assert scalar_types["double"] is scalar_types["float_"] is scalar_types["float64"]
    assert scalar_types["int_"] == np.int64


@pytest.mark.parametrize("name", TYPES)
def test_each_type_has_one_kind(name):
    kinds = [kind for kind in _kinds._KINDS if dtypes.isdtype(name, kind)]
    family = name.rstrip("0123456789_emfnbuz")
    assert kinds == {
        "bool": ["bool"], "int": ["signed integer", "integral", "numeric"],
        "uint": ["unsigned integer", "integral", "numeric"],
        "float": ["real floating", "numeric"], "bfloat": ["real floating", "numeric"],
        "complex": ["complex floating", "numeric"]}[family]


@pytest.mark.parametrize("a, b, expected", [
    ("bfloat16", np.floating, True), ("bfloat16", np.inexact, True),
    ("bfloat16", np.complexfloating, False), ("int4", np.signedinteger, True),
    ("uint4", np.signedinteger, False), ("int4", np.int8, False), ("float32", float, False),
    ("float64", float, True), (int, np.integer, True), (np.floating, np.inexact, True),
    (np.floating, "float32", False), ("bool", np.integer, False), (float0, np.number, False),
    (float0, np.generic, True), (KEY, dtypes.prng_key, True), (KEY, dtypes.extended, True),
    (KEY, np.generic, True), (KEY, np.number, False), (KEY, KEY, True), ("float32", KEY, False),
    (dtypes.extended, dtypes.prng_key, False), (np.ones(2), np.floating, True),
    (scalar_types["float32"], np.float32, True), ("float8_e8m0fnu", np.floating, True)])
def test_issubdtype(a, b, expected):
    assert dtypes.issubdtype(a, b) is expected
    assert dtypes.issubdtype(a, b) is expected


@pytest.mark.parametrize("args", [(3, np.floating), ("floating", np.floating), ("f4", "floating")])
def test_issubdtype_rejects_non_types(args):
    with pytest.raises(TypeError):
        dtypes.issubdtype(*args)


@pytest.mark.parametrize("kind, expected", [
    ("float32", True), (np.float32, True), (scalar_types["float32"], True), (float, False),
    (("bool", "integral"), False), (("bool", np.float32), True), (KEY, False)])
def test_isdtype(kind, expected):
    assert dtypes.isdtype("float32", kind) is expected


@pytest.mark.parametrize("kind, error", [
    ("floating", ValueError), (("numeric", "floating"), ValueError), (np.floating, TypeError),
    (1, TypeError), (None, TypeError), (("bool", ("numeric",)), TypeError)])
def test_isdtype_refuses_other_kinds(kind, error):
    assert text_of(error, dtypes.isdtype, "float32", kind).startswith(
        "tanx.numpy.isdtype: kind must be a type, the name of a kind, or a tuple of these.")


@pytest.mark.parametrize("name, short, bits", [
    ("bool", "bool", 8), ("int1", "i1", 1), ("int4", "i4", 4), ("uint2", "u2", 2),
    ("int8", "i8", 8), ("uint64", "u64", 64), ("float4_e2m1fn", "f4_e2m1fn", 4),
    ("float6_e3m2fn", "f6_e3m2fn", 6), ("float8_e4m3b11fnuz", "f8_e4m3b11fnuz", 8),
    ("bfloat16", "bf16", 16), ("float16", "f16", 16), ("complex64", "c64", 64)])
def test_short_names_and_bits(name, short, bits):
    assert dtypes.short_name(name) == dtypes.short_name(np.dtype(name)) == short
    assert dtypes.itemsize_bits(name) == bits


def test_names_of_other_types():
    assert dtypes.short_name(float0) == "float0"
    assert dtypes.short_name(KEY) == str(KEY) == KEY.name == "key<fry>"
    for dtype in (float0, KEY):
        with pytest.raises(ValueError):
            dtypes.itemsize_bits(dtype)


def test_key_types():
    assert KEY == dtypes.KeyType(Generator("fry", (2,))) != dtypes.KeyType(Generator("rbg", (4,)))
    assert KEY.itemsize == 8 and dtypes.is_extended(KEY) and not dtypes.is_extended("float32")


@pytest.mark.parametrize("given, numeric, inexact, floating, complex_", [
    ("bool", "int32", "float32", "float32", "complex64"),
    ("int1", "int1", "float32", "float32", "complex64"),
    ("int4", "int4", "float32", "float32", "complex64"),
    ("int32", "int32", "float32", "float32", "complex64"),
    ("uint64", "uint64", "float64", "float64", "complex128"),
    ("float8_e5m2", "float8_e5m2", "float8_e5m2", "float8_e5m2", "complex64"),
    ("bfloat16", "bfloat16", "bfloat16", "bfloat16", "complex64"),
    ("float64", "float64", "float64", "float64", "complex128"),
    ("complex64", "complex64", "complex64", "float32", "complex64"),
    ("complex128", "complex128", "complex128", "float64", "complex128")])
def test_types_to_compute_in(given, numeric, inexact, floating, complex_):
    assert dtypes.to_numeric_dtype(given) == numeric
    assert dtypes.to_inexact_dtype(given) == inexact
    assert dtypes.to_floating_dtype(given) == floating
    assert dtypes.to_complex_dtype(given) == complex_


def test_types_of_values():
    class Count(int):
        pass

    for x, dtype, python in [(True, "bool", bool), (1, "int64", int), (1.0, "float64", float),
                             (1j, "complex128", complex), (Count(1), "int64", int)]:
        assert dtypes.dtype(x) == dtype
        assert dtypes.dtype(x, canonicalize=True) == dtypes.canonicalize_dtype(dtype)
        assert dtypes.scalar_type_of(x) is python
        assert dtypes.is_python_scalar(x)
        assert dtypes.is_weakly_typed(x) is (x is not True)
    for x in [np.float64(1), np.ones(2), ml_dtypes.bfloat16(1), Value("float32"), "float32", None]:
        assert not dtypes.is_python_scalar(x) and not dtypes.is_weakly_typed(x)
    assert dtypes.dtype(np.ones(2, "int4")) == "int4"
    assert dtypes.dtype(Value("float32", weak_type=True)) == "float32"
    assert dtypes.is_weakly_typed(Value("float32", weak_type=True))
    assert dtypes.dtype(Value(KEY), canonicalize=True) is KEY
    for x in ([1.0], None, object()):
        with pytest.raises(TypeError):
            dtypes.dtype(x)
    with pytest.raises(TypeError):
        dtypes.scalar_type_of(KEY)


def test_limits_of_small_types():
    assert dtypes.iinfo(scalar_types["int4"]).max == 7
    assert dtypes.finfo(scalar_types["bfloat16"]).bits == 16
    assert float(dtypes.finfo("float8_e4m3fn").max) == 448


# --- Speed ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("operand", [
    np.dtype("float32"), np.ones(2, "float32"), Value("float32")], ids=["dtype", "numpy", "array"])
def test_promotion_of_equal_types_is_quick(operand):
    def cost(code, **names):
        return min(timeit.repeat(code, globals=names, number=1000, repeat=30)) / 1000

    plain = cost("f(x, x)", f=lambda *args: args, x=operand)
    assert cost("f(x, x)", f=result_type, x=operand) < max(15 * plain, 1e-6)
