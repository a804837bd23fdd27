"""Functions with a custom rule for forward mode."""

import copy
import functools

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.custom_derivatives import SymbolicZero
from tanx.errors import UnexpectedTracerError

X = jnp.arange(3.0)


def scaled(factor=10.0):
    """``x * y`` with a derivative that is recognised by its factor."""
    @tanx.custom_jvp
    def product(x, y):
        return x * y

    @product.defjvp
    def rule(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return product(x, y), factor * (dx * y + x * dy)
    return product


def error(kind, call) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


# --- The rule is used, whatever is around ---------------------------------------------------------


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
    assert tanx.jvp(fun, (x, y), (x, y))[1] == 120.0
    assert tanx.linearize(fun, x, y)[1](x, y) == 120.0
    assert tanx.jacfwd(fun)(x, y) == tanx.jacrev(fun)(x, y) == 30.0
    assert tanx.jit(tanx.grad(fun))(x, y) == 30.0
    np.testing.assert_array_equal(tanx.vmap(tanx.grad(fun), (0, None))(X, y), [30.0] * 3)
    # The rule itself is differentiated, and calls the function.
    assert tanx.grad(tanx.grad(fun))(x, y) == 0.0
    assert tanx.grad(tanx.grad(fun), 1)(x, y) == 10.0


def test_the_function_runs_where_there_is_no_tangent():
    fun = scaled()
    assert tanx.grad(lambda z: z * fun(2.0, 3.0))(1.0) == 6.0
    assert fun(2.0, 3.0) == 6.0 and type(fun(2.0, 3.0)) is float


def test_a_constant_call_under_vmap_is_made_once():
    fun = scaled()
    closed = tanx.make_jaxpr(tanx.vmap(lambda x: x + fun(2.0, 3.0)))(X)
    assert str(closed.eqns[0].outvars[0].aval) == "~float32[]"


def test_jaxpr():
    assert str(tanx.make_jaxpr(scaled())(1.0, 2.0)) == """\
{ lambda ; a:f32[] b:f32[]. let
    c:f32[] = custom_jvp_call[
      name=product
      call_jaxpr={ lambda ; d:f32[] e:f32[]. let f:f32[] = mul d e in (f,) }
      jvp=rule
      symbolic_zeros=False
    ] a b
  in (c,) }"""


def test_pytrees():
    @tanx.custom_jvp
    def fun(state, scale):
        return {"out": state["a"] * scale, "rest": (state["b"][0],)}

    @fun.defjvp
    def rule(primals, tangents):
        (state, scale), (dstate, _) = primals, tangents
        return fun(state, scale), {"out": 7 * dstate["a"], "rest": (dstate["b"][0],)}

    state = {"a": jnp.float32(2), "b": [jnp.float32(5)]}
    total = lambda state: fun(state, 3.0)["out"] + fun(state, 3.0)["rest"][0]
    assert tanx.grad(total)(state) == {"a": 7.0, "b": [1.0]}
    assert tanx.jit(tanx.grad(total))(state) == {"a": 7.0, "b": [1.0]}


def test_integer_arguments_have_tangents_without_content():
    seen = []

    @tanx.custom_jvp
    def fun(x, n, b):
        return x * n

    @fun.defjvp
    def rule(primals, tangents):
        seen.append([(t.dtype, t.shape) for t in tangents[1:]])
        return fun(*primals), tangents[0] * 7

    for call in (tanx.grad(fun), tanx.jit(tanx.grad(fun)), tanx.grad(tanx.jit(fun))):
        assert call(1.0, 3, True) == 7.0
    np.testing.assert_array_equal(tanx.vmap(tanx.grad(fun), (0, 0, None))(
        X, jnp.arange(3), True), [7.0] * 3)
    assert seen == [[(tanx.float0, ())] * 2] * 4


def test_integer_results():
    @tanx.custom_jvp
    def fun(x):
        return x * 2, jnp.int32(5)

    fun.defjvp(lambda primals, tangents: (
        fun(*primals), (tangents[0] * 9, np.zeros((), tanx.float0))))
    assert tanx.grad(lambda x: fun(x)[0] * fun(x)[1])(1.0) == 45.0


# --- Arguments ------------------------------------------------------------------------------------


def test_keywords_and_defaults():
    @tanx.custom_jvp
    def fun(x, n=3.0):
        return x * n

    fun.defjvp(lambda primals, tangents: (fun(*primals), tangents[0] * primals[1] * 10))
    assert fun(2.0) == fun(x=2.0) == 6.0 and fun(2.0, n=4.0) == fun(n=4.0, x=2.0) == 8.0
    assert tanx.grad(fun)(2.0) == 30.0 and tanx.grad(fun)(2.0, n=4.0) == 40.0


def test_keyword_only_arguments_stay_at_their_default():
    @tanx.custom_jvp
    def fun(x, *, n=3.0):
        return x * n

    fun.defjvp(lambda primals, tangents: (fun(*primals), tangents[0]))
    assert fun(2.0) == 6.0
    assert error(TypeError, lambda: fun(2.0, n=1.0)) == (
        "fun: a function with custom derivative rules takes no keyword-only arguments.\n"
        "  given: n\n"
        "  Hint: make them positional, or close over them.")


def test_variadic_functions():
    @tanx.custom_jvp
    def fun(*xs):
        return sum(xs)

    fun.defjvp(lambda primals, tangents: (fun(*primals), 5 * sum(tangents)))
    assert fun(1.0, 2.0, 3.0) == 6.0
    assert tanx.grad(fun, (0, 2))(1.0, 2.0, 3.0) == (5.0, 5.0)


@pytest.mark.parametrize("options", [
    dict(nondiff_argnums=(0,)), dict(nondiff_argnums=0), dict(nondiff_argnums=(-2,)),
    dict(nondiff_argnames="apply"), dict(nondiff_argnames=("apply",))])
def test_arguments_that_are_not_differentiated(options):
    @functools.partial(tanx.custom_jvp, **options)
    def fun(apply, x):
        return apply(x)

    @fun.defjvp
    def rule(apply, primals, tangents):
        return fun(apply, *primals), tangents[0] * apply(10.0)

    assert fun(jnp.sqrt, 4.0) == 2.0
    for around in (lambda f: f, tanx.jit):
        assert tanx.grad(around(lambda x: fun(lambda y: y * 2, x)))(4.0) == 20.0


def test_several_of_them_come_in_the_order_of_positions():
    @functools.partial(tanx.custom_jvp, nondiff_argnums=(3, 1))
    def fun(x, first, y, second):
        return x * y

    seen = []

    @fun.defjvp
    def rule(first, second, primals, tangents):
        seen.append((first, second))
        return fun(primals[0], first, primals[1], second), tangents[0]

    assert tanx.grad(fun)(2.0, "a", 3.0, "b") == 1.0 and seen == [("a", "b")]


def test_traced_arguments_that_are_not_differentiated():
    @functools.partial(tanx.custom_jvp, nondiff_argnums=(0,))
    def fun(n, x):
        return n * x

    fun.defjvp(lambda n, primals, tangents: (fun(n, *primals), tangents[0] * n * 10))
    assert tanx.jit(fun)(2.0, 3.0) == 6.0
    assert tanx.jit(tanx.grad(fun, 1))(2.0, 3.0) == 20.0
    assert tanx.grad(fun, 0)(2.0, 3.0) == 0.0
    np.testing.assert_array_equal(tanx.vmap(fun)(X, X), X * X)
    np.testing.assert_array_equal(tanx.vmap(tanx.grad(fun, 1))(X, X), 10 * X)
    np.testing.assert_array_equal(
        tanx.grad(lambda x: tanx.vmap(fun)(X, x).sum())(X), 10 * X)
    assert "num_consts=1" in str(tanx.make_jaxpr(fun)(2.0, 3.0))


def test_methods():
    class Scale:
        factor = 3.0

        @functools.partial(tanx.custom_jvp, nondiff_argnums=(0,))
        def apply(self, x):
            return x * self.factor

        @apply.defjvp
        def rule(self, primals, tangents):
            return primals[0] * self.factor, tangents[0] * 10 * self.factor

    assert Scale().apply(2.0) == 6.0
    assert tanx.grad(Scale().apply)(2.0) == 30.0


# --- Closures -------------------------------------------------------------------------------------


def closing_over(x, y):
    @tanx.custom_jvp
    def fun(y):
        return x * y

    fun.defjvp(lambda primals, tangents: (fun(*primals), tangents[0] * 5 * x))
    return fun(y)


def test_mapped_values_may_be_closed_over():
    np.testing.assert_array_equal(tanx.vmap(closing_over, (0, None))(X, 2.0), 2 * X)
    np.testing.assert_array_equal(tanx.vmap(closing_over)(X, X), X * X)
    np.testing.assert_array_equal(tanx.vmap(tanx.grad(closing_over, 1), (0, None))(X, 2.0), 5 * X)
    assert tanx.grad(lambda y: tanx.vmap(closing_over, (0, None))(X, y).sum())(2.0) == 15.0
    nested = lambda y: tanx.vmap(lambda a: tanx.vmap(lambda b: closing_over(a + b, y))(X))(X).sum()
    assert tanx.grad(nested)(2.0) == 5 * 18.0


def test_staged_values_may_be_closed_over():
    assert tanx.jit(closing_over)(2.0, 3.0) == 6.0
    assert tanx.jit(tanx.grad(closing_over, 1))(2.0, 3.0) == 10.0


def test_a_rule_that_closes_over_a_finished_trace_raises():
    error(UnexpectedTracerError, lambda: tanx.grad(tanx.jit(closing_over), 1)(2.0, 3.0))


def test_differentiated_values_may_not_be_closed_over():
    error(UnexpectedTracerError, lambda: tanx.grad(closing_over)(2.0, 3.0))
    error(UnexpectedTracerError, lambda: tanx.grad(lambda x: closing_over(x, x))(2.0))


def alone(x):
    @tanx.custom_jvp
    def fun(y):
        return y

    fun.defjvp(lambda primals, tangents: (fun(*primals), tangents[0] * x))
    return fun


def test_a_mapped_value_used_only_by_the_rule():
    np.testing.assert_array_equal(tanx.vmap(lambda x: tanx.grad(alone(x))(2.0))(X), X)
    for _ in range(4):
        found = tanx.vmap(lambda x: tanx.grad(tanx.jit(alone(x)))(2.0))(X)
        np.testing.assert_array_equal(found, X)
    # A traced body has no lanes, and all calls share it.
    assert error(UnexpectedTracerError, lambda: tanx.grad(tanx.jit(
        lambda y: tanx.vmap(lambda x: alone(x)(y))(X).sum()))(2.0)) == (
        "tanx.vmap: a derivative rule closes over a mapped value that the function itself does "
        "not depend on.\n"
        "  rule: <lambda>\n"
        "  Hint: pass the value to the function as an argument.")


# --- Symbolic zeros -------------------------------------------------------------------------------


@pytest.mark.parametrize("around", [
    lambda f: f, tanx.jit, lambda f: lambda x, y: tanx.vmap(f, (0, None))(x[None], y)[0],
    lambda f: lambda x, y: tanx.jit(tanx.vmap(f))(x[None], y[None])[0]],
    ids=["plain", "jit", "vmap", "jit of vmap"])
def test_symbolic_zeros(around):
    seen = []

    @tanx.custom_jvp
    def fun(x, y):
        return x * y

    def rule(primals, tangents):
        seen.append([isinstance(t, SymbolicZero) for t in tangents])
        assert [t.shape for t in tangents] == [(), ()]
        dx, dy = (0.0 if isinstance(t, SymbolicZero) else t for t in tangents)
        return fun(*primals), 3 * dx + 4 * dy

    fun.defjvp(rule, symbolic_zeros=True)
    fun = around(fun)
    x, y = jnp.float32(2), jnp.float32(3)
    assert tanx.grad(fun)(x, y) == 3.0 and seen == [[False, True]]
    assert tanx.grad(fun, 1)(x, y) == 4.0 and seen[1:] == [[True, False]]
    np.testing.assert_array_equal(tanx.vmap(tanx.grad(fun), (0, None))(X, y), [3.0] * 3)
    assert seen[2:] in ([[False, True]], [])  # jit has cached it


@pytest.mark.parametrize("around", [lambda f: f, tanx.jit, lambda f: lambda x: [
    y[0] for y in tanx.vmap(f)(x[None])]], ids=["plain", "jit", "vmap"])
def test_symbolic_zeros_as_answers(around):
    @tanx.custom_jvp
    def fun(x):
        return 2 * x, 3 * x

    fun.defjvp(lambda primals, tangents: (
        fun(*primals), (tangents[0], SymbolicZero.from_primal_value(primals[0]))),
        symbolic_zeros=True)
    x = jnp.float32(5)
    assert list(tanx.jvp(around(fun), (x,), (x,))[1]) == [5.0, 0.0]
    assert tanx.grad(lambda x: sum(around(fun)(x)))(x) == 1.0


def test_attributes_of_symbolic_zeros():
    zero = SymbolicZero.from_primal_value(jnp.ones((2, 3), "bfloat16"))
    assert (zero.shape, zero.ndim, zero.size, zero.dtype) == ((2, 3), 2, 6, jnp.bfloat16)
    assert repr(zero) == "SymbolicZero(bfloat16[2,3])"
    assert zero == copy.copy(zero) and hash(zero) == hash(copy.copy(zero))
    assert SymbolicZero.from_primal_value(3).dtype == tanx.float0


# --- One function an argument ---------------------------------------------------------------------


def test_defjvps():
    @tanx.custom_jvp
    def fun(x, y, z):
        return x * y * z

    fun.defjvps(lambda t, out, x, y, z: 100 * t, None, lambda t, out, x, y, z: t * out)
    assert tanx.grad(fun, (0, 1, 2))(2.0, 3.0, 4.0) == (100.0, 0.0, 24.0)


def test_defjvps_of_pytrees_and_of_nothing():
    @tanx.custom_jvp
    def fun(x, y):
        return {"a": x * y, "b": x}

    fun.defjvps(lambda t, out, x, y: {"a": 10 * t, "b": 20 * t},
                lambda t, out, x, y: {"a": 30 * t, "b": 40 * t})
    assert tanx.jvp(fun, (2.0, 3.0), (1.0, 1.0))[1] == {"a": 40.0, "b": 60.0}
    fun.defjvps(None, None)
    assert tanx.jvp(fun, (2.0, 3.0), (1.0, 1.0))[1] == {"a": 0.0, "b": 0.0}


def test_defjvps_with_nondiff_argnums_raises():
    fun = tanx.custom_jvp(lambda n, x: x, nondiff_argnums=0)
    assert error(TypeError, lambda: fun.defjvps(None)) == (
        "tanx.custom_jvp.defjvps: cannot be combined with nondiff_argnums.\n"
        "  Hint: use defjvp.")


# --- Mistakes -------------------------------------------------------------------------------------


def ruled(rule):
    def f(x):
        return x

    custom = tanx.custom_jvp(f)
    custom.defjvp(rule)
    return custom


def rule(primals, tangents, answer):
    return answer(primals[0], tangents[0])


@pytest.mark.parametrize("answer, text", [
    (lambda x, t: x,
     "must return a pair: the result and its tangent.\n"
     "  it gave: Array(1., dtype=float32, weak_type=True)"),
    (lambda x, t: (x, (t, t)),
     "must return a tangent of the structure of the result.\n"
     "  result:  PyTreeDef(*)\n"
     "  tangent: PyTreeDef((*, *))"),
    (lambda x, t: (x, None),
     "must return a tangent of the structure of the result.\n"
     "  result:  PyTreeDef(*)\n"
     "  tangent: PyTreeDef(None)"),
    (lambda x, t: (x, t.astype("float16")),
     "returned a tangent of the wrong type.\n"
     "  result:   ~float32[]\n"
     "  expected: ~float32[]\n"
     "  tangent:  float16[]"),
    (lambda x, t: (x, jnp.ones(3)),
     "returned a tangent of the wrong type.\n"
     "  result:   ~float32[]\n"
     "  expected: ~float32[]\n"
     "  tangent:  float32[3]"),
])
def test_results_of_jvp_rules_are_checked(answer, text):
    fun = ruled(functools.update_wrapper(functools.partial(rule, answer=answer), rule))
    assert error(TypeError, lambda: tanx.jvp(fun, (1.0,), (1.0,))) == (
        f"tanx.custom_jvp: the rule rule of f: {text}")


def test_primal_results_of_jvp_rules_are_checked():
    fun = ruled(lambda primals, tangents: ((primals[0],), (tangents[0],)))
    assert error(TypeError, lambda: tanx.jvp(tanx.jit(fun), (1.0,), (1.0,))) == (
        "tanx.custom_jvp: the rule <lambda> of f: must return a result of the function's "
        "structure.\n"
        "  function: PyTreeDef(*)\n"
        "  rule:     PyTreeDef((*,))")
    fun = ruled(lambda primals, tangents: (jnp.ones(3), jnp.ones(3)))
    assert error(TypeError, lambda: tanx.jvp(tanx.jit(fun), (1.0,), (1.0,))) == (
        "tanx.custom_jvp: the rule of f: must return results of the types that the function "
        "returns.\n"
        "  function: ~float32[]\n"
        "  rule:     float32[3]")


def test_a_rule_that_is_not_linear_has_no_transpose():
    fun = ruled(lambda primals, tangents: (primals[0], tangents[0] ** 2))
    assert tanx.jvp(fun, (1.0,), (3.0,))[1] == 9.0
    assert error(NotImplementedError, lambda: tanx.grad(fun)(1.0)) == (
        "tanx.lax.integer_pow: has no transpose rule: it is not linear.")


def test_a_function_without_a_rule():
    fun = tanx.custom_jvp(jnp.sin)
    for call in (fun, tanx.grad(fun), tanx.jit(fun)):
        assert error(AttributeError, lambda call=call: call(1.0)) == (
            "tanx.custom_jvp: sin has no derivative rule yet.\n"
            "  Hint: set one with sin.defjvp.")


def test_arguments_that_are_no_arrays():
    fun = tanx.custom_jvp(lambda x, mode: x)
    fun.defjvp(lambda primals, tangents: (fun(*primals), tangents[0]))
    assert error(TypeError, lambda: fun(1.0, "fast")) == (
        "tanx.custom_jvp: arguments of <lambda>: needs arrays or numbers.\n"
        "  at [1]: 'fast' of type str\n"
        "  Hint: list it in nondiff_argnums, or close over it.")


def test_names_that_are_not_parameters():
    assert error(ValueError, lambda: tanx.custom_jvp(lambda x: x, nondiff_argnames="y")) == (
        "<lambda>: nondiff_argnames names a parameter that it does not have.\n"
        "  nondiff_argnames: ('y',)\n"
        "  parameters:       ('x',)")


def test_name_and_documentation():
    def square(x):
        """The square."""
        return x * x

    custom = tanx.custom_jvp(square)
    assert (custom.__name__, custom.__doc__, custom.__wrapped__) == (
        "square", "The square.", square)
    assert tanx.custom_jvp.__module__ == "tanx"
