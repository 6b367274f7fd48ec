/* Reads topologies. The text may be anything, so every member is checked, and one that is not known is refused. */
#include "forecast/topology.h"

#include "base/quote.h"
#include "base/status.h"
#include "base/text.h"
#include "base/whole_file.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT = 1, MOST_BYTES = 1 << 20 };

static const char operation[] = "topology_read";

const char *const hki_collective_names[HKI_COLLECTIVE_KINDS] = {
    [HKI_COLLECTIVE_RING] = "ring",     [HKI_COLLECTIVE_DIRECT] = "direct",
    [HKI_COLLECTIVE_TREE] = "tree",     [HKI_COLLECTIVE_HALVING] = "halving",
    [HKI_COLLECTIVE_BEST] = "best",     [HKI_COLLECTIVE_HIERARCHICAL] = "hierarchical",
    [HKI_COLLECTIVE_COPIES] = "copies",
};

typedef struct reader {
    const hk_status *status; /* counted; of what was wrong first */
    char where[32];          /* "", or "level 2: messages: " */
} reader;

/* ---- messages --------------------------------------------------------------------------------------- */

/* False. The message may quote the text. */
HK_PRINTF(2, 3)
static bool fail(reader *self, const char *format, ...)
{
    char message[400];
    va_list args;
    if (self->status)
        return false;
    va_start(args, format);
    hki_format_va(message, sizeof message, format, args);
    va_end(args);
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = '?';
    self->status = hki_status_create(HK_BAD_DATA, &(hki_status_facts){.operation = operation},
                                     "%s%s", self->where, message);
    return false;
}

/* The value as it stands in the text, cut where it is long. */
static hki_quoted quote(const json_t *value)
{
    char *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    const hki_quoted quoted = hki_quote(dumped ? dumped : "something else", 43);
    free(dumped);
    return quoted;
}

static bool fail_value(reader *self, const char *key, const json_t *value, const char *expected)
{
    if (!value)
        return fail(self, "\"%s\" is missing; expected %s", key, expected);
    return fail(self, "\"%s\" is %s; expected %s", key, quote(value).text, expected);
}

/* ---- members ---------------------------------------------------------------------------------------- */

/* Members that are not among `keys` are refused. */
static bool check_keys(reader *self, const json_t *object, const char *const *keys, int key_count)
{
    void *iterator = json_object_iter((json_t *)(uintptr_t)object);
    for (; iterator; iterator = json_object_iter_next((json_t *)(uintptr_t)object, iterator)) {
        const char *key = json_object_iter_key(iterator);
        char known[300] = "";
        int used = 0, i = 0;
        while (i < key_count && strcmp(keys[i], key))
            i++;
        if (i < key_count)
            continue;
        for (i = 0; i < key_count; i++)
            used +=
                snprintf(known + used, sizeof known - (size_t)used, "%s%s", i ? ", " : "", keys[i]);
        return fail(self, "there is no key \"%s\"; expected one of %s", hki_quote(key, 40).text,
                    known);
    }
    return true;
}

/* A number from low to high; as it was where it is missing and need not be there. */
static bool get_number(reader *self, const json_t *object, const char *key, bool is_needed,
                       double low, double high, double *result)
{
    const json_t *value = json_object_get(object, key);
    const double number = json_is_number(value) ? json_number_value(value) : NAN;
    char expected[96];
    if (!value && !is_needed)
        return true;
    if (number >= low && number <= high) {
        *result = number;
        return true;
    }
    hki_format(expected, sizeof expected, "a number from %g to %g", low, high);
    return fail_value(self, key, value, expected);
}

static bool get_integer(reader *self, const json_t *object, const char *key, int low, int high,
                        int *result)
{
    const json_t *value = json_object_get(object, key);
    char expected[96];
    if (json_is_integer(value) && json_integer_value(value) >= low &&
        json_integer_value(value) <= high) {
        *result = (int)json_integer_value(value);
        return true;
    }
    snprintf(expected, sizeof expected, "a whole number from %d to %d", low, high);
    return fail_value(self, key, value, expected);
}

