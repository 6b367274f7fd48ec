/* Simulated devices below the engine: what HOCKET_SIM may say, memory, the model's arithmetic. */
#include "device/sim/sim_device.h"
#include "tests/check.h"

#include <stdint.h>
#include <stdlib.h>

static hk_sim_options groups[HKI_SIM_MAX_GROUPS];
static int group_count;

static const hk_status *parse(const char *text)
{
    return hki_sim_options_parse(text, groups, &group_count);
}

static void check_refused(const char *text, const char *part)
{
    const hk_status *error = parse(text);
    CHECK(error && hk_status_code(error) == HK_INVALID_ARGUMENT);
    if (error && !strstr(hk_status_message(error), part))
        CHECK_STR(hk_status_message(error), part);
    hk_status_release(error);
}

static void test_text(void)
{
    CHECK(!parse(NULL) && group_count == 0);
    CHECK(!parse("") && group_count == 0);
    CHECK(!parse("3") && group_count == 1 && groups[0].count == 3);
    CHECK(!parse("2:flops=20G,link=1.5M,latency=5us,memory=64M;1:peer=none,factor=0.25,launch=0"));
    CHECK_EQ_I64(group_count, 2);
    CHECK(groups[0].flops == 20e9 && groups[0].link_bandwidth == 1.5e6);
    CHECK(groups[0].link_latency_ns == 5000 && groups[0].memory_bytes == 64u << 20);
    CHECK(groups[1].peer_bandwidth < 0 && groups[1].factor == 0.25);
    CHECK(groups[1].launch_ns == 0); /* not the default */
    check_refused("0", "number of devices");
    check_refused("65", "number of devices");
    check_refused("x", "number of devices");
    check_refused("2:", "NAME=VALUE");
    check_refused("2;", "number of devices");
    check_refused("2:flop=3", "NAME=VALUE");
    check_refused("2:flops", "NAME=VALUE");
    check_refused("2:flops=", "flops=");
    check_refused("2:flops=-1", "number from 1");
    check_refused("2:flops=nan", "number from 1");
    check_refused("2:flops=20GB", "number from 1");
    check_refused("2:latency=5", "a time");
    check_refused("2:latency=5 us", "a time");
    check_refused("2:latency=2000s", "a time");
    check_refused("2:memory=1K", "a size");
    check_refused("2:link=4G,", "NAME=VALUE");
    check_refused("1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1", "16 groups");
}

static void test_defaults(void)
{
    hk_sim_options options = {0};
    CHECK(!hki_sim_options_complete(&options));
    CHECK(options.count == 1 && options.flops == 1.27e13);
    CHECK(options.memory_bytes == (uint64_t)16 << 30 && options.memory_bandwidth == 7.5e11);
    /* The book copies 3.2 GB to the host in 2.42 s. */
    const double copies_s = 3.2e9 / options.link_bandwidth + 3.2e9 / options.staging_bandwidth;
    CHECK(copies_s > 2.41 && copies_s < 2.43);
    CHECK(options.peer_bandwidth == options.link_bandwidth && options.factor == 0);
    const hk_sim_options wrong[] = {{.count = -1},     {.flops = -2},   {.flops = 1.0 / 0.0},
                                    {.launch_ns = -1}, {.factor = 1e9}, {.memory_bytes = 5}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options = wrong[i];
        const hk_status *error = hki_sim_options_complete(&options);
        CHECK(error && strstr(hk_status_message(error), "option sim."));
        CHECK(!memcmp(&options, &wrong[i], sizeof options));
        hk_status_release(error);
    }
}

