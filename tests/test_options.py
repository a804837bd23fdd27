"""Every option has its effect, or its description says that it has none, and why."""

import gc
import logging
import os
import subprocess
import sys
import threading
import traceback
import warnings

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import random
from tanx._base import config as _config
from tanx._base import flags as _flags
from tanx._base.config import config
from tanx._base.kept_options import KEPT
from tanx.errors import JaxRuntimeError, KeyReuseError, UnexpectedTracerError

X = jnp.arange(5.0)
KEY = random.key(0)


def raises(error, fun, text=""):
    with pytest.raises(error) as caught:
        fun()
    assert text in str(caught.value)


def logged(caplog, fun):
    """The log messages while ``fun`` ran."""
    caplog.clear()
    with caplog.at_level(logging.WARNING, "tanx"):
        fun()
    return caplog.text


def in_process(code, **environment):
    """The output of a new process, including errors."""
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, env={
        **os.environ, **environment})
    return done.stdout + done.stderr


def four_calls(fun, *args):
    """Results of a jitted function: traced, compiled, and by native code."""
    jitted = tanx.jit(fun)
    return [jitted(*args) for _ in range(4)]


# -- one check for each option ---------------------------------------------------------------------
# Each runs inside a context with the given value of the option, and once outside.


def cycle():
    """An array that only the collector can free."""
    owner = [jnp.ones(3)]
    owner.append(owner)
    del owner
    gc.collect()


def leak():
    kept = []
    tanx.jit(lambda x: kept.append(x) or x)(1.0)
    return kept


def used_twice():
    key = random.key(0)
    return random.normal(key) + random.normal(key)


