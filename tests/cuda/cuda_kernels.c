/* A GPU's kernels against the processor's, where shapes and values decide which way a kernel goes: sizes beside a
 * multiple of what it reads at once, arrays that begin in between, axes that do not join, reductions in parts, NaN, ties,
 * integers that wrap around, elements that fail a call. Conformance tests what operators mean; this, that the ways agree.
 *
 * Exact arithmetic has the same bytes; the rest is as close as stated. On the first of the GPUs. */
#include "base/half.h"
#include "check.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdlib.h>

static hk_device gpu(void)
{
    for (int i = 0; i < hk_device_count(); i++) {
        if (strcmp(hk_device_kind(hk_device_at(i)), "cuda") == 0)
            return hk_device_at(i);
    }
    return hk_device_named("cuda:0"); /* a failed device */
}

/* ---- values ------------------------------------------------------------------------------------------------- */

/* GPUs have no complex numbers, which are the last dtypes. */
enum { REAL_DTYPES = HK_C64 };

/* Small whole numbers and halves, so that sums are exact and many are equal; of floats, `special` of them are NaN. */
static hk_array *values(hk_dims shape, hk_dtype dtype, hk_device device, uint32_t seed, int special)
{
    int64_t size = 1;
    for (int i = 0; i < shape.ndim; i++)
        size *= shape.dims[i];
    size_t bytes = hk_dtype_bytes(dtype);
    char *data = malloc((size_t)size * bytes + 1);
    for (int64_t i = 0; data && i < size; i++) {
        seed = seed * 1664525u + 1013904223u;
        int number = (int)(seed >> 24) - 128;
        bool is_special = special && (seed >> 8) % 1009 < (unsigned)special;
        float f32 = is_special ? NAN : (float)number / 2;
        double f64 = is_special ? (double)NAN : (double)number / 2;
        int32_t i32 = number;
        int64_t i64 = number * INT64_C(0x100000001);
        uint8_t u8 = (uint8_t)number, truth = number & 1;
        uint16_t f16 = hki_f16_from_float(f32), bf16 = hki_bf16_from_float(f32);
        const void *from[REAL_DTYPES] = {&f32,  &f64, &i32,  &i64, &u8,  &truth, &f16,
                                         &bf16, &u8,  &bf16, &f16, &i32, &i64}; /* bits will do */
        memcpy(data + (size_t)i * bytes, from[dtype], bytes);
    }
    hk_array *x = hk_from_host(data, shape, dtype, device);
    free(data);
    return x;
}

static double value_at(const char *data, hk_dtype dtype, int64_t i)
{
    switch (dtype) {
    case HK_F32:
        return (double)((const float *)(const void *)data)[i];
    case HK_F64:
        return ((const double *)(const void *)data)[i];
    case HK_I32:
        return ((const int32_t *)(const void *)data)[i];
    case HK_I64:
        return (double)((const int64_t *)(const void *)data)[i];
    case HK_F16:
        return (double)hki_f16_to_float(((const uint16_t *)(const void *)data)[i]);
    case HK_BF16:
        return (double)hki_bf16_to_float(((const uint16_t *)(const void *)data)[i]);
    default:
        return ((const uint8_t *)data)[i];
    }
}

static bool is_close(double a, double b, double tolerance)
{
    if (isnan(a) || isnan(b) || isinf(a) || isinf(b))
        return a == b || (isnan(a) && isnan(b));
    return fabs(a - b) <= tolerance * fmax(1, fabs(b));
}

/* tolerance 0: the same bytes, where any NaN is as good as another. */
static bool agree(hk_array *x, hk_array *y, double tolerance, const char *what)
{
    const hk_dtype dtype = hk_array_dtype(y);
    const int64_t size = hk_size(y);
    const size_t bytes = (size_t)size * hk_dtype_bytes(dtype);
    char *a = malloc(bytes + 1), *b = malloc(bytes + 1);
    const hk_status *status = hk_to_host(x, a, bytes), *other = hk_to_host(y, b, bytes);
    bool good = hk_ok(status) && hk_ok(other) && hk_size(x) == size && hk_array_dtype(x) == dtype;
    if (!good)
        fprintf(stderr, "%s: %s; %s\n", what, hk_status_message(status), hk_status_message(other));
    for (int64_t i = 0; good && i < size; i++) {
        good = is_close(value_at(a, dtype, i), value_at(b, dtype, i), tolerance);
        if (!good)
            fprintf(stderr, "%s: element %lld of %lld is %.17g, expected %.17g\n", what,
                    (long long)i, (long long)size, value_at(a, dtype, i), value_at(b, dtype, i));
    }
    free(a);
    free(b);
    return good;
}

