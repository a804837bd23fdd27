"""Casts, also to and from extended types, bitcasts, precision; and identities that stop
derivatives, copies or the optimiser."""

from __future__ import annotations

from functools import lru_cache

import ml_dtypes
import numpy as np

from .. import dtypes
from .._base.flags import strict
from .._core.array import Array
from .._core.explicit import like_operand
from .._core.jaxpr import Literal
from .._core.linear import Zero, is_linear, is_zero, linear, never
from .._core.primitive import Kind, Primitive
from .._core.refs import is_ref
from .._core.trace import Tracer, context
from .._core.transfers import watch_transfer
from .._core.types import NUMBERS, ShapedArray, typeof
from .._loops import build
from ..errors import explain, warn_user
from ..tree_util import tree_flatten, tree_map, tree_unflatten
from .base import to_front
from .bits import from_bits, unsigned_bits
from .derive import partials
from .families import Elementwise
from .operands import ANY, FLOAT, INEXACT, INT, REAL, letter, refused, widened

__all__ = ["bitcast_convert_type", "bitcast_convert_type_p", "convert_element_type",
           "convert_element_type_p", "copy_p", "dtype", "from_edtype_p", "optimization_barrier",
           "optimization_barrier_p", "reduce_precision", "reduce_precision_p", "stop_gradient",
           "stop_gradient_p", "to_edtype_p"]


# -- casts -----------------------------------------------------------------------------------------


class ConvertElementType(Elementwise):
    """Changes the dtype: integers wrap, floats to integers saturate, complex to real drops."""

    name = "convert_element_type"

    def infer(self, x, *, new_dtype, weak_type, sharding=None):
        if letter(x.dtype) not in ANY or letter(new_dtype) not in ANY:
            raise self.unconvertible(x, new_dtype)
        return ShapedArray(x.shape, new_dtype, weak_type)

    def eval(self, x, *, new_dtype, weak_type, sharding=None):
        return cast(x, new_dtype)

    def jvp(self, primals, tangents, *, new_dtype, weak_type, sharding=None):
        (x,), (dx,) = primals, tangents
        out = convert(x, new_dtype, weak_type)
        inexact = dtypes.issubdtype(new_dtype, np.inexact)
        return out, convert(dx, new_dtype, weak_type) if inexact else Zero.tangent_of(out)

    def transpose(self, ct, x, *, new_dtype, weak_type, sharding=None):
        return [convert(ct, x.dtype, x.aval.weak_type)]

    def lower(self, at, x, *, new_dtype, weak_type, sharding=None):
        return build.convert(x[at], new_dtype)

    def stage(self, trace, args, params):
        """A literal becomes another literal; only values computed later need an equation."""
        atom = trace.atom(args[0])
        if type(atom) is not Literal:
            return trace.record(self, args, params)
        aval = self.infer(atom.aval, **params)
        return trace.literal(cast(np.asarray(atom.val), aval.dtype), aval)

    def show_params(self, params):
        return {name: params[name] for name in ("new_dtype", "weak_type")}

    def unconvertible(self, x, new_dtype) -> TypeError:
        """The error for conversions from or to a dtype that is not numeric."""
        facts = f"operand:   {x}", f"new_dtype: {new_dtype}"
        for dtype in (x.dtype, new_dtype):
            if dtypes.is_extended(dtype):
                return dtypes.no_number(dtype, "tanx.lax.convert_element_type", *facts)
        return TypeError(explain("tanx.lax.convert_element_type",
                                 "only numbers and booleans can be converted.", *facts))


