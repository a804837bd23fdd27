"""Each instruction against Python's arithmetic and stated edge values."""

import cmath
import math

import numpy as np
import pytest

from tanx._loops.build import const, element_program, op
from tanx._loops.instructions import INSTRUCTIONS, REDUCERS, identity, kind_of, result_dtype, width
from tanx._loops.interpret import run

INF, NAN = math.inf, math.nan
I8_MIN = -128


def array(values, dtype):
    dtype = np.dtype(dtype)
    return np.array([dtype.type(value) for value in values], dtype)


def compute(name, dtypes, columns, **attrs):
    """The instruction on columns of values, through a program and the interpreter."""
    dtypes = [dtypes] * len(columns) if isinstance(dtypes, str) else dtypes
    arrays = [array(column, dtype) for column, dtype in zip(columns, dtypes)]
    pairs = tuple(sorted((k, np.dtype(v) if k == "dtype" else v) for k, v in attrs.items()))
    dtype = result_dtype(name, tuple(a.dtype for a in arrays), pairs)
    out = np.zeros(arrays[0].shape, dtype)
    rule = lambda at, *xs: op(name, *(x[at] for x in xs), **attrs)
    (result,) = run(element_program(rule, arrays, out), *arrays)
    assert result.dtype == dtype
    return result


