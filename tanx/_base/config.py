"""Every option of tanx: typed, readable in one attribute, overridable in one thread.

A :class:`Flag` has a value for the whole process, which starts from the environment
(``TANX_ENABLE_X64``, else ``JAX_ENABLE_X64``, else its default) and changes by
``config.update("jax_enable_x64", True)``; and it may have a value of its own in a thread, inside
``with enable_x64(True):``. Hot paths read ``enable_x64.value``, which knows about both.

Flags in the first table have an effect, or say why they have none here. Those in the second exist
because JAX programs set them; they steer machinery that tanx does not have, so they are checked and
kept. A flag without effect says so on the logger, once, when it is first set to something new.
"""

from __future__ import annotations

import contextlib
import enum
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..errors import explain
from .locks import new_lock
from .logger import logger, set_level
from .thread_state import KEY, VERSION, flags_version, situation
from .traceback import Filtering, boundary

__all__ = [
    "CompilerEffortLevel",
    "Config",
    "Flag",
    "allow_f16_reductions",
    "array_garbage_collection_guard",
    "auto_pcast",
    "check_tracer_leaks",
    "checking_leaks",
    "config",
    "debug_infs",
    "debug_bounds",
    "debug_key_reuse",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "disable_jit",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "explain_cache_misses",
    "explicit_x64_dtypes",
    "jax2tf_associative_scan_reductions",
    "legacy_prng_key",
    "log_compiles",
    "native_code",
    "no_execution",
    "no_tracing",
    "make_user_context",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "remove_size_one_mesh_axis_from_type",
    "softmax_custom_jvp",
    "strict",
    "thread_guard",
    "threefry_partitionable",
    "trace_key",
    "traceback_filtering",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
]


# --- Kinds of values ------------------------------------------------------------------------------


class Kind(NamedTuple):
    """What values a flag takes: in words, from Python (``accept``), and from text (``read``).

    Both functions return the value to keep, or raise ``ValueError`` or ``TypeError``.
    """

    words: str
    accept: Callable[[Any], Any]
    read: Callable[[str], Any]
    samples: tuple = (None,)

    def or_none(self) -> Kind:
        """The same kind, with None for "not set"."""
        return Kind(
            f"None or {self.words}",
            lambda value: None if value is None else self.accept(value),
            lambda text: None if text.lower() in ("", "none") else self.read(text),
            self.samples,
        )


_TRUTH = dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True) | dict.fromkeys(
    ("0", "false", "f", "no", "n", "off", ""), False
)


def _accept_boolean(value: Any) -> bool:
    """Text is parsed, so that ``"false"`` is false; other objects must be a plain truth value."""
    if isinstance(value, str):
        if value.lower() not in _TRUTH:
            raise ValueError(value)
        return _TRUTH[value.lower()]
    if value is None or value in (0, 1):
        return bool(value)
    raise ValueError(value)


def _instance(cls: type, *also: type) -> Callable[[Any], Any]:
    """Accepts instances of ``cls`` as they are and those of ``also`` converted; never a bool."""

    def accept(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (cls, *also)):
            raise TypeError(value)
        return cls(value)

    return accept


boolean = Kind("a boolean", _accept_boolean, _accept_boolean, (True, False))
integer = Kind("an int", _instance(int), int, (1, 2))
real = Kind("a float", _instance(float, int), float, (0.5, 1.0))
text = Kind("a str", _instance(str), str, ("text",))
anything = Kind("any object", lambda value: value, str)


def _accept_device(value: Any) -> Any:
    """Devices and shardings are known by what they have: this is a leaf and knows no classes."""
    if isinstance(value, str) or hasattr(value, "platform") or hasattr(value, "device_set"):
        return value
    raise TypeError(value)


device = Kind("a device, a sharding or the name of a platform", _accept_device, str, ("cpu",))


def _accept_platforms(value: Any) -> str:
    """Names of platforms, separated by commas: all of them must be there."""
    names = [name.strip() for name in _instance(str)(value).split(",")]
    if set(names) - {"", "cpu"}:
        raise RuntimeError(explain(
            "tanx.config.jax_platforms", "a platform is asked for that is not there.",
            f"asked for: {value}", "present:   cpu",
            hint="leave the option and the variable JAX_PLATFORMS out."))
    return value


