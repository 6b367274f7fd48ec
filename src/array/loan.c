/* Elements that are lent to the program. */
#include "array/handle.h"

#include "base/sync.h"
#include "base/text.h"
#include "engine/core/watch.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

typedef struct loan_entry {
    struct loan_entry *next;
    uint64_t number;
    hk_array *x;          /* counted: keeps the memory */
    hki_range_hold *hold; /* NULL: holds nothing back */
    bool is_external;
} loan_entry;

static hki_lock lock;
static struct {
    loan_entry *first;
    uint64_t count; /* ever */
} loans;            /* the lock's */

static void child_unlock(void)
{
    atomic_store_explicit(&lock.state, 0, memory_order_relaxed);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, child_unlock);
}

static const hk_status *refuse(const char *operation, const hk_array *x, hk_code code,
                               const char *format, ...) HK_PRINTF(4, 5);
static const hk_status *refuse(const char *operation, const hk_array *x, hk_code code,
                               const char *format, ...)
{
    const hk_source source = hki_source_get();
    const hki_status_facts facts = {.operation = operation,
                                    .device = x ? x->storage->device->name : NULL,
                                    .file = source.file,
                                    .line = source.line};
    va_list args;
    va_start(args, format);
    const hk_status *status = hki_status_create_va(code, &facts, format, args);
    va_end(args);
    return status;
}

static bool writes(hk_borrow_mode mode)
{
    return mode == HK_BORROW_WRITE || mode == HK_BORROW_EXTERNAL;
}

static bool is_external(hk_borrow_mode mode)
{
    return mode == HK_BORROW_EXTERNAL || mode == HK_BORROW_EXTERNAL_READ;
}

/* NULL: x may be lent. Else why not, counted. */
static const hk_status *check(hk_array *x, hk_borrow_mode mode)
{
    static const char operation[] = "data_borrow";
    const hk_status *gone = x ? hki_array_gone(x) : NULL;
    if (gone)
        return gone;
    if (!x)
        return refuse(operation, x, HK_INVALID_ARGUMENT, "argument x is NULL");
    if ((unsigned)mode > HK_BORROW_EXTERNAL_READ)
        return refuse(operation, x, HK_INVALID_ARGUMENT, "mode is %d, but may be 0 to %d",
                      (int)mode, HK_BORROW_EXTERNAL_READ);
    if (x->failed)
        return NULL; /* its record comes of the wait */
    if (!hki_device_is_host(x->storage->device))
        return refuse(operation, x, HK_UNSUPPORTED,
                      "%s has memory of its own; hk_to_device copies to a CPU device",
                      x->storage->device->name);
    if (x->read_only && writes(mode))
        return refuse(operation, x, HK_INVALID_ARGUMENT,
                      "x is a broadcast view or memory for reading, which cannot be borrowed for "
                      "writing");
    if (mode == HK_BORROW_WRITE && hki_hooks.tape_is_result(x))
        return refuse(
            operation, x, HK_INVALID_ARGUMENT,
            "while recording, what a call gave that wants a gradient cannot be written into; do it "
            "between hk_pause_begin and hk_pause_end");
    return NULL;
}

/* The thread has the elements to itself, but for readers. */
static bool make_real(hk_array *x)
{
    hki_storage *storage = x->storage;
    if (atomic_load_explicit(&storage->data, memory_order_acquire))
        return true;
    if (!hki_storage_materialise(storage))
        return false;
    memset(hki_storage_kernel_data(storage), 0, storage->bytes);
    return true;
}

/* Expects the lock. */
static void note_lent_locked(hki_storage *storage)
{
    bool is_lent = false;
    for (const loan_entry *entry = loans.first; entry && !is_lent; entry = entry->next)
        is_lent = entry->is_external && entry->x->storage == storage;
    if (is_lent)
        atomic_fetch_or_explicit(&storage->marks, HKI_IS_LENT, memory_order_release);
    else
        atomic_fetch_and_explicit(&storage->marks, (unsigned char)~HKI_IS_LENT,
                                  memory_order_release);
}

static void add_entry(loan_entry *entry, hk_array *x, hki_range_hold *hold, bool external)
{
    entry->x = hk_array_retain(x);
    entry->hold = hold;
    entry->is_external = external;
    hki_lock_acquire(&lock);
    entry->number = ++loans.count;
    entry->next = loans.first;
    loans.first = entry;
    note_lent_locked(x->storage);
    hki_lock_release(&lock);
}

/* Counted. */
static const hk_status *borrow(hk_array *x, hk_borrow_mode mode, hk_loan *loan)
{
    hki_range_hold *hold;
    loan_entry *entry = malloc(sizeof *entry);
    if (!entry)
        return hki_status_no_memory();
    const hki_waiting waiting = hki_array_waiting(x);
    const hk_status *status = hki_range_hold_begin(&waiting, writes(mode), &hold);
    if (hk_ok(status) && x->failed) /* there was no memory to note the failure in */
        status = hk_status_retain(hki_status_no_memory());
    else if (hk_ok(status) && !make_real(x))
        status = refuse("data_borrow", x, HK_OUT_OF_MEMORY, "%s has no %" PRIu64 " bytes left",
                        x->storage->device->name, x->storage->bytes);
    if (hk_ok(status) && mode == HK_BORROW_EXTERNAL)
        hki_writes_are_unknown(&x->storage->var);
    if (hold && (!hk_ok(status) || is_external(mode))) {
        hki_range_hold_end(hold);
        hold = NULL;
    }
    if (!hk_ok(status)) {
        free(entry);
        return status;
    }
    add_entry(entry, x, hold, is_external(mode));
    *loan = (hk_loan){hki_array_kernel_data(x), entry->number};
    return status;
}

const hk_status *(hk_data_borrow)(hk_array *x, hk_borrow_mode mode, hk_loan *loan)
{
    if (!loan)
        return hki_status_lend(
            refuse("data_borrow", x, HK_INVALID_ARGUMENT, "argument loan is NULL"));
    *loan = (hk_loan){0};
    hki_array_uncapturable("data_borrow", "what the program reads or writes is not in the graph");
    const hk_status *refusal = check(x, mode);
    return hki_status_lend(refusal ? refusal : borrow(x, mode, loan));
}

const hk_status *hk_data_return(const hk_loan *loan)
{
    const uint64_t number = loan ? loan->number : 0;
    hki_lock_acquire(&lock);
    loan_entry **link = &loans.first;
    while (*link && (*link)->number != number)
        link = &(*link)->next;
    loan_entry *entry = *link;
    if (entry) {
        *link = entry->next;
        note_lent_locked(entry->x->storage);
    }
    hki_lock_release(&lock);
    if (!entry)
        return hki_status_lend(
            refuse("data_return", NULL, HK_INVALID_ARGUMENT,
                   "loan %" PRIu64 " is not out: it was returned before, or never made", number));
    if (entry->hold)
        hki_range_hold_end(entry->hold);
    hk_array_release(entry->x);
    free(entry);
    return hki_status_lend(hki_status_ok());
}
