/* Foreign functions for tanx.ffi, in C or C++.

   A function takes a call frame: its operands, its results and its attributes. It fills the data of
   the results, and returns NULL, or an error made by tanx_ffi_fail. docs/foreign_functions.md has
   examples.

       TANX_FFI_HANDLER(twice) {
           const tanx_ffi_buffer *x = tanx_ffi_arg(frame, 0);
           tanx_ffi_buffer *y = tanx_ffi_ret(frame, 0);
           if (x->dtype != TANX_FLOAT32)
               return tanx_ffi_fail(frame, TANX_INVALID_ARGUMENT, "twice takes float32");
           for (int64_t i = 0; i < tanx_ffi_count(x); i++)
               ((float *)y->data)[i] = 2 * ((const float *)x->data)[i];
           return NULL;
       }

   Arrays lie in memory row by row, and begin at a multiple of the size of an element. The data of
   operands is not to be written to, unless ffi_call says that it is shared with a result. A
   function may be called from several threads at a time; it is called without Python's lock.

   The layout is that of version 0 of XLA's typed interface (XLA_FFI_CallFrame): what is compiled
   with this header can be called by jax.ffi, and what was compiled for jax.ffi by tanx.ffi. */

#ifndef TANX_FFI_H
#define TANX_FFI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tanx_ffi_dtype {
    TANX_BOOL = 1, TANX_INT8 = 2, TANX_INT16 = 3, TANX_INT32 = 4, TANX_INT64 = 5,
    TANX_UINT8 = 6, TANX_UINT16 = 7, TANX_UINT32 = 8, TANX_UINT64 = 9,
    TANX_FLOAT16 = 10, TANX_FLOAT32 = 11, TANX_FLOAT64 = 12, TANX_BFLOAT16 = 16,
    TANX_COMPLEX64 = 15, TANX_COMPLEX128 = 18
};

enum tanx_ffi_code {
    TANX_UNKNOWN = 2, TANX_INVALID_ARGUMENT = 3, TANX_NOT_FOUND = 5, TANX_RESOURCE_EXHAUSTED = 8,
    TANX_FAILED_PRECONDITION = 9, TANX_OUT_OF_RANGE = 11, TANX_UNIMPLEMENTED = 12,
    TANX_INTERNAL = 13
};

enum tanx_ffi_stage {
    TANX_INSTANTIATE = 0, TANX_PREPARE = 1, TANX_INITIALIZE = 2, TANX_EXECUTE = 3
};

enum tanx_ffi_kind { TANX_ARRAY = 1, TANX_DICT = 2, TANX_SCALAR = 3, TANX_STRING = 4 };

/* An array: the number of its dimensions is its rank. */
typedef struct tanx_ffi_buffer {
    size_t struct_size;
    void *extension;
    int32_t dtype;
    void *data;
    int64_t rank;
    const int64_t *dims;
} tanx_ffi_buffer;

typedef struct tanx_ffi_buffers {
    size_t struct_size;
    void *extension;
    int64_t size;
    const int32_t *types;
    tanx_ffi_buffer **items;
} tanx_ffi_buffers;

/* What attributes are: a text, a number, numbers. Texts need not end with a zero. */
typedef struct tanx_ffi_text { const char *data; size_t size; } tanx_ffi_text;
typedef struct tanx_ffi_scalar { int32_t dtype; const void *value; } tanx_ffi_scalar;
typedef struct tanx_ffi_array { int32_t dtype; size_t size; const void *data; } tanx_ffi_array;

/* Attributes, sorted by name. */
typedef struct tanx_ffi_attributes {
    size_t struct_size;
    void *extension;
    int64_t size;
    const int32_t *kinds;
    const tanx_ffi_text *const *names;
    const void *const *items;
} tanx_ffi_attributes;

typedef struct tanx_ffi_error tanx_ffi_error;

typedef struct tanx_ffi_error_args {
    size_t struct_size;
    void *extension;
    const char *message;
    int32_t code;
} tanx_ffi_error_args;

typedef struct tanx_ffi_version {
    size_t struct_size;
    void *extension;
    int32_t major;
    int32_t minor;
} tanx_ffi_version;

/* The first of the functions that a frame offers; the others follow. */
typedef struct tanx_ffi_api {
    size_t struct_size;
    void *extension;
    tanx_ffi_version version;
    const void *internal;
    tanx_ffi_error *(*new_error)(tanx_ffi_error_args *);
} tanx_ffi_api;

typedef struct tanx_ffi_frame {
    size_t struct_size;
    void *extension;
    const tanx_ffi_api *api;
    void *context;
    int32_t stage;
    tanx_ffi_buffers args;
    tanx_ffi_buffers rets;
    tanx_ffi_attributes attrs;
    void *future;
} tanx_ffi_frame;

/* -- operands and results ---------------------------------------------------------------------- */

static inline const tanx_ffi_buffer *tanx_ffi_arg(const tanx_ffi_frame *frame, int64_t number) {
    return number < frame->args.size ? frame->args.items[number] : NULL;
}

