"""Products of narrow numbers in blocks with a scale each (the microscaling formats)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from .._control.custom_vjp import custom_vjp
from ..errors import explain
from ..numpy._promotion import typeof

__all__ = ["get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"]

_FLOAT32 = np.dtype(np.float32)


@dataclass(frozen=True)
class BlockScaleConfig:
    """How an operand is quantised: blocks of ``block_size`` numbers, each with a scale."""

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any = None
    infer_only: bool = False


def get_scaled_dot_general_config(mode: str, global_scale=None) -> BlockScaleConfig:
    """The configuration of a format, for :func:`scaled_dot_general`.

    Args:
      mode: ``"mxfp8"``, blocks of 32 of float8_e4m3fn; or ``"nvfp4"``, blocks of 16 of
        float4_e2m1fn.
      global_scale: A scale of the whole operand, for ``"nvfp4"``.

    >>> tanx.nn.get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if mode == "mxfp8":
        return BlockScaleConfig(mode, 32, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu)
    if mode == "nvfp4":
        whole = jnp.ones((1,), _FLOAT32) if global_scale is None else global_scale
        return BlockScaleConfig(mode, 16, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn, whole)
    raise ValueError(explain("tanx.nn.get_scaled_dot_general_config",
                             "mode is 'mxfp8' or 'nvfp4'.", f"mode: {mode!r}"))


def scaled_matmul(lhs, rhs, lhs_scales, rhs_scales, preferred_element_type=np.float32):
    """A batch of products of quantised matrices, both with their last dimension contracted.

    Args:
      lhs: ``[B, M, K]``, narrow numbers.
      rhs: ``[B, N, K]``.
      lhs_scales: ``[B, M, K / block]``; each is the factor of a block of ``lhs``.
      rhs_scales: ``[B, N, K / block]``.
      preferred_element_type: The dtype of the result.

    >>> a, s = jnp.ones((1, 2, 32)), jnp.full((1, 2, 1), 2.0)
    >>> tanx.nn.scaled_matmul(a, a, s, s)[0, 0, 0]
    Array(128., dtype=float32)
    """
    operands = lhs, rhs, lhs_scales, rhs_scales
    facts = [f"operand {i}: {typeof(x)}" for i, x in enumerate(operands)]
    if any(x.ndim != 3 for x in operands) or lhs.shape[::2] != rhs.shape[::2] or (
            lhs_scales.shape[:2] != lhs.shape[:2] or rhs_scales.shape[:2] != rhs.shape[:2]
            or lhs_scales.shape[2] != rhs_scales.shape[2]
            or not lhs_scales.shape[2] or lhs.shape[2] % lhs_scales.shape[2]):
        raise ValueError(explain(
            "tanx.nn.scaled_matmul", "needs [B, M, K] and [B, N, K], and a scale for each block of "
            "the last dimension.", *facts))
    dtype = dtypes.requested_dtype(preferred_element_type, "tanx.nn.scaled_matmul")
    a, b = (_scaled_up(x, scales) for x, scales in ((lhs, lhs_scales), (rhs, rhs_scales)))
    return lax.dot_general(a, b, (((2,), (2,)), ((0,), (0,)))).astype(dtype)


def _scaled_up(x, scales):
    block = x.shape[2] // scales.shape[2]
    return x.astype(_FLOAT32) * jnp.repeat(scales.astype(_FLOAT32), block, axis=2)


def _quantized(x, config: BlockScaleConfig):
    """Blocks of the last dimension as narrow numbers, and their scales."""
    blocks = x.astype(_FLOAT32).reshape(*x.shape[:-1], -1, config.block_size)
    greatest = float(ml_dtypes.finfo(config.data_type).max)
    whole = 1.0 if config.global_scale is None else config.global_scale
    scales = jnp.max(jnp.abs(blocks), -1, keepdims=True) / (greatest * whole)
    if config.mode == "mxfp8":  # powers of two, large enough
        scales = jnp.exp2(jnp.ceil(jnp.log2(jnp.maximum(scales, 2.0 ** -127))))
    else:
        limits = ml_dtypes.finfo(config.scale_type)
        scales = jnp.clip(scales, float(limits.tiny), float(limits.max))
    scales = scales.astype(config.scale_type)
    factor = scales.astype(_FLOAT32) * whole
    held = jnp.clip(blocks / factor, -greatest, greatest).astype(config.data_type)
    return held.reshape(x.shape), scales[..., 0]


def scaled_dot_general(lhs, rhs, dimension_numbers, preferred_element_type=np.float32,
                       configs=None, implementation=None):
    """``lax.dot_general`` of operands that are quantised in blocks first; so are its derivatives.

    Args:
      lhs, rhs: Operands.
      dimension_numbers: As those of ``lax.dot_general``.
      preferred_element_type: The dtype of the result.
      configs: Three configurations, of ``lhs``, of ``rhs`` and of cotangents; by default
        ``"mxfp8"`` for all.
      implementation: None; there is one implementation.

    >>> a = jnp.ones((2, 64))
    >>> tanx.nn.scaled_dot_general(a, a, (((1,), (1,)), ((), ())))[0]
    Array([64., 64.], dtype=float32)
    """
    if configs is None:
        configs = [get_scaled_dot_general_config("mxfp8")] * 3
    dtype = dtypes.requested_dtype(preferred_element_type, "tanx.nn.scaled_dot_general")
    (contract, batch) = dimension_numbers
    a, free_a = _as_batch(lhs, contract[0], batch[0])
    b, free_b = _as_batch(rhs, contract[1], batch[1])
    shape = tuple(lhs.shape[d] for d in batch[0])
    out = _product(tuple(configs), dtype, a, b)
    return out.reshape(shape + free_a + free_b)


def _as_batch(x, contract, batch):
    """An operand as ``[B, M, K]``, and the sizes that make up M."""
    free = [d for d in range(x.ndim) if d not in contract and d not in batch]
    sizes = [[x.shape[d] for d in dims] for dims in (batch, free, contract)]
    ordered = jnp.transpose(x, (*batch, *free, *contract))
    return ordered.reshape([int(np.prod(s)) for s in sizes]), tuple(sizes[1])


@partial(custom_vjp, nondiff_argnums=(0, 1))
def _product(configs, dtype, a, b):
    return _quantized_product(a, b, configs[0], configs[1]).astype(dtype)


def _quantized_product(a, b, a_config, b_config):
    if a.shape[2] % a_config.block_size or b.shape[2] % b_config.block_size:
        # A partial block would need a separate scale: such sizes are not quantised.
        return lax.dot_general(a.astype(_FLOAT32), b.astype(_FLOAT32), (((2,), (2,)), ((0,), (0,))))
    quantized = [_quantized(x, c) for x, c in ((a, a_config), (b, b_config))]
    wide = [_scaled_up(x, s) * (1.0 if c.global_scale is None else c.global_scale)
            for (x, s), c in zip(quantized, (a_config, b_config))]
    return lax.dot_general(*wide, (((2,), (2,)), ((0,), (0,))))


def _product_forward(configs, dtype, a, b):
    return _product(configs, dtype, a, b), (a, b)


def _product_backward(configs, dtype, kept, ct):
    (a, b), (a_config, b_config, ct_config) = kept, configs
    da = _quantized_product(ct, jnp.swapaxes(b, 1, 2), ct_config, b_config)
    db = _quantized_product(jnp.swapaxes(ct, 1, 2), jnp.swapaxes(a, 1, 2), ct_config, a_config)
    return da.astype(a.dtype), db.astype(b.dtype)


_product.defvjp(_product_forward, _product_backward)
