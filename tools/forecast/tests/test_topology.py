"""Topologies from outside: what is wrong is named, with its value and what would be right. And what collectives
cost."""

import json

import pytest
from costs import all_reduce_cost, common_level, level_children, level_links
from errors import BadFile
from hand_made import one_level, topology
from topology import parse_topology

LEVEL = '{"children": 4, "bytes_per_second": 1e9}'


def whole(levels: str, members: str = "") -> str:
    return f'{{"hocket_topology": 1, {members}"levels": [{levels}]}}'


def level(members: str) -> str:
    return whole(f'{{"children": 4, "bytes_per_second": 1{members}}}')


def by_size(listed: str) -> str:
    return whole(f'{{"children": 8, "messages": {listed}}}')


def sizes(*rows: tuple) -> str:
    return "[" + ", ".join(f'{{"bytes": {size}, "ns": {ns}}}' for size, ns in rows) + "]"


WRONG = [
    ("", "no JSON"),
    ("GIF89a", "line 1: no JSON: '[' or '{' expected near 'GIF'"),
    ("[]", "found no object"),
    ("{}", '"hocket_topology" is missing; expected a whole number from 1 to 1'),
    ('{"hocket_topology": 2}', '"hocket_topology" is 2; expected'),
    ('{"hocket_topology": true}', '"hocket_topology" is true; expected'),
    ('{"hocket_topology": 1}', '"levels" is missing; expected a list of 1 to 8 levels'),
    ('{"hocket_topology": 1, "hocket_topology": 1}', 'no JSON: the key "hocket_topology" stands twice'),
    (whole(""), '"levels" is []; expected'),
    (whole(", ".join([LEVEL] * 9)), '"levels" is ['),
    (whole("3"), 'level 1: "levels" is 3; expected a list of objects'),
    (whole(LEVEL, '"colective": "ring", '),
     'there is no key "colective"; expected one of hocket_topology, name, collective'),
    (whole(LEVEL, '"collective": "tree", '), '"collective" is "tree"; expected "hierarchical"'),
    (whole(LEVEL, '"collective": 3, '), '"collective" is 3; expected'),
    (whole(LEVEL, '"collective": {}, '), '"collective" is {}; expected'),
    (whole(LEVEL, '"bucket_bytes": -1, '), '"bucket_bytes" is -1; expected a number from 0 to 1e+18'),
    (whole(LEVEL, '"name": "", '), '"name" is ""; expected a text of 1 to 95 bytes'),
    (whole(LEVEL, '"name": "\\ud800", '), '"name" is '),
    (whole(LEVEL, '"device": 3, '), '"device" is 3; expected an object'),
    (whole(LEVEL, '"device": {"speed": 0}, '), 'device: "speed" is 0; expected a number from 1e-06 to 1e+06'),
    (whole(LEVEL, '"device": {"sped": 1}, '), 'device: there is no key "sped"'),
    (whole(LEVEL, '"device": {"flops": null}, '), 'device: "flops" is null; expected'),
    (whole(LEVEL, '"device": {"cores": "all"}, '), 'device: "cores" is "all"; expected'),
    (whole(LEVEL + ', {"children": 0, "bytes_per_second": 1}'),
     'level 2: "children" is 0; expected a whole number from 1 to 1048576'),
    (whole('{"children": -4, "bytes_per_second": 1}'), 'level 1: "children" is -4;'),
    (whole('{"children": 4.5, "bytes_per_second": 1}'), 'level 1: "children" is 4.5;'),
    (whole('{"children": 99999999999999999999, "bytes_per_second": 1}'), '"children" is 99999999999999999999;'),
    (whole('{"children": ' + "9" * 5000 + "}"), "no JSON"),
    (whole('{"children": 4}'), 'level 1: "bytes_per_second" is missing; expected a number from 1 to 1e+18'),
    (whole('{"children": 4, "bytes_per_second": 0}'), 'level 1: "bytes_per_second" is 0; expected'),
    (whole('{"children": 4, "bytes_per_second": NaN}'), "no JSON: NaN is no number"),
    (whole('{"children": 4, "bytes_per_second": 1e400}'), '"bytes_per_second" is Infinity; expected'),
    (whole('{"children": 4, "bytes_per_second": "12G"}'), 'level 1: "bytes_per_second" is "12G"; expected'),
    (level(', "latency_ns": -5'), 'level 1: "latency_ns" is -5; expected a number from 0 to 1e+12'),
    (level(', "collective": "copies"'), 'level 1: "collective" is "copies"; expected "best"'),
    (whole('{"children": 1048576, "bytes_per_second": 1}, ' + LEVEL),
     'level 2: "children" is 4, which makes more than 1048576 devices'),
    (level(', "link": [[[[]]]]'), 'level 1: there is no key "link"'),
    (level(', "link": ' + "[" * 100000), "no JSON: lists or objects lie too deep"),
    (level(', "cores": 0'), 'level 1: "cores" is 0; expected a number from 0.01 to 1e+06'),
    (level(', "cpu_ns_per_byte": -1'), 'level 1: "cpu_ns_per_byte" is -1; expected a number from 0 to 1e+12'),
    (level(f', "messages": {sizes((1, 1), (2, 2))}'),
     'level 1: "bytes_per_second" is 1; expected none beside "messages"'),
    (by_size("3"), 'level 1: "messages" is 3; expected a list of 2 to 32 sizes, rising'),
    (by_size('{"bytes": 1, "ns": 1}'), 'level 1: "messages" is {"bytes":1,"ns":1}; expected a list'),
    (by_size("[]"), 'level 1: "messages" is []; expected a list of 2 to 32 sizes'),
    (by_size(sizes((1, 1))), 'level 1: "messages" is [{'),
    (by_size('[{"bytes": 1, "ns": 1}, 7]'), 'level 1: "messages" is 7; expected a list of 2 to 32 sizes, rising: '
                                            '[{"bytes": 65536, "ns": 90000}, ...]'),
    (by_size("[[1, 1], [2, 2]]"), 'level 1: "messages" is [1,1]; expected a list'),
    (by_size('[{"bytes": 1}, {"bytes": 2, "ns": 2}]'),
     'level 1: messages: "ns" is missing; expected a number from 0 to 1e+12'),
    (by_size('[{"bytes": 1, "us": 1}, {"bytes": 2, "ns": 2}]'),
     'level 1: messages: there is no key "us"; expected one of bytes, ns'),
    (by_size(sizes((0, 1), (2, 2))), 'level 1: messages: "bytes" is 0; expected a number from 1 to 1e+18'),
    (by_size(sizes((1, -1), (2, 2))), 'level 1: messages: "ns" is -1; expected a number from 0 to 1e+12'),
    (by_size(sizes((1, '"1"'), (2, 2))), 'level 1: messages: "ns" is "1"; expected'),
    (by_size(sizes((5000, 1), (5000, 2))),
     'level 1: messages: "bytes" is 5000; expected more than the 5000 of the size before'),
    (by_size(sizes((1, 70), (2, 69.5))),
     'level 1: messages: "ns" is 69.5; expected more than the 70 of the size before'),
    (by_size(sizes(*((i, i) for i in range(1, 34)))), "a list of 2 to 32 sizes"),
    (whole(LEVEL) + " more", "no JSON"),
]


