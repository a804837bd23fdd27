"""Calls of users' C functions as native code (see ``native.py``): what ``foreign.py`` binds.

A *job* is an array of words that describes one call in a program: a head, which :func:`foreign`
reads, and what the *caller* needs, the function whose address comes first. There are callers for
functions that follow XLA's typed interface (:func:`typed`), for those of the interface before it
(:func:`untyped`), and for plain C functions (``c_calls.py``). A caller returns an *error* or 0. An
error is a block of memory with a code and a text.

A typed function takes a *call frame* with the layout of ``XLA_FFI_CallFrame``. A job has a template
of it, with the array of pointers to buffers and the buffers after the frame; a call copies the
template, so that threads do not share one, and writes the addresses into the copy.

The rest are the functions that such a frame offers to the called function.
"""

from __future__ import annotations

from .native import C, address_of, call, int32, put, put8, put32, stack, word

__all__ = ["API", "CALLERS", "foreign", "instantiate", "make_error", "typed", "untyped"]

CALLER, OUTPUTS, SIZES, COPIES, COPIED, REST = 0, 8, 16, 24, 32, 40
"""Offsets in the head of a job, in bytes: the caller, how many outputs there are and where their
sizes are, how many inputs share the memory of outputs and where these are listed."""
INSTANTIATE, PREPARE, INITIALIZE, EXECUTE = 40, 48, 56, 64
"""Offsets of the functions of each stage; only the last is required."""
FRAME_SIZE, TEMPLATE, MOVED, MOVES, BUFFERS, DATA = 72, 80, 88, 96, 104, 112
"""The size and offset of the template; how many pointers in it point into it, and where they are
listed; how many buffers there are, and where the offsets of their addresses are."""
STATES, HEAD = 120, 200
"""The states of each stage, two words each: the number of the type, and the state."""
FUNCTION = 40
"""The offset of a function that is not typed."""

F_API, F_CONTEXT, F_STAGE, F_INPUTS, F_OUTPUTS, F_FUTURE = 16, 24, 32, 56, 96, 168
"""Offsets in a call frame."""
STAGES = 5
LOCK, FUTURE_STATE, FUTURE_ERROR, FUTURE_SIZE = 128, 128, 136, 144
PENDING, AVAILABLE, FAILED = 0, 1, 2
"""States of a future."""
PAUSE = 20
"""Microseconds between two checks of a future."""
TYPES = 1024
"""More than there may be types of states, which are numbered from 1."""
ALIGNMENT = 64
"""Alignment of blocks of the allocator."""
INVALID, NOT_FOUND, EXISTS, EXHAUSTED, UNIMPLEMENTED = 3, 5, 6, 8, 12
"""Codes of errors."""


# -- one call in a program -------------------------------------------------------------------------


def foreign(job: int, buffers: int) -> None:
    """Call the function; ``buffers`` are the addresses of outputs, then of inputs."""
    if word(address_of.tanx_stop) != 0:
        if C.tanx_stopped():
            clear(job, buffers)
            return
    at = job + word(job, COPIED)
    end = at + 24 * word(job, COPIES)
    while at < end:
        share(buffers + 8 * word(at), buffers + 8 * word(at, 8), word(at, 16))
        at += 24
    error = call(word(job, CALLER), job, buffers)
    if error != 0:
        clear(job, buffers)
        failure = stack(16)
        put(failure, 0, job)
        put(failure, 8, error)
        C.tanx_enter(address_of.tanx_failed, failure)
        destroy(error)


def share(output: int, given: int, size: int) -> None:
    """Give an input the memory of an output."""
    if word(output) != word(given):
        C.memcpy(word(output), word(given), size)
        put(given, 0, word(output))


def clear(job: int, buffers: int) -> None:
    """Write zeros for results: code that runs until all has stopped must find valid numbers."""
    sizes = job + word(job, SIZES)
    i = 0
    while i < word(job, OUTPUTS):
        C.memset(word(buffers, 8 * i), 0, word(sizes, 8 * i))
        i += 1


def untyped(job: int, buffers: int) -> int:
    """Call a function of the result, or an array of results, and an array of operands."""
    results = buffers
    if word(job, OUTPUTS) == 1:
        results = word(buffers)
    call(word(job, FUNCTION), results, buffers + 8 * word(job, OUTPUTS))
    return 0


# -- call frames -----------------------------------------------------------------------------------


