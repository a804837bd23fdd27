"""Small programs for JAX or tanx; ``jaxprs.txt`` has their jaxprs.

The recorded texts are JAX's; to record them again, run this file where jax is installed::

    python tests/golden/programs.py
"""

import functools
import importlib
import pathlib
import sys

import numpy as np

RECORD = pathlib.Path(__file__).with_name("jaxprs.txt")


def lax_programs(jax):
    """Programs that use operations of ``lax`` and transformations only."""
    lax = jax.lax
    x, m = np.ones(3, np.float32), np.ones((2, 3), np.float32)
    c = jax.device_put(np.arange(3, dtype=np.float32))

    def chain(n, x):
        for _ in range(n):
            x = lax.sin(x)
        return x

    def product(x):
        return lax.mul(lax.sin(x), x)

    twice = jax.jit(lambda x: lax.sin(lax.cos(x)))
    long = jax.jit(functools.partial(chain, 12))

    def two_results(x):
        return lax.sin(x), lax.cos(x)

    def shares(x):
        y = lax.sin(x)
        return jax.jit(lambda a: lax.add(lax.mul(a, y), x))(lax.cos(x))

    @jax.custom_jvp
    def with_jvp(x):
        return lax.sin(x)

    with_jvp.defjvp(lambda primals, tangents: (with_jvp(*primals), lax.mul(tangents[0], 2.0)))

    @jax.custom_vjp
    def with_vjp(x):
        return chain(11, x)

    with_vjp.defvjp(lambda x: (with_vjp(x), x), lambda saved, ct: (lax.mul(ct, 2.0),))

    def squares(x):
        return lax.reduce_sum(lax.integer_pow(lax.tanh(x), 2), (0,))

    return {
        "arithmetic": (lambda x: lax.add(lax.mul(x, 2.0), lax.sin(x)), x),
        "one line": (lambda x: lax.sin(lax.cos(x)), x),
        "identity": (lambda x, y: (x, x, 2.0, 1), x, x),
        "weak": (lambda n: lax.add(n, 1), 3),
        "constant": (lambda x: lax.add(x, c), x),
        "constants": (lambda x: lax.add(lax.add(x, c), np.arange(3, dtype=np.float32)), x),
        "constant result": (lambda x: (x, c), x),
        "no argument": (lambda: lax.iota(np.int32, 5)),
        "unused": (lambda x: (lax.sin(x), lax.cos(x))[1], x),
        "jit": (jax.jit(lambda x: lax.mul(x, 2.0)), x),
        "jit in jit": (jax.jit(lambda x: jax.jit(lambda y: lax.sin(y))(lax.cos(x))), x),
        "jit twice": (lambda x: twice(twice(x)), x),
        "jit of two types": (lambda x, m: (twice(x), twice(m), twice(x), twice(m)), x, m),
        "jit of a long function": (lambda x: lax.add(long(x), 1.0), x),
        "jit with a literal": (lambda x: jax.jit(lambda a, b: lax.mul(a, b))(x, 2.0), 1.0),
        "jit of one value twice": (lambda x: jax.jit(lambda a, b: lax.mul(a, b))(x, x), x),
        "jit with a result unused": (lambda x: jax.jit(two_results)(x)[1], x),
        "jit with a constant": (lambda x: lax.add(jax.jit(lambda a: lax.add(a, c))(x), c), x),
        "jit with captured values": (shares, x),
        "jvp": (lambda x, t: jax.jvp(product, (x,), (t,)), 1.0, 2.0),
        "grad": (jax.grad(lax.sin), 1.0),
        "grad of grad": (jax.grad(jax.grad(product)), 1.0),
        "grad of jit": (jax.grad(jax.jit(product)), 1.0),
        "jit of grad of jit": (jax.jit(jax.grad(jax.jit(product))), 1.0),
        "grad of a sum of squares": (jax.grad(squares), x),
        "value and grad": (jax.value_and_grad(squares), x),
        "vmap": (jax.vmap(lambda v: lax.mul(v, v)), m),
        "vmap of grad": (jax.vmap(jax.grad(lambda v: lax.integer_pow(v, 3))), x),
        "vmap of jit": (jax.vmap(jax.jit(product)), m),
        "linearize": (lambda x: jax.linearize(product, x)[1](x), 1.0),
        "vjp": (lambda x, ct: jax.vjp(product, x)[1](ct), 1.0, 2.0),
        "custom_jvp": (with_jvp, x),
        "grad of custom_jvp": (jax.grad(with_jvp), 1.0),
        "custom_vjp": (with_vjp, x),
        "grad of custom_vjp": (jax.grad(with_vjp), 1.0),
        "checkpoint": (jax.checkpoint(functools.partial(chain, 2)), x),
        "grad of checkpoint": (jax.grad(jax.checkpoint(functools.partial(chain, 2))), 1.0),
        "many arguments": (lambda *xs: lax.concatenate(xs, 0), *[x] * 30),
        "many results": (lambda *xs: xs * 3, *[x] * 12),
        "sort": (lambda *xs: lax.sort(xs, num_keys=2), *[x] * 5),
        "layout": (lambda m: lax.rev(lax.transpose(lax.reshape(m, (3, 2)), (1, 0)), (0,)), m),
        "dot": (lambda a, b: lax.dot(a, b), m, x),
    }


