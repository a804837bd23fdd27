"""Rows for collectives. Named axes are bound by a ``vmap`` around them, which rewrites them."""

import tanx
from tanx import lax

from .case import Case, b, c, f, i


def mapped(fun):
    """``fun`` mapped over the leading axis of its arguments, which is named ``i``."""
    return tanx.vmap(fun, axis_name="i")


def nested(fun):
    """``fun`` mapped over two leading axes, named ``i`` and ``j``."""
    return tanx.vmap(tanx.vmap(fun, axis_name="j"), axis_name="i")


SWAP = ((0, 1), (1, 0))

CASES = [
    *(Case(f"p{name}", lambda x, name=name, axes=axes: getattr(lax, f"p{name}")(x, axes), arg)
      for name in ("sum", "max", "min")
      for axes, arg in ((0, f(3, 4, distinct=True)), ((0, 2), f(2, 3, 4, distinct=True)),
                        (1, f(2, 3, distinct=True, dtype="float32")), (0, i(4)))),
    Case("psum", lambda x: lax.psum(x, 1), c(2, 3)),
    Case("pmax", lambda x: lax.pmax(x, 0), b(3, 2), grad=()),
    *(Case(f"p{name}", mapped(lambda x, name=name: getattr(lax, f"p{name}")(x, "i")),
           f(3, 2, distinct=True), name="named") for name in ("sum", "max", "min")),
    Case("psum", mapped(lambda x: lax.psum(x * x, "i") * x), f(3, 2), name="named-product"),
    Case("psum", mapped(lambda x: lax.psum(x, (0, "i"))), f(3, 2), name="both"),
    Case("psum", nested(lambda x: lax.psum(x, ("i", "j"))), f(2, 3), name="two-names"),
    Case("axis_index", mapped(lambda x: x * lax.axis_index("i")), f(3), rewritten=True),
    Case("all_gather", mapped(lambda x: lax.all_gather(x, "i")), f(2, 3), rewritten=True),
    Case("all_gather", mapped(lambda x: lax.all_gather(x, "i", axis=1)), f(2, 3), rewritten=True,
         name="axis"),
    Case("all_gather", mapped(lambda x: lax.all_gather(x, "i", tiled=True)), f(2, 3),
         rewritten=True, name="tiled"),
    Case("all_gather", nested(lambda x: lax.all_gather(x, "i")), f(2, 3), rewritten=True,
         name="outer"),
    Case("reduce_scatter", mapped(lambda x: lax.psum_scatter(x, "i")), f(3, 3, 2), rewritten=True),
    Case("reduce_scatter", mapped(lambda x: lax.psum_scatter(x, "i", scatter_dimension=1,
                                                             tiled=True)),
         f(2, 3, 4), rewritten=True, name="tiled"),
    Case("ppermute", mapped(lambda x: lax.ppermute(x, "i", SWAP)), f(2, 3), rewritten=True),
    Case("ppermute", mapped(lambda x: lax.ppermute(x, "i", SWAP)), f(3, 2), rewritten=True,
         name="zeros"),
    Case("all_to_all", mapped(lambda x: lax.all_to_all(x, "i", 1, 0)), f(2, 3, 2), rewritten=True),
    Case("all_to_all", mapped(lambda x: lax.all_to_all(x, "i", 0, 1, tiled=True)), f(2, 4, 3),
         rewritten=True, name="tiled"),
    Case("pbroadcast", mapped(lambda x: lax.pbroadcast(x, "i", 1)), f(3, 2), rewritten=True),
]
