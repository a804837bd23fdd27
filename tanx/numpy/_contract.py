"""Products of vectors, matrices and tensors: sums of products over pairs of dimensions.

Each is one ``dot_general``. Operands of different dtypes are passed unconverted; the result has
the dtype that both promote to, and so have the sums if it is wider. Sums of products in Einstein's
notation are in ``_einsum``.
"""

from __future__ import annotations

import operator
from functools import lru_cache

from .. import dtypes
from .._api.jit import library_jit
from .._base.axes import canonical_axes, canonical_axis
from .._base.tuples import NamedTuple
from ..errors import explain
from ..lax import _functions as lax
from ._assemble import flip
from ._complex import conj
from ._creation import array, zeros_like
from ._math import multiply, subtract
from ._promotion import as_operand, convert, promote_dtypes, typeof
from ._reduce import refuse_out
from ._shape import moveaxis, ravel

__all__ = ["convolve", "correlate", "cross", "dot", "inner", "kron", "matmul", "matvec", "outer",
           "tensordot", "vdot", "vecdot", "vecmat"]


# -- one product -----------------------------------------------------------------------------------


def product(function: str, a, b, dimension_numbers, precision=None, preferred_element_type=None,
            out_sharding=None):
    """``dot_general`` of two arrays, in the dtype that they promote to unless one is preferred."""
    (summed_a, summed_b), _ = dimension_numbers
    x, y = a.aval, b.aval
    if [x.shape[d] for d in summed_a] != [y.shape[d] for d in summed_b]:
        raise TypeError(explain(
            f"tanx.numpy.{function}", "dimensions summed over must have the same sizes.",
            f"a: {x}, dimensions {tuple(summed_a)}", f"b: {y}, dimensions {tuple(summed_b)}",
            hint="x.mT swaps the last two dimensions; tanx.numpy.einsum names them all."))
    weak = False
    if preferred_element_type is not None:
        dtype = dtypes.requested_dtype(preferred_element_type, f"tanx.numpy.{function}")
    elif x.dtype == y.dtype and not (x.weak_type or y.weak_type):
        dtype = x.dtype
    else:
        dtype, weak = dtypes.result_type(a, b, return_weak_type_flag=True)
        # A weakly typed number next to int8 becomes int8; as int32 it would widen the sums.
        a = convert(a, dtype, x.weak_type) if x.weak_type else a
        b = convert(b, dtype, y.weak_type) if y.weak_type else b
    out = lax.dot_general(a, b, dimension_numbers, precision, dtype, out_sharding=out_sharding)
    return convert(out, dtype, weak)


def dot(a, b, *, precision=None, preferred_element_type=None, out_sharding=None):
    """The product of vectors and matrices; for arrays of more dimensions, of all pairs of them.

    Sums over the last dimension of ``a`` and the second to last of ``b`` (the only one of a
    vector); the other dimensions of ``a`` come first in the result, then those of ``b``. With a
    scalar, the product of each element. See :func:`matmul` for stacks of matrices.

    >>> jnp.dot(jnp.array([[1., 2.], [3., 4.]]), jnp.array([1., 10.]))
    Array([21., 43.], dtype=float32)
    """
    a, b = as_operand("dot", a), as_operand("dot", b)
    m, n = len(a.shape), len(b.shape)
    summed = ((m - 1,), (n - 2 if n > 1 else 0,)) if m and n else ((), ())
    return product("dot", a, b, (summed, ((), ())), precision, preferred_element_type,
                   out_sharding)


def inner(a, b, *, precision=None, preferred_element_type=None):
    """The sum of products over the last dimensions of ``a`` and ``b``, for all pairs of the rest.

    >>> jnp.inner(jnp.array([1., 2.]), jnp.array([[3., 4.], [5., 6.]]))
    Array([11., 17.], dtype=float32)
    """
    x, y = as_operand("inner", a), as_operand("inner", b)
    if not (x.shape and y.shape):
        return multiply(a, b)
    return product("inner", x, y, (((x.ndim - 1,), (y.ndim - 1,)), ((), ())), precision,
                   preferred_element_type)


def vdot(a, b, *, precision=None, preferred_element_type=None):
    """The sum of ``conj(a) * b`` over all elements.

    >>> jnp.vdot(jnp.array([1j, 2]), jnp.array([1j, 3]))
    Array(7.+0.j, dtype=complex64)
    """
    a, b = as_operand("vdot", a), as_operand("vdot", b)
    return product("vdot", ravel(_conjugated(a)), ravel(b), (((0,), (0,)), ((), ())), precision,
                   preferred_element_type)


def _conjugated(x):
    return conj(x) if x.dtype.kind == "c" else x


