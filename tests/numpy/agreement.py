"""Tools for tests of NumPy's functions: agreement with NumPy, under every transformation."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp

__all__ = ["adjoint", "agree", "batched", "fact", "message"]


def agree(got, want, rtol=1e-6, atol=1e-6):
    """Check that arrays, or tuples and lists of them, have NumPy's shapes and values."""
    if isinstance(want, tuple | list):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            agree(g, w, rtol, atol)
        return
    want = np.asarray(want)
    assert np.shape(got) == want.shape
    got = np.asarray(got)
    if got.dtype.kind == "V":  # small floats of ml_dtypes
        got = got.astype(np.float32)
    np.testing.assert_allclose(got, want.astype(got.dtype), rtol=rtol, atol=atol)


def fact(x) -> str:
    """The type of an array as text, with ``~`` if it is weak: ``~float32[2]``."""
    return str(x.aval)


def batched(function, *args, atol=1e-6):
    """Check that ``vmap`` over new leading dimensions, and ``jit`` of it, equal a loop."""
    stacked = [np.stack([x, x[..., ::-1] if np.ndim(x) else x + 1, x]) for x in args]
    looped = [function(*row) for row in zip(*stacked)]
    mapped = tanx.vmap(function)(*stacked)
    for leaf, *rows in zip(tanx.tree.leaves(mapped), *map(tanx.tree.leaves, looped)):
        agree(leaf, np.stack([np.asarray(row) for row in rows]))
    agree(tanx.tree.leaves(tanx.jit(function)(*args)), tanx.tree.leaves(function(*args)),
          atol=atol)


def adjoint(function, *args):
    """Check that forward mode agrees with differences, and that reverse mode is its transpose."""
    rng = np.random.default_rng(0)
    with tanx.enable_x64(True):
        args = [jnp.asarray(np.asarray(x), "float64") for x in args]
        tangents = [jnp.asarray(rng.normal(size=x.shape)) for x in args]
        y, dy = tanx.jvp(function, args, tangents)
        step = 1e-6
        moved = [function(*(x + s * step * t for x, t in zip(args, tangents))) for s in (1, -1)]
        agree(dy, (np.asarray(moved[0]) - np.asarray(moved[1])) / (2 * step), 1e-5, 1e-6)
        _, back = tanx.vjp(function, *args)
        ct = jnp.asarray(rng.normal(size=y.shape))
        there = np.vdot(ct, dy)
        again = sum(np.vdot(g, t) for g, t in zip(back(ct), tangents))
        np.testing.assert_allclose(again, there, rtol=1e-9, atol=1e-9)


def message(error, call, text: str):
    """Check that a call raises an error with exactly this text."""
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text
