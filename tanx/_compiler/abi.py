"""The names by which compiled code and the runtime know each other."""

__all__ = ["ENTRY", "NO_ROOM", "PARALLEL", "SLOT", "STOP", "STOPPED", "TILE"]

ENTRY = "tanx_main"
"""The name of the entry point: a function of the address of an array of addresses."""
PARALLEL = "tanx_parallel"
"""A function of a task, a context and a count, that calls the task with the context and each number
below the count, in several threads."""
NO_ROOM = "tanx_no_room"
"""A function of a number of bytes: a task calls it, and returns, if it finds no such memory."""
SLOT = "tanx_slot"
"""The address of what the entry point runs, in code that is to be exchanged for better code."""
STOP = "tanx_stop"
"""A word of 64 bits that is zero unless some program should stop."""
STOPPED = "tanx_stopped"
"""A function without arguments: whether the program that calls it, in this thread, should stop."""
TILE = "tanx.tile."
"""Prefix of the names of tile kernels (``kernels/gemm/micro.py``), which are linked in later."""
