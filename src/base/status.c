#include "base/status.h"
#include "base/quote.h"
#include "base/text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct hk_status {
    atomic_uint refs; /* 0: static, never freed */
    hk_code code;
    int line;
    uint64_t sequence, count;
    const char *message, *operation, *device, *inputs, *file; /* into text, or static */
    char text[];
};

static struct hk_status ok_status = {
    .code = HK_OK, .message = "ok", .operation = "", .device = "", .inputs = "", .file = ""};
static struct hk_status no_memory_status = {.code = HK_OUT_OF_MEMORY,
                                            .count = 1,
                                            .message = "out of host memory for an error record",
                                            .operation = "",
                                            .device = "",
                                            .inputs = "",
                                            .file = ""};

/* What NULL is taken for. */
static const struct hk_status null_status = {.code = HK_INVALID_ARGUMENT,
                                             .count = 1,
                                             .message = "the status is NULL",
                                             .operation = "",
                                             .device = "",
                                             .inputs = "",
                                             .file = ""};

static pthread_key_t lent_key;
static pthread_once_t lent_once = PTHREAD_ONCE_INIT;

const hk_status *hki_status_ok(void)
{
    return &ok_status;
}

const hk_status *hki_status_no_memory(void)
{
    return &no_memory_status;
}

/* Whatever a message quotes, records are text for every reader: terminals, JSON, Python. */
static const char *text_append(char **end, const char *text)
{
    char *start = *end;
    *end += hki_mend_text(start, SIZE_MAX, text);
    return start;
}

/* A path opens its file only with the bytes that it has. */
static const char *path_append(char **end, const char *path)
{
    char *start = *end;
    size_t bytes = strlen(path) + 1;
    memcpy(start, path, bytes);
    *end += bytes;
    return start;
}

const hk_status *hki_status_create_va(hk_code code, const hki_status_facts *facts,
                                      const char *format, va_list args)
{
    char message[2048];
    int written = hki_format_va(message, sizeof message, format, args);
    if (written < 0)
        message[0] = '\0';
    const char *operation = facts && facts->operation ? facts->operation : "";
    const char *device = facts && facts->device ? facts->device : "";
    const char *inputs = facts && facts->inputs ? facts->inputs : "";
    const char *file = facts && facts->file ? facts->file : "";
    struct hk_status *status = malloc(
        sizeof *status + hki_mend_text(NULL, 0, message) + hki_mend_text(NULL, 0, operation) +
        hki_mend_text(NULL, 0, device) + hki_mend_text(NULL, 0, inputs) + strlen(file) + 1);
    if (!status)
        return &no_memory_status;
    char *end = status->text;
    atomic_init(&status->refs, 1);
    status->code = code;
    status->line = facts ? facts->line : 0;
    status->sequence = facts ? facts->sequence : 0;
    status->count = 1;
    status->message = text_append(&end, message);
    status->operation = text_append(&end, operation);
    status->device = text_append(&end, device);
    status->inputs = text_append(&end, inputs);
    status->file = path_append(&end, file);
    return status;
}

const hk_status *hki_status_create(hk_code code, const hki_status_facts *facts, const char *format,
                                   ...)
{
    va_list args;
    va_start(args, format);
    const hk_status *status = hki_status_create_va(code, facts, format, args);
    va_end(args);
    return status;
}

const hk_status *hki_status_with_count(const hk_status *first, uint64_t count)
{
    const hki_status_facts facts = {first->operation, first->device, first->inputs,
                                    first->file,      first->line,   first->sequence};
    const hk_status *copy = hki_status_create(first->code, &facts, "%s", first->message);
    if (copy != &no_memory_status)
        ((struct hk_status *)copy)->count = count;
    return copy;
}

const hk_status *hki_status_earlier(const hk_status *a, const hk_status *b)
{
    if (!a || !b)
        return a ? a : b;
    /* One that was never issued, 0, comes last. */
    return b->sequence - 1 < a->sequence - 1 ? b : a;
}

const hk_status *hk_status_retain(const hk_status *status)
{
    struct hk_status *counted = (struct hk_status *)status;
    if (counted && atomic_load_explicit(&counted->refs, memory_order_relaxed))
        atomic_fetch_add_explicit(&counted->refs, 1, memory_order_relaxed);
    return status;
}