/* ---- programs, run on both ----------------------------------------------------------------------------------- */

typedef hk_array *(*program_fn)(hk_device device, const void *with);

static void compare(program_fn program, const void *with, double tolerance, const char *what)
{
    HK_SCOPE;
    hk_array *expected = program(hk_device_named("cpu:0"), with);
    hk_array *first = program(gpu(), with);
    CHECK(agree(first, expected, tolerance, what));
    /* And the same again. */
    CHECK(agree(program(gpu(), with), first, 0, what));
}

/* ---- elementwise --------------------------------------------------------------------------------------------- */

typedef struct elements {
    int64_t size, offset; /* the arrays begin `offset` elements into their memory */
    hk_dtype dtype;
} elements;

static hk_array *offset_values(const elements *with, hk_device device, hk_dtype dtype,
                               uint32_t seed)
{
    hk_array *x = values(hk_shape(with->size + with->offset), dtype, device, seed, 0);
    return hk_slice(x, 0, with->offset, with->size + with->offset);
}

static hk_array *run_elements(hk_device device, const void *argument)
{
    const elements *with = argument;
    hk_array *x = offset_values(with, device, with->dtype, 1);
    hk_array *y = offset_values(with, device, with->dtype, 2);
    hk_array *condition = hk_less(x, y);
    hk_array *z = hk_where(condition, hk_multiply(x, y), hk_maximum(hk_subtract(x, y), y));
    if (with->dtype == HK_F32)
        return hk_tanh(hk_exp(hk_multiply(hk_sigmoid(z), 0.25)));
    return hk_abs(hk_add(z, 3));
}

/* Into a slice of an array, of which the rest stays. */
static hk_array *run_into(hk_device device, const void *argument)
{
    const elements *with = argument;
    hk_array *all = hk_ones(hk_shape(with->size + 9), with->dtype, device);
    hk_array *part = hk_slice(all, 0, with->offset, with->offset + with->size);
    hk_array *x = values(hk_shape(with->size), with->dtype, device, 3, 0);
    hk_assign(part, x);
    hk_add_into(part, part, part);
    return all;
}

static void test_elements(void)
{
    const int64_t sizes[] = {1, 2, 3, 4, 15, 16, 17, 255, 256, 1024, 1027, 20011};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int64_t offset = 0; offset < 5; offset += 1 + 2 * (offset > 0)) {
            for (int dtype = 0; dtype < HK_BOOL; dtype++) {
                const elements with = {sizes[i], offset, (hk_dtype)dtype};
                char what[64];
                snprintf(what, sizeof what, "%lld elements from %lld on, %s", (long long)sizes[i],
                         (long long)offset, hk_dtype_name((hk_dtype)dtype));
                compare(run_elements, &with, 0, what);
                compare(run_into, &with, 0, what);
            }
        }
    }
}

typedef struct shapes {
    hk_dims x, y;
    bool transposed;
} shapes;

static hk_array *run_shapes(hk_device device, const void *argument)
{
    const shapes *with = argument;
    hk_array *x = values(with->x, HK_F32, device, 5, 0), *y = values(with->y, HK_F32, device, 6, 0);
    if (!with->transposed)
        return hk_add(hk_multiply(x, y), y);
    hk_array *out = hk_transpose(hk_zeros(hk_dims_get(hk_transpose(hk_add(x, y))), HK_F32, device));
    hk_subtract_into(out, x, y);
    return hk_add(hk_contiguous(out), hk_copy(hk_transpose(hk_transpose(y))));
}

static void test_shapes(void)
{
    const hk_dims pairs[][2] = {
        {hk_shape(40, 64), hk_shape(64)},
        {hk_shape(40, 64), hk_shape(40, 1)},
        {hk_shape(33, 61), hk_shape(61)},
        {hk_shape(33, 61), hk_shape(33, 1)},
        {hk_shape(33, 61), hk_shape()},
        {hk_shape(1, 61), hk_shape(33, 1)},
        {hk_shape(2, 1, 8, 1, 4), hk_shape(3, 1, 5, 1)},
        {hk_shape(8, 3, 7, 5), hk_shape(3, 1, 1)},
        {hk_shape(2, 2, 2, 2, 2, 2, 2, 2), hk_shape(2, 1, 2, 1, 2, 1, 2)},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (int transposed = 0; transposed < 2; transposed++) {
            const shapes with = {pairs[i][0], pairs[i][1], transposed};
            char what[64];
            snprintf(what, sizeof what, "pair %d of shapes%s", (int)i,
                     transposed ? ", into a transpose" : "");
            compare(run_shapes, &with, 0, what);
        }
    }
}

