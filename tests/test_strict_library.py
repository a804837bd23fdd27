"""Functions of the library promote nothing internally: they run under both strict modes.

Arguments have one dtype and matching ranks, so errors come from promotion inside a function.
"""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import image, lax, nn, random
from tanx.experimental import rnn
from tanx.experimental.ode import odeint
from tanx.experimental.sparse.linalg import lobpcg_standard
from tanx.scipy import fft, linalg, ndimage, signal, special, stats
from tanx.scipy.cluster.vq import vq
from tanx.scipy.spatial.transform import Rotation, Slerp

RNG = np.random.default_rng(0)
KEY = random.key(0)
V, M, C = (RNG.uniform(0.3, 1.3, shape).astype(np.float32) for shape in ((4,), (3, 4), (2, 3, 4)))
S = (M @ M.T + np.eye(3)).astype(np.float32)
LSTM = rnn.init_lstm_weight(KEY, 4, 2, 1, False)
IMAGE = RNG.uniform(size=(8, 8, 3)).astype(np.float32)

# Functions of one array, by name: of a vector, a matrix and a stack of matrices.
UNARY = {
    jnp: """abs arccosh arctan around average cbrt corrcoef cov cumprod cumsum diff ediff1d exp2
        expm1 gradient histogram i0 log1p logical_not max mean median nan_to_num nanmean nanmedian
        nanstd nanvar nancumsum ptp prod round sinc sort std trapezoid tril unwrap var""",
    jnp.linalg: "norm pinv matrix_rank svdvals qr",
    jnp.fft: "fft rfft irfft fft2 hfft fftn fftshift",
    nn: """celu elu gelu glu hard_silu hard_tanh leaky_relu log1mexp log_sigmoid log_softmax
        logmeanexp logsumexp mish relu6 selu sigmoid silu soft_sign softmax softplus sparse_plus
        sparse_sigmoid squareplus standardize""",
    special: """digamma entr erf erfinv erfcx expi expit gammaln i0e i1e log_ndtr logit logsumexp
        ndtr ndtri spence softmax""",
    fft: "dct idct dctn idctn",
    signal: "detrend stft welch",
    stats: "rankdata mode sem",
    stats.norm: "pdf logpdf cdf logcdf sf ppf isf",
    stats.cauchy: "pdf logcdf ppf", stats.laplace: "pdf cdf",
}
# Functions of two arrays of one shape.
BINARY = {
    jnp: """add arctan2 copysign divide divmod float_power fmod heaviside hypot isclose kron
        logaddexp maximum nextafter power remainder vdot outer vecdot inner isin
        searchsorted digitize convolve correlate polyadd polymul polydiv polyval""",
    special: "beta betaln gammainc gammaincc kl_div rel_entr xlog1py xlogy zeta",
    signal: "convolve correlate fftconvolve csd",
    stats.gamma: "pdf logpdf cdf", stats.t: "pdf logpdf",
}
VECTORS_ONLY = {"polyadd", "polymul", "polydiv", "polyval", "searchsorted", "digitize", "convolve",
                "correlate", "cov", "corrcoef"}
