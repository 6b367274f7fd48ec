/* Tokenizers, and the tokens that a network writes: see hocket/tokenizer.h and
 * hocket/generate.h. */
#ifndef HOCKET_TOKENIZER_HPP
#define HOCKET_TOKENIZER_HPP

#include <hocket/data.hpp>
#include <string_view>

namespace hk
{

/* Options, by name: hk::encode_options().with_no_special(true), or {.no_special = true}. */
struct encode_options {
    HKI_OPTION(encode_options, bool, no_special)
    HKI_OPTION(encode_options, bool, special_as_text)
    HKI_OPTION(encode_options, int64_t, most_tokens)
    HKI_OPTION(encode_options, int64_t, least_tokens)
    HKI_OPTION(encode_options, bool, pad_left)
    hk_encode_options c() const noexcept
    {
        return {no_special, special_as_text, most_tokens, least_tokens, pad_left};
    }
};

/* Of hk_tokenizer_encode_batch. */
struct token_batch {
    array ids, mask, types, lengths;
};

/* What a file of another's says of tokens. {} is a failed one. */
class tokenizer : public counted<hk_tokenizer, hk_tokenizer_retain, hk_tokenizer_release>
{
  public:
    tokenizer() noexcept = default;
    explicit tokenizer(const char *path, hk_source at = here()) noexcept
        : counted(hk_tokenizer_load_at(at, path, nullptr))
    {
    }
    hk::status status() const noexcept
    {
        return hk::status(hk_tokenizer_status(get()));
    }
    int64_t size() const noexcept
    {
        return hk_tokenizer_size(get());
    }
    /* -1: there is none. */
    int64_t id(std::string_view token) const noexcept
    {
        return hk_tokenizer_id(get(), token.data(), token.size());
    }
    std::string_view token(int64_t id) const noexcept
    {
        size_t bytes = 0;
        const char *text = hk_tokenizer_token(get(), id, &bytes);
        return text ? std::string_view(text, bytes) : std::string_view();
    }
    bool is_special(int64_t id) const noexcept
    {
        return hk_tokenizer_is_special(get(), id);
    }
    /* int32 (tokens,). */
    array encode(std::string_view text, const encode_options &options = {},
                 hk_source at = here()) const noexcept
    {
        const hk_encode_options its = options.c();
        return array::take(hk_tokenizer_encode_at(at, get(), text.data(), text.size(), &its));
    }
    token_batch encode_batch(const std::vector<std::string_view> &texts,
                             const encode_options &options = {}, hk_source at = here()) const
    {
        const hk_encode_options its = options.c();
        std::vector<hk_text> all;
        for (std::string_view text : texts)
            all.push_back({text.data(), text.size(), nullptr, 0});
        const hk_token_batch made = hk_tokenizer_encode_batch_at(
            at, get(), all.data(), static_cast<int64_t>(all.size()), &its);
        return {array::take(made.ids), array::take(made.mask), array::take(made.types),
                array::take(made.lengths)};
    }
    /* Empty where it cannot be, and *why says why. */
    std::string decode(const std::vector<int32_t> &ids, bool with_special = false,
                       hk::status *why = nullptr, hk_source at = here()) const
    {
        const hk_decode_options options = {with_special};
        const hk_status *status = nullptr;
        size_t bytes = 0;
        char *text = hk_tokenizer_decode_at(at, get(), ids.data(), static_cast<int64_t>(ids.size()),
                                            &options, &bytes, &status);
        if (why)
            *why = hk::status(status);
        std::string result = text ? std::string(text, bytes) : std::string();
        std::free(text);
        return result;
    }
};

/* See hk_sample. A temperature of 0 is 0 by with_temperature(0). */
struct sample_options {
    HKI_OPTION(sample_options, double, temperature)
    HKI_OPTION(sample_options, int64_t, top_k)
    HKI_OPTION(sample_options, double, top_p)
};
inline array sample(const array &logits, const sample_options &options = {},
                    const generator &stream = {}, hk_source at = here()) noexcept
{
    const hk_sample_options its = {options.temperature, options.top_k, options.top_p, stream.get()};
    return array::take(hk_sample_at(at, logits.get(), &its));
}

} // namespace hk

#endif
