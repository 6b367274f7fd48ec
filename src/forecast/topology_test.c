/* Topologies from outside: what is wrong is named, with its value and what would be right. */
#include "forecast/cost.h"
#include "forecast/topology.h"
#include "tests/check.h"

#include <math.h>
#include <stdlib.h>

#define LEVEL                 "{\"children\": 4, \"bytes_per_second\": 1e9}"
#define WITH(members, levels) "{\"hocket_topology\": 1, " members "\"levels\": [" levels "]}"

#define SIZE(bytes, ns) "{\"bytes\": " bytes ", \"ns\": " ns "}"
#define BY_SIZE(list)   "{\"children\": 8, \"messages\": " list "}"

/* clang-format off */
static const struct wrong {
    const char *text, *message;
} wrongs[] = {
    {"", "no JSON"},
    {"GIF89a", "no JSON"},
    {"[]", "found no object"},
    {"{}", "\"hocket_topology\" is missing; expected a whole number from 1 to 1"},
    {"{\"hocket_topology\": 2}", "\"hocket_topology\" is 2; expected"},
    {"{\"hocket_topology\": 1}", "\"levels\" is missing; expected a list of 1 to 8 levels"},
    {"{\"hocket_topology\": 1, \"hocket_topology\": 1}", "no JSON"},
    {WITH("", ""), "\"levels\" is []; expected"},
    {WITH("", LEVEL "," LEVEL "," LEVEL "," LEVEL "," LEVEL "," LEVEL "," LEVEL "," LEVEL "," LEVEL), "\"levels\" is ["},
    {WITH("", "3"), "level 1: \"levels\" is 3; expected a list of objects"},
    {WITH("\"colective\": \"ring\", ", LEVEL), "there is no key \"colective\"; expected one of hocket_topology, name, collective"},
    {WITH("\"collective\": \"tree\", ", LEVEL), "\"collective\" is \"tree\"; expected \"hierarchical\""},
    {WITH("\"collective\": 3, ", LEVEL), "\"collective\" is 3; expected"},
    {WITH("\"bucket_bytes\": -1, ", LEVEL), "\"bucket_bytes\" is -1; expected a number from 0 to 1e+18"},
    {WITH("\"name\": \"\", ", LEVEL), "\"name\" is \"\"; expected a text of 1 to 95 bytes"},
    {WITH("\"device\": 3, ", LEVEL), "\"device\" is 3; expected an object"},
    {WITH("\"device\": {\"speed\": 0}, ", LEVEL), "device: \"speed\" is 0; expected a number from 1e-06 to 1e+06"},
    {WITH("\"device\": {\"sped\": 1}, ", LEVEL), "device: there is no key \"sped\""},
    {WITH("\"device\": {\"flops\": null}, ", LEVEL), "device: \"flops\" is null; expected"},
    {WITH("", LEVEL ", {\"children\": 0, \"bytes_per_second\": 1}"), "level 2: \"children\" is 0; expected a whole number from 1 to 1048576"},
    {WITH("", "{\"children\": -4, \"bytes_per_second\": 1}"), "level 1: \"children\" is -4;"},
    {WITH("", "{\"children\": 4.5, \"bytes_per_second\": 1}"), "level 1: \"children\" is 4.5;"},
    {WITH("", "{\"children\": 99999999999999999999, \"bytes_per_second\": 1}"), "no JSON"},
    {WITH("", "{\"children\": 4}"), "level 1: \"bytes_per_second\" is missing; expected a number from 1 to 1e+18"},
    {WITH("", "{\"children\": 4, \"bytes_per_second\": 0}"), "level 1: \"bytes_per_second\" is 0; expected"},
    {WITH("", "{\"children\": 4, \"bytes_per_second\": NaN}"), "no JSON"},
    {WITH("", "{\"children\": 4, \"bytes_per_second\": 1e400}"), "no JSON"},
    {WITH("", "{\"children\": 4, \"bytes_per_second\": \"12G\"}"), "level 1: \"bytes_per_second\" is \"12G\"; expected"},
    {WITH("", "{\"children\": 4, \"bytes_per_second\": 1, \"latency_ns\": -5}"), "level 1: \"latency_ns\" is -5; expected a number from 0 to 1e+12"},
    {WITH("", "{\"children\": 4, \"bytes_per_second\": 1, \"collective\": \"copies\"}"), "level 1: \"collective\" is \"copies\"; expected \"best\""},
    {WITH("", "{\"children\": 1048576, \"bytes_per_second\": 1}, " LEVEL), "level 2: \"children\" is 4, which makes more than 1048576 devices"},
    {WITH("", "{\"children\": 4, \"bytes_per_second\": 1, \"link\": [[[[]]]]}"), "level 1: there is no key \"link\""},
    {WITH("", "{\"children\": 4, \"bytes_per_second\": 1, \"cores\": 0}"), "level 1: \"cores\" is 0; expected a number from 0.01 to 1e+06"},
    {WITH("", "{\"children\": 4, \"bytes_per_second\": 1, \"cpu_ns_per_byte\": -1}"), "level 1: \"cpu_ns_per_byte\" is -1; expected a number from 0 to 1e+12"},
    {WITH("\"device\": {\"cores\": \"all\"}, ", LEVEL), "device: \"cores\" is \"all\"; expected"},
    {WITH("", BY_SIZE("3")), "level 1: \"messages\" is 3; expected a list of 2 to 32 sizes, rising"},
    {WITH("", BY_SIZE("{\"bytes\": 1, \"ns\": 1}")), "level 1: \"messages\" is {\"bytes\":1,\"ns\":1}; expected a list"},
    {WITH("", BY_SIZE("[]")), "level 1: \"messages\" is []; expected a list of 2 to 32 sizes"},
    {WITH("", BY_SIZE("[" SIZE("1", "1") "]")), "level 1: \"messages\" is [{"},
    {WITH("", BY_SIZE("[" SIZE("1", "1") ", 7]")), "level 1: \"messages\" is 7; expected a list of 2 to 32 sizes, rising: [{\"bytes\": 65536, \"ns\": 90000}, ...]"},
    {WITH("", BY_SIZE("[[1, 1], [2, 2]]")), "level 1: \"messages\" is [1,1]; expected a list"},
    {WITH("", BY_SIZE("[{\"bytes\": 1}, " SIZE("2", "2") "]")), "level 1: messages: \"ns\" is missing; expected a number from 0 to 1e+12"},
    {WITH("", BY_SIZE("[{\"bytes\": 1, \"us\": 1}, " SIZE("2", "2") "]")), "level 1: messages: there is no key \"us\"; expected one of bytes, ns"},
    {WITH("", BY_SIZE("[" SIZE("0", "1") ", " SIZE("2", "2") "]")), "level 1: messages: \"bytes\" is 0; expected a number from 1 to 1e+18"},
    {WITH("", BY_SIZE("[" SIZE("1", "-1") ", " SIZE("2", "2") "]")), "level 1: messages: \"ns\" is -1; expected a number from 0 to 1e+12"},
    {WITH("", BY_SIZE("[" SIZE("1", "NaN") ", " SIZE("2", "2") "]")), "no JSON"},
    {WITH("", BY_SIZE("[" SIZE("1", "\"1\"") ", " SIZE("2", "2") "]")), "level 1: messages: \"ns\" is \"1\"; expected"},
    {WITH("", BY_SIZE("[" SIZE("5000", "1") ", " SIZE("5000", "2") "]")), "level 1: messages: \"bytes\" is 5000; expected more than the 5000 of the size before"},
    {WITH("", BY_SIZE("[" SIZE("1", "70") ", " SIZE("2", "69.5") "]")), "level 1: messages: \"ns\" is 69.5; expected more than the 70 of the size before"},
    {WITH("", "{\"children\": 4, \"bytes_per_second\": 5, \"messages\": [" SIZE("1", "1") ", " SIZE("2", "2") "]}"), "level 1: \"bytes_per_second\" is 5; expected none beside \"messages\""},
    {WITH("", "{\"children\": 4, \"latency_ns\": 5, \"messages\": [" SIZE("1", "1") ", " SIZE("2", "2") "]}"), "level 1: \"latency_ns\" is 5; expected none beside \"messages\""},
    {WITH("", LEVEL) " more", "no JSON"},
};
/* clang-format on */

