"""Modules that libraries import: backends, shardings of XLA, lowerings, partial evaluation."""

import functools

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import api_util, lax
from tanx.extend import backend, linear_util, lowering, sharding, xla
from tanx.extend import core as extend_core
from tanx.interpreters import mlir
from tanx.interpreters import partial_eval as pe
from tanx.interpreters import xla as xla_interpreter


class Boxed:
    """An array of a library's class."""

    def __init__(self, value):
        self.value = np.asarray(value)

    shape = property(lambda self: self.value.shape)
    dtype = property(lambda self: self.value.dtype)
    ndim = property(lambda self: self.value.ndim)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.value, dtype)


@pytest.fixture
def boxes():
    types, values = tanx.core.pytype_aval_mappings, xla_interpreter.canonicalize_dtype_handlers
    types[Boxed] = types[np.ndarray]
    values[Boxed] = values[np.ndarray]
    yield
    del types[Boxed], values[Boxed]


@pytest.mark.parametrize("fun", [
    lambda x: jnp.add(x, 1), lambda x: lax.sin(x), lambda x: jnp.asarray(x) * 2,
    lambda x: tanx.grad(lambda y: (y ** 2).sum())(x), tanx.vmap(lambda y: y + 1),
    lambda x: lax.scan(lambda c, y: (c + y, y), jnp.float32(0), x)[0], tanx.jit(lambda y: y * 3),
])
def test_values_of_a_registered_class_are_arrays(boxes, fun):
    plain = np.arange(3, dtype=np.float32)
    for _ in range(4):
        got, want = fun(Boxed(plain)), fun(plain)
        assert np.array_equal(got, want) and got.dtype == want.dtype
    assert tanx.typeof(Boxed(plain)) == tanx.typeof(plain)


def test_unregistered_classes_are_not_arrays():
    with pytest.raises(TypeError):
        jnp.add(Boxed([1.0]), 1)
    with pytest.raises(KeyError):
        xla_interpreter.canonicalize_dtype_handlers[Boxed]
    assert tanx.core.pytype_aval_mappings[np.float32](np.float32(1)).shape == ()


def test_handlers_convert_in_their_own_way(boxes):
    xla_interpreter.canonicalize_dtype_handlers[Boxed] = lambda x: np.asarray(x.value * 10)
    box, compiled = Boxed(np.float32([1, 2])), tanx.jit(lambda x: x + 0)
    for _ in range(4):
        assert compiled(box).tolist() == [10.0, 20.0]


def test_backends():
    (client,) = backend.backends().values()
    assert client is backend.get_backend() is backend.get_backend("cpu")
    assert backend.get_backend(client) is client and isinstance(client, xla_interpreter.Backend)
    assert client.platform == "cpu" and client.devices() == tanx.devices()
    assert client.device_count() == client.local_device_count() == len(client.local_devices()) == 1
    assert client.process_index() == 0 and client.platform_version.startswith("tanx ")
    x = jnp.ones(3)
    assert any(y is x for y in client.live_arrays())
    assert client.get_default_layout(np.float32, (2, 3), None).major_to_minor == (0, 1)
    assert backend.get_compile_options(1, 2).num_partitions == 2
    with pytest.raises(RuntimeError, match="Unknown backend"):
        backend.get_backend("none")
    for refused in (client.compile, client.serialize_executable):
        with pytest.raises(NotImplementedError, match="XLA"):
            refused(None)


def test_registered_caches_are_cleared():
    squares = functools.lru_cache(lambda x: x * x)
    backend.register_backend_cache(squares, "squares")
    squares(3)
    backend.clear_backends()
    assert squares.cache_info().currsize == 0
    with pytest.raises(TypeError, match="cache_clear"):
        backend.register_backend_cache(object(), "nothing")


