"""``c_function``: a C function, given as source text or by its address, as an operation."""

from __future__ import annotations

import ctypes
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ..._base.traceback import boundary
from ..._control.callback import in_turn
from ..._control.custom import SymbolicZero
from ..._control.custom_jvp import custom_jvp
from ..._control.custom_vjp import custom_vjp
from ..._control.custom_vmap import custom_vmap
from ..._control.linear_call import linear_call
from ..._core.naming import name_of
from ..._core.types import typeof
from ..._ops.base import batch_size, broadcast_in_dim, materialize, reshape
from ..._ops.convert import convert_element_type
from ..._ops.derive import zeros_of
from ..._runtime.c_calls import BY_VALUE, CODE, MESSAGE, CFunction, known_functions
from ...errors import explain
from .c_compiler import library_of
from .c_types import (
    PUBLIC,
    checked,
    declared,
    described,
    from_ctypes,
    inferred,
    is_leading,
    result_types,
    returned,
)
from .calls import Foreign

__all__ = ["c_function", "c_function_p"]


# -- the primitive ---------------------------------------------------------------------------------


class CFunctionCall(Foreign):
    """Calls a C function on operands of the dtypes and shapes that it takes."""

    name = "c_function"

    def infer(self, *types, function):
        return result_types(function, [t.shape for t in types])

    def description(self, params):
        function: CFunction = params["function"]
        plain = function._replace(parameters=tuple(map(tuple, function.parameters)))
        return dict(kind="c", function=tuple(plain), copies=())

    def jvp(self, primals, tangents, *, function):
        raise ValueError(explain(
            PUBLIC, "the function has no derivative.", f"function: {function.name}",
            f"operands: {', '.join(str(typeof(x)) for x in primals)}",
            hint="jvp= or vjp= gives it one; where none is needed, write "
                 "tanx.lax.stop_gradient(x)."))

    def batch(self, args, dims, *, function):
        size, results = batch_size(args, dims), function.results
        leading = [is_leading(function, results + n) for n in range(len(args))]
        if not all(leading[n] or d is None for n, d in enumerate(dims)) or not all(
                is_leading(function, n) for n in range(results)):
            return in_turn(self, args, dims, {"function": function}, looped=True)
        operands = [materialize(x, d, size) if lead else x
                    for x, d, lead in zip(args, dims, leading)]
        outs = self.bind(*operands, function=function)
        return outs, [0] * len(outs)

    def show_params(self, params):
        return {"name": params["function"].name}


c_function_p = CFunctionCall()


# -- the operation ---------------------------------------------------------------------------------


class Operation:
    """A C function as a function of arrays; ``address`` is where it is, ``source`` its text."""

    def __init__(self, function: CFunction, address: int, source: str | None, jvp: Callable | None,
                 vjp: Callable | None, batch: Callable | None):
        self.function, self.address, self.source = function, address, source
        self.__name__ = self.__qualname__ = function.name
        self.inputs = function.operands
        run: Callable = self._bind
        if batch is not None:
            run = custom_vmap(_named(run, function.name))
            run.def_vmap(batch)
        self._run = _with_derivatives(_named(run, function.name), jvp, vjp)

    def _bind(self, *operands):
        outs = c_function_p.bind(*operands, function=self.function)
        return outs[0] if len(outs) == 1 else tuple(outs)

    @boundary
    def __call__(self, *args):
        if len(args) != len(self.inputs):
            raise TypeError(explain(
                PUBLIC, "the function takes another number of operands.",
                f"function: {self.__name__}", f"operands: {len(args)}, of {len(self.inputs)}"))
        operands = [self._converted(x, p.dtype) for x, p in zip(args, self.inputs)]
        leading = [n for n, p in enumerate(self.inputs) if is_leading(self.function, p.number)]
        if len(leading) > 1:
            self._broadcast(operands, leading)
        result_types(self.function, [typeof(x).shape for x in operands])  # before any rule runs
        return self._run(*operands)

    def _converted(self, x, wanted: str):
        """An operand in the dtype that the function takes, if the conversion is lossless."""
        aval, dtype = typeof(x), np.dtype(wanted)
        if dtypes.canonicalize_dtype(dtype) != dtype:
            raise TypeError(explain(
                PUBLIC, "the function takes 64-bit numbers, which are not enabled.",
                f"function: {self.__name__}", f"takes:    {wanted}",
                hint="tanx.enable_x64(True), or a function of "
                     f"{dtypes.canonicalize_dtype(dtype).name}."))
        if aval.dtype == dtype:
            return x if hasattr(x, "aval") else convert_element_type(x, dtype)
        fits = _RANKS.get(aval.dtype.kind, 3) <= _RANKS.get(dtype.kind, 3) if aval.weak_type else (
            dtypes.promote_types(aval.dtype, dtype) == dtype)
        if not fits:
            raise TypeError(explain(
                PUBLIC, "an operand has another dtype than the function takes.",
                f"function: {self.__name__}", f"operand:  {aval}", f"takes:    {wanted}",
                hint=f"x.astype({wanted!r}) converts it."))
        return convert_element_type(x, dtype)

    def _broadcast(self, operands: list, leading: Sequence[int]) -> None:
        """Give operands the same leading dimensions."""
        cores = {n: max(0, len(self.inputs[n].dims) - 1) for n in leading}
        shapes = {n: typeof(operands[n]).shape for n in leading}
        fronts = {n: shapes[n][:len(shapes[n]) - cores[n]] for n in leading}
        try:
            front = np.broadcast_shapes(*fronts.values())
        except ValueError:
            raise TypeError(explain(
                PUBLIC, "the shapes of operands do not match.",
                f"function: {self.__name__}",
                f"operands: {', '.join(str(typeof(x)) for x in operands)}")) from None
        for n in leading:
            if fronts[n] != front:
                shape = (*front, *shapes[n][len(fronts[n]):])
                operands[n] = _broadcast_to(operands[n], shape)

    def __repr__(self) -> str:
        return f"<C function {self.__name__} at {self.address:#x}>"


_RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3}
"""Ranks of kinds of numbers: a number may be converted to the same or a higher rank."""


def _broadcast_to(x, shape: tuple[int, ...]):
    """The operand broadcast to a shape."""
    mine = typeof(x).shape
    kept = [n for n in range(len(mine)) if mine[n] == shape[len(shape) - len(mine) + n]]
    squeezed = reshape(x, [mine[n] for n in kept])
    return broadcast_in_dim(squeezed, shape, [len(shape) - len(mine) + n for n in kept])


def _named(function: Callable, name: str) -> Callable:
    @functools.wraps(function)
    def named(*operands):
        return function(*operands)
    named.__name__ = named.__qualname__ = name
    return named


# -- derivatives -----------------------------------------------------------------------------------


def _with_derivatives(run: Callable, jvp: Callable | None, vjp: Callable | None) -> Callable:
    """The function with the given derivative rules."""
    if jvp is not None:
        forward = _rule(jvp)
        differentiable = custom_jvp(run)

        def tangent_rule(primals, tangents):
            out = differentiable(*primals)
            if vjp is None:
                return out, forward(out, *primals, *tangents)
            live = [n for n, t in enumerate(tangents) if type(t) is not SymbolicZero]

            def push(known, given):
                """The tangent of the result, from the nonzero tangents."""
                given = dict(zip(live, given))
                return forward(known[0], *known[1], *(
                    given[n] if n in given else zeros_of(t.aval)
                    for n, t in enumerate(tangents)))

            def pull(known, ct):
                found = _pulled_back(vjp, known[0], known[1], ct)
                return tuple(found[n] for n in live)

            return out, linear_call(push, pull, (out, primals), tuple(tangents[n] for n in live))

        differentiable.defjvp(tangent_rule, symbolic_zeros=vjp is not None)
        return differentiable
    if vjp is not None:
        reversible = custom_vjp(run)

        def fwd(*operands):
            out = run(*operands)
            return out, (out, operands)

        reversible.defvjp(fwd, lambda known, ct: _pulled_back(vjp, known[0], known[1], ct))
        return reversible
    return run


def _pulled_back(vjp: Callable, out, primals: tuple, ct) -> tuple:
    """The cotangents of operands by a user's rule, which returns one or a tuple."""
    cts = ct if isinstance(ct, tuple) else (ct,)
    found = _rule(vjp)(out, *primals, *cts)
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def _rule(rule: Callable) -> Callable:
    """A rule as a function of the results and its other arguments; it may have ``out``."""
    try:
        wants = "out" in inspect.signature(rule).parameters
    except (TypeError, ValueError):
        wants = False
    return lambda out, *args: rule(*args, out=out) if wants else rule(*args)


# -- public functions ------------------------------------------------------------------------------


