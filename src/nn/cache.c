/* Caches of keys and values: arrays of a fixed size, into which each call writes what is new. A
 * first call writes whole prompts, and attends to them as if there were no cache. A later one has
 * one token for each row, at that row's own position: it is written where the position is, and sees
 * what is not behind it. What padding has left there is behind it until it is written over. */
#include "nn/cache.h"

#include "base/source.h"
#include "op/op.h"

#include <hocket/hocket.h>
#include <inttypes.h>
#include <stdlib.h>

/* Of a call of a layer; in the order of calls. */
typedef struct kept {
    const hk_module *layer;
    hk_array *key, *value; /* (n, heads, capacity, size), counted */
} kept;

struct hk_cache {
    atomic_uint refs;
    const hk_status *status; /* counted; NULL: nothing is wrong */
    int64_t capacity, rows;
    hk_array
        *position; /* int64 (rows,): of the next token; counted; NULL: the first call is to come */
    kept *layers;
    int layer_count, layer_capacity;
    /* Of a call under way: */
    bool is_entered, is_first;
    int at;                  /* layers that it has called */
    hk_array *now, *is_seen; /* counted; NULL at first: positions (rows,), and what they see */
    hk_array *next;          /* counted; of a first call: the position behind it */
    hk_cache *outer;         /* that was entered before */
};

static hk_cache no_memory;
static _Thread_local hk_cache *current;

/* ---- life ------------------------------------------------------------------------------------ */

hk_cache *hk_cache_create(int64_t capacity)
{
    hk_cache *self = calloc(1, sizeof *self);
    if (!self)
        return &no_memory;
    atomic_init(&self->refs, 1);
    self->capacity = capacity;
    if (capacity < 1)
        self->status =
            hki_status_create(HK_INVALID_ARGUMENT, &(hki_status_facts){.operation = "cache_create"},
                              "capacity is %" PRId64 ", but must be at least 1", capacity);
    return self;
}

hk_cache *hk_cache_retain(hk_cache *self)
{
    if (self && self != &no_memory)
        atomic_fetch_add_explicit(&self->refs, 1, memory_order_relaxed);
    return self;
}

static void forget_call(hk_cache *self)
{
    hk_array **const of_call[] = {&self->now, &self->is_seen, &self->next};
    for (int i = 0; i < 3; i++) {
        hk_array_release(*of_call[i]);
        *of_call[i] = NULL;
    }
}

void hk_cache_clear(hk_cache *self)
{
    if (!self || self == &no_memory)
        return;
    for (int i = 0; i < self->layer_count; i++) {
        hk_array_release(self->layers[i].key);
        hk_array_release(self->layers[i].value);
    }
    self->layer_count = 0;
    hk_array_release(self->position);
    self->position = NULL;
}

void hk_cache_release(hk_cache *self)
{
    if (!self || self == &no_memory ||
        atomic_fetch_sub_explicit(&self->refs, 1, memory_order_acq_rel) != 1)
        return;
    hk_cache_clear(self);
    forget_call(self);
    free(self->layers);
    hk_status_release(self->status);
    free(self);
}

const hk_status *hk_cache_status(const hk_cache *self)
{
    if (!self)
        return hki_status_lend(
            hki_status_create(HK_INVALID_ARGUMENT, NULL, "argument cache is NULL"));
    if (self == &no_memory)
        return hki_status_lend(hki_status_no_memory());
    return hki_status_lend(self->status ? hk_status_retain(self->status) : hki_status_ok());
}

/* ---- a call ---------------------------------------------------------------------------------- */

static const char operation[] = "cache_enter";

/* The same numbers, each from least to most; others fail it. */
static hk_array *within(hk_array *x, int64_t least, int64_t most)
{
    hk_array *all = (hk_arange)(0, (double)(most + 1), 1, HK_I64, hk_array_device(x));
    hk_array *beyond = (hk_full_like)(x, (double)(most + 1));
    hk_array *is_less = (hk_less)(x, (hk_full_like)(x, (double)least));
    return (hk_index_select)(all, (hk_where)(is_less, beyond, x), 0);
}

static hk_array *refuse(hk_array *tokens, hk_array *lengths, hk_code code, const char *format, ...)
    HK_PRINTF(4, 5);
static hk_array *refuse(hk_array *tokens, hk_array *lengths, hk_code code, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hki_array_create_failed(NULL, operation, (hk_array *[]){tokens, lengths},
                                   lengths ? 2 : 1, code, "%s", text);
}

