"""Small modules of tanx.experimental: the cache of code, keys used twice, TensorStore files."""

import pytest

import tanx
import tanx.numpy as jnp
from tanx.experimental import array_serialization, colocated_python, key_reuse
from tanx.experimental.compilation_cache import compilation_cache


def test_the_folder_of_compiled_code(tmp_path):
    before = tanx.config.jax_compilation_cache_dir
    try:
        compilation_cache.set_cache_dir(tmp_path / "code")
        assert tanx.config.jax_compilation_cache_dir == str(tmp_path / "code")
        compilation_cache.reset_cache()
        assert float(tanx.jit(lambda x: x * 3.25 + 1)(2.0)) == 7.5
    finally:
        compilation_cache.set_cache_dir(before)


def test_keys_used_twice():
    with tanx.debug_key_reuse(True):
        key = tanx.random.key(0)
        tanx.random.normal(key)
        with pytest.raises(key_reuse.KeyReuseError, match="used again"):
            tanx.random.uniform(key)


@pytest.mark.parametrize("name", ["pytree_serialization", "tensorstore_impl"])
def test_files_of_tensorstore(name):
    with pytest.raises(ModuleNotFoundError, match=f"{name}: needs tensorstore") as caught:
        getattr(array_serialization, name)
    assert caught.value.name == "tensorstore"
    assert not hasattr(array_serialization, "foo")


def test_managers_of_checkpoints():
    base = array_serialization.serialization.GlobalAsyncCheckpointManagerBase
    with pytest.raises(TypeError, match="abstract"):
        base()


def test_colocated_functions():
    """They run in this process, on the arrays themselves."""
    x = jnp.arange(3.0)
    double = colocated_python.colocated_python(lambda x: 2 * x)
    assert double(x).tolist() == [0, 2, 4]
    typed = double.specialize(in_specs=((tanx.ShapeDtypeStruct((3,), jnp.float32),), {}),
                              out_specs_fn=lambda x: x, devices=tanx.devices())
    assert typed(x).tolist() == [0, 2, 4]
    assert colocated_python.colocated_python(lambda: x).specialize(devices=tanx.devices())() is x
    mesh = tanx.make_mesh((1,), ("x",))
    assert colocated_python.colocated_cpu_devices(mesh) is mesh


@pytest.mark.parametrize("call, error, text", [
    (lambda f: f(1.0), ValueError, "arguments and results must be arrays"),
    (lambda f: f(), ValueError, "needs devices to run on"),
    (lambda f: tanx.jit(f)(jnp.ones(2)), TypeError, "cannot be traced"),
    (lambda f: f.specialize(in_specs=((tanx.ShapeDtypeStruct((3,), jnp.float32),), {}))(
        jnp.ones(2)), ValueError, "arguments are not those that were stated"),
    (lambda f: f.specialize(out_specs_fn=lambda x: x[:1])(jnp.ones(2)), ValueError,
     "results are not those that were stated"),
    (lambda f: f.specialize(devices=[1]).specialize(devices=[2]), ValueError, "stated before")])
def test_mistakes_with_colocated_functions(call, error, text):
    with pytest.raises(error, match=text):
        call(colocated_python.colocated_python(lambda x=None: x))
