"""Mistakes raise JAX's exceptions with tanx's messages, at the user's line."""

import os
import re
import traceback

import pytest

from tests.oracle.mistakes import MISTAKES, OTHER_CLASS, PYTHONS_WORDS

pytest.importorskip("jax")
pytestmark = pytest.mark.oracle

# A name or an expression, then the rule as a sentence; then facts and a hint, indented.
FORM = re.compile(r"[^\s:][^\n]*: [^\n]+\.(\n  [^\n]+)*")


def error_of(system, name):
    try:
        MISTAKES[name](system.jax, system.jnp)
    except Exception as error:
        return error
    pytest.fail(f"{system.name} raises nothing")


@pytest.mark.parametrize("name", MISTAKES)
def test_class_and_words(oracle, name):
    theirs, ours = error_of(oracle.jax, name), error_of(oracle.tanx, name)
    if name not in OTHER_CLASS:
        assert type(theirs).__name__ in [c.__name__ for c in type(ours).__mro__]
    if name not in PYTHONS_WORDS:
        assert FORM.fullmatch(str(ours)), str(ours)
    package = os.path.dirname(oracle.tanx.jax.__file__) + os.sep
    frames = [frame for frame in traceback.extract_tb(ours.__traceback__)
              if frame.filename.startswith(package)]
    assert not frames, f"frames of tanx: {frames}"
