"""A recording made ready for replay: what one process of the run did, with its sums between devices taken out and
named.

Nodes take a time in a queue, or none; edges say what must end before what begins. For each call there is a node of the
program, which makes the call, and one of the device, which computes it. Of each sum there are two nodes for each
device: one that begins when the device's part is there, and one that ends when its sum has come. What is between those
is the replay's."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from errors import BadFile
from quantities import in_percent
from recording import Call, Recording
from shapes import gradient, makes
from steps import Steps, find_steps
from sums import Sum, find_sums

PROGRAM, CALL, ARRIVE, DONE = range(4)  # kinds of nodes


@dataclass
class ReplayQueue:
    device: str
    name: str
    device_index: int  # of the recorded devices that train; -1: the host's
    capacity: int = 1  # calls that run at once
    is_compute: bool = False  # of a device that trains, and not for copies
    is_copy: bool = False
    is_program: bool = False  # the thread that makes the calls
    is_accelerator: bool = False


def is_cpu(device: str) -> bool:
    return device == "cpu" or device.startswith("cpu:")


class Scenario:
    """Nodes are numbers; what is known of them lies in lists. Those of one process, of which there may be many."""

    def __init__(self, recording: Recording, bucket_bytes: float):
        _refuse_useless(recording)
        self.recording = recording
        self.steps: Steps = find_steps(recording)
        devices = _find_devices(recording)
        self.device_count = len(devices)
        self.queues = _make_queues(recording, devices)
        self.compute_queues = [0] * self.device_count  # by device
        for i in reversed(range(len(self.queues))):
            if self.queues[i].is_compute:
                self.compute_queues[self.queues[i].device_index] = i
        _refuse_captured(recording, self.queues)
        workers = {i for i, queue in enumerate(self.queues) if queue.device_index >= 0}
        self.sums, self.sum_of_call = find_sums(recording, workers, self.device_count)
        self.sum_before: dict[int, int] = {}  # by update: the sum that was put before it
        if not self.sums and self.device_count == 1:
            self._insert_sums(bucket_bytes)
        # By node:
        self.kind: list[int] = []
        self.call: list[int] = []  # of a sum, its first
        self.queue: list[int] = []  # -1: takes no time
        self.device: list[int] = []  # -1: the host's
        self.is_scaled: list[bool] = []  # strong scaling: its time is that of its share of the batch
        self.duration_ns: list[int] = []
        self.after: list[list[int]] = []  # what waits for it
        self.before_count: list[int] = []  # how much it waits for
        # Nodes by sum and device; empty for sums after the last step.
        self.arrive: list[list[int]] = []
        self.done: list[list[int]] = []
        self._program_of_call: dict[int, int] = {}
        self._run_of_call: dict[int, int] = {}
        self._add_calls()
        self._add_sums()
        self._add_program()
        self._link_all()

    @property
    def node_count(self) -> int:
        return len(self.kind)

    def is_in_steps(self, call: int) -> bool:
        return self.steps.of_call[call] < self.steps.count

    # ---- sums that were not recorded: one device has none

    def _insert_sums(self, bucket_bytes: float) -> None:
        for i, call in enumerate(self.recording.calls):
            if not call.is_update or not self.is_in_steps(i):
                continue
            summed = gradient(call.shapes)
            size, element_bytes = (summed.bytes, summed.element_bytes) if summed else (call.bytes / 3, 4.0)
            step = self.steps.of_call[i]
            if self.sums and self.sums[-1].step == step and self.sums[-1].bytes + size <= bucket_bytes:
                self.sums[-1].bytes += size
            else:
                self.sums.append(Sum(size, element_bytes, True, i, step))
            self.sum_before[i] = len(self.sums) - 1

    # ---- nodes

    def _add_node(
        self, kind: int, call: int, queue: int, device: int, duration_ns: int = 0, is_scaled: bool = False
    ) -> int:
        self.kind.append(kind)
        self.call.append(call)
        self.queue.append(queue)
        self.device.append(device)
        self.duration_ns.append(duration_ns)
        self.is_scaled.append(is_scaled)
        self.after.append([])
        self.before_count.append(0)
        return len(self.kind) - 1

    def _add_edge(self, before: int, after: int) -> None:
        self.after[before].append(after)
        self.before_count[after] += 1

    def _add_calls(self) -> None:
        for i, call in enumerate(self.recording.calls):
            if self.sum_of_call[i] < 0 and self.is_in_steps(i):
                is_scaled = self.queues[call.queue].is_compute and not call.is_update
                self._run_of_call[i] = self._add_node(
                    CALL, i, call.queue, self._device_of(i), call.end_ns - call.start_ns, is_scaled
                )

    def _add_sums(self) -> None:
        for its in self.sums:
            its.step = self.steps.of_call[its.call]
            self.arrive.append([])
            self.done.append([])
            if its.step < self.steps.count:
                for device in range(self.device_count):
                    self.arrive[-1].append(self._add_node(ARRIVE, its.call, -1, device))
                    self.done[-1].append(self._add_node(DONE, its.call, -1, device))

    def _add_program(self) -> None:
        """The program makes its calls with the recorded time between them, and waits where it waited."""
        wait, before = 0, -1
        program = len(self.queues) - 1
        for i in range(len(self.recording.calls)):
            if not self.is_in_steps(i):
                continue
            node = self._add_node(PROGRAM, i, program, -1)
            self.duration_ns[node], wait = self._program_ns(i, wait, node)
            if before >= 0:
                self._add_edge(before, node)
            self._program_of_call[i] = before = node

    def _program_ns(self, call: int, wait: int, node: int) -> tuple[int, int]:
        """Time between two calls in which the program did not wait for others; and the next wait after the call."""
        calls, waits = self.recording.calls, self.recording.waits
        begin_ns = calls[call - 1].issue_ns if call else 0
        end_ns = calls[call].issue_ns
        gap_ns = end_ns - begin_ns if call else 0
        waited_to_ns = begin_ns
        while wait < len(waits) and waits[wait].start_ns < end_ns:
            its = waits[wait]
            wait += 1
            if its.end_ns <= waited_to_ns or not 0 <= its.last_call < call:
                continue
            from_ns = max(its.start_ns, waited_to_ns)
            waited_to_ns = min(its.end_ns, end_ns)
            gap_ns -= max(0, waited_to_ns - from_ns)
            self._add_edge(self._end_node(its.last_call, -1), node)
        return max(0, gap_ns), wait

    # ---- edges

    def _device_of(self, call: int) -> int:
        return self.queues[self.recording.calls[call].queue].device_index

    def _end_node(self, call: int, device: int) -> int:
        """What ends when the call has, as the device sees it; -1: the call's own device."""
        its = self.sum_of_call[call]
        if its < 0:
            return self._run_of_call[call]
        device = self._device_of(call) if device < 0 else device
        return self.done[its][max(device, 0)]

    def _link_call(self, index: int) -> None:
        """A call of no sum."""
        run = self._run_of_call[index]
        self._add_edge(self._program_of_call[index], run)
        for before in self.recording.calls[index].after:
            self._add_edge(self._end_node(before, self._device_of(index)), run)

    def _link_part(self, index: int) -> None:
        """A call that is a part of a sum."""
        its = self.sum_of_call[index]
        for before in self.recording.calls[index].after:
            device = self._device_of(before)
            device = self._device_of(index) if device < 0 else device
            if self.sum_of_call[before] != its:
                self._add_edge(self._end_node(before, device), self.arrive[its][max(device, 0)])

    def _makers_of_gradient(self, index: int) -> list[int]:
        """Which calls the sum before an update waits for: those of the backward pass that make such an array; where
        there are none, all of the backward pass, or all."""
        calls = self.recording.calls
        step = self.steps.of_call[index]
        # Another update of the same step may have to wait for this very sum.
        before = [i for i in calls[index].after if not (calls[i].is_update and self.steps.of_call[i] == step)]
        backward = [i for i in before if calls[i].is_backward]
        summed = gradient(calls[index].shapes)
        makers = [i for i in backward if summed and makes(calls[i].shapes, summed)]
        return makers or backward or before

    def _link_update(self, index: int) -> None:
        """An update that a sum was put before."""
        its, device = self.sum_before[index], max(self._device_of(index), 0)
        for before in self._makers_of_gradient(index):
            self._add_edge(self._run_of_call[before], self.arrive[its][device])
        self._add_edge(self.done[its][device], self._run_of_call[index])

    def _link_all(self) -> None:
        for i in range(len(self.recording.calls)):
            if not self.is_in_steps(i):
                continue
            if self.sum_of_call[i] >= 0:
                self._link_part(i)
            else:
                self._link_call(i)
            if i in self.sum_before:
                self._link_update(i)
        for nodes in self.arrive:
            for node in nodes:
                self._add_edge(self._program_of_call[self.call[node]], node)


