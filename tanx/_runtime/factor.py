"""Which LAPACK routines have our own native code, and how it is bound.

For one large real matrix, LAPACK's algorithms wait for their slowest parts; ours keep all threads
busy with matrix products, whose kernels are those of compiled code.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .._base.forever import forever
from .._base.tuples import NamedTuple
from .._loops import lapack
from . import disk_cache, host
from .load import tile_address
from .machine_code import permanent
from .threads import pool_addresses

__all__ = ["own_routine", "routines"]

_ROUTINES = {"potrf": ((1,), 512, 128), "getrf": ((0, 1), 256, 128), "trsm": ((4, 5), 256, 16),
             "geqrf": ((0, 1), 128, 128), "orgqr": ((0, 1, 2), 128, 128)}
"""For each routine, which arguments are sizes of its matrices, and from which size it pays: with
vectors of 128 bits (Neoverse N1), and with longer ones. On two cores of a Cascade Lake, 200
equations in float64 with as many right-hand sides take 1.6 ms, and 2.3 by the library. LU of 250 x
250 takes 1.1 ms, and 1.6 by the library, but in one run half of its calls took 18, as they waited
for its threads. On 16 cores of an Emerald Rapids, those 200 equations take 1.06 ms and 0.82; the
minima of other sizes are lower or 6 % higher at most, the medians of LU up to 40 % higher at 128
and 160 in float64. Triangular systems pay from 16 right-hand sides on: on one core of that Cascade
Lake, 64 equations with as many take 6 us, and 25 by the library; 500 equations with 16 take 190,
and 240 by the library."""


_SMALL = 1 << 14
"""Multiplications in each lane that are not worth a second thread: 4 us on Neoverse N1, and 8 us on
a core with AVX-512, where a job for 16 threads takes 7 us."""


def own_routine(name: str, args: tuple[Any, ...]) -> int | None:
    """The address of our code for a routine and its arguments, if there is any."""
    if name[0] not in "sd" or name[1:] not in _ROUTINES:
        return None
    sizes, *least = _ROUTINES[name[1:]]
    if min(args[n] for n in sizes) < least[_facts(name[0]).long_vectors]:
        return None
    if name[1:] == "potrf" and args[0] != "U":
        return None
    return routines(name[0])[name]


class _Facts(NamedTuple):
    """What the compiler decides about the kernels of a dtype on this machine."""

    long_vectors: bool  # more than 128 bits
    kernel: str  # the symbols of the kernels of products, triangles and squares
    solve: str
    turn: str
    rows: int
    columns: int
    lanes: int
    sides: int  # right-hand sides that the kernel of triangles solves for at a time
    square: int  # rows of a square that it transposes


@cache
def _facts(letter: str) -> _Facts:
    """From disk if they are there: loading LLVM takes 60 ms, and code from disk needs no LLVM."""
    key = disk_cache.key_of("facts about factorisations", letter.encode())
    found = disk_cache.read(key)
    if found is not None:
        return _Facts(*found[0])
    from .._compiler.kernels.gemm.micro import kernel_symbol
    from .._compiler.kernels.triangle import SOLVE, TURN, lanes, sides
    from .._compiler.machine import host as this_machine
    from .._compiler.schedule.tiles import best_tile
    dtype, machine = np.dtype(letter if letter == "d" else "f"), this_machine()
    tile = best_tile("k", 32, 64, 256, dtype, machine)
    assert tile is not None
    facts = _Facts(machine.vector_bits > 128, kernel_symbol(tile, dtype, True), SOLVE + dtype.name,
                   TURN + dtype.name, tile.rows, tile.columns, tile.lanes, sides(dtype, machine),
                   lanes(dtype, machine))
    disk_cache.write(key, tuple(facts), b"")
    return facts


@cache
def routines(letter: str) -> dict[str, int]:
    """The addresses of our routines; those for ``"s"`` or ``"d"`` are ready to be called.

    The kernels of a dtype take 30 ms to make, and most programs need those of one.
    """
    made, kinds = _code()
    _fill(kinds[letter], letter, made)
    return made


@cache
def _code() -> tuple[dict[str, int], dict[str, np.ndarray]]:
    """The addresses of all routines, and the kinds that they refer to, yet to be filled."""
    def text() -> str:
        from . import factor_native, product_native, qr_native
        from .native import translate
        return translate((product_native, factor_native, qr_native), (
            "pack_panels", "product_task", "swap_rows", "solve_sides", "reflect_task",
            *(letter + name for letter in "sd" for name in _ROUTINES)))
    kinds = forever({letter: np.zeros(21, np.int64) for letter in "sd"})
    made = permanent("routines of our own", text, {
        **pool_addresses(), "floats": kinds["s"].ctypes.data,
        "doubles": kinds["d"].ctypes.data, **{name: host.address(name) for name in (
            "tanx_alloc", "tanx_free")}}, tidy=True)
    return made, kinds


def _fill(kind: np.ndarray, letter: str, made: dict[str, int]) -> None:
    """Write what native code must know about a dtype; see ``product_native.py``."""
    def text() -> str:
        from .._compiler.kernels.triangle import triangle_text
        from .._compiler.machine import host as this_machine
        return triangle_text(dtype, this_machine())

    dtype, facts = np.dtype(letter if letter == "d" else "f"), _facts(letter)
    systems = permanent("triangular systems of " + dtype.name, text)
    signs = -(1 << 63) | (1 << 31) * (dtype.itemsize == 4)
    one = int(np.ones(1, dtype).view(f"i{dtype.itemsize}")[0])
    kind[:] = [dtype.itemsize, signs, one, tile_address(facts.kernel), facts.rows, facts.columns,
               made["pack_panels"], made["product_task"], made["swap_rows"], made["reflect_task"],
               *(lapack.address(letter + name) for name in (
                   "getrf", "potf2", "trti2", "geqr2", "scal")),
               _SMALL * facts.lanes, systems[facts.solve], systems[facts.turn], facts.sides,
               facts.square, made["solve_sides"]]
