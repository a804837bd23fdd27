"""A web server on this machine for profiles of a running program.

JAX's profiler server uses gRPC with TensorBoard. This one uses plain HTTP, so that a browser,
``curl`` or ``pprof`` can read from it::

    curl -o trace.json.gz 'localhost:9999/trace?duration_ms=2000'
    go tool pprof http://localhost:9999/memory
"""

from __future__ import annotations

import threading
import time

from ..errors import explain
from .memory import device_memory_profile
from .perfetto import written
from .session import ProfileSession
from .web import listening
from .wire import encode
from .xspace import SPACE

__all__ = ["ProfilerServer", "start_server", "stop_server"]



class ProfilerServer:
    """A server of profiles, in a separate thread."""

    def __init__(self, port: int):
        self._session: ProfileSession | None = None
        self._server = listening(port, self._answer, "tanx.profiler.start_server")
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="tanx profiler server",
                         daemon=True).start()

    def stop(self) -> None:
        """End the server; earlier requests are answered."""
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, path: str, query: dict[str, list[str]]) -> bytes | None:
        """The response; None if there is no such page. Errors are returned as text."""
        if path == "/health":
            return b"tanx"
        if path == "/memory":
            return device_memory_profile()
        if path == "/start":
            self._session = ProfileSession().start()
            return b""
        if path == "/stop":
            session, self._session = self._session or ProfileSession(), None
            return encode(SPACE, session.stop()._message)
        if path in ("/trace", "/xplane"):
            with ProfileSession() as taken:
                time.sleep(int(query.get("duration_ms", ["1000"])[0]) / 1000)
            data = taken.profile_data
            assert data is not None
            return written(data) if path == "/trace" else encode(SPACE, data._message)
        return None


# -- the server of this process --------------------------------------------------------------------

_active: list[ProfilerServer] = []


def start_server(port: int, requires_backend: bool = True) -> ProfilerServer:
    """Serve profiles of this process on a port of this machine, by HTTP.

    ``/trace?duration_ms=1000`` is a trace for Perfetto, ``/xplane?duration_ms=1000`` the same for
    TensorBoard, ``/memory`` a profile of memory for pprof. TensorBoard's capture button, which uses
    gRPC, is not supported.

    >>> server = tanx.profiler.start_server(0)  # 0: a port that is free
    >>> tanx.profiler.stop_server()
    """
    if _active:
        raise ValueError(explain(
            "tanx.profiler.start_server", "a server is running already.",
            f"port: {_active[0].port}", hint="tanx.profiler.stop_server ends it."))
    _active.append(ProfilerServer(port))
    return _active[0]


def stop_server() -> None:
    """End the server of profiles.

    >>> server = tanx.profiler.start_server(0)
    >>> tanx.profiler.stop_server()
    """
    if not _active:
        raise ValueError(explain("tanx.profiler.stop_server", "no server is running.",
                                 hint="tanx.profiler.start_server starts one."))
    _active.pop().stop()
