"""The threads of a process: a pool that native code hands tasks to, built by LLVM at first use.

``void tanx_parallel(ptr task, ptr context, i64 count)`` calls ``task(context, i)`` once for each
``i`` below ``count`` and returns when all are done. The calling thread takes part; Python does not.
A call while the pool is at work, be it from inside a task or from another thread, goes through its
tasks alone rather than wait.

How it works: a job is published in one word, ``epoch << 32 | open << 16 | members``. A worker that
sees an open epoch for the first time joins by counting itself in, takes tasks until there are none
left, and counts itself out. The caller does the same, then closes the job, so that no more threads
join, and waits until no members are left. A waiting thread polls for some microseconds, since
kernels follow each other closely, and then sleeps.

Tasks that follow each other are often neighbours in memory, which processors read ahead. So each
member begins with a stretch of the tasks, in order, and then helps with those of others.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

from .._base.limits import processors
from .._base.locks import new_lock
from .._compiler.abi import PARALLEL, STOP, STOPPED
from ..errors import explain

__all__ = ["get_num_threads", "parallel_address", "pool_text", "set_num_threads",
           "when_resized"]

_PAUSES = {"x86_64": ("llvm.x86.sse2.pause", "", 1000),
           "aarch64": ("llvm.aarch64.isb", "i32 15", 2500)}
"""How a processor pauses for some cycles, and how often it does before it sleeps: about 40 us."""

_STRETCHES = 64
"""Stretches of tasks at most."""

_TEXT = """
@word = internal global i64 0, align 128
@next = internal global [{stretches} x [16 x i64]] zeroinitializer, align 128
@task = internal global ptr null, align 128
@context = internal global ptr null
@count = internal global i64 0
@stretches = internal global i64 1
@busy = internal global i64 0, align 128
@limit = internal global i64 1
@workers = internal global i64 0
@sleeping = internal global i64 0
@waiting = internal global i64 0
@thread = internal global i64 0
@mutex = internal global [16 x i64] zeroinitializer, align 128
@wake = internal global [16 x i64] zeroinitializer
@done = internal global [16 x i64] zeroinitializer
@blocked = internal global [16 x i64] zeroinitializer
@before = internal global [16 x i64] zeroinitializer
@tanx_owner = external global i64
@tanx_workers = external global [1024 x i64]
@{stop} = external global i64
declare i32 @{stopped}()

{pthreads}
{declare_pause}

define void @tanx_parallel(ptr %task, ptr %context, i64 %count) {{
entry:
  %limit = load atomic i64, ptr @limit monotonic, align 8
  %fewer = call i64 @llvm.smin.i64(i64 %limit, i64 %count)
  %worth = icmp sgt i64 %fewer, 1
  br i1 %worth, label %ask, label %alone
ask:
  %asked = cmpxchg ptr @busy, i64 0, i64 1 acquire monotonic
  %mine = extractvalue {{ i64, i1 }} %asked, 1
  br i1 %mine, label %publish, label %alone
alone:
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %each, label %finished
each:
  %i = phi i64 [ 0, %alone ], [ %following, %each ]
  call void %task(ptr %context, i64 %i)
  %following = add i64 %i, 1
  %more = icmp slt i64 %following, %count
  br i1 %more, label %each, label %finished
publish:
  call void @hire(i64 %limit)
  %self = call i64 @pthread_self()
  store atomic i64 %self, ptr @tanx_owner monotonic, align 8
  store ptr %task, ptr @task
  store ptr %context, ptr @context
  store i64 %count, ptr @count
  %stretches = call i64 @llvm.smin.i64(i64 %fewer, i64 {stretches})
  store i64 %stretches, ptr @stretches
  br label %stretch
stretch:
  %s = phi i64 [ 0, %publish ], [ %after, %stretch ]
  %first = call i64 @first(i64 %s)
  %next = getelementptr [16 x i64], ptr @next, i64 %s
  store atomic i64 %first, ptr %next monotonic, align 8
  %after = add i64 %s, 1
  %another = icmp slt i64 %after, %stretches
  br i1 %another, label %stretch, label %open
open:
  %old = load atomic i64, ptr @word monotonic, align 8
  %epoch = and i64 %old, {epochs}
  %opened = add i64 %epoch, {step}
  store atomic i64 %opened, ptr @word seq_cst, align 8
  %sleeping = load atomic i64, ptr @sleeping seq_cst, align 8
  %quiet = icmp eq i64 %sleeping, 0
  br i1 %quiet, label %work, label %rouse
rouse:
  %wanted = sub i64 %fewer, 1
  call void @rouse(i64 %wanted, i64 %sleeping)
  br label %work
work:
  call void @work(i64 0)
  %closed = atomicrmw and ptr @word, i64 {not_open} seq_cst
  call void @join()
  store atomic i64 0, ptr @tanx_owner monotonic, align 8
  store atomic i64 0, ptr @busy release, align 8
  br label %finished
finished:
  ret void
}}