static hk_topology *parse(const char *text, const hk_status **status)
{
    return hk_topology_parse(text, strlen(text), status);
}

static void check_wrong(void)
{
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        const hk_status *status;
        hk_topology *topology = parse(wrongs[i].text, &status);
        const bool is_named = strstr(hk_status_message(status), wrongs[i].message) != NULL;
        if (!is_named)
            fprintf(stderr, "%s\n  gives: %s\n", wrongs[i].text, hk_status_message(status));
        CHECK(is_named);
        CHECK(!topology && hk_status_code(status) == HK_BAD_DATA);
    }
    const hk_status *status;
    CHECK(!hk_topology_parse(NULL, 3, &status) && hk_status_code(status) == HK_BAD_DATA);
    CHECK(!hk_topology_read(NULL, &status) && hk_status_code(status) == HK_INVALID_ARGUMENT);
    CHECK(!hk_topology_read("nowhere.json", NULL));
    CHECK(hk_topology_devices(NULL) == 0);
    hk_topology_release(NULL);
}

/* No prefix of a good one is good, and none does harm. */
static void check_prefixes(void)
{
    const char *text = WITH("\"name\": \"two levels\", ", LEVEL "," LEVEL);
    for (size_t bytes = 0; bytes < strlen(text); bytes++)
        CHECK(!hk_topology_parse(text, bytes, NULL));
    hk_topology *topology = parse(text, NULL);
    CHECK(hk_topology_devices(topology) == 16);
    CHECK(hk_topology_retain(topology) == topology);
    hk_topology_release(topology);
    hk_topology_release(topology);
}

