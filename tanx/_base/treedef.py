"""Structures of pytrees: flattening, unflattening, and ``PyTreeDef``.

A structure is kept as a *spec* of plain tuples, so that comparing and hashing run at C speed:

    spec = None                                a leaf
         | (node, aux, leaves, None)           a node with ``leaves`` children, all of them leaves
         | (node, aux, leaves, (spec, ...))    any other node, with ``leaves`` leaves below it

A node that has only leaves always has the short form, so that equal structures have equal specs. It
also lets flattening and unflattening handle such children in one operation.
"""
import itertools
from collections.abc import Callable, Iterable, Iterator
from textwrap import shorten
from typing import Any

from ..errors import explain
from . import treewire as wire
from .treenodes import (
    CustomNode,
    DataclassNode,
    leaf_types,
    node_of,
    nodes,
    plural,
    register,
    registered_node,
    tuple_code,
)
from .tuples import NamedTuple

__all__ = ["PyTreeDef", "default_registry", "tree_flatten"]


# ------------------------------------------------------------------------------------ flattening

def tree_flatten(tree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list, "PyTreeDef"]:
    """The leaves of a tree, from left to right, and its structure.

    ``is_leaf(subtree)`` may declare subtrees to be leaves; it is called before they are flattened.

    >>> tree_flatten({"b": [1, 2], "a": (3, None)})
    ([3, 1, 2], PyTreeDef({'a': (*, None), 'b': [*, *]}))
    >>> tree_flatten([(1, 2), 3], is_leaf=lambda x: isinstance(x, tuple))
    ([(1, 2), 3], PyTreeDef([*, *]))
    """
    leaves: list = []
    if is_leaf is not None:
        return leaves, PyTreeDef(flatten_until(tree, leaves, is_leaf))
    kind = type(tree)
    if kind in leaf_types or (node := nodes.get(kind) or node_of(kind)) is None:
        return [tree], LEAF
    try:
        return leaves, PyTreeDef(flatten_node(node, tree, leaves))
    except RecursionError:
        leaves.clear()
        return leaves, PyTreeDef(flatten_until(tree, leaves, lambda subtree: False))


def flatten_node(node, tree, leaves: list):
    """Append the leaves of ``tree``, whose type has ``node``; return its spec.

    It recurses, which is fastest; trees deeper than Python's stack use :func:`flatten_until`.
    """
    children, aux = node.flatten(tree)
    for child in children:
        kind = type(child)
        if kind not in leaf_types and (kind in nodes or node_of(kind) is not None):
            break
    else:
        leaves.extend(children)
        return node, aux, len(children), None
    start = len(leaves)
    specs: list = []
    for child in children:
        kind = type(child)
        if kind in leaf_types or (inner := nodes.get(kind) or node_of(kind)) is None:
            leaves.append(child)
            specs.append(None)
        else:
            specs.append(flatten_node(inner, child, leaves))
    return node, aux, len(leaves) - start, tuple(specs)


DEEPEST = 20_000
"""Limit of levels of a tree. Hashing a spec takes 160 bytes of the C stack (8 MB) per level."""


def flatten_until(tree, leaves: list, is_leaf):
    """Like ``flatten_node`` for any tree; subtrees for which ``is_leaf`` holds are leaves."""
    around: list = []  # unfinished nodes, with their remaining children
    rest: Iterator[Any] = iter((tree,))
    specs: list = []
    while True:
        for tree in rest:
            node = node_of(type(tree))
            if is_leaf(tree) or node is None:
                leaves.append(tree)
                specs.append(None)
                continue
            children, aux = node.flatten(tree)
            check_depth(around, tree)
            around.append((rest, specs, node, aux))
            rest, specs = iter(children), []
            break
        else:
            if not around:
                return specs[0]
            children = specs
            rest, specs, node, aux = around.pop()
            specs.append(make_spec(node, aux, children))


def flatten_with_paths(tree, leaves: list, is_leaf):
    """Like ``flatten_until``; appends pairs of path and leaf, and calls ``is_leaf(path, tree)``."""
    around: list = []
    path: tuple = ()
    rest: Iterator[tuple[tuple, Any]] = iter([((), tree)])
    specs: list = []
    while True:
        for step, tree in rest:
            node = node_of(type(tree))
            here = (*path, *step)
            if is_leaf is not None and is_leaf(here, tree) or node is None:
                leaves.append((here, tree))
                specs.append(None)
                continue
            keys, children, aux = node.flatten_with_keys(tree)
            check_depth(around, tree)
            around.append((path, rest, specs, node, aux))
            path, rest, specs = here, zip(zip(keys), children), []
            break
        else:
            if not around:
                return specs[0]
            children = specs
            path, rest, specs, node, aux = around.pop()
            specs.append(make_spec(node, aux, children))


