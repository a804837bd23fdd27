"""Sessions: from the start of a profile to its files.

A profile is written to ``plugins/profile/<time>`` of its folder, where TensorBoard finds it, as
``<host>.xplane.pb`` and as ``<host>.trace.json.gz``; the latter opens in Perfetto, too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from .._base.config import profiling
from .._core.array import Array
from .._core.primitive import Kind
from .._core.recording import Recorder, Span, current
from .._core.source import user_source
from .._core.trace import EvalTrace
from ..errors import explain
from .data import ProfileData
from .options import ProfileOptions
from .perfetto import written
from .pycalls import PythonCalls
from .subprocesses import start_all, stop_all
from .wire import encode
from .xspace import SPACE, space_of

__all__ = ["ProfileSession", "export_profile_data", "start_trace", "stop_trace", "trace"]


class _Taking:
    """The session that takes a profile, if any; there is one at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session: ProfileSession | None = None


_taking = _Taking()


class ProfileSession:
    """Takes a profile between :meth:`start` and :meth:`stop`, or in a ``with`` block.

    With a ``log_dir`` it is written there at the end; ``create_perfetto_trace`` and
    ``create_perfetto_link`` are those of :func:`start_trace`.

    >>> with tanx.profiler.ProfileSession() as session:
    ...     jnp.arange(3.0).sum()
    Array(3., dtype=float32)
    >>> host = session.profile_data.find_plane_with_name("/host:CPU")
    >>> "reduce_sum" in [event.name for line in host.lines for event in line.events]
    True
    """

    def __init__(self, log_dir: str | os.PathLike[str] | None = None,
                 create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
                 profiler_options: ProfileOptions | None = None):
        self._log_dir, self._options = log_dir, profiler_options or ProfileOptions()
        self._link, self._trace = create_perfetto_link, create_perfetto_trace
        self._data: ProfileData | None = None
        self._recorder: Recorder | None = None
        self._calls: PythonCalls | None = None

    @property
    def is_running(self) -> bool:
        """Whether the profile is being taken."""
        return self._recorder is not None

    @property
    def profile_data(self) -> ProfileData | None:
        """The profile, after it has been taken."""
        return self._data

    def start(self) -> ProfileSession:
        """Begin to record; returns the session itself."""
        if not isinstance(self._options, ProfileOptions):
            raise TypeError(explain(
                "tanx.profiler.ProfileSession", "profiler_options must be a ProfileOptions.",
                f"got: {self._options!r:.100}"))
        with _taking.lock:
            if _taking.session is not None:
                raise RuntimeError(explain(
                    "tanx.profiler.start_trace", "a profile has already been started.",
                    hint="tanx.profiler.stop_trace ends it; one is taken at a time."))
            start_all()
            _taking.session = self
            self._recorder = recorder = Recorder()
            if self._options.host_tracer_level > 0:
                current.recorder = recorder
            if self._options.host_tracer_level > 1:
                _record_operations()
            if self._options.python_tracer_level > 0:
                self._calls = PythonCalls(recorder)
                self._calls.start()
        return self

    def stop(self) -> ProfileData:
        """End the profile, and write it if there is a folder for it."""
        with _taking.lock:
            recorder = self._recorder
            if recorder is None:
                raise RuntimeError(explain(
                    "tanx.profiler.stop_trace", "no profile was started.",
                    hint="tanx.profiler.start_trace begins one."))
            if self._calls is not None:
                self._calls.stop()
            _record_no_longer()
            self._recorder, self._calls, _taking.session = None, None, None
        _take_background(recorder)
        recorder.spans = [span for span in recorder.spans if self._wanted(span, recorder)]
        space = space_of(recorder, time.time_ns())
        space["planes"] += stop_all()
        self._data = ProfileData(encode(SPACE, space))
        if self._log_dir is not None:
            self.export_profile_data(self._log_dir, self._link, self._trace)
        return self._data

    def _wanted(self, span: Span, recorder: Recorder) -> bool:
        """Whether a span is in the time that the options request."""
        options, began = self._options, span.start - recorder.start
        return began + recorder.start_time >= options.start_timestamp_ns and not (
            0 < options.duration_ms * 1_000_000 < began) and (
                options.host_tracer_level > 1 or span.category in ("annotation", "python"))

    def export_profile_data(self, log_dir: str | os.PathLike[str],
                            create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
                            session_id: str | None = None) -> None:
        """Write the profile that was taken to a folder."""
        if self._data is None:
            raise RuntimeError(explain(
                "tanx.profiler.ProfileSession.export_profile_data", "there is no profile yet.",
                hint="start() and stop() take one."))
        export_profile_data(self._data, log_dir, create_perfetto_link, create_perfetto_trace,
                            session_id or self._options.session_id or None)

    def __enter__(self) -> ProfileSession:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


# -- recording -------------------------------------------------------------------------------------

_evaluate = EvalTrace.process


