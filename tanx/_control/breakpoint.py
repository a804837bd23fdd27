"""``tanx.debug.breakpoint``: a prompt in the middle of a transformed or compiled function.

When the function is traced, the frames of the user's code are recorded, with the values of their
variables; traced values among them become operands of a callback. When the callback runs, it shows
them with their data.
"""

from __future__ import annotations

import bdb
import cmd
import linecache
import pprint
from dataclasses import dataclass
from types import FrameType
from typing import Any

from .. import tree_util
from .._core.trace import Tracer, context
from .._core.types import is_arraylike
from ..errors import explain, user_frame
from .callback import FlatCallback, debug_callback_p, debug_effect, words_of_keys

__all__ = ["breakpoint"]


@dataclass(frozen=True)
class Frame:
    """A frame of the user's code, as it was when the function was traced."""

    file: str
    line: int
    function: str
    variables: dict[str, Any]
    names: dict[str, Any]  # of its module

    def source(self, around: int = 6) -> str:
        """The lines around the current one, which is marked with an arrow."""
        shown = []
        for n in range(max(1, self.line - around), self.line + around + 1):
            text = linecache.getline(self.file, n).rstrip()
            shown.append(f"{'->' if n == self.line else '  '}  {text}".rstrip())
        while shown and not shown[-1]:
            shown.pop()
        return "\n".join([f"> {self.file}({self.line}){self.function}", *shown])


class Prompt(cmd.Cmd):
    """Reads commands until one continues the program."""

    prompt = "(tanx) "

    def __init__(self, frames: list[Frame], stdin=None, stdout=None):
        super().__init__(completekey="tab", stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None
        self.frames, self.position = frames, 0

    def run(self) -> None:
        """Read commands, until one continues the program."""
        self.say("Stopped in a function of tanx; help lists the commands.")
        self.do_list("")
        self.cmdloop()

    def say(self, text: str) -> None:
        self.stdout.write(text + "\n")
        self.stdout.flush()

    def value(self, expression: str) -> Any:
        frame = self.frames[self.position]
        return eval(expression, frame.names, frame.variables)

    def show(self, expression: str, text) -> None:
        try:
            self.say(text(self.value(expression)))
        except Exception as error:  # whatever the user's expression raises
            self.say(f"*** {type(error).__name__}: {error}")

    def default(self, line: str) -> None:
        """Any other input: the value of an expression."""
        self.show(line.removeprefix("!"), repr)

    def emptyline(self) -> bool:
        return False

    def do_p(self, arg: str) -> None:
        """p expression: its value, with the variables of the frame."""
        self.show(arg, repr)

    def do_pp(self, arg: str) -> None:
        """pp expression: its value over several lines."""
        self.show(arg, pprint.pformat)

    def do_list(self, arg: str) -> None:
        """list: the lines around the current one."""
        self.say(self.frames[self.position].source())

    def do_locals(self, arg: str) -> None:
        """locals: the variables of the frame."""
        for name, value in self.frames[self.position].variables.items():
            self.say(f"{name} = {value!r}")

    def do_up(self, arg: str) -> None:
        """up: go to the frame that called this one."""
        self.move(1, "This is the outermost frame.")

    def do_down(self, arg: str) -> None:
        """down: go to the frame that this one called."""
        self.move(-1, "This is the innermost frame.")

    def move(self, step: int, refusal: str) -> None:
        if 0 <= self.position + step < len(self.frames):
            self.position += step
            self.do_list("")
        else:
            self.say(refusal)

    def do_where(self, arg: str) -> None:
        """where: the frames, outermost first."""
        for n, frame in reversed(list(enumerate(self.frames))):
            mark = "->" if n == self.position else "  "
            self.say(f"{mark} {frame.file}({frame.line}){frame.function}\n"
                     f"     {linecache.getline(frame.file, frame.line).strip()}")

    def do_continue(self, arg: str) -> bool:
        """continue: continue the program."""
        return True

    def do_quit(self, arg: str) -> None:
        """quit: end the program, with bdb.BdbQuit."""
        raise bdb.BdbQuit

    do_l, do_u, do_d, do_c, do_q = do_list, do_up, do_down, do_continue, do_quit
    do_w = do_bt = do_where
    do_cont = do_EOF = do_continue
    do_exit = do_quit


def breakpoint(*, backend: str | None = None, filter_frames: bool = True,
               num_frames: int | None = None, ordered: bool = False, token=None, **kwargs):
    """Stop here when the function runs, also as compiled code, and ask for commands.

    The prompt shows the user's line and the variables of its frame and of the frames around it;
    traced values are shown with their data. ``help`` lists the commands. ``num_frames`` limits the
    number of frames, ``filter_frames=False`` keeps frames of tanx as well. ``stdin`` and ``stdout``
    are files to use instead of the terminal. ``token`` is a value to wait for, which is returned.

    >>> import io
    >>> screen = io.StringIO()
    >>> def f(x):
    ...     tanx.debug.breakpoint(stdin=io.StringIO("p x\\nc\\n"), stdout=screen)
    ...     return x + 1
    >>> tanx.jit(f)(2.0)
    Array(3., dtype=float32, weak_type=True)
    """
    files = {name: kwargs.pop(name, None) for name in ("stdin", "stdout")}
    if kwargs or backend not in (None, "cli"):
        raise ValueError(explain(
            "tanx.debug.breakpoint", "the only debugger is the command line.",
            f"backend: {backend!r}", f"options: {', '.join(kwargs) or 'none'}",
            hint="options are stdin and stdout."))
    frames = _frames(filter_frames, num_frames)
    leaves, in_tree = tree_util.tree_flatten([frame.variables for frame in frames])
    traced = [n for n, x in enumerate(leaves) if isinstance(x, Tracer)]

    def stop(*values):
        known = dict(zip(traced, values))
        variables = tree_util.tree_unflatten(
            in_tree, [known.get(n, x) for n, x in enumerate(leaves)])
        Prompt([Frame(f.file, f.line, f.function, v, f.names)
                for f, v in zip(frames, variables)], **files).run()

    operands = [leaves[n] for n in traced] + tree_util.tree_leaves(token)
    flat_tree = tree_util.tree_structure((tuple(operands), {}))
    operands, keys = words_of_keys(operands)
    debug_callback_p.bind(*operands, callback=FlatCallback(stop, flat_tree, keys=keys),
                          effect=debug_effect(ordered), partitioned=False)
    return token


def _frames(users_only: bool, most: int | None) -> list[Frame]:
    """The frames on the stack from the user's line outwards."""
    found: list[Frame] = []
    frame: FrameType | None = user_frame()
    package = __name__.partition(".")[0]
    while frame is not None and (most is None or len(found) < most):
        ours = frame.f_globals.get("__name__", "").partition(".")[0] == package
        if not (users_only and ours):
            at_module = frame.f_locals is frame.f_globals
            found.append(Frame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name,
                               {} if at_module else _variables(frame), frame.f_globals))
        frame = frame.f_back
    return found


def _variables(frame: FrameType) -> dict[str, Any]:
    """The variables of a frame, without traced values, which are useless here."""
    usable = {}
    for name, value in frame.f_locals.items():
        leaves = tree_util.tree_leaves(value)
        if all(_alive(x) for x in leaves if isinstance(x, Tracer)):
            usable[name] = value
        else:
            usable[name] = repr(value)
    return usable


def _alive(tracer: Tracer) -> bool:
    trace = context.trace
    return is_arraylike(tracer) and (trace.owns(tracer) or trace.stands_on(tracer))