# Exact results: (name, dtype, operands, expected, attributes).
EXACT = [
    ("add", "int8", [[100, 1], [100, 2]], [-56, 3], {}),
    ("add", "int4", [[7, -8, 2], [1, -1, 3]], [-8, 7, 5], {}),
    ("add", "bfloat16", [[1.0, 256.0], [2.0, 1.0]], [3.0, 256.0], {}),
    ("add", "complex64", [[1 + 2j], [3 - 1j]], [4 + 1j], {}),
    ("sub", "uint8", [[1], [2]], [255], {}),
    ("mul", "int8", [[100, -3], [3, 5]], [44, -15], {}),
    ("mul", "complex64", [[1 + 2j], [3 - 1j]], [5 + 5j], {}),
    ("mul", "float8_e4m3fn", [[1.5, 300.0], [3.0, 300.0]], [4.5, NAN], {}),
    ("div", "int8", [[7, -7, 7, -7, 5, -5, 0, I8_MIN], [2, 2, -2, -2, 0, 0, 0, -1]],
     [3, -3, -3, 3, -1, -1, -1, I8_MIN], {}),
    ("div", "uint8", [[7, 200, 9], [2, 0, 3]], [3, 255, 3], {}),
    ("div", "int4", [[7, -7, -8, 3], [2, 2, -1, 0]], [3, -3, -8, -1], {}),
    ("div", "float32", [[1.0, -1.0, 0.0, 6.0], [0.0, 0.0, 0.0, 4.0]], [INF, -INF, NAN, 1.5], {}),
    ("rem", "int8", [[7, -7, 7, -7, 5, I8_MIN], [2, 2, -2, -2, 0, -1]], [1, -1, 1, -1, 5, 0], {}),
    ("rem", "uint8", [[7, 9], [4, 0]], [3, 9], {}),
    ("rem", "float32", [[7.0, -7.0, 1.0, 5.0], [2.0, 2.0, 0.0, INF]], [1.0, -1.0, NAN, 5.0], {}),
    ("floor_div", "int64", [[7, -7, 6], [2, 2, 3]], [3, -4, 2], {}),
    ("floor_mod", "int64", [[7, -7, 6], [2, 2, 3]], [1, 1, 0], {}),
    ("mulhi", "int32", [[2**30, -5, -2**31], [8, 2, -2**31]], [2, -1, 2**30], {}),
    ("dot4", "int32", [[0x01020304, -1, 0x7F80FF01, -0x7F7F7F80], [0x01010101, 5, 0x7F80FF01,
                                                                    -0x7F7F7F80]],
     [10, -5, 127 * 127 + 128 * 128 + 2, 4 * 128 * 128], {}),
    ("dot4u", "int32", [[0x01020304, -1, -0x7F7F7F80, 5], [0x01010101, 5, -0x7F7F7F80, 0x7FFFFF80]],
     [10, 255 * 5, -4 * 128 * 128, -5 * 128], {}),
    ("dot2", "int32", [[0x40003F80, -0x407FC080, 0], [0x3F803F80, 0x40003F80, 0x40003F80]],
     [3.0, -1.0, 0.0], {}),
    ("mulhi", "uint64", [[2**63, 3], [6, 4]], [3, 0], {}),
    ("shift_left", "int8", [[1, 1, 1, -1], [7, 8, -1, 2]], [-128, 0, 0, -4], {}),
    ("shift_left", "uint4", [[3, 1], [3, 4]], [8, 0], {}),
    ("shift_right_logical", "int8", [[-8, -8, 8, 127], [1, 8, -1, 3]], [124, 0, 0, 15], {}),
    ("shift_right_logical", "int4", [[-1, -8], [1, 3]], [7, 1], {}),
    ("shift_right_arithmetic", "int8", [[-8, -8, 8, -8], [1, 8, -1, -1]], [-4, -1, 0, -1], {}),
    ("shift_right_arithmetic", "uint8", [[200, 200, 8], [1, 9, 1]], [228, 255, 4], {}),
    ("shift_right_arithmetic", "uint4", [[8, 8], [1, 4]], [12, 15], {}),
    ("max", "float32", [[NAN, 1.0, 2.0], [1.0, NAN, 3.0]], [NAN, NAN, 3.0], {}),
    ("max", "bool", [[True, False], [False, False]], [True, False], {}),
    ("max", "complex64", [[1 + 2j, 1 + 3j, 0j], [1 + 3j, 2 - 5j, -1 + 9j]],
     [1 + 3j, 2 - 5j, 0j], {}),
    ("min", "float32", [[NAN, 1.0, 2.0], [1.0, NAN, 3.0]], [NAN, NAN, 2.0], {}),
    ("min", "complex64", [[1 + 2j, 1 + 3j], [1 + 3j, 2 - 5j]], [1 + 2j, 1 + 3j], {}),
    ("neg", "int8", [[I8_MIN, 5]], [I8_MIN, -5], {}),
    ("neg", "float32", [[0.0, 2.0]], [-0.0, -2.0], {}),
    ("square", "int32", [[-3, 2]], [9, 4], {}),
    ("one_minus_square", "float32", [[0.5, -2.0]], [0.75, -3.0], {}),
    ("sign", "float32", [[-0.0, NAN, -3.0, INF]], [-0.0, NAN, -1.0, 1.0], {}),
    ("sign", "uint8", [[0, 3]], [0, 1], {}),
    ("sign", "complex64", [[0j, 3 + 4j, INF + 0j]], [0j, 0.6 + 0.8j, complex(NAN, 0)], {}),
    ("abs", "int8", [[I8_MIN, -5]], [I8_MIN, 5], {}),
    ("abs", "complex64", [[3 + 4j, -2j]], [5.0, 2.0], {}),
    ("integer_pow", "float32", [[2.0, -3.0, 0.0]], [0.25, 1 / 9, INF], {"y": -2}),
    ("integer_pow", "int8", [[2, -3, 0]], [32, 13, 0], {"y": 5}),
    ("integer_pow", "float32", [[NAN, 0.0]], [1.0, 1.0], {"y": 0}),
    ("pow", ["float32", "int32"], [[2.0, -2.0, 0.0], [3, 3, -1]], [8.0, -8.0, INF], {}),
    ("floor", "float32", [[-1.5, 1.5, -0.0]], [-2.0, 1.0, -0.0], {}),
    ("ceil", "bfloat16", [[-1.5, 1.5]], [-1.0, 2.0], {}),
    ("round_away", "float32", [[0.5, -0.5, 0.49999997, 2.5, -0.0]], [1.0, -1.0, 0.0, 3.0, -0.0],
     {}),
    ("round_even", "float32", [[0.5, 1.5, 2.5, -2.5]], [0.0, 2.0, 2.0, -2.0], {}),
    ("is_finite", "float32", [[1.0, INF, -INF, NAN]], [True, False, False, False], {}),
    ("eq", "float32", [[NAN, -0.0], [NAN, 0.0]], [False, True], {}),
    ("ne", "complex64", [[1 + 1j, complex(NAN, 0)], [1 + 1j, 0j]], [False, True], {}),
    ("lt", "bool", [[False, True], [True, True]], [True, False], {}),
    ("le", "float32", [[1.0, NAN], [1.0, 1.0]], [True, False], {}),
    ("gt", "int4", [[7, -8], [-8, 7]], [True, False], {}),
    ("ge", "uint64", [[2**64 - 1, 0], [1, 1]], [True, False], {}),
    ("eq_to", "float32", [[NAN, -0.0], [NAN, 0.0]], [True, False], {}),
    ("lt_to", "float32", [[-0.0, INF, -NAN, -1.0], [0.0, NAN, -INF, -2.0]],
     [True, True, True, False], {}),
    ("le_to", "bfloat16", [[-0.0, NAN, 2.0], [0.0, NAN, 1.0]], [True, True, False], {}),
    ("and", "bool", [[True, True], [True, False]], [True, False], {}),
    ("and", "int8", [[12], [10]], [8], {}),
    ("or", "int8", [[12], [10]], [14], {}),
    ("xor", "int4", [[-1], [5]], [-6], {}),
    ("not", "bool", [[True, False]], [False, True], {}),
    ("not", "uint4", [[5]], [10], {}),
    ("population_count", "int8", [[-1, 5, 0]], [8, 2, 0], {}),
    ("population_count", "int4", [[-1, 5]], [4, 2], {}),
    ("clz", "int8", [[1, -1, 0]], [7, 0, 8], {}),
    ("clz", "uint64", [[1, 2**63, 2**33]], [63, 0, 30], {}),
    ("clamp", "float32", [[0.0, 0.0, 3.0, NAN], [NAN, 5.0, 1.0, 1.0], [1.0, 2.0, 2.0, 2.0]],
     [NAN, 2.0, 2.0, NAN], {}),
    ("clamp", "int8", [[0, 0], [-5, 9], [7, 7]], [0, 7], {}),
    ("muladd", "float32", [[2.0, 0.5, INF, 0.0], [3.0, -8.0, 1.0, INF], [1.0, 4.0, 2.0, 1.0]],
     [7.0, 0.0, INF, NAN], {}),
    ("muladd", "bfloat16", [[2.0, 1.5], [3.0, 1.5], [1.0, -2.25]], [7.0, 0.0], {}),
    ("select", ["bool", "int4", "int4"], [[True, False], [1, 2], [3, 4]], [1, 4], {}),
    ("keep", ["bool", "float32"], [[True, True, False, False], [-0.0, NAN, NAN, -1.0]],
     [-0.0, NAN, 0.0, 0.0], {}),
    ("keep", ["bool", "complex64"], [[True, False], [1 + 2j, complex(INF, 1)]], [1 + 2j, 0], {}),
    ("keep", ["bool", "uint4"], [[True, False], [9, 9]], [9, 0], {}),
    ("nextafter", "float32", [[0.0, 1.0], [1.0, 0.0]], [2.0**-149, 1 - 2.0**-24], {}),
    ("nextafter", "bfloat16", [[1.0], [2.0]], [1 + 2.0**-7], {}),
    ("real", "complex64", [[1 + 2j]], [1.0], {}),
    ("imag", "complex128", [[1 + 2j]], [2.0], {}),
    ("conj", "complex64", [[1 + 2j]], [1 - 2j], {}),
    ("complex", "float32", [[1.0, INF], [2.0, NAN]], [1 + 2j, complex(INF, NAN)], {}),
    ("bitcast", "float32", [[1.0, -0.0]], [0x3F800000, 0x80000000], {"dtype": "uint32"}),
    ("bitcast", "int4", [[-1, 3]], [15, 3], {"dtype": "uint4"}),
    ("reduce_precision", "float32", [[1e-40, 3e38, 1.0009765, 65520.0, NAN, -INF]],
     [0.0, INF, 1.0009766, INF, NAN, -INF], {"exponent_bits": 5, "mantissa_bits": 10}),
    ("reduce_precision", "float16", [[6e-8, 1e-7]], [np.float16(6e-8), np.float16(1e-7)],
     {"exponent_bits": 5, "mantissa_bits": 10}),
    ("reduce_precision", "float64", [[1 + 2.0**-3, 1 + 2.0**-2]], [1.0, 1.25],
     {"exponent_bits": 11, "mantissa_bits": 2}),
    ("convert", "float32", [[1e20, -1e20, NAN, -1.5, 3.7]], [2**31 - 1, -2**31, 0, -1, 3],
     {"dtype": "int32"}),
    ("convert", "float32", [[300.0, -1.5, NAN, 3.7]], [255, 0, 0, 3], {"dtype": "uint8"}),
    ("convert", "float64", [[9.3e18, 2.0**63, -1e30, -7.9]], [2**63 - 1, 2**63 - 1, -2**63, -7],
     {"dtype": "int64"}),
    ("convert", "float64", [[2.0**64, -1.0, 1e18]], [2**64 - 1, 0, 10**18], {"dtype": "uint64"}),
    ("convert", "float32", [[100.0, -100.0, NAN, 3.7]], [7, -8, 0, 3], {"dtype": "int4"}),
    ("convert", "int32", [[9, -9, 3]], [-7, 7, 3], {"dtype": "int4"}),
    ("convert", "int32", [[-1, 256, 2]], [255, 0, 2], {"dtype": "uint8"}),
    ("convert", "float32", [[0.0, NAN, 0.3]], [False, True, True], {"dtype": "bool"}),
    ("convert", "complex64", [[1j, 2 + 1j]], [False, True], {"dtype": "bool"}),
    ("convert", "complex64", [[1 + 2j]], [1.0], {"dtype": "float32"}),
    ("convert", "bool", [[True, False]], [1.0, 0.0], {"dtype": "bfloat16"}),
    ("convert", "float32", [[1e6, 300.0]], [NAN, 288.0], {"dtype": "float8_e4m3fn"}),
    ("convert", "float32", [[1e6, 300.0]], [INF, 320.0], {"dtype": "float8_e5m2"}),
]


