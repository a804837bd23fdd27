"""Rules of ``custom_vjp`` that keep references for the backward pass, wherever they are called."""

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
    """Where nothing of the outer loop but a branch of it reaches the function."""
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
