#!/usr/bin/env python3
"""Runs the cells of a book's Markdown files with Hocket, each file and tab in a fresh process, and prints a table of those that run.

    python/book/run-book --short --images 128 --report docs/BOOK_CELLS.md CHECKOUT

CHECKOUT is one of the book's sources, whose d2l is the library; or files and folders of Markdown. Cells run unchanged, as after %load_ext
hocket.book, but for what --short and --replace say. The network is out of reach: what a cell would fetch is made up (stand_ins.py), or
looked for in the folder of --stand-in, by its name.
"""

import argparse
import ast
import builtins
import concurrent.futures
import gzip
import json
import os
import platform
import re
import struct
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import stand_ins  # noqa: E402
from hocket.book import cells as book_cells, install  # noqa: E402


# What --short puts into cells, for a run of minutes on a machine without GPUs.
SHORT = [
    (r"\b((?:max|num)_epochs=)\d+", r"\g<1>1"),
    (r"(?m)^( *)((?:\w+, )*)((?:max|num)_epochs)((?:, \w+)*) = (.+)$", "epochs"),
    (r"\b4000, 4000\b", "400, 400"),
    (r"\b([\w.]+\.model_zoo\.vision\.\w+)\(pretrained=True\)", r"stand_ins.begun(\g<1>())"),  # weights that are not there
    (r"\bpretrained=True\b", "pretrained=False"),
    (r"\b(batch_size, devices, net = )256\b", r"\g<1>24"),  # so that there are five batches
    (r"\b(batch_size=)128(?=, num_epochs=)", r"\g<1>8"),
    (r"\b(batch_size, crop_size = )32\b", r"\g<1>4"),
    (r"\b(batch_size, max_len, num_workers = )512\b", r"\g<1>200"),
    (r"\b(batch_size = )2048\b", r"\g<1>256"),
    (r"\b(batch_size = )32( if demo\b)", r"\g<1>8\g<2>"),
    (r"(train\(content_X, contents_Y, styles_Y, device, 0\.\d, )500, 50", r"\g<1>3, 2"),
]


# Files that count on all images of Fashion-MNIST, whatever --images says.
WHOLE = {"geometry-linear-algebraic-ops"}


def _one_epoch(found):
    """An assignment to some names, of which one is the number of epochs, with 1 in its place."""
    before = found.group(2).count(",")
    values = found.group(5).split(", ")
    if len(values) != before + found.group(4).count(",") + 1 or not values[before].isdecimal():
        return found.group(0)
    values[before] = "1"
    return f"{found.group(0).partition(' = ')[0]} = {', '.join(values)}"


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", help="a checkout of the book, or Markdown files, or folders of them")
    parser.add_argument("--tab", action="append", choices=book_cells.TABS, help="which tab; both, unless named")
    parser.add_argument("--library", help="a folder that has the package d2l, where it is not the checkout's or an installed one")
    parser.add_argument("--short", action="store_true", help="one epoch, and matrices of 400 where the book has 4000")
    parser.add_argument("--replace", nargs=2, action="append", default=[], metavar=("PATTERN", "TEXT"), help="a regular expression and "
                        "what is put in its place, in cells")
    parser.add_argument("--stand-in", help="a folder of files that stand for what cells would fetch, before those that are made up")
    parser.add_argument("--images", type=int, default=0, help="only so many images of Fashion-MNIST for training, a fourth for tests")
    parser.add_argument("--seconds", type=int, default=60, help="for a cell, at most")
    parser.add_argument("--jobs", type=int, default=1, help="so many files at a time")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--report", help="a Markdown file for the table")
    parser.add_argument("--verbose", action="store_true", help="shows what cells print")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


# ---- in the process of a file and tab ----------------------------------------------------------------------------------


class TooLong(Exception):
    pass


NETWORK = "this cell needs the network"


def _offline(folders):
    """No connection is made; requests.get gives files of the folders."""
    import socket

    def refuse(*args, **options):
        raise OSError(NETWORK)

    socket.getaddrinfo = socket.create_connection = refuse
    try:
        import requests
    except ImportError:
        return

    class Found:
        def __init__(self, path):
            with open(path, "rb") as file:
                self.content = file.read()
            self.text = self.content.decode("utf-8", "replace")

    def get(url, *args, **options):
        name = url.rsplit("/", 1)[-1]
        if name.startswith("bert.small"):
            stand_ins.bert(folders[-1], name)
        paths = (os.path.join(folder, name) for folder in folders)
        return next((Found(path) for path in paths if os.path.exists(path)), None) or refuse()

    requests.get = get


