"""Every public function agrees with JAX's: value, dtype, weak type, shape, error, jaxpr."""

from itertools import groupby

import pytest

from tests.oracle.coverage import SKIPPED, mentioned, public_functions
from tests.oracle.differences import DIFFERENCES, matches, reason
from tests.oracle.sweep import calls

pytest.importorskip("jax")
pytestmark = pytest.mark.oracle

CALLS = calls()
GROUPS = {name: list(group) for name, group in
          groupby(sorted(CALLS, key=lambda call: call.group), lambda call: call.group)}


@pytest.mark.parametrize("name", GROUPS)
def test_calls_agree(oracle, name):
    verdicts = {call: oracle.judge(call) for call in GROUPS[name] if reason(call) is None}
    found = [f"{call.mode}: {call.text}\n    {verdict}" for call, verdict in verdicts.items()
             if verdict.differs]
    assert not found, f"{len(found)} of {len(verdicts)} calls differ:\n" + "\n".join(found)


@pytest.mark.parametrize("row", DIFFERENCES, ids=lambda row: row.reason[:50])
def test_listed_differences_are_there(oracle, row):
    about = [call for call in CALLS if matches(row, call)]
    assert any(oracle.judge(call).differs for call in about), "no call needs this row any more"


def test_every_function_is_called(oracle):
    names = set(public_functions(oracle.tanx.jax))
    uncalled = names - mentioned(names)
    assert uncalled - set(SKIPPED) == set()
    assert set(SKIPPED) <= uncalled, "called after all"