@pytest.mark.parametrize("name, dtypes, columns, expected, attrs", EXACT)
def test_exact_results(name, dtypes, columns, expected, attrs):
    result = compute(name, dtypes, columns, **attrs)
    expected = array(expected, result.dtype)
    if kind_of(result.dtype) == "f":
        result, expected = result.astype(float), expected.astype(float)
    np.testing.assert_array_equal(result, expected)
    if kind_of(result.dtype) == "f":
        np.testing.assert_array_equal(np.signbit(result[result == 0]),
                                      np.signbit(expected[expected == 0]))


def _log2(z):
    return cmath.log(z) / math.log(2)


def _atan2(y, x):
    return -1j * cmath.log((x + 1j * y) / cmath.sqrt(x * x + y * y))


# Smooth functions of real numbers: (name, the reference, points, one list for each operand).
UNIT, POSITIVE, ANY = [-0.9, -0.3, 0.2, 0.7], [0.1, 0.9, 1.5, 20.0], [-3.0, -0.5, 0.25, 4.0]
SMOOTH = [
    ("exp", math.exp, [ANY]), ("exp2", lambda x: 2.0**x, [ANY]), ("expm1", math.expm1, [ANY]),
    ("log", math.log, [POSITIVE]), ("log2", math.log2, [POSITIVE]), ("log1p", math.log1p, [UNIT]),
    ("sin", math.sin, [ANY]), ("cos", math.cos, [ANY]), ("tan", math.tan, [ANY]),
    ("asin", math.asin, [UNIT]), ("acos", math.acos, [UNIT]), ("atan", math.atan, [ANY]),
    ("sinh", math.sinh, [ANY]), ("cosh", math.cosh, [ANY]), ("tanh", math.tanh, [ANY]),
    ("asinh", math.asinh, [ANY]), ("acosh", math.acosh, [[1.0, 1.5, 20.0]]),
    ("atanh", math.atanh, [UNIT]), ("sqrt", math.sqrt, [POSITIVE]),
    ("rsqrt", lambda x: 1 / math.sqrt(x), [POSITIVE]), ("cbrt", math.cbrt, [ANY]),
    ("logistic", lambda x: 1 / (1 + math.exp(-x)), [ANY]),
    ("erf", math.erf, [ANY]), ("erfc", math.erfc, [ANY]), ("lgamma", math.lgamma, [POSITIVE]),
    ("atan2", math.atan2, [ANY, [1.0, -2.0, 3.0, -4.0]]),
    ("pow", math.pow, [POSITIVE, ANY]),
    ("ndtr", lambda x: math.erfc(-x / math.sqrt(2)) / 2, [ANY]),
    ("logit", lambda x: math.log(x / (1 - x)), [[0.1, 0.25, 0.6, 0.9]]),
    # Functions that Python lacks: an identity or a recorded value.
    ("erf_inv", lambda y: {0.0: 0.0, math.erf(0.5): 0.5, math.erf(-1.25): -1.25}[y],
     [[0.0, math.erf(0.5), math.erf(-1.25)]]),
    ("digamma", lambda x: {1.0: -0.5772156649015329, 2.0: 0.42278433509846714}[x], [[1.0, 2.0]]),
    ("bessel_i0e", lambda x: {0.0: 1.0, 1.0: 0.46575960759364043}[x], [[0.0, 1.0]]),
    ("bessel_i1e", lambda x: {0.0: 0.0, 1.0: 0.2079104153497085}[x], [[0.0, 1.0]]),
    ("igamma", lambda a, x: 1 - math.exp(-x), [[1.0, 1.0], [0.5, 3.0]]),
    ("igammac", lambda a, x: math.exp(-x), [[1.0, 1.0], [0.5, 3.0]]),
    ("polygamma", lambda m, x: math.pi**2 / 6 - (x == 2.0), [[1.0, 1.0], [1.0, 2.0]]),
    ("zeta", lambda x, q: math.pi**2 / 6 - (q == 2.0), [[2.0, 2.0], [1.0, 2.0]]),
    ("betainc", lambda a, b, x: 1 - (1 - x) ** 2, [[1.0, 1.0], [2.0, 2.0], [0.3, 0.8]]),
]


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-13), ("float32", 2e-6)])
@pytest.mark.parametrize("name, reference, points", SMOOTH, ids=[row[0] for row in SMOOTH])
def test_smooth_functions(name, reference, points, dtype, tolerance):
    expected = [reference(*row) for row in zip(*points)]
    np.testing.assert_allclose(compute(name, dtype, points), expected, rtol=tolerance, atol=1e-7
                               if dtype == "float32" else 1e-15)


