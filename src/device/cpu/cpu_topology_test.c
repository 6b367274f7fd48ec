/* Cores from what /sys says, within the processors that are allowed, and without memory. */
#include "tests/check.h"

#include "device/cpu/cpu_topology.h"
#include "tests/failing_memory.h"

#include <string.h>

static int least_of(const char *list, int first, int second)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    CPU_SET((size_t)first, &allowed);
    CPU_SET((size_t)second, &allowed);
    return hki_cpu_least_of(list, &allowed);
}

static void test_lists(void)
{
    CHECK_EQ_I64(least_of("0-1\n", 0, 1), 0);
    CHECK_EQ_I64(least_of("3,67\n", 3, 67), 3);
    CHECK_EQ_I64(least_of("3,67", 66, 67), 67);
    CHECK_EQ_I64(least_of("67,3", 3, 67), 3);
    CHECK_EQ_I64(least_of("0-3,8-11", 9, 10), 9);
    CHECK_EQ_I64(least_of("0", 1, 2), -1);
    CHECK_EQ_I64(least_of("", 0, 1), -1);
    CHECK_EQ_I64(least_of("\n", 0, 1), -1);
    CHECK_EQ_I64(least_of("all of them", 0, 1), -1);
    CHECK_EQ_I64(least_of("1000-99999999999999999999", 0, 1023), 1023);
    CHECK_EQ_I64(least_of("99999999999999999999", 0, 1), -1);
    CHECK_EQ_I64(least_of("5-2", 2, 5), -1);
}

/* Each is allowed, and there is one at least. */
static void test_cores(void)
{
    int cores[HKI_MAX_CORES], again[HKI_MAX_CORES];
    const int count = hki_cpu_cores(cores);
    cpu_set_t allowed;
    CHECK(count >= 1 && count <= HKI_MAX_CORES);
    if (!sched_getaffinity(0, sizeof allowed, &allowed))
        for (int i = 0; i < count; i++)
            CHECK(CPU_ISSET((size_t)cores[i], &allowed));
    failing_begin(0, true);
    const int without_memory = hki_cpu_cores(again);
    failing_end();
    CHECK_EQ_I64(without_memory, count);
    CHECK(memcmp(cores, again, (size_t)count * sizeof *cores) == 0);
    /* Where one processor alone is allowed, it is the core, whichever it is. */
    hki_cpu_pin(&cores[count - 1], 1);
    CHECK_EQ_I64(hki_cpu_cores(again), 1);
    CHECK_EQ_I64(again[0], cores[count - 1]);
}

int main(void)
{
    test_lists();
    test_cores();
    return check_result();
}
