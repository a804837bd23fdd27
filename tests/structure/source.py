"""The package as text: its files, their syntax trees, and what they import."""

import ast
import functools
import io
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "tanx").rglob("*.py"))
NAMES = [str(path.relative_to(ROOT)) for path in FILES]


@functools.cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path), str(path))


def module_of(path: Path) -> str:
    """The dotted name of a file: ``tanx/_ops/arith.py`` is ``tanx._ops.arith``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path) for path in FILES} | {
    ".".join(path.relative_to(ROOT).parts) for path in (ROOT / "tanx").rglob("*")
    if path.is_dir() and path.name != "__pycache__"}


def imports(module: str, is_package: bool, syntax: ast.AST, modules: set[str]):
    """Every ``(line, imported module)`` of a file, including imports inside functions.

    Relative names are resolved; ``from .. import lax`` imports ``tanx.lax`` when that is a module
    and ``tanx`` when it is not. Imports by a name in a string count as well.
    """
    for node in ast.walk(syntax):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, is_package, node.level, node.module or "")
            targets = (f"{base}.{alias.name}" for alias in node.names)
            for target in {full if full in modules else base for full in targets}:
                yield node.lineno, target
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
            name = node.args[0] if node.args else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                level = len(name.value) - len(name.value.lstrip("."))
                yield node.lineno, _absolute(module, is_package, level, name.value.lstrip("."))


def _absolute(module: str, is_package: bool, level: int, name: str) -> str:
    if level == 0:
        return name
    parts = module.split(".")
    parts = parts[:len(parts) - level + is_package]
    return ".".join([*parts, *([name] if name else [])])


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def code_lines(syntax: ast.AST, source: str) -> set[int]:
    """The numbers of the lines of ``source`` with code: no comments, docstrings or blank lines."""
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
               tokenize.ENCODING, tokenize.ENDMARKER)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(syntax):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            lines.difference_update(range(node.lineno, node.end_lineno + 1))
    return lines
