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


def test_routines_load_without_scipy_and_work_next_to_it():
    subprocess.run([sys.executable, "-c", ALONE], check=True)


def test_addresses_of_unknown_routines_raise():
    with pytest.raises(KeyError):
        lapack.address("dnothing")
