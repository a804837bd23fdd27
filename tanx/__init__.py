"""tanx: NumPy on immutable arrays, with jit, grad, vmap and the rest, on its own compiler."""

from importlib import import_module as _import_module

from . import dtypes, errors, tree, tree_util, typing
from ._api.autodiff import *
from ._api.batching import vmap
from ._api.cache_report import cache_report
from ._api.jacobian import *
from ._api.jit import Inline, clear_caches, jit
from ._api.meshes import (
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
    make_mesh,
    reshard,
    typeof,
)
from ._api.placement import (
    Device,
    Shard,
    block_until_ready,
    copy_to_host_async,
    default_backend,
    device_count,
    device_get,
    device_put,
    devices,
    effects_barrier,
    host_count,
    host_id,
    host_ids,
    local_device_count,
    local_devices,
    print_environment_info,
    process_count,
    process_index,
    process_indices,
)
from ._api.shard_map import pmap, shard_map, smap
from ._api.specialize import specialize
from ._api.staging import ensure_compile_time_eval, eval_shape, make_jaxpr, named_call
from ._base import importing
from ._base.config import *
from ._base.slices import ds
from ._base.traceback import shown
from ._base.window import load_late, publish
from ._control.callback import pure_callback
from ._control.custom_gradient import custom_gradient
from ._control.custom_jvp import custom_jvp
from ._control.custom_vjp import closure_convert, custom_vjp
from ._control.remat import checkpoint, remat
from ._core import operators as _operators
from ._core import trace as _trace
from ._core.array import Array, live_arrays
from ._core.cells import Ref
from ._core.mesh import get_abstract_mesh, get_mesh, set_mesh, use_abstract_mesh
from ._core.sharding import NamedSharding
from ._core.source import named_scope
from ._core.spec import P
from ._core.types import ShapeDtypeStruct
from ._ops import families as _families
from ._ops.refs import empty_ref, free_ref, freeze, new_ref
from ._runtime import compiled_ufuncs as _compiled_ufuncs
from ._runtime import eager as _eager
from ._runtime.threads import get_num_threads, set_num_threads
from .dtypes import float0
from .version import __version__, __version_info__


def _methods():
    """Operators and methods of arrays; loaded outside of any function that is being traced."""
    with _trace.running(_trace.EvalTrace(None)):
        return _import_module("tanx.numpy._methods").METHODS


# The three hooks: eager execution, elementary functions, operators and methods of arrays.
_trace.EvalTrace.process = staticmethod(_eager.evaluate)
_families.OwnLoops.find = staticmethod(_compiled_ufuncs.element_ufunc)
_operators.install_at_first_use(_methods)

publish(__name__, shown)

load_late(__name__)

importing.finished()
