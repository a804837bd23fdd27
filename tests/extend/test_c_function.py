"""C functions as operations: source text, pointers, descriptions, rules, errors."""

import ctypes
import os
import shutil
import threading

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._base import config
from tanx._extend.foreign import c_compiler
from tanx._extend.foreign.c_types import declared
from tanx.errors import JaxRuntimeError
from tanx.extend import c_function

HAS_COMPILER = any(map(shutil.which, ("cc", "gcc", "clang")))
compiled = pytest.mark.skipif(not HAS_COMPILER, reason="needs a C compiler")
F32 = np.float32

SOURCE = """
#include <math.h>
#include <string.h>

/* Not a function: int hidden(int x) { return x; } */
static float dot(long m, const float *a, const float *b) {
    float s = 0;
    for (long i = 0; i < m; i++) s += a[i] * b[i];
    return s;
}

void cube(long n, const float *x, float *y) {
    for (long i = 0; i < n; i++) y[i] = x[i] * x[i] * x[i];
}

void polar(int n, const float *x, const float *y, float *radius, float *angle) {
    for (int i = 0; i < n; i++) { radius[i] = hypotf(x[i], y[i]); angle[i] = atan2f(y[i], x[i]); }
}

const char *kepler(long n, const float *mean, const float *eccentricity, float *out) {
    for (long i = 0; i < n; i++) {
        double m = mean[i], e = eccentricity[i], x = m + e * sin(m);
        if (!(e >= 0 && e < 1)) return "eccentricity outside of [0, 1)";
        for (int step = 0; step < 20; step++) x -= (x - e * sin(x) - m) / (1 - e * cos(x));
        out[i] = (float)x;
    }
    return 0;
}

int product(long n, int m, float scale, const float *a, const float b[], float *restrict y) {
    if (scale < 0) return 3;
    for (long i = 0; i < n; i++) y[i] = scale * dot(m, a + i * m, b);
    return 0;
}

void row_sums(long n, long k, const float *x, float *y) {
    for (long i = 0; i < n; i++) { y[i] = 0; for (long j = 0; j < k; j++) y[i] += x[i * k + j]; }
}

float length(float x, float y) { return sqrtf(x * x + y * y); }
unsigned char next(unsigned char x) { return x + 1; }
void squares(long n, const int *x, long long *y) { for (; n--; x++, y++) *y = (long long)*x * *x; }
void conjugate(long n, const float _Complex *x, float _Complex *y) {
    memcpy(y, x, n * sizeof *x);
    for (long i = 0; i < n; i++) ((float *)y)[2 * i + 1] *= -1;
}
"""


def made(name, *types, **options):
    return c_function(SOURCE, *types, name=name, **options)


def four_times(fun, *args):
    """The result of a function, the same eagerly and in each of four compiled calls."""
    expected, jitted = fun(*args), tanx.jit(fun)
    for _ in range(4):
        found = jitted(*args)
        tanx.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7),
                      expected, found)
        assert tanx.tree.map(tanx.typeof, expected) == tanx.tree.map(tanx.typeof, found)
    return expected


# -- elements --------------------------------------------------------------------------------------


@compiled
def test_the_promise():
    cube = c_function(
        "void cube(long n, const float *x, float *y) "
        "{ for (long i = 0; i < n; i++) y[i] = x[i]*x[i]*x[i]; }",
        jvp=lambda x, t: 3 * x**2 * t)
    slopes = tanx.jit(tanx.grad(lambda v: cube(v).sum()))
    for _ in range(4):
        found = slopes(jnp.arange(4.))
        np.testing.assert_array_equal(found, [0, 3, 12, 27])
        assert tanx.typeof(found) == tanx.typeof(jnp.arange(4.))
    assert cube.__name__ == "cube" and cube.source.startswith("void") and cube.address


