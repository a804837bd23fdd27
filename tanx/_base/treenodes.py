"""Node types of pytrees: how each kind of container is flattened and rebuilt.

A value is a *node* if its type has an entry in :data:`nodes`, or is a namedtuple; every other
value is a *leaf*. One :class:`Node` per type holds everything specific to that type: the rest of
the code (flattening, structures, errors) treats all nodes in the same way.
"""
import inspect
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter, itemgetter
from textwrap import shorten
from typing import Any, TypeVar

from ..errors import explain, warn_user

__all__ = ["DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "SequenceKey"]


# ------------------------------------------------------------------------------ steps of a path

KeyEntry = TypeVar("KeyEntry")
KeyPath = tuple[KeyEntry, ...]


class Key:
    """A step from a node to one of its children; immutable, compared by kind and value."""

    __slots__ = ("_value",)
    __match_args__: tuple[str, ...] = ("_value",)

    def __init__(self, value):
        self._value = value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__match_args__[0]}={self._value!r})"

    def __str__(self) -> str:
        return f"[{self._value!r}]"

    def __eq__(self, other) -> bool:
        return type(self) is type(other) and self._value == other._value

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._value))

    def __reduce__(self):
        return type(self), (self._value,)


class DictKey(Key):
    """The step to the value under ``key`` of a dict; prints as ``['key']``."""

    __slots__ = ()
    __match_args__ = ("key",)
    key = property(attrgetter("_value"), doc="The key in the dict.")

    def __init__(self, key):
        self._value = key


class SequenceKey(Key):
    """The step to item ``idx`` of a tuple or list; prints as ``[idx]``."""

    __slots__ = ()
    __match_args__ = ("idx",)
    idx = property(attrgetter("_value"), doc="The position in the sequence.")

    def __init__(self, idx: int):
        self._value = idx


class GetAttrKey(Key):
    """The step to attribute ``name`` of an object; prints as ``.name``."""

    __slots__ = ()
    __match_args__ = ("name",)
    name = property(attrgetter("_value"), doc="The name of the attribute.")

    def __init__(self, name: str):
        self._value = name

    def __str__(self) -> str:
        return f".{self._value}"


class FlattenedIndexKey(Key):
    """The step to child ``key`` of a node that does not name its children."""

    __slots__ = ()
    __match_args__ = ("key",)
    key = property(attrgetter("_value"), doc="The position among the children.")

    def __init__(self, key: int):
        self._value = key

    def __str__(self) -> str:
        return f"[<flat index {self._value!r}>]"


# -------------------------------------------------------------------------------- small helpers

