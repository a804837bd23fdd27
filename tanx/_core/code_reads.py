"""Which globals and variables of enclosing functions the code of a function reads.

Found in its bytecode, without running it. Names that the function itself writes do not count.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dis import EXTENDED_ARG, opmap
from functools import lru_cache
from types import CodeType

from .._base.tuples import NamedTuple

__all__ = ["CodeReads", "code_reads"]


class CodeReads(NamedTuple):
    """What one code object reads, without the functions that are defined inside of it."""

    names: frozenset[str]  # globals
    attributes: frozenset[tuple[str, str]]  # of globals: SETTINGS.rate is ("SETTINGS", "rate")
    free: frozenset[str]  # variables of enclosing functions
    written: frozenset[str]  # globals, and variables of enclosing functions
    inner: tuple[CodeType, ...]  # functions defined inside


_GLOBAL, _DEREF, _ATTRIBUTE, _WRITES, _WRITES_DEREF = 1, 2, 3, 4, 5
_KINDS = {opmap[name]: kind for name, kind in {
    "LOAD_GLOBAL": _GLOBAL, "LOAD_NAME": _GLOBAL, "LOAD_DEREF": _DEREF,
    "LOAD_CLASSDEREF": _DEREF, "LOAD_FROM_DICT_OR_DEREF": _DEREF, "LOAD_ATTR": _ATTRIBUTE,
    "LOAD_METHOD": _ATTRIBUTE, "STORE_GLOBAL": _WRITES, "DELETE_GLOBAL": _WRITES,
    "STORE_DEREF": _WRITES_DEREF, "DELETE_DEREF": _WRITES_DEREF}.items() if name in opmap}
# The lowest bit of these arguments is a flag for calls.
_FLAGGED = {opmap["LOAD_GLOBAL"]} | ({opmap["LOAD_ATTR"]} if sys.version_info >= (3, 12) else set())


@lru_cache(maxsize=4096)
def code_reads(code: CodeType) -> CodeReads:
    """The names that a code object reads and writes outside of itself.

    >>> rate = 3
    >>> sorted(code_reads((lambda x: x * rate + SETTINGS.shift).__code__).attributes)
    [('SETTINGS', 'shift')]
    """
    names, attributes, free, written = set(), set(), set(), set()
    outside = set(code.co_freevars)
    before = ""
    for kind, opcode, argument in _instructions(code):
        if kind == _GLOBAL:
            before = code.co_names[argument >> 1 if opcode in _FLAGGED else argument]
            names.add(before)
            continue
        if kind == _DEREF:
            before = _variable(code, argument)
            if before in outside:
                free.add(before)
            continue
        if kind == _ATTRIBUTE and before:
            attributes.add((before, code.co_names[argument >> 1 if opcode in _FLAGGED
                                                  else argument]))
        elif kind == _WRITES:
            written.add(code.co_names[argument])
        elif kind == _WRITES_DEREF and (name := _variable(code, argument)) in outside:
            written.add(name)
        before = ""
    inner = tuple(c for c in code.co_consts if isinstance(c, CodeType))
    return CodeReads(frozenset(names), frozenset(attributes), frozenset(free),
                     frozenset(written), inner)


def _instructions(code: CodeType) -> Iterator[tuple[int, int, int]]:
    """The kind, the number and the argument of each instruction; kind 0 is of no interest."""
    words, extended = code.co_code, 0
    for at in range(0, len(words), 2):
        opcode = words[at]
        if opcode == 0:  # a cache of the interpreter's
            continue
        argument = words[at + 1] | extended
        if opcode == EXTENDED_ARG:
            extended = argument << 8
            continue
        extended = 0
        yield _KINDS.get(opcode, 0), opcode, argument


def _variable(code: CodeType, index: int) -> str:
    """The name of a variable by its number, as the interpreter counts them."""
    plain = code.co_varnames
    cells = [name for name in code.co_cellvars if name not in plain]
    return (*plain, *cells, *code.co_freevars)[index]