@compiled
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 1)])
def test_elements_of_any_shape(shape):
    cube, x = made("cube"), np.arange(np.prod(shape, dtype=int), dtype=F32).reshape(shape)
    np.testing.assert_array_equal(four_times(cube, x), x ** 3)
    stack = np.stack([x, x + 1])
    np.testing.assert_array_equal(four_times(tanx.vmap(cube), stack), stack ** 3)
    np.testing.assert_array_equal(four_times(tanx.vmap(tanx.vmap(cube)), stack[None]),
                                  stack[None] ** 3)


@compiled
def test_several_operands_and_results():
    polar = made("polar")
    radius, angle = four_times(polar, np.ones((2, 1), F32), np.arange(3, dtype=F32))
    assert radius.shape == angle.shape == (2, 3)
    np.testing.assert_allclose(angle[0], np.arctan2(np.arange(3), 1), rtol=1e-6)
    one, _ = four_times(tanx.vmap(polar, (0, None)), np.ones(4, F32), F32(2))
    np.testing.assert_allclose(one, np.full(4, 5 ** 0.5), rtol=1e-6)


@compiled
def test_dtypes():
    assert four_times(made("next"), np.arange(3, dtype=np.uint8)).tolist() == [1, 2, 3]
    z = np.array([1 + 2j, 3j], np.complex64)
    np.testing.assert_array_equal(four_times(made("conjugate"), z), z.conj())
    cube = made("cube")
    assert four_times(cube, 3) == 27 and cube(np.arange(3)).tolist() == [0, 1, 8]
    assert four_times(cube, jnp.bfloat16(2)).dtype == F32
    with tanx.enable_x64(True):
        found = four_times(made("squares"), np.array([1 << 20, -3], np.int32))
        assert found.tolist() == [1 << 40, 9] and found.dtype == np.int64
        with pytest.raises(TypeError, match="another dtype"):
            cube(np.ones(3))


@compiled
def test_functions_of_numbers():
    length = made("length", jvp=lambda x, y, tx, ty, out: (x * tx + y * ty) / out)
    np.testing.assert_allclose(four_times(length, F32(3), np.array([4, 0], F32)), [5, 3])
    np.testing.assert_allclose(four_times(tanx.grad(length), 3.0, 4.0), 0.6, rtol=1e-6)


# -- rules -----------------------------------------------------------------------------------------


def kepler_jvp(mean, e, t_mean, t_e, out):
    return (t_mean + jnp.sin(out) * t_e) / (1 - e * jnp.cos(out))


def kepler_vjp(mean, e, ct, out):
    slope = 1 - e * jnp.cos(out)
    return ct / slope, ct * jnp.sin(out) / slope


MEAN = np.linspace(0.1, 3, 5, dtype=F32)


@compiled
@pytest.mark.parametrize("rules", [dict(jvp=kepler_jvp), dict(vjp=kepler_vjp),
                                   dict(jvp=kepler_jvp, vjp=kepler_vjp)], ids=" ".join)
def test_kepler(rules):
    kepler = made("kepler", **rules)
    x = four_times(kepler, MEAN, F32(0.3))
    np.testing.assert_allclose(x - 0.3 * np.sin(x), MEAN, atol=1e-6)
    slope = 1 - 0.3 * np.cos(x)
    for argnum, expected in ((0, 1 / slope), (1, np.sin(x) / slope)):
        found = four_times(tanx.vmap(tanx.grad(kepler, argnum), (0, None)), MEAN, F32(0.3))
        np.testing.assert_allclose(found, expected, rtol=1e-5)

    def orbit(start, e):
        return lax.scan(lambda m, _: (m + 0.5, kepler(m, e)), start, None, length=4)[1]
    found = four_times(tanx.grad(lambda m, e: orbit(m, e).sum()), F32(0.1), F32(0.3))
    np.testing.assert_allclose(found, (1 / (1 - 0.3 * np.cos(orbit(F32(0.1), F32(0.3))))).sum(),
                               rtol=1e-5)
    if "jvp" in rules:
        _, tangent = four_times(lambda m: tanx.jvp(lambda m: kepler(m, F32(0.3)), (m,), (m,)), MEAN)
        np.testing.assert_allclose(tangent, MEAN / slope, rtol=1e-5)
        second = four_times(tanx.vmap(tanx.grad(tanx.grad(kepler)), (0, None)), MEAN, F32(0.3))
        np.testing.assert_allclose(second, -0.3 * np.sin(x) / slope ** 3, rtol=1e-4)


