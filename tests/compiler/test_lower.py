"""Jaxprs become programs: one nest per equation, for every primitive."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax, tree_util
from tanx._compiler.fuse import fuse
from tanx._compiler.lower import lower
from tanx._compiler.machine import host
from tanx._compiler.pipeline import jaxpr_passes
from tanx._compiler.simplify import inline
from tanx._core.jaxpr import ClosedJaxpr
from tanx._core.stage import stage
from tanx._core.types import typeof
from tanx._loops.check import check
from tanx._loops.interpret import run
from tests.cases import CASES
from tests.compiler.agreement import assert_close, check_jaxpr_agrees, evaluated, uncertainty
from tests.compiler.counting import assert_linear
from tests.golden.programs import programs

X = np.arange(6, dtype=np.float32).reshape(2, 3)
GOLDEN = programs(tanx)


def lowered(fun, *args):
    closed = tanx.make_jaxpr(fun)(*args)
    for _, jaxpr_pass in jaxpr_passes:
        closed = jaxpr_pass(closed, host())
    return lower(closed)


def test_one_nest_an_equation():
    def fun(x, y):
        return jnp.sum(jnp.exp(x) * y, axis=1), x.T
    assert str(lowered(fun, X, X[:1])) == """\
program(x0: f32[2,3], x1: f32[1,3]) -> (y0: f32[2], y1: f32[3,2])
temp t0: f32[2,3]
temp t1: f32[2,3]
for i in 2, j in 3 parallel:
    t0[i, j] = exp(x0[i, j])
for i in 2, j in 3 parallel:
    t1[i, j] = t0[i, j] * x1[0, j]
for i in 2 parallel:
    y0[i] = add(k in 3: t1[i, k])
for i in 3, j in 2 parallel:
    y1[i, j] = x0[j, i]
return y0, y1"""


def test_arguments_constants_and_views_as_results():
    table = jnp.arange(3.0)

    def fun(x, y):
        z = jnp.sin(y)
        return x, z, table, 2.5, z, x.reshape(3, 2), z.reshape(6)
    form = lowered(fun, X, X)
    assert [b.name for b in form.results] == ["x0", "y0", "c0", "c1", "y0", "x0", "y0"]
    assert [np.asarray(c).tolist() for c in form.constants] == [[0, 1, 2], 2.5]
    assert [b.name for b in form.program.inputs] == ["c0", "c1", "x0", "x1"]
    assert len(fuse(form.program, host()).statements) == 1


def test_barriers_lower_to_no_statements():
    form = lowered(lambda x: lax.optimization_barrier((jnp.sin(x), x, 2.0)), X)
    assert [b.name for b in form.results] == ["y0", "x0", "c0"]
    assert len(form.program.statements) == 1


def test_views_share_the_buffer_of_their_operand():
    closed = tanx.make_jaxpr(lambda x: (lax.squeeze(x[None], (0,)), lax.reshape(x, (6,))))(X)
    form = lower(closed)
    assert [b.name for b in form.results] == ["y0", "x0"]
    moved = tanx.make_jaxpr(lambda x: lax.reshape(x, (6,), dimensions=(1, 0)))(X)
    assert [b.name for b in lower(moved).results] == ["y0"]


def test_updates_of_a_small_part_copy_and_overwrite():
    form = lowered(lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 0)), X, X[:1], 1)
    copy, update = form.program.statements[-2:]
    assert [i.extent for i in copy.indices] == [2, 3]
    assert [i.extent for i in update.indices] == [1, 3]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_many_arrays_are_joined_one_by_one(axis):
    fun = lambda x: (jnp.stack([x * k for k in range(20)], axis),
                     jnp.concatenate([x[k % 2:] for k in range(20)], 0))
    form = lowered(fun, X)
    assert len(form.program.statements) >= 40
    closed = tanx.make_jaxpr(fun)(X)
    check_jaxpr_agrees(closed, [X])


def test_temporaries_of_rules_have_names_of_their_own():
    form = lowered(lambda x: (jnp.cumsum(x, 0), jnp.cumsum(x, 1), jnp.sort(x), jnp.sort(x[::-1])),
                   X)
    names = [b.name for b in form.program.temps]
    assert len(set(names)) == len(names)
    check(form.program)


def test_primitives_without_a_lower_rule_raise():
    closed = tanx.make_jaxpr(lambda x: tanx.jit(jnp.sin)(x))(X)
    with pytest.raises(NotImplementedError, match=r"tanx.lax.jit: has no lower rule"):
        lower(closed)


@pytest.mark.parametrize("case", [case for case in CASES if case.lower], ids=repr)
def test_every_case(case):
    with tanx.enable_x64(True):
        args = case.arguments()
        fun = lambda *xs: tree_util.tree_leaves(case.fun(*xs))
        jaxpr, consts = stage(fun, [typeof(x) for x in args])
        closed = ClosedJaxpr(jaxpr, consts)
        form = lower(inline(closed))
        check(form.program)
        with np.errstate(all="ignore"):
            data = [*map(np.asarray, form.constants), *args]
            held = dict(zip(form.program.inputs, data))
            held |= zip(form.program.outputs, run(form.program, *data))
            wanted, atol = evaluated(closed, args), uncertainty(closed, args)
        for buffer, want in zip(form.results, wanted, strict=True):
            assert_close(held[buffer].reshape(want.shape), want, max(atol, case.rtol))
        check_jaxpr_agrees(closed, args)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_programs(name):
    fun, *args = GOLDEN[name]
    check_jaxpr_agrees(tanx.make_jaxpr(fun)(*args), tree_util.tree_leaves(args))


def test_the_work_grows_with_the_number_of_equations():
    def chain(count):
        def fun(x):
            for _ in range(count // 2):
                x = jnp.sin(x) * 2
            return x
        return tanx.make_jaxpr(fun)(X)
    jaxprs = {n: chain(n) for n in (300, 600)}
    assert_linear(lambda n: lambda: lower(jaxprs[n]), 300)
