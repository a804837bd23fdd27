"""Operations on sparse arrays as primitives on the arrays that they store.

Each is equivalent to the function of that name, on the stored arrays, for programs that bind
primitives. The rules for derivatives and batches transform the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import numpy as jnp
from ..._base.tuples import NamedTuple
from ..._extend.jaxprs import abstract_eval_fun
from ..._extend.lowering import lower_fun, register_lowering
from ..._extend.primitive import Primitive
from ..._transforms.jvp import jvp as run_jvp
from ..._transforms.vmap import Axis
from ..._transforms.vmap import batch as run_batch
from ...numpy._promotion import typeof
from ...tree_util import tree_unflatten
from ._bcoo import (
    BCOO,
    bcoo_extract,
    bcoo_fromdense,
    bcoo_sort_indices,
    bcoo_sum_duplicates,
    extracted,
)
from ._bcoo_layout import bcoo_transpose
from ._bcoo_product import bcoo_dot_general, bcoo_dot_general_sampled
from .bcsr import BCSR, bcsr_dot_general, bcsr_extract, bcsr_fromdense
from .coo import COO, coo_fromdense
from .csr import CSR, csr_fromdense

__all__ = [
    "COOInfo", "SparseInfo", "bcoo_dot_general_p", "bcoo_dot_general_sampled_p", "bcoo_extract_p",
    "bcoo_fromdense_p", "bcoo_sort_indices_p", "bcoo_spdot_general_p", "bcoo_sum_duplicates_p",
    "bcoo_todense_p", "bcoo_transpose_p", "bcsr_dot_general_p", "bcsr_extract_p",
    "bcsr_fromdense_p", "bcsr_todense_p", "coo_fromdense_p", "coo_matmat_p", "coo_matvec_p",
    "coo_todense_p", "csr_fromdense_p", "csr_todense_p", "todense_p"]


class SparseInfo(NamedTuple):
    """The shape and flags of a sparse array, without its stored arrays."""

    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


class COOInfo(NamedTuple):
    """The shape and flags of a COO matrix, without its stored arrays."""

    shape: tuple[int, ...]
    rows_sorted: bool = False
    cols_sorted: bool = False


def _primitive(name: str, function: Callable, multiple_results: bool = False) -> Primitive:
    """Make a primitive from a function of arrays."""
    p = Primitive(name)
    p.multiple_results = multiple_results

    def flat(params: dict[str, Any]) -> Callable:
        def run(*args) -> list:
            out = function(*args, **params)
            return list(out) if multiple_results else [out]
        return run

    def single(outs: list) -> Any:
        return outs if multiple_results else outs[0]

    def jvp(primals, tangents, **params):
        outs, out_tangents = run_jvp(flat(params), primals, tangents)
        return single(outs), single(out_tangents)

    def batch(args, dims, **params):
        size = next(typeof(x).shape[d] for x, d in zip(args, dims) if d is not None)
        outs, found = run_batch(flat(params), Axis(None, size), args, dims)
        return single(outs), single(found)

    p.def_impl(lambda *args, **params: single(flat(params)(*map(jnp.asarray, args))))
    p.def_abstract_eval(lambda *types, **params: single(abstract_eval_fun(flat(params), *types)))
    register_lowering(p, lower_fun(function, multiple_results))
    p.jvp, p.batch = jvp, batch  # type: ignore[method-assign]
    return p


# -- BCOO ------------------------------------------------------------------------------------------


def _bcoo(data, indices, spinfo) -> BCOO:
    return BCOO((data, indices), shape=spinfo.shape, indices_sorted=spinfo.indices_sorted,
                unique_indices=spinfo.unique_indices)


def _parts(mat: BCOO) -> list:
    return [mat.data, mat.indices]


def _extract(indices, arr, *, assume_unique):
    data = extracted(indices, arr, indices.ndim - 2)
    return data if assume_unique else bcoo_extract(
        BCOO((data, indices), shape=arr.shape), arr, assume_unique=False).data


bcoo_todense_p = _primitive(
    "bcoo_todense", lambda data, indices, *, spinfo: _bcoo(data, indices, spinfo).todense())
bcoo_fromdense_p = _primitive(
    "bcoo_fromdense", lambda mat, **params: _parts(bcoo_fromdense(mat, **params)), True)
bcoo_extract_p = _primitive("bcoo_extract", _extract)
bcoo_sort_indices_p = _primitive(
    "bcoo_sort_indices", lambda data, indices, *, spinfo: _parts(
        bcoo_sort_indices(_bcoo(data, indices, spinfo))), True)
bcoo_sum_duplicates_p = _primitive(
    "bcoo_sum_duplicates", lambda data, indices, *, spinfo, nse: _parts(
        bcoo_sum_duplicates(_bcoo(data, indices, spinfo), nse)), True)
bcoo_transpose_p = _primitive(
    "bcoo_transpose", lambda data, indices, *, permutation, spinfo: _parts(
        bcoo_transpose(_bcoo(data, indices, spinfo), permutation=permutation)), True)
bcoo_dot_general_p = _primitive(
    "bcoo_dot_general", lambda data, indices, rhs, *, lhs_spinfo, **params: bcoo_dot_general(
        _bcoo(data, indices, lhs_spinfo), rhs, **params))
bcoo_spdot_general_p = _primitive(
    "bcoo_spdot_general",
    lambda lhs_data, lhs_indices, rhs_data, rhs_indices, *, lhs_spinfo, rhs_spinfo, **params:
        _parts(bcoo_dot_general(_bcoo(lhs_data, lhs_indices, lhs_spinfo),
                                _bcoo(rhs_data, rhs_indices, rhs_spinfo), **params)), True)
bcoo_dot_general_sampled_p = _primitive("bcoo_dot_general_sampled", bcoo_dot_general_sampled)


# -- BCSR ------------------------------------------------------------------------------------------


def _bcsr(data, indices, indptr, spinfo) -> BCSR:
    return BCSR((data, indices, indptr), shape=spinfo.shape)


def _rows(mat) -> list:
    return [mat.data, mat.indices, mat.indptr]


bcsr_todense_p = _primitive(
    "bcsr_todense", lambda data, indices, indptr, *, spinfo: _bcsr(
        data, indices, indptr, spinfo).todense())
bcsr_fromdense_p = _primitive(
    "bcsr_fromdense", lambda mat, **params: _rows(bcsr_fromdense(mat, **params)), True)
bcsr_extract_p = _primitive("bcsr_extract", bcsr_extract)
bcsr_dot_general_p = _primitive(
    "bcsr_dot_general", lambda data, indices, indptr, rhs, *, lhs_spinfo, **params:
        bcsr_dot_general(_bcsr(data, indices, indptr, lhs_spinfo), rhs, **params))


# -- matrices --------------------------------------------------------------------------------------


def _coo(data, row, col, spinfo) -> COO:
    return COO((data, row, col), shape=spinfo.shape, rows_sorted=spinfo.rows_sorted,
               cols_sorted=spinfo.cols_sorted)


def _product(data, row, col, rhs, *, spinfo, transpose):
    mat = _coo(data, row, col, spinfo)
    return (mat.T if transpose else mat) @ rhs


def _entries(mat: COO) -> list:
    return [mat.data, mat.row, mat.col]


coo_todense_p = _primitive(
    "coo_todense", lambda data, row, col, *, spinfo: _coo(data, row, col, spinfo).todense())
coo_fromdense_p = _primitive(
    "coo_fromdense", lambda mat, **params: _entries(coo_fromdense(mat, **params)), True)
coo_matvec_p = _primitive("coo_matvec", _product)
coo_matmat_p = _primitive("coo_matmat", _product)
csr_todense_p = _primitive(
    "csr_todense", lambda data, indices, indptr, *, shape: CSR(
        (data, indices, indptr), shape=shape).todense())
csr_fromdense_p = _primitive(
    "csr_fromdense", lambda mat, **params: _rows(csr_fromdense(mat, **params)), True)
todense_p = _primitive("todense", lambda *bufs, tree: tree_unflatten(tree, bufs).todense())
