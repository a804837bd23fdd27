"""Exceptions of tanx, and the format of their messages.

Every message names the public function, states the rule that was broken, lists the facts with
types as ``float32[3,4]``, and offers one way out. :func:`explain` formats it.

The classes are JAX's, so that ``except`` clauses keep working. Most of them come from one mistake:
asking for the data of a value while the function is being traced, when there is none yet.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import os
import re
import sys
import warnings
from types import FrameType
from typing import Any, Self

__all__ = [
    "ConcretizationTypeError",
    "InconclusiveDimensionOperation",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "NonConcreteBooleanIndexError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedDimVar",
    "UnexpectedTracerError",
    "explain",
    "user_frame",
    "warn_user",
]


def explain(function: str, rule: str, *facts: str, hint: str | None = None) -> str:
    """Format an error: ``function: rule``, one fact per line, and a hint.

    >>> print(explain("tanx.lax.rev", "dimensions must be distinct.", "dimensions: (0, 0)",
    ...               hint="tanx.numpy.flip takes negative axes."))
    tanx.lax.rev: dimensions must be distinct.
      dimensions: (0, 0)
      Hint: tanx.numpy.flip takes negative axes.
    """
    lines = [f"{function}: {rule}", *(f"  {fact}" for fact in facts)]
    if hint is not None:
        lines.append(f"  Hint: {hint}")
    return "\n".join(lines)


# --- The user's line ------------------------------------------------------------------------------

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Python code that users call and that calls tanx back; the line before it is the one to show.
_BETWEEN = {"contextlib", "functools", "ml_dtypes", "numpy", "scipy"}


def user_frame() -> FrameType | None:
    """The innermost frame on the stack that is the user's own, or None.

    >>> user_frame().f_code.co_name
    '<module>'
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if not frame.f_code.co_filename.startswith(_PACKAGE) and package not in _BETWEEN:
            break
        frame = frame.f_back
    return frame


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line, wherever in tanx the reason was found.

    The message names the function that this line called, like an error message.
    """
    inner, colon, rest = message.partition(": ")
    if inner.startswith("tanx."):
        message = f"{_called() or inner}{colon}{rest}"
    frame = user_frame()
    if frame is None:
        warnings.warn(message, category, stacklevel=2)
    else:
        scope = frame.f_globals
        warnings.warn_explicit(
            message, category, frame.f_code.co_filename, frame.f_lineno,
            scope.get("__name__", "<string>"), scope.setdefault("__warningregistry__", {}))


def _called() -> str:
    """The name of the public function that the user's line called; empty if there is none."""
    name, user = "", user_frame()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame is not user:
        inside = frame.f_locals if frame.f_globals.get("__name__") == "tanx._base.traceback" else {}
        if inside.get("shown"):
            name = f"{inside['public'].__module__}.{inside['public'].__name__}"
        frame = frame.f_back
    return name


def _user_line() -> tuple[str, str]:
    """The place of the user's line, and its text; both empty if they cannot be found."""
    frame = user_frame()
    if frame is None:
        return "", ""
    file, line, code = frame.f_code.co_filename, frame.f_lineno, frame.f_code
    return f"{file}:{line} ({code.co_name})", linecache.getline(file, line).strip()


def _public_name() -> str:
    """The function of tanx that the user's line called, or nothing if that was an operator."""
    name, user = "", user_frame()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame is not user:
        module = frame.f_globals.get("__name__", "")
        if module != "tanx._base.traceback":  # the wrapper of all public functions
            home, function = module.partition("._")[0], frame.f_code.co_name
            public = not function.startswith("_") and hasattr(sys.modules.get(home), function)
            name = f"{home}.{function}" if public else ""
        frame = frame.f_back
    return name


# --- Base classes ---------------------------------------------------------------------------------


class JAXTypeError(TypeError):
    """A ``TypeError`` of tracing; the base of those below."""

    def __init__(self, message: str):
        super().__init__(message)


class JAXIndexError(IndexError):
    """An ``IndexError`` of tracing; the base of those below."""

    def __init__(self, message: str):
        super().__init__(message)


class _NeedsData(Exception):
    """An error about a traced value whose data was needed.

    Made from the tracer, it says what was attempted, the type of the value, where it came from
    and what to write instead; made from a string, it says that.
    """

    attempt: str
    rule: str
    hint: str

    def __init__(self, tracer: Any, context: str = "", attempt: str = ""):
        super().__init__(tracer if isinstance(tracer, str)
                         else self.text(tracer, context, attempt or self.attempt))

    @classmethod
    def of(cls, function: str, needed: str, tracer: Any, hint: str) -> Self:
        """The error of a public function that needs a value while tracing."""
        return cls(explain(function, f"{needed} must be known while tracing.",
                           *cls.facts(tracer, _user_line()), hint=hint))

    @classmethod
    def text(cls, tracer: Any, context: str, attempt: str) -> str:
        """The message about ``tracer``; ``context`` says in words what needed the data."""
        found = _user_line()
        more = [f"needed: {context}"] if context else []
        facts = cls.facts(tracer, found)
        return explain(_public_name() or attempt, cls.rule, *facts, *more,
                       hint=_with_names(cls.way_out(found[1]), facts[-1]))

    @staticmethod
    def facts(tracer: Any, found: tuple[str, str]) -> list[str]:
        """The facts about a tracer, with the user's line ``found``."""
        where, line = found
        facts = [f"value:  {getattr(tracer, 'aval', tracer)}"]
        if where:
            facts.append(f"at:     {where}" + (f": {line}" if line else ""))
        origin = tracer.describe_origin() if hasattr(tracer, "describe_origin") else ""
        return [*facts, f"origin: {origin}"] if origin else facts

    @classmethod
    def way_out(cls, line: str) -> str:
        """A replacement for the user's ``line``."""
        return cls.hint


