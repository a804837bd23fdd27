"""``jax._src.tree_util``: flax nnx asks whether a type is registered as a node.

The tests of flax.struct look at ``prefix_errors``.
"""

from ..._base.treenodes import nodes as _registry
from ...tree_util import *
from ...tree_util import prefix_errors as prefix_errors
