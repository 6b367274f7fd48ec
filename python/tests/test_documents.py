"""What documents show of Python is so: examples of functions, blocks of pages, the tables of the guide for those who come from elsewhere."""

import inspect
import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import hocket as hk
from hocket import data, nn, optim

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What has no result to show: files, waits, what is of a whole run, other names of what is there.
WITHOUT = set("""wait devices load load_checkpoint save save_checkpoint all_reduce runtime split_and_load stats seed capture backward gradients
    is_recording export array concatenate power cumsum cumprod unique set_state""".split())


def public(module, prefix):
    for name in sorted(vars(module)):
        thing = getattr(module, name)
        if not name.startswith("_") and callable(thing) and not isinstance(thing, type) and name not in WITHOUT:
            if getattr(thing, "__module__", "").startswith("hocket"):
                yield pytest.param(thing, id=prefix + name)


FUNCTIONS = [*public(hk, ""), *public(hk.linalg, "linalg."), *public(hk.fft, "fft."), *public(hk.random, "random."),
             *public(nn.functional, "nn.functional.")]


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def with_numbers(text):
    """(the text without its numbers and blanks, the numbers): their last digits depend on the machine."""
    number = r"(?<![A-Za-z_\d.:])[-+]?\d+\.?\d*(?:e[-+]?\d+)?"
    return re.sub(number, "#", re.sub(r"\s+", "", text)), [float(x) for x in re.findall(number, re.sub(r"\s+", " ", text))]


# Classes: all layers, and rates by step. Module and Layer are what others are made of.
CLASSES = [pytest.param(getattr(module, name), id=f"{module.__name__}.{name}") for module, names in (
    (nn, [name for name in vars(nn) if isinstance(getattr(nn, name), type) and not name.startswith("_") and name not in ("Module", "Layer")]),
    (optim, ["Step", "Cosine", "WarmUp", "Plateau", "EarlyStop"])) for name in names]


@pytest.mark.parametrize("function", FUNCTIONS + CLASSES)
def test_examples_of_functions(function):
    text = inspect.getdoc(function)
    examples = re.findall(r"^>>> (.*)\n((?:(?!>>> ).+\n?)+)", text, re.M)
    assert examples, "an example is missing"
    for call, result in examples:
        (got, got_numbers), (wanted, wanted_numbers) = with_numbers(repr(eval(call, {"hk": hk}))), with_numbers(result)
        assert got == wanted, (call, result)
        np.testing.assert_allclose(got_numbers, wanted_numbers, rtol=1e-5, atol=1e-6)


def test_texts_of_operators_say_what_they_take():
    """Shapes, dtypes and errors come from the table."""
    told = 0
    for name, function in hk._core.operators.items():
        dtypes = re.search(r"^Dtypes: ([^.;]*)(;.*)?\.$", function.__doc__, re.M)
        needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        if not dtypes or len(needed) != 1 or "Shapes: any" not in function.__doc__:
            continue
        told += 1
        for dtype in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128".split():
            x = hk.asarray([1, 1], dtype=dtype)
            if dtype in dtypes[1].split(", ") or dtypes[2] and dtype[:3] in ("boo", "int", "uin"):
                assert function(x).shape == x.shape, (name, dtype)
            else:
                with pytest.raises(hk.UnsupportedError):
                    function(x)
    assert told > 40


# ---- names of operators

# Operators that are reached in another way, as the name says what a program wants.
OTHER_NAMES = {
    "cast": "astype", "cross_entropy_loss": "nn.functional.cross_entropy", "index_select": "take", "matrix_trace": "linalg.trace",
    "norm": "linalg.vector_norm", "sequence": "arange", "slice_step": "Array.__getitem__",
    "softmax_cross_entropy": "nn.functional.cross_entropy", "to_device": "Array.to_device",
}
# What an operator of an array and a number is called by: x + 2 and hk.add(x, 2) are add_scalar.
OF_NUMBERS = "_scalar"


def named(path):
    thing = hk
    for name in path.split("."):
        thing = getattr(thing, name, None)
    return thing


def test_each_operator_has_a_public_name():
    """In the package, nn.functional, linalg, fft or random; a documented one."""
    operators = re.findall(r"^## (\w+)$", read("docs", "OPERATORS.md"), re.M)
    assert set(operators) == set(hk._core.operators) and len(operators) > 200
    wanting = []
    for name in operators:
        of_two = name.removesuffix(OF_NUMBERS)
        paths = [OTHER_NAMES[of_two]] if of_two in OTHER_NAMES else [prefix + of_two for prefix in ("", "nn.functional.", "linalg.", "fft.", "random.")]
        if not any(callable(named(path)) and inspect.getdoc(named(path)) for path in paths):
            wanting.append(name)
    assert not wanting
    assert not [name for name in OTHER_NAMES if name not in operators or named(name) is not None]


