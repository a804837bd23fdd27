"""Locks in forked processes."""

import importlib.util
import os
import sys
import threading
import time

import pytest

from tanx._base import late_imports
from tanx._base.locks import new_lock

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="a process that cannot fork"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning")]  # this process has other threads


def test_locks_are_free_in_a_forked_child():
    lock, held, enough = new_lock(), threading.Event(), threading.Event()

    def holder():
        with lock:
            held.set()
            enough.wait()

    thread = threading.Thread(target=holder)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        os._exit(0 if lock.acquire(timeout=60) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not lock.acquire(blocking=False)  # in this process it is still held
    enough.set()
    thread.join()
    with lock:
        pass


class Slow:
    """A finder for one module that takes ``seconds`` to load."""

    name = "tanx._slow_for_a_test"

    def __init__(self, seconds):
        self.seconds, self.loading = seconds, threading.Event()

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == self.name else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        self.loading.set()
        time.sleep(self.seconds)
        module.done = True

    def fork(self):
        """The exit code of a child that imports the module while a thread here is loading it."""
        thread = threading.Thread(target=lambda: importlib.import_module(self.name))
        thread.start()
        self.loading.wait()
        child = os.fork()
        if not child:
            self.seconds = 0
            try:
                os._exit(0 if importlib.import_module(self.name).done else 1)
            finally:
                os._exit(2)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                thread.join()
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.kill(child, 9)
        os.waitpid(child, 0)
        thread.join()
        return "the child waits forever"


@pytest.mark.parametrize("patience", [5.0, 0.1], ids=["waited for", "forgotten in the child"])
def test_a_forked_child_can_import_a_half_loaded_module(patience, monkeypatch):
    monkeypatch.setattr(late_imports, "_PATIENCE", patience)
    slow = Slow(0.5)
    sys.meta_path.insert(0, slow)
    try:
        start = time.monotonic()
        assert slow.fork() == 0
        assert sys.modules[slow.name].done
        assert time.monotonic() - start < 25
    finally:
        sys.meta_path.remove(slow)
        sys.modules.pop(slow.name, None)
