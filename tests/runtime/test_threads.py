"""The thread pool: every task runs once, whoever calls and however often."""

import ctypes
import os
import subprocess
import sys
import threading
from collections import Counter

import pytest

import tanx
from tanx._runtime import threads

TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


@pytest.fixture(autouse=True)
def same_number_afterwards():
    before = tanx.get_num_threads()
    yield
    tanx.set_num_threads(before)


def parallel(function, count):
    """Call a Python function for each number below ``count``, over the pool."""
    signature = ctypes.CFUNCTYPE(None, TASK, ctypes.c_void_p, ctypes.c_int64)
    signature(threads.parallel_address())(TASK(function), 7, count)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 80])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 100])
def test_every_task_runs_once(size, count):
    tanx.set_num_threads(size)
    seen = []
    parallel(lambda context, i: seen.append((context, i)), count)
    assert Counter(seen) == Counter((7, i) for i in range(count))


def test_threads_begin_with_stretches_of_their_own():
    tanx.set_num_threads(2)
    together = threading.Barrier(2, timeout=60)
    who = {}

    def task(context, i):
        who[i] = threading.get_ident()
        if i in (0, 1, 2, 10, 11, 12):
            together.wait()  # in step: so nobody is done early, and helps the other

    parallel(task, 20)
    assert {who[i] for i in range(3)} == {threading.get_ident()}
    assert len({who[i] for i in range(10, 13)} | {who[0]}) == 2


def test_one_job_after_the_other():
    tanx.set_num_threads(3)
    for job in range(2000):
        seen = []
        parallel(lambda context, i: seen.append(i), 4)  # noqa: B023
        assert sorted(seen) == [0, 1, 2, 3], job


@pytest.mark.parametrize("size", [2, 4])
def test_threads_take_part_up_to_the_number_set(size):
    tanx.set_num_threads(size)
    together = threading.Barrier(size, timeout=60)
    who = set()

    def task(context, i):
        who.add(threading.get_ident())
        together.wait()

    parallel(task, size)  # each task waits for all the others
    assert len(who) == size and threading.get_ident() in who


def test_one_thread_is_the_calling_one():
    tanx.set_num_threads(4)
    parallel(lambda context, i: None, 8)
    tanx.set_num_threads(1)
    order, who = [], set()
    parallel(lambda context, i: (order.append(i), who.add(threading.get_ident())), 50)
    assert order == list(range(50)) and who == {threading.get_ident()}


def test_tasks_inside_of_tasks_run_in_the_thread_that_calls():
    tanx.set_num_threads(3)
    seen = []

    def outer(context, i):
        here = threading.get_ident()

        def inner(context, k):
            seen.append((i, k, threading.get_ident() == here))

        parallel(inner, 5)

    parallel(outer, 6)
    assert sorted(seen) == [(i, k, True) for i in range(6) for k in range(5)]


def test_many_python_threads_call_at_once():
    tanx.set_num_threads(3)
    wrong = []

    def caller():
        for _ in range(50):
            seen = []
            parallel(lambda context, i: seen.append(i), 7)  # noqa: B023
            if sorted(seen) != list(range(7)):
                wrong.append(seen)

    callers = [threading.Thread(target=caller) for _ in range(8)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert not wrong


def test_the_number_changes_while_tasks_run():
    tanx.set_num_threads(2)
    seen = []

    def task(context, i):
        tanx.set_num_threads(1 + i % 5)
        seen.append(i)

    for _ in range(50):
        parallel(task, 20)
    assert Counter(seen) == dict.fromkeys(range(20), 50)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process that cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # this process has other threads
def test_a_forked_process_has_a_pool_of_its_own():
    tanx.set_num_threads(3)
    parallel(lambda context, i: None, 10)
    child = os.fork()
    if not child:
        seen = []
        together = threading.Barrier(3, timeout=60)
        parallel(lambda context, i: (together.wait(), seen.append(i)), 3)
        os._exit(0 if sorted(seen) == [0, 1, 2] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    seen = []
    parallel(lambda context, i: seen.append(i), 10)
    assert sorted(seen) == list(range(10))


def run_alone(code, **environment):
    """What a program prints in a process of its own."""
    given = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], env=given | environment, timeout=120,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("environment, expected", [
    ({"OMP_NUM_THREADS": "3"}, "3"), ({"OMP_NUM_THREADS": "2,4"}, "2"),
    ({"OMP_NUM_THREADS": "many"}, "default"), ({}, "default")])
def test_the_number_comes_from_the_environment(environment, expected):
    default = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    expected = expected.replace("default", str(default))
    assert run_alone("import tanx; print(tanx.get_num_threads())", **environment) == expected


def test_the_pool_is_no_obstacle_at_exit():
    code = """
import ctypes, tanx
from tanx._runtime import threads
task = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(lambda context, i: None)
tanx.set_num_threads(4)
run = ctypes.CFUNCTYPE(None, type(task), ctypes.c_void_p, ctypes.c_int64)
run(threads.parallel_address())(task, None, 10)
print("done")"""
    assert run_alone(code) == "done"


@pytest.mark.parametrize("threads", [0, -1, 2.0, True, None])
def test_the_number_must_be_a_positive_int(threads):
    with pytest.raises(ValueError) as error:
        tanx.set_num_threads(threads)
    assert str(error.value) == f"""\
tanx.set_num_threads: the number of threads must be a positive int.
  threads: {threads!r}
  Hint: 1 runs everything in the calling thread."""
