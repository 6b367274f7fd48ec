#!/usr/bin/env python3
"""Writes plugins/text/unicode_ranges.inc: letters by the version of Unicode that brought them.

    tools/unicode_ranges.py /usr/share/unicode/DerivedAge.txt > plugins/text/unicode_ranges.inc

By a Python that has unicodedata2 16.0.0 (PyPI), and Unicode's own file of ages (Debian's unicode-data, 15.0). Two things need it:
what a library of Unicode 14 does not know yet, and what BERT's classes, which are those of Unicode 8, do not."""
import re
import sys

import unicodedata2

assert unicodedata2.unidata_version == "16.0.0"
ages = {}
for line in open(sys.argv[1], encoding="utf-8"):
    found = re.match(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*(\d+)\.\d", line)
    if found:
        for letter in range(int(found[1], 16), int(found[2] or found[1], 16) + 1):
            ages[letter] = int(found[3])

rows = []
for letter in range(0x110000):
    category = unicodedata2.category(chr(letter))
    age = ages.get(letter, 16)
    wanted = category != "Cn" and (age > 14 or (age > 8 and (category[0] in "MP" or category == "Cf")))
    if not wanted:
        continue
    if rows and rows[-1][1] == letter - 1 and rows[-1][2:] == [category, age]:
        rows[-1][1] = letter
    else:
        rows.append([letter, letter, category, age])

print("/* By tools/unicode_ranges.py: first, last, category, version of Unicode. Sorted. clang-format off */")
line = ""
for first, last, category, age in rows:
    row = f"{{0x{first:X}, 0x{last:X}, UTF8PROC_CATEGORY_{category.upper()}, {age}}}, "
    if len(line) + len(row) > 100:
        print(line.rstrip())
        line = ""
    line += row
print(line.rstrip())
