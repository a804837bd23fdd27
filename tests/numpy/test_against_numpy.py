"""The calls of the sweep against JAX, run on NumPy: every function, over dtypes, shapes, options.

Dtypes and errors follow JAX; if both return a result, the numbers agree.
"""

import re
import warnings
from itertools import groupby

import numpy as np
import pytest

import tanx.numpy as jnp
from tests.oracle.operands import names_in, value
from tests.oracle.sweep import calls

DIFFERENCES = {
    "uninitialised memory holds arbitrary values": [r"jnp\.empty", r"mode='empty'"],
    "numbers have 32 bits by default": [
        r"2\*\*40", r"1e300", r"2 \*\* 31", r"\*\* 25", r"(sin|cos|tan)\(i32_edge", "spacing",
        r"(sum|mean)\([iu]32_edge", r"float_power\(", r"power\(u32_edge", r"nan_to_num\(bf16"],
    "small integers become float32": [r"log1p\(jnp\.abs\(\(u8_3", "reciprocal"],
    "integers are summed in their dtype, and wrap around": [r"cumsum\([iu]\d+_edge"],
    "values that do not fit the dtype": [
        r"astype\(f32_edge", r"(3e9|1e20\])\)\.astype", r"clip\([iu]8_.*-?\d+\)",
        r"\((f32|bf16|c64)_(3|2x3),.*uint8"],
    "sorting is stable, and NaN is the greatest": [
        r"argsort\(u32_edge", r"sort\(.*descending"],
    "an integer divided by 0": ["floor_divide", "divmod", "// 0"],
    "numbers take the dtype of arrays": [r"(greater|less)\w*\(-1, u8_3"],
    "exact at whole numbers, and infinity is far from them": [r"sinc\(\w+_edge", r"modf\(f32_edge"],
    "the order of complex NaN": [r"less\(c64_edge"],
    "matrices are averaged with their transpose": [r"eigvalsh\(", r"eigh\("],
    "bin edges are rounded to float32": [r"histogram\(i32_3, bins=3, weights"],
    "results of convolutions and trapezoids of integers are floats": [
        r"(convolve|correlate)\(.*_edge", r"trapezoid\(u"],
    "leading zeros are kept, because sizes are static": [r"polydiv\("],
    "the mean has the requested dtype": [r"var\(.*dtype='u?int"],
    "initial always counts, also NaN": [r"nan(max|min)\(.*initial=jnp\.nan"],
    "variances without degrees of freedom": [r"ddof=[34]\)"],
    "the order within both partitions is unspecified": [r"partition\("],
    "a 0-dimensional array is a scalar": [r"isscalar\("],
    "power 0.5 of -0 and -inf differs from the square root": [r"power\(f32_edge, 0\.5\)"],
    "results that are not numbers": [r"einsum_path", r"\.nargs"],
}
KNOWN = re.compile("|".join(pattern for patterns in DIFFERENCES.values() for pattern in patterns))

CALLS = [call for call in calls() if call.mode == "eager" and "jnp." in call.text
         and not re.search(r"\b(jax|lax|tree_util|dtypes)\.|\bw_", call.text)
         and not KNOWN.search(call.text)]
GROUPS = {name: [call.text for call in group] for name, group in
          groupby(sorted(CALLS, key=lambda call: call.group), lambda call: call.group)}


def run(text: str, module):
    """The value of an expression with ``module`` for ``jnp``; None if it raises an error."""
    # Copies, because some NumPy functions write to their operands.
    names = {name: (np.array if module is np or name.startswith("np_") else jnp.array)(value(name))
             for name in names_in(text)}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(text, {"jnp": module, "np": np, **names})
        except Exception:
            return None


def leaves(x) -> list[np.ndarray]:
    return [y for part in x for y in leaves(part)] if isinstance(x, tuple | list) else [
        np.asarray(x)]


def precision(dtype) -> float:
    """The machine epsilon of inexact dtypes; 0 for others."""
    inexact = jnp.issubdtype(dtype, jnp.inexact)
    return float(jnp.finfo(dtype).eps) if inexact else 0.0


def assert_near(got: np.ndarray, want: np.ndarray, text: str) -> None:
    assert got.shape == want.shape, text
    if got.dtype.kind in "OU" or want.dtype.kind in "OU":
        return
    eps = max(precision(got.dtype), precision(want.dtype))
    wide = np.complex128 if "c" in (got.dtype.kind, want.dtype.kind) else np.float64
    got, want = got.astype(wide), want.astype(wide)
    scale = np.abs(want[np.isfinite(want)]).max(initial=1e-3)
    np.testing.assert_allclose(got, want, rtol=32 * eps, atol=8 * eps * min(scale, 1e3),
                               err_msg=text)


@pytest.mark.parametrize("name", GROUPS)
def test_numbers_match_numpy(name):
    for text in GROUPS[name]:
        got, want = run(text, jnp), run(text, np)
        if got is not None and want is not None:
            parts, expected = leaves(got), leaves(want)
            assert len(parts) == len(expected), text
            for part, other in zip(parts, expected):
                assert_near(part, other, text)
