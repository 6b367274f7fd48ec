/* A message of m bytes takes alpha + m beta, alpha the latency and beta the inverse of the bandwidth; an addition gamma. */
#include "forecast/cost.h"

#include "base/integer.h"

#include <math.h>

/* ---- where devices are ------------------------------------------------------------------------------ */

/* Devices below one child of the level's switches. */
static int64_t below(const hk_topology *topology, int level)
{
    int64_t devices = 1;
    for (int i = 0; i < level; i++)
        devices *= topology->levels[i].children;
    return devices;
}

int64_t hki_level_children(const hk_topology *topology, int level, int64_t devices)
{
    const int64_t in_use = hki_divide_up(devices, below(topology, level));
    return hki_min(in_use, topology->levels[level].children);
}

int64_t hki_level_links(const hk_topology *topology, int level, int64_t devices)
{
    const int64_t in_use = hki_divide_up(devices, below(topology, level));
    /* A last switch with one child passes nothing on. */
    return in_use - (in_use % topology->levels[level].children == 1 ||
                     topology->levels[level].children == 1);
}

double hki_core_load(const hk_topology *topology, int64_t devices)
{
    double most = 0;
    for (int i = 0; i < topology->level_count; i++)
        most = fmax(most,
                    (double)hki_min(devices, below(topology, i + 1)) / topology->levels[i].cores);
    return most;
}

int hki_common_level(const hk_topology *topology, int64_t a, int64_t b)
{
    int level = 0;
    for (; level < topology->level_count - 1; level++)
        if (a / below(topology, level + 1) == b / below(topology, level + 1))
            break;
    return level;
}

/* ---- one level -------------------------------------------------------------------------------------- */

/* What one device does in a sum over p children, m bytes each: messages after each other, bytes over its link in one
 * direction, bytes that it adds up. */
typedef struct level_work {
    double messages, link_bytes, added_bytes;
    double sent; /* messages in all; as many are received */
} level_work;

static level_work work_of(hki_collective_kind kind, double p, double m)
{
    const double steps = ceil(log2(p)), share = (p - 1) / p * m;
    switch (kind) {
    case HKI_COLLECTIVE_DIRECT: /* all to all, then all gather: everything is under way at once */
        return (level_work){2, 2 * share, share, 2 * (p - 1)};
    case HKI_COLLECTIVE_TREE: /* binomial: to the root and back */
        return (level_work){2 * steps, 2 * steps * m, steps * m, 2 * steps};
    case HKI_COLLECTIVE_HALVING: /* Rabenseifner's; those beyond a power of two add in first, and are told last */
        return steps > log2(p) ? (level_work){2 * steps, 2 * share + 2 * m, share + m, 2 * steps}
                               : (level_work){2 * steps, 2 * share, share, 2 * steps};
    default: /* a ring */
        return (level_work){2 * (p - 1), 2 * share, share, 2 * (p - 1)};
    }
}

/* Linear between the sizes that are listed, and beyond the last one as between the last two. */
double hki_link_ns(const hki_level *level, double bytes)
{
    int i = 1;
    if (!level->message_count)
        return 1e9 * bytes / level->bytes_per_second;
    while (i < level->message_count - 1 && bytes > level->messages[i].bytes)
        i++;
    const hki_message *low = &level->messages[i - 1], *high = &level->messages[i];
    return low->ns - level->latency_ns +
           (high->ns - low->ns) / (high->bytes - low->bytes) * (bytes - low->bytes);
}

/* By the link or by the switch, whichever takes longer. */
static double wire_ns(const hki_level *level, double link_ns, double link_bytes, double children)
{
    return fmax(link_ns, 1e9 * children * link_bytes / level->switch_bytes_per_second);
}

/* So many messages of one size after each other. */
static double equal_ns(const hki_level *level, double messages, double link_bytes)
{
    return messages * hki_link_ns(level, link_bytes / messages);
}

/* A half, a quarter, ... there and back; the last one has what is left. */
static double halving_ns(const hki_level *level, double p, double m)
{
    const double steps = floor(log2(p));
    double ns = steps < log2(p) ? 2 * hki_link_ns(level, m) : 0;
    double rest = (p - 1) / p * m, piece = m / 2;
    for (int i = 1; i < (int)steps; i++, rest -= piece, piece /= 2)
        ns += 2 * hki_link_ns(level, piece);
    return ns + 2 * hki_link_ns(level, rest);
}

static double additions_ns(const hk_topology *topology, double bytes, double element_bytes)
{
    return 1e9 * fmax(bytes / element_bytes / topology->flops,
                      3 * bytes / topology->memory_bytes_per_second);
}

/* What a device waits until those that it shares its core with have sent and received as much. Its own part is in what the
 * link takes. */
static double turns_ns(const hki_level *level, double core_load, double sent, double bytes)
{
    return fmax(0, core_load - 1) *
           (sent * level->cpu_ns_per_message + bytes * level->cpu_ns_per_byte);
}

/* ---- all-reduce ------------------------------------------------------------------------------------- */

typedef struct level_cost {
    double ns, link_bytes, busy_ns;
} level_cost;

