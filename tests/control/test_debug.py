"""``tanx.debug``: what is printed, when, how often and in which order."""

import bdb
import io
import logging

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import debug
from tanx._core.effects import OrderedDebugEffect
from tanx.errors import JaxRuntimeError
from tests.control.ways import each_way, eagerly, error

X = jnp.arange(3.0)


def printed(capsys, fun, *args) -> list[str]:
    fun(*args)
    tanx.effects_barrier()
    return capsys.readouterr().out.splitlines()


# --- Formats --------------------------------------------------------------------------------------


@each_way
@pytest.mark.parametrize("fmt, args, kwargs, expected", [
    ("plain {{}}", (), {}, "plain {{}}"),
    ("{}", (X,), {}, "[0. 1. 2.]"),
    ("{0} {0}", (X,), {}, "[0. 1. 2.] [0. 1. 2.]"),
    ("{:.2f} {y:>5}", (1.2345,), {"y": 2}, "1.23     2"),
    ("{0.shape} {0[1]}", (X,), {}, "(3,) 1.0"),
    ("{!r}", (X,), {}, "Array([0., 1., 2.], dtype=float32)"),
    ("{} {} {k}", (X, "text"), {"k": None}, "[0. 1. 2.] text None"),
    ("{x} {d}", (), {"x": (X, "a"), "d": {"b": True}},
     "(Array([0., 1., 2.], dtype=float32), 'a') {'b': Array(True, dtype=bool)}"),
])
def test_formats(run, fmt, args, kwargs, expected, capsys):
    assert printed(capsys, run(lambda: debug.print(fmt, *args, **kwargs))) == [expected]


def test_formats_are_checked_when_traced():
    def traced(*args, **kwargs):
        return lambda: tanx.make_jaxpr(lambda: debug.print(*args, **kwargs))()
    assert error(IndexError, traced("{} {}", X)) == """\
tanx.debug.print: the format has more fields than there are arguments.
  format:    '{} {}'
  arguments: 1"""
    assert error(KeyError, traced("{y}", x=X)) == """\
tanx.debug.print: the format has a field 'y', but there is no such argument.
  format:    '{y}'
  arguments: x by name"""
    assert error(ValueError, traced("{}", X, X, y=X)) == """\
tanx.debug.print: there are arguments that the format does not use.
  format: '{}'
  unused: #1, y
  Hint: write tanx.debug.print("{x}", x=x), not an f-string, which is filled in when the function \
is traced."""
    assert error(TypeError, traced(X)).startswith("tanx.debug.print: needs a format string first.")
    traced("{}", X, X, skip_format_check=True)()


def test_printing_follows_numpys_options_at_the_call(capsys):
    fun = tanx.jit(lambda x: debug.print("{}", x))
    with np.printoptions(precision=2):
        assert printed(capsys, fun, jnp.float32([1 / 3])) == ["[0.33]"]
    assert printed(capsys, fun, jnp.float32([2 / 3])) == ["[0.67]"]


def test_log(caplog):
    with caplog.at_level(logging.INFO, "tanx.debug"):
        tanx.jit(lambda x: debug.log("x = {}", x))(2.0)
    (record,) = caplog.records
    assert (record.name, record.getMessage(), record.levelname) == ("tanx.debug", "x = 2.0", "INFO")
    assert record.pathname == __file__


# --- When and how often ---------------------------------------------------------------------------


@each_way
def test_callback(run):
    seen = []
    fun = run(lambda x: debug.callback(lambda y, *, tag: seen.append((float(y), tag)) or 3, x + 1,
                                       tag="t"))
    fun(1.0), fun(2.0)
    assert seen == [(2.0, "t"), (3.0, "t")]
    debug.callback(ordered=True)(seen.append, 1)
    assert len(seen) == 3


def test_effects_are_in_jaxprs():
    closed = tanx.make_jaxpr(lambda x: debug.print("{}", x, ordered=True))(1.0)
    assert closed.effects == {OrderedDebugEffect()}
    assert [e.primitive.name for e in closed.eqns] == ["debug_print"]
    assert "effect=OrderedDebug" in str(
        tanx.make_jaxpr(lambda x: debug.callback(print, x, ordered=True))(1.0))


@each_way
@pytest.mark.parametrize("ordered", [False, True])
def test_vmap_shows_each_element(run, ordered, capsys):
    fun = lambda x, y: debug.print("{} {}", x, y, ordered=ordered)
    assert printed(capsys, run(tanx.vmap(fun, (0, None))), X, 7) == ["0.0 7", "1.0 7", "2.0 7"]
    assert printed(capsys, run(tanx.vmap(lambda x: debug.print("once"))), X) == ["once"]
    nested = tanx.vmap(tanx.vmap(lambda x: debug.print("{}", x, ordered=ordered)), 1)
    assert printed(capsys, run(nested), jnp.arange(4).reshape(2, 2)) == ["0", "1", "2", "3"] or (
        not ordered)


