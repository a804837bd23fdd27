"""Slices, padding, joining: values against NumPy, errors in full, jaxprs as JAX prints them."""

import gc
import weakref

import numpy as np
import pytest

import tanx
from tanx import lax
from tanx._core.array import Array
from tanx._core.jaxpr import eval_jaxpr
from tanx._loops import build, show


def numbers(*shape, dtype=np.float32):
    return Array(np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape))


def scalar(value, dtype=np.int32):
    return Array(np.array(value, dtype))


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("start, stop, step", [(1, 4, 1), (None, None, 2), (-3, -1, 1), (2, 2, 1)])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_slices_along_one_dimension(axis, start, stop, step):
    x = np.arange(30).reshape(5, 6)
    place = (slice(start, stop, step),) if axis == 0 else (slice(None), slice(start, stop, step))
    np.testing.assert_array_equal(lax.slice_in_dim(x, start, stop, step, axis), x[place])
    size = 2
    for first in (-1, 0, 3, 9):
        moved = min(max(first + x.shape[axis] if first < 0 else first, 0), x.shape[axis] - size)
        np.testing.assert_array_equal(lax.dynamic_slice_in_dim(x, first, size, axis),
                                      np.take(x, range(moved, moved + size), axis))


@pytest.mark.parametrize("start", [-20, -9, -8, -3, -1, 0, 2, 5, 7, 8, 100])
def test_dynamic_slices_count_from_the_end_once_and_then_move_inside(start):
    x = np.arange(8)
    place = min(max(start + 8 if start < 0 else start, 0), 5)
    for index in (start, scalar(start), np.int64(start)):
        np.testing.assert_array_equal(lax.dynamic_slice(x, (index,), (3,)), x[place:place + 3])
    np.testing.assert_array_equal(lax.dynamic_slice(x, scalar([start]), (3,)), x[place:place + 3])
    kept = lax.dynamic_slice(x, (scalar(start),), (3,), allow_negative_indices=False)
    np.testing.assert_array_equal(kept, x[min(max(start, 0), 5):][:3])


@pytest.mark.parametrize("dtype, start, place", [
    (np.int8, -1, 298), (np.int8, 127, 127), (np.uint8, 255, 255), (np.uint64, 2**63 + 1, 298),
    (np.int16, -300, 0)])
def test_narrow_start_indices_reach_into_long_dimensions(dtype, start, place):
    x, index, expected = numbers(300), scalar(start, dtype), np.arange(place, place + 2)
    np.testing.assert_array_equal(lax.dynamic_slice(x, (index,), (2,)), expected)
    traced = tanx.make_jaxpr(lambda x, i: lax.dynamic_slice(x, (i,), (2,)))(x, index)
    (out,) = eval_jaxpr(traced.jaxpr, traced.consts, x, index)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_dynamic_updates_along_an_axis(axis):
    x, u = np.zeros((4, 6), np.float32), np.ones((4, 6), np.float32)
    part = u.take([0, 1], axis)
    expected = x.copy()
    np.moveaxis(expected, axis, 0)[-2:] = 1
    np.testing.assert_array_equal(lax.dynamic_update_slice_in_dim(x, part, 5, axis), expected)
    row = u.take(0, axis)
    expected = x.copy()
    np.moveaxis(expected, axis, 0)[-1] = 1
    np.testing.assert_array_equal(lax.dynamic_update_index_in_dim(x, row, -1, axis), expected)


@pytest.mark.parametrize("config", [(0, 0, 0), (2, 3, 0), (-1, 0, 0), (0, -2, 1), (-2, 1, 2),
                                    (-4, -5, 2), (1, -8, 1), (-7, 3, 0), (-13, 0, 2), (5, -9, 0)])
def test_padding_an_element_at_a_time(config):
    before, after, inner = config
    x = np.arange(1, 6)
    spread = np.zeros(5 + 4 * inner, int)
    spread[::inner + 1] = x
    whole = np.concatenate([np.zeros(20, int), spread, np.zeros(20, int)])
    expected = whole[20 - before:20 + spread.size + after]
    np.testing.assert_array_equal(lax.pad(x, 0, [config]), expected)