def _accept_device_count(value: Any) -> int:
    """How many devices the CPU is: one."""
    count = _instance(int)(value)
    if count not in (-1, 1):
        raise NotImplementedError(explain(
            "tanx.config.jax_num_cpu_devices", "the CPU is one device; it cannot be several yet.",
            f"asked for: {count}",
            hint="tanx.set_num_threads says how many threads that device has."))
    return count


platform_names = Kind("a str", _accept_platforms, _accept_platforms, ("cpu",))
device_count = Kind("an int", _accept_device_count, lambda text: _accept_device_count(int(text)),
                    (1,))


def choice(*options: str) -> Kind:
    """One of the given words."""

    def accept(value: Any) -> str:
        if value not in options:
            raise ValueError(value)
        return str(value)

    return Kind("one of " + ", ".join(map(repr, options)), accept, accept, options)


# --- Flags ----------------------------------------------------------------------------------------


class _Unset:
    def __repr__(self) -> str:
        return "..."


_UNSET: Any = _Unset()
_lock = new_lock()


class Flag(threading.local):
    """One option. ``flag.value`` reads it; ``with flag(value):`` changes it in this thread.

    Each flag is the only instance of a class of its own. The value for the process is an attribute
    of the class and that of a thread is in the thread's dictionary of the instance, so Python's own
    attribute lookup finds the right one, in less than 100 ns.

    >>> with enable_x64(True):
    ...     enable_x64.value
    True
    """

    name: str
    public_name: str
    kind: Kind
    value: Any
    relaxed: Any
    idle: str
    callbacks: list[Callable[[Any], None]]
    _stack: list[Any]

    def __call__(self, new_val: Any = _UNSET) -> Override:
        """A context in which the flag is ``new_val``; a boolean flag is switched on by default."""
        if new_val is _UNSET:
            if self.kind is not boolean:
                raise TypeError(explain(
                    f"tanx.{self.name}", "the context needs a value.",
                    f"expected: {self.kind.words}"))
            new_val = True
        return Override(self, self.checked(new_val))

    def checked(self, value: Any) -> Any:
        """``value`` as the flag keeps it; raises ``ValueError`` if it is not of the right kind."""
        try:
            return self.kind.accept(value)
        except (ValueError, TypeError):
            raise ValueError(explain(
                f"tanx.config.{self.public_name}", "this option does not take that value.",
                f"expected: {self.kind.words}",
                f"got:      {value!r} ({type(value).__name__})")) from None

    def update(self, value: Any) -> None:
        """Set the value for the whole process; threads inside a context keep theirs."""
        value = self.checked(value)
        with _lock:
            type(self).value = value
            flags_version.value += 1
            strict.refresh()
        self._announce(value)

    def push(self, value: Any) -> None:
        """Enter a context of this thread; ``value`` has been checked."""
        mine = self.__dict__
        mine.setdefault("_stack", []).append(value)
        mine["value"] = value
        self._overridden(value, +1)
        self._announce(value)

    def pop(self) -> None:
        """Leave the innermost context of this thread."""
        mine = self.__dict__
        left = mine["_stack"].pop()
        if mine["_stack"]:
            mine["value"] = mine["_stack"][-1]
        else:
            del mine["value"]
        self._overridden(left, -1)
        self._announce(self.value)

    def on_change(self, callback: Callable[[Any], None]) -> None:
        """Call ``callback(value)`` after each change, in the thread that made it."""
        self.callbacks.append(callback)

    def _overridden(self, value: Any, by: int) -> None:
        _thread.version = None
        situation.words[VERSION] = -1
        if self in strict.flags and value != self.relaxed:
            with _lock:
                strict.overrides += by
                strict.refresh()

    def _announce(self, value: Any) -> None:
        for callback in self.callbacks:
            callback(value)

    @property
    def effect(self) -> bool:
        """Whether the flag does anything here."""
        return not self.idle

    def say_if_idle(self, value: Any) -> None:
        """Tell once that a flag without effect was set to something else than it is by default."""
        if self.idle and value != self.relaxed and self.name not in _said:
            _said.add(self.name)
            logger().warning("%s", explain(
                f"tanx.config.{self.public_name}", "this option has no effect here.",
                f"value:  {value!r}", f"reason: {self.idle}"))

    def __repr__(self) -> str:
        return f"<flag {self.name} = {self.value!r}>"


