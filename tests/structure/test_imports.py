"""Imports only go down, including those inside functions."""

import ast

import pytest

from tests.structure.source import FILES, MODULES, NAMES, imports, module_of, tree

# Each room and the rooms that it may import besides itself. A room means all its files; a name with
# a dot means one file, on either side.
LEAVES = {"_base", "errors", "dtypes", "tree_util", "version"}
CORE = LEAVES | {"_core"}
OPS = CORE | {"_loops", "_ops"}
LEFT = OPS | {"_transforms", "_control"}
RIGHT = OPS | {"_compiler", "_runtime"}
MACHINE = LEFT | RIGHT | {"_api", "_explain", "_export", "_extend", "_profile"}
LIBRARY = LEAVES | {"lax", "_api", "_control.custom_jvp", "_control.custom_vjp",
                    "_control.custom_vmap"}
ROOMS = {
    **dict.fromkeys(LEAVES, LEAVES),
    "_core": LEAVES,
    "_loops": LEAVES,
    "_ops": OPS,
    "_transforms": OPS,
    "_control": OPS | {"_transforms"},
    "_compiler": OPS,
    "_runtime": OPS | {"_compiler"},
    "_export": LEFT | {"_extend.calls"},  # its primitives may be in programs
    "_api": LEFT | RIGHT | {"_export"},
    "_extend": LEFT | RIGHT,
    "_profile": RIGHT,
    "_explain": LEFT | RIGHT | {"_api"},
    "lax": LEFT,
    # Library rooms are written like users' code.
    "numpy": LIBRARY,
    "numpy._promotion": LIBRARY | {"_core", "_ops"},  # called for every operand: must be fast
    "numpy._bounds": LIBRARY | {"_control.bounds"},  # a check that stops programs
    "random": LIBRARY | {"numpy", "_ops.rng", "_ops.random_gamma"},
    "nn": LIBRARY | {"numpy", "random"},
    "ops": LIBRARY | {"numpy"},
    "typing": CORE,
    "image": LIBRARY | {"numpy"},
    "scipy": LIBRARY | {"numpy", "random", "nn", "ops", "_ops.probability"},
    "scipy.linalg._tridiagonal": LIBRARY | {"numpy", "_ops.matrix_forms"},  # has a primitive
    "scipy.special._gamma": LIBRARY | {"numpy", "_control.custom"},  # uses symbolic zeros
    "example_libraries": LIBRARY | {"numpy", "random", "nn"},
}
# Windows, tools that inspect private rooms, and experiments may import everything below and the
# library. The tour and the alias are users.
WINDOWS = {
    "ad", "ad_checkpoint", "api_util", "as_jax", "checkpoint_policies", "core", "custom_batching",
    "custom_derivatives", "debug", "distributed", "dlpack", "explain", "export", "extend",
    "experimental", "ffi", "flatten_util", "interpreters", "lib", "memory", "monitoring",
    "profiler", "ref", "sharding", "stages", "test_util", "tree", "typing"}
ROOMS |= dict.fromkeys(WINDOWS, MACHINE | WINDOWS | set(ROOMS))
EVERYTHING = {"", "__main__", "as_jax"}

STRANGERS = {"jax", "jaxlib"}

# ``from .. import dtypes`` means the room, even if it does not exist yet.
KNOWN = MODULES | {f"tanx.{room}" for room in ROOMS}


def room_of(module: str) -> str:
    """``tanx._ops.arith`` is in the room ``_ops``; ``tanx`` itself is the room without a name."""
    return ".".join(module.split(".")[1:2])


def allowed(importer: str, imported: str) -> bool:
    """Whether the table allows one module of tanx to import another."""
    home, away = room_of(importer), room_of(imported)
    if home == away and away or home in EVERYTHING:
        return True
    within = imported.partition(".")[2]
    entries = ROOMS.get(importer.partition(".")[2]) or ROOMS.get(home, ())
    return any(within == entry or within.startswith(entry + ".") for entry in entries)


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_imports_go_down(path):
    module = module_of(path)
    assert room_of(module) in ROOMS or room_of(module) in EVERYTHING, (
        f"{module} is in no room of the table")
    wrong = []
    for line, imported in imports(module, path.name == "__init__.py", tree(path), KNOWN):
        top = imported.partition(".")[0]
        if top in STRANGERS or (top == "tanx" and not allowed(module, imported)):
            wrong.append(f"line {line}: {module} may not import {imported}")
    assert not wrong, "\n".join(wrong)


def test_the_table_has_no_cycle():
    """Two rooms do not import each other, except leaves and windows."""
    for home, below in ROOMS.items():
        for entry in below - {home}:
            away = entry.partition(".")[0]
            same_floor = {home, away} <= LEAVES or {home, away} <= WINDOWS
            assert same_floor or home not in ROOMS[away], f"{home} and {away} import each other"


# The folders of the compiler, and which of them each may import. The passes, which are above, may
# import the schedule; the folders may import files next to the passes, such as ``cost.py``.
FOLDERS = {
    "": {"schedule"},
    "schedule": set(),
    "emit": {"schedule"},
    "kernels": {"schedule", "emit"},
    "emit.cpu": {"schedule", "emit", "kernels"},
}


