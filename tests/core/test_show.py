"""The text of jaxprs; expected texts are what JAX prints."""

import functools

import ml_dtypes
import numpy as np
import pytest

from tanx._core.array import Array
from tanx._core.jaxpr import Literal
from tanx._core.show import letters, show_eqn, show_jaxpr
from tanx._core.source import named_scope
from tanx._core.types import ShapedArray
from tests.core.fakes import (
    Fake,
    FakeCall,
    add,
    call,
    chain,
    cos,
    f32,
    foo,
    jit_p,
    mul,
    shout,
    sin,
    tan,
    trace,
)

X = f32(3)


def lines(*rows):
    return "\n".join(rows)


def shown(fun, *types, **options):
    return show_jaxpr(trace(fun, *types), **options)


def test_short_jaxprs_print_on_one_line():
    assert shown(lambda x: mul.bind(x, np.float32(2)), X) == (
        "{ lambda ; a:f32[3]. let b:f32[3] = mul a 2.0:f32[] in (b,) }")
    assert shown(lambda x: sin.bind(cos.bind(x)), X) == (
        "{ lambda ; a:f32[3]. let b:f32[3] = cos a; c:f32[3] = sin b in (c,) }")


def test_long_jaxprs_print_on_several_lines():
    assert shown(lambda x: add.bind(mul.bind(x, np.float32(2)), sin.bind(x)), X) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = mul a 2.0:f32[]
    c:f32[3] = sin a
    d:f32[3] = add b c
  in (d,) }"""


def test_jaxprs_without_equations():
    assert shown(lambda: [],) == "{ lambda ; . let  in () }"
    assert shown(lambda x: [], X) == "{ lambda ; a:f32[3]. let  in () }"
    assert shown(lambda x, y: x, X, X) == "{ lambda ; a:f32[3] b:f32[3]. let  in (a,) }"
    assert shown(lambda x: (x, np.float32(2), np.int32(1)), X) == (
        "{ lambda ; a:f32[3]. let  in (a, 2.0:f32[], 1:i32[]) }")


def test_an_empty_body_that_does_not_fit_keeps_its_line():
    assert shown(lambda *x: x[0], *[X] * 7) == lines(
        "{ lambda ; a:f32[3] b:f32[3] c:f32[3] d:f32[3] e:f32[3] f:f32[3] g:f32[3]. let",
        "    ",
        "  in (a,) }")


def test_constants_stand_before_the_semicolon():
    c = Array(np.arange(3, dtype=np.float32))
    assert shown(lambda x: add.bind(x, c), X) == (
        "{ lambda a:f32[3]; b:f32[3]. let c:f32[3] = add b a in (c,) }")


def test_equations_without_operands_print_a_space():
    assert shown(lambda: Fake("zz").bind()) == "{ lambda ; . let a:f32[3] = zz  in (a,) }"
    iota = Fake("iota", default=ShapedArray((5,), np.int32))
    assert shown(lambda: iota.bind(dimension=0, dtype=np.dtype("int32"), shape=(5,),
                                   sharding=None)) == lines(
        "{ lambda ; . let",
        "    a:i32[5] = iota[dimension=0 dtype=int32 shape=(5,) sharding=None] ",
        "  in (a,) }")


def test_no_results_have_no_equals_sign():
    assert shown(lambda x: (shout.bind(x), x)[1], X) == (
        "{ lambda ; a:f32[3]. let shout a in (a,) }")


def test_unused_results_print_as_underscores():
    two = Fake("two", n=3)
    assert shown(lambda x: two.bind(x)[1], X) == (
        "{ lambda ; a:f32[3]. let _:f32[3] b:f32[3] _:f32[3] = two a in (b,) }")


def test_lines_end_after_the_item_that_crosses_the_margin():
    assert shown(lambda *x: foo.bind(*x, dimension=0), *[X] * 30) == """\
{ lambda ; a:f32[3] b:f32[3] c:f32[3] d:f32[3] e:f32[3] f:f32[3] g:f32[3] h:f32[3]
    i:f32[3] j:f32[3] k:f32[3] l:f32[3] m:f32[3] n:f32[3] o:f32[3] p:f32[3] q:f32[3]
    r:f32[3] s:f32[3] t:f32[3] u:f32[3] v:f32[3] w:f32[3] x:f32[3] y:f32[3] z:f32[3]
    ba:f32[3] bb:f32[3] bc:f32[3] bd:f32[3]. let
    be:f32[3] = foo[dimension=0] a b c d e f g h i j k l m n o p q r s t u v w x
      y z ba bb bc bd
  in (be,) }"""


def test_many_results():
    many = Fake("sort", n=12)
    assert shown(lambda x: many.bind(x, dimension=0, is_stable=True, num_keys=2), X) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] c:f32[3] d:f32[3] e:f32[3] f:f32[3] g:f32[3] h:f32[3] i:f32[3] j:f32[3]
      k:f32[3] l:f32[3] m:f32[3] = sort[dimension=0 is_stable=True num_keys=2] a
  in (b, c, d, e, f, g, h, i, j, k, l, m) }"""
    assert shown(lambda *x: x * 3, *[X] * 12) == lines(
        "{ lambda ; a:f32[3] b:f32[3] c:f32[3] d:f32[3] e:f32[3] f:f32[3] g:f32[3] h:f32[3]",
        "    i:f32[3] j:f32[3] k:f32[3] l:f32[3]. let",
        "    ",
        "  in (a, b, c, d, e, f, g, h, i, j, k, l, a, b, c, d, e, f, g, h, i, j, k, l, a,",
        "    b, c, d, e, f, g, h, i, j, k, l) }")


