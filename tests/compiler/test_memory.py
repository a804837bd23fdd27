"""Results reuse memory that is not needed any more; temporaries in use at once do not overlap."""

from dataclasses import replace

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.abi import ALIGNMENT
from tanx._compiler.cost import nbytes
from tanx._compiler.memory import check_plan, in_place, overwriting, plan
from tanx._compiler.nest_tools import elements, rename
from tanx._compiler.pipeline import build
from tanx._compiler.tuning import MemoryTuning
from tanx._loops.build import copy, nest, op, store
from tanx._loops.check import ProgramError, check
from tanx._loops.interpret import run
from tanx._loops.nest import Buffer, Program, Within
from tanx._loops.show import show, show_plan
from tests.compiler.agreement import (
    assert_close,
    check_function,
    evaluated,
    results,
    uncertainty,
)
from tests.compiler.counting import assert_linear
from tests.compiler.programs import make, settings

X = np.random.default_rng(0).normal(size=(64, 128)).astype(np.float32)


def built(fun, *args, donated=()):
    return build(tanx.make_jaxpr(fun)(*args), donated)


def statements(program) -> str:
    return "\n".join(line for line in show(program).splitlines()
                     if not line.startswith(("program", "temp")))


# -- in place --------------------------------------------------------------------------------------


def test_softmax_needs_no_row_of_its_own():
    def softmax(x):
        e = jnp.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)
    module = built(softmax, X)
    assert all(b.shape == (64,) for b in module.program.temps)
    assert "y0[i, j] = y0[i, j] / " in show(module.program)


def test_updates_write_only_their_part():
    def fun(x, i, u):
        y = x * 2
        for k in range(5):
            y = y.at[i + k].set(u)
        return y
    module = built(fun, X, np.int32(3), X[0])
    assert not [b for b in module.program.temps if b.shape == X.shape]
    assert sum(1 for s in module.program.statements if len(s.indices) == 2) == 1


def test_an_argument_is_copied_before_it_is_updated():
    module = built(lambda x, i: x.at[i].set(0.0), X, np.int32(3))
    assert "y0[i, j] = x0[i, j]" in show(module.program)


@pytest.mark.parametrize(("body", "allowed"), [
    (lambda t, y, x: [elements(t.shape, lambda at: [store(y, at, t[at] * x[at])])], True),
    (lambda t, y, x: [elements(t.shape, lambda at: [store(y, at, t[at] + t[7 - at[0]])])], False),
    (lambda t, y, x: [elements(t.shape, lambda at: [store(y, at, t[[7 - at[0]]])])], False),
    (lambda t, y, x: [elements(t.shape, lambda at: [store(y, at, t[at])]),
                      elements(t.shape, lambda at: [store(y, at, y[at] + t[at])])], False),
    (lambda t, y, x: [nest((8,), lambda k: [store(y, k, t[k])], sequential=True)], True),
    (lambda t, y, x: [nest((8, 2), lambda k: [store(y, k[:1], t[k[:1]] + 1)], sequential=True)],
     False),
    (lambda t, y, x: [nest((8,), lambda k: [store(y, [7 - k[0]], t[[7 - k[0]]])])], True),
    (lambda t, y, x: [copy(y, x), nest((8,), lambda k: [
        store(y, k, t[k], guard=x[k] > 0)])], False),
], ids=range(8))
def test_when_an_array_may_be_overwritten(body, allowed):
    x, y = Buffer("x", (8,), "float32"), Buffer("y", (8,), "float32", "output")
    t = Buffer("t", (8,), "float32", "temp")
    start = elements(x.shape, lambda at: [store(t, at, op("exp", x[at]))])
    program = Program((x,), (y,), (t,), (start, *body(t, y, x)))
    check(program)
    after = in_place(program, overwriting(program))
    check(after)
    assert (t not in after.temps) == allowed
    data = np.linspace(-1, 1, 8, dtype=np.float32)
    np.testing.assert_array_equal(run(program, data)[0], run(after, data)[0])


