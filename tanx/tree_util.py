"""Pytrees: nested containers of arrays, and functions that flatten and rebuild them.

A pytree is a *leaf* or a *node* whose children are pytrees. Nodes are None (without children),
tuples, lists, dicts (in the order of their sorted keys), OrderedDicts, defaultdicts, namedtuples,
and the classes registered here; everything else is a leaf. Subclasses of registered classes are
leaves until they are registered themselves.

:mod:`tanx.tree` has the functions on trees under shorter names.
"""
import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ._base.traceback import boundary
from ._base.treedef import (
    Mismatch,
    PyTreeDef,
    compile_flatten,
    default_registry,
    flatten_prefix,
    make_spec,
    mismatches,
    tree_flatten,
)
from ._base.treenodes import (
    CustomNode,
    DataclassNode,
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    Key,
    KeyEntry,
    KeyPath,
    SequenceKey,
    check_callable,
    check_type,
    node_of,
    nodes,
    register,
)
from .errors import explain

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial", "PyTreeDef",
    "SequenceKey", "all_leaves", "default_registry", "flatten_one_level",
    "flatten_one_level_with_keys", "is_tree_node", "keystr", "register_dataclass",
    "register_pytree_node", "register_pytree_node_class", "register_pytree_with_keys",
    "register_pytree_with_keys_class", "register_static", "tree_all", "tree_broadcast",
    "tree_flatten", "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map",
    "tree_map_with_path", "tree_reduce", "tree_reduce_associative", "tree_structure",
    "tree_transpose", "tree_unflatten", "treedef_children", "treedef_is_leaf", "treedef_tuple",
]

for _public in (DictKey, FlattenedIndexKey, GetAttrKey, PyTreeDef, SequenceKey, tree_flatten):
    _public.__module__ = __name__

MISSING = object()
STRUCTURE_RULE = "the trees must have the same structure."
STRUCTURE_HINT = "a later tree may only have subtrees where the first one has leaves."


# ------------------------------------------------------------------- flattening and unflattening

@boundary
def tree_unflatten(treedef: PyTreeDef, leaves: Iterable):
    """The tree with a structure and leaves.

    >>> leaves, treedef = tree_flatten({"a": (1, None), "b": 2})
    >>> tree_unflatten(treedef, [x * 10 for x in leaves])
    {'a': (10, None), 'b': 20}
    """
    return treedef.unflatten(leaves)


def tree_leaves(tree, is_leaf: Callable[[Any], bool] | None = None) -> list:
    """The leaves of a tree, from left to right.

    >>> tree_leaves([1, (2, None), {"b": 4, "a": 3}])
    [1, 2, 3, 4]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf: Callable[[Any], bool] | None = None) -> PyTreeDef:
    """The structure of a tree.

    >>> tree_structure([1, (2, None)])
    PyTreeDef([*, (*, None)])
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_flatten_with_path(
        tree, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False,
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Like :func:`tree_flatten`, each leaf paired with the path that leads to it.

    With ``is_leaf_takes_path`` the predicate is called as ``is_leaf(path, subtree)``.

    >>> tree_flatten_with_path({"a": [1]})
    ([((DictKey(key='a'), SequenceKey(idx=0)), 1)], PyTreeDef({'a': [*]}))
    """
    if is_leaf is None or is_leaf_takes_path:
        return default_registry.flatten_with_path(tree, is_leaf)
    return default_registry.flatten_with_path(tree, lambda path, subtree: is_leaf(subtree))


def tree_leaves_with_path(
        tree, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False,
) -> list[tuple[KeyPath, Any]]:
    """The pairs of path and leaf of a tree; see :func:`tree_flatten_with_path`.

    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1, 2]})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A path as text: Python's way to write the access, or the bare keys if ``simple``.

    >>> path = (DictKey("layer"), SequenceKey(0), GetAttrKey("weight"))
    >>> keystr(path), keystr(path, simple=True, separator="/")
    ("['layer'][0].weight", 'layer/0/weight')
    """
    return separator.join([
        str(key._value if simple and isinstance(key, Key) else key) for key in keys])


def all_leaves(iterable: Iterable, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether every item is a leaf.

    >>> all_leaves([1, "two"]), all_leaves([1, None]), all_leaves([1, (2,)])
    (True, False, False)
    """
    return all(node_of(type(item)) is None or is_leaf is not None and bool(is_leaf(item))
               for item in iterable)


