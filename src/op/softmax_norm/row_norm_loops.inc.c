/* The passes over rows, compiled once per instruction set and dtype. The includer defines NORM_T (element), NORM_TARGET (function
   attributes) and NORM_FN(name), and LANES.

   A row is done in runs: elements with a gamma and a beta each (inner 1), or those that share one. */

#define T NORM_T

typedef T NORM_FN(lanes)
    __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));
#define AT(x, v) (*(const NORM_FN(lanes) *)(const void *)((x) + j + (v)*LANES))
#define WIDE(v)  __builtin_convertvector(v, row_norm_doubles)

NORM_TARGET static double NORM_FN(join)(const row_norm_doubles *lanes)
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
    row_norm_doubles lanes = {0};
    double rest = 0;
    int64_t j = 0;
    for (; j + 4 * LANES <= size; j += 4 * LANES)
        lanes += WIDE((AT(x, 0) + AT(x, 1)) + (AT(x, 2) + AT(x, 3)));
    for (; j < size; j++)
        rest += (double)x[j];
    return NORM_FN(join)(&lanes) + rest;
}

/* Of (x - shift)^2, to which eps is added. Where squares would leave the range of T, they are of doubles. */
NORM_TARGET static double NORM_FN(squares)(const T *x, int64_t size, T shift, double eps)
{
    row_norm_doubles lanes = {0};
    double rest = 0;
    int64_t j = 0;
    for (; j + 4 * LANES <= size; j += 4 * LANES) {
        const NORM_FN(lanes) a = AT(x, 0) - shift, b = AT(x, 1) - shift, c = AT(x, 2) - shift,
                             d = AT(x, 3) - shift;
        lanes += WIDE((a * a + b * b) + (c * c + d * d));
    }
    for (; j < size; j++)
        rest += ((double)x[j] - (double)shift) * ((double)x[j] - (double)shift);
    rest += NORM_FN(join)(&lanes);
    if (rest + eps > LEAST && rest < LARGEST)
        return rest;
    rest = 0;
    for (j = 0; j < size; j++)
        rest += ((double)x[j] - (double)shift) * ((double)x[j] - (double)shift);
    return rest;
}

/* The mean of x - shift, whose differences lose nothing next to it. */
NORM_TARGET static __attribute__((noinline)) double NORM_FN(rest_of_mean)(const T *x, int64_t size,
                                                                          T shift)
{
    row_norm_doubles lanes = {0};
    double rest = 0;
    int64_t j = 0;
    for (; j + LANES <= size; j += LANES)
        lanes += WIDE(AT(x, 0) - shift);
    for (; j < size; j++)
        rest += (double)x[j] - (double)shift;
    return (NORM_FN(join)(&lanes) + rest) / (double)size;
}

/* totals: of dy gamma, and of dy gamma (x - mean), where gamma may be NULL. Likewise. */
NORM_TARGET static void NORM_FN(products)(const T *x, const T *dy, const T *gamma, int64_t size,
                                          T mean, T inverse, double totals[2])
{
    row_norm_doubles first = {0}, second = {0};
    int64_t j = 0;
    for (; j + 4 * LANES <= size; j += 4 * LANES) {
        NORM_FN(lanes) a = AT(dy, 0), b = AT(dy, 1), c = AT(dy, 2), d = AT(dy, 3);
        if (gamma) {
            a *= AT(gamma, 0);
            b *= AT(gamma, 1);
            c *= AT(gamma, 2);
            d *= AT(gamma, 3);
        }
        first += WIDE((a + b) + (c + d));
        second += WIDE((a * (AT(x, 0) - mean) + b * (AT(x, 1) - mean)) +
                       (c * (AT(x, 2) - mean) + d * (AT(x, 3) - mean)));
    }
    totals[0] = NORM_FN(join)(&first);
    totals[1] = NORM_FN(join)(&second);
    if (!((double)inverse * (double)inverse * LEAST < 1 && fabs(totals[0]) < LARGEST &&
          fabs(totals[1]) < LARGEST)) {
        totals[0] = totals[1] = 0;
        j = 0;
    }
    for (; j < size; j++) {
        const double g = (double)dy[j] * (gamma ? (double)gamma[j] : 1);
        totals[0] += g;
        totals[1] += g * ((double)x[j] - (double)mean);
    }
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
    else if (beta)
        for (int64_t j = 0; j < size; j++)
            y[j] = (x[j] - mean) * inverse + beta[j];
    else
        for (int64_t j = 0; j < size; j++)
            y[j] = (x[j] - mean) * inverse;
}

