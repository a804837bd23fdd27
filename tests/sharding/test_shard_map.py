"""shard_map, smap and pmap on a mesh of one device."""

import gc
import weakref

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import P, lax, shard_map
from tanx.experimental.shard_map import shard_map as old_shard_map
from tanx.sharding import AbstractMesh, Mesh, NamedSharding

DEVICE = tanx.devices()[0]
ONE = Mesh([DEVICE], "x")
TWO = Mesh([[DEVICE]], ("x", "y"))
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def choose(x):
    total = lax.psum(x.sum(), "x")
    return lax.cond(total > 0, lambda y: lax.psum(y, "x"), lambda y: lax.psum(2 * y, "x"), x)


def loop(x):
    return lax.scan(lambda c, _: (lax.ppermute(c, "x", [(0, 0)]) + 1, None), x, None, length=2)[0]


BODIES = {  # body, in_specs, out_specs, result
    "plain": (lambda x: 2 * x, P("x"), P("x"), 2 * X),
    "psum": (lambda x: lax.psum(x, "x"), P("x"), P(), X),
    "pmean of two": (lambda x: lax.pmean(x, ("x", "y")), P("x", "y"), P(), X),
    "pmax": (lambda x: lax.pmax(x, "x"), P("x"), P(), X),
    "all_gather": (lambda x: lax.all_gather(x, "x", tiled=True), P("x"), P("x"), X),
    "all_gather, new axis": (lambda x: lax.all_gather(x, "x"), P("x"), P(None, "x"), X[None]),
    "psum_scatter": (lambda x: lax.psum_scatter(x, "x", tiled=True), P("x"), P("x"), X),
    "all_to_all": (lambda x: lax.all_to_all(x, "x", 0, 1, tiled=True), P("x"), P("x"), X),
    "ppermute": (lambda x: lax.ppermute(x, "x", [(0, 0)]), P("x"), P("x"), X),
    "ppermute to none": (lambda x: lax.ppermute(x, "x", []), P("x"), P("x"), 0 * X),
    "axis_index": (lambda x: x + lax.axis_index("x"), P("x"), P("x"), X),
    "axis_size": (lambda x: x * lax.axis_size("x"), P("x"), P("x"), X),
    "cond": (choose, P("x"), P(), X),
    "scan": (loop, P("x"), P("x"), X + 2),
    "vmap inside": (lambda x: tanx.vmap(lambda r: lax.psum(r, "i") + lax.psum(r, "x"),
                                        axis_name="i")(x), P(None, "x"), P(None, "x"),
                    X.sum(0) + X),
    "jit inside": (tanx.jit(lambda x: lax.psum(x @ x.T, "x")), P("x"), P(), X @ X.T),
    "replicated": (lambda x: x.sum(), P(), P(), X.sum()),
}


@pytest.mark.parametrize("body, in_specs, out_specs, expected", BODIES.values(), ids=BODIES)
def test_bodies(body, in_specs, out_specs, expected):
    f = shard_map(body, mesh=TWO, in_specs=in_specs, out_specs=out_specs)
    out = f(X)
    np.testing.assert_allclose(out, expected)
    assert out.sharding == NamedSharding(TWO, out_specs) and out.dtype == np.float32
    compiled = tanx.jit(f)
    for _ in range(4):
        out = compiled(X)
        assert out.shape == np.shape(expected) and out.dtype == np.float32 and not out.weak_type
        np.testing.assert_allclose(out, expected)
    tangent = tanx.jvp(f, (X,), (np.ones_like(X),))[1]
    np.testing.assert_allclose(
        tanx.vjp(f, X)[1](jnp.ones_like(tangent))[0].sum(), tangent.sum(), rtol=1e-6)
    np.testing.assert_allclose(tanx.vmap(f)(np.stack([X, X])), np.stack([expected] * 2))


def steps(w, x):
    def step(w, _):
        loss, slope = tanx.value_and_grad(lambda w: lax.pmean(((w * x) ** 2).sum(), "x"))(w)
        return w - 0.01 * slope, loss
    return lax.scan(step, w, None, length=3)


def by_steps(w, x):
    losses = []
    for _ in range(3):
        losses.append(((w * x) ** 2).sum())
        w = w - 0.02 * w * (x ** 2).sum(1, keepdims=True)
    return w, np.array(losses)


