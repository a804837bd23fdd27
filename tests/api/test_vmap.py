"""``vmap`` as users call it: which axes, of which arguments, and where they go."""

import inspect

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx.interpreters import ad

M = np.arange(6, dtype=np.int32).reshape(2, 3)


def error(call, kind=ValueError) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def same(actual, expected):
    np.testing.assert_array_equal(np.asarray(actual), expected)


# --- in_axes --------------------------------------------------------------------------------------


def test_axes_of_arguments():
    same(tanx.vmap(lambda x: x.sum())(M), M.sum(1))
    same(tanx.vmap(lambda x: x.sum(), in_axes=1)(M), M.sum(0))
    same(tanx.vmap(lambda x: x.sum(), in_axes=-1)(M), M.sum(0))
    same(tanx.vmap(lambda x, y: x + y, (0, None))(M, 10), M + 10)
    same(tanx.vmap(lambda x, y: x - y, (0, 1))(M, M.T), 0 * M)
    same(tanx.vmap(lambda x, y: x - y, [0, -1])(M, M.T), 0 * M)
    same(tanx.vmap(lambda x, y: x + y, 0)(M[0], M[1]), M[0] + M[1])


def test_axes_of_pytrees():
    tree = {"a": M, "b": (M[0], 5)}
    fun = lambda t: t["a"].sum() + t["b"][0] + t["b"][1]
    axes = {"a": 1, "b": (0, None)}
    same(tanx.vmap(fun, (axes,))(tree), M.sum(0) + M[0] + 5)
    same(tanx.vmap(fun, ({"a": -1, "b": (0, None)},))(tree), M.sum(0) + M[0] + 5)
    same(tanx.vmap(lambda t, s: t["x"] * s, (None, 0))({"x": 2}, M[0]), 2 * M[0])
    same(tanx.vmap(lambda t: t["x"] + t["y"], (0,))({"x": M[0], "y": M[1]}), M.sum(0))


def test_keywords_are_mapped_along_their_first_axis():
    same(tanx.vmap(lambda x, *, y: x + y)(M[0], y=M[1]), M.sum(0))
    same(tanx.vmap(lambda x, y: x + y, in_axes=(1,))(M, y=M.T), 2 * M.T)
    same(tanx.vmap(lambda *, y: y + 1)(y=M[0]), M[0] + 1)


def test_nothing_is_mapped_but_a_size_is_given():
    same(tanx.vmap(lambda x: x + 1, in_axes=None, axis_size=2)(M[0]), np.stack([M[0] + 1] * 2))
    same(tanx.vmap(lambda: 3, axis_size=2)(), [3, 3])
    same(tanx.vmap(lambda x: x, axis_size=2)(M), M)


def test_numbers_and_numpy_arrays():
    same(tanx.vmap(lambda x, y: x * y, (0, None))(M, 2.5), M * 2.5)
    assert tanx.vmap(lambda x: x * 2)(np.arange(3.0)).dtype == jnp.float32


def test_empty_batches():
    assert tanx.vmap(lambda x: x.sum())(jnp.zeros((0, 3))).shape == (0,)
    assert tanx.vmap(lambda x: x, out_axes=1)(jnp.zeros((0, 3))).shape == (3, 0)


# --- out_axes -------------------------------------------------------------------------------------


def test_axes_of_results():
    same(tanx.vmap(lambda x: x, out_axes=1)(M), M.T)
    same(tanx.vmap(lambda x: x, out_axes=-1)(M), M.T)
    same(tanx.vmap(lambda x: (x, 7), out_axes=(1, None))(M)[0], M.T)
    assert tanx.vmap(lambda x: (x, 7), out_axes=(1, None))(M)[1] == 7
    found = tanx.vmap(lambda x: {"a": x, "b": [x, x]}, out_axes={"a": 0, "b": 1})(M)
    same(found["a"], M)
    same(found["b"][1], M.T)


