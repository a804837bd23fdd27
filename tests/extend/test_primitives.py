"""Users' primitives: all transformations, compiled code, and errors for missing rules."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx.core import ShapedArray
from tanx.extend.core import Primitive, primitives
from tanx.interpreters import ad, batching, mlir


def four_times(fun, *args):
    """The result of a jitted function, the same in each of four calls."""
    jitted = tanx.jit(fun)
    first, *others = [jitted(*args) for _ in range(4)]
    for other in others:
        tanx.tree.map(lambda a, b: np.testing.assert_array_equal(a, b), first, other)
        assert tanx.tree.map(tanx.typeof, first) == tanx.tree.map(tanx.typeof, other)
    return first


# -- a solver of banded systems, as a library would write it ---------------------------------------


def thomas(lower, diagonal, upper, b):
    """Solve a tridiagonal system by elimination, in a scan."""
    def forward(carry, row):
        c, d = carry
        low, mid, up, rhs = row
        scale = mid - low * c
        return (up / scale, (rhs - low * d) / scale), (up / scale, (rhs - low * d) / scale)

    zero = jnp.zeros((), b.dtype)
    _, (cs, ds) = lax.scan(forward, (zero, zero), (lower, diagonal, upper, b))

    def backward(x, row):
        c, d = row
        return d - c * x, d - c * x

    return lax.scan(backward, zero, (cs, ds), reverse=True)[1]


def product(lower, diagonal, upper, x):
    return (diagonal * x + lower * jnp.concatenate([jnp.zeros(1, x.dtype), x[:-1]])
            + upper * jnp.concatenate([x[1:], jnp.zeros(1, x.dtype)]))


solve_p = Primitive("banded_solve")
solve_p.def_impl(lambda lower, diagonal, upper, b: thomas(lower, diagonal, upper, b))
solve_p.def_abstract_eval(lambda lower, diagonal, upper, b: ShapedArray(b.shape, b.dtype))
mlir.register_lowering(solve_p, mlir.lower_fun(thomas, multiple_results=False))


def solve_jvp(primals, tangents):
    *matrix, b = primals
    *d_matrix, db = map(ad.instantiate_zeros, tangents)
    x = solve_p.bind(*matrix, b)
    return x, solve_p.bind(*matrix, db - product(*d_matrix, x))


def solve_transpose(ct, lower, diagonal, upper, b):
    assert ad.is_undefined_primal(b) and b.aval.shape == ct.shape
    assert not any(map(ad.is_undefined_primal, (lower, diagonal, upper)))
    below = jnp.concatenate([jnp.zeros(1), upper[:-1]])
    above = jnp.concatenate([lower[1:], jnp.zeros(1)])
    return [None, None, None, solve_p.bind(below, diagonal, above, ct)]


def solve_batch(args, dims):
    size = next(x.shape[d] for x, d in zip(args, dims) if d is not batching.not_mapped)
    args = [batching.bdim_at_front(x, d, size) for x, d in zip(args, dims)]
    return jnp.stack([solve_p.bind(*(x[i] for x in args)) for i in range(size)]), 0


ad.primitive_jvps[solve_p] = solve_jvp
ad.primitive_transposes[solve_p] = solve_transpose
batching.primitive_batchers[solve_p] = solve_batch

N = 6
rng = np.random.default_rng(0)
SYSTEM = [jnp.asarray(x, jnp.float32) for x in (
    rng.uniform(-1, 1, N), rng.uniform(3, 4, N), rng.uniform(-1, 1, N), rng.normal(size=N))]
DENSE = np.diag(SYSTEM[1]) + np.diag(SYSTEM[0][1:], -1) + np.diag(SYSTEM[2][:-1], 1)


def test_values():
    want = np.linalg.solve(DENSE, SYSTEM[3])
    np.testing.assert_allclose(solve_p.bind(*SYSTEM), want, rtol=1e-5)
    np.testing.assert_allclose(four_times(solve_p.bind, *SYSTEM), want, rtol=1e-5)
    assert "banded_solve a b c d" in str(tanx.make_jaxpr(solve_p.bind)(*SYSTEM))


@pytest.mark.parametrize("argument", [1, 3])
def test_derivatives(argument):
    loss = lambda *system: jnp.sum(jnp.sin(solve_p.bind(*system)))
    plain = lambda *system: jnp.sum(jnp.sin(thomas(*system)))
    want = tanx.grad(plain, argument)(*SYSTEM)
    np.testing.assert_allclose(tanx.grad(loss, argument)(*SYSTEM), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(four_times(tanx.grad(loss, argument), *SYSTEM), want, rtol=1e-4,
                               atol=1e-5)
    second = tanx.hessian(loss, argument)(*SYSTEM)
    np.testing.assert_allclose(second, tanx.hessian(plain, argument)(*SYSTEM), rtol=1e-3,
                               atol=1e-4)


def test_batches():
    many = jnp.stack([SYSTEM[3], 2 * SYSTEM[3], -SYSTEM[3]], 1)
    batched = tanx.vmap(solve_p.bind, in_axes=(None, None, None, 1))
    want = np.linalg.solve(DENSE, many).T
    np.testing.assert_allclose(batched(*SYSTEM[:3], many), want, rtol=1e-4)
    np.testing.assert_allclose(four_times(batched, *SYSTEM[:3], many), want, rtol=1e-4)
    losses = lambda b: jnp.sum(batched(*SYSTEM[:3], b) ** 2)
    np.testing.assert_allclose(four_times(tanx.grad(losses), many),
                               2 * np.linalg.solve(DENSE.T, want.T), rtol=1e-3)


def test_in_a_loop():
    def steps(b):
        return lax.scan(lambda x, _: (solve_p.bind(*SYSTEM[:3], x), x.sum()), b, None, length=3)

    want = SYSTEM[3]
    for _ in range(3):
        want = np.linalg.solve(DENSE, want)
    np.testing.assert_allclose(four_times(steps, SYSTEM[3])[0], want, rtol=1e-4)
    gradient = tanx.grad(lambda b: steps(b)[0].sum())
    inverse = np.linalg.inv(DENSE)
    np.testing.assert_allclose(four_times(gradient, SYSTEM[3]),
                               (inverse @ inverse @ inverse).T @ np.ones(N), rtol=1e-3)


# -- several results, parameters, effects ----------------------------------------------------------


def test_several_results_and_parameters():
    p = Primitive("powers")
    p.multiple_results = True
    p.def_abstract_eval(lambda x, *, orders: [x.update(weak_type=False) for _ in orders])
    mlir.register_lowering(p, mlir.lower_fun(lambda x, *, orders: [x ** n for n in orders]))
    ad.primitive_jvps[p] = lambda primals, tangents, *, orders: (
        p.bind(*primals, orders=orders),
        [n * primals[0] ** (n - 1) * tangents[0] for n in orders])
    batching.fancy_primitive_batchers[p] = lambda axis, args, dims, *, orders: (
        p.bind(*args, orders=orders), [dims[0]] * len(orders))
    fun = lambda x: p.bind(x, orders=(2, 3))
    x = jnp.arange(3.0)
    for got in (fun(x), four_times(fun, x), four_times(tanx.vmap(fun), x)):
        np.testing.assert_array_equal(got[0], [0, 1, 4])
        np.testing.assert_array_equal(got[1], [0, 1, 8])
    np.testing.assert_array_equal(four_times(tanx.grad(lambda x: fun(x)[1].sum()), x), [0, 3, 12])
    assert p in batching.axis_primitive_batchers and p not in batching.primitive_batchers
    out, dims = batching.axis_primitive_batchers[p](3, None, None, [x], [0], orders=(1,))
    np.testing.assert_array_equal(out[0], x)
    assert dims == [0]


@pytest.mark.parametrize("book, rule", [
    (batching.fancy_primitive_batchers, lambda axis, args, dims: (args[0] * 2, dims[0])),
    (batching.axis_primitive_batchers,
     lambda size, name, kind, args, dims: (args[0] * 2, dims[0]))], ids=["fancy", "axis"])
def test_rules_for_an_axis_get_tuples(book, rule):
    """Libraries pass the axes on as ``in_axes`` for operands in a tuple."""
    p, seen = Primitive("doubled"), []
    p.def_impl(lambda x: x * 2)
    p.def_abstract_eval(lambda x: x)

    def batch(*args):
        seen.extend(args[-2:])
        return rule(*args)

    book[p] = batch
    assert tanx.vmap(p.bind)(jnp.arange(3)).tolist() == [0, 2, 4]
    assert [type(x) for x in seen] == [tuple, tuple] and book[p] is batch


def test_undefined_primals_pass_through_vmap():
    """It is a pytree without leaves, so that a rule for batches can map the rule for one."""
    p = Primitive("thrice")
    p.def_impl(lambda x: x * 3)
    p.def_abstract_eval(lambda x: x)
    ad.primitive_transposes[p] = lambda ct, x: (tanx.vmap(
        lambda ct, x: ct * 3 if ad.is_undefined_primal(x) else None, in_axes=(0, None))(ct, x),)
    (back,) = tanx.linear_transpose(p.bind, jnp.ones(2))(jnp.arange(2.0))
    assert back.tolist() == [0, 3]
    operand = ad.UndefinedPrimal(tanx.typeof(1.0))
    (again,) = tanx.tree.map(lambda x: x, [operand])
    assert tanx.tree.leaves([operand]) == [] and again.aval == operand.aval


def test_defjvp_and_similar_functions():
    p = Primitive("scaled_product")
    p.def_impl(lambda x, y, *, scale: x * y * scale)
    p.def_abstract_eval(lambda x, y, *, scale: x)
    mlir.register_lowering(p, lambda ctx, x, y, *, scale: mlir.lower_fun(
        lambda x, y: x * y * scale, multiple_results=False)(ctx, x, y))
    ad.defbilinear(p, lambda ct, x, y, *, scale: ct * y * scale,
                   lambda ct, x, y, *, scale: ct * x * scale)
    batching.defbroadcasting(p)
    fun = lambda x, y: p.bind(x, y, scale=10.0)
    assert four_times(tanx.grad(fun, (0, 1)), 2.0, 3.0) == (30.0, 20.0)
    assert tanx.grad(tanx.grad(fun), 1)(2.0, 3.0) == 10.0
    np.testing.assert_array_equal(
        four_times(tanx.vmap(fun, in_axes=(0, None)), jnp.arange(3.0), 2.0), [0, 20, 40])
    transposed = tanx.linear_transpose(lambda y: fun(2.0, y), 1.0)
    assert transposed(1.0)[0] == 20.0


def test_lowerings_with_python_callbacks():
    p = Primitive("looked_up")
    p.def_abstract_eval(lambda x: x)

    def lowering(ctx, x):
        assert ctx.avals_in == ctx.avals_out and ctx.module_context.platforms == ("cpu",)
        results, _, _ = mlir.emit_python_callback(
            ctx, lambda x: (np.asarray(x)[::-1].copy(),), None, [x], ctx.avals_in, ctx.avals_out,
            has_side_effect=False)
        return results

    mlir.register_lowering(p, lowering)
    np.testing.assert_array_equal(four_times(p.bind, jnp.arange(3)), [2, 1, 0])
    np.testing.assert_array_equal(p.bind(jnp.arange(3)), [2, 1, 0])


# -- what lacks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("use, text", [
    (lambda p: p.bind(1.0), "Evaluation rule for 'bare' not implemented"),
    (lambda p: tanx.make_jaxpr(p.bind)(1.0), "Abstract evaluation for 'bare' not implemented"),
])
def test_a_primitive_without_rules(use, text):
    with pytest.raises(NotImplementedError, match=text):
        use(Primitive("bare"))


@pytest.mark.parametrize("transform, text", [
    (tanx.jit, "MLIR translation rule for primitive 'half' not found for platform cpu"),
    (tanx.grad, "Differentiation rule for 'half' not implemented"),
    (tanx.vmap, "Batching rule for 'half' not implemented"),
    (lambda f: lambda x: tanx.linear_transpose(f, x)(x), "Transpose rule .* for 'half' not impl"),
])
def test_a_primitive_with_values_and_types_only(transform, text):
    p = Primitive("half")
    p.def_impl(lambda x: x / 2)
    p.def_abstract_eval(lambda x: x)
    x = jnp.ones(2) if transform is tanx.vmap else 1.0
    with pytest.raises(NotImplementedError, match=text):
        transform(p.bind)(x)


def test_a_lowering_of_another_type():
    p = Primitive("wrong")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, mlir.lower_fun(lambda x: x > 0, multiple_results=False))
    with pytest.raises(TypeError, match="its lowering returns other types"):
        tanx.jit(p.bind)(1.0)


def test_names_may_be_used_twice():
    one, two = Primitive("same"), Primitive("same")
    for p, factor in ((one, 2), (two, 3)):
        p.def_abstract_eval(lambda x: x)
        mlir.register_lowering(p, mlir.lower_fun(lambda x, f=factor: x * f,
                                                 multiple_results=False))
    assert four_times(lambda x: (one.bind(x), two.bind(x)), 1.0) == (2.0, 3.0)


# -- the books of rules ----------------------------------------------------------------------------


def test_builtin_primitives_are_in_the_rule_tables():
    assert primitives.sin_p in ad.primitive_jvps and isinstance(primitives.sin_p, Primitive)
    assert primitives.neg_p in ad.primitive_transposes
    assert primitives.sin_p not in ad.primitive_transposes
    assert primitives.scan_p in batching.fancy_primitive_batchers
    out, tangent = ad.primitive_jvps[primitives.sin_p]((0.0,), (2.0,), accuracy=None)
    assert out == 0.0 and tangent == 2.0
    out, dim = batching.primitive_batchers[primitives.reduce_sum_p](
        [jnp.ones((2, 3))], [0], axes=(0,), out_sharding=None)
    np.testing.assert_array_equal(out, [3, 3])
    assert dim == 0
    assert len(ad.primitive_jvps) > 100 and all(p in ad.primitive_jvps for p in ad.primitive_jvps)
    with pytest.raises(KeyError):
        ad.primitive_jvps[Primitive("new")]


def test_a_rule_of_ours_can_be_replaced_for_a_while():
    """Debuggers of libraries do this."""
    ad.primitive_jvps[primitives.sin_p] = lambda primals, tangents, **params: (
        primitives.sin_p.bind(*primals, **params), 100.0 * tangents[0])
    try:
        assert tanx.grad(jnp.sin)(0.0) == 100.0
    finally:
        del ad.primitive_jvps[primitives.sin_p]
    assert tanx.grad(jnp.sin)(0.0) == 1.0


def _multiply_add(asked, seen):
    """A primitive ``x * y + z``; lists record the calls of its rules."""
    p = Primitive("multiply_add")
    p.def_impl(lambda x, y, z: x * y + z)

    def types(x, y, z):
        asked.append(f"{x} {y} {z}")
        return ShapedArray(x.shape, x.dtype)

    def jvp(primals, tangents):
        seen.extend((str(type(t)), str(t)) for t in tangents if type(t) is not ad.Zero)
        (x, y, z), (xt, yt, zt) = primals, map(ad.instantiate_zeros, tangents)
        p.bind(xt, x, zt)  # not needed: not copied
        return p.bind(x, y, z), p.bind(xt, y, p.bind(x, yt, zt))

    def transpose(ct, x, y, z):
        if ad.is_undefined_primal(x):
            return ct * y, None, ct
        return None, x * ct, ct

    p.def_abstract_eval(types)
    ad.primitive_jvps[p], ad.primitive_transposes[p] = jvp, transpose
    mlir.register_lowering(p, mlir.lower_fun(lambda x, y, z: x * y + z, multiple_results=False))
    return p


@tanx.enable_checks(False)  # the checker of jaxprs infers types, too
def test_calls_of_abstract_evaluation_are_those_of_jax():
    asked, seen = [], []
    p = _multiply_add(asked, seen)
    grad = tanx.grad(lambda a, b: p.bind(a, a, b))
    weak, strong = "~float32[] ~float32[] ~float32[]", "~float32[] ~float32[] float32[]"
    assert grad(2.0, 10.0) == 4.0
    # Three equations are recorded, two are needed and copied into the linear program.
    assert asked == [weak, weak, strong, weak, strong]
    assert set(seen) == {("<class 'tanx.interpreters.partial_eval.JaxprTracer'>",
                          "Traced<~float32[]:JaxprTrace>")}
    for _ in range(4):
        asked.clear()
        assert grad(2.0, 10.0) == 4.0
        assert asked == [weak, weak, strong]  # the types of the copies are known
    asked.clear()
    compiled = tanx.jit(lambda a, b: p.bind(a, a, p.bind(a, a, b)))
    assert [compiled(2.0, 10.0) for _ in range(4)] == [18.0] * 4
    assert asked == []


@tanx.enable_checks(False)
def test_abstract_evaluation_that_failed_is_called_each_time():
    p = Primitive("late")
    with pytest.raises(NotImplementedError):
        tanx.make_jaxpr(p.bind)(1.0)
    asked = []
    p.def_abstract_eval(lambda x: asked.append(str(x)) or ShapedArray(x.shape, x.dtype))
    for _ in range(3):
        tanx.make_jaxpr(lambda x: p.bind(p.bind(x)))(1.0)
    assert asked == ["~float32[]", "float32[]", "~float32[]", "~float32[]"]
    p.def_abstract_eval(lambda x: ShapedArray((2,), x.dtype))
    assert tanx.eval_shape(p.bind, jnp.float32(1.0)).shape == (2,)  # another function, asked anew


def test_abstract_evaluation_is_called_for_each_kind_of_parameters():
    p = Primitive("of_parameters")
    p.def_abstract_eval(lambda x, *, of: ShapedArray(
        (len(of),) if isinstance(of, list) else (), type(of) is bool and np.int32 or x.dtype))
    for of, dtype, shape in [(1, np.float32, ()), (True, np.int32, ()), ([1, 2], np.float32, (2,))]:
        for _ in range(2):
            out = tanx.eval_shape(lambda x, of=of: p.bind(x, of=of), 1.0)
            assert (out.dtype, out.shape) == (dtype, shape)
