"""The examples run, and LeNet trains."""
import os
import re
import subprocess
import sys

import pytest

EXAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "python")


def run(name, *arguments):
    done = subprocess.run([sys.executable, os.path.join(EXAMPLES, name), *arguments], capture_output=True, text=True, timeout=100)
    if "dataset-fashion-mnist" in done.stderr:
        pytest.skip("no Fashion-MNIST")
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_lenet_trains_on_two_devices():
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", run("lenet.py", "20"))]
    assert len(losses) == 2 and losses[1] < losses[0] < 2.1


def test_async():
    text = run("async.py")
    names = [name for name, _ in re.findall(r"(.*): ([\d.]+) sec", text)]
    assert names == ["issued", "done", "wait", "scalar conversion", "synchronous", "asynchronous"]
    assert text.endswith("[[2. 2.]] @cpu:0\n")


@pytest.mark.parametrize("compiler", ["c", "numba"])
def test_network_with_a_function_of_its_own(compiler):
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", run("numba_network.py", compiler))]
    assert len(losses) == 5 and losses[-1] < losses[0] / 20
