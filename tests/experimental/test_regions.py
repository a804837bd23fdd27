"""Functions with metadata, in a memory space, in one kernel; callbacks that fill buffers."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.errors import JaxRuntimeError
from tanx.experimental.buffer_callback import ExecutionStage, buffer_callback
from tanx.experimental.compute_on import compute_on
from tanx.experimental.fused import fused
from tanx.experimental.scheduling_groups import scheduling_group
from tanx.experimental.xla_metadata import (
    fuse_limit,
    must_fuse_call,
    set_xla_metadata,
    xla_metadata_call,
    xla_metadata_call2,
)
from tanx.memory import Space

X = jnp.arange(4.0)


def square(x):
    return x * x


REGIONS = {
    "metadata": xla_metadata_call(square, a=1), "decorator": xla_metadata_call(a=1)(square),
    "drop": xla_metadata_call2(square, {"a": 1}, ad_metadata="drop"),
    "other": xla_metadata_call2(square, {"a": 1}, ad_metadata={"b": 2}),
    "none": xla_metadata_call2(square), "fuse": must_fuse_call("id")(square),
    "group": scheduling_group("g")(square), "limit": fuse_limit()(square),
    "block": set_xla_metadata(a=1)(square), "value": lambda x: set_xla_metadata(x * x, a=1),
    "host": compute_on(square, compute_type="device_host", out_memory_spaces=Space.Device),
    "stream": compute_on(compute_type="gpu_stream:1", out_memory_spaces=Space.Host)(square),
    "fused": fused(out_spaces=(Space.Device,))(square),
}


def test_a_jitted_function_with_metadata_keeps_its_methods():
    f = set_xla_metadata(a=1)(tanx.jit(square))
    assert "multiply" in f.lower(3.0).as_text() and [f(3.0) for _ in range(4)] == [9.0] * 4



@pytest.mark.parametrize("name", REGIONS)
def test_regions_match_their_functions(name):
    f = REGIONS[name]
    compiled = tanx.jit(f)
    for _ in range(4):
        y = compiled(X)
        np.testing.assert_array_equal(y, [0, 1, 4, 9])
        assert y.dtype == np.float32 and y.shape == (4,) and not y.weak_type
    np.testing.assert_array_equal(f(X), [0, 1, 4, 9])
    np.testing.assert_array_equal(tanx.vmap(f)(X), [0, 1, 4, 9])
    np.testing.assert_array_equal(tanx.grad(lambda x: f(x).sum())(X), [0, 2, 4, 6])
    np.testing.assert_array_equal(tanx.jit(tanx.grad(lambda x: f(x).sum()))(X), [0, 2, 4, 6])
    np.testing.assert_array_equal(tanx.jvp(f, (X,), (X,))[1], [0, 2, 8, 18])
    carry, _ = tanx.lax.scan(lambda c, x: (f(c) + x, c), jnp.float32(0.5), X[:2])
    assert carry == 1.0625


SHOWN = {
    "metadata": ("xla_metadata=(('a', '1'),)", "ad_metadata=same", "xla_metadata=(('a', '1'),)"),
    "drop": ("xla_metadata=(('a', '1'),)", "ad_metadata=()", "xla_metadata=()"),
    "other": ("xla_metadata=(('a', '1'),)", "ad_metadata=(('b', '2'),)",
              "xla_metadata=(('b', '2'),)"),
    "fuse": ("(('MUST_FUSE', 'id'),)",), "group": ("(('scheduling_group', 'g'),)",),
    "value": ("xla_metadata_value[xla_metadata_kvs=(('a', 1),)]",),
    "host": ("compute_type=device_host", "out_memory_spaces=(MemorySpace.Device,)"),
    "fused": ("fused_call[", "out_spaces=(MemorySpace.Device,)"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_jaxprs_show_regions(name):
    text = str(tanx.make_jaxpr(tanx.grad(lambda x: REGIONS[name](x).sum()))(X))
    for words in SHOWN[name]:
        assert words in text
    assert "()" not in text.replace("ad_metadata=()", "").replace("xla_metadata=()", "")


def test_pytrees_captured_values_and_places():
    @tanx.jit
    def outer(x):
        inner = compute_on(lambda t: {"a": t["b"] + x, "c": 3}, compute_type="device_host",
                           out_memory_spaces={"a": Space.Host, "c": Space.Device})
        return inner({"b": x})["a"]
    for _ in range(4):
        np.testing.assert_array_equal(outer(X), 2 * np.asarray(X))
    first, second = compute_on(lambda x: (x + 1, x), compute_type="device_host",
                               out_memory_spaces=(Space.Device, Space.Host))(X)
    assert first.sharding.memory_kind == "device"
    assert second.sharding.memory_kind == "pinned_host"
    assert fused(out_spaces=[Space.Host])(square)(X).sharding.memory_kind == "pinned_host"


@pytest.mark.parametrize("call, kind, words", [
    (lambda: xla_metadata_call2(square, 3), TypeError, "metadata must be a dict"),
    (lambda: xla_metadata_call2(square, {}, ad_metadata="no"), TypeError, "'same', 'drop'"),
    (lambda: set_xla_metadata(square, a=1), TypeError, "only arrays have metadata"),
    (lambda: set_xla_metadata(a=[1]).__enter__(), TypeError, "unhashable"),
    (lambda: compute_on(square, compute_type="far", out_memory_spaces=Space.Device), ValueError,
     "no such type of computation"),
    (lambda: compute_on(square, compute_type="device", out_memory_spaces="x")(X), ValueError,
     "a place of results must be a tanx.memory.Space"),
    (lambda: compute_on(square), TypeError, "compute_type"),
    (lambda: fused(out_spaces=(Space.Device,) * 2)(square)(X), ValueError, "one space for each"),
])
def test_mistakes(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


# -- buffers ---------------------------------------------------------------------------------------

FLOATS = tanx.ShapeDtypeStruct((4,), np.float32)
FLOAT = tanx.ShapeDtypeStruct((), np.float32)


def doubled(context, out, x):
    assert context.stage is ExecutionStage.EXECUTE
    assert out.writeable and not x.writeable
    assert (x.ndim, x.dtype) == (len(x.shape), np.float32)
    np.asarray(out)[...] = 2 * np.asarray(x)


def test_buffers_are_filled():
    f = tanx.jit(buffer_callback(doubled, FLOATS))
    for _ in range(4):
        y = f(X)
        np.testing.assert_array_equal(y, [0, 2, 4, 6])
        assert y.dtype == np.float32 and not y.weak_type
    np.testing.assert_array_equal(buffer_callback(doubled, FLOATS)(X), [0, 2, 4, 6])
    for method in ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all"):
        lane = buffer_callback(doubled, FLOAT, vmap_method=method)
        np.testing.assert_array_equal(tanx.vmap(lane)(X), [0, 2, 4, 6])
        np.testing.assert_array_equal(tanx.jit(tanx.vmap(lane))(X), [0, 2, 4, 6])


def test_buffers_in_trees_and_in_place():
    def fill(context, out, x, *, by):
        np.asarray(out["a"])[...] = np.asarray(x) + np.asarray(by["k"])
        np.asarray(out["b"])[...] += 1
    f = tanx.jit(lambda x: buffer_callback(
        fill, {"a": FLOATS, "b": FLOATS}, input_output_aliases={0: 1})(x, by={"k": 2 * x}))
    for _ in range(4):
        out = f(X)
        np.testing.assert_array_equal(out["a"], 3 * np.asarray(X))
        np.testing.assert_array_equal(out["b"], np.asarray(X) + 1)
    np.testing.assert_array_equal(X, [0, 1, 2, 3])


def test_side_effects_run_without_used_results():
    seen = []
    f = tanx.jit(lambda x: (buffer_callback(
        lambda *_: seen.append(1), FLOATS, has_side_effect=True)(x), x)[1])
    for _ in range(4):
        f(X)
    assert len(seen) == 4


@pytest.mark.parametrize("call, kind, words", [
    (lambda: buffer_callback(3, FLOATS), TypeError, "must be a function"),
    (lambda: buffer_callback(doubled, FLOATS, vmap_method="x"), ValueError, "no such vmap_method"),
    (lambda: buffer_callback(doubled, FLOATS, input_output_aliases={0: 1})(X), ValueError,
     "there is no result 1"),
    (lambda: buffer_callback(doubled, FLOATS, input_output_aliases={1: 0})(X), ValueError,
     "there is no argument 1"),
    (lambda: buffer_callback(doubled, FLOAT, input_output_aliases={0: 0})(X), ValueError,
     "of the same type only"),
    (lambda: tanx.grad(lambda x: buffer_callback(doubled, FLOATS)(x).sum())(X), ValueError,
     "no derivative"),
    (lambda: tanx.vmap(buffer_callback(doubled, FLOAT))(X), NotImplementedError,
     "needs a vmap_method"),
    (lambda: tanx.jit(buffer_callback(lambda *_: 1 / 0, FLOATS))(X), JaxRuntimeError,
     "ZeroDivisionError"),
    (lambda: buffer_callback(lambda c, out, x: c.stream, FLOATS)(X), JaxRuntimeError,
     "no streams"),
])
def test_mistakes_with_buffers(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
