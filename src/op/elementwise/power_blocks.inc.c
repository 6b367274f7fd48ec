/* The rows `power` and `power_scalar` of float32, by blocks of elements: their functions are long, so that there is one loop of
 * each for an instruction set, always of a whole block. Included by elementwise_floats.inc.c, behind the loops of all rows. */

static void power_block(const float *x, const float *y, float *out)
{
    float size[HKI_POWER_BLOCK];
    for (int i = 0; i < HKI_POWER_BLOCK; i++)
        size[i] = hki_power_size_f32(x[i], y[i]);
    for (int i = 0; i < HKI_POWER_BLOCK; i++)
        out[i] = hki_power_of_size_f32(x[i], y[i], size[i]);
}

static int64_t power_by_blocks_f32(const hki_run *run)
{
    (void)power_f32; /* an element at a time, by the C library */
    return hki_power_run(run, run->in[1], run->in_step[1], power_block);
}

static int64_t power_scalar_by_blocks_f32(const hki_run *run)
{
    const float s = (float)((const hki_numbers *)run->given)->s;
    if (hki_is_quick_power(s))
        return power_scalar_f32(run);
    return hki_power_run(run, &s, 0, power_block);
}

/* For the table. */
#define power_f32        power_by_blocks_f32
#define power_scalar_f32 power_scalar_by_blocks_f32
