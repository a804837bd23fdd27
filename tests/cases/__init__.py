"""The table of cases: one row or more for each primitive, in a file for each file of ``_ops``.

A row says how to call a primitive and on what kind of arguments; ``tests/test_rules.py`` holds
every row against all six rules. A primitive without a row fails the structure tests.
"""

import importlib
import pkgutil

from .case import Case

CASES: list[Case] = []
for _module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
    if _module.name != "case":
        CASES += importlib.import_module(f"{__name__}.{_module.name}").CASES
