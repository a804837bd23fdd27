"""The interface of types, traces, tracers and jaxprs for libraries, and libraries' traces."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import core
from tanx.extend import core as extend_core
from tanx.sharding import AbstractMesh, ManualAxisType, NamedSharding
from tanx.sharding import PartitionSpec as P

MESH = AbstractMesh((2, 4), ("x", "y"))
PLAIN = core.ShapedArray((4, 8), np.float32)
DIVIDED = core.ShapedArray((4, 8), np.float32, sharding=NamedSharding(MESH, P("x", "y")))


def on(*entries):
    return NamedSharding(MESH, P(*entries))


@pytest.mark.parametrize("made, text", [
    (lambda: DIVIDED, "float32[4@x,8@y]"),
    (lambda: DIVIDED.update(dtype=np.int32), "int32[4@x,8@y]"),
    (lambda: DIVIDED.update(weak_type=True), "~float32[4@x,8@y]"),
    (lambda: DIVIDED.update(sharding=None), "float32[4,8]"),
    (lambda: DIVIDED.update(sharding=on(None, ("x", "y"))), "float32[4,8@(x,y)]"),
    (lambda: DIVIDED.dec_rank(4, 0), "float32[8@y]"),
    (lambda: DIVIDED.dec_rank(4, None), "float32[4@x,8@y]"),
    (lambda: DIVIDED.inc_rank(3, 1), "float32[4@x,3,8@y]"),
    (lambda: DIVIDED.reshard(on()), "float32[4,8]"),
    (lambda: DIVIDED.shard(MESH, {"x", "y"}, True, P("x", "y")), "float32[2,2]{V:(x,y)}"),
    (lambda: PLAIN.shard(MESH, {"x"}, True, P("x")), "float32[2,8]{V:x}"),
    (lambda: PLAIN.shard(MESH, {"x"}, False, P("x")), "float32[2,8]"),
    (lambda: PLAIN.unshard(MESH, True, P("x")), "float32[8@x,8]"),
    (lambda: PLAIN.update(sharding=NamedSharding(MESH, P(unreduced={"x"}))),
     "float32[4,8]{U:x}"),
    (lambda: PLAIN.update(memory_space=PLAIN.memory_space.Host), "float32<host>[4,8]"),
    (lambda: core.ShapedArray((2,), np.int32).at_least_vspace(), "float0[2]"),
    (lambda: PLAIN.inc_rank(5, 0).dec_rank(5, 0), "float32[4,8]"),
])
def test_types_say_where_values_lie(made, text):
    assert str(made()) == text


def test_the_sharding_of_a_type_is_given_back_and_counts():
    assert DIVIDED.sharding == on("x", "y")
    assert PLAIN.sharding.mesh.empty and PLAIN.sharding.spec == P(None, None)
    assert core.ShapedArray((4, 8), np.float32, sharding=on("x")).sharding.spec == P("x", None)
    assert DIVIDED != PLAIN and hash(DIVIDED) != hash(PLAIN)
    assert DIVIDED == core.ShapedArray((4, 8), np.float32, sharding=on("x", "y"))
    assert DIVIDED.str_short(True, True) == "f32[4@x,8@y]({Explicit: ('x', 'y')})"
    assert PLAIN.manual_axis_type == ManualAxisType() == PLAIN.mat
    assert repr(PLAIN.memory_space) == "MemorySpace.Device" and repr(PLAIN.layout) == "AutoLayout"
    assert PLAIN.nospec(MESH, True, ("x", "y")) == P()
    assert PLAIN.nospec(MESH, False, ("x", "y")) == P(("x", "y"))


@pytest.mark.parametrize("sharding, error, words", [
    (P("x"), AttributeError, "NamedSharding"),
    (NamedSharding(MESH, P("x", None, "y")), ValueError, "more entries"),
    (NamedSharding(AbstractMesh((3,), ("x",)), P("x")), ValueError, "equal"),
])
def test_invalid_shardings_of_types_raise(sharding, error, words):
    with pytest.raises(error, match=words):
        core.ShapedArray((4, 8), np.float32, sharding=sharding)


def test_unknown_keywords_of_a_type():
    with pytest.raises(TypeError, match="no such keyword"):
        core.ShapedArray((2,), np.float32, device=0)


def test_types_of_libraries_have_default_methods():
    class Mine(core.AbstractValue):
        def __repr__(self):
            return "Mine()"

    mine = Mine()
    assert mine.lo_ty() == [mine] and mine.lower_val(3) == [3] and mine.raise_val(3) == 3
    assert mine.raise_val2(mine.lower_val2(3)) == 3
    assert mine.normalize() is mine.strip_weak_type() is mine.update_weak_type(True) is mine
    assert mine.update_manual_axis_type(None) is mine and mine.leading_axis_spec() == 0
    assert mine.vspace_add(1, 2) == 3 and mine.str_short() == "Mine()" and not mine.is_high
    for call in (lambda: mine.update(a=1), lambda: mine.reshard(None),
                 lambda: mine.shard(None, None, None, None),
                 lambda: mine.unshard(None, None, None)):
        with pytest.raises(NotImplementedError, match="Mine"):
            call()
    for call in (lambda: mine.inc_rank(1, 0), lambda: mine.dec_rank(1, 0)):
        with pytest.raises(TypeError, match="Mine"):
            call()
    token = extend_core.AbstractToken()
    assert token.inc_rank(3, 0) == token.dec_rank(3, 0) == token.to_tangent_aval() == token


def test_types_have_the_methods_of_arrays():
    x = jnp.arange(6.0).reshape(2, 3)
    assert core.ShapedArray.sum.fun(x, 0).tolist() == [3.0, 5.0, 7.0]
    assert core.ShapedArray.T.fget(x).shape == (3, 2)
    assert core.ShapedArray.item.fun(x[0, 1]) == 1.0


def test_structs_have_a_format():
    format = jnp.ones((2, 3)).format
    struct = tanx.ShapeDtypeStruct((2, 3), np.float32, sharding=format)
    assert struct.format == format and struct.sharding == format.sharding
    assert struct.update(shape=(3, 2)).format == format
    assert struct != tanx.ShapeDtypeStruct((2, 3), np.float32)


class Counting(core.Trace):
    """A trace of a library for JAX: its tracers count the operations that they result from."""

    def __init__(self, parent_trace):
        super().__init__()
        self.parent_trace = parent_trace
        self.calls = []

    def process_primitive(self, primitive, tracers, params):
        values = [x.value if isinstance(x, Counted) and x._trace is self else x for x in tracers]
        total = 1 + sum(x.count for x in tracers if isinstance(x, Counted) and x._trace is self)
        out = primitive.bind_with_trace(self.parent_trace, values, params)
        if primitive.multiple_results:
            return [Counted(self, y, total) for y in out]
        return Counted(self, out, total)

    def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros):
        self.calls.append(("jvp", symbolic_zeros))
        return fun.call_wrapped(*tracers)

    def process_custom_vjp_call(self, primitive, fun, fwd, bwd, tracers, *, out_trees,
                                symbolic_zeros):
        self.calls.append(("vjp", symbolic_zeros))
        return fun.call_wrapped(*tracers)


class Counted(core.Tracer):
    def __init__(self, trace, value, count):
        super().__init__(trace)
        self.value, self.count = value, count

    @property
    def aval(self):
        return tanx.typeof(self.value)


def counted(fun):
    def run(*args):
        with extend_core.take_current_trace() as parent:
            trace = Counting(parent)
            with extend_core.set_current_trace(trace):
                out = fun(*(Counted(trace, x, 0) for x in args))
        return out.value, out.count, trace.calls
    return run


@tanx.custom_jvp
def doubled(x):
    return x * 2


doubled.defjvp(lambda primals, tangents: (doubled(*primals), 2 * tangents[0]))


@tanx.custom_vjp
def tripled(x):
    return x * 3


tripled.defvjp(lambda x: (tripled(x), None), lambda _, ct: (3 * ct,))


@pytest.mark.parametrize("fun, value, count, calls", [
    (lambda x: jnp.sin(x) * x, np.sin(2.0) * 2.0, 2, []),
    (lambda x: tanx.jit(lambda y: y + 1)(x) * 2, 6.0, 2, []),
    (lambda x: doubled(x) + 1, 5.0, 2, [("jvp", False)]),
    (lambda x: tripled(x) + 1, 7.0, 2, [("vjp", False)]),
])
def test_traces_written_by_libraries(fun, value, count, calls):
    result, found, seen = counted(fun)(2.0)
    assert np.allclose(result, value) and found == count and seen == calls


def test_such_a_trace_composes():
    def f(x):
        return counted(lambda y: jnp.sin(y) * y)(x)[0]

    compiled = tanx.jit(f)
    for _ in range(4):
        assert np.allclose(compiled(2.0), np.sin(2.0) * 2)
    assert np.allclose(tanx.grad(f)(2.0), np.cos(2.0) * 2 + np.sin(2.0))
    assert np.allclose(tanx.vmap(f)(jnp.arange(3.0)), np.sin(np.arange(3.0)) * np.arange(3.0))


def test_traces_and_tracers_have_the_attributes_of_jax():
    seen = []

    def f(x):
        trace = x._trace
        seen.append((x.full_lower() is x, x.get_referent() is x, trace.main is trace,
                     trace.is_valid(), trace.requires_low, trace.full_raise(x) is x,
                     trace.stage_value(x) is x))
        with pytest.raises(ValueError, match="memory"):
            x.memory_space  # noqa: B018
        with pytest.raises(TypeError, match="sizes"):
            x.dimension_as_value  # noqa: B018
        return tanx.lax.sin_p.bind(x, accuracy=None)

    tanx.make_jaxpr(f)(1.0)
    tanx.jvp(f, (1.0,), (1.0,))
    assert seen == [(True, True, True, True, False, True, True)] * 2

    def rule(x):
        trace = x._trace
        assert trace.to_primal_tangent_pair(x) == (x.primal, x.tangent)
        assert type(trace.to_primal_tangent_pair(2.0)[1]) is tanx.interpreters.ad.Zero
        assert x.to_concrete_value() is not None
        return trace.process_custom_jvp_call(
            tanx.extend.core.primitives.custom_jvp_call_p,
            tanx.extend.linear_util.wrap_init(lambda y: [y * y]),
            tanx.extend.linear_util.wrap_init(lambda y, t: [y * y, 10 * t]), [x],
            symbolic_zeros=False)[0]

    assert tanx.jvp(rule, (3.0,), (1.0,))[1] == 10.0
    with pytest.raises(NotImplementedError, match="process_primitive"):
        core.Trace().process_primitive(tanx.lax.sin_p, [1.0], {})


class Wrapping(core.Trace):
    """Wraps functions with custom rules in transformations with stores, as quax does."""

    def __init__(self, parent):
        super().__init__()
        self.parent_trace, self.counts = parent, []

    def process_primitive(self, primitive, tracers, params):
        return primitive.bind_with_trace(self.parent_trace, tracers, (), params)

    def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros):
        @tanx.extend.linear_util.transformation_with_aux
        def negated(*args):
            outs = yield args, {}
            yield [-y for y in outs], len(args)
        fun, count = negated(fun)
        jvp, count_both = negated(jvp)
        outs = primitive.bind_with_trace(self.parent_trace, tuple(tracers), (), dict(
            subfuns=(fun, jvp), symbolic_zeros=symbolic_zeros))
        self.counts.append(tanx.extend.linear_util.merge_linear_aux(count, count_both))
        return outs


def test_a_trace_binds_functions_it_has_wrapped():
    def f(x):
        with extend_core.take_current_trace() as parent:
            trace = Wrapping(parent)
            with extend_core.set_current_trace(trace):
                out = doubled(x)
        counts.append(trace.counts)
        return out

    counts: list = []
    compiled = tanx.jit(f)
    for _ in range(4):
        out = compiled(2.0)
        assert out == -4.0 and out.shape == () and out.dtype == np.float32 and out.weak_type
    assert f(2.0) == -4.0 and tanx.grad(f)(2.0) == tanx.grad(compiled)(2.0) == -2.0
    assert tanx.grad(compiled)(3.0) == -2.0  # its rule runs again
    assert counts[:3] == [[(True, 1)], [(True, 1)], [(False, 2)]]


class Drawn(core.Tracer):
    """A tracer that passes its type to the constructor, as haiku's tracers for graphs do."""

    def __init__(self, trace, value):
        super().__init__(trace, tanx.typeof(value))
        self.value = value


