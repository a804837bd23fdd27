"""Requests for the order of elements in memory; tanx keeps all arrays in row-major order."""

from __future__ import annotations

import functools

from .._core.layouts import Layout
from .._core.primitive import parameter
from .._core.types import typeof
from ..errors import explain
from ..tree_util import broadcast_prefix, tree_flatten, tree_unflatten
from .annotations import Identity
from .base import as_array

__all__ = ["explicit_layout", "layout_constraint_p", "with_layout_constraint"]

parameter(Layout)


class LayoutConstraint(Identity):
    """A value with a requested order of elements in memory; all arrays are row-major."""

    name = "layout_constraint"

    def batch(self, args, dims, *, layout):
        (x,), (d,) = args, dims
        order = (d, *(k + (k >= d) for k in layout.major_to_minor))
        return self.bind(x, layout=layout.update(major_to_minor=order)), d


layout_constraint_p = LayoutConstraint()


def with_layout_constraint(x, layouts):
    """``x``, a pytree of arrays, with requested memory layouts.

    ``layouts`` is a ``Layout``, or a pytree of them that is a prefix of ``x``. tanx keeps all
    arrays in row-major order: the jaxpr records the request, and values are unchanged.

    >>> from tanx.experimental.layout import Layout, with_layout_constraint
    >>> with_layout_constraint(jnp.ones((2, 2)), Layout((1, 0))).shape
    (2, 2)
    """
    name = "tanx.experimental.layout.with_layout_constraint"
    leaves, tree = tree_flatten(x)
    targets = broadcast_prefix(layouts, x, is_leaf=lambda s: s is None)
    out = []
    for leaf, target in zip(leaves, targets, strict=True):
        if not isinstance(target, Layout):
            raise ValueError(explain(name, "needs a Layout for each leaf.",
                                     f"leaf: {typeof(leaf)}", f"layout: {target!r:.100}"))
        target.check_compatible_aval(typeof(leaf).shape)
        out.append(layout_constraint_p.bind(as_array(leaf), layout=target))
    return tree_unflatten(tree, out)


def explicit_layout(f=None, /, *, in_layouts=None):
    """A function with requested memory layouts of its arguments.

    ``in_layouts`` is as in :func:`with_layout_constraint`, for the tuple of arguments.

    >>> from tanx.experimental.layout import Layout, explicit_layout
    >>> explicit_layout(lambda x: x + 1, in_layouts=Layout((0,)))(jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """
    if f is None:
        return functools.partial(explicit_layout, in_layouts=in_layouts)

    @functools.wraps(f)
    def constrained(*args):
        return f(*(args if in_layouts is None else with_layout_constraint(args, in_layouts)))
    return constrained
