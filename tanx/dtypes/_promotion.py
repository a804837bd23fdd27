"""Promotion: the least type to which several operands can be converted.

It uses a lattice of *nodes*. A node is a dtype, or one of the Python classes ``int``, ``float`` and
``complex``, which represent weakly typed values: Python scalars and values computed only from them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
from ml_dtypes import finfo, iinfo

from .._base.config import enable_x64, numpy_dtype_promotion
from .._base.flags import strict as checks
from ..errors import explain
from ._kinds import issubdtype, no_number, scalar_type_of, to_floating_dtype
from ._requests import canonicalize_dtype, insist, own_dtype, requested_dtype
from ._scalars import ScalarMeta
from ._types import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    COMPLEXES,
    FLOAT32,
    FLOAT64,
    FLOATS,
    HALF,
    INT64,
    INTS,
    PYTHON_SCALARS,
    SETTLED,
    SMALL_FLOATS,
    SMALL_INTS,
    UINTS,
    WEAK,
    DType,
    ExtendedDType,
    as_dtype,
    by_name,
    float0,
    is_extended,
    short_name,
)

__all__ = ["TypePromotionError", "holds", "promote_types", "result_type"]

Node = Any  # np.dtype, or one of int, float, complex


class TypePromotionError(ValueError):
    """Types that have no common type, or none without an explicit cast.

    Eight-bit floats and integers below eight bits do not promote implicitly; with
    ``numpy_dtype_promotion("strict")`` only Python scalars do. Cast one operand:

    >>> promote_types("float8_e4m3fn", "float32")
    Traceback (most recent call last):
        ...
    tanx.dtypes.TypePromotionError: tanx.numpy.promote_types: these types do not promote implicitly.
      types: f8_e4m3fn, f32
      Hint: cast one of them, for example x.astype('float32').
    """


def _above(edges: dict[Node, tuple[Node, ...]]) -> dict[Node, frozenset[Node]]:
    """For each node, the nodes it may become: itself, and those that its successors may become."""
    above: dict[Node, frozenset[Node]] = {}

    def visit(node: Node) -> frozenset[Node]:
        if node not in above:
            above[node] = frozenset({node}).union(*map(visit, edges.get(node, ())))
        return above[node]

    for node in (*by_name.values(), int, float, complex):
        visit(node)
    return above


def _dtypes(*names: str) -> tuple[np.dtype, ...]:
    return tuple(by_name[name] for name in names)


def _chain(*names: str) -> dict[Node, tuple[Node, ...]]:
    return {by_name[a]: (by_name[b],) for a, b in zip(names, names[1:], strict=False)}


# An edge goes from a node to those it may become next; types below eight bits have no edges.
upward = _above({
    BOOL: (int,),
    int: _dtypes(*SMALL_INTS, "int8", "uint8"),
    **_chain(*INTS),
    **{by_name[f"uint{n}"]: _dtypes(f"int{2 * n}", f"uint{2 * n}") for n in (8, 16, 32)},
    INT64: (float,),
    by_name["uint64"]: (float,),
    float: (complex, *_dtypes(*SMALL_FLOATS, "bfloat16", "float16")),
    **dict.fromkeys(_dtypes("bfloat16", "float16"), (FLOAT32,)),
    FLOAT32: (FLOAT64, COMPLEX64),
    FLOAT64: (COMPLEX128,),
    complex: (COMPLEX64,),
    COMPLEX64: (COMPLEX128,),
})
_strictly_upward = _above({
    int: (float, *_dtypes(*SMALL_INTS, *INTS, *UINTS)),
    float: (complex, *_dtypes(*SMALL_FLOATS, *FLOATS)),
    complex: _dtypes(*COMPLEXES),
})


@functools.lru_cache(maxsize=8192)
def _join(a: Node, b: Node, strict: bool) -> Node | None:
    """The least dtype that both may become, or None if there is no such dtype.

    The least of the common nodes is the one below all the others.
    """
    above = _strictly_upward if strict else upward
    common = above[a] & above[b]
    return next((node for node in common if above[node] == common), None)


def _join_all(nodes: list[Node], function: str) -> Node:
    """The least dtype that all may become; TypePromotionError if there is no such dtype."""
    strict = checks.value and numpy_dtype_promotion.value == "strict"
    joined = nodes[0]
    for node in nodes:
        if node is joined:
            continue
        if node not in upward or joined not in upward:
            return _same(nodes, function)
        joined = _join(joined, node, strict)
        if joined is None:
            raise TypePromotionError(_no_promotion(nodes, strict, function))
    if checks.value and numpy_dtype_promotion.value == "lossless" and not isinstance(joined, type):
        _check_lossless(nodes, canonicalize_dtype(joined), function)
    return joined


def _check_lossless(nodes: list[Node], joined: np.dtype, function: str) -> None:
    lost = [node for node in nodes if not isinstance(node, type) and not holds(joined, node)]
    if lost:
        raise TypePromotionError(explain(
            function, f"{short_name(joined)} does not have all numbers of {short_name(lost[0])}, "
            'and numpy_dtype_promotion is "lossless".', _types_of(nodes),
            hint="cast with x.astype, or change that mode."))


@functools.lru_cache(maxsize=1024)
def holds(wide: np.dtype, narrow: np.dtype) -> bool:
    """Whether ``wide`` can represent every number of ``narrow``.

    >>> holds(np.dtype("float32"), np.dtype("int16")), holds(np.dtype("float32"), np.dtype("int32"))
    (True, False)
    """
    if wide == narrow or narrow == BOOL:
        return True
    part = to_floating_dtype(wide) if wide.kind == "c" else wide
    if issubdtype(narrow, np.integer):
        most, least = int(iinfo(narrow).max), int(iinfo(narrow).min)
        if issubdtype(part, np.integer):
            return int(iinfo(part).min) <= least and most <= int(iinfo(part).max)
        return issubdtype(part, np.floating) and (
            finfo(part).nmant + 1 >= most.bit_length() and most <= float(finfo(part).max))
    if narrow.kind == "c":
        return wide.kind == "c" and holds(part, to_floating_dtype(narrow))
    if not (issubdtype(part, np.floating) and issubdtype(narrow, np.floating)):
        return False
    return (finfo(part).nmant >= finfo(narrow).nmant and finfo(part).maxexp >= finfo(narrow).maxexp
            and finfo(part).minexp <= finfo(narrow).minexp)


def _same(nodes: list[Node], function: str) -> Node:
    """The common type of keys or ``float0``, which do not promote: all must have one type."""
    if all(node == nodes[0] for node in nodes):
        return nodes[0]
    if any(map(is_extended, nodes)):
        raise no_number(next(filter(is_extended, nodes)), function, _types_of(nodes))
    raise ValueError(explain(
        function, "only booleans and numbers promote to a common type.", _types_of(nodes)))


def _types_of(nodes: list[Node]) -> str:
    names = [f"Python {node.__name__}" if isinstance(node, type) else short_name(node)
             for node in dict.fromkeys(nodes)]
    return f"types: {', '.join(names)}"


def _no_promotion(nodes: list[Node], strict: bool, function: str) -> str:
    if strict:
        return explain(
            function, 'types must agree while numpy_dtype_promotion is "strict".',
            _types_of(nodes), hint="cast with x.astype, or change that mode.")
    return explain(function, "these types do not promote implicitly.", _types_of(nodes),
                   hint="cast one of them, for example x.astype('float32').")


def _read_typed(x: Any) -> Node:
    """The node of an array, tracer or abstract value: its type; booleans count as strong."""
    return scalar_type_of(x.dtype) if x.weak_type and x.dtype.kind != "b" else x.dtype


def _read_numpy(x: Any) -> Node:
    """The node of a NumPy value or scalar type, which follows ``enable_x64`` silently."""
    found = x.dtype
    if found in SETTLED:
        return found
    if found in HALF:
        return canonicalize_dtype(found)
    return requested_dtype(found, "tanx.numpy.result_type")


def _read_dtype(x: Any) -> Node:
    """The node of a dtype, which follows ``enable_x64`` like an explicit request."""
    return x if x in SETTLED else requested_dtype(x, "tanx.numpy.result_type")


def _read_name(x: Any) -> Node:
    """The node of another name of a type; Python's classes of numbers are weak."""
    return x if x in WEAK else requested_dtype(x, "tanx.numpy.result_type")