/* Copies of permuted arrays. */
typedef struct permutation {
    hk_dims shape, axes;
    hk_dtype dtype;
} permutation;

static hk_array *run_permutation(hk_device device, const void *argument)
{
    const permutation *with = argument;
    hk_array *x = values(with->shape, with->dtype, device, 7, 0);
    return hk_copy(hk_permute_dims(x, with->axes));
}

static void test_permutations(void)
{
    const permutation all[] = {
        {hk_shape(64, 96), hk_shape(1, 0), HK_F32},
        {hk_shape(65, 97), hk_shape(1, 0), HK_F32},
        {hk_shape(3, 1000), hk_shape(1, 0), HK_F32},
        {hk_shape(1000, 3), hk_shape(1, 0), HK_F32},
        {hk_shape(5, 40, 50), hk_shape(0, 2, 1), HK_F32},
        {hk_shape(5, 40, 50), hk_shape(2, 0, 1), HK_F32},
        {hk_shape(5, 40, 50), hk_shape(2, 1, 0), HK_F32},
        {hk_shape(6, 7, 8, 9), hk_shape(3, 1, 2, 0), HK_F32},
        {hk_shape(2, 33, 3, 35), hk_shape(0, 3, 2, 1), HK_F32},
        {hk_shape(4, 3, 32, 32), hk_shape(0, 2, 3, 1), HK_F32},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (int dtype = 0; dtype < REAL_DTYPES; dtype++) {
            permutation with = all[i];
            with.dtype = (hk_dtype)dtype;
            char what[64];
            snprintf(what, sizeof what, "permutation %d, %s", (int)i, hk_dtype_name(with.dtype));
            compare(run_permutation, &with, 0, what);
        }
    }
}

static hk_array *run_casts(hk_device device, const void *argument)
{
    const hk_dtype *dtypes = argument;
    hk_array *x = hk_abs(hk_cast(values(hk_shape(1001), HK_I32, device, 8, 0), HK_F64));
    return hk_cast(hk_cast(hk_slice(x, 0, 1, 1001), dtypes[0]), dtypes[1]);
}

static void test_casts(void)
{
    for (int from = 0; from <= HK_BF16; from++) { /* GPUs do not convert those behind */
        for (int to = 0; to <= HK_BF16; to++) {
            const hk_dtype dtypes[2] = {(hk_dtype)from, (hk_dtype)to};
            compare(run_casts, dtypes, 0, hk_dtype_name((hk_dtype)to));
        }
    }
}

/* ---- reductions ---------------------------------------------------------------------------------------------- */

typedef struct reduction {
    hk_dims shape, axes;
    hk_dtype dtype;
    int special;
    bool transposed;
} reduction;

static hk_array *reduced(hk_device device, const reduction *with)
{
    hk_array *x = values(with->shape, with->dtype, device, 11, with->special);
    return with->transposed ? hk_transpose(x) : x;
}

static hk_array *run_sum(hk_device device, const void *argument)
{
    const reduction *with = argument;
    return hk_sum(reduced(device, with), &(hk_sum_options){.axes = with->axes});
}

static hk_array *run_mean(hk_device device, const void *argument)
{
    const reduction *with = argument;
    return hk_mean(reduced(device, with), &(hk_mean_options){.axes = with->axes, .keepdims = true});
}

static hk_array *run_max(hk_device device, const void *argument)
{
    const reduction *with = argument;
    return hk_max(reduced(device, with), &(hk_max_options){.axes = with->axes});
}

static hk_array *run_min(hk_device device, const void *argument)
{
    const reduction *with = argument;
    return hk_min(reduced(device, with), &(hk_min_options){.axes = with->axes, .keepdims = true});
}

static hk_array *run_argmax(hk_device device, const void *argument)
{
    const reduction *with = argument;
    return hk_argmax(reduced(device, with), with->axes.ndim ? with->axes.dims[0] : 0);
}

