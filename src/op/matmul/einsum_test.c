/* einsum against plain loops over all subscripts, its gradients against differences, and subscripts of every wrong kind. */
#include "check.h"

#include "op/operator_fixture.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 4 };

/* Subscripts without blanks or ellipsis, with an arrow; of so many inputs. */
typedef struct sample {
    const char *subscripts;
    int count;
    hk_dims shapes[MOST];
} sample;

#define DIMS(...)                                                                                  \
    {                                                                                              \
        .ndim = sizeof((int64_t[]){__VA_ARGS__}) / 8, .dims = { __VA_ARGS__ }                      \
    }
static const sample samples[] = {
    {"ij,jk->ik", 2, {DIMS(3, 4), DIMS(4, 5)}},
    {"ij,kj->ki", 2, {DIMS(3, 4), DIMS(5, 4)}},
    {"bij,bjk->bik", 2, {DIMS(2, 3, 4), DIMS(2, 4, 2)}},
    {"bhqd,bhkd->bhqk", 2, {DIMS(2, 2, 3, 4), DIMS(2, 2, 5, 4)}},
    {"i,i->", 2, {DIMS(5), DIMS(5)}},
    {"i,j->ji", 2, {DIMS(3), DIMS(4)}},
    {"ii->i", 1, {DIMS(4, 4)}},
    {"ii->", 1, {DIMS(4, 4)}},
    {"iij->ji", 1, {DIMS(3, 3, 2)}},
    {"ijk->kij", 1, {DIMS(2, 3, 4)}},
    {"ijk->j", 1, {DIMS(2, 3, 4)}},
    {"ij,jk,kl->il", 3, {DIMS(2, 3), DIMS(3, 4), DIMS(4, 2)}},
    {"ij,ij,ij->i", 3, {DIMS(3, 4), DIMS(3, 4), DIMS(3, 4)}},
    {"ij,j->i", 2, {DIMS(3, 1), DIMS(4)}},
    {"ij,ij->ij", 2, {DIMS(3, 1), DIMS(1, 4)}},
    {"ii,i,jj->ij", 3, {DIMS(3, 3), DIMS(3), DIMS(2, 2)}},
    {"ijl,kl->", 2, {DIMS(2, 3, 2), DIMS(4, 2)}},
    {"ab,cd,ef,ac->be", 4, {DIMS(2, 2), DIMS(3, 2), DIMS(2, 2), DIMS(2, 3)}},
    {"ij,jk->ik", 2, {DIMS(3, 0), DIMS(0, 2)}},
    {",ij->ji", 2, {{.ndim = 0}, DIMS(2, 3)}},
};

/* ---- plain loops ---- */

/* A value of each letter. */
typedef struct place {
    int64_t at[128], size[128];
} place;

static int64_t index_of(const place *at, const char *term, int length, const hk_dims *shape)
{
    int64_t index = 0;
    for (int i = 0; i < length; i++) {
        const int64_t size = shape ? shape->dims[i] : at->size[(int)term[i]];
        index = index * size + (size == 1 ? 0 : at->at[(int)term[i]]);
    }
    return index;
}

static double term_product(const sample *of, const place *at, double *const *values)
{
    double product = 1;
    const char *term = of->subscripts;
    for (int i = 0; i < of->count; i++) {
        const int length = of->shapes[i].ndim;
        product *= values[i][index_of(at, term, length, &of->shapes[i])];
        term += length + 1;
    }
    return product;
}

/* The next place; false after the last. */
static bool step(place *at)
{
    for (int c = 'z'; c >= 'a'; c--) {
        if (++at->at[c] < at->size[c])
            return true;
        at->at[c] = 0;
    }
    return false;
}

static bool begin(const sample *of, place *at)
{
    bool any = true;
    const char *term = of->subscripts;
    memset(at, 0, sizeof *at);
    for (int c = 'a'; c <= 'z'; c++)
        at->size[c] = 1;
    for (int i = 0; i < of->count; i++) {
        for (int j = 0; j < of->shapes[i].ndim; j++) {
            const int64_t size = of->shapes[i].dims[j];
            any &= size > 0;
            if (size != 1)
                at->size[(int)term[j]] = size;
        }
        term += of->shapes[i].ndim + 1;
    }
    return any;
}

/* The weighted sum of the result's elements, or the elements themselves. */
static double plainly(const sample *of, double *const *values, const double *weights, double *out)
{
    const char *result = strchr(of->subscripts, '>') + 1;
    const int length = (int)strlen(result);
    double sum = 0;
    place at;
    if (begin(of, &at)) {
        do {
            const int64_t index = index_of(&at, result, length, NULL);
            const double product = term_product(of, &at, values);
            sum += weights ? weights[index] * product : 0;
            if (out)
                out[index] += product;
        } while (step(&at));
    }
    return sum;
}

