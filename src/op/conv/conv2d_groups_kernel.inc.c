/* Convolution in groups, compiled once per instruction set and dtype. The includer defines GROUPS_T (element), GROUPS_TARGET
   (function attributes) and GROUPS_FN(name), and has what is before: row, reach. */

#define T GROUPS_T

/* y[j] += weight x[j stride + offset] where that is no padding. */
GROUPS_TARGET static void GROUPS_FN(add_one)(const row *of, int64_t offset, T weight, const T *x,
                                             T *restrict y, int64_t begin, int64_t end)
{
    const int64_t stride = of->stride;
    x += offset;
    if (stride == 1)
        for (int64_t j = begin; j < end; j++)
            y[j] += weight * x[j];
    else
        for (int64_t j = begin; j < end; j++)
            y[j] += weight * x[j * stride];
}

/* The same of three offsets, `step` apart, where none is padding. */
GROUPS_TARGET static void GROUPS_FN(add_three)(const row *of, int64_t offset, int64_t step,
                                               const T *weight, const T *x, T *restrict y,
                                               int64_t begin, int64_t end)
{
    const T first = weight[0], second = weight[1], third = weight[2];
    const T *a = x + offset, *b = a + step, *c = b + step;
    const int64_t stride = of->stride;
    if (stride == 1)
        for (int64_t j = begin; j < end; j++)
            y[j] += first * a[j] + second * b[j] + third * c[j];
    else
        for (int64_t j = begin; j < end; j++)
            y[j] += first * a[j * stride] + second * b[j * stride] + third * c[j * stride];
}

/* All of a window's row: element v of `count` is x[j stride + offset + v step]. */
GROUPS_TARGET static void GROUPS_FN(add_row)(const row *of, int64_t offset, int64_t step,
                                             const T *weight, int64_t count, const T *x, T *y)
{
    for (int64_t v = 0; v < count;) {
        const int64_t together = v + 3 <= count ? 3 : 1;
        int64_t begin = 0, end = of->out;
        for (int64_t i = v; i < v + together; i++) {
            const range at = reach(of, offset + i * step);
            begin = at.begin > begin ? at.begin : begin;
            end = at.end < end ? at.end : end;
        }
        end = end > begin ? end : begin;
        if (together == 3)
            GROUPS_FN(add_three)(of, offset + v * step, step, weight + v, x, y, begin, end);
        for (int64_t i = v; i < v + together; i++) { /* what lies to the left and right */
            const range at = reach(of, offset + i * step);
            const int64_t left = at.end < begin ? at.end : begin;
            const int64_t right = at.begin > end ? at.begin : end;
            if (together == 1)
                GROUPS_FN(add_one)(of, offset + i * step, weight[i], x, y, at.begin, at.end);
            else {
                GROUPS_FN(add_one)(of, offset + i * step, weight[i], x, y, at.begin, left);
                GROUPS_FN(add_one)(of, offset + i * step, weight[i], x, y, right, at.end);
            }
        }
        v += together;
    }
}

/* dx[j stride + offset] += weight dy[j]. */
GROUPS_TARGET static void GROUPS_FN(spread_row)(const row *of, int64_t offset, T weight,
                                                const T *dy, T *restrict dx)
{
    const range at = reach(of, offset);
    for (int64_t j = at.begin; j < at.end; j++)
        dx[j * of->stride + offset] += weight * dy[j];
}

/* lanes[..] += x[j stride + offset] dy[j] of that range, in an order that it alone decides. */
GROUPS_TARGET static void GROUPS_FN(multiply_one)(int64_t stride, int64_t offset, range at,
                                                  const T *x, const T *dy, T *restrict lanes)
{
    const int64_t even = at.begin + (at.end - at.begin) / LANES * LANES;
    x += offset;
    if (stride == 1)
        for (int64_t j = at.begin; j < even; j += LANES)
            for (int64_t l = 0; l < LANES; l++)
                lanes[l] += x[j + l] * dy[j + l];
    else
        for (int64_t j = at.begin; j < even; j += LANES)
            for (int64_t l = 0; l < LANES; l++)
                lanes[l] += x[(j + l) * stride] * dy[j + l];
    for (int64_t j = even; j < at.end; j++)
        lanes[j - even] += x[j * stride] * dy[j];
}

