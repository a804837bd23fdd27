"""The names that lowerings written for JAX's compiler use, without MLIR.

Within a lowering of tanx an *IR value* is a traced array, an *IR type* is a
:class:`~tanx._core.types.ShapedArray`, and an attribute is a NumPy value. So functions that split
and join lists of values, run a jaxpr or make a constant work as in JAX. Functions that create or
read MLIR modules raise an error: there is no MLIR.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from .. import dtypes
from .._base.tuples import NamedTuple
from .._core.array import Array
from .._core.effects import Effect
from .._core.jaxpr import eval_jaxpr
from .._core.mesh import AbstractMesh, Mesh
from .._core.trace import Tracer
from .._core.types import AbstractToken, AbstractValue, ShapedArray
from .._ops.annotations import create_token
from .._runtime.client import Client, client_of
from ..errors import explain
from ..tree_util import default_registry

__all__ = [
    "AxisContext", "ConstantHandler", "DEVICE_TO_DEVICE_TYPE", "EffectTypeSet",
    "LoweringParameters", "LoweringResult", "LoweringRuleContext", "Mesh", "ModuleContext",
    "RECV_FROM_HOST_TYPE", "SEND_TO_HOST_TYPE", "SPMDAxisContext", "ShapePolyLoweringState",
    "ShardingContext", "Token", "TokenSet", "Value", "aval_to_ir_type", "aval_to_ir_types",
    "control_flow_allowed_effects", "core_call_lowering", "dense_int_array", "dense_int_elements",
    "dtype_to_ir_type",
    "flatten_ir_types", "flatten_ir_values", "i32_attr", "i64_attr", "ir_attribute", "ir_constant",
    "ir_constants", "ir_tree_registry", "ir_type_handlers", "jaxpr_subcomp", "lower_jaxpr_to_fun",
    "lower_jaxpr_to_module", "lowerable_effects", "make_ir_context", "merge_mlir_modules",
    "module_to_bytecode", "module_to_string", "register_constant_handler", "shape_tensor",
    "token_type", "unflatten_ir_values_like_types"]

DEVICE_TO_DEVICE_TYPE, SEND_TO_HOST_TYPE, RECV_FROM_HOST_TYPE = 1, 2, 3
"""The kinds of channels between programs, by XLA's numbers."""

ir_tree_registry = default_registry


def without_mlir(function: str, *facts: str) -> NotImplementedError:
    """The error for creating or reading an MLIR module."""
    return NotImplementedError(explain(
        function, "tanx compiles jaxprs itself: there are no modules of MLIR to work on.", *facts,
        hint="tanx.interpreters.mlir.lower_fun(f) makes a lowering from a function of arrays."))


# -- values, types and attributes ------------------------------------------------------------------


class _ValueType(type):
    def __instancecheck__(cls, instance) -> bool:
        return isinstance(instance, Tracer | Array)


class Value(metaclass=_ValueType):
    """The class of values within a lowering: traced arrays, without MLIR."""

    def __init__(self, *args):
        raise without_mlir("tanx.interpreters.mlir.Value")

    @staticmethod
    def _none(name: str):
        def ask(self, *args):
            raise without_mlir(f"tanx.interpreters.mlir.Value.{name}")
        return ask

    dump, get_name, maybe_downcast = _none("dump"), _none("get_name"), _none("maybe_downcast")
    replace_all_uses_with = _none("replace_all_uses_with")
    replace_all_uses_except, set_type = _none("replace_all_uses_except"), _none("set_type")
    context, location = property(_none("context")), property(_none("location"))
    owner, uses = property(_none("owner")), property(_none("uses"))
    type = property(lambda self: self.aval)


Token = Value

_handlers: dict[type, Callable] = {}


class ConstantHandler(Protocol):
    """A function that converts a Python object to a value within a lowering."""

    def __call__(self, val: Any, aval: AbstractValue | None) -> Any: ...


def register_constant_handler(type_: type, handler_fun: ConstantHandler) -> None:
    """Register the function that makes constants of a class: ``handler(value, type)``.

    >>> class Celsius(float): ...
    >>> mlir = tanx.interpreters.mlir
    >>> mlir.register_constant_handler(Celsius, lambda value, aval: float(value) + 273.15)
    >>> mlir.ir_constant(Celsius(20.0))
    293.15
    """
    _handlers[type_] = handler_fun


