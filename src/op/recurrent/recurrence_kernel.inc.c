/* The steps, for one type T of elements; FN names a function of it. */

static const T *FN(part)(const void *all, const span *at, int64_t units, int64_t parts, int64_t k)
{
    return (const T *)all + (at->at * parts + k) * units + at->first;
}

static T *FN(place_of)(void *all, const span *at, int64_t units, int64_t parts, int64_t k)
{
    return (T *)all + (at->at * parts + k) * units + at->first;
}

/* What was before the step; before the first one zeros, where nothing is given. */
static const T *FN(before)(const hki_recurrence *of, const void *all, const void *first,
                           const span *at)
{
    if (at->step == 0)
        return first ? (const T *)first + at->row * of->units + at->first : FN(hki_cell_none);
    return (const T *)all + place(of, at->row, at->step - 1) * of->units + at->first;
}

/* x_sums and sums: of the row in this step. */
static void FN(cell)(const hki_recurrence_forward *call, const span *at, const T *x_sums,
                     const T *sums)
{
    const hki_recurrence *of = &call->of;
    const hki_recurrence_parts parts = hki_recurrence_parts_of[of->kind];
    const hki_cell_loops *loops = hki_cell_loops_get();
    const int64_t units = of->units;
    const T *x[HKI_LSTM_SUMS], *h[HKI_LSTM_SUMS];
    T *kept[HKI_LSTM_KEPT], room[HKI_LSTM_KEPT][HKI_CELL_CHUNK];
    for (int64_t k = 0; k < parts.sums; k++) {
        x[k] = x_sums + k * units + at->first;
        h[k] = sums + k * units + at->first;
    }
    for (int64_t k = 0; k < parts.kept; k++)
        kept[k] = call->kept ? FN(place_of)(call->kept, at, units, parts.kept, k) : room[k];
    T *y = FN(place_of)(call->h, at, units, 1, 0);
    if (of->kind == HKI_RECURRENCE_LSTM)
        loops->FN(lstm)(x, h, FN(before)(of, call->c, call->c0, at), y,
                        FN(place_of)(call->c, at, units, 1, 0), kept, at->count);
    else if (of->kind == HKI_RECURRENCE_GRU)
        loops->FN(gru)(x, h, FN(before)(of, call->h, call->h0, at), y, kept, at->count);
    else
        loops->FN(tanh)(x[0], h[0], y, at->count);
}

/* dh: the gradient of the row's state, from the steps behind; dc: of its cell, which becomes that of the cell before; dstate: of a GRU,
 * what of the state before does not go by the weights. */
static void FN(cell_back)(const hki_recurrence_backward *call, const span *at, const T *dh, T *dc,
                          T *dstate)
{
    const hki_recurrence *of = &call->of;
    const hki_recurrence_parts parts = hki_recurrence_parts_of[of->kind];
    const hki_cell_loops *loops = hki_cell_loops_get();
    const int64_t units = of->units;
    const T *kept[HKI_LSTM_KEPT], *dkept[HKI_LSTM_KEPT];
    T *dx[HKI_LSTM_SUMS], *dsums[HKI_LSTM_SUMS], dy[HKI_CELL_CHUNK];
    for (int64_t k = 0; k < parts.kept; k++) {
        kept[k] = FN(part)(call->kept, at, units, parts.kept, k);
        dkept[k] =
            call->dkept ? FN(part)(call->dkept, at, units, parts.kept, k) : FN(hki_cell_none);
    }
    for (int64_t k = 0; k < parts.sums; k++) {
        dx[k] = FN(place_of)(call->dx_sums, at, units, parts.sums, k);
        dsums[k] = call->dsums ? FN(place_of)(call->dsums, at, units, parts.sums, k) : NULL;
    }
    memcpy(dy, dh, (size_t)at->count * sizeof(T));
    if (call->dh)
        loops->FN(add)(FN(part)(call->dh, at, units, 1, 0), dy, at->count);
    if (of->kind == HKI_RECURRENCE_LSTM) {
        if (call->dc)
            loops->FN(add)(FN(part)(call->dc, at, units, 1, 0), dc, at->count);
        loops->FN(lstm_back)(kept, FN(before)(of, call->past, call->first, at), dy, dc, dkept, dx,
                             dc, at->count);
    } else if (of->kind == HKI_RECURRENCE_GRU) {
        loops->FN(gru_back)(kept, FN(before)(of, call->past, call->first, at), dy, dkept, dx, dsums,
                            dstate, at->count);
    } else {
        loops->FN(tanh_back)(kept[0], dy, dx[0], at->count);
    }
}