@pytest.mark.parametrize("name, reference, points", [r for r in SMOOTH if len(r[2]) == 1],
                         ids=[r[0] for r in SMOOTH if len(r[2]) == 1])
def test_narrow_floats_are_rounded_from_float32(name, reference, points):
    narrow = [np.array(column).astype("bfloat16") for column in points]
    wide = compute(name, "float32", [c.astype("float32") for c in narrow])
    np.testing.assert_array_equal(compute(name, "bfloat16", narrow), wide.astype("bfloat16"))


COMPLEX = [("exp", cmath.exp), ("exp2", lambda z: cmath.exp(z * math.log(2))), ("log", cmath.log),
           ("log2", _log2), ("log1p", lambda z: cmath.log(1 + z)),
           ("expm1", lambda z: cmath.exp(z) - 1), ("sin", cmath.sin), ("cos", cmath.cos),
           ("tan", cmath.tan), ("asin", cmath.asin), ("acos", cmath.acos), ("atan", cmath.atan),
           ("sinh", cmath.sinh), ("cosh", cmath.cosh), ("tanh", cmath.tanh),
           ("asinh", cmath.asinh), ("acosh", cmath.acosh), ("atanh", cmath.atanh),
           ("sqrt", cmath.sqrt), ("rsqrt", lambda z: 1 / cmath.sqrt(z)),
           ("logistic", lambda z: 1 / (1 + cmath.exp(-z))), ("square", lambda z: z * z),
           ("one_minus_square", lambda z: 1 - z * z)]


