#include "op/call/capture.h"

_Thread_local hki_capture *hki_capturing;
hki_capture_hooks hki_capture_hook;
atomic_bool hki_capture_has_ranks;
