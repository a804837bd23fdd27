"""Axes longer than 2^31: positions have 64 bits, with and without ``enable_x64``."""

import os

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp

LENGTH = 2 ** 31 + 17
LONG = tanx.ShapeDtypeStruct((LENGTH,), np.int8)
ONE = np.array([-1], np.int32)

PROGRAMS = {
    "set": lambda x: x.at[-1].set(1), "set by array": lambda x: x.at[ONE].set(1),
    "add": lambda x: x.at[-1].add(1), "get by array": lambda x: x[ONE],
    "take": lambda x: jnp.take(x, jnp.asarray(ONE)),
    "take_along_axis": lambda x: jnp.take_along_axis(x, jnp.asarray(ONE), 0),
}


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_positions_have_64_bits(name, x64):
    def positions(jaxpr):
        for eqn in jaxpr.eqns:
            inner = eqn.params.get("jaxpr")
            if inner is not None:
                yield from positions(inner.jaxpr)
            if eqn.primitive.name.startswith(("gather", "scatter")):
                yield eqn.invars[1].aval.dtype

    with tanx.enable_x64(x64):
        found = list(positions(tanx.make_jaxpr(PROGRAMS[name])(LONG).jaxpr))
    assert found == [np.int64]


@pytest.mark.slow
@pytest.mark.parametrize("x64", [False, True])
def test_the_last_element_is_written_and_read(x64):
    if os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 7 << 30:
        pytest.skip("needs 7 GB of free memory")
    with tanx.enable_x64(x64):
        x = jnp.zeros(LENGTH, np.int8)
        got = tanx.jit(lambda x: x.at[-1].set(3), donate_argnums=0)(x)
        data = np.asarray(got)
        assert data[-1] == 3 and got[-1] == 3
        assert np.count_nonzero(data) == 1