def test_rows_may_be_overwritten_when_their_row_is_done():
    x, y = Buffer("x", (4, 8), "float32"), Buffer("y", (4, 8), "float32", "output")
    t, s = Buffer("t", (4, 8), "float32", "temp"), Buffer("s", (4,), "float32", "temp")
    start = elements(x.shape, lambda at: [store(t, at, op("exp", x[at]))])

    def rows(other):
        from tanx._loops.build import reduce
        return nest((4,), lambda i: [
            store(s, i, reduce("add", 8, lambda k: t[[other(i[0]), k[0]]])),
            nest((8,), lambda j: [store(y, (*i, *j), s[i] + x[(*i, *j)])])])

    for other, allowed in ((lambda i: i, True), (lambda i: 3 - i, False)):
        program = Program((x,), (y,), (t, s), (start, rows(other)))
        after = in_place(program, overwriting(program))
        assert (t not in after.temps) == allowed
        data = np.arange(32, dtype=np.float32).reshape(4, 8) / 32
        np.testing.assert_allclose(run(program, data)[0], run(after, data)[0])


# -- the arena -------------------------------------------------------------------------------------


def chain(sizes):
    """A program whose temporaries each live from their statement to the next one."""
    x = Buffer("x", (), "float32")
    y = Buffer("y", (), "float32", "output")
    temps = [Buffer(f"t{n}", (size,), "float32", "temp") for n, size in enumerate(sizes)]
    steps = [elements(temps[0].shape, lambda at: [store(temps[0], at, x[()])])]
    for a, b in zip(temps, temps[1:]):
        steps.append(elements(b.shape, lambda at, a=a, b=b: [store(b, at, a[[0]] + 1)]))
    steps.append(elements((), lambda at: [store(y, at, temps[-1][[0]])]))
    return Program((x,), (y,), tuple(temps), tuple(steps))


def test_memory_is_used_again():
    memory = plan(chain([1000] * 20))
    check_plan(memory)
    assert memory.size == memory.peak == 2 * 4032
    assert set(memory.offsets.values()) == {0, 4032}


def test_the_arena_is_close_to_peak_memory():
    sizes = np.random.default_rng(0).integers(1, 5000, 300)
    memory = plan(chain(sizes))
    check_plan(memory)
    assert memory.peak <= memory.size <= 1.5 * memory.peak
    assert memory.peak < sum(map(nbytes, memory.offsets)) / 50


def test_arrays_without_elements_have_a_place():
    memory = plan(chain([3, 0, 3]))
    check_plan(memory)


@pytest.mark.parametrize(("change", "rule"), [
    (lambda p: replace(p, offsets=dict.fromkeys(p.offsets, 0)), "must lie apart"),
    (lambda p: replace(p, offsets={b: o + 1 for b, o in p.offsets.items()}), "aligned place"),
    (lambda p: replace(p, offsets={}), "aligned place"),
    (lambda p: replace(p, size=ALIGNMENT), "must lie in the arena"),
    (lambda p: replace(p, shared=dict.fromkeys(p.offsets, "x")), "one output only"),
])
def test_the_checker_finds_wrong_plans(change, rule):
    memory = plan(chain([100, 200, 300]))
    with pytest.raises(ProgramError, match=rule):
        check_plan(change(memory))


def test_the_plan_prints():
    text = show_plan(plan(chain([4, 4])))
    assert text.splitlines()[-3:] == ["arena: 128 bytes", "  t0 at 0", "  t1 at 64"]


# -- temporaries in outputs ------------------------------------------------------------------------


def training_step(w, v, x):
    """Three layers forward and back; new weights and velocities come in the end."""
    def loss(w):
        h = x
        for n in range(3):
            h = jnp.tanh(h @ w[n])
        return (h * h).sum()
    v = 0.9 * v + tanx.grad(loss)(w)
    return w - 0.1 * v, v


STEP = [np.random.default_rng(n).standard_normal(shape).astype(np.float32) / 16
        for n, shape in enumerate([(3, 256, 256), (3, 256, 256), (64, 256)])]


