/* Tokenizers by hocket/tokenizer.h: what C alone sees. That ids and texts are those of the package
 * that writes such files, python/tests/test_tokenizers.py and tests/text/compare.py look at. */
#include <hocket/hocket.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed_checks;
#define CHECK(condition)                                                                           \
    ((condition)                                                                                   \
         ? (void)0                                                                                 \
         : (void)(failed_checks++, printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition)))

static hk_tokenizer *tokenizer; /* WordPiece, with [CLS] and [SEP] */

static hk_tokenizer *sample(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/text/samples/%s", TEST_SOURCE_DIR, name);
    return hk_tokenizer_load(path, NULL);
}

static bool says(const hk_status *status, hk_code code, const char *text)
{
    const bool is_so = hk_status_code(status) == code && strstr(hk_status_message(status), text);
    if (!is_so)
        printf("%d: %s\n", hk_status_code(status), hk_status_message(status));
    return is_so;
}

/* ---- ids ------------------------------------------------------------------------------------- */

static void test_encode(void)
{
    HK_SCOPE;
    int32_t ids[8], few[2] = {-7, -7};
    const hk_status *status;
    hk_array *x = hk_tokenizer_encode(tokenizer, "the of", 6, NULL);
    CHECK(hk_size(x) >= 4 && hk_size(x) <= 8 && hk_array_dtype(x) == HK_I32);
    const int64_t count = hk_size(x);
    CHECK(hk_ok(hk_to_host(x, ids, (size_t)count * sizeof *ids)));
    CHECK(ids[0] == hk_tokenizer_id(tokenizer, "[CLS]", 5));
    CHECK(ids[count - 1] == hk_tokenizer_id(tokenizer, "[SEP]", 5));
    const hk_text text = {.text = "the of", .bytes = 6};
    CHECK(hk_tokenizer_encode_into(tokenizer, &text, NULL, few, 1, &status) == count);
    CHECK(hk_ok(status) && few[0] == ids[0] && few[1] == -7);
    CHECK(hk_tokenizer_encode_into(tokenizer, &text, NULL, NULL, 0, NULL) == count);
    CHECK(hk_tokenizer_encode_into(tokenizer, &text, NULL, NULL, 1, NULL) == -1);
    CHECK(hk_tokenizer_encode_into(tokenizer, NULL, NULL, few, 1, &status) == -1);
    CHECK(says(status, HK_INVALID_ARGUMENT, "argument text is NULL"));
    size_t bytes;
    char *back = hk_tokenizer_decode(tokenizer, ids, count, NULL, &bytes, &status);
    CHECK(hk_ok(status) && back && !strcmp(back, "the of") && bytes == 6);
    free(back);
    CHECK(hk_size(hk_tokenizer_encode(tokenizer, NULL, 0, NULL)) == 2);
    CHECK(hk_size(hk_tokenizer_encode(tokenizer, "a\0a", 3, NULL)) ==
          hk_size(hk_tokenizer_encode(tokenizer, "aa", 2, NULL)));
}

static void test_batch(void)
{
    HK_SCOPE;
    const hk_text texts[] = {{.text = "the", .bytes = 3}, {.text = "\xFF", .bytes = 1}};
    hk_token_batch batch = hk_tokenizer_encode_batch(
        tokenizer, texts, 1, &(hk_encode_options){.least_tokens = 7, .pad_left = true});
    bool mask[7] = {false};
    CHECK(hk_dim(batch.ids, 1) == 7 && hk_dim(batch.lengths, 0) == 1);
    CHECK(hk_ok(hk_to_host(batch.mask, mask, sizeof mask)) && !mask[0] && mask[6]);
    batch = hk_tokenizer_encode_batch(tokenizer, texts, 2, NULL);
    CHECK(says(hk_wait(batch.ids), HK_INVALID_ARGUMENT, "text 1: text is no UTF-8: byte 0 of 1"));
    CHECK(says(hk_wait(batch.lengths), HK_INVALID_ARGUMENT, "text 1"));
    batch = hk_tokenizer_encode_batch(tokenizer, NULL, 2, NULL);
    CHECK(says(hk_wait(batch.mask), HK_INVALID_ARGUMENT, "2 texts at NULL"));
    hk_failures_clear();
}

/* Whatever the bytes are: ids, or the refusal of what is no UTF-8. */
static void test_any_bytes(void)
{
    hk_tokenizer *others[] = {tokenizer, sample("gpt2.json"), sample("llama3.json")};
    uint64_t random = 1;
    for (int i = 0; i < 3000; i++) {
        char text[40];
        const size_t bytes = (size_t)i % sizeof text;
        for (size_t at = 0; at < bytes; at++) {
            random = random * 6364136223846793005 + 1442695040888963407;
            text[at] = (char)(random >> (i % 2 ? 33 : 60));
        }
        const hk_text its = {.text = text, .bytes = bytes};
        const hk_status *status;
        int32_t ids[256];
        const int64_t count =
            hk_tokenizer_encode_into(others[i % 3], &its, NULL, ids, 256, &status);
        CHECK(count >= 0 ? hk_ok(status) && count <= 256
                         : hk_status_code(status) == HK_INVALID_ARGUMENT);
    }
    hk_tokenizer_release(others[1]);
    hk_tokenizer_release(others[2]);
}

