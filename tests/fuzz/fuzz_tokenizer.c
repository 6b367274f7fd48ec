/* Fuzzing of what reads tokenizers (plugins/text): any bytes are a tokenizer.json or an error, and
 * what was read encodes a text of many kinds of letters, and decodes what that gave.
 *
 * With libFuzzer: scripts/fuzz
 * Without: `fuzz_tokenizer FILE|FOLDER…` runs each file; with no arguments, every truncation and
 * every flipped bit of the built-in seeds. */
#include "fuzz/fuzz_driver.h"

#include <hocket/hocket.h>
#include <sys/mman.h>
#include <unistd.h>

extern hk_tokenizer_open_fn hocket_tokenizer_open;

static const char letters[] = "the ab abab  don't 12345 \xC3\x89\xCC\x81 \xE6\x97\xA5\xE6\x9C\xAC "
                              "\xF0\x9F\x98\x80\xE2\x80\x8D"
                              "\xF0\x9F\x91\xA9 \xEA\xB0\x80\xE1\x86\xA7 \t\r\n[S] "
                              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab!?";

static void use(const hk_tokenizer_source *source)
{
    const hk_text text = {.text = letters,
                          .bytes = sizeof letters, /* with its zero */
                          .pair = "ba",
                          .pair_bytes = 2};
    for (int i = 0; i < 4; i++) {
        const hk_encode_options options = {
            .no_special = i & 1, .special_as_text = i & 2, .most_tokens = i * 5};
        hk_text_problem problem = {.code = HK_OK};
        hk_token_list tokens = {.ids = NULL};
        if (!source->encode(source, &text, &options, &tokens, &problem)) {
            fuzz_require(problem.code != HK_OK && *problem.message, "an error says nothing");
            continue;
        }
        size_t bytes = 0;
        char *back = source->decode(source, tokens.ids, tokens.count,
                                    &(hk_decode_options){.with_special = i & 1}, &bytes, &problem);
        fuzz_require(back ? !back[bytes] : problem.code != HK_OK, "no text, and no error");
        for (int64_t at = 0; at < tokens.count; at++) {
            fuzz_require(tokens.ids[at] >= 0, "an id below 0");
            source->token(source, tokens.ids[at], &bytes);
            source->is_special(source, tokens.ids[at]);
        }
        free(back);
        free(tokens.ids);
        free(tokens.types);
    }
    source->id(source, "a", 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    hk_text_problem problem = {.code = HK_OK};
    const int file = memfd_create("fuzz.json", 0);
    fuzz_require(file >= 0 && (size == 0 || write(file, data, size) == (ssize_t)size), "no file");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    hk_tokenizer_source *source = hocket_tokenizer_open(path, &problem);
    fuzz_require(source || (problem.code != HK_OK && *problem.message), "an error says nothing");
    if (source) {
        use(source);
        source->release(source);
    }
    close(file);
    return 0;
}

#ifndef HOCKET_LIBFUZZER

static const char bytes_seed[] =
    "{\"added_tokens\":[{\"id\":9,\"content\":\"[S]\",\"lstrip\":true,\"rstrip\":true,\"special\":"
    "true,\"normalized\":false},{\"content\":\"the\",\"single_word\":true}],\"normalizer\":{"
    "\"type\":"
    "\"NFC\"},\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
    "\"pattern\":{\"Regex\":\"\\\\p{N}{1,3}+|[^\\\\s\\\\p{L}]?\\\\w+\"},\"behavior\":\"Isolated\"},"
    "{\"type\":\"ByteLevel\"}]},\"decoder\":{\"type\":\"ByteLevel\"},\"truncation\":{\"max_"
    "length\":"
    "50},\"model\":{\"type\":\"BPE\",\"ignore_merges\":true,\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,"
    "\"aa\":3,\"\xC4\xA0\":4},\"merges\":[\"a b\",[\"a\",\"a\"]]}}";
static const char pieces_seed[] =
    "{\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":"
    "\"BertPreTokenizer\"},"
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[],\"pair\":[{\"SpecialToken\":"
    "{"
    "\"id\":\"[S]\"}},{\"Sequence\":{\"id\":\"A\"}},{\"Sequence\":{\"id\":\"B\",\"type_id\":1}}],"
    "\"special_tokens\":{\"[S]\":{\"ids\":[5]}}},\"decoder\":{\"type\":\"WordPiece\"},\"model\":{"
    "\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":1,\"##b\":2,\"##a\":3,\"[S]\":5}}}";

int main(int argc, char **argv)
{
    if (argc == 1) {
        fuzz_seed((const uint8_t *)bytes_seed, sizeof bytes_seed - 1);
        fuzz_seed((const uint8_t *)pieces_seed, sizeof pieces_seed - 1);
    }
    return fuzz_paths(argc, argv);
}

#endif
