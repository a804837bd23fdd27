"""Primitives for tests, to build jaxprs of any structure without the rest of the package."""

import numpy as np

from tanx._core.effects import Effect
from tanx._core.jaxpr import ClosedJaxpr
from tanx._core.primitive import Kind, Primitive
from tanx._core.stage import stage
from tanx._core.types import ShapedArray


def f32(*shape):
    return ShapedArray(shape, np.float32)


class Fake(Primitive):
    """Returns ``n`` results of the type of its first operand; not in the registry of primitives."""

    kind = Kind.ELEMENTWISE

    def __init__(self, name, n=None, default=None, effects=frozenset()):
        self.name = name
        self.n = n
        self.default = f32(3) if default is None else default
        self.multiple_results = n is not None
        self.own_effects = effects

    def infer(self, *types, **params):
        out = types[0] if types else self.default
        return [out] * self.n if self.multiple_results else out

    def effects(self, *types, **params):
        return self.own_effects


class FakeCall(Primitive):
    """Runs the jaxpr in its parameters."""

    kind = Kind.CALL
    multiple_results = True

    def __init__(self, name, jaxpr="jaxpr"):
        self.name = name
        self.jaxpr = jaxpr
        self.name_first = name.startswith(("jit", "custom_"))
        self.shares_names = name == "jit"

    def called(self, params):
        return self.closed(params)

    def closed(self, params):
        inner = params[self.jaxpr]
        return inner[0] if isinstance(inner, tuple) else inner

    def infer(self, *types, **params):
        return self.closed(params).out_avals

    def effects(self, *types, **params):
        return self.closed(params).effects


class Noise(Effect):
    """An effect with a name."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


sin, cos, tan = Fake("sin"), Fake("cos"), Fake("tan")
add, mul = Fake("add"), Fake("mul")
foo = Fake("foo")
shout = Fake("shout", n=0, effects=frozenset({Noise("Shout")}))
jit_p = FakeCall("jit")


def trace(fun, *types):
    """The jaxpr of a function that returns one result or a list."""
    def flat(*args):
        out = fun(*args)
        return list(out) if isinstance(out, list | tuple) else [out]
    return ClosedJaxpr(*stage(flat, types))


def call(closed, *args, name="f"):
    """Run a closed jaxpr inside ``jit``."""
    return jit_p.bind(*args, jaxpr=closed, name=name)


def chain(n):
    """A function of ``n`` equations, each of which uses the result of the one before."""
    def fun(x):
        for _ in range(n):
            x = sin.bind(x)
        return x
    return fun
