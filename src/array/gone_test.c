/* Arrays whose runtime has ended or belongs to the process that forked this one. */
#include "tests/check.h"

#include "array/test_tasks.h"
#include "tests/await_workers.h"

#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Every call on an array of a runtime that is not alive gives its record, and none crashes. */
static void check_gone(hk_array *x, hk_device device, hk_code code)
{
    float values[4] = {7, 7, 7, 7};
    const hk_status *status;
    HK_SCOPE;
    CHECK(hk_ndim(x) == 1 && hk_size(x) == 4);
    CHECK(hk_status_code(hk_wait(x)) == code);
    CHECK(hk_status_code(hk_wait(x)) == code);
    CHECK(hk_status_code(hk_to_host(x, values, sizeof values)) == code);
    CHECK(hk_status_code(hk_to_host(x, values, 1)) == code);
    CHECK(isnan(hk_item(x, &status)) && hk_status_code(status) == code);
    CHECK(values[0] == 7);
    CHECK(hk_status_code(hk_wait(hk_slice(x, 0, 1, 2))) == code);
    CHECK(hk_status_code(hk_wait(hk_slice(x, 5, 1, 2))) == code);
    CHECK(hk_status_code(hk_wait(hk_transpose(x))) == code);
    CHECK(hk_status_code(hk_wait(hk_broadcast_to(x, hk_shape(9)))) == code);
    CHECK(hk_status_code(hk_wait(hk_from_host(values, hk_shape(4), HK_F32, device))) == code);
    CHECK(hk_status_code(hk_wait(hki_array_create(device.handle, hk_shape(4), HK_F32))) == code);
    hk_write(x, values, sizeof values);
    hk_write(x, values, 1);
    hk_recover(x);
    CHECK(hk_status_code(hk_wait(x)) == code);
    char *text = hk_to_string(x);
    CHECK(text && strstr(text, hk_code_name(code)));
    free(text);

    /* Beside arrays of the runtime that lives. */
    hk_array *live = test_range(hk_shape(4));
    hk_array *inputs[] = {live, x};
    hk_array *joined = hki_array_create_failed(live->storage->device, "join", inputs, 2,
                                               HK_INVALID_ARGUMENT, "not to be seen");
    CHECK(hk_status_code(hk_wait(joined)) == code);
    CHECK(hk_status_code(hk_wait(hk_transpose(joined))) == code);
    hki_array_fail_in_place(live, "join", inputs, 2, HK_INVALID_ARGUMENT, "not to be seen");
    CHECK(hk_status_code(hk_wait(live)) == code);
    hk_write(live, values, sizeof values);
    CHECK(test_holds(live, values, 4));
}

static void test_ended(bool serial)
{
    hk_runtime_options options = {.engine = serial ? HK_ENGINE_SERIAL : HK_ENGINE_ASYNC};
    atomic_bool gate = serial;
    CHECK(hk_ok(hk_runtime_init(&options)));
    hk_device device = hk_device_default();
    hk_array *x = test_range(hk_shape(4)), *y = test_range(hk_shape(4));
    hk_array *bad = hk_index(x, 3, 0), *view = hk_slice(y, 0, 0, 2);
    hk_array *unset = test_empty(hk_shape(4)), *dropped = test_empty(hk_shape(4));
    test_issue((test_work){.kind = TEST_COPY, .out = dropped, .in = x, .gate = &gate});
    hk_array_release(dropped);
    atomic_store(&gate, true);
    hk_scope scope = hk_scope_begin();
    test_range(hk_shape(4));
    hk_runtime_deinit();
    check_gone(x, device, HK_CANCELLED);
    hk_scope_end(&scope);
    CHECK(hk_status_code(hk_wait(bad)) == HK_CANCELLED);
    CHECK(hk_status_code(hk_wait(view)) == HK_CANCELLED);
    hk_array_release(y);
    hk_array_release(bad);
    hk_array_release(unset);
    hk_array_release(view);
    hk_array_release(x);
    hk_runtime_deinit();
}

static void test_forked(bool serial)
{
    hk_runtime_options options = {.engine = serial ? HK_ENGINE_SERIAL : HK_ENGINE_ASYNC};
    atomic_bool gate = serial;
    CHECK(hk_ok(hk_runtime_init(&options)));
    hk_device device = hk_device_default();
    await_workers();
    hk_scope scope = hk_scope_begin();
    hk_array *x = hk_take(test_range(hk_shape(4))), *bad = hk_index(x, 3, 0);
    hk_array *busy = test_range(hk_shape(4));
    test_issue((test_work){.kind = TEST_FILL, .out = busy, .value = 5, .gate = &gate});
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
        check_failed_count = 0;
        start_in_child();
        check_gone(x, device, HK_FORKED);
        CHECK(hk_status_code(hk_wait(bad)) == HK_FORKED);
        CHECK(hk_status_code(hk_wait(busy)) == HK_FORKED);
        hk_array_release(x);
        hk_scope_end(&scope);
        hk_array *own = test_range(hk_shape(4));
        CHECK(hk_item(hk_index(own, 0, 3), NULL) == 3);
        hk_runtime_deinit();
        _exit(check_failed_count != 0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    atomic_store(&gate, true);
    CHECK(test_holds(busy, (const float[]){5, 5, 5, 5}, 4));
    CHECK(test_holds(x, (const float[]){0, 1, 2, 3}, 4));
    hk_array_release(x);
    hk_scope_end(&scope);
    hk_runtime_deinit();
}

int main(void)
{
    for (int serial = 0; serial < 2; serial++) {
        test_ended(serial);
        test_forked(serial);
    }
    return check_result();
}
