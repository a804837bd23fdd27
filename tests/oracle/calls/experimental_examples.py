"""Layers and optimizers of example_libraries, and checks of derivatives."""

from tests.oracle.calls.call import each, lines

STAX, OPTIMIZERS = "jax.example_libraries.stax", "jax.example_libraries.optimizers"
KEY = "jax.random.key(3)"
LAYERS = ["Dense(4)", "BatchNorm(axis=0)", "BatchNorm(0, center=False)", "Identity", "Relu", "Tanh",
          "Softmax", "LogSoftmax", "Flatten", "Dropout(0.7)", "Dropout(0.7, 'test')", "FanOut(2)",
          "Exp", "Softplus", "Sigmoid", "Elu", "LeakyRelu", "Selu", "Gelu"]
OVER_IMAGES = [
    "Conv(3, (2, 2))", "Conv(3, (2, 2), (2, 1), 'SAME')", "ConvTranspose(2, (3, 2), (2, 2))",
    "ConvTranspose(2, (3, 2), (2, 2), 'SAME')", "BatchNorm()", "MaxPool((2, 2))",
    "MaxPool((2, 2), (2, 2), 'SAME')", "SumPool((2, 2), spec='NHWC')", "AvgPool((2, 2))",
    "AvgPool((2, 2), padding='SAME')", "AvgPool((2, 2), spec='NCHW')"]
METHODS = ["sgd(0.1)", "momentum(0.1, 0.9)", "nesterov(0.1, 0.9)", "adagrad(0.1)", "rmsprop(0.1)",
           "rmsprop_momentum(0.1)", "adam(0.1)", "adamax(0.1)"]
SCHEDULES = ["constant(0.1)", "exponential_decay(0.1, 10, 0.9)", "inverse_time_decay(0.1, 10, 0.9)",
             "inverse_time_decay(0.1, 10, 0.9, True)", "polynomial_decay(0.1, 10, 0.01)",
             "piecewise_constant([1, 2], [0.1, 0.2, 0.3])", "make_schedule(0.1)"]

CALLS = [
    *each("(lambda l: (l[0](" + KEY + ", (2, 3)), l[1](l[0](" + KEY + ", (2, 3))[1], f32_2x3, "
          "rng=" + KEY + ")))(" + STAX + ".{l})", modes="eager jit", l=LAYERS),
    *each("(lambda l: l[1](l[0](" + KEY + ", (2, 4, 4, 2))[1], f32_2x4x4x2))(" + STAX + ".{l})",
          modes="eager vjp", l=OVER_IMAGES),
    *each("(lambda o: o.update_fn(1, o.params_fn(s := o.init_fn({x})), s).packed_state)("
          + OPTIMIZERS + ".{o})", modes="eager jit vjp", o=METHODS, x=["f32_3", "f32", "bf16_3"]),
    *each(OPTIMIZERS + ".{s}({i})", s=SCHEDULES, i="0 1 5 20 2.5 i32 f32".split()),
    *lines(f"""
    {OPTIMIZERS}.l2_norm((f32_3, [f32_2x3]))  ## eager jit vjp
    {OPTIMIZERS}.clip_grads((f32_3, [f32_2x3]), 0.5)  ## eager jit
    {OPTIMIZERS}.make_schedule(f32_3)
    {OPTIMIZERS}.make_schedule('a')
    {OPTIMIZERS}.piecewise_constant([1, 2], [3, 4])
    {OPTIMIZERS}.piecewise_constant([[1, 2]], [3, 4])
    {OPTIMIZERS}.pack_optimizer_state(dict(a=3))
    {OPTIMIZERS}.sgd(0.1).update_fn(0, f32_3, {OPTIMIZERS}.sgd(0.1).init_fn([f32_3]))
    {OPTIMIZERS}.sm3(0.1).params_fn({OPTIMIZERS}.sm3(0.1).init_fn(f32_2x3))
    {STAX}.Dropout(0.5)[1]((), f32_3)
    {STAX}.serial()
    {STAX}.parallel()
    {STAX}.FanInConcat()[0](None, [(2, 3), (2, 4)])
    jax.test_util.check_grads(jnp.sin, (f32_3,), 2)
    jax.test_util.check_grads(lambda x: lax.stop_gradient(x) * x, (f32_3,), 1)
    jax.test_util.check_grads(lambda x: lax.stop_gradient(x) * x, (f32_3,), 1, 'rev')
    jax.test_util.check_grads(jnp.sin, 1.0, 1)
    jax.test_util.check_grads(3, (1.0,), 1)
    jax.test_util.check_grads(jnp.sin, (f32_3,), 0)
    jax.test_util.check_grads(lambda x, i: x * i, (f32_3, i32_3), 1)
    jax.test_util.check_jvp(jnp.sin, partial(jax.jvp, jnp.sin), (f32_3,))
    jax.test_util.check_jvp(jnp.sin, partial(jax.jvp, jnp.cos), (f32_3,))
    jax.test_util.check_vjp(jnp.sin, partial(jax.vjp, jnp.sin), (f32_3,))
    jax.test_util.check_vjp(jnp.sin, partial(jax.vjp, jnp.cos), (f32_3,))
    {STAX}.FanInSum[1]((), [f32_3, f32_3b])
    """),
]