def is_tree_node(typ: type) -> bool:
    """Whether values of this type are nodes.

    >>> is_tree_node(dict), is_tree_node(int)
    (True, False)
    """
    return isinstance(typ, type) and node_of(typ) is not None


def flatten_one_level(tree) -> tuple[Sequence, Any]:
    """The children of a node, and the data that distinguishes it from others of its type.

    >>> flatten_one_level({"b": 1, "a": (2, 3)})
    (((2, 3), 1), ('a', 'b'))
    """
    return _opened("flatten_one_level", tree, default_registry.flatten_one_level(tree))


def flatten_one_level_with_keys(tree) -> tuple[Sequence[tuple[Any, Any]], Any]:
    """Like :func:`flatten_one_level`, each child paired with its key.

    >>> flatten_one_level_with_keys([5])
    (((SequenceKey(idx=0), 5),), None)
    """
    return _opened("flatten_one_level_with_keys", tree,
                   default_registry.flatten_one_level_with_keys(tree))


def _opened(function: str, tree, result):
    if result is None:
        raise ValueError(explain(f"tanx.tree_util.{function}", "the tree must be a node.",
                                 f"got: leaf of type {type(tree).__name__}"))
    return result


# ---------------------------------------------------------------------------- functions on trees

@boundary
def tree_map(f: Callable, tree, *rest, is_leaf: Callable[[Any], bool] | None = None):
    """Apply ``f`` to each leaf of ``tree``; the result has the structure of ``tree``.

    For each further tree, ``f`` gets the subtree at the position of the leaf of ``tree``.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2, 3]}, {"a": 10, "b": [20, 30]})
    {'a': 11, 'b': [22, 33]}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(leaf) for leaf in leaves])
    columns = _matching_leaves("tanx.tree.map", treedef, rest)
    return treedef.unflatten([f(*row) for row in zip(leaves, *columns)])


@boundary
def tree_map_with_path(f: Callable, tree, *rest, is_leaf: Callable[..., bool] | None = None,
                       is_leaf_takes_path: bool = False):
    """Like :func:`tree_map`, with the path to the leaf as first argument of ``f``.

    >>> tree_map_with_path(lambda path, x: keystr(path) + str(x), {"a": 1, "b": [2]})
    {'a': "['a']1", 'b': ["['b'][0]2"]}
    """
    leaves, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = _matching_leaves("tanx.tree.map_with_path", treedef, rest)
    return treedef.unflatten([f(*leaf, *row) for leaf, *row in zip(leaves, *columns)])


def _matching_leaves(function: str, treedef: PyTreeDef, trees: tuple) -> list[list]:
    columns = []
    for i, tree in enumerate(trees):
        column: list = []
        if not flatten_prefix(treedef._spec, tree, column):
            raise mismatches(treedef._spec, tree)[0].error(
                function, STRUCTURE_RULE, ("tree", f"rest[{i}]"), STRUCTURE_HINT)
        columns.append(column)
    return columns


def tree_all(tree, *, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether all leaves are true.

    >>> tree_all({"a": True, "b": (True, None)}), tree_all([True, False])
    (True, False)
    """
    return all(tree_leaves(tree, is_leaf))


@boundary
def tree_reduce(function: Callable, tree, initializer: Any = MISSING,
                is_leaf: Callable[[Any], bool] | None = None):
    """Combine the leaves from left to right: ``function(function(a, b), c)``, and so on.

    >>> import operator
    >>> tree_reduce(operator.add, {"a": 1, "b": [2, 3]}), tree_reduce(operator.add, [], 0)
    (6, 0)
    """
    leaves = tree_leaves(tree, is_leaf)
    if initializer is not MISSING:
        return functools.reduce(function, leaves, initializer)
    if not leaves:
        raise _nothing_to_reduce("tanx.tree.reduce", "initializer")
    return functools.reduce(function, leaves)


