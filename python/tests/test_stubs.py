"""The stubs are those of the package, and name all that it has."""

import ast
import os
import shutil
import subprocess
import sys

import pytest

import hocket as hk

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def test_fresh():
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "python_stubs.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_they_name_what_there_is():
    with open(os.path.join(ROOT, "python", "hocket", "__init__.pyi")) as file:
        body = ast.parse(file.read()).body
    names = {each.name for each in body if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
    names |= {each.target.id for each in body if isinstance(each, ast.AnnAssign)}
    assert not {name for name in hk._arrays.__all__ if name not in names}
    assert {"Array", "DType", "Device"} <= names


PROGRAM = """
import hocket as hk
from hocket import nn, optim

x = hk.ones((2, 3)).attach_grad()
with hk.record():
    y = nn.functional.relu(hk.random.normal((2, 3)) @ x.T + 1).sum(axis=0, keepdims=True)
y.backward()
hk.linalg.svd(x), hk.fft.fft(x), hk.concat([x, 2 / x]), x[..., 0] ** 2, x == y
rows: int = x.shape[0]
values: list[float] = x.tolist()


@hk.function
def clipped(x: hk.Array) -> hk.Array:
    return hk.clip(x, -1, 1)


@clipped.gradient
def clipped_gradient(dy: hk.Array, x: hk.Array) -> hk.Array:
    return dy


@hk.pause()
def loss(x: hk.Array) -> hk.Array:
    return nn.functional.cross_entropy(x, hk.zeros((2,), dtype="int64"), "mean")


text: str = hk.trace().text()
net = nn.Sequential(nn.Linear(3), nn.ReLU())
trainer = optim.sgd(net, 0.1)
"""
WRONG = PROGRAM + """
x.nothing
hk.ones((2, 3), shape=3)
rows = x.dtype
hk.function(loss, loss)
"""


def without_dialects(folder):
    """The package as it is where nobody imports a dialect, which adds methods to Array."""
    package = os.path.dirname(hk.__file__)
    ignore = shutil.ignore_patterns("torch", "mxnet", "book", "torchvision", "_dialects", "libhocket*", "__pycache__")
    shutil.copytree(package, os.path.join(folder, "hocket"), ignore=ignore)
    return dict(os.environ, PYTHONPATH=str(folder), MYPYPATH=str(folder))


def run(folder, *command):
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=folder, env=without_dialects(folder))
    return done.returncode, done.stdout + done.stderr


def test_stubs_are_as_the_package_is(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "settings").write_text("[mypy]\nignore_errors = True\nignore_missing_imports = True\n")
    (tmp_path / "private").write_text("hocket\\._.*\n")
    status, said = run(tmp_path, "mypy.stubtest", "hocket", "--concise", "--mypy-config-file", "settings", "--allowlist", "private",
                       "--ignore-unused-allowlist")
    assert status == 0, said


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_program_has_types(tmp_path, checker):
    pytest.importorskip(checker)
    found = {}
    for name, program in dict(right=PROGRAM, wrong=WRONG).items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "program.py").write_text(program)
        options = ["--config-file=", "--follow-imports=silent"] if checker == "mypy" else []
        found[name] = run(folder, checker, *options, "program.py")
    if checker == "pyright" and "error" not in found["wrong"][1]:
        pytest.skip("pyright has not its own program, which it gets by npm")
    assert found["right"][0] == 0, found["right"][1]
    lines = WRONG.splitlines()
    for number, line in enumerate(lines[len(PROGRAM.splitlines()) + 1:], len(PROGRAM.splitlines()) + 2):
        assert f"program.py:{number}:" in found["wrong"][1], (line, found["wrong"][1])