def test_results_that_depend_on_no_lane_are_repeated():
    same(tanx.vmap(lambda x: 7)(M), [7, 7])
    same(tanx.vmap(lambda x: jnp.arange(2), out_axes=1)(M), [[0, 0], [1, 1]])
    assert tanx.vmap(lambda x: None)(M) is None
    assert tanx.vmap(lambda x: 1.5)(M).weak_type


# --- Names ----------------------------------------------------------------------------------------


def test_names():
    same(tanx.vmap(lambda x: x / lax.psum(x, "rows"), axis_name="rows")(jnp.array([1.0, 3.0])),
         [0.25, 0.75])
    same(tanx.vmap(lambda x: lax.axis_index("i"), axis_name="i")(M), [0, 1])
    same(tanx.vmap(lambda x: x, spmd_axis_name="i")(M), M)


# --- Inside other transformations -----------------------------------------------------------------


def test_jit_and_grad():
    fun = tanx.vmap(lambda x: (x * x).sum())
    x = jnp.asarray(M, "float32")
    same(tanx.jit(fun)(x), (x * x).sum(1))
    same(tanx.grad(lambda x: fun(x).sum())(x), 2 * x)
    same(tanx.vmap(tanx.grad(lambda x: (x * x).sum()))(x), 2 * x)


def test_jaxpr():
    assert str(tanx.make_jaxpr(tanx.vmap(lambda x, y: x @ y, (None, 0)))(M.T, M.T)) == """\
{ lambda ; a:i32[3,2] b:i32[3,2]. let
    c:i32[3,3] = dot_general[
      dimension_numbers=(([1], [1]), ([], []))
      preferred_element_type=int32
    ] a b
    d:i32[3,3] = transpose[permutation=(1, 0)] c
  in (d,) }"""


# --- Mistakes -------------------------------------------------------------------------------------


def f(x, y):
    return x


@pytest.mark.parametrize("call, kind, text", [
    (lambda: tanx.vmap(3), TypeError,
     "tanx.vmap: needs a function to transform.\n"
     "  given: 3"),
    (lambda: tanx.vmap(f, in_axes={"x": 0}), TypeError,
     "tanx.vmap: in_axes must be an int, None, or a tuple with one entry per argument.\n"
     "  in_axes: {'x': 0}"),
    (lambda: tanx.vmap(f, in_axes="x"), TypeError,
     "tanx.vmap: in_axes must be an int, None, or a tuple with one entry per argument.\n"
     "  in_axes: 'x'"),
    (lambda: tanx.vmap(f, (0,))(M, M), ValueError,
     "tanx.vmap: in_axes must have one entry for each positional argument.\n"
     "  in_axes:   (0,)\n"
     "  arguments: 2 passed to f"),
    (lambda: tanx.vmap(f, (0, 1.5))(M, M), TypeError,
     "tanx.vmap: in_axes must hold integers and None only.\n"
     "  found: 1.5"),
    (lambda: tanx.vmap(f, None)(M, M), ValueError,
     "tanx.vmap: nothing is mapped: in_axes is None for every argument.\n"
     "  Hint: give axis_size, or an integer in in_axes."),
    (lambda: tanx.vmap(f)(M, {"a": 1.0}), ValueError,
     "tanx.vmap: asked to map axis 0 of an array that has 0 dimensions.\n"
     "  argument y['a']: ~float32[]\n"
     "  Hint: use in_axes=None for arguments that are not mapped."),
    (lambda: tanx.vmap(f, (0, -3))(M, M), ValueError,
     "tanx.vmap: asked to map axis -3 of an array that has 2 dimensions.\n"
     "  argument y: int32[2,3]\n"
     "  Hint: use in_axes=None for arguments that are not mapped."),
    (lambda: tanx.vmap(f)(M, M.T), ValueError,
     "tanx.vmap: vmap got inconsistent sizes for array axes to be mapped.\n"
     "  axis 0 of x: size 2, of int32[2,3]\n"
     "  axis 0 of y: size 3, of int32[3,2]\n"
     "  Hint: use in_axes=None for arguments that are not mapped."),
    (lambda: tanx.vmap(f, axis_size=5)(M, M), ValueError,
     "tanx.vmap: vmap got inconsistent sizes for array axes to be mapped.\n"
     "  axis 0 of x: size 2, of int32[2,3]\n"
     "  axis 0 of y: size 2, of int32[2,3]\n"
     "  axis_size: 5\n"
     "  Hint: use in_axes=None for arguments that are not mapped."),
    (lambda: tanx.vmap(f)(M, "a"), TypeError,
     "tanx.vmap: argument y of f is not an array.\n"
     "  value: 'a' of type str"),
    (lambda: tanx.vmap(lambda x: [x, "a"])(M), TypeError,
     "tanx.vmap: <lambda> must return arrays or numbers.\n"
     "  result[1]: 'a' of type str"),
    (lambda: tanx.vmap(f, out_axes=None)(M, M), ValueError,
     "tanx.vmap: at vmap out_axes, got axis spec None but output was batched on axis 0.\n"
     "  output: int32[2,3]\n"
     "  Hint: give an integer in out_axes for outputs that depend on the mapped axis."),
    (lambda: tanx.vmap(lambda x: {"a": 1, "b": (2, x)}, out_axes=None)(M), ValueError,
     "tanx.vmap: at vmap out_axes['b'][1], got axis spec None but output was batched on axis 0.\n"
     "  output: int32[2,3]\n"
     "  Hint: give an integer in out_axes for outputs that depend on the mapped axis."),
    (lambda: tanx.vmap(f, out_axes=3)(M, M), ValueError,
     "tanx.vmap: out_axes names axis 3 of an output that has 2, including the mapped one.\n"
     "  output: int32[2,3]"),
])
def test_mistakes(call, kind, text):
    assert error(call, kind) == text


