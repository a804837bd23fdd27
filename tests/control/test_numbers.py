"""Python numbers stay Python numbers if no operation uses them, as in JAX."""

import pickle

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax


def kinds(tree):
    return [type(x) for x in tanx.tree.leaves(tree)]


def identity(kind):
    """A function with custom rules that returns its argument."""
    fun = kind(lambda x: x)
    if kind is tanx.custom_jvp:
        fun.defjvp(lambda primals, tangents: (primals[0], 3 * tangents[0]))
    else:
        fun.defvjp(lambda x: (x, None), lambda _, ct: (3 * ct,))
    return fun


@pytest.mark.parametrize("kind", [tanx.custom_jvp, tanx.custom_vjp])
def test_functions_with_rules(kind):
    fun = identity(kind)
    for value in (3, 2.5, True, 1j):
        assert fun(value) == value and type(fun(value)) is type(value)
    assert type(fun(np.float32(2))) is tanx.Array
    assert tanx.grad(fun)(2.0) == 3.0
    assert tanx.grad(lambda x: x * fun(2.0))(1.0) == 2.0
    assert tanx.vmap(lambda x: x * fun(2.0))(jnp.ones(2)).tolist() == [2.0, 2.0]
    compiled = tanx.jit(lambda x: (fun(2.0), fun(x)))
    for _ in range(4):
        assert [str(y.aval) for y in compiled(1.0)] == ["~float32[]", "~float32[]"]


def test_stop_gradient():
    assert kinds(lax.stop_gradient((2, 2.5, True, 1j, np.ones(2), jnp.ones(2)))) == [
        int, float, bool, complex, tanx.Array, tanx.Array]
    assert tanx.grad(lambda x: x * lax.stop_gradient(2.0))(1.0) == 2.0


def test_carries_that_never_change():
    (carry, _) = lax.scan(lambda c, x: (c, x), (1, 2.5, True), jnp.arange(3))
    assert carry == (1, 2.5, True) and kinds(carry) == [int, float, bool]
    carry, _ = lax.scan(lambda c, x: ((c[1], c[0]), x), (1, 2), jnp.arange(3))
    assert kinds(carry) == [tanx.Array] * 2 and [int(x) for x in carry] == [2, 1]
    counter, kept = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1]), (0, 5))
    assert (int(counter), kept) == (3, 5) and type(kept) is int
    assert type(lax.fori_loop(0, 3, lambda i, c: c, 7)) is int
    assert type(lax.fori_loop(0, 0, lambda i, c: c + 1, 7)) is tanx.Array


def test_arguments_that_are_not_mapped():
    cast = tanx.vmap(lambda dtype, x: x.astype(dtype), in_axes=(None, 0))
    assert cast(jnp.float16, jnp.arange(3)).dtype == "float16"
    assert tanx.vmap(lambda word, x: x, in_axes=(None, 0))("word", jnp.arange(3)).shape == (3,)
    number, _ = tanx.vmap(lambda n, x: (n, x), in_axes=(None, 0), out_axes=(None, 0))(
        3, jnp.arange(2))
    assert type(number) is int
    with pytest.raises(TypeError, match="argument d of <lambda> is not an array"):
        tanx.vmap(lambda d, x: x)(jnp.float32, jnp.arange(3))


def test_residuals():
    seen = []
    fun = tanx.custom_vjp(lambda x: 2 * x)
    fun.defvjp(lambda x: (2 * x, (True, 3, 2.5, x)),
               lambda saved, ct: (seen.append(kinds(saved)[:3]), (saved[1] * ct,))[1])
    assert tanx.grad(fun)(1.0) == 3.0
    gradient = tanx.jit(tanx.vmap(tanx.grad(fun)))
    for _ in range(4):
        assert gradient(jnp.ones(2)).tolist() == [3.0, 3.0]
    loop = tanx.grad(lambda x: lax.scan(lambda c, _: (fun(c), None), x, None, length=2)[0])
    assert loop(1.0) == 9.0
    assert all(found == [bool, int, float] for found in seen)


