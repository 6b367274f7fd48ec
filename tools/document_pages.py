#!/usr/bin/env python3
"""Documents, examples and notebooks as pages of the site: document_pages.py SOURCE_FOLDER OUTPUT_FOLDER.

Documents are copied to their places in the site, with links to each other mended; what a link names that is not in the site becomes
text. Each program of examples/ gets a page. Notebooks become pages with what their cells showed when tools/notebooks.py ran them.
"""

import base64
import json
import os
import posixpath
import re
import shutil
import sys

# The documents of the site, and their places in it.
PLACES = {
    "README.md": "index.md", "docs/MACHINES.md": "guides/machines.md", "docs/KERNELS.md": "guides/kernels.md", "docs/BOOK.md": "guides/book.md",
    "docs/MODELS.md": "guides/models.md", "docs/TEXT.md": "guides/text.md",
    "docs/FORECAST.md": "guides/forecast.md", "python/TRAINING.md": "guides/training.md", "docs/OPERATORS.md": "reference/operators.md",
    "docs/ARRAY_API.md": "reference/array_api.md", "docs/GLOSSARY.md": "reference/glossary.md", "docs/PROMISES.md": "about/promises.md",
    "docs/CORNERS.md": "about/corners.md", "docs/LIMITS.md": "about/limits.md", "docs/ARCHITECTURE.md": "about/architecture.md",
    "docs/BOOK_CELLS.md": "about/book_cells.md", "docs/DEPENDENCIES.md": "about/dependencies.md", "CONTRIBUTING.md": "about/contributing.md",
    "SECURITY.md": "about/security.md", "CHANGELOG.md": "about/changelog.md", "python/README.md": "about/python.md",
    "python/book/README.md": "about/book.md", "docs/measurements/README.md": "measurements/index.md",
}
MEASUREMENTS = "docs/measurements"
NOTEBOOKS = "examples/notebooks"