/* share: of the bytes, what each device sends and adds up here. */
static level_cost cost_of_level(const hk_topology *topology, const hki_level *level,
                                hki_collective_kind kind, double p, double bytes, double share,
                                double element_bytes, double core_load)
{
    const level_work work = work_of(kind, p, bytes);
    const double link_ns = kind == HKI_COLLECTIVE_HALVING
                               ? halving_ns(level, p, bytes)
                               : equal_ns(level, work.messages, work.link_bytes);
    const double busy_ns = wire_ns(level, link_ns, work.link_bytes, p);
    return (level_cost){work.messages * level->latency_ns + busy_ns +
                            turns_ns(level, core_load, work.sent, work.link_bytes * share) +
                            additions_ns(topology, work.added_bytes * share, element_bytes),
                        work.link_bytes, busy_ns};
}

static level_cost best_of_level(const hk_topology *topology, const hki_level *level, double p,
                                double bytes, double share, double element_bytes, double core_load)
{
    static const hki_collective_kind kinds[] = {HKI_COLLECTIVE_RING, HKI_COLLECTIVE_TREE,
                                                HKI_COLLECTIVE_HALVING};
    level_cost best = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const level_cost its =
            cost_of_level(topology, level, kinds[i], p, bytes, share, element_bytes, core_load);
        best = i == 0 || its.ns < best.ns ? its : best;
    }
    return best;
}

/* Level by level: a share of the array is summed on each, so that every link carries the array about once each way. */
static void add_levels(const hk_topology *topology, int64_t devices, double bytes,
                       double element_bytes, hki_collective_cost *cost)
{
    const double core_load = hki_core_load(topology, devices);
    double share = 1; /* of one device: what the levels below have left to it */
    for (int i = 0; i < topology->level_count; i++) {
        const hki_level *level = &topology->levels[i];
        const double p = (double)hki_level_children(topology, i, devices);
        if (p < 2)
            continue;
        const level_cost its =
            level->collective == HKI_COLLECTIVE_BEST
                ? best_of_level(topology, level, p, bytes, share, element_bytes, core_load)
                : cost_of_level(topology, level, level->collective, p, bytes, share, element_bytes,
                                core_load);
        cost->link_bytes[i] = its.link_bytes;
        cost->busy_ns[i] = its.busy_ns;
        cost->ns += its.ns;
        share /= p;
    }
}

/* One ring, or everybody with everybody, over all levels at once. */
static void add_flat(const hk_topology *topology, int64_t devices, double bytes,
                     double element_bytes, hki_collective_cost *cost)
{
    const double n = (double)devices;
    const level_work work = work_of(topology->collective, n, bytes);
    const double core_load = hki_core_load(topology, devices);
    double latency_ns = 0, slowest_ns = 0, most_turns_ns = 0;
    for (int i = 0; i < topology->level_count; i++) {
        const hki_level *level = &topology->levels[i];
        const double p = (double)hki_level_children(topology, i, devices);
        const double inside = fmin((double)below(topology, i), n);
        if (p < 2)
            continue;
        cost->link_bytes[i] = topology->collective == HKI_COLLECTIVE_DIRECT
                                  ? 2 * inside * (n - inside) * bytes / n
                                  : work.link_bytes;
        cost->busy_ns[i] = wire_ns(level, equal_ns(level, work.messages, cost->link_bytes[i]),
                                   cost->link_bytes[i], p);
        latency_ns = fmax(latency_ns, level->latency_ns);
        slowest_ns = fmax(slowest_ns, cost->busy_ns[i]);
        most_turns_ns = fmax(most_turns_ns, turns_ns(level, core_load, work.sent, work.link_bytes));
    }
    cost->ns += work.messages * latency_ns + slowest_ns + most_turns_ns +
                additions_ns(topology, work.added_bytes, element_bytes);
}

hki_collective_cost hki_all_reduce_cost(const hk_topology *topology, int64_t devices, double bytes,
                                        double element_bytes)
{
    hki_collective_cost cost = {0};
    if (devices < 2 || bytes <= 0)
        return cost;
    if (topology->collective == HKI_COLLECTIVE_HIERARCHICAL)
        add_levels(topology, devices, bytes, element_bytes, &cost);
    else
        add_flat(topology, devices, bytes, element_bytes, &cost);
    cost.ns += topology->launch_ns;
    return cost;
}

hki_collective_cost hki_exchange_cost(const hk_topology *topology, int64_t devices, double bytes)
{
    hki_collective_cost cost = {0};
    const double core_load = hki_core_load(topology, devices);
    double latency_ns = 0, slowest_ns = 0, most_turns_ns = 0;
    for (int i = 0; i < topology->level_count; i++) {
        const hki_level *level = &topology->levels[i];
        const double p = (double)hki_level_children(topology, i, devices);
        if (p < 2)
            continue;
        cost.link_bytes[i] = bytes;
        cost.busy_ns[i] = wire_ns(level, hki_link_ns(level, bytes), bytes, p);
        latency_ns = fmax(latency_ns, level->latency_ns);
        slowest_ns = fmax(slowest_ns, cost.busy_ns[i]);
        most_turns_ns = fmax(most_turns_ns, turns_ns(level, core_load, 1, bytes));
    }
    cost.ns = latency_ns + slowest_ns + most_turns_ns;
    return cost;
}

/* ---- as simulated devices do it --------------------------------------------------------------------- */

int64_t hki_copy_ns(const hk_topology *topology, int level, double bytes)
{
    return (int64_t)(topology->levels[level].latency_ns +
                     hki_link_ns(&topology->levels[level], bytes));
}

int64_t hki_sum_ns(const hk_topology *topology, int64_t inputs, double elements, double bytes)
{
    return (int64_t)(topology->launch_ns +
                     1e9 * fmax(elements * (double)(inputs - 1) / topology->flops,
                                bytes * (double)(inputs + 1) / topology->memory_bytes_per_second));
}