static bool get_name(reader *self, const json_t *object, char *name, size_t bytes)
{
    const json_t *value = json_object_get(object, "name");
    char expected[64];
    if (!value)
        return true;
    if (json_is_string(value) && json_string_length(value) < bytes && json_string_length(value)) {
        snprintf(name, bytes, "%s", json_string_value(value));
        for (char *c = name; *c; c++)
            if ((unsigned char)*c < 0x20 || *c == 0x7F)
                *c = '?';
        return true;
    }
    snprintf(expected, sizeof expected, "a text of 1 to %zu bytes", bytes - 1);
    return fail_value(self, "name", value, expected);
}

static bool get_collective(reader *self, const json_t *object, bool is_level,
                           hki_collective_kind *result)
{
    const json_t *value = json_object_get(object, "collective");
    if (!value)
        return true;
    for (int i = 0; json_is_string(value) && i < HKI_COLLECTIVE_KINDS; i++)
        if (!strcmp(json_string_value(value), hki_collective_names[i]) &&
            (is_level ? i <= HKI_COLLECTIVE_BEST
                      : i <= HKI_COLLECTIVE_DIRECT || i > HKI_COLLECTIVE_BEST)) {
            *result = (hki_collective_kind)i;
            return true;
        }
    return fail_value(self, "collective", value,
                      is_level ? "\"best\", \"ring\", \"direct\", \"tree\" or \"halving\""
                               : "\"hierarchical\", \"ring\", \"direct\" or \"copies\"");
}

/* ---- levels ----------------------------------------------------------------------------------------- */

#define MOST_RATE  1e18
#define MOST_NS    1e12
#define MOST_CORES 1e6

static const char messages_form[] =
    "a list of 2 to 32 sizes, rising: [{\"bytes\": 65536, \"ns\": 90000}, ...]";

/* The line through the first two gives what no bytes take. */
static void extend_to_none(hki_level *level)
{
    const hki_message *first = &level->messages[1], *second = first + 1;
    const double slope = (second->ns - first->ns) / (second->bytes - first->bytes);
    level->latency_ns = fmax(0, first->ns - slope * first->bytes);
    level->messages[0] = (hki_message){.ns = level->latency_ns};
}

/* One size of "messages", behind those that are there. */
static bool read_message(reader *self, const json_t *object, hki_level *level)
{
    static const char *const keys[] = {"bytes", "ns"};
    hki_message *its = &level->messages[level->message_count];
    const size_t length = strlen(self->where);
    if (!json_is_object(object))
        return fail_value(self, "messages", object, messages_form);
    snprintf(self->where + length, sizeof self->where - length, "messages: ");
    if (!check_keys(self, object, keys, 2) ||
        !get_number(self, object, "bytes", true, 1, MOST_RATE, &its->bytes) ||
        !get_number(self, object, "ns", true, 0, MOST_NS, &its->ns))
        return false;
    for (int i = 0; level->message_count > 1 && i < 2; i++) {
        char expected[64];
        const double before = i ? its[-1].ns : its[-1].bytes;
        hki_format(expected, sizeof expected, "more than the %.17g of the size before", before);
        if (!((i ? its->ns : its->bytes) > before))
            return fail_value(self, keys[i], json_object_get(object, keys[i]), expected);
    }
    self->where[length] = '\0';
    level->message_count++;
    return true;
}

/* "messages" says what latency and rate do, by size. */
static bool read_messages(reader *self, const json_t *level_object, const json_t *list,
                          hki_level *level)
{
    static const char *const others[] = {"bytes_per_second", "latency_ns"};
    const size_t count = json_array_size(list);
    for (int i = 0; i < 2; i++) {
        const json_t *other = json_object_get(level_object, others[i]);
        if (other)
            return fail_value(self, others[i], other, "none beside \"messages\"");
    }
    if (!json_is_array(list) || count < 2 || count > HKI_LEVEL_MESSAGES)
        return fail_value(self, "messages", list, messages_form);
    level->message_count = 1; /* the one without bytes */
    for (size_t i = 0; i < count; i++)
        if (!read_message(self, json_array_get(list, i), level))
            return false;
    extend_to_none(level);
    return true;
}

