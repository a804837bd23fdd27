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
    _row("the sign of a zero, or a part that is all rounding: matrices by exact formulas, a factor "
         "of reflections, functions of Schur's form", "eager jit vmap",
         r"scipy\.linalg\.(dft\(2\)|invpascal\(\d, '|hessenberg\(f32_3x3, calc_q|funm\(f32_3x3)"),
    _row("NaN of a complex factor is in its real part", "eager",
         r"scipy\.linalg\.cholesky\(c64_3x3\)"),
    _row("JAX's recurrence for Bessel functions overflows in float32, and gives NaN, for arguments "
         "of a few units", "eager", r"scipy\.special\.bessel_jn\("),
    _row("JAX follows the steps of a bisection, whose derivative is not that of the eigenvalues",
         "jvp", r"eigh_tridiagonal\(f32_3, f32_2, eigvals_only"),
    _row("special values of complex functions are those of C99, as in NumPy: the sign of a zero "
         "chooses the side of a branch cut, infinities and NaN stay in their part",
         "eager", r"\(c64_edge\)$", r"(divide|power|maximum)\(c64_edge"),
    _row("a power of 0 with a positive real part is 0, where XLA computes log(0) on the way",
         "eager", r"pow(er)?\((b1|i8)_3, c64_3b\)"),
    _row("the sign of a zero: from folding, from a maximum or a sum of zeros of both signs",
         "eager vjp", r"^b1_3 / -3$", r"maximum\(bf16_edge", r"fmod\(f32_pos2x3, f32_pos3\)",
         r"eigvals\(f32_3x3\)\)\.sum", r"stats\.expon\.(logpdf|cdf)\(f32_edge",
         r"stats\.(cauchy|gumbel_l)\.logcdf\(f32_edge", r"stats\.uniform\.cdf\(f32_edge\)",
         r"stats\.pareto\.log(pdf|sf)\(f32_edge", r"truncnorm\.logpdf\(f32_pos3",
         r"poisson\.entropy\(jnp\.array", r"dct\(f32_0, n=", r"idctn\(f32_3x5\)",
         r"fftconvolve\(f32_0, f32_3\)"),
    _row("the sign of a zero among tangents", "jvp", r"fft\.dctn\(f32_3x5\)"),
    _row("sizes of convolutions are Python's integers, where JAX gives some of NumPy's", "eager",
         r"lax\.conv_(general_|transpose_)?shape_tuple"),
    _row("an integer divided by 0 gives a number without meaning", "eager",
         r"fmod\(True, False\)"),
    _row("JAX's atan2 reads -1 as 255 beside uint8, its arctan2 does not", "eager",
         r"atan2\(-1, u8_3\)"),
    _row("spacing has the sign of its operand, as in NumPy and as for float32", "eager",
         r"spacing\(f16_3\)"),
    _row("any number other than 0 is true, complex ones too; JAX looks at the real part only, "
         "and not in astype", "eager", r"b1_3\.at\[0\]\.\w+\(1j\)", r"c64_3, dtype=bool"),

    _row("where steps run out, odeint extrapolates, and with the step what rounding did", "eager",
         r"odeint\(.*mxstep=2"),
    _row("a step in bfloat16 on the way to float32 rounds its own way", "eager",
         r"jax\.nn\.(elu|squareplus)\(bf16_3, f32_3b\)"),

    _row("NaN is the maximum and minimum of complex numbers, as of real ones, also as initial",
         "eager", r"(max|min)\(c64_2x3, where=b1_2x3, initial=jnp\.nan"),
    _row("of equal maxima of a window the first has the tangent, as it has the cotangent", "jvp",
         r"^lax\.reduce_window\(f32_4x5, -jnp\.inf, lax\.max, .*(SAME'|\(\(1, 0\), \(0, 2\)\))\)$"),
    _row("what rounding leaves of a variance of two elements, taken as a difference of means",
         "vjp", r"nn\.standardize\(f32_2x3, axis=0\)"),
    _row("special functions at infinities, poles and zeros: the limits, as in SciPy", "eager",
         r"special\.(expi|loggamma|spence|wofz)\((f32_edge|i32_3|b1_3)\)"),
    _row("the derivative of spence, where JAX gives NaN", "vjp", r"special\.spence\(f32_pos3\)"),
    _row("odd functions keep the sign of a zero", "eager", r"special\.fresnel\(f32_edge\)"),
    _row("narrow floats are computed in float32; JAX's coefficients are none of float16", "eager",
         r"special\.(exp1|expi|sici)\(f16_unit3\)"),
    _row("JAX rounds constants with a warning of NumPy's", "eager",
         r"special\.log_softmax\((i32_3|2)\)"),
    # -- more than JAX does ------------------------------------------------------------------------
    _row("derivatives that JAX has not: of Sylvester's equation, square roots, polar factors, "
         "products with a factor, tridiagonal eigenvalues", "jvp vjp",
         r"scipy\.linalg\.(solve_sylvester|sqrtm|polar|qr_multiply|eigh_tridiagonal)\("),
    _row("batches of square roots and tridiagonal matrices, empty matrices, integers as floats, "
         "wide matrices, two dtypes", "eager",
         r"scipy\.linalg\.sqrtm\((f32_2x3x3|jnp\.zeros\(\(0)", r"eigh_tridiagonal\(f32_2x3,",
         r"scipy\.linalg\.(polar|schur|hessenberg|funm)\((i32_2x2|f32_2x3\)|f32_3x3, eps)",
         r"expm_frechet\(f32_3x3, c64_3x3\)", r"solve\(jnp\.eye\(3\) \* .*, f32_3, assume_a"),
    _row("rows of booleans have a softmax", "eager", r"special\.(log_)?softmax\(b1_3\)"),
    _row("negative padding has derivatives", "vjp", r"reduce_window\(.*, lax\.m.*\(-1, 1\)"),
    _row("updates under a traced mask work", "jit vmap jaxpr", r"\.at\[b1_\w+\]"),
    _row("pmax and pmin have derivatives", "jvp vjp", r"lax\.(pmax|pmin)\(v, 'i'\)"),
    _row("a permutation may leave devices out, and a broadcast works under vmap", RUNS + " jaxpr",
         r"ppermute\(v, 'i', \[\(0, 1\)\]\)", r"pbroadcast"),
    _row("clamp with scalar bounds has a derivative under broadcasting", "vjp",
         r"lax\.clamp\(f32,"),
    _row("functions that JAX leaves out: fromfile, fromiter, wrap=True, all methods of quantile, "
         "clone under jit, computed starts of slices", "eager jit",
         r"jnp\.from(file|iter)", r"wrap=True", r"method='hazen'", r"\.clone\(\)", r"jax\.ds\(i32"),
    _row("lists of axes, one axis for several, and sizes beyond the array are taken", "eager jit",
         r"axis=\[0, 1\]", r"apply_over_axes\(jnp\.sum, f32_2x3, 1\)", r"extract\(.*size=4"),
    _row("what depends on no argument is known while tracing", "jaxpr",
         r"arange\(jnp\.(int8|float32|array)\("),
    _row("bounds of a loop may be integers of different types; the counter has the wider, also "
         "where both are known", "eager", r"fori_loop\(.*(u32|uint32)"),
    _row("keys are moved by a sort, and have a conjugate as all that is not complex",
         "eager jit", r"sort\(\(i32_3, jax", r"\(0\)(, 3\))?\.conj"),
    _row("booleans round to themselves; JAX fails inside", "eager jit",
         r"round\((b1|b1_3|True)\)", r"round\(\(jnp\.nan_to_num\(\(b1_2x3\)"),
    _row("updates drop leading dimensions of size 1 from the values, as NumPy's assignment does",
         RUNS, r"f32_2x3\.at\[0\]\.set\(f32_1x3\)", r"\.at\[0\]\.add\(\(jnp\.max\(i32_3"),
    _row("nothing has a Fourier transform, 0, and the rank 0; JAX fails inside", "eager",
         r"jnp\.fft\.(rfft|ihfft)\(f32_0\)", r"matrix_rank\(jnp\.zeros\(\(0, 0"),
    _row("arrays that do not broadcast are not equivalent; JAX fails inside", "eager",
         r"array_equiv\(f32_2, f32_3\)"),
    _row("a scalar times an int8 vector; JAX fails inside", "eager", r"dot\(2, i8_3\)"),
    _row("vectors of a plane have a cross product, as in JAX 0.11; JAX 0.12 refuses them", "eager",
         r"jnp\.cross\(f32_2, f32_(2b|3)\)"),
    _row("lists are welcome where only their shape is asked for", "eager",
         r"jnp\.(ndim|shape|size)\(\[1, 2\]\)"),
    _row("uint32 takes on numbers that fit into it", "eager", r"u32_3 \* 2654435761"),

    _row("softmax takes booleans, as other functions of numbers do", "eager",
         r"jax\.nn\.(log_)?softmax\(b1_3\)"),

    _row("every operation that has derivatives has a Taylor series: loops, branches, functions "
         "with rules of their own; and arguments may be pytrees", "eager jit",
         r"jet\.jet\((jnp\.(arctan|prod|sort)|lax\.cbrt|jax\.nn\.(softplus|relu)),",
         r"jet\.jet\(lambda (x: (x\.at|lax\.(scan|cond))|d)"),
    _row("random sparse arrays in batches have other places, each batch drawn from its own key; "
         "and their dtype is float32 without a warning", "eager", r"random_bcoo\("),
    _row("a ValueError says what does not fit, for an assertion or a KeyError inside of JAX",
         "eager", r"(COO|CS[RC])\.fromdense\(.*@ jnp\.ones\(4\)", r"sparse_format='x'"),
    _row("derivatives of functions that also take integers are checked", "eager",
         r"check_grads\(lambda x, i"),

    _row("Rotation: several identities, random ones, concatenated single ones, lists of angles; "
         "every rotation is true; derivatives where the angle is zero", "eager",
         r"Rotation\.(identity\(3|random\(|from_euler\('x', \[)",
         r"Rotation\.concatenate\(\[[^,]*f32_4\), ", r"bool\(jax\.scipy\.spatial",
         r"from_rotvec\(v\)\.as_rotvec\(\)\.sum\(\)\)\(jnp\.zeros"),
    _row("after its last time, Slerp goes on from there; JAX, from the time before", "eager",
         r"Slerp\.init\(.*\(5\.5\)"),
    _row("map_coordinates by cubic splines, by SciPy's names of modes, and of a scalar", "eager",
         r"map_coordinates\(f32(_5, \[f32_3\], (3|1, 'grid-wrap')|, \[\], 1)\)"),
    _row("RegularGridInterpolator: bounds_error, places in lists", "eager",
         r"RegularGridInterpolator\(.*(bounds_error=True|\(\[\[0\.5, 0\.5\]\])\)$"),
    _row("odeint: times that decrease or repeat, or stand in a list", "eager",
         r"odeint\(.*, (jnp\.array\(\[(1\., 0\.|0\., 0\., 1\.)\]\)|\[0\., 1\.\])\)$"),

    # -- dtypes and warnings -----------------------------------------------------------------------
    _row("weak types of a matrix of one number, or of none", "eager",
         r"scipy\.linalg\.(toeplitz|fiedler_companion)\(w_f32\)"),
    _row("square roots take 32 bits and more", "eager", r"sqrtm\(jnp\.eye\(2\)\.astype"),
    _row("a pair is a tuple, as documented", "eager", r"scipy\.linalg\.schur\(f32_3x3\)$"),
    _row("stop_gradient leaves Python numbers as they are; JAX gives private kinds of them",
         "eager", r"stop_gradient\((2|2\.5|1\.5|\(f32_3, 2\))\)"),
    _row("every loss of imaginary parts warns, by NumPy's ComplexWarning", "eager jaxpr",
         r"round\(c64\)", r"astype\(c64_3, (jnp\.float32|int)\)",
         r"(mean|nansum|nanmean)\(c64_3, dtype="),
    _row("a dtype that is truncated warns in each function; JAX warns while it traces, and has "
         "traced this mean before", "eager", r"nanmean\((i8|b1)_3, dtype=np\.float64\)"),
    _row("a number beyond float32 warns that it becomes infinite, also in asarray", "eager",
         r"array\(1e300\)"),
    _row("old names of functions do not warn, nor does one_hot of floats", "eager",
         r"jax\.host_count", r"one_hot\(f32_3,"),
    _row("a warning of NumPy's from inside of JAX", "eager jit",
         r"jax\.nn\.log_softmax\(i32_3\)", r"array\(3e9\)\.astype\('int32'\)"),
    _row("the variance has the dtype that was asked for", "eager",
         r"jnp\.var\(.*dtype=(jnp\.int8|'u?int)"),
    _row("a scalar has no dimensions to keep, as in NumPy", "eager",
         r"median\((f32|i32|3), keepdims=True\)"),

    # -- errors ------------------------------------------------------------------------------------
    _row("a TypeError or ValueError for an error from inside of JAX, or for a number that is no "
         "eigenvalue", "eager", r"hessenberg\((f32|\[\[1\.0\]\])\)", r"qr_multiply\(f32_3x2, f32\)",
         r"eigh_tridiagonal\(.*select_range=\(1, 4\)"),
    _row("rotations have four numbers, or 3 x 3; what is no rotation does not multiply one; points "
         "of a grid are vectors as long as the dimensions of the values", "eager",
         r"Rotation\.from_(quat\(f32_3\)|matrix\(jnp\.eye\(2\)\))$", r"Rotation.*\) \* 2\.0$",
         r"RegularGridInterpolator\(.*(f32_4x3|\(f32_2x3,\), f32_5)\)$"),
    _row("of two mistakes in one call, another is named first", "eager jit",
         r"(unique|union1d|nonzero|argwhere|bool|int|float|complex|np\.sin|np\.add)\(jax\.random\.",
         r"reduce_(sum|prod)\(b1_2x3", r"lax\.arg(max|min)\((c64_3|f32_0)"),
    _row("a TypeError or ValueError that says what is wrong, for an error from inside of JAX",
         "eager jaxpr", r"lax\.fft\(c64_3x8, 'IRFFT', \(8,\)\)", r"empty\((-1|\(2, -1\))\)",
         r"full_like\(w_f32, 1j\)",
         r"cumlogsumexp\(i8_3\)", r"slice\(f32_4, \(0,\), \(2,\), \(0,\)\)",
         r"dynamic_update_index_in_dim\(f32_2x3, 0\.0", r"tile\((f32_0, 0\.5|f32_3, 2)\)",
         r"reshape\(f32_0, \(0, -1\)\)", r"linear_transpose\(lambda v: v \* v",
         r"jax\.random\.\w+\(.*\(-1,\)\)", r"jax\.random\.poisson\(.*jnp\.b?float16\)",
         r"jax\.nn\.glu\(f32_3,",
         r"treedef_tuple\(\[1\]\)",
         r"hstack\(\[\]\)", r"f32_0\[i32_idx2\]", r"arange\(jnp\.array\(\[3\]\)\)"),
    _row("keys are a TypeError wherever numbers are wanted, also where JAX raises ValueError, "
         "NotImplementedError or an error from inside, and in methods as in functions",
         "eager jit",
         r"@ jax\.random\.split", r"\(0\)(, 3\))?\.(?!at|dtype|ravel|flatten|copy|tr|sq|resh)\w+\(",
         r"(argmax|argmin|all|any|float32|int32|dot|matmul|inner)\(jax\.random\.split",
         r"\.at\[0\]\.set\(jax\.random\.key", r"jax\.random\.split\(.*\), 0\)$",
         r"(full_like|stack|convert_element_type|bitcast_convert_type|asarray)\(.*jax\.random",
         r"array\(\[jax\.random\.key\(0\), 1\]"),
    _row("a bound of a loop that is no number is a TypeError; JAX has a ValueError", "eager",
         r"fori_loop\(None, "),
    _row("sizes that differ are a ValueError, with batches and without", "eager jit jvp vjp",
         r"lax\.map\(.*\(f32_3, f32_2\), batch_size"),
    _row("as NumPy: repeated axes are a ValueError, sections a whole number, an unknown order is "
         "not implemented, strings are no numbers", "eager",
         r"moveaxis\(f32_2x3, \(0, 0\)", r"diagonal\(f32_2x3, 0, 1, 1\)", r"split\(f32_2x4, 1\.5\)",
         r"order='K'", r"jnp\.float32\('a'\)"),
    _row("a list is no array in any transform, and lengths are no more than dimensions", "eager",
         r"ihfft\(\[1,2\]\)", r"s=\(1,1,1,1\)"),
    _row("shapes of one rank that do not broadcast are a TypeError in every elementwise function",
         "eager", r"jnp\.(copysign|heaviside|hypot)\(f32_3, f32_2\)"),
    _row("checked before the operation runs: sizes of reshape, bounds of slice", "eager",
         r"lax\.reshape\(f32_2x3, \(5,\)\)", r"lax\.slice\(f32_4, \((-1,|0, 1)\)"),
    _row("a start known while tracing is moved inside like any other", "eager",
         r"allow_negative_indices=False"),

    # -- scipy -------------------------------------------------------------------------------------
    _row("a density is 0 at infinity, and NaN for NaN, as in SciPy", "eager",
         r"stats\.(gumbel_l|gumbel_r|gamma|chi2|wrapcauchy)\.(log)?pdf\(f32_edge"),
    _row("logarithms of densities and shares that are too small for float32, or whose squares are "
         "too large", "eager", r"stats\.(cauchy|t)\.logpdf\(f32_edge",
         r"stats\.(cauchy|gumbel_r)\.logsf\(f32_edge"),
    _row("quantiles of 0 and 1 are infinite, as in SciPy", "eager",
         r"gumbel_[lr]\.ppf\(jnp\.array"),
    _row("the type of a density is weak where all operands are numbers, and nowhere else", "eager",
         r"stats\.(expon|gumbel_[lr]|uniform|gennorm|vonmises|wrapcauchy)\.logpdf\(i32_3",
         r"stats\.(binom|poisson)\.(log)?pmf\((i32_3|jnp\.arange)"),
    _row("shapes that do not fit are a ValueError, as others of this function", "eager",
         r"multivariate_normal\.logpdf\(f32_3, f32_2"),
    _row("a number has no dimensions to keep", "eager", r"stats\.mode\(f32, axis=-1, keepdims"),
    _row("narrow floats are convolved and straightened in float32, which JAX's transforms and "
         "factorisations demand; cosine transforms of them stay in float32 throughout", "eager",
         r"fftconvolve\(bf16", r"detrend\(bf16", r"idct\(bf16"),
    _row("matrices of which none fits into the other are convolved, but for mode 'valid'", "eager",
         r"(convolve|correlate)2d\(f32_2x4, f32_3x2, '(full|same)'"),
    _row("imaginary parts of products with conjugates are what rounding leaves", "eager",
         r"csd\(f32_40, f32_40,"),
    _row("istft as in SciPy: odd segments, no overlap, and times along the signal, not along the "
         "first axis", "eager", r"istft\(c64_5x6, (nperseg=9|noverlap=0)", r"istft\(c64_2x5x6\)$"),
    _row("cosine transforms of types 1, 3 and 4, and forward norms", "eager",
         r"fft\.dct\(f32_8, ([134]|norm='forward')\)"),
    _row("there must be as many lengths as axes, as for other transforms", "eager",
         r"i?dctn\(.*s=\(2, 2\), axes=\(0,\)"),
    _row("a length of 0 is a ValueError, and a list a TypeError; JAX fails inside", "eager",
         r"i?dct\(f32_0(, norm='ortho')?\)", r"dct\(f32_8, n=0\)", r"signal\.convolve\(\[1\.0\]"),

    # -- printed forms -----------------------------------------------------------------------------
    _row("public names are printed: Array, tanx.numpy.float32, UniqueAll", "eager",
         r"array_repr", r"repr\(jnp\.float32\)", r"unique_(all|counts|inverse)"),

    # -- printed jaxprs ----------------------------------------------------------------------------
    _row("what is known while tracing is computed then: indices that are constants leave no "
         "equations behind", "jaxpr",
         r"^f32_2x3(x2)?(\.at)?\[[^]]*(\[|i32_idx|True|False|9\]|5\])",
         r"^f32_2x3\[(2|::2|np\.array\(1\))\]$", r"lambda i, v: v\[i\]",
         r"dynamic_(update_)?index_in",
         r"repeat\(f32_3, np\.array", r"jnp\.roll\(f32_2x3, i32\)",
         r"jnp\.array\(\[\[f32, i32\]", r"jnp\.allclose"),
    _row("equations whose results are not used are not written", "jaxpr",
         r"jnp\.(vander\(i32_3, 4\)|power\(i8_3, i8_3b\)|cov\(|corrcoef\()",
         r"jnp\.pad\(f32_3, 2, '(reflect|symmetric|linear_ramp)'\)"),
    _row("operands are brought to one dtype and rank once, at the start", "jaxpr",
         r"jnp\.(fmax|fmin|heaviside|pow|power|select|angle)\(", r"jnp\.add\.outer",
         r"jax\.vmap\(jax\.vmap\(lambda a, b: a \* b"),
    _row("an algorithm of our own, shorter or more exact", "jaxpr",
         r"jnp\.(sinc|hypot|frexp|ldexp|unwrap|median|nanmedian|quantile|percentile|diagflat|"
         r"partition|nancumsum|nancumprod|nonzero|interp|gcd|lcm)\("),
    _row("operands of a call stand in the order of its parameters; JAX sorts those given by name",
         "jaxpr", r"jax\.random\.gumbel\("),
    _row("collectives under vmap are written in ordinary operations of one batch", "jaxpr",
         r"jax\.vmap\(lambda v: lax\.\w+"),
    _row("a branch that is known while tracing is taken then", "jaxpr",
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