def test_shardings_of_xla():
    (device,) = tanx.devices()
    whole = sharding.GSPMDSharding.get_replicated([device])
    assert whole.is_fully_replicated and whole.device_set == {device}
    assert whole.shard_shape((4,)) == (4,) and whole.memory_kind == "device"
    assert whole == sharding.GSPMDSharding([device], sharding.HloSharding.replicate())
    assert hash(whole) == hash(sharding.GSPMDSharding.get_replicated([device]))
    assert whole.is_equivalent_to(tanx.sharding.SingleDeviceSharding(device), 1)
    assert whole.with_memory_kind("pinned_host").memory_kind == "pinned_host"
    assert tanx.device_put(jnp.ones(2), whole).sharding == whole
    one = sharding.HloSharding(0)
    wire = sharding.get_serialized_proto_from_hlo_sharding(one)
    assert wire == b"\x08\x01\x1a\x01\x01\x22\x01\x00"
    assert sharding.get_hlo_sharding_from_serialized_proto(wire) == one
    assert sharding.get_op_sharding_from_serialized_proto(wire).tile_assignment_devices == [0]
    with pytest.raises(NotImplementedError, match="several devices"):
        sharding.get_hlo_sharding_from_serialized_proto(b"\x08\x03")
    with pytest.raises(ValueError, match="incomplete"):
        sharding.get_hlo_sharding_from_serialized_proto(b"\x08")


def test_functions_of_xla_and_mlir_raise_not_implemented():
    for refused in (
            lambda: xla.register_hlo_module_transformation(lambda b: None, name="mine"),
            lambda: tanx.extend.mlir.hlo_to_stablehlo(b""),
            lambda: tanx.extend.ifrt_programs.ifrt_programs.make_hlo_program(b""),
            lambda: lowering.upstream_dialects.register, lowering.JaxIrContext,
            mlir.make_ir_context, lambda: mlir.module_to_string(None),
            lambda: backend.register_backend_factory("mine", None)):
        with pytest.raises(NotImplementedError, match="tanx"):
            refused()
    assert xla.clear_hlo_module_transformation("mine") is False


def test_lowerings_work_on_arrays_and_types():
    seen = []
    p = extend_core.Primitive("affine")
    p.def_abstract_eval(lambda x: x)
    body = tanx.make_jaxpr(lambda x: 2 * x)(1.0)

    def rule(ctx, x):
        seen.append((ctx.primitive, ctx.platforms, mlir.aval_to_ir_type(ctx, ctx.avals_out[0]),
                     isinstance(x, mlir.Value), ctx.is_forward_compat()))
        assert ctx.replace(platforms=("gpu",)).platforms == ("gpu",)
        assert ctx.module_context.get_backend().platform == "cpu"
        assert ctx.module_context.new_channel() != ctx.module_context.new_channel()
        (doubled,), tokens = mlir.jaxpr_subcomp(
            ctx, body.jaxpr, ctx.name_stack, ctx.tokens_in, body.consts, x, dim_var_values=(),
            const_lowering={}, outer_traceback=None)
        assert len(tokens) == 0
        return [doubled + mlir.ir_constant(np.float32(1))]

    mlir.register_lowering(p, rule)
    compiled = tanx.jit(p.bind)
    for _ in range(4):
        assert compiled(jnp.float32(3)) == 7.0
    assert seen == [(p, ("cpu",), tanx.typeof(jnp.float32(3)), True, False)]


def test_tokens_and_effects():
    effect, other = tanx.debug.OrderedDebugEffect(), tanx.debug.DebugEffect()
    tokens = mlir.TokenSet.create([effect, other])
    assert tokens.effects() == {effect, other} and len(tokens.subset([effect])) == 1
    new = mlir.TokenSet({effect: "token"})
    assert tokens.update_tokens(new).get(effect) == "token" and len(tokens.items()) == 2
    assert effect in mlir.lowerable_effects
    assert mlir.lowerable_effects.filter_not_in([effect, other]) == []


