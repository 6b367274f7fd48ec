/* Vocabularies and pieces of a text: the tokens that formulas say, on any devices. */
#include "tests/io_fixture.h"

enum { MOST = 4096 };

static hk_vocabulary *vocabulary_of(const char *text, const hk_vocabulary_options *options)
{
    hk_vocabulary *self = hk_vocabulary_create(text, strlen(text), options);
    CHECK(!hk_status_print(hk_vocabulary_status(self), stderr));
    return self;
}

/* All tokens, with a bar behind each. */
static void check_tokens(const char *text, const hk_vocabulary_options *options, const char *tokens)
{
    char found[MOST] = "";
    hk_vocabulary *self = vocabulary_of(text, options);
    for (int64_t i = 0; i < hk_vocabulary_size(self); i++) {
        const char *token = hk_vocabulary_token(self, i);
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s|", token);
        CHECK_EQ_I64(hk_vocabulary_place(self, token, strlen(token)), i);
    }
    CHECK_STR(found, tokens);

    /* The same from its text. */
    hk_vocabulary *again = hk_vocabulary_of_text(hk_vocabulary_text(self));
    CHECK(!hk_status_print(hk_vocabulary_status(again), stderr));
    CHECK_STR(hk_vocabulary_text(again), hk_vocabulary_text(self));
    CHECK_EQ_I64(hk_vocabulary_size(again), hk_vocabulary_size(self));
    HK_SCOPE;
    hk_array *places = hk_vocabulary_encode(self, text, strlen(text));
    hk_array *others = hk_vocabulary_encode(again, text, strlen(text));
    CHECK(hk_size(places) == hk_size(others));
    CHECK(hk_item(hk_all(hk_equal(places, others), NULL), NULL) == 1);
    hk_vocabulary_release(again);
    hk_vocabulary_release(self);
}

static void test_vocabularies(void)
{
    const hk_vocabulary_options words = {.kind = HK_TOKEN_WORDS}, letters = {.letters_only = true},
                                letter_words = {.kind = HK_TOKEN_WORDS, .letters_only = true};
    check_tokens("abacab", NULL, "<unk>|a|b|c|");
    check_tokens("", NULL, "<unk>|");
    check_tokens("\xc3\xa4 \xc3\xa4\n\xff\\", NULL, "<unk>|\xc3\xa4|\n| |\\|\xff|");
    check_tokens("\xe2\x82", NULL, "<unk>|\x82|\xe2|"); /* cut short */
    check_tokens("It's 3 dogs, dogs.", &words, "<unk>|dogs|,|.|3|It's|");
    check_tokens(" It's  3 Dogs!", &letters, "<unk>| |s|d|g|i|o|t|");
    check_tokens("It's 3 Dogs, dogs", &letter_words, "<unk>|dogs|it|s|");
    check_tokens("b b c c a <unk>", &(hk_vocabulary_options){HK_TOKEN_WORDS, false, 2, 0},
                 "<unk>|b|c|");
    check_tokens("a b b c c c", &(hk_vocabulary_options){HK_TOKEN_WORDS, false, 0, 3},
                 "<unk>|c|b|");
    check_tokens("", &(hk_vocabulary_options){HK_TOKEN_WORDS, true, 0, 0}, "<unk>|");

    HK_SCOPE;
    hk_vocabulary *self = vocabulary_of("abacab", NULL);
    CHECK(fixture_holds(hk_vocabulary_encode(self, "cxa\0b", 5), (const int32_t[]){3, 0, 1, 0, 2},
                        20));
    CHECK(hk_size(hk_vocabulary_encode(self, NULL, 0)) == 0);
    CHECK_STR(hk_vocabulary_token(self, 99), "<unk>");
    CHECK_STR(hk_vocabulary_token(self, -1), "<unk>");
    hk_vocabulary_release(hk_vocabulary_retain(self));
    hk_vocabulary_release(self);
    hk_vocabulary_release(NULL);
}

/* Many tokens, so that counting has to make room: each comes as often as it says. */
static void test_counts(void)
{
    enum { WORDS = 3000, BYTES = 1 << 19 };
    char *text = malloc(BYTES), word[16];
    size_t used = 0;
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < WORDS; i++)
            if (i % (round + 1) == 0)
                used += (size_t)snprintf(text + used, BYTES - used, "w%d ", i);
    hk_vocabulary *self = hk_vocabulary_create(
        text, used, &(hk_vocabulary_options){.kind = HK_TOKEN_WORDS, .least_count = 3});
    int64_t expected = 1;
    for (int i = 0; i < WORDS; i++) {
        int count = 0;
        for (int round = 0; round < 20; round++)
            count += i % (round + 1) == 0;
        snprintf(word, sizeof word, "w%d", i);
        const int64_t place = hk_vocabulary_place(self, word, strlen(word));
        CHECK((place > 0) == (count >= 3));
        expected += count >= 3;
    }
    CHECK_EQ_I64(hk_vocabulary_size(self), expected);
    CHECK_STR(hk_vocabulary_token(self, 1), "w0");
    hk_vocabulary_release(self);
    free(text);
}