/* ---- formulas ----------------------------------------------------------------------------------------- */

static void check_cost(const char *text, int64_t devices, double expected_ns)
{
    const hk_status *status;
    hk_topology *topology = parse(text, &status);
    CHECK(topology && !hk_status_print(status, stderr));
    if (!topology)
        return;
    const double ns = hki_all_reduce_cost(topology, devices, 8e6, 4).ns;
    if (!(fabs(ns - expected_ns) <= 1e-9 * expected_ns))
        fprintf(stderr, "%s\n  gives %.3f ns, expected %.3f\n", text, ns, expected_ns);
    CHECK(fabs(ns - expected_ns) <= 1e-9 * expected_ns);
    hk_topology_release(topology);
}

#define OF(kind)                                                                                   \
    WITH("", "{\"children\": 64, \"bytes_per_second\": 1e9, \"latency_ns\": 1000, "                \
             "\"collective\": \"" kind "\"}")

/* 8 MB take 8e6 ns over a link. */
static void check_costs(void)
{
    check_cost(OF("ring"), 1, 0);
    check_cost(OF("ring"), 8, 14 * 1000 + 2 * 7. / 8 * 8e6);
    check_cost(OF("ring"), 6, 10 * 1000 + 2 * 5. / 6 * 8e6);
    check_cost(OF("tree"), 8, 6 * (1000 + 8e6));
    check_cost(OF("tree"), 5, 6 * (1000 + 8e6));
    check_cost(OF("halving"), 8, 6 * 1000 + 2 * 7. / 8 * 8e6);
    check_cost(OF("halving"), 6, (4 + 2) * 1000 + 2 * 5. / 6 * 8e6 + 2 * 8e6);
    check_cost(OF("direct"), 8, 2 * 1000 + 2 * 7. / 8 * 8e6);
    check_cost(OF("best"), 8, 6 * 1000 + 2 * 7. / 8 * 8e6);
    /* Two levels, 4 devices to a machine: each link carries about the array each way. */
    const char *two =
        WITH("", "{\"children\": 4, \"bytes_per_second\": 1e10, \"latency_ns\": 10},"
                 "{\"children\": 4, \"bytes_per_second\": 1e9, \"latency_ns\": 1000}");
    check_cost(two, 16, 4 * 10 + 1.5 * 8e5 + 4 * 1000 + 1.5 * 8e6);
    check_cost(two, 4, 4 * 10 + 1.5 * 8e5);
    check_cost(WITH("\"collective\": \"ring\", ",
                    "{\"children\": 4, \"bytes_per_second\": 1e10, \"latency_ns\": 10},"
                    "{\"children\": 4, \"bytes_per_second\": 1e9, \"latency_ns\": 1000}"),
               16, 30 * 1000 + 2 * 15. / 16 * 8e6);
    /* A switch that is slower than its links together; and additions. */
    check_cost(
        WITH("", "{\"children\": 8, \"bytes_per_second\": 1e9, \"switch_bytes_per_second\": 4e9, "
                 "\"collective\": \"ring\"}"),
        8, 2 * 2 * 7. / 8 * 8e6);
    check_cost(WITH("\"device\": {\"flops\": 1e9, \"launch_ns\": 7}, ",
                    "{\"children\": 8, \"bytes_per_second\": 1e9, \"collective\": \"ring\"}"),
               8, 7 + 2 * 7. / 8 * 8e6 + 7. / 8 * 2e6);
}

/* Eight devices take turns at two cores: each waits for three others. */
#define CROWDED(kind, cores)                                                                       \
    "{\"children\": 8, \"bytes_per_second\": 1e9, \"collective\": \"" kind "\", \"cores\": " cores \
    ", \"cpu_ns_per_byte\": 0.5, \"cpu_ns_per_message\": 1000}"