def typed(job: int, buffers: int) -> int:
    """Call the functions of all stages of a run in turn, on a private frame."""
    size = word(job, FRAME_SIZE)
    frame = stack(size)
    fill(job, frame, size)
    data = job + word(job, DATA)
    i = 0
    while i < word(job, BUFFERS):
        put(frame + word(data, 8 * i), 0, word(buffers, 8 * i))
        i += 1
    context = stack(16 * STAGES)
    C.memcpy(context, job + STATES, 16 * STAGES)
    put(frame, F_CONTEXT, context)
    error = 0
    stage = 1
    while stage < 4:
        if error == 0:
            error = staged(word(job, INSTANTIATE + 8 * stage), frame, stage)
        stage += 1
    end_state(context + 16)
    end_state(context + 32)
    end_state(context + 48)
    return error


def instantiate(job: int) -> int:
    """Call the function of the first stage, whose state stays with the job; an error or 0."""
    size = word(job, FRAME_SIZE)
    frame = stack(size)
    fill(job, frame, size)
    put(frame, F_INPUTS, 0)
    put(frame, F_OUTPUTS, 0)
    put(frame, F_CONTEXT, job + STATES)
    return staged(word(job, INSTANTIATE), frame, 0)


def fill(job: int, frame: int, size: int) -> None:
    """Copy the template; pointers into it are relocated to the copy."""
    C.memcpy(frame, job + word(job, TEMPLATE), size)
    moves = job + word(job, MOVES)
    i = 0
    while i < word(job, MOVED):
        put(frame + word(moves), 0, frame + word(moves, 8))
        moves += 16
        i += 1


def staged(function: int, frame: int, stage: int) -> int:
    """Call the function of a stage, if there is one, and wait for its future."""
    if function == 0:
        return 0
    put32(frame, F_STAGE, stage)
    put(frame, F_FUTURE, 0)
    error = call(function, frame)
    future = word(frame, F_FUTURE)
    if future == 0:
        return error
    while future_state(future) == PENDING:
        C.usleep(PAUSE)
    if future_state(future) == FAILED:
        if error == 0:
            error = word(future, FUTURE_ERROR)
    C.PyMem_RawFree(future)
    return error


def end_state(slot: int) -> None:
    """Delete a state, by the function registered with its type."""
    kind = word(slot)
    if word(slot, 8) != 0 and kind > 0 and kind < TYPES:
        deleter = word(address_of.tanx_deleters, 8 * kind)
        if deleter != 0:
            call(deleter, word(slot, 8))


# -- errors ----------------------------------------------------------------------------------------


def make_error(code: int, message: int) -> int:
    """An error with a copy of a text."""
    size = 0
    if message != 0:
        size = C.strlen(message)
    error = C.PyMem_RawMalloc(size + 9)
    if error == 0:
        return address_of.tanx_no_memory
    put(error, 0, code)
    C.memcpy(error + 8, message, size)
    put8(error, 8 + size, 0)
    return error


def destroy(error: int) -> None:
    """Free an error."""
    if error != address_of.tanx_no_memory:
        C.PyMem_RawFree(error)


def error_create(args: int) -> int:
    """``XLA_FFI_Error_Create``"""
    return make_error(int32(args, 24), word(args, 16))


def error_details(args: int) -> int:
    """``XLA_FFI_Error_GetDetails``"""
    put(args, 24, word(args, 16) + 8)
    put32(args, 32, word(word(args, 16)))
    return 0


def error_destroy(args: int) -> int:
    """``XLA_FFI_Error_Destroy``"""
    destroy(word(args, 16))
    return 0


def no_handlers(args: int) -> int:
    """``XLA_FFI_Handler_Register``"""
    return make_error(UNIMPLEMENTED, address_of.tanx_text_handlers)


def no_stream(args: int) -> int:
    """``XLA_FFI_Stream_Get``"""
    return make_error(UNIMPLEMENTED, address_of.tanx_text_stream)


def no_types(args: int) -> int:
    """``XLA_FFI_Type_Register``"""
    return make_error(UNIMPLEMENTED, address_of.tanx_text_types)


def no_user_data(args: int) -> int:
    """``XLA_FFI_InvokeContext_Get``"""
    return make_error(NOT_FOUND, address_of.tanx_text_data)


def no_run(args: int) -> int:
    """``XLA_FFI_RunId_Get``"""
    return make_error(UNIMPLEMENTED, address_of.tanx_text_run)


# -- states ----------------------------------------------------------------------------------------


def state_set(args: int) -> int:
    """``XLA_FFI_State_Set``; before version 0.5 only the first stage had a state."""
    stage = 0
    rest = args + 24
    if word(args) >= 48:
        stage = int32(args, 24)
        rest = args + 32
    slot = word(args, 16) + 16 * stage
    if word(slot, 8) != 0:
        return make_error(EXISTS, address_of.tanx_text_set)
    put(slot, 0, word(word(rest)))
    put(slot, 8, word(rest, 8))
    return 0


