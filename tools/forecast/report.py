"""A forecast as a page of text."""

from __future__ import annotations

from typing import Iterator

from errors import printable
from forecasts import Forecast
from quantities import in_bytes, in_percent, in_share, in_time, plural


def _head(forecast: Forecast) -> Iterator[str]:
    scenario, asked, devices = forecast.scenario, forecast.asked, forecast.devices
    if scenario.recording.title:
        yield printable(scenario.recording.title)
    scaling = "strong scaling: the batch is divided" if asked.strong else "weak scaling: each keeps its batch"
    yield (
        f'{devices} device{plural(devices)} on "{forecast.topology.name}", from a recording of '
        f"{forecast.recorded_devices}; {scaling}."
    )
    line = f"Sums: {forecast.topology.collective}."
    if asked.jitter > 0:
        line += f" Times of calls vary by {in_share(asked.jitter)}."
    if asked.slow:
        line += " Some devices are slower than others, or faster."
    if not scenario.steps.has_updates:
        line += " No parameter is updated: the recording counts as one step."
    elif scenario.steps.count > 1:
        line += f" Step {forecast.measures.step.number + 1} of {scenario.steps.count} recorded ones is shown."
    yield line
    yield ""


def _figures(forecast: Forecast) -> Iterator[str]:
    """Figures in front of lines of words."""
    measures, recorded = forecast.measures, forecast.recorded_devices
    devices = f"device{plural(recorded)}"
    throughput = forecast.efficiency * forecast.devices / recorded
    lines = (
        (
            "step",
            in_time(measures.step.ns),
            f"recorded {in_time(forecast.recorded_step_ns)}; replayed on {recorded} "
            f"{devices} {in_time(forecast.alone_step_ns)}",
        ),
        (
            "efficiency",
            in_share(forecast.efficiency),
            f"{throughput:.1f} times the throughput of the recorded {devices}",
        ),
        ("bubble", in_share(measures.bubble), "of the step a device computes nothing, mean over devices"),
        (
            "between devices",
            in_time(measures.exchange_ns),
            f"{measures.sum_count} exchange{plural(measures.sum_count)} of {in_bytes(measures.sum_bytes)}; "
            f"{in_percent(measures.hidden_ns, measures.exchange_ns)} of that time the first device computes",
        ),
    )
    for name, figure, words in lines:
        yield f"{name:<18}{figure:<10}{words}"


def _levels(forecast: Forecast) -> Iterator[str]:
    if forecast.devices < 2:
        return
    yield ""
    yield f"{'level':<24} {'links':>8} {'over one':>12} {'over all':>12} {'busy':>8}"
    for level in forecast.measures.levels:
        if level.links > 0:
            over_one, over_all = in_bytes(level.link_bytes), in_bytes(level.total_bytes)
            yield f"{level.name:<24} {level.links:>8} {over_one:>12} {over_all:>12} {in_share(level.busy):>8}"
    yield "Bytes of a step, in one direction."


def _path(forecast: Forecast) -> Iterator[str]:
    measures, step_ns = forecast.measures, forecast.measures.step.ns
    parts = [f"{printable(part.name)} {in_percent(part.ns, step_ns)}" for part in measures.path]
    if measures.path_rest_ns > 0:
        parts.append(f"others {in_percent(measures.path_rest_ns, step_ns)}")
    yield ""
    yield f"Critical path: {', '.join(parts)} ({measures.path_nodes} parts)."


def _slowest(forecast: Forecast) -> Iterator[str]:
    if forecast.asked.slow or forecast.asked.jitter > 0:
        devices = [f"{device} computes {in_time(ns)}" for device, ns in forecast.measures.slowest]
        yield f"Slowest devices: {', '.join(devices)}."


def report(forecast: Forecast) -> str:
    parts = (_head, _figures, _levels, _path, _slowest)
    return "".join(f"{line}\n" for part in parts for line in part(forecast))
