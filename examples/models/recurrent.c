/* Language models of one recurrent layer: what comes next follows from a state that each token changes. */
#include "models/models.h"

static hk_module *language_model(const model_options *options, hk_recurrent_kind kind)
{
    return hk_sequential(hk_embedding_layer(options->classes, model_channels(options, 64)),
                         hk_recurrent_layer(kind, model_channels(options, 256), false),
                         hk_linear_layer(options->classes, NULL));
}

hk_module *model_rnn(const model_options *options)
{
    return language_model(options, HK_RECURRENT_TANH);
}

hk_module *model_gru(const model_options *options)
{
    return language_model(options, HK_RECURRENT_GRU);
}

hk_module *model_lstm(const model_options *options)
{
    return language_model(options, HK_RECURRENT_LSTM);
}