class Override(contextlib.ContextDecorator):
    """The context of ``flag(value)``; works in many threads, many times, and as a decorator."""

    __slots__ = ("flag", "value")

    def __init__(self, flag: Flag, value: Any):
        self.flag = flag
        self.value = value

    def __enter__(self) -> None:
        self.flag.push(self.value)
        self.flag.say_if_idle(self.value)

    def __exit__(self, *exc_info: object) -> None:
        self.flag.pop()


class Strict:
    """``strict.value`` is False when no flag asks eager operations for an extra check.

    It may be True without need, while another thread is inside such a context: who finds it True
    asks the flags themselves. It is never False wrongly.
    """

    __slots__ = ("flags", "overrides", "value")

    def __init__(self) -> None:
        self.flags: set[Flag] = set()
        self.overrides = 0
        self.value = False

    def refresh(self) -> None:
        """Recompute the value from the process-wide values and the contexts that are open."""
        self.value = self.overrides > 0 or any(
            type(flag).value != flag.relaxed for flag in self.flags)


class _Thread(threading.local):
    """The key of :func:`trace_key` as this thread last computed it; None when it must be redone."""

    version: int | None = None
    key: tuple = ()


strict = Strict()
_thread = _Thread()
_flags: dict[str, Flag] = {}
_traced: list[Flag] = []
_by_python: list[Flag] = []  # flags that native code does not know: Python takes all calls
_said: set[str] = set()  # flags without effect that have said so
_keys: dict[tuple, tuple] = {}  # all keys there were, so that equal ones are one object
_UNUSUAL_NAMES = {"debug_bounds": "tanx_debug_bounds", "dump": "tanx_dump",
                  "program_bytes": "tanx_program_bytes", "quick_code": "tanx_quick_code",
                  "native_code": "tanx_native_code"}
_UNUSUAL_NAMES |= {name: name for name in (
    "check_vma", "eager_constant_folding", "jax2tf_associative_scan_reductions",
    "jax2tf_default_native_serialization", "mock_num_gpu_processes")}


def trace_key() -> tuple:
    """The values that traced programs depend on: part of the key of every cache of programs.

    >>> before = trace_key()
    >>> with enable_x64(True):
    ...     assert trace_key() != before
    >>> assert trace_key() == before
    """
    if _thread.version != flags_version.value:
        version = flags_version.value
        key = tuple(flag.value for flag in _traced)
        _thread.key = _keys.setdefault(key, key)
        _thread.version = version
        watched = any(flag.value != flag.relaxed for flag in _by_python)
        situation.words[KEY] = id(_thread.key)
        situation.words[VERSION] = -1 if watched else version
    return _thread.key


def overrides() -> list[tuple[Flag, Any]]:
    """The flags that this thread has changed for itself, with their values."""
    return [(flag, flag.value) for flag in _flags.values() if "value" in vars(flag)]


@contextlib.contextmanager
def overriding(flags: list[tuple[Flag, Any]]) -> Iterator[None]:
    """A block in which flags have the values that :func:`overrides` found in another thread."""
    with contextlib.ExitStack() as stack:
        for flag, value in flags:
            stack.enter_context(Override(flag, value))
        yield


def traced_names() -> list[str]:
    """The options whose values are in :func:`trace_key`, in that order."""
    return [flag.public_name for flag in _traced]


