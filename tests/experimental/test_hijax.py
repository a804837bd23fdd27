"""Types and primitives of a library: values that consist of arrays, under each transformation."""

from dataclasses import dataclass

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx.experimental import hijax
from tanx.experimental.hijax import HiPrim, HiType, MappingSpec, ShapedArray

F32, I8 = np.dtype("float32"), np.dtype("int8")


@dataclass(frozen=True)
class Scaled:
    """8-bit numbers, and a factor for each row."""

    numbers: object
    factors: object


@dataclass(frozen=True)
class Leading(MappingSpec):
    """A batch of scaled numbers is mapped along its first axis."""


@dataclass(frozen=True, repr=False)
class ScaledType(HiType):
    shape: tuple

    def lo_ty(self):
        return [ShapedArray(self.shape, I8), ShapedArray(self.shape[:-1], F32)]

    def lower_val(self, value):
        return [value.numbers, value.factors]

    def raise_val(self, numbers, factors):
        return Scaled(numbers, factors)

    def to_tangent_aval(self):
        return ShapedArray(self.shape, F32)

    def inc_rank(self, size, spec):
        return ScaledType((size, *self.shape))

    def dec_rank(self, size, spec):
        assert spec == Leading() and self.shape[0] == size
        return ScaledType(self.shape[1:])

    def leading_axis_spec(self):
        return Leading()

    def __repr__(self):
        return f"s8[{','.join(map(str, self.shape))}]"


hijax.register_hitype(Scaled, lambda value: ScaledType(value.numbers.shape))


class Prim(HiPrim):
    """A primitive whose types follow from one operand; its derivative is the identity."""

    def __init__(self, x, out):
        self.in_avals, self.out_aval, self.params = (x,), out, {}
        super().__init__()

    def vjp_fwd(self, nonzero, x):
        return self(x), None

    def vjp_bwd_retval(self, _, ct):
        return (ct,)

    def jvp(self, primals, tangents):
        return self(*primals), tangents[0]


class Pack(Prim):
    def expand(self, x):
        factors = jnp.max(jnp.abs(x), axis=-1) / 127
        return Scaled(jnp.round(x / factors[..., None]).astype(jnp.int8), factors)

    def batch(self, axis, args, dims):
        return (pack(args[0]), None) if dims[0] is None else (
            pack(jnp.moveaxis(args[0], dims[0], 0)), Leading())


class Unpack(Prim):
    def expand(self, value):
        return value.numbers.astype("float32") * value.factors[..., None]

    def batch(self, axis, args, dims):
        return unpack(args[0]), None if dims[0] is None else 0


def pack(x):
    aval = tanx.typeof(x)
    return Pack(aval, ScaledType(aval.shape))(x)


def unpack(value):
    aval = tanx.typeof(value)
    return Unpack(aval, ShapedArray(aval.shape, F32))(value)


X = np.linspace(-2, 3, 6, dtype=np.float32).reshape(2, 3)
XS = np.linspace(-5, 9, 24, dtype=np.float32).reshape(4, 2, 3)


def plain(x):
    """The numbers after packing and unpacking."""
    factors = np.abs(x).max(-1, keepdims=True) / np.float32(127)
    return np.round(x / factors) * factors


def same(found, expected, dtype="float32"):
    assert (found.shape, found.dtype) == (np.shape(expected), np.dtype(dtype))
    assert not found.weak_type
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_value_is_one_variable():
    packed = pack(jnp.asarray(X))
    assert str(tanx.typeof(packed)) == "s8[2,3]" and isinstance(packed, Scaled)
    jaxpr = str(tanx.make_jaxpr(lambda x: unpack(pack(x)))(X))
    assert "b:s8[2,3] = Pack a" in jaxpr and "c:f32[2,3] = Unpack b" in jaxpr
    assert tanx.eval_shape(pack, X) == ScaledType((2, 3))
    assert tanx.tree.leaves((packed, 1)) == [packed, 1]


@pytest.mark.parametrize("function, make", [
    (lambda x: unpack(pack(x)), lambda: jnp.asarray(X)),       # inside
    (lambda x: unpack(tanx.jit(pack)(x)), lambda: jnp.asarray(X)),
    (unpack, lambda: pack(jnp.asarray(X))),                    # as an argument
    (lambda v: tanx.jit(unpack)(v), lambda: pack(jnp.asarray(X)))])
