"""No unfinished code, no paths of a machine, no words of a dialect, and docstrings everywhere."""

import ast
import importlib
import re

import pytest

from tests.structure.source import FILES, NAMES, ROOT, module_of, text, tree

LEFTOVERS = {
    "a note to self": r"\b(TODO|FIXME|XXX|HACK)\b",
    "a path of some machine": r"(?<![\w.])/(home|root|Users|work|opt|tmp|mnt)/\w",
    "an import of jax": r"^\s*(import|from) jax(lib)?\b",
    "a debugger": r"\b(breakpoint\(\)|pdb\.set_trace)",
    "a named tuple that is slow to make (_base/tuples.py has another)": (
        r"^from typing import .*\bNamedTuple\b"),
    "a word that an engineer would not use": (
        r"\b(nobody|shall|lest|at hand|kin|gone through|hangs? on|what is none|thereof|as it were"
        r"|for ever|of one's own)\b"),
}

ONLY_IN_TANX = {name for name in LEFTOVERS
                if name.startswith(("an import", "a debugger", "a named tuple"))}

# Users read documents and tests, too; this file contains the patterns themselves.
OTHERS = sorted(path for pattern in ("*.md", "*.toml", "*.py", "tests/**/*.py", "docs/**/*.md")
                for path in ROOT.glob(pattern) if path.name != "test_no_leftovers.py")


@pytest.mark.parametrize("path", [*FILES, *OTHERS], ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_left_over(path):
    names = set(LEFTOVERS) if path in FILES else set(LEFTOVERS) - ONLY_IN_TANX
    found = [f"line {number}: {name}: {line.strip()}"
             for number, line in enumerate(text(path).splitlines(), 1)
             for name in sorted(names) if re.search(LEFTOVERS[name], line)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_everything_public_has_a_docstring(path):
    if not text(path).strip():
        return  # an empty file needs no docstring
    module = tree(path)
    assert ast.get_docstring(module), "the file does not say what it is for"
    public = _listed(module)
    silent = [node.name for node in module.body
              if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
              and node.name in public and not ast.get_docstring(node)
              and "overload" not in map(ast.unparse, node.decorator_list)]
    assert not silent, f"without a docstring: {silent}"


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_everything_listed_exists(path):
    if path.name == "__main__.py":
        return  # importing it runs it
    module = importlib.import_module(module_of(path))
    listed = getattr(module, "__all__", [])
    assert len(set(listed)) == len(listed), "a name is listed twice"
    lost = [name for name in listed if not hasattr(module, name)]
    assert not lost, f"listed in __all__ but not there: {lost}"


def _listed(module: ast.Module) -> set[str]:
    """The names in ``__all__``, if it is a literal."""
    for node in module.body:
        if isinstance(node, ast.Assign) and "__all__" in map(ast.unparse, node.targets):
            return set(ast.literal_eval(node.value))
    return set()
