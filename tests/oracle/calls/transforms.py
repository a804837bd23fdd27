"""Transformations, custom rules, staging, pytrees and dtypes."""

from tests.oracle.calls.call import each, lines

CALLS = [
    *each("jax.grad({f})({x})", modes="eager jit jaxpr", f=["jnp.sin", "lambda v: v ** 2",
                                                            "lambda v: v * 2 + 1"],
          x="2.0 f32 w_f32"),
    *each("jax.grad(lambda v: v ** 2)({x})", x=["2", "i32", "f32_3", "c64", "b1", "1j", "[1.0]",
                                                "'a'", "np_f32", "bf16"]),
    *each("jax.{t}(lambda v: v ** 2 * 3)({x})", t="jacfwd jacrev jacobian hessian",
          x="2.0 f32 f32_3 f32_2x3 i32_3 c64_3 {'a':f32_3}".split()),
    *each("jax.{t}(lambda v: (v ** 2, {{'s': jnp.sum(v)}}))(f32_3)", t="jacfwd jacrev"),
    *each("jax.{t}(lambda v, w: jnp.outer(v, w), argnums=(0, 1))(f32_3, f32_2)",
          modes="eager jit", t="jacfwd jacrev"),
    *each("jax.{t}(lambda v: (v ** 2, 5), has_aux=True)(f32_3)", t="jacfwd jacrev"),
    *each("jax.{t}(lambda v: v * v, holomorphic=True)(c64_3)", t="jacfwd jacrev"),
    *each("jax.vmap(lambda a, b: a + b, {axes})(f32_2x3, f32_2x3b)", modes="eager jaxpr",
          axes=["", "in_axes=(0, None)", "in_axes=(1, 0)", "in_axes=1",
                "in_axes=(0, 0), out_axes=1", "in_axes=(None, None)", "in_axes=-1, out_axes=-1",
                "in_axes=(0, 5)", "in_axes=2",
                "in_axes='a'", "in_axes=(0,)", "axis_size=2", "axis_size=3", "out_axes=None",
                "in_axes=[0, 0]", "axis_name='i'", "out_axes=(0, 0)"]),
    *each("jax.vmap({f})({x})", f=["jnp.sum", "lambda v: 1", "lambda v: {'a': v, 'b': 2.0}",
                                   "lambda v: (v, v.shape)"], x="f32_3 f32_2x3 f32 2.0".split()),
    *lines("""
    jax.grad(jnp.sum)(f32_3)  ## eager jit jaxpr
    jax.grad(lambda v: v)(f32_3)
    jax.grad(lambda v: (v, v))(f32)
    jax.grad(lambda v: {'a': v})(f32)
    jax.grad(lambda v: None)(f32)
    jax.grad(lambda v: jnp.sum(v).astype(int))(f32)
    jax.grad(lambda v: v.astype(jnp.complex64))(f32)
    jax.grad(lambda v, w: v * w, argnums=1)(f32, 3.0)
    jax.grad(lambda v, w: v * w, argnums=(0, 1))(f32, 3.0)
    jax.grad(lambda v, w: v * w, argnums=5)(f32, 3.0)
    jax.grad(lambda v, w: v * w, argnums=-1)(f32, 3.0)
    jax.grad(lambda v, w: v * w, argnums='a')(f32, 3.0)
    jax.grad(lambda d: d['a'] * d['b'][0])({'a': 2.0, 'b': [3.0, 1.0]})
    jax.grad(lambda v: (v * 2, v), has_aux=True)(f32)
    jax.grad(lambda v: v * 2, has_aux=True)(f32)
    jax.grad(lambda v: v * v, allow_int=True)(2)
    jax.grad(lambda v, w: v * w, allow_int=True, argnums=(0, 1))(2.0, 3)
    jax.grad(lambda v: v * v, holomorphic=True)(c64)
    jax.grad(lambda v: v * v, holomorphic=True)(f32)
    jax.grad(lambda v: jnp.real(v * v))(c64)
    jax.grad(jnp.abs)(0.0)
    jax.grad(jnp.sqrt)(0.0)
    jax.grad(lambda v: jnp.where(v > 0, v, 0.0))(-1.0)
    jax.grad(jnp.max)(jnp.array([1.0, 3.0, 3.0]))
    jax.grad(lambda v: jnp.linalg.norm(v))(f32_3)
    jax.grad(lambda v: v[0] * v[2])(f32_3)  ## eager jit jaxpr
    jax.grad(jax.grad(lambda v: v ** 3))(2.0)  ## eager jit jaxpr
    jax.grad(lambda v, k=2.0: v * k)(3.0)
    jax.grad(lambda v, k=2.0: v * k)(3.0, k=5.0)
    jax.value_and_grad(lambda v: jnp.sum(v ** 2))(f32_3)  ## eager jit jaxpr
    jax.value_and_grad(lambda v: (jnp.sum(v), v), has_aux=True)(f32_3)
    jax.value_and_grad(lambda v, w: v * w, (0, 1))(2.0, 3)
    jax.jvp(jnp.sin, (f32_3,), (f32_3b,))  ## eager jit jaxpr
    jax.jvp(jnp.sin, (2.0,), (1.0,))
    jax.jvp(jnp.sin, (f32_3,), (f32,))
    jax.jvp(jnp.sin, (f32_3,), (i32_3,))
    jax.jvp(jnp.sin, f32_3, f32_3)
    jax.jvp(jnp.sin, (f32_3,), (f32_3, f32_3))
    jax.jvp(jnp.sin, (i32_3,), (i32_3,))
    jax.jvp(lambda v: (v * 2, v), (f32_3,), (f32_3b,), has_aux=True)
    jax.jvp(lambda d: d['a'] ** 2, ({'a': f32_3},), ({'a': f32_3b},))
    jax.jvp(jnp.floor, (f32_3,), (f32_3b,))
    jax.jvp(lambda v: v > 0, (f32_3,), (f32_3b,))
    jax.vjp(jnp.sin, f32_3)[1](f32_3b)  ## eager jit
    jax.vjp(jnp.sin, f32_3)[0]
    jax.vjp(jnp.sin, f32_3)[1](f32)
    jax.vjp(jnp.sin, f32_3)[1](i32_3)
    jax.vjp(jnp.sin, f32_3)[1](1.0)
    jax.vjp(lambda v, w: v * w, f32_3, 2.0)[1](f32_3b)
    jax.vjp(lambda v: (v, v * 2), f32_3)[1]((f32_3, f32_3b))
    jax.vjp(lambda v: (v, v * 2), f32_3)[1](f32_3)
    jax.vjp(lambda v: (v * 2, 3), f32_3, has_aux=True)[2]
    jax.vjp(lambda v: v * 2, i32_3)[1](np.zeros(3, jax.dtypes.float0))
    jax.linearize(jnp.sin, f32_3)[1](f32_3b)
    jax.linearize(lambda v, w: v * w, 2.0, 3.0)[1](1.0, 1.0)
    jax.linearize(jnp.sin, f32_3)[1](f32)
    jax.linear_transpose(lambda v: 2 * v, f32_3)(f32_3b)
    jax.linear_transpose(lambda v: v * v, f32_3)(f32_3b)
    jax.linear_transpose(lambda v: jnp.sum(v), f32_3)(2.0)
    jax.linear_transpose(lambda v: v + 1, f32_3)(f32_3b)
    jax.jit(lambda v: v * 2)(2)
    jax.jit(lambda v: v * 2)(2.0)
    jax.jit(lambda v: v * 2)(True)
    jax.jit(lambda v: v)([1, 2])
    jax.jit(lambda v: v)({'b': 1, 'a': (2.0, None)})
    jax.jit(lambda v: v)('a')
    jax.jit(lambda v: v)(None)
    jax.jit(lambda: 3)()
    jax.jit(lambda v: 'a')(2)
    jax.jit(lambda v: object())(2)
    jax.jit(lambda v, n: v * n, static_argnums=1)(f32_3, 3)
    jax.jit(lambda v, n: v.reshape(n), static_argnums=1)(f32_3, (3, 1))
    jax.jit(lambda v, n: v.reshape(n))(f32_3, 3)
    jax.jit(lambda v, n=2: v * n, static_argnames='n')(f32_3, n=3)
    jax.jit(lambda v, n: v * n, static_argnums=1)(f32_3, [3])
    jax.jit(lambda v, n: v * n, static_argnums=1)(f32_3, f32)
    jax.jit(lambda v, n: v * n, static_argnums=5)(f32_3, 3)
    jax.jit(lambda v, n: v * n, static_argnames='z')(f32_3, 3)
    jax.jit(3)
    jax.jit(lambda v, w: v, donate_argnums=0)(f32_3 + 1, 2)
    jax.jit(static_argnums=0)(lambda n, v: v * n)(3, f32_3)
    jax.jit(lambda v: v)(f32_3, 2)
    jax.jit(lambda v: v + np.ones(3))(f32_3)  ## eager jaxpr
    jax.jit(lambda v: jnp.ones(3) + v)(i32)
    jax.jit(lambda v: jax.jit(lambda w: w + 1)(v))(2)  ## eager jaxpr
    jax.make_jaxpr(lambda v: v * 2)(f32_3).jaxpr.eqns[0].primitive.name
    str(jax.make_jaxpr(lambda v: {'a': v, 'b': 1.0})(f32_3))
    str(jax.make_jaxpr(lambda v, w: v['x'] + w)({'x': 2}, np_f32_3))
    str(jax.make_jaxpr(lambda v: v, static_argnums=())(f32_3))
    jax.make_jaxpr(lambda v: v * 2, return_shape=True)(f32_3)[1]
    jax.eval_shape(lambda v: {'a': v @ v.T, 'b': v.sum()}, f32_2x3)
    jax.eval_shape(lambda v: v * 2, jax.ShapeDtypeStruct((2,), jnp.float32))
    jax.eval_shape(lambda v: v * 2, 3)
    jax.eval_shape(lambda v: v[0].foo, f32_3)
    jax.ShapeDtypeStruct((2, 3), 'int8')
    jax.ShapeDtypeStruct((2,), None)
    jax.ShapeDtypeStruct((2,), float)
    jax.ShapeDtypeStruct((2, 3), jnp.float32) == jax.ShapeDtypeStruct((2, 3), np.float32)
    len(jax.ShapeDtypeStruct((2, 3), jnp.float32))
    jax.vmap(jnp.dot)(f32_2x3, f32_3x2)
    jax.vmap(lambda d: d['a'] + d['b'], in_axes=({'a': 0, 'b': None},))({'a': f32_3, 'b': 2.0})
    jax.vmap(lambda a, b: a + b)(f32_2x3, f32_3)
    jax.vmap(lambda a: a)()
    jax.vmap(lambda a: a)('a')
    jax.vmap(lambda a, *, k: a + k)(f32_3, k=f32_3)
    jax.vmap(jax.grad(lambda v: v ** 2))(f32_3)  ## eager jit jaxpr
    jax.vmap(jax.vmap(lambda a, b: a * b, (None, 0)), (0, None))(f32_3, f32_2)  ## eager jaxpr
    jax.vmap(lambda i, v: v[i], (0, None))(i32_idx3, f32_2x3)  ## eager jaxpr
    jax.vmap(lambda v: jnp.zeros(2))(f32_3)
    jax.vmap(lambda v: jax.jit(jnp.sin)(v))(f32_3)  ## eager jaxpr
    jax.checkpoint(jnp.sin)(f32_3)  ## eager jaxpr
    jax.grad(jax.checkpoint(lambda v: jnp.sum(jnp.sin(v) ** 2)))(f32_3)  ## eager jaxpr
    jax.remat(lambda v, n: v * n, static_argnums=1)(f32_3, 2)
    jax.checkpoint(lambda v: v, policy=jax.checkpoint_policies.everything_saveable)(f32_3)
    jax.device_put(f32_3)
    jax.device_put(2.5)
    jax.device_put([1, np_f32_3])
    jax.device_put({'a': 2})
    jax.device_put('a')
    jax.device_get(f32_3)
    jax.device_get({'a': f32, 'b': 3})
    jax.block_until_ready({'a': f32_3, 'b': 2})
    jax.default_backend()
    (jax.device_count(), jax.local_device_count(), jax.process_count(), jax.process_index())
    jax.devices()[0].platform
    jax.devices('foo')
    jax.local_devices()[0].platform
    (jax.host_count(), jax.host_id(), jax.host_ids(), jax.process_indices())
    (jax.effects_barrier(), jax.clear_caches(), jax.copy_to_host_async({'a': f32_3}))
    f32_3 is next(v for v in jax.live_arrays() if v is f32_3)
    jax.fwd_and_bwd(lambda v, w: v * jnp.sin(w), argnums=(0, 1))[0](f32_3, f32_3b)[0]
    (lambda f, b: b(f(f32_3, f32_3b)[1], f32_3))(*jax.fwd_and_bwd(jnp.multiply, argnums=1))
    jax.named_call(lambda v: v + 1, name='n')(f32_3)
    jax.closure_convert(lambda v: v * 2, f32_3)[0](f32_3)
    jax.custom_jvp(lambda v: v * 2)(f32_3)
    jax.custom_gradient(lambda v: (v ** 2, lambda g: (g * 7,)))(3.0)
    jax.grad(jax.custom_jvp(lambda v: v * 2))(f32)
    jax.custom_vjp(lambda v: v * 2)(f32_3)
    jax.custom_gradient(lambda v: (v ** 2, lambda g: (g * 7,)))(f32)
    jax.grad(jax.custom_gradient(lambda v: (v ** 2, lambda g: (g * 7,))))(f32)
    jax.typeof(f32_3)
    jax.typeof(2.0)
    jax.typeof(np_i32_3)
    jax.typeof('a')
    (str(jax.typeof(2.0)), repr(jax.typeof(2.0)), jax.typeof(f32_3).str_short())
    jax.tree.map(lambda a, b: a + b, {'x': 1, 'y': (2, 3)}, {'x': 10, 'y': (20, 30)})
    jax.tree.map(lambda a, b: a + b, {'x': 1}, {'y': 10})
    jax.tree.map(lambda a, b: a + b, [1, 2], (1, 2))
    jax.tree.map(lambda a, b: a + b, [1, 2], [1])
    jax.tree.map(lambda a: a, None)
    jax.tree.leaves({'b': 1, 'a': [2, None, (3,)]})
    jax.tree.structure({'b': 1, 'a': [2, None, (3,)]})
    jax.tree.flatten([1, (2, {'a': 3})])
    jax.tree.unflatten(jax.tree.structure((1, 2)), [3, 4])
    jax.tree.unflatten(jax.tree.structure((1, 2)), [3])
    jax.tree.reduce(lambda a, b: a + b, [1, (2, 3)])
    jax.tree.reduce(lambda a, b: a + b, [], 0)
    jax.tree.reduce(lambda a, b: a + b, [])
    jax.tree.all({'a': True, 'b': [1, 0]})
    jax.tree.transpose(jax.tree.structure([0, 0]), jax.tree.structure({'a': 0}), \
        [{'a': 1}, {'a': 2}])
    jax.tree.map_with_path(lambda p, v: jax.tree_util.keystr(p), {'a': [1, (2,)]})
    jax.tree.flatten_with_path({'a': [1, (2,)]})
    jax.tree.leaves_with_path((1, {'b': 2}))
    jax.tree.broadcast(1, {'a': 1, 'b': 2})
    jax.tree.reduce_associative(lambda a, b: a + b, [1, 2, 3])
    jax.tree.map(lambda v: v, (1, 2), is_leaf=lambda v: isinstance(v, tuple))
    jax.tree.map(lambda v: v * 2, {2: 1, 1: 5})
    jax.tree.leaves({2: 1, 'a': 5})
    tree_util.tree_flatten({'a': 1})[1] == tree_util.tree_flatten({'a': 7})[1]
    tree_util.tree_flatten({'a': 1})[1].num_leaves
    tree_util.tree_structure((1, [2, None])).children()
    tree_util.tree_structure(((1, 2), 3)).num_nodes
    tree_util.treedef_is_leaf(tree_util.tree_structure(1))
    tree_util.treedef_tuple([tree_util.tree_structure(1), tree_util.tree_structure([1])])
    tree_util.treedef_children(tree_util.tree_structure((1, [2])))
    tree_util.all_leaves([1, 2])
    tree_util.all_leaves([1, [2]])
    tree_util.is_tree_node(dict)
    tree_util.keystr((tree_util.DictKey('a'), tree_util.SequenceKey(1), tree_util.GetAttrKey('x')))
    tree_util.keystr((tree_util.DictKey('a'), tree_util.SequenceKey(1)), simple=True, separator='/')
    (str(tree_util.DictKey('a')), repr(tree_util.SequenceKey(1)))
    str(tree_util.FlattenedIndexKey(2))
    tree_util.Partial(lambda a, b: a + b, 1)(2)
    tree_util.tree_leaves(tree_util.Partial(jnp.add, f32))
    tree_util.tree_map(lambda v: v * 2, tree_util.Partial(jnp.add, 2))(3)
    tree_util.tree_flatten_with_path([1, {'a': 2}])
    tree_util.tree_all([True, []])
    tree_util.tree_broadcast([1, 2], [(3, 4), 5])
    tree_util.tree_reduce(lambda a, b: a * b, (2, 3))
    tree_util.tree_leaves_with_path([1])
    tree_util.tree_map_with_path(lambda p, a, b: a + b, [1], [2])
    tree_util.flatten_one_level({'a': 1, 'b': 2})
    tree_util.flatten_one_level_with_keys({'a': 1, 'b': (2, 3)})
    tree_util.tree_reduce_associative(lambda a, b: a + b, [1, (2, 3)])
    tree_util.tree_reduce_associative(lambda a, b: a + b, [], identity=0)
    tree_util.tree_unflatten(tree_util.tree_structure({'a': 1}), (v for v in [2]))
    tree_util.tree_transpose(tree_util.tree_structure((0, 0)), \
        tree_util.tree_structure([0]), ([1], [2]))
    jnp.result_type(f32_3, i32_3)
    jnp.result_type(2, 2.5)
    jnp.result_type(i8_3, 2)
    jnp.result_type(jnp.int8, jnp.uint8)
    jnp.result_type('float16', 'bfloat16')
    jnp.result_type(f32_3, 1j)
    jnp.result_type()
    jnp.result_type('a')
    jnp.result_type(np.float64)
    jnp.result_type(int, float)
    jnp.promote_types('int8', 'uint8')
    jnp.promote_types(jnp.float16, jnp.bfloat16)
    jnp.promote_types(int, 'float16')
    jnp.promote_types('uint32', 'int32')
    jnp.promote_types('float8_e4m3fn', 'float16')
    jnp.can_cast('int8', 'int32')
    jnp.can_cast('float32', 'int32')
    jnp.can_cast(jnp.bfloat16, jnp.float32)
    jnp.issubdtype(jnp.bfloat16, np.floating)
    jnp.issubdtype(jnp.int8, np.integer)
    jnp.isdtype(jnp.int8, 'integral')
    jnp.isdtype(jnp.float32, ('real floating', 'bool'))
    jnp.isdtype(jnp.float32, jnp.float32)
    jnp.isdtype(jnp.float32, 'foo')
    jnp.finfo(jnp.float32).eps
    jnp.finfo(jnp.bfloat16).max
    jnp.finfo('float16').tiny
    (jnp.finfo(jnp.float32).bits, jnp.finfo(jnp.bfloat16).nmant, str(jnp.finfo(jnp.float32).dtype))
    jnp.finfo(jnp.int32)
    (jnp.iinfo(jnp.int8).max, jnp.iinfo('uint8').min, jnp.iinfo(jnp.int32).bits)
    jnp.iinfo(jnp.float32)
    repr(jnp.iinfo(jnp.int8))
    dtypes.canonicalize_dtype('float64')
    dtypes.canonicalize_dtype(int)
    dtypes.result_type(2, f32_3)
    dtypes.result_type(2, 3, return_weak_type_flag=True)
    dtypes.issubdtype(jnp.bfloat16, np.inexact)
    dtypes.scalar_type_of(2.5)
    dtypes.itemsize_bits(jnp.int4)
    dtypes.finfo(jnp.bfloat16).eps
    dtypes.iinfo(jnp.int4).max
    (jax.config.jax_enable_x64, jax.config.jax_numpy_rank_promotion, jax.config.jax_disable_jit)
    jax.config.jax_foo
    jax.config.update('jax_foo', 1)
    jax.numpy.linalg.foo
    """),
]
