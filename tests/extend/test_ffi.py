"""Functions of shared libraries: a package's solver, call frames, errors, threads, Ctrl-C."""

import ctypes
import gc
import shutil
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._base import config
from tanx._runtime.executable import Executable
from tanx.errors import JaxRuntimeError
from tanx.extend.core import Primitive
from tanx.ffi import ffi_call, ffi_lowering, pycapsule, register_ffi_target, register_ffi_type
from tanx.interpreters import mlir

HERE = Path(__file__).parent
COMPILER = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")

F32, I64 = np.float32, np.int64
NAMES = ("kepler", "facts", "sum_of_attributes", "copy", "increment", "counted", "slow", "offers",
         "refused", "in_future")


@pytest.fixture(scope="session")
def path(tmp_path_factory):
    """The compiled library; the header compiles without a warning."""
    made = tmp_path_factory.mktemp("library") / "foreign.so"
    subprocess.run([COMPILER, "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", "-I",
                    tanx.ffi.include_dir(), HERE / "foreign.c", "-o", made, "-lm", "-lpthread"],
                   check=True)
    return made


@pytest.fixture(scope="session")
def library(path):
    """The library with its functions registered: once per process, because names are not reused."""
    found = ctypes.CDLL(str(path))
    for name in NAMES:
        register_ffi_target(name, pycapsule(getattr(found, name)))
    for name in ("twice", "both"):
        register_ffi_target(name, pycapsule(getattr(found, name)), api_version=0)
    register_ffi_type("tests.state", {
        "type_id": pycapsule(ctypes.pointer(ctypes.c_int64.in_dll(found, "state_type"))),
        "type_info": pycapsule(ctypes.pointer(ctypes.c_int64.in_dll(found, "state_info")))})
    register_ffi_target("counting", {"instantiate": pycapsule(found.begin),
                                     "execute": pycapsule(found.count)})
    found.count_of_calls.restype = found.count_of_states.restype = ctypes.c_long
    return found


@pytest.fixture(autouse=True)
def registered(library):
    """Every test may call the functions by name."""


def typed(shape, dtype=F32):
    return tanx.ShapeDtypeStruct(shape, dtype)


def four_times(fun, *args):
    """The result of a function, the same eagerly and in each of four compiled calls."""
    expected, jitted = fun(*args), tanx.jit(fun)
    for _ in range(4):
        found = jitted(*args)
        tanx.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), expected, found)
        assert tanx.tree.map(tanx.typeof, expected) == tanx.tree.map(tanx.typeof, found)
    return expected


# -- a package's primitives ------------------------------------------------------------------------


@tanx.custom_jvp
def kepler(mean, eccentricity):
    return ffi_call("kepler", typed(mean.shape), vmap_method="broadcast_all")(
        mean, eccentricity, tolerance=1e-10)


@kepler.defjvp
def kepler_jvp(primals, tangents):
    eccentric = kepler(*primals)
    slope = 1 - primals[1] * jnp.cos(eccentric)
    return eccentric, (tangents[0] + jnp.sin(eccentric) * tangents[1]) / slope


MEAN, ECCENTRICITY = np.linspace(0, 3, 5, dtype=F32), np.linspace(0, 0.8, 5, dtype=F32)


def solved(eccentric, mean, eccentricity):
    np.testing.assert_allclose(eccentric - eccentricity * np.sin(eccentric), mean, atol=2e-6)


def test_kepler():
    solved(four_times(kepler, MEAN, ECCENTRICITY), MEAN, ECCENTRICITY)
    two = four_times(tanx.vmap(kepler, (0, None)), np.stack([MEAN, MEAN + 1]), ECCENTRICITY)
    solved(two, np.stack([MEAN, MEAN + 1]), ECCENTRICITY)
    each = four_times(tanx.vmap(kepler, (0, None)), MEAN, F32(0.3))
    solved(each, MEAN, F32(0.3))


def test_kepler_has_derivatives():
    by_mean, by_eccentricity = four_times(
        tanx.vmap(tanx.grad(kepler, (0, 1))), MEAN, ECCENTRICITY)
    x = np.asarray(kepler(MEAN, ECCENTRICITY))
    slope = 1 - ECCENTRICITY * np.cos(x)
    np.testing.assert_allclose(by_mean, 1 / slope, rtol=1e-5)
    np.testing.assert_allclose(by_eccentricity, np.sin(x) / slope, rtol=1e-5, atol=1e-6)
    second = four_times(tanx.vmap(tanx.hessian(kepler)), MEAN, ECCENTRICITY)
    np.testing.assert_allclose(second, -ECCENTRICITY * np.sin(x) / slope ** 3, rtol=1e-4,
                               atol=1e-6)


