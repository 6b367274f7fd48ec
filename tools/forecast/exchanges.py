"""Exchanges of a replay: what is between the parts of a sum and its results.

A sum is one activity of the network, which takes what the topology's model says. Or, where the topology says "copies",
it is made of copies and additions, as hk_all_reduce does it on simulated devices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from costs import all_reduce_cost, common_level, copy_ns, exchange_cost, sum_ns

if TYPE_CHECKING:
    from replay import Plan

ORDERS = 1 << 24  # activities of one sum, at most


class Exchange(NamedTuple):
    """A node of an exchange."""

    sum: int
    queue: int  # over all processes; behind theirs come those of exchanges alone
    also: int  # a second queue that it takes at once; -1: none
    duration_ns: int
    order: int  # among what is ready: lower ones first


@dataclass
class Exchanges:
    first: int  # node of the replay that the first one is
    queue_count: int  # of queues that are for exchanges alone
    nodes: list[Exchange] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)  # from and to nodes of the replay

    def add(self, node: Exchange) -> int:
        self.nodes.append(node)
        return self.first + len(self.nodes) - 1


def count_nodes(plan: Plan) -> float:
    """How many nodes exchanges have, at most."""
    nodes = 0.0
    for its in plan.scenario.sums:
        if plan.has_copies:
            chunks = its.bytes / plan.scenario.recording.sizes.chunk_bytes + 2
            nodes += (chunks + plan.device_count) * 2 * plan.device_count
        else:
            nodes += 1
    return min(nodes, 1e15)


def make_exchanges(plan: Plan) -> Exchanges:
    made = Exchanges(plan.process_count * plan.scenario.node_count, 1 + 2 * plan.device_count if plan.has_copies else 1)
    for number, its in enumerate(plan.scenario.sums):
        if its.step >= plan.scenario.steps.count:
            continue
        if plan.has_copies and its.is_sum and its.bytes >= 1 and plan.device_count > 1:
            _Copies(plan, made, number).add()
        else:
            _add_activity(plan, made, number)
    return made


def _nodes_of(plan: Plan, by_device: list[int]) -> list[int]:
    """Of all devices that are replayed."""
    return [process * plan.scenario.node_count + node for process in range(plan.process_count) for node in by_device]


def _add_activity(plan: Plan, made: Exchanges, number: int) -> None:
    its = plan.scenario.sums[number]
    if its.is_sum:
        cost = all_reduce_cost(plan.topology, plan.devices, its.bytes, its.element_bytes)
    else:
        cost = exchange_cost(plan.topology, plan.devices, its.bytes)
    queue = plan.process_count * len(plan.scenario.queues)
    node = made.add(Exchange(number, queue, -1, int(min(cost.ns, 1e17)), its.call * ORDERS))
    arrive, done = _nodes_of(plan, plan.scenario.arrive[number]), _nodes_of(plan, plan.scenario.done[number])
    for before, after in zip(arrive, done):
        made.edges.append((before, node))
        made.edges.append((node, after))


class _Copies:
    """One sum, copy by copy. Devices are counted over all processes."""

    def __init__(self, plan: Plan, made: Exchanges, number: int):
        self.plan, self.made, self.number = plan, made, number
        self.sum = plan.scenario.sums[number]
        self.order = self.sum.call * ORDERS
        self.arrive = _nodes_of(plan, plan.scenario.arrive[number])
        self.done = _nodes_of(plan, plan.scenario.done[number])

    def next_order(self) -> int:
        self.order += 1
        return self.order - 1

    def copy_queue(self, index: int, name: str) -> int:
        """A queue of the device that the recording has, by name; else one of the exchanges' own."""
        queues = self.plan.scenario.queues
        process, device = divmod(index, self.plan.scenario.device_count)
        for i, queue in enumerate(queues):
            if queue.is_copy and queue.device_index == device and queue.name == name:
                return process * len(queues) + i
        return self.plan.process_count * len(queues) + 1 + 2 * index + (name == "copy in")

    def add_copy(self, source: int, target: int, size: float) -> int:
        ns = copy_ns(self.plan.topology, common_level(self.plan.topology, source, target), size)
        queues = self.copy_queue(source, "copy out"), self.copy_queue(target, "copy in")
        return self.made.add(Exchange(self.number, *queues, ns, self.next_order()))

    def add_part(self, owner: int, size: float) -> None:
        """A part of the arrays: copies to its owner, which adds them up, and copies back."""
        scenario, edges = self.plan.scenario, self.made.edges
        count = self.plan.device_count
        copies = []
        for i in range(count):
            if i != owner:
                copies.append(self.add_copy(i, owner, size))
                edges.append((self.arrive[i], copies[-1]))
        process, device = divmod(owner, scenario.device_count)
        queue = process * len(scenario.queues) + scenario.compute_queues[device]
        ns = sum_ns(self.plan.topology, count, size / self.sum.element_bytes, size)
        added = self.made.add(Exchange(self.number, queue, -1, ns, self.next_order()))
        edges.extend((copy, added) for copy in copies)
        edges.append((self.arrive[owner], added))
        edges.append((added, self.done[owner]))
        for i in range(count):
            if i != owner:
                copy = self.add_copy(owner, i, size)
                edges.append((added, copy))
                edges.append((copy, self.done[i]))

    def add_chunks(self, owner: int, size: float) -> None:
        chunk_bytes = self.plan.scenario.recording.sizes.chunk_bytes
        while size > 0:
            self.add_part(owner, min(size, float(chunk_bytes)))
            size -= chunk_bytes

    def add(self) -> None:
        """Parts as hk_all_reduce cuts them: lines, divided evenly over the devices, the last one shorter."""
        sizes, count = self.plan.scenario.recording.sizes, self.plan.device_count
        size = int(self.sum.bytes)
        if size <= sizes.small_bytes:
            self.add_chunks(0, float(size))
            return
        each, longer = divmod(-(-size // sizes.line_bytes), count)
        for i in range(count):
            begin = (i * each + min(i, longer)) * sizes.line_bytes
            end = min(size, begin + (each + (i < longer)) * sizes.line_bytes)
            if end > begin:
                self.add_chunks(i, float(end - begin))
