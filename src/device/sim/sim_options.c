/* What HOCKET_SIM and hk_sim_options say of simulated devices. */
#include "base/option.h"
#include "base/quote.h"
#include "base/text.h"
#include "device/sim/sim_device.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum unit { RATE, RATIO, TIME, PEER, BYTES } unit;

/* Fields in the order of hk_sim_options, which says where the defaults are from; one of 0 stands
 * for what `complete` says. */
typedef struct field {
    const char *name, *member;
    unit unit;
    size_t offset;
    double standard;
} field;

#define FIELD(name, member, unit, standard)                                                        \
    {                                                                                              \
        name, #member, unit, offsetof(hk_sim_options, member), standard                            \
    }
static const field fields[] = {
    FIELD("flops", flops, RATE, 1.27e13),
    FIELD("factor", factor, RATIO, 0),
    FIELD("memory_bandwidth", memory_bandwidth, RATE, 7.5e11),
    FIELD("launch", launch_ns, TIME, 10000),
    FIELD("link", link_bandwidth, RATE, 1.2e10),
    FIELD("latency", link_latency_ns, TIME, 10000),
    FIELD("peer", peer_bandwidth, PEER, 0),
    FIELD("staging", staging_bandwidth, RATE, 1.485e9),
    FIELD("memory", memory_bytes, BYTES, (double)((uint64_t)16 << 30)),
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields, MAX_COUNT = 64 };

#define MAX_RATE         1e18
#define MAX_TIME_NS      1e12
#define MIN_MEMORY_BYTES (64 << 10)
#define MAX_MEMORY_BYTES ((uint64_t)1 << 42)

static const char *expected(const field *self)
{
    switch (self->unit) {
    case RATE:
        return "a number from 1 to 1e18, such as 20G, or 0 for the default";
    case RATIO:
        return "a number from 1e-6 to 1e6, such as 0.5, or 0 for none";
    case TIME:
        return "a time from 0 to 1000 s, such as 10us";
    case PEER:
        return "a number from 1 to 1e18, such as 20G, none (below 0) for no peer link, or 0 for "
               "that of the "
               "link";
    default:
        return "a size from 64K to 4096G, or 0 for the default";
    }
}

static double *number_of(hk_sim_options *options, const field *self)
{
    return (double *)(void *)((char *)options + self->offset);
}

static bool is_valid(const field *self, double value)
{
    switch (self->unit) {
    case RATE:
        return value == 0 || (value >= 1 && value <= MAX_RATE);
    case RATIO:
        return value == 0 || (value >= 1e-6 && value <= 1e6);
    case TIME:
        return value >= 0 && value <= MAX_TIME_NS;
    case PEER:
        return value <= 0 || (value >= 1 && value <= MAX_RATE);
    default:
        return value == 0 || (value >= MIN_MEMORY_BYTES && value <= (double)MAX_MEMORY_BYTES);
    }
}

const hk_status *hki_sim_options_complete(hk_sim_options *options)
{
    const hki_status_facts facts = {.operation = "runtime_init"};
    hk_sim_options complete = *options;
    if (options->count < 0 || options->count > MAX_COUNT)
        return hki_status_create(HK_INVALID_ARGUMENT, &facts,
                                 "option sim.count is %d; expected 1 to %d, or 0 for 1",
                                 options->count, MAX_COUNT);
    if (!complete.count)
        complete.count = 1;
    for (int i = 0; i < FIELD_COUNT; i++) {
        const field *self = &fields[i];
        double value =
            self->unit == BYTES ? (double)complete.memory_bytes : *number_of(&complete, self);
        if (!is_valid(self, value))
            return hki_status_create(HK_INVALID_ARGUMENT, &facts,
                                     "option sim.%s is %g; expected %s", self->member, value,
                                     expected(self));
        if (value != 0)
            continue;
        if (self->unit == BYTES)
            complete.memory_bytes = (uint64_t)self->standard;
        else
            *number_of(&complete, self) =
                self->unit == TIME ? hki_option_or(value, self->standard) + 0.0 : self->standard;
    }
    if (complete.peer_bandwidth == 0)
        complete.peer_bandwidth = complete.link_bandwidth;
    *options = complete;
    return NULL;
}

