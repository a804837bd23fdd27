"""Attributes of types, jaxprs, contexts and messages that libraries written for JAX use."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._base.window import LATER, absence
from tanx.extend.core import ClosedJaxpr, Jaxpr, jaxpr_as_fun


def test_types():
    aval = jnp.ones((2, 3)).aval
    assert aval.to_tangent_aval() == aval and not aval.is_high and aval.itemsize == 4
    assert str(jnp.arange(3).aval.to_tangent_aval()) == "float0[3]"
    assert str(aval.update_weak_type(True)) == "~float32[2,3]"


def test_jaxprs_and_closed_jaxprs_are_interchangeable():
    closed = tanx.make_jaxpr(lambda x: tanx.jit(lambda y: y * 2)(x) + np.arange(3.0))(1.0)
    inner = closed.eqns[0].params["jaxpr"]
    for jaxpr in (closed, inner):
        assert isinstance(jaxpr, Jaxpr) and isinstance(jaxpr, ClosedJaxpr)
        assert jaxpr.invars == jaxpr.jaxpr.invars and jaxpr.outvars == jaxpr.jaxpr.outvars
        assert jaxpr.constvars == jaxpr.jaxpr.constvars and len(jaxpr.consts) == len(
            jaxpr.constvars)
    plain = inner.jaxpr
    assert isinstance(plain, Jaxpr) and plain.jaxpr is plain and not plain.consts
    assert jaxpr_as_fun(plain)(2.0)[0] == 4.0 and not isinstance(3, Jaxpr)


def test_jaxprs_and_closed_jaxprs_have_one_class():
    closed = tanx.make_jaxpr(lambda x: x + np.arange(3.0))(1.0)
    plain = closed.jaxpr
    assert Jaxpr is ClosedJaxpr and isinstance(plain, ClosedJaxpr)
    parts = plain.constvars, plain.invars, plain.outvars, plain.eqns
    for again in (Jaxpr(plain, closed.consts), Jaxpr(closed, closed.consts),
                  ClosedJaxpr(plain, consts=closed.consts), Jaxpr(*parts, consts=closed.consts)):
        assert str(again) == str(closed) and isinstance(again, Jaxpr)
        assert list(jaxpr_as_fun(again)(1.0)[0]) == [1.0, 2.0, 3.0]
    assert str(Jaxpr(*parts)) == str(closed) and not Jaxpr(*parts).consts
    with pytest.raises(TypeError, match="a jaxpr has invars, outvars and eqns"):
        Jaxpr([], plain.invars)
    with pytest.raises(ValueError, match="1 constants expected, 0 given"):
        Jaxpr(plain, [])


def test_user_contexts_are_part_of_the_trace_key():
    mode, seen = tanx.make_user_context("train"), []

    @tanx.jit
    def fun(x):
        seen.append(mode.value)
        return x * (2 if mode.value == "train" else 3)

    for _ in range(4):
        assert fun(1.0) == 2.0
    with mode("test"):
        for _ in range(4):
            assert fun(1.0) == 3.0
    for _ in range(4):
        assert fun(1.0) == 2.0
    assert seen == ["train", "test"]


def test_inline_says_where():
    inner = tanx.jit(lambda x: x * 2, inline=tanx.Inline.JAX_EARLY)
    assert "jit" not in str(tanx.make_jaxpr(lambda x: inner(x))(1.0))
    inner = tanx.jit(lambda x: x * 2, inline=tanx.Inline.AUTO)
    assert "jit" in str(tanx.make_jaxpr(lambda x: inner(x))(1.0))
    assert tanx.CompilerEffortLevel.O2.value == 29


def without_rank_promotion():
    with tanx.numpy_rank_promotion("raise"):
        return jnp.ones((8, 1)) * jnp.ones(8)


@tanx.custom_vjp
def without_jvp(x):
    return x


without_jvp.defvjp(lambda x: (x, None), lambda _, g: (g,))


@pytest.mark.parametrize("error, words, call", [
    (ValueError, "Dict key mismatch", lambda: tanx.tree.map(max, {"a": 1}, {"b": 1})),
    (ValueError, "vmap got inconsistent sizes for array axes to be mapped",
     lambda: tanx.vmap(jnp.add)(jnp.ones(2), jnp.ones(3))),
    (TypeError, "cond branch outputs must have the same pytree structure",
     lambda: lax.cond(True, lambda x: (x,), lambda x: [x], 1.0)),
    (TypeError, "cond branches must have equal output types",
     lambda: lax.cond(True, lambda x: x, lambda x: 1, 1.0)),
    (TypeError, "switch branch outputs must have the same pytree structure",
     lambda: lax.switch(0, [lambda x: (x,), lambda x: [x]], 1.0)),
    (ValueError, "could not be broadcast together", without_rank_promotion),
    (RuntimeError, "Unknown backend", lambda: tanx.devices("none")),
    (TypeError, "forward-mode autodiff", lambda: tanx.jvp(without_jvp, (1.0,), (1.0,))),
])
def test_error_texts_that_libraries_match(error, words, call):
    with pytest.raises(error, match=words):
        call()


def missing(module: str) -> list[str]:
    names = Path(__file__).parents[1] / "structure" / "missing.json"
    return json.loads(names.read_text()).get(module, [])


def test_errors_distinguish_missing_names_from_unknown_ones():
    for name in missing(""):
        if "." not in name:
            with pytest.raises(AttributeError, match=f"tanx does not have tanx.{name} yet"):
                getattr(tanx, name)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        tanx.nonsense  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match="No module named 'tanx.nonsense'"):
        importlib.import_module("tanx.nonsense")
    assert absence("tanx", "nonsense") is None and absence("numpy", "export") is None


def test_importing_a_missing_module_raises():
    absent = next(name for name in sorted(LATER["tanx.experimental"])
                  if not hasattr(tanx.experimental, name))
    program = (f"try:\n from tanx.experimental import {absent}\n"
               "except ImportError as error: print(error)")
    text = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True).stdout
    assert text == (f"tanx does not have tanx.experimental.{absent} yet, the counterpart of "
                    f"jax.experimental.{absent}.\n")


def test_arrays_of_64_bits_where_they_are_not_enabled():
    with tanx.enable_x64(True):
        wide, whole = jnp.arange(3.0), jnp.arange(3)
    with pytest.warns(UserWarning, match="64-bit types are not enabled"):
        assert (wide + 1).dtype == "float32"
    with pytest.warns(UserWarning, match="64-bit types are not enabled"):
        assert (whole * 2).dtype == "int32"

    def widened(x):
        with tanx.enable_x64(True):
            return x + 1

    compiled = tanx.jit(widened)
    for _ in range(4):
        assert str(compiled(3).aval) == "~int64[]"


def test_prints_outside_of_compiled_code(capsys):
    tanx.debug.print("{}", tanx.random.key(0))
    tanx.debug.print("{}", {"a": 1})
    assert capsys.readouterr().out == (
        "Array((), dtype=key<fry>) overlaying:\n[0 0]\n"
        "{'a': Array(1, dtype=int32, weak_type=True)}\n")


def test_donation_vector_marks_donated_leaves():
    donated = tanx.api_util.donation_vector
    tree = tanx.tree.structure(((1, {"a": 2, "b": 3}), {"k": 4, "m": (5, 6)}))
    assert donated((1,), (), tree) == (False, True, True, False, False, False)
    assert donated((0,), ("m",), tree) == (True, False, False, False, True, True)
    assert donated((0,), (), tanx.tree.structure((1, 2)), False) == (True, False)
