"""Loops whose equations show that they do not fit in registers."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.bodies import is_control
from tanx._compiler.moving_reads import reads_move

X = np.linspace(0.1, 1.0, 64, dtype=np.float32)


def scan(body):
    return lambda *xs: lax.scan(lambda c, _: (body(*c), None), xs, None, length=5)[0]


LOOPS = {
    "elements": (scan(lambda x: (jnp.sin(x) * 2,)), (X,), False),
    "a sum along a carry": (scan(lambda x: (x / jnp.sin(x).sum(),)), (X,), True),
    "a short sum": (scan(lambda x: (x / x.sum(),)), (X[:8],), False),
    "a sum of what is the same in each step": (scan(lambda x: (x * jnp.sum(X),)), (X,), False),
    "a slice where the loop says": (
        scan(lambda x, i: (x * lax.dynamic_slice(x, (i,), (1,)), i + 1)), (X, np.int32(0)), True),
    "a slice of something else": (
        scan(lambda x, i: (x * lax.dynamic_slice(jnp.asarray(X), (i,), (1,)), i + 1)),
        (X, np.int32(0)), False),
    "in a branch": (scan(lambda x, i: (lax.cond(i > 2, lambda: x / x.sum(), lambda: x), i + 1)),
                    (X, np.int32(0)), True),
    "in a condition": (lambda x: lax.while_loop(
        lambda c: c.max() < 9, lambda c: c / c.sum() + c, x), (X,), True),
}


def loop_of(function, args):
    eqns = tanx.make_jaxpr(function)(*args).jaxpr.eqns
    return next(eqn for eqn in eqns if is_control(eqn))


@pytest.mark.parametrize("name", LOOPS)
def test_reads_that_move_with_the_step(name):
    function, args, moves = LOOPS[name]
    eqn = loop_of(function, args)
    flow = eqn.primitive.flow(eqn.params)
    assert reads_move(flow, [True] * len(eqn.outvars), 16, 0) is moves
    assert not reads_move(flow, [True] * len(eqn.outvars), 16, 1000)  # too short to be examined


def test_equations_of_unused_results_are_skipped():
    eqn = loop_of(scan(lambda x, y: (x * 2, y / y.sum())), (X, X))
    flow = eqn.primitive.flow(eqn.params)
    assert reads_move(flow, [True, True], 16, 0)
    assert not reads_move(flow, [True, False], 16, 0)
