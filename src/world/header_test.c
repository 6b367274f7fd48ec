/* Headers that belong together or not, and what is said of that; records that travel, and such as nobody should send. */
#include "tests/check.h"

#include "world/header.h"

#include <stdlib.h>

enum { RANKS = 4 };

static const int ranks[RANKS] = {3, 5, 7, 9};

static hki_header usual(void)
{
    hki_header self = {.magic = HKI_HEADER_MAGIC,
                       .index = 4,
                       .operation = HKI_WORLD_BROADCAST,
                       .dtype = HK_F32,
                       .root = 1,
                       .count = 12,
                       .hash = 77,
                       .arrays = 2};
    hki_header_set_source(&self, (hk_source){"some/where/train.c", 41});
    return self;
}

static void check_why(const hki_header *headers, const char *who, const char *how)
{
    char why[640] = "";
    CHECK(!hki_headers_match(headers, RANKS, ranks, why, sizeof why));
    CHECK(strstr(why, who) && strstr(why, how));
}

static void test_match(void)
{
    hki_header headers[RANKS];
    char why[640];
    for (int i = 0; i < RANKS; i++)
        headers[i] = usual();
    CHECK(hki_headers_match(headers, RANKS, ranks, why, sizeof why));
    headers[3].line = 99; /* lines may differ */
    CHECK(hki_headers_match(headers, RANKS, ranks, why, sizeof why));
    headers[2].checks_lines = 1; /* unless one of them looks */
    check_why(headers,
              "rank 3 calls group_broadcast of 12 float32 on each device from 1 (train.c:41)",
              "but rank 9 calls group_broadcast of 12 float32 on each device from 1 (train.c:99): "
              "HOCKET_CHECK is set");
    headers[3].line = 41;
    CHECK(hki_headers_match(headers, RANKS, ranks, why, sizeof why));
    hki_header_set_source(&headers[0], (hk_source){"other/place.c", 41});
    check_why(headers, "(place.c:41)", "from the same line");
    hki_header_set_source(&headers[0], (hk_source){NULL, 0}); /* not known */
    CHECK(hki_headers_match(headers, RANKS, ranks, why, sizeof why));
    headers[0] = usual();
    headers[2].checks_lines = 0;
    headers[2].root = 2;
    check_why(headers,
              "rank 3 calls group_broadcast of 12 float32 on each device from 1 "
              "(train.c:41), but rank 7 calls",
              "the root");
    headers[2].arrays = 1;
    check_why(headers, "rank 7", "number of arrays");
    headers[2].order++;
    headers[2].count = 9; /* of another bucket, then */
    check_why(headers, "rank 7", "the order in which they were last written");
    headers[2].hash++;
    check_why(headers, "rank 7", "shapes and dtypes");
    headers[2].operation = HKI_WORLD_BARRIER;
    check_why(headers, "but rank 7 calls group_barrier (train.c:41)", "in the same order");
    headers[1].index++;
    check_why(headers, "rank 5", "another one in the group's order");
    headers[1].magic++;
    check_why(headers, "rank 5", "different builds");
    memset(&headers[1], 0xff, sizeof headers[1]); /* whatever it is */
    check_why(headers, "rank 5 calls an unknown operation", "different builds");
}

static void test_pair(void)
{
    hki_header sender = usual(), receiver = usual();
    char why[640];
    sender.operation = HKI_WORLD_SEND;
    receiver.operation = HKI_WORLD_RECEIVE;
    CHECK(hki_headers_pair(&sender, 1, &receiver, 2, why, sizeof why));
    receiver.dtype = HK_F64;
    CHECK(!hki_headers_pair(&sender, 1, &receiver, 2, why, sizeof why));
    CHECK(strstr(why, "rank 1 calls group_send of 12 float32"));
    CHECK(strstr(why, "rank 2 calls group_receive of 12 float64"));
}

static void test_source(void)
{
    hki_header self = {0};
    hki_header_set_source(&self, (hk_source){NULL, 0});
    CHECK_STR(self.file, "");
    hki_header_set_source(&self, (hk_source){"a/very_very_very_long_name_of_a_program.c", 7});
    CHECK_EQ_I64(strlen(self.file), sizeof self.file - 1);
    CHECK(strstr(self.file, "name_of_a_program.c") && self.line == 7);
}

static void test_records(void)
{
    const hki_status_facts facts = {"matmul", "cpu:1", "float32(2,3)", "train.c", 12, 34};
    const hk_status *sent = hki_status_create(HK_OUT_OF_RANGE, &facts, "label %d", 17);
    hki_wire_record record;
    hki_wire_record_set(&record, sent, 6);
    const hk_status *got = hki_wire_record_get(&record, 99);
    CHECK_EQ_I64(hk_status_code(got), HK_OUT_OF_RANGE);
    CHECK_STR(hk_status_message(got), "label 17");
    CHECK_STR(hk_status_operation(got), "matmul");
    CHECK_STR(hk_status_device(got), "cpu:1 of rank 6");
    CHECK_STR(hk_status_inputs(got), "float32(2,3)");
    CHECK_STR(hk_status_file(got), "train.c");
    CHECK(hk_status_line(got) == 12 && hk_status_sequence(got) == 99);

    /* Passed on by another rank it stays the first one's. */
    hki_wire_record_set(&record, got, 2);
    const hk_status *again = hki_wire_record_get(&record, 100);
    CHECK_STR(hk_status_device(again), "cpu:1 of rank 6");

    /* Of no device, too. */
    const hk_status *bare = hki_status_create(HK_DEVICE_LOST, NULL, "gone");
    hki_wire_record_set(&record, bare, 6);
    const hk_status *first = hki_wire_record_get(&record, 101);
    CHECK_STR(hk_status_device(first), "rank 6");
    hki_wire_record_set(&record, first, 2);
    const hk_status *second = hki_wire_record_get(&record, 102);
    CHECK_STR(hk_status_device(second), "rank 6");
    hk_status_release(bare);
    hk_status_release(first);
    hk_status_release(second);

    /* Without an end, and of a code that there is not. */
    memset(&record, 'x', sizeof record);
    const hk_status *odd = hki_wire_record_get(&record, 1);
    CHECK_EQ_I64(hk_status_code(odd), HK_DEVICE_LOST);
    CHECK_EQ_I64(strlen(hk_status_message(odd)), sizeof record.message - 1);
    hk_status_release(sent);
    hk_status_release(got);
    hk_status_release(again);
    hk_status_release(odd);
}

int main(void)
{
    test_match();
    test_pair();
    test_source();
    test_records();
    return check_result();
}