def ir_constant(val, *, const_lowering: Any = None, aval: AbstractValue | None = None):
    """A constant within a lowering: the value itself, or the result of its class' handler.

    >>> tanx.interpreters.mlir.ir_constant(3.0)
    3.0
    """
    for base in type(val).__mro__:
        if base in _handlers:
            return _handlers[base](val, aval)
    return val


def ir_constants(val, *, const_lowering: Any = None, aval: AbstractValue | None = None) -> tuple:
    """The values that a constant consists of.

    >>> tanx.interpreters.mlir.ir_constants(3.0)
    (3.0,)
    """
    return tuple(flatten_ir_values([ir_constant(val, const_lowering=const_lowering, aval=aval)]))


ir_type_handlers: dict[type, Callable[[Any], Any]] = {
    ShapedArray: lambda aval: aval, AbstractToken: lambda aval: aval}
"""For each class of types, the function that gives the types within a lowering."""


def aval_to_ir_type(ctx, aval: AbstractValue) -> Any:
    """The type within a lowering, for a type of a single value.

    >>> tanx.interpreters.mlir.aval_to_ir_type(None, tanx.typeof(1.0))
    ShapedArray(float32[], weak_type=True)
    """
    types = aval_to_ir_types(ctx, aval)
    if len(types) != 1:
        raise TypeError(explain("tanx.interpreters.mlir.aval_to_ir_type",
                                "values of this type consist of others.", f"type: {aval}"))
    return types[0]


def aval_to_ir_types(ctx, aval: AbstractValue) -> tuple:
    """The types within a lowering of the parts of a value.

    >>> tanx.interpreters.mlir.aval_to_ir_types(None, tanx.typeof(1))
    (ShapedArray(int32[], weak_type=True),)
    """
    for base in type(aval).__mro__:
        if base in ir_type_handlers:
            return tuple(flatten_ir_types([ir_type_handlers[base](aval)]))
    raise TypeError(explain("tanx.interpreters.mlir.aval_to_ir_types",
                            "there is no handler for types of that class.", f"type: {aval}",
                            hint="put one into tanx.interpreters.mlir.ir_type_handlers."))


def dtype_to_ir_type(dtype) -> ShapedArray:
    """The type of numbers of a dtype.

    >>> tanx.interpreters.mlir.dtype_to_ir_type(np.dtype("int32"))
    ShapedArray(int32[])
    """
    return ShapedArray((), dtypes.dtype(dtype))


def token_type() -> AbstractToken:
    """The type of tokens.

    >>> tanx.interpreters.mlir.token_type()
    Tok
    """
    return AbstractToken()


def i32_attr(i: int) -> np.int32:
    """An integer of 32 bits.

    >>> tanx.interpreters.mlir.i32_attr(3)
    np.int32(3)
    """
    return np.int32(i)


def i64_attr(i: int) -> np.int64:
    """An integer of 64 bits.

    >>> tanx.interpreters.mlir.i64_attr(3)
    np.int64(3)
    """
    return np.int64(i)


def dense_int_elements(xs: Sequence[int]) -> np.ndarray:
    """Integers of 64 bits.

    >>> tanx.interpreters.mlir.dense_int_elements([1, 2])
    array([1, 2])
    """
    return np.asarray(xs, np.int64)


dense_int_array = dense_int_elements


def ir_attribute(val) -> Any:
    """A Python value as an attribute: numbers and arrays of them as NumPy's, others unchanged.

    >>> tanx.interpreters.mlir.ir_attribute([1.5])
    array([1.5])
    """
    numeric = isinstance(val, bool | int | float | complex | np.ndarray | np.generic)
    listed = isinstance(val, list | tuple) and val and all(
        isinstance(x, bool | int | float | complex) for x in val)
    return np.asarray(val) if numeric or listed else val


def shape_tensor(ctx, sizes: Sequence[Any]):
    """Sizes as an array of integers.

    >>> tanx.interpreters.mlir.shape_tensor(None, (2, 3))
    Array([2, 3], dtype=int32)
    """
    return Array(np.asarray(sizes, np.int32))


def flatten_ir_values(xs: Iterable[Any]) -> list:
    """The values of a sequence whose items may be lists or tuples of values.

    >>> tanx.interpreters.mlir.flatten_ir_values([1.0, [2.0, 3.0]])
    [1.0, 2.0, 3.0]
    """
    return [y for x in xs for y in (x if isinstance(x, list | tuple) else (x,))]


