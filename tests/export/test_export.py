"""Exported functions: attributes, calls, derivatives, and serialisation."""

import collections
import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import export, lax, tree_util

ROOT = Path(__file__).parents[2]


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def spec(*shape, dtype=np.float32):
    return tanx.ShapeDtypeStruct(shape, dtype)


def stored(exported, **options):
    """The function after serialisation and deserialisation."""
    return export.deserialize(exported.serialize(**options))


def check(got, expected):
    """Check that values, dtypes and weak types agree."""
    assert tree_util.tree_structure(got) == tree_util.tree_structure(expected)
    for x, y in zip(tree_util.tree_leaves(got), tree_util.tree_leaves(expected)):
        assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)
        if tanx.dtypes.issubdtype(x.dtype, tanx.dtypes.prng_key):
            x, y = tanx.random.key_data(x), tanx.random.key_data(y)
        np.testing.assert_allclose(np.asarray(x, np.complex128), np.asarray(y, np.complex128),
                                   rtol=1e-5, atol=1e-6)


# --- Facts ----------------------------------------------------------------------------------------


def test_facts():
    def scale(x, *, by, unused):
        return {"y": x * by}
    exported = export.export(tanx.jit(scale))(ones(3), by=2.0, unused=ones(2))
    for found in (exported, stored(exported)):
        assert found.fun_name == "scale"
        assert found.in_tree == tree_util.tree_structure(((0,), {"by": 0, "unused": 0}))
        assert found.out_tree == tree_util.tree_structure({"y": 0})
        assert list(map(str, found.in_avals)) == ["float32[3]", "~float32[]", "float32[2]"]
        assert list(map(str, found.out_avals)) == ["float32[3]"]
        assert found.platforms == ("cpu",) and found.nr_devices == 1
        assert found.ordered_effects == found.unordered_effects == ()
        assert found.disabled_safety_checks == ()
        assert found.module_kept_var_idx == (0, 1)
        assert found.uses_global_constants is False
        assert found.in_shardings_hlo == found.in_shardings_jax() == (None,) * 3
        assert found.out_shardings_hlo == found.out_shardings_jax() == (None,)
        assert (export.minimum_supported_calling_convention_version
                <= found.calling_convention_version
                <= export.maximum_supported_calling_convention_version)
        assert isinstance(found.mlir_module_serialized, bytes)
        assert str(found) == "Exported(fun_name=scale, ...)"
        assert dataclasses.replace(found, fun_name="other").fun_name == "other"


def test_unused_arguments_are_kept_where_that_is_asked_for():
    exported = export.export(tanx.jit(lambda x, y: x, keep_unused=True))(1.0, 2.0)
    assert exported.module_kept_var_idx == (0, 1)


def test_platforms():
    assert export.default_export_platform() == "cpu"
    several = export.export(tanx.jit(jnp.sin), platforms=["tpu", "cpu"])(1.0)
    assert several.platforms == ("tpu", "cpu") and several.uses_global_constants
    check(stored(several).call(1.0), jnp.sin(1.0))
    other = stored(export.export(tanx.jit(jnp.sin), platforms=["tpu"])(1.0))
    with pytest.raises(ValueError, match="other platforms"):
        other.call(1.0)
    off = export.DisabledSafetyCheck.platform()
    anyway = export.export(tanx.jit(jnp.sin), platforms=["tpu"], disabled_checks=[off])(1.0)
    assert stored(anyway).disabled_safety_checks == (off,)
    check(stored(anyway).call(1.0), jnp.sin(1.0))


def test_disabled_checks():
    off, call = (export.DisabledSafetyCheck.platform(),
                 export.DisabledSafetyCheck.custom_call("dgesv"))
    assert (str(off), repr(call)) == ("platform", "custom_call:dgesv")
    assert off.is_custom_call() is None and call.is_custom_call() == "dgesv"
    assert off == export.DisabledSafetyCheck.platform() != call
    assert len({off, call, export.DisabledSafetyCheck.platform()}) == 2


# --- Calls ----------------------------------------------------------------------------------------


def attention(x, params):
    q, k, v = (x @ params[name] for name in "qkv")
    weights = tanx.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1]), axis=-1)
    return x + weights @ v


def table(x):
    return x + jnp.asarray(np.arange(3, dtype=np.float32))


def loop(x):
    return lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, jnp.sin(c[1])), (0, x))


def summed(x):
    return lax.scan(lambda c, row: (c + row, jnp.where(c > 1, c, row)), jnp.zeros(3), x)


