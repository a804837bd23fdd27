"""``checkpoint``: what is stored, what is recomputed, and that values do not change."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import ad_checkpoint, lax
from tanx import checkpoint_policies as policies
from tanx.ad_checkpoint import checkpoint_name
from tanx.errors import TracerBoolConversionError

X = jnp.arange(3.0)
MATRIX = jnp.arange(4.0).reshape(2, 2) / 4


def error(kind, call) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def chain(x):
    return jnp.sin(jnp.exp(jnp.sin(x)))


def names(closed):
    """The names of the primitives outside and inside of the recomputation."""
    inside = [e.params["jaxpr"] for e in closed.eqns if e.primitive.name == "remat2"]
    return ([e.primitive.name for e in closed.eqns if e.primitive.name != "remat2"],
            [e.primitive.name for body in inside for e in body.eqns])


# --- Values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [None, policies.everything_saveable, policies.nothing_saveable,
                                    policies.dots_saveable])
@pytest.mark.parametrize("body", [
    lambda x: chain(x).sum(),
    lambda x: tanx.jit(chain)(x).sum(),
    lambda x: tanx.checkpoint(lambda y: tanx.jit(chain)(y) * tanx.checkpoint(jnp.cos)(y))(x).sum(),
    lambda x: (chain(x @ x) * tanx.jit(lambda y: y @ y)(x)).sum(),
    lambda x: tanx.grad(lambda y: chain(y).sum())(x).sum(),
    lambda x: tanx.vmap(tanx.checkpoint(chain))(x).sum(),
], ids=["chain", "jit", "nested", "dots", "grad", "vmap"])
def test_values_and_derivatives(policy, body):
    fun = tanx.checkpoint(body, policy=policy)
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)
    close(fun(MATRIX), body(MATRIX))
    value, gradient = tanx.value_and_grad(fun)(MATRIX)
    close(value, body(MATRIX))
    close(gradient, tanx.grad(body)(MATRIX))
    close(tanx.jit(tanx.grad(fun))(MATRIX), gradient)
    close(tanx.grad(tanx.jit(fun))(MATRIX), gradient)
    close(tanx.jvp(fun, (MATRIX,), (MATRIX,))[1], (gradient * MATRIX).sum())
    close(tanx.vmap(tanx.grad(fun))(MATRIX[None])[0], gradient)
    close(tanx.hessian(fun)(MATRIX), tanx.hessian(body)(MATRIX))


def test_pytrees_and_integers():
    @tanx.checkpoint
    def fun(x, tree):
        return {"out": x * tree["a"], "n": tree["n"] + 1, "same": x}

    tree = {"a": 3.0, "n": 1}
    assert fun(2.0, tree) == {"out": 6.0, "n": 2, "same": 2.0}
    gradient = tanx.grad(lambda x, t: fun(x, t)["out"], (0, 1), allow_int=True)(2.0, tree)
    assert gradient[0] == 3.0 and gradient[1]["a"] == 2.0
    assert gradient[1]["n"].dtype == tanx.float0


def test_closures():
    def outer(x, y):
        return tanx.checkpoint(lambda z: jnp.sin(x) * z)(y)

    for fun in (outer, tanx.jit(outer)):
        np.testing.assert_allclose(tanx.grad(fun, (0, 1))(1.0, 2.0),
                                   (2 * np.cos(1), np.sin(1)), rtol=1e-6)
    np.testing.assert_allclose(tanx.vmap(tanx.grad(outer), (0, None))(X, 2.0), 2 * np.cos(X),
                               rtol=1e-6)
    np.testing.assert_allclose(tanx.grad(tanx.grad(outer), 1)(1.0, 2.0), np.cos(1), rtol=1e-6)


def test_a_function_is_staged_once_for_each_kind_of_arguments():
    runs = []

    @tanx.checkpoint
    def fun(x):
        runs.append(x.shape)
        return jnp.sin(x)

    for x in (1.0, 2.0, jnp.float32(3)):
        tanx.grad(fun)(x)
    fun(X)
    assert runs == [(), (), (3,)]  # weak, not weak, another shape


# --- What is stored -------------------------------------------------------------------------------


def test_without_a_policy_the_arguments_are_stored():
    closed = tanx.make_jaxpr(tanx.grad(tanx.checkpoint(chain)))(1.0)
    assert str(closed) == """\
{ lambda ; a:f32[]. let
    b:f32[] = sin a
    c:f32[] = exp b
    _:f32[] = sin c
    d:f32[] = remat2[
      differentiated=True
      jaxpr={ lambda ; e:f32[] f:f32[]. let
          g:f32[] = sin e
          h:f32[] = cos e
          i:f32[] = exp g
          j:f32[] = cos i
          k:f32[] = mul f j
          l:f32[] = mul k i
          m:f32[] = mul l h
        in (m,) }
      policy=None
      prevent_cse=True
    ] a 1.0:f32[]
  in (d,) }"""


def test_without_derivatives_there_is_one_call():
    closed = tanx.make_jaxpr(tanx.checkpoint(chain, prevent_cse=False))(1.0)
    (call,) = closed.eqns
    assert call.params["differentiated"] is False and call.params["prevent_cse"] is False


def product(x):
    return (checkpoint_name(jnp.sin(x @ x), "sine") * checkpoint_name(jnp.exp(x), "exp")).sum()


@pytest.mark.parametrize("policy, again", [
    (policies.everything_saveable, set()),
    (policies.nothing_saveable, {"dot_general", "sin", "exp", "cos", "name"}),
    (policies.dots_saveable, {"sin", "exp", "cos", "name"}),
    (policies.dots_with_no_batch_dims_saveable, {"sin", "exp", "cos", "name"}),
    (policies.save_only_these_names("sine"), {"dot_general", "exp", "cos", "name"}),
    (policies.save_only_these_names("sine", "exp"), {"dot_general", "exp", "cos"}),
    (policies.save_any_names_but_these("sine"), {"dot_general", "sin", "exp", "cos", "name"}),
    (policies.save_anything_except_these_names("sine"), {"name"}),
    (policies.save_from_both_policies(policies.dots_saveable,
                                      policies.save_only_these_names("exp")),
     {"sin", "exp", "cos", "name"}),
    (policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["sine"], names_which_can_be_offloaded=["exp"],
        offload_src="device", offload_dst="pinned_host"),
     {"dot_general", "exp", "cos", "device_put"}),
    (policies.offload_dot_with_no_batch_dims("device", "pinned_host"),
     {"sin", "exp", "cos", "name", "device_put"}),
], ids=lambda value: getattr(value, "__qualname__", "-").split(".")[0])
@pytest.mark.parametrize("body", [product, tanx.jit(product)], ids=["plain", "jit"])
def test_policies(policy, again, body):
    closed = tanx.make_jaxpr(tanx.grad(tanx.checkpoint(body, policy=policy)))(MATRIX)
    _, inside = names(closed)
    backward = {"dot_general", "mul", "neg", "transpose", "broadcast_in_dim", "add_any"}
    dots = inside.count("dot_general") - 2  # two belong to the backward pass
    found = set(inside) - backward | ({"dot_general"} if dots else set())
    assert found == again
    np.testing.assert_allclose(tanx.grad(tanx.checkpoint(body, policy=policy))(MATRIX),
                               tanx.grad(product)(MATRIX), rtol=1e-6)


def test_batch_dimensions():
    matrices = MATRIX[None]
    batched = lambda x: lax.dot_general(x, x, (((2,), (1,)), ((0,), (0,)))).sum()
    fun = tanx.checkpoint(lambda x: jnp.sin(batched(x)),
                          policy=policies.dots_with_no_batch_dims_saveable)
    _, inside = names(tanx.make_jaxpr(tanx.grad(fun))(matrices))
    assert inside.count("dot_general") == 3


def test_policy_answers_have_truth_values_and_reprs():
    answers = [ad_checkpoint.Saveable, ad_checkpoint.Recompute,
               ad_checkpoint.Offloadable("device", "pinned_host")]
    assert [bool(a) for a in answers] == [True, False, True]
    assert [repr(a) for a in answers] == [
        "Saveable", "Recompute", "Offloadable(src='device', dst='pinned_host')"]


def test_names_are_the_identity():
    tree = {"a": 1.0, "b": X}
    named = checkpoint_name(tree, "x")
    assert named["a"] == 1.0 and isinstance(named["a"], tanx.Array)
    np.testing.assert_array_equal(named["b"], X)
    assert str(tanx.make_jaxpr(lambda x: checkpoint_name(x, "n"))(1.0)) == (
        "{ lambda ; a:f32[]. let b:f32[] = name[name=n] a in (b,) }")
    assert tanx.grad(lambda x: checkpoint_name(x * 3, "n"))(1.0) == 3.0


def test_print_saved_residuals(capsys):
    def fun(x, tree):
        return (checkpoint_name(jnp.sin(x), "sine") * tree["a"] * X).sum()

    def printed(fun):
        ad_checkpoint.print_saved_residuals(fun, X, {"a": X})
        return capsys.readouterr().out.replace(__file__, "FILE").splitlines()

    line = fun.__code__.co_firstlineno + 1
    assert printed(fun) == [
        "f32[3] from the argument tree['a']",
        "f32[3] from a constant",
        f"f32[3] output of cos from FILE:{line}:32 ({fun.__qualname__})",
        f"f32[3] named 'sine' from FILE:{line}:16 ({fun.__qualname__})"]
    assert printed(tanx.checkpoint(fun)) == [
        "f32[3] from the argument x", "f32[3] from the argument tree['a']"]
    here = printed.__code__.co_firstlineno + 1
    assert (f"f32[3] output of jitted function 'fun' from FILE:{here}:8 ({printed.__qualname__})"
            in printed(tanx.jit(fun)))


OFFLOADING = policies.save_and_offload_only_these_names(
    names_which_can_be_saved=["sine"], names_which_can_be_offloaded=["exp"],
    offload_src="device", offload_dst="pinned_host")


def offloaded(x):
    sine = checkpoint_name(jnp.sin(x), "sine")
    return jnp.sum(jnp.sin(checkpoint_name(jnp.exp(sine), "exp")))


def test_offloaded_residuals_are_on_the_host(capsys):
    fun = tanx.checkpoint(offloaded, policy=OFFLOADING)
    ad_checkpoint.print_saved_residuals(fun, X)
    line = offloaded.__code__.co_firstlineno
    assert capsys.readouterr().out.replace(__file__, "FILE").splitlines() == [
        "f32[3] from the argument x",
        f"f32[3] named 'sine' from FILE:{line + 1}:11 (offloaded)",
        f"f32<host>[3] output of device_put from FILE:{line + 2}:27 (offloaded)"]
    closed = tanx.make_jaxpr(tanx.grad(fun))(X)
    puts = [e for e in closed.eqns if e.primitive.name == "device_put"]
    assert [str(e.outvars[0].aval) for e in puts] == ["float32<host>[3]"]
    assert puts[0].params["devices"] == (tanx.memory.Space.Host,)
    (call,) = [e for e in closed.eqns if e.primitive.name == "remat2"]
    back = [e for e in call.params["jaxpr"].eqns if e.primitive.name == "device_put"]
    assert [(str(e.invars[0].aval), str(e.outvars[0].aval)) for e in back] == [
        ("float32<host>[3]", "float32[3]")]
    assert tanx.typeof(tanx.grad(fun)(X)) == tanx.typeof(X)


@pytest.mark.parametrize("body", [
    offloaded, tanx.jit(offloaded), lambda x: tanx.vmap(offloaded)(x[None]).sum(),
    lambda x: lax.cond(x[1] > 0, offloaded, jnp.sum, x),
    lambda x: lax.top_k(checkpoint_name(jnp.sin(x), "exp"), 2)[0].prod(),
    lambda x: lax.scan(lambda c, y: (offloaded(c * y) * x, None), x, jnp.ones((3, 3)))[0].sum()],
    ids=["plain", "jit", "vmap", "cond", "top_k", "scan"])
@pytest.mark.parametrize("policy", [
    OFFLOADING, lambda prim, *_, **__: ad_checkpoint.Offloadable("device", "pinned_host")],
    ids=["names", "all"])
def test_offloading_changes_no_derivatives(body, policy):
    fun = tanx.checkpoint(body, policy=policy)
    repeated = lambda x: lax.fori_loop(0, 2, lambda _, y: y * fun(x), 1.0)
    for transformed in (tanx.grad, tanx.hessian, lambda f: tanx.jacrev(tanx.grad(f))):
        expected = transformed(body)(X + 1)
        compiled = tanx.jit(transformed(fun))
        for found in [transformed(fun)(X + 1), *(compiled(X + 1) for _ in range(4))]:
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-5)
    np.testing.assert_allclose(tanx.grad(repeated)(X + 1), 2 * body(X + 1) * tanx.grad(body)(X + 1),
                               rtol=2e-5, atol=1e-5)


def test_offloading_functions_are_exported():
    gradient = tanx.jit(tanx.grad(tanx.checkpoint(offloaded, policy=OFFLOADING)))
    exported = tanx.export.deserialize(tanx.export.export(gradient)(X).serialize())
    for _ in range(4):
        np.testing.assert_allclose(exported.call(X), tanx.grad(offloaded)(X), rtol=1e-6)


# --- Arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [dict(static_argnums=1), dict(static_argnums=(1,)),
                                     dict(static_argnums=-1)])
def test_static_arguments_by_position(options):
    @tanx.checkpoint(**options)
    def fun(x, n):
        return x * n if n > 1 else x

    assert fun(2.0, 3) == 6.0 and fun(2.0, 1) == 2.0
    assert tanx.grad(fun)(2.0, 3) == 3.0


@pytest.mark.parametrize("options", [dict(static_argnames="n"), dict(static_argnames=("n", "m"))])
def test_static_arguments_by_name(options):
    @tanx.checkpoint(**options)
    def fun(x, *, n, scale=1.0):
        return x * n * scale if n > 1 else x

    assert fun(2.0, n=3) == 6.0 and fun(2.0, n=1) == 2.0 and fun(2.0, n=3, scale=2.0) == 12.0
    assert tanx.grad(fun)(2.0, n=3, scale=2.0) == 6.0


def test_static_arguments_need_no_hash():
    fun = tanx.checkpoint(lambda x, ns: sum(x * n for n in ns), static_argnums=1)
    assert fun(2.0, [1, 2]) == 6.0 and tanx.grad(fun)(2.0, [1, 2]) == 3.0


def test_branching_on_checkpointed_arguments_raises():
    def fun(x, n):
        return x * n if n > 1 else x

    with pytest.raises(TracerBoolConversionError,
                       match="depends on argument n of fun, traced for checkpoint"):
        tanx.checkpoint(fun)(2.0, 3)


@pytest.mark.parametrize("call, kind, text", [
    (lambda: tanx.checkpoint(lambda x: x, static_argnums=5)(1.0), ValueError,
     "tanx.checkpoint: static_argnums names an argument that was not passed by position.\n"
     "  static_argnums: (5,)\n"
     "  arguments:      1 passed to <lambda>"),
    (lambda: tanx.checkpoint(lambda x, mode: x)(1.0, "fast"), TypeError,
     "tanx.checkpoint of <lambda>: needs arrays or numbers.\n"
     "  at [0][1]: 'fast' of type str\n"
     "  Hint: list it in static_argnums or static_argnames."),
    (lambda: tanx.checkpoint(lambda x: "result")(1.0), TypeError,
     "tanx.checkpoint: result of <lambda>: needs arrays or numbers.\n"
     "  at its root: 'result' of type str"),
    (lambda: tanx.checkpoint(3), TypeError,
     "tanx.checkpoint: needs a function.\n"
     "  given: 3"),
])
def test_mistakes(call, kind, text):
    assert error(kind, call) == text


def test_name_and_documentation():
    @tanx.checkpoint
    def square(x):
        """The square."""
        return x * x

    assert (square.__name__, square.__doc__) == ("square", "The square.")
    assert tanx.remat is tanx.checkpoint
