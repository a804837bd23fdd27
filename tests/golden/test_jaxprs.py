"""The text of the jaxprs of small programs equals JAX's."""

import importlib

import pytest

import tanx
from tests.golden.programs import programs, recorded, texts

RECORDED = recorded()
PROGRAMS = programs(tanx)


def test_every_program_is_recorded():
    assert list(PROGRAMS) == list(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_jaxprs_match_the_record(name):
    fun, *args = PROGRAMS[name]
    assert str(tanx.make_jaxpr(fun)(*args)) == RECORDED[name]


@pytest.mark.oracle
def test_the_record_matches_jax():
    assert texts(importlib.import_module("jax")) == RECORDED
