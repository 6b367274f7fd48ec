/* Random arrays from Philox4x32-10: streams, their positions, and the operators that turn words into
 * numbers. The public functions are in hocket/random.h; the operators are internal, because a position is
 * given out at the call. */
#include "op/random/random.h"
#include "op/random/random_stream.h"

#include "base/integer_dtypes.h"
#include "op/op.h"
#include "op/random/random_fill.h"
#include "op/random/random_numbers.h"

#include <hocket/random.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

HKI_ARGUMENTS_TABLE(random_uniform, UNIFORM_ARGUMENTS)
HKI_ARGUMENTS_TABLE(random_normal, NORMAL_ARGUMENTS)
HKI_ARGUMENTS_TABLE(random_int, INT_ARGUMENTS)

/* ---- words --------------------------------------------------------------------------------------------- */

enum { GRAIN = 64, BATCH = 32 };

/* Elements that one counter makes. Positions and grain are such that no element depends on pieces. */
static int64_t elements_per_block(hk_dtype dtype)
{
    return dtype == HK_F32 ? 4 : 2;
}

static int64_t block_count(const hk_dims *shape, hk_dtype dtype)
{
    const int64_t per_block = elements_per_block(dtype);
    int64_t size;
    if (!hki_dims_size(shape, &size))
        return 0; /* the call will be refused */
    return size / per_block + (size % per_block != 0);
}