def color_of(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    return "\x1b[" in str(tanx.make_jaxpr(jnp.sin)(1.0))


class Check:
    """How an option is checked: its value, and a function that fails unless it has its effect."""

    def __init__(self, value, inside, outside=lambda: None):
        self.value, self.inside, self.outside = value, inside, outside


def holds(truth):
    assert truth


def same(a, b):
    assert np.array_equal(a, b) and a.dtype == b.dtype


CHECKS = {
    "enable_x64": Check(True, lambda: same(jnp.array([1.5]), np.array([1.5])),
                        lambda: same(jnp.array([1.5]), np.array([1.5], "f4"))),
    "explicit_x64_dtypes": Check(
        "error", lambda: raises(ValueError, lambda: jnp.zeros(2, "float64"), "f64")),
    "numpy_dtype_promotion": Check(
        "strict", lambda: raises(ValueError, lambda: X + X.astype("int8")),
        lambda: X + X.astype("int8")),
    "numpy_rank_promotion": Check(
        "raise", lambda: raises(ValueError, lambda: X + jnp.ones((2, 5))),
        lambda: X + jnp.ones((2, 5))),
    "debug_nans": Check(True, lambda: raises(FloatingPointError, lambda: X / 0 * 0),
                        lambda: X / 0 * 0),
    "debug_infs": Check(True, lambda: raises(FloatingPointError, lambda: 1 / X), lambda: 1 / X),
    "debug_bounds": Check(True, lambda: raises(IndexError, lambda: X[jnp.array([7])], "index 7"),
                          lambda: same(X[jnp.array([7])], X[4:])),
    "debug_key_reuse": Check(True, lambda: raises(KeyReuseError, used_twice), used_twice),
    "check_tracer_leaks": Check(
        True, lambda: raises(Exception, leak, "leak"), lambda: raises(
            UnexpectedTracerError, lambda: leak()[0] + 1)),
    "no_tracing": Check(
        True, lambda: raises(RuntimeError, lambda: tanx.jit(lambda x: x + 1)(X), "traced for jit"),
        lambda: four_calls(jnp.sin, X)),
    "no_execution": Check(
        True, lambda: (raises(RuntimeError, lambda: X + X, "no_execution"),
                       raises(RuntimeError, lambda: four_calls(jnp.sin, X), "no_execution"),
                       tanx.eval_shape(jnp.sin, X), tanx.make_jaxpr(jnp.sin)(X)),
        lambda: X + X),
    "allow_f16_reductions": Check(
        False, lambda: raises(ValueError, lambda: jnp.sum(X.astype("f2"), dtype="f2"), "16-bit"),
        lambda: jnp.sum(X.astype("f2"), dtype="f2")),
    "check_static_indices": Check(
        True, lambda: (raises(IndexError, lambda: X[7], "index 7 is out of bounds for axis 0"),
                       raises(IndexError, lambda: X[-6]),
                       raises(IndexError, lambda: four_calls(lambda x: x[7], X)),
                       raises(IndexError, lambda: tanx.vmap(lambda x: x[3])(jnp.ones((5, 2)))),
                       X.at[7].get(mode="clip"), X.at[7].set(1), X[3:9], jnp.take(X, 7)),
        lambda: same(X[7], X[4])),
    "high_dynamic_range_gumbel": Check(
        True, lambda: same(random.gumbel(KEY, (9,)), random.gumbel(KEY, (9,), mode="high")),
        lambda: same(random.gumbel(KEY, (9,)), random.gumbel(KEY, (9,), mode="low"))),
    "random_seed_offset": Check(
        3, lambda: same(random.PRNGKey(4), jnp.array([0, 7], "uint32")),
        lambda: same(random.PRNGKey(4), jnp.array([0, 4], "uint32"))),
}


def rule_of_softmax():
    weights = tanx.grad(lambda x: tanx.nn.softmax(x)[0])(X)
    text = str(tanx.make_jaxpr(tanx.nn.softmax)(X))
    assert ("custom_jvp_call" in text) == _config.softmax_custom_jvp.value
    np.testing.assert_allclose(weights, [0.01152012, -0.00036949, -0.00100438, -0.0027302,
                                         -0.00741601], 1e-3)


def new_keys_are_typed():
    assert jnp.issubdtype(random.PRNGKey(0).dtype, tanx.dtypes.prng_key) is bool(
        _config.enable_custom_prng.value)


def kept_data_warns():
    data = jnp.ones(100)
    with pytest.warns(UserWarning, match="captures 400 bytes of arrays as constants"):
        four_calls(lambda x: x + data, X[0])


def few_programs():
    f = tanx.jit(lambda x: x + 3)
    for n in (1, 2, 3):
        assert [f(jnp.ones(n)).shape for _ in range(4)] == [(n,)] * 4
    holds(f._cache_size() == 1)


CHECKS |= {
    "softmax_custom_jvp": Check(True, rule_of_softmax, rule_of_softmax),
    "enable_custom_prng": Check(True, new_keys_are_typed, new_keys_are_typed),
    "legacy_prng_key": Check("error", lambda: raises(
        ValueError, lambda: random.normal(jnp.array([0, 1], "uint32")))),
    "default_prng_impl": Check("rbg", lambda: holds(random.PRNGKey(0).shape == (4,)),
                               lambda: holds(random.PRNGKey(0).shape == (2,))),
    "default_matmul_precision": Check(
        "highest", lambda: holds("Precision.HIGHEST" in str(tanx.make_jaxpr(jnp.matmul)(X, X))),
        lambda: holds("Precision.HIGHEST" not in str(tanx.make_jaxpr(jnp.matmul)(X, X)))),
    "default_device": Check("gpu", lambda: raises(RuntimeError, lambda: jnp.ones(2).device, "gpu"),
                            lambda: holds(jnp.ones(2).device.platform == "cpu")),
    "disable_jit": Check(True, lambda: raises(ZeroDivisionError, lambda: tanx.jit(
        lambda x: 1 / (float(x) * 0))(2.0)), lambda: four_calls(jnp.sin, X)),
    "captured_constants_warn_bytes": Check(100, kept_data_warns),
    "cpu_enable_async_dispatch": Check(False, lambda: holds(all(
        y.is_ready() for y in four_calls(lambda x: x @ x, jnp.ones((800, 800)))))),
    "transfer_guard_host_to_device": Check(
        "disallow", lambda: (
            raises(JaxRuntimeError, lambda: X + 1, "would be copied from the host"),
            raises(JaxRuntimeError, lambda: ADD(X, np.ones(5, "f")), "f32[5]"),
            raises(JaxRuntimeError, lambda: ADD(X, 1.0)),
            raises(JaxRuntimeError, lambda: jnp.array([1, 2])),
            tanx.device_put(np.ones(3)), ADD(X, X), X + X),
        lambda: [ADD(X, 1.0) for _ in range(4)]),
    "optimization_level": Check("O0", lambda: [
        same(y, X * 4 + 1) for y in four_calls(lambda x: x * 4 + 1, X)]),
    "quick_code": Check(False, lambda: [same(y, X * 2) for y in four_calls(lambda x: x * 2, X)]),
    "native_code": Check(False, lambda: [same(y, X * 2) for y in four_calls(lambda x: x * 2, X)]),
    "program_bytes": Check(0, few_programs),
    "enable_checks": Check(True, lambda: four_calls(lambda x: x * 3, X)),
}
ADD = tanx.jit(lambda x, y: x + y)


@pytest.mark.parametrize("name", CHECKS)
def test_option_has_its_effect(name):
    check, flag = CHECKS[name], _config._find(name)
    assert flag.effect
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check.outside()
        with flag(check.value):
            check.inside()
        check.outside()


def test_guard_that_logs(caplog):
    with tanx.transfer_guard("log"):
        text = logged(caplog, lambda: ADD(X, 1.0))
    assert "f32[] would be copied from the host to the device" in text and __file__ in text
    with tanx.transfer_guard("log"):
        assert not logged(caplog, lambda: tanx.device_put(1.0))
    with tanx.transfer_guard("log_explicit"):
        assert "f32[]" in logged(caplog, lambda: tanx.device_put(1.0))
    with tanx.transfer_guard("disallow_explicit"):
        raises(JaxRuntimeError, lambda: tanx.device_put(1.0))


def test_guards_belong_to_their_thread():
    results = []
    with tanx.transfer_guard("disallow"):
        thread = threading.Thread(target=lambda: results.extend(ADD(X, 1.0) for _ in range(4)))
        thread.start()
        thread.join()
        raises(JaxRuntimeError, lambda: ADD(X, 1.0))
    assert len(results) == 4
    same(ADD(X, 1.0), X + 1)


def test_log_compiles(caplog):
    def double(x):
        return x * 2

    jitted = tanx.jit(double)
    with tanx.log_compiles():
        lines = logged(caplog, lambda: [jitted(jnp.ones(7)) for _ in range(4)]).splitlines()
    assert len(lines) == 2
    assert "tanx.jit: traced double for (f32[7]) in 0." in lines[0]
    assert " double for (f32[7]) in " in lines[1]
    assert "tanx.jit: compiled" in lines[1] or "tanx.jit: loaded from disk" in lines[1]
    assert not logged(caplog, lambda: jitted(jnp.ones(8)))


MISSES = {
    "type": (lambda f: f(X.astype(int)), "x: now i32[5], before f32[5]"),
    "shape": (lambda f: f(X[:3]), "x: now f32[3], before f32[5]"),
    "weak type": (lambda f: (f(X[0]), f(1.0)), "x: now f32[], weakly typed, before f32[]"),
    "static": (lambda f: f(X, n=2), "static argument n: now 2, before 1"),
    "containers": (lambda f: f((X, X)), "arguments are other containers"),
    "option": (lambda f: tanx.debug_nans()(f)(X), "option jax_debug_nans: now True, before False"),
}


@pytest.mark.parametrize("case", MISSES)
def test_explain_cache_misses(case, caplog):
    def f(x, n=1):
        return tanx.tree.map(lambda y: y * n, x)

    act, expected = MISSES[case]
    jitted = tanx.jit(f, static_argnames="n")
    with tanx.explain_cache_misses():
        first = logged(caplog, lambda: [jitted(X, n=1) for _ in range(4)])
        again = logged(caplog, lambda: act(lambda x, n=1: jitted(x, n=n)))
    assert first.count("f is traced.") == 1
    assert "f is traced again" in again and expected in again
    assert f"called at  {__file__}" in again and f"defined at {__file__}" in again


def test_explain_functions_made_anew(caplog):
    def make():
        return tanx.jit(lambda x: x - 3)

    with tanx.explain_cache_misses():
        assert "it was never traced before" in logged(caplog, lambda: make()(X))
        assert "the same code was traced as another function object" in logged(
            caplog, lambda: make()(X))


def test_garbage_collection_guard(caplog):
    with tanx.array_garbage_collection_guard("log"):
        text = logged(caplog, cycle)
        assert "freed by the garbage collector" in text and "f32[3]" in text
        assert not logged(caplog, lambda: (jnp.ones(3) + 1, gc.collect()))
    assert not logged(caplog, cycle)
    died = in_process("import tanx, gc\nimport tanx.numpy as jnp\n"
                      "with tanx.array_garbage_collection_guard('fatal'):\n"
                      " x = [jnp.ones(3)]; x.append(x); del x; gc.collect()\n print('alive')")
    assert "freed by the garbage collector" in died and "alive" not in died


def test_color(monkeypatch):
    assert color_of(monkeypatch)
    with _config.pprint_use_color(False):
        assert not color_of(monkeypatch)
    assert "\x1b[" in tanx.make_jaxpr(jnp.sin)(1.0).pretty_print(use_color=True)


def test_logging_level():
    shown = in_process("import tanx\ntanx.config.update('jax_logging_level', 'DEBUG')\n"
                       "tanx.jit(lambda x: x + 1)(1.0)\n"
                       "tanx.config.update('jax_logging_level', 'ERROR')\n"
                       "tanx.jit(lambda x: x + 2)(1.0)", TANX_ENABLE_COMPILATION_CACHE="0")
    assert shown.count("DEBUG:") == 2 and shown.count("compiled <lambda> for (f32[])") == 1


def test_traceback_filtering():
    def lines():
        try:
            jnp.ones(3) + jnp.ones(4)
        except TypeError as error:
            return len(traceback.extract_tb(error.__traceback__))

    with tanx.traceback_filtering("off"):
        whole = lines()
    assert lines() == 1 < whole


def test_dump(capsys):
    with _config.dump("fuse"):
        tanx.jit(lambda x: x * 17 + 4)(X)
    shown = capsys.readouterr()
    assert "fuse" in shown.out + shown.err


@pytest.mark.parametrize("settings, files", [
    ({}, True), ({"JAX_ENABLE_COMPILATION_CACHE": "0"}, False),
    ({"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "1000"}, False),
    ({"JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "100000000"}, False)])
def test_options_of_the_cache_on_disk(settings, files, tmp_path):
    clean = {"TANX_ENABLE_COMPILATION_CACHE": "1", "TANX_CACHE_DIR": str(tmp_path)}
    clean |= {name.replace("JAX_", "TANX_"): value for name, value in settings.items()}
    assert not in_process("import tanx\ntanx.jit(lambda x: x * 2 + 5)(1.0)", **clean)
    found = [f for _, _, names in os.walk(tmp_path) for f in names]
    assert bool(found) == files


@pytest.mark.parametrize("name, value, error", [
    ("jax_num_cpu_devices", 4, NotImplementedError),
    ("jax_num_cpu_devices", 0, NotImplementedError),
    ("jax_platforms", "cuda", RuntimeError), ("jax_platforms", "cuda,cpu", RuntimeError),
    ("jax_platform_name", "gpu", RuntimeError)])
def test_options_that_need_other_devices_raise(name, value, error):
    raises(error, lambda: config.update(name, value), f"asked for: {value}")
    assert "asked for" in in_process("import tanx", **{name.upper(): str(value)})


@pytest.mark.parametrize("name, value", [
    ("jax_num_cpu_devices", 1), ("jax_platforms", "cpu"), ("jax_platform_name", "cpu")])
def test_options_of_present_devices_are_accepted(name, value):
    before = config.read(name)
    config.update(name, value)
    config.update(name, before)


ELSEWHERE = {  # options that are tested above, or in the named file
    "log_compiles", "explain_cache_misses", "array_garbage_collection_guard", "pprint_use_color",
    "logging_level", "traceback_filtering", "dump", "compilation_cache_dir", "transfer_guard",
    "enable_compilation_cache", "persistent_cache_min_compile_time_secs",
    "persistent_cache_min_entry_size_bytes", "platforms", "platform_name", "num_cpu_devices",
    "compilation_cache_max_size",  # tests/runtime/test_disk_cache.py
    "raise_persistent_cache_errors",  # tests/runtime/test_disk_cache.py
    "threefry_partitionable",  # tests/random
    "disable_bwd_checks",  # tests of custom_vjp
}
DEFINED = {name for name in _flags.known if name not in KEPT}
IDLE = {name for name in DEFINED if not _config._find(name).effect}


def test_every_option_is_checked():
    assert {*CHECKS, *ELSEWHERE} == DEFINED - IDLE
    assert not CHECKS.keys() & ELSEWHERE


@pytest.mark.parametrize("name", sorted({*IDLE, *KEPT}))
def test_options_without_effect_say_so(name, caplog):
    flag = _config._find(name)
    _flags._said.discard(name)
    value = next((v for v in flag.kind.samples if v not in (None, flag.relaxed)), None)
    if value is None:
        value = "text"

    def use():
        with flag(value), flag(value):
            assert flag.value == value

    text = logged(caplog, use)
    assert text.count("this option has no effect here") == 1 and flag.public_name in text
    assert "reason:" in text
    assert not logged(caplog, use)