static void test_memory(void)
{
    enum { SIZE = 1 << 20, BLOCKS = 512 };
    hki_sim_memory *memory = hki_sim_memory_create(SIZE);
    intptr_t offset = hki_sim_memory_offset(memory);
    void *blocks[BLOCKS];
    size_t sizes[BLOCKS];
    uint64_t state = 1;
    CHECK(!hki_sim_memory_allocate(memory, SIZE + 1));
    void *whole = hki_sim_memory_allocate(memory, SIZE);
    CHECK(whole && !hki_sim_memory_allocate(memory, 1));
    memset((char *)whole + offset, 1, SIZE);
    hki_sim_memory_release(memory, whole, SIZE);
    memset(blocks, 0, sizeof blocks);
    for (int step = 0; step < 20000; step++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int i = (int)(state >> 33) % BLOCKS;
        if (blocks[i]) {
            unsigned char *bytes = (unsigned char *)blocks[i] + offset;
            CHECK(bytes[0] == i % 251 && bytes[sizes[i] - 1] == i % 251); /* nobody else's */
            hki_sim_memory_release(memory, blocks[i], sizes[i]);
            blocks[i] = NULL;
            continue;
        }
        sizes[i] = (size_t)(state >> 20) % 5000 + 1;
        blocks[i] = hki_sim_memory_allocate(memory, sizes[i]);
        CHECK((uintptr_t)blocks[i] % 64 == 0);
        if (blocks[i])
            memset((char *)blocks[i] + offset, i % 251, sizes[i]);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i])
            hki_sim_memory_release(memory, blocks[i], sizes[i]);
    whole = hki_sim_memory_allocate(memory, SIZE); /* gaps have become one again */
    CHECK(whole);
    hki_sim_memory_destroy(memory);
}

/* Queues take turns with nobody; a copy between peers holds both ends. */
static void test_model(void)
{
    hki_device devices[2] = {{.index = 0, .name = "sim:0"}, {.index = 1, .name = "sim:1"}};
    hk_sim_options model = {.flops = 1e9,
                            .memory_bandwidth = 1e9,
                            .launch_ns = 100,
                            .link_bandwidth = 1e9,
                            .link_latency_ns = 50,
                            .peer_bandwidth = 2e9,
                            .staging_bandwidth = 1e9,
                            .memory_bytes = 1 << 20};
    CHECK(!hki_sim_options_complete(&model));
    for (int i = 0; i < 2; i++)
        CHECK(hki_sim_init(&devices[i], &model));
    const hki_device_class *class = devices[0].class;
    hki_ticket a, b;
    class->launched(&devices[0], HKI_QUEUE_COMPUTE, &(hki_cost){.flops = 900}, 1000, 0, &a);
    CHECK_EQ_I64(a.begin_ns, 1000);
    CHECK_EQ_I64(a.end_ns, 2000);
    class->launched(&devices[0], HKI_QUEUE_COMPUTE, &(hki_cost){.flops = 1, .memory_bytes = 400},
                    1000, 0, &b);
    CHECK_EQ_I64(b.begin_ns, 2000); /* behind the first, bound by memory */
    CHECK_EQ_I64(b.end_ns, 2500);
    class->launched(&devices[0], HKI_QUEUE_COPY_IN, &(hki_cost){.copy_bytes = 1000}, 1200, 0, &a);
    CHECK_EQ_I64(a.begin_ns, 1200);
    CHECK_EQ_I64(a.end_ns, 2250);
    class->launched(&devices[0], HKI_QUEUE_COPY_OUT,
                    &(hki_cost){.copy_bytes = 1000, .is_pageable = true}, 0, 0, &a);
    CHECK_EQ_I64(a.end_ns, 2050);
    const hki_cost peer = {.copy_bytes = 1000, .peer = &devices[0]};
    class->launched(&devices[1], HKI_QUEUE_COPY_OUT, &peer, 100, 0, &a);
    CHECK_EQ_I64(a.begin_ns, 2250); /* sim:0's copy in is taken until then */
    CHECK_EQ_I64(a.end_ns, 2800);
    class->launched(&devices[0], HKI_QUEUE_COPY_IN, &(hki_cost){.copy_bytes = 1}, 0, 0, &b);
    CHECK_EQ_I64(b.begin_ns, 2800);
    CHECK(class->is_linked(&devices[0], &devices[1]));
    CHECK(strstr(devices[0].description, "simulated: 1 GFLOP/s"));
    for (int i = 0; i < 2; i++)
        hki_sim_deinit(&devices[i]);
}

int main(void)
{
    test_text();
    test_defaults();
    test_memory();
    test_model();
    return check_result();
}