def places(root):
    """{path in the repository: path in the site}."""
    found = dict(PLACES)
    for name in sorted(os.listdir(os.path.join(root, MEASUREMENTS))):
        if name.endswith(".md"):
            found.setdefault(f"{MEASUREMENTS}/{name}", f"measurements/{name}")
    for folder, kind in (("c", ".h"), ("cxx", ".hpp")):
        for name in os.listdir(os.path.join(root, "include", "hocket")):
            if name.endswith(kind):
                found[f"include/hocket/{name}"] = f"reference/{folder}/{name.replace('.', '_')}.rst"
    for path in programs(root):
        found[path] = program_page(path)
    return found


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def write(target, path, text):
    path = os.path.join(target, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


# ---- documents -----------------------------------------------------------------------------------------------------


def relinked(text, path, place, known, root, copied):
    """A document's text at its place in the site. copied: gets the pictures that it shows."""
    folder, here = posixpath.dirname(path), posixpath.dirname(place)

    def link(found):
        mark, words, target = found.groups()
        name, sharp, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not name:
            return found.group(0)
        there = posixpath.normpath(posixpath.join(folder, name))
        if there in known:
            return f"{mark}[{words}]({posixpath.relpath(known[there], here or '.')}{sharp}{anchor})"
        if posixpath.splitext(there)[1] in (".svg", ".html") and os.path.exists(os.path.join(root, there)):
            copied.add(there)
            return f"{mark}[{words}]({posixpath.relpath('files/' + there, here or '.')})"
        if not os.path.exists(os.path.join(root, there)):
            raise SystemExit(f"{path}: there is no {target}")
        return words

    parts = re.split(r"(^```.*?^```\s*?$)", text, flags=re.M | re.S)
    return "".join(fence(part) if part.startswith("```") else re.sub(r"(!?)\[((?:[^][]|\[[^]]*\])*)\]\(([^()\s]+)\)", link, part) for part in parts)


def fence(part):
    """A block of code, which may leave something out by an ellipsis, that no lexer knows."""
    return re.sub(r"^```(c|cpp|python)\n", r"```{code-block} \1\n:force:\n\n", part) if "…" in part else part


def documents(root, target, known):
    copied = set()
    for path, place in known.items():
        if path.endswith(".md") and path != "README.md":
            write(target, place, relinked(read(root, path), path, place, known, root, copied))
    figures = sorted(posixpath.basename(place)[:-3] for path, place in known.items() if place.startswith("measurements/") and not place.endswith("index.md"))
    with open(os.path.join(target, "measurements", "index.md"), "a", encoding="utf-8") as file:
        file.write("\n".join(["", "```{toctree}", ":hidden:", ""] + figures + ["```", ""]))
    copied.add("docs/images/book_lenet.svg")
    for path in sorted(copied):
        os.makedirs(os.path.dirname(os.path.join(target, "files", path)), exist_ok=True)
        shutil.copy(os.path.join(root, path), os.path.join(target, "files", path))


# ---- programs ------------------------------------------------------------------------------------------------------


def programs(root):
    return [f"{folder}/{name}" for folder in ("examples", "examples/cxx", "examples/python") for name in sorted(os.listdir(os.path.join(root, folder)))
            if name.endswith((".c", ".cc", ".py"))]


def program_page(path):
    parts = posixpath.splitext(path)[0].split("/")[1:]
    return "examples/" + "_".join(parts) + ".md"


def first_comment(text):
    found = re.match(r'/\*(.*?)\*/|((?://.*\n)+)|"""(.*?)"""', text, re.S)
    words = next((group for group in found.groups() if group), "") if found else ""
    return " ".join(re.sub(r"^\s*(\*|//) ?", "", line) for line in words.strip().split("\n")).strip()


def example_pages(root, target):
    """And the sources, which guides include."""
    rows = {"c": [], "cpp": [], "python": []}
    for path in programs(root):
        text = read(root, path)
        language = {".c": "c", ".cc": "cpp", ".py": "python"}[posixpath.splitext(path)[1]]
        name = posixpath.basename(path)
        write(target, path, text)
        write(target, program_page(path), f"# {name}\n\n`{path}`\n\n```{language}\n{text}```\n")
        told = re.split(r"(?<=\.)\s|:(?=\s)", first_comment(text))[0].rstrip(".:")
        rows[language].append((name, posixpath.basename(program_page(path)), told))
    lines = ["# Programs", "", "Whole programs, which the tests build and run.", ""]
    for language, title in (("c", "C"), ("cpp", "C++"), ("python", "Python")):
        lines += [f"## {title}", "", "| program | what it shows |", "|---|---|"]
        lines += [f"| [{name}]({page}) | {told.replace('|', chr(92) + '|')} |" for name, page, told in rows[language]]
        lines += [""]
    lines += ["```{toctree}", ":hidden:", ""] + [page[:-3] for language in rows.values() for _, page, _ in language] + ["```", ""]
    write(target, "examples/index.md", "\n".join(lines))


# ---- the command ----------------------------------------------------------------------------------------------------


def command_page(root, target):
    """The texts of --help, which golden tests compare."""
    cases = os.path.join(root, "tests", "cli", "cases")
    names = sorted(name for name in os.listdir(cases) if name.startswith("help") and name.endswith(".stdout"))
    lines = ["# The command", ""]
    for name in names:
        words = ["hocket", *name[:-len(".stdout")].split("_", 2)[1:]]
        lines += [f"## {' '.join(words)}", "", "```text", read(cases, name).rstrip("\n"), "```", ""]
    write(target, "reference/command.md", "\n".join(lines))


# ---- notebooks -----------------------------------------------------------------------------------------------------


def _picture(html, target, name, number):
    """A timeline's picture goes into a file of its own."""
    def save(found):
        path = f"notebooks/{name}_{number}.svg"
        os.makedirs(os.path.join(target, "notebooks"), exist_ok=True)
        with open(os.path.join(target, path), "wb") as file:
            file.write(base64.b64decode(found.group(1)))
        return path
    found = re.search(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", html)
    return save(found) if found else None


def _shown(output, target, name, number):
    def block(text):
        return [":::{container} output", "```text", text, "```", ":::", ""]

    if output["output_type"] == "stream":
        return block("".join(output["text"]).rstrip("\n"))
    data = {kind: "".join(value) for kind, value in output.get("data", {}).items()}
    html = data.get("text/html", "")
    picture = _picture(html, target, name, number)
    if picture:
        return [f"![What ran]({posixpath.basename(picture)})", ""]
    return block(data["text/plain"])


def notebook_page(book, target, name):
    lines, number = [], 0
    for cell in book["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            lines += [source, ""]
            continue
        lines += ["```python", source.rstrip("\n"), "```", ""]
        for output in cell["outputs"]:
            number += 1
            lines += _shown(output, target, name, number)
    return "\n".join(lines)


def notebook_pages(root, target):
    names = sorted(name[:-len(".ipynb")] for name in os.listdir(os.path.join(root, NOTEBOOKS)) if name.endswith(".ipynb"))
    for name in names:
        book = json.loads(read(root, f"{NOTEBOOKS}/{name}.ipynb"))
        write(target, f"notebooks/{name}.md", notebook_page(book, target, name) + f"\nThe notebook is `{NOTEBOOKS}/{name}.ipynb`.\n")


def main():
    root, target = sys.argv[1:]
    documents(root, target, places(root))
    example_pages(root, target)
    command_page(root, target)
    notebook_pages(root, target)


if __name__ == "__main__":
    main()
