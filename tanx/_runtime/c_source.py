"""The C text of a saved function: its header, and the source around the compiled program.

The source does what the runtime does for a program in a Python process: it passes constants and
temporaries to the program, starts the threads, and calls LAPACK routines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from .._base.tuples import NamedTuple
from .._compiler.abi import ALIGNMENT, ENTRY, NO_ROOM, PARALLEL, STOP, STOPPED
from .._core.types import ShapedArray
from .._loops import lapack
from ..dtypes import KeyType, stored

if TYPE_CHECKING:
    from .._loops.nest import Extern

__all__ = ["Entry", "Parameter", "header_text", "identifier", "source_text"]

_KEYWORDS = frozenset("""
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const
    constexpr const_cast continue decltype default delete do double dynamic_cast else enum explicit
    export extern false float for friend goto if inline int long mutable namespace new noexcept not
    not_eq nullptr operator or or_eq private protected public register reinterpret_cast restrict
    return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename typeof union unsigned using virtual void
    volatile wchar_t while xor xor_eq main""".split())
"""Words of C and C++ that are no names."""

_TYPES = {"f4": "float", "f8": "double", "c8": "float", "c16": "double", "b1": "bool",
          **{f"{kind}{size}": f"{'u' * (kind == 'u')}int{8 * size}_t"
             for kind in "iu" for size in (1, 2, 4, 8)}}


class Parameter(NamedTuple):
    """An array that C passes: its name, how Python calls it, and its type."""

    name: str
    path: str
    aval: ShapedArray

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def nbytes(self) -> int:
        return self.aval.size * stored(self.dtype).itemsize

    @property
    def c_type(self) -> str:
        """The type of an element, or of its parts."""
        if isinstance(self.dtype, KeyType):
            return "uint32_t"
        dtype = stored(self.dtype)
        return _TYPES.get(f"{dtype.kind}{dtype.itemsize}", f"uint{8 * dtype.itemsize}_t")

    @property
    def comment(self) -> str:
        """The type for people, and what its elements consist of."""
        text = f"{self.path}: {self.aval.update(weak_type=False)}".replace("*/", "")
        if isinstance(self.dtype, KeyType):
            return f"{text}, {self.dtype.stored.itemsize // 4} words for each key"
        if stored(self.dtype).kind == "c":
            return f"{text}, pairs of a real and an imaginary part"
        if self.c_type.startswith("uint") and stored(self.dtype).kind not in "ub":
            return f"{text}, as bits"
        return text


@dataclass(frozen=True)
class Entry:
    """A C function: what it takes and returns, and the buffers of the program that it runs.

    The program's buffers are constants, arguments, outputs. ``constants`` are their places in the
    data of the library. A result is the buffer ``results`` says; an output is the memory of an
    argument where ``overwritten`` has that argument's number among the buffers.
    """

    name: str
    arguments: Sequence[Parameter]
    returned: Sequence[Parameter]
    constants: Sequence[int]
    outputs: int
    overwritten: Sequence[int | None]
    results: Sequence[int]
    workspace: int

    @property
    def error(self) -> str:
        """How names of errors begin."""
        return self.name.upper()

    @property
    def aliases(self) -> list[tuple[Parameter, Parameter]]:
        """Results that may have the memory of an argument, each with that argument."""
        first = len(self.constants) + len(self.arguments)
        return [(result, self.arguments[place - len(self.constants)])
                for n, place in enumerate(self.overwritten) if place is not None
                for result in [self.returned[self.results.index(first + n)]]]


def identifier(text: str, taken: Iterable[str] = ()) -> str:
    """A name of C for something that Python calls by ``text``, and that nothing else has.

    >>> identifier("params['w'][0]"), identifier("float"), identifier("x", ["x"])
    ('params_w_0', 'float_', 'x_2')
    """
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "x"
    if name[0].isdigit():
        name = f"x{name}"
    if name in _KEYWORDS:
        name += "_"
    count, wanted, others = 1, name, set(taken)
    while name in others:
        count += 1
        name = f"{wanted}_{count}"
    return name


# -- the header ------------------------------------------------------------------------------------

_HEADER = """\
/* {name}: a compiled function of tanx.

   Arrays are contiguous and in row-major order. Results are written to memory of the caller, which
   no argument and no other result may share{except_}.
   Several threads may call the function at the same time.

   It returns 0, or one of the errors below; then nothing was computed. */

#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

enum {{
    {error}_OK = 0,
    {error}_NULL = 1,       /* the address of an array is missing */
    {error}_MEMORY = 2,     /* no memory for the workspace */
    {error}_ALIGNMENT = 3,  /* the workspace is not aligned to {alignment} bytes */
    {error}_PROCESSOR = 4   /* the processor lacks instructions of the one this was compiled for */
}};

