"""Code for other machines: it can be assembled, and its loops suit the machine.

Machines of this process's own kind run it, too: SSE4.2 and AVX2 where there is AVX-512.
"""

import os
import subprocess
import sys
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._base.limits import processors
from tanx._compiler import machine as machines
from tanx._compiler.machine import Machine, host
from tanx._compiler.pipeline import build
from tests.compiler.assembly import ELF, MACHINES, code_of


def array(*shape, dtype=np.float32):
    return tanx.ShapeDtypeStruct(shape, dtype)


def matrices(dtype):
    """Operands of a product, of sizes that no tile and no vector divides."""
    return array(203, 301, dtype=dtype), array(301, 205, dtype=dtype)


def product(x, y):
    return lax.dot(x, y, preferred_element_type=jnp.int32 if x.dtype == np.int8 else None)


LOOPS = {
    "tanh": (lambda x: jnp.tanh(x) * 2 + jnp.exp(x), array(1003)),
    "softmax": (tanx.nn.softmax, array(64, 1003)),
    "sum": (lambda x: (x * x).sum(), array(100003)),
    "greatest": (lambda x: x.max(1), array(300, 301)),
    "transpose": (lambda x: x.T + 1, array(301, 203)),
    "gelu": (lambda x, y: tanx.nn.gelu(x @ y), *matrices(np.float32)),
    "scan": (lambda x: lax.scan(lambda c, v: (jnp.tanh(c) * 0.5 + v, c), x[0], x), array(100, 67)),
    "cumsum": (jnp.cumsum, array(10007)),
    "fft": (jnp.fft.fft, array(16, 1024, dtype=np.complex64)),
    "sort": (jnp.sort, array(1003)),
    "random": (lambda k: tanx.random.bits(k, (1003,)), tanx.random.key(0)),
}
"""Programs whose hottest loop is looked at."""

PRODUCTS = {
    "f32": (product, *matrices(np.float32)),
    "transposed": (lambda x, y: x.T @ y, array(301, 203), array(301, 205)),
    "bf16": (product, *matrices(ml_dtypes.bfloat16)),
    "int8": (product, *matrices(np.int8)),
    "f16": (product, *matrices(np.float16)),
    "i32": (product, *matrices(np.int32)),
    "rows": (product, array(5, 301), array(301, 205)),
    "convolution": (lambda x, w: lax.conv(x, w, (1, 1), "SAME"),
                    array(2, 16, 33, 31), array(24, 16, 3, 3)),
}
"""Programs whose micro-kernels are looked at."""

QUICK = {"tanh", "softmax", "transpose", "f32", "bf16", "int8"}

INTEGERS = {"sort": r"\tv?p?(?:min|max|sh|sr|ushr|shl|padd|add)", "random": r"xor|eor"}
"""What the hottest loop of a program without floats has most of."""

MULTIPLY = {
    ("bf16", "bf16"): "vdpbf16ps", ("bf16", "amx"): "tdpbf16ps",
    ("int8", "avxvnni"): "vpdpbusd", ("int8", "bf16"): "vpdpbusd", ("int8", "amx"): "tdpbssd",
    ("int8", "neon"): "sdot", ("int8", "sve"): "smmla", ("bf16", "sve"): "bfmmla"}
"""Instructions of products on narrow numbers, where a machine has some."""


def cases(programs):
    """Machines and programs; most are slow."""
    return [pytest.param(name, program, id=f"{name}-{program}",
                         marks=[] if program in QUICK else [pytest.mark.slow])
            for name in MACHINES for program in programs]


def check_objects(code):
    """Object code is that of the machine's processor."""
    number = ELF[code.machine.triple.partition("-")[0]]
    for made in code.objects:
        assert made[:4] == b"\x7fELF" and int.from_bytes(made[18:20], "little") == number


@pytest.mark.parametrize("name, program", cases(LOOPS))
def test_loops(name, program):
    """Hot loops use whole vectors, call no function, and do not use the stack."""
    fun, *args = LOOPS[program]
    code = code_of(MACHINES[name], fun, *args)
    check_objects(code)
    hot = code.hot(INTEGERS.get(program, ""))
    assert program == "sort" or hot.bits == code.machine.vector_bits  # which moves single numbers
    assert not hot.calls
    if program not in INTEGERS:
        assert hot.floats
        assert program == "cumsum" or not hot.scalars  # which carries one number on
    if program in ("tanh", "softmax", "gelu", "scan", "fft"):
        assert bool(hot.fmas) == code.machine.fuses
    few = code.machine.vector_registers < 32
    if program != "sort":  # which counts on the stack
        assert len(hot.spills) <= len(hot.lines) * (0.25 if few else 0.1)


@pytest.mark.parametrize("name", MACHINES)
def test_bits_are_packed_in_words(name):
    code = code_of(MACHINES[name], jnp.packbits, np.zeros(8000, bool))
    check_objects(code)
    assert max(len(loop.lines) for loop in code.loops) < 130  # 220 if each byte is shifted out


@pytest.mark.parametrize("name", ["neon", "sve"])
def test_vectors_collected_from_many_places_stay_in_registers(name):
    def sample(image, x, y):
        return tanx.scipy.ndimage.map_coordinates(image, [x, y], 1, mode="nearest")
    hot = code_of(MACHINES[name], sample, array(256, 256), array(10007), array(10007)).hot()
    assert not hot.spills