def chosen(x):
    return lax.switch(x[0].astype(int), [jnp.sin, jnp.cos, lambda x: x * 2], x)


FUNCTIONS = [
    (lambda x: x + 1, (1.0,)),
    (lambda x: x + 1, (3,)),
    (lambda x: (None, [x, {"k": (), "i": -x}]), (ones(2),)),
    (lambda x: x, (ones(0, 3),)),
    (attention, (ones(4, 8) / 3, {name: ones(8, 8) / (2 + i) for i, name in enumerate("qkv")})),
    (table, (ones(3),)),
    (loop, (ones(3) / 2,)),
    (summed, (ones(4, 3) / 3,)),
    (chosen, (ones(2),)),
    (lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(3)), (ones(3, 3),)),
    (lambda x: jnp.sort(x, axis=0)[::-1], (ones(4, 2) * np.arange(2, dtype=np.float32),)),
    (lambda x: x.astype("bfloat16") * 2, (ones(3),)),
    (lambda x: jnp.fft.rfft(x), (ones(8),)),
    (lambda x: x.at[1].set(5), (ones(3, dtype=np.int8),)),
    (lambda key: tanx.random.normal(tanx.random.split(key)[0], (3,)), (tanx.random.key(3),)),
    (lambda key: tanx.random.split(key), (tanx.random.key(3),)),
    (lambda x: jnp.interp(x, jnp.arange(3.0), jnp.arange(3.0) ** 2), (ones(3) / 2,)),
    (lambda x: tanx.nn.relu(tanx.nn.gelu(x)), (ones(3),)),
    (tanx.checkpoint(lambda x: jnp.sin(x) * 2, policy=tanx.checkpoint_policies.dots_saveable),
     (ones(3),)),
    (lambda x: lax.reduce(x, 0.0, lambda a, b: a + b * 1, (0,)), (ones(3, 2),)),
    (lambda x: (), (1.0,)),
    (lambda x: collections.OrderedDict(b=x, a=[x + 1]), (1.0,)),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_stored_functions_compute_the_same(number):
    fun, args = FUNCTIONS[number]
    function = tanx.jit(fun)
    expected = function(*args)
    exported = export.export(function)(*args)
    found = stored(exported)
    outer = tanx.jit(lambda *args: found.call(*args))
    for _ in range(4):
        check(exported.call(*args), expected)
        check(found.call(*args), expected)
        check(outer(*args), expected)
    assert [a.str_short() for a in found.out_avals] == [
        x.aval.str_short() for x in tree_util.tree_leaves(expected)]


def test_exported_functions_run_in_other_processes(tmp_path):
    path = tmp_path / "program"
    exported = export.export(tanx.jit(attention))(*FUNCTIONS[4][1])
    path.write_bytes(exported.serialize(vjp_order=1))
    code = f"""
import numpy as np, tanx
from tanx import export
found = export.deserialize(open({str(path)!r}, "rb").read())
x, p = np.ones((4, 8), np.float32) / 3, {{n: np.ones((8, 8), np.float32) / 2 for n in "qkv"}}
print(float(tanx.grad(lambda x: found.call(x, p).sum())(x).sum()))"""
    environment = {**os.environ, "TANX_ENABLE_COMPILATION_CACHE": "0"}
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, text=True,
                            capture_output=True)
    assert result.returncode == 0, result.stderr
    x, p = ones(4, 8) / 3, {name: ones(8, 8) / 2 for name in "qkv"}
    expected = tanx.grad(lambda x: attention(x, p).sum())(x).sum()
    np.testing.assert_allclose(float(result.stdout), expected, rtol=1e-5)


def test_static_arguments_are_part_of_the_function():
    exported = export.export(tanx.jit(lambda x, n: x * n, static_argnums=1))(ones(2), 3)
    check(stored(exported).call(ones(2)), jnp.full(2, np.float32(3)))


