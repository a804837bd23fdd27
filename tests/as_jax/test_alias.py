"""tanx under the name jax: each program runs in a separate process, as users run it."""

import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx.as_jax._finder import target_of
from tanx.as_jax.src import literals
from tanx.as_jax.src.random import threefry2x32 as threefry

ROOT = Path(__file__).parents[2]
REAL = importlib.util.find_spec("jax") is not None
SHADOW = ["--shadow"] if REAL else []
"""Options that let programs run next to an installed jax."""


def run(*arguments, **environment):
    """The output of a Python process; its errors are part of it."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *environment.pop("path", [])]),
             **environment})
    return done.stdout + done.stderr


@pytest.mark.parametrize("name, target", [
    ("jax", "tanx"), ("jax.numpy", "tanx.numpy"), ("jax._src.core", "tanx.as_jax.src.core"),
    ("jax._src.config", "tanx.as_jax.src.config"),
    ("jax._src.test_util", "tanx.as_jax.src.test_util"),
    ("jax._src.random.threefry2x32", "tanx.as_jax.src.random.threefry2x32"),
    ("jaxlib", "tanx.as_jax.jaxlib"), ("jax._core", None), ("jax.as_jax", None),
    ("jaxtyping", None), ("jax.numpy._math", None)])
def test_targets(name, target):
    assert target_of(name) == target


PROGRAM = """
import importlib.metadata, pickle, sys
import jax, jax.numpy as jnp, jaxlib
from jax import lax, random
from jax.scipy import special
import jax.tree_util as tu

assert jax.__version__ == importlib.metadata.version("jax") == "0.11.2", jax.__version__
assert jax.__version_info__ == jax.version.__version_info__ == (0, 11, 2)
assert jaxlib.__version__ == jax.lib.__version__ == importlib.metadata.version("jaxlib")
assert jax.numpy is jnp is sys.modules["jax.numpy"] and jax.lax is lax
assert jax.tree_util is tu and pickle.loads(pickle.dumps(jnp)) is jnp
assert not hasattr(jax, "no_such_name") and "jit" in dir(jax)
f = jax.jit(jax.grad(lambda x: special.erf(x).sum()))
results = [f(jnp.arange(3.)) for _ in range(4)]
assert all((r == results[0]).all() for r in results)
jnp.patched = 3                      # stays with the alias
import tanx
assert not hasattr(tanx.numpy, "patched") and tanx.__version__ != jax.__version__
print("ran", results[0].shape, sys.argv[1:])
"""


def test_a_script(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    assert run("-m", "tanx.as_jax", *SHADOW, str(script), "a", "--b") == "ran (3,) ['a', '--b']\n"


def test_a_module(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    found = run("-m", "tanx.as_jax", *SHADOW, "-m", "program", "a", path=[str(tmp_path)])
    assert found == "ran (3,) ['a']\n"


def test_installed_from_code():
    found = run("-c", f"import tanx.as_jax as a; a.install(shadow={REAL});"
                      f"a.install(shadow={REAL}); import jax;"
                      "print(jax.numpy.ones(2), a.is_installed()); a.uninstall();"
                      "import importlib.util as u; print(u.find_spec('jax'), a.is_installed())")
    assert found.splitlines()[0] == "[1. 1.] True"
    assert found.splitlines()[1].endswith(" False")


def test_private_modules_that_quax_imports():
    words = threefry.threefry_seed(jnp.asarray(7))
    key = tanx.random.key(7, impl="threefry2x32")
    for ours, other in [
            (words, tanx.random.key_data(key)),
            (threefry.threefry_split(words, (2, 3)),
             tanx.random.key_data(tanx.random.split(key, (2, 3)))),
            (threefry.threefry_fold_in(words, 5),
             tanx.random.key_data(tanx.random.fold_in(key, 5))),
            (threefry.threefry_random_bits(words, 16, (4,)),
             tanx.random.bits(key, (4,), jnp.uint16))]:
        assert ours.dtype == other.dtype and np.array_equal(ours, other)
    for kind, number, dtype in [
            (literals.TypedInt, 3, "int32"), (literals.TypedFloat, .5, "float32"),
            (literals.TypedComplex, 2j, "complex64")]:
        typed = kind(number, np.dtype(dtype))
        again = pickle.loads(pickle.dumps(typed))
        assert typed == again == number and typed.dtype == again.dtype == dtype
        assert type(again) is kind and jnp.asarray(typed, typed.dtype).dtype == dtype


@pytest.mark.parametrize("name", ["numpy.no_such_module", "_src.no_such_module", "_core"])
def test_modules_that_are_missing(name):
    found = run("-c", f"import tanx.as_jax; tanx.as_jax.install(shadow={REAL}); import jax.{name}")
    assert found.splitlines()[-1].startswith("ModuleNotFoundError"), found


@pytest.fixture
def real_jax(tmp_path):
    """A folder with another package called jax."""
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("real = True")
    return str(tmp_path)


def test_install_refuses_to_mix_with_a_real_jax(real_jax):
    install = "import tanx.as_jax; tanx.as_jax.install({})"
    found = run("-c", install.format(""), path=[real_jax])
    assert "a real jax is installed in this environment" in found
    found = run("-c", "import jax;" + install.format("shadow=True"), path=[real_jax])
    assert "a real jax has been imported in this process already" in found
    found = run("-c", install.format("shadow=True") + "; import jax; print(jax.__version__)",
                path=[real_jax])
    assert found == "0.11.2\n"


@pytest.mark.skipif(REAL, reason="an environment with jax is not prepared")
def test_an_environment_is_prepared_and_put_back(tmp_path):
    """The files that --enable writes, in a folder that stands for site-packages."""
    script = ("import sysconfig, sys; sysconfig.get_path = lambda name: sys.argv[1];"
              "from tanx.as_jax import _environment as e; print(getattr(e, sys.argv[2])())")
    assert run("-c", script, str(tmp_path), "enable").strip() == str(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"tanx_as_jax.pth", "_tanx_as_jax.py"}
    start = f"import site, sys; site.addsitedir({str(tmp_path)!r});"
    found = run("-c", start + "print('tanx' in sys.modules); import jax; print(jax.__version__)",
                TANX_AS_JAX="1", PYTHONDONTWRITEBYTECODE="")
    assert found.split() == ["False", "0.11.2"]
    found = run("-c", start + "import importlib.metadata as m; print(m.version('jax'))",
                TANX_AS_JAX="1")
    assert found.split() == ["0.11.2"]
    assert run("-c", start + "print(len(sys.meta_path))", TANX_AS_JAX="0") == run(
        "-c", "import sys; print(len(sys.meta_path))")
    assert run("-c", script, str(tmp_path), "disable").strip() == "True"
    assert not any(tmp_path.iterdir())


def test_gaps(tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    (library / "a.py").write_text(
        "import jax\nimport jax.numpy as jnp\nfrom jax._src import no_such as n\n"
        "jnp.sin(jnp.linalg.no_such(1.))\njax.Array.shape.x\njax.no_such.deeper()\n")
    found = run("-m", "tanx.as_jax", "--gaps", str(library))
    assert "3 names of JAX are missing" in found
    assert "jax._src.no_such " in found and "jax.numpy.linalg.no_such " in found
    assert "jax.no_such.deeper " in found and "a.py:6" in found
    (library / "a.py").write_text("import jax\njax.no_such\n")
    assert "1 name of JAX is missing" in run("-m", "tanx.as_jax", "--gaps", str(library))


def test_globals_and_closures_are_read_once_as_in_jax(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("""
import jax
rate = 2.0
class Model:
    factor = 3.0
    def apply(self, x): return self.factor * x
