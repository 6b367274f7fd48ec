"""Topologies: levels of switches, each with links to what lies below it. docs/FORECAST.md describes the file.

The file may be anything: every member is checked, and one that is not known is refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from math import inf
from typing import Any

from errors import BadFile
from json_values import DECODER, Members, decode_utf8, why_no_json

MOST_LEVELS = 8
MOST_DEVICES = 1 << 20
MOST_MESSAGES = 32
MOST_BYTES = 1 << 20  # of a file
_MOST_RATE, _MOST_NS, _MOST_CORES = 1e18, 1e12, 1e6

_LEVEL_COLLECTIVES = ("best", "ring", "direct", "tree", "halving")
_COLLECTIVES = ("hierarchical", "ring", "direct", "copies")
_MESSAGES_FORM = 'a list of 2 to 32 sizes, rising: [{"bytes": 65536, "ns": 90000}, ...]'

_ROOT_KEYS = ("hocket_topology", "name", "collective", "bucket_bytes", "device", "levels")
_DEVICE_KEYS = ("speed", "launch_ns", "memory_bytes_per_second", "flops", "cores")
_LEVEL_KEYS = (
    "name", "children", "bytes_per_second", "latency_ns", "collective", "switch_bytes_per_second", "cores",
    "cpu_ns_per_byte", "cpu_ns_per_message", "messages",
)


@dataclass
class Level:
    """A switch joins `children` devices, or switches of the level below, by a link each."""

    name: str
    children: int
    bytes_per_second: float = 0  # of a link, in each direction; 0: `messages` says it
    latency_ns: float = 0  # of a message from one child to another
    messages: list[tuple[float, float]] = field(default_factory=list)  # (bytes, ns) by size, the first of 0 bytes
    switch_bytes_per_second: float = inf  # all that the switch passes on
    cores: float = inf  # that all devices below a switch share
    cpu_ns_per_byte: float = 0  # of a core, for what a device sends and receives by the link
    cpu_ns_per_message: float = 0
    collective: str = "best"  # how sums are made, where the whole is hierarchical


@dataclass
class Topology:
    name: str
    collective: str
    levels: list[Level]
    bucket_bytes: float = 0  # sums that follow each other are joined up to this; 0: none is
    speed: float = 1  # of a device, against a recorded one
    launch_ns: float = 0  # of a call, whatever it computes
    cores: float = 0  # that a device's computing keeps busy
    memory_bytes_per_second: float = inf  # of additions
    flops: float = inf  # of additions

    @property
    def devices(self) -> int:
        """How many there is room for."""
        return self.devices_below(len(self.levels))

    def devices_below(self, level: int) -> int:
        """Devices below one child of the level's switches."""
        devices = 1
        for lower in self.levels[:level]:
            devices *= lower.children
        return devices


# ---- members of the file


def _name(members: Members, most: int, default: str) -> str:
    if "name" not in members:
        return default
    value = members.values["name"]
    if type(value) is not str or not 0 < len(value.encode(errors="surrogatepass")) <= most:
        members.fail_value("name", f"a text of 1 to {most} bytes")
    return "".join(c if c.isprintable() else "?" for c in members.text("name"))


def _choice(members: Members, key: str, choices: tuple[str, ...], default: str) -> str:
    value = members.values.get(key, default)
    if value not in choices:
        quoted = [f'"{choice}"' for choice in choices]
        members.fail_value(key, f'{", ".join(quoted[:-1])} or {quoted[-1]}')
    return value


def _read_messages(members: Members, where: str) -> list[tuple[float, float]]:
    """What messages take by their size, in place of a latency and a rate. Before the first size that is listed comes
    one of no bytes, by the line through the first two."""
    for other in ("bytes_per_second", "latency_ns"):
        if other in members:
            members.fail_value(other, 'none beside "messages"')
    listed = members.values["messages"]
    if type(listed) is not list or not 2 <= len(listed) <= MOST_MESSAGES:
        members.fail_value("messages", _MESSAGES_FORM)
    messages: list[tuple[float, float]] = []
    for row in listed:
        if type(row) is not dict:
            members.fail_value("messages", _MESSAGES_FORM, row)
        message = Members(row, lambda: f"{where}messages: ")
        message.check_keys(("bytes", "ns"))
        size, ns = message.number("bytes", 1, _MOST_RATE), message.number("ns", 0, _MOST_NS)
        if messages:
            for key, value, before in (("bytes", size, messages[-1][0]), ("ns", ns, messages[-1][1])):
                if value <= before:
                    message.fail_value(key, f"more than the {before:.17g} of the size before")
        messages.append((size, ns))
    (size, ns), (next_size, next_ns) = messages[:2]
    slope = (next_ns - ns) / (next_size - size)
    return [(0.0, max(0.0, ns - slope * size)), *messages]