def test_calls_inside_of_transformations():
    found = stored(export.export(tanx.jit(lambda x: jnp.sin(x) * 2))(spec(3)), vjp_order=2)

    def fun(x):
        return jnp.sin(x) * 2
    rows = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)

    def total(call):
        return lambda x: call(x).sum()

    def carried(call):
        return lambda x: lax.scan(lambda c, _: (call(c), None), x, None, length=3)[0]

    def carried_back(call):
        return tanx.grad(lambda x: carried(call)(x).sum())

    def second(call):
        return lambda x: tanx.grad(lambda x: tanx.grad(total(call))(x).sum())(x)

    for make, x in ((tanx.vmap, rows), (lambda f: tanx.grad(total(f)), rows[0]),
                    (lambda f: tanx.vmap(tanx.grad(total(f))), rows), (carried, rows[0]),
                    (carried_back, rows[1]),
                    (second, rows[1]), (tanx.checkpoint, rows[0])):
        mine, theirs = tanx.jit(make(found.call)), make(fun)
        for _ in range(4):
            check(mine(x), theirs(x))
        check(make(found.call)(x), theirs(x))
    nested = export.export(tanx.jit(lambda x: found.call(x) + 1))(spec(3))
    check(stored(nested, vjp_order=1).call(rows[0]), fun(rows[0]) + 1)
    check(tanx.grad(total(stored(nested, vjp_order=1).call))(rows[0]), tanx.grad(total(fun))(
        rows[0]))


def test_rules_of_users_are_in_stored_derivatives():
    clipped = tanx.custom_vjp(lambda x: x)
    clipped.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1, 1),))
    doubled = tanx.custom_jvp(lambda x: x)
    doubled.defjvps(lambda t, y, x: 2 * t)
    found = stored(export.export(tanx.jit(lambda x: clipped(5 * doubled(x))))(1.0), vjp_order=1)
    derivative = tanx.jit(tanx.grad(found.call))
    for _ in range(4):
        assert derivative(3.0) == 10.0


def test_derivatives_with_integers():
    exported = export.export(tanx.jit(lambda x, i: (jnp.sin(x) * i, i + 1)))(ones(3), np.int32(2))
    for found in (exported, stored(exported, vjp_order=1)):
        derivative = found.vjp()
        assert [a.str_short() for a in derivative.in_avals] == [
            "float32[3]", "int32[]", "float32[3]", "float0[]"]
        assert [a.str_short() for a in derivative.out_avals] == ["float32[3]", "float0[]"]
        gradient = tanx.jit(tanx.grad(lambda x, found=found: found.call(x, np.int32(2))[0].sum()))
        for _ in range(4):
            check(gradient(ones(3)), 2 * jnp.cos(ones(3)))


def test_derivatives_that_were_not_stored():
    exported = export.export(tanx.jit(jnp.sin))(1.0)
    assert exported.has_vjp() and exported.vjp().vjp().has_vjp()
    found = stored(exported, vjp_order=1)
    assert found.has_vjp() and not found.vjp().has_vjp()
    with pytest.raises(ValueError, match="without its derivative"):
        stored(exported).vjp()
    with pytest.raises(ValueError, match="without its derivative"):
        tanx.grad(stored(exported).call)(1.0)
    with pytest.raises(TypeError, match="forward-mode autodiff"):
        tanx.jvp(found.call, (1.0,), (1.0,))
    with pytest.raises(ValueError, match="vjp_order"):
        exported.serialize(vjp_order=-1)


# --- Errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("args, kwargs, error, facts", [
    ((ones(4),), {"y": ones(3)}, ValueError, ("another shape", "args[0]", "float32[3]",
                                              "float32[4]")),
    ((ones(3),), {"y": ones(1, 3)}, ValueError, ("number of dimensions", "kwargs['y']")),
    ((ones(3, dtype=np.int32),), {"y": ones(3)}, ValueError, ("another dtype", "int32[3]")),
    ((ones(3), ones(3)), {}, ValueError, ("another structure",)),
    ((ones(3),), {}, ValueError, ("another structure",)),
    (("text",), {"y": ones(3)}, TypeError, ("needs arrays",)),
])
def test_wrong_arguments(args, kwargs, error, facts):
    found = stored(export.export(tanx.jit(lambda x, y: x * y))(ones(3), y=ones(3)))
    with pytest.raises(error) as caught:
        found.call(*args, **kwargs)
    assert all(fact in str(caught.value) for fact in facts)


