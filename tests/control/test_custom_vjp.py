"""Functions with a custom rule for reverse mode, and tools to write one."""

import functools

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._control.accumulators import RefAccum, ValAccum
from tanx.custom_derivatives import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)
from tanx.errors import UnexpectedTracerError

X = jnp.arange(3.0)


def scaled(factor=10.0):
    """``x * y`` with a derivative that is recognised by its factor."""
    @tanx.custom_vjp
    def product(x, y):
        return x * y

    def fwd(x, y):
        return x * y, (x, y)

    def bwd(saved, ct):
        x, y = saved
        return factor * ct * y, factor * ct * x

    product.defvjp(fwd, bwd)
    return product


def error(kind, call) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


# --- The rules are used, whatever is around -------------------------------------------------------


@pytest.mark.parametrize("around", [
    lambda f: f, tanx.jit, lambda f: tanx.jit(tanx.jit(f)), tanx.checkpoint, tanx.named_call,
    lambda f: lambda x, y: tanx.vmap(f, (0, None))(x[None], y)[0],
    lambda f: lambda x, y: tanx.vmap(tanx.jit(f), (None, 0))(x, y[None])[0],
    lambda f: tanx.jit(lambda x, y: tanx.vmap(f, (0, None))(x[None], y)[0])],
    ids=["plain", "jit", "jit of jit", "checkpoint", "named_call", "vmap", "vmap of jit",
         "jit of vmap"])
def test_derivatives(around):
    fun = around(scaled())
    x, y = jnp.float32(2), jnp.float32(3)
    assert fun(x, y) == 6.0
    assert tanx.grad(fun, (0, 1))(x, y) == (30.0, 20.0)
    assert tanx.value_and_grad(fun)(x, y) == (6.0, 30.0)
    assert tanx.jacrev(fun)(x, y) == 30.0
    assert tanx.jit(tanx.grad(fun))(x, y) == 30.0
    np.testing.assert_array_equal(tanx.vmap(tanx.grad(fun), (0, None))(X, y), [30.0] * 3)
    # Second derivatives differentiate bwd, in both modes.
    assert tanx.grad(tanx.grad(fun), 1)(x, y) == 10.0
    assert tanx.jacfwd(tanx.grad(fun), 1)(x, y) == 10.0


def test_cotangents_of_unmapped_arguments_are_summed():
    fun = scaled()
    assert tanx.grad(lambda y: tanx.vmap(fun, (0, None))(X, y).sum())(2.0) == 30.0
    constant = tanx.custom_vjp(lambda x, y: x * y)
    constant.defvjp(lambda x, y: (x * y, None), lambda _, ct: (ct, jnp.float32(1)))
    # The cotangent of y is not batched, but counts once for each lane.
    assert tanx.grad(lambda y: tanx.vmap(constant, (0, None))(X, y).sum())(jnp.float32(2)) == 3.0


def test_forward_mode_is_refused():
    fun = scaled()
    text = ("tanx.jvp: product is a custom_vjp function: forward-mode autodiff (jvp) has no rule "
            "for it.\n"
            "  Hint: use tanx.grad or tanx.vjp, or define the function with tanx.custom_jvp.")
    for call in (lambda: tanx.jvp(fun, (1.0, 2.0), (1.0, 1.0)),
                 lambda: tanx.jit(lambda x: tanx.jvp(fun, (x, x), (x, x)))(1.0),
                 lambda: tanx.jacfwd(fun)(1.0, 2.0),
                 lambda: tanx.linearize(fun, 1.0, 2.0)[1](1.0, 1.0),
                 lambda: tanx.jvp(tanx.vmap(fun), (X, X), (X, X))):
        assert error(TypeError, call) == text
    assert tanx.linearize(fun, 1.0, 2.0)[0] == 2.0


def test_without_derivatives_only_the_function_runs():
    def refuse(*_):
        raise AssertionError

    fun = tanx.custom_vjp(lambda x: x * 2)
    fun.defvjp(refuse, refuse)
    assert fun(1.0) == tanx.jit(fun)(1.0) == 2.0
    np.testing.assert_array_equal(tanx.vmap(fun)(X), 2 * X)
    assert tanx.grad(lambda x: x * fun(3.0))(1.0) == 6.0