MATRICES_ONLY = {"pinv", "matrix_rank", "svdvals", "qr", "fft2", "tril"}
OTHER = {
    "funm": lambda x: linalg.funm(S, jnp.sin), "sqrtm": lambda x: linalg.sqrtm(S),
    "sylvester": lambda x: linalg.solve_sylvester(S, S, S), "expm": lambda x: linalg.expm(S),
    "rsf2csf": lambda x: linalg.rsf2csf(*linalg.schur(S)),
    "density": lambda x: jnp.histogram(np.arange(9, dtype=np.int32), density=True),
    "histogram2d": lambda x: jnp.histogram2d(V, V, bins=[4, 5], density=True),
    "attention": lambda x: nn.dot_product_attention(
        *[np.ones((2, 8, 4, 16), np.float32)] * 3, bias=np.ones((1, 4, 8, 8), np.float32),
        mask=np.ones((2, 1, 8, 8), bool), is_causal=True, local_window_size=2,
        query_seq_lengths=np.array([3, 4], np.int32),
        key_value_seq_lengths=np.array([3, 4], np.int32)),
    "clip": lambda x: jnp.clip(x, 0, 1), "where": lambda x: jnp.where(x > 1, x, 0),
    "quantile": lambda x: jnp.quantile(x, 0.3, axis=0),
    "quantiles": lambda x: jnp.quantile(x, jnp.asarray(x[0, :2]) * 0.3, axis=1),
    "weighted": lambda x: jnp.quantile(x, 0.3, axis=1, weights=x, method="inverted_cdf"),
    "interp": lambda x: jnp.interp(x, jnp.sort(x[0]), x[1], period=2),
    "pad": lambda x: jnp.pad(x, 1, mode="linear_ramp"), "pad mean": lambda x: jnp.pad(
        x, 1, mode="mean"), "average": lambda x: jnp.average(x, axis=1, weights=x[0]),
    "select": lambda x: jnp.select([x > 1, x > 0.5], [x, x], 0),
    "piecewise": lambda x: jnp.piecewise(x, [x > 1], [lambda y: y + 1, 0]),
    "histogram": lambda x: jnp.histogram(x, weights=x, density=True),
    "linspace": lambda x: jnp.linspace(x, x + 1, 5), "logspace": lambda x: jnp.logspace(x, x + 1),
    "geomspace": lambda x: jnp.geomspace(x, x + 1, 5), "cross": lambda x: jnp.cross(
        x[:, :3], x[:, 1:]), "trapezoid": lambda x: jnp.trapezoid(x, x[0]),
    "polyfit": lambda x: jnp.polyfit(x[0], x[1], 1, w=x[2], cov=True),
    "polyfit columns": lambda x: jnp.polyfit(x[0], x.T, 1, cov=True),
    "cov": lambda x: jnp.cov(x, fweights=np.arange(1, 5), aweights=x[0]),
    "outer": lambda x: jnp.add.outer(x[0], x), "einsum": lambda x: jnp.einsum("ij,j", x, x[0]),
    "at": lambda x: x.at[0].multiply(x[1]).at[:, 1].set(0), "solve": lambda x: jnp.linalg.solve(
        x[:, :3], x[:, 3]), "lstsq": lambda x: jnp.linalg.lstsq(x, x[:, 0])[0],
    "masked mean": lambda x: jnp.mean(x, 0, where=x > 0.5), "var": lambda x: jnp.var(
        x, 0, where=x > 0.5, ddof=1), "std": lambda x: jnp.std(x, 1, ddof=1),
    "logsumexp": lambda x: nn.logsumexp(x, 1, b=x), "masked softmax": lambda x: nn.softmax(
        x, where=x > 0.5), "multigammaln": lambda x: special.multigammaln(x + 2, 3),
    "dct": lambda x: fft.dct(x, 4, norm="ortho"),
    "istft": lambda x: signal.istft(x)[1], "detrend": lambda x: signal.detrend(x, axis=0),
    "resize": lambda x: image.resize(x, (5, 6), "lanczos3"),
    "map_coordinates": lambda x: ndimage.map_coordinates(x, [x, x], 1),
    "gamma": lambda x: random.gamma(KEY, x), "dirichlet": lambda x: random.dirichlet(KEY, x),
    "beta": lambda x: random.beta(KEY, x, x), "weibull": lambda x: random.weibull_min(
        KEY, x, x, x.shape), "maxwell": lambda x: random.double_sided_maxwell(KEY, x, x, (2,)),
    "normal": lambda x: random.multivariate_normal(KEY, x[0, :3], jnp.asarray(S)),
    "categorical": lambda x: random.categorical(KEY, x, axis=0),
    "normals": lambda x: random.multivariate_normal(KEY, x[0, :3], jnp.asarray(S), (5,)),
    "vq": lambda x: vq(x, x), "odeint": lambda x: odeint(lambda y, t: -y, x, jnp.array([0.0, 1.0])),
    "lobpcg": lambda x: lobpcg_standard(jnp.diag(jnp.arange(1.0, 21.0)), jnp.tile(x.T, (5, 1)))[0],
    "rotation": lambda x: Rotation.from_rotvec(x[:, :3]).inv().apply(x[0, :3]),
    "slerp": lambda x: Slerp.init(jnp.arange(3.0), Rotation.from_rotvec(x[:, :3]))(x[0]).as_quat(),
    "lstm": lambda x: rnn.lstm(x[None], jnp.zeros((1, 1, 2)), jnp.zeros((1, 1, 2)), LSTM,
                               jnp.array([3]), 4, 2, 1, 0.0, False)[0],
    "choice": lambda x: random.choice(KEY, x[0], (3,), p=x[1]), "poisson": lambda x: random.poisson(
        KEY, x), "top_k": lambda x: lax.top_k(x, 2)[0],
} | {f"attention {name}": lambda x, options=options: nn.dot_product_attention(
        *[jnp.stack([x] * 2, 2)[None]] * 3, **options)
     for name, options in {"": {}, "causal": {"is_causal": True}, "window": {
         "local_window_size": 1}, "mask": {"mask": np.ones((1, 1, 3, 3), bool)}}.items()
} | {f"scale {method}": lambda x, method=method: image.scale_and_translate(
        IMAGE, (5, 6, 3), (0, 1), x[0, :2], x[1, :2], method)
     for method in ("linear", "cubic", "lanczos3")}


def cases():
    for table, count in ((UNARY, 1), (BINARY, 2)):
        for module, names in table.items():
            for name in names.split():
                vector, others = name not in MATRICES_ONLY, name not in VECTORS_ONLY
                function = getattr(module, name)
                for x in (V,) * vector + (M, C) * others:
                    yield (f"{module.__name__}.{name} {x.ndim}",
                           lambda x, f=function, n=count: f(*[x] * n), x)
    for name, function in OTHER.items():
        yield name, function, M


CASES = {name: (function, x) for name, function, x in cases()}


def total(result):
    """A differentiable number from any result; None if it contains no real numbers."""
    leaves = [leaf for leaf in tanx.tree.leaves(result) if hasattr(leaf, "dtype")
              and jnp.issubdtype(leaf.dtype, np.inexact)]
    return sum(jnp.sum(jnp.abs(leaf)) for leaf in leaves) if leaves else None


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:.*shorter")
def test_nothing_is_promoted_inside_of(name):
    function, x = CASES[name]
    x = jnp.asarray(x)
    result = function(x)
    for strict in (tanx.numpy_rank_promotion("raise"), tanx.numpy_dtype_promotion("strict")):
        with strict:
            got = function(x)
            if total(result) is not None:
                tanx.eval_shape(lambda y: tanx.jvp(lambda z: total(function(z)), (y,), (y,)), x)
        tanx.tree.map(np.testing.assert_array_equal, got, result)
