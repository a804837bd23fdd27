"""All passes together; dumps and checks between passes."""

from dataclasses import replace

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx._base import config
from tanx._compiler import pipeline
from tanx._compiler.emit.cpu.module import generate
from tanx._compiler.machine import host
from tanx._compiler.pipeline import build
from tanx._loops.check import ProgramError
from tanx._loops.nest import Store
from tanx._loops.show import show
from tanx._loops.traverse import statements_in
from tests.compiler.agreement import check_function, run_module
from tests.compiler.counting import assert_linear

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_dumps_name_the_pass(capsys):
    with config.dump("simplify,memory"):
        build(tanx.make_jaxpr(lambda x: jnp.sin(x) * 1)(X))
    assert capsys.readouterr().out == """\
-- after simplify
{ lambda ; a:f32[3,4]. let b:f32[3,4] = sin a in (b,) }
-- after memory
program(x0: f32[3,4]) -> (y0: f32[3,4])
for i in 3, j in 4 parallel:
    y0[i, j] = sin(x0[i, j])
arena: 0 bytes
"""


def test_a_wrong_pass_is_caught(monkeypatch):
    monkeypatch.setattr(pipeline, "fuse", lambda program, target: replace(program, statements=()))
    closed = tanx.make_jaxpr(lambda x: x + 1)(X)
    with config.enable_checks(True), pytest.raises(ProgramError, match="output must be written"):
        build(closed)
    with config.enable_checks(False):
        build(closed)


def test_modules_keep_the_types_of_results():
    module = build(tanx.make_jaxpr(lambda x, n: (x.reshape(-1) * 1, n + 0, 1.0))(X, 3))
    assert [str(a) for a in module.out_avals] == ["float32[12]", "~int32[]", "~float32[]"]
    assert module.out_avals[1].weak_type
    first, second, third = run_module(module, [X, np.int32(3)])
    assert first.shape == (12,) and second == 3 and third == 1


def test_concatenated_and_padded_arrays_are_written_piece_by_piece():
    x = np.arange(1200, dtype=np.float32).reshape(30, 40)
    wide = np.arange(12000, dtype=np.float32).reshape(3, 4000)
    module = check_function(lambda x: jnp.concatenate([jnp.sin(x), x, jnp.cos(x)], 1), wide)
    assert len(module.program.statements) == 3
    module = check_function(lambda x: jnp.concatenate([jnp.sin(x), x, jnp.cos(x)], 1), x)
    (nest,) = module.program.statements
    assert len(nest.body) == 3  # whole rows are written
    module = check_function(lambda x: jnp.pad(x, ((1, 2), (3, 4))), x)
    assert len(module.program.statements) == 3
    module = check_function(lambda x: jnp.pad(x.T, ((1, 2), (3, 4))), x)
    assert len(module.program.statements) == 9  # tiles need both loops of the middle
    module = check_function(lambda x: jnp.pad(x, ((2, 2), (4, 4))), x)
    assert len(module.program.statements) == 2  # the padding above and below is written together
    module = check_function(lambda x: jnp.stack([x * k for k in range(7)]), x)
    assert len(module.program.statements) == 7
    for m in (module,):
        assert "select" not in show(m.program)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int8", "bool", "complex64"])
@pytest.mark.parametrize(("parts", "size"), [(2, 257), (3, 1005), (4, 257), (8, 1005)])
def test_stacked_elements_are_stored_by_turns(parts, size, dtype):
    rng = np.random.default_rng(0)
    xs = [rng.integers(0, 2 if dtype == "bool" else 50, size).astype(np.dtype(dtype))
          for _ in range(parts)]
    changed = lambda x: ~x if dtype == "bool" else x * x
    check_function(lambda *xs: jnp.stack(xs, 1), *xs)
    check_function(lambda *xs: jnp.stack([changed(x) for x in xs], 1), *xs)
    check_function(lambda x, *xs: jnp.stack([x, *map(changed, xs)], 1), *xs)
    check_function(lambda x: jnp.stack([x, jnp.zeros_like(x), *[changed(x)] * 2], -1)[::-1], xs[0])


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64"])
@pytest.mark.parametrize("parts", [2, 3, 4])
def test_short_rows_are_joined_in_one_nest(parts, dtype):
    xs = [np.arange(k, k + 1005).astype(dtype) for k in range(parts)]
    module = check_function(lambda *xs: jnp.stack(xs, 1), *xs)
    assert len(module.program.statements) == 1
    rows = [x.reshape(-1, 5) for x in xs]
    module = check_function(lambda *xs: jnp.concatenate([*xs, xs[0][:, :3]], 1), *rows)
    assert len(module.program.statements) == 2