int {name}(
{parameters}
    void *workspace  /* {name}_workspace_bytes() bytes, aligned to {alignment}, for one call at a
                        time; or NULL: the function then allocates them for the call */
);

/* Bytes of the workspace. */
size_t {name}_workspace_bytes(void);

/* How many threads calls may use, the calling one among them. Without it: what the environment
   variable OMP_NUM_THREADS says, or as many as the processors that the process may use. */
void {name}_set_num_threads(int threads);

#ifdef __cplusplus
}}
#endif

#endif
"""


def header_text(entry: Entry) -> str:
    """The header file of a function."""
    declared = [(f"const {p.c_type} *{p.name},", p.comment) for p in entry.arguments]
    declared += [(f"{p.c_type} *{p.name},", p.comment) for p in entry.returned]
    widest = max([len(text) for text, _ in declared], default=0)
    parameters = "\n".join(f"    {text:{widest}}  /* {comment} */" for text, comment in declared)
    same = [f"{result.name} may be the memory of {argument.name}: it is then updated in place"
            for result, argument in entry.aliases]
    return _HEADER.format(
        name=entry.name, error=entry.error, alignment=ALIGNMENT, parameters=parameters,
        guard=f"TANX_{entry.error}_H", except_="".join(f";\n   {text}" for text in same))


# -- the source ------------------------------------------------------------------------------------

_HEAD = """\
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "{header}"

#define HIDDEN __attribute__((visibility("hidden")))

/* The compiled program, of the addresses of its buffers. */
extern void {ENTRY}(void **buffers);

/* Loops of the program read here whether to stop; it is never set. */
HIDDEN int64_t {STOP};
HIDDEN int32_t {STOPPED}(void) {{ return 0; }}

/* Tasks of the program call this where they find no memory. */
static int no_room;
HIDDEN void {NO_ROOM}(int64_t bytes)
{{
    (void)bytes;
    __atomic_store_n(&no_room, 1, __ATOMIC_RELAXED);
}}
"""

_PROCESSOR = """
static int has_instructions(void)
{{
    return {supported};
}}
"""

_CONSTANTS = """
/* The constants of the program, one after the other. */
extern HIDDEN char tanx_constants[];
__asm__(".section .rodata\\n.balign {alignment}\\n.globl tanx_constants\\n.hidden tanx_constants\\n"
        "tanx_constants:\\n.incbin \\"{path}\\"\\n.previous\\n");
"""

_POOL = """
/* The pool of threads, which has started none so far. It counts itself in these words. */
HIDDEN int64_t tanx_owner, tanx_workers[1024];
extern void tanx_fresh(void), tanx_limit(int64_t threads);
extern void {PARALLEL}(void (*task)(void *, int64_t), void *context, int64_t count);

static int64_t default_threads(void)
{{
    const char *said = getenv("OMP_NUM_THREADS");
    cpu_set_t processors;
    int64_t threads = 1, quota, period;
    FILE *limit;
    if (said && atol(said) > 0)
        return atol(said);
    if (sched_getaffinity(0, sizeof processors, &processors) == 0)
        threads = CPU_COUNT(&processors);
    limit = fopen("/sys/fs/cgroup/cpu.max", "r");  /* of a container */
    if (limit) {{
        if (fscanf(limit, "%" SCNd64 " %" SCNd64, &quota, &period) == 2 && period > 0
            && (quota + period - 1) / period < threads)
            threads = (quota + period - 1) / period;
        fclose(limit);
    }}
    return threads < 1 ? 1 : threads;
}}

__attribute__((constructor)) static void begin(void)
{{
    tanx_fresh();
    tanx_limit(default_threads());
    pthread_atfork(NULL, NULL, tanx_fresh);  /* a new process has none of the threads */
}}

void {name}_set_num_threads(int threads) {{ tanx_limit(threads < 1 ? 1 : threads); }}
"""

_NO_POOL = """
void {name}_set_num_threads(int threads) {{ (void)threads; }}  /* the program uses one only */
"""

_MAIN = """
size_t {name}_workspace_bytes(void) {{ return {bytes}; }}

