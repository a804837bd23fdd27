"""Rows of the table of cases as StableHLO, and rows that StableHLO cannot express."""

from __future__ import annotations

import tanx
from tanx._export.stablehlo import module_text
from tests.cases.case import Case

REFUSED = {
    **dict.fromkeys(("pure_callback", "io_callback", "buffer_callback", "debug_callback",
                     "debug_print"), "a Python function"),
    "c_function": "a function of this process",
    "check": "errors found by a running program are raised in Python"}
"""For each primitive whose rows are not translated, the reason."""

LOOSE = {"svd-full(complex128[2,3])": (0, 2)}
"""For some rows, the results that are unique only up to factors of absolute value 1."""


def text_of(case: Case) -> str:
    """The text of a row."""
    with tanx.enable_x64(True):
        return module_text(tanx.make_jaxpr(case.fun)(*case.arguments()))
