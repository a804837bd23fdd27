"""Pytrees: nodes, flattening and unflattening, and messages."""

import copy
import functools
import operator
import pickle
import threading
from collections import OrderedDict, UserDict, defaultdict, namedtuple
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tanx.lax
import tanx.numpy as jnp
import tanx.tree
from tanx import tree_util
from tanx._base.treedef import WALKS
from tanx.errors import JaxRuntimeError
from tanx.tree_util import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    Partial,
    PyTreeDef,
    SequenceKey,
    all_leaves,
    broadcast_prefix,
    default_registry,
    flatten_one_level,
    flatten_one_level_with_keys,
    flattener,
    is_tree_node,
    keystr,
    prefix_errors,
    register_static,
    tree_all,
    tree_broadcast,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_map_with_path,
    tree_reduce,
    tree_reduce_associative,
    tree_structure,
    tree_transpose,
    tree_unflatten,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)
from tests.tree_examples import Box, Layer, Mode, Other, Point, error_text, is_none, trees

# ----------------------------------------------------------------------------- nodes and leaves

# The texts are those of JAX 0.12.
SHOWN = [
    (1, "PyTreeDef(*)"),
    ("text", "PyTreeDef(*)"),
    (None, "PyTreeDef(None)"),
    ((), "PyTreeDef(())"),
    ([], "PyTreeDef([])"),
    ({}, "PyTreeDef({})"),
    ((1,), "PyTreeDef((*,))"),
    ([1], "PyTreeDef([*])"),
    ((1, 2), "PyTreeDef((*, *))"),
    ({"a": 1, "b": (1, None)}, "PyTreeDef({'a': *, 'b': (*, None)})"),
    ({1: 2, 0: 3}, "PyTreeDef({0: *, 1: *})"),
    ({(1, 2): 3, (0, 1): 4}, "PyTreeDef({(0, 1): *, (1, 2): *})"),
    (OrderedDict(b=1, a=2), "PyTreeDef(CustomNode(OrderedDict[('b', 'a')], [*, *]))"),
    (defaultdict(list, {"b": 1, "a": 2}),
     "PyTreeDef(CustomNode(defaultdict[(<class 'list'>, ('a', 'b'))], [*, *]))"),
    (Point(1, (2, None)), "PyTreeDef(CustomNode(namedtuple[Point], [*, (*, None)]))"),
    (Box(1, 2), "PyTreeDef(CustomNode(Box[None], [*, *]))"),
    (Box(1, mark="x"), "PyTreeDef(CustomNode(Box[x], [*]))"),
    (Layer(1, [2]), "PyTreeDef(CustomNode(Layer[('dense',)], [*, [*]]))"),
    (Partial(max, 1, key=2),
     "PyTreeDef(CustomNode(Partial[<built-in function max>], [(*,), {'key': *}]))"),
    ((Mode(1), 2), "PyTreeDef((CustomNode(Mode[Mode(value=1)], []), *))"),
]


@pytest.mark.parametrize("tree, text", SHOWN, ids=lambda value: str(value)[:30])
def test_structures_print_as_in_jax(tree, text):
    assert repr(tree_structure(tree)) == str(tree_structure(tree)) == text


@pytest.mark.parametrize("make", [
    lambda: type("Tuple", (tuple,), {})((1,)), lambda: type("List", (list,), {})([1]),
    lambda: type("Dict", (dict,), {})(a=1), lambda: UserDict(a=1), lambda: {1}, lambda: "ab",
    lambda: np.zeros(2), lambda: type("SubBox", (Box,), {})(1)])
def test_all_else_is_a_leaf_even_subclasses(make):
    tree = make()
    leaves, treedef = tree_flatten(tree)
    assert len(leaves) == 1 and leaves[0] is tree and repr(treedef) == "PyTreeDef(*)"


def test_order_of_leaves():
    assert tree_leaves({"b": 1, "a": 2}) == [2, 1]
    assert tree_leaves(OrderedDict(b=1, a=2)) == [1, 2]
    assert tree_leaves(defaultdict(int, b=1, a=2)) == [2, 1]
    assert tree_leaves([1, (2, None), {"b": 4, "a": 3}, Point(5, 6)]) == [1, 2, 3, 4, 5, 6]
    assert list(tree_map(lambda x: x, {"b": 1, "a": 2})) == ["a", "b"]
    assert list(tree_map(lambda x: x, OrderedDict(b=1, a=2))) == ["b", "a"]
    assert tree_leaves({True: 1, False: 2}) == [2, 1]


def test_keys_keep_their_types():
    """Structures with keys 1 and True are equal, but each tree keeps its own keys."""
    for key in (1, True, 1.0):
        (back,) = tree_map(lambda x: x, {key: 0})
        assert type(back) is type(key)


def test_a_namedtuple_without_names_is_a_node():
    class Empty(NamedTuple):
        pass

    assert tree_flatten(Empty()) == ([], tree_structure(Empty()))
    assert isinstance(tree_map(lambda x: x, Empty()), Empty)


