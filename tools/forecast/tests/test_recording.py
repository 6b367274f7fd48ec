"""Recordings from outside: whatever a file contains, it is read, or what is wrong is named."""

import json
import pathlib
import random

import pytest
from errors import BadFile, BadOption
from forecasts import Asked, make_forecast
from hand_made import RING
from picture import draw
from recording import parse_recording
from report import report
from topology import parse_topology

ROOT = pathlib.Path(__file__).resolve().parents[3]
RECORDING = (ROOT / "tests/cli/cases/forecast/run.json").read_bytes()
TOPOLOGIES = [path.read_bytes() for path in sorted((ROOT / "examples/topologies").glob("*.json"))]


def changed(**members):
    """The recording with other members in "otherData"."""
    whole = json.loads(RECORDING)
    whole["otherData"].update(members)
    return json.dumps(whole).encode()


def with_call(**args):
    """The recording with other members in "args" of its first call."""
    whole = json.loads(RECORDING)
    first = next(event for event in whole["traceEvents"] if "shapes" in event.get("args", {}))
    first["args"].update(args)
    return json.dumps(whole, indent=0).encode()


def test_a_recording():
    recording = parse_recording(RECORDING)
    assert len(recording.calls) == 54
    assert [queue.device for queue in recording.queues] == ["cpu:0", "sim:0", "sim:0", "sim:0"]
    assert [wait.last_call for wait in recording.waits] == [len(recording.calls) - 1]
    assert sum(call.is_update for call in recording.calls) == 12  # by their names: none is marked


def test_marked_updates_count_rather_than_names():
    whole = json.loads(RECORDING)
    for event in whole["traceEvents"]:
        if event["name"] == "relu" and "shapes" in event["args"]:
            event["args"]["update"] = True
    recording = parse_recording(json.dumps(whole).encode())
    assert {call.operation for call in recording.calls if call.is_update} == {"relu"}


def test_sizes_of_sums_are_the_recording_s():
    assert parse_recording(RECORDING).sizes.chunk_bytes == 4 << 20
    sizes = {"small_bytes": 1, "chunk_bytes": 2, "line_bytes": 3}
    assert parse_recording(changed(all_reduce=sizes)).sizes.chunk_bytes == 2


def test_members_may_come_in_any_order():
    whole = json.loads(RECORDING)
    backward = json.dumps(dict(reversed(whole.items()))).encode()
    assert parse_recording(backward) == parse_recording(RECORDING)


@pytest.mark.parametrize(
    "data, message",
    [
        (b"GIF89a", "line 1: found 'G'; expected an object, as hocket writes it"),
        (b"", "line 1: the file ends here, after 0 bytes; expected an object"),
        (b"{}", "line 1: found '}'; expected a text in quotes"),
        (b'{"a": 1}', 'line 1: "otherData" is missing; expected a trace that hocket wrote'),
        (b'{"otherData": {}}', 'line 1: "otherData" does not say that hocket wrote this'),
        (b'{"a":\n"\xff"}', "line 2: no JSON: byte 7 is no UTF-8"),
        (b'{"a":\n' + b"[" * 100000, "line 2: no JSON: lists or objects lie too deep"),
        (RECORDING[:20000], "no JSON"),
        (RECORDING + b"1", "more text after the end of the trace"),
        (changed(format=2), '"format" is 2; this version of hocket reads 1'),
        (changed(title=7), '"title" is 7; expected a text'),
        (changed(title="\ud800"), '"title" is '),
        (changed(lost_records=-1), '"lost_records" is -1; expected a whole number from 0 to'),
        (changed(queues=[3]), 'found no object; expected an object, a row of "queues"'),
        (changed(queues=[]), '"queue" names a row of an empty table'),
        (changed(all_reduce={"small_bytes": 0}), '"small_bytes" is 0; expected a whole number from 1'),
        (with_call(queue=9), '"queue" is 9; expected a whole number from 0 to 3'),
        (with_call(end_ns=-1), '"end_ns" is -1; expected a whole number from 0 to'),
        (with_call(bytes=1.5), '"bytes" is 1.5; expected a whole number'),
        (with_call(update="yes"), '"update" is "yes"; expected true or false'),
        (with_call(after=[99999]), '"after" names call 99999, which is not in the file'),
        (with_call(after=["x"]), '"after" is ["x"]; expected a list of sequence numbers'),
        (with_call(shapes=None), '"shapes" is null; expected a text'),
    ],
    ids=range(23),
)
def test_what_is_wrong_is_named(data, message):
    with pytest.raises(BadFile) as caught:
        parse_recording(data)
    assert message in str(caught.value)


def mutated(data: bytes, random_numbers: random.Random) -> bytes:
    """The bytes with a few of them turned, cut out, or exchanged for something that files have."""
    changed = bytearray(data)
    for _ in range(random_numbers.randint(1, 3)):
        at = random_numbers.randrange(len(changed))
        kind = random_numbers.randrange(4)
        if kind == 0:
            changed[at] ^= 1 << random_numbers.randrange(8)
        elif kind == 1:
            del changed[at : at + random_numbers.randrange(1, 40)]
        elif kind == 2:
            others = [b"9" * 30, b"-1", b"null", b"1e308", b"[", b'"', b"\xe2\x80", b"{}"]
            changed[at : at + 1] = random_numbers.choice(others)
        else:  # a number becomes another one
            digits = [i for i in range(at, min(at + 400, len(changed))) if chr(changed[i]).isdigit()]
            if digits:
                changed[digits[0] : digits[0] + 1] = random_numbers.choice([b"0", b"1", b"7", b"99999999999", b"-3"])
    return bytes(changed)


@pytest.mark.parametrize("seed", range(6))
def test_mutated_files_are_read_or_refused(seed):
    random_numbers = random.Random(seed)
    for _ in range(80):
        topology_data, recording_data = random_numbers.choice(TOPOLOGIES), RECORDING
        if random_numbers.random() < 0.3:
            topology_data = mutated(topology_data, random_numbers)
        else:
            recording_data = mutated(recording_data, random_numbers)
        asked = Asked(random_numbers.choice([0, 4]), seed % 2 == 1, random_numbers.choice([0, 0.5]))
        try:
            made = make_forecast(parse_recording(recording_data), parse_topology(topology_data), asked)
        except (BadFile, BadOption) as error:
            assert len(str(error)) > 20
            continue
        assert report(made).count("\n") > 8
        parse_recording(draw(made).encode())


def test_a_name_cannot_command_a_terminal():
    whole = json.loads(RECORDING)
    whole["otherData"]["title"] = "\x1b[2J"
    text = report(make_forecast(parse_recording(json.dumps(whole).encode()), RING, Asked()))
    assert text.startswith("\\x1b[2J\n")