static inline tanx_ffi_buffer *tanx_ffi_ret(const tanx_ffi_frame *frame, int64_t number) {
    return number < frame->rets.size ? frame->rets.items[number] : NULL;
}

/* How many elements an array has. */
static inline int64_t tanx_ffi_count(const tanx_ffi_buffer *buffer) {
    int64_t count = 1;
    for (int64_t i = 0; i < buffer->rank; i++) count *= buffer->dims[i];
    return count;
}

/* -- attributes -------------------------------------------------------------------------------- */

/* The attribute of a name and a kind, or NULL: a tanx_ffi_array, _attributes, _scalar or _text. */
static inline const void *tanx_ffi_find(const tanx_ffi_attributes *attrs, const char *name,
                                        int32_t kind) {
    size_t size = strlen(name);
    for (int64_t i = 0; i < attrs->size; i++)
        if (attrs->kinds[i] == kind && attrs->names[i]->size == size &&
            memcmp(attrs->names[i]->data, name, size) == 0)
            return attrs->items[i];
    return NULL;
}

/* Copies a number of a dtype to value; whether there is one of that name. */
static inline int tanx_ffi_number(const tanx_ffi_frame *frame, const char *name, int32_t dtype,
                                  void *value, size_t size) {
    const tanx_ffi_scalar *found =
        (const tanx_ffi_scalar *)tanx_ffi_find(&frame->attrs, name, TANX_SCALAR);
    if (found == NULL || found->dtype != dtype) return 0;
    memcpy(value, found->value, size);
    return 1;
}

static inline int tanx_ffi_float64(const tanx_ffi_frame *frame, const char *name, double *value) {
    return tanx_ffi_number(frame, name, TANX_FLOAT64, value, sizeof *value);
}

static inline int tanx_ffi_float32(const tanx_ffi_frame *frame, const char *name, float *value) {
    return tanx_ffi_number(frame, name, TANX_FLOAT32, value, sizeof *value);
}

static inline int tanx_ffi_int64(const tanx_ffi_frame *frame, const char *name, int64_t *value) {
    return tanx_ffi_number(frame, name, TANX_INT64, value, sizeof *value);
}

static inline int tanx_ffi_int32(const tanx_ffi_frame *frame, const char *name, int32_t *value) {
    return tanx_ffi_number(frame, name, TANX_INT32, value, sizeof *value);
}

static inline int tanx_ffi_bool(const tanx_ffi_frame *frame, const char *name, uint8_t *value) {
    return tanx_ffi_number(frame, name, TANX_BOOL, value, sizeof *value);
}

static inline const tanx_ffi_text *tanx_ffi_string(const tanx_ffi_frame *frame, const char *name) {
    return (const tanx_ffi_text *)tanx_ffi_find(&frame->attrs, name, TANX_STRING);
}

static inline const tanx_ffi_array *tanx_ffi_numbers(const tanx_ffi_frame *frame,
                                                     const char *name) {
    return (const tanx_ffi_array *)tanx_ffi_find(&frame->attrs, name, TANX_ARRAY);
}

static inline const tanx_ffi_attributes *tanx_ffi_dict(const tanx_ffi_frame *frame,
                                                       const char *name) {
    return (const tanx_ffi_attributes *)tanx_ffi_find(&frame->attrs, name, TANX_DICT);
}

/* -- errors ------------------------------------------------------------------------------------ */

/* An error, to be returned; the message is copied. Python raises it as a JaxRuntimeError. */
static inline tanx_ffi_error *tanx_ffi_fail(const tanx_ffi_frame *frame, int32_t code,
                                            const char *message) {
    tanx_ffi_error_args args = {offsetof(tanx_ffi_error_args, code) + sizeof(int32_t), NULL,
                                message, code};
    return frame->api->new_error(&args);
}

/* -- definitions ------------------------------------------------------------------------------- */

/* Whether a frame only asks for the version of the interface, as JAX does before the first call. */
static inline int tanx_ffi_is_query(const tanx_ffi_frame *frame) {
    struct link { size_t struct_size; int32_t type; struct link *next; void *content; };
    struct content { size_t struct_size; tanx_ffi_version version; };
    for (struct link *at = (struct link *)frame->extension; at != NULL; at = at->next)
        if (at->type == 1) {
            struct content *content = (struct content *)at->content;
            content->version.major = 0;
            content->version.minor = 1;
            return 1;
        }
    return 0;
}

/* Defines a function that can be registered; its parameter is called frame. */
#define TANX_FFI_HANDLER(name)                                              \
    static tanx_ffi_error *name##_called(tanx_ffi_frame *frame);            \
    __attribute__((visibility("default")))                                  \
    tanx_ffi_error *name(tanx_ffi_frame *frame) {                           \
        return tanx_ffi_is_query(frame) ? NULL : name##_called(frame);      \
    }                                                                       \
    static tanx_ffi_error *name##_called(tanx_ffi_frame *frame)

#ifdef __cplusplus
}
#endif

#endif
