"""Sparse arrays: every function against the same on dense arrays, under all transformations."""

import numpy as np
import pytest
import scipy.sparse

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx.experimental import sparse
from tanx.experimental.sparse import BCOO, BCSR, COO, CSC, CSR, sparsify

RNG = np.random.default_rng(0)
ADD = (((1,), (0,)), ((), ()))


def thin(*shape, dtype=np.float32):
    """A dense array with mostly zeros."""
    values = RNG.normal(size=shape)
    return jnp.asarray(np.where(RNG.random(shape) < 0.4, values, 0).astype(dtype))


# Layouts: a shape, batch and dense dimensions.
LAYOUTS = [((5,), 0, 0), ((4, 5), 0, 0), ((4, 5), 1, 0), ((4, 5), 0, 1), ((2, 4, 5), 1, 0),
           ((2, 4, 5), 0, 1), ((2, 4, 5), 1, 1), ((3, 2, 4, 5), 1, 1), ((2, 3, 4), 2, 0),
           ((0, 3), 0, 0), ((), 0, 0)]
X = thin(4, 5)


def named(layout):
    shape, n_batch, n_dense = layout
    return f"{list(shape)} b{n_batch} d{n_dense}"


def close(actual, expected, rtol=1e-5):
    actual = sparse.todense(actual)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS, ids=named)
@pytest.mark.parametrize("padding", [0, 3])
def test_dense_and_back(layout, padding):
    shape, n_batch, n_dense = layout
    x = thin(*shape)
    mat = BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense)
    mat = BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense, nse=mat.nse + padding)
    assert (mat.shape, mat.n_batch, mat.n_dense) == (shape, n_batch, n_dense)
    assert mat.n_sparse == len(shape) - n_batch - n_dense
    close(mat, x)
    back = sparse.bcoo_extract(mat, 2 * x)
    close(back, 2 * x)
    close(mat.sort_indices(), x)
    close(mat.sum_duplicates(), x)


@pytest.mark.parametrize("layout", LAYOUTS[:9], ids=named)
def test_sums_along_axes(layout):
    shape, n_batch, n_dense = layout
    x = thin(*shape)
    mat = BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense)
    for axis in [*range(len(shape)), tuple(range(len(shape))), None]:
        close(mat.sum(axis), x.sum(axis))


@pytest.mark.parametrize("layout", LAYOUTS[1:9], ids=named)
def test_layouts_change(layout):
    shape, n_batch, n_dense = layout
    x = thin(*shape)
    mat = BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense)
    for b in range(len(shape)):
        for d in range(len(shape) - b):
            new = mat.update_layout(n_batch=b, n_dense=d, on_inefficient=None)
            assert (new.n_batch, new.n_dense) == (b, d)
            close(new, x)
    with pytest.raises(sparse.SparseEfficiencyError, match="stores zeros"):
        BCOO.fromdense(x).update_layout(n_batch=1)
    with pytest.warns(sparse.SparseEfficiencyWarning):
        BCOO.fromdense(x).update_layout(n_dense=1, on_inefficient="warn")


