"""The StableHLO text of rows of the table of cases is well formed; oracle tests run it."""

import pytest

from tanx._core.primitive import primitives
from tanx._export.stablehlo.rules import EXPANSIONS, RULES
from tanx._export.stablehlo.rules import REFUSED as REASONS
from tests.cases import CASES
from tests.export.mlir import check
from tests.export.rows import REFUSED, text_of

ROWS = [case for case in CASES if case.primitive not in REFUSED]
FIRST = list({case.primitive: case for case in reversed(ROWS)}.values())[::-1]


@pytest.mark.parametrize("case", FIRST, ids=lambda case: case.id)
def test_one_case_of_each_primitive(case):
    assert check(text_of(case))


@pytest.mark.slow
@pytest.mark.parametrize("case", ROWS, ids=lambda case: case.id)
def test_every_row(case):
    assert check(text_of(case))


@pytest.mark.parametrize("case", [case for case in CASES if case.primitive in REFUSED],
                         ids=lambda case: case.id)
def test_rows_without_a_form(case):
    with pytest.raises(NotImplementedError, match="cannot be written as StableHLO"):
        text_of(case)


def test_rules_are_of_primitives():
    assert {*RULES, *EXPANSIONS, *REASONS} <= set(primitives)
    assert not set(RULES) & set(EXPANSIONS)
    assert set(REASONS) == set(REFUSED)
