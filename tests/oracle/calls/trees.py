"""Functions on pytrees, tracing and shapes, and their errors."""

from tests.oracle.calls.call import each, lines

TREES = ["1", "None", "()", "[]", "{}", "(1, [2, None])", "{'b': 1, 'a': (2, 3)}", "f32_3",
         "[{'x': f32, 'y': 2.5}]"]

CALLS = [
    *each("tree_util.{f}({tree})", tree=TREES,
          f="tree_leaves tree_structure tree_flatten tree_all tree_flatten_with_path "
            "tree_leaves_with_path all_leaves"),
    *each("jax.tree.{f}({tree})", tree=TREES, f="leaves structure flatten leaves_with_path"),
    *each("tree_util.tree_map({f}, {a}, {b})", f=["lambda x, y: (x, y)", "3"], a=TREES[:7],
          b=["1", "None", "(1, [2, None])", "{'b': 1, 'a': (2, 3)}", "{'b': 1}"]),
    *each("tree_util.tree_structure({a}) {op} tree_util.tree_structure({b})", op="== !=", a=TREES,
          b=["1", "(1, [2, None])", "{}"]),
    *each("tree_util.tree_structure({tree}).{what}", tree=TREES,
          what=["num_leaves", "num_nodes", "children()", "node_data()", "unflatten([1, 2, 3])"]),
    *each("tree_util.tree_map(lambda v: 0, {tree}, is_leaf=lambda v: {leaf})", tree=TREES,
          leaf=["v is None", "isinstance(v, (tuple, list))", "True"]),
    *each("tree_util.tree_broadcast({prefix}, {tree})", prefix=["1", "(1, 2)", "{'a': 1, 'b': 2}"],
          tree=["(1, [2, None])", "{'b': 1, 'a': (2, 3)}", "1"]),
    *each("jax.eval_shape({f}, {x})", f=["lambda v: v", "lambda v: v * 2", "jnp.sum", "3",
                                         "lambda v: (v, {'a': 1.0})", "lambda v: None"],
          x=["f32_3", "2", "2.0", "np_i32_3", "jax.ShapeDtypeStruct((2, 3), 'int8')",
             "{'a': f32}", "'a'"]),
    *each("str(jax.make_jaxpr({f})({x}))", f=["lambda v: v", "lambda v: v * 2", "jnp.sum", "3",
                                              "lambda v: (v, {'a': 1.0})", "lambda v: None"],
          x=["f32_3", "2", "2.0", "np_i32_3", "jax.ShapeDtypeStruct((2, 3), 'int8')", "'a'"]),
    *lines("""
    tree_util.tree_unflatten(tree_util.tree_structure([1, 2]), [1])
    tree_util.tree_unflatten(tree_util.tree_structure([1, 2]), [1, 2, 3])
    tree_util.tree_unflatten(3, [1])
    tree_util.tree_transpose(tree_util.tree_structure([0, 0]), tree_util.tree_structure((0, 0)), \
        [(1, 2), (3, 4)])
    tree_util.tree_transpose(tree_util.tree_structure([0, 0]), tree_util.tree_structure((0, 0)), 1)
    tree_util.tree_reduce(lambda a, b: a + b, [1, 2], 'a')
    tree_util.tree_reduce(lambda a, b: a + b, {}, 7)
    tree_util.tree_map_with_path(lambda p, v: (len(p), v), {'a': [1, (2,)]})
    tree_util.tree_map_with_path(lambda p, v, w: v + w, [1, 2], [1])
    tree_util.keystr(tree_util.tree_flatten_with_path({'a': [1]})[0][0][0])
    tree_util.build_tree(tree_util.tree_structure([1, 2]), [3, 4])
    tree_util.treedef_tuple([1])
    tree_util.tree_leaves(tree_util.Partial(lambda a: a, 1, b=2))
    tree_util.register_pytree_node(dict, None, None)
    jax.ShapeDtypeStruct((2, 3), 'float32').size
    jax.ShapeDtypeStruct((2, 3), 'float32').ndim
    jax.ShapeDtypeStruct((2, 3), 'foo')
    jax.ShapeDtypeStruct(3, 'float32').shape
    jax.ShapeDtypeStruct((2,), 'float32', weak_type=True).weak_type
    hash(jax.ShapeDtypeStruct((2,), 'float32')) == hash(jax.ShapeDtypeStruct((2,), 'float32'))
    jax.ShapeDtypeStruct((2,), 'float32') == 3
    """),
]