# Functions of one or two dense arrays; results are sparse unless stated.
FUNCTIONS = {
    "neg": lambda x: -x, "abs": jnp.abs, "sin": jnp.sin, "square": lambda x: x ** 2,
    "scaled": lambda x: 3 * x, "divided": lambda x: x / 2, "astype": lambda x: x.astype("int32"),
    "columns scaled": lambda x: x * jnp.arange(5.0), "rows scaled": lambda x: jnp.ones((4, 1)) * x,
    "twice": lambda x: x + x, "nothing": lambda x: x - x, "times itself": lambda x: x * x,
    "dense sum": lambda x: x + jnp.ones((4, 5)), "dense difference": lambda x: jnp.ones((4, 5)) - x,
    "transpose": lambda x: x.T, "row": lambda x: x[1], "element": lambda x: x[1, 2],
    "last row": lambda x: x[-1], "rows": lambda x: x[1:3], "steps": lambda x: x[::2, 1::2],
    "reshaped": lambda x: x.reshape(2, 10), "flat": lambda x: x.ravel(),
    "new axis": lambda x: x[None], "squeezed": lambda x: x[None].squeeze(0),
    "reversed": lambda x: jnp.flip(x, 1), "joined": lambda x: jnp.concatenate([x, 2 * x], 0),
    "beside": lambda x: jnp.concatenate([x, 2 * x], 1),
    "repeated": lambda x: jnp.broadcast_to(x, (3, 4, 5)), "total": lambda x: x.sum(),
    "row sums": lambda x: x.sum(1), "dynamic": lambda x: lax.dynamic_slice(x, (1, 2), (2, 2)),
    "vector": lambda x: x @ jnp.arange(5.0), "matrix": lambda x: x @ jnp.ones((5, 3)),
    "from the left": lambda x: jnp.ones((2, 4)) @ x, "gram": lambda x: x @ x.T,
    "einsum": lambda x: jnp.einsum("ij,kj->ki", x, jnp.ones((2, 5))),
    "compiled": tanx.jit(lambda x: jnp.sin(x) @ jnp.ones(5)),
    "loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2, x),
    "branch": lambda x: lax.cond(True, lambda x: x * 2, lambda x: x * 3, x),
    "expm1": jnp.expm1, "tanh": jnp.tanh, "sign": jnp.sign,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_sparse_arrays(name):
    fun, mat = FUNCTIONS[name], BCOO.fromdense(X, nse=13)
    expected = fun(X)
    close(sparsify(fun)(mat), expected)
    compiled = tanx.jit(sparsify(fun))
    for _ in range(4):
        close(compiled(mat), expected)
    doubled = BCOO((jnp.concatenate([mat.data, mat.data]) / 2,
                    jnp.concatenate([mat.indices, mat.indices])), shape=mat.shape)
    close(sparsify(fun)(doubled), expected)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in (
    "astype", "nothing", "sign", "loop", "branch")])
def test_gradients_of_sparse_arrays(name):
    fun, mat = FUNCTIONS[name], BCOO.fromdense(X)

    def loss(x):
        out = sparse.todense(sparsify(fun)(x)) if isinstance(x, BCOO) else fun(x)
        return (out ** 2).sum()
    value, slope = sparse.value_and_grad(loss)(mat)
    expected = tanx.grad(loss)(X)
    np.testing.assert_allclose(value, loss(X), rtol=1e-5)
    np.testing.assert_allclose(slope.data, expected[tuple(mat.indices.T)], rtol=1e-4, atol=1e-4)


PRODUCTS = {
    "matvec": ((4, 5), 0, 0, (5,), ADD),
    "matmat": ((4, 5), 0, 0, (5, 3), ADD),
    "first dimension": ((4, 5), 0, 0, (4, 3), (((0,), (0,)), ((), ()))),
    "both": ((4, 5), 0, 0, (5, 4, 2), (((0, 1), (1, 0)), ((), ()))),
    "outer": ((4, 5), 0, 0, (2,), (((), ()), ((), ()))),
    "blocks": ((4, 5), 0, 1, (5, 3), ADD),
    "rows of blocks": ((4, 5), 0, 1, (4, 3), (((0,), (0,)), ((), ()))),
    "batch": ((2, 4, 5), 1, 0, (2, 5, 3), (((2,), (1,)), ((0,), (0,)))),
    "free batch": ((2, 4, 5), 1, 0, (5, 3), (((2,), (0,)), ((), ()))),
    "contracted batch": ((2, 4, 5), 1, 0, (2, 3), (((0,), (0,)), ((), ()))),
    "all kinds": ((2, 3, 4, 5), 1, 1, (4, 2, 5), (((2, 3), (0, 2)), ((0,), (1,)))),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    shape, n_batch, n_dense, other, numbers = PRODUCTS[name]
    x, y = thin(*shape), jnp.asarray(RNG.normal(size=other).astype(np.float32))
    mat = BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense)
    expected = lax.dot_general(x, y, numbers)
    compiled = tanx.jit(lambda m, y: sparse.bcoo_dot_general(m, y, dimension_numbers=numbers))
    for _ in range(4):
        close(compiled(mat, y), expected)
    swapped = tuple((b, a) for a, b in numbers)
    close(sparse.bcoo_dot_general(y, mat, dimension_numbers=swapped),
          lax.dot_general(y, x, swapped))
    slope = sparse.grad(lambda m: (compiled(m, y) ** 2).sum())(mat)
    full = tanx.grad(lambda x: (lax.dot_general(x, y, numbers) ** 2).sum())(x)
    close(slope, sparse.bcoo_extract(mat, full).todense(), rtol=1e-4)
    by_y = tanx.grad(lambda y: (compiled(mat, y) ** 2).sum())(y)
    close(by_y, tanx.grad(lambda y: (lax.dot_general(x, y, numbers) ** 2).sum())(y), rtol=1e-4)


