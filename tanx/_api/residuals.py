"""The values that reverse mode stores between its two passes, as text for users."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import dtypes
from .._control.call import jit_p
from .._control.remat import name_p
from .._core.jaxpr import Atom, Jaxpr, Literal
from .._core.naming import debug_info
from .._core.stage import stage
from .._core.types import typeof
from .._transforms.linearize import linearize
from ..tree_util import tree_flatten, tree_unflatten
from .arguments import check_callable, check_leaves, result_leaves

__all__ = ["print_saved_residuals"]

_FUNCTION = "tanx.ad_checkpoint.print_saved_residuals"


def print_saved_residuals(f: Callable, *args, **kwargs) -> None:
    """Print the values that ``vjp`` of ``f`` would store for the backward pass, and their origins.

    >>> print_saved_residuals(lambda x, y: x * y, 2.0, 3.0)
    f32[] from the argument x
    f32[] from the argument y
    """
    check_callable(_FUNCTION, f)
    leaves, in_tree = tree_flatten((args, kwargs))
    check_leaves(_FUNCTION, f, args, kwargs, leaves)
    avals = [typeof(x) for x in leaves]
    active = [dtypes.issubdtype(a.dtype, np.inexact) for a in avals]

    def flat(*xs):
        given, keywords = tree_unflatten(in_tree, xs)
        return result_leaves(_FUNCTION, f, f(*given, **keywords))[0]

    jaxpr, _ = stage(lambda *xs: linearize(flat, xs, active)[3], avals,
                     debug_info("vjp", f, args, kwargs))
    producer = {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars}
    # Arguments and constants come first, then computed values in the order of equations.
    order = dict.fromkeys((*jaxpr.invars, *(a for a in jaxpr.outvars if a not in producer),
                           *producer))
    stored = set(jaxpr.outvars)
    for atom in (atom for atom in order if atom in stored):
        print(f"{atom.aval.str_short(short_dtypes=True)} {_origin(jaxpr, producer, atom)}")


def _origin(jaxpr: Jaxpr, producer: dict, atom: Atom) -> str:
    if isinstance(atom, Literal):
        return "from a literal"
    if atom in jaxpr.invars:
        return f"from the argument {jaxpr.debug_info.arg_names[jaxpr.invars.index(atom)]}"
    if atom not in producer:
        return "from a constant"
    eqn = producer[atom]
    made = (f"named '{eqn.params['name']}'" if eqn.primitive is name_p
            else f"output of jitted function '{eqn.params['name']}'" if eqn.primitive is jit_p
            else f"output of {eqn.primitive}")
    return f"{made} from {eqn.source_info.exact}"