def cast(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A NumPy array in another dtype, by the rules of XLA rather than those of C."""
    if x.dtype == dtype:
        return x
    source, target = letter(x.dtype), letter(dtype)
    if target == "b":
        return np.asarray(x != 0)
    if source == "c" and target != "c":
        x, source = x.real, "f"
    if source == "f" and target in INT:
        return _saturated(widened(x), dtype)
    if source in INT and target in INT and dtypes.itemsize_bits(dtype) < 8:
        x = x.astype(np.int8)  # ml_dtypes wraps from a byte
    return x.astype(dtype)


def _saturated(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Floats as integers, rounded towards zero; values out of range become the nearest bound."""
    low, high, least, greatest = _bounds(x.dtype, dtype)
    inside = (x > low) & (x < high)
    if inside.all():
        return x.astype(dtype)
    out = np.where(inside, x, x.dtype.type(0)).astype(dtype)
    return np.where(x >= high, greatest, np.where(x <= low, least, out))


@lru_cache(maxsize=256)
def _bounds(float_dtype: np.dtype, dtype: np.dtype) -> tuple:
    """The least and the greatest integer, as floats and as integers.

    If floats are too coarse, the greatest one rounds up, so as a float it is not a bound.
    """
    limits = dtypes.iinfo(dtype)
    return (float_dtype.type(limits.min), float_dtype.type(limits.max),
            np.asarray(limits.min, dtype), np.asarray(limits.max, dtype))


class ExtendedCast(Elementwise):
    """Between an extended type and the dtype in which its elements are stored: data stays as it is.

    Only the type of the result says what tangents are, so tangents are converted as numbers are.
    """

    def eval(self, x, **params):
        return x

    def jvp(self, primals, tangents, **params):
        out, tangent = self.bind(*primals, **params), typeof(tangents[0])
        wanted = typeof(out).to_tangent()
        if dtypes.float0 in (tangent.dtype, wanted.dtype):
            return out, Zero(wanted)
        return out, convert(tangents[0], wanted.dtype)

    def transpose(self, ct, x, **params):
        return [convert(ct, x.dtype)]

    def lower(self, at, x, **params):
        return x[at]

    def is_view(self, **params):
        return True

    def checked(self, rule: str, x, extended, number) -> None:
        """Raise if the rules of an extended type do not allow a conversion, or not of this dtype.

        ``rule`` is ``convert_to`` or ``convert_from``.
        """
        function = "tanx.lax.convert_element_type"
        pair = (number, extended) if rule == "convert_to" else (extended, number)
        if letter(extended) != "e":
            raise dtypes.no_number(extended, function, f"operand:   {x}", f"new_dtype: {pair[1]}")
        if number != extended.stored:
            raise ValueError(explain(
                function, f"elements of {extended.name} are stored as {extended.stored}; they "
                "convert to and from that dtype only.", f"operand:   {x}", f"new_dtype: {pair[1]}",
                hint=f"convert to {extended.stored} in between."))
        if not extended.converts(rule, *pair):
            raise ValueError(explain(
                function, f"the rules of {extended.name} do not allow the conversion.",
                f"operand:   {x}", f"new_dtype: {pair[1]}"))


class ToExtended(ExtendedCast):
    """Numbers as elements of an extended type that is stored as they are."""

    name = "to_edtype"

    def infer(self, x, *, edtype):
        self.checked("convert_to", x, edtype, x.dtype)
        return x.update(dtype=edtype, weak_type=False)


class FromExtended(ExtendedCast):
    """Elements of an extended type as the numbers that are stored."""

    name = "from_edtype"

    def infer(self, x, *, dtype):
        self.checked("convert_from", x, x.dtype, dtype)
        return x.update(dtype=dtype)


class BitcastConvertType(Primitive):
    """Reads the same bits as another dtype; a change of width adds or removes a last dimension."""

    name = "bitcast_convert_type"
    kind = Kind.LAYOUT

    def infer(self, x, *, new_dtype):
        old = x.dtype
        if letter(old) == "k":
            raise refused(self.name, x, REAL)
        if old != new_dtype and (letter(old) + letter(new_dtype)).strip("iuf"):
            raise TypeError(explain(
                "tanx.lax.bitcast_convert_type",
                "booleans and complex numbers have no bits to cast.",
                f"operand:   {x}", f"new_dtype: {new_dtype}",
                hint="x.view(dtype) splits them."))
        return ShapedArray(self._shape(x, new_dtype), new_dtype)

    def _shape(self, x, new_dtype):
        old_bits, new_bits = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(new_dtype)
        if old_bits == new_bits:
            return x.shape
        if old_bits > new_bits:
            return (*x.shape, old_bits // new_bits)
        if not x.shape or x.shape[-1] * old_bits != new_bits:
            raise ValueError(explain(
                "tanx.lax.bitcast_convert_type",
                "the last dimension must hold exactly the bits of one element.",
                f"operand:   {x} ({old_bits} bits each)",
                f"new_dtype: {new_dtype} ({new_bits} bits)"))
        return x.shape[:-1]

    divided = like_operand

    def eval(self, x, *, new_dtype):
        old_bits, new_bits = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(new_dtype)
        if x.dtype == new_dtype:
            return x
        bits = unsigned_bits(x)
        wide = np.dtype(f"u{max(x.dtype.itemsize, new_dtype.itemsize)}")
        if old_bits > new_bits:
            places = np.arange(0, old_bits, new_bits, dtype=wide)
            bits = bits[..., None] >> places & wide.type((1 << new_bits) - 1)
        elif old_bits < new_bits:
            places = np.arange(0, new_bits, old_bits, dtype=wide)
            bits = np.bitwise_or.reduce(bits.astype(wide) << places, axis=-1)
        return from_bits(np.asarray(bits).astype(f"u{new_dtype.itemsize}"), new_dtype)

    jvp = partials(None)
    transpose = never("bits are not linear")

    def batch(self, args, dims, *, new_dtype):
        return self.bind(to_front(args[0], dims[0]), new_dtype=new_dtype), 0

    def lower(self, at, x, *, new_dtype):
        if x.dtype == new_dtype:
            return x[at]
        old_bits, new_bits = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(new_dtype)
        old, new = np.dtype(f"uint{old_bits}"), np.dtype(f"uint{new_bits}")
        if old_bits > new_bits:
            place = build.convert(at[-1] * new_bits, old)
            bits = build.convert(build.op("bitcast", x[at[:-1]], dtype=old) >> place, new)
        elif old_bits < new_bits:
            bits = build.reduce("or", x.shape[-1], lambda k: build.convert(
                build.op("bitcast", x[(*at, *k)], dtype=old), new) << build.convert(
                    k[0] * old_bits, new))
        else:
            return build.op("bitcast", x[at], dtype=new_dtype)
        return build.op("bitcast", bits, dtype=new_dtype)


class ReducePrecision(Elementwise):
    """Rounds to fewer bits of exponent and mantissa, keeping the dtype."""

    name = "reduce_precision"
    accepts = FLOAT
    jvp = linear

    def infer(self, x, *, exponent_bits, mantissa_bits):
        if exponent_bits < 1 or mantissa_bits < 0:
            raise ValueError(explain(
                "tanx.lax.reduce_precision",
                "needs at least one exponent bit, and mantissa_bits >= 0.",
                f"operand:       {x}", f"exponent_bits: {exponent_bits}",
                f"mantissa_bits: {mantissa_bits}"))
        return super().infer(x)

    def eval(self, x, *, exponent_bits, mantissa_bits):
        """Rounds half to even; too large numbers become infinite, too small ones 0."""
        own = ml_dtypes.finfo(x.dtype)
        wide = widened(x)
        rounded = wide
        if mantissa_bits < own.nmant:
            bits = unsigned_bits(wide)
            unit = bits.dtype.type
            dropped = unit(np.finfo(wide.dtype).nmant - mantissa_bits)
            even = bits >> dropped & unit(1)
            bits = bits + (unit(1) << dropped - unit(1)) - unit(1) + even
            rounded = np.asarray(bits >> dropped << dropped).view(wide.dtype)
        if exponent_bits < own.nexp:
            bias = (1 << exponent_bits - 1) - 1
            least, limit = np.ldexp(wide.dtype.type(1), [1 - bias, bias + 1])
            size = np.abs(rounded)
            rounded = np.where(size >= limit, np.copysign(np.inf, wide), rounded)
            rounded = np.where(size < least, np.copysign(0, wide), rounded)
        return np.where(np.isfinite(wide), rounded, wide).astype(x.dtype)

    def transpose(self, ct, x, *, exponent_bits, mantissa_bits):
        return [reduce_precision(ct, exponent_bits, mantissa_bits)]

    def lower(self, at, x, *, exponent_bits, mantissa_bits):
        return build.op("reduce_precision", x[at], exponent_bits=exponent_bits,
                        mantissa_bits=mantissa_bits)


# -- identities ------------------------------------------------------------------------------------


class Identity(Elementwise):
    """Returns its operand."""

    def infer(self, x):
        return x

    def lower(self, at, x):
        return x[at]


class StopGradient(Identity):
    """Returns its operand, as a constant for derivatives."""

    name = "stop_gradient"
    jvp = partials(None)
    transpose = never("it has no derivative")

    def eval(self, x):
        return x


class Copy(Identity):
    """Returns a copy of its operand."""

    name = "copy"
    jvp = linear

    def eval(self, x):
        return x.copy()

    def transpose(self, ct, x):
        return [copy_p.bind(ct)]


class OptimizationBarrier(Primitive):
    """Returns its operands once all of them are computed; the optimiser moves nothing across."""

    name = "optimization_barrier"
    kind = Kind.STATEMENT
    multiple_results = True

    def infer(self, *types):
        return list(types)

    def divided(self, *types):
        return [t.entries for t in types]

    def eval(self, *operands):
        return list(operands)

    def jvp(self, primals, tangents):
        outs = self.bind(*primals)
        given = iter(self.bind(*(t for t in tangents if not is_zero(t))))
        return outs, [t if is_zero(t) else next(given) for t in tangents]

    def transpose(self, cts, *operands):
        wanted = [is_linear(x) and not is_zero(ct) for x, ct in zip(operands, cts)]
        given = iter(self.bind(*(ct for ct, w in zip(cts, wanted) if w)))
        return [next(given) if w else None for w in wanted]

    def batch(self, args, dims):
        return self.bind(*args), dims

    def lower(self, into, *operands):
        return [build.copy(out, x) for out, x in zip(into, operands)]

    def is_view(self):
        return True


convert_element_type_p, bitcast_convert_type_p = ConvertElementType(), BitcastConvertType()
to_edtype_p, from_edtype_p = ToExtended(), FromExtended()
reduce_precision_p, stop_gradient_p, copy_p = ReducePrecision(), StopGradient(), Copy()
optimization_barrier_p = OptimizationBarrier()


# -- functions -------------------------------------------------------------------------------------


def convert(x, dtype: np.dtype, weak_type: bool = False):
    """``x`` as an array of ``dtype``, for use inside tanx; ``dtype`` must be one that arrays have.

    Arrays and tracers of that type are returned unchanged. Python and NumPy values are converted
    immediately, so that no equation is staged for them: scalars become literals.
    """
    kind = type(x)
    if kind is Array or isinstance(x, Tracer):
        aval = x.aval
        if aval.dtype == dtype and aval.weak_type == weak_type:
            return x
        if dtype.kind == "V" or aval.dtype.kind == "V":
            return _converted(x, aval.dtype, dtype)
        return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=None)
    if strict.value:
        watch_transfer(typeof(x))
    if kind is int or kind is bool:
        return context.trace.literal(*_literal(x, dtype, weak_type))
    if kind is float and letter(dtype) in INEXACT:
        make = _literal if x else _literal.__wrapped__  # the cache cannot tell -0.0 from 0.0
        return context.trace.literal(*make(x, dtype, weak_type), x if weak_type else None)
    if kind is not np.ndarray and not isinstance(x, np.generic):
        if hasattr(x, "__jax_array__"):
            return convert(x.__jax_array__(), dtype, weak_type)
        typeof(x)  # raises if it is not an array
        if hasattr(x, "aval"):
            return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type,
                                               sharding=None)
    if dtype == dtypes.float0 == x.dtype:
        return x  # elements have no bytes: a NumPy array
    if letter(dtype) == "e":
        return to_edtype_p.bind(Array(np.array(x)), edtype=dtype)
    value = cast(np.asarray(x), dtype)
    if value.ndim:
        if value is x and kind is np.ndarray and context.trace.staging and not weak_type:
            return context.trace.captured(x)
        return Array(value.copy() if value is x else value, weak_type)
    return context.trace.literal(value, ShapedArray((), dtype, weak_type))


