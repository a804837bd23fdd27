"""Named tuples that are quick to make.

``typing.NamedTuple`` compiles the text of each annotation, to see whether it may be a type. That is
two thirds of the 0.3 ms that a class takes (Python 3.11, Neoverse N1), and an import of
``tanx.numpy`` makes 63 of them. Here the annotations stay text.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    class _Maker(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]):
            if not bases:
                return super().__new__(cls, name, bases, body)
            annotations = body.pop("__annotations__", {})
            optional = [field for field in annotations if field in body]
            if optional != [*annotations][len(annotations) - len(optional):]:
                raise TypeError(f"{name}: fields with defaults come last.")
            made = namedtuple(name, annotations, module=body.pop("__module__"),
                              defaults=[body.pop(field) for field in optional])
            made.__annotations__ = made.__new__.__annotations__ = annotations
            for key, value in body.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """As ``typing.NamedTuple``, for classes.

        >>> class Point(NamedTuple):
        ...     '''A place in the plane.'''
        ...     x: float
        ...     y: float = 0.0
        >>> Point(1.0), Point(1.0)._replace(y=2.0) == (1.0, 2.0)
        (Point(x=1.0, y=0.0), True)
        """
