"""How elements are represented in memory and in registers, and conversion between dtypes.

===============  ==================  =============================================================
dtype            in memory           in registers
===============  ==================  =============================================================
bool             i8                  i1
int8 … uint64    i8 … i64            i8 … i64
int4, uint2 …    i8, low bits        i4, i2
float32, 64      float, double       float, double
float16          half                float, rounded to float16 after each instruction
bfloat16         i16                 float, rounded as well
float8 and less  i8                  float, rounded as well
complex          two floats          a pair of floats (see ``complex.py``)
===============  ==================  =============================================================

Narrow floats are rounded by bit arithmetic, which every processor does in vectors.
"""

from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np

from ..._base.records import record
from ..._loops.instructions import kind_of, width
from .values import (
    F32,
    F64,
    I1,
    I8,
    I32,
    Type,
    Value,
    absolute,
    bits_of,
    bits_to_float,
    convert,
    integer,
    select,
    shift_left,
    shift_right,
    type_of,
)

__all__ = ["BFLOAT", "cast", "from_bits", "from_memory", "from_pairs", "halves", "is_narrow",
           "is_unsigned", "memory_type", "part_dtype", "register_type", "rounded",
           "to_bits", "to_memory"]

_HALF, BFLOAT = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
_PARTS: dict[np.dtype, np.dtype] = {np.dtype(np.complex64): np.dtype(np.float32),
          np.dtype(np.complex128): np.dtype(np.float64)}