def test_kepler_in_a_scan():
    def orbit(start, eccentricity):
        def step(mean, _):
            eccentric = kepler(mean, eccentricity)
            return mean + 0.5, eccentric
        return lax.scan(step, start, None, length=6)[1]

    found = four_times(orbit, F32(0.1), F32(0.3))
    solved(found, F32(0.1) + 0.5 * np.arange(6), F32(0.3))
    assert found.shape == (6,) and found.dtype == F32 and not found.weak_type
    slopes = four_times(tanx.grad(lambda *args: orbit(*args).sum()), F32(0.1), F32(0.3))
    np.testing.assert_allclose(slopes, (1 / (1 - 0.3 * np.cos(found))).sum(), rtol=1e-5)


def test_a_lowering_of_a_primitive():
    p = Primitive("kepler_solver")
    p.def_abstract_eval(lambda mean, e, **_: tanx.core.ShapedArray(mean.shape, mean.dtype))
    mlir.register_lowering(p, ffi_lowering("kepler"))
    found = four_times(lambda m, e: p.bind(m, e, tolerance=1e-9), MEAN, ECCENTRICITY)
    solved(found, MEAN, ECCENTRICITY)
    with pytest.raises(NotImplementedError, match="MLIR"):
        ffi_lowering("kepler", called_computations=[])


# -- what frames say -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype, number", [
    (np.bool_, 1), (np.int8, 2), (np.int16, 3), (np.int32, 4), (np.uint8, 6), (np.uint16, 7),
    (np.uint32, 8), (np.float16, 10), (np.float32, 11), (np.complex64, 15),
    (ml_dtypes.bfloat16, 16), (ml_dtypes.float8_e5m2, 19)])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 1)])
def test_arrays(dtype, number, shape):
    x = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    found = four_times(lambda x: ffi_call("copy", typed(shape, dtype))(
        x, itemsize=x.dtype.itemsize), x)
    np.testing.assert_array_equal(found, x)
    assert found.dtype == x.dtype
    with tanx.enable_x64(True):
        count = 2 + len(shape) + 3
        facts = ffi_call("facts", typed((count,), I64))(x)
    assert facts.tolist() == [number, len(shape), *shape, 5, 1, count]


@pytest.mark.parametrize("attributes, total", [
    ({}, 0), ({"a": 2}, 2), ({"a": True, "b": 2.5}, 3.5), ({"a": "four", "b": b"xy"}, 6),
    ({"a": np.float32(1.5), "b": np.int32(2)}, 3.5), ({"a": np.arange(4)}, 6),
    ({"a": np.ones((2, 2), F32), "b": np.zeros(0)}, 4), ({"z": {"y": {"x": 3}, "w": 1.0}}, 4),
    ({"z": {}}, 0)])
def test_attributes(attributes, total):
    found = four_times(lambda: ffi_call("sum_of_attributes", typed(()))(**attributes))
    assert found == total


@pytest.mark.parametrize("value", [[1, 2], (1.0,), None, 1j, np.dtype("f4"), len, {"a": None}])
def test_attributes_that_are_none(value):
    with pytest.raises(TypeError, match="attribute"):
        ffi_call("sum_of_attributes", typed(()))(a=value)


def test_attributes_of_different_types_are_distinct():
    """1, True and 1.0 are equal in Python, but attributes of different types in C."""
    def kinds(x):
        return [ffi_call("sum_of_attributes", typed(()))(a=a) for a in (1, True, 1.0, np.int32(1))]
    jaxpr = tanx.make_jaxpr(kinds)(1.0)
    assert len({eqn.params["attributes"] for eqn in jaxpr.eqns}) == 4
    assert four_times(kinds, 1.0) == [1, 1, 1, 1]


