"""Resource limits of this process: control groups, and processors."""

from __future__ import annotations

import os
from collections.abc import Iterator

__all__ = ["groups", "processors", "text_of"]


def text_of(path: str) -> str:
    """The contents of a file; empty if it cannot be read."""
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def groups(controller: str, root: str = "/") -> Iterator[tuple[str, bool]]:
    """The folders of this process's control groups for a controller, the innermost first.

    Linux has control groups in two versions: the flag says whether a folder is of the second.
    """
    for line in text_of(f"{root}proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            tops = [f"{root}sys/fs/cgroup", f"{root}sys/fs/cgroup/unified"]
        elif controller in controllers.split(","):
            tops = [f"{root}sys/fs/cgroup/{name}" for name in dict.fromkeys(
                (controller, controllers))]
        else:
            continue
        for top in tops:
            folder = path.strip("/")
            while True:
                yield f"{top}/{folder}".rstrip("/"), not controllers
                if not folder:
                    break
                folder = folder.rpartition("/")[0]


def processors(root: str = "/") -> int:
    """How many threads can run at a time: by affinity, and by the CPU time of groups.

    A group that may use 2.5 processors runs three threads five sixths of the time, which is faster
    than two threads that never wait.
    """
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    shares = [_share(folder, second) for folder, second in groups("cpu", root)]
    return max(1, min([known or 1, *(-int(-share // 1) for share in shares if share)]))


def _share(folder: str, second: bool) -> float:
    """The processors that a group may use, as a fraction; 0 if there is no limit."""
    if second:
        words = text_of(f"{folder}/cpu.max").split()
    else:
        words = [text_of(f"{folder}/cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    if len(words) != 2 or not all(word.isdecimal() for word in words) or not int(words[1]):
        return 0.0
    return int(words[0]) / int(words[1])
