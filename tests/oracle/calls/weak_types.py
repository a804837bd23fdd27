"""Weak types of results and of derivatives of operations on Python numbers and arrays."""

from tests.oracle.calls.call import each

FUNCTIONS = ["2.0 ** v", "v ** 2.0", "v ** 2", "v ** v", "2 + v", "v * 2", "3 / v", "v % 2.5", "-v",
             "abs(v)", "jnp.sin(v)", "v * jnp.float32(2)", "jnp.maximum(v, 1.0)",
             "jnp.where(v > 0, v, 1.0)", "jnp.sum(v)"]
NUMBERS = ["2.0", "jnp.asarray(2.0)", "jnp.float32(2.0)"]

CALLS = [
    *each("jax.jvp(lambda v: {f}, ({x},), ({t},))", f=FUNCTIONS, x=NUMBERS,
          t=["1.0", "jnp.float32(1.0)"]),
    *each("jax.{g}(lambda v: {f})({x})", g="grad jacfwd jacrev", f=FUNCTIONS, x=NUMBERS),
    *each("jax.vjp(lambda v: {f}, {x})[1](jnp.float32(1.0))", f=FUNCTIONS, x=NUMBERS),
    *each("{s} {op} {x}", "jvp vjp", s="2 2.5", op="+ - * / % **", x="f32 w_f32 bf16 f32_3"),
    *each("{x} {op} {s}", "jvp vjp", s="2 2.5", op="+ - * / % **", x="f32 w_f32 bf16 f32_3"),
]