int {name}({parameters}, void *workspace)
{{
    void *room = workspace;
    if (!has_instructions())
        return {error}_PROCESSOR;
    if ({missing})
        return {error}_NULL;
    if ((uintptr_t)workspace % {alignment})
        return {error}_ALIGNMENT;
    if (!room && {bytes} && !(room = aligned_alloc({alignment}, {bytes})))
        return {error}_MEMORY;
{before}
    void *buffers[] = {{{buffers}}};
    {ENTRY}(buffers);
{after}
    if (room != workspace)
        free(room);
    return __atomic_exchange_n(&no_room, 0, __ATOMIC_RELAXED) ? {error}_MEMORY : {error}_OK;
}}
"""


def source_text(entry: Entry, header: str, constants: str, calls: Mapping[str, Extern],
                threads: bool, instructions: Sequence[str] = ()) -> str:
    """The source file of a function.

    ``header`` and ``constants`` are paths of files, ``calls`` the calls of LAPACK in the program by
    their symbols. ``threads`` says whether the program uses the pool, ``instructions`` which sets
    of instructions the processor must have.
    """
    places = dict(name=entry.name, error=entry.error, alignment=ALIGNMENT, header=header,
                  ENTRY=ENTRY, STOP=STOP, STOPPED=STOPPED, PARALLEL=PARALLEL,
                  NO_ROOM=NO_ROOM)
    supported = [f'__builtin_cpu_supports("{name}")' for name in instructions]
    parts = [_HEAD.format(**places),
             _PROCESSOR.format(supported="\n        && ".join(supported) or "1")]
    if entry.constants:
        parts.append(_CONSTANTS.format(path=constants, **places))
    parts.append((_POOL if threads else _NO_POOL).format(**places))
    parts += [_lapack_call(symbol, call) for symbol, call in calls.items()]
    parts.append(_main(entry, places))
    return "".join(parts)


def _main(entry: Entry, places: dict[str, Any]) -> str:
    """The function that C calls."""
    buffers = [f"tanx_constants + {start}" for start in entry.constants]
    buffers += [f"(void *){p.name}" for p in entry.arguments]
    first = len(buffers)
    before: list[str] = []
    after: list[str] = []
    for n in range(entry.outputs):
        result = entry.returned[entry.results.index(first + n)]
        buffers.append(result.name)
        place = entry.overwritten[n]
        if place is not None:
            before += [f"    if ((const void *){result.name} != {buffers[place]})",
                       f"        memcpy({result.name}, {buffers[place]}, {result.nbytes});"]
            buffers[place] = result.name
    for result, place in zip(entry.returned, entry.results):
        if buffers[place] == result.name:
            continue
        copy = f"    memcpy({result.name}, {buffers[place]}, {result.nbytes});"
        (before if place < first else after).append(copy)
    arrays = [p for p in (*entry.arguments, *entry.returned) if p.nbytes]
    parameters = [f"const {p.c_type} *{p.name}" for p in entry.arguments]
    parameters += [f"{p.c_type} *{p.name}" for p in entry.returned]
    return _MAIN.format(
        **places, bytes=entry.workspace, parameters=", ".join(parameters),
        missing=" || ".join(f"!{p.name}" for p in arrays) or "0",
        before="\n".join(before), after="\n".join(after), buffers=", ".join([*buffers, "room"]))


_CALL = """
extern void {routine}({types});
static void {symbol}_task(void *context, int64_t task)
{{
    char **b = context;
    int64_t end = (task + 1) * {each} < {count} ? (task + 1) * {each} : {count};
    for (int64_t n = task * {each}; n < end; n++)
        {routine}({args});
}}
HIDDEN char {symbol}_context __asm__("{symbol}.context");
HIDDEN void {symbol}(void *context, char **b)
{{
    (void)context;
{copies}
    {run};
}}
"""


def _lapack_call(symbol: str, call: Extern) -> str:
    """The C function for a LAPACK call; ``lapack_native.py`` describes it."""
    params = dict(call.params)
    buffers, results = (*call.outputs, *call.inputs), len(call.outputs)
    sizes = [prod(b.shape) * b.dtype.itemsize for b in buffers]
    tasks, cells, args = params["tasks"], [], []
    for k, arg in enumerate(params["args"]):
        if isinstance(arg, tuple):
            number, step = arg
            each = 0 if step or number >= results else sizes[number] // tasks
            args.append(f"b[{number}] + n * {step * buffers[number].dtype.itemsize} "
                        f"+ task * {each}")
        else:
            words = lapack.cell(arg, buffers[0].dtype).tobytes()
            cells.append(f"static const char {symbol}_{k}[] __attribute__((aligned(16))) = "
                         f"{{{', '.join(map(str, words))}}};\n")
            args.append(f"{symbol}_{k}")
    letters = sum(isinstance(arg, str) for arg in params["args"])  # their lengths come last
    copies = [f"    memcpy(b[{out}], b[{results + given}], {sizes[out]});"
              for out, given in params["copies"]]
    return "".join(cells) + _CALL.format(
        symbol=symbol, routine=f"{params['routine']}_", count=params["count"],
        each=-(-params["count"] // tasks),
        types=", ".join(["const void *"] * len(args) + ["size_t"] * letters),
        args=", ".join(args + ["1"] * letters), copies="\n".join(copies),
        run=f"{PARALLEL}({symbol}_task, b, {tasks})" if tasks > 1 else f"{symbol}_task(b, 0)")