def test_flat_functions():
    info = api_util.debug_info("mine", lambda x, y, k=1: x, (1.0, 2.0), {"k": {"z": 2.0}},
                               static_argnums=(1,), result_paths_thunk=lambda: ("result",))
    assert info.arg_names == ("x", "k['z']") and info.safe_result_paths(1) == ("result",)
    fun = linear_util.wrap_init(lambda x, y, z: (x, y, z), debug_info=info)
    partial, dynamic = api_util.argnums_partial(fun, (0, -1), (1.0, [2], 3.0),
                                                require_static_args_hashable=False)
    assert dynamic == (1.0, 3.0) and partial.call_wrapped(10, 30) == (10, [2], 30)
    with pytest.raises(ValueError, match="Non-hashable"):
        api_util.argnums_partial(fun, 0, (1.0, [2], 3.0))
    with pytest.raises(ValueError, match="position"):
        api_util.argnums_partial(fun, 5, (1.0, 2, 3.0))
    flat, out_tree = api_util.flatten_fun_nokwargs(fun, tanx.tree.structure((1, 2, {"z": 3})))
    assert flat.call_wrapped(1, 2, 3) == [1, 2, 3]
    assert out_tree() == tanx.tree.structure((1, 2, {"z": 3}))


def test_partial_evaluation():
    known, unknown = pe.PartialVal.known(3.0), pe.PartialVal.unknown(tanx.typeof(1.0))
    assert known.is_known() and known.get_known() == 3.0 and not unknown.is_known()
    assert known.get_aval() == unknown.get_aval() == tanx.typeof(1.0)
    seen = []

    def fun(x, y):
        seen.append(isinstance(y, pe.JaxprTracer) and not y.pval.is_known())
        return [jnp.sin(x), jnp.sin(x) * y]

    wrapped = linear_util.wrap_init(fun)
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(wrapped, [known, unknown])
    assert np.allclose(outs[0].get_known(), np.sin(3.0)) and not outs[1].is_known()
    (result,) = tanx.core.eval_jaxpr(jaxpr, (), *consts, 2.0)
    assert np.allclose(result, 2 * np.sin(3.0)) and seen == [True]
    _, outs, _ = pe.trace_to_jaxpr_nounits(wrapped, [known, unknown], instantiate=True)
    assert not any(out.is_known() for out in outs)


def test_rules_for_dead_code():
    p = extend_core.Primitive("pair")
    p.multiple_results = True
    p.def_impl(lambda x, y: [x + 1, y + 1])
    p.def_abstract_eval(lambda x, y: [x, y])

    def first_only(used_outputs, live_ins, eqn):
        assert live_ins == [True, True]
        if used_outputs != [True, False]:
            return [True, True], eqn
        new = extend_core.new_jaxpr_eqn(
            [eqn.invars[0], eqn.invars[0]], eqn.outvars, p, {}, eqn.effects)
        return [True, False], new

    pe.dce_rules[p] = first_only
    assert p in pe.dce_rules and pe.dce_rules[p] is first_only
    jaxpr = tanx.make_jaxpr(p.bind)(1.0, 2.0).jaxpr
    assert pe.dce_jaxpr(jaxpr, [True, False])[1] == [True, False]
    assert pe.dce_jaxpr(jaxpr, [True, True])[1] == [True, True]
    assert extend_core.primitives.jit_p in pe.dce_rules


def test_sources_and_scopes():
    from tanx.extend import source_info_util as info
    here = info.current()
    moved = here.replace(name_stack=info.new_name_stack("layer"))
    assert str(moved.name_stack) == "layer" and moved.line == here.line
    assert here.replace(traceback=moved).name_stack == here.name_stack
    with info.user_context(here.traceback, name_stack=info.new_name_stack("outer")):
        eqn = tanx.make_jaxpr(lambda x: x + 1)(1.0).eqns[0]
        assert str(info.current_name_stack()) == "outer"
    assert eqn.source_info.line == here.line and str(info.current_name_stack()) == ""


def test_parts_of_a_closed_jaxpr_are_replaced():
    closed = tanx.make_jaxpr(lambda x, y: jnp.sin(x) - y)(1.0, 2.0)
    swapped = closed.replace(invars=closed.jaxpr.invars[::-1])
    run = tanx.extend.core.jaxpr_as_fun(swapped)
    np.testing.assert_allclose(run(2.0, 1.0)[0], np.sin(1.0) - 2.0, rtol=1e-6)
    assert closed.replace(outvars=closed.jaxpr.invars).out_avals == closed.in_avals
    with pytest.raises(TypeError, match="replaces attributes only"):
        closed.replace(arguments=[])
