/* hocket generate: what a trained language model writes behind texts. */
#include "commands.h"
#include "device_list.h"
#include "saved_training.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PROMPTS = 64, USUAL_POSITIONS = 64 };

typedef struct generate_options {
    const char *load, *devices;
    int64_t tokens, top_k, seed;
    double temperature, top_p;
} generate_options;

static const option_row rows[] = {
    OPTION_TEXT_ROW("load", generate_options, load, "FILE",
                    "the network, as hocket train --save wrote it; must be given"),
    OPTION_INT_ROW("tokens", generate_options, tokens, 1, 1 << 20,
                   "letters to write behind each text (default: 200)"),
    OPTION_NUMBER_ROW("temperature", generate_options, temperature, 0, 1000,
                      "below 1 more likely letters, above 1 less likely ones; 0: always the\n"
                      "likeliest (default: 1)"),
    OPTION_INT_ROW("top-k", generate_options, top_k, 0, 1 << 20,
                   "among so many of the likeliest letters (default: 0, all)"),
    OPTION_NUMBER_ROW("top-p", generate_options, top_p, 0, 1,
                      "among the likeliest that have that probability together (default: 0, all)"),
    OPTION_INT_ROW("seed", generate_options, seed, 0, 1e15,
                   "the same seed, the same text (default: 0)"),
    OPTION_TEXT_ROW("devices", generate_options, devices, "LIST",
                    "devices that the texts are split over, as cpu:0,cpu:1"),
};

/* A text as it grows. */
typedef struct text_row {
    int32_t *tokens;
    int64_t count;
} text_row;

typedef struct writer {
    hk_archive *archive;
    saved_shape shape;
    hk_vocabulary *vocabulary;
    hk_module *nets[MAX_DEVICES];
    hk_device devices[MAX_DEVICES];
    int device_count;
    text_row *texts;
    int64_t text_count, positions; /* positions: that the network knows */
    bool prints;                   /* what is written, as it comes */
} writer;

/* ---- loading --------------------------------------------------------------------------------- */

static bool load(writer *self, const char *path, const model_kind *kind)
{
    self->archive =
        hk_load(path, (hk_device){NULL}, &(hk_load_options){.format = HK_FORMAT_SAFETENSORS});
    if (!saved_shape_read(self->archive, path, kind->name, &self->shape))
        return false;
    const char *vocabulary = hk_archive_metadata(self->archive, "vocabulary");
    self->vocabulary = hk_vocabulary_of_text(vocabulary ? vocabulary : "");
    if (hk_status_print(hk_vocabulary_status(self->vocabulary), stderr))
        return false;
    if (hk_vocabulary_size(self->vocabulary) != self->shape.options.classes) {
        fprintf(stderr, "hocket: %s has a vocabulary of another size than its network\n", path);
        return false;
    }
    self->positions = self->shape.options.steps ? self->shape.options.steps : USUAL_POSITIONS;
    self->nets[0] = kind->create(&self->shape.options);
    hk_module_set_training(self->nets[0], false);
    hk_checkpoint state = {.module = self->nets[0], .without_stream = true};
    if (hk_status_print(hk_checkpoint_load(path, &state), stderr))
        return false;
    for (int i = 1; i < self->device_count; i++)
        self->nets[i] = hk_module_replicate(self->nets[0], self->devices[i]);
    return true;
}

static bool read_texts(writer *self, char **prompts, int count, int64_t more)
{
    self->texts = calloc((size_t)count, sizeof *self->texts);
    for (int i = 0; i < count && self->texts; i++) {
        HK_SCOPE;
        text_row *row = &self->texts[self->text_count++];
        hk_array *tokens = hk_vocabulary_encode(self->vocabulary, prompts[i], strlen(prompts[i]));
        row->count = hk_size(tokens);
        row->tokens = malloc((size_t)(row->count + more) * sizeof *row->tokens);
        if (!row->tokens)
            break;
        if (hk_status_print(
                hk_to_host(tokens, row->tokens, (size_t)row->count * sizeof *row->tokens), stderr))
            return false;
        if (!row->count) {
            fprintf(stderr, "hocket: text %d has no letters that the network knows\n", i + 1);
            return false;
        }
    }
    if (self->text_count == count && self->texts[count - 1].tokens)
        return true;
    fprintf(stderr, "hocket: out of host memory\n");
    return false;
}

