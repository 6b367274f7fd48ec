/* Whole numbers from the environment: what is taken, and that all else is refused by name, value and range. */
#include "tests/check.h"

#include "base/config.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

enum { UNTOUCHED = -77 };

/* Of a range from 1 to 4096; UNTOUCHED when the text is refused. */
static int64_t taken(const char *text)
{
    int64_t value = UNTOUCHED;
    setenv("HOCKET_CPUS", text, 1);
    const hk_status *status = hki_config_integer("HOCKET_CPUS", 1, 4096, &value);
    if (status) {
        const char *message = hk_status_message(status);
        CHECK(strstr(message, "HOCKET_CPUS") && strstr(message, text));
        CHECK(strstr(message, "a whole number from 1 to 4096") != NULL);
        CHECK_EQ_I64(value, UNTOUCHED);
        hk_status_release(status);
    }
    return value;
}

int main(void)
{
    CHECK_EQ_I64(taken("3"), 3);
    CHECK_EQ_I64(taken("4K"), 4096);
    CHECK_EQ_I64(taken("007"), 7);
    CHECK_EQ_I64(taken(""), UNTOUCHED); /* as if it were not set */
    static const char *const refused[] = {
        "+3", " 3",  "3 ",  "0", "-1", "4097", "5K",   "3x",
        "x",  "1e3", "3,1", "K", "-",  "1KK",  "0x10", "99999999999999999999"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        CHECK_EQ_I64(taken(refused[i]), UNTOUCHED);
    unsetenv("HOCKET_CPUS");
    int64_t value = UNTOUCHED;
    CHECK(!hki_config_integer("HOCKET_CPUS", 1, 4096, &value));
    CHECK_EQ_I64(value, UNTOUCHED);
    return check_result();
}