/* The words of `count` blocks from `block` on. */
static void draw(const hki_stream_options *options, uint64_t block, int64_t count,
                 uint32_t words[BATCH][4])
{
    hki_random_fill_words(options->seed, options->stream, options->position + block, count,
                          words[0]);
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

static void uniform_block(const hki_kernel_call *call, const uint32_t words[4], void *out)
{
    const hki_random_uniform_options *options = call->options;
    if (call->out[0].dtype == HK_F32)
        hki_random_uniform_f32(options->low, options->high, words, out);
    else
        hki_random_uniform_f64(options->low, options->high, words, out);
}

static void normal_block(const hki_kernel_call *call, const uint32_t words[4], void *out)
{
    const hki_random_normal_options *options = call->options;
    if (call->out[0].dtype == HK_F32)
        hki_random_normal_f32(options->mean, options->std, words, out);
    else
        hki_random_normal_f64(options->mean, options->std, words, out);
}

static void int_block(const hki_kernel_call *call, const uint32_t words[4], void *out)
{
    const hki_random_int_options *options = call->options;
    const uint64_t low = (uint64_t)options->low, range = (uint64_t)options->last - low + 1;
    int64_t values[2];
    hki_random_int(low, range, words, values);
    for (int i = 0; i < 2; i++) {
        switch (call->out[0].dtype) {
#define STORE(dtype, name, T, least, most)                                                         \
    case dtype:                                                                                    \
        ((T *)out)[i] = (T)values[i];                                                              \
        break;
            HKI_EACH_INTEGER(STORE)
#undef STORE
        default:
            break;
        }
    }
}

static void uniform_floats(const hki_kernel_call *call, const uint32_t *words, int64_t count,
                           float *out)
{
    const hki_random_uniform_options *options = call->options;
    hki_random_fill_uniform_f32(options->low, options->high, words, count, out);
}

static void normal_floats(const hki_kernel_call *call, const uint32_t *words, int64_t count,
                          float *out)
{
    const hki_random_normal_options *options = call->options;
    hki_random_fill_normal_f32(options->mean, options->std, words, count, out);
}

/* What sets the operators apart; hk_op.data: a block of elements from the words of one counter; optionally of float32 an element
 * from each of many words, the same; and the cost of one. */
typedef struct distribution {
    void (*make)(const hki_kernel_call *call, const uint32_t words[4], void *out);
    void (*floats)(const hki_kernel_call *call, const uint32_t *words, int64_t count, float *out);
    double ns;
} distribution;

static const distribution uniform_distribution = {uniform_block, uniform_floats, 1.5};
static const distribution normal_distribution = {normal_block, normal_floats, 5};
static const distribution int_distribution = {int_block, NULL, 5};

/* begin is a multiple of GRAIN; the last block may make more elements than there are. */
static void random_cpu(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hk_dtype dtype = call->out[0].dtype;
    const int64_t per_block = elements_per_block(dtype), item = (int64_t)hk_dtype_bytes(dtype);
    const distribution *of = call->op->data;
    char *out = call->out[0].data;
    uint32_t words[BATCH][4];
    (void)piece;
    for (int64_t at = begin; at < end;) {
        int64_t blocks = (end - at + per_block - 1) / per_block;
        blocks = blocks < BATCH ? blocks : BATCH;
        draw(call->options, (uint64_t)(at / per_block), blocks, words);
        int64_t done = 0;
        if (of->floats && dtype == HK_F32) {
            done = (end - at) / per_block < blocks ? (end - at) / per_block : blocks;
            of->floats(call, words[0], done * per_block, (float *)(void *)(out + at * item));
            at += done * per_block;
        }
        for (int64_t i = done; i < blocks; i++, at += per_block) {
            if (end - at >= per_block) {
                of->make(call, words[i], out + at * item);
                continue;
            }
            union {
                float f32[4];
                double f64[2];
                int64_t i64[2];
            } rest;
            of->make(call, words[i], &rest);
            for (int64_t byte = 0; byte < (end - at) * item; byte++)
                out[at * item + byte] = ((const char *)&rest)[byte];
        }
    }
}

static void plan(const hki_call *call, hki_plan *plan)
{
    const distribution *of = call->op->data;
    plan->grain = GRAIN;
    plan->work_ns = (double)plan->extent * of->ns;
}

/* ---- checks -------------------------------------------------------------------------------------------- */

static bool infer_common(hki_call *call)
{
    const hki_stream_options *options = call->options;
    call->out_shape[0] = options->shape;
    call->out_dtype[0] = options->dtype;
    return true;
}

static bool check_float(hki_call *call)
{
    const hk_dtype dtype = ((const hki_stream_options *)call->options)->dtype;
    if (dtype == HK_F32 || dtype == HK_F64)
        return infer_common(call);
    return hki_call_refuse(
        call, HK_INVALID_ARGUMENT,
        "dtype is %s, but may be float32 or float64; hk_random_int makes integers",
        hk_dtype_name(dtype));
}

static bool uniform_infer(hki_call *call)
{
    const hki_random_uniform_options *options = call->options;
    if (!(options->low < options->high) || !isfinite(options->high - options->low))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "low is %g and high is %g; low must be less than high, and their "
                               "difference finite",
                               options->low, options->high);
    if (options->dtype == HK_F32 &&
        !((float)options->low < (float)options->high && isfinite((float)options->low) &&
          isfinite((float)options->high)))
        return hki_call_refuse(
            call, HK_INVALID_ARGUMENT,
            "low is %.17g and high is %.17g, which float32 does not tell apart, or "
            "does not reach; float64 does",
            options->low, options->high);
    return check_float(call);
}

static hk_number number_of_bits(int64_t bits, bool is_unsigned)
{
    return is_unsigned ? hk_number_of_uint((uint64_t)bits) : hk_number_of_int(bits);
}

static const char *range_of(hk_dtype dtype)
{
    switch (dtype) {
    case HK_I8:
        return "-128 … 127";
    case HK_I16:
        return "-32768 … 32767";
    case HK_I32:
        return "-2147483648 … 2147483647";
    case HK_I64:
        return "-9223372036854775808 … 9223372036854775807";
    case HK_U8:
        return "0 … 255";
    case HK_U16:
        return "0 … 65535";
    case HK_U32:
        return "0 … 4294967295";
    default:
        return "0 … 18446744073709551615";
    }
}