def test_products_of_sparse_arrays():
    x, y = thin(2, 4, 5), thin(2, 5, 3)
    numbers = (((2,), (1,)), ((0,), (0,)))
    out = sparse.bcoo_dot_general(BCOO.fromdense(x, n_batch=1), BCOO.fromdense(y, n_batch=1),
                                  dimension_numbers=numbers)
    assert isinstance(out, BCOO) and out.n_batch == 1
    close(out, lax.dot_general(x, y, numbers))
    a, b = BCOO.fromdense(x[0]), BCOO.fromdense(x[1])
    close(sparse.bcoo_multiply_sparse(a, b), x[0] * x[1])
    sampled = sparse.bcoo_dot_general_sampled(x[0], y[0], jnp.array([[0, 1], [3, 2], [4, 3]]),
                                              dimension_numbers=ADD)
    full = x[0] @ y[0]
    close(sampled, jnp.array([full[0, 1], full[3, 2], 0.0]))


@pytest.mark.parametrize("options", [
    {"padding": "VALID"}, {"padding": "SAME"}, {"padding": [(1, 2)]},
    {"padding": "VALID", "window_strides": (2,)}, {"padding": "VALID", "rhs_dilation": (2,)},
    {"padding": [(2, 1)], "lhs_dilation": (2,)}], ids=str)
def test_convolutions(options):
    x, w = thin(2, 3, 9), jnp.asarray(RNG.normal(size=(4, 3, 2)).astype(np.float32))
    options = {"window_strides": (1,), **options}
    out = sparse.bcoo_conv_general_dilated(BCOO.fromdense(x, n_batch=1), w, **options)
    close(out, lax.conv_general_dilated(x, w, **options))


def test_batches_are_mapped():
    x = thin(3, 4, 5)
    mat = BCOO.fromdense(x, n_batch=1)
    v = jnp.arange(5.0)
    close(tanx.vmap(lambda m: m @ v)(mat), x @ v)
    out = tanx.vmap(lambda m: m * 2)(mat)
    assert out.shape == (3, 4, 5) and out.n_batch == 1
    close(out, 2 * x)
    close(tanx.vmap(lambda m: m @ v)(BCSR.fromdense(x, n_batch=1)), x @ v)
    with pytest.raises(ValueError, match="batch dimensions"):
        tanx.vmap(lambda m: m @ v)(BCOO.fromdense(x[0]))


def test_jacobians():
    mat, v = BCOO.fromdense(X), jnp.arange(5.0)
    expected = tanx.jacrev(lambda x: x @ v)(X)
    for transform in (sparse.jacfwd, sparse.jacrev, sparse.jacobian):
        found = transform(lambda m: m @ v)(mat)
        assert found.n_batch == 1
        close(found, sparse.todense(tanx.vmap(lambda e: sparse.bcoo_extract(mat, e))(expected)))


