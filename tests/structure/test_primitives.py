"""Every primitive has its six rules, or a reason for missing ones, and a row in the cases."""

import ast
import importlib
import importlib.util

import pytest

from tests.structure.source import FILES, MODULES, NAMES, tree

RULES = ("infer", "eval", "jvp", "transpose", "batch", "lower")


def room(name):
    """A module that may not exist yet; if it exists, it must work."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is yet to be built")
    return importlib.import_module(name)


def primitives():
    """Every primitive that the package defines, by name."""
    registry = room("tanx._core.primitive").primitives
    for module in sorted(MODULES):
        if module.startswith(("tanx._ops.", "tanx._control.")):
            importlib.import_module(module)
    return {name: primitive for name, primitive in registry.items()
            if type(primitive).__module__.startswith("tanx._")}


def rule_of(primitive, rule):
    """The rule as the primitive or one of its base classes defines it, or None."""
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


def test_loops_and_calls_are_found_by_their_rules():
    """Rooms that handle every primitive use ``flow`` and ``called``; they list no names."""
    base = room("tanx._core.primitive").Primitive
    runs_functions = {name for name, primitive in primitives().items()
                      if type(primitive).flow is not base.flow
                      or type(primitive).called is not base.called}
    assert {"scan", "while", "cond", "jit"} <= runs_functions
    problems = []
    for path, name in zip(FILES, NAMES):
        if name.startswith(("tanx/_core/", "tanx/_transforms/", "tanx/_compiler/")):
            exported = {id(node) for statement in tree(path).body
                        if isinstance(statement, ast.Assign)
                        and getattr(statement.targets[0], "id", None) == "__all__"
                        for node in ast.walk(statement)}
            problems += [
                f"{name}:{node.lineno}: {text.value!r}" for node in ast.walk(tree(path))
                if isinstance(node, ast.Compare | ast.Set | ast.Tuple | ast.List | ast.Dict)
                for text in ast.iter_child_nodes(node)
                if isinstance(text, ast.Constant) and isinstance(text.value, str)
                and text.value in runs_functions and id(text) not in exported]
    assert not problems, "\n".join(problems)
