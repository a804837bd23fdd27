"""Compiled functions as bytes: the program, and the files of its code in the disk cache.

Machine code is for one kind of processor and one version of tanx. If these differ, the stored code
is not used, and the program, which is stored with it, is compiled again. Files are read like those
of the cache: by checksum, and never unpickled. It is still machine code: load a file only if you
would run a program from the same source.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from ..._base.config import (
    compilation_cache_dir,
    compilation_cache_max_size,
    enable_compilation_cache,
    persistent_cache_min_compile_time_secs,
    persistent_cache_min_entry_size_bytes,
    quick_code,
)
from ..._base.traceback import boundary
from ..._core.jaxpr import ClosedJaxpr
from ..._core.serial import write_value
from ..._export.container import Damaged, pack, unpack
from ..._export.program import program_bytes, program_of, value_of
from ..._runtime import load
from ..._runtime.availability import need_native
from ..._runtime.device import devices_of
from ..._runtime.disk_cache import finish_writing
from ..._runtime.executable import Executable
from ...errors import explain
from ...tree_util import PyTreeDef, tree_leaves, tree_unflatten
from ..aot import ArgInfo, Compiled, Program

__all__ = ["deserialize_and_load", "serialize"]

_SUFFIX = ".tanx"
_NAME = "tanx.experimental.serialize_executable"


@boundary
def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """A compiled function as bytes, and the structures of its arguments and results.

    >>> compiled = tanx.jit(lambda x: 2 * x).lower(1.0).compile()
    >>> stored, in_tree, out_tree = serialize(compiled)
    >>> deserialize_and_load(stored, in_tree, out_tree)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(explain(f"{_NAME}.serialize", "needs a compiled function.",
                                f"given: {type(compiled).__name__}",
                                hint="tanx.jit(f).lower(...).compile()."))
    program = compiled._program
    data = program_bytes(f"{_NAME}.serialize", program.name, program.closed)
    infos = tree_leaves(program.args_info)
    facts = {"name": program.name, "donated": tuple(info.donated for info in infos),
             "keep_unused": program.keep_unused}
    with _folder({}) as folder:
        load.clear()  # code that is in memory would not be written
        _executable(program_of(data)[0], program.donated)
        finish_writing()
        files = _files(folder)
    stored = pack({"facts": write_value(facts).encode(), "module": data, "code": pack(files)})
    return stored, compiled.in_tree, compiled.out_tree


@boundary
def deserialize_and_load(serialized: bytes, in_tree: PyTreeDef, out_tree: PyTreeDef, backend=None,
                         execution_devices=None) -> Compiled:
    """The compiled function from the bytes of :func:`serialize`, ready to be called."""
    if backend is not None:
        devices_of(backend)  # raises if there is no such backend
    if execution_devices is not None and list(execution_devices) != devices_of(None)[:1]:
        raise ValueError(explain(f"{_NAME}.deserialize_and_load", "there is one device.",
                                 f"execution_devices: {execution_devices}"))
    try:
        sections = unpack(serialized)
        if list(sections) != ["facts", "module", "code"]:
            raise Damaged(f"a compiled function has other sections than {', '.join(sections)}")
        closed, _ = program_of(sections["module"])
        facts = value_of(sections["facts"])
        donated = _checked(facts, closed, in_tree, out_tree)
        files = unpack(sections["code"])
    except Damaged as error:
        raise ValueError(explain(f"{_NAME}.deserialize_and_load", f"{error}.")) from error
    infos = [ArgInfo(aval, flag) for aval, flag in zip(closed.in_avals, donated)]
    program = Program(facts["name"], closed, tree_unflatten(in_tree, infos), out_tree,
                      facts["keep_unused"], (), {})
    with _folder(files):
        return Compiled(program, _executable(closed, program.donated))


def _checked(facts: Any, closed: ClosedJaxpr, in_tree, out_tree) -> tuple[bool, ...]:
    """Which arguments are donated, after checks of the facts of a compiled function."""
    kinds = {"name": str, "donated": tuple, "keep_unused": bool}
    if not isinstance(facts, dict) or list(facts) != list(kinds) or not all(
            type(facts[name]) is kind for name, kind in kinds.items()):
        raise Damaged("the facts are not those of a compiled function")
    if len(facts["donated"]) != len(closed.in_avals) or not all(
            type(flag) is bool for flag in facts["donated"]):
        raise Damaged("the list of donated arguments is missing")
    for what, tree, avals in (("in_tree", in_tree, closed.in_avals),
                              ("out_tree", out_tree, closed.out_avals)):
        if not isinstance(tree, PyTreeDef) or tree.num_leaves != len(avals):
            raise Damaged(f"{what} is not the structure of the compiled function, which has "
                          f"{len(avals)} leaves")
    return facts["donated"]


def _executable(closed: ClosedJaxpr, donated: tuple[bool, ...]) -> Executable:
    need_native("tanx.experimental.serialize_executable")
    with quick_code(False):
        return Executable(closed, donated)


@contextmanager
def _folder(files: dict[str, bytes]) -> Iterator[str]:
    """A folder with some files, which is temporarily the cache of compiled code."""
    with tempfile.TemporaryDirectory(prefix="tanx") as folder, ExitStack() as options:
        for data in {data[:32]: data for data in files.values()}.values():  # by their names
            path = os.path.join(folder, data[:32].hex() + _SUFFIX)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data[32:])
        for option, value in ((enable_compilation_cache, True), (compilation_cache_dir, folder),
                              (compilation_cache_max_size, -1),
                              (persistent_cache_min_compile_time_secs, 0.0),
                              (persistent_cache_min_entry_size_bytes, 0)):
            options.enter_context(option(value))
        yield folder
        finish_writing()


def _files(folder: str) -> dict[str, bytes]:
    """The files in a folder; each begins with the digest that is its name."""
    found: dict[str, bytes] = {}
    for number, name in enumerate(sorted(os.listdir(folder))):
        if name.endswith(_SUFFIX):
            with open(os.path.join(folder, name), "rb") as file:
                found[str(number)] = bytes.fromhex(name.removesuffix(_SUFFIX)) + file.read()
    return found