def _bound(code):
    """The names that a cell binds."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
    return names


def _reason(error, lost, bound):
    """Why a cell does not run: "network", "package" and the name of one that is not there, "book" where the tab lacks something, or "other".

    lost: by name, why the cell that would have bound it did not run. bound: the names that the tab's cells bind.
    """
    chain = error
    while chain is not None:
        if NETWORK in str(chain):
            return "network"
        chain = chain.__cause__ or chain.__context__
    if isinstance(error, ModuleNotFoundError) and (error.name or "hocket").partition(".")[0] not in ("hocket", "torch", "torchvision",
                                                                                                      "mxnet", "d2l"):
        return "package " + error.name.partition(".")[0]
    if isinstance(error, NameError) and error.name is not None and error.name not in bound:
        return "book"
    return lost.get(error.name, "other") if isinstance(error, NameError) else "other"


def _run_cell(cell, path, namespace, seconds, lost, bound):
    import signal

    def stop(*_):
        raise TooLong(f"more than {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        value = book_cells.run("\n" * (cell.line - 1) + cell.code, path, namespace)
        if value is not None:
            print(repr(value))
        return {"ok": True}
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        places = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        traceback.print_exc()
        reason = _reason(error, lost, bound)
        lost.update((name, reason) for name in _bound(cell.code) if name not in namespace and not hasattr(builtins, name))
        return {"ok": False, "line": places[-1].lineno if places else cell.line, "reason": reason,
                "error": f"{type(error).__name__}: {error}".split("\n")[0]}
    finally:
        signal.alarm(0)


def _child(options):
    _offline(options["folders"])
    install()
    with open(options["path"], encoding="utf-8") as file:
        text = file.read()
    with open(options["results"], "a", encoding="utf-8") as results:
        namespace, lost = book_cells.namespace(options["tab"]), {}
        namespace["stand_ins"] = stand_ins
        cells = book_cells.cells(text, options["tab"])
        bound = set().union(*(_bound(cell.code) for cell in cells))
        for number, cell in enumerate(cells):
            code = cell.code
            for pattern, text in options["replace"]:
                code = re.sub(pattern, _one_epoch if text == "epochs" else text, code)
            began = time.perf_counter()
            found = _run_cell(cell._replace(code=code), options["path"], namespace, options["seconds"], lost, bound)
            results.write(json.dumps({"cell": number, **found, "seconds": round(time.perf_counter() - began, 3)}) + "\n")
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


def _chapters(checkout):
    return [os.path.join(checkout, name) for name in sorted(os.listdir(checkout)) if name.startswith("chapter_")]


def _markdown(paths):
    for path in paths:
        if os.path.isdir(path):
            yield from _markdown(sorted(os.path.join(path, name) for name in os.listdir(path)
                                        if name.endswith(".md") or os.path.isdir(os.path.join(path, name))))
        else:
            yield path


class _Work:
    """What all files have in common: stand-ins, images, the library."""

    def __init__(self, folder, args, checkout):
        self.folder, self.made = folder, os.path.join(folder, "stand-in")
        stand_ins.write(self.made)
        self.library = args.library or checkout
        self.fashion = args.images and os.path.join(folder, "fashion")
        if self.fashion:
            os.mkdir(self.fashion)
            _small_fashion_mnist(self.fashion, args.images)

    def environment(self, path):
        small = self.fashion if os.path.splitext(os.path.basename(path))[0] not in WHOLE else None
        found = {"MPLBACKEND": "agg", "TORCH_HOME": self.made, "MXNET_HOME": self.made, **({"HOCKET_DATA_DIR": small} if small else {}),
                 **os.environ}
        paths = ([self.library] if self.library else []) + os.environ.get("PYTHONPATH", "").split(os.pathsep)
        return found | {"PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in paths if path)}


def _run_file(path, tab, args, work):
    """What became of each cell, a list of (Cell, result); and how long all took."""
    began, found = time.perf_counter(), book_cells.cells_of_file(path, tab)
    if not found:
        return [], 0
    with tempfile.TemporaryDirectory(dir=work.folder) as around:  # in which cells find ../data and ../img
        here, results = os.path.join(around, "chapter"), os.path.join(around, "results")
        os.mkdir(here)
        if work.library:
            os.symlink(os.path.join(os.path.abspath(work.library), "img"), os.path.join(around, "img"))
        open(results, "w").close()
        folders = [os.path.abspath(folder) for folder in (args.stand_in, work.made) if folder]
        options = {"path": os.path.abspath(path), "tab": tab, "replace": (SHORT if args.short else []) + args.replace,
                   "seconds": args.seconds, "results": results, "folders": folders}
        done = subprocess.run([args.python, os.path.abspath(__file__), "--child", json.dumps(options), "-"], cwd=here,
                              env=work.environment(path), stdout=None if args.verbose else subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        with open(results, encoding="utf-8") as file:
            by_cell = {entry["cell"]: entry for entry in map(json.loads, file)}
    if args.verbose or not by_cell:
        print(done.stderr, file=sys.stderr)
    tail = (done.stderr.strip().split("\n") or [""])[-1]
    end = {"ok": False, "reason": "other", "error": f"the process ended with {done.returncode}: {tail}"}
    return [(cell, by_cell.get(number, {**end, "line": cell.line})) for number, cell in enumerate(found)], time.perf_counter() - began


def _name(path):
    folder, file = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.basename(folder).removeprefix("chapter_"), os.path.splitext(file)[0])


def _failure(path, tab, result):
    """The reason why a cell does not run, and the line that tells of it."""
    why = result["error"] if result["reason"] in ("other", "book") else f"the {result['reason']}"
    return result["reason"], f"- {_name(path)}:{result['line']} ({tab}): {why}"


class _Count:
    """How many cells there are, ran, and need what no library can give: the network, or a package of others."""

    def __init__(self, results=()):
        self.all, self.ran = len(results), sum(result["ok"] for _, result in results)
        self.apart = sum(result.get("reason", "other") != "other" for _, result in results)

    def __iadd__(self, other):
        self.all, self.ran, self.apart = self.all + other.all, self.ran + other.ran, self.apart + other.apart
        return self

    def __str__(self):
        return f"{self.ran} of {self.all - self.apart}" + f" (+ {self.apart})" * bool(self.apart) if self.all else "–"


def _table(rows, tabs):
    """A Markdown table of (file, {tab: _Count}), and of their sums."""
    lines = ["| file | " + " | ".join(tabs) + " |", "|---|" + "---:|" * len(tabs)]
    sums = {tab: _Count() for tab in tabs}
    for name, counts in rows:
        for tab in tabs:
            sums[tab] += counts[tab]
        if any(counts[tab].all for tab in tabs):
            lines.append(f"| {name} | " + " | ".join(str(counts[tab]) for tab in tabs) + " |")
    return lines + ["| **all** | " + " | ".join(f"**{sums[tab]}**" for tab in tabs) + " |"]


def _not_run(failures):
    """Each cell that does not run, by its reason."""
    lines = []
    for kind, title in (("other", "Not run"), ("network", "Need the network"), ("package", "Need a package of others"),
                        ("book", "Need what the book does not have in this tab")):
        of_kind = [text for reason, text in failures if reason.split(" ")[0] == kind]
        if of_kind:
            lines += ["", f"## {title}", "", *of_kind]
    return lines


def _head(checkout, args):
    """What the report says before its table."""
    versions = f"Python {platform.python_version()}"
    for package in ("numpy", "pandas"):
        try:
            versions += f", {package} " + __import__(package).__version__
        except ImportError:
            pass
    with open(os.path.join(checkout, "d2l", "__init__.py"), encoding="utf-8") as file:
        edition = re.search(r'__version__ = "(.+?)"', file.read()).group(1)
    at = subprocess.run(["git", "-C", checkout, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()
    options = f"--short --images {args.images}" if args.short else "--images N" if args.images else ""
    return f"""# The book's cells

