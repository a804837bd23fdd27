"""The client of a process that measures one system."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "Contestant", "Failure", "environment"]

ROOT = Path(__file__).parents[1]

PATIENCE = 300
"""Seconds to wait for an answer."""


class Failure(Exception):
    """A case that a system could not run."""


def environment(root: Path = ROOT, **more: str) -> dict[str, str]:
    """The variables of a worker: it finds the package of a checkout, and JAX finds no GPU."""
    given = {**os.environ, "JAX_PLATFORMS": "cpu", **more}
    given["PYTHONPATH"] = os.pathsep.join(filter(None, [str(root), given.get("PYTHONPATH")]))
    given.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    return given


class Contestant:
    """A worker, started when it is first needed, and again after a crash."""

    def __init__(self, system: str, python: str, variables: Mapping[str, str] | None = None,
                 root: Path = ROOT):
        self.system, self.python, self._root = system, python, root
        self._environment = environment(root, **variables or {})
        self._process: subprocess.Popen | None = None

    def ask(self, do: str, **request) -> dict[str, Any]:
        """The answer to a request; raises ``Failure`` if the worker reports an error or crashes."""
        if self._process is None:
            self._process = subprocess.Popen(
                [self.python, "-m", "benchmarks.worker", self.system], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env=self._environment, cwd=self._root)
        process = self._process
        watch = threading.Timer(PATIENCE, process.kill)
        watch.start()
        try:
            process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        finally:
            watch.cancel()
        if not line:
            self._process = None
            raise Failure(f"the process died: exit status {process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failure(answer["error"])
        return answer

    def close(self) -> None:
        """End the worker."""
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Contestant:
        return self

    def __exit__(self, *_) -> None:
        self.close()
