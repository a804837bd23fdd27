"""Every option of tanx: typed, readable in one attribute, overridable in one thread.

A :class:`Flag` has a value for the whole process, which starts from the environment
(``TANX_ENABLE_X64``, else ``JAX_ENABLE_X64``, else its default) and changes by
``config.update("jax_enable_x64", True)``; and it may have a separate value in a thread, inside
``with enable_x64(True):``. Hot paths read ``enable_x64.value``, which covers both.

Flags in the first table have an effect, or a reason for having none. Flags in the second exist
because JAX programs set them, for parts that tanx does not have; they are checked and stored. A
flag without effect logs that, once, when it is first set to another value.
"""

from __future__ import annotations

import contextlib
import enum
import sys
from collections.abc import Iterator
from typing import Any

from ..errors import explain
from .flags import Flag, Override, define, from_text, known, strict, trace_also, trace_key
from .kept_options import KEPT
from .logger import set_level
from .option_kinds import (
    anything,
    boolean,
    choice,
    device,
    device_count,
    integer,
    platform_names,
    real,
    text,
)
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


# --- Flags with an effect -------------------------------------------------------------------------

enable_x64 = define(
    "enable_x64", boolean, False, "Use 64-bit types where they are requested or are NumPy's "
    "default; otherwise they become 32-bit.", traced=True)
explicit_x64_dtypes = define(
    "explicit_x64_dtypes", choice("warn", "error", "allow"), "warn",
    "What an explicit request for a 64-bit type does while enable_x64 is off: truncate with a "
    "warning, fail, or be granted.", traced=True)
numpy_dtype_promotion = define(
    "numpy_dtype_promotion", choice("standard", "strict", "lossless"), "standard",
    "Whether different types promote to a common one, or only Python scalars adapt (strict), or "
    "types promote only to one that represents all numbers of each (lossless).",
    checks=True, traced=True)
numpy_rank_promotion = define(
    "numpy_rank_promotion", choice("allow", "warn", "raise"), "allow",
    "What broadcasting of arrays with different numbers of axes does.", checks=True, traced=True)
debug_nans = define(
    "debug_nans", boolean, False, "Raise FloatingPointError at the operation that makes a NaN.",
    checks=True, traced=True)
debug_infs = define(
    "debug_infs", boolean, False, "Raise FloatingPointError at the operation that makes an "
    "infinity.", checks=True, traced=True)
debug_bounds = define(
    "debug_bounds", boolean, False, "Raise OutOfBoundsError at an index that is out of bounds and "
    "has no explicit mode.", checks=True, traced=True)
debug_key_reuse = define(
    "debug_key_reuse", boolean, False, "Raise KeyReuseError when a random key is used twice.",
    checks=True, traced=True)
check_tracer_leaks = define(
    "check_tracer_leaks", boolean, False, "Find tracers that outlive their transformation.",
    traced=True)
jit_disabled = define(
    "disable_jit", boolean, False, "Run jitted functions eagerly, line by line.", traced=True)
no_tracing = define("no_tracing", boolean, False, "Make any tracing an error.", checks=True)
no_execution = define(
    "no_execution", boolean, False, "Make any execution an error.", checks=True, traced=True)
enable_checks = define(
    "enable_checks", boolean, False, "Check every form of a program after every pass.",
    variables=("TANX_CHECK",))
dump = define("dump", text, "", "Names of passes, separated by commas, after which the program "
               "is printed.")
quick_code = define(
    "quick_code", boolean, True, "Compile short programs quickly, and optimise them in the "
    "background when they are used again.")
native_code = define(
    "native_code", boolean, True, "Compile programs to native code; without it tier 0 runs them, "
    "operation by operation.", by_python=True)
async_dispatch = define(
    "cpu_enable_async_dispatch", boolean, True, "Run long work in the background.")
log_compiles = define("log_compiles", boolean, False, "Log each trace and compilation.")
explain_cache_misses = define(
    "explain_cache_misses", boolean, False, "Log why a jitted function was traced again.")