def _record_operations() -> None:
    """Let Python execute all calls, and record eager operations."""
    global _evaluate
    _evaluate = EvalTrace.process
    profiling.update(True)
    EvalTrace.process = staticmethod(_recorded)


def _record_no_longer() -> None:
    current.recorder = None
    if profiling.value:
        EvalTrace.process = staticmethod(_evaluate)
        profiling.update(False)


def _recorded(primitive, args: Sequence[Any], params: dict[str, Any]):
    """Eager execution, with a span for it."""
    recorder, start = current.recorder, perf_counter_ns()
    try:
        return _evaluate(primitive, args, params)
    finally:
        if recorder is not None:
            jitted = primitive.kind is Kind.CALL and "name" in params
            recorder.add(f"jit({params['name']})" if jitted else primitive.name,
                         "call" if jitted else "operation", start, user_source(),
                         {"operands": [x.aval if type(x) is Array else type(x) for x in args]})


_BESIDE = 1 << 32
"""Offset of a thread's number for its background work."""


def _take_background(recorder: Recorder) -> None:
    """Wait for work that was started, and record when it ran."""
    if not recorder.background:
        return
    from .._runtime.background import barrier  # late: few programs use it
    barrier()
    for name, source, thread, work in recorder.background:
        recorder.threads.setdefault(
            thread + _BESIDE, f"background of {recorder.threads.get(thread, thread)}")
        began, ended = work.moments
        recorder.spans.append(
            Span(name, "execute", thread + _BESIDE, began, ended, source, {}))


# -- files -----------------------------------------------------------------------------------------


def export_profile_data(profile_data: ProfileData, log_dir: str | os.PathLike[str],
                        create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
                        session_id: str | None = None) -> None:
    """Write a profile to a folder, in the files that TensorBoard and Perfetto read.

    ``session_id`` names the folder in ``plugins/profile``; by default the time does.

    >>> import tempfile
    >>> with tanx.profiler.ProfileSession() as session:
    ...     y = jnp.sin(1.0)
    >>> tanx.profiler.export_profile_data(session.profile_data, tempfile.mkdtemp())
    """
    if not isinstance(profile_data, ProfileData):
        raise TypeError(explain(
            "tanx.profiler.export_profile_data", "the profile must be a ProfileData.",
            f"got: {type(profile_data).__name__}"))
    folder = Path(log_dir, "plugins", "profile",
                  session_id or time.strftime("%Y_%m_%d_%H_%M_%S"))
    folder.mkdir(parents=True, exist_ok=True)
    host = os.uname().nodename
    trace = written(profile_data)
    (folder / f"{host}.xplane.pb").write_bytes(encode(SPACE, profile_data._message))
    (folder / f"{host}.trace.json.gz").write_bytes(trace)
    if create_perfetto_trace or create_perfetto_link:
        (folder / "perfetto_trace.json.gz").write_bytes(trace)
    if create_perfetto_link:
        from .web import serve_once  # late: it imports Python's web server
        serve_once(folder / "perfetto_trace.json.gz")


# -- the public functions --------------------------------------------------------------------------


def start_trace(log_dir: str | os.PathLike[str] | None, create_perfetto_link: bool = False,
                create_perfetto_trace: bool = False,
                profiler_options: ProfileOptions | None = None) -> ProfileSession:
    """Begin to take a profile, which :func:`stop_trace` writes to ``log_dir``.

    ``create_perfetto_trace`` also writes ``perfetto_trace.json.gz``, to be opened at
    https://ui.perfetto.dev; ``create_perfetto_link`` prints a link that opens it there, and waits
    until it has been opened.

    >>> import tempfile
    >>> session = tanx.profiler.start_trace(tempfile.mkdtemp())
    >>> y = jnp.sin(1.0)
    >>> data = tanx.profiler.stop_trace()
    """
    return ProfileSession(log_dir, create_perfetto_link, create_perfetto_trace,
                          profiler_options).start()


def stop_trace() -> ProfileData:
    """End the profile that was started, and write it.

    >>> session = tanx.profiler.start_trace(None)
    >>> [plane.name for plane in tanx.profiler.stop_trace().planes]
    ['/host:metadata', '/host:CPU', 'Task Environment']
    """
    return (_taking.session or ProfileSession()).stop()


@contextmanager
def trace(log_dir: str | os.PathLike[str] | None = None, create_perfetto_link: bool = False,
          create_perfetto_trace: bool = False, profiler_options: ProfileOptions | None = None,
          ) -> Iterator[ProfileSession]:
    """Take a profile of a block; the arguments are those of :func:`start_trace`.

    >>> import tempfile
    >>> with tanx.profiler.trace(tempfile.mkdtemp()):
    ...     y = jnp.sin(1.0).block_until_ready()
    """
    with ProfileSession(log_dir, create_perfetto_link, create_perfetto_trace,
                        profiler_options) as session:
        yield session
