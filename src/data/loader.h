/* Inside of loaders. */
#ifndef HOCKET_DATA_LOADER_H
#define HOCKET_DATA_LOADER_H

#include <hocket/data.h>

/* NULL, or why hk_loader_seek would refuse the position, counted. */
const hk_status *hki_loader_check(const hk_loader *self, const hk_loader_position *position);

#endif
