"""Other processes whose profiles are included: each has its own server."""

from __future__ import annotations

from http.client import HTTPConnection
from typing import Any

from ..errors import JaxRuntimeError, explain
from .wire import decode
from .xspace import SPACE

__all__ = ["register_subprocess", "start_all", "stop_all"]

_ports: dict[int, int] = {}  # by process


def register_subprocess(pid: int, port: int) -> None:
    """Include the profiles of another process on this machine.

    The other process must have called :func:`tanx.profiler.start_server` with that port.

    >>> tanx.profiler.register_subprocess(1, 9)
    Traceback (most recent call last):
    tanx.errors.JaxRuntimeError: tanx.profiler.register_subprocess: the server does not respond.
      process: 1
      port:    9
      ...
    """
    try:
        _ask(port, "/health")
    except OSError as error:
        raise JaxRuntimeError(explain(
            "tanx.profiler.register_subprocess", "the server does not respond.", f"process: {pid}",
            f"port:    {port}", f"error:   {error}",
            hint="tanx.profiler.start_server(port) starts one in the other process.")) from None
    _ports[pid] = port


def start_all() -> None:
    """Begin to record in the other processes; drop processes that have ended."""
    for pid, port in list(_ports.items()):
        try:
            _ask(port, "/start")
        except OSError:
            del _ports[pid]


def stop_all() -> list[dict[str, Any]]:
    """The planes that the other processes recorded, each with its number."""
    planes = []
    for pid, port in list(_ports.items()):
        try:
            space = decode(SPACE, _ask(port, "/stop"))
        except OSError:
            del _ports[pid]
            continue
        planes += [{**plane, "name": f"{plane['name']} of process {pid}"}
                   for plane in space["planes"] if plane["lines"]]
    return planes


def _ask(port: int, path: str) -> bytes:
    """The answer of a server; raises ``OSError`` if there is no server, or if it refuses."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", path)
        answer = connection.getresponse()
        if answer.status != 200:
            raise OSError(f"the server answers {answer.status} {answer.reason}")
        return answer.read()
    finally:
        connection.close()
