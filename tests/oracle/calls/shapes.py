"""Shapes and assembly: reshape, stack, split, pad, repeat, and others."""

from tests.oracle.calls.call import ALL, each, lines

CALLS = [
    *each("jnp.{f}({x})", f="atleast_1d atleast_2d atleast_3d", x="f32 f32_3 f32_2x3 2 np_i32_3 "
                                                                  "[1,2] w_f32"),
    *each("jnp.{f}(f32_2x3)", modes="eager " + ALL,
          f="flip fliplr flipud ravel transpose squeeze rot90 matrix_transpose diag diagonal trace "
            "diagflat tril triu atleast_3d permute_dims"),
    *each("jnp.{f}({x})", f="flip fliplr flipud ravel transpose squeeze rot90 matrix_transpose "
          "diag diagonal trace diagflat tril triu copy", x="f32_3 f32 f32_0 i8_2x3x2 b1_2x2 [1,2] "
                                                           "np_f32_2x2 2.5"),
    *each("jnp.{f}([{x}, {y}])", f="concatenate stack hstack vstack dstack column_stack concat "
          "block", x="f32_3 f32_2x3 f32", y="f32_3 i32_2x3 bf16_3 f32 2 np_f32_3"),
    *each("jnp.{f}([f32_2x3, f32_2x3b])", modes="eager " + ALL,
          f="concatenate stack hstack vstack dstack column_stack"),
    *each("jnp.{f}([])", f="concatenate stack hstack vstack dstack column_stack block"),
    *each("jnp.{f}(f32_2x3)", f="concatenate stack hstack vstack dstack column_stack block"),
    *each("jnp.{f}(f32_2x4, {n})", f="split array_split hsplit vsplit", n="2 4 3 [1] [1,3] 1.5"),
    *each("jnp.{f}(f32_2x4, 2)", modes=ALL, f="split array_split hsplit vsplit"),
    *each("jnp.pad(f32_3, {w}, mode='{m}')", modes="eager jit",
          w=["1", "(2, 1)", "((4, 5),)"],
          m="constant edge linear_ramp maximum mean median minimum reflect symmetric wrap empty"),
    *each("jnp.pad(f32_2x3, {w}, mode='{m}')", w=["((1, 2), (0, 3))", "(1, 0)"],
          m="constant edge linear_ramp maximum mean reflect symmetric wrap"),
    *each("jnp.pad({x}, 1)", x="i8_3 b1_3 c64_3 bf16_2x3 f32 f32_0 [1,2] np_i32_3"),
    *lines("""
    jnp.reshape(f32_2x3, 6)  ## eager jit jaxpr vmap vmap_last jvp vjp
    jnp.reshape(f32_2x3, (3, 2))  ## eager jit jaxpr vmap vmap_last jvp vjp
    jnp.reshape(f32_2x3, (-1, 2), order='F')  ## eager jit jaxpr vmap vjp
    jnp.reshape(f32_2x3, (2, 3))  ## eager jaxpr
    jnp.reshape(f32_2x3, (3, -1))
    jnp.reshape(f32_2x3, (-1, -1))
    jnp.reshape(f32_2x3, (4, -1))
    jnp.reshape(f32_2x3, (5,))
    jnp.reshape(f32_2x3, (2.0, 3))
    jnp.reshape(f32_2x3, (-2, 3))
    jnp.reshape(f32_0, (0, 3))
    jnp.reshape(f32_0, (-1, 3))
    jnp.reshape(f32_0, (0, -1))
    jnp.reshape(f32, ())
    jnp.reshape(f32, (1, 1))
    jnp.reshape(f32_2x3, shape=(6,), copy=True)
    jnp.reshape([1, 2], (2, 1))
    jnp.reshape(f32_2x3, (6,), order='A')
    jnp.reshape(f32_2x3, (6,), order='K')
    jnp.reshape(2.5, (1,))
    jnp.reshape(f32_2x3, np.array([3, 2]))
    jnp.reshape(f32_2x3, jnp.array([3, 2]))
    jnp.ravel(f32_2x3, order='F')  ## eager jaxpr
    jnp.ravel(f32_2x3, order='X')
    jnp.transpose(f32_2x3x4, (1, 2, 0))  ## eager jit jaxpr vmap vmap_last jvp vjp
    jnp.transpose(f32_2x3x4, (-1, 0, 1))
    jnp.transpose(f32_2x3, (0, 1))  ## eager jaxpr
    jnp.transpose(f32_2x3, (0,))
    jnp.transpose(f32_2x3, (0, 0))
    jnp.transpose(f32_2x3, (0, 2))
    jnp.permute_dims(f32_2x3, (1, 0))
    jnp.swapaxes(f32_2x3x4, 0, 2)  ## eager jit jaxpr vmap
    jnp.swapaxes(f32_2x3x4, -1, 1)
    jnp.swapaxes(f32_2x3, 0, 5)
    jnp.moveaxis(f32_2x3x4, 0, -1)  ## eager jit jaxpr vmap
    jnp.moveaxis(f32_2x3x4, (0, 1), (2, 0))
    jnp.moveaxis(f32_2x3x4, [0, 1], [1, 2])
    jnp.moveaxis(f32_2x3, 3, 0)
    jnp.moveaxis(f32_2x3, (0, 1), (0,))
    jnp.moveaxis(f32_2x3, (0, 0), (0, 1))
    jnp.rollaxis(f32_2x3x4, 2)
    jnp.rollaxis(f32_2x3x4, 0, 3)
    jnp.rollaxis(f32_2x3x4, 3)
    jnp.squeeze(f32_1x3)  ## eager jit jaxpr vmap vjp
    jnp.squeeze(f32_1x3, axis=0)  ## eager jaxpr
    jnp.squeeze(f32_1x3, axis=(0,))
    jnp.squeeze(f32_1x3, axis=1)
    jnp.squeeze(f32_1x3, axis=2)
    jnp.expand_dims(f32_3, 0)  ## eager jit jaxpr vmap vmap_last jvp vjp
    jnp.expand_dims(f32_3, -1)
    jnp.expand_dims(f32_3, (0, 2))  ## eager jaxpr
    jnp.expand_dims(f32_3, (0, 0))
    jnp.expand_dims(f32_3, 3)
    jnp.expand_dims(2.0, 0)
    jnp.expand_dims([1, 2], 0)
    jnp.broadcast_to(f32_3, (2, 3))  ## eager jit jaxpr vmap vmap_last jvp vjp
    jnp.broadcast_to(f32_2x1, (2, 3))  ## eager jaxpr vjp
    jnp.broadcast_to(f32_3, (3,))  ## eager jaxpr
    jnp.broadcast_to(2.5, (2,))
    jnp.broadcast_to(f32_3, 3)
    jnp.broadcast_to(f32_3, (2,))
    jnp.broadcast_to(f32_2x3, (3,))
    jnp.broadcast_to([1, 2], (2, 2))
    jnp.broadcast_to(f32_1, (0,))
    jnp.broadcast_arrays(f32_3, f32_2x1)  ## eager jit jaxpr vmap
    jnp.broadcast_arrays(f32_3, 2)
    jnp.broadcast_arrays()
    jnp.broadcast_arrays(f32_3, f32_2)
    jnp.broadcast_shapes((2, 1), (3,))
    jnp.broadcast_shapes()
    jnp.broadcast_shapes((2,), (3,))
    jnp.broadcast_shapes(3, (2, 1))
    jnp.flip(f32_2x3, 0)  ## eager jaxpr
    jnp.flip(f32_2x3, (0, -1))
    jnp.flip(f32_2x3, 2)
    jnp.roll(f32_2x3, 1)  ## eager jit jaxpr vmap vmap_last jvp vjp
    jnp.roll(f32_2x3, -2, axis=1)  ## eager jaxpr vjp
    jnp.roll(f32_2x3, (1, 2), axis=(0, 1))
    jnp.roll(f32_2x3, jnp.array([1, 2]), axis=(0, 1))
    jnp.roll(f32_2x3, i32)  ## eager jit jaxpr
    jnp.roll(f32_2x3, 1, axis=2)
    jnp.roll(f32_0, 1)
    jnp.roll(f32_2x3, 1.5)
    jnp.roll([1, 2, 3], 1)
    jnp.rot90(f32_2x3, k=2)
    jnp.rot90(f32_2x3, k=-1, axes=(1, 0))
    jnp.rot90(f32_2x3x2, axes=(1, 2))
    jnp.rot90(f32_3)
    jnp.rot90(f32_2x3, axes=(0, 0))
    jnp.concatenate([f32_2x3, f32_2x1], axis=1)  ## eager jaxpr vjp
    jnp.concatenate([f32_2x3, f32_2x1], axis=-1)
    jnp.concatenate([f32_2x3, f32_2x1])
    jnp.concatenate([f32_2x3, f32_3], axis=None)
    jnp.concatenate([f32_2x3, f32_2x3], axis=2)
    jnp.concatenate([f32_3, i32_3], dtype=jnp.float16)
    jnp.concatenate((f32_3,))  ## eager jaxpr
    jnp.concatenate([[1.0, 2.0], f32_3])
    jnp.concatenate([f32_0, f32_3])
    jnp.concatenate([w_f32[None], bf16_3])
    jnp.concatenate([f32, f32])
    jnp.concatenate(f32)
    jnp.concat([f32_3, f32_3b], axis=0)
    jnp.stack([f32_3, i8_3], axis=1)  ## eager jaxpr
    jnp.stack([f32_3, f32_3], axis=-1)
    jnp.stack([f32_3, f32_3], axis=2)
    jnp.stack([f32_3, f32_2])
    jnp.stack([1, 2.5])
    jnp.stack([f32_3, f32_3], out=f32_3)
    jnp.stack([f32_3, f32_3], dtype=jnp.int8)
    jnp.hstack([f32_3, i32_3], dtype=jnp.float16)
    jnp.vstack([f32_3, i32_3], dtype=jnp.float16)
    jnp.dstack([f32_3, i32_3], dtype=jnp.float16)
    jnp.block([[f32_2x3, f32_2x1], [jnp.ones((1, 4))]])  ## eager jit
    jnp.block([[1, 2], [3, 4]])
    jnp.block(2.5)
    jnp.block([f32_3, [f32_3]])
    jnp.append(f32_2x3, f32_3)  ## eager jaxpr
    jnp.append(f32_2x3, f32_2x1, axis=1)
    jnp.append(f32_3, 2)
    jnp.append(f32_2x3, f32_3, axis=0)
    jnp.split(f32_2x4, 2, axis=1)  ## eager jit jaxpr vmap vjp
    jnp.split(f32_2x4, (1, 3), axis=1)
    jnp.split(f32_2x4, jnp.array([1, 3]), axis=1)
    jnp.split(f32_3, 2)
    jnp.split(f32_3, [5])
    jnp.split(f32_3, [2, 1])
    jnp.split(f32_3, [-1])
    jnp.split(f32_3, 3, axis=1)
    jnp.array_split(f32_2x4, 3, axis=1)
    jnp.array_split(f32_3, 5)
    jnp.dsplit(f32_2x3x4, 2)
    jnp.dsplit(f32_2x3, 1)
    jnp.hsplit(f32_4, 2)
    jnp.vsplit(f32_4, 2)
    jnp.unstack(f32_2x3)  ## eager jit jaxpr vmap vjp
    jnp.unstack(f32_2x3, axis=1)
    jnp.unstack(f32)
    jnp.tile(f32_3, 2)  ## eager jit jaxpr vmap vjp
    jnp.tile(f32_2x3, (2, 1, 2))  ## eager jaxpr vjp
    jnp.tile(f32_3, ())
    jnp.tile(f32_3, 0)
    jnp.tile(2.5, 3)
    jnp.tile([1, 2], 2)
    jnp.tile(f32_3, (2.5,))
    jnp.repeat(f32_3, 2)  ## eager jit jaxpr vmap vmap_last jvp vjp
    jnp.repeat(f32_2x3, 2)  ## eager jaxpr
    jnp.repeat(f32_2x3, 2, axis=1)  ## eager jaxpr vjp
    jnp.repeat(f32_2x3, jnp.array([1, 2]), axis=0)
    jnp.repeat(f32_3, np.array([1, 0, 2]))  ## eager jit jaxpr vjp
    jnp.repeat(f32_3, i32_idx3, total_repeat_length=4)  ## eager jit vmap
    jnp.repeat(f32_3, i32_idx3)  ## jit
    jnp.repeat(f32_3, [1, 2])
    jnp.repeat(f32, 3)
    jnp.repeat(f32_3, 0)
    jnp.repeat(f32_3, -1)
    jnp.repeat(f32_3, 2, axis=1)
    jnp.resize(f32_3, (2, 4))  ## eager jit
    jnp.resize(f32_3, 2)
    jnp.resize(f32_0, 2)
    jnp.resize(f32_3, -1)
    jnp.pad(f32_2x3, ((1, 2), (0, 1)))  ## eager jit jaxpr vmap vmap_last jvp vjp
    jnp.pad(f32_3, 1, constant_values=2.5)  ## eager jaxpr
    jnp.pad(f32_3, (1, 2), constant_values=(5, 6))
    jnp.pad(i32_3, 1, constant_values=2.5)
    jnp.pad(f32_2x3, 1, constant_values=((1, 2), (3, 4)))
    jnp.pad(f32_3, 2, 'edge')  ## jaxpr vjp
    jnp.pad(f32_3, 2, 'reflect')  ## jaxpr vjp
    jnp.pad(f32_3, 2, 'wrap')  ## jaxpr vjp
    jnp.pad(f32_3, 2, 'symmetric')  ## jaxpr vjp
    jnp.pad(f32_3, 2, 'linear_ramp')  ## jaxpr vjp
    jnp.pad(f32_3, 2, 'mean')  ## jaxpr vjp
    jnp.pad(f32_3, 2, 'maximum')  ## jaxpr vjp
    jnp.pad(f32_3, 2, 'linear_ramp', end_values=3)
    jnp.pad(f32_4, 2, 'maximum', stat_length=2)
    jnp.pad(f32_4, 2, 'mean', stat_length=((2, 3),))
    jnp.pad(i32_3, 2, 'mean')
    jnp.pad(f32_3, 2, 'reflect', reflect_type='odd')
    jnp.pad(f32_3, 2, 'foo')
    jnp.pad(f32_3, -1)
    jnp.pad(f32_3, ((1, 2), (3, 4)))
    jnp.pad(f32_3, 1.5)
    jnp.pad(f32_3, 1, 'edge', constant_values=2)
    jnp.pad(f32_2x3, {0: (1, 2)})
    jnp.pad(f32_2x3, {-1: 2})
    jnp.delete(f32_4, 1)  ## eager jit vjp
    jnp.delete(f32_2x3, 1, axis=1)
    jnp.delete(f32_2x3, 1)
    jnp.delete(f32_4, np.array([0, 2]))
    jnp.delete(f32_4, slice(0, 2))
    jnp.delete(f32_4, [0, 0])
    jnp.delete(f32_4, np.array([True, False, False, True]))
    jnp.delete(f32_4, 7)
    jnp.delete(f32_4, jnp.array([0, 2]), assume_unique_indices=True)  ## eager jit
    jnp.insert(f32_4, 1, 9)  ## eager jit vjp
    jnp.insert(f32_4, np.array([1, 3]), f32_2)
    jnp.insert(f32_2x3, 1, f32_3, axis=0)
    jnp.insert(f32_2x3, slice(0, 2), 1.5, axis=1)
    jnp.insert(f32_4, 9, 1)
    jnp.insert(i32_4, 1, 2.5)
    jnp.trim_zeros(jnp.array([0, 0, 1, 2, 0]))
    jnp.trim_zeros(jnp.array([0, 0, 1, 2, 0]), 'f')
    jnp.trim_zeros(jnp.array([0.0, 0.0]))
    jnp.diag(f32_3)  ## eager jit jaxpr vmap vjp
    jnp.diag(f32_3, 1)  ## eager jaxpr
    jnp.diag(f32_2x3, -1)
    jnp.diag(f32_2x3, 5)
    jnp.diag(f32_2x3x2)
    jnp.diagflat(f32_2x3, 1)
    jnp.diagflat(f32_3, -1)
    jnp.diagonal(f32_2x3x4, 1, 0, 2)  ## eager jit jaxpr vjp
    jnp.diagonal(f32_2x3, offset=-1)
    jnp.diagonal(f32_2x3, 0, 1, 1)
    jnp.trace(f32_2x3, 1)
    jnp.trace(i8_2x3)
    jnp.trace(b1_2x2)
    jnp.trace(f32_2x3x4, axis1=1, axis2=2)  ## eager jaxpr vjp
    jnp.trace(f32_2x2, dtype=jnp.float16)
    jnp.trace(f32_2x2, out=f32)
    jnp.tril(f32_2x3, 1)  ## eager jaxpr
    jnp.triu(f32_2x3x2, -1)
    jnp.tril(b1_2x2)
    jnp.triu(i32_3)
    jnp.fill_diagonal(f32_2x3, 5, inplace=False)  ## eager jit
    jnp.fill_diagonal(f32_2x3, 5)
    jnp.fill_diagonal(f32_3x2, f32_2, wrap=True, inplace=False)
    jnp.kron(f32_2x3, f32_2)  ## eager jit jaxpr vmap vjp
    jnp.kron(i32_2, 3)
    jnp.apply_along_axis(jnp.sum, 0, f32_2x3)  ## eager jit
    jnp.apply_along_axis(lambda v: v * 2, 1, f32_2x3)
    jnp.apply_along_axis(lambda v, k: v[k], 1, f32_2x3, 2)
    jnp.apply_over_axes(jnp.sum, f32_2x3x2, [0, 2])
    jnp.apply_over_axes(jnp.sum, f32_2x3, 1)
    jnp.ndim(f32_2x3)
    jnp.ndim(2)
    jnp.ndim([1, 2])
    jnp.shape(f32_2x3)
    jnp.shape([1, 2])
    jnp.size(f32_2x3)
    jnp.size(f32_2x3, 1)
    jnp.size(f32_2x3, (0, 1))
    jnp.size([1, 2])
    jnp.size(f32_2x3, 2)
    jnp.copy(f32_3)  ## jit jaxpr vjp
    jnp.copy(2.5)
    jnp.copy(f32_3, order='F')
    jnp.cross(f32_3, f32_3b)  ## eager jit jaxpr vmap vjp
    jnp.cross(f32_2x3, f32_3)
    jnp.cross(f32_2, f32_2b)
    jnp.cross(f32_2, f32_3)
    jnp.cross(f32_4, f32_4)
    jnp.cross(f32_3x2, f32_3x2b, axis=0)
    """),
]
