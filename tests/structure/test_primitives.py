"""Every primitive has its six rules, or says why not, and a row in the table of cases."""

import importlib
import importlib.util

import pytest

from tests.structure.source import MODULES

RULES = ("infer", "eval", "jvp", "transpose", "batch", "lower")


def room(name):
    """A module that may not have been built yet; once it is there it must work."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is yet to be built")
    return importlib.import_module(name)


def primitives():
    """Every primitive that is written in the package, by name."""
    registry = room("tanx._core.primitive").primitives
    for module in sorted(MODULES):
        if module.startswith(("tanx._ops.", "tanx._control.")):
            importlib.import_module(module)
    return {name: primitive for name, primitive in registry.items()
            if type(primitive).__module__.startswith("tanx._")}


def rule_of(primitive, rule):
    """The rule as the primitive or one of its families states it; None if nobody does."""
    base = room("tanx._core.primitive").Primitive
    for place in (primitive, *type(primitive).__mro__):
        if place is base:
            return None
        if rule in vars(place):
            return vars(place)[rule]
    return None


def test_every_primitive_has_its_six_rules():
    never = room("tanx._core.linear").Never
    problems = []
    for name, primitive in primitives().items():
        for rule in RULES:
            stated = rule_of(primitive, rule)
            if isinstance(stated, never):
                if not stated.reason.strip():
                    problems.append(f"{name}: {rule} is never, without a reason")
            elif stated is None:
                problems.append(f"{name}: no {rule}")
    assert not problems, "\n".join(problems)


def test_every_primitive_has_a_kind_and_a_docstring():
    kind = room("tanx._core.primitive").Kind
    problems = [name for name, primitive in primitives().items()
                if not isinstance(getattr(primitive, "kind", None), kind)
                or not type(primitive).__doc__]
    assert not problems, "\n".join(problems)


def test_every_primitive_has_a_case():
    cases = {case.primitive for case in room("tests.cases").CASES}
    known = set(primitives())
    assert not known - cases, f"no row in tests/cases: {sorted(known - cases)}"
    assert not cases - known, f"rows of unknown primitives: {sorted(cases - known)}"