/* Of max; many elements are equal to it. */
static hk_array *run_max_grad(hk_device device, const void *argument)
{
    const reduction *with = argument;
    hk_array *x = hk_contiguous(reduced(device, with));
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_max(x, &(hk_max_options){.axes = with->axes});
    hk_record_end();
    hk_backward(hk_sum(hk_multiply(y, 3), NULL));
    return hk_grad(x);
}

static void test_reductions(void)
{
    const struct {
        hk_dims shape, axes;
    } cases[] = {
        {hk_shape(40003), hk_shape()},
        {hk_shape(32768), hk_shape()},
        {hk_shape(1), hk_shape()},
        {hk_shape(7, 9001), hk_shape(1)},
        {hk_shape(7, 9001), hk_shape(0)},
        {hk_shape(7, 8192), hk_shape(1)},
        {hk_shape(9001, 7), hk_shape(0)},
        {hk_shape(9001, 7), hk_shape(1)},
        {hk_shape(100, 160), hk_shape(0)},
        {hk_shape(100, 160), hk_shape(1)},
        {hk_shape(100, 161), hk_shape()},
        {hk_shape(1500, 10), hk_shape(1)},
        {hk_shape(4, 10, 20, 20), hk_shape(0, 2, 3)},
        {hk_shape(4, 10, 21, 20), hk_shape(1, 2)},
        {hk_shape(20, 30, 60), hk_shape(1)},
        {hk_shape(3, 1, 20000), hk_shape(2)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int dtype = 0; dtype <= HK_BOOL; dtype++) {
            for (int kind = 0; kind < 3; kind++) { /* plain, with NaN, transposed */
                reduction with = {cases[i].shape, cases[i].axes, (hk_dtype)dtype, kind == 1,
                                  kind == 2};
                const bool is_real = dtype == HK_F32 || dtype == HK_F64;
                if ((kind == 1 && !is_real) || (kind == 2 && with.shape.ndim < 2))
                    continue;
                if (kind == 2) {
                    for (int axis = 0; axis < with.axes.ndim; axis++)
                        with.axes.dims[axis] = with.shape.ndim - 1 - with.axes.dims[axis];
                }
                char what[96];
                snprintf(what, sizeof what, "reduction %d, %s, kind %d", (int)i,
                         hk_dtype_name((hk_dtype)dtype), kind);
                compare(run_sum, &with, 0, what);
                compare(run_mean, &with, 0, what);
                compare(run_max, &with, 0, what);
                compare(run_min, &with, 0, what);
                compare(run_argmax, &with, 0, what);
                if (is_real)
                    compare(run_max_grad, &with, dtype == HK_F32 ? 1e-6 : 1e-14, what);
            }
        }
    }
}

/* ---- softmax ------------------------------------------------------------------------------------------------- */

static hk_array *run_softmax(hk_device device, const void *argument)
{
    const reduction *with = argument;
    hk_array *x = hk_divide(reduced(device, with), 8);
    hk_array *y = hk_softmax(x, with->axes.dims[0]);
    return hk_add(y, hk_multiply(hk_log_softmax(x, with->axes.dims[0]), 0.01));
}

static hk_array *run_cross_entropy(hk_device device, const void *argument)
{
    const reduction *with = argument;
    const int64_t rows = with->shape.dims[0], classes = with->shape.dims[1];
    hk_array *x = hk_divide(reduced(device, with), 8);
    hk_array *labels = hk_random_int_from(NULL, 0, classes, hk_shape(rows), HK_I64, device);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss = hk_softmax_cross_entropy(x, labels);
    hk_record_end();
    hk_backward(hk_sum(hk_multiply(loss, 2), NULL));
    return hk_add(hk_grad(x), hk_reshape(loss, hk_shape(rows, 1)));
}

/* With weights, smoothing and labels that are ignored. */
static hk_array *run_class_loss(hk_device device, const void *argument)
{
    const reduction *with = argument;
    const int64_t rows = with->shape.dims[0], classes = with->shape.dims[1];
    const hk_cross_entropy_loss_options options = {
        .reduction = HK_LOSS_NONE, .ignores = true, .ignored = classes - 1, .label_smoothing = 0.1};
    hk_array *x = hk_divide(reduced(device, with), 8);
    hk_array *labels = hk_random_int_from(NULL, 0, classes, hk_shape(rows), HK_I64, device);
    hk_array *weight = hk_random_uniform(hk_shape(classes), with->dtype, device);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss = hk_cross_entropy_loss(x, labels, weight, &options);
    hk_record_end();
    hk_backward(hk_sum(hk_multiply(loss, 2), NULL));
    return hk_add(hk_grad(x), hk_reshape(loss, hk_shape(rows, 1)));
}

