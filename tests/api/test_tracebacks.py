"""The traceback of a mistake in a transformed function shows the user's lines only."""

import functools
import traceback

import pytest

import tanx
import tanx.numpy as jnp
from tanx.errors import ConcretizationTypeError, TracerBoolConversionError

X = jnp.arange(3.0)


def mistake(x):
    raise ValueError("oops")


def shape_mistake(x):
    return x + jnp.ones(5)


@tanx.custom_jvp
def with_jvp(x):
    return x


with_jvp.defjvp(lambda primals, tangents: mistake(primals[0]))


@tanx.custom_vjp
def with_vjp(x):
    return x


with_vjp.defvjp(lambda x: (x, None), lambda _, ct: mistake(ct))


@tanx.custom_jvp
def wrong_body(x):
    return mistake(x)


wrong_body.defjvp(lambda primals, tangents: (primals[0], tangents[0]))


def frames(call) -> list[tuple[str, str]]:
    """File and function of each frame between here and the mistake."""
    try:
        call()
    except Exception as error:
        found = traceback.extract_tb(error.__traceback__)[1:]
        return [(frame.filename, frame.name) for frame in found]
    raise AssertionError("no mistake was made")


RETURNED = {
    "jit": lambda f: tanx.jit(f)(X),
    "jit of jit": lambda f: tanx.jit(tanx.jit(f))(X),
    "grad": lambda f: tanx.grad(f)(1.0),
    "value_and_grad": lambda f: tanx.value_and_grad(f)(1.0),
    "jvp": lambda f: tanx.jvp(f, (1.0,), (1.0,)),
    "vjp": lambda f: tanx.vjp(f, 1.0),
    "linearize": lambda f: tanx.linearize(f, 1.0),
    "linear_transpose": lambda f: tanx.linear_transpose(f, 1.0),
    "jacfwd": lambda f: tanx.jacfwd(f)(X),
    "jacrev": lambda f: tanx.jacrev(f)(X),
    "hessian": lambda f: tanx.hessian(f)(X),
    "vmap": lambda f: tanx.vmap(f)(X),
    "checkpoint": lambda f: tanx.checkpoint(f)(1.0),
    "grad of checkpoint": lambda f: tanx.grad(tanx.checkpoint(f))(1.0),
    "jit of vmap of grad": lambda f: tanx.jit(tanx.vmap(tanx.grad(f)))(X),
    "make_jaxpr": lambda f: tanx.make_jaxpr(f)(1.0),
    "eval_shape": lambda f: tanx.eval_shape(f, 1.0),
    "named_call": lambda f: tanx.named_call(f)(1.0),
    "closure_convert": lambda f: tanx.closure_convert(f, 1.0),
    "fwd_and_bwd": lambda f: tanx.fwd_and_bwd(f, 0)[0](1.0),
    "custom_gradient": lambda f: tanx.custom_gradient(f)(1.0),
    "jit.eval_shape": lambda f: tanx.jit(f).eval_shape(1.0),
}


@pytest.mark.parametrize("name", RETURNED)
def test_only_lines_of_the_user(name):
    found = frames(lambda: RETURNED[name](mistake))
    assert {file for file, _ in found} == {__file__}
    assert found[-1] == (__file__, "mistake")


@pytest.mark.parametrize("name", sorted(set(RETURNED) - {"custom_gradient", "fwd_and_bwd"}))
def test_tracebacks_of_errors_raised_by_tanx(name):
    def fun(x):
        return shape_mistake(jnp.zeros(4) * jnp.sum(x))

    found = frames(lambda: RETURNED[name](fun))
    assert {file for file, _ in found} == {__file__}
    assert found[-1] == (__file__, "shape_mistake")


@pytest.mark.parametrize("call", [
    lambda: tanx.grad(with_jvp)(1.0), lambda: tanx.grad(with_vjp)(1.0),
    lambda: wrong_body(1.0), lambda: tanx.jit(tanx.grad(with_jvp))(1.0),
    lambda: tanx.grad(tanx.jit(with_vjp))(1.0), lambda: tanx.vmap(wrong_body)(X)])
