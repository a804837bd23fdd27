"""Whether compiled programs agree with ``eval``: by the interpreter, and as machine code."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from unittest.mock import patch

import numpy as np

import tanx
from tanx import tree_util
from tanx._compiler.pipeline import Module, build
from tanx._compiler.simplify import inline
from tanx._core.array import Array
from tanx._core.jaxpr import ClosedJaxpr, Jaxpr, Var, eval_jaxpr, jaxprs_in_params
from tanx._core.trace import EvalTrace
from tanx._loops import interpret
from tanx._loops.nest import Program
from tanx._ops.operands import letter
from tanx._runtime import load
from tanx._runtime.eager import compiled
from tanx._runtime.executable import Executable
from tests.compiler.guarded import guarded
from tests.compiler.lives import lives


def evaluated(closed: ClosedJaxpr, args) -> list[np.ndarray]:
    """The results by the ``eval`` rules; calls are inlined, and nothing is compiled."""
    closed = inline(closed)
    given = [Array(np.asarray(x, aval.dtype), aval=aval)
             for x, aval in zip(args, closed.in_avals, strict=True)]
    with tanx.disable_jit():
        return [numbers(y) for y in eval_jaxpr(closed.jaxpr, closed.consts, *given)]


def numbers(x) -> np.ndarray:
    """An array as NumPy's; of keys their words, of other extended dtypes what is stored."""
    if tanx.dtypes.issubdtype(x.dtype, tanx.dtypes.prng_key):
        x = tanx.random.key_data(x)
    elif tanx.dtypes.is_extended(x.dtype):
        x = tanx.lax.convert_element_type(x, x.dtype.stored)
    return np.asarray(x)


def run_program(program: Program, module: Module, args) -> list[np.ndarray]:
    """The results by the interpreter, of one of the programs on a module's way."""
    data = [np.asarray(x, b.dtype) for x, b in zip([*module.constants, *args], program.inputs)]
    held = dict(zip(program.inputs, data))
    held |= zip(program.outputs, interpret.run(program, *data))
    return results(module, held)


def results(module: Module, held: dict) -> list[np.ndarray]:
    """The results of a module, given the contents of its buffers."""
    return [held[b].reshape(aval.shape) if aval.dtype != tanx.dtypes.float0
            else np.zeros(aval.shape, aval.dtype)  # programs have flags in its place
            for b, aval in zip(module.results, module.out_avals, strict=True)]


def run_module(module: Module, args) -> list[np.ndarray]:
    """The results of a module whose arguments are not donated, in loops as they run."""
    return run_program(module.schedule.program, module, args)


def run_native(closed: ClosedJaxpr, args, donated: tuple[bool, ...] = ()) -> list[np.ndarray]:
    """The results of the machine code; arguments in ``donated`` may be overwritten."""
    with warnings.catch_warnings():  # all are donated, whether or not a result has their size
        warnings.filterwarnings("ignore", "Some donated buffers")
        return _run(Executable(closed, donated), closed.in_avals, args)


def _run(executable: Executable, avals, args, at_end: bool = True) -> list[np.ndarray]:
    given = [guarded(np.asarray(x, aval.dtype), at_end)
             for x, aval in zip(args, avals, strict=True)]
    return [numbers(y) for y in executable.run(given)]


def uncertainty(closed: ClosedJaxpr, args) -> float:
    """How much results may differ when sums are taken in another order.

    It goes by the coarsest floats and by the largest number on the way, since differences of large
    numbers may be small.
    """
    closed = inline(closed)
    every = [v for eqn in closed.eqns for v in eqn.outvars]
    values = [np.asarray(x) for x in args]
    values += evaluated(ClosedJaxpr(closed.jaxpr.replace(outvars=every), closed.consts), args)
    largest = 1e-3
    for value in values:
        if letter(value.dtype) in "fc" and value.size:
            numbers = np.abs(value.astype(np.complex128))
            largest = max(largest, numbers[np.isfinite(numbers)].max(initial=0.0))
    dtypes = {v.aval.dtype for v in _variables(closed.jaxpr)} | {x.dtype for x in values}
    size = min([d.itemsize // (2 if letter(d) == "c" else 1) for d in dtypes
                if tanx.dtypes.issubdtype(d, np.inexact)], default=8)
    return largest * {8: 1e-10, 4: 5e-5, 2: 4e-2}.get(size, 0.5)


def _variables(jaxpr: Jaxpr) -> Iterator[Var]:
    """The results of equations, also in the bodies of others."""
    for eqn in jaxpr.eqns:
        yield from eqn.outvars
        for inner in jaxprs_in_params(eqn.params):
            yield from _variables(inner)


def assert_close(actual: np.ndarray, expected: np.ndarray, atol: float) -> None:
    """Equal integers; floats that differ by ``atol`` at most, or by their own precision."""
    assert actual.shape == expected.shape and actual.dtype == expected.dtype
    kind = letter(actual.dtype)
    if kind not in "fc":
        np.testing.assert_array_equal(actual, expected)
        return
    wide = np.complex128 if kind == "c" else np.float64
    rtol = {2: 4e-2, 4: 1e-5}.get(actual.dtype.itemsize, 1e-9)
    np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=rtol, atol=atol)


