"""tanx.test_util: derivatives of functions checked against finite differences.

A derivative is checked in one random direction ``t``: ``(f(x + eps t) - f(x - eps t)) / (2 eps)``
is compared with the result of forward mode for ``t``, and, multiplied by a random cotangent, with
the result of reverse mode. Directions are the same in each run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from . import dtypes
from . import numpy as jnp
from ._api.arguments import check_callable
from ._api.autodiff import jvp, vjp
from ._base.traceback import shown
from ._base.window import publish
from .errors import explain
from .tree_util import keystr, tree_leaves, tree_leaves_with_path, tree_map

__all__ = ["check_grads", "check_jvp", "check_vjp"]

EPS = 1e-4

# Numbers of few digits: a difference over a step of EPS would be only rounding.
_COARSE_EPS = {"bfloat16": 0.125, "float16": 0.0625}

_TOLERANCES = {"bfloat16": 1e-1, "float16": 1e-2, "float32": 2e-3, "float64": 1e-5,
               "complex64": 1e-3, "complex128": 1e-5}


def check_grads(f: Callable, args: Sequence[Any], order: int,
                modes: str | Sequence[str] = ("fwd", "rev"), atol=None, rtol=None,
                eps: float | None = None) -> None:
    """Check the derivatives of a function, up to some order, against finite differences.

    The AssertionError names the wrong derivative, the place and the difference.

    Args:
      f: A function of pytrees of arrays; integers among them have no derivatives.
      args: Its arguments, a sequence.
      order: 1 for first derivatives, 2 for those and the derivatives of these, and so on.
      modes: ``"fwd"``, ``"rev"`` or both; of higher orders, each mix of them is checked.
      atol: Absolute tolerance, or a dict from dtypes to tolerances. By default 2e-3 for float32 and
        1e-5 for float64. Multiplied by the number of elements, as errors add up.
      rtol: Relative tolerance, likewise.
      eps: The step of the differences; by default 1e-4, and more for 16-bit numbers.

    >>> from tanx.test_util import check_grads
    >>> check_grads(jnp.sin, (1.0,), order=2)
    >>> check_grads(lambda x: tanx.lax.stop_gradient(x) * x, (1.0,), order=1)
    Traceback (most recent call last):
    AssertionError: ...forward mode gives another derivative than finite differences...
    """
    check_callable("tanx.test_util.check_grads", f)
    unknown = set([modes] if isinstance(modes, str) else modes) - {"fwd", "rev"}
    if unknown:
        raise ValueError(explain("tanx.test_util.check_grads", "modes are 'fwd' and 'rev'.",
                                 f"modes: {modes!r}"))
    args = tuple(args)
    _check_order(f, args, order, modes, {"atol": atol, "rtol": rtol, "eps": eps or _step(args)}, "")


def _check_order(f, args, order: int, modes, options: dict, path: str) -> None:
    """Check first derivatives, and then derivatives of the functions that compute them.

    ``path`` describes ``f`` in messages, such as ``"fwd of rev of "``.
    """
    if order < 1:
        return
    if "fwd" in modes:
        check_jvp(f, partial(jvp, f), args, err_msg=f"{path}fwd", **options)
        _check_order(partial(jvp, f), (args, _random_like(args, _generator())), order - 1, modes,
                     options, f"{path}fwd of ")
    if "rev" in modes:
        check_vjp(f, partial(vjp, f), args, err_msg=f"{path}rev", **options)

        def pullback(*args):
            out, transposed = vjp(f, *args)
            return transposed(_differentiable_part(out))
        if order > 1:
            _check_order(pullback, args, order - 1, modes, options, f"{path}rev of ")


def check_jvp(f: Callable, f_jvp: Callable, args: Sequence[Any], atol=None, rtol=None,
              eps: float = EPS, err_msg: str = "") -> None:
    """Check ``f_jvp(primals, tangents)``, the forward-mode derivative of ``f``, in one direction.

    Args:
      f: A function of pytrees of arrays.
      f_jvp: Gives the results of ``f`` and their tangents.
      args: Arguments of ``f``, a sequence.
      atol: Absolute tolerance, or a dict from dtypes to tolerances.
      rtol: Relative tolerance, likewise.
      eps: The step of the differences.
      err_msg: Put before messages.

    >>> from tanx.test_util import check_jvp
    >>> check_jvp(jnp.sin, lambda x, t: (jnp.sin(*x), jnp.cos(*x) * t[0]), (1.0,))
    """
    args = tuple(args)
    tangents = _random_like(args, _generator())
    out, out_tangents = f_jvp(args, tangents)
    for (place, x), t in zip(tree_leaves_with_path(out), tree_leaves(out_tangents), strict=True):
        wanted = jnp.result_type(x) if _is_inexact(x) else dtypes.float0
        if jnp.result_type(t) != wanted:
            raise AssertionError(explain(
                err_msg or "tanx.test_util.check_jvp", "a tangent has another dtype.",
                f"result{keystr(place)}: {jnp.result_type(x)}",
                f"tangent: {jnp.result_type(t)}, not {np.dtype(wanted)}"))
    _compare(out, f(*args), atol, rtol, err_msg or "tanx.test_util.check_jvp",
             "forward mode gives another result than the function.")
    _compare(out_tangents, _difference(f, args, tangents, eps), atol, rtol,
             err_msg or "tanx.test_util.check_jvp",
             "forward mode gives another derivative than finite differences.")


def check_vjp(f: Callable, f_vjp: Callable, args: Sequence[Any], atol=None, rtol=None,
              eps: float = EPS, err_msg: str = "") -> None:
    """Check ``f_vjp(*args)``, the reverse-mode derivative of ``f``, in one direction.

    Args:
      f: A function of pytrees of arrays.
      f_vjp: Gives the results of ``f`` and a function from their cotangents to those of ``args``.
      args: Arguments of ``f``, a sequence.
      atol: Absolute tolerance, or a dict from dtypes to tolerances.
      rtol: Relative tolerance, likewise.
      eps: The step of the differences.
      err_msg: Put before messages.

    >>> from tanx.test_util import check_vjp
    >>> check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (jnp.cos(x) * ct,)), (1.0,))
    """
    args = tuple(args)
    out, pullback = f_vjp(*args)
    _compare(out, f(*args), atol, rtol, err_msg or "tanx.test_util.check_vjp",
             "reverse mode gives another result than the function.")
    generator = _generator()
    tangents = _random_like(args, generator)
    cotangents = _random_like(out, generator)
    pulled = _conjugate(pullback(_conjugate(cotangents)))
    pushed = _difference(f, args, tangents, eps)
    _compare(_inner(tangents, pulled), _inner(pushed, cotangents), atol, rtol,
             err_msg or "tanx.test_util.check_vjp",
             "reverse mode gives another derivative than finite differences, multiplied by a "
             "cotangent.")


# -- directions and differences --------------------------------------------------------------------


def _is_inexact(x) -> bool:
    return dtypes.issubdtype(jnp.result_type(x), np.inexact)


def _step(args) -> float:
    return max((_COARSE_EPS.get(jnp.result_type(x).name, EPS) for x in tree_leaves(args)),
               default=EPS)


def _generator() -> np.random.RandomState:
    """The generator of JAX's directions: checks close to a tolerance have the same result."""
    return np.random.RandomState(0)


