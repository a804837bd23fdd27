"""Rules of ``custom_vjp`` that keep references for the backward pass, in all control flow."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax

TIMES = 4  # native calls begin with the third


@tanx.custom_vjp
def watched(history, x):
    return 2 * x


def _bwd(kept, ct):
    history, x = kept
    history[...] = 0.5 * history[...] + ct * x
    return None, 2 * ct


watched.defvjp(lambda history, x: (watched(history, x), (history, x)), _bwd)


def unrolled(history, x):
    for _ in range(3):
        x = jnp.sin(watched(history, jnp.sin(x)))
    return x.sum()


def scanned(history, x, wrap=lambda body: body):
    def body(x, _):
        return jnp.sin(watched(history, jnp.sin(x))), None
    return lax.scan(wrap(body), x, None, length=3)[0].sum()


def nested(history, x):
    """Only a branch of the outer loop calls the function."""
    def body(x, k):
        return lax.cond(k == 1, lambda x: scanned_rows(history, x), lambda x: 1.0 * x, x), None
    return lax.scan(body, x, jnp.arange(3))[0].sum()


def scanned_rows(history, x):
    def body(x, _):
        return jnp.sin(watched(history, jnp.sin(x))), None
    return lax.scan(body, x, None, length=3)[0]


FORMS = {
    "scan": scanned,
    "checkpoint in scan": lambda h, x: scanned(h, x, tanx.checkpoint),
    "jit in scan": lambda h, x: scanned(h, x, tanx.jit),
    "jit of scan": tanx.jit(scanned),
    "checkpoint of scan": tanx.checkpoint(scanned),
    "scan in cond in scan": nested,
    "fori_loop": lambda h, x: lax.fori_loop(
        0, 3, lambda _, x: jnp.sin(watched(h, jnp.sin(x))), x).sum(),
    "while_loop": lambda h, x: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.sin(watched(h, jnp.sin(c[1])))),
        (0, x))[1].sum(),
    "vmap": lambda h, x: tanx.vmap(unrolled)(h, x).sum(),
    "scan in vmap": lambda h, x: tanx.vmap(scanned)(h, x).sum(),
    "jit in vmap": lambda h, x: tanx.vmap(tanx.jit(unrolled))(h, x).sum(),
    "vmap in scan": lambda h, x: lax.scan(lambda x, _: (tanx.vmap(
        lambda h, x: jnp.sin(watched(h, jnp.sin(x))))(h, x), None), x, None, length=3)[0].sum(),
}


@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("form", FORMS)
def test_bwd_writes_to_a_reference_in_the_order_of_the_unrolled_program(form, jitted):
    x = jnp.array([0.3, 0.9])
    expected, found = (tanx.new_ref(jnp.ones(2)) for _ in range(2))
    derivative = tanx.grad(FORMS[form], 1)
    if jitted:
        derivative = tanx.jit(derivative)
    for _ in range(TIMES):
        want = tanx.grad(unrolled, 1)(expected, x)
        got = derivative(found, x)
        np.testing.assert_allclose(got, want, rtol=1e-5)
        np.testing.assert_allclose(found[...], expected[...], rtol=1e-5)
        assert (got.shape, got.dtype, got.weak_type) == ((2,), np.float32, False)


@pytest.mark.parametrize("form, wrap", [(unrolled, lambda f: f), (scanned, tanx.jit)],
                         ids=["eager", "jit"])
def test_bwd_writes_to_a_reference_that_is_differentiated(form, wrap):
    """In the backward pass it starts with its value at the end of the forward pass."""
    def function(history, x):
        history[...] = 2 * history[...] * x
        y = form(history, x) * history[...].sum()
        history[...] += x
        return y

    @wrap
    def pulled(history, total, x):
        y, pull = tanx.vjp(function, history, x)
        return y, pull.with_refs(total, tanx.ad.GradValue())(1.0)[1]

    x = jnp.array([0.3, 0.9])
    history, total = (tanx.new_ref(jnp.zeros(2)) for _ in range(2))
    for _ in range(TIMES):
        history[...], total[...] = jnp.ones(2), jnp.zeros(2)
        y, ct = pulled(history, total, x)
        value = tanx.grad(lambda h, x: unrolled(tanx.new_ref(h), x) * (2 * h * x).sum(), (0, 1))
        kept = tanx.new_ref(3 * x)  # the value at the end of the forward pass
        tanx.vjp(unrolled, kept, x)[1].with_refs(tanx.new_ref(jnp.zeros(2)), None)(
            (2 * x).sum())
        np.testing.assert_allclose(y, unrolled(kept, x) * (2 * x).sum(), rtol=1e-5)
        for found, expected in zip((total[...], ct), value(jnp.ones(2), x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5)
        np.testing.assert_allclose(history[...], kept[...], rtol=1e-5)


@pytest.mark.parametrize("kind, wrap", [(np.float32, lambda f: f), (np.int32, tanx.jit)],
                         ids=["eager", "jit"])
def test_bwd_reads_refs_as_the_forward_pass_left_them(kind, wrap):
    @tanx.custom_vjp
    def scaled(x, ref):
        return 1.0 * x

    def bwd(ref, ct):
        ct = ct * ref[...]
        ref[...] += jnp.ones((), ref.dtype)
        return ct, None
    scaled.defvjp(lambda x, ref: (1.0 * x, ref), bwd)

    def function(x):
        ref = tanx.new_ref(jnp.asarray(1, kind))
        y = scaled(x, ref)
        ref[...] = jnp.asarray(10, kind)
        y = scaled(y, ref)
        ref[...] = jnp.asarray(100, kind)
        return y * ref[...]

    derivative = wrap(tanx.grad(function))
    lanes = wrap(tanx.grad(lambda x: tanx.vmap(function)(x).sum()))
    for _ in range(TIMES):
        assert derivative(2.0) == 100 * 100 * 101
        assert lanes(jnp.ones(2)).tolist() == [100 * 100 * 101] * 2


@pytest.mark.parametrize("dtype, start", [
    (np.int8, -3), (np.int32, 5 - 2 ** 31), (np.uint64, 2 ** 63 + 1), (np.bool_, 0)])
def test_bwd_counts_in_references_of_integers_in_loops(dtype, start):
    @tanx.custom_vjp
    def counted(x, ref):
        return 2 * x

    def bwd(ref, ct):
        ref[...] = ref[...] + jnp.ones((), dtype)
        return 2 * ct, None

    counted.defvjp(lambda x, ref: (2 * x, ref), bwd)
    with tanx.enable_x64():
        ref = tanx.new_ref(jnp.asarray(start, dtype))
        derivative = tanx.jit(tanx.grad(lambda x: lax.scan(
            lambda x, _: (counted(x, ref), None), x, None, length=3)[0]))
        expected = np.asarray(start, dtype)
        for _ in range(TIMES):
            assert derivative(1.0) == 8
            for _ in range(3):
                expected = (expected + np.ones((), dtype)).astype(dtype)
            assert ref[...] == expected and ref.dtype == dtype


def test_references_that_bodies_make_cannot_be_kept():
    def body(x, _):
        return watched(tanx.new_ref(x), x), None

    with pytest.raises(NotImplementedError, match="made in the body of a loop"):
        tanx.grad(lambda x: lax.scan(body, x, None, length=2)[0])(1.0)


def test_calls_without_a_derivative_leave_the_reference_alone():
    history = tanx.new_ref(jnp.ones(2))
    for _ in range(TIMES):
        tanx.jit(scanned)(history, jnp.ones(2))
    assert history[...].tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="forward-mode"):
        tanx.jvp(lambda x: scanned(history, x), (jnp.ones(2),), (jnp.ones(2),))


@pytest.mark.parametrize("wrap", [lambda f: f, tanx.jit], ids=["eager", "jit"])
def test_cotangent_of_a_reference_whose_content_is_differentiated(wrap):
    @tanx.custom_vjp
    def scaled(ref):
        return ref[...]
    scaled.defvjp(lambda ref: (scaled(ref), None), lambda _, ct: (3 * ct,))
    f = wrap(scaled)
    for _ in range(TIMES):
        assert tanx.grad(lambda x: f(tanx.new_ref(x)))(2.0) == 3.0
        assert tanx.jit(tanx.grad(lambda x: f(tanx.new_ref(x))))(2.0) == 3.0
        ct = tanx.vmap(tanx.grad(lambda x: f(tanx.new_ref(x))))(jnp.arange(2.0))
        assert ct.tolist() == [3.0, 3.0]


def _with_rules(function, fwd):
    custom = tanx.custom_vjp(function)
    custom.defvjp(fwd, lambda kept, ct: (ct, None))
    return custom


@pytest.mark.parametrize("wrap", [lambda f: f, tanx.jit], ids=["eager", "jit"])
def test_references_that_are_returned_or_passed_twice(wrap):
    ref = tanx.new_ref(0.0)
    back = wrap(_with_rules(lambda x, r: r, lambda x, r: (r, None)))
    with pytest.raises(ValueError, match="references cannot be returned"):
        back(1.0, ref)
    made = wrap(_with_rules(lambda x, r: x, lambda x, r: (x, tanx.new_ref(1.0))))
    with pytest.raises(ValueError, match="among its residuals"):
        tanx.grad(made)(1.0, ref)
    twice = wrap(_with_rules(lambda a, b: a[...], lambda a, b: (a[...], None)))
    with pytest.raises(ValueError, match="passed as: a and b"):
        twice(ref, ref)


def test_barrier_and_free():
    ref = tanx.new_ref(1.0)
    value, same = lax.optimization_barrier((2.0, ref))
    assert same is ref and value == 2.0

    def add(ref, y):
        y, _ = lax.optimization_barrier((y, ref))
        ref[...] += y
        return ref[...]
    for i in range(TIMES):
        assert tanx.jit(add)(ref, 2.0) == 3.0 + 2 * i

    def freed_twice():
        ref = tanx.new_ref(1.0)
        tanx.free_ref(ref)
        tanx.free_ref(ref)
    with pytest.raises(ValueError, match="frozen or freed"):
        tanx.jit(freed_twice)()
    assert jnp.arange(3)[tanx.ds(None)].tolist() == [0, 1, 2]
