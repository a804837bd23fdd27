"""Small modules of tanx.experimental: kept code, keys used twice, files of TensorStore."""

import pytest

import tanx
from tanx.experimental import array_serialization, key_reuse
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


@pytest.mark.parametrize("name", ["serialization", "pytree_serialization", "tensorstore_impl"])
def test_files_of_tensorstore(name):
    with pytest.raises(ModuleNotFoundError, match=f"{name}: needs tensorstore") as caught:
        getattr(array_serialization, name)
    assert caught.value.name == "tensorstore"
    assert not hasattr(array_serialization, "foo")
