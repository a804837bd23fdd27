"""Sums along rows, several rows at a time."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tests.compiler.agreement import check_function


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(("n", "m"), [(8, 16), (9, 16), (7, 40), (24, 33), (100, 100), (64, 1000),
                                      (11, 1300)])
def test_a_matrix_times_a_vector(n, m, dtype):
    rng = np.random.default_rng(0)
    x, v = (rng.normal(size=s).astype(jnp.dtype(dtype)) for s in ((n, m), (m,)))
    with tanx.enable_x64(True):
        check_function(lambda x, v: x @ v, x, v)
        check_function(lambda x, v: jnp.tanh(x @ v) + (x * v * 2 + x).sum(1), x, v)


def test_two_sums_in_the_same_loop():
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(20, 50)).astype(np.float32) for _ in range(2))
    check_function(lambda x, y: x @ x[0] + y @ x[1], x, y)


def test_rows_share_loads_of_the_vector():
    from tanx._compiler.emit.cpu.module import generate
    from tanx._compiler.machine import host
    from tanx._compiler.pipeline import build
    x = np.ones((64, 64), np.float32)
    module = build(tanx.make_jaxpr(lambda x, v: x @ v)(x, x[0]))
    text = generate(module.program, host(), module.plan.offsets).text
    loads = [line for line in text.splitlines() if "load <" in line]
    rows = max(8, host().vector_bits // 32)
    assert len(loads) == 4 * (rows + 1)  # four loads of each row and of the vector


@pytest.mark.parametrize("shape", [(9, 20), (64, 50), (101, 33), (1000, 16), (3, 70, 24)])
def test_long_epilogues_of_row_sums(shape):
    """With many rows it has a separate loop, which reads the stored sums."""
    rng = np.random.default_rng(0)
    x, v, y = (rng.normal(size=s).astype(np.float32) for s in (shape, shape[-1:], shape[:-1]))

    def slope(x, v, y):
        return y - tanx.grad(lambda z: jnp.logaddexp(0.0, z).sum())(x @ v)

    check_function(slope, x, v, y)
    check_function(lambda x, v, y: (slope(x, v, y), x @ v, jnp.sin(x @ v) * y), x, v, y)


def test_long_epilogues_do_not_change_how_rows_are_read():
    from tanx._compiler.emit.cpu.module import generate
    from tanx._compiler.machine import host
    from tanx._compiler.pipeline import build
    x = np.ones((1000, 32), np.float32)

    def slope(x, v):
        return tanx.grad(lambda z: jnp.logaddexp(0.0, z).sum())(x @ v)

    module = build(tanx.make_jaxpr(slope)(x, x[0]))
    text = generate(module.program, host(), module.plan.offsets).text
    assert text.count("load float") <= 1  # not by elements, except for a remainder


def test_long_rows_of_narrow_numbers():
    """Lanes of both operands have the same order, and so do lanes computed from positions."""
    rng = np.random.default_rng(0)
    x, v = (rng.normal(size=s).astype(jnp.bfloat16) for s in ((10, 2051), (2051,)))
    check_function(lambda x, v: x @ v, x, v)
    check_function(lambda x, v: lax.dot(x, v, preferred_element_type=np.float32), x, v)
    places = np.arange(2051, dtype=np.float32)
    check_function(lambda x, v, p: (x.astype(np.float32) * v * p).sum(1), x, v, places)
    check_function(lambda x, v: (x.astype(np.float32) * v * jnp.arange(2051)).sum(1), x, v)
    check_function(lambda x, v: x[:, ::2] @ v[1025::-1], x, v)


@pytest.mark.parametrize("m", [17, 18, 22, 31, 50])
def test_unused_lanes_of_row_remainders_do_not_make_nan(m):
    """Infinity times a zero in an unused lane would be NaN."""
    x = np.full((35, m), np.inf, np.float32)
    x[1::2] = -1
    check_function(lambda x, v: x @ v, x, np.ones(m, np.float32))


def test_a_short_sum_of_whole_rows_has_lanes_along_the_rows():
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(9, 100)).astype(np.float32), rng.normal(size=(20, 5)).astype("f4")
    places = rng.integers(9, size=(20, 5))

    def mix(x, weights):
        return (x[places] * weights[..., None]).sum(1)

    check_function(mix, x, weights)
    text = tanx.jit(mix).lower(x, weights).as_text("schedule")
    assert "in 100 vector(" in text and "rows(" not in text
