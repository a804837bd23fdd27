"""Pytrees, classes, staging, and errors that programs handle."""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np


class _Point(NamedTuple):
    x: object
    y: object


def named_tuples(jax, jnp):
    p = _Point(jnp.array([1.0, 2.0]), 3.0)
    grads = jax.grad(lambda p: jnp.sum(p.x) * p.y)(p)
    return grads, jax.jit(lambda p: _Point(p.y, p.x))(p), jax.tree.map(lambda v: v * 2, p)


def registered_class(jax, jnp):
    class Pair:
        def __init__(self, a, b, name):
            self.a, self.b, self.name = a, b, name

    jax.tree_util.register_pytree_node(
        Pair, lambda p: ((p.a, p.b), p.name), lambda name, ab: Pair(*ab, name))
    p = Pair(jnp.arange(2.0), 2.0, "p")
    out = jax.jit(lambda p: Pair(p.b, p.a * 2, p.name + "!"))(p)
    grads = jax.grad(lambda p: (p.a * p.b).sum())(p)
    return out.a, out.b, out.name, grads.a, grads.b, len(jax.tree.leaves(p))


def registered_dataclass(jax, jnp):
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class State:
        w: object
        step: object
        name: str = dataclasses.field(metadata={"static": True}, default="s")

    @jax.jit
    def update(state):
        return dataclasses.replace(state, w=state.w * 0.5, step=state.step + 1)

    state = update(update(State(jnp.ones(2), 0)))
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(state)]
    return state.w, state.step, state.name, paths


def class_with_flatten_methods(jax, jnp):
    @jax.tree_util.register_pytree_node_class
    class Linear:
        def __init__(self, w, b):
            self.w, self.b = w, b

        def __call__(self, x):
            return x @ self.w + self.b

        def tree_flatten(self):
            return (self.w, self.b), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    layer = Linear(jnp.ones((2, 3)), jnp.zeros(3))
    grads = jax.grad(lambda m: m(jnp.arange(2.0)).sum())(layer)
    return layer(jnp.ones(2)), grads.w, grads.b, jax.vmap(layer)(jnp.eye(2))


def tree_statistics(jax, jnp):
    tree = {"layers": [{"w": jnp.ones((2, 3)), "b": jnp.zeros(3)}, None, (1, 2.5)]}
    sizes = jax.tree.map(jnp.size, tree)
    leaves, structure = jax.tree.flatten(tree)
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(v)) for v in leaves))
    paths = jax.tree_util.tree_map_with_path(lambda p, v: jax.tree_util.keystr(p), tree)
    return sizes, len(leaves), str(structure), norm, paths, jax.tree.unflatten(structure, leaves)


def tree_transposition(jax, jnp):
    results = [{"loss": 1.0, "acc": 2.0}, {"loss": 3.0, "acc": 4.0}]
    stacked = jax.tree.map(lambda *xs: jnp.stack(xs), *results)
    turned = jax.tree.transpose(jax.tree.structure([0, 0]), jax.tree.structure(results[0]), results)
    return stacked, turned, jax.tree.reduce(lambda a, b: a + b, results, 0.0)


def partial_as_a_tree(jax, jnp):
    f = jax.tree_util.Partial(lambda a, x: a * x, jnp.float32(3))
    apply = jax.jit(lambda f, x: f(x))
    return apply(f, 2.0), jax.grad(apply, 1)(f, 2.0)


def closures_and_globals(jax, jnp):
    scale = jnp.array([1.0, 2.0])
    calls = []

    @jax.jit
    def f(x):
        calls.append(type(x).__name__ != "ArrayImpl")
        return x * scale

    results = [f(jnp.ones(2)), f(jnp.zeros(2)), f(1.0)]
    return results, len(calls)


def retracing_counts(jax, jnp):
    count = 0

    @functools.partial(jax.jit, static_argnums=1)
    def f(x, n):
        nonlocal count
        count += 1
        return x * n

    for x, n in [(1.0, 2), (2.0, 2), (1, 2), (1.0, 3), (np.float32(1), 2), (jnp.ones(2), 2),
                 (jnp.zeros(2), 2), (jnp.ones(3), 2), (jnp.ones(2, jnp.int32), 2)]:
        f(x, n)
    return count


def jaxprs_of_small_functions(jax, jnp):
    f = lambda x: jnp.log(x) / jnp.log(2.0)
    g = lambda w, b, x: jnp.tanh(x @ w + b)
    w, b, x = np.ones((2, 3), np.float32), np.zeros(3, np.float32), np.ones((4, 2), np.float32)
    return (str(jax.make_jaxpr(f)(3.0)), str(jax.make_jaxpr(g)(w, b, x)),
            str(jax.make_jaxpr(jax.grad(lambda w: g(w, b, x).sum()))(w)),
            str(jax.make_jaxpr(jax.vmap(lambda v: v.sum() * 2))(x)),
            str(jax.make_jaxpr(lambda x: x[0] + x[1:])(x)),
            str(jax.make_jaxpr(lambda x: jax.jit(lambda y: y + 1)(x) * 2)(x)))


def eval_shape_of_a_network(jax, jnp):
    f = lambda p, x: {"y": jnp.tanh(x @ p["w"]), "n": x.shape[0], "s": x.sum()}
    p = {"w": jax.ShapeDtypeStruct((3, 4), jnp.float32)}
    out = jax.eval_shape(f, p, jax.ShapeDtypeStruct((2, 3), jnp.float32))
    return out["y"].shape, str(out["y"].dtype), str(out), out["n"]


