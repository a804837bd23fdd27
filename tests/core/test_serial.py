"""The serial form of jaxprs: reading inverts writing, and refuses other texts."""

import random
import re
import time
import warnings

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var
from tanx._core.serial import Unwritable, array_data, write
from tanx._core.serial_reader import Unreadable, read
from tanx._transforms.discharge import without_refs
from tests.cases import CASES
from tests.compiler import programs
from tests.compiler.agreement import evaluated

UNWRITABLE = {"pure_callback", "io_callback", "debug_callback", "debug_print", "check",
              "buffer_callback", "c_function", "ffi_call", "sharding_constraint", "reshard",
              "device_put", "to_edtype", "from_edtype"}
"""Primitives with functions, devices, meshes or dtypes of users among their parameters."""
AS_CALLS = {"custom_jvp_call", "custom_vjp_call", "custom_vmap_call", "custom_partitioning",
            "composite"}
"""Primitives that are written as plain calls, without the rules of users."""


def again(closed):
    serial = write(closed)
    return read(serial.text, [array_data(c) for c in serial.constants], serial.names)


def same(a, b) -> bool:
    """Whether two values of parameters are the same; all functions count as equal."""
    if isinstance(a, ClosedJaxpr) or isinstance(b, ClosedJaxpr):
        return same_closed(a, b)
    if isinstance(a, Jaxpr):
        return same_jaxpr(a, b)
    if callable(a):
        return callable(b)
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return a is b or (type(a) is type(b) and (a == b or a != a and b != b))


def same_closed(a, b) -> bool:
    return same_jaxpr(a.jaxpr, b.jaxpr) and len(a.consts) == len(b.consts) and all(
        array_data(x).dtype == array_data(y).dtype
        and array_data(x).tobytes() == array_data(y).tobytes()
        for x, y in zip(a.consts, b.consts))


def same_jaxpr(a: Jaxpr, b: Jaxpr) -> bool:
    pairs: dict[Var, Var] = {}

    def same_atoms(xs, ys):
        return len(xs) == len(ys) and all(
            x.aval == y.aval and x.aval.weak_type == y.aval.weak_type
            and (type(y) is Literal and np.asarray(x.val).tobytes() == np.asarray(y.val).tobytes()
                 if type(x) is Literal else pairs.get(x) is y) for x, y in zip(xs, ys))

    def bind(xs, ys):
        pairs.update(zip(xs, ys))
        return same_atoms(xs, ys)

    if not (bind(a.constvars, b.constvars) and bind(a.invars, b.invars)
            and len(a.eqns) == len(b.eqns) and a.effects == b.effects):
        return False
    for x, y in zip(a.eqns, b.eqns):
        if not same_atoms(x.invars, y.invars) or not bind(x.outvars, y.outvars):
            return False
        if x.primitive.name in AS_CALLS:
            if y.primitive.name != "jit" or not same(x.primitive.called(x.params),
                                                     y.params["jaxpr"]):
                return False
        elif x.primitive is not y.primitive or x.params.keys() != y.params.keys() or not all(
                same(x.params[key], y.params[key]) or key == "policy" for key in x.params):
            return False
    return same_atoms(a.outvars, b.outvars)


@pytest.mark.parametrize("name", sorted({case.primitive for case in CASES}))
def test_written_jaxprs_are_read_back(name):
    with tanx.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in (case for case in CASES if case.primitive == name):
            closed = without_refs(tanx.make_jaxpr(case.fun)(*case.arguments()))
            if name in UNWRITABLE:
                with pytest.raises(Unwritable):
                    write(closed)
            else:
                assert same_closed(closed, again(closed)), case


@pytest.mark.parametrize("seed", range(25))
def test_random_programs_are_read_again_and_compute_the_same(seed):
    source = programs.make(seed)
    data = [a.data for a in source.arguments]
    with tanx.enable_x64(True), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        closed = tanx.make_jaxpr(source.function())(*data)
        found = again(closed)
        assert same_closed(closed, found)
        for x, y in zip(evaluated(closed, data), evaluated(found, data), strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)


