"""Schedules: kinds of loops print, wrong ones are refused, the interpreter follows them."""

from dataclasses import replace

import numpy as np
import pytest

from tanx._loops import interpret
from tanx._loops.check import ProgramError
from tanx._loops.check_schedule import check_schedule
from tanx._loops.expr import Fold, Index, Pick, State, const
from tanx._loops.loop_kinds import JOINED, PARALLEL, SEQUENTIAL, Crossing, Unrolled, Vector
from tanx._loops.nest import Buffer, Nest, Prefetch, Program, Store
from tanx._loops.scheduled import Rows, ScanLine, TransposedTile
from tanx._loops.show import show
from tanx._loops.steps import loops_in, steps_of

X = Buffer("x", (6, 10), np.float32)
OUT = Buffer("out", (6, 10), np.float32, "output")
SUMS = Buffer("sums", (6,), np.float32, "output")
I6, J, K = Index("i", 6), Index("j", 10), Index("k", 10)
DATA = np.arange(60, dtype=np.float32).reshape(6, 10)
PLAIN = (Store(OUT, (I6, J), X[[I6, J]] + 1.0),)
IN_PLACE = (*PLAIN, Store(OUT, (I6, J), OUT[[I6, J]] * 2.0))


def scheduled(kinds, body=PLAIN, indices=(I6, J), form=Nest, outputs=(OUT,), **fields):
    return Program((X,), outputs, (), (form(indices, kinds, body, **fields),))


def row_sum(*kinds, combine="add", stretch=0):
    start, state = const(0, "float32"), State("s", np.float32)
    return Pick(Fold((K,), (start,), (state,), (X[[I6, K]],), combine, kinds, stretch), 0)


def transposed(lanes=4, **fields):
    x = Buffer("x", (10, 6), np.float32)
    nest = TransposedTile((I6, J), (PARALLEL, Vector(lanes)), (Store(OUT, (I6, J), x[[J, I6]]),),
                          **fields)
    return Program((x,), (OUT,), (), (nest,))


RIGHT = {
    "for i in 6 parallel, j in 10 vector(4):": scheduled((PARALLEL, Vector(4))),
    "for i in 6 parallel, j in 10 vector(4, 2):": scheduled((PARALLEL, Vector(4, (2,))), IN_PLACE),
    "for i in 6 parallel, j in 10 vector(8, 1):": scheduled((PARALLEL, Vector(8, (1,))), IN_PLACE),
    "for (i, j) in 6 x 10 vector(16):": scheduled((JOINED, Vector(16))),
    "for i in 6 unrolled(4), j in 10 vector(8):": scheduled((Unrolled(4), Vector(8))),
    "for i in 6 vector(4), j in 10 sequential transposed(4):": scheduled(
        (Vector(4, (2,)), Crossing(4)), IN_PLACE),
    "for i in 6 parallel; rows(4 in vectors(8, 2), 2 in vectors(8, 1)):": scheduled(
        (PARALLEL,), (Store(SUMS, (I6,), row_sum()),), (I6,), Rows, (SUMS,),
        blocks=((4, (8, 2)), (2, (8, 1)))),
}


@pytest.mark.parametrize("head", RIGHT)
def test_schedules_print_and_run(head):
    program = RIGHT[head]
    assert head.split("(4), j")[0].split(":")[0] in show(program)
    check_schedule(program)
    (result,) = interpret.run(program, DATA)
    plain = replace(program, statements=tuple(
        Nest(s.indices, (PARALLEL,) * len(s.indices), s.body) for s in program.statements))
    np.testing.assert_array_equal(result, interpret.run(plain, DATA)[0])


def test_folds_print_their_kinds():
    body = (Store(SUMS, (I6,), row_sum(Vector(4, (1,)))),)
    assert "add(k in 10 vector(4, 1): x[i, k])" in show(
        scheduled((PARALLEL,), body, (I6,), outputs=(SUMS,)))
    body = (Store(SUMS, (I6,), row_sum(stretch=4)),)
    program = scheduled((PARALLEL,), body, (I6,), outputs=(SUMS,))
    assert "add(k in 10 in partial sums of 4: x[i, k])" in show(program)
    check_schedule(program)
    np.testing.assert_allclose(interpret.run(program, DATA)[0], DATA.sum(1), rtol=1e-6)


@pytest.mark.parametrize("fields", [
    dict(deep=4, long=8), dict(deep=4, long=4, along=True), dict(deep=4, long=8, wide=8)])
def test_transposed_tiles_run_in_blocks_that_overlap(fields):
    program = transposed(**fields)
    check_schedule(program)
    (result,) = interpret.run(program, np.ascontiguousarray(DATA.T))
    np.testing.assert_array_equal(result, DATA)
    assert f"; transposed(4 x 4) in blocks(4 x {fields['long']})" in show(program)


@pytest.mark.parametrize("kind, wanted", [
    (Vector(4), [[0, 1, 2, 3], [4, 5, 6, 7], [6, 7, 8, 9]]),
    (Vector(4, (2,)), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]),
    (Vector(4, (1,)), [[0, 1, 2, 3], [4, 5, 6, 7], [8], [9]]),
    (Unrolled(8), [[0, 1, 2, 3, 4, 5, 6, 7], [8], [9]])])
