"""Names of library calls that primitives, the compiler and the runtime share."""

__all__ = ["CALLBACK", "SCRATCH"]

CALLBACK = "callback"
"""The function that calls Python."""
SCRATCH = "scratch"
"""The function that leaves memory as it is, whatever was in it."""