def check_depth(around: list, tree) -> None:
    """Raise for trees that are infinite, or too deep."""
    if len(around) >= DEEPEST:
        raise RecursionError(explain(
            "tanx.tree", f"a tree may have {DEEPEST} levels.",
            f"node of the last level: {type(tree).__name__}",
            hint="does a container contain itself?"))


def flatten_prefix(spec, tree, leaves: list) -> bool:
    """Append the subtrees of ``tree`` at the leaves of ``spec``; False if they do not match."""
    rest = [(spec, tree)]
    while rest:
        spec, tree = rest.pop()
        if spec is None:
            leaves.append(tree)
            continue
        node, aux, count, specs = spec
        if type(tree) is not node.type:
            return False
        children, found = node.flatten(tree)
        if found is not aux and not node.same_aux(aux, found):
            return False
        if specs is None:
            leaves.extend(children)
            if len(children) != count:
                return False
        elif len(children) != len(specs):
            return False
        else:
            rest.extend(zip(reversed(specs), reversed(children)))
    return True


def unflatten_node(spec, leaves: tuple, at: int):
    """The tree of a spec that is not a leaf; its leaves begin at position ``at``."""
    node, aux, count, specs = spec
    if specs is None:
        return node.unflatten(aux, leaves[at:at + count])
    children = []
    for spec in specs:
        if spec is None:
            children.append(leaves[at])
            at += 1
        else:
            children.append(unflatten_node(spec, leaves, at))
            at += spec[2]
    return node.unflatten(aux, tuple(children))


# ---------------------------------------------------------------------------- straight-line code

# A structure that is used repeatedly (such as the result of a jitted function) is worth its own
# Python code without loops and calls, which is faster than a traversal of the spec. Compiling it
# takes about as long as fifty traversals.
WALKS = 50


def compile_unflatten(spec) -> Callable[[Iterable], Any]:
    """A function from the leaves, in the right number, to the tree."""
    lines: list[str] = []
    values: dict[str, Any] = {}
    names = [f"leaf{i}" for i in range(count_leaves(spec))]

    def build(node, aux, children: list[str]) -> str:
        lines.append(f"node{len(lines)} = {node.build_code(aux, children, bind(values))}")
        return f"node{len(lines) - 1}"

    root = fold(spec, iter(names).__next__, build)
    return define("leaves", [f"{tuple_code(names)} = leaves", *lines, f"return {root}"], values)


def compile_flatten(spec) -> Callable[[Any], list | None]:
    """A function from a tree to its leaves, or to None if its structure differs."""
    lines: list[str] = []
    names: list[str] = []
    values: dict[str, Any] = {"leaf_types": leaf_types}
    counter = itertools.count()
    rest = [(spec, "tree")]
    while rest:
        spec, tree = rest.pop()
        if spec is None:
            lines.append(f"if type({tree}) not in leaf_types: return None")
            names.append(tree)
            continue
        specs = child_specs(spec)
        children = [f"tree{next(counter)}" for _ in specs]
        lines.extend(spec[0].match_code(spec[1], tree, children, bind(values)))
        rest.extend(zip(reversed(specs), reversed(children)))
    body = ["try:", *(f" {line}" for line in lines), "except KeyError: return None"]
    return define("tree", [*body, f"return [{', '.join(names)}]"], values)


def bind(values: dict[str, Any]) -> Callable[[Any], str]:
    """Constants of code: strings are written out, other values become globals."""
    def enter(value) -> str:
        if type(value) is str:
            return repr(value)
        name = f"value{len(values)}"
        values[name] = value
        return name

    return enter


def define(parameter: str, lines: list[str], values: dict[str, Any]) -> Callable:
    exec("\n ".join([f"def function({parameter}):", *lines]), values)
    return values["function"]


# ----------------------------------------------------------------------------------------- specs

def make_spec(node, aux, specs: list):
    """The spec of a node from the specs of its children."""
    if not any(specs):
        return node, aux, len(specs), None
    return node, aux, sum([count_leaves(spec) for spec in specs]), tuple(specs)


def child_specs(spec) -> tuple:
    if spec is None:
        return ()
    return (None,) * spec[2] if spec[3] is None else spec[3]


def count_leaves(spec) -> int:
    return 1 if spec is None else spec[2]


# These traverse a spec without recursion: trees may be deeper than Python's stack.