model = Model()
f = jax.jit(lambda x: rate * x)
g = jax.jit(model.apply)
print([float(f(1.0)) for _ in range(4)], [float(g(1.0)) for _ in range(4)])
rate = model.factor = 5.0
print([float(f(1.0)) for _ in range(4)], [float(g(1.0)) for _ in range(4)])
""")
    assert run("-m", "tanx.as_jax", *SHADOW, str(script)).splitlines() == [
        f"{[2.0] * 4} {[3.0] * 4}", f"{[2.0] * 4} {[5.0] * 4}"]


def test_arrays_and_tracers_are_not_hashable(tmp_path):
    """Libraries try ``hash`` and fall back to the identity; without the alias the error has a
    hint."""
    program = tmp_path / "asks.py"
    program.write_text("""
from collections.abc import Hashable
import jax, jax.numpy as jnp
seen = []
def f(x):
    seen.append(isinstance(x, Hashable))
    return x * 2
g = jax.jit(f)
for _ in range(4):
    assert g(jnp.ones(2)).tolist() == [2, 2]
jax.vmap(f)(jnp.ones(2)), jax.grad(lambda x: f(x).sum())(jnp.ones(2)), f(jnp.ones(2))
try:
    {jnp.ones(2): 1}
except TypeError as error:
    seen.append(str(error))
import tanx.as_jax
tanx.as_jax.uninstall()
try:
    hash(jnp.ones(2))
except TypeError as error:
    seen.append("hint" in str(error).lower())
print(seen)
""")
    assert run("-m", "tanx.as_jax", *SHADOW, program) == (
        "[False, False, False, False, \"unhashable type: 'Array'\", True]\n")