@pytest.mark.parametrize("n, rows", [(25, 1), (26, 3)])
def test_the_margin_of_a_jaxpr(n, rows):
    text = shown(lambda x: foo.bind(x, z="x" * n), X)
    assert text.count("\n") + 1 == rows
    assert rows > 1 or len(text) == 80


@pytest.mark.parametrize("n, text", [
    (58, "    b:f32[3] = foo[z={}] a\n      a a a a a a a"),
    (59, "    b:f32[3] = foo[\n      z={}\n    ] a a a a a a a a"),
])
def test_the_margin_of_parameters_leaves_operands_out(n, text):
    value = "x" * n
    assert shown(lambda x: foo.bind(*[x] * 8, z=value), X) == (
        "{ lambda ; a:f32[3]. let\n" + text.format(value) + "\n  in (b,) }")


def test_parameters_are_sorted():
    assert shown(lambda x: foo.bind(x, zeta=1, name="nm", alpha=2), X) == (
        "{ lambda ; a:f32[3]. let b:f32[3] = foo[alpha=2 name=nm zeta=1] a in (b,) }")


def test_values_of_parameters():
    params = dict(a="it's", b=1e-10, c=np.dtype("float32"), d=None, e=(1, "x"), f=())
    assert shown(lambda x: foo.bind(x, **params), X) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = foo[a=it's b=1e-10 c=float32 d=None e=(1, 'x') f=()] a
  in (b,) }"""


def test_addresses_are_masked():
    class Thing:
        def __repr__(self):
            return "<0xff at 0x1234>"

    assert shown(lambda x: foo.bind(x, a=Thing(), b=(Thing(),)), X) == (
        "{ lambda ; a:f32[3]. let\n"
        "    b:f32[3] = foo[a=<0xff at 0xXXXX> b=(<0xff at 0xXXXX>,)] a\n  in (b,) }")


@pytest.mark.parametrize("value, text", [
    (np.float32(2), "2.0:f32[]"),
    (np.float32(-0.0), "-0.0:f32[]"),
    (np.float32(1e-10), "1.000000013351432e-10:f32[]"),
    (np.float32(np.pi), "3.1415927410125732:f32[]"),
    (np.float32(1e16), "1.0000000272564224e+16:f32[]"),
    (np.float32(1e10), "10000000000.0:f32[]"),
    (np.float32("nan"), "nan:f32[]"),
    (np.float32("-inf"), "-inf:f32[]"),
    (np.bool_(True), "True:bool[]"),
    (np.uint8(200), "200:u8[]"),
    (np.complex64(1 + 2.5j), "(1+2.5j):c64[]"),
    (np.asarray(1.1, ml_dtypes.bfloat16), "1.1015625:bf16[]"),
    (np.asarray(1.1, ml_dtypes.float8_e4m3fn), "1.125:f8_e4m3fn[]"),
    (np.asarray(1, ml_dtypes.int4), "1:i4[]"),
])
def test_literals(value, text):
    closed = trace(lambda x: add.bind(x, np.float32(0)), X)
    closed.eqns[0].invars[1] = Literal(value, ShapedArray((), value.dtype))
    assert show_jaxpr(closed).split(" = add a ")[1].split(" ")[0].split("\n")[0] == text


def test_names_are_numbers_to_base_26():
    names = [name for name, _ in zip(letters(), range(26 * 26 + 2))]
    assert names[:2] + names[24:28] == ["a", "b", "y", "z", "ba", "bb"]
    assert names[50:54] == ["by", "bz", "ca", "cb"]
    assert names[-3:] == ["zz", "baa", "bab"]


# --- jit ------------------------------------------------------------------------------------------


def jitted(fun, *types, name="<lambda>"):
    closed = trace(fun, *types)
    return lambda *args: call(closed, *args, name=name)


def test_variables_inside_jit_take_the_names_outside():
    inner = jitted(lambda b: sin.bind(b), X)
    outer = jitted(lambda a: inner(cos.bind(a)), X)
    assert shown(lambda x: outer(x), X) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = jit[
      name=<lambda>
      jaxpr={ lambda ; a:f32[3]. let
          c:f32[3] = cos a
          b:f32[3] = jit[
            name=<lambda>
            jaxpr={ lambda ; c:f32[3]. let b:f32[3] = sin c in (b,) }
          ] c
        in (b,) }
    ] a
  in (b,) }"""


