"""Says how long a recorded training step would take on more devices.

`hocket forecast` starts this program; docs/FORECAST.md describes it. By itself:

    python3 tools/forecast run.json --devices 64 --topology examples/topologies/gpu_machines.json
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):
    sys.exit(f"hocket forecast: it needs Python 3.11 or later; python3 is {sys.version.split()[0]}")

import argparse
import math
import re
import signal

from errors import BadFile, BadOption, BadUsage, CannotAccess
from files import draw_trace, read_file, write_file
from forecasts import Asked, Forecast, make_forecast
from picture import draw
from recording import parse_recording
from report import report
from topology import parse_topology

_MOST_SLOW = 64
_SLOW = re.compile(r"(\d+):([^,:\s]+)")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="forecast", description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("recording", help="a recording of a few steps of training, as hocket trace takes it")
    parser.add_argument("--topology", required=True, help="the machines, links and switches, as JSON")
    parser.add_argument("--devices", type=int, default=0, help="as many as were recorded unless given")
    parser.add_argument("--strong", action="store_true", help="divide the recorded batch over the devices")
    parser.add_argument("--jitter", type=float, default=0.0, help="spread of the times of calls, such as 0.05")
    parser.add_argument("--seed", type=int, default=0, help="of that spread")
    parser.add_argument("--slow", default="", help="devices that take longer, and how many times: 17:1.5,40:2")
    parser.add_argument("--html", help="a page to write")
    parser.add_argument("--svg", help="a picture to write")
    parser.add_argument("--trace", help="a trace to write")
    parser.add_argument("--hocket", default="hocket", help="the command that draws pages and pictures")
    return parser.parse_args()


def _read_slow(text: str) -> list[tuple[int, float]]:
    """ "17:1.5,40:2": devices and factors."""
    slow = []
    for part in text.split(",") if text else ():
        match = _SLOW.fullmatch(part)
        try:
            device, factor = int(match[1]), float(match[2])
        except (TypeError, ValueError):
            device, factor = -1, math.nan
        if not 0 <= device <= 1 << 20 or not math.isfinite(factor) or len(slow) == _MOST_SLOW:
            raise BadUsage(f'--slow is "{text}"; expected devices and factors, such as 17:1.5,40:2')
        slow.append((device, factor))
    return slow


def _write_pictures(forecast: Forecast, arguments: argparse.Namespace) -> bool:
    """Each of them, whether or not those before could be written."""
    if not (arguments.html or arguments.svg or arguments.trace):
        return True
    trace, is_good = draw(forecast), True
    if arguments.html or arguments.svg:
        is_good = draw_trace(arguments.hocket, trace, arguments.html, arguments.svg)
    if arguments.trace:
        write_file(arguments.trace, trace)
    return is_good


def _run(arguments: argparse.Namespace) -> int:
    asked = Asked(arguments.devices, arguments.strong, arguments.jitter, arguments.seed, _read_slow(arguments.slow))
    path = arguments.topology
    try:
        topology = parse_topology(read_file("topology_read", path))
        path = arguments.recording
        forecast = make_forecast(parse_recording(read_file("trace_read", path)), topology, asked)
    except BadFile as error:
        print(f"hocket forecast: {path}: {error}", file=sys.stderr)
        return 1
    try:
        sys.stdout.write(report(forecast))
        sys.stdout.flush()
    except OSError as error:
        print(f"hocket: standard output could not be written: {error.strerror}", file=sys.stderr)
        return 1
    return 0 if _write_pictures(forecast, arguments) else 1


def main() -> int:
    """Returns the exit status: 0 it worked, 1 it failed, 2 wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    for number in (signal.SIGINT, signal.SIGPIPE):  # as other commands do: end without a word
        signal.signal(number, signal.SIG_DFL)
    try:
        return _run(_arguments())
    except BadUsage as error:
        print(f"hocket forecast: {error}\n(hocket forecast --help lists what it takes)", file=sys.stderr)
        return 2
    except BadOption as error:
        print(f"hocket: forecast failed: invalid argument: {error}", file=sys.stderr)
    except CannotAccess as error:
        print(f"hocket: {error.operation} failed: input/output error: {error}", file=sys.stderr)
    except MemoryError:
        print("hocket: forecast failed: out of memory: no host memory to replay the recording", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
