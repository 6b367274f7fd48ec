"""Cells of notebooks, and of Markdown files such as those of *Dive into Deep Learning*.

A cell is a fence ```{.python .input}. Its first lines may say of which tabs it is: ``#@tab pytorch, mxnet`` or ``%%tab pytorch``; all
is each of them. A cell that says nothing is every tab's where the file is for the extension %%tab, else the default one's, mxnet.
"""

import ast
import collections
import json
import os
import re
import sys
import types

from .._dialects.devices import advise as _advise

TABS = ("pytorch", "mxnet")
DEFAULT_TAB = "mxnet"

Cell = collections.namedtuple("Cell", "line code")

_fence = re.compile(r"^```\s*\{\.python\s+\.input[^}]*\}\s*$")
_mark = re.compile(r"^\s*(?:#\s*@tab|%%tab)\s+(.*?)\s*$")
_notebook_only = re.compile(r"^\s*[%!]|^\s*tab\.interact_select")


def _tabs_and_code(lines):
    """The tabs that a cell's first lines name, and its other lines; those for a notebook are blank."""
    tabs, code = [], []
    for line in lines:
        mark = _mark.match(line)
        if mark and not any(text.strip() for text in code):
            tabs += [name.strip() for name in mark.group(1).split(",")]
            code.append("")
        else:
            code.append("" if _notebook_only.match(line) else line)
    return tabs, code


def cells(text, tab):
    """The Cells of a tab that have something to run, in order; line is that of the first line of code."""
    unmarked = "all" if "%%tab" in text or "tab.interact_select" in text else DEFAULT_TAB
    found, block, start = [], None, 0
    for number, line in enumerate(text.splitlines(), 1):
        if block is None:
            if _fence.match(line):
                block, start = [], number + 1
        elif line.startswith("```"):
            tabs, code = _tabs_and_code(block)
            if not {tab, "all"}.isdisjoint(tabs or [unmarked]) and any(part.strip() for part in code):
                found.append(Cell(start, "\n".join(code) + "\n"))
            block = None
        else:
            block.append(line)
    return found


def cells_of_file(path, tab):
    """The Cells of a notebook (.ipynb), of a tab of Markdown (.md), or of a program (.py), which is one."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    kind = os.path.splitext(path)[1]
    if kind == ".py":
        return [Cell(1, text)]
    if kind == ".md":
        return cells(text, tab)
    if kind != ".ipynb":
        raise ValueError(f"{path} is no .ipynb, .md or .py")
    notebook, found, line = json.loads(text), [], 1
    if not isinstance(notebook, dict):
        raise ValueError(f"{path} is no notebook: it holds no cells")
    for part in notebook.get("cells", ()):
        code = "".join(part.get("source", ()))
        lines = ["" if _notebook_only.match(row) else row for row in code.split("\n")]
        if part.get("cell_type") == "code" and any(row.strip() for row in lines):
            found.append(Cell(line, "\n".join(lines) + "\n"))
            line += len(lines)
    return found


# ---- running -------------------------------------------------------------------------------------------------------


def run(code, name, namespace):
    """Runs a cell as a notebook does: gives the value of its last line where that is an expression without a semicolon."""
    tree = ast.parse(code, name)
    last = tree.body[-1] if tree.body else None
    shown = isinstance(last, ast.Expr) and not code.rstrip().endswith(";")
    if shown:
        tree.body.pop()
    try:
        exec(compile(tree, name, "exec"), namespace)
        return eval(compile(ast.Expression(last.value), name, "eval"), namespace) if shown else None
    except IndexError as error:
        _advise(error)
        raise


def namespace(tab):
    """That of a new module __main__, in which pickles find what cells define."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.tab = Tab(tab)
    return vars(module)


class Tab:
    """What cells for several tabs call tab."""

    def __init__(self, name):
        self.name = name

    def selected(self, *names):
        return self.name in names

    def interact_select(self, *names):
        pass