def test_a_value_passed_twice_names_only_one_parameter():
    f = jitted(add.bind, X, X)
    assert shown(lambda x: f(x, x), X) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = jit[
      name=<lambda>
      jaxpr={ lambda ; a:f32[3] c:f32[3]. let b:f32[3] = add a c in (b,) }
    ] a a
  in (b,) }"""


def test_an_argument_that_is_returned_keeps_its_name():
    f = jitted(lambda a: (a, sin.bind(a)), X)
    assert shown(lambda x: f(x), X) == """\
{ lambda ; a:f32[3]. let
    c:f32[3] b:f32[3] = jit[
      name=<lambda>
      jaxpr={ lambda ; a:f32[3]. let b:f32[3] = sin a in (a, b) }
    ] a
  in (c, b) }"""


def test_a_result_returned_twice():
    f = jitted(lambda a: [sin.bind(a)] * 2, X)
    assert shown(lambda x: f(x), X) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] c:f32[3] = jit[
      name=<lambda>
      jaxpr={ lambda ; a:f32[3]. let b:f32[3] = sin a in (b, b) }
    ] a
  in (b, c) }"""


def test_unused_results_print_as_underscores_in_inner_jaxprs():
    f = jitted(lambda a, b: (add.bind(a, b), mul.bind(a, b)), X, X)
    assert shown(lambda x: f(x, mul.bind(x, np.float32(1)))[0], X) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = mul a 1.0:f32[]
    c:f32[3] _:f32[3] = jit[
      name=<lambda>
      jaxpr={ lambda ; a:f32[3] b:f32[3]. let
          c:f32[3] = add a b
          _:f32[3] = mul a b
        in (c, _) }
    ] a b
  in (c,) }"""


def test_unused_results_inside_have_names():
    def f(x):
        cos.bind(x)
        return sin.bind(x)

    assert shown(lambda x: jitted(f, X, name="f")(x), X) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = jit[
      name=f
      jaxpr={ lambda ; a:f32[3]. let
          c:f32[3] = cos a
          b:f32[3] = sin a
        in (b,) }
    ] a
  in (b,) }"""


