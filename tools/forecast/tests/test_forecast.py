"""Forecasts of recordings made by hand, whose steps are known to the nanosecond."""

import json
import math

import pytest
from errors import BadFile, BadOption
from hand_made import RING, Maker, forecast, layers, one_level, topology
from jitter import factor, philox
from picture import draw
from recording import Queue, Wait, parse_recording
from replay import durations


def test_two_layers_on_one_device():
    alone = forecast(layers(2, 3))
    assert (alone.devices, alone.scenario.steps.count) == (1, 3)
    assert alone.measures.step.ns == alone.recorded_step_ns == 6200
    assert alone.efficiency == 1 and abs(alone.measures.bubble) < 1e-9


def test_two_layers_on_two_devices():
    two = forecast(layers(2, 3), devices=2)
    # 4000 to the last layer's backward, 2 * 5000 for the sums, 100 for the last update. The first layer's backward
    # (2000) and the update of the last layer run while sums go on.
    assert two.measures.step.ns == 4000 + 2 * 5000 + 100
    assert two.alone_step_ns == 6200
    assert two.efficiency == pytest.approx(6200 / 14100)
    assert two.measures.bubble == pytest.approx(1 - 6200 / 14100)
    assert (two.measures.exchange_ns, two.measures.hidden_ns) == (10000, 2000 + 100)
    assert (two.measures.sum_count, two.measures.sum_bytes) == (2, 8000)
    (level,) = two.measures.levels
    assert (level.links, level.link_bytes, level.total_bytes) == (2, 8000, 16000)
    assert [part.name for part in two.measures.path] == ["(between devices)", "matmul", "matmul_backward", "sgd_update"]


def test_sums_are_joined_up_to_a_bucket():
    two = forecast(layers(2, 2), topology(bucket_bytes=8000, levels=one_level(children=2)), devices=2)
    assert (two.measures.step.ns, two.measures.sum_count) == (6000 + 8000 + 200, 1)


