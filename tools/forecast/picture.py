"""A forecast as a trace: the step on the first process and on the slowest device's, with the exchanges.

It is Chrome trace JSON in the form that recordings have, so that `hocket trace`, Perfetto and chrome://tracing read it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from errors import printable, shortened
from forecasts import Forecast
from quantities import in_percent, in_time
from recording import FIRST_TID, FORMAT
from scenario import CALL

_SHOWN_PROCESSES = 2
_NEAR = 64  # steps back to a call that is shown


@dataclass
class _Lane:
    """A row of the picture; also the queue of the same number."""

    process: str
    name: str
    is_copy: bool


@dataclass
class _Slice:
    call: int  # index of _Painter.nodes
    lane: int
    start_ns: int
    end_ns: int
    has_inner: bool = False  # another one lies in it
    arrows: list[tuple[str, int, int]] = field(default_factory=list)  # phase, time and number


class _Painter:
    def __init__(self, forecast: Forecast):
        self.forecast, self.replay = forecast, forecast.replay
        self.plan, self.scenario = forecast.replay.plan, forecast.scenario
        self.lanes: list[_Lane] = []
        self.lane_of_queue: dict[int, int] = {}  # of the queues of the replay that are shown
        self.nodes: list[int] = []  # shown, by start
        self.call_of_node: dict[int, int] = {}
        self._add_lanes()
        self._find_nodes()
        starts = [self.replay.start_ns[node] for node in self.nodes]
        self.begin_ns = starts[0] if starts else 0
        self.end_ns = max((self.replay.end_ns[node] for node in self.nodes), default=0)

    # ---- lanes

    def _add_lane(self, queue: int, process: str, name: str, is_copy: bool) -> None:
        self.lane_of_queue[queue] = len(self.lanes)
        self.lanes.append(_Lane(process, name, is_copy))

    def _shown_processes(self) -> list[int]:
        slowest = self.forecast.measures.slowest
        number = slowest[0][0] // self.scenario.device_count if slowest else 0
        others = [i for i, process in enumerate(self.plan.processes) if i and process.number == number]
        return [0, *others][:_SHOWN_PROCESSES]

    def _add_lanes(self) -> None:
        queues, devices = self.scenario.queues, self.scenario.device_count
        own = self.plan.process_count * len(queues)  # the first queue that is for exchanges alone
        self._add_lane(own, "between devices", "exchanges", True)
        for process in self._shown_processes():
            first = self.plan.processes[process].number * devices
            for i, queue in enumerate(queues):
                if queue.is_program:
                    continue
                name = f"device {first + queue.device_index}"
                if queue.device_index < 0:
                    name = f"{shortened(printable(queue.device), 30)} of {first}"
                self._add_lane(process * len(queues) + i, name, queue.name, queue.is_copy)
            for i in range(2 * devices if self.plan.has_copies else 0):  # a recording may have no queues for copies
                queue_number = own + 1 + 2 * (process * devices + i // 2) + i % 2
                self._add_lane(queue_number, f"device {first + i // 2}", "links in" if i % 2 else "links out", True)

    # ---- calls

    def _queue_of(self, node: int) -> int:
        if node >= self.replay.first_exchange:
            return self.replay.exchanges.nodes[node - self.replay.first_exchange].queue
        process, index = divmod(node, self.scenario.node_count)
        if self.scenario.kind[index] != CALL:
            return -1
        return process * len(self.scenario.queues) + self.scenario.queue[index]

    def _step_of(self, node: int) -> int:
        if node >= self.replay.first_exchange:
            return self.scenario.sums[self.replay.exchanges.nodes[node - self.replay.first_exchange].sum].step
        return self.scenario.steps.of_call[self.scenario.call[node % self.scenario.node_count]]

    def _find_nodes(self) -> None:
        step, replay, count = self.forecast.measures.step.number, self.replay, self.scenario.node_count
        candidates = list(range(replay.first_exchange, len(replay.start_ns)))
        for process in self._shown_processes():
            candidates += range(process * count, (process + 1) * count)
        self.nodes = [
            node for node in candidates if self._queue_of(node) in self.lane_of_queue and self._step_of(node) == step
        ]
        self.nodes.sort(key=lambda node: (replay.start_ns[node], replay.end_ns[node], node))
        self.call_of_node = {node: i for i, node in enumerate(self.nodes)}

    def _dependency_of(self, index: int) -> int:
        """The call shown that the call waited for, if it is near; -1: none."""
        node = self.nodes[index]
        for _ in range(_NEAR):
            node = self.replay.cause[node]
            if node < 0:
                break
            if node in self.call_of_node:
                before = self.call_of_node[node]
                return before if before < index else -1
        return -1

    def _call_event(self, its: _Slice) -> dict[str, Any]:
        """What the event of a slice says of its call."""
        node, calls = self.nodes[its.call], self.scenario.recording.calls
        start_ns, end_ns = (
            time_ns - self.begin_ns for time_ns in (self.replay.start_ns[node], self.replay.end_ns[node])
        )
        flags = []
        if node >= self.replay.first_exchange:
            summed = self.scenario.sums[self.replay.exchanges.nodes[node - self.replay.first_exchange].sum]
            call, size, shapes = calls[summed.call], int(min(summed.bytes, 1e15)), ""
            name = "all_reduce" if summed.is_sum else "exchange"
            flags.append("collective")
        else:
            call = calls[self.scenario.call[node % self.scenario.node_count]]
            size, shapes, name = call.bytes, call.shapes, call.operation
            is_flags = (("collective", call.is_collective), ("backward", call.is_backward), ("update", call.is_update))
            flags += [flag for flag, is_set in is_flags if is_set]
        before = self._dependency_of(its.call)
        args = {
            "sequence": its.call + 1,
            "shapes": shapes,
            "file": call.file,
            "line": call.line,
            "queue": its.lane,
            "bytes": size,
            "issue_ns": start_ns,
            "ready_ns": start_ns,
            "start_ns": start_ns,
            "end_ns": end_ns,
            **dict.fromkeys(flags, True),
            "after": [before + 1] if before >= 0 else [],
        }
        kinds = ["call", *(["copy"] if self.lanes[its.lane].is_copy else []), *(f for f in flags if f != "update")]
        return {"name": name, "cat": ",".join(kinds), "args": args}

    # ---- slices

    def _make_slices(self) -> list[_Slice]:
        """By lane, then start, the longest first, and so that none overlaps another in part."""
        slices = []
        for i, node in enumerate(self.nodes):
            start_ns, end_ns = (ns - self.begin_ns for ns in (self.replay.start_ns[node], self.replay.end_ns[node]))
            slices.append(_Slice(i, self.lane_of_queue[self._queue_of(node)], start_ns, end_ns))
        slices.sort(key=lambda its: (its.lane, its.start_ns, -its.end_ns, its.call))
        around: list[_Slice] = []  # those that the present one may lie in
        for its in slices:
            if around and around[-1].lane != its.lane:
                around = []
            while around and around[-1].end_ns < its.end_ns:
                around[-1].end_ns = min(around[-1].end_ns, its.start_ns)
                around.pop()
            around.append(its)
        for its, following in zip(slices, slices[1:]):
            its.has_inner = its.lane == following.lane and following.start_ns < its.end_ns
        return slices

    def _add_arrows(self, slices: list[_Slice]) -> None:
        """Dependencies, for viewers. They bind an arrow's end to the innermost slice at its time: that is the slice's
        start, or better its last nanosecond, where no slice inside it has begun by then."""
        slice_of = {its.call: its for its in slices}
        number = 0
        for target in sorted(slices, key=lambda its: its.call):
            before = self._dependency_of(target.call)
            if before < 0:
                continue
            number += 1
            source = slice_of[before]
            if source.start_ns > target.start_ns:
                continue
            is_last = not source.has_inner and source.start_ns != source.end_ns
            leaves_ns = source.end_ns - 1 if is_last else source.start_ns
            source.arrows.append(("s", leaves_ns if leaves_ns <= target.start_ns else source.start_ns, number))
            target.arrows.insert(0, ("f", target.start_ns, number))

    # ---- the whole

    def _title(self) -> str:
        forecast = self.forecast
        shares = [
            in_percent(int(min(1e6 * share, 1e18)), 1000000)
            for share in (forecast.efficiency, forecast.measures.bubble)
        ]
        return (
            f"forecast: {forecast.devices} devices on {forecast.topology.name}: {in_time(forecast.measures.step.ns)} "
            f"a step, efficiency {shares[0]}, bubble {shares[1]}"
        )

    def _name_events(self, pids: dict[str, int]) -> list[dict[str, Any]]:
        events = []
        for process, pid in pids.items():
            events.append({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": f"{process} (simulated)"}})
            events.append({"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid - 1}})
        for i, lane in enumerate(self.lanes):
            place = {"ph": "M", "pid": pids[lane.process], "tid": FIRST_TID + i}
            events.append({**place, "name": "thread_name", "args": {"name": lane.name}})
            events.append({**place, "name": "thread_sort_index", "args": {"sort_index": i}})
        return events

    def _slice_events(self, pids: dict[str, int]) -> list[dict[str, Any]]:
        events = []
        slices = self._make_slices()
        self._add_arrows(slices)
        for its in slices:
            place = {"pid": pids[self.lanes[its.lane].process], "tid": FIRST_TID + its.lane}
            dur = (its.end_ns - its.start_ns) / 1000
            events.append({"ph": "X", **place, "ts": its.start_ns / 1000, "dur": dur, **self._call_event(its)})
            for phase, ns, number in its.arrows:
                arrow = {"ph": phase, **place, "ts": ns / 1000, "id": number, "name": "dependency", "cat": "dependency"}
                events.append({**arrow, "bp": "e"} if phase == "f" else arrow)
        return events

    def text(self) -> str:
        queues = [
            {"simulated": True, "copy": lane.is_copy, "device": lane.process, "name": lane.name} for lane in self.lanes
        ]
        lanes = [{"simulated": True, "process": lane.process, "name": lane.name} for lane in self.lanes]
        other = {
            "hocket": self.scenario.recording.version,
            "format": FORMAT,
            "title": self._title(),
            "duration_ns": self.end_ns - self.begin_ns,
            "lost_records": 0,
            "limit_bytes": 0,
            "queues": queues,
            "lanes": lanes,
            "counters": [],
        }
        pids: dict[str, int] = {}
        for lane in self.lanes:
            pids.setdefault(lane.process, len(pids) + 1)
        events = self._name_events(pids) + self._slice_events(pids)
        lines = ",\n".join(_compact(event) for event in events)
        return f'{{"displayTimeUnit":"ns",\n"otherData":{_compact(other)},\n"traceEvents":[\n{lines}\n]}}\n'


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def draw(forecast: Forecast) -> str:
    """The trace, as the text of a file."""
    return _Painter(forecast).text()
