"""Programs as StableHLO: golden texts, and attributes of arguments and results."""

import re

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._export.stablehlo import module_text
from tanx.extend.core import Primitive
from tanx.interpreters import mlir
from tests.export.mlir import check

X = tanx.ShapeDtypeStruct((3, 4), np.float32)
HEADER = "attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {"


def text_of(function, *args, **options):
    text = tanx.jit(function, **options).lower(*args).as_text()
    check(text)
    return text


def body(text):
    """The lines inside of the module."""
    return "\n".join(line[2:] for line in text.splitlines()[1:-1])


def test_arithmetic():
    def affine(x, scale):
        return {"y": jnp.sin(x) * scale + 1}
    assert text_of(affine, X, 2.0, donate_argnums=0) == f"""\
module @jit_affine {HEADER}
  func.func public @main(%arg0: tensor<3x4xf32> {{tf.aliasing_output = 0 : i32}}, \
%arg1: tensor<f32>) -> (tensor<3x4xf32> {{jax.result_info = "result['y']"}}) {{
    %0 = stablehlo.sine %arg0 : tensor<3x4xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<3x4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %4 = stablehlo.add %2, %3 : tensor<3x4xf32>
    return %4 : tensor<3x4xf32>
  }}
}}
"""


def test_functions_that_are_called_twice_are_written_once():
    @tanx.jit
    def half(x):
        return x / 2
    text = body(text_of(lambda x: half(half(x)), X))
    assert text == """\
func.func public @main(%arg0: tensor<3x4xf32>) -> \
(tensor<3x4xf32> {jax.result_info = "result"}) {
  %0 = call @half(%arg0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = call @half(%0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
func.func private @half(%arg0: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
  %1 = stablehlo.divide %arg0, %0 : tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}"""


def test_loops():
    text = body(text_of(lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * x),
                                                 (0, x)), X))
    assert text == """\
func.func public @main(%arg0: tensor<3x4xf32>) -> (tensor<i32> {jax.result_info = "result[0]"}, \
tensor<3x4xf32> {jax.result_info = "result[1]"}) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %3:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<3x4xf32>
  cond {
    %c_0 = stablehlo.constant dense<5> : tensor<i32>
    %0 = stablehlo.compare LT, %iterArg, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  } do {
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %iterArg, %c_1 : tensor<i32>
    %2 = stablehlo.multiply %iterArg_0, %arg0 : tensor<3x4xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<3x4xf32>
  }
  return %3#0, %3#1 : tensor<i32>, tensor<3x4xf32>
}"""


def test_regions():
    text = body(text_of(lambda x: lax.sort([x.astype(jnp.int32), x], num_keys=1, dimension=0), X))
    assert text == """\
func.func public @main(%arg0: tensor<3x4xf32>) -> (tensor<3x4xi32> \
{jax.result_info = "result[0]"}, tensor<3x4xf32> {jax.result_info = "result[1]"}) {
  %0 = stablehlo.convert %arg0 : (tensor<3x4xf32>) -> tensor<3x4xi32>
  %2:2 = "stablehlo.sort"(%0, %arg0) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>, %arg3: tensor<f32>, %arg4: tensor<f32>):
    %1 = stablehlo.compare LT, %arg1, %arg2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<3x4xi32>, tensor<3x4xf32>) -> (tensor<3x4xi32>, tensor<3x4xf32>)
  return %2#0, %2#1 : tensor<3x4xi32>, tensor<3x4xf32>
}"""


def test_keys_are_words_outside():
    text = text_of(lambda key: (tanx.random.split(key), tanx.random.bits(key, (5,))),
                   tanx.random.key(0))
    assert "@main(%arg0: tensor<2xui32>) -> (tensor<2x2xui32> " in text


def test_keys_that_are_closed_over():
    key = tanx.random.key(0)
    text = text_of(lambda x: x + tanx.random.uniform(key, (3, 4)), X)
    assert "stablehlo.constant dense<0> : tensor<ui64>" in text


