"""A checker of StableHLO text that needs no other compiler.

It checks names and types, not operations: a value is defined once, before its uses and in a block
around them; every use repeats its type; functions that are called exist and have the types of the
call; braces match.
"""

from __future__ import annotations

import re

VALUE = re.compile(r"%\w+(?:#\d+)?")
TYPE = re.compile(r"tensor<[^<>]*(?:<[^<>]*>)?>|!stablehlo\.token")
ARGUMENT = re.compile(rf"({VALUE.pattern}): ({TYPE.pattern})")
CARRIED = re.compile(r"(%iterArg\w*) = (%[\w#]+)")
FUNCTION = re.compile(r"func\.func \w+ @([\w.-]+)\((.*?)\)(?: -> (.*))? \{$")
CALL = re.compile(r"call @([\w.-]+)\(.*?\) : \((.*)\) -> (.*)$")


def check(text: str) -> int:
    """Raise an AssertionError at the first wrong line; return the number of operations."""
    return _Checker(text).operations


class _Checker:
    """The open scopes, each with the types of its values and of its results."""

    def __init__(self, text: str):
        lines = [re.sub(r" loc\(.*\)$", "", line.strip()) for line in text.splitlines()]
        functions = [m for m in map(FUNCTION.match, lines) if m]
        self.signatures = {m[1]: (TYPE.findall(m[2]), TYPE.findall(m[3] or "")) for m in functions}
        assert len(self.signatures) == len(functions) and "main" in self.signatures
        self.scopes: list[dict[str, str]] = []
        self.pending: list[tuple[list[str], list[str]]] = []
        self.operations = 0
        for line in lines:
            try:
                self.line(line)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{line}") from None
        assert not self.scopes, "a brace is not closed"

    def line(self, line: str) -> None:
        if line.startswith("}"):
            self.scopes.pop()
            results, types = self.pending.pop()
            if line.endswith("{"):  # another region of the same operation
                self.open(results, types)
            elif line.startswith("})"):
                given = TYPE.findall(line.partition(" -> ")[0])
                assert given == types, f"operands are {types}"
                self.define(results, line)
        elif line.startswith(("module", "func.func", "cond {")):
            self.open()
            if not line.startswith("cond {"):
                self.scopes[-1].update(ARGUMENT.findall(line))
        elif line.startswith("^bb0"):
            self.scopes[-1].update(ARGUMENT.findall(line))
        elif line:
            self.operation(line)

    def open(self, results: list[str] | None = None, types: list[str] | None = None) -> None:
        """Begin a region of an operation with results, on operands of some types."""
        self.scopes.append({})
        self.pending.append((results or [], types or []))

    def operation(self, line: str) -> None:
        self.operations += 1
        match = re.match(r"(%\w+)(?::(\d+))? = (.*)$", line)
        name, count, operation = match.groups() if match else ("", None, line)
        results = ([f"{name}#{n}" for n in range(int(count))] if count else [name]) if name else []
        carried = CARRIED.findall(operation) if operation.startswith("stablehlo.while") else []
        used = [outer for _, outer in carried] or VALUE.findall(operation)
        types = [self.type(name) for name in used]
        if not line.endswith("{"):
            self.use(types, operation)
        self.scopes[-1].update((inner, self.type(outer)) for inner, outer in carried)
        call = CALL.search(operation)
        if call:
            given, made = self.signatures[call[1]]
            assert TYPE.findall(call[2]) == given and TYPE.findall(call[3]) == made, "a wrong call"
        if line.endswith("{"):
            self.open(results, types)
        else:
            self.define(results, operation)

    def type(self, name: str) -> str:
        found = [scope[name] for scope in self.scopes if name in scope]
        assert found, f"{name} is not defined"
        return found[0]

    def use(self, types: list[str], operation: str) -> None:
        """Check that operands have the types that the operation repeats."""
        listed = TYPE.findall(operation.rpartition(" : ")[2].partition(" -> ")[0])
        if " -> " in operation or operation.startswith(("return", "stablehlo.return",
                                                        "stablehlo.while")):
            assert types == listed, f"operands are {types}"
        elif "stablehlo.select " in operation:
            assert types == [listed[0], listed[1], listed[1]], f"operands are {types}"
        elif types and listed:
            assert set(types) == set(listed), f"operands are {types}"

    def define(self, names: list[str], operation: str) -> None:
        """Give results the types after the arrow, or the last type."""
        arrow = " -> " in operation
        types = TYPE.findall(operation.rpartition(" -> " if arrow else " : ")[2])
        types = types if len(names) == len(types) else types[-1:] * len(names)
        for name, type in zip(names, types, strict=True):
            assert all(name not in scope for scope in self.scopes), f"{name} is defined twice"
            self.scopes[-1][name] = type
