"""Regions: functions with metadata for the compiler, or about where they run.

JAX passes metadata, scheduling groups and places of computation to XLA. tanx keeps them in jaxprs,
through every transformation, for readers of jaxprs; its own compiler builds one program from all
regions, for one processor.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .. import tree_util
from .._core.primitive import parameter
from .._core.spaces import MemorySpace
from .._core.stage import stage_closed
from .._core.types import is_arraylike, typeof
from .._ops.annotations import Identity
from .._ops.base import as_array
from ..errors import explain
from .call import Call

__all__ = ["compute_on_p", "fuse_limit", "fused_call_p", "must_fuse_call", "region",
           "scheduling_group", "set_xla_metadata", "xla_metadata_call", "xla_metadata_call2"]

parameter(MemorySpace)  # of the regions below


class XlaMetadataCall(Call):
    """A function with metadata; its transpose has the metadata for derivatives."""

    name = "xla_metadata_call"

    def transpose(self, cts, *args, xla_metadata, ad_metadata, **params):
        if ad_metadata != "same":
            xla_metadata, ad_metadata = ad_metadata, "same"
        return super().transpose(cts, *args, xla_metadata=xla_metadata, ad_metadata=ad_metadata,
                                 **params)


class XlaMetadataValue(Identity):
    """A value with metadata, which derivatives ignore."""

    name = "xla_metadata_value"

    def transpose(self, ct, x, **params):
        return [ct]


class ComputeOn(Call):
    """A function to run at a given place, with results in given memory spaces."""

    name = "compute_on"
    spaces = "out_memory_spaces"

    def bind(self, *args, jaxpr, **params):
        """Results that a transformation has added are on the device."""
        more = len(jaxpr.out_avals) - len(params[self.spaces])
        params[self.spaces] += (MemorySpace.Device,) * more
        return super().bind(*args, jaxpr=jaxpr, **params)

    def for_operands(self, params, more=()):
        """A transformed body has other results."""
        return {**params, self.spaces: ()}


class FusedCall(ComputeOn):
    """A function to compile to one kernel."""

    name = "fused_call"
    spaces = "out_spaces"


xla_metadata_call_p, xla_metadata_value_p = XlaMetadataCall(), XlaMetadataValue()
compute_on_p, fused_call_p = ComputeOn(), FusedCall()


def region(primitive: Call, fun: Callable, params: Callable[[Any], Mapping[str, Any]],
           place: Callable[[list, Any], list] = lambda outs, out_tree: outs) -> Callable:
    """A function that runs ``fun`` as a call; ``params`` are made from the tree of its results.

    ``place`` says where the results go.
    """

    @functools.wraps(fun)
    def call(*args, **kwargs):
        leaves, in_tree = tree_util.tree_flatten((args, kwargs))
        out_trees = []

        def flat(*values):
            given, keywords = tree_util.tree_unflatten(in_tree, values)
            outs, out_tree = tree_util.tree_flatten(fun(*given, **keywords))
            out_trees.append(out_tree)
            return outs

        leaves = [as_array(x) for x in leaves]
        closed, captured = stage_closed(flat, [typeof(x) for x in leaves])
        out_tree = out_trees[-1]
        outs = primitive.bind(*captured, *leaves, jaxpr=closed, **params(out_tree))
        return tree_util.tree_unflatten(out_tree, place(outs, out_tree))
    return call


# -- metadata --------------------------------------------------------------------------------------


def _pairs(function: str, metadata: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    if metadata is not None and not isinstance(metadata, Mapping):
        raise TypeError(explain(function, "metadata must be a dict.", f"got: {metadata!r:.100}"))
    return tuple((str(key), str(value)) for key, value in (metadata or {}).items())


def xla_metadata_call(f: Callable | None = None, /, **meta: Any) -> Callable:
    """A function with metadata, which its equation shows; without ``f``, returns a decorator.

    >>> from tanx.experimental.xla_metadata import xla_metadata_call
    >>> print(tanx.make_jaxpr(xla_metadata_call(jnp.negative, stage="a"))(1.0))
    { lambda ; a:f32[]. let
        b:f32[] = xla_metadata_call[
          ad_metadata=same
          jaxpr={ lambda ; c:f32[]. let d:f32[] = neg c in (d,) }
          xla_metadata=(('stage', 'a'),)
        ] a
      in (b,) }
    """
    return xla_metadata_call2(f, meta)


def xla_metadata_call2(f: Callable | None = None, /, metadata: Mapping[str, Any] | None = None, *,
                       ad_metadata: str | Mapping[str, Any] = "same") -> Callable:
    """As :func:`xla_metadata_call`, with separate metadata for derivatives.

    ``ad_metadata`` is ``"same"``, ``"drop"`` for none, or a dict.

    >>> from tanx.experimental.xla_metadata import xla_metadata_call2
    >>> xla_metadata_call2(jnp.negative, {"stage": "a"}, ad_metadata="drop")(2.0)
    Array(-2., dtype=float32, weak_type=True)
    """
    name = "tanx.experimental.xla_metadata.xla_metadata_call2"
    if ad_metadata not in ("same", "drop") and not isinstance(ad_metadata, Mapping):
        raise TypeError(explain(name, "ad_metadata must be 'same', 'drop' or a dict.",
                                f"ad_metadata: {ad_metadata!r:.100}"))
    if f is None:
        return functools.partial(_with_metadata, metadata=metadata, ad_metadata=ad_metadata)
    return _with_metadata(f, metadata, ad_metadata)


def _with_metadata(f: Callable, metadata: Mapping[str, Any] | None,
                   ad_metadata: str | Mapping[str, Any]) -> Callable:
    name = "tanx.experimental.xla_metadata.xla_metadata_call2"
    own = _pairs(name, ad_metadata) if isinstance(ad_metadata, Mapping) else (
        "same" if ad_metadata == "same" else ())
    params = {"xla_metadata": _pairs(name, metadata), "ad_metadata": own}
    return region(xla_metadata_call_p, f, lambda _: params)


def must_fuse_call(identifier: Any) -> Callable:
    """A decorator for functions that should become one kernel, named by ``identifier``.

    tanx always fuses what it can.

    >>> from tanx.experimental.xla_metadata import must_fuse_call
    >>> must_fuse_call("scale")(lambda x: 2 * x)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    return xla_metadata_call2(metadata={"MUST_FUSE": identifier})


