"""Effects: what an equation does besides computing its results.

An effect is a plain object in an equation's ``effects`` set. Equations with effects are never
dropped, merged or moved across one another when their effect is ordered.
"""

from collections.abc import Set

__all__ = ["AccumEffect", "AllocateEffect", "DebugEffect", "Effect", "Effects", "IOEffect",
           "NamedAxisEffect", "OrderedDebugEffect", "OrderedIOEffect", "ReadEffect", "RefEffect",
           "WriteEffect", "has_ref_effects", "no_effects"]


class Effect:
    """Base of all effects.

    ``ordered`` effects happen in program order. An effect that is not ``observable`` only ties an
    equation to its surroundings: the equation may be dropped when its results are not read.
    """

    ordered = False
    observable = True


class _Plain(Effect):
    """An effect without parts: all instances of a class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return type(self).__name__.removesuffix("Effect")


class IOEffect(_Plain):
    """The equation calls a function that communicates with the outside world."""


class OrderedIOEffect(_Plain):
    """As :class:`IOEffect`, in program order."""

    ordered = True


class DebugEffect(_Plain):
    """The equation shows something to the programmer."""


class OrderedDebugEffect(_Plain):
    """As :class:`DebugEffect`, in program order."""

    ordered = True


class NamedAxisEffect(Effect):
    """The equation uses the named axis ``name`` of a surrounding map."""

    observable = False

    def __init__(self, name):
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedAxisEffect) and self.name == other.name

    def __hash__(self) -> int:
        return hash((NamedAxisEffect, self.name))

    def __repr__(self) -> str:
        return f"NamedAxisEffect({self.name})"


class RefEffect(_Plain):
    """The equation involves references; see :mod:`tanx._core.refs`."""

    ordered = True


class ReadEffect(RefEffect):
    """The equation reads a reference."""

    observable = False


class WriteEffect(RefEffect):
    """The equation writes to a reference."""


class AccumEffect(RefEffect):
    """The equation adds to a reference."""


class AllocateEffect(RefEffect):
    """The equation creates a reference, or ends its life."""

    observable = False


def has_ref_effects(effects: frozenset[Effect]) -> bool:
    """Whether some effects include one on references."""
    return any(isinstance(effect, RefEffect) for effect in effects)


Effects = Set[Effect]
no_effects: frozenset[Effect] = frozenset()
