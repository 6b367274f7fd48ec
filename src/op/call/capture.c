#include "op/call/capture.h"

_Thread_local hki_capture *hki_capturing;
atomic_bool hki_capture_has_ranks;
