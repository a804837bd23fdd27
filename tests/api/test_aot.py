"""``trace``, ``lower`` and ``compile``: the stages of a function on its way to machine code."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import ShapeDtypeStruct, stages
from tanx.experimental.layout import Format, Layout
from tanx.sharding import Mesh, NamedSharding

X = ShapeDtypeStruct((2, 3), jnp.float32)
ONES = np.ones((2, 3), np.float32)


def scaled(x, y=2.0, *, shift=1.0):
    return {"scaled": x * y + shift}


def error(call, kind=TypeError) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


# --- The stages -----------------------------------------------------------------------------------


def test_traced():
    traced = tanx.jit(scaled).trace(X, 3.0, shift=1)
    assert isinstance(traced, stages.Traced) and isinstance(tanx.jit(scaled), stages.Wrapped)
    assert str(traced.jaxpr) == str(tanx.make_jaxpr(scaled)(ONES, 3.0, shift=1))
    assert traced.fun_name == "scaled" and traced.effects == frozenset()
    assert str(traced.in_tree) == "PyTreeDef(((*, *), {'shift': *}))"
    assert str(traced.out_tree) == "PyTreeDef({'scaled': *})"
    assert str(traced.in_avals) == str(
        ((tanx.typeof(ONES), tanx.typeof(1.0)), {"shift": tanx.typeof(1)}))
    assert traced.out_info == {"scaled": X} == tanx.jit(scaled).eval_shape(X, 3.0, shift=1)
    assert traced.out_avals == {"scaled": tanx.typeof(ONES)}
    (x, y), named = traced.args_info
    assert (x.shape, x.dtype, x.donated) == ((2, 3), np.float32, False)
    assert y.shape == () and list(named) == ["shift"]


def test_lowered_has_a_text_in_each_form():
    lowered = tanx.jit(scaled).lower(X)
    assert lowered.as_text("loops") == """\
program(x0: f32[2,3]) -> (y0: f32[2,3])
for i in 2, j in 3 parallel:
    y0[i, j] = x0[i, j] * 2.0:f32 + 1.0:f32
arena: 0 bytes
return y0"""
    assert lowered.as_text("jaxpr") == str(tanx.make_jaxpr(scaled)(ONES))
    assert "test_aot.py" in lowered.as_text("jaxpr", debug_info=True)
    assert "define void @tanx_main(ptr %buffers)" in lowered.as_text("llvm")
    assert lowered.compiler_ir("jaxpr") is tanx.jit(scaled).trace(X).jaxpr
    assert lowered.compiler_ir("llvm") == lowered.as_text("llvm")
    assert lowered.as_text() == lowered.as_text("stablehlo") == str(lowered.compiler_ir())
    assert "stablehlo.multiply" in lowered.as_text() and "loc(" not in lowered.as_text()
    assert "test_aot.py" in lowered.as_text(debug_info=True)


def test_unknown_program_forms_raise():
    lowered = tanx.jit(scaled).lower(X)
    assert error(lambda: lowered.as_text("hlo"), NotImplementedError) == """\
tanx.stages.Lowered: programs do not go through XLA, and so not through HLO.
  there are: stablehlo, jaxpr, loops, schedule, llvm"""
    assert error(lambda: lowered.compiler_ir("poem"), ValueError) == """\
