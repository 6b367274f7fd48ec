"""The guides of the documentation site: each page's blocks run in one go, and print what the page says. Its programs in C and C++ are
tested by tests/install/run."""
import glob
import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SITE = os.path.join(ROOT, "docs", "site")


def fences(path):
    """(language, text, line) of each block of code."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return [(found.group(1), found.group(2), text.count("\n", 0, found.start()) + 2)
            for found in re.finditer(r"^```(\{?\w*\}?)[^\n]*\n(.*?)^```$", text, re.M | re.S)]


def pages():
    for path in sorted(glob.glob(os.path.join(SITE, "guides", "*.md"))):
        if any(language == "python" for language, _, _ in fences(path)):
            yield pytest.param(path, id=os.path.basename(path))


@pytest.mark.parametrize("path", list(pages()))
def test_blocks_print_what_the_page_says(path):
    """In a process of its own, for a page may say which devices there are."""
    found, program, wanted = fences(path), [], []
    for i, (language, text, line) in enumerate(found):
        if language != "python":
            continue
        program += ["\n" * max(0, line - 1 - "".join(program).count("\n")), text]
        if i + 1 < len(found) and found[i + 1][0] == "text":
            wanted.append(found[i + 1][1])
    done = subprocess.run([sys.executable, "-c", "".join(program)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert not wanted or done.stdout == "".join(wanted)


@pytest.mark.parametrize("path", sorted(glob.glob(os.path.join(SITE, "**", "*.md"), recursive=True)), ids=os.path.basename)
def test_files_that_pages_include_are_there(path):
    with open(path, encoding="utf-8") as file:
        for name in re.findall(r"^```\{literalinclude\} \.\./(\S+)$", file.read(), re.M):
            assert os.path.exists(os.path.join(ROOT, name)), name


def test_the_front_page_has_the_programs_of_the_readme():
    """C's and Python's: those of README are compiled, run and compared."""
    def programs(path):
        return [text for language, text, _ in fences(path) if language in ("c", "python")]
    assert programs(os.path.join(SITE, "index.md")) == programs(os.path.join(ROOT, "README.md"))