@cache
def part_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the parts of a complex number; of anything else, its own."""
    return _PARTS.get(dtype, dtype)


def is_narrow(dtype: np.dtype) -> bool:
    """Whether values of a dtype are floats that are computed in float32 and then rounded."""
    return kind_of(dtype) == "f" and dtype.itemsize < 4


def is_unsigned(dtype: np.dtype) -> bool:
    """Whether floats of a dtype are powers of two, with neither zero nor sign."""
    return dtype.name == "float8_e8m0fnu"


@cache
def register_type(dtype: np.dtype) -> Type:
    """The LLVM type of a scalar of a dtype in a register; of complex numbers, that of a part."""
    kind = kind_of(dtype)
    if kind == "b":
        return I1
    if kind in "iu":
        return integer(width(dtype))
    return F64 if part_dtype(dtype).itemsize == 8 else F32


@cache
def memory_type(dtype: np.dtype) -> Type:
    """The LLVM type of a scalar of a dtype in memory; of complex numbers, that of a part."""
    kind = kind_of(dtype)
    if kind == "b" or kind in "iu" and width(dtype) < 8:
        return I8
    if dtype == _HALF:
        return type_of("half")
    return integer(8 * dtype.itemsize) if is_narrow(dtype) else register_type(dtype)


def from_memory(x: Value, dtype: np.dtype) -> Value:
    """A loaded element as it is computed with."""
    if kind_of(dtype) == "b":
        return x.ne(0)
    if kind_of(dtype) in "iu":
        return convert(x, "trunc", register_type(dtype))
    if dtype == _HALF:
        return convert(x, "fpext", F32)
    return from_bits(x, dtype) if is_narrow(dtype) else x


def from_pairs(words: Value) -> Value:
    """bfloat16 numbers, two in each word, as float32: those in lower halves, then the others.

    Each takes one instruction, half as many as in the order of memory.
    """
    write, lanes = words.writer.write, words.type.lanes
    low = shift_left(words, 16)
    order = ", ".join([f"i32 {n}" for n in range(2 * lanes)])
    both = write(words.type.of(2 * lanes), f"shufflevector {low!r}, {words & -65536!r}, "
                                           f"<{2 * lanes} x i32> <{order}>")
    return convert(both, "bitcast", F32)


def halves(words: Value) -> tuple[Value, Value]:
    """The lower and the upper halves of words, which are bfloat16 numbers, as float32."""
    return bits_to_float(shift_left(words, 16)), bits_to_float(words & -65536)


def to_memory(x: Value, dtype: np.dtype) -> Value:
    """A computed value as it is stored."""
    if kind_of(dtype) in "biu":
        return convert(x, "zext", memory_type(dtype))
    if dtype == _HALF:
        return convert(x, "fptrunc", type_of("half"))
    return convert(to_bits(x, dtype), "zext", memory_type(dtype)) if is_narrow(dtype) else x


# -- narrow floats ---------------------------------------------------------------------------------


@record
class _Format:
    """A float of 8 bits or fewer: its fields, and the codes of its magnitudes without the sign."""

    bits: int            # with the sign
    mantissa: int
    least: int           # the exponent of the least normal number
    greatest: float
    infinity: int | None
    nan: int | None      # None: NaN is the negative zero, or does not exist
    fnuz: bool           # one zero, and NaN in place of the negative one

    @property
    def drop(self) -> int:
        """Bits of the float32 mantissa that are dropped."""
        return 23 - self.mantissa

    @property
    def scale(self) -> float:
        """Moves exponents between the bias of the format and that of float32."""
        return 2.0 ** (self.least + 126)


@cache
def _format(dtype: np.dtype) -> _Format:
    info = ml_dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        codes = np.array([np.inf, np.nan], np.float32).astype(dtype).view(np.uint8)
        back = codes.view(dtype).astype(np.float32)
    fnuz = dtype.name.endswith("fnuz")
    return _Format(info.bits, info.nmant, info.minexp, float(info.max),
                   int(codes[0]) if np.isinf(back[0]) else None,
                   int(codes[1]) if np.isnan(back[1]) and not fnuz else None, fnuz)


def rounded(x: Value, dtype: np.dtype, computed: bool = False) -> Value:
    """A float32 rounded to a narrow dtype, still in float32; ties to even.

    A NaN that was ``computed`` from narrow numbers has no bits in the part that is dropped.
    """
    if dtype == _HALF:
        return convert(convert(x, "fptrunc", type_of("half")), "fpext", F32)
    bits = bits_of(x)
    if dtype == BFLOAT:  # NaN may have all bits set, or none but the last: there is a better one
        return bits_to_float(_without_low_bits(
            bits if computed else select(x.eq(x), bits, 0x7fc00000), 16))
    if is_unsigned(dtype):
        up = select(x > 2.0 ** -127, bits_to_float((bits + 0x400000) & 0x7f800000), 2.0 ** -127)
        return select((x > 0) & (x <= _format(dtype).greatest), up, np.nan)
    form, size = _format(dtype), absolute(x)
    near = bits_to_float(_without_low_bits(bits_of(size), form.drop))
    magic = 2.0 ** (form.least + form.drop)  # a unit in its last place is the least number
    near = select(size < 2.0 ** form.least, (size + magic) - magic, near)
    if form.fnuz:
        near = select(size.eq(size) & (near <= form.greatest), near, np.nan)
        return select(x < 0, -near, near) + 0.0
    top = np.inf if form.infinity is not None else np.nan if form.nan is not None else form.greatest
    near = select(near > form.greatest, top, near)
    sign = bits & -0x80000000
    # If the format has no NaN, it becomes a zero of the other sign.
    odd = x if form.nan is not None else bits_to_float(sign ^ -0x80000000)
    return select(x.eq(x), bits_to_float(bits_of(near) | sign), odd)


def _without_low_bits(bits: Value, drop: int) -> Value:
    """Float bits rounded to drop part of the mantissa, ties to even."""
    half = (1 << drop - 1) - 1
    if bits.type.lanes == 1 or bits.writer.has_masks:
        odd = shift_right(bits, drop) & 1
    else:  # a bit test gives -1 without a shift, which fewer ports execute
        odd = -convert((bits & (1 << drop)).ne(0), "sext", I32)
    return (bits + half + odd) & -(1 << drop)


def to_bits(x: Value, dtype: np.dtype) -> Value:
    """The bits of a float as an integer of as many bits as count."""
    if dtype == _HALF:
        return bits_of(convert(x, "fptrunc", type_of("half")))
    bits = bits_of(x)
    if not is_narrow(dtype):
        return bits
    if dtype == BFLOAT:
        return convert(shift_right(bits, 16), "trunc", integer(16))
    if is_unsigned(dtype):
        return convert(select(x.eq(x), shift_right(bits, 23), 255), "trunc", I8)
    form = _format(dtype)
    size = absolute(x)
    code = shift_right(bits_of(size * (1 / form.scale)), form.drop)
    if form.infinity is not None:
        code = select(size.eq(np.inf), form.infinity, code)
    if form.nan is not None:
        code = select(x.eq(x), code, form.nan)
    sign = shift_left(shift_right(bits, 31), form.bits - 1)
    if form.fnuz:
        sign = select(size > 0, sign, 0)
        return convert(select(x.eq(x), code | sign, 0x80), "trunc", I8)
    return convert(code | sign, "trunc", integer(form.bits))


def _behind_zeros(x: Value) -> Value:
    """Floats whose upper halves are given. Shifts would work, but fewer ports execute them.

    In longer vectors it takes as long, because lanes far apart are not shuffled at once."""
    lanes, type = x.type.lanes, F32.of(x.type.lanes)
    order = ", ".join([f"i32 {n + half}" for n in range(lanes) for half in (0, lanes)])
    both = x.writer.write(x.type.of(2 * lanes), f"shufflevector {x.type} zeroinitializer, {x!r}, "
                                                f"<{2 * lanes} x i32> <{order}>")
    return x.writer.write(type, f"bitcast {both!r} to {type}")


def from_bits(x: Value, dtype: np.dtype) -> Value:
    """The float of its bits; more of them than count do not matter."""
    if not is_narrow(dtype):
        return bits_to_float(x)
    if dtype == _HALF:
        return convert(bits_to_float(x), "fpext", F32)
    if dtype == BFLOAT and x.writer.machine.vector_bits == 128 and (
            x.type.lanes > 1 and x.type.bits == 16):
        return _behind_zeros(x)
    code = convert(x, "zext", I32)
    if dtype == BFLOAT:
        return bits_to_float(shift_left(code, 16))
    if is_unsigned(dtype):
        power = bits_to_float(select(code.eq(0), 0x400000, shift_left(code, 23)))
        return select(code.eq(255), np.nan, power)
    form = _format(dtype)
    sign = 1 << form.bits - 1
    code = code & (2 * sign - 1)
    size = code & (sign - 1)
    value = bits_to_float(shift_left(size, form.drop)) * form.scale
    if form.infinity is not None:
        value = select(size.eq(form.infinity), np.inf, value)
    if form.nan is not None:
        # Without infinities there is one NaN, the largest code.
        least = form.nan if form.infinity is None else form.infinity + 1
        value = select(size >= least, np.nan, value)
    value = bits_to_float(bits_of(value) | shift_left(code & sign, 32 - form.bits))
    return select(code.eq(sign), -np.nan, value) if form.fnuz else value


# -- conversion ------------------------------------------------------------------------------------


def cast(x: Value, source: np.dtype, target: np.dtype) -> Value:
    """Convert a number of a dtype to another dtype, neither of them complex."""
    kinds, to = kind_of(source) + kind_of(target), register_type(target)
    if kinds[1] == "b":
        return x if kinds[0] == "b" else x.ne(0)
    if kinds[1] in "iu":
        return _to_integer(x, kinds, to)
    if kinds[0] == "f":
        wide = _resized(x, to)
        return rounded(wide, target) if is_narrow(target) and source != target else wide
    wide = convert(x, "sitofp" if kinds[0] == "i" else "uitofp", to)
    return rounded(wide, target) if is_narrow(target) else wide


def _resized(x: Value, to: Type) -> Value:
    return convert(x, "fpext" if x.type.bits < to.bits else "fptrunc", to)


def _to_integer(x: Value, kinds: str, to: Type) -> Value:
    if kinds[0] == "f":
        to = to.of(x.type.lanes)
        if x.type.lanes > 1 and not x.writer.machine.saturates:
            return _clipped(x, kinds[1] == "i", to)
        name = f"llvm.fpto{'s' if kinds[1] == 'i' else 'u'}i.sat.{to.suffix}.{x.type.suffix}"
        return x.writer.call(name, to, [x])
    if x.type.bits > to.bits:
        return convert(x, "trunc", to)
    return convert(x, "sext" if kinds[0] == "i" else "zext", to)


def _clipped(x: Value, signed: bool, to: Type) -> Value:
    """Convert floats to integers, saturating, NaN to 0: LLVM would clip x86 vectors lane by lane.

    A million float32 become int32 in 0.5 ms instead of 1.5 (AVX-512).
    """
    top = 2.0 ** (to.bits - signed)
    least = -top if signed else 0.0
    inside = select(x < top, x, 0.0)
    inside = select(inside > least, inside, least)
    made = convert(inside, "fptosi" if signed else "fptoui", to)
    return select(x >= top, 2 ** (to.bits - signed) - 1, made)
