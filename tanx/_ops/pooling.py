"""Derivatives of max pooling: each window selects one element.

The first element of a window is chosen, and replaced by a later one if a comparison with that
fails: with ``ge``, the first of the greatest elements is selected.
"""

from __future__ import annotations

from functools import reduce as fold_left
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .._core.jaxpr import ClosedJaxpr
from .._core.linear import linear_in, never
from .._core.primitive import Kind, Primitive
from .._core.types import ShapedArray, typeof
from .._loops import build
from ..errors import explain
from . import scalars
from .base import batch_size, materialize
from .bits import bitwise_and, bitwise_not
from .compare import eq, ge, select
from .create import full
from .derive import add_any, zeros_of
from .layout import broadcast
from .operands import NUMBER, accumulator, letter, like
from .slicing import pad, pad_p, slice
from .window_geometry import Window, dilated, traced_views

__all__ = ["select_and_gather_add_p", "select_and_scatter_add_p", "select_and_scatter_p"]


UNROLLED = 16
"""Windows of up to this many elements have unrolled loops."""
_PLACE = np.dtype(np.int32)


def chosen(x: np.ndarray, window: Window, stays) -> np.ndarray:
    """The number of the element that each window selects, -1 for windows without elements.

    ``stays(best, other)`` says whether the best element so far remains so.
    """
    shape = window.shape(x.shape)
    best, place = np.zeros(shape, x.dtype), np.full(shape, -1, _PLACE)
    inside = window.spread(np.ones(x.shape, bool), False)
    views = zip(*(window.views(v, shape) for v in (inside, window.spread(x, x.dtype.type(0)))))
    for n, (there, other) in enumerate(views):
        takes = there & ~((place >= 0) & stays(best, other))
        best, place = np.where(takes, other, best), np.where(takes, _PLACE.type(n), place)
    return place


def choice(x, window: Window, at, stays, carried=None) -> tuple:
    """In loops: the element that a window selects, its place (-1: none), and a carried one.
    The last is the element of ``carried``, an array like ``x``, at the same place.
    """
    sizes = window.window_dimensions

    def step(k, state):
        index, inside = window.read(x, at, k)
        arrays = [x] if carried is None else [x, carried]
        best, place, *rest = state
        other, *others = (build.select(inside, a[index], build.const(0, a.dtype)) for a in arrays)
        takes = inside & ~((place >= 0) & stays(best, other))
        n = build.convert(build.flatten_index(k, sizes), _PLACE)
        return tuple(build.select(takes, new, old)
                     for new, old in zip((other, n, *others), (best, place, *rest)))

    state = (build.const(0, x.dtype), build.const(-1, _PLACE),
             *([] if carried is None else [build.const(0, carried.dtype)]))
    if prod(sizes) > UNROLLED:
        return build.fold(sizes, state, step)
    for k in np.ndindex(sizes):
        state = step(tuple(map(build.const, k)), state)
    return state


class SelectAndGatherAdd(Primitive):
    """The elements of one array at the positions that windows over another one select."""

    name = "select_and_gather_add"
    kind = Kind.REDUCTION

    def infer(self, tangents, operand, *, select_prim, **params):
        window = Window(**params)
        window.check(self.name, operand)
        _check_selected(self.name, operand)
        if tangents.shape != operand.shape:
            raise TypeError(explain(
                f"tanx.lax.{self.name}", "the operands must have equal shapes.",
                f"tangents: {tangents}", f"operand:  {operand}"))
        return ShapedArray(window.shape(operand.shape), tangents.dtype, tangents.weak_type)

    def eval(self, tangents, operand, *, select_prim, **params):
        window = Window(**params)
        place = chosen(operand, window, select_prim.eval)
        out = np.zeros(place.shape, tangents.dtype)
        spread = window.spread(tangents, tangents.dtype.type(0))
        for n, there in enumerate(window.views(spread, place.shape)):
            np.copyto(out, there, where=place == n)
        return out

    jvp = linear_in(0)

    def transpose(self, ct, tangents, operand, *, select_prim, **params):
        window = Window(**params)
        if window == Window.undilated(*window[:3]):
            return [select_and_scatter_add(ct, operand, select_prim, window), None]
        return [scatter_by_places(ct, operand, select_prim, window), None]

    def batch(self, args, dims, *, select_prim, **params):
        size = batch_size(args, dims)
        tangents, operand = (materialize(x, d, size) for x, d in zip(args, dims))
        return select_and_gather_add(
            tangents, operand, select_prim, Window(**params).batched(0)), 0

    def lower(self, at, tangents, operand, *, select_prim, **params):
        return choice(operand, Window(**params), at,
                      lambda best, other: build.op(select_prim.name, best, other), tangents)[2]


