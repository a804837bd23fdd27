"""Functions of elements: arithmetic, comparisons, rounding, logic."""

from tests.oracle.calls.call import ALL, each, lines

UNARY = """abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh asin asinh
atan atanh cbrt ceil conj conjugate cos cosh deg2rad degrees exp exp2 expm1 fabs floor i0 imag
isfinite isinf isnan log log10 log1p log2 logical_not nan_to_num negative positive rad2deg radians
real reciprocal rint round sign signbit sin sinc sinh sqrt square tan tanh trunc iscomplex isreal
spacing"""
INTEGER_UNARY = "bitwise_count bitwise_invert bitwise_not invert"
BINARY = """add arctan2 atan2 copysign divide equal float_power floor_divide fmax fmin fmod greater
greater_equal heaviside hypot less less_equal logaddexp logaddexp2 logical_and logical_or
logical_xor maximum minimum mod multiply nextafter not_equal pow power remainder subtract
true_divide divmod isclose"""
INTEGER_BINARY = """bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd
lcm left_shift right_shift"""

DTYPES = "b1_3 i8_3 i32_3 u8_3 f16_3 bf16_3 f32_3 c64_3"
SMOOTH = """absolute acos acosh arcsin arcsinh arctan arctanh cbrt cos cosh deg2rad exp exp2 expm1
log log10 log1p log2 negative rad2deg reciprocal sign sin sinc sinh sqrt square tan tanh nan_to_num
real imag angle conj floor i0"""
SMOOTH_BINARY = """add arctan2 divide float_power fmax fmin fmod hypot logaddexp logaddexp2 maximum
minimum multiply power remainder subtract copysign heaviside floor_divide"""

