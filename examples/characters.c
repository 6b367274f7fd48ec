/* A character model, as in Dive into Deep Learning, "Recurrent Neural Networks": a GRU learns to continue a text, letter by letter.
 * usage: characters [STEPS [FILE]]; 100 and a licence by default. */
#include <hocket/hocket.h>

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

enum { LETTERS = 27, SAMPLES = 32, STEPS = 24, UNITS = 96, MOST = 16 };

/* Letters as 0 … 25, and 26 for a run of anything else. */
static int32_t *read_text(const char *path, int64_t *count)
{
    FILE *file = fopen(path, "r");
    int32_t *text = NULL;
    *count = 0;
    if (!file)
        return NULL;
    for (int c; (c = fgetc(file)) != EOF;) {
        const int32_t letter = c < 128 && isalpha(c) ? tolower(c) - 'a' : LETTERS - 1;
        if (letter == LETTERS - 1 && *count > 0 && text[*count - 1] == letter)
            continue;
        if (*count % 4096 == 0)
            text = realloc(text, (size_t)(*count + 4096) * sizeof *text);
        if (!text)
            break;
        text[(*count)++] = letter;
    }
    fclose(file);
    return text;
}

typedef struct model {
    hk_module *embedding, *gru, *output;
} model;

/* Logits (n t, LETTERS) of what comes next; *state becomes the last one. */
static hk_array *forward(const model *self, hk_array *letters, hk_array **state)
{
    hk_array *x = hk_forward(self->embedding, letters);
    hk_array *h = hk_forward_all(self->gru, (hk_array *[]){x, *state}, 2);
    *state = hk_detach(hk_index(h, 1, hk_dim(h, 1) - 1));
    return hk_forward(self->output, hk_reshape(h, hk_shape(-1, UNITS)));
}

/* What the model thinks comes after the beginning, always the likeliest letter. */
static void continue_text(const model *self, const char *begin, int count)
{
    HK_SCOPE;
    int32_t letter = 0;
    hk_array *state = hk_zeros(hk_shape(1, UNITS), HK_F32, (hk_device){NULL});
    for (int i = 0; i < count; i++) {
        if (*begin)
            letter = isalpha((unsigned char)*begin) ? *begin - 'a' : LETTERS - 1;
        begin += *begin != '\0';
        putchar(letter == LETTERS - 1 ? ' ' : 'a' + letter);
        hk_array *x = hk_from_host(&letter, hk_shape(1, 1), HK_I32, (hk_device){NULL});
        hk_array *logits = forward(self, x, &state);
        letter = (int32_t)hk_item(hk_argmax(logits, 1), NULL);
    }
    putchar('\n');
}

/* A step of training on each sample's next letters, from *state, which is kept. Returns the mean of the losses. */
static double train_step(const model *self, hk_array *x, hk_array *y, hk_array **state,
                         hk_optimizer **adam)
{
    HK_SCOPE;
    hk_array *before = *state, *params[MOST];
    hk_record_begin();
    hk_array *logits = forward(self, x, state);
    hk_array *loss = hk_mean(hk_softmax_cross_entropy(logits, hk_reshape(y, hk_shape(-1))), NULL);
    hk_record_end();
    hk_array_release(before);
    hk_take(*state);
    hk_module *const parts[] = {self->embedding, self->gru, self->output};
    int count = 0;
    for (int i = 0; i < 3; i++)
        count += hk_module_parameters(parts[i], params + count, MOST - count);
    if (!*adam)
        *adam = hk_optimizer_create("adam", params, count, &(hk_optimizer_options){.lr = 0.01});
    hk_backward(loss);
    hk_clip_grad_norm(params, count, 1);
    hk_optimizer_step(*adam);
    return hk_item(loss, NULL);
}

int main(int count, char **arguments)
{
    const int steps = count > 1 ? atoi(arguments[1]) : 100;
    const char *path = count > 2 ? arguments[2] : "/usr/share/common-licenses/GPL-3";
    int64_t length;
    int32_t *text = read_text(path, &length);
    const int64_t share = length / SAMPLES; /* each sample reads a part of the text in order */
    if (share <= STEPS) {
        fprintf(stderr, "%s: not there, or too short to learn from\n", path);
        free(text);
        return 77;
    }
    HK_SCOPE;
    hk_seed(1);
    hk_array *all = hk_from_host(text, hk_shape(SAMPLES, share), HK_I32, (hk_device){NULL});
    free(text);
    const model self = {hk_embedding_layer(LETTERS, 32),
                        hk_recurrent_layer(HK_RECURRENT_GRU, UNITS, false),
                        hk_linear_layer(LETTERS, NULL)};
    hk_optimizer *adam = NULL;
    hk_array *state = hk_take(hk_zeros(hk_shape(SAMPLES, UNITS), HK_F32, (hk_device){NULL}));
    int64_t at = 0;
    for (int step = 1; step <= steps; step++, at += STEPS) {
        HK_SCOPE;
        if (at + STEPS >= share)
            at = 0;
        hk_array *x = hk_slice(all, 1, at, at + STEPS),
                 *y = hk_slice(all, 1, at + 1, at + STEPS + 1);
        const double loss = train_step(&self, x, y, &state, &adam);
        if (step % 20 == 0)
            printf("step %4d: perplexity %.2f\n", step, exp(loss));
    }
    continue_text(&self, "the program ", 60);
    hk_array_release(state);
    hk_optimizer_release(adam);
    hk_module_release(self.embedding);
    hk_module_release(self.gru);
    hk_module_release(self.output);
    return hk_status_print(hk_wait_all(), stderr);
}
