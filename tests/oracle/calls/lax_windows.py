"""Windows of lax, and its small parts: tokens, composites and others."""

from tests.oracle.calls.call import ALL, each, lines

RULES = "eager " + ALL
NAMED = ["0, lax.add", "-jnp.inf, lax.max", "jnp.inf, lax.min"]
WINDOWS = ["(2, 2)", "(2, 2), (2, 2)", "(3, 2), (1, 2), 'SAME'", "(2, 3), (2, 1), 'SAME_LOWER'",
           "(2, 2), (1, 1), ((1, 0), (0, 2))", "(2, 2), (1, 2), ((-1, 1), (0, -1))"]
DILATED = ["(2, 2), (1, 1), ((1, 0), (0, 2)), (2, 1), (1, 2)", "(2, 1), (1, 2), 'SAME', (1, 3)"]
SELECT = ("lax.select_and_{f}_add_p.bind(f32_{s}, f32_4x6b, select_prim=lax.{p}_p, "
          "window_dimensions={w}{d})")

WHERE = "jax.sharding.SingleDeviceSharding(jax.devices()[0])"
POOL = "lax.reduce_window(y, -jnp.inf, lax.max, (2, 2), (2, 2))"

CALLS = [
    *each("lax.reduce_window(f32_4x5, {c}, {w})", modes=RULES, c=NAMED, w=WINDOWS),
    *each("lax.reduce_window(f32_4x5, {c}, {w})", modes="eager jit jaxpr vmap jvp",
          c=NAMED, w=DILATED),
    *each("lax.reduce_window(f32_4x5, 0, lax.add, {w})", modes="vjp", w=DILATED),
    *each("lax.reduce_window({x}, {c}, (2, 2), (1, 2), 'SAME')", modes="eager jit jaxpr",
          x="bf16_3x4 f16_3x4 i32_3x4 i8_3x4 u8_3x4 f32_0x3 f32_nan3x4",
          c=["0, lax.add"]),
    *each("lax.reduce_window({x}, {c}, (2, 2), (1, 2), 'SAME')", modes="eager jaxpr",
          x="bf16_3x4 f16_3x4 f32_0x3 f32_nan3x4", c=NAMED[1:]),
    *each("lax.reduce_window({x}, {x}.dtype.type({i}), lax.{f}, (2, 2), (1, 2), 'SAME')",
          modes="eager jaxpr", x="i32_3x4 u8_3x4 b1_3x4", i=["0"], f="max mul bitwise_or"),
    *each("lax.reduce_window(f32_4x5, np.float32({i}), {f}, {w})",
          modes="eager jit jaxpr vmap vmap_last jvp", i="1", f=["lax.mul", "lambda a, b: a * b"],
          w=["(2, 2)", "(2, 2), (2, 1), 'SAME'"]),
    *each(SELECT, modes="eager jit jaxpr", f=["gather"], s=["4x6"], p="ge le",
          w=["(2, 2), window_strides=(2, 2), padding=((0, 0), (0, 0))",
             "(3, 2), window_strides=(1, 2), padding=((1, 1), (0, 1))"],
          d=[", base_dilation=(1, 1), window_dilation=(1, 1)"]),
    *each(SELECT, modes="eager jit jaxpr", f=["scatter"], s=["2x3"], p="ge le",
          w=["(2, 2), window_strides=(2, 2), padding=((0, 0), (0, 0))",
             "(3, 2), window_strides=(2, 2), padding=((1, 0), (0, 0))"], d=[""]),
    *each("lax.reduce_window((f32_4x5, f32_4x5b), (0.0, 1.0), "
          "lambda a, b: (a[0] + b[0], a[1] * b[1]), (2, 2))", modes="eager jit jaxpr vmap jvp"),
    *each("jax.grad(lambda x: (jax.grad(lambda y: (" + POOL + " ** 3).sum())(x) ** 2).sum())"
          "(f32_4x6)", modes="eager jit vmap"),
    *each("lax.composite(lambda x, *, n: lax.sin(x) * n, name='my.sin', version=3)(f32_3, n=2.0)",
          modes="eager jit jaxpr"),
    *each("lax.with_sharding_constraint(f32_3, " + WHERE + ")", modes="eager jit vmap jvp vjp"),
    *lines("""
    lax.reduce_window(f32_7, 0.0, lax.add, (2, 2))
    lax.reduce_window(f32_7, 0.0, lax.add, (0,))
    lax.reduce_window(f32_7, 0.0, lax.add, (2,), (0,))
    lax.reduce_window(f32_7, 0.0, lax.add, (2,), (1,), 'FOO')
    lax.reduce_window(f32_7, 0.0, lax.add, (9,))
    lax.reduce_window(f32_7, 0, lambda a, b: a + b, (2,))
    lax.reduce_window((), (), lax.add, (2,))
    lax.reduce_window((f32_7, f32_7), (0.0,), lax.add, (2,))
    lax.reduce_window(b1_7, False, lax.add, (2,))
    lax.reduce_window(c64_7, 0, lax.add, (2,))  ## eager jit jaxpr jvp vjp
    lax.reduce_window(w_f32 * np.ones(3, 'f'), 0, lax.add, (2,))
    lax.reduce_window_shape_tuple((4, 5), (2, 2), (1, 2), ((0, 1), (1, 0)), (2, 1), (1, 2))
    lax.reduce_window_shape_tuple((4, 5), (2, 2), (1, 2), ((0, 1), (1, 0)))
    lax.composite(lambda t: {'q': t['a'] + 1}, name='t')({'a': f32_3})  ## eager jaxpr
    lax.dce_sink(f32_3)  ## eager
    (lax.dce_sink(f32_3 * 2), f32_3)[1]  ## eager jit jaxpr vmap
    lax.dtype(f32_3), lax.dtype(1), lax.dtype(2.5), lax.dtype(np.zeros(2)), lax.dtype(np.float64)
    lax.dtype('a')
    lax.dtype([1])
    jnp.asarray(lax.shape_as_value((3, 4)))
    lax.shape_as_value(())
    lax.stage(f32_3)  ## eager jit jaxpr vmap jvp vjp
    lax.stage(3.0)
    lax.rng_uniform(0, 10.0, (3,))
    lax.rng_uniform(f32_3, 10.0, (3,))
    lax.rng_uniform(0.0, 1.0, (3,))  ## jaxpr
    lax.rng_uniform(0.0, 1.0, (3, 2)).shape
    lax.rng_uniform(3, 4, (3,))
    lax.after_all(f32_3)
    lax.with_sharding_constraint(f32_3, 3)
    jax.device_put(f32_3)  ## eager jit jaxpr vmap jvp vjp
    jax.device_put((f32_3, i32_2x3), jax.devices()[0])  ## eager jit jaxpr
    jax.vmap(lambda x: lax.pcast(x, 'i', to='foo'), axis_name='i')(f32_3)
    f32_2x3.format.layout.major_to_minor
    """),
]
