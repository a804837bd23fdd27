"""Where tanx differs from JAX on purpose, and why; the sweep consults this table.

A row is a pattern for the text of calls, the modes it is about, and the reason. A row that no call
needs any more is reported, so that the table stays true.
"""

from __future__ import annotations

import re

__all__ = ["DIFFERENCES", "reason"]

DIFFERENCES: list[tuple[str, str, str]] = []


def reason(call) -> str | None:
    """Why ``call`` differs; None where it must not."""
    for pattern, modes, why in DIFFERENCES:
        if call.mode in modes.split() and re.search(pattern, call.text):
            return why
    return None
