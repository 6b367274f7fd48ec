"""What a replay tells of a step: how busy devices were, what went over the links, what had to follow what."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from costs import all_reduce_cost, copies_cost, exchange_cost, level_links
from replay import Replay
from scenario import CALL, PROGRAM

MOST_PATH_PARTS = 6
MOST_SLOWEST = 5


class Step(NamedTuple):
    number: int
    begin_ns: int
    end_ns: int

    @property
    def ns(self) -> int:
        return self.end_ns - self.begin_ns


class PathPart(NamedTuple):
    """A part of the critical path."""

    name: str
    ns: int


@dataclass
class LevelUse:
    """What a step makes of one level of the topology."""

    name: str
    links: int  # in use
    link_bytes: float  # over the busiest link, in one direction
    total_bytes: float  # over all links, in one direction
    busy: float  # share of the step in which the busiest link carries something


@dataclass
class Measures:
    step: Step
    bubble: float  # share of the step in which a device computes nothing, mean over devices
    slowest: list[tuple[int, int]]  # devices that compute for the longest, and how long
    exchange_ns: int  # time in which something is exchanged between devices
    hidden_ns: int  # of that, while the first device computes
    sum_count: int  # exchanges in the step
    sum_bytes: float  # that each device gives to them
    levels: list[LevelUse]
    path: list[PathPart]  # the longest parts
    path_rest_ns: int  # of all others
    path_nodes: int


# ---- the step


def _ending_nodes(replay: Replay) -> dict[int, list[int]]:
    """By step, the nodes of one process whose end is the step's."""
    scenario = replay.plan.scenario
    result: dict[int, list[int]] = defaultdict(list)
    for node, kind in enumerate(scenario.kind):
        call = scenario.call[node]
        if kind == CALL and (scenario.recording.calls[call].is_update or not scenario.steps.has_updates):
            result[scenario.steps.of_call[call]].append(node)
    return result