def test_nodes_compare_by_identity_whichever_thread_met_them_first():
    fresh = [namedtuple(f"Fresh{i}", "x") for i in range(50)]
    found = [[] for _ in range(4)]
    threads = [threading.Thread(target=lambda out=out: out.extend(
        tree_structure(kind(1)) for kind in fresh)) for out in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1] == found[2] == found[3]


def test_sorting_error():
    assert error_text(ValueError, tree_flatten, [{1: 2, "a": 3}]) == (
        "tanx.tree.flatten: the keys of a dict must be sortable: leaves are in the order of the "
        "keys.\n"
        "  keys: 1, 'a'\n"
        "  Hint: use keys of one type, or a collections.OrderedDict, which has its own order.")


def test_is_leaf_is_called_before_flattening_a_node():
    seen = []
    leaves, treedef = tree_flatten([1, (2, None), {}], is_leaf=lambda x: seen.append(x))
    assert seen == [[1, (2, None), {}], 1, (2, None), 2, None, {}]
    assert (leaves, repr(treedef)) == ([1, 2], "PyTreeDef([*, (*, None), {}])")
    assert tree_flatten([1, (2, None)], is_none)[0] == [1, 2, None]
    assert tree_structure([None], is_leaf=is_none) == tree_structure([1])
    assert tree_leaves((1, 2), is_leaf=lambda x: True) == [(1, 2)]


def test_queries():
    assert [is_tree_node(t) for t in (
        int, list, tuple, dict, OrderedDict, defaultdict, Point, type(None), Layer, Partial)] == [
            False, True, True, True, True, True, True, True, True, True]
    assert not is_tree_node(3) and not is_tree_node([1])
    assert all_leaves([1, 2]) and all_leaves([]) and all_leaves([(1,)], lambda x: True)
    assert not all_leaves([1, None]) and not all_leaves([()]) and not all_leaves(
        [1, (1,)], is_leaf=lambda x: False)


def test_flatten_one_level():
    assert flatten_one_level({"b": 1, "a": (2, 3)}) == (((2, 3), 1), ("a", "b"))
    assert flatten_one_level((1, [2])) == ((1, [2]), None)
    assert flatten_one_level([1]) == ([1], None)
    assert flatten_one_level(None) == ((), None)
    assert flatten_one_level(Point(1, 2)) == ([1, 2], Point)
    assert flatten_one_level(OrderedDict(a=1)) == ([1], ("a",))
    assert flatten_one_level(defaultdict(int, b=1, a=2)) == ([2, 1], (int, ("a", "b")))
    assert flatten_one_level(Box(1, mark=2)) == ((1,), 2)
    assert flatten_one_level_with_keys({"a": 1}) == (((DictKey("a"), 1),), ("a",))
    assert flatten_one_level_with_keys([5]) == (((SequenceKey(0), 5),), None)
    assert flatten_one_level_with_keys(None) == ((), None)
    assert error_text(ValueError, flatten_one_level, 3) == (
        "tanx.tree_util.flatten_one_level: the tree must be a node.\n  got: leaf of type int")
    assert error_text(ValueError, flatten_one_level_with_keys, 3) == (
        "tanx.tree_util.flatten_one_level_with_keys: the tree must be a node.\n"
        "  got: leaf of type int")


# ---------------------------------------------------------------------------------- round trips


@given(trees)
def test_flatten_and_unflatten_are_inverse(tree):
    leaves, treedef = tree_flatten(tree)
    back = tree_unflatten(treedef, leaves)
    assert back == tree and type(back) is type(tree)
    assert tree_structure(back) == treedef and hash(tree_structure(back)) == hash(treedef)
    assert treedef.num_leaves == len(leaves)
    assert treedef.num_nodes == 1 + sum(child.num_nodes for child in treedef.children())


@given(trees)
def test_every_way_to_flatten_agrees(tree):
    leaves, treedef = tree_flatten(tree)
    paths, with_path = tree_flatten_with_path(tree)
    assert [leaf for _, leaf in paths] == leaves and with_path == treedef
    assert tree_flatten(tree, is_leaf=lambda x: False) == (leaves, treedef)
    assert treedef.flatten_up_to(tree) == flattener(treedef)(tree) == leaves
    assert len({keystr(path) for path, _ in paths}) == len(paths) or not treedef.num_leaves
    assert default_registry.flatten(tree) == (leaves, treedef)


@settings(max_examples=30)
@given(trees)
def test_compiled_code_agrees_with_the_walk(tree):
    leaves, treedef = tree_flatten(tree)
    for _ in range(WALKS + 3):
        assert treedef.unflatten(leaves) == tree


@given(trees, trees)
def test_flattener_knows_its_structure(a, b):
    match = flattener(tree_structure(a))(b)
    assert (match == tree_leaves(b)) if tree_structure(a) == tree_structure(b) else match is None


@given(trees)
def test_structures_survive_pickle_and_copy(tree):
    treedef = tree_structure(tree)
    for back in (pickle.loads(pickle.dumps(treedef)), copy.copy(treedef), copy.deepcopy(treedef)):
        assert back == treedef and hash(back) == hash(treedef) and repr(back) == repr(treedef)