def test_axes_that_are_no_prefix():
    text = error(lambda: tanx.vmap(lambda t: t["a"], ({"b": 0},))({"a": M}))
    assert text.startswith("tanx.vmap: in_axes must be a prefix of the structure it describes.\n")
    text = error(lambda: tanx.vmap(lambda x: (x, x), out_axes=(0, 0, 0))(M))
    assert text.startswith("tanx.vmap: out_axes must be a prefix of the structure it describes.\n")


def test_name_and_signature():
    assert tanx.vmap(f).__name__ == "f"
    assert inspect.signature(tanx.vmap(f)) == inspect.signature(f)


def test_zero_tangents_are_passed_on():
    """Rules of libraries map their tangents, some of which are known to be zero."""
    zero = ad.Zero(tanx.typeof(1.0))
    mapped = tanx.vmap(lambda x, tangents: (x * 2, [tangents[0], x]), in_axes=(0, [None, None]))
    double, (same, x) = mapped(jnp.arange(3.0), [zero, 1.0])
    assert double.tolist() == [0, 2, 4] and x.tolist() == [0, 1, 2] and same is zero


@pytest.mark.parametrize("out_axes", [0, -1, None])
@pytest.mark.parametrize("dtype", [np.float32, tanx.float0])
def test_zero_tangents_that_the_function_makes(dtype, out_axes):
    """For example the tangent of an integer result is a symbolic zero, even if no argument's is."""
    zero = ad.Zero(tanx.core.ShapedArray((), dtype))
    mapped = tanx.vmap(lambda x: {"sum": x * 2, "tangent": zero}, out_axes={"sum": 0,
                                                                           "tangent": out_axes})
    compiled = tanx.jit(lambda x: mapped(x)["sum"])
    for _ in range(4):
        found = mapped(jnp.arange(3.0))
        assert found["sum"].tolist() == [0, 2, 4] and found["tangent"] is zero
        assert compiled(jnp.arange(3.0)).tolist() == [0, 2, 4]