@pytest.mark.parametrize("name, program", cases(PRODUCTS))
def test_products(name, program):
    """Sums stay in registers, and the machine's best instruction adds the products."""
    fun, *args = PRODUCTS[program]
    code = code_of(MACHINES[name], fun, *args)
    check_objects(code)
    instruction = MULTIPLY.get((program, name))
    assert code.kernels
    for loop in code.kernels:
        assert not loop.vector_spills and not loop.calls
        assert len(loop.spills) <= len(loop.lines) // 8  # of addresses of many rows
        assert loop.bits == code.machine.vector_bits or loop.in_tiles
        if instruction:
            assert loop.matching(rf"\t{instruction}\b")
        elif program not in ("int8", "i32"):
            assert bool(loop.fmas) == code.machine.fuses and not loop.scalars
    for loop in code.loops:  # that copy the operands, or run the kernels
        few = code.machine.vector_registers < 32
        calls = program == "f16" and loop.calls  # which convert numbers
        assert calls or len(loop.spills) <= max(8, len(loop.lines) // (2 if few else 8))


# -- facts about machines --------------------------------------------------------------------------


def test_this_machine():
    this = host()
    first, second, last = this.caches
    assert 0 < first <= second <= last and this.cores == processors()
    assert host() is this and replace(this) == this
    assert this.vector_bits in (128, 256, 512) and this.vector_registers in (16, 32)


def describe_caches(folder, files, fact):
    """Write files as Linux has them: the level of each cache, its type, and one more fact."""
    for number, facts in files.items():
        one = folder / f"index{number}"
        one.mkdir()
        for name, text in zip(("level", "type", fact), facts.split()):
            (one / name).write_text(f"{text}\n")


@pytest.mark.parametrize("files, caches", [
    ({}, (1 << 15, 1 << 20, 1 << 25)),
    ({0: "1 Data 48K", 1: "1 Instruction 32K", 2: "2 Unified 2048K", 3: "3 Unified 260M"},
     (48 << 10, 2 << 20, 260 << 20)),
    ({0: "1 Instruction 64K", 1: "1 Data 64K", 2: "2 Unified 1024K"}, (1 << 16, 1 << 20, 1 << 20)),
    ({0: "1 Data odd"}, (1 << 15, 1 << 20, 1 << 25))])
def test_caches(tmp_path, files, caches):
    describe_caches(tmp_path, files, "size")
    assert machines.caches_of(str(tmp_path)) == caches


@pytest.mark.parametrize("files, ways", [
    ({}, 8), ({0: "1 Instruction 4", 1: "1 Data 12", 2: "2 Unified 16"}, 12), ({0: "1 Data 0"}, 8),
    ({0: "2 Unified 16"}, 8)])
def test_ways(tmp_path, files, ways):
    describe_caches(tmp_path, files, "ways_of_associativity")
    assert machines.ways_of(1 << 15, str(tmp_path)) == ways


def test_rates():
    """A program's time is estimated by the rates of its machine."""
    closed = tanx.make_jaxpr(lambda x: x + 1)(array(1 << 20))
    slow = replace(host(), rates=host().rates._replace(bytes=2e9))
    assert 9 < build(closed, machine=slow).estimate / build(closed).estimate < 11


@pytest.mark.parametrize("name", MACHINES)
def test_facts(name):
    machine = MACHINES[name]
    assert machine.fuses == (name != "sse4.2")
    assert machine.multiplies_pairs == (name in ("bf16", "amx", "sve"))
    assert machine.has_matrix_registers == (name == "amx")
    assert machine.multiplies_bytes == (("int8", name) in MULTIPLY)
    assert machine.is_arm == (name in ("neon", "sve"))


@pytest.mark.parametrize("name", MACHINES)
def test_without_masks(name):
    machine = MACHINES[name]
    less = machine.without_masks()
    assert not less.has_masks and less.fuses == machine.fuses
    assert less.multiplies_pairs == (machine.is_arm and machine.multiplies_pairs)
    assert not less.has_matrix_registers
    assert (less is machine) == (not machine.has_masks)
    fun, *args = LOOPS["tanh"]
    assert code_of(less, fun, *args).hot("").bits == min(machine.vector_bits, 256)


# -- machines of the same kind, run ----------------------------------------------------------------

RUN = """
import dataclasses, sys
from tanx._compiler import machine
machine.host = lambda found=machine.Machine(*{fields!r}): found
import pytest
sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-n", "0", *{files!r}]))
"""
TESTS = ["tests/compiler/test_math.py", "tests/compiler/test_contraction.py",
         "tests/compiler/test_columns.py", "tests/compiler/test_rows.py",
         "tests/compiler/test_fourier.py", "tests/compiler/test_sorting.py"]


def runs_here(machine: Machine) -> bool:
    """Whether this processor has all features of a machine."""
    return host().triple.partition("-")[0] == machine.triple.partition("-")[0] and all(
        feature in host().features.split(",") for feature in machine.features.split(",")
        if feature.startswith("+"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sse4.2", "avx2", "avx512", "neon", "sve"])
def test_code_for_lesser_machines_runs(name, tmp_path):
    """Code for a machine with fewer features runs here without an emulator."""
    machine = MACHINES[name]
    if not runs_here(machine):
        pytest.skip(f"this processor does not run code for {name}")
    fields = (machine.triple, machine.cpu, machine.features, machine.vector_bits)
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(fields=fields, files=TESTS)], capture_output=True,
        text=True, env=os.environ | {"TANX_CACHE_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