@given(trees)
def test_structures_are_rebuilt_from_their_parts(tree):
    treedef = tree_structure(tree)
    assert PyTreeDef.from_node_data_and_children(
        default_registry, treedef.node_data(), treedef.children()) == treedef
    assert treedef.compose(tree_structure(0)) == tree_structure(0).compose(treedef) == treedef


plain = st.recursive(st.one_of(st.none(), st.integers()), lambda children: st.one_of(
    st.lists(children, max_size=4), st.lists(children, max_size=3).map(tuple),
    st.dictionaries(st.text(max_size=3), children, max_size=3)), max_leaves=25)


@given(plain)
def test_bytes_of_structures(tree):
    treedef = tree_structure(tree)
    data = treedef.serialize_using_proto()
    assert PyTreeDef.deserialize_using_proto(default_registry, data) == treedef


@given(st.binary(max_size=40))
def test_damaged_bytes_are_refused(data):
    try:
        PyTreeDef.deserialize_using_proto(default_registry, data)
    except JaxRuntimeError as error:
        assert str(error) == (
            "tanx.tree_util.PyTreeDef.deserialize_using_proto: the bytes are not a PyTreeDef.")


def test_serialized_bytes_match_jax():
    assert tree_structure({"a": 1, "b": (1, None)}).serialize_using_proto() == (
        b"\n\x02\x10\x01\n\x02\x10\x01\n\x02\x10\x03\n\x04\x08\x02\x10\x04"
        b"\n\n\x08\x02\x10\x05\x1a\x04\n\x02\x00\x01\x12\x01a\x12\x01b")
    assert tree_structure({"é": 1, "z": {"é": 1}}).serialize_using_proto() == (
        b"\n\x02\x10\x01\n\t\x08\x01\x10\x05\x1a\x03\n\x01\x00\n\x02\x10\x01"
        b"\n\n\x08\x02\x10\x05\x1a\x04\n\x02\x01\x00\x12\x02\xc3\xa9\x12\x01z")
    assert tree_structure(list(range(200))).serialize_using_proto().endswith(
        b"\n\x02\x10\x01\n\x05\x08\xc8\x01\x10\x02")
    assert error_text(ValueError, tree_structure(Point(1, 2)).serialize_using_proto) == (
        "tanx.tree_util.PyTreeDef.serialize_using_proto: only None, tuple, list and dict have a "
        f"form as bytes.\n  node: {Point}\n  Hint: pickle takes nodes of other types.")
    assert error_text(ValueError, tree_structure({1: 2}).serialize_using_proto) == (
        "tanx.tree_util.PyTreeDef.serialize_using_proto: keys of dicts must be strings.\n"
        "  key: 1\n  Hint: pickle takes other keys.")


def test_deep_trees():
    tree = functools.reduce(lambda inner, _: [inner], range(300), 1)
    leaves, treedef = tree_flatten(tree)
    assert leaves == [1] and treedef.num_nodes == 301
    assert tree_map(lambda x: x, tree) == tree and flattener(treedef)(tree) == [1]
    assert treedef == tree_structure(tree) and hash(treedef) == hash(tree_structure(tree))
    for _ in range(WALKS + 2):
        assert treedef.unflatten([1]) == tree


@pytest.mark.oracle
def test_agrees_with_jax():
    """Structures, leaves and paths of random trees, printed, against the oracle."""
    jax = pytest.importorskip("jax")

    @given(st.recursive(st.one_of(st.none(), st.integers()), lambda children: st.one_of(
        st.lists(children, max_size=4), st.lists(children, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), children, max_size=3),
        st.dictionaries(st.text(max_size=3), children, max_size=3).map(OrderedDict),
        st.tuples(children, children).map(lambda xy: Point(*xy))), max_leaves=25))
    def check(tree):
        ours, theirs = tree_flatten(tree), jax.tree_util.tree_flatten(tree)
        assert ours[0] == theirs[0] and repr(ours[1]) == repr(theirs[1])
        paths = jax.tree_util.tree_flatten_with_path(tree)
        assert repr(tree_flatten_with_path(tree)) == repr(paths)

    check()


# ------------------------------------------------------------------------------------ PyTreeDef

def test_node_data_and_children():
    treedef = tree_structure({"b": 1, "a": (2, None)})
    assert (treedef.num_leaves, treedef.num_nodes) == (2, 5)
    assert treedef.node_data() == (dict, ["a", "b"])
    assert list(map(repr, treedef.children())) == ["PyTreeDef((*, None))", "PyTreeDef(*)"]
    assert treedef_children(treedef) == treedef.children()
    for tree, data in [(1, None), (None, (type(None), None)), ((), (tuple, None)),
                       ([1], (list, None)), (OrderedDict(b=1), (OrderedDict, ("b",))),
                       (defaultdict(int, b=1), (defaultdict, (int, ("b",)))),
                       (Point(1, 2), (Point, None)), (Box(mark=3), (Box, 3)),
                       (Layer(1), (Layer, ("dense",))), (Mode(1), (Mode, Mode(1)))]:
        assert tree_structure(tree).node_data() == data
    for tree, leaf in [(1, True), (None, True), ((), True), ([1], False)]:
        assert treedef_is_leaf(tree_structure(tree)) is leaf


