"""tanx.random: random numbers from keys.

Numbers are a function of a key: the same key gives the same numbers, on every machine. Split a key
to get others::

    key = tanx.random.key(0)
    key, for_weights = tanx.random.split(key)
    weights = tanx.random.normal(for_weights, (3, 4))

Bits and samples equal those of JAX.
"""

from .._base.traceback import shown
from .._base.window import publish
from ._choice import *
from ._continuous import *
from ._counts import *
from ._gamma import *
from ._keys import (
    Key,
    PRNGKey,
    bits,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)
from ._matrices import *
from ._normal import *
from ._uniform import *

publish(__name__, shown)