/* Sums of x in so many steps of each row; the samples of a call lie x_row apart, 0: side by side. */
static void FN(sums_of_x)(const hki_recurrence_forward *call, int64_t first, int64_t samples,
                          int64_t x_row, const void *packed, T *sums, void *spread)
{
    const hki_layer layer = layer_of_x(&call->of, false, x_row);
    const T *x = (const T *)call->x + first * layer.inputs;
    hki_layer_run(&layer, sizeof(T) == sizeof(double), x, samples, packed, call->x_bias, sums,
                  spread);
}

static void FN(run)(const hki_recurrence_forward *call, int64_t begin, int64_t end, char *scratch)
{
    const hki_recurrence *of = &call->of;
    const bool f64 = sizeof(T) == sizeof(double), x_first = is_x_first(end - begin);
    const places bytes = places_of(of, false, end - begin);
    char *packed_x = scratch + bytes.packed, *spread = packed_x + bytes.packed_x;
    T *x_sums = (T *)(void *)(spread + bytes.spread);
    T *sums = (T *)(void *)(spread + bytes.spread + bytes.x_sums);
    const hki_layer of_x = layer_of_x(of, false, 0);
    hki_layer layer = layer_of(of, false, 0);
    hki_layer_pack(&layer, f64, of->weight, false, scratch);
    hki_layer_pack(&of_x, f64, call->x_weight, false, packed_x);
    if (x_first)
        FN(sums_of_x)
    (call, begin * of->steps, (end - begin) * of->steps, 0, packed_x, x_sums, spread);
    const T *h = call->h0 ? (const T *)call->h0 + begin * of->units : NULL;
    for (int64_t step = 0; step < of->steps; step++) {
        if (!x_first)
            FN(sums_of_x)
        (call, place(of, begin, step), end - begin, of->steps * of->inputs, packed_x, x_sums,
         spread);
        if (h)
            hki_layer_run(&layer, f64, h, end - begin, scratch, call->bias, sums, spread);
        for (int64_t row = begin; row < end; row++)
            for (int64_t first = 0; first < of->units; first += HKI_CELL_CHUNK) {
                const span at = span_at(of, row, step, first);
                const int64_t x_at = x_first ? at.at - begin * of->steps : row - begin;
                FN(cell)
                (call, &at, x_sums + x_at * layer.outputs,
                 h ? sums + (row - begin) * layer.outputs : call->bias);
            }
        h = (const T *)call->h + place(of, begin, step) * of->units;
        layer.x_row = row_of(of, false);
    }
}

/* Of each part of the sums, those of some units: of rows of x or of the state. */
static void FN(some_sums)(const hki_recurrence *of, hki_product product, const T *bias,
                          int64_t first, int64_t units, T *sums, void *scratch)
{
    const int64_t parts = hki_recurrence_parts_of[of->kind].sums;
    product.f64 = of->f64;
    product.n = units;
    product.packed_columns = product.ldc = parts * of->units;
    for (int64_t k = 0; k < parts; k++) {
        product.packed_first = k * of->units + first;
        product.bias = bias + product.packed_first;
        product.c = sums + product.packed_first;
        hki_product_run(&product, scratch);
    }
}

static void FN(round)(const hki_recurrence_forward *call, int64_t rows, const char *packed,
                      char *shared, int64_t round, int64_t first, int64_t units, void *scratch)
{
    const hki_recurrence *of = &call->of;
    const int64_t all = hki_recurrence_parts_of[of->kind].sums * of->units, step = round - 1;
    T *x_sums = (T *)(void *)shared, *sums = (T *)(void *)(shared + x_sums_bytes(of, rows));
    if (round == 0) {
        const hki_product product = {.m = rows * of->steps,
                                     .k = of->inputs,
                                     .a = call->x,
                                     .lda = of->inputs,
                                     .packed = packed};
        FN(some_sums)(of, product, call->x_bias, first, units, x_sums, scratch);
        return;
    }
    const T *h = step == 0 ? call->h0 : (const T *)call->h + place(of, 0, step - 1) * of->units;
    if (h) {
        const hki_product product = {.m = rows,
                                     .k = of->units,
                                     .a = h,
                                     .lda = step == 0 ? of->units : row_of(of, false),
                                     .packed = packed + packed_x_bytes(of)};
        FN(some_sums)(of, product, call->bias, first, units, sums, scratch);
    }
    for (int64_t row = 0; row < rows; row++)
        for (int64_t unit = first; unit < first + units; unit += HKI_CELL_CHUNK) {
            span at = span_at(of, row, step, unit);
            at.count = hki_min(at.count, first + units - unit);
            FN(cell)(call, &at, x_sums + at.at * all, h ? sums + row * all : call->bias);
        }
}

