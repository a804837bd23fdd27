"""Effects: what an equation does besides giving its results.

An effect is a plain object in an equation's ``effects`` set. Equations with effects are never
dropped, merged or moved across one another when their effect is ordered.
"""

__all__ = ["Effect", "NamedAxisEffect", "no_effects"]


class Effect:
    """Base of all effects.

    ``ordered`` effects happen in program order. An effect that is not ``observable`` only ties an
    equation to its surroundings: the equation may be dropped when nobody reads its results.
    """

    ordered = False
    observable = True


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


no_effects: frozenset[Effect] = frozenset()
