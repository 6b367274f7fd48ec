/* Widths of texts in pictures, and how much of one fits. */
#include "tests/check.h"
#include "trace/text_width.h"

#include <string.h>

static void test_widths(void)
{
    CHECK(hki_text_width("", 0, 11) == 0);
    CHECK(hki_text_width("iiii", 4, 10) < hki_text_width("mmmm", 4, 10) / 3);
    CHECK(hki_text_width("conv2d", 6, 22) == 2 * hki_text_width("conv2d", 6, 11));
    CHECK(hki_text_width("\xC3\xA9", 2, 10) == 10); /* one character */
    CHECK(hki_text_characters("a\xC3\xA9\xE2\x80\xA6", 6) == 3);
}

/* What fits is within the width, with its ellipsis; one character more is not. */
static void test_fitting(void)
{
    const char *texts[] = {"conv2d_backward_weight", "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9",
                           "mmmm", "i", ""};
    const double size = 11, ellipsis = hki_text_width("\xE2\x80\xA6", 3, size);
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        const char *text = texts[t];
        const size_t length = strlen(text);
        for (double width = 0; width < 200; width += 0.5) {
            const size_t bytes = hki_text_fitting(text, width, size);
            CHECK(bytes <= length && (text[bytes] & 0xC0) != 0x80);
            if (bytes == length) {
                CHECK(hki_text_width(text, length, size) <= width);
                continue;
            }
            size_t more = bytes + 1;
            while ((text[more] & 0xC0) == 0x80)
                more++;
            CHECK(bytes == 0 || hki_text_width(text, bytes, size) + ellipsis <= width + 1e-9);
            CHECK(hki_text_width(text, more, size) + ellipsis > width - 1e-9 ||
                  hki_text_width(text, length, size) > width);
        }
    }
}

int main(void)
{
    test_widths();
    test_fitting();
    return check_result();
}