def _define(name: str, kind: Kind, default: Any, doc: str, *, checks: bool = False,
            traced: bool = False, by_python: bool = False, idle: str = "",
            variables: tuple[str, ...] = (), listed: bool = True) -> Flag:
    """Make a flag, with its first value from the environment.

    ``checks``: any value but the default makes :data:`strict` true. ``traced``: the value is part
    of :func:`trace_key`. ``by_python``: under any value but the default, no call of a jitted
    function is taken by native code. ``idle``: why the flag has no effect here. ``variables``: more
    environment variables to read. ``listed``: whether users may set it.
    """
    public_name = _UNUSUAL_NAMES.get(name, f"jax_{name}")
    sample = next((value for value in kind.samples if value != default), default)
    example = f">>> with tanx.{name}({sample!r}):\n...     tanx.config.{public_name}\n{sample!r}\n"
    fields = {"__doc__": f"{doc}\n\n{example}", "name": name, "kind": kind, "value": default,
              "relaxed": default, "idle": idle, "callbacks": [], "public_name": public_name}
    flag: Flag = type(name, (Flag,), fields)()
    if listed:
        for variable in (f"TANX_{name.upper()}", *variables, f"JAX_{name.upper()}"):
            given = os.environ.get(variable)
            if given is not None:
                type(flag).value = _from_environment(variable, given, kind)
                break
        _flags[name] = flag
    if traced:
        _traced.append(flag)
    if by_python:
        _by_python.append(flag)
    if checks:
        strict.flags.add(flag)
        strict.refresh()
    return flag


def _from_environment(variable: str, given: str, kind: Kind) -> Any:
    try:
        return kind.read(given)
    except ValueError:
        raise ValueError(explain(
            variable, "the environment variable has a value its option does not take.",
            f"expected: {kind.words}", f"got:      {given!r}")) from None


# --- Flags with an effect -------------------------------------------------------------------------

enable_x64 = _define(
    "enable_x64", boolean, False, "Give 64-bit types where they are asked for or are NumPy's "
    "default; without it they become 32-bit.", traced=True)
explicit_x64_dtypes = _define(
    "explicit_x64_dtypes", choice("warn", "error", "allow"), "warn",
    "What an explicit request for a 64-bit type does while enable_x64 is off: truncate with a "
    "warning, fail, or be granted.", traced=True)
numpy_dtype_promotion = _define(
    "numpy_dtype_promotion", choice("standard", "strict", "lossless"), "standard",
    "Whether different types promote to a common one, or only Python scalars adapt (strict), or "
    "types promote only to one that has all numbers of each (lossless).",
    checks=True, traced=True)
numpy_rank_promotion = _define(
    "numpy_rank_promotion", choice("allow", "warn", "raise"), "allow",
    "What broadcasting of arrays with different numbers of axes does.", checks=True, traced=True)
debug_nans = _define(
    "debug_nans", boolean, False, "Raise FloatingPointError at the operation that makes a NaN.",
    checks=True, traced=True)
debug_infs = _define(
    "debug_infs", boolean, False, "Raise FloatingPointError at the operation that makes an "
    "infinity.", checks=True, traced=True)
debug_bounds = _define(
    "debug_bounds", boolean, False, "Raise OutOfBoundsError at an index that is out of bounds and "
    "has no mode of its own.", checks=True, traced=True)
debug_key_reuse = _define(
    "debug_key_reuse", boolean, False, "Raise KeyReuseError when a random key is used twice.",
    checks=True, traced=True)
check_tracer_leaks = _define(
    "check_tracer_leaks", boolean, False, "Look for tracers that outlive their transformation.",
    traced=True)
jit_disabled = _define(
    "disable_jit", boolean, False, "Run jitted functions eagerly, line by line.", traced=True)
no_tracing = _define("no_tracing", boolean, False, "Make any tracing an error.", checks=True)
no_execution = _define(
    "no_execution", boolean, False, "Make any execution an error.", checks=True, traced=True)
enable_checks = _define(
    "enable_checks", boolean, False, "Check every form of a program after every pass.",
    variables=("TANX_CHECK",))
dump = _define("dump", text, "", "Names of passes, separated by commas, after which the program "
               "is printed.")
quick_code = _define(
    "quick_code", boolean, True, "Compile short programs in a hurry, and with care in the "
    "background once they are used again.")
native_code = _define(
    "native_code", boolean, True, "Compile programs to native code; without it tier 0 runs them, "
    "operation by operation.", by_python=True)