def test_layouts():
    x = jnp.arange(6.0, dtype=F32).reshape(2, 3)

    def columns(x, **layouts):
        return ffi_call("copy", typed((2, 3)), vmap_method="broadcast_all", **layouts)(
            x, itemsize=4)
    for fun in (lambda x: columns(x, input_layouts=[(1, 0)]),
                lambda x: columns(x, output_layouts=(0, 1), input_layouts=[(1, 0)])):
        np.testing.assert_array_equal(four_times(fun, x).ravel(), np.asarray(x).T.ravel())
        stack = jnp.stack([x, x + 1])
        np.testing.assert_array_equal(four_times(tanx.vmap(fun), stack),
                                      [fun(x), fun(x + 1)])
    with tanx.enable_x64(True):
        facts = ffi_call("facts", typed((7,), I64), input_layouts=[(1, 0)])(x)
    assert facts.tolist() == [11, 2, 2, 3, 5, 1, 7]
    back = four_times(lambda x: columns(x, input_layouts=[(1, 0)], output_layouts=(1, 0)), x)
    np.testing.assert_array_equal(back, x)


def test_shared_memory():
    fun = ffi_call("increment", typed((3,)), input_output_aliases={0: 0},
                   vmap_method="expand_dims")
    x = jnp.arange(3, dtype=F32)
    np.testing.assert_array_equal(four_times(lambda x: (fun(x), x), x), [x + 1, x])
    np.testing.assert_array_equal(four_times(tanx.vmap(fun), jnp.ones((2, 3))), np.full((2, 3), 2))
    with pytest.raises(JaxRuntimeError, match="FAILED_PRECONDITION: the memory is not shared"):
        ffi_call("increment", typed((3,)))(x)


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "expand_dims",
                                    "broadcast_all", "legacy_vectorized"])
def test_vmap_methods(method):
    def facts(x, y):
        return ffi_call("facts", typed((12,), I64), vmap_method=method)(x, y)
    expected = {"expand_dims": [11, 2, 2, 3, 11, 2, 1, 4],
                "broadcast_all": [11, 2, 2, 3, 11, 2, 2, 4],
                "legacy_vectorized": [11, 2, 2, 3, 11, 1, 4]}.get(method, [11, 1, 3, 11, 1, 4])
    with tanx.enable_x64(True):
        found = four_times(tanx.vmap(facts, (0, None)), np.ones((2, 3), F32), np.ones(4, F32))
    assert np.ravel(found)[:len(expected)].tolist() == expected


def test_the_first_interface():
    x = F32(3)
    assert four_times(ffi_call("twice", typed(()), custom_call_api_version=1), x) == 6
    assert four_times(ffi_call("both", (typed(()), typed(())), custom_call_api_version=1),
                      x, F32(1)) == (1, 3)


def test_structures_of_results():
    x = F32(3)
    for kind in (tuple, list):
        found = four_times(ffi_call("both", kind([typed(())] * 2), custom_call_api_version=1), x, x)
        assert type(found) is kind and len(found) == 2


# -- effects ---------------------------------------------------------------------------------------


def test_side_effects(library):
    def used(fun):
        before = library.count_of_calls()
        jitted = tanx.jit(fun)
        for _ in range(4):
            tanx.block_until_ready(jitted(F32(1)))
        return library.count_of_calls() - before

    call, impure = (ffi_call("counted", typed(()), has_side_effect=e) for e in (False, True))
    assert used(lambda x: call(x) * 2) == 4
    assert used(lambda x: (call(x), x)[1]) == 0
    assert used(lambda x: (impure(x), x)[1]) == 4
    assert used(lambda x: lax.fori_loop(0, 5, lambda _, c: impure(c), x)) == 20
    assert used(lambda x: lax.cond(x > 2, impure, lambda x: x, x)) == 0
    assert "Ffi" in str(tanx.make_jaxpr(impure)(1.0).effects)


# -- stages, memory, futures -----------------------------------------------------------------------


def test_states(library):
    counting = ffi_call("counting", typed((), np.int32), has_side_effect=True)
    made = [tanx.jit(lambda n=n: counting(start=n), static_argnums=0) for n in (5, 50)]
    assert [[int(fun()) for _ in range(4)] for fun in made] == [[5, 6, 7, 8], [50, 51, 52, 53]]
    alive = library.count_of_states()
    assert alive >= 2
    tanx.clear_caches()
    del made
    gc.collect()
    assert library.count_of_states() < alive
    with pytest.raises(JaxRuntimeError, match="INVALID_ARGUMENT: there is no start"):
        tanx.jit(lambda: counting())()


def test_call_frames_have_the_supported_functions():
    assert four_times(ffi_call("offers", typed(())), F32(1)) == 3


@pytest.mark.parametrize("number, text", [
    (3, "UNIMPLEMENTED: functions are registered by"), (4, "UNIMPLEMENTED: there is no stream"),
    (5, "UNIMPLEMENTED: types are"), (6, "NOT_FOUND: there is no such data"),
    (9, "INVALID_ARGUMENT: memory is aligned"), (16, "UNIMPLEMENTED: runs")])
