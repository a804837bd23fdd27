"""References that hold their content: :class:`Ref` for eager code, and cells of transformations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import explain
from .array import Array
from .buffer import is_alone, may_overwrite
from .refs import AbstractRef, Reference
from .trace import Trace, Tracer, context, leaked
from .types import typeof

__all__ = ["Cell", "Ref"]


class _RefType(type):
    """``isinstance(x, Ref)`` holds for all references, traced ones too."""

    def __instancecheck__(cls, instance) -> bool:
        return isinstance(instance, Reference)


class Ref(Reference, metaclass=_RefType):
    """A reference to an array that can be read and written. Made by :func:`tanx.new_ref`.

    Its array may share memory with others; then a write copies it first.
    """

    __module__ = "tanx"
    __slots__ = ("aval", "_content", "__weakref__")
    _content: Any  # an Array, whose methods come from tanx.numpy

    def __init__(self, content: Array, aval: AbstractRef | None = None):
        self._content = content
        self.aval = AbstractRef(content.aval.strip_weak_type()) if aval is None else aval

    def load(self) -> Array:
        """The content, as a separate array on the same memory."""
        content = self._content
        return content._shared(self.aval.inner_aval, content._device)

    def store(self, value) -> None:
        if isinstance(value, Tracer):
            raise too_high(self, value)
        self._content = value._shared(self.aval.inner_aval, value._device)

    def exclusive(self) -> np.ndarray:
        """The data of the content, which has no other owner."""
        content: Any = self._content
        content.block_until_ready()
        if not (is_alone(content) and may_overwrite(content._value)):
            self._content = content = content.copy()
        return content._value

    @property
    def sharding(self):
        return self._content.sharding

    @property
    def committed(self) -> bool:
        return self._content.committed

    @property
    def format(self):
        return self._content.format

    def unsafe_buffer_pointer(self) -> int:
        """The address of the data."""
        return self._content.unsafe_buffer_pointer()

    def __repr__(self) -> str:
        return "Ref" + repr(self.load()).removeprefix("Array")


class Cell(Reference, Tracer):
    """A reference created while a trace runs; it holds a value of that trace, or of one below.

    ``outer`` is the reference of the surrounding function whose content it represents, if any.
    Writes to a cell also go to its ``echo``. For both, and for what is late, see
    :mod:`tanx._control.late`.
    """

    __slots__ = ("aval", "content", "echo", "ended", "late", "outer", "written")

    def __init__(self, trace: Trace, content, aval: AbstractRef | None = None, late=None,
                 outer: Reference | None = None):
        self._trace = trace
        self.content, self.late, self.outer = content, late, outer
        self.echo: Reference | None = None
        self.aval = AbstractRef(typeof(content).strip_weak_type()) if aval is None else aval
        self.ended = self.written = False

    def load(self):
        if self.ended:
            raise ValueError(explain("tanx.ref", "the reference was frozen or freed before.",
                                     f"reference: {self.aval}"))
        return self.content

    def store(self, value) -> None:
        if not holds(self._trace, value):
            raise too_high(self, value)
        self.content, self.written = value, True
        if self.echo is not None:
            self.echo.store(value)

    def __repr__(self) -> str:
        return f"Ref({self.content})"


def holds(trace: Trace, value) -> bool:
    """Whether a value belongs to a trace or to one below, so that its cells may hold the value."""
    return not isinstance(value, Tracer) or trace.owns(value) or trace.stands_on(value)


def check_writable(ref: Reference) -> None:
    """Raise an error if a mapped function writes to a reference that is not mapped.

    All lanes would write to one place, and random number generators give all the same numbers.
    """
    trace: Trace | None = context.trace
    while trace is not None and not (isinstance(ref, Tracer) and trace.owns(ref)):
        if trace.maps:
            raise ValueError(explain(
                "tanx.ref", "a function that is mapped by vmap writes to a reference from outside "
                "of it that is not mapped.", f"reference: {ref.aval}",
                hint="pass a reference with an axis for the lanes, or make it in the function."))
        trace = trace.below


def too_high(ref: Reference, value: Tracer) -> Exception:
    """The error for writing a value to a reference from outside of the function it belongs to."""
    below = value._trace.below
    if below is None:
        return leaked(value)
    what = {"BatchTracer": "mapped by vmap", "JVPTracer": "being differentiated",
            "LinearizeTracer": "being differentiated"}.get(type(value).__name__, "traced")
    return ValueError(explain(
        "tanx.ref", f"a value that is {what} is written to a reference from outside of the "
        "function, which cannot hold it.", f"reference: {ref.aval}", f"value:     {value}",
        hint="pass the reference to the transformed function, or make it there."))