/* By a program that draws numbers. */
static void compare_seeded(hk_array *(*run)(hk_device device, const void *argument),
                           const reduction *with, double tolerance, const char *what)
{
    HK_SCOPE;
    hk_seed(3);
    hk_array *expected = run(hk_device_named("cpu:0"), with);
    hk_seed(3);
    CHECK(agree(run(gpu(), with), expected, tolerance, what));
}

/* Lines that begin between what is read in one go have the same bytes. */
static void test_softmax_alignment(void)
{
    static const int64_t sizes[] = {3, 4, 12, 128, 1000, 6000, 8192, 9000};
    HK_SCOPE;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int dtype = HK_F32; dtype <= HK_F64; dtype++) {
            const int64_t count = 9, all = count * sizes[i];
            HK_SCOPE;
            hk_array *flat = values(hk_shape(all + 1), (hk_dtype)dtype, gpu(), 5, 0);
            hk_array *beside = hk_slice(flat, 0, 1, all + 1), *lines[2], *losses[2], *grads[2];
            hk_array *labels = hk_zeros(hk_shape(count), HK_I64, gpu());
            for (int j = 0; j < 2; j++) {
                hk_array *x = j ? hk_copy(beside) : beside;
                x = hk_reshape(x, hk_shape(count, sizes[i]));
                hk_attach_grad(x, HK_GRAD_WRITE);
                lines[j] = hk_softmax(x, 1);
                hk_record_begin();
                losses[j] = hk_softmax_cross_entropy(x, labels);
                hk_record_end();
                hk_backward(losses[j]);
                grads[j] = hk_grad(x);
            }
            CHECK(agree(lines[0], lines[1], 0, "softmax beside"));
            CHECK(agree(losses[0], losses[1], 0, "cross entropy beside"));
            CHECK(agree(grads[0], grads[1], 0, "its gradient beside"));
        }
}

static void test_softmax(void)
{
    const struct {
        hk_dims shape, axes;
    } cases[] = {
        {hk_shape(300, 10), hk_shape(1)},   {hk_shape(3, 5000), hk_shape(1)},
        {hk_shape(64, 1000), hk_shape(1)},  {hk_shape(1, 1), hk_shape(1)},
        {hk_shape(700, 2), hk_shape(0)},    {hk_shape(4, 301, 7), hk_shape(1)},
        {hk_shape(2, 5, 900), hk_shape(1)}, {hk_shape(1000, 40), hk_shape(0)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int dtype = HK_F32; dtype <= HK_F64; dtype++) {
            for (int special = 0; special < 2; special++) {
                const reduction with = {cases[i].shape, cases[i].axes, (hk_dtype)dtype, special,
                                        false};
                const double tolerance = dtype == HK_F32 ? 3e-6 : 1e-13;
                char what[64];
                snprintf(what, sizeof what, "softmax %d, %s, %d", (int)i,
                         hk_dtype_name((hk_dtype)dtype), special);
                compare(run_softmax, &with, tolerance, what);
                if (with.shape.ndim == 2) {
                    compare_seeded(run_cross_entropy, &with, tolerance, what);
                    compare_seeded(run_class_loss, &with, tolerance, what);
                }
            }
        }
    }
}

/* ---- random numbers ------------------------------------------------------------------------------------------ */

static void test_random(void)
{
    const int64_t sizes[] = {1, 2, 3, 4, 5, 1000, 1023, 40001};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        HK_SCOPE;
        const hk_device devices[2] = {hk_device_named("cpu:0"), gpu()};
        hk_array *made[2][7];
        for (int d = 0; d < 2; d++) {
            const hk_dims shape = hk_shape(sizes[i]);
            hk_seed(UINT64_C(0x123456789abcdef));
            made[d][0] = hk_random_uniform(shape, HK_F32, devices[d]);
            made[d][1] = hk_random_uniform_from(NULL, -1e30, 3e-7, shape, HK_F64, devices[d]);
            made[d][2] = hk_random_int(-5, 5, shape, HK_I32, devices[d]);
            made[d][3] = hk_random_int(INT64_MIN, INT64_MAX, shape, HK_I64, devices[d]);
            made[d][4] = hk_random_int(0, 256, shape, HK_U8, devices[d]);
            made[d][5] = hk_random_normal(shape, HK_F32, devices[d]);
            made[d][6] = hk_random_normal_from(NULL, 3, 2, shape, HK_F64, devices[d]);
        }
        /* Normals, z, are made of cos, sin and log, which are the C library's to 1 ulp and CUDA's to 2, 2 and 1: the two
         * differ by 6 ulp of z at most, and 3 + 2 z, where it is within 1 of 0, by 4 times as much. */
        for (int k = 0; k < 7; k++)
            CHECK(agree(made[1][k], made[0][k], k < 5 ? 0 : k == 5 ? 2e-7 : 6e-15, "random"));
    }
}

