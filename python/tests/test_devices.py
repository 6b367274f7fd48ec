"""Two CPU devices and two simulated ones: what training on several has."""
import json
import subprocess
import sys

import numpy as np
import pytest

import hocket as hk
from hocket import nn, optim

hk.runtime(cpu_devices=2, sim=[{"count": 1, "flops": 5e10}, {"flops": 1e10}], run_ahead_calls=1000)
PAIRS = [["cpu:0", "cpu:1"], ["sim:0", "sim:1"], ["cpu:1", "sim:0"]]
op = hk._core.operators


def array(values, device="cpu:0"):
    return hk.asarray(np.asarray(values, "float32"), device=device)


def test_the_runtime_is_as_asked():
    assert [str(device) for device in hk.devices()] == ["cpu:0", "cpu:1", "sim:0", "sim:1"]
    assert "50 GFLOP/s" in hk.Device("sim:0").description and "10 GFLOP/s" in hk.Device("sim:1").description
    with pytest.raises(ValueError, match="runs already"):
        hk.runtime(cpu_devices=1)
    with pytest.raises(TypeError, match="no option speed"):
        hk.runtime(sim={"speed": 3})
    with pytest.raises(ValueError, match="engine is 'fast'"):
        hk.runtime(engine="fast")
    stats = hk.stats()
    assert set(stats["devices"]) == {"cpu:0", "cpu:1", "sim:0", "sim:1"} and stats["devices"]["sim:0"]["limit_bytes"] == 16 << 30


@pytest.mark.parametrize("devices", PAIRS)
def test_all_reduce_and_split(devices):
    parts = hk.split_and_load(array(np.arange(20).reshape(5, 4)), devices)
    assert [x.shape for x in parts] == [(3, 4), (2, 4)] and [str(x.device) for x in parts] == devices
    assert parts[1].tolist() == [[12, 13, 14, 15], [16, 17, 18, 19]]
    parts = hk.split_and_load(array([1, 2, 3, 4]), devices, shares=[1, 3])
    assert parts[1].tolist() == [2, 3, 4]
    sums = [array([1, 2], devices[0]), array([10, 20], devices[1])]
    hk.all_reduce(sums)
    assert sums[0].tolist() == sums[1].tolist() == [11, 22]
    lists = [[array([1, 2], devices[0]), array([3, 4], devices[1])], [array([5.], devices[0]), array([6.], devices[1])]]
    hk.all_reduce(lists)
    assert [[x.tolist() for x in each] for each in lists] == [[[4, 6], [4, 6]], [[11], [11]]]
    with pytest.raises(ValueError, match="each has one for each device"):
        hk.all_reduce([lists[0], lists[1][:1]])


def test_refusals_of_shared_work():
    with pytest.raises(ValueError):
        hk.split_and_load(array(3.), ["cpu:0", "cpu:1"])
    with pytest.raises(TypeError, match="an array to be summed"):
        hk.all_reduce([1, 2])
    with pytest.raises(FileNotFoundError):
        hk.split_and_load(array([1, 2]), ["cpu:7"])
    hk._core._failures_clear()


@pytest.mark.parametrize("devices", PAIRS)
def test_replicas_train_like_one(devices):
    source = np.random.default_rng(2)
    # Shares of whole runs of 16 samples, whose sums are the same on any number of devices.
    data = [(array(source.normal(size=(32, 6))), hk.asarray(source.integers(0, 3, 32))) for _ in range(5)]

    def train(places, captured):
        hk.seed(4)
        first = nn.Sequential(nn.Linear(16, init=nn.init.xavier_uniform()), hk.relu, nn.Linear(3)).build((1, 6))
        nets = first.replicas(places)
        opts = [optim.SGD(net, lr=.1, batch=32) for net in nets]

        def step(x, y):
            with hk.record():
                losses = [nn.functional.cross_entropy(net(a), b) for net, a, b in zip(nets, x, y)]
            hk.backward(losses)
            for ps in zip(*(net.parameters() for net in nets)):
                hk.all_reduce([p.grad for p in ps])
            for opt in opts:
                opt.step()
            return losses

        step = hk.capture(step, exact=True) if captured else step
        results = []
        for x, y in data:
            losses = step(hk.split_and_load(x, places), hk.split_and_load(y, places))
            results.append([value for loss in losses for value in loss.tolist()])
        assert len({str(net.state()["0.weight"].tolist()) for net in nets}) == 1
        return results

    alone = train(devices[:1], False)
    assert train(devices, False) == train(devices, True)
    np.testing.assert_allclose(train(devices, False), alone, rtol=1e-6)
    if devices[0][:3] == devices[1][:3]:
        assert train(devices, False) == alone


def test_to_moves_a_tree():
    class Net(nn.Module):
        def __init__(self):
            self.scale = nn.Parameter(hk.ones((2,)))
            self.body = nn.Linear(2)

        def forward(self, x):
            return self.body(x) * self.scale

    net = Net().build((1, 3))
    x = array([[1, 2, 3]])
    before = net(x).tolist()
    assert net.to("sim:1") is net
    assert {str(a.device) for a in net.state().values()} == {"sim:1"} and len(net.parameters()) == 3
    np.testing.assert_allclose(net(op["to_device"](x, device="sim:1")).tolist(), before, rtol=1e-6)
    lazy = nn.Linear(2).to("sim:0")
    assert lazy(op["to_device"](x, device="sim:0")).device == "sim:0"


