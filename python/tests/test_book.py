"""scripts/run-book and its import rule; the book's own library where it is installed."""
import importlib.util
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "python", "tests", "book")
sys.path.insert(0, os.path.join(ROOT, "tools"))
import book_cells  # noqa: E402


@pytest.mark.parametrize("line, wanted", [
    ("from torch import nn", "from hocket.torch import nn"),
    ("    from torch.nn import functional as F", "    from hocket.torch.nn import functional as F"),
    ("import torch", "import hocket.torch as torch"),
    ("import torch.nn as nn", "import hocket.torch.nn as nn"),
    ("import math, torch  # both", "import math, hocket.torch as torch  # both"),
    ("import torch.utils.data", "import hocket.torch as torch, hocket.torch.utils.data"),
    ("from d2l import mxnet as d2l", "from hocket.d2l import mxnet as d2l"),
    ("import torchvision", "import hocket.torchvision as torchvision"),
    ("from mxnet import np, npx", "from hocket.mxnet import np, npx"),
    ("import torchtext, numpy as np", "import torchtext, numpy as np"),
    ("from torchtext import data", "from torchtext import data"),
    ("x = 'import torch'", "x = 'import torch'"),
    ("from . import torch", "from . import torch"),
])
def test_the_import_rule(line, wanted):
    assert book_cells.import_rule(line) == wanted


def test_cells_of_tabs():
    with open(os.path.join(HERE, "lines.md"), encoding="utf-8") as file:
        text = file.read()
    found = {tab: book_cells.cells(text, tab) for tab in ("pytorch", "mxnet", "tensorflow")}
    assert [len(cells) for cells in found.values()] == [5, 5, 4]
    first = found["pytorch"][0]
    assert "%matplotlib" not in first.code and "#@tab" not in first.code
    assert text.splitlines()[first.line - 1] == "%%tab pytorch" and first.code.startswith("\n\nfrom d2l import")
    old = "```{.python .input}\nx\n```\n```{.python .input  n=2}\n#@tab pytorch, tensorflow\ny\n```\n"
    assert [cell.code for cell in book_cells.cells(old, "mxnet")] == ["x\n"]
    assert [cell.code for cell in book_cells.cells(old, "pytorch")] == ["\ny\n"]


def test_a_cell_gives_its_last_value():
    assert book_cells.run("x = 2\nx + 1\n", "cell", {}) == 3
    assert book_cells.run("x = 2\nx + 1;\n", "cell", {}) is None


def run_book(*arguments):
    return subprocess.run([sys.executable, os.path.join(ROOT, "tools", "run_book.py"), *arguments], capture_output=True, text=True,
                          env=os.environ | {"HOCKET_SIM": "1"})


def test_a_file_runs_in_both_dialects(tmp_path):
    report = tmp_path / "report.md"
    done = run_book("--library", os.path.join(HERE, "library"), "--report", str(report), "--verbose", HERE)
    assert done.returncode == 1, done.stderr
    assert "| book/lines | 4 of 5 | 4 of 5 |" in done.stdout and "['pytorch']" in done.stdout and "['mxnet']" in done.stdout
    text = report.read_text()
    assert text.count("this cell needs the network") == 2 and "book/lines:69 (pytorch)" in text, text


def test_replaced_code_and_time_limits(tmp_path):
    path = tmp_path / "slow.md"
    path.write_text("```{.python .input}\nfor _ in range(10 ** 12): pass\n```\n```{.python .input}\nprint(steps := 10 ** 12)\n```\n")
    done = run_book("--tab", "mxnet", "--seconds", "1", str(path))
    assert "1 of 2 cells" in done.stdout and "slow:2 (mxnet): TooLong: more than 1 s" in done.stdout
    done = run_book("--tab", "mxnet", "--seconds", "5", "--replace", r"range\(10 \*\* 12\)", "range(3)", str(path))
    assert done.returncode == 0 and "2 of 2 cells" in done.stdout, done.stdout


D2L = os.environ.get("HOCKET_D2L") or (importlib.util.find_spec("d2l") and os.path.dirname(importlib.util.find_spec("d2l").origin))


@pytest.mark.skipif(not D2L, reason="the package d2l is not installed, and HOCKET_D2L names no folder of it")
@pytest.mark.parametrize("tab", ["pytorch", "mxnet"])
def test_the_books_own_library_is_unmodified(tmp_path, tab):
    """Its classes train after the import rule alone."""
    path = tmp_path / "library.md"
    name = {"pytorch": "torch", "mxnet": "mxnet"}[tab]
    path.write_text(f"""
```{{.python .input}}
%%tab all
from d2l import {name} as d2l
```
```{{.python .input}}
%%tab all
data = d2l.SyntheticRegressionData(w=d2l.tensor([2, -3.4]), b=4.2)
for model in (d2l.LinearRegressionScratch(2, lr=0.03), d2l.LinearRegression(lr=0.03)):
    d2l.Trainer(max_epochs=3).fit(model, data)
    assert model.board.data['val_loss'][-1].y < 0.3
w, b = model.get_w_b()
assert abs(float(b) - 4.2) < 0.4, b
```
```{{.python .input}}
%%tab all
data = d2l.FashionMNIST(batch_size=64)
for model in (d2l.SoftmaxRegression(10, lr=0.1), d2l.LeNet(lr=0.1)):
    d2l.Trainer(max_epochs=1, num_gpus=1).fit(model, data)
```
""")
    done = run_book("--tab", tab, "--library", D2L, "--images", "256", str(path))
    assert "3 of 3 cells" in done.stdout, done.stdout
