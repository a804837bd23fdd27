"""A web server for this machine, and a link that opens a trace in Perfetto."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, urlparse

from ..errors import explain

__all__ = ["listening", "serve_once"]

_LOCAL = "127.0.0.1"
_PERFETTO = 9001
"""The port of this machine from which Perfetto's page may load traces."""
_BINARY = "application/octet-stream"


def listening(port: int, answer: Callable[[str, dict[str, list[str]]], bytes | None],
              function: str, kind: type[HTTPServer] = ThreadingHTTPServer) -> HTTPServer:
    """A server for this machine that answers requests by a function."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 5  # browsers open connections that they do not use

        def do_GET(self) -> None:
            url = urlparse(self.path)
            try:
                content = answer(url.path, parse_qs(url.query))
            except (RuntimeError, ValueError) as error:
                self.send_error(409, explain=str(error))
                return
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", _BINARY)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Access-Control-Allow-Origin", "https://ui.perfetto.dev")
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Do not print requests on the terminal."""

    try:
        return kind((_LOCAL, port), Handler)
    except (OSError, OverflowError) as error:
        raise RuntimeError(explain(
            function, "the server cannot listen at the port.", f"port:  {port}",
            f"error: {error}", hint="another program may use it; choose another one.")) from None


def serve_once(file: Path) -> None:
    """Print a link that opens a trace in Perfetto, and wait until it has been loaded."""
    loaded = threading.Event()

    def answer(path: str, query: dict[str, list[str]]) -> bytes | None:
        if path != f"/{file.name}":
            return None
        loaded.set()
        return file.read_bytes()

    # One request at a time: the response has been sent when ``handle_request`` returns.
    server = listening(_PERFETTO, answer, "tanx.profiler.trace with create_perfetto_link",
                       HTTPServer)
    place = quote(f"http://{_LOCAL}:{_PERFETTO}/{file.name}", safe=":/")
    print(f"Open https://ui.perfetto.dev/#!/?url={place}", flush=True)
    with server:
        while not loaded.is_set():
            server.handle_request()
