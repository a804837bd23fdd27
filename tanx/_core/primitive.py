"""Primitives: the operations everything else is made of.

A primitive is one instance of one class whose methods are its rules:

``infer(*types, **params)``
    The type of the result (a list of types when ``multiple_results``); checks its operands.
``eval(*arrays, **params)``
    The result on NumPy arrays: eager execution, constant folding, and the oracle of every test.
``jvp(primals, tangents, **params)``
    The result and its tangent. Tangents may be symbolic :class:`~tanx._core.linear.Zero`.
``transpose(ct, *args, **params)``
    For what is linear: cotangents of the operands, ``None`` for those that are known.
    Operands to be differentiated arrive as :class:`~tanx._core.linear.Linear`.
``batch(args, dims, **params)``
    The result on operands with an extra axis at ``dims`` (``None``: no such axis), and where
    that axis ended up.
``lower(at, *operands, **params)``
    The element of the result at an index, as an expression of :mod:`tanx._loops`; for
    ``Kind.STATEMENT`` it is ``lower(into, *operands, **params)`` and gives statements.

A rule that cannot exist says so: ``transpose = never("tanh is not linear")``. Three more are
there for those who have something to say:

``fill(into, *operands, **params)``
    Statements that store the result, or None where the elements of ``lower`` serve better.
``taylor(primals, series, **params)``
    The result and its Taylor series, from the values and the series of the operands: a recurrence
    where the one that ``jvp`` implies would repeat work, or None where that one serves better.
    :mod:`tanx._ops.series` has their forms.
``is_view(**params)``
    Whether each result holds the elements of its operand, in the same row-major order.

Higher-order primitives may add ``partial_eval``, ``stage`` and ``batch_axis``, and tell by
``called`` or ``flow`` what they run. All these are explained where they are declared.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from .effects import no_effects
from .trace import context

if TYPE_CHECKING:
    from .flow import Flow

__all__ = ["Kind", "Primitive", "primitives"]

RULES = ("infer", "eval", "jvp", "transpose", "batch", "lower")


class Kind(enum.Enum):
    """How the fuser may treat a primitive."""

    ELEMENTWISE = "element from the elements at the same index"
    LAYOUT = "element from one element at another index"
    GATHER = "element from one element at an index read from data"
    REDUCTION = "element from a loop over operand elements"
    CONTRACTION = "sum of products"
    STATEMENT = "builds loops and stores itself"
    CALL = "runs functions: control flow, custom rules, callbacks"


# Every primitive of the package, by name; the structure tests go through it.
primitives: dict[str, Primitive] = {}


class Primitive:
    """Base of all primitives. Subclasses set ``name``, ``kind`` and the rules."""

    name: str
    kind: Kind
    multiple_results = False
    unit = False  # whether eager code compiles it as a whole
    is_users = False  # whether its transpose is a user's, whose cotangents may have other dtypes
    # Where the result is the first operand but for some elements: which operand has the new ones.
    update_operand: int | None = None

    # The six rules; see above.
    infer: Any
    eval: Any
    jvp: Any
    transpose: Any
    batch: Any
    lower: Any

    # Optional rule for Taylor mode; see above.
    taylor: Any = None

    # Optional rules for compiled code; see above.
    fill: Any = None
    is_view: Any = None

    # Optional rules of higher-order primitives.
    # partial_eval(trace, args, params): split work known now from what ``trace`` must record.
    partial_eval: Any = None
    # stage(trace, args, params): how to become an equation, where parameters need tracing first.
    stage: Any = None
    # batch_axis(axis, args, dims, **params): as ``batch``, told the axis' name and size.
    batch_axis: Any = None

    def __init__(self, name: str | None = None):
        if name is not None:
            self.name = name
        primitives.setdefault(self.name, self)

    def bind(self, *args, **params):
        """Apply the primitive, in whichever trace is running."""
        return context.trace.process(self, args, params)

    def called(self, params: dict[str, Any]) -> Any:
        """The closed jaxpr that a use runs on its operands, once; None where it does more."""
        return None

    def flow(self, params: dict[str, Any]) -> Flow | None:
        """The loop or the branches that a use stands for; None where it is neither."""
        return None

    def with_flow(self, params: dict[str, Any], flow: Flow) -> dict[str, Any]:
        """The parameters of a use with other bodies; those of uses that have a ``flow`` only."""
        raise NotImplementedError(f"{self} does not say how its bodies are replaced.")

    def writes_tapes(self, params: dict[str, Any]) -> bool:
        """Whether ``partial_eval`` writes tapes whose length depends on values, if these are known.

        Such a use stands by itself: it is not compiled together with what is around it.
        """
        return False

    def named_axes(self, params: dict[str, Any]) -> tuple:
        """Names of mapped axes that a use of this primitive involves."""
        return ()

    def depends_on(self, axis, params: dict[str, Any]) -> bool:
        """Whether a mapped axis matters to a use of this primitive, none of its operands mapped."""
        return axis.name is not None and axis.name in self.named_axes(params)

    def effects(self, *types, **params) -> frozenset:
        """Effects of an equation of this primitive."""
        return no_effects

    def show_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters as printed in jaxprs."""
        return params

    def __repr__(self) -> str:
        return self.name