static void describe_bits(int64_t bits, bool is_unsigned, char *text, size_t bytes)
{
    hki_number_describe(number_of_bits(bits, is_unsigned), text, bytes);
}

static bool normal_infer(hki_call *call)
{
    const hki_random_normal_options *options = call->options;
    if (!isfinite(options->mean) || !isfinite(options->std) || options->std < 0)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "mean is %g and std is %g; both must be finite, and std at least 0",
                               options->mean, options->std);
    return check_float(call);
}

/* Numbers were in order at the call. */
static bool int_infer(hki_call *call)
{
    const hki_random_int_options *options = call->options;
    const bool is_above = options->is_unsigned;
    const int64_t low = options->low, last = options->last;
    if (!hki_dtype_is_integer(options->dtype))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "dtype is %s, but must be of integers",
                               hk_dtype_name(options->dtype));
    if (!hk_number_fits(number_of_bits(low, is_above), options->dtype) ||
        !hk_number_fits(number_of_bits(last, is_above), options->dtype)) {
        char lowest[32], highest[32];
        describe_bits(low, is_above, lowest, sizeof lowest);
        describe_bits(last, is_above, highest, sizeof highest);
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "numbers are to be from %s to %s; %s holds %s", lowest, highest,
                               hk_dtype_name(options->dtype), range_of(options->dtype));
    }
    return infer_common(call);
}

/* ---- streams ------------------------------------------------------------------------------------------- */

struct hk_generator {
    atomic_uint refs;
    uint64_t seed, stream;
    _Atomic(uint64_t) position;
};

/* Stands for a generator that there was no memory for; counting it is harmless. */
static hk_generator no_generator;

/* This thread's stream. Streams of unseeded threads differ in the number. */
typedef struct thread_stream {
    bool begun;
    uint64_t seed, stream, position;
} thread_stream;

static _Thread_local thread_stream own_stream;
static _Atomic(uint32_t) next_stream;

void hk_seed(uint64_t seed)
{
    hki_array_uncapturable("seed", "replays go on with the stream of the thread that issues them");
    own_stream = (thread_stream){.begun = true, .seed = seed};
}

hk_generator *hk_generator_create(uint64_t seed)
{
    hk_generator *generator = malloc(sizeof *generator);
    if (!generator)
        return &no_generator;
    atomic_init(&generator->refs, 1);
    generator->seed = seed;
    generator->stream = 0;
    atomic_init(&generator->position, 0);
    return generator;
}

hk_generator *hk_generator_retain(hk_generator *generator)
{
    atomic_fetch_add_explicit(&generator->refs, 1, memory_order_relaxed);
    return generator;
}

void hk_generator_release(hk_generator *generator)
{
    if (!generator || generator == &no_generator)
        return;
    if (atomic_fetch_sub_explicit(&generator->refs, 1, memory_order_acq_rel) == 1)
        free(generator);
}

static thread_stream *get_own(void)
{
    thread_stream *own = &own_stream;
    if (!own->begun) {
        own->begun = true;
        own->stream = atomic_fetch_add_explicit(&next_stream, 1, memory_order_relaxed);
    }
    return own;
}

hk_generator_state hk_generator_get_state(hk_generator *generator)
{
    if (generator)
        return (hk_generator_state){
            generator->seed, generator->stream,
            atomic_load_explicit(&generator->position, memory_order_relaxed)};
    const thread_stream *own = get_own();
    return (hk_generator_state){own->seed, own->stream, own->position};
}

void hk_generator_set_state(hk_generator *generator, hk_generator_state state)
{
    hki_array_uncapturable("generator_set_state",
                           "replays go on with the stream of the thread that issues them");
    if (generator == &no_generator)
        return;
    if (!generator) {
        own_stream = (thread_stream){true, state.seed, state.stream, state.position};
        return;
    }
    generator->seed = state.seed;
    generator->stream = state.stream;
    atomic_store_explicit(&generator->position, state.position, memory_order_relaxed);
}

