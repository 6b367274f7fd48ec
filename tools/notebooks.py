#!/usr/bin/env python3
"""Runs scripts of cells (``# %%``, ``# %% [markdown]``) and writes them, with what they show, as notebooks beside them.

    PYTHONPATH=build/release/python tools/notebooks.py examples/notebooks/*.py [--check]

A cell's last line, where it is an expression, is shown as in Jupyter: as text, and as HTML where it has a _repr_html_. Needs no Jupyter.
--check: nothing is written; cells must run, and the notebooks must hold the scripts' code.
"""

import contextlib
import io
import json
import os
import subprocess
import sys

from hocket.book import cells as book_cells


def cells(text):
    """(kind, source) of each cell of a script; kind is code or markdown."""
    found = []
    for line in text.splitlines():
        if line.startswith("# %%"):
            found.append(("markdown" if "[markdown]" in line else "code", []))
        elif found:
            found[-1][1].append(line)
    for kind, lines in found:
        if kind == "markdown":
            lines[:] = [line.removeprefix("#").removeprefix(" ") for line in lines]
    return [(kind, "\n".join(lines).strip("\n")) for kind, lines in found]


def _shown(value):
    data = {"text/plain": repr(value)}
    html = getattr(value, "_repr_html_", lambda: None)()
    return data | ({"text/html": html} if html else {})


def _run(source, number, namespace):
    """The outputs of a cell, as nbformat 4 has them."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        value = book_cells.run(source, f"cell {number}", namespace)
        outputs = [{"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": _shown(value)}] if value is not None else []
    text = printed.getvalue()
    return ([{"output_type": "stream", "name": "stdout", "text": text.splitlines(True)}] if text else []) + outputs


def notebook(text, execute):
    """The notebook of a script, as a dict."""
    made, namespace, number = [], {"__name__": "__main__"}, 0
    for position, (kind, source) in enumerate(cells(text)):
        cell = {"cell_type": kind, "id": f"cell-{position}", "metadata": {}, "source": source.splitlines(True)}
        if kind == "code":
            number += 1
            cell |= {"execution_count": number, "outputs": _run(source, number, namespace) if execute else []}
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}


def _code(book):
    return [(cell["cell_type"], "".join(cell["source"])) for cell in book["cells"]]


def _one(path, check):
    with open(path, encoding="utf-8") as file:
        book = notebook(file.read(), True)
    target = os.path.splitext(path)[0] + ".ipynb"
    if check:
        with open(target, encoding="utf-8") as file:
            if _code(json.load(file)) != _code(book):
                sys.exit(f"{target} is not of {path}: tools/notebooks.py {path} writes it anew")
        return
    with open(target, "w", encoding="utf-8") as file:
        json.dump(book, file, indent=1, ensure_ascii=False)
        file.write("\n")


def main():
    paths = [path for path in sys.argv[1:] if not path.startswith("--")]
    check = "--check" in sys.argv
    if len(paths) == 1:
        return _one(paths[0], check)
    options = ["--check"] if check else []
    return max(subprocess.run([sys.executable, __file__, path, *options]).returncode for path in paths)


if __name__ == "__main__":
    sys.exit(main())
