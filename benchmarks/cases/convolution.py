"""Convolutions: layers of image networks in both layouts, depthwise, transposed, gradients."""

import numpy as np

from .case import family, form, noise

LAST = ("NHWC", "HWIO", "NHWC")
FIRST = ("NCHW", "OIHW", "NCHW")


def _flops(n, s, c, o, k, stride=1, **_):
    return 2 * n * (s // stride) ** 2 * c * o * k ** 2


layer = family("convolutions", flops=_flops, numpy=False)
gradient = family("gradients of convolutions", numpy=False)
strided = family("strided transposed convolutions", numpy=False)


def _conv(jax, numbers=LAST, strides=(1, 1), padding="SAME", **options):
    return lambda x, w: jax.lax.conv_general_dilated(
        x, w, strides, padding, dimension_numbers=numbers, **options)


@layer("{k} x {k} conv, {n} x {s} x {s} x {c} to {o}, stride {stride}", n=1, s=56, c=64, o=64, k=3,
       stride=1)
@layer("{k} x {k} conv, {n} x {s} x {s} x {c} to {o}, stride {stride}", n=8, s=28, c=128, o=128,
       k=3, stride=1)
@layer("{k} x {k} conv, {n} x {s} x {s} x {c} to {o}, stride {stride}", n=4, s=14, c=256, o=256,
       k=3, stride=1)
@layer("{k} x {k} conv, {n} x {s} x {s} x {c} to {o}, stride {stride}", n=16, s=8, c=16, o=32, k=3,
       stride=1)
@layer("{k} x {k} conv, {n} x {s} x {s} x {c} to {o}, stride {stride}", n=4, s=56, c=64, o=128, k=3,
       stride=2)
@layer("{k} x {k} conv, {n} x {s} x {s} x {c} to {o}, stride {stride}", n=4, s=28, c=256, o=64, k=1,
       stride=1)
@layer("{k} x {k} conv, {n} x {s} x {s} x {c} to {o}, stride {stride}", n=1, s=224, c=3, o=64, k=7,
       stride=2)
def channels_last(jax, jnp, n, s, c, o, k, stride):
    return _conv(jax, strides=(stride,) * 2), (noise(n, s, s, c), noise(k, k, c, o, seed=1))


def _torch_layer(torch, s, k, stride=1):
    """A layer of torch on images whose channels are last, with the padding SAME.

    Its kernel has the layout that torch prefers. Where the padding has two sides of different
    widths, for which torch has no option, it is an operation of its own.
    """
    extra = max(k - stride if s % stride == 0 else k - s % stride, 0)
    before, after = extra // 2, extra - extra // 2

    def run(x, w):
        x = x.permute(0, 3, 1, 2)
        if before != after:
            x = torch.nn.functional.pad(x, (before, after) * 2)
        out = torch.nn.functional.conv2d(x, w, stride=stride,
                                         padding=before if before == after else 0)
        return out.permute(0, 2, 3, 1)
    return run


def _torch_kernel(k, c, o, dtype="float32"):
    kernel = noise(k, k, c, o, seed=1, dtype=dtype)
    return np.ascontiguousarray(kernel.transpose(3, 0, 1, 2)).transpose(0, 3, 1, 2)


@form("torch", channels_last)
def _(torch, n, s, c, o, k, stride):
    return _torch_layer(torch, s, k, stride), (noise(n, s, s, c), _torch_kernel(k, c, o))


@layer("{k} x {k} conv, {n} x {c} x {s} x {s} to {o}, channels first", n=1, s=56, c=64, o=64, k=3)
@layer("{k} x {k} conv, {n} x {c} x {s} x {s} to {o}, channels first", n=4, s=14, c=256, o=256, k=3)
@layer("{k} x {k} conv, {n} x {c} x {s} x {s} to {o}, channels first", n=4, s=28, c=256, o=64, k=1)
def channels_first(jax, jnp, n, s, c, o, k):
    return _conv(jax, FIRST), (noise(n, c, s, s), noise(o, c, k, k, seed=1))


@form("torch", channels_first)
def _(torch, n, s, c, o, k):
    return lambda x, w: torch.nn.functional.conv2d(x, w, padding="same"), (
        noise(n, c, s, s), noise(o, c, k, k, seed=1))


@layer("bias and relu of a {k} x {k} conv, {n} x {s} x {s} x {c} to {o}", n=4, s=28, c=64, o=64,
       k=3)
def with_bias(jax, jnp, n, s, c, o, k):
    conv = _conv(jax)
    return lambda x, w, b: jax.nn.relu(conv(x, w) + b), (
        noise(n, s, s, c), noise(k, k, c, o, seed=1), noise(o, seed=2))


@form("torch", with_bias)
def _(torch, n, s, c, o, k):
    run = _torch_layer(torch, s, k)
    return lambda x, w, b: torch.relu(run(x, w) + b), (
        noise(n, s, s, c), _torch_kernel(k, c, o), noise(o, seed=2))


@layer("dilated {k} x {k} conv, {n} x {s} x {s} x {c} to {o}", n=2, s=32, c=64, o=64, k=3)
def dilated(jax, jnp, n, s, c, o, k):
    return _conv(jax, rhs_dilation=(2, 2)), (noise(n, s, s, c), noise(k, k, c, o, seed=1))


@layer("{k} x {k} conv in {g} groups, {n} x {s} x {s} x {c} to {o}", n=2, s=28, c=128, o=128, k=3,
       g=32, flops=None)
@layer("{k} x {k} conv in {g} groups, {n} x {s} x {s} x {c} to {o}", n=2, s=28, c=128, o=128, k=3,
       g=4, flops=None)
def grouped(jax, jnp, n, s, c, o, k, g):
    return _conv(jax, feature_group_count=g), (
        noise(n, s, s, c), noise(k, k, c // g, o, seed=1))


@layer("depthwise {k} x {k} conv, {n} x {s} x {s} x {c}, stride {stride}", n=4, s=56, c=64, k=3,
       stride=[1, 2], flops=None)
@layer("depthwise {k} x {k} conv, {n} x {s} x {s} x {c}, stride {stride}", n=4, s=14, c=256, k=5,
       stride=1, flops=None)
def depthwise(jax, jnp, n, s, c, k, stride):
    return _conv(jax, strides=(stride,) * 2, feature_group_count=c), (
        noise(n, s, s, c), noise(k, k, 1, c, seed=1))


@layer("depthwise {k} x {k} conv, {n} x {c} x {s} x {s}, channels first", n=4, s=56, c=64, k=3,
       flops=None)
def depthwise_first(jax, jnp, n, s, c, k):
    return _conv(jax, FIRST, feature_group_count=c), (
        noise(n, c, s, s), noise(c, 1, k, k, seed=1))


@layer("conv of {n} sounds, {s} x {c} to {o}, window {k}", n=4, s=4000, c=32, o=64, k=9, flops=None)
def sound(jax, jnp, n, s, c, o, k):
    return _conv(jax, ("NHC", "HIO", "NHC"), (1,)), (noise(n, s, c), noise(k, c, o, seed=1))


@layer("conv of a signal of {n}, window {k}", n=100_000, k=[8, 128], flops=None)
def signal(jax, jnp, n, k):
    return lambda x, w: jnp.convolve(x, w, mode="same"), (noise(n), noise(k, seed=1))


@layer("{k} x {k} x {k} conv, {n} x {s} x {s} x {s} x {c} to {o}", n=1, s=16, c=32, o=32, k=3,
       flops=None)
def volume(jax, jnp, n, s, c, o, k):
    return _conv(jax, ("NDHWC", "DHWIO", "NDHWC"), (1, 1, 1)), (
        noise(n, s, s, s, c), noise(k, k, k, c, o, seed=1))


@layer("bf16 {k} x {k} conv, {n} x {s} x {s} x {c} to {o}", n=4, s=28, c=64, o=64, k=3)
def narrow(jax, jnp, n, s, c, o, k):
    return _conv(jax), (noise(n, s, s, c, dtype="bfloat16"),
                        noise(k, k, c, o, seed=1, dtype="bfloat16"))


@form("torch", narrow)
def _(torch, n, s, c, o, k):
    return _torch_layer(torch, s, k), (
        noise(n, s, s, c, dtype="bfloat16"), _torch_kernel(k, c, o, "bfloat16"))


# -- transposed ------------------------------------------------------------------------------------


@strided("transposed {k} x {k} conv, {n} x {s} x {s} x {c} to {o}, stride {stride}", n=4, s=14,
         c=128, o=64, k=[2, 4], stride=2)
@strided("transposed {k} x {k} conv, {n} x {s} x {s} x {c} to {o}, stride {stride}", n=4, s=28,
         c=32, o=16, k=3, stride=2)
@strided("transposed {k} x {k} conv, {n} x {s} x {s} x {c} to {o}, stride {stride}", n=1, s=28,
         c=21, o=21, k=16, stride=8)
def transposed(jax, jnp, n, s, c, o, k, stride):
    return lambda x, w: jax.lax.conv_transpose(x, w, (stride,) * 2, "SAME"), (
        noise(n, s, s, c), noise(k, k, c, o, seed=1))


@strided("transposed {k} x {k} conv, {n} x {c} x {s} x {s} to {o}, channels first", n=4, s=14,
         c=128, o=64, k=4)
def transposed_first(jax, jnp, n, s, c, o, k):
    return lambda x, w: jax.lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=FIRST), (
        noise(n, c, s, s), noise(o, c, k, k, seed=1))


@strided("transposed conv of {n} sounds, {s} x {c} to {o}, window {k}, stride {stride}", n=4,
         s=4000, c=32, o=32, k=4, stride=2)
@strided("transposed conv of {n} sounds, {s} x {c} to {o}, window {k}, stride {stride}", n=4, s=100,
         c=256, o=128, k=16, stride=8)
def transposed_sound(jax, jnp, n, s, c, o, k, stride):
    return lambda x, w: jax.lax.conv_transpose(x, w, (stride,), "SAME"), (
        noise(n, s, c), noise(k, c, o, seed=1))


@strided("transposed {k} x {k} x {k} conv, {n} x {s} x {s} x {s} x {c} to {o}, stride 2", n=1, s=12,
         c=64, o=32, k=2)
def transposed_volume(jax, jnp, n, s, c, o, k):
    return lambda x, w: jax.lax.conv_transpose(x, w, (2, 2, 2), "SAME"), (
        noise(n, s, s, s, c), noise(k, k, k, c, o, seed=1))


@strided("transposed {k} x {k} conv in {g} groups, {n} x {s} x {s} x {c} to {c}, stride 2", n=4,
         s=16, c=64, k=4, g=[4, 64])
def transposed_groups(jax, jnp, n, s, c, k, g):
    ends = (k // 2, k // 2)
    conv = _conv(jax, padding=(ends, ends), lhs_dilation=(2, 2), feature_group_count=g)
    return conv, (noise(n, s, s, c), noise(k, k, c // g, c, seed=1))


@strided("gradients of a transposed {k} x {k} conv, {n} x {s} x {s} x {c} to {o}, stride {stride}",
         n=4, s=14, c=128, o=64, k=[2, 4], stride=2)
def transposed_gradients(jax, jnp, n, s, c, o, k, stride):
    def gradients(x, w, y):
        return jax.vjp(lambda x, w: jax.lax.conv_transpose(x, w, (stride,) * 2, "SAME"), x, w)[1](y)
    return gradients, (noise(n, s, s, c), noise(k, k, c, o, seed=1),
                       noise(n, s * stride, s * stride, o, seed=2))


# -- gradients -------------------------------------------------------------------------------------


@gradient("to the kernel, {k} x {k}, {n} x {s} x {s} x {c} to {o}, stride {stride}", n=8, s=28,
          c=64, o=64, k=3, stride=[1, 2])
@gradient("to the kernel, {k} x {k}, {n} x {s} x {s} x {c} to {o}, stride {stride}", n=1, s=224,
          c=3, o=64, k=7, stride=2)
def to_kernel(jax, jnp, n, s, c, o, k, stride):
    conv, w = _conv(jax, strides=(stride,) * 2), noise(k, k, c, o, seed=1)
    return lambda x, w, y: jax.vjp(lambda w: conv(x, w), w)[1](y), (
        noise(n, s, s, c), w, noise(n, -(-s // stride), -(-s // stride), o, seed=2))


@gradient("to the operand, {k} x {k}, {n} x {s} x {s} x {c} to {o}, stride {stride}", n=8, s=28,
          c=64, o=64, k=3, stride=[1, 2])
def to_operand(jax, jnp, n, s, c, o, k, stride):
    conv, w = _conv(jax, strides=(stride,) * 2), noise(k, k, c, o, seed=1)
    return lambda x, w, y: jax.vjp(lambda x: conv(x, w), x)[1](y), (
        noise(n, s, s, c), w, noise(n, -(-s // stride), -(-s // stride), o, seed=2))


@gradient("to the kernel, depthwise {k} x {k}, {n} x {s} x {s} x {c}", n=4, s=28, c=64, k=3)
def to_depthwise_kernel(jax, jnp, n, s, c, k):
    conv, w = _conv(jax, feature_group_count=c), noise(k, k, 1, c, seed=1)
    return lambda x, w, y: jax.vjp(lambda w: conv(x, w), w)[1](y), (
        noise(n, s, s, c), w, noise(n, s, s, c, seed=2))


@gradient("a step of training a small CNN, {n} images of {s} x {s}", n=32, s=28)
def network(jax, jnp, n, s):
    conv = _conv(jax, strides=(2, 2))
    sizes = [noise(3, 3, 1, 16, seed=1), noise(3, 3, 16, 32, seed=2),
             noise((-(-s // 4)) ** 2 * 32, 10, seed=3)]

    def loss(params, x, y):
        first, second, last = params
        x = jax.nn.relu(conv(x, first))
        x = jax.nn.relu(conv(x, second))
        logits = x.reshape(x.shape[0], -1) @ last
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * y, axis=1))

    def step(params, x, y):
        return [p - 0.01 * g for p, g in zip(params, jax.grad(loss)(params, x, y))]
    return step, ([0.1 * p for p in sizes], noise(n, s, s, 1), noise(n, 10, seed=5))