def test_literals_lend_no_name():
    f = jitted(lambda a, b, c: add.bind(add.bind(a, b), c), X, f32(), X)
    assert shown(lambda x: f(x, np.float32(1), x), X) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = jit[
      name=<lambda>
      jaxpr={ lambda ; a:f32[3] c:f32[] d:f32[3]. let
          e:f32[3] = add a c
          b:f32[3] = add e d
        in (b,) }
    ] a 1.0:f32[] a
  in (b,) }"""


def test_constants_inside_are_new():
    c = Array(np.arange(3, dtype=np.float32))
    f = jitted(lambda a: add.bind(a, c), X)
    assert shown(lambda x: add.bind(f(x)[0], c), X) == """\
{ lambda a:f32[3]; b:f32[3]. let
    c:f32[3] = jit[
      name=<lambda>
      jaxpr={ lambda d:f32[3]; b:f32[3]. let c:f32[3] = add b d in (c,) }
    ] b
    e:f32[3] = add c a
  in (e,) }"""


# --- Jaxprs in parameters -------------------------------------------------------------------------


def test_branches_print_one_per_line():
    cond = FakeCall("cond", "branches")
    branches = trace(lambda x: cos.bind(x), X), trace(lambda x: sin.bind(x), X)
    assert shown(lambda i, x: cond.bind(i, x, branches=branches), f32(), X) == """\
{ lambda ; a:f32[] b:f32[3]. let
    c:f32[3] = cond[
      branches=(
        { lambda ; d:f32[3]. let e:f32[3] = cos d in (e,) }
        { lambda ; f:f32[3]. let g:f32[3] = sin f in (g,) }
      )
    ] a b
  in (c,) }"""


def test_short_branches_print_on_one_line():
    cond = FakeCall("cond", "branches")
    branches = trace(lambda x: cos.bind(x), X), trace(chain(12), X)
    text = shown(lambda x: cond.bind(x, branches=branches), X)
    assert text.endswith("""\
{ lambda ; n:f32[3]. let
    o:f32[3] = cond[
      branches=({ lambda ; p:f32[3]. let q:f32[3] = cos p in (q,) } jaxpr)
    ] n
  in (o,) }""")


@pytest.mark.parametrize("n, broken", [(8, "one line"), (22, "parameters"), (23, "jaxpr")])
def test_the_margins_of_a_jaxpr_in_a_parameter(n, broken):
    inner = trace(lambda x: sin.bind(x), X)
    name = "n" * n
    text = shown(lambda x: FakeCall("foo", name).bind(x, **{name: inner}), X)
    assert text == "\n".join(["{ lambda ; a:f32[3]. let", *{
        "one line": [
            f"    b:f32[3] = foo[{name}={{ lambda ; c:f32[3]. let d:f32[3] = sin c in (d,) }}] a"],
        "parameters": [
            "    b:f32[3] = foo[",
            f"      {name}={{ lambda ; c:f32[3]. let d:f32[3] = sin c in (d,) }}",
            "    ] a"],
        "jaxpr": [
            "    b:f32[3] = foo[",
            f"      {name}={{ lambda ; c:f32[3]. let",
            "          d:f32[3] = sin c",
            "        in (d,) }",
            "    ] a"]}[broken], "  in (b,) }"])


def test_tuples_of_anything_else_are_plain_text():
    inner = trace(lambda x: sin.bind(x), X)
    assert shown(lambda x: foo.bind(x, a=(inner, 1)), X) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = foo[a=({ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }, 1)] a
  in (b,) }"""


def test_the_name_of_a_users_function_comes_first():
    custom = FakeCall("custom_jvp_call", "call_jaxpr")
    inner = trace(lambda x: sin.bind(x), X)
    assert shown(lambda x: custom.bind(
        x, call_jaxpr=inner, jvp="jvp", name="relu", symbolic_zeros=False), X) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = custom_jvp_call[
      name=relu
      call_jaxpr={ lambda ; c:f32[3]. let d:f32[3] = sin c in (d,) }
      jvp=jvp
      symbolic_zeros=False
    ] a
  in (b,) }"""


# --- Shared jaxprs --------------------------------------------------------------------------------


def test_a_jaxpr_used_twice_is_printed_once():
    h = jitted(lambda x: sin.bind(cos.bind(x)), X, name="h")
    assert shown(lambda x: h(*h(x)), X) == """\