/* NULL, or why not. */
static hk_array *check(const hk_cache *self, hk_array *tokens, hk_array *lengths)
{
    if (!self || self == &no_memory || self->status) {
        const hk_status *status = hk_cache_status(self);
        return refuse(tokens, lengths, hk_status_code(status), "%s", hk_status_message(status));
    }
    if (self->is_entered)
        return refuse(tokens, lengths, HK_INVALID_ARGUMENT, "the cache is entered already");
    if (!tokens || tokens->failed || (lengths && lengths->failed))
        return refuse(tokens, lengths, HK_INVALID_ARGUMENT, "argument tokens or lengths failed");
    if (tokens->shape.ndim < 2 || tokens->shape.dims[1] < 1)
        return refuse(tokens, lengths, HK_INVALID_ARGUMENT,
                      "tokens must have two axes at least, rows and positions, and a position");
    const int64_t rows = tokens->shape.dims[0], count = tokens->shape.dims[1];
    if (self->position && (rows != self->rows || count != 1 || lengths))
        return refuse(tokens, lengths, HK_INVALID_ARGUMENT,
                      "tokens are (%" PRId64 ",%" PRId64 ",…)%s, but behind the first call must be "
                      "(%" PRId64 ",1,…), without lengths",
                      rows, count, lengths ? " with lengths" : "", self->rows);
    if (!self->position && count > self->capacity)
        return refuse(tokens, lengths, HK_OUT_OF_RANGE,
                      "tokens have %" PRId64 " positions, but the cache has room for %" PRId64,
                      count, self->capacity);
    if (lengths && (!hki_dtype_is_integer(lengths->dtype) || lengths->shape.ndim != 1 ||
                    lengths->shape.dims[0] != rows))
        return refuse(tokens, lengths, HK_INVALID_ARGUMENT,
                      "lengths must be integers (%" PRId64 ",)", rows);
    return NULL;
}

/* Returns tokens, counted, which fail where lengths do: nothing else of a first call depends on
 * these. */
static hk_array *enter_first(hk_cache *self, hk_array *tokens, hk_array *lengths)
{
    const int64_t count = tokens->shape.dims[1];
    const hk_device device = hk_array_device(tokens);
    self->rows = tokens->shape.dims[0];
    self->next =
        hk_take(lengths ? within((hk_cast)((hk_to_device)(lengths, device), HK_I64), 1, count)
                        : (hk_full)(hk_shape(self->rows), (double)count, HK_I64, device));
    if (!lengths)
        return hk_array_retain(tokens);
    hk_dims column = tokens->shape;
    for (int i = 1; i < column.ndim; i++)
        column.dims[i] = 1;
    hk_array *is_there =
        (hk_reshape)((hk_greater)(self->next, (hk_zeros_like)(self->next)), column);
    return hk_take((hk_where)(is_there, tokens, tokens));
}

static void enter_later(hk_cache *self, hk_array *tokens)
{
    hk_array_retain(tokens);
    hk_array *all =
        (hk_arange)(0, (double)self->capacity, 1, HK_I64, hk_array_device(self->position));
    self->now = hk_take(within(self->position, 0, self->capacity - 1));
    hk_array *column = (hk_expand_dims)(self->now, 1);
    self->is_seen = hk_take(
        (hk_reshape)((hk_less_equal)(all, column), hk_shape(self->rows, 1, 1, self->capacity)));
}

hk_array *(hk_cache_enter)(hk_cache *self, hk_array *tokens, hk_array *lengths)
{
    hk_array *refused = check(self, tokens, lengths);
    if (refused)
        return refused;
    self->is_first = !self->position;
    {
        HK_SCOPE;
        HK_PAUSE;
        if (self->is_first)
            tokens = enter_first(self, tokens, lengths);
        else
            enter_later(self, tokens);
    }
    self->at = 0;
    self->is_entered = true;
    self->outer = current;
    current = hk_cache_retain(self);
    return hki_scope_add(tokens);
}

void hk_cache_leave(hk_cache *self)
{
    if (!self || self != current)
        return; /* it was refused */
    HK_SCOPE;
    HK_PAUSE;
    if (self->is_first) {
        self->position = self->next;
        self->next = NULL;
    } else {
        (hk_assign)(self->position, (hk_add)(self->now, (hk_full_like)(self->now, 1)));
    }
    forget_call(self);
    self->is_entered = false;
    current = self->outer;
    self->outer = NULL;
    hk_cache_release(self);
}

