"""A case: one function and its arguments, written once for every system.

A file of this package has a family of cases. A case is made by a *setup*, which takes the system
twice, as ``jax`` and as ``jnp`` (only the import differs between tanx and JAX; NumPy is a ``jnp``
too), and its sizes, and returns a function and its arguments, NumPy arrays in any nesting::

    case = family("softmax and norms", memory=True)

    @case("softmax, {n} x {m}", n=[256, 16384], m=1024)
    def softmax(jax, jnp, n, m):
        def run(x):
            e = jnp.exp(x - x.max(axis=1, keepdims=True))
            return e / e.sum(axis=1, keepdims=True)
        return run, (noise(n, m),)

Those are two cases: a size given as a list is one case for each entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

__all__ = ["CASES", "Case", "family", "form", "integers", "noise", "uniform"]

TINY = 8
"""The largest size when cases are only tested."""


@dataclass(frozen=True)
class Case:
    """A function to be timed."""

    family: str
    title: str
    setup: Callable
    sizes: Mapping[str, Any] = field(default_factory=dict)
    jit: Mapping[str, Any] | None = field(default_factory=dict)
    """Options for ``jit``; None runs the function eagerly."""
    numpy: bool = True
    """Whether NumPy can run the same code."""
    x64: bool = False
    memory: bool = False
    """Whether it is bound by memory traffic: arguments and results, once each."""
    chaotic: float = 0.0
    """The share of elements that rounding decides, as when something is counted until it is large.
    They may differ between systems that are both right."""
    flops: Callable[..., float] | None = None
    """The number of arithmetic operations, by the sizes, if the case is bound by arithmetic."""

    @property
    def name(self) -> str:
        """The unique name of the case, without its family."""
        return self.title.format(**{key: _short(size) for key, size in self.sizes.items()})

    def tiny(self) -> Case:
        """The same case on a few elements."""
        return replace(self, sizes={key: _least(size) for key, size in self.sizes.items()})

    def form(self, system: str) -> Callable | None:
        """The setup for a system; None if the system cannot express the case."""
        if system in ("tanx", "jax"):
            return self.setup
        if system == "numpy":  # NumPy has no bfloat16
            fits = self.numpy and self.sizes.get("dtype") != "bfloat16"
            return (lambda numpy, **sizes: self.setup(None, numpy, **sizes)) if fits else None
        return _forms.get((system, self.setup))

    def operations(self) -> float | None:
        """The number of arithmetic operations of one call, or None."""
        return None if self.flops is None else self.flops(**self.sizes)


SHORT = {"float32": "f32", "float64": "f64", "bfloat16": "bf16", "int32": "i32"}

CASES: dict[str, Case] = {}
"""Every case by its name, families together."""

_forms: dict[tuple[str, Callable], Callable] = {}


def family(name: str, **common) -> Callable:
    """A decorator for the setups of a family: ``case(title, size=…, …)``.

    ``common`` has the default fields of its cases.
    """
    fields = {key for key in Case.__dataclass_fields__ if key != "sizes"}

    def case(title: str, **options) -> Callable:
        given = {**common, **{key: options.pop(key) for key in fields & set(options)}}

        def register(setup: Callable) -> Callable:
            choices = [v if isinstance(v, list) else [v] for v in options.values()]
            for chosen in product(*choices):
                new = Case(name, title, setup, dict(zip(options, chosen)), **given)
                if new.sizes.get("dtype") == "float64":
                    new = replace(new, x64=True)
                if new.name in CASES:
                    raise ValueError(f"two cases are called {new.name!r}")
                CASES[new.name] = new
            return setup
        return register
    return case


def form(system: str, setup: Callable) -> Callable:
    """A decorator for the same case in torch or Numba: the setup takes the module and the sizes."""
    def register(other: Callable) -> Callable:
        _forms[system, setup] = other
        return other
    return register


def _short(size: Any) -> str:
    """A size in the form of titles: 256 x 256, 16M, f32."""
    if isinstance(size, tuple):
        return " x ".join(map(_short, size))
    if isinstance(size, int) and size >= 10_000:
        for unit, letter in ((1_000_000, "M"), (1000, "k")):
            if size % unit == 0:
                return f"{size // unit}{letter}"
    return SHORT.get(size, str(size))


def _least(size: Any) -> Any:
    if isinstance(size, tuple):
        return tuple(map(_least, size))
    return min(size, TINY) if isinstance(size, int) else size


# -- data ------------------------------------------------------------------------------------------


@cache
def _pool() -> np.ndarray:
    """Random numbers, drawn once: large arrays repeat them, for drawing takes longer than timing.

    Their number is prime, so that no two rows of a matrix are equal.
    """
    return np.random.default_rng(0).standard_normal(1_000_003, np.float32)


def noise(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Normally distributed numbers; integers are between about -400 and 400."""
    values = np.resize(np.roll(_pool(), 7919 * seed), shape)
    if dtype.startswith("int"):
        return (values * (10 if dtype == "int8" else 100)).astype(dtype)
    if dtype == "bfloat16":
        import ml_dtypes
        return values.astype(ml_dtypes.bfloat16)
    return values.astype(dtype, copy=False)


def uniform(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Numbers between about 0.1 and 2, for logarithms and powers."""
    return (0.1 + np.abs(np.tanh(noise(*shape, seed=seed).astype(np.float32))) * 2).astype(dtype)


def integers(limit: int, *shape: int, seed: int = 0) -> np.ndarray:
    """Uniformly distributed indices below a limit."""
    generator = np.random.default_rng(seed)
    return generator.integers(0, limit, shape, np.int32)
