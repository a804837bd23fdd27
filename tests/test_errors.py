"""Exceptions: JAX's hierarchy, and messages with the user's line and a hint."""

import inspect
import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.exceptions import ComplexWarning

import tanx
import tanx.numpy as jnp
from tanx import errors
from tanx._ops import convert
from tanx.errors import explain, warn_user

BASES = {
    "JAXTypeError": TypeError,
    "JAXIndexError": IndexError,
    "ConcretizationTypeError": errors.JAXTypeError,
    "TracerBoolConversionError": errors.ConcretizationTypeError,
    "TracerIntegerConversionError": errors.JAXTypeError,
    "TracerArrayConversionError": errors.JAXTypeError,
    "NonConcreteBooleanIndexError": errors.JAXIndexError,
    "UnexpectedTracerError": errors.JAXTypeError,
    "KeyReuseError": errors.JAXTypeError,
    "JaxprTypeError": TypeError,
    "InconclusiveDimensionOperation": Exception,
    "JaxRuntimeError": RuntimeError,
}
OF_TRACERS = [name for name in BASES if issubclass(getattr(errors, name), errors._NeedsData)]


class Tracer:
    """The attributes of a tracer that an error needs."""

    aval = "float32[3]"

    def __init__(self, origin="depends on argument x of f, traced for jit"):
        self.origin = origin

    def describe_origin(self):
        return self.origin

    def __bool__(self):
        raise errors.TracerBoolConversionError(self)

    def __index__(self):
        raise errors.TracerIntegerConversionError(self)

    def __array__(self, dtype=None, copy=None):
        raise errors.TracerArrayConversionError(self)


def line_of(fun, offset):
    return inspect.getsourcelines(fun)[1] + offset


def test_names_and_bases_match_jax():
    surface = json.loads((Path(__file__).parent / "data" / "surface-jax.json").read_text())
    assert set(surface["modules"]["errors"]) == set(BASES)
    for name, base in BASES.items():
        assert issubclass(getattr(errors, name), base), name


@pytest.mark.parametrize("name", BASES)
def test_texts_survive_pickling(name):
    error = getattr(errors, name)("a text of its own")
    assert str(error) == "a text of its own"
    assert str(pickle.loads(pickle.dumps(error))) == "a text of its own"


@pytest.mark.parametrize("name", OF_TRACERS)
def test_errors_made_from_tracers(name):
    error = getattr(errors, name)(Tracer())
    text = str(error).splitlines()
    assert "  value:  float32[3]" in text
    assert "  origin: depends on argument x of f, traced for jit" in text
    assert text[-1].startswith("  Hint: ")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_an_unknown_origin_is_left_out():
    assert "\n  origin" not in str(errors.TracerArrayConversionError(Tracer(origin="")))


def test_context_names_the_use_of_the_value():
    error = errors.ConcretizationTypeError(Tracer(), "the axis of tanx.numpy.sum")
    assert "  needed: the axis of tanx.numpy.sum" in str(error).splitlines()


def test_errors_name_the_function_that_needs_the_value():
    error = errors.ConcretizationTypeError.of(
        "tanx.numpy.nonzero", "the number of elements found", Tracer(), "give size=....")
    first, *facts, last = str(error).splitlines()
    assert first == "tanx.numpy.nonzero: the number of elements found must be known while tracing."
    assert "  value:  float32[3]" in facts and last == "  Hint: give size=...."
    assert not any("needed" in line for line in facts)


@pytest.mark.parametrize("name, call", [
    ("arange", lambda n: jnp.arange(n)), ("split", lambda n: jnp.split(jnp.ones(4), n)),
    ("nonzero", lambda n: jnp.nonzero(n[None])), ("bincount", lambda n: jnp.bincount(n[None])),
    ("sum", lambda n: jnp.sum(jnp.ones((2, 2)), axis=n)),
    ("repeat", lambda n: jnp.repeat(jnp.ones(4), n))])
def test_the_public_function_that_needs_data_is_named(name, call):
    with pytest.raises(errors.JAXTypeError, match=rf"^tanx\.numpy\.{name}: "):
        tanx.jit(call)(2)


def test_the_whole_text_of_a_python_if():
    def f(x):
        if x:
            return 1

    with pytest.raises(errors.TracerBoolConversionError) as caught:
        f(Tracer())
    assert str(caught.value) == f"""\
bool(x): the truth of a traced value is not known while the function is traced.
  value:  float32[3]
  at:     {__file__}:{line_of(Tracer.__bool__, 1)} (__bool__): raise \
errors.TracerBoolConversionError(self)
  origin: depends on argument x of f, traced for jit
  Hint: write tanx.numpy.where(test, a, b) to choose values, tanx.lax.cond(test, f, g, ...) to \
run one of two functions; or make the argument static: tanx.jit(f, static_argnames=\"x\")."""


