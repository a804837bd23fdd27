"""Rows for convolutions."""

import ml_dtypes
import numpy as np

from tanx._ops import conv as lax

from .case import Case, b, c, f, i

BF16 = ml_dtypes.bfloat16
LAST = ("NHWC", "HWIO", "NHWC")


def row(x, w, strides=(1, 1), padding="SAME", **options):
    name = f"{strides} {padding} {options}".replace("dimension_numbers", "in")
    return Case("conv_general_dilated",
                lambda x, w: lax.conv_general_dilated(x, w, strides, padding, **options), x, w,
                name=name)


CASES = [
    row(f(2, 3, 5, 6), f(4, 3, 3, 2)),
    row(f(2, 5, 6, 3), f(3, 2, 3, 4), (2, 1), "VALID", dimension_numbers=LAST),
    row(f(2, 5, 6, 3), f(3, 3, 3, 4), (1, 2), [(1, 2), (0, -1)], dimension_numbers=LAST),
    row(f(3, 6, 2, 5), f(2, 4, 3, 3), (1, 1), "SAME_LOWER",
        dimension_numbers=("CWNH", "HOWI", "WCHN")),
    row(f(2, 3, 4, 5), f(4, 3, 3, 2), (1, 1), [(2, 1), (1, 1)], lhs_dilation=(2, 3)),
    row(f(2, 3, 6, 7), f(4, 3, 2, 3), (2, 1), [(1, 1), (2, 0)], rhs_dilation=(3, 2)),
    row(f(1, 2, 4, 5), f(3, 2, 3, 2), (3, 2), [(4, 3), (2, 3)], lhs_dilation=(2, 4),
        rhs_dilation=(3, 2)),
    row(f(2, 4, 5, 4), f(6, 2, 3, 2), (1, 2), "SAME", feature_group_count=2),
    row(f(2, 5, 4, 3), f(3, 3, 1, 6), (2, 2), "SAME", feature_group_count=3,
        dimension_numbers=LAST),
    row(f(4, 3, 5, 4), f(6, 3, 3, 2), (1, 1), [(0, 1), (1, 0)], batch_group_count=2),
    row(f(2, 3, 7), f(4, 3, 3), (2,), "SAME"),
    row(f(1, 2, 3, 4, 3), f(3, 2, 2, 2, 2), (1, 1, 2), "SAME"),
    row(f(2, 3), f(4, 3), (), ()),
    row(f(0, 3, 5), f(4, 3, 2), (1,)),
    row(f(2, 0, 5), f(4, 0, 2), (1,)),
    row(f(2, 3, 2), f(4, 3, 4), (1,), "VALID"),
    row(f(2, 3, 0), f(4, 3, 2), (1,), [(2, 1)]),
    row(f(2, 3, 2), f(4, 3, 2), (2,), [(-1, 1)], rhs_dilation=(2,)),
    row(f(2, 3, 0), f(4, 3, 3), (1,), [(3, 2)], lhs_dilation=(2,)),
    row(f(2, 3, 0), f(4, 3, 3), (1,), [(1, 2)], lhs_dilation=(3,)),
    row(f(1, 1, 1), f(1, 1, 5), (1,), [(0, 2)]),
    row(f(2, 3, 2), f(4, 3, 3), (1,), [(-1, -1)], lhs_dilation=(2,)),
    *(row(x, w, (1,), "SAME") for x, w in (
        (f(2, 3, 7, dtype=np.float32), f(4, 3, 3, dtype=np.float32)),
        (f(2, 3, 7, dtype=BF16), f(4, 3, 3, dtype=BF16)),
        (f(2, 3, 7, dtype=np.float16), f(4, 3, 3, dtype=np.float16)),
        (c(2, 3, 7), c(4, 3, 3)), (i(2, 3, 7), i(4, 3, 3)), (b(2, 3, 7), b(4, 3, 3)),
        (i(2, 3, 7, dtype=np.int8), i(4, 3, 3, dtype=np.int8)))),
    row(i(2, 3, 7, dtype=np.int8), i(4, 3, 3, dtype=np.int8), (1,),
        preferred_element_type=np.int32),
    row(f(2, 3, 7, dtype=BF16), f(4, 3, 3, dtype=BF16), (1,), preferred_element_type=np.float32),
    row(f(2, 3, 7), f(4, 3, 3), (1,), precision="highest"),
]
