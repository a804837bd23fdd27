"""Collectives along named axes, against NumPy on whole arrays."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax

X = np.arange(6, dtype=np.float32).reshape(3, 2)
CUBE = np.arange(2 * 3 * 6, dtype=np.float32).reshape(2, 3, 6)


def over(fun, *args, **options):
    return tanx.vmap(fun, axis_name="i", **options)(*args)


def over_two(fun, x):
    return tanx.vmap(tanx.vmap(fun, axis_name="j"), axis_name="i")(x)


def same(actual, expected):
    np.testing.assert_array_equal(np.asarray(actual), expected)


def repeated(value, count=3):
    return np.stack([value] * count)


# --- Reductions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("collective, reduce", [
    (lax.psum, np.sum), (lax.pmean, np.mean), (lax.pmax, np.max), (lax.pmin, np.min)])
def test_reductions(collective, reduce):
    same(over(lambda x: collective(x, "i"), X), repeated(reduce(X, 0)))
    same(over(lambda x: collective(x, "i"), X.T, in_axes=1), repeated(reduce(X, 0)))
    same(over(lambda x: collective(x, "i"), X, out_axes=None), reduce(X, 0))
    same(over_two(lambda x: collective(x, "i"), CUBE), repeated(reduce(CUBE, 0), 2))
    same(over_two(lambda x: collective(x, "j"), CUBE),
         np.broadcast_to(reduce(CUBE, 1)[:, None], CUBE.shape))
    same(over_two(lambda x: collective(x, ("i", "j")), CUBE),
         np.broadcast_to(reduce(CUBE, (0, 1)), CUBE.shape))


def test_reductions_along_axes_of_the_operand():
    same(lax.psum(X, 0), X.sum(0))
    same(lax.psum(X, (0, 1)), X.sum())
    same(lax.psum(X, -1), X.sum(-1))
    same(lax.psum(X, ()), X)
    same(lax.pmax(X, 1), X.max(1))
    same(over(lambda x: lax.psum(x, (0, "i")), X), repeated(X.sum()))


def test_reductions_of_pytrees():
    total = over(lambda x: lax.psum({"a": x, "b": (2 * x,)}, "i"), X)
    same(total["a"], repeated(X.sum(0)))
    same(total["b"][0], repeated(2 * X.sum(0)))


def test_collective_reductions_of_unmapped_values():
    same(over(lambda x: lax.psum(jnp.float32(1.5), "i") + x, X), 4.5 + X)
    same(over(lambda x: lax.pmax(jnp.float32(1.5), "i") + x, X), 1.5 + X)
    same(over(lambda x: lax.pmean(jnp.float32(1.5), "i") + x, X), 1.5 + X)


def test_python_numbers_stay_numbers():
    found = []
    over(lambda x: found.extend([lax.psum(1, "i"), lax.psum(1.5, "i"), lax.pmean(3, "i"),
                                 lax.pmax(2, "i"), lax.axis_size("i")]) or x, X)
    assert found == [3, 4.5, 3.0, 2, 3]
    assert [type(n) for n in found] == [int, float, float, int, int]


def test_dtypes():
    assert over(lambda x: lax.psum(x > 1, "i"), X).dtype == jnp.int32
    assert over(lambda x: lax.pmax(x > 1, "i"), X).dtype == jnp.bool_
    assert over(lambda x: lax.pmean(x.astype(int), "i"), X).dtype == jnp.float32
    assert over(lambda x: lax.psum(x.astype("bfloat16"), "i"), X).dtype == jnp.bfloat16


# --- Moving data ----------------------------------------------------------------------------------


def test_axis_index_and_size():
    same(over(lambda x: lax.axis_index("i"), X), [0, 1, 2])
    same(over_two(lambda x: lax.axis_index(("i", "j")), X[:2]), [[0, 1], [2, 3]])
    same(over_two(lambda x: lax.axis_index(("j", "i")), X[:2]), [[0, 2], [1, 3]])
    same(over_two(lambda x: lax.axis_size(("i", "j")) * x, X), 6 * X)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_all_gather(axis):
    same(over(lambda x: lax.all_gather(x, "i", axis=axis), X),
         repeated(np.moveaxis(X, 0, axis)))
    cube = over(lambda x: lax.all_gather(x, "i", axis=axis % 2, tiled=True), CUBE)
    same(cube, repeated(np.concatenate(list(CUBE), axis % 2), 2))


def test_all_gather_of_scalars_and_constants():
    same(over(lambda x: lax.all_gather(x[0], "i"), X), repeated(X[:, 0]))
    same(over(lambda x: lax.all_gather(jnp.ones(2), "i") + x, X), 1 + np.stack([X] * 3, 1))


def test_all_gather_over_two_names():
    x = X.reshape(2, 3)
    flat = np.broadcast_to(x.reshape(6), (2, 3, 6))
    same(over_two(lambda x: lax.all_gather(x, ("i", "j")), x), flat)
    same(over_two(lambda x: lax.all_gather(x[None], ("i", "j"), tiled=True), x), flat)
    same(over_two(lambda x: lax.all_gather(x, ("j", "i")), x),
         np.broadcast_to(x.T.reshape(6), (2, 3, 6)))


def test_ppermute():
    same(over(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]), X), X[[2, 0, 1]])
    same(over(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]), X), [[0, 0], X[0], X[1]])
    same(over(lambda x: lax.ppermute(x, "i", []), X), 0 * X)
    same(over(lambda x: lax.pshuffle(x, "i", [1, 2, 0]), X), X[[1, 2, 0]])
    same(over_two(lambda x: lax.ppermute(x, "j", [(0, 1), (1, 2), (2, 0)]), CUBE),
         CUBE[:, [2, 0, 1]])


def test_all_to_all():
    x = np.arange(3 * 3 * 4).reshape(3, 3, 4)
    same(over(lambda x: lax.all_to_all(x, "i", 0, 0), x), x.swapaxes(0, 1))
    same(over(lambda x: lax.pswapaxes(x, "i", 0), x), x.swapaxes(0, 1))
    same(over(lambda x: lax.all_to_all(x, "i", 0, 1), x), np.moveaxis(x, 0, -1))
    x = np.arange(2 * 4 * 3).reshape(2, 4, 3)
    sent = x.reshape(2, 2, 2, 3)  # sender, receiver, half, rest
    same(over(lambda x: lax.all_to_all(x, "i", 0, 1, tiled=True), x),
         np.moveaxis(sent, 0, 2).reshape(2, 2, 6))
    same(over(lambda x: lax.all_to_all(x, "i", -2, -1, tiled=True), x),
         np.moveaxis(sent, 0, 2).reshape(2, 2, 6))


def test_all_to_all_over_two_names():
    x = np.arange(36).reshape(2, 3, 6)
    swapped = x.reshape(6, 6).T.reshape(2, 3, 6)
    same(over_two(lambda x: lax.all_to_all(x, ("i", "j"), 0, 0), x), swapped)
    same(over_two(lambda x: lax.all_to_all(x, ("i", "j"), 0, 0, tiled=True), x), swapped)


def test_psum_scatter():
    x = np.arange(3 * 3 * 6).reshape(3, 3, 6)
    total = x.sum(0)
    same(over(lambda x: lax.psum_scatter(x, "i"), x), total)
    same(over(lambda x: lax.psum_scatter_start(x, "i").done(), x), total)
    same(over(lambda x: lax.pcast({"x": x}, "i", to="varying")["x"], x), x)
    same(over(lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True), x),
         total.reshape(3, 3, 2).swapaxes(0, 1))
    same(over(lambda x: lax.psum_scatter(jnp.ones(3, int), "i") + x[0, 0], x), 3 + x[:, 0, 0])


def test_pbroadcast():
    same(over(lambda x: lax.pbroadcast(x, "i", 1), X), repeated(X[1]))
    same(over(lambda x: lax.pbroadcast(jnp.float32(7), "i", 1) + x, X), 7 + X)


# --- Other transformations ------------------------------------------------------------------------


@pytest.mark.parametrize("call", [tanx.jit, tanx.checkpoint])
def test_inside_calls(call):
    same(over(call(lambda x: lax.psum(x, "i")), X), repeated(X.sum(0)))
    same(over(lambda x: call(lambda y: lax.psum(y, "i"))(jnp.float32(2)) * x, X), 6 * X)
    same(tanx.jit(tanx.vmap(call(lambda x: lax.axis_index("i") * x), axis_name="i"))(X),
         X * [[0], [1], [2]])
    both = lambda x: tanx.jit(lambda y: lax.psum(y, "i"))(x)  # two sizes of the axis
    same(over(both, X), repeated(X.sum(0)))
    same(over(both, X[:2]), repeated(X[:2].sum(0), 2))


def test_inside_functions_with_rules_of_their_own():
    @tanx.custom_jvp
    def total(x):
        return lax.psum(x, "i")

    total.defjvp(lambda primals, tangents: (total(*primals), 2 * lax.psum(tangents[0], "i")))
    same(over(total, X), repeated(X.sum(0)))
    same(over(lambda x: total(jnp.float32(1)) + x, X), 3 + X)
    same(over(tanx.grad(lambda x: total(x).sum()), X), np.full_like(X, 6))


def test_gradients():
    x = np.arange(3, dtype=np.float32)
    share = lambda x: over(lambda y: lax.psum(y ** 2, "i") * y, x)
    expected = np.sum(x ** 2) * np.eye(3) + 2 * np.outer(x, x)
    same(tanx.jacrev(share)(x), expected)
    same(tanx.jacfwd(share)(x), expected)
    # Inside the map, a lane's result counts once for every lane that receives it.
    same(over(tanx.grad(lambda y: lax.psum(y ** 2, "i")), x), 6 * x)
    same(over(tanx.grad(lambda y: lax.pmean(y ** 2, "i")), x), 2 * x)
    same(over(tanx.grad(lambda y: (lax.all_gather(y, "i") * jnp.arange(3.0)).sum()), x),
         3 * np.arange(3))
    same(over(tanx.grad(lambda y: lax.pmax(y, "i")), x), [0, 0, 3])
    same(over(tanx.grad(lambda y: lax.ppermute(y, "i", [(0, 1)])), x), [1, 0, 0])


def test_jaxprs():
    programs = lambda x: (lax.psum(x, "i"), lax.ppermute(x, "i", [(0, 1)]),
                          lax.psum_scatter(x, "i"))
    assert str(tanx.make_jaxpr(programs, axis_env=[("i", 3)])(X)) == """\
{ lambda ; a:f32[3,2]. let
    b:f32[3,2] = psum[axes=('i',) axis_index_groups=None] a
    c:f32[3,2] = ppermute[axis_name=('i',) perm=((0, 1),)] a
    d:f32[2] = reduce_scatter[
      axis_index_groups=None
      axis_name=('i',)
      axis_size=3
      scatter_dimension=0
      tiled=False
    ] a
  in (b, c, d) }"""
    assert str(tanx.make_jaxpr(tanx.vmap(lambda x: lax.psum(x, "i"), axis_name="i"))(X)) == """\
{ lambda ; a:f32[3,2]. let
    b:f32[2] = psum[axes=(0,) axis_index_groups=None] a
    c:f32[3,2] = broadcast_in_dim[broadcast_dimensions=(1,)] b
  in (c,) }"""


# --- Mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["psum", "pmean", "pmax", "pmin", "all_gather", "psum_scatter",
                                  "axis_index", "axis_size", "pbroadcast", "ppermute",
                                  "all_to_all", "pswapaxes"])
def test_an_axis_that_no_map_binds(name):
    more = {"ppermute": ([(0, 1)],), "all_to_all": (0, 0), "pswapaxes": (0,), "pbroadcast": (0,)}
    operand = () if name.startswith("axis") else (X,)
    for scope, known in ((lambda f: f(), "none"), (lambda f: over(lambda x: f(), X), "'i'")):
        with pytest.raises(NameError) as caught:
            scope(lambda: getattr(lax, name)(*operand, "k", *more.get(name, ())))
        assert str(caught.value) == (
            f"tanx.lax.{name}: the axis name 'k' is not bound.\n"
            f"  axes in scope: {known}\n"
            "  Hint: call the function inside vmap(..., axis_name='k').")


@pytest.mark.parametrize("use, error, text", [
    (lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)]), ValueError,
     "tanx.lax.ppermute: sources and destinations must be distinct positions of the axis.\n"
     "  perm:      ((0, 1), (0, 2))\n"
     "  axis size: 3"),
    (lambda x: lax.ppermute(x, "i", [(0, 3)]), ValueError,
     "tanx.lax.ppermute: sources and destinations must be distinct positions of the axis.\n"
     "  perm:      ((0, 3),)\n"
     "  axis size: 3"),
    (lambda x: lax.pshuffle(x, "i", [0, 0, 1]), ValueError,
     "tanx.lax.pshuffle: perm must be a permutation.\n"
     "  perm: [0, 0, 1]"),
    (lambda x: lax.all_to_all(x, "i", 0, 0), ValueError,
     "tanx.lax.all_to_all: the split dimension must equal the size of the named axis.\n"
     "  operand:    float32[2]\n"
     "  split_axis: 0\n"
     "  axis size:  3"),
    (lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True), ValueError,
     "tanx.lax.all_to_all: the split dimension must be a multiple of the size of the named axis.\n"
     "  operand:    float32[2]\n"
     "  split_axis: 0\n"
     "  axis size:  3"),
    (lambda x: lax.psum_scatter(x, "i"), ValueError,
     "tanx.lax.psum_scatter: the scattered dimension must equal the size of the named axis.\n"
     "  operand:   float32[2]\n"
     "  dimension: 0\n"
     "  axis size: 3"),
    (lambda x: lax.all_gather(x[0], "i", tiled=True), ValueError,
     "tanx.lax.all_gather: axis must be a dimension of the result.\n"
     "  operand: float32[]\n"
     "  axis:    0\n"
     "  tiled:   True"),
    (lambda x: lax.pbroadcast(x, "i", 3), ValueError,
     "tanx.lax.pbroadcast: source must be a position of the axis.\n"
     "  source:    3\n"
     "  axis size: 3"),
    (lambda x: lax.psum(x, 1), ValueError,
     "tanx.lax.psum: axes must be distinct dimensions of the operand.\n"
     "  operand: float32[2]\n"
     "  axes:    (1,)\n"
     "  Hint: tanx.numpy's functions take negative axes."),
    (lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [2]]), NotImplementedError,
     "tanx.lax.psum: axis_index_groups is not supported under vmap.\n"
     "  Hint: use two nested vmaps, one for the groups."),
    (lambda x: lax.psum_scatter(x, ("i", "i")), NotImplementedError,
     "tanx.lax.psum_scatter: takes one named axis.\n"
     "  axis_name: ('i', 'i')\n"
     "  Hint: merge them: use one vmap over the reshaped array."),
])
def test_mistakes(use, error, text):
    with pytest.raises(error) as caught:
        over(use, X)
    assert str(caught.value) == text
