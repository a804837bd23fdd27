"""Activations, softmax and related functions, attention, initializers and segments."""

from tests.oracle.calls.call import ALL, each, lines

ACTIVATIONS = """celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu
log_sigmoid mish relu relu6 selu sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid
squareplus swish tanh"""
ALONG_AN_AXIS = "log_softmax softmax standardize logsumexp logmeanexp"
SCALINGS = """glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform
lecun_normal lecun_uniform xavier_normal xavier_uniform"""
KEY = "jax.random.key(3)"

CALLS = [
    *each("jax.nn.{f}({x})", f=ACTIVATIONS,
          x="f32_3 f32_2x3 bf16_3 f16_3 f32_edge bf16_edge i32_3 b1_3 f32_0 f32 w_f32 2.5 3 'a'"),
    *each("jax.nn.{f}(f32_3)", modes=ALL, f=ACTIVATIONS),
    *each("jax.nn.{f}(f32_3x2)", modes="jvp vjp", f=ACTIVATIONS),
    *each("jax.nn.{f}({x}, {a})", f="celu elu leaky_relu squareplus", x="f32_3 bf16_3 i32_3",
          a="2 0.5 f32_3b bf16_pos3 w_f32"),
    *each("jax.nn.gelu({x}, approximate={a})", modes="eager jit vjp", x="f32_3 bf16_3",
          a="True False"),
    *each("jax.nn.glu({x}, {a})", x="f32_2x4 f32_4x2 f32_3 bf16_2x4 f32", a="-1 0 1 2"),
    *each("jax.nn.log1mexp({x})", modes="eager jit jvp", x="f32_pos3 bf16_pos3"),
    *each("jax.nn.{f}({x})", f=ALONG_AN_AXIS,
          x="f32_3 f32_2x3 f32_2x2x3 bf16_2x3 f16_3 i32_3 b1_3 f32_nan2x3 f32 f32_edge f32_2x0"),
    *each("jax.nn.{f}(f32_2x3)", modes=ALL, f=ALONG_AN_AXIS),
    *each("jax.nn.{f}(f32_2x3, axis={a})", f=ALONG_AN_AXIS, a=["0", "1", "-2", "(0, 1)", "2"]),
    *each("jax.nn.{f}(f32_2x3, where=b1_2x3)", modes="eager jit vmap vjp", f=ALONG_AN_AXIS),
    *each("jax.nn.{f}(f32_2x3, keepdims=True, axis={a})", f="logsumexp logmeanexp",
          a="None 0 1".split()),
    *each("jax.nn.standardize(f32_2x3, {o})", modes="eager jit vjp",
          o=["mean=f32", "variance=f32_pos2x1", "epsilon=0.5", "axis=0", "algorithm='stable'",
             "algorithm='fast'", "algorithm='x'"]),
    *each("jax.nn.one_hot({x}, {n}{o})", x="i32_3 i32_2x3 2 u8_3 f32_3 -1".split(), n="3 0 5",
          o=["", ", dtype=jnp.int8", ", axis=0", ", dtype=bool"]),
    *each("jax.nn.one_hot(i32_3, 4)", modes="jit jaxpr vmap"),
    *lines("""
    jax.nn.logsumexp(f32_3, b=f32_3b, return_sign=True)  ## eager jit jvp
    jax.nn.logsumexp(f32_3, b=f32_3b)
    jax.nn.logsumexp(c64_3)
    jax.nn.logsumexp(jnp.array([-jnp.inf, -jnp.inf]))  ## eager vjp
    jax.nn.softmax(jnp.array([-jnp.inf, 1.0, jnp.inf]))
    jax.nn.softmax(jnp.array([-jnp.inf, 1.0]))  ## eager
    jax.nn.relu(0.0)  ## eager
    jax.grad(jax.nn.relu)(0.0)
    jax.grad(jax.nn.relu6)(6.0)
    jax.grad(jax.nn.leaky_relu)(0.0)
    jax.grad(jax.nn.hard_tanh)(1.0)
    jax.nn.scaled_matmul(f32_2x3x4, f32_2x3x4b, f32_2x3x2, f32_2x3x2b)
    """),
    *each("jax.nn.dot_product_attention({q}, {k}, {k}b{o})", modes="eager jit vjp",
          q="f32_2x5x4x3 bf16_2x5x4x3", k=["f32_2x6x4x3", "f32_2x6x2x3", "bf16_2x6x4x3"],
          o=["", ", is_causal=True", ", scale=0.5", ", local_window_size=1",
             ", local_window_size=(2, 0)", ", bias=f32_2x4x5x6", ", mask=b1_1x1x5x6",
             ", key_value_seq_lengths=jnp.array([3, 6])", ", query_seq_lengths=jnp.array([2, 5])",
             ", implementation='xla'", ", implementation='x'"]),
    *each("jax.nn.initializers.{f}()(" + KEY + ", {s})", f=SCALINGS + " normal uniform "
          "truncated_normal", s=["(3, 4)", "(2, 3, 4)", "(0, 3)"]),
    *each("jax.nn.initializers.{f}(dtype=jnp.bfloat16)(" + KEY + ", (3, 4))", f=SCALINGS),
    *each("jax.nn.initializers.{f}(in_axis=0, out_axis=1, batch_axis=2)(" + KEY + ", (3, 4, 2))",
          f=SCALINGS),
    *each("jax.nn.initializers.{f}(" + KEY + ", {s})", f="ones zeros", s=["(3, 4)", "()", "3"]),
    *each("jax.nn.initializers.variance_scaling(2.0, '{m}', '{d}')(" + KEY + ", (3, 4))",
          m="fan_in fan_out fan_avg fan_geo_avg x", d="normal uniform truncated_normal x"),
    *lines("""
    jax.nn.initializers.constant(3)(jax.random.key(3), (2, 3))
    jax.nn.initializers.constant(f32_3)(jax.random.key(3), (2, 3), jnp.float16)
    jnp.abs(jax.nn.initializers.orthogonal()(jax.random.key(3), (3, 4)))
    jnp.abs(jax.nn.initializers.orthogonal(2.0, 0)(jax.random.key(3), (3, 4)))
    jnp.abs(jax.nn.initializers.delta_orthogonal()(jax.random.key(3), (3, 3, 4)))
    jax.nn.initializers.delta_orthogonal()(jax.random.key(3), (4, 3))
    jax.nn.initializers.glorot_normal()(jax.random.key(3), (3,))
    """),
    *each("jax.ops.segment_{f}({x}, {i}{o})", modes="eager", f="sum prod max min",
          x="f32_3 i32_3 bf16_3 f32_3x2 f32_0", i="i32_idx3 i32_3",
          o=["", ", num_segments=4", ", 2, indices_are_sorted=True", ", 3, bucket_size=2",
             ", 2, mode='drop'", ", 2, mode='clip'"]),
    *each("jax.ops.segment_{f}(f32_3, i32_idx3, 3)", modes=ALL, f="sum prod max min"),
]