@compiled
def test_a_rule_for_batches():
    seen = []

    def rule(axis_size, in_batched, x):
        seen.append((axis_size, in_batched))
        return sums(x.reshape(-1, 2)).reshape(axis_size, -1), True

    sums = made("row_sums", ["n", "k", "float32[n,k]"], "float32[n]", batch=rule)
    x = np.arange(12, dtype=F32).reshape(2, 3, 2)
    np.testing.assert_allclose(four_times(tanx.vmap(sums), x), x.sum(2))
    assert seen and seen[0] == (2, [True])


@compiled
def test_no_derivative():
    with pytest.raises(ValueError, match="no derivative"):
        tanx.grad(made("length"))(1.0, 2.0)


# -- descriptions ----------------------------------------------------------------------------------


@compiled
def test_sizes_numbers_and_arrays():
    product = made("product", ["n", "m", "float32", "float32[n,m]", "float32[m]"], "float32[n]",
                   vjp=lambda s, a, b, ct: ((a @ b) @ ct, s * jnp.outer(ct, b), s * (ct @ a)))
    a, b = np.arange(6, dtype=F32).reshape(2, 3), np.ones(3, F32)
    np.testing.assert_allclose(four_times(product, 2.0, a, b), 2 * a @ b)
    found = four_times(tanx.grad(lambda *args: product(*args).sum(), (0, 1, 2)), 2.0, a, b)
    for mine, expected in zip(found, ((a @ b).sum(), 2 * np.ones((2, 3)), 2 * a.sum(0))):
        np.testing.assert_allclose(mine, expected)
    scales = np.arange(3, dtype=F32)
    np.testing.assert_allclose(four_times(tanx.vmap(product, (0, None, None)), scales, a, b),
                               scales[:, None] * (a @ b))
    for _ in range(4):
        with pytest.raises(JaxRuntimeError, match="it returned 3"):
            tanx.jit(product)(-1.0, a, b)


@compiled
def test_leading_dimensions():
    sums = made("row_sums", ["...", "k", "float32[...,k]"], ["float32[...]"])
    x = np.arange(24, dtype=F32).reshape(2, 3, 4)
    np.testing.assert_allclose(four_times(sums, x), x.sum(-1))
    np.testing.assert_allclose(four_times(sums, x[0, 0]), x[0, 0].sum())
    jaxpr = tanx.make_jaxpr(tanx.vmap(tanx.vmap(sums)))(x)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["c_function"]


@pytest.mark.parametrize("source, shown", [
    ("void f(void) {}", "void f()"),
    ("int f(int a, unsigned b) { return a; }", "int f(int a, unsigned b)"),
    ("__attribute__((noinline)) double f(const double *restrict x)\n{ if (1) {} return *x; }",
     "double f(const double *restrict x)"),
    ('const char *s = "void g(int x) {";\nvoid f(float x[]) { ; }', "void f(float x[])"),
    ("#define M(x) { x }\nstruct s { int x; };\nstatic int g(int y) { return y; }\n"
     "long f(long long int n) { return '{'; } // void h() {}", "long f(long long int n)"),
])
def test_heads_of_functions(source, shown):
    assert str(declared(source)) == shown


