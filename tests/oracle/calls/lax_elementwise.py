"""Elementwise operations, reductions and other primitives of lax."""

from tests.oracle.calls.call import ALL, each, lines

FLOAT = """acos acosh asin asinh atan atanh cbrt ceil cos cosh digamma erf erf_inv erfc exp exp2
expm1 floor lgamma log log1p log2 logistic one_minus_square reciprocal rsqrt round sin sinh sqrt
square tan tanh is_finite bessel_i0e bessel_i1e"""
ANY = "abs neg sign integer_pow(2) conj real imag stop_gradient".split()
INTEGER = "bitwise_not clz population_count"
BINARY = "add sub mul div rem max min pow atan2 nextafter eq ne lt le gt ge complex"
BITS = "bitwise_and bitwise_or bitwise_xor shift_left shift_right_arithmetic shift_right_logical"
SPECIAL_BINARY = "igamma igammac igamma_grad_a zeta polygamma"
REDUCE = "reduce_sum reduce_prod reduce_max reduce_min"
CUMULATIVE = "cumsum cumprod cummax cummin cumlogsumexp"

CALLS = [
    *each("lax.{f}({x})", f=FLOAT, x="f32_3 f32_unit2x3 f16_3 bf16_3 c64_3 i32_3 b1_3 f32_edge 2.5 "
                                     "2 f32_0 w_f32"),
    *each("lax.{f}(c64_edge)", f="exp log sqrt sin cos tan tanh sinh cosh rsqrt log1p expm1 cbrt "
                                 "asin acos atan asinh acosh atanh logistic square"),
    *each("lax.{f}(f32_unit2x3)", modes=ALL, f=FLOAT),
    *each("lax.{f}(c64_3)", modes="jvp vjp", f=FLOAT),
    *each("lax.{f}({x})", f="abs neg sign conj real imag stop_gradient square",
          x="f32_3 i8_edge u8_3 b1_3 c64_3 bf16_3 f32_edge 2 2.5 w_f32 c64_edge"),
    *each("lax.{f}(f32_3)", modes=ALL, f="abs neg sign stop_gradient"),
    *each("lax.{f}(c64_3)", modes=ALL, f="abs neg sign conj real imag"),
    *each("lax.{f}({x})", f=INTEGER, x="i8_edge u8_edge i32_edge b1_3 f32_3 5 u32_3"),
    *each("lax.{f}(i32_3)", modes="jit jaxpr vmap", f=INTEGER),
    *each("lax.integer_pow({x}, {n})", modes="eager jaxpr vjp", x="f32_3 i32_3 c64_3",
          n="0 1 2 3 -1 -2 5"),
    *each("lax.{f}({x}, {y})", f=BINARY, x="f32_3 i32_3 b1_3 c64_3 bf16_3 u8_3",
          y="f32_3b i32_3b 2 2.5 f32 c64_3b b1_3b"),
    *each("lax.{f}({x}, {y})", f=BINARY, x="f32_2x3 2 2.5 w_f32",
          y="f32_3 f32_1x3 f32_2x3b 3 w_i32 np_f32_2x3"),
    *each("lax.{f}(f32_pos2x3, f32_pos2x3b)", modes=ALL, f=BINARY),
    *each("lax.{f}(f32_pos3, f32)", modes="jaxpr vjp vmap", f="add mul div pow max"),
    *each("lax.{f}(c64_3, c64_3b)", modes="jvp vjp", f="add sub mul div pow"),
    *each("lax.{f}(f32_edge[:, None] * jnp.ones(14), f32_edge * jnp.ones((14, 1)))", f=BINARY),
    *each("lax.{f}(i8_edge[:, None] * jnp.ones(9, 'int8'), i8_edge * jnp.ones((9, 1), 'int8'))",
          f="add sub mul div rem max pow lt mulhi " + BITS),
    *each("lax.{f}({x}, {y})", f=BITS + " mulhi", x="i32_3 u8_3 b1_3 f32_3",
          y="i32_3b u8_3b b1_3b 2 f32_3b"),
    *each("lax.{f}(i32_3, i32_3b)", modes="jit jaxpr vmap", f=BITS),
    *each("lax.{f}({x}, {y})", f=SPECIAL_BINARY, x="f32_pos3 2.0 i32_3", y="f32_pos3b 1.5"),
    *each("lax.{f}(f32_pos3, f32_pos3b)", modes=ALL, f="igamma igammac zeta"),
    *each("lax.polygamma(1.0, f32_pos3)", modes="eager jvp jit"),
    *each("lax.betainc({a})", a=["f32_pos3, f32_pos3b, f32_3 * 0 + 0.25", "1.0, 2.0, 0.5"]),
    *each("lax.{f}({x}, {a})", f=REDUCE, x="f32_2x3 i8_2x3 b1_2x3 c64_2x3 bf16_2x3",
          a=["(0,)", "(1,)", "(0, 1)", "()", "(2,)", "(-1,)", "(0, 0)", "0"]),
    *each("lax.{f}(f32_2x3, (1,))", modes=ALL, f=REDUCE),
    *each("lax.{f}({x}, (0,))", f="reduce_and reduce_or reduce_xor", x="b1_2x3 i8_2x3 u8_2x3 "
                                                                       "f32_2x3"),
    *each("lax.{f}(b1_2x3, (0,))", modes="jit jaxpr vmap", f="reduce_and reduce_or reduce_xor"),
    *each("lax.{f}({x}, {a})", f="argmax argmin", x="f32_2x3 i8_3 f32_nan3 b1_3 f32_0 c64_3",
          a=["0, np.int32", "1, np.int32", "0, np.uint8", "0, np.float32", "-1, np.int32",
             "axis=0, index_dtype=int"]),
    *each("lax.{f}(f32_2x3, 1, np.int32)", modes="jit jaxpr vmap vmap_last vjp", f="argmax argmin"),
    *each("lax.{f}({x})", f=CUMULATIVE, x="f32_3 f32_2x3 i8_3 b1_3 f32_0 bf16_3 c64_3 f32 [1.0]"),
    *each("lax.{f}(f32_2x3, axis=1, reverse=True)", modes="eager " + ALL, f=CUMULATIVE),
    *each("lax.{f}(f32_2x3, axis={a})", f=CUMULATIVE, a="1 -1 2"),
    *each("lax.{f}(f32_3, f32_2)", f="add max lt atan2"),
    *each("lax.{f}(f32_3)", f="add max"),
    *each("lax.{f}([1.0, 2.0])", f="sin neg exp"),
    *lines("""
    lax.round(f32_edge)  ## eager jaxpr
    lax.round(jnp.array([0.5, 1.5, -2.5]), lax.RoundingMethod.TO_NEAREST_EVEN)  ## eager jaxpr
    lax.clamp(0.0, f32_3, 1.0)  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.clamp(f32_3, f32_3b, 2.0)
    lax.clamp(f32_3, f32_3b, f32_3)
    lax.clamp(0, i8_3, 3)
    lax.clamp(0, f32_3, 1)
    lax.clamp(1.0, f32_3, 0.0)
    lax.clamp(f32_2, f32_3, 1.0)
    lax.clamp(0.0, f32_edge, 1.0)
    lax.clamp(f32, f32_2x3, f32)  ## vmap vjp
    lax.select(b1_3, f32_3, f32_3b)  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.select(b1, f32_3, f32_3b)  ## eager vmap
    lax.select(True, f32_3, f32_3b)
    lax.select(b1_3, f32_3, i32_3)
    lax.select(b1_3, f32_3, f32_2)
    lax.select(i32_3, f32_3, f32_3b)
    lax.select(b1_3, f32_3, 0.0)
    lax.select(b1_3, 1.0, 0.0)
    lax.select_n(i32_idx3, f32_3, f32_3b)  ## eager jaxpr vmap vjp
    lax.select_n(b1_3, f32_3, f32_3b)
    lax.select_n(i32_idx3, f32_3, f32_3b, f32_3)
    lax.select_n(b1_3, f32_3, f32_3b, f32_3)
    lax.select_n(b1_3)
    lax.mul(i8_3, i8_3b, out_dtype=jnp.int32)
    lax.reduce_precision(f32_3, 5, 3)  ## eager jit jaxpr vmap jvp vjp
    lax.reduce_precision(f32_edge, 8, 7)
    lax.reduce_precision(i32_3, 5, 3)
    lax.reduce_precision(f32_3, 0, 3)
    lax.convert_element_type(f32_3, jnp.int8)  ## eager jit jaxpr vmap
    lax.convert_element_type(f32_3, jnp.bfloat16)  ## jvp vjp jaxpr
    lax.convert_element_type(f32_3, jnp.float32)  ## eager jaxpr
    lax.convert_element_type(f32_3, float)  ## eager jaxpr
    lax.convert_element_type(f32_3, None)
    lax.convert_element_type(c64_3, jnp.float32)
    lax.convert_element_type(2.5, jnp.int32)  ## eager jaxpr
    lax.convert_element_type(f32_3, 'foo')
    lax.convert_element_type(w_f32, jnp.float32)  ## eager jaxpr
    lax.bitcast_convert_type(f32_3, jnp.int32)  ## eager jit jaxpr vmap
    lax.bitcast_convert_type(f32_3, jnp.int8)
    lax.bitcast_convert_type(i8_3x4, jnp.int32)
    lax.bitcast_convert_type(i8_3, jnp.int32)
    lax.bitcast_convert_type(f32_3, jnp.float32)
    lax.bitcast_convert_type(b1_3, jnp.int8)
    lax.bitcast_convert_type(c64_3, jnp.int32)
    lax.reduce(f32_2x3, 0.0, lax.add, (0,))  ## eager jit jaxpr vmap vjp
    lax.reduce(f32_2x3, 1.0, lax.mul, (0, 1))
    lax.reduce(f32_2x3, -jnp.inf, lax.max, [1])  ## eager jaxpr
    lax.reduce((f32_3, i32_3), (0.0, 0), lambda a, b: (a[0] + b[0], a[1] + b[1]), (0,))
    lax.reduce(f32_2x3, 0, lax.add, (0,))
    lax.reduce(b1_2x3, False, lax.bitwise_or, (0,))  ## eager jaxpr
    lax.optimization_barrier((f32_3, i32_3))  ## eager jit jaxpr vmap vjp
    lax.exp(f32_3, accuracy=lax.Tolerance(atol=0.1, rtol=0.1, ulps=1))  ## eager jaxpr
    lax.exp(f32_3, accuracy=lax.AccuracyMode.HIGHEST)  ## eager
    lax.stop_gradient((f32_3, 2))
    lax.stop_gradient({'a': f32_3})  ## vjp
    lax.erf_inv(jnp.array([-1.0, 1.0, 2.0]))
    lax.lgamma(jnp.array([0.0, -1.0, -0.5, 30.0]))
    lax.digamma(jnp.array([0.0, -1.0, -0.5, 30.0]))
    lax.pow(f32_pos3, i32_3)  ## eager jaxpr vjp
    lax.pow(i32_pos3, i32_pos3)
    lax.complex(f32_3, f32_3b)  ## eager jaxpr vjp
    lax.complex(i32_3, i32_3)
    lax.dtype(f32_3)
    lax.dtype(2.5)
    lax.top_k(f32_2x3, 2)  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.top_k(f32_2x3, 4)
    lax.top_k(f32_nan3, 3)
    lax.top_k(i8_2x3, 1, axis=0)
    lax.top_k(f32, 1)
    lax.top_k(f32_3, 0)
    lax.top_k(c64_3, 1)
    lax.top_k(f32_3, -1)
    lax.approx_max_k(f32_2x3, 2)
    lax.approx_min_k(f32_2x3, 2)
    lax.sort(f32_2x3)  ## eager jit jaxpr vmap vmap_last jvp vjp
    lax.sort(f32_2x3, dimension=0)
    lax.sort((i32_3, f32_3))  ## eager jaxpr vjp
    lax.sort((i32_3, i32_3b, f32_3), num_keys=2)
    lax.sort(f32_edge)
    lax.sort(f32_3, is_stable=False)  ## eager jaxpr
    lax.sort(f32)
    lax.sort((f32_3, f32_2))
    lax.sort((f32_3,), num_keys=2)
    lax.sort(c64_3)
    lax.sort(f32_2x3, dimension=2)
    lax.sort_key_val(i32_3, f32_3)  ## eager jit jaxpr vjp
    lax.sort_key_val(f32_2x3, i32_2x3, 0)
    """),
]