class Drawing(core.Trace):
    """Records the primitives that are applied to its values."""

    def __init__(self, parent):
        super().__init__()
        self.parent_trace, self.seen = parent, []

    def process_primitive(self, primitive, tracers, params):
        self.seen.append(primitive.name)
        values = [t.value if isinstance(t, Drawn) else t for t in tracers]
        out = primitive.bind_with_trace(self.parent_trace, values, (), params)
        return tanx.tree.map(lambda value: Drawn(self, value), out)


def test_a_tracer_takes_its_type():
    with extend_core.take_current_trace() as parent:
        trace = Drawing(parent)
        x = Drawn(trace, jnp.arange(3.0))
        with extend_core.set_current_trace(trace):
            out = jnp.sin(x).sum()
            total, parts = tanx.lax.scan(lambda c, y: (c + y, c), x[0], x)
    assert x.shape == (3,) and x.dtype == np.float32 and not x.aval.weak_type and len(x) == 3
    assert isinstance(out, Drawn) and out.shape == () and trace.seen[:2] == ["sin", "reduce_sum"]
    assert "scan" in trace.seen and total.value == 3.0 and parts.value.tolist() == [0.0, 0.0, 1.0]
    np.testing.assert_allclose(out.value, np.sin(np.arange(3)).sum(), rtol=1e-6)
    with pytest.raises(NotImplementedError, match="Tracer.aval"):
        core.Tracer(trace).aval  # noqa: B018


