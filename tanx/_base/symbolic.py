"""Symbolic sizes: integers that are not known yet, as in ``float32[a,2*b + 1]``.

A size is a :class:`DimExpr`, a polynomial in variables such as ``a`` and in quotients, remainders,
maxima and minima of such polynomials. It replaces a number in shapes and in parameters of
equations: arithmetic gives other sizes, and comparisons are decided from bounds. Variables are 1 or
more, and a :class:`Scope` may have further constraints. A comparison that depends on the values
raises :class:`~tanx.errors.InconclusiveDimensionOperation`. Sizes that cannot be proved equal count
as different, so that ``a == 3`` is false.

:func:`evaluate` substitutes numbers for variables, and :mod:`tanx._core.instantiate` does so in
whole jaxprs.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any, NoReturn

from ..errors import InconclusiveDimensionOperation, explain
from .monomials import ONE, Factor, Monomial, Operation, rank, shown, times, without
from .symbolic_bounds import bounds
from .symbolic_text import parse
from .tuples import NamedTuple

__all__ = ["DimExpr", "Scope", "Hook", "as_value", "bounds", "common_sizes", "definitely",
           "evaluate", "index", "is_symbolic", "largest", "least", "parse_dim", "scope_of",
           "slice_indices", "variables_of"]


Dim = Any  # int or DimExpr


class Scope:
    """Facts about variables: constraints such as ``a >= 4``, ``b <= a`` and ``c == 2*b``.

    >>> scope = Scope(["a >= 4"])
    >>> parse_dim("2*a", scope) >= 8
    True
    """

    def __init__(self, constraints_str: Iterable[str] = ()):
        if isinstance(constraints_str, str):
            raise ValueError(explain(
                "tanx.export.SymbolicScope", "constraints must be a sequence of strings.",
                f"constraints: {constraints_str!r}", hint=f"[{constraints_str!r}]."))
        self.made: Any = None  # the line of the user's code, if known
        self.constraints: list[Constraint] = []
        self.rules: dict[Factor, Dim] = {}  # factors that equal other sizes
        self.products: dict[Monomial, Dim] = {}  # products that equal other sizes
        self.positive: list[DimExpr] = []  # expressions that are 0 or more
        self.ranges: dict[str, tuple[float, float]] = {}
        for text in constraints_str:
            self._add(text)

    def _add(self, text: str) -> None:
        if not isinstance(text, str):
            raise ValueError(explain("tanx.export.SymbolicScope", "a constraint must be a string.",
                                     f"constraint: {text!r}"))
        found = re.fullmatch(r"(.*?)(==|>=|<=)(.*)", text)
        if found is None:
            raise ValueError(explain(
                "tanx.export.SymbolicScope", "a constraint needs ==, >= or <=.",
                f"constraint: {text!r}"))
        left, right = parse_dim(found[1], self), parse_dim(found[3], self)
        difference = right - left if found[2] == "<=" else left - right
        self.constraints.append(Constraint(text.strip(), found[2] == "==", difference))
        if isinstance(difference, int):
            if difference < 0 or (found[2] == "==" and difference):
                raise ValueError(explain("tanx.export.SymbolicScope",
                                         "a constraint never holds.", f"constraint: {text!r}"))
            return
        known = [difference, -difference] if found[2] == "==" else [difference]
        if found[2] == "==" and self._equate(left, right, difference):
            known = [_made(dict(size.terms), self) for size in self.positive]
            self.positive.clear()
        self.positive += [size for size in known if type(size) is DimExpr]
        self.ranges.clear()

    def _equate(self, left: Dim, right: Dim, difference: DimExpr) -> bool:
        """Record that two sizes are equal, if possible as a rule that replaces one of them."""
        for one, other in ((left, right), (right, left)):
            factor, terms = _single(one), _terms(one)
            if factor is not None and factor not in _factors(other):
                self.rules[factor] = other
                return True
            # Only a sum of fewer factors replaces a product, so that replacing terminates.
            if factor is None and len(terms) == 1 and terms[0][1] == 1 and (
                    _degree(other) < _degree(one)):
                self.products[terms[0][0]] = other
                return True
        for monomial, count in difference.terms:  # n * (e // n) == e says that e % n is 0
            if len(monomial) == 1 and isinstance(monomial[0][0], Operation):
                quotient = monomial[0][0]
                if quotient.name == "floordiv" and abs(count) == quotient.second and (
                        difference * (1 if count > 0 else -1)
                        == quotient.second * _made({monomial: 1}, self) - quotient.first):
                    self.rules[Operation("mod", quotient.first, quotient.second)] = 0
                    return True
        return False

    def range_of(self, name: str) -> tuple[float, float]:
        """The bounds of a variable."""
        if name not in self.ranges:
            self.ranges[name] = (1, inf)  # during the search
            self.ranges[name] = bounds(DimExpr(((((name, 1),), 1),), self))
        return self.ranges[name]

    def __str__(self) -> str:
        known = "".join(f"\n  {c.text}" for c in self.constraints)
        where = f"scope made at {self.made or 'an unknown line'}"
        return f"{where} with constraints:{known}" if known else where

    __repr__ = __str__


class Constraint(NamedTuple):
    """A constraint as text, and its expression that is 0, or else 0 or more."""

    text: str
    is_equation: bool
    difference: Any


class DimExpr:
    """A size that is not known yet.

    >>> a, b = tanx.export.symbolic_shape("a, b")
    >>> (2 * a + b) * a, (4 * a + 3) // 2, a % 3
    (a*b + 2*a^2, 2*a + 1, mod(a, 3))
    """

    __slots__ = ("terms", "scope", "_hash")
    __array_ufunc__ = None  # NumPy's numbers defer to this class

    def __init__(self, terms: tuple[tuple[Monomial, int], ...], scope: Scope):
        self.terms = terms  # the largest monomial first, the constant last; no coefficient is 0
        self.scope = scope
        self._hash = hash(terms)

    def with_terms(self, counts: Mapping[Monomial, int]) -> Dim:
        """The size of some terms, in the same scope."""
        return _made(counts, self.scope)

    # -- arithmetic: with sizes it gives sizes, with other values arrays ---------------------------

    def _apply(self, other, on_sizes: Callable, on_arrays: Callable):
        size = _as_size(other)
        if size is None:
            if isinstance(other, str | bytes | type(None) | tuple | list):
                return NotImplemented
            return on_arrays(as_value(self), as_value(other))
        if isinstance(size, DimExpr) and size.scope is not self.scope:
            raise _other_scope(self, size)
        return on_sizes(self, size)

    def __add__(self, other):
        return self._apply(other, _sum, operator.add)

    __radd__ = __add__

    def __sub__(self, other):
        return self._apply(other, lambda a, b: _sum(a, _product(b, -1)), operator.sub)

    def __rsub__(self, other):
        return self._apply(other, lambda a, b: _sum(b, _product(a, -1)), lambda a, b: b - a)

    def __mul__(self, other):
        return self._apply(other, _product, operator.mul)

    __rmul__ = __mul__

    def __floordiv__(self, other):
        return self._apply(other, lambda a, b: _divided(a, b)[0], operator.floordiv)

    def __rfloordiv__(self, other):
        return self._apply(other, lambda a, b: _divided(b, a)[0], lambda a, b: b // a)

    def __mod__(self, other):
        return self._apply(other, lambda a, b: _divided(a, b)[1], operator.mod)

    def __rmod__(self, other):
        return self._apply(other, lambda a, b: _divided(b, a)[1], lambda a, b: b % a)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __truediv__(self, other):
        return as_value(self) / as_value(other)

    def __rtruediv__(self, other):
        return as_value(other) / as_value(self)

    def __pow__(self, other):
        if type(other) is int and other >= 0:
            found: Dim = 1
            for _ in range(other):
                found = found * self
            return found
        return as_value(self) ** as_value(other)

    def __rpow__(self, other):
        return as_value(other) ** as_value(self)

    def __neg__(self):
        return _product(self, -1)

    def __pos__(self):
        return self

    # -- comparisons and conversions ---------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is DimExpr and self.terms == other.terms
                                 and self.scope is other.scope)

    def __hash__(self) -> int:
        return self._hash

    def __ge__(self, other) -> bool:
        return _decided(self, other, ">=", self - other)

    def __gt__(self, other) -> bool:
        return _decided(self, other, ">", self - other - 1)

    def __le__(self, other) -> bool:
        return _decided(self, other, "<=", other - self)

    def __lt__(self, other) -> bool:
        return _decided(self, other, "<", other - self - 1)

    def __bool__(self) -> bool:
        low, high = bounds(self)
        if low > 0 or high < 0:
            return True
        raise _inconclusive(f"whether {self} is 0 depends on the sizes.", self)

    def __int__(self) -> NoReturn:
        raise _inconclusive(f"the size {self} is not known.", self)

    def __jax_array__(self):
        return as_value(self)

    def __ceil__(self) -> DimExpr:
        return self

    __floor__ = __trunc__ = __ceil__

    def __array__(self, dtype=None, copy=None) -> NoReturn:
        raise _inconclusive(f"the size {self} is not known, so NumPy cannot compute with it.", self)

    def __str__(self) -> str:
        return shown(self.terms)

    __repr__ = __str__

    def __reduce__(self) -> NoReturn:
        raise TypeError(explain("tanx.export", "symbolic sizes cannot be pickled.", f"size: {self}",
                                hint="str(size) is text that symbolic_shape reads."))

    def __copy__(self) -> DimExpr:
        return self

    def __deepcopy__(self, memo) -> DimExpr:
        return self


def index(value: Any) -> Dim:
    """A size as by ``operator.index``; unchanged if it is symbolic."""
    return value if type(value) is DimExpr else operator.index(value)


def definitely(answer: Callable[[], bool]) -> bool:
    """Whether a condition holds for all sizes: False if it depends on them.

    >>> a, = tanx.export.symbolic_shape("a")
    >>> definitely(lambda: a > 10), definitely(lambda: a > 0)
    (False, True)
    """
    try:
        return answer()
    except InconclusiveDimensionOperation:
        return False


def slice_indices(item: slice, size: Dim) -> tuple[Dim, Dim, int]:
    """As ``item.indices(size)``, for sizes that may be symbolic."""
    if type(size) is int and type(item.start) is not DimExpr and type(item.stop) is not DimExpr:
        return item.indices(size)
    step = 1 if item.step is None else operator.index(item.step)
    first, last = (0, size) if step > 0 else (-1, size - 1)

    def place(end: Any, default: Dim) -> Dim:
        if end is None:
            return default
        end = index(end)
        from_end = end < 0
        return largest(first, least(last, end + size if from_end else end))

    start, stop = place(item.start, first if step > 0 else last), place(
        item.stop, last if step > 0 else first)
    return start, stop, step


def common_sizes(*shapes: tuple) -> tuple:
    """The shape to which all broadcast; by NumPy if no size is symbolic."""
    rank = max(map(len, shapes))
    found: list[Dim] = []
    for axis in range(-rank, 0):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        if len(sizes) > 1:
            raise ValueError(f"sizes {', '.join(map(str, sizes))} do not broadcast")
        found.append(sizes.pop() if sizes else 1)
    return tuple(found)


def is_symbolic(value: Any) -> bool:
    """Whether a value is a symbolic size."""
    return type(value) is DimExpr


def _as_size(value: Any) -> Dim:
    """A value as a size; None if it is not a size."""
    if type(value) in (int, DimExpr):
        return value
    if hasattr(value, "aval") or isinstance(value, float | complex):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


class Hook:
    """The primitive whose result is the value of a size; :mod:`tanx._ops.create` sets it."""

    primitive: Any = None


def as_value(value: Any) -> Any:
    """A size as a number for computations; other values unchanged."""
    return Hook.primitive.bind(dim=value) if type(value) is DimExpr else value


# -- polynomials -----------------------------------------------------------------------------------


def _terms(size: Dim) -> tuple[tuple[Monomial, int], ...]:
    if type(size) is DimExpr:
        return size.terms
    return ((ONE, size),) if size else ()


def _scope(*sizes: Dim) -> Scope:
    return next(size.scope for size in sizes if type(size) is DimExpr)


def _made(counts: Mapping[Monomial, int], scope: Scope) -> Dim:
    """The size with some coefficients, after applying the rules of its scope."""
    if scope.rules or scope.products:
        counts = _with_rules(counts, scope)
    left = {monomial: count for monomial, count in counts.items() if count}
    if not left.keys() - {ONE}:
        return left.get(ONE, 0)
    return DimExpr(tuple(sorted(left.items(), key=rank, reverse=True)), scope)


def _with_rules(counts: Mapping[Monomial, int], scope: Scope) -> Mapping[Monomial, int]:
    """The coefficients after replacing expressions by the rules of the scope."""
    found: dict[Monomial, int] = {}
    changed = False
    for monomial, count in counts.items():
        parts: list[tuple[Dim, int]] = []
        for factor, power in monomial:
            if factor in scope.rules:
                parts.append((scope.rules[factor], power))
            elif _is_exact(factor, count, monomial, scope):
                parts.append((factor.first, 1))  # type: ignore[union-attr]
                count //= factor.second  # type: ignore[union-attr]
            else:
                continue
            monomial = tuple(item for item in monomial if item[0] != factor)
        for product, size in scope.products.items():
            while (rest := without(monomial, product)) is not None:
                monomial = rest
                parts.append((size, 1))
        replaced: Dim = count
        for size, power in parts:
            replaced = _product(replaced, size ** power)
        changed = changed or bool(parts)
        for other, number in _terms(replaced):
            whole = times(monomial, other)
            found[whole] = found.get(whole, 0) + number
    return _with_rules(found, scope) if changed else found


def _is_exact(factor: Factor, count: int, monomial: Monomial, scope: Scope) -> bool:
    """Whether a term is n * (e // n) where n is known to divide e."""
    return (isinstance(factor, Operation) and factor.name == "floordiv"
            and type(factor.second) is int and count % factor.second == 0
            and monomial == ((factor, 1),)
            and scope.rules.get(Operation("mod", factor.first, factor.second)) == 0)


def _degree(size: Dim) -> int:
    """The number of factors of the largest product of a size."""
    return max((sum(power for _, power in monomial) for monomial, _ in _terms(size)), default=0)


def _sum(a: Dim, b: Dim) -> Dim:
    if type(a) is int and type(b) is int:
        return a + b
    counts = dict(_terms(a))
    for monomial, count in _terms(b):
        counts[monomial] = counts.get(monomial, 0) + count
    return _made(counts, _scope(a, b))


def _product(a: Dim, b: Dim) -> Dim:
    if type(a) is int and type(b) is int:
        return a * b
    counts: dict[Monomial, int] = {}
    for one, count in _terms(a):
        for other, number in _terms(b):
            whole = times(one, other)
            counts[whole] = counts.get(whole, 0) + count * number
    return _made(counts, _scope(a, b))


def _divided(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """Quotient and remainder; as operations, if polynomial division does not decide them."""
    if type(b) is int and b == 0:
        raise ZeroDivisionError("a symbolic size is divided by 0")
    quotient, rest = _long_division(a, b)
    if type(rest) is int and type(b) is int:
        return quotient + rest // b, rest % b
    scope = _scope(a, b)
    low, _ = bounds(rest)
    if low >= 0 and bounds(b - 1 - rest)[0] >= 0:  # 0 <= rest < b
        return quotient, rest
    return (quotient + _operation("floordiv", rest, b, scope),
            _operation("mod", rest, b, scope))


def _long_division(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """Sizes such that a = quotient * b + rest, with the largest possible quotient."""
    (lead, divisor), *_ = _terms(b)
    quotient: Dim = 0
    for monomial, count in _terms(a):
        left = without(monomial, lead)
        part = abs(count) // abs(divisor) * (1 if count * divisor > 0 else -1)
        if part and left is not None and (not lead or count % divisor == 0):
            term = _made({left: part}, _scope(a, b)) if left else part
            if lead and len(_terms(b)) > 1:  # one step of a long division, and then the next
                more, rest = _long_division(a - term * b, b)
                return quotient + term + more, rest
            quotient = quotient + term
    return quotient, a - quotient * b


def _operation(name: str, first: Dim, second: Dim, scope: Scope) -> Dim:
    return _made({((Operation(name, first, second), 1),): 1}, scope)


def largest(a: Dim, b: Dim) -> Dim:
    """The larger one of two sizes.

    >>> a, b = tanx.export.symbolic_shape("a, b")
    >>> largest(a, 1), largest(a, b)
    (a, max(a, b))
    """
    return _extreme("max", a, b, bounds(a - b))


def least(a: Dim, b: Dim) -> Dim:
    """The smaller one of two sizes."""
    return _extreme("min", a, b, bounds(b - a))


def _extreme(name: str, a: Dim, b: Dim, difference: tuple[float, float]) -> Dim:
    if difference[0] >= 0:
        return a
    if difference[1] <= 0:
        return b
    return _operation(name, a, b, _scope(a, b))


def _single(size: Dim) -> Factor | None:
    """The only factor of a size, if it has just one; else None."""
    if type(size) is DimExpr and len(size.terms) == 1 and size.terms[0][1] == 1:
        (factor, power), *more = size.terms[0][0]
        return factor if power == 1 and not more else None
    return None


def _factors(size: Dim) -> set[Factor]:
    """The factors in a size, including those inside of operations."""
    found: set[Factor] = set()
    for monomial, _ in _terms(size):
        for factor, _ in monomial:
            found.add(factor)
            if isinstance(factor, Operation):
                found |= _factors(factor.first) | _factors(factor.second)
    return found


def variables_of(size: Dim) -> set[str]:
    """The names of the variables in a size."""
    return {factor for factor in _factors(size) if isinstance(factor, str)}


def scope_of(sizes: Iterable[Dim]) -> Scope | None:
    """The scope of sizes, None if all are known; an error if there are several."""
    first: DimExpr | None = None
    for size in sizes:
        if type(size) is DimExpr:
            if first is not None and size.scope is not first.scope:
                raise _other_scope(first, size)
            first = size if first is None else first
    return None if first is None else first.scope


def _decided(left: Dim, right: Dim, sign: str, difference: Dim) -> bool:
    """Whether a difference is 0 or more."""
    low, high = bounds(difference)
    if low >= 0:
        return True
    if high < 0:
        return False
    raise _inconclusive(f"whether {left} {sign} {right} depends on the sizes.", difference)


def _inconclusive(rule: str, size: Dim) -> InconclusiveDimensionOperation:
    known = [c.text for c in _scope(size).constraints]
    return InconclusiveDimensionOperation(explain(
        "tanx.export", rule, *([f"known: {', '.join(known)}"] if known else []),
        hint="symbolic_shape(..., constraints=[...]) adds constraints."))


def _other_scope(a: DimExpr, b: DimExpr) -> ValueError:
    return ValueError(explain(
        "tanx.export", "symbolic sizes of different scopes do not mix.",
        f"{a}: {a.scope}", f"{b}: {b.scope}",
        hint="make all in one call of symbolic_shape, or pass the same scope to each."))


# -- text and values -------------------------------------------------------------------------------

_OPERATIONS: dict[str, Callable[[Dim, Dim], Dim]] = {
    "floordiv": operator.floordiv, "mod": operator.mod, "max": largest, "min": least}


def parse_dim(text: str, scope: Scope) -> Dim:
    """A size from its text; ValueError if the text is not a size.

    >>> parse_dim("2*a + floordiv(b, 2) - 1", Scope())
    floordiv(b, 2) + 2*a - 1
    """
    return parse(text, lambda name: _made({((name, 1),): 1}, scope), _OPERATIONS)


def evaluate(size: Dim, values: Mapping[str, Dim]) -> Dim:
    """A size with other sizes, or numbers, in place of its variables.

    >>> a, b = tanx.export.symbolic_shape("a, b")
    >>> evaluate(2 * a + a // b, {"a": 7, "b": 2})
    17
    """
    if type(size) is not DimExpr:
        return size
    total: Dim = 0
    for monomial, count in size.terms:
        for factor, power in monomial:
            if isinstance(factor, str):
                value = values[factor]
            else:
                value = _OPERATIONS[factor.name](evaluate(factor.first, values),
                                                 evaluate(factor.second, values))
            count = count * value ** power
        total = total + count
    return total