static hk_generator *generator_of(const hki_stream_options *options)
{
    return (hk_generator *)(uintptr_t)options->generator;
}

void hki_stream_take(hki_stream_options *options)
{
    const uint64_t count = (uint64_t)block_count(&options->shape, options->dtype);
    hk_generator *generator = generator_of(options);
    if (generator) {
        options->seed = generator->seed;
        options->stream = generator->stream;
        options->position =
            atomic_fetch_add_explicit(&generator->position, count, memory_order_relaxed);
        return;
    }
    thread_stream *own = get_own();
    options->seed = own->seed;
    options->stream = own->stream;
    options->position = own->position;
    own->position += count;
}

void hki_stream_retain(const hki_stream_options *options)
{
    if (options->generator)
        hk_generator_retain(generator_of(options));
}

void hki_stream_release(const hki_stream_options *options)
{
    hk_generator_release(generator_of(options));
}

static hki_stream_options take(hk_generator *generator, const hk_dims *shape, hk_dtype dtype)
{
    hki_stream_options options = {
        .shape = *shape, .dtype = dtype, .generator = (uint64_t)(uintptr_t)generator};
    hki_stream_take(&options);
    return options;
}

/* ---- public functions ------------------------------------------------------------------------------------ */

static hk_array *call_from(const hk_op *op, const hk_generator *generator, const void *options,
                           hk_device device)
{
    if (generator == &no_generator)
        return hki_array_create_failed(device.handle, op->name, NULL, 0, HK_OUT_OF_MEMORY,
                                       "there was no host memory for the generator");
    return hki_op_call(op, NULL, 0, options, device, NULL);
}

hk_array *(hk_random_uniform_from)(hk_generator *generator, double low, double high, hk_dims shape,
                                   hk_dtype dtype, hk_device device)
{
    const hki_stream_options stream = take(generator, &shape, dtype);
    const hki_random_uniform_options options = {.shape = stream.shape,
                                                .dtype = dtype,
                                                .seed = stream.seed,
                                                .stream = stream.stream,
                                                .position = stream.position,
                                                .generator = stream.generator,
                                                .low = low,
                                                .high = high};
    return call_from(&hki_op_random_uniform, generator, &options, device);
}

hk_array *(hk_random_normal_from)(hk_generator *generator, double mean, double std, hk_dims shape,
                                  hk_dtype dtype, hk_device device)
{
    const hki_stream_options stream = take(generator, &shape, dtype);
    const hki_random_normal_options options = {.shape = stream.shape,
                                               .dtype = dtype,
                                               .seed = stream.seed,
                                               .stream = stream.stream,
                                               .position = stream.position,
                                               .generator = stream.generator,
                                               .mean = mean,
                                               .std = std};
    return call_from(&hki_op_random_normal, generator, &options, device);
}

static hk_array *draw_integers(hk_generator *generator, int64_t low, int64_t last, bool is_unsigned,
                               const hk_dims *shape, hk_dtype dtype, hk_device device)
{
    const hki_stream_options stream = take(generator, shape, dtype);
    const hki_random_int_options options = {.shape = stream.shape,
                                            .dtype = dtype,
                                            .seed = stream.seed,
                                            .stream = stream.stream,
                                            .position = stream.position,
                                            .generator = stream.generator,
                                            .low = low,
                                            .last = last,
                                            .is_unsigned = is_unsigned};
    return call_from(&hki_op_random_int, generator, &options, device);
}

static hk_array *refuse_order(const char *first, hk_number low, const char *second, hk_number high,
                              const char *right, hk_device device)
{
    char texts[2][96];
    hki_number_describe(low, texts[0], sizeof texts[0]);
    hki_number_describe(high, texts[1], sizeof texts[1]);
    return hki_array_create_failed(device.handle, "random_int", NULL, 0, HK_INVALID_ARGUMENT,
                                   "%s is %s and %s is %s; %s", first, texts[0], second, texts[1],
                                   right);
}

