"""Control flow: loops, branches, solvers, checkpoints, custom rules, callbacks, errors."""

from tests.oracle.calls.call import each, lines

BOUNDS = "0 i32 u32 i8 w_i32 jnp.uint32(1) jnp.int8(1) np.int64(1) True 1.0 f32 None".split()

CALLS = [
    *each("lax.fori_loop({low}, {high}, lambda i, c: c + i, {init})", low=BOUNDS,
          high=["3", "jnp.int32(3)", "jnp.uint32(3)", "jnp.int8(3)", "np.int64(3)", "3.0"],
          init=["jnp.float32(0)"]),
    *each("lax.fori_loop({low}, {high}, lambda i, c: i, {init})", low=["0", "jnp.uint32(0)"],
          high=["3", "jnp.uint32(3)", "jnp.int8(3)"], init=["0", "jnp.uint32(0)", "jnp.int8(0)"]),
    *each("jax.jit(lambda n: lax.fori_loop({low}, n, lambda i, c: c * 2 + i, 1.5))({high})",
          low=["0", "jnp.uint32(0)", "jnp.int8(0)"],
          high=["3", "jnp.uint32(3)", "jnp.int8(3)", "True"]),
    *each("lax.scan(lambda c, x: (c + x, c * x), {init}, {xs}{more})", "eager jit",
          init=["jnp.float32(0)", "0.0", "0"], xs=["f32_3", "i32_3", "w_f32"],
          more=["", ", reverse=True", ", unroll=2", ", length=3", ", length=4"]),
    *each("lax.while_loop(lambda c: {test}, lambda c: {body}, {init})", "eager jit",
          test=["c < 10", "c < 10.5"],
          body=["c + 1", "c * 2.0", "(c, c)", "None", "c.astype('int8')"],
          init=["1", "jnp.int32(1)", "jnp.float32(1)", "1.0"]),
    *each("lax.cond({test}, lambda v: {a}, lambda v: {b}, f32)", "eager jit jaxpr",
          test=["b1", "True", "1", "0.0", "f32", "b1_3", "None", "'a'"],
          a=["v + 1", "v"], b=["v * 2", "0", "(v, v)", "v.astype('int32')"]),
    *each("lax.switch({i}, [lambda v: v, lambda v: v * 2, lambda v: -v], f32)", "eager jit jaxpr",
          i=["0", "i32", "7", "-3", "True", "1.0", "i32_3", "jnp.uint32(1)", "jnp.int8(2)"]),
    *each("lax.map(lambda v: v * 2 + 1, {xs}{more})", "eager jit jvp vjp",
          xs=["f32_3", "f32_2x3", "f32", "(f32_3, f32_2)"],
          more=["", ", batch_size=2", ", batch_size=3", ", batch_size=9"]),
    *each("lax.associative_scan({f}, {x}{more})", "eager jit jvp vjp", x=["f32_3", "f32_2x3"],
          f=["jnp.add", "jnp.multiply", "lambda a, b: a * b + b"],
          more=["", ", reverse=True", ", axis=-1", ", axis=2"]),
    *each("jax.{t}(lambda v: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * v, v))(f32)",
          "eager jit", t="grad jacfwd jacrev value_and_grad hessian"),
    *each("jax.vmap(lambda v: lax.{f})(f32_3)", "eager jit",
          f=["cond(v > 0, lambda: v, lambda: 2 * v)",
             "while_loop(lambda c: c < 5, lambda c: c + 1, v)",
             "switch(jnp.int32(v), [lambda: v, lambda: -v])",
             "scan(lambda c, x: (c + x, c), v, jnp.arange(3.0))",
             "fori_loop(0, jnp.int32(v), lambda i, c: c * 2, v)", "psum(v, 'i')"]),
    *each("jax.vmap(lambda v: {f}, axis_name='i')(f32_3)",
          f=["lax.psum(v, 'i')", "lax.pmean(v, 'i')", "lax.pmax(v, 'i')", "lax.axis_index('i')",
             "lax.all_gather(v, 'i')", "lax.ppermute(v, 'i', [(0, 1), (1, 2), (2, 0)])",
             "lax.psum(1, 'i')", "lax.axis_size('i')", "lax.psum(v, 'j')",
             "v - lax.pmean(v, 'i')", "lax.psum((v, {'a': v}), 'i')"]),
    *each("jax.grad(jax.checkpoint(lambda v: jnp.sum(jnp.sin(jnp.cos(v))){more}))(f32_3)",
          "eager jit", more=["", ", policy=jax.checkpoint_policies.nothing_saveable",
                             ", policy=jax.checkpoint_policies.dots_saveable",
                             ", prevent_cse=False"]),
    *lines("""
    lax.scan(lambda c, x: c, 0.0, f32_3)
    lax.scan(lambda c, x: (c, x, x), 0.0, f32_3)
    lax.scan(lambda c, x: ((c, c), x), 0.0, f32_3)
    lax.scan(lambda c, x: (c, x), 0.0, None)
    lax.scan(lambda c, x: (c + 1, x), 0, None, length=3)
    lax.scan(lambda c, x: (c, x), 0, {'a': f32_3, 'b': f32_2})
    lax.scan(lambda c, x: (c + x['a'], x), 0., {'a': f32_3, 'b': f32_3b})  ## eager jit jvp vjp
    lax.scan(lambda c, x: (c, None), f32_3, f32_3)
    lax.scan(lambda c, x: (c, 5), f32_3, f32_0)
    lax.scan(3, 0.0, f32_3)
    lax.while_loop(lambda c: c, lambda c: c, 1.0)
    lax.while_loop(lambda c: (c, c), lambda c: c, 1.0)
    lax.while_loop(lambda c: jnp.array([True]), lambda c: c, 1.0)
    lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, f32_3))  ## eager jit jvp
    lax.fori_loop(0, 3, lambda i, c: (c, c), 0.0)
    lax.fori_loop(0, 3, lambda i, c: c.at[i].add(i), f32_3)  ## eager jit jvp vjp
    lax.fori_loop(3, 0, lambda i, c: c + 1, f32_3)
    lax.fori_loop(0, 3, lambda i, c: c + 1, 0, unroll=2)
    lax.fori_loop(0, 3, lambda i, c: c + 1, 0, unroll=True)
    lax.cond(b1, lambda: 1, lambda: 2)
    lax.cond(b1, lambda: 1, lambda: 2.0)
    lax.cond(b1, lambda v: v, f32, f32)
    lax.cond(b1, 3, 4)
    lax.cond(b1, lambda v: {'a': v}, lambda v: {'b': v}, f32)
    lax.switch(0, [])
    lax.switch(5, [lambda: 7])
    lax.switch(0, lambda: 7)
    lax.select(b1, f32, f32_3)
    lax.map(3, f32_3)
    lax.map(lambda v: v, 'a')
    lax.custom_root(lambda v: v ** 2 - 2, 1.0, lambda f, x: lax.fori_loop(0, 20, \
        lambda i, v: v - f(v) / (2 * v), x), lambda g, y: y / g(1.0))  ## eager jit
    jax.grad(lambda a: lax.custom_root(lambda v: v ** 2 - a, 1.0, lambda f, x: lax.fori_loop( \
        0, 20, lambda i, v: v - f(v) / (2 * v), x), lambda g, y: y / g(1.0)))(2.0)  ## eager jit
    lax.custom_linear_solve(lambda v: 2 * v, f32_3, lambda f, b: b / 2)
    jax.grad(lambda b: jnp.sum(lax.custom_linear_solve(lambda v: 2 * v, b, \
        lambda f, b: b / 2, symmetric=True) ** 2))(f32_3)
    jax.grad(lambda b: jnp.sum(lax.custom_linear_solve(lambda v: 2 * v, b, lambda f, b: b / 2)))( \
        f32_3)
    ruled(jax.custom_jvp(lambda v: v * 2), lambda p, t: (p[0] * 2, t[0] * 7))(f32)  ## eager jit jvp
    jax.grad(ruled(jax.custom_jvp(lambda v: v * 2), lambda p, t: (p[0] * 2, t[0] * 7)))(f32)
    jax.grad(ruled(jax.custom_jvp(lambda v: v * 2), lambda p, t: (p[0] * 2, 7)))(f32)
    jax.jvp(ruled(jax.custom_jvp(lambda v: v * 2), lambda p, t: (p[0], p[0], t[0])), (f32,), (f32,))
    jax.grad(ruled(jax.custom_vjp(lambda v: v * 2), lambda v: (v, v), lambda r, g: (r * g,)))(f32)
    jax.grad(ruled(jax.custom_vjp(lambda v: v * 2), lambda v: v, lambda r, g: (r * g,)))(f32)
    jax.grad(ruled(jax.custom_vjp(lambda v: v * 2), lambda v: (v, v), lambda r, g: r * g))(f32)
    jax.grad(ruled(jax.custom_vjp(lambda v: v * 2), lambda v: (v, v), lambda r, g: (1, 2)))(f32)
    jax.grad(ruled(jax.custom_vjp(lambda v: v * 2), lambda v: (v, v), lambda r, g: (None,)))(f32)
    jax.grad(ruled(jax.custom_vjp(lambda v, n: v * n, nondiff_argnums=(1,)), \
        lambda v, n: (v * n, v), lambda n, r, g: (r * n * g,)))(f32, 3)
    jax.vmap(ruled(jax.custom_vjp(lambda v: v * 2), lambda v: (v, v), lambda r, g: (r * g,)))(f32_3)
    jax.jvp(ruled(jax.custom_vjp(lambda v: v * 2), lambda v: (v, v), lambda r, g: (g,)), (f32,), \
        (f32,))
    jax.custom_vjp(lambda v: v)(f32)
    jax.linearize(lambda v, w: (v * w, jnp.sin(v)), f32, f32_3)[1](1.0, f32_3)
    jax.linearize(lambda v: (v * 2, {'a': 3}), f32, has_aux=True)[2]
    jax.linear_transpose(lambda v, w: v + 2 * w, f32_3, f32_3b)(f32_3)
    jax.linear_transpose(lambda d: d['a'] * 3, {'a': f32_3})(f32_3)
    jax.linear_transpose(jnp.sin, f32_3)(f32_3)
    jax.value_and_grad(lambda v, w: (v * w, {'a': w * 2}), argnums=(0, 1), has_aux=True)(2.0, 3.0)
    jax.value_and_grad(lambda v: v * v, holomorphic=True)(c64)
    jax.hessian(lambda v, w: jnp.sum(v * w ** 2), argnums=(0, 1))(f32_3, f32_3b)
    jax.vmap(lambda d, v: d['a'] * v, in_axes=({'a': 0, 'b': None}, None), out_axes=1)( \
        {'a': f32_2x3, 'b': 1}, 2.0)
    jax.vmap(lambda d: {'a': d, 'b': d}, out_axes={'a': 0, 'b': 1})(f32_2x3)
    jax.vmap(lambda d: {'a': d, 'b': d}, out_axes={'a': 0})(f32_2x3)
    jax.vmap(lambda v: v, spmd_axis_name='x')(f32_3)
    jax.vmap(lambda v: v, in_axes=({'a': 0},))(f32_3)
    jax.pure_callback(np.sin, f32_3, f32_3)  ## eager jit
    jax.pure_callback(np.sin, jax.ShapeDtypeStruct((3,), 'float32'), f32_3)  ## eager jit vmap
    jax.pure_callback(lambda v: np.float32(v), f32, f32, vmap_method='sequential')  ## eager vmap
    jax.pure_callback(lambda v: np.float32(v), f32, f32, vmap_method='foo')  ## vmap
    jax.grad(lambda v: jax.pure_callback(np.sin, v, v))(f32)
    jax.experimental.io_callback(lambda v: np.float32(v), f32, f32)
    printed(lambda: debug.print('{} {x}', f32, x=2))
    printed(lambda: jax.jit(lambda v: debug.print('{v}', v=v))(2.5))
    printed(lambda: jax.vmap(lambda v: debug.print('{}', v))(i32_3))
    debug.print('{}')
    debug.callback(3, f32)
    checkify.checkify(lambda v: v / 0, errors=checkify.float_checks)(f32)[0].get() is None
    checkify.checkify(lambda v: checkify.check(v > 9, 'no'))(f32)[0].get()
    checkify.check(False, 'no')
    checkify.checkify(lambda v: v * 2)(f32)[1]
    within(jax.enable_x64(True), lambda: jnp.arange(3) * 1.5)
    within(jax.enable_x64(True), lambda: jnp.sin(2.0))
    within(jax.enable_x64(True), lambda: lax.fori_loop(0, 3, lambda i, c: c + i, 0))
    within(jax.enable_x64(True), lambda: lax.fori_loop(np.int32(0), 3, lambda i, c: c + i, 0))
    within(jax.enable_x64(True), lambda: lax.fori_loop(0, jnp.int32(3), lambda i, c: i, 0))
    within(jax.enable_x64(True), lambda: lax.scan(lambda c, x: (c + x, c), 0.0, jnp.arange(3)))
    within(jax.default_matmul_precision('float32'), lambda: str(jax.make_jaxpr(jnp.dot)( \
        f32_3, f32_3b)))
    within(jax.numpy_dtype_promotion('strict'), lambda: f32_3 + i32_3)
    within(jax.numpy_rank_promotion('raise'), lambda: f32_2x3 + f32_3)
    within(jax.disable_jit(), lambda: lax.cond(b1, lambda: 1, lambda: 2))
    """),
]
