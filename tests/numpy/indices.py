"""Indices into one array, and random ones, for tests of reading and of updating."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

__all__ = ["BASIC", "ADVANCED", "X", "elements", "index_and_shape", "label"]

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
A, B = np.array([0, 1]), np.array([2, 0])
MASK = X > 5
NEW = None

# Integers, slices and new axes.
BASIC = [
    0, -1, 1, (), ..., (0, 1), (-1, -1), (0, 1, 2), (1, 2, 3), slice(1, None), slice(None, -1),
    slice(None), slice(0, 0), slice(1, 1), slice(2, 0), slice(-1, None), slice(0, 99),
    slice(-99, 1), slice(None, None, 2), slice(None, None, -1), slice(None, None, -2),
    slice(None, 0, -1), (slice(None), slice(None, None, -3)), (slice(None), slice(2, 0, -1), 0),
    (..., 0), (0, ...), (0, ..., -1), (..., slice(1, 3)), (..., slice(None, None, 2), 0), NEW,
    (NEW, ...), (..., NEW), (0, NEW), (NEW, 0, NEW, ..., NEW), (slice(None), NEW, slice(0, 2)),
    (slice(0, 0), 0), np.int8(-1), np.uint8(1), (np.int64(1), 2),
    slice(np.int32(0), np.int64(1)), (slice(None), slice(1, 2), slice(3, 0, -2)),
]

# Combined with arrays of integers and booleans.
ADVANCED = [
    A, B[1:], np.array([-1, 0, 1, -2]), np.array([[0, 1], [1, 0]]), np.array([], np.int32),
    np.array([1], np.int8), np.array([1, 0], np.uint8), np.array([-1], np.int16), np.array(1),
    np.array([[]], int), (slice(None), B), (..., B), (..., B, 0), (B - 1, B), (A, B, A),
    (A, slice(None), B), (0, slice(None), B), (A, 0), (0, B), (slice(None), B, 1), (A, ..., 0),
    (A, B[:, None]), (A[:, None], B), (A, NEW, B), (A, NEW), (NEW, A), (NEW, A, NEW), (0, NEW, B),
    (NEW, A, B), (slice(None, None, -1), B, slice(1, 3)), (slice(None), B, slice(None, None, 2)),
    (slice(None, None, -1), B, slice(None, None, -2)), (A, slice(2, 0, -1)), (A, slice(1, 1)),
    (slice(1, None), B, 0), (slice(1, None), B, NEW, 0), (A, slice(None, None, 2), B),
    (slice(None, None, 2), B, slice(None, None, 3)), ([0, 1], [2, 0]), (0, [2, 0]), ([0],),
    ((0, 1), slice(None), [2, 0]), ([], 0), ([True, False],), np.array(-1), (np.array(1), B),
    MASK, MASK[:, 0, 0], (slice(None), MASK[1, :, 0]), (0, MASK[0]),
    (..., MASK[0, 0]), (slice(None), MASK[0]), MASK[:, :, 0], (MASK[:, 0, 0], 0),
    (MASK[:, 0, 0], MASK[0, :, 0]), (MASK[:, 0, 0], slice(None), B[:1]), np.zeros((2, 3), bool),
    np.zeros(2, bool), True, False, np.bool_(True), np.array(False), (slice(None), True),
    (True, 0), (0, True), (..., True), (True, A), (True, True), (False, 0), (NEW, True),
]


def label(index) -> str:
    """A name of an index for the list of tests."""
    parts = index if isinstance(index, tuple) else (index,)
    return ",".join(f"{str(p.dtype)}{list(p.shape)}" if isinstance(p, np.ndarray) else str(p)
                    for p in parts)


def elements(shape: tuple[int, ...]) -> np.ndarray:
    """Distinct numbers, so that each identifies its position."""
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


@st.composite
def index_and_shape(draw):
    """A random shape, and an index of all kinds of items into arrays of that shape."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    batch = draw(st.sampled_from([(2,), (1,), (2, 1), (1, 3), (2, 3)]))
    items: list = []
    for n in shape[:draw(st.integers(0, len(shape)))]:
        kind = draw(st.sampled_from(["int", "slice", "slice", "array", "mask"]))
        if kind == "int":
            items.append(draw(st.integers(-n, n - 1)))
        elif kind == "slice":
            items.append(draw(st.slices(n)))
        elif kind == "array":
            dims = draw(st.sampled_from([batch, batch[1:], (1,) * len(batch)]))
            items.append(draw(hnp.arrays(np.int32, dims, elements=st.integers(-n, n - 1))))
        elif not any(isinstance(i, np.ndarray) for i in items):
            items.append(draw(hnp.arrays(bool, n)))
            batch = (int(items[-1].sum()),)
        if draw(st.integers(0, 4)) == 0:
            items.append(None)
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), ...)
        # Items after an ellipsis index the last axes, so all sizes must be equal.
        items = items if len({*shape}) == 1 else [i for i in items if i is not ...]
    return tuple(items), shape
