"""``jax._src.flattree``: quax uses it to find which operands of a ``scan`` are constants and
carry."""

from ..._control.flat_tree import *
