"""An instruction has code for exactly the kinds of numbers that its row accepts."""

import pytest

from tanx._compiler.emit.operations import CODE
from tanx._loops.instructions import INSTRUCTIONS


def test_the_tables_have_the_same_rows():
    assert CODE.keys() == INSTRUCTIONS.keys()


@pytest.mark.parametrize("name", [name for name in INSTRUCTIONS if CODE[name].any is None])
def test_instructions_have_code_for_exactly_the_accepted_kinds(name):
    code = CODE[name]
    there = "f" * (code.f is not None) + "c" * (code.c is not None)
    there += "biu" * (code.i is not None or code.n is not None)
    accepts = set(INSTRUCTIONS[name].accepts)
    assert accepts <= set(there)
    # One function serves bools and integers of both signs; some of them may not be accepted.
    assert {"f", "c"} & set(there) <= accepts
    assert accepts & set("biu") or not set("biu") & set(there)
    assert not (code.i and code.n)


@pytest.mark.parametrize("name", [name for name in INSTRUCTIONS if CODE[name].any is not None])
def test_instructions_for_any_kind_have_no_special_code(name):
    code = CODE[name]
    assert code.f is code.c is code.i is code.n is None
