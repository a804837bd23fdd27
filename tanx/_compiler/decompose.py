"""Express primitives by others, where that allows fusion or saves a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import prod

import numpy as np

from .._core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from .._core.types import ShapedArray
from .._ops.arith import add_p, div_p, mul_p
from .._ops.base import broadcast_in_dim_p, reshape_p, transpose_p
from .._ops.convert import convert_element_type_p
from .._ops.dot import dot_general_p, kept_dimensions, plan
from .._ops.fft import FftType, fft_p
from .._ops.magnitude import max_p, min_p
from .._ops.operands import identity, letter
from .._ops.slicing import pad_p, slice_p
from .._ops.window import WindowReduction
from .._ops.window_geometry import Window, can_slide, dilated, slide
from .decompose_conv import convolution
from .machine import Machine

__all__ = ["decompose"]


def decompose(closed: ClosedJaxpr, machine: Machine) -> ClosedJaxpr:
    """Replace equations for which there is a rule; one sweep."""
    writer = _Writer(closed.jaxpr, machine)
    for eqn in closed.jaxpr.eqns:
        eqn = eqn.replace(invars=[writer.read(a) for a in eqn.invars])
        rule = _RULES.get(eqn.primitive.name)
        results = None if rule is None or eqn.effects else rule(writer, eqn)
        if results is None:
            writer.eqns.append(eqn)
            if eqn.primitive in (dot_general_p, fft_p, transpose_p, pad_p):
                writer.made[eqn.outvars[0]] = eqn
        else:
            writer.names.update(zip(eqn.outvars, results, strict=True))
    jaxpr = closed.jaxpr.replace(eqns=writer.eqns,
                                 outvars=[writer.read(a) for a in closed.jaxpr.outvars])
    return ClosedJaxpr(jaxpr, closed.consts)


class _Writer:
    """The equations written so far; rules add theirs by :meth:`apply`."""

    def __init__(self, source: Jaxpr, machine: Machine):
        self.machine, self.tuning = machine, machine.tuning.decompose
        self.eqns: list[JaxprEqn] = []
        self.names: dict[Var, Atom] = {}
        self.uses = Counter(atom for eqn in source.eqns for atom in eqn.invars)
        self.uses.update(source.outvars)
        self.made: dict[Atom, JaxprEqn] = {}  # by result: what later equations are merged with

    def read(self, atom: Atom) -> Atom:
        return self.names.get(atom, atom) if isinstance(atom, Var) else atom

    def apply(self, source: JaxprEqn, primitive, *operands: Atom, **params) -> Var:
        """Write an equation on behalf of ``source`` and return its result."""
        out = Var(primitive.infer(*(a.aval for a in operands), **params))
        self.eqns.append(JaxprEqn(operands, [out], primitive, params,
                                  source_info=source.source_info))
        return out


def _split(write: _Writer, eqn: JaxprEqn) -> list[Atom]:
    """Express it by slices, which fuse with their readers."""
    (x,), axis = eqn.invars, eqn.params["axis"]
    parts: list[Atom] = []
    start = 0
    for size in eqn.params["sizes"]:
        first, last = [0] * x.aval.ndim, list(x.aval.shape)
        first[axis], last[axis] = start, start + size
        parts.append(write.apply(eqn, slice_p, x, start_indices=tuple(first),
                                 limit_indices=tuple(last), strides=None))
        start += size
    return parts


def _integer_pow(write: _Writer, eqn: JaxprEqn) -> list[Atom] | None:
    """Multiply squares, which other powers of the same number share."""
    return _product(write, eqn, eqn.params["y"])


def _pow(write: _Writer, eqn: JaxprEqn) -> list[Atom] | None:
    """Turn powers that multiplication computes as accurately into products."""
    x, y = eqn.invars
    if not isinstance(y, Literal) or letter(x.aval.dtype) != "f" or y.val not in (1, 2, 3, -1):
        return None
    return _product(write, eqn, int(y.val))


def _product(write: _Writer, eqn: JaxprEqn, y: int) -> list[Atom] | None:
    x = eqn.invars[0]
    if not 0 < abs(y) <= write.tuning.powers or y < 0 and letter(x.aval.dtype) not in "fc":
        return None
    square, n = x, abs(y)
    while n % 2 == 0:
        square, n = write.apply(eqn, mul_p, square, square), n // 2
    result = square
    while n := n // 2:
        square = write.apply(eqn, mul_p, square, square)
        result = write.apply(eqn, mul_p, result, square) if n % 2 else result
    if y < 0:
        one = Literal(np.ones((), x.aval.dtype), ShapedArray((), x.aval.dtype, x.aval.weak_type))
        result = write.apply(eqn, div_p, one, result)
    return [result]


def _dot_general(write: _Writer, eqn: JaxprEqn) -> list[Atom] | None:
    """Turn a matrix product with one term per sum into a product of elements."""
    (x, y), numbers = eqn.invars, eqn.params["dimension_numbers"]
    (cx, cy), (bx, by) = numbers
    steps = plan(x.aval.shape, x.aval.dtype, y.aval.shape, y.aval.dtype, numbers,
                 eqn.params["preferred_element_type"])
    if prod(x.aval.shape[d] for d in cx) != 1 or letter(steps.dtype) == "b":
        return None
    shape, batch = steps.out.shape, len(bx)
    kept_x, kept_y = kept_dimensions(x.aval.ndim, bx, cx), kept_dimensions(y.aval.ndim, by, cy)
    ends = (batch, batch + len(kept_x))
    factors = []
    for operand, kept, b, start in ((x, kept_x, bx, ends[0]), (y, kept_y, by, ends[1])):
        placed = {d: p for p, d in enumerate(b)} | {d: start + k for k, d in enumerate(kept)}
        flat = _squeezed(write, eqn, operand, sorted(placed))
        if operand.aval.dtype != steps.dtype:
            flat = _converted(write, eqn, flat, steps.dtype)
        factors.append(write.apply(
            eqn, broadcast_in_dim_p, flat, shape=shape, sharding=None,
            broadcast_dimensions=tuple(placed[d] for d in sorted(placed))))
    product = write.apply(eqn, mul_p, *factors)
    return [product if steps.dtype == steps.out.dtype
            else _converted(write, eqn, product, steps.out.dtype)]


def _transpose(write: _Writer, eqn: JaxprEqn) -> list[Atom] | None:
    """Turn the transpose of a matrix product into the product of transposes, in reverse order."""
    product, order = write.made.get(eqn.invars[0]), eqn.params["permutation"]
    if product is not None and product.primitive is fft_p:
        return _columns(write, eqn, product)
    if product is None or product.primitive is not dot_general_p or write.uses[eqn.invars[0]] > 1:
        return None
    (x, y), ((cx, cy), (bx, by)) = product.invars, product.params["dimension_numbers"]
    first, last = len(bx), x.aval.ndim - len(cx)
    rank = len(order)
    if tuple(order) != (*range(first), *range(last, rank), *range(first, last)):
        return None
    out = write.apply(product, dot_general_p, y, x, **dict(
        product.params, dimension_numbers=((cy, cx), (by, bx))))
    write.made[out], write.uses[out] = write.eqns[-1], write.uses[eqn.outvars[0]]
    return [out]


def _columns(write: _Writer, eqn: JaxprEqn, transform: JaxprEqn) -> list[Atom] | None:
    """Merge a Fourier transform with transposes around it that cancel: transform other axes."""
    before, params = write.made.get(transform.invars[0]), transform.params
    if before is None or before.primitive is not transpose_p or "axes" in params or (
            params["fft_type"] not in (FftType.FFT, FftType.IFFT)):
        return None
    order, back = before.params["permutation"], eqn.params["permutation"]
    if any(order[axis] != n for n, axis in enumerate(back)):
        return None
    axes = tuple(order[len(order) - len(params["fft_lengths"]):])
    return [write.apply(eqn, fft_p, before.invars[0], **params, axes=axes)]


def _window(write: _Writer, eqn: JaxprEqn) -> list[Atom] | None:
    """Combine slices of the operand, dimension by dimension; large windows in parts."""
    (x,), primitive, window = eqn.invars, eqn.primitive, Window(**eqn.params)
    shape = window.shape(x.aval.shape)
    sizes = [*zip(window.window_dimensions, window.window_strides, window.window_dilation)]
    if 0 in shape or not all(can_slide(*along) for along in sizes):
        return None
    assert isinstance(primitive, WindowReduction)
    dtype, combine = primitive.state(x.aval.dtype), primitive.combine
    if combine == "add" and (repeated := _repeated(write, eqn, window)) is not None:
        return [repeated]
    if dtype != x.aval.dtype:
        x = _converted(write, eqn, x, dtype)
    if any(map(any, window.padding_config)):
        ignored = Literal(np.asarray(identity(combine, dtype), dtype), ShapedArray((), dtype))
        x = write.apply(eqn, pad_p, x, ignored, padding_config=window.padding_config)
    for axis, (size, stride, step) in enumerate(sizes):
        def take(x, start, count, stride, axis=axis):
            stop = start + dilated(count, stride)
            if (start, stop, stride) == (0, x.aval.shape[axis], 1):
                return x
            starts, stops, strides = [0] * x.aval.ndim, list(x.aval.shape), [1] * x.aval.ndim
            starts[axis], stops[axis], strides[axis] = start, stop, stride
            return write.apply(eqn, slice_p, x, start_indices=tuple(starts),
                               limit_indices=tuple(stops), strides=tuple(strides))
        x = slide(x, size, stride, step, shape[axis], take,
                  lambda a, b: write.apply(eqn, _COMBINE[combine], a, b))
    return [x if dtype == eqn.outvars[0].aval.dtype
            else _converted(write, eqn, x, eqn.outvars[0].aval.dtype)]


def _repeated(write: _Writer, eqn: JaxprEqn, window: Window) -> Atom | None:
    """Repeat elements: sums over adjacent windows of an operand that is dilated with zeros.

    Gradients of sums over adjacent windows have this form.
    """
    (x,), config = eqn.invars, window.padding_config
    before = write.made.get(x)
    if before is not None and before.primitive is pad_p and not any(map(any, config)):
        x, fill = before.invars
        if not isinstance(fill, Literal) or fill.val != 0:
            return None
        config = before.params["padding_config"]
    spread = [d for d, entry in enumerate(config) if any(entry)]
    if not spread or any(window.window_strides[d] != 1 or window.window_dilation[d] != 1
                         for d in range(x.aval.ndim)) or any(
            size > 1 and d not in spread for d, size in enumerate(window.window_dimensions)):
        return None
    for d in spread:
        (low, _, between), size, n = config[d], window.window_dimensions[d], x.aval.shape[d]
        if between + 1 != size or not 0 <= low < size:
            return None
        shape = [*x.aval.shape[:d + 1], size, *x.aval.shape[d + 1:]]
        x = write.apply(eqn, broadcast_in_dim_p, x, shape=tuple(shape), sharding=None,
                        broadcast_dimensions=tuple(k for k in range(len(shape)) if k != d + 1))
        shape[d:d + 2] = [n * size]
        x = write.apply(eqn, reshape_p, x, new_sizes=tuple(shape), dimensions=None, sharding=None)
        first, count = size - 1 - low, eqn.outvars[0].aval.shape[d]
        if first or count != n * size:
            ends = [(0, 0, 0)] * len(shape)
            ends[d] = -first, first + count - n * size, 0
            zero = Literal(np.zeros((), x.aval.dtype), ShapedArray((), x.aval.dtype))
            x = write.apply(eqn, pad_p, x, zero, padding_config=tuple(ends))
    return x


def _squeezed(write: _Writer, eqn: JaxprEqn, x: Atom, kept: list[int]) -> Atom:
    if len(kept) == x.aval.ndim:
        return x
    return write.apply(eqn, reshape_p, x, new_sizes=tuple(x.aval.shape[d] for d in kept),
                       dimensions=None, sharding=None)


def _converted(write: _Writer, eqn: JaxprEqn, x: Atom, dtype: np.dtype) -> Atom:
    return write.apply(eqn, convert_element_type_p, x, new_dtype=dtype, weak_type=False,
                       sharding=None)


_COMBINE = {"add": add_p, "max": max_p, "min": min_p}

_RULES: dict[str, Callable[[_Writer, JaxprEqn], list[Atom] | None]] = {
    "split": _split, "integer_pow": _integer_pow, "pow": _pow, "dot_general": _dot_general,
    "transpose": _transpose, "conv_general_dilated": convolution, "reduce_window_sum": _window,
    "reduce_window_max": _window, "reduce_window_min": _window,
}
