"""Functions that passes on loop nests share."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._compiler.emit.cpu.module import generate
from tanx._compiler.machine import host
from tanx._compiler.nest_tools import fingerprint, windows
from tanx._compiler.pipeline import build
from tanx._loops.build import nest, op, reduce, store
from tanx._loops.nest import Buffer
from tests.compiler.agreement import check_function

A, B = Buffer("a", (8, 4), "float32"), Buffer("b", (8, 4), "float32", "temp")
OUT, OTHER = Buffer("y", (8,), "float32", "output"), Buffer("z", (8,), "float32", "temp")


def row_sums(out, x, y, name="exp", times=2.0, extent=4, combine="add", sequential=False):
    return nest((8,), lambda i: [store(out, i, reduce(
        combine, extent, lambda k: op(name, x[[*i, *k]]) * times + y[[*i, *k]]))], sequential)


def test_names_do_not_count():
    key, buffers = fingerprint(row_sums(OUT, A, B))
    again, others = fingerprint(row_sums(OTHER, B, A))
    assert key == again and hash(key) == hash(again)
    assert {*buffers} == {OUT, A, B} and [{OUT: OTHER, A: B, B: A}[b] for b in buffers] == others


@pytest.mark.parametrize("change", [
    dict(name="log"), dict(times=3.0), dict(extent=3), dict(combine="max"), dict(sequential=True),
    dict(out=Buffer("y", (9,), "float32", "output")), dict(y=A), dict(times=np.float32(-2)),
    dict(x=Buffer("a", (8, 5), "float32"))], ids=str)
def test_everything_else_does(change):
    given = dict(out=OUT, x=A, y=B)
    assert fingerprint(row_sums(**given))[0] != fingerprint(row_sums(**given | change))[0]


def test_layers_of_a_network_share_their_code():
    def network(x, weights):
        for w, b in weights:
            x = jnp.tanh(x @ w + b)
        return x
    x = np.ones((16, 16), np.float32)
    sizes = []
    for layers in (2, 6):
        module = build(tanx.make_jaxpr(network)(x, [(x, x[0])] * layers))
        text = generate(module.program, host(), module.plan.offsets, module.plan.shared).text
        sizes.append(text.count("define"))
    assert sizes[0] == sizes[1]


def test_rows_of_an_array_are_arrays_by_themselves():
    rows = Buffer("x", (5, 3, 4), "float32")

    def row(n, out):
        return nest((4,), lambda i: [store(out, i, rows[[n, 1, *i]] + rows[[n, 2, 0]])])
    out = Buffer("y", (4,), "float32", "output")
    statement, parts = windows(row(3, out))
    ((part, (whole, start)),) = parts.items()
    assert (part.shape, whole, start) == ((2, 4), rows, 40)
    assert fingerprint(statement)[0] == fingerprint(windows(row(1, out))[0])[0]
    assert fingerprint(row(3, out))[0] != fingerprint(row(1, out))[0]
    statement, parts = windows(nest((3, 4), lambda i: [store(rows, [4, *i], 1.0)]))
    assert [(p.shape, start) for p, (_, start) in parts.items()] == [((3, 4), 48)]
    everything = nest((5, 3, 4), lambda i: [store(rows, i, 1.0)])
    assert windows(everything) == (everything, {})


@pytest.mark.parametrize("fun", [
    lambda x: jnp.concatenate([x[n] * 2 for n in range(20)]),
    lambda x: [jnp.tanh(x[n] @ x[:10]) for n in range(3)],
    lambda x: sum(jnp.cumsum(x[n, ::-1]) for n in range(20)),
    lambda x: x.at[3].set(x[2]).at[4].add(x[3, ::-1]).at[5:7].multiply(x[:2]),
    lambda x: [x[n + 1:n + 5] @ x[:10].T + n for n in range(0, 15, 5)],
])
def test_loops_written_out(fun):
    check_function(fun, np.random.default_rng(0).normal(size=(20, 10)).astype(np.float32))


def test_steps_of_a_loop_share_their_code():
    def network(steps):
        def fun(x, w):
            h = x[0]
            for n in range(steps):
                h = jnp.tanh(x[n] @ w + h @ w)
            return h
        x = np.ones((20, 4, 16), np.float32)
        module = build(tanx.make_jaxpr(fun)(x, x[0].T @ x[0]))
        return generate(module.program, host(), module.plan.offsets, module.plan.shared).text
    assert network(8).count("define") == network(16).count("define")
