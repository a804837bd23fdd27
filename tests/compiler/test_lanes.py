"""Loops and choices in lanes: each lane ends independently, without needless work."""

from dataclasses import replace

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._compiler import machine
from tanx._compiler.emit.cpu.module import generate
from tanx._compiler.machine import as_host, host
from tanx._compiler.schedule.analysis import Analysis
from tanx._compiler.schedule.lanes import Planner
from tanx._compiler.tuning import USUAL
from tanx._loops import interpret
from tanx._loops.build import (
    clamp_index,
    const,
    convert,
    element_program,
    fold,
    reduce,
    select,
    while_loop,
)
from tests.compiler.compiled import run
from tests.loops.programs import endless, normal


@pytest.fixture(autouse=True, params=[None, 256, 512], ids=lambda bits: f"{bits or 'own'} bits")
def vectors(request, monkeypatch):
    """Also in wider vectors than the processor has, also vectors with mask registers."""
    if request.param:
        wide = replace(host(), vector_bits=request.param)
        monkeypatch.setattr(machine, "host", lambda: wide)


def agree(rule, inputs, out):
    program = element_program(rule, inputs, out)
    for got, want in zip(run(program, *inputs), interpret.run(program, *inputs), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
    return generate(program, host()).text


def test_a_loop_with_several_results_in_arms_of_one_condition_is_written_once():
    x = np.float32(2) ** np.arange(-3, 20, dtype=np.float32)
    assert agree(endless, [x], x).count("step") == agree(endless, [x[0]], x[0]).count("step")


def test_the_counter_of_a_loop_that_is_the_same_for_all_lanes_is_no_vector():
    def rule(at, x, n):
        return while_loop([const(0, np.int32), x[at]], lambda s: s[0] < n[()],
                          lambda s: [s[0] + 1, s[1] * 0.5])[1]

    text = agree(rule, [normal(64), np.int32(5)], normal(64))
    assert "phi i32" in text and "x i32> [" not in text


def test_states_of_a_fold_that_are_the_same_for_all_lanes_are_no_vectors():
    def rule(at, x):
        return fold(100, [const(0, np.int32), x[at]], lambda k, s: [s[0] * 3 + 1, s[1] * 0.5])[1]

    text = agree(rule, [normal(64)], normal(64))
    assert "x i32> [" not in text


def test_lanes_that_have_ended_read_nothing():
    """A chain of links that ends at -1; the link of a lane that has ended is not an index."""
    links = np.array([3, -1, 1, 2, 0, 4, 5, 6, 7, -1, 9, 10, -1], np.int64)

    def rule(at, links):
        return while_loop([links[at], const(0, np.int32)], lambda s: s[0] >= 0,
                          lambda s: [links[[s[0]]], s[1] + 1])[1]

    agree(rule, [links], links.astype(np.int32))


def test_invariant_loads_are_not_hoisted_above_the_first_step():
    def rule(at, x, starts):
        last = x[[starts[at]]]  # out of range where the loop does not run
        return while_loop([starts[at], const(0, x.dtype)],
                          lambda s: (s[0] >= 0) & (s[0] < x.shape[0]),
                          lambda s: [s[0] + 2, s[1] + x[[s[0]]] * last])[1]

    agree(rule, [normal(9), np.array([0, 1 << 40, 3, -(1 << 40), 8, 9, 2, 5, 1], np.int64)],
          normal(9))


def test_a_loop_in_an_arm_runs_for_the_lanes_that_take_it():
    """It ends for no other lane, and has another loop in it."""
    def rule(at, x):
        def inner(n):
            return while_loop([n], lambda s: s[0] > 2.0, lambda s: [s[0] - 2.0])[0]

        def dear():
            return while_loop([x[at], const(0, x.dtype)], lambda s: (s[0] > 1.0) | (s[0] < 0.0),
                              lambda s: [s[0] - 1.0, s[1] + inner(s[0])])[1]
        return select(x[at] >= 0.0, dear(), x[at])

    x = np.arange(-10, 30, dtype=np.float32)
    agree(rule, [x], x)


def test_loops_with_bools_among_their_states():
    def rule(at, x):
        n, found, _ = while_loop(
            [const(0), const(False, bool), const(True, bool)], lambda s: s[2],
            lambda s: [s[0] + 1, s[1] | (x[[clamp_index(s[0], x.shape[0])]] > x[at]),
                       s[0] < x.shape[0] - 1])
        return select(found, const(1.0, x.dtype), const(0.0, x.dtype))

    agree(rule, [normal(21)], normal(21))
    agree(rule, [normal(1)], normal(1))


def test_complex_states():
    def rule(at, x):
        return while_loop([x[at], const(0, np.int32)], lambda s: s[1] < 7,
                          lambda s: [s[0] * s[0] + x[at], s[1] + 1])[0]

    x = (normal(20) / 4 + 0.25j * normal(20)).astype(np.complex64)
    agree(rule, [x], x)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, bool])
