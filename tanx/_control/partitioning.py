"""``custom_partitioning``: functions with the user's rules for division over devices.

On one device nothing is divided: the function runs unchanged, and jaxprs show the call by its name.
The annotations are stored for a partitioner to read.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .. import tree_util
from .._base.traceback import boundary
from .._core.primitive import Name
from .._core.stage import stage_closed
from .._core.types import typeof
from .._ops.base import as_array
from ..errors import explain
from .composite import Composite

__all__ = ["BATCHING", "ArrayMapping", "CompoundFactor", "SdyShardingRule", "custom_partitioning",
           "custom_partitioning_p"]

BATCHING = "…"
"""The factor that stands for all leading dimensions."""


class CompoundFactor(tuple):
    """Several factors of one dimension, the slowest first.

    >>> tanx.experimental.custom_partitioning.CompoundFactor("i", "j")
    CompoundFactor('i', 'j')
    """

    __slots__ = ()

    def __new__(cls, *factors: str):
        if len(factors) < 2 or not all(isinstance(f, str) for f in factors):
            raise ValueError(_wrong("a compound factor has two or more names.", factors))
        return super().__new__(cls, factors)

    def __repr__(self) -> str:
        return f"CompoundFactor({', '.join(map(repr, self))})"


class ArrayMapping(tuple):
    """The factor of each dimension of an array.

    >>> tanx.experimental.custom_partitioning.ArrayMapping("i", "j")
    ArrayMapping('i', 'j')
    """

    __slots__ = ()

    def __new__(cls, *dim_mappings: str | CompoundFactor):
        for place, factor in enumerate(dim_mappings):
            if not isinstance(factor, str | CompoundFactor):
                raise ValueError(_wrong("a factor is a name or a CompoundFactor.", factor))
            if factor == BATCHING and place:
                raise ValueError(_wrong(f"{BATCHING} stands first.", dim_mappings))
        return super().__new__(cls, dim_mappings)

    def __repr__(self) -> str:
        return f"ArrayMapping({', '.join(map(repr, self))})"


class SdyShardingRule:
    """Which dimensions of results and operands correspond: those with the same factor.

    ``factor_sizes`` holds the sizes of factors that are part of a compound one.
    """

    def __init__(self, operand_mappings: Sequence[ArrayMapping],
                 result_mappings: Sequence[ArrayMapping], *, reduction_factors=(),
                 need_replication_factors=(), permutation_factors=(), **factor_sizes: int):
        self.operand_mappings = tuple(operand_mappings)
        self.result_mappings = tuple(result_mappings)
        self.factor_sizes = factor_sizes
        known = {name for mapping in (*self.operand_mappings, *self.result_mappings)
                 for factor in mapping
                 for name in (factor if isinstance(factor, CompoundFactor) else (factor,))}
        for word, factors in (("reduction_factors", reduction_factors),
                              ("need_replication_factors", need_replication_factors),
                              ("permutation_factors", permutation_factors),
                              ("factor_sizes", factor_sizes)):
            for name in factors:
                if name not in known:
                    raise ValueError(_wrong(f"{word} names a factor that no array has.", name))
        self.reduction_factors = tuple(reduction_factors)
        self.need_replication_factors = tuple(need_replication_factors)
        self.permutation_factors = tuple(permutation_factors)

    def check(self, in_types: Sequence[Any], out_types: Sequence[Any]) -> None:
        """Raise a ValueError if the rule is for other arrays."""
        for word, mappings, types in (("operands", self.operand_mappings, in_types),
                                      ("results", self.result_mappings, out_types)):
            if len(mappings) != len(types):
                raise ValueError(_wrong(f"the rule is for other {word}.",
                                        f"{len(mappings)} mappings, {len(types)} {word}"))
            for mapping, aval in zip(mappings, types):
                batched = bool(mapping) and mapping[0] == BATCHING
                if len(mapping) - batched > aval.ndim or not batched and len(mapping) != aval.ndim:
                    raise ValueError(_wrong(f"the rule is for {word} of another rank.",
                                            f"{mapping} and {aval}"))

    def __repr__(self) -> str:
        return f"SdyShardingRule({self.operand_mappings}, {self.result_mappings})"


def _wrong(rule: str, fact) -> str:
    return explain("tanx.experimental.custom_partitioning", rule, f"given: {fact}")


def _read_rule(text: str, **options) -> SdyShardingRule:
    """A rule as text: ``"i j, j k -> i k"``; compound factors are in parentheses."""
    if text.count("->") != 1:
        raise ValueError(_wrong("a rule has operands, '->' and results.", repr(text)))

    def mapping(part: str) -> ArrayMapping:
        factors: list = []
        inside: list[str] | None = None
        for word in part.replace("...", BATCHING).replace("(", " ( ").replace(")", " ) ").split():
            if word == "(" and inside is None:
                inside = []
            elif word == ")" and inside is not None:
                factors.append(CompoundFactor(*inside))
                inside = None
            elif word in "()":
                raise ValueError(_wrong("parentheses do not match.", repr(part)))
            else:
                (factors if inside is None else inside).append(word)
        if inside is not None:
            raise ValueError(_wrong("parentheses do not match.", repr(part)))
        return ArrayMapping(*factors)

    operands, results = text.split("->")
    return SdyShardingRule([*map(mapping, operands.split(","))],
                           [*map(mapping, results.split(","))], **options)


class CustomPartitioning(Composite):
    """A call of a function with partitioning rules; on one device, a plain call."""

    name = "custom_partitioning"

    def written(self, params):
        return "jit", {"jaxpr": params["call_jaxpr"], "name": Name(params["name"])}

    def show_params(self, params):
        return {"call": params["call_jaxpr"], "name": params["name"]}


custom_partitioning_p = CustomPartitioning()


class custom_partitioning:
    """Give a function custom rules for its division over devices.

    :meth:`def_partition` sets the rules. On a single device the function runs unchanged; it can be
    differentiated and mapped like any other.

    >>> from tanx.experimental.custom_partitioning import custom_partitioning
    >>> @custom_partitioning
    ... def double(x):
    ...     return 2 * x
    >>> _ = double.def_partition(partition=lambda mesh, args, out: (mesh, double, out, args),
    ...                          sharding_rule="i -> i")
    >>> double(jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """

    __name__: str

    def __init__(self, fun: Callable, static_argnums=()):
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.static_argnums = ((static_argnums,) if isinstance(static_argnums, int)
                               else tuple(static_argnums))
        self.partition: Callable | None = None
        self.sharding_rule: Any = None
        self.infer_sharding_from_operands: Callable | None = None
        self.propagate_user_sharding: Callable | None = None

    def def_partition(self, partition: Callable, infer_sharding_from_operands=None,
                      propagate_user_sharding=None, decode_shardings: bool = True,
                      sharding_rule=None, *, reduction_factors=(), need_replication_factors=(),
                      permutation_factors=(), **factor_sizes: int) -> Callable:
        """Set the rules for dividing the function.

        Args:
          partition: ``partition(mesh, arg_shapes, result_shape)`` returns the mesh, the function of
            the parts, and the shardings of results and arguments.
          infer_sharding_from_operands: The sharding of the result from those of the arguments.
          propagate_user_sharding: The sharding of the result from the requested one.
          decode_shardings: Whether these functions receive shardings with names of axes.
          sharding_rule: Which dimensions correspond, as text or a :class:`SdyShardingRule`, or a
          function that returns either.
        """
        if not callable(partition):
            raise TypeError(_wrong("partition must be a function.", repr(partition)))
        self.partition = partition
        self.infer_sharding_from_operands = infer_sharding_from_operands
        self.propagate_user_sharding = propagate_user_sharding
        options = dict(reduction_factors=reduction_factors, permutation_factors=permutation_factors,
                       need_replication_factors=need_replication_factors, **factor_sizes)
        self.sharding_rule = _read_rule(sharding_rule, **options) if isinstance(
            sharding_rule, str) else sharding_rule
        return partition

    @boundary
    def __call__(self, *args, **kwargs):
        if self.partition is None:
            raise RuntimeError(_wrong("the function has no partitioning rules yet; call its "
                                      "method def_partition.", self.__name__))
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        args = bound.args
        static = {i % len(args): args[i % len(args)] for i in self.static_argnums}
        leaves, in_tree = tree_util.tree_flatten([x for i, x in enumerate(args) if i not in static])
        leaves = [as_array(x) for x in leaves]
        trees: list = []

        def flat(*values):
            rest = iter(tree_util.tree_unflatten(in_tree, values))
            whole = [static[i] if i in static else next(rest) for i in range(len(args))]
            outs, tree = tree_util.tree_flatten(self.fun(*whole))
            trees.append(tree)
            return outs

        closed, captured = stage_closed(flat, [typeof(x) for x in leaves])
        if isinstance(self.sharding_rule, SdyShardingRule):
            self.sharding_rule.check([typeof(x) for x in leaves], closed.out_avals)
        outs = custom_partitioning_p.bind(*captured, *leaves, call_jaxpr=closed,
                                          name=self.__name__)
        return tree_util.tree_unflatten(trees[-1], outs)
