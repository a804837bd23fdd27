"""The public ``jvp``, ``vjp``, ``linearize`` and related functions."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp

X = jnp.arange(3.0)
FLOAT0 = np.zeros((), tanx.float0)


def error(call, kind=TypeError) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def f(x, y):
    return {"product": x * y, "sum": x + y}


# --- jvp ------------------------------------------------------------------------------------------


def test_jvp():
    y, dy = tanx.jvp(f, (2.0, 3.0), (1.0, 10.0))
    assert y == {"product": 6.0, "sum": 5.0} and dy == {"product": 23.0, "sum": 11.0}
    assert tanx.jvp(jnp.sin, [0.0], [2.0]) == (0.0, 2.0)
    y, dy = tanx.jvp(lambda t: t["a"] * 2, ({"a": X},), ({"a": X},))
    np.testing.assert_array_equal(dy, 2 * X)


def test_jvp_gives_arrays():
    for y in tanx.jvp(lambda x: x, (1.0,), (2.0,)):
        assert isinstance(y, tanx.Array)


def test_jvp_aux():
    y, dy, aux = tanx.jvp(lambda x: (x * x, ("name", x, 5)), (3.0,), (1.0,), has_aux=True)
    assert (y, dy, aux) == (9.0, 6.0, ("name", 3.0, 5))


def test_jvp_of_constants_and_integers():
    y, dy = tanx.jvp(lambda x, n: (n + 1, 2.0, X), (1.0, 3), (1.0, FLOAT0))
    assert y[:2] == (4, 2.0)
    assert dy[0].dtype == tanx.float0 and dy[1] == 0.0
    np.testing.assert_array_equal(dy[2], [0, 0, 0])


@pytest.mark.parametrize("call, kind, text", [
    (lambda: tanx.jvp(jnp.sin, 1.0, 1.0), TypeError,
     "tanx.jvp: primals and tangents must be tuples or lists, one entry per argument.\n"
     "  primals:  float\n"
     "  tangents: float\n"
     "  Hint: for one argument write (x,)."),
    (lambda: tanx.jvp(f, (1.0, 2.0), (1.0,)), TypeError,
     "tanx.jvp: primals and tangents must have the same structure.\n"
     "  primals:  PyTreeDef((*, *))\n"
     "  tangents: PyTreeDef((*,))"),
    (lambda: tanx.jvp(jnp.sin, (1.0,), (1,)), TypeError,
     "tanx.jvp: a tangent must have the dtype of its primal (float0 for integers).\n"
     "  primal:  ~float32[]\n"
     "  tangent: ~int32[], expected ~float32[]"),
    (lambda: tanx.jvp(lambda n: n, (1,), (1,)), TypeError,
     "tanx.jvp: a tangent must have the dtype of its primal (float0 for integers).\n"
     "  primal:  ~int32[]\n"
     "  tangent: ~int32[], expected float0[]"),
    (lambda: tanx.jvp(jnp.sin, (1.0,), (X,)), ValueError,
     "tanx.jvp: a tangent must have the shape of its primal.\n"
     "  primal:  ~float32[]\n"
     "  tangent: float32[3]"),
    (lambda: tanx.jvp(jnp.sin, (1.0,), ("a",)), TypeError,
     "tanx.jvp: a tangent must be an array or a number.\n"
     "  tangent: 'a' of type str"),
    (lambda: tanx.jvp(f, (1.0, "a"), (1.0, 1.0)), TypeError,
     "tanx.jvp: argument y of f is not an array.\n"
     "  value: 'a' of type str"),
    (lambda: tanx.jvp(lambda x: [x, "a"], (1.0,), (1.0,)), TypeError,
     "tanx.jvp: <lambda> must return arrays or numbers.\n"
     "  result[1]: 'a' of type str"),
    (lambda: tanx.jvp(lambda x: x, (1.0,), (1.0,), has_aux=True), TypeError,
     "tanx.jvp: with has_aux=True, <lambda> must return a pair.\n"
     "  returned: ~float32[]"),
])
def test_jvp_mistakes(call, kind, text):
    assert error(call, kind) == text


# --- vjp ------------------------------------------------------------------------------------------


def test_vjp():
    y, pull = tanx.vjp(f, 2.0, 3.0)
    assert y == {"product": 6.0, "sum": 5.0}
    assert pull({"product": 1.0, "sum": 0.0}) == (3.0, 2.0)
    assert pull({"product": 1.0, "sum": 10.0}) == (13.0, 12.0)  # as often as wanted


def test_vjp_gives_arrays_and_the_structure_of_the_arguments():
    _, pull = tanx.vjp(lambda x, t: x, 1.0, {"a": X})
    found = pull(2.0)
    assert isinstance(found, tuple) and isinstance(found[0], tanx.Array)
    np.testing.assert_array_equal(found[1]["a"], [0, 0, 0])


def test_vjp_aux():
    y, pull, aux = tanx.vjp(lambda x: (x * x, ["name", 2 * x]), 3.0, has_aux=True)
    assert (y, pull(1.0), aux) == (9.0, (6.0,), ["name", 6.0])


def test_vjp_of_integers():
    y, pull = tanx.vjp(lambda x, n: (x * n, n), 2.0, 3)
    found = pull((1.0, FLOAT0))
    assert y == (6.0, 3) and found[0] == 3.0 and found[1].dtype == tanx.float0


def test_pullbacks_are_pytrees():
    residuals = tanx.tree_util.tree_leaves(tanx.vjp(jnp.sin, 0.0)[1])
    assert residuals == [1.0]
    pull = tanx.jit(lambda x: tanx.vjp(jnp.sin, x)[1])(0.0)  # out of one compiled function
    assert tanx.jit(lambda pull, ct: pull(ct))(pull, 2.0) == (2.0,)  # and into another
    doubled = tanx.tree_util.tree_map(lambda r: 2 * r, pull)
    assert doubled(1.0) == (2.0,)


def test_pullbacks_are_functions():
    _, pull = tanx.vjp(lambda x: x * X, 2.0)
    rows = tanx.vmap(pull)(jnp.eye(3))[0]
    np.testing.assert_array_equal(rows, X)
    assert tanx.grad(lambda ct: pull(ct)[0])(X).tolist() == [0, 1, 2]


@pytest.mark.parametrize("cotangent, kind, text", [
    ([1.0, 1.0], ValueError,
     "tanx.vjp: a cotangent must have the structure of the result of f.\n"
     "  result:    PyTreeDef({'product': *, 'sum': *})\n"
     "  cotangent: PyTreeDef([*, *])"),
    ({"product": X, "sum": 1.0}, ValueError,
     "tanx.vjp: a cotangent must have the type of the result of f.\n"
     "  result:    ~float32[]\n"
     "  cotangent: float32[3], expected ~float32[]"),
    ({"product": 1, "sum": 1.0}, ValueError,
     "tanx.vjp: a cotangent must have the type of the result of f.\n"
     "  result:    ~float32[]\n"
     "  cotangent: ~int32[], expected ~float32[]"),
    ({"product": 1.0, "sum": "a"}, TypeError,
     "tanx.vjp: a cotangent must be an array or a number.\n"
     "  cotangent: 'a' of type str"),
])
def test_vjp_mistakes(cotangent, kind, text):
    _, pull = tanx.vjp(f, 2.0, 3.0)
    assert error(lambda: pull(cotangent), kind) == text


def test_vjp_rejects_non_arrays_and_reduce_axes():
    assert error(lambda: tanx.vjp(f, 1.0, "a")) == (
        "tanx.vjp: argument y of f is not an array.\n"
        "  value: 'a' of type str")
    with pytest.raises(NotImplementedError):
        tanx.vjp(f, 1.0, 2.0, reduce_axes=("i",))


# --- linearize ------------------------------------------------------------------------------------


def test_linearize():
    y, push = tanx.linearize(f, 2.0, 3.0)
    assert y == {"product": 6.0, "sum": 5.0}
    assert push(1.0, 10.0) == {"product": 23.0, "sum": 11.0}
    assert push(1.0, 0.0) == {"product": 3.0, "sum": 1.0}
    y, push, aux = tanx.linearize(lambda x: (x * x, "name"), 3.0, has_aux=True)
    assert (y, push(1.0), aux) == (9.0, 6.0, "name")


def test_linearize_of_constants_and_integers():
    y, push = tanx.linearize(lambda x, n: (x * n, n, 2.0), 2.0, 3)
    dy = push(1.0, FLOAT0)
    assert y == (6.0, 3, 2.0) and dy[0] == 3.0 and dy[1].dtype == tanx.float0 and dy[2] == 0.0


def test_pushforwards_are_pytrees_and_functions():
    push = tanx.jit(lambda x: tanx.linearize(jnp.sin, x)[1])(0.0)
    assert tanx.jit(lambda push, t: push(t))(push, 2.0) == 2.0
    np.testing.assert_array_equal(tanx.vmap(push)(X), X)


def test_linearize_mistakes():
    _, push = tanx.linearize(f, 2.0, 3.0)
    assert error(lambda: push(1.0)) == (
        "tanx.linearize: tangents must have the structure of the primals.\n"
        "  primals:  PyTreeDef((*, *))\n"
        "  tangents: PyTreeDef((*,))")
    assert error(lambda: push(1.0, X), ValueError) == (
        "tanx.linearize: a tangent must have the type of its primal.\n"
        "  primal:  ~float32[]\n"
        "  tangent: float32[3], expected ~float32[]")


# --- Two halves -----------------------------------------------------------------------------------


def test_fwd_and_bwd():
    fwd, bwd = tanx.fwd_and_bwd(lambda x, y, scale=1.0: x * y * scale, argnums=(0, 1))
    y, residuals = fwd(2.0, 3.0, scale=10.0)
    assert y == 60.0 and bwd(residuals, 1.0) == (30.0, 20.0)
    fwd, bwd = tanx.fwd_and_bwd(lambda x, y: x * y, argnums=1)
    y, residuals = tanx.jit(fwd)(2.0, 3.0)
    assert y == 6.0 and tanx.jit(bwd)(residuals, 1.0) == 2.0
    fwd, bwd = tanx.fwd_and_bwd(lambda x: (x * x, "name"), argnums=0, has_aux=True)
    y, residuals, aux = fwd(3.0)
    assert (y, bwd(residuals, 1.0), aux) == (9.0, 6.0, "name")


def test_cotangents_of_integers_are_numpys_under_jit():
    """Only comparisons, as in tests of libraries: arrays of float0 take no operation."""
    fun = tanx.jit(lambda i, x: tanx.vjp(lambda i, x: i * x, i, x)[1](jnp.float32(1)))
    for _ in range(4):
        of_integer, of_float = fun(3, 2.0)
        assert type(of_integer) is np.ndarray and of_integer.dtype == tanx.float0
        assert of_integer == np.zeros((), tanx.float0)
        assert of_float == 3.0 and of_float.dtype == np.float32
