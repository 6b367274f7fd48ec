#include "io/pickle.h"

#include "io/pickle_opcodes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING UINT32_MAX
enum { MOST_PROTOCOL = 5 };

/* A pickle on its way. */
typedef struct machine {
    hki_pickle *to;
    const uint8_t *data;
    size_t bytes, at;
    uint32_t *stack, *marks, *memo;
    size_t height, stack_capacity;
    size_t mark_count, mark_capacity; /* marks are heights of the stack */
    size_t memo_count, memo_capacity;
    hki_pickle_find_fn find;
    hki_io_error *error;
} machine;

/* ---- memory and messages --------------------------------------------------------------------------------- */

/* False: no memory. */
static bool reserve(machine *self, void **array, size_t needed, size_t *capacity,
                    size_t element_bytes)
{
    if (needed <= *capacity)
        return true;
    size_t grown = *capacity ? 2 * *capacity : 64;
    if (grown < needed)
        grown = needed;
    void *moved = reallocarray(*array, grown, element_bytes);
    if (!moved)
        return hki_io_fail_memory(self->error);
    *array = moved;
    *capacity = grown;
    return true;
}

static bool fail(machine *self, const char *what)
{
    return hki_io_fail(self->error, HK_BAD_DATA,
                       "has a damaged pickle: %s at its byte %zu; save or fetch it again", what,
                       self->at);
}

/* ---- bytes ----------------------------------------------------------------------------------------------- */

/* A number of so many bytes, lowest first. */
static bool take(machine *self, int count, uint64_t *number)
{
    if (self->bytes - self->at < (size_t)count)
        return fail(self, "it ends");
    *number = 0;
    for (int i = count - 1; i >= 0; i--)
        *number = *number << 8 | self->data[self->at + (size_t)i];
    self->at += (size_t)count;
    return true;
}

/* Bytes behind their number. */
static bool take_counted(machine *self, int count_bytes, uint32_t *at, uint32_t *bytes)
{
    uint64_t length = 0;
    if (!take(self, count_bytes, &length))
        return false;
    if (length > self->bytes - self->at)
        return fail(self, "it ends");
    *at = (uint32_t)self->at;
    *bytes = (uint32_t)length;
    self->at += length;
    return true;
}

static bool take_line(machine *self, const char **text, size_t *bytes)
{
    const uint8_t *begin = self->data + self->at;
    const uint8_t *end = memchr(begin, '\n', self->bytes - self->at);
    if (!end)
        return fail(self, "it ends");
    *text = (const char *)begin;
    *bytes = (size_t)(end - begin);
    self->at += *bytes + 1;
    return true;
}

/* ---- the stack ------------------------------------------------------------------------------------------- */

static bool push(machine *self, uint32_t value)
{
    if (!reserve(self, (void **)&self->stack, self->height + 1, &self->stack_capacity,
                 sizeof *self->stack))
        return false;
    self->stack[self->height++] = value;
    return true;
}

static bool push_value(machine *self, hki_pickle_value value)
{
    hki_pickle *to = self->to;
    if (!reserve(self, (void **)&to->values, to->count + 1, &to->capacity, sizeof *to->values))
        return false;
    to->values[to->count++] = value;
    return push(self, (uint32_t)(to->count - 1));
}

static bool push_kind(machine *self, hki_pickle_kind kind)
{
    return push_value(self, (hki_pickle_value){.kind = kind});
}

static bool push_integer(machine *self, hki_pickle_kind kind, int64_t integer)
{
    return push_value(self, (hki_pickle_value){.kind = kind, .integer = integer});
}

/* The height down to which things may be taken: that of the last mark. */
static size_t floor_of(const machine *self)
{
    return self->mark_count ? self->marks[self->mark_count - 1] : 0;
}

static bool pop(machine *self, uint32_t *value)
{
    if (self->height <= floor_of(self))
        return fail(self, "it takes what is not there");
    *value = self->stack[--self->height];
    return true;
}

