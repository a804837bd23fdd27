"""Cases for ``_control/regions.py`` and ``_control/buffers.py``."""

import numpy as np

import tanx
from tanx import lax
from tanx.experimental.buffer_callback import buffer_callback
from tanx.experimental.compute_on import compute_on
from tanx.experimental.fused import fused
from tanx.experimental.xla_metadata import set_xla_metadata, xla_metadata_call2
from tanx.memory import Space

from .case import Case, c, f, i


def both(x, y):
    return lax.sin(x) * y, y * 2


def fill(context, out, x):
    np.asarray(out)[...] = np.asarray(x) + 1


CASES = [
    Case("xla_metadata_call", xla_metadata_call2(both, {"a": 1}), f(3), f(3), lower=False),
    Case("xla_metadata_call", xla_metadata_call2(both, {"a": 1}, ad_metadata="drop"), f(2, 3),
         f(2, 3), lower=False, name="dropped"),
    *(Case("xla_metadata_value", lambda x: set_xla_metadata(x, a=1), arg)
      for arg in (f(3, 2), i(0, 3), c(2))),
    Case("compute_on", compute_on(both, compute_type="device_host", out_memory_spaces=(
        Space.Device, Space.Host)), f(3), f(3), lower=False),
    Case("fused_call", fused(out_spaces=(Space.Device,) * 2)(both), f(3), f(3), lower=False),
    *(Case("buffer_callback", buffer_callback(
        fill, tanx.ShapeDtypeStruct((3,), np.float32), vmap_method=method), f(3), grad=(),
        lower=False, name=method) for method in ("sequential", "broadcast_all")),
]