def test_unsupported_exports_raise():
    with pytest.raises(ValueError, match="needs a function that jit has wrapped"):
        export.export(lambda x: x)
    with pytest.raises(TypeError, match="sequence of names"):
        export.export(tanx.jit(jnp.sin), platforms="cpu")
    with pytest.raises(TypeError, match="DisabledSafetyCheck"):
        export.export(tanx.jit(jnp.sin), disabled_checks=["platform"])
    with pytest.raises(NotImplementedError, match="FlatCallback.*\n.*pure_callback"):
        export.export(tanx.jit(lambda x: tanx.pure_callback(np.sin, x, x)))(ones(2))
    with pytest.raises(NotImplementedError, match="lowering rules"):
        export.export(tanx.jit(jnp.sin), _override_lowering_rules=())
    with pytest.raises(TypeError, match="needs bytes"):
        export.deserialize("text")

    def outer(x):
        return export.export(tanx.jit(lambda y: x + y))(1.0)
    with pytest.raises(TypeError, match="closes over"):
        tanx.jit(outer)(1.0)


# --- Structures -----------------------------------------------------------------------------------

Pair = collections.namedtuple("Pair", "first second")


class Tagged:
    """A node with static data besides its children."""

    def __init__(self, tag, value):
        self.tag, self.value = tag, value


tree_util.register_pytree_node(
    Tagged, lambda node: ((node.value,), node.tag), lambda tag, children: Tagged(tag, *children))


def test_nodes_of_users():
    with pytest.raises(ValueError, match="no form as bytes.*\n.*Pair"):
        export.export(tanx.jit(lambda x: Pair(x, x)))(1.0).serialize()
    assert export.register_namedtuple_serialization(Pair, serialized_name="tests.Pair") is Pair
    export.register_pytree_node_serialization(
        Tagged, serialized_name="tests.Tagged", serialize_auxdata=str.encode,
        deserialize_auxdata=bytes.decode)
    found = stored(export.export(tanx.jit(lambda x: Tagged("ü", Pair(x, [x + 1]))))(1.0))
    for _ in range(4):
        result = found.call(2.0)
        assert (result.tag, result.value.first, result.value.second) == ("ü", 2.0, [3.0])

    class Unknown:
        pass
    export.register_pytree_node_serialization(
        Unknown, serialized_name="tests.Unknown", serialize_auxdata=lambda aux: b"",
        deserialize_auxdata=lambda data: None, from_children=lambda aux, children: Unknown())
    with pytest.raises(TypeError, match="not flattened"):
        tree_util.tree_leaves(Unknown())


def test_registrations_are_checked():
    Other = collections.namedtuple("Other", "a")
    export.register_namedtuple_serialization(Other, serialized_name="tests.Other")
    Third = collections.namedtuple("Third", "a")

    class Plain:
        pass
    for register, kind, name, problem in (
            (export.register_namedtuple_serialization, Other, "x", "registered already"),
            (export.register_namedtuple_serialization, Third, "tests.Other", "name is taken"),
            (export.register_namedtuple_serialization, Third, "tuple", "name is taken"),
            (export.register_namedtuple_serialization, dict, "x", "named tuples only")):
        with pytest.raises(ValueError, match=problem):
            register(kind, serialized_name=name)
    with pytest.raises(ValueError, match="not a pytree"):
        export.register_pytree_node_serialization(
            Plain, serialized_name="x", serialize_auxdata=lambda aux: b"",
            deserialize_auxdata=lambda data: None)


def test_deep_and_wide_structures():
    deep = 1.0
    for n in range(300):
        deep = (deep, [None]) if n % 2 else {5: deep, 3: ()} if n % 3 else [deep]
    found = stored(export.export(tanx.jit(lambda x: x))(deep))
    assert found.out_tree == tree_util.tree_structure(deep)
    check(found.call(deep), tanx.jit(lambda x: x)(deep))
    wide = {f"key {n}": float(n) for n in range(500)}
    check(stored(export.export(tanx.jit(lambda x: x))(wide)).call(wide),
          tanx.jit(lambda x: x)(wide))


def test_programs_as_text():
    exported = export.export(tanx.jit(lambda x: jnp.sin(x) + 1))(ones(3))
    text = exported.mlir_module()
    assert "stablehlo.sine" in text and "tensor<3xf32>" in text
    assert stored(exported).mlir_module() == text


def test_references_inside_a_function_are_values_in_its_file():
    def fun(x):
        ref = tanx.new_ref(x)
        ref[...] *= 2
        return ref[...]

    exported = export.export(tanx.jit(fun))(tanx.ShapeDtypeStruct((3,), "float32"))
    found = export.deserialize(exported.serialize())
    for _ in range(4):
        np.testing.assert_array_equal(found.call(np.ones(3, np.float32)), [2, 2, 2])
    with pytest.raises(NotImplementedError, match="takes references"):
        export.export(tanx.jit(lambda r: r[...]))(tanx.new_ref(np.ones(3)))