@compiled
@pytest.mark.parametrize("source, types, error, text", [
    ("void f(long n, const float *x, float *y) { oops; }", (), ValueError, "compiler rejects"),
    ("void f(long n, const float *x, float *y) {", (), ValueError, "compiler rejects"),
    ("static void f(void) {}", (), ValueError, "functions found: none"),
    ("void f(void) {} void g(void) {}", (), ValueError, "functions found: f, g"),
    ("void f(float *y, long n) {}", (), ValueError, "must describe"),
    ("int f(void) { return 1; }", (), ValueError, "must describe"),
    ("double f(long n, const float *x, float *y) { return 1; }", (), ValueError, "return nothing"),
    ("void f(long n, const float *x, float *y) {}", (["n", "float64[n]"], "float32[n]"),
     ValueError, "does not match"),
    ("void f(long n, const float *x, float *y) {}", (["n", "float32[n]"], "float32[m]"),
     ValueError, "size:     m"),
    ("void f(long n, const float *x, float *y) {}", (["float32[n]"], "float32[n]"), ValueError,
     "each parameter"),
    ("void f(long n, const float *x, float *y) {}", (["n", "float32[n]"], "float32"), ValueError,
     "nothing but numbers"),
    ("void f(long n, const float *x, float *y) {}", (["n", "float32[n"], "float32[n]"), ValueError,
     "not describe a parameter"),
    ("void f(long n, const float *x, float *y) {}", (["n", "text[n]"], "float32[n]"), ValueError,
     "not a type of an array"),
    ("void f(long n, const float *x, float *y) {}", (["n", "float32[n,...]"], "float32[n]"),
     ValueError, "not a type of an array"),
    ("void f(long n, const float *x, float *y) {}", (["n", "float16"], "float32[n]"), ValueError,
     "by address only"),
    ("float f(float x) { return x; }", (["float64"], "float32"), ValueError,
     "does not match"),
    ("__global__ void f(float *x) {}", (), NotImplementedError, "no GPU backend"),
    (".version 7.0\n.target sm_90\n", (), NotImplementedError, "no GPU backend"),
    (3.5, (), TypeError, "needs C source text"),
])
def test_mistakes_of_descriptions(source, types, error, text):
    with pytest.raises(error, match=text):
        c_function(source, *types)


@compiled
@pytest.mark.parametrize("args, text", [
    ((1.0,), "another number of operands"), ((1.0, np.ones(3)), "another shape"),
    ((np.ones(2, F32), np.ones((2, 3), F32)), "another shape"),
    ((1.0, np.ones((2, 3), np.complex64)), "another dtype"), ((1.0, "text"), "array")])
def test_mistakes_of_calls(args, text):
    scale = c_function("void f(long n, float a, const float *x, float *y) {}",
                       ["n", "float32", "float32[n,3]"], "float32[n]")
    for fun in (scale, tanx.jit(scale)):
        with pytest.raises(TypeError, match=text):
            fun(*args)


@compiled
def test_mistakes_of_elements():
    with pytest.raises(TypeError, match="do not match"):
        made("polar")(np.ones(2, F32), np.ones(3, F32))
    with pytest.raises(TypeError, match="64-bit"):
        c_function("void f(long n, const double *x, double *y) {}")(1.0)
    with pytest.raises(ValueError, match="must be passed together"):
        made("cube", ["n"])
    with pytest.raises(TypeError, match="jvp must be a function"):
        made("cube", jvp=3)


# -- functions that are there already --------------------------------------------------------------


def libm(name):
    return getattr(ctypes.CDLL("libm.so.6"), name)


def test_functions_of_libraries():
    root = c_function(libm("cbrtf"), ["float32"], "float32", jvp=lambda x, t, out: t / (3 * out**2))
    np.testing.assert_allclose(four_times(root, np.array([8, 27], F32)), [2, 3], rtol=1e-6)
    np.testing.assert_allclose(four_times(tanx.grad(root), 8.0), 1 / 12, rtol=1e-6)
    power = libm("powf")
    power.argtypes, power.restype = [ctypes.c_float] * 2, ctypes.c_float
    assert four_times(c_function(power), np.array([2, 3], F32), 2.0).tolist() == [4, 9]
    with pytest.raises(ValueError, match="no source"):
        c_function(libm("sinf"))
    with pytest.raises(ValueError, match="returns nothing or an error"):
        c_function(libm("sinf"), ["float32"], "float32", returns="double")


