"""Chains of transformations with a known effect on a function.

A function here takes a pytree ``x`` of floats and an array ``n`` of integers, and returns a pytree
like ``x``. A :class:`Step` wraps such a function into another one. It either keeps the values, or
returns the product of the Jacobian with a fixed direction, from the right or the left. The same
chains run on JAX if it is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

FACTORS = np.array([1.0, 0.5])  # of the lanes of a batch; the first lane is the result


@dataclass(frozen=True)
class Step:
    """A way to wrap a function, and its effect: ``same``, ``J v`` or ``u J``."""

    name: str
    wrap: Callable
    meaning: str = "same"
    forward: bool = False  # differentiates the function in forward mode
    transparent: bool = False  # its result can be differentiated in either mode
    opaque: bool = False  # its result can be differentiated in reverse mode only

    def __repr__(self) -> str:
        return self.name


class Chains:
    """The functions and the steps, written with one library: ``tanx`` or ``jax``."""

    def __init__(self, jax):
        self.jax, self.tree = jax, jax.tree_util
        self.jnp, self.lax = jax.numpy, jax.lax
        self.functions = self._functions()
        self.steps = {step.name: step for step in self._steps()}

    # -- functions ---------------------------------------------------------------------------------

    def _functions(self):
        jnp, lax = self.jnp, self.lax
        matrix = np.array([[1.0, 0.3, -0.2], [0.1, -0.8, 0.5], [0.4, 0.2, 0.6]])

        def scalar(x, n):
            return jnp.sin(x) * x

        def vector(x, n):
            return jnp.tanh(matrix @ x) * x + x[n] * 0.5 + jnp.where(n > 0, x, 1.0)

        def pytree(x, n):
            a, (b,) = x["a"], x["b"]
            return {"a": jnp.sin(a) * b + n, "b": (jnp.cos(b) * (a * a).sum(),)}

        def closures(x, n):
            scale = jnp.exp(-x)

            @self.jax.jit
            def inner(y, unused):
                return y * scale + lax.stop_gradient(y), 2

            return inner(jnp.cos(x), n)[0]

        def constant(x, n):
            return jnp.ones(3) * 0.7 + 0.0 * n

        three, n = np.array([0.4, -0.7, 1.1]), np.array([2, 0, 1])
        return {
            "scalar": (scalar, np.float64(0.8), n), "vector": (vector, three, n),
            "pytree": (pytree, {"a": three, "b": (np.float64(0.6),)}, n),
            "closures": (closures, three, n), "constant": (constant, three, n)}

    # -- pytrees -----------------------------------------------------------------------------------

    def direction(self, x, phase: float):
        """A fixed pytree like ``x``."""
        leaves, tree = self.tree.tree_flatten(x)
        return self.tree.tree_unflatten(tree, [
            self.jnp.asarray(np.cos(phase + k + np.arange(leaf.size)).reshape(leaf.shape))
            for k, leaf in enumerate(leaves)])

    def inner(self, x, y):
        """The sum of products of all elements."""
        terms = self.tree.tree_map(lambda a, b: (a * b).sum(), x, y)
        return sum(self.tree.tree_leaves(terms))

    def lanes(self, x, axis: int):
        """A batch of multiples of ``x``."""
        return self.tree.tree_map(
            lambda leaf: self.jnp.stack([leaf * s for s in FACTORS], axis % (leaf.ndim + 1)), x)

    def lane(self, batch, axis: int):
        """The first of the lanes."""
        return self.tree.tree_map(lambda leaf: self.lax.index_in_dim(
            leaf, 0, axis % leaf.ndim, keepdims=False), batch)

    def right_product(self, jacobian, v):
        """``J v``, where ``J`` is a pytree like the result of pytrees like the argument."""
        product = lambda row: sum(self.tree.tree_leaves(self.tree.tree_map(
            lambda part, along: self.jnp.tensordot(part, along, along.ndim), row, v)))
        structure = self.tree.tree_structure(v)
        rows = structure.flatten_up_to(jacobian)
        return self.tree.tree_unflatten(structure, [product(row) for row in rows])

    def left_product(self, u, jacobian):
        """``u J``."""
        structure = self.tree.tree_structure(u)
        rows = [self.tree.tree_map(lambda part, along=along: self.jnp.tensordot(
            along, part, along.ndim), row)
            for row, along in zip(structure.flatten_up_to(jacobian), self.tree.tree_leaves(u))]
        return self.tree.tree_map(lambda *parts: sum(parts), *rows)

    # -- steps -------------------------------------------------------------------------------------

    def _steps(self):
        jax = self.jax
        u, v = lambda x: self.direction(x, 0.3), lambda x: self.direction(x, 1.7)
        of_x = lambda f, n: lambda x: f(x, n)
        return [
            Step("jit", jax.jit),
            Step("jit of closure", lambda f: lambda x, n: jax.jit(lambda: f(x, n))()),
            Step("checkpoint", jax.checkpoint),
            Step("checkpoint of closure", lambda f: lambda x, n: jax.checkpoint(of_x(f, n))(x)),
            Step("named_call", lambda f: jax.named_call(f, name="part")),
            Step("custom_jvp", self._custom_jvp),
            Step("custom_vjp", self._custom_vjp, opaque=True),
            Step("vmap", lambda f: self._vmapped(f, 0)),
            Step("vmap, last axis", lambda f: self._vmapped(f, -1)),
            Step("vmap of closure", lambda f: lambda x, n: self.lane(
                jax.vmap(lambda s: f(self.tree.tree_map(lambda a: a * s, x), n))(FACTORS), 0)),
            Step("value of jvp", lambda f: lambda x, n: jax.jvp(of_x(f, n), (x,), (v(x),))[0],
                 forward=True),
            Step("value of linearize", lambda f: lambda x, n: jax.linearize(of_x(f, n), x)[0],
                 transparent=True),
            Step("value of vjp", lambda f: lambda x, n: jax.vjp(of_x(f, n), x)[0],
                 transparent=True),
            Step("jvp", lambda f: lambda x, n: jax.jvp(of_x(f, n), (x,), (v(x),))[1],
                 "J v", forward=True),
            Step("linearize", lambda f: lambda x, n: jax.linearize(of_x(f, n), x)[1](v(x)),
                 "J v", forward=True),
            Step("jacfwd", lambda f: lambda x, n: self.right_product(
                jax.jacfwd(f)(x, n), v(x)), "J v", forward=True),
            Step("vmap of jvp", lambda f: lambda x, n: self.lane(jax.vmap(
                lambda t: jax.jvp(of_x(f, n), (x,), (t,))[1])(self.lanes(v(x), 0)), 0),
                "J v", forward=True),
            Step("vjp", lambda f: lambda x, n: jax.vjp(of_x(f, n), x)[1](u(x))[0], "u J",
                 transparent=True),
            Step("grad", lambda f: lambda x, n: jax.grad(
                lambda x: self.inner(u(x), f(x, n)))(x), "u J", transparent=True),
            Step("jacrev", lambda f: lambda x, n: self.left_product(u(x), jax.jacrev(f)(x, n)),
                 "u J", transparent=True),
            Step("vmap of vjp", lambda f: lambda x, n: self.lane(jax.vmap(
                lambda ct: jax.vjp(of_x(f, n), x)[1](ct)[0])(self.lanes(u(x), 0)), 0), "u J",
                transparent=True),
        ]

    def _vmapped(self, f, axis: int):
        def wrapped(x, n):
            batch = self.lanes(x, axis)
            return self.lane(self.jax.vmap(f, (axis, None), axis)(batch, n), axis)
        return wrapped

    def _custom_jvp(self, f):
        custom = self.jax.custom_jvp(lambda x, n: f(x, n))

        @custom.defjvp
        def rule(primals, tangents):
            x, n = primals
            return self.jax.jvp(lambda x: f(x, n), (x,), tangents[:1])
        return custom

    def _custom_vjp(self, f):
        custom = self.jax.custom_vjp(lambda x, n: f(x, n))
        custom.defvjp(lambda x, n: self.jax.vjp(lambda x: f(x, n), x),
                      lambda pull, ct: (*pull(ct), None))
        return custom

    def run(self, function: str, names):
        """The function with the steps around it, the first innermost, at its arguments."""
        fun, x, n = self.functions[function]
        for name in names:
            fun = self.steps[name].wrap(fun)
        x = self.tree.tree_map(self.jnp.asarray, x)
        return self.tree.tree_map(np.asarray, fun(x, self.jnp.asarray(n)))

    def plain(self, names):
        """A chain with the same effect that takes derivatives by ``jvp`` only."""
        meanings = [self.steps[name].meaning for name in names]
        return tuple({"J v": "jvp", "u J": "rows of jvp"}[m] for m in meanings if m != "same")

    def sound(self, names) -> bool:
        """Whether no step needs forward mode of a function that has reverse mode only."""
        opaque = False
        for name in names:
            step = self.steps[name]
            if opaque and step.forward:
                return False
            opaque = (opaque or step.opaque) and not step.transparent
        return True
