"""Every row of the table of cases against all six rules."""

import itertools
import warnings

import numpy as np
import pytest

import tanx
from tanx import dtypes
from tanx._core.array import Array
from tanx._core.jaxpr import eval_jaxpr
from tanx._core.linear import Linear, Zero, instantiate
from tanx._core.primitive import Kind, primitives
from tanx._core.stage import stage
from tanx._loops import build, check, interpret
from tanx._transforms.jvp import jvp
from tanx._transforms.linearize import linearize
from tanx._transforms.transpose import backward
from tanx._transforms.vmap import Axis, batch

from .cases import CASES


def coarse(dtype) -> bool:
    """Whether a floating-point dtype is less precise than float64."""
    return dtype not in (np.float64, np.complex128)


PREPARED = {name for name, primitive in primitives.items() if primitive.prepared}


def each_case(suits=lambda case: True):
    """Parametrize a test by all rows that satisfy ``suits``."""
    return pytest.mark.parametrize("case", list(filter(suits, CASES)), ids=repr)


@pytest.fixture(autouse=True)
def wide_types():
    with tanx.enable_x64(True):
        yield


def arrays(values):
    return [Array(np.asarray(v)) for v in values]


def as_list(out):
    return list(out) if isinstance(out, (list, tuple)) else [out]


def flat(case):
    return lambda *args: as_list(case.fun(*args))


