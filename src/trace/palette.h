/* Colours of calls in pictures: the same operation has the same colour in all of them. */
#ifndef HOCKET_TRACE_PALETTE_H
#define HOCKET_TRACE_PALETTE_H

#include "trace/timeline.h"

/* 0xRRGGBB, light enough for dark text. Related operations have related colours; calls of the backward pass are
 * deeper, copies are grey, collectives orange. */
uint32_t hki_call_colour(const hki_timeline *timeline, const hki_call_event *call);
/* Whether it only moves data: by its queue, or by its name. */
bool hki_call_is_copy(const hki_timeline *timeline, const hki_call_event *call);
/* `share` of `colour` and the rest of `other`, in hundredths. */
uint32_t hki_mix_colours(uint32_t colour, uint32_t other, int share);

#endif
