"""How loops of compiled code end early: when the runtime tells the program to stop.

Each step of a polled loop ends by reading one word, :data:`~.abi.STOP`. It is zero unless some
program should stop; then the function :data:`~.abi.STOPPED` says whether it is this one. A program
that was stopped leaves its results as they are, and the runtime raises an error.
"""

from __future__ import annotations

from ..abi import STOP, STOPPED
from .values import Writer

__all__ = ["poll"]


def poll(writer: Writer, again: str, done: str) -> tuple[list[str], str]:
    """Lines that end a step: continue at the block ``again``, or at ``done`` if the program must
    stop; and the name of the block that jumps to ``done``.

    Several blocks jump to ``again``, which only jumps to the head of the loop.
    """
    word, quiet, look, answer, over = map(writer.fresh, (
        "%word", "%quiet", "look", "%answer", "%over"))
    writer.declared[STOP] = f"@{STOP} = external global i64"
    writer.declared[STOPPED] = f"declare i32 @{STOPPED}() cold"
    return [f"{word} = load atomic i64, ptr @{STOP} monotonic, align 8",
            f"{quiet} = icmp eq i64 {word}, 0",
            f"br i1 {quiet}, label %{again}, label %{look}",
            f"{look}:",
            f"{answer} = call i32 @{STOPPED}()",
            f"{over} = icmp ne i32 {answer}, 0",
            f"br i1 {over}, label %{done}, label %{again}"], look