; The first task of a stretch.
define internal i64 @first(i64 %stretch) {{
  %count = load i64, ptr @count
  %stretches = load i64, ptr @stretches
  %product = mul i64 %stretch, %count
  %first = udiv i64 %product, %stretches
  ret i64 %first
}}

; Takes tasks until there are none left, from one stretch on; for members of a job.
define internal void @work(i64 %member) {{
entry:
  %task = load ptr, ptr @task
  %context = load ptr, ptr @context
  %stretches = load i64, ptr @stretches
  br label %begin
begin:
  %n = phi i64 [ 0, %entry ], [ %more, %none ]
  %number = add i64 %member, %n
  %s = urem i64 %number, %stretches
  %following = add i64 %s, 1
  %end = call i64 @first(i64 %following)
  %next = getelementptr [16 x i64], ptr @next, i64 %s
  br label %take
take:
  %i = atomicrmw add ptr %next, i64 1 monotonic
  %some = icmp slt i64 %i, %end
  br i1 %some, label %run, label %none
run:
  call void %task(ptr %context, i64 %i)
  br label %take
none:
  %more = add i64 %n, 1
  %others = icmp slt i64 %more, %stretches
  br i1 %others, label %begin, label %over
over:
  ret void
}}

; Starts the threads that are wanted and not there. They take no signals: those are Python's.
define internal void @hire(i64 %limit) {{
entry:
  %have = load i64, ptr @workers
  %wanted = sub i64 %limit, 1
  %short = icmp slt i64 %have, %wanted
  br i1 %short, label %begin, label %enough
begin:
  %filled = call i32 @sigfillset(ptr @blocked)
  %masked = call i32 @pthread_sigmask(i32 {setmask}, ptr @blocked, ptr @before)
  br label %start
start:
  %n = phi i64 [ %have, %begin ], [ %grown, %started ]
  %failed = call i32 @pthread_create(ptr @thread, ptr null, ptr @worker, ptr null)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %started, label %refused
started:
  %thread = load i64, ptr @thread
  %detached = call i32 @pthread_detach(i64 %thread)
  %number = and i64 %n, 1023
  %known = getelementptr i64, ptr @tanx_workers, i64 %number
  store atomic i64 %thread, ptr %known monotonic, align 8
  %grown = add i64 %n, 1
  store i64 %grown, ptr @workers
  %more = icmp slt i64 %grown, %wanted
  br i1 %more, label %start, label %end
refused:
  %those = add i64 %n, 1
  store atomic i64 %those, ptr @limit monotonic, align 8
  br label %end
end:
  %restored = call i32 @pthread_sigmask(i32 {setmask}, ptr @before, ptr null)
  br label %enough
enough:
  ret void
}}

; Wakes as many sleeping workers as a job can use.
define internal void @rouse(i64 %wanted, i64 %sleeping) {{
entry:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %all = icmp sge i64 %wanted, %sleeping
  br i1 %all, label %everyone, label %one
everyone:
  %woken = call i32 @pthread_cond_broadcast(ptr @wake)
  br label %end
one:
  %n = phi i64 [ %wanted, %entry ], [ %left, %one ]
  %signalled = call i32 @pthread_cond_signal(ptr @wake)
  %left = sub i64 %n, 1
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %one, label %end
end:
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}}