@pytest.mark.parametrize("name, reference", COMPLEX, ids=[row[0] for row in COMPLEX])
def test_complex_functions(name, reference):
    points = [0.3 + 0.4j, -1.2 + 0.1j, 2 - 3j]
    expected = [reference(z) for z in points]
    np.testing.assert_allclose(compute(name, "complex128", [points]), expected, rtol=1e-12)


@pytest.mark.parametrize("name, reference", [("pow", pow), ("atan2", _atan2),
                                             ("div", lambda a, b: a / b)])
def test_complex_functions_of_two(name, reference):
    a, b = [0.3 + 0.4j, -1.2 + 0.1j], [1 + 1j, 0.5 - 2j]
    expected = [reference(x, y) for x, y in zip(a, b)]
    np.testing.assert_allclose(compute(name, "complex128", [a, b]), expected, rtol=1e-12)


def test_special_edge_values():
    np.testing.assert_array_equal(compute("lgamma", "float32", [[-INF, -1.0, 0.0, INF]]), [INF] * 4)
    np.testing.assert_array_equal(compute("erf_inv", "float32", [[1.0, -1.0, 2.0]]),
                                  [INF, -INF, NAN])
    np.testing.assert_array_equal(compute("digamma", "float32", [[0.0, -1.0]]), [-INF, NAN])
    np.testing.assert_array_equal(compute("log", "float32", [[0.0, -1.0]]), [-INF, NAN])


