/* The passes over rows, compiled once per instruction set and dtype. The includer defines NORM_T (element), NORM_TARGET (function
   attributes) and NORM_FN(name), and LANES.

   A row is done in runs: elements with a gamma and a beta each (inner 1), or those that share one. */

#define T NORM_T

NORM_TARGET static double NORM_FN(join)(const double *lanes)
{
    double sum[LANES];
    memcpy(sum, lanes, sizeof sum);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            sum[l] += sum[l + half];
    return sum[0];
}

NORM_TARGET static double NORM_FN(sum)(const T *x, int64_t size)
{
    double lanes[LANES] = {0};
    const int64_t even = size / LANES * LANES;
    for (int64_t j = 0; j < even; j += LANES)
        for (int l = 0; l < LANES; l++)
            lanes[l] += (double)x[j + l];
    for (int64_t j = even; j < size; j++)
        lanes[j - even] += (double)x[j];
    return NORM_FN(join)(lanes);
}

/* Of (x - mean)^2. */
NORM_TARGET static double NORM_FN(squares)(const T *x, int64_t size, double mean)
{
    double lanes[LANES] = {0};
    const int64_t even = size / LANES * LANES;
    for (int64_t j = 0; j < even; j += LANES)
        for (int l = 0; l < LANES; l++) {
            const double distance = (double)x[j + l] - mean;
            lanes[l] += distance * distance;
        }
    for (int64_t j = even; j < size; j++)
        lanes[j - even] += ((double)x[j] - mean) * ((double)x[j] - mean);
    return NORM_FN(join)(lanes);
}

/* totals: of dy, and of dy (x - mean). */
NORM_TARGET static void NORM_FN(products)(const T *x, const T *dy, int64_t size, double mean,
                                          double totals[2])
{
    double first[LANES] = {0}, second[LANES] = {0};
    const int64_t even = size / LANES * LANES;
    for (int64_t j = 0; j < even; j += LANES)
        for (int l = 0; l < LANES; l++) {
            first[l] += (double)dy[j + l];
            second[l] += (double)dy[j + l] * ((double)x[j + l] - mean);
        }
    for (int64_t j = even; j < size; j++) {
        first[j - even] += (double)dy[j];
        second[j - even] += (double)dy[j] * ((double)x[j] - mean);
    }
    totals[0] = NORM_FN(join)(first);
    totals[1] = NORM_FN(join)(second);
}

/* The same of dy gamma in place of dy. */
NORM_TARGET static void NORM_FN(scaled_products)(const T *x, const T *dy, const T *gamma,
                                                 int64_t size, double mean, double totals[2])
{
    double first[LANES] = {0}, second[LANES] = {0};
    const int64_t even = size / LANES * LANES;
    for (int64_t j = 0; j < even; j += LANES)
        for (int l = 0; l < LANES; l++) {
            const double g = (double)dy[j + l] * (double)gamma[j + l];
            first[l] += g;
            second[l] += g * ((double)x[j + l] - mean);
        }
    for (int64_t j = even; j < size; j++) {
        const double g = (double)dy[j] * (double)gamma[j];
        first[j - even] += g;
        second[j - even] += g * ((double)x[j] - mean);
    }
    totals[0] = NORM_FN(join)(first);
    totals[1] = NORM_FN(join)(second);
}

/* ---- forward ------------------------------------------------------------------------------------------- */

NORM_TARGET static void NORM_FN(write_each)(const T *x, const T *gamma, const T *beta,
                                            T *restrict y, int64_t size, T mean, T inverse)
{
    if (gamma && beta)
        for (int64_t j = 0; j < size; j++)
            y[j] = (x[j] - mean) * inverse * gamma[j] + beta[j];
    else if (gamma)
        for (int64_t j = 0; j < size; j++)
            y[j] = (x[j] - mean) * inverse * gamma[j];
    else
        for (int64_t j = 0; j < size; j++)
            y[j] = (x[j] - mean) * inverse + (beta ? beta[j] : 0);
}

NORM_TARGET static void NORM_FN(write_run)(const T *x, T *restrict y, int64_t size, T mean, T scale,
                                           T shift)
{
    for (int64_t j = 0; j < size; j++)
        y[j] = (x[j] - mean) * scale + shift;
}

