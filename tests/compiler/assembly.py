"""Code for machines that this process does not run on: made, assembled, and its loops found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import tanx
from tanx._compiler.abi import TILE
from tanx._compiler.emit.cpu.module import assemble, generate, instructions
from tanx._compiler.kernels.gemm.micro import kernel_text
from tanx._compiler.machine import Machine
from tanx._compiler.pipeline import build

_X86, _ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
_AVX512 = "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"

MACHINES = {
    "sse4.2": Machine(_X86, "x86-64-v2", "+sse4.2", 128),
    "avx2": Machine(_X86, "haswell", "+avx2,+fma,+f16c", 256),
    "avxvnni": Machine(_X86, "alderlake", "+avx2,+fma,+f16c,+avxvnni", 256),
    "avx512": Machine(_X86, "skylake-avx512", _AVX512, 512),
    "bf16": Machine(_X86, "cooperlake", f"{_AVX512},+avx512vnni,+avx512bf16", 512),
    "amx": Machine(_X86, "sapphirerapids", f"{_AVX512},+avx512vnni,+avx512bf16,+avx512fp16,"
                   "+amx-tile,+amx-bf16,+amx-int8", 512),
    "neon": Machine(_ARM, "neoverse-n1", "+neon,+dotprod,-use-postra-scheduler", 128),
    "sve": Machine(_ARM, "neoverse-v1", "+sve,+bf16,+i8mm,+dotprod,-use-postra-scheduler", 128),
}
"""Machines by the instruction set that matters. Vectors of SVE are as long as a processor likes;
code for it uses those of 128 bits, which all of them have (Neoverse V1 runs four at a time)."""

ELF = {"x86_64": 62, "aarch64": 183}
"""The number of a processor in the head of its object code."""


@dataclass(frozen=True)
class Code:
    """A program for a machine: assembly code by the names of functions, and object code."""

    machine: Machine
    texts: dict[str, str]
    objects: list[bytes]

    @property
    def kernels(self) -> list[Lines]:
        """The loops of the micro-kernels of products."""
        return [loop for name, text in self.texts.items() if name.startswith(TILE)
                for loop in loops(text) if loop.bits or loop.in_tiles]

    @property
    def loops(self) -> list[Lines]:
        """The innermost loops of the program itself."""
        return list(loops(self.texts["program"]))

    def hot(self, pattern: str = "") -> Lines:
        """The innermost loop with most float arithmetic, or with most matches of a pattern."""
        return max(self.loops, key=lambda loop: len(
            loop.matching(pattern) if pattern else loop.floats))


def code_of(machine: Machine, fun, *args) -> Code:
    """The code of a function for a machine, checked by LLVM; of arguments only types matter."""
    module = build(tanx.make_jaxpr(fun)(*args), machine=machine)
    made = generate(module.program, machine, module.plan.offsets, module.plan.shared)
    texts = {"program": made.text} | {
        symbol: kernel(symbol, machine) for symbol in made.symbols if symbol.startswith(TILE)}
    return Code(machine, {name: listing(text, machine) for name, text in texts.items()},
                [assemble(text, machine, verify=True) for text in texts.values()])


kernel, listing = cache(kernel_text), cache(instructions)


# -- loops -----------------------------------------------------------------------------------------

_LABEL = re.compile(r"^(\.L\w+|[\w.$\"-]+):")
_JUMP = re.compile(r"^\t(?:j\w+|b|b\.\w+|cbn?z|tbn?z)\t(?:.*[ ,])?(\.L\w+)$")
_CALL = re.compile(r"^\t(?:call\w*|bl|blr)\t")
_STACK = re.compile(r"\(%rsp|\[sp\b")
_FMA = re.compile(r"^\t(?:vfn?m(?:add|sub)\d|fml[as]\b|fmadd|fmsub|fnm)")
_FLOAT = re.compile(r"^\t(?:v?(?:add|mul|sub|div|max|min|sqrt|range)[ps][sdh]\b|vfn?m|"
                    r"f(?:add|mul|sub|div|max|min|ml[as]|n?madd|n?msub)\w*\b)")
_SCALAR = re.compile(r"^\t(?:v?(?:add|mul|sub|div|max|min|sqrt)s[sdh]\b|vfn?m\w+s[sdh]\b|"
                     r"f\w+\t[sdh]\d)")
_BITS = ((re.compile(r"%zmm\d"), 512), (re.compile(r"%ymm\d"), 256),
         (re.compile(r"%xmm\d|\bv\d+\.(?:4s|2d|8h|16b)|\bq\d"), 128))


@dataclass(frozen=True)
class Lines:
    """Instructions of a loop or of a function."""

    lines: tuple[str, ...]

    def matching(self, pattern: re.Pattern | str) -> list[str]:
        return [line for line in self.lines if re.search(pattern, line)]

    @property
    def calls(self) -> list[str]:
        return self.matching(_CALL)

    @property
    def spills(self) -> list[str]:
        """Instructions that read or write the stack."""
        return self.matching(_STACK)

    @property
    def vector_spills(self) -> list[str]:
        """Spills of vectors; spills of addresses run in parallel with the arithmetic."""
        return [line for line in self.spills if re.search(r"%[xyz]mm|\b[qvd]\d", line)]

    @property
    def fmas(self) -> list[str]:
        return self.matching(_FMA)

    @property
    def floats(self) -> list[str]:
        """Arithmetic on floats."""
        return self.matching(_FLOAT)

    @property
    def scalars(self) -> list[str]:
        """Arithmetic on one float at a time."""
        return self.matching(_SCALAR)

    @property
    def in_tiles(self) -> bool:
        """Whether the code uses matrix registers."""
        return bool(self.matching("%tmm"))

    @property
    def bits(self) -> int:
        """The widest vectors that the code uses; 0 if it uses none."""
        return next((bits for found, bits in _BITS if self.matching(found)), 0)


def loops(text: str) -> Iterator[Lines]:
    """The innermost loops of assembly code: from a label to a jump back to it, none between."""
    places: dict[str, int] = {}
    lines: list[str] = []
    jumps: list[tuple[int, int]] = []
    for line in text.split("\n"):
        line = re.sub(r"\s*(?:#|//|;).*$", "", line).rstrip()
        if found := _LABEL.match(line):
            places[found[1]] = len(lines)
        elif line.startswith("\t") and not line.startswith("\t."):
            lines.append(line)
            found = _JUMP.match(line)
            if found and found[1] in places:
                jumps.append((places[found[1]], len(lines)))
    for start, end in jumps:
        if not any(start <= s and e <= end and (s, e) != (start, end) for s, e in jumps):
            yield Lines(tuple(lines[start:end]))