static bool top(machine *self, uint32_t *value)
{
    if (self->height <= floor_of(self))
        return fail(self, "it takes what is not there");
    *value = self->stack[self->height - 1];
    return true;
}

static bool push_mark(machine *self)
{
    if (!reserve(self, (void **)&self->marks, self->mark_count + 1, &self->mark_capacity,
                 sizeof *self->marks))
        return false;
    self->marks[self->mark_count++] = (uint32_t)self->height;
    return true;
}

/* Where what lies above the last mark begins; the mark is gone. */
static bool pop_mark(machine *self, size_t *begin)
{
    if (!self->mark_count)
        return fail(self, "it takes a mark that is not there");
    *begin = self->marks[--self->mark_count];
    return true;
}

/* ---- lists and the like ---------------------------------------------------------------------------------- */

static bool add_part(machine *self, uint32_t container, uint32_t value)
{
    hki_pickle *to = self->to;
    if (!reserve(self, (void **)&to->cells, to->cell_count + 1, &to->cell_capacity,
                 sizeof *to->cells))
        return false;
    const uint32_t cell = (uint32_t)to->cell_count++;
    hki_pickle_parts *parts = &to->values[container].parts;
    to->cells[cell] = (hki_pickle_cell){.value = value, .next = NOTHING};
    if (parts->count++)
        to->cells[parts->last].next = cell;
    else
        parts->first = cell;
    parts->last = cell;
    return true;
}

/* What lies from `begin` on goes from the stack into the container. */
static bool add_parts(machine *self, uint32_t container, size_t begin)
{
    for (size_t i = begin; i < self->height; i++)
        if (!add_part(self, container, self->stack[i]))
            return false;
    self->height = begin;
    return true;
}

/* A new one of what lies from `begin` on. */
static bool collect(machine *self, hki_pickle_kind kind, size_t begin)
{
    if (kind == HKI_PICKLE_DICT && (self->height - begin) % 2)
        return fail(self, "a dict has a key without a value");
    if (!push_kind(self, kind))
        return false;
    const uint32_t container = self->stack[--self->height];
    return add_parts(self, container, begin) && push(self, container);
}

static bool collect_few(machine *self, size_t count)
{
    if (self->height - floor_of(self) < count)
        return fail(self, "it takes what is not there");
    return collect(self, HKI_PICKLE_TUPLE, self->height - count);
}

static bool collect_marked(machine *self, hki_pickle_kind kind)
{
    size_t begin = 0;
    return pop_mark(self, &begin) && collect(self, kind, begin);
}

/* Into what lies below: of a dict keys and values by turns. */
static bool extend(machine *self, hki_pickle_kind kind, size_t begin)
{
    if (begin <= floor_of(self))
        return fail(self, "it takes what is not there");
    const uint32_t container = self->stack[begin - 1];
    const hki_pickle_kind has = self->to->values[container].kind;
    if (has != kind && has != HKI_PICKLE_CALL)
        return fail(self, "it puts parts into what has none");
    if (kind == HKI_PICKLE_DICT && (self->height - begin) % 2)
        return fail(self, "a dict has a key without a value");
    return add_parts(self, container, begin);
}

static bool extend_few(machine *self, hki_pickle_kind kind, size_t count)
{
    if (self->height - floor_of(self) < count)
        return fail(self, "it takes what is not there");
    return extend(self, kind, self->height - count);
}

static bool extend_marked(machine *self, hki_pickle_kind kind)
{
    size_t begin = 0;
    return pop_mark(self, &begin) && extend(self, kind, begin);
}

/* ---- numbers and texts ----------------------------------------------------------------------------------- */

static bool push_signed(machine *self, int bytes)
{
    uint64_t number = 0;
    if (!take(self, bytes, &number))
        return false;
    return push_integer(self, HKI_PICKLE_INT,
                        bytes == 4 ? (int64_t)(int32_t)(uint32_t)number : (int64_t)number);
}

