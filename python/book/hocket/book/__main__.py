"""python -m hocket.book chapter.ipynb|.md|.py: runs the cells of a chapter, unchanged, upon Hocket."""

import argparse
import sys
import traceback

from . import install
from .cells import TABS, cells_of_file, namespace, run


def main():
    parser = argparse.ArgumentParser(prog="python -m hocket.book", description=__doc__.partition(": ")[2])
    parser.add_argument("file", help="a notebook (.ipynb), Markdown of the book's sources (.md), or a program (.py)")
    parser.add_argument("--tab", choices=TABS, default=TABS[0], help="which cells of a .md (default: %(default)s)")
    args = parser.parse_args()
    install()
    try:
        cells = cells_of_file(args.file, args.tab)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    names = namespace(args.tab)
    for cell in cells:
        try:
            value = run("\n" * (cell.line - 1) + cell.code, args.file, names)
        except Exception:
            traceback.print_exc()
            print(f"{args.file}: the cell at line {cell.line} does not run", file=sys.stderr)
            return 1
        if value is not None:
            print(repr(value))
    return 0


if __name__ == "__main__":
    sys.exit(main())