hk_array *(hk_random_int_from)(hk_generator *generator, int64_t low, int64_t high, hk_dims shape,
                               hk_dtype dtype, hk_device device)
{
    if (low >= high)
        return refuse_order("low", hk_number_of_int(low), "high", hk_number_of_int(high),
                            "low must be less than high", device);
    return draw_integers(generator, low, high - 1, false, &shape, dtype, device);
}

static bool is_whole(hk_number number)
{
    return number.kind == HK_NUMBER_INT || number.kind == HK_NUMBER_UINT;
}

hk_array *(hk_random_between_from)(hk_generator *generator, hk_number least, hk_number most,
                                   hk_dims shape, hk_dtype dtype, hk_device device)
{
    const bool is_unsigned = most.kind == HK_NUMBER_UINT; /* above INT64_MAX */
    const bool is_ordered = least.kind == HK_NUMBER_UINT
                                ? is_unsigned && least.value.u <= most.value.u
                                : is_unsigned || least.value.i <= most.value.i;
    if (!is_whole(least) || !is_whole(most) || !is_ordered)
        return refuse_order("least", least, "most", most,
                            "both must be whole, and least not more than most", device);
    if (is_unsigned && least.kind == HK_NUMBER_INT && least.value.i < 0)
        return refuse_order("least", least, "most", most, "no dtype holds both", device);
    return draw_integers(generator, least.value.i, most.value.i, is_unsigned, &shape, dtype,
                         device);
}

hk_array *(hk_random_uniform)(hk_dims shape, hk_dtype dtype, hk_device device)
{
    return (hk_random_uniform_from)(NULL, 0, 1, shape, dtype, device);
}

hk_array *(hk_random_normal)(hk_dims shape, hk_dtype dtype, hk_device device)
{
    return (hk_random_normal_from)(NULL, 0, 1, shape, dtype, device);
}

hk_array *(hk_random_int)(int64_t low, int64_t high, hk_dims shape, hk_dtype dtype,
                          hk_device device)
{
    return (hk_random_int_from)(NULL, low, high, shape, dtype, device);
}

/* ---- for operators that draw in a way of their own ------------------------------------------------------- */

hki_stream_options hki_stream_begin(hk_generator *generator, const hk_dims *shape, hk_dtype dtype)
{
    return take(generator, shape, dtype);
}

bool hki_generator_is_there(const hk_generator *generator)
{
    return generator != &no_generator;
}

/* ---- operators ----------------------------------------------------------------------------------------- */

#define UNTESTED "random_test.c tests it"

const hk_op hki_op_random_uniform = {
    HKI_OP_NAMED(random_uniform),
    HKI_OP_PARAMS(random_uniform),
    .signature = "",
    .doc = "Uniform numbers in [low, high).",
    .internal = true,
    .draws = true,
    .infer = uniform_infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = plan,
    .kernel = {[HKI_CPU] = random_cpu},
    .no_grad_why = "it has no inputs",
    .untested = UNTESTED,
    .data = &uniform_distribution,
};

const hk_op hki_op_random_normal = {
    HKI_OP_NAMED(random_normal),
    HKI_OP_PARAMS(random_normal),
    .signature = "",
    .doc = "Normal numbers.",
    .internal = true,
    .draws = true,
    .infer = normal_infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = plan,
    .kernel = {[HKI_CPU] = random_cpu},
    .no_grad_why = "it has no inputs",
    .untested = UNTESTED,
    .data = &normal_distribution,
};

const hk_op hki_op_random_int = {
    HKI_OP_NAMED(random_int),
    HKI_OP_PARAMS(random_int),
    .signature = "",
    .doc = "Integers low ... high-1.",
    .internal = true,
    .draws = true,
    .infer = int_infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = plan,
    .kernel = {[HKI_CPU] = random_cpu},
    .no_grad_why = "it has no inputs",
    .untested = UNTESTED,
    .data = &int_distribution,
};