def scheduling_group(name: Any) -> Callable:
    """A decorator for functions that are scheduled as a group of that name.

    >>> from tanx.experimental.scheduling_groups import scheduling_group
    >>> scheduling_group("first")(lambda x: 2 * x)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    return xla_metadata_call2(metadata={"scheduling_group": name})


@contextlib.contextmanager
def fuse_limit() -> Iterator[None]:
    """A block, or a decorated function, that asks XLA not to fuse across its border.

    In tanx fusion does not change results, so this has no effect.

    >>> from tanx.experimental.xla_metadata import fuse_limit
    >>> fuse_limit()(lambda x: 2 * x)(3.0)
    6.0
    """
    yield


class _Metadata(contextlib.ContextDecorator):
    """A block, or a function, whose operations have metadata for XLA; tanx ignores it."""

    def __init__(self, pairs: Mapping[str, Any]):
        self.pairs = pairs

    def __enter__(self) -> None:
        hash(tuple(self.pairs.items()))  # raises if a value is not hashable, as JAX does

    def __call__(self, f: Callable) -> Callable:
        """The function itself, so that a jitted one keeps its methods."""
        with self:
            return f

    def __exit__(self, *_: object) -> None:
        return None


def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any:
    """A pytree of arrays with metadata; without ``x``, a block whose operations have it.

    >>> from tanx.experimental.xla_metadata import set_xla_metadata
    >>> print(tanx.make_jaxpr(lambda x: set_xla_metadata(x, stage="a"))(1.0))
    { lambda ; a:f32[]. let
        b:f32[] = xla_metadata_value[xla_metadata_kvs=(('stage', 'a'),)] a
      in (b,) }
    >>> with set_xla_metadata(stage="a"):
    ...     y = jnp.sin(1.0)
    """
    if x is None:
        return _Metadata(kwargs)
    pairs = tuple(kwargs.items())

    def mark(leaf):
        if not is_arraylike(leaf):
            raise TypeError(explain(
                "tanx.experimental.xla_metadata.set_xla_metadata", "only arrays have metadata.",
                f"value: {leaf!r:.100} of type {type(leaf).__name__}"))
        return xla_metadata_value_p.bind(leaf, xla_metadata_kvs=pairs)
    return tree_util.tree_map(mark, x)