static void check_vocabulary_fails(hk_vocabulary *self, hk_code code, const char *text)
{
    HK_SCOPE;
    fixture_check_message(hk_vocabulary_status(self), code, text);
    CHECK_EQ_I64(hk_vocabulary_size(self), 1);
    CHECK(hk_vocabulary_place(self, "a", 1) == 0);
    CHECK(hk_status_code(hk_wait(hk_vocabulary_encode(self, "a", 1))) == code);
    hk_vocabulary_release(self);
}

static void test_refusals(void)
{
    static const char *const texts[] = {"",
                                        "x",
                                        "hocket.vocabulary",
                                        "hocket.vocabulary words",
                                        "hocket.vocabulary sounds\na\n",
                                        "hocket.vocabulary words small\na\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_vocabulary_fails(hk_vocabulary_of_text(texts[i]), HK_BAD_DATA, "is no vocabulary");
    check_vocabulary_fails(hk_vocabulary_of_text(NULL), HK_BAD_DATA, "is no vocabulary");
    static const char *const lines[] = {"a\n\n",      "a\nb",       "a\n\\x4\n",
                                        "a\n\\x00\n", "a\n\\y41\n", "a\n\\"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[64];
        snprintf(text, sizeof text, "hocket.vocabulary words\n%s", lines[i]);
        check_vocabulary_fails(hk_vocabulary_of_text(text), HK_BAD_DATA, "line 3 is no token");
    }
    check_vocabulary_fails(hk_vocabulary_of_text("hocket.vocabulary characters\na\nb\n\\x61\n"),
                           HK_BAD_DATA, "there twice");
    check_vocabulary_fails(hk_vocabulary_create(NULL, 3, NULL), HK_INVALID_ARGUMENT, "text is");
    check_vocabulary_fails(
        hk_vocabulary_create("a", 1, &(hk_vocabulary_options){.least_count = -1}),
        HK_INVALID_ARGUMENT, "least_count -1");
    check_vocabulary_fails(NULL, HK_INVALID_ARGUMENT, "vocabulary is NULL");
    const hk_status *status;
    size_t bytes;
    CHECK(!hk_text_read("/nowhere/x", &bytes, &status));
    fixture_check_message(status, HK_NOT_FOUND, "/nowhere/x");
    CHECK(!hk_text_read("/nowhere/x", &bytes, NULL));
    const char *path = fixture_path("a.txt");
    fixture_write(path, "abc", 3);
    char *text = hk_text_read(path, &bytes, &status);
    CHECK(hk_ok(status) && bytes == 3);
    CHECK_STR(text, "abc");
    free(text);
    hk_wait_all();
    hk_failures_clear();
}

/* ---- pieces ---------------------------------------------------------------------------------------------- */

static hk_data_set *tokens_set(int64_t count, const hk_token_options *options)
{
    HK_SCOPE;
    return hk_data_set_of_tokens(hk_arange(0, (double)count, 1, HK_I64, (hk_device){0}), options);
}

/* The first tokens of the samples of an epoch, in the order of batches; all follow each other, and y is x's next. */
static int64_t read_epoch(hk_data_set *set, int64_t epoch, int64_t batch, bool shuffle, int devices,
                          int32_t *firsts)
{
    const int64_t steps = hk_data_set_field_shape(set, 0).dims[0];
    hk_device list[2] = {hk_device_at(0), hk_device_at(1)};
    hk_loader *loader = hk_loader_create(set, &(hk_loader_options){.batch_size = batch,
                                                                   .shuffle = shuffle,
                                                                   .seed = 5,
                                                                   .devices = list,
                                                                   .device_count = devices});
    hk_loader_start_epoch(loader, epoch);
    int64_t count = 0;
    hk_array *x[2], *y[2];
    for (;;) {
        HK_SCOPE;
        if (!hk_loader_next(loader, x, y))
            break;
        for (int d = 0; d < devices; d++) {
            int32_t before[MOST], after[MOST];
            const size_t bytes = (size_t)hk_size(x[d]) * sizeof *before;
            CHECK(hk_array_dtype(x[d]) == HK_I32 && bytes <= sizeof before);
            CHECK(hk_ok(hk_to_host(x[d], before, bytes)) && hk_ok(hk_to_host(y[d], after, bytes)));
            for (int64_t i = 0; i < hk_size(x[d]); i++) {
                CHECK(after[i] == before[i] + 1);
                CHECK(i % steps == 0 || before[i] == before[i - 1] + 1);
                if (i % steps == 0)
                    firsts[count++] = before[i];
            }
        }
    }
    hk_loader_release(loader);
    return count;
}

static void test_random_pieces(void)
{
    enum { TOKENS = 100, STEPS = 7 };
    int32_t firsts[MOST], others[MOST];
    hk_data_set *set = tokens_set(TOKENS, &(hk_token_options){.steps = STEPS});
    CHECK_EQ_I64(hk_data_set_size(set), 13);
    bool seen[STEPS] = {0};
    for (int64_t epoch = 0; epoch < 60; epoch++) {
        CHECK_EQ_I64(read_epoch(set, epoch, 4, true, 1, firsts), 13);
        const int start = firsts[0] % STEPS;
        bool there[TOKENS] = {0};
        for (int i = 0; i < 13; i++) {
            CHECK(firsts[i] % STEPS == start && !there[firsts[i]]);
            there[firsts[i]] = true;
        }
        CHECK(there[start]); /* the first piece is among them */
        seen[start] = true;
        read_epoch(set, epoch, 4, true, 2, others);
        CHECK(!memcmp(firsts, others, 13 * sizeof *firsts));
    }
    for (int i = 0; i < STEPS; i++)
        CHECK(seen[i]);
    hk_data_set_release(set);
    set = tokens_set(TOKENS, &(hk_token_options){.steps = 11, .fixed_start = true});
    CHECK_EQ_I64(hk_data_set_size(set), 9); /* all 100 */
    read_epoch(set, 3, 2, false, 1, firsts);
    for (int i = 0; i < 9; i++)
        CHECK(firsts[i] == 11 * i);
    hk_data_set_release(set);
}

/* Row i goes on where row i of the batch before ended. */
static void test_lanes(void)
{
    enum { STEPS = 5, LANES = 4 };
    int32_t firsts[MOST];
    hk_data_set *set = tokens_set(128, &(hk_token_options){.steps = STEPS, .lanes = LANES});
    CHECK_EQ_I64(hk_data_set_size(set), 24); /* (128 - 5) / 4 / 5 in each lane */
    for (int64_t epoch = 0; epoch < 20; epoch++)
        for (int devices = 1; devices <= 2; devices++) {
            CHECK_EQ_I64(read_epoch(set, epoch, LANES, false, devices, firsts), 24);
            for (int i = LANES; i < 24; i++)
                CHECK_EQ_I64(firsts[i], firsts[i - LANES] + STEPS);
            for (int i = 1; i < LANES; i++)
                CHECK_EQ_I64(firsts[i], firsts[i - 1] + 30);
            CHECK(firsts[0] < STEPS);
        }
    hk_data_set_release(set);
}

static void set_fails(hk_data_set *set, const char *text)
{
    fixture_check_message(hk_data_set_status(set), HK_INVALID_ARGUMENT, text);
    hk_data_set_release(set);
}

static void test_piece_refusals(void)
{
    HK_SCOPE;
    const hk_token_options options = {.steps = 5};
    hk_data_set *least = tokens_set(10, &options);
    CHECK_EQ_I64(hk_data_set_size(least), 1);
    hk_data_set_release(least);
    set_fails(tokens_set(9, &options), "there are 9 tokens; 1 x 5 + 5 would be right");
    set_fails(tokens_set(0, &(hk_token_options){.steps = 1, .fixed_start = true}), "0 tokens");
    set_fails(tokens_set(99, &(hk_token_options){.steps = 5, .lanes = 19}), "19 x 5 + 5");
    set_fails(tokens_set(99, NULL), "steps is 0");
    set_fails(tokens_set(99, &(hk_token_options){.steps = INT64_MAX}), "steps is 9");
    set_fails(tokens_set(99, &(hk_token_options){.steps = 2, .lanes = -1}), "lanes -1");
    hk_array *x = hk_zeros(hk_shape(40), HK_F32, (hk_device){0});
    set_fails(hk_data_set_of_tokens(x, &options), "tokens are float32(40,)");
    set_fails(hk_data_set_of_tokens(hk_zeros(hk_shape(4, 9), HK_I32, (hk_device){0}), &options),
              "int32(4,9)");
    set_fails(hk_data_set_of_tokens(NULL, &options), "NULL");
    set_fails(hk_data_set_of_tokens(hk_reshape(x, hk_shape(7)), &options), "");
    hk_wait_all();
    hk_failures_clear();
}

int main(void)
{
    fixture_begin();
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2})));
    test_vocabularies();
    test_counts();
    test_refusals();
    test_random_pieces();
    test_lanes();
    test_piece_refusals();
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    fixture_end();
    return check_result();
}