@pytest.mark.parametrize("donated", [(), (0,), (0, 1)])
def test_temporaries_are_guests_of_outputs(donated):
    """With all inputs donated, an output is free from when its input has been read."""
    flags = [n in donated for n in range(3)]
    module = build(tanx.make_jaxpr(training_step)(*STEP), flags if donated else ())
    check_plan(module.plan)
    guests = [place for place in module.plan.offsets.values() if isinstance(place, Within)]
    assert bool(guests) == (donated != (0, 1))
    step = tanx.jit(training_step, donate_argnums=donated)
    for got, want in zip(step(*map(jnp.array, STEP)), training_step(*map(jnp.array, STEP))):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_temporaries_use_the_memory_of_outputs():
    closed = tanx.make_jaxpr(training_step)(*STEP)
    program = build(closed).program
    alone, hosted = plan(program), plan(program, guests=True)
    kept = sum(nbytes(b) for b, place in hosted.offsets.items() if isinstance(place, Within))
    assert 0 < alone.size - hosted.size <= kept
    assert "in y" in show_plan(hosted)


def test_the_checker_finds_guests_that_stay_too_long():
    memory = build(tanx.make_jaxpr(training_step)(*STEP)).plan
    guest, place = next(found for found in memory.offsets.items() if isinstance(found[1], Within))
    last = elements((), lambda at: [store(guest, (0,) * guest.ndim, 0.0)])
    too_late = replace(memory.program, statements=(*memory.program.statements, last))
    outside = Within(place.output, nbytes(place.output))
    for wrong in (replace(memory, program=too_late),
                  replace(memory, offsets={**memory.offsets, guest: outside})):
        with pytest.raises(ProgramError, match="while it is not written"):
            check_plan(wrong)


def kept_until_the_end(count):
    """A program of large temporaries that are read, last one first, to make an output each."""
    x = Buffer("x", (), "float32")
    temps, outs = ([Buffer(f"{role[0]}{n}", (1 << 15,), "float32", role) for n in range(count)]
                   for role in ("temp", "output"))
    first = [elements(t.shape, lambda at, t=t: [store(t, at, x[()])]) for t in temps]
    last = [elements(t.shape, lambda at, t=t, y=y: [store(y, at, t[[0]] + 1)])
            for t, y in zip(temps, outs)]
    return Program((x,), tuple(outs), tuple(temps), (*first, *last[::-1]))


def test_temporaries_use_the_memory_of_later_outputs():
    memory = plan(kept_until_the_end(20), guests=True)
    check_plan(memory)
    assert memory.size == 1 << 17  # of the one whose output is the last
    programs = {n: kept_until_the_end(n) for n in (100, 200)}
    assert_linear(lambda n: lambda: plan(programs[n], guests=True), 100)


def test_the_work_grows_with_the_program():
    programs = {n: chain([100] * n) for n in (100, 200)}
    assert_linear(lambda n: lambda: (in_place(programs[n], overwriting(programs[n])),
                                     plan(programs[n])), 100)


# -- donation --------------------------------------------------------------------------------------


def run_donated(module, args):
    """Run a module with outputs in the memory of donated arguments, as one buffer each."""
    program, shared = module.program, module.plan.shared
    slots = {out: Buffer(f"slot{n}", out.shape, out.dtype, "temp")
             for n, out in enumerate(shared)}
    names = slots | {given: slots[out] for out, given in shared.items()}
    body = [rename(s, names) for s in program.statements]
    before = [copy(slots[out], given) for out, given in shared.items()]
    after = [copy(out, slots[out]) for out in shared]
    whole = replace(program, temps=(*program.temps, *slots.values()),
                    statements=(*before, *body, *after))
    check(whole)
    data = [np.asarray(x, b.dtype) for x, b in zip([*module.constants, *args], whole.inputs)]
    held = dict(zip(whole.inputs, data)) | dict(zip(whole.outputs, run(whole, *data)))
    return results(module, held)


def assert_donation_agrees(fun, *args, donated):
    closed = tanx.make_jaxpr(fun)(*args)
    module = build(closed, donated)
    check_plan(module.plan)
    for got, want in zip(run_donated(module, args), evaluated(closed, args), strict=True):
        assert_close(got, want, uncertainty(closed, args))
    return module


def test_a_donated_buffer_is_updated_in_place():
    module = assert_donation_agrees(lambda x, i, u: x.at[i].set(u), X, np.int32(3), X[0],
                                    donated=[True, False, False])
    assert [(a.name, b.name) for a, b in module.plan.shared.items()] == [("y0", "x0")]
    assert "x0" not in show(module.program).split("\n", 1)[1]


