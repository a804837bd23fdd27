"""Arrays between forbidden pages."""

import subprocess
import sys

import numpy as np
import pytest

from tests.compiler.guarded import guarded

ACCESS = """
import ctypes, numpy as np
from tests.compiler.guarded import guarded
x = guarded(np.arange(5.0), {at_end})
ctypes.string_at(x.ctypes.data + {offset}, 1)
"""


@pytest.mark.parametrize("shape", [(), (3,), (2, 1000), (0, 4)])
@pytest.mark.parametrize("at_end", [True, False])
def test_arrays_are_copies(shape, at_end):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    y = guarded(x, at_end)
    assert y.dtype == x.dtype and y.flags.writeable
    np.testing.assert_array_equal(y, x, strict=True)


@pytest.mark.parametrize("at_end, offset, dies", [
    (True, 39, False), (True, 40, True), (False, 0, False), (False, -1, True)])
def test_an_access_outside_ends_the_process(at_end, offset, dies):
    done = subprocess.run([sys.executable, "-c", ACCESS.format(at_end=at_end, offset=offset)])
    assert (done.returncode != 0) == dies