def test_jaxprs():
    fun = scaled()
    assert str(tanx.make_jaxpr(fun)(1.0, 2.0)) == """\
{ lambda ; a:f32[] b:f32[]. let
    c:f32[] = custom_vjp_call[
      name=product
      bwd=bwd
      call_jaxpr={ lambda ; d:f32[] e:f32[]. let f:f32[] = mul d e in (f,) }
      fwd=fwd
      symbolic_zeros=False
    ] a b
  in (c,) }"""
    assert "bwd=bwd" in str(tanx.make_jaxpr(tanx.vmap(fun))(X, X))


def test_pytrees():
    @tanx.custom_vjp
    def fun(state):
        return {"out": state["a"] * state["b"][0]}

    fun.defvjp(lambda state: (fun(state), {"saved": [state["a"]]}),
               lambda saved, ct: ({"a": ct["out"] * 2, "b": [ct["out"] * saved["saved"][0]]},))
    state = {"a": jnp.float32(5), "b": [jnp.float32(7)]}
    for around in (lambda f: f, tanx.jit):
        assert tanx.grad(around(lambda s: fun(s)["out"]))(state) == {"a": 2.0, "b": [5.0]}


def test_residuals_may_be_anything_made_of_arrays():
    @tanx.custom_vjp
    def fun(x):
        return x

    fun.defvjp(lambda x: (x, (None, (), {"n": 3, "x": x})),
               lambda saved, ct: (ct * saved[2]["n"] * saved[2]["x"],))
    assert tanx.grad(fun)(2.0) == tanx.grad(tanx.jit(fun))(2.0) == 6.0
    np.testing.assert_array_equal(tanx.vmap(tanx.grad(fun))(X), 3 * X)


@pytest.mark.parametrize("answer, gradient", [
    (lambda ct: (ct, None), {"a": 0.0, "b": (0.0,)}),
    (lambda ct: (ct, {"a": None, "b": (ct,)}), {"a": 0.0, "b": (1.0,)}),
    (lambda ct: (ct, {"a": ct, "b": None}), {"a": 1.0, "b": (0.0,)}),
])
def test_none_stands_for_zero(answer, gradient):
    fun = tanx.custom_vjp(lambda x, tree: x * tree["a"])
    fun.defvjp(lambda x, tree: (fun(x, tree), None), lambda _, ct: answer(ct))
    assert tanx.grad(fun, 1)(1.0, {"a": 2.0, "b": (3.0,)}) == gradient


@pytest.mark.parametrize("zero", [None, np.zeros((), tanx.float0)])
def test_integer_arguments(zero):
    fun = tanx.custom_vjp(lambda x, n: x * n)
    fun.defvjp(lambda x, n: (fun(x, n), n), lambda n, ct: (ct * n * 10, zero))
    for around in (lambda f: f, tanx.jit):
        assert tanx.grad(around(fun))(1.0, 3) == 30.0
    np.testing.assert_array_equal(tanx.vmap(tanx.grad(fun))(X, jnp.arange(3)), 10 * X)
    found = tanx.grad(fun, (0, 1), allow_int=True)(1.0, 3)
    assert found[0] == 30.0 and found[1].dtype == tanx.float0


# --- Arguments ------------------------------------------------------------------------------------


def test_keywords_and_defaults():
    fun = tanx.custom_vjp(lambda x, n=3.0: x * n)
    fun.defvjp(lambda x, n: (x * n, n), lambda n, ct: (ct * n * 10, None))
    assert fun(2.0) == fun(x=2.0) == 6.0 and fun(2.0, n=4.0) == 8.0
    assert tanx.grad(fun)(2.0) == 30.0 and tanx.grad(fun)(2.0, n=4.0) == 40.0


@pytest.mark.parametrize("options", [
    dict(nondiff_argnums=(0,)), dict(nondiff_argnums=0), dict(nondiff_argnums=(-2,)),
    dict(nondiff_argnames="apply"), dict(nondiff_argnames=("apply",))])
def test_arguments_that_are_not_differentiated(options):
    @functools.partial(tanx.custom_vjp, **options)
    def fun(apply, x):
        return apply(x)

    # fwd gets them at their positions, bwd gets them first.
    fun.defvjp(lambda apply, x: (fun(apply, x), x), lambda apply, x, ct: (ct * apply(10.0),))
    assert fun(jnp.sqrt, 4.0) == 2.0
    for around in (lambda f: f, tanx.jit):
        assert tanx.grad(around(lambda x: fun(lambda y: y * 2, x)))(4.0) == 20.0
    np.testing.assert_array_equal(
        tanx.vmap(tanx.grad(lambda x: fun(lambda y: y * 2, x)))(X), [20.0] * 3)