def test_jaxprs_and_their_parts_have_the_attributes_of_jax():
    closed = tanx.make_jaxpr(lambda x: x + np.arange(3.0, dtype=np.float32))(1.0)
    assert closed.num_consts == 1 and len(closed.all_invars) == 2 and not closed.is_high
    assert closed.jaxpr.num_consts == 1
    other = closed.with_consts([jnp.zeros(3)])
    assert extend_core.jaxpr_as_fun(other)(2.0)[0].tolist() == [2.0] * 3
    assert closed.map_jaxpr(lambda j: j.replace(outvars=[])).out_avals == []
    eqn = tanx.make_jaxpr(lambda x: x + 1.0)(1.0).eqns[0]
    literal = eqn.invars[1]
    assert literal.hash == hash(1.0) and literal.pretty_print(print_dtype=False) == "1.0"
    assert eqn.invars[0].pretty_print({eqn.invars[0]: "a"}) == "a:f32[]"
    assert extend_core.DropVar(PLAIN).pretty_print() == "_"
    assert eqn.ctx.threefry_partitionable and eqn.ctx.compute_type is None
    with eqn.ctx.manager:
        assert eqn.primitive.bind(1.0, 2.0) == 3.0


def test_debug_info_has_the_methods_of_jax():
    info = tanx.make_jaxpr(lambda x, y: x + y["k"])(1.0, {"k": 2.0}).debug_info
    assert info.func_name == "<lambda>" and info.func_filename == __file__
    assert info.func_src_info == f"<lambda> at {__file__}:{info.func_lineno}"
    assert info.safe_arg_names(2) == ("x", "y['k']")
    assert info.filter_arg_names([False, True]) == ("y['k']",)
    assert info.replace_func_name("g").func_src_info.startswith("g at ")
    named = info.set_result_paths({"a": 1, "b": (2,)})
    assert named.result_paths == ("result['a']", "result['b'][0]")
    assert named.filter_result_paths([True, False]) == ("result['a']",)
    assert info._replace(result_paths=lambda: ["r"]).safe_result_paths(1) == ("r",)
    assert info.with_unknown_names().safe_arg_names(3) == (None,) * 3
    named.assert_result_paths(2)
    with pytest.raises(AssertionError):
        info.assert_arg_names(3)


def test_zeros_can_be_made_arrays():
    zero = tanx.interpreters.ad.Zero(core.ShapedArray((2,), np.float32))
    assert zero.instantiate().tolist() == [0.0, 0.0]
    assert tanx.jit(lambda: zero.instantiate())().tolist() == [0.0, 0.0]