STATIC = "or make the argument static: tanx.jit(f, static_argnames=...)."
WHERE = ("write tanx.numpy.where({0}, a, b) to choose values, "
         "tanx.lax.cond({0}, f, g, ...) to run one of two functions; ")


@pytest.mark.parametrize("line, hint", [
    ("if x > 0:", WHERE.format("x > 0") + STATIC),
    ("elif x[0] > 0:", WHERE.format("x[0] > 0") + STATIC),
    ("if x > 0: return x", WHERE.format("x > 0") + STATIC),
    ("return x if x > 0 else 0.0", WHERE.format("x > 0") + STATIC),
    ("if a[1:] > 0:", WHERE.format("a[1:] > 0") + STATIC),
    ("if x > 0 and y > 0:",
     WHERE.format("x > 0 and y > 0") + "for and, or, not write &, |, ~; " + STATIC),
    ("while n > 0:", "write tanx.lax.while_loop(lambda state: n > 0, body, state); " + STATIC),
    ("assert x > 0", "tanx.experimental.checkify.check tests traced values; " + STATIC),
    ("if f(x,", WHERE.format("test") + STATIC),
    ("y = bool(x)", WHERE.format("test") + STATIC),
])
def test_hints_are_specific_to_the_source_line(line, hint):
    assert errors.TracerBoolConversionError.way_out(line) == hint


def test_the_line_is_the_users_even_when_numpy_is_between():
    package = errors._PACKAGE
    names = {"errors": errors, "Tracer": Tracer}
    exec(compile("class Inner(Tracer):\n"
                 "    def __array__(self, dtype=None, copy=None):\n"
                 "        raise errors.TracerArrayConversionError(self)",
                 f"{package}_imagined.py", "exec"), names)
    with pytest.raises(errors.TracerArrayConversionError) as caught:
        np.median(names["Inner"]())
    here = line_of(test_the_line_is_the_users_even_when_numpy_is_between, 8)
    assert f"{__file__}:{here} (test_the_line" in str(caught.value)
    assert 'np.median(names["Inner"]())' in str(caught.value)


def test_warnings_point_at_the_users_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_user("careful")
    assert (caught[0].filename, caught[0].lineno) == (
        __file__, line_of(test_warnings_point_at_the_users_line, 3))


@pytest.mark.parametrize("name", BASES)
def test_every_exception_explains_itself(name):
    assert getattr(errors, name).__doc__


def test_explain():
    assert explain("tanx.f", "no.", "a: 1", "b: 2", hint="yes.") == """\
tanx.f: no.
  a: 1
  b: 2
  Hint: yes."""
    assert explain("tanx.f", "no.") == "tanx.f: no."


# --- Warnings -------------------------------------------------------------------------------------

WARNINGS = [
    ("tanx.numpy.asarray", ComplexWarning, lambda z: jnp.asarray(z, "float32")),
    ("tanx.numpy.asarray", ComplexWarning, lambda z: jnp.float32(z)),
    ("tanx.numpy.astype", ComplexWarning, lambda z: z.astype("int32")),
    ("tanx.numpy.mean", ComplexWarning, lambda z: jnp.mean(z, dtype="float32")),
    ("tanx.numpy.sum", ComplexWarning, lambda z: z.sum(dtype="float32")),
    ("tanx.numpy.concatenate", ComplexWarning, lambda z: jnp.concatenate([z], dtype="float32")),
    ("x.at[...].set", ComplexWarning, lambda z: jnp.ones(2).at[:].set(z)),
    ("x.at[...].add", FutureWarning, lambda z: jnp.arange(2).at[:].add(0.5)),
    ("tanx.lax.convert_element_type", ComplexWarning,
     lambda z: tanx.lax.convert_element_type(z, "float32")),
    ("tanx.lax.iota", UserWarning, lambda z: tanx.lax.iota("int64", 3)),
    ("tanx.random.normal", UserWarning,
     lambda z: tanx.random.normal(tanx.random.key(0), (), "float64")),
    ("tanx.numpy.array", RuntimeWarning, lambda z: jnp.array([1e200, 1e300])),
    ("tanx.numpy.multiply", RuntimeWarning, lambda z: z.real * 1.25e300),
]


@pytest.mark.filterwarnings("ignore:x.at:FutureWarning")  # besides the expected one
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name, category, call", WARNINGS)
def test_warnings_speak_of_the_call_and_point_to_it(name, category, call, jit):
    convert._literal.cache_clear()
    with pytest.warns(category) as caught:
        (tanx.jit(call) if jit else call)(jnp.array([1 + 2j, 3j]))
    found = next(w for w in caught if w.category is category)
    assert str(found.message).startswith(f"{name}: ")
    assert found.filename == __file__ and found.lineno == call.__code__.co_firstlineno
