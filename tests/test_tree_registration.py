"""Pytrees: registering classes as nodes, dataclasses, and ``Partial``."""

import dataclasses
import functools
import operator
import pickle
from collections import OrderedDict
from typing import NamedTuple

import pytest

import tanx.lax
import tanx.tree
from tanx.tree_util import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    Partial,
    SequenceKey,
    is_tree_node,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_structure,
)
from tests.tree_examples import Box, Layer, Mode, error_text

# --------------------------------------------------------------------------------- registration

def test_subclasses_are_registered_on_their_own():
    class Sub(Box):
        pass

    assert tree_leaves([sub := Sub(1)]) == [sub]
    assert register_pytree_node(Sub, lambda s: (s.items, None), lambda _, xs: Sub(*xs)) is None
    assert tree_leaves([sub]) == [1]


def test_a_namedtuple_can_be_registered_after_use():
    class Pair(NamedTuple):
        x: int
        y: int

    assert tree_leaves(Pair(1, 2)) == [1, 2]
    register_pytree_node(Pair, lambda p: ((p.x,), p.y), lambda y, x: Pair(x[0], y))
    assert tree_flatten(Pair(1, 2)) == ([1], tree_structure(Pair(0, 2)))


def test_children_may_be_any_iterable_and_arrive_as_a_tuple():
    class Lazy(Box):
        pass

    register_pytree_node(Lazy, lambda b: ((x for x in b.items), "aux"), lambda *back: back)
    assert tree_map(lambda x: x + 1, Lazy(1, 2)) == ("aux", (2, 3))


def test_registration_errors():
    function = "tanx.tree_util.register_pytree_node: "
    flatten, unflatten = (lambda b: (b.items, None)), (lambda aux, items: Box(*items))
    new = lambda: type("New", (Box,), {})
    check = functools.partial(error_text, TypeError, register_pytree_node)
    assert error_text(ValueError, register_pytree_node, Box, flatten, unflatten) == (
        f"{function}a type can be registered only once.\n  type: {Box}")
    assert check(3, flatten, unflatten) == function + "only a class can be registered.\n  got: 3"
    assert check(new(), 3, unflatten) == (
        function + "flatten_func must be a function.\n  got: 3\n"
        "  Hint: it is called as flatten_func(value).")
    assert check(new(), flatten, None) == (
        function + "unflatten_func must be a function.\n  got: None\n"
        "  Hint: it is called as unflatten_func(aux_data, children).")
    assert check(new(), lambda: 0, unflatten) == (
        function + "flatten_func must take 1 positional argument.\n  signature: ()\n"
        "  Hint: it is called as flatten_func(value).")
    assert check(new(), flatten, lambda items: Box(*items)) == (
        function + "unflatten_func must take 2 positional arguments.\n  signature: (items)\n"
        "  Hint: it is called as unflatten_func(aux_data, children).")
    assert check(new(), flatten, unflatten, 5) == (
        function + "flatten_with_keys_func must be a function.\n  got: 5\n"
        "  Hint: it is called as flatten_with_keys_func(value).")
    for kind in (tuple, OrderedDict, type(None)):
        with pytest.raises(ValueError):
            register_pytree_node(kind, flatten, unflatten)


def test_decorators_may_change_parameters():
    def three(config, aux, children):
        return Box(*children)

    @functools.wraps(three)
    def two(*args):
        return three("config", *args)

    class Wrapped(Box):
        pass

    register_pytree_node(Wrapped, operator.attrgetter("pair"), two)
    assert is_tree_node(Wrapped)


@pytest.mark.parametrize("returned", [3, (3, None), [[1, 2], None], ((1, 2),), ((1,), 2, 3)])
def test_wrong_result_of_a_flatten_function(returned):
    class Bad(Box):
        pass

    register_pytree_node(Bad, lambda b: returned, lambda aux, items: None)
    assert error_text(ValueError, tree_flatten, Bad()) == (
        "tanx.tree.flatten: a flatten function must return a tuple (children, aux_data), children "
        f"an iterable.\n  class:    {Bad}\n  returned: {returned}")