W = np.float32([[1.0], [3.0]])
DERIVATIVES = {  # a function of weights, the same on all devices, and of data
    "grad": (tanx.grad(lambda w, x: (w * x).sum()), P(), X.sum(1, keepdims=True)),
    "grad of a sum": (tanx.grad(lambda w, x: lax.psum((w * x).sum(), "x")), P(),
                      X.sum(1, keepdims=True)),
    "both": (tanx.grad(lambda w, x: (w * x ** 2).sum(), argnums=(0, 1)), (P(), P("x")),
             ((X ** 2).sum(1, keepdims=True), 2 * W * X)),
    "vjp": (lambda w, x: tanx.vjp(lambda w: jnp.sin(w) * x, w)[1](jnp.ones_like(x))[0], P(),
            np.cos(W) * X.sum(1, keepdims=True)),
    "twice": (lambda w, x: tanx.grad(lambda v: tanx.grad(lambda w: (w ** 3 * x).sum())(v).sum())(w),
              P(), 6 * W * X.sum(1, keepdims=True)),
    "in a loop": (steps, (P(), P()), by_steps(W, X)),
    "varying weights": (lambda w, x: tanx.grad(lambda v: (v * x).sum())(
        lax.pcast(w, "x", to="varying")), P("x"), X.sum(1, keepdims=True)),
}


@pytest.mark.parametrize("body, out_specs, expected", DERIVATIVES.values(), ids=DERIVATIVES)
def test_derivatives_by_values_that_all_devices_share(body, out_specs, expected):
    f = shard_map(body, mesh=TWO, in_specs=(P(), P("x")), out_specs=out_specs)
    compiled = tanx.jit(f)
    for g in (f, *[compiled] * 4):
        tanx.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), g(W, X), expected)


def test_trees_and_decorators():
    @shard_map(mesh=ONE, in_specs=({"a": P("x")}, None), out_specs=(P("x"), P()))
    def f(tree, y):
        return {"s": tree["a"] + y}, (lax.psum(tree["a"].sum(), "x"), 1.0)

    first, (total, one) = f({"a": X}, 2)
    np.testing.assert_array_equal(first["s"], X + 2)
    assert total == 15 and one == 1 and isinstance(one, tanx.Array)
    assert shard_map(lambda x: None, mesh=ONE, in_specs=P("x"), out_specs=None)(X) is None
    np.testing.assert_array_equal(
        shard_map(lambda: jnp.ones(2), mesh=ONE, in_specs=(), out_specs=P())(), np.ones(2))
    np.testing.assert_array_equal(old_shard_map(lambda x: x, ONE, P("x"), P(), False)(X), X)
    with tanx.set_mesh(tanx.make_mesh((1,), ("x",))):
        np.testing.assert_array_equal(shard_map(lambda x: x, out_specs=P())(X), X)


def test_inside_axes_are_manual_and_bodies_are_not_batched():
    seen = []

    def body(x):
        seen.append((tanx.sharding.get_abstract_mesh().manual_axes, x.shape))
        return x

    shard_map(body, mesh=TWO, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})(X)
    assert seen == [(("x",), (2, 3))]
    jaxpr = tanx.make_jaxpr(shard_map(lambda x: x @ x.T, mesh=TWO, in_specs=P("x"),
                                      out_specs=P("x", "y")))(X).jaxpr
    dot = next(e for e in jaxpr.eqns if e.primitive.name == "dot_general")
    assert [v.aval.shape for v in dot.invars] == [(2, 3), (3, 2)]


def test_prints_in_shard_map_bodies(capsys):
    def body(x):
        print(x)
        print(repr(lax.psum(x, "x") + lax.axis_index("y")))
        return lax.psum(x, "x")

    f = shard_map(body, mesh=TWO, in_specs=P("x"), out_specs=P())
    for _ in range(4):  # once for each call
        f(X[0])
        place = "On cpu:0 at mesh coordinates (x, y,) = (0, 0):\n"
        assert capsys.readouterr().out == f"{place}[0. 1. 2.]\n\n" * 2
    compiled = tanx.jit(f)
    for _ in range(4):
        np.testing.assert_array_equal(compiled(X[0]), X[0])
    assert capsys.readouterr().out == "JitTracer(float32[3]{V:x})\nJitTracer(float32[3]{V:y})\n"
    shard_map(print, mesh=AbstractMesh((1,), ("k",)), in_specs=P(), out_specs=None)(X[0])
    assert capsys.readouterr().out == "On cpu:0 at mesh coordinates (k,) = (0,):\n[0. 1. 2.]\n\n"