def flatten_ir_types(xs: Iterable[Any]) -> list:
    """As :func:`flatten_ir_values`, of types.

    >>> one = tanx.typeof(1)
    >>> len(tanx.interpreters.mlir.flatten_ir_types([one, (one, one)]))
    3
    """
    return flatten_ir_values(xs)


def unflatten_ir_values_like_types(xs: Iterable[Any], ys: Sequence[Any]) -> list:
    """Values grouped like their types: the inverse of the flattening.

    >>> one = tanx.typeof(1)
    >>> tanx.interpreters.mlir.unflatten_ir_values_like_types([1, 2, 3], [one, (one, one)])
    [1, (2, 3)]
    """
    rest = iter(xs)
    made = [tuple(itertools.islice(rest, len(y))) if isinstance(y, list | tuple) else next(rest)
            for y in ys]
    if next(rest, None) is not None:
        raise ValueError(explain("tanx.interpreters.mlir.unflatten_ir_values_like_types",
                                 "there are more values than types."))
    return made


# -- tokens and effects ----------------------------------------------------------------------------


class EffectTypeSet:
    """Classes of effects; an effect is in the set if one of its classes is."""

    def __init__(self, *types: type[Effect]):
        self._types = set(types)

    def add_type(self, effect_type: type[Effect]) -> None:
        """Add a class."""
        self._types.add(effect_type)

    def contains(self, eff: Effect) -> bool:
        """Whether an effect is in the set."""
        return isinstance(eff, tuple(self._types))

    __contains__ = contains

    def filter_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """The effects that are in the set."""
        return [eff for eff in effects if self.contains(eff)]

    def filter_not_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """The effects that are not in the set."""
        return [eff for eff in effects if not self.contains(eff)]

    def __repr__(self) -> str:
        return f"EffectTypeSet({self._types})"


lowerable_effects = EffectTypeSet(Effect)
"""Effects that compiled programs may have: all."""
control_flow_allowed_effects = EffectTypeSet(Effect)
"""Effects that bodies of loops and branches may have: all."""


class TokenSet:
    """A token for each of some effects.

    >>> effect = tanx.debug.OrderedDebugEffect()
    >>> tokens = tanx.interpreters.mlir.TokenSet.create([effect])
    >>> len(tokens), tokens.get(effect).shape
    (1, (0,))
    """

    def __init__(self, tokens: Mapping[Effect, Any] | None = None):
        self._tokens = dict(tokens or {})

    @classmethod
    def create(cls, effects: Sequence[Effect]) -> TokenSet:
        """A set of new tokens."""
        return cls({eff: create_token() for eff in effects})

    def __len__(self) -> int:
        return len(self._tokens)

    def get(self, effect: Effect) -> Any:
        """The token of an effect."""
        return self._tokens[effect]

    def effects(self) -> set[Effect]:
        """The effects that have a token."""
        return set(self._tokens)

    def items(self) -> tuple:
        """The pairs of effect and token."""
        return tuple(self._tokens.items())

    def subset(self, effects: Iterable[Effect]) -> TokenSet:
        """The tokens of some effects."""
        return TokenSet({eff: self._tokens[eff] for eff in effects})

    def update_tokens(self, tokens: TokenSet) -> TokenSet:
        """The set with its tokens replaced by those of another set."""
        return TokenSet({eff: tokens._tokens.get(eff, token)
                         for eff, token in self._tokens.items()})


# -- arguments of lowerings ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SPMDAxisContext:
    """A mesh that a program runs on, and its manual axes."""

    mesh: Mesh
    manual_axes: frozenset = frozenset()


@dataclass(frozen=True, slots=True)
class ShardingContext:
    """How many devices a program runs on."""

    num_devices: int
    device_assignment: tuple | None = None
    abstract_mesh: AbstractMesh | None = None


AxisContext = SPMDAxisContext | ShardingContext


class ShapePolyLoweringState:
    """The variables of symbolic sizes that a program has."""

    def __init__(self, dim_vars: tuple[str, ...], lowering_platforms: tuple[str, ...] | None):
        self.dim_vars, self.lowering_platforms = dim_vars, lowering_platforms
        self.uses_dim_vars = bool(dim_vars)
        self.has_platform_index_argument = (
            lowering_platforms is not None and len(lowering_platforms) > 1)