@boundary
def tree_reduce_associative(operation: Callable, tree, *, identity: Any = MISSING,
                            is_leaf: Callable[[Any], bool] | None = None):
    """Combine the leaves pairwise, in a balanced tree: shorter chains, smaller rounding errors.

    ``operation`` must be associative; ``identity`` is the result for a tree without leaves.

    >>> tree_reduce_associative(lambda a, b: f"({a}{b})", list("abcd"))
    '((ab)(cd))'
    """
    def combine(leaves):
        half = len(leaves) // 2
        return operation(combine(leaves[:half]), combine(leaves[half:])) if half else leaves[0]

    leaves = tree_leaves(tree, is_leaf)
    if leaves:
        return combine(leaves)
    if identity is MISSING:
        raise _nothing_to_reduce("tanx.tree.reduce_associative", "identity")
    return identity


def _nothing_to_reduce(function: str, parameter: str) -> TypeError:
    return TypeError(explain(function, "the tree has no leaves to combine.",
                             hint=f"give {parameter}, the result for a tree without leaves."))


@boundary
def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose):
    """Turn a tree of trees inside out.

    The tree has structure ``outer_treedef``, with ``inner_treedef`` at each leaf (if None, the
    structure found at the first); the result has the two structures exchanged.

    >>> outer, inner = tree_structure([0, 0, 0]), tree_structure((0, 0))
    >>> tree_transpose(outer, inner, [(1, 2), (3, 4), (5, 6)])
    ([1, 3, 5], [2, 4, 6])
    """
    leaves, found = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        subtrees = outer_treedef.flatten_up_to(pytree_to_transpose)
        if not subtrees:
            raise IndexError(explain(
                "tanx.tree.transpose", "an outer structure without leaves has no inner one.",
                f"outer_treedef: {outer_treedef}", hint="give inner_treedef."))
        inner_treedef = tree_structure(subtrees[0])
    width = inner_treedef.num_leaves
    if len(leaves) != outer_treedef.num_leaves * width:
        raise TypeError(explain(
            "tanx.tree.transpose", "the tree must have the inner structure in the outer one.",
            f"outer_treedef:    {outer_treedef}", f"inner_treedef:    {inner_treedef}",
            f"structure found:  {found}"))
    return inner_treedef.unflatten(
        [outer_treedef.unflatten(leaves[i::width]) for i in range(width)])


@boundary
def tree_broadcast(prefix_tree, full_tree, is_leaf: Callable[[Any], bool] | None = None):
    """Repeat each leaf of ``prefix_tree`` over its subtree of ``full_tree``.

    >>> tree_broadcast({"a": 0, "b": [1, 2]}, {"a": (7, 7), "b": [7, {"c": 7}]})
    {'a': (0, 0), 'b': [1, {'c': 2}]}
    """
    leaves = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return tree_structure(full_tree).unflatten(leaves)


def broadcast_prefix(prefix_tree, full_tree, is_leaf: Callable[[Any], bool] | None = None) -> list:
    """The leaves of ``tree_broadcast(prefix_tree, full_tree)``, as a list.

    >>> broadcast_prefix((0, 1), ([7, 7], {"a": 7}))
    [0, 0, 1]
    """
    leaves, treedef = tree_flatten(prefix_tree, is_leaf)
    subtrees: list = []
    if not flatten_prefix(treedef._spec, full_tree, subtrees):
        raise prefix_errors(prefix_tree, full_tree, is_leaf)[0]("tanx.tree.broadcast prefix_tree")
    return [leaf for leaf, subtree in zip(leaves, subtrees) for _ in tree_flatten(subtree)[0]]


def prefix_errors(prefix_tree, full_tree, is_leaf: Callable[[Any], bool] | None = None,
                  ) -> list[Callable[[str], ValueError]]:
    """The reasons why ``prefix_tree`` is not a prefix of ``full_tree``; empty if it is.

    Each item makes an exception when called with the public name of the prefix.

    >>> print(prefix_errors({"a": [0, 0]}, {"a": [1, 2, 3]})[0]("tanx.vmap in_axes"))
    tanx.vmap in_axes: must be a prefix of the tree it belongs to.
      at:        in_axes['a']
      prefix:    list of length 2
      full tree: list of length 3
      Hint: a prefix has the structure of the full tree down to its own leaves.
    """
    spec = tree_structure(prefix_tree, is_leaf)._spec
    return [functools.partial(_prefix_error, mismatch) for mismatch in mismatches(spec, full_tree)]