/* What messages take over a link. */
static bool read_link(reader *self, const json_t *object, hki_level *level)
{
    const json_t *list = json_object_get(object, "messages");
    level->latency_ns = level->bytes_per_second = 0;
    level->message_count = 0;
    if (list)
        return read_messages(self, object, list, level);
    return get_number(self, object, "bytes_per_second", true, 1, MOST_RATE,
                      &level->bytes_per_second) &&
           get_number(self, object, "latency_ns", false, 0, MOST_NS, &level->latency_ns);
}

static bool read_level(reader *self, const json_t *object, hki_level *level)
{
    static const char *const keys[] = {"name",       "children",        "bytes_per_second",
                                       "latency_ns", "collective",      "switch_bytes_per_second",
                                       "cores",      "cpu_ns_per_byte", "cpu_ns_per_message",
                                       "messages"};
    level->collective = HKI_COLLECTIVE_BEST;
    level->switch_bytes_per_second = level->cores = INFINITY;
    level->cpu_ns_per_byte = level->cpu_ns_per_message = 0;
    if (!json_is_object(object))
        return fail_value(self, "levels", object, "a list of objects");
    return check_keys(self, object, keys, sizeof keys / sizeof *keys) &&
           get_name(self, object, level->name, sizeof level->name) &&
           get_integer(self, object, "children", 1, HKI_TOPOLOGY_DEVICES, &level->children) &&
           read_link(self, object, level) &&
           get_number(self, object, "switch_bytes_per_second", false, 1, MOST_RATE,
                      &level->switch_bytes_per_second) &&
           get_number(self, object, "cores", false, 0.01, MOST_CORES, &level->cores) &&
           get_number(self, object, "cpu_ns_per_byte", false, 0, MOST_NS,
                      &level->cpu_ns_per_byte) &&
           get_number(self, object, "cpu_ns_per_message", false, 0, MOST_NS,
                      &level->cpu_ns_per_message) &&
           get_collective(self, object, true, &level->collective);
}

