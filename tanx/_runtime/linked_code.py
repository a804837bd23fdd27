"""Images: object code linked once, so that loading it needs no linker.

LLVM emits an ELF file with position-independent code: :func:`link` lays out its sections and
resolves all distances between them. What remains depends on the process, and is a list: slots for
the addresses of external functions, and slots for addresses inside the image. Placing an image
copies the bytes and fills the slots, in microseconds, without LLVM. This form is cached on disk.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
from collections.abc import Callable

from .._base.tuples import NamedTuple
from .code_memory import piece

__all__ = ["Image", "Placed", "link"]


class Image(NamedTuple):
    """Linked code. ``data`` is executable up to ``writable``, and writable from there on.

    The memory is padded with zeros up to ``size``. Offsets: of exported symbols and of all
    functions, of slots for the addresses of imported symbols, and of slots for addresses in the
    image itself. Code that was compiled quickly comes with the text from which better code is
    compiled.
    """

    data: bytes
    writable: int
    size: int
    exports: tuple[tuple[str, int], ...]
    imports: tuple[tuple[str, int], ...]
    places: tuple[tuple[int, int], ...]
    text: str = ""


# -- linking ---------------------------------------------------------------------------------------

# The structures of ELF files, then kinds of sections, flags of them, and processors.
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_SYMTAB, _RELA, _NOBITS = 2, 4, 8
_WRITE, _ALLOC = 1, 2
_X86_64, _AARCH64 = 62, 183
_STUBS = {_X86_64: bytes.fromhex("ff2502000000cccc"),  # jmp *2(%rip)
          _AARCH64: bytes.fromhex("5000005800021fd6")}  # ldr x16, 8; br x16
"""A jump to the address in the slot after it, for functions too far away for a call."""


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class _Symbol(NamedTuple):
    name: str
    is_named: bool  # global, or a function
    section: int  # 0 for symbols that are not in this file
    value: int


def link(objects: bytes) -> Image:
    """The image of an object file in the form of ELF, as LLVM emits it for ``reloc="pic"``."""
    return _Linking(objects).run()


class _Linking:
    """An object file being linked."""

    def __init__(self, objects: bytes):
        magic, kind, machine, *rest = _HEADER.unpack_from(objects)
        if magic[:6] != b"\x7fELF\x02\x01" or kind != 1 or machine not in _STUBS:
            raise NotImplementedError("tanx cannot load the code of this system yet: it links "
                                      "ELF files for x86-64 and AArch64.")
        self.objects, self.machine = objects, machine
        start, count, names = rest[3], rest[9], rest[10]
        self.sections = [_Section(*_SECTION.unpack_from(objects, start + n * _SECTION.size))
                         for n in range(count)]
        self.names = self.sections[names].offset
        self.symbols = self._read_symbols()
        self.offsets: dict[int, int] = {}  # of sections in the image
        self.data = bytearray()
        self.slots: dict[_Symbol, int] = {}
        self.imports: list[tuple[str, int]] = []
        self.places: list[tuple[int, int]] = []

    def _read_symbols(self) -> list[_Symbol]:
        for section in self.sections:
            if section.kind == _SYMTAB:
                names = self.sections[section.link].offset
                return [_Symbol(self._text(names + name), info >> 4 == 1 or info & 15 == 2, home,
                                value)
                        for name, info, _, home, value, _ in _SYMBOL.iter_unpack(
                            self._bytes(section))]
        return []

    def _bytes(self, section: _Section) -> bytes:
        return self.objects[section.offset:section.offset + section.size]

    def _text(self, start: int) -> str:
        return self.objects[start:self.objects.index(0, start)].decode()

    def run(self) -> Image:
        # The stack is never unwound through this code, so the unwind tables are left out.
        loaded = {n for n, s in enumerate(self.sections) if s.flags & _ALLOC and s.size
                  and self._text(self.names + s.name) != ".eh_frame"}
        relocations = list(self._relocations(loaded))
        # LLVM does not always mark constants as such; their section says so.
        variable = sorted((n for n in loaded if self.sections[n].flags & _WRITE
                           and self._text(self.names + self.sections[n].name) != ".rodata"),
                          key=lambda n: (self.sections[n].kind == _NOBITS, n))  # zeros come last
        self._lay_out(sorted(loaded.difference(variable)))
        self._make_slots(relocations)
        writable = size = len(self.data)
        if variable:
            self.data.extend(bytes(-writable % mmap.PAGESIZE))
            writable, size = len(self.data), self._lay_out(variable)
        for symbol, slot in self.slots.items():
            self._note_address(slot, symbol, 0)
        for at, section, kind, symbol, addend in relocations:
            self._relocate(self.offsets[section] + at, kind, symbol, addend)
        exports = tuple((s.name, self._place(s)) for s in self.symbols
                        if s.is_named and s.section)
        return Image(bytes(self.data), writable, size, exports, tuple(self.imports),
                     tuple(self.places))

    def _relocations(self, loaded: set[int]):
        for section in self.sections:
            if section.kind == _RELA and section.info in loaded:
                for at, info, addend in _RELOCATION.iter_unpack(self._bytes(section)):
                    yield at, section.info, info & 0xFFFFFFFF, self.symbols[info >> 32], addend

    def _lay_out(self, numbers: list[int]) -> int:
        """Append sections; returns the end of the last, whose zeros need not be stored."""
        end = len(self.data)
        for n in numbers:
            section = self.sections[n]
            end += -end % max(section.alignment, 1)
            self.offsets[n] = end
            if section.kind != _NOBITS:
                self.data.extend(bytes(end - len(self.data)))
                self.data.extend(self._bytes(section))
            end += section.size
        return end

    def _make_slots(self, relocations: list) -> None:
        """A slot, after a jump, for each symbol that is external or reached through one."""
        self.data.extend(bytes(-len(self.data) % 16))
        for _, _, kind, symbol, _ in relocations:
            if (not symbol.section or kind in _THROUGH_SLOTS) and symbol not in self.slots:
                self.data.extend(_STUBS[self.machine])
                self.slots[symbol] = len(self.data)
                self.data.extend(bytes(8))

    def _place(self, symbol: _Symbol) -> int:
        if symbol.section not in self.offsets:
            raise NotImplementedError(f"object code: {symbol.name!r} is in no section of it.")
        return self.offsets[symbol.section] + symbol.value

    def _note_address(self, at: int, symbol: _Symbol, addend: int) -> None:
        """Reserve eight bytes for the address of a symbol."""
        if symbol.section:
            self.places.append((at, self._place(symbol) + addend))
        elif addend:
            raise NotImplementedError(f"object code: a place {addend} bytes after {symbol.name!r}.")
        else:
            self.imports.append((symbol.name, at))

    def _relocate(self, at: int, kind: int, symbol: _Symbol, addend: int) -> None:
        """Resolve the distance from a place to a symbol, or record that it needs the address."""
        if kind in _ADDRESSES:
            self._note_address(at, symbol, addend)
            return
        if kind in _THROUGH_SLOTS:
            target = self.slots[symbol]
        else:
            target = self._place(symbol) if symbol.section else self.slots[symbol] - 8
        fill = _fill_x86_64 if self.machine == _X86_64 else _fill_aarch64
        if not fill(self.data, at, kind, target + addend):
            raise NotImplementedError(f"object code: a relocation of kind {kind}.")


# Kinds of relocations, which are numbers that the two processors use for different ones.
_ADDRESSES = frozenset((1, 257))
_THROUGH_SLOTS = frozenset((9, 41, 42, 311, 312))
_DISTANCES = {2: "<i", 4: "<i", 9: "<i", 41: "<i", 42: "<i", 24: "<q", 260: "<q", 261: "<i"}
_BRANCHES = {273: (19, 5), 279: (14, 5), 280: (19, 5), 282: (26, 0), 283: (26, 0)}
"""Words to a place: how many bits, and where in the instruction."""
_PAGES = frozenset((275, 276, 311))
_LOW = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4, 312: 3}
"""The low 12 bits of a place: by how many they are shifted, for loads of several bytes."""


def _fill_x86_64(data: bytearray, at: int, kind: int, target: int) -> bool:
    if kind not in _DISTANCES:
        return False
    struct.pack_into(_DISTANCES[kind], data, at, target - at)
    return True


def _fill_aarch64(data: bytearray, at: int, kind: int, target: int) -> bool:
    if kind in (260, 261):
        return _fill_x86_64(data, at, kind, target)
    if kind in _BRANCHES:
        bits, shift = _BRANCHES[kind]
        field = (target - at >> 2 & (1 << bits) - 1) << shift
        if not -1 << bits - 1 <= target - at >> 2 < 1 << bits - 1:
            return False
    elif kind == 274 or kind in _PAGES:
        distance = (target >> 12) - (at >> 12) if kind in _PAGES else target - at
        field = (distance & 3) << 29 | (distance >> 2 & 0x7FFFF) << 5
    elif kind in _LOW:
        field = (target & 0xFFF) >> _LOW[kind] << 10
    else:
        return False
    (word,) = struct.unpack_from("<I", data, at)
    struct.pack_into("<I", data, at, word | field)
    return True


# -- placing ---------------------------------------------------------------------------------------


class Placed:
    """An image in memory. Without ``forever`` it is freed with this object."""

    def __init__(self, image: Image, resolve: Callable[[str], int], forever: bool = False):
        addresses = [(at, resolve(symbol)) for symbol, at in image.imports]
        self.size = max(image.size, 1)
        self._forever, self._ending = forever, sys.is_finalizing
        self._piece = piece(self.size, max(image.writable, 1))
        base, written = self._piece.base, self._piece.written
        ctypes.memmove(written, image.data, len(image.data))
        for at, address in (*addresses, *((at, base + to) for at, to in image.places)):
            ctypes.c_uint64.from_address(written + at).value = address
        self._piece.finish(image.writable)
        self.addresses = {name: base + offset for name, offset in image.exports}

    def __del__(self):
        # While Python ends, other threads may still run in the code.
        if "_piece" in self.__dict__ and not self._forever and not self._ending():
            self._piece.give_back()
