"""How long a collective takes, and what goes over the links, by latency and bandwidth.

A message of m bytes takes alpha + m beta, with alpha the latency and beta the inverse of the bandwidth; adding takes
gamma a byte. Sources: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in
MPICH", 2005; for rings P. Patarasuk and X. Yuan, 2009. Devices fill the topology in order."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log2
from typing import NamedTuple

from topology import Level, Topology


@dataclass
class Cost:
    """Of one collective. Lists are by level: bytes over one link in one direction, and how long that keeps it busy."""

    ns: float
    link_bytes: list[float]
    busy_ns: list[float]


class _Work(NamedTuple):
    """What one device does in a sum."""

    messages: float  # after each other
    link_bytes: float  # over its link, in one direction
    added_bytes: float
    sent: float  # messages in all; as many are received


class _LevelCost(NamedTuple):
    ns: float
    link_bytes: float
    busy_ns: float


# ---- where devices are


def level_children(topology: Topology, level: int, devices: int) -> int:
    """Children of the largest switch of the level that are in use."""
    in_use = -(-devices // topology.devices_below(level))
    return min(in_use, topology.levels[level].children)


def level_links(topology: Topology, level: int, devices: int) -> int:
    """Links of the level in use. A last switch with one child passes nothing on."""
    in_use = -(-devices // topology.devices_below(level))
    children = topology.levels[level].children
    return in_use - (children == 1 or in_use % children == 1)


def core_load(topology: Topology, devices: int) -> float:
    """Devices of the fullest machine to each of its cores; 0 where cores do not count."""
    return max(min(devices, topology.devices_below(i + 1)) / level.cores for i, level in enumerate(topology.levels))


def common_level(topology: Topology, a: int, b: int) -> int:
    """The lowest level whose switch has both devices below it."""
    for level in range(len(topology.levels) - 1):
        below = topology.devices_below(level + 1)
        if a // below == b // below:
            return level
    return len(topology.levels) - 1


# ---- one level


def _work_of(collective: str, p: float, m: float) -> _Work:
    """A sum over p children, of m bytes each."""
    steps, share = float(ceil(log2(p))), (p - 1) / p * m
    if collective == "direct":  # all to all, then all gather: everything is under way at once
        return _Work(2, 2 * share, share, 2 * (p - 1))
    if collective == "tree":  # binomial: to the root and back
        return _Work(2 * steps, 2 * steps * m, steps * m, 2 * steps)
    if collective == "halving":  # those beyond a power of two add in first, and are told last
        if steps > log2(p):
            return _Work(2 * steps, 2 * share + 2 * m, share + m, 2 * steps)
        return _Work(2 * steps, 2 * share, share, 2 * steps)
    return _Work(2 * (p - 1), 2 * share, share, 2 * (p - 1))  # a ring


def link_ns(level: Level, size: float) -> float:
    """What a message takes over a link, beside the latency. Linear between the sizes that are listed, and beyond the
    last one as between the last two."""
    if not level.messages:
        return 1e9 * size / level.bytes_per_second
    i = 1
    while i < len(level.messages) - 1 and size > level.messages[i][0]:
        i += 1
    (low_size, low_ns), (high_size, high_ns) = level.messages[i - 1], level.messages[i]
    return low_ns - level.latency_ns + (high_ns - low_ns) / (high_size - low_size) * (size - low_size)


def _equal_ns(level: Level, messages: float, link_bytes: float) -> float:
    """So many messages of one size after each other."""
    return messages * link_ns(level, link_bytes / messages)


def _halving_ns(level: Level, p: float, m: float) -> float:
    """A half, a quarter, ... there and back; the last one has what is left."""
    steps = floor(log2(p))
    ns = 2 * link_ns(level, m) if steps < log2(p) else 0.0
    rest, piece = (p - 1) / p * m, m / 2
    for _ in range(1, steps):
        ns += 2 * link_ns(level, piece)
        rest -= piece
        piece /= 2
    return ns + 2 * link_ns(level, rest)


def _wire_ns(level: Level, ns: float, link_bytes: float, children: float) -> float:
    """By the link or by the switch, whichever takes longer."""
    return max(ns, 1e9 * children * link_bytes / level.switch_bytes_per_second)


def _additions_ns(topology: Topology, added: float, element_bytes: float) -> float:
    return 1e9 * max(added / element_bytes / topology.flops, 3 * added / topology.memory_bytes_per_second)


def _turns_ns(level: Level, load: float, sent: float, link_bytes: float) -> float:
    """What a device waits until those that it shares its core with have sent and received as much. Its own part is in
    what the link takes."""
    return max(0.0, load - 1) * (sent * level.cpu_ns_per_message + link_bytes * level.cpu_ns_per_byte)


# ---- collectives


def _level_cost(
    topology: Topology,
    level: Level,
    collective: str,
    p: float,
    size: float,
    share: float,
    element_bytes: float,
    load: float,
) -> _LevelCost:
    """`share`: of the bytes, what each device sends and adds up here."""
    if collective == "best":
        costs = [
            _level_cost(topology, level, kind, p, size, share, element_bytes, load)
            for kind in ("ring", "tree", "halving")
        ]
        return min(costs, key=lambda cost: cost.ns)
    work = _work_of(collective, p, size)
    ns = _halving_ns(level, p, size) if collective == "halving" else _equal_ns(level, work.messages, work.link_bytes)
    busy_ns = _wire_ns(level, ns, work.link_bytes, p)
    total_ns = (
        work.messages * level.latency_ns
        + busy_ns
        + _turns_ns(level, load, work.sent, work.link_bytes * share)
        + _additions_ns(topology, work.added_bytes * share, element_bytes)
    )
    return _LevelCost(total_ns, work.link_bytes, busy_ns)


def _add_levels(topology: Topology, devices: int, size: float, element_bytes: float, cost: Cost) -> None:
    """Level by level: a share of the array is summed on each, so that every link carries the array about once each
    way."""
    load = core_load(topology, devices)
    share = 1.0  # of one device: what the levels below have left to it
    for i, level in enumerate(topology.levels):
        p = float(level_children(topology, i, devices))
        if p >= 2:
            its = _level_cost(topology, level, level.collective, p, size, share, element_bytes, load)
            cost.link_bytes[i], cost.busy_ns[i] = its.link_bytes, its.busy_ns
            cost.ns += its.ns
            share /= p


def _add_flat(topology: Topology, devices: int, size: float, element_bytes: float, cost: Cost) -> None:
    """One ring, or everybody with everybody, over all levels at once."""
    n = float(devices)
    work = _work_of(topology.collective, n, size)
    load = core_load(topology, devices)
    latency_ns = slowest_ns = most_turns_ns = 0.0
    for i, level in enumerate(topology.levels):
        p = float(level_children(topology, i, devices))
        inside = min(float(topology.devices_below(i)), n)
        if p < 2:
            continue
        is_direct = topology.collective == "direct"
        cost.link_bytes[i] = 2 * inside * (n - inside) * size / n if is_direct else work.link_bytes
        cost.busy_ns[i] = _wire_ns(level, _equal_ns(level, work.messages, cost.link_bytes[i]), cost.link_bytes[i], p)
        latency_ns = max(latency_ns, level.latency_ns)
        slowest_ns = max(slowest_ns, cost.busy_ns[i])
        most_turns_ns = max(most_turns_ns, _turns_ns(level, load, work.sent, work.link_bytes))
    cost.ns += (
        work.messages * latency_ns
        + slowest_ns
        + most_turns_ns
        + _additions_ns(topology, work.added_bytes, element_bytes)
    )


def _no_cost(topology: Topology) -> Cost:
    return Cost(0.0, [0.0] * len(topology.levels), [0.0] * len(topology.levels))


def all_reduce_cost(topology: Topology, devices: int, size: float, element_bytes: float) -> Cost:
    """Every device gets the sum of all arrays, of `size` bytes each. Not for "copies", which are replayed one by
    one."""
    cost = _no_cost(topology)
    if devices < 2 or size <= 0:
        return cost
    if topology.collective == "hierarchical":
        _add_levels(topology, devices, size, element_bytes, cost)
    else:
        _add_flat(topology, devices, size, element_bytes, cost)
    cost.ns += topology.launch_ns
    return cost


def exchange_cost(topology: Topology, devices: int, size: float) -> Cost:
    """Something else that all take part in, with so many bytes over each link: a broadcast, values that are
    gathered."""
    cost = _no_cost(topology)
    load = core_load(topology, devices)
    latency_ns = slowest_ns = most_turns_ns = 0.0
    for i, level in enumerate(topology.levels):
        p = float(level_children(topology, i, devices))
        if p < 2:
            continue
        cost.link_bytes[i] = size
        cost.busy_ns[i] = _wire_ns(level, link_ns(level, size), size, p)
        latency_ns = max(latency_ns, level.latency_ns)
        slowest_ns = max(slowest_ns, cost.busy_ns[i])
        most_turns_ns = max(most_turns_ns, _turns_ns(level, load, 1, size))
    cost.ns = latency_ns + slowest_ns + most_turns_ns
    return cost


# ---- as simulated devices do it


def copies_cost(topology: Topology, devices: int, size: float, small_bytes: int) -> Cost:
    """What goes over the links where each device's share goes to its owner, and comes back as a sum; of small arrays
    the first device owns all. Its time is not told."""
    cost = _no_cost(topology)
    inside, n = 1.0, float(devices)
    for i, level in enumerate(topology.levels):
        if size <= small_bytes:
            cost.link_bytes[i] = (max(0.0, n - inside) if i else n - 1) * size
        else:
            cost.link_bytes[i] = 2 * (inside * (n - inside) if inside < n else 0.0) * size / n
        cost.busy_ns[i] = link_ns(level, cost.link_bytes[i])
        inside *= level.children
    return cost


def copy_ns(topology: Topology, level: int, size: float) -> int:
    """A copy between two devices; whole nanoseconds, as simulated devices count."""
    return int(topology.levels[level].latency_ns + link_ns(topology.levels[level], size))


def sum_ns(topology: Topology, inputs: int, elements: float, size: float) -> int:
    """A sum of `inputs` arrays into one."""
    return int(
        topology.launch_ns
        + 1e9 * max(elements * (inputs - 1) / topology.flops, size * (inputs + 1) / topology.memory_bytes_per_second)
    )
