"""References: programs that write to them equal the same programs on values, in every mode."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._core.effects import ReadEffect, WriteEffect
from tanx._transforms.discharge import discharge, is_stateful

TIMES = 5  # native calls begin with the third


def x3():
    return jnp.arange(3.0) + 1


# -- twins: a function of references and x, and one of their contents that gives new ones ----------


def assigned(a, b, x):
    a[0] = x[1]
    a[...] *= 2.0
    b[...] += a[2]
    return a[1:]


def assigned_values(a, b, x):
    a = a.at[0].set(x[1]) * 2
    return a[1:], a, b + a[2]


def scanned(a, b, x):
    def body(carry, i):
        a[i] += carry * x[i]
        b.addupdate(a[i])
        return carry + 1.0, b[...]
    return lax.scan(body, 0.0, jnp.arange(3))


def scanned_values(a, b, x):
    def body(carry, i):
        c, a, b = carry
        a = a.at[i].add(c * x[i])
        b = b + a[i]
        return (c + 1.0, a, b), b
    (c, a, b), ys = lax.scan(body, (0.0, a, b), jnp.arange(3))
    return (c, ys), a, b


def counted(a, b, x):
    return lax.while_loop(
        lambda i: (i < 4) & (b[...] < 100.0),
        lambda i: (a.addupdate(x), b.addupdate(a[0]), i + 1)[-1], 0)


def counted_values(a, b, x):
    i, a, b = lax.while_loop(
        lambda s: (s[0] < 4) & (s[2] < 100.0),
        lambda s: (s[0] + 1, s[1] + x, s[2] + (s[1] + x)[0]), (0, a, b))
    return i, a, b


def chosen(a, b, x):
    def yes():
        a[0] = x[0] * b[...]

    def no():
        b[...] = a[1]
    lax.cond(b[...] > 1.0, yes, no)
    return a[0]


def chosen_values(a, b, x):
    a, b = lax.cond(b > 1.0, lambda: (a.at[0].set(x[0] * b), b), lambda: (a, a[1]))
    return a[0], a, b


@tanx.jit
def increment(ref, by):
    ref[...] += by


def nested(a, b, x):
    increment(a, x)
    increment(b, 1.0)
    tanx.checkpoint(lambda: a.addupdate(a[...] * b[...]))()
    return a[...].sum()


def nested_values(a, b, x):
    a, b = a + x, b + 1.0
    a = a + a * b
    return a.sum(), a, b


def rows(a, b, x):
    def body(carry, cell):
        cell[...] = cell[...] * carry
        return carry + cell[...], None
    return lax.scan(body, b[...], a)[0]


def rows_values(a, b, x):
    carry, a = lax.scan(lambda c, v: (c + v * c, v * c), b, a)
    return carry, a, b


TWINS = [(assigned, assigned_values), (scanned, scanned_values), (counted, counted_values),
         (chosen, chosen_values), (nested, nested_values), (rows, rows_values)]
each_twin = pytest.mark.parametrize("stateful, pure", TWINS, ids=lambda f: f.__name__)


def same(ours, theirs):
    ours, theirs = tanx.tree.leaves(ours), tanx.tree.leaves(theirs)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs):
        assert tanx.typeof(x) == tanx.typeof(y)
        np.testing.assert_allclose(x, y, rtol=1e-5)


@pytest.mark.parametrize("wrap", [lambda f: f, tanx.jit], ids=["eager", "jit"])
@each_twin
def test_stateful_functions_match_their_pure_twins(stateful, pure, wrap):
    a, b, x = tanx.new_ref(x3()), tanx.new_ref(jnp.float32(0.5)), x3() / 2
    run, contents = wrap(stateful), (a[...], b[...])
    for _ in range(TIMES):
        out = run(a, b, x)
        expected, *contents = pure(*contents, x)
        same((out, a[...], b[...]), (expected, *contents))


@each_twin
def test_closed_over_refs_work_like_arguments(stateful, pure):
    a, b, x = tanx.new_ref(x3()), tanx.new_ref(jnp.float32(0.5)), x3() / 2
    run, contents = tanx.jit(lambda x: stateful(a, b, x)), (a[...], b[...])
    for _ in range(TIMES):
        out = run(x)
        expected, *contents = pure(*contents, x)
        same((out, a[...], b[...]), (expected, *contents))


def internal(stateful):
    """A function of values that makes references and returns their final values."""
    def f(a, b, x):
        a, b = tanx.new_ref(a), tanx.new_ref(b)
        return stateful(a, b, x), a[...], tanx.freeze(b)
    return f


@pytest.mark.parametrize("donated", [(), (0,)], ids=["kept", "donated"])
def test_functions_with_internal_refs_are_dispatched_natively(donated):
    run = tanx.jit(internal(assigned), donate_argnums=donated)
    for _ in range(TIMES):
        same(run(x3(), jnp.float32(0.5), x3() / 2),
             assigned_values(x3(), jnp.float32(0.5), x3() / 2))
    assert len(run._native) == 1  # calls do not go through Python, as on values


@each_twin
def test_derivatives_go_through_references(stateful, pure):
    f, g = (lambda *xs, h=h: sum(jnp.sum(y) for y in tanx.tree.leaves(h(*xs))).astype("float32")
            for h in (internal(stateful), pure))
    args = x3(), jnp.float32(0.5), x3() / 2
    wanted = tanx.grad(g, (0, 1, 2))(*args)
    for h in (f, tanx.jit(f), tanx.checkpoint(f)):
        same(tanx.grad(h, (0, 1, 2))(*args), wanted)
    compiled = tanx.jit(tanx.grad(f, (0, 1, 2)))
    for _ in range(TIMES):
        same(compiled(*args), wanted)
    same(tanx.jvp(f, args, args), tanx.jvp(g, args, args))


@each_twin
def test_maps_go_through_references(stateful, pure):
    args = jnp.stack([x3(), 2 * x3()]), jnp.float32([0.5, 2.0]), jnp.stack([x3() / 2, x3()])
    expected, a, b = tanx.vmap(pure)(*args)
    same(tanx.vmap(internal(stateful))(*args), (expected, a, b))
    for run in (tanx.vmap(stateful), tanx.jit(tanx.vmap(stateful))):
        refs = tanx.new_ref(args[0]), tanx.new_ref(args[1])
        same((run(*refs, args[2]), refs[0][...], refs[1][...]), (expected, a, b))


@each_twin
def test_discharge_leaves_no_references(stateful, pure):
    a, b, x = tanx.new_ref(x3()), tanx.new_ref(jnp.float32(0.5)), x3()
    closed = tanx.make_jaxpr(stateful)(a, b, x)
    assert is_stateful(closed)
    found = discharge(closed).closed
    assert not is_stateful(found)
    assert "Ref" not in str(found)
    tanx.extend.core.check_jaxpr(found)
    out = tanx.core.eval_jaxpr(closed.jaxpr, closed.consts, a, b, x)
    expected, *contents = pure(x3(), jnp.float32(0.5), x)
    same((out, a[...], b[...]), (tanx.tree.leaves(expected), *contents))


# -- memory ----------------------------------------------------------------------------------------


def test_compiled_writes_are_in_place():
    ref = tanx.new_ref(jnp.zeros(1 << 16))
    run = tanx.jit(lambda ref, i: ref.addupdate(jnp.ones(4), slice(4, 8)) or ref[i])
    for i in range(TIMES):
        before = ref.unsafe_buffer_pointer()
        assert run(ref, 5) == i + 1
        assert i == 0 or ref.unsafe_buffer_pointer() == before


def test_eager_writes_are_in_place_unless_shared():
    x = jnp.arange(4.0)
    ref = tanx.new_ref(x)
    ref[0] = 7.0
    where = ref.unsafe_buffer_pointer()
    ref[1] = 8.0
    assert ref.unsafe_buffer_pointer() == where
    seen = ref[...]
    ref[2] = 9.0
    assert ref.unsafe_buffer_pointer() != where
    assert [x.tolist(), seen.tolist(), ref[...].tolist()] == [
        [0, 1, 2, 3], [7, 8, 2, 3], [7, 8, 9, 3]]


def test_values_read_from_refs_survive_later_writes():
    ref = tanx.new_ref(x3())
    read = tanx.jit(lambda ref: ref[...])
    step = tanx.jit(lambda ref: (ref[...], increment(ref, 1.0))[0])
    seen = []
    for _ in range(TIMES):
        seen += [read(ref), step(ref)]
    for i, y in enumerate(seen):
        assert y.tolist() == [1 + i // 2, 2 + i // 2, 3 + i // 2]


def test_numpy_arrays_are_copied():
    data = np.zeros(2, np.float32)
    ref = tanx.new_ref(data)
    data[0] = 1
    ref[...] = data
    data[0] = 2
    assert ref[...].tolist() == [1, 0]


# -- ahead of time, effects, structs ---------------------------------------------------------------


def test_compiled_ahead_of_time():
    ref, other = tanx.new_ref(x3()), tanx.new_ref(0)
    lowered = tanx.jit(lambda ref, x: (ref.addupdate(x), other.addupdate(1))[1]).lower(ref, x3())
    run = lowered.compile()
    for i in range(TIMES):
        run(ref, x3())
        assert ref[...].tolist() == [i + 2, 2 * i + 4, 3 * i + 6]
        assert other[...] == i + 1
    with pytest.raises(TypeError, match="Ref"):
        run(x3(), x3())


def test_types_and_effects():
    ref = tanx.new_ref(2)
    assert str(tanx.typeof(ref)) == "Ref{int32[]}"
    assert isinstance(tanx.typeof(ref), tanx.ref.AbstractRef)
    closed = tanx.make_jaxpr(lambda ref: (ref.set(1), ref.get())[1])(ref)
    assert closed.effects == {ReadEffect(), WriteEffect()}
    assert isinstance(ref, tanx.Ref) and not isinstance(ref, tanx.Array)
    kinds = []
    tanx.jit(lambda ref: kinds.extend((isinstance(ref, tanx.Ref), isinstance(ref, tanx.Array),
                                       isinstance(ref, tanx.core.Tracer))))(ref)
    assert kinds == [True, False, True]
    struct = tanx.ShapeDtypeStruct((3,), "float32", is_ref=True)
    assert tanx.eval_shape(lambda ref: ref[0], struct).shape == ()


def test_empty_and_freed():
    ref = tanx.empty_ref(tanx.ShapeDtypeStruct((2,), np.int8))
    ref[...] = jnp.ones(2, np.int8)
    assert tanx.freeze(ref).tolist() == [1, 1]

    @tanx.jit
    def used_after(x):
        ref = tanx.new_ref(x)
        y = tanx.freeze(ref)
        return y + ref[...]
    with pytest.raises(ValueError, match="frozen"):
        used_after(1.0)


# -- rules of users --------------------------------------------------------------------------------


@tanx.custom_vjp
def clipped(ref, x):
    ref[...] = x
    return x * 2


clipped.defvjp(lambda ref, x: (clipped(ref, x), None), lambda _, ct: (None, jnp.clip(ct, -1, 1)))


def test_rules_of_users_keep_their_derivative_where_references_are_discharged():
    def loss(x, ref):
        return lax.scan(lambda c, _: (3 * clipped(ref, c), None), x, None, length=2)[0]

    ref = tanx.new_ref(jnp.float32(0))
    for f in (tanx.grad(loss), tanx.jit(tanx.grad(loss))):
        for _ in range(TIMES):
            assert f(jnp.float32(1), ref) == 1.0
            assert ref[...] == 6.0
    assert tanx.jacrev(loss)(jnp.float32(1), ref) == 1.0
    lanes = tanx.new_ref(jnp.zeros(2))
    assert tanx.vmap(tanx.grad(loss))(jnp.float32([1, 2]), lanes).tolist() == [1, 1]
    assert lanes[...].tolist() == [6, 12]


# -- mistakes --------------------------------------------------------------------------------------

MISTAKES = [
    (ValueError, "only one reference", lambda r: tanx.jit(lambda a, b: a[0] + b[0])(r, r)),
    (ValueError, "only one reference", lambda r: tanx.jit(lambda a: a[0] + r[0])(r)),
    (ValueError, "only one reference", lambda r: tanx.vmap(lambda a, b: a[...])(r, r)),
    (ValueError, "only one reference", lambda r: lax.cond(
        True, lambda a, b: a[0], lambda a, b: b[0], r, r)),
    (ValueError, "only one reference", lambda r: tanx.vjp(lambda a, b: a[0], r, r)),
    (ValueError, "only one reference", lambda r: lax.scan(
        lambda c, _: (None, None), (r, r), None, 2)),
    (ValueError, "passed as argument a", lambda r: tanx.jit(lambda a: a)(r)),
    (ValueError, "closed over", lambda r: tanx.jit(lambda: r)()),
    (ValueError, "made at", lambda r: tanx.jit(lambda x: tanx.new_ref(x))(1.0)),
    (ValueError, "returns a reference", lambda r: lax.scan(lambda c, _: (c, None), r, None, 2)),
    (ValueError, "returns a reference", lambda r: lax.fori_loop(0, 2, lambda i, c: c, r)),
    (ValueError, "returns a reference", lambda r: tanx.vmap(lambda a: a)(r)),
    (ValueError, "mapped by vmap", lambda r: tanx.vmap(lambda x: r.set(x))(jnp.ones((2, 3)))),
    (ValueError, "being differentiated", lambda r: tanx.grad(
        lambda x: (r.set(x), x.sum())[1])(x3())),
    (TypeError, "not differentiated", lambda r: tanx.grad(lambda a: a[0])(r)),
    (TypeError, "where an array is expected", lambda r: jnp.sin(r)),
    (TypeError, "where an array is expected", lambda r: tanx.jit(jnp.sin)(r)),
    (TypeError, "where an array is expected", lambda r: jnp.asarray(r)),
    (TypeError, "where an array is expected", lambda r: np.asarray(r)),
    (TypeError, "unsupported operand", lambda r: r + 1),
    (ValueError, "dtype", lambda r: r.set(1, 0)),
    (ValueError, "shape of the part", lambda r: r.set(1.0)),
    (ValueError, "out of bounds", lambda r: r[5]),
    (ValueError, "longer than the shape", lambda r: r[0, 0]),
    (ValueError, "step of 1 or more", lambda r: r[::-1]),
    (IndexError, "must hold integers", lambda r: r[jnp.array([True, False, True])]),
    (TypeError, "needs an array", lambda r: tanx.new_ref([1, 2])),
    (TypeError, "needs an array", lambda r: r.set([1, 2, 3])),
    (ValueError, "goes to a reference", lambda r: tanx.vjp(lambda a: a[0], r)[1](1.0)),
    (ValueError, "type of the gradient", lambda r: tanx.vjp(jnp.sin, 1.0)[1].with_refs(r)),
    (ValueError, "structure", lambda r: tanx.vjp(jnp.sin, 1.0)[1].with_refs(r, r)),
]


@pytest.mark.parametrize("error, words, mistake", MISTAKES,
                         ids=[f"{i} {row[1]}" for i, row in enumerate(MISTAKES)])
def test_mistakes(error, words, mistake):
    with pytest.raises(error, match=words):
        mistake(tanx.new_ref(x3()))


@pytest.mark.parametrize("wanted, products", [((True, True), 2), ((True, False), 1),
                                              ((False, True), 1), ((False, False), 0)])
def test_unrequested_gradients_are_not_computed(wanted, products):
    weights, x, ct = jnp.ones((4, 3)), x3(), jnp.arange(4.0)
    both = tanx.vjp(lambda w, x: jnp.tanh(w @ x), weights, x)[1]
    marks = [tanx.ad.GradValue() if w else tanx.ad.DontWant() for w in wanted]
    pull = both.with_refs(*marks)
    assert str(tanx.make_jaxpr(pull)(ct)).count("dot_general") == products
    for got, whole, want in zip(pull(ct), both(ct), wanted):
        if want:
            np.testing.assert_array_equal(got, whole)
        else:
            assert got == tanx.ad.DidntWant()


# -- views -----------------------------------------------------------------------------------------

VIEWS = [
    (lambda r: r.T, lambda x: x.T, "{transpose([1, 0])}"),
    (lambda r: r.transpose((1, 0)), lambda x: x.T, "{transpose([1, 0])}"),
    (lambda r: r.reshape(3, 2), lambda x: x.reshape(3, 2), "{reshape([3, 2])}"),
    (lambda r: r.reshape((-1,)), lambda x: x.reshape(-1), "{reshape([6])}"),
    (lambda r: r.bitcast(np.int32), lambda x: x.view(np.int32), "{bitcast(int32)}"),
    (lambda r: r.at[1].reshape(3, 1), lambda x: x[1].reshape(3, 1), "[1,:]{reshape([3, 1])}"),
    (lambda r: r.T.reshape(6).at[1:3], lambda x: x.T.reshape(6)[1:3],
     "{transpose([1, 0])}{reshape([6])}[1:3]"),
    (lambda r: r.memory_space_cast("near"), lambda x: x, "{memory_space_cast(near)}"),
]


@pytest.mark.parametrize("view, expected, text", VIEWS, ids=[text for *_, text in VIEWS])
def test_views_are_read_and_written(view, expected, text):
    start = np.arange(6, dtype=np.float32).reshape(2, 3)

    def doubled(ref):
        part = view(ref)
        part[0] = part[0] + part[0]
        part.addupdate(part[-1], -1)
        return part[...]

    jitted = tanx.jit(doubled)
    for run in (doubled, jitted, jitted, jitted, jitted, tanx.jit(tanx.vmap(doubled))):
        content = start.copy() if run in (doubled, jitted) else start[None].copy()
        lanes = [content] if content.ndim == 2 else list(content)
        ref = tanx.new_ref(content)
        got = run(ref)
        for lane in lanes:  # views of NumPy do not reach through two reshapes: by places
            flat = lane.reshape(-1)
            places = expected(np.arange(6, dtype=np.float32).reshape(2, 3))
            bits = places.dtype == np.int32
            places = (places.view(np.float32) if bits else places).astype(int)
            values = flat.view(np.int32) if bits else flat
            for at in (places[0], places[-1]):
                values[at] += values[at]
            want = values[places]
        np.testing.assert_array_equal(got.reshape(want.shape), want)
        np.testing.assert_array_equal(ref[...], content)
        assert got.dtype == want.dtype and not got.weak_type
    assert f"a{text}" in str(tanx.make_jaxpr(lambda r: view(r)[...])(tanx.new_ref(start)))


def test_derivatives_pass_through_views():
    def f(x):
        ref = tanx.new_ref(x)
        ref.T[0] = 3 * ref.reshape(6)[:2]
        return (ref[...] * jnp.arange(6.0).reshape(2, 3)).sum()
    expected = [[0, 10, 2], [0, 4, 5]]
    assert tanx.grad(f)(jnp.ones((2, 3))).tolist() == expected
    assert tanx.jit(tanx.grad(f))(jnp.ones((2, 3))).tolist() == expected


@pytest.mark.parametrize("view", [lambda r: r.reshape(4), lambda r: r.transpose((0, 0)),
                                  lambda r: r.reshape(-1, -1)])
def test_views_that_do_not_fit(view):
    with pytest.raises(ValueError, match="tanx.ref: (reshape|transpose)"):
        view(tanx.new_ref(jnp.zeros((2, 3))))
    with pytest.raises(NotImplementedError, match="same width"):
        tanx.new_ref(jnp.zeros((2, 3))).bitcast(np.int16)


@pytest.mark.parametrize("wrap", [lambda f: f, tanx.checkpoint, tanx.jit,
                                  lambda f: tanx.jit(tanx.checkpoint(f))],
                         ids=["plain", "checkpoint", "jit", "both"])
def test_references_without_a_derivative_take_plain_values(wrap):
    def f(y, ref):
        ref[...] += y * y
        return y * y + 0 * ref[...]

    ref = tanx.new_ref(1.0, kind="no_grad_no_remat")
    derivative = tanx.grad(wrap(f))
    for i in range(TIMES):
        assert derivative(2.0, ref) == 4.0
        assert ref[...] == 5.0 + 4 * i


def test_a_lowering_may_use_references():
    def lowering(x):
        ref = tanx.new_ref(x)
        ref[...] += 1
        return tanx.freeze(ref)

    counted = tanx.extend.core.Primitive("counted")
    counted.def_abstract_eval(lambda x: x)
    tanx.interpreters.mlir.register_lowering(
        counted, tanx.interpreters.mlir.lower_fun(lowering, multiple_results=False))
    f = tanx.jit(counted.bind)
    assert [float(f(3.0)) for _ in range(TIMES)] == [4.0] * TIMES


def _count(ref):
    ref[...] += 1.0
    return ref[...]


@pytest.mark.parametrize("write", [
    lambda ref, x: _count(ref), lambda ref, x: tanx.jit(_count)(ref),
    lambda ref, x: tanx.ref.addupdate(ref, ..., 1.0),
    lambda ref, x: lax.fori_loop(0, 3, lambda i, c: c + _count(ref), x),
    lambda ref, x: lax.cond(x.shape == (), _count, _count, ref),
], ids=["write", "jit", "add", "loop", "branch"])
def test_vmap_refuses_writes_to_unmapped_refs(write):
    ref = tanx.new_ref(jnp.zeros(()))
    tanx.jit(_count)(ref)  # traced before, where nothing is mapped
    with pytest.raises(ValueError, match="not mapped"):
        tanx.vmap(lambda x: write(ref, x))(jnp.zeros(3))
    with pytest.raises(ValueError, match="not mapped"):
        tanx.jit(tanx.vmap(write, in_axes=(None, 0)))(ref, jnp.zeros(3))
    assert ref[...] == 1 and tanx.vmap(lambda x: ref[...] + x)(jnp.zeros(3)).tolist() == [1] * 3


def test_generators_of_random_numbers_are_mapped_or_made_inside():
    rng = tanx.experimental.random.stateful_rng(0)
    with pytest.raises(ValueError, match="not mapped"):
        tanx.vmap(lambda x: rng.uniform() + x)(jnp.zeros(3))
    inside = tanx.vmap(lambda seed: tanx.experimental.random.stateful_rng(seed).uniform())
    assert len(set(inside(jnp.arange(3)).tolist())) == 3
    assert len(set(tanx.vmap(lambda part: part.uniform())(rng.split(3)).tolist())) == 3
