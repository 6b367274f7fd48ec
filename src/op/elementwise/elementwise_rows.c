/* Runs of elements through the loops of elementwise.def, which take dense elements of wide types: what lies otherwise, or
 * is of another dtype, goes through blocks that stay in the cache. */
#include "op/elementwise/elementwise.h"

enum { BLOCK = 256 };

_Atomic(hki_loop_fn) hki_loops_found[HKI_ELEMENT_COUNT][HK_DTYPE_COUNT];

hki_loop_fn hki_element_loop_find(hki_element element, hk_dtype wide)
{
    const hki_kernel_isa isa = hki_kernel_isa_get();
    hki_loop_fn loop = isa == HKI_ISA_AVX512 ? hki_loops_avx512[element][wide] : NULL;
    if (!loop && isa != HKI_ISA_PORTABLE) /* of integers */
        loop = hki_loops_avx2[element][wide];
    if (!loop)
        loop = hki_loops_portable[element][wide];
    atomic_store_explicit(&hki_loops_found[element][wide], loop, memory_order_relaxed);
    return loop;
}

#define GRADIENT(context, kept, name, ns, expression) [HKI_ELEMENT_##name] = true,
#define ROW(kind, name, dtypes, ns, real, integer, reference, samples, gradient, ...)              \
    HKI_EACH_GRADIENT(GRADIENT, , name, gradient)
#define CHECKED ROW
const bool hki_element_is_gradient[HKI_ELEMENT_COUNT] = {
#include "op/elementwise/elementwise.def"
};

static void operand_init(hki_row_operand *operand, hk_dtype dtype, hk_dtype wide)
{
    operand->load = hki_load_of(dtype, wide);
    operand->bytes = (int64_t)hki_dtype_bytes(dtype);
    operand->wide_bytes = (int64_t)hki_dtype_bytes(wide);
    operand->is_wide = dtype == wide;
}

void hki_row_init_loop(hki_row *row, hki_loop_fn loop, hki_numbers numbers, const hk_dtype *in,
                       int in_count, hk_dtype wide, hk_dtype out, hk_dtype out_wide)
{
    /* What is not of the values' kind is a truth value: a condition, or the result of a comparison. */
    row->numbers = numbers;
    row->loop = loop;
    row->in_count = in_count;
    row->takes_one = in_count == 2;
    for (int i = 0; i < in_count; i++)
        operand_init(&row->in[i], in[i], in[i] == HK_BOOL ? HK_BOOL : wide);
    operand_init(&row->out, out, out == HK_BOOL ? HK_BOOL : out_wide);
    row->store = out_wide == hki_wide_of(out) || out == HK_BOOL ? hki_store_of(out)
                                                                : hki_cast_of(out_wide, out);
}

void hki_row_init(hki_row *row, hki_element element, hki_numbers numbers, const hk_dtype *in,
                  int in_count, hk_dtype values, hk_dtype out)
{
    const hk_dtype wide = hki_wide_of(values);
    hki_row_init_loop(row, hki_element_loop(element, wide), numbers, in, in_count, wide, out, wide);
    row->takes_one = hki_element_takes_one(element, in_count);
    row->numbers.narrow = values == HK_F16 ? 1 : values == HK_BF16 ? 2 : 0;
}

bool hki_row_is_direct(const hki_row *row, const hki_run *run)
{
    bool is_direct = row->out.is_wide && run->out_step == row->out.bytes;
    bool may_be_one = row->takes_one;
    for (int i = 0; i < row->in_count; i++) {
        if (run->in_step[i] == 0 && may_be_one)
            may_be_one = false;
        else
            is_direct &= run->in_step[i] == row->in[i].bytes;
        is_direct &= row->in[i].is_wide;
    }
    return is_direct;
}

/* Apart, for its stack. */
static __attribute__((noinline)) int64_t run_blocks(const hki_row *row, const hki_run *run)
{
    _Alignas(64) char memory[1 + HKI_WALK_MAX_INPUTS][BLOCK * HKI_ELEMENT_BYTES];
    hki_run part = {.given = row, .out_step = row->out.wide_bytes};
    const bool is_out_direct = row->out.is_wide && run->out_step == row->out.bytes;
    const int64_t most = run->n < BLOCK ? run->n : BLOCK;
    bool may_be_one = row->takes_one;
    /* What is one for all is loaded once. */
    for (int i = 0; i < row->in_count; i++) {
        part.in[i] = memory[i];
        part.in_step[i] = row->in[i].wide_bytes;
        if (run->in_step[i] != 0)
            continue;
        row->in[i].load(may_be_one ? 1 : most, run->in[i], 0, memory[i]);
        if (may_be_one)
            part.in_step[i] = 0;
        may_be_one = false;
    }
    for (int64_t begin = 0; begin < run->n; begin += part.n) {
        part.n = run->n - begin < BLOCK ? run->n - begin : BLOCK;
        for (int i = 0; i < row->in_count; i++) {
            const char *from = run->in[i] + begin * run->in_step[i];
            if (row->in[i].is_wide && run->in_step[i] == row->in[i].bytes)
                part.in[i] = from;
            else if (run->in_step[i] != 0)
                row->in[i].load(part.n, from, run->in_step[i], memory[i]);
        }
        char *to = run->out + begin * run->out_step;
        part.out = is_out_direct ? to : memory[HKI_WALK_MAX_INPUTS];
        const int64_t refused = row->loop(&part);
        if (refused >= 0)
            return begin + refused;
        if (!is_out_direct)
            row->store(part.n, part.out, to, run->out_step);
    }
    return -1;
}

int64_t hki_row_run(const hki_run *run)
{
    const hki_row *row = run->given;
    return hki_row_is_direct(row, run) ? row->loop(run) : run_blocks(row, run);
}
