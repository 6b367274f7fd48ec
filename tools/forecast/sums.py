"""Finds which calls of a recording sum over devices.

A sum is recorded as the copies and additions that it was made of. Those that wait for each other belong together, and
so do parts of one array, which wait for the same calls."""

from __future__ import annotations

from dataclasses import dataclass

from recording import Call, Recording
from shapes import operands


@dataclass(slots=True)
class Sum:
    """A sum between devices, or another exchange that all take part in."""

    bytes: float  # of each device's array
    element_bytes: float
    is_sum: bool
    call: int  # its first, or the one it was put before
    step: int = 0


def _is_group(operation: str) -> bool:
    """Whether it is an exchange between processes."""
    return operation.startswith("group_")


def _part_bytes(call: Call) -> tuple[float, float | None]:
    """Of the array that the call handles a part of, which is its first operand; and of an element."""
    for operand in operands(call.shapes):
        return operand.bytes, operand.element_bytes
    return call.bytes / 2, None


def _written_bytes(call: Call) -> tuple[float, float | None]:
    """Of what an exchange between processes writes: all that it touches, but for what it only reads."""
    size, element_bytes = float(call.bytes), None
    for operand in operands(call.shapes):
        element_bytes = operand.element_bytes
        if operand.is_output:
            break
        size -= operand.bytes
    return max(size, 0.0), element_bytes


def _has_inputs(call: Call) -> bool:
    return any(not operand.is_output for operand, _ in zip(operands(call.shapes), range(1)))


def _find_sets(calls: list[Call], first: int, end: int) -> list[list[int]]:
    """The calls [first, end), in sets of those that wait for each other; by their first calls."""
    parent = list(range(first, end))

    def find(call: int) -> int:
        while parent[call - first] != call:
            parent[call - first] = parent[parent[call - first] - first]
            call = parent[call - first]
        return call

    for i in range(first, end):
        for before in calls[i].after:
            if before >= first:
                parent[find(before) - first] = find(i)
    sets: dict[int, list[int]] = {}
    for i in range(first, end):
        sets.setdefault(find(i), []).append(i)
    return list(sets.values())


@dataclass
class _Part:
    """A set of calls, as far as the next one is compared with it."""

    external: list[int]  # calls outside the run that it waits for, ascending
    owner: int  # queue that adds up
    bytes: float


class _Finder:
    def __init__(self, recording: Recording, worker_queues: set[int], device_count: int):
        self.calls, self.queues = recording.calls, recording.queues
        self.sizes = recording.sizes
        self.worker_queues, self.device_count = worker_queues, device_count
        self.sums: list[Sum] = []
        self.sum_of_call = [-1] * len(recording.calls)

    def is_copy(self, call: int) -> bool:
        return self.queues[self.calls[call].queue].is_copy

    def exchanged_bytes(self, members: list[int]) -> tuple[float, float | None]:
        """Of a sum over ranks: what the last exchange of each bucket writes, in the host's memory. On CPUs that is the
        array of each device. Buckets that share an array are one set. Where this rank's part has been summed in its
        place, the exchange names it as read and written, so that it counts twice: sums are the calls that have
        inputs."""
        inner = {before for i in members if not self.is_copy(i) for before in self.calls[i].after}
        total = summed = 0.0
        element_bytes, in_place = None, False
        for i in members:
            call = self.calls[i]
            is_inner, has_inputs = i in inner, _has_inputs(call)
            if self.is_copy(i) or (is_inner and not has_inputs):
                continue
            written, of_element = _written_bytes(call)
            element_bytes = of_element or element_bytes
            written /= self.device_count if call.queue in self.worker_queues else 1
            if is_inner:
                summed += written
            else:
                total += written
                in_place = in_place or not has_inputs
        return (total - summed if in_place else total), element_bytes

    def set_bytes(self, members: list[int]) -> tuple[float, float | None]:
        operation = self.calls[members[0]].operation
        if operation == "group_all_reduce":
            return self.exchanged_bytes(members)
        if _is_group(operation):
            return max(self.calls[i].bytes / 2 for i in members), None
        most, element_bytes = 0.0, None
        for i in members:
            size, of_element = _part_bytes(self.calls[i])
            element_bytes = of_element or element_bytes
            most = max(most, size)
        return most, element_bytes

    def owner_of(self, members: list[int]) -> int:
        """The queue of the first call that is no copy."""
        adds = (i for i in members if not self.is_copy(i))
        return self.calls[next(adds, members[0])].queue

    def is_next_part(self, part: _Part, before: _Part | None) -> bool:
        """Whether it is the next part of the array that the one before is a part of: parts are added up by one device
        after the other, each in chunks."""
        if before is None or not part.external or part.external != before.external:
            return False
        return part.owner > before.owner or (part.owner == before.owner and before.bytes >= self.sizes.chunk_bytes)

    def take_set(self, run: int, members: list[int], before: _Part | None) -> _Part:
        """The set becomes a sum, or a part of the one before. It is of a run of calls that begins with `run`."""
        operation = self.calls[members[0]].operation
        external = sorted({call for i in members for call in self.calls[i].after if call < run})
        size, element_bytes = self.set_bytes(members)
        part = _Part(external, self.owner_of(members), size)
        is_group = _is_group(operation)
        if (
            self.sums
            and not is_group
            and self.is_next_part(part, before)
            and self.calls[self.sums[-1].call].operation == operation
        ):
            self.sums[-1].bytes += size
        else:
            is_sum = not is_group or operation == "group_all_reduce"
            self.sums.append(Sum(size, element_bytes or 4.0, is_sum, members[0]))
        for i in members:
            self.sum_of_call[i] = len(self.sums) - 1
        return part

    def find(self) -> None:
        """Goes over runs of collective calls, with others before and behind them."""
        calls, first = self.calls, 0
        while first < len(calls):
            end = first
            while end < len(calls) and calls[end].is_collective:
                end += 1
            before = None
            for members in _find_sets(calls, first, end):
                before = self.take_set(first, members, before)
            first = max(end, first + 1)


def find_sums(recording: Recording, worker_queues: set[int], device_count: int) -> tuple[list[Sum], list[int]]:
    """The sums, and for each call of which one it is a part; -1: of none. worker_queues: of the devices that train."""
    finder = _Finder(recording, worker_queues, device_count)
    finder.find()
    return finder.sums, finder.sum_of_call