static bool read_levels(reader *self, const json_t *root, hk_topology *topology)
{
    const json_t *list = json_object_get(root, "levels");
    const size_t count = json_array_size(list);
    if (!json_is_array(list) || count < 1 || count > HKI_TOPOLOGY_LEVELS)
        return fail_value(self, "levels", list,
                          "a list of 1 to 8 levels, from the devices outwards");
    topology->devices = 1;
    for (size_t i = 0; i < count; i++) {
        hki_level *level = &topology->levels[i];
        snprintf(self->where, sizeof self->where, "level %zu: ", i + 1);
        snprintf(level->name, sizeof level->name, "level %zu", i + 1);
        if (!read_level(self, json_array_get(list, i), level))
            return false;
        topology->devices *= level->children;
        if (topology->devices > HKI_TOPOLOGY_DEVICES)
            return fail(self,
                        "\"children\" is %d, which makes more than %d devices; expected fewer",
                        level->children, HKI_TOPOLOGY_DEVICES);
    }
    topology->level_count = (int)count;
    self->where[0] = '\0';
    return true;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static bool read_device(reader *self, const json_t *root, hk_topology *topology)
{
    static const char *const keys[] = {"speed", "launch_ns", "memory_bytes_per_second", "flops",
                                       "cores"};
    const json_t *device = json_object_get(root, "device");
    if (!device)
        return true;
    if (!json_is_object(device))
        return fail_value(self, "device", device, "an object");
    snprintf(self->where, sizeof self->where, "device: ");
    if (!check_keys(self, device, keys, sizeof keys / sizeof *keys) ||
        !get_number(self, device, "speed", false, 1e-6, 1e6, &topology->speed) ||
        !get_number(self, device, "launch_ns", false, 0, MOST_NS, &topology->launch_ns) ||
        !get_number(self, device, "cores", false, 0, MOST_CORES, &topology->cores) ||
        !get_number(self, device, "memory_bytes_per_second", false, 1, MOST_RATE,
                    &topology->memory_bytes_per_second) ||
        !get_number(self, device, "flops", false, 1, MOST_RATE, &topology->flops))
        return false;
    self->where[0] = '\0';
    return true;
}

static bool read_root(reader *self, const json_t *root, hk_topology *topology)
{
    static const char *const keys[] = {"hocket_topology", "name",   "collective",
                                       "bucket_bytes",    "device", "levels"};
    int format;
    if (!json_is_object(root))
        return fail(self, "found no object; expected a topology: {\"hocket_topology\": 1, ...}");
    return get_integer(self, root, "hocket_topology", FORMAT, FORMAT, &format) &&
           check_keys(self, root, keys, sizeof keys / sizeof *keys) &&
           get_name(self, root, topology->name, sizeof topology->name) &&
           get_collective(self, root, false, &topology->collective) &&
           get_number(self, root, "bucket_bytes", false, 0, MOST_RATE, &topology->bucket_bytes) &&
           read_device(self, root, topology) && read_levels(self, root, topology);
}

static bool parse(reader *self, const char *text, size_t bytes, hk_topology *topology)
{
    json_error_t error;
    if (bytes > MOST_BYTES)
        return fail(self, "the text has %zu bytes; expected %d at most", bytes, MOST_BYTES);
    json_t *root = json_loadb(bytes ? text : "", bytes, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return fail(self, "line %d: no JSON: %s", error.line, error.text);
    const bool is_good = read_root(self, root, topology);
    json_decref(root);
    return is_good;
}

static void set_status(const hk_status **status, const hk_status *error)
{
    if (status)
        *status = hki_status_lend(error ? error : hki_status_ok());
    else
        hk_status_release(error);
}

hk_topology *hk_topology_parse(const char *text, size_t bytes, const hk_status **status)
{
    reader self = {0};
    hk_topology *topology = calloc(1, sizeof *topology);
    if (topology) {
        atomic_init(&topology->refs, 1);
        snprintf(topology->name, sizeof topology->name, "a topology without a name");
        topology->collective = HKI_COLLECTIVE_HIERARCHICAL;
        topology->speed = 1;
        topology->memory_bytes_per_second = topology->flops = INFINITY;
    } else {
        self.status = hki_status_no_memory();
    }
    if (topology && !text)
        fail(&self, "the text is NULL; expected a topology");
    if (self.status || !parse(&self, text, bytes, topology)) {
        free(topology);
        topology = NULL;
    }
    set_status(status, self.status);
    return topology;
}

hk_topology *hk_topology_read(const char *path, const hk_status **status)
{
    const hk_status *error = NULL;
    size_t bytes = 0;
    char *text = NULL;
    if (!path || !*path)
        error = hki_status_create(HK_INVALID_ARGUMENT, &(hki_status_facts){.operation = operation},
                                  "the path is %s; expected a file's", path ? "empty" : "NULL");
    else
        text = hki_whole_file_read(operation, path, &bytes, &error);
    if (!text) {
        set_status(status, error);
        return NULL;
    }
    hk_topology *topology = hk_topology_parse(text, bytes, status);
    free(text);
    return topology;
}

hk_topology *hk_topology_retain(hk_topology *topology)
{
    if (topology)
        atomic_fetch_add_explicit(&topology->refs, 1, memory_order_relaxed);
    return topology;
}

void hk_topology_release(hk_topology *topology)
{
    if (topology && atomic_fetch_sub_explicit(&topology->refs, 1, memory_order_acq_rel) == 1)
        free(topology);
}

int64_t hk_topology_devices(const hk_topology *topology)
{
    return topology ? topology->devices : 0;
}
