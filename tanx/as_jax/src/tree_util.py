"""``jax._src.tree_util``: flax nnx asks whether a type is registered as a node."""

from ..._base.treenodes import nodes as _registry
from ...tree_util import *
