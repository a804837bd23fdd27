"""Programs of tier 0, and calls of the library's functions that keep some of their arguments."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._api.jit import library_jit
from tanx._runtime.dispatch import Repeated
from tanx._runtime.tier0 import Program, program_of

X = np.arange(6, dtype=np.float32)


def program(fun, *args, known=None):
    return Program(tanx.make_jaxpr(fun)(*args), known)


def one(program, *operands):
    return np.asarray(program.run([np.asarray(x) for x in operands])[0])


def test_values_of_known_arguments_are_folded():
    fun = lambda x, n: x * (n * 2.0 + 1.0)
    both = program(fun, X, np.float32(1))
    known = program(fun, X, np.float32(1), known={1: np.asarray(3, np.float32)})
    assert len(known.steps) == 1 < len(both.steps)
    np.testing.assert_array_equal(one(known, X, np.float32(3)), X * 7)
    np.testing.assert_array_equal(one(both, X, np.float32(4)), X * 9)


@pytest.mark.parametrize("which", [False, True])
def test_a_select_with_a_known_predicate_is_folded(which):
    fun = lambda p, x, y: lax.select(p, x * 2, y + 1) * 3
    choice, known = (program(fun, False, X, X, known=k) for k in (None, {0: np.asarray(which)}))
    assert len(known.steps) == len(choice.steps) - 1
    np.testing.assert_array_equal(one(known, which, X, X), (X * 2 if which else X + 1) * 3)


@pytest.mark.parametrize("which", [-1, 0, 1, 2, 5])
def test_a_select_n_with_a_known_index_is_folded(which):
    known = program(lambda i, *xs: lax.select_n(i, *xs), np.int32(0), X, X + 1, X + 2,
                    known={0: np.asarray(which, np.int32)})
    np.testing.assert_array_equal(one(known, np.int32(which), X, X + 1, X + 2),
                                  X + min(max(which, 0), 2))


def test_folded_selects_do_not_alias_reused_values():
    def fun(p, x):
        a = x + 1
        b = lax.select(p, a, x) * 2
        return a, b, a * b
    for which in (False, True):
        known = program(fun, False, X, known={0: np.asarray(which)})
        outs = [np.asarray(y) for y in known.run([np.asarray(which), X])]
        a, b = X + 1, (X + 1 if which else X) * 2
        for out, expected in zip(outs, (a, b, a * b), strict=True):
            np.testing.assert_array_equal(out, expected)


def test_integers_may_change_at_any_time():
    @library_jit
    def scaled(x, n, m):
        return x * n + m

    x = jnp.asarray(X)
    rng = np.random.default_rng(0)
    for n, m, times in [(2, 1, 10), (3, 1, 5), (2, 1, 3), *rng.integers(0, 5, (60, 3))]:
        for _ in range(times):
            np.testing.assert_array_equal(scaled(x, int(n), int(m)), X * n + m)
            np.testing.assert_array_equal(scaled(x, True, int(m)), X + m)


def test_that_is_done_a_few_times_only():
    closed = tanx.make_jaxpr(lambda x, n: x * n)(X, 1)
    ready = Repeated(closed, program_of(closed).run, [0, 1], [a.dtype for a in closed.in_avals],
                     tanx.tree_util.tree_structure(0))
    x = jnp.asarray(X)
    for n in range(50):
        for _ in range(Repeated.TIMES + 2):
            np.testing.assert_array_equal(ready((x, n)), X * n)
    assert len(ready.special) == Repeated.TRIES


def test_variance_with_other_corrections():
    x = jnp.asarray(X)
    for ddof in (0, 0, 0, 0, 1, 1, 1, 1, 6, 0, 2, 7, 7, 7, 7):
        with np.errstate(all="ignore"):
            expected = X.var() * 6 / (6 - ddof) if ddof < 6 else np.nan
        np.testing.assert_allclose(jnp.var(x, ddof=ddof), expected, rtol=1e-6)
