"""Eager calls on 1000 elements, timed on both systems.

    python -m tests.oracle.speed [WORD ...]       # only calls that contain one of the words

Prints times in microseconds, sorted by the advantage of tanx, the smallest first. Each is the
minimum of several rounds in which the systems alternate.
"""

from __future__ import annotations

import math
import os
import sys
import timeit

from tests.oracle.operands import names_in
from tests.oracle.system import System

__all__ = ["CALLS", "main", "measure"]

ROUNDS, SECONDS = 5, 0.01
X, Y, M, N, K, B = "f32_1000", "f32_1000b", "f32_20x50", "f32_50x20", "i32_1000", "b1_1000"

UNARY = """abs acos arcsinh angle cbrt ceil cos cosh deg2rad exp exp2 expm1 fabs floor i0 isfinite
isinf isnan log log10 log1p log2 logical_not nan_to_num negative positive real reciprocal rint round
sign signbit sin sinc sinh sqrt square tan tanh trunc"""
BINARY = """add arctan2 copysign divide equal floor_divide fmax fmod greater heaviside hypot less
logaddexp logical_and maximum multiply nextafter power remainder subtract isclose"""
REDUCTIONS = """sum prod max min mean var std all any argmax argmin ptp nansum nanmax nanmean median
count_nonzero"""
SHAPES = """ravel transpose flip squeeze diag diagonal tril triu trace copy atleast_2d rot90"""

CALLS = [
    *[f"jnp.{f}({X})" for f in UNARY.split()],
    *[f"jnp.{f}({X}, {Y})" for f in BINARY.split()],
    *[f"jnp.{f}({M})" for f in REDUCTIONS.split()],
    *[f"jnp.{f}({M}, axis=1)" for f in ("sum", "mean", "max", "argmax", "var")],
    *[f"jnp.{f}({M})" for f in SHAPES.split()],
    *[f"jnp.{f}(({X}, {Y}))" for f in ("concatenate", "stack", "hstack", "vstack", "column_stack")],
    *[f"jnp.{f}({X})" for f in ("cumsum", "cumprod", "sort", "argsort", "diff", "unique", "nonzero",
                                "gradient", "zeros_like", "ones_like")],
    *[f"lax.{f}({X})" for f in ("sin", "exp", "erf", "lgamma", "logistic", "rsqrt", "neg", "sign")],
    f"{X} + {Y}", f"{X} * 2", f"2 - {X}", f"{X} / 3.0", f"{X} ** 2", f"{X} ** 0.5", f"-{X}",
    f"{X} > 0", f"{X} == {Y}", f"{K} // 3", f"{K} % 3", f"{K} & 1", f"abs({X})", f"{X} + {K}",
    f"{M} @ {N}", f"{X} @ {Y}", f"jnp.dot({M}, {N})", f"jnp.outer({X}, f32_3)",
    f"jnp.einsum('ij,jk->ik', {M}, {N})", f"jnp.tensordot({M}, {N}, 1)", f"jnp.vdot({X}, {Y})",
    f"{X}[0]", f"{X}[10:20]", f"{X}[::-1]", f"{M}[:, 0]", f"{X}[{K}]", f"{X}[{B}]", f"{X}[None]",
    f"{X}.at[0].set(1.0)", f"{X}.at[10:20].add(1.0)", f"{X}.at[{K}].add(1.0)",
    f"{X}.at[{B}].set(0.0)", f"jnp.take({X}, {K})", f"jnp.where({B}, {X}, 0)",
    f"jnp.where({B}, {X}, {Y})", f"jnp.clip({X}, 0, 1)", f"jnp.select([{B}], [{X}], 0)",
    f"jnp.reshape({M}, (50, 20))", f"{M}.reshape(-1)", f"{M}.T", f"{M}.sum()", f"{X}.mean()",
    f"{X}.astype(jnp.int32)", f"{K}.astype(jnp.float32)", f"jnp.broadcast_to({X}, (2, 1000))",
    f"jnp.expand_dims({X}, 0)", f"jnp.tile({X}, 2)", f"jnp.repeat({X}, 2)", f"jnp.roll({X}, 3)",
    f"jnp.pad({X}, 2)", f"jnp.split({X}, 4)", f"jnp.moveaxis({M}, 0, 1)", "jnp.zeros(1000)",
    "jnp.ones((20, 50))", "jnp.full(1000, 2.0)", "jnp.arange(1000)", "jnp.linspace(0, 1, 1000)",
    "jnp.eye(30)", f"jnp.array(np_{X})", f"jnp.asarray(np_{X})", "jnp.array([1.0, 2.0, 3.0])",
    "jnp.float32(1)", f"np.asarray({X})", "float(f32)", "bool(b1)", "f32.item()", f"len({X})",
    f"lax.dynamic_slice({X}, (3,), (10,))", f"lax.top_k({X}, 5)", f"lax.sort({X})",
    f"lax.select({B}, {X}, {Y})", f"lax.concatenate([{X}, {Y}], 0)", f"lax.rev({X}, (0,))",
    f"jnp.quantile({X}, 0.3)", f"jnp.histogram({X})", f"jnp.searchsorted({X}, {Y})",
    f"jnp.interp({X}, {X}, {Y})", f"jnp.bincount(jnp.abs({K}))", f"jnp.isin({K}, {K})",
    f"jnp.cov({M})", f"jnp.convolve({X}, f32_3)", "jnp.meshgrid(f32_3, f32_3)",
    f"jnp.kron({M}, f32_3)", "jnp.cross(f32_3, f32_3)", f"jnp.allclose({X}, {Y})",
    f"jnp.average({X}, weights={Y})", f"jnp.trapezoid({X})", f"jnp.digitize({X}, f32_3)",
    f"jnp.polyval(f32_3, {X})", f"jnp.lexsort(({K}, {K}))", f"jnp.take_along_axis({X}, {K}, 0)",
    f"jax.jit(lambda v: v)({X})", "jax.tree.map(lambda v: v, {'a': 1, 'b': [2, 3]})",
    f"jax.grad(lambda v: jnp.sum(v ** 2))({X})", f"jax.vmap(lambda v: v * 2)({M})",
    f"jax.jvp(jnp.sin, ({X},), ({Y},))",
]