def folder_of(module: str) -> str:
    """``tanx._compiler.emit.cpu.rows`` is in the folder ``emit.cpu``, a pass in ``""``."""
    inside = module.removeprefix("tanx._compiler").removeprefix(".")
    return max((f for f in FOLDERS if inside == f or inside.startswith(f + ".")), key=len,
               default="")


@pytest.mark.parametrize("path", [p for p in FILES if module_of(p).startswith("tanx._compiler.")],
                         ids=lambda path: module_of(path).removeprefix("tanx."))
def test_folders_of_the_compiler_import_down(path):
    module = module_of(path)
    home = folder_of(module)
    wrong = []
    for line, imported in imports(module, path.name == "__init__.py", tree(path), KNOWN):
        away = folder_of(imported)
        if imported.startswith("tanx._compiler.") and away not in {"", home, *FOLDERS[home]}:
            wrong.append(f"line {line}: {module} may not import {imported}")
    assert not wrong, "\n".join(wrong)


# The allowed import cycles of files; CONTRIBUTING.md says why. Imports inside functions and imports
# for type checking count.
CIRCLES = {
    frozenset({"tanx._core.jaxpr", "tanx._core.show"}),
    frozenset({"tanx._export.stablehlo.control", "tanx._export.stablehlo.elementwise",
               "tanx._export.stablehlo.rules"}),
    frozenset({f"tanx.experimental.sparse.{name}" for name in (
        "_base", "_bcoo", "_bcoo_layout", "_bcoo_product", "bcsr", "transform")}),
    frozenset({"tanx._compiler.kernels.fft.bluestein", "tanx._compiler.kernels.fft.in_cache"}),
}


def circles(below: dict[str, set[str]]) -> set[frozenset[str]]:
    """The strongly connected sets of modules: each imports all others, directly or indirectly."""
    found, order, low, path = set(), {}, {}, []

    def visit(module):
        order[module] = low[module] = len(order)
        path.append(module)
        for other in below.get(module, ()):
            if other not in order:
                visit(other)
            if other in path:
                low[module] = min(low[module], low[other])
        if low[module] == order[module]:
            start = path.index(module)
            if len(path) > start + 1:
                found.add(frozenset(path[start:]))
            del path[start:]

    for module in below:
        if module not in order:
            visit(module)
    return found


def test_files_import_each_other_in_no_circle():
    below = {}
    for path in FILES:
        module = module_of(path)
        below[module] = {name for _, name in imports(module, path.name == "__init__.py",
                                                     tree(path), KNOWN)
                         if name in MODULES and name != module}
    for circle in circles(below):
        assert any(circle <= known for known in CIRCLES), (
            f"these files import each other: {', '.join(sorted(circle))}")


@pytest.mark.parametrize("below, expected", [
    ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
    ({"a": {"b"}, "b": {"a", "c"}, "c": set()}, ["ab"]),
    ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": {"d"}}, ["abc", "de"]),
    ({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": {"c"}}, ["cd"]),
])
def test_circles_are_found(below, expected):
    assert circles(below) == {frozenset(names) for names in expected}


@pytest.mark.parametrize("importer, imported, verdict", [
    ("tanx._core.trace", "tanx.errors", True),
    ("tanx._core.trace", "tanx._loops.nest", False),
    ("tanx._compiler.fuse", "tanx._transforms.jvp", False),
    ("tanx._control.scan", "tanx._transforms.jvp", True),
    ("tanx._transforms.jvp", "tanx._control.scan", False),
    ("tanx.numpy._math", "tanx.lax", True),
    ("tanx.numpy._math", "tanx._core.array", False),
    ("tanx.numpy._math", "tanx", False),
    ("tanx.random._keys", "tanx._ops.rng", True),
    ("tanx.random._keys", "tanx._ops.arith", False),
    ("tanx.errors", "tanx._core.types", False),
    ("tanx", "tanx._runtime.eager", True),
])
def test_the_table_says_what_the_diagram_says(importer, imported, verdict):
    assert allowed(importer, imported) is verdict


@pytest.mark.parametrize("module, is_package, source, imported", [
    ("tanx.numpy._math", False, "from .. import lax", "tanx.lax"),
    ("tanx.numpy._math", False, "from .. import jit", "tanx"),
    ("tanx.numpy", True, "from . import linalg", "tanx.numpy.linalg"),
    ("tanx._ops.arith", False, "from .._core.types import ShapedArray", "tanx._core.types"),
    ("tanx", True, "from ._api.jit import jit", "tanx._api.jit"),
    ("tanx._api.jit", False, "def f():\n    import tanx.numpy as jnp", "tanx.numpy"),
    ("tanx._api.jit", False, "importlib.import_module('.._runtime', 'x')", "tanx._runtime"),
])
def test_imports_are_resolved(module, is_package, source, imported):
    modules = {"tanx.lax", "tanx.numpy.linalg"}
    found = list(imports(module, is_package, ast.parse(source), modules))
    assert [name for _, name in found] == [imported]
