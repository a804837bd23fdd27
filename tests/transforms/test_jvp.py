"""Forward mode: pairs of primals and tangents, and zeros that stay symbolic."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._core.array import Array
from tanx._core.linear import Zero, never
from tanx._core.types import ShapedArray, typeof
from tanx._transforms.jvp import JVPTracer, jvp, jvp_jaxpr
from tanx.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    UnexpectedTracerError,
)
from tests.core.fakes import Fake

ONE, TWO, THREE = (Array(np.asarray(n, np.float32)) for n in (1, 2, 3))
SCALE = Array(np.arange(3, dtype=np.float32))
F32 = ShapedArray((), np.float32)


def zero(x):
    return Zero.tangent_of(x)


# --- Symbolic zeros -------------------------------------------------------------------------------


def test_operations_without_tangents_are_not_traced():
    seen = []

    def fun(x, y):
        product = lax.mul(y, y)
        seen.append(product)
        return [lax.mul(x, product), product]

    outs, tangents = jvp(fun, [TWO, THREE], [ONE, zero(THREE)])
    assert [float(y) for y in outs] == [18.0, 9.0]
    assert float(tangents[0]) == 9.0
    assert type(tangents[1]) is Zero and tangents[1].aval == F32
    assert type(seen[0]) is Array


def test_arguments_and_constants_as_results():
    outs, tangents = jvp(lambda x, y: [x, y, ONE, 5.0, 3], [TWO, THREE], [ONE, zero(THREE)])
    assert outs[0] is TWO and outs[1] is THREE and outs[2] is ONE and outs[3:] == [5.0, 3]
    assert tangents[0] is ONE
    assert " ".join(str(t.aval) for t in tangents[1:]) == "float32[] float32[] ~float32[] float0[]"


def test_a_rule_may_answer_with_zero():
    outs, tangents = jvp(lambda x: [lax.stop_gradient(x), lax.sign(x)], [TWO], [ONE])
    assert type(tangents[0]) is Zero
    assert float(outs[0]) == 2.0


def test_integers_have_no_tangent():
    outs, tangents = jvp(lambda x: [lax.argmax(x, 0, np.int32), lax.gt(x, x)],
                         [jnp.arange(3.0)], [jnp.ones(3)])
    assert [str(t) for t in tangents] == ["Zero(float0[])", "Zero(float0[3])"]
    assert [str(y.dtype) for y in outs] == ["int32", "bool"]


class Rough(Fake):
    """Nowhere differentiable."""

    name = "rough"
    jvp = never("it is nowhere smooth")

    def eval(self, x):
        return x


def test_a_missing_rule_says_why():
    rough = Rough("rough")
    with pytest.raises(NotImplementedError) as caught:
        tanx.jvp(rough.bind, (1.0,), (1.0,))
    assert str(caught.value) == "tanx.lax.rough: has no jvp rule: it is nowhere smooth."
    assert tanx.jvp(lambda x: rough.bind(2.0) * x, (1.0,), (1.0,))[1] == 2.0


# --- Nesting --------------------------------------------------------------------------------------


def test_derivatives_of_derivatives_do_not_mix():
    # Siskind and Pearlmutter's example: the inner derivative is 1 for all x.
    inner = lambda x: tanx.jvp(lambda y: x + y, (1.0,), (1.0,))[1]
    assert tanx.jvp(lambda x: x * inner(x), (2.0,), (1.0,))[1] == 1.0


def test_values_of_an_outer_derivative_are_constants_within():
    def outer(x):
        value, tangent = tanx.jvp(lambda y: lax.mul(lax.mul(x, y), y), (x,), (1.0,))
        return lax.add(value, tangent)  # x^3 + 2 x^2

    value, tangent = tanx.jvp(outer, (3.0,), (1.0,))
    assert (float(value), float(tangent)) == (45.0, 39.0)


@pytest.mark.parametrize("order", range(1, 6))
def test_derivatives_of_any_order(order):
    fun = lambda x: jnp.exp(2 * x)
    for _ in range(order):
        fun = lambda x, fun=fun: tanx.jvp(fun, (x,), (1.0,))[1]
    assert float(fun(0.0)) == 2.0 ** order


def test_tracers_of_a_function_that_has_returned():
    kept = []
    tanx.jvp(lambda x: kept.append(x) or x, (1.0,), (1.0,))
    with pytest.raises(UnexpectedTracerError):
        lax.add(kept[0], 1.0)
    with pytest.raises(UnexpectedTracerError):
        tanx.jvp(lambda x: lax.add(x, kept[0]), (1.0,), (1.0,))


# --- What a value answers while it is differentiated ----------------------------------------------


def under_jvp(use, x=2.0):
    return tanx.jvp(lambda x: (use(x), x)[1], (x,), (1.0,))


def test_decisions_see_the_primal():
    def fun(x):
        assert x > 1 and bool(x) and int(x) == 2 and x.item() == 2.0
        assert [10, 20, 30][x.astype(int)] == 30 and f"{x:.1f}" == "2.0"
        return x * x if x > 0 else -x

    assert tanx.grad(fun)(2.0) == 4.0


@pytest.mark.parametrize("attempt, use", [
    ("float(x)", float), ("complex(x)", complex), ("x.tolist()", lambda x: x.tolist())])
def test_converting_a_differentiated_value_raises(attempt, use):
    with pytest.raises(ConcretizationTypeError) as caught:
        under_jvp(use)
    assert str(caught.value) == (
        f"{attempt}: a value that is being differentiated would lose its derivative.\n"
        "  value: ~float32[]\n"
        "  Hint: keep computing with tanx.numpy; where no derivative is needed, write "
        "tanx.lax.stop_gradient(x).")
    under_jvp(lambda x: use(lax.stop_gradient(x)))


def test_numpy_functions_of_differentiated_values_raise():
    with pytest.raises(TracerArrayConversionError):
        under_jvp(np.sin)
    with pytest.raises(TracerArrayConversionError):
        under_jvp(np.asarray)


def test_repr():
    seen = []
    under_jvp(lambda x: seen.append(repr(x)))
    assert seen == ["JVPTracer(primal=2.0, tangent=1.0)"]


def test_tracers_have_the_type_of_the_primal():
    def use(x):
        assert isinstance(x, JVPTracer) and isinstance(x, tanx.Array)
        assert (x.shape, x.ndim, x.size, x.nbytes, x.itemsize) == ((2, 3), 2, 6, 12, 2)
        assert x.dtype == jnp.bfloat16 and not x.weak_type and len(x) == 2
        return x

    tanx.jvp(use, (jnp.ones((2, 3), "bfloat16"),), (jnp.ones((2, 3), "bfloat16"),))


# --- Jaxprs ---------------------------------------------------------------------------------------


def closed(fun, *args):
    return tanx.make_jaxpr(fun)(*args)


def test_jvp_of_a_jaxpr_takes_nonzero_tangents_only():
    product = closed(lambda x, y: (lax.mul(x, y), lax.neg(y)), 2.0, 3.0)
    derivative, nonzero = jvp_jaxpr(product, [True, False])
    assert nonzero == [True, False]
    assert str(derivative) == """\
{ lambda ; a:f32[] b:f32[] c:f32[]. let
    d:f32[] = mul a b
    e:f32[] = mul c b
    f:f32[] = neg b
  in (d, f, e) }"""


def test_zeros_of_a_jaxpr_are_made_where_asked_for():
    product = closed(lambda x, y: (lax.mul(x, y), lax.neg(y)), 2.0, 3.0)
    for wanted in (True, [False, True]):
        derivative, nonzero = jvp_jaxpr(product, [True, False], wanted)
        assert nonzero == [True, True] and len(derivative.out_avals) == 4
    _, nonzero = jvp_jaxpr(product, [False, False])
    assert nonzero == [False, False]


def test_constants_of_a_jaxpr_are_kept():
    scale = closed(lambda x: lax.mul(x, SCALE), np.ones(3, np.float32))
    derivative, _ = jvp_jaxpr(scale, [True])
    assert [c.tolist() for c in derivative.consts] == [[0, 1, 2]]


# --- Numbers of all kinds -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_tangents_have_the_dtype_of_their_primal(dtype):
    x = jnp.ones(3, dtype)
    y, dy = tanx.jvp(lambda x: x * 2 + 1, (x,), (x,))
    assert y.dtype == dy.dtype == dtype


def test_mixed_numbers():
    y, dy = tanx.jvp(lambda x, n: x * n, (2.0, 3), (1.0, np.zeros((), tanx.dtypes.float0)))
    assert (float(y), float(dy)) == (6.0, 3.0)
    # A real function of a complex number: the tangent is not conjugated.
    y, dy = tanx.jvp(lambda z: (z * z.conj()).real, (jnp.complex64(1 + 2j),),
                     (jnp.complex64(1j),))
    assert (float(y), float(dy)) == (5.0, 4.0)
    y, dy = tanx.jvp(lambda x: x * 1j, (2.0,), (3.0,))
    assert (complex(y), complex(dy)) == (2j, 3j)


def test_calls_are_entered_once():
    runs = []

    @tanx.jit
    def square(x):
        runs.append(typeof(x))
        return x * x

    for _ in range(3):
        tanx.jvp(square, (2.0,), (1.0,))
    assert len(runs) == 1


@pytest.mark.parametrize("fun, weak", [
    (lambda x: 2.0 ** x, False), (lambda x: x ** 2.0, False), (lambda x: x ** x, False),
    (lambda x: jnp.maximum(x, 1.0), False), (lambda x: x * jnp.float32(2), False),
    (lambda x: x ** 2, True), (lambda x: 2 + x, True), (lambda x: 3 / x, True),
    (lambda x: x % 2.5, True), (jnp.sin, True), (lambda x: jnp.where(x > 0, x, 1.0), True)])
def test_weak_types_of_tangents(fun, weak):
    for tangent in (1.0, jnp.float32(1.0)):  # the weak type of the tangent does not matter
        assert tanx.jvp(fun, (2.0,), (tangent,))[1].weak_type is weak
        assert not tanx.jvp(fun, (jnp.float32(2.0),), (tangent,))[1].weak_type
    assert tanx.jacfwd(fun)(2.0).weak_type is fun(jnp.asarray(2.0)).weak_type
