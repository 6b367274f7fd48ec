#!/usr/bin/env python3
"""Pages of the C headers for Sphinx: header_pages.py INCLUDE_FOLDER OUTPUT_FOLDER.

Each comment is text, and the declarations behind it are code; so a header reads on its page as it does in its file.
"""

import os
import re
import sys

_comment = re.compile(r"/\*(.*?)\*/", re.S)
_section = re.compile(r"^-+ (.*?) -*$")
_dropped = re.compile(r"^\s*(#include .*|#ifndef HOCKET_\w+_H|#define HOCKET_\w+_H|HK_BEGIN_DECLS|HK_END_DECLS|#endif.*)\s*$", re.M)


def _text(comment):
    lines = [line.strip().removeprefix("*").strip() for line in comment.strip().split("\n")]
    return re.sub(r"([*|_`\\])", r"\\\1", "\n".join(lines)).strip()


def _code(source):
    kept = re.sub(r"\n{2,}", "\n", _dropped.sub("", source)).replace("HK_API ", "").strip("\n")
    return kept if kept.strip() else ""


def _parts(source):
    """("text", …) of comments that begin a line, and ("code", …) of what stands between them."""
    at = 0
    for found in _comment.finditer(source):
        begins_line = source.rfind("\n", 0, found.start()) + 1 == found.start()
        if begins_line:
            yield "code", source[at:found.start()]
            yield "text", found.group(1)
            at = found.end()
    yield "code", source[at:]


def page(name, source):
    """The reStructuredText of a header."""
    title = f"<hocket/{name}>"
    lines = [title, "=" * len(title), ""]
    for kind, part in _parts(source):
        if kind == "code" and _code(part):
            lines += [".. code-block:: c", ""] + ["   " + line for line in _code(part).split("\n")] + [""]
        elif kind == "text":
            section = _section.match(" ".join(part.split()))
            if section:
                lines += [section.group(1).capitalize(), "-" * len(section.group(1)), ""]
            else:
                lines += ["| " + line if line else "" for line in _text(part).split("\n")] + [""]
    return "\n".join(lines) + "\n"


def main():
    source, target = sys.argv[1:]
    os.makedirs(target, exist_ok=True)
    names = sorted(name for name in os.listdir(source) if name.endswith(".h"))
    for name in names:
        with open(os.path.join(source, name), encoding="utf-8") as file, \
                open(os.path.join(target, name[:-2] + "_h.rst"), "w", encoding="utf-8") as out:
            out.write(page(name, file.read()))
    with open(os.path.join(target, "index.rst"), "w", encoding="utf-8") as out:
        out.write("C reference\n===========\n\n.. toctree::\n   :maxdepth: 1\n\n" + "".join(f"   {name[:-2]}_h\n" for name in names))


if __name__ == "__main__":
    main()