def loop_programs(jax):
    """Loops over arrays and numbers."""
    lax = jax.lax
    x, four, m = np.ones(3, np.float32), np.ones(4, np.float32), np.ones((4, 3), np.float32)
    c = jax.device_put(np.arange(3, dtype=np.float32))

    def body(carry, x):
        return carry * lax.sin(x), carry + x

    def scan(a, xs):
        return lax.scan(body, a, xs)

    def counting(carry, _):
        return (carry[0] + 1, carry[1] * 2.), carry[0]

    def both(a, b):
        return a[0] + b[0], a[1] * b[1]

    def summed(x):
        return lax.scan(lambda s, _: (s + lax.psum(x, "i"), None), x, None, length=2)

    return {
        "scan": (scan, 1.0, x),
        "scan from a constant": (lambda xs: scan(0.0, xs), x),
        "scan from an integer": (lambda: lax.scan(lambda s, _: (s * 1.5, s), 0, None, length=3)),
        "scan with a captured value": (
            lambda a, xs: lax.scan(lambda s, x: (s * a + x, s), a, xs), 1.0, x),
        "scan with a constant": (lambda xs: lax.scan(lambda s, x: (s * c + x, s), c, xs), x),
        "scan without slices": (lambda a: lax.scan(
            lambda s, _: (s * 2, None), a, None, length=5, reverse=True, unroll=2), 1.0),
        "scan of a pair": (lambda a: lax.scan(counting, (0, a), None, length=5), 1.0),
        "scan of no steps": (scan, 1.0, x[:0]),
        "scan of what never changes": (lambda a, b, xs: lax.scan(
            lambda s, x: ((s[0], s[1] + x * b), s[0]), (a, b), xs), x[0], x[1], x),
        "vmap of scan": (jax.vmap(scan, (0, None)), x, x),
        "vmap of the slices of scan": (jax.vmap(scan, (None, 0)), 1.0, m),
        "vmap of scan with a named axis": (jax.vmap(summed, axis_name="i"), x),
        "map": (lambda xs: lax.map(lambda x: x * 2, xs), x),
        "map in batches": (lambda xs: lax.map(lambda x: x * 2, xs, batch_size=2), four),
        "map in batches with a rest": (lambda xs: lax.map(lambda x: x * 2, xs, batch_size=2), x),
        "fori_loop": (lambda a: lax.fori_loop(0, 10, lambda i, s: s * i, a), 1.0),
        "fori_loop of the identity": (
            lambda a: lax.fori_loop(2, 10, lambda i, s: s, a, unroll=4), 1.0),
        "associative_scan": (lambda xs: lax.associative_scan(lax.add, xs), np.ones(8, np.float32)),
        "associative_scan of odd length": (
            lambda xs: lax.associative_scan(lax.bitwise_or, xs, reverse=True), np.ones(5, bool)),
        "associative_scan of a pair": (
            lambda xs: lax.associative_scan(both, xs, axis=1), (m, m[:1])),
    }


