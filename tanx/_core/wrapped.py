"""Functions with transformations around them, and auxiliary results of the transformations.

A *transformation* is a function ``gen(f, *static, *args)`` that calls ``f``. Around a
:class:`WrappedFun` it gives another one; nothing runs until that is called. An auxiliary result
goes into a :class:`Store`, which can be read after the function has run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from ..errors import explain
from .naming import name_of

__all__ = ["EqualStore", "Store", "StoreException", "WrappedFun", "cache", "merge_linear_aux",
           "transformation", "transformation2", "transformation_with_aux",
           "transformation_with_aux2", "wrap_init"]


class StoreException(Exception):
    """A store was read before it was filled, or filled twice."""


_EMPTY = object()


class Store:
    """Holds one auxiliary result of a transformation."""

    __slots__ = ("_value",)

    def __init__(self) -> None:
        self._value: Any = _EMPTY

    def store(self, val) -> None:
        """Fill it; it must be empty."""
        if self._value is not _EMPTY:
            raise StoreException("Store occupied: the function was run twice.")
        self._value = val

    def reset(self) -> None:
        """Empty it, for another run."""
        self._value = _EMPTY

    @property
    def val(self):
        """The stored value."""
        if self._value is _EMPTY:
            raise StoreException("Store empty: the function was not run yet.")
        return self._value

    def __bool__(self) -> bool:
        return self._value is not _EMPTY


class EqualStore(Store):
    """As :class:`Store`; it may be filled again with an equal value."""

    __slots__ = ()

    def store(self, val) -> None:
        if self._value is not _EMPTY and self._value != val:
            raise StoreException(f"Store occupied by another value: {self._value} and {val}.")
        self._value = val


class WrappedFun:
    """A function, the transformations around it, and parameters that every call gets."""

    __slots__ = ("f", "f_transformed", "transforms", "stores", "params", "in_type", "debug_info",
                 "__weakref__")

    def __init__(self, f: Callable, f_transformed: Callable, transforms: tuple, stores: tuple,
                 params: tuple, in_type=None, debug_info=None):
        self.f, self.f_transformed = f, f_transformed
        self.transforms, self.stores, self.params = transforms, stores, params
        self.in_type, self.debug_info = in_type, debug_info

    @property
    def __name__(self) -> str:
        return name_of(self.f)

    def wrap(self, gen: Callable, gen_static_args: tuple, out_store: Store | None) -> WrappedFun:
        """The function with one more transformation around it."""
        given = gen_static_args if out_store is None else (out_store, *gen_static_args)
        return WrappedFun(self.f, partial(gen, self.f_transformed, *given),
                          ((gen, gen_static_args), *self.transforms), (out_store, *self.stores),
                          self.params, self.in_type, self.debug_info)

    def call_wrapped(self, *args, **kwargs):
        """Call the function through all its transformations."""
        return self.f_transformed(*args, **kwargs)

    def populate_stores(self, stores) -> None:
        """Fill the stores from those of another run."""
        for mine, other in zip(self.stores, stores):
            if mine is not None:
                mine.store(other)

    def replace_debug_info(self, debug_info) -> WrappedFun:
        """The same function with other names for messages."""
        return WrappedFun(self.f, self.f_transformed, self.transforms, self.stores, self.params,
                          self.in_type, debug_info)

    def with_unknown_names(self) -> WrappedFun:
        """The same function; the names of its arguments are not known."""
        return self.replace_debug_info(None)

    def _key(self) -> tuple:
        return self.f, self.transforms, self.params, self.in_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedFun) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        around = "".join(f"\n  {name_of(gen)}" for gen, _ in self.transforms)
        return f"WrappedFun of {self.__name__}{around}"


def wrap_init(f: Callable, params: dict | None = None, *, debug_info=None) -> WrappedFun:
    """A function without any transformation around it.

    >>> tanx.extend.linear_util.wrap_init(lambda x: x + 1).call_wrapped(2)
    3
    """
    with_params = partial(f, **params) if params else f
    return WrappedFun(f, with_params, (), (), tuple(sorted((params or {}).items())), None,
                      debug_info)


def _checked(name: str, fun) -> WrappedFun:
    if not isinstance(fun, WrappedFun):
        raise TypeError(explain(
            f"tanx.extend.linear_util.{name}", "a transformation takes a wrapped function.",
            f"given: {fun!r}", hint="tanx.extend.linear_util.wrap_init(f) makes one."))
    return fun


def transformation2(gen: Callable, fun: Any = _EMPTY, *gen_static_args):
    """Make a transformation from ``gen(f, *static, *args)``.

    >>> @tanx.extend.linear_util.transformation2
    ... def doubled(f, factor, x):
    ...     return f(factor * x)
    >>> doubled(tanx.extend.linear_util.wrap_init(lambda x: x + 1), 2).call_wrapped(5)
    11
    """
    if fun is _EMPTY:
        return wraps(gen)(partial(transformation2, gen))
    return _checked("transformation2", fun).wrap(gen, gen_static_args, None)


def transformation_with_aux2(gen: Callable, fun: Any = _EMPTY, *gen_static_args,
                             use_eq_store: bool = False, unk_names: bool = False):
    """As :func:`transformation2`, from ``gen(f, store, *static, *args)``; also returns a thunk.

    The thunk returns the value that ``gen`` stored.

    >>> @tanx.extend.linear_util.transformation_with_aux2
    ... def counted(f, store, *xs):
    ...     store.store(len(xs))
    ...     return f(*xs)
    >>> fun, count = counted(tanx.extend.linear_util.wrap_init(max))
    >>> fun.call_wrapped(1, 5, 2), count()
    (5, 3)
    """
    if fun is _EMPTY:
        return wraps(gen)(partial(transformation_with_aux2, gen, use_eq_store=use_eq_store))
    store = EqualStore() if use_eq_store else Store()
    wrapped = _checked("transformation_with_aux2", fun).wrap(gen, gen_static_args, store)
    return wrapped, lambda: store.val


def transformation(gen: Callable, fun: Any = _EMPTY, *gen_static_args):
    """As :func:`transformation2`, from a generator: it yields arguments, then the result.

    >>> @tanx.extend.linear_util.transformation
    ... def doubled(x):
    ...     y = yield (2 * x,), {}
    ...     yield y
    >>> doubled(tanx.extend.linear_util.wrap_init(lambda x: x + 1)).call_wrapped(5)
    11
    """
    if fun is _EMPTY:
        return wraps(gen)(partial(transformation, gen))
    return _checked("transformation", fun).wrap(partial(_run_generator, gen), gen_static_args, None)


def transformation_with_aux(gen: Callable, fun: Any = _EMPTY, *gen_static_args):
    """As :func:`transformation`; the generator yields the result and the auxiliary one.

    >>> @tanx.extend.linear_util.transformation_with_aux
    ... def counted(*xs):
    ...     y = yield xs, {}
    ...     yield y, len(xs)
    >>> fun, count = counted(tanx.extend.linear_util.wrap_init(max))
    >>> fun.call_wrapped(1, 5, 2), count()
    (5, 3)
    """
    if fun is _EMPTY:
        return wraps(gen)(partial(transformation_with_aux, gen))
    store = Store()
    wrapped = _checked("transformation_with_aux", fun).wrap(
        partial(_run_generator_with_aux, gen), gen_static_args, store)
    return wrapped, lambda: store.val


def _run_generator(gen, f, *args, **kwargs):
    steps = gen(*args, **kwargs)
    given, keywords = next(steps)
    return steps.send(f(*given, **keywords))


def _run_generator_with_aux(gen, f, store, *args, **kwargs):
    out, aux = _run_generator(gen, f, *args, **kwargs)
    store.store(aux)
    return out


def merge_linear_aux(aux1: Callable, aux2: Callable):
    """Which of two thunks has a function that has run: whether it is the first, and its result.

    >>> one, two = tanx.extend.linear_util.Store(), tanx.extend.linear_util.Store()
    >>> two.store("b")
    >>> tanx.extend.linear_util.merge_linear_aux(lambda: one.val, lambda: two.val)
    (False, 'b')
    """
    try:
        first = aux1()
    except StoreException:
        return False, aux2()
    try:
        aux2()
    except StoreException:
        return True, first
    raise StoreException("both stores occupied.")


def cache(call: Callable, *, explain: Callable | None = None) -> Callable:
    """Cache the results of ``call(wrapped_function, *args)``, by the function and the arguments.

    >>> @tanx.extend.linear_util.cache
    ... def run(fun, x):
    ...     return fun.call_wrapped(x)
    >>> run(tanx.extend.linear_util.wrap_init(abs), -3)
    3
    """
    known: dict[tuple, tuple[Any, tuple]] = {}

    def remembered(fun: WrappedFun, *args):
        key = (fun, *args)
        if key in known:
            result, stores = known[key]
            for store, value in zip(fun.stores, stores):
                if store is not None and value is not _EMPTY:
                    store.reset()
                    store.store(value)
            return result
        result = call(fun, *args)
        known[key] = result, tuple(_EMPTY if store is None else store._value
                                   for store in fun.stores)
        return result

    public: Any = wraps(call)(remembered)
    public.cache_clear = known.clear
    public.evict_function = lambda fun: None
    return public
