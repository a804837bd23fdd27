"""Sparse arrays: their entries, and results of functions as dense arrays."""

from tests.oracle.calls.call import each, lines

SPARSE = "jax.experimental.sparse"
MATRIX = "jnp.where(jnp.abs(f32_4x5) > 0.7, f32_4x5, 0)"
FORMS = "BCOO BCSR COO CSR CSC"
FUNCTIONS = ["x * 2", "-x", "x + x", "x - x", "x.T", "x.sum()", "x.sum(0)", "x.sum(1)", "x[1]",
             "x[1:3]", "x[1, 2]", "x.reshape(2, 10)", "abs(x)", "x ** 2", "x / 2", "x @ x.T",
             "x * jnp.arange(5.0)", "x * x", "x @ jnp.ones((5, 2))", "jnp.ones((2, 4)) @ x"]
CALLS = [
    *each("jax.tree_util.tree_leaves(" + SPARSE + ".{f}.fromdense(" + MATRIX + "{o}))", f=FORMS,
          o=["", ", nse=20", ", index_dtype=jnp.int16"]),
    *each("jax.tree_util.tree_leaves(" + SPARSE + ".BCOO.fromdense(" + MATRIX + ", {o}))",
          o=["n_batch=1", "n_dense=1", "n_batch=2", "n_dense=2"]),
    *each("repr(" + SPARSE + ".{f}.fromdense(" + MATRIX + "))", f=FORMS),
    *each("(lambda x: " + SPARSE + ".todense({e}))(" + SPARSE + ".BCOO.fromdense(" + MATRIX + "))",
          e=FUNCTIONS),
    *each(SPARSE + ".{f}.fromdense(" + MATRIX + ") @ {v}", f=FORMS,
          v=["jnp.arange(5.0)", "jnp.ones((5, 2))", "jnp.ones(4)"]),
    *each(SPARSE + ".todense(" + SPARSE + ".{f})",
          f=["eye(3)", "eye(3, 4, k=1)", "eye(3, k=-1, dtype='int32')", "empty((2, 3))",
             "eye(3, sparse_format='csr')", "eye(3, sparse_format='x')"]),
    *each("jax.tree_util.tree_leaves(" + SPARSE + ".random_bcoo(jax.random.key(3), {o}))",
          o=["(4, 5)", "(4, 5), nse=3", "(2, 4, 5), n_batch=1, nse=2", "(4, 5), n_dense=1, nse=2",
             "(4, 5), sorted_indices=True", "(4, 5), nse=99"]),
    *each(SPARSE + ".{g}(lambda b, v: (b @ v).sum())(" + SPARSE + ".BCOO.fromdense(" + MATRIX
          + "), jnp.arange(5.0)).todense()", g="grad jacfwd jacrev"),
    *lines(f"""
    {SPARSE}.BCOO((f32_3, jnp.array([[0], [7], [-1]])), shape=(3,)).todense()
    {SPARSE}.BCOO((f32_3, jnp.array([[0], [0], [2]])), shape=(3,)).sum_duplicates().todense()
    {SPARSE}.BCOO((f32_3, jnp.array([[0], [0], [2]])), shape=(3,)).sum_duplicates().data
    {SPARSE}.BCOO((f32_3, i32_2x3), shape=(3,))
    {SPARSE}.sparsify(jnp.exp)({SPARSE}.eye(3))
    {SPARSE}.todense({SPARSE}.sparsify(jnp.sin)({SPARSE}.eye(3)))
    {SPARSE}.eye(3) == {SPARSE}.eye(3)
    {SPARSE}.bcoo_update_layout({SPARSE}.eye(3), n_batch=1)
    {SPARSE}.linalg.spsolve(f32_pos3, jnp.arange(3), jnp.arange(4), f32_3)
    """),
]