/* less: what is left of the mean, in deviations. */
NORM_TARGET static __attribute__((noinline)) void NORM_FN(write_far)(const T *x, const T *gamma,
                                                                     const T *beta, T *restrict y,
                                                                     int64_t size, T mean,
                                                                     T inverse, T less)
{
    for (int64_t j = 0; j < size; j++)
        y[j] =
            ((x[j] - mean) * inverse - less) * (gamma ? gamma[j] : 1) + (beta ? beta[j] : (T)-0.0);
}

NORM_TARGET static void NORM_FN(write_run)(const T *x, T *restrict y, int64_t size, T mean, T scale,
                                           T shift)
{
    for (int64_t j = 0; j < size; j++)
        y[j] = (x[j] - mean) * scale + shift;
}

/* squares: the mean of (x - shift)^2, where the mean of x is shift + rest. */
NORM_TARGET static double NORM_FN(inverse)(double squares, double rest, double eps)
{
    const double variance = squares - rest * rest;
    return 1 / sqrt((variance < 0 ? 0 : variance) + eps);
}

/* Where the squares left the range of doubles, or the sum that of T: by the largest of the row,
 * unless that is no number either. Returns what inverse() would, and gives the mean. */
NORM_TARGET static __attribute__((noinline, cold)) double NORM_FN(scaled)(
    const T *x, int64_t size, bool is_centred, double eps, double otherwise, double *mean)
{
    double largest = 0, sum = 0, squares = 0;
    for (int64_t j = 0; j < size; j++) {
        const double magnitude = fabs((double)x[j]);
        largest = magnitude > largest || magnitude != magnitude ? magnitude : largest;
        if (largest != largest)
            return otherwise;
    }
    if (!(largest < (double)INFINITY))
        return otherwise;
    for (int64_t j = 0; is_centred && j < size; j++)
        sum += (double)x[j] / largest;
    sum /= (double)size;
    for (int64_t j = 0; j < size; j++) {
        const double far = (double)x[j] / largest - sum;
        squares += far * far;
    }
    *mean = sum * largest;
    return 1 / hypot(largest * sqrt(squares / (double)size), sqrt(eps));
}

