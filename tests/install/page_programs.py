#!/usr/bin/env python3
"""page_programs.py PAGE LANGUAGE FOLDER [DECLARATIONS]: writes the programs of a page, its fences of that language, as 1.LANGUAGE, 2.LANGUAGE, …;
and what the page says a program prints, a fence of text behind it, as 1.expected. Prints how many there are.

With DECLARATIONS, a header of what fragments take for granted, it writes the fragments instead, those without a main, to be compiled: what
begins with static stands by itself, the rest is a function's body. "for each step:" and "…" are read as people read them.
"""
import os
import re
import sys


def fences(page):
    """(language, text) of each block of code."""
    with open(page, encoding="utf-8") as file:
        return re.findall(r"^```(\{?\w*\}?)[^\n]*\n(.*?)^```$", file.read(), re.M | re.S)


def fragment(text, declarations):
    outside, inside = [], []
    for part in text.split("\n\n"):
        (outside if part.startswith("static") else inside).append(part)
    body = "\n".join(inside).replace("…", "")
    body = re.sub(r"^for each step:\n((?: +.*\n?)+)", r"for (;;) {\n\1}\n", body, flags=re.M)
    return f'#include "{os.path.abspath(declarations)}"\n' + "\n".join(outside) + f"\nvoid fragment(void);\nvoid fragment(void)\n{{\n{body}\n}}\n"


def main():
    page, language, folder, *declarations = sys.argv[1:]
    found = fences(page)
    os.makedirs(folder, exist_ok=True)
    count = 0
    for i, (name, text) in enumerate(found):
        if name != language or ("main(" in text) == bool(declarations):
            continue
        count += 1
        with open(os.path.join(folder, f"{count}.{language}"), "w", encoding="utf-8") as out:
            out.write(fragment(text, declarations[0]) if declarations else text)
        if not declarations and i + 1 < len(found) and found[i + 1][0] == "text":
            with open(os.path.join(folder, f"{count}.expected"), "w", encoding="utf-8") as out:
                out.write(found[i + 1][1])
    print(count)


if __name__ == "__main__":
    main()
