"""Mistakes that users make. Each function takes ``jax`` and ``jnp``, and must raise an error."""

import functools

import numpy as np

__all__ = ["MISTAKES", "OTHER_CLASS", "PYTHONS_WORDS"]


def _branch(x):
    if x > 0:
        return x
    return -x


def _loop(x):
    while x < 10:
        x = x * 2
    return x


def _leak(jax, jnp):
    saved = []
    jax.jit(lambda x: saved.append(x * 2) or x)(1.0)
    return saved[0]


def _assign(x):
    x[0] = 1.0


def _add_in_place(x):
    x[1:] += 1.0


def _assign_traced(x):
    x[0] = 1.0
    return x


def _custom_vjp_without_rule(jax, jnp):
    f = jax.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, None), lambda saved, g: g)  # not a tuple
    return jax.grad(f)(1.0)


def _custom_vjp_of_wrong_shape(jax, jnp):
    f = jax.custom_vjp(lambda x: x.sum())
    f.defvjp(lambda x: (x.sum(), None), lambda saved, g: (g,))
    return jax.grad(f)(jnp.ones(3))


def _custom_jvp_of_wrong_structure(jax, jnp):
    f = jax.custom_jvp(lambda x: x * 2)
    f.defjvp(lambda primals, tangents: primals[0] * 2)
    return jax.jvp(f, (1.0,), (1.0,))


def _donated(jax, jnp):
    x = jnp.ones(3)
    x.delete()
    return x + 1


