"""Structures of pytrees as plain data, and registrations of users' node types.

A structure is a list of records, children first: ``None`` is a leaf, and a node is its kind, the
number of its children, and its other data. Kinds are ``none``, ``tuple``, ``list`` and ``dict``,
and the names under which users register types.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .._base.tuples import NamedTuple
from .._core.serial import Unwritable, write_value
from ..errors import explain
from ..tree_util import PyTreeDef, default_registry, is_tree_node, register_pytree_node
from .container import Damaged
from .program import value_of

__all__ = ["register_namedtuple_serialization", "register_pytree_node_serialization"]

_BUILTIN: dict[type, str] = {type(None): "none", tuple: "tuple", list: "list", dict: "dict"}
_TYPES = {name: kind for kind, name in _BUILTIN.items()}
MOST_NODES = 1 << 20


class _Registration(NamedTuple):
    """How nodes of a type are written and read."""

    kind: type
    name: str
    serialize: Callable[[Any], bytes]
    deserialize: Callable[[bytes], Any]


_by_type: dict[type, _Registration] = {}
_by_name: dict[str, _Registration] = {}


def register_namedtuple_serialization(nodetype: type, *, serialized_name: str) -> type:
    """Let structures with a named tuple be stored, under a name; returns the type.

    >>> import collections
    >>> Point = collections.namedtuple("Point", "x y")
    >>> register_namedtuple_serialization(Point, serialized_name="docs.Point").__name__
    'Point'
    """
    if not (issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ValueError(explain(
            "tanx.export.register_namedtuple_serialization", "is for named tuples only.",
            f"type: {nodetype}",
            hint="register_pytree_node_serialization is for other types."))

    def restore(data: bytes) -> None:
        if data:
            raise ValueError("a named tuple has no data besides its fields")

    return _register("tanx.export.register_namedtuple_serialization",
                     _Registration(nodetype, serialized_name, lambda aux: b"", restore))


def register_pytree_node_serialization(
        nodetype: type, *, serialized_name: str, serialize_auxdata: Callable[[Any], bytes],
        deserialize_auxdata: Callable[[bytes], Any],
        from_children: Callable[[Any, Any], Any] | None = None) -> type:
    """Let structures with nodes of a type be stored, under a name; returns the type.

    ``serialize_auxdata`` converts the data of a node besides its children to bytes, and
    ``deserialize_auxdata`` is the inverse. The type must be a pytree already, unless
    ``from_children(auxdata, children)`` is given: then nodes can be made, but not flattened.

    >>> class Box:
    ...     def __init__(self, item): self.item = item
    >>> tanx.tree_util.register_pytree_node(Box, lambda b: ((b.item,), None), lambda _, c: Box(*c))
    >>> register_pytree_node_serialization(
    ...     Box, serialized_name="docs.Box", serialize_auxdata=lambda aux: b"",
    ...     deserialize_auxdata=lambda data: None).__name__
    'Box'
    """
    name = "tanx.export.register_pytree_node_serialization"
    if not is_tree_node(nodetype):
        if from_children is None:
            raise ValueError(explain(
                name, "the type is not a pytree.", f"type: {nodetype}",
                hint="call tanx.tree_util.register_pytree_node first, or pass from_children."))
        register_pytree_node(nodetype, _cannot_flatten(nodetype), from_children)
    return _register(name, _Registration(nodetype, serialized_name, serialize_auxdata,
                                         deserialize_auxdata))


def _cannot_flatten(nodetype: type) -> Callable:
    def flatten(node):
        raise TypeError(explain(
            "tanx.export", f"{nodetype.__name__} can be made from its children, but not flattened.",
            hint="call tanx.tree_util.register_pytree_node before the type is registered here."))
    return flatten


def _register(function: str, registration: _Registration) -> type:
    kind, name = registration.kind, registration.name
    if kind in _by_type or kind in _BUILTIN:
        raise ValueError(explain(
            function, "the type is registered already.", f"type: {kind}",
            f"as:   {_by_type[kind].name if kind in _by_type else _BUILTIN[kind]!r}"))
    if name in _by_name or name in _TYPES:
        raise ValueError(explain(
            function, "the name is taken already.", f"name: {name!r}",
            f"by:   {_by_name[name].kind if name in _by_name else _TYPES[name]}"))
    _by_type[kind] = _by_name[name] = registration
    return kind


register_pytree_node_serialization(
    OrderedDict, serialized_name="collections.OrderedDict",
    serialize_auxdata=lambda keys: write_value(tuple(keys)).encode(),
    deserialize_auxdata=lambda data: tuple(value_of(data)))


def tree_records(function: str, tree: PyTreeDef) -> list:
    """A structure as plain data."""
    records: list = []
    stack = [(tree, False)]
    while stack:
        node, seen = stack.pop()
        children = node.children()
        if children and not seen:
            stack.append((node, True))
            stack += [(child, False) for child in reversed(children)]
        else:
            records.append(_record(function, node, len(children)))
    return records


def _record(function: str, node: PyTreeDef, count: int) -> tuple | None:
    data = node.node_data()
    if data is None:
        return None
    kind, aux = data
    if kind in _BUILTIN:
        keys = tuple(aux) if kind is dict else ()
        try:
            write_value(keys)
        except Unwritable:
            raise ValueError(explain(
                function, "keys of dicts must be strings, numbers, or tuples of them.",
                f"keys: {keys}")) from None
        return _BUILTIN[kind], count, keys
    registration = _by_type.get(kind)
    if registration is None:
        raise ValueError(explain(
            function, "a structure has a node of a type that has no form as bytes.",
            f"type: {kind}",
            hint="tanx.export.register_pytree_node_serialization and "
                 "register_namedtuple_serialization define how it is stored."))
    stored = registration.serialize(aux)
    if not isinstance(stored, bytes | bytearray):
        raise TypeError(explain(
            function, "serialize_auxdata must return bytes.", f"type: {kind}",
            f"it gave: {type(stored).__name__}"))
    return registration.name, count, bytes(stored)


def tree_of(records: Any) -> PyTreeDef:
    """A structure from plain data."""
    if not isinstance(records, list) or len(records) > MOST_NODES:
        raise Damaged("a structure is not a list of nodes")
    stack: list[PyTreeDef] = []
    for record in records:
        count = 0
        if record is not None:
            if not (isinstance(record, tuple) and len(record) == 3 and isinstance(record[0], str)
                    and type(record[1]) is int and 0 <= record[1] <= len(stack)):
                raise Damaged("a structure has an item that is not a node")
            count = record[1]
        children = stack[len(stack) - count:]
        del stack[len(stack) - count:]
        try:
            stack.append(PyTreeDef.from_node_data_and_children(
                default_registry, record and _node_data(record[0], record[2]), children))
        except (RuntimeError, TypeError, ValueError, KeyError, AttributeError) as error:
            if isinstance(error, Damaged):
                raise
            raise Damaged(f"a structure has an invalid node: {error}") from error
    if len(stack) != 1:
        raise Damaged("a structure has several roots")
    return stack[0]


def _node_data(name: str, stored: Any) -> tuple[type, Any]:
    """The type of a node and its other data."""
    if name in _TYPES:
        kind = _TYPES[name]
        if not isinstance(stored, tuple) or (kind is not dict and stored):
            raise Damaged(f"a {name} has no such keys")
        return kind, list(stored) if kind is dict else None
    registration = _by_name.get(name)
    if registration is None:
        raise Damaged(f"a structure has a node of type {name!r}, which is not registered here")
    if not isinstance(stored, bytes):
        raise Damaged(f"a {name} without its data")
    return registration.kind, registration.deserialize(stored)
