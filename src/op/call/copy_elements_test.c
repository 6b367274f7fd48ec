/* Copies with axes in any order, steps of any sign and ranges of any elements give what a copy one by one gives. */
#include "op/shape/copy.h"
#include "tests/check.h"

enum { ROOM = 110000 };

static uint64_t state = 1;
static int64_t below(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 33) % n;
}

/* Axes of random sizes and order in that memory; gaps and negative steps in some. */
static hki_tensor laid_out(char *memory, hk_dtype dtype, int ndim, const int64_t *dims, bool gaps)
{
    hki_tensor x = {.dtype = dtype, .ndim = ndim, .size = 1};
    int order[3] = {0, 1, 2};
    int64_t step = 1, offset = 0;
    for (int i = ndim - 1; i > 0; i--) {
        const int j = (int)below(i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (int i = 0; i < ndim; i++) {
        const int axis = order[i];
        const bool is_back = gaps && below(4) == 0;
        x.dims[axis] = dims[axis];
        x.strides[axis] = is_back ? -step : step;
        offset += is_back ? step * (dims[axis] - 1) : 0;
        step *= dims[axis] + (gaps ? below(2) : 0);
        x.size *= dims[axis];
    }
    if (gaps && below(6) == 0) /* broadcast */
        x.strides[below(ndim)] = 0;
    CHECK(step <= ROOM / HKI_ELEMENT_BYTES);
    x.data = memory + offset * (int64_t)hk_dtype_bytes(dtype);
    return x;
}

static int64_t place_of(const hki_tensor *x, int64_t i)
{
    int64_t place = 0;
    for (int axis = x->ndim - 1; axis >= 0; axis--) {
        place += i % x->dims[axis] * x->strides[axis];
        i /= x->dims[axis];
    }
    return place * (int64_t)hk_dtype_bytes(x->dtype);
}

static void test_one(hk_dtype dtype)
{
    static char from[ROOM], to[ROOM], expected[ROOM];
    const int ndim = 1 + (int)below(3);
    const int64_t most = below(4) == 0 ? 80 : 40; /* bytes are transposed 16 by 64 at a time */
    const int64_t dims[3] = {1 + below(ndim > 2 ? 40 : most), 1 + below(ndim > 2 ? 4 : most),
                             1 + below(ndim > 2 ? 20 : 1)};
    hki_tensor in = laid_out(from, dtype, ndim, dims, true),
               out = laid_out(to, dtype, ndim, dims, false);
    for (int i = 0; i < ROOM; i++)
        from[i] = (char)below(256);
    memset(to, 9, ROOM);
    memset(expected, 9, ROOM);
    const hki_kernel_call call = {.input_count = 1, .output_count = 1, .in = &in, .out = &out};
    const int64_t begin = below(out.size), end = begin + below(out.size - begin + 1);
    for (int64_t i = begin; i < end; i++)
        memcpy(expected + ((char *)out.data - to) + place_of(&out, i),
               (char *)in.data + place_of(&in, i), hk_dtype_bytes(dtype));
    hki_copy_elements(&call, begin, end);
    CHECK(!memcmp(to, expected, ROOM));
}

int main(void)
{
    for (int round = 0; round < 3000; round++) {
        test_one(HK_U8);
        test_one(HK_F16);
        test_one(HK_F32);
        test_one(HK_I64);
        test_one(HK_C128);
    }
    return check_result();
}
