/* Functions for tests/extend/test_ffi.py. */

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "tanx/ffi.h"

/* -- Kepler's equation, as a package would solve it -------------------------------------------- */

TANX_FFI_HANDLER(kepler) {
    const tanx_ffi_buffer *mean = tanx_ffi_arg(frame, 0), *eccentricity = tanx_ffi_arg(frame, 1);
    tanx_ffi_buffer *out = tanx_ffi_ret(frame, 0);
    double tolerance = 1e-12;
    tanx_ffi_float64(frame, "tolerance", &tolerance);
    if (mean->dtype != TANX_FLOAT32 || eccentricity->dtype != TANX_FLOAT32)
        return tanx_ffi_fail(frame, TANX_UNIMPLEMENTED, "kepler takes float32");
    if (tanx_ffi_count(mean) != tanx_ffi_count(eccentricity))
        return tanx_ffi_fail(frame, TANX_INVALID_ARGUMENT, "kepler takes arrays of one size");
    const float *m = mean->data, *e = eccentricity->data;
    for (int64_t i = 0; i < tanx_ffi_count(mean); i++) {
        if (!(e[i] >= 0 && e[i] < 1))
            return tanx_ffi_fail(frame, TANX_INVALID_ARGUMENT, "eccentricity outside of [0, 1)");
        double x = m[i] + e[i] * sin(m[i]);
        for (int step = 0; step < 50; step++) {
            double change = (x - e[i] * sin(x) - m[i]) / (1 - e[i] * cos(x));
            x -= change;
            if (fabs(change) < tolerance) break;
        }
        ((float *)out->data)[i] = (float)x;
    }
    return NULL;
}

/* -- what a frame says ------------------------------------------------------------------------- */

/* Writes facts about operands, then results: dtype, rank, dimensions. */
TANX_FFI_HANDLER(facts) {
    int64_t *at = tanx_ffi_ret(frame, 0)->data;
    memset(at, 0, 8 * tanx_ffi_count(tanx_ffi_ret(frame, 0)));
    for (int64_t i = 0; i < frame->args.size + frame->rets.size; i++) {
        const tanx_ffi_buffer *b = i < frame->args.size ? tanx_ffi_arg(frame, i)
                                                        : tanx_ffi_ret(frame, i - frame->args.size);
        *at++ = b->dtype;
        *at++ = b->rank;
        for (int64_t d = 0; d < b->rank; d++) *at++ = b->dims[d];
    }
    return NULL;
}

/* The sum of all numbers among attributes, as far down as they are nested. */
static double sum(const tanx_ffi_attributes *attrs) {
    double total = 0;
    for (int64_t i = 0; i < attrs->size; i++) {
        const void *item = attrs->items[i];
        if (attrs->kinds[i] == TANX_DICT) total += sum(item);
        if (attrs->kinds[i] == TANX_STRING) total += ((const tanx_ffi_text *)item)->size;
        if (attrs->kinds[i] == TANX_ARRAY) {
            const tanx_ffi_array *a = item;
            for (size_t k = 0; k < a->size; k++)
                total += a->dtype == TANX_INT64 ? ((const int64_t *)a->data)[k]
                                                : ((const float *)a->data)[k];
        }
        if (attrs->kinds[i] == TANX_SCALAR) {
            const tanx_ffi_scalar *s = item;
            total += s->dtype == TANX_FLOAT64 ? *(const double *)s->value
                   : s->dtype == TANX_FLOAT32 ? *(const float *)s->value
                   : s->dtype == TANX_INT64 ? *(const int64_t *)s->value
                   : s->dtype == TANX_INT32 ? *(const int32_t *)s->value
                   : *(const uint8_t *)s->value;
        }
    }
    return total;
}

TANX_FFI_HANDLER(sum_of_attributes) {
    *(float *)tanx_ffi_ret(frame, 0)->data = (float)sum(&frame->attrs);
    return NULL;
}

/* Copies the bytes of the operand. */
TANX_FFI_HANDLER(copy) {
    size_t each = 0;
    tanx_ffi_int64(frame, "itemsize", (int64_t *)&each);
    memcpy(tanx_ffi_ret(frame, 0)->data, tanx_ffi_arg(frame, 0)->data,
           each * tanx_ffi_count(tanx_ffi_arg(frame, 0)));
    return NULL;
}

/* Adds one to the result, which must have the memory of the operand. */
TANX_FFI_HANDLER(increment) {
    float *y = tanx_ffi_ret(frame, 0)->data;
    if (tanx_ffi_arg(frame, 0)->data != y)
        return tanx_ffi_fail(frame, TANX_FAILED_PRECONDITION, "the memory is not shared");
    for (int64_t i = 0; i < tanx_ffi_count(tanx_ffi_ret(frame, 0)); i++) y[i] += 1;
    return NULL;
}

static long calls;

TANX_FFI_HANDLER(counted) {
    __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    *(float *)tanx_ffi_ret(frame, 0)->data = *(const float *)tanx_ffi_arg(frame, 0)->data;
    return NULL;
}

long count_of_calls(void) { return calls; }

TANX_FFI_HANDLER(slow) {
    usleep(2000);
    *(float *)tanx_ffi_ret(frame, 0)->data = *(const float *)tanx_ffi_arg(frame, 0)->data + 1;
    return NULL;
}