def test_bounds_of_loops_may_be_floats():
    def total(lower, upper):
        return lax.fori_loop(lower, upper, lambda i, c: c + i, 0.0)

    compiled = tanx.jit(total)
    for _ in range(4):
        assert compiled(0.5, 2.75) == 4.5
        assert tanx.jit(lambda: total(0.5, 3.75))() == 3.0
    # Known bounds are truncated, and the index is an integer.
    assert total(0.5, 3.75) == total(jnp.float32(0.5), np.float32(3.0)) == 3.0
    assert total(-1.5, 3.0) == 2.0 and total(3.0, 1.0) == 0.0
    for unroll in (1, 2):
        index = lax.fori_loop(0.5, 3.0, lambda i, c: i, 0, unroll=unroll)
        assert (index.item(), index.dtype, index.weak_type) == (2, np.int32, True)
    assert tanx.grad(lambda x: lax.fori_loop(0.0, 3.0, lambda i, c: c * x, 1.0))(2.0) == 12.0
    with tanx.disable_jit():
        assert total(0.5, 3.75) == 3.0
    with pytest.raises(TypeError, match="both be floats"):
        total(0, 2.5)
    with pytest.raises(ValueError, match="NaN"):
        total(0.0, float("nan"))


def test_loops_of_python_leave_arrays_of_the_caller_alone():
    def increase(x):
        x += 1
        return x

    x = np.zeros(3, np.float32)
    with tanx.disable_jit():
        assert lax.fori_loop(0, 3, lambda i, c: increase(c), x).tolist() == [3, 3, 3]
        assert lax.while_loop(lambda c: c.sum() < 5, increase, x).tolist() == [2, 2, 2]
        carry, ys = lax.scan(lambda c, _: (increase(c),) * 2, x, None, length=2)
        assert carry.tolist() == [2, 2, 2] and ys.tolist() == [[1, 1, 1], [2, 2, 2]]
        assert lax.cond(True, increase, lambda c: c, x).tolist() == [1, 1, 1]
    assert x.tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_initial_numbers_are_promoted_with_and_without_jit(dtype):
    found = []
    for disabled in (False, True):
        with tanx.disable_jit(disabled):
            found.append(lax.scan(lambda c, x: (c + x, c), 1, jnp.ones(3, dtype)))
    (carry, ys), (plain_carry, plain_ys) = found
    assert carry.aval == plain_carry.aval and ys.aval == plain_ys.aval
    assert carry == plain_carry and (ys == plain_ys).all()


def test_64_bit_arrays_are_unpickled_as_32_bit_without_x64():
    with tanx.enable_x64(True):
        texts = [pickle.dumps(jnp.arange(3).astype(d)) for d in ("float64", "int64", "complex128")]
        assert pickle.loads(texts[0]).dtype == "float64"
    assert [pickle.loads(t).dtype for t in texts] == ["float32", "int32", "complex64"]


def test_cotangents_of_integers():
    (_, n), pull = tanx.vjp(lambda x: (x * 2, jnp.int32(3)), 2.0)
    for zero in (np.zeros((), tanx.float0), 3, jnp.int32(1), True, 0.5):
        assert pull((1.0, zero)) == (2.0,)
    with pytest.raises(ValueError, match="a cotangent must have the type"):
        pull((1.0, jnp.arange(3)))


def test_gradients_through_parts_of_complex_numbers_are_not_weak():
    for fun, value in ((lambda z: jnp.real(z) ** 2 + jnp.imag(z) ** 2, 2 - 4j),
                       (lambda z: z.real, 1 + 0j), (lambda z: jnp.real(z * z), 2 + 4j)):
        found = tanx.grad(fun)(1 + 2j)
        assert found == value and not found.weak_type


def test_shapes_as_results():
    struct = tanx.ShapeDtypeStruct((2, 3), jnp.float32)
    assert tanx.eval_shape(lambda: struct) == struct
    found = tanx.eval_shape(lambda x: {"a": x, "b": (struct, 3)}, 1.0)
    assert found == {"a": tanx.ShapeDtypeStruct.like(1.0),
                     "b": (struct, tanx.ShapeDtypeStruct.like(3))}
    assert tanx.ShapeDtypeStruct.like(struct) == struct
    assert tanx.ShapeDtypeStruct.like(np.zeros((2, 3))) == struct
