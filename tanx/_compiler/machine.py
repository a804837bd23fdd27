"""The machine that code is generated for: one value, which is passed down the pipeline.

Passes and code generation read all facts about a machine from it. So code for a machine other than
this one is generated in the same way, and can be inspected; `host` describes this one.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, cached_property

from .._base.config import enable_compilation_cache
from .._base.limits import processors
from .._base.records import record
from .._base.tuples import NamedTuple
from .matrix_registers import is_permitted
from .tuning import USUAL, Tuning

__all__ = ["Machine", "Rates", "as_host", "caches_of", "host", "ways_of"]


class Rates(NamedTuple):
    """What one core does per second: from this, the time of a program is estimated.

    The estimates decide about threads and locks, where a factor of two makes no difference; so one
    set of figures serves all processors (measured on a Neoverse N1).
    """

    flops: float = 1e10  # operations on vectors
    functions: float = 5e8  # functions such as ``exp``
    bytes: float = 2e10  # of memory
    start: float = 1e-7  # seconds that an empty program takes


@record
class Machine:
    """A processor as LLVM knows it, the bits of its vector registers, caches and cores.

    ``caches`` has the bytes of the first, second and last level of cache that a core can use,
    ``ways`` the ways of the first level, ``line`` the bytes of a line, ``cores`` how many
    cores a program may use, ``rates`` how fast one is, and ``tuning`` the thresholds of the passes.

    >>> wide = Machine("x86_64-unknown-linux-gnu", "x86-64-v4", "+avx512f", 512)
    >>> wide.vector_registers, wide.multiplies_bytes
    (32, False)
    """

    triple: str
    cpu: str
    features: str
    vector_bits: int
    caches: tuple[int, int, int] = (1 << 15, 1 << 20, 1 << 25)
    ways: int = 8
    line: int = 64
    cores: int = 2
    rates: Rates = Rates()
    tuning: Tuning = USUAL

    @cached_property
    def _has(self) -> frozenset[str]:
        """The features of the processor, by LLVM's names."""
        return frozenset(f[1:] for f in self.features.split(",") if f.startswith("+"))

    @property
    def is_arm(self) -> bool:
        """Whether this is a 64-bit ARM processor."""
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def vector_registers(self) -> int:
        """How many vector registers there are."""
        return 32 if self.is_arm or self.vector_bits == 512 else 16

    @property
    def has_masks(self) -> bool:
        """Whether there are mask registers."""
        return self.vector_bits >= 512

    def without_masks(self) -> Machine:
        """The same processor without AVX-512 and what came after it, as many with AVX2 are.

        Its code runs on this one too: so any x86-64 tests and measures both.
        """
        if not self.has_masks:
            return self
        features = (f"-{feature[1:]}" if feature[1:].startswith(_AFTER_AVX2) else feature
                    for feature in self.features.split(","))
        return replace(self, features=",".join(features), vector_bits=256)

    @property
    def fuses(self) -> bool:
        """Whether one instruction multiplies and adds."""
        return self.is_arm or self.vector_bits > 128 or "fma" in self._has

    @property
    def multiplies_bytes(self) -> bool:
        """Whether an instruction adds products of four bytes each to the words of a vector."""
        if self.is_arm:
            return "dotprod" in self._has
        return {512: "avx512vnni", 256: "avxvnni"}.get(self.vector_bits) in self._has

    @property
    def multiplies_pairs(self) -> bool:
        """Whether an instruction adds products of two numbers of bfloat16 each to float32."""
        return self.multiplies_two_rows("dot2") or (
            self.vector_bits == 512 and "avx512bf16" in self._has)

    def multiplies_two_rows(self, times: str) -> bool:
        """Whether an instruction multiplies two rows by two columns, two words of terms each."""
        return self.is_arm and {"dot2": "bf16", "dot4": "i8mm"}.get(times) in self._has

    @property
    def has_matrix_registers(self) -> bool:
        """Whether registers hold 16 x 16 sums of products of pairs or of bytes (``amx.py``)."""
        return self.multiplies_pairs and {"amx-bf16", "amx-int8"} <= self._has

    @property
    def multiplies_signed_bytes(self) -> bool:
        """Whether the instruction on bytes treats both factors as signed."""
        return self.is_arm

    @property
    def multiplies_by_lane(self) -> bool:
        """Whether an instruction multiplies a vector by one lane of another; otherwise a scalar
        from memory is as quick."""
        return self.is_arm

    @property
    def spares_addends(self) -> bool:
        """Whether a fused multiply-add can overwrite a factor instead of the sum."""
        return not self.is_arm

    @property
    def saturates(self) -> bool:
        """Whether converting floats to integers saturates."""
        return self.is_arm

    @property
    def orders_zeros(self) -> bool:
        """Whether an instruction on whole vectors finds the greater of two floats, 0 and -0 among
        them, but not NaN."""
        return self.vector_bits == 512 and "avx512dq" in self._has

    @property
    def prefers_second(self) -> bool:
        """Whether the instruction for the greater of two floats gives the second of two zeros, and
        of a pair with NaN, and there is none that orders zeros."""
        return not self.is_arm and self.vector_bits < 512

    @property
    def has_half(self) -> bool:
        """Whether there is arithmetic in float16, or LLVM emulates it as fast."""
        return self.is_arm or "avx512fp16" in self._has


