"""A jitted function with native code for arguments of one kind, called with another kind."""

import itertools
import os
import signal
import threading
from collections import namedtuple

import ml_dtypes
import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax, tree_util
from tanx._base import config
from tanx._runtime import eager

Point = namedtuple("Point", "x y")


@tree_util.register_pytree_node_class
class Box:
    """A node of a tree, with a static label."""

    def __init__(self, item, label):
        self.item, self.label = item, label

    def tree_flatten(self):
        return (self.item,), self.label

    @classmethod
    def tree_unflatten(cls, label, children):
        return cls(*children, label)


class OtherBox(Box):
    """Another class of nodes."""


tree_util.register_pytree_node_class(OtherBox)

X = np.arange(6.0, dtype=np.float32)
KINDS = {
    "f32": lambda: jnp.asarray(X), "f32[2,3]": lambda: jnp.asarray(X.reshape(2, 3)),
    "i32": lambda: jnp.arange(6), "bf16": lambda: jnp.asarray(X, jnp.bfloat16),
    "empty": lambda: jnp.zeros((0, 3)), "strong": lambda: jnp.float32(2),
    "weak": lambda: jnp.asarray(2.0), "keys": lambda: tanx.random.split(tanx.random.key(0), 2),
    "np f32": lambda: X.copy(), "np f64": lambda: X.astype(np.float64),
    "np columns": lambda: np.asfortranarray(X.reshape(2, 3)), "np[2,3]": lambda: X.reshape(2, 3),
    "np bf16": lambda: X.astype(ml_dtypes.bfloat16),
    "np scalar": lambda: np.float32(3), "np int8": lambda: np.int8(3),
    "float": lambda: 2.5, "int": lambda: 3, "bool": lambda: True, "complex": lambda: 1 + 2j,
    "None": lambda: None, "tuple": lambda: (jnp.asarray(X), 1.0), "pair": lambda: (X, 1),
    "triple": lambda: (jnp.asarray(X), 1.0, 2.0), "list": lambda: [jnp.asarray(X), 1.0],
    "long list": lambda: [jnp.asarray(X), 1.0, 1.0],
    "dict": lambda: {"a": jnp.asarray(X), "b": 1.0},
    "other keys": lambda: {"a": jnp.asarray(X), "c": 1.0}, "point": lambda: Point(1.0, 2.0),
    "box": lambda: Box(jnp.asarray(X), "a"), "other label": lambda: Box(jnp.asarray(X), "b"),
    "other box": lambda: OtherBox(jnp.asarray(X), "a"), "nested": lambda: {"a": [Box(1.0, ())]}}


def doubled(tree):
    """All leaves doubled, and all leaves unchanged."""
    return tree_util.tree_map(
        lambda x: x if jnp.issubdtype(x.dtype, tanx.dtypes.prng_key) else x * 2, tree), tree


def assert_same(got, want):
    assert tree_util.tree_structure(got) == tree_util.tree_structure(want)
    for a, b in zip(tree_util.tree_leaves(got), tree_util.tree_leaves(want)):
        assert type(a) is tanx.Array or isinstance(a, tanx.Array)
        assert a.aval == b.aval and a._value.shape == b._value.shape
        np.testing.assert_array_equal(a._value, b._value)


WANTED = {name: doubled(tree_util.tree_map(jnp.asarray, make())) for name, make in KINDS.items()}


@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])
@pytest.mark.parametrize("first", KINDS)
def test_another_kind_after_the_first_was_learnt(first, long, monkeypatch):
    """Each of the others after the first, then the first again."""
    if long:  # these run in the background, and have separate entries
        made = eager.compiled

        def compiled(*args):
            executable = made(*args)
            executable.long = True
            return executable

        monkeypatch.setattr("tanx._runtime.entries.compiled", compiled)
    for second in KINDS:
        jitted = tanx.jit(doubled)
        for name in (first, first, first, second, first, second, second):
            assert_same(tanx.block_until_ready(jitted(KINDS[name]())), WANTED[name])


KEYWORDS = [{}, {"a": 1.0}, {"b": 1.0}, {"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}, {"a": 1}]


@pytest.mark.parametrize("first, second", list(itertools.permutations(range(len(KEYWORDS)), 2)))
def test_other_keywords(first, second):
    jitted = tanx.jit(lambda x, a=10.0, b=100.0: x + a + 2 * b)
    for n in (first, first, first, second, first, second):
        given = KEYWORDS[n]
        want = 1.0 + given.get("a", 10.0) + 2 * given.get("b", 100.0)
        assert float(jitted(1.0, **given)) == want
        assert [float(y) for y in map(lambda x, given=given: jitted(x, **given), [1.0])] == [want]


def test_donated_arguments_with_other_references_are_copied():
    """An argument that shares its memory, or whose data is referenced elsewhere, is copied."""
    memory = np.arange(8.0, dtype=np.float32)
    jitted = tanx.jit(lambda x: (x * 2, x), donate_argnums=0)
    for n in range(8):
        view = jnp.asarray(memory)[2:] if n % 2 else tanx.dlpack.from_dlpack(memory[2:].copy())
        kept = np.asarray(view) if n > 3 else None
        with np.errstate(all="ignore"):
            twice, same = jitted(view)
        np.testing.assert_array_equal(twice, 2 * memory[2:])
        np.testing.assert_array_equal(same, memory[2:])
        if kept is not None:
            np.testing.assert_array_equal(kept, memory[2:])
    np.testing.assert_array_equal(memory, np.arange(8.0))


@pytest.fixture
def ctrl_c():
    """Let Ctrl-C raise an exception, also in background jobs of a shell, which ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs POSIX signals")
def test_a_native_call_is_interrupted(ctrl_c):
    count = tanx.jit(lambda n: lax.while_loop(lambda k: k < n, lambda k: k + 1, 0))
    with config.async_dispatch(False):
        for n in range(4):
            assert int(count(n)) == n
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        endless = tanx.jit(lambda x: lax.while_loop(lambda s: s[1] >= 0, lambda s: (
            s[0] + 1, jnp.abs(jnp.sin(s[1]))), (0, x)))
        for x in (-1.0, -1.0, -1.0, -2.0):
            endless(x)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            endless(1.0)
        timer.join()
        assert int(endless(-1.0)[0]) == 0
