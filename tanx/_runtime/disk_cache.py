"""Compiled code across processes: a folder of small files, each named by what it was made from.

A name is the hash of everything that the content depends on: the program, the processor, the
versions of tanx and LLVM. So a file is never out of date, only unused; when the folder is full, the
least recently used files are deleted.

Nothing in the folder is trusted: a file must belong to this user, be writable by no other, and
contain its own name and the right checksum, before its content is used. Otherwise it is ignored and
the code is compiled again. Files appear atomically, by renaming, so that any number of processes
may share a folder. If it cannot be written to, tanx works without it. A thread writes them while
the program goes on, as the two files of a first call take 0.4 ms on a local disk; at the end of the
process the rest is written.
"""

from __future__ import annotations

import atexit
import contextlib
import marshal
import os
import stat
import struct
import sys
import threading
import time
from collections.abc import Iterable
from functools import cache, lru_cache
from queue import SimpleQueue
from typing import Any

from .._base.config import (
    compilation_cache_dir,
    compilation_cache_max_size,
    enable_compilation_cache,
    persistent_cache_min_compile_time_secs,
    persistent_cache_min_entry_size_bytes,
    raise_persistent_cache_errors,
)
from .._base.digest import SIZE, digest
from .._base.locks import new_lock
from .._base.tuples import NamedTuple
from ..version import __version__

__all__ = ["directory", "finish_writing", "is_plain", "key_of", "read", "write"]

_FORMAT = b"tanx code 2\n"
_LENGTH = struct.Struct("<Q")
_SUFFIX = ".tanx"
_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # follows no link, blocks on no pipe
_ABANDONED = 3600.0
"""Seconds after which a file that was never renamed counts as abandoned."""
_RECENT = 600.0
"""Seconds for which a file counts as recently used."""
_WRITES_UNSEEN = 64
"""Files that this process writes before it scans the folder again."""
_COUNTED = ".counted"
"""A file whose time says when some process last scanned the folder."""


# -- names -----------------------------------------------------------------------------------------


def key_of(kind: str, *parts: bytes) -> str:
    """The name of a result made from ``parts`` on this machine by this version of tanx.

    >>> key_of("code", b"ret void") == key_of("code", b"ret", b" void")
    False
    """
    return digest(_surroundings(), kind.encode(), *parts).hex()


@cache
def _surroundings() -> bytes:
    """Everything that compiled code depends on besides the program."""
    return digest(_FORMAT, __version__.encode(), sys.platform.encode(), sys.version.encode(),
                  *_processor(), *_llvm(), *_sources())


_CPU_FACTS = (b"vendor_id", b"cpu family", b"model", b"stepping", b"flags", b"Features",
              b"CPU implementer", b"CPU architecture", b"CPU variant", b"CPU part")


def _processor() -> Iterable[bytes]:
    """Facts that identify this processor, found without LLVM, which is slow to load."""
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            first, _, _ = file.read(1 << 14).partition(b"\n\n")
        facts = [line for line in first.split(b"\n")
                 if line.partition(b":")[0].strip() in _CPU_FACTS]
    except OSError:
        facts = []
    if not facts:
        from .._compiler.machine import host
        facts = [repr(host()).encode()]
    if any(b"amx_bf16" in fact for fact in facts):
        from .._compiler.matrix_registers import is_permitted  # code from disk needs it, too
        facts.append(b"amx" if is_permitted() else b"no amx")
    return [os.uname().machine.encode(), str(os.sysconf("SC_PAGESIZE")).encode(), *facts]


def _llvm() -> Iterable[bytes]:
    """The installed LLVM: the file that holds its version, because importing it is slow."""
    for folder in sys.path:
        with contextlib.suppress(OSError), open(os.path.join(folder, "llvmlite", "_version.py"),
                                                "rb") as file:
            return [file.read()]
    import llvmlite
    return [llvmlite.__version__.encode()]