def plural(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def tuple_code(names: list[str]) -> str:
    """Python for a tuple, to be built or unpacked."""
    return f"({''.join([f'{name}, ' for name in names])})"


def check_arity(holds: bool, rule: str, *facts: str) -> None:
    """Raise for a node with an invalid number of children."""
    if not holds:
        raise RuntimeError(explain(
            "tanx.tree_util.PyTreeDef.from_node_data_and_children", rule, *facts))


def sorted_items(tree: dict) -> tuple[tuple, tuple]:
    """The values in the order of the keys, and the keys."""
    if len(tree) < 2:
        return tuple(tree.values()), tuple(tree)
    keys = [*tree]
    try:
        keys.sort()
    except RecursionError:  # of an exhausted stack
        raise
    except Exception as error:
        raise ValueError(explain(
            "tanx.tree.flatten",
            "the keys of a dict must be sortable: leaves are in the order of the keys.",
            f"keys: {shorten(', '.join(map(repr, tree)), 80)}",
            hint="use keys of one type, or a collections.OrderedDict, which has its own order.",
        )) from error
    return itemgetter(*keys)(tree), tuple(keys)                  # the fastest of many ways


def tuple_getter(names: tuple[str, ...]) -> Callable[[Any], tuple]:
    """A function from an object to the tuple of its attributes ``names``."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda tree: ()
    get = attrgetter(*names)
    return lambda tree: (get(tree),)


# ------------------------------------------------------------------------------- kinds of nodes

Bind = Callable[[Any], str]             # binds a value in code: returns an expression for it


class Node:
    """The facts about one type of container in pytrees.

    ``flatten`` returns the children (a tuple or list) and the *aux data*: everything that must be
    equal in two trees of one structure. ``unflatten`` is the inverse, with the children as a tuple.
    """

    __slots__ = ("type",)
    flatten: Callable[[Any], tuple[Sequence, Any]]
    unflatten: Callable[[Any, tuple], Any]

    def __init__(self, kind: type):
        self.type = kind

    def keys(self, aux, count: int) -> Iterable:
        """The steps to the children, from the structure alone."""
        return map(FlattenedIndexKey, range(count))

    def flatten_with_keys(self, tree) -> tuple[Iterable, Sequence, Any]:
        """Keys, children and aux data."""
        children, aux = self.flatten(tree)
        return self.keys(aux, len(children)), children, aux

    def show(self, aux, children: list[str]) -> str:
        """The node inside the text of a ``PyTreeDef``."""
        return f"CustomNode({self.type.__name__}[{aux}], [{', '.join(children)}])"

    def describe(self, aux, count: int) -> str:
        """The node in an error message."""
        data = "" if aux is None else f" and aux data {shorten(repr(aux), 80)}"
        return f"{self.type.__name__} with {plural(count, 'child', 'children')}{data}"

    def same_aux(self, aux, other) -> bool:
        """Whether aux data are equal; an error that names the type if they cannot be compared."""
        try:
            return aux is other or bool(aux == other)
        except RecursionError:  # of an exhausted stack
            raise
        except Exception as error:
            raise ValueError(explain(
                "tanx.tree_util", "the aux data of a node must be comparable: == must be a bool.",
                f"type of the node: {self.type}", f"aux data:         {shorten(repr(aux), 80)}",
                hint="arrays belong among the children.")) from error

    def build_code(self, aux, children: list[str], bind: Bind) -> str:
        """An expression for the node with ``children``, which are names of variables."""
        return f"{bind(self.unflatten)}({bind(aux)}, {tuple_code(children)})"

    def match_code(self, aux, tree: str, children: list[str], bind: Bind) -> list[str]:
        """Statements that assign the children of ``tree``, or return None if it does not match."""
        return [f"if type({tree}) is not {bind(self.type)}: return None",
                f"found, aux = {bind(self.flatten)}({tree})",
                f"if len(found) != {len(children)}: return None",
                f"if not {bind(self.same_aux)}({bind(aux)}, aux): return None",
                f"{tuple_code(children)} = found"]

    def to_public(self, aux):
        """The aux data in the form that methods of ``PyTreeDef`` return."""
        return aux

    def from_public(self, data, count: int):
        """The aux data of a node with ``count`` children made from public data."""
        return data

    def __reduce__(self):
        return registered_node, (self.type,)


class NoneNode(Node):
    """None: a node without children, so that an absent subtree has no leaves."""

    __slots__ = ()

    def flatten(self, tree):
        return (), None

    def unflatten(self, aux, children):
        return None

    def show(self, aux, children):
        return "None"

    def describe(self, aux, count):
        return "None"

    def build_code(self, aux, children, bind):
        return "None"

    def match_code(self, aux, tree, children, bind):
        return [f"if {tree} is not None: return None"]

    def from_public(self, data, count):
        check_arity(count == 0, "None has no children.", f"children: {count}")
        return None


class SequenceNode(Node):
    """Base of tuple and list."""

    __slots__ = ()

    def flatten(self, tree):
        return tree, None

    def keys(self, aux, count):
        return map(SequenceKey, range(count))

    def describe(self, aux, count):
        return f"{self.type.__name__} of length {count}"

    def match_code(self, aux, tree, children, bind):
        kind = self.type.__name__
        return [f"if type({tree}) is not {kind} or len({tree}) != {len(children)}: return None",
                f"{tuple_code(children)} = {tree}"]

    def from_public(self, data, count):
        return None


class TupleNode(SequenceNode):
    __slots__ = ()

    def unflatten(self, aux, children):
        return children

    def show(self, aux, children):
        return f"({children[0]},)" if len(children) == 1 else f"({', '.join(children)})"

    def build_code(self, aux, children, bind):
        return tuple_code(children)


class ListNode(SequenceNode):
    __slots__ = ()

    def unflatten(self, aux, children):
        return list(children)

    def show(self, aux, children):
        return f"[{', '.join(children)}]"

    def build_code(self, aux, children, bind):
        return f"[{', '.join(children)}]"


class DictNode(Node):
    """dict: children in the order of the sorted keys, which are the aux data."""

    __slots__ = ()

    flatten = staticmethod(sorted_items)

    def unflatten(self, aux, children):
        tree = {}
        for key, child in zip(aux, children):                         # faster than dict(zip(…))
            tree[key] = child
        return tree

    def keys(self, aux, count):
        return map(DictKey, aux)

    def show(self, aux, children):
        return f"{{{', '.join(f'{key!r}: {child}' for key, child in zip(aux, children))}}}"

    def describe(self, aux, count):
        return f"dict with keys {shorten(', '.join(map(repr, aux)), 80)}" if aux else "empty dict"

    def build_code(self, aux, children, bind):
        return f"{{{', '.join(f'{bind(key)}: {child}' for key, child in zip(aux, children))}}}"

    def match_code(self, aux, tree, children, bind):
        return [f"if type({tree}) is not dict or len({tree}) != {len(children)}: return None",
                *(f"{child} = {tree}[{bind(key)}]" for key, child in zip(aux, children))]

    def to_public(self, aux):
        return list(aux)

    def from_public(self, data, count):
        keys = tuple(data)
        check_arity(len(keys) == count, "a dict has one child for each key.",
                    f"keys:     {keys}", f"children: {count}")
        return keys


class OrderedDictNode(Node):
    """OrderedDict: children in its order, which is part of the structure."""

    __slots__ = ()

    def flatten(self, tree):
        return list(tree.values()), tuple(tree)

    def unflatten(self, aux, children):
        return OrderedDict(zip(aux, children))

    def keys(self, aux, count):
        return map(DictKey, aux)


class DefaultDictNode(Node):
    """defaultdict: like dict, with the factory in the aux data."""

    __slots__ = ()

    def flatten(self, tree):
        values, keys = sorted_items(tree)
        return list(values), (tree.default_factory, keys)

    def unflatten(self, aux, children):
        factory, keys = aux
        return defaultdict(factory, zip(keys, children))

    def keys(self, aux, count):
        return map(DictKey, aux[1])


class NamedTupleNode(Node):
    """Any namedtuple class, found by its ``_fields``: it need not be registered."""

    __slots__ = ()

    def flatten(self, tree):
        return list(tree), self.type

    def unflatten(self, aux, children):
        return self.type(*children)

    def keys(self, aux, count):
        cls: Any = self.type
        return map(GetAttrKey, cls._fields)

    def show(self, aux, children):
        return f"CustomNode(namedtuple[{self.type.__name__}], [{', '.join(children)}])"

    def describe(self, aux, count):
        return f"namedtuple {self.type.__name__}"

    def from_public(self, data, count):
        return self.type


class CustomNode(Node):
    """A type registered with its own functions.

    ``to_children(tree)`` returns ``(children, aux)``, ``to_pairs(tree)`` returns
    ``((key, child), ...), aux``. Either may be None, not both. The result of ``from_children`` is
    checked at its first use.
    """

    __slots__ = ("to_children", "from_children", "unflatten", "to_pairs")

    def __init__(self, kind: type, to_children: Callable | None, from_children: Callable,
                 to_pairs: Callable | None = None):
        self.type = kind
        self.to_children = to_children or self._drop_keys
        self.from_children = from_children
        self.unflatten = self._first_unflatten
        self.to_pairs = to_pairs

    def _first_unflatten(self, aux, children):
        """Rebuild a tree, and check it; later uses skip the check."""
        if self.unflatten is self.from_children:  # native calls may have taken this function
            return self.from_children(aux, children)
        try:
            tree = self.from_children(aux, children)
        except Exception as error:
            error.add_note(explain(
                "tanx.tree.unflatten", "the unflatten function of a class failed.",
                f"class:     {self.type}",
                f"called as: unflatten(aux_data, children), with {len(children)} children"))
            raise
        if any(child is None for child in children):
            return tree  # classes may omit fields that are None: such a tree proves nothing
        self.unflatten = self.from_children
        problem = self._loss(tree, children)
        if problem:
            warn_user(explain(
                "tanx.tree.unflatten", "an unflatten function must undo the flatten function.",
                f"class:    {self.type}", f"returned: {problem}"))
        return tree

    def _loss(self, tree, children) -> str | None:
        """The parts missing from a tree rebuilt from children, or None."""
        if not isinstance(tree, self.type):
            return f"an object of type {type(tree).__name__}"
        try:
            kept, _ = self.flatten(tree)
        except Exception:  # it may need other leaves
            return None
        if len(kept) != len(children):
            return f"an object with {len(kept)} of {len(children)} children"
        gone = sum(child is None for child in kept)
        return f"an object in which {gone} of {len(children)} children are None" if gone else None

    def flatten(self, tree):
        pair = self.to_children(tree)
        if isinstance(pair, tuple) and len(pair) == 2:
            children, aux = pair
            if isinstance(children, (tuple, list)):
                return pair
            if hasattr(type(children), "__iter__"):
                return tuple(children), aux
        raise ValueError(explain(
            "tanx.tree.flatten",
            "a flatten function must return a tuple (children, aux_data), children an iterable.",
            f"class:    {self.type}", f"returned: {shorten(repr(pair), 80)}"))

    def flatten_with_keys(self, tree):
        if self.to_pairs is None:
            return super().flatten_with_keys(tree)
        returned = self.to_pairs(tree)
        try:
            pairs, aux = returned
            keys, children = [], []
            for key, child in pairs:
                keys.append(key)
                children.append(child)
        except (TypeError, ValueError) as error:
            raise ValueError(explain(
                "tanx.tree.flatten",
                "a flatten function with keys must return ((key, child), ...), aux_data.",
                f"class:    {self.type}", f"returned: {shorten(repr(returned), 80)}")) from error
        return keys, children, aux

    def _drop_keys(self, tree):
        _, children, aux = self.flatten_with_keys(tree)
        return children, aux


class DataclassNode(Node):
    """Attributes of an object: those in ``data`` are children, those in ``meta`` aux data.

    Objects are rebuilt by the constructor with keywords, or else attribute by attribute.
    """

    __slots__ = ("data", "meta", "get_data", "get_meta", "unflatten")

    def __init__(self, kind: type, data: tuple[str, ...], meta: tuple[str, ...],
                 constructor: bool = True):
        self.type = kind
        self.data = data
        self.meta = meta
        self.get_data = tuple_getter(data)
        self.get_meta = tuple_getter(meta)
        self.unflatten = self._construct if constructor else self._restore

    def flatten(self, tree):
        return self.get_data(tree), self.get_meta(tree)

    def keys(self, aux, count):
        return map(GetAttrKey, self.data)

    def _construct(self, aux, children):
        fields = dict(zip(self.data, children))
        fields.update(zip(self.meta, aux))
        return self.type(**fields)

    def _restore(self, aux, children):
        tree: Any = object.__new__(self.type)
        for name, value in zip(self.data, children):
            object.__setattr__(tree, name, value)
        for name, value in zip(self.meta, aux):
            object.__setattr__(tree, name, value)
        return tree


# ------------------------------------------------------------------------------------- registry

# Two tables, so that the most common question (is this a leaf?) is one lookup of its type. They
# hold every type seen in a tree: types are few and usually live as long as the program.
nodes: dict[type, Node] = {
    type(None): NoneNode(type(None)),
    tuple: TupleNode(tuple),
    list: ListNode(list),
    dict: DictNode(dict),
    OrderedDict: OrderedDictNode(OrderedDict),
    defaultdict: DefaultDictNode(defaultdict),
}
leaf_types: set[type] = set()


def node_of(kind: type) -> Node | None:
    """The node of a type; None for types of leaves."""
    node = nodes.get(kind)
    if node is not None or kind in leaf_types:
        return node
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        # setdefault: two threads must get the same node, because nodes are compared by `is`.
        return nodes.setdefault(kind, NamedTupleNode(kind))
    leaf_types.add(kind)
    return None


def registered_node(kind: type) -> Node:
    """The node of a type that must have one (unpickling, ``node_data``)."""
    node = node_of(kind)
    if node is None:
        raise RuntimeError(explain(
            "tanx.tree_util.PyTreeDef", "the type of a node must be registered.",
            f"type: {kind}", hint="tanx.tree_util.register_pytree_node registers it."))
    return node


def register(function: str, node: Node) -> None:
    """Register ``node`` for the public ``function``."""
    known = nodes.get(node.type)
    if known is not None and not isinstance(known, NamedTupleNode):
        raise ValueError(explain(
            function, "a type can be registered only once.", f"type: {node.type}"))
    nodes[node.type] = node
    leaf_types.discard(node.type)


def check_type(function: str, kind) -> None:
    """Raise if ``kind`` is not a class."""
    if not isinstance(kind, type):
        raise TypeError(explain(function, "only a class can be registered.", f"got: {kind!r}"))


def check_callable(function: str, parameter: str, value, *arguments: str) -> None:
    """Raise if ``value`` cannot be called with positional ``arguments``."""
    call = f"{parameter}({', '.join(arguments)})"
    if not callable(value):
        raise TypeError(explain(
            function, f"{parameter} must be a function.", f"got: {value!r}",
            hint=f"it is called as {call}."))
    try:
        # Not through __wrapped__: a decorator may change the parameters.
        signature = inspect.signature(value, follow_wrapped=False)
    except (TypeError, ValueError):
        return                                                  # built-in functions may have none
    try:
        signature.bind(*arguments)
    except TypeError as error:
        raise TypeError(explain(
            function, f"{parameter} must take {len(arguments)} positional argument"
            f"{'s' * (len(arguments) > 1)}.", f"signature: {signature}",
            hint=f"it is called as {call}.")) from error