def test_operands_are_not_modified():
    x = np.zeros(4, np.float32)
    kept = Array(x)
    lax.dynamic_update_slice(kept, np.ones(2, np.float32), (1,))
    lax.dynamic_update_slice(kept, np.ones(4, np.float32), (0,))
    lax.pad(kept, np.float32(1), [(1, 1, 0)])
    assert not x.any()


@pytest.mark.parametrize("call", [
    lambda x: lax.slice(x, (0, 0), (1, 100)), lambda x: lax.dynamic_slice(x, (5, 0), (1, 100)),
    lambda x: lax.split(x, (1, 99))[0], lambda x: lax.index_in_dim(x, 3)])
def test_a_small_piece_does_not_keep_the_whole(call):
    whole = np.zeros((100, 100), np.float32)
    alive = weakref.ref(whole)
    piece = call(Array(whole))
    del whole
    gc.collect()
    assert alive() is None and piece.size == 100


def test_a_large_piece_is_a_view():
    x = numbers(100)
    assert np.shares_memory(lax.slice(x, (1,), (100,))._value, x._value)


def test_weak_types():
    weak, strong = lax.broadcast(1.0, (2,)), numbers(2)
    assert lax.slice(weak, (0,), (1,)).weak_type and lax.dynamic_slice(weak, (0,), (1,)).weak_type
    assert lax.pad(weak, 1.0, [(0, 1, 0)]).weak_type
    assert not lax.pad(weak, np.float32(1), [(0, 1, 0)]).weak_type
    assert lax.concatenate([weak, weak], 0).weak_type
    assert not lax.concatenate([weak, strong], 0).weak_type
    assert not lax.dynamic_update_slice(weak, weak, (0,)).weak_type


# -- compiled --------------------------------------------------------------------------------------


def test_concatenation_decides_by_bisection():
    program = build.element_program(
        lax.concatenate_p.lower, [np.empty(2)] * 8, np.empty(16), dict(dimension=0))
    text = show.show_expr(program.statements[0].body[0].value)
    depth = max(text[:k].count("(") - text[:k].count(")") for k in range(len(text)))
    assert depth <= 4, text


# -- jaxprs ----------------------------------------------------------------------------------------


def test_jaxpr_of_dynamic_slices():
    def fun(x, i):
        return lax.dynamic_slice(x, (i, -1), (2, 2)), lax.dynamic_index_in_dim(
            x, i, 1, keepdims=False, allow_negative_indices=False)
    assert str(tanx.make_jaxpr(fun)(numbers(4, 6), scalar(1))) == """\
{ lambda ; a:f32[4,6] b:i32[]. let
    c:bool[] = lt b 0:i32[]
    d:i32[] = add b 4:i32[]
    e:i32[] = select_n c b d
    f:f32[2,2] = dynamic_slice[slice_sizes=(2, 2)] a e 5:i32[]
    g:f32[4,1] = dynamic_slice[slice_sizes=(4, 1)] a 0:i32[] b
    h:f32[4] = squeeze[dimensions=(1,)] g
  in (f, h) }"""


def test_jaxpr_of_the_cotangent_of_an_update():
    def fun(ct, x, u):
        return tanx.vjp(lambda x, u: lax.dynamic_update_slice(x, u, (1, 0)), x, u)[1](ct)
    assert str(tanx.make_jaxpr(fun)(numbers(4, 6), numbers(4, 6), numbers(2, 2))) == """\
{ lambda ; a:f32[4,6] b:f32[4,6] c:f32[2,2]. let
    _:f32[4,6] = dynamic_update_slice b c 1:i32[] 0:i32[]
    d:f32[2,2] = broadcast_in_dim 0.0:f32[]
    e:f32[4,6] = dynamic_update_slice a d 1:i32[] 0:i32[]
    f:f32[2,2] = dynamic_slice[slice_sizes=(2, 2)] a 1:i32[] 0:i32[]
  in (e, f) }"""