def _sources() -> Iterable[bytes]:
    """The times and sizes of the compiler's files, so that editing it invalidates the cache."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for room in ("_compiler", "_compiler/emit", "_compiler/emit/cpu", "_compiler/kernels",
                 "_compiler/kernels/fft", "_compiler/kernels/gemm", "_compiler/schedule",
                 "_control", "_core",
                 "_extend/foreign", "_loops", "_ops", "_runtime"):
        with contextlib.suppress(OSError), os.scandir(os.path.join(root, room)) as files:
            found = [(file.name, file.stat()) for file in files if file.name.endswith(".py")]
            yield repr(sorted((name, s.st_size, s.st_mtime_ns) for name, s in found)).encode()


# -- the folder ------------------------------------------------------------------------------------


def directory() -> str | None:
    """The folder in use; None if the cache is off."""
    if not enable_compilation_cache.value:
        return None
    return _folder(compilation_cache_dir.value)


@lru_cache(16)
def _folder(given: str | None) -> str | None:
    """The cache folder, or None if it cannot be created."""
    if given is not None:
        return None if not given or "://" in given else os.path.expanduser(given)
    # The usual place for a user's caches.
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        caches = os.path.join(home, "Library", "Caches")
    else:
        caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return os.path.join(caches, "tanx") if os.path.isabs(caches) else None


def read(key: str) -> tuple[Any, bytes] | None:
    """The facts and the data that were stored under a name, if they are intact."""
    content = _read(key)
    if content is None:
        return None
    (size,) = _LENGTH.unpack_from(content)
    # Unlike a pickle, this creates only numbers, strings and tuples, and calls nothing.
    return marshal.loads(content[_LENGTH.size:_LENGTH.size + size]), content[_LENGTH.size + size:]


def is_plain(facts: Any) -> bool:
    """Whether facts can be written, and are the same when they are read.

    >>> is_plain(("add", (2, 3), 1.5, None)), is_plain((np.int64(1),)), is_plain((object(),))
    (True, False, False)
    """
    try:
        return marshal.loads(marshal.dumps(facts)) == facts
    except ValueError:
        return False


def write(key: str, facts: Any, data: bytes, seconds: float = 0.0) -> None:
    """Store what took ``seconds`` to compute: plain facts, and data."""
    text = marshal.dumps(facts)
    content = b"".join((_LENGTH.pack(len(text)), text, data))
    if seconds >= persistent_cache_min_compile_time_secs.value and (
            len(content) >= persistent_cache_min_entry_size_bytes.value):
        folder = directory()
        if folder is None:
            return
        file = _File(folder, key, content, compilation_cache_max_size.value)
        try:
            os.makedirs(folder, 0o700, exist_ok=True)  # now: it may be deleted before it is written
        except OSError as error:
            _complain(folder, error)
            return
        if raise_persistent_cache_errors.value:
            _write(file)
        else:
            _waiting.add(file)


def finish_writing() -> None:
    """Write now what is waiting to be written."""
    _waiting.write_all()


class _File(NamedTuple):
    """A file to be written. The folder may hold ``limit`` bytes; a negative limit is none."""

    folder: str
    key: str
    content: bytes
    limit: int


class _Waiting:
    """Files that are yet to be written, by folder and key, and the thread that writes them."""

    DELAY = 0.05
    """Seconds that they wait: the call that made one is over then, and needs Python no more."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, str], _File] = {}
        self.lock = new_lock()  # held while they are written
        self.fresh()

    def fresh(self) -> None:
        """Start afresh, as in the child of a fork."""
        self.some: SimpleQueue[None] = SimpleQueue()
        self.thread: threading.Thread | None = None

    def add(self, file: _File) -> None:
        self.files[file[:2]] = file
        if len(self.files) == 1:  # otherwise the thread will see it
            self.some.put(None)
        if self.thread is None:
            self.thread = threading.Thread(target=self.run, name="tanx cache", daemon=True)
            self.thread.start()

    def run(self) -> None:
        while True:
            self.some.get()
            time.sleep(self.DELAY)
            self.write_all()

    def write_all(self) -> None:
        with self.lock:
            while self.files:
                for place, file in list(self.files.items()):
                    _write(file)
                    del self.files[place]  # not before: readers wait for files that are here


_waiting = _Waiting()
atexit.register(finish_writing)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=finish_writing, after_in_child=_waiting.fresh)