def c_function(function: Any, in_types: Sequence[Any] | None = None,
               out_types: Any = None, *, jvp: Callable | None = None, vjp: Callable | None = None,
               batch: Callable | None = None, name: str | None = None,
               returns: str | None = None, flags: Sequence[str] = ()) -> Operation:
    """A C function as an operation on arrays, which compiled code calls by its address.

    ``function`` is C source text, which the machine's C compiler compiles, or a compiled function:
    one of ``ctypes``, such as ``ctypes.CDLL(path).f``, or an object with an ``address``, such as
    Numba's ``cfunc``.

    Source of the form ``(long n, const T *x, ..., T *y)`` needs no description: it is called on
    arrays of any shape and works on each of ``n`` elements; so is a function that takes and
    returns numbers. Otherwise ``in_types`` and ``out_types`` describe the parameters of the C
    function, in order: ``"float32[n,3]"`` is an array, ``"float32"`` a number by value, ``"n"`` a
    size as ``long``. A first size ``...`` means any number of dimensions; ``"..."`` by itself is
    their number of elements. A function of arrays returns nothing, or an error: a nonzero ``int``
    or a ``char *`` that is not NULL; for a compiled function, ``returns`` states it (``"int"``,
    ``"char *"``).

    - ``jvp(*operands, *tangents)`` returns the tangent of the result;
    - ``vjp(*operands, *cotangents)`` returns the cotangents of the operands. Either may have a
      parameter ``out``, which gets the result. With both, forward mode has the one and reverse
      mode the other;
    - ``batch(axis_size, in_batched, *operands)`` is a rule like that of
        :class:`tanx.custom_batching.custom_vmap`. Without it, the batch becomes a leading
        dimension, or else the function is called in a loop;
      - ``name``: the name of the function in the source; ``flags``: more options for the compiler.

    >>> import ctypes
    >>> cbrt = tanx.extend.c_function(ctypes.CDLL("libm.so.6").cbrtf, ["float32"], "float32",
    ...                               jvp=lambda x, t, out: t / (3 * out ** 2))
    >>> tanx.jit(tanx.vmap(tanx.grad(cbrt)))(jnp.array([1.0, 8.0]))
    Array([0.33333334, 0.08333334], dtype=float32)
    """
    for rule, what in ((jvp, "jvp"), (vjp, "vjp"), (batch, "batch")):
        if rule is not None and not callable(rule):
            raise TypeError(explain(PUBLIC, f"{what} must be a function.",
                                    f"{what}: {rule!r:.80}"))
    outs = None if out_types is None else (
        list(out_types) if isinstance(out_types, list | tuple) else [out_types])
    if (in_types is None) != (outs is None):
        raise ValueError(explain(PUBLIC, "in_types and out_types must be passed together.",
                                 f"in_types:  {in_types}", f"out_types: {out_types}"))
    if isinstance(function, str):
        made, address = _from_source(function, in_types, outs, name, flags)
        return Operation(made, address, function, jvp, vjp, batch)
    made, address = _from_pointer(function, in_types, outs, name, returns)
    return Operation(made, address, None, jvp, vjp, batch)


def _from_source(source: str, in_types, out_types, name: str | None, flags: Sequence[str],
                 ) -> tuple[CFunction, int]:
    key, library = library_of(source, flags)
    head = declared(source, name)
    if in_types is None:
        in_types, out_types = inferred(head)
    made = described(head.name, f"{key}:{head.name}", in_types, out_types, "void")
    if made.returns not in BY_VALUE:
        made = checked(made._replace(returns=returned(head)), head)
    elif in_types is not None:
        _check_numbers(made, head)
    address = _address(getattr(library, head.name))
    known_functions[made.key] = address, library
    return made, address


def _check_numbers(made: CFunction, head) -> None:
    """Check that a function of numbers is declared as one."""
    mine = [p[1] for p in made.parameters]
    if [p.dtype for p in head.parameters if not p.pointers] != mine or (
            head.returns.dtype != made.returns or head.returns.pointers):
        raise ValueError(explain(
            PUBLIC, "the description does not match the function.", f"function:  {head}",
            f"described: {made.returns} of ({', '.join(mine)})"))


def _from_pointer(function: Any, in_types, out_types, name: str | None, returns: str | None,
                  ) -> tuple[CFunction, int]:
    address = getattr(function, "address", None)
    if not isinstance(address, int):
        if not isinstance(function, ctypes._CFuncPtr):  # type: ignore[attr-defined]
            raise TypeError(explain(
                PUBLIC, "needs C source text, a function of ctypes, or an object with an address.",
                f"found: {function!r:.100}"))
        address = _address(function)
    if in_types is None:
        found = from_ctypes(getattr(function, "ctypes", function))
        if found is None:
            raise ValueError(explain(
                PUBLIC, "in_types and out_types must describe a function that has no source.",
                f"function: {name_of(function)}"))
        in_types, out_types = found
    if returns not in (None, "void", CODE, MESSAGE):
        raise ValueError(explain(PUBLIC, "a function of arrays returns nothing or an error.",
                                 f"returns: {returns!r}", f"known: void, {CODE}, {MESSAGE}"))
    shown = name or str(getattr(function, "__name__", "function"))
    made = described(shown, _Key(), in_types, out_types, returns or "void")
    known_functions[made.key] = address, function
    return made, address


class _Key:
    """A placeholder for a function, whose address differs between processes."""

    def __repr__(self) -> str:
        return f"_Key({id(self):#x})"


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
