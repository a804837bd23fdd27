"""Promise 22: a compiled function as a library that C programs call without Python."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.gotchas import pages

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def compiled(f, *args, **options):
    return tanx.jit(f, **options).lower(*args).compile()


def address(x) -> ctypes.c_void_p:
    return ctypes.c_void_p(np.asarray(x).ctypes.data)


def loaded(path, name: str):
    return getattr(ctypes.CDLL(str(path)), name)


def like(avals) -> list[np.ndarray]:
    """Memory for results, filled with ones."""
    return [np.full(a.shape, 1, np.uint64 if jnp.issubdtype(a.dtype, tanx.dtypes.prng_key)
                    else a.dtype) for a in avals]


def test_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pages.run("22_out_of_python")


# -- from two threads of a C program ---------------------------------------------------------------

MAIN = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "train.h"

enum { ROWS = 256, WIDTH = 512, CALLS = 8 };
static float x[ROWS * WIDTH], expected[WIDTH + 1];

static void *work(void *own_workspace)
{
    void *workspace = own_workspace ? aligned_alloc(64, train_workspace_bytes()) : NULL;
    float *state = malloc(WIDTH * sizeof *state), loss;
    long wrong = 0;
    for (int n = 0; n < CALLS; n++) {
        for (int i = 0; i < WIDTH; i++)
            state[i] = 0.5f;
        if (train(state, x, state, &loss, workspace))  /* the state in place */
            wrong++;
        if (memcmp(state, expected, sizeof expected - sizeof loss) || loss != expected[WIDTH])
            wrong++;
    }
    free(workspace);
    free(state);
    return (void *)wrong;
}

int main(void)
{
    pthread_t threads[2];
    FILE *file = fopen("numbers", "rb");
    if (!file || fread(x, sizeof x, 1, file) != 1 || fread(expected, sizeof expected, 1, file) != 1)
        return 1;
    train_set_num_threads(2);
    for (long t = 0; t < 2; t++)
        pthread_create(&threads[t], NULL, work, (void *)t);
    for (int t = 0; t < 2; t++) {
        void *wrong;
        pthread_join(threads[t], &wrong);
        if (wrong)
            return 2;
    }
    float state = 0;
    if (train(NULL, x, &state, &state, NULL) != TRAIN_NULL)
        return 3;
    if (train(&state, x, &state, &state, (char *)x + 1) != TRAIN_ALIGNMENT)
        return 4;
    puts("equal");
    return 0;
}
"""


def test_two_threads_of_a_c_program_get_the_bits_of_python(tmp_path):
    weights = tanx.random.normal(tanx.random.key(0), (512, 512)) / 20  # a constant of the library

    def train(state, x):
        h = tanx.lax.fori_loop(0, 3, lambda i, h: jnp.tanh(h @ weights), x)  # threads
        state = state.at[7].add(h.sum())
        state = tanx.lax.while_loop(lambda s: s[0] < 4, lambda s: s + h.mean(0) + 1, state)
        return state, (h ** 2).mean()

    x = tanx.random.normal(tanx.random.key(1), (256, 512))
    function = compiled(train, jnp.full(512, 0.5), x, donate_argnums=0)
    for _ in range(4):
        state, loss = function(jnp.full(512, 0.5), x)
    function.save(tmp_path / "train.so", header=tmp_path / "train.h")
    with open(tmp_path / "numbers", "wb") as file:
        for array in (x, state, loss):
            file.write(array.tobytes())
    (tmp_path / "main.c").write_text(MAIN)
    run = lambda *command: subprocess.run(
        command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60).stdout
    run("cc", "-Wall", "-Wextra", "-Werror", "-pthread", "main.c", "./train.so", "-o", "main")
    assert run("./main") == "equal\n"
    assert "result_0 may be the memory of state" in (tmp_path / "train.h").read_text()
    needed = run("readelf", "-d", "train.so") if shutil.which("readelf") else ""
    assert "python" not in needed


# -- what arguments and results may be -------------------------------------------------------------


