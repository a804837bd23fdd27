"""JAX's public names and parameters, and how much of them tanx has.

    python -m tests.structure.surface            print present and missing names
    python -m tests.structure.surface --write    update missing.json

``tests/data/surface-jax.json`` records facts about JAX: for each module (written without its root,
so the top is "") the public names, the parameters of functions as ``[name, kind, default]``, and
the members of classes. A kind is po, pk, va, ko or vk, as in ``inspect.Parameter``; a default is
absent if there is none, and "..." if it has no short form. Names in <angle brackets> mean the
attributes of an object: an array, its ``.at``, a ufunc, a tracer, the config.
"""

import argparse
import importlib
import importlib.util
import inspect
import json
import sys
import types
import warnings
from pathlib import Path

HERE = Path(__file__).parent
REFERENCE = HERE.parent / "data" / "surface-jax.json"
MISSING = HERE / "missing.json"
DIFFERENT = HERE / "different.json"
REASONS = HERE / "reasons.json"  # why names are missing, by name or prefix

KINDS = dict(zip(inspect._ParameterKind, ("po", "pk", "va", "ko", "vk")))


def load(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))


# --- what tanx has --------------------------------------------------------------------------------

def module(root: str, name: str):
    """The module ``name`` of ``root``, or the object of that name; None if there is none."""
    full = f"{root}.{name}".rstrip(".")
    try:
        spec = importlib.util.find_spec(full)
        if spec is not None and spec.has_location:
            return importlib.import_module(full)
        if spec is not None:
            return None  # a folder without files
    except ModuleNotFoundError as error:
        if not full.startswith(str(error.name)) and error.name is not None:
            raise  # the module exists, but imports one that does not
    parent, _, last = name.rpartition(".")
    return getattr(module(root, parent), last, None) if name else None


def traced(root: str):
    """A tracer of an array with three elements."""
    seen: list = []
    module(root, "").make_jaxpr(lambda x: seen.append(x) or x)(sample(root))
    return seen[0]


def sample(root: str):
    return module(root, "numpy").zeros(3, "float32")


OBJECTS = {
    "<Array>": sample,
    "<Array.at>": lambda root: sample(root).at,
    "<Array.at[...]>": lambda root: sample(root).at[0],
    "<ufunc>": lambda root: module(root, "numpy").add,
    "<Tracer>": traced,
    "<config>": lambda root: types.SimpleNamespace(**module(root, "").config.values),
}


def holder(root: str, name: str):
    """The object whose attributes section ``name`` lists; None if it does not exist."""
    if not name.startswith("<"):
        return module(root, name)
    try:
        return OBJECTS[name](root)
    except AttributeError:  # its constructor is missing, and listed as such
        return None


def has(thing, name: str) -> bool:
    """Whether ``thing`` has the attribute; a property that raises an error counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return thing is not None and (hasattr(type(thing), name) or hasattr(thing, name))


def parameters(function):
    """Its parameters in the form of the reference, or None if Python does not know them."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    rows = []
    for parameter in signature.parameters.values():
        row = [parameter.name, KINDS[parameter.kind]]
        default = parameter.default
        if default is not inspect.Parameter.empty:
            empty = type(default) is tuple and not default
            plain = default is None or isinstance(default, bool | int | float | str)
            row.append(repr(default) if plain or empty else "...")
        rows.append(row)
    return rows


# --- comparison -----------------------------------------------------------------------------------

def difference(want, got) -> str:
    """How parameters differ for a caller; empty if every call that JAX accepts is accepted.

    More parameters are allowed if they have defaults, and positional-only ones may have any name.
    """
    if got is None:
        return "no signature"
    problems = []
    mine = {row[0]: row for row in got}
    catch_all = {row[1] for row in got if row[1] in ("va", "vk")}
    for position, (name, kind, *default) in enumerate(want):
        if kind in ("va", "vk"):
            if kind not in catch_all:
                problems.append(f"{'*' if kind == 'va' else '**'}{name} is absent")
        elif name.startswith("_"):
            continue
        elif name not in mine:
            by_position = kind == "po" and (
                "va" in catch_all or position < len(got) and got[position][1] in ("po", "pk"))
            swallowed = {"ko": {"vk"}, "pk": {"va", "vk"}}.get(kind, {"never"}) <= catch_all
            if not by_position and not swallowed:
                problems.append(f"{name} is absent")
        else:
            problems += _one_parameter(name, kind, default, *mine[name][1:])
    order = [row[0] for row in want if row[1] == "pk" and row[0] in mine]
    if not problems and sorted(order, key=list(mine).index) != order:
        problems.append("another order")
    named = {row[0] for row in want}
    spare = sum(row[1] == "po" for row in want)  # these may have another name
    for name, kind, *default in got:
        if name not in named and not default and kind in ("po", "pk", "ko"):
            if kind == "ko" or not spare:
                problems.append(f"{name} is required")
    return "; ".join(problems)


def _one_parameter(name, kind, default, my_kind, my_default=None) -> list[str]:
    if (kind == "pk" and my_kind != "pk") or (kind == "ko" and my_kind == "po"):
        return [f"{name} is {my_kind}, not {kind}"]
    if default and my_default is None:
        return [f"{name} has no default"]
    if default and "..." not in (default[0], my_default) and default[0] != my_default:
        return [f"{name}={my_default}, not {default[0]}"]
    return []


def compare(root: str = "tanx"):
    """``({module: missing names}, {name: how its parameters differ})``.

    A member that a class lacks is missing as ``Class.member``.
    """
    sample(root).T  # noqa: B018 - the first use of a method loads them all
    missing: dict[str, list[str]] = {}
    different: dict[str, str] = {}
    for section, names in load(REFERENCE)["modules"].items():
        thing = holder(root, section)
        lost = []
        for name, facts in names.items():
            full = f"{section}.{name}".lstrip(".")
            there = module(root, full) if facts["kind"] == "module" else has(thing, name)
            if not there:
                lost.append(name)
                continue
            # JAX's tracers forward methods to arrays by *args, so those of arrays are compared.
            if "params" in facts and section != "<Tracer>":
                problem = difference(facts["params"], parameters(getattr(thing, name)))
                if problem:
                    different[full] = problem
            if "members" in facts:
                owner = getattr(thing, name)
                lost += [f"{name}.{member}" for member in facts["members"]
                         if not has(owner, member)]
        if lost:
            missing[section] = lost
    return missing, different


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="bring missing.json up to date")
    parser.add_argument("--allow-loss", action="store_true", help="also list names that vanished")
    arguments = parser.parse_args()
    missing, different = compare()
    for name, problem in different.items():
        print(f"{name}: {problem}")
    total = sum(map(len, load(REFERENCE)["modules"].values()))
    absent = sum("." not in name for names in missing.values() for name in names)
    print(f"{total - absent} of {total} names; {len(different)} with other parameters")
    if arguments.write:
        listed = load(MISSING) if MISSING.exists() else missing
        vanished = [f"{section}.{name}".lstrip(".") for section, names in missing.items()
                    for name in names if name not in listed.get(section, ())]
        if vanished and not arguments.allow_loss:
            print("not written, for these were there before:", *vanished, sep="\n  ")
            return 1
        MISSING.write_text(json.dumps(missing, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