def test_a_part_of_a_donated_buffer_is_overwritten():
    fun = lambda x, i, u: lax.dynamic_update_slice(x, u, (i, i))
    module = assert_donation_agrees(fun, X, np.int32(3), X[:2, :2], donated=[True, False, False])
    assert module.plan.shared and len(module.program.statements) == 1


def test_parameters_are_updated_where_they_are():
    def step(w, m, x):
        g = x.T @ (x @ w)
        m = 0.9 * m + g
        return w - 0.1 * m, m
    w = X[:16, :8]
    module = assert_donation_agrees(step, w, w, X[:, :16], donated=[True, True, False])
    assert len(module.plan.shared) == 2


def test_weights_are_stored_when_the_old_ones_have_been_read():
    def step(w, x):
        y = jnp.tanh(x @ w)
        g = x.T @ y
        return w - 0.1 * g, y @ w.T
    module = assert_donation_agrees(step, X[:16, :16], X[:, :16], donated=[True, False])
    assert [(a.name, b.name) for a, b in module.plan.shared.items()] == [("y0", "x0")]
    assert "x0" not in show(module.program).rpartition("y0[i, j] = ")[2].partition("\n")[2]


@pytest.mark.parametrize("fun", [
    lambda x: x[::-1] * 2, lambda x: x + x.sum(), lambda x: (x * 2, x[::-1] + 1),
    lambda x: x @ x, lambda x: jnp.sort(x, 0), lambda x: jnp.cumsum(x, 1), lambda x: x,
    lambda x: (x + 1, x), lambda x: jnp.exp(x - x.max(1, keepdims=True)), lambda x: x.T + x,
    lambda x: (x + 1).at[0].set(x[1]), lambda x: x.at[0].set(x[1]).at[1].add(x[0]),
])
def test_donation_never_changes_results(fun):
    assert_donation_agrees(fun, X[:8, :8], donated=[True])


@pytest.mark.parametrize("seed", [n for n in range(81) if n != 78])  # which takes 9 seconds
def test_donation_of_everything_in_random_programs(seed):
    source = make(seed)
    args = [a.data for a in source.arguments]
    with tanx.enable_x64(True), np.errstate(all="ignore"):
        assert_donation_agrees(source.function(), *args, donated=[True] * len(args))


@pytest.mark.parametrize("guests", [False, True])
def test_the_checker_finds_guests_in_outputs_that_are_updated(guests):
    """No statement mentions the output before its update, but it holds the donated input."""
    x, a = Buffer("x", (64,), "float32"), Buffer("a", (), "float32")
    y, z = Buffer("y", (64,), "float32", "output"), Buffer("z", (), "float32", "output")
    t = Buffer("t", (64,), "float32", "temp")
    program = Program((x, a), (y, z), (t,), (
        elements(t.shape, lambda at: [store(t, at, a[()])]),
        elements((), lambda at: [store(z, at, t[[0]])]),
        copy(y, x),
        elements((), lambda at: [store(y, [0], a[()])])))
    memory = plan(program, {y: x}, guests, MemoryTuning(guest=64))
    check_plan(memory)
    assert memory.offsets == {t: 0} and memory.updated == {y}
    assert show_plan(memory).splitlines()[-1] == "y updates x"
    wrong = replace(memory, offsets={t: Within(y, 0)})
    check_plan(replace(wrong, updated=frozenset()))  # lifetimes alone do not show the conflict
    with pytest.raises(ProgramError, match="while it is not written"):
        check_plan(wrong)


def test_updated_outputs_do_not_host_temporaries():
    """The copy of a donated array that is updated in part disappears, but not its elements."""
    def fun(i, x, y, j):
        z = jnp.square(y)
        new = x.at[i].set(i.ravel()[0].astype(x.dtype))
        return jnp.expand_dims(new, 0), z + j, y + z

    x = np.random.default_rng(0).random((65, 130)) < 0.5
    three = np.array(3, np.uint8)
    with tanx.enable_x64(True), settings({"fuse.store": -1000.0, "fuse.small": 0, "fuse.rows": 1,
                                          "memory.guest": 64}):
        check_function(fun, three, x, np.array(0.75 - 0.5j), three)