def close(actual, expected, rtol=1e-9, atol=1e-11):
    """Check equality up to rounding, in the precision of the values compared."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    if actual.dtype.itemsize < 8 and actual.dtype.kind not in "iub":
        rtol, atol = max(rtol, 2e-2 if actual.dtype.itemsize < 4 else 2e-5), max(atol, 1e-5)
    if actual.dtype.kind == "V":
        actual, expected = actual.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


@each_case()
def test_infer_agrees_with_eval(case):
    args = arrays(case.arguments())
    outs = flat(case)(*args)
    jaxpr, _ = stage(flat(case), [x.aval for x in args])
    assert case.rewritten or any(eqn.primitive.name == case.primitive for eqn in jaxpr.eqns), jaxpr
    for out, aval in zip(outs, jaxpr.out_avals, strict=True):
        assert out._value.shape == aval.shape
        assert out._value.dtype == aval.dtype
        assert out.weak_type == aval.weak_type


@each_case(lambda case: case.primitive in PREPARED)
def test_prepared_functions_agree_with_eval(case):
    args = arrays(case.arguments())
    jaxpr, consts = stage(flat(case), [x.aval for x in args])
    values = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))
    for eqn in jaxpr.eqns:
        ins = [values[a] if a in values else Array(np.asarray(a.val), False, a.aval)
               for a in eqn.invars]
        values.update(zip(eqn.outvars, as_list(eqn.primitive.bind(*ins, **eqn.params))))
        prepared = eqn.primitive.prepared and eqn.primitive.prepared(
            *(x.aval for x in ins), **eqn.params)
        if prepared:
            data = [x._value for x in ins]
            got, want = np.asarray(prepared(*data)), eqn.primitive.eval(*data, **eqn.params)
            np.testing.assert_array_equal(got, want, strict=got.ndim > 0)
            assert got.dtype == eqn.outvars[0].aval.dtype and got.shape == want.shape


@each_case(lambda case: case.lower)
def test_lower_agrees_with_eval(case):
    args = arrays(case.arguments())
    jaxpr, consts = stage(flat(case), [x.aval for x in args])
    values = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))
    for eqn in jaxpr.eqns:
        ins = [values[a] if a in values else Array(np.asarray(a.val), False, a.aval)
               for a in eqn.invars]
        outs = as_list(eqn.primitive.bind(*ins, **eqn.params))
        values.update(zip(eqn.outvars, outs))
        if eqn.primitive.name != case.primitive:
            continue
        make = (build.statement_program if eqn.primitive.kind is Kind.STATEMENT
                else build.element_program)
        program = make(eqn.primitive.lower, [x._value for x in ins], [x._value for x in outs],
                       eqn.params)
        check.check(program)
        lowered = interpret.run(program, *(x._value for x in ins))
        for got, want in zip(lowered, outs, strict=True):
            close(got, want._value, rtol=case.rtol, atol=1e-9)


def tangents_for(case, args, seed):
    values = case.arguments(seed=seed)
    return [Array(np.asarray(v)) if k in case.grad else Zero.tangent_of(x)
            for k, (x, v) in enumerate(zip(args, values))]


@each_case(lambda case: case.grad and not any(coarse(case.args[k].dtype) for k in case.grad))
def test_jvp_agrees_with_finite_differences(case):
    args, h = arrays(case.arguments()), 1e-6
    tangents = tangents_for(case, args, seed=1)

    def along(s):
        moved = [x if type(t) is Zero else Array(np.asarray(x._value + s * t._value))
                 for x, t in zip(args, tangents)]
        return [np.asarray(y) for y in flat(case)(*moved)]

    outs, out_tangents = jvp(flat(case), args, tangents)
    for y, dy, plus, minus in zip(outs, out_tangents, along(h), along(-h), strict=True):
        if not dtypes.issubdtype(y.dtype, np.inexact):
            assert type(dy) is Zero
            continue
        if coarse(y.dtype):
            continue
        numeric = ((plus - minus) / (2 * h)).astype(y.dtype)
        close(instantiate(dy), numeric, rtol=max(case.rtol, 1e-5), atol=1e-6)


def inner(xs, ys):
    """The real part: functions that are only real-linear, such as conj, preserve no more."""
    return float(np.real(sum(np.sum(np.asarray(x) * np.asarray(y)) for x, y in zip(xs, ys))))


@each_case(lambda case: case.grad and "rev" in case.modes)
def test_transpose_agrees_with_inner_products(case):
    args = arrays(case.arguments())
    tangents = tangents_for(case, args, seed=1)
    active = [type(t) is not Zero for t in tangents]
    outs, nonzero, jaxpr, residuals = linearize(flat(case), args, active)
    rng = np.random.default_rng(3)
    outs = [y for y, nz in zip(outs, nonzero) if nz]
    cts = [Array(np.asarray(rng.normal(size=y.shape) + (
        1j * rng.normal(size=y.shape) if y.dtype.kind == "c" else 0)).astype(y.dtype))
        for y in outs]
    _, out_tangents = jvp(flat(case), args, tangents)
    out_tangents = [instantiate(t) for t, nz in zip(out_tangents, nonzero) if nz]
    answers = backward(jaxpr, residuals, [Linear(v.aval) for v in jaxpr.invars], cts)
    answers = [instantiate(a) for a in answers]
    given = [t for t in tangents if type(t) is not Zero]
    for answer, t in zip(answers, given, strict=True):
        assert answer.shape == t.shape and answer.dtype == t.dtype
    rough = any(coarse(x.dtype) for x in (*given, *outs))
    np.testing.assert_allclose(inner(cts, out_tangents), inner(answers, given),
                               rtol=2e-2 if rough else 1e-8, atol=1e-2 if rough else 1e-9)


@each_case(lambda case: case.batch and case.args)
def test_batching_agrees_with_a_loop(case):
    size = 3
    for batched in itertools.product([False, True], repeat=len(case.args)):
        if not any(batched):
            continue
        values = case.arguments(lead=(size,), batched=batched)
        loops = [flat(case)(*arrays(v[k] if m else v for v, m in zip(values, batched)))
                 for k in range(size)]
        for place in (0, -1):
            dims = [None if not m else place % v.ndim for v, m in zip(values, batched)]
            moved = arrays(v if d is None else np.moveaxis(v, 0, d)
                           for v, d in zip(values, dims))
            outs, out_dims = batch(flat(case), Axis(None, size), moved, dims)
            for k, (out, d) in enumerate(zip(outs, out_dims, strict=True)):
                want = np.stack([np.asarray(loop[k]) for loop in loops])
                got = np.asarray(out) if d is not None else np.stack([np.asarray(out)] * size)
                close(np.moveaxis(got, d or 0, 0), want, rtol=1e-9)


WIDE = (np.float64, np.complex128, np.int64, np.uint64)
USERS_RULES = ("pure_callback", "c_function")  # functions of the test's own, run by the rules


@each_case(lambda case: case.args and any(a.dtype in WIDE for a in case.args)
           and case.primitive not in USERS_RULES)
def test_rules_keep_64_bits_where_they_are_not_enabled(case):
    """A function traced with 64-bit types may be differentiated and batched outside of them."""
    args = arrays(case.arguments())
    jaxpr, consts = stage(flat(case), [x.aval for x in args])

    def replay(*args):
        return eval_jaxpr(jaxpr, consts, *args)

    def types():
        found = []
        if case.grad:
            tangents = tangents_for(case, args, seed=1)
            outs, out_tangents = jvp(replay, args, tangents)
            found += [*outs, *out_tangents]
        if case.grad and "rev" in case.modes:
            outs, nonzero, linear, residuals = linearize(
                replay, args, [type(t) is not Zero for t in tangents])
            cts = [Array(np.ones(y.shape, y.dtype)) for y, nz in zip(outs, nonzero) if nz]
            found += backward(linear, residuals, [Linear(v.aval) for v in linear.invars], cts)
        if case.batch:
            values = case.arguments(lead=(2,), batched=[True] * len(case.args))
            found += batch(replay, Axis(None, 2), arrays(values), [0] * len(values))[0]
        return [x.aval for x in found]

    want = types()
    with tanx.enable_x64(False), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert types() == want
