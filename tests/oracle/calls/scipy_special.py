"""The functions of scipy.special."""

from tests.oracle.calls.call import each

S = "jax.scipy.special."
ONE = """dawsn digamma entr erf erfc erfcinv erfcx erfinv exp1 expi expit factorial fresnel gamma
gammaln gammasgn i0 i0e i1 i1e logit loggamma sici wofz logsumexp softmax log_softmax"""
WIDE = "log_ndtr ndtr ndtri spence"
TWO = """beta betaln boxcox boxcox1p comb gammainc gammaincc kl_div poch rel_entr xlog1py xlogy
zeta"""
MODES = "jit vmap jvp vjp"

CALLS = [
    *each(S + "{f}({x})", f=ONE, x="f32_pos3 f32_unit3 i32_3 bf16_pos3 f16_unit3 2 0.5 w_f32 "
          "f32_0 f32_2x3 f32_edge c64_3"),
    *each(S + "{f}({x})", f=ONE, x=["b1_3", "[1.0]"]),
    *each(S + "{f}({x})", f=WIDE, x="f32_pos3 f32_unit3 i32_3 bf16_3 0.5 2 w_f32 f32_0 f32_edge "
          "c64_3".split()),
    *each(S + "{f}(f32_pos3)", modes=MODES, f=ONE + " " + WIDE),
    *each(S + "{f}({xy})", f=TWO, xy=[
        "f32_pos3, f32_pos3b", "i32_pos3, f32_pos3", "2.0, 0.5", "f32_pos2x3, f32_pos3",
        "bf16_pos3, 2.0", "c64_3, f32_3", "[1.0], 2.0"]),
    *each(S + "{f}(f32_pos3, f32_pos3b)", modes="vmap jvp", f=TWO),
    *each(S + "polygamma({n}, f32_pos3)", n="0 1 2 i32_pos3 1.0"),
    *each(S + "expn({n}, f32_pos3)", n="0 1 3 i32_pos3"),
    *each(S + "multigammaln(f32_pos3 + 3, {d})", d="1 2 3 1.0"),
    *each(S + "owens_t({xy})", xy=["f32_3, f32_3b", "0.5, 1.0", "f32_3, 2.0"]),
    *each(S + "betainc({x})", x=["f32_pos3, f32_pos3b, abs(f32_unit3)", "1.0, 2.0, 0.5",
                                 "f32_pos3, 2.0, i32_3", "c64_3, 1.0, 0.5"]),
    *each(S + "betainc(2.0, f32_pos3, abs(f32_unit3))", modes="jit vmap"),
    *each(S + "hyp1f1({x})", x=["f32_pos3, f32_pos3b, f32_unit3", "1.0, 2.0, 0.5"]),
    *each(S + "hyp2f1({x})", x=["f32_pos3, f32_pos3b, f32_pos3, f32_unit3", "1.0, 2.0, 3.0, 0.5"]),
    *each(S + "bessel_jn({z}, v={v})", z="f32_pos3 0.5 f32_2x3", v="0 2"),
    *each(S + "sph_harm_y(i32_pos3, i32_idx3, f32_unit3, f32_pos3)"),
    *each(S + "lpmn({arguments})", "eager jit", arguments=[
        "3, 3, f32_unit3", "0, 0, f32_unit3", "2, 2, f32_2x3", "2, 2, i32_pos3"]),
    *each(S + "lpmn_values({arguments})", "eager jit", arguments=[
        "3, 3, f32_unit3, True", "2, 2, f32_unit3, False", "2, 2, f32_2x3, True"]),
]
