/* Arithmetic of places between elements, by operators: what interpolate and grid_sample are composed of. */
#ifndef HOCKET_OP_PLACES_H
#define HOCKET_OP_PLACES_H

#include "op/call/composed.h"

/* Of Keys's kernel. */
#define HKI_CUBIC (-0.75)

/* Keys's kernel at distances t: up to 1 where is_near, else from 1 to 2. */
static inline hk_array *hki_cubic_weights(hk_array *t, bool is_near)
{
    const double a = HKI_CUBIC;
    if (is_near)
        return hki_plus(hki_product(hki_product(t, t), hki_plus(hki_times(t, a + 2), -(a + 3))), 1);
    hk_array *inner = hki_plus(hki_product(hki_plus(t, -5), t), 8);
    return hki_times(hki_plus(hki_product(inner, t), -4), a);
}

/* Of tap k of 4, of which the second is at the place or before it, so far along from there to the
 * next. */
static inline hk_array *hki_cubic_tap(hk_array *along, int k)
{
    return hki_cubic_weights(k > 1 ? hki_less(k - 1, along) : hki_plus(along, 1 - k),
                             k == 1 || k == 2);
}

#endif