def scatter_by_places(ct, operand, select_prim, window: Window):
    """The sums of the transposed gather, one place of all windows after another."""
    place = _traced_choice(operand, window, select_prim)
    aval = ShapedArray(typeof(operand).shape, typeof(ct).dtype)
    if 0 in typeof(ct).shape or 0 in aval.shape:
        return zeros_of(aval)
    zeros, terms = zeros_of(typeof(ct)), []
    for n, offset in enumerate(np.ndindex(window.window_dimensions)):
        here = select(eq(place, broadcast(like(place, n), place.shape)), ct, zeros)
        config, cut = [], []
        for k, size, count, (low, high), base, step, stride in zip(
                offset, aval.shape, typeof(ct).shape, window.padding, window.base_dilation,
                window.window_dilation, window.window_strides):
            whole = dilated(size, base) + low + high
            config.append((k * step, whole - k * step - dilated(count, stride), stride - 1))
            cut.append((-low, -high, 0))
        spread = pad(pad(here, like(here, 0), config), like(here, 0), cut)
        terms.append(_strided(spread, window.base_dilation))
    return fold_left(add_any, terms)


def _strided(x, strides):
    shape = typeof(x).shape
    return slice(x, [0] * len(shape), shape, strides)


def _traced_choice(operand, window: Window, select_prim):
    """:func:`chosen` in primitives."""
    source = typeof(operand).shape
    shape = window.shape(source)
    best, place = None, full(shape, -1, _PLACE)
    inside = window.views(window.spread(np.ones(source, bool), False), shape)
    for n, (there, other) in enumerate(zip(inside, traced_views(operand, window))):
        takes: Any = np.array(there)
        if best is not None:
            stays = bitwise_and(ge(place, full(shape, 0, _PLACE)), select_prim.bind(best, other))
            takes = bitwise_and(takes, bitwise_not(stays))
        best = other if best is None else select(takes, other, best)
        place = select(takes, full(shape, n, _PLACE), place)
    return place


class Scattering(Primitive):
    """Base of primitives that put values where windows select elements."""

    kind = Kind.STATEMENT

    def check(self, source, operand, window: Window) -> None:
        window.check(self.name, operand)
        _check_selected(self.name, operand)
        if source.shape != window.shape(operand.shape):
            raise TypeError(explain(
                f"tanx.lax.{self.name}", "there must be one value for each window.",
                f"source:  {source}", f"windows: {window.shape(operand.shape)}"))

    def places(self, operand, window: Window, stays):
        """In loops: the statement that finds the selected places, and the buffer for them."""
        place = build.temp("place", window.shape(operand.shape), _PLACE)
        return place, build.nest(place.shape, lambda at: [
            build.store(place, at, choice(operand, window, at, stays)[1])])


def arrivals(i, window: Window, place, k) -> tuple:
    """In loops: the ``k``-th window over an element, and whether it selects that element."""
    at, offset, inside = [], [], []
    for n, j, count, size, stride, (low, _) in zip(
            i, k, place.shape, window.window_dimensions, window.window_strides, window.padding):
        o = (n + low) // stride - j
        at.append(o)
        offset.append((n + low) % stride + j * stride)
        inside += [offset[-1] < size, o >= 0, o < count]
    n = build.convert(build.flatten_index(offset, window.window_dimensions), _PLACE)
    here = build.all_of(*inside)
    return at, here & build.eq(build.select(here, place[at], -1), n)


