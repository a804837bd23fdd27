"""What tests of control flow share: each runs eagerly and compiled, and errors are read whole."""

import pytest

import tanx


def eagerly(fun):
    return fun


each_way = pytest.mark.parametrize("run", [eagerly, tanx.jit], ids=["eager", "jit"])


def error(kind, call, *args, **kwargs) -> str:
    """The text of the error that a call raises, without the quotes that a KeyError puts around."""
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    return caught.value.args[0] if isinstance(caught.value, KeyError) else str(caught.value)