# ---- what is refused


def _refuse_useless(recording: Recording) -> None:
    if recording.lost_records:
        raise BadFile(
            f"the recording lost {recording.lost_records} records; record fewer steps, " "or give it more memory"
        )
    if not recording.calls:
        raise BadFile("the recording has no calls; expected one of a training step")


def _refuse_captured(recording: Recording, queues: list[ReplayQueue]) -> None:
    """An accelerator replays a captured step as one call. That shows no gradients to be summed, and no updates."""
    total_ns = replayed_ns = replays = 0
    for call in recording.calls:
        if queues[call.queue].is_compute and not call.is_collective:
            ns = call.end_ns - call.start_ns
            total_ns += ns
            if call.operation == "replay":
                replayed_ns += ns
                replays += 1
    if 2 * replayed_ns > total_ns:
        calls = '1 call "replay" takes' if replays == 1 else f'{replays} calls "replay" take'
        raise BadFile(
            f"{calls} {in_percent(replayed_ns, total_ns)} of the computing: captured steps, whose gradients and "
            "updates a recording does not show; record the steps without capture, as hocket train --no-capture does"
        )


# ---- devices and queues


def _find_devices(recording: Recording) -> list[str]:
    """The devices that a run has many of, in the order of their queues: accelerators, else those that are trained
    on."""

    def is_training(call: Call) -> bool:
        return call.is_update or call.is_backward or call.is_collective

    computing = [call for call in recording.calls if not recording.queues[call.queue].is_copy]
    for is_wanted in (lambda call: not is_cpu(recording.queues[call.queue].device), is_training, lambda call: True):
        found = {call.queue for call in computing if is_wanted(call)}
        if found:
            return list(dict.fromkeys(recording.queues[i].device for i in sorted(found)))
    raise BadFile("all calls of the recording are copies; expected one of a training step")


