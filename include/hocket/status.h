/* Status records: what failed, where, on what device, from which line of the program.
 *
 * A record is immutable after create and thread-safe to read. Functions that return a
 * `const hk_status *` never return NULL. What they return is borrowed: it stays valid until the same
 * thread's next call of a function that returns a status; hk_status_retain keeps it longer. */
#ifndef HOCKET_STATUS_H
#define HOCKET_STATUS_H

#include <hocket/base.h>
#include <stdio.h>

HK_BEGIN_DECLS

typedef enum hk_code {
    HK_OK = 0,
    HK_INVALID_ARGUMENT, /* a shape, dtype, device or option that the call cannot take */
    HK_OUT_OF_RANGE,     /* an index, axis or label beyond its bounds */
    HK_OUT_OF_MEMORY,    /* a device or the host could not give the bytes asked for */
    HK_NOT_FOUND,        /* no such device, file, operator or data set */
    HK_UNSUPPORTED,      /* valid, but not on this device, for this dtype, or without a gradient */
    HK_BAD_DATA,         /* a file or value from outside that is not what it claims to be */
    HK_IO,               /* the operating system refused to read or write */
    HK_DEVICE_LOST,      /* the device stopped working */
    HK_CANCELLED,        /* the runtime ended before the call ran */
    HK_FORKED,           /* the handle belongs to the process that forked this one */
    HK_WOULD_DEADLOCK,   /* waiting inside a task */
    HK_INJECTED,         /* a failure that a test asked for */
    HK_TIMEOUT,          /* not yet: a wait with a time limit reached it; nothing has failed */
    HK_INTERRUPTED       /* a hook ended the wait (hk_wait_hooks); nothing has failed */
} hk_code;

typedef struct hk_status hk_status;

/* True when nothing failed. All functions take NULL for a failure that says so. */
HK_API bool hk_ok(const hk_status *status);
HK_API hk_code hk_status_code(const hk_status *status);
/* Text for people: what was wrong and what would be right; "ok" when nothing failed. */
HK_API const char *hk_status_message(const hk_status *status);
/* Name of the operation that failed first; "" when there is none. */
HK_API const char *hk_status_operation(const hk_status *status);
/* Device on which it ran, such as "cpu:0"; "" when there is none. */
HK_API const char *hk_status_device(const hk_status *status);
/* Shapes and dtypes of the inputs, such as "float32(2,3), float32(4,)"; "" when there are none. */
HK_API const char *hk_status_inputs(const hk_status *status);
/* Source position of the call; "" and 0 when it is not known. */
HK_API const char *hk_status_file(const hk_status *status);
HK_API int hk_status_line(const hk_status *status);
/* Place of the call in the total order of all issued calls, from 1; 0 when it was never issued. */
HK_API uint64_t hk_status_sequence(const hk_status *status);
/* How many root failures the snapshot stands for (see hk_wait_all): 0 when nothing failed, 1 for the
 * record of one array. */
HK_API uint64_t hk_status_count(const hk_status *status);
/* "invalid argument" and so on. Static text. */
HK_API const char *hk_code_name(hk_code code);

/* Prints the record as one or more lines; returns 0 for an ok status and 1 for a failure, so that main
 * can return it. */
HK_API int hk_status_print(const hk_status *status, FILE *stream);

HK_API const hk_status *hk_status_retain(const hk_status *status);
HK_API void hk_status_release(const hk_status *status);

HK_END_DECLS

#endif
