/* Which GPUs are devices, and what is said where there is no plug-in, or another one. Needs neither CUDA nor a GPU. */
#include "check.h"

#include "device/cuda/cuda_loader.h"

#include <stdlib.h>

static void test_choices(void)
{
    hki_cuda_choice choice;
    setenv("HOCKET_CUDA", "1/3", 1);
    CHECK(!hki_cuda_choose(NULL, &choice));
    CHECK_EQ_I64(choice.parts[0], 0);
    CHECK_EQ_I64(choice.parts[1], 3);
    CHECK(!hki_cuda_choose("all/2,1,3/16",
                           &choice)); /* the option goes before the variable, a later item before an
                                                         earlier one */
    CHECK_EQ_I64(choice.parts[0], 2);
    CHECK_EQ_I64(choice.parts[1], 1);
    CHECK_EQ_I64(choice.parts[3], 16);
    CHECK_EQ_I64(choice.parts[15], 2);
    CHECK(!choice.is_off);
    CHECK(!hki_cuda_choose("off", &choice));
    CHECK(choice.is_off && choice.parts[0] == 0);
    CHECK(!hki_cuda_choose("", &choice));
    CHECK(!choice.is_off && choice.parts[0] == 1 && choice.parts[15] == 1);
    unsetenv("HOCKET_CUDA");
    CHECK(!hki_cuda_choose(NULL, &choice));
    CHECK(choice.parts[0] == 1 && choice.parts[15] == 1);
}

static void test_wrong_choices(void)
{
    static const char *const wrong[] = {"on",
                                        "0,",
                                        ",0",
                                        "16",
                                        "0/0",
                                        "0/17",
                                        "-1",
                                        "0/",
                                        "all2",
                                        "0 ",
                                        "0,off",
                                        "0/2/2",
                                        "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hki_cuda_choice choice;
        const hk_status *status = hki_cuda_choose(wrong[i], &choice);
        CHECK(status && hk_status_code(status) == HK_INVALID_ARGUMENT);
        CHECK(strstr(hk_status_message(status), wrong[i]) != NULL);
        CHECK(strstr(hk_status_message(status), "option cuda") != NULL);
        CHECK(choice.is_off && choice.parts[0] == 0);
        hk_status_release(status);
    }
}

static void check_share(const char *option, int rank, int ranks, int gpus, int first, int count)
{
    const hki_launcher launcher = {.local_rank = rank, .local_size = ranks};
    hki_cuda_choice choice;
    CHECK(!hki_cuda_choose(option, &choice));
    hki_cuda_share(&choice, gpus, &launcher);
    CHECK_EQ_I64(choice.first, first);
    CHECK_EQ_I64(hki_cuda_own_count(&choice, gpus), count);
    for (int i = 0; i < count; i++)
        CHECK_EQ_I64(choice.parts[first + i], 1);
}

/* Each rank of a machine has GPUs of its own, while there are enough, unless the program or the
 * user has chosen. */
static void test_shares(void)
{
    unsetenv("HOCKET_CUDA");
    check_share(NULL, 0, 1, 4, 0, 4);
    check_share(NULL, 0, 4, 4, 0, 1);
    check_share(NULL, 3, 4, 4, 3, 1);
    check_share(NULL, 1, 2, 8, 4, 4);
    check_share(NULL, 2, 3, 8, 6, 2);
    check_share(NULL, 3, 4, 2, 1, 1); /* two ranks to a GPU */
    check_share(NULL, 1, 2, 0, 0, 0);
    check_share("all", 3, 4, 4, 0, 4);
    setenv("HOCKET_CUDA", "all", 1);
    check_share(NULL, 3, 4, 4, 0, 4);
    unsetenv("HOCKET_CUDA");
}

static void test_names(void)
{
    char name[32];
    hki_cuda_device_name(name, sizeof name, 2, 0, 1);
    CHECK_STR(name, "cuda:2");
    hki_cuda_device_name(name, sizeof name, 1, 3, 4);
    CHECK_STR(name, "cuda:1/3");
}

/* A plug-in that is named and is none: the problem names the file, and is all that happens. */
static void test_no_plugin(const char *path, const char *expected)
{
    const hki_cuda_host host = {.abi = HKI_CUDA_ABI};
    hki_cuda_choice choice;
    hki_cuda_found *found = malloc(sizeof *found);
    char text[4096];
    CHECK(!hki_cuda_choose("all", &choice));
    setenv("HOCKET_CUDA_PLUGIN", path, 1);
    hki_cuda_look(&host, &choice, found);
    CHECK(!found->plugin && found->is_complete && found->machine.gpu_count == 0);
    CHECK(strstr(found->problem, path) != NULL);
    CHECK(strstr(found->problem, expected) != NULL);
    hki_cuda_found_describe(found, &choice, text, sizeof text);
    CHECK(strstr(text, found->problem) != NULL && strstr(text, "NVIDIA GPU") != NULL);
    unsetenv("HOCKET_CUDA_PLUGIN");
    free(found);
}

static void test_off(void)
{
    const hki_cuda_host host = {.abi = HKI_CUDA_ABI};
    hki_cuda_choice choice;
    hki_cuda_found *found = malloc(sizeof *found);
    char text[256];
    CHECK(!hki_cuda_choose("off", &choice));
    setenv("HOCKET_CUDA_PLUGIN", "/nowhere.so", 1); /* not even looked for */
    hki_cuda_look(&host, &choice, found);
    CHECK_STR(found->problem, "CUDA is off (option cuda)");
    hki_cuda_found_describe(found, &choice, text, sizeof text);
    CHECK_STR(text, "off (option cuda)\n");
    unsetenv("HOCKET_CUDA_PLUGIN");
    free(found);
}

int main(void)
{
    test_choices();
    test_wrong_choices();
    test_shares();
    test_names();
    test_no_plugin("/nowhere/libhocket_cuda.so", "cannot be opened (HOCKET_CUDA_PLUGIN)");
    test_no_plugin("/bin/sh", "cannot be opened");          /* a program */
    test_no_plugin("libm.so.6", "is no plug-in of hocket"); /* another library */
    test_off();
    return check_result();
}