def outer(a, b, out=None):
    """The products of each element of ``a`` with each of ``b``: rows for ``a``, columns for ``b``.

    >>> jnp.outer(jnp.array([1, 2]), jnp.array([1, 2, 3]))
    Array([[1, 2, 3],
           [2, 4, 6]], dtype=int32)
    """
    refuse_out("outer", out)
    a, b = promote_dtypes(as_operand("outer", a), as_operand("outer", b))
    times = lax.bitwise_and if a.dtype.kind == "b" else lax.mul
    return times(lax.expand_dims(ravel(a), (1,)), lax.expand_dims(ravel(b), (0,)))


def tensordot(a, b, axes=2, *, precision=None, preferred_element_type=None, out_sharding=None):
    """The sum of products over some dimensions of ``a`` and ``b``, for all pairs of the rest.

    ``axes`` is the number of dimensions, the last ones of ``a`` and the first ones of ``b``; or a
    pair of dimensions, or of equally long sequences of them.

    >>> jnp.tensordot(jnp.ones((2, 3, 4)), jnp.ones((3, 5)), axes=(1, 0)).shape
    (2, 4, 5)
    """
    a, b = as_operand("tensordot", a), as_operand("tensordot", b)
    return product("tensordot", a, b, (_summed_axes(a, b, axes), ((), ())), precision,
                   preferred_element_type, out_sharding)


