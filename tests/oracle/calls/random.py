"""Random expressions of functions that array programs use.

They are the same in each run. Shapes and dtypes are random, so some calls raise errors, which must
be the same.
"""

import random

from tests.oracle.calls.call import Call

OPERANDS = ["f32_2x3", "f32_2x3b", "f32_3", "f32", "i32_2x3", "i32_3", "bf16_2x3", "b1_2x3", "u8_3",
            "f32_3x2", "f32_2x1", "2", "1.5", "True", "w_f32", "f16_3"]
STEPS = """jnp.sin({0}) jnp.exp({0}) jnp.tanh({0}) jnp.abs({0}) jnp.sqrt(jnp.abs({0})) -({0})
jnp.square({0}) ({0})**2 ({0})**0.5 jnp.floor({0}) jnp.sign({0}) jnp.log1p(jnp.abs({0})) ({0})/3
({0})*2 ({0})+1.0 1-({0}) ({0})//2 ({0})%3 ({0})>0 ({0})==({1}) ({0})+({1}) ({0})*({1}) ({0})-({1})
({0})/({1}) jnp.maximum({0},{1}) jnp.minimum({0},0) jnp.arctan2({0},{1}) jnp.where(({0})>0,{0},{1})
jnp.where(({0})>0,{1},0) jnp.clip({0},-1,1) jnp.sum({0}) jnp.sum({0},axis=-1) jnp.mean({0},axis=0)
jnp.mean({0}) jnp.max({0},axis=-1,keepdims=True) jnp.min({0}) jnp.prod({0},axis=0) jnp.var({0})
jnp.std({0},axis=-1) jnp.cumsum({0},axis=-1) jnp.cumprod({0},axis=0) jnp.sort({0}) jnp.argsort({0})
jnp.argmax({0},axis=-1) jnp.any({0}) jnp.all(({0})>0,axis=0) ({0})[0] ({0})[...,0] ({0})[1:]
({0})[::-1] ({0})[None] ({0})[...,None] ({0})[:,::2] ({0})[jnp.array([1,0,1])]
({0}).at[0].set(1) ({0}).at[0].add({1}) ({0}).at[jnp.array([0,1,0])].add(1.0) ({0}).T
jnp.ravel({0}) jnp.reshape({0},(3,-1)) jnp.reshape({0},-1) jnp.transpose({0}) jnp.flip({0})
jnp.roll({0},1) jnp.squeeze({0}) jnp.expand_dims({0},0) jnp.broadcast_to({0},(2,3))
jnp.concatenate([{0},{1}]) jnp.stack([{0},{0}]) jnp.tile({0},2) jnp.repeat({0},2) jnp.pad({0},1)
jnp.diff({0}) jnp.outer({0},{1}) jnp.dot({0},{1}) ({0})@({1}) jnp.matmul({0},jnp.transpose({0}))
jnp.einsum('...i->...',{0}) jnp.tensordot({0},{1},0) jnp.linspace(0,1,3)*({0}) jnp.tril({0})
jnp.diag({0}) jnp.trace({0}) jnp.real({0}) jnp.astype({0},jnp.float32) jnp.astype({0},jnp.int32)
lax.stop_gradient({0})*({0}) lax.rsqrt(jnp.abs({0})+1.0) jnp.take({0},0,axis=0) jnp.median({0})
jnp.logaddexp({0},{1}) jnp.hypot({0},{1}) jnp.round({0},1) jnp.isfinite({0}) jnp.ones_like({0})
jax.vmap(jnp.sum)({0}) jax.vmap(jnp.negative)({0}) jax.jit(jnp.cos)({0}) jnp.vdot({0},{1})
jax.checkpoint(jnp.sin)({0}) jnp.split({0},2,axis=-1)[0] jnp.select([({0})>0],[{0}],{1})
jnp.nan_to_num({0}) jnp.swapaxes({0},0,-1) jnp.array_equal({0},{1}) jnp.exp2({0}) jnp.cbrt({0})
jnp.quantile({0},0.5) jnp.moveaxis({0},-1,0) jnp.count_nonzero({0},axis=0) jnp.kron({0},{1})"""
COUNT, DEPTH = 300, 4


def _expression(choose: random.Random, depth: int) -> str:
    if depth == 0 or choose.random() < 0.1:
        return choose.choice(OPERANDS)
    step = choose.choice(STEPS.split())
    return step.format(_expression(choose, depth - 1), _expression(choose, depth - 2)
                       if depth > 1 else choose.choice(OPERANDS))


def _calls() -> list[Call]:
    choose = random.Random(2024)
    texts = [_expression(choose, DEPTH) for _ in range(COUNT)]
    calls = [Call(text, mode) for text in texts for mode in ("eager", "jit")]
    traced = [text for text in texts if any(c in text for c in ("f32_", "bf16_"))]
    return calls + [Call(text, mode) for text in traced for mode in ("jvp", "vjp", "vmap")]


CALLS = _calls()
