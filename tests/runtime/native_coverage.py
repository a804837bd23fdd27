"""Counts in machine code which blocks of the native call path run in tests.

    python -m tests.runtime.native_coverage [FILE ...]    # runs tests, then lists missed blocks

The translation of ``tanx/_runtime/call*.py`` is patched so that each block counts its runs. Blocks
that never run handle a lack of memory, and errors in the flatten functions of users' classes.
"""

from __future__ import annotations

import ast
import ctypes
import os
import sys
from typing import NamedTuple
from unittest.mock import patch

import pytest

from tanx._runtime import call, call_arguments, call_frame, call_results, entries, native
from tanx._runtime import machine_code as machine

FILES = ("tests/runtime/test_dispatch.py", "tests/runtime/test_donation.py",
         "tests/runtime/test_signatures.py", "tests/runtime/test_async.py")
MODULES = (call, call_arguments, call_frame, call_results)


class Block(NamedTuple):
    """Consecutive statements without a branch."""

    file: str
    function: str
    line: int
    text: str


class Counters:
    """A counter for each block of the native functions."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.counts = (ctypes.c_int64 * 1000)()

    def translate(self) -> str:
        """The native functions as LLVM code that counts blocks."""
        files = {node.name: module.__name__.rpartition(".")[2] for module in MODULES
                 for node in ast.parse(open(module.__file__).read()).body
                 if isinstance(node, ast.FunctionDef)}
        whole, block = native._Function.__init__, native._Function.block

        def of_function(function, node, *args):
            function.name = node.name
            whole(function, node, *args)

        def counted(function, body):
            body = list(body)
            if body:
                place = ctypes.addressof(self.counts) + 8 * len(self.blocks)
                self.blocks.append(Block(files[function.name], function.name, body[0].lineno,
                                         ast.unparse(body[-1]).partition("\n")[0]))
                pointer = f"ptr inttoptr (i64 {place} to ptr)"
                old = function.new(f"load i64, {pointer}")
                function.lines.append(f"store i64 {function.new(f'add i64 {old}, 1')}, {pointer}")
            block(function, body)

        with patch.object(native._Function, "__init__", of_function), patch.object(
                native._Function, "block", counted):
            return native.translate(MODULES, ["vectorcall"])

    def missed(self) -> list[Block]:
        """The blocks that never ran."""
        return [block for block, count in zip(self.blocks, self.counts) if not count]


def run(files=FILES) -> tuple[Counters, int]:
    """Run tests with code that counts blocks; return the counters and the exit code."""
    counters = Counters()
    name = f"counted calls of process {os.getpid()}"  # it contains addresses of this process
    made = machine.permanent

    def permanent(_, text, symbols, tidy):
        return made(name, counters.translate, symbols, tidy)

    entries.vectorcall.cache_clear()
    with patch.object(entries, "permanent", permanent):
        code = pytest.main([*files, "-q", "-p", "no:xdist", "-p", "no:cacheprovider"])
    return counters, int(code)


def main() -> int:
    counters, code = run(sys.argv[1:] or FILES)
    missed = counters.missed()
    for block in missed:
        print(f"{block.file}.py:{block.line}: {block.function}: {block.text}")
    print(f"{len(counters.blocks) - len(missed)} of {len(counters.blocks)} blocks were run")
    return code


if __name__ == "__main__":
    sys.exit(main())