def _converted(x, old, new):
    """An array converted from or to an extended type, or ``float0``."""
    if letter(new) == "e" and not dtypes.is_extended(old):
        return to_edtype_p.bind(x, edtype=new)
    if letter(old) == "e" and not dtypes.is_extended(new):
        return from_edtype_p.bind(x, dtype=new)
    if "e" in (letter(old), letter(new)):
        raise ValueError(explain(
            "tanx.lax.convert_element_type", "one extended type does not convert to another.",
            f"operand:   {typeof(x)}", f"new_dtype: {new}",
            hint=f"convert to {dtypes.stored(old)} and to {dtypes.stored(new)} in between."))
    return convert_element_type_p.bind(x, new_dtype=new, weak_type=False, sharding=None)


@lru_cache(maxsize=4096, typed=True)
def _literal(x, dtype: np.dtype, weak_type: bool) -> tuple[np.ndarray, ShapedArray]:
    """The value and the type of a Python scalar as an array.

    Integers wrap around, but raise if they fit neither ``dtype`` nor their default type.
    """
    if letter(dtype) == "k" and x:
        convert_element_type_p.infer(typeof(x), new_dtype=dtype, weak_type=False)  # raises
    try:
        value = dtypes.stored_numbers(x, dtype)
    except OverflowError:
        value = cast(dtypes.stored_numbers(x, dtypes.default_int()), dtypes.stored(dtype))
    return value, ShapedArray((), dtype, weak_type)


