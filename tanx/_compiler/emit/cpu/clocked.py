"""A second entry point for a module, which stores the time between statements.

It calls the functions of the loaded module, so that they run as usual and only the entry point has
to be compiled.
"""

from __future__ import annotations

import time

from ...abi import ENTRY
from .module import Generated

__all__ = ["CLOCKED", "STAMPS", "clocked"]

CLOCKED = "tanx_clocked"
"""The name of the entry point."""
STAMPS = "tanx_stamps"
"""Where it stores the times: seconds and nanoseconds, before the first statement and after each."""


def clocked(generated: Generated) -> str:
    """The text of a module with that entry point alone."""
    heads, addresses = generated.heads, generated.addresses
    calls = [lines[0] for lines in generated.calls]
    if any(len(lines) > 1 for lines in generated.calls):  # the only statement has no function
        heads, addresses = (f"declare void @{ENTRY}(ptr)",), ()
        calls = [f"call void @{ENTRY}(ptr %buffers)"]
    lines = [line for number, call in enumerate(calls) for line in (call, _stamp(number + 1))]
    return "\n".join([
        *heads, "declare i32 @clock_gettime(i32, ptr)",
        f"@{STAMPS} = external global [{len(calls) + 1} x [2 x i64]]",
        f"define void @{CLOCKED}(ptr %buffers) {{", "entry:", *addresses, _stamp(0), *lines,
        "ret void", "}", ""])


def _stamp(number: int) -> str:
    place = f"getelementptr ([2 x i64], ptr @{STAMPS}, i64 {number})"
    return f"call i32 @clock_gettime(i32 {time.CLOCK_MONOTONIC}, ptr {place})"