MATRICES = {"BCOO": BCOO, "BCSR": BCSR, "COO": COO, "CSR": CSR, "CSC": CSC}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_of_all_formats(name):
    kind = MATRICES[name]
    v, b = jnp.arange(5.0), jnp.asarray(RNG.normal(size=(5, 3)).astype(np.float32))
    for mat in (kind.fromdense(X), kind.fromdense(X, nse=14)):
        close(mat, X)
        assert mat.nse >= int((X != 0).sum()) and mat.shape == X.shape and mat.size == 20
        compiled = tanx.jit(lambda m, v: m @ v)
        for _ in range(4):
            close(compiled(mat, v), X @ v)
        close(mat @ b, X @ b)
        slope = sparse.grad(lambda m: ((m @ v) ** 2).sum())(mat)
        full = tanx.grad(lambda x: ((x @ v) ** 2).sum())(X)
        close(slope, jnp.where(X != 0, full, 0), rtol=1e-4)
        if name != "BCSR":
            close(mat.T, X.T)
        leaves, tree = tanx.tree.flatten(mat)
        close(tanx.tree.unflatten(tree, leaves), X)


@pytest.mark.parametrize("transpose", [False, True])
def test_functions_of_matrices(transpose):
    v = jnp.arange(4.0 if transpose else 5.0)
    full = X.T if transpose else X
    b = jnp.stack([v, 2 * v], 1)
    for mat, matvec, matmat in ((COO.fromdense(X), sparse.coo_matvec, sparse.coo_matmat),
                                (CSR.fromdense(X), sparse.csr_matvec, sparse.csr_matmat)):
        close(matvec(mat, v, transpose), full @ v)
        close(matmat(mat, b, transpose=transpose), full @ b)


@pytest.mark.parametrize("columns", [None, 1, 2, 3, 4, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int32])
def test_columns_out_of_range_are_ignored(columns, dtype):
    """Also where what stands beside them, or next to a row's entries, is not finite."""
    rows, size = 700, 50
    ends = np.r_[0, np.cumsum(RNG.integers(0, 12, rows))].astype(np.int32)
    places = RNG.integers(-2, size + 2, ends[-1]).astype(np.int32)
    places[5::97] = np.iinfo(np.int32).max
    data = (RNG.normal(size=ends[-1]) * 5).astype(dtype)
    v = (RNG.normal(size=(size,) if columns is None else (size, columns)) * 5).astype(dtype)
    inside = (places >= 0) & (places < size)
    numbers = np.repeat(np.arange(rows), np.diff(ends))
    kept = inside & (numbers % 2 == 0)
    expected = scipy.sparse.csr_array(
        (data[inside], (numbers[inside], places[inside])), shape=(rows, size)) @ v
    if dtype == np.float32:  # the odd rows, and the last element, which no even row has
        places[kept & (places == size - 1)] = size
        kept &= places < size
        data[numbers % 2 == 1], v[size - 1] = np.nan, np.inf
        finite = np.where(np.isfinite(v), v, 0)
        expected = scipy.sparse.csr_array(
            (data[kept], (numbers[kept], places[kept])), shape=(rows, size)) @ finite
    compiled = tanx.jit(lambda *parts: CSR(parts[:3], shape=(rows, size)) @ parts[3])
    for _ in range(4):
        got = compiled(data, places, ends, v)
        np.testing.assert_allclose(got[::2], expected[::2], rtol=1e-4, atol=1e-4)
        batch = tanx.vmap(compiled, (None, None, None, 0))(data, places, ends, np.stack([v, v]))
        np.testing.assert_allclose(batch[1, ::2], expected[::2], rtol=1e-4, atol=1e-4)


def test_products_with_any_number_of_threads():
    rows = 3000
    mat = CSR.fromdense(jnp.asarray(np.where(RNG.random((rows, 40)) < 0.3, 1.5, 0), np.float32))
    v = jnp.asarray(RNG.normal(size=40).astype(np.float32))
    compiled, before = tanx.jit(lambda m, v: m @ v), tanx.get_num_threads()
    results = []
    for threads in (1, 2, 3, 4):
        tanx.set_num_threads(threads)
        try:
            results += [np.asarray(compiled(mat, v)) for _ in range(2)]
        finally:
            tanx.set_num_threads(before)
    for result in results:
        np.testing.assert_array_equal(result, results[0])
    np.testing.assert_allclose(results[0], mat.todense() @ v, rtol=1e-4, atol=1e-4)


