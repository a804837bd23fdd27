"""Pytrees as vectors, and tools for writers of transformations."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import api_util, dlpack
from tanx.flatten_util import ravel_pytree


def error(call, kind=TypeError) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


TREE = {"a": jnp.arange(4.0).reshape(2, 2), "b": (3, jnp.array([True, False]), None), "c": 1.5}


def test_there_and_back():
    vector, unravel = ravel_pytree(TREE)
    assert vector.tolist() == [0, 1, 2, 3, 3, 1, 0, 1.5] and vector.dtype == jnp.float32
    back = unravel(vector)
    assert tanx.tree.structure(back) == tanx.tree.structure(TREE)
    for x, y in zip(tanx.tree.leaves(TREE), tanx.tree.leaves(back)):
        np.testing.assert_array_equal(x, y)
        assert jnp.asarray(x).dtype == y.dtype


@pytest.mark.parametrize("tree", [{}, [], 2.0, jnp.ones((0, 3)), [np.arange(3), 1],
                                  [jnp.ones(2), jnp.complex64(1j)], jnp.ones(3, "bfloat16")])
def test_trees_of_all_kinds(tree):
    vector, unravel = ravel_pytree(tree)
    assert vector.ndim == 1
    for x, y in zip(tanx.tree.leaves(tree), tanx.tree.leaves(unravel(vector)), strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


def test_inside_transformations():
    tree = {"a": jnp.ones(2), "b": 3.0}
    assert tanx.grad(lambda t: (ravel_pytree(t)[0] ** 2).sum())(tree)["b"] == 6.0
    vector, unravel = ravel_pytree(tree)
    assert tanx.grad(lambda v: unravel(v)["b"])(vector).tolist() == [0, 0, 1]
    assert tanx.vmap(unravel)(jnp.ones((5, 3)))["a"].shape == (5, 2)
    assert tanx.jit(lambda v: unravel(v)["a"] * 2)(vector).tolist() == [2, 2]


def test_one_dtype_follows_the_vector():
    _, unravel = ravel_pytree([jnp.ones(2), jnp.float32(1)])
    assert [x.dtype for x in unravel(jnp.arange(3))] == [jnp.int32] * 2


def test_equal_trees_have_equal_functions():
    runs = []
    fun = tanx.jit(lambda v, unravel: runs.append(1) or unravel(v), static_argnums=1)
    for _ in range(2):
        fun(*ravel_pytree({"a": jnp.ones(2)}))
    assert len(runs) == 1


def test_mistakes():
    vector, unravel = ravel_pytree(TREE)
    assert error(lambda: unravel(jnp.ones(3)), ValueError) == (
        "tanx.flatten_util.ravel_pytree: the vector has another size than the pytree.\n"
        "  vector:   float32[3]\n"
        "  elements: 8")
    assert error(lambda: unravel(vector.astype("float16"))) == (
        "tanx.flatten_util.ravel_pytree: the vector has another dtype than the original.\n"
        "  vector: float16[8]\n"
        "  made:   float32[8]\n"
        "  Hint: use vector.astype(...).")
    assert error(lambda: ravel_pytree(["a"])) == (
        "tanx.flatten_util.ravel_pytree: leaves must be arrays.\n"
        "  leaf: 'a' of type str")


# --- api_util, dlpack -----------------------------------------------------------------------------


def test_axes():
    structure = tanx.tree.structure({"a": 1, "b": (2, 3)})
    assert api_util.flatten_axes("in_axes", structure, {"a": 0, "b": None}) == [0, None, None]
    assert api_util.flatten_axes("in_axes", structure, 1) == [1, 1, 1]
    call = tanx.tree.structure(((1, 2), {"k": 3}))
    assert api_util.flatten_axes("in_axes", call, (None, 1), kws=True) == [None, 1, 0]
    assert error(lambda: api_util.flatten_axes("in_axes", structure, {"c": 0}), ValueError
                 ).startswith("tanx.api_util.flatten_axes: in_axes must be a prefix")


def test_types_and_lists():
    assert str(api_util.shaped_abstractify(np.ones((2, 3), "float32"))) == "float32[2,3]"
    assert api_util.shaped_abstractify(1).weak_type
    assert error(lambda: api_util.shaped_abstractify("a")) == (
        "tanx.api_util.shaped_abstractify: needs an array or a number.\n"
        "  value: 'a' of type str")
    assert api_util.safe_map(max, [1, 5], [3, 4]) == [3, 5]
    with pytest.raises(ValueError):
        api_util.safe_map(max, [1, 5], [3])
    assert api_util.rebase_donate_argnums((0, 2), (1,)) == (0, 1)


def test_dlpack():
    assert dlpack.from_dlpack(np.arange(3, dtype=np.int32)).tolist() == [0, 1, 2]
    assert dlpack.is_supported_dtype("float32") and not dlpack.is_supported_dtype("int4")