let h = { lambda ; a:f32[3]. let b:f32[3] = cos a; c:f32[3] = sin b in (c,) } in
{ lambda ; d:f32[3]. let
    e:f32[3] = jit[name=h jaxpr=h] d
    f:f32[3] = jit[name=h jaxpr=h] e
  in (f,) }"""


def test_equal_names_are_numbered_and_not_given_to_variables():
    h3, h4 = (jitted(lambda x: sin.bind(cos.bind(x)), f32(n), name="h") for n in (3, 4))
    assert shown(lambda x, y: [h3(x)[0], h4(y)[0], h3(x)[0], h4(y)[0]], X, f32(4)) == """\
let h = { lambda ; a:f32[3]. let b:f32[3] = cos a; c:f32[3] = sin b in (c,) } in
let h1 = { lambda ; d:f32[4]. let e:f32[4] = cos d; f:f32[4] = sin e in (f,) } in
{ lambda ; g:f32[3] i:f32[4]. let
    j:f32[3] = jit[name=h jaxpr=h] g
    k:f32[4] = jit[name=h jaxpr=h1] i
    l:f32[3] = jit[name=h jaxpr=h] g
    m:f32[4] = jit[name=h jaxpr=h1] i
  in (j, k, l, m) }"""


@pytest.mark.parametrize("n, shared", [(10, False), (11, True)])
def test_a_long_jaxpr_is_printed_apart(n, shared):
    text = shown(lambda x: jitted(chain(n), X, name="long")(x), X)
    assert text.startswith("let long = {") == shared
    if shared:
        assert text.endswith(
            "\n{ lambda ; m:f32[3]. let n:f32[3] = jit[name=long jaxpr=long] m in (n,) }")


def headings(text):
    return [line.split()[1] for line in text.splitlines() if line.startswith("let")]


def test_outer_jaxprs_come_first():
    b, c = (jitted(chain(11), X, name=name) for name in "BC")
    a = jitted(lambda x: chain(11)(*b(x)), X, name="A")
    assert headings(shown(lambda x: c(*a(x)), X)) == ["A", "C", "B"]


def test_jaxprs_inside_shared_jaxprs_are_shared():
    inner = jitted(lambda x: sin.bind(x), X, name="inner")
    outer = jitted(lambda x: inner(x), X, name="outer")
    assert shown(lambda x: outer(*outer(x)), X) == """\
let outer = { lambda ; a:f32[3]. let
    b:f32[3] = jit[name=inner jaxpr=inner] a
  in (b,) } in
let inner = { lambda ; c:f32[3]. let d:f32[3] = sin c in (d,) } in
{ lambda ; e:f32[3]. let
    f:f32[3] = jit[name=outer jaxpr=outer] e
    g:f32[3] = jit[name=outer jaxpr=outer] f
  in (g,) }"""


def test_names_of_shared_jaxprs():
    assert headings(shown(lambda x: jitted(chain(11), X)(x), X)) == ["lambda"]
    assert headings(shown(lambda x: foo.bind(x, body=trace(chain(11), X)), X)) == ["jaxpr"]
    custom, body = FakeCall("custom_jvp_call", "call_jaxpr"), trace(chain(11), X)
    assert headings(shown(lambda x: custom.bind(x, call_jaxpr=body, name="f"), X)) == ["jaxpr"]
    h, h1 = (jitted(chain(n), X, name="h") for n in (11, 12))
    other = jitted(chain(13), X, name="h1")
    assert headings(shown(lambda x: other(*h1(*h(x))), X)) == ["h", "h1", "h11"]


def test_sharing_many_times_over_is_cheap():
    f = jitted(lambda x: sin.bind(x), X, name="f0")
    for i in range(1, 40):
        f = jitted(lambda x, g=f: g(*g(x)), X, name=f"f{i}")
    assert len(headings(shown(lambda x: f(x), X))) == 39


# --- Options --------------------------------------------------------------------------------------


def test_without_types():
    h = jitted(lambda x: sin.bind(cos.bind(x)), X, name="h")
    assert shown(lambda x: h(*h(x)), X, print_shapes=False) == """\