def steps(spec) -> list:
    """All specs inside of a spec and itself, those of children first, from left to right."""
    found, rest = [], [spec]
    while rest:
        spec = rest.pop()
        found.append(spec)
        if spec is not None and spec[3] is not None:
            rest.extend(spec[3])
        elif spec is not None:
            rest.extend([None] * spec[2])
    return found[::-1]


def fold(spec, leaf: Callable[[], Any], combine: Callable[[Any, Any, list], Any]):
    """Fold a structure: ``leaf()`` for leaves, ``combine(node, aux, children)`` for nodes."""
    stack: list = []
    for step in steps(spec):
        if step is None:
            stack.append(leaf())
            continue
        count = len(child_specs(step))
        children = stack[len(stack) - count:]
        del stack[len(stack) - count:]
        stack.append(combine(step[0], step[1], children))
    return stack[0]


def substitute(spec, inner):
    """``spec`` with ``inner`` in place of each leaf."""
    return fold(spec, lambda: inner, make_spec)


def show(spec) -> str:
    return fold(spec, lambda: "*", lambda node, aux, children: node.show(aux, children))


def records(spec):
    """Type, number of children and aux data of each node, children first (see ``treewire``)."""
    for step in steps(spec):
        yield (None, 0, None) if step is None else (step[0].type, len(child_specs(step)), step[1])


def same(spec, other) -> bool:
    """Whether two specs are equal, node by node; an error names a node that cannot be compared."""
    rest = [(spec, other)]
    while rest:
        spec, other = rest.pop()
        if spec is other:
            continue
        if spec is None or other is None or spec[0] is not other[0] or spec[2] != other[2]:
            return False
        if not spec[0].same_aux(spec[1], other[1]):
            return False
        children = child_specs(spec), child_specs(other)
        if len(children[0]) != len(children[1]):
            return False
        rest.extend(zip(*children))
    return True


def hash_without(spec) -> int:
    """The hash of a spec, without aux data that is not hashable."""
    return hash(tuple([
        step if step is None else (step[0], step[2], hash_of(step[1])) for step in steps(spec)]))


def hash_of(aux) -> int:
    try:
        return hash(aux)
    except RecursionError:  # of an exhausted stack
        raise
    except Exception:  # dicts and arrays are not hashable; equality distinguishes structures
        return 0


# ------------------------------------------------------------------------------------ mismatches

class Mismatch(NamedTuple):
    """One place where a tree does not match a structure: what was expected, and what was found."""

    path: tuple
    expected: str
    found: str
    notes: list[tuple[str, str]]

    def error(self, function: str, rule: str, labels: tuple[str, str], hint: str,
              root: str = "") -> ValueError:
        """The exception for users; ``labels`` name the trees, ``root`` comes before paths."""
        if any(label in ("missing", "unexpected") for label, _ in self.notes):
            rule = f"Dict key mismatch: {rule}"
        facts = [("at", root + "".join(map(str, self.path)) or "the root"),
                 (labels[0], self.expected), (labels[1], self.found), *self.notes]
        width = max(len(label) for label, _ in facts) + 1
        return ValueError(explain(
            function, rule, *(f"{label + ':':<{width}} {fact}" for label, fact in facts),
            hint=NONE_HINT if self.expected == "None" else hint))


NONE_HINT = "None is a node without leaves; is_leaf=lambda x: x is None makes it a leaf."


def mismatches(spec, tree) -> list[Mismatch]:
    """Every place where ``tree`` does not continue ``spec``; none if it is a prefix of ``tree``."""
    found: list[Mismatch] = []
    rest: list[tuple[Any, Any, tuple]] = [(spec, tree, ())]
    while rest:
        spec, tree, path = rest.pop()
        if spec is None:
            continue
        mismatch = mismatch_of(spec, tree, path)
        if mismatch is not None:
            found.append(mismatch)
            continue
        keys, values, _ = spec[0].flatten_with_keys(tree)
        rest.extend([(child, value, (*path, key)) for child, key, value
                     in zip(child_specs(spec), keys, values, strict=True)][::-1])
    return found


def mismatch_of(spec, tree, path: tuple) -> Mismatch | None:
    """How a node differs from the root of a spec, if it does."""
    node, aux = spec[:2]
    count = len(child_specs(spec))
    expected = node.describe(aux, count)
    if type(tree) is not node.type:
        found = describe(tree)
        types = [("types", f"{node.type} and {type(tree)}")]
        return Mismatch(path, expected, found, types if found == expected else [])
    values, other = node.flatten(tree)
    if node.same_aux(aux, other) and len(values) == count:
        return None
    notes = [] if node.type is not dict else [
        (label, shorten(", ".join(map(repr, keys)), 80))
        for label, keys in (("missing", [key for key in aux if key not in other]),
                            ("unexpected", [key for key in other if key not in aux])) if keys]
    return Mismatch(path, expected, node.describe(other, len(values)), notes)


