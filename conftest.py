"""Settings and fixtures of all tests and of the examples in docstrings."""

import gc
import importlib
import importlib.util
import os
import re

import numpy as np
import pytest
from hypothesis import settings

# Read at import: each pass of the compiler is checked in tests.
os.environ.setdefault("TANX_CHECK", "1")
# Tests compile with full optimisation, except in the folders that test the user interface.
os.environ.setdefault("TANX_QUICK_CODE", "0")
HURRIED = ("tests/api/", "tests/runtime/")
# Libraries only use public functions, which other tests cover with full optimisation: here most of
# the time is compilation, which takes a third less at a low level of optimisation.
LIBRARIES = ("tests/scipy/", "tests/experimental/", "tests/example_libraries/")
# No test depends on files that others have left in the cache.
os.environ["TANX_ENABLE_COMPILATION_CACHE"] = "0"

# The same examples in each run, without a time limit: machines are shared.
settings.register_profile("tanx", deadline=None, derandomize=True)
settings.load_profile("tanx")

# Windows only re-export functions, whose examples run in the files that define them; one tool needs
# mpmath, and programs of the ecosystem need their libraries.
collect_ignore_glob = ["tanx/__init__.py", "tanx/*/__init__.py", "tanx/export.py", "tanx/ffi.py",
                       "tests/scipy/fit.py", "tests/ecosystem/programs/*",
                       "tests/ecosystem/well_known/*"]

# Functions such as exp differ in their last bit between processors and versions of NumPy.
FLOAT = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")
LAST_BITS = 1e-6


class NearlyEqualChecker:
    """Compares the output of examples; numbers of seven digits may differ in the last digits."""

    def __init__(self, exact):
        self.exact = exact
        self.output_difference = exact.output_difference

    def check_output(self, want: str, got: str, flags: int) -> bool:
        return self.exact.check_output(want, got, flags) or (
            _words(want) == _words(got)
            and all(abs(a - b) <= LAST_BITS * max(abs(a), abs(b), LAST_BITS)
                    for a, b in zip(_floats(want), _floats(got))))


def _words(text: str) -> str:
    """A text without its numbers, and without spaces: columns are as wide as numbers."""
    return "".join(FLOAT.sub("#", text).split())


def _floats(text: str) -> list[float]:
    return [float(number) for number in FLOAT.findall(text)]


EXAMPLE_NAMES = {"tanx": "tanx", "jnp": "tanx.numpy", "lax": "tanx.lax", "np": "numpy"}


def pytest_collection_modifyitems(items):
    addressed = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if addressed:  # the names of tests would differ between workers
        raise pytest.UsageError(f"names of tests with an address: {addressed[:3]}")
    for item in items:
        if isinstance(item, pytest.DoctestItem) and not isinstance(
                item.runner._checker, NearlyEqualChecker):
            item.runner._checker = NearlyEqualChecker(item.runner._checker)


def pytest_collection_finish():
    """Exclude the tests themselves from collections: a million objects, half a second."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Use all cores for the whole suite; named files run in this process."""
    if "PYTEST_XDIST_WORKER" in os.environ:  # a worker starts no workers
        return
    whole = config.args_source is config.ArgsSource.TESTPATHS
    if whole and config.getoption("numprocesses", 0) is None and not config.getoption("usepdb"):
        config.option.numprocesses = config.hook.pytest_xdist_auto_num_workers(config=config)


@pytest.fixture(autouse=True)
def code_as_users_have_it(request):
    """Compile quickly, or at a low level, in the folders listed above."""
    if request.node.nodeid.startswith(HURRIED):
        from tanx._base.config import quick_code
        with quick_code(True):
            yield
    elif request.node.nodeid.startswith(LIBRARIES):
        from tanx._base.config import optimization_level
        with optimization_level("O1"):
            yield
    else:
        yield


@pytest.fixture(autouse=True)
def same_numbers_in_any_order(request):
    """Reset the random numbers of a file: a test has the same ones alone, and on any worker."""
    generator = getattr(getattr(request, "module", None), "RNG", None)
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = np.random.default_rng(0).bit_generator.state


@pytest.fixture(autouse=True)
def names_in_examples(request, doctest_namespace):
    """The names that examples in docstrings use without importing them."""
    if isinstance(request.node, pytest.DoctestItem):
        for name, module in EXAMPLE_NAMES.items():
            if importlib.util.find_spec(module) is not None:
                doctest_namespace[name] = importlib.import_module(module)
