/* Status records: what NULL is taken for, what is kept, which of two is the earlier. */
#include "base/status.h"
#include "tests/check.h"

static void test_null(void)
{
    CHECK(!hk_ok(NULL));
    CHECK_EQ_I64(hk_status_code(NULL), HK_INVALID_ARGUMENT);
    CHECK_STR(hk_status_message(NULL), "the status is NULL");
    CHECK(!*hk_status_operation(NULL) && !*hk_status_device(NULL) && !*hk_status_inputs(NULL));
    CHECK(!*hk_status_file(NULL) && hk_status_line(NULL) == 0 && hk_status_sequence(NULL) == 0);
    FILE *nowhere = fopen("/dev/null", "w");
    CHECK_EQ_I64(hk_status_print(NULL, nowhere), 1);
    CHECK_EQ_I64(hk_status_print(hki_status_ok(), nowhere), 0);
    fclose(nowhere);
    hk_status_release(NULL);
    CHECK(!hk_status_retain(NULL));
}

static void test_facts(void)
{
    const hki_status_facts facts = {.operation = "matmul",
                                    .device = "cpu:0",
                                    .inputs = "float32(2,3)",
                                    .file = "a.c",
                                    .line = 7,
                                    .sequence = 5};
    const hk_status *status = hki_status_create(HK_OUT_OF_RANGE, &facts, "x is %d", 3);
    CHECK_STR(hk_status_message(status), "x is 3");
    CHECK_STR(hk_status_operation(status), "matmul");
    CHECK_STR(hk_status_file(status), "a.c");
    CHECK_EQ_I64(hk_status_line(status), 7);
    CHECK_EQ_I64(hk_status_sequence(status), 5);
    const hki_status_facts before = {.operation = "add", .sequence = 4};
    const hk_status *earlier = hki_status_create(HK_IO, &before, "y");
    CHECK(hki_status_earlier(status, earlier) == earlier &&
          hki_status_earlier(earlier, status) == earlier);
    CHECK(hki_status_earlier(NULL, status) == status && hki_status_earlier(status, NULL) == status);
    hk_status_release(status);
    hk_status_release(earlier);
}

int main(void)
{
    test_null();
    test_facts();
    return check_result();
}
