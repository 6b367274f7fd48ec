#!/usr/bin/env python3
"""Runs the cells of a book's Markdown files with Hocket, each file and tab in a fresh process, and prints a table of those that run.

    python/book/run-book --library .../d2l chapter_preliminaries/*.md

Cells run as they stand but for the import rule (book_cells.py) and what --replace says. The network is out of reach: what a
cell would fetch is looked for in the folder of --stand-in, by its name. ../data is a folder for the run.
"""

import argparse
import gzip
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import book_cells  # noqa: E402


# What --short puts into cells, for a run of minutes on a machine without GPUs.
SHORT = [
    (r"\b(max_epochs\s*=\s*)\d+", r"\g<1>1"),
    (r"\b(num_epochs\s*=\s*)\d+", r"\g<1>1"),
    (r"\b(timer, num_epochs = d2l\.Timer\(\), )\d+", r"\g<1>1"),
    (r"\b(num_epochs, lr = )\d+", r"\g<1>1"),
    (r"\b(lr, num_epochs, batch_size = [\d.]+, )\d+", r"\g<1>1"),
    (r"\b4000, 4000\b", "400, 400"),
]


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", help="Markdown files, or folders of them")
    parser.add_argument("--tab", action="append", choices=book_cells.TABS, help="which tab; both, unless named")
    parser.add_argument("--library", help="a folder with torch.py and mxnet.py, which stand for hocket.d2l under the same rule")
    parser.add_argument("--short", action="store_true", help="one epoch, and matrices of 400 where the book has 4000")
    parser.add_argument("--replace", nargs=2, action="append", default=[], metavar=("PATTERN", "TEXT"), help="a regular expression and "
                        "what is put in its place, in cells")
    parser.add_argument("--stand-in", help="a folder of files that stand for what cells would fetch")
    parser.add_argument("--images", type=int, default=0, help="only so many images of Fashion-MNIST for training, a fourth for tests")
    parser.add_argument("--seconds", type=int, default=60, help="for a cell, at most")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--report", help="a Markdown file for the table")
    parser.add_argument("--verbose", action="store_true", help="shows what cells print")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


# ---- in the process of a file and tab ----------------------------------------------------------------------------------


class TooLong(Exception):
    pass


def _offline(stand_in):
    """No connection is made; requests.get gives files of the folder."""
    import socket

    def refuse(*args, **options):
        raise OSError("this cell needs the network")

    socket.getaddrinfo = socket.create_connection = refuse
    try:
        import requests
    except ImportError:
        return

    class Found:
        def __init__(self, path):
            with open(path, "rb") as file:
                self.content = file.read()

    def get(url, *args, **options):
        path = os.path.join(stand_in or "", url.rsplit("/", 1)[-1])
        return Found(path) if stand_in and os.path.exists(path) else refuse()

    requests.get = get


def _library(folder, tab):
    """The book's own library, unmodified but for the import rule, becomes hocket.d2l's module of the tab."""
    import importlib
    import types
    name = {"pytorch": "torch", "mxnet": "mxnet"}[tab]
    path = os.path.join(folder, name + ".py")
    package = importlib.import_module("hocket.d2l")
    module = types.ModuleType("hocket.d2l." + name)
    module.__file__ = path
    sys.modules[module.__name__] = module
    setattr(package, name, module)
    with open(path, encoding="utf-8") as file:
        exec(compile(book_cells.import_rule(file.read()), path, "exec"), vars(module))