Which cells of *Dive into Deep Learning* run with Hocket, unchanged, after `%load_ext hocket.book`. Written by

    HOCKET_SIM={os.environ.get("HOCKET_SIM", "")} python/book/run-book {options} --report docs/BOOK_CELLS.md CHECKOUT

of a checkout of `d2l-ai/d2l-en` at {at or "an unknown commit"}, whose library d2l {edition} is the book's own, unmodified; {versions}. The book's
text is not here: it is under CC BY-SA. [The book with Hocket](BOOK.md) tells how to read it so.

- There was no network. What cells fetch was made up in the formats that they read (`python/book/stand_ins.py`): tables, texts, images, word vectors, weights.
- `--short`: one epoch, three steps of style transfer, small batches of images, matrices of 400 × 400 in timings, and networks without
  the weights that others trained. `--images`: only so many of Fashion-MNIST. {args.seconds} seconds for a cell.
- A row says how many cells ran of those that can run; (+ n): so many more need the network, a package of others,
  or what the book has in another tab alone; they are named below.
""".split("\n")


def main():
    if "--child" in sys.argv:
        return _child(json.loads(sys.argv[sys.argv.index("--child") + 1]))
    args = _arguments()
    tabs = args.tab or list(book_cells.TABS)
    checkout = next((path for path in args.files if os.path.isdir(os.path.join(path, "d2l"))), None)
    paths = [chapter for path in args.files for chapter in (_chapters(path) if path == checkout else [path])]
    rows, failures = [], []
    with tempfile.TemporaryDirectory() as folder:
        work = _Work(folder, args, checkout)
        files = list(_markdown(paths))
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            parts = {(path, tab): pool.submit(_run_file, path, tab, args, work) for path in files for tab in tabs}
            for path in files:
                counts = {}
                for tab in tabs:
                    found, seconds = parts[path, tab].result()
                    counts[tab] = _Count(found)
                    failures += [_failure(path, tab, result) for _, result in found if not result["ok"]]
                    if found:
                        print(f"{_name(path)} {tab}: {counts[tab]} cells, {seconds:.1f} s", flush=True)
                rows.append((_name(path), counts))
    lines = _table(rows, tabs) + _not_run(failures)
    print("\n".join(lines))
    if args.report:
        with open(args.report, "w", encoding="utf-8") as file:
            file.write("\n".join((_head(checkout, args) if checkout else []) + lines) + "\n")
    return 1 if any(reason == "other" for reason, _ in failures) else 0


if __name__ == "__main__":
    sys.exit(main())
