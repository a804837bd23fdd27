"""The residuals of pullbacks, and arguments that are taken out of them and put back."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._api.saved import NotNeeded, NotSaveable

W, X = jnp.arange(6.0).reshape(2, 3), jnp.array([0.1, 0.2, 0.3])
CT = jnp.array([1.0, -1.0])


def layer(w, x):
    return jnp.tanh(w @ x)


WHOLE = tanx.vjp(layer, W, X)[1](CT)


def same(found, expected=WHOLE):
    for x, y in zip(tanx.tree.leaves(found), tanx.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4)


def kinds(pull):
    return tanx.tree.map(lambda x: type(x).__name__, pull.args_res,
                         is_leaf=lambda x: isinstance(x, NotNeeded | NotSaveable))


TREE = {"a": jnp.ones(3), "b": jnp.ones(2)}


def of_tree(d, x):
    return jnp.sin(x) * d["a"] + d["b"].sum()


@pytest.mark.parametrize("fun, args, saveable, expected", [
    (layer, (W, X), True, ["Array", "Array"]),
    (layer, (W, X), False, ["NotSaveable", "NotSaveable"]),
    (layer, (W, X), (False, True), ["NotSaveable", "Array"]),
    (tanx.jit(layer), (W, X), (True, False), ["Array", "NotSaveable"]),
    (lambda x: 2 * x, (X,), True, ["NotNeeded"]), (lambda x: 2 * x, (X,), False, ["NotNeeded"]),
    (lambda x, n: x * n, (X, 3), True, ["NotNeeded", "NotNeeded"]),
    (of_tree, (TREE, X), True, [("Array", "NotNeeded"), "NotNeeded"]),
    (of_tree, (TREE, X), ((False, True), True), [("NotSaveable", "NotNeeded"), "NotNeeded"]),
    (of_tree, (TREE, X), ({"a": False, "b": True}, True),
     [("NotSaveable", "NotNeeded"), "NotNeeded"]),
])
def test_saveable_args_select_saved_residuals(fun, args, saveable, expected):
    assert kinds(tanx.vjp(fun, *args, saveable_args=saveable)[1]) == expected


def test_arguments_are_put_back():
    _, pull = tanx.vjp(layer, W, X, saveable_args=(False, True))
    assert len(tanx.tree.leaves(pull)) == 2 and len(pull.opaque_residuals) == 1
    with pytest.raises(ValueError, match=r"arguments: args\[0\]"):
        pull(CT)
    same(pull.replace(args_res=[W, X])(CT))
    assert isinstance(pull.args_res[0], NotSaveable)
    pull.args_res[0] = W
    same(pull(CT))
    same(pull.with_refs(tanx.ad.GradValue(), tanx.ad.DontWant())(CT)[:1], WHOLE[:1])
    same(pull.with_logs(CT)[0])


def test_structures_of_arguments_are_taken_back():
    _, pull = tanx.vjp(of_tree, TREE, X, saveable_args=((False, True), True))
    pull.args_res = [TREE, X]
    same(pull(jnp.ones(3)), tanx.vjp(of_tree, TREE, X)[1](jnp.ones(3)))
    pull.args_res = [TREE]
    with pytest.raises(ValueError, match="each leaf of the arguments"):
        pull(jnp.ones(3))


def test_weights_are_passed_to_the_backward_pass():
    forward = tanx.jit(lambda w, x: tanx.vjp(layer, w, x, saveable_args=(False, True)))

    @tanx.jit
    def backward(pull, w, ct):
        pull.args_res[0] = w
        return pull(ct)

    for _ in range(4):
        y, pull = forward(W, X)
        assert isinstance(pull.args_res[0], NotSaveable)
        same(backward(pull, W, CT))
        np.testing.assert_allclose(y, layer(W, X), rtol=1e-4)


@pytest.mark.parametrize("saveable", [(True,), (True, True, True), "all", ((True, False), True)])
def test_mistakes(saveable):
    with pytest.raises(ValueError, match="saveable_args"):
        tanx.vjp(layer, W, X, saveable_args=saveable)


@pytest.mark.parametrize("empty", [(), {}, [], None, ((), {})], ids=str)
def test_empty_containers_among_arguments(empty):
    for _ in range(4):
        y, pull = tanx.vjp(lambda e, x: (x * x, e), empty, X, saveable_args=True)
        np.testing.assert_allclose(y[0], X * X)
        gone, slope = pull((jnp.ones(3), empty))
        assert gone == empty
        np.testing.assert_allclose(slope, 2 * X)
