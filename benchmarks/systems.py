"""The systems that are measured, with a common interface.

A worker imports only one of them: they need different interpreters.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from benchmarks.cases import Case

__all__ = ["AVX2_ONLY", "SYSTEMS", "System", "leaves", "obey_limits"]

AVX2_ONLY = {"BENCHMARK_AVX2": "1", "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
             "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2",
             "MKL_ENABLE_INSTRUCTIONS": "AVX2", "OPENBLAS_CORETYPE": "Haswell"}
"""Variables with which systems use no instructions after AVX2. Products of JAX take no notice."""


def obey_limits() -> None:
    """Let tanx generate code for a processor with AVX2, as long as this process runs, if
    ``AVX2_ONLY`` says so."""
    if "BENCHMARK_AVX2" in os.environ:
        from tanx._compiler import machine
        limit = machine.as_host(machine.host().without_masks())
        limit.__enter__()
        _limits.append(limit)


_limits: list[AbstractContextManager] = []  # a context that is collected would end


def leaves(tree: Any) -> Iterator[Any]:
    """The leaves of tuples, lists and dicts, in the same order for all systems."""
    if isinstance(tree, dict):
        tree = [tree[key] for key in sorted(tree)]
    if isinstance(tree, list | tuple):
        for part in tree:
            yield from leaves(part)
    else:
        yield tree


def _map(change: Callable, tree: Any) -> Any:
    """The same nesting with ``change`` applied to its NumPy arrays."""
    if isinstance(tree, dict):
        return {key: _map(change, part) for key, part in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(_map(change, part) for part in tree)
    return change(tree) if isinstance(tree, np.ndarray) else tree


class System:
    """NumPy; the base class of the other systems."""

    def __init__(self, name: str):
        self.name = name
        self.module: Any = importlib.import_module(name)

    def setup(self, case: Case) -> tuple[Callable, tuple]:
        """The function of a case, not compiled, and its arguments, ready to be used."""
        function, arguments = case.form(self.name)(*self.modules(), **case.sizes)
        return function, _map(self.place, arguments)

    def modules(self) -> tuple:
        """The arguments of the setup of a case."""
        return (self.module,)

    def place(self, array: np.ndarray) -> Any:
        """A NumPy array as an array of the system."""
        return array

    def compile(self, case: Case, function: Callable) -> Callable:
        """The function to measure."""
        return function

    def context(self, case: Case) -> AbstractContextManager:
        """The context of every call of a case."""
        return nullcontext()

    def runner(self, function: Callable, arguments: tuple) -> Callable[[], Any]:
        """A function that calls a compiled one and waits for its results; it was called once."""
        function(*arguments)
        return lambda: function(*arguments)

    def to_numpy(self, array: Any) -> np.ndarray:
        return np.asarray(array)

    def forget(self) -> None:
        """Drop all compiled code."""


class Jax(System):
    """JAX; the base class of tanx."""

    def __init__(self, name: str):
        super().__init__(name)
        self.numpy = importlib.import_module(f"{name}.numpy")

    def modules(self) -> tuple:
        return self.module, self.numpy

    def place(self, array: np.ndarray) -> Any:
        return self.numpy.asarray(array).block_until_ready()

    def compile(self, case: Case, function: Callable) -> Callable:
        return function if case.jit is None else self.module.jit(function, **case.jit)

    def context(self, case: Case) -> AbstractContextManager:
        return self.module.enable_x64(True) if case.x64 else nullcontext()

    def runner(self, function: Callable, arguments: tuple) -> Callable[[], Any]:
        wait = self.module.block_until_ready
        if isinstance(wait(function(*arguments)), self.module.Array):
            return lambda: function(*arguments).block_until_ready()
        return lambda: wait(function(*arguments))

    def forget(self) -> None:
        self.module.clear_caches()


class Tanx(Jax):
    """tanx, for a processor with AVX2 if ``AVX2_ONLY`` says so."""

    def __init__(self, name: str):
        super().__init__(name)
        obey_limits()


class Torch(System):
    """torch.compile."""

    def __init__(self, name: str):
        super().__init__(name)
        # By itself it counts the machine's processors, also those that it must not use.
        self.module.set_num_threads(len(os.sched_getaffinity(0)))

    def place(self, array: np.ndarray) -> Any:
        if array.dtype.name == "bfloat16":
            return self.module.from_numpy(array.view(np.int16)).view(self.module.bfloat16)
        return self.module.from_numpy(array)

    def compile(self, case: Case, function: Callable) -> Callable:
        return self.module.compile(function)

    def to_numpy(self, array: Any) -> np.ndarray:
        return (array.float() if array.dtype == self.module.bfloat16 else array).numpy()


SYSTEMS: dict[str, type[System]] = {
    "tanx": Tanx, "jax": Jax, "numpy": System, "torch": Torch, "numba": System}