let h = { lambda ; a. let b = cos a; c = sin b in (c,) } in
{ lambda ; d. let e = jit[name=h jaxpr=h] d; f = jit[name=h jaxpr=h] e in (f,) }"""


def scoped(x):
    y = sin.bind(x)
    with named_scope("outer"):
        z = cos.bind(y)
        with named_scope("inner"):
            return jitted(lambda t: mul.bind(tan.bind(t), np.float32(2)), X)(z)


def test_named_scopes_stand_behind_their_equations():
    assert shown(scoped, X, name_stack=True) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = sin a                 # []
    c:f32[3] = cos b                 # [outer]
    d:f32[3] = jit[                  # [outer/inner]
      name=<lambda>
      jaxpr={ lambda ; c:f32[3]. let
          e:f32[3] = tan c           # []
          d:f32[3] = mul e 2.0:f32[] # []
        in (d,) }
    ] c
  in (d,) }"""


def test_remarks_on_one_line_stand_below_each_other():
    text = shown(lambda x: sin.bind(cos.bind(x)), X, name_stack=True, annotation_prefix=" // ")
    code = "{ lambda ; a:f32[3]. let b:f32[3] = cos a; c:f32[3] = sin b in (c,) }"
    assert text == f"{code} // []\n{' ' * len(code)} // []"


def test_source_lines_stand_behind_their_equations():
    text = shown(lambda x: sin.bind(cos.bind(x)), X, source_info=True)
    first, second = text.splitlines()
    assert "in (c,) } # " in first and "test_show.py:" in first and first.endswith("(<lambda>)")
    assert second.lstrip() == first[first.index("# "):]


def test_effects():
    assert shown(lambda x: (shout.bind(x), x)[1], X, print_effects=True) == (
        "{ lambda ; a:f32[3]. let shout a in (a,) : { Shout } }")
    assert shown(lambda x: sin.bind(x), X, print_effects=True) == (
        "{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) : {  } }")


class Secretive(Fake):
    """A primitive with a parameter that is not printed."""

    def show_params(self, params):
        return {k: v for k, v in params.items() if k != "accuracy"}


def test_hidden_parameters_can_be_shown():
    fun = functools.partial(Secretive("tan").bind, accuracy=None)
    assert shown(fun, X) == "{ lambda ; a:f32[3]. let b:f32[3] = tan a in (b,) }"
    assert shown(fun, X, custom_pp_eqn_rules=False) == (
        "{ lambda ; a:f32[3]. let b:f32[3] = tan[accuracy=None] a in (b,) }")
    inner = trace(fun, X)
    assert shown(lambda x: jit_p.bind(x, jaxpr=inner, name="f"), X,
                 custom_pp_eqn_rules=False) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = jit[
      jaxpr={ lambda ; c:f32[3]. let d:f32[3] = tan[accuracy=None] c in (d,) }
      name=f
    ] a
  in (b,) }"""


def test_colours():
    assert shown(lambda x: sin.bind(x), X, use_color=True) == (
        "{ \x1b[34;1mlambda \x1b[39;22m; a\x1b[35m:f32[3]\x1b[39m. \x1b[34;1mlet\x1b[39;22m "
        "b\x1b[35m:f32[3]\x1b[39m = sin a \x1b[34;1min \x1b[39;22m(b,) }")


def test_width():
    assert shown(lambda x: sin.bind(x), X, width=30) == """\
{ lambda ; a:f32[3]. let
    b:f32[3] = sin a
  in (b,) }"""


# --- One equation ---------------------------------------------------------------------------------


def test_one_equation():
    closed = trace(lambda x: mul.bind(x, np.float32(2)), X)
    assert repr(closed.eqns[0]) == show_eqn(closed.eqns[0]) == "a:f32[3] = mul b 2.0:f32[]"


def test_one_equation_with_a_jaxpr():
    closed = trace(lambda x: jitted(chain(2), X, name="chain2")(x), X)
    assert show_eqn(closed.eqns[0]) == """\
b:f32[3] = jit[
  name=chain2
  jaxpr={ lambda ; a:f32[3]. let c:f32[3] = sin a; b:f32[3] = sin c in (b,) }
] a"""


def test_repr_and_str_are_the_text():
    closed = trace(lambda x: sin.bind(x), X)
    text = "{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }"
    assert str(closed) == repr(closed) == str(closed.jaxpr) == closed.pretty_print() == text