hk_array *(hk_forward_cached)(hk_module *net, hk_array *tokens, hk_cache *cache, hk_array *lengths)
{
    HK_PAUSE;
    hk_scope scope = hk_scope_begin();
    const bool was_entered = cache && cache->is_entered;
    hk_array *x = (hk_forward)(net, (hk_cache_enter)(cache, tokens, lengths));
    if (cache && cache->is_entered && !was_entered)
        hk_cache_leave(cache);
    return hki_scope_end_with(&scope, x);
}

/* ---- for layers ------------------------------------------------------------------------------ */

hk_array *hk_cache_positions(void)
{
    return current ? current->now : NULL;
}

bool hki_cache_is_entered(void)
{
    return current != NULL;
}

int64_t hki_cache_capacity(void)
{
    return current ? current->capacity : 0;
}

hk_array *hki_cache_refusal(const hk_module *self, hk_array *const *inputs, int count)
{
    if (!current)
        return NULL;
    return hki_array_create_failed(NULL, self->kind, inputs, count, HK_UNSUPPORTED,
                                   "with a cache a layer sees new positions alone; this one needs "
                                   "all of them");
}

static kept *add_layer(hk_cache *self, const hk_module *layer)
{
    if (self->layer_count == self->layer_capacity) {
        const int capacity = self->layer_capacity ? 2 * self->layer_capacity : 8;
        kept *layers = realloc(self->layers, (size_t)capacity * sizeof *layers);
        if (!layers)
            return NULL;
        self->layers = layers;
        self->layer_capacity = capacity;
    }
    kept *it = &self->layers[self->layer_count++];
    *it = (kept){.layer = layer};
    return it;
}

/* x (n, heads, t, size) at the start of what has room for all. */
static hk_array *begin_with(const hk_cache *self, hk_array *x)
{
    hk_dims shape = x->shape;
    shape.dims[2] = self->capacity;
    hk_array *all = hk_take((hk_zeros)(shape, x->dtype, hk_array_device(x)));
    (hk_assign)((hk_slice)(all, 2, 0, x->shape.dims[2]), x);
    return all;
}

static hk_array *attend(hk_array *query, hk_array *key, hk_array *value, hk_array *mask)
{
    return (hk_scaled_dot_product_attention)(query, key, value, mask,
                                             &(hk_scaled_dot_product_attention_options){.causal =
                                                                                            !mask});
}

/* Where there is no kernel that writes in place, all of it is made anew. */
static void write_step(const hk_cache *self, const kept *to, hk_array *key, hk_array *value)
{
    if (to->key->failed || to->key->storage->device->class->kernels == HKI_CPU) {
        hki_op_call_update(&hki_op_cache_write,
                           (hk_array *[]){to->key, to->value, key, value, self->now}, 5, NULL,
                           (hk_array *[]){to->key, to->value}, 2);
        return;
    }
    hk_array *all = (hk_arange)(0, (double)self->capacity, 1, HK_I64, hk_array_device(self->now));
    hk_array *is_here = (hk_reshape)((hk_equal)(all, (hk_expand_dims)(self->now, 1)),
                                     hk_shape(self->rows, 1, self->capacity, 1));
    (hk_assign)(to->key, (hk_where)(is_here, key, to->key));
    (hk_assign)(to->value, (hk_where)(is_here, value, to->value));
}

hk_array *hki_cache_attend(const hk_module *layer, hk_array *query, hk_array *key, hk_array *value)
{
    hk_cache *self = current;
    const bool is_good = !query->failed && !key->failed && !value->failed;
    if (!is_good)
        return attend(query, key, value, NULL); /* by their record */
    if (self->is_first) {
        kept *it = add_layer(self, layer);
        if (!it)
            return hki_array_create_failed(NULL, layer->kind, &query, 1, HK_OUT_OF_MEMORY,
                                           "out of host memory");
        it->key = begin_with(self, key);
        it->value = begin_with(self, value);
        return attend(query, key, value, NULL);
    }
    const kept *it = self->at < self->layer_count ? &self->layers[self->at++] : NULL;
    if (!it || it->layer != layer)
        return hki_array_create_failed(NULL, layer->kind, &query, 1, HK_INVALID_ARGUMENT,
                                       "the cache's first call was of another network");
    write_step(self, it, key, value);
    return attend(query, it->key, it->value, self->is_seen);
}