def test_every_instruction_is_tested():
    tested = {row[0] for row in EXACT} | {row[0] for row in SMOOTH}
    assert tested == INSTRUCTIONS.keys()


@pytest.mark.parametrize("dtype", ["bool", "int4", "int8", "uint8", "int64", "uint64", "bfloat16",
                                   "float8_e4m3fn", "float32", "complex64"])
@pytest.mark.parametrize("reducer", REDUCERS)
def test_the_identity_of_a_reducer_is_ignored(reducer, dtype):
    kind = kind_of(np.dtype(dtype))
    if kind not in INSTRUCTIONS[reducer].accepts or (kind == "c" and reducer in ("max", "min")):
        return
    values = [0, 1] if kind == "b" else [0, 1, 3, 7] if kind == "u" else [-7, -1, 0, 3]
    neutral = const(identity(reducer, np.dtype(dtype)), dtype).value
    result = compute(reducer, dtype, [values, [neutral] * len(values)])
    np.testing.assert_array_equal(result, array(values, dtype))


@pytest.mark.parametrize("name, dtypes, attrs, message", [
    ("frob", ["int32"], {}, "there is no instruction 'frob'."),
    ("add", ["int32"], {}, "add: takes 2 operands, got 1."),
    ("add", ["int32", "float32"], {}, "add: operands must have one dtype, got i32, f32."),
    ("add", ["bool", "bool"], {}, "add: bool is not accepted (kinds: iufc)."),
    ("exp", ["int32"], {}, "exp: i32 is not accepted (kinds: fc)."),
    ("select", ["int32", "int32", "int32"], {}, "select: the condition must be bool, got i32."),
    ("complex", ["bfloat16", "bfloat16"], {},
     "complex: no complex numbers have parts of dtype bf16."),
    ("bitcast", ["float32"], {"dtype": np.dtype("int64")},
     "bitcast: f32 and i64 differ in width; view the array instead."),
])
def test_wrong_operands_are_refused(name, dtypes, attrs, message):
    with pytest.raises(TypeError) as error:
        result_dtype(name, tuple(map(np.dtype, dtypes)), tuple(attrs.items()))
    assert str(error.value) == message


def test_widths():
    assert [width(np.dtype(d)) for d in ("int4", "uint2", "int32", "bfloat16", "bool")] == [
        4, 2, 32, 16, 8]