static int64_t size_of(const hk_dims *shape)
{
    int64_t size = 1;
    for (int i = 0; i < shape->ndim; i++)
        size *= shape->dims[i];
    return size;
}

/* ---- what is tested ---- */

static void test_gradients(const sample *of, hk_array **inputs, double *const *values, hk_array *y,
                           hk_array *weights)
{
    double *w = read_doubles(weights);
    CHECK(hk_ok(hk_backward_from(y, weights)));
    for (int i = 0; i < of->count; i++) {
        double *gradient = read_doubles(hk_grad(inputs[i]));
        for (int64_t j = 0; j < size_of(&of->shapes[i]); j++) {
            const double kept = values[i][j];
            values[i][j] = kept + 0.5;
            const double above = plainly(of, values, w, NULL);
            values[i][j] = kept - 0.5;
            const double below = plainly(of, values, w, NULL);
            values[i][j] = kept; /* linear in each element but those of a diagonal */
            CHECK(fabs(gradient[j] - (above - below)) < 1e-9);
        }
        free(gradient);
    }
    free(w);
}

static void test_sample(const sample *of)
{
    HK_SCOPE;
    hk_array *inputs[MOST];
    double *values[MOST];
    for (int i = 0; i < of->count; i++) {
        inputs[i] = random_numbers(of->shapes[i], HK_F64);
        values[i] = read_doubles(inputs[i]);
        hk_attach_grad(inputs[i], HK_GRAD_WRITE);
    }
    hk_record_begin();
    hk_array *y = hk_einsum(of->subscripts, inputs, of->count);
    hk_record_end();
    double *got = read_doubles(y), *wanted = calloc((size_t)hk_size(y) + 1, sizeof *wanted);
    plainly(of, values, NULL, wanted);
    const hk_dims shape = hk_dims_get(y);
    CHECK(shape.ndim == (int)strlen(strchr(of->subscripts, '>') + 1));
    for (int64_t i = 0; i < hk_size(y); i++)
        CHECK(got[i] == wanted[i]);
    test_gradients(of, inputs, values, y, random_numbers(shape, HK_F64));
    for (int i = 0; i < of->count; i++)
        free(values[i]);
    free(wanted);
    free(got);
}

static bool same(hk_array *x, hk_array *y)
{
    return hk_item(hk_all(hk_equal(x, y), NULL), NULL) == 1 && hk_ndim(x) == hk_ndim(y);
}

/* Blanks, capitals, an ellipsis, and what is meant without an arrow. */
static void test_forms(void)
{
    HK_SCOPE;
    hk_array *x = random_numbers(hk_shape(2, 3, 4), HK_F64),
             *m = random_numbers(hk_shape(4, 5), HK_F64);
    hk_array *v = random_numbers(hk_shape(4), HK_F64);
    hk_array *const both[] = {x, m}, *const vector[] = {x, v};
    CHECK(same(hk_einsum(" ...i , ij -> ...j ", both, 2), hk_matmul(x, m)));
    CHECK(same(hk_einsum("...i,ij", both, 2), hk_matmul(x, m)));
    CHECK(same(hk_einsum("...,...->...", vector, 2), hk_multiply(x, v)));
    CHECK(same(hk_einsum("...i,...i->...", vector, 2), hk_matmul(x, v)));
    CHECK(same(hk_einsum("i...->...", &x, 1), hk_sum(x, &(hk_sum_options){.axes = hk_shape(0)})));
    CHECK(same(hk_einsum("bca", &x, 1), hk_permute_dims(x, hk_shape(2, 0, 1))));
    CHECK(same(hk_einsum("aBc", &x, 1), hk_permute_dims(x, hk_shape(1, 0, 2))));
    CHECK(same(hk_einsum("->", &(hk_array *){hk_index(v, 0, 1)}, 1), hk_index(v, 0, 1)));
    CHECK(same(hk_einsum("", &(hk_array *){hk_index(v, 0, 1)}, 1), hk_index(v, 0, 1)));
}

