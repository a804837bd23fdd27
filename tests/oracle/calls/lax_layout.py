"""Layout, slicing, gather, scatter, products and collectives of lax."""

from tests.oracle.calls.call import ALL, each, lines

GATHER = ("lax.gather(f32_4x3, i32_idx2x1, lax.GatherDimensionNumbers(offset_dims=(1,), "
          "collapsed_slice_dims=(0,), start_index_map=(0,)), (1, 3){o})")
SCATTER = ("lax.{f}(f32_4x3, i32_idx2x1, f32_2x3, lax.ScatterDimensionNumbers("
           "update_window_dims=(1,), inserted_window_dims=(0,), "
           "scatter_dims_to_operand_dims=(0,)){o})")
SCATTERS = "scatter scatter_add scatter_mul scatter_min scatter_max scatter_sub"
COLLECTIVE = "psum pmean pmax pmin"

CALLS = [
    *each(GATHER, modes="eager " + ALL, o=["", ", mode='clip'", ", mode='fill'"]),
    *each(GATHER, o=[", mode='promise_in_bounds'", ", mode='foo'", ", mode='fill', fill_value=3.0",
                     ", unique_indices=True, indices_are_sorted=True"]),
    *each(SCATTER, modes="eager " + ALL, f=SCATTERS, o=[""]),
    *each(SCATTER, f=SCATTERS, o=[", mode='clip'", ", mode='drop'", ", mode='foo'"]),
    *each(SCATTER.replace("i32_idx2x1", "jnp.array([[2], [0]])"), f=SCATTERS,
          o=[", unique_indices=True"]),
    *each("jax.vmap(lambda v: lax.{f}(v, 'i'), axis_name='i')({x})", modes="eager jit jaxpr",
          f=COLLECTIVE, x="f32_2x3 i32_2x3 f32_3"),
    *each("jax.vmap(lambda v: lax.{f}(v, 'i'), axis_name='i')({x})", modes="jvp vjp",
          f=COLLECTIVE, x="f32_2x3"),
    *each("jax.vmap(lambda v: lax.{c}, axis_name='i')(f32_3x3)", modes="eager jaxpr jvp vjp",
          c=["all_gather(v, 'i')", "all_gather(v, 'i', axis=1)", "all_gather(v, 'i', tiled=True)",
             "all_to_all(v, 'i', 0, 0)", "ppermute(v, 'i', [(0, 1), (1, 2), (2, 0)])",
             "ppermute(v, 'i', [(0, 1)])", "psum_scatter(v, 'i')", "pshuffle(v, 'i', [2, 0, 1])",
             "pswapaxes(v, 'i', 0)", "axis_index('i')", "axis_size('i')", "psum(1, 'i')",
             "psum((v, 2 * v), 'i')", "pmax(v, 'i')", "pbroadcast(v, 'i', 1)", "psum(v, 'j')",
             "psum(v, 'i', axis_index_groups=[[0, 1], [2]])",
             "psum(v, 'i', axis_index_groups=[[0], [1], [2]])"]),
    *lines("""
    lax.psum(f32_3, 'i')
    jax.vmap(jax.vmap(lambda v: lax.psum(v, ('i', 'j')), axis_name='i'), axis_name='j')(f32_2x3)
    jax.vmap(lambda v: v - lax.pmean(v, 'i'), axis_name='i', in_axes=1, out_axes=1)(f32_2x3)
    lax.broadcast(f32_3, (2, 4))  ## eager jit jaxpr vmap vjp
    lax.broadcast(2.5, (2,))
    lax.broadcast_in_dim(f32_3, (2, 3), (1,))  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.broadcast_in_dim(f32_1x3, (2, 3), (0, 1))
    lax.broadcast_in_dim(f32_3, (3, 2), (0,))  ## eager vjp
    lax.broadcast_in_dim(f32, (2,), ())  ## eager jaxpr vjp
    lax.broadcast_in_dim(f32_3, (2, 3), (0,))
    lax.broadcast_in_dim(f32_3, (2, 3), ())
    lax.broadcast_in_dim(f32_2x3, (2, 3), (1, 0))
    lax.broadcast_in_dim(f32_3, (2, -3), (1,))
    lax.broadcast_shapes((2, 1), (1, 3))
    lax.broadcast_shapes((2,), (3,))
    lax.broadcast_to_rank(f32_3, 3)
    lax.broadcast_to_rank(f32_2x3, 1)
    lax.broadcast_like(f32_3, f32_2x3)
    lax.broadcasted_iota(jnp.int32, (2, 3), 1)  ## eager jit jaxpr
    lax.broadcasted_iota(jnp.float32, (2, 3), 0)
    lax.broadcasted_iota(jnp.int32, (2, 3), 2)
    lax.broadcasted_iota(bool, (2, 3), 1)
    lax.iota(jnp.int32, 4)  ## eager jaxpr
    lax.iota(jnp.float16, 4)
    lax.iota(jnp.int32, -1)
    lax.iota(bool, 2)
    lax.iota(jnp.complex64, 3)
    lax.collapse(f32_2x3x4, 1)  ## eager jit jaxpr vmap
    lax.collapse(f32_2x3x4, 0, 2)
    lax.collapse(f32_2x3x4, 1, 1)
    lax.collapse(f32_2x3x4, 2, 1)
    lax.reshape(f32_2x3, (3, 2))  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.reshape(f32_2x3, (6,), dimensions=(1, 0))  ## eager jaxpr vjp
    lax.reshape(f32_2x3, (2, 3))  ## eager jaxpr
    lax.reshape(f32_2x3, (-1,))
    lax.reshape(f32_2x3, (5,))
    lax.reshape(f32_2x3, 6)
    lax.reshape(2.0, (1,))
    lax.transpose(f32_2x3, (1, 0))  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.transpose(f32_2x3, (0, 1))  ## jaxpr
    lax.transpose(f32_2x3, (0,))
    lax.transpose(f32_2x3, (-1, 0))
    lax.rev(f32_2x3, (1,))  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.rev(f32_2x3, (0, 0))
    lax.rev(f32_2x3, (2,))
    lax.rev(f32_2x3, (-1,))
    lax.rev(f32_2x3, ())  ## jaxpr
    lax.squeeze(f32_1x3, (0,))  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.squeeze(f32_1x3, (1,))
    lax.squeeze(f32_1x3, (-2,))
    lax.expand_dims(f32_3, (0,))  ## eager jit jaxpr vmap vjp
    lax.expand_dims(f32_3, (0, 2))
    lax.expand_dims(f32_3, (-1,))
    lax.expand_dims(f32_3, (0, 0))
    lax.concatenate([f32_2x3, f32_2x1], 1)  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.concatenate([f32_3], 0)  ## eager jaxpr
    lax.concatenate([f32_3, i32_3], 0)
    lax.concatenate([f32_3, f32_2x3], 0)
    lax.concatenate([], 0)
    lax.concatenate([f32_2x3, f32_2x1], 0)
    lax.concatenate([f32_3, f32_3], 1)
    lax.stack([f32_3, f32_3b], 1)  ## eager jit jaxpr vmap vjp
    lax.unstack(f32_2x3, 1)  ## eager jit jaxpr vmap vjp
    lax.split(f32_2x3, (1, 2), 1)  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.split(f32_2x3, (1, 1), 1)
    lax.split(f32_3, (1, 2))
    lax.tile(f32_2x3, (2, 1))  ## eager jit jaxpr vmap vjp
    lax.pad(f32_2x3, 0.0, [(1, 0, 0), (0, 2, 1)])  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.pad(f32_2x3, f32, [(1, 0, 0), (0, 2, 1)])  ## jvp vjp vmap
    lax.pad(f32_4, 0.0, [(-1, -1, 0)])  ## eager vjp
    lax.pad(f32_4, 0, [(1, 1, 0)])
    lax.pad(f32_4, 0.0, [(1, 1)])
    lax.pad(f32_4, 0.0, [(1, 1, -1)])
    lax.pad(f32_4, 0.0, [(-3, -3, 0)])
    lax.pad(f32_4, f32_4, [(1, 1, 0)])
    lax.pad(i32_4, 2.5, [(1, 1, 0)])
    lax.full((2, 3), 2.5)  ## eager jit jaxpr
    lax.full((2, 3), 2)
    lax.full((2, 3), 2, jnp.int8)
    lax.full((2, 3), f32)
    lax.full((), 1.0)
    lax.full((2,), f32_3)
    lax.full((-1,), 2)
    lax.full_like(f32_3, 2)
    lax.full_like(f32_3, 2.5, jnp.int8, (2,))
    lax.full_like(2.0, 3)
    lax.empty((2,), jnp.float32)
    lax.slice(f32_2x3, (0, 1), (2, 3))  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.slice(f32_4, (0,), (4,), (2,))  ## eager jaxpr vjp
    lax.slice(f32_4, (0,), (5,))
    lax.slice(f32_4, (-1,), (2,))
    lax.slice(f32_4, (3,), (2,))
    lax.slice(f32_4, (0,), (2,), (0,))
    lax.slice(f32_4, (0, 1), (2, 3))
    lax.slice(f32_4, (0,), (4,))  ## jaxpr
    lax.slice_in_dim(f32_2x3, 1, 3, axis=1)  ## eager jit jaxpr
    lax.slice_in_dim(f32_4, -3, -1)
    lax.slice_in_dim(f32_4, 0, 4, stride=2)
    lax.slice_in_dim(f32_4, None, None)
    lax.index_in_dim(f32_2x3, 1)  ## eager jit jaxpr
    lax.index_in_dim(f32_2x3, -1, 1, keepdims=False)
    lax.index_in_dim(f32_2x3, 5)
    lax.index_take(f32_2x3, (i32_idx3,), (0,))
    lax.dynamic_slice(f32_2x3, (0, 1), (2, 2))  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.dynamic_slice(f32_2x3, (i32_idx, i32_idx), (1, 2))  ## eager jit jaxpr vmap vjp
    lax.dynamic_slice(f32_2x3, (5, -1), (1, 2))
    lax.dynamic_slice(f32_2x3, i32_idx2, (1, 2))
    lax.dynamic_slice(f32_2x3, (0, 0), (3, 2))
    lax.dynamic_slice(f32_2x3, (0,), (1, 2))
    lax.dynamic_slice(f32_2x3, (0.0, 1), (1, 2))
    lax.dynamic_slice(f32_2x3, (0, -1), (1, 2), allow_negative_indices=False)
    lax.dynamic_slice_in_dim(f32_2x3, i32_idx, 1, axis=0)  ## eager jit jaxpr vmap vjp
    lax.dynamic_slice_in_dim(f32_4, -2, 2)
    lax.dynamic_index_in_dim(f32_2x3, i32_idx)  ## eager jit jaxpr vmap
    lax.dynamic_index_in_dim(f32_2x3, 1, 1, keepdims=False)
    lax.dynamic_update_slice(f32_2x3, f32_1x2, (0, 1))  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.dynamic_update_slice(f32_2x3, f32_1x2, (i32_idx, i32_idx))  ## eager jaxpr vmap vjp
    lax.dynamic_update_slice(f32_2x3, f32_1x2, (5, 5))
    lax.dynamic_update_slice(f32_2x3, i32_1x2, (0, 0))
    lax.dynamic_update_slice(f32_2x3, f32_2, (0, 0))
    lax.dynamic_update_slice(f32_2x3, f32_3x3, (0, 0))
    lax.dynamic_update_slice_in_dim(f32_4, f32_2, i32_idx, 0)  ## eager jit jaxpr
    lax.dynamic_update_slice_in_dim(f32_4, f32, 1, 0)
    lax.dynamic_update_index_in_dim(f32_2x3, f32_3, 1, 0)  ## eager jit jaxpr vjp
    lax.dynamic_update_index_in_dim(f32_2x3, 0.0, 1, 0)
    lax.dot(f32_2x3, f32_3)  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.dot(f32_2x3, f32_3x2)  ## eager jaxpr vmap vjp
    lax.dot(f32_2x3, i32_3)
    lax.dot(f32_2x3, f32_2)
    lax.dot(i8_2x3, i8_3)
    lax.dot(bf16_2x3, bf16_3)
    lax.dot(bf16_2x3, bf16_3, preferred_element_type=jnp.float32)  ## eager jaxpr
    lax.dot(f32_2x2x3, f32_3)
    lax.dot(f32, f32_3)
    lax.dot(f32_2x3, f32_3, precision='highest')  ## jaxpr
    lax.dot(f32_2x3, f32_2x2, dimension_numbers=(((0,), (0,)), ((), ())))
    lax.dot_general(f32_2x3, f32_3x2, (((1,), (0,)), ((), ())))  ## eager jit jaxpr vmap vjp
    lax.dot_general(f32_2x2x3, f32_2x3x2, (((2,), (1,)), ((0,), (0,))))  ## eager jaxpr vmap jvp vjp
    lax.dot_general(f32_2x3, f32_3x2, (((0,), (0,)), ((), ())))
    lax.dot_general(f32_2x3, f32_3x2, (((1, 0), (0,)), ((), ())))
    lax.dot_general(f32_2x3, f32_3x2, (((5,), (0,)), ((), ())))
    lax.dot_general(f32_2x3, f32_3x2, (((), ()), ((), ())))
    lax.batch_matmul(f32_2x2x3, f32_2x3x2)  ## eager jit jaxpr
    lax.batch_matmul(f32_2x3, f32_3x2)
    lax.ragged_dot(f32_4x3, f32_2x3x2, jnp.array([1, 3]))  ## eager jit vjp
    lax.ragged_dot_general(f32_4x3, f32_2x3x2, jnp.array([1, 3]), \
        lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0]))
    lax.scaled_dot(bf16_2x32, bf16_32x3)
    lax.axis_index('i')
    lax.scatter_apply(f32_4, i32_idx2x1, jnp.sin, \
        lax.ScatterDimensionNumbers((), (0,), (0,)), update_shape=(2,))
    (lax.Precision.HIGHEST, lax.Precision('high'), str(lax.GatherScatterMode.CLIP))
    lax.GatherScatterMode.from_any('fill')
    lax.GatherScatterMode.from_any(None)
    lax.conv_general_dilated(f32_1x1x4, f32_1x1x2, (1,), 'VALID')
    lax.reduce_window(f32_4, 0.0, lax.add, (2,), (1,), 'VALID')
    """),
]
