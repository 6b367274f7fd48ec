"""python/book/run-book; the book's own library where it is installed."""
import importlib.util
import os
import subprocess
import sys

import pytest

from hocket.book import cells as book_cells

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "book")
BOOK = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, BOOK)
from hocket.book import cells as book_cells  # noqa: E402


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
    return subprocess.run([sys.executable, os.path.join(BOOK, "run_book.py"), *arguments], capture_output=True, text=True,
                          env=os.environ | {"HOCKET_SIM": "1"})


def test_a_file_runs_in_both_dialects(tmp_path):
    report = tmp_path / "report.md"
    done = run_book("--library", os.path.join(HERE, "library"), "--report", str(report), "--verbose", HERE)
    assert done.returncode == 0, done.stderr
    assert "| book/lines | 4 of 4 (+ 1) | 4 of 4 (+ 1) |" in done.stdout and "['pytorch']" in done.stdout and "['mxnet']" in done.stdout
    text = report.read_text()
    assert "## Need the network" in text and "book/lines:69 (pytorch)" in text, text


def test_replaced_code_and_time_limits(tmp_path):
    path = tmp_path / "slow.md"
    path.write_text("```{.python .input}\nfor _ in range(10 ** 12): pass\n```\n```{.python .input}\nprint(steps := 10 ** 12)\n```\n")
    done = run_book("--tab", "mxnet", "--seconds", "1", str(path))
    assert "1 of 2 cells" in done.stdout and "slow:2 (mxnet): TooLong: more than 1 s" in done.stdout
    done = run_book("--tab", "mxnet", "--seconds", "5", "--replace", r"range\(10 \*\* 12\)", "range(3)", str(path))
    assert done.returncode == 0 and "2 of 2 cells" in done.stdout, done.stdout


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
@pytest.mark.parametrize("before", [False, True])
def test_what_newer_libraries_dropped(before):
    """An option of matplotlib's stem, and lists of numbers and arrays of one; imported before hocket.book or after."""
    lines = ["import matplotlib.pyplot as plt", "import hocket.book", "hocket.book.install()"]
    lines = (lines if before else lines[1:] + lines[:1]) + [
        "hocket.book.install()", "from mxnet import np", "print(plt.stem([0, 1], [2, 3], use_line_collection=True))",
        "print(plt.plot([-5, np.ones((1,))], (1, np.zeros((1,))), '-o')[0].get_xydata().tolist())",
        "print(plt.plot(np.arange(2), [np.ones((1,)), np.ones((1,))])[0].get_xydata().tolist())"]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, env=os.environ | {"MPLBACKEND": "agg"})
    assert done.returncode == 0, done.stderr
    assert "StemContainer" in done.stdout and "[[-5.0, 1.0], [1.0, 0.0]]\n[[0.0, 1.0], [1.0, 1.0]]" in done.stdout, done.stdout


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


MORE = """
```{.python .input}
%%tab pytorch
from d2l import torch as d2l
import torch
from torch import nn
```
```{.python .input}
%%tab pytorch
data = d2l.TimeMachine(batch_size=32, num_steps=8, num_train=256, num_val=64)
for rnn in (d2l.RNNScratch(len(data.vocab), 8), d2l.RNN(len(data.vocab), 8), d2l.GRU(len(data.vocab), 8, num_layers=2)):
    kind = d2l.RNNLMScratch if isinstance(rnn, d2l.RNNScratch) else d2l.RNNLM
    model = kind(rnn, vocab_size=len(data.vocab), lr=1)
    d2l.Trainer(max_epochs=2, gradient_clip_val=1, num_gpus=1).fit(model, data)
    drawn = [float(point.y) for point in model.board.data["train_ppl"]]
    assert drawn[-1] < drawn[0], drawn
```
```{.python .input}
%%tab pytorch
features = torch.randn(1000, 5)
batches = d2l.load_array((features, features.sum(1)), 50)
for kind, options in ((torch.optim.SGD, {"lr": 0.05, "momentum": 0.5}), (torch.optim.Adam, {"lr": 0.02}), (torch.optim.Adagrad, {"lr": 0.2})):
    d2l.train_concise_ch11(kind, options, batches, 2)
```
```{.python .input}
%%tab pytorch
net = d2l.resnet18(2, 1)
images, labels = torch.randn(20, 1, 16, 16), torch.arange(20) % 2
net(images[:2])
batches = d2l.load_array((images, labels), 4)
d2l.train_ch13(net, batches, batches, nn.CrossEntropyLoss(reduction="none"), torch.optim.Adam(net.parameters(), lr=1e-3), 1, d2l.try_all_gpus())
```
```{.python .input}
%%tab pytorch
bert = d2l.BERTModel(20, num_hiddens=8, ffn_num_hiddens=16, num_heads=2, num_blks=1, dropout=0.0)
tokens, segments = torch.randint(0, 20, (4, 6)), torch.zeros(4, 6, dtype=torch.long)
given = tokens, segments, torch.tensor([6] * 4), torch.tensor([[1, 3]] * 4), torch.ones(4, 2), tokens[:, [1, 3]], torch.arange(4) % 2
bert(*given[:4])
trainer, losses = torch.optim.Adam(bert.parameters(), lr=0.01), []
for _ in range(20):
    trainer.zero_grad()
    loss = d2l._get_batch_loss_bert(bert, nn.CrossEntropyLoss(), 20, *given)[2]
    loss.backward()
    trainer.step()
    losses.append(float(loss))
assert losses[-1] < 0.7 * losses[0], losses
```
```{.python .input}
%%tab pytorch
maker, judge = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
trainers = [torch.optim.Adam(net.parameters(), lr=0.05) for net in (judge, maker)]
real, loss = torch.randn(16, 2) + 3, nn.BCEWithLogitsLoss(reduction="sum")
told = []
for _ in range(20):
    told.append(float(d2l.update_D(real, torch.randn(16, 2), judge, maker, loss, trainers[0])))
d2l.update_G(torch.randn(16, 2), judge, maker, loss, trainers[1])
assert told[-1] < told[0], told
```
```{.python .input}
%%tab pytorch
boxes = d2l.multibox_prior(torch.zeros(1, 3, 2, 2), [0.5], [1, 2])
truth = torch.cat([torch.tensor([[1.0]]), boxes[0, 3:4]], 1).reshape(1, 1, 5)
offsets, mask, classes = d2l.multibox_target(boxes, truth)
assert boxes.shape == (1, 8, 4) and classes[0, 3] == 2 and mask.reshape(8, 4)[3].tolist() == [1] * 4
found = d2l.multibox_detection(torch.tensor([[[0.1] * 8, [0.9] + [0.2] * 7]]), torch.zeros(1, 32), boxes, nms_threshold=0.1)
assert found[0, 0, :2].tolist() == [0, torch.tensor(0.9)] and (found[0, :, 0] == -1).any()
```
"""


@pytest.mark.skipif(not D2L, reason="the package d2l is not installed, and HOCKET_D2L names no folder of it")
def test_more_of_the_books_own_library(tmp_path):
    (tmp_path / "timemachine.txt").write_text("the lamp of the old engine passes a slow bridge at noon\n" * 60)
    (tmp_path / "more.md").write_text(MORE)
    done = run_book("--tab", "pytorch", "--library", D2L, "--stand-in", str(tmp_path), str(tmp_path / "more.md"))
    assert "7 of 7 cells" in done.stdout, done.stdout