def test_jit(function, make):
    compiled = tanx.jit(function)
    for _ in range(4):
        same(compiled(make()), plain(X))


def test_results_and_constants_of_jit():
    compiled, packed = tanx.jit(pack), pack(jnp.asarray(X))
    closing = tanx.jit(lambda x: unpack(packed) + x)
    for _ in range(4):
        out = compiled(X)
        assert tanx.typeof(out) == ScaledType((2, 3))
        same(out.factors, np.abs(X).max(-1) / np.float32(127))
        same(closing(X), plain(X) + X)


@pytest.mark.parametrize("wrap", [lambda f: f, tanx.jit, lambda f: tanx.jit(tanx.checkpoint(f))])
def test_gradients(wrap):
    loss = wrap(lambda x: jnp.sum(unpack(pack(x)) ** 2))
    same(tanx.grad(loss)(jnp.asarray(X)), 2 * plain(X))
    of_packed = wrap(lambda v: jnp.sum(unpack(v) ** 2))
    packed = pack(jnp.asarray(X))
    same(tanx.grad(of_packed)(packed), 2 * plain(X))
    same(tanx.vjp(of_packed, packed)[1](1.0)[0], 2 * plain(X))
    out, tangent = tanx.jvp(of_packed, (packed,), (jnp.ones((2, 3)),))
    np.testing.assert_allclose(tangent, 2 * plain(X).sum(), rtol=1e-5)
    np.testing.assert_allclose(tanx.linearize(of_packed, packed)[1](jnp.ones((2, 3))), tangent)
    with pytest.raises(ValueError, match="a tangent must have the tangent type"):
        tanx.jvp(of_packed, (packed,), (jnp.ones(3),))


@pytest.mark.parametrize("wrap", [lambda f: f, tanx.jit])
def test_vmap(wrap):
    packed = tanx.vmap(wrap(pack), out_axes=Leading())(XS)
    assert tanx.typeof(packed) == ScaledType((4, 2, 3))
    same(tanx.vmap(wrap(unpack), in_axes=Leading(), axis_size=4)(packed), plain(XS))
    loss = wrap(lambda x: jnp.sum(unpack(pack(x)) ** 2))
    same(tanx.vmap(tanx.grad(loss))(jnp.asarray(XS)), 2 * plain(XS))
    same(tanx.grad(lambda xs: tanx.vmap(loss)(xs).sum())(jnp.asarray(XS)), 2 * plain(XS))


@pytest.mark.parametrize("options, rule", [
    (dict(in_axes=Leading()), "nothing is mapped that has a size"),
    (dict(in_axes=0), "have no axis 0"),
    (dict(in_axes=Leading(), axis_size=4, out_axes=Leading()), "mapped by 0")])
def test_mistakes_with_vmap(options, rule):
    with pytest.raises(ValueError, match=rule):
        tanx.vmap(unpack, **options)(pack(jnp.asarray(XS)))


@pytest.mark.parametrize("wrap", [lambda f: f, tanx.jit])
def test_loops_and_branches(wrap):
    packed = pack(jnp.asarray(XS))
    total = wrap(lambda v: lax.scan(lambda c, row: (c + unpack(row).sum(), None), 0.0, v,
                                    length=4)[0])
    start = pack(jnp.asarray(X))
    doubled = wrap(lambda v, xs: lax.scan(
        lambda c, x: (pack(unpack(c) * 2), pack(x)), v, xs))
    chosen = wrap(lambda flag, v: unpack(lax.cond(
        flag, lambda v: v, lambda v: pack(3 * unpack(v)), v)))
    looped = wrap(lambda v: unpack(lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, pack(unpack(c[1]) * 2)), (0, v))[1]))
    for _ in range(4):
        np.testing.assert_allclose(total(packed), plain(XS).sum(), rtol=1e-5)
        last, rows = doubled(start, XS)
        assert tanx.typeof(rows) == ScaledType((4, 2, 3))
        same(unpack(last), 16 * plain(X))
        same(unpack(rows), plain(XS))
        same(chosen(True, start), plain(X))
        same(chosen(False, start), 3 * plain(X))
        same(looped(start), 8 * plain(X))
    same(tanx.grad(lambda x: total(pack(x)))(jnp.asarray(XS)), np.ones_like(XS))
    with pytest.raises(ValueError, match="the number of steps is unknown"):
        lax.scan(lambda c, row: (c, None), 0, packed)


