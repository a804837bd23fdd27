"""The names by which compiled code and the runtime know each other."""

__all__ = ["ENTRY", "PARALLEL", "TILE"]

ENTRY = "tanx_main"
"""The name of the entry point: a function of the address of an array of addresses."""
PARALLEL = "tanx_parallel"
"""A function of a task, a context and a count, that calls the task with the context and each number
below the count, in several threads."""
TILE = "tanx.tile."
"""How the names of kernels of tiles begin (``micro.py``), which whoever links code makes."""