NORM_TARGET static void NORM_FN(forward)(const hki_row_norm_shape *of, double eps, const T *x,
                                         const T *gamma, const T *beta, T *y, T *statistics,
                                         int64_t begin, int64_t end)
{
    const int64_t size = of->size, runs = size / of->inner;
    for (int64_t r = begin; r < end; r++) {
        const T *row = x + r * size;
        T *to = y + r * size;
        double mean = of->is_centred ? NORM_FN(sum)(row, size) / (double)size : 0;
        double squares = NORM_FN(squares)(row, size, (T)mean, eps) / (double)size;
        double rest = mean - (double)(T)mean, inverse_of = NORM_FN(inverse)(squares, rest, eps);
        const bool is_beyond = !(squares < (double)INFINITY);
        if (is_beyond) {
            inverse_of = NORM_FN(scaled)(row, size, of->is_centred, eps, inverse_of, &mean);
            rest = mean - (double)(T)mean;
        }
        const T shift = (T)mean;
        const bool is_far = !is_beyond && fabs(mean) * inverse_of > FAR;
        if (is_far) {
            rest = NORM_FN(rest_of_mean)(row, size, shift);
            inverse_of = NORM_FN(inverse)(squares, rest, eps);
        }
        const T inverse = (T)inverse_of, less = is_far ? (T)(rest * inverse_of) : 0;
        const int64_t first = r % of->groups * runs;
        statistics[3 * r] = shift;
        statistics[3 * r + 1] = inverse;
        statistics[3 * r + 2] = is_far ? (T)rest : 0;
        const T *scales = gamma ? gamma + first : NULL, *shifts = beta ? beta + first : NULL;
        if (of->inner == 1 && is_far) {
            NORM_FN(write_far)(row, scales, shifts, to, size, shift, inverse, less);
        } else if (of->inner == 1) {
            NORM_FN(write_each)(row, scales, shifts, to, size, shift, inverse);
        } else {
            for (int64_t i = 0; i < runs; i++) {
                const T scale = scales ? inverse * scales[i] : inverse;
                const T from = (shifts ? shifts[i] : 0) - (scales ? less * scales[i] : less);
                NORM_FN(write_run)
                (row + i * of->inner, to + i * of->inner, of->inner, shift, scale, from);
            }
        }
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
                                              const T *gamma, T mean, T inverse, double totals[2])
{
    double of_run[2];
    if (of->inner == 1 || !gamma) {
        NORM_FN(products)(x, dy, gamma, of->size, mean, inverse, totals);
        return;
    }
    totals[0] = totals[1] = 0;
    for (int64_t i = 0; i < of->size / of->inner; i++) {
        NORM_FN(products)
        (x + i * of->inner, dy + i * of->inner, NULL, of->inner, mean, inverse, of_run);
        totals[0] += of_run[0] * (double)gamma[i];
        totals[1] += of_run[1] * (double)gamma[i];
    }
}

NORM_TARGET static void NORM_FN(backward)(const hki_row_norm_shape *of, const T *x, const T *dy,
                                          const T *gamma, const T *statistics, T *dx, int64_t begin,
                                          int64_t end)
{
    const int64_t size = of->size, runs = size / of->inner;
    for (int64_t r = begin; r < end; r++) {
        const T mean = statistics[3 * r], inverse = statistics[3 * r + 1];
        const double rest = (double)statistics[3 * r + 2];
        const T *scales = gamma ? gamma + r % of->groups * runs : NULL;
        const int64_t run = of->inner == 1 || !gamma ? size : of->inner;
        double totals[2];
        NORM_FN(row_products)(of, x + r * size, dy + r * size, scales, mean, inverse, totals);
        totals[1] -= rest * totals[0];
        const T slope = (T)(totals[1] / (double)size * (double)inverse * (double)inverse);
        const double before = of->is_centred ? totals[0] / (double)size : 0;
        const T shift = (T)(before - (double)slope * rest);
        for (int64_t at = r * size, i = 0; i < size / run; i++, at += run)
            if (of->inner == 1 && gamma)
                NORM_FN(give_each)
        (x + at, dy + at, scales, dx + at, run, mean, inverse, shift, slope);
        else NORM_FN(give_run)(x + at, dy + at, scales ? scales[i] : 1, dx + at, run, mean, inverse,
                               shift, slope);
    }
}

NORM_TARGET static void NORM_FN(weigh)(const hki_row_norm_shape *of, const T *x, const T *dy,
                                       const T *statistics, T *sums, int64_t begin, int64_t end)
{
    const int64_t size = of->size, runs = size / of->inner, count = runs * of->groups;
    for (int64_t r = begin; r < end; r++) {
        const T mean = statistics[3 * r], inverse = statistics[3 * r + 1];
        const T rest = statistics[3 * r + 2], less = rest * inverse;
        const T *from = x + r * size, *given = dy + r * size;
        T *restrict first = sums + r % of->groups * runs, *restrict second = first + count;
        if (of->inner == 1 && rest == 0)
            for (int64_t j = 0; j < size; j++) {
                first[j] += given[j] * ((from[j] - mean) * inverse);
                second[j] += given[j];
            }
        else if (of->inner == 1)
            for (int64_t j = 0; j < size; j++) {
                first[j] += given[j] * ((from[j] - mean) * inverse - less);
                second[j] += given[j];
            }
        for (int64_t i = 0; of->inner != 1 && i < runs; i++) {
            double totals[2];
            NORM_FN(products)
            (from + i * of->inner, given + i * of->inner, NULL, of->inner, mean, inverse, totals);
            first[i] += (T)((totals[1] - (double)rest * totals[0]) * (double)inverse);
            second[i] += (T)totals[0];
        }
    }
}

#undef AT
#undef WIDE
#undef T