def test_rows_of_batches():
    x = thin(2, 4, 5)
    mat = BCSR.fromdense(x, n_batch=1)
    assert mat.indptr.shape == (2, 5)
    close(mat, x)
    numbers = (((2,), (1,)), ((0,), (0,)))
    close(sparse.bcsr_dot_general(mat, jnp.ones((2, 5)), dimension_numbers=numbers), x.sum(2))
    close(sparse.bcsr_concatenate([mat, mat], dimension=1), jnp.concatenate([x, x], 1))
    close(sparse.bcsr_extract(mat.indices[0], mat.indptr[0], x[0])[:mat.nse],
          sparse.bcsr_extract(mat.indices, mat.indptr, x)[0])


def test_matrices_of_scipy():
    x = scipy.sparse.random(6, 7, 0.3, "csr", np.float32, np.random.default_rng(0))
    close(BCOO.from_scipy_sparse(x), x.toarray())
    close(BCSR.from_scipy_sparse(x), x.toarray())


def test_padding_and_negative_places():
    mat = BCOO((jnp.array([1.0, 2.0, 4.0]), jnp.array([[7], [-1], [0]])), shape=(3,))
    close(mat, jnp.array([4.0, 0.0, 2.0]))
    padded = BCOO((jnp.ones(3), jnp.array([[0, 0], [0, 9], [9, 0]])), shape=(2, 2))
    one = jnp.zeros((2, 2)).at[0, 0].set(1)
    close(padded, one)
    close(padded @ jnp.ones(2), one.sum(1))
    close(padded.sum(0), one.sum(0))
    close(padded.T, one)
    close(padded.reshape(4), one.ravel())
    close(sparse.bcoo_concatenate([padded, padded], dimension=1), jnp.concatenate([one, one], 1))


@pytest.mark.parametrize("form", MATRICES)
def test_sparse_eye_and_empty(form):
    close(sparse.eye(3, 4, k=-1, sparse_format=form.lower()), jnp.eye(3, 4, -1))
    close(sparse.empty((2, 3), sparse_format=form.lower()), jnp.zeros((2, 3)))


def test_random_arrays():
    mat = sparse.random_bcoo(tanx.random.key(0), (2, 6, 5), nse=0.3, n_batch=1, sorted_indices=True)
    assert mat.nse == 9 and mat.n_batch == 1
    assert all(len(np.unique(np.asarray(i), axis=0)) == 9 for i in mat.indices)
    close(mat.sort_indices(), mat.todense())


@pytest.mark.parametrize("dtype", ["int32", "bfloat16", "float16", "complex64", "bool"])
def test_dtypes(dtype):
    x = jnp.asarray(np.asarray(X) > 0).astype(dtype)
    mat = BCOO.fromdense(x)
    assert mat.dtype == dtype
    assert (mat.todense() == x).all()


def test_systems():
    a = np.asarray(thin(6, 6)) + 5 * np.eye(6, dtype=np.float32)
    rows, b = scipy.sparse.csr_matrix(a), jnp.arange(6.0)
    args = (jnp.asarray(rows.data), jnp.asarray(rows.indices), jnp.asarray(rows.indptr))
    solve = tanx.jit(sparse.linalg.spsolve)
    for _ in range(4):
        np.testing.assert_allclose(solve(*args, b), np.linalg.solve(a, b), rtol=1e-4, atol=1e-5)
    slope = tanx.grad(lambda b: sparse.linalg.spsolve(*args, b).sum())(b)
    np.testing.assert_allclose(slope, np.linalg.solve(a.T, np.ones(6)), rtol=1e-4, atol=1e-5)
    by_data = tanx.grad(lambda d: sparse.linalg.spsolve(d, *args[1:], b).sum())(args[0])
    assert by_data.shape == args[0].shape


@pytest.mark.parametrize("index", [
    jnp.array([0, 2]), jnp.array([[0, 2], [1, 1]]), (slice(None), jnp.array([3, 0])),
    (jnp.array([0, 2]), jnp.array([1, 3])), (slice(1, None), jnp.array([3, -1])),
    (jnp.array([0, 2]), None), np.array([True, False, True])], ids=str)