@pytest.mark.parametrize("count", [1, 17, 100])
def test_every_eighth_byte(dtype, count):
    x = (normal(8 * count + 3) * 50).astype(np.int8).astype(dtype)
    out = np.empty(count, dtype)
    for first in range(0, 11, 2):  # the last ones reach the end of the array
        agree(lambda at, x, first=first: x[[at[0] * 8 + first % 11]], [x], out)
    agree(lambda at, x: reduce("max", 8, lambda k: x[[at[0] * 8 + k[0] + 1]], dtype(0)), [x], out)


def test_work_of_an_outer_loop_is_hoisted_out_of_inner_loops():
    def rule(at, x):
        value = x[[at[0]]]
        for k in range(40):
            value = value * 3 + (k + 1)
        return value ^ convert(at[1] * 2 + at[2], np.uint32)

    x, out = np.arange(3, dtype=np.uint32), np.zeros((3, 16, 2), np.uint32)
    agree(rule, [x], out)
    (nest,) = element_program(rule, [x], out).statements
    for bits in (128, 256, 512):
        planner = Planner(Analysis({}, USUAL.choices), replace(host(), vector_bits=bits))
        outermost = planner.nest(nest, repeatable=False)[0]
        assert outermost.covers == nest.indices[:1] and outermost.width == 1


@pytest.mark.parametrize("count", [3, 16, 1000, 1003])
def test_parts_of_short_vectors_are_computed_in_lanes(count):
    def squares(p):
        x, y, z = (p / jnp.linalg.norm(p, axis=-1, keepdims=True)).T
        return jnp.stack([x * x - y * z, y * y + x / z, z * z - x * y], -1)

    p = np.random.default_rng(0).normal(size=(count, 3)).astype(np.float32)
    compiled = tanx.jit(squares)
    if count == 1000:
        text = compiled.lower(p).as_text("schedule")
        assert "in 1000 vector(" in text and "once:" not in text
    for _ in range(4):
        np.testing.assert_allclose(compiled(p), squares(jnp.asarray(p)), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reducer", ["max", "min"])
@pytest.mark.parametrize("masks", [True, False])
def test_extremes_order_zeros_and_keep_nan(reducer, dtype, masks):
    """Wherever in a row the 0 among many -0, the -0 among many 0, or the NaN is."""
    size, this = 150, host()
    if not masks and not this.has_masks:
        pytest.skip("this machine has no mask registers")
    greatest = np.where(np.eye(size, dtype=bool), dtype(0), dtype(-0.0))
    rows = [greatest, -greatest, np.where(np.eye(size, dtype=bool), np.nan, dtype(1)),
            np.random.default_rng(0).normal(size=(size, size)).astype(dtype)]
    x = np.concatenate(rows).astype(dtype)
    program = element_program(
        lambda at, x: reduce(reducer, size, lambda k: x[*at, *k]), [x], x[:, 0])
    with as_host(this if masks else this.without_masks()):
        (got,) = run(program, x)
    zeros = got[:2 * size]
    assert (zeros == 0).all() and (np.signbit(zeros) == (reducer == "min")).all()
    assert np.isnan(got[2 * size:3 * size]).all()
    np.testing.assert_array_equal(got[3 * size:], getattr(rows[3], reducer)(1))


@pytest.mark.parametrize("bits, vectors", [(256, 4), (512, 4)])
def test_chains_run_in_several_vectors(bits, vectors):
    """Fifty steps that wait for each other, with nine values each, more than 16 registers hold."""
    def chain(x):
        y = x
        for n in range(50):
            y = y * 0.99 + x * (n % 7)
        return y

    this = replace(host(), triple="x86_64-unknown-linux-gnu", vector_bits=bits)
    with as_host(this):
        text = tanx.jit(chain).lower(np.ones(100_000, np.float32)).as_text("schedule")
    assert f"vector({vectors * bits // 32})" in text
