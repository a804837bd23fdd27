"""Names and the alignment that compiled code and the runtime share."""

__all__ = ["ALIGNMENT", "ENTRY", "NO_ROOM", "PARALLEL", "SLOT", "STOP", "STOPPED", "TILE"]

ALIGNMENT = 64
"""Alignment of buffers, arenas and constants in bytes: that of the widest vector."""
ENTRY = "tanx_main"
"""The name of the entry point: a function of the address of an array of addresses."""
PARALLEL = "tanx_parallel"
"""A function of a task, a context and a count. It calls the task with the context and each number
below the count, in several threads."""
NO_ROOM = "tanx_no_room"
"""A function of a number of bytes. A task calls it when it cannot allocate them, and returns."""
SLOT = "tanx_slot"
"""Where the address of the current code is stored, in code that better code may replace."""
STOP = "tanx_stop"
"""A word of 64 bits that is zero unless some program should stop."""
STOPPED = "tanx_stopped"
"""A function without arguments: whether the program that this thread runs should stop."""
TILE = "tanx.tile."
"""Prefix of the names of tile kernels (``kernels/gemm/micro.py``), which are linked in later."""
