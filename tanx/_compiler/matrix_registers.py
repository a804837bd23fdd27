"""Matrix registers of x86-64 processors (AMX): their size, and the permission to use them.

A register holds 16 rows of 16 words. One instruction adds the products of 16 rows by 16 columns, of
16 words of terms each, to 16 x 16 sums. A word holds two bfloat16 terms (``dot2``) or four signed
bytes (``dot4``). The system saves these registers only for processes that have requested it.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

__all__ = ["INSTRUCTIONS", "PERMISSION", "SIZE", "is_permitted"]


INSTRUCTIONS = {"dot2": "tdpbf16ps", "dot4": "tdpbssd"}
"""The instruction on registers, by the instruction on words."""
SIZE = 16
"""Rows of a register, and words of each."""
_SYSCALL, _ASK, _TILES = 158, 0x1023, 18
"""On Linux: the system call ``arch_prctl``, its request to enable a part of the processor state,
and the number of that part."""
PERMISSION = f"""\
declare i64 @syscall(i64, ...)
@llvm.global_ctors = appending global [1 x {{ i32, ptr, ptr }}] [
  {{ i32, ptr, ptr }} {{ i32 65535, ptr @ask, ptr null }}]
define internal void @ask() {{
  %got = call i64 (i64, ...) @syscall(i64 {_SYSCALL}, i64 {_ASK}, i64 {_TILES})
  ret void
}}
"""
"""LLVM code of a library that requests the permission when it is loaded."""


@cache
def is_permitted() -> bool:
    """Whether this process may use the registers; requests it from the system once."""
    if not sys.platform.startswith("linux"):
        return False
    return ctypes.CDLL(None).syscall(
        *(ctypes.c_long(n) for n in (_SYSCALL, _ASK, _TILES))) == 0
