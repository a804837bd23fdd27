"""Which names of JAX a library uses that tanx lacks, found by reading the library's source.

Nothing of the library is imported or run. A name counts where it is written out: in an import, or
as attributes of a module of JAX (``jnp.linalg.qr`` after ``import jax.numpy as jnp``).
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from ..errors import explain
from ._finder import install, is_installed, target_of

__all__ = ["gaps", "report", "names_in"]

ROOTS = ("jax", "jaxlib")


def names_in(source: str) -> Iterator[tuple[str, int]]:
    """The dotted names of JAX that a source text uses, each with its line.

    >>> sorted(set(names_in("import jax.numpy as jnp\\njnp.linalg.qr(x)")))
    [('jax.numpy', 1), ('jax.numpy.linalg.qr', 2)]
    """
    tree = ast.parse(source)
    known: dict[str, str] = {}  # what local names refer to
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.partition(".")[0] in ROOTS:
                    yield name.name, node.lineno
                    local = name.asname or name.name.partition(".")[0]
                    known[local] = name.name if name.asname else local
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            if node.module.partition(".")[0] in ROOTS:
                for name in node.names:
                    full = node.module if name.name == "*" else f"{node.module}.{name.name}"
                    yield full, node.lineno
                    known[name.asname or name.name] = full
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            spelt = _dotted(node, known)
            if spelt is not None:
                yield spelt, node.lineno


def _dotted(node: ast.Attribute, known: dict[str, str]) -> str | None:
    """The name that a chain of attributes spells, if it begins with a module of JAX."""
    parts: list[str] = []
    at: ast.expr = node
    while isinstance(at, ast.Attribute):
        parts.append(at.attr)
        at = at.value
    if not isinstance(at, ast.Name) or at.id not in known:
        return None
    return ".".join([known[at.id], *reversed(parts)])


def is_missing(name: str) -> bool:
    """Whether tanx lacks a name of JAX; attributes of what is no module are not looked at."""
    module, *rest = name.split(".")
    value: Any = importlib.import_module(module)
    for part in rest:
        if not isinstance(value, ModuleType):
            return False
        try:
            value = getattr(value, part)
        except AttributeError:
            module = f"{value.__name__}.{part}"
            if target_of(module) is None:
                return True
            try:
                value = importlib.import_module(module)
            except ImportError:
                return True
    return False


def sources(library: str) -> list[str]:
    """The Python files of an installed library, or of a folder."""
    if os.path.isdir(library):
        roots = [library]
    else:
        spec = importlib.util.find_spec(library)
        if spec is None:
            raise ImportError(explain(
                "tanx.as_jax --gaps", f"there is no library {library!r} in this environment.",
                hint="Give the name that it is imported by, or a folder with its source."))
        if not spec.submodule_search_locations:
            return [spec.origin] if spec.origin else []
        roots = list(spec.submodule_search_locations)
    return sorted(os.path.join(folder, name) for root in roots
                  for folder, _, names in os.walk(root) for name in names if name.endswith(".py"))


def gaps(library: str) -> dict[str, list[str]]:
    """The names that tanx lacks, and the places (file and line) that use them."""
    if not is_installed():
        install(shadow=True)
    found: dict[str, list[str]] = {}
    files = sources(library)
    root = os.path.commonpath([os.path.dirname(f) for f in files]) if files else ""
    for path in files:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        try:
            names = list(names_in(text))
        except SyntaxError as error:
            print(f"{path} is left out: {error}", file=sys.stderr)
            continue
        for name, line in names:
            found.setdefault(name, []).append(f"{os.path.relpath(path, root)}:{line}")
    return {name: places for name, places in sorted(found.items()) if is_missing(name)}


def report(libraries: Iterable[str]) -> str:
    """The report for a user who asks about some libraries."""
    lines = []
    for library in libraries:
        missing = gaps(library)
        count = "1 name of JAX is" if len(missing) == 1 else f"{len(missing)} names of JAX are"
        lines.append(f"{library}: " + (f"{count} missing in tanx" if missing
                                       else "tanx has every name of JAX that it uses"))
        for name, places in missing.items():
            more = f" and {len(places) - 3} more" if len(places) > 3 else ""
            lines.append(f"  {name:<50} {', '.join(places[:3])}{more}")
    return "\n".join(lines)
