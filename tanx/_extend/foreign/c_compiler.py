"""C source text as a library in this process, by the machine's C compiler.

Libraries are cached on disk like other compiled code, by a hash of the text, so that the compiler
runs once. Text that includes files by ``"name"`` is compiled again each time: the files may have
changed.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
from collections.abc import Sequence

from ..._base.locks import new_lock
from ..._runtime import disk_cache
from ..._runtime.c_compiler import run_compiler
from ...errors import explain
from .registry import include_dir

__all__ = ["library_of"]

_OPTIONS = ("-O3", "-fPIC", "-shared", *(() if sys.platform == "darwin" else ("-march=native",)))
_CUDA = re.compile(r"\b__(global|device)__\b|^\s*\.(visible|entry|version)\b", re.MULTILINE)
_OWN_FILES = re.compile(r'^\s*#\s*include\s*"(?!tanx/ffi\.h")', re.MULTILINE)

_libraries: dict[str, ctypes.CDLL] = {}
_lock = new_lock()


def library_of(source: str, flags: Sequence[str] = ()) -> tuple[str, ctypes.CDLL]:
    """The compiled library of a text, and a key that identifies the text."""
    if _CUDA.search(source):
        raise NotImplementedError(explain(
            "tanx.extend.c_function", "this is source for a GPU, and there is no GPU backend yet.",
            hint="plain C runs on the CPU."))
    compiler = os.environ.get("CC", "")
    key = disk_cache.key_of("c library", source.encode(), repr((tuple(flags), compiler)).encode())
    is_whole = not _OWN_FILES.search(source)
    with _lock:
        if is_whole and key in _libraries:
            return key, _libraries[key]
        found = disk_cache.read(key) if is_whole else None
        with tempfile.TemporaryDirectory(prefix="tanx-") as folder:
            path = os.path.join(folder, "library.so")
            if found is not None:
                with open(path, "wb") as file:
                    file.write(found[1])
            else:
                _compile(source, flags, folder, path)
                if is_whole:
                    with open(path, "rb") as file:
                        disk_cache.write(key, ("c library",), file.read())
            library = ctypes.CDLL(path)  # stays loaded after the file is deleted
        if not is_whole:
            key = f"{key} {id(library)}"
        _libraries[key] = library
    return key, library


def _compile(source: str, flags: Sequence[str], folder: str, path: str) -> None:
    """Run the compiler, which writes to ``path``."""
    text = os.path.join(folder, "source.c")
    with open(text, "w", encoding="utf-8") as file:
        file.write(source)
    run_compiler(
        "tanx.extend.c_function",
        [*_OPTIONS, "-I", include_dir(), *flags, text, "-o", path, "-lm"], folder,
        failure="the C compiler rejects the source.",
        hint="A function of a compiled library needs no compiler: "
             "pass ctypes.CDLL(path).name.")