def test_from_node_data():
    make = functools.partial(PyTreeDef.from_node_data_and_children, default_registry)
    leaf = tree_structure(0)
    assert repr(make((dict, ["b", "a"]), iter([leaf, leaf]))) == "PyTreeDef({'b': *, 'a': *})"
    assert make((list, 3), [leaf]) == tree_structure([0])
    function = "tanx.tree_util.PyTreeDef.from_node_data_and_children: "
    assert error_text(RuntimeError, make, (dict, ["a"]), [leaf, leaf]) == (
        function + "a dict has one child for each key.\n  keys:     ('a',)\n  children: 2")
    assert error_text(RuntimeError, make, (type(None), None), [leaf]) == (
        function + "None has no children.\n  children: 1")
    assert error_text(RuntimeError, make, None, [leaf]) == (
        function + "a leaf has no children.\n  children: 1")
    assert error_text(RuntimeError, make, (int, None), []) == (
        "tanx.tree_util.PyTreeDef: the type of a node must be registered.\n  type: <class 'int'>\n"
        "  Hint: tanx.tree_util.register_pytree_node registers it.")


def test_equality_and_hash():
    one, same, other = map(tree_structure, ([1, {"a": 2}], [3, {"a": 4}], [1, {"b": 2}]))
    assert one == same and hash(one) == hash(same) and one != other
    assert one != 3 and one is not None and not one == "PyTreeDef"
    assert tree_structure(OrderedDict(a=1, b=2)) != tree_structure(OrderedDict(b=1, a=2))
    assert tree_structure(defaultdict(int)) != tree_structure(defaultdict(list))
    assert tree_structure(Point(1, 2)) != tree_structure(Other(1, 2))
    assert tree_structure((1, 2)) != tree_structure([1, 2]) != tree_structure(Point(1, 2))
    assert {one: "found"}[same] == "found"
    with pytest.raises(TypeError):
        one < same  # noqa: B015
    with pytest.raises(AttributeError):
        one.num_leaves = 3
    with pytest.raises(TypeError):
        PyTreeDef()


def test_unhashable_aux_data():
    treedef = tree_structure([0, Box(1, mark=[1])])
    assert tree_map(lambda x: x + 1, Box(1, mark=[1])) == Box(2, mark=[1])
    assert treedef == tree_structure([0, Box(1, mark=[1])])
    other = tree_structure([0, Box(1, mark=[2])])
    assert hash(treedef) == hash(other) and treedef != other
    assert {treedef: 1, other: 2} == {other: 2, treedef: 1}


def test_functions_of_nodes_with_unhashable_aux_data():
    traced = []

    @tanx.jit
    def double(box):
        traced.append(box.mark)
        return Box(box.items[0] * 2, mark=box.mark)

    for n in range(5):  # the native path begins with the third call
        assert double(Box(float(n), mark={"k": [1]})) == Box(2.0 * n, mark={"k": [1]})
    assert double(Box(1.0, mark={"k": [2]})).mark == {"k": [2]}
    assert double(Box(1.0, mark={"k": [1]})).mark == {"k": [1]}
    assert traced == [{"k": [1]}, {"k": [2]}]
    assert tanx.grad(lambda box: box.items[0] ** 2)(Box(3.0, mark={})) == Box(6.0, mark={})
    carry, _ = tanx.lax.scan(lambda c, x: (Box(c.items[0] + x, mark=c.mark), x), Box(0.0, mark={}),
                             jnp.ones(2))
    assert carry == Box(2.0, mark={})


def nested(depth, wrap=lambda tree: [tree]):
    tree = 1.0
    for _ in range(depth):
        tree = wrap(tree)
    return tree


@pytest.mark.parametrize("wrap", [lambda t: [t], lambda t: {"a": t}, lambda t: (t, 2.0)])
def test_trees_deeper_than_the_stack(wrap):
    tree = nested(2000, wrap)
    leaves, treedef = tree_flatten(tree)
    assert treedef.num_leaves == len(leaves) and treedef == tree_structure(nested(2000, wrap))
    assert treedef != tree_structure(nested(2001, wrap)) and hash(treedef) == hash(
        tree_structure(nested(2000, wrap)))
    assert treedef.num_nodes == 2000 + len(leaves) and str(treedef).count("*") == len(leaves)
    assert pickle.loads(pickle.dumps(treedef)) == treedef
    assert tree_leaves(treedef.unflatten(leaves)) == leaves
    assert tree_leaves(tree_map(lambda x, y: x + y, tree, tree)) == [2 * x for x in leaves]
    assert len(tree_flatten(tree, is_leaf=lambda x: False)[0]) == len(leaves)
    assert len(tree_leaves_with_path(tree)) == len(leaves)
    twice = tanx.jit(lambda tree: tree_map(lambda x: 2 * x, tree))
    for _ in range(4):
        assert tree_leaves(twice(tree)) == [2 * x for x in leaves]


