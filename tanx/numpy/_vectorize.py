"""``vectorize``: functions of scalars or small arrays, broadcast over larger arrays."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection

from .._api.arguments import check_callable
from .._api.batching import vmap
from .._base import config
from ..errors import explain
from ._creation import asarray
from ._promotion import refuse_rank_promotion, typeof
from ._shape import broadcast_shapes, squeeze

__all__ = ["vectorize"]

CoreDims = tuple[str, ...]


def vectorize(pyfunc, *, excluded=frozenset(), signature=None):
    """``pyfunc`` as a function that broadcasts its arguments, by :func:`tanx.vmap`.

    Without a ``signature``, ``pyfunc`` is a function of scalars. A signature such as
    ``"(m,n),(n)->(m)"`` names the last dimensions of its arguments and results: ``pyfunc`` receives
    these whole, and is mapped over the dimensions in front of them, which broadcast. Arguments in
    ``excluded``, by position or by name, are passed unchanged; so is None.

    >>> distance = jnp.vectorize(lambda x, y: jnp.abs(x - y).max(), signature="(n),(n)->()")
    >>> distance(jnp.zeros((4, 1, 3)), jnp.ones((5, 3))).shape
    (4, 5)
    """
    check_callable("tanx.numpy.vectorize", pyfunc)
    _check_excluded(excluded)
    inputs, outputs = (None, None) if signature is None else _parse(signature)

    @functools.wraps(pyfunc)
    def vectorized(*args, **kwargs):
        strange = sorted(name for name, value in kwargs.items()
                         if name not in excluded and value is not None)
        if strange:
            raise TypeError(explain(
                "tanx.numpy.vectorize", "only positional arguments are mapped.",
                f"given by name: {', '.join(strange)}",
                hint="pass them by position, or list them in excluded."))
        positions = [i for i in range(len(args)) if i not in excluded]
        if inputs is not None and len(positions) != len(inputs):
            raise TypeError(explain(
                "tanx.numpy.vectorize", f"the signature has {len(inputs)} arguments.",
                f"signature: {signature}", f"given:     {len(positions)}"))
        cores = dict(zip(positions, inputs or ((),) * len(positions)))
        mapped = [i for i in positions if args[i] is not None]
        missing = [i for i in positions if args[i] is None and cores[i]]
        if missing:
            raise ValueError(explain(
                "tanx.numpy.vectorize", "None has no dimensions that the signature could name.",
                f"signature: {signature}", f"positions: {', '.join(map(str, missing))}",
                hint="list them in excluded."))

        def of_mapped(*values):
            whole = list(args)
            for i, value in zip(mapped, values):
                whole[i] = value
            return pyfunc(*whole, **kwargs)

        return _broadcast(of_mapped, [asarray(args[i]) for i in mapped],
                          [cores[i] for i in mapped], outputs, signature)

    return vectorized


def _check_excluded(excluded: Collection) -> None:
    if any(not isinstance(x, int | str) for x in excluded):
        raise TypeError(explain("tanx.numpy.vectorize", "excluded holds positions and names.",
                                f"excluded: {excluded}"))
    if any(isinstance(x, int) and x < 0 for x in excluded):
        raise ValueError(explain("tanx.numpy.vectorize", "positions count from the front.",
                                 f"excluded: {excluded}"))


_CORE = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = rf"(?:{_CORE}(?:,{_CORE})*)?->{_CORE}(?:,{_CORE})*"


def _parse(signature: str) -> tuple[tuple[CoreDims, ...], tuple[CoreDims, ...]]:
    """The names of the core dimensions of arguments and results.

    >>> _parse("(m,n),(n)->(m)")
    ((('m', 'n'), ('n',)), (('m',),))
    """
    compact = signature.replace(" ", "")
    if not re.fullmatch(_SIGNATURE, compact):
        raise ValueError(explain(
            "tanx.numpy.vectorize", "the signature cannot be read.", f"signature: {signature}",
            hint="an example is '(m,n),(n)->(m)'."))
    left, right = (tuple(tuple(re.findall(r"\w+", core)) for core in re.findall(_CORE, side))
                   for side in compact.split("->"))
    return left, right


def _broadcast(function: Callable, args: list, cores, outputs, signature: str | None):
    """``function`` mapped over the leading dimensions of ``args``, which broadcast together."""
    sizes: dict[str, int] = {}
    for x, core in zip(args, cores):
        if x.ndim < len(core):
            raise ValueError(explain(
                "tanx.numpy.vectorize", f"an argument has no dimensions for ({','.join(core)}).",
                f"argument:  {typeof(x)}", f"signature: {signature}"))
        _agree(sizes, x.shape[x.ndim - len(core):], core, signature)
    leads = [x.shape[:x.ndim - len(core)] for x, core in zip(args, cores)]
    rank = len(broadcast_shapes(*leads))
    if config.numpy_rank_promotion.value != "allow" and any(
            len(lead) not in (0, rank) for lead in leads):
        refuse_rank_promotion("vectorize", args)

    def checked(*values):
        result = function(*values)
        if outputs is not None:
            _check_results(result, outputs, dict(sizes), signature)
        return result

    mapped = checked
    for position in range(1, rank + 1):  # counted from the last of the leading dimensions
        axes = tuple(0 if len(lead) >= position and lead[-position] != 1 else None
                     for lead in leads)
        if any(axis is not None for axis in axes):
            mapped = vmap(mapped, axes)
        else:
            mapped = vmap(mapped, axes, axis_size=1)
    squeezed = [squeeze(x, [i for i, n in enumerate(lead) if n == 1])
                for x, lead in zip(args, leads)]
    return mapped(*squeezed)


def _agree(sizes: dict[str, int], shape: tuple[int, ...], core: CoreDims, signature) -> None:
    """Record the sizes of named dimensions; raise if a name has two sizes."""
    for name, n in zip(core, shape):
        if sizes.setdefault(name, n) != n:
            raise ValueError(explain(
                "tanx.numpy.vectorize", f"dimension {name} has two sizes, {sizes[name]} and {n}.",
                f"signature: {signature}"))


def _check_results(result, outputs, sizes: dict[str, int], signature) -> None:
    results = (result,)
    if len(outputs) != 1:
        if not isinstance(result, tuple) or len(result) != len(outputs):
            raise TypeError(explain(
                "tanx.numpy.vectorize", f"the function must return a tuple of {len(outputs)}.",
                f"returned:  {result!r:.100}", f"signature: {signature}"))
        results = result
    for x, core in zip(results, outputs):
        aval = None if x is None else typeof(x)
        if aval is None or aval.ndim != len(core):
            raise ValueError(explain(
                "tanx.numpy.vectorize", f"a result must have the dimensions ({','.join(core)}).",
                f"result:    {aval}", f"signature: {signature}"))
        _agree(sizes, aval.shape, core, signature)