def test_they_may_not_be_traced():
    fun = tanx.custom_vjp(lambda n, x: n * x, nondiff_argnums=0)
    fun.defvjp(lambda n, x: (fun(n, x), None), lambda n, _, ct: (ct * n,))
    assert tanx.grad(fun, 1)(2.0, 3.0) == tanx.jit(tanx.grad(fun, 1), static_argnums=0)(
        2.0, 3.0) == 2.0
    for wrap in (tanx.jit, tanx.vmap, tanx.grad):
        assert error(UnexpectedTracerError, lambda wrap=wrap: wrap(fun)(X, X)) == (
            "tanx.custom_vjp of <lambda>: argument 0, listed in nondiff_argnums, is a traced "
            f"array.\n  argument: {'float32[]' if wrap is tanx.vmap else 'float32[3]'}\n"
            "  Hint: take it out of nondiff_argnums; bwd may return None for its cotangent.")


def test_methods():
    class Scale:
        factor = 3.0

        @functools.partial(tanx.custom_vjp, nondiff_argnums=(0,))
        def apply(self, x):
            return x * self.factor

        apply.defvjp(lambda self, x: (x * self.factor, None),
                     lambda self, _, ct: (ct * 10 * self.factor,))

    assert Scale().apply(2.0) == 6.0
    assert tanx.grad(Scale().apply)(2.0) == 30.0


# --- Closures -------------------------------------------------------------------------------------


def closing_over(x, y):
    @tanx.custom_vjp
    def fun(y):
        return x * y

    fun.defvjp(lambda y: (fun(y), None), lambda _, ct: (ct * 5 * x,))
    return fun(y)


def test_mapped_and_staged_values_may_be_closed_over():
    np.testing.assert_array_equal(tanx.vmap(closing_over, (0, None))(X, 2.0), 2 * X)
    np.testing.assert_array_equal(tanx.vmap(tanx.grad(closing_over, 1), (0, None))(X, 2.0), 5 * X)
    assert tanx.grad(lambda y: tanx.vmap(closing_over, (0, None))(X, y).sum())(2.0) == 15.0
    assert tanx.jit(closing_over)(2.0, 3.0) == 6.0
    assert tanx.jit(tanx.grad(closing_over, 1))(2.0, 3.0) == 10.0


def test_differentiated_values_may_not_be_closed_over():
    error(UnexpectedTracerError, lambda: tanx.grad(closing_over)(2.0, 3.0))
    error(UnexpectedTracerError, lambda: tanx.grad(tanx.jit(closing_over), 1)(2.0, 3.0))


# --- Symbolic zeros -------------------------------------------------------------------------------


@pytest.mark.parametrize("around", [
    lambda f: f, tanx.jit, lambda f: lambda x, y: [
        out[0] for out in tanx.vmap(f, (0, None))(x[None], y)]], ids=["plain", "jit", "vmap"])
def test_symbolic_zeros(around):
    seen = []

    @tanx.custom_vjp
    def fun(x, y):
        return x * y, x

    def fwd(x, y):
        assert isinstance(x, CustomVJPPrimal)
        seen.append((x.perturbed, y.perturbed))
        return fun(x.value, y.value), (x.value, y.value)

    def bwd(saved, cts):
        seen.append(tuple(isinstance(ct, SymbolicZero) for ct in cts))
        assert [ct.shape for ct in cts] == [(), ()]
        ct = 0.0 if isinstance(cts[0], SymbolicZero) else cts[0]
        return ct * saved[1], zero_from_primal(saved[1], symbolic_zeros=True)

    fun.defvjp(fwd, bwd, symbolic_zeros=True)
    fun = around(fun)
    x, y = jnp.float32(2), jnp.float32(3)
    assert tanx.grad(lambda x: fun(x, y)[0])(x) == 3.0
    assert seen == [(True, False), (False, True)]
    seen.clear()
    assert tanx.grad(lambda x: fun(x, y)[1])(x) == 0.0
    assert seen[-1] == (True, False)
    assert tanx.grad(lambda x, y: fun(x, y)[0], (0, 1))(x, y) == (3.0, 0.0)