def test_with_keys():
    class Named(Box):
        pass

    register_pytree_with_keys(
        Named, lambda b: ([(f"key{i}", x) for i, x in enumerate(b.items)], b.mark),
        lambda mark, items: Named(*items, mark=mark))
    assert tree_flatten_with_path(Named(1, 2))[0] == [(("key0",), 1), (("key1",), 2)]
    assert tree_leaves(Named(1, (2, 3))) == [1, 2, 3]
    assert tree_map(lambda x: x + 1, Named(1, 2)).items == (2, 3)

    class Both(Box):
        pass

    register_pytree_with_keys(Both, lambda b: 1 / 0, lambda *_: None, lambda b: (b.items, None))
    assert tree_leaves(Both(1)) == [1]

    class Bad(Box):
        pass

    register_pytree_with_keys(Bad, lambda b: (b.items, None), lambda *_: None)
    text = ("tanx.tree.flatten: a flatten function with keys must return ((key, child), ...), "
            f"aux_data.\n  class:    {Bad}\n  returned: ((1,), None)")
    assert error_text(ValueError, tree_flatten, Bad(1)) == text
    assert error_text(ValueError, tree_flatten_with_path, Bad(1)) == text
    assert error_text(TypeError, register_pytree_with_keys, type("X", (), {}), 3, 4) == (
        "tanx.tree_util.register_pytree_with_keys: flatten_with_keys must be a function.\n"
        "  got: 3\n  Hint: it is called as flatten_with_keys(value).")


def test_classes_with_methods():
    @register_pytree_node_class
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

        def tree_flatten(self):
            return (self.a, self.b), "x"

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    assert repr(tree_structure(Pair(1, [2]))) == "PyTreeDef(CustomNode(Pair[x], [*, [*]]))"
    assert type(tree_map(lambda x: x, Pair(1, 2))) is Pair

    @register_pytree_with_keys_class
    class Keyed(Pair):
        def tree_flatten_with_keys(self):
            return ((GetAttrKey("a"), self.a), ("b", self.b)), "x"

    assert tree_leaves_with_path(Keyed(1, (2,))) == [
        ((GetAttrKey("a"),), 1), (("b", SequenceKey(0)), 2)]
    assert tree_leaves(Keyed(1, (2,))) == [1, 2]


def test_classes_with_wrong_methods():
    class Nothing:
        pass

    for register, method in [(register_pytree_node_class, "tree_flatten"),
                             (register_pytree_with_keys_class, "tree_flatten_with_keys")]:
        assert error_text(AttributeError, register, Nothing) == (
            f"tanx.tree_util.{register.__name__}: the class must have a method {method}.\n"
            f"  class: {Nothing}")

    class NoClassmethod:
        def tree_flatten(self):
            return (), None

        def tree_unflatten(cls, aux, children):
            return cls()

    assert error_text(TypeError, register_pytree_node_class, NoClassmethod) == (
        "tanx.tree_util.register_pytree_node_class: tree_unflatten must take 2 positional "
        "arguments.\n  signature: (cls, aux, children)\n"
        "  Hint: it is called as tree_unflatten(aux_data, children).")


def test_static():
    assert tree_leaves((Mode(1), 2)) == [2]
    assert tree_map(lambda x: x + 1, (Mode(1), 2)) == (Mode(1), 3)
    assert tree_structure(Mode(1)) == tree_structure(Mode(1)) != tree_structure(Mode(2))


# ---------------------------------------------------------------------------------- dataclasses

def three_fields(**options):
    @dataclasses.dataclass(**options)
    class Three:
        x: int
        y: int = 0
        z: int = 0

    return Three


def test_register_dataclass():
    @register_dataclass
    @dataclasses.dataclass(frozen=True)
    class Auto:
        x: int
        y: int = tanx.tree.static(default=3)
        z: int = 0

    assert tree_flatten_with_path(Auto(1, 2, 3))[0] == [
        ((GetAttrKey("x"),), 1), ((GetAttrKey("z"),), 3)]
    assert tree_structure(Auto(1, 2, 3)).node_data() == (Auto, (2,))
    assert tree_map(lambda x: x + 1, Auto(1)) == Auto(2, 3, 1)
    kind = register_dataclass(three_fields(), iter(["z", "x"]), ["y"])
    assert tree_leaves(kind(1, 2, 3)) == [3, 1]
    assert tree_map(lambda x: x + 1, kind(1)) == kind(2, 0, 1)
    kind = register_dataclass(three_fields(), ["x"], ["y"], ["z"])
    assert tree_map(lambda x: x, kind(1, 2, 3)) == kind(1, 2, 0)
    kind = register_dataclass(three_fields(), drop_fields=["z"])
    assert tree_leaves(kind(1, 2, 3)) == [1, 2]

    class Plain:
        def __init__(self, a):
            self.a = a

    register_dataclass(Plain, ["a"], [])
    assert tree_map(lambda x: x + 1, Plain(1)).a == 2


RULE = "data_fields and meta_fields must hold each field with init=True once."