def disabled_jit(jax, jnp):
    @jax.jit
    def f(x):
        if x > 0:
            return x * 2
        return -x

    with jax.disable_jit():
        return f(3.0), f(-2.0)


def options_in_force(jax, jnp):
    x, m = jnp.ones(3), jnp.ones((2, 3))
    seen = []
    with jax.numpy_rank_promotion("raise"):
        seen += _names(lambda: x + m, lambda: x + 1)
    with jax.numpy_dtype_promotion("strict"):
        seen += _names(lambda: x + jnp.arange(3), lambda: x + 1)
    with jax.debug_nans(True):
        seen += _names(lambda: jnp.log(-x), lambda: jnp.log(x))
    with jax.enable_x64(True):
        seen += [str(jnp.arange(3.0).dtype), str((x + 1).dtype), str(jnp.array(1).dtype)]
    with jax.default_matmul_precision("highest"):
        seen.append(m @ x)
    with jax.checking_leaks():
        seen.append(jax.jit(jnp.sin)(x))
    return seen


def values_known_while_tracing(jax, jnp):
    @jax.jit
    def f(x):
        with jax.ensure_compile_time_eval():
            n = int(jnp.arange(3).sum())
        return x * n

    return f(2.0), f(jnp.ones(2))


def static_values_in_python_control(jax, jnp):
    @functools.partial(jax.jit, static_argnums=(1,))
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1) if n % 2 else power(x * x, n // 2)

    return power(1.5, 5), power(2.0, 0), jax.grad(power)(2.0, 3)


def shapes_steer_python(jax, jnp):
    @jax.jit
    def pool(x):
        if x.ndim == 1:
            x = x[None]
        n = x.shape[-1] // 2
        return x[..., :n * 2].reshape(*x.shape[:-1], n, 2).mean(-1)

    return pool(jnp.arange(5.0)), pool(jnp.ones((2, 4))), jax.vmap(pool)(jnp.ones((3, 4)))


def donation(jax, jnp):
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    return f(f(jnp.ones(3)))


def _names(*thunks):
    """The names of JAX's classes of exceptions that functions raise."""
    names = []
    for thunk in thunks:
        try:
            thunk()
        except Exception as error:
            classes = [c.__name__ for c in type(error).__mro__]
            names.append(next(c for c in classes if c != "AxisError"))  # NumPy's, a ValueError
        else:
            names.append("no error")
    return names


def errors_of_tracing(jax, jnp):
    def branch(x):
        return x if x > 0 else -x

    return _names(
        lambda: jax.jit(branch)(1.0), lambda: jax.jit(lambda x: np.sin(x))(1.0),
        lambda: jax.jit(lambda n: jnp.zeros(n))(3), lambda: jax.jit(int)(1.0),
        lambda: jax.jit(lambda i: [1, 2][i])(0), lambda: jax.jit(lambda x: x[x > 0])(jnp.ones(2)),
        lambda: jax.jit(lambda n: sum(range(n)))(3), lambda: jax.vmap(branch)(jnp.ones(2)),
        lambda: jax.grad(lambda x: float(x))(1.0), lambda: jax.jit(lambda x: x.item())(1.0))


def errors_of_shapes(jax, jnp):
    one, two = jnp.ones(3), jnp.ones((2, 3))
    return _names(
        lambda: one + jnp.ones(2), lambda: two @ two, lambda: one.reshape(2),
        lambda: jnp.concatenate([one, two]), lambda: jnp.stack([one, jnp.ones(2)]),
        lambda: one[0, 0], lambda: jax.vmap(jnp.add)(one, two), lambda: one.sum(axis=1),
        lambda: jnp.einsum("ij,jk", two, two), lambda: jnp.dot(one, jnp.ones(2)))


def errors_of_types(jax, jnp):
    x = jnp.arange(3.0)

    def assign():
        x[0] = 1.0

    return _names(
        assign, lambda: jax.grad(lambda x: x * 2)(1), lambda: jax.grad(lambda x: x)(x),
        lambda: jnp.sin([1.0]), lambda: jnp.sum("a"), lambda: hash(x), lambda: {x: 1},
        lambda: bool(x), lambda: float(x), lambda: jnp.add(x, "a"),
        lambda: jax.jit(lambda s: s)("a"), lambda: x & 1, lambda: x.at[0].foo,
        lambda: jnp.zeros(3, "nope"), lambda: jnp.array(["a"]), lambda: x[1.0])


def leaked_tracer(jax, jnp):
    saved = []
    jax.jit(lambda x: saved.append(x) or x)(1.0)
    return _names(lambda: saved[0] + 1, lambda: float(saved[0]), lambda: jnp.sin(saved[0]))


def recovery_after_an_error(jax, jnp):
    def fragile(x):
        if x.shape[0] > 2:
            raise ValueError("too long")
        return x.sum()

    f = jax.jit(fragile)
    return _names(lambda: f(jnp.ones(3)), lambda: jax.grad(fragile)(jnp.ones(4))), f(jnp.ones(2))


def fallback_when_not_traceable(jax, jnp):
    def norm(x):
        try:
            return x / float(jnp.sqrt(jnp.sum(x ** 2)))
        except jax.errors.ConcretizationTypeError:
            return x / jnp.sqrt(jnp.sum(x ** 2))

    return norm(jnp.array([3.0, 4.0])), jax.jit(norm)(jnp.array([3.0, 4.0]))