static void check_turns(void)
{
    const double link = 2 * 7. / 8 * 8e6;
    check_cost(WITH("", CROWDED("direct", "2")), 8, link + 3 * (14 * 1000 + .5 * link));
    check_cost(WITH("", CROWDED("ring", "2")), 8, link + 3 * (14 * 1000 + .5 * link));
    check_cost(WITH("", CROWDED("halving", "2")), 8, link + 3 * (6 * 1000 + .5 * link));
    check_cost(WITH("", CROWDED("tree", "4")), 8, 6 * 8e6 + 1 * (6 * 1000 + .5 * 6 * 8e6));
    check_cost(WITH("", CROWDED("direct", "8")), 8, link);
    check_cost(WITH("", CROWDED("direct", "8")), 2, 8e6);
    check_cost(WITH("\"collective\": \"direct\", ", CROWDED("best", "2")), 8,
               link + 3 * (14 * 1000 + .5 * link));
    /* Machines of four devices, of which each sends its quarter over the link; cores are the machine's. */
    check_cost(WITH("", "{\"children\": 4, \"bytes_per_second\": 1e10, \"cores\": 2}, "
                        "{\"children\": 2, \"bytes_per_second\": 1e9, \"cpu_ns_per_byte\": 0.5}"),
               8, 1.5 * 8e5 + 8e6 + 1 * .5 * 8e6 / 4);
}

/* 33 sizes are one too many, 32 are not. */
static void check_many_sizes(void)
{
    for (int count = 32; count <= 33; count++) {
        char list[2048] = "", text[2304];
        size_t used = 0;
        for (int i = 1; i <= count; i++)
            used += (size_t)snprintf(list + used, sizeof list - used,
                                     "%s{\"bytes\": %d, \"ns\": %d}", i > 1 ? ", " : "", i, i);
        snprintf(text, sizeof text, WITH("", BY_SIZE("[%s]")), list);
        const hk_status *status;
        hk_topology *topology = parse(text, &status);
        CHECK(!topology == (count > 32));
        CHECK(topology || strstr(hk_status_message(status), "a list of 2 to 32 sizes"));
        hk_topology_release(topology);
    }
}

/* Sizes at 1, 2 and 4 MB: linear between, and by the first and the last slope beyond. */
#define THREE_SIZES(kind)                                                                          \
    "{\"children\": 8, \"collective\": \"" kind "\", \"messages\": [" SIZE(                        \
        "1e6", "1e6") ", " SIZE("2e6", "1.5e6") ", " SIZE("4e6", "5.5e6") "]}"

static void check_sizes(void)
{
    check_cost(WITH("", THREE_SIZES("direct")), 2, 2 * 5.5e6);
    check_cost(WITH("", THREE_SIZES("direct")), 4, 2 * (5.5e6 + 2 * 2e6));
    check_cost(WITH("", THREE_SIZES("ring")), 2, 2 * 5.5e6);
    check_cost(WITH("", THREE_SIZES("ring")), 4, 6 * 1.5e6);
    check_cost(WITH("", THREE_SIZES("ring")), 8, 14 * 1e6);
    check_cost(WITH("", THREE_SIZES("ring")), 5, 8 * (1e6 + .5 * 6e5));
    check_cost(WITH("", THREE_SIZES("tree")), 2, 2 * (5.5e6 + 4 * 2e6));
    check_cost(WITH("", THREE_SIZES("halving")), 8, 2 * (5.5e6 + 1.5e6 + 1e6));
    check_cost(WITH("", THREE_SIZES("best")), 4, 6 * 1.5e6);
    /* Over both levels at once each message is an eighth; within a machine it takes nothing. */
    check_cost(WITH("\"collective\": \"ring\", ",
                    "{\"children\": 4, \"bytes_per_second\": 1e15}, " THREE_SIZES("best")),
               8, 14 * 1e6);
    /* A line through the first two that would be below 0. */
    check_cost(WITH("", "{\"children\": 8, \"collective\": \"ring\", \"messages\": [" SIZE(
                            "2e6", "1e6") ", " SIZE("4e6", "5e6") "]}"),
               8, 14 * .5e6);
    /* A rate and a latency as sizes. */
    check_cost(WITH("", "{\"children\": 64, \"collective\": \"tree\", \"messages\": [" SIZE(
                            "1e3", "2e3") ", " SIZE("1e4", "11e3") "]}"),
               8, 6 * (1000 + 8e6));
}

static void check_places(void)
{
    hk_topology *topology = parse(WITH("", LEVEL "," LEVEL "," LEVEL), NULL);
    CHECK(hki_common_level(topology, 0, 3) == 0);
    CHECK(hki_common_level(topology, 3, 4) == 1);
    CHECK(hki_common_level(topology, 15, 16) == 2);
    CHECK_EQ_I64(hki_level_links(topology, 0, 6), 6);
    CHECK_EQ_I64(hki_level_links(topology, 0, 5), 4);
    CHECK_EQ_I64(hki_level_links(topology, 1, 6), 2);
    CHECK_EQ_I64(hki_level_links(topology, 2, 16), 0);
    CHECK_EQ_I64(hki_level_children(topology, 0, 3), 3);
    hk_topology_release(topology);
}

int main(void)
{
    check_wrong();
    check_prefixes();
    check_costs();
    check_turns();
    check_many_sizes();
    check_sizes();
    check_places();
    return check_result();
}
