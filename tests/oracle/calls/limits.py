"""Numbers beyond their dtype, arrays without elements, and every option of every reduction."""

from tests.oracle.calls.call import each, lines
from tests.oracle.calls.reductions import (
    BOOLS,
    CUMULATIVE,
    EXTREMA,
    MOMENTS,
    REDUCTIONS,
    SUMS,
    WHICH,
)

WRAPPING = """abs absolute negative square positive sign invert bitwise_count reciprocal round rint
fabs ceil floor trunc conj real imag isfinite signbit logical_not"""
WRAPPING_BINARY = """add subtract multiply maximum minimum fmax fmin floor_divide remainder fmod
power divide left_shift right_shift float_power hypot copysign heaviside logaddexp isclose equal
greater_equal less_equal not_equal greater logical_and"""
EXTREMES = "i8_edge i16_edge i32_edge u8_edge u32_edge"
MASKED = f"{SUMS} {EXTREMA} {MOMENTS} {BOOLS} ptp count_nonzero"
AXES = "(0,2) (-1,0) (-3,) (0,-3) (3,) (-4,) (0,1,2) None".split()
SETS = "intersect1d setdiff1d setxor1d union1d"

OVERFLOW = [
    *each("jnp.{f}({x})", f=WRAPPING, x=EXTREMES),
    *each("jnp.{f}({x}[:, None], {x})", f=WRAPPING_BINARY, x="i8_edge i16_edge u32_edge"),
    *each("jnp.{f}({x})", f=f"{SUMS} {MOMENTS} {EXTREMA} {CUMULATIVE} ptp median count_nonzero "
          "cumulative_sum cumulative_prod argmax argmin sort argsort diff ediff1d trapezoid unique",
          x=EXTREMES),
    *each("lax.{f}({x})", f="cumsum cumprod cummax cummin", x=EXTREMES),
    *each("lax.{f}({x}, (0,))", x=EXTREMES,
          f="reduce_sum reduce_prod reduce_max reduce_min reduce_and reduce_or reduce_xor"),
    *each("jnp.{f}({x}, {x})", f="dot vdot inner outer convolve correlate kron",
          x="i8_edge u8_edge i32_edge"),
    *each("{x} {op} {n}", x="i8_edge u8_edge i32_edge u32_edge",
          op="+ - * // % ** << >> & | ^".split(), n="3 100 True"),
    *each("{x}.astype({d})", x="f32_edge bf16_edge i32_edge u32_edge",
          d="'int8' 'uint8' 'int16' 'int32' 'uint32' 'bool' 'float16' 'bfloat16'".split()),
    *each("lax.convert_element_type({x}, '{d}')", x="f32_edge f16_edge",
          d="int8 uint8 int32 uint32 int4 bool"),
    *each("jnp.{f}({x}[:, None], jnp.arange({low}, 70, 7).astype({x}.dtype))",
          f="left_shift right_shift", x="i8_edge u8_edge i32_edge u32_edge", low="0"),
    *each("jnp.{f}({x}, {n})", f="left_shift right_shift", x="i8_edge i32_edge", n="-1 31 32 33"),
    *lines("""
    jnp.array([300, -1]).astype('uint8')
    jnp.array(2 ** 31 - 1) + 1
    jnp.array(3e9).astype('int32')
    jnp.array([jnp.nan, jnp.inf, -jnp.inf, 1e20]).astype('uint32')
    jnp.array(5) // 0
    jnp.array(-5) // 0
    jnp.array(5) % 0
    lax.div(jnp.array(-5), jnp.array(0))
    lax.rem(jnp.array(-5), jnp.array(0))
    lax.div(jnp.array(-2 ** 31), jnp.array(-1))
    lax.rem(jnp.array(-2 ** 31), jnp.array(-1))
    jnp.array(2) ** jnp.array(-1)
    jnp.array(0) ** jnp.array(-1)
    jnp.array(3) ** 25
    jnp.int8(100) * jnp.int8(2)
    jnp.uint8(1) - jnp.uint8(2)
    jnp.mean(jnp.array([2 ** 31 - 1, 2 ** 31 - 1]))
    jnp.var(i8_edge, dtype='float32')
    jnp.average(i8_edge)
    jnp.sum(i8_edge, dtype='int8')
    jnp.prod(u8_edge, dtype='uint8')
    jnp.cumsum(i8_edge, dtype='int16')
    jnp.linspace(0, 255, 4, dtype='uint8')
    jnp.arange(250, 260).astype('uint8')
    jnp.full(2, 300, 'int8')
    jnp.clip(i8_edge, -200, 200)
    jnp.bincount(i8_edge, length=4)
    """, "eager jit"),
]

