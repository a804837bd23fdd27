"""Values of LLVM code: Python's operators on them write instructions.

A :class:`Value` is a scalar, or a vector of some lanes, that an instruction has computed. ``x * y +
1`` appends two lines to the :class:`Writer` of ``x``. Numbers become constants of the other
operand's type, and a scalar next to a vector is broadcast to its lanes, so that a formula reads the
same for one lane as for sixteen. No fast-math flags are ever set: arithmetic follows IEEE 754.

Masks have type i1 per lane. Processors without mask registers hold them as integers of all ones or
zeros, as wide as the compared values. So that LLVM does not pack and unpack them, combinations of
masks are written in such integers (:meth:`Value.spread`).
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Sequence
from ctypes import c_float

import numpy as np

from ..abi import PARALLEL
from ..machine import Machine

__all__ = ["F32", "F64", "I1", "I32", "I64", "I8", "Place", "Type", "Value", "Writer", "absolute",
           "any_lane", "as_mask", "bits_of", "bits_to_float", "call_lanewise", "ceil", "constant",
           "convert", "copysign", "floor", "fma", "in_parallel", "integer",
           "intrinsic", "lane_numbers", "maximum", "minimum", "muladd", "outlined",
           "polynomial", "repeat", "repeat_until", "resized", "rint", "select", "shift_left",
           "shift_right", "sqrt", "trunc", "type_of", "when_any"]


class Type:
    """An LLVM type: an element, and how many lanes of it; one lane is a plain scalar.

    >>> type_of("float", 4).text, type_of("i1").text
    ('<4 x float>', 'i1')
    """

    __slots__ = ("bits", "element", "is_float", "lanes", "suffix", "text")

    def __init__(self, element: str, lanes: int):
        self.element, self.lanes = element, lanes
        self.is_float = element in _FLOAT_BITS
        self.bits = _FLOAT_BITS[element] if self.is_float else _int_bits(element)
        self.text = element if lanes == 1 else f"<{lanes} x {element}>"
        short = f"f{self.bits}" if self.is_float else element
        self.suffix = short if lanes == 1 else f"v{lanes}{short}"

    def __repr__(self):
        return self.text

    def of(self, lanes: int) -> Type:
        """The same element in another number of lanes."""
        return self if lanes == self.lanes else type_of(self.element, lanes)


_ANY = Machine("", "", "+fma", 128)
"""For code that does not depend on the machine."""
_MANY = 6
"""Coefficients of a polynomial from which only the last step follows Horner's rule, not two."""
_FLOAT_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}


def _int_bits(element: str) -> int:
    return 64 if element == "ptr" else int(element[1:])


_types: dict[tuple[str, int], Type] = {}


def type_of(element: str, lanes: int = 1) -> Type:
    """The type with an element's name and a number of lanes; types are interned."""
    key = (element, lanes)
    return _types.get(key) or _types.setdefault(key, Type(element, lanes))


def integer(bits: int, lanes: int = 1) -> Type:
    """The integer type of a width."""
    return type_of(f"i{bits}", lanes)


I1, I8, I32, I64 = (type_of(f"i{bits}") for bits in (1, 8, 32, 64))
F32, F64 = type_of("float"), type_of("double")