def _prefix_error(mismatch: Mismatch, name: str) -> ValueError:
    """The error for a prefix, which is the last word of ``name``: libraries look for ``in_axes.y``.
    """
    return mismatch.error(
        name, "must be a prefix of the tree it belongs to.", ("prefix", "full tree"),
        "a prefix has the structure of the full tree down to its own leaves.",
        root=name.rpartition(" ")[2])


# ------------------------------------------------------------------------------------ structures

def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure has nothing inside: a leaf, None, or an empty container.

    >>> treedef_is_leaf(tree_structure(1)), treedef_is_leaf(tree_structure([1]))
    (True, False)
    """
    return treedef.num_nodes == 1


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of the root.

    >>> treedef_children(tree_structure((1, [2])))
    [PyTreeDef(*), PyTreeDef([*])]
    """
    return treedef.children()


def flattener(treedef: PyTreeDef) -> Callable[[Any], list | None]:
    """A fast function that returns the leaves of trees of this structure, and None for others.

    For structures that are used repeatedly: it is compiled, which takes some time, and then runs
    several times faster than flattening a tree and comparing its structure.

    >>> leaves = flattener(tree_structure({"a": 0, "b": (0, None)}))
    >>> leaves({"b": (1, None), "a": 2}), leaves({"b": (1, 3), "a": 2})
    ([2, 1], None)
    """
    return compile_flatten(treedef._spec)


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees with the given structures.

    >>> treedef_tuple([tree_structure(1), tree_structure([2])])
    PyTreeDef((*, [*]))
    """
    treedefs = list(treedefs)
    for treedef in treedefs:
        if not isinstance(treedef, PyTreeDef):
            raise TypeError(explain("tanx.tree_util.treedef_tuple", "takes structures of trees.",
                                    f"given: {treedef!r:.100}",
                                    hint="tree_structure(tree) gives that of a tree."))
    return PyTreeDef(make_spec(nodes[tuple], None, [child._spec for child in treedefs]))


# ---------------------------------------------------------------------------------- registration

def register_pytree_node(nodetype: type, flatten_func: Callable, unflatten_func: Callable,
                         flatten_with_keys_func: Callable | None = None) -> None:
    """Make values of ``nodetype`` nodes.

    ``flatten_func(value)`` returns ``(children, aux_data)``; aux data is part of the structure and
    so must be hashable and comparable. ``unflatten_func(aux_data, children)`` is the inverse; it
    should not inspect the children, which need not be arrays. ``flatten_with_keys_func(value)``,
    if given, returns ``((key, child), ...), aux_data`` and names the children in paths.

    >>> class Point:
    ...     def __init__(self, x, y): self.x, self.y = x, y
    >>> register_pytree_node(Point, lambda p: ((p.x, p.y), None), lambda _, xy: Point(*xy))
    >>> tree_leaves([Point(1, 2), 3])
    [1, 2, 3]
    """
    name = "tanx.tree_util.register_pytree_node"
    check_type(name, nodetype)
    check_callable(name, "flatten_func", flatten_func, "value")
    check_callable(name, "unflatten_func", unflatten_func, "aux_data", "children")
    if flatten_with_keys_func is not None:
        check_callable(name, "flatten_with_keys_func", flatten_with_keys_func, "value")
    register(name, CustomNode(nodetype, flatten_func, unflatten_func, flatten_with_keys_func))


def register_pytree_with_keys(nodetype: type, flatten_with_keys: Callable,
                              unflatten_func: Callable, flatten_func: Callable | None = None):
    """Like :func:`register_pytree_node`, from a function that returns ``(key, child)`` pairs.

    ``flatten_func`` does the same without keys; it may be given to save time.

    >>> class Line:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    >>> register_pytree_with_keys(
    ...     Line, lambda l: (((GetAttrKey("a"), l.a), (GetAttrKey("b"), l.b)), None),
    ...     lambda _, ab: Line(*ab))
    >>> [keystr(path) for path, _ in tree_leaves_with_path(Line(1, 2))]
    ['.a', '.b']
    """
    name = "tanx.tree_util.register_pytree_with_keys"
    check_type(name, nodetype)
    check_callable(name, "flatten_with_keys", flatten_with_keys, "value")
    check_callable(name, "unflatten_func", unflatten_func, "aux_data", "children")
    if flatten_func is not None:
        check_callable(name, "flatten_func", flatten_func, "value")
    register(name, CustomNode(nodetype, flatten_func, unflatten_func, flatten_with_keys))


def register_pytree_node_class(cls):
    """Decorator: register a class with methods ``tree_flatten`` and ``tree_unflatten``.

    ``tree_unflatten(cls, aux_data, children)`` is a classmethod.

    >>> @register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    ...     def tree_flatten(self): return (self.a, self.b), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux_data, children): return cls(*children)
    >>> tree_leaves(Pair(1, [2, 3]))
    [1, 2, 3]
    """
    name = "tanx.tree_util.register_pytree_node_class"
    _check_methods(name, cls, "tree_flatten")
    register(name, CustomNode(cls, operator.methodcaller("tree_flatten"), cls.tree_unflatten))
    return cls


def register_pytree_with_keys_class(cls):
    """Decorator: register a class with ``tree_flatten_with_keys`` and ``tree_unflatten``.

    A method ``tree_flatten``, if there is one, is used when keys are not needed.

    >>> @register_pytree_with_keys_class
    ... class Named:
    ...     def __init__(self, a): self.a = a
    ...     def tree_flatten_with_keys(self): return ((GetAttrKey("a"), self.a),), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux_data, children): return cls(*children)
    >>> tree_leaves_with_path(Named(1))
    [((GetAttrKey(name='a'),), 1)]
    """
    name = "tanx.tree_util.register_pytree_with_keys_class"
    _check_methods(name, cls, "tree_flatten_with_keys")
    plain = operator.methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    register(name, CustomNode(
        cls, plain, cls.tree_unflatten, operator.methodcaller("tree_flatten_with_keys")))
    return cls


def _check_methods(function: str, cls, flatten_method: str) -> None:
    check_type(function, cls)
    for method in (flatten_method, "tree_unflatten"):
        if not hasattr(cls, method):
            raise AttributeError(explain(
                function, f"the class must have a method {method}.", f"class: {cls}"))
    check_callable(function, flatten_method, getattr(cls, flatten_method), "self")
    check_callable(function, "tree_unflatten", cls.tree_unflatten, "aux_data", "children")


def register_static(cls: type) -> type:
    """Decorator: values of this class are nodes without children.

    The value itself is then part of the structure: inside ``jit`` it is a constant, and another
    value means another compilation. It must be hashable and comparable.

    >>> @register_static
    ... class Mode(str): pass
    >>> tree_flatten((1, Mode("train")))
    ([1], PyTreeDef((*, CustomNode(Mode[train], []))))
    """
    name = "tanx.tree_util.register_static"
    check_type(name, cls)
    register(name, CustomNode(cls, lambda value: ((), value), lambda value, _: value))
    return cls


# ----------------------------------------------------------------------------------- dataclasses

def register_dataclass(nodetype: type, data_fields: Sequence[str] | None = None,
                       meta_fields: Sequence[str] | None = None,
                       drop_fields: Sequence[str] = ()) -> type:
    """Make values of a dataclass nodes: ``data_fields`` are children, ``meta_fields`` aux data.

    Without lists, fields marked ``metadata=dict(static=True)`` are aux data, all others children.
    Trees are rebuilt by calling the class without the fields in ``drop_fields``.
    Works as a decorator; :func:`tanx.tree.dataclass` does both steps at once.

    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str = dataclasses.field(metadata=dict(static=True))
    >>> tree_flatten(Layer(0.5, "dense"))
    ([0.5], PyTreeDef(CustomNode(Layer[('dense',)], [*])))
    """
    name = "tanx.tree_util.register_dataclass"
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(explain(
            name, "data_fields and meta_fields must be given together.",
            f"data_fields: {data_fields}", f"meta_fields: {meta_fields}"))
    if data_fields is None or meta_fields is None:
        if not (isinstance(nodetype, type) and dataclasses.is_dataclass(nodetype)):
            raise TypeError(explain(
                name, "a class that is not a dataclass needs data_fields and meta_fields.",
                f"got: {nodetype!r}"))
        data, meta = _split_fields(nodetype, drop_fields)
    else:
        check_type(name, nodetype)
        data, meta = tuple(data_fields), tuple(meta_fields)
    _check_fields(name, nodetype, data, meta, drop_fields)
    register(name, DataclassNode(nodetype, data, meta))
    return nodetype


def _split_fields(cls: type, drop: Iterable[str] = ()) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the fields that are data, and of those that are marked static."""
    fields = [field for field in dataclasses.fields(cls) if field.name not in drop]
    static = [field.name for field in fields if field.metadata.get("static", False)]
    return tuple([field.name for field in fields if field.name not in static]), tuple(static)