def measure(call, rounds: int) -> float:
    """The minimum time of one call, in microseconds."""
    number = max(1, int(SECONDS / max(timeit.timeit(call, number=1), 1e-7)))
    return min(timeit.repeat(call, number=number, repeat=rounds)) / number * 1e6


def _thunk(system: System, text: str):
    names = {name: system.operand(name) for name in names_in(text)}
    run = eval(f"lambda: {text}", {**system.names, **names})
    ready = system.jax.block_until_ready
    return (lambda: ready(run())) if system.name == "jax" else run


def main(words: list[str]) -> None:
    """Print the table, the smallest advantages first."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    jax, tanx = System("jax"), System("tanx")
    rows = []
    for text in CALLS:
        if words and not any(word in text for word in words):
            continue
        try:
            theirs, ours = _thunk(jax, text), _thunk(tanx, text)
            theirs(), ours()
            best = [math.inf, math.inf]
            for _ in range(ROUNDS):
                best = [min(b, measure(run, 2)) for b, run in zip(best, (theirs, ours))]
        except Exception as error:
            print(f"{text}: {type(error).__name__}: {str(error).splitlines()[0]}")
        else:
            rows.append((best[0] / best[1], *best, text))
    for ratio, theirs, ours, text in sorted(rows):
        print(f"{ratio:8.2f}x  jax {theirs:9.2f}  tanx {ours:9.2f}  {text}")
    mean = math.exp(sum(math.log(row[0]) for row in rows) / len(rows))
    print(f"{mean:8.2f}x  geometric mean of {len(rows)} calls")


if __name__ == "__main__":
    main(sys.argv[1:])
