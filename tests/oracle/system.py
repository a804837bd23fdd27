"""One of the two systems: the names that calls use, the modes to run them, their outcomes."""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import io
import re
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tests.oracle.operands import NAME, names_in, value

__all__ = ["MODES", "Failure", "Leaf", "Outcome", "System"]

BATCH = 2
MODULES = (
    "example_libraries.optimizers", "example_libraries.stax", "experimental.jet",
    "experimental.ode", "experimental.rnn", "experimental.sparse.linalg", "scipy.interpolate",
    "scipy.ndimage", "scipy.optimize", "scipy.spatial.transform", "scipy.special", "test_util")


class Leaf(NamedTuple):
    """One leaf of a result: an array's type and data, or the text of anything else."""

    kind: str
    text: str
    data: Any = None


@dataclass
class Outcome:
    """A result, flattened."""

    structure: str
    leaves: list[Leaf]
    warned: tuple[str, ...] = ()


@dataclass
class Failure:
    """An exception: the names of its classes, and its text."""

    classes: tuple[str, ...]
    text: str


class System:
    """jax or tanx: the names that calls use, and the modes to run them."""

    def __init__(self, name: str):
        self.name = name
        self.jax = importlib.import_module(name)
        self.jnp = importlib.import_module(f"{name}.numpy")
        self.names = {"jax": self.jax, "jnp": self.jnp, "lax": self.jax.lax, "np": np,
                      "tree_util": importlib.import_module(f"{name}.tree_util"),
                      "dtypes": importlib.import_module(f"{name}.dtypes"),
                      "checkify": importlib.import_module(f"{name}.experimental.checkify"),
                      "debug": importlib.import_module(f"{name}.debug"),
                      "partial": functools.partial, "within": within, "ruled": ruled,
                      "printed": functools.partial(printed, self.jax)}
        for module in MODULES:  # modules that JAX does not import by default
            importlib.import_module(f"{name}.{module}")

    def operand(self, name: str, batch: int | None = None):
        """The operand ``name`` as an array of this system."""
        prefix = NAME.fullmatch(name)[1]
        if prefix == "np_":
            return value(name, batch)
        if prefix == "w_" and batch is None:
            return self.jnp.asarray(value(name).item())
        return self.jnp.asarray(value(name, batch))

    def run(self, text: str, mode: str = "eager") -> Outcome | Failure:
        """The outcome of the expression ``text`` in ``mode``."""
        return self.outcome(lambda: MODES[mode](self, text, names_in(text)))

    def outcome(self, thunk) -> Outcome | Failure:
        """The outcome of calling ``thunk``."""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                leaves, structure = self.jax.tree_util.tree_flatten(thunk())
                leaves = [self.leaf(x) for x in leaves]
            except Exception as error:
                return Failure(tuple(c.__name__ for c in type(error).__mro__), str(error))
        kinds = sorted({w.category.__name__ for w in warned})
        return Outcome(self.plain(structure), leaves, tuple(kinds))

    def leaf(self, x) -> Leaf:
        if isinstance(x, self.jax.Array):
            if self.jax.dtypes.issubdtype(x.dtype, self.jax.dtypes.prng_key):
                words = np.asarray(self.jax.random.key_data(x))
                return Leaf(f"{x.dtype}{list(x.shape)}", "", words)
            kind = f"array {x.dtype.name}{list(x.shape)}{' weak' if x.weak_type else ''}"
            return Leaf(kind, "", np.asarray(x))
        if isinstance(x, np.ndarray | np.generic):
            return Leaf(f"numpy {x.dtype}{list(x.shape)}", "", np.asarray(x))
        if isinstance(x, float | complex) and type(x) in (float, complex):
            return Leaf(type(x).__name__, "", np.asarray(x))
        if isinstance(x, type):
            return Leaf("type", x.__name__)
        return Leaf(type(x).__name__, x if isinstance(x, str) else self.plain(x))

    def plain(self, x) -> str:
        """``repr(x)`` without the name of the system and addresses, which always differ."""
        return re.sub(r" at 0x\w+", "", str(x)).replace("tanx", "jax")


# -- statements, for calls are expressions ---------------------------------------------------------


def within(context, thunk):
    """The result of ``thunk`` inside ``context``."""
    with context:
        return thunk()


