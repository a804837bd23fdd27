"""Primitives that have no form in StableHLO, and the reasons."""

from __future__ import annotations

from .rules import refuse

__all__: list[str] = []

refuse("it runs a Python function, which the text of a program cannot hold.",
       "pure_callback", "io_callback", "buffer_callback", "debug_callback", "debug_print")
refuse("it calls a function of this process by its address.", "c_function")
refuse("errors that are found while a program runs are raised in Python.", "check")
