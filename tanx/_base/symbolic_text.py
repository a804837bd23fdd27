"""Symbolic sizes from their text, such as ``2*a + floordiv(b, 2) - 1``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

__all__ = ["MOST_NESTED", "Operations", "parse"]

Dim = Any  # int or DimExpr
Operations = Mapping[str, Callable[[Dim, Dim], Dim]]

_TOKEN = r"\s*(?:([A-Za-z_]\w*)|(\d{1,18})|([-+*^(),]))"
MOST_NESTED = 50
"""Limit of nested parentheses, so that a deep text is an error, not a crash."""


def parse(text: str, variable: Callable[[str], Dim], operations: Operations) -> Dim:
    """The size that a text describes; ValueError if it does not describe one.

    ``variable`` makes a size from a name; ``operations`` are functions that the text may call.
    """
    parser = _Parser(text, variable, operations)
    found = parser.sum()
    if parser.text[parser.at:].strip():
        parser.fail("an operator")
    return found


class _Parser:
    """Reads ``[-] term {(+ | -) term}`` with terms made by ``*`` and ``^``."""

    def __init__(self, text: str, variable: Callable[[str], Dim], operations: Operations):
        self.text, self.at, self.depth = text, 0, 0
        self.variable, self.operations = variable, operations

    def fail(self, expected: str) -> NoReturn:
        raise ValueError(f"{expected} expected in {self.text!r}, at {self.text[self.at:]!r}")

    def token(self) -> re.Match[str] | None:
        return re.compile(_TOKEN).match(self.text, self.at)

    def takes(self, sign: str) -> bool:
        found = self.token()
        if found is None or found[3] != sign:
            return False
        self.at = found.end()
        return True

    def sum(self) -> Dim:
        self.depth += 1
        if self.depth > MOST_NESTED:
            self.fail("less nesting")
        found = -self.product() if self.takes("-") else self.product()
        while True:
            if self.takes("+"):
                found = found + self.product()
            elif self.takes("-"):
                found = found - self.product()
            else:
                self.depth -= 1
                return found

    def product(self) -> Dim:
        found = self.power()
        while self.takes("*"):
            found = found * self.power()
        return found

    def power(self) -> Dim:
        found = self.atom()
        if self.takes("^"):
            token = self.token()
            if token is None or not token[2] or int(token[2]) > 64:
                self.fail("an exponent")
            self.at = token.end()
            return found ** int(token[2])
        return found

    def atom(self) -> Dim:
        token = self.token()
        if token is None or token[3]:
            self.fail("a name or a number")
        self.at = token.end()
        if token[2]:
            return int(token[2])
        if token[1] not in self.operations or not self.takes("("):
            return self.variable(token[1])
        first = self.sum()
        if not self.takes(","):
            self.fail("a comma")
        second = self.sum()
        if not self.takes(")"):
            self.fail("a parenthesis")
        try:
            return self.operations[token[1]](first, second)
        except ZeroDivisionError:
            self.fail("a divisor other than 0")
