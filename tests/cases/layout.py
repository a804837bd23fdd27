"""Rows for the layout primitives."""

import ml_dtypes
import numpy as np

from tanx._ops import base, layout

from .case import Case, b, c, f, i

BF16, INT4 = ml_dtypes.bfloat16, ml_dtypes.int4


def into(shape, dims):
    return lambda x: base.broadcast_in_dim(x, shape, dims)


def reshaped(shape, dims=None):
    return lambda x: base.reshape(x, shape, dims)


def stacked(axis):
    return lambda *xs: layout.stack(xs, axis)


CASES = [
    Case("broadcast_in_dim", into((3, 4), ()), f(), name="scalar"),
    Case("broadcast_in_dim", into((2, 4, 3), (0, 2)), f(2, 3), name="middle"),
    Case("broadcast_in_dim", into((2, 4, 3), (0, 2)), f(1, 3), name="size-1"),
    Case("broadcast_in_dim", into((2, 1, 4), (0, 1)), f(1, 1), name="both-1"),
    Case("broadcast_in_dim", into((3, 5, 2), (2, 0)), f(2, 3), name="crossed"),
    Case("broadcast_in_dim", into((1, 3), (1,)), f(3), name="expand"),
    Case("broadcast_in_dim", into((5, 0), (1,)), f(0), name="empty"),
    Case("broadcast_in_dim", into((0, 3), (1,)), f(3), name="to-empty"),
    Case("broadcast_in_dim", into((100, 64), (1,)), f(64, dtype=BF16), name="large"),
    Case("broadcast_in_dim", into((3, 2), (0,)), c(3), name="complex"),
    Case("broadcast_in_dim", into((3, 2), (0,)), i(3, dtype=INT4), name="int4"),
    Case("broadcast_in_dim", into((3, 2), (1,)), b(2), name="bool"),

    Case("reshape", reshaped((6, 4)), f(2, 3, 4), name="merge"),
    Case("reshape", reshaped((2, 2, 2, 3)), f(4, 6), name="split"),
    Case("reshape", reshaped((3, 2, 4)), f(2, 3, 4), name="mix"),
    Case("reshape", reshaped((1, 2, 1, 3, 1)), f(2, 3), name="ones"),
    Case("reshape", reshaped((2, 3)), f(1, 2, 1, 3), name="fewer-ones"),
    Case("reshape", reshaped((1, 1)), f(), name="from-rank-0"),
    Case("reshape", reshaped(()), f(1, 1), name="to-rank-0"),
    Case("reshape", reshaped((5, 0)), f(0, 3), name="empty"),
    Case("reshape", reshaped((3, 2), (1, 0)), f(2, 3), name="dimensions"),
    Case("reshape", reshaped((4, 6), (2, 0, 1)), f(2, 3, 4), name="dimensions"),
    Case("reshape", reshaped((4, 2)), f(8, dtype=BF16)),
    Case("reshape", reshaped((4, 2)), c(2, 4)),
    Case("reshape", reshaped((4, 2)), b(8)),

    Case("transpose", lambda x: base.transpose(x, (1, 0)), f(2, 3)),
    Case("transpose", lambda x: base.transpose(x, (2, 0, 1)), f(2, 3, 4)),
    Case("transpose", lambda x: base.transpose(x, (1, 0)), f(0, 3), name="empty"),
    Case("transpose", lambda x: base.transpose(x, (1, 2, 0)), c(2, 3, 2)),
    Case("transpose", lambda x: base.transpose(x, (1, 0)), i(2, 3, dtype=np.uint8, low=0)),

    Case("rev", lambda x: layout.rev(x, (0,)), f(5)),
    Case("rev", lambda x: layout.rev(x, (0, 2)), f(2, 3, 4)),
    Case("rev", lambda x: layout.rev(x, ()), f(2), name="none"),
    Case("rev", lambda x: layout.rev(x, (1,)), f(2, 0), name="empty"),
    Case("rev", lambda x: layout.rev(x, (1,)), f(2, 3, dtype=BF16)),

    Case("squeeze", lambda x: layout.squeeze(x, (0, 2)), f(1, 3, 1)),
    Case("squeeze", lambda x: layout.squeeze(x, (1,)), f(1, 1, 2), name="one"),
    Case("squeeze", lambda x: layout.squeeze(x, (0,)), f(1), name="to-rank-0"),
    Case("squeeze", lambda x: layout.squeeze(x, (-1,)), b(3, 1)),

    Case("tile", lambda x: layout.tile(x, (2, 3)), f(2, 3)),
    Case("tile", lambda x: layout.tile(x, (1, 1)), f(2, 3), name="once"),
    Case("tile", lambda x: layout.tile(x, (0, 2)), f(2, 3), name="never"),
    Case("tile", lambda x: layout.tile(x, (3, 2)), f(0, 3), name="empty"),
    Case("tile", lambda x: layout.tile(x, ()), f(), name="rank-0"),
    Case("tile", lambda x: layout.tile(x, (3,)), i(2, dtype=INT4)),

    Case("stack", stacked(0), f(3), f(3)),
    Case("stack", stacked(1), f(2, 3), f(2, 3), f(2, 3)),
    Case("stack", stacked(2), f(2, 3), name="single"),
    Case("stack", stacked(-1), f(), f(), f(), f(), f(), name="scalars"),
    Case("stack", stacked(0), f(0, 2), f(0, 2), name="empty"),
    Case("stack", stacked(0), c(2), c(2)),
    Case("stack", stacked(1), b(2), b(2)),

    Case("unstack", lambda x: layout.unstack(x, 0), f(2, 3)),
    Case("unstack", lambda x: layout.unstack(x, 1), f(2, 3, 2)),
    Case("unstack", lambda x: layout.unstack(x, -1), f(2), name="scalars"),
    Case("unstack", lambda x: layout.unstack(x, 1), f(0, 2), name="empty"),
    Case("unstack", lambda x: layout.unstack(x, 0), i(2, 3)),
]