def test_values_of_primals():
    tree = {"a": CustomVJPPrimal(1.0, True), "b": [CustomVJPPrimal(2.0, False), 3.0]}
    assert custom_vjp_primal_tree_values(tree) == {"a": 1.0, "b": [2.0, 3.0]}
    assert zero_from_primal(2.0) == 0.0
    assert zero_from_primal(2, symbolic_zeros=True).dtype == tanx.float0


# --- Mistakes -------------------------------------------------------------------------------------


def ruled(fwd, bwd, tree=False):
    def f(x):
        return x

    custom = tanx.custom_vjp(f)
    custom.defvjp(fwd, bwd)
    return custom


def fwd(x):
    return x, None


def bwd(saved, ct, answer):
    return answer(ct)


@pytest.mark.parametrize("answer, kind, text", [
    (lambda ct: ct, TypeError,
     "must return a tuple of 1 cotangents, one for each argument.\n"
     "  arguments: PyTreeDef((*,))\n"
     "  it gave:   PyTreeDef(*)"),
    (lambda ct: (ct, ct), TypeError,
     "must return a tuple of 1 cotangents, one for each argument.\n"
     "  arguments: PyTreeDef((*,))\n"
     "  it gave:   PyTreeDef((*, *))"),
    (lambda ct: (jnp.ones(3),), ValueError,
     "returned a cotangent of the wrong type for argument 0.\n"
     "  expected:  ~float32[]\n"
     "  cotangent: float32[3]"),
    (lambda ct: (ct * 1j,), ValueError,
     "returned a cotangent of the wrong type for argument 0.\n"
     "  expected:  ~float32[]\n"
     "  cotangent: ~complex64[]"),
    (lambda ct: ((1, 2),), TypeError,
     "returned a cotangent of the wrong structure for argument 0.\n"
     "  argument:  PyTreeDef(*)\n"
     "  cotangent: PyTreeDef((*, *))"),
])
def test_results_of_bwd_are_checked(answer, kind, text):
    rule = functools.update_wrapper(functools.partial(bwd, answer=answer), bwd)
    assert error(kind, lambda: tanx.grad(ruled(fwd, rule))(1.0)) == (
        f"tanx.custom_vjp: the bwd rule bwd of f: {text}")


def test_the_structure_of_a_cotangent():
    fun = tanx.custom_vjp(lambda tree: tree["a"])
    fun.defvjp(lambda tree: (fun(tree), None), lambda _, ct: ({"b": ct},))
    assert error(TypeError, lambda: tanx.grad(fun)({"a": 1.0})) == (
        "tanx.custom_vjp: the bwd rule <lambda> of <lambda>: returned a cotangent of the wrong "
        "structure for argument 0.\n"
        "  argument:  PyTreeDef({'a': *})\n"
        "  cotangent: PyTreeDef({'b': *})")


@pytest.mark.parametrize("answer, gradient", [
    (5.0, {"a": (5.0, 5.0), "b": 5.0}),
    ({"a": 5.0, "b": 6.0}, {"a": (5.0, 5.0), "b": 6.0}),
    ({"a": None, "b": 6.0}, {"a": (0.0, 0.0), "b": 6.0}),
    ({"a": (None, 4.0), "b": 6.0}, {"a": (0.0, 4.0), "b": 6.0}),
])
@pytest.mark.parametrize("around", [lambda f: f, tanx.jit])
def test_a_cotangent_for_a_node_applies_to_all_leaves(answer, gradient, around):
    """The cotangent applies to all leaves of the node."""
    fun = tanx.custom_vjp(lambda tree: tree["a"][0] * tree["b"])
    fun.defvjp(lambda tree: (fun(tree), None), lambda _, ct: (answer,))
    grad = around(tanx.grad(fun))
    for _ in range(4):
        assert grad({"a": (1.0, 2.0), "b": 3.0}) == gradient


def test_results_of_fwd_are_checked():
    fun = ruled(lambda x: x, lambda _, ct: (ct,))
    assert error(TypeError, lambda: tanx.grad(fun)(1.0)) == (
        "tanx.custom_vjp: the fwd rule <lambda>: must return a pair: the result and the "
        "residuals.\n"
        "  it gave: Array(1., dtype=float32, weak_type=True)")
    fun = ruled(lambda x: ((x, x), None), lambda _, ct: (ct,))
    assert error(TypeError, lambda: tanx.grad(tanx.jit(fun))(1.0)) == (
        "tanx.custom_vjp: the fwd rule <lambda>: must return a result of the function's "
        "structure.\n"
        "  function: PyTreeDef(*)\n"
        "  rule:     PyTreeDef((*, *))")
    fun = ruled(lambda x: (jnp.ones(3), None), lambda _, ct: (ct,))
    assert error(TypeError, lambda: tanx.vjp(tanx.jit(fun), 1.0)) == (
        "tanx.custom_vjp: the fwd rule of f: must return results of the types that the function "
        "returns.\n"
        "  function: ~float32[]\n"
        "  rule:     float32[3]")