def test_unsupported_functions_of_call_frames_return_errors(number, text):
    with pytest.raises(JaxRuntimeError, match=text):
        ffi_call("refused", typed(()))(function=number)


def test_futures():
    later = tanx.jit(lambda x: ffi_call("in_future", typed(()))(x) * 2)
    assert [float(later(F32(n))) for n in range(4)] == [2, 4, 6, 8]
    for _ in range(4):
        with pytest.raises(JaxRuntimeError, match="OUT_OF_RANGE: too late"):
            later(F32(-1))


# -- errors ----------------------------------------------------------------------------------------


def test_errors_name_the_line():
    def failing(mean, eccentricity):
        return kepler(mean, eccentricity) + 1

    jitted, text = tanx.jit(failing), r"INVALID_ARGUMENT: eccentricity outside of \[0, 1\)"
    looped = tanx.jit(lambda m, e: lax.scan(lambda c, x: (kepler(x, e), None), m[0], m)[0])
    for _ in range(4):
        with pytest.raises(JaxRuntimeError, match=text) as found:
            jitted(MEAN, ECCENTRICITY + 1)
        assert "kepler" in str(found.value) and f"{__file__}:" in str(found.value)
        with pytest.raises(ValueError, match=text):
            looped(MEAN, F32(-1))
        with pytest.raises(JaxRuntimeError, match=text):
            kepler(MEAN, ECCENTRICITY + 1)
        solved(jitted(MEAN, ECCENTRICITY) - 1, MEAN, ECCENTRICITY)


def test_errors_of_work_in_the_background():
    x = np.ones((700, 700), F32)

    @tanx.jit
    def long(x, e):
        y = x
        for _ in range(8):
            y = jnp.sin(y @ x) * 0.01
        return kepler(jnp.abs(y[0]), jnp.full(700, e)).sum()

    expected = np.asarray(long(x, F32(0.5)))
    for _ in range(3):
        with pytest.raises(JaxRuntimeError, match="eccentricity outside"):
            np.asarray(long(x, F32(2)) + 1)
        np.testing.assert_array_equal(long(x, F32(0.5)), expected)


@pytest.mark.parametrize("make, error, text", [
    (lambda: ffi_call("nowhere", typed(()))(1.0), JaxRuntimeError, "NOT_FOUND"),
    (lambda: tanx.jit(ffi_call("nowhere", typed(())))(1.0), JaxRuntimeError, "NOT_FOUND"),
    (lambda: ffi_call("kepler", typed(()), custom_call_api_version=1)(1.0), JaxRuntimeError,
     "another interface"),
    (lambda: ffi_call("kepler", None), ValueError, "shape and a dtype"),
    (lambda: ffi_call("kepler", [1.0]), ValueError, "shape and a dtype"),
    (lambda: ffi_call("kepler", tanx.ffi.abstract_token), NotImplementedError, "tokens"),
    (lambda: ffi_call("kepler", typed(()), vmap_method="all"), ValueError, "vmap_method"),
    (lambda: ffi_call("kepler", typed(()), custom_call_api_version=2), NotImplementedError,
     "version"),
    (lambda: ffi_call("kepler", typed(()), legacy_backend_config="a"), ValueError, "legacy"),
    (lambda: ffi_call("twice", typed(()), custom_call_api_version=1)(1.0, a=1), ValueError,
     "attributes"),
    (lambda: ffi_call("copy", typed(()))("text"), TypeError, "array or a number"),
    (lambda: ffi_call("copy", typed(()))([1.0]), TypeError, "array or a number"),
    (lambda: ffi_call("copy", typed(()), input_output_aliases={1: 0})(1.0), ValueError,
     "no such operand"),
    (lambda: ffi_call("copy", typed((2,)), input_output_aliases={0: 0})(1.0), ValueError,
     "share memory"),
    (lambda: ffi_call("copy", typed(()), input_layouts=[None, None])(1.0), ValueError,
     "one entry for each"),
    (lambda: ffi_call("copy", typed((2,)), output_layouts=(1,)), ValueError, "each dimension"),
    (lambda: ffi_call("copy", typed(()))(jnp.int4(1)), NotImplementedError, "no such dtype"),
    (lambda: tanx.grad(ffi_call("copy", typed(())))(1.0), ValueError, "no derivative"),
    (lambda: tanx.vmap(ffi_call("copy", typed(())))(np.ones(2)), NotImplementedError,
     "vmap_method"),
    (lambda: register_ffi_target("kepler", pycapsule(len_pointer())), JaxRuntimeError,
     "another function"),
    (lambda: register_ffi_target("new", len_pointer()), JaxRuntimeError, "capsule"),
    (lambda: register_ffi_target("new", pycapsule(len_pointer()), api_version=7), ValueError,
     "version"),
    (lambda: register_ffi_target("new", {"run": pycapsule(len_pointer())}), ValueError, "execute"),
    (lambda: register_ffi_type("new", {}), ValueError, "type_id"),
])
def test_mistakes(make, error, text):
    with pytest.raises(error, match=text):
        make()