def test_a_tree_without_end():
    tree = []
    tree.append(tree)
    with pytest.raises(RecursionError):
        tree_flatten(tree)
    assert tree_leaves([1, [2]]) == [1, 2]


def test_keys_of_different_kinds_have_different_hashes():
    keys = [tree_util.DictKey(1), tree_util.SequenceKey(1), tree_util.FlattenedIndexKey(1)]
    assert len({hash(key) for key in keys}) == 3 and len(set(keys)) == 3
    assert hash(tree_util.DictKey(1)) == hash(tree_util.DictKey(1))


def test_aux_data_that_cannot_be_compared():
    one, other = (tree_structure([0, Box(1, mark=np.arange(3))]) for _ in range(2))
    text = ("tanx.tree_util: the aux data of a node must be comparable: == must be a bool.\n"
            f"  type of the node: {Box}\n"
            "  aux data:         array([0, 1, 2])\n"
            "  Hint: arrays belong among the children.")
    assert error_text(ValueError, operator.eq, one, other) == text
    assert error_text(ValueError, one.flatten_up_to, [0, Box(1, mark=np.arange(3))]) == text
    mark = np.arange(3)
    assert tree_structure(Box(1, mark=mark)) == tree_structure(Box(2, mark=mark))


@pytest.mark.parametrize("tree, leaves, expected, given", [
    ({"a": 1, "b": (1, None)}, [1], "2 leaves", "1 leaf"),
    ({"a": 1, "b": (1, None)}, [1, 2, 3], "2 leaves", "3 leaves"),
    (None, [1], "0 leaves", "1 leaf"), (0, [], "1 leaf", "0 leaves")])
def test_wrong_number_of_leaves(tree, leaves, expected, given):
    treedef = tree_structure(tree)
    text = ("the number of leaves must be that of the structure.\n"
            f"  structure: {treedef}\n  expected:  {expected}\n  given:     {given}")
    for _ in range(WALKS + 3):
        assert error_text(ValueError, treedef.unflatten, leaves) == "tanx.tree.unflatten: " + text
    assert error_text(ValueError, treedef.walk, None, None, leaves) == (
        "tanx.tree_util.PyTreeDef.walk: " + text)


def test_unflatten_takes_any_iterable_and_any_leaves():
    treedef = tree_structure({"a": 1, "b": (1, None)})
    assert tree_unflatten(treedef, iter([1, 2])) == {"a": 1, "b": (2, None)}
    assert tree_unflatten(treedef, [(1, 2), None]) == {"a": (1, 2), "b": (None, None)}
    assert tree_structure((1, 2)).unflatten("ab") == ("a", "b")
    leaves = [1, 2]
    assert tree_structure([1, 2]).unflatten(leaves) is not leaves
    with pytest.raises(TypeError):
        tree_unflatten(treedef, 3)


def test_walk():
    tree = (1, [2, None], {"a": 1, "b": 2}, Point(5, 6))
    calls = []

    def node(children, data):
        calls.append((children, data))
        return "N"

    assert tree_structure(tree).walk(node, lambda leaf: leaf * 10, [1, 2, 3, 4, 5, 6]) == "N"
    assert calls == [((), None), ((20, "N"), None), ((30, 40), ["a", "b"]), ((50, 60), Point),
                     ((10, "N", "N", "N"), None)]
    assert tree_structure((1, [2])).walk(lambda c, _: c, None, [3, 4]) == (3, (4,))


def test_compose():
    composed = tree_structure((1, 2)).compose(tree_structure([1, None]))
    assert repr(composed) == "PyTreeDef(([*, None], [*, None]))"
    assert tree_structure(None).compose(tree_structure([1])) == tree_structure(None)


def test_from_iterable_tree():
    treedef = tree_structure({"a": 1, "b": [2, None], "c": Point(1, 2)})
    assert treedef.from_iterable_tree((1, iter([2, ()]), [3, 4])) == {
        "a": 1, "b": [2, None], "c": Point(3, 4)}
    assert error_text(ValueError, treedef.from_iterable_tree, (1, [2], [3, 4])) == (
        "tanx.tree_util.PyTreeDef.from_iterable_tree: each iterable must have as many items as its "
        "node has children.\n  node:  list of length 2\n  items: 1")
    with pytest.raises(TypeError):
        treedef.from_iterable_tree((1, 2, 3))


def test_treedef_tuple():
    assert treedef_tuple([tree_structure(1), tree_structure([1, 2])]) == tree_structure((1, [2, 3]))
    assert treedef_tuple(tree_structure(x) for x in (1, 2)) == tree_structure((1, 2))
    assert treedef_tuple([]) == tree_structure(())


