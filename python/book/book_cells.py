"""Cells of Markdown files such as those of *Dive into Deep Learning*, and the rule that makes their imports Hocket's.

A cell is a fence ```{.python .input}. Its first lines may say of which tabs it is: ``#@tab pytorch, mxnet`` or ``%%tab pytorch``; all
is each of them. A cell that says nothing is every tab's where the file is for the extension %%tab, else the default one's, mxnet.
"""

import ast
import collections
import re

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


# ---- the import rule ------------------------------------------------------------------------------------------------

PACKAGES = ("torch", "torchvision", "mxnet", "d2l")
_from = re.compile(rf"^(\s*from\s+)({'|'.join(PACKAGES)})(?=[\s.])")
_import = re.compile(r"^(\s*import\s+)([^#;]+?)(\s*(?:[#;].*)?)$")


def _imported(name):
    """What stands for one name of an import statement."""
    path, _, alias = (part.strip() for part in name.strip().partition(" as "))
    top = path.split(".")[0]
    if top not in PACKAGES:
        return name.strip()
    if alias:
        return f"hocket.{path} as {alias}"
    return f"hocket.{top} as {top}" + (f", hocket.{path}" if path != top else "")


def import_rule(code):
    """``from torch …`` becomes ``from hocket.torch …``, ``import torch`` becomes ``import hocket.torch as torch``; so do the others."""
    lines = []
    for line in code.split("\n"):
        line = _from.sub(r"\1hocket.\2", line)
        plain = _import.match(line)
        if plain:
            line = plain.group(1) + ", ".join(_imported(name) for name in plain.group(2).split(",")) + plain.group(3)
        lines.append(line)
    return "\n".join(lines)


# ---- running -------------------------------------------------------------------------------------------------------


def run(code, name, namespace):
    """Runs a cell as a notebook does: gives the value of its last line where that is an expression without a semicolon."""
    tree = ast.parse(code, name)
    last = tree.body[-1] if tree.body else None
    shown = isinstance(last, ast.Expr) and not code.rstrip().endswith(";")
    if shown:
        tree.body.pop()
    exec(compile(tree, name, "exec"), namespace)
    return eval(compile(ast.Expression(last.value), name, "eval"), namespace) if shown else None


class Tab:
    """What cells for several tabs call tab."""

    def __init__(self, name):
        self.name = name

    def selected(self, *names):
        return self.name in names

    def interact_select(self, *names):
        pass
