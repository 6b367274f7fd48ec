#!/usr/bin/env python3
"""page_programs.py PAGE LANGUAGE FOLDER: writes the programs of a page, its fences of that language, as 1.LANGUAGE, 2.LANGUAGE, …; and
what the page says a program prints, a fence of text behind it, as 1.expected. Prints how many there are. Fragments, without a main, are left out."""
import os
import re
import sys

page, language, folder = sys.argv[1:]
with open(page, encoding="utf-8") as file:
    fences = [(name, text, at) for name, text, at in
              ((found.group(1), found.group(2), found.start()) for found in re.finditer(r"^```(\{?\w*\}?)[^\n]*\n(.*?)^```$", file.read(), re.M | re.S))]
os.makedirs(folder, exist_ok=True)
count = 0
for i, (name, text, _) in enumerate(fences):
    if name != language or "main(" not in text:
        continue
    count += 1
    with open(os.path.join(folder, f"{count}.{language}"), "w", encoding="utf-8") as out:
        out.write(text)
    if i + 1 < len(fences) and fences[i + 1][0] == "text":
        with open(os.path.join(folder, f"{count}.expected"), "w", encoding="utf-8") as out:
            out.write(fences[i + 1][1])
print(count)