def state_get(args: int) -> int:
    """``XLA_FFI_State_Get``"""
    stage = 0
    rest = args + 24
    if word(args) >= 48:
        stage = int32(args, 24)
        rest = args + 32
    slot = word(args, 16) + 16 * stage
    if word(slot, 8) == 0:
        return make_error(NOT_FOUND, address_of.tanx_text_unset)
    if word(slot) != word(word(rest)):
        return make_error(INVALID, address_of.tanx_text_kind)
    put(rest, 8, word(slot, 8))
    return 0


# -- memory and threads ----------------------------------------------------------------------------


def memory_allocate(args: int) -> int:
    """``XLA_FFI_DeviceMemory_Allocate``"""
    if word(args, 32) > ALIGNMENT:
        return make_error(INVALID, address_of.tanx_text_alignment)
    block = C.tanx_alloc(word(args, 24))
    if block == 0:
        return make_error(EXHAUSTED, address_of.tanx_text_memory)
    put(args, 40, block)
    return 0


def memory_free(args: int) -> int:
    """``XLA_FFI_DeviceMemory_Free``"""
    C.tanx_free(word(args, 32))
    return 0


def schedule(args: int) -> int:
    """``XLA_FFI_ThreadPool_Schedule``: tasks run immediately, in the thread that schedules them."""
    call(word(args, 24), word(args, 32))
    return 0


def count_threads(args: int) -> int:
    """``XLA_FFI_ThreadPool_NumThreads``"""
    put(word(args, 24), 0, 1)
    return 0


# -- futures ---------------------------------------------------------------------------------------


def future_create(args: int) -> int:
    """``XLA_FFI_Future_Create``"""
    future = C.PyMem_RawMalloc(FUTURE_SIZE)
    if future == 0:
        return address_of.tanx_no_memory
    C.memset(future, 0, FUTURE_SIZE)
    put(args, 16, future)
    return 0


def future_available(args: int) -> int:
    """``XLA_FFI_Future_SetAvailable``"""
    return settle(word(args, 16), AVAILABLE, 0)


def future_error(args: int) -> int:
    """``XLA_FFI_Future_SetError``"""
    return settle(word(args, 16), FAILED, word(args, 24))


def settle(future: int, state: int, error: int) -> int:
    """Set the outcome of a future."""
    C.pthread_mutex_lock(future)
    put(future, FUTURE_ERROR, error)
    put(future, FUTURE_STATE, state)
    C.pthread_mutex_unlock(future)
    return 0


def future_state(future: int) -> int:
    """The state of a future."""
    C.pthread_mutex_lock(future)
    state = word(future, FUTURE_STATE)
    C.pthread_mutex_unlock(future)
    return state


# -- facts -----------------------------------------------------------------------------------------


def device_ordinal(args: int) -> int:
    """``XLA_FFI_DeviceOrdinal_Get``"""
    put32(args, 24, 0)
    return 0


def no_extension(args: int) -> int:
    """``XLA_FFI_InvokeContext_FindExtension``"""
    put(args, 32, 0)
    return 0


def no_options(args: int) -> int:
    """``XLA_FFI_CustomOptions_Get``"""
    put(args, 24, address_of.tanx_no_options)
    return 0


API = ("error_create", "error_details", "error_destroy", "no_handlers", "no_stream", "no_types",
       "no_user_data", "state_set", "state_get", "memory_allocate", "memory_free", "schedule",
       "count_threads", "future_create", "future_available", "future_error", "no_run",
       "device_ordinal", "no_extension", "no_options")
"""The functions of ``XLA_FFI_Api``, in order."""
CALLERS = ("foreign", "instantiate", "typed", "untyped", "make_error", "destroy",
           "end_state")
TEXTS = {
    "handlers": "functions are registered by tanx.ffi.register_ffi_target, not from C",
    "stream": "there is no stream: the function runs on the CPU",
    "types": "types are registered by tanx.ffi.register_ffi_type, not from C",
    "data": "there is no such data in the context of the call",
    "run": "runs of a program have no numbers",
    "set": "the state of this stage has been set already",
    "unset": "the state of this stage has not been set",
    "kind": "the state of this stage has another type",
    "alignment": "memory is aligned to 64 bytes at most",
    "memory": "there is no memory left",
}
"""The texts of errors, by the end of the name of their symbol."""
