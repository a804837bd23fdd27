"""Records: data classes with one compiled function each."""

import dataclasses
import inspect

import pytest

from tanx._base.records import record


@record
class Point:
    """A point in the plane."""

    x: int
    y: int = 2
    names: list = dataclasses.field(default_factory=list)


@record(slots=True)
class Named(Point):
    """A point with a name, a keyword-only field."""

    name: str = dataclasses.field(kw_only=True)

    def __post_init__(self):
        assert isinstance(self.name, str)


@record(eq=False)
class Alone:
    """Equal to itself only."""

    x: int


@record(frozen=False)
class Counter:
    """A record that changes."""

    count: int = 0


@record
class Empty:
    """Without fields."""


def test_fields_and_defaults():
    assert (Point(1).x, Point(1).y, Point(1).names) == (1, 2, [])
    assert Point(1).names is not Point(1).names
    assert Point(y=5, x=4, names=[1]).names == [1]
    assert repr(Point(1)) == "Point(x=1, y=2, names=[])"
    assert Named(1, 3, name="a").name == "a" and repr(Empty()) == "Empty()"
    with pytest.raises(TypeError, match="missing 1 required"):
        Point()
    with pytest.raises(TypeError):
        Named(1, 2, [], "a")
    with pytest.raises(AssertionError):
        Named(1, name=3)


def test_a_record_may_be_mutable():
    counter = Counter()
    counter.count += 1
    assert counter == Counter(1) != Counter() and counter is not Counter(1)
    assert dataclasses.replace(counter, count=5).count == 5
    with pytest.raises(TypeError, match="unhashable"):
        hash(counter)


def test_equality_and_hash():
    @record
    class Pair:
        """Two hashable values."""

        a: int
        b: str = ""
    assert Pair(1) == Pair(1, "") != Pair(2) and hash(Pair(1)) == hash(Pair(1))
    assert Pair(1) != (1, "") and Point(1) != Named(1, name="a")
    one = Alone(1)
    assert one == one and one != Alone(1) and len({one, one, Alone(1)}) == 2
    match Pair(3, "c"):
        case Pair(a, b):
            assert (a, b) == (3, "c")


def test_records_are_frozen_and_replaceable():
    point = Named(1, name="a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
        point.x = 3
    with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
        del point.x
    other = dataclasses.replace(point, x=3)
    assert (other.x, other.name, point.x) == (3, "a", 1)
    assert [f.name for f in dataclasses.fields(other)] == ["x", "y", "names", "name"]


def test_signatures_before_the_first_object():
    @record
    class Place:
        x: float
        y: float = 0.5
        name: str = dataclasses.field(default="a", kw_only=True)

    class Renamed(Place):
        def __init__(self, name):
            super().__init__(1.0, name=name)

    assert list(inspect.signature(Renamed).parameters) == ["name"]
    assert str(inspect.signature(Place)) == "(x, y=0.5, *, name='a')"
    assert Place(2.0) == Place(2.0, 0.5) and Renamed("b").name == "b"
    assert not hasattr(Place, "__signature__") and not hasattr(Place(1.0), "__signature__")