@dataclass(frozen=True, slots=True)
class LoweringParameters:
    """Choices for a whole program."""

    override_lowering_rules: tuple | None = None
    global_constant_computation: bool = False
    for_export: bool = False
    export_ignore_forward_compatibility: bool = False
    hoist_constants_as_args: bool = False


class LoweringResult(NamedTuple):
    """The result of lowering a program to MLIR; see :func:`lower_jaxpr_to_module`."""

    module: Any
    keepalive: Any
    host_callbacks: list
    shape_poly_state: ShapePolyLoweringState


@dataclass(slots=True)
class ModuleContext:
    """Facts about the program of a lowering.

    ``module`` and similar fields belong to MLIR, and are None here.
    """

    platforms: Sequence[str] = ("cpu",)
    backend: Client | None = None
    axis_context: Any = ShardingContext(1)
    keepalives: list = field(default_factory=list)
    channel_iterator: Any = field(default_factory=lambda: itertools.count(1))
    host_callbacks: list = field(default_factory=list)
    lowering_parameters: LoweringParameters = LoweringParameters()
    context: Any = None
    module: Any = None
    ip: Any = None
    symbol_table: Any = None
    lowering_cache: Any = None
    cached_primitive_lowerings: dict = field(default_factory=dict)
    traceback_caches: Any = None
    shape_poly_state: ShapePolyLoweringState = field(
        default_factory=lambda: ShapePolyLoweringState((), None))
    all_default_mem_kind: bool = True
    sharding_attr_cache: Any = None
    aval_to_ir_types_cache: Any = None
    pallas_lowering_cache: Any = None
    pallas_collective_id_mapping: Any = None

    def get_backend(self, optional: bool = False) -> Client:
        """The client that the program is for."""
        return self.backend or client_of(self.platforms[0])

    def new_channel(self) -> int:
        """A number that no other channel of the program has."""
        return next(self.channel_iterator)

    def add_host_callback(self, host_callback) -> None:
        """Keep a callback for as long as the program."""
        self.host_callbacks.append(host_callback)

    def add_keepalive(self, keepalive) -> None:
        """Keep an object for as long as the program."""
        self.keepalives.append(keepalive)

    def replace(self, **kw) -> ModuleContext:
        """The same with some fields replaced."""
        return replace(self, **kw)


@dataclass(slots=True)
class LoweringRuleContext:
    """Facts about the use of a primitive in a lowering."""

    module_context: ModuleContext
    name_stack: Any
    traceback: Any
    primitive: Any
    avals_in: Sequence[AbstractValue]
    avals_out: Any
    tokens_in: TokenSet
    tokens_out: TokenSet | None
    const_lowering: dict
    axis_size_env: dict | None = None
    dim_var_values: Sequence[Any] = ()
    jaxpr_eqn_ctx: Any = None
    platforms: Sequence[str] | None = None

    def set_tokens_out(self, tokens_out: TokenSet) -> None:
        """Set the tokens after the use."""
        self.tokens_out = tokens_out

    def is_forward_compat(self) -> bool:
        """Whether older compilers must understand the program: never, only tanx reads it."""
        return False

    def replace(self, **kw) -> LoweringRuleContext:
        """The same with some fields replaced."""
        return replace(self, **kw)


# -- programs --------------------------------------------------------------------------------------


def jaxpr_subcomp(ctx, jaxpr, name_stack, tokens: TokenSet, consts_for_constvars: Sequence[Any],
                  *args, dim_var_values: Sequence[Any], const_lowering: dict, outer_traceback):
    """Run the equations of a jaxpr within a lowering; its results, and the tokens after it.

    >>> closed = tanx.make_jaxpr(lambda x: x + 1)(2.0)
    >>> mlir = tanx.interpreters.mlir
    >>> mlir.jaxpr_subcomp(None, closed.jaxpr, None, mlir.TokenSet(), [], 3.0, dim_var_values=(),
    ...                    const_lowering={}, outer_traceback=None)[0]
    [Array(4., dtype=float32, weak_type=True)]
    """
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    return eval_jaxpr(inner, consts_for_constvars, *args), tokens