def describe(tree) -> str:
    node = node_of(type(tree))
    if node is None:
        return f"leaf of type {type(tree).__name__}"
    children, aux = node.flatten(tree)
    return node.describe(aux, len(children))


# ------------------------------------------------------------------------------------- PyTreeDef

class PyTreeDef:
    """The structure of a pytree: the tree without its leaves.

    Made by :func:`tanx.tree.structure` and similar functions. Immutable; structures compare, hash,
    print and pickle by what they contain.

    >>> import tanx.tree
    >>> tanx.tree.structure({"b": (1, None), "a": 2})
    PyTreeDef({'a': *, 'b': (*, None)})
    """

    __slots__ = ("_build", "_hash", "_spec", "_uses")
    _build: Callable[[Iterable], Any]
    _hash: int

    def __init__(self, spec):
        self._spec = spec
        self._uses = 0

    @property
    def num_leaves(self) -> int:
        """How many leaves a tree of this structure has."""
        return count_leaves(self._spec)

    @property
    def num_nodes(self) -> int:
        """How many nodes and leaves there are."""
        return len(steps(self._spec))

    def unflatten(self, leaves, /):
        """The tree of this structure with the given leaves."""
        spec = self._spec
        leaves = tuple(leaves)
        if spec is None:
            return leaves[0] if len(leaves) == 1 else self._check("tanx.tree.unflatten", leaves)
        if len(leaves) != spec[2]:
            self._check("tanx.tree.unflatten", leaves)
        if self._uses > WALKS:
            return self._build(leaves)
        try:
            if self._uses == WALKS:
                self._build = compile_unflatten(spec)
            self._uses += 1
            return unflatten_node(spec, leaves, 0)
        except RecursionError:
            return fold(spec, iter(leaves).__next__,
                        lambda node, aux, children: node.unflatten(aux, tuple(children)))

    def _check(self, function: str, leaves: tuple) -> None:
        if len(leaves) != self.num_leaves:
            raise ValueError(explain(
                function, "the number of leaves must be that of the structure.",
                f"structure: {self}", f"expected:  {plural(self.num_leaves, 'leaf', 'leaves')}",
                f"given:     {plural(len(leaves), 'leaf', 'leaves')}"))

    def flatten_up_to(self, tree) -> list:
        """The subtrees of ``tree`` at the leaves of this structure."""
        leaves: list = []
        if not flatten_prefix(self._spec, tree, leaves):
            raise mismatches(self._spec, tree)[0].error(
                "tanx.tree_util.PyTreeDef.flatten_up_to", "the tree must have this structure.",
                ("treedef", "tree"), hint="only leaves may be replaced by subtrees.")
        return leaves

    def children(self) -> list["PyTreeDef"]:
        """The structures of the children."""
        return list(map(PyTreeDef, child_specs(self._spec)))

    def node_data(self) -> tuple[type, Any] | None:
        """The type of the root and its aux data; None for a leaf."""
        if self._spec is None:
            return None
        node, aux = self._spec[:2]
        # The aux data of a namedtuple is its type, which is the first item.
        return node.type, None if aux is node.type else node.to_public(aux)

    @staticmethod
    def from_node_data_and_children(registry, node_data, children) -> "PyTreeDef":
        """The inverse of :meth:`node_data` and :meth:`children`."""
        specs = [child._spec for child in children]
        if node_data is None:
            if specs:
                raise RuntimeError(explain(
                    "tanx.tree_util.PyTreeDef.from_node_data_and_children",
                    "a leaf has no children.", f"children: {len(specs)}"))
            return LEAF
        kind, data = node_data
        node = registered_node(kind)
        return PyTreeDef(make_spec(node, node.from_public(data, len(specs)), specs))

    def compose(self, inner: "PyTreeDef", /) -> "PyTreeDef":
        """This structure with ``inner`` in place of each leaf."""
        return PyTreeDef(substitute(self._spec, inner._spec))

    def walk(self, f_node, f_leaf, leaves, /):
        """Fold the tree bottom up: ``f_leaf(leaf)``, then ``f_node(children, node_data)``."""
        leaves = tuple(leaves)
        self._check("tanx.tree_util.PyTreeDef.walk", leaves)
        given = iter(leaves if f_leaf is None else map(f_leaf, leaves))
        return fold(self._spec, given.__next__, lambda node, aux, children: f_node(
            tuple(children), node.to_public(aux)))

    def from_iterable_tree(self, tree, /):
        """The tree of this structure whose nodes are given as plain iterables."""
        leaves: list = []
        rest = [(self._spec, tree)]
        while rest:
            spec, tree = rest.pop()
            if spec is None:
                leaves.append(tree)
                continue
            values, children = tuple(tree), child_specs(spec)
            if len(values) != len(children):
                raise ValueError(explain(
                    "tanx.tree_util.PyTreeDef.from_iterable_tree",
                    "each iterable must have as many items as its node has children.",
                    f"node:  {spec[0].describe(spec[1], len(children))}", f"items: {len(values)}"))
            rest.extend(zip(reversed(children), reversed(values)))
        return self.unflatten(leaves)

    def serialize_using_proto(self) -> bytes:
        """The structure as a protocol buffer; for None, tuples, lists, dicts with str keys."""
        return wire.encode(records(self._spec))

    @staticmethod
    def deserialize_using_proto(registry, data: bytes) -> "PyTreeDef":
        """The inverse of :meth:`serialize_using_proto`."""
        stack: list = []
        for kind, arity, keys in wire.decode(data):
            if arity > len(stack):
                raise wire.damaged()
            specs = [stack.pop() for _ in range(arity)][::-1]
            stack.append(None if kind is None else make_spec(nodes[kind], keys, specs))
        if len(stack) != 1:
            raise wire.damaged()
        return PyTreeDef(stack[0])

    def __eq__(self, other) -> bool:
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        try:
            return self._spec == other._spec
        except Exception:  # too deep to compare tuples, or aux data cannot be compared
            return same(self._spec, other._spec)

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            pass
        try:
            self._hash = hash(self._spec)
        except RecursionError:  # of an exhausted stack
            raise
        except Exception:  # aux data need not be hashable
            self._hash = hash_without(self._spec)
        return self._hash

    def __repr__(self) -> str:
        return f"PyTreeDef({show(self._spec)})"

    def __reduce__(self):
        # Flat, because pickle recurses.
        return _from_steps, ([step and (step[0], step[1], len(child_specs(step)))
                              for step in steps(self._spec)],)


