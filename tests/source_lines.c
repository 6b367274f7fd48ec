/* An error record names the line of the call that failed, whatever that call's arguments called. */
#include "check.h"

#include "op/op.h"

#include <hocket/hocket.h>

/* Functions of a program that are used as arguments; calls in them fail for one that is no (2,3) matrix. */
static hk_array *layer(hk_array *x)
{
    return hk_relu(hk_add(x, 1));
}

static hk_array *matrix(int64_t rows)
{
    return layer(hk_ones(hk_shape(rows, 3), HK_F32, hk_device_default()));
}

static hk_array **pair(hk_array *first, hk_array *second)
{
    static hk_array *both[2];
    both[0] = layer(first);
    both[1] = second;
    return both;
}

/* "/nowhere", after a call. */
static const char *nowhere(void)
{
    return hk_ndim(matrix(2)) == 2 ? "/nowhere" : "";
}

static int line_of(hk_array *x)
{
    const hk_status *status = hk_wait(x);
    CHECK(!hk_ok(status));
    CHECK_STR(hk_status_file(status), __FILE__);
    return hk_status_line(status);
}

#define NAMES_THIS_LINE(call) CHECK_EQ_I64(line_of(call), __LINE__)

/* Statements that fail the array x. */
#define FAILS(x, statement)                                                                        \
    do {                                                                                           \
        statement;                                                                                 \
        CHECK_EQ_I64(line_of(x), __LINE__);                                                        \
    } while (0)

static void test_results(void)
{
    HK_SCOPE;
    hk_device device = hk_device_default();
    const int64_t classes[] = {1, 2, 0};
    hk_array *labels = hk_from_host(classes, hk_shape(3), HK_I64, device);
    NAMES_THIS_LINE(hk_matmul(layer(matrix(2)), matrix(4)));
    NAMES_THIS_LINE(hk_add(matrix(2), hk_add(matrix(1), matrix(4))));
    NAMES_THIS_LINE(hk_softmax_cross_entropy(layer(matrix(2)), labels));
    NAMES_THIS_LINE(hk_sum(matrix(2), &(hk_sum_options){.axes = {1, {hk_ndim(matrix(2))}}}));
    NAMES_THIS_LINE(hk_reshape(layer(matrix(2)), hk_shape(5, hk_ndim(matrix(2)))));
    NAMES_THIS_LINE(hk_slice(layer(matrix(2)), 0, 0, 9));
    NAMES_THIS_LINE(hk_index(layer(matrix(2)), 0, 9));
    NAMES_THIS_LINE(hk_permute_dims(layer(matrix(2)), hk_shape(0, 0)));
    NAMES_THIS_LINE(hk_broadcast_to(layer(matrix(2)), hk_shape(5)));
    NAMES_THIS_LINE(hk_from_host(NULL, hk_dims_get(matrix(2)), HK_F32, device));
    NAMES_THIS_LINE(hk_random_int(3, hk_ndim(matrix(2)), hk_shape(1), HK_I32, device));
    NAMES_THIS_LINE(hk_call("matmul", pair(matrix(2), matrix(2)), 2, NULL, device));
    NAMES_THIS_LINE(hk_grad(layer(matrix(2))));

    /* The one that failed is named, whoever uses it. */
    hk_array *slice = hk_slice(layer(matrix(2)), 0, 0, 9);
    const int line = __LINE__ - 1;
    CHECK_EQ_I64(line_of(hk_add(layer(slice), matrix(2))), line);
}

static void test_in_place(void)
{
    HK_SCOPE;
    hk_array *x = matrix(2), *y = matrix(2), *z = matrix(2), *w = matrix(2), *p = matrix(2);
    FAILS(x, hk_add_into(x, layer(x), matrix(4)));
    FAILS(w, hk_write(w, &(float){1}, (size_t)hk_ndim(matrix(2))));
    FAILS(y, hk_assign(y, layer(matrix(4))));
    FAILS(z, hk_call_into("add", z, pair(matrix(2), matrix(4)), 2, NULL));
    FAILS(p, hk_sgd(&p, 1, &(hk_sgd_options){.lr = -hk_ndim(matrix(2))}));
    hk_array *arrays[] = {matrix(2), matrix(4)};
    FAILS(arrays[0], hk_all_reduce(arrays, hk_ndim(matrix(2))));
    hk_array *parts[2];
    hk_device devices[] = {hk_device_default(), hk_device_default()};
    FAILS(parts[1], hk_split_and_load(matrix(2), devices, 2, (int64_t[]){1, 7}, parts));
}

