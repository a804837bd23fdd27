"""What passes on loop nests share."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._compiler.codegen.cpu import generate, host
from tanx._compiler.pipeline import build
from tanx._compiler.stages import fingerprint
from tanx._loops.build import nest, op, reduce, store
from tanx._loops.nest import Buffer

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
