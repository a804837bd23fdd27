"""Operations on sparse arrays as primitives on the stored arrays."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.experimental import sparse as sp

DENSE = np.float32([[0, 1, 2], [3, 0, 0]])
BCOO, BCSR, COO, CSR = (kind.fromdense(DENSE) for kind in (sp.BCOO, sp.BCSR, sp.COO, sp.CSR))
INFO, ENTRIES = sp.SparseInfo((2, 3), True, True), sp.COOInfo((2, 3), True)
PRODUCT = {"dimension_numbers": (((1,), (0,)), ((), ())), "preferred_element_type": None}
V, M = np.float32([1, 2, 3]), np.ones((3, 2), np.float32)
HOW = {"nse": 3, "n_batch": 0, "n_dense": 0, "index_dtype": np.int32}
TURNED = np.ascontiguousarray(DENSE.T)


def bcoo(parts, shape):
    return sp.BCOO(tuple(parts), shape=shape).todense()


CASES = {
    "bcoo_todense": ((BCOO.data, BCOO.indices), {"spinfo": INFO}, DENSE),
    "bcoo_fromdense": ((DENSE,), HOW, lambda *p: bcoo(p, (2, 3)), DENSE),
    "bcoo_extract": ((BCOO.indices, 2 * DENSE), {"assume_unique": True}, np.float32([2, 4, 6])),
    "bcoo_sort_indices": ((BCOO.data, BCOO.indices), {"spinfo": INFO},
                          lambda *p: bcoo(p, (2, 3)), DENSE),
    "bcoo_sum_duplicates": ((BCOO.data, BCOO.indices), {"spinfo": INFO, "nse": 3},
                            lambda *p: bcoo(p, (2, 3)), DENSE),
    "bcoo_transpose": ((BCOO.data, BCOO.indices), {"spinfo": INFO, "permutation": (1, 0)},
                       lambda *p: bcoo(p, (3, 2)), TURNED),
    "bcoo_dot_general": ((BCOO.data, BCOO.indices, V), {"lhs_spinfo": INFO, **PRODUCT}, DENSE @ V),
    "bcoo_spdot_general": (
        (BCOO.data, BCOO.indices, BCOO.T.data, BCOO.T.indices),
        {"lhs_spinfo": INFO, "rhs_spinfo": sp.SparseInfo((3, 2)), **PRODUCT},
        lambda *p: bcoo(p, (2, 2)), DENSE @ TURNED),
    "bcoo_dot_general_sampled": ((DENSE, M, np.int32([[0, 1], [1, 0]])),
                                 {"dimension_numbers": PRODUCT["dimension_numbers"]},
                                 np.float32([3, 3])),
    "bcsr_todense": ((BCSR.data, BCSR.indices, BCSR.indptr), {"spinfo": INFO}, DENSE),
    "bcsr_fromdense": ((DENSE,), HOW, lambda *p: sp.BCSR(p, shape=(2, 3)).todense(), DENSE),
    "bcsr_extract": ((BCSR.indices, BCSR.indptr, 2 * DENSE), {}, np.float32([2, 4, 6])),
    "bcsr_dot_general": ((BCSR.data, BCSR.indices, BCSR.indptr, V),
                         {"lhs_spinfo": INFO, **PRODUCT}, DENSE @ V),
    "coo_todense": ((COO.data, COO.row, COO.col), {"spinfo": ENTRIES}, DENSE),
    "coo_fromdense": ((DENSE,), {"nse": 3, "index_dtype": np.int32},
                      lambda *p: sp.COO(p, shape=(2, 3)).todense(), DENSE),
    "coo_matvec": ((COO.data, COO.row, COO.col, V), {"spinfo": ENTRIES, "transpose": False},
                   DENSE @ V),
    "coo_matmat": ((COO.data, COO.row, COO.col, np.float32([[1], [2]])),
                   {"spinfo": ENTRIES, "transpose": True}, TURNED @ np.float32([[1], [2]])),
    "csr_todense": ((CSR.data, CSR.indices, CSR.indptr), {"shape": (2, 3)}, DENSE),
    "csr_fromdense": ((DENSE,), {"nse": 3, "index_dtype": np.int32},
                      lambda *p: sp.CSR(p, shape=(2, 3)).todense(), DENSE),
    "todense": ((BCOO.data, BCOO.indices), {"tree": tanx.tree.structure(BCOO)}, DENSE),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    args, params, *seen, want = CASES[name]
    primitive = getattr(sp, name + "_p")
    look = seen[0] if seen else lambda *p: p[0]

    def run(*args):
        out = primitive.bind(*args, **params)
        return look(*out) if primitive.multiple_results else out

    compiled = tanx.jit(run)
    for got in (run(*args), *(compiled(*args) for _ in range(4))):
        assert np.array_equal(got, want) and got.dtype == want.dtype and not got.weak_type
    assert name in str(tanx.make_jaxpr(lambda *xs: primitive.bind(*xs, **params))(*args))


def test_derivatives_and_batches():
    def f(data, v):
        return sp.bcoo_dot_general_p.bind(data, BCOO.indices, v, lhs_spinfo=INFO, **PRODUCT).sum()

    data, v = tanx.grad(f, argnums=(0, 1))(BCOO.data, V)
    assert data.tolist() == [2.0, 3.0, 1.0] and v.tolist() == [3.0, 1.0, 2.0]
    batched = tanx.jit(tanx.vmap(f, in_axes=(None, 0)))
    for _ in range(4):
        assert batched(BCOO.data, jnp.stack([V, 2 * V])).tolist() == [11.0, 22.0]
