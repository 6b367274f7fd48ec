/* Attention with several heads: four linear layers around the operator. */
#include "nn/cache.h"
#include "nn/layer_table.h"

#include <hocket/hocket.h>

/* (n, t, features) as (n, heads, t, features / heads), of one of the layers. */
static hk_array *heads_of(hk_module *self, const char *name, hk_array *x, int64_t features,
                          int64_t heads)
{
    hk_array *y = (hk_forward)(hk_module_child(self, name), x);
    y = (hk_reshape)(y, hk_shape(hk_dim(y, 0), hk_dim(y, 1), heads, features / heads));
    return (hk_permute_dims)(y, hk_shape(0, 2, 1, 3));
}

hk_array *hki_attend(hk_module *self, hk_array *const *inputs, int count, int64_t features,
                     int64_t heads, bool causal)
{
    if (count != 1 && count != 3 && count != 4)
        return hki_array_create_failed(NULL, self->kind, inputs, count, HK_INVALID_ARGUMENT,
                                       "there are %d inputs, but must be 1 (x), 3 (query, key, "
                                       "value) or 4 (and mask)",
                                       count);
    for (int i = 0; i < count && i < 3; i++)
        if (inputs[i] && !inputs[i]->failed && inputs[i]->shape.ndim != 3)
            return hki_array_create_failed(
                NULL, self->kind, inputs, count, HK_INVALID_ARGUMENT,
                "input %d has %d axes, but must have 3: samples, positions, features", i,
                inputs[i]->shape.ndim);
    const bool of_itself = count == 1 || (inputs[1] == inputs[0] && inputs[2] == inputs[0]);
    if (of_itself && (!causal || count > 3) && hki_cache_is_entered())
        return hki_cache_refusal(self, inputs, count);
    hk_array *query = heads_of(self, "query", inputs[0], features, heads);
    hk_array *key = heads_of(self, "key", inputs[count > 1 ? 1 : 0], features, heads);
    hk_array *value = heads_of(self, "value", inputs[count > 1 ? 2 : 0], features, heads);
    hk_array *y =
        of_itself && hki_cache_is_entered()
            ? hki_cache_attend(self, query, key, value)
            : (hk_scaled_dot_product_attention)(query, key, value, count > 3 ? inputs[3] : NULL,
                                                &(hk_scaled_dot_product_attention_options){
                                                    .causal = causal});
    y = (hk_permute_dims)(y, hk_shape(0, 2, 1, 3));
    y = (hk_reshape)(y, hk_shape(hk_dim(y, 0), hk_dim(y, 1), features));
    return (hk_forward)(hk_module_child(self, "output"), y);
}

void hki_attention_begin(hk_module *self, int64_t features, int64_t heads)
{
    static const char *const names[] = {"query", "key", "value", "output"};
    if (features < 1 || heads < 1 || features % heads != 0)
        hki_module_fail(self, HK_INVALID_ARGUMENT,
                        "features is %lld and heads %lld, but heads must divide features",
                        (long long)features, (long long)heads);
    for (int i = 0; i < 4; i++)
        hk_module_add(self, names[i], (hk_linear_layer)(features, NULL));
}