void twice(void *out, const void **in) { *(float *)out = 2 * *(const float *)in[0]; }

void both(void **out, const void **in) {
    *(float *)out[0] = *(const float *)in[1];
    *(float *)out[1] = *(const float *)in[0];
}

/* -- the functions that a frame offers, by their place in the table ---------------------------- */

typedef tanx_ffi_error *(*offered)(void *);
enum { STATE_SET = 7, STATE_GET = 8, ALLOCATE = 9, RELEASE = 10, SCHEDULE = 11, THREADS = 12,
       FUTURE = 13, AVAILABLE = 14, FAILED = 15, ORDINAL = 17 };

static offered function(const tanx_ffi_frame *frame, int number) {
    return (&((const offered *)&frame->api->new_error)[0])[number];
}

int64_t state_type = 0;
static long states_alive;

static void drop_state(void *state) { free(state); states_alive--; }

struct { size_t size; void *extension; void (*drop)(void *); } state_info = {24, NULL, drop_state};

long count_of_states(void) { return states_alive; }

struct state { size_t size; void *extension, *context; int32_t stage; int64_t *type; void *state; };

/* Keeps the attribute "start" as a state, once for each program. */
TANX_FFI_HANDLER(begin) {
    int64_t *state = malloc(sizeof *state);
    if (!tanx_ffi_int64(frame, "start", state)) {
        free(state);
        return tanx_ffi_fail(frame, TANX_INVALID_ARGUMENT, "there is no start");
    }
    states_alive++;
    struct state args = {48, NULL, frame->context, 0, &state_type, state};
    return function(frame, STATE_SET)(&args);
}

/* Gives the state, and counts it up. */
TANX_FFI_HANDLER(count) {
    struct state args = {48, NULL, frame->context, 0, &state_type, NULL};
    tanx_ffi_error *error = function(frame, STATE_GET)(&args);
    if (error) return error;
    *(int32_t *)tanx_ffi_ret(frame, 0)->data = (int32_t)(*(int64_t *)args.state)++;
    return NULL;
}

struct memory { size_t size; void *extension, *context; size_t bytes, alignment; void *data; };
struct release { size_t size; void *extension, *context; size_t bytes; void *data; };
struct task { size_t size; void *extension, *context; void (*run)(void *); void *data; };
struct threads { size_t size; void *extension, *context; int64_t *count; };
struct ordinal { size_t size; void *extension, *context; int32_t ordinal; };

static void add_one(void *data) { *(float *)data += 1; }

/* Uses memory of the runtime's and its threads: the operand plus two. */
TANX_FFI_HANDLER(offers) {
    struct memory memory = {48, NULL, frame->context, 1000, 64, NULL};
    tanx_ffi_error *error = function(frame, ALLOCATE)(&memory);
    if (error) return error;
    float *x = memory.data;
    *x = *(const float *)tanx_ffi_arg(frame, 0)->data;
    struct task task = {40, NULL, frame->context, add_one, x};
    function(frame, SCHEDULE)(&task);
    int64_t count = 0;
    struct threads threads = {32, NULL, frame->context, &count};
    function(frame, THREADS)(&threads);
    struct ordinal ordinal = {28, NULL, frame->context, 7};
    function(frame, ORDINAL)(&ordinal);
    *(float *)tanx_ffi_ret(frame, 0)->data = *x + (float)count + (float)ordinal.ordinal;
    struct release release = {40, NULL, frame->context, 1000, x};
    error = function(frame, RELEASE)(&release);
    if (error) return error;
    return (uintptr_t)memory.data % 64 ? tanx_ffi_fail(frame, TANX_INTERNAL, "alignment") : NULL;
}

/* Asks for something that there is not: the error is the runtime's own. */
TANX_FFI_HANDLER(refused) {
    int64_t number = 0;
    tanx_ffi_int64(frame, "function", &number);
    int64_t args[8] = {48, 0, (int64_t)frame->context, 0, 4096, 0, 0, 0};
    return function(frame, (int)number)(args);
}

/* Computes its result in a thread of its own, which ends a future. */
struct later { tanx_ffi_frame frame; float *out, value; void *future; };
struct future { size_t size; void *extension; void *future; tanx_ffi_error *error; };

static void *run_later(void *given) {
    struct later *later = given;
    usleep(1000);
    struct future args = {32, NULL, later->future, NULL};
    if (later->value < 0) {
        args.error = tanx_ffi_fail(&later->frame, TANX_OUT_OF_RANGE, "too late");
        function(&later->frame, FAILED)(&args);
    } else {
        *later->out = later->value + 1;
        function(&later->frame, AVAILABLE)(&args);
    }
    free(later);
    return NULL;
}

TANX_FFI_HANDLER(in_future) {
    struct later *later = malloc(sizeof *later);
    struct future args = {24, NULL, NULL, NULL};
    function(frame, FUTURE)(&args);
    later->frame = *frame;
    later->out = tanx_ffi_ret(frame, 0)->data;
    later->value = *(const float *)tanx_ffi_arg(frame, 0)->data;
    frame->future = later->future = args.future;
    pthread_t thread;
    pthread_create(&thread, NULL, run_later, later);
    pthread_detach(thread);
    return NULL;
}