def _run_cell(number, cell, path, namespace, options):
    import signal

    def stop(*_):
        raise TooLong(f"more than {options['seconds']} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(options["seconds"])
    try:
        value = book_cells.run("\n" * (cell.line - 1) + cell.code, path, namespace)
        if value is not None:
            print(repr(value))
        return {"cell": number, "ok": True}
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        places = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        traceback.print_exc()
        return {"cell": number, "ok": False, "line": places[-1].lineno if places else cell.line,
                "error": f"{type(error).__name__}: {error}".split("\n")[0]}
    finally:
        signal.alarm(0)


def _child(options):
    _offline(options["stand_in"])
    with open(options["path"], encoding="utf-8") as file:
        text = file.read()
    with open(options["results"], "a", encoding="utf-8") as results:
        if options["library"]:
            _library(options["library"], options["tab"])
        namespace = {"__name__": "__main__", "tab": book_cells.Tab(options["tab"])}
        for number, cell in enumerate(book_cells.cells(text, options["tab"])):
            code = book_cells.import_rule(cell.code)
            for rule in options["replace"]:
                code = re.sub(*rule, code)
            began = time.perf_counter()
            found = _run_cell(number, cell._replace(code=code), options["path"], namespace, options)
            found["seconds"] = round(time.perf_counter() - began, 3)
            results.write(json.dumps(found) + "\n")
            results.flush()


# ---- the parent -----------------------------------------------------------------------------------------------------------


def _small_fashion_mnist(folder, count):
    """The first images of each part, as idx files in a folder of their own."""
    source = os.environ.get("HOCKET_DATA_DIR", "/usr/share/datasets/fashion-mnist")
    for part, wanted in (("train", count), ("t10k", count // 4)):
        for kind, head in (("images-idx3", 16), ("labels-idx1", 8)):
            name = f"{part}-{kind}-ubyte.gz"
            with gzip.open(os.path.join(source, name)) as file:
                start = bytearray(file.read(head))
                size = 784 if head == 16 else 1
                struct.pack_into(">I", start, 4, wanted)
                with gzip.open(os.path.join(folder, name), "wb", 1) as out:
                    out.write(bytes(start) + file.read(size * wanted))


def _markdown(paths):
    for path in paths:
        if os.path.isdir(path):
            yield from _markdown(sorted(os.path.join(path, name) for name in os.listdir(path)
                                        if name.endswith(".md") or os.path.isdir(os.path.join(path, name))))
        else:
            yield path


def _run_file(path, tab, args, folder):
    """What became of each cell: a list of (Cell, result)."""
    with open(path, encoding="utf-8") as file:
        found = book_cells.cells(file.read(), tab)
    if not found:
        return []
    work = os.path.join(folder, "work")
    os.makedirs(work, exist_ok=True)
    results = os.path.join(folder, "results")
    open(results, "w").close()
    options = {"path": os.path.abspath(path), "tab": tab, "library": args.library and os.path.abspath(args.library),
               "replace": (SHORT if args.short else []) + args.replace, "seconds": args.seconds, "results": results,
               "stand_in": args.stand_in and os.path.abspath(args.stand_in)}
    environment = {"MPLBACKEND": "agg", **os.environ}
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    environment["PYTHONPATH"] = os.pathsep.join(os.path.abspath(path) for path in paths if path)
    if args.images:
        environment["HOCKET_DATA_DIR"] = os.path.join(folder, "fashion")
    done = subprocess.run([args.python, os.path.abspath(__file__), "--child", json.dumps(options), "-"], cwd=work, env=environment,
                          stdout=None if args.verbose else subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if args.verbose:
        print(done.stderr)
    with open(results, encoding="utf-8") as file:
        by_cell = {entry["cell"]: entry for entry in map(json.loads, file)}
    if not by_cell:
        print(done.stderr, file=sys.stderr)
    tail = (done.stderr.strip().split("\n") or [""])[-1]
    end = {"ok": False, "error": f"the process ended with {done.returncode}: {tail}"}
    return [(cell, by_cell.get(number, {**end, "line": cell.line})) for number, cell in enumerate(found)]


def _name(path):
    folder, file = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.basename(folder), os.path.splitext(file)[0])


def _table(rows, tabs):
    """A Markdown table of (chapter, {tab: (ran, all)})."""
    lines = ["| file | " + " | ".join(tabs) + " |", "|---|" + "---:|" * len(tabs)]
    sums = {tab: [0, 0] for tab in tabs}
    for name, counts in rows:
        for tab in tabs:
            sums[tab] = [a + b for a, b in zip(sums[tab], counts.get(tab, (0, 0)))]
        cells = ("{} of {}".format(*counts[tab]) if counts.get(tab, (0, 0))[1] else "–" for tab in tabs)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines.append("| all | " + " | ".join("{} of {}".format(*sums[tab]) for tab in tabs) + " |")
    return lines


def main():
    if "--child" in sys.argv:
        return _child(json.loads(sys.argv[sys.argv.index("--child") + 1]))
    args = _arguments()
    tabs = args.tab or list(book_cells.TABS)
    rows, failures = [], []
    with tempfile.TemporaryDirectory() as folder:
        if args.images:
            os.makedirs(os.path.join(folder, "fashion"))
            _small_fashion_mnist(os.path.join(folder, "fashion"), args.images)
        for path in _markdown(args.files):
            counts = {}
            for tab in tabs:
                began = time.perf_counter()
                found = _run_file(path, tab, args, folder)
                counts[tab] = sum(result["ok"] for _, result in found), len(found)
                failures += [f"- {_name(path)}:{result['line']} ({tab}): {result['error']}" for _, result in found if not result["ok"]]
                print(f"{_name(path)} {tab}: {counts[tab][0]} of {counts[tab][1]} cells, {time.perf_counter() - began:.1f} s", flush=True)
            rows.append((_name(path), counts))
    lines = _table(rows, tabs) + (["", "Not run:", "", *failures] if failures else [])
    print("\n".join(lines))
    if args.report:
        with open(args.report, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
