"""Methods of arrays are loaded when they are used, and cost nothing until then."""

import subprocess
import sys

import pytest

from tanx._core.operators import SPECIAL
from tanx.numpy._methods import METHODS


def test_special_methods_match_the_table():
    assert sorted(SPECIAL) == sorted(name for name in METHODS if name.startswith("__"))


def fresh(code: str) -> str:
    """The output of a program in a separate process."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          check=True).stdout


LOOPS = tuple(f"tanx._loops.{name}" for name in ("build", "expr", "instructions", "nest"))


def loaded(code: str, *late: str) -> list[str]:
    """The modules of some rooms that a program loads."""
    modules = fresh(f"import sys; {code}; print(*sys.modules)").split()
    return [m for m in modules if m.startswith(late)]


def test_importing_loads_neither_the_numpy_room_nor_jax():
    assert not loaded("import tanx", "tanx.numpy", "tanx.lax", "tanx.stages", *LOOPS,
                      "tanx._runtime.machine_code", "tanx._compiler.p", "jax", "scipy", "llvmlite")


def test_importing_loads_no_slow_module_that_few_programs_need():
    """Of Python's library: ``logging`` takes as long as ten of our files."""
    assert not loaded("import tanx.numpy", "logging", "bdb", "tanx.numpy.linalg",
                      "tanx.numpy.fft", "tanx.lax.linalg", "tanx._loops.lapack",
                      "tanx._control.debugging", "tanx._control.policies", "tanx._core.layouts",
                      "tanx._ops.ref_views")


@pytest.mark.parametrize("use", [
    "tanx.jit(lambda x: jnp.linalg.norm(x) + jnp.fft.fft(x)[0].real)(jnp.ones(4))",
    "tanx.jit(jnp.roots, static_argnames='strip_zeros')(jnp.array([1., -2.]), strip_zeros=False)",
    "tanx.vmap(jnp.poly)(jnp.ones((2, 2, 2)))",
    "tanx.grad(lambda x: tanx.lax.linalg.cholesky(x)[0, 0])(jnp.eye(2))",
])
def test_rooms_that_load_late_may_load_inside_a_traced_function(use):
    assert "Array" in fresh(f"import tanx, tanx.numpy as jnp; print(repr({use}))")


def test_tracing_does_not_load_the_compiler():
    assert not loaded("import tanx.numpy; tanx.make_jaxpr(lambda x: tanx.numpy.sort(x) + 1)(1.0 * "
                      "tanx.numpy.arange(3))", *LOOPS, "tanx._compiler.p", "llvmlite")


def test_the_first_use_may_be_inside_a_traced_function():
    assert fresh("import tanx; print(tanx.jit(lambda x: x * x + x.sum())(2.0))") == "6.0\n"
    assert fresh("import tanx; print(tanx.grad(lambda x: x ** 3)(2.0))") == "12.0\n"
    assert fresh("import tanx; print(2 * tanx.device_put(3.0))") == "6.0\n"


def test_importing_leaves_the_collector_as_it_was():
    assert fresh("import gc; frozen = gc.get_freeze_count(); import tanx; "
                 "print(gc.isenabled(), gc.get_freeze_count() <= frozen)") == "True True\n"
    assert fresh("import gc; gc.disable(); gc.freeze(); import tanx; "
                 "print(gc.isenabled(), gc.get_freeze_count() > 0)") == "False True\n"


def test_random_numbers_of_numpy_are_loaded_when_they_are_drawn():
    assert not loaded("import tanx.numpy", "numpy.random")
    assert loaded("import tanx; tanx.lax.rng_uniform(0.0, 1.0, (3,))", "numpy.random")