def test_gradients_cross_devices():
    x = array([1, 2]).attach_grad()
    with hk.record():
        y = op["to_device"](x * 3, device="sim:0")
        z = y * y
    z.backward()
    assert x.grad.tolist() == [18, 36] and x.grad.device == "cpu:0"


def test_random_numbers_are_the_same_everywhere():
    def draw(device):
        hk.seed(5)
        return hk.random.uniform((100,), device=device).tolist()

    assert draw("cpu:0") == draw("cpu:1") == draw("sim:0")


# ---- timelines ----------------------------------------------------------------------------------------------------


def test_a_timeline_of_a_block(tmp_path):
    a, b = (op["ones"]((300, 300), hk.float32, device=device) for device in ("cpu:0", "cpu:1"))
    hk.wait()
    with hk.trace(tmp_path / "run.json") as trace:
        for _ in range(5):
            a @ a
            b @ b
    events = json.loads((tmp_path / "run.json").read_text())
    assert events["traceEvents"]
    summary = trace.summary()
    assert summary["call_count"] == 10 and summary["failed_count"] == 0 and summary["duration_ns"] > 0
    assert "matmul" in trace.text() and trace.overlap_ns("matmul", "matmul") > 0
    trace.write(tmp_path / "run.svg")
    assert (tmp_path / "run.svg").read_text().startswith("<svg") or "<svg" in (tmp_path / "run.svg").read_text()
    with pytest.raises(ValueError, match=r"ends in '.png'"):
        hk.trace("run.png")
    with hk.trace() as outer:
        with pytest.raises(ValueError):
            with hk.trace():
                pass
        a + 1
    assert outer.summary()["call_count"] == 1
    hk._core._failures_clear()


# ---- processes of their own -----------------------------------------------------------------------------------------


def run(code, **environment):
    import os
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=os.environ | environment)


def test_options_and_the_environment():
    code = "import hocket as hk; print(*hk.devices())"
    assert run(code, HOCKET_CPUS="2").stdout.split() == ["cpu:0", "cpu:1"]
    code = "import hocket as hk; hk.runtime(engine='serial', sim=2); print(*hk.devices())"
    assert run(code).stdout.split() == ["cpu:0", "sim:0", "sim:1"]
    ended = run("import hocket as hk; hk.runtime(cpu_devices=-3)")
    assert ended.returncode == 1 and "cpu_devices" in ended.stderr


def test_saving_and_collecting_wait_without_the_lock(tmp_path):
    import threading
    x = op["ones"]((400, 400), hk.float32, device="sim:1")
    for _ in range(10):
        x = x @ x * .002
    turns, ended = [], threading.Event()

    def count():
        while not ended.is_set():
            turns.append(1)
            ended.wait(.001)

    thread = threading.Thread(target=count)
    thread.start()
    hk.save(tmp_path / "x.npy", x)
    y = x + 1
    set_ = hk.data.arrays(y)
    ended.set()
    thread.join()
    assert len(turns) > 3 and hk.load(tmp_path / "x.npy").tolist() == x.tolist() and len(set_) == 400


def test_handlers_of_signals_compute_amid_calls_that_wait_for_room():
    code = """
import signal, time
import hocket as hk
from hocket import nn
net = nn.Sequential(nn.Linear(700), nn.LayerNorm(), nn.Linear(700))  # each product takes longer than a look for signals
x, times = hk.ones((700, 700)), []
def handler(number, frame):
    y = hk.ones((2,)) * 3 + 1.5
    times.append(float(y[0]) + float(hk.asarray([1, 2.0])[1]))
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, .005, .005)
end = time.monotonic() + .4
while time.monotonic() < end:
    with hk.record():
        loss = net(x).sum()
    loss.backward()
signal.setitimer(signal.ITIMER_REAL, 0)
hk.wait()
print(len(times) > 1, set(times))
"""
    ended = run(code, HOCKET_RUN_AHEAD="2", HOCKET_CORES="1")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True {6.5}\n", "")


def test_an_end_amid_work():
    code = ("import hocket as hk\nx = hk.random.normal((600, 600)).attach_grad()\n"
            "with hk.record():\n  y = x\n  for _ in range(20): y = y @ x\ny.backward()\nprint('issued')")
    ended = run(code)
    assert ended.returncode == 0 and ended.stdout == "issued\n" and not ended.stderr


def test_split_and_load_of_numpys_and_a_trace_into_nowhere(tmp_path):
    assert [x.tolist() for x in hk.split_and_load(np.arange(2.0), ["cpu:0", "cpu:0"][:1])] == [[0, 1]]
    with pytest.raises(FileNotFoundError, match="no folder"):
        with hk.trace(tmp_path / "none" / "run.html"):
            pass
    with hk.trace():  # the first did not begin
        pass