tanx.stages.Lowered: there is no form 'poem'.
  there are: stablehlo, jaxpr, loops, schedule, llvm"""
    traced = tanx.jit(scaled).trace(X)
    assert traced.lower(lowering_platforms=("cpu",)).as_text() == lowered.as_text()
    assert "CPU" in error(lambda: traced.lower(lowering_platforms=("tpu",)), NotImplementedError)


def test_compiled():
    compiled = tanx.jit(scaled).lower(X, 3.0, shift=1).compile()
    for x in (ONES, jnp.asarray(ONES), ONES.astype(np.float64)):
        np.testing.assert_array_equal(compiled(x, 2.0, shift=5)["scaled"], 2 * ONES + 5)
    assert isinstance(compiled(ONES, 2.0, shift=5)["scaled"], tanx.Array)
    np.testing.assert_array_equal(compiled.call(ONES, 1.0, shift=0)["scaled"], ONES)
    assert "tanx_main" in compiled.as_text() and "ret" in compiled.as_text()
    assert compiled.out_info == {"scaled": X} and compiled.in_tree.num_leaves == 3
    assert compiled.runtime_executable() is compiled.runtime_executable()
    place = tanx.sharding.SingleDeviceSharding(tanx.devices()[0])
    assert compiled.input_shardings == ((place, place), {"shift": place})
    assert compiled.output_shardings == {"scaled": place}
    matrix, scalar = [Format(Layout(order, ()), place) for order in ((0, 1), ())]
    assert compiled.input_formats == ((matrix, scalar), {"shift": scalar})
    assert compiled.output_formats == {"scaled": matrix}


def test_formats_in_the_place_of_shardings():
    any_format, one = Format(Layout.AUTO), tanx.devices()[:1]
    f = tanx.jit(lambda x, y: (x[0], 2 * y), in_shardings=any_format, out_shardings=any_format)
    for _ in range(4):
        np.testing.assert_array_equal(f(ONES, ONES)[1], 2 * ONES)
    (first, second), rest = f.trace(X, X).lower().compile().input_formats
    assert first == second and first.layout.major_to_minor == (0, 1) and not rest
    place = NamedSharding(Mesh(one, "i"), tanx.P("i"))
    g = tanx.jit(lambda x: x + 1, in_shardings=Format(first.layout, place),
                 out_shardings=Format(first.layout, place))
    assert g.trace(X).lower().compile().output_formats == Format(first.layout, place)
    for _ in range(4):
        assert g(ONES).sharding == place and g(ONES).format == Format(first.layout, place)
    with pytest.raises(NotImplementedError, match="row-major order only"):
        tanx.jit(lambda x: x, out_shardings=Format(Layout((1, 0)), place))(ONES)


def closing_over_an_array(x, *, k):
    return {"r": x * np.arange(3, dtype=np.float32) + k}


def test_arrays_that_a_function_closes_over_as_arguments():
    x, want = np.ones(3, np.float32), [2.0, 3.0, 4.0]
    traced = tanx.jit(closing_over_an_array).trace(x, k=2.0)
    consts, opened = traced.with_consts_as_arg()
    assert str(opened.in_tree) == "PyTreeDef((([*], *), {'k': *}))"
    assert not opened.jaxpr.consts and len(opened.jaxpr.in_avals) == 3
    compiled = opened.lower().compile()
    assert compiled(consts, x, k=2.0)["r"].tolist() == want
    assert compiled([2 * c for c in consts], x, k=2.0)["r"].tolist() == [2.0, 4.0, 6.0]
    assert "consts[0]: compiled for float32[3]" in error(lambda: compiled([x[:2]], x, k=2.0))
    again, same = opened.with_consts_as_arg()
    assert again == [] and str(same.jaxpr) == str(opened.jaxpr)


def test_closure_convert_hoists_closed_over_arrays():
    x = np.ones(3, np.float32)
    consts, converted = tanx.jit(closing_over_an_array).trace(x, k=2.0).closure_convert()
    assert converted(consts, x, k=2.0)["r"].tolist() == [2.0, 3.0, 4.0]
    slope = tanx.grad(lambda cs: converted(cs, 3 * x, k=2.0)["r"].sum())(consts)
    assert slope[0].tolist() == [3.0, 3.0, 3.0]
    assert error(lambda: converted(consts, x)) == """\
closing_over_an_array: was converted for another structure of arguments.
  converted for: PyTreeDef(((*,), {'k': *}))
  called with:   PyTreeDef(((*,), {}))"""


def test_forms_that_jax_has_between_tracing_and_lowering():
    traced = tanx.jit(scaled).trace(X)
    assert traced.lojax is traced
    assert error(lambda: traced.physicalize(None), NotImplementedError) == """\