def _random_like(tree, generator: np.random.RandomState):
    """Normal numbers, of the types of tangents."""
    def direction(x):
        shape, dtype = np.shape(x), jnp.result_type(x)
        if not dtypes.issubdtype(dtype, np.inexact):
            return np.zeros(shape, dtypes.float0)
        numbers = generator.standard_normal(shape)
        if dtypes.issubdtype(dtype, np.complexfloating):
            numbers = numbers + 1j * generator.standard_normal(shape)
        return jnp.asarray(numbers, dtype)
    return tree_map(direction, tree)


def _differentiable_part(tree):
    """A result as a cotangent of itself."""
    return tree_map(lambda x: x if _is_inexact(x) else np.zeros(np.shape(x), dtypes.float0), tree)


def _conjugate(tree):
    return tree_map(lambda x: jnp.conj(x) if _is_inexact(x) else x, tree)


def _difference(f, args, tangents, eps: float):
    """The derivative along ``tangents``, from two values of ``f``."""
    def moved(step):
        return f(*tree_map(lambda x, t: x + jnp.asarray(step, t.dtype) * t
                           if _is_inexact(x) else x, args, tangents))
    return tree_map(lambda above, below: jnp.subtract(above, below) * jnp.asarray(
                        0.5 / eps, jnp.result_type(above))
                    if _is_inexact(above) else np.zeros(np.shape(above), dtypes.float0),
                    moved(eps), moved(-eps))


def _inner(a, b):
    """The real part of the inner product of two pytrees, in the precision of ``b``."""
    pairs = [(x, y) for x, y in zip(tree_leaves(a), tree_leaves(b), strict=True) if _is_inexact(y)]
    return sum(jnp.real(jnp.vdot(jnp.asarray(x), y)) for x, y in pairs)


# -- comparison ------------------------------------------------------------------------------------


def _tolerance(given, dtype) -> float:
    default = _TOLERANCES.get(np.dtype(dtype).name, 0.0)
    if given is None:
        return default
    if isinstance(given, dict):
        return {np.dtype(key).name: value for key, value in given.items()}.get(
            np.dtype(dtype).name, default)
    return given


def _compare(actual, expected, atol, rtol, name: str, rule: str) -> None:
    """AssertionError unless two pytrees agree, element by element; NaN agrees with NaN."""
    both = zip(tree_leaves_with_path(actual), tree_leaves(expected), strict=True)
    for (place, a), b in both:
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype == dtypes.float0:
            continue
        wide = np.complex128 if dtypes.issubdtype(a.dtype, np.complexfloating) else np.float64
        absolute, relative = (max(_tolerance(t, a.dtype), _tolerance(t, b.dtype)) * max(a.size, 1)
                              for t in (atol, rtol))
        a64, b64 = a.astype(wide), b.astype(wide)
        wrong = ~np.isclose(a64, b64, relative, absolute, equal_nan=True)
        if a.shape != b.shape or wrong.any():
            raise AssertionError(explain(name, rule, *_facts(place, a64, b64, wrong, absolute,
                                                             relative)))


def _facts(place, a, b, wrong, atol: float, rtol: float) -> list[str]:
    """The place where two arrays differ most, and the tolerance there."""
    if a.shape != b.shape:
        return [f"shapes: {a.shape} and {b.shape}"]
    with np.errstate(invalid="ignore"):
        error = np.where(wrong, np.nan_to_num(np.abs(a - b), nan=np.inf), -1.0)
    worst = np.unravel_index(int(np.argmax(error)), error.shape)
    where = f"{keystr(place)}[{', '.join(str(int(i)) for i in worst)}]" if worst else keystr(place)
    return [f"got:       {a[worst]:.8g}" + (f" at {where}" if where else ""),
            f"expected:  {b[worst]:.8g}", f"tolerance: {atol:g} + {rtol:g} * |expected|",
            f"wrong:     {int(wrong.sum())} of {wrong.size} elements"]


publish(__name__, shown)