def convert_element_type(operand, new_dtype):
    """``operand`` in another dtype.

    Integers wrap around; floats round towards zero to integers, values out of range become the
    nearest bound, and NaN becomes 0; complex numbers keep their real part.

    >>> lax.convert_element_type(jnp.array([1.9, -300.0]), np.int8)
    Array([   1, -128], dtype=int8)
    """
    if new_dtype is None:
        raise ValueError(explain("tanx.lax.convert_element_type", "new_dtype must be given.",
                                 f"operand: {typeof(operand)}"))
    dtype = dtypes.requested_dtype(new_dtype, "tanx.lax.convert_element_type")
    old = typeof(operand).dtype
    if letter(old) == "c" and letter(dtype) in "iuf":
        warn_user(explain(
            "tanx.lax.convert_element_type", "a cast to real numbers drops the imaginary part.",
            f"operand:   {typeof(operand)}", f"new_dtype: {dtype}",
            hint="tanx.numpy.real does so without a warning."), np.exceptions.ComplexWarning)
    return convert(operand, dtype) if type(operand) is not int else wrapped(operand, dtype)


def wrapped(number: int, dtype: np.dtype, weak_type: bool = False):
    """A Python integer as an array of ``dtype``; one of at most 64 bits wraps around."""
    if letter(dtype) in INT and not -1 << 31 <= number < 1 << 31:
        number = int(cast(np.array(number), dtype))  # raises if it exceeds 64 bits
    return convert(number, dtype, weak_type)


