"""The checker accepts correct programs, and its errors explain what is wrong."""

import numpy as np
import pytest

from tanx._loops.build import (
    const,
    convert,
    copy,
    element_program,
    extern,
    load_guarded,
    nest,
    op,
    select,
    store,
    temp,
)
from tanx._loops.check import ProgramError, check
from tanx._loops.expr import Fold, Index, Load, Op, Pick, State
from tanx._loops.instructions import BOOL, INDEX
from tanx._loops.nest import Buffer, Nest, Program, Store
from tests.loops.programs import CASES

PROVED = {"scatter set", "find in nothing"}
"""Cases with an unguarded index from data."""


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_right_programs_pass_and_are_proved_in_range(case):
    assert (check(case.program) == ()) is (case.name not in PROVED)


X = Buffer("x", (8, 4), np.float32)
OUT = Buffer("out", (8,), np.float32, "output")
T = temp("t", (8,), np.float32)
I8, J = Index("i", 8), Index("j", 4)
ZERO = const(0.0, "float32")
S = State("s", np.float32)


def loop(*body, indices=(I8,), kinds=None):
    return Nest(tuple(indices), kinds or ("parallel",) * len(indices), tuple(body))


def program(*statements, outputs=(OUT,), temps=()):
    return Program((X,), outputs, temps, statements)


def storing(value, **options):
    return program(loop(Store(OUT, (I8,), value, **options)))


def reduction(combine="add", body=None, init=ZERO, indices=(J,), states=(S,)):
    return Pick(Fold(indices, (init,), states, (X[[I8, J]] if body is None else body,), combine), 0)