def _read(key: str) -> bytes | None:
    folder = directory()
    if folder is None:
        return None
    if (folder, key) in _waiting.files:
        finish_writing()
    try:
        file = os.open(os.path.join(folder, key + _SUFFIX), _PLAIN)
    except FileNotFoundError:
        return None
    except OSError as error:
        _complain(folder, error)
        return None
    try:
        facts = os.fstat(file)
        owner, mode = facts.st_uid == os.geteuid(), facts.st_mode
        if not owner or not stat.S_ISREG(mode) or mode & (stat.S_IWGRP | stat.S_IWOTH):
            _complain(folder, PermissionError(f"{key} is open to other users."))
            return None
        content = _checked(key, os.read(file, facts.st_size))
        if content is not None and time.time() - facts.st_mtime > _RECENT:
            with contextlib.suppress(OSError):
                os.utime(file)  # used last now
        return content
    except OSError as error:
        _complain(folder, error)
        return None
    finally:
        os.close(file)


def _write(file: _File) -> None:
    folder, key, content, limit = file
    temporary = os.path.join(folder, f".{os.getpid()}-{threading.get_ident()}-{key[:16]}.new")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW,
                          0o600), "wb") as opened:
            opened.write(b"".join((_head(key, len(content)), digest(content), content)))
        os.replace(temporary, os.path.join(folder, key + _SUFFIX))
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        _complain(folder, error)
    else:
        _usage(folder).written(len(content), limit)


def _head(key: str, size: int) -> bytes:
    """The first bytes of a file: its name, and its length."""
    return b"".join((_FORMAT, bytes.fromhex(key), _LENGTH.pack(size)))


def _checked(key: str, whole: bytes) -> bytes | None:
    """The content of a file if it is complete and correct."""
    start = len(_head(key, 0)) + SIZE
    content = whole[start:]
    head = _head(key, len(content)) + digest(content)
    return content if whole[:start] == head else None


_complained: set[str] = set()


def _complain(folder: str, error: OSError) -> None:
    """Log errors, once per folder, unless they are to be raised: the cache is a convenience."""
    if raise_persistent_cache_errors.value:
        raise error
    if folder not in _complained:
        import logging
        _complained.add(folder)
        logging.getLogger("tanx").info(
            "tanx does without some of the compiled code in %s: %s", folder, error)


# -- room ------------------------------------------------------------------------------------------


class _Usage:
    """The contents of a folder, as far as this process knows."""

    def __init__(self, folder: str):
        self.folder = folder
        self.lock = new_lock()
        self.size: int | None = None
        self.unseen = 0

    def written(self, size: int, limit: int) -> None:
        """Delete files if they have more bytes than the limit now."""
        if limit < 0:
            return
        with self.lock:
            self.unseen += 1
            if self.size is not None:
                self.size += size
            if self.size is None and self.unseen < _WRITES_UNSEEN and self._was_counted():
                return
            if self.size is None or self.size > limit or self.unseen >= _WRITES_UNSEEN:
                self.size, self.unseen = self._make_room(limit), 0

    def _was_counted(self) -> bool:
        """Whether a process has just scanned the folder: for 60,000 files that takes 0.4 s."""
        path = os.path.join(self.folder, _COUNTED)
        with contextlib.suppress(OSError):
            if 0 <= time.time() - os.stat(path, follow_symlinks=False).st_mtime < _RECENT:
                return True
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))
            os.utime(path, follow_symlinks=False)
        return False

    def _make_room(self, limit: int) -> int:
        """Delete the least recently used files until the rest is below the limit; its size."""
        files, total, now = [], 0, time.time()
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    facts = entry.stat(follow_symlinks=False)
                    if entry.name.endswith(_SUFFIX):
                        files.append((facts.st_mtime, facts.st_size, entry.path))
                        total += facts.st_size
                    elif entry.name.endswith(".new") and facts.st_mtime < now - _ABANDONED:
                        os.unlink(entry.path)
        if total > limit:
            for _, size, path in sorted(files):
                if total <= 0.9 * limit:
                    break
                with contextlib.suppress(OSError):
                    os.unlink(path)
                total -= size
        return total


_usages: dict[str, _Usage] = {}


def forget() -> None:
    """Forget which folder is in use and how full it is."""
    _folder.cache_clear()
    _usages.clear()


def _usage(folder: str) -> _Usage:
    return _usages.setdefault(folder, _Usage(folder))