def _check_fields(function: str, cls: type, data: tuple, meta: tuple, drop: Iterable[str]) -> None:
    """Raise unless the lists hold each field of the constructor once."""
    both = [*data, *meta]
    facts = [("listed twice", {name for name in both if both.count(name) > 1})]
    if dataclasses.is_dataclass(cls):
        init = {field.name for field in dataclasses.fields(cls) if field.init} - set(drop)
        facts += [("missing", init - set(both)), ("unexpected", set(both) - init)]
    problems = [f"{label}: {', '.join(sorted(names))}" for label, names in facts if names]
    if problems:
        raise ValueError(explain(
            function, "data_fields and meta_fields must hold each field with init=True once.",
            f"class: {cls}", *problems, hint="drop_fields is for fields to be dropped."))


def dataclass(cls: type | None = None, /, *, frozen: bool = True, **options):
    """Decorator: a frozen dataclass that is a pytree node.

    Fields are children, or aux data if marked static (:func:`tanx.tree.static`). ``options`` are
    those of :func:`dataclasses.dataclass`. Trees are rebuilt without calling ``__init__``, so it
    may check its arguments: it never gets the placeholders of transformations.

    >>> import tanx.tree
    >>> @tanx.tree.dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str = tanx.tree.static(default="dense")
    >>> tanx.tree.map(lambda x: 2 * x, Layer(0.5))
    Layer(weight=1.0, name='dense')
    """
    if cls is None:
        return functools.partial(dataclass, frozen=frozen, **options)
    made: type = dataclasses.dataclass(cls, frozen=frozen, **options)
    register("tanx.tree.dataclass", DataclassNode(made, *_split_fields(made), constructor=False))
    return made