def test_bodies_are_written_once():
    def deep(fun, levels):
        return fun if levels == 0 else deep(tanx.jit(lambda x: fun(fun(x))), levels - 1)
    closed = tanx.make_jaxpr(deep(jnp.sin, 20))(1.0)
    serial = write(closed)
    assert len(serial.text) < 2000
    assert same(again(closed).eqns[0].params["jaxpr"].out_avals, closed.out_avals)


def test_function_names_are_kept_apart_from_the_text():
    def named(name):
        def body(x):
            return x + 1
        body.__name__ = name
        return write(tanx.make_jaxpr(lambda x: tanx.jit(body)(tanx.jit(jnp.sin)(x)))(1.0))
    one, other = named("one"), named("other")
    assert one.text == other.text
    assert one.names == ["sin", "one"] and other.names == ["sin", "other"]
    found = read(one.text, [], ["a", "b"])
    assert [eqn.params["name"] for eqn in found.eqns] == ["a", "b"]


def test_constants_are_shared_and_keep_their_types():
    table = jnp.arange(3.0)
    closed = tanx.make_jaxpr(lambda x: (x + table, tanx.jit(lambda y: y * table)(x),
                                        x.astype("bfloat16") * np.ones(3, "bfloat16")))(table)
    assert len(write(closed).constants) == 2
    assert same_closed(closed, again(closed))


def test_python_functions_are_unwritable():
    with pytest.raises(Unwritable, match="FlatCallback") as caught:
        write(tanx.make_jaxpr(lambda x: tanx.pure_callback(np.sin, x, x))(np.ones(3, np.float32)))
    assert caught.value.eqn.primitive.name == "pure_callback"


@pytest.mark.parametrize("value", [
    None, True, False, 0, -3, 10**17, 1.5, -0.0, 1e-300, float("inf"), float("-inf"),
    float("nan"), 1 + 2j, "", 'a "quoted" \\ text\nand ü€😀', b"", b"\0\xff", (), (1,), ((), (2,)),
    [1, [2]], {"a": 1, "b": (2,)}, frozenset((1, 2)), np.dtype("float32"),
    np.dtype("bfloat16"), np.arange(3), lax.Precision.HIGHEST, lax.GatherScatterMode.CLIP,
    lax.FftType.RFFT, lax.ConvDimensionNumbers((0, 1), (1, 0), (0, 1))], ids=str)
def test_values_of_parameters(value):
    from tanx._core.serial import _Writer
    from tanx._core.serial_reader import _Reader
    writer = _Writer()
    reader = _Reader([], ())
    reader.line = writer.value(value)
    reader.constants = [array_data(c) for c in writer.constants]
    found = reader.value()
    reader.end()
    assert same(value, found) and same(found, value)


# --- What is not read -----------------------------------------------------------------------------


