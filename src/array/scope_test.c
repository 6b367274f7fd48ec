/* Who owns a result, and for how long. */
#include "tests/check.h"

#include "array/test_tasks.h"

#include <pthread.h>

static uint64_t used_bytes(void)
{
    hk_wait_all();
    return hk_device_get_memory(hk_device_default()).used_bytes;
}

static hk_array *make(void)
{
    return test_range(hk_shape(16));
}

static void test_caller_owns(void)
{
    uint64_t before = used_bytes();
    hk_array *x = make();
    CHECK(used_bytes() > before);
    CHECK(hk_take(x) == x); /* already the caller's */
    hk_array_release(x);
    CHECK(used_bytes() == before);
    hk_array_release(NULL);
    CHECK(!hk_take(NULL));
    CHECK(!hk_array_retain(NULL));
}

static hk_array *made_inside(int how)
{
    HK_SCOPE;
    hk_array *x = make(), *y = make();
    if (how == 0)
        return NULL;
    if (how == 1)
        return hk_take(y);
    for (int i = 0; i < 3; i++) {
        HK_SCOPE;
        make();
        if (i == 1)
            break;
    }
    return hk_take(x);
}

static void test_scope_owns(void)
{
    uint64_t before = used_bytes();
    CHECK(!made_inside(0));
    CHECK(used_bytes() == before);
    for (int how = 1; how < 3; how++) {
        hk_array *x = made_inside(how);
        CHECK(used_bytes() > before);
        hk_array_release(x);
        CHECK(used_bytes() == before);
    }
}

static void test_nesting(void)
{
    uint64_t before = used_bytes();
    {
        HK_SCOPE;
        hk_array *x = make();
        uint64_t one = used_bytes();
        {
            HK_SCOPE;
            /* x is the last of the outer scope: a hole there must not move the inner scope's begin. */
            hk_take(x);
            make();
        }
        CHECK(used_bytes() == one);
        hk_array *y = make();
        hk_array_retain(y);
        {
            HK_SCOPE;
            hk_array_release(x);
        }
        CHECK(used_bytes() == one);
        hk_array_release(y);
        CHECK(used_bytes() == one); /* the scope's count is still there */
    }
    CHECK(used_bytes() == before);
}

static void test_suspended(void)
{
    uint64_t before = used_bytes();
    {
        HK_SCOPE;
        hk_array *x = make();
        uint64_t one = used_bytes();
        size_t outer = hk_scopes_suspend();
        hk_array_release(make()); /* the caller's, as without a scope */
        CHECK(used_bytes() == one);
        {
            HK_SCOPE; /* scopes within work, and pairs nest */
            make();
            size_t inner = hk_scopes_suspend();
            hk_array_release(make());
            hk_scopes_resume(inner);
            make();
        }
        CHECK(used_bytes() == one);
        hk_take(x); /* from the scope that is suspended */
        hk_scopes_resume(outer);
        make();
        hk_array_release(x);
    }
    CHECK(used_bytes() == before);
}

static void test_many(void)
{
    uint64_t before = used_bytes();
    HK_SCOPE;
    {
        HK_SCOPE;
        for (int i = 0; i < 1000; i++) {
            hk_array *x = make();
            if (i % 3 == 0)
                hk_array_release(hk_take(x));
        }
    }
    CHECK(used_bytes() == before);
    for (int i = 0; i < 100000; i++) /* the list does not grow by what is taken */
        hk_array_release(hk_take(make()));
    CHECK(used_bytes() == before);
}

static void test_released_by_hand(void)
{
    uint64_t before = used_bytes();
    {
        HK_SCOPE;
        hk_array *x = make();
        make();
        hk_array_release(x); /* against the rule, but no reason to crash */
    }
    CHECK(used_bytes() == before);
}

static void test_out_of_order(void)
{
    uint64_t before = used_bytes();
    hk_scope outer = hk_scope_begin();
    make();
    hk_scope inner = hk_scope_begin();
    make();
    hk_scope_end(&outer);
    CHECK(used_bytes() == before);
    hk_array *x = make(); /* in no scope */
    hk_scope_end(&inner);
    hk_scope_end(&inner);
    hk_scope_end(&outer);
    hk_scope_end(NULL);
    CHECK(used_bytes() > before);
    hk_array_release(x);
    CHECK(used_bytes() == before);
}

typedef struct shared {
    hk_scope scope;
    hk_array *x;
} shared;

static void *other_thread(void *argument)
{
    shared *self = argument;
    hk_scope_end(&self->scope); /* not this thread's */
    hk_take(self->x);           /* a count of its own */
    {
        HK_SCOPE;
        hk_scope_end(&self->scope);
        make();
    }
    hk_scope_begin(); /* never ended: ends with the thread */
    make();
    return NULL;
}

static void test_threads(void)
{
    uint64_t before = used_bytes();
    shared self = {.scope = hk_scope_begin()};
    self.x = make();
    uint64_t one = used_bytes();
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, other_thread, &self));
    pthread_join(thread, NULL);
    CHECK(used_bytes() == one);
    hk_scope_end(&self.scope);
    CHECK(used_bytes() == one);
    hk_array_release(self.x);
    CHECK(used_bytes() == before);
}

enum { HAMMER_THREADS = 4, HAMMER_ROUNDS = 5000 };

static void *hammer(void *argument)
{
    hk_array *x = argument;
    void *wrong = NULL;
    for (int i = 0; i < HAMMER_ROUNDS; i++) {
        HK_SCOPE;
        hk_array_retain(x);
        hk_array *view = hk_slice(x, 0, i % 8, 8 + i % 8);
        hk_array_release(x);
        hk_index(view, 0, 0);
        if (i % 500 == 0 && hk_item(hk_index(view, 0, 0), NULL) != i % 8)
            wrong = x;
    }
    return wrong;
}

static void test_shared_handles(void)
{
    uint64_t before = used_bytes();
    hk_array *x = make();
    pthread_t threads[HAMMER_THREADS];
    for (int i = 0; i < HAMMER_THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, hammer, x));
    for (int i = 0; i < HAMMER_THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        CHECK(!wrong);
    }
    hk_array_release(x);
    CHECK(used_bytes() == before);
}

static void test_all(bool serial)
{
    (void)serial;
    test_caller_owns();
    test_scope_owns();
    test_nesting();
    test_suspended();
    test_many();
    test_released_by_hand();
    test_out_of_order();
    test_threads();
    test_shared_handles();
}

int main(void)
{
    test_engines(test_all, (hk_runtime_options){0});
    return check_result();
}
