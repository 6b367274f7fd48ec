"""Recordings: the Chrome trace JSON that HOCKET_TRACE, `hocket train --trace` and hk_trace_write make.

The file may be anything, so every value that counts is checked. Events are parsed one at a time, for a recording may be
long and most of its events are for viewers only. Times are nanoseconds.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from errors import BadFile, printable
from json_values import DECODER, Members, decode_utf8, why_no_json

FORMAT = 1
FIRST_TID = 1000  # the thread that lane 0 is
MOST_NS = 10**15
_MOST_INT64 = 2**63 - 1
_MOST_ROWS = 16384  # queues, lanes
_MOST_CALL_BYTES = 2**50
_WAITS = ("array", "device", "all", "room", "workers")
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(slots=True)
class Queue:
    """A queue of a device, which calls go through."""

    device: str  # "sim:0"
    name: str  # "compute"
    is_copy: bool


@dataclass(slots=True)
class Call:
    sequence: int
    operation: str
    shapes: str  # "float32(2,3), float32(3,) -> float32(2,3)"
    file: str
    line: int
    queue: int  # index of Recording.queues
    bytes: int  # read and written
    issue_ns: int
    start_ns: int
    end_ns: int
    is_collective: bool
    is_backward: bool
    is_update: bool  # of parameters
    after: list[int]  # earlier calls that it depended on, ascending


@dataclass(slots=True)
class Wait:
    """The program waited for a call."""

    lane: int
    start_ns: int
    end_ns: int
    last_call: int  # whose end ended it; -1: not known


@dataclass(slots=True)
class AllReduceSizes:
    """How sums over devices are cut."""

    small_bytes: int = 64 << 10  # up to which an array is summed by one device
    chunk_bytes: int = 4 << 20  # of what is copied to be summed
    line_bytes: int = 64  # parts begin at multiples of this


@dataclass
class Recording:
    title: str = ""
    version: str = ""  # of the hocket that wrote it
    lost_records: int = 0
    queues: list[Queue] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)  # by sequence number
    waits: list[Wait] = field(default_factory=list)  # by start
    sizes: AllReduceSizes = field(default_factory=AllReduceSizes)


class _Reader:
    """Walks over the text. `at` is the next character to read, `value_at` where the value is that is looked at."""

    def __init__(self, text: str):
        self.text = text
        self.at = self.value_at = 0
        self.recording = Recording()
        self.lane_count = 0

    # ---- messages

    def where(self) -> str:
        return f"line {self.text.count(chr(10), 0, self.value_at) + 1}: "

    def fail(self, message: str) -> NoReturn:
        raise BadFile(printable(self.where() + message))

    def fail_here(self, expected: str) -> NoReturn:
        self.value_at = self.at
        if self.at >= len(self.text):
            self.fail(f"the file ends here, after {len(self.text.encode())} bytes; expected {expected}")
        self.fail(f"found '{self.text[self.at]}'; expected {expected}")

    # ---- the text

    def take(self, character: str) -> bool:
        """Takes the character, after space, if it comes next."""
        self.at = _SPACE.match(self.text, self.at).end()
        is_there = self.text.startswith(character, self.at)
        self.at += len(character) if is_there else 0
        return is_there

    def expect(self, character: str, what: str) -> None:
        if not self.take(character):
            self.fail_here(what)

    def value(self) -> Any:
        self.value_at = self.at = _SPACE.match(self.text, self.at).end()
        try:
            value, self.at = DECODER.raw_decode(self.text, self.at)
            return value
        except (ValueError, RecursionError, StopIteration) as error:
            if isinstance(error, json.JSONDecodeError):
                self.value_at = error.pos
            self.fail(f"no JSON: {why_no_json(error)}")

    def members(self, value: Any, what: str) -> Members:
        if type(value) is not dict:
            self.fail(f"found no object; expected {what}")
        return Members(value, self.where)

    # ---- "otherData"

    def rows(self, other: Members, key: str) -> list[Members]:
        value = other.values.get(key)
        if type(value) is not list:
            other.fail_value(key, "a list")
        if len(value) > _MOST_ROWS:
            self.fail(f'"{key}" has {len(value)} rows; expected {_MOST_ROWS} at most')
        return [self.members(row, f'an object, a row of "{key}"') for row in value]

    def read_sizes(self, other: Members) -> None:
        """Recordings of earlier versions do not say them."""
        if "all_reduce" in other:
            sizes = self.members(other.values["all_reduce"], 'an object, "all_reduce"')
            names = ("small_bytes", "chunk_bytes", "line_bytes")
            self.recording.sizes = AllReduceSizes(*(sizes.integer(name, 1, 2**40) for name in names))

    def read_other(self, other: Members) -> None:
        version = other.values.get("hocket")
        if type(version) is not str:
            self.fail(
                '"otherData" does not say that hocket wrote this; expected a file of HK_TRACE_CHROME, '
                "hocket train --trace or HOCKET_TRACE"
            )
        written = other.integer("format", 1, _MOST_INT64)
        if written != FORMAT:
            self.fail(f'"format" is {written}; this version of hocket reads {FORMAT}')
        recording = self.recording
        recording.version, recording.title = other.text("hocket"), other.text("title")
        recording.lost_records = other.integer("lost_records", 0, _MOST_INT64)
        for row in self.rows(other, "queues"):
            row.flag("simulated")
            recording.queues.append(Queue(row.text("device"), row.text("name"), row.flag("copy")))
        self.lane_count = len(self.rows(other, "lanes"))
        self.read_sizes(other)

    # ---- events

    def index(self, members: Members, key: str, first: int, count: int) -> int:
        """The number of one of `count` rows, the first of which is called `first`."""
        if not count:
            self.fail(f'"{key}" names a row of an empty table in "otherData"')
        return members.integer(key, first, first + count - 1) - first

    def microseconds(self, event: Members, key: str, low_ns: int) -> int:
        value = event.values.get(key)
        if type(value) in (int, float) and low_ns <= 1000 * value <= MOST_NS:
            return round(1000 * value)
        event.fail_value(key, f"microseconds, from {low_ns / 1000:g} to {MOST_NS / 1000:g}")

    def read_call(self, event: Members, args: Members) -> None:
        after = args.values.get("after")
        if type(after) is not list or not all(type(sequence) is int and sequence >= 0 for sequence in after):
            args.fail_value("after", "a list of sequence numbers")
        start_ns = args.integer("start_ns", -MOST_NS, MOST_NS)
        self.recording.calls.append(
            Call(
                sequence=args.integer("sequence", 0, _MOST_INT64),
                operation=event.text("name"),
                shapes=args.text("shapes"),
                file=args.text("file"),
                line=args.integer("line", -(2**31), 2**31 - 1),
                queue=self.index(args, "queue", 0, len(self.recording.queues)),
                bytes=args.integer("bytes", 0, _MOST_CALL_BYTES),
                issue_ns=args.integer("issue_ns", -MOST_NS, MOST_NS),
                start_ns=start_ns,
                end_ns=args.integer("end_ns", start_ns, MOST_NS),
                is_collective=args.flag("collective"),
                is_backward=args.flag("backward"),
                is_update=args.flag("update"),
                after=after,  # sequence numbers, until all calls are known
            )
        )

    def read_wait(self, event: Members, args: Members) -> None:
        if args.values["wait"] not in _WAITS:
            args.fail_value("wait", f'{", ".join(_WAITS[:-1])} or {_WAITS[-1]}')
        lane = self.index(event, "tid", FIRST_TID, self.lane_count)
        start_ns = self.microseconds(event, "ts", -MOST_NS)
        end_ns = start_ns + self.microseconds(event, "dur", 0)
        last = args.integer("ended_by", 0, _MOST_INT64) if "ended_by" in args else -1
        self.recording.waits.append(Wait(lane, start_ns, end_ns, last))

    def read_event(self, value: Any) -> None:
        event = self.members(value, "an event")
        phase = event.values.get("ph")
        if type(phase) is not str:
            event.fail_value("ph", "a text")
        if phase not in ("X", "i"):
            return  # for viewers only, or counters
        args = event.values.get("args")
        if type(args) is not dict:
            event.fail_value("args", "an object")
        if phase == "X" and "wait" in args:
            self.read_wait(event, Members(args, self.where))
        elif phase == "i" or "shapes" in args:  # the first slice of a call tells all of it
            self.read_call(event, Members(args, self.where))

    def read_events(self) -> None:
        self.expect("[", "a list of events")
        if self.take("]"):
            return
        while True:
            self.read_event(self.value())
            if not self.take(","):
                break
        self.expect("]", "a comma or the end of the list of events")

    # ---- the whole

    def read(self) -> Recording:
        """Finds the two members that matter. "otherData" has to be known before events are read."""
        starts: dict[str, int] = {}
        self.expect("{", "an object, as hocket writes it")
        while True:
            self.take("")
            if not self.text.startswith('"', self.at):
                self.fail_here("a text in quotes")
            key = self.value()
            self.expect(":", "a colon")
            if key in starts:
                self.fail(f'a second "{key}"; expected one')
            if key in ("otherData", "traceEvents"):
                starts[key] = self.at
            if key == "traceEvents" and "otherData" in starts:
                self.read_events()
            elif key == "otherData":
                self.read_other(self.members(self.value(), 'an object, "otherData"'))
            else:
                self.value()
            if not self.take(","):
                break
        self.expect("}", "a comma or the end of the object")
        self.take("")
        self.value_at = self.at
        if self.at < len(self.text):
            self.fail("more text after the end of the trace")
        self.value_at = 0
        for key in ("otherData", "traceEvents"):
            if key not in starts:
                self.fail(f'"{key}" is missing; expected a trace that hocket wrote')
        if starts["traceEvents"] < starts["otherData"]:
            self.at = starts["traceEvents"]
            self.read_events()
        self.value_at = len(self.text)
        self.resolve()
        return self.recording

    def resolve(self) -> None:
        """Sequence numbers become indices."""
        calls, waits = self.recording.calls, self.recording.waits
        calls.sort(key=lambda call: call.sequence)
        index_of: dict[int, int] = {}
        for i, call in enumerate(calls):
            if call.sequence in index_of:
                self.fail(f"two calls have the sequence number {call.sequence}; expected one")
            index_of[call.sequence] = i
        for i, call in enumerate(calls):
            before = -1
            indices = []
            for sequence in call.after:
                earlier = self.find(index_of, sequence, '"after"')
                if not before < earlier < i:
                    self.fail(f'"after" of call {call.sequence} names {sequence}; expected earlier calls, ascending')
                indices.append(earlier)
                before = earlier
            call.after = indices
        for wait in waits:
            if wait.last_call >= 0:
                wait.last_call = self.find(index_of, wait.last_call, '"ended_by"')
        waits.sort(key=lambda wait: (wait.start_ns, wait.lane, -wait.end_ns))

    def find(self, index_of: dict[int, int], sequence: int, whose: str) -> int:
        if sequence not in index_of:
            self.fail(f"{whose} names call {sequence}, which is not in the file")
        return index_of[sequence]


def _find_updates(calls: list[Call]) -> None:
    """Recordings say which calls update parameters. In those that do not, it is calls that are named so."""
    if not any(call.is_update for call in calls):
        for call in calls:
            call.is_update = len(call.operation) > 7 and call.operation.endswith("_update")


def parse_recording(data: bytes) -> Recording:
    """A recording from the bytes of a file. Raises BadFile."""
    recording = _Reader(decode_utf8(data)).read()
    _find_updates(recording.calls)
    return recording
