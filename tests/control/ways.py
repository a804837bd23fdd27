"""Tools for tests of control flow: run eagerly and compiled, read the whole text of errors."""

import pytest

import tanx


def eagerly(fun):
    return fun


each_way = pytest.mark.parametrize("run", [eagerly, tanx.jit], ids=["eager", "jit"])


def error(kind, call, *args, **kwargs) -> str:
    """The text of the error that a call raises, without the quotes of a KeyError."""
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    return caught.value.args[0] if isinstance(caught.value, KeyError) else str(caught.value)
