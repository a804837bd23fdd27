"""Promise 12: classes of your own are pytrees in one line, and mistakes are named."""

import dataclasses
import warnings

import pytest

import tanx as jax
import tanx.numpy as jnp
from tests.gotchas import pages


def test_the_page():
    pages.run("12_classes")


@jax.tree.dataclass
class Model:
    weight: jax.Array
    bias: jax.Array
    name: str = dataclasses.field(default="linear", metadata=dict(static=True))

    def __call__(self, x):
        return x * self.weight + self.bias


def test_a_one_line_class_works_with_all_transforms():
    model = Model(jnp.float32(2.0), jnp.float32(1.0))
    gradient = jax.jit(jax.grad(lambda m: m(3.0)))
    for _ in range(4):
        out = gradient(model)
        assert (float(out.weight), float(out.bias), out.name) == (3.0, 1.0, "linear")
        assert (out.weight.shape, out.weight.dtype, out.weight.weak_type) == (
            (), jnp.float32, False)
    batch = jax.vmap(lambda m, x: m(x))(Model(jnp.arange(3.0), jnp.ones(3)), jnp.ones(3))
    assert batch.tolist() == [1.0, 2.0, 3.0]
    carried, _ = jax.lax.scan(lambda m, _: (jax.tree.map(lambda x: 2 * x, m), None), model, None,
                              length=2)
    assert (float(carried.weight), carried.name) == (8.0, "linear")


class Pair:
    def __init__(self, first, second):
        self.first, self.second = first, second


def children(pair):
    return (pair.first, pair.second), None


def registered(unflatten, flatten=children):
    class Own(Pair):
        pass
    jax.tree_util.register_pytree_node(Own, flatten, lambda aux, given: unflatten(Own, aux, given))
    return Own


@pytest.mark.parametrize("unflatten, message", [
    (lambda own, aux, given: None, "Own'>\n.*NoneType"),
    (lambda own, aux, given: list(given), "Own'>\n.*list"),
    (lambda own, aux, given: own(given[0], None), "Own'>\n.*1 of 2 children are None"),
], ids=["nothing", "another class", "a child is lost"])
def test_an_unflatten_function_that_loses_something_is_named(unflatten, message):
    own = registered(unflatten)
    with pytest.warns(UserWarning, match=message):
        jax.tree.map(lambda x: x, own(1, [2]))
    with warnings.catch_warnings():  # there is only one warning
        warnings.simplefilter("error")
        jax.tree.map(lambda x: x, own(1, [2]))


def test_an_unflatten_function_that_fails_is_named():
    own = registered(lambda own, aux, given: own(*aux))
    for _ in range(4):
        with pytest.raises(TypeError) as error:
            jax.tree.map(lambda x: x, own(1, 2))
        (note,) = error.value.__notes__
        assert "Own" in note and "unflatten(aux_data, children)" in note


@pytest.mark.parametrize("unflatten, leaves", [
    (lambda own, aux, given: own(*given), (1, 2)),
    (lambda own, aux, given: own(*(str(x) for x in given)), (1, 2)),
    (lambda own, aux, given: own(*given), (None, (3, None))),
], ids=["right", "converts", "none"])
def test_correct_unflatten_functions_do_not_warn(unflatten, leaves):
    own = registered(unflatten)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(60):  # enough uses for compiled code for the structure
            jax.tree.map(lambda x: x, own(*leaves))
            jax.tree.map(lambda x: None, own(*leaves))


@pytest.mark.parametrize("flatten", [
    lambda pair: pair.first, lambda pair: [pair.first, None], lambda pair: (pair.first, None)])
def test_a_wrong_flatten_function_is_named(flatten):
    own = registered(lambda own, aux, given: own(*given), flatten)
    with pytest.raises(ValueError, match="a flatten function must return.*\n.*Own"):
        jax.tree.leaves(own(1, 2))


@pytest.mark.parametrize("register, kind, message", [
    (lambda own: jax.tree_util.register_pytree_node_class(own), AttributeError,
     "must have a method tree_flatten.*\n.*Own"),
    (lambda own: jax.tree_util.register_dataclass(own, ["x"], []), ValueError,
     "Own'>\n  missing: y"),
    (lambda own: jax.tree_util.register_dataclass(own, ["x", "y"], ["z"]), ValueError,
     "Own'>\n  unexpected: z"),
], ids=["no methods", "missing", "unexpected"])
def test_wrong_classes_are_found_when_registered(register, kind, message):
    @dataclasses.dataclass
    class Own:
        x: int
        y: int

    with pytest.raises(kind, match=message):
        register(Own)
