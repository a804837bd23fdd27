"""Convolutions: every option, layout and rule, and the functions around them."""

from tests.oracle.calls.call import ALL, each, lines

X, W = "f32_2x4x6x7", "f32_6x4x3x2"
LAST = "dimension_numbers=('NHWC', 'HWIO', 'NHWC')"

CALLS = [
    *each("lax.conv_general_dilated(" + f"{X}, {W}, " + "{options})", modes=ALL, options=[
        "(1, 1), 'SAME'", "(2, 1), 'VALID'", "(1, 2), 'SAME_LOWER'", "(1, 1), [(1, -1), (2, 0)]",
        "(1, 1), [(2, 1), (1, 3)], lhs_dilation=(2, 3)", "(2, 1), 'SAME', rhs_dilation=(2, 3)",
        "(3, 2), [(4, 3), (2, 3)], (2, 4), (3, 2)"]),
    *each("lax.conv_general_dilated(" + "{x}, {w}, " + "{options})", modes=ALL,
          x=["f32_4x4x6x7"], w=["f32_6x2x3x2"], options=["(1, 2), 'SAME', feature_group_count=2"]),
    *each("lax.conv_general_dilated(f32_4x4x6x7, f32_6x4x3x2, {options})", modes=ALL,
          options=["(1, 2), 'SAME', batch_group_count=2"]),
    *each("lax.conv_general_dilated(f32_2x6x7x4, f32_3x2x4x6, {options})", modes=ALL, options=[
        f"(1, 1), 'SAME', {LAST}", f"(2, 3), 'VALID', {LAST}"]),
    *each("lax.conv_general_dilated({x}, {w}, (2,), 'SAME')", modes="eager jit jaxpr vmap vjp",
          x=["f32_2x3x7", "bf16_2x3x7", "f16_2x3x7", "c64_2x3x7"], w=["f32_4x3x3", "bf16_4x3x3",
                                                                      "f16_4x3x3", "c64_4x3x3"]),
    *each("lax.conv({x}, {w}, (2,), 'SAME')", modes="eager jaxpr",
          x=["i8_2x3x7", "i32_2x3x7", "u8_2x3x7", "b1_2x3x7"],
          w=["i8_4x3x3", "i32_4x3x3", "u8_4x3x3", "b1_4x3x3"]),
    *each("lax.conv({x}, {w}, (1,), 'SAME', preferred_element_type=jnp.{dtype})",
          modes="eager jaxpr", x=["i8_2x3x7", "bf16_2x3x7", "f32_2x3x7"],
          w=["i8_4x3x3", "bf16_4x3x3", "f32_4x3x3"], dtype="int32 float32 int8 complex64 bfloat16"),
    *each("lax.conv_transpose(f32_2x5x6x4, f32_3x4x4x5, (2, 3), {p}{o})",
          modes="eager jaxpr vmap vjp", p=["'SAME'", "'VALID'", "[(1, 0), (2, 1)]"],
          o=["", ", rhs_dilation=(2, 1)", ", use_consistent_padding=True"]),
    *lines(f"""
    lax.conv_transpose(f32_2x5x6x4, f32_3x4x5x4, (2, 3), 'SAME', transpose_kernel=True) ## {ALL}
    lax.conv_transpose(f32_2x5x4, f32_3x4x5, (2,), 'SAME') ## eager jaxpr vjp
    lax.conv_transpose(f32_2x2x2x2x4, f32_3x3x3x4x5, (2, 2, 2), 'VALID') ## eager jaxpr
    lax.conv_transpose(f32_2x4x5x6, f32_5x4x3x3, (2, 1), 'SAME', dimension_numbers=None)
    lax.conv({X}, {W}, (1, 1), 'SAME', precision='highest') ## eager jaxpr
    lax.conv({X}, {W}, (1, 1), 'SAME', precision=lax.Precision.HIGH) ## jaxpr
    lax.conv_with_general_padding({X}, {W}, (1, 1), [(1, 0), (0, 1)], None, (2, 1)) ## {ALL}
    lax.conv_general_dilated_patches({X}, (3, 2), (1, 2), 'SAME') ## {ALL}
    lax.conv_general_dilated_patches(f32_2x6x7x4, (3, 2), (1, 2), 'VALID', {LAST}) ## eager jaxpr
    lax.conv_general_dilated_patches(f16_2x3x7, (3,), (1,), 'VALID') ## eager jaxpr
    lax.conv_general_dilated_local({X}, f32_5x24x4x6, (1, 1), 'VALID', (3, 2)) ## {ALL}
    lax.conv_general_dilated_local(f32_2x6x7x4, f32_4x6x24x5, (1, 1), 'VALID', (3, 2), {LAST})
    lax.conv_general_dilated(f32_2x3, f32_4x3, (), ()) ## eager jaxpr vjp
    lax.conv(f32_0x3x5, f32_4x3x2, (1,), 'SAME') ## eager jit
    lax.conv(f32_2x0x5, f32_4x0x2, (1,), 'SAME') ## eager jit
    lax.conv(f32_2x3x2, f32_4x3x4, (1,), 'VALID') ## eager jit
    lax.conv(f32_2x3x7, f32_4x3x3b, (1,), 'EQUAL')
    lax.conv(f32_2x3x7, f32_4x2x3, (1,), 'SAME')
    lax.conv(f32_2x3x7, f32_4x3x3, (1, 1), 'SAME')
    lax.conv(f32_2x3x7, f32_4x3, (1,), 'SAME')
    lax.conv_general_dilated({X}, {W}, (1, 1), 'SAME', (2, 2))
    lax.conv_general_dilated({X}, {W}, (1, 1), [(0, 0)])
    lax.conv_general_dilated({X}, {W}, (1, 1), [(-7, 0), (0, 0)])
    lax.conv_general_dilated({X}, {W}, (1, 1), 'SAME', feature_group_count=3)
    lax.conv_general_dilated({X}, {W}, (1, 1), 'SAME', batch_group_count=3)
    lax.conv_general_dilated({X}, {W}, (1, 1), 'SAME', rhs_dilation=(0, 1))
    lax.conv_general_dilated({X}, {W}, (1, 1), 'SAME', dimension_numbers=('NCHW', 'OIHW', 'NCHX'))
    lax.conv_general_dilated({X}, {W}, (1, 1), 'SAME', dimension_numbers=('NCHW', 'OIHW'))
    lax.conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), None)
    lax.conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), ('NHWC', 'HWIO', 'NCHW'))
    lax.conv_general_permutations(('NHWC', 'HWIO', 'NCHW'))
    lax.conv_general_shape_tuple((2, 8, 4), (3, 4, 6), (2,), 'SAME', ('NHC', 'HIO', 'NHC'))
    lax.conv_shape_tuple((2, 4, 8, 9), (6, 4, 3, 3), (2, 2), [(1, 1), (0, 0)])
    lax.conv_transpose_shape_tuple((2, 8, 4), (3, 4, 6), (2,), 'VALID', ('NHC', 'HIO', 'NHC'))
    lax.padtype_to_pads((8, 9), (3, 4), (2, 2), 'SAME')
    lax.padtype_to_pads((8, 9), (3, 4), (2, 2), 'SAME_LOWER')
    lax.padtype_to_pads((8, 9), (3, 4), (2, 2), 'none')
    jnp.convolve(f32_8, f32_3, mode='same') ## {ALL}
    jnp.convolve(f32_3, f32_8) ## eager jaxpr
    jnp.convolve(i32_8, f32_3, mode='valid') ## eager jaxpr vjp
    jnp.correlate(f32_8, f32_4, mode='same') ## {ALL}
    jnp.correlate(f32_4, f32_8, mode='same') ## eager jaxpr vjp
    jnp.correlate(c64_4, c64_8, mode='full') ## eager jaxpr vjp
    jnp.correlate(bf16_8, i32_3, preferred_element_type=jnp.float32) ## eager jaxpr
    """),
]