def test_registry_as_an_object():
    assert pickle.loads(pickle.dumps(default_registry)) is default_registry
    assert default_registry.flatten_one_level(3) is None
    assert default_registry.flatten_one_level_with_keys(3) is None
    assert default_registry.is_node(list) and not default_registry.is_node(int)
    assert default_registry.flatten_with_path((1,), lambda path, _: not path) == (
        [((), (1,))], tree_structure(0))

    class First:
        def __init__(self, x=0):
            self.x = x

    class Second(First):
        pass

    default_registry.register_node(First, lambda f: ((f.x,), None), lambda _, x: First(*x))
    default_registry.register_dataclass_node(Second, ["x"], [])
    assert tree_leaves([First(1), Second(2)]) == [1, 2]
    assert tree_map(lambda x: x + 1, Second(2)).x == 3


# ---------------------------------------------------------------------------------------- paths

def test_paths():
    tree = {"a": 1, "b": [2, Point(3, 4), None, OrderedDict(z=1, c=2), defaultdict(list, q=3)],
            "c": Box(5, (6,)), "d": Layer(7, 8)}
    assert [(keystr(path), leaf) for path, leaf in tree_leaves_with_path(tree)] == [
        ("['a']", 1), ("['b'][0]", 2), ("['b'][1].x", 3), ("['b'][1].y", 4), ("['b'][3]['z']", 1),
        ("['b'][3]['c']", 2), ("['b'][4]['q']", 3), ("['c'][<flat index 0>]", 5),
        ("['c'][<flat index 1>][0]", 6), ("['d'].weight", 7), ("['d'].bias", 8)]
    assert tree_leaves_with_path(3) == tanx.tree.leaves_with_path(3) == [((), 3)]
    assert tree_flatten_with_path({"a": [1]}) == (
        [((DictKey("a"), SequenceKey(0)), 1)], tree_structure({"a": [0]}))


def test_predicate_with_path():
    seen = []

    def top(path, tree):
        seen.append((path, tree))
        return len(path) == 1

    tree = {"a": [1, 2], "b": [3]}
    assert tree_map_with_path(lambda path, x: (keystr(path), x), tree, is_leaf=top,
                              is_leaf_takes_path=True) == {
        "a": ("['a']", [1, 2]), "b": ("['b']", [3])}
    assert seen == [((), tree), ((DictKey("a"),), [1, 2]), ((DictKey("b"),), [3])]
    assert tree_leaves_with_path([None, 1], is_leaf=is_none) == [
        ((SequenceKey(0),), None), ((SequenceKey(1),), 1)]


@pytest.mark.parametrize("key, shown, access, field", [
    (DictKey("a"), "DictKey(key='a')", "['a']", "key"),
    (DictKey(3), "DictKey(key=3)", "[3]", "key"),
    (GetAttrKey("a"), "GetAttrKey(name='a')", ".a", "name"),
    (SequenceKey(3), "SequenceKey(idx=3)", "[3]", "idx"),
    (FlattenedIndexKey(3), "FlattenedIndexKey(key=3)", "[<flat index 3>]", "key")])
def test_keys(key, shown, access, field):
    assert (repr(key), str(key)) == (shown, access)
    assert key == eval(shown) and hash(key) == hash(eval(shown))
    assert key == type(key)(**{field: getattr(key, field)}) and key.__match_args__ == (field,)
    assert key == pickle.loads(pickle.dumps(key)) and key != getattr(key, field)
    with pytest.raises(AttributeError):
        setattr(key, field, 4)


def test_keys_of_different_kinds_differ():
    assert DictKey(1) != FlattenedIndexKey(1) and SequenceKey(1) != DictKey(1)


def test_keystr():
    path = (DictKey("a"), GetAttrKey("b"), SequenceKey(3), FlattenedIndexKey(4), "foo", 7)
    assert keystr(path) == "['a'].b[3][<flat index 4>]foo7"
    assert keystr(path, separator="/") == "['a']/.b/[3]/[<flat index 4>]/foo/7"
    assert keystr(path, simple=True) == "ab34foo7"
    assert keystr(path, simple=True, separator="/") == "a/b/3/4/foo/7"
    assert keystr(()) == "" and keystr((DictKey("it's"),)) == '["it\'s"]'
    assert keystr((DictKey((1, 2)),), simple=True) == "(1, 2)"


# ---------------------------------------------------------------------------- functions on trees

def test_map():
    assert tree_map(operator.add, {"a": 1, "b": [2]}, {"a": 10, "b": [20]}) == {"a": 11, "b": [22]}
    assert tree_map(lambda *xs: xs, {"a": 1}, {"a": [2, 3]}, {"a": None}) == {
        "a": (1, [2, 3], None)}
    assert tree_map(lambda *xs: xs, [None, 1], [(1, 2), 3], is_leaf=is_none) == [
        (None, (1, 2)), (1, 3)]
    assert tree_map(f=lambda x: x, tree=3) == 3
    assert tree_map_with_path(lambda path, *xs: (keystr(path), *xs), [1], [2]) == [("[0]", 1, 2)]


def test_map_does_not_swallow_stop_iteration():
    def stop(x):
        raise StopIteration

    with pytest.raises(StopIteration):
        tree_map(stop, [1, 2])


HINT = "  Hint: a later tree may only have subtrees where the first one has leaves."
NONE = "  Hint: None is a node without leaves; is_leaf=lambda x: x is None makes it a leaf."


