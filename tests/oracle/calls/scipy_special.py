"""The functions of scipy.special that have one operand."""

from tests.oracle.calls.call import each

S = "jax.scipy.special."
ONE = """dawsn digamma entr erf erfc erfcinv erfcx erfinv exp1 expi expit factorial fresnel gamma
gammaln gammasgn i0 i0e i1 i1e logit loggamma sici wofz logsumexp softmax log_softmax"""
WIDE = "log_ndtr ndtr ndtri spence"
MODES = "jit vmap jvp vjp"

CALLS = [
    *each(S + "{f}({x})", f=ONE, x="f32_pos3 f32_unit3 i32_3 bf16_pos3 f16_unit3 2 0.5 w_f32 "
          "f32_0 f32_2x3 f32_edge c64_3"),
    *each(S + "{f}({x})", f=ONE, x=["b1_3", "[1.0]"]),
    *each(S + "{f}({x})", f=WIDE, x="f32_pos3 f32_unit3 i32_3 bf16_3 0.5 2 w_f32 f32_0 f32_edge "
          "c64_3".split()),
    *each(S + "{f}(f32_pos3)", modes=MODES, f=ONE + " " + WIDE),
]