def test_jaxpr_of_the_cotangents_of_a_padding():
    def fun(ct, x, value):
        return tanx.vjp(lambda x, v: lax.pad(x, v, ((-1, 2, 0), (0, -3, 2))), x, value)[1](ct)
    assert str(tanx.make_jaxpr(fun)(numbers(5, 13), numbers(4, 6), scalar(0, np.float32))) == """\
{ lambda ; a:f32[5,13] b:f32[4,6] c:f32[]. let
    _:f32[5,13] = pad[padding_config=((-1, 2, 0), (0, -3, 2))] b c
    d:f32[4,16] = pad[padding_config=((1, -2, 0), (0, 3, 0))] a 0.0:f32[]
    e:f32[4,6] = slice[
      limit_indices=(4, 16)
      start_indices=(0, 0)
      strides=(1, 3)
    ] d
    f:f32[] = reduce_sum[axes=(0, 1) out_sharding=None] a
    g:f32[] = reduce_sum[axes=(0, 1) out_sharding=None] e
    h:f32[] = sub f g
  in (e, h) }"""


def test_jaxpr_of_a_slice_at_batched_indices():
    fun = tanx.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,), allow_negative_indices=False))
    assert str(tanx.make_jaxpr(fun)(numbers(5, 4), numbers(5, dtype=np.int32))) == """\
{ lambda ; a:f32[5,4] b:i32[5]. let
    c:i32[5,1] = broadcast_in_dim[broadcast_dimensions=(0,)] b
    d:f32[5,2] = gather[
      dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(), \
start_index_map=(1,), operand_batching_dims=(0,), start_indices_batching_dims=(0,))
      fill_value=None
      indices_are_sorted=True
      mode=GatherScatterMode.CLIP
      slice_sizes=(1, 2)
      unique_indices=True
    ] a c
  in (d,) }"""


def test_slices_at_indices_that_are_not_batched_stay_slices():
    fun = tanx.vmap(lambda x: lax.dynamic_slice(x, (1,), (2,)), in_axes=1)
    assert str(tanx.make_jaxpr(fun)(numbers(4, 5))) == """\
{ lambda ; a:f32[4,5]. let
    b:f32[2,5] = dynamic_slice[slice_sizes=(2, 5)] a 1:i32[] 0:i32[]
    c:f32[5,2] = transpose[permutation=(1, 0)] b
  in (c,) }"""


