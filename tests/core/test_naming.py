"""What messages call the arguments of functions, however those are wrapped."""

import functools
import inspect

import pytest

import tanx
from tanx._core.naming import debug_info, leaf_names


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


def test_the_source_is_that_of_the_innermost_function():
    info = debug_info("jit", tanx.jit(tanx.grad(plain)), (1.0,), {})
    assert info.function == "plain" and info.source.line == plain.__code__.co_firstlineno