def _read_level(value: Any, number: int, levels: Members) -> Level:
    where = f"level {number}: "
    if type(value) is not dict:
        raise BadFile(f"{where}" + _wrong(levels, value))
    members = Members(value, lambda: where)
    members.check_keys(_LEVEL_KEYS)
    level = Level(_name(members, 47, f"level {number}"), members.integer("children", 1, MOST_DEVICES))
    if "messages" in members:
        level.messages = _read_messages(members, where)
        level.latency_ns = level.messages[0][1]
    else:
        level.bytes_per_second = members.number("bytes_per_second", 1, _MOST_RATE)
        level.latency_ns = members.number("latency_ns", 0, _MOST_NS, 0.0)
    level.switch_bytes_per_second = members.number("switch_bytes_per_second", 1, _MOST_RATE, inf)
    level.cores = members.number("cores", 0.01, _MOST_CORES, inf)
    level.cpu_ns_per_byte = members.number("cpu_ns_per_byte", 0, _MOST_NS, 0.0)
    level.cpu_ns_per_message = members.number("cpu_ns_per_message", 0, _MOST_NS, 0.0)
    level.collective = _choice(members, "collective", _LEVEL_COLLECTIVES, "best")
    return level


def _wrong(levels: Members, value: Any) -> str:
    try:
        levels.fail_value("levels", "a list of objects", value)
    except BadFile as error:
        return str(error)


def _read_levels(root: Members) -> list[Level]:
    listed = root.values.get("levels")
    if type(listed) is not list or not 1 <= len(listed) <= MOST_LEVELS:
        root.fail_value("levels", "a list of 1 to 8 levels, from the devices outwards")
    levels: list[Level] = []
    devices = 1
    for number, value in enumerate(listed, 1):
        level = _read_level(value, number, root)
        devices *= level.children
        if devices > MOST_DEVICES:
            raise BadFile(
                f'level {number}: "children" is {level.children}, which makes more than {MOST_DEVICES} '
                "devices; expected fewer"
            )
        levels.append(level)
    return levels


def _read_device(root: Members, topology: Topology) -> None:
    value = root.values.get("device", {})
    if type(value) is not dict:
        root.fail_value("device", "an object")
    device = Members(value, lambda: "device: ")
    device.check_keys(_DEVICE_KEYS)
    topology.speed = device.number("speed", 1e-6, 1e6, 1.0)
    topology.launch_ns = device.number("launch_ns", 0, _MOST_NS, 0.0)
    topology.cores = device.number("cores", 0, _MOST_CORES, 0.0)
    topology.memory_bytes_per_second = device.number("memory_bytes_per_second", 1, _MOST_RATE, inf)
    topology.flops = device.number("flops", 1, _MOST_RATE, inf)


# ---- the file


def _parse(text: str) -> Any:
    start = re.match(r"[ \t\r\n]*([A-Za-z]+|.?)", text, re.DOTALL).group(1)
    if start not in ("{", "["):
        line = text[: len(text) - len(text.lstrip(" \t\r\n"))].count("\n") + 1
        near = f"'{start}'" if start else "end of file"
        raise BadFile(f"line {line}: no JSON: '[' or '{{' expected near {near}")
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise BadFile(f"line {line}: no JSON: {why_no_json(error)}") from None


def parse_topology(data: bytes) -> Topology:
    """A topology from the bytes of a file. Raises BadFile."""
    if len(data) > MOST_BYTES:
        raise BadFile(f"the text has {len(data)} bytes; expected {MOST_BYTES} at most")
    value = _parse(decode_utf8(data))
    if type(value) is not dict:
        raise BadFile('found no object; expected a topology: {"hocket_topology": 1, ...}')
    root = Members(value, lambda: "")
    root.integer("hocket_topology", 1, 1)
    root.check_keys(_ROOT_KEYS)
    topology = Topology(
        _name(root, 95, "a topology without a name"), _choice(root, "collective", _COLLECTIVES, "hierarchical"), []
    )
    topology.bucket_bytes = root.number("bucket_bytes", 0, _MOST_RATE, 0.0)
    _read_device(root, topology)
    topology.levels = _read_levels(root)
    return topology
