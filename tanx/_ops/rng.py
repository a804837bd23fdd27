"""Random bits: arrays of keys, and the primitives that make, split and use them.

An array of keys has one element per key, of a dtype such as ``key<fry>`` that names the generator.
In memory a key is one integer (or one complex number, for four words), so that all operations that
only move elements, from slices to ``scan``, treat keys like numbers.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .. import dtypes
from .._base import config
from .._core.explicit import like_operand
from .._core.jaxpr import ClosedJaxpr
from .._core.linear import never
from .._core.primitive import Kind, Primitive
from .._core.stage import stage
from .._core.trace import EvalTrace, running
from .._core.types import ShapedArray, canonical_shape, typeof
from .._loops import build
from ..errors import explain
from .base import as_array, broadcast_in_dim, to_front
from .families import Elementwise
from .generators import (
    GENERATORS,
    UNSIGNED,
    ArrayGenerator,
    Generator,
    as_keys,
    as_words,
    chosen,
    halves,
    threefry2x32,
)
from .operands import INT, letter

__all__ = ["GENERATORS", "ArrayGenerator", "Generator", "generator_in_scheme", "generator_of",
           "key_type", "random_bits", "random_bits_p",
           "random_clone", "random_clone_p", "random_fold_in", "random_fold_in_p", "random_seed",
           "random_seed_p", "random_split", "random_split_p", "random_unwrap", "random_unwrap_p",
           "random_wrap", "random_wrap_p", "threefry2x32_p"]

_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)

# Elements that ``eval`` processes at a time: words and temporaries fit in the first-level cache.
_PIECE = 4096

_key_types: dict[Generator, dtypes.KeyType] = {}


def key_type(generator: Generator) -> dtypes.KeyType:
    """The dtype of the keys of a generator: one object for each, so that types compare quickly."""
    if generator not in _key_types:
        _key_types[generator] = dtypes.KeyType(generator)
    return _key_types[generator]


def generator_of(aval, function: str = "tanx.random") -> Generator:
    """The generator that keys belong to."""
    if not isinstance(aval.dtype, dtypes.KeyType):
        raise TypeError(explain(function, "needs keys.", f"operand: {aval}",
                                hint="make keys with tanx.random.key(seed)."))
    return aval.dtype.impl


class KeyPrimitive(Primitive):
    """Base of primitives on keys: no derivatives, and batches of keys as more dimensions.

    The parameter ``impl`` is the generator. The types of the operands have it too, so printed
    jaxprs omit it.
    """

    kind = Kind.ELEMENTWISE
    jvp = never("bits have no derivative")
    transpose = never("bits are not linear")

    divided = like_operand

    def batch(self, args, dims, **params):
        (x,), (dim,) = args, dims
        return self.bind(to_front(x, dim), **params), 0

    on_arrays: OnArrays | None = None  # the primitive for generators written on arrays

    def bind(self, *args, **params):
        if type(params["impl"]) is ArrayGenerator and self.on_arrays is not None:
            return self.on_arrays.bind(*args, **params)
        return super().bind(*args, **params)

    def show_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in params.items() if name != "impl"}


class OnArrays(Primitive):
    """A primitive on keys for a generator written on arrays: it runs the generator's function.

    In compiled code the staged function replaces it.
    """

    kind = Kind.CALL
    infer: Any
    lower = never("the functions of the generator are staged in its place")

    def bind(self, *args, **params):
        return Primitive.bind(self, *args, **params)

    def eval(self, *args, impl, **params):
        words = [random_unwrap(x) if isinstance(x.dtype, dtypes.KeyType) else x
                 for x in map(as_array, args)]
        out = impl.functions[self.name](*words, **params)
        wanted = self.infer(*map(typeof, args), impl=impl, **params)
        keys = isinstance(wanted.dtype, dtypes.KeyType)
        form = ShapedArray((*wanted.shape, *impl.key_shape), _U32) if keys else wanted
        if typeof(out).strip_weak_type() != form:
            raise TypeError(explain(
                f"tanx.extend.random.define_prng_impl: {self.name} of {impl.name}",
                "the function returned an array of the wrong type.",
                f"expected: {form}", f"given:    {typeof(out)}"))
        return random_wrap(out, impl) if keys else out

    def body(self, types, params):
        impl = params["impl"]
        key = (self.name, tuple(types), tuple((n, v) for n, v in params.items() if n != "impl"))
        if key not in impl.staged:
            with running(EvalTrace(None)):
                impl.staged[key] = ClosedJaxpr(*stage(
                    lambda *args: [self.eval(*args, **params)], types))
        return impl.staged[key]


class RandomSeed(KeyPrimitive):
    """Keys from integers, one from each."""

    name = "random_seed"

    def infer(self, seeds, *, impl):
        if letter(seeds.dtype) not in INT:
            raise TypeError(explain("tanx.random.key", "a seed is an integer.", f"seed: {seeds}"))
        return ShapedArray(seeds.shape, key_type(impl))

    def eval(self, seeds, *, impl):
        wide = seeds.dtype.itemsize == 8
        high, low = halves(seeds.astype(_U64) if wide else seeds.astype(_U32).astype(_U64))
        return as_keys(impl.seed(high, low))

    def lower(self, at, seeds, *, impl):
        seed, wide = seeds[at], seeds.dtype.itemsize == 8
        position = build.convert(seed if wide else build.convert(seed, _U32), _U64)
        return as_keys(impl.seed(*halves(position)))

    def show_params(self, params):
        return params


class RandomSplit(KeyPrimitive):
    """New keys of a shape for each key."""

    name = "random_split"

    def infer(self, keys, *, shape, impl):
        return ShapedArray((*keys.shape, *shape), keys.dtype)

    def eval(self, keys, *, shape, impl):
        numbers = np.arange(prod(shape), dtype=_U64).reshape(shape)
        key = [word.reshape((*keys.shape, *(1,) * len(shape))) for word in as_words(keys)]
        return as_keys(impl.new_key(key, numbers, prod(shape)))

    def lower(self, at, keys, *, shape, impl):
        number = build.flatten_index(at[keys.ndim:], shape)
        return as_keys(impl.new_key(as_words(keys[at[:keys.ndim]]), number, prod(shape)))


class RandomFoldIn(KeyPrimitive):
    """For each key and number, a new key derived from both."""

    name = "random_fold_in"

    def infer(self, keys, numbers, *, impl):
        if numbers.dtype != _U32 or keys.shape != numbers.shape:
            raise TypeError(explain(
                "tanx.random.fold_in", "needs a number of type uint32 for each key.",
                f"keys: {keys}", f"data: {numbers}"))
        return keys

    def eval(self, keys, numbers, *, impl):
        return as_keys(impl.fold_in(as_words(keys), *halves(numbers.astype(_U64))))

    def batch(self, args, dims, **params):
        keys, numbers = (to_front(x, d) for x, d in zip(args, dims))
        size = next(typeof(x).shape[d] for x, d in zip(args, dims) if d is not None)
        keys, numbers = (x if d is not None else broadcast_in_dim(
            x, (size, *typeof(x).shape), range(1, 1 + typeof(x).ndim))
            for x, d in zip((keys, numbers), dims))
        return self.bind(keys, numbers, **params), 0

    def lower(self, at, keys, numbers, *, impl):
        number = build.convert(numbers[at], _U64)
        return as_keys(impl.fold_in(as_words(keys[at]), *halves(number)))


class RandomBits(KeyPrimitive):
    """Random integers of a shape for each key."""

    name = "random_bits"

    def infer(self, keys, *, bit_width, shape, impl):
        if bit_width not in UNSIGNED:
            raise TypeError(explain("tanx.random.bits", "bit_width must be 8, 16, 32 or 64.",
                                    f"bit_width: {bit_width}"))
        return ShapedArray((*keys.shape, *shape), UNSIGNED[bit_width])

    def eval(self, keys, *, bit_width, shape, impl):
        count = prod(shape)
        key = [word.reshape(-1, 1) for word in as_words(keys)]
        out = np.empty((keys.size, count), UNSIGNED[bit_width])
        rows, columns = max(1, _PIECE // max(1, count)), min(_PIECE, max(1, count))
        for row in range(0, keys.size, rows):
            some = [word[row:row + rows] for word in key]
            for column in range(0, count, columns):
                piece = out[row:row + rows, column:column + columns]
                places = np.arange(column, column + piece.shape[1], dtype=_U64)
                piece[...] = impl.integer(some, places, count, bit_width)
        return out.reshape((*keys.shape, *shape))

    def lower(self, at, keys, *, bit_width, shape, impl):
        place = build.flatten_index(at[keys.ndim:], shape)
        return impl.integer(as_words(keys[at[:keys.ndim]]), place, prod(shape), bit_width)


class RandomWrap(KeyPrimitive):
    """Words as keys; they are the last dimensions of the operand."""

    name = "random_wrap"

    def infer(self, words, *, impl):
        n = words.ndim - len(impl.key_shape)
        if words.dtype != _U32 or n < 0 or words.shape[n:] != impl.key_shape:
            last = (f"a last dimension of size {impl.key_shape[0]}" if len(impl.key_shape) == 1
                    else f"last dimensions of sizes {impl.key_shape}")
            raise TypeError(explain(
                "tanx.random.wrap_key_data", f"keys of {impl.name} are words of uint32 in {last}.",
                f"operand: {words}"))
        return ShapedArray(words.shape[:n], key_type(impl))

    def eval(self, words, *, impl):
        count, form = prod(impl.key_shape), key_type(impl).stored
        rows = words.reshape(*words.shape[:words.ndim - len(impl.key_shape)], count)
        whole = np.zeros((*rows.shape[:-1], form.itemsize // 4), _U32)
        whole[..., :count] = rows
        return whole.view(form)[..., 0]

    def lower(self, at, words, *, impl):
        return as_keys(tuple(words[[*at, *map(build.const, place)]]
                             for place in np.ndindex(impl.key_shape)))

    def show_params(self, params):
        return params


class RandomUnwrap(KeyPrimitive):
    """Keys as words, in new last dimensions."""

    name = "random_unwrap"

    def infer(self, keys, *, impl):
        return ShapedArray((*keys.shape, *impl.key_shape), _U32)

    def eval(self, keys, *, impl):
        words = np.asarray(keys, order="C").reshape(*keys.shape, 1).view(_U32)
        return words[..., :prod(impl.key_shape)].reshape(*keys.shape, *impl.key_shape)

    def lower(self, at, keys, *, impl):
        number = build.flatten_index(at[keys.ndim:], impl.key_shape)
        return chosen(number, list(as_words(keys[at[:keys.ndim]])))


class RandomClone(KeyPrimitive):
    """The same keys, for use once more."""

    name = "random_clone"

    def infer(self, keys, *, impl):
        return keys

    def eval(self, keys, *, impl):
        return keys

    def lower(self, at, keys, *, impl):
        return keys[at]


class Threefry2x32(Elementwise):
    """Threefry on two words of key and two of counter, element by element."""

    name = "threefry2x32"
    multiple_results = True
    jvp = never("bits have no derivative")

    def infer(self, *words):
        shape = np.broadcast_shapes(*(w.shape for w in words))
        if any(w.dtype != _U32 for w in words):
            raise TypeError(explain("tanx.extend.random.threefry_2x32", "needs words of uint32.",
                                    *(f"operand {i}: {w}" for i, w in enumerate(words))))
        return [ShapedArray(shape, _U32)] * 2

    def eval(self, *words):
        return list(np.broadcast_arrays(*threefry2x32(*words)))

    def batch(self, args, dims, **params):
        out, dim = super().batch(args, dims, **params)
        return out, [dim] * 2

    def lower(self, at, *words):
        return threefry2x32(*self.elements(at, *words))



# -- functions -------------------------------------------------------------------------------------

random_seed_p, random_split_p, random_fold_in_p = RandomSeed(), RandomSplit(), RandomFoldIn()
random_bits_p, random_wrap_p, random_unwrap_p = RandomBits(), RandomWrap(), RandomUnwrap()
random_clone_p, threefry2x32_p = RandomClone(), Threefry2x32()
for _primitive in (random_seed_p, random_split_p, random_fold_in_p, random_bits_p):
    _kind = type(_primitive)
    _primitive.on_arrays = type(_kind.__name__, (OnArrays, _kind), {"__doc__": _kind.__doc__})()


def generator_in_scheme(keys, function: str) -> Generator:
    """The generator of keys, in the scheme that ``threefry_partitionable`` selects."""
    return generator_of(typeof(keys), function).scheme(config.threefry_partitionable.value)


def random_seed(seeds, impl: Generator):
    """Keys of a generator from integers, one from each."""
    return random_seed_p.bind(seeds, impl=impl)


def random_split(keys, shape):
    """New keys of ``shape`` for each key."""
    return random_split_p.bind(keys, shape=canonical_shape(shape, "tanx.random.split"),
                               impl=generator_in_scheme(keys, "tanx.random.split"))


def random_fold_in(keys, numbers):
    """For each key and number of type uint32, a new key derived from both."""
    return random_fold_in_p.bind(keys, numbers,
                                 impl=generator_of(typeof(keys), "tanx.random.fold_in"))


def random_bits(keys, bit_width: int, shape):
    """Random integers of ``shape`` and ``bit_width`` bits for each key."""
    return random_bits_p.bind(keys, bit_width=bit_width,
                              shape=canonical_shape(shape, "tanx.random.bits"),
                              impl=generator_in_scheme(keys, "tanx.random.bits"))


def random_wrap(words, impl: Generator):
    """Words of uint32 as keys of a generator."""
    return random_wrap_p.bind(words, impl=impl)


def random_unwrap(keys):
    """The words of keys, in a new last dimension."""
    return random_unwrap_p.bind(keys, impl=generator_of(typeof(keys), "tanx.random.key_data"))


def random_clone(keys):
    """The same keys, for use once more."""
    return random_clone_p.bind(keys, impl=generator_of(typeof(keys), "tanx.random.clone"))