static void test_dtypes(void)
{
    HK_SCOPE;
    hk_device device = {NULL};
    hk_array *x = hk_full(hk_shape(3), 100, HK_I8, device);
    hk_array *y = hk_full(hk_shape(3), 3, HK_I8, device);
    hk_array *sum = hk_einsum("i,i", (hk_array *[]){x, y}, 2);
    CHECK(hk_array_dtype(sum) == HK_I8 && hk_item(sum, NULL) == (int8_t)900);
    sum = hk_einsum("i,i", (hk_array *[]){hk_cast(x, HK_U8), hk_cast(y, HK_U8)}, 2);
    CHECK(hk_array_dtype(sum) == HK_U8 && hk_item(sum, NULL) == (uint8_t)900);
    const uint64_t big[] = {UINT64_MAX, UINT64_MAX - 5, 3};
    uint64_t product = 0;
    hk_array *large = hk_from_host(big, hk_shape(3), HK_U64, device);
    sum = hk_einsum("i,i", (hk_array *[]){large, large}, 2);
    CHECK(hk_ok(hk_to_host(sum, &product, sizeof product)) && product == 1 + 36 + 9);
    x = hk_full(hk_shape(2, 3), 3, HK_F16, device);
    sum = hk_einsum("ij,j->i", (hk_array *[]){x, hk_cast(y, HK_F16)}, 2);
    CHECK(hk_array_dtype(sum) == HK_F16 && hk_item(hk_index(sum, 0, 1), NULL) == 27);
    sum = hk_einsum("ij,j->i", (hk_array *[]){hk_cast(x, HK_F32), hk_cast(y, HK_F64)}, 2);
    CHECK(hk_array_dtype(sum) == HK_F64);
    CHECK(hk_array_dtype(hk_einsum("ij->", &(hk_array *){hk_cast(x, HK_U8)}, 1)) == HK_U8);
    CHECK(fails_with(hk_einsum("ij", &(hk_array *){hk_cast(x, HK_BOOL)}, 1), HK_UNSUPPORTED,
                     "operand 0 is bool"));
    CHECK(is_refused(hk_einsum("ij,j", (hk_array *[]){x, y}, 2), "no dtype of one kind"));
    hk_failures_clear();
}

static void test_refusals(void)
{
    static const struct {
        const char *subscripts, *text;
    } wrong[] = {
        {"ij", "are of 1 operands, but there are 2"},
        {"ij,jk,kl", "are of 3 operands"},
        {"ij,j", "name 1 axes of operand 1, which has 2"},
        {"ijk,jk", "name 3 axes of operand 0"},
        {"i...jk,jk", "name 3 axes of operand 0 beside an ellipsis"},
        {"i..,jk", "an ellipsis has three points"},
        {"......,jk", "has an ellipsis already"},
        {"i1,jk", "character 1 of subscripts is '1'"},
        {"i\x1b,jk", "is of code 27"},
        {"ij,jk->i->k", "character 8 of subscripts is '-'"},
        {"ij,jk-", "character 5 of subscripts is '-'"},
        {"ij,jk->iz", "'z' follows the arrow, but no operand"},
        {"ij,jk->ii", "'i' follows the arrow twice"},
        {"ij,...k->i", "not what follows the arrow"},
        {"ij,ik", "axis 0 of operand 1 has 3 entries"},
        {"ii,jk", "axes 0 and 1 of operand 0, of one letter, have 2 and 3 entries"},
        {"abcdefghi,jk", "has 8 letters already"},
        {"ij,jk->abcdefghij", "has 8 letters already"},
    };
    HK_SCOPE;
    hk_device device = {NULL};
    hk_array *both[] = {hk_ones(hk_shape(2, 3), HK_F32, device),
                        hk_ones(hk_shape(3, 4), HK_F32, device)};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(is_refused(hk_einsum(wrong[i].subscripts, both, 2), wrong[i].text));
    CHECK(is_refused(hk_einsum(NULL, both, 2), "subscripts is NULL"));
    CHECK(is_refused(hk_einsum("", NULL, 0), "count is 0"));
    CHECK(is_refused(hk_einsum("ij,jk", (hk_array *[]){both[0], NULL}, 2), "operand 1 is NULL"));
    hk_array *many[] = {hk_ones(hk_shape(1, 1, 1, 1, 1), HK_F32, device),
                        hk_ones(hk_shape(1, 1, 1, 1), HK_F32, device)};
    CHECK(is_refused(hk_einsum("abcde,fghi", many, 2), "more than 8 axes"));
    CHECK(fails_with(hk_einsum("abcde,fghi,fghi->", (hk_array *[]){many[0], many[1], many[1]}, 3),
                     HK_OK, ""));
    hk_failures_clear();
}

/* Gradients of what is refused fail, and the first failure stays. */
static void test_failures(void)
{
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(2), HK_F32, (hk_device){NULL});
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_einsum("ij", &x, 1);
    hk_record_end();
    hk_backward(y);
    CHECK(fails_with(hk_grad(x), HK_INVALID_ARGUMENT, "name 2 axes"));
    CHECK(
        fails_with(hk_einsum("i,i", (hk_array *[]){x, y}, 2), HK_INVALID_ARGUMENT, "name 2 axes"));
    hk_failures_clear();
}

int main(void)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        test_sample(&samples[i]);
    test_forms();
    test_dtypes();
    test_refusals();
    test_failures();
    return check_result();
}
