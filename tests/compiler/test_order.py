"""The order of statements: scalars come early, so that they do not separate fusible nests."""

from functools import partial

import numpy as np

import tanx
import tanx.numpy as jnp
from tanx._compiler.order import numbers_first
from tanx._compiler.pipeline import build
from tanx._loops.build import copy, store
from tanx._loops.expr import Load, const
from tanx._loops.nest import Buffer, Nest, Program
from tests.compiler.agreement import check_function
from tests.compiler.counting import assert_linear

X = np.random.default_rng(0).normal(size=(16, 32)).astype(np.float32)
G = np.random.default_rng(1).normal(size=(16, 64)).astype(np.float32)
W = np.random.default_rng(2).normal(size=(32, 64)).astype(np.float32)


def adam(x, g, params, means, squares, count):
    """Two gradients, then scalars that both updates divide by."""
    grads = x.T @ g, jnp.tanh(x).T @ g
    t = (count + 1).astype(jnp.float32)
    first, second = 1 - 0.9 ** t, 1 - 0.999 ** t
    new = []
    for grad, p, m, v in zip(grads, params, means, squares):
        m, v = 0.9 * m + 0.1 * grad, 0.999 * v + 0.001 * grad * grad
        new.append((p - 0.01 * (m / first) / (jnp.sqrt(v / second) + 1e-8), m, v))
    return new, count + 1


ARGUMENTS = X, G, (W, W + 1), (W * 2, W * 3), (abs(W), abs(W) + 1), np.int32(3)


def test_changes_of_parameters_join_the_products_that_make_their_gradients():
    program = build(tanx.make_jaxpr(adam)(*ARGUMENTS)).program
    filled = [len(s.body) for s in program.statements if isinstance(s, Nest)
              and s.body[0].buffer.shape == W.shape]
    assert filled == [3, 3]  # a parameter and its moments; no gradient is stored
    assert all(b.shape != W.shape for b in program.temps)


def test_they_agree():
    check_function(adam, *ARGUMENTS)


def number(name, source, kind="temp"):
    """A scalar that is one more than another."""
    made = Buffer(name, (), np.dtype(np.float32), kind)
    return made, Nest((), (), (store(made, (), Load(source, ()) + const(1.0, made.dtype)),))


def test_scalars_stay_after_their_operands():
    x = Buffer("x0", (), np.dtype(np.float32))
    rows = Buffer("x1", (8,), np.dtype(np.float32))
    kept = Buffer("y0", (8,), np.dtype(np.float32), "output")
    a, make_a = number("t0", x)
    b, make_b = number("t1", a)
    y, make_y = number("y1", b, "output")
    copied = copy(kept, rows)
    program = Program((x, rows), (kept, y), (a, b), (copied, make_a, make_b, make_y))
    assert numbers_first(program).statements == (make_a, make_b, make_y, copied)


def test_overwritten_scalars_are_not_moved():
    """An input that is overwritten is read before or after the write, as in the program."""
    x = Buffer("x0", (), np.dtype(np.float32))
    rows, kept = (Buffer(name, (8,), np.dtype(np.float32)) for name in ("x1", "y0"))
    change = Nest((), (), (store(x, (), Load(x, ()) + const(1.0, x.dtype)),))
    y, make_y = number("y1", x, "output")
    program = Program((x, rows), (kept, y), (), (copy(kept, rows), make_y, change))
    assert numbers_first(program) == program


def test_thousands_of_numbers():
    def chain(count):
        x = Buffer("x0", (), np.dtype(np.float32))
        made, statements = [x], []
        for n in range(count):
            buffer, statement = number(f"t{n}", made[-1])
            made.append(buffer)
            statements.append(statement)
        return Program((x,), (made[-1],), tuple(made[1:-1]), tuple(statements))
    assert_linear(lambda count: partial(numbers_first, chain(count)), 200)