default_device = define(
    "default_device", device.or_none(), None,
    "The device, or the name of the platform, of new arrays.", traced=True)
default_matmul_precision = define(
    "default_matmul_precision", choice(
        "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
        "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY",
        "ANY_F8_ANY_F8_ANY_FAST_ACCUM", "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16",
        "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9",
        "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64").or_none(), None,
    "The precision of products of matrices that name none.", traced=True)
default_prng_impl = define(
    "default_prng_impl", choice("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32",
                                "philox4x32"), "threefry2x32",
    "The generator behind tanx.random.key.", traced=True)
threefry_partitionable = define(
    "threefry_partitionable", boolean, True, "Make random bits by JAX's newer scheme, in which "
    "each element depends only on its own index.", traced=True)
enable_custom_prng = define(
    "enable_custom_prng", boolean, False, "Make tanx.random.PRNGKey return typed keys.",
    traced=True)
legacy_prng_key = define(
    "legacy_prng_key", choice("allow", "warn", "error"), "allow",
    "What the use of an untyped uint32 random key does.", traced=True)
high_dynamic_range_gumbel = define(
    "high_dynamic_range_gumbel", boolean, False, "Draw Gumbel variables with more of the tail.",
    traced=True)
random_seed_offset = define(
    "random_seed_offset", integer, 0, "A number added to every seed.", traced=True)
softmax_custom_jvp = define(
    "softmax_custom_jvp", boolean, False, "Differentiate softmax by a custom rule, rather than "
    "step by step.", traced=True)
allow_f16_reductions = define(
    "allow_f16_reductions", boolean, True, "Let sums of 16-bit floats have 16 bits; without it, "
    "they are an error.", checks=True, traced=True)
accurate_erf_inv = define(
    "accurate_erf_inv", boolean, False, "Compute erf_inv to the last bits.",
    idle="erf_inv is always computed to the last bits.")
check_static_indices = define(
    "check_static_indices", boolean, False, "Raise IndexError for constant indices that are out "
    "of bounds.", checks=True, traced=True)
traceback_filtering = define(
    "traceback_filtering", choice("off", "tracebackhide", "remove_frames", "quiet_remove_frames",
                                  "auto"), "auto",
    "How frames of tanx are removed from tracebacks.")
Filtering.mode = staticmethod(lambda: traceback_filtering.value)
thread_guard = define(
    "thread_guard", boolean, False, "With several distributed processes, let only one "
    "thread start work.", idle="there is one process, and its threads may start work in any "
    "order.")
_guard = choice("allow", "log", "disallow", "log_explicit", "disallow_explicit").or_none()
any_transfer_guard = define(
    "transfer_guard", _guard, None, "What transfers of data between devices do.")
transfer_guard_host_to_device = define(
    "transfer_guard_host_to_device", _guard, None, "What happens when data of NumPy or of Python "
    "becomes an array.", checks=True, by_python=True)
transfer_guard_device_to_device = define(
    "transfer_guard_device_to_device", _guard, None, "What copies between devices do.",
    idle="there is one device, so nothing is copied between devices.")
transfer_guard_device_to_host = define(
    "transfer_guard_device_to_host", _guard, None, "What copies from device to host do.",
    idle="arrays are in the memory of the host already, so nothing is copied to it.")
array_garbage_collection_guard = define(
    "array_garbage_collection_guard", choice("allow", "log", "fatal").or_none(), None,
    "What arrays that only the garbage collector can free do.")
compilation_cache_dir = define(
    "compilation_cache_dir", text.or_none(), None, "The folder of code kept between processes; "
    "None for tanx in the user's folder of caches.", variables=("TANX_CACHE_DIR",))
enable_compilation_cache = define(
    "enable_compilation_cache", boolean, True, "Keep compiled code on disk.")
compilation_cache_max_size = define(
    "compilation_cache_max_size", integer, 1 << 30, "Bytes the folder may hold; -1 for no limit.")