def ruled(function, *rules):
    """A function of ``custom_jvp`` or ``custom_vjp``, with its rules."""
    (function.defjvp if hasattr(function, "defjvp") else function.defvjp)(*rules)
    return function


def printed(system, thunk):
    """The result of ``thunk``, and its printed output."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        out = system.block_until_ready(thunk())
        system.effects_barrier()
    return out, text.getvalue()


# -- ways to run a call ----------------------------------------------------------------------------


def _function(system: System, text: str, operands: list[str]):
    return eval(f"lambda {', '.join(operands)}: {text}", system.names)


def _eager(system, text, operands):
    return _function(system, text, operands)(*map(system.operand, operands))


CALLS = 4
"""The number of calls of a jitted function: native code runs from the third on."""


def _jit(system, text, operands):
    """The result of the last call; earlier ones must return the same. JAX is called once."""
    function = system.jax.jit(_function(system, text, operands))
    if system.name == "jax":
        return function(*map(system.operand, operands))
    first, *others = [system.outcome(lambda: function(*map(system.operand, operands)))
                      for _ in range(CALLS - 1)]
    for n, other in enumerate(others, 2):
        if not same(first, other):
            raise AssertionError(f"call {n} gave {other}, the first {first}")
    for kind in getattr(first, "warned", ()):  # the first call traces, and only that warns
        warnings.warn("given by the first call", getattr(builtins, kind), stacklevel=1)
    return function(*map(system.operand, operands))


def same(one: Outcome | Failure, other: Outcome | Failure) -> bool:
    """Whether two outcomes of one system are equal to the last bit."""
    if not isinstance(one, Outcome) or not isinstance(other, Outcome):
        return type(one) is type(other)
    return one.structure == other.structure and len(one.leaves) == len(other.leaves) and all(
        a[:2] == b[:2] and (a.data is None or a.data.tobytes() == b.data.tobytes())
        for a, b in zip(one.leaves, other.leaves))


def _jaxpr(system, text, operands):
    function = _function(system, text, operands)
    return str(system.jax.make_jaxpr(function)(*map(system.operand, operands)))


def _vmap(system, text, operands):
    arrays = [system.operand(name, BATCH) for name in operands]
    return system.jax.vmap(_function(system, text, operands))(*arrays)


def _vmap_last(system, text, operands):
    """Only the first operand is mapped, along its last axis."""
    first = system.jnp.moveaxis(system.operand(operands[0], BATCH), 0, -1)
    axes = (first.ndim - 1,) + (None,) * (len(operands) - 1)
    function = system.jax.vmap(_function(system, text, operands), axes)
    return function(first, *map(system.operand, operands[1:]))


def _differentiable(system, text, operands):
    """The call as a function of its inexact operands, and these operands."""
    function = _function(system, text, operands)
    arrays = [system.operand(name) for name in operands]
    inexact = [i for i, x in enumerate(arrays)
               if system.jax.dtypes.issubdtype(x.dtype, np.inexact)]

    def of_inexact(*xs):
        every = list(arrays)
        for i, x in zip(inexact, xs):
            every[i] = x
        return function(*every)

    return of_inexact, [arrays[i] for i in inexact]


def _pattern(system, x):
    """A tangent or cotangent for ``x``: small numbers, none zero, no two neighbours equal."""
    if not np.issubdtype(x.dtype, np.inexact) and x.dtype.name != "bfloat16":
        return np.zeros(x.shape, system.jax.dtypes.float0)
    numbers = (np.arange(x.size) % 5 + 1).reshape(x.shape) / 4
    return system.jnp.asarray(numbers.astype(x.dtype))


def _jvp(system, text, operands):
    function, arrays = _differentiable(system, text, operands)
    return system.jax.jvp(function, arrays, [_pattern(system, x) for x in arrays])


def _vjp(system, text, operands):
    function, arrays = _differentiable(system, text, operands)
    out, pullback = system.jax.vjp(function, *arrays)
    return out, pullback(system.jax.tree_util.tree_map(lambda x: _pattern(system, x), out))


MODES = {"eager": _eager, "jit": _jit, "jaxpr": _jaxpr, "vmap": _vmap, "vmap_last": _vmap_last,
         "jvp": _jvp, "vjp": _vjp}