FLAGS = np.array([True, False, False, True])


@pytest.mark.parametrize("wrap", [lambda f: f, tanx.jit])
@pytest.mark.parametrize("one, expected", [
    (lambda f, v: lax.scan(lambda c, _: (c + unpack(v), None), 0 * unpack(v), None, length=3)[0],
     3 * plain(XS)),                                                              # a constant
    (lambda f, v: unpack(lax.scan(lambda c, _: (pack(2 * unpack(c)), None), v, None, length=3)[0]),
     8 * plain(XS)),                                                              # a carry
    (lambda f, v: unpack(lax.cond(True, lambda v: v, lambda v: pack(3 * unpack(v)), v)),
     plain(XS)),
    (lambda f, v: unpack(lax.cond(f, lambda v: v, lambda v: pack(3 * unpack(v)), v)),
     np.where(FLAGS[:, None, None], 1, 3) * plain(XS)),                           # lane by lane
    (lambda f, v: unpack(lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, pack(2 * unpack(c[1]))), (0, v))[1]),
     8 * plain(XS)),
    (lambda f, v: unpack(lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, pack(2 * unpack(c[1]))),
        (jnp.where(f, 2, 1), v))[1]), np.where(FLAGS[:, None, None], 2, 4) * plain(XS)),
])
def test_vmap_of_loops_and_branches(wrap, one, expected):
    mapped = wrap(tanx.vmap(one, in_axes=(0, Leading())))
    for _ in range(4):
        same(mapped(FLAGS, pack(jnp.asarray(XS))), expected.astype("float32"))


@pytest.mark.parametrize("one, rule", [
    (lambda v: lax.scan(lambda c, row: (c, unpack(row)), 0, v, length=2)[1], "a second axis"),
    (lambda v: lax.scan(lambda c, _: (v, None), pack(jnp.asarray(X)), None, length=2)[0],
     "cannot be repeated for all lanes"),
])
def test_vmap_rejects_unsupported_axes(one, rule):
    with pytest.raises(NotImplementedError, match=rule):
        tanx.vmap(one, in_axes=Leading(), axis_size=4, out_axes=0)(pack(jnp.asarray(XS)))


def test_ahead_of_time():
    """Compiled functions take and return values of high types; text shows their arrays."""
    packed = pack(jnp.asarray(X))
    apart, together = tanx.jit(unpack).lower(packed), tanx.jit(pack).lower(X)
    assert "tensor<2x3xi8>, %arg1: tensor<2xf32>" in apart.as_text()
    assert together.out_info == ScaledType((2, 3))
    for _ in range(4):
        same(apart.compile()(packed), plain(X))
        same(unpack(together.compile()(X)), plain(X))
    with pytest.raises(TypeError, match=r"compiled for s8\[2,3\], called with s8\[4,2,3\]"):
        apart.compile()(pack(jnp.asarray(XS)))
    with pytest.raises(NotImplementedError, match="values of high types"):
        apart.compile().save("nowhere.so")
    low = tanx.jit(unpack).trace(packed).lojax
    assert [str(a) for a in low.jaxpr.in_avals] == ["int8[2,3]", "float32[2]"]
    same(low.lower().compile()(packed.numbers, packed.factors)[0], plain(X))


def test_attributes_of_traced_values():
    seen = {}

    def look(value):
        seen.update(kind=isinstance(value, tanx.Array), text=repr(value), shape=value.shape)
        with pytest.raises(AttributeError, match="numbers"):
            value.numbers  # noqa: B018
        with pytest.raises(AttributeError, match="_add"):
            value + 1
        return unpack(value)

    tanx.jit(look)(pack(jnp.asarray(X)))
    assert seen == {"kind": False, "text": "JitTracer(s8[2,3])", "shape": (2, 3)}


class Sine(HiPrim):
    """All rules are derived from one."""

    def __init__(self, x, times=1):
        self.in_avals, self.out_aval, self.params = (x,), x, {"times": times}
        super().__init__()

    def expand(self, x):
        return self.times * jnp.sin(x)

    def jvp(self, primals, tangents):
        (x,), (t,) = primals, tangents
        return self(x), self.times * jnp.cos(x) * t

    lin, linearized = hijax.linearize_from_jvp
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_lin

    def batch(self, axis, args, dims):
        rule = hijax.vmap_rule(axis, self.expand, dims, 0)
        return rule(*args), 0


