"""Random windows for the tests of gather and scatter, and their definition in plain Python."""

import numpy as np
from hypothesis import strategies as st

from tanx import lax


@st.composite
def gathers(draw):
    """An operand, indices (some out of bounds), dimension numbers and the size of a window."""
    operand = draw(st.lists(st.integers(1, 4), max_size=4))
    batch = draw(st.lists(st.integers(1, 3), max_size=2))
    dims = draw(st.permutations(range(len(operand))))
    batching = dims[:draw(st.integers(0, min(len(dims), len(batch))))]
    index_batching = draw(st.permutations(range(len(batch))))[:len(batching)]
    for d, b in zip(batching, index_batching):
        operand[d] = batch[b]
    rest = dims[len(batching):]
    start_map = rest[:draw(st.integers(0, len(rest)))]
    collapsed = sorted(d for d in rest if draw(st.booleans()))
    sizes = [1 if d in collapsed or d in batching else draw(st.integers(1, n))
             for d, n in enumerate(operand)]
    rank = len(batch) + len(rest) - len(collapsed)
    offset = sorted(draw(st.permutations(range(rank)))[:len(rest) - len(collapsed)])
    seed = np.random.default_rng(draw(st.integers(0, 1000)))
    indices = seed.integers(-2, 6, (*batch, len(start_map)))
    numbers = lax.GatherDimensionNumbers(tuple(offset), tuple(collapsed), tuple(start_map),
                                         tuple(batching), tuple(index_batching))
    return (seed.normal(size=operand).astype(np.float32), indices.astype(np.int32), numbers,
            tuple(sizes))


def window_starts(batch, indices, rank, numbers) -> list[int]:
    """The start in the operand of the window at a batch position."""
    _, _, start_map, batching, index_batching = numbers
    starts = [0] * rank
    for k, d in enumerate(start_map):
        starts[d] = int(indices[(*batch, k)])
    for d, b in zip(batching, index_batching):
        starts[d] = batch[b]
    return starts


def outside(starts, shape, sizes) -> bool:
    """Whether a window is partly out of bounds."""
    return any(s < 0 or s + m > n for s, n, m in zip(starts, shape, sizes))