def test_a_function_without_rules():
    fun = tanx.custom_vjp(jnp.sin)
    for call in (fun, tanx.grad(fun), tanx.jit(fun)):
        assert error(AttributeError, lambda call=call: call(1.0)) == (
            "tanx.custom_vjp: sin has no derivative rules yet.\n"
            "  Hint: set them with sin.defvjp(fwd, bwd).")


# --- custom_gradient ------------------------------------------------------------------------------


@pytest.mark.parametrize("around", [lambda f: f, tanx.jit, tanx.checkpoint],
                         ids=["plain", "jit", "checkpoint"])
def test_custom_gradient(around):
    @tanx.custom_gradient
    def square(x):
        return x ** 2, lambda ct: 10 * ct * x

    @tanx.custom_gradient
    def product(x, y):
        return {"out": x * y}, lambda ct: (ct["out"], 10 * y)

    assert around(square)(3.0) == 9.0 and tanx.grad(around(square))(3.0) == 30.0
    np.testing.assert_array_equal(tanx.vmap(tanx.grad(around(square)))(X), 10 * X)
    fun = around(lambda x, y: product(x, y)["out"])
    assert tanx.grad(fun, (0, 1))(2.0, 3.0) == (1.0, 30.0)
    assert tanx.grad(tanx.grad(fun, 1), 1)(2.0, 3.0) == 10.0


def test_custom_gradient_of_pytrees_and_keywords():
    @tanx.custom_gradient
    def fun(tree, *, scale=1.0):
        return tree["a"] * scale, lambda ct: ({"a": 100 * ct * scale},)

    assert tanx.grad(fun)({"a": 2.0}) == {"a": 100.0}
    assert tanx.grad(fun)({"a": 2.0}, scale=3.0) == {"a": 300.0}


def test_custom_gradient_mistakes():
    assert error(TypeError, lambda: tanx.custom_gradient(lambda x: x)(1.0)) == (
        "tanx.custom_gradient: <lambda> must return a pair: its result, and the function from its "
        "cotangent to that of the arguments.\n"
        "  it gave: 1.0")
    assert error(TypeError, lambda: tanx.custom_gradient(with_accums=True)(jnp.sin)(1.0)) == (
        "tanx.custom_gradient: with_accums must consist of ValAccum and RefAccum.\n"
        "  given: True")


def test_custom_gradient_with_logs():
    @tanx.custom_gradient(with_logs=True)
    def product(x, y):
        return x * y, lambda ct: ((ct * y, 10 * ct * x), {"ct": ct, "both": [x, y]})

    for _ in range(4):
        _, pull = tanx.vjp(tanx.jit(product), 2.0, 3.0)
        assert pull(1.0) == (3.0, 20.0)
    _, pull = tanx.vjp(product, 2.0, 3.0)
    assert pull.with_logs(2.0) == ((6.0, 40.0), {"ct": 2.0, "both": [2.0, 3.0]})


@pytest.mark.parametrize("around", [lambda f: f, tanx.jit, tanx.checkpoint],
                         ids=["plain", "jit", "checkpoint"])
def test_custom_gradient_by_parts(around):
    @tanx.custom_gradient(remat=True)
    def sine(x):
        slope = 10 * jnp.cos(x)
        return jnp.sin(x), lambda x: (jnp.sin(x), lambda ct: ct * slope)

    for _ in range(4):
        np.testing.assert_allclose(tanx.grad(around(sine))(0.5), 10 * np.cos(0.5), rtol=1e-6)


@pytest.mark.parametrize("kinds", [ValAccum, RefAccum, (ValAccum, RefAccum)],
                         ids=["values", "references", "mixed"])
def test_custom_gradient_with_accumulators(kinds):
    @tanx.custom_gradient(with_accums=kinds)
    def product(x, y):
        def vjp(ct, to_x, to_y):
            to_x.accum(ct * y["n"])
            to_x.accum(ct * y["n"])
            to_y["n"].accum(ct * x)
        return x * y["n"], vjp

    for _ in range(4):
        got = tanx.jit(tanx.grad(product, (0, 1)))(2.0, {"n": 3.0})
        assert got == (6.0, {"n": 2.0})