def test_jaxpr_of_a_split_and_its_cotangent():
    def fun(ct, x):
        return tanx.vjp(lambda x: lax.split(x, (1, 3, 2), 1)[1], x)[1](ct)
    assert str(tanx.make_jaxpr(fun)(numbers(4, 3), numbers(4, 6))) == """\
{ lambda ; a:f32[4,3] b:f32[4,6]. let
    _:f32[4,1] _:f32[4,3] _:f32[4,2] = split[axis=1 sizes=(1, 3, 2)] b
    c:f32[4,1] = broadcast_in_dim 0.0:f32[]
    d:f32[4,2] = broadcast_in_dim 0.0:f32[]
    e:f32[4,6] = concatenate[dimension=1] c a d
  in (e,) }"""


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, call, text", [
    (TypeError, lambda x: lax.slice(x, (0, 1), (5, 6)), """\
tanx.lax.slice: 0 <= start <= limit <= size must hold in each dimension.
  operand:       float32[4,6]
  start_indices: (0, 1)
  limit_indices: (5, 6)
  strides:       None
  Hint: Python's x[a:b] takes negative and overlong slices."""),
    (TypeError, lambda x: lax.slice(x, (0,), (5,)), """\
tanx.lax.slice: there must be a start, a limit and a stride for each dimension.
  operand:       float32[4,6]
  start_indices: (0,)
  limit_indices: (5,)
  strides:       None
  Hint: Python's x[a:b] takes negative and overlong slices."""),
    (TypeError, lambda x: lax.slice(x, (0, 0), (4, 6), (1, 0)), """\
tanx.lax.slice: strides must be positive.
  operand:       float32[4,6]
  start_indices: (0, 0)
  limit_indices: (4, 6)
  strides:       (1, 0)
  Hint: Python's x[a:b] takes negative and overlong slices."""),
    (IndexError, lambda x: lax.index_in_dim(x, -7, 1), """\
tanx.lax.index_in_dim: the index is out of bounds.
  operand: float32[4,6]
  index:   -7 along axis 1 of size 6"""),
    (ValueError, lambda x: lax.dynamic_slice(x, (0,), (1, 1)), """\
tanx.lax.dynamic_slice: there must be a start index for each dimension.
  operand: float32[4,6]
  start_indices: 1 of them"""),
    (TypeError, lambda x: lax.dynamic_slice(x, (0, 1.5), (1, 1)), """\
tanx.lax.dynamic_slice: start indices must be integer scalars.
  start index 1: ~float32[]"""),
    (ValueError, lambda x: lax.dynamic_slice(x, np.zeros((2, 1), int), (1, 1)), """\
tanx.lax.dynamic_slice: start indices must be a sequence of scalars.
  start_indices: int32[2,1]"""),
    (TypeError, lambda x: lax.dynamic_slice(x, (0, 0), (5, 1)), """\
tanx.lax.dynamic_slice: slice_sizes must not exceed the operand's sizes.
  operand:     float32[4,6]
  slice_sizes: (5, 1)"""),
    (TypeError, lambda x: tanx.make_jaxpr(lambda i, j: lax.dynamic_slice(x, (i, j), (1, 1)))(
        scalar(0), scalar(0, np.int8)), """\
tanx.lax.dynamic_slice: start indices must be integers of one dtype.
  operand:       float32[4,6]
  start_indices: int32[], int8[]"""),
    (TypeError, lambda x: lax.dynamic_update_slice(x, numbers(5, 1), (0, 0)), """\
tanx.lax.dynamic_update_slice: the update must have the rank of the operand and fit into it.
  operand: float32[4,6]
  update:  float32[5,1]"""),
    (TypeError, lambda x: lax.dynamic_update_slice(x, numbers(1, 1, dtype=np.int32), (0, 0)), """\
tanx.lax.dynamic_update_slice: operands must have the same dtype.
  operand 0: float32[4,6]
  operand 1: int32[1,1]
  Hint: tanx.numpy's functions promote; or use x.astype(...)."""),
    (TypeError, lambda x: lax.pad(x, 0, [(0, 0, 0)] * 2), """\
tanx.lax.pad: operands must have the same dtype.
  operand:        float32[4,6]
  padding_value:  ~int32[]
  padding_config: ((0, 0, 0), (0, 0, 0))"""),
    (ValueError, lambda x: lax.pad(x, 0.0, [(0, 0, 0), (0, 0, -1)]), """\
tanx.lax.pad: padding_config must hold (before, after, between) for each dimension, with between \
>= 0.
  operand:        float32[4,6]
  padding_value:  ~float32[]
  padding_config: ((0, 0, 0), (0, 0, -1))"""),
    (ValueError, lambda x: lax.pad(x, 0.0, [(1, -9, 0), (0, 0, 0)]), """\
tanx.lax.pad: negative padding removes more elements than the dimension has.
  operand:        float32[4,6]
  padding_value:  ~float32[]
  padding_config: ((1, -9, 0), (0, 0, 0))"""),
    (ValueError, lambda x: lax.concatenate([], 0), """\
tanx.lax.concatenate: there must be at least one operand."""),
    (TypeError, lambda x: lax.concatenate([x, x], -1), """\
tanx.lax.concatenate: shapes must agree in all dimensions but the one joined.
  operand 0: float32[4,6]
  operand 1: float32[4,6]
  dimension: -1"""),
    (ValueError, lambda x: lax.split(x, (1, 2)), """\
tanx.lax.split: sizes must add up to the size of the axis.
  operand: float32[4,6]
  sizes:   (1, 2)
  axis:    0"""),
])
def test_errors(kind, call, text):
    with pytest.raises(kind) as caught:
        call(numbers(4, 6))
    assert str(caught.value) == text
