"""Replays a recording on many devices with a virtual clock.

Everything that ends at one moment does so before anything is begun in it. What is ready in a queue goes in the order of
the recorded calls, sums between devices first. Accelerators' queues are given a few calls ahead of time. That is what
the engine does.

Nodes of process p are p * scenario.node_count + node; behind them come those of exchanges. There may be millions, so
what is known of them lies in lists of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from costs import core_load
from exchanges import Exchanges, count_nodes, make_exchanges
from jitter import factor
from scenario import CALL, Scenario
from topology import Topology

MOST_NODES = 1 << 24
MOST_COPIES_DEVICES = 64  # whose sums are replayed copy by copy
_MOST_NS = 1e17  # of a call: times from outside may be anything

# How many calls an accelerator's queue is given ahead, and how many of those that are short.
_AHEAD_CALLS, _AHEAD_SHORT_CALLS, _AHEAD_NS = 2, 64, 100000
_LATER = 1 << 62  # in the order of what is no exchange


@dataclass
class Process:
    """Processes that do the same at the same time are replayed once."""

    number: int  # of the first of them
    count: int
    factors: list[float]  # of the time that computing takes, by recorded device


@dataclass
class Plan:
    scenario: Scenario
    topology: Topology
    devices: int
    processes: list[Process]
    share: float = 1  # of the recorded batch; 1 in weak scaling
    jitter: float = 0
    seed: int = 0

    @property
    def process_count(self) -> int:
        return len(self.processes)

    @property
    def device_count(self) -> int:
        """Of those that are replayed."""
        return len(self.processes) * self.scenario.device_count

    @property
    def has_copies(self) -> bool:
        return self.topology.collective == "copies"

    def count_nodes(self) -> int:
        """Nodes and queues that a replay would have; above MOST_NODES it is not to be run."""
        per_process = self.scenario.node_count + len(self.scenario.queues)
        return self.process_count * per_process + int(count_nodes(self))


@dataclass
class Replay:
    """What happened."""

    plan: Plan
    exchanges: Exchanges
    start_ns: list[int]
    end_ns: list[int]
    cause: list[int]  # the node whose end let this one begin; -1: none
    is_stuck: bool  # some wait for each other: the rest means nothing

    @property
    def first_exchange(self) -> int:
        return self.exchanges.first


def durations(plan: Plan, process: Process) -> list[int]:
    """What each node takes on the devices of a process."""
    scenario, topology = plan.scenario, plan.topology
    crowding = max(1.0, topology.cores * core_load(topology, plan.devices))
    result = list(scenario.duration_ns)
    for node, kind in enumerate(scenario.kind):
        if kind != CALL or not scenario.queues[scenario.queue[node]].is_compute:
            continue
        ns = float(result[node])
        if scenario.is_scaled[node] and plan.share < 1:  # what launching takes is not divided
            ns = min(ns, topology.launch_ns) + max(0.0, ns - topology.launch_ns) * plan.share
        device = scenario.device[node]
        ns *= process.factors[device] / topology.speed
        ns *= crowding
        if plan.jitter > 0:
            ns *= factor(plan.jitter, plan.seed, process.number * scenario.device_count + device, node)
        result[node] = int(min(ns, _MOST_NS))
    return result


class _Clock:
    """The state of a replay. Entries of heaps are numbers: a time, or a place in an order, times the number of nodes,
    plus the node."""

    def __init__(self, plan: Plan):
        scenario, count = plan.scenario, plan.process_count
        exchanges = self.exchanges = make_exchanges(plan)
        own = len(scenario.queues)
        self.per_process, self.after = scenario.node_count, scenario.after
        self.node_count = exchanges.first + len(exchanges.nodes)
        # By node:
        queue_numbers = list(range(count * own + exchanges.queue_count))
        self.queue = [
            queue_numbers[process * own + queue] if queue >= 0 else -1
            for process in range(count)
            for queue in scenario.queue
        ]
        self.queue += [exchange.queue for exchange in exchanges.nodes]
        self.duration_ns: list[int] = []
        for process in plan.processes:
            self.duration_ns += durations(plan, process)
        self.duration_ns += [exchange.duration_ns for exchange in exchanges.nodes]
        self.order = [_LATER + call for call in scenario.call]  # of one process
        self.pending = scenario.before_count * count + [0] * len(exchanges.nodes)
        self.after_exchange: dict[int, list[int]] = {}  # of nodes before and in exchanges: what waits for them
        for before, after in exchanges.edges:
            self.after_exchange.setdefault(before, []).append(after)
            self.pending[after] += 1
        self.start_ns, self.end_ns = [0] * self.node_count, [0] * self.node_count
        self.cause = [-1] * self.node_count
        self.is_short = [False] * self.node_count  # it was begun when it was about to end
        # By queue:
        queues = scenario.queues * count
        self.has_copies = exchanges.queue_count > 1
        self.capacity = [queue.capacity for queue in queues] + [1] * exchanges.queue_count
        self.is_ahead = [queue.is_accelerator for queue in queues] + [self.has_copies] * exchanges.queue_count
        self.ready: list[list[int]] = [[] for _ in self.capacity]
        self.running = [0] * len(self.capacity)
        self.free_ns = [0] * len(self.capacity)  # reserved until then
        self.last = [-1] * len(self.capacity)  # the node that had it last
        self.is_dirty = [False] * len(self.capacity)
        self.dirty: list[int] = []  # queues that may begin something
        self.ends: list[int] = []  # a heap
        self.ended: list[int] = []  # a stack
        self.now_ns = 0
        self.done_count = 0

    def make_dirty(self, queue: int) -> None:
        if not self.is_dirty[queue]:
            self.is_dirty[queue] = True
            self.dirty.append(queue)

    def get_ready(self, node: int) -> None:
        start_ns = self.start_ns[node] = max(self.start_ns[node], self.now_ns)
        end_ns = self.end_ns[node] = start_ns + self.duration_ns[node]
        queue = self.queue[node]
        if queue >= 0:
            first = self.exchanges.first
            order = self.order[node % self.per_process] if node < first else self.exchanges.nodes[node - first].order
            heappush(self.ready[queue], order * self.node_count + node)
            self.make_dirty(queue)
        elif end_ns > self.now_ns:
            heappush(self.ends, end_ns * self.node_count + node)
        else:
            self.ended.append(node)

    def satisfy(self, node: int, cause: int, end_ns: int) -> None:
        """One of those that the node follows has ended, or has been begun and will have ended at that time."""
        if end_ns >= self.start_ns[node]:
            self.start_ns[node] = end_ns
            self.cause[node] = cause
        self.pending[node] -= 1
        if self.pending[node] == 0:
            self.get_ready(node)

    def may_follow(self, node: int, after: int) -> bool:
        """Whether a node may be begun behind another that has been, and has not ended: in the same queue, or about to
        end."""
        queue, following = self.queue[node], self.queue[after]
        if following < 0 or not self.is_ahead[following]:
            return False
        return queue == following or (self.is_short[node] and after < self.exchanges.first)

    def let_follow(self, node: int, is_ended: bool) -> None:
        """Satisfies those behind the node that may follow it when it begins; is_ended: when it has ended."""
        followers = self.after_exchange.get(node, ())
        if node < self.exchanges.first:
            index = node % self.per_process
            base = node - index
            followers = [base + after for after in self.after[index]] + list(followers)
        queue, end_ns = self.queue[node], self.end_ns[node]
        may_be_ahead = queue >= 0 and self.is_ahead[queue]
        for after in followers:
            if (may_be_ahead and self.may_follow(node, after)) != is_ended:
                self.satisfy(after, node, end_ns)

    def end_all(self) -> None:
        """All that ends let begin, and what that ends at once."""
        while self.ended:
            self.let_follow(self.ended.pop(), True)
            self.done_count += 1

    def has_room(self, queue: int) -> bool:
        running = self.running[queue]
        if not self.is_ahead[queue]:
            return running < self.capacity[queue]
        return running < _AHEAD_CALLS or (
            running < _AHEAD_SHORT_CALLS and self.free_ns[queue] - self.now_ns < _AHEAD_NS
        )

    def wait_for(self, node: int, queue: int) -> None:
        if self.free_ns[queue] > self.start_ns[node]:
            self.start_ns[node] = self.free_ns[queue]
            self.cause[node] = self.last[queue]

    def begin(self, queue: int, node: int) -> None:
        if self.now_ns > self.start_ns[node]:  # others were in its way
            self.start_ns[node] = self.now_ns
            if self.last[queue] >= 0:
                self.cause[node] = self.last[queue]
        also = -1 if node < self.exchanges.first else self.exchanges.nodes[node - self.exchanges.first].also
        if self.capacity[queue] == 1:
            self.wait_for(node, queue)
        if also >= 0:
            self.wait_for(node, also)
        end_ns = self.end_ns[node] = self.start_ns[node] + self.duration_ns[node]
        self.is_short[node] = end_ns - self.now_ns < _AHEAD_NS
        self.running[queue] += 1
        if self.capacity[queue] == 1:
            self.free_ns[queue], self.last[queue] = end_ns, node
        if also >= 0:
            self.free_ns[also], self.last[also] = end_ns, node
        heappush(self.ends, end_ns * self.node_count + node)
        if self.is_ahead[queue]:
            self.let_follow(node, False)

    def dispatch(self, queue: int) -> None:
        """What is ready in the queue begins while there is room."""
        self.is_dirty[queue] = False
        ready = self.ready[queue]
        while ready and self.has_room(queue):
            self.begin(queue, heappop(ready) % self.node_count)

    def dispatch_all(self) -> None:
        while self.dirty:
            best = 0
            if self.has_copies:  # they take two queues at once: at one moment the lowest goes first, everywhere
                entries = [self.ready[queue] for queue in self.dirty]
                best = min(range(len(entries)), key=lambda i: entries[i][0] if entries[i] else 1 << 200)
            queue = self.dirty[best]
            self.dirty[best] = self.dirty[-1]
            self.dirty.pop()
            self.dispatch(queue)

    def finish(self, node: int) -> None:
        queue = self.queue[node]
        if queue >= 0:
            self.running[queue] -= 1
            if self.capacity[queue] > 1:
                self.last[queue] = node
            self.make_dirty(queue)
        self.ended.append(node)

    def run(self) -> None:
        for node in [node for node, count in enumerate(self.pending) if count == 0]:
            self.get_ready(node)
        self.end_all()
        self.dispatch_all()
        while self.ends:
            self.now_ns = self.ends[0] // self.node_count
            beyond = (self.now_ns + 1) * self.node_count
            while self.ends and self.ends[0] < beyond:
                self.finish(heappop(self.ends) % self.node_count)
                self.end_all()
            self.dispatch_all()


def run_replay(plan: Plan) -> Replay:
    clock = _Clock(plan)
    clock.run()
    return Replay(plan, clock.exchanges, clock.start_ns, clock.end_ns, clock.cause, clock.done_count < clock.node_count)