def test_types_state_the_axes_along_which_values_vary():
    seen = []

    def note(*xs):
        seen.extend(str(tanx.typeof(x)) for x in xs)

    def body(x, w):
        note(x, w, x * w, lax.psum(x, "x"), lax.pcast(w, ("x", "y"), to="varying"))
        note(lax.all_gather(x, "x"), lax.axis_index("y"), lax.pmax(x + lax.axis_index("y"), "y"))
        note(tanx.jit(lambda x: lax.psum(x, "x"))(x), *lax.cond(
            w[0] > 0, lambda: (x, w), lambda: (2 * x, 2 * w)))
        note(lax.fori_loop(0, 2, lambda _, c: c + x, x), tanx.grad(lambda w: (w * x).sum())(w))
        tanx.grad(lambda y: note(y) or y.sum())(x)
        return x

    expected = """float32[3]{V:x} float32[3] float32[3]{V:x} float32[3] float32[3]{V:(x,y)}
        float32[1,3]{V:x} int32[]{V:y} float32[3]{V:x} float32[3] float32[3]{V:x} float32[3]
        float32[3]{V:x} float32[3] float32[3]{V:x}""".split()
    f = shard_map(body, mesh=TWO, in_specs=(P("x"), P()), out_specs=P("x"))
    f(X[0], X[1])
    assert seen == expected
    seen.clear()
    tanx.jit(f)(X[0], X[1])
    assert seen == expected
    seen.clear()
    old_shard_map(note, TWO, P("x"), None, False)(X[0])
    assert seen == ["float32[3]"]  # not recorded if not checked


def test_eager_bodies_keep_no_arrays_alive():
    def body(x):
        w = np.ones(1000, np.float32)
        alive.append(weakref.ref(w))

        @tanx.custom_jvp
        def f(y):
            return y * w.sum()

        f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
        return f(x)

    alive: list = []
    f = shard_map(body, mesh=ONE, in_specs=P("x"), out_specs=P("x"))
    for _ in range(4):
        np.testing.assert_array_equal(f(X[0]), 1000 * X[0])
    gc.collect()
    assert [ref() for ref in alive] == [None] * 4


def test_rules_of_a_body_run_later():
    def body(x, w):
        @tanx.custom_vjp
        def f(y):
            return w * y

        f.defvjp(lambda y: (f(y), None), lambda _, ct: (2 * w * ct,))
        return f(jnp.sin(x))

    f = shard_map(body, mesh=ONE, in_specs=(P("x"), P()), out_specs=P("x"))
    gradient = tanx.grad(lambda x, w: f(x, w).sum())
    inside = shard_map(tanx.grad(lambda x, w: body(x, w).sum()), mesh=ONE,
                       in_specs=(P("x"), P()), out_specs=P("x"))
    for g in (gradient, tanx.jit(gradient), inside, tanx.jit(inside)):
        for _ in range(4):
            np.testing.assert_allclose(g(X, X + 1), 2 * (X + 1) * np.cos(X), rtol=1e-5)


def test_bodies_read_values_and_write_references():
    ref = tanx.new_ref(jnp.zeros(3))

    def body(x):
        assert float(x[1]) == 1.0 and np.asarray(x).tolist() == [0.0, 1.0, 2.0] and x.sum() > 0
        ref[...] = 2 * x
        return lax.cond(x[0] > 0, lambda: x, lambda: -x)

    out = shard_map(body, mesh=ONE, in_specs=P("x"), out_specs=P("x"))(X[0])
    np.testing.assert_array_equal(out, -X[0])
    np.testing.assert_array_equal(ref[...], 2 * X[0])


def varying(body, **options):
    return shard_map(body, mesh=ONE, **{"in_specs": P("x"), "out_specs": P(), **options})(X)