/* ---- what fails a call --------------------------------------------------------------------------------------- */

static hk_array *divide_by_zeros(hk_device device)
{
    hk_array *x = hk_ones(hk_shape(300, 7), HK_I32, device), *y = hk_copy(x);
    hk_assign(hk_slice(hk_slice(y, 0, 200, 300), 1, 3, 5), hk_zeros(hk_shape(), HK_I32, device));
    return hk_divide(x, y);
}

static hk_array *cast_beyond(hk_device device)
{
    return hk_cast(hk_arange(-3, 1000, 1, HK_F32, device), HK_U8);
}

static hk_array *cast_nan(hk_device device)
{
    return hk_cast(values(hk_shape(90, 91), HK_F64, device, 1, 5), HK_I64);
}

static hk_array *wrong_labels(hk_device device)
{
    hk_array *labels = hk_cast(hk_divide(hk_arange(0, 900, 1, HK_I64, device), 3), HK_I64);
    return hk_softmax_cross_entropy(hk_ones(hk_shape(900, 20), HK_F32, device), labels);
}

static hk_array *negative_labels(hk_device device)
{
    hk_array *labels = hk_subtract(hk_zeros(hk_shape(40), HK_I64, device),
                                   hk_full(hk_shape(40), 5e15, HK_I64, device));
    return hk_softmax_cross_entropy(hk_ones(hk_shape(40, 20), HK_F32, device), labels);
}

static hk_array *wrong_classes(hk_device device)
{
    hk_array *labels = hk_cast(hk_divide(hk_arange(0, 900, 1, HK_I64, device), 3), HK_I64);
    return hk_nll_loss(hk_ones(hk_shape(900, 20), HK_F64, device), labels, NULL,
                       &(hk_nll_loss_options){.ignores = true, .ignored = 20});
}

static void test_failures(void)
{
    hk_array *(*const programs[])(hk_device) = {divide_by_zeros, cast_beyond,     cast_nan,
                                                wrong_labels,    negative_labels, wrong_classes};
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        HK_SCOPE;
        const hk_status *expected = hk_wait(programs[i](hk_device_named("cpu:0")));
        const hk_status *status = hk_wait(programs[i](gpu()));
        CHECK(hk_status_code(expected) == HK_OUT_OF_RANGE);
        CHECK(hk_status_code(status) == HK_OUT_OF_RANGE);
        const char *message = hk_status_message(expected), *at = strstr(message, " at element");
        at = at ? at : strstr(message, "labels[");
        at = at ? at : strstr(message, "label ");
        char part[64];
        snprintf(part, sizeof part, "%s", at ? at : "?");
        part[strcspn(part, "],") + 1] = 0;
        if (!at || !strstr(hk_status_message(status), part)) {
            fprintf(stderr, "expected: %s\ngot: %s\n", message, hk_status_message(status));
            CHECK(false);
        }
        hk_failures_clear();
    }
    /* The smallest integer over -1 wraps around. */
    HK_SCOPE;
    const int32_t least[2] = {INT32_MIN, INT32_MIN};
    hk_array *x = hk_from_host(least, hk_shape(2), HK_I32, gpu());
    CHECK(hk_item(hk_slice(hk_divide(x, -1), 0, 1, 2), NULL) == INT32_MIN);
    CHECK(hk_item(hk_slice(hk_multiply(hk_abs(x), x), 0, 0, 1), NULL) == 0);
}

int main(void)
{
    test_elements();
    test_shapes();
    test_permutations();
    test_casts();
    test_reductions();
    test_softmax();
    test_softmax_alignment();
    test_random();
    test_failures();
    const hk_status *status = hk_wait_all();
    CHECK(hk_ok(status));
    hk_status_print(status, stderr);
    hk_runtime_deinit();
    return check_result();
}