/* Of a step: whether anything before it has a gradient. */
static bool FN(goes_back)(const hki_recurrence_backward *call, int64_t step)
{
    return step > 0 || call->dh0;
}

/* The gradient of x in a step. Its sums are still where the layer of the state copied them, unless a GRU's are others. */
static void FN(back_to_x)(const hki_recurrence_backward *call, int64_t begin, int64_t end,
                          int64_t step, char *scratch)
{
    const hki_recurrence *of = &call->of;
    const places bytes = places_of(of, true, end - begin);
    const bool f64 = sizeof(T) == sizeof(double);
    hki_layer layer = layer_of_x(of, true, row_of(of, true));
    char *packed = scratch + bytes.packed, *spread = packed + bytes.packed_x;
    T *of_step = (T *)(void *)(spread + bytes.spread);
    const T *sums = (const T *)call->dx_sums + place(of, begin, step) * layer.inputs;
    const int64_t copied = hki_layer_copied_row(&layer, f64);
    if (copied && !call->dsums && FN(goes_back)(call, step)) {
        sums = (const T *)(void *)spread;
        layer.x_row = copied;
    }
    hki_layer_run(&layer, f64, sums, end - begin, packed, NULL, of_step, spread);
    for (int64_t row = begin; row < end; row++, of_step += of->inputs)
        memcpy((T *)call->dx + place(of, row, step) * of->inputs, of_step,
               (size_t)of->inputs * sizeof(T));
}

static void FN(run_backward)(const hki_recurrence_backward *call, int64_t begin, int64_t end,
                             char *scratch)
{
    const hki_recurrence *of = &call->of;
    const places bytes = places_of(of, true, end - begin);
    const int64_t rows = end - begin, units = of->units;
    const hki_layer layer = layer_of(of, true, row_of(of, true));
    char *packed_x = scratch + bytes.packed, *spread = packed_x + bytes.packed_x;
    T *dstate = (T *)(void *)(spread + bytes.spread + bytes.x_sums);
    T *dh = (T *)(void *)(spread + bytes.spread + bytes.x_sums + bytes.results), *dc = NULL;
    if (of->kind == HKI_RECURRENCE_LSTM)
        dc = call->dc0 ? (T *)call->dc0 + begin * units : dh + rows * units;
    if (call->dh0)
        dh = (T *)call->dh0 + begin * units;
    hki_layer_pack(&layer, sizeof(T) == sizeof(double), of->weight, true, scratch);
    if (call->dx) {
        const hki_layer of_x = layer_of_x(of, true, 0);
        hki_layer_pack(&of_x, sizeof(T) == sizeof(double), call->x_weight, true, packed_x);
    }
    memset(dh, 0, (size_t)(rows * units) * sizeof(T));
    if (dc)
        memset(dc, 0, (size_t)(rows * units) * sizeof(T));
    for (int64_t step = of->steps - 1; step >= 0; step--) {
        for (int64_t row = 0; row < rows; row++)
            for (int64_t first = 0; first < units; first += HKI_CELL_CHUNK) {
                const span at = span_at(of, begin + row, step, first);
                const int64_t i = row * units + first;
                FN(cell_back)(call, &at, dh + i, dc ? dc + i : NULL, dstate + i);
            }
        const T *dsums = call->dsums ? call->dsums : call->dx_sums;
        if (FN(goes_back)(call, step))
            hki_layer_run(&layer, sizeof(T) == sizeof(double),
                          dsums + place(of, begin, step) * layer.inputs, rows, scratch, NULL, dh,
                          spread);
        if (of->kind == HKI_RECURRENCE_GRU)
            hki_cell_loops_get()->FN(add)(dstate, dh, rows * units);
        if (call->dx)
            FN(back_to_x)(call, begin, end, step, scratch);
    }
}
