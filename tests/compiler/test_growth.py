"""Code of a chain of equal steps, and of its gradient, grows with the length of the chain."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.emit.cpu.module import generate
from tanx._compiler.machine import host
from tanx._compiler.pipeline import build

X = np.linspace(0.1, 1, 24 * 24, dtype=np.float32).reshape(24, 24)
M = np.arange(24, dtype=np.int32)[::-1] % 5

STEPS = {
    "choice by a scalar": lambda x, k, m: jnp.where(m[k] > 2, jnp.sin(x), jnp.cos(x)),
    "choice by each element": lambda x, k, m: jnp.where(x > 0.5, jnp.sin(x), jnp.cos(x)),
    "choice by columns": lambda x, k, m: jnp.where(m > k % 5, x @ x * 0.01, x + 1),
    "choice of rows": lambda x, k, m: jnp.where(m[k] > 2, jnp.sin(x), jnp.cos(x[::-1])),
    "clip": lambda x, k, m: jnp.clip(x * 1.1, 0, 1),
    "concatenate": lambda x, k, m: jnp.concatenate([jnp.sin(x[12:]), x[:12] * 2 + x[12:]]),
    "stack": lambda x, k, m: jnp.stack([x[0::2], x[1::2] + 1], 1).reshape(24, 24),
    "pad": lambda x, k, m: jnp.pad(x[1:], ((0, 1), (0, 0))) + x,
    "roll": lambda x, k, m: jnp.roll(x, 1, 0) + jnp.roll(x, -1, 1),
    "transpose": lambda x, k, m: jnp.sin(x.T) + x,
    "reverse": lambda x, k, m: x[::-1] * x,
    "gather": lambda x, k, m: x[m] * x,
    "sort": lambda x, k, m: jnp.take_along_axis(x, jnp.argsort(x, 1), 1) + jnp.sort(x, 0),
    "set a row": lambda x, k, m: x.at[k].set(x[k + 1] * 2),
    "add to a row": lambda x, k, m: x.at[m[k]].add(x[m[k]]),
    "scatter": lambda x, k, m: x.at[m].add(x * x),
    "dynamic slices": lambda x, k, m: lax.dynamic_slice(
        lax.dynamic_update_slice(jnp.concatenate([x, x * 2]), x[:3] * 2, (m[k], 0)),
        (m[k], 0), (24, 24)),
    "normalise": lambda x, k, m: (x - x.mean(0)) / (x.std(0) + 1),
    "softmax": lambda x, k, m: x + tanx.nn.softmax(x),
    "cumsum": lambda x, k, m: jnp.cumsum(x, 0) * 0.1,
    "argmax": lambda x, k, m: x + jnp.argmax(x, 0),
    "product": lambda x, k, m: jnp.tanh(x @ x.T * 0.01) + x,
    "convolution": lambda x, k, m: lax.conv(x[None, None], jnp.ones((1, 1, 3, 3)), (1, 1), "SAME")[
        0, 0] * 0.1,
    "window": lambda x, k, m: lax.reduce_window(x, 0.0, lax.add, (3, 3), (1, 1), "SAME") * 0.1,
    "cond": lambda x, k, m: lax.cond(m[k] > 2, jnp.sin, jnp.cos, x),
    "fori_loop": lambda x, k, m: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + x, x),
    "scan": lambda x, k, m: lax.scan(lambda c, r: (c + r, c * r), x[0], x)[1],
    "complex": lambda x, k, m: jnp.abs(lax.complex(x, x)) * 0.5,
    "remainder": lambda x, k, m: jnp.mod(x * 1.5, 1.0) // 0.3 + x,
    "fft": lambda x, k, m: jnp.fft.rfft(x).real[:, :1] + x,
}


def lines_of_code(step, count, gradient):
    def chain(x, m):
        for k in range(count):
            x = step(x, k, m)
        return x
    function = tanx.grad(lambda x, m: chain(x, m).sum()) if gradient else chain
    module = build(tanx.make_jaxpr(function)(X, M))
    return generate(module.plan.program, host()).text.count("\n")


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("gradient", [False, True], ids=["itself", "gradient"])
def test_code_grows_with_the_length(name, gradient):
    few, many = (lines_of_code(STEPS[name], count, gradient) for count in (7, 14))
    assert many < 3 * few  # 2 ** 7 where code doubles with each step