def core_call_lowering(ctx, *args, name: str, backend=None, inline_jax_late: bool = False,
                       call_jaxpr, **params) -> list:
    """A lowering of calls: the equations of the called function.

    >>> closed = tanx.make_jaxpr(lambda x: x + 1)(2.0)
    >>> tanx.interpreters.mlir.core_call_lowering(None, 3.0, name="f", call_jaxpr=closed)
    [Array(4., dtype=float32, weak_type=True)]
    """
    return eval_jaxpr(call_jaxpr.jaxpr, call_jaxpr.consts, *args)


def make_ir_context():
    """Raises: there is no MLIR.

    >>> tanx.interpreters.mlir.make_ir_context()
    Traceback (most recent call last):
    NotImplementedError: tanx.interpreters.mlir.make_ir_context: ...
    """
    raise without_mlir("tanx.interpreters.mlir.make_ir_context")


def lower_jaxpr_to_fun(ctx, name: str, jaxpr, effects, *, num_const_args: int,
                       main_function: bool = False, replicated_args=None, in_avals, out_avals,
                       arg_shardings=None, result_shardings=None,
                       use_sharding_annotations: bool = True, input_output_aliases=None,
                       xla_donated_args=None, arg_names=None, result_names=None,
                       arg_memory_kinds=None, result_memory_kinds=None, arg_layouts=None,
                       result_layouts=None, propagated_out_mem_kinds=None, detached: bool = False):
    """Raises: there are no functions of MLIR; :func:`jaxpr_subcomp` runs a jaxpr instead.

    >>> tanx.interpreters.mlir.lower_jaxpr_to_fun(
    ...     None, "f", None, [], num_const_args=0, in_avals=[], out_avals=[])
    Traceback (most recent call last):
    NotImplementedError: tanx.interpreters.mlir.lower_jaxpr_to_fun: ...
    """
    raise without_mlir("tanx.interpreters.mlir.lower_jaxpr_to_fun", f"function: {name}")


def lower_jaxpr_to_module(module_name: str, jaxpr, *, num_const_args: int, in_avals, out_avals,
                          ordered_effects, platforms, backend, axis_context, donated_args,
                          replicated_args=None, arg_shardings=None, result_shardings=None,
                          in_layouts=None, out_layouts=None, arg_names=None, result_names=None,
                          num_partitions: int = 1, all_default_mem_kind: bool = True,
                          input_output_aliases=None, propagated_out_mem_kinds=None,
                          lowering_parameters: LoweringParameters) -> LoweringResult:
    """Raises: there are no modules of MLIR; a compiled function's ``as_text`` shows programs.

    >>> tanx.interpreters.mlir.lower_jaxpr_to_module(
    ...     "m", None, num_const_args=0, in_avals=[], out_avals=[], ordered_effects=[],
    ...     platforms=["cpu"], backend=None, axis_context=None, donated_args=[],
    ...     lowering_parameters=tanx.interpreters.mlir.LoweringParameters())
    Traceback (most recent call last):
    NotImplementedError: tanx.interpreters.mlir.lower_jaxpr_to_module: ...
    """
    raise without_mlir("tanx.interpreters.mlir.lower_jaxpr_to_module", f"module: {module_name}")


def merge_mlir_modules(dst_module, sym_name: str, src_module, dst_symtab=None):
    """Raises: there are no modules of MLIR.

    >>> tanx.interpreters.mlir.merge_mlir_modules(None, "f", None)
    Traceback (most recent call last):
    NotImplementedError: tanx.interpreters.mlir.merge_mlir_modules: ...
    """
    raise without_mlir("tanx.interpreters.mlir.merge_mlir_modules")


def module_to_bytecode(module) -> bytes:
    """Raises: there are no modules of MLIR.

    >>> tanx.interpreters.mlir.module_to_bytecode(None)
    Traceback (most recent call last):
    NotImplementedError: tanx.interpreters.mlir.module_to_bytecode: ...
    """
    raise without_mlir("tanx.interpreters.mlir.module_to_bytecode")


def module_to_string(module, enable_debug_info=None) -> str:
    """Raises: there are no modules of MLIR.

    >>> tanx.interpreters.mlir.module_to_string(None)
    Traceback (most recent call last):
    NotImplementedError: tanx.interpreters.mlir.module_to_string: ...
    """
    raise without_mlir("tanx.interpreters.mlir.module_to_string")
