"""hocket.book: imports of a chapter's cells give Hocket's dialects, and the library d2l stands upon them."""
import importlib.util
import json
import os
import subprocess
import sys

import pytest


def run(code, *arguments, **environment):
    return subprocess.run([sys.executable, "-W", "ignore", *(arguments or ("-c", code))], capture_output=True, text=True,
                          env={**os.environ, **environment})


def output(code, **environment):
    done = run("import hocket.book; hocket.book.install()\n" + code, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("line, name, wanted", [
    ("import torch", "torch", "hocket.torch"),
    ("from torch import nn", "nn", "hocket.torch.nn"),
    ("from torch.nn import functional as F", "F", "hocket.torch.nn.functional"),
    ("import torch.utils.data", "torch.utils.data", "hocket.torch.utils.data"),
    ("from torch.optim import lr_scheduler", "lr_scheduler", "hocket.torch.optim.lr_scheduler"),
    ("import torchvision", "torchvision", "hocket.torchvision"),
    ("from torchvision import transforms", "transforms", "hocket.torchvision.transforms"),
    ("import mxnet as mx", "mx", "hocket.mxnet"),
    ("from mxnet import np, npx", "npx", "hocket.mxnet.npx"),
    ("from mxnet.gluon.data.vision import transforms", "transforms", "hocket.mxnet.gluon.data.vision.transforms"),
    ("import mxnet.numpy.random", "mxnet.np.random", "hocket.mxnet.np.random"),
])
def test_imports_give_the_dialects(line, name, wanted):
    assert output(f"{line}\nprint({name}.__name__)") == wanted


def test_a_module_is_there_once():
    assert output("import torch, sys, hocket.torch\nfrom torch.nn import functional\nimport torch.nn.functional as again\n"
                  "print(torch is hocket.torch, functional is again, sys.modules['torch'] is torch)") == "True True True"


def test_what_is_not_there_is_told():
    assert "No module named 'torch.fx'" in run("import hocket.book; hocket.book.install()\nimport torch.fx").stderr


def test_another_torch_that_was_there_before():
    done = run("import sys, types\nsys.modules['torch'] = types.ModuleType('torch')\nimport hocket.book; hocket.book.install()")
    assert "ImportError: torch was imported before hocket.book: restart" in done.stderr


def test_without_the_books_library():
    done = run("import hocket.book, numpy, sys, os\n"
               "sys.path[:] = [path for path in sys.path if not os.path.isdir(os.path.join(path, 'd2l'))]\n"
               "hocket.book.install()\nfrom d2l import torch as d2l")
    assert "pip install --no-deps d2l==1.0.3" in done.stderr, done.stderr


@pytest.fixture
def library(tmp_path):
    """A folder with a package d2l."""
    folder = tmp_path / "d2l"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "torch.py").write_text("import torch\n\ndef num_gpus():\n    return torch.cuda.device_count()\n\n"
                                     "def try_all_gpus():\n    return [torch.device(f'cuda:{i}') for i in range(num_gpus())]\n")
    return str(tmp_path)


@pytest.mark.parametrize("name, edition", [("train_ch3", "0.17.6"), ("ProgressBoard", "1.0.3"), ("nonsense", None)])
def test_names_that_another_edition_has(library, name, edition):
    told = output(f"import sys; sys.path.insert(0, {library!r})\nfrom d2l import torch as d2l\n"
                  f"try: d2l.{name}\nexcept AttributeError as error: print(error)")
    assert name in told and (f"pip install --no-deps d2l=={edition}" in told) == bool(edition), told


def test_devices_that_are_not_there(library):
    code = (f"import sys; sys.path.insert(0, {library!r})\nfrom d2l import torch as d2l\ndevices = d2l.try_all_gpus()\n"
            "try: print(devices[1])\nexcept IndexError as error: print(error)")
    assert "HOCKET_SIM=2 in the environment makes two simulated ones" in output(code, HOCKET_SIM="")
    assert output(code, HOCKET_SIM="2") == "sim:1"


