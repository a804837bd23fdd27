"""Options: names and defaults are JAX's, values are checked, contexts stay in their thread."""

import json
import os
import subprocess
import sys
import threading
import timeit
from pathlib import Path
from types import SimpleNamespace

import pytest

from tanx._base import config as _config
from tanx._base.config import (
    config,
    debug_nans,
    default_device,
    disable_jit,
    enable_x64,
    numpy_rank_promotion,
    strict,
    trace_key,
    transfer_guard,
)

DATA = Path(__file__).parent / "data"
OPTIONS = json.loads((DATA / "options.json").read_text())
# Code is stored on disk by default, so there is a size limit, and no minimum compile time.
DIFFERENT = {"jax_compilation_cache_max_size": 1 << 30,
             "jax_persistent_cache_min_compile_time_secs": 0.0}


def in_thread(fun):
    """The result of ``fun()`` in a new thread."""
    results = []
    thread = threading.Thread(target=lambda: results.append(fun()))
    thread.start()
    thread.join()
    return results[0]


def in_process(code, **environment):
    """The output of a new process."""
    done = subprocess.run(
        [sys.executable, "-c", f"from tanx._base.config import *\n{code}"], text=True,
        capture_output=True, cwd=DATA.parent.parent, env={**os.environ, **environment})
    return done.stdout.strip() or done.stderr.strip().splitlines()


def text_of(error, fun, *args):
    with pytest.raises(error) as caught:
        fun(*args)
    return str(caught.value)


@pytest.fixture
def restored():
    """Restore the process-wide values."""
    before = config.values
    yield
    for name, value in before.items():
        config.update(name, value)


def test_every_option_of_jax_is_known_with_its_default(monkeypatch):
    for name in [name for name in os.environ if name.startswith(("TANX_", "JAX_"))]:
        monkeypatch.delenv(name)
    printed = in_process("import json; print(json.dumps(config.values))")
    ours = json.loads(printed)
    assert {name: ours[name] for name in OPTIONS} == {**OPTIONS, **DIFFERENT}
    assert ours.keys() - OPTIONS.keys() == {
        "tanx_debug_bounds", "tanx_dump", "tanx_native_code", "tanx_program_bytes",
        "tanx_quick_code"}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_read_by_both_names(name):
    short = name.removeprefix("jax_")
    assert getattr(config, name) == getattr(config, short) == config.read(name)
    assert name in dir(config)


def test_contexts_of_jax_exist():
    surface = json.loads((DATA / "surface-jax.json").read_text())["modules"][""]
    contexts = [name for name, entry in surface.items()
                if entry.get("params") and entry["params"][0][0] == "new_val"]
    assert len(contexts) > 20
    assert set(contexts) <= set(_config.__all__)


def test_context_sets_and_restores_the_value():
    with enable_x64(True):
        assert enable_x64.value and config.jax_enable_x64 and config.x64_enabled
        with enable_x64(False):
            assert not enable_x64.value
        assert enable_x64.value
    assert not enable_x64.value


def test_context_puts_the_value_back_after_an_error():
    with pytest.raises(KeyError), enable_x64(True):
        raise KeyError
    assert not enable_x64.value


def test_a_boolean_context_switches_on_by_default():
    with debug_nans():
        assert debug_nans.value


def test_contexts_are_decorators_and_can_be_used_again():
    @enable_x64(True)
    def read(depth):
        return [enable_x64.value, *(read(depth - 1) if depth else [])]

    assert read(2) == read(2) == [True] * 3
    assert not enable_x64.value


def test_contexts_stay_in_their_thread():
    with enable_x64(True):
        assert not in_thread(lambda: enable_x64.value)
    assert in_thread(lambda: enable_x64(True).__enter__() or enable_x64.value)
    assert not enable_x64.value


def test_updates_reach_all_threads_but_not_contexts(restored):
    with enable_x64(False):
        config.update("jax_enable_x64", True)
        assert not enable_x64.value
        assert in_thread(lambda: enable_x64.value)
    assert enable_x64.value


def test_on_change_is_called_after_each_change(restored):
    seen = []
    _config.log_compiles.on_change(seen.append)
    with _config.log_compiles(True):
        config.update("jax_log_compiles", True)
        config.update("jax_log_compiles", False)
    assert seen == [True, True, False, False]


def test_strict_is_true_while_anything_is_to_be_checked(restored):
    assert strict.value is False
    with debug_nans(False), enable_x64(True):
        assert not strict.value
    with debug_nans(True), numpy_rank_promotion("raise"):
        assert strict.value
        with debug_nans(False):
            assert strict.value
    assert not strict.value
    config.update("jax_numpy_dtype_promotion", "strict")
    assert strict.value
    config.update("jax_numpy_dtype_promotion", "standard")
    assert not strict.value


def test_trace_key_follows_flags_that_change_programs(restored):
    before = trace_key()
    with enable_x64(True):
        inside = trace_key()
        assert inside != before
        assert in_thread(trace_key) == before
    assert trace_key() == before
    with _config.log_compiles(True):
        assert trace_key() == before
    config.update("jax_enable_x64", True)
    assert trace_key() == in_thread(trace_key) == inside