/* A long word, and long runs, in time that grows with their length. */
static void test_long_text(void)
{
    enum { BYTES = 1 << 20 };
    char *text = malloc(BYTES);
    int32_t *ids = malloc(BYTES * sizeof *ids);
    hk_tokenizer *bpe = sample("gpt2.json");
    for (int i = 0; text && ids && i < 3; i++) {
        memset(text, "a \n"[i], BYTES);
        const hk_text its = {.text = text, .bytes = BYTES};
        const int64_t count = hk_tokenizer_encode_into(bpe, &its, NULL, ids, BYTES, NULL);
        CHECK(count > 0 && count <= BYTES);
        char *back = hk_tokenizer_decode(bpe, ids, count, NULL, NULL, NULL);
        CHECK(back && !memcmp(back, text, BYTES));
        free(back);
    }
    hk_tokenizer_release(bpe);
    free(text);
    free(ids);
}

static void *encode_often(void *result)
{
    const hk_text text = {.text = "the of and don't 12 \xC3\x89", .bytes = 22};
    int32_t ids[64];
    int64_t *sum = result;
    for (int i = 0; i < 200; i++) {
        const int64_t count = hk_tokenizer_encode_into(tokenizer, &text, NULL, ids, 64, NULL);
        for (int64_t at = 0; at < count; at++)
            *sum += ids[at];
    }
    return NULL;
}

static void test_threads(void)
{
    enum { COUNT = 4 };
    pthread_t threads[COUNT];
    int64_t sums[COUNT] = {0};
    for (int i = 0; i < COUNT; i++)
        pthread_create(&threads[i], NULL, encode_often, &sums[i]);
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < COUNT; i++)
        CHECK(sums[i] > 0 && sums[i] == sums[0]);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void test_failed(void)
{
    HK_SCOPE;
    hk_tokenizer *none = hk_tokenizer_load("no-such-tokenizer.json", NULL);
    const hk_status *status;
    CHECK(says(hk_tokenizer_status(none), HK_NOT_FOUND, "no-such-tokenizer.json"));
    CHECK(hk_tokenizer_size(none) == 0 && !hk_tokenizer_token(none, 0, NULL));
    CHECK(hk_tokenizer_id(none, "a", 1) == -1 && !hk_tokenizer_is_special(none, 0));
    CHECK(says(hk_wait(hk_tokenizer_encode(none, "a", 1, NULL)), HK_NOT_FOUND, "no-such"));
    CHECK(!hk_tokenizer_decode(none, NULL, 0, NULL, NULL, &status));
    CHECK(says(status, HK_NOT_FOUND, "no-such"));
    CHECK(says(hk_wait(hk_tokenizer_encode_batch(none, NULL, 0, NULL).types), HK_NOT_FOUND, "no"));
    hk_tokenizer_release(none);
    none = hk_tokenizer_load(NULL, NULL);
    CHECK(says(hk_tokenizer_status(none), HK_INVALID_ARGUMENT, "argument path is NULL"));
    hk_tokenizer_release(none);
    none = hk_tokenizer_load("x", &(hk_tokenizer_options){.plugin = "no_such_plugin"});
    CHECK(says(hk_tokenizer_status(none), HK_NOT_FOUND, "libhocket_no_such_plugin.so"));
    hk_tokenizer_release(none);
    none = hk_tokenizer_load("x", &(hk_tokenizer_options){.plugin = "../x"});
    CHECK(says(hk_tokenizer_status(none), HK_INVALID_ARGUMENT, "plugin"));
    hk_tokenizer_release(none);
    CHECK(says(hk_tokenizer_status(NULL), HK_INVALID_ARGUMENT, "argument tokenizer is NULL"));
    CHECK(says(hk_wait(hk_tokenizer_encode(NULL, "a", 1, NULL)), HK_INVALID_ARGUMENT, "NULL"));
    CHECK(!hk_tokenizer_decode(tokenizer, NULL, 3, NULL, NULL, &status));
    CHECK(says(status, HK_INVALID_ARGUMENT, "3 ids at NULL"));
    hk_tokenizer_release(NULL);
    hk_failures_clear();
}

int main(void)
{
    tokenizer = sample("bert.json");
    if (!hk_ok(hk_tokenizer_status(tokenizer)))
        return hk_status_print(hk_tokenizer_status(tokenizer), stdout);
    test_encode();
    test_batch();
    test_any_bytes();
    test_long_text();
    test_threads();
    test_failed();
    hk_tokenizer_release(hk_tokenizer_retain(tokenizer));
    hk_tokenizer_release(tokenizer);
    printf("%d checks failed\n", failed_checks);
    return failed_checks > 0;
}
