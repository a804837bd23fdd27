"""Typical programs of users have the same results on tanx and on JAX."""

import importlib
import inspect

import pytest

from tests.oracle.compare import difference
from tests.oracle.system import Outcome

pytest.importorskip("jax")
pytestmark = pytest.mark.oracle

ROOMS = [importlib.import_module(f"tests.oracle.programs.{name}")
         for name in ("arrays", "calculus", "learning", "loops", "state", "structures")]
PROGRAMS = {name: function for room in ROOMS
            for name, function in inspect.getmembers(room, inspect.isfunction)
            if function.__module__ == room.__name__ and not name.startswith("_")}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree(oracle, name):
    program = PROGRAMS[name]
    theirs, ours = (system.outcome(lambda s=system: program(s.jax, s.jnp))
                    for system in (oracle.jax, oracle.tanx))
    assert isinstance(theirs, Outcome), theirs
    found = difference(theirs, ours)
    assert found is None, found
