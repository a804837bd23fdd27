"""Trees of every kind of node, for the tests of pytrees."""

import dataclasses
from collections import OrderedDict, defaultdict, namedtuple

import pytest
from hypothesis import strategies as st

import tanx.tree
from tanx.tree_util import register_pytree_node, register_static

Point = namedtuple("Point", "x y")
Other = namedtuple("Other", "x y")


class Box:
    """A class registered with functions; the mark is auxiliary data."""

    def __init__(self, *items, mark=None):
        self.items, self.mark = items, mark

    def __eq__(self, other):
        return type(other) is Box and (self.items, self.mark) == (other.items, other.mark)

    __hash__ = None


register_pytree_node(Box, lambda b: (b.items, b.mark), lambda mark, items: Box(*items, mark=mark))


@tanx.tree.dataclass
class Layer:
    weight: object
    bias: object = None
    name: str = dataclasses.field(default="dense", metadata=dict(static=True))


@register_static
@dataclasses.dataclass(frozen=True)
class Mode:
    value: int


def is_none(x):
    return x is None


def error_text(kind, function, *args, **kwargs) -> str:
    with pytest.raises(kind) as caught:
        function(*args, **kwargs)
    return str(caught.value)


def containers(children):
    keys = st.one_of(st.text(max_size=3), st.integers(0, 9)).flatmap(
        lambda key: st.dictionaries(
            st.text(max_size=3) if isinstance(key, str) else st.integers(0, 9), children,
            max_size=3))
    return st.one_of(
        st.lists(children, max_size=4), st.lists(children, max_size=3).map(tuple), keys,
        keys.map(OrderedDict), keys.map(lambda d: defaultdict(int, d)),
        st.tuples(children, children).map(lambda xy: Point(*xy)),
        st.lists(children, max_size=3).map(lambda items: Box(*items, mark=len(items))),
        st.tuples(children, children).map(lambda wb: Layer(*wb)))


trees = st.recursive(
    st.one_of(st.none(), st.integers(), st.floats(allow_nan=False), st.builds(Mode, st.just(1))),
    containers, max_leaves=25)
