"""Products of BCOO arrays with dense arrays and with each other, and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ... import lax
from ... import numpy as jnp
from ..._api.batching import vmap
from ...errors import explain
from ._base import over_batch
from ._bcoo import BCOO, bcoo_extract, columns, extracted, in_range
from ._bcoo_layout import bcoo_broadcast_in_dim, bcoo_update_layout

__all__ = ["bcoo_conv_general_dilated", "bcoo_dot_general", "bcoo_dot_general_sampled",
           "bcoo_multiply_dense", "bcoo_multiply_sparse"]


def _name(function: str) -> str:
    return f"tanx.experimental.sparse.{function}"


def bcoo_dot_general(lhs, rhs, *, dimension_numbers, precision=None, preferred_element_type=None,
                     out_sharding=None):
    """A contraction, as by :func:`tanx.lax.dot_general`, with one or two sparse operands.

    The result is dense, unless both are sparse.

    >>> from tanx.experimental.sparse import BCOO, bcoo_dot_general
    >>> bcoo_dot_general(BCOO.fromdense(jnp.eye(2)), jnp.array([1.0, 2.0]),
    ...                  dimension_numbers=(((1,), (0,)), ((), ())))
    Array([1., 2.], dtype=float32)
    """
    (lc, rc), (lb, rb) = ((tuple(map(int, a)), tuple(map(int, b))) for a, b in dimension_numbers)
    if not isinstance(lhs, BCOO) and not isinstance(rhs, BCOO):
        return lax.dot_general(lhs, rhs, dimension_numbers, precision=precision,
                               preferred_element_type=preferred_element_type)
    for x, y in ((lc, rc), (lb, rb)):
        if len(x) != len(y) or any(lhs.shape[i] != rhs.shape[j] for i, j in zip(x, y)):
            raise TypeError(explain(
                _name("bcoo_dot_general"), "paired dimensions must have equal sizes.",
                f"lhs: {lhs.shape}", f"rhs: {rhs.shape}", f"dimensions: {dimension_numbers}"))
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        out = _sparse_product(lhs, rhs, lc, rc, lb, rb)
        return out if preferred_element_type is None else out.astype(preferred_element_type)
    if isinstance(lhs, BCOO):
        out = _dense_product(lhs, jnp.asarray(rhs), lc, rc, lb, rb)
    else:
        swapped = _dense_product(rhs, jnp.asarray(lhs), rc, lc, rb, lb)
        own = rhs.ndim - len(rc) - len(rb)
        n = len(lb)
        out = jnp.transpose(swapped, (*range(n), *range(n + own, swapped.ndim), *range(n, n + own)))
    return out if preferred_element_type is None else out.astype(preferred_element_type)


def _dense_product(lhs: BCOO, rhs, lc, rc, lb, rb):
    """A sparse array times a dense one: dimensions of batches, then of lhs, then of rhs."""
    dtype = jnp.promote_types(lhs.dtype, rhs.dtype)
    b, s = lhs.n_batch, lhs.n_batch + lhs.n_sparse
    partner = dict(zip((*lc, *lb), (*rc, *rb)))
    if any(d >= b for d in lb):
        raise NotImplementedError(explain(
            _name("bcoo_dot_general"), "batch dimensions of a product must be those of the array.",
            f"array: {lhs}", f"batch dimensions: {lb}"))
    along = [d for d in (*range(b), *range(b, s), *range(s, lhs.ndim)) if d in partner]
    free = [d for d in range(rhs.ndim) if d not in (*rc, *rb)]
    rhs = jnp.transpose(rhs, [*(partner[d] for d in along), *free]).astype(dtype)
    inner = _Inner(lhs, [d - b for d in along if b <= d < s], [d - s for d in along if d >= s])

    def fun(data, indices, other):
        return inner(data, indices, other)
    data, indices = lhs.data.astype(dtype), lhs.indices
    lead = lhs.shape[:b]
    data = jnp.broadcast_to(data, lead + data.shape[b:])
    indices = jnp.broadcast_to(indices, lead + indices.shape[b:])
    for d in reversed(range(b)):
        fun = vmap(fun, in_axes=(0, 0, 0 if d in partner else None))
    out = fun(data, indices, rhs)
    out = jnp.transpose(out, [*lb, *(d for d in range(b) if d not in lb), *range(b, out.ndim)])
    contracted = [d for d in range(b) if d in lc]
    places = [*lb, *(d for d in range(b) if d not in lb)]
    return out.sum(tuple(places.index(d) for d in contracted)).astype(dtype)


class _Inner:
    """The product of one batch: the contracted sparse and dense dimensions."""

    def __init__(self, lhs: BCOO, sparse: Sequence[int], dense: Sequence[int]):
        sizes = lhs.shape[lhs.n_batch:lhs.n_batch + lhs.n_sparse]
        self.sparse, self.dense = tuple(sparse), tuple(dense)
        self.kept = [k for k in range(len(sizes)) if k not in sparse]
        self.sizes = tuple(sizes[k] for k in self.kept)
        self.ordered = lhs.indices_sorted and self.kept == list(range(len(self.kept)))

    def __call__(self, data, indices, rhs):
        if self.sparse:
            rhs = rhs.at[tuple(indices[:, k] for k in self.sparse)].get(mode="fill", fill_value=0)
            terms = self.entries(data, rhs)
        else:
            terms = jnp.tensordot(data, rhs, ([d + 1 for d in self.dense],
                                              list(range(len(self.dense)))))
        if not self.kept:
            return terms.sum(0)
        places = tuple(indices[:, k] for k in self.kept)
        out = jnp.zeros(self.sizes + terms.shape[1:], terms.dtype)
        return out.at[places].add(terms, mode="drop", indices_are_sorted=self.ordered)

    def entries(self, data, rhs):
        """The product of each entry with the element at its position in the other array."""
        if self.dense:
            return lax.dot_general(data, rhs, (
                ([d + 1 for d in self.dense], list(range(1, len(self.dense) + 1))), ([0], [0])))
        own, other = data.ndim - 1, rhs.ndim - 1
        return (data.reshape(*data.shape, *(1,) * other)
                * rhs.reshape(rhs.shape[0], *(1,) * own, *rhs.shape[1:]))


def _sparse_product(lhs: BCOO, rhs: BCOO, lc, rc, lb, rb) -> BCOO:
    """The product of two sparse arrays: each entry of one is compared with each of the other."""
    n = len(lb)
    if lhs.n_dense or rhs.n_dense or lb != tuple(range(n)) or rb != tuple(range(n)):
        raise NotImplementedError(explain(
            _name("bcoo_dot_general"), "products of two sparse arrays take leading batch "
            "dimensions and no dense ones.", f"lhs: {lhs}", f"rhs: {rhs}"))
    lhs, rhs = bcoo_update_layout(lhs, n_batch=n), bcoo_update_layout(rhs, n_batch=n)
    mine = [d - n for d in range(n, lhs.ndim) if d not in lc]
    theirs = [d - n for d in range(n, rhs.ndim) if d not in rc]
    sizes = tuple(lhs.shape[n + k] for k in mine) + tuple(rhs.shape[n + k] for k in theirs)

    def one(data, indices, other, places):
        pairs = (len(data), len(other))
        fits = in_range(indices, lhs.shape[n:])[:, None] & in_range(places, rhs.shape[n:])
        for i, j in zip(lc, rc):
            fits &= indices[:, None, i - n] == places[None, :, j - n]
        found = [jnp.broadcast_to(indices[:, None, k], pairs) for k in mine]
        found += [jnp.broadcast_to(places[None, :, k].astype(indices.dtype), pairs) for k in theirs]
        cells = [jnp.where(fits, x, size).ravel() for x, size in zip(found, sizes)]
        stacked = (jnp.stack(cells, -1) if cells
                   else jnp.zeros((pairs[0] * pairs[1], 0), indices.dtype))
        return jnp.where(fits, data[:, None] * other, 0).ravel(), stacked
    data, indices = over_batch(one, n, lhs.data, lhs.indices, rhs.data, rhs.indices)
    out = BCOO((data, indices), shape=lhs.shape[:n] + sizes)
    return out.sum_duplicates(min(out.nse, max(1, prod(sizes))), remove_zeros=False)


def bcoo_dot_general_sampled(A, B, indices, *, dimension_numbers):
    """Elements of a product of dense arrays, at indices of its last dimensions.

    >>> from tanx.experimental.sparse import bcoo_dot_general_sampled
    >>> bcoo_dot_general_sampled(jnp.ones((2, 3)), jnp.ones((3, 2)), jnp.array([[0, 1]]),
    ...                          dimension_numbers=(((1,), (0,)), ((), ())))
    Array([3.], dtype=float32)
    """
    (lc, rc), (lb, rb) = dimension_numbers
    A, B = jnp.asarray(A), jnp.asarray(B)
    n = indices.ndim - 2
    simple = not lb and not n and A.ndim == 2 == B.ndim and len(lc) == 1
    if simple and indices.shape[-1] == 2:
        a = jnp.moveaxis(A, lc[0], 1).at[indices[:, 0]].get(mode="fill", fill_value=0)
        b = jnp.moveaxis(B, rc[0], 1).at[indices[:, 1]].get(mode="fill", fill_value=0)
        return (a * b).sum(1)
    return extracted(indices, lax.dot_general(A, B, dimension_numbers), n)


# -- element by element ----------------------------------------------------------------------------


def bcoo_multiply_dense(sp_mat: BCOO, v) -> BCOO:
    """A sparse array times a dense one, element by element; the dense one may broadcast.

    >>> from tanx.experimental.sparse import BCOO, bcoo_multiply_dense
    >>> bcoo_multiply_dense(BCOO.fromdense(jnp.eye(2)), jnp.array([3.0, 4.0])).data
    Array([3., 4.], dtype=float32)
    """
    v = jnp.asarray(v)
    if v.ndim == 0:
        return sp_mat.replaced(sp_mat.data * v)
    shape = jnp.broadcast_shapes(sp_mat.shape, v.shape)
    if shape != sp_mat.shape:
        sp_mat = bcoo_broadcast_in_dim(
            sp_mat, shape=shape,
            broadcast_dimensions=range(len(shape) - sp_mat.ndim, len(shape)))
    b, s = sp_mat.n_batch, sp_mat.n_batch + sp_mat.n_sparse
    v = v.reshape((1,) * (len(shape) - v.ndim) + v.shape)

    def factors(indices, v):
        """The elements at indices; along a dimension of size 1 its only element."""
        at = tuple(jnp.where(c < n, 0, m) if m == 1 else c for c, m, n in zip(
            columns(indices), v.shape, shape[b:s]))
        return v.at[at].get(mode="fill", fill_value=0) if at else v[None]
    data = sp_mat.data * over_batch(factors, b, sp_mat.indices, v)
    return BCOO((data, sp_mat.indices), shape=shape, indices_sorted=sp_mat.indices_sorted,
                unique_indices=sp_mat.unique_indices)


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The product of two sparse arrays, element by element.

    >>> from tanx.experimental.sparse import BCOO, bcoo_multiply_sparse
    >>> x = BCOO.fromdense(jnp.array([0.0, 2.0, 3.0]))
    >>> bcoo_multiply_sparse(x, x).todense()
    Array([0., 4., 9.], dtype=float32)
    """
    shape = jnp.broadcast_shapes(lhs.shape, rhs.shape)
    lhs, rhs = (x if x.shape == shape else bcoo_broadcast_in_dim(
        x, shape=shape, broadcast_dimensions=range(len(shape) - x.ndim, len(shape)))
        for x in (lhs, rhs))
    if lhs.n_batch != rhs.n_batch or lhs.n_dense != rhs.n_dense:
        n_batch, n_dense = min(lhs.n_batch, rhs.n_batch), min(lhs.n_dense, rhs.n_dense)
        lhs, rhs = (bcoo_update_layout(x, n_batch=n_batch, n_dense=n_dense) for x in (lhs, rhs))
    b = lhs.n_batch
    inner = prod(shape[b:b + lhs.n_sparse])
    if inner <= lhs.nse * rhs.nse:  # a dense array is smaller than a table of pairs
        found = bcoo_extract(lhs, rhs.todense(), assume_unique=True).data
        return lhs.replaced(lhs.data * found)

    def matching(indices, places, other):
        same = jnp.all(indices[:, None] == places, -1)
        return jnp.tensordot(same.astype(other.dtype), other, 1)
    found = over_batch(matching, b, lhs.indices, rhs.indices, rhs.data)
    return lhs.replaced(lhs.data * found)