def test_the_exceptions_do_what_the_operators_do():
    ops, x = hk._core.operators, hk.asarray([[1.0, -2.0], [3.0, 4.0]])
    labels, functional = hk.asarray([1, 0]), nn.functional
    for one, other in (
        (ops["cast"](x, hk.int32), hk.astype(x, hk.int32)), (ops["index_select"](x, labels, 1), hk.take(x, labels, axis=1)),
        (ops["matrix_trace"](x, 1), hk.linalg.trace(x, offset=1)), (ops["norm"](x, 1), hk.linalg.vector_norm(x, axis=1)),
        (ops["sequence"](3, 2, 4, hk.int64), hk.arange(3, 11, 2)), (ops["slice_step"](x, 1, 0, 2, 1), x[:, 0:2:1]),
        (ops["softmax_cross_entropy"](x, labels), functional.cross_entropy(x, labels)), (ops["to_device"](x, device="cpu:0"), x.to_device("cpu:0")),
        (ops["cross_entropy_loss"](x, labels, label_smoothing=0.1), functional.cross_entropy(x, labels, "mean", label_smoothing=0.1)),
    ):
        assert one.dtype == other.dtype and one.tolist() == other.tolist()


# ---- pages


def blocks(text):
    """Python's, of Markdown and of reStructuredText."""
    return re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) + [
        textwrap.dedent(block) for block in re.findall(r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", text, re.M)]


@pytest.fixture
def small_data(monkeypatch):
    """The sets of the pages, of a few samples."""
    order = np.random.default_rng(0)
    some = data.arrays(order.random((512, 1, 28, 28), dtype="float32"), order.integers(0, 10, 512))
    monkeypatch.setattr(data, "fashion_mnist", lambda part="train", folder=None: some)
    return some


@pytest.mark.parametrize("page", [("README.md",), ("python", "TRAINING.md"), ("docs", "MACHINES.md")], ids=lambda path: path[-1])
def test_blocks_of_pages(page, small_data, capsys):
    found = blocks(read(*page))
    assert found
    net = nn.Sequential(nn.Flatten(), nn.Linear(10)).build((1, 1, 28, 28))
    around = {"net": net, "params": net.parameters(), "train": small_data, "loss_of": lambda y, labels: nn.functional.cross_entropy(y, labels).sum()}
    for block in found:
        exec(compile(block, "/".join(page), "exec"), around)
    hk.wait()


# ---- the guide: what stands in the right column, and the words of the notes


class Namespace(dict):
    """Names of the guide that stand for anything."""

    def __init__(self):
        x = hk.asarray([[1.0, 2.0], [3.0, 4.0]])
        net = nn.Sequential(nn.Linear(4), nn.ReLU(), nn.Linear(2))
        net(x)
        with hk.record():
            loss = net(x).sum()
        loss.backward()
        super().__init__(hk=hk, nn=nn, optim=optim, data=data, np=np, x=x, v=[1.0, 2.0], s=(2, 3), axes=(1, 0), net=net, n=2, lr=0.1, set=[x, x],
                         opt=optim.SGD(net, 0.1), step=lambda y: y + 1, devices=hk.devices(), p=[0.5, 0, 0, 0.5],
                         y=hk.asarray([1, 0]), i=hk.asarray([[1, 0], [0, 0]]))


def rows_of(page):
    for line in read("docs", "site", page).split("\n"):
        columns = re.split(r"  +(?=``|the |within |it |inputs)", line.strip())
        if line.startswith(("``", "gradients", "``with")) and len(columns) == 2:
            yield columns


ROWS = list(rows_of("from_others.rst"))
NOT_HERE = {'x.to_device("cuda:0")': 'x.to_device("cpu:0")'}  # a GPU


@pytest.mark.parametrize("theirs, ours", ROWS, ids=[row[0].strip("`") for row in ROWS])
def test_the_guide(theirs, ours):
    around = Namespace()
    codes = re.findall(r"``(.*?)``", ours)
    for code in codes:
        code = NOT_HERE.get(code, code)
        if code.endswith(":"):  # a block
            exec(code + "\n    pass", around)
        elif code == 'attach_grad("add")':
            around["x"].attach_grad("add")
        else:
            eval(code, around)
    assert codes or ours.startswith("the same")


def test_there_are_rows_of_all_three():
    assert len(ROWS) > 22


def test_numpys_array_shares_memory_as_the_guide_says():
    x = hk.zeros(3)
    values = np.asarray(x)
    x[0] = 4
    assert values[0] == 4 and not values.flags.writeable
    np.asarray(x.lend())[0] = 5
    assert values[0] == x[0].item() == 5


@pytest.mark.parametrize("line", re.findall(r"``(from hocket.*?)``", read("docs", "site", "from_others.rst")))
def test_imports_of_the_guide(line):
    import subprocess
    import sys
    assert subprocess.run([sys.executable, "-c", line], capture_output=True, timeout=60).returncode == 0


def test_what_a_newcomer_is_told_to_run():
    """scripts/try-fresh finds README's commands and programs, and runs them where there is nothing else yet."""
    listed = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "try-fresh"), "--list"], capture_output=True, text=True, check=True).stdout
    steps = [line.partition(": ")[2] for line in listed.splitlines()]
    for wanted in (r"make train$", r"make test$", r"make build && cmake --install ", r".*pip install \.", r"cc \w+\.c .*pkg-config", r"\./a\.out$",
                   r".*/bin/python \w+\.py$"):
        assert any(re.match(wanted, step) for step in steps), f"no step of README is {wanted}: {steps}"
