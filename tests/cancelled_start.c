/* A thread that is cancelled in the first call of a process leaves nothing locked: other threads start and use the runtime. */
#include "check.h"

#include <hocket/hocket.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 40, SECONDS = 60 };

static void *first_call(void *argument)
{
    (void)argument;
    hk_array_release(hk_ones(hk_shape(3), HK_F32, (hk_device){0}));
    pthread_testcancel();
    return NULL;
}

/* Cancelled before it begins, or so long after. */
static void use_after_cancelling(int nap_us)
{
    pthread_t thread;
    alarm(SECONDS);
    CHECK(!pthread_create(&thread, NULL, first_call, NULL));
    if (nap_us > 0)
        usleep((useconds_t)nap_us);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    hk_array *x = hk_ones(hk_shape(3), HK_F32, (hk_device){0});
    CHECK(hk_item(hk_sum(x, NULL), NULL) == 3);
    hk_runtime_deinit();
}

int main(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        const pid_t child = fork();
        if (child == 0) {
            use_after_cancelling(i * 100);
            _exit(check_result());
        }
        int status = 0;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    return check_result();
}