def check_jaxpr_agrees(closed: ClosedJaxpr, args, interpreted: bool = True) -> Module:
    """Compile a jaxpr, with all checks and LLVM's, and compare on arguments."""
    checked = tanx._base.config.enable_checks
    with np.errstate(all="ignore"):
        with checked(True):
            module = build(closed)
        expected = evaluated(closed, args)
        atol = uncertainty(closed, args)
        runs = [_run(compiled(closed), closed.in_avals, args, end) for end in (True, False)]
        with checked(True):
            runs.append(run_native(closed, args, (True,) * len(args)))
        load.clear()  # the code that is there
        with checked(False), tanx._base.config.quick_code(True):
            for quick, careful in zip(run_native(closed, args), runs[0], strict=True):
                # All bits, but for those of NaN, which NumPy does not know of in narrow types.
                known = [x.astype(np.float32) if letter(x.dtype) == "f" and x.itemsize < 4 else x
                         for x in (quick, careful)]
                np.testing.assert_array_equal(*known)
        if interpreted:
            runs.append(run_module(module, args))
        for results in runs:
            _assert_agree(results, expected, atol, lambda: shaken(closed, args, expected))
        # Every pass was checked above, for programs with and without donation: checking the same
        # ones in each life takes a quarter of the time.
        with checked(False):
            check_lives(closed, args, expected, atol)
    return module


def check_lives(closed: ClosedJaxpr, args, expected: list[np.ndarray], atol: float) -> None:
    """Call the program in all ways that the runtime has, and compare values and types."""
    others = [np.roll(x, 1) for x in map(np.asarray, args)]
    other_expected = evaluated(closed, others)
    other_atol = uncertainty(closed, others)
    for life in lives(closed, args, others):
        for result, aval in zip(life.results, life.avals, strict=True):
            if aval.dtype == tanx.dtypes.float0:  # NumPy's, as in JAX, where jit makes them
                assert result.dtype == aval.dtype and result.shape == aval.shape, life.name
                continue
            assert type(result) is Array, life.name
            assert result.aval == aval, f"{life.name}: {result.aval} instead of {aval}"
            assert result._value.shape == aval.shape, life.name
        wanted, spread = (other_expected, other_atol) if life.changed else (expected, atol)
        data = others if life.changed else args
        try:
            _assert_agree(list(map(numbers, life.results)), wanted, spread,
                          lambda data=data, wanted=wanted: shaken(closed, data, wanted))
        except AssertionError as error:
            raise AssertionError(f"{life.name}: {error}") from None


def _assert_agree(results, expected, atol: float,
                  spread: Callable[[], list[float] | None]) -> None:
    """All results are close; of an ill-conditioned program, within its condition."""
    try:
        for got, want in zip(results, expected, strict=True):
            assert_close(got, want, atol)
    except AssertionError:
        moved = spread()
        if moved is None:
            return
        if not any(moved):
            raise
        for got, want, by in zip(results, expected, moved, strict=True):
            assert_close(got, want, atol + min(_SHAKEN * by, _AT_MOST * atol))


_SHAKEN, _AT_MOST = 8, 1000
"""Times that rounding may move a result more than one shake does; and times the usual tolerance
that this may excuse. Second derivatives of a while loop's gradient moved by 180 times the usual
tolerance in one shake, and by 450 between two orders of computation."""


_SELECT = frozenset([
    "broadcast_in_dim", "clamp", "concatenate", "copy", "cummax", "cummin", "dynamic_slice",
    "gather", "max", "min", "reduce_max", "reduce_min", "reshape", "rev", "select_n", "slice",
    "sort", "squeeze", "transpose"])
"""Primitives that select numbers. Rules of derivatives compare their results with their operands
for equality, as those of maxima do."""


def shaken(closed: ClosedJaxpr, args, expected) -> list[float] | None:
    """How far each result moves when all computed numbers change in their last digits.

    None if a float16 overflows on the way: a kernel keeps it in 32 bits, where it does not.
    """
    rng = np.random.default_rng(0)
    careful = EvalTrace.process
    overflows = False

    def process(primitive, args, params):
        out = careful(primitive, args, params)
        if primitive.name in _SELECT:
            return out
        return [shake(y) for y in out] if primitive.multiple_results else shake(out)

    def shake(y):
        nonlocal overflows
        if letter(y.dtype) not in "fc":
            return y
        data = np.asarray(y)
        overflows |= data.dtype == np.float16 and not np.isfinite(data).all()
        wide = data.astype(np.complex128 if letter(y.dtype) == "c" else np.float64)
        # Numbers of few bits are exact.
        rounded = (wide.real * 64 % 1 != 0) | (wide.imag * 64 % 1 != 0)
        by = rng.choice([-1, 1], data.shape) * float(tanx.numpy.finfo(y.dtype).eps)
        return Array(np.where(rounded, wide * (1 + by), wide).astype(data.dtype), aval=y.aval)

    with patch.object(EvalTrace, "process", staticmethod(process)):
        moved = evaluated(closed, [shake(tanx.numpy.asarray(x)) for x in args])
    if overflows:
        return None
    return [float(np.nanmax(np.abs(a.astype(np.complex128) - b.astype(np.complex128)), initial=0))
            if letter(b.dtype) in "fc" else 0.0 for a, b in zip(moved, expected, strict=True)]


def check_function(fun, *args) -> Module:
    """Compile a function for arguments, and compare."""
    closed = tanx.make_jaxpr(fun)(*args)
    return check_jaxpr_agrees(closed, tree_util.tree_leaves(args))