def test_disable_jit_and_transfer_guard():
    with disable_jit(disable=True), transfer_guard("disallow"):
        assert config.jax_disable_jit
        assert config.jax_transfer_guard_device_to_host == "disallow"
    assert not config.jax_disable_jit
    assert config.jax_transfer_guard_device_to_host is None


def test_transfer_guard_for_the_process_concerns_all_directions(restored):
    config.update("jax_transfer_guard", "log")
    assert config.jax_transfer_guard_host_to_device == "log"


@pytest.mark.parametrize("text, value", [
    ("1", True), ("true", True), ("On", True), ("0", False), ("false", False), ("", False)])
def test_booleans_from_text(text, value):
    with enable_x64(not value), enable_x64(text):
        assert enable_x64.value is value
    assert in_process("print(enable_x64.value)", TANX_ENABLE_X64=text) == str(value)


def test_environment_variables():
    assert in_process("print(enable_x64.value)", JAX_ENABLE_X64="1") == "True"
    assert in_process("print(enable_x64.value)", JAX_ENABLE_X64="1", TANX_ENABLE_X64="0") == "False"
    assert in_process("print(config.jax_compilation_cache_max_size)",
                      JAX_COMPILATION_CACHE_MAX_SIZE="17") == "17"
    assert in_process("print(enable_checks.value)", TANX_CHECK="1") == "True"
    assert in_process("print(strict.value)", JAX_DEBUG_NANS="1") == "True"
    *_, rule, expected, got = in_process("", TANX_NUMPY_RANK_PROMOTION="maybe")
    assert "TANX_NUMPY_RANK_PROMOTION: the environment variable has a value" in rule
    assert expected == "  expected: one of 'allow', 'warn', 'raise'"
    assert got == "  got:      'maybe'"


def test_flags_from_the_command_line(monkeypatch, restored):
    monkeypatch.setattr(sys, "argv", [
        "prog", "--jax_enable_x64", "--jax_random_seed_offset=4", "--other=1", "word"])
    config.parse_flags_with_absl()
    assert config.jax_enable_x64 is True and config.jax_random_seed_offset == 4


def test_absl_has_parsed_its_flags(monkeypatch):
    """Under pytest only this call parses flags; otherwise ``absl.app.run`` does."""
    parsed = []

    class Flags:
        def is_parsed(self):
            return bool(parsed)

        def __call__(self, arguments):
            parsed.append(arguments)

    monkeypatch.setitem(sys.modules, "absl.flags", SimpleNamespace(FLAGS=Flags()))
    config.config_with_absl()
    assert not parsed
    config.parse_flags_with_absl()
    config.parse_flags_with_absl()
    assert parsed == [[""]]


@pytest.mark.parametrize("name, value", [
    ("jax_enable_x64", "maybe"), ("jax_enable_x64", 2), ("jax_enable_x64", [1]),
    ("jax_num_cpu_devices", "4"), ("jax_num_cpu_devices", True), ("jax_num_cpu_devices", 1.5),
    ("jax_persistent_cache_min_compile_time_secs", "1"), ("jax_compilation_cache_dir", 3),
    ("jax_transfer_guard", "never"), ("jax_default_device", 3)])
def test_wrong_values(name, value):
    assert text_of(ValueError, config.update, name, value).startswith(
        f"tanx.config.{name}: this option does not take that value.")


def test_wrong_values_and_names_are_explained():
    assert text_of(ValueError, numpy_rank_promotion, "maybe") == """\
tanx.config.jax_numpy_rank_promotion: this option does not take that value.
  expected: one of 'allow', 'warn', 'raise'
  got:      'maybe' (str)"""
    assert text_of(AttributeError, config.update, "jax_enable_x46", True) == """\
tanx.config: there is no option 'jax_enable_x46'.
  Hint: did you mean 'jax_enable_x64'?"""
    assert text_of(AttributeError, getattr, config, "zzz") == """\
tanx.config: there is no option 'zzz'.
  Hint: tanx.config.values lists them all."""
    assert text_of(TypeError, default_device) == """\
tanx.default_device: the context needs a value.
  expected: None or a device, a sharding or the name of a platform"""
    with pytest.raises(AttributeError):
        config.jax_enable_x64 = True


def test_every_flag_says_what_it_does():
    for name in config.values:
        says, _, example = type(_config._find(name)).__doc__.partition("\n\n")
        assert says.endswith(".") and example.startswith(">>> with tanx.")


def test_flags_without_effect_say_so():
    assert enable_x64.effect
    assert not _config._find("jax_use_magma").effect


def test_reading_a_flag_is_cheap():
    def cost(code):
        return min(timeit.repeat(code, globals=globals(), number=2000, repeat=20))

    with enable_x64(True):
        assert cost("enable_x64.value") < 12 * cost("strict.value")