def test_loops_are_split_at_the_dimensions_of_memory():
    x = np.arange(6 * 4 * 8 * 16, dtype=np.float32).reshape(6, 4, 8, 16)
    module = check_function(lambda x: jnp.moveaxis(x, 1, 2).reshape(6, 8, 64) * 2, x)
    (nest,) = module.program.statements
    assert [i.extent for i in nest.indices] == [6, 8, 4, 16]
    assert "//" not in show(module.program) and "%" not in show(module.program)
    module = check_function(lambda x: jnp.sin(x.reshape(24, 128)).reshape(6, 32, 16), x)
    assert [i.extent for i in module.program.statements[0].indices] == [24, 128]


def test_large_functions_take_work_in_proportion():
    def network(layers):
        def loss(x, w):
            for _ in range(layers):
                x = jnp.tanh(x @ w) + x
                x = x / (1 + jnp.sum(x * x, -1, keepdims=True))
            return x.sum()
        w = np.ones((8, 8), np.float32)
        return tanx.make_jaxpr(tanx.grad(loss))(w, w)
    jaxprs = {n: network(n) for n in (12, 24)}
    with config.enable_checks(False):
        assert_linear(lambda n: lambda: build(jaxprs[n]), 12)


def chain(x, w, n):
    for _ in range(n):
        x = jnp.sin(x) * x
    return x


def tree(x, w, n):
    parts = [jnp.sin(x * (k + 1.0)) for k in range(n)]
    while len(parts) > 1:
        parts = [a + b for a, b in zip(parts[::2], parts[1::2])] + parts[len(parts) // 2 * 2:]
    return parts[0]


def steps(x, w, n):
    h = x[0]
    for k in range(n // 4):
        h = jnp.tanh(x[k % 8] @ w + h @ w) * 0.5 + h
    return h


@pytest.mark.parametrize("fun", [chain, tree, steps])
def test_thousands_of_equations_take_work_in_proportion(fun):
    x, w = np.ones((8, 8), np.float32), np.ones((8, 8), np.float32)
    jaxprs = {n: tanx.make_jaxpr(lambda x, w, n=n: fun(x, w, n))(x, w) for n in (300, 600)}

    def work(n):
        def run():
            module = build(jaxprs[n])
            generate(module.program, host(), module.plan.offsets, module.plan.shared)
        return run
    with config.enable_checks(False):
        assert_linear(work, 300)


def test_deep_expressions_do_not_exhaust_the_stack():
    def fun(x):
        for _ in range(3000):
            x = jnp.sin(x)
        return x
    module = build(tanx.make_jaxpr(fun)(X))
    stores = [s for s in statements_in(module.program.statements) if isinstance(s, Store)]
    assert 3 < len(stores) < 30


def test_the_cost_of_a_module():
    x = np.ones((256, 512), np.float32)
    module = build(tanx.make_jaxpr(lambda x: jnp.exp(x) + 1)(x))
    assert module.cost.analysis == {"flops": x.size, "transcendentals": x.size,
                                    "bytes accessed": 2 * x.nbytes}
    larger = build(tanx.make_jaxpr(lambda x: x @ x.T @ x)(x))
    empty = build(tanx.make_jaxpr(lambda x: x)(x))
    assert empty.estimate < 1e-6 < module.estimate < larger.estimate
    product = build(tanx.make_jaxpr(lambda x: x @ x.T)(x))
    assert product.cost.analysis["flops"] == 2 * 256 * 512 * 256
