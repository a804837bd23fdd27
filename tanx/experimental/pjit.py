"""tanx.experimental.pjit: the old name of ``tanx.jit`` with shardings."""

from __future__ import annotations

from collections.abc import Callable

from .._api.jit import jit
from .._base.traceback import boundary

__all__ = ["pjit"]


@boundary
def pjit(fun: Callable, in_shardings=None, out_shardings=None, static_argnums=None,
         static_argnames=None, donate_argnums=None, donate_argnames=None,
         keep_unused: bool = False, device=None, backend=None, inline: bool = False,
         compiler_options=None) -> Callable:
    """The old name of ``tanx.jit``.

    >>> from tanx.experimental.pjit import pjit
    >>> pjit(lambda x: 2 * x)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    return jit(fun, in_shardings=in_shardings, out_shardings=out_shardings,
               static_argnums=static_argnums, static_argnames=static_argnames,
               donate_argnums=donate_argnums, donate_argnames=donate_argnames,
               keep_unused=keep_unused, device=device, backend=backend, inline=inline,
               compiler_options=compiler_options)
