"""Rows for primitives that do not change values."""

import tanx
from tanx import lax
from tanx.experimental.layout import Layout, with_layout_constraint

from .case import Case, c, f, i

HERE = tanx.sharding.SingleDeviceSharding(tanx.devices()[0])
FIRM = tanx.NamedSharding(tanx.make_mesh((1,), ("x",)), tanx.P("x"))


def twice(x, y):
    return tanx.device_put((x, y), (tanx.devices()[0], HERE))


def sunk(x):
    lax.dce_sink(lax.sin(x))
    return lax.cos(x)


def ordered(x):
    """A value, and a token that depends on another one."""
    return x * 2, lax.after_all(lax.create_token(x), lax.create_token())


CASES = [
    *(Case("stage", lambda x: lax.stage(x), arg, rewritten=True) for arg in (f(3), i(2, 2))),
    *(Case("sharding_constraint", lambda x: lax.with_sharding_constraint(x, HERE), arg)
      for arg in (f(3, 2), f(), i(0, 3), c(2))),
    *(Case("reshard", lambda x: tanx.reshard(x, FIRM), arg) for arg in (f(3, 2), i(0, 3), c(2))),
    *(Case("layout_constraint", lambda x: with_layout_constraint(x, Layout((1, 0))), arg)
      for arg in (f(3, 2), i(0, 3))),
    Case("device_put", twice, f(3), f(2, 2)),
    Case("device_put", twice, i(3), f(2, 2)),
    Case("create_token", ordered, f(3)),
    Case("after_all", ordered, f(2, 2)),
    Case("dce_sink", sunk, f(3)),
]