def test_every_kind_of_argument_and_result(tmp_path):
    def everything(tree, key, empty):
        one, *others = tree["float"], *tree["rest"]
        bits, key = tanx.random.bits(key, (3,)), tanx.random.split(key)[0]
        table = jnp.arange(7, dtype="int16")
        return {"changed": [x + x for x in others], "flag": ~tree["bool"], "same": one,
                "twice": (one * 2, one * 2), "constant": table, "bits": bits, "key": key,
                "empty": empty + 1, "complex": 1j * one}

    dtypes = ("int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64")
    args = ({"float": jnp.float32(1.5), "bool": jnp.array([True, False]),
             "rest": [jnp.array([[1, 2], [3, 4]], dtype) for dtype in dtypes]},
            tanx.random.key(3), jnp.zeros((0, 3)))
    function = compiled(everything, *args)
    path = tmp_path / "f.so"
    function.save(path, header=tmp_path / "f.h", name="all_of_it")
    results = tanx.tree.leaves(function(*args))
    f = loaded(path, "all_of_it")
    for _ in range(4):
        made = like(r.aval for r in results)
        assert f(*map(address, [x._value if hasattr(x, "_value") else x
                                for x in tanx.tree.leaves(args)]), *map(address, made), None) == 0
        for expected, found in zip(results, made):
            expected = expected._value
            assert (found.shape, found.dtype.itemsize) == (expected.shape, expected.dtype.itemsize)
            assert found.tobytes() == expected.tobytes()
    text = (tmp_path / "f.h").read_text()
    assert "const uint16_t *tree_rest_5," in text
    assert "/* tree['rest'][5]: bfloat16[2,2], as bits */" in text
    assert "/* key: key<fry>[], 2 words for each key */" in text
    assert "/* result['complex']: complex64[], pairs of a real and an imaginary part */" in text


@pytest.mark.parametrize("function, file, name", [
    (jnp.sin, "f.so", "sin"), (lambda x: x, "identity.so", "identity"),
    (lambda x: x, "3d model.so", "x3d_model")])
def test_names_of_c_functions(tmp_path, function, file, name):
    compiled(function, 1.0).save(tmp_path / file)
    f, result = loaded(tmp_path / file, name), np.zeros((), np.float32)
    for x in np.float32([0.25, 0.5, 1, 2]):
        assert f(address(x), address(result), None) == 0
        assert result == tanx.jit(function)(x)


def test_a_library_in_use_can_be_saved_again(tmp_path):
    path, result = tmp_path / "f.so", np.zeros((), np.float32)
    compiled(lambda x: x + 1, 1.0).save(path, name="f")
    old = loaded(path, "f")
    compiled(lambda x: x + 2, 1.0).save(path, name="f")
    for _ in range(4):
        assert old(address(np.float32(1)), address(result), None) == 0
        assert result == 2.0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["f.so"]


# -- dependencies ----------------------------------------------------------------------------------

POTRF = r"""
#include <math.h>
#include <stddef.h>
void spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info, size_t length)
{
    if (*uplo != 'U' || length != 1) { *info = -1; return; }
    for (int j = 0; j < *n; j++)
        for (int i = 0; i <= j; i++) {
            double sum = a[i + j * *lda];
            for (int k = 0; k < i; k++)
                sum -= (double)a[k + i * *lda] * a[k + j * *lda];
            a[i + j * *lda] = i == j ? sqrt(sum) : sum / a[i + i * *lda];
        }
    *info = 0;
}
"""


def test_lapack_of_the_system_is_linked(tmp_path):
    a = tanx.random.normal(tanx.random.key(0), (3, 64, 64))
    a = a @ a.mT + 64 * jnp.eye(64)
    function = compiled(jnp.linalg.cholesky, a)
    with pytest.raises(NotImplementedError, match=r"calls LAPACK's spotrf[\s\S]*link=\['-lopenb"):
        function.save(tmp_path / "f.so")
    with pytest.raises(ValueError, match="linker refuses[\\s\\S]*spotrf_"):
        function.save(tmp_path / "f.so", link=["-lm"])
    assert not any(tmp_path.iterdir())
    (tmp_path / "potrf.c").write_text(POTRF)
    function.save(tmp_path / "f.so", link=[str(tmp_path / "potrf.c")])
    f = loaded(tmp_path / "f.so", "cholesky")
    for _ in range(4):
        result = np.zeros(a.shape, np.float32)
        assert f(address(a), address(result), None) == 0
        np.testing.assert_allclose(result, function(a), rtol=1e-5, atol=1e-5)


def test_programs_that_need_python_cannot_be_saved(tmp_path):
    path = tmp_path / "f.so"
    ref = tanx.ref.new_ref(jnp.float32(1.0))

    def count(x):
        ref[...] += x
        return x

    cases = [
        (lambda x: tanx.pure_callback(np.sin, x, x), "calls a Python function"),
        (lambda x: tanx.scipy.special.betainc(x, x, x), "calls scipy.special.betainc"),
        (count, "holds references"),
        (tanx.extend.c_function("float f(float x) { return x; }"), "calls a foreign function")]
    for function, text in cases:
        with pytest.raises(NotImplementedError, match=text):
            compiled(function, jnp.float32(0.5)).save(path)
    with pytest.raises(ValueError, match="'no name' is not a name of a function in C"):
        compiled(jnp.sin, 1.0).save(path, name="no name")
    assert not path.exists()


def test_a_machine_without_a_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(RuntimeError, match=r"Compiled.save: there is no C compiler[\s\S]*no-such"):
        compiled(jnp.sin, 1.0).save(tmp_path / "f.so")