tanx.stages.Traced.physicalize: there is no separate form without extended dtypes.
  Hint: lower() takes functions of random keys directly."""


def test_results_have_the_types_that_jit_gives():
    for args in ((1.0,), (1,), (np.float32(1),), (jnp.ones(2, jnp.bfloat16),)):
        fun = tanx.jit(lambda x: (x * 2, x, x > 1))
        for mine, usual in zip(fun.lower(*args).compile()(*args), fun(*args)):
            assert mine.aval == usual.aval and (mine == usual).all()


def test_figures():
    lowered = tanx.jit(lambda x: jnp.exp(x) + 1).lower(X)
    figures = {"flops": 6.0, "transcendentals": 6.0, "bytes accessed": 48.0}
    assert lowered.cost_analysis() == lowered.compile().cost_analysis() == figures
    memory = lowered.compile().memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (24, 24)
    assert (memory.alias_size_in_bytes, memory.temp_size_in_bytes) == (0, 0)
    assert memory.generated_code_size_in_bytes > 0 and memory.peak_memory_in_bytes == 48


def test_unused_arguments_take_no_memory_unless_they_are_kept():
    def size(**options):
        return tanx.jit(lambda x, y: x * 2, **options).lower(
            X, X).compile().memory_analysis().argument_size_in_bytes

    assert size() == 24 and size(keep_unused=True) == 48


# --- Arguments ------------------------------------------------------------------------------------


def test_static_arguments_are_left_out():
    power = tanx.jit(lambda n, x, *, m: x ** n + m, static_argnums=0, static_argnames="m")
    compiled = power.lower(3, X, m=1).compile()
    np.testing.assert_array_equal(compiled(2 * ONES), 8 * ONES + 1)
    assert str(compiled.in_tree) == "PyTreeDef(((*,), {}))"


def test_pytrees_and_functions_of_functions():
    def loss(tree):
        return jnp.sum(tree["w"] ** 2)

    tree = {"w": X, "b": None}
    compiled = tanx.jit(tanx.grad(loss)).lower(tree).compile()
    np.testing.assert_array_equal(compiled({"w": ONES, "b": None})["w"], 2 * ONES)
    batched = tanx.jit(tanx.vmap(lambda x: x.sum())).lower(X).compile()
    np.testing.assert_array_equal(batched(ONES), [3, 3])


def test_returned_arguments_do_not_alias_the_callers_arrays():
    compiled = tanx.jit(lambda x, y: (x, y + 1)).lower(X, X).compile()
    mine = ONES.copy()
    same, _ = compiled(mine, mine)
    mine[:] = 5
    np.testing.assert_array_equal(same, ONES)


def test_donated_arguments():
    step = tanx.jit(lambda x, y: x + y, donate_argnums=0)
    lowered = step.lower(X, X)
    assert lowered.donate_argnums == (0,) and lowered.args_info[0][0].donated
    compiled = lowered.compile()
    assert compiled.memory_analysis().alias_size_in_bytes == 24
    x, y = jnp.asarray(ONES), jnp.asarray(ONES)
    address = x.unsafe_buffer_pointer()
    result = compiled(x, y)
    assert x.is_deleted() and not y.is_deleted()
    np.testing.assert_array_equal(result, 2 * ONES)
    assert result.unsafe_buffer_pointer() == address
    again = compiled(result, y)
    assert result.is_deleted() and again.unsafe_buffer_pointer() == address
    mine = ONES.copy()
    np.testing.assert_array_equal(compiled(mine, y), 2 * ONES)
    np.testing.assert_array_equal(mine, ONES)


def test_shared_donated_data_is_not_overwritten():
    compiled = tanx.jit(lambda x: x + 1, donate_argnums=0).lower(X).compile()
    x = jnp.asarray(ONES)
    view, other = np.asarray(x), x.reshape(6)
    np.testing.assert_array_equal(compiled(x), 2 * ONES)
    np.testing.assert_array_equal(view, ONES)
    np.testing.assert_array_equal(other, ONES.ravel())
    twice = tanx.jit(lambda x, y: (x + 1, y * 3), donate_argnums=0).lower(X, X).compile()
    x = jnp.asarray(ONES)
    first, second = twice(x, x)
    np.testing.assert_array_equal(first, 2 * ONES)
    np.testing.assert_array_equal(second, 3 * ONES)


# --- What is refused ------------------------------------------------------------------------------


def test_other_structures_are_refused():
    compiled = tanx.jit(scaled).lower(X, shift=1.0).compile()
    assert error(lambda: compiled(ONES)) == """\
