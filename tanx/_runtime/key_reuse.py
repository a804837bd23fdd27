"""``debug_key_reuse``: detect random keys that are used twice.

Under this flag every key has a number. Operations that move keys, such as a slice or a transpose,
move the numbers in the same way; operations that split keys or draw random numbers consume them.
Compiled functions are checked before they run, by their jaxprs: a loop for two steps, after which a
key that it does not replace is used again, and each branch separately.

Folding a number into a key leaves it unused, and a clone is a new key. Raw keys, which are
integers, are not tracked.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from weakref import ref

import numpy as np

from .. import dtypes
from .._core.array import Array
from .._core.flow import Choice, Flow, ForLoop, WhileLoop
from .._core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var
from .._core.source import is_ours, user_source
from ..errors import KeyReuseError, explain

__all__ = ["watch"]

Numbers = np.ndarray | None
"""The numbers of an array of keys; None for arrays without keys."""

_USES = frozenset(("random_bits", "random_split", "random_gamma"))
_MAKES = frozenset(("random_clone", "random_fold_in", "random_seed", "random_wrap"))
_following = count()
_known: dict[int, tuple[ref, np.ndarray]] = {}  # the numbers of arrays, by their identity
_used: dict[int, str] = {}  # where a key was used, by its number


def watch(primitive, args: Sequence, params: dict, results: Sequence) -> None:
    """Record what a primitive did with keys; KeyReuseError if it used one that was used before."""
    operands = [_numbers(x) for x in args]
    data = [np.asarray(x) if n is None else n for x, n in zip(args, operands)]
    outs = _flow(primitive, params, operands, data, [x.aval for x in results], str(user_source()))
    for x, numbers in zip(results, outs):
        if numbers is not None:
            _remember(x, numbers)


# -- numbers of keys -------------------------------------------------------------------------------


def _fresh(aval) -> Numbers:
    """New numbers for an array of keys."""
    if not isinstance(aval.dtype, dtypes.KeyType):
        return None
    size = int(np.prod(aval.shape))
    return np.array([next(_following) for _ in range(size)], np.int64).reshape(aval.shape)


def _numbers(x) -> Numbers:
    """The numbers of an array; new ones at its first occurrence."""
    if not (isinstance(x, Array) and isinstance(x.aval.dtype, dtypes.KeyType)):
        return None
    known = _known.get(id(x))
    if known is not None and known[0]() is x:
        return known[1]
    numbers = _fresh(x.aval)
    assert numbers is not None
    _remember(x, numbers)
    return numbers


def _remember(x: Array, numbers: np.ndarray) -> None:
    place = id(x)
    _known[place] = ref(x, lambda _: _known.pop(place, None)), numbers


def _use(name: str, numbers: Numbers, source: str) -> None:
    """Consume keys."""
    for number in () if numbers is None else numbers.ravel().tolist():
        before = _used.get(number)
        if before is not None:
            raise KeyReuseError(explain(
                f"tanx.lax.{name}", "a random key is used again, and would give the same numbers.",
                f"used at: {source}", f"before:  {before}",
                hint="split it first: key, subkey = tanx.random.split(key)."))
        _used[number] = source


# -- what primitives do with keys ------------------------------------------------------------------


def _flow(primitive, params: dict, operands: list[Numbers], data: list, types: list,
          source: str) -> list[Numbers]:
    """The numbers of the results of a primitive; ``data`` are its operands if known, or None."""
    name = primitive.name
    if name in _USES:
        for numbers in operands:
            _use(name, numbers, source)
    elif (flow := primitive.flow(params)) is not None:
        return _run_flow(flow, name, operands, types, source)
    elif (body := primitive.called(params)) is not None:
        return _run(body, operands, source)
    elif name not in _MAKES and any(isinstance(t.dtype, dtypes.KeyType) for t in types) and all(
            x is not None for x in data):
        moved = primitive.eval(*data, **params)
        return list(moved) if primitive.multiple_results else [np.asarray(moved)]
    return [_fresh(t) for t in types]


def _run(closed: ClosedJaxpr, operands: Sequence[Numbers], source: str) -> list[Numbers]:
    """Check the equations of a jaxpr, which is called at a line of the user.

    Functions of the library were staged at the line that called them first: the line of this call
    is the one to report.
    """
    jaxpr = closed.jaxpr
    written = jaxpr.debug_info and jaxpr.debug_info.source
    is_users = not (written and is_ours(written.file))
    values: dict[Var, Numbers] = dict(zip(jaxpr.invars, operands))
    values |= {v: _numbers(x) for v, x in zip(jaxpr.constvars, closed.consts)}

    def read(atom) -> Numbers:
        return None if type(atom) is Literal else values.get(atom)

    for eqn in jaxpr.eqns:
        if _concerns_keys(eqn):
            given = [read(x) for x in eqn.invars]
            data = [np.asarray(x.val) if type(x) is Literal else n
                    for x, n in zip(eqn.invars, given)]
            outs = _flow(eqn.primitive, eqn.params, given, data, [v.aval for v in eqn.outvars],
                         str(eqn.source_info) if is_users and eqn.source_info else source)
            values.update(zip(eqn.outvars, outs))
    return [read(v) for v in jaxpr.outvars]


def _concerns_keys(eqn: JaxprEqn) -> bool:
    primitive, params = eqn.primitive, eqn.params
    runs = primitive.flow(params) is not None or primitive.called(params) is not None
    return runs or any(
        isinstance(v.aval.dtype, dtypes.KeyType) for v in (*eqn.invars, *eqn.outvars))


def _run_flow(flow: Flow, name: str, operands: list[Numbers], types: list,
              source: str) -> list[Numbers]:
    match flow:
        case ForLoop():
            return _for_loop(flow, name, operands, types, source)
        case WhileLoop():
            return _while_loop(flow, operands, source)
        case Choice():
            return _choice(flow, operands, source)


def _for_loop(flow: ForLoop, name: str, operands: list[Numbers], types: list,
              source: str) -> list[Numbers]:
    """Two steps of a loop; further ones use rows as the second did."""
    constants, carry, rows = flow.split(operands)
    for step in range(min(flow.length, 2)):
        outs = _run(flow.body, [*constants, *carry, *(
            None if x is None else x[step] for x in rows)], source)
        carry = outs[:len(carry)]
    for x in rows:
        if x is not None and flow.length > 2 and x[1].size and (
                where := _used.get(int(x[1].flat[0]))) is not None:
            _use(name, x[2:], where)
    return [*carry, *(_fresh(t) for t in types[len(carry):])]


def _while_loop(flow: WhileLoop, operands: list[Numbers], source: str) -> list[Numbers]:
    """Two steps of a loop, with the condition before each."""
    asked, constants, carry = flow.split(operands)
    for _ in range(2):
        _run(flow.condition, [*asked, *carry], source)
        carry = _run(flow.body, [*constants, *carry], source)
    return carry


def _choice(flow: Choice, operands: list[Numbers], source: str) -> list[Numbers]:
    """Each branch separately; what any of them uses is used."""
    before, found, outs = dict(_used), dict[int, str](), list[Numbers]()
    for branch in flow.branches:
        _used.clear()
        _used.update(before)
        outs = _run(branch, operands[1:], source)
        found |= _used
    _used.update(found)
    return outs