_ARGUMENTS = r"depends on arguments? ([\w, ]+) of (\w+), traced for jit"


def _with_names(hint: str, origin: str) -> str:
    """A hint to make arguments static, with the names of those that a value depends on."""
    found = re.search(_ARGUMENTS, origin)
    if found is None:
        return hint
    names = ", ".join(f'"{name}"' for name in found[1].split(", "))
    names = f"({names})" if "," in names else names
    hint = hint.replace("make the argument static", "make the arguments static", "," in names)
    return hint.replace("tanx.jit(f, static_argnames=...)",
                        f"tanx.jit({found[2]}, static_argnames={names})")


# --- Use of data that does not exist yet ----------------------------------------------------------


class ConcretizationTypeError(_NeedsData, JAXTypeError):
    """A Python number, or a static fact such as an axis, was needed from a traced value.

    The mistake, and two ways out: let Python see the argument, or stay with arrays::

        @tanx.jit
        def total(x, axis):
            return x.sum(axis=axis)               # axis is traced: its value is not known

        @partial(tanx.jit, static_argnames="axis")
        def total(x, axis): ...                   # axis is an ordinary int

        float(y)                                  # inside jit: fails
        y.astype("float32")                       # inside jit: stays traced
    """

    attempt = "int(x), float(x) or a static parameter"
    rule = "a traced value has no data until the compiled function runs."
    hint = ("keep computing with tanx.numpy, or make the argument static: "
            "tanx.jit(f, static_argnames=...).")


class TracerBoolConversionError(ConcretizationTypeError):
    """Python's ``if``, ``while``, ``and``, ``or``, ``not`` or ``assert`` got a traced value.

    The mistake, and three ways out::

        @tanx.jit
        def relu(x):
            return x if x > 0 else 0.0            # Python cannot decide: x has no data yet

        tanx.numpy.where(x > 0, x, 0.0)           # chooses between values
        tanx.lax.cond(x > 0, f, g, x)             # runs one of two functions
        tanx.jit(relu, static_argnames="x")       # makes x an ordinary number
    """

    attempt = "bool(x)"
    rule = "the truth of a traced value is not known while the function is traced."

    @classmethod
    def way_out(cls, line: str) -> str:
        """The replacement for the statement of the line, with its condition."""
        static = "or make the argument static: tanx.jit(f, static_argnames=...)."
        asking = _asking(line)
        if isinstance(asking, ast.Assert):
            return f"tanx.experimental.checkify.check tests traced values; {static}"
        test = "test" if asking is None else ast.unparse(asking.test)
        if isinstance(asking, ast.While):
            return f"write tanx.lax.while_loop(lambda state: {test}, body, state); {static}"
        logic = "for and, or, not write &, |, ~; " if re.search(r"\b(and|or|not)\b", line) else ""
        return (f"write tanx.numpy.where({test}, a, b) to choose values, tanx.lax.cond({test}, f, "
                f"g, ...) to run one of two functions; {logic}{static}")


def _asking(line: str) -> ast.If | ast.IfExp | ast.While | ast.Assert | None:
    """The part of a line of Python that needs a truth value."""
    line = line.removeprefix("el") if line.startswith("elif") else line
    for text in (line, f"{line} pass"):  # the head of a statement alone cannot be parsed
        with contextlib.suppress(SyntaxError):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Assert)):
                    return node
    return None


class TracerIntegerConversionError(_NeedsData, JAXTypeError):
    """A traced value was used where Python needs an int: an index of a list, a ``range``.

    The mistake, and two ways out::

        table = [1.0, 2.0, 3.0]
        tanx.jit(lambda i: table[i])(0)                          # a list needs an int

        tanx.jit(lambda i: tanx.numpy.array(table)[i])(0)        # arrays take traced indices
        tanx.jit(lambda i: table[i], static_argnums=0)(0)        # i is an ordinary int
    """

    attempt = "operator.index(x)"
    rule = "a traced value is no Python int, so lists and range cannot use it."
    hint = ("index an array, tanx.numpy.array(table)[i]; count with tanx.lax.fori_loop; or make "
            "the argument static: tanx.jit(f, static_argnames=...).")