async_dispatch = _define(
    "cpu_enable_async_dispatch", boolean, True, "Let long work go on in the background.")
log_compiles = _define("log_compiles", boolean, False, "Log each trace and compilation.")
explain_cache_misses = _define(
    "explain_cache_misses", boolean, False, "Log why a jitted function was traced again.")
default_device = _define(
    "default_device", device.or_none(), None,
    "The device, or the name of the platform, of new arrays.", traced=True)
default_matmul_precision = _define(
    "default_matmul_precision", choice(
        "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
        "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY",
        "ANY_F8_ANY_F8_ANY_FAST_ACCUM", "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16",
        "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9",
        "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64").or_none(), None,
    "The precision of products of matrices that name none.", traced=True)
default_prng_impl = _define(
    "default_prng_impl", choice("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32",
                                "philox4x32"), "threefry2x32",
    "The generator behind tanx.random.key.", traced=True)
threefry_partitionable = _define(
    "threefry_partitionable", boolean, True, "Make random bits by JAX's newer scheme, in which "
    "each element depends on its own index alone.", traced=True)
enable_custom_prng = _define(
    "enable_custom_prng", boolean, False, "Make tanx.random.PRNGKey return typed keys.",
    traced=True)
legacy_prng_key = _define(
    "legacy_prng_key", choice("allow", "warn", "error"), "allow",
    "What the use of an untyped uint32 random key does.", traced=True)
high_dynamic_range_gumbel = _define(
    "high_dynamic_range_gumbel", boolean, False, "Draw Gumbel variables with more of the tail.",
    traced=True)
random_seed_offset = _define(
    "random_seed_offset", integer, 0, "A number added to every seed.", traced=True)
softmax_custom_jvp = _define(
    "softmax_custom_jvp", boolean, False, "Differentiate softmax by a rule of its own, rather than "
    "step by step.", traced=True)
allow_f16_reductions = _define(
    "allow_f16_reductions", boolean, True, "Let sums of 16-bit floats have 16 bits; without it, "
    "they are an error.", checks=True, traced=True)
accurate_erf_inv = _define(
    "accurate_erf_inv", boolean, False, "Compute erf_inv to the last bits.",
    idle="erf_inv is always computed to the last bits.")
check_static_indices = _define(
    "check_static_indices", boolean, False, "Raise IndexError for constant indices that are out "
    "of bounds.", checks=True, traced=True)
traceback_filtering = _define(
    "traceback_filtering", choice("off", "tracebackhide", "remove_frames", "quiet_remove_frames",
                                  "auto"), "auto",
    "How frames of tanx itself are kept out of tracebacks.")
Filtering.mode = staticmethod(lambda: traceback_filtering.value)
thread_guard = _define(
    "thread_guard", boolean, False, "Among several processes that compute together, let only one "
    "thread start work.", idle="one process computes here, and its threads may start work in any "
    "order.")
_guard = choice("allow", "log", "disallow", "log_explicit", "disallow_explicit").or_none()
any_transfer_guard = _define(
    "transfer_guard", _guard, None, "What transfers of data between devices do.")
transfer_guard_host_to_device = _define(
    "transfer_guard_host_to_device", _guard, None, "What it means when data of NumPy or of Python "
    "becomes an array.", checks=True, by_python=True)
transfer_guard_device_to_device = _define(
    "transfer_guard_device_to_device", _guard, None, "What copies between devices do.",
    idle="there is one device, so nothing is copied between devices.")
transfer_guard_device_to_host = _define(
    "transfer_guard_device_to_host", _guard, None, "What copies from device to host do.",
    idle="arrays are in the memory of the host already, so nothing is copied to it.")
array_garbage_collection_guard = _define(
    "array_garbage_collection_guard", choice("allow", "log", "fatal").or_none(), None,
    "What arrays that only the garbage collector can free do.")
compilation_cache_dir = _define(
    "compilation_cache_dir", text.or_none(), None, "The folder of code kept between processes; "
    "None for tanx in the user's folder of caches.", variables=("TANX_CACHE_DIR",))
enable_compilation_cache = _define(
    "enable_compilation_cache", boolean, True, "Keep compiled code on disk.")