tanx.stages.Compiled: was called with another structure of arguments than it was compiled for.
  missing: kwargs['shift']
  Hint: static arguments are part of the compiled function, and left out."""
    assert "not expected: args[1]" in error(lambda: compiled(ONES, 1.0, shift=1.0))
    pair = tanx.jit(lambda t: t[0]).lower((1.0, 2.0)).compile()
    assert "called with:  PyTreeDef((([*, *],), {}))" in error(lambda: pair([1.0, 2.0]))


def test_other_types_are_refused():
    compiled = tanx.jit(scaled).lower(X, 3.0).compile()
    assert error(lambda: compiled(ONES[0], 3)) == """\
tanx.stages.Compiled: was called with arguments of other types than it was compiled for.
  x: compiled for float32[2,3], called with float32[3]
  y: compiled for float32[], called with ~int32[]
  Hint: enable_x64 must be as it was then."""
    assert "x: compiled for float32[2,3], called with 'text'" in error(
        lambda: compiled("text", 3.0))
    with tanx.enable_x64(True):
        assert "float64" in error(lambda: compiled(ONES.astype(np.float64), 3.0))
    np.testing.assert_array_equal(compiled(ONES, jnp.float32(2))["scaled"], 2 * ONES + 1)


def test_compiled_functions_are_not_transformed():
    compiled = tanx.jit(lambda x: x * 2).lower(1.0).compile()
    assert error(lambda: tanx.grad(compiled)(1.0)) == """\
tanx.stages.Compiled: a compiled function cannot be transformed.
  argument: ~float32[] of a function that is being traced
  Hint: transform <lambda> first, then compile it."""
    for transform in (tanx.jit, tanx.vmap, tanx.make_jaxpr):
        error(lambda transform=transform: transform(compiled)(jnp.ones(2)))


def test_values_of_a_function_that_is_being_traced():
    seen = []

    @tanx.jit
    def outer(x):
        lowered = tanx.jit(lambda y: x * y).lower(2.0)
        seen.append(lowered.as_text("jaxpr"))
        seen.append(error(lowered.compile))
        return x

    outer(jnp.ones(3))
    assert "mul" in seen[0]
    assert "closes over values" in seen[1] and "float32[3]" in seen[1]


def test_options(capsys):
    fun = tanx.jit(lambda x: x * 7 + 1)
    assert fun.lower(X).compile({"tanx_dump": "fuse"})(ONES)[0, 0] == 8
    assert "-- after fuse" in capsys.readouterr().out
    assert error(lambda: fun.lower(X).compile({"no_such": 1}), tanx.errors.JaxRuntimeError) == """\
tanx.stages.Lowered.compile: the compiler has no option 'no_such'.
  options: tanx_check, tanx_dump"""
    assert "no option 'xla'" in error(
        lambda: tanx.jit(lambda x: x, compiler_options={"xla": 1}), tanx.errors.JaxRuntimeError)
    assert tanx.jit(lambda x: x * 8, compiler_options={"tanx_dump": "lower"})(1.0) == 8
    assert "-- after lower" in capsys.readouterr().out


def test_options_of_xla_are_ignored(caplog):
    """A program that sets them runs unchanged; the log says once that they have no effect."""
    level = tanx.CompilerEffortLevel.O3
    options = {"xla_embed_ir_in_executable": True, "optimization_level": level}
    fun = tanx.jit(lambda x: x * 9, compiler_options=options)
    assert [fun(2.0) for _ in range(4)] == [18.0] * 4
    assert fun.lower(2.0).compile({"xla_cpu_x": 1})(2.0) == 18.0
    tanx.jit(lambda x: x, compiler_options=options)
    assert caplog.text.count("'xla_embed_ir_in_executable' has no effect here") == 1


def test_devices():
    fun = tanx.jit(lambda x: x + 1, device=tanx.devices()[0], backend="cpu")
    assert fun(1.0) == 2.0
    error(lambda: tanx.jit(lambda x: x, backend="abacus"), RuntimeError)
    assert "no such device" in error(lambda: tanx.jit(lambda x: x, device="cpu"), ValueError)


def test_clear_caches_frees_code():
    from tanx._runtime import load
    fun = tanx.jit(lambda x: x * 5 - 1)
    compiled = fun.lower(X).compile()
    fun(ONES)
    assert fun._cache_size() == 1
    tanx.clear_caches()
    assert fun._cache_size() == 0 and load._kept.nbytes == 0
    np.testing.assert_array_equal(compiled(ONES), 4 * ONES)  # it holds its code
    np.testing.assert_array_equal(fun(ONES), 4 * ONES)