/* Its bits stand highest first, unlike all other numbers. */
static bool push_float(machine *self)
{
    uint64_t bits = 0;
    double real;
    if (!take(self, 8, &bits))
        return false;
    bits = __builtin_bswap64(bits);
    memcpy(&real, &bits, sizeof real);
    return push_value(self, (hki_pickle_value){.kind = HKI_PICKLE_FLOAT, .real = real});
}

static bool push_text(machine *self, hki_pickle_kind kind, int count_bytes)
{
    hki_pickle_value value = {.kind = kind};
    return take_counted(self, count_bytes, &value.text.at, &value.text.bytes) &&
           push_value(self, value);
}

/* In two's complement, lowest byte first. */
static bool push_long(machine *self, int count_bytes)
{
    uint32_t at = 0, bytes = 0;
    uint64_t bits = 0;
    if (!take_counted(self, count_bytes, &at, &bytes))
        return false;
    if (bytes > 8) {
        hki_pickle_value big = {.kind = HKI_PICKLE_BIG_INT};
        big.text.at = at;
        big.text.bytes = bytes;
        return push_value(self, big);
    }
    for (uint32_t i = 0; i < bytes; i++)
        bits |= (uint64_t)self->data[at + i] << 8 * i;
    const bool is_negative = bytes && self->data[at + bytes - 1] & 0x80;
    if (is_negative && bytes < 8)
        bits |= UINT64_MAX << 8 * bytes;
    return push_integer(self, HKI_PICKLE_INT, (int64_t)bits);
}

/* ---- what has been seen ---------------------------------------------------------------------------------- */

static bool put(machine *self, uint64_t index)
{
    uint32_t value = 0;
    if (!top(self, &value))
        return false;
    if (index >= self->bytes) /* each has taken a byte at least */
        return fail(self, "it notes something far away");
    if (!reserve(self, (void **)&self->memo, index + 1, &self->memo_capacity, sizeof *self->memo))
        return false;
    for (; self->memo_count <= index; self->memo_count++)
        self->memo[self->memo_count] = NOTHING;
    self->memo[index] = value;
    return true;
}

static bool put_of(machine *self, int bytes)
{
    uint64_t index = 0;
    return take(self, bytes, &index) && put(self, index);
}

static bool get_of(machine *self, int bytes)
{
    uint64_t index = 0;
    if (!take(self, bytes, &index))
        return false;
    if (index >= self->memo_count || self->memo[index] == NOTHING)
        return fail(self, "it asks for what it has not noted");
    return push(self, self->memo[index]);
}

/* ---- callables ------------------------------------------------------------------------------------------- */

static bool push_global(machine *self)
{
    const char *module = NULL, *name = NULL;
    size_t module_bytes = 0, name_bytes = 0;
    if (!take_line(self, &module, &module_bytes) || !take_line(self, &name, &name_bytes))
        return false;
    const int row = self->find(module, module_bytes, name, name_bytes, self->error);
    return row >= 0 && push_integer(self, HKI_PICKLE_GLOBAL, row);
}

static bool push_stack_global(machine *self)
{
    uint32_t texts[2] = {0};
    if (!pop(self, &texts[1]) || !pop(self, &texts[0]))
        return false;
    const hki_pickle_value *module = &self->to->values[texts[0]], *name = module;
    name = &self->to->values[texts[1]];
    if (module->kind != HKI_PICKLE_TEXT || name->kind != HKI_PICKLE_TEXT)
        return fail(self, "it names something by what is no text");
    const char *const data = (const char *)self->data;
    const int row = self->find(data + module->text.at, module->text.bytes, data + name->text.at,
                               name->text.bytes, self->error);
    return row >= 0 && push_integer(self, HKI_PICKLE_GLOBAL, row);
}

static bool call(machine *self)
{
    hki_pickle_value made = {.kind = HKI_PICKLE_CALL};
    if (!pop(self, &made.arguments) || !pop(self, &made.callable))
        return false;
    if (self->to->values[made.callable].kind != HKI_PICKLE_GLOBAL)
        return fail(self, "it calls what cannot be called");
    if (self->to->values[made.arguments].kind != HKI_PICKLE_TUPLE)
        return fail(self, "it calls something with what is no tuple");
    return push_value(self, made);
}