def _read_other(x: Any) -> Node:
    """The node of any other object, which must have a dtype."""
    found = own_dtype(x)
    return scalar_type_of(found) if getattr(x, "weak_type", False) else found


# Functions that return the node of an operand, by class; filled on demand.
_readers: dict[type, Callable[[Any], Node]] = {}


def node(x: Any) -> Node:
    """The node of an operand of ``result_type``: a value, or the name of a type."""
    cls = type(x)
    if cls not in _readers:
        _readers[cls] = _choose_reader(cls)
    return _readers[cls](x)


def _choose_reader(cls: type) -> Callable[[Any], Node]:
    if issubclass(cls, (np.ndarray, np.generic, ScalarMeta)):
        return _read_numpy
    if issubclass(cls, (np.dtype, ExtendedDType)):
        return _read_dtype
    if issubclass(cls, (type, str, type(None))):
        return _read_name
    for python_class, dtype in PYTHON_SCALARS.items():
        if issubclass(cls, python_class):
            node = dtype if python_class is bool else python_class
            return lambda x: node
    return _read_typed if hasattr(cls, "dtype") and hasattr(cls, "weak_type") else _read_other


@overload
def result_type(*args: Any, return_weak_type_flag: Literal[True]) -> tuple[DType, bool]: ...
@overload
def result_type(*args: Any, return_weak_type_flag: Literal[False] = False) -> DType: ...


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The type to which ``args``, values or types, promote; see :func:`promote_types`.

    With ``return_weak_type_flag``, also whether the result is weakly typed, as it is when all
    operands are Python scalars.

    >>> result_type("int8", 1), result_type("int8", 1.0), result_type("int8", "uint8")
    (dtype('int8'), dtype('float32'), dtype('int16'))
    """
    nodes = []
    for arg in args:
        nodes.append((_readers.get(type(arg)) or node)(arg))
    if len(nodes) == 2 and nodes[0] is nodes[1] and nodes[0] in SETTLED:
        return (nodes[0], False) if return_weak_type_flag else nodes[0]
    if not nodes:
        raise ValueError(explain(
            "tanx.numpy.result_type", "there must be at least one array or type."))
    joined = _join_all(nodes, "tanx.numpy.result_type")
    weak = joined in WEAK
    if weak:
        joined = canonicalize_dtype(joined)
    elif joined in HALF and len(nodes) > 1 and not enable_x64.value:
        joined = _without_x64(joined, nodes)
    return (joined, weak) if return_weak_type_flag else joined


def _without_x64(joined: np.dtype, nodes: list[Node]) -> np.dtype:
    """The type without 64 bits that come only from promotion, not from an operand."""
    if any(node in HALF for node in nodes) and insist(joined, "tanx.numpy.result_type"):
        return joined
    return HALF[joined]


def promote_types(a: Any, b: Any) -> np.dtype:
    """The least type that both ``a`` and ``b`` may become.

    Python's ``int``, ``float`` and ``complex`` are weak: types of the same kind win over them.
    Without ``enable_x64``, the result has 64 bits only if an operand has.

    >>> promote_types("int16", "uint16"), promote_types("int64", "float16")
    (dtype('int32'), dtype('float16'))
    >>> promote_types(int, "int8")
    dtype('int8')
    """
    nodes: list[Node] = []
    for x in (a, b):
        nodes.append(x if x in WEAK else as_dtype(x))
        if isinstance(nodes[-1], np.dtype) and nodes[-1] not in upward and nodes[-1] != float0:
            raise ValueError(explain(
                "tanx.numpy.promote_types", "arrays hold booleans, numbers or keys.",
                f"dtype: {nodes[-1]}"))
    joined = _join_all(nodes, "tanx.numpy.promote_types")
    if joined in HALF and not enable_x64.value and not any(node in HALF for node in nodes):
        return HALF[joined]
    return as_dtype(joined)