class TracerArrayConversionError(_NeedsData, JAXTypeError):
    """A NumPy function was applied to a traced value.

    The mistake, and two ways out::

        tanx.jit(lambda x: np.sin(x))(1.0)                 # NumPy needs the data

        tanx.jit(lambda x: tanx.numpy.sin(x))(1.0)         # the function of tanx traces
        tanx.pure_callback(np.sin, shape, x)               # calls NumPy when the data is there
    """

    attempt = "numpy.asarray(x)"
    rule = "NumPy needs data, and a traced value has none yet."
    hint = ("call the function of the same name in tanx.numpy, or tanx.pure_callback to run NumPy "
            "on the data.")


class NonConcreteBooleanIndexError(_NeedsData, JAXIndexError):
    """An array was indexed with a traced mask where the size of the result must be known.

    The mistake, and two ways out::

        tanx.jit(lambda x: x[x > 0].reshape(2, -1))(y)     # how many elements are positive?

        tanx.numpy.where(x > 0, x, 0.0)                    # keeps the shape
        x[tanx.numpy.nonzero(x > 0, size=4, fill_value=0)] # takes a fixed number of them
    """

    attempt = "x[mask]"
    rule = "the number of elements a traced mask selects is not known while tracing."
    hint = ("keep the shape with tanx.numpy.where(mask, x, fill), or fix the size with "
            "tanx.numpy.nonzero(mask, size=...).")


# --- Other mistakes -------------------------------------------------------------------------------


class UnexpectedTracerError(JAXTypeError):
    """A traced value escaped from the function it belongs to, and was used outside.

    The mistake, and the way out::

        seen = []

        @tanx.jit
        def f(x):
            seen.append(x + 1)                    # a side effect: the tracer outlives the trace
            return x

        @tanx.jit
        def f(x):
            return x, x + 1                       # return what is needed outside
    """

    def __init__(self, msg: str):
        super().__init__(msg)


class KeyReuseError(JAXTypeError):
    """A random key was used twice, under ``debug_key_reuse``; the numbers would be the same.

    The mistake, and the way out::

        a, b = tanx.random.normal(key), tanx.random.uniform(key)     # not independent

        key, subkey = tanx.random.split(key)
        a, b = tanx.random.normal(key), tanx.random.uniform(subkey)
    """


class JaxprTypeError(TypeError):
    """A jaxpr is not well formed: an equation disagrees with the types of its variables.

    Users meet it when they build or rewrite jaxprs by hand; elsewhere it is a bug in tanx.
    """


class ShardingTypeError(Exception):
    """Operands are divided over the axes of a mesh in ways that an operation cannot combine.

    The mistake, and the way out::

        x, y = tanx.reshard(x, tanx.P("i")), tanx.reshard(y, tanx.P("i"))
        x @ y                                                         # a sum over the axis "i"

        jnp.matmul(x, y, out_sharding=tanx.P())
    """


class InconclusiveDimensionOperation(Exception):
    """A comparison of symbolic dimensions has no answer that holds for all sizes.

    The mistake, and the way out::

        a, b = tanx.export.symbolic_shape("a, b")
        a >= b                                                        # depends on the sizes

        a, b = tanx.export.symbolic_shape("a, b", constraints=["a >= b"])
    """


class UnexpectedDimVar(Exception):
    """An exported program depends on a symbolic size that is in no shape of an argument.

    The mistake, and the way out::

        k, = tanx.export.symbolic_shape("k")
        export(tanx.jit(lambda: jnp.zeros(k)))()                      # k is not known

        sized = tanx.ShapeDtypeStruct((0, k), np.int32)               # no elements, no cost
        export(tanx.jit(lambda sized: jnp.zeros(sized.shape[1])))(sized)
    """


class JaxRuntimeError(RuntimeError):
    """Compiled code failed while it was running: a failed library call, or a callback that raised.

    ``x.block_until_ready()`` raises it at the line that waits, and the message names the line that
    started the work.
    """


class OutOfMemoryError(JaxRuntimeError, MemoryError):
    """There is not enough memory for the results or the temporaries of a computation.

    The message has the requested size, its purpose and line, the live arrays, and a way out. It is
    a :class:`JaxRuntimeError` and a ``MemoryError``.
    """


class OutOfBoundsError(JaxRuntimeError, IndexError):
    """An index is outside of its array, while ``debug_bounds`` is on.

    It is a :class:`JaxRuntimeError`, as compiled code finds it while it runs, and an
    ``IndexError``.

    >>> with tanx.debug_bounds(True):
    ...     jnp.arange(3)[jnp.array([0, 5])]
    Traceback (most recent call last):
    tanx.errors.OutOfBoundsError: x[...]: index 5 is out of bounds for axis 0, which has size 3.
      array: int32[3]
      index: int32[2]
      at:    ...
      Hint: x.at[index].get(mode="clip") or .set(y, mode="drop") allows positions ...
    """


def __dir__() -> list[str]:
    return __all__
