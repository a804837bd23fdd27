"""The names of arguments in messages, for all kinds of wrapped functions."""

import functools
import inspect

import pytest

import tanx
from tanx._core.naming import LeafNames, debug_info, leaf_names
from tanx.tree_util import tree_flatten


def plain(x, y):
    return x


class Owner:
    def method(self, x, y):
        return x


@functools.wraps(plain)
def signed(*args):
    return plain(*args)


signed.__signature__ = inspect.signature(lambda p, q: 0)


@pytest.mark.parametrize("function, first", [
    (plain, "x"), (tanx.grad(plain), "x"), (tanx.jit(tanx.vmap(plain)), "x"),
    (Owner().method, "x"), (tanx.jit(Owner().method), "x"), (functools.partial(plain, 1), "y"),
    (signed, "p"), (tanx.jit(signed), "p"), (lambda *rest: 0, "rest[0]")])
def test_leaves_are_named_after_parameters(function, first):
    names = leaf_names(function, ({"a": 1, "b": (2,)},), {"k": 3})
    assert names == [f"{first}['a']", f"{first}['b'][0]", "k"]
    assert leaf_names(function, (1.0,), {}) == [first]


def test_debug_info_names_the_innermost_function():
    info = debug_info("jit", tanx.jit(tanx.grad(plain)), (1.0,), {})
    assert info.function == "plain" and info.source.line == plain.__code__.co_firstlineno


def model(params, x, *more, scale=1.0):
    return x


CASES = [
    (({"w": 1, "b": [2, 3]}, 4), {}, ()),
    ((1, 2, 3, (4, 5)), {"scale": 6}, ()),
    (({"w": 1}, 2, 3), {}, (1,)),
    ((), {"x": 1, "params": {"a": 2}}, ()),
]


def test_lazy_leaf_names_match_eager_ones():
    for args, kwargs, skip in CASES:
        kept = [arg for i, arg in enumerate(args) if i not in skip]
        leaves, tree = tree_flatten((kept, kwargs))
        later = LeafNames(model, len(args), skip, tree)
        assert len(later) == len(leaves)
        assert list(later) == leaf_names(model, args, kwargs, skip)


@tanx.tree_util.register_pytree_node_class
class Choosy:
    """A pytree that refuses leaves other than arrays if ``strict`` is set."""

    strict = False

    def __init__(self, x):
        if Choosy.strict and isinstance(x, int):
            raise TypeError("no number")
        self.x = x

    def tree_flatten(self):
        return (self.x,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


def test_types_that_cannot_be_made_anew_have_numbers_for_names(monkeypatch):
    _, tree = tree_flatten(([Choosy(1), 2], {}))
    monkeypatch.setattr(Choosy, "strict", True)
    assert list(LeafNames(model, 2, (), tree)) == ["#0", "#1"]


class Numbered:
    """Like objects of some libraries: its name is no string, its annotations no dict."""

    def __init__(self):
        self.__name__ = self.__qualname__ = self.__annotations__ = 1

    def __call__(self, x):
        return x * x


@pytest.mark.parametrize("transform", [
    tanx.vmap, tanx.grad, tanx.value_and_grad, tanx.checkpoint, tanx.jacfwd, tanx.jacrev,
    tanx.hessian, tanx.make_jaxpr, tanx.jit], ids=lambda f: f.__name__)
def test_objects_whose_names_are_no_strings_are_transformed(transform):
    if transform is tanx.vmap:
        assert transform(Numbered())(tanx.numpy.arange(3)).tolist() == [0, 1, 4]
    else:
        transform(Numbered())(2.0)
