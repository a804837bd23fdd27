"""The instructions of loop nests (``_loops/instructions.py``) as LLVM code, dtype by dtype.

``_loops/instructions.py`` defines what an instruction means, and ``_loops/numerics.py`` computes it
in NumPy; the tests compare the two. Additions, products, quotients, roots and roundings of floats
are equal to the last bit; other functions within the bounds that the table states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import ml_dtypes
import numpy as np

from ..._base.records import record
from ..._loops.instructions import INSTRUCTIONS, kind_of, width
from . import bessel, beta, gamma, math, special
from . import complex as complex_
from .complex import Pair
from .storage import (
    cast,
    from_bits,
    halves,
    is_narrow,
    is_unsigned,
    part_dtype,
    register_type,
    rounded,
    to_bits,
)
from .values import (
    F32,
    F64,
    Value,
    absolute,
    bits_of,
    bits_to_float,
    call_lanewise,
    ceil,
    constant,
    convert,
    copysign,
    floor,
    fma,
    integer,
    intrinsic,
    maximum,
    minimum,
    muladd,
    outlined,
    rint,
    select,
    shift_left,
    shift_right,
    sqrt,
    trunc,
    type_of,
    when_any,
)

__all__ = ["CODE", "Code", "Reciprocal", "apply", "choose", "has_reciprocals", "multiply_add",
           "number"]

Scalar = Value | Pair


def number(writer, value, dtype: np.dtype) -> Scalar:
    """A constant of a dtype."""
    like = Value(writer, "0", register_type(dtype))
    if kind_of(dtype) == "c":
        return Pair(constant(like, value.real), constant(like, value.imag))
    return constant(like, value)


def apply(name: str, args: Sequence[Scalar], dtypes: Sequence[np.dtype], result: np.dtype,
          attrs: Mapping[str, Any]) -> Scalar:
    """One instruction on values of some dtypes; ``select`` evaluates both of its arms here."""
    kind, code = kind_of(dtypes[0]), CODE[name]
    if code.any is not None:
        return code.any(args, dtypes, result, attrs)
    if kind == "f" and result == np.float16 and INSTRUCTIONS[name].same_in_half:
        return _in_half(name, args)
    write = code.of(kind)
    if kind != "f":
        return write(*args, **attrs)
    value = _long(name, args) if _is_long(name, args) else write(*args, **attrs)
    return rounded(value, result, computed=True) if is_narrow(result) and (
        not INSTRUCTIONS[name].exact or is_unsigned(result)) else value


def _in_half(name: str, args: Sequence[Any]) -> Value:
    """An instruction on float16, in float16 itself if the processor supports it.

    LLVM removes conversions between such instructions.
    """
    if not args[0].writer.machine.has_half:
        value = CODE[name].of("f")(*args)
        if INSTRUCTIONS[name].exact:
            return value
        return rounded(value, np.dtype(np.float16), computed=True)
    half = type_of("half")
    return convert(CODE[name].of("f")(*(convert(x, "fptrunc", half) for x in args)), "fpext", F32)


def choose(condition: Any, a: Any, b: Any) -> Scalar:
    """``a`` where the condition holds, else ``b``."""
    if isinstance(a, Pair):
        return Pair(select(condition, a.re, b.re), select(condition, a.im, b.im))
    return select(condition, a, b)


def multiply_add(a: Scalar, b: Scalar, c: Scalar, dtype: np.dtype) -> Scalar:
    """``a * b + c``, with one rounding if that is as fast: for sums of products."""
    if kind_of(dtype) == "f" and not is_narrow(dtype):
        return intrinsic("fmuladd", a, b, c)
    product = apply("mul", (a, b), (dtype, dtype), dtype, {})
    return apply("add", (c, product), (dtype, dtype), dtype, {})


def has_reciprocals(dtype: np.dtype) -> bool:
    """Whether numbers of a dtype may be divided by multiplying with a :class:`Reciprocal`."""
    return dtype == ml_dtypes.bfloat16


@record
class Reciprocal:
    """A bfloat16 that divides many others: products in float32, rounded, are the quotients.

    A quotient of 8-bit mantissas is never so close to the middle between two of them that the
    errors of three operations could matter: its distance is at least 2^-17, and the errors are
    2^-22. A divisor so small that its inverse would overflow is scaled, together with the
    dividends.
    """

    scale: Value
    inverse: Value

    @staticmethod
    def of(divisor: Value) -> Reciprocal:
        scale = select(absolute(divisor) < 2.0 ** -64, constant(divisor, 2.0 ** 64), 1.0)
        return Reciprocal(scale, 1.0 / (divisor * scale))


def _quotient(a: Value, b: Value | Reciprocal) -> Value:
    return a * b.scale * b.inverse if isinstance(b, Reciprocal) else a / b


def _is_long(name: str, args: Sequence[Any]) -> bool:
    """Whether a function of numbers takes many instructions."""
    return INSTRUCTIONS[name].length >= args[0].writer.machine.tuning.functions.long


def _long(name: str, args: Sequence[Any]) -> Value:
    """A long function: its first uses in a module are written out, later ones are calls.

    Code runs faster where it is written out, but then each copy has to be compiled. The name of a
    call differs from those of the functions that the code itself calls, such as that of ``zeta``.
    """
    compute, writer = CODE[name].of("f"), args[0].writer
    uses, most = writer.uses, writer.machine.tuning.functions.written_out
    kind = (name, max([arg.type for arg in args], key=lambda type: type.lanes))
    uses[kind] += 1
    return compute(*args) if uses[kind] <= most else outlined(
        f"whole.{name}", compute, *args)


# -- floats ----------------------------------------------------------------------------------------


def _sign(x: Value) -> Value:
    return select(x.eq(0) | x.ne(x), x, copysign(constant(x, 1.0), x))


def _integer_pow(x: Value, *, y: int) -> Value:
    """By repeated squaring, in the order of ``numerics.py``."""
    result: Value | None = None
    square, n = x, abs(y)
    while n:
        if n % 2:
            result = square if result is None else result * square
        n //= 2
        square = square * square if n else square
    if result is None:
        return constant(x, 1)
    return result if y >= 0 else 1.0 / result


def _reduce_precision(x: Value, *, exponent_bits: int, mantissa_bits: int) -> Value:
    """Fewer bits of mantissa, then of exponent; too small becomes zero, too large infinite."""
    mantissa, exponent = {32: (23, 8), 64: (52, 11)}[x.type.bits]
    result, drop = x, mantissa - mantissa_bits
    if drop > 0:
        bits = bits_of(x)
        odd = shift_right(bits, drop) & 1
        near = bits_to_float((bits + ((1 << drop - 1) - 1) + odd) & -(1 << drop))
        result = select(absolute(x) < np.inf, near, x)
    if exponent_bits < exponent:
        bias = (1 << exponent_bits - 1) - 1
        size = absolute(result)
        result = select(size >= 2.0 ** (bias + 1), copysign(constant(x, np.inf), result), result)
        result = select(size < 2.0 ** (1 - bias), copysign(constant(x, 0.0), result), result)
    return result


def _rem(a: Value, b: Value) -> Value:
    """The remainder of a division; float32 in float64, in which multiples of b are exact."""
    if a.type.bits == 64:
        return call_lanewise("fmod", a, b)
    wide, by = convert(a, "fpext", F64), convert(b, "fpext", F64)
    count = trunc(wide / by)
    left = fma(-count, by, wide)
    # If the quotient was rounded up to an integer, that is one too many.
    left = select((left < 0) ^ (wide < 0) & left.ne(0), left + copysign(by, wide), left)
    near = convert(left, "fptrunc", F32)
    near = select(near.eq(near), copysign(near, a), near)
    near = select(absolute(b).eq(np.inf) & (absolute(a) < np.inf), a, near)
    huge = (absolute(a) > absolute(b) * 2.0 ** 28) & (absolute(a) < np.inf) & b.ne(0)
    return when_any(huge, near, lambda: call_lanewise("fmodf", a, b))


# -- integers --------------------------------------------------------------------------------------


def _binary(name: str, a: Value, b: Value) -> Value:
    lanes = max(a.type.lanes, b.type.lanes)
    a, b = a.of(lanes), b.of(lanes)
    return a.writer.write(a.type, f"{name} {a!r}, {b.text}")


def _div(a: Value, b: Value, signed: bool) -> Value:
    by_zero = b.eq(0)
    if not signed:
        return select(by_zero, -1, _binary("udiv", a, select(by_zero, 1, b)))
    # Dividing the least number by -1 would trap.
    opposite = b.eq(-1)
    quotient = _binary("sdiv", a, select(by_zero | opposite, 1, b))
    return select(by_zero, -1, select(opposite, -a, quotient))


def _int_rem(a: Value, b: Value, signed: bool) -> Value:
    by_zero = b.eq(0)
    if not signed:
        return select(by_zero, a, _binary("urem", a, select(by_zero, 1, b)))
    opposite = b.eq(-1)
    rest = _binary("srem", a, select(by_zero | opposite, 1, b))
    return select(by_zero, a, select(opposite, 0, rest))


def _floor_div(a: Value, b: Value, signed: bool) -> Value:
    """Towards minus infinity; the divisor is positive."""
    if not signed:
        return _binary("udiv", a, b)
    return _binary("sdiv", a, b) + convert_mask(_binary("srem", a, b) < 0, a)


def _floor_mod(a: Value, b: Value, signed: bool) -> Value:
    """From 0 up to the divisor, which is positive."""
    if not signed:
        return _binary("urem", a, b)
    rest = _binary("srem", a, b)
    return select(rest < 0, rest + b, rest)


def convert_mask(condition: Value, like: Value) -> Value:
    """-1 where a condition holds, else 0."""
    return convert(condition, "sext", like.type.of(1))


def _mulhi(a: Value, b: Value, signed: bool) -> Value:
    bits = a.type.bits
    wide = [convert(x, "sext" if signed else "zext", integer(2 * bits)) for x in (a, b)]
    return convert(shift_right(wide[0] * wide[1], bits), "trunc", integer(bits))


def _in_width(by: Value) -> Value:
    return by.compare("lt", by.type.bits, signed=False)


def _shift_by(shift: Callable) -> Callable:
    def call(x: Value, by: Value) -> Value:
        inside = _in_width(by)
        return select(inside, shift(x, select(inside, by, 0)), 0)
    return call


def _shift_right_arithmetic(x: Value, by: Value) -> Value:
    return shift_right(x, select(_in_width(by), by, by.type.bits - 1), signed=True)


def _extreme(name: str) -> Callable:
    def call(a: Value, b: Value, signed: bool) -> Value:
        if a.type.bits == 1:
            return a | b if name == "max" else a & b
        return intrinsic(f"{'s' if signed else 'u'}{name}", a, b)
    return call


def _int_clamp(low: Value, x: Value, high: Value, signed: bool) -> Value:
    return _extreme("min")(_extreme("max")(x, low, signed), high, signed)


def _int_sign(x: Value, signed: bool) -> Value:
    positive = convert(x.compare("gt", 0, signed), "zext", x.type.of(1))
    return positive + convert_mask(x < 0, x) if signed else positive


def _abs(x: Value, signed: bool) -> Value:
    return select(x < 0, -x, x) if signed else x


def _clz(x: Value) -> Value:
    false = Value(x.writer, "false", integer(1))
    bits = x.type.bits
    if bits < 8:  # LLVM's fast path does not support such numbers in lanes
        return convert(intrinsic("ctlz", convert(x, "zext", integer(8)), extra=[false])
                       - (8 - bits), "trunc", integer(bits))
    return intrinsic("ctlz", x, extra=[false])


def _dot4(x: Value, y: Value, signed: bool = True) -> Value:
    """The sum of the products of bytes, each sign-extended by shifts.

    The bytes of the first word may be ``signed`` or not; those of the second are.
    """
    def byte(word: Value, n: int, signed: bool) -> Value:
        return shift_right(shift_left(word, 24 - 8 * n), 24, signed=signed)

    first, *others = [byte(x, n, signed) * byte(y, n, True) for n in range(4)]
    return reduce(Value.__add__, others, first)


def _dot2(x: Value, y: Value) -> Value:
    """The sum of the products of both halves, which are bfloat16 numbers."""
    (low, high), (other_low, other_high) = map(halves, (x, y))
    return low * other_low + high * other_high


# -- any dtype -------------------------------------------------------------------------------------


def _compare(how: str) -> Callable:
    def call(args, dtypes, result, attrs) -> Value:
        a, b = args
        if isinstance(a, Pair):
            same = a.re.eq(b.re) & a.im.eq(b.im)
            return same if how == "eq" else ~same
        return a.compare(how, b, signed=kind_of(dtypes[0]) == "i")
    return call


def _total_order(how: str) -> Callable:
    """Comparison of integers that are ordered as floats are in the total order."""
    def key(x: Value, dtype: np.dtype) -> Value:
        bits = to_bits(x, dtype)
        return select(bits < 0, bits ^ ((1 << bits.type.bits - 1) - 1), bits)

    def call(args, dtypes, result, attrs) -> Value:
        return key(args[0], dtypes[0]).compare(how, key(args[1], dtypes[1]))
    return call


def _convert(args, dtypes, result, attrs) -> Scalar:
    (x,), (source,) = args, dtypes
    if kind_of(result) != "c":
        return cast(x.re if isinstance(x, Pair) else x, part_dtype(source), result)
    part = part_dtype(result)
    if isinstance(x, Pair):
        return Pair(cast(x.re, part_dtype(source), part), cast(x.im, part_dtype(source), part))
    re = cast(x, source, part)
    return Pair(re, constant(re, 0.0))


def _bitcast(args, dtypes, result, attrs) -> Scalar:
    (x,), (source,) = args, dtypes
    bits = to_bits(x, source) if kind_of(source) == "f" else x
    bits = convert(bits, "zext", integer(width(source)))
    if kind_of(result) == "b":
        return bits.ne(0)
    return from_bits(bits, result) if kind_of(result) == "f" else bits


def _power(args, dtypes, result, attrs) -> Scalar:
    base, exponent = args
    if kind_of(dtypes[1]) != kind_of(result):
        exponent = _convert((exponent,), dtypes[1:], result, {})
    if isinstance(base, Pair):
        return complex_.power(base, exponent)
    value = math.pow(base, exponent)
    return rounded(value, result) if is_narrow(result) else value


def _nextafter(args, dtypes, result, attrs) -> Value:
    """One step of the bits of stored floats: up or down in absolute value, or away from zero."""
    x, towards = args
    bits, sign = to_bits(x, result), to_bits(towards, result)
    top = -(1 << bits.type.bits - 1)
    away = (towards > x) ^ (bits < 0)
    step = select(away, constant(bits, 1), -1)
    next_bits = select(x.eq(0), (sign & top) | 1, bits + step)
    stepped = from_bits(next_bits, result)
    stepped = select(x.eq(towards), towards, stepped)
    return select(x.ne(x) | towards.ne(towards), x + towards, stepped)


def _part(name: str) -> Callable:
    return lambda args, dtypes, result, attrs: getattr(args[0], name)


def _size(args, dtypes, result, attrs) -> Value:
    if isinstance(args[0], Pair):
        return complex_.size(args[0])
    return _abs(args[0], kind_of(result) == "i") if kind_of(result) in "iu" else absolute(args[0])


def _complex_integer_pow(x: Pair, y: int) -> Pair:
    one = Pair(constant(x.re, 1.0), constant(x.re, 0.0))
    result, square, n = one, x, abs(y)
    while n:
        result = result * square if n % 2 else result
        square, n = square * square, n // 2
    return result if y >= 0 else one / result


def _raised(args, dtypes, result, attrs) -> Scalar:
    (x,) = args
    if isinstance(x, Pair):
        return _complex_integer_pow(x, attrs["y"])
    value = _integer_pow(x, y=attrs["y"])
    return rounded(value, result) if is_narrow(result) else value


def _less_precise(args, dtypes, result, attrs) -> Value:
    """For narrow floats, the exponent is compared with their own range."""
    bits = attrs["exponent_bits"]
    if bits >= ml_dtypes.finfo(result).nexp:
        bits = 11
    value = _reduce_precision(args[0], exponent_bits=bits, mantissa_bits=attrs["mantissa_bits"])
    return rounded(value, result) if is_narrow(result) else value


def _selected(args, dtypes, result, attrs) -> Scalar:
    return choose(*args)


def _kept(args, dtypes, result, attrs) -> Scalar:
    condition, x = args
    return choose(condition, x, number(condition.writer, result.type(0), result))


# -- the table -------------------------------------------------------------------------------------


@record
class Code:
    """The functions that write an instruction, for each kind of first operand that its row accepts.

    ``any`` serves all kinds, and gets dtypes and attributes. The others get the operands: ``f``
    floats, ``c`` complex numbers, ``i`` integers and bools, ``n`` the same, with an argument
    ``signed``.
    """

    f: Callable[..., Value] | None = None
    c: Callable[..., Pair] | None = None
    i: Callable[..., Value] | None = None
    n: Callable[..., Value] | None = None
    any: Callable[..., Scalar] | None = None

    def of(self, kind: str) -> Callable[..., Any]:
        """The function that writes it for a kind of dtype."""
        if kind in "biu" and self.n is not None:
            return partial(self.n, signed=kind == "i")
        code = {"f": self.f, "c": self.c}.get(kind, self.i)
        assert code is not None
        return code


def _of_module(module: Any, *names: str) -> dict[str, Code]:
    """Functions of floats, and of complex numbers where they exist, by their names."""
    return {name: Code(f=getattr(module, name), c=complex_.FUNCTIONS.get(name)) for name in names}


CODE: dict[str, Code] = {
    # Arithmetic.
    "add": Code(Value.__add__, Pair.__add__, Value.__add__),
    "sub": Code(Value.__sub__, Pair.__sub__, Value.__sub__),
    "mul": Code(Value.__mul__, Pair.__mul__, Value.__mul__),
    "div": Code(_quotient, complex_.divide, n=_div),
    "rem": Code(_rem, n=_int_rem),
    "floor_div": Code(n=_floor_div), "floor_mod": Code(n=_floor_mod), "mulhi": Code(n=_mulhi),
    "dot4": Code(i=_dot4), "dot4u": Code(i=partial(_dot4, signed=False)), "dot2": Code(i=_dot2),
    "muladd": Code(muladd),
    "neg": Code(Value.__neg__, Pair.__neg__, Value.__neg__),
    "square": Code(lambda x: x * x, complex_.FUNCTIONS["square"], lambda x: x * x),
    "one_minus_square": Code(lambda x: (1.0 - x) * (x + 1.0),
                             complex_.FUNCTIONS["one_minus_square"]),
    "abs": Code(any=_size), "sign": Code(_sign, complex_.FUNCTIONS["sign"], n=_int_sign),
    "integer_pow": Code(any=_raised), "pow": Code(any=_power),
    "sqrt": Code(sqrt, complex_.FUNCTIONS["sqrt"]),
    "rsqrt": Code(lambda x: 1.0 / sqrt(x), complex_.FUNCTIONS["rsqrt"]),
    # Order.
    "max": Code(maximum, complex_.FUNCTIONS["max"], n=_extreme("max")),
    "min": Code(minimum, complex_.FUNCTIONS["min"], n=_extreme("min")),
    "clamp": Code(lambda low, x, high: minimum(maximum(x, low), high), n=_int_clamp),
    **{how: Code(any=_compare(how)) for how in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"{how}_to": Code(any=_total_order(how)) for how in ("eq", "lt", "le")},
    "select": Code(any=_selected), "keep": Code(any=_kept),
    # Bits.
    "and": Code(i=Value.__and__), "or": Code(i=Value.__or__), "xor": Code(i=Value.__xor__),
    "not": Code(i=Value.__invert__), "clz": Code(i=_clz),
    "population_count": Code(i=lambda x: intrinsic("ctpop", x)),
    "shift_left": Code(i=_shift_by(shift_left)),
    "shift_right_logical": Code(i=_shift_by(shift_right)),
    "shift_right_arithmetic": Code(i=_shift_right_arithmetic),
    # Rounding and conversions.
    "floor": Code(floor), "ceil": Code(ceil), "round_even": Code(rint),
    "round_away": Code(lambda x: intrinsic("round", x)),
    "is_finite": Code(lambda x: absolute(x) < np.inf), "nextafter": Code(any=_nextafter),
    "reduce_precision": Code(any=_less_precise), "convert": Code(any=_convert),
    "bitcast": Code(any=_bitcast), "complex": Code(any=lambda args, *_: Pair(*args)),
    "real": Code(any=_part("re")), "imag": Code(any=_part("im")),
    "conj": Code(c=complex_.FUNCTIONS["conj"]),
    # Functions.
    **_of_module(math, "exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan", "asin",
                 "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
                 "logistic", "logit", "cbrt"),
    **_of_module(special, "erf", "erfc", "erf_inv", "ndtr", "lgamma", "digamma", "polygamma",
                 "zeta"),
    **_of_module(gamma, "igamma", "igammac"), **_of_module(beta, "betainc"),
    **_of_module(bessel, "bessel_i0e", "bessel_i1e"),
}
"""The code of each instruction: a row for each row of ``_loops/instructions.py``, with an entry for
each kind that it accepts. It is here because code depends on the target and loops do not;
``tests/compiler/test_instruction_code.py`` compares both tables."""
