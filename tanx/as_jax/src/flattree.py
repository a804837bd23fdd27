"""``jax._src.flattree``: quax tells by it which operands of a ``scan`` are constants and carry."""

from ..._control.flat_tree import *