MISTAKES = {
    # Python needs values that are not known while tracing.
    "if": lambda jax, jnp: jax.jit(_branch)(1.0),
    "while": lambda jax, jnp: jax.jit(_loop)(1.0),
    "if under vmap": lambda jax, jnp: jax.vmap(_branch)(jnp.ones(3)),
    "conditional expression": lambda jax, jnp: jax.jit(lambda x: 1 if x else 2)(True),
    "and": lambda jax, jnp: jax.jit(lambda x: (x > 0) and (x < 1))(0.5),
    "not": lambda jax, jnp: jax.jit(lambda x: not x)(True),
    "min of Python": lambda jax, jnp: jax.jit(lambda x: min(x, 1.0))(0.5),
    "float": lambda jax, jnp: jax.jit(lambda x: float(x) * 2)(1.0),
    "int": lambda jax, jnp: jax.jit(lambda x: int(x))(1.0),
    "item": lambda jax, jnp: jax.jit(lambda x: x.sum().item())(jnp.ones(3)),
    "tolist": lambda jax, jnp: jax.jit(lambda x: x.tolist())(jnp.ones(3)),
    "range": lambda jax, jnp: jax.jit(lambda n: sum(range(n)))(3),
    "index of a list": lambda jax, jnp: jax.jit(lambda i: [1.0, 2.0][i])(0),
    "shape": lambda jax, jnp: jax.jit(lambda n: jnp.zeros(n))(3),
    "arange": lambda jax, jnp: jax.jit(lambda n: jnp.arange(n))(3),
    "reshape": lambda jax, jnp: jax.jit(lambda x, n: x.reshape(n, -1))(jnp.ones(4), 2),
    "axis": lambda jax, jnp: jax.jit(lambda x, axis: x.sum(axis))(jnp.ones(4), 0),
    "NumPy": lambda jax, jnp: jax.jit(lambda x: np.sin(x))(1.0),
    "NumPy under grad": lambda jax, jnp: jax.grad(lambda x: np.sin(x))(1.0),
    "np.asarray": lambda jax, jnp: jax.jit(lambda x: np.asarray(x))(1.0),
    "mask": lambda jax, jnp: jax.jit(lambda x: x[x > 0])(jnp.ones(3)),
    "nonzero": lambda jax, jnp: jax.jit(lambda x: jnp.nonzero(x))(jnp.ones(3)),
    "unique": lambda jax, jnp: jax.jit(lambda x: jnp.unique(x))(jnp.ones(3)),
    "slice with traced bounds": lambda jax, jnp: jax.jit(lambda x, n: x[:n])(jnp.ones(3), 2),
    "leak": lambda jax, jnp: _leak(jax, jnp) + 1,
    "leak into NumPy": lambda jax, jnp: np.asarray(_leak(jax, jnp)),
    # Arrays are immutable.
    "assignment": lambda jax, jnp: _assign(jnp.ones(3)),
    "addition in place": lambda jax, jnp: _add_in_place(jnp.ones(3)),
    "assignment under jit": lambda jax, jnp: jax.jit(_assign_traced)(jnp.ones(3)),
    "out": lambda jax, jnp: jnp.sum(jnp.ones(3), out=jnp.ones(())),
    "deleted": _donated,
    "hash": lambda jax, jnp: {jnp.ones(3): 1},
    "static array": lambda jax, jnp: jax.jit(lambda x: x, static_argnums=0)(jnp.ones(3)),
    # Shapes.
    "broadcasting": lambda jax, jnp: jnp.ones(2) + jnp.ones(3),
    "broadcasting of ranks": lambda jax, jnp: jnp.ones((2, 2)) * jnp.ones(3),
    "matmul": lambda jax, jnp: jnp.ones((2, 3)) @ jnp.ones((2, 3)),
    "matmul of a scalar": lambda jax, jnp: jnp.ones(3) @ 2.0,
    "dot": lambda jax, jnp: jnp.dot(jnp.ones(2), jnp.ones(3)),
    "einsum": lambda jax, jnp: jnp.einsum("ij,jk->ik", jnp.ones((2, 3)), jnp.ones((2, 3))),
    "einsum subscripts": lambda jax, jnp: jnp.einsum("ij->ik", jnp.ones((2, 3))),
    "reshape size": lambda jax, jnp: jnp.ones(6).reshape(4),
    "two unknown sizes": lambda jax, jnp: jnp.ones(6).reshape(-1, -1),
    "concatenate": lambda jax, jnp: jnp.concatenate([jnp.ones((2, 2)), jnp.ones((3, 3))]),
    "concatenate ranks": lambda jax, jnp: jnp.concatenate([jnp.ones(2), jnp.ones((2, 2))]),
    "concatenate without a list": lambda jax, jnp: jnp.concatenate(jnp.ones(2), jnp.ones(2)),
    "stack": lambda jax, jnp: jnp.stack([jnp.ones(2), jnp.ones(3)]),
    "squeeze": lambda jax, jnp: jnp.squeeze(jnp.ones((2, 1)), axis=0),
    "axis out of bounds": lambda jax, jnp: jnp.sum(jnp.ones(3), axis=1),
    "transpose": lambda jax, jnp: jnp.transpose(jnp.ones((2, 3)), (0, 0)),
    "too many indices": lambda jax, jnp: jnp.ones(3)[0, 0],
    "split": lambda jax, jnp: jnp.split(jnp.ones(3), 2),
    "where with one value": lambda jax, jnp: jnp.where(jnp.ones(3) > 0, 1.0),
    "update of wrong shape": lambda jax, jnp: jnp.ones((2, 3)).at[0].set(jnp.ones(2)),
    "dynamic_slice": lambda jax, jnp: jax.lax.dynamic_slice(jnp.ones(3), (0,), (4,)),
    "max of nothing": lambda jax, jnp: jnp.max(jnp.ones(0)),
    "ragged list": lambda jax, jnp: jnp.array([[1, 2], [3]]),
    # Types.
    "list as operand": lambda jax, jnp: jnp.sin([1.0, 2.0]),
    "list and array": lambda jax, jnp: jnp.ones(2) + [1.0, 2.0],
    "None as operand": lambda jax, jnp: jnp.sum(None),
    "string as operand": lambda jax, jnp: jnp.add(jnp.ones(2), "a"),
    "string under jit": lambda jax, jnp: jax.jit(lambda s: s)("adam"),
    "object from jit": lambda jax, jnp: jax.jit(lambda x: "text")(1.0),
    "function under jit": lambda jax, jnp: jax.jit(lambda f, x: f(x))(lambda x: x, 1.0),
    "unknown dtype": lambda jax, jnp: jnp.zeros(3, "float31"),
    "float as index": lambda jax, jnp: jnp.ones(3)[1.0],
    "string as index": lambda jax, jnp: jnp.ones(3)["a"],
    "list as index": lambda jax, jnp: jnp.ones(3)[[0, 1]],
    "float as size": lambda jax, jnp: jnp.zeros(2.5),
    "negative size": lambda jax, jnp: jnp.zeros(-1),
    "bits of floats": lambda jax, jnp: jnp.ones(3) & 1,
    "dtypes of lax": lambda jax, jnp: jax.lax.add(jnp.ones(3), jnp.arange(3)),
    "truth of an array": lambda jax, jnp: bool(jnp.ones(3)),
    "float of an array": lambda jax, jnp: float(jnp.ones(3)),
    "length of a scalar": lambda jax, jnp: len(jnp.float32(1)),
    "iteration of a scalar": lambda jax, jnp: list(jnp.float32(1)),
    "attribute": lambda jax, jnp: jnp.ones(3).numpy(),
    "missing function": lambda jax, jnp: jnp.sinus(1.0),
    # Transformations.
    "grad of integers": lambda jax, jnp: jax.grad(lambda x: x ** 2)(3),
    "grad of an array": lambda jax, jnp: jax.grad(lambda x: x ** 2)(jnp.ones(3)),
    "grad of a pair": lambda jax, jnp: jax.grad(lambda x: (x, x))(1.0),
    "grad of nothing": lambda jax, jnp: jax.grad(lambda x: None)(1.0),
    "grad of a complex result": lambda jax, jnp: jax.grad(lambda x: x * 1j)(1.0),
    "grad without arguments": lambda jax, jnp: jax.grad(lambda x: x)(),
    "grad of no function": lambda jax, jnp: jax.grad(3.0),
    "grad argnums": lambda jax, jnp: jax.grad(lambda x: x, argnums=2)(1.0),
    "has_aux without aux": lambda jax, jnp: jax.grad(lambda x: x, has_aux=True)(1.0),
    "jvp tangent": lambda jax, jnp: jax.jvp(jnp.sin, (jnp.ones(3),), (jnp.ones(2),)),
    "jvp tangent dtype": lambda jax, jnp: jax.jvp(jnp.sin, (1.0,), (1,)),
    "jvp without tuples": lambda jax, jnp: jax.jvp(jnp.sin, 1.0, 1.0),
    "vjp cotangent": lambda jax, jnp: jax.vjp(jnp.sin, jnp.ones(3))[1](jnp.ones(2)),
    "vjp cotangent structure": lambda jax, jnp: jax.vjp(lambda x: (x, x), 1.0)[1](1.0),
    "vmap sizes": lambda jax, jnp: jax.vmap(jnp.add)(jnp.ones(2), jnp.ones(3)),
    "vmap of a scalar": lambda jax, jnp: jax.vmap(jnp.sin)(1.0),
    "vmap axis": lambda jax, jnp: jax.vmap(jnp.sin, in_axes=1)(jnp.ones(3)),
    "vmap in_axes length": lambda jax, jnp: jax.vmap(jnp.add, in_axes=(0,))(
        jnp.ones(2), jnp.ones(2)),
    "vmap out_axes": lambda jax, jnp: jax.vmap(lambda x: x, out_axes=3)(jnp.ones(2)),
    "vmap without arrays": lambda jax, jnp: jax.vmap(lambda: 1.0)(),
    "psum without axis": lambda jax, jnp: jax.lax.psum(jnp.ones(3), "i"),
    "jit of no function": lambda jax, jnp: jax.jit(3.0),
    "jit with unhashable static": lambda jax, jnp: jax.jit(
        lambda x, n: x, static_argnums=1)(1.0, [2]),
    "jit called wrongly": lambda jax, jnp: jax.jit(lambda x: x)(1.0, 2.0),
    "custom_vjp that gives no tuple": _custom_vjp_without_rule,
    "custom_vjp of wrong shape": _custom_vjp_of_wrong_shape,
    "custom_jvp of wrong structure": _custom_jvp_of_wrong_structure,
    "custom_jvp without rule": lambda jax, jnp: jax.custom_jvp(lambda x: x)(1.0),
    "linear_transpose of what is not linear": lambda jax, jnp: jax.linear_transpose(
        lambda x: x * x, 1.0)(1.0),
    "trees of different structure": lambda jax, jnp: jax.tree.map(
        lambda a, b: a, {"a": 1}, {"b": 1}),
    "trees of different length": lambda jax, jnp: jax.tree.map(lambda a, b: a, [1, 2], [1]),
    "unflatten with too few leaves": lambda jax, jnp: jax.tree.unflatten(
        jax.tree.structure([1, 2]), [1]),
    "unknown option": lambda jax, jnp: jax.config.update("jax_enable_x65", True),
    "integer to a negative power": lambda jax, jnp: jnp.arange(3) ** -1,
    "static_argnames of nothing": lambda jax, jnp: jax.jit(
        lambda x: x, static_argnames="n")(1.0, n=2),
    "partial": lambda jax, jnp: functools.partial(jax.jit, static_argnums=0)(lambda n: n)(
        jnp.ones(3)),
}

# JAX raises an internal error, and tanx one that explains the mistake.
OTHER_CLASS = {"linear_transpose of what is not linear": "AssertionError in JAX"}

# Python itself or the user's function raises the error.
PYTHONS_WORDS = {"attribute", "missing function", "jit called wrongly"}
