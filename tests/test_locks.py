"""Locks in forked processes."""

import os
import threading

import pytest

from tanx._locks import new_lock

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="a process that cannot fork"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning")]  # this process has other threads


def test_nobody_holds_a_lock_in_the_child_of_a_fork():
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
    assert not lock.acquire(blocking=False)  # here it is held as before
    enough.set()
    thread.join()
    with lock:
        pass