def _summed_axes(a, b, axes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    def wrong(rule):
        return TypeError(explain("tanx.numpy.tensordot", rule, f"a: {typeof(a)}",
                                 f"b: {typeof(b)}", f"axes: {axes!r}"))

    if isinstance(axes, tuple | list) and len(axes) == 2:
        pair = canonical_axes("tensordot", axes[0], a), canonical_axes(
            "tensordot", axes[1], b)
        if len(pair[0]) != len(pair[1]):
            raise wrong("both sides must sum over the same number of dimensions.")
        return pair
    try:
        count = operator.index(axes)
    except TypeError:
        raise wrong("axes must be a number or a pair.") from None
    if count > min(a.ndim, b.ndim):
        raise wrong("there are fewer dimensions than axes says.")
    count = max(count, 0)
    return tuple(range(a.ndim - count, a.ndim)), tuple(range(count))


# -- products of stacks ----------------------------------------------------------------------------


class _Stacks(NamedTuple):
    """How to multiply two stacks of vectors or matrices whose leading dimensions broadcast."""

    squeezed_a: tuple[int, ...]
    squeezed_b: tuple[int, ...]
    dimension_numbers: tuple
    permutation: tuple[int, ...] | None
    expanded: tuple[int, ...]


@lru_cache(maxsize=4096)
def _stacks(shape_a, shape_b, rows: int, columns: int) -> _Stacks | None:
    """The steps for ``a`` of shape ``(*batch, rows?, n)`` and ``b`` of ``(*batch, n, columns?)``.

    A batch dimension of size 1 is dropped instead of repeated if the other operand is larger. None
    if sizes do not broadcast.
    """
    rank_a, rank_b = len(shape_a) - 1 - rows, len(shape_b) - 1 - columns
    rank = max(rank_a, rank_b)
    # Sizes of leading dimensions, by their place in the result.
    a = {i: shape_a[i - rank + rank_a] for i in range(rank - rank_a, rank)}
    b = {i: shape_b[i - rank + rank_b] for i in range(rank - rank_b, rank)}
    if any(n != b.get(i, n) and 1 not in (n, b[i]) for i, n in a.items()):
        return None
    kept_a = [i for i, n in a.items() if n != 1 or i not in b]
    kept_b = [i for i, n in b.items() if n != 1 or i not in a]
    shared = [i for i in kept_a if i in kept_b]
    numbers = (((len(kept_a) + rows,), (len(kept_b),)),
               (tuple(map(kept_a.index, shared)), tuple(map(kept_b.index, shared))))
    made = [*shared, *(i for i in kept_a if i not in shared), *[rank] * rows,
            *(i for i in kept_b if i not in shared), *[rank + 1] * columns]
    order = tuple(sorted(range(len(made)), key=made.__getitem__))
    return _Stacks(
        tuple(i - rank + rank_a for i in a if i not in kept_a),
        tuple(i - rank + rank_b for i in b if i not in kept_b), numbers,
        None if order == tuple(range(len(made))) else order,
        tuple(i for i in range(rank) if i not in kept_a and i not in kept_b))


def _multiply_stacks(function, a, b, rows, columns, *options):
    plan = _stacks(a.shape, b.shape, rows, columns)
    if plan is None:
        raise ValueError(explain(
            f"tanx.numpy.{function}", "the leading dimensions do not broadcast together.",
            f"a: {typeof(a)}", f"b: {typeof(b)}",
            hint="sizes must be equal or 1, counted from the last of them."))
    if plan.squeezed_a:
        a = lax.squeeze(a, plan.squeezed_a)
    if plan.squeezed_b:
        b = lax.squeeze(b, plan.squeezed_b)
    out = product(function, a, b, plan.dimension_numbers, *options)
    if plan.permutation is not None:
        out = lax.transpose(out, plan.permutation)
    return lax.expand_dims(out, plan.expanded) if plan.expanded else out


def _with_dimensions(function: str, name: str, x, least: int, error=ValueError):
    x = as_operand(function, x)
    if len(x.shape) < least:
        raise error(explain(
            f"tanx.numpy.{function}",
            f"{name} must have at least {('one dimension', 'two dimensions')[least - 1]}.",
            f"{name}: {x.aval}"))
    return x


def matmul(a, b, *, precision=None, preferred_element_type=None, out_sharding=None):
    """The products of matrices in the last two dimensions; the others broadcast.

    A vector on the left counts as a row, on the right as a column, and the result lacks that
    dimension. ``a @ b`` is the same. ``preferred_element_type`` is the dtype of the result, and of
    the sums if it is wider.

    >>> jnp.matmul(jnp.ones((5, 2, 3)), jnp.ones((3, 4))).shape
    (5, 2, 4)
    """
    a = _with_dimensions("matmul", "a", a, 1)
    b = _with_dimensions("matmul", "b", b, 1)
    return _multiply_stacks("matmul", a, b, len(a.shape) > 1, len(b.shape) > 1, precision,
                            preferred_element_type, out_sharding)


def vecdot(x1, x2, /, *, axis=-1, precision=None, preferred_element_type=None):
    """The sums of ``conj(x1) * x2`` along ``axis``; the other dimensions broadcast.

    >>> jnp.vecdot(jnp.array([[1., 2.], [3., 4.]]), jnp.array([1., 10.]))
    Array([21., 43.], dtype=float32)
    """
    a = _with_dimensions("vecdot", "x1", x1, 1, IndexError)
    b = _with_dimensions("vecdot", "x2", x2, 1, IndexError)
    size_a, size_b = (x.shape[canonical_axis("vecdot", axis, x)] for x in (a, b))
    if size_a != size_b:
        raise ValueError(explain(
            "tanx.numpy.vecdot", "vectors must have the same size.", f"x1:   {typeof(a)}",
            f"x2:   {typeof(b)}", f"axis: {axis}"))
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    return _multiply_stacks("vecdot", _conjugated(a), b, 0, 0, precision, preferred_element_type)


def _check_core(function, x1, x2, size_1, size_2):
    if size_1 != size_2:
        raise ValueError(explain(
            f"tanx.numpy.{function}", "the vector and the matrix do not fit together.",
            f"x1: {typeof(x1)}", f"x2: {typeof(x2)}"))


@library_jit
def matvec(x1, x2, /):
    """The products of matrices in ``x1`` with vectors in ``x2``; leading dimensions broadcast.

    >>> jnp.matvec(jnp.array([[1., 2.], [3., 4.]]), jnp.array([1., 10.]))
    Array([21., 43.], dtype=float32)
    """
    a = _with_dimensions("matvec", "x1", x1, 2)
    b = _with_dimensions("matvec", "x2", x2, 1)
    _check_core("matvec", a, b, a.shape[-1], b.shape[-1])
    return _multiply_stacks("matvec", a, b, 1, 0)


@library_jit
def vecmat(x1, x2, /):
    """The products of vectors ``conj(x1)`` with matrices in ``x2``; leading dimensions broadcast.

    >>> jnp.vecmat(jnp.array([1., 10.]), jnp.array([[1., 2.], [3., 4.]]))
    Array([31., 42.], dtype=float32)
    """
    a = _with_dimensions("vecmat", "x1", x1, 1)
    b = _with_dimensions("vecmat", "x2", x2, 2)
    _check_core("vecmat", a, b, a.shape[-1], b.shape[-2])
    return _multiply_stacks("vecmat", _conjugated(a), b, 0, 1)


# -- products of other kinds -----------------------------------------------------------------------


@library_jit
def kron(a, b):
    """Kronecker's product: ``b`` in place of each element of ``a``, multiplied by it.

    >>> jnp.kron(jnp.array([1, 10]), jnp.array([1, 2, 3]))
    Array([ 1,  2,  3, 10, 20, 30], dtype=int32)
    """
    a, b = promote_dtypes(as_operand("kron", a), as_operand("kron", b))
    rank = max(a.ndim, b.ndim)
    a, b = (lax.expand_dims(x, range(rank - x.ndim)) for x in (a, b))
    blocks = lax.mul(lax.expand_dims(a, range(1, 2 * rank, 2)),
                     lax.expand_dims(b, range(0, 2 * rank, 2)))
    return lax.reshape(blocks, [m * n for m, n in zip(a.shape, b.shape)])


@library_jit(static_argnames=("axisa", "axisb", "axisc", "axis"))
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The cross products of vectors of three components; the other dimensions broadcast.

    Components lie along ``axisa`` of ``a``, ``axisb`` of ``b`` and ``axisc`` of the result, or
    along ``axis`` of all three. Vectors of two components lie in a plane: the third one is zero.
    If both have two components, the result is the third component alone.

    >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a = moveaxis(as_operand("cross", a), axisa, -1)
    b = moveaxis(as_operand("cross", b), axisb, -1)
    sizes = a.shape[-1], b.shape[-1]
    if not {*sizes} <= {2, 3}:
        raise ValueError(explain(
            "tanx.numpy.cross", "vectors must have two or three components.",
            f"a: {typeof(a)}", f"b: {typeof(b)}"))
    if sizes == (2, 2):
        return subtract(multiply(a[..., 0], b[..., 1]), multiply(a[..., 1], b[..., 0]))
    a0, a1, a2 = (a[..., i] if i < sizes[0] else zeros_like(a[..., 0]) for i in range(3))
    b0, b1, b2 = (b[..., i] if i < sizes[1] else zeros_like(b[..., 0]) for i in range(3))
    components = array([subtract(multiply(a1, b2), multiply(a2, b1)),
                        subtract(multiply(a2, b0), multiply(a0, b2)),
                        subtract(multiply(a0, b1), multiply(a1, b0))])
    return moveaxis(components, 0, axisc)


# -- convolution -----------------------------------------------------------------------------------


@library_jit(static_argnames=("mode", "precision", "preferred_element_type"))
def convolve(a, v, mode="full", *, precision=None, preferred_element_type=None):
    """The convolution of two vectors, ``sum(a[k] * v[n - k])`` for each ``n``; integers as floats.

    ``mode="full"`` gives all ``n`` at which the vectors overlap; ``"same"`` the middle ones, as
    many as the longer vector has elements; ``"valid"`` only those where the shorter vector lies
    within the longer one.

    >>> jnp.convolve(jnp.array([1., 2., 3.]), jnp.array([1., 10.]))
    Array([ 1., 12., 23., 30.], dtype=float32)
    """
    _check_vectors("convolve", a, v, mode)
    return _conv(a, v, mode, True, precision, preferred_element_type)


@library_jit(static_argnames=("mode", "precision", "preferred_element_type"))
def correlate(a, v, mode="valid", *, precision=None, preferred_element_type=None):
    """The correlation of two vectors, ``sum(a[n + k] * conj(v[k]))`` for each ``n``.

    ``mode`` is that of :func:`convolve`; integers become floats.

    >>> jnp.correlate(jnp.array([1., 2., 3.]), jnp.array([1., 10.]))
    Array([21., 32.], dtype=float32)
    """
    _check_vectors("correlate", a, v, mode)
    return _conv(a, v, mode, False, precision, preferred_element_type)


def _check_vectors(function, a, v, mode):
    a, v = as_operand(function, a), as_operand(function, v)
    if a.ndim != 1 or v.ndim != 1 or 0 in (a.shape[0], v.shape[0]):
        raise ValueError(explain(
            f"tanx.numpy.{function}", "needs two vectors that are not empty.",
            f"a: {typeof(a)}", f"v: {typeof(v)}"))
    if mode not in ("full", "same", "valid"):
        raise ValueError(explain(
            f"tanx.numpy.{function}", "mode must be 'full', 'same' or 'valid'.", f"mode: {mode!r}"))


@library_jit(static_argnames=("mode", "turned", "precision", "preferred_element_type"))
def _conv(a, v, mode, turned, precision, preferred_element_type):
    """The sums of products of ``a`` with windows of ``v``, which is reversed if ``turned``."""
    a, v = as_operand("convolve", a), as_operand("convolve", v)
    dtype, weak = dtypes.result_type(a, v, return_weak_type_flag=True)
    dtype = dtypes.to_inexact_dtype(dtype)
    a, v = convert(a, dtype, weak), convert(v, dtype, weak)
    if not turned:
        v = _conjugated(v)
    swapped = a.shape[0] < v.shape[0]
    if swapped:
        a, v = v, a
    size = v.shape[0]
    padding = {"full": (size - 1, size - 1), "same": (size // 2, size - size // 2 - 1),
               "valid": (0, 0)}[mode]
    if turned:
        v = flip(v)
    a, v = (lax.broadcast_in_dim(x, (1, 1, x.shape[0]), (2,)) for x in (a, v))
    result = lax.conv_general_dilated(a, v, (1,), [padding], precision=precision,
                                      preferred_element_type=preferred_element_type)
    if swapped and not turned:
        result = lax.rev(result, (2,))
    return lax.squeeze(result, (0, 1))