OWN = ("import torch\ndef try_all_gpus():\n    return [torch.device(f'cuda:{i}') for i in range(torch.cuda.device_count())]\n"
       "devices = try_all_gpus()\n")  # as a chapter's cell defines it, without the library


@pytest.mark.parametrize("line, is_told", [("devices[1]", True), ("[torch.ones(2, device=devices[i]) for i in range(2)]", True), ("[][1]", False)])
def test_lists_of_devices_that_cells_make(tmp_path, line, is_told):
    path = tmp_path / "a.md"
    path.write_text("```{.python .input}\n%%tab pytorch\n" + (OWN if is_told else "") + line + "\n```\n")
    done = run(None, "-m", "hocket.book", str(path), HOCKET_SIM="")
    error = done.stderr[done.stderr.index("IndexError: list index out of range"):]
    assert ("HOCKET_SIM=2 in the environment makes two simulated ones" in error) == is_told
    assert not is_told or run(None, "-m", "hocket.book", str(path), HOCKET_SIM="2").returncode == 0


@pytest.mark.parametrize("line", ["x.to('cuda:1')", "x.cuda(1)", "torch.ones(2, device='cuda:1')", "npx.gpu(1)", "torch.cuda.synchronize(1)"])
def test_devices_that_are_named_and_not_there(line):
    before = "from mxnet import npx\n" if "npx" in line else "import torch\nx = torch.ones(2)\n"
    told = output(f"{before}try: {line}\nexcept RuntimeError as error: print(error)", HOCKET_SIM="")
    assert "HOCKET_SIM=2 in the environment makes two simulated ones" in told, told
    output(f"{before}{line}", HOCKET_SIM="2")


@pytest.mark.parametrize("name, text", [
    ("a.py", "import torch\nprint(torch.ones(2))\n"),
    ("a.md", "```{.python .input}\n%%tab pytorch\nimport torch\ntorch.ones(2)\n```\n```{.python .input}\n%%tab mxnet\n1 / 0\n```\n"),
    ("a.ipynb", json.dumps({"cells": [{"cell_type": "markdown", "source": ["text"]},
                                      {"cell_type": "code", "source": ["%matplotlib inline\n", "import torch\n"]},
                                      {"cell_type": "code", "source": "torch.ones(2)"}]})),
])
def test_chapters_run_by_the_command(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    done = run(None, "-m", "hocket.book", str(path))
    assert done.stdout.strip() == "tensor([1., 1.])", done.stderr


@pytest.mark.parametrize("name, text, told", [
    ("a.md", "```{.python .input}\n%%tab all\n1 / 0\n```\n", "the cell at line 2 does not run"), ("a.txt", "", "is no .ipynb, .md or .py"),
    ("a.ipynb", "[]", "is no notebook"), ("a.ipynb", "{", "error"), ("absent.py", None, "No such file"),
])
def test_what_the_command_refuses(tmp_path, name, text, told):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    done = run(None, "-m", "hocket.book", str(path))
    assert done.returncode and told in done.stderr, done.stderr


@pytest.mark.skipif(importlib.util.find_spec("IPython") is None, reason="IPython is not installed")
def test_the_extension_of_notebooks(tmp_path):
    done = run("from IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell.instance()\n"
               "shell.run_line_magic('load_ext', 'hocket.book')\nshell.run_cell('import torch\\nprint(torch.__name__)')",
               HOME=str(tmp_path), IPYTHONDIR=str(tmp_path))
    assert "hocket.torch" in done.stdout, done.stderr
    done = run("from IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell.instance()\n"
               f"shell.run_line_magic('load_ext', 'hocket.book')\nshell.run_cell({OWN + 'devices[1]'!r})\nshell.run_cell('[][1]')",
               HOME=str(tmp_path), IPYTHONDIR=str(tmp_path), HOCKET_SIM="")
    assert done.stdout.count("IndexError") >= 2 and "HOCKET_SIM=2 in the environment" in done.stdout, done.stdout + done.stderr