class Place:
    """Lines of code being written, and the label of their last basic block."""

    __slots__ = ("block", "lines")

    def __init__(self, block: str):
        self.lines: list[str] = []
        self.block = block

    def start(self, label: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{label}:")
        self.block = label


class Writer:
    """Where instructions go: a place in a function, and what the function needs from outside.

    ``declared`` maps each name that is called to its declaration, ``helpers`` maps names to
    functions written on the way, ``uses`` counts the uses of elementary functions: these three are
    shared by the whole ``module``, which is written for one ``machine``.
    """

    def __init__(self, module: Writer | None = None, machine: Machine = _ANY):
        self.place = Place("entry")
        self.machine: Machine = module.machine if module else machine
        # Every instruction reads these.
        self.has_masks: bool = self.machine.has_masks
        self.spares_addends: bool = self.machine.spares_addends
        self.declared: dict[str, str] = module.declared if module else {}
        self.helpers: dict[str, str] = module.helpers if module else {}
        self.uses: Counter[tuple[str, Type]] = module.uses if module else Counter()
        self._count = 0

    def fresh(self, hint: str) -> str:
        """A name that is unique in the function."""
        self._count += 1
        return f"{hint}{self._count}"

    def write(self, type: Type, text: str) -> Value:
        """Append an instruction that computes a value."""
        self._count += 1
        name = f"%v{self._count}"
        self.place.lines.append(f"{name} = {text}")
        return Value(self, name, type, self.place)

    def call(self, name: str, result: Type, args: Sequence[Value]) -> Value:
        """Call a function by its name, and declare it."""
        if name not in self.declared and name not in self.helpers:
            types = ", ".join([a.type.text for a in args])
            self.declared[name] = f"declare {result.text} @{name}({types})"
        texts = ", ".join([f"{a.type.text} {a.text}" for a in args])
        return self.write(result, f"call {result.text} @{name}({texts})")


def in_parallel(writer: Writer, task: str, addresses: Sequence[str], count: int) -> str:
    """Call a task in threads, that often; its context is an array of addresses."""
    writer.declared[PARALLEL] = f"declare void @{PARALLEL}(ptr, ptr, i64)"
    context = "%" + writer.fresh("context")
    code = [f"{context} = alloca [{len(addresses)} x ptr]"]
    for number, address in enumerate(addresses):
        place = "%" + writer.fresh("place")
        code += [f"{place} = getelementptr ptr, ptr {context}, i64 {number}",
                 f"store ptr {address}, ptr {place}"]
    return "\n".join([*code, f"call void @{PARALLEL}(ptr @{task}, ptr {context}, i64 {count})"])


class Value:
    """The result of an instruction, or a constant; ``writer`` takes what is computed from it.

    For a mask, ``mask_bits`` are those of the compared values, and ``wide`` may hold it as
    integers. An int64 may be known as the sum of another one, ``base``, and the number ``beyond``
    it; ``place`` is where an instruction computed it.
    """

    __slots__ = ("base", "beyond", "mask_bits", "place", "text", "type", "wide", "writer")

    def __init__(self, writer: Writer, text: str, type: Type, place: Place | None = None):
        self.writer, self.text, self.type, self.place = writer, text, type, place
        self.mask_bits = 8
        self.wide: Value | None = None
        self.base: Value | None = None
        self.beyond = 0

    def __repr__(self):
        return f"{self.type.text} {self.text}"

    @property
    def is_constant(self) -> bool:
        """Whether the value is known when the code is written."""
        return self.text[0] != "%"

    def of(self, lanes: int) -> Value:
        """The value in each of some lanes."""
        if self.type.lanes == lanes:
            return self
        if self.is_constant:
            return Value(self.writer, f"splat ({self.type.element} {self.text})",
                         self.type.of(lanes))
        vector, write = self.type.of(lanes), self.writer.write
        first = write(vector, f"insertelement {vector.text} poison, {self!r}, i64 0")
        return write(vector, f"shufflevector {first!r}, {vector.text} poison, "
                             f"<{lanes} x i32> zeroinitializer")

    def lane(self, number: int) -> Value:
        """The scalar in one lane."""
        return self.writer.write(self.type.of(1), f"extractelement {self!r}, i64 {number}")

    def with_lane(self, number: int, scalar: Value) -> Value:
        """The vector with another scalar in one lane."""
        return self.writer.write(self.type, f"insertelement {self!r}, {scalar!r}, i64 {number}")

    def shuffled(self, lanes: Sequence[int], other: Value | None = None) -> Value:
        """A vector (or, of one lane, a scalar) of some of the lanes; an ``other`` vector's follow.
        """
        if len(lanes) == 1 and other is None:
            return self.lane(lanes[0])
        mask = ", ".join([f"i32 {n}" for n in lanes])
        second = f"{self.type.text} poison" if other is None else repr(other)
        return self.writer.write(self.type.of(len(lanes)), (
            f"shufflevector {self!r}, {second}, <{len(lanes)} x i32> <{mask}>"))

    @property
    def is_mask(self) -> bool:
        """Whether this is a mask that is better held as integers."""
        return self.type.bits == 1 and self.type.lanes > 1 and not self.writer.has_masks

    def spread(self, bits: int) -> Value:
        """A mask as integers of ``bits`` bits, all ones or zeros."""
        to = integer(bits, self.type.lanes)
        if self.is_constant:
            return constant(Value(self.writer, "0", to), -1 if "true" in self.text else 0)
        if self.wide is None or self.wide.type.bits == bits:
            return self.wide or convert(self, "sext", to)
        return resized(self.wide, bits)

    # -- operators: signed where it matters, ordered comparisons -----------------------------------

    def __add__(self, other):
        total = _binary("fadd" if self.type.is_float else "add", self, other)
        if (number := self._integer(other)) is not None:
            total.base, total.beyond = self.base or self, self.beyond + number
        return total

    def __sub__(self, other):
        return _binary("fsub" if self.type.is_float else "sub", self, other)

    def __rsub__(self, other):
        return constant(self, other) - self

    def __mul__(self, other):
        product = _binary("fmul" if self.type.is_float else "mul", self, other)
        if self.beyond and self.base and (number := self._integer(other)) is not None:
            writer, base = self.writer, self.base
            here, writer.place = writer.place, base.place or writer.place
            product.base, product.beyond = base * number, self.beyond * number
            writer.place = here
        return product

    def _integer(self, other) -> int | None:
        """The constant that is added to an int64, or multiplies it, if it is known now."""
        if self.type != I64 or isinstance(other, Value) and not (
                other.is_constant and other.type == I64):
            return None
        return int(other.text if isinstance(other, Value) else other)

    def __truediv__(self, other):
        return _binary("fdiv", self, other)

    def __rtruediv__(self, other):
        return constant(self, other) / self

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        if self.type.is_float:
            return self.writer.write(self.type, f"fneg {self!r}")
        return constant(self, 0) - self

    def __and__(self, other):
        return _logic("and", self, other)

    def __or__(self, other):
        return _logic("or", self, other)

    def __xor__(self, other):
        return _logic("xor", self, other)

    def __invert__(self):
        return _logic("xor", self, -1 if self.type.bits > 1 else True)

    def __lt__(self, other):
        return self.compare("lt", other)

    def __le__(self, other):
        return self.compare("le", other)

    def __gt__(self, other):
        return self.compare("gt", other)

    def __ge__(self, other):
        return self.compare("ge", other)

    def eq(self, other) -> Value:
        """Whether two values are equal; never true of NaN."""
        return self.compare("eq", other)

    def ne(self, other) -> Value:
        """Whether two values differ; always true of NaN."""
        return self.compare("ne", other)

    def compare(self, how: str, other, signed: bool = True) -> Value:
        """One of ``eq ne lt le gt ge``."""
        if self.type.is_float:
            answer = _binary(f"fcmp {'une' if how == 'ne' else 'o' + how}", self, other, I1)
        else:
            sign = "" if how in ("eq", "ne") else "s" if signed else "u"
            answer = _binary(f"icmp {sign}{how}", self, other, I1)
        answer.mask_bits = max(8, self.type.bits)
        return answer


def constant(like: Value, number) -> Value:
    """A number as a constant of the type of another value."""
    scalar = Value(like.writer, _number(like.type, number), like.type.of(1))
    return scalar.of(like.type.lanes)


def _number(type: Type, number) -> str:
    if not type.is_float:
        if type.bits == 1:
            return "true" if number else "false"
        return str(int(number))
    if type.element == "half":
        return f"0xH{np.float16(number).view(np.uint16):04X}"
    number = float(number)
    if type.element == "float":
        number = c_float(number).value
    return f"0x{_BITS.unpack(_DOUBLE.pack(number))[0]:016X}"


_BITS, _DOUBLE = struct.Struct("<Q"), struct.Struct("<d")


def _together(*operands) -> list[Value]:
    """Operands with the same number of lanes, and numbers as constants of the first value's
    type."""
    lanes = 0
    for x in operands:
        if type(x) is not Value or lanes and x.type.lanes != lanes:
            break
        lanes = x.type.lanes
    else:
        return [*operands]  # the usual case
    values = [x for x in operands if isinstance(x, Value)]
    lanes = max([x.type.lanes for x in values])
    return [(x if isinstance(x, Value) else constant(values[0], x)).of(lanes) for x in operands]


def _binary(name: str, a: Value, b, result: Type | None = None) -> Value:
    if not isinstance(b, Value):
        b = constant(a, b)
    elif a.type.lanes != b.type.lanes:
        a, b = _together(a, b)
    type = a.type if result is None else result.of(a.type.lanes)
    return a.writer.write(type, f"{name} {a.type.text} {a.text}, {b.text}")


def _logic(name: str, a: Value, b) -> Value:
    """A bitwise instruction; on masks, one on integers."""
    if not isinstance(b, Value):
        b = constant(a, b)
    a, b = _together(a, b)
    if not a.is_mask:
        return _binary(name, a, b)
    bits = max([x.mask_bits for x in (a, b) if not x.is_constant], default=8)
    return as_mask(_binary(name, a.spread(bits), b.spread(bits)))


def as_mask(wide: Value) -> Value:
    """Integers of all ones or zeros as a mask."""
    answer = convert(wide, "trunc", I1)
    answer.wide, answer.mask_bits = wide, wide.type.bits
    return answer


def intrinsic(name: str, *operands, extra: Sequence[Value] = ()) -> Value:
    """An LLVM intrinsic whose operands and result have one type; ``extra`` are appended unchanged.

    ``intrinsic("sqrt", x)`` calls ``llvm.sqrt.v4f32`` when ``x`` has four lanes of float.
    """
    args = _together(*operands)
    type = args[0].type
    return args[0].writer.call(f"llvm.{name}.{type.suffix}", type, [*args, *extra])


def fma(a, b, c) -> Value:
    """``a * b + c`` with one rounding; :func:`muladd` is quicker where two will do."""
    a, b, c = _together(a, b, c)
    if not c.writer.machine.fuses and c.type.bits >= 32:
        return _exactly(a, b, c)
    if c.is_constant and c.type.lanes > 1 and not c.writer.spares_addends:
        c = _from_memory(c)
    return intrinsic("fma", a, b, c)


def muladd(a, b, c) -> Value:
    """``a * b + c``, with one rounding if the machine has an instruction for it, otherwise two."""
    a, b, c = _together(a, b, c)
    return fma(a, b, c) if c.writer.machine.fuses else a * b + c


def _exactly(a: Value, b: Value, c: Value) -> Value:
    """``a * b + c`` without an instruction for it; the product keeps all its digits.

    The last bit may differ from that of one rounding, once in some hundred million sums. Products
    of two float32 numbers are exact in float64. For float64 the product is the rounded one plus its
    error, by products of halves of the factors; factors too large to be split get the rounded one.
    """
    if c.type.bits == 32:
        x, y, z = (convert(v, "fpext", F64) for v in (a, b, c))
        return convert(x * y + z, "fptrunc", F32)

    def halved(x: Value) -> tuple[Value, Value]:
        scaled = x * 134217729.0  # 2**27 + 1
        high = scaled - (scaled - x)
        return high, x - high
    (a_high, a_low), (b_high, b_low) = halved(a), halved(b)
    product = a * b
    lost = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    total = product + c
    added = total - product
    lost = lost + ((product - (total - added)) + (c - added))
    return select(absolute(lost) < float("inf"), total + lost, total)


def _from_memory(c: Value) -> Value:
    """A constant that is loaded where it is used, rather than copied from register to register.

    Loads run in parallel with arithmetic, copies compete with it. If the memory were declared
    constant, LLVM would load it once and make copies; so only its section says that it is
    read-only.
    """
    scalar = c.text.removeprefix(f"splat ({c.type.element} ").removesuffix(")")
    name = f'"{c.type.suffix} {scalar}"'
    c.writer.helpers[name] = (f"@{name} = internal global {c!r}, section \".rodata\", "
                              f"align {c.type.bits // 8}")
    return c.writer.write(c.type, f"load {c.type}, ptr @{name}, align {c.type.bits // 8}")


def sqrt(x: Value) -> Value:
    """The square root, correctly rounded."""
    return intrinsic("sqrt", x)


def absolute(x: Value) -> Value:
    """The absolute value of a float."""
    return intrinsic("fabs", x)


def copysign(size, sign) -> Value:
    """The absolute value of one float with the sign of another."""
    return intrinsic("copysign", size, sign)


def floor(x: Value) -> Value:
    """The greatest integer below or at a float."""
    return intrinsic("floor", x)


def ceil(x: Value) -> Value:
    """The least integer above or at a float."""
    return intrinsic("ceil", x)


def trunc(x: Value) -> Value:
    """A float without its fraction."""
    return intrinsic("trunc", x)


def rint(x: Value) -> Value:
    """The nearest integer, halves to even."""
    return intrinsic("rint", x)


def maximum(a, b) -> Value:
    """The greater of two floats; NaN wins, and 0 over -0."""
    return intrinsic("maximum", a, b)


def minimum(a, b) -> Value:
    """The lesser of two floats; NaN wins, and -0 over 0."""
    return intrinsic("minimum", a, b)


def select(condition: Value, a, b) -> Value:
    """``a`` where the condition holds, else ``b``; both are evaluated."""
    a, b = _together(a, b)
    if condition.type.lanes > a.type.lanes:
        a, b = a.of(condition.type.lanes), b.of(condition.type.lanes)
    if condition.is_mask and a.is_mask:
        return (condition & a) | (~condition & b)
    if condition.is_mask and (condition.wide is not None or condition.mask_bits != a.type.bits):
        mask = condition.spread(a.type.bits)
        chosen = (bits_of(a) & mask) | (bits_of(b) & ~mask)
        return bits_to_float(chosen) if a.type.is_float else chosen
    return a.writer.write(a.type, f"select {condition!r}, {a!r}, {b!r}")


def shift_left(x: Value, by) -> Value:
    """Bits moved up; the amount must be less than the width."""
    return _binary("shl", x, by)


def shift_right(x: Value, by, signed: bool = False) -> Value:
    """Bits moved down; the amount must be less than the width."""
    return _binary("ashr" if signed else "lshr", x, by)


def convert(x: Value, how: str, to: Type) -> Value:
    """One of LLVM's conversions, such as ``sitofp``, in the lanes of ``x``."""
    to = to.of(x.type.lanes)
    return x if to is x.type else x.writer.write(to, f"{how} {x!r} to {to.text}")


def bits_of(x: Value) -> Value:
    """The bits of a float as an integer."""
    return convert(x, "bitcast", integer(x.type.bits))


def bits_to_float(x: Value) -> Value:
    """The float with some bits."""
    return convert(x, "bitcast", type_of({16: "half", 32: "float", 64: "double"}[x.type.bits]))


def lane_numbers(writer: Writer, type: Type) -> Value:
    """The vector ``0, 1, 2 …``"""
    texts = ", ".join([f"{type.element} {n}" for n in range(type.lanes)])
    return Value(writer, f"<{texts}>", type)


def resized(x: Value, bits: int) -> Value:
    """A signed integer in another width."""
    to = integer(bits, x.type.lanes)
    if x.type.lanes == 1 and x.is_constant:
        return Value(x.writer, x.text, to)
    return convert(x, "trunc" if bits < x.type.bits else "sext", to)


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """A polynomial in fused steps; the coefficient of the highest power first.

    The last steps, which dominate the error, follow Horner's rule. The earlier ones are computed in
    parts that do not depend on each other.

    >>> writer = Writer()
    >>> polynomial(Value(writer, "%x", F32), [2.0, 3.0, 4.0])
    float %v2
    >>> len(writer.place.lines)
    2
    """
    top = len(coefficients) - (1 if len(coefficients) >= _MANY else 2)
    if top < 3:
        result = constant(x, coefficients[0])
        top = 1
    else:
        result = _by_squares(x, coefficients[:top])
    for c in coefficients[top:-1]:
        result = muladd(result, x, c)
    return fma(result, x, coefficients[-1]) if top < len(coefficients) else result


def _by_squares(x: Value, coefficients: Sequence[float]) -> Value:
    """Combine pairs of adjacent coefficients: a polynomial in the square."""
    odd = len(coefficients) % 2
    terms = [constant(x, c) for c in coefficients[:odd]]
    terms += [muladd(constant(x, a), x, b) for a, b in zip(coefficients[odd::2],
                                                           coefficients[odd + 1::2])]
    while len(terms) > 1:
        x = x * x
        if len(terms) < 4:  # few enough for Horner's rule
            result = terms[0]
            for term in terms[1:]:
                result = muladd(result, x, term)
            return result
        odd = len(terms) % 2
        terms = terms[:odd] + [muladd(a, x, b) for a, b in zip(terms[odd::2], terms[odd + 1::2])]
    return terms[0]


# -- what is more than one instruction -------------------------------------------------------------


def when_any(condition: Value, otherwise: Value, compute: Callable[[], Value]) -> Value:
    """The result of ``compute`` where a condition holds, otherwise ``otherwise``.

    Nothing is computed unless the condition holds in some lane.
    """
    writer, place = condition.writer, condition.writer.place
    rare, after, before = writer.fresh("rare"), writer.fresh("after"), place.block
    place.lines.append(f"br {any_lane(condition)!r}, label %{rare}, label %{after}")
    place.start(rare)
    value = select(condition, compute(), otherwise)
    last = place.block
    place.lines.append(f"br label %{after}")
    place.start(after)
    return writer.write(value.type, f"phi {value.type.text} [ {value.text}, %{last} ], "
                                    f"[ {otherwise.text}, %{before} ]")


def any_lane(condition: Value) -> Value:
    """Whether a condition holds in some lane."""
    lanes = condition.type.lanes
    if condition.is_mask and condition.wide is not None:
        wide = condition.wide
        return condition.writer.call(f"llvm.vector.reduce.or.{wide.type.suffix}", wide.type.of(1),
                                     [wide]).ne(0)
    return condition if lanes == 1 else condition.writer.call(
        f"llvm.vector.reduce.or.v{lanes}i1", I1, [condition])


def repeat(count: int | Value, start: Sequence[Value], step: Callable) -> list[Value]:
    """A loop: ``state = step(k, state)`` for k from 0 to ``count`` - 1, where k is an int64."""
    return _loop(start, step, lambda following, after: following.compare("lt", count))


def repeat_until(settled: Callable[..., Value], most: int, start: Sequence[Value],
                 step: Callable) -> list[Value]:
    """The same until a condition on the state holds in all lanes, or ``most`` steps are done."""
    return _loop(start, step, lambda following, after:
                 following.compare("lt", most) & any_lane(~settled(*after)))


def _loop(start: Sequence[Value], step: Callable, goes_on: Callable) -> list[Value]:
    """A loop of at least one step; a function of the next k and state says whether it continues."""
    writer, place = start[0].writer, start[0].writer.place
    before, loop = place.block, writer.fresh("loop")
    place.lines.append(f"br label %{loop}")
    place.start(loop)
    at = len(place.lines)
    k = Value(writer, "%" + writer.fresh("k"), I64)
    states = [Value(writer, "%" + writer.fresh("s"), value.type) for value in start]
    after = list(step(k, states))
    following = k + 1
    more = goes_on(following, after)
    place.lines[at:at] = [
        f"{old.text} = phi {old.type.text} [ {first}, %{before} ], [ {new.text}, %{place.block} ]"
        for old, first, new in zip([k, *states], ["0", *(v.text for v in start)],
                                   [following, *after])]
    done = writer.fresh("done")
    place.lines.append(f"br {more!r}, label %{loop}, label %{done}")
    place.start(done)
    return after


def outlined(name: str, compute: Callable[..., Value], *args: Value) -> Value:
    """Call a function whose body ``compute`` writes, once for each type: for long functions."""
    args = tuple(_together(*args))
    writer, types = args[0].writer, [a.type for a in args]
    name = f"{name}.{types[0].suffix}"
    if name not in writer.helpers:
        inner = Writer(writer)
        inner.helpers[name] = ""  # before the helpers that it needs itself
        params = [Value(inner, f"%x{n}", type) for n, type in enumerate(types)]
        result = compute(*params)
        head = f"define internal {result.type.text} @{name}({', '.join(map(repr, params))})"
        writer.helpers[name] = "\n".join([
            head + " noinline {", "entry:", *inner.place.lines, f"ret {result!r}", "}"])
    return writer.call(name, types[0], args)


def call_lanewise(name: str, *args: Value, extra: str = "") -> Value:
    """Call a C function of floats lane by lane, in a loop that is not inlined.

    ``extra`` holds a further argument, as text, that is the same for all lanes.
    """
    args = tuple(_together(*args))
    writer, type = args[0].writer, args[0].type
    if name not in writer.declared:
        kinds = ", ".join([type.element] * len(args) + extra.split()[:1])
        writer.declared[name] = f"declare {type.element} @{name}({kinds})"

    def call(*scalars: Value) -> Value:
        texts = ", ".join([*map(repr, scalars), *([extra] if extra else [])])
        out = scalars[0].writer
        return out.write(type.of(1), f"call {type.element} @{name}({texts})")

    def each(*vectors: Value) -> Value:
        out = vectors[0].writer
        return repeat(type.lanes, [Value(out, "poison", type)], lambda k, made: [out.write(
            type, f"insertelement {made[0]!r}, {call(*(_at(v, k) for v in vectors))!r}, {k!r}")])[0]

    return call(*args) if type.lanes == 1 else outlined(f"lanes.{name}", each, *args)


def _at(x: Value, lane: Value) -> Value:
    return x.writer.write(x.type.of(1), f"extractelement {x!r}, {lane!r}")
