/* Data sets: opening, finding, and a record for each way to fail. Without a runtime. */
#include "tests/check.h"

#include "data/loader_fixture.h"

static void test_data_set(void)
{
    hk_data_set *set = open_train();
    CHECK_EQ_I64(hk_data_set_size(set), TRAIN);
    CHECK_EQ_I64(hk_data_set_channels(set), 1);
    CHECK_EQ_I64(hk_data_set_height(set), HEIGHT);
    CHECK_EQ_I64(hk_data_set_width(set), WIDTH);
    CHECK_EQ_I64(hk_data_set_class_count(set), 10);
    CHECK_STR(hk_data_set_folder(set), folder);
    CHECK(hk_data_set_retain(set) == set);
    hk_data_set_release(set);
    hk_data_set_release(set);

    setenv("HOCKET_DATA_DIR", folder, 1);
    set = hk_data_set_open(NULL, HK_DATA_TEST, &(hk_data_set_options){.class_count = 12});
    CHECK(hk_ok(hk_data_set_status(set)));
    CHECK_EQ_I64(hk_data_set_size(set), TEST);
    CHECK_EQ_I64(hk_data_set_class_count(set), 12);
    hk_data_set_release(set);
    unsetenv("HOCKET_DATA_DIR");
}

static void check_not_opened(const char *from, hk_data_part part,
                             const hk_data_set_options *options, hk_code code, const char *text)
{
    hk_data_set *set = hk_data_set_open(from, part, options);
    const hk_status *status = hk_data_set_status(set);
    CHECK(contains(status, code, text));
    CHECK_STR(hk_status_operation(status), "data_set_open");
    CHECK(strstr(hk_status_file(status), "_test.c"));
    CHECK(!hk_data_set_size(set) && !hk_data_set_channels(set) && !hk_data_set_height(set));
    CHECK(!hk_data_set_width(set) && !hk_data_set_class_count(set));
    CHECK_STR(hk_data_set_folder(set), "");
    hk_data_set_release(set);
}

static void test_data_set_failures(void)
{
    check_not_opened("/nowhere", HK_DATA_TRAIN, NULL, HK_NOT_FOUND,
                     "/nowhere: no image set is in this folder");
    check_not_opened(wide_folder, HK_DATA_TEST, NULL, HK_NOT_FOUND, "t10k-images-idx3-ubyte");
    check_not_opened(folder, HK_DATA_TRAIN, &(hk_data_set_options){.class_count = 9}, HK_BAD_DATA,
                     "0 to 8 would be right");
    check_not_opened(folder, HK_DATA_TRAIN, &(hk_data_set_options){.byte_limit = 99}, HK_BAD_DATA,
                     "99");
    check_not_opened(folder, HK_DATA_TRAIN, &(hk_data_set_options){.class_count = -1},
                     HK_INVALID_ARGUMENT, "option class_count is -1");
    check_not_opened(folder, HK_DATA_TRAIN, &(hk_data_set_options){.class_count = 257},
                     HK_INVALID_ARGUMENT, "option class_count is 257");
    check_not_opened(folder, (hk_data_part)2, NULL, HK_INVALID_ARGUMENT, "part is 2");
    CHECK(contains(hk_data_set_status(NULL), HK_INVALID_ARGUMENT, "set is NULL"));
    CHECK(!hk_data_set_size(NULL) && !hk_data_set_retain(NULL));
    hk_data_set_release(NULL);
}

static void test_find(void)
{
    hk_data_place places[HK_DATA_PLACE_COUNT];
    CHECK(hk_ok(hk_data_set_find(folder, places)));
    CHECK_STR(places[0].origin, "given folder");
    CHECK_STR(places[0].folder, folder);
    CHECK(places[0].chosen && places[0].state == HK_DATA_PLACE_COMPLETE && !places[0].missing);
    CHECK(!places[1].chosen && places[1].state == HK_DATA_PLACE_UNSET && !places[1].folder);
    CHECK_STR(places[2].origin, "dataset-fashion-mnist");
    CHECK(contains(hk_data_set_find(wide_folder, places), HK_NOT_FOUND, wide_folder));
    CHECK(places[0].state == HK_DATA_PLACE_INCOMPLETE);
    CHECK_STR(places[0].missing, names[2]);
    CHECK(contains(hk_data_set_find("/nowhere", NULL), HK_NOT_FOUND, "/nowhere"));
}

int main(void)
{
    unsetenv("HOCKET_DATA_DIR");
    files_write();
    test_data_set();
    test_data_set_failures();
    test_find();
    files_remove();
    return check_result();
}
