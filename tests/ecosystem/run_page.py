"""Runs the cells of one page in this process, as a notebook would.

    python run_page.py CELLS.json OUTCOMES.json SECONDS [--as-jax]

Run by the interpreter of one environment or the other: with ``--as-jax`` the name jax means tanx.
Cells share their names. A cell shows its printed output, then the ``repr`` of its last expression,
or the exception that it raises. Exceptions that it catches are recorded as well, because their
messages may be printed. The names jax, jnp, lax and np are defined from the start.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
import random
import re
import signal
import sys
import types
import warnings


class TooLong(BaseException):
    """A cell exceeded its time limit."""


def plain(source: str) -> str:
    """A cell without the magic commands of notebooks: code to be timed runs once."""
    lines = []
    for line in source.split("\n"):
        timed = re.match(r"^(\s*)%%?(?:timeit|time)\b(?:\s+-\w+\s*\d*)*\s*(.*)$", line)
        if timed:
            line = timed[1] + timed[2]
        elif re.match(r"^\s*(%|!)", line):
            line = ""
        lines.append(line)
    return "\n".join(lines)


class Watched(ast.NodeTransformer):
    """Rewrites ``except X as e`` to call ``__caught__(e)`` first."""

    def visit_ExceptHandler(self, node):
        self.generic_visit(node)
        if node.name:
            call = ast.parse(f"__caught__({node.name})").body
            for part in ast.walk(call[0]):
                ast.copy_location(part, node)
            node.body[:0] = call
        return node


def evaluate(source: str, name: str, names: dict) -> None:
    """Run a cell; print the value of its last expression, if it has one."""
    source = plain(source)
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    body = Watched().visit(ast.parse(source, name)).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), name, "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), name, "eval"), names)
        if value is not None and not source.rstrip().endswith(";"):
            print(repr(value))


def outcome(source: str, name: str, names: dict, seconds: int) -> dict:
    """The outcome of a cell: its text, and the class and message of its exception."""
    def stop(*_):
        raise TooLong

    shown, error, message, caught = io.StringIO(), "", "", []
    names["__caught__"] = lambda raised: caught.append(
        [type(raised).__name__, str(raised), [base.__name__ for base in type(raised).__mro__]])
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of processor time, as machines may be busy
    with contextlib.redirect_stdout(shown), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            evaluate(source, name, names)
            if "jax" in sys.modules:
                sys.modules["jax"].effects_barrier()
        except TooLong:
            error = "TooLong"
        except BaseException as raised:
            error, message = type(raised).__name__, str(raised)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return {"text": shown.getvalue(), "error": error, "message": message, "caught": caught}


def main(cells: str, outcomes: str, seconds: str, *options: str) -> None:
    if "--as-jax" in options:
        import tanx.as_jax
        tanx.as_jax.install(shadow=True)
    import jax
    import jax.numpy as jnp
    import numpy as np
    np.random.seed(0)  # after the import of JAX, which draws random numbers
    random.seed(0)
    page = sys.modules["__main__"] = types.ModuleType("__main__")
    page.__dict__.update(jax=jax, jnp=jnp, lax=jax.lax, np=np)
    with open(cells, encoding="utf-8") as file:
        sources = json.load(file)
    for n, source in enumerate(sources):
        found = outcome(source, f"<cell {n}>", page.__dict__, int(seconds))
        with open(outcomes, "a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