@pytest.mark.parametrize("text, message", WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(BadFile) as caught:
        parse_topology(text.encode())
    assert message in str(caught.value)


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(BadFile, match="line 2: no JSON: byte 9 is no UTF-8"):
        parse_topology(b'{"name":\n\xff')
    with pytest.raises(BadFile, match="the text has 1048577 bytes; expected 1048576 at most"):
        parse_topology(b" " * ((1 << 20) + 1))


def test_no_prefix_of_a_good_one_is_good():
    text = whole(f"{LEVEL}, {LEVEL}", '"name": "two levels", ').encode()
    for length in range(len(text)):
        with pytest.raises(BadFile):
            parse_topology(text[:length])
    assert parse_topology(text).devices == 16
    assert len(parse_topology(by_size(sizes(*((i, i) for i in range(1, 33)))).encode()).levels[0].messages) == 33


# ---- formulas: 8 MB take 8e6 ns over a link of 1 GB/s


def cost_ns(devices: int, levels: list, **members) -> float:
    return all_reduce_cost(topology(levels=levels, **members), devices, 8e6, 4).ns


def of(collective: str, **level) -> list:
    return one_level(collective, children=64, latency_ns=1000, **level)


@pytest.mark.parametrize(
    "collective, devices, expected",
    [
        ("ring", 1, 0),
        ("ring", 8, 14 * 1000 + 2 * 7 / 8 * 8e6),
        ("ring", 6, 10 * 1000 + 2 * 5 / 6 * 8e6),
        ("tree", 8, 6 * (1000 + 8e6)),
        ("tree", 5, 6 * (1000 + 8e6)),
        ("halving", 8, 6 * 1000 + 2 * 7 / 8 * 8e6),
        ("halving", 6, (4 + 2) * 1000 + 2 * 5 / 6 * 8e6 + 2 * 8e6),
        ("direct", 8, 2 * 1000 + 2 * 7 / 8 * 8e6),
        ("best", 8, 6 * 1000 + 2 * 7 / 8 * 8e6),
    ],
)
def test_costs_of_one_level(collective, devices, expected):
    assert cost_ns(devices, of(collective)) == pytest.approx(expected, rel=1e-9)


def test_costs_of_two_levels():
    """Four devices to a machine: each link carries about the array each way."""
    levels = [
        {"children": 4, "bytes_per_second": 1e10, "latency_ns": 10},
        {"children": 4, "bytes_per_second": 1e9, "latency_ns": 1000},
    ]
    assert cost_ns(16, levels) == pytest.approx(4 * 10 + 1.5 * 8e5 + 4 * 1000 + 1.5 * 8e6)
    assert cost_ns(4, levels) == pytest.approx(4 * 10 + 1.5 * 8e5)
    assert cost_ns(16, levels, collective="ring") == pytest.approx(30 * 1000 + 2 * 15 / 16 * 8e6)


def test_switches_and_additions_take_time():
    level = one_level("ring", children=8)
    assert cost_ns(8, one_level("ring", switch_bytes_per_second=4e9)) == pytest.approx(2 * 2 * 7 / 8 * 8e6)
    device = {"flops": 1e9, "launch_ns": 7}
    assert cost_ns(8, level, device=device) == pytest.approx(7 + 2 * 7 / 8 * 8e6 + 7 / 8 * 2e6)


def test_devices_take_turns_at_cores():
    """Eight devices at two cores: each waits for three others."""

    def crowded(collective, cores):
        return one_level(collective, children=8, cores=cores, cpu_ns_per_byte=0.5, cpu_ns_per_message=1000)

    link = 2 * 7 / 8 * 8e6
    for expected, devices, levels, members in (
        (link + 3 * (14 * 1000 + 0.5 * link), 8, crowded("direct", 2), {}),
        (link + 3 * (14 * 1000 + 0.5 * link), 8, crowded("ring", 2), {}),
        (link + 3 * (6 * 1000 + 0.5 * link), 8, crowded("halving", 2), {}),
        (6 * 8e6 + 1 * (6 * 1000 + 0.5 * 6 * 8e6), 8, crowded("tree", 4), {}),
        (link, 8, crowded("direct", 8), {}),
        (8e6, 2, crowded("direct", 8), {}),
        (link + 3 * (14 * 1000 + 0.5 * link), 8, crowded("best", 2), {"collective": "direct"}),
    ):
        assert cost_ns(devices, levels, **members) == pytest.approx(expected, rel=1e-9)
    # Machines of four devices, of which each sends its quarter over the link; cores are the machine's.
    levels = [
        {"children": 4, "bytes_per_second": 1e10, "cores": 2},
        {"children": 2, "bytes_per_second": 1e9, "cpu_ns_per_byte": 0.5},
    ]
    assert cost_ns(8, levels) == pytest.approx(1.5 * 8e5 + 8e6 + 1 * 0.5 * 8e6 / 4)


def test_messages_by_their_size():
    """Sizes at 1, 2 and 4 MB: linear between, and by the first and the last slope beyond."""

    def three(collective):
        rows = [(1e6, 1e6), (2e6, 1.5e6), (4e6, 5.5e6)]
        return [{"children": 8, "collective": collective, "messages": json.loads(sizes(*rows))}]

    for expected, devices, levels, members in (
        (2 * 5.5e6, 2, three("direct"), {}),
        (2 * (5.5e6 + 2 * 2e6), 4, three("direct"), {}),
        (2 * 5.5e6, 2, three("ring"), {}),
        (6 * 1.5e6, 4, three("ring"), {}),
        (14 * 1e6, 8, three("ring"), {}),
        (8 * (1e6 + 0.5 * 6e5), 5, three("ring"), {}),
        (2 * (5.5e6 + 4 * 2e6), 2, three("tree"), {}),
        (2 * (5.5e6 + 1.5e6 + 1e6), 8, three("halving"), {}),
        (6 * 1.5e6, 4, three("best"), {}),
        # Over both levels at once each message is an eighth; within a machine it takes nothing.
        (14 * 1e6, 8, [{"children": 4, "bytes_per_second": 1e15}, *three("best")], {"collective": "ring"}),
    ):
        assert cost_ns(devices, levels, **members) == pytest.approx(expected, rel=1e-9)
    below_zero = [{"children": 8, "collective": "ring", "messages": json.loads(sizes((2e6, 1e6), (4e6, 5e6)))}]
    assert cost_ns(8, below_zero) == pytest.approx(14 * 0.5e6)
    as_rate = [{"children": 64, "collective": "tree", "messages": json.loads(sizes((1e3, 2e3), (1e4, 11e3)))}]
    assert cost_ns(8, as_rate) == pytest.approx(6 * (1000 + 8e6))


def test_where_devices_are():
    three = topology(levels=[{"children": 4, "bytes_per_second": 1e9}] * 3)
    assert [common_level(three, a, b) for a, b in ((0, 3), (3, 4), (15, 16))] == [0, 1, 2]
    assert [level_links(three, level, devices) for level, devices in ((0, 6), (0, 5), (1, 6), (2, 16))] == [6, 4, 2, 0]
    assert level_children(three, 0, 3) == 3
