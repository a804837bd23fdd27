"""Routines of LAPACK are found without importing ``scipy.linalg``."""

import subprocess
import sys

import pytest

from tanx._loops import lapack

ALONE = """
import sys
from tanx._loops import lapack
found = [lapack.address(name) for name in ("dgetrf", "dgemm")]
assert "scipy.linalg" not in sys.modules
import scipy.linalg.cython_lapack
assert scipy.linalg.inv([[2.0]])[0, 0] == 0.5
lapack.address.cache_clear(), lapack._extension.cache_clear()
assert [lapack.address(name) for name in ("dgetrf", "dgemm")] == found
"""


def test_routines_are_loaded_alone_and_get_along_with_scipy():
    subprocess.run([sys.executable, "-c", ALONE], check=True)


def test_unknown_routines_are_no_addresses():
    with pytest.raises(KeyError):
        lapack.address("dnothing")
