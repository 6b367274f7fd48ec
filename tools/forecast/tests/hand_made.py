"""Recordings made by hand, whose steps are known to the nanosecond, and topologies for them."""

from __future__ import annotations

import json
from typing import Any

from forecasts import Asked, Forecast, make_forecast
from recording import Call, Queue, Recording
from topology import Topology, parse_topology

SHAPES = "float32(1000,), float32(1000,) -> float32(1000,)"


def topology(**members: Any) -> Topology:
    return parse_topology(json.dumps({"hocket_topology": 1, **members}).encode())


def one_level(collective: str = "best", children: int = 4096, **level: Any) -> list[dict[str, Any]]:
    return [{"children": children, "bytes_per_second": 1e9, "collective": collective, **level}]


RING = topology(levels=one_level("ring", latency_ns=500))
"""A ring of two devices takes 2 * 500 ns, and 4 us for the 4 kB of SHAPES."""


class Maker:
    """Adds calls one behind the other. On one device with one queue unless others are given."""

    def __init__(self, queues: list[Queue] | None = None):
        self.recording = Recording("by hand", "0", queues=queues or [Queue("gpu:0", "compute", False)])

    def add(
        self,
        operation: str,
        ns: int,
        *after: int,
        queue: int = 0,
        shapes: str = SHAPES,
        size: int = 12000,
        is_collective: bool = False,
    ) -> int:
        calls = self.recording.calls
        start_ns = calls[-1].end_ns if calls else 0
        calls.append(
            Call(
                len(calls) + 1,
                operation,
                shapes,
                "",
                0,
                queue,
                size,
                0,
                start_ns,
                start_ns + ns,
                is_collective,
                operation.endswith("_backward"),
                operation.endswith("_update"),
                sorted({call for call in after if call >= 0}),
            )
        )
        return len(calls) - 1


def layers(count: int, steps: int) -> Recording:
    """Of so many layers: forward 1000 ns each, backward 2000, update 100."""
    maker = Maker()
    updates, backward = [-1] * count, [-1] * count
    for _ in range(steps):
        before = -1
        for i in range(count):
            before = maker.add("matmul", 1000, before, updates[i])
        for i in reversed(range(count)):
            before = backward[i] = maker.add("matmul_backward", 2000, before)
        for i in reversed(range(count)):
            updates[i] = maker.add("sgd_update", 100, backward[i])
    return maker.recording


def forecast(recording: Recording, on: Topology = RING, **asked: Any) -> Forecast:
    return make_forecast(recording, on, Asked(**asked))
