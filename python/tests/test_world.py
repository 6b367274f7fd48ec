"""hocket.world: alone, and under each launcher whose plug-in lies beside the extension."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import hocket as hk


def test_alone():
    all = hk.world.group()
    assert (hk.world.rank(), hk.world.size(), hk.world.library()) == (0, 1, "")
    x, y = hk.ones((3,)), hk.ones((2, 2))
    all.all_reduce([x, y])
    all.broadcast([x])
    assert float(all.sum(x)[0]) == 1 and all.all_gather(x).shape == (3,)
    assert float(all.all_to_all(x)[2]) == 1 and all.reduce_scatter(x).shape == (3,)
    assert all.split(0).size == 1 and all.split(-1) is None
    all.barrier()
    with pytest.raises(hk.Error):
        hk.world.init()
    owners = all.owners()
    mine = owners.zeros(0, (2, 3), "float64")
    assert owners.here(updates=[mine]) and owners.at(0, reads=[mine]) and mine.dtype == hk.float64
    for wrong in (lambda: owners.here(reads=[x]), lambda: owners.here(), lambda: owners.at(1, reads=[mine])):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(hk.IndexError, match="owner is 2"):
        owners.zeros(2, (3,))
    with pytest.raises(ValueError):
        all.broadcast([x], root=1)
    with pytest.raises(hk.Error, match="expected another one of the ranks"):
        all.send(x, 0)


PROGRAM = '''
import sys
import numpy as np
import hocket as hk
hk.world.init(timeout=60)
all = hk.world.group()
r, n = all.rank, all.size
assert n == int(sys.argv[1])
x = hk.full((1000,), r + 1.0)
all.all_reduce([x])
assert (np.asarray(x) == n * (n + 1) / 2).all()
gathered = np.asarray(all.all_gather(hk.full((2,), float(r))))
assert gathered.tolist() == [float(i) for i in range(n) for _ in range(2)]
w = hk.full((2 * n,), 2.0)
w.attach_grad()
with hk.record():
    loss = (all.all_gather(w) * 3).sum()
loss.backward()
assert (np.asarray(w.grad) == 3 * n).all()
half = all.split(r % 2)
assert half.size == (n + 1 - r % 2) // 2
if r == 0:
    all.send(hk.full((4,), 7.0), 1)
if r == 1:
    assert float(all.receive((4,), "float32", 0)[3]) == 7
data = hk.asarray(np.arange(64, dtype=np.float32))
seen = [float(v) for (rows,) in hk.data.Loader([data], 16, group=all) for v in np.asarray(rows)]
assert len(seen) == 64 // n and seen[0] == 16 // n * r
bad = hk.ones((3 if r else 4,))
all.all_reduce([bad])
try:
    np.asarray(bad)
    raise SystemExit("shapes differ, and nothing is said")
except hk.Error as error:
    assert "rank 0 calls" in str(error), error
all.barrier()

# Each rank makes the calls that write its arrays.
owners = all.owners()
tiles = [owners.zeros(i % n, (3,)) for i in range(5)]
for i in range(1, 5):
    if owners.here(reads=[tiles[i - 1]], updates=[tiles[i]]):
        hk.add(tiles[i - 1], i, out=tiles[i])
if owners.at(0, reads=[tiles[4]]):
    assert r == 0 and tiles[4].tolist() == [10.0] * 3
elif 4 % n != r:
    try:
        tiles[4].tolist()
        raise SystemExit("values of another rank can be read")
    except ValueError as error:
        assert f"rank {r} does not have" in str(error)

# By layer: columns, then rows, against the whole; by data: the state in parts; batch norm over all.
random = np.random.default_rng(1)
values = [random.standard_normal(shape).astype(np.float32) for shape in ((6, 8), (8 * n, 8), (4, 8 * n))]
x, first, second = (hk.asarray(v) for v in values)
own = [hk.asarray(values[1][8 * r:8 * r + 8]), hk.asarray(np.ascontiguousarray(values[2][:, 8 * r:8 * r + 8]))]
for p in (x, first, second, *own):
    p.attach_grad()
with hk.record():
    whole = ((hk.tanh(x @ first.T) @ second.T) ** 2).sum()
whole.backward()
dx = np.asarray(x.grad).copy()
with hk.record():
    part = (all.join(hk.tanh(all.share(x) @ own[0].T) @ own[1].T) ** 2).sum()
part.backward()
assert np.allclose(float(whole), float(part), rtol=1e-5) and np.allclose(np.asarray(x.grad), dx, rtol=1e-4, atol=1e-4)
assert np.allclose(np.asarray(own[0].grad), np.asarray(first.grad)[8 * r:8 * r + 8], rtol=1e-4, atol=1e-4)
pair = [hk.asarray(values[0]) for _ in range(2)]
for p in pair:
    p.attach_grad()
    p.grad[...] = r + 1.0
plain, parts = hk.optim.Adam([pair[0]]), hk.optim.Adam([pair[1]], group=all)
all.all_reduce([pair[0].grad])
plain.step()
parts.step()
assert (np.asarray(pair[0]) == np.asarray(pair[1])).all()
kept = parts._optimizer.arrays()
assert sum(v.size for k, v in kept.items() if k.startswith("state")) <= 2 * (48 / n + 16)
# Whole states, which fit an optimizer without ranks, and one of fewer.
states = parts.state(), plain.state()
assert states[0].keys() == states[1].keys()
for name in states[0]:
    assert states[0][name].shape == states[1][name].shape and (np.asarray(states[0][name]) == np.asarray(states[1][name])).all(), name
half = hk.optim.Adam([pair[1]], group=all.split(r))
half.load(states[0])
plain.load(states[0])
for p in pair:
    p.grad[...] = 0.25
plain.step()
half.step()
assert (np.asarray(pair[0]) == np.asarray(pair[1])).all()
# A file that all of them save, and that an optimizer without ranks, or of one rank, goes on from.
hk.save_checkpoint(sys.argv[2], adam=parts, steps=1)
one = [hk.optim.Adam([pair[0]]), hk.optim.Adam([pair[1]], group=all.split(r))]
for optimizer in one[:2]:
    assert hk.load_checkpoint(sys.argv[2], adam=optimizer)["steps"] == 1
    loaded = optimizer.state()
    assert (np.asarray(loaded["state.0"]) == np.asarray(states[0]["state.0"])).all()
    assert (np.asarray(loaded["coefficients.0"]) == np.asarray(kept["coefficients.0"])).all()
all.barrier()
small = hk.full((2,), 1.0)  # of which the second rank has no part
small.attach_grad()
small = hk.optim.Adam([small], lr=0.25 if r == 0 else 0.5, group=all)
hk.save_checkpoint(sys.argv[2], adam=small)
hk.load_checkpoint(sys.argv[2], adam=small)
assert small.lr == 0.25
try:
    hk.save_checkpoint("/no/such/folder/x.safetensors", adam=parts)
    raise SystemExit("a file in no folder is saved")
except (hk.Error, OSError) as error:
    assert r == 0 or str(error).startswith("rank 0: "), error
try:
    parts.load({"state.0": states[0]["state.0"]})
    raise SystemExit("coefficients are missing, and nothing is said")
except KeyError as error:
    assert "coefficients.0" in str(error), error
rows = hk.asarray(random.standard_normal((4 * n, 3)).astype(np.float32))
norm, over = hk.nn.BatchNorm(), hk.nn.BatchNorm(group=all)
assert np.allclose(np.asarray(norm(rows))[4 * r:4 * r + 4], np.asarray(over(rows[4 * r:4 * r + 4])), atol=1e-5)
'''


PYPI = pathlib.Path(__file__).resolve().parents[2] / "build" / "pypi" / "bin"  # scripts/install-pypi


@pytest.mark.parametrize("mpi", ["openmpi", "mpich", "abi"])
def test_ranks(mpi, tmp_path):
    launcher = shutil.which("mpiexec.hydra", path=PYPI) if mpi == "abi" else shutil.which(f"mpirun.{mpi}")
    plugin = pathlib.Path(hk._core.__file__).parent / f"libhocket_mpi_{mpi}.so"
    if not launcher or not plugin.exists():
        pytest.skip(f"{mpi} is not installed")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", HOCKET_MPI=mpi)
    command = [launcher] + (["--oversubscribe"] if mpi == "openmpi" else [])
    result = subprocess.run(command + ["-n", "2", sys.executable, str(program), "2", str(tmp_path / "file.safetensors")], env=environment, capture_output=True,
                            stdin=subprocess.DEVNULL, text=True, timeout=100)
    assert result.returncode == 0, result.stdout + result.stderr


BESIDE = '''
import sys
import numpy as np
first = sys.argv[1] == "first"
if not first:
    import hocket as hk
    hk.world.init(timeout=60)
    import mpi4py
    mpi4py.rc.initialize = mpi4py.rc.finalize = False
from mpi4py import MPI
import hocket as hk
comm, all = MPI.COMM_WORLD, hk.world.group()
assert (comm.rank, comm.size) == (all.rank, all.size) == (comm.rank, 2)
for i in range(20):
    x, theirs = hk.full((20000,), all.rank + 1.0), np.zeros(20000)
    all.all_reduce([x])
    if first:  # which has started MPI for several threads; Hocket asks for less
        comm.Allreduce(np.full(20000, comm.rank + 1.0), theirs)
        assert (np.asarray(x) == theirs).all() and comm.allgather(comm.rank) == [0, 1]
late = hk.full((400000,), 1.0)
all.all_reduce([late])  # under way when Python ends, and MPI with it
'''


def python_with_mpi4py():
    for python in filter(None, (sys.executable, shutil.which("python", path=PYPI))):
        found = subprocess.run([python, "-c", "import mpi4py, numpy"], capture_output=True, check=False)
        if found.returncode == 0:
            return python
    pytest.skip("mpi4py is not installed")


@pytest.mark.parametrize("who", ["first", "last"])
def test_beside_mpi4py(who, tmp_path):
    python, launcher = python_with_mpi4py(), shutil.which("mpirun.openmpi")
    if not launcher or not (pathlib.Path(hk._core.__file__).parent / "libhocket_mpi_openmpi.so").exists():
        pytest.skip("Open MPI is not installed")
    program = tmp_path / "program.py"
    program.write_text(BESIDE)
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", MPI4PY_MPIABI="openmpi")
    command = [launcher, "--oversubscribe", "-n", "2", python, str(program), who]
    result = subprocess.run(command, env=environment, capture_output=True, stdin=subprocess.DEVNULL, text=True, timeout=100)
    assert result.returncode == 0 and "MPI_FINALIZE" not in result.stderr, result.stdout + result.stderr


QUEUED = '''
import time
import hocket as hk
all = hk.world.group()
time.sleep(0.1 * all.rank)  # the other one is at its end by then
for i in range(12):
    x = hk.full((200000,), 1.0)
    all.all_reduce([x])
x = hk.full((700, 700), 1.0)
for i in range(40):
    x = x @ x / 700
x = x.sum()
all.all_reduce([x])
if all.rank:
    assert x.item() == 2 * 700 * 700
'''


def test_sums_are_queued_at_the_end(tmp_path):
    """They are done, since other ranks may need them: of two that sum, one alone may look at the result."""
    launcher = shutil.which("mpirun.openmpi")
    if not launcher or not (pathlib.Path(hk._core.__file__).parent / "libhocket_mpi_openmpi.so").exists():
        pytest.skip("Open MPI is not installed")
    program = tmp_path / "program.py"
    program.write_text(QUEUED)
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", HOCKET_MPI="openmpi")
    result = subprocess.run([launcher, "--oversubscribe", "-n", "2", sys.executable, str(program)], env=environment, capture_output=True,
                            stdin=subprocess.DEVNULL, text=True, timeout=100)
    assert result.returncode == 0, result.stdout + result.stderr


def test_deinit_of_a_world_of_one():
    """There is nothing to end: groups go on."""
    hk.world.deinit()
    x = hk.ones(3)
    hk.world.group().all_reduce([x])
    assert x.numpy().tolist() == [1, 1, 1] and hk.world.size() == 1


def test_loader_slices():
    data = hk.asarray(np.arange(12, dtype=np.float32))

    class Part:
        size, rank = 3, 1

    rows = [np.asarray(x).tolist() for (x,) in hk.data.Loader([data], 6, group=Part())]
    assert rows == [[2, 3], [8, 9]]


ORDER = '''
import hocket as hk
hk.world.init(timeout=60)
all = hk.world.group()

def step(a, b):
    if all.rank:
        all.all_reduce([b])
        all.all_reduce([a])
    else:
        all.all_reduce([a])
        all.all_reduce([b])

for run in (step, hk.capture(step)):
    a, b = hk.ones(1000), hk.ones(1000)
    try:
        run(a, b)
        a.tolist()
        raise SystemExit("sums have changed places, and nothing is said")
    except hk.Error as error:
        lines = ("(order.py:12)", "(order.py:9)") if all.rank else ("(order.py:11)", "(order.py:8)")
        assert lines[0] in str(error) and lines[1] in str(error) and "HOCKET_CHECK" in str(error), error
    try:
        hk.wait()
    except hk.Error:
        pass
    hk._core._failures_clear()
all.barrier()
'''


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_lines_are_compared_where_asked_for(mpi, tmp_path):
    launcher = shutil.which(f"mpirun.{mpi}")
    if not launcher or not (pathlib.Path(hk._core.__file__).parent / f"libhocket_mpi_{mpi}.so").exists():
        pytest.skip(f"{mpi} is not installed")
    program = tmp_path / "order.py"
    program.write_text(ORDER)
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", HOCKET_MPI=mpi, HOCKET_CHECK="1")
    command = [launcher] + (["--oversubscribe"] if mpi == "openmpi" else []) + ["-n", "2", sys.executable, str(program)]
    result = subprocess.run(command, env=environment, capture_output=True, stdin=subprocess.DEVNULL, text=True, timeout=100)
    assert result.returncode == 0, result.stdout + result.stderr