/* What is no array. */
static void test_statuses(void)
{
    HK_SCOPE;
    float value;
    const hk_status *status = hk_to_host(layer(matrix(2)), &value, sizeof value);
    CHECK_EQ_I64(hk_status_line(status), __LINE__ - 1);
    hk_item(layer(matrix(2)), &status);
    CHECK_EQ_I64(hk_status_line(status), __LINE__ - 1);
    status = hk_backward(layer(matrix(2)));
    CHECK_EQ_I64(hk_status_line(status), __LINE__ - 1);
    hk_data_set *set = hk_data_set_open(nowhere(), HK_DATA_TRAIN, NULL);
    CHECK_EQ_I64(hk_status_line(hk_data_set_status(set)), __LINE__ - 1);
    hk_loader *loader = hk_loader_create(NULL, &(hk_loader_options){.ahead = *nowhere()});
    CHECK_EQ_I64(hk_status_line(hk_loader_status(loader)), __LINE__ - 1);
    hk_loader_release(loader);
    hk_data_set_release(set);
}

/* Of a call over several lines it is one of them; each call in it has its own. */
static void test_several_lines(void)
{
    HK_SCOPE;
    hk_array *rows_of_three = matrix(2), *three_of_columns = hk_transpose(matrix(4));
    const int first = __LINE__ + 1;
    hk_array *outer = hk_matmul(hk_add(layer(rows_of_three), hk_relu(hk_negative(rows_of_three))),
                                hk_add(layer(matrix(4)), hk_relu(hk_negative(matrix(4)))));
    const int last = __LINE__ - 1;
    int line = line_of(outer);
    CHECK(line == first || line == last);

    hk_array *inner = hk_matmul(hk_add(layer(rows_of_three), hk_relu(hk_negative(rows_of_three))),
                                hk_slice(layer(three_of_columns), 0, 0, 9));
    CHECK_EQ_I64(line_of(inner), __LINE__ - 1);
}

/* Plain functions name the line noted last, which calls in the library leave as it is. */
static void test_plain(void)
{
    HK_SCOPE;
    hk_array *(*function)(hk_array *, int, int64_t) = hk_index;
    CHECK(function == &hk_index);
    hk_array *x = matrix(2);
    hk_source_set("program.py", 7);
    const hk_status *status = hk_wait(function(x, 0, 9));
    CHECK_STR(hk_status_file(status), "program.py");
    CHECK_EQ_I64(hk_status_line(status), 7);

    hk_device devices[] = {hk_device_default(), hk_device_default()};
    hk_array *parts[2];
    hk_split_and_load(x, devices, 2, NULL, parts);
    CHECK_EQ_I64(line_of(function(x, 0, 9)), __LINE__ - 1);
    hk_all_reduce_by(parts, 2, HK_ALL_REDUCE_PARTS);
    CHECK_EQ_I64(line_of(function(x, 0, 9)), __LINE__ - 1);
    hk_linear(x, matrix(4), NULL);
    CHECK_EQ_I64(line_of(function(x, 0, 9)), __LINE__ - 1);
    hk_contiguous(hk_transpose(x));
    CHECK_EQ_I64(line_of(function(x, 0, 9)), __LINE__ - 1);
}

/* ---- gradients ------------------------------------------------------------------------------- */

static int grad_line;

static bool infer_same(hki_call *call)
{
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

static void kernel_nothing(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)call, (void)piece, (void)begin, (void)end;
}

static void note_line(hki_grad_call *call)
{
    grad_line = hki_source_get().line;
    call->dx[0] = call->dy;
}

static const hk_op noting = {.name = "noting",
                             .signature = "x",
                             .infer = infer_same,
                             .kernel = {[HKI_CPU] = kernel_nothing},
                             .grad = note_line};

/* As a program's own function may do, too. */
static hk_array *noting_at(hk_source at, hk_array *x)
{
    hk_source_set(at.file, at.line);
    return hki_op_call1(&noting, x, NULL);
}

/* Gradients carry the line of the recorded call; the program's is back after the pass. */
static void test_gradients(void)
{
    HK_SCOPE;
    hk_array *x = matrix(2);
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = noting_at(HK_SOURCE, layer(x));
    const int line = __LINE__ - 1;
    hk_array *loss = hk_sum(layer(y), NULL);
    hk_record_end();
    hk_backward(loss);
    CHECK_EQ_I64(line_of((hk_index)(x, 0, 9)), __LINE__ - 1);
    CHECK_EQ_I64(grad_line, line);
}

int main(void)
{
    test_results();
    test_in_place();
    test_statuses();
    test_several_lines();
    test_plain();
    test_gradients();
    return check_result();
}