def _from_steps(found: list) -> PyTreeDef:
    """A structure from its steps; see :meth:`PyTreeDef.__reduce__`."""
    stack: list = []
    for step in found:
        if step is None:
            stack.append(None)
            continue
        node, aux, count = step
        children = stack[len(stack) - count:]
        del stack[len(stack) - count:]
        stack.append(make_spec(node, aux, children))
    return PyTreeDef(stack[0])


LEAF = PyTreeDef(None)


# ------------------------------------------------------------------------------------- registry

class PyTreeRegistry:
    """The table of node types as an object. There is one, :data:`default_registry`."""

    __slots__ = ()

    def register_node(self, type, to_iterable, from_iterable, to_iterable_with_keys=None):
        """See :func:`tanx.tree_util.register_pytree_node`."""
        register("tanx.tree_util.default_registry.register_node", CustomNode(
            type, to_iterable, from_iterable, to_iterable_with_keys))

    def register_dataclass_node(self, type, data_fields, meta_fields, /):
        """See :func:`tanx.tree_util.register_dataclass`."""
        register("tanx.tree_util.default_registry.register_dataclass_node", DataclassNode(
            type, tuple(data_fields), tuple(meta_fields)))

    def is_node(self, type) -> bool:
        """Whether values of this type are nodes."""
        return node_of(type) is not None

    def flatten(self, tree, leaf_predicate=None):
        """See :func:`tanx.tree.flatten`."""
        return tree_flatten(tree, leaf_predicate)

    def flatten_with_path(self, tree, leaf_predicate=None):
        """See :func:`tanx.tree.flatten_with_path`; the predicate takes a path and a subtree."""
        leaves: list = []
        return leaves, PyTreeDef(flatten_with_paths(tree, leaves, leaf_predicate))

    def flatten_one_level(self, tree):
        """The children of a node and its aux data; None for a leaf."""
        node = node_of(type(tree))
        return None if node is None else node.flatten(tree)

    def flatten_one_level_with_keys(self, tree):
        """Pairs of key and child of a node, and its aux data; None for a leaf."""
        node = node_of(type(tree))
        if node is None:
            return None
        keys, children, aux = node.flatten_with_keys(tree)
        return tuple(zip(keys, children)), aux

    def __reduce__(self):
        return "default_registry"


default_registry = PyTreeRegistry()
