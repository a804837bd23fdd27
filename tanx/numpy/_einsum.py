"""Sums of products in Einstein's notation.

The subscripts and the shapes give a plan: the order in which operands are multiplied, and for each
product what is done to an operand first (dimensions dropped, summed, or reduced to a diagonal), the
dimensions of the product, and their order afterwards. Plans are cached, so that a call costs little
more than its products.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache, reduce
from string import ascii_letters

import numpy as np

from .. import dtypes
from .._base.tuples import NamedTuple
from ..errors import explain
from ..lax import _functions as lax
from ._promotion import as_operand, convert
from ._reduce import refuse_out

__all__ = ["einsum", "einsum_path"]


def einsum(subscripts, /, *operands, out=None, optimize="auto", precision=None,
           preferred_element_type=None, _dot_general=lax.dot_general, out_sharding=None):
    """The sum of products that ``subscripts`` describes, a letter for each dimension.

    In ``"ij,jk->ik"``, letters missing after the arrow are summed over, dimensions with the same
    letter are paired, and ``...`` stands for all other dimensions, which broadcast. Without an
    arrow, the result has the letters that occur once, in alphabetical order. Instead of a string,
    operands and lists of labels may alternate: ``einsum(x, [0, 1], y, [1, 2], [0, 2])``.

    ``optimize`` gives the order in which three or more operands are multiplied: ``False`` for pairs
    from the left, a list of pairs of positions as :func:`einsum_path` returns it, or the name of a
    method of opt_einsum. ``precision`` and ``preferred_element_type`` are those of :func:`matmul`.

    >>> jnp.einsum("ij,j->i", jnp.array([[1., 2.], [3., 4.]]), jnp.array([1., 10.]))
    Array([21., 43.], dtype=float32)
    """
    refuse_out("einsum", out)
    subscripts, operands = _texts(subscripts, operands)
    arrays = [as_operand("einsum", x) for x in operands]
    path = optimize if isinstance(optimize, str | bool) else tuple(map(tuple, optimize))
    weak = False
    if preferred_element_type is None:
        dtype, weak = dtypes.result_type(*arrays, return_weak_type_flag=True)
    else:
        dtype = dtypes.requested_dtype(preferred_element_type, "tanx.numpy.einsum")
    for step in _plan(subscripts, tuple([x.shape for x in arrays]), path):
        parts = [_ready(arrays.pop(position), dtype, changes)
                 for position, changes in zip(step.positions, step.changes)]
        if step.dimension_numbers is None:
            (result,) = parts
        else:
            x, y = reversed(parts) if step.swapped else parts
            # A dot_general passed by the caller need not accept out_sharding.
            places = {} if out_sharding is None else {"out_sharding": out_sharding}
            result = _dot_general(x, y, step.dimension_numbers, precision,
                                  preferred_element_type=dtype, **places)
        arrays.append(result if step.order is None else lax.transpose(result, step.order))
    return convert(arrays[0], dtype, weak)


def einsum_path(subscripts, /, *operands, optimize="auto"):
    """The order in which :func:`einsum` multiplies operands, and a report of its cost.

    >>> path, report = jnp.einsum_path("ij,jk,kl->il", *map(jnp.ones, [(9, 9), (9, 9), (9, 1)]))
    >>> path
    [(1, 2), (0, 1)]
    """
    import opt_einsum
    subscripts, operands = _texts(subscripts, operands)
    shapes = [as_operand("einsum_path", x).shape for x in operands]
    names, result = _parse(subscripts, tuple(shapes))
    if isinstance(optimize, bool):
        optimize = "optimal" if optimize else _pairs_from_the_left(len(shapes))
    return opt_einsum.contract_path(f"{','.join(names)}->{result}", *shapes, shapes=True,
                                    optimize=optimize)


# -- the notation ----------------------------------------------------------------------------------


def _wrong(rule: str, subscripts, *facts, hint=None) -> ValueError:
    return ValueError(explain("tanx.numpy.einsum", rule, f"subscripts: {subscripts!r}", *facts,
                              hint=hint))


def _texts(subscripts, operands) -> tuple[str, tuple]:
    """Subscripts as a string, also if they were given as lists of labels between the operands."""
    if isinstance(subscripts, str):
        return subscripts, operands
    items = [subscripts, *operands]
    lists, arrays = items[1::2], items[0:len(items) // 2 * 2:2]
    output = items[-1] if len(items) % 2 else None
    try:
        # Letters keep the order of labels: without an output, the result is sorted by it.
        labels = sorted({label for part in (*lists, output or ()) for label in part} - {Ellipsis})
    except TypeError:
        raise TypeError(explain(
            "tanx.numpy.einsum", "operands alternate with lists of labels that can be compared.",
            hint="use integers or strings, and Ellipsis.")) from None
    if len(labels) > len(ascii_letters):
        raise ValueError(explain("tanx.numpy.einsum", "there are more labels than letters.",
                                 f"labels: {len(labels)}"))
    letter = {Ellipsis: "...", **dict(zip(labels, ascii_letters))}
    texts = ["".join(map(letter.__getitem__, part)) for part in lists]
    arrow = "" if output is None else "->" + "".join(map(letter.__getitem__, output))
    return ",".join(texts) + arrow, tuple(arrays)


def _parse(subscripts: str, shapes) -> tuple[list[str], str]:
    """One letter for each dimension of each operand, and those of the result."""
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    if set(inputs.replace("...", "") + output.replace("...", "")) & set(".->"):
        raise _wrong("subscripts consist of letters, ',', '...' and at most one '->'.", subscripts)
    terms = inputs.split(",")
    if len(terms) != len(shapes):
        raise _wrong("there must be one term for each operand.", subscripts,
                     f"operands:   {len(shapes)}")
    extra = [len(shape) - len(term.replace("...", "")) for term, shape in zip(terms, shapes)]
    for i, (term, shape, more) in enumerate(zip(terms, shapes, extra)):
        if term.count("...") > 1 or more < 0 or (more and "..." not in term):
            raise _wrong("a term has one letter for each dimension.", subscripts,
                         f"term:       {term!r}", f"operand {i}:  shape {shape}")
    most = max((more for term, more in zip(terms, extra) if "..." in term), default=0)
    free = [letter for letter in ascii_letters if letter not in text][:most]
    if len(free) < most:
        raise _wrong("there are more dimensions than letters.", subscripts)
    rest = "".join(free)
    names = [term.replace("...", rest[most - more:]) for term, more in zip(terms, extra)]
    if arrow:
        result = output.replace("...", rest)
    else:
        counts = Counter(inputs.replace("...", "").replace(",", ""))
        result = rest + "".join(sorted(letter for letter, n in counts.items() if n == 1))
    _check(subscripts, names, result, shapes)
    return names, result


def _check(subscripts, names, result, shapes) -> None:
    """The letters of the result occur in the operands, once each; sizes agree or are 1."""
    sizes: dict[str, int] = {}
    for i, (letters, shape) in enumerate(zip(names, shapes)):
        for letter, n in zip(letters, shape):
            if sizes.setdefault(letter, n) == 1:
                sizes[letter] = n
            elif n not in (1, sizes[letter]):
                raise _wrong(f"the dimensions called {letter!r} have different sizes.", subscripts,
                             f"operand {i}:  {n}", f"before:     {sizes[letter]}",
                             hint="give different dimensions different letters.")
    for letter in result:
        if letter not in sizes:
            raise _wrong(f"the result has {letter!r}, which no operand has.", subscripts)
        if result.count(letter) > 1:
            raise _wrong(f"the result has {letter!r} more than once.", subscripts)


# -- plans -----------------------------------------------------------------------------------------


class Step(NamedTuple):
    """One product of two operands, or the last change of a single one."""

    positions: tuple[int, ...]  # of operands in the current list, last one first
    changes: tuple[tuple, ...]  # of each operand before the product, as :func:`_ready` takes them
    dimension_numbers: tuple | None
    swapped: bool  # whether the operand further in front is the left factor
    order: tuple[int, ...] | None


@lru_cache(maxsize=2048)
def _plan(subscripts: str, shapes, optimize) -> tuple[Step, ...]:
    """The steps from the operands to the result; each appends its product to the operands."""
    names, result = _parse(subscripts, shapes)
    terms = [(letters, dict(zip(letters, shape))) for letters, shape in zip(names, shapes)]
    path = _path(names, result, shapes, optimize)
    steps = []
    for number, positions in enumerate(path):
        positions = tuple(sorted(positions, reverse=True))
        meeting = [terms.pop(position) for position in positions]
        if number == len(path) - 1:
            made = result
        else:
            wanted = set(result).union(*(letters for letters, _ in terms))
            met = "".join(letters for letters, _ in meeting)
            made = "".join(sorted(wanted.intersection(met), key=met.find))
        steps.append(_step(positions, meeting, made))
        sizes = {letter: next((n for _, term in meeting if (n := term.get(letter, 1)) != 1), 1)
                 for letter in made}
        terms.append((made, sizes))
    return tuple(steps)


def _path(names, result, shapes, optimize) -> list[tuple[int, ...]]:
    count = len(names)
    if isinstance(optimize, tuple):
        if any(len(positions) > 2 for positions in optimize):
            raise NotImplementedError(explain(
                "tanx.numpy.einsum", "operands are multiplied in pairs.", f"optimize: {optimize}",
                hint="tanx.numpy.einsum_path gives paths of pairs."))
        return list(optimize)
    if count <= 2:
        return [tuple(range(count))]
    if optimize is False:
        return _pairs_from_the_left(count)
    import opt_einsum
    return opt_einsum.contract_path(
        f"{','.join(names)}->{result}", *shapes, shapes=True,
        optimize="optimal" if optimize is True else optimize)[0]


def _pairs_from_the_left(count: int) -> list[tuple[int, ...]]:
    return [(0, 1)] * (count - 1) or [(0,)]


def _step(positions, meeting, made: str) -> Step:
    """How operands, given by their letters and sizes, become one with the letters ``made``."""
    stretched = [{c for c in letters if sizes[c] == 1 != other.get(c, 1)}
                 for (letters, sizes), (_, other) in zip(meeting, meeting[::-1])]
    wanted = [{*made}.union(*({*letters} - gone for k, ((letters, _), gone)
                              in enumerate(zip(meeting, stretched)) if k != i))
              for i in range(len(meeting))]
    left, changes = zip(*map(_changes, (letters for letters, _ in meeting), stretched, wanted))
    if len(meeting) == 1:
        return Step(positions, changes, None, False, _order(left[0], made))
    x, y = left
    batch = [c for c in made if c in x and c in y]
    summed = sorted(c for c in x if c in y and c not in made)
    swapped = _product_letters(y, x, batch, summed) == made
    if swapped:
        x, y = y, x
    numbers = (_places(x, summed), _places(y, summed)), (_places(x, batch), _places(y, batch))
    return Step(positions, changes, numbers, swapped,
                _order(_product_letters(x, y, batch, summed), made))


def _product_letters(x: str, y: str, batch, summed) -> str:
    return "".join([*batch, *(c for c in x + y if c not in batch and c not in summed)])


def _places(letters: str, some) -> tuple[int, ...]:
    return tuple(letters.index(c) for c in some)


def _order(letters: str, wanted: str) -> tuple[int, ...] | None:
    return None if letters == wanted else _places(letters, wanted)


def _changes(letters: str, stretched, wanted) -> tuple[str, tuple]:
    """The operations on one operand before the product, and the letters it has afterwards."""
    changes = []
    squeezed = tuple(d for d, c in enumerate(letters) if c in stretched)
    if squeezed:
        changes.append((lax.squeeze, squeezed))
        letters = "".join(c for c in letters if c not in stretched)
    counts = Counter(letters)
    summed = tuple(d for d, c in enumerate(letters) if counts[c] == 1 and c not in wanted)
    if summed:
        changes.append((_sum, summed))
        letters = "".join(c for d, c in enumerate(letters) if d not in summed)
    for letter in [c for c, n in counts.items() if n > 1]:
        places = tuple(d for d, c in enumerate(letters) if c == letter)
        gone = places[:-1] if letter in wanted else places
        changes.append((_diagonal, places))
        changes.append((_sum, gone))
        letters = "".join(c for d, c in enumerate(letters) if d not in gone)
    return letters, tuple(changes)


def _ready(x, dtype, changes):
    """Apply ``changes``, functions of an array and of dimensions, to an operand."""
    for change, dimensions in changes:
        if change is _sum:
            x = convert(x, dtype, x.aval.weak_type)
        x = change(x, dimensions)
    return x


def _sum(x, dimensions):
    return (lax.reduce_or if x.dtype.kind == "b" else lax.reduce_sum)(x, dimensions)


def _diagonal(x, dimensions):
    """``x`` where its indices along all of ``dimensions`` are equal, 0 elsewhere."""
    shape = [x.shape[d] for d in dimensions]
    indices = [lax.broadcasted_iota(np.uint32, shape, i) for i in range(len(shape))]
    equal = reduce(lax.bitwise_and, [lax.eq(i, j) for i, j in zip(indices, indices[1:])])
    if len(shape) < x.ndim:
        equal = lax.broadcast_in_dim(equal, x.shape, dimensions)
    return lax.select(equal, x, lax.full_like(x, 0))
