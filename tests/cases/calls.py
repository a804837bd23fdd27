"""Rows for calls: functions compiled as a unit, with custom rules, or computed twice."""

import numpy as np

import tanx
from tanx import lax
from tanx._control.custom_remat import fwd_or_function
from tanx._control.remat import checkpoint_name
from tanx.custom_batching import custom_vmap
from tanx.custom_derivatives import linear_call

from .case import Case, f, i


def product(x, y):
    return lax.mul(lax.sin(x), y)


@tanx.custom_jvp
def with_jvp(x, y):
    return product(x, y)


@with_jvp.defjvp
def with_jvp_rule(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    return with_jvp(x, y), lax.add(lax.mul(lax.mul(lax.cos(x), y), dx), lax.mul(lax.sin(x), dy))


@tanx.custom_vjp
def with_vjp(x, y):
    return product(x, y)


with_vjp.defvjp(lambda x, y: (with_vjp(x, y), (x, y)),
                lambda saved, ct: (lax.mul(ct, lax.mul(lax.cos(saved[0]), saved[1])),
                                   lax.mul(ct, lax.sin(saved[0]))))


@tanx.custom_vjp
def counting(seen, x):
    return lax.sin(x)


def _counting_bwd(saved, ct):
    seen, x = saved
    seen[...] += 1
    return None, lax.mul(ct, lax.cos(x))


counting.defvjp(lambda seen, x: (counting(seen, x), (seen, x)), _counting_bwd)


def counting_in_call(x):
    """Its rule keeps a reference, which is a value inside of the call."""
    seen = tanx.new_ref(np.zeros((), np.float32))
    return tanx.checkpoint(lambda x: counting(seen, x))(x)


def with_choice(x, y):
    """As the forward pass of a ``custom_vjp`` function with ``optimize_remat`` runs."""
    (out,), _, _ = fwd_or_function(lambda x, y: ([product(x, y)], [lax.cos(x)], product),
                                   lambda x, y: [product(x, y)], (x, y), (x, y))
    return out


@custom_vmap
def with_vmap(x, y):
    return product(x, y)


with_vmap.def_vmap(lambda size, batched, x, y: (tanx.vmap(
    product, [0 if b else None for b in batched], axis_size=size)(x, y), True))


def scaled(x):
    return linear_call(lambda r, x: lax.mul(lax.sin(r), x), lambda r, ct: lax.mul(lax.sin(r), ct),
                       np.asarray(0.5, x.dtype), x)


def two_results(x, n):
    return [lax.sin(x), lax.add(n, n)]


CASES = [
    Case("jit", tanx.jit(product), f(3), f(3), lower=False),
    Case("jit", tanx.jit(two_results), f(2, 3), i(3), lower=False, name="two-results"),
    Case("jit", lambda x: tanx.jit(lambda y: lax.mul(x, y))(lax.sin(x)), f(3), lower=False,
         name="closure"),
    Case("remat2", tanx.checkpoint(product), f(3), f(3), lower=False),
    Case("remat2", tanx.checkpoint(two_results), f(2, 3), i(3), lower=False, name="two-results"),
    Case("remat2", tanx.checkpoint(tanx.jit(product)), f(3), f(3), lower=False, name="of-jit"),
    Case("name", lambda x: checkpoint_name(lax.sin(x), "sine"), f(3)),
    Case("custom_jvp_call", with_jvp, f(3), f(3), lower=False),
    Case("custom_vmap_call", with_vmap, f(3), f(3), lower=False),
    Case("linear_call", scaled, f(), lower=False),
    Case("remat_opt", with_choice, f(3), f(3), lower=False),
    Case("custom_vjp_call", with_vjp, f(3), f(3), lower=False, grad=()),
    # Appears between forward and backward pass only; it has no derivative in forward mode.
    Case("custom_lin", with_vjp, f(3), f(3), lower=False, grad=(), rewritten=True),
    Case("late_refs", counting_in_call, f(3), lower=False, grad=(), rewritten=True),
]
