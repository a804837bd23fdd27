"""Taylor mode."""

from tests.oracle.calls.call import each, lines

JET = "jax.experimental.jet"
FUNCTIONS = """jnp.sin jnp.cos jnp.exp jnp.log jnp.tanh jnp.sqrt jnp.exp2 jnp.expm1 jnp.log1p
jnp.sinh jnp.cosh jnp.arctan lax.logistic lax.erf lax.erf_inv lax.rsqrt lax.cbrt jnp.abs lax.sign
jnp.square jnp.sum jnp.prod jnp.max jnp.cumsum jnp.cumprod jax.nn.softplus jax.nn.softmax
jax.nn.logsumexp jnp.linalg.norm jnp.sort jnp.floor jnp.negative""".split()
FUNCTIONS += ["lambda x: x ** 3", "lambda x: x ** 2.5", "lambda x: 2.0 ** x", "lambda x: 3 / x",
              "lambda x: x @ x", "lambda x: (x, {'a': x * x})", "lambda x: x[0]",
              "lambda x: x.reshape(1, 3).T", "lambda x: jnp.where(x > 1, x, x * x)",
              "lambda x: 2.0", "jax.jit(jnp.sin)", "lambda x: x.at[0].mul(3)"]

CALLS = [
    *each(JET + ".jet({f}, (f32_pos3,), ((f32_3, f32_3b, f32_3),))", modes="eager jit",
          f=FUNCTIONS),
    *each(JET + ".jet(jnp.sin, (f32_3,), ((f32_3, f32_3b),))", modes="jit vmap jvp vjp"),
    *each(JET + ".jet({f}, (f32_3, f32_pos3), ((f32_3b, f32_3), (f32_3, f32_3b)))",
          f=["jnp.add", "jnp.multiply", "jnp.divide", "jnp.arctan2", "jnp.maximum", "jnp.dot",
             "lambda x, y: y ** x", "lambda x, y: x * 2"]),
    *each(JET + ".jet(jnp.exp, (0.5,), ((1.0, 0.0, 0.0),), factorial_scaled={s})",
          s=["True", "False"]),
    *lines(f"""
    {JET}.jet(jnp.sin, (1.0,), ((1, 0, 0),))
    {JET}.jet(lambda x, i: x * i, (1.0, 2), ((1.0, 0.0), (0, 0)))
    {JET}.jet(lambda x: x * x, (1.0,), ((),))
    {JET}.jet(3, (1.0,), ((1.0,),))
    {JET}.jet(lambda: 1.0, (), ())
    {JET}.jet(jnp.add, (1.0, 2.0), ((1.0, 0.0), (1.0,)))
    {JET}.jet(jnp.multiply, (f32_3, f32_3b), ((f32_2,), (f32_3,)))
    {JET}.jet(jnp.sin, (1.0,), (1.0,))
    {JET}.jet(lambda x: lax.scan(lambda c, _: (c * x, c), x, None, length=3), (1.0,), ((1.0, 0.0),))
    {JET}.jet(lambda x: lax.cond(x < 3, jnp.sin, jnp.cos, x), (1.0,), ((1.0, 0.0),))
    {JET}.jet(jax.nn.relu, (1.0,), ((1.0, 0.0),))
    {JET}.jet(lambda d: d['a'], (dict(a=1.0),), (dict(a=(1.0, 0.0)),))
    {JET}.fact(3)
    {JET}.fact(i32_idx3)
    {JET}.linear_prop(lax.neg_p, (f32_3,), ([f32_3b],))
    {JET}.zero_prop(lax.sign_p, (f32_3,), ([f32_3b],))[0]
    """),
]