WRONG = {
    "two buffers of one name": (
        program(loop(Store(OUT, (I8,), ZERO)), temps=(temp("x", (2,), np.int8),)), """\
buffers must have distinct names.
  twice: x: f32[8,4]"""),
    "a role in the wrong list": (
        program(loop(Store(OUT, (I8,), ZERO)), temps=(Buffer("y", (), np.int8),)), """\
temps must have that role.
  buffer: y: i8[]
  role:   input"""),
    "an output that is not written": (program(), """\
every output must be written.
  output: out: f32[8]"""),
    "an input that is written": (program(copy(X, X), loop(Store(OUT, (I8,), ZERO))), """\
an input must not be written.
  statement: x[i, j] = x[i, j]
  buffer: x: f32[8,4]"""),
    "a stranger": (storing(T[[I8]]), """\
a buffer must belong to the program.
  statement: out[i] = t[i]
  buffer: t: f32[8]"""),
    "a temporary that was not written": (
        program(loop(Store(OUT, (I8,), T[[I8]])), temps=(T,)), """\
a buffer must be written before it is read.
  statement: out[i] = t[i]
  buffer: t: f32[8]"""),
    "a sum into nothing": (storing(ZERO, combine="add"), """\
a buffer must be written before it is read.
  statement: out[i] add= 0.0:f32
  buffer: out: f32[8]"""),
    "an extern of nothing": (program(extern("sort", [OUT], [T]), temps=(T,)), """\
a buffer must be written before it is read.
  statement: out = extern sort(t)
  buffer: t: f32[8]"""),
    "a kind that is none": (program(loop(Store(OUT, (I8,), ZERO), kinds=("diagonal",))), """\
each index of a nest has a kind of loop.
  kinds: ('diagonal',)"""),
    "tasks inside of a loop": (
        program(loop(loop(Store(OUT, (I8,), ZERO), kinds=("tasks",)), indices=(J,))), """\
loops over tasks must be outermost.
  loop: for i in 8 tasks:"""),
    "tasks behind a loop": (
        program(loop(Store(OUT, (I8,), ZERO), indices=(J, I8), kinds=("parallel", "tasks"))), """\
loops over tasks must be outermost.
  loop: for j in 4 parallel, i in 8 tasks:"""),
    "tasks that store one element": (
        program(loop(Store(OUT, (I8,), ZERO), indices=(J, I8), kinds=("tasks", "parallel"))), """\
iterations of a parallel loop must not store the same element.
  statement: out[i] = 0.0:f32
  not in its index: j in 4"""),
    "an index bound twice": (program(loop(loop(Store(OUT, (I8,), ZERO)))), """\
an index must not be bound twice.
  loop: for i in 8 parallel:"""),
    "a negative extent": (
        program(loop(Store(OUT, (I8,), ZERO), indices=(I8, Index("k", -1)))), """\
an extent must not be negative.
  loop: for i in 8, k in -1 parallel:"""),
    "a variable without a loop": (storing(X[[I8, J]]), """\
a variable is used outside of its loop.
  statement: out[i] = x[i, j]
  variable: j"""),
    "a state without a fold": (storing(S), """\
a variable is used outside of its loop.
  statement: out[i] = s
  variable: s"""),
    "a store of another dtype": (storing(const(0, "int32")), """\
a store must have the dtype of its buffer.
  statement: out[i] = 0:i32
  buffer: out: f32[8]
  value:  i32"""),
    "a guard that is a number": (storing(ZERO, guard=I8), """\
a guard must be bool.
  statement: out[i] = 0.0:f32 if i
  guard: i64"""),
    "a race": (program(loop(Store(OUT, (I8,), ZERO), indices=(I8, J))), """\
iterations of a parallel loop must not store the same element.
  statement: out[i] = 0.0:f32
  not in its index: j in 4"""),
    "a store that subtracts": (storing(ZERO, combine="sub"), """\
a store combines by a reducer.
  statement: out[i] sub= 0.0:f32
  reducers: add, mul, max, min, and, or, xor"""),
    "a reducer of the wrong type": (
        program(loop(Store(OUT, (I8,), ZERO), Store(OUT, (I8,), ZERO, "and"))), """\
and: f32 is not accepted (kinds: biu).
  statement: out[i] and= 0.0:f32"""),
    "an index too few": (storing(Load(X, (I8,))), """\
an access has one index for each dimension.
  statement: out[i] = x[i]
  buffer:  x: f32[8,4]
  indices: 1"""),
    "an index of int32": (program(loop(Store(OUT, (convert(I8, np.int32),), ZERO))), """\
an index must be int64.
  statement: out[i32(i)] = 0.0:f32
  index: i32(i) of i32"""),
    "an instruction that is none": (storing(Op("frob", (ZERO,), ZERO.dtype)), """\
there is no instruction 'frob'.
  statement: out[i] = frob(0.0:f32)"""),
    "an instruction on two dtypes": (storing(Op("add", (ZERO, I8), ZERO.dtype)), """\
add: operands must have one dtype, got f32, i64.
  statement: out[i] = 0.0:f32 + i"""),
    "an instruction of another dtype": (
        storing(select(Op("lt", (ZERO, ZERO), BOOL), ZERO, Op("neg", (I8,), ZERO.dtype))), """\
an instruction must have the dtype that follows from its operands.
  statement: out[i] = select(0.0:f32 < 0.0:f32, 0.0:f32, -i)
  instruction: -i of f32"""),
    "a fold that binds an index again": (storing(reduction(indices=(I8,), body=X[[I8, 0]])), """\
a variable must not be bound twice.
  statement: out[i] = add(i in 8: x[i, 0])"""),
    "a reduction that looks at its state": (storing(reduction(body=op("sin", S))), """\
a reduction must have one state, which its body does not use.
  statement: out[i] = add(j in 4: sin(s))"""),
    "a reduction that is none": (storing(reduction("frob")), """\
there is no such reduction.
  statement: out[i] = frob(j in 4, s = 0.0:f32: x[i, j])
  combine: frob"""),
    "a fold that changes its dtype": (
        storing(reduction(None, body=J)), """\
start and step of a fold must have the dtypes of its states.
  statement: out[i] = fold(j in 4, s = 0.0:f32: j)
  states: (f32)
  start:  (f32)
  step:   (i64)"""),
    "a load out of range": (storing(X[[I8, I8 + 4]]), """\
an access must be in range.
  access: x[i, i + 4]
  index 1: from 4 to 11
  buffer: x: f32[8,4]"""),
    "a store out of range": (program(loop(Store(OUT, (I8 + 8,), ZERO))), """\
an access must be in range.
  access: out[i + 8] = 0.0:f32
  index 0: from 8 to 15
  buffer: out: f32[8]"""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_programs_are_refused(name):
    wrong, message = WRONG[name]
    with pytest.raises(ProgramError) as error:
        check(wrong)
    assert str(error.value) == "tanx._loops.check: " + message


# -- ranges ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value, proved", [
    (X[[I8, 0]], True),
    (X[[I8, I8]], False),
    (X[[I8, I8 // 2]], True),
    (X[[I8, I8 % 4]], True),
    (X[[7 - I8, 3]], True),
    (select(I8 < 4, X[[I8, I8]], ZERO), True),
    (select(I8 < 4, ZERO, X[[I8, I8 - 4]]), True),
    (select(I8 < 4, ZERO, X[[I8, I8]]), False),
    (select((I8 >= 2) & (I8 - 2 < 4), X[[I8, I8 - 2]], ZERO), True),
    (select(~((I8 < 2) | (I8 >= 6)), X[[I8, I8 - 2]], ZERO), True),
    (select(I8 < 6, select(I8 > 1, X[[I8, I8 - 2]], ZERO), ZERO), True),
    (load_guarded(X, [I8, I8 * 2 - 3], 0.0), True),
    (select(I8 < 4, X[[I8, I8]], X[[I8, I8]] + 1.0), False),
    (X[[I8, op("clamp", 0, I8, 3)]], True),
    (X[[I8, op("min", I8, 3)]], True),
    (X[[I8, convert(op("convert", X[[I8, 0]], dtype="uint8"), INDEX) // 64]], True),
], ids=str)
def test_bounds_proved_by_intervals(value, proved):
    assert (check(storing(value)) == ()) is proved


def test_the_guard_of_a_store_is_a_fact():
    guarded = Store(OUT, (I8 + 2,), X[[I8 + 2, 0]], None, I8 < 6)
    filled = program(copy(OUT, T), loop(guarded), temps=(T,))
    with pytest.raises(ProgramError, match="written before it is read"):
        check(filled)
    assert check(program(nest(8, lambda k: [store(OUT, k, 0.0)]), loop(guarded))) == ()


def test_loops_that_never_run_cannot_be_out_of_range():
    empty = Index("n", 0)
    load = X[[9, empty]]
    assert check(program(loop(Store(OUT, (I8,), ZERO)),
                         loop(Store(OUT, (empty,), load), indices=(empty,)))) == ()


def test_loops_that_never_run_store_nothing_twice():
    empty, nothing = Index("n", 0), Buffer("nothing", (0,), np.float32, "output")
    assert check(program(loop(Store(nothing, (const(0),), ZERO), indices=(I8, empty)),
                         outputs=(nothing,))) == ()


def test_an_access_behind_a_condition_is_left_to_the_interpreter():
    flag = op("gt", X[[I8, 0]], ZERO)
    (unproved,) = check(storing(select(flag, X[[I8, 9]], ZERO)))
    assert unproved is X[[I8, 9]]


def test_many_selects_over_one_value_are_checked_in_no_time():
    value = X[[I8, 0]]
    for n in range(60):
        value = select(I8 < n % 8, value + 1.0, value * 2.0)
    assert check(storing(value)) == ()


def test_element_programs_of_any_rank_pass():
    for shape in ((), (0,), (1, 1, 1), (2, 0, 3)):
        x = np.zeros(shape, np.complex64)
        assert check(element_program(lambda at, x: -x[at], [x], x)) == ()
