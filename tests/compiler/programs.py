"""Random programs: made line by line, run, compared, and made smaller when they fail.

A program is text from the start, so that a failure prints as code to be run. Each line is executed
when it is made, which tells its type and keeps numbers small. Lines that jump (comparisons,
sorting, rounding) take only values that are exact in any order of computation. ::

    python -m tests.compiler.programs 1000          # that many programs, from a seed of today's
    python -m tests.compiler.programs 1000 --seed 7
    python -m tests.compiler.programs 1000 --jobs 4

Small programs also run in the interpreter of loops, which shows whether a pass is to blame, or code
generation. Large ones (a quarter of all) have room for vectors, tiles and threads. Most run with
other thresholds in the compiler than the usual ones, so that all its ways are taken.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.context import SpawnContext
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._compiler.machine import as_host, host
from tanx._ops.convert import convert
from tests.compiler.agreement import check_jaxpr_agrees, evaluated

NAMES = {"tanx": tanx, "jnp": jnp, "lax": lax, "np": np}
LARGEST = {False: 1000, True: 1 << 16}
"""Elements of a value, in small and in large programs."""


SETTINGS: tuple[dict[str, float], ...] = (
    {},
    {"fuse.store": 1000.0, "split.worth": 1, "fuse.reuse": 2, "flatten.small": 0.0,
     "distribute.small": 0, "registers.little": -1e18},  # store as little as possible; host loops
    {"fuse.store": -1000.0, "fuse.small": 0, "fuse.rows": 1, "flatten.small": 1.0,
     "flatten.copied": 1 << 20, "memory.guest": 64},  # and as much; all loops in kernels
    {"fuse.nodes": 8, "split.worth": 1, "split.pieces": 4, "simplify.folded": 2,
     "moments.far": 0, "moments.near": 0, "moments.size": 4, "moments.lanes": 2,
     "searches.most": 8, "searches.least": 2, "searches.many": 2, "searches.far": 1},
    {"fuse.contexts": 1, "fuse.rows": 1, "fuse.near": 1000, "memory.put_off": 1000,
     "transposes.far": 0, "transposes.read": 64, "contract.tiny_rows": 1,
     "access.far": 0, "access.scattered": 0, "access.steps": 2, "access.ahead": 64,
     "polls.long": 2, "polls.soon": 0, "choices.dear": 4},
    {"tasks.grain": 1e-9, "tasks.enough": 2, "tasks.enough_rows": 1, "folds.stretch": 2,
     "lanes.tile": 1, "tasks.many_each": 1, "tasks.scan_length": 4, "tasks.scan_lanes": 2,
     "tasks.line": 4, "flow.grain": 1e-9, "flow.in_place": 1, "distribute.small": 0,
     "scans.vectors": 1, "columns.room": 512, "columns.long": 0,
     "searches.many": 2, "searches.most": 4, "searches.least": 2},  # small tasks
    {"fuse.reuse": 1, "contract.near": 64, "contract.fewer": 1, "tiles.worth": 1,
     "tiles.block_bytes": 1 << 10, "tiles.strip": 8, "tiles.chunk": 4,
     "tiles.task": 16},  # small tiles
    {"fuse.reuse": 1, "tiles.worth": 1, "tiles.conflict": 1,
     "tiles.stretch": 2, "tiles.room_bytes": 256,
     "tiles.streamed": 2, "tiles.near": 64, "contract.tiny": 0,
     "tiles.chunk": 4, "tiles.task": 16},  # operands computed by tasks
    {"registers.apart": 4, "registers.lanes": 2, "registers.states": 8, "registers.scalars": 60,
     "decompose.powers": 3, "rows.many": 1, "rows.much": 0, "rows.short": 8, "rows.vectors": 2,
     "lanes.together": 4, "lanes.moves": 40, "lanes.residues": 2, "lanes.few_lanes": 2,
     "scans.rows": 2, "transposes.written_out": 4096, "sort.short": 4, "sort.long": 16,
     "sort.few": 2, "functions.written_out": 0, "matrices.written_out": 2, "bands.least": 2,
     "bands.tasks": 1, "tasks.back": 2, "fourier.group": 4, "fourier.table": 8},  # small limits
)
"""Thresholds of the compiler with which other ways are taken: fields of ``Tuning``, by pass."""


@contextmanager
def settings(values: Mapping[str, float]) -> Iterator[None]:
    """Change thresholds of the compiler temporarily."""
    with as_host(replace(host(), tuning=host().tuning.varied(values))):
        yield


@dataclass(frozen=True)
class Value:
    """A variable: its name, its value when the program was made, if that is exact, if weak."""

    name: str
    data: np.ndarray
    exact: bool
    weak: bool = False

    shape = property(lambda self: self.data.shape)
    kind = property(lambda self: "f" if self.data.dtype.kind == "V" else self.data.dtype.kind)
    ndim = property(lambda self: self.data.ndim)


@dataclass(frozen=True)
class Line:
    """``name = text``, and the variables that the text reads."""

    value: Value
    text: str
    reads: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """A program: arguments, lines, the variables it returns, and its transformation."""

    arguments: tuple[Value, ...]
    lines: tuple[Line, ...]
    returned: tuple[str, ...]
    transform: str = ""
    large: bool = False
    settings: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        names = ", ".join(a.name for a in self.arguments)
        body = "".join(f"    {line.value.name} = {line.text}\n" for line in self.lines)
        return f"def program({names}):\n{body}    return ({', '.join(self.returned)},)\n"

    def function(self) -> Callable:
        """The program as a function."""
        scope = dict(NAMES)
        exec(str(self), scope)
        return eval(self.transform or "program", scope)

    def script(self) -> str:
        """Code that runs the program and compares."""
        data = ",\n    ".join(f"np.array({a.data.tolist()!r}, {a.data.dtype.name!r})"
                              f".reshape({a.shape})" for a in self.arguments)
        return (f"import numpy as np\nimport tanx\nimport tanx.numpy as jnp\nfrom tanx import lax\n"
                f"from tests.compiler.agreement import check_function\n"
                f"from tests.compiler.programs import settings\n\n\n{self}\n\n"
                f"with tanx.enable_x64(True), settings({dict(self.settings)}):\n"
                f"    check_function(\n    {self.transform or 'program'},\n    {data})\n")

    def fails(self) -> str | None:
        """The failure, if any: when it is traced and evaluated, or when it is compiled."""
        args = [a.data for a in self.arguments]
        with tanx.enable_x64(True), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                closed = tanx.make_jaxpr(self.function())(*args)
                evaluated(closed, args)
            except Exception as error:
                return f"no program ({type(error).__name__}): {error}"
            try:
                with settings(self.settings):
                    check_jaxpr_agrees(closed, args, interpreted=not self.large)
            except Exception as error:
                return f"{type(error).__name__}: {error}"
        return None


# -- making ----------------------------------------------------------------------------------------


class Maker:
    """Writes a program line by line."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.large = seed % 4 == 3
        self.values: list[Value] = []
        self.lines: list[Line] = []

    def program(self) -> Source:
        """A whole program."""
        rng = self.rng
        sizes = rng.choice([1, 3, 16, 31, 64, 65, 100, 130] if self.large
                           else [1, 2, 3, 4, 5, 8, 8, 17], 4)
        arguments = []
        for n in range(rng.integers(1, 4)):
            shape = tuple(map(int, rng.choice(sizes, rng.integers(0, 3 if self.large else 4))))
            arguments.append(Value(f"x{n}", self.data(shape, self.pick(
                ["float64"] * 4 + ["float32"] * 4 + ["int32", "int64", "uint8", "bool",
                                                     "bfloat16", "complex128"])), True))
        self.values = list(arguments)
        wanted = rng.integers(1, 21)
        for _ in range(4 * wanted):
            if len(self.lines) < wanted:
                self.line()
        read = {name for line in self.lines for name in line.reads}
        unread = [line.value.name for line in self.lines if line.value.name not in read]
        returned = unread[-int(rng.integers(1, 6)):] or [arguments[0].name]
        source = without_dead_lines(Source(
            tuple(arguments), tuple(self.lines), tuple(returned), large=self.large))
        return replace(source, transform=self.transform(source))

    def transform(self, source: Source) -> str:
        """A transformation of the whole program, or none."""
        floats = [n for n, a in enumerate(source.arguments) if a.kind == "f"]
        if self.rng.random() < 0.5 or not floats:
            return self.pick(["", "", "tanx.jit(program)", *WHOLE])
        return self.pick(DERIVATIVES).format(n=self.pick(floats))

    def data(self, shape, dtype: str) -> np.ndarray:
        """Numbers of few bits, so that sums and products of some of them are exact."""
        if dtype == "bool":
            return self.rng.integers(0, 2, shape).astype(bool)
        whole = self.rng.integers(-12, 13, shape)
        if dtype in ("uint8", "int32", "int64"):
            return np.asarray(abs(whole) if dtype == "uint8" else whole).astype(dtype)
        parts = whole / 4 + (1j * self.rng.integers(-8, 9, shape) / 4 if "complex" in dtype else 0)
        return np.asarray(parts).astype(jnp.dtype(dtype))

    def pick(self, options):
        return options[self.rng.integers(0, len(options))]

    def operand(self, kinds: str = "biufc", exact: bool = False, rank: int = 0) -> Value | None:
        """A variable, later ones more often."""
        fitting = [v for v in self.values if v.kind in kinds and v.ndim >= rank
                   and (v.exact or not exact)]
        return fitting[-1 - int(len(fitting) * self.rng.random() ** 3)] if fitting else None

    def size_of(self, text: str, reads: list[Value]) -> int:
        """The number of elements that a line would have."""
        def run(*values):
            return eval(text, NAMES | {v.name: x for v, x in zip(reads, values)})
        return tanx.eval_shape(run, *(v.data for v in reads)).size

    def line(self) -> None:
        """Try to add a line."""
        family, exact, chance = LINES[self.rng.choice(len(LINES), p=WEIGHTS)]
        made = family(self)
        if made is None:
            return
        text, *reads = made
        if hangs_on_rounding(text, reads):
            return
        rooted = "abs" in text and any(v.kind == "c" for v in reads)
        kept = exact and all(v.exact for v in reads) and not rooted
        try:
            with tanx.enable_x64(True), tanx.disable_jit(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scope = NAMES | {v.name: convert(jnp.asarray(v.data), v.data.dtype, v.weak)
                                 for v in reads}
                if self.large and self.size_of(text, reads) > LARGEST[True]:
                    return
                result = jnp.asarray(eval(text, scope))
                data = np.asarray(result)
        except (IndexError, NotImplementedError, TypeError, ValueError):
            return
        with np.errstate(all="ignore"):
            wide = np.abs(data.astype(np.complex128))
        # Of large numbers in few bits, sines and the like are nothing but rounding.
        floating = jnp.issubdtype(data.dtype, jnp.inexact)
        most = min(1e3, 0.25 / float(jnp.finfo(data.dtype).eps)) if floating else 1e3
        if data.size > LARGEST[self.large] or not np.all(wide < most):
            return
        value = Value(f"v{len(self.lines)}", data, kept, result.weak_type)
        self.lines.append(Line(value, text, tuple(v.name for v in reads)))
        self.values.append(value)


KINKS = ["> 0", "abs(", "maximum(", "clip("]
EXTREMA = ["jnp.max(", "jnp.min("]


def hangs_on_rounding(text: str, reads: Sequence[Value]) -> bool:
    """Whether rounding decides on which side of a kink numbers are, or which one gets a gradient.

    Fourier transforms make numbers that are nothing but rounding, and pairs that differ by it.
    """
    rounded = [v.data for v in reads if not v.exact and v.kind in "fc"]
    return (any(kink in text for kink in KINKS) and any(map(has_near_zeros, rounded))
            or any(name in text for name in EXTREMA) and any(map(has_near_ties, rounded)))


def has_near_zeros(data: np.ndarray) -> bool:
    """Whether some element is zero up to rounding."""
    sizes = np.abs(data.astype(np.complex128))
    least = 64 * float(jnp.finfo(data.dtype).eps) * max(1.0, sizes.max(initial=0))
    return bool((sizes < least).any())


def has_near_ties(data: np.ndarray) -> bool:
    """Whether two elements are equal up to rounding."""
    steps = np.diff(np.sort(data.astype(np.complex128).real, axis=None))
    return bool((steps < 1e-3).any())


def without_dead_lines(source: Source) -> Source:
    """The program without lines and arguments that nothing needs; one argument stays."""
    live = set(source.returned)
    kept = []
    for line in reversed(source.lines):
        if line.value.name in live:
            live.update(line.reads)
            kept.append(line)
    arguments = tuple(a for a in source.arguments if a.name in live) or source.arguments[:1]
    if source.transform:
        arguments = source.arguments
    return replace(source, lines=tuple(kept[::-1]), arguments=arguments)


# -- what is done to whole programs ----------------------------------------------------------------

WHOLE = ["tanx.vmap(program, in_axes=None, axis_size=2)",  # lanes that have all they need, and more
         "lambda *xs: tanx.vmap(program)(*(jnp.stack([x, x]) for x in xs))",
         "lambda *xs: tanx.vmap(program, -1, -1)(*(jnp.stack([x, x], -1) for x in xs))",
         "lambda *xs: lax.map(lambda a: program(*a), tuple(jnp.stack([x, x]) for x in xs))",
         "lambda *xs: lax.cond(jnp.sum(jnp.real(xs[0])) > 0.3, program, program, *xs)"]
TOTAL = "sum(jnp.sum(jnp.real(y).astype('float64')) for y in {})"
DERIVATIVES = [
    f"tanx.grad(lambda *xs: {TOTAL.format('program(*xs)')}, {{n}})",
    f"tanx.grad(lambda *xs: {TOTAL.format('tanx.checkpoint(program)(*xs)')}, {{n}})",
    "lambda *xs: tanx.jvp(lambda x: program(*xs[:{n}], x, *xs[{n} + 1:]), "
    "(xs[{n}],), (jnp.ones_like(xs[{n}]),))",
    "lambda *xs: tanx.linearize(lambda x: program(*xs[:{n}], x, *xs[{n} + 1:]), "
    "xs[{n}])[1](jnp.ones_like(xs[{n}]))",
    f"lambda *xs: tanx.vmap(tanx.grad(lambda *xs: {TOTAL.format('program(*xs)')}, {{n}}))"
    "(*(jnp.stack([x, x]) for x in xs))",
    "tanx.grad(lambda *xs: " + TOTAL.format(
        "lax.map(lambda a: program(*a), tuple(jnp.stack([x, x]) for x in xs))") + ", {n})",
    f"lambda *xs: tanx.jvp(lambda x: tanx.grad(lambda *xs: {TOTAL.format('program(*xs)')}, {{n}})"
    "(*xs[:{n}], x, *xs[{n} + 1:]), (xs[{n}],), (jnp.ones_like(xs[{n}]),))[1]"]

# -- lines: each gives a text and the variables in it, or None -------------------------------------

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

SPECIAL = ["lax.lgamma(1 + abs({}))", "lax.digamma(1 + abs({}))", "lax.erfc({})",
           "lax.erf_inv(0.9 * jnp.tanh({}))", "lax.bessel_i0e({})", "lax.bessel_i1e({})",
           "lax.igamma(1 + abs(lax.stop_gradient({0})), abs({0}))",
           "lax.igammac(0.5 + abs(lax.stop_gradient({0})), abs({0}))",
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
    padding = [(a, b, abs(c)) for a, b, c in padding]
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


# -- making smaller --------------------------------------------------------------------------------


def smaller(source: Source, fails: Callable[[Source], object] = Source.fails) -> Source:
    """The smallest program that still fails, within a time limit."""
    first, until = str(fails(source)).partition(":")[0], time.monotonic() + _PATIENCE
    while True:
        for candidate in _candidates(source):
            if time.monotonic() > until:
                return source
            if str(fails(candidate)).partition(":")[0] == first:
                source = candidate
                break
        else:
            return source


_PATIENCE = 120.0
"""Seconds after which a failing program is small enough: some take a minute for each comparison."""


def _candidates(source: Source):
    """Smaller programs; the largest cuts come first."""
    if source.transform:
        yield without_dead_lines(replace(source, transform=""))
    for name in dict.fromkeys((*source.returned, *(line.value.name for line in source.lines))):
        if source.returned != (name,):
            least = without_dead_lines(replace(source, returned=(name,)))
            if len(least.lines) < len(source.lines) or len(source.returned) > 1:
                yield least
    for line in source.lines:
        # The value becomes an argument, and what only it needed goes.
        rest = tuple(other for other in source.lines if other is not line)
        given = (*source.arguments, replace(line.value, exact=True))
        cut = without_dead_lines(replace(source, lines=rest, arguments=given))
        if len(cut.lines) < len(source.lines) and cut.lines:
            yield cut
        for read in line.reads:
            other = next((v for v in (*source.arguments, *(o.value for o in source.lines))
                          if v.name == read), None)
            if other is not None and other.shape == line.value.shape and (
                    other.data.dtype == line.value.data.dtype):
                skipped = replace(line, text=read, reads=(read,))
                if line.text != read:
                    yield without_dead_lines(replace(source, lines=tuple(
                        skipped if o is line else o for o in source.lines)))


def make(seed: int) -> Source:
    """The program of a seed."""
    return Maker(seed).program()


def _varied(seed: int) -> Source:
    """The program of a seed, with its thresholds."""
    return replace(make(seed), settings=SETTINGS[seed // 4 % len(SETTINGS)])


def report_of(seed: int) -> str | None:
    """The failure of the program of a seed, and the smallest program that still fails."""
    source = _varied(seed)
    if not source.fails():
        return None
    least = smaller(source)
    return f"seed {seed}: {least.fails()}\n\n{least.script()}"


def main() -> None:
    parser = argparse.ArgumentParser(description="compare random programs")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=int(time.time()) // 86400 * 1_000_000)
    parser.add_argument("--jobs", type=int, default=1, help="processes to run")
    options = parser.parse_args()
    done = failures = 0
    end = options.seed + options.count
    parts = [[*range(seed, min(seed + 20, end))] for seed in range(options.seed, end, 20)]
    for reports in _in_processes(parts, options.jobs):
        done += len(reports)
        for report in filter(None, reports):
            failures += 1
            sys.stdout.write(f"\n{report}\n")
        sys.stdout.write(f"\r{done} of {options.count} programs, {failures} failures")
        sys.stdout.flush()
    sys.stdout.write("\n")
    sys.exit(bool(failures))


def _in_processes(parts: list[list[int]], jobs: int) -> Iterator[list[str | None]]:
    """The reports of each part. A program that kills its process is reported, too."""
    spawn = get_context("spawn")
    with TemporaryDirectory() as folder:
        while parts:
            with ProcessPoolExecutor(jobs, spawn, _end_with, (os.getpid(),)) as pool:
                running = {pool.submit(_reports_of, part, folder): part for part in parts}
                for future in as_completed(running):
                    with suppress(BrokenProcessPool):
                        yield future.result()
                        parts.remove(running[future])
            deadly = [seed for seed in _seeds_in(folder, parts) if _dies(spawn, seed)]
            if parts and not deadly:
                raise RuntimeError("a process died, and no program that ran does it alone.")
            for seed in deadly:
                yield [f"seed {seed}: its process dies\n\n{_varied(seed).script()}"]
            parts = [[seed for seed in part if seed not in deadly] for part in parts]


def _seeds_in(folder: str, parts: list[list[int]]) -> list[int]:
    """The programs of unfinished parts that processes have begun last."""
    found = {int(file.read_text()) for file in Path(folder).iterdir()}
    return sorted(found.intersection(seed for part in parts for seed in part))


def _dies(spawn: SpawnContext, seed: int) -> bool:
    process = spawn.Process(target=report_of, args=(seed,))
    process.start()
    process.join()
    return process.exitcode != 0


def _reports_of(seeds: Iterable[int], folder: str) -> list[str | None]:
    """The reports of programs; a file with the name of this process says which one runs."""
    file, reports = Path(folder) / str(os.getpid()), []
    for seed in seeds:
        file.write_text(str(seed))
        reports.append(report_of(seed))
    return reports


def _end_with(parent: int) -> None:
    """End this process when its parent has ended, even if that was killed."""
    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)
    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    main()