def len_pointer():
    return ctypes.CDLL(None).strlen


def test_other_platforms():
    register_ffi_target("elsewhere", pycapsule(len_pointer()), platform="CUDA")
    with pytest.raises(JaxRuntimeError, match="NOT_FOUND"):
        ffi_call("elsewhere", typed(()))(1.0)


# -- threads ---------------------------------------------------------------------------------------


def test_many_threads():
    """Calls in many threads share nothing, and each gets its own errors."""
    single, looped = tanx.jit(kepler), tanx.jit(
        lambda m, e: lax.scan(lambda c, x: (c + kepler(x, e), None), F32(0), m)[0])
    wrong: list = []
    expected = np.asarray(looped(MEAN, F32(0.25)))

    def work(number):
        mean, e = MEAN + F32(number / 10), np.full(5, number / 20, F32)
        for turn in range(60):
            try:
                solved(np.asarray(single(mean, e)), mean, e)
                np.testing.assert_array_equal(looped(MEAN, F32(0.25)), expected)
                if turn % 3 == 0:
                    bad = (looped, F32(-1)) if turn % 2 else (single, np.full(5, -1, F32))
                    with pytest.raises(JaxRuntimeError, match="eccentricity outside"):
                        bad[0](mean, bad[1])
            except BaseException as error:
                wrong.append(error)
                raise

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_function_may_wait_for_python():
    """Compiled code does not hold Python's lock while the function runs."""
    seen = []

    @ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_float), ctypes.c_void_p)
    def waiting(out, _):
        thread = threading.Thread(target=lambda: seen.append(threading.get_ident()))
        thread.start()
        thread.join()
        out[0] = len(seen)

    register_ffi_target("waiting", pycapsule(waiting), api_version=0)
    call = tanx.jit(ffi_call("waiting", typed(()), custom_call_api_version=1, has_side_effect=True))
    assert [float(call(F32(0))) for _ in range(4)] == [1, 2, 3, 4]


def test_ctrl_c(path):
    script = textwrap.dedent(f"""
        import ctypes, os, signal, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)
        import numpy as np, tanx
        from tanx import ffi, lax
        ffi.register_ffi_target("slow", ffi.pycapsule(ctypes.CDLL({str(path)!r}).slow))
        call = ffi.ffi_call("slow", tanx.ShapeDtypeStruct((), np.float32))
        long = tanx.jit(lambda n, x: lax.fori_loop(0, n, lambda _, c: call(c), x))
        for n in range(4):
            assert long(3, np.float32(n)) == n + 3
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.perf_counter()
        try:
            tanx.block_until_ready(long(100_000, np.float32(0)))
        except KeyboardInterrupt:
            assert time.perf_counter() - start < 20
            assert long(3, np.float32(0)) == 3
            print("stopped")
    """)
    done = subprocess.run([sys.executable, "-c", script], cwd=HERE.parents[1], check=False,
                          capture_output=True, text=True, timeout=60)
    assert done.stdout == "stopped\n" and not done.stderr, done.stderr


def test_programs_are_kept_on_disk(tmp_path):
    """Another process can load the program from disk, and find the function by its name."""
    def fun(x):
        return ffi_call("kepler", x)(x, x, tolerance=1e-9) * 2

    with config.enable_compilation_cache(True), config.compilation_cache_dir(
            str(tmp_path)), config.quick_code(False):
        first, second = (Executable(tanx.make_jaxpr(fun)(typed((3,)))) for _ in range(2))
        assert second.used and not first.used
        for executable in (first, second):
            (y,) = executable.run([np.full(3, 0.5, F32)])
            solved(y / 2, 0.5, 0.5)
            with pytest.raises(JaxRuntimeError, match=f"called at: {__file__}:"):
                executable.run([np.full(3, -0.5, F32)])
