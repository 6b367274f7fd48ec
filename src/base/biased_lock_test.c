/* A lock that is biased to one thread: nobody else comes in while that one has it, whoever takes the bias away and when. */
#include "tests/check.h"

#include "base/biased_lock.h"
#include "base/sanitizer.h"

#include <pthread.h>
#include <stdio.h>

enum { MANY = 5000 }; /* acquisitions that make a thread the owner */

static hki_biased_lock lock;
static uint64_t counter; /* under the lock */
static _Atomic(bool) stop;
static bool can_bias;

static void count(int times)
{
    for (int i = 0; i < times; i++) {
        hki_biased_acquire(&lock);
        counter++;
        hki_biased_release(&lock);
    }
}

static bool is_biased(void)
{
    return atomic_load(&lock.owner) != 0;
}

/* Counts as often as it is told, alone. */
static void *count_many(void *times)
{
    count(*(const int *)times);
    return NULL;
}

static void in_other_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, function, argument));
    pthread_join(thread, NULL);
}

static void test_owner(void)
{
    count(MANY);
    can_bias = is_biased();
    if (!can_bias)
        puts("no barrier for all threads on this system: locks are not biased");
    count(MANY);
    CHECK(counter == 2 * MANY);
    CHECK(is_biased() == can_bias);
}

/* Another thread takes it once: then nobody is the owner, until one has it often enough again, later than before. */
static void test_revoked(void)
{
    int times = 1;
    in_other_thread(count_many, &times);
    CHECK(counter == 2 * MANY + 1 && !is_biased());
    count(1100);
    CHECK(!is_biased());
    count(MANY);
    CHECK(is_biased() == can_bias);
    CHECK(counter == 3 * MANY + 1101);
}

static void *try_once(void *got)
{
    *(bool *)got = hki_biased_try(&lock);
    if (*(bool *)got)
        hki_biased_release(&lock);
    return NULL;
}

/* A thread may become the owner, and end. */
static void test_owner_ends(void)
{
    int times = 100000;
    in_other_thread(count_many, &times);
    CHECK(is_biased() == can_bias);
    count(1);
    CHECK(counter == 3 * MANY + 1102 + 100000);
}

static void test_try(void)
{
    bool got = false;
    count(200000);
    CHECK(is_biased() == can_bias);
    hki_biased_acquire(&lock);
    in_other_thread(try_once, &got); /* the bias is gone, and the lock still held */
    CHECK(!got && !is_biased());
    in_other_thread(try_once, &got);
    CHECK(!got);
    hki_biased_release(&lock);
    in_other_thread(try_once, &got);
    CHECK(got);
    CHECK(hki_biased_try(&lock));
    hki_biased_release(&lock);
}

static void *disturb(void *own)
{
    uint64_t *mine = own;
    for (uint64_t i = 0; !atomic_load(&stop); i++) {
        struct timespec nap = {0, (long)(i * 7919 % 300000)};
        if (i % 3)
            nanosleep(&nap, NULL);
        if (i % 2) {
            hki_biased_acquire(&lock);
        } else if (!hki_biased_try(&lock)) {
            continue;
        }
        counter++;
        *mine += 1;
        hki_biased_release(&lock);
    }
    return NULL;
}

/* One thread most of the time, two others now and then, at any moment of the first one's work. The lock is a fresh one each
 * time, so that it is biased often. */
static void test_disturbed(void)
{
    enum { ROUNDS = HKI_SANITIZED ? 20 : 100, COUNTS = HKI_SANITIZED ? 20000 : 100000 };
    uint64_t revocations = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[2];
        uint64_t others[2] = {0};
        lock = (hki_biased_lock){.is_by_bias = false};
        counter = 0;
        atomic_store(&stop, false);
        for (int i = 0; i < 2; i++)
            CHECK(!pthread_create(&threads[i], NULL, disturb, &others[i]));
        count(COUNTS);
        atomic_store(&stop, true);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        CHECK(counter == COUNTS + others[0] + others[1]);
        revocations += lock.revocations;
    }
    CHECK(revocations > 0 || !can_bias);
}

int main(void)
{
    hki_biased_lock_prepare();
    test_owner();
    test_revoked();
    test_owner_ends();
    test_try();
    test_disturbed();
    return check_result();
}
