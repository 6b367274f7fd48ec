/* Shared by the files of pipelines. */
#ifndef HOCKET_SPLIT_PIPELINE_H
#define HOCKET_SPLIT_PIPELINE_H

#include <hocket/split.h>

/* Step `index`, from 0 to 2 * batches - 1, of what one stage does. */
hk_pipeline_step hki_pipeline_step_of(hk_pipeline_order order, int stages, int batches, int stage,
                                      int index);

#endif