CALLS = [
    *each("jnp.{f}({x})", f=UNARY, x=DTYPES),
    *each("jnp.{f}({x})", f=UNARY, x="f32_edge c64_edge bf16_edge i32_edge f32 f32_0 f32_unit2x3 "
                                     "np_f32_3 w_f32 w_i32 2 2.5 True 1j"),
    *each("jnp.{f}({x})", f=INTEGER_UNARY, x="b1_3 i8_edge i32_3 u8_edge u8_0 i32 5 True f32_3 "
                                             "w_i32"),
    *each("jnp.{f}(f32_pos2x3)", modes=ALL, f=SMOOTH),
    *each("jnp.{f}(c64_3)", modes="jvp vjp", f=SMOOTH),
    *each("jnp.{f}(bf16_unit3)", modes="jvp jaxpr", f=SMOOTH),
    *each("jnp.{f}(i32_3)", modes="jaxpr vjp", f=SMOOTH),
    *each("jnp.{f}(f32_3)", modes="jit jaxpr vmap", f=UNARY),
    *each("jnp.{f}(2.5)", modes="jit jaxpr", f="sin sqrt negative sign round exp square"),
    *each("jnp.{f}(i32_3)", modes="jit jaxpr vmap", f=INTEGER_UNARY),

    *each("jnp.{f}({x}, {y})", f=BINARY, x="b1_3 i8_3 u8_3 f16_3 f32_3 c64_3",
          y="b1_3b i32_3b bf16_3b f32_3b c64_3b"),
    *each("jnp.{f}({x}, {y})", f=BINARY, x="i32_3 f32_2x3 bf16_3 w_f32 u8_3",
          y="2 2.5 True 1j w_i32 f32"),
    *each("jnp.{f}({y}, {x})", f=BINARY, x="i32_3 f32_3 u8_3", y="2 2.5 True -1"),
    *each("jnp.{f}({x}, {y})", f=BINARY, x="2 2.5 True", y="3 -1.5 False"),
    *each("jnp.{f}(f32_edge[:, None], f32_edge)", f=BINARY),
    *each("jnp.{f}({x}[:, None], {x})", f="divide floor_divide remainder fmod power multiply "
          "maximum less divmod", x="i8_edge u8_edge i32_edge c64_edge bf16_edge"),
    *each("jnp.{f}(f32_2x3, {y})", f=BINARY, y="f32_3 f32_1x3 f32_2x1 f32 np_f32_3 f32_0 f32_4"),
    *each("jnp.{f}(f32_0, f32_1)", f=BINARY),
    *each("jnp.{f}(f32_3, f32_2)", f=BINARY),
    *each("jnp.{f}({x})", f="sinc exp2 log2 arcsinh", x="bf16_2x3 f16_2x3"),
    *each("jnp.round({x}, 1)", x="w_f32 2.5 bf16_3"),
    *each("jnp.{f}(f32_pos2x3, f32_pos3)", modes=ALL, f=SMOOTH_BINARY),
    *each("jnp.{f}(f32_pos3, {y})", modes="jaxpr vjp", f=SMOOTH_BINARY, y="2 2.5"),
    *each("jnp.{f}(c64_3, c64_3b)", modes="jvp vjp", f="add divide multiply power subtract"),
    *each("jnp.{f}(f32_2x3, i32_3)", modes="jit jaxpr vmap", f=BINARY),
    *each("jnp.{f}(f32_3, f32_3)", modes="vjp", f="maximum minimum fmax fmin"),
    *each("jnp.{f}({x}, {y})", f=INTEGER_BINARY, x="b1_3 i8_3 u8_3 i32_3 f32_3",
          y="b1_3b i8_3b i32_3b u8_3b 2 f32_3b"),
    *each("jnp.{f}({x}[:, None], {x})", x="i8_edge u8_edge i32_edge",
          f="bitwise_and bitwise_or bitwise_xor left_shift right_shift"),
    *each("jnp.{f}(u8_edge[:, None], u8_edge)", f="gcd lcm"),  # JAX hangs for signed ones
    *each("jnp.{f}(i32_2x3, i32_3)", modes="jit jaxpr vmap", f=INTEGER_BINARY),
    *each("jnp.{f}([1, 2], f32_2)", f="add multiply maximum less power arctan2"),
    *each("jnp.{f}(f32_2)", f="add power arctan2"),
    *each("jnp.{f}({x})", f="sin negative round isnan", x=["[1.0, 2.0]", "None", "'a'", "(1, 2)"]),
    *lines("""
    jnp.add(f32_3, f32_3b, out=f32_3)
    jnp.sin(x=f32_3)
    jnp.round(f32_3, 1)
    jnp.round(f32_3, decimals=-1)
    jnp.round(i32_3, -1)
    jnp.round(i32_3, 1)
    jnp.round(f16_3, 2)
    jnp.round(c64_3, 1)
    jnp.around(f32_3, 1)  ## eager jaxpr
    jnp.round(f32_3, 2)  ## jit jaxpr vmap jvp
    jnp.round(f32_3, out=f32_3)
    jnp.clip(f32_3, 0)  ## eager jit jaxpr vmap vjp
    jnp.clip(f32_3, 0, 1)  ## eager jit jaxpr vmap vjp jvp
    jnp.clip(f32_3, max=0.5)  ## eager jaxpr
    jnp.clip(f32_3, None, 1)
    jnp.clip(f32_3)  ## eager jaxpr
    jnp.clip(f32_3, 1, 0)
    jnp.clip(i32_3, 0, 2)
    jnp.clip(i32_3, 0.5, 2)
    jnp.clip(i8_3, 0, 200)
    jnp.clip(u8_3, -1, 5)
    jnp.clip(u8_3, i8_3, 5)
    jnp.clip(b1_3, 0, 1)
    jnp.clip(c64_3, 0, 1)
    jnp.clip(f32_2x3, f32_3, 2.5)  ## eager jaxpr vjp
    jnp.clip(f32_edge, -1, 1)
    jnp.clip(f32_3, jnp.nan, 1)
    jnp.clip(bf16_3, 0, f32)
    jnp.clip(2.5, 0, 1)
    jnp.clip(w_f32, 0, 1)
    jnp.clip(arr=f32_3, min=0)
    jnp.isclose(f32_3, f32_3 + 1e-6)
    jnp.isclose(f32_edge, f32_edge, equal_nan=True)
    jnp.isclose(f32_3, f32_3b, rtol=0.5, atol=1)
    jnp.isclose(i32_3, i32_3b, atol=2)
    jnp.isclose(c64_3, c64_3)
    jnp.allclose(f32_3, f32_3)  ## eager jit jaxpr
    jnp.allclose(f32_3, f32_3b)
    jnp.allclose(f32_nan3, f32_nan3)
    jnp.allclose(f32_nan3, f32_nan3, equal_nan=True)
    jnp.allclose(f32_0, f32_0)
    jnp.array_equal(f32_3, f32_3)  ## eager jit jaxpr
    jnp.array_equal(f32_3, i32_3)
    jnp.array_equal(f32_3, f32_2x3)
    jnp.array_equal(f32_nan3, f32_nan3, equal_nan=True)
    jnp.array_equal([1, 2], [1, 2])
    jnp.array_equal(i32_3, i32_3, equal_nan=True)
    jnp.array_equiv(f32_2x3, f32_3)  ## eager jit
    jnp.array_equiv(f32_1x3, f32_1x3)
    jnp.array_equiv(f32_2, f32_3)
    jnp.angle(c64_3, deg=True)
    jnp.angle(f32_edge, deg=True)
    jnp.frexp(f32_edge)
    jnp.frexp(f32_3)  ## jit jaxpr vmap
    jnp.frexp(f16_3)
    jnp.frexp(bf16_3)
    jnp.frexp(i32_3)
    jnp.frexp(c64_3)
    jnp.ldexp(f32_3, i32_3)  ## eager jit jaxpr vmap jvp vjp
    jnp.ldexp(f32_3, 2)
    jnp.ldexp(i32_3, i32_3b)
    jnp.ldexp(f32_edge[:, None], i32_edge)
    jnp.ldexp(bf16_3, i8_3)
    jnp.ldexp(f32_3, f32_3b)
    jnp.ldexp(c64_3, 2)
    jnp.modf(f32_edge)
    jnp.modf(f32_3)  ## jit jaxpr vmap jvp
    jnp.modf(i32_3)
    jnp.modf(c64_3)
    jnp.divmod(f32_3, f32_pos3)  ## jit jaxpr vmap jvp vjp
    jnp.divmod(i32_3, 2)  ## jit jaxpr
    jnp.nan_to_num(f32_edge, nan=1.5, posinf=2, neginf=-3)
    jnp.nan_to_num(f32_edge, copy=False, nan=7)  ## eager jaxpr
    jnp.nan_to_num(c64_edge, nan=2.0)
    jnp.nan_to_num(f16_edge)
    jnp.isneginf(f32_edge)  ## eager jaxpr
    jnp.isposinf(f32_edge)  ## eager jaxpr
    jnp.isneginf(c64_3)
    jnp.isposinf(i32_3)
    jnp.isposinf(f32_3, out=f32_3)
    jnp.where(b1_3, f32_3, f32_3b)  ## eager jit jaxpr vmap vmap_last jvp vjp
    jnp.where(b1_3, f32_3, 0)  ## eager jit jaxpr vmap jvp vjp
    jnp.where(b1_3, 1, 0)  ## eager jaxpr
    jnp.where(b1_3, 1.0, 0)
    jnp.where(b1_3, f32_2x3, i32_3)  ## eager jaxpr vmap
    jnp.where(b1_2x3, f32, bf16_3)
    jnp.where(f32_3, i8_3, u8_3)
    jnp.where(f32_3 > 0, f32_3, w_f32)
    jnp.where(True, f32_3, f32_3b)
    jnp.where(b1_3, f32_3)
    jnp.where(b1_3, f32_3, None)
    jnp.where(b1_3, [1, 2, 3], f32_3)
    jnp.where([True, False, True], f32_3, 0)
    jnp.where(b1_2, f32_3, 0)
    jnp.where(b1_3)
    jnp.where(f32_2x3)
    jnp.where(b1_3, size=2)  ## eager jit
    jnp.where(b1_3, size=5, fill_value=-1)  ## eager jit
    jnp.where(b1_3)  ## jit
    jnp.where(b1_3, c64_3, f32_3)
    jnp.where(b1_3, True, i8_3)
    jnp.select([b1_3, b1_3b], [f32_3, i32_3], 7)  ## eager jit jaxpr vmap vjp
    jnp.select([b1_3], [f32_2x3])
    jnp.select([b1_3], [i32_3], default=2.5)
    jnp.select([], [])
    jnp.select([b1_3], [f32_3, f32_3b])
    jnp.select([f32_3], [f32_3])
    jnp.piecewise(f32_3, [f32_3 < 0, f32_3 >= 0], [-1, 1])
    jnp.piecewise(f32_3, [f32_3 < 0, f32_3 > 1], [jnp.negative, jnp.sin, 0.5])  ## eager jit vmap
    jnp.piecewise(f32_3, [f32_3 < 0], [1, 2, 3])
    jnp.piecewise(f32_3, [f32_3 < 0], [lambda x, k: x * k, 0], 3)
    jnp.unwrap(f32_3)  ## eager jit jaxpr vmap jvp vjp
    jnp.unwrap(f32_2x3, discont=1, axis=0, period=2)
    jnp.unwrap(i32_3, period=4)
    jnp.unwrap(i32_3)
    jnp.unwrap(c64_3)
    jnp.sinc(0.0)  ## eager jit jvp
    jnp.logaddexp(-jnp.inf, -jnp.inf)
    jnp.gcd(12, 18)
    jnp.lcm(i32_3, 4)  ## jit vmap
    jnp.iscomplexobj(c64_3)
    jnp.iscomplexobj(f32_3)
    jnp.iscomplexobj(1j)
    jnp.isrealobj(f32_3)
    jnp.isrealobj(1j)
    jnp.isscalar(f32)
    jnp.isscalar(f32_3)
    jnp.isscalar(1.5)
    jnp.isscalar(np.float32(1))
    jnp.isscalar('a')
    jnp.isscalar([1])
    jnp.iterable(f32_3)
    jnp.iterable(f32)
    jnp.power(f32_3, 3)  ## jaxpr vjp
    jnp.power(i32_3, -1)
    jnp.power(i32_3, 2)  ## jaxpr eager
    jnp.power(f32_pos3, f32_3)  ## jaxpr vjp
    jnp.power(2, f32_3)  ## jaxpr vjp eager
    jnp.power(2.0, i32_3)  ## jaxpr eager
    jnp.power(i8_3, i8_3b)  ## jaxpr
    jnp.power(f32_edge, 0)
    jnp.power(f32_edge, 0.5)  ## eager jaxpr
    jnp.power(f32_edge, 2)
    jnp.float_power(i32_3, 2)  ## eager jaxpr
    jnp.add.reduce(f32_2x3)  ## eager jit jaxpr
    jnp.add.reduce(f32_2x3, axis=None, keepdims=True)
    jnp.add.reduce(i8_2x3, axis=1, dtype=jnp.float32)
    jnp.multiply.reduce(f32_2x3, axis=0, initial=2)
    jnp.maximum.reduce(f32_2x3, axis=(0, 1))
    jnp.minimum.reduce(f32_2x3, axis=1, where=b1_2x3, initial=3)
    jnp.logical_and.reduce(b1_2x3)
    jnp.logical_or.reduce(f32_2x3, axis=None)
    jnp.bitwise_or.reduce(i32_2x3)
    jnp.subtract.reduce(f32_2x3)
    jnp.logaddexp.reduce(f32_3)
    jnp.negative.reduce(f32_3)
    jnp.add.reduce(f32_0)
    jnp.maximum.reduce(f32_0)
    jnp.add.accumulate(f32_2x3)  ## eager jit
    jnp.add.accumulate(f32_2x3, axis=1)
    jnp.multiply.accumulate(i8_3)
    jnp.maximum.accumulate(f32_2x3)
    jnp.subtract.accumulate(f32_3)
    jnp.add.outer(f32_3, i32_2)  ## eager jit jaxpr
    jnp.multiply.outer(f32_2x3, f32_2)
    jnp.add.at(f32_3, jnp.array([0, 0, 2]), 1.5, inplace=False)
    jnp.multiply.at(f32_3, 1, 2, inplace=False)
    jnp.maximum.at(f32_3, jnp.array([0, 1]), 0, inplace=False)
    jnp.negative.at(f32_3, 0, inplace=False)
    jnp.add.at(f32_3, 0, 1)
    jnp.add.reduceat(f32_3, jnp.array([0, 2]))
    (jnp.add.nin, jnp.add.nout, jnp.add.nargs, jnp.add.identity)
    (jnp.multiply.identity, jnp.maximum.identity, jnp.negative.nin, jnp.logical_and.identity)
    jnp.frompyfunc(lambda x, y: x + 2 * y, 2, 1)(f32_3, 2.0)
    jnp.frompyfunc(lambda x, y: x + y, 2, 1, identity=0).reduce(f32_2x3)
    jnp.frompyfunc(lambda x, y: x * y, 2, 1).accumulate(f32_3)
    jnp.frompyfunc(lambda x, y: x * y, 2, 1).outer(f32_3, f32_2)
    jnp.vectorize(lambda x, y: x + y)(f32_2x3, 2)  ## eager jit
    jnp.vectorize(jnp.dot, signature='(n),(n)->()')(f32_2x3, f32_3)  ## eager jit vmap
    jnp.vectorize(lambda x: x[::-1], signature='(n)->(n)')(f32_2x3)
    jnp.vectorize(lambda m, v: m @ v, signature='(n,m),(m)->(n)')(f32_2x3, f32_2)
    jnp.vectorize(lambda a, b: a * b, excluded=(1,))(f32_3, 2)
    """),
]