# --- closure_convert ------------------------------------------------------------------------------


def test_closure_convert():
    def outer(x, table):
        converted, values = tanx.closure_convert(lambda y: {"z": x * y + table.sum()}, 1.0)
        return converted(2.0, *values)["z"], len(values)

    table = jnp.arange(3)
    assert outer(3.0, table) == (9.0, 0)
    (value, count), gradient = tanx.value_and_grad(outer, has_aux=True)(3.0, table)
    assert (value, count, gradient) == (9.0, 1, 2.0)
    assert tanx.jit(lambda x: outer(x, table)[0])(3.0) == 9.0
    # Integers are not hoisted: they have no derivative.
    assert tanx.jit(outer)(3.0, table)[1] == 1


def test_closure_convert_with_custom_vjp():
    @functools.partial(tanx.custom_vjp, nondiff_argnums=(0,))
    def apply(fun, x, values):
        return fun(x, *values)

    apply.defvjp(lambda fun, x, values: (fun(x, *values), (x, values)),
                 lambda fun, saved, ct: tanx.vjp(
                     lambda x, values: 10 * fun(x, *values), *saved)[1](ct))

    def outer(a, x):
        fun, values = tanx.closure_convert(lambda x: a * lax.sin(x), x)
        return apply(fun, x, values)

    np.testing.assert_allclose(tanx.grad(outer, (0, 1))(2.0, 1.0),
                               (10 * np.sin(1), 20 * np.cos(1)), rtol=1e-6)


def test_closure_convert_checks_the_structure():
    converted, values = tanx.closure_convert(lambda x: x, 1.0)
    assert values == []
    assert error(TypeError, lambda: converted((1.0, 2.0))) == (
        "tanx.closure_convert: the arguments differ in structure from the examples.\n"
        "  examples:  PyTreeDef((*,))\n"
        "  arguments: PyTreeDef(((*, *),))")


# --- Rules that return cotangents of their own ----------------------------------------------------


def with_own_cotangent():
    """Functions whose results get no cotangent, and whose second argument gets 7 all the same."""
    @tanx.custom_vjp
    def measured(x, scale):
        return 2 * x

    @tanx.custom_vjp
    def ends_here(x):
        return 3 * x

    measured.defvjp(lambda x, scale: (measured(x, scale), None),
                    lambda _, ct: (None, jnp.full(ct.shape, 7.0)))
    ends_here.defvjp(lambda x: (ends_here(x), None), lambda _, ct: (None,))
    return measured, ends_here


@pytest.mark.parametrize("fun, expected", [
    (lambda f, end: lambda x, s: end(f(x, s)) + x * s, (2.0, 8.0)),
    (lambda f, end: lambda x, s: end(f(f(x, s), s)), (0.0, 14.0)),
    (lambda f, end: lambda x, s: lax.scan(
        lambda c, _: (c + end(f(x, s)), None), 0.0, None, 3)[0], (0.0, 21.0)),
    (lambda f, end: lambda x, s: lax.cond(x > 0, lambda: end(f(x, s)), lambda: x), (0.0, 7.0)),
    (lambda f, end: tanx.checkpoint(lambda x, s: end(f(x, s))), (0.0, 7.0)),
    (lambda f, end: lambda x, s: tanx.vmap(lambda x: end(f(x, s)))(x[None]).sum(), (0.0, 7.0)),
    # Where nothing depends on the result, the rule has no effect.
    (lambda f, end: lambda x, s: (f(x, s), x * s)[1], (2.0, 1.0)),
    (lambda f, end: lambda x, s: lax.stop_gradient(f(x, s)) + x * s, (2.0, 1.0)),
], ids=["beside another use", "twice", "scan", "cond", "checkpoint", "vmap", "unused", "stopped"])
def test_bwd_runs_even_if_its_result_has_no_cotangent(fun, expected):
    gradient = tanx.grad(fun(*with_own_cotangent()), (0, 1))
    args = jnp.float32(1.0), jnp.float32(2.0)
    assert tuple(map(float, gradient(*args))) == expected
    compiled = tanx.jit(gradient)
    for _ in range(4):
        assert tuple(map(float, compiled(*args))) == expected