_AFTER_AVX2 = ("avx512", "avx10", "evex512", "avxvnni", "avxifma", "avxneconvert", "amx")
"""How the names of features begin that processors with AVX2 may lack."""


# -- the machine of this process -------------------------------------------------------------------

_OWN_ORDER = ",-use-postra-scheduler"
"""On ARM: leave the final order of instructions to the processor."""

_APPLE = "aarch64-none-elf", ",+dotprod,+reserve-x18"
"""On Apple silicon, which is untested: object code in the form that ``linked_code.py`` links, and
the register that is reserved for the system. Apple passes variadic arguments differently: generated
code calls no variadic function."""


def host() -> Machine:
    """The machine that this process runs on."""
    return _chosen[-1] if _chosen else _found()


_chosen: list[Machine] = []


@contextmanager
def as_host(machine: Machine) -> Iterator[None]:
    """Compile for another machine than :func:`host` finds, such as one with other thresholds.

    The code runs on this machine, which must have the instructions of the other one. This is for
    tests and experiments: it affects all threads, and disables reading from the disk cache.
    """
    _chosen.append(machine)
    try:
        with enable_compilation_cache(False):
            yield
    finally:
        _chosen.pop()


@cache
def _found() -> Machine:
    from llvmlite import binding as llvm  # slow to load; cached code does not need it
    features = llvm.get_host_cpu_features()
    if features.get("amx-bf16"):
        features["amx-bf16"] = is_permitted()
    triple, more, bits = llvm.get_process_triple(), "", 128
    if triple.startswith(("x86_64", "amd64", "i686")):
        wide = features.get("avx2") and features.get("fma")
        bits = 512 if features.get("avx512f") else 256 if wide else 128
    if triple.startswith(("aarch64", "arm64")):
        more = _OWN_ORDER + _more_of_arm()
    if sys.platform == "darwin":
        triple, more = _APPLE[0], _OWN_ORDER + _APPLE[1]
    caches = caches_of()
    return Machine(triple, llvm.get_host_cpu_name(), features.flatten() + more, bits, caches,
                   ways_of(caches[0]), cores=processors())


_ANNOUNCED = {"dotprod": (16, 20), "bf16": (26, 14), "i8mm": (26, 13)}
"""Features of ARM by LLVM's names, and where Linux announces them to programs: the entry of the
auxiliary vector, and the bit."""


def _more_of_arm() -> str:
    """The processor features that LLVM does not detect by itself."""
    if sys.platform != "linux":
        return ""
    tell = ctypes.CDLL(None).getauxval
    tell.restype, tell.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
    return "".join(f",+{feature}" for feature, (entry, bit) in _ANNOUNCED.items()
                   if tell(entry) >> bit & 1)


_CACHES = "/sys/devices/system/cpu/cpu0/cache"
"""Where Linux describes the caches of a processor."""


def caches_of(folder: str = _CACHES) -> tuple[int, int, int]:
    """Bytes of the first, second and last level of data cache; typical ones if unknown."""
    found = {"linux": lambda: _caches_of_linux(folder), "darwin": _caches_of_macos}
    known = dict(found.get(sys.platform, tuple)())
    usual = Machine("", "", "", 0).caches
    first, second = known.get(1, usual[0]), known.get(2, usual[1])
    last = max(known.values(), default=usual[2])
    return first, second, last


def _caches_of_linux(folder: str) -> Iterator[tuple[int, int]]:
    """Levels of data caches, and their bytes."""
    for n in range(8):
        with suppress(OSError, ValueError):
            level, kind, size = (_line(f"{folder}/index{n}/{name}")
                                 for name in ("level", "type", "size"))
            if kind != "Instruction":
                yield int(level), int(size[:-1]) << {"K": 10, "M": 20, "G": 30}.get(size[-1], 0)


def ways_of(first: int, folder: str = _CACHES) -> int:
    """Ways of the first-level cache, which has that many bytes; if unknown, ways of 4 KB each."""
    for n in range(8):
        with suppress(OSError, ValueError):
            level, kind, ways = (_line(f"{folder}/index{n}/{name}")
                                 for name in ("level", "type", "ways_of_associativity"))
            if level == "1" and kind != "Instruction" and int(ways) > 0:
                return int(ways)
    return max(2, first >> 12)


def _caches_of_macos() -> Iterator[tuple[int, int]]:
    """The same from macOS, for its fast cores. Untested."""
    library, size = ctypes.CDLL(None), ctypes.c_size_t(8)
    for level, name in ((1, b"hw.perflevel0.l1dcachesize"), (2, b"hw.perflevel0.l2cachesize")):
        value = ctypes.c_int64()
        if not library.sysctlbyname(name, ctypes.byref(value), ctypes.byref(size), None, 0):
            yield level, value.value


def _line(path: str) -> str:
    with open(path) as file:
        return file.read().strip()