; The caller waits for the members of the job that it closed. It looks up now and then, for it may
; be the one that is told to stop them.
define internal void @join() {{
entry:
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ %following, %pause ]
  %word = load atomic i64, ptr @word acquire, align 8
  %members = and i64 %word, {members}
  %busy = icmp ne i64 %members, 0
  br i1 %busy, label %tired, label %end
tired:
  %following = add i64 %n, 1
  %enough = icmp eq i64 %following, {pauses}
  br i1 %enough, label %sleep, label %pause
pause:
  {pause}
  br label %look
sleep:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  store atomic i64 1, ptr @waiting seq_cst, align 8
  br label %check
check:
  %now = load atomic i64, ptr @word seq_cst, align 8
  %left = and i64 %now, {members}
  %some = icmp ne i64 %left, 0
  br i1 %some, label %wait, label %awake
wait:
  %waited = call i32 @wait_a_while(ptr @done, ptr @mutex)
  %stop = load atomic i64, ptr @{stop} monotonic, align 8
  %quiet = icmp eq i64 %stop, 0
  br i1 %quiet, label %check, label %look_up
look_up:
  %opened = call i32 @pthread_mutex_unlock(ptr @mutex)
  %stopped = call i32 @{stopped}()
  %again = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %check
awake:
  store atomic i64 0, ptr @waiting monotonic, align 8
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %end
end:
  ret void
}}

define internal ptr @worker(ptr %unused) {{
entry:
  br label %idle
idle:
  %seen = phi i64 [ 0, %entry ], [ %epoch, %full ], [ %epoch, %leave ], [ %epoch, %last ]
  %word = call i64 @await(i64 %seen)
  br label %try
try:
  %now = phi i64 [ %word, %idle ], [ %other, %again ]
  %epoch = and i64 %now, {epochs}
  %members = and i64 %now, {members}
  %others = add i64 %members, 1
  %limit = load atomic i64, ptr @limit monotonic, align 8
  %room = icmp slt i64 %others, %limit
  br i1 %room, label %enter, label %full
full:
  br label %idle
enter:
  %more = add i64 %now, 1
  %asked = cmpxchg ptr @word, i64 %now, i64 %more acquire monotonic
  %inside = extractvalue {{ i64, i1 }} %asked, 1
  br i1 %inside, label %work, label %again
again:
  %other = extractvalue {{ i64, i1 }} %asked, 0
  %open = and i64 %other, {open}
  %still = icmp ne i64 %open, 0
  br i1 %still, label %try, label %full
work:
  call void @work(i64 %others)
  %before = atomicrmw sub ptr @word, i64 1 seq_cst
  %rest = and i64 %before, {open_or_members}
  %alone = icmp eq i64 %rest, 1
  br i1 %alone, label %last, label %leave
last:
  call void @tell()
  br label %idle
leave:
  br label %idle
}}

; The last member of a closed job wakes the caller if it sleeps.
define internal void @tell() {{
entry:
  %waiting = load atomic i64, ptr @waiting seq_cst, align 8
  %sleeps = icmp ne i64 %waiting, 0
  br i1 %sleeps, label %wake, label %end
wake:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %signalled = call i32 @pthread_cond_signal(ptr @done)
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %end
end:
  ret void
}}

; Whether a word is that of an open job other than the one seen last.
define internal i1 @is_new(i64 %word, i64 %seen) {{
  %epoch = and i64 %word, {epochs}
  %other = icmp ne i64 %epoch, %seen
  %open = and i64 %word, {open}
  %opened = icmp ne i64 %open, 0
  %both = and i1 %other, %opened
  ret i1 %both
}}

; A worker waits for a job.
define internal i64 @await(i64 %seen) {{
entry:
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ %following, %pause ]
  %word = load atomic i64, ptr @word acquire, align 8
  %new = call i1 @is_new(i64 %word, i64 %seen)
  br i1 %new, label %found, label %tired
found:
  ret i64 %word
tired:
  %following = add i64 %n, 1
  %enough = icmp eq i64 %following, {pauses}
  br i1 %enough, label %sleep, label %pause
pause:
  {pause}
  br label %look
sleep:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %others = atomicrmw add ptr @sleeping, i64 1 seq_cst
  br label %check
check:
  %now = load atomic i64, ptr @word seq_cst, align 8
  %ready = call i1 @is_new(i64 %now, i64 %seen)
  br i1 %ready, label %awake, label %wait
wait:
  %waited = call i32 @pthread_cond_wait(ptr @wake, ptr @mutex)
  br label %check
awake:
  %left = atomicrmw sub ptr @sleeping, i64 1 seq_cst
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  ret i64 %now
}}

define void @tanx_limit(i64 %threads) {{
  store atomic i64 %threads, ptr @limit monotonic, align 8
  ret void
}}