@each_way
def test_derivatives_show_the_forward_pass(run, capsys):
    def fun(x):
        debug.print("x = {}", x)
        return jnp.sin(x)
    assert printed(capsys, run(tanx.grad(fun)), 1.0) == ["x = 1.0"]
    assert printed(capsys, lambda x: tanx.jvp(run(fun), (x,), (x,)), 1.0) == ["x = 1.0"]
    assert printed(capsys, run(tanx.grad(tanx.grad(fun))), 1.0) == ["x = 1.0"]
    assert printed(capsys, run(tanx.grad(tanx.checkpoint(fun))), 1.0) == ["x = 1.0"] * 2
    assert printed(capsys, run(lambda y: tanx.linear_transpose(
        lambda x: (debug.print("{}", x), 2 * x)[1], 1.0)(y)), 1.0) == []
    assert printed(capsys, run(tanx.vmap(tanx.grad(fun))), X) == [
        "x = 0.0", "x = 1.0", "x = 2.0"]


def test_prints_stay_where_they_are_written(capsys):
    @tanx.jit
    def fun(x):
        debug.print("one {}", x)
        y = tanx.jit(lambda z: (debug.print("two {}", z), z * z)[1])(x + 1)
        debug.print("three {}", y.sum())
        debug.print("one {}", x)
        return y
    lines = ["one [0. 1. 2.]", "two [1. 2. 3.]", "three 14.0", "one [0. 1. 2.]"]
    assert printed(capsys, fun, X) == lines
    assert printed(capsys, fun, X) == lines


def test_errors_of_callbacks():
    def fail(x):
        raise ZeroDivisionError("mine")
    with pytest.raises(JaxRuntimeError, match="ZeroDivisionError: mine") as caught:
        tanx.jit(lambda x: debug.callback(fail, x))(1.0)
    assert type(caught.value.__cause__) is ZeroDivisionError
    with pytest.raises(ZeroDivisionError, match="mine"):
        debug.callback(fail, 1.0)
    assert error(TypeError, lambda: debug.callback(3)) == (
        "tanx.debug.callback: needs a function.\n  given: 3")


def test_inspect_array_sharding_raises():
    with pytest.raises(NotImplementedError):
        debug.inspect_array_sharding(X, callback=print)


# --- Breakpoints ----------------------------------------------------------------------------------


def session(fun, *commands, args=(1.0,)) -> list[str]:
    """The output of a breakpoint for some commands, without the prompt and the first message."""
    stdin, stdout = io.StringIO("\n".join(commands) + "\n"), io.StringIO()
    fun(*args, stdin=stdin, stdout=stdout)
    _, *answers = stdout.getvalue().split("(tanx) ")
    return [answer.strip() for answer in answers]


def stopping(run):
    def around(x, **files):
        outer = "outside"  # noqa: F841

        def fun(x):
            y = {"double": x * 2}  # noqa: F841
            debug.breakpoint(**files)
            return x
        return run(fun)(x)
    return around


@each_way
def test_a_breakpoint_shows_values(run):
    answers = session(stopping(run), "p x", "y", "p y['double'] + 1", "p nothing", "pp x", "locals",
                      "u", "p outer", "d", "d", "c")
    kind = "float32, weak_type=True" if run is eagerly else "float32"
    assert answers[0] in ("1.0", f"Array(1., dtype={kind})")
    assert answers[1] in ("{'double': 2.0}", "{'double': Array(2., dtype=float32)}")
    assert answers[2] in ("3.0", "Array(3., dtype=float32)", "Array(3., dtype=float32, "
                          "weak_type=True)")
    assert answers[3] == "*** NameError: name 'nothing' is not defined"
    assert "y = {'double':" in answers[5]
    assert "->" in answers[6] and "return run(fun)(x)" in answers[6]
    assert answers[7] == "'outside'"
    assert "debug.breakpoint(**files)" in answers[8]
    assert answers[9] == "This is the innermost frame."


def test_a_breakpoint_shows_its_source_line():
    (where, *_) = session(stopping(tanx.jit), "bt", "")
    assert where.splitlines()[-1].strip() == "debug.breakpoint(**files)"
    assert "return run(fun)(x)" in where
    (listed, *_) = session(stopping(tanx.jit), "list", "continue")
    assert f"> {__file__}" in listed and "->              debug.breakpoint(**files)" in listed


def test_a_breakpoint_can_end_the_program():
    with pytest.raises(bdb.BdbQuit):
        session(stopping(tanx.jit), "q")
    assert "the only debugger is" in error(ValueError, lambda: debug.breakpoint(backend="web"))


def test_breakpoints_under_transformations():
    fun = tanx.grad(lambda x, stdin, stdout: (debug.breakpoint(
        stdin=stdin, stdout=stdout, num_frames=1), jnp.sin(x))[1])
    answers = session(lambda x, **files: fun(x, **files), "p x", "up", "c")
    assert answers[:2] == ["Array(1., dtype=float32)",
                           "This is the outermost frame."]