static bool push_persistent(machine *self)
{
    hki_pickle_value made = {.kind = HKI_PICKLE_PERSISTENT};
    return pop(self, &made.arguments) && push_value(self, made);
}

/* ---- steps ----------------------------------------------------------------------------------------------- */

static bool check_protocol(machine *self)
{
    uint64_t version = 0;
    if (!take(self, 1, &version))
        return false;
    return version <= MOST_PROTOCOL ||
           hki_io_fail(self->error, HK_UNSUPPORTED,
                       "has a pickle of protocol %" PRIu64 "; 2 to %d would be right", version,
                       MOST_PROTOCOL);
}

static bool skip_frame(machine *self)
{
    uint64_t length = 0;
    return take(self, 8, &length);
}

static bool drop(machine *self)
{
    uint32_t gone;
    size_t begin = 0;
    return self->height > floor_of(self) || !self->mark_count ? pop(self, &gone)
                                                              : pop_mark(self, &begin);
}

static bool drop_marked(machine *self)
{
    size_t begin = 0;
    if (!pop_mark(self, &begin))
        return false;
    self->height = begin;
    return true;
}

static bool duplicate(machine *self)
{
    uint32_t value = 0;
    return top(self, &value) && push(self, value);
}

/* Attributes of what stands below: nothing here has any that count. */
static bool build(machine *self)
{
    uint32_t state, of;
    return pop(self, &state) && top(self, &of);
}

static bool fail_opcode(machine *self, unsigned opcode)
{
    return hki_io_fail(self->error, HK_BAD_DATA,
                       "has a pickle with the opcode 0x%02X at its byte %zu, which torch.save does "
                       "not write; save state_dict() by it",
                       opcode, self->at - 1);
}

/* Of texts and numbers. */
static bool step_plain(machine *self, unsigned opcode)
{
    switch (opcode) {
    case OP_NONE:
        return push_kind(self, HKI_PICKLE_NONE);
    case OP_TRUE:
    case OP_FALSE:
        return push_integer(self, HKI_PICKLE_BOOL, opcode == OP_TRUE);
    case OP_INT1:
        return push_signed(self, 1);
    case OP_INT2:
        return push_signed(self, 2);
    case OP_INT4:
        return push_signed(self, 4);
    case OP_LONG1:
        return push_long(self, 1);
    case OP_LONG4:
        return push_long(self, 4);
    case OP_FLOAT:
        return push_float(self);
    case OP_TEXT1:
    case OP_OLD_TEXT1:
        return push_text(self, HKI_PICKLE_TEXT, 1);
    case OP_TEXT4:
    case OP_OLD_TEXT4:
        return push_text(self, HKI_PICKLE_TEXT, 4);
    case OP_TEXT8:
        return push_text(self, HKI_PICKLE_TEXT, 8);
    case OP_BYTES1:
        return push_text(self, HKI_PICKLE_BYTES, 1);
    case OP_BYTES4:
        return push_text(self, HKI_PICKLE_BYTES, 4);
    case OP_BYTES8:
    case OP_BYTE_ARRAY8:
        return push_text(self, HKI_PICKLE_BYTES, 8);
    default:
        return fail_opcode(self, opcode);
    }
}