NOTHING = [
    *each("jnp.{f}({x})", f=REDUCTIONS, x="i32_0 b1_0 c64_0 bf16_0 i32_2x0 u8_0x3"),
    *each("jnp.{f}(f32_2x0, axis={a})", f=REDUCTIONS, a="0 1 -1"),
    *each("jnp.{f}(f32_0x3, axis={a}, keepdims=True)", f=REDUCTIONS, a="0 1 None"),
    *each("jnp.{f}(f32_0x3, axis=0, initial=1.5)", f=f"{SUMS} {EXTREMA}"),
    *each("jnp.{f}({x})", f=f"{CUMULATIVE} sort argsort unique diff ediff1d flip ravel nonzero "
          "flatnonzero argwhere trim_zeros trace diagonal diag corrcoef cov histogram bincount "
          "sort_complex unwrap packbits gradient trapezoid minmax cumulative_sum argsort "
          "unique_all unique_values unique_counts unique_inverse", x="f32_0 i32_0 f32_0x3"),
    *each("jnp.{f}({x}, {y})", f=SETS, x="i32_0 f32_0 i32_3", y="i32_0 f32_3 i32_2x3"),
    *each("jnp.{f}(i32_0, i32_0, size=2, fill_value=7)", f=SETS),
    *each("jnp.isin({x}, {y})", x="i32_0 f32_3 f32_0x3", y="f32_0 i32_3"),
    *each("jnp.unique({x}, {o})", x="i32_0 f32_0x3",
          o=["return_index=True", "return_inverse=True", "return_counts=True", "size=2", "axis=0",
             "size=2, fill_value=3"]),
    *each("jnp.{f}({x}, {y})", f="dot matmul inner outer vdot tensordot kron searchsorted digitize "
          "convolve append", x="f32_0", y="f32_0 f32_3"),
    *each("jnp.{f}(f32_2x0, f32_0x3)", f="matmul dot"),
    *each("lax.{f}(f32_0x3, {a})", f="reduce_sum reduce_prod reduce_max reduce_min",
          a=["(0,)", "(1,)"]),
    *each("jnp.{f}(f32_0, 0.5)", f="quantile nanquantile percentile nanpercentile"),
    *each("jnp.linalg.{f}(jnp.zeros((0, 0)))", f="det inv eigh eigvalsh svd cholesky qr slogdet "
          "norm matrix_rank pinv trace cond matrix_transpose"),
    *each("jax.nn.{f}({x})", f="softmax log_softmax logsumexp standardize relu gelu logmeanexp",
          x="f32_0 f32_2x0 f32_0x3"),
]

OPTIONS = [
    *each("jnp.{f}({x}, where={w})", f=MASKED, x="f32_2x3 f32_nan2x3 i32_2x3 b1_2x3",
          w="b1_2x3 b1_3 True False"),
    *each("jnp.{f}({x}, axis=0, where=b1_2x3, keepdims=True)", f=MASKED, x="f32_nan2x3 bf16_2x3"),
    *each("jnp.{f}({x}, where=b1_2x3, initial={i})", f=f"{SUMS} {EXTREMA}",
          x="f32_nan2x3 i8_2x3 c64_2x3", i="0 -2.5 jnp.nan"),
    *each("jnp.{f}({x}, initial={i})", f=f"{SUMS} {EXTREMA}", x="f32_nan2x3 u8_2x3 f32 b1_2x3",
          i="0 3 -1.5 i32_3 jnp.inf"),
    *each("jnp.{f}(f32_2x3, where={w}, initial=0)", f="sum max nanmin", w="f32_2x3 i32_2x3 b1_2"),
    *each("jnp.{f}(f32_nan2x3x2, axis={a})", f=f"{REDUCTIONS}", a=AXES),
    *each("jnp.{f}(f32_nan2x3x2, axis={a}, keepdims=True)", f=f"{REDUCTIONS}", a="(-1,0) None -2"),
    *each("jnp.{f}({x}, axis={a})", f=REDUCTIONS, x="f32 w_i32 2.5", a="0 -1 () None"),
    *each("jnp.{f}({x}, keepdims=True)", f=REDUCTIONS, x="f32 i32 3"),
    *each("jnp.{f}(f32, axis={a})", f=CUMULATIVE, a="0 -1 1 None"),
    *each("jnp.{f}({x}, dtype={d})", f=f"{SUMS} {MOMENTS} {CUMULATIVE}",
          x="f32_nan2x3 i8_2x3 bf16_2x3", d="'float16' 'int16' bool 'complex64' 'uint8'".split()),
    *each("jnp.{f}(f32_nan2x3, axis=1, where=b1_2x3, initial=0.5)", modes="jit vmap jvp vjp jaxpr",
          f=f"{SUMS} {EXTREMA}"),
    *each("jnp.{f}(f32_nan2x3, axis=-1, where=b1_2x3)", modes="jit vmap jvp vjp jaxpr",
          f=f"{MOMENTS} sum nansum prod nanprod"),
    *each("jnp.{f}(f32_nan2x3, axis=(0, 1), keepdims=True)", modes="jit vmap jvp vjp jaxpr",
          f=f"{SUMS} {EXTREMA} {MOMENTS}"),
    *each("jnp.{f}(f32_nan2x3, {a})", modes="jit vmap", f=WHICH, a="0 -1 axis=None,keepdims=True"),
    *each("jnp.{f}(i8_edge, axis=0)", modes="jit vmap jaxpr", f=f"{SUMS} {CUMULATIVE} mean max"),
]

CALLS = OVERFLOW + NOTHING + OPTIONS