def test_python_functions_by_pointer():
    """Like Numba's functions: they have an address, and may have a ctypes function."""
    pointer = ctypes.POINTER(ctypes.c_float)

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_long, pointer, pointer)
    def halves(n, x, y):
        for i in range(n):
            y[i] = x[i] / 2
        return int(n > 4)

    class CFunc:
        address = ctypes.cast(halves, ctypes.c_void_p).value
        __name__ = "halves"

    types = ["...", "float32[...]"], ["float32[...]"]
    for given in (halves, CFunc()):
        half = c_function(given, *types, returns="int")
        np.testing.assert_array_equal(four_times(half, np.arange(4, dtype=F32)), [0, .5, 1, 1.5])
        for fun in (half, tanx.jit(half)):
            with pytest.raises(JaxRuntimeError, match="it returned 1"):
                fun(np.ones(5, F32))

    class Scalar:
        ctypes = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(lambda x: x + 1)
        address = ctypes_address(ctypes)

    assert four_times(c_function(Scalar()), np.zeros((2, 2), F32)).tolist() == [[1, 1], [1, 1]]


def ctypes_address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


# -- the compiler ----------------------------------------------------------------------------------


@compiled
def test_a_library_is_compiled_once(monkeypatch, tmp_path):
    source = "void f(long n, const float *x, float *y) { while (n--) y[n] = x[n] + 40; }"
    monkeypatch.setattr(c_compiler, "_libraries", {})
    monkeypatch.delenv("CC", raising=False)
    with config.enable_compilation_cache(True), config.compilation_cache_dir(str(tmp_path)):
        first = c_function(source)
        monkeypatch.setenv("PATH", "/nowhere")
        assert first(2.0) == 42 and c_function(source)(2.0) == 42
        monkeypatch.setattr(c_compiler, "_libraries", {})  # as in another process
        assert c_function(source)(2.0) == 42
        for file in tmp_path.glob("*.tanx"):  # a damaged file is ignored
            data = bytearray(file.read_bytes())
            data[len(data) // 2] ^= 1
            file.write_bytes(data)
        monkeypatch.setattr(c_compiler, "_libraries", {})
        with pytest.raises(RuntimeError, match="no C compiler"):
            c_function(source)


@compiled
def test_files_that_source_includes(tmp_path):
    (tmp_path / "factor.h").write_text("#define FACTOR 2\n")
    source = '#include "factor.h"\nfloat f(float x) { return FACTOR * x; }'
    assert c_function(source, flags=["-I", str(tmp_path)])(1.0) == 2
    (tmp_path / "factor.h").write_text("#define FACTOR 3\n")
    assert c_function(source, flags=["-I", str(tmp_path)])(1.0) == 3


def test_without_a_compiler(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -O1")
    with pytest.raises(RuntimeError, match="looked for: no-such-compiler"):
        c_function(f"float f(float x) {{ return x + {os.getpid()}; }}")


@compiled
def test_flags():
    assert c_function("float f(float x) { return x + MORE; }", flags=["-DMORE=5"])(1.0) == 6


# -- threads ---------------------------------------------------------------------------------------


@compiled
def test_many_threads():
    kepler, wrong = made("kepler"), []
    jitted = tanx.jit(kepler)
    expected = np.asarray(kepler(MEAN, F32(0.3)))

    def work(number):
        try:
            for turn in range(50):
                np.testing.assert_array_equal(jitted(MEAN, F32(0.3)), expected)
                if turn % 5 == number % 5:
                    with pytest.raises(JaxRuntimeError, match="eccentricity outside"):
                        jitted(MEAN, F32(2))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
