"""Calls of the user's Python functions in profiles."""

from __future__ import annotations

import os
import sys
import threading
from time import perf_counter_ns
from types import FrameType
from typing import Any

from .._core.recording import Recorder
from .._core.source import is_ours

__all__ = ["PythonCalls"]


class PythonCalls:
    """Records calls in this thread and in threads that start later, by ``sys.setprofile``."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder
        self.starts: dict[tuple[int, FrameType], int] = {}

    def start(self) -> None:
        """Begin; :meth:`stop` restores the previous profiler."""
        self.before = sys.getprofile()
        threading.setprofile(self.happened)
        sys.setprofile(self.happened)

    def stop(self) -> None:
        """End. Threads that are still running keep their hook, which records nothing."""
        sys.setprofile(self.before)
        threading.setprofile(None)
        self.starts.clear()

    def happened(self, frame: FrameType, event: str, _: Any) -> None:
        """The hook that Python calls at the beginning and the end of each call."""
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if is_ours(code.co_filename) or code.co_filename == "<string>" and (
                frame.f_back is not None and is_ours(frame.f_back.f_code.co_filename)):
            return  # the latter is the file name of named tuples' code
        key = threading.get_ident(), frame
        if event == "call":
            self.starts[key] = perf_counter_ns()
        elif key in self.starts:
            self.recorder.add(f"${os.path.basename(code.co_filename)}:{code.co_firstlineno} "
                              f"{code.co_name}", "python", self.starts.pop(key))