persistent_cache_min_compile_time_secs = define(
    "persistent_cache_min_compile_time_secs", real, 0.0,
    "Programs compiled in less time are not kept on disk.")
persistent_cache_min_entry_size_bytes = define(
    "persistent_cache_min_entry_size_bytes", integer, 0,
    "Smaller programs are not kept on disk.")
raise_persistent_cache_errors = define(
    "raise_persistent_cache_errors", boolean, False,
    "Raise errors of the folder of compiled code, instead of compiling again.")
platforms = define(
    "platforms", platform_names.or_none(), None, "Platforms to use, separated by commas, best "
    "first; the CPU is the only one.")
platform_name = define(
    "platform_name", platform_names, "", "The platform to use; the CPU is the only one.")
num_cpu_devices = define(
    "num_cpu_devices", device_count, -1, "How many devices to make of the CPU: 1, or -1 for all "
    "that there are.")
logging_level = define(
    "logging_level", choice("NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL").or_none(),
    "NOTSET", "The level of tanx's logger.")
captured_constants_warn_bytes = define(
    "captured_constants_warn_bytes", integer, 2_000_000_000,
    "Warn when a program captures more bytes of constants; -1 for never.")
program_bytes = define(
    "program_bytes", integer, 1 << 30,
    "Bytes of compiled programs and their data that are kept in memory; -1 for "
    "any number.")
optimization_level = define(
    "optimization_level", choice("UNKNOWN", "O0", "O1", "O2", "O3"), "UNKNOWN",
    "How hard the compiler works.")
disable_bwd_checks = define(
    "disable_bwd_checks", boolean, False, "Accept the cotangents of a bwd rule of custom_vjp "
    "without checks of their types.", traced=True)
profiling = define(
    "profiling", boolean, False, "Let Python execute all calls, to record them in a profile.",
    by_python=True, listed=False)
pprint_use_color = define(
    "pprint_use_color", boolean, True, "Colour jaxprs when they are printed on a terminal.")


# --- Flags that are stored and never read ---------------------------------------------------------


def _flag(name: str) -> Flag | None:
    """The flag called ``name``; flags that are only stored are made when first needed."""
    if name not in known and name in KEPT:
        kind, default = KEPT[name]
        define(name, kind, default, "Stored for JAX programs; has no effect.",
               idle="it is for a part of JAX or of XLA that tanx does not have.")
    return known.get(name)


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
    """A user-defined option that jitted functions depend on.

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
    trace_also(flag)
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
    """A context in which all three kinds of transfer are guarded in the same way.

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
        """The first read of an option makes it a property; later reads are fast."""
        flag = _find(name)
        setattr(Config, name, property(lambda self: flag.value, doc=flag.__doc__))
        return flag.value

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self.values]

    @property
    def values(self) -> dict[str, Any]:
        """Every option and its value in this thread."""
        flags = [_find(name) for name in (*known, *KEPT)]
        return {flag.public_name: flag.value for flag in flags}

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit types are enabled."""
        return enable_x64.value

    def parse_flags_with_absl(self) -> None:
        """Set options from arguments of the command line such as ``--jax_enable_x64=true``.

        If ``absl.flags`` is imported and has not parsed the command line, other flags get their
        defaults: tests that pytest runs read them, and nothing else parses them there.
        """
        self.config_with_absl()
        absl = sys.modules.get("absl.flags")
        if absl is not None and not absl.FLAGS.is_parsed():
            absl.FLAGS([""])

    def config_with_absl(self) -> None:
        """Set options from the command line, and leave all other flags to ``absl.app.run``."""
        for argument in sys.argv[1:]:
            name, _, given = argument.removeprefix("--").partition("=")
            flag = _flag(name.removeprefix("jax_")) if argument.startswith("--jax_") else None
            if flag is not None:
                flag.update(from_text(argument, given or "true", flag.kind))


config = Config()
