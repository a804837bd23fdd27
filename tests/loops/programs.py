"""Rules written with ``build``, and the same computations in NumPy."""

from dataclasses import dataclass, field

import numpy as np

from tanx._loops.build import (
    all_of,
    arg_reduce,
    as_index,
    clamp_index,
    const,
    convert,
    copy,
    element_program,
    eq,
    extern,
    flatten_index,
    fold,
    load_guarded,
    ne,
    nest,
    op,
    reduce,
    select,
    statement_program,
    store,
    temp,
    unflatten_index,
    while_loop,
)


@dataclass
class Case:
    """A rule, its arguments, and the expected results."""

    name: str
    rule: object
    inputs: list
    outputs: list
    params: dict = field(default_factory=dict)
    statements: bool = False
    externs: dict = field(default_factory=dict)

    @property
    def program(self):
        make = statement_program if self.statements else element_program
        return make(self.rule, self.inputs, self.outputs, self.params)


def normal(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def integers(high, *shape, dtype=np.int32):
    return np.random.default_rng(high).integers(0, high, shape).astype(dtype)


# -- expression rules ------------------------------------------------------------------------------


def affine(at, x, y):
    return op("tanh", x[at]) * y[at[1:]] + 1.0


def transpose(at, x, *, permutation):
    return x[[at[permutation.index(d)] for d in range(x.ndim)]]


def reshape(at, x, *, new_sizes):
    return x[unflatten_index(flatten_index(at, new_sizes), x.shape)]


def reverse(at, x):
    return x[[n - 1 - i for n, i in zip(x.shape, at)]]


def pad(at, x, value, *, low, interior):
    steps = [i - lo for i, lo in zip(at, low)]
    exact = all_of(*(eq(s % (gap + 1), 0) for s, gap in zip(steps, interior)))
    index = [s // (gap + 1) for s, gap in zip(steps, interior)]
    return select(exact, load_guarded(x, index, value[()]), value[()])


def concatenate(at, *xs):
    result, offset = xs[0][[clamp_index(at[0], xs[0].shape[0]), *at[1:]]], 0
    for x in xs:
        inside = (at[0] >= offset) & (at[0] < offset + x.shape[0])
        result = select(inside, x[[at[0] - offset, *at[1:]]], result)
        offset += x.shape[0]
    return result


def take(at, x, i):
    """Rows at clamped indices."""
    return x[[clamp_index(as_index(i[at[:1]]), x.shape[0]), *at[1:]]]


def dot(at, x, y):
    return reduce("add", x.shape[1], lambda k: x[[at[0], *k]] * y[[*k, at[1]]])


def iota(at):
    return convert(at[1], np.float32)


def softmax(at, x):
    row = at[:-1]
    top = reduce("max", x.shape[-1], lambda k: x[[*row, *k]])
    total = reduce("add", x.shape[-1], lambda k: op("exp", x[[*row, *k]] - top))
    return op("exp", x[at] - top) / total


def argmax(at, x):
    return arg_reduce("max", x.shape[1], lambda k: x[[*at, *k]], np.int32)


def argmin(at, x):
    return arg_reduce("min", x.shape[1], lambda k: x[[*at, *k]], np.int32)


def horner(at, x, c):
    """A polynomial by a sequential fold."""
    value, = fold(c.shape[0], [const(0, x.dtype)], lambda k, s: [s[0] * x[at] + c[k]])
    return value


def mean_and_spread(at, x):
    """A fold with two states: Welford's recurrence."""
    def step(k, state):
        mean, spread = state
        n = convert(k[0] + 1, x.dtype)
        gap = x[[*at, *k]] - mean
        new = mean + gap / n
        return new, spread + gap * (x[[*at, *k]] - new)

    zero = const(0, x.dtype)
    return fold(x.shape[-1], [zero, zero], step)


def total(at, x):
    return reduce("add", x.shape, lambda k: x[k], 10.0)


def escape(at, x, y):
    """The number of steps until a point escapes, and its distance: lanes end at different steps."""
    def step(state):
        re, im, n = state
        return re * re - im * im + x[at], 2.0 * re * im + y[at], n + 1

    zero = const(0, x.dtype)
    re, im, n = while_loop([zero, zero, const(0, np.int32)], lambda s: (
        s[0] * s[0] + s[1] * s[1] < 4.0) & (s[2] < 40), step)
    return convert(n, x.dtype) + re * re


def find(at, x, table):
    """The first index in a sorted table whose element is not below a number, by bisection."""
    def step(state):
        low, high = state
        middle = (low + high) // 2
        below = table[[clamp_index(middle, table.shape[0])]] < x[at]
        return select(below, middle + 1, low), select(below, high, middle)

    low, _ = while_loop([const(0), const(table.shape[0])], lambda s: s[0] < s[1], step)
    return convert(low, np.int32)


def powers(at, x, *, count):
    """A loop of a fixed length that carries a counter and a number for each lane."""
    return while_loop([const(0, np.int32), const(1, x.dtype)], lambda s: s[0] < count,
                      lambda s: [s[0] + 1, s[1] * x[at]])[1]


def nested(at, x):
    """A loop in a loop: sums of the numbers of halvings down to one."""
    def halvings(n):
        return while_loop([n, const(0, np.int32)], lambda s: s[0] > 1,
                          lambda s: [s[0] >> 1, s[1] + 1])[1]

    return while_loop([x[at], const(0, np.int32)], lambda s: s[0] > 0,
                      lambda s: [s[0] - 3, s[1] + halvings(s[0])])[1]


def endless(at, x):
    """Two results of one loop that would not terminate in lanes that do not need it."""
    a, b = while_loop([x[at], const(0, x.dtype)], lambda s: ne(s[0], 1.0),
                      lambda s: [s[0] * 0.5, s[1] + s[0]])
    one = x[at] > 0.5
    return select(one, a + b, select(one, b, x[at]))


def expected_escape(x, y):
    z, n = np.zeros(x.shape, np.complex64), np.zeros(x.shape, np.float32)
    for _ in range(40):
        on = z.real * z.real + z.imag * z.imag < 4
        z, n = np.where(on, z * z + x + 1j * y, z).astype(np.complex64), n + on
    return n + z.real * z.real


def expected_nested(x):
    return np.array([sum(max(k, 1).bit_length() - 1 for k in range(n, 0, -3)) for n in x.ravel()],
                    np.int32).reshape(x.shape)


# -- statement rules -------------------------------------------------------------------------------


def cumsum(into, x):
    (out,) = into

    def step(row, k):
        before = out[[*row, k - 1]]
        return store(out, [*row, k], select(k > 0, before + x[[*row, k]], x[[*row, k]]))

    return [nest(x.shape[:-1], lambda row: [
        nest(x.shape[-1], lambda k: [step(row, *k)], sequential=True)])]


def scatter_add(into, x, i, u):
    (out,) = into
    inside = lambda k: (as_index(i[k[:1]]) >= 0) & (as_index(i[k[:1]]) < x.shape[0])
    return [copy(out, x),
            nest(u.shape, lambda k: [store(out, [as_index(i[k[:1]]), *k[1:]], u[k], "add",
                                           inside(k))])]


def scatter_set(into, x, i, u):
    (out,) = into
    return [copy(out, x),
            nest(u.shape, lambda k: [store(out, [as_index(i[k])], u[k])], sequential=True)]


def sort_pairs(into, keys, values):
    both = temp("doubled", values.shape, values.dtype)
    return [nest(values.shape, lambda k: [store(both, k, values[k] * 2)]),
            extern("sort", into, [keys, both], num_keys=1)]


def sort(keys, values, num_keys):
    order = np.argsort(keys, kind="stable")
    return keys[order], values[order]


def transposed_sum(into, x):
    """Sequential outside, parallel inside: columns are added up one row at a time."""
    (out,) = into
    return [nest(out.shape, lambda j: [store(out, j, 0.0)]),
            nest(x.shape, lambda k: [store(out, k[1:], out[k[1:]] + x[k])],
                 sequential=(True, False))]


def expected_scatter_add(x, i, u):
    result = x.copy()
    np.add.at(result, i[i < len(x)], u[i < len(x)])
    return result


def expected_scatter_set(x, i, u):
    result = x.copy()
    for index, update in zip(i, u):
        result[index] = update
    return result


X, Y, V = normal(6, 4), normal(4, 5), normal(4)
ROWS, UPDATES = integers(9, 20), normal(20, 4)
BYTES = integers(100, 6, 4, dtype=np.int8)
SPOTS, SETS = integers(4, 12), normal(12)
TABLE, WANTED = np.sort(normal(13)), normal(7, 5)
NUMBERS = integers(40, 9, 5)
HALVES = np.float32(2) ** integers(9, 6, 4).astype(np.float32) / 4
EXP = np.exp(X - X.max(1, keepdims=True))
PADDED = np.full((13, 6), np.float32(7))
PADDED[1:12:2, 1:5] = X

CASES = [
    Case("affine", affine, [X, V], [np.tanh(X) * V + 1]),
    Case("transpose", transpose, [normal(2, 3, 4)], [normal(2, 3, 4).transpose(2, 0, 1)],
         {"permutation": (2, 0, 1)}),
    Case("reshape", reshape, [X], [X.reshape(3, 8)], {"new_sizes": (3, 8)}),
    Case("reverse", reverse, [X], [X[::-1, ::-1]]),
    Case("pad", pad, [X, np.float32(7)], [PADDED], {"low": (1, 1), "interior": (1, 0)}),
    Case("crop", pad, [X, np.float32(7)], [X[2:, 1:3]], {"low": (-2, -1), "interior": (0, 0)}),
    Case("concatenate", concatenate, [X, normal(2, 4), normal(3, 4)],
         [np.concatenate([X, normal(2, 4), normal(3, 4)])]),
    Case("take", take, [X, ROWS], [X.take(ROWS, 0, mode="clip")]),
    Case("dot", dot, [X, Y], [X @ Y]),
    Case("dot of complex", dot, [X + 1j * X, Y - 2j * Y], [(X + 1j * X) @ (Y - 2j * Y)]),
    Case("dot of int8", dot, [BYTES, BYTES.T], [BYTES @ BYTES.T]),
    Case("iota", iota, [], [np.tile(np.arange(4, dtype=np.float32), (3, 1))]),
    Case("softmax", softmax, [X], [EXP / EXP.sum(1, keepdims=True)]),
    Case("argmax", argmax, [X], [X.max(1), X.argmax(1).astype(np.int32)]),
    Case("argmin", argmin, [X], [X.min(1), X.argmin(1).astype(np.int32)]),
    Case("horner", horner, [X, V], [np.polyval(V, X)]),
    Case("mean and spread", mean_and_spread, [X], [X.mean(1), X.var(1) * 4]),
    Case("total", total, [X], [np.float32(10 + X.sum(dtype=np.float64))]),
    Case("total of nothing", total, [np.zeros((3, 0), np.float32)], [np.float32(10)]),
    Case("affine of nothing", affine, [np.zeros((0, 4), np.float32), V],
         [np.zeros((0, 4), np.float32)]),
    Case("escape", escape, [X / 2, normal(4, 6).T / 4],
         [expected_escape(X / 2, normal(4, 6).T / 4)]),
    Case("find", find, [WANTED, TABLE], [np.searchsorted(TABLE, WANTED).astype(np.int32)]),
    Case("find in nothing", find, [WANTED, TABLE[:0]], [np.zeros_like(WANTED, np.int32)]),
    Case("powers", powers, [X], [X ** 5], {"count": 5}),
    Case("powers of scalars", powers, [np.float32(1.5)], [np.float32(1.5) ** 5], {"count": 5}),
    Case("nested", nested, [NUMBERS], [expected_nested(NUMBERS)]),
    Case("endless", endless, [HALVES], [np.where(HALVES > 0.5, 2 * HALVES - 1, HALVES)]),
    Case("cumsum", cumsum, [X], [X.cumsum(1)], statements=True),
    Case("cumsum of a vector", cumsum, [V], [V.cumsum()], statements=True),
    Case("scatter add", scatter_add, [X, ROWS, UPDATES], [expected_scatter_add(X, ROWS, UPDATES)],
         statements=True),
    Case("scatter set", scatter_set, [V, SPOTS, SETS], [expected_scatter_set(V, SPOTS, SETS)],
         statements=True),
    Case("sort pairs", sort_pairs, [SETS, SETS], list(sort(SETS, SETS * 2, 1)), statements=True,
         externs={"sort": sort}),
    Case("transposed sum", transposed_sum, [X], [X.sum(0)], statements=True),
]
