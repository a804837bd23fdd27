"""Random keys and every distribution: the same numbers, not only the same distribution."""

from tests.oracle.calls.call import each, lines

KEY = "jax.random.key(7)"
SHAPED = """cauchy exponential gumbel laplace logistic maxwell normal uniform rademacher bits"""
OF_ONE = {
    "chisquare": "2.5", "dirichlet": "f32_pos3", "gamma": "2.5", "generalized_normal": "1.5",
    "geometric": "0.3", "loggamma": "0.5", "pareto": "2.0", "poisson": "3.5", "rayleigh": "1.5",
    "t": "3.0", "wald": "1.5",
}
OF_TWO = {"beta": "1.5, 2.5", "binomial": "10, 0.3", "f": "3.0, 5.0",
          "truncated_normal": "-1.0, 2.0"}

CALLS = [
    *each("jax.random.{f}(" + KEY + "{o})", f=SHAPED,
          o=["", ", (5,)", ", (2, 3)", ", (0,)", ", (3,), jnp.bfloat16", ", (3,), jnp.float16",
             ", (3,), jnp.int32", ", 3", ", (-1,)"]),
    *each("jax.random.{f}(" + KEY + ", (4,))", modes="jit jaxpr", f=SHAPED),
    *[call for f, a in {**OF_ONE, **OF_TWO}.items()
      for call in each("jax.random." + f + "(" + KEY + ", " + a + "{o})",
                       o=["", ", (5,)", ", (2, 3)", ", (0,)", ", (3,), jnp.bfloat16",
                          ", (3,), jnp.float16", ", shape=(4,)", ", (3,), jnp.int32"])],
    *[call for f, a in {**OF_ONE, **OF_TWO}.items()
      for call in each("jax.random." + f + "(" + KEY + ", " + a + ", (4,))", modes="jit")],
    *each("jax.random.{f}(" + KEY + ", f32_pos3)", modes="eager jit vjp",
          f="gamma loggamma chisquare t pareto rayleigh"),
    *each("jax.random.gamma(" + KEY + ", {a}, (5,))", a="0.1 1.0 20.0 1e4"),
    *each("jax.random.poisson(" + KEY + ", {a}, (5,))", a="0.0 0.5 9.5 12.5 1e3"),
    *each("jax.random.binomial(" + KEY + ", {n}, {p}, (5,))", n="1 20 1000", p="0.0 0.1 0.5 0.9 1"),
    *each("jax.random.bernoulli(" + KEY + "{o})",
          o=["", ", 0.3, (5,)", ", f32_pos3", ", 0.3, (3,), mode='high'", ", 0.3, (3,), mode='x'"]),
    *each("jax.random.categorical(" + KEY + ", {x}{o})", x="f32_3 f32_2x3",
          o=["", ", axis=0", ", shape=(5, 2)", ", shape=(2,)", ", replace=False",
             ", replace=False, shape=(2, 2)", ", mode='high'"]),
    *each("jax.random.choice(" + KEY + ", {a}{o})", a=["5", "f32_3", "f32_2x3", "0"],
          o=["", ", (2,)", ", (2,), replace=False", ", (9,), replace=False", ", (3,), axis=-1",
             ", (2,), p=jnp.array([0.2, 0.5, 0.3])",
             ", (2,), replace=False, p=jnp.array([0.2, 0.5, 0.3])"]),
    *each("jax.random.permutation(" + KEY + ", {x}{o})", modes="eager jit",
          x="5 0 f32_3 f32_3x2 i32_3".split(), o=["", ", axis=-1", ", independent=True"]),
    *each("jax.random.randint(" + KEY + ", {s}, {lo}, {hi}{o})", s=["()", "(5,)"], lo="0 -3 i32_3",
          hi="10 256 2**31-1".split(), o=["", ", jnp.int8", ", jnp.uint32", ", jnp.float32"]),
    *each("jax.random.uniform(" + KEY + ", (4,), {o})",
          o=["minval=-1", "maxval=3.0", "minval=f32", "dtype=jnp.float32, minval=2, maxval=1"]),
    *each("jax.random.split({k}{o})", k=["jax.random.PRNGKey(0)"], o=["", ", 3", ", (2, 2)"]),
    *each("jax.random.PRNGKey({s})", s="0 -1 12345 2**31 True i32 u32 1.5 f32_3 'a'".split()),
    *each("jax.random.key_data(jax.random.key({s}, impl={i}))", s="0 7",
          i=["None", "'threefry2x32'", "'rbg'", "'unsafe_rbg'", "'x'"]),
    *each("jax.random.key_data(jax.random.split(jax.random.key(1, impl={i}), 3))",
          i=["'threefry2x32'", "'rbg'", "'unsafe_rbg'"]),
    *each("jax.random.{f}(jax.random.key(1, impl={i}), (4,))", f="bits uniform normal",
          i=["'rbg'", "'unsafe_rbg'"]),
    *each("jax.random.fold_in(jax.random.PRNGKey(0), {d})", d="0 5 -1 2**32-1 u32 1.5".split()),
    *lines("""
    jax.random.key_data(jax.random.key(5))  ## eager jit
    jax.random.key_data(jax.random.clone(jax.random.key(5)))
    jax.random.key_data(jax.random.wrap_key_data(jnp.array([1, 2], jnp.uint32)))
    jax.random.wrap_key_data(jnp.array([1, 2, 3], jnp.uint32))
    jax.random.key_impl(jax.random.PRNGKey(0))
    str(jax.random.key_dtype())
    str(jax.random.key(0).dtype)
    jax.random.ball(jax.random.key(7), 3, shape=(4,))
    jax.random.ball(jax.random.key(7), 3, p=1.0)
    jax.random.double_sided_maxwell(jax.random.key(7), 0.5, 2.0, (4,))
    jax.random.weibull_min(jax.random.key(7), 1.5, 2.0, (4,))
    jax.random.lognormal(jax.random.key(7), 0.5, (4,))
    jax.random.triangular(jax.random.key(7), -1.0, 0.5, 2.0, (4,))
    jax.random.multinomial(jax.random.key(7), 10, jnp.array([0.2, 0.5, 0.3]))
    jax.random.multinomial(jax.random.key(7), 10, jnp.array([0.2, 0.5, 0.3]), shape=(4, 3))
    jax.random.multivariate_normal(jax.random.key(7), f32_3, jnp.eye(3) * 2, (4,))
    jax.random.multivariate_normal(jax.random.key(7), f32_3, jnp.eye(2))
    jnp.abs(jax.random.orthogonal(jax.random.key(7), 3))
    jnp.abs(jax.random.orthogonal(jax.random.key(7), 3, (2,)))
    jax.random.truncated_normal(jax.random.key(7), f32_3, 4.0)
    jax.random.gumbel(jax.random.key(7), (3,), mode='high')
    jax.random.normal(jax.random.key(7), (3,), jnp.complex64)
    jax.random.normal(0, (3,))
    jax.random.normal(jnp.array([1, 2, 3], jnp.uint32), (3,))
    jax.random.uniform(jax.random.split(jax.random.key(0)), (3,))
    jax.vmap(jax.random.normal)(jax.random.split(jax.random.key(0), 3))
    jax.vmap(lambda k: jax.random.permutation(k, 5))(jax.random.split(jax.random.key(0), 3))
    jax.random.key(0) + 1
    jax.random.key(0) == jax.random.key(0)
    jax.random.split(jax.random.key(0), 4)[1:].shape
    """),
]
