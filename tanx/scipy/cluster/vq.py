"""tanx.scipy.cluster.vq: the nearest code of a code book for each observation."""

import numpy as np

from ... import numpy as jnp
from ..._api.jit import library_jit
from ..._base.traceback import shown
from ..._base.window import publish
from ...errors import explain
from ...numpy._promotion import as_operand, promote_dtypes, typeof

__all__ = ["vq"]


def vq(obs, code_book, check_finite: bool = True):
    """For each observation, the index of the nearest code and the distance to it.

    Observations and codes are rows of matrices with the same number of columns, or the numbers of
    two vectors. Of several nearest codes, the first is taken. ``check_finite`` has no effect: the
    distance of a row with NaN is NaN.

    >>> code, distance = tanx.scipy.cluster.vq.vq(
    ...     jnp.array([[0., 1.], [5., 4.]]), jnp.array([[0., 0.], [5., 5.]]))
    >>> code, distance
    (Array([0, 1], dtype=int32), Array([1., 1.], dtype=float32))
    """
    obs, code_book = as_operand("vq", obs), as_operand("vq", code_book)
    facts = [f"obs:       {typeof(obs)}", f"code_book: {typeof(code_book)}"]
    if obs.ndim != code_book.ndim or obs.ndim not in (1, 2):
        raise ValueError(explain("tanx.scipy.cluster.vq.vq",
                                 "obs and code_book must be two vectors or two matrices.", *facts))
    if obs.ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    if obs.shape[1] != code_book.shape[1]:
        raise TypeError(explain("tanx.scipy.cluster.vq.vq",
                                "obs and code_book must have the same number of columns.", *facts))
    if not code_book.shape[0]:
        raise ValueError(explain("tanx.scipy.cluster.vq.vq", "code_book is empty.", *facts))
    return _nearest(obs, code_book)


@library_jit(name="vq")
def _nearest(obs, code_book):
    obs, code_book = promote_dtypes(obs, code_book)
    if not jnp.issubdtype(obs.dtype, np.inexact):
        obs, code_book = obs.astype(np.float32), code_book.astype(np.float32)
    apart = jnp.linalg.norm(obs[:, None] - code_book[None], axis=-1)
    return jnp.argmin(apart, -1).astype(np.int32), jnp.min(apart, -1)


publish(__name__, shown)
