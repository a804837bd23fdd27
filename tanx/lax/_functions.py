"""The functions of tanx.lax without wrappers, for rooms of the library.

Public functions trim the traceback of an error, which costs as much as a small operation. Inside
the library that is not needed at every step: the public function that was called does it.
"""

from .._control.associative import *
from .._control.bounded import *
from .._control.composite import *
from .._control.cond import *
from .._control.loops import *
from .._control.rng_uniform import *
from .._control.scan import *
from .._control.solve import *
from .._control.while_loop import *
from .._ops.annotations import *
from .._ops.arith import *
from .._ops.base import *
from .._ops.bit_generator import *
from .._ops.bits import *
from .._ops.collective import *
from .._ops.compare import *
from .._ops.complex_parts import *
from .._ops.conv import *
from .._ops.conv_forms import *
from .._ops.conv_shapes import *
from .._ops.convert import *
from .._ops.create import *
from .._ops.cumulative import *
from .._ops.dot import *
from .._ops.dynamic import *
from .._ops.exchange import *
from .._ops.fft import *
from .._ops.gather_geometry import *
from .._ops.gather_scatter import *
from .._ops.incomplete import *
from .._ops.layout import *
from .._ops.magnitude import *
from .._ops.polynomial import *
from .._ops.pooling import *
from .._ops.powers import *
from .._ops.precision import *
from .._ops.ragged import *
from .._ops.reduce import *
from .._ops.roots import *
from .._ops.slicing import *
from .._ops.sort import *
from .._ops.special import *
from .._ops.transcendental import *
from .._ops.window import *
