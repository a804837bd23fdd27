"""The thread pool: every task runs once, for any number of callers and calls."""

import ctypes
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

import tanx
from tanx._base.limits import processors
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
            together.wait()  # in step, so that neither ends early and takes tasks of the other

    parallel(task, 20)
    assert {who[i] for i in range(3)} == {threading.get_ident()}
    assert len({who[i] for i in range(10, 13)} | {who[0]}) == 2


def test_many_jobs_in_sequence():
    tanx.set_num_threads(3)
    for job in range(2000):
        seen = []
        parallel(lambda context, i: seen.append(i), 4)  # noqa: B023
        assert sorted(seen) == [0, 1, 2, 3], job


def test_jobs_of_work_that_holds_threads_awake():
    """Threads that are kept spinning run their tasks, before and after they fall asleep."""
    tanx.set_num_threads(3)
    hold = ctypes.CFUNCTYPE(None, ctypes.c_int64)(threads.pool_addresses()["tanx_hold"])
    for pause in (0, 0.0005, 0.005):
        hold(1)
        for _ in range(4):
            seen = []
            time.sleep(pause)
            parallel(lambda context, i: seen.append(i), 5)  # noqa: B023
            assert sorted(seen) == [0, 1, 2, 3, 4]
        hold(-1)


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
def test_a_forked_process_has_its_own_pool():
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
    """The output of a program in a separate process."""
    given = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], env=given | environment, timeout=120,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("environment, expected", [
    ({"OMP_NUM_THREADS": "3"}, "3"), ({"OMP_NUM_THREADS": "2,4"}, "2"),
    ({"OMP_NUM_THREADS": "many"}, "default"), ({}, "default")])
def test_the_number_comes_from_the_environment(environment, expected):
    expected = expected.replace("default", str(processors()))
    assert run_alone("import tanx; print(tanx.get_num_threads())", **environment) == expected


GROUPS = {
    "no limits": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, 8),
    "no groups": ({}, 8),
    "2.5 processors": ({"proc/self/cgroup": "0::/\n",
                        "sys/fs/cgroup/cpu.max": "250000 100000\n"}, 3),
    "a part of one": ({"proc/self/cgroup": "0::/\n",
                       "sys/fs/cgroup/cpu.max": "20000 100000\n"}, 1),
    "more than there are": ({"proc/self/cgroup": "0::/\n",
                             "sys/fs/cgroup/cpu.max": "6400000 100000\n"}, 8),
    "a group around": ({"proc/self/cgroup": "0::/a/b\n",
                        "sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
                        "sys/fs/cgroup/a/cpu.max": "200000 100000\n"}, 2),
    "first version": ({"proc/self/cgroup": "3:cpu,cpuacct:/x\n0::/\n",
                       "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "400000\n",
                       "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000\n",
                       "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
                       "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n"}, 4),
    "damaged": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "100000 0\n"}, 8),
}


@pytest.mark.parametrize("name", GROUPS)
def test_the_number_comes_from_control_groups(name, tmp_path, monkeypatch):
    files, expected = GROUPS[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    assert processors(f"{tmp_path}/") == expected


@pytest.mark.skipif(shutil.which("taskset") is None, reason="taskset chooses processors")
def test_one_processor_of_several():
    """A process that may use one processor has one thread, and so has LAPACK's library."""
    code = """
import ctypes, os, tanx, tanx.numpy as jnp
from tanx._loops import lapack
x = jnp.arange(1 << 18, dtype=jnp.float32)
f = tanx.jit(lambda x: (x * 2).sum() + jnp.linalg.eigvalsh(jnp.eye(40))[0])
values = {float(f(x)) for _ in range(4)}
tasks = len(os.listdir("/proc/self/task"))
get, _ = lapack.thread_functions()
print(tanx.get_num_threads(), ctypes.CFUNCTYPE(ctypes.c_int)(get)(), tasks, values)"""
    first = str(min(os.sched_getaffinity(0)))
    given = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    done = subprocess.run(["taskset", "-c", first, sys.executable, "-c", code], env=given,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:2] == ["1", "1"]
    assert done.stdout.strip().endswith("{68719214592.0}")


def test_no_thread_spins():
    """A tenth of a second after a call, no thread of ours or of LAPACK uses a processor."""
    code = """
import time, tanx, tanx.numpy as jnp
x = jnp.ones((1 << 20,))
f = tanx.jit(lambda x: jnp.exp(x).sum())
g = tanx.jit(lambda a: jnp.linalg.eigvalsh(a))
for pause in (0, 0, 0.5, 0):  # in which better code is made
    f(x).block_until_ready(), g(jnp.eye(300)).block_until_ready()
    time.sleep(pause)
start = time.process_time()
time.sleep(0.1)
print(time.process_time() - start < 0.02)"""
    assert run_alone(code, OMP_NUM_THREADS="4") == "True"


def test_the_library_follows_the_number_of_threads():
    code = """
import ctypes, tanx, tanx.numpy as jnp
from tanx._loops import lapack
get = ctypes.CFUNCTYPE(ctypes.c_int)((lapack.thread_functions() or (0,))[0])
usual = get()
tanx.jit(jnp.linalg.eigvalsh)(jnp.eye(40))
counts = [get()]
for threads in (1, 64):
    tanx.set_num_threads(threads)
    counts.append(get())
print(counts == [usual, 1, usual])"""
    assert run_alone(code, OMP_NUM_THREADS="3", OPENBLAS_NUM_THREADS="3") == "True"


@pytest.mark.slow
def test_two_processes_side_by_side():
    """Small parallel steps of two processes take turns; neither waits for the other's threads."""
    code = """
import time, tanx, tanx.numpy as jnp
x = jnp.ones((1 << 18,))
f = tanx.jit(lambda x: jnp.exp(x) * 2 + 1)
for _ in range(10):
    f(x).block_until_ready()
start = time.perf_counter()
for _ in range(2000):
    f(x).block_until_ready()
print(time.perf_counter() - start)"""
    def started():
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    alone = min(float(started().communicate()[0]) for _ in range(3))
    both = [started(), started()]
    assert max(float(process.communicate()[0]) for process in both) < 5 * alone


def test_the_pool_does_not_block_exit():
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