def test_rules_of_the_user(call):
    found = frames(call)
    assert {file for file, _ in found} == {__file__}
    assert found[-1] == (__file__, "mistake")


@pytest.mark.parametrize("call", [
    lambda: tanx.vjp(jnp.sin, 1.0)[1](X), lambda: tanx.linearize(jnp.sin, 1.0)[1](X),
    lambda: tanx.linear_transpose(jnp.sin, 1.0)(1.0),
    lambda: tanx.jit(lambda x: x, static_argnums=3),
    lambda: tanx.vmap(lambda x: x, in_axes=5)(X), lambda: tanx.grad(lambda x: x)(X),
    lambda: tanx.custom_jvp(jnp.sin)(1.0), lambda: tanx.device_put("a"),
    lambda: tanx.checkpoint(lambda x: x, static_argnums=3)(1.0)])
def test_mistakes_in_calls(call):
    assert [name for _, name in frames(call)] == ["<lambda>"]


# --- Decisions on traced values -------------------------------------------------------------------


def relu(x, scale):
    y = x * scale
    if y > 0:
        return y
    return 0.0


@pytest.mark.parametrize("call, origin", [
    (lambda: tanx.jit(relu)(1.0, 2.0),
     "depends on arguments scale, x of relu, traced for jit; made at {file}:{line} (relu): "
     "if y > 0:"),
    (lambda: tanx.jit(tanx.grad(relu))(1.0, 2.0),
     "depends on arguments scale, x of relu, traced for jit; made at {file}:{line} (relu): "
     "if y > 0:"),
    (lambda: tanx.jit(relu, static_argnums=1)(1.0, 2.0),
     "depends on argument x of relu, traced for jit; made at {file}:{line} (relu): if y > 0:"),
    (lambda: tanx.checkpoint(functools.partial(relu, scale=2.0))(1.0),
     "depends on argument x of relu, traced for checkpoint; made at {file}:{line} (relu): "
     "if y > 0:"),
    (lambda: tanx.make_jaxpr(relu)(1.0, 2.0),
     "depends on arguments scale, x of relu, traced for make_jaxpr; made at {file}:{line} (relu): "
     "if y > 0:"),
    (lambda: tanx.vmap(relu, (0, None))(X, 2.0), "batched by vmap"),
], ids=["jit", "jit of grad", "static", "checkpoint", "make_jaxpr", "vmap"])
def test_if_on_a_traced_value(call, origin):
    line = relu.__code__.co_firstlineno + 2
    with pytest.raises(TracerBoolConversionError) as caught:
        call()
    assert isinstance(caught.value, ConcretizationTypeError)
    assert str(caught.value) == (
        "bool(x): the truth of a traced value is not known while the function is traced.\n"
        f"  value:  {'' if origin == 'batched by vmap' else '~'}bool[]\n"
        f"  at:     {__file__}:{line} (relu): if y > 0:\n"
        f"  origin: {origin.format(file=__file__, line=line)}\n"
        "  Hint: write tanx.numpy.where(y > 0, a, b) to choose values, tanx.lax.cond(y > 0, f, g, "
        "...) to run one of two functions; or make the " + (
            "argument static: tanx.jit(f, static_argnames=...)." if "traced for jit" not in origin
            else 'argument static: tanx.jit(relu, static_argnames="x").' if "scale" not in origin
            else 'arguments static: tanx.jit(relu, static_argnames=("scale", "x")).'))
    found = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in found} == {__file__}
    assert (found[-1].name, found[-1].line) == ("relu", "if y > 0:")


def test_names_of_leaves():
    def fun(params, *rest, scale):
        return rest[1] if params["w"][0] * rest[1] > 0 else scale

    with pytest.raises(TracerBoolConversionError, match=r"depends on arguments params\['w'\]\[0\], "
                                                        r"rest\[1\] of fun, traced for jit"):
        tanx.jit(fun)({"w": [1.0]}, 2.0, 3.0, scale=4.0)
