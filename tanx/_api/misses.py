"""Why a jitted function is traced again: the reports of ``explain_cache_misses``.

A call is compared with the most similar traced call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import CodeType
from typing import Any
from weakref import WeakSet

from .._base.flags import traced_names
from .._base.logger import logger
from .._core.guards import Guards
from .._core.naming import DebugInfo
from .._core.source import user_source
from .._core.stage import Memory
from ..errors import explain, warn_user

__all__ = ["Signature", "explain_miss", "history", "warn_of_state", "why_again"]

Signature = tuple[Any, tuple, tuple, tuple, tuple]
"""The key of a trace: the tree and the types of the arguments, the static ones, the values of
options, the sizes of named axes."""

OFTEN = 8
"""The number of traces of one signature, for different states, that causes a warning."""

_codes: WeakSet[CodeType] = WeakSet()  # of functions that were explained


def explain_miss(fun: Callable, debug: DebugInfo, new: Signature, known: Memory) -> None:
    """Log why ``fun`` is traced for ``new``, given the earlier traces."""
    olds = [key for key in [*known] if type(key) is tuple and len(key) == len(new)]
    if kept := known.get(new):
        facts = _changed_state(kept)
        rule = f"{debug.function} is traced again: Python state that it reads has changed."
    elif olds:
        facts = _differences(debug, new, min(olds, key=lambda old: _distance(new, old)))
        rule = f"{debug.function} is traced again: no earlier call had these arguments."
    else:
        facts = ["it was never traced before."]
        code = getattr(fun, "__code__", None)
        if code in _codes:
            facts = ["the same code was traced as another function object.",
                     "define the function once, outside of loops, to trace it once."]
        elif code is not None:
            _codes.add(code)
        rule = f"{debug.function} is traced."
    place = [f"defined at {debug.source}"] if debug.source else []
    logger().warning("%s", explain("tanx.jit", rule, f"called at  {user_source()}", *place, *facts))


def why_again(debug: DebugInfo, new: Signature, known: Memory) -> list[str]:
    """How a call differs from the one that was traced last; empty if there was none."""
    if kept := known.get(new):
        return _changed_state(kept)
    # Copied atomically: another thread may clear it, or add to it, meanwhile.
    last = next((key for key in reversed([*known]) if type(key) is tuple and len(key) == len(new)),
                None)
    return [] if last is None else _differences(debug, new, last)


def warn_of_state(debug: DebugInfo, new: Signature, known: Memory) -> None:
    """Warn of a function that is traced repeatedly because state that it reads changes."""
    kept = known.get(new, ())
    if len(kept) == OFTEN:
        warn_user(explain(
            "tanx.jit", f"{debug.function} was traced {OFTEN} times for arguments of the same "
            "types, because state that it reads changes.", *_changed_state(kept),
            hint="pass what changes as an argument, so that the function is compiled once."))


def _changed_state(kept: tuple[tuple[Guards, Any], ...]) -> list[str]:
    """The differences from the state of the last trace of a signature."""
    guards, _ = kept[0]
    return _changes(guards)


def _changes(guards: Guards) -> list[str]:
    """The differences between the present state and the one that guards describe."""
    return [f"{name}: now {now!r:.60}, before {before!r:.60}"
            for name, now, before in guards.changes()]


def history(debug: DebugInfo, tree: Any, known: Memory) -> list[tuple[Signature, str, list[str]]]:
    """The signatures that a function was traced for, in order: each as text, and why it was new.

    ``debug`` has the names of the arguments in containers like ``tree``. A signature occurs once
    for each state in which it was traced, with the differences of that state from the current one.
    """
    signatures = [key for key in [*known] if type(key) is tuple and len(key) == 5]
    found = []
    for number, new in enumerate(signatures):
        containers, types, static, _, _ = new
        named = containers == tree
        words = [f"{debug.arg_names[n] if named else f'#{n}'}: {_type(aval)}"
                 for n, aval in enumerate(types)]
        words += [f"{where}={value!r}" for where, _, value in static]
        # Of several calls that differ equally little, the last one.
        nearest = min(signatures[:number][::-1], key=partial(_distance, new), default=None)
        reasons = [] if nearest is None else _differences(debug, new, nearest)
        found.append((new, ", ".join(words), reasons))
        for guards, _ in known.get(new, ())[:0:-1]:
            found.append((new, ", ".join(words), _changes(guards) or ["its state changed"]))
    return found


def _distance(new: Signature, old: Signature) -> int:
    """The number of differences between two signatures; each attribute of a type counts."""
    tree, types, static, options, axes = zip(new, old)
    if tree[0] != tree[1]:
        return 1000 + (axes[0] != axes[1])
    attributes = ("shape", "dtype", "weak_type")
    return sum(getattr(a, name, None) != getattr(b, name, None)
               for a, b in zip(*types) for name in attributes) + sum(
        a != b for pair in (static, options) for a, b in zip(*pair)) + (axes[0] != axes[1])


def _differences(debug: DebugInfo, new: Signature, old: Signature) -> list[str]:
    """The differences of two signatures, one per line."""
    tree, types, static, options, axes = zip(new, old)
    facts = []
    if tree[0] != tree[1]:
        facts.append(f"arguments are other containers: now {tree[0]}, before {tree[1]}")
    else:
        facts += [f"{name}: now {now}, before {before}" for name, now, before in zip(
            debug.arg_names, map(_type, types[0]), map(_type, types[1])) if now != before]
    facts += _static(*static)
    facts += [f"option {name}: now {now!r}, before {before!r}"
              for name, now, before in zip(traced_names(), *options) if now != before]
    if axes[0] != axes[1]:
        facts.append(f"named axes: now {dict(axes[0])}, before {dict(axes[1])}")
    return facts


def _type(aval) -> str:
    name = aval.str_short(True) if hasattr(aval, "str_short") else str(aval)
    return f"{name}{', weakly typed' if getattr(aval, 'weak_type', False) else ''}"


def _static(now: Sequence[tuple], before: Sequence[tuple]) -> list[str]:
    """The differences of static arguments; each is a triple of position, type and value."""
    values = {where: value for where, _, value in before}
    facts = []
    for where, _, value in now:
        if (where, type(value), value) not in before:
            old = f", before {values[where]!r}" if where in values else ""
            facts.append(f"static argument {where}: now {value!r}{old}")
    return facts
