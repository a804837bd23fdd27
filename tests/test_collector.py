"""The garbage collector is disabled for a while, and restored."""

import gc
import os
import threading

import numpy as np
import pytest

import tanx
from tanx._base.collector import at_rest
from tanx._runtime import executable


def test_blocks_may_overlap():
    with at_rest:
        entered, leave = threading.Event(), threading.Event()

        def other():
            with at_rest:
                entered.set()
                leave.wait()

        thread = threading.Thread(target=other)
        thread.start()
        entered.wait()
    assert not gc.isenabled()  # the other thread is still inside
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_disabled_collector_stays_disabled():
    gc.disable()
    try:
        with at_rest:
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_rests_while_a_program_is_compiled(monkeypatch):
    seen = []
    original = executable.compile_program

    def watched(*args, **options):
        seen.append(gc.isenabled())
        return original(*args, **options)
    monkeypatch.setattr(executable, "compile_program", watched)
    tanx.jit(lambda x: x * 31 - 7)(np.ones(5))
    assert seen == [False] and gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_it_does_not_rest_in_the_child_of_a_fork():
    with at_rest:
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.isenabled() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