def bitcast_convert_type(operand, new_dtype):
    """The bits of ``operand`` read as another dtype.

    A narrower dtype adds a last dimension, a wider one removes it; the first element has the lowest
    bits.

    >>> lax.bitcast_convert_type(jnp.float32(1.0), np.uint16)
    Array([    0, 16256], dtype=uint16)
    """
    dtype = dtypes.requested_dtype(new_dtype, "tanx.lax.bitcast_convert_type")
    return bitcast_convert_type_p.bind(operand, new_dtype=dtype)


def reduce_precision(operand, exponent_bits, mantissa_bits):
    """``operand`` rounded to a number of exponent and mantissa bits, in its own dtype.

    >>> lax.reduce_precision(jnp.float32(1.2345), 8, 7)
    Array(1.234375, dtype=float32)
    """
    return reduce_precision_p.bind(operand, exponent_bits=int(exponent_bits),
                                   mantissa_bits=int(mantissa_bits))


def stop_gradient(x):
    """``x``, an array or a tree of them, as a constant for derivatives.

    Python numbers, which are constants already, are unchanged.

    >>> tanx.grad(lambda x: x * lax.stop_gradient(x))(3.0)
    Array(3., dtype=float32, weak_type=True)
    """
    if getattr(x, "aval", None) is not None:
        return stop_gradient_p.bind(x)
    return tree_map(lambda leaf: leaf if type(leaf) in NUMBERS else stop_gradient_p.bind(leaf), x)


def optimization_barrier(operand, /):
    """``operand``, an array or a tree of them, once all of it is computed.

    The compiler moves no work across the barrier, so computations after it are not merged with
    those before it. References in the tree are returned unchanged: uses of them stay in order.

    >>> lax.optimization_barrier((jnp.arange(2), 1.5))[0]
    Array([0, 1], dtype=int32)
    """
    leaves, structure = tree_flatten(operand)
    values = iter(optimization_barrier_p.bind(*(x for x in leaves if not is_ref(x))))
    return tree_unflatten(structure, [x if is_ref(x) else next(values) for x in leaves])


def dtype(x):
    """The dtype that ``x``, an array, a number or a type, has as an array.

    >>> lax.dtype(1.5), lax.dtype(jnp.arange(3))
    (dtype('float32'), dtype('int32'))
    """
    if x is None or isinstance(x, list | tuple | dict):
        raise TypeError(explain("tanx.lax.dtype", "needs an array, a number or a type.",
                                f"x: {x!r:.100}"))
    return dtypes.dtype(x, canonicalize=True)
