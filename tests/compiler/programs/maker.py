"""Makes a program line by line; each is executed at once to find its type."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import tanx
import tanx.numpy as jnp
from tanx._ops.convert import convert
from tests.compiler.programs.lines import LINES, WEIGHTS
from tests.compiler.programs.source import NAMES, SETTINGS, Line, Source, Value, without_dead_lines

LARGEST = {False: 1000, True: 1 << 16}
"""Elements of a value, in small and in large programs."""

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


def make(seed: int) -> Source:
    """The program of a seed."""
    return Maker(seed).program()


def varied(seed: int) -> Source:
    """The program of a seed, with its thresholds, and with or without mask registers."""
    return replace(make(seed), settings=SETTINGS[seed // 4 % len(SETTINGS)], masks=seed % 3 != 2)


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