compilation_cache_max_size = _define(
    "compilation_cache_max_size", integer, 1 << 30, "Bytes the folder may hold; -1 for no limit.")
persistent_cache_min_compile_time_secs = _define(
    "persistent_cache_min_compile_time_secs", real, 0.0,
    "Programs compiled in less time are not kept on disk.")
persistent_cache_min_entry_size_bytes = _define(
    "persistent_cache_min_entry_size_bytes", integer, 0,
    "Smaller programs are not kept on disk.")
raise_persistent_cache_errors = _define(
    "raise_persistent_cache_errors", boolean, False,
    "Raise errors of the folder of compiled code, instead of compiling again.")
platforms = _define(
    "platforms", platform_names.or_none(), None, "Platforms to use, separated by commas, best "
    "first; the CPU is the only one.")
platform_name = _define(
    "platform_name", platform_names, "", "The platform to use; the CPU is the only one.")
num_cpu_devices = _define(
    "num_cpu_devices", device_count, -1, "How many devices to make of the CPU: 1, or -1 for all "
    "that there are.")
logging_level = _define(
    "logging_level", choice("NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL").or_none(),
    "NOTSET", "The level of tanx's logger.")
captured_constants_warn_bytes = _define(
    "captured_constants_warn_bytes", integer, 2_000_000_000,
    "Warn when a program captures more bytes of constants; -1 for never.")
program_bytes = _define(
    "program_bytes", integer, 1 << 30,
    "Bytes of compiled programs, with all that belongs to them, that are kept in memory; -1 for "
    "any number.")
optimization_level = _define(
    "optimization_level", choice("UNKNOWN", "O0", "O1", "O2", "O3"), "UNKNOWN",
    "How hard the compiler works.")
disable_bwd_checks = _define(
    "disable_bwd_checks", boolean, False, "Take the cotangents that a bwd rule of custom_vjp gives "
    "without looking at their types.", traced=True)
profiling = _define(
    "profiling", boolean, False, "Let Python take all calls, to record them in a profile.",
    by_python=True, listed=False)
pprint_use_color = _define(
    "pprint_use_color", boolean, True, "Colour jaxprs when they are printed on a terminal.")


# --- Flags that are stored and never read ---------------------------------------------------------

