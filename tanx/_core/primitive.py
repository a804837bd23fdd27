"""Primitives: the operations that everything else consists of.

A primitive is one instance of one class whose methods are its rules:

``infer(*types, **params)``
    The type of the result (a list of types when ``multiple_results``); checks its operands.
``eval(*arrays, **params)``
    The result on NumPy arrays: eager execution, constant folding, and the oracle of every test.
``jvp(primals, tangents, **params)``
    The result and its tangent. Tangents may be symbolic :class:`~tanx._core.linear.Zero`.
``transpose(ct, *args, **params)``
    Of a linear primitive: cotangents of the operands, ``None`` for known operands.
    Operands to be differentiated arrive as :class:`~tanx._core.linear.Linear`.
``batch(args, dims, **params)``
    The result on operands with an extra axis at ``dims`` (``None``: no such axis), and the place
    of that axis in the result.
``lower(at, *operands, **params)``
    The element of the result at an index, as an expression of :mod:`tanx._loops`; for
    ``Kind.STATEMENT`` it is ``lower(into, *operands, **params)`` and returns statements. With
    ``names_line`` there is one more parameter, ``line``: the user's line of the use.

A rule that cannot exist states the reason: ``transpose = never("tanh is not linear")``. Five more
are optional:

``transpose_into(refs, ct, *args, **params)``
    As ``transpose``, where the cotangents of some operands are to be added to references: ``refs``
    has these, ``None`` for the other operands. It adds to the parts of the references that the use
    depends on, and returns ``None`` for their operands; or it returns only ``None``, if the
    cotangents of ``transpose`` are as good.
``fill(into, *operands, **params)``
    Statements that store the result, or None if the elements of ``lower`` are better.
``taylor(primals, series, **params)``
    The result and its Taylor series, from the values and the series of the operands: a recurrence,
    if the one that ``jvp`` implies would repeat work, or None if that one is better.
    :mod:`tanx._ops.series` has their forms.
``divided(*types, **params)``
    Which axes of a mesh divide each dimension of the result, from those of the operands.
``is_view(**params)``
    Whether each result holds the elements of its operand, in the same row-major order.

Higher-order primitives may add ``partial_eval``, ``stage`` and ``batch_axis``, and describe by
``called`` or ``flow`` what they run. All these are explained where they are declared.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .effects import no_effects
from .trace import EvalTrace, context, running

if TYPE_CHECKING:
    from .flow import Flow

__all__ = ["Kind", "Name", "Primitive", "parameter", "parameter_constants", "parameter_types",
           "primitives"]

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
# Classes whose instances may be parameters, and constants that may, by name: only these occur in
# texts and files of programs.
parameter_types: dict[str, type] = {}
parameter_constants: dict[str, Any] = {}


def parameter(kind: type) -> Any:
    """Let instances of a class, a data class or an enumeration, be parameters of primitives."""
    if parameter_types.setdefault(kind.__name__, kind) is not kind:
        raise ValueError(f"there are two parameter types called {kind.__name__}.")
    return kind


class Name(str):
    """A name only for readers; see ``written`` of :class:`Primitive`."""

    __slots__ = ()


class Primitive:
    """Base of all primitives. Subclasses set ``name``, ``kind`` and the rules."""

    name: str
    kind: Kind
    multiple_results = False
    unit = False  # whether eager code compiles it as a whole
    names_line = False  # whether errors of compiled code name the user's line of a use
    is_users = False  # its transpose is a user's rule, whose cotangents may have other dtypes
    # Its transpose reads references, or writes contents back that the transposes before it changed.
    moves_contents = False
    # If the result is the first operand with some elements replaced: the operand that replaces
    # them.
    update_operand: int | None = None

    # The six rules; see above.
    infer: Any
    eval: Any
    jvp: Any
    transpose: Any
    batch: Any
    lower: Any

    # Optional rules for derivatives; see above.
    taylor: Any = None
    transpose_into: Any = None

    # Optional rule for repeated eager calls.
    # prepared(*types, **params): a function of arrays of these types that computes the same as
    # ``eval``, without checks of types and parameters; None if ``eval`` is as fast.
    prepared: Any = None

    # Optional rules for compiled code; see above.
    fill: Any = None
    is_view: Any = None

    # Optional rule for shardings over Explicit axes; see :mod:`tanx._core.explicit`.
    # divided(*types, **params): the entries of the partition spec of the result, or a list of
    # them. Elementwise primitives need none.
    divided: Any = None
    # The parameter that states the sharding of the result, if there is one.
    sharding_parameter: str | None = None

    # Optional rules for texts and files; see :mod:`tanx._core.serial`.
    # written(params): the name and the parameters of a use in texts, if it has parameters that
    # only transformations need. A name for people is a ``Name``.
    written: Any = None
    # restored(params): the parameters again, from those in a text.
    restored: Any = None

    # Optional rules of higher-order primitives.
    # partial_eval(trace, args, params): separate work that is known now from work that ``trace``
    # records.
    partial_eval: Any = None
    # stage(trace, args, params): become an equation, if parameters must be traced first.
    stage: Any = None
    # batch_axis(axis, args, dims, **params): as ``batch``, with the axis' name and size.
    batch_axis: Any = None
    # expand(*args, **params): the results of a primitive that takes or returns values of high
    # types, by operations on their parts; see :mod:`tanx._transforms.low`.
    expand: Any = None
    # on_parts(args, params): apply a primitive that runs functions to the parts of high values.
    on_parts: Any = None
    # keeps_refs(types, params): if a user's rule keeps references for the backward pass, the
    # positions of those that it writes to before; None if it keeps none.
    keeps_refs: Any = None
    # custom_call(primitive, trace, args, params): pass a use to the method of that name of a
    # library's trace.
    custom_call: Any = None

    def __init__(self, name: str | None = None):
        if name is not None:
            self.name = name
        primitives.setdefault(self.name, self)

    def bind(self, *args, **params):
        """Apply the primitive in the running trace."""
        return context.trace.process(self, args, params)

    def called(self, params: dict[str, Any]) -> Any:
        """The closed jaxpr that a use runs on its operands, once; None if it does more."""
        return None

    def body(self, types: Sequence[Any], params: dict[str, Any]) -> Any:
        """The closed jaxpr of a use on operands of some types, for compiled code.

        It is ``called``; primitives of users, whose lowering is staged for each use, differ.
        """
        return self.called(params)

    def flow(self, params: dict[str, Any]) -> Flow | None:
        """The loop or the branches of a use; None if it is neither."""
        return None

    def with_flow(self, params: dict[str, Any], flow: Flow) -> dict[str, Any]:
        """The parameters of a use with other bodies; only for primitives that have a ``flow``."""
        raise NotImplementedError(f"{self} does not define how its bodies are replaced.")

    def writes_tapes(self, params: dict[str, Any]) -> bool:
        """Whether ``partial_eval`` writes tapes whose length depends on values, if these are known.

        Such a use is compiled separately from the equations around it.
        """
        return False

    def named_axes(self, params: dict[str, Any]) -> tuple:
        """Names of mapped axes that a use of this primitive involves."""
        return ()

    def depends_on(self, axis, params: dict[str, Any]) -> bool:
        """Whether a use depends on a mapped axis although none of its operands is mapped."""
        return axis.name is not None and axis.name in self.named_axes(params)

    def varying(self, axes: Sequence[frozenset], params: dict[str, Any]) -> frozenset | None:
        """The axes of a mesh along which results vary, from those along which operands vary.

        None if the functions that the primitive runs decide.
        """
        return frozenset().union(*axes) if self.batch_axis is None else None

    def effects(self, *types, **params) -> frozenset:
        """Effects of an equation of this primitive."""
        return no_effects

    def show_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters as printed in jaxprs."""
        return params

    name_first = False  # whether jaxprs print the parameter ``name``, a user's function, first
    shares_names = False  # whether a printed body uses the operands' names for its arguments
    # show_equation(eqn, binders, show): the text of an equation in jaxprs, if it is special.
    # ``binders`` is the document of the results, ``show`` returns the text of an atom.
    show_equation: Any = None

    # Attributes that programs for JAX use.
    call_primitive = map_primitive = False
    is_effectful = ref_primitive = ref_allocating = skip_canonicalization = False

    def impl(self, *args, **params):
        """Apply the primitive to values immediately, whatever is being traced."""
        return EvalTrace.process(self, args, params)

    def abstract_eval(self, *types, **params) -> tuple[Any, frozenset]:
        """The type of the result, or a list of types, and the effects of a use."""
        return self.infer(*types, **params), self.effects(*types, **params)

    def spelled(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters in JAX's spelling, if that differs; ``bind`` accepts them as well."""
        return params

    def bind_with_trace(self, trace, args, *avals_and_params):
        """Apply the primitive in a trace; parameters are the last argument."""
        with running(trace):
            return self.bind(*args, **avals_and_params[-1])

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters to pass to ``bind`` in order to apply an equation again."""
        return dict(params)

    def is_high(self, *types, **params) -> bool:
        """Whether a use involves high types; never, unless overridden."""
        return False

    def __repr__(self) -> str:
        return self.name
