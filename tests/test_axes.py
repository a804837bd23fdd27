"""Axes out of range: the error names the function that was called and the array's type."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp

X = np.ones((3, 4), np.float32)

ALONG = """
sum prod max min mean std var all any argmax argmin cumsum cumprod sort argsort median nansum nanmax
nanmean nanstd nanmedian nancumsum nanargmax flip unique diff gradient count_nonzero ptp average
unwrap trapezoid unstack partition argpartition quantile percentile roll repeat take delete
append linalg.norm linalg.vector_norm fft.fft squeeze
""".split()
SECOND = {**dict.fromkeys(["partition", "argpartition", "roll", "take", "delete"], 1),
          **dict.fromkeys(["quantile", "percentile"], 0.5), "repeat": 2, "append": X}


@pytest.mark.parametrize("name", ALONG)
@pytest.mark.parametrize("axis", [2, -3])
def test_functions_along_an_axis(name, axis):
    function = jnp
    for part in name.split("."):
        function = getattr(function, part)
    with pytest.raises(np.exceptions.AxisError) as caught:
        function(X, *([SECOND[name]] if name in SECOND else []), axis=axis)
    assert str(caught.value) == (
        f"tanx.numpy.{name}: axis {axis} is out of bounds for 2 dimensions.\n"
        "  operand: float32[3,4]\n  Hint: axes go from -2 to 1.")


OTHERS = {
    "tanx.numpy.stack": lambda: jnp.stack([X, X], 3),
    "tanx.numpy.expand_dims": lambda: jnp.expand_dims(X, 3),
    "tanx.numpy.concatenate": lambda: jnp.concatenate([X, X], 2),
    "tanx.numpy.moveaxis": lambda: jnp.moveaxis(X, 2, 0),
    "tanx.numpy.swapaxes": lambda: jnp.swapaxes(X, 0, 2),
    "tanx.numpy.tensordot": lambda: jnp.tensordot(X, X, axes=((2,), (0,))),
    "tanx.numpy.fft.fftshift": lambda: jnp.fft.fftshift(X, (0, 2)),
    "tanx.numpy.sum": lambda: jnp.asarray(X).sum(2),
    "tanx.nn.softmax": lambda: tanx.nn.softmax(X, axis=2),
    "tanx.nn.logsumexp": lambda: tanx.nn.logsumexp(X, axis=2),
    "tanx.nn.glu": lambda: tanx.nn.glu(X, axis=2),
    "tanx.nn.one_hot": lambda: tanx.nn.one_hot(X, 2, axis=3),
    "tanx.random.permutation": lambda: tanx.random.permutation(tanx.random.key(0), X, 2),
    "tanx.random.choice": lambda: tanx.random.choice(tanx.random.key(0), X, axis=2),
    "tanx.random.categorical": lambda: tanx.random.categorical(tanx.random.key(0), X, 2),
    "tanx.lax.split": lambda: tanx.lax.split(X, (1, 2), axis=2),
    "tanx.lax.slice_in_dim": lambda: tanx.lax.slice_in_dim(X, 0, 1, axis=2),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others(name):
    with pytest.raises(np.exceptions.AxisError) as caught:
        OTHERS[name]()
    first, second, *_ = str(caught.value).split("\n")
    assert first.startswith(f"{name}: axis ") and second == "  operand: float32[3,4]"