def test_unused_arguments_are_dropped_unless_kept():
    assert "@main(%arg0: tensor<f32>)" in text_of(lambda x, y: y, X, 1.0)
    kept = text_of(lambda x, y: y, X, 1.0, keep_unused=True)
    assert "@main(%arg0: tensor<3x4xf32>, %arg1: tensor<f32>)" in kept


def test_donated_arguments_without_a_matching_result():
    text = text_of(lambda x, y: x.sum() + y, X, 1.0, donate_argnums=(0, 1))
    assert "%arg0: tensor<3x4xf32> {jax.buffer_donor = true}" in text
    assert "%arg1: tensor<f32> {tf.aliasing_output = 0 : i32}" in text


@pytest.mark.parametrize("value, text", [
    (np.float32(0.1), "dense<1.000000e-01> : tensor<f32>"),
    (np.float32(1 / 3), "dense<0.333333343> : tensor<f32>"),
    (np.float64(np.nan), "dense<0x7FF8000000000000> : tensor<f64>"),
    (jnp.bfloat16(-np.inf), "dense<0xFF80> : tensor<bf16>"),
    (np.complex64(1 - 2j), "dense<(1.000000e+00,-2.000000e+00)> : tensor<complex<f32>>"),
    (np.bool_(True), "dense<true> : tensor<i1>"),
    (np.uint8(255), "dense<255> : tensor<ui8>"),
    (np.zeros((2, 3), np.int16), "dense<0> : tensor<2x3xi16>"),
    (np.array([[1, 2], [3, 4]], np.int8), "dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>"),
    (np.zeros((0, 2), np.int32), "dense<> : tensor<0x2xi32>"),
    (np.arange(101, dtype=np.uint8) % 2, f'dense<"0x{"0001" * 50}00"> : tensor<101xui8>'),
    (np.array([0.0, -0.0], np.float32), "dense<[0.000000e+00, -0.000000e+00]> : tensor<2xf32>"),
])
def test_constants(value, text):
    with tanx.enable_x64(True):
        closed = tanx.make_jaxpr(lambda: jnp.asarray(value))()
    assert f" = stablehlo.constant {text}" in module_text(closed)


def test_locations():
    def named(x):
        with tanx.named_scope("inner"):
            return jnp.cos(x)
    text = tanx.jit(named).lower(X).as_text(debug_info=True)
    check(text)
    assert re.search(r'stablehlo.cosine %arg0 : \S+ loc\("inner/cos"\("\S+test_stablehlo.py":\d+:',
                     text)


def test_python_functions_have_no_form():
    def f(x):
        return tanx.pure_callback(np.sin, X, x)
    with pytest.raises(NotImplementedError, match="pure_callback cannot be written as StableHLO"):
        tanx.jit(f).lower(X).as_text()


def test_primitives_of_users():
    """A primitive with the name of one of ours is translated by its own lowering."""
    mine = Primitive("sort")
    mine.def_abstract_eval(lambda x: x)
    mlir.register_lowering(mine, mlir.lower_fun(lambda x: x * 3, multiple_results=False))
    assert "stablehlo.multiply" in text_of(lambda x: mine.bind(x), X)


def test_types_of_64_bits_outside_of_their_scope():
    with tanx.enable_x64(True):
        closed = tanx.make_jaxpr(lambda x: jnp.linalg.eigh(x)[0])(np.eye(3))
    text = module_text(closed)
    assert check(text) and "f32" not in text


@pytest.mark.parametrize("bad", [
    "%0 = stablehlo.add %arg0, %9 : tensor<f32>",
    "%0 = stablehlo.add %arg0, %arg1 : tensor<f32>",
    "%arg0 = stablehlo.sine %arg0 : tensor<f32>",
    "%0 = call @f(%arg0) : (tensor<f32>) -> tensor<f32>",
    "%0 = stablehlo.convert %arg1 : (tensor<f32>) -> tensor<i32>",
])
def test_the_checker_finds_mistakes(bad):
    lines = ["module @m {", "func.func public @main(%arg0: tensor<f32>, %arg1: tensor<2xf32>) {",
             bad, "return", "}", "}"]
    assert check("\n".join([*lines[:2], *lines[3:]])) == 1
    with pytest.raises((AssertionError, KeyError)):
        check("\n".join(lines))