/* The same of three offsets, `step` apart, at stride 1. */
GROUPS_TARGET static void GROUPS_FN(multiply_three)(int64_t offset, int64_t step, range at,
                                                    const T *x, const T *dy,
                                                    T lanes[restrict 3][LANES])
{
    const int64_t even = at.begin + (at.end - at.begin) / LANES * LANES;
    const T *a = x + offset, *b = a + step, *c = b + step;
    for (int64_t j = at.begin; j < even; j += LANES)
        for (int64_t l = 0; l < LANES; l++) {
            lanes[0][l] += a[j + l] * dy[j + l];
            lanes[1][l] += b[j + l] * dy[j + l];
            lanes[2][l] += c[j + l] * dy[j + l];
        }
    for (int64_t j = even; j < at.end; j++) {
        lanes[0][j - even] += a[j] * dy[j];
        lanes[1][j - even] += b[j] * dy[j];
        lanes[2][j - even] += c[j] * dy[j];
    }
}

GROUPS_TARGET static void GROUPS_FN(forward)(const hki_conv2d_geometry *g, int64_t groups,
                                             const T *x, const T *weight, const T *bias, T *y,
                                             int64_t begin, int64_t end)
{
    const int64_t inputs = g->in_channels / groups, outputs = g->out_channels / groups;
    const row across = {g->stride_width, g->in_width, g->out_width};
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t n = plane / g->out_channels, o = plane % g->out_channels;
        const T *from =
            x + (n * g->in_channels + o / outputs * inputs) * g->in_height * g->in_width;
        T *to = y + plane * g->out_height * g->out_width;
        for (int64_t i = 0; i < g->out_height; i++, to += g->out_width) {
            for (int64_t j = 0; j < g->out_width; j++)
                to[j] = bias ? bias[o] : 0;
            for (int64_t c = 0; c < inputs; c++)
                for (int64_t u = 0; u < g->kernel_height; u++) {
                    const int64_t r = i * g->stride_height - g->pad_height + u * g->dilation_height;
                    if (r >= 0 && r < g->in_height)
                        GROUPS_FN(add_row)
                    (&across, -g->pad_width, g->dilation_width,
                     weight + ((o * inputs + c) * g->kernel_height + u) * g->kernel_width,
                     g->kernel_width, from + (c * g->in_height + r) * g->in_width, to);
                }
        }
    }
}

/* What row i of dy, of one output, gives to a plane of dx through row u of the windows. */
GROUPS_TARGET static void GROUPS_FN(give_back)(const hki_conv2d_geometry *g, const T *weight,
                                               const T *dy, T *dx)
{
    const row backward = {1, g->out_width, g->in_width};
    const row across = {g->stride_width, g->in_width, g->out_width};
    if (g->stride_width == 1) {
        GROUPS_FN(add_row)
        (&backward, g->pad_width, -g->dilation_width, weight, g->kernel_width, dy, dx);
        return;
    }
    for (int64_t v = 0; v < g->kernel_width; v++)
        GROUPS_FN(spread_row)(&across, v * g->dilation_width - g->pad_width, weight[v], dy, dx);
}

GROUPS_TARGET static void GROUPS_FN(backward_data)(const hki_conv2d_geometry *g, int64_t groups,
                                                   const T *dy, const T *weight, T *dx,
                                                   int64_t begin, int64_t end)
{
    const int64_t inputs = g->in_channels / groups, outputs = g->out_channels / groups;
    const int64_t size = g->in_height * g->in_width;
    for (int64_t plane = begin; plane < end; plane++) {
        const int64_t n = plane / g->in_channels, c = plane % g->in_channels;
        const int64_t first = c / inputs * outputs;
        T *to = dx + plane * size;
        memset(to, 0, (size_t)size * sizeof *to);
        for (int64_t o = first; o < first + outputs; o++) {
            const T *from = dy + (n * g->out_channels + o) * g->out_height * g->out_width;
            for (int64_t i = 0; i < g->out_height; i++)
                for (int64_t u = 0; u < g->kernel_height; u++) {
                    const int64_t r = i * g->stride_height - g->pad_height + u * g->dilation_height;
                    const int64_t at = (o * inputs + c % inputs) * g->kernel_height + u;
                    if (r >= 0 && r < g->in_height)
                        GROUPS_FN(give_back)
                    (g, weight + at * g->kernel_width, from + i * g->out_width,
                     to + r * g->in_width);
                }
        }
    }
}