static void writer_deinit(writer *self)
{
    for (int64_t i = 0; i < self->text_count; i++)
        free(self->texts[i].tokens);
    free(self->texts);
    for (int i = 0; i < self->device_count; i++)
        hk_module_release(self->nets[i]);
    hk_vocabulary_release(self->vocabulary);
    hk_archive_release(self->archive);
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool take_step(void *of, const int64_t *tokens, int64_t count)
{
    writer *self = of;
    for (int64_t i = 0; i < count; i++) {
        text_row *row = &self->texts[i];
        row->tokens[row->count++] = (int32_t)tokens[i];
    }
    if (self->prints) {
        printf("%s", hk_vocabulary_token(self->vocabulary, tokens[0]));
        fflush(stdout);
    }
    return true;
}

/* So many more tokens at most, behind the last ones of each text; returns how many, 0: it failed,
 * which is printed. What is longer than the network's positions goes on from the latter half of
 * them. */
static int64_t write_some(writer *self, int64_t most, const hk_generate_options *options)
{
    HK_SCOPE;
    const int64_t room = self->positions, texts = self->text_count;
    int64_t width = 0;
    int32_t *prompts = NULL, *lengths = malloc((size_t)texts * sizeof *lengths);
    for (int64_t i = 0; lengths && i < texts; i++) {
        const int64_t count = self->texts[i].count;
        lengths[i] = (int32_t)(count <= room ? count : room / 2 + 1);
        width = lengths[i] > width ? lengths[i] : width;
    }
    prompts = calloc((size_t)(texts * width) + 1, sizeof *prompts);
    for (int64_t i = 0; lengths && prompts && i < texts; i++) {
        const text_row *row = &self->texts[i];
        memcpy(prompts + i * width, row->tokens + row->count - lengths[i],
               (size_t)lengths[i] * sizeof *prompts);
    }
    hk_generate_options its = *options;
    its.most_tokens = most < room - width + 1 ? most : room - width + 1;
    hk_array *made = NULL;
    if (prompts && lengths)
        made = hk_generate_over(
            self->nets, self->devices, self->device_count,
            hk_from_host(prompts, hk_shape(texts, width), HK_I32, self->devices[0]),
            hk_from_host(lengths, hk_shape(texts), HK_I32, self->devices[0]), &its);
    free(prompts);
    free(lengths);
    if (!made)
        fprintf(stderr, "hocket: out of host memory\n");
    return made && !hk_status_print(hk_wait(made), stderr) ? its.most_tokens : 0;
}

static void print_text(const writer *self, const text_row *row)
{
    for (int64_t i = 0; i < row->count; i++)
        printf("%s", hk_vocabulary_token(self->vocabulary, row->tokens[i]));
    printf("\n");
}

static bool write_all(writer *self, const generate_options *from)
{
    const hk_generate_options options = {.temperature =
                                             from->temperature > 0 ? from->temperature : HK_ZERO,
                                         .top_k = from->top_k,
                                         .top_p = from->top_p,
                                         .each = take_step,
                                         .of = self};
    self->prints = self->text_count == 1;
    if (self->prints)
        for (int64_t i = 0; i < self->texts[0].count; i++)
            printf("%s", hk_vocabulary_token(self->vocabulary, self->texts[0].tokens[i]));
    hk_seed((uint64_t)from->seed);
    for (int64_t left = from->tokens, some; left; left -= some) {
        some = write_some(self, left, &options);
        if (!some)
            return false;
    }
    if (self->prints)
        printf("\n");
    for (int64_t i = 0; i < self->text_count && !self->prints; i++)
        print_text(self, &self->texts[i]);
    return true;
}

static int run(int count, char **arguments)
{
    char *operands[MOST_PROMPTS + 1];
    int operand_count, status;
    generate_options options = {.tokens = 200, .temperature = 1};
    device_list devices;
    writer self = {0};
    if (!options_parse(&generate_command, count, arguments, &options, operands, MOST_PROMPTS + 1,
                       &operand_count, &status))
        return status;
    if (operand_count < 2)
        return options_complain(&generate_command,
                                "%s missing: hocket generate MODEL --load FILE TEXT",
                                operand_count ? "a text is" : "a model and a text are");
    const model_kind *kind = model_find(operands[0]);
    if (!kind)
        return complain_model(&generate_command, operands[0]);
    if (strcmp(kind->name, "gpt"))
        return options_complain(&generate_command, "%s does not write on; gpt does", kind->name);
    if (!options.load)
        return options_complain(&generate_command, "--load FILE is missing");
    if (!device_list_parse(&devices, &generate_command, options.devices))
        return EXIT_USAGE;
    bool is_good = device_list_start(&devices);
    if (is_good && devices.count) {
        is_good = device_list_find(&devices, self.devices, &self.device_count);
    } else {
        self.devices[0] = hk_device_default();
        self.device_count = 1;
    }
    is_good = is_good && load(&self, options.load, kind) &&
              read_texts(&self, operands + 1, operand_count - 1, options.tokens) &&
              write_all(&self, &options);
    writer_deinit(&self);
    hk_runtime_deinit();
    return !is_good;
}

const command generate_command = {
    .name = "generate",
    .operands = "MODEL TEXT...",
    .summary = "Writes on behind texts, by a language model that was trained.",
    .description = "Several texts, of any lengths, are written on side by side, and printed at the "
                   "end; one as it\ncomes. The network keeps what it has read, so that a letter "
                   "costs the same wherever it is.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
    .run = run,
};