def find_step(replay: Replay) -> Step:
    """The step that a replay is judged by: the median one of those after the first."""
    scenario, steps = replay.plan.scenario, []
    nodes = _ending_nodes(replay)
    before_ns = 0
    for number in range(scenario.steps.count):
        bases = range(0, replay.first_exchange, scenario.node_count)
        end_ns = max((replay.end_ns[base + node] for base in bases for node in nodes[number]), default=0)
        steps.append(Step(number, min(before_ns, end_ns), end_ns))
        before_ns = end_ns
    if len(steps) == 1:
        return steps[0]
    later = sorted(steps[1:], key=lambda step: (step.ns, step.number))
    return later[(len(steps) - 2) // 2]


# ---- how busy devices are


def computing_nodes(replay: Replay) -> list[tuple[int, int]]:
    """Nodes that keep a device computing, each with the device, counted over all that are replayed."""
    scenario, found = replay.plan.scenario, []
    devices = [queue.device_index if queue.is_compute else -1 for queue in scenario.queues]
    nodes = [(node, devices[scenario.queue[node]]) for node, kind in enumerate(scenario.kind) if kind == CALL]
    nodes = [(node, device) for node, device in nodes if device >= 0]
    for process in range(replay.plan.process_count):
        base, first = process * scenario.node_count, process * scenario.device_count
        found += [(base + node, first + device) for node, device in nodes]
    for i, exchange in enumerate(replay.exchanges.nodes):  # additions of sums that are made of copies
        process, queue = divmod(exchange.queue, len(scenario.queues))
        if process < replay.plan.process_count and devices[queue] >= 0:
            found.append((replay.first_exchange + i, process * scenario.device_count + devices[queue]))
    return found


def _measure_devices(replay: Replay, step: Step) -> tuple[float, list[tuple[int, int]]]:
    """The bubble and the slowest devices."""
    scenario, plan = replay.plan.scenario, replay.plan
    busy_ns = [0.0] * plan.device_count
    for node, device in computing_nodes(replay):
        inside = min(replay.end_ns[node], step.end_ns) - max(replay.start_ns[node], step.begin_ns)
        if inside > 0:
            busy_ns[device] += inside
    idle, devices = 0.0, []
    for i, ns in enumerate(busy_ns):
        number, device = divmod(i, scenario.device_count)
        process = plan.processes[number]
        ns /= scenario.queues[scenario.compute_queues[device]].capacity
        idle += process.count * (1 - ns / step.ns) if step.ns > 0 else 0.0
        devices.append((process.number * scenario.device_count + device, int(min(ns, 4e18))))
    devices.sort(key=lambda device: -device[1])
    return idle / plan.devices, devices[:MOST_SLOWEST]


# ---- exchanges


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of time that overlap, or touch, become one."""
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def _times_of(replay: Replay, step: Step, nodes: list[int]) -> list[tuple[int, int]]:
    """When any of the nodes runs, in the step."""
    spans = [(max(replay.start_ns[node], step.begin_ns), min(replay.end_ns[node], step.end_ns)) for node in nodes]
    return _joined([(begin, end) for begin, end in spans if begin < end])


def _measure_overlap(replay: Replay, step: Step) -> tuple[int, int]:
    """Time of exchanges, and what of it the first device's computing hides."""
    exchanges = _times_of(replay, step, list(range(replay.first_exchange, len(replay.start_ns))))
    own = [node for node, device in computing_nodes(replay) if device == 0 and node < replay.plan.scenario.node_count]
    computing = _times_of(replay, step, own)
    hidden_ns = i = j = 0
    while i < len(exchanges) and j < len(computing):
        (a, b), (c, d) = exchanges[i], computing[j]
        hidden_ns += max(0, min(b, d) - max(a, c))
        if b < d:
            i += 1
        else:
            j += 1
    return sum(end - begin for begin, end in exchanges), hidden_ns


def _measure_levels(replay: Replay, step: Step) -> tuple[int, float, list[LevelUse]]:
    """How many exchanges the step has, their bytes, and what they make of each level."""
    plan, topology = replay.plan, replay.plan.topology
    levels = [
        LevelUse(level.name, level_links(topology, i, plan.devices), 0.0, 0.0, 0.0)
        for i, level in enumerate(topology.levels)
    ]
    count, total = 0, 0.0
    for its in plan.scenario.sums:
        if its.step != step.number:
            continue
        if not its.is_sum:
            cost = exchange_cost(topology, plan.devices, its.bytes)
        elif plan.has_copies:
            cost = copies_cost(topology, plan.devices, its.bytes, plan.scenario.recording.sizes.small_bytes)
        else:
            cost = all_reduce_cost(topology, plan.devices, its.bytes, its.element_bytes)
        count += 1
        total += its.bytes
        for level, link_bytes, busy_ns in zip(levels, cost.link_bytes, cost.busy_ns):
            if plan.devices > 1:
                level.link_bytes += link_bytes
                level.busy += busy_ns
    for level in levels:
        level.total_bytes = level.link_bytes * level.links
        level.busy = level.busy / step.ns if step.ns else 0.0
    return count, total, levels


# ---- the critical path


def last_node(replay: Replay, step: int) -> int:
    """The node that ended the step; -1: none."""
    nodes, last = _ending_nodes(replay)[step], -1
    for base in range(0, replay.first_exchange, replay.plan.scenario.node_count):
        for node in nodes:
            if last < 0 or replay.end_ns[base + node] > replay.end_ns[last]:
                last = base + node
    return last


def _name_of(replay: Replay, node: int) -> str:
    scenario = replay.plan.scenario
    if node >= replay.first_exchange:
        return "(between devices)"
    node %= scenario.node_count
    if scenario.kind[node] == PROGRAM:
        return "(the program)"
    return scenario.recording.calls[scenario.call[node]].operation


def _measure_path(replay: Replay, step: Step) -> tuple[list[PathPart], int]:
    """From the node that ended the step back to its begin, each time to what let it begin. Equal names are one part."""
    parts: dict[str, int] = defaultdict(int)
    count, node = 0, last_node(replay, step.number)
    while node >= 0 and replay.end_ns[node] > step.begin_ns:
        ns = min(replay.end_ns[node], step.end_ns) - max(replay.start_ns[node], step.begin_ns)
        if ns > 0:
            parts[_name_of(replay, node)] += ns
            count += 1
        node = replay.cause[node]
    return sorted((PathPart(*part) for part in parts.items()), key=lambda part: (-part.ns, part.name)), count


def measure(replay: Replay) -> Measures:
    step = find_step(replay)
    bubble, slowest = _measure_devices(replay, step)
    exchange_ns, hidden_ns = _measure_overlap(replay, step)
    sum_count, sum_bytes, levels = _measure_levels(replay, step)
    path, path_nodes = _measure_path(replay, step)
    rest_ns = sum(part.ns for part in path[MOST_PATH_PARTS:])
    return Measures(
        step,
        bubble,
        slowest,
        exchange_ns,
        hidden_ns,
        sum_count,
        sum_bytes,
        levels,
        path[:MOST_PATH_PARTS],
        rest_ns,
        path_nodes,
    )