NORM_TARGET static void NORM_FN(forward)(const hki_row_norm_shape *of, double eps, const T *x,
                                         const T *gamma, const T *beta, T *y, T *statistics,
                                         int64_t begin, int64_t end)
{
    const int64_t size = of->size, runs = size / of->inner;
    for (int64_t r = begin; r < end; r++) {
        const T *row = x + r * size;
        T *to = y + r * size;
        const double mean = of->is_centred ? NORM_FN(sum)(row, size) / (double)size : 0;
        const double variance = NORM_FN(squares)(row, size, mean) / (double)size;
        const T shift = (T)mean, inverse = (T)(1 / sqrt(variance + eps));
        const int64_t first = r % of->groups * runs;
        statistics[2 * r] = shift;
        statistics[2 * r + 1] = inverse;
        if (of->inner == 1)
            NORM_FN(write_each)
        (row, gamma ? gamma + first : NULL, beta ? beta + first : NULL, to, size, shift, inverse);
        else for (int64_t i = 0; i < runs; i++) NORM_FN(write_run)(
            row + i * of->inner, to + i * of->inner, of->inner, shift,
            gamma ? inverse * gamma[first + i] : inverse, beta ? beta[first + i] : 0);
    }
}

/* ---- backward ------------------------------------------------------------------------------------------ */

/* dx = scale (dy gamma - shift - slope (x - mean)). */
NORM_TARGET static void NORM_FN(give_each)(const T *x, const T *dy, const T *gamma, T *restrict dx,
                                           int64_t size, T mean, T scale, T shift, T slope)
{
    for (int64_t j = 0; j < size; j++)
        dx[j] = scale * (dy[j] * gamma[j] - shift - slope * (x[j] - mean));
}

NORM_TARGET static void NORM_FN(give_run)(const T *x, const T *dy, T gamma, T *restrict dx,
                                          int64_t size, T mean, T scale, T shift, T slope)
{
    for (int64_t j = 0; j < size; j++)
        dx[j] = scale * (dy[j] * gamma - shift - slope * (x[j] - mean));
}

/* The sums over a row of dy gamma, and of that times x - mean. */
NORM_TARGET static void NORM_FN(row_products)(const hki_row_norm_shape *of, const T *x, const T *dy,
                                              const T *gamma, double mean, double totals[2])
{
    double of_run[2];
    if (of->inner == 1 && gamma) {
        NORM_FN(scaled_products)(x, dy, gamma, of->size, mean, totals);
        return;
    }
    const int64_t run = gamma ? of->inner : of->size;
    totals[0] = totals[1] = 0;
    for (int64_t i = 0; i < of->size / run; i++) {
        NORM_FN(products)(x + i * run, dy + i * run, run, mean, of_run);
        totals[0] += of_run[0] * (gamma ? (double)gamma[i] : 1);
        totals[1] += of_run[1] * (gamma ? (double)gamma[i] : 1);
    }
}

NORM_TARGET static void NORM_FN(backward)(const hki_row_norm_shape *of, const T *x, const T *dy,
                                          const T *gamma, const T *statistics, T *dx, int64_t begin,
                                          int64_t end)
{
    const int64_t size = of->size, runs = size / of->inner;
    for (int64_t r = begin; r < end; r++) {
        const T mean = statistics[2 * r], inverse = statistics[2 * r + 1];
        const T *scales = gamma ? gamma + r % of->groups * runs : NULL;
        const int64_t run = of->inner == 1 || !gamma ? size : of->inner;
        double totals[2];
        NORM_FN(row_products)(of, x + r * size, dy + r * size, scales, (double)mean, totals);
        const T shift = of->is_centred ? (T)(totals[0] / (double)size) : 0;
        const T slope = (T)(totals[1] / (double)size * (double)inverse * (double)inverse);
        for (int64_t at = r * size, i = 0; i < size / run; i++, at += run)
            if (of->inner == 1 && gamma)
                NORM_FN(give_each)
        (x + at, dy + at, scales, dx + at, run, mean, inverse, shift, slope);
        else NORM_FN(give_run)(x + at, dy + at, scales ? scales[i] : 1, dx + at, run, mean, inverse,
                               shift, slope);
    }
}

NORM_TARGET static void NORM_FN(weigh)(const hki_row_norm_shape *of, const T *x, const T *dy,
                                       const T *statistics, double *sums, int64_t begin,
                                       int64_t end)
{
    const int64_t size = of->size, runs = size / of->inner, count = runs * of->groups;
    for (int64_t r = begin; r < end; r++) {
        const double mean = (double)statistics[2 * r], inverse = (double)statistics[2 * r + 1];
        const T *from = x + r * size, *given = dy + r * size;
        double *restrict first = sums + r % of->groups * runs, *restrict second = first + count;
        if (of->inner == 1)
            for (int64_t j = 0; j < size; j++) {
                first[j] += (double)given[j] * (((double)from[j] - mean) * inverse);
                second[j] += (double)given[j];
            }
        for (int64_t i = 0; of->inner != 1 && i < runs; i++) {
            double totals[2];
            NORM_FN(products)
            (from + i * of->inner, given + i * of->inner, of->inner, mean, totals);
            first[i] += totals[1] * inverse;
            second[i] += totals[0];
        }
    }
}

#undef T
