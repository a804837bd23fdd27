"""The StableHLO text of every row of the table of cases, compiled by jaxlib: same numbers."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax, nn, random
from tanx.tree_util import tree_leaves
from tests.cases import CASES, foreign
from tests.export.rows import LOOSE, REFUSED, text_of

pytest.importorskip("jax")
pytestmark = pytest.mark.oracle

TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float32": 2e-5, "complex64": 2e-5,
             "float16": 4e-3, "bfloat16": 3e-2}
"""Relative and absolute tolerances by dtype."""


@pytest.fixture(scope="module")
def run():
    """A function that compiles the text of a module and runs it on NumPy arrays."""
    import jax
    from jax.extend.backend import get_backend
    from jaxlib import _jax
    from jaxlib.cpu import _lapack
    _lapack.initialize()  # jax does this when it lowers a call of LAPACK
    jax.ffi.register_ffi_target(foreign.TARGET, jax.ffi.pycapsule(foreign.cube_root), "cpu",
                                api_version=0)
    client = get_backend("cpu")
    devices = _jax.DeviceList(tuple(client.local_devices()[:1]))
    options = _jax.CompileOptions()
    # The text is tested, not the speed of the code, so compilation should be quick.
    options.executable_build_options.debug_options.xla_backend_optimization_level = 0

    def run(text, arrays):
        with jax.enable_x64(True):
            loaded = client.compile_and_load(text, devices, options)
            return [np.asarray(x) for x in loaded.execute([jax.device_put(a) for a in arrays])]
    return run


def same(actual: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two arrays have the same type and, up to rounding, the same numbers."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    if "int" in expected.dtype.name or expected.dtype == bool:
        return np.array_equal(actual, expected)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    eps = TOLERANCE.get(expected.dtype.name, 0.3)
    return np.allclose(actual.astype(wide), expected.astype(wide), eps, eps, equal_nan=True)


@pytest.mark.parametrize("case", [case for case in CASES if case.primitive not in REFUSED],
                         ids=lambda case: case.id)
def test_rows(run, case):
    with tanx.enable_x64(True):
        arguments = case.arguments()
        expected = [np.asarray(x) for x in tree_leaves(case.fun(*arguments))]
    actual = run(text_of(case), arguments)
    assert len(actual) == len(expected)
    for n, (a, e) in enumerate(zip(actual, expected)):
        if n not in LOOSE.get(case.id, ()):
            assert same(a, e), f"result {n}:\n{a}\nexpected:\n{e}"


def _loss(weights, x):
    return jnp.mean((nn.relu(x @ weights[0]) @ weights[1]) ** 2)


def _doubled(x):
    return lax.while_loop(lambda c: c[1] < 20, lambda c: (c[0] * 2, c[1] * c[0]), (x, x))[1]


KEY = random.key(3)
WEIGHTS = [np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4), np.ones((4, 1), np.float32)]
ROWS = np.linspace(-2, 2, 15, dtype=np.float32).reshape(5, 3)

PROGRAMS = {
    "gradient of a network": (tanx.grad(_loss), WEIGHTS, ROWS),
    "second derivatives": (tanx.hessian(lambda x: jnp.sum(jnp.tanh(x) ** 3)), ROWS[0]),
    "gradients of a batch": (tanx.vmap(tanx.grad(_loss), (None, 0)), WEIGHTS, ROWS),
    "choice in lanes": (tanx.vmap(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x)), ROWS[0]),
    "derivative of a loop": (tanx.grad(_doubled), np.float32(1.5)),
    "scan over keys": (lambda x: lax.scan(
        lambda c, k: (c + random.normal(k), c), x, random.split(KEY, 3)), np.float32(1)),
    "backwards scan": (lambda xs: lax.scan(
        lambda c, x: (c * x + 1, (c, x)), jnp.ones(3), xs, reverse=True), ROWS),
    "calls in a loop": (lambda x: lax.fori_loop(
        0, 3, lambda i, c: c / jnp.linalg.norm(c), x), ROWS[0]),
    "nested branches": (lambda i, x: lax.switch(i, [
        lambda x: x, lambda x: lax.cond(x[0] > 0, jnp.exp, jnp.sin, x)], x), np.int32(7), ROWS[0]),
    "softmax in bfloat16": (lambda x: nn.softmax(x.astype(jnp.bfloat16)), ROWS),
    "attention": (lambda q: nn.dot_product_attention(q, q, q), ROWS.reshape(1, 5, 1, 3)),
    "a system of equations": (lambda a: jnp.linalg.solve(a @ a.T + jnp.eye(5), a), ROWS),
    "quantiles": (lambda x: (jnp.median(x, 0), jnp.argsort(x[:, 0])), ROWS),
    "updates": (lambda x: x.at[jnp.array([1, 1, 9])].add(1.0).at[0].set(7), ROWS),
    "convolution": (lambda x: jnp.convolve(x[:, 0], x[0], mode="same"), ROWS),
    "samples": (lambda: (random.gamma(KEY, 2.0, (4,)), random.permutation(KEY, 5),
                         random.categorical(KEY, jnp.zeros(4)))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(run, name):
    function, *args = program if isinstance(program := PROGRAMS[name], tuple) else (program,)
    expected = [np.asarray(x) for x in tree_leaves(tanx.jit(function)(*args))]
    text = tanx.jit(function, keep_unused=True).lower(*args).as_text()
    actual = run(text, [np.asarray(x) for x in tree_leaves(args)])
    assert len(actual) == len(expected) and all(map(same, actual, expected)), text


def test_keys_cross_the_edge(run):
    """Keys of all generators are words in arguments and results."""
    for impl in ("threefry2x32", "rbg"):
        key = random.key(5, impl=impl)
        function = tanx.jit(lambda key: (random.split(key, 3), random.bits(key, (4,)), key))
        keys, bits, again = function(key)
        expected = [np.asarray(random.key_data(keys)), np.asarray(bits),
                    np.asarray(random.key_data(again))]
        actual = run(function.lower(key).as_text(), [np.asarray(random.key_data(key))])
        assert all(map(np.array_equal, actual, expected))