_LEVELS = choice("UNKNOWN", "O0", "O1", "O2", "O3")
_IGNORE_OR_RAISE = choice("ignore", "raise")
_KEPT: dict[str, tuple[Kind, Any]] = {
    **dict.fromkeys((
        "auto_pcast", "check_proxy_envs", "compiler_enable_remat_pass",
        "enable_preemption_service", "include_debug_info_in_dumps",
        "include_full_tracebacks_in_locations", "jax2tf_default_native_serialization",
        "mosaic_unzip_debug_locations", "mutable_array_checks",
        "ragged_dot_use_ragged_dot_instruction", "raise_on_ppermute_sort_diff",
        "sort_devices_by_process_index", "use_direct_linearize", "use_rgv3",
        "use_shardy_partitioner",
    ), (boolean, True)),
    **dict.fromkeys((
        "bcoo_cusparse_lowering", "check_vma", "compilation_cache_check_contents",
        "compilation_cache_expect_pgle", "compilation_cache_include_metadata_in_key",
        "custom_jvp3", "custom_vjp3", "debug_leaked_clients_on_clear_backends",
        "disable_most_optimizations", "disable_vmap_shmap_error",
        "disallow_mesh_context_manager", "distributed_debug",
        "distributed_verify_secure_credentials", "eager_constant_folding", "enable_pgle",
        "enable_recoverability", "experimental_unsafe_xla_runtime_errors",
        "export_deserialize_expired_versions", "export_ignore_forward_compatibility",
        "force_dcn_cross_host_transfers", "jax2tf_associative_scan_reductions",
        "log_checkpoint_residuals", "mosaic_allow_hlo", "pallas_enable_debug_checks",
        "pallas_poison_buffers", "pallas_verbose_errors", "remat3", "remat_barrier_no_cotangents",
        "remove_custom_partitioning_ptr_from_cache_key", "remove_size_one_mesh_axis_from_type",
        "scan3", "share_binary_between_hosts", "threefry_gpu_kernel_lowering",
        "use_cpp_shard_args", "use_emit_pipeline_primitive", "use_simplified_jaxpr_constants",
    ), (boolean, False)),
    **dict.fromkeys(("backend_target", "cross_host_transfer_socket_address",
                     "cross_host_transport_addresses", "debug_log_modules", "dump_ir_to",
                     "mock_gpu_topology", "xla_backend"), (text, "")),
    **dict.fromkeys(("hlo_source_file_canonicalization_regex", "mtls_ca_file", "mtls_cert_file",
                     "mtls_key_file", "mtls_peer_uri_prefix", "source_url_schema"),
                    (text.or_none(), None)),
    **dict.fromkeys(("cuda_visible_devices", "oneapi_visible_devices", "rocm_visible_devices"),
                    (text, "all")),
    **dict.fromkeys(("error_checking_behavior_divide", "error_checking_behavior_nan",
                     "error_checking_behavior_oob"), (_IGNORE_OR_RAISE, "ignore")),
    "captured_constants_report_frames": (integer, 0),
    "compiler_detailed_logging_min_ops": (integer, 10),
    "cpu_collectives_implementation": (choice("gloo", "mpi", "megascale").or_none(), "gloo"),
    "cpu_get_global_topology_timeout_minutes": (integer, 5),
    "cpu_get_local_topology_timeout_minutes": (integer, 2),
    "cross_host_transfer_timeout_seconds": (integer.or_none(), None),
    "cross_host_transfer_transfer_size": (integer.or_none(), None),
    "dump_ir_modes": (text, "stablehlo"),
    "embedded_constants_max_bytes": (integer, 32),
    "export_calling_convention_version": (integer, 10),
    "memory_fitting_level": (_LEVELS, "O2"),
    "mock_num_gpu_processes": (integer, 0),
    "pallas_auto_assign_collective_ids": (choice("no", "yes", "override"), "no"),
    "pallas_auto_assign_collective_ids_limit": (integer, 25),
    "persistent_cache_enable_xla_caches": (text.or_none(), "xla_gpu_per_fusion_autotune_cache_dir"),
    "pgle_aggregation_percentile": (integer, 90),
    "pgle_profiling_runs": (integer, 3),
    "pjrt_client_create_options": (anything.or_none(), None),
    "send_traceback_to_runtime": (choice("off", "on", "full"), "off"),
    "serialization_version": (integer, 0),
    "share_binary_between_hosts_timeout_ms": (integer, 1_200_000),
    "traceback_in_locations_limit": (integer, 100),
    "tracer_error_num_traceback_frames": (integer, 5),
    "use_hlo_logistic_lowering": (boolean.or_none(), None),
    "use_magma": (choice("off", "on", "auto"), "auto"),
    "xla_profile_version": (integer, 0),
}


def _flag(name: str) -> Flag | None:
    """The flag called ``name``; flags that are only stored are made when first asked for."""
    if name not in _flags and name in _KEPT:
        kind, default = _KEPT[name]
        _define(name, kind, default, "Kept for JAX programs; without effect here.",
                idle="it steers a part of JAX or of XLA that tanx does not have.")
    return _flags.get(name)


auto_pcast = _flag("auto_pcast")
jax2tf_associative_scan_reductions = _flag("jax2tf_associative_scan_reductions")
remove_size_one_mesh_axis_from_type = _flag("remove_size_one_mesh_axis_from_type")


# --- Contexts that are more than one flag ---------------------------------------------------------


def disable_jit(disable: bool = True) -> Override:
    """A context in which :func:`tanx.jit` does nothing, so that a debugger can step through.

    >>> with disable_jit():
    ...     config.jax_disable_jit
    True
    """
    return jit_disabled(disable)