class Again(Sine):
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_jvp


class ByLin(Sine):
    def lin(self, nonzero, x):
        return self(x), jnp.cos(x)

    def linearized(self, residuals, t):
        return self.times * residuals * t

    jvp = hijax.jvp_from_lin
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_lin


@pytest.mark.parametrize("kind", [Sine, Again, ByLin])
@pytest.mark.parametrize("wrap", [lambda f: f, tanx.jit])
def test_rules_from_others(kind, wrap):
    sine = wrap(lambda x: kind(tanx.typeof(x), 2)(x))
    x = jnp.float32(0.7)
    value, slope = 2 * np.sin(np.float32(0.7)), 2 * np.cos(np.float32(0.7))
    for _ in range(4):
        same(sine(x), value)
    same(tanx.grad(sine)(x), slope)
    same(tanx.grad(tanx.grad(sine))(x), -value)
    same(tanx.jvp(sine, (x,), (x,))[1], slope * np.float32(0.7))
    same(tanx.linearize(sine, x)[1](x), slope * np.float32(0.7))
    same(tanx.vmap(sine)(jnp.full(3, x)), np.full(3, value))
    assert kind(tanx.typeof(x), 2) == kind(tanx.typeof(x), 2) != kind(tanx.typeof(x), 3)


class Product(HiPrim):
    """Takes a pytree; its backward pass adds to accumulators and logs."""

    def __init__(self, pair):
        self.in_avals, self.out_aval, self.params = (pair,), pair["x"], {}
        super().__init__()

    def expand(self, pair):
        return pair["x"] * pair["y"]

    def vjp_fwd(self, nonzero, pair):
        self.seen.append(nonzero)
        return self(pair), pair

    def vjp_bwd(self, pair, ct, sums):
        assert isinstance(sums["y"], hijax.ValAccum if self.seen[-1][0]["y"] else hijax.NullAccum)
        sums["x"].accum(ct * pair["y"])
        sums["y"].accum(ct * pair["x"])
        return {"ct": ct}

    seen: list = []


def test_accumulators_and_logs():
    def product(x, y):
        return Product({"x": tanx.typeof(x), "y": tanx.typeof(y)})({"x": x, "y": y})

    assert tanx.grad(product)(2.0, 3.0) == 3 and Product.seen[-1] == ({"x": True, "y": False},)
    assert tanx.grad(product, (0, 1))(2.0, 3.0) == (3, 2)
    assert tanx.vjp(product, 2.0, 3.0)[1].with_logs(5.0)[1] == {"ct": 5}
    with pytest.raises(NotImplementedError, match="must implement `jvp`"):
        tanx.jvp(product, (2.0, 3.0), (1.0, 1.0))
    with pytest.raises(NotImplementedError, match="must implement `batch`"):
        tanx.vmap(product)(jnp.ones(2), jnp.ones(2))


class Double(HiPrim):
    """Linear, with a transpose."""

    def __init__(self, x):
        self.in_avals, self.out_aval, self.params = (x,), x, {}
        super().__init__()

    def expand(self, x):
        return 2 * x

    def transpose(self, ct, total):
        total.accum(2 * ct)


def test_transpose():
    double = Double(tanx.typeof(1.0))
    assert tanx.linear_transpose(double, 1.0)(3.0) == (6,)
    with pytest.raises(NotImplementedError, match="must implement `vjp_fwd`"):
        tanx.grad(double)(1.0)


def test_mistakes():
    class Bare(HiPrim):
        def __init__(self):
            super().__init__()

    class Wrong(Prim):
        def expand(self, x):
            return jnp.ones(7)

    aval = tanx.typeof(X)
    with pytest.raises(AttributeError, match="self.in_avals"):
        Bare()
    with pytest.raises(TypeError, match="structure of its in_avals"):
        Wrong(aval, aval)(X, X)
    with pytest.raises(TypeError, match="other types than out_aval"):
        tanx.jit(Wrong(aval, aval))(X)
    with pytest.raises(NotImplementedError, match="must implement `expand`"):
        Prim(aval, aval)(X)
    with pytest.raises(NotImplementedError, match="`lo_ty`"):
        HiType().lo_ty()
    with pytest.raises(TypeError, match="lin, linearized"):
        hijax.linearize_from_jvp(1)