; A pool without threads, at the start and in the child of a fork.
define void @tanx_fresh() {{
  store i64 0, ptr @word
  store i64 0, ptr @busy
  store i64 0, ptr @workers
  store i64 0, ptr @sleeping
  store i64 0, ptr @waiting
  %mutex = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %wake = call i32 @pthread_cond_init(ptr @wake, ptr null)
  %done = call i32 @pthread_cond_init(ptr @done, ptr null)
  ret void
}}
"""


def pool_text() -> str:
    """The pool as LLVM code."""
    from signal import SIG_SETMASK

    from .machine_code import PTHREADS
    architecture = os.uname().machine.replace("arm64", "aarch64")
    name, argument, pauses = _PAUSES.get(architecture, ("", "", 1000))
    opened = 1 << 16
    return _TEXT.format(
        pthreads=PTHREADS, stop=STOP, stopped=STOPPED,
        declare_pause=name and f"declare void @{name}({argument.split(' ')[0]})",
        pause=name and f"call void @{name}({argument})", pauses=pauses,
        setmask=int(SIG_SETMASK), stretches=_STRETCHES, members=opened - 1, open=opened,
        not_open=~opened, open_or_members=2 * opened - 1, epochs=-1 << 32, step=(1 << 32) + opened)


class _Pool:
    """The pool of this process: its size, and its functions once they are needed."""

    def __init__(self):
        self._lock = new_lock()
        self._size: int | None = None
        self._addresses: dict[str, int] = {}
        self.listeners: list[Callable[[int], None]] = []  # are told the size when it changes

    @property
    def size(self) -> int:
        if self._size is None:
            self._size = _default_size()
        return self._size

    @size.setter
    def size(self, threads: int) -> None:
        with self._lock:
            self._size = threads
            if self._addresses:
                self._call("tanx_limit", threads)
        for listener in self.listeners:
            listener(threads)

    def address(self) -> int:
        """Where the function :data:`PARALLEL` is."""
        with self._lock:
            if not self._addresses:
                from . import stop  # late: most imports of tanx run no threads
                from .machine_code import permanent
                self._addresses = permanent("threads", pool_text, stop.addresses() | {
                    "tanx_owner": ctypes.addressof(stop.owner),
                    "tanx_workers": ctypes.addressof(stop.workers)})
                self._call("tanx_fresh")
                self._call("tanx_limit", self.size)
            return self._addresses[PARALLEL]

    def forked(self) -> None:
        """In a new process, where none of the threads but the calling one exists."""
        if self._addresses:
            self._call("tanx_fresh")

    def _call(self, name: str, *numbers: int) -> None:
        types = (ctypes.c_int64,) * len(numbers)
        ctypes.CFUNCTYPE(None, *types)(self._addresses[name])(*numbers)


def _default_size() -> int:
    """What ``OMP_NUM_THREADS`` says, or how many threads can run at a time."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if first.isdecimal() and int(first):
        return int(first)
    return processors()


_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.forked)


def when_resized(listener: Callable[[int], None]) -> None:
    """Tell a function how many threads there are, whenever that changes."""
    _pool.listeners.append(listener)


def parallel_address() -> int:
    """The address of ``tanx_parallel`` in this process."""
    return _pool.address()


def get_num_threads() -> int:
    """How many threads compiled functions may use on the CPU; see :func:`set_num_threads`.

    >>> tanx.get_num_threads() >= 1
    True
    """
    return _pool.size


def set_num_threads(threads: int) -> None:
    """Let compiled functions use so many threads on the CPU, the calling one among them.

    Without it, the number is that of ``OMP_NUM_THREADS``, or of the processors that the process may
    use, by its affinity and by the limits of its control groups (a container with 2.5 CPUs: three).
    LAPACK's library uses no more threads, either. Results do not depend on it: work is cut in the
    same pieces whoever does them. Calls that run in the meantime are not disturbed.

    >>> before = tanx.get_num_threads()
    >>> tanx.set_num_threads(1)
    >>> tanx.get_num_threads()
    1
    >>> tanx.set_num_threads(before)
    """
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise ValueError(explain(
            "tanx.set_num_threads", "the number of threads must be a positive int.",
            f"threads: {threads!r}", hint="1 runs everything in the calling thread."))
    _pool.size = threads