@pytest.mark.parametrize("layout", [{}, {"n_batch": 1}, {"n_dense": 1}], ids=str)
def test_indices_that_are_arrays(index, layout):
    x = jnp.arange(12.0).reshape(3, 4) % 5
    matrix, want = BCOO.fromdense(x, **layout), np.asarray(x)[index]
    for run in (lambda m: m[index], *[tanx.jit(lambda m: m[index])] * 4):
        got = run(matrix)
        assert isinstance(got, BCOO) and got.shape == want.shape and got.dtype == x.dtype
        np.testing.assert_array_equal(got.todense(), want)
    slopes = tanx.grad(lambda d: matrix.replaced(d)[index].todense().sum())(matrix.data)
    counts = tanx.grad(lambda x: x[index].sum())(x)
    np.testing.assert_array_equal(matrix.replaced(slopes).todense(), jnp.where(x != 0, counts, 0)
                                  if layout != {"n_dense": 1} else counts)


def test_greatest_eigenvalues():
    a = RNG.normal(size=(30, 30))
    a = jnp.asarray((a + a.T).astype(np.float32))
    start = tanx.random.normal(tanx.random.key(0), (30, 3))
    expected = np.linalg.eigvalsh(a)[::-1][:3]
    for matrix in (a, BCOO.fromdense(a), lambda v: a @ v):
        values, vectors, _ = sparse.linalg.lobpcg_standard(matrix, start, m=200)
        np.testing.assert_allclose(values, expected, rtol=1e-3)
        np.testing.assert_allclose(a @ vectors, vectors * values, atol=5e-2)


@pytest.mark.parametrize("call, error, words", [
    (lambda: BCOO((jnp.ones(3), jnp.ones((3, 2), int)), shape=(2,)), AssertionError, "nse"),
    (lambda: BCOO((jnp.ones(3), jnp.ones((2, 1), int)), shape=(2,)), ValueError, "nse"),
    (lambda: BCOO((jnp.ones(3), jnp.ones((3, 1))), shape=(2,)), AssertionError, "integers"),
    (lambda: sparse.bcoo_transpose(BCOO.fromdense(X), permutation=(0, 0)), TypeError, "once"),
    (lambda: sparse.bcoo_concatenate([BCOO.fromdense(X), BCOO.fromdense(X[:, :1])], dimension=0),
     TypeError, "agree"),
    (lambda: sparsify(jnp.exp)(BCOO.fromdense(X)), NotImplementedError, "dense"),
    (lambda: BCOO.fromdense(X) == BCOO.fromdense(X), NotImplementedError, "dense"),
    (lambda: sparsify(lambda x: 1 / x)(BCOO.fromdense(X)), NotImplementedError, "zeros"),
    (lambda: CSR.fromdense(X) + CSR.fromdense(X), NotImplementedError, "not support this"),
    (lambda: CSR.fromdense(X) @ jnp.ones(4), ValueError, "inner dimensions"),
    (lambda: BCSR.fromdense(X[0]), ValueError, "two sparse dimensions"),
    (lambda: BCSR.fromdense(X).T, NotImplementedError, "by columns"),
    (lambda: BCOO.fromdense(X, n_batch=1).T, NotImplementedError, "groups"),
    (lambda: tanx.jit(lambda m: m.sum_duplicates())(BCOO.fromdense(X)), ValueError, "nse"),
    (lambda: sparse.random_bcoo(tanx.random.key(0), (2, 2), nse=9), ValueError, "nse must"),
    (lambda: sparse.eye(2, sparse_format="foo"), ValueError, "no such format"),
    (lambda: sparse.bcoo_extract(BCOO.fromdense(X), X[0]), ValueError, "same shape"),
    (lambda: sparse.linalg.lobpcg_standard(jnp.eye(4), jnp.ones((4, 2))), ValueError, "columns"),
    (lambda: hash(BCOO.fromdense(X)), TypeError, "unhashable"),
])
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call()
