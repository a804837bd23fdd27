"""Nests of loops and branches against plain Python, under transformations and compositions."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax

from .nests import LAX, ONLY_REVERSE, PLAIN, PROGRAMS, SIZE

grad, jit, vmap = tanx.grad, tanx.jit, tanx.vmap
RNG = np.random.default_rng(5)
XS, VS = RNG.uniform(-1, 1.2, (2, 4, SIZE))


@pytest.fixture(autouse=True)
def wide_types():
    with tanx.enable_x64(True):
        yield


def forward(f):
    return lambda x, v: tanx.jvp(f, (x,), (v,))[1]


def along(f):
    return lambda x, v: tanx.linearize(f, x)[1](v)


def total(f):
    """A function of a batch; its gradient has the gradient of each lane."""
    return lambda xs: vmap(f)(xs).sum()


def curved(f):
    return forward(grad(f))


# The result of each transformation of a function at a point, and in a direction.
PLAINLY = {
    "value": lambda f: lambda x, v: f(x),
    "gradient": lambda f: lambda x, v: grad(f)(x),
    "slope": forward,
    "curvature": curved,
}


def of_point(transform):
    return lambda f: lambda x, v: transform(f)(x)


# Which of these results, and a way to compute it: for one point, or for many at once.
POINTS = {
    "grad": ("gradient", of_point(grad)),
    "jvp": ("slope", forward),
    "jvp of grad": ("curvature", curved),
    "jit": ("value", of_point(jit)),
    "jit of grad": ("gradient", of_point(lambda f: jit(grad(f)))),
    "grad of jit": ("gradient", of_point(lambda f: grad(jit(f)))),
    "grad of checkpoint": ("gradient", of_point(lambda f: grad(tanx.checkpoint(f)))),
    "linearize": ("slope", along),
    "linearize of jit": ("slope", lambda f: along(jit(f))),
    "jit of linearize": ("slope", lambda f: jit(along(f))),
    "grad of grad": ("curvature", lambda f: lambda x, v: grad(lambda x: grad(f)(x) @ v)(x)),
    "grad of jvp": ("curvature", lambda f: lambda x, v: grad(lambda x: forward(f)(x, v))(x)),
    "jit of jvp of grad": ("curvature", lambda f: jit(curved(f))),
    "jvp of grad of jit": ("curvature", lambda f: curved(jit(f))),
}
BATCHES = {
    "vmap": ("value", of_point(vmap)),
    "vmap of grad": ("gradient", of_point(lambda f: vmap(grad(f)))),
    "grad of vmap": ("gradient", of_point(lambda f: grad(total(f)))),
    "vmap of vmap": ("value", lambda f: lambda x, v: vmap(vmap(f))(x.reshape(2, 2, -1)).ravel()),
    "jit of vmap of grad": ("gradient", of_point(lambda f: jit(vmap(grad(f))))),
    "vmap of jit of grad": ("gradient", of_point(lambda f: vmap(jit(grad(f))))),
    "vmap of grad of jit": ("gradient", of_point(lambda f: vmap(grad(jit(f))))),
    "jit of grad of vmap": ("gradient", of_point(lambda f: jit(grad(total(f))))),
    "map of grad": ("gradient", of_point(lambda f: lambda xs: lax.map(grad(f), xs))),
    "grad of map": ("gradient", of_point(lambda f: grad(lambda xs: lax.map(f, xs).sum()))),
    "jvp of vmap": ("slope", lambda f: forward(vmap(f))),
    "vmap of jvp": ("slope", lambda f: vmap(forward(f))),
    "jit of vmap of jvp of grad": ("curvature", lambda f: jit(vmap(curved(f)))),
}
QUICK = ["grad", "jvp", "jvp of grad", "vmap", "vmap of grad", "grad of vmap"]


def check(name: str, way: str) -> None:
    """Compare one way to run a program with plain Python, point by point."""
    ours, plain = ((lambda x, flow=flow: PROGRAMS[name](flow, x)) for flow in (LAX, PLAIN))
    what, transform = (POINTS | BATCHES)[way]
    if name in ONLY_REVERSE and what in ("slope", "curvature"):
        return
    xs, vs = jnp.asarray(XS), jnp.asarray(VS)
    if way in POINTS:
        xs, vs = xs[:2], vs[:2]
        got = [transform(ours)(x, v) for x, v in zip(xs, vs)]
    else:
        got = transform(ours)(xs, vs)
    expected = [PLAINLY[what](plain)(x, v) for x, v in zip(xs, vs)]
    np.testing.assert_allclose(np.stack(got), np.stack(expected), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", PROGRAMS)
def test_interpreted(name):
    """By ``eval`` rules, which is faster than compiling."""
    with tanx.disable_jit():
        for way in QUICK:
            check(name, way)


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(name):
    check(name, "jit of vmap of grad")


@pytest.mark.slow
@pytest.mark.parametrize("way", POINTS | BATCHES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_way(name, way):
    check(name, way)
