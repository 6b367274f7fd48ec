"""The command itself, HOCKET_COMMAND. Training on simulated devices takes the model time that a forecast says: replayed
from its own recording, and forecast from those of fewer devices."""

import os
import pathlib
import subprocess

import pytest
from forecasts import Asked, make_forecast
from hand_made import topology as make_topology
from recording import parse_recording

COMMAND = os.environ.get("HOCKET_COMMAND", "")
ROOT = pathlib.Path(__file__).resolve().parents[3]
RECORDING = str(ROOT / "tests/cli/cases/forecast/run.json")
LAPTOPS = str(ROOT / "examples/topologies/laptops.json")
pytestmark = pytest.mark.skipif(not COMMAND, reason="HOCKET_COMMAND names no command")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "HOCKET_CUDA": "off", **environment}
    return subprocess.run([COMMAND, *arguments], env=environment, capture_output=True, text=True)


# ---- starting the program


def test_without_python(tmp_path):
    ran = run("forecast", RECORDING, "--topology", LAPTOPS, PATH=str(tmp_path))
    assert ran.returncode == 1 and ran.stdout == ""
    assert ran.stderr.startswith("hocket forecast: it needs Python 3.11 or later, but there is no python3 in PATH")


def test_modules_of_the_user_are_not_taken(tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit(9)\n")
    assert run("forecast", RECORDING, "--topology", LAPTOPS, PYTHONPATH=str(tmp_path)).returncode == 0


def test_files_that_cannot_be_read_or_written(tmp_path):
    nowhere = str(tmp_path / "nowhere" / "file")
    good = (RECORDING, "--topology", LAPTOPS)
    for arguments, operation, what in (
        ((nowhere, "--topology", LAPTOPS), "trace_read", "read"),
        ((RECORDING, "--topology", nowhere), "topology_read", "read"),
        ((*good, "--trace", nowhere), "trace_write", "write"),
        ((*good, "--svg", nowhere), "trace_write", "write"),
    ):
        ran = run("forecast", *arguments)
        message = (
            f'hocket: {operation} failed: input/output error: cannot {what} "{nowhere}": No such file or directory\n'
        )
        assert (ran.returncode, ran.stderr) == (1, message)


# ---- simulated devices

MOST_DEVICES, STEPS, BATCH, IMAGES = 4, 4, 4, 100
# Computing is slow, so that this machine is not behind, whatever else it does.
CASES = {  # options of the model, operations a second, the rate and latency of links
    "sums on one device": (("--size", "12", "--width", "0.25"), 5e6, 2e8, 100000),
    "sums in parts": (("--size", "12"), 3e7, 2e9, 20000),
}
MEMORY_RATE, LAUNCH_NS = 1e9, 100000


def write_images(folder: pathlib.Path) -> None:
    """A data set of images of any kind, in the form of MNIST."""
    for part in ("train", "t10k"):
        header = b"\0\0\x08\x03" + b"".join(n.to_bytes(4, "big") for n in (IMAGES, 28, 28))
        (folder / f"{part}-images-idx3-ubyte").write_bytes(header + bytes(i * 7 % 251 for i in range(IMAGES * 784)))
        labels = bytes(i % 10 for i in range(IMAGES))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(b"\0\0\x08\x01" + IMAGES.to_bytes(4, "big") + labels)


def record(folder: pathlib.Path, devices: int, model: tuple, flops: float, rate: float, latency_ns: int):
    """A few steps on so many devices. Each gets a batch of its own."""
    path = folder / f"{devices}.json"
    sim = (
        f"{devices}:flops={flops:.0f},memory_bandwidth={MEMORY_RATE:.0f},launch={LAUNCH_NS / 1000}us,"
        f"link={rate:.0f},latency={latency_ns / 1000}us"
    )
    ran = run(
        "train",
        "mlp",
        *model,
        "--devices",
        ",".join(f"sim:{i}" for i in range(devices)),
        "--steps",
        str(STEPS),
        "--batch-size",
        str(BATCH * devices),
        "--data",
        str(folder),
        HOCKET_SIM=sim,
        HOCKET_TRACE=str(path),
    )
    assert ran.returncode == 0, ran.stderr
    assert b'"update":true' in path.read_bytes()
    return parse_recording(path.read_bytes())


@pytest.mark.parametrize("case", CASES)
def test_a_forecast_is_what_the_simulation_takes(case, tmp_path):
    """A run in which the program's thread was held up is not the model's: it is recorded again."""
    model, flops, rate, latency_ns = CASES[case]
    device = {"flops": flops, "memory_bytes_per_second": MEMORY_RATE, "launch_ns": LAUNCH_NS}
    levels = [{"children": 64, "bytes_per_second": rate, "latency_ns": latency_ns}]
    topology = make_topology(collective="copies", device=device, levels=levels)
    write_images(tmp_path)
    recordings = {}
    for devices in (1, 2, MOST_DEVICES):
        for attempt in range(8):
            recordings[devices] = record(tmp_path, devices, model, flops, rate, latency_ns)
            made = {fewer: make_forecast(its, topology, Asked(devices)) for fewer, its in recordings.items()}
            simulated_ns = made[devices].recorded_step_ns
            found = {fewer: forecast.measures.step.ns for fewer, forecast in made.items()}
            print(f"{case}, {devices} devices: simulated {simulated_ns}, forecast from fewer {found}")
            if all(abs(ns - simulated_ns) <= simulated_ns / 100 for ns in found.values()):
                break
        else:
            pytest.fail(f"{devices} devices: simulated {simulated_ns} ns, forecast {found}")
