"""The cases of the duel, a file for each family or two; ``case.py`` says what a case is."""

from importlib import import_module

from .case import CASES, Case

__all__ = ["CASES", "Case"]

# In the order of the report; each registers its cases.
for _file in ("calls", "eager", "elementwise", "reductions", "norms", "layout", "cumulative",
              "windows", "indexing", "sort", "special", "statistics", "fourier", "signals",
              "random", "products", "linalg", "convolution", "networks", "derivatives", "control",
              "loops", "state", "spatial", "scipy_linalg",
              "taylor",
              "sparse"):
    import_module(f".{_file}", __name__)
