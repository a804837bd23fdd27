"""Named tuples without compiled annotations behave as those of the standard library."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import typing

import pytest

from tanx._base.tuples import NamedTuple


class Ours(NamedTuple):
    """A point in the plane."""

    x: int
    names: tuple[str, ...] = ()
    kind: str | None = "place"

    @property
    def first(self) -> str:
        return self.names[0]

    def moved(self, by: int) -> Ours:
        return self._replace(x=self.x + by)


class Theirs(typing.NamedTuple):
    """A point in the plane."""

    x: int
    names: tuple[str, ...] = ()
    kind: str | None = "place"


def test_fields_and_methods():
    place = Ours(1, ("a", "b"))
    assert place == (1, ("a", "b"), "place") and place.first == "a" and place.moved(2).x == 3
    assert repr(place) == repr(Theirs(1, ("a", "b"))).replace("Theirs", "Ours")
    for name in ("_fields", "_field_defaults", "__doc__", "__match_args__", "__bases__"):
        assert getattr(Ours, name) == getattr(Theirs, name), name
    assert Ours.__module__ == __name__ and Ours.__qualname__ == "Ours"
    assert [*inspect.signature(Ours).parameters] == [*inspect.signature(Theirs).parameters]
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    assert pickle.loads(pickle.dumps(place)) == place
    with pytest.raises(AttributeError):
        place.x = 2
    with pytest.raises(TypeError, match="missing"):
        Ours()


def test_defaults_come_last():
    with pytest.raises(TypeError, match="come last"):
        class Wrong(NamedTuple):
            x: int = 1
            y: int


def test_imports_compile_no_annotations():
    """In a separate process, because it tests an import."""
    code = """
import numpy, typing
made = []
compile_ = typing.ForwardRef.__init__
typing.ForwardRef.__init__ = lambda self, text, *a, **k: (
    made.append(text), compile_(self, text, *a, **k))[1]
import tanx.numpy
assert not made, made
"""
    subprocess.run([sys.executable, "-c", code], check=True)
