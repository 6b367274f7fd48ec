#include "op/recurrent/cuda_recurrence.h"

#include "op/recurrent/cuda_cell.cuh"
#include "op/matmul/cuda_step_product.cuh"

/* ---- elements of rows ---------------------------------------------------------------------------------- */

template <class T> HKI_DEVICE T &element(const hki_cuda_step_rows &of, int64_t row, int64_t column)
{
    return static_cast<T *>(of.data)[row * of.row + column];
}

/* -0, which leaves what it is added to as it is, of what is left out. */
template <class T>
HKI_DEVICE T element_or_none(const hki_cuda_step_rows &of, int64_t row, int64_t column)
{
    return of.data ? element<T>(of, row, column) : (T)-0.0;
}

/* Part k of each unit. */
template <class T, int N>
HKI_DEVICE void read_parts(const hki_cuda_step_rows &of, int64_t units, const step_place &here,
                           T (&parts)[N])
{
    HKI_UNROLL
    for (int k = 0; k < N; k++)
        parts[k] = element_or_none<T>(of, here.row, k * units + here.unit);
}

template <class T, int N>
HKI_DEVICE void put_parts(const hki_cuda_step_rows &of, int64_t units, const step_place &here,
                          const T (&parts)[N])
{
    if (!of.data)
        return;
    HKI_UNROLL
    for (int k = 0; k < N; k++)
        element<T>(of, here.row, k * units + here.unit) = parts[k];
}

/* ---- kinds --------------------------------------------------------------------------------------------- */

/* A kind's `run`: x, h: sums; state: as in hki_cuda_recurrence_step; y, c: what the step gives. `back`: dy: of y; dcarried: of c, which
 * becomes that of the state before without the weights; dx, dsums: of the sums. */
struct tanh_kind {
    static constexpr int sums = 1, kept = 1;
    static constexpr bool has_c = false, carries_h = false, keeps = false;

    template <class T>
    HKI_DEVICE void run(const T (&x)[sums], const T (&h)[sums], T, T *y, T *, T (&)[kept])
    {
        *y = hki_cell_squash(x[0] + h[0]);
    }
    template <class T>
    HKI_DEVICE void back(const T (&kept_parts)[kept], T, T dy, T *, const T (&)[kept],
                         T (&dx)[sums], T (&)[sums])
    {
        dx[0] = hki_cell_squash_back(kept_parts[0], dy);
    }
};

struct gru_kind {
    static constexpr int sums = HKI_GRU_SUMS, kept = HKI_GRU_KEPT;
    static constexpr bool has_c = false, carries_h = true, keeps = true;

    template <class T>
    HKI_DEVICE void run(const T (&x)[sums], const T (&h)[sums], T state, T *y, T *,
                        T (&kept_parts)[kept])
    {
        hki_cell_gru(x, h, state, y, kept_parts);
    }
    template <class T>
    HKI_DEVICE void back(const T (&kept_parts)[kept], T state, T dy, T *dcarried,
                         const T (&dkept)[kept], T (&dx)[sums], T (&dsums)[sums])
    {
        hki_cell_gru_back(kept_parts, state, dy, dkept, dx, dsums, dcarried);
    }
};

struct lstm_kind {
    static constexpr int sums = HKI_LSTM_SUMS, kept = HKI_LSTM_KEPT;
    static constexpr bool has_c = true, carries_h = false, keeps = true;

    template <class T>
    HKI_DEVICE void run(const T (&x)[sums], const T (&h)[sums], T state, T *y, T *c,
                        T (&kept_parts)[kept])
    {
        hki_cell_lstm(x, h, state, y, c, kept_parts);
    }
    template <class T>
    HKI_DEVICE void back(const T (&kept_parts)[kept], T state, T dy, T *dcarried,
                         const T (&dkept)[kept], T (&dx)[sums], T (&)[sums])
    {
        hki_cell_lstm_back(kept_parts, state, dy, *dcarried, dkept, dx, dcarried);
    }
};

/* ---- kernels ------------------------------------------------------------------------------------------- */

/* What a unit's step takes beside the product: the sums of inputs, the state, and the bias of the state's sums. */
template <class T, int N>
HKI_DEVICE void read_unit(const hki_cuda_recurrence_step &step, const step_place &here, T (&x)[N],
                          T (&bias)[N], T *state)
{
    read_parts(step.x, step.from_h.units, here, x);
    HKI_UNROLL
    for (int k = 0; k < N; k++)
        bias[k] = static_cast<const T *>(step.bias)[k * step.from_h.units + here.unit];
    *state = element_or_none<T>(step.state, here.row, here.unit);
}

