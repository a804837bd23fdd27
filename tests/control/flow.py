"""Random programs with control flow, to be run by Python or by tanx.lax.

A program changes a few numbers, its state. It is a tuple of statements:

    ("set", i, operation, j, k)      state[i] = operation(state[j], state[k])
    ("if", i, j, then, otherwise)    then, if state[i] > state[j], else otherwise
    ("switch", i, programs)          the program whose number is twice state[i]
    ("while", i, n, program)         while state[i] < 1 and fewer than n steps are done
    ("for", i, n, program)           n times, and i times more if n is odd, where that is traced
    ("scan", i, reverse, program)    once for each number of the old state, stored in state[i] first
    ("call", kind, program)          as a function: jitted, with a custom rule or with checkpoint

The same program runs with Python's control flow, which needs concrete numbers, and with that of
tanx.lax.
"""

import random

import tanx
import tanx.numpy as jnp
from tanx import lax

OPERATIONS = {
    "wave": lambda a, b: jnp.sin(a) + 0.3 * b,
    "squash": lambda a, b: jnp.tanh(a * b),
    "less": lambda a, b: 0.9 * a - 0.2 * b,
    "bump": lambda a, b: jnp.exp(-a * a) + 0.1 * b,
    "root": lambda a, b: jnp.sqrt(1.0 + a * a) * 0.5 - b * 0.25,
}
SIZE = 3
CALLS = {"jit": tanx.jit, "checkpoint": tanx.checkpoint, "rule": lambda f: _with_rule(f)}


def program(seed: int, depth: int = 2) -> tuple:
    """A random program; ``depth`` is the depth of nested control flow."""
    rng = random.Random(seed)
    return (*_statements(rng, depth), *_statements(rng, depth))


def _statements(rng, depth: int) -> tuple:
    return tuple(_statement(rng, depth) for _ in range(rng.randint(1, 3)))


def _statement(rng, depth: int) -> tuple:
    i, j, k = (rng.randrange(SIZE) for _ in range(3))
    kind = rng.choice(["set", "if", "switch", "while", "while", "for", "scan", "call"]
                      if depth else ["set"])
    if kind == "set":
        return ("set", i, rng.choice(list(OPERATIONS)), j, k)
    if kind == "if":
        return ("if", i, j, _statements(rng, depth - 1), _statements(rng, depth - 1))
    if kind == "switch":
        return ("switch", i, tuple(_statements(rng, depth - 1) for _ in range(rng.randint(2, 3))))
    if kind == "scan":
        return ("scan", i, rng.random() < 0.5, _statements(rng, depth - 1))
    if kind == "call":
        return ("call", rng.choice(list(CALLS)), _statements(rng, depth - 1))
    return (kind, i, rng.randint(0, 5 if kind == "while" else 3), _statements(rng, depth - 1))


def by_python(statements: tuple, state: list) -> list:
    """Run a program with Python's ``if`` and ``while``."""
    state = list(state)
    for kind, i, *rest in statements:
        if kind == "set":
            operation, j, k = rest
            state[i] = OPERATIONS[operation](state[j], state[k])
        elif kind == "if":
            j, then, otherwise = rest
            state = by_python(then if state[i] > state[j] else otherwise, state)
        elif kind == "switch":
            (programs,) = rest
            chosen = min(max(int(lax.stop_gradient(state[i]) * 2), 0), len(programs) - 1)
            state = by_python(programs[chosen], state)
        elif kind == "for":
            count, inner = rest
            for _ in range(count + i if count % 2 else count):
                state = by_python(inner, state)
        elif kind == "call":
            state = by_python(rest[0], state)
        elif kind == "scan":
            reverse, inner = rest
            seen = 0.0
            for row in state[::-1] if reverse else list(state):
                state = by_python(inner, _taken(state, i, row))
                seen = seen + state[0]
            state[i] = state[i] + 0.1 * seen
        else:
            limit, inner = rest
            steps = 0
            while steps < limit and state[i] < 1:
                state = by_python(inner, state)
                steps += 1
    return state


def by_lax(statements: tuple, state: list) -> list:
    """Run a program with the control flow of tanx.lax."""
    state = list(state)
    for kind, i, *rest in statements:
        if kind == "set":
            operation, j, k = rest
            state[i] = OPERATIONS[operation](state[j], state[k])
        elif kind == "if":
            j, *both = rest
            state = lax.cond(state[i] > state[j], *(_runner(p) for p in both), state)
        elif kind == "switch":
            (programs,) = rest
            index = (state[i] * 2).astype(int)
            state = lax.switch(index, [_runner(p) for p in programs], state)
        elif kind == "for":
            count, inner = rest
            # A bound that depends on the state is traced: the loop is a while loop, not a scan.
            more = i + (state[i] * 0).astype(int) if count % 2 else 0
            state = lax.fori_loop(0, count + more, lambda _, s, p=inner: by_lax(p, s), state)
        elif kind == "call":
            state = CALLS[i](_runner(rest[0]))(state)
        elif kind == "scan":
            state = _scan(i, *rest, state)
        else:
            state = _while(i, *rest, state)
    return state


def _runner(statements: tuple):
    return lambda state: by_lax(statements, state)


def _with_rule(f):
    """A function with a custom rule for forward mode that equals its derivative."""
    wrapped = tanx.custom_jvp(f)
    wrapped.defjvp(lambda primals, tangents: tanx.jvp(f, primals, tangents))
    return wrapped


def _taken(state: list, i: int, row) -> list:
    return [0.5 * s + 0.3 * row if k == i else s for k, s in enumerate(state)]


def _scan(i: int, reverse: bool, inner: tuple, state: list) -> list:
    def step(state, row):
        state = by_lax(inner, _taken(state, i, row))
        return state, state[0]

    state, seen = lax.scan(step, state, jnp.stack(state), reverse=reverse)
    return [s + 0.1 * seen.sum() if k == i else s for k, s in enumerate(state)]


def _while(i: int, limit: int, inner: tuple, state: list) -> list:
    return lax.while_loop(lambda c: (c[0] < limit) & (c[1][i] < 1),
                          lambda c: (c[0] + 1, by_lax(inner, c[1])), (0, state))[1]