def test_calls_of_foreign_functions_say_only_what_matters():
    def call(x):
        shape = tanx.ShapeDtypeStruct(x.shape, x.dtype)
        return (tanx.ffi.ffi_call("typed", shape)(x, eps=np.float32(1e-5)),
                tanx.ffi.ffi_call("first", shape, custom_call_api_version=1)(x))

    text = tanx.jit(call).lower(jnp.ones(3)).as_text()
    layouts = "operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = "
    config = "mhlo.backend_config = {eps = 9.99999974E-6 : f32}"
    assert f'@typed(%arg0) {{backend_config = "", {config}, {layouts}' in text
    assert f'@first(%arg0) {{backend_config = "", {layouts}' in text


@pytest.mark.parametrize("dtype, value, expected", [
    ("float32", 0.0, "0.000000e+00"), ("float32", -0.0, "-0.000000e+00"),
    ("float32", 0.1, "1.000000e-01"), ("float32", -2.33, "-2.330000e+00"),
    ("float32", 0.7, "0.699999988"), ("float32", -0.7, "-0.699999988"),
    ("float32", 1e-5, "9.99999974E-6"), ("float32", 0.01, "0.00999999977"),
    ("float32", 1e20, "1.000000e+20"), ("float32", 999999.0, "9.999990e+05"),
    ("float32", 123456.7, "123456.703"), ("float32", 1234567.0, "0x4996B438"),
    ("float32", 1 / 3, "0.333333343"), ("float32", 123456789012.0, "1.23456791E+11"),
    ("float64", 1e-5, "1.000000e-05"), ("float64", 1 / 3, "0.33333333333333331"),
    ("bfloat16", 0.7, "6.992180e-01"), ("float16", 0.1, "9.997550e-02"),
    ("float32", np.inf, "0x7F800000"),
])
def test_numbers_are_written_as_llvm_writes_them(dtype, value, expected):
    with tanx.enable_x64():
        text = tanx.jit(lambda: lax.full((), np.asarray(value, jnp.dtype(dtype)))).lower().as_text()
    assert f"dense<{expected}>" in text


@pytest.mark.parametrize("sizes, devices", [((), 1), ((1,), 1), ((4,), 4), ((2, 3), 6)])
def test_a_module_says_for_how_many_devices_it_is(sizes, devices):
    mesh = tanx.sharding.AbstractMesh(sizes, tuple("abc"[:len(sizes)]))
    with tanx.sharding.use_abstract_mesh(mesh):
        text = tanx.jit(lambda x: 2 * x).lower(1.0).as_text()
    assert f"mhlo.num_partitions = {devices} : i32" in text


def test_calls_of_foreign_functions_are_by_name():
    def call(x):
        run = tanx.ffi.ffi_call("a target", [x, tanx.ShapeDtypeStruct((), np.int32)],
                                has_side_effect=True, input_output_aliases={0: 0},
                                input_layouts=[(1, 0)], output_layouts=[(1, 0), ()])
        return run(x, mode="fast", size=3, part={"x": np.float32(0.5)}, rows=np.int8([1, 2]))

    text = tanx.jit(call).lower(jnp.ones((2, 3))).as_text()
    assert check(text)
    assert ('stablehlo.custom_call @"a target"(' in text
            and '{backend_config = "", has_side_effect = true, mhlo.backend_config = '
                '{mode = "fast", part = {x = 5.000000e-01 : f32}, '
                'rows = dense<[1, 2]> : tensor<2xi8>, size = 3 : i64}' in text
            and "size = 3 : i64}, operand_layouts = [dense<[0, 1]> :" in text
            and "output_tuple_indices = [0], operand_index = 0" in text
            and "(tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<i32>)" in text)
