"""Compiled functions as bytes."""

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._export.container import pack, unpack
from tanx.experimental import serialize_executable

ROOT = Path(__file__).parents[2]


def fun(x, *, w):
    return {"y": jnp.tanh(x @ w) + np.arange(3, dtype=np.float32), "n": x.shape[0]}


ARGUMENTS = np.ones((2, 4), np.float32), np.ones((4, 3), np.float32)


@pytest.fixture(scope="module")
def stored():
    x, w = ARGUMENTS
    return serialize_executable.serialize(tanx.jit(fun).lower(x, w=w).compile())


def test_serialized_executables_are_loaded(stored):
    x, w = ARGUMENTS
    found = serialize_executable.deserialize_and_load(*stored)
    expected = tanx.jit(fun)(x, w=w)
    for _ in range(4):
        result = found(x, w=w)
        assert result["y"].aval == expected["y"].aval and result["n"].aval == expected["n"].aval
        np.testing.assert_allclose(result["y"], expected["y"], rtol=1e-6)
        assert result["n"] == 2
    assert found.in_tree == stored[1] and found.out_tree == stored[2]
    with pytest.raises(TypeError, match="other types"):
        found(x[:1], w=w)


STORE = """
import sys, numpy as np, tanx
from tanx.experimental import serialize_executable as s
from tests.export.test_executables import ARGUMENTS, fun
x, w = ARGUMENTS
open(sys.argv[1], "wb").write(s.serialize(tanx.jit(fun).lower(x, w=w).compile())[0])"""
LOAD = """
import sys, numpy as np, tanx
from tanx.experimental import serialize_executable as s
x, w = np.ones((2, 4), np.float32), np.ones((4, 3), np.float32)
trees = [tanx.tree.structure(t) for t in (((0,), {"w": 0}), {"y": 0, "n": 0})]
found = s.deserialize_and_load(open(sys.argv[1], "rb").read(), *trees)
print(float(found(x, w=w)["y"].sum()), "tanx._compiler.pipeline" in sys.modules)"""


def test_another_process_needs_no_compiler(tmp_path):
    """Both processes are new, because options that other tests set would change the code."""
    for code in (STORE, LOAD):
        result = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "code")], cwd=ROOT, text=True,
            env={**os.environ, "TANX_CHECK": "0"}, capture_output=True)
        assert result.returncode == 0, result.stderr
    total, compiled = result.stdout.split()
    np.testing.assert_allclose(float(total), 6 * np.tanh(4.0) + 6, rtol=1e-5)
    assert compiled == "False"


def test_donated_arguments_survive_serialization():
    lowered = tanx.jit(lambda x: x + 1, donate_argnums=0).lower(np.ones(4, np.float32))
    found = serialize_executable.deserialize_and_load(
        *serialize_executable.serialize(lowered.compile()))
    assert found.donate_argnums == (0,)
    x = jnp.ones(4)
    np.testing.assert_array_equal(found(x), np.full(4, 2.0))
    assert x.is_deleted()


def test_code_for_other_machines_is_made_anew(stored):
    sections = unpack(stored[0])
    other = pack({**sections, "code": pack({"0": bytes(100)})})
    found = serialize_executable.deserialize_and_load(other, *stored[1:])
    x, w = ARGUMENTS
    np.testing.assert_allclose(found(x, w=w)["y"], tanx.jit(fun)(x, w=w)["y"], rtol=1e-6)


def test_damage_is_an_error(stored):
    data, in_tree, out_tree = stored
    rng = random.Random(0)
    for _ in range(100):
        at = rng.randrange(len(data))
        for damaged in (data[:at], data[:at] + bytes([data[at] ^ 4]) + data[at + 1:]):
            with pytest.raises(ValueError, match="deserialize_and_load"):
                serialize_executable.deserialize_and_load(damaged, in_tree, out_tree)
    with pytest.raises(ValueError, match="out_tree is not the structure"):
        serialize_executable.deserialize_and_load(data, in_tree, in_tree.children()[1])
    with pytest.raises(TypeError, match="needs a compiled function"):
        serialize_executable.serialize(tanx.jit(fun))
