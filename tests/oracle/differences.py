"""Intended differences between tanx and JAX, and the reasons; the sweep reads this table.

A row has a reason, modes, and patterns for the texts of calls. A row that no call needs any more is
reported, so that the table stays correct.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["DIFFERENCES", "QUIRKS", "Difference", "reason", "without_quirks"]

RUNS = "eager jit vmap vmap_last jvp vjp"

# JAX prints NumPy's integers among the parameters of equations in NumPy's form.
QUIRKS = [(r"np\.int64\((-?\d+)\)", r"\1")]


class Difference(NamedTuple):
    """Calls that differ for one reason."""

    reason: str
    modes: str
    patterns: tuple[str, ...]


def _row(reason: str, modes: str, *patterns: str) -> Difference:
    return Difference(reason, modes, patterns)


DIFFERENCES = [
    # -- values ------------------------------------------------------------------------------------
    _row("the sign of a zero, or an element that is all rounding error: matrices by exact "
         "formulas, Hessenberg factors, functions of Schur's form", "eager jit vmap",
         r"scipy\.linalg\.(dft\(2\)|invpascal\(\d, '|hessenberg\(f32_3x3, calc_q|funm\(f32_3x3)"),
    _row("the NaN of a failed complex factorisation is in its real part", "eager",
         r"scipy\.linalg\.cholesky\(c64_3x3\)"),
    _row("JAX's recurrence for Bessel functions overflows in float32 and gives NaN for "
         "arguments of a few units", "eager", r"scipy\.special\.bessel_jn\("),
    _row("JAX differentiates the steps of a bisection, which is not the derivative of the "
         "eigenvalues", "jvp", r"eigh_tridiagonal\(f32_3, f32_2, eigvals_only"),
    _row("special values of complex functions follow C99, as in NumPy: the sign of a zero selects "
         "the side of a branch cut, and infinities and NaN stay in their real or imaginary part",
         "eager", r"\(c64_edge\)$", r"(divide|power|maximum)\(c64_edge"),
    _row("0 to a power with a positive real part is 0; XLA computes log(0) as an intermediate",
         "eager", r"pow(er)?\((b1|i8)_3, c64_3b\)"),
    _row("the sign of a zero: from constant folding, or from a maximum or sum of +0 and -0",
         "eager vjp", r"^b1_3 / -3$", r"maximum\(bf16_edge", r"fmod\(f32_pos2x3, f32_pos3\)",
         r"eigvals\(f32_3x3\)\)\.sum", r"stats\.expon\.(logpdf|cdf)\(f32_edge",
         r"stats\.(cauchy|gumbel_l)\.logcdf\(f32_edge", r"stats\.uniform\.cdf\(f32_edge\)",
         r"stats\.pareto\.log(pdf|sf)\(f32_edge", r"truncnorm\.logpdf\(f32_pos3",
         r"poisson\.entropy\(jnp\.array", r"dct\(f32_0, n=", r"idctn\(f32_3x5\)",
         r"fftconvolve\(f32_0, f32_3\)"),
    _row("the sign of a zero in tangents", "jvp", r"fft\.dctn\(f32_3x5\)"),
    _row("sizes of convolutions are Python integers; JAX returns some as NumPy integers", "eager",
         r"lax\.conv_(general_|transpose_)?shape_tuple"),
    _row("an integer divided by 0 has an unspecified value", "eager",
         r"fmod\(True, False\)"),
    _row("JAX's atan2 converts -1 to 255 next to uint8, its arctan2 does not", "eager",
         r"atan2\(-1, u8_3\)"),
    _row("spacing has the sign of its operand, as in NumPy and as for float32", "eager",
         r"spacing\(f16_3\)"),
    _row("every nonzero number converts to True, also complex ones; JAX tests only the real part, "
         "except in astype", "eager", r"b1_3\.at\[0\]\.\w+\(1j\)", r"c64_3, dtype=bool"),

    _row("when odeint reaches mxstep, it extrapolates, which amplifies rounding errors", "eager",
         r"odeint\(.*mxstep=2"),
    _row("an intermediate result in bfloat16 is rounded differently", "eager",
         r"jax\.nn\.(elu|squareplus)\(bf16_3, f32_3b\)"),

    _row("max and min of complex numbers propagate NaN, as for real ones, also NaN as initial",
         "eager", r"(max|min)\(c64_2x3, where=b1_2x3, initial=jnp\.nan"),
    _row("of equal maxima in a window, the first receives the tangent, like the cotangent", "jvp",
         r"^lax\.reduce_window\(f32_4x5, -jnp\.inf, lax\.max, .*(SAME'|\(\(1, 0\), \(0, 2\)\))\)$"),
    _row("rounding error in a variance of two elements, computed as a difference of means",
         "vjp", r"nn\.standardize\(f32_2x3, axis=0\)"),
    _row("special functions at infinities, poles and zeros: the limits, as in SciPy", "eager",
         r"special\.(expi|loggamma|spence|wofz)\((f32_edge|i32_3|b1_3)\)"),
    _row("the derivative of spence, where JAX gives NaN", "vjp", r"special\.spence\(f32_pos3\)"),
    _row("odd functions preserve the sign of a zero", "eager", r"special\.fresnel\(f32_edge\)"),
    _row("JAX warns that it will remove the function", "eager jit", r"special\.lpmn(_values)?\("),
    _row("narrow floats are computed in float32; JAX's coefficients are not exact in float16",
         "eager", r"special\.(exp1|expi|sici)\(f16_unit3\)"),
    _row("JAX rounds constants, and NumPy warns", "eager",
         r"special\.log_softmax\((i32_3|2)\)"),
    # -- more than JAX does ------------------------------------------------------------------------
    _row("derivatives that JAX does not have: of Sylvester's equation, square roots, polar "
         "factors, products with a factor, tridiagonal eigenvalues", "jvp vjp",
         r"scipy\.linalg\.(solve_sylvester|sqrtm|polar|qr_multiply|eigh_tridiagonal)\("),
    _row("batches of square roots and tridiagonal matrices, empty matrices, integers as floats, "
         "wide matrices, two dtypes", "eager",
         r"scipy\.linalg\.sqrtm\((f32_2x3x3|jnp\.zeros\(\(0)", r"eigh_tridiagonal\(f32_2x3,",
         r"scipy\.linalg\.(polar|schur|hessenberg|funm)\((i32_2x2|f32_2x3\)|f32_3x3, eps)",
         r"expm_frechet\(f32_3x3, c64_3x3\)", r"solve\(jnp\.eye\(3\) \* .*, f32_3, assume_a"),
    _row("softmax accepts booleans", "eager", r"special\.(log_)?softmax\(b1_3\)"),
    _row("windows with negative padding have derivatives", "vjp",
         r"reduce_window\(.*, lax\.m.*\(-1, 1\)"),
    _row("updates with a traced mask are supported", "jit vmap jaxpr", r"\.at\[b1_\w+\]"),
    _row("pmax and pmin have derivatives", "jvp vjp", r"lax\.(pmax|pmin)\(v, 'i'\)"),
    _row("ppermute may omit devices, and pbroadcast works under vmap", RUNS + " jaxpr",
         r"ppermute\(v, 'i', \[\(0, 1\)\]\)", r"pbroadcast"),
    _row("clamp with scalar bounds has a derivative under broadcasting", "vjp",
         r"lax\.clamp\(f32,"),
    _row("features that JAX does not have: fromfile, fromiter, wrap=True, all methods of "
         "quantile, clone under jit, computed starts of slices", "eager jit",
         r"jnp\.from(file|iter)", r"wrap=True", r"method='hazen'", r"\.clone\(\)", r"jax\.ds\(i32"),
    _row("lists of axes, a single axis for several, and sizes beyond the array are accepted",
         "eager jit",
         r"axis=\[0, 1\]", r"apply_over_axes\(jnp\.sum, f32_2x3, 1\)", r"extract\(.*size=4"),
    _row("values that do not depend on arguments are known while tracing", "jaxpr",
         r"arange\(jnp\.(int8|float32|array)\("),
    _row("bounds of a loop may be integers of different types; the counter has the wider type, "
         "also if both are known", "eager", r"fori_loop\(.*(u32|uint32)"),
    _row("random keys can be sorted along, and conj returns them unchanged, like real numbers",
         "eager jit", r"sort\(\(i32_3, jax", r"\(0\)(, 3\))?\.conj"),
    _row("booleans round to themselves; JAX raises an internal error", "eager jit",
         r"round\((b1|b1_3|True)\)", r"round\(\(jnp\.nan_to_num\(\(b1_2x3\)"),
    _row("updates drop leading dimensions of size 1 from the values, as NumPy's assignment does",
         RUNS, r"f32_2x3\.at\[0\]\.set\(f32_1x3\)", r"\.at\[0\]\.add\(\(jnp\.max\(i32_3"),
    _row("empty arrays have a Fourier transform, 0, and rank 0; JAX raises an internal error",
         "eager",
         r"jnp\.fft\.(rfft|ihfft)\(f32_0\)", r"matrix_rank\(jnp\.zeros\(\(0, 0"),
    _row("arrays that do not broadcast are not equivalent; JAX raises an internal error", "eager",
         r"array_equiv\(f32_2, f32_3\)"),
    _row("dot of a scalar and an int8 vector; JAX raises an internal error", "eager",
         r"dot\(2, i8_3\)"),
    _row("2-vectors have a cross product, as in JAX 0.11; JAX 0.12 rejects them", "eager",
         r"jnp\.cross\(f32_2, f32_(2b|3)\)"),
    _row("functions that need only a shape accept lists", "eager",
         r"jnp\.(ndim|shape|size)\(\[1, 2\]\)"),
    _row("Python integers that fit uint32 are accepted next to it", "eager",
         r"u32_3 \* 2654435761"),

    _row("softmax accepts booleans, like other functions of numbers", "eager",
         r"jax\.nn\.(log_)?softmax\(b1_3\)"),

    _row("every differentiable operation has a Taylor series: loops, branches, functions with "
         "custom rules; and arguments may be pytrees", "eager jit",
         r"jet\.jet\((jnp\.(arctan|prod|sort)|lax\.cbrt|jax\.nn\.(softplus|relu)),",
         r"jet\.jet\(lambda (x: (x\.at|lax\.(scan|cond))|d)"),
    _row("random sparse arrays draw the indices of each batch from its own key; and their dtype is "
         "float32 without a warning", "eager", r"random_bcoo\("),
    _row("a ValueError describes the mismatch; JAX raises an internal AssertionError or KeyError",
         "eager", r"(COO|CS[RC])\.fromdense\(.*@ jnp\.ones\(4\)", r"sparse_format='x'"),
    _row("check_grads accepts functions that also take integers", "eager",
         r"check_grads\(lambda x, i"),

    _row("Rotation: several identities, random rotations, concatenation of single rotations, lists "
         "of angles; rotations are truthy; derivatives at angle zero", "eager",
         r"Rotation\.(identity\(3|random\(|from_euler\('x', \[)",
         r"Rotation\.concatenate\(\[[^,]*f32_4\), ", r"bool\(jax\.scipy\.spatial",
         r"from_rotvec\(v\)\.as_rotvec\(\)\.sum\(\)\)\(jnp\.zeros"),
    _row("beyond the last time, Slerp extrapolates from it; JAX, from the time before", "eager",
         r"Slerp\.init\(.*\(5\.5\)"),
    _row("map_coordinates with cubic splines, SciPy's mode names, and scalars", "eager",
         r"map_coordinates\(f32(_5, \[f32_3\], (3|1, 'grid-wrap')|, \[\], 1)\)"),
    _row("RegularGridInterpolator: bounds_error, points in lists", "eager",
         r"RegularGridInterpolator\(.*(bounds_error=True|\(\[\[0\.5, 0\.5\]\])\)$"),
    _row("odeint: times that decrease or repeat, or are in a list", "eager",
         r"odeint\(.*, (jnp\.array\(\[(1\., 0\.|0\., 0\., 1\.)\]\)|\[0\., 1\.\])\)$"),

    # -- dtypes and warnings -----------------------------------------------------------------------
    _row("weak types of 1 x 1 and empty matrices", "eager",
         r"scipy\.linalg\.(toeplitz|fiedler_companion)\(w_f32\)"),
    _row("matrix square roots are computed in at least 32 bits", "eager",
         r"sqrtm\(jnp\.eye\(2\)\.astype"),
    _row("two results are returned as a tuple, as documented", "eager",
         r"scipy\.linalg\.schur\(f32_3x3\)$"),
    _row("stop_gradient returns Python numbers unchanged; JAX returns private subclasses",
         "eager", r"stop_gradient\((2|2\.5|1\.5|\(f32_3, 2\))\)"),
    _row("discarding an imaginary part always warns with NumPy's ComplexWarning", "eager jaxpr",
         r"round\(c64\)", r"astype\(c64_3, (jnp\.float32|int)\)",
         r"(mean|nansum|nanmean)\(c64_3, dtype="),
    _row("truncating a dtype warns in each function; JAX warns only while tracing, and has traced "
         "this mean before", "eager", r"nanmean\((i8|b1)_3, dtype=np\.float64\)"),
    _row("a number that overflows float32 to infinity warns, also in asarray", "eager",
         r"array\(1e300\)"),
    _row("deprecated names do not warn, nor does one_hot of floats", "eager",
         r"jax\.host_count", r"one_hot\(f32_3,"),
    _row("JAX lets an internal NumPy warning through", "eager jit",
         r"jax\.nn\.log_softmax\(i32_3\)", r"array\(3e9\)\.astype\('int32'\)"),
    _row("the variance has the requested dtype", "eager",
         r"jnp\.var\(.*dtype=(jnp\.int8|'u?int)"),
    _row("a scalar has no dimensions to keep, as in NumPy", "eager",
         r"median\((f32|i32|3), keepdims=True\)"),

    # -- errors ------------------------------------------------------------------------------------
    _row("a TypeError or ValueError instead of an internal error of JAX, or for an index of an "
         "eigenvalue that does not exist", "eager",
         r"hessenberg\((f32|\[\[1\.0\]\])\)", r"qr_multiply\(f32_3x2, f32\)",
         r"eigh_tridiagonal\(.*select_range=\(1, 4\)"),
    _row("shapes of quaternions, rotation matrices and grid points are checked, and rotations are "
         "multiplied only by rotations", "eager",
         r"Rotation\.from_(quat\(f32_3\)|matrix\(jnp\.eye\(2\)\))$", r"Rotation.*\) \* 2\.0$",
         r"RegularGridInterpolator\(.*(f32_4x3|\(f32_2x3,\), f32_5)\)$"),
    _row("of two errors in one call, a different one is reported first", "eager jit",
         r"(unique|union1d|nonzero|argwhere|bool|int|float|complex|np\.sin|np\.add)\(jax\.random\.",
         r"reduce_(sum|prod)\(b1_2x3", r"lax\.arg(max|min)\((c64_3|f32_0)"),
    _row("a TypeError or ValueError with an explanation instead of an internal error of JAX",
         "eager jaxpr", r"lax\.fft\(c64_3x8, 'IRFFT', \(8,\)\)", r"empty\((-1|\(2, -1\))\)",
         r"full_like\(w_f32, 1j\)",
         r"cumlogsumexp\(i8_3\)", r"slice\(f32_4, \(0,\), \(2,\), \(0,\)\)",
         r"dynamic_update_index_in_dim\(f32_2x3, 0\.0", r"tile\((f32_0, 0\.5|f32_3, 2)\)",
         r"reshape\(f32_0, \(0, -1\)\)", r"linear_transpose\(lambda v: v \* v",
         r"jax\.random\.\w+\(.*\(-1,\)\)", r"jax\.random\.poisson\(.*jnp\.b?float16\)",
         r"jax\.nn\.glu\(f32_3,",
         r"treedef_tuple\(\[1\]\)",
         r"hstack\(\[\]\)", r"f32_0\[i32_idx2\]", r"arange\(jnp\.array\(\[3\]\)\)"),
    _row("random keys as numeric operands raise TypeError in functions and methods, also where JAX "
         "raises ValueError, NotImplementedError or an internal error",
         "eager jit",
         r"@ jax\.random\.split", r"\(0\)(, 3\))?\.(?!at|dtype|ravel|flatten|copy|tr|sq|resh)\w+\(",
         r"(argmax|argmin|all|any|float32|int32|dot|matmul|inner)\(jax\.random\.split",
         r"\.at\[0\]\.set\(jax\.random\.key", r"jax\.random\.split\(.*\), 0\)$",
         r"(full_like|stack|convert_element_type|bitcast_convert_type|asarray)\(.*jax\.random",
         r"array\(\[jax\.random\.key\(0\), 1\]"),
    _row("loop bounds that are not numbers raise TypeError; JAX raises ValueError", "eager",
         r"fori_loop\(None, "),
    _row("different sizes raise ValueError, with and without batch_size", "eager jit jvp vjp",
         r"lax\.map\(.*\(f32_3, f32_2\), batch_size"),
    _row("as in NumPy: repeated axes raise ValueError, sections must be an integer, order 'K' is "
         "not implemented, strings are not numbers", "eager",
         r"moveaxis\(f32_2x3, \(0, 0\)", r"diagonal\(f32_2x3, 0, 1, 1\)", r"split\(f32_2x4, 1\.5\)",
         r"order='K'", r"jnp\.float32\('a'\)"),
    _row("Fourier transforms reject lists, and more lengths than dimensions", "eager",
         r"ihfft\(\[1,2\]\)", r"s=\(1,1,1,1\)"),
    _row("shapes of equal rank that do not broadcast raise TypeError in every elementwise function",
         "eager", r"jnp\.(copysign|heaviside|hypot)\(f32_3, f32_2\)"),
    _row("sizes of reshape and bounds of slice are checked before the operation runs", "eager",
         r"lax\.reshape\(f32_2x3, \(5,\)\)", r"lax\.slice\(f32_4, \((-1,|0, 1)\)"),
    _row("slice starts known while tracing are clamped like others", "eager",
         r"allow_negative_indices=False"),

    # -- scipy -------------------------------------------------------------------------------------
    _row("a density is 0 at infinity, and NaN for NaN, as in SciPy", "eager",
         r"stats\.(gumbel_l|gumbel_r|gamma|chi2|wrapcauchy)\.(log)?pdf\(f32_edge"),
    _row("logarithms of densities and probabilities that underflow float32, or whose squares "
         "overflow", "eager", r"stats\.(cauchy|t)\.logpdf\(f32_edge",
         r"stats\.(cauchy|gumbel_r)\.logsf\(f32_edge"),
    _row("quantiles of 0 and 1 are infinite, as in SciPy", "eager",
         r"gumbel_[lr]\.ppf\(jnp\.array"),
    _row("the type of a density is weak only if all operands are weakly typed", "eager",
         r"stats\.(expon|gumbel_[lr]|uniform|gennorm|vonmises|wrapcauchy)\.logpdf\(i32_3",
         r"stats\.(binom|poisson)\.(log)?pmf\((i32_3|jnp\.arange)"),
    _row("mismatched shapes raise ValueError, like other errors of this function", "eager",
         r"multivariate_normal\.logpdf\(f32_3, f32_2"),
    _row("a scalar has no dimensions to keep", "eager", r"stats\.mode\(f32, axis=-1, keepdims"),
    _row("narrow floats are convolved and detrended in float32, which JAX's transforms and "
         "factorisations require; cosine transforms of them stay in float32 throughout", "eager",
         r"fftconvolve\(bf16", r"detrend\(bf16", r"idct\(bf16"),
    _row("matrices that do not contain one another are convolved, except in mode 'valid'", "eager",
         r"(convolve|correlate)2d\(f32_2x4, f32_3x2, '(full|same)'"),
    _row("imaginary parts of products with conjugates are rounding error", "eager",
         r"csd\(f32_40, f32_40,"),
    _row("istft as in SciPy: odd segments, no overlap, and times along the signal, not along the "
         "first axis", "eager", r"istft\(c64_5x6, (nperseg=9|noverlap=0)", r"istft\(c64_2x5x6\)$"),
    _row("cosine transforms of types 1, 3 and 4, and forward norms", "eager",
         r"fft\.dct\(f32_8, ([134]|norm='forward')\)"),
    _row("the number of lengths must equal the number of axes, as in other transforms", "eager",
         r"i?dctn\(.*s=\(2, 2\), axes=\(0,\)"),
    _row("length 0 raises ValueError and a list TypeError; JAX raises internal errors", "eager",
         r"i?dct\(f32_0(, norm='ortho')?\)", r"dct\(f32_8, n=0\)", r"signal\.convolve\(\[1\.0\]"),

    # -- printed forms -----------------------------------------------------------------------------
    _row("public names are printed: Array, tanx.numpy.float32, UniqueAll", "eager",
         r"array_repr", r"repr\(jnp\.float32\)", r"unique_(all|counts|inverse)"),

    # -- printed jaxprs ----------------------------------------------------------------------------
    _row("values known while tracing are computed at once: constant indices leave no equations",
         "jaxpr",
         r"^f32_2x3(x2)?(\.at)?\[[^]]*(\[|i32_idx|True|False|9\]|5\])",
         r"^f32_2x3\[(2|::2|np\.array\(1\))\]$", r"lambda i, v: v\[i\]",
         r"dynamic_(update_)?index_in",
         r"repeat\(f32_3, np\.array", r"jnp\.roll\(f32_2x3, i32\)",
         r"jnp\.array\(\[\[f32, i32\]", r"jnp\.allclose"),
    _row("equations with unused results are removed", "jaxpr",
         r"jnp\.(vander\(i32_3, 4\)|power\(i8_3, i8_3b\)|cov\(|corrcoef\()",
         r"jnp\.pad\(f32_3, 2, '(reflect|symmetric|linear_ramp)'\)"),
    _row("operands are converted to a common dtype and rank once, at the start", "jaxpr",
         r"jnp\.(fmax|fmin|heaviside|pow|power|select|angle)\(", r"jnp\.add\.outer",
         r"jax\.vmap\(jax\.vmap\(lambda a, b: a \* b"),
    _row("tanx uses a different algorithm, which is shorter or more accurate", "jaxpr",
         r"jnp\.(sinc|hypot|frexp|ldexp|unwrap|median|nanmedian|quantile|percentile|diagflat|"
         r"partition|nancumsum|nancumprod|nonzero|interp|gcd|lcm)\("),
    _row("operands of a call are in the order of its parameters; JAX sorts keyword arguments",
         "jaxpr", r"jax\.random\.gumbel\("),
    _row("collectives under vmap become ordinary operations on the batch axis", "jaxpr",
         r"jax\.vmap\(lambda v: lax\.\w+"),
    _row("a branch known while tracing is inlined", "jaxpr",
         r"^lax\.cond\((True|1|0\.0),", r"^lax\.switch\((0|7|-3|jnp)"),
    _row("accuracies are printed in full", "jaxpr", r"accuracy=lax\.Tolerance"),
]


def reason(call) -> str | None:
    """Why ``call`` may differ; None if it must not."""
    return next((row.reason for row in DIFFERENCES if matches(row, call)), None)


def matches(row: Difference, call) -> bool:
    """Whether ``row`` applies to ``call``."""
    return call.mode in row.modes.split() and any(re.search(p, call.text) for p in row.patterns)


def without_quirks(text: str) -> str:
    """A text of JAX without details that tanx does not imitate."""
    for pattern, replacement in QUIRKS:
        text = re.sub(pattern, replacement, text)
    return text
