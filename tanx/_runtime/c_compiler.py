"""The C compiler of the machine: found by its usual names, or by the variable ``CC``."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence

from ..errors import explain

__all__ = ["run_compiler"]

_COMPILERS = ("cc", "gcc", "clang")
_LINES_SHOWN = 20


def run_compiler(public: str, arguments: Sequence[str], folder: str, *, failure: str,
                 hint: str = "") -> None:
    """Run the C compiler on files of a folder, which messages do not name.

    ``public`` is the function that needs it. If the compiler reports errors, ``failure`` says what
    that means for the user; ``hint`` says what else can be done if no compiler is installed.
    """
    done = subprocess.run([*_command(public, hint), *arguments], capture_output=True, text=True,
                          errors="replace", check=False)
    if done.returncode:
        said = done.stderr.replace(folder + os.sep, "").strip().splitlines()
        left = len(said) - _LINES_SHOWN
        more = [f"... and {left} lines more"] if left > 0 else []
        raise ValueError(explain(public, failure, *said[:_LINES_SHOWN], *more))


def _command(public: str, hint: str) -> list[str]:
    given = shlex.split(os.environ.get("CC", ""))
    names = [given[0]] if given else _COMPILERS
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return [path, *given[1:]]
    raise RuntimeError(explain(
        public, "there is no C compiler on this machine.", f"looked for: {', '.join(names)}",
        hint="install gcc or clang, or say by the environment variable CC where it is."
             + (f" {hint}" if hint else "")))