@pytest.mark.parametrize("call, error, text", [
    (lambda: varying(lambda x: 2 * x), ValueError, "varies along the axis 'x'"),
    (lambda: varying(lambda x: lax.axis_index("x"), in_specs=P()), ValueError, "varies"),
    (lambda: varying(lambda x: lax.pcast(x, "x", to="varying"), in_specs=P()), ValueError,
     "varies"),
    (lambda: varying(tanx.grad(lambda x: (x ** 2).sum())), ValueError, "varies"),
    (lambda: shard_map(lambda x: x, in_specs=P("x"), out_specs=P("x"))(X), ValueError,
     "no mesh in scope"),
    (lambda: varying(lambda x: x, in_specs=P("z")), ValueError, "in_specs must only name axes"),
    (lambda: varying(lambda x: x, out_specs=P("z")), ValueError, "out_specs must only name axes"),
    (lambda: varying(lambda x: x.sum(), out_specs=P("x")), ValueError, "of out_specs has more"),
    (lambda: varying(lambda x: x, in_specs=P("x", None, None)), ValueError, "of in_specs has more"),
    (lambda: varying(lambda x: x, in_specs=(P("x"), P())), ValueError, "prefix"),
    (lambda: varying(lambda x: x, in_specs=3), TypeError, "PartitionSpecs"),
    (lambda: varying(lambda x: x, out_specs=None), ValueError, "prefix"),
    (lambda: varying(lambda x: x, axis_names={"z"}), ValueError, "axes of the mesh"),
    (lambda: shard_map(lambda x: x, mesh=ONE, out_specs=P())(X), TypeError, "may be omitted only"),
    (lambda: varying(lambda x: lax.psum(x, "q")), NameError, "'q'"),
    (lambda: varying(lambda x: varying(lambda y: y)), ValueError, "already"),
    (lambda: shard_map(lambda x: x, mesh=AbstractMesh((2,), ("x",)), in_specs=P("x"),
                       out_specs=P("x"))(X), NotImplementedError, "several devices"),
    (lambda: shard_map(lambda x: x, mesh=3, in_specs=P(), out_specs=P()), TypeError, "Mesh"),
    (lambda: shard_map(3, mesh=ONE, in_specs=P(), out_specs=P()), TypeError, "function"),
    (lambda: tanx.smap(lambda x: x, in_axes=-1, out_axes=0, axis_name="x"), TypeError, "in_axes"),
    (lambda: tanx.smap(lambda x: x, in_axes=0, out_axes=0, axis_name=3), TypeError, "axis_name"),
    (lambda: tanx.pmap(lambda x: x)(np.ones((2, 3))), ValueError, "number of devices"),
    (lambda: tanx.pmap(lambda x: x)(1.0), ValueError, "0 dimensions"),
    (lambda: tanx.pmap(lambda x: x, axis_size=2)(X[:1]), ValueError, "axis_size"),
    (lambda: tanx.pmap(lambda x: x, in_axes=None)(X), ValueError, "must be mapped"),
    (lambda: tanx.pmap(lambda x: x, in_axes=(0, 0))(X[:1]), ValueError, "one entry"),
    (lambda: tanx.pmap(lambda x: x, devices=[DEVICE] * 2), NotImplementedError, "several"),
])
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_smap():
    with tanx.set_mesh(TWO):
        f = tanx.jit(tanx.smap(lambda x: x - lax.pmean(x, "y"), in_axes=1, out_axes=1,
                               axis_name="y"))
        for _ in range(4):
            np.testing.assert_array_equal(f(X), 0 * X)
        np.testing.assert_array_equal(
            tanx.smap(lambda x: lax.psum(x, "x"), in_axes=(0,), out_axes=None, axis_name="x")(X), X)


PMAPPED = {
    "plain": (dict(), lambda x: x + 1, (X[:1],), X[:1] + 1),
    "psum": (dict(axis_name="i"), lambda x: lax.psum(x, "i"), (X[:1],), X[:1]),
    "axes": (dict(in_axes=(1, None), out_axes=1), lambda x, y: x + y, (X[:, :1], 2.0),
             X[:, :1] + 2),
    "no out axis": (dict(in_axes=(0, None), out_axes=None), lambda x, y: x * y, (X[:1], 2.0),
                    2 * X[0]),
    "static": (dict(static_broadcasted_argnums=1), lambda x, n: x * n, (X[:1], 3), 3 * X[:1]),
    "static and axes": (dict(static_broadcasted_argnums=(0,), in_axes=(None, 0)),
                        lambda n, x: x * n, (3, X[:1]), 3 * X[:1]),
    "index": (dict(axis_name="i"), lambda x: lax.axis_index("i") + x, (X[:1],), X[:1]),
}


@pytest.mark.parametrize("options, body, args, expected", PMAPPED.values(), ids=PMAPPED)
def test_pmap(options, body, args, expected):
    f = tanx.pmap(body, **options)
    for _ in range(4):
        out = f(*args)
        assert out.shape == expected.shape and out.dtype == np.float32 and not out.weak_type
        np.testing.assert_array_equal(out, expected)
    assert isinstance(out.sharding, NamedSharding) and out.sharding.num_devices == 1


def test_pmap_composes():
    f = tanx.pmap(lambda x: (lax.psum(x ** 2, "i"), {"k": x}), axis_name="i", donate_argnums=())
    np.testing.assert_array_equal(tanx.grad(lambda x: f(x)[0].sum())(X[:1]), 2 * X[:1])
    np.testing.assert_array_equal(tanx.jit(lambda x: f(x)[1]["k"])(X[:1]), X[:1])
    nested = tanx.pmap(tanx.pmap(lambda x: lax.psum(x, ("i", "j")), "j"), "i")
    np.testing.assert_array_equal(nested(X[None, :1]), X[None, :1])
    assert tanx.pmap(lambda x, *, y: x + y)(X[:1], y=X[:1]).shape == (1, 3)