def numpy_programs(jax):
    """Programs that use arrays as NumPy's users do."""
    jnp = importlib.import_module(f"{jax.__name__}.numpy")
    x, m = np.ones(3, np.float32), np.ones((2, 3), np.float32)
    return {
        "operators": (lambda x: (x * 2 + jnp.sin(x)) / 3 - 1, x),
        "broadcasting": (lambda x, m: x + m, x, m),
        "where": (lambda x: jnp.where(x > 0, x, 0), x),
        "sum": (lambda m: m.sum(axis=1), m),
        "mean": (lambda m: m.mean(), m),
        "var": (lambda m: m.var(axis=0), m),
        "index": (lambda x: x[0], x),
        "slice": (lambda x: x[1:], x),
        "index that is traced": (lambda x, i: x[i], x, 1),
        "index update": (lambda x: x.at[0].set(1.0), x),
        "matmul": (lambda a, b: a @ b, m, x),
        "einsum": (lambda a, b: jnp.einsum("ij,j->i", a, b), m, x),
        "vmap of dot": (jax.vmap(lambda x: jnp.dot(x, x)), m),
        "arange": (lambda: jnp.arange(5)),
        "zeros": (lambda: jnp.zeros((2, 3))),
        "linspace": (lambda: jnp.linspace(0, 1, 5)),
        "concatenate": (lambda x: jnp.concatenate([x, x]), x),
        "stack": (lambda x: jnp.stack([x, x]), x),
        "floor division": (lambda x: x // 2, x),
        "remainder": (lambda x: x % 2, x),
        "power": (lambda x: x ** 2.5, x),
        "clip": (lambda x: jnp.clip(x, 0, 1), x),
        "sort of numpy": (lambda x: jnp.sort(x), x),
        "argmax": (lambda x: jnp.argmax(x), x),
        "cumsum": (lambda x: jnp.cumsum(x), x),
        "reshape": (lambda m: m.reshape(-1), m),
        "transpose": (lambda m: m.T, m),
        "maximum": (lambda m: jnp.maximum(m, 0), m),
        "astype": (lambda x: x.astype("int32"), x),
        "grad of tanh squared": (jax.grad(lambda x: (jnp.tanh(x) ** 2).sum()), x),
    }


def branch_programs(jax):
    """Programs with branches and ``while`` loops."""
    lax, jnp = jax.lax, importlib.import_module(f"{jax.__name__}.numpy")
    p, s, v = np.bool_(True), np.float32(3.0), np.ones(3, np.float32)
    n, c = np.int32(1), jax.device_put(np.arange(3, dtype=np.float32))

    def chosen(p, x):
        return lax.cond(p, lambda x: x + 1, lambda x: x * 2.0, x)

    def doubled(x, limit):
        return lax.while_loop(lambda c: c[0] < limit, lambda c: (c[0] * 2, c[1] + x, c[2]),
                              (x, 0, limit))

    def powers(y):
        return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * y), (n, y))

    return {
        "cond": (chosen, p, s),
        "cond on a number": (chosen, n, s),
        "cond without operands": (lambda p: lax.cond(p, lambda: 1, lambda: jnp.int32(2)), p),
        "cond with closures": (
            lambda p, x, y: lax.cond(p, lambda: x + y, lambda: y * 2.0), p, s, s),
        "cond with constants": (
            lambda p, x: lax.cond(p, lambda: x * c, lambda: c + np.arange(3.0)), p, s),
        "cond with results that are operands": (
            lambda p, x, y: lax.cond(p, lambda a, b: (a, b), lambda a, b: (a * 2, b), x, y),
            p, s, s),
        "switch": (lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], x), n, s),
        "switch of one": (lambda i, x: lax.switch(i, [jnp.sin], x), n, s),
        "vmap of cond": (jax.vmap(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), (None, 0)), p, v),
        "jvp of cond": (lambda p, x, t: jax.jvp(
            lambda x: lax.cond(p, lambda x: x * 2, lambda x: 1.0, x), (x,), (t,)), p, s, s),
        "while": (doubled, s, s),
        "while with constants": (
            lambda x: lax.while_loop(lambda x: (x < c).any(), lambda x: x + c, x), v),
        "while of a number that becomes an array": (
            lambda y: lax.while_loop(lambda x: x < 3, lambda x: x + y, 0), s),
        "jvp of while": (lambda y, t: jax.jvp(lambda y: powers(y)[1], (y,), (t,)), s, s),
    }


def programs(jax) -> dict[str, tuple]:
    """All programs: name, function and arguments."""
    found = {**lax_programs(jax), **loop_programs(jax), **numpy_programs(jax),
             **branch_programs(jax)}
    return {name: program if isinstance(program, tuple) else (program,)
            for name, program in found.items()}


def texts(jax) -> dict[str, str]:
    """The jaxpr of each program as text."""
    return {name: str(jax.make_jaxpr(fun)(*args)) for name, (fun, *args) in programs(jax).items()}


def recorded() -> dict[str, str]:
    """The recorded texts, by the names in their headings."""
    sections = RECORD.read_text(encoding="utf-8").split("## ")[1:]
    return {name: text.removesuffix("\n\n").removesuffix("\n")
            for name, _, text in (section.partition("\n") for section in sections)}


if __name__ == "__main__":
    library = importlib.import_module("jax")
    sections = [f"## {name}\n{text}\n" for name, text in texts(library).items()]
    RECORD.write_text("\n".join(sections), encoding="utf-8")
    sys.stdout.write(f"{len(sections)} jaxprs recorded\n")
