"""python -m corners [--all | --sample N] [--seed N] [NAME...]: see README.md."""

import argparse
import random
import sys
import time
import traceback

import hocket as hk

hk.runtime(sim=1)

from . import check_elementwise, check_lines, check_others, coverage  # noqa: E402

TABLES = [coverage, check_elementwise, check_lines, check_others]


class Report:
    def __init__(self):
        self.checks, self.problems = 0, {}

    def check(self, good, case, text):
        self.checks += 1
        if not good:
            self.problems.setdefault(case, text)
        return good


def main():
    options = argparse.ArgumentParser(prog="corners")
    options.add_argument("names", nargs="*")
    options.add_argument("--all", action="store_true")
    options.add_argument("--sample", type=int, default=2500, help="cases at most")
    options.add_argument("--seed", type=int, default=0)
    options = options.parse_args()
    cases = [case for table in TABLES for case in table.cases() if not options.names or any(name in case[0] for name in options.names)]
    whole = len(cases)
    if not options.all and not options.names:
        first, rest = cases[:1], cases[1:]  # what each sample begins with: that nothing is left out
        random.Random(options.seed).shuffle(rest)
        cases = first + rest[:options.sample]
    report, begin = Report(), time.monotonic()
    for name, run in cases:
        try:
            run(report)
        except Exception as error:  # noqa: BLE001: whatever a call raises is what is looked for
            report.check(False, name, f"{type(error).__name__}: {error}" + ("" if isinstance(error, hk.Error) else "\n" + traceback.format_exc()))
    for case, text in report.problems.items():
        print(f"{case}: {text}")
    print(f"{len(cases)} of {whole} cases, seed {options.seed}, {report.checks} checks in {time.monotonic() - begin:.0f} s")
    print(f"{report.checks - len(report.problems)} passed, {len(report.problems)} failed")
    return bool(report.problems)


if __name__ == "__main__":
    sys.exit(main())