def bcoo_conv_general_dilated(lhs: BCOO, rhs, *, window_strides, padding, lhs_dilation=None,
                              rhs_dilation=None, dimension_numbers=None, feature_group_count=1,
                              batch_group_count=1, precision=None, preferred_element_type=None,
                              out_sharding=None) -> BCOO:
    """A convolution of a sparse sequence, ``(N, C, width)``, with dense filters.

    >>> from tanx.experimental.sparse import BCOO, bcoo_conv_general_dilated
    >>> x = BCOO.fromdense(jnp.array([[[0.0, 1.0, 0.0, 2.0]]]))
    >>> bcoo_conv_general_dilated(x, jnp.ones((1, 1, 2)), window_strides=(1,),
    ...                           padding="VALID").todense()
    Array([[[1., 1., 2.]]], dtype=float32)
    """
    rhs = jnp.asarray(rhs)
    plain = dimension_numbers in (None, ("NCH", "OIH", "NCH"), ("NCW", "OIW", "NCW"))
    if lhs.ndim != 3 or feature_group_count != 1 or batch_group_count != 1 or not plain:
        raise NotImplementedError(explain(
            _name("bcoo_conv_general_dilated"), "takes sequences (N, C, width) without groups.",
            f"lhs: {lhs}", f"rhs: {rhs.shape}", hint="x.todense() can be convolved in any way."))
    lhs = bcoo_update_layout(lhs, n_batch=1 if lhs.n_batch else 0, n_dense=0)
    lhs = bcoo_update_layout(lhs, n_batch=1, on_inefficient=None)
    (stride,), (spread,), (holes,) = window_strides, lhs_dilation or (1,), rhs_dilation or (1,)
    count, channels, width = lhs.shape
    outs, _, taps = rhs.shape
    reach = (taps - 1) * holes + 1
    pads = lax.padtype_to_pads(((width - 1) * spread + 1,), (reach,), (stride,), padding) \
        if isinstance(padding, str) else padding
    (low, high), = pads
    size = max(0, ((width - 1) * spread + 1 + low + high - reach) // stride + 1)

    def one(data, indices):
        """Each entry contributes to one output per tap and channel, if the strides reach it."""
        place = indices[:, 1, None] * spread + low - jnp.arange(taps) * holes
        valid = in_range(indices, (channels, width))[:, None] & (place % stride == 0) & (
            place >= 0) & (place // stride < size)
        place = jnp.where(valid, place // stride, size)
        terms = data[:, None, None] * jnp.transpose(
            rhs.at[:, indices[:, 0]].get(mode="fill", fill_value=0), (1, 0, 2))
        pairs = terms.shape
        cells = [jnp.broadcast_to(x, pairs).ravel() for x in (
            jnp.arange(outs)[None, :, None], place[:, None, :])]
        return jnp.where(valid[:, None, :], terms, 0).ravel(), jnp.stack(cells, -1)
    data, indices = over_batch(one, 1, lhs.data, lhs.indices)
    out = BCOO((data, indices), shape=(count, outs, size))
    return out if preferred_element_type is None else out.astype(preferred_element_type)