/* Of lists, dicts and the like. */
static bool step_parts(machine *self, unsigned opcode)
{
    switch (opcode) {
    case OP_EMPTY_LIST:
        return push_kind(self, HKI_PICKLE_LIST);
    case OP_EMPTY_TUPLE:
        return push_kind(self, HKI_PICKLE_TUPLE);
    case OP_EMPTY_DICT:
        return push_kind(self, HKI_PICKLE_DICT);
    case OP_EMPTY_SET:
        return push_kind(self, HKI_PICKLE_SET);
    case OP_LIST:
        return collect_marked(self, HKI_PICKLE_LIST);
    case OP_TUPLE:
        return collect_marked(self, HKI_PICKLE_TUPLE);
    case OP_DICT:
        return collect_marked(self, HKI_PICKLE_DICT);
    case OP_FROZEN_SET:
        return collect_marked(self, HKI_PICKLE_SET);
    case OP_TUPLE1:
    case OP_TUPLE2:
    case OP_TUPLE3:
        return collect_few(self, opcode - OP_TUPLE1 + 1);
    case OP_APPEND:
        return extend_few(self, HKI_PICKLE_LIST, 1);
    case OP_APPENDS:
        return extend_marked(self, HKI_PICKLE_LIST);
    case OP_ADD_ITEMS:
        return extend_marked(self, HKI_PICKLE_SET);
    case OP_SET_ITEM:
        return extend_few(self, HKI_PICKLE_DICT, 2);
    case OP_SET_ITEMS:
        return extend_marked(self, HKI_PICKLE_DICT);
    default:
        return step_plain(self, opcode);
    }
}

static bool step(machine *self, unsigned opcode)
{
    switch (opcode) {
    case OP_PROTOCOL:
        return check_protocol(self);
    case OP_FRAME:
        return skip_frame(self);
    case OP_MARK:
        return push_mark(self);
    case OP_POP:
        return drop(self);
    case OP_POP_MARK:
        return drop_marked(self);
    case OP_DUP:
        return duplicate(self);
    case OP_PUT1:
        return put_of(self, 1);
    case OP_PUT4:
        return put_of(self, 4);
    case OP_MEMOIZE:
        return put(self, self->memo_count);
    case OP_GET1:
        return get_of(self, 1);
    case OP_GET4:
        return get_of(self, 4);
    case OP_GLOBAL:
        return push_global(self);
    case OP_STACK_GLOBAL:
        return push_stack_global(self);
    case OP_REDUCE:
    case OP_NEW:
        return call(self);
    case OP_BUILD:
        return build(self);
    case OP_PERSISTENT:
        return push_persistent(self);
    default:
        return step_parts(self, opcode);
    }
}

static bool run(machine *self)
{
    uint64_t opcode = 0;
    while (take(self, 1, &opcode)) {
        if (opcode == OP_STOP)
            return (self->height == 1 && !self->mark_count) ||
                   fail(self, "it ends with more than one value, or none,");
        if (!step(self, (unsigned)opcode))
            return false;
    }
    return false;
}

bool hki_pickle_read(hki_pickle *self, const uint8_t *data, size_t bytes, hki_pickle_find_fn find,
                     size_t *used, hki_io_error *error)
{
    machine its = {.to = self, .data = data, .bytes = bytes, .find = find, .error = error};
    *self = (hki_pickle){.data = data, .bytes = bytes};
    if (bytes > HKI_PICKLE_MOST_BYTES)
        return hki_io_fail(error, HK_BAD_DATA,
                           "has a pickle of %zu bytes; at most %zu would be right", bytes,
                           HKI_PICKLE_MOST_BYTES);
    const bool is_good = run(&its);
    if (is_good) {
        self->root = its.stack[0];
        *used = its.at;
    }
    free(its.stack);
    free(its.marks);
    free(its.memo);
    return is_good;
}

void hki_pickle_deinit(hki_pickle *self)
{
    free(self->values);
    free(self->cells);
    *self = (hki_pickle){0};
}

const hki_pickle_value *hki_pickle_part(const hki_pickle *self, const hki_pickle_value *of,
                                        uint32_t index)
{
    if ((of->kind != HKI_PICKLE_TUPLE && of->kind != HKI_PICKLE_LIST) || index >= of->parts.count)
        return NULL;
    uint32_t cell = of->parts.first;
    while (index--)
        cell = self->cells[cell].next;
    return &self->values[self->cells[cell].value];
}

bool hki_pickle_is_text(const hki_pickle *self, const hki_pickle_value *of, const char *text)
{
    return of && of->kind == HKI_PICKLE_TEXT && of->text.bytes == strlen(text) &&
           !memcmp(self->data + of->text.at, text, of->text.bytes);
}
