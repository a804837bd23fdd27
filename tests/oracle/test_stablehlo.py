"""The StableHLO text of every row of the table of cases, compiled by jaxlib: same numbers."""

import numpy as np
import pytest

import tanx
from tanx.tree_util import tree_leaves
from tests.cases import CASES
from tests.export.rows import LOOSE, REFUSED, text_of

pytest.importorskip("jax")
pytestmark = pytest.mark.oracle

TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float32": 2e-5, "complex64": 2e-5,
             "float16": 4e-3, "bfloat16": 3e-2}
"""Relative and absolute; narrower floats have a few bits only."""


@pytest.fixture(scope="module")
def run():
    """A function that compiles the text of a module and runs it on NumPy arrays."""
    import jax
    from jax.extend.backend import get_backend
    from jaxlib import _jax
    from jaxlib.cpu import _lapack
    _lapack.initialize()  # which jax does when it writes a call of LAPACK itself
    client = get_backend("cpu")
    devices = _jax.DeviceList(tuple(client.local_devices()[:1]))
    options = _jax.CompileOptions()
    # The text is on trial, not the code that is made of it: quick compilation will do.
    options.executable_build_options.debug_options.xla_backend_optimization_level = 0

    def run(text, arrays):
        with jax.enable_x64(True):
            loaded = client.compile_and_load(text, devices, options)
            return [np.asarray(x) for x in loaded.execute([jax.device_put(a) for a in arrays])]
    return run


def same(actual: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two arrays have one type and, to rounding, the same numbers."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    if "int" in expected.dtype.name or expected.dtype == bool:
        return np.array_equal(actual, expected)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    eps = TOLERANCE.get(expected.dtype.name, 0.3)
    return np.allclose(actual.astype(wide), expected.astype(wide), eps, eps, equal_nan=True)


@pytest.mark.parametrize("case", [case for case in CASES if case.primitive not in REFUSED],
                         ids=lambda case: case.id)
def test_rows(run, case):
    with tanx.enable_x64(True):
        arguments = case.arguments()
        expected = [np.asarray(x) for x in tree_leaves(case.fun(*arguments))]
    actual = run(text_of(case), arguments)
    assert len(actual) == len(expected)
    for n, (a, e) in enumerate(zip(actual, expected)):
        if n not in LOOSE.get(case.id, ()):
            assert same(a, e), f"result {n}:\n{a}\nexpected:\n{e}"
