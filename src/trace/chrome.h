/* What the writer and the reader of Chrome's trace JSON agree on, beyond the format itself.
 *
 *     {"displayTimeUnit": "ns",
 *      "otherData": {"hocket": version, "format": 1, "title", "duration_ns", ..., "queues", "lanes",
 *                     "counters", "all_reduce": how sums over devices are cut, for forecasts},
 *      "traceEvents": [one event a line]}
 *
 * The events, by "ph":
 *   M    names and order of processes and threads, for viewers only
 *   X    a slice of a call (cat "call,..."), or a wait (cat "wait"), in the thread of its lane; lane by lane in the
 *        order of their starts, the longest first, so that they nest as they come. args of a call's first slice
 *        hold the call, those of others its sequence number; "after" are the sequence numbers of dependencies
 *   s f  a dependency, from the slice that ended the earlier call to the first slice of the later one; for viewers
 *        only. Left out where the earlier one begins later: so it may be between a device that is simulated and
 *        one that is not
 *   i    a call without a slice: it did not run while this was recorded
 *   C    a point of the counter "track"
 *
 * Numbers of calls are sequence numbers everywhere, for these are what failures and summaries name. */
#ifndef HOCKET_TRACE_CHROME_H
#define HOCKET_TRACE_CHROME_H

enum {
    HKI_CHROME_FORMAT = 1,
    HKI_CHROME_FIRST_TID =
        1000 /* of lane 0; no pid is one of them, or it were drawn as that one's main thread */
};

/* "wait" in args of waits, by hki_trace_wait_kind. */
#define HKI_CHROME_WAIT_NAMES                                                                      \
    {                                                                                              \
        "array", "device", "all", "room", "workers"                                                \
    }

#endif
