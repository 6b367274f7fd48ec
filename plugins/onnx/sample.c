/* Values between elements: those around a place, times weights. */
#include "compute.h"
#include "image.h"

#include <math.h>

enum { MOST_TAPS = 4 };

/* Along one axis: the elements around each place, and their weights; NULL: 1. */
typedef struct taps {
    int count;
    hk_array *entries[MOST_TAPS]; /* (n, p) int64, within the axis */
    hk_array *weights[MOST_TAPS]; /* (n, p) */
    hk_array *inside[MOST_TAPS];  /* (n, p) bool, where others count as 0; NULL: all are */
} taps;

static hk_array *number(double value, hk_array *like)
{
    return onnx_number_like(value, like);
}

/* ((a u + b) u + c) u + d */
static hk_array *cubic(hk_array *u, double a, double b, double c, double d)
{
    hk_array *y = hk_add(hk_multiply(u, number(a, u)), number(b, u));
    y = hk_add(hk_multiply(y, u), number(c, u));
    return hk_add(hk_multiply(y, u), number(d, u));
}

/* Keys' cubic of a = -0.75 at the distances 1 + t, t, 1 - t and 2 - t. */
static void cubic_weights(hk_array *t, hk_array **weights)
{
    const double a = -.75;
    hk_array *one = number(1, t), *rest = hk_subtract(one, t);
    weights[0] = cubic(hk_add(t, one), a, -5 * a, 8 * a, -4 * a);
    weights[1] = cubic(t, a + 2, -(a + 3), 0, 1);
    weights[2] = cubic(rest, a + 2, -(a + 3), 0, 1);
    weights[3] = cubic(hk_add(rest, one), a, -5 * a, 8 * a, -4 * a);
}

/* Where low … high goes on in both directions as in mirrors. */
static hk_array *mirrored(hk_array *place, double low, double high)
{
    if (high <= low)
        return hk_full_like(place, low);
    hk_array *turn = number(2 * (high - low), place);
    hk_array *from_low = hk_remainder(hk_abs(hk_subtract(place, number(low, place))), turn);
    return hk_add(hk_minimum(from_low, hk_subtract(turn, from_low)), number(low, place));
}

static hk_array *reflected(hk_array *place, int64_t size, onnx_beyond beyond)
{
    const double end = (double)size;
    return beyond == ONNX_MIRROR ? mirrored(place, -.5, end - .5) : mirrored(place, 0, end - 1);
}

/* The tap at a whole number. */
static void put_tap(taps *self, hk_array *at, int64_t size, onnx_beyond beyond)
{
    const double last = (double)size - 1;
    const int i = self->count++;
    self->inside[i] = NULL;
    if (beyond == ONNX_ZEROS)
        self->inside[i] = hk_logical_and(hk_greater_equal(at, number(0, at)),
                                         hk_less_equal(at, number(last, at)));
    else if (beyond != ONNX_EDGES)
        at = reflected(at, size, beyond);
    self->entries[i] = hk_cast(hk_clip(at, 0, last), HK_I64);
}

static taps taps_of(hk_array *place, int64_t size, onnx_between between, onnx_beyond beyond)
{
    taps self = {0};
    if (between == ONNX_NEAREST)
        place = hk_round(place);
    /* A cubic goes on beyond the edges, its elements do not. */
    if (beyond == ONNX_EDGES && between != ONNX_CUBIC)
        place = hk_clip(place, 0, (double)size - 1);
    else if (beyond == ONNX_MIRROR || beyond == ONNX_MIRROR_MIDDLE)
        place = reflected(place, size, beyond);
    /* Far beyond x all is alike; indices are to stay small. */
    place = hk_clip(place, -4, (double)size + 4);
    if (between == ONNX_NEAREST) {
        put_tap(&self, hk_round(place), size, beyond);
        return self;
    }
    hk_array *base = hk_floor(place), *t = hk_subtract(place, base);
    const int first = between == ONNX_LINEAR ? 0 : -1, count = between == ONNX_LINEAR ? 2 : 4;
    for (int i = 0; i < count; i++)
        put_tap(&self, hk_add(base, number(first + i, base)), size, beyond);
    if (between == ONNX_LINEAR) {
        self.weights[0] = hk_subtract(number(1, t), t);
        self.weights[1] = t;
    } else {
        cubic_weights(t, self.weights);
    }
    return self;
}

/* (n, p) as (n, channels, p) */
static hk_array *for_channels(hk_array *x, int64_t channels)
{
    const int64_t n = hk_dim(x, 0), p = hk_dim(x, 1);
    return hk_broadcast_to(hk_reshape(x, hk_shape(n, 1, p)), hk_shape(n, channels, p));
}

static hk_array *both(hk_array *x, hk_array *y, hk_array *(*join)(hk_array *, hk_array *))
{
    return !x ? y : !y ? x : join(x, y);
}

static hk_array *multiply(hk_array *x, hk_array *y)
{
    return hk_multiply(x, y);
}

static hk_array *logical_and(hk_array *x, hk_array *y)
{
    return hk_logical_and(x, y);
}

/* One of the elements around each place, times its weight. */
static hk_array *corner(hk_array *planes, const hk_dims *shape, const taps *axes, const int *chosen)
{
    hk_array *entry = NULL, *weight = NULL, *inside = NULL;
    for (int i = 0; i < shape->ndim - 2; i++) {
        const taps *axis = &axes[i];
        const int k = chosen[i];
        if (entry)
            entry = hk_multiply(entry, hk_full(hk_shape(), (double)shape->dims[i + 2], HK_I64,
                                               hk_array_device(entry)));
        entry = entry ? hk_add(entry, axis->entries[k]) : axis->entries[k];
        weight = both(weight, axis->weights[k], multiply);
        inside = both(inside, axis->inside[k], logical_and);
    }
    hk_array *y = hk_take_along_axis(planes, for_channels(entry, shape->dims[1]), 2);
    if (inside)
        y = hk_where(for_channels(inside, shape->dims[1]), y, number(0, y));
    if (weight)
        y = hk_multiply(y, for_channels(onnx_to(weight, hk_array_dtype(y)), shape->dims[1]));
    return y;
}

hk_array *onnx_sample(hk_array *x, hk_array *const *places, onnx_between between,
                      onnx_beyond beyond)
{
    const hk_dims shape = hk_dims_get(x);
    const int ndim = shape.ndim - 2;
    taps axes[ONNX_MOST_SPACE];
    int chosen[ONNX_MOST_SPACE] = {0}, corners = 1;
    for (int i = 0; i < ndim; i++) {
        axes[i] = taps_of(places[i], shape.dims[i + 2], between, beyond);
        corners *= axes[i].count;
    }
    hk_array *planes =
        hk_reshape(x, hk_shape(shape.dims[0], shape.dims[1], onnx_product(shape, 2, shape.ndim)));
    hk_array *sum = NULL;
    for (int c = 0; c < corners; c++) {
        for (int i = ndim - 1, rest = c; i >= 0; rest /= axes[i--].count)
            chosen[i] = rest % axes[i].count;
        hk_array *one = corner(planes, &shape, axes, chosen);
        sum = sum ? hk_add(sum, one) : one;
    }
    return sum;
}
