"""A forecast: checks what is asked, replays it, and keeps what came out."""

from __future__ import annotations

from dataclasses import dataclass, field

from errors import BadFile, BadOption
from measures import Measures, find_step, measure
from recording import Recording
from replay import MOST_COPIES_DEVICES, MOST_NODES, Plan, Process, Replay, run_replay
from scenario import Scenario
from topology import Topology


@dataclass
class Asked:
    """What a forecast is made for."""

    devices: int = 0  # a multiple of those that were recorded; 0: as many
    strong: bool = False  # the recorded batch is divided; otherwise each device keeps it
    jitter: float = 0.0  # 0 to 2: spread of each computing call's time
    seed: int = 0  # of that
    slow: list[tuple[int, float]] = field(default_factory=list)  # devices that take so many times as long to compute
    each_device: bool = False  # replays devices that are alike one by one: the same result, later. For tests.


@dataclass
class Forecast:
    asked: Asked
    scenario: Scenario
    topology: Topology
    replay: Replay
    measures: Measures
    devices: int
    alone_step_ns: int  # forecast for as many devices as were recorded
    recorded_step_ns: int  # the same step in the recording
    efficiency: float  # throughput of a device, against alone_step_ns

    @property
    def recorded_devices(self) -> int:
        return self.scenario.device_count


def _check(asked: Asked, scenario: Scenario, topology: Topology, devices: int) -> None:
    recorded = scenario.device_count
    if devices < 1 or devices % recorded:
        raise BadOption(
            f"option devices is {devices}, and the recording has {recorded}; " f"expected a multiple of {recorded}"
        )
    if devices > topology.devices:
        raise BadOption(f'option devices is {devices}; the topology "{topology.name}" has room for {topology.devices}')
    if topology.collective == "copies" and devices > MOST_COPIES_DEVICES:
        raise BadOption(
            f'option devices is {devices}; "collective": "copies" is for {MOST_COPIES_DEVICES} at most, '
            'expected "hierarchical", "ring" or "direct"'
        )
    if not 0 <= asked.jitter <= 2:
        raise BadOption(f"option jitter is {asked.jitter:g}; expected a number from 0 to 2")
    for device, times in asked.slow:
        if not 0 <= device < devices:
            raise BadOption(f"option slow names device {device}; expected 0 to {devices - 1}")
        if not 0.01 <= times <= 100:
            raise BadOption(f"the factor of device {device} is {times:g}; expected a number from 0.01 to 100")


def _make_processes(asked: Asked, recorded: int, devices: int, each: bool) -> list[Process]:
    """Those with the same factors become one, unless each is to be replayed."""
    factors = [1.0] * devices
    for device, times in asked.slow:
        factors[device] = times
    processes: list[Process] = []
    known: dict[tuple[float, ...], Process] = {}
    for number in range(devices // recorded):
        its = factors[number * recorded : (number + 1) * recorded]
        like = None if each else known.get(tuple(its))
        if like:
            like.count += 1
        else:
            processes.append(Process(number, 1, its))
            known[tuple(its)] = processes[-1]
    return processes


def _run(plan: Plan) -> Replay:
    replay = run_replay(plan)
    if replay.is_stuck:
        raise BadFile(
            "calls of the recording would wait for each other's sums; expected a topology without bucket_bytes, "
            "or a recording of two devices"
        )
    return replay


def _check_size(plan: Plan) -> None:
    nodes = plan.count_nodes()
    if nodes > MOST_NODES:
        of_process = plan.scenario.node_count
        raise BadOption(
            f"{nodes} nodes are to be replayed: {of_process} for each of {plan.process_count} processes, and "
            f"{nodes - plan.process_count * of_process} for exchanges; expected {MOST_NODES} at most, of a shorter "
            "recording, or fewer devices"
        )


def _recorded_ns(scenario: Scenario, step: int) -> int:
    recording, steps = scenario.recording, scenario.steps
    begin_ns = steps.end_ns(recording, step - 1) if step > 0 else recording.calls[0].issue_ns
    return steps.end_ns(recording, step) - begin_ns


def make_forecast(recording: Recording, topology: Topology, asked: Asked) -> Forecast:
    """Raises BadFile for a recording, and BadOption for what is asked, of which no forecast can be made."""
    scenario = Scenario(recording, topology.bucket_bytes)
    recorded = scenario.device_count
    devices = asked.devices or recorded
    _check(asked, scenario, topology, devices)
    share = recorded / devices if asked.strong else 1.0
    each = asked.each_device or asked.jitter > 0 or topology.collective == "copies"
    processes = _make_processes(asked, recorded, devices, each)
    plan = Plan(scenario, topology, devices, processes, share, asked.jitter, asked.seed)
    _check_size(plan)
    replay = _run(plan)
    measures = measure(replay)
    alone_ns = find_step(_run(Plan(scenario, topology, recorded, [Process(0, 1, [1.0] * recorded)]))).ns
    efficiency = share * alone_ns / measures.step.ns if measures.step.ns > 0 else 0.0
    recorded_ns = _recorded_ns(scenario, measures.step.number)
    return Forecast(asked, scenario, topology, replay, measures, devices, alone_ns, recorded_ns, efficiency)
