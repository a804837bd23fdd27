"""Reductions, cumulative functions, sorting, sets, statistics."""

from tests.oracle.calls.call import ALL, each, lines

SUMS = "sum prod nansum nanprod"
EXTREMA = "max min amax amin nanmax nanmin"
MOMENTS = "mean var std nanmean nanvar nanstd"
BOOLS = "all any"
WHICH = "argmax argmin nanargmax nanargmin"
REDUCTIONS = f"{SUMS} {EXTREMA} {MOMENTS} {BOOLS} {WHICH} ptp count_nonzero median nanmedian"
CUMULATIVE = "cumsum cumprod nancumsum nancumprod"

CALLS = [
    *each("jnp.{f}({x})", f=REDUCTIONS, x="b1_3 i8_3 i32_2x3 u8_3 f16_3 bf16_3 f32_3 c64_3"),
    *each("jnp.{f}({x})", f=REDUCTIONS, x="f32 f32_0 f32_2x0 f32_nan2x3 f32_edge i8_edge np_f32_3 "
                                          "w_f32 w_i32 2 2.5 True"),
    *each("jnp.{f}(f32_2x3, axis={axis})", f=REDUCTIONS, axis="0 -1 2 -3 None"),
    *each("jnp.{f}(f32_2x3x2, axis={axis})", f=f"{SUMS} {EXTREMA} {MOMENTS} {BOOLS} ptp "
          "count_nonzero median", axis=["(0, 2)", "(-1, 0)", "()", "(0, 0)", "[0, 1]", "1.5"]),
    *each("jnp.{f}(f32_2x3, axis={axis}, keepdims=True)", f=REDUCTIONS, axis="0 None"),
    *each("jnp.{f}([1.0, 2.0])", f=REDUCTIONS),
    *each("jnp.{f}(f32_2x3, out=f32_2x3)", f=REDUCTIONS),
    *each("jnp.{f}(f32_2x3, 1)", modes=ALL, f=f"{SUMS} {EXTREMA} {MOMENTS} ptp median"),
    *each("jnp.{f}(f32_2x3)", modes="jit jaxpr vmap vjp", f=f"{SUMS} {EXTREMA} {MOMENTS}"),
    *each("jnp.{f}(i32_2x3, axis=0)", modes="jit jaxpr vmap", f=REDUCTIONS),
    *each("jnp.{f}(c64_2x3, axis=0)", modes="jvp vjp", f="sum prod mean var std max"),
    *each("jnp.{f}({x}, axis=1)", modes="jaxpr", f="sum prod mean var max argmax all",
          x="f16_2x3 bf16_2x3 u8_2x3 b1_2x3"),
    *each("jnp.{f}(f32_2x3, axis=1, where=b1_2x3)", modes="eager jaxpr vjp",
          f=f"{SUMS} {MOMENTS} {BOOLS}"),
    *each("jnp.{f}(f32_2x3, axis=1, where=b1_3, initial=0.5)", modes="eager jaxpr vjp",
          f="sum prod max min nansum nanmax"),
    *each("jnp.{f}(f32_2x3, where=b1_2x3)", f="max min nanmax"),
    *each("jnp.{f}(f32_0, initial={i})", f=f"{SUMS} {EXTREMA}", i="0 2.5"),
    *each("jnp.{f}(i32_3, initial={i})", f=f"{SUMS} {EXTREMA}", i="2 2.5"),
    *each("jnp.{f}({x}, dtype={d})", f="sum prod mean var std cumsum cumprod nansum nanmean",
          x="i8_3 f32_3 b1_3 c64_3",
          d="jnp.float32 jnp.int8 jnp.bfloat16 jnp.complex64 bool 'float16' np.float64 float"),
    *each("jnp.{f}({x}, promote_integers=False)", f="sum prod", x="i8_3 u8_3 b1_3 f16_3"),
    *each("jnp.{f}(f32_2x3, axis=1, ddof={d})", f="var std nanvar nanstd", d="1 3 4 0.5"),
    *each("jnp.{f}(f32_2x3, axis=1, correction={d})", f="var std", d="1 0.5"),
    *each("jnp.{f}(f32_2x3, axis=1, mean=f32_2x1)", f="var std nanvar"),
    *each("jnp.{f}({x})", modes="eager jaxpr", f=CUMULATIVE,
          x="f32_2x3 i8_3 b1_3 u8_3 bf16_3 f32 f32_0 f32_nan3 c64_3"),
    *each("jnp.{f}(f32_2x3, axis={axis})", f=CUMULATIVE, axis="0 -1 2 (0,1)"),
    *each("jnp.{f}(f32_2x3, 1)", modes=ALL, f=CUMULATIVE),
    *each("jnp.{f}({x})", f="cumulative_sum cumulative_prod", x="f32_3 f32_2x3 i8_3 b1_3 f32"),
    *each("jnp.{f}(f32_2x3, axis=1, include_initial=True)", modes="eager jit jaxpr vjp",
          f="cumulative_sum cumulative_prod"),
    *each("jnp.{f}({x})", f="sort argsort", x="f32_3 f32_2x3 i8_edge f32_edge b1_3 c64_3 bf16_edge "
                                              "f32 f32_0 u8_2x3 [3,1]"),
    *each("jnp.{f}(f32_2x3, axis={axis})", f="sort argsort", axis="0 None 1 2"),
    *each("jnp.{f}(f32_edge, descending=True)", f="sort argsort"),
    *each("jnp.{f}(i32_2x3, stable=False, descending=True, axis=0)", f="sort argsort"),
    *each("jnp.{f}(i32_3, kind='quicksort')", f="sort argsort"),
    *each("jnp.{f}(f32_2x3)", modes="jit jaxpr vmap vmap_last", f="sort argsort"),
    *each("jnp.{f}(f32_2x3, {k})", f="partition argpartition", k="0 1 -1 3 1,axis=0"),
    *lines("""
    jnp.cumsum(w_f32, axis=0)
    jnp.cumprod(2, axis=-1)
    jnp.cumsum(f32, axis=0)
    jnp.sort(f32_2x3)  ## jvp vjp
    jnp.sort(f32_2x3, descending=True)  ## jvp vjp jaxpr
    jnp.argsort(f32_3, descending=True)  ## jaxpr
    jnp.argsort(f32_3, dtype=jnp.int8)
    jnp.sort(f32_3, order='a')
    jnp.sort_complex(c64_3)
    jnp.sort_complex(f32_3)
    jnp.sort_complex(i8_3)
    jnp.partition(f32_2x3, 1)  ## jit jaxpr vmap jvp
    jnp.argpartition(f32_2x3, 1)  ## jit vmap
    jnp.lexsort((i32_3, i32_3b))  ## eager jit jaxpr vmap
    jnp.lexsort([f32_2x3, i32_2x3], axis=0)
    jnp.lexsort(i32_2x3)
    jnp.lexsort(())
    jnp.lexsort(i32)
    jnp.top_k(f32_2x3, 2)  ## eager jit jaxpr vmap vjp
    jnp.top_k(f32_2x3, 1, axis=0)
    jnp.top_k(f32_3, 2, mode='smallest')
    jnp.top_k(i32_3, 4)
    jnp.count_nonzero(f32_2x3, axis=0)
    jnp.count_nonzero(b1_2x3, axis=(0, 1), keepdims=True)
    jnp.count_nonzero(c64_3)
    jnp.average(f32_2x3)  ## eager jit jaxpr vmap vjp
    jnp.average(f32_2x3, axis=1, weights=f32_pos3)  ## eager jit jaxpr vjp
    jnp.average(f32_2x3, weights=f32_pos2x3, returned=True)
    jnp.average(i32_2x3, axis=0, returned=True)
    jnp.average(f32_2x3, axis=0, weights=f32_pos3)
    jnp.average(f32_2x3, weights=f32_pos3)
    jnp.average(f32_2x3, axis=1, keepdims=True)
    jnp.average(c64_3, weights=i32_pos3)
    jnp.quantile(f32_2x3, 0.3)  ## eager jit jaxpr vmap jvp vjp
    jnp.quantile(f32_2x3, jnp.array([0.1, 0.9]), axis=1)  ## eager vjp
    jnp.quantile(f32_2x3, 0.5, axis=0, keepdims=True)
    jnp.quantile(f32_2x3, 0.5, axis=(0, 1), keepdims=True)
    jnp.quantile(f32_3, 0.4, method='lower')
    jnp.quantile(f32_3, 0.4, method='higher')
    jnp.quantile(f32_3, 0.4, method='nearest')
    jnp.quantile(f32_3, 0.4, method='midpoint')
    jnp.quantile(f32_3, 0.4, method='hazen')
    jnp.quantile(f32_3, 0.4, method='inverted_cdf')
    jnp.quantile(f32_3, 0.4, method='foo')
    jnp.quantile(f32_3, 0.4, weights=f32_pos3)
    jnp.quantile(f32_3, 0.4, weights=f32_pos3, method='inverted_cdf')
    jnp.quantile(f32_3, 1.5)
    jnp.quantile(i32_3, 0.5)
    jnp.quantile(i8_3, 0.5)
    jnp.quantile(b1_3, 0.5)
    jnp.quantile(c64_3, 0.5)
    jnp.quantile(bf16_3, 0.5)
    jnp.quantile(f32_nan3, 0.5)
    jnp.quantile(f32_0, 0.5)
    jnp.quantile(f32_3, 2)
    jnp.quantile(f32_3, f32_pos2x3)
    jnp.quantile(f32_3, 0.5, overwrite_input=True)
    jnp.nanquantile(f32_nan2x3, 0.3)
    jnp.nanquantile(f32_nan2x3, 0.3, axis=1)  ## eager jit vmap
    jnp.percentile(f32_2x3, 30)  ## eager jit jaxpr
    jnp.percentile(i32_2x3, 30, axis=0)
    jnp.percentile(f32_2x3, jnp.array([10.0, 20.0]), axis=1)
    jnp.percentile(f32_2x3, 10, out=f32)
    jnp.nanpercentile(f32_nan2x3, 30, axis=0)
    jnp.median(i8_3)
    jnp.median(f32_2x3, axis=0, overwrite_input=True)
    jnp.corrcoef(f32_2x3)  ## eager jit jaxpr
    jnp.corrcoef(f32_3, f32_3b)
    jnp.corrcoef(f32_2x3, rowvar=False)
    jnp.corrcoef(c64_2x3)
    jnp.cov(f32_2x3)  ## eager jit jaxpr vmap vjp
    jnp.cov(f32_3)
    jnp.cov(f32_3, f32_3b)
    jnp.cov(f32_2x3, rowvar=False, bias=True)
    jnp.cov(f32_2x3, ddof=0)
    jnp.cov(f32_2x3, fweights=jnp.array([1, 2, 1]))
    jnp.cov(f32_2x3, aweights=f32_pos3)
    jnp.cov(i32_2x3)
    jnp.cov(f32_2x3x2)
    jnp.cov(c64_2x3)
    jnp.histogram(f32_2x3)  ## eager jit
    jnp.histogram(f32_2x3, bins=4, range=(-1, 2))
    jnp.histogram(f32_3, bins=jnp.array([-2.0, 0.0, 2.0]), density=True)
    jnp.histogram(i32_3, bins=3, weights=f32_3)
    jnp.histogram_bin_edges(f32_3, 5)
    jnp.histogram_bin_edges(i32_3, 5, range=(0, 3))
    jnp.histogram_bin_edges(f32_3, 'auto')
    jnp.histogram2d(f32_3, f32_3b, bins=3)
    jnp.histogramdd(f32_3x2, bins=(2, 3))
    jnp.bincount(i32_pos3)  ## eager jaxpr
    jnp.bincount(i32_pos3, weights=f32_3, minlength=9)
    jnp.bincount(i32_pos3, length=3)  ## eager jit vmap
    jnp.bincount(f32_3)
    jnp.bincount(i32_2x3)
    jnp.bincount(u8_3)
    jnp.bincount(i32_0)
    jnp.digitize(f32_3, jnp.array([-1.0, 0.0, 1.0]))  ## eager jit
    jnp.digitize(f32_3, jnp.array([1.0, 0.0, -1.0]), right=True)
    jnp.digitize(i32_3, jnp.array([0, 2]))
    jnp.searchsorted(jnp.array([-1.0, 0.0, 1.0]), f32_2x3)  ## eager jit vmap
    jnp.searchsorted(jnp.array([-1.0, 0.0, 1.0]), f32_3, side='right')
    jnp.searchsorted(jnp.array([-1.0, 0.0, 1.0]), f32_3, method='sort')
    jnp.searchsorted(jnp.array([-1.0, 0.0, 1.0]), f32_3, method='compare_all')
    jnp.searchsorted(jnp.array([-1.0, 0.0, 1.0]), f32_3, side='x')
    jnp.searchsorted(jnp.array([1, 2, 3]), 2.5)
    jnp.searchsorted(f32_2x3, 2.5)
    jnp.searchsorted(f32_edge, jnp.nan)
    jnp.searchsorted(f32_3, f32_3, sorter=jnp.argsort(f32_3))
    jnp.unique(i32_2x3)
    jnp.unique(f32_nan3)
    jnp.unique(f32_nan3, equal_nan=False)
    jnp.unique(i32_2x3, return_index=True, return_inverse=True, return_counts=True)
    jnp.unique(i32_2x3, axis=0)
    jnp.unique(i32_2x3, axis=1, return_inverse=True)
    jnp.unique(i32_3, size=5)  ## eager jit vmap
    jnp.unique(i32_3, size=5, fill_value=9)
    jnp.unique(i32_3, size=2, return_counts=True)
    jnp.unique(i32_0)
    jnp.unique(i32_3)  ## jit
    jnp.unique_all(i32_3)
    jnp.unique_counts(i32_3)
    jnp.unique_inverse(i32_2x3)
    jnp.unique_values(f32_3)
    jnp.unique_values(i32_3, size=4, fill_value=-1)
    jnp.isin(i32_2x3, i32_3)  ## eager jit jaxpr vmap
    jnp.isin(i32_2x3, i32_3, invert=True)
    jnp.isin(f32_3, jnp.array([1, 2]))
    jnp.isin(i32_3, i32_0)
    jnp.intersect1d(i32_3, i32_3b)
    jnp.intersect1d(i32_3, i32_3b, return_indices=True)
    jnp.intersect1d(i32_3, i32_3b, size=4, fill_value=-1)
    jnp.setdiff1d(i32_3, i32_3b)
    jnp.setdiff1d(i32_3, i32_3b, size=4, fill_value=7)
    jnp.setxor1d(i32_3, i32_3b)
    jnp.setxor1d(i32_3, i32_3b, size=6)
    jnp.union1d(i32_3, i32_3b)
    jnp.union1d(i32_3, i32_3b, size=8, fill_value=0)  ## eager jit
    jnp.minmax(f32_2x3, axis=1)  ## eager jit
    jnp.minmax(f32_2x3)
    jnp.diff(f32_2x3)  ## eager jit jaxpr vmap jvp vjp
    jnp.diff(i8_3, n=2)
    jnp.diff(b1_3)
    jnp.diff(f32_2x3, axis=0, prepend=1)
    jnp.diff(f32_2x3, append=f32_2x1)
    jnp.diff(f32_3, n=0)
    jnp.diff(f32_3, n=-1)
    jnp.diff(f32_3, n=5)
    jnp.diff(f32)
    jnp.ediff1d(f32_2x3)
    jnp.ediff1d(i32_3, to_end=9, to_begin=jnp.array([1, 2]))
    jnp.gradient(f32_3)  ## eager jit jaxpr vjp
    jnp.gradient(f32_2x3)
    jnp.gradient(f32_2x3, axis=1)
    jnp.gradient(f32_3, 2.0)
    jnp.gradient(f32_3, f32_3b)
    jnp.gradient(i32_3)
    jnp.gradient(f32_1)
    jnp.gradient(f32_3, edge_order=2)
    jnp.trapezoid(f32_2x3)  ## eager jit jaxpr vjp
    jnp.trapezoid(f32_2x3, f32_3)
    jnp.trapezoid(f32_2x3, dx=0.5, axis=0)
    jnp.trapezoid(i32_3)
    jnp.interp(f32_3, jnp.array([-1.0, 0.0, 1.0]), f32_3b)  ## eager jit jaxpr vmap jvp vjp
    jnp.interp(f32_3, jnp.array([-1.0, 0.0, 1.0]), f32_3b, left=9, right=-9)
    jnp.interp(f32_3, jnp.array([0.0, 1.0, 2.0]), f32_3b, period=3.0)
    jnp.interp(f32_3, jnp.array([0.0, 1.0, 2.0]), f32_3b, left='extrapolate', right='extrapolate')
    jnp.interp(2, jnp.array([0, 1, 3]), jnp.array([0, 10, 30]))
    jnp.interp(f32_3, f32_3, f32_2)
    jnp.convolve(f32_3, f32_2)  ## eager jit vmap vjp
    jnp.convolve(f32_3, f32_2, mode='same')
    jnp.convolve(f32_3, f32_2, 'valid')
    jnp.convolve(i32_3, i32_2)
    jnp.convolve(f32_3, f32_2, 'foo')
    jnp.convolve(f32_2x3, f32_2)
    jnp.correlate(f32_3, f32_2)  ## eager jit
    jnp.correlate(c64_3, c64_2, 'full')
    jnp.correlate(f32_2, f32_3, 'same')
    jnp.packbits(b1_3)
    jnp.packbits(u8_2x3, axis=1, bitorder='little')
    jnp.unpackbits(u8_3)
    jnp.unpackbits(u8_2x3, axis=0, count=3, bitorder='little')
    jnp.unpackbits(i32_3)
    jnp.polyval(f32_3, f32_2)  ## eager jit vmap vjp
    jnp.polyval(i32_3, 2)
    jnp.polyadd(f32_3, f32_2)
    jnp.polysub(f32_2, f32_3)
    jnp.polymul(f32_3, f32_2)
    jnp.polymul(f32_3, f32_2, trim_leading_zeros=True)
    jnp.polydiv(f32_3, f32_2)
    jnp.polyder(f32_3)
    jnp.polyder(f32_3, 2)
    jnp.polyint(f32_3)
    jnp.polyint(f32_3, 2, jnp.array([1.0, 2.0]))
    jnp.poly(f32_3)
    jnp.roots(f32_3)
    jnp.polyfit(f32_3, f32_3b, 1)
    """),
]