def make_user_context(default_value: Any = None) -> Flag:
    """An option of your own that jitted functions depend on.

    ``with context(value):`` sets it in a block of this thread, and ``context.value`` reads it.
    Values must be hashable. A jitted function is traced once for each of them.

    >>> mode = make_user_context("train")
    >>> with mode("test"):
    ...     mode.value
    'test'
    """
    flag: Flag = type("user_context", (Flag,), {
        "name": "user_context", "kind": anything, "value": default_value, "idle": "",
        "relaxed": default_value, "callbacks": [], "public_name": "user_context"})()
    with _lock:
        _traced.append(flag)
        flags_version.value += 1
    return flag


class CompilerEffortLevel(enum.IntEnum):
    """How hard a compiler works; ``tanx.config.jax_optimization_level`` takes the names."""

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


def checking_leaks() -> Override:
    """A context in which tracers that outlive their transformation are found and reported.

    >>> with checking_leaks():
    ...     config.jax_check_tracer_leaks
    True
    """
    return check_tracer_leaks(True)


@contextlib.contextmanager
def transfer_guard(new_val: str) -> Iterator[None]:
    """A context in which all three kinds of transfer are guarded alike.

    ``new_val`` is ``"allow"``, ``"log"``, ``"disallow"``, ``"log_explicit"`` or
    ``"disallow_explicit"``; the plain words concern implicit transfers only.

    >>> with transfer_guard("disallow"):
    ...     config.jax_transfer_guard_host_to_device
    'disallow'
    """
    value = any_transfer_guard.checked(new_val)
    for flag in _guards:
        flag.push(value)
    try:
        yield
    finally:
        for flag in _guards:
            flag.pop()


def _guard_all_transfers(value: Any) -> None:
    for flag in _guards:
        flag.update(value)


_guards = (transfer_guard_host_to_device, transfer_guard_device_to_device,
           transfer_guard_device_to_host)
any_transfer_guard.on_change(_guard_all_transfers)
if any_transfer_guard.value is not None:  # from the environment
    _guard_all_transfers(any_transfer_guard.value)
logging_level.on_change(set_level)
if logging_level.value != "NOTSET":
    set_level(logging_level.value)


# --- The config object ----------------------------------------------------------------------------


def _find(name: str) -> Flag:
    """The flag called ``name``, with or without ``jax_`` or ``tanx_`` in front."""
    flag = _flag(name) or _flag(name.removeprefix("jax_").removeprefix("tanx_"))
    if flag is None:
        import difflib  # late: needed only for misspelled names

        near = difflib.get_close_matches(name, config.values, n=1)
        raise AttributeError(explain(
            "tanx.config", f"there is no option {name!r}.",
            hint=f"did you mean {near[0]!r}?" if near else "tanx.config.values lists them all."))
    return flag


class Config:
    """All options by name: ``config.jax_enable_x64`` reads, ``config.update`` sets.

    >>> config.update("jax_numpy_rank_promotion", "allow")
    >>> config.jax_numpy_rank_promotion
    'allow'
    """

    __slots__ = ()

    @boundary
    def update(self, name: str, val: Any) -> None:
        """Set option ``name`` for the whole process; raises ``ValueError`` for a wrong value."""
        flag = _find(name)
        flag.update(val)
        flag.say_if_idle(val)

    @boundary
    def read(self, name: str) -> Any:
        """The value of option ``name`` in this thread."""
        return _find(name).value

    @boundary
    def __getattr__(self, name: str) -> Any:
        """The first read of an option makes it a property; the next ones are quick."""
        flag = _find(name)
        setattr(Config, name, property(lambda self: flag.value, doc=flag.__doc__))
        return flag.value

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self.values]

    @property
    def values(self) -> dict[str, Any]:
        """Every option and its value in this thread."""
        flags = [_find(name) for name in (*_flags, *_KEPT)]
        return {flag.public_name: flag.value for flag in flags}

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit types are enabled."""
        return enable_x64.value

    def parse_flags_with_absl(self) -> None:
        """Set options from arguments of the command line such as ``--jax_enable_x64=true``."""
        for argument in sys.argv[1:]:
            name, _, given = argument.removeprefix("--").partition("=")
            flag = _flag(name.removeprefix("jax_")) if argument.startswith("--jax_") else None
            if flag is not None:
                flag.update(_from_environment(argument, given or "true", flag.kind))

    config_with_absl = parse_flags_with_absl


config = Config()
