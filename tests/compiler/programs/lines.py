"""Lines of random programs: each function gives a text and the variables in it, or None."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tests.compiler.programs.maker import Maker

SMOOTH = ["jnp.sin({})", "jnp.tanh({})", "jnp.exp(-jnp.abs({}))", "jnp.log1p(jnp.abs({}))",
          "lax.logistic({})", "jnp.sqrt(jnp.abs({}) + 1)", "lax.rsqrt(1 + {0} * {0})", "{} / 3",
          "{} ** 3", "{} ** 2.0", "jnp.arctan({})", "1 / (2 + jnp.cos({}))", "lax.erf({})",
          "jnp.where({0} > 0, jnp.exp(-{0}), {0})", "lax.integer_pow(1 + {0} * {0}, -2)",
          "jnp.log(jnp.exp(-{0}) + 1)", "{} * jnp.float32(1)", "{} + 0.0", "-(-{})",
          "jnp.maximum({}, -jnp.inf)", "lax.optimization_barrier({})", "lax.stop_gradient({})"]
PLAIN = ["-{}", "{} * 2", "{} + 1", "{0} * {0}", "jnp.abs({})", "jnp.clip({}, -1, 2)", "{} * 0.5",
         "{} - 0.25", "jnp.square({})", "{} / 2", "{} * 1", "{} + 0", "{0} - {0}", "jnp.copy({})"]
JUMPY = ["jnp.floor({})", "jnp.sign({})", "({} > 0)", "jnp.round({})", "({} == {})",
         "jnp.isfinite({})", "jnp.argsort({}, axis=-1)", "jnp.sort({}, axis=0)",
         "lax.top_k({}, 1)[0]", "jnp.argmax({})", "jnp.argmin({}, axis=-1)",
         "lax.cummax({}, axis=0)", "lax.sort({}, dimension=0, is_stable=True)",
         "jnp.unique({}, size=3, fill_value=0)"]
INTEGERS = ["{} // 3", "{} % 3", "({} & 5)", "({} << 1)", "({} >> 1)", "~{}", "({} ^ 3)",
            "lax.population_count({})", "{}.astype('uint8')", "{}.astype('float32')"]
REDUCTIONS = ["jnp.sum({}{})", "jnp.mean({}{})", "jnp.max({}{})", "jnp.min({}{})",
              "jnp.prod(jnp.cos({}){})", "jnp.var({}{})"]
SCANS = ["jnp.cumsum({}, axis={})", "lax.cumlogsumexp({}, axis={})",
         "lax.cumsum({}, axis={}, reverse=True)", "jnp.cumprod(jnp.tanh({}), axis={})"]

# Second derivatives of the incomplete gamma functions are not finite at zero, and a transform
# computes zeros that are exact or almost exact.
SPECIAL = ["lax.lgamma(1 + abs({}))", "lax.digamma(1 + abs({}))", "lax.erfc({})",
           "lax.erf_inv(0.9 * jnp.tanh({}))", "lax.bessel_i0e(2 + jnp.tanh({}))",
           "lax.bessel_i1e({})", "lax.igamma(1 + abs(lax.stop_gradient({0})), 0.25 + abs({0}))",
           "lax.igammac(0.5 + abs(lax.stop_gradient({0})), 0.25 + abs({0}))",
           "lax.zeta(*lax.stop_gradient((2 + abs({0}), 1 + abs({0}))))",
           "lax.polygamma(jnp.ones_like({0}), 1 + abs({0}))", "jnp.sinc({})",
           "lax.betainc(1 + abs(lax.stop_gradient({0})), jnp.full_like({0}, 2), lax.logistic({0}))",
           "jnp.expm1(jnp.tanh({}))", "jnp.arcsinh({})", "jnp.arccosh(1.5 + abs({}))",
           "jnp.arctanh(0.9 * jnp.tanh({}))", "jnp.cbrt(1 + abs({}))", "jnp.exp2(-abs({}))",
           "jnp.logaddexp({}, 1)", "jnp.hypot({}, 2)", "jnp.arctan2({}, 3)", "jnp.i0(jnp.sin({}))"]
TRANSFORMS = ["jnp.fft.fft({}, norm='ortho')", "jnp.fft.ifft({})", "jnp.fft.fft({}, axis=0)",
              "jnp.fft.fftn({}, norm='ortho')", "jnp.abs(jnp.fft.fft({}, 12)) ** 2",
              "jnp.fft.fftshift({}, -1)"]
REAL_TRANSFORMS = ["jnp.fft.rfft({}, norm='ortho')", "jnp.fft.irfft({}, 9)", "jnp.fft.ihfft({})",
                   "jnp.fft.rfftn({}, norm='ortho')", "jnp.fft.irfft(jnp.fft.rfft({}))",
                   "jnp.convolve({}.ravel(), jnp.ones(3, {}.dtype))"]
# Of a square matrix whose eigenvalues are between 1 and 3. Values of equal size share their
# gradient in any way, so there is none to compare.
MATRICES = ["jnp.linalg.cholesky(m)", "jnp.linalg.inv(m)", "jnp.linalg.slogdet(m)[1]",
            "jnp.linalg.solve(m, 1 + m[..., :1])", "jnp.linalg.solve(m, jnp.tanh(m))",
            # The sign of a column of q is decided by an element that may be zero but for rounding.
            "jnp.abs(jnp.linalg.qr(m)[1])", "(lambda q, r: q @ r)(*jnp.linalg.qr(m))",
            "jnp.linalg.matrix_power(m, 3)",
            "lax.stop_gradient(jnp.linalg.eigvalsh(m))", "jnp.linalg.norm(m, axis=(-2, -1))",
            "lax.stop_gradient(jnp.linalg.svd(m, compute_uv=False))",
            "(lambda w, v: (v * jnp.tanh(w)[..., None, :]) @ v.mT)(*map(lax.stop_gradient, "
            "jnp.linalg.eigh(m)))", "lax.linalg.lu(m)[0]", "jnp.linalg.det(m / 2)",
            "lax.linalg.triangular_solve(m, m, left_side=True, lower=True)",
            "jnp.linalg.pinv(m)", "lax.linalg.lu(m)[2]",
            # Singular values that are equal have vectors without derivatives.
            "jnp.linalg.lstsq(lax.stop_gradient(m), 1 + m[:, 0])[0]"]


def smooth(make: Maker):
    x = make.operand("f")
    return x and (make.pick(SMOOTH).format(x.name), x)


def special(make: Maker):
    x = make.operand("f")
    return x and (make.pick(SPECIAL).format(x.name), x)


def fourier(make: Maker):
    x = make.operand("fc", rank=1)
    texts = TRANSFORMS + REAL_TRANSFORMS * (x is not None and x.kind == "f")
    return x and (make.pick(texts).format(x.name, x.name), x)


def matrices(make: Maker):
    """An operation of linear algebra on well-conditioned matrices."""
    x = make.operand("f", rank=2)
    if x is None or not (0 < x.shape[-2] <= 40 and x.shape[-1]):
        return None
    made = (f"(lambda a: a @ a.mT / {x.shape[-1] * x.shape[-2]} * 2 + "
            f"jnp.eye({x.shape[-2]}, dtype=a.dtype))(jnp.tanh({x.name}))")
    return f"(lambda m: {make.pick(MATRICES)})({made})", x


def plain(make: Maker):
    x = make.operand("iufc")
    return x and (make.pick(PLAIN).format(x.name), x)


def jumpy(make: Maker):
    x = make.operand("iuf", exact=True, rank=1)
    return x and (make.pick(JUMPY).format(x.name, x.name), x)


def integers(make: Maker):
    x = make.operand("iu")
    return x and (make.pick(INTEGERS).format(x.name), x)


def binary(make: Maker):
    x, y = make.operand("iufc"), make.operand("iufc")
    if x is None or y is None:
        return None
    text = make.pick(["{} + {}", "{} * {}", "{} - {}", "{} + {}", "{} * {}", "{} / (4 + abs({}))"])
    return text.format(x.name, y.name), x, y


def comparison(make: Maker):
    x, y = make.operand("iuf", exact=True), make.operand("iuf", exact=True)
    if x is None or y is None:
        return None
    text = make.pick(["{} < {}", "jnp.maximum({}, {})", "jnp.minimum({}, {})", "{} != {}"])
    return text.format(x.name, y.name), x, y


def choice(make: Maker):
    p, x, y = make.operand("b"), make.operand("iufc"), make.operand("iufc")
    if p is None or x is None or y is None:
        return None
    return f"jnp.where({p.name}, {x.name}, {y.name})", p, x, y


def layout(make: Maker):
    x = make.operand(rank=1)
    if x is None:
        return None
    rng, axis = make.rng, int(make.rng.integers(0, x.ndim))
    order = tuple(map(int, rng.permutation(x.ndim)))
    low = int(rng.integers(0, x.shape[axis] + 1))
    step = int(rng.choice([1, 2, -1]))
    slices = ", ".join(":" if d != axis else f"{low}::{step}" if step > 0 else f"::{step}"
                       for d in range(x.ndim))
    padding = [tuple(map(int, rng.integers(-1, 3, 3) * [1, 1, d == axis])) for d in range(x.ndim)]
    far = int(rng.choice([0, 0, 40, 130])) if x.data.size <= 256 else 0
    padding = [(a, b + far * (d == axis), abs(c)) for d, (a, b, c) in enumerate(padding)]
    name = x.name
    return make.pick([
        f"jnp.transpose({name}, {order})", f"{name}[{slices}]", f"jnp.reshape({name}, -1)",
        f"jnp.reshape({name}, {_factored(rng, x.data.size)})", f"jnp.flip({name}, {axis})",
        f"jnp.expand_dims({name}, {axis})", f"jnp.roll({name}, 1, {axis})",
        f"jnp.repeat({name}, 2, {axis})", f"jnp.tile({name}, 2)", f"jnp.squeeze({name})",
        f"lax.pad({name}, jnp.zeros((), {name}.dtype), {padding})",
        f"jnp.broadcast_to({name}, (2, *{x.shape}))", f"jnp.concatenate([{name}, {name}], {axis})",
        f"jnp.stack([{name}, {name}], {axis})", f"jnp.split({name}, [{low}], {axis})[0]",
        f"jnp.moveaxis({name}, 0, -1)", f"jnp.ravel({name})[::2]",
    ]), x


def _factored(rng, size: int) -> tuple[int, ...]:
    divisors = [d for d in range(1, size + 1) if size % d == 0] or [0]
    first = int(rng.choice(divisors))
    return (first, size // first) if first else (0, 1)


def joined(make: Maker):
    x, y = make.operand(rank=1), make.operand(rank=1)
    if x is None or y is None:
        return None
    axis = int(make.rng.integers(0, x.ndim))
    return f"jnp.concatenate([{x.name}, {y.name}], {axis})", x, y


def reduction(make: Maker):
    x = make.operand("f", rank=1)
    if x is None:
        return None
    axes = tuple(d for d in range(x.ndim) if make.rng.random() < 0.5)
    options = f", axis={axes}" if axes else ""
    options += ", keepdims=True" if make.rng.random() < 0.4 else ""
    return make.pick(REDUCTIONS).format(x.name, options), x


def exact_reduction(make: Maker):
    x = make.operand("biuf", exact=True, rank=1)
    axis = x and int(make.rng.integers(0, x.ndim))
    return x and (make.pick(["jnp.max({}, {})", "jnp.min({}, {})", "jnp.any({} != 0, {})",
                             "jnp.all({} > 0, {})", "jnp.argmax({}, {})"]).format(x.name, axis), x)


def scan(make: Maker):
    x = make.operand("f", rank=1)
    return x and (make.pick(SCANS).format(x.name, make.rng.integers(0, x.ndim)), x)


def windowed(make: Maker):
    """Sums, extrema and products of windows, and their gradients."""
    combine = make.pick(["0.0, lax.add", "-jnp.inf, lax.max", "jnp.inf, lax.min", "1.0, lax.mul"])
    start, function = combine.split(", ")
    # Which of two elements is the extremum, and gets the gradient, must not depend on rounding.
    x = make.operand("f", exact=function in ("lax.max", "lax.min"), rank=1)
    if x is None:
        return None
    sizes, strides, steps = (tuple(int(make.rng.integers(1, most)) for _ in range(x.ndim))
                             for most in (5, 4, 3))
    padding = make.pick(["'VALID'", "'SAME'", tuple(
        tuple(map(int, make.rng.integers(0, 3, 2))) for _ in range(x.ndim))])
    dilation = f", None, {steps}" if make.rng.random() < 0.3 else ""
    call = (f"lax.reduce_window(r, jnp.asarray({start}, r.dtype), {function}, {sizes}, {strides}, "
            f"{padding}{dilation})")
    if make.rng.random() < 0.4 and "mul" not in function:
        # A window of padding alone has an infinite extremum, which must not be squared.
        return f"tanx.grad(lambda r: jnp.tanh({call}).sum())({x.name})", x
    return f"(lambda r: jnp.tanh({call}))({x.name})", x


def normalised(make: Maker):
    x = make.operand("f", rank=1)
    if x is None:
        return None
    axis, name = int(make.rng.integers(-x.ndim, x.ndim)), x.name
    top = f"{name}.max({axis}, keepdims=True)"
    return make.pick([
        f"jnp.exp({name} - {top}) / jnp.exp({name} - {top}).sum({axis}, keepdims=True)",
        f"({name} - {name}.mean({axis}, keepdims=True)) / jnp.sqrt({name}.var({axis}, "
        f"keepdims=True) + 1e-2)",
        f"jnp.log(jnp.exp({name} - {top}).sum({axis})) + {name}.max({axis})",
        f"{name} / (1 + jnp.sum({name} * {name}, {axis}, keepdims=True))"]), x


def contraction(make: Maker):
    x, y = make.operand("fi", rank=1), make.operand("fi", rank=1)
    if x is None or y is None:
        return None
    a, b = x.name, y.name
    return make.pick([f"{a} @ {b}", f"{a} @ {a}.T", f"jnp.tensordot({a}, {b}, 1)",
                      f"jnp.einsum('...i,...j->...ij', {a}, {b})", f"jnp.vdot({a}, {a})",
                      f"jnp.einsum('...i,...i->...', {a}, {b})", f"jnp.outer({a}, {b})",
                      f"jnp.einsum('ij,ik->jk', {a}, {b})", f"{a} @ jnp.ones({x.shape[-1:]})",
                      f"jnp.swapaxes({a} @ jnp.swapaxes({b}, -1, -2), -1, -2)",
                      f"jnp.maximum({a}, 0) @ {b}", f"({a} * {a}) @ jnp.where({b} > 0, {b}, 1)",
                      f"{a} @ jnp.tanh({b})"]), x, y


def convolution(make: Maker):
    """A variable, as a batch with channels, and part of another as the kernel."""
    x, y = make.operand("f", rank=1), make.operand("f", rank=1)
    if x is None or y is None or x.data.dtype != y.data.dtype:
        return None
    stride, holes, low, high = make.rng.integers(1, 4), make.rng.integers(1, 3), *(
        make.rng.integers(-1, 4, 2))
    image = make.pick([f"{x.name}.reshape(1, 1, -1)", f"{x.name}.reshape(1, -1, {x.shape[-1]})"])
    kernel = make.pick([f"{y.name}.reshape(1, 1, -1)[..., :5]",
                        f"jnp.tile({y.name}.reshape(-1)[:3], ({image}.shape[1], 1))[None]",
                        f"jnp.tile({y.name}.reshape(-1)[:2], (8, {image}.shape[1], 1))"])
    options = make.pick([f"({stride},), [({low}, {high})]",
                         f"({stride},), [({low}, {high})], rhs_dilation=({holes},)",
                         f"(1,), [({low}, {high})], lhs_dilation=({stride},)"])
    return f"lax.conv_general_dilated({image}, {kernel}, {options})", x, y


def indexing(make: Maker):
    x, i, u = make.operand(rank=1), make.operand("iu", exact=True), make.operand("iuf")
    if x is None or i is None or u is None:
        return None
    mode = make.pick(["", ", mode='clip'", ", mode='fill'"])
    a, k, v = x.name, i.name, u.name
    n = int(make.rng.integers(1, x.shape[0] + 1)) if x.shape[0] else 0
    zeros = ", ".join(["0"] * (x.ndim - 1))
    start = f"({k}.ravel()[0], {zeros})" if x.ndim > 1 else f"({k}.ravel()[0],)"
    return make.pick([
        f"{a}[{k}]", f"jnp.take({a}, {k}, axis=0{mode})", f"{a}[{k}.ravel()[:2]]",
        f"{a}.at[{k}].set({v}.ravel()[0].astype({a}.dtype))",
        f"{a}.at[{k}].add({v}.ravel()[0].astype({a}.dtype))",
        f"{a}.at[{k} % {max(x.shape[0], 1)}].multiply(2)", f"{a}.at[{n - 1}].set(0)",
        f"lax.dynamic_slice({a}, {start}, {(n, *x.shape[1:])})",
        f"lax.dynamic_update_slice({a}, {a}[:{n}] * 2, {start})",
        f"lax.dynamic_update_slice({a}, {a}[:1], {start})",
        f"jnp.take_along_axis({a}, jnp.argsort({a}, 0) * 0, 0)",
        f"{a} * ({a}.ravel()[{k}.ravel()[0]] > 0)",
    ]), x, i, u


def cast(make: Maker):
    x = make.operand("biuf", exact=True)
    dtype = make.pick(["float32", "float64", "int32", "int8", "bool", "bfloat16", "float16",
                       "uint32"])
    return x and (f"{x.name}.astype('{dtype}')", x)


def counted(make: Maker):
    x = make.operand("f", rank=1)
    return x and (f"{x.name} * jnp.arange({x.shape[-1]}).astype({x.name}.dtype)", x)


INNER = ["jnp.sin(p) * p", "jnp.sum(p * p)", "jnp.tanh(p) - p", "p * jnp.exp(-jnp.abs(p))",
         "jnp.max(p * 1.5) + p", "jnp.cumsum(p, -1)", "jnp.mean(jnp.cos(p)) + p[..., :1]",
         "p / (1 + jnp.sum(p * p))", "jnp.concatenate([p, p * 2], -1)"]


def transformed(make: Maker):
    x = make.operand("f", rank=1)
    if x is None:
        return None
    inner, name = make.pick(INNER), x.name
    return make.pick([
        f"tanx.jit(lambda p: {inner})({name})", f"tanx.vmap(lambda p: {inner})({name})",
        f"tanx.grad(lambda p: jnp.sum({inner}))({name})",
        f"tanx.vmap(tanx.grad(lambda p: jnp.sum({inner})))({name})",
        f"tanx.jvp(lambda p: {inner}, ({name},), ({name},))[1]",
        f"tanx.grad(tanx.checkpoint(lambda p: jnp.sum(jnp.tanh({inner}))))({name})",
        f"tanx.jit(tanx.vmap(lambda p: {inner}, in_axes=-1, out_axes=-1))({name})",
        # Step by step, a Jacobian of many numbers takes all the memory there is.
        f"{'tanx.jacfwd' if x.data.size < 1000 else ''}(lambda p: {inner})({name})",
    ]), x


def loop(make: Maker):
    x, y = make.operand("f", rank=1), make.operand("f")
    if x is None or y is None or not x.shape[0] or x.shape[-1] > 500:  # its outer product, too
        return None
    a, b, width = x.name, y.name, x.shape[-1]
    dtype = f"{a}.dtype"
    return make.pick([
        f"lax.scan(lambda c, r: (0.5 * c + r, c * r), jnp.zeros_like({a}[0]), {a})[1]",
        f"lax.scan(lambda c, r: (0.5 * c + r.sum(), jnp.tanh(r) + c), jnp.ones((), {dtype}), {a}, "
        f"reverse=True)[1]",
        f"lax.scan(lambda c, r: ((c[1], c[0] * 0.5 + r.sum()), c[0]), "
        f"(jnp.ones((), {dtype}),) * 2, {a}, unroll=2)[1]",
        f"lax.fori_loop(0, 3, lambda i, c: (jnp.sin(c) + {b}.mean() * i).astype({dtype}), {a})",
        f"lax.fori_loop(0, 4, lambda i, c: c.at[i % {x.shape[0]}].set("
        f"0.5 * c[(i + 1) % {x.shape[0]}] + i), {a})",
        f"lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, jnp.cos(s[1])), (0, {a}))[1]",
        f"lax.map(lambda r: jnp.exp(-abs(r)).sum() + r, {a})",
        f"lax.associative_scan(lambda p, q: p + 0.5 * q * p, jnp.tanh({a}))",
        f"lax.scan(lambda c, r: (0.5 * c + jnp.outer(r, r), r @ c), "
        f"jnp.zeros(({width}, {width}), {dtype}), jnp.tanh({a}).reshape(-1, {width}))[1]",
        f"lax.scan(lambda c, r: (jnp.tanh(c @ jnp.outer(r, r) + r), c.sum()), "
        f"jnp.ones({width}, {dtype}), {a}.reshape(-1, {width}))[1]",
        f"tanx.vmap(lambda n, r: lax.fori_loop(0, n % 4, lambda i, c: jnp.sin(c) + i, r))("
        f"jnp.arange({x.shape[0]}), {a})",
        f"tanx.grad(lambda p: lax.scan(lambda c, r: (jnp.sin(c) * r, c), p[0], p)[1].sum())({a})",
        f"tanx.grad(lambda p: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, "
        f"jnp.sin(s[1]) * p), (0, p))[1].sum())({a})",
    ]), x, y


def branch(make: Maker):
    x, i = make.operand("f", rank=1), make.operand("biu", exact=True)
    p = make.operand("iuf", exact=True, rank=1)
    if x is None or i is None or p is None or not i.data.size or not p.data.size:
        return None
    a, k, e = x.name, f"{i.name}.ravel()[0]", p.name
    return make.pick([
        f"lax.cond({k} > 0, lambda x: x * 2, lambda x: jnp.sin(x), {a})",
        f"lax.cond({k} > 0, lambda x: x.at[:1].set(1), lambda x: x, {a})",
        f"lax.switch({k}.astype('int32'), [jnp.cos, lambda x: x[::-1], lambda x: x - x.sum()], "
        f"{a})",
        f"tanx.vmap(lambda r: lax.cond(r.sum() > 0, lambda r: r * 2.0, lambda r: r + 0.5, r))("
        f"{e}.astype('float64'))",
        f"tanx.vmap(lambda r: lax.while_loop(lambda s: (s[0] < 3) & (s[1].sum() < 9), "
        f"lambda s: (s[0] + 1, s[1] * 2), (0, r)))({e})[1]",
        f"tanx.grad(lambda x: lax.cond({k} > 0, lambda x: (x * x).sum(), "
        f"lambda x: jnp.sin(x).sum(), x))({a})",
    ]), x, i, p


LINES = [(smooth, False, 4), (plain, True, 3), (jumpy, True, 2), (integers, True, 1),
         (binary, True, 4), (comparison, True, 2), (choice, True, 2), (layout, True, 6),
         (joined, True, 1), (reduction, False, 3), (exact_reduction, True, 1), (scan, False, 1),
         (normalised, False, 2), (contraction, False, 3), (indexing, True, 3), (cast, True, 1),
         (counted, True, 1), (transformed, False, 2), (loop, False, 2), (branch, False, 1),
         (convolution, False, 1), (windowed, False, 1), (special, False, 1), (fourier, False, 1),
         (matrices, False, 1)]
WEIGHTS = np.array([weight for *_, weight in LINES]) / sum(weight for *_, weight in LINES)
