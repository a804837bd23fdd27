"""Handlers in C++ with JAX's headers have the same results on tanx and on JAX."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

jax = pytest.importorskip("jax")
pytestmark = [pytest.mark.oracle,
              pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")]

HERE = Path(__file__).parent


def test_handlers_of_packages(tmp_path):
    library = tmp_path / "handlers.so"
    subprocess.run(["c++", "-std=c++17", "-fPIC", "-shared", "-w", "-I", jax.ffi.include_dir(),
                    HERE / "ffi_handlers.cc", "-o", library], check=True)
    theirs, ours = (subprocess.run(
        [sys.executable, "-m", "tests.oracle.ffi_calls", system, library], cwd=HERE.parents[1],
        capture_output=True, text=True, check=True).stdout for system in ("jax", "tanx"))
    assert theirs.count("\n") == 36 and ours == theirs


def test_the_header_serves_both(tmp_path):
    """Code that is compiled with tanx/ffi.h runs with jax.ffi."""
    import ctypes

    import numpy as np

    import tanx
    library = tmp_path / "foreign.so"
    subprocess.run(["cc", "-fPIC", "-shared", "-I", tanx.ffi.include_dir(),
                    HERE.parent / "extend" / "foreign.c", "-o", library, "-lm", "-lpthread"],
                   check=True)
    function = ctypes.CDLL(str(library)).kepler
    jax.numpy.ones(1).block_until_ready()
    mean, e = np.linspace(0, 3, 5, dtype=np.float32), np.full(5, 0.3, np.float32)
    found = []
    for system in (jax, tanx):
        system.ffi.register_ffi_target("oracle.kepler", system.ffi.pycapsule(function))
        call = system.jit(lambda m, e, s=system: s.ffi.ffi_call(
            "oracle.kepler", s.ShapeDtypeStruct(m.shape, m.dtype))(m, e, tolerance=1e-9))
        found += [np.asarray(call(mean, e)) for _ in range(4)]
        with pytest.raises((ValueError, RuntimeError), match="INVALID_ARGUMENT: eccentricity"):
            np.asarray(call(mean, e + 1))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
