/* Data sets of pieces of a text. */
#include "array/array.h"
#include "base/philox.h"
#include "base/source.h"
#include "data/data_set.h"

#include <hocket/ops.h>
#include <hocket/text.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* counter[3] of these draws; see base/philox.h. */
#define PHILOX_TOKENS 0x746f6b65u
/* A token's share: where it runs follows, no value does. */
#define TOKEN_NS 1.0

static const char operation[] = "data_set_of_tokens";

typedef struct token_set {
    hk_token_options options;
    int64_t lane; /* tokens from the beginning of a lane to that of the next */
    int32_t *tokens;
} token_set;

/* By how many tokens the pieces of an epoch are late. */
static int64_t start_of(const token_set *self, const hki_data_batch *batch)
{
    const uint32_t counter[4] = {0, 0, batch->epoch, PHILOX_TOKENS};
    const uint32_t key[2] = {(uint32_t)batch->seed, (uint32_t)(batch->seed >> 32)};
    uint32_t words[4];
    if (self->options.fixed_start)
        return 0;
    hki_philox4x32(counter, key, words);
    return (int64_t)((double)words[0] * 0x1p-32 * (double)self->options.steps);
}

static hk_code fill(const hk_data_set *set, const hki_data_batch *batch, int64_t begin, int64_t end,
                    char message[HKI_DATA_MESSAGE_BYTES])
{
    const token_set *self = set->own;
    const int64_t steps = self->options.steps, lanes = self->options.lanes;
    const int64_t start = start_of(self, batch);
    const size_t bytes = (size_t)steps * sizeof(int32_t);
    (void)message;
    for (int64_t row = begin; row < end; row++) {
        const int64_t index = batch->indices[row];
        const int64_t at =
            lanes ? index % lanes * self->lane + index / lanes * steps : index * steps;
        memcpy((int32_t *)batch->fields[0] + row * steps, self->tokens + start + at, bytes);
        memcpy((int32_t *)batch->fields[1] + row * steps, self->tokens + start + at + 1, bytes);
    }
    return HK_OK;
}

static void deinit(void *own)
{
    token_set *self = own;
    free(self->tokens);
    free(self);
}

static const hki_data_class token_class = {.fill = fill, .deinit = deinit};

/* ---- making ---------------------------------------------------------------------------------------------- */

static bool check(hk_data_set *set, hk_array *tokens, const hk_token_options *options)
{
    const hk_status *gone = hki_array_gone(tokens);
    char text[224];
    if (gone || tokens->failed) {
        hki_data_set_fail_with(set, gone ? gone : hk_status_retain(hk_error_now(tokens)));
        return false;
    }
    hki_array_describe(tokens, text, sizeof text);
    if (tokens->shape.ndim != 1 || !hki_dtype_is_integer(tokens->dtype))
        hki_data_set_fail(set, operation, HK_INVALID_ARGUMENT,
                          "tokens are %s; integers (n,) would be right", text);
    else if (!options || options->steps < 1 || options->steps > (INT64_C(1) << 40) ||
             options->lanes < 0 || options->lanes > (INT64_C(1) << 40))
        hki_data_set_fail(set, operation, HK_INVALID_ARGUMENT,
                          "option steps is %" PRId64 " and lanes %" PRId64
                          "; steps of 1 or more, and lanes of 0 or more, would be right",
                          options ? options->steps : 0, options ? options->lanes : 0);
    return hk_ok(set->status);
}

/* How many samples there are, wherever an epoch starts. */
static bool plan(hk_data_set *set, int64_t count)
{
    token_set *self = set->own;
    const hk_token_options *options = &self->options;
    const int64_t late = options->fixed_start ? 1 : options->steps; /* and the token that follows */
    const int64_t lanes = options->lanes ? options->lanes : 1;
    const int64_t each = (count - late) / lanes / options->steps;
    self->lane = each * options->steps;
    set->size = each * lanes;
    set->sample_ns = TOKEN_NS * (double)options->steps;
    if (count > late && each > 0)
        return true;
    hki_data_set_fail(set, operation, HK_INVALID_ARGUMENT,
                      "there are %" PRId64 " tokens; %" PRId64 " x %" PRId64 " + %" PRId64
                      " would be right, or fewer steps or lanes",
                      count, lanes, options->steps, late);
    return false;
}

static void take_tokens(hk_data_set *set, hk_array *tokens)
{
    HK_SCOPE;
    token_set *self = set->own;
    const size_t bytes = (size_t)tokens->shape.dims[0] * sizeof *self->tokens;
    self->tokens = malloc(bytes + 1);
    if (!self->tokens) {
        hki_data_set_fail_with(set, hki_status_no_memory());
        return;
    }
    const hk_status *status = (hk_to_host)((hk_cast)(tokens, HK_I32), self->tokens, bytes);
    if (!hk_ok(status))
        hki_data_set_fail_with(set, hk_status_retain(status));
}

static void make(hk_data_set *set, hk_array *tokens, const hk_token_options *options)
{
    token_set *self = calloc(1, sizeof *self);
    if (!self) {
        hki_data_set_fail_with(set, hki_status_no_memory());
        return;
    }
    set->class = &token_class;
    set->own = self;
    self->options = *options;
    if (!plan(set, tokens->shape.dims[0]) ||
        !hki_data_set_add_field(set, operation, hk_shape(options->steps), HK_I32) ||
        !hki_data_set_add_field(set, operation, hk_shape(options->steps), HK_I32))
        return;
    take_tokens(set, tokens);
}

hk_data_set *(hk_data_set_of_tokens)(hk_array *tokens, const hk_token_options *options)
{
    HKI_TAKE_OPTIONS(hk_token_options, options);
    hk_data_set *set = hki_data_set_new();
    hki_array_uncapturable(operation, "tokens are read once; make it before the capture");
    if (!hki_data_set_is_static(set) && check(set, tokens, options))
        make(set, tokens, options);
    return set;
}
