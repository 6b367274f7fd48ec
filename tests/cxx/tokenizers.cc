/* hk::tokenizer and hk::sample. */
#include "check.h"

#include <hocket/hocket.hpp>

static const char file_text[] =
    "{\"added_tokens\": [{\"content\": \"[CLS]\", \"special\": true, \"normalized\": false}],"
    " \"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}, \"decoder\": {\"type\": \"WordPiece\"},"
    " \"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"[CLS]\", 0], \"cls\": "
    "[\"[CLS]\","
    " 0]}, \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"?\", \"vocab\": {\"[CLS]\": 0,"
    " \"?\": 1, \"a\": 2, \"##b\": 3}}}";

static void write_file()
{
    FILE *file = std::fopen("tokenizer.json", "w");
    CHECK(file && std::fputs(file_text, file) >= 0);
    if (file)
        std::fclose(file);
}

int main()
{
    const hk::array logits = hk::from_host<float>({0, 3, 1, 2}, {1, 4});
    CHECK(hk::sample(logits, hk::sample_options().with_temperature(0)).item() == 1);
    CHECK(hk::sample(logits, hk::sample_options().with_top_k(1), hk::generator(2)).item() == 1);
    CHECK(!hk::sample(logits, hk::sample_options().with_top_p(2)).wait().ok());
    CHECK(!hk::tokenizer().status().ok());
    const hk::tokenizer none("no-such-file.json");
    CHECK(!none.status().ok() && none.size() == 0 && !none.encode("a").wait().ok());
    write_file();
    const hk::tokenizer tokenizer("tokenizer.json");
    if (tokenizer.status().code() == HK_NOT_FOUND)
        return 77; /* there is no plug-in */
    CHECK(tokenizer.token(tokenizer.id("[CLS]")) == "[CLS]" && tokenizer.is_special(0));
    CHECK(tokenizer.size() == 4 && tokenizer.id("none") == -1 && tokenizer.token(9).empty());
    const auto ids = tokenizer.encode("ab a c").to_vector<int32_t>();
    CHECK((ids == std::vector<int32_t>{0, 2, 3, 2, 1, 0}));
    CHECK(tokenizer.decode(ids) == "ab a?" && tokenizer.decode({0, 2}, true) == "[CLS] a");
    const hk::token_batch batch = tokenizer.encode_batch(
        {"a", "ab"}, hk::encode_options().with_no_special(true).with_least_tokens(8));
    CHECK(batch.ids.shape()[1] == 8 && batch.lengths.wait().ok() && batch.mask.wait().ok());
    return check_result();
}
