"""python -m tanx.explain script.py:function."""

import os
import subprocess
import sys

import pytest

from tanx._explain.command import main

SCRIPT = '''
import sys
import tanx as jax
import tanx.numpy as jnp

def loss(w, x):
    return (jnp.tanh(x @ w) ** 2).mean()

def constant():
    return jnp.arange(3.0) * 2

step = jax.jit(lambda w, x: w - 0.1 * jax.grad(loss)(w, x), donate_argnums=0)

if __name__ == "__main__":
    w = jnp.ones((8, 4))
    for n in (2, 2, 3, 2):
        w = step(w, jnp.ones((n, 8)))
    print("the script ran with", sys.argv[1:], w.shape)
'''


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_in_its_own_process(script):
    done = subprocess.run(
        [sys.executable, "-m", "tanx.explain", "train.py:step", "3", "--fast"],
        capture_output=True, text=True, cwd=script.parent,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)})
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert "the script ran with ['3', '--fast'] (8, 4)" in done.stdout
    assert "x: now f32[3,8], before f32[2,8]" in done.stdout  # after the call that is explained
    assert done.stdout.endswith("step.html\n")
    assert "x @ w" in (script.parent / "step.html").read_text()


def test_the_script_stops_after_the_chosen_call(script, capsys):
    main(["-o", "page.html", "--call", "3", "train.py:step"])
    printed = capsys.readouterr().out
    assert "the script ran" not in printed and printed.endswith("page.html\n")
    assert "f32[3,8]" in (script.parent / "page.html").read_text()


def test_a_function_without_arguments_need_not_be_called(script, capsys):
    main(["train.py:constant"])
    assert (script.parent / "constant.html").exists()


@pytest.mark.parametrize("target, message", [
    (["train.py:nothing"], "has no function nothing at its top level; it has loss, constant"),
    (["train.py:loss"], "never calls loss with values"),
    (["--call", "9", "train.py:step"], "never calls step with values"),
    (["--call", "0", "train.py:step"], "counts from 1"),
    (["train.py"], "is not of the form script.py:function"),
    (["nowhere.py:f"], "nowhere.py cannot be run"),
])
def test_mistakes(script, capsys, target, message):
    with pytest.raises(SystemExit) as error:
        main(target)
    assert error.value.code == 2
    assert message in capsys.readouterr().err.replace("\n", " ")