template <class Kind, class T>
HKI_KERNEL void HKI_BOUNDS(STEP_THREADS, 2)
    recurrence_forward(const hki_cuda_recurrence_step step, bool is_wide)
{
    const step_place here = step_place_of(step.from_h);
    constexpr bool has_registers = sizeof(T) == sizeof(float); /* to read it meanwhile */
    T x[Kind::sums] = {}, bias[Kind::sums] = {}, h[Kind::sums], state = 0;
    if (has_registers && here.is_within)
        read_unit(step, here, x, bias, &state);
    step_multiply<T, Kind::sums>(step.from_h, here, is_wide, h);
    if (!here.is_within)
        return;
    if (!has_registers)
        read_unit(step, here, x, bias, &state);
    HKI_UNROLL
    for (int k = 0; k < Kind::sums; k++)
        h[k] += bias[k];
    T y, c = 0, kept[Kind::kept];
    Kind::run(x, h, state, &y, &c, kept);
    element<T>(step.h, here.row, here.unit) = y;
    if (Kind::has_c)
        element<T>(step.c, here.row, here.unit) = c;
    if (Kind::keeps)
        put_parts(step.kept, step.from_h.units, here, kept);
}

/* The gradient of the state that a step gives, by the sums of the step behind. */
template <class Kind, class T>
HKI_DEVICE T gradient_of_state(const hki_cuda_recurrence_back_step &step, const step_place &here,
                               bool is_wide)
{
    T result[1] = {0};
    if (!step.from_sums.left.data) /* to all threads alike */
        return 0;
    step_multiply<T, 1>(step.from_sums, here, is_wide, result);
    if (Kind::carries_h && here.is_within)
        result[0] += static_cast<const T *>(step.dh0)[here.row * step.from_sums.units + here.unit];
    return result[0];
}

template <class Kind, class T>
HKI_KERNEL void HKI_BOUNDS(STEP_THREADS, 2)
    recurrence_backward(const hki_cuda_recurrence_back_step step, bool is_wide)
{
    const step_place here = step_place_of(step.from_sums);
    const int64_t units = step.from_sums.units, own = here.row * units + here.unit;
    T kept[Kind::kept] = {}, dkept[Kind::kept] = {}, state = 0, dy = 0, carried = 0;
    T *dh0 = static_cast<T *>(step.dh0), *dc0 = static_cast<T *>(step.dc0);
    if (here.is_within && step.kept.data) { /* read meanwhile */
        read_parts(step.kept, units, here, kept);
        state = element_or_none<T>(step.state, here.row, here.unit);
        dy = element_or_none<T>(step.dh, here.row, here.unit);
        if (Kind::has_c)
            carried = (step.from_sums.left.data ? dc0[own] : T(0)) +
                      element_or_none<T>(step.dc, here.row, here.unit);
    }
    const T dh = gradient_of_state<Kind, T>(step, here, is_wide);
    if (!here.is_within)
        return;
    if (!step.kept.data) {
        dh0[own] = dh;
        return;
    }
    read_parts(step.dkept, units, here, dkept);
    T dx[Kind::sums], dsums[Kind::sums];
    Kind::back(kept, state, dh + dy, &carried, dkept, dx, dsums);
    put_parts(step.dx, units, here, dx);
    if (Kind::carries_h) {
        put_parts(step.dsums, units, here, dsums);
        dh0[own] = carried;
    }
    if (Kind::has_c)
        dc0[own] = carried;
}

/* ---- launches ------------------------------------------------------------------------------------------ */

template <class T> static bool lies_wide(const hki_cuda_step_product *of)
{
    const int64_t of_pack = HKI_CUDA_PACK_BYTES / (int)sizeof(T);
    return of->depth % of_pack == 0 && of->left.row % of_pack == 0 &&
           hki_begins_wide(of->left.data) && hki_begins_wide(of->weight);
}

template <class Kind, class T>
static void launch_forward(hki_cuda_stream *stream, const hki_cuda_recurrence_step *step)
{
    HKI_LAUNCH_TOGETHER(stream, step_grid(&step->from_h), STEP_THREADS,
                        (recurrence_forward<Kind, T>), *step, lies_wide<T>(&step->from_h));
}

template <class Kind, class T>
static void launch_backward(hki_cuda_stream *stream, const hki_cuda_recurrence_back_step *step)
{
    HKI_LAUNCH_TOGETHER(stream, step_grid(&step->from_sums), STEP_THREADS,
                        (recurrence_backward<Kind, T>), *step, lies_wide<T>(&step->from_sums));
}

#define LAUNCH_KIND(launch)                                                                        \
    switch (kind) {                                                                                \
    case HKI_RECURRENCE_GRU:                                                                       \
        return f64 ? launch<gru_kind, double>(stream, step)                                        \
                   : launch<gru_kind, float>(stream, step);                                        \
    case HKI_RECURRENCE_LSTM:                                                                      \
        return f64 ? launch<lstm_kind, double>(stream, step)                                       \
                   : launch<lstm_kind, float>(stream, step);                                       \
    case HKI_RECURRENCE_TANH:                                                                      \
    default:                                                                                       \
        return f64 ? launch<tanh_kind, double>(stream, step)                                       \
                   : launch<tanh_kind, float>(stream, step);                                       \
    }

void hki_cuda_launch_recurrence(hki_cuda_stream *stream, hki_recurrence_kind kind, bool f64,
                                const hki_cuda_recurrence_step *step)
{
    LAUNCH_KIND(launch_forward)
}

void hki_cuda_launch_recurrence_backward(hki_cuda_stream *stream, hki_recurrence_kind kind,
                                         bool f64, const hki_cuda_recurrence_back_step *step)
{
    LAUNCH_KIND(launch_backward)
}
