"""Users' tracebacks contain no frames of tanx, but all others."""

import contextlib
import inspect
import sys
import timeit
import traceback
import types

import numpy as np
import pytest

import tanx
from tanx._base.config import traceback_filtering
from tanx._base.traceback import boundary, trimmed


def in_package(source, **names):
    """Run ``source`` as a file of the package; return the function it defines last."""
    code = compile(inspect.cleandoc(source), f"{tanx.__path__[0]}/_imagined/room.py", "exec")
    room = {"__name__": "tanx._imagined.room", **names}
    exec(code, room)
    return list(room.values())[-1]


def frames(call):
    """The names of the functions in the traceback of ``call()``, without this one."""
    with pytest.raises(ValueError) as caught:
        call()
    return [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)][1:]


def refuse(x):
    raise ValueError(x)


apply = in_package("""
    def helper(f, x):
        return f(x)
    def apply(f, x):
        return helper(f, x)
    """)
fail = in_package("""
    def check(x):
        raise ValueError(x)
    def fail(x):
        check(x)
    """)


def test_the_users_line_comes_last():
    public = boundary(fail)

    def program():
        public(1)

    assert frames(program) == ["program"]


def test_a_users_function_run_by_tanx_is_shown():
    public = boundary(apply)

    def program():
        public(refuse, 1)

    assert frames(program) == ["program", "refuse"]


def test_boundaries_nest():
    public = boundary(apply)

    def middle(x):
        public(refuse, x)

    def program():
        public(middle, 1)

    assert frames(program) == ["program", "middle", "refuse"]


def test_a_public_function_used_inside_the_package():
    public = boundary(apply)

    def program():
        public(boundary(fail), 1)

    assert frames(program) == ["program"]


def test_tools_of_the_package_are_dropped_and_tools_of_the_user_kept():
    reshape = boundary(in_package("""
        def reshape(x):
            return np.reshape(x, (2, 2))
        """, np=np))
    assert frames(lambda: reshape(np.ones(3))) == ["<lambda>"]

    @contextlib.contextmanager
    def guard():
        yield

    @guard()
    def user(x):
        raise ValueError(x)

    assert frames(lambda: boundary(apply)(user, 1)) == ["<lambda>", "user"]
    assert frames(lambda: user(1)) == ["<lambda>", "inner", "user"]


def test_causes_are_trimmed_too():
    rephrase = boundary(in_package("""
        def rephrase(f, x):
            try:
                f(x)
            except ValueError as error:
                raise ValueError("in other words") from error
        """))
    with pytest.raises(ValueError, match="in other words") as caught:
        rephrase(refuse, 1)
    names = [entry.name for entry in traceback.extract_tb(caught.value.__cause__.__traceback__)]
    assert names == ["refuse"]


def test_a_cycle_of_causes_does_not_hang():
    error = ValueError()
    error.__context__ = other = ValueError()
    other.__context__ = error

    def throw():
        raise error

    with pytest.raises(ValueError):
        boundary(throw)()


def test_the_flag_shows_everything():
    public = boundary(apply)
    with traceback_filtering("off"):
        assert frames(lambda: public(refuse, 1)) == [
            "<lambda>", "public", "apply", "helper", "refuse"]


def test_line_numbers_survive():
    def program():
        boundary(apply)(refuse, 1)

    with pytest.raises(ValueError) as caught:
        program()
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.name, last.line) == ("refuse", "raise ValueError(x)")


def test_trimmed_copies():
    with pytest.raises(ValueError) as caught:
        apply(refuse, 1)
    whole = caught.value.__traceback__
    before = traceback.format_tb(whole)
    assert len(traceback.format_tb(trimmed(whole))) == len(before) - 2
    assert traceback.format_tb(whole) == before
    assert trimmed(None) is None


def test_signature_name_and_documentation_stay():
    def norm(x, /, ord=2, *, axis=None) -> float:
        """The norm."""

    public = boundary(norm)
    assert inspect.signature(public) == inspect.signature(norm)
    assert (public.__name__, public.__doc__) == ("norm", "The norm.")
    assert public.__wrapped__ is norm


def test_only_functions_are_wrapped():
    for thing in (int, len, np.add, 3.0, types):
        assert boundary(thing) is thing


def test_results_and_other_exceptions_pass_through():
    public = boundary(apply)
    assert public(abs, -3) == 3
    with pytest.raises(KeyboardInterrupt):
        public(interrupt, 1)


def interrupt(x):
    raise KeyboardInterrupt


@pytest.mark.slow
def test_a_call_costs_less_than_four_tenths_of_a_microsecond():
    def plain(x, y):
        return x

    def cost(fun):
        return min(timeit.repeat(lambda: fun(1, 2), number=10**5, repeat=20)) / 10**5

    assert cost(boundary(plain)) - cost(plain) < 0.4e-6, sys.version


def test_the_message_names_the_function_that_was_called():
    for call, name in [(lambda: tanx.nn.softmax(np.ones(3), axis=1), "tanx.nn.softmax"),
                       (lambda: tanx.lax.conv(np.ones((1, 3, 8, 8)), np.ones((4, 2, 3, 3)),
                                              (1, 1), "SAME"), "tanx.lax.conv"),
                       (lambda: tanx.jit(lambda x: tanx.numpy.where(x))(np.ones(3)),
                        "tanx.numpy.where")]:
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
        assert str(caught.value).partition(": ")[0] == name


def test_a_function_that_was_passed_on_keeps_its_name():
    with pytest.raises(ValueError, match=r"^tanx\.numpy\.add: "):
        tanx.tree.map(tanx.numpy.add, [np.ones((3, 4))], [np.ones(3)])
    with pytest.raises(TypeError, match=r"^tanx\.numpy\.dot: "):
        tanx.lax.cond(True, lambda x: tanx.numpy.dot(x, np.ones(4)), tanx.numpy.sum, np.ones(3))


def test_files_with_code_of_their_own_shed_their_frames():
    for call in (lambda: tanx.numpy.linalg.inv(np.ones(3)), lambda: tanx.numpy.fft.fft(1.0),
                 lambda: tanx.ops.segment_sum(np.ones(3), np.ones((2, 2), int)),
                 lambda: tanx.image.resize(np.ones(3), (2, 2), "linear")):
        assert frames(call) == [call.__name__]