/* A row of x and one of dy: three elements of a window, from `offset` on, or one. */
GROUPS_TARGET static void GROUPS_FN(multiply_rows)(const row *of, int64_t offset, int64_t step,
                                                   int64_t together, const T *x, const T *dy,
                                                   T lanes[restrict 3][LANES])
{
    range all = {0, of->out};
    for (int64_t i = 0; i < together; i++) {
        const range at = reach(of, offset + i * step);
        all.begin = at.begin > all.begin ? at.begin : all.begin;
        all.end = at.end < all.end ? at.end : all.end;
    }
    all.end = all.end > all.begin ? all.end : all.begin;
    if (together == 1) {
        GROUPS_FN(multiply_one)(of->stride, offset, all, x, dy, lanes[0]);
        return;
    }
    GROUPS_FN(multiply_three)(offset, step, all, x, dy, lanes);
    for (int64_t i = 0; i < 3; i++) { /* what lies to the left and right */
        const range at = reach(of, offset + i * step);
        const range left = {at.begin, at.end < all.begin ? at.end : all.begin};
        const range right = {at.begin > all.end ? at.begin : all.end, at.end};
        for (int64_t j = left.begin; j < left.end; j++)
            lanes[i][0] += x[offset + i * step + j] * dy[j];
        for (int64_t j = right.begin; j < right.end; j++)
            lanes[i][0] += x[offset + i * step + j] * dy[j];
    }
}

/* Adds the sums over a sample of elements (u, v), (u, v + 1), … of a window of x, times dy. */
GROUPS_TARGET static void GROUPS_FN(weigh)(const hki_conv2d_geometry *g, int64_t u, int64_t v,
                                           int64_t together, const T *x, const T *dy, double *sums)
{
    const row across = {g->stride_width, g->in_width, g->out_width};
    const int64_t offset = v * g->dilation_width - g->pad_width;
    T lanes[3][LANES] = {{0}};
    for (int64_t i = 0; i < g->out_height; i++) {
        const int64_t r = i * g->stride_height - g->pad_height + u * g->dilation_height;
        if (r >= 0 && r < g->in_height)
            GROUPS_FN(multiply_rows)
        (&across, offset, g->dilation_width, together, x + r * g->in_width, dy + i * g->out_width,
         lanes);
    }
    for (int64_t k = 0; k < together; k++)
        for (int l = 0; l < LANES; l++)
            sums[k] += (double)lanes[k][l];
}

GROUPS_TARGET static void GROUPS_FN(backward_weight)(const hki_conv2d_geometry *g, int64_t groups,
                                                     const T *x, const T *dy, T *dweight, T *dbias,
                                                     int64_t begin, int64_t end)
{
    const int64_t inputs = g->in_channels / groups, outputs = g->out_channels / groups;
    const int64_t size = g->in_height * g->in_width, out_size = g->out_height * g->out_width;
    const int64_t window = g->kernel_height * g->kernel_width;
    for (int64_t o = begin; o < end; o++) {
        const T *from = dy + o * out_size;
        double bias = 0;
        for (int64_t n = 0; n < g->samples; n++)
            bias += ROW_SUM(from + n * g->out_channels * out_size, out_size);
        dbias[o] = (T)bias;
        for (int64_t at = 0, together; at < inputs * window; at += together) {
            const T *plane = x + (o / outputs * inputs + at / window) * size;
            const int64_t u = at % window / g->kernel_width, v = at % g->kernel_width;
            double sums[3] = {0};
            together = g->stride_width == 1 && v + 3 <= g->kernel_width ? 3 : 1;
            for (int64_t n = 0; n < g->samples; n++)
                GROUPS_FN(weigh)
            (g, u, v, together, plane + n * g->in_channels * size,
             from + n * g->out_channels * out_size, sums);
            for (int64_t k = 0; k < together; k++)
                dweight[o * inputs * window + at + k] = (T)sums[k];
        }
    }
}

#undef T
