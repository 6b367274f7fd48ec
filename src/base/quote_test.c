/* Texts from outside as messages show them: always letters of UTF-8, none of them cut. */
#include "base/quote.h"
#include "base/status.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tests/check.h"

#include <string.h>

static bool is_utf8(const char *text)
{
    const size_t length = strlen(text);
    for (size_t at = 0, letter; at < length; at += letter)
        if (!(letter = hki_utf8_letter(text + at, length - at)))
            return false;
    return true;
}

static void test_letters(void)
{
    static const char *const wrong[] = {
        "\x80",         "\xC3",         "\xC0\x80",         "\xE2\x82",
        "\xED\xA0\x80", "\xE0\x9F\xBF", "\xF5\x80\x80\x80", "\xF4\x90\x80\x80"};
    CHECK_EQ_I64(hki_utf8_letter("a", 1), 1);
    CHECK_EQ_I64(hki_utf8_letter("\xC3\xA9", 2), 2);
    CHECK_EQ_I64(hki_utf8_letter("\xE2\x82\xAC", 3), 3);
    CHECK_EQ_I64(hki_utf8_letter("\xF0\x9F\x98\x80", 4), 4);
    CHECK_EQ_I64(hki_utf8_letter("\xF0\x9F\x98\x80", 3), 0);
    CHECK_EQ_I64(hki_utf8_letter("", 0), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_EQ_I64(hki_utf8_letter(wrong[i], strlen(wrong[i])), 0);
    for (size_t length = 0; length <= 10; length++) {
        static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"; /* of 1, 2, 3 and 4 */
        static const size_t left[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
        CHECK_EQ_I64(hki_utf8_cut(text, length), left[length]);
    }
    CHECK_EQ_I64(hki_utf8_cut("\x80\x80\x80\x80", 4), 4);
}

static void test_quotes(void)
{
    CHECK_STR(hki_quote("plain", 40).text, "plain");
    CHECK_STR(hki_quote("caf\xC3\xA9", 40).text, "caf\xC3\xA9");
    CHECK_STR(hki_quote("caf\xE9!", 40).text, "caf\\xe9!");
    CHECK_STR(hki_quote("a\nb\x1B\x7F\xC2\x9B", 40).text, "a\\x0ab\\x1b\\x7f\\xc2\\x9b");
    CHECK_STR(hki_quote_bytes("a\0b", 3, 40).text, "a\\x00b");
    CHECK_STR(hki_quote(NULL, 40).text, "");
    CHECK_STR(hki_quote("0123456789", 10).text, "0123456789");
    CHECK_STR(hki_quote("0123456789a", 10).text, "0123456...");
    CHECK_STR(hki_quote("123456\xC3\xA9xyz", 10).text, "123456...");
}

static void test_names(void)
{
    char shown[16], letters[64];
    hki_show_name(shown, sizeof shown, "a/b.npz");
    CHECK_STR(shown, "a/b.npz");
    hki_show_name(shown, sizeof shown, "0123456789abcdef");
    CHECK_STR(shown, "...456789abcdef");
    hki_show_name(shown, sizeof shown, "\xE9\n.npz");
    CHECK_STR(shown, "\\xe9\\x0a.npz");
    for (size_t length = 0; length < 30; length++) {
        memset(letters, 'x', length % 3);
        letters[length % 3] = '\0';
        for (size_t i = 0; i < length; i++)
            strcat(letters, "\xC3\xA9");
        hki_show_name(shown, sizeof shown, letters);
        CHECK(is_utf8(shown) && strlen(shown) < sizeof shown);
        CHECK(is_utf8(hki_quote(letters, 21).text) && strlen(hki_quote(letters, 21).text) <= 21);
    }
}

static void test_records(void)
{
    char cut[8], many[4000] = "";
    hki_format(cut, sizeof cut, "abcde%s", "\xE2\x82\xAC");
    CHECK_STR(cut, "abcde");
    CHECK_EQ_I64(hki_format(cut, sizeof cut, "abcdefg"), 7);
    CHECK_STR(cut, "abcdefg");
    const hki_status_facts facts = {
        .operation = "\xE9", .device = "\xE9", .inputs = "\xE9", .file = "\xE9.c"};
    const hk_status *status =
        hki_status_create(HK_BAD_DATA, &facts, "caf\xE9 and\tcaf\xC3\xA9\x1B\n");
    CHECK_STR(hk_status_message(status), "caf\\xe9 and\tcaf\xC3\xA9\\x1b\n");
    CHECK_STR(hk_status_operation(status), "\\xe9");
    CHECK_STR(hk_status_file(status), "\xE9.c");
    hk_status_release(status);
    for (int i = 0; i < 1300; i++)
        strcat(many, "\xE2\x82\xAC");
    for (int i = 0; i < 3; i++) {
        status = hki_status_create(HK_BAD_DATA, NULL, "%.*s%s", i, "ab", many);
        CHECK(is_utf8(hk_status_message(status)) && strlen(hk_status_message(status)) > 2000);
        hk_status_release(status);
    }
}

int main(void)
{
    test_letters();
    test_quotes();
    test_names();
    test_records();
    return 0;
}