SamePoint = namedtuple("Point", "x y")  # the same name, another class


@pytest.mark.parametrize("tree, other, lines", [
    ({"a": {"c": [1, 2]}}, {"a": {"c": [1, 2, 3]}},
     ["  at:      ['a']['c']", "  tree:    list of length 2", "  rest[0]: list of length 3", HINT]),
    ({"a": {"c": [1, 2]}}, {"a": {"c": (1, 2)}},
     ["  at:      ['a']['c']", "  tree:    list of length 2",
      "  rest[0]: tuple of length 2", HINT]),
    ([(1, 2)], [3],
     ["  at:      [0]", "  tree:    tuple of length 2", "  rest[0]: leaf of type int", HINT]),
    ({"a": 1, "b": 2}, {"a": 1, "c": 2},
     ["  at:         the root", "  tree:       dict with keys 'a', 'b'",
      "  rest[0]:    dict with keys 'a', 'c'", "  missing:    'b'", "  unexpected: 'c'", HINT]),
    ({"a": 1}, {},
     ["  at:      the root", "  tree:    dict with keys 'a'", "  rest[0]: empty dict",
      "  missing: 'a'", HINT]),
    ([1, None], [1, 2],
     ["  at:      [1]", "  tree:    None", "  rest[0]: leaf of type int", NONE]),
    (OrderedDict(a=1, b=2), OrderedDict(b=1, a=2),
     ["  at:      the root", "  tree:    OrderedDict with 2 children and aux data ('a', 'b')",
      "  rest[0]: OrderedDict with 2 children and aux data ('b', 'a')", HINT]),
    ([Box(1, 2)], [Box(1)],
     ["  at:      [0]", "  tree:    Box with 2 children", "  rest[0]: Box with 1 child", HINT]),
    (Box(1, mark="abc"), Box(1, mark="abd"),
     ["  at:      the root", "  tree:    Box with 1 child and aux data 'abc'",
      "  rest[0]: Box with 1 child and aux data 'abd'", HINT]),
    (Layer(1, (2,)), Layer(1, [2]),
     ["  at:      .bias", "  tree:    tuple of length 1", "  rest[0]: list of length 1", HINT]),
    (Point(1, 2), SamePoint(1, 2),
     ["  at:      the root", "  tree:    namedtuple Point", "  rest[0]: namedtuple Point",
      f"  types:   {Point} and {SamePoint}", HINT]),
])
def test_mismatches(tree, other, lines):
    keys = any("missing:" in line or "unexpected:" in line for line in lines)
    rule = ("Dict key mismatch: " if keys else "") + "the trees must have the same structure."
    assert error_text(ValueError, tree_map, lambda *xs: 0, tree, other) == "\n".join(
        [f"tanx.tree.map: {rule}", *lines])
    text = error_text(ValueError, tree_map_with_path, lambda *xs: 0, tree, tree, other)
    assert text == "\n".join([f"tanx.tree.map_with_path: {rule}", *lines]).replace(
        "rest[0]", "rest[1]")


def test_flatten_up_to():
    treedef = tree_structure({"a": 1, "b": (1, None)})
    assert treedef.flatten_up_to({"a": (1, 2), "b": ([3], None)}) == [(1, 2), [3]]
    assert error_text(ValueError, treedef.flatten_up_to, {"a": 1, "b": (1, None, 3)}) == (
        "tanx.tree_util.PyTreeDef.flatten_up_to: the tree must have this structure.\n"
        "  at:      ['b']\n  treedef: tuple of length 2\n  tree:    tuple of length 3\n"
        "  Hint: only leaves may be replaced by subtrees.")
    for tree in (1, {"a": 1}, OrderedDict(a=1, b=(1, None)), {"a": 1, "b": [1, None]},
                 {"a": 1, "b": (1, 2)}, {"a": 1, "b": (1, None), "c": 3}):
        with pytest.raises(ValueError):
            treedef.flatten_up_to(tree)
    with pytest.raises(ValueError):
        tree_structure((1, 2)).flatten_up_to(Point(1, 2))
    with pytest.raises(ValueError):
        tree_structure(Point(1, 2)).flatten_up_to((1, 2))


def test_prefix_errors():
    assert prefix_errors((0, [1]), ((5, 6), [{"a": 7}])) == []
    assert prefix_errors([None, 1], [(2, 3), 4], is_leaf=is_none) == []
    errors = prefix_errors(([0], {"a": (0,)}, 1), ((0,), {"a": [0]}, 2))
    assert [str(error("tanx.vmap in_axes")) for error in errors] == [
        "tanx.vmap in_axes: must be a prefix of the tree it belongs to.\n"
        f"  at:        {path}\n  prefix:    {a}\n  full tree: {b}\n"
        "  Hint: a prefix has the structure of the full tree down to its own leaves."
        for path, a, b in [("in_axes[0]", "list of length 1", "tuple of length 1"),
                           ("in_axes[1]['a']", "tuple of length 1", "list of length 1")]]
    assert isinstance(errors[0]("x"), ValueError)