def static(**kwargs) -> Any:
    """A dataclass field that is aux data; takes the arguments of :func:`dataclasses.field`.

    >>> static(default=3).metadata["static"]
    True
    """
    metadata = {"static": True, **kwargs.pop("metadata", {})}
    return dataclasses.field(metadata=metadata, **kwargs)


# --------------------------------------------------------------------------------------- Partial

class Partial(functools.partial):
    """A :class:`functools.partial` that is a node: its arguments are children.

    So it can be passed into and out of transformed functions. The function is aux data.

    >>> import operator
    >>> add_two = Partial(operator.add, 2)
    >>> add_two(3), tree_leaves(add_two)
    (5, [2])
    """

    def __new__(cls, func, *args, **kw):
        # functools.partial would merge the arguments of an inner partial into its own.
        if isinstance(func, functools.partial):
            func = _Whole(func)
        return super().__new__(cls, func, *args, **kw)


class _Whole:
    """A partial as one opaque function, compared by the partial itself."""

    def __init__(self, function: functools.partial):
        self.function = function

    def __call__(self, *args, **kw):
        return self.function(*args, **kw)

    def __eq__(self, other) -> bool:
        return type(other) is _Whole and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


register_pytree_node(
    Partial, lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]))


def __dir__() -> list[str]:
    return __all__