def test_steps_of_a_loop(kind, wanted):
    (nest,) = scheduled((SEQUENTIAL, kind)).statements
    _, steps = steps_of(nest, loops_in(nest)[1:])
    assert [step.places[0].tolist() for step in steps] == wanted


WRONG = {
    "overlapping steps in lanes must not read elements that they store.": scheduled(
        (PARALLEL, Vector(4)), IN_PLACE),
    "the number of lanes must be a power of two, at most that of iterations.": scheduled(
        (PARALLEL, Vector(16))),
    "the remainder of a loop in lanes must run in fewer lanes, or one by one.": scheduled(
        (PARALLEL, Vector(8, (4,)))),
    "only one loop of a nest may run in lanes.": scheduled((Vector(2), Vector(2))),
    "a joined loop must have another loop inside.": scheduled((PARALLEL, JOINED)),
    "joined loops must access memory like one loop.": scheduled(
        (JOINED, PARALLEL), (Store(OUT, (I6, J), X[[I6, 0]]),)),
    "only stores may run in lanes.": scheduled(
        (Vector(2),), (Nest((J,), (PARALLEL,), PLAIN),), (I6,)),
    "a guard must be the same in all lanes.": scheduled(
        (PARALLEL, Vector(2)), (*PLAIN, Store(OUT, (I6, J), X[[I6, J]], guard=J < 4))),
    "unrolled iterations must not read elements that they store.": scheduled(
        (Unrolled(4), PARALLEL), IN_PLACE),
    "a transposed loop must be inside a loop with as many lanes.": scheduled(
        (Vector(4), Crossing(2))),
    "blocks must consist of whole tiles, at most all of them.": transposed(deep=3, long=8),
    "every row must be in a block.": scheduled(
        (PARALLEL,), (Store(SUMS, (I6,), row_sum()),), (I6,), Rows, (SUMS,), blocks=((4, (8,)),)),
    "a scan must run along a sequential loop.": scheduled((PARALLEL, PARALLEL), form=ScanLine),
    "either every index of a fold must have a kind, or none.": scheduled(
        (PARALLEL,), (Store(SUMS, (I6,), row_sum(SEQUENTIAL, SEQUENTIAL)),), (I6,),
        outputs=(SUMS,)),
    "a loop may keep only one element of a buffer in a register.": scheduled(
        (PARALLEL, SEQUENTIAL), IN_PLACE, kept=(OUT,)),
    "only sequential loops may be polled.": scheduled((PARALLEL, SEQUENTIAL), polled=(I6,)),
    "a prefetched element must be used some steps later.": scheduled((PARALLEL, PARALLEL), (
        Store(OUT, (I6, J), X[[I6, J]], prefetched=(Prefetch(X[[I6, 0]], I6, 2),)),)),
    "only sums may have partial sums.": scheduled(
        (PARALLEL,), (Store(SUMS, (I6,), row_sum(combine="max", stretch=4)),), (I6,),
        outputs=(SUMS,)),
    "only the bits of eight bytes may be packed.": scheduled(
        (PARALLEL,), (Store(SUMS, (I6,), row_sum(Unrolled(10, packed=True))),), (I6,),
        outputs=(SUMS,)),
    "a reduction must not have more lanes than elements.": scheduled(
        (PARALLEL,), (Store(SUMS, (I6,), row_sum(Vector(16))),), (I6,), outputs=(SUMS,)),
}


def test_kept_and_prefetched_elements_print_and_keep_results():
    """A loop keeps one element in a register, and prefetches elements of later steps."""
    body = (Store(SUMS, (I6,), SUMS[[I6]] + X[[I6, J]],
                  prefetched=(Prefetch(X[[I6, J]], I6, 2),)),)
    kinds = (PARALLEL, SEQUENTIAL)
    start = Nest((I6,), (PARALLEL,), (Store(SUMS, (I6,), const(0, "float32")),))
    program = scheduled(kinds, body, outputs=(SUMS,), kept=(SUMS,), polled=(J,))
    program = replace(program, statements=(start, *program.statements))
    check_schedule(program)
    assert "sequential; sums in registers; polled along j:" in show(program)
    assert "; prefetch x 2 steps of i ahead" in show(program)
    np.testing.assert_allclose(interpret.run(program, DATA)[0], DATA.sum(1), rtol=1e-6)


@pytest.mark.parametrize("rule", WRONG)
def test_wrong_schedules_are_refused(rule):
    with pytest.raises(ProgramError) as error:
        check_schedule(WRONG[rule])
    assert rule in str(error.value)


def test_the_interpreter_runs_overlapping_steps_twice():
    """The interpreter follows the schedule: a statement that must run once runs twice."""
    y = Buffer("y", (10,), np.float32, "output")
    j = Index("j", 10)
    twice = Program((), (y,), (), (
        Nest((j,), (PARALLEL,), (Store(y, (j,), const(1, "float32")),)),
        Nest((j,), (Vector(4),), (Store(y, (j,), y[[j]] * 2.0),))))
    (result,) = interpret.run(twice)
    assert result.tolist() == [2, 2, 2, 2, 2, 2, 4, 4, 2, 2]