@pytest.mark.parametrize("data, meta, drop, problems", [
    (["x"], ["y"], [], ["missing: z"]),
    (["x", "q"], ["y", "z"], [], ["unexpected: q"]),
    (["x", "y"], ["y", "z"], [], ["listed twice: y"]),
    (["x"], ["y", "z"], ["z"], ["unexpected: z"]),
    (["x", "x"], ["p"], [], ["listed twice: x", "missing: y, z", "unexpected: p"])])
def test_fields_that_do_not_match(data, meta, drop, problems):
    kind = three_fields()
    assert error_text(ValueError, register_dataclass, kind, data, meta, drop) == "\n  ".join([
        f"tanx.tree_util.register_dataclass: {RULE}", f"class: {kind}", *problems,
        "Hint: drop_fields is for fields to be dropped."])
    assert not is_tree_node(kind)


def test_register_dataclass_errors():
    function = "tanx.tree_util.register_dataclass: "
    assert error_text(TypeError, register_dataclass, three_fields(), ["x", "y", "z"]) == (
        function + "data_fields and meta_fields must be given together.\n"
        "  data_fields: ['x', 'y', 'z']\n  meta_fields: None")
    assert error_text(TypeError, register_dataclass, 3) == (
        function + "a class that is not a dataclass needs data_fields and meta_fields.\n  got: 3")
    assert error_text(TypeError, register_dataclass, 3, [], []) == (
        function + "only a class can be registered.\n  got: 3")
    kind = register_dataclass(three_fields())
    assert error_text(ValueError, register_dataclass, kind) == (
        f"{function}a type can be registered only once.\n  type: {kind}")

    @dataclasses.dataclass
    class Late:
        x: int
        y: int = dataclasses.field(init=False, default=5)

    with pytest.raises(ValueError, match="unexpected: y"):
        register_dataclass(Late)


def test_dataclass_decorator():
    assert tree_flatten(Layer(1, (2, 3))) == ([1, 2, 3], tree_structure(Layer(0, (0, 0))))
    assert tree_map(lambda x: 2 * x, Layer(1, [2], "first")) == Layer(2, [4], "first")
    with pytest.raises(dataclasses.FrozenInstanceError):
        Layer(1).weight = 2
    assert dataclasses.replace(Layer(1), weight=2) == Layer(2)
    assert dataclasses.is_dataclass(Layer) and Layer(1) != Layer(1, name="other")


@pytest.mark.parametrize("options", [dict(), dict(frozen=False), dict(slots=True),
                                     dict(kw_only=True, eq=False)])
def test_dataclass_decorator_bypasses_init(options):
    @tanx.tree.dataclass(**options)
    class Checked:
        x: int
        twice: int = dataclasses.field(init=False)
        unit: str = tanx.tree.static(default="m")

        def __post_init__(self):
            assert isinstance(self.x, int)
            object.__setattr__(self, "twice", 2 * self.x)

    treedef = tree_structure(Checked(x=1))
    back = treedef.unflatten([object, None])
    assert (back.x, back.twice, back.unit) == (object, None, "m")
    assert tree_leaves(Checked(x=3)) == [3, 6]


def test_static_fields():
    assert tanx.tree.static(default=3).metadata == {"static": True}
    assert tanx.tree.static(metadata={"a": 1}).metadata == {"static": True, "a": 1}
    assert tanx.tree.static(metadata={"static": False}).metadata == {"static": False}
    assert tanx.tree.static(default=3).default == 3


# -------------------------------------------------------------------------------------- Partial

def test_partial():
    both = lambda *args, **kw: (args, kw)
    partial = Partial(both, 1, a=2)
    assert partial(3, b=4) == ((1, 3), {"a": 2, "b": 4}) and isinstance(partial, functools.partial)
    assert tree_map(lambda x: x * 10, partial)(3) == ((10, 3), {"a": 20})
    assert tree_structure(partial) == tree_structure(Partial(both, 5, a=6))
    assert tree_structure(partial).node_data() == (Partial, both)
    assert [path for path, _ in tree_leaves_with_path(partial)] == [
        (FlattenedIndexKey(0), SequenceKey(0)), (FlattenedIndexKey(1), DictKey("a"))]
    with pytest.raises(TypeError):
        Partial(3)


@pytest.mark.parametrize("kind", [functools.partial, Partial])
def test_partial_of_a_partial_keeps_the_inner_one_whole(kind):
    inner = kind(max, 1)
    outer = Partial(inner, 2)
    assert outer(0) == 2 and tree_leaves(outer) == [2]
    assert tree_structure(outer) == tree_structure(Partial(inner, 3))
    assert hash(tree_structure(outer)) == hash(tree_structure(Partial(inner, 3)))
    assert tree_structure(outer) != tree_structure(Partial(kind(max, 1), 2))
    assert pickle.loads(pickle.dumps(outer))(0) == 2
