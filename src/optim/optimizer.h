/* Optimisers whose steps are more than updates. */
#ifndef HOCKET_OPTIM_INTERNAL_H
#define HOCKET_OPTIM_INTERNAL_H

#include <hocket/optim.h>

/* What a step does besides. Each function may be NULL. */
typedef struct hki_optimizer_frame {
    void (*begin)(void *context, hk_optimizer *optimizer); /* before updates */
    void (*end)(void *context, hk_optimizer *optimizer);   /* behind them */
    void (*release)(void *context);                        /* with the optimiser */
    /* hk_optimizer_gather and _scatter, of `count` parameters. NULL: the optimiser's own. */
    hk_array *(*gather)(void *context, const hk_optimizer *optimizer, int index);
    void (*scatter)(void *context, hk_optimizer *optimizer, int index, hk_array *state);
    /* Whether something went well on all ranks that share the state; all of them call it. own: what is wrong here, or NULL. NULL, or the
     * record of the lowest rank that has one, counted. */
    const hk_status *(*agree)(void *context, const hk_status *own);
    hk_array *const *whole; /* these parameters: whole[index * stride], borrowed */
    int stride, count;
    bool writes; /* this rank saves the state, and no other */
    void *context;
} hki_optimizer_frame;

/* Of an optimiser that has just been made, once; the context is taken. */
void hki_optimizer_set_frame(hk_optimizer *self, const hki_optimizer_frame *frame);
/* From now on parameter `index` is updated by this array in place of its gradient; NULL: by that again. */
void hki_optimizer_set_grad(hk_optimizer *self, int index, hk_array *grad);
/* Of its own parameter `index`, borrowed: (slots, shape...). */
hk_array *hki_optimizer_get_state(const hk_optimizer *self, int index);
int64_t hki_optimizer_get_slots(const hk_optimizer *self);
/* (slots, shape...) of x, a parameter. */
hk_dims hki_optimizer_state_shape(const hk_optimizer *self, const hk_array *x);
/* The state of its own parameter `own` becomes what the whole state of parameter `index`, which is `param`, has from element `begin` of
 * each slot on; or fails, where `state` is none of that parameter. */
void hki_optimizer_write_state(hk_optimizer *self, int own, const hk_array *param, int index,
                               hk_array *state, int64_t begin);
/* What the optimiser was made for, whatever it keeps of it here: parameters, and whether the state is in parts. */
bool hki_optimizer_is_sharded(const hk_optimizer *self);
int hki_optimizer_whole_count(const hk_optimizer *self);
hk_array *hki_optimizer_whole(const hk_optimizer *self, int index);
/* hki_optimizer_frame's, of one that is sharded. */
const hk_status *hki_optimizer_agree(const hk_optimizer *self, const hk_status *own);
bool hki_optimizer_writes(const hk_optimizer *self);
/* One that could not be made: its steps fail the parameters. error is taken. */
hk_optimizer *hki_optimizer_create_failed(hk_array *const *params, int count,
                                          const hk_status *error);

#endif
