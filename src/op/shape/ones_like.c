/* Where a backward pass begins: ones, which depend on the loss, so that one that failed fails the
 * gradients. */
#include "op/elementwise/elementwise.h"
#include "op/shape/fill.h"

static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    hki_fill(call, 1, begin, end);
}

static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    (void)in;
    int64_t size = call->inputs[0]->size;
    for (int64_t i = 0; i < size; i++)
        out[0][i] = 1;
}

static const hki_sample samples[] = {
    {.inputs = {HKI_SHAPE(2, 3)}},
    {.inputs = {HKI_SHAPE_0D}},
    {.inputs = {HKI_SHAPE(0)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(3, 4)}},
};

const hk_op hki_op_ones_like = {
    HKI_OP_NAMED(ones_like),
    HKI_OP_SAMPLES(samples),
    .signature = "x",
    .doc = "Ones of x's shape and dtype.",
    .formula = "1",
    .dtypes = HKI_ANY_DTYPE,
    .gpu_dtypes = HKI_ALL_DTYPES,
    .elementwise = true,
    .infallible = true,
    .shape_only = true,
    .infer = hki_infer_same,
    .split = HKI_SPLIT_ELEMENTS,
    .batch = hki_batch_all,
    .kernel = {[HKI_CPU] = kernel},
    .no_grad_inputs = 1,
    .no_grad_why = "it does not depend on the values of x",
    .reference = reference,
};