/* ---- text -------------------------------------------------------------------------------------------------- */

static double factor_of(char letter, double base)
{
    const char *letters = "KMGT", *at = letter ? strchr(letters, letter) : NULL;
    return at ? pow(base, (double)(at - letters + 1)) : 0;
}

/* A number with its unit at the whole of `text`; false: there is something else. A time of 0 becomes HK_ZERO. */
static bool read_value(const field *self, const char *text, double *value)
{
    char *end;
    if (self->unit == PEER && !strcmp(text, "none")) {
        *value = -1;
        return true;
    }
    errno = 0;
    double number = hki_read_double(text, &end);
    if (end == text || errno || !isfinite(number) || number < 0)
        return false;
    double factor = 1;
    if (self->unit == TIME) {
        factor = !strcmp(end, "ns")     ? 1
                 : !strcmp(end, "us")   ? 1e3
                 : !strcmp(end, "ms")   ? 1e6
                 : !strcmp(end, "s")    ? 1e9
                 : !*end && number == 0 ? 1
                                        : 0;
    } else if (*end) {
        factor = end[1] ? 0 : factor_of(*end, self->unit == BYTES ? 1024 : 1000);
    }
    if (factor == 0)
        return false;
    *value = number * factor;
    if (self->unit == TIME && *value == 0)
        *value = HK_ZERO;
    return true;
}

static const hk_status *text_error(const char *text, const char *part, const char *wanted)
{
    const hki_status_facts facts = {.operation = "runtime_init"};
    return hki_status_create(HK_INVALID_ARGUMENT, &facts,
                             "environment variable HOCKET_SIM is \"%s\"; at \"%s\" expected %s",
                             hki_quote(text, 100).text, hki_quote(part, 40).text, wanted);
}

/* "link=4G" */
static const hk_status *parse_field(const char *text, char *part, hk_sim_options *options)
{
    char *sign = strchr(part, '=');
    for (int i = 0; sign && i < FIELD_COUNT; i++) {
        const field *self = &fields[i];
        double value;
        if (strlen(self->name) != (size_t)(sign - part) ||
            strncmp(self->name, part, (size_t)(sign - part)))
            continue;
        if (!read_value(self, sign + 1, &value) || !is_valid(self, value))
            return text_error(text, part, expected(self));
        if (self->unit == BYTES)
            options->memory_bytes = (uint64_t)value;
        else
            *number_of(options, self) = value;
        return NULL;
    }
    return text_error(text, part,
                      "NAME=VALUE, the name one of flops, factor, memory_bandwidth, launch, link, "
                      "latency, peer, staging, memory");
}

/* "2:flops=20G,link=4G" */
static const hk_status *parse_group(const char *text, char *part, hk_sim_options *options)
{
    char *end, *next;
    *options = (hk_sim_options){0};
    long count = strtol(part, &end, 10);
    if (end == part || (*end && *end != ':') || count < 1 || count > MAX_COUNT)
        return text_error(text, part, "a number of devices from 1 to 64, such as 2 or 2:flops=20G");
    options->count = (int)count;
    const hk_status *error = NULL;
    for (char *at = *end ? end + 1 : NULL; at && !error; at = next) {
        next = strchr(at, ',');
        if (next)
            *next++ = '\0';
        error = parse_field(text, at, options);
    }
    return error;
}

const hk_status *hki_sim_options_parse(const char *text, hk_sim_options groups[HKI_SIM_MAX_GROUPS],
                                       int *count)
{
    *count = 0;
    if (!text || !*text)
        return NULL;
    char *copy = strdup(text), *next;
    const hk_status *error = NULL;
    if (!copy)
        return hki_status_create(HK_OUT_OF_MEMORY, NULL, "no host memory to read HOCKET_SIM");
    for (char *at = copy; at && !error; at = next) {
        next = strchr(at, ';');
        if (next)
            *next++ = '\0';
        if (*count == HKI_SIM_MAX_GROUPS)
            error = text_error(text, at, "at most 16 groups");
        else
            error = parse_group(text, at, &groups[(*count)++]);
    }
    free(copy);
    return error;
}
