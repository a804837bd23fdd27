"""Special functions of lax, polynomials, integers and images."""

from tests.oracle.calls.call import ALL, each

POLY = "polyadd polysub polymul polydiv"
METHODS = "nearest linear cubic lanczos3 lanczos5 area"

CALLS = [
    *each("lax.betainc({a}, {b}, {x})", a="f32_pos3 2.0", b="f32_pos3b 1.5", x="f32_unit3 0.25"),
    *each("lax.{f}(f32_pos3, f32_pos3b)", modes="jit jvp vjp vmap", f="igamma_grad_a"),
    *each("lax.polynomial({x}, {c})", x="f32_3 i32_3 bf16_3 2.5 c64_3",
          c=["[1.0, 2.0, 3.0]", "f32_3", "[]"]),
    *each("lax.polynomial(f32_3, f32_3b)", modes=ALL),
    *each("jnp.{f}({a}, {b})", f=POLY, a="f32_3 i32_3 c64_3 [1.0]",
          b="f32_pos3 i32_3b"),
    *each("jnp.{f}(f32_pos3, f32_pos3b)", modes="jit jvp vjp vmap", f=POLY),
    *each("jnp.polyval({p}, {x})", p="f32_3 i32_3 c64_3 f32_0 f32", x="f32_2x3 i32_3 2 2.5 c64"),
    *each("jnp.polyval(f32_3, f32_2x3)", modes="jit jaxpr jvp vjp vmap"),
    *each("jnp.{f}({p}, {m})", f="polyder polyint", p="f32_3 i32_3 c64_3 b1_3 f32", m="0 1 2 5 -1"),
    *each("jnp.{f}(f32_3)", modes="jit jaxpr jvp vjp vmap", f="polyder polyint"),
    *each("jnp.poly({z})", z="f32_3 i32_3 c64_3 f32_0 f32 2 f32_2x3"),
    *each("jnp.polyint(f32_3, 2, {k})", k="1 2.5 f32_3 f32_3[:2] [1,2]"),
    *each("jnp.{f}({a}, {b})", f="gcd lcm", a="i32_3 i8_edge[:3] u8_3 12 f32_3 b1_3",
          b="i32_3b u8_3b 18 True"),
    *each("jnp.{f}(i32_3, i32_3b)", modes="jit vmap", f="gcd lcm"),
    *each("jnp.i0({x})", x="f32_3 i32_3 bf16_3 c64_3 2 b1_3 f32_edge"),
    *each("jnp.i0(f32_3)", modes="jit jvp vjp vmap"),
    *each("jnp.kaiser({n}, {b})", n="0 1 2 5 12", b="0.0 2.5 14"),
    *each("jnp.packbits({a}{o})", a="b1_2x3 i32_3 u8_3 f32_3 b1_0 True",
          o=["", ", axis=0", ", bitorder='little'", ", axis=3", ", bitorder='x'"]),
    *each("jnp.unpackbits({a}{o})", a="u8_3 i32_3 u8_3[None]",
          o=["", ", axis=0", ", bitorder='little'", ", count=5", ", count=-3", ", count=40"]),
    *each("jnp.unpackbits(u8_3)", modes="jit vmap"),
    *each("jax.image.resize({x}, {s}, '{m}', {a})", x="f32_2x3 i32_2x3", m=METHODS,
          s=["(4, 2)", "(2, 7)", "(1, 1)", "(2, 3)", "(0, 3)"], a="True False"),
    *each("jax.image.resize(f32_2x3, (3, 2), '{m}')", modes="jit jvp vjp vmap", m=METHODS),
    *each("jax.image.resize(f32_2x3, (3, 2), jax.image.ResizeMethod.CUBIC_PYTORCH, {a})",
          modes="eager vjp", a="True False"),
    *each("jax.image.scale_and_translate(f32_2x3, (4, 3), (0, 1), jnp.array([1.3, 0.8]), "
          "jnp.array([0.2, -0.3]), '{m}', {a})", m=METHODS, a="True False"),
    *each("(lambda s, t: jax.image.scale_and_translate(jnp.ones((2, 3)) * f32_3, (4, 3), (0, 1), "
          "s, t, '{m}'))(jnp.array([1.3, 0.8]), jnp.array([0.2, -0.3]))", modes="eager",
          m="linear cubic lanczos3"),
]