def overlaps(window: Window) -> list[int]:
    """How many windows an element may be in, along each dimension."""
    return [-(-size // stride)
            for size, stride in zip(window.window_dimensions, window.window_strides)]


class SelectAndScatterAdd(Scattering):
    """Adds up, at each element, the values of the windows that select it."""

    name = "select_and_scatter_add"

    def infer(self, source, operand, *, select_prim, **params):
        self.check(source, operand, Window.undilated(**params))
        if letter(source.dtype) not in NUMBER:
            raise TypeError(explain(f"tanx.lax.{self.name}", "adds numbers.", f"source: {source}"))
        return ShapedArray(operand.shape, source.dtype, source.weak_type)

    def eval(self, source, operand, *, select_prim, **params):
        window = Window.undilated(**params)
        place = chosen(operand, window, select_prim.eval)
        dtype = accumulator(source.dtype)
        spread = window.spread(np.zeros(operand.shape, dtype), dtype.type(0))
        for n, there in enumerate(window.views(spread, place.shape)):
            there += np.where(place == n, source, source.dtype.type(0))
        back = tuple((-low, -high, 0) for low, high in window.padding)
        return pad_p.eval(spread, dtype.type(0), padding_config=back).astype(source.dtype)

    jvp = linear_in(0)

    def transpose(self, ct, source, operand, *, select_prim, **params):
        return [select_and_gather_add(ct, operand, select_prim, Window.undilated(**params)), None]

    def batch(self, args, dims, *, select_prim, **params):
        size = batch_size(args, dims)
        source, operand = (materialize(x, d, size) for x, d in zip(args, dims))
        window = Window.undilated(**params).batched(0)
        return select_and_scatter_add(source, operand, select_prim, window), 0

    def lower(self, into, source, operand, *, select_prim, **params):
        """Adjacent windows fill the result; else each element reads the windows over it."""
        (out,) = into
        window = Window.undilated(**params)
        sizes = window.window_dimensions

        def stays(best, other):
            return build.op(select_prim.name, best, other)

        def tile(at):
            place, value = choice(operand, window, at, stays)[1], source[at]
            return [build.store(out, [i * size + j for i, size, j in zip(at, sizes, k)],
                                build.select(build.eq(place, n), value, 0))
                    for n, k in enumerate(np.ndindex(sizes))]

        if sizes == window.window_strides and prod(sizes) <= UNROLLED and out.shape == tuple(
                n * size for n, size in zip(source.shape, sizes)) and not any(
                sum(map(abs, pair)) for pair in window.padding):
            return [build.nest(source.shape, tile)]
        place, find = self.places(operand, window, stays)
        dtype = accumulator(out.dtype)

        def element(i):
            def term(k):
                at, here = arrivals(i, window, place, k)
                return build.select(here, build.convert(source[at], dtype), 0)
            counts = overlaps(window)
            if prod(counts) > UNROLLED:
                total = build.reduce("add", counts, term)
            else:
                total = fold_left(lambda a, b: a + b, map(term, product(*map(range, counts))))
            return [build.store(out, i, build.convert(total, out.dtype))]
        return [find, build.nest(out.shape, element)]


class SelectAndScatter(Scattering):
    """Combines, at each element, the values of the windows that select it, by given functions.

    ``select_jaxpr`` says whether the chosen element stays; ``scatter_jaxpr`` combines the current
    value, initially a given one, with the value of a window.
    """

    name = "select_and_scatter"
    jvp = never("its functions are arbitrary; select_and_scatter_add can be differentiated")
    transpose = never("it is not linear")

    def infer(self, operand, source, init_value, *, select_jaxpr, select_consts, scatter_jaxpr,
              scatter_consts, **params):
        self.check(source, operand, Window.undilated(**params))
        if not operand.dtype == source.dtype == init_value.dtype or init_value.shape:
            raise TypeError(explain(
                "tanx.lax.select_and_scatter",
                "operands must have one dtype, and the initial value must be a scalar.",
                f"operand: {operand}", f"source: {source}", f"initial value: {init_value}"))
        return operand.update(weak_type=False)

    def eval(self, operand, source, init_value, *, select_jaxpr, select_consts, scatter_jaxpr,
             scatter_consts, **params):
        window = Window.undilated(**params)
        select = ClosedJaxpr(select_jaxpr, select_consts)
        scatter = ClosedJaxpr(scatter_jaxpr, scatter_consts)
        place = chosen(operand, window, lambda *pair: scalars.evaluate(select, *pair)[0])
        spread = window.spread(np.full(operand.shape, init_value), init_value)
        for n, there in enumerate(window.views(spread, place.shape)):
            np.copyto(there, scalars.evaluate(scatter, there, source)[0], where=place == n)
        back = tuple((-low, -high, 0) for low, high in window.padding)
        return pad_p.eval(spread, init_value, padding_config=back)

    def batch(self, args, dims, **params):
        if dims[2] is not None:
            raise NotImplementedError(explain(
                "tanx.lax.select_and_scatter", "its initial value cannot be mapped over.",
                f"initial value: {typeof(args[2])}"))
        size = batch_size(args, dims)
        both = [materialize(x, d, size) for x, d in zip(args[:2], dims)]
        names = ("window_dimensions", "window_strides", "padding")
        window = Window.undilated(*map(params.get, names)).batched(0)
        return self.bind(*both, args[2], **params | dict(zip(names, window))), 0

    def lower(self, into, operand, source, init_value, *, select_jaxpr, select_consts,
              scatter_jaxpr, scatter_consts, **params):
        (out,) = into
        window = Window.undilated(**params)
        select = ClosedJaxpr(select_jaxpr, select_consts)
        scatter = ClosedJaxpr(scatter_jaxpr, scatter_consts)
        place, find = self.places(operand, window,
                                  lambda *pair: scalars.lower(select, *pair)[0])

        def element(i):
            def step(k, state):
                at, here = arrivals(i, window, place, k)
                value = build.select(here, source[at], state[0])
                return [build.select(here, scalars.lower(scatter, *state, value)[0], state[0])]
            (total,) = build.fold(overlaps(window), [init_value[()]], step)
            return [build.store(out, i, total)]
        return [find, build.nest(out.shape, element)]


def _check_selected(function: str, operand: ShapedArray) -> None:
    if letter(operand.dtype) not in "biuf":
        raise TypeError(explain(
            f"tanx.lax.{function}", f"{operand.dtype} elements have no order.",
            f"operand: {operand}"))


select_and_gather_add_p = SelectAndGatherAdd()
select_and_scatter_add_p, select_and_scatter_p = SelectAndScatterAdd(), SelectAndScatter()


def select_and_gather_add(tangents, operand, select_prim, window: Window):
    """The elements of ``tangents`` where windows over ``operand`` select theirs."""
    return select_and_gather_add_p.bind(tangents, operand, select_prim=select_prim,
                                        **window._asdict())


def select_and_scatter_add(source, operand, select_prim, window: Window):
    """The sums of ``source`` over the windows that select each element of ``operand``."""
    return select_and_scatter_add_p.bind(
        source, operand, select_prim=select_prim, window_dimensions=window.window_dimensions,
        window_strides=window.window_strides, padding=window.padding)