void hk_status_release(const hk_status *status)
{
    struct hk_status *counted = (struct hk_status *)status;
    if (!counted || !atomic_load_explicit(&counted->refs, memory_order_relaxed))
        return;
    if (atomic_fetch_sub_explicit(&counted->refs, 1, memory_order_acq_rel) == 1)
        free(counted);
}

static void lent_drop(void *status)
{
    hk_status_release(status);
}

static void lent_create(void)
{
    pthread_key_create(&lent_key, lent_drop);
}

const hk_status *hki_status_lend(const hk_status *status)
{
    pthread_once(&lent_once, lent_create);
    const hk_status *old = pthread_getspecific(lent_key);
    if (!atomic_load_explicit(&((struct hk_status *)status)->refs, memory_order_relaxed)) {
        /* A static record needs no slot; the old one goes, so that its lifetime rule is the same. */
        if (old)
            pthread_setspecific(lent_key, NULL);
    } else if (pthread_setspecific(lent_key, status)) {
        hk_status_release(status);
        status = &no_memory_status;
        pthread_setspecific(lent_key, NULL);
    }
    hk_status_release(old);
    return status;
}

static const hk_status *known(const hk_status *status)
{
    return status ? status : &null_status;
}

bool hk_ok(const hk_status *status)
{
    return known(status)->code == HK_OK;
}

hk_code hk_status_code(const hk_status *status)
{
    return known(status)->code;
}

const char *hk_status_message(const hk_status *status)
{
    return known(status)->message;
}

const char *hk_status_operation(const hk_status *status)
{
    return known(status)->operation;
}

const char *hk_status_device(const hk_status *status)
{
    return known(status)->device;
}

const char *hk_status_inputs(const hk_status *status)
{
    return known(status)->inputs;
}

const char *hk_status_file(const hk_status *status)
{
    return known(status)->file;
}

int hk_status_line(const hk_status *status)
{
    return known(status)->line;
}

uint64_t hk_status_sequence(const hk_status *status)
{
    return known(status)->sequence;
}

uint64_t hk_status_count(const hk_status *status)
{
    return known(status)->count;
}

const char *hk_code_name(hk_code code)
{
    static const char *const names[] = {
        [HK_OK] = "ok",
        [HK_INVALID_ARGUMENT] = "invalid argument",
        [HK_OUT_OF_RANGE] = "out of range",
        [HK_OUT_OF_MEMORY] = "out of memory",
        [HK_NOT_FOUND] = "not found",
        [HK_UNSUPPORTED] = "unsupported",
        [HK_BAD_DATA] = "bad data",
        [HK_IO] = "input/output error",
        [HK_DEVICE_LOST] = "device lost",
        [HK_CANCELLED] = "cancelled",
        [HK_FORKED] = "handle from before a fork",
        [HK_WOULD_DEADLOCK] = "would deadlock",
        [HK_INJECTED] = "injected failure",
        [HK_TIMEOUT] = "timed out",
        [HK_INTERRUPTED] = "interrupted",
    };
    size_t index = (size_t)code;
    return index < sizeof names / sizeof *names ? names[index] : "unknown code";
}

int hk_status_print(const hk_status *status, FILE *stream)
{
    if (hk_ok(status))
        return 0;
    status = known(status);
    char line[16] = "", count[64] = "";
    if (*status->file)
        snprintf(line, sizeof line, ":%d", status->line);
    if (status->count > 1)
        snprintf(count, sizeof count, "        (the earliest of %llu failures)\n",
                 (unsigned long long)status->count);
    /* At once: other processes may print to the same terminal. */
    fprintf(stream, "hocket: %s%sfailed%s%s%s%s%s: %s: %s\n%s%s%s%s", status->operation,
            *status->operation ? " " : "", *status->device ? " on " : "", status->device,
            *status->file ? " at " : "", status->file, line, hk_code_name(status->code),
            status->message, *status->inputs ? "        inputs: " : "", status->inputs,
            *status->inputs ? "\n" : "", count);
    return 1;
}
