"""Functions with rules for their division over devices, on one device."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.experimental.custom_partitioning import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
    custom_partitioning,
    custom_partitioning_p,
)


def partition(mesh, arg_shapes, result_shape):
    raise AssertionError("there is one device")


def product():
    @custom_partitioning
    def product(x, y):
        return {"out": x @ y}

    product.def_partition(partition, sharding_rule="i j, j k -> i k", reduction_factors=("j",))
    return product


def test_the_function_runs_as_it_is():
    f = product()
    x, y = jnp.arange(6.0).reshape(2, 3), jnp.ones((3, 2))
    compiled = tanx.jit(f)
    for _ in range(4):
        assert np.array_equal(compiled(x, y)["out"], x @ y)
    assert np.array_equal(f(x, y=y)["out"], x @ y)
    assert np.array_equal(tanx.grad(lambda x: f(x, y)["out"].sum())(x), np.full((2, 3), 2.0))
    assert tanx.vmap(f, in_axes=(0, None))(jnp.stack([x, x]), y)["out"].shape == (2, 2, 2)
    assert tanx.make_jaxpr(f)(x, y).eqns[0].primitive is custom_partitioning_p
    assert f.sharding_rule.reduction_factors == ("j",)


def test_static_arguments():
    f = custom_partitioning(lambda x, power, offset=1: x ** power + offset, static_argnums=(1,))
    f.def_partition(partition)
    assert f(jnp.float32(3), 2) == 10.0
    with pytest.raises(RuntimeError, match="def_partition"):
        custom_partitioning(lambda x: x)(1.0)


@pytest.mark.parametrize("text, operands, results", [
    ("i j -> j i", [("i", "j")], [("j", "i")]),
    ("... (i j) -> ... i", [(BATCHING, ("i", "j"))], [(BATCHING, "i")]),
    (" -> i", [()], [("i",)]),
])
def test_rules_as_text(text, operands, results):
    f = custom_partitioning(lambda x: x)
    f.def_partition(partition, sharding_rule=text)
    assert [tuple(m) for m in f.sharding_rule.operand_mappings] == operands
    assert [tuple(m) for m in f.sharding_rule.result_mappings] == results


@pytest.mark.parametrize("make, words", [
    (lambda f: f.def_partition(partition, sharding_rule="i j"), "->"),
    (lambda f: f.def_partition(partition, sharding_rule="(i j -> i"), "parentheses"),
    (lambda f: f.def_partition(partition, sharding_rule="i -> i", reduction_factors=("k",)),
     "no array has"),
    (lambda f: (f.def_partition(partition, sharding_rule="i j -> i j"), f(jnp.ones(2))), "rank"),
    (lambda f: (f.def_partition(partition, sharding_rule="i, i -> i"), f(jnp.ones(2))),
     "other operands"),
    (lambda f: CompoundFactor("i"), "two or more"),
    (lambda f: ArrayMapping("i", BATCHING), "first"),
    (lambda f: ArrayMapping(3), "name"),
])
def test_mistakes(make, words):
    with pytest.raises(ValueError, match=words):
        make(custom_partitioning(lambda x: x))


def test_rules_by_their_parts():
    rule = SdyShardingRule([ArrayMapping("i", CompoundFactor("j", "k"))], [ArrayMapping("i")], j=2)
    assert rule.factor_sizes == {"j": 2}