def _make_queues(recording: Recording, devices: list[str]) -> list[ReplayQueue]:
    """The recorded ones, and one of the program behind them."""
    queues = []
    for info in recording.queues:
        device = devices.index(info.device) if info.device in devices else -1
        queues.append(
            ReplayQueue(
                info.device,
                info.name,
                device,
                is_copy=info.is_copy,
                is_accelerator=not is_cpu(info.device),
                is_compute=device >= 0 and not info.is_copy,
            )
        )
    queues.append(ReplayQueue("host", "program", -1, is_program=True))
    _find_capacities(recording, queues)
    return queues


def _find_capacities(recording: Recording, queues: list[ReplayQueue]) -> None:
    """Of CPUs, whose cores divide a call, or have one each. Accelerators take one call after the other."""
    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for call in recording.calls:
        if not queues[call.queue].is_accelerator and not call.is_collective:
            spans[call.queue].append((call.start_ns, call.end_ns))
    for queue, its in spans.items():
        its.sort()
        total_ns, busy_ns, last_ns = 0, 0, its[0][0]
        for start_ns, end_ns in its:
            total_ns += end_ns - start_ns
            busy_ns += max(0, end_ns - max(last_ns, start_ns))
            last_ns = max(last_ns, end_ns)
        queues[queue].capacity = int(total_ns / busy_ns + 0.5) if busy_ns > 0 else 1