@pytest.mark.parametrize("text, problem", [
    ("", "'@' expected"),
    ("@0()", "no body 0"),
    ("{|}", "'@' expected"),
    ("{|}\n@0", "with constants"),
    ("{|}\n@0(#0)", "no array 0"),
    ("{|}\n@0() ", "more text"),
    ("{f32[3]|1}\n@0()", "no variable 1"),
    ("{f32[3];2|0}\n@0()", "more constants"),
    ("{f99[3]|0}\n@0()", "no dtype 'f99'"),
    ("{f32[-3]|0}\n@0()", "is no size"),
    ("{f32[x]|0}\n@0()", "'x' is no size"),
    ("{f32[9999999999999999999]|0}\n@0()", "is no size"),
    (f"{{f32[{','.join('1' * 65)}]|0}}\n@0()", "too many dimensions"),
    ("{|f32[3]}\n@0()", "without a value"),
    ("{|f32[]<00>}\n@0()", "other bytes"),
    ("{|f32[]<0>}\n@0()", "half a byte"),
    ("{|f32[2]<0000000000000000>}\n@0()", "other bytes"),
    ("{f32[3]|f32[3]=system[]0|1}\n@0()", "no primitive 'system'"),
    ("{f32[3]|f32[3]=__import__[]0|1}\n@0()", "no primitive"),
    ("{f32[3]|f32[4]=sin[accuracy=None]0|1}\n@0()", "not those that the primitive infers"),
    ("{f32[3]|f32[3]=sin[accuracy=eval(1)]0|1}\n@0()", "no eval"),
    ("{f32[3]|f32[3]=sin[accuracy=Popen(1)]0|1}\n@0()", "no Popen"),
    ("{f32[3]|f32[3]=sin[accuracy=GatherScatterMode.mro]0|1}\n@0()", "no GatherScatterMode.mro"),
    ("{f32[3]|f32[3]=sin[accuracy=!os]0|1}\n@0()", "no constant 'os'"),
    ("{f32[3]|f32[3]=sin[b=1;a=1]0|1}\n@0()", "not in order"),
    ("{f32[3] f32[4]|f32[3]=add[]0 1|2}\n@0()", "rejects its operands"),
    ("{f32[3]|f32[3]=jit[]0|1}\n@0()", "missing 1 required"),
    ("{f32[3]|f32[3]=jit[jaxpr=3]0|1}\n@0()", "AttributeError"),
    ("{f32[3]|0}\n{f32[2]|f32[3]=jit[jaxpr=@0();name=$]0|1}\n@1()", "a name is missing"),
    ("{f32[3]|0}\n{f32[2]|f32[3]=jit[jaxpr=@0()]0|1}\n@1()", "operands are"),
    ("{f32[3]|0}\n{f32[3]|f32[2]=jit[jaxpr=@0()]0|1}\n@1()", "results are"),
    ("{f32[3]|f32[3]=jit[jaxpr=@0()]0|1}\n@0()", "no body 0"),
    ("{f32[3]|0}\n{f32[2,4]|f32[2,4]=scan[_split_transpose=False;jaxpr=@0();length=2;linear=(False)"
     ";num_carry=0;num_consts=0;reverse=False;unroll=1]0|1}\n@1()", "operands"),
    (f"{{f32[3]|f32[3]=sin[accuracy={'(' * 10000}]0|1}}\n@0()", "too deeply"),
    (f"{{f32[3]|f32[3]=sin[accuracy={'9' * 10000}]0|1}}\n@0()", "expected"),
])
def test_errors_of_malformed_text(text, problem):
    with pytest.raises(Unreadable, match=re.escape(problem)):
        read(text, [])


def test_texts_that_expand_to_huge_programs_are_rejected():
    double = "{{f32[]|f32[]=jit[jaxpr=@{0}()]0|f32[]=jit[jaxpr=@{0}()]1|2}}"
    lines = ["{f32[]|f32[]=neg[]0|1}"] + [double.format(n) for n in range(60)]
    with pytest.raises(Unreadable, match="too large"):
        read("\n".join([*lines, "@60()"]), [])
    single = "{{f32[]|f32[]=jit[jaxpr=@{0}()]0|1}}"
    lines = ["{f32[]|f32[]=neg[]0|1}"] + [single.format(n) for n in range(600)]
    with pytest.raises(Unreadable, match="too large"):
        read("\n".join([*lines, "@600()"]), [])


def test_damaged_texts_are_errors_or_programs():
    """A text with a few characters changed is an error, or a jaxpr that passes the checker."""
    def loop(x):
        return lax.fori_loop(0, 3, lambda i, c: jnp.where(c > 0, c @ c, jnp.sin(c)), x)
    serial = write(tanx.make_jaxpr(tanx.grad(lambda x: loop(x)[1:].sum()))(jnp.ones((3, 3))))
    arrays = [array_data(c) for c in serial.constants]
    rng, refused, start = random.Random(0), 0, time.perf_counter()
    for _ in range(300):
        text = list(serial.text)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text))
            text[at:at + rng.randint(0, 2)] = rng.choice(serial.text)
        try:
            again(read("".join(text), arrays, serial.names))
        except Unreadable:
            refused += 1
    assert refused > 200
    assert time.perf_counter() - start < 60
