/* Text that grows, and texts escaped for JSON and XML. */
#include "tests/check.h"
#include "trace/timeline.h"

#include <stdlib.h>

static void check_escaped(void (*write)(hki_writer *writer, const char *text), const char *text,
                          const char *expected)
{
    hki_writer writer = {0};
    write(&writer, text);
    CHECK(!writer.is_failed);
    CHECK_STR(writer.data ? writer.data : "", expected);
    free(writer.data);
}

static void test_growth(void)
{
    hki_writer writer = {0};
    for (int i = 0; i < 20000; i++)
        hki_write(&writer, "%d,", i % 10);
    CHECK_EQ_I64(writer.bytes, 40000);
    CHECK(!writer.is_failed && strlen(writer.data) == 40000 && writer.capacity > writer.bytes);
    /* One piece, longer than all there is; one that fills the room to the last byte. */
    hki_write(&writer, "%0*d", 300000, 7);
    CHECK_EQ_I64(writer.bytes, 340000);
    CHECK(writer.data[339999] == '7' && writer.data[340000] == '\0');
    hki_write(&writer, "%0*d", (int)(writer.capacity - writer.bytes), 8);
    CHECK(writer.data[writer.bytes - 1] == '8' && writer.data[writer.bytes] == '\0');
    hki_write_bytes(&writer, "a\0b", 3);
    hki_write_bytes(&writer, NULL, 0);
    CHECK(!memcmp(writer.data + writer.bytes - 3, "a\0b", 4));
    free(writer.data);
}

/* After a failure nothing more is written, and nothing crashes. */
static void test_failure(void)
{
    hki_writer writer = {0};
    hki_write(&writer, "x");
    hki_write_bytes(&writer, "", SIZE_MAX / 2);
    CHECK(writer.is_failed);
    hki_write(&writer, "y%d", 1);
    hki_write_json_string(&writer, "z");
    CHECK(writer.is_failed && writer.bytes == 1 && !strcmp(writer.data, "x"));
    free(writer.data);
}

int main(void)
{
    test_growth();
    test_failure();
    check_escaped(hki_write_json_string, "", "\"\"");
    check_escaped(hki_write_json_string, "a\"b\\c\n\x7F", "\"a\\\"b\\\\c\\u000a\\u007f\"");
    check_escaped(hki_write_json_string, "</script>&", "\"\\u003c/script\\u003e\\u0026\"");
    check_escaped(hki_write_json_string, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80",
                  "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
    /* Cut short, overlong, a surrogate, beyond the last character, a byte that never begins one. */
    check_escaped(hki_write_json_string, "\xE2\x82", "\"\\ufffd\\ufffd\"");
    check_escaped(hki_write_json_string, "\xC0\x80", "\"\\ufffd\\ufffd\"");
    check_escaped(hki_write_json_string, "\xED\xA0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
    check_escaped(hki_write_json_string, "\xF4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    check_escaped(hki_write_json_string, "\xFF!", "\"\\ufffd!\"");
    check_escaped(hki_write_xml, "", "");
    check_escaped(hki_write_xml, "a<b>&\"c\"'\n\\", "a&lt;b&gt;&amp;&quot;c&quot;'\n\\");
    check_escaped(hki_write_xml, "\x01\x7F\xFFz", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
    return check_result();
}