@given(trees)
def test_every_tree_is_a_prefix_of_itself(tree):
    assert prefix_errors(tree, tree) == [] and prefix_errors(0, tree) == []
    assert broadcast_prefix(tree, tree) == tree_leaves(tree)
    assert tree_broadcast(tree, tree) == tree


def test_broadcast():
    assert tree_broadcast({"a": 1, "b": [2, 3]}, {"a": (0, 0), "b": [0, {"c": 0}]}) == {
        "a": (1, 1), "b": [2, {"c": 3}]}
    assert tree_broadcast(1, {"a": None, "b": 2}) == {"a": None, "b": 1}
    assert tree_broadcast((1, 2), [1, 2], is_leaf=lambda x: isinstance(x, tuple)) == [
        (1, 2), (1, 2)]
    assert tree_broadcast([(0, 5), 1], [{"a": (1, 2)}, 3], lambda x: isinstance(x, tuple)) == [
        {"a": ((0, 5), (0, 5))}, 1]
    assert broadcast_prefix((0, None, 1), ([7, 7], 8, {"a": 7}), is_none) == [0, 0, None, 1]
    assert error_text(ValueError, tree_broadcast, None, {"b": 1}) == (
        "tanx.tree.broadcast prefix_tree: must be a prefix of the tree it belongs to.\n"
        "  at:        prefix_tree\n  prefix:    None\n  full tree: dict with keys 'b'\n" + NONE)


def test_reductions():
    pair = lambda a, b: (a, b)
    assert tree_reduce(operator.add, {"a": 1, "b": [2, 3]}) == 6
    assert tree_reduce(operator.add, (), 0) == 0
    assert tree_reduce(pair, [1, 2], None) == ((None, 1), 2)
    assert tree_reduce(operator.add, [(1,), (2,)], (), is_leaf=lambda x: type(x) is tuple) == (1, 2)
    assert error_text(TypeError, tree_reduce, pair, ()) == (
        "tanx.tree.reduce: the tree has no leaves to combine.\n"
        "  Hint: give initializer, the result for a tree without leaves.")
    assert tree_reduce_associative(lambda a, b: f"({a}{b})", list("abcdefghijk")) == (
        "(((ab)(c(de)))((f(gh))(i(jk))))")
    assert tree_reduce_associative(pair, [0], identity="I") == 0
    assert tree_reduce_associative(pair, [], identity="I") == "I"
    assert error_text(TypeError, tree_reduce_associative, pair, []) == (
        "tanx.tree.reduce_associative: the tree has no leaves to combine.\n"
        "  Hint: give identity, the result for a tree without leaves.")
    assert tree_all([1, 2]) is True and tree_all([1, 0]) is False and tree_all([]) is True
    assert tree_all([None], is_leaf=is_none) is False


def test_transpose():
    outer, inner = tree_structure([0, 0, 0]), tree_structure((0, 0))
    tree = [(1, 2), (3, 4), (5, 6)]
    assert tree_transpose(outer, inner, tree) == tree_transpose(outer, None, tree) == (
        [1, 3, 5], [2, 4, 6])
    assert tree_transpose(tree_structure([0, None]), inner, [(1, 2), None]) == (
        [1, None], [2, None])
    assert tree_transpose(tree_structure([]), inner, []) == ([], [])
    assert tree_transpose(tree_structure([0, 0]), tree_structure(()), [(), ()]) == ()
    assert error_text(TypeError, tree_transpose, tree_structure([0, 0]), inner, tree) == (
        "tanx.tree.transpose: the tree must have the inner structure in the outer one.\n"
        "  outer_treedef:    PyTreeDef([*, *])\n  inner_treedef:    PyTreeDef((*, *))\n"
        "  structure found:  PyTreeDef([(*, *), (*, *), (*, *)])")
    assert error_text(IndexError, tree_transpose, tree_structure([]), None, []) == (
        "tanx.tree.transpose: an outer structure without leaves has no inner one.\n"
        "  outer_treedef: PyTreeDef([])\n  Hint: give inner_treedef.")


# --------------------------------------------------------------------------------------- window

def test_the_window_gives_short_names():
    for name in set(tanx.tree.__all__) - {"dataclass", "static"}:
        assert getattr(tanx.tree, name) is getattr(tree_util, f"tree_{name}")
    assert tanx.tree.dataclass is tree_util.dataclass and tanx.tree.static is tree_util.static


def test_public_classes_know_their_module():
    for name in ("DictKey", "GetAttrKey", "PyTreeDef", "Partial", "tree_flatten"):
        assert getattr(tree_util, name).__module__ == "tanx.tree_util"


def test_flattener_sees_later_registrations():
    class Later:
        pass

    treedef = tree_structure([Later()])
    leaves = flattener(treedef)
    assert len(leaves([Later()])) == 1
    register_static(Later)
    assert leaves([Later()]) is None


def test_treedef_tuple_takes_structures():
    with pytest.raises(TypeError, match="treedef_tuple: takes structures of trees."):
        tree_util.treedef_tuple([1])