def test_devices_that_are_faster_slower_or_crowded():
    faster = topology(device={"speed": 2}, levels=one_level(bytes_per_second=1e12))
    assert forecast(layers(2, 2), faster, devices=2).measures.step.ns == 3100
    assert forecast(layers(2, 2), devices=2, slow=[(1, 2.0)]).measures.step.ns == 2 * 4000 + 2 * 5000 + 2 * 100
    # Two devices that compute on 1.6 cores: a quarter longer.
    crowded = topology(device={"cores": 1}, levels=one_level(children=2, bytes_per_second=1e15, cores=1.6))
    two = forecast(layers(2, 2), crowded, devices=2)
    assert (two.measures.step.ns, two.alone_step_ns) == (6200 + 6200 // 4, 6200)


def test_strong_scaling_halves_all_but_updates():
    two = forecast(layers(2, 2), devices=2, strong=True)
    assert two.measures.step.ns == 2000 + 2 * 5000 + 100
    assert two.efficiency == pytest.approx(6200 / 12100 / 2)


# ---- recorded sums


@pytest.mark.parametrize("in_place", [False, True])
def test_buckets_of_one_array_are_one_sum(in_place):
    """One rank's recording: an array goes in two buckets, of 600 and 400 elements. in_place: a rank sums its part where
    it is, and the second exchange names that as read and written."""
    copies, ranks, host = 1, 2, 3
    maker = Maker(
        [
            Queue("gpu:0", "compute", False),
            Queue("gpu:0", "copy out", True),
            Queue("cpu:0", "ranks", False),
            Queue("cpu:0", "compute", False),
        ]
    )

    def part(queue, shapes, size, *after):
        return maker.add("group_all_reduce", 10, *after, queue=queue, shapes=shapes, size=size, is_collective=True)

    def bucket(all_elements, own, size, after):
        scattered = part(ranks, f"-> float32({all_elements},), float32({own},)", size, after)
        summed = part(host, f"float32({own},), float32({own},) -> float32({own},)", size, scattered)
        gathered = f"float32({own},) -> float32({all_elements},)"
        if in_place:
            gathered = f"-> float32({own},), float32({own},)"
        return part(ranks, gathered, size, summed)

    backward = maker.add("matmul_backward", 1000)
    out = part(copies, "float32(1000,) -> float32(1000,)", 8000, backward)
    buckets = bucket(600, 300, 3600, out), bucket(400, 200, 2400, out)
    maker.add("sgd_update", 100, part(copies, "float32(1000,) -> float32(1000,)", 8000, *buckets))
    two = forecast(maker.recording, devices=2)
    assert (two.measures.sum_count, two.measures.sum_bytes) == (1, 4000)
    assert two.measures.step.ns == 1000 + 2 * 500 + 4000 + 100


def two_devices():
    """Each device computes for 1000 ns, a sum of both is recorded, of which each adds up a half, each updates for
    100."""
    half = "float32(500,), float32(500,) -> float32(500,)"
    maker = Maker([Queue("gpu:0", "compute", False), Queue("gpu:1", "compute", False)])
    backward = [maker.add("matmul_backward", 1000, queue=queue) for queue in range(2)]
    sums = [maker.add("all_reduce", 50, *backward, queue=queue, shapes=half, is_collective=True) for queue in range(2)]
    for queue in range(2):
        maker.add("sgd_update", 100, *sums, queue=queue)
    return maker.recording


def test_recorded_devices_are_multiplied():
    four = forecast(two_devices(), devices=4)
    assert (four.recorded_devices, four.measures.sum_count) == (2, 1)
    assert four.measures.step.ns == 1000 + 6 * 500 + 1.5 * 4000 + 100
    with pytest.raises(BadOption, match="expected a multiple of 2"):
        forecast(two_devices(), devices=3)


# ---- devices that are not alike


@pytest.mark.parametrize(
    "asked", [{"devices": 64}, {"devices": 1}, {"devices": 64, "slow": [(17, 1.5), (3, 1.1), (60, 1.5)]}]
)
def test_alike_devices_may_be_replayed_once(asked):
    few, each = (forecast(layers(7, 3), each_device=each, **asked) for each in (False, True))
    assert few.replay.plan.process_count < each.replay.plan.process_count or asked["devices"] == 1
    assert few.measures.step == each.measures.step
    assert (few.measures.exchange_ns, few.measures.hidden_ns) == (each.measures.exchange_ns, each.measures.hidden_ns)
    assert few.measures.bubble == pytest.approx(each.measures.bubble)


def test_jitter_is_that_of_its_seed():
    def step_ns(**asked):
        return forecast(layers(7, 3), devices=64, **asked).measures.step.ns

    first = step_ns(jitter=0.2, seed=1)
    assert first == step_ns(jitter=0.2, seed=1) != step_ns(jitter=0.2, seed=2)
    assert first > step_ns()


def test_random_numbers_are_known():
    # The vectors of the generator's authors.
    assert philox((0, 0, 0, 0), 0) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ones = 2**32 - 1
    assert philox((ones,) * 4, 2**64 - 1) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    factors = [factor(0.1, 7, device, 3) for device in range(2000)]
    assert sum(factors) / len(factors) == pytest.approx(1, abs=0.01)
    assert math.sqrt(sum((x - 1) ** 2 for x in factors) / len(factors)) == pytest.approx(0.1, rel=0.1)


def test_many_devices_that_all_differ():
    """What begins is done with all that it follows."""
    made = forecast(layers(20, 2), devices=1024, jitter=0.05)
    replay, scenario = made.replay, made.scenario
    first, last = durations(replay.plan, replay.plan.processes[0]), durations(replay.plan, replay.plan.processes[-1])
    assert first != last
    for base in range(0, replay.first_exchange, scenario.node_count):
        for node, followers in enumerate(scenario.after):
            end_ns = replay.end_ns[base + node]
            assert replay.start_ns[base + node] <= end_ns
            assert all(replay.start_ns[base + after] >= end_ns for after in followers)


# ---- pictures


def test_a_picture_can_be_read_as_a_recording():
    made = forecast(layers(20, 2), devices=64, slow=[(17, 1.5)])
    picture = parse_recording(draw(made).encode())
    assert len(picture.calls) == 2 * 60 + 20  # two devices, and the sums
    assert picture.queues[-1].device == "device 17"
    assert sum(call.is_update for call in picture.calls) == 2 * 20
    events = [event for event in json.loads(draw(made))["traceEvents"] if event["ph"] == "X"]
    open_ends: list[float] = []  # of slices around the present one, which nest
    for before, event in zip([None, *events], events):
        if before is None or before["tid"] != event["tid"]:
            open_ends = []
        while open_ends and open_ends[-1] <= event["ts"]:
            open_ends.pop()
        end = event["ts"] + event["dur"]
        assert not open_ends or end <= open_ends[-1]
        open_ends.append(end)


# ---- what is refused


def test_what_cannot_be_forecast_is_refused():
    copies = topology(collective="copies", levels=one_level())
    for message, asked, on in (
        ("option devices is -3", {"devices": -3}, RING),
        ('option devices is 5000; the topology "a topology without a name" has room for 4096', {"devices": 5000}, RING),
        ("is for 64 at most", {"devices": 65}, copies),
        ("option jitter is nan", {"jitter": math.nan}, RING),
        ("option jitter is -1", {"jitter": -1}, RING),
        ("option slow names device 9; expected 0 to 7", {"devices": 8, "slow": [(9, 1.5)]}, RING),
        ("the factor of device 9 is nan", {"devices": 16, "slow": [(9, math.nan)]}, RING),
    ):
        with pytest.raises(BadOption, match=message):
            forecast(layers(2, 2), on, **asked)
    with pytest.raises(BadOption, match="of a shorter recording, or fewer devices"):
        forecast(layers(2000, 2), devices=4096, jitter=0.1)


def test_recordings_without_steps_are_refused():
    lost = layers(2, 2)
    lost.lost_records = 3
    copies = Maker([Queue("gpu:0", "copy out", True)])
    copies.add("copy", 10)
    refused = ((layers(2, 0), "has no calls"), (lost, "lost 3 records"), (copies.recording, "are copies"))
    for recording, message in refused:
        with pytest.raises(BadFile, match=message):
            forecast(recording)


def test_calls_that_would_wait_for_each_other_are_refused():
    """The program waits for the first update before it makes the second gradient, and both are to be summed as one."""
    maker = Maker()
    first = maker.add("sgd_update", 100, maker.add("matmul_backward", 2000))
    gradient = maker.add("matmul_backward", 2000)
    maker.add("sgd_update", 100, gradient)
    for call in maker.recording.calls[gradient:]:
        call.issue_ns = 5000
    maker.recording.waits.append(Wait(0, 3000, 5000, first))
    forecast(maker.recording, devices=2)
    with pytest.raises(BadFile, match="wait for each other's sums; expected a topology without bucket_bytes"):
        forecast(maker.recording, topology(bucket_bytes=8000, levels=one_level()), devices=2)


def test_captured_steps_are_refused():
    maker = Maker()
    for _ in range(3):
        maker.add("replay", 5000)
        maker.add("copy", 100)
    with pytest.raises(BadFile, match='3 calls "replay" take 98 % of the computing.*--no-capture'):
        forecast(maker.recording)
